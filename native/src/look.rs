//! What a branch can reach, decided row by row instead of condition by condition.
//!
//! A box of counts promises too much where the conditions that exclude negatives exclude positives as well. So the rows of
//! a branch are put into *classes*, by the candidates that they fail: a rule covers all rows of a class or none. For one
//! class after the other, of those that weigh most the one that fails the fewest candidates, there are two possibilities:
//!
//! - The rule covers it. Then it has none of the candidates that the class fails, and it covers every class that fails no
//!   other candidate either.
//! - It does not. Then it has one of these candidates, and it covers no class that fails all of them.
//!
//! Either way the box gets smaller, until its bound is below the goal or nothing is left to decide. Where rows and conditions
//! repeat each other, a few decisions show what would take thousands of branches; where they do not, it takes far too long.
//! So it is tried when a branch has turned out to be long, with a limit, and only if a few classes weigh most.

use crate::bitset::{are_disjoint, intersect, is_empty, size};
use crate::classes::{bits, members, Candidates, Classes};
use crate::estimator::{Limits, Score};
use crate::layout::Layout;
use crate::rulebook::{Rulebook, TIED};
use crate::search::lock;
use crate::wanted::{Leader, Wanted};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// What is decided so far.
#[derive(Clone)]
struct State {
    classes: Arc<Classes>,
    /// The candidates that the rule may have.
    allowed: Vec<u64>,
    /// For each class that was decided not to be covered, the candidates of which the rule has one.
    one_of: Vec<u64>,
    /// Those of them that have changed.
    changed: Vec<u64>,
    /// Was it a class decided to be covered that led here?
    is_new_set: bool,
    /// Is the set of rows that it must cover known, or worth too little? If it can only tie, that is for later.
    is_told: bool,
    /// Is there a row that the rule does not cover?
    excludes: bool,
    /// Classes that are not decided, as bits.
    open: Vec<u64>,
    low: Vec<u64>,
    high: Vec<u64>,
    /// How many numbers the classes hold, if they were made for this state.
    of_classes: usize,
}

/// Rules that have at least one of some candidates, and may stand beside the leaders.
pub struct Deciding<'a> {
    pub book: &'a Rulebook,
    pub wanted: Wanted,
    pub leaders: &'a [Leader],
    /// How many conditions the rules have besides these.
    pub n_conditions: usize,
    /// Only those of more conditions than so many in all are looked for.
    pub short: usize,
    pub goal: Score,
    /// If the goal is a tie, how many conditions a rule may have to win it.
    pub tie_length: Option<usize>,
}

/// What is to be reached from now on, and if that is a tie, with how many conditions.
pub type Aim = (Score, Option<usize>);

/// A look at a branch that several workers may take part in.
pub struct Look(Mutex<Left>);

/// What is left to decide.
struct Left {
    stack: Vec<State>,
    /// What can only tie with the incumbent is put aside, with its bound, until ties count.
    aside: Vec<(Score, State)>,
    /// How many numbers all of these hold, about.
    held: usize,
    /// No rule that was passed over is worth more.
    highest: Option<Score>,
    /// Workers that may still find something left.
    busy: usize,
    is_at_an_end: bool,
}

/// How far a look has come.
pub enum Looked {
    /// No rule that was not found is worth more than this, which is below the goal; or there is none. If ties count, some
    /// may be as good that have too many conditions to win.
    Done(Option<Score>),
    /// The time was up.
    Interrupted,
    /// Others decide what is left.
    Waiting,
    /// It holds too much, or what was found cannot be told.
    GivenUp,
}

/// What became of one state.
enum Decided {
    /// Nothing in it is worth more.
    Closed(Option<Score>),
    /// It can only tie.
    Tie(Score, State),
    Open(Vec<State>),
    Unknown,
}

impl Look {
    pub fn new(classes: Classes) -> Look {
        let first = State::new(classes);
        Look(Mutex::new(Left {
            held: first.size(),
            stack: vec![first],
            aside: Vec::new(),
            highest: None,
            busy: 0,
            is_at_an_end: false,
        }))
    }

    /// Looks for all sets of rows that reach the goal. `found` gets candidates that cover such a set, and returns the aim
    /// from then on, or nothing if it cannot tell what rule that is.
    pub fn goes_on(
        &self,
        mut deciding: Deciding,
        deadline: Instant,
        found: &mut dyn FnMut(Vec<usize>) -> Option<Aim>,
    ) -> Looked {
        let mut left = lock(&self.0);
        let (goal, Left { stack, aside, .. }) = (deciding.goal, &mut *left);
        stack.extend(
            aside
                .extract_if(.., |(bound, _)| *bound >= goal)
                .map(|(_, state)| state),
        );
        loop {
            if left.is_at_an_end {
                return Looked::Waiting;
            }
            let Some(state) = left.stack.pop() else {
                if left.busy > 0 {
                    return Looked::Waiting;
                }
                let ties = left.aside.iter().map(|(bound, _)| *bound);
                let highest = left.highest.max(ties.max());
                left.is_at_an_end = left.aside.is_empty();
                return Looked::Done(highest);
            };
            left.held -= state.size();
            left.busy += 1;
            drop(left);
            let mut passed = None;
            let decided = deciding.decide(state, &mut passed, found);
            left = lock(&self.0);
            left.busy -= 1;
            left.highest = left.highest.max(passed);
            match decided {
                Decided::Closed(bound) => left.highest = left.highest.max(bound),
                Decided::Tie(bound, state) => {
                    left.held += state.size();
                    left.aside.push((bound, state));
                }
                Decided::Open(states) => {
                    left.held += states.iter().map(State::size).sum::<usize>();
                    left.stack.extend(states);
                }
                Decided::Unknown => left.is_at_an_end = true,
            }
            if left.is_at_an_end || left.held > MOST_HELD {
                left.is_at_an_end = true;
                return Looked::GivenUp;
            }
            if Instant::now() >= deadline && !left.stack.is_empty() {
                return Looked::Interrupted;
            }
        }
    }

    /// Is there nothing left but what can only tie with the incumbent?
    pub fn waits_for_ties(&self) -> bool {
        let left = lock(&self.0);
        left.stack.is_empty() && left.busy == 0 && !left.aside.is_empty()
    }
}

impl Deciding<'_> {
    /// Decides a state, or parts it by the next class. `passed` is raised to what is worth at most that has a
    /// candidate which is dropped, or covers a class that is refused.
    fn decide(
        &mut self,
        mut state: State,
        passed: &mut Option<Score>,
        found: &mut dyn FnMut(Vec<usize>) -> Option<Aim>,
    ) -> Decided {
        state.narrow();
        let length = self.n_conditions + state.n_needed().max(1);
        let length = length.max(self.short + 1);
        if self.book.max_length.is_some_and(|most| length > most) {
            return Decided::Closed(None);
        }
        let bound = self.bound(&state.low, &state.high, length, self.goal);
        match bound {
            Some(bound) if bound >= self.goal => {}
            Some(bound) if bound >= self.goal.saturating_sub(TIED) => {
                return Decided::Tie(bound, state);
            }
            _ => return Decided::Closed(bound),
        }
        let is_long = self.tie_length.is_some_and(|most| length > most);
        if is_long && bound == Some(self.goal) {
            return Decided::Closed(bound);
        }
        // The rule with all candidates that are allowed covers what it must, and nothing else.
        let mut tie = None;
        if !state.is_told && (state.excludes || !is_empty(&state.open)) {
            let value = self.value_of_smallest(&state, length);
            if value >= Some(self.goal) {
                match found(members(&state.allowed).collect()) {
                    Some(aim) => (self.goal, self.tie_length) = aim,
                    None => return Decided::Unknown,
                }
            } else {
                tie = value.filter(|&value| value >= self.goal.saturating_sub(TIED));
            }
            state.is_told = tie.is_none();
        }
        state.regroup(self.book.layout());
        let Some(class) = state.next_class() else {
            // One set of rows, which is known if it reaches the goal.
            return match tie {
                Some(tie) => Decided::Tie(tie, state),
                None => Decided::Closed(Some(self.goal.saturating_sub(TIED))),
            };
        };
        if state.is_new_set || state.open.len() <= WORTH_DROPPING {
            let dropped = self.dropped(&state, length, passed);
            if !is_empty(&dropped) {
                return Decided::Open(state.without(&dropped).into_iter().collect());
            }
        }
        let refused = self.refused(&state, length, passed);
        if !refused.is_empty() {
            return Decided::Open(vec![state.not_covering_any(&refused)]);
        }
        let copy = State {
            of_classes: 0,
            ..state.clone()
        };
        let covers_first = self.promises_more_with(&state, class, length);
        let covering = copy.covering(class);
        let both = covering.into_iter().chain([state.not_covering(class)]);
        let mut both: Vec<State> = both.collect();
        if covers_first {
            both.reverse();
        }
        Decided::Open(both)
    }

    /// Do rules that cover a class promise more than those that do not? Then they come first. The bound that is cheap will do:
    /// it is what the highest goal gets.
    fn promises_more_with(&self, state: &State, class: usize, length: usize) -> bool {
        let width = self.book.layout().width();
        let (low, high) = (&state.low[..width], &state.high[..width]);
        let each = |sums: &[u64], change: fn(u64, u64) -> u64| -> Vec<u64> {
            let sums = sums.iter().zip(state.classes.counts(class));
            sums.map(|(&sum, &count)| change(sum, count)).collect()
        };
        let (with, without) = (each(low, |x, y| x + y), each(high, |x, y| x - y));
        let bound = |low: &[u64], high: &[u64]| self.book.bound(low, high, length, Score::MAX);
        bound(&with, high) > bound(low, &without)
    }

    /// What the rule with all candidates that are allowed is worth at most: it excludes all classes that are open.
    fn value_of_smallest(&self, state: &State, length: usize) -> Option<Score> {
        let at = |length| self.bound(&state.low, &state.low, length, self.goal);
        let (value, most) = (at(length)?, self.book.max_length);
        if value < self.goal || most.is_none() && !self.book.estimator.is_by_length() {
            return Some(value);
        }
        let longer = length.max(self.n_conditions + state.n_needed_by_smallest());
        match most.is_some_and(|most| longer > most) {
            true => None,
            false => at(longer),
        }
    }

    fn bound(&self, low: &[u64], high: &[u64], length: usize, goal: Score) -> Option<Score> {
        let (book, leaders) = (self.book, self.leaders);
        (self.wanted).bound_of_box(book, leaders, low, high, length, goal)
    }

    /// What is worth less neither reaches the goal nor ties.
    fn least(&self) -> Score {
        match self.tie_length {
            None => self.goal.saturating_sub(TIED),
            Some(_) => self.goal,
        }
    }

    /// Classes, of those that weigh most, that no rule covers which reaches the goal or ties.
    fn refused(&self, state: &State, length: usize, passed: &mut Option<Score>) -> Vec<usize> {
        let classes = &*state.classes;
        let goal = self.least();
        let width = self.book.layout().width();
        let weighed: Vec<usize> = members(&state.open).take(REFUSED).collect();
        let covered = weighed.iter().flat_map(|&class| {
            let each = state.low.iter().zip(classes.counts(class));
            each.map(|(low, count)| low + count)
        });
        let covered: Vec<u64> = covered.collect();
        let boxes = covered.chunks(width).map(|low| Limits {
            low,
            high: &state.high[..width],
        });
        let bounds = (self.book).bounds(&boxes.collect::<Vec<_>>(), length, goal);
        let mut refused = Vec::new();
        for (class, bound) in weighed.into_iter().zip(bounds) {
            if bound < Some(goal) {
                *passed = (*passed).max(bound);
                refused.push(class);
            }
        }
        refused
    }

    /// The candidates that no rule has which reaches the goal or ties, leaders or not. The classes that weigh most show it,
    /// if any.
    fn dropped(&self, state: &State, length: usize, passed: &mut Option<Score>) -> Vec<u64> {
        let classes = &*state.classes;
        let goal = self.least();
        let width = self.book.layout().width();
        let (own_low, own_high) = (&state.low[..width], &state.high[..width]);
        let mut lost = vec![0; classes.n_candidates * width];
        let mut fails = vec![0; classes.words];
        for class in members(&state.open).take(WEIGHED) {
            fails.copy_from_slice(classes.fails(class));
            intersect(&mut fails, &state.allowed);
            for candidate in members(&fails) {
                let lost = lost[candidate * width..].iter_mut();
                for (sum, count) in lost.zip(classes.counts(class)) {
                    *sum += count;
                }
            }
        }
        let of = |candidate: usize| &lost[candidate * width..][..width];
        let weighed: Vec<usize> = members(&state.allowed)
            .filter(|&candidate| !is_empty(of(candidate)))
            .collect();
        let left = weighed.iter().flat_map(|&candidate| {
            let each = own_high.iter().zip(of(candidate));
            each.map(|(high, lost)| high - lost)
        });
        let left: Vec<u64> = left.collect();
        let boxes = left.chunks(width).map(|high| Limits { low: own_low, high });
        let bounds = (self.book).bounds(&boxes.collect::<Vec<_>>(), length, goal);
        let min_rows = self.book.min_rows.max(self.wanted.min_rows(self.leaders));
        let mut dropped = vec![0; classes.words];
        let each = weighed.into_iter().zip(left.chunks(width)).zip(bounds);
        for ((candidate, high), bound) in each {
            let bound = bound.filter(|_| self.book.layout().n_covered(high) >= min_rows);
            if bound < Some(goal) {
                *passed = (*passed).max(bound);
                dropped[candidate / 64] |= 1 << (candidate % 64);
            }
        }
        dropped
    }
}

impl State {
    fn new(classes: Classes) -> State {
        let mut allowed = vec![0; classes.words];
        for candidate in 0..classes.n_candidates {
            allowed[candidate / 64] |= 1 << (candidate % 64);
        }
        let mut high = classes.core.clone();
        for class in 0..classes.len() {
            classes.apply(class, &mut high, |sum, count| *sum += count);
        }
        State {
            allowed,
            one_of: Vec::new(),
            changed: Vec::new(),
            is_new_set: true,
            is_told: false,
            excludes: false,
            open: classes.all(),
            low: classes.core.clone(),
            of_classes: 0,
            high,
            classes: Arc::new(classes),
        }
    }

    /// How many numbers it holds, about.
    fn size(&self) -> usize {
        self.of_classes + self.open.len() + 2 * self.one_of.len() + 2 * self.low.len()
    }

    /// How many candidates the rule has at least.
    fn n_needed(&self) -> usize {
        n_disjoint(self.one_of.chunks(self.classes.words))
    }

    /// How many it has at least if it covers none of the open classes.
    fn n_needed_by_smallest(&self) -> usize {
        let words = self.classes.words;
        let of_open = self.failed_by(members(&self.open).take(WEIGHED));
        let demands = [&self.one_of[..], &of_open].concat();
        n_disjoint(by_size(&demands, words).into_iter())
    }

    /// The candidates that the rule may have and each of some classes fails.
    fn failed_by(&self, classes: impl Iterator<Item = usize>) -> Vec<u64> {
        let mut failed = Vec::new();
        for class in classes {
            let start = failed.len();
            failed.extend_from_slice(self.classes.fails(class));
            intersect(&mut failed[start..], &self.allowed);
        }
        failed
    }

    /// The class to be decided next: among those that weigh most, the one that fails the fewest candidates. If the rule is
    /// not to cover it, it has one of these few, which decides other classes.
    fn next_class(&self) -> Option<usize> {
        let n_failed = |class: &usize| n_shared(self.classes.fails(*class), &self.allowed);
        members(&self.open).take(COMPARED).min_by_key(n_failed)
    }

    /// Takes up the classes that are decided by what has changed.
    fn narrow(&mut self) {
        let State {
            classes,
            allowed,
            changed,
            is_new_set,
            excludes,
            open,
            low,
            high,
            ..
        } = self;
        let allowed: Vec<usize> = match is_new_set {
            true => members(allowed).collect(),
            false => Vec::new(),
        };
        let changed = changed.chunks(classes.words);
        let changed: Vec<Vec<usize>> = changed.map(|one_of| members(one_of).collect()).collect();
        for (block, open) in open.iter_mut().enumerate() {
            if *open == 0 {
                continue;
            }
            let failing = classes.failing(block);
            if *is_new_set {
                let mut covered = *open;
                for &candidate in &allowed {
                    covered &= !failing[candidate];
                    if covered == 0 {
                        break;
                    }
                }
                *open &= !covered;
                for class in bits(covered) {
                    classes.apply(64 * block + class, low, |sum, count| *sum += count);
                }
            }
            let before = *open;
            for one_of in &changed {
                let mut excluded = *open;
                for &candidate in one_of {
                    excluded &= failing[candidate];
                    if excluded == 0 {
                        break;
                    }
                }
                *open &= !excluded;
            }
            let excluded = before & !*open;
            *excludes |= excluded != 0;
            for class in bits(excluded) {
                classes.apply(64 * block + class, high, |sum, count| *sum -= count);
            }
        }
    }

    /// Puts classes together that differ only in candidates which the rule no longer has, once these are many, or few of
    /// the classes are open.
    fn regroup(&mut self, layout: &Layout) {
        let n_allowed = size(&self.allowed) as usize;
        let n_open = size(&self.open) as usize;
        let is_worth = 2 * n_allowed <= self.classes.n_grouped || 4 * n_open <= self.classes.len();
        if n_open < WORTH_GROUPING || !is_worth {
            return;
        }
        let grouped = self.classes.grouped(&self.open, &self.allowed, layout);
        self.of_classes = grouped.size();
        self.classes = Arc::new(grouped);
        self.open = self.classes.all();
    }

    /// The rule covers the class, if it can.
    fn covering(self, class: usize) -> Option<State> {
        let classes = self.classes.clone();
        self.without(classes.fails(class))
    }

    /// The rule has none of some candidates, if it can do without.
    fn without(mut self, fails: &Candidates) -> Option<State> {
        for (allowed, fails) in self.allowed.iter_mut().zip(fails) {
            *allowed &= !fails;
        }
        self.is_new_set = true;
        self.is_told = false;
        let words = self.classes.words;
        let (mut same, mut changed) = (Vec::new(), Vec::new());
        for one_of in self.one_of.chunks_mut(words) {
            let is_changed = !are_disjoint(one_of, fails);
            intersect(one_of, &self.allowed);
            if is_empty(one_of) {
                return None;
            }
            if is_changed {
                changed.extend_from_slice(one_of);
            } else {
                same.extend_from_slice(one_of);
            }
        }
        self.one_of = same;
        self.demands(&changed);
        Some(self)
    }

    /// The rule has one of each of some sets of candidates, too.
    fn demands(&mut self, changed: &[u64]) {
        let words = self.classes.words;
        self.changed = smallest(changed, words);
        // What has one of these has one of more than these.
        let is_implied = |one_of| {
            let mut changed = self.changed.chunks(words);
            changed.any(|other| is_subset(other, one_of))
        };
        let same = (self.one_of.chunks(words)).filter(|one_of| !is_implied(one_of));
        let same: Vec<u64> = same.flatten().copied().collect();
        self.one_of = by_size(&[&same[..], &self.changed].concat(), words).concat();
    }

    /// The rule covers none of some classes.
    fn not_covering_any(mut self, refused: &[usize]) -> State {
        self.is_new_set = false;
        self.demands(&self.failed_by(refused.iter().copied()));
        self
    }

    /// The rule does not cover the class.
    fn not_covering(mut self, class: usize) -> State {
        self.is_new_set = false;
        self.changed = self.failed_by(std::iter::once(class));
        self.one_of.extend_from_slice(&self.changed);
        self
    }
}

/// The most numbers that undecided states may hold: some 128 MB.
const MOST_HELD: usize = 1 << 24;
/// So many of the classes that weigh most are compared to choose the next.
const COMPARED: usize = 8;
/// So many classes are weighed to see which candidates cost too much, where a class was decided to be covered or no more
/// than so many words of classes are open.
const WEIGHED: usize = 512;
const WORTH_DROPPING: usize = 32;
/// So many of the classes that weigh most are tried whether they may be covered at all.
const REFUSED: usize = 64;
/// With fewer open classes than this, it does not matter how many of them are alike.
const WORTH_GROUPING: usize = 64;

/// Sets of candidates, small ones first.
fn by_size(sets: &[u64], words: usize) -> Vec<&Candidates> {
    let mut sets: Vec<&Candidates> = sets.chunks(words).collect();
    sets.sort_by_key(|set| size(set));
    sets
}

/// How many of some sets of candidates have nothing in common, taken as they come: a rule with one of each has so many.
fn n_disjoint<'a>(sets: impl Iterator<Item = &'a Candidates>) -> usize {
    let mut used: Vec<u64> = Vec::new();
    let mut n_disjoint = 0;
    for set in sets {
        used.resize(set.len(), 0);
        if are_disjoint(set, &used) {
            n_disjoint += 1;
            for (used, set) in used.iter_mut().zip(set) {
                *used |= set;
            }
        }
    }
    n_disjoint
}

/// Those of some sets of candidates that contain no other.
fn smallest(sets: &[u64], words: usize) -> Vec<u64> {
    let mut kept: Vec<u64> = Vec::new();
    for set in by_size(sets, words) {
        if !kept.chunks(words).any(|other| is_subset(other, set)) {
            kept.extend_from_slice(set);
        }
    }
    kept
}

fn n_shared(x: &Candidates, y: &Candidates) -> u32 {
    let shared = x.iter().zip(y).map(|(x, y)| (x & y).count_ones());
    shared.sum()
}

fn is_subset(x: &Candidates, y: &Candidates) -> bool {
    x.iter().zip(y).all(|(x, y)| x & !y == 0)
}
