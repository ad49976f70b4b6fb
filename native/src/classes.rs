//! What a branch can reach, decided row by row instead of condition by condition.
//!
//! A box of counts promises too much where the conditions that exclude negatives exclude positives as well. So the rows of
//! a branch are put into *classes*, by the candidates that they fail: a rule covers all rows of a class or none. For one
//! class after the other, those that weigh most first, there are two possibilities:
//!
//! - The rule covers it. Then it has none of the candidates that the class fails, and it covers every class that fails no
//!   other candidate either.
//! - It does not. Then it has one of these candidates, and it covers no class that fails all of them.
//!
//! Either way the box gets smaller, until its bound is below the goal or nothing is left to decide. Where rows and conditions
//! repeat each other, a few decisions show what would take thousands of branches; where they do not, it takes far too long.
//! So it is tried when a branch has turned out to be long, with a limit, and only if a few classes weigh most.

use crate::bitset::{are_disjoint, intersect, is_empty, size};
use crate::estimator::Score;
use crate::layout::Layout;
use crate::rulebook::{Rulebook, TIED};
use crate::table::Table;
use crate::wanted::{Leader, Wanted};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// So many classes have at least this share of the weight where deciding class by class pays: half of it or more in all
/// of kddcup, about an eighth or less in fars and connect-4, where it takes too long.
const HEAVIEST: usize = 100;
const UNEVEN: f64 = 1.0 / 3.0;

/// The most numbers that classes may hold: some 64 MB.
const MOST_IN_CLASSES: usize = 1 << 23;

/// A set of candidates, as bits.
type Candidates = [u64];

/// The rows of a branch, by the candidates that they fail and the leaders that cover them.
pub struct Classes {
    n_candidates: usize,
    /// Words of a set of candidates.
    words: usize,
    /// Counts of a class.
    width: usize,
    /// The number of candidates by which they were told apart.
    n_grouped: usize,
    /// Do a few of the classes weigh so much that deciding them decides a lot?
    pub is_uneven: bool,
    /// Counts of the rows that fail none: of all of them, then of those that each leader covers.
    core: Vec<u64>,
    /// For each class the candidates that it fails, then the leaders that cover it.
    keys: Vec<u64>,
    counts: Vec<u64>,
    /// For each 64 classes and each candidate, which of them fail it, once they are sorted.
    failing: Vec<u64>,
}

/// The rows of a table that are put into classes, and by what.
pub struct Grouped<'a> {
    pub table: &'a Table,
    pub rows: &'a [u64],
    pub candidates: &'a [u32],
    /// Rows of the leaders.
    pub leaders: &'a [Arc<Vec<u64>>],
}

impl Classes {
    fn new(n_candidates: usize, width: usize, n_leaders: usize) -> Classes {
        Classes {
            n_candidates,
            words: n_candidates.div_ceil(64).max(1),
            width,
            n_grouped: n_candidates,
            is_uneven: false,
            core: vec![0; width * (1 + n_leaders)],
            keys: Vec::new(),
            counts: Vec::new(),
            failing: Vec::new(),
        }
    }

    /// The classes of some rows, if there is room for them.
    pub fn of(grouped: &Grouped) -> Option<Classes> {
        let Grouped {
            table,
            rows,
            candidates,
            leaders,
        } = grouped;
        let width = table.layout.width();
        let mut classes = Classes::new(candidates.len(), width, leaders.len());
        let (words, n_words) = (classes.words, classes.words_of_key());
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        // The keys of 64 rows.
        let mut keys = vec![0; 64 * n_words];
        for segment in &table.segments {
            for word in segment.start..segment.end {
                let mut here = rows[word];
                if here == 0 {
                    continue;
                }
                let mut write = |block: usize, each: &mut dyn Iterator<Item = u64>| {
                    let mut square = [0; 64];
                    for (line, holds) in square.iter_mut().zip(each) {
                        *line = holds;
                    }
                    transpose(&mut square);
                    for (key, line) in keys[block..].iter_mut().step_by(n_words).zip(square) {
                        *key = line;
                    }
                };
                for (block, candidates) in candidates.chunks(64).enumerate() {
                    let holds = |&candidate: &u32| table.proposition(candidate as usize)[word];
                    write(block, &mut candidates.iter().map(|each| here & !holds(each)));
                }
                for (block, leaders) in leaders.chunks(64).enumerate() {
                    write(words + block, &mut leaders.iter().map(|rows| rows[word]));
                }
                while here != 0 {
                    let row = here.trailing_zeros() as usize;
                    here &= here - 1;
                    let key = &keys[row * n_words..][..n_words];
                    let (fails, inside) = key.split_at(words);
                    if is_empty(fails) {
                        let (own, shared) = classes.core.split_at_mut(width);
                        segment.add(own, 1);
                        for leader in members(inside) {
                            segment.add(&mut shared[leader * width..][..width], 1);
                        }
                        continue;
                    }
                    let class = match known.get(key) {
                        Some(&class) => class,
                        None => {
                            known.insert(key.to_vec(), classes.len());
                            classes.push(key)
                        }
                    };
                    segment.add(classes.counts_mut(class), 1);
                }
                if classes.keys.len() + classes.counts.len() > MOST_IN_CLASSES {
                    return None;
                }
            }
        }
        Some(classes.sorted(&table.layout))
    }

    pub fn len(&self) -> usize {
        self.counts.len() / self.width
    }

    fn words_of_key(&self) -> usize {
        let n_leaders = self.core.len() / self.width - 1;
        self.words + n_leaders.div_ceil(64)
    }

    /// The candidates that the rows of each class fail, and its counts, after those of the core.
    #[cfg(test)]
    pub fn each(&self) -> impl Iterator<Item = (Vec<u64>, &[u64])> {
        let core = (vec![0; self.words], &self.core[..self.width]);
        let class = |class| (self.fails(class).to_vec(), self.counts(class));
        std::iter::once(core).chain((0..self.len()).map(class))
    }

    fn push(&mut self, key: &[u64]) -> usize {
        self.keys.extend_from_slice(key);
        self.counts.resize(self.counts.len() + self.width, 0);
        self.len() - 1
    }

    fn key(&self, class: usize) -> &[u64] {
        let n_words = self.words_of_key();
        &self.keys[class * n_words..][..n_words]
    }

    fn fails(&self, class: usize) -> &Candidates {
        &self.key(class)[..self.words]
    }

    fn counts(&self, class: usize) -> &[u64] {
        &self.counts[class * self.width..][..self.width]
    }

    fn counts_mut(&mut self, class: usize) -> &mut [u64] {
        &mut self.counts[class * self.width..][..self.width]
    }

    /// Which of 64 classes fail each candidate.
    fn failing(&self, block: usize) -> &[u64] {
        &self.failing[block * self.n_candidates..][..self.n_candidates]
    }

    /// Adds or takes the counts of a class to or from those of all rows and of the rows of each leader.
    fn apply(&self, class: usize, sums: &mut [u64], change: impl Fn(&mut u64, u64)) {
        let inside = members(&self.key(class)[self.words..]);
        for part in std::iter::once(0).chain(inside.map(|leader| leader + 1)) {
            let sums = &mut sums[part * self.width..][..self.width];
            for (sum, &count) in sums.iter_mut().zip(self.counts(class)) {
                change(sum, count);
            }
        }
    }

    /// The same with the classes that weigh most first. What weighs is a share of the rows of a level: a row of a rare
    /// outcome decides more than one of a common outcome.
    fn sorted(self, layout: &Layout) -> Classes {
        let mut totals = vec![0; layout.n_levels];
        for (cell, n) in layout.all.iter().enumerate() {
            totals[cell % layout.n_levels] += n;
        }
        let weight = |class: &usize| -> f64 {
            let cells = self.counts(*class)[..layout.n_cells()].iter().enumerate();
            let shares =
                cells.map(|(cell, &n)| n as f64 / totals[cell % layout.n_levels].max(1) as f64);
            shares.sum()
        };
        let mut order: Vec<(f64, usize)> = (0..self.len())
            .map(|class| (weight(&class), class))
            .collect();
        order.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
        let total =
            |order: &[(f64, usize)]| -> f64 { order.iter().map(|(weight, _)| weight).sum() };
        let is_uneven = total(&order[..order.len().min(HEAVIEST)]) >= UNEVEN * total(&order);
        let (mut keys, mut counts) = (Vec::new(), Vec::new());
        for (_, class) in order {
            keys.extend_from_slice(self.key(class));
            counts.extend_from_slice(self.counts(class));
        }
        let mut sorted = Classes {
            is_uneven,
            keys,
            counts,
            ..self
        };
        sorted.turn();
        sorted
    }

    /// Notes which classes fail each candidate.
    fn turn(&mut self) {
        let n_blocks = self.len().div_ceil(64);
        self.failing = Vec::with_capacity(n_blocks * self.n_candidates);
        for block in 0..n_blocks {
            let classes = 64 * block..self.len().min(64 * (block + 1));
            for word in 0..self.words {
                let mut square = [0; 64];
                for (line, class) in square.iter_mut().zip(classes.clone()) {
                    *line = self.fails(class)[word];
                }
                transpose(&mut square);
                let n = (self.n_candidates - 64 * word).min(64);
                self.failing.extend_from_slice(&square[..n]);
            }
        }
    }

    /// All classes, as bits.
    fn all(&self) -> Vec<u64> {
        let n_last = self.len() % 64;
        let mut all = vec![u64::MAX; self.len() / 64];
        all.extend((n_last > 0).then_some((1 << n_last) - 1));
        all
    }
}

/// Turns the columns of a square of bits into its lines.
fn transpose(square: &mut [u64; 64]) {
    let (mut step, mut mask) = (32, u64::from(u32::MAX));
    while step > 0 {
        for line in (0..64).filter(|line| line & step == 0) {
            let swapped = (square[line] >> step ^ square[line + step]) & mask;
            square[line] ^= swapped << step;
            square[line + step] ^= swapped;
        }
        step /= 2;
        mask ^= mask << step;
    }
}

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
    /// Is there a row that the rule does not cover?
    excludes: bool,
    /// Classes that are not decided, as bits.
    open: Vec<u64>,
    low: Vec<u64>,
    high: Vec<u64>,
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

/// What is left to decide.
pub struct Look {
    stack: Vec<State>,
    /// How many numbers that holds, about.
    held: usize,
    highest: Option<Score>,
    /// What can only tie with the incumbent is put aside, with its bound, until ties count.
    aside: Vec<(Score, State)>,
    pub n_states: usize,
    pub n_dropped: usize,
}

/// How far a look has come.
pub enum Looked {
    /// No rule that was not found is worth more than this, which is below the goal; or there is none. If ties count, some
    /// may be as good that have too many conditions to win.
    Done(Option<Score>),
    /// The time was up.
    Interrupted,
    /// It holds too much, or what was found cannot be told.
    GivenUp,
}

impl Look {
    pub fn new(classes: Classes) -> Look {
        let stack = vec![State::new(classes)];
        Look {
            held: stack[0].size(),
            stack,
            highest: None,
            aside: Vec::new(),
            n_states: 0,
            n_dropped: 0,
        }
    }

    /// Looks for all sets of rows that reach the goal. `found` gets candidates that cover such a set, and returns the goal
    /// from then on, or nothing if it cannot tell what rule that is.
    pub fn goes_on(
        &mut self,
        mut deciding: Deciding,
        deadline: Instant,
        found: &mut dyn FnMut(Vec<usize>) -> Option<Score>,
    ) -> Looked {
        let ties = self.aside.extract_if(.., |(bound, _)| *bound >= deciding.goal);
        self.stack.extend(ties.map(|(_, state)| state));
        while let Some(mut state) = self.stack.pop() {
            self.held -= state.size();
            self.n_states += 1;
            state.narrow();
            state.regroup(deciding.book.layout());
            let length = deciding.n_conditions + state.n_needed().max(1);
            let length = length.max(deciding.short + 1);
            let bound = deciding.bound(&state.low, &state.high, length);
            if bound < Some(deciding.goal) {
                match bound {
                    Some(bound) if bound >= deciding.goal.saturating_sub(TIED) => {
                        self.held += state.size();
                        self.aside.push((bound, state));
                    }
                    _ => self.highest = self.highest.max(bound),
                }
                continue;
            }
            let is_long = deciding.tie_length.is_some_and(|most| length > most);
            if is_long && bound == Some(deciding.goal) {
                self.highest = self.highest.max(bound);
                continue;
            }
            // The rule with all candidates that are allowed covers what it must, and nothing else.
            let first = members(&state.open).next();
            if state.is_new_set && (state.excludes || first.is_some()) {
                let value = deciding.bound(&state.low, &state.low, length);
                if value >= Some(deciding.goal) {
                    match found(members(&state.allowed).collect()) {
                        Some(goal) => deciding.goal = goal,
                        None => return Looked::GivenUp,
                    }
                }
            }
            if self.n_states % 1500 < 2 {
                let v = |l| deciding.bound(&state.low, &state.low, l).map(|x| x as f64 / (1u64<<52) as f64);
                let b = |l| deciding.bound(&state.low, &state.high, l).map(|x| x as f64 / (1u64<<52) as f64);
                let width = state.classes.width;
                eprintln!("STATE {} stack {} len {length} allowed {} open {} oneof {} new {} low {:?} high {:?} bound {:?} {:?} {:?} val {:?} goal {}", self.n_states, self.stack.len(), size(&state.allowed), size(&state.open), state.one_of.len()/state.classes.words, state.is_new_set, &state.low[..width], &state.high[..width], b(4), b(6), b(10), v(length), deciding.goal as f64 / (1u64<<52) as f64);
            }
            let Some(class) = first else {
                // One set of rows, which is known if it reaches the goal.
                self.highest = self.highest.max(Some(deciding.goal.saturating_sub(TIED)));
                continue;
            };
            if state.open.len() <= 4 * DROP || state.is_new_set {
                let dropped = deciding.dropped(&state, length, &mut self.highest);
                if !is_empty(&dropped) {
                    self.n_dropped += size(&dropped) as usize;
                    if let Some(state) = state.without(&dropped) {
                        self.held += state.size();
                        self.stack.push(state);
                    }
                    continue;
                }
            }
            let covering = state.clone().covering(class);
            for state in covering.into_iter().chain([state.not_covering(class)]) {
                self.held += state.size();
                self.stack.push(state);
            }
            if self.held > MOST_HELD {
                return Looked::GivenUp;
            }
            if Instant::now() >= deadline {
                return Looked::Interrupted;
            }
        }
        let ties = self.aside.iter().map(|(bound, _)| *bound);
        Looked::Done(self.highest.max(ties.max()))
    }

    /// Is there nothing left but what can only tie with the incumbent?
    pub fn waits_for_ties(&self) -> bool {
        self.stack.is_empty() && !self.aside.is_empty()
    }
}

const DROP: usize = 8;

impl Deciding<'_> {
    /// The candidates that no rule has which reaches the goal or ties.
    fn dropped(&self, state: &State, length: usize, highest: &mut Option<Score>) -> Vec<u64> {
        let classes = &*state.classes;
        let width = state.low.len();
        let goal = match self.tie_length {
            None => self.goal.saturating_sub(TIED),
            Some(_) => self.goal,
        };
        let mut lost = vec![0; classes.n_candidates * width];
        let mut fails = vec![0; classes.words];
        for class in members(&state.open).take(64 * DROP) {
            fails.copy_from_slice(classes.fails(class));
            intersect(&mut fails, &state.allowed);
            for candidate in members(&fails) {
                classes.apply(class, &mut lost[candidate * width..][..width], |x, n| *x += n);
            }
        }
        let mut dropped = vec![0; classes.words];
        let mut high = vec![0; width];
        for candidate in members(&state.allowed) {
            let lost = &lost[candidate * width..][..width];
            if is_empty(lost) {
                continue;
            }
            for ((left, high), lost) in high.iter_mut().zip(&state.high).zip(lost) {
                *left = high - lost;
            }
            let bound = self.wanted.bound_of_box(self.book, self.leaders, &state.low, &high, length, goal);
            if bound < Some(goal) {
                *highest = (*highest).max(bound);
                dropped[candidate / 64] |= 1 << (candidate % 64);
            }
        }
        dropped
    }

    fn bound(&self, low: &[u64], high: &[u64], length: usize) -> Option<Score> {
        let Deciding {
            book,
            wanted,
            leaders,
            goal,
            ..
        } = *self;
        wanted.bound_of_box(book, leaders, low, high, length, goal)
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
            excludes: false,
            open: classes.all(),
            low: classes.core.clone(),
            high,
            classes: Arc::new(classes),
        }
    }

    /// How many numbers it holds, about.
    fn size(&self) -> usize {
        self.open.len() + 2 * self.one_of.len() + 2 * self.low.len()
    }

    /// How many candidates the rule has at least: those that it has one of each, and that have nothing in common.
    fn n_needed(&self) -> usize {
        let mut used = vec![0; self.classes.words];
        let mut n_needed = 0;
        for one_of in self.one_of.chunks(self.classes.words) {
            if are_disjoint(one_of, &used) {
                n_needed += 1;
                for (used, one_of) in used.iter_mut().zip(one_of) {
                    *used |= one_of;
                }
            }
        }
        n_needed
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

    /// Puts classes together that differ only in candidates which the rule no longer has, once these are many.
    fn regroup(&mut self, layout: &Layout) {
        let n_allowed = size(&self.allowed) as usize;
        if (size(&self.open) as usize) < WORTH_GROUPING || 2 * n_allowed > self.classes.n_grouped {
            return;
        }
        let before = &self.classes;
        let mut classes = Classes {
            n_grouped: n_allowed,
            core: vec![0; before.core.len()],
            keys: Vec::new(),
            counts: Vec::new(),
            failing: Vec::new(),
            ..**before
        };
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        for class in members(&self.open) {
            let mut key = before.key(class).to_vec();
            intersect(&mut key[..before.words], &self.allowed);
            let place = match known.get(&key) {
                Some(&place) => place,
                None => {
                    let place = classes.push(&key);
                    known.insert(key, place);
                    place
                }
            };
            let sums = classes.counts_mut(place).iter_mut();
            for (sum, count) in sums.zip(before.counts(class)) {
                *sum += count;
            }
        }
        self.classes = Arc::new(classes.sorted(layout));
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
        let changed = smallest(&changed, words);
        // What has one of these has one of more than these.
        let is_implied = |one_of| changed.chunks(words).any(|other| is_subset(other, one_of));
        let same = same.chunks(words).filter(|one_of| !is_implied(one_of));
        let same: Vec<u64> = same.flatten().copied().collect();
        self.one_of = by_size(&[&same[..], &changed].concat(), words).concat();
        self.changed = changed;
        Some(self)
    }

    /// The rule does not cover the class.
    fn not_covering(mut self, class: usize) -> State {
        self.is_new_set = false;
        self.changed.clear();
        self.changed.extend_from_slice(self.classes.fails(class));
        intersect(&mut self.changed, &self.allowed);
        self.one_of.extend_from_slice(&self.changed);
        self
    }
}

/// The most numbers that undecided states may hold: some 128 MB.
const MOST_HELD: usize = 1 << 24;
/// With fewer open classes than this, it does not matter how many of them are alike.
const WORTH_GROUPING: usize = 64;

/// Sets of candidates, small ones first.
fn by_size(sets: &[u64], words: usize) -> Vec<&Candidates> {
    let mut sets: Vec<&Candidates> = sets.chunks(words).collect();
    sets.sort_by_key(|set| size(set));
    sets
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

fn bits(word: u64) -> impl Iterator<Item = usize> {
    let rest = |&word: &u64| Some(word & (word - 1)).filter(|&rest| rest != 0);
    std::iter::successors(Some(word).filter(|&word| word != 0), rest)
        .map(|word| word.trailing_zeros() as usize)
}

fn members(set: &[u64]) -> impl Iterator<Item = usize> + '_ {
    let each = set.iter().enumerate();
    each.flat_map(|(place, &word)| bits(word).map(move |bit| 64 * place + bit))
}

fn is_subset(x: &Candidates, y: &Candidates) -> bool {
    x.iter().zip(y).all(|(x, y)| x & !y == 0)
}
