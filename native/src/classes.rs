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

/// A set of candidates, as bits.
type Candidates = [u64];

/// The rows of a branch, by the candidates that they fail. The first class fails none: it is the core of the branch.
pub struct Classes {
    n_candidates: usize,
    /// Words of a set of candidates.
    words: usize,
    /// Counts of a class: of all its rows, then of those that it shares with each of some other rules.
    width: usize,
    /// The number of candidates by which they were told apart.
    n_grouped: usize,
    /// Do a few of the classes weigh so much that deciding them decides a lot?
    pub is_uneven: bool,
    fails: Vec<u64>,
    counts: Vec<u64>,
}

impl Classes {
    fn new(n_candidates: usize, width: usize) -> Classes {
        let words = n_candidates.div_ceil(64).max(1);
        Classes {
            n_candidates,
            words,
            width,
            n_grouped: n_candidates,
            is_uneven: false,
            fails: vec![0; words],
            counts: vec![0; width],
        }
    }

    /// The classes of some rows of a table.
    pub fn of(
        table: &Table,
        rows: &[u64],
        candidates: &[u32],
        others: &[Arc<Vec<u64>>],
    ) -> Classes {
        let width = table.layout.width();
        let mut classes = Classes::new(candidates.len(), width * (1 + others.len()));
        let words = classes.words;
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        // The candidates that each of 64 rows fails.
        let mut fails = vec![0; 64 * words];
        for segment in &table.segments {
            for word in segment.start..segment.end {
                let mut here = rows[word];
                if here == 0 {
                    continue;
                }
                for (block, candidates) in candidates.chunks(64).enumerate() {
                    let mut square = [0; 64];
                    for (line, &candidate) in square.iter_mut().zip(candidates) {
                        *line = here & !table.proposition(candidate as usize)[word];
                    }
                    transpose(&mut square);
                    for (row, line) in square.into_iter().enumerate() {
                        fails[row * words + block] = line;
                    }
                }
                while here != 0 {
                    let row = here.trailing_zeros() as usize;
                    here &= here - 1;
                    let fails = &fails[row * words..][..words];
                    let class = match known.get(fails) {
                        _ if fails.iter().all(|&word| word == 0) => 0,
                        Some(&class) => class,
                        None => {
                            let class = classes.push(fails);
                            known.insert(fails.to_vec(), class);
                            class
                        }
                    };
                    let (own, shared) = classes.counts_mut(class).split_at_mut(width);
                    segment.add(own, 1);
                    for (other, counts) in others.iter().zip(shared.chunks_mut(width)) {
                        segment.add(counts, other[word] >> row & 1);
                    }
                }
            }
        }
        classes.sorted(&table.layout)
    }

    pub fn len(&self) -> usize {
        self.counts.len() / self.width
    }

    /// The candidates that the rows of each class fail, and its counts.
    #[cfg(test)]
    pub fn each(&self) -> impl Iterator<Item = (&Candidates, &[u64])> {
        (0..self.len()).map(|class| (self.fails(class), self.counts(class)))
    }

    fn push(&mut self, fails: &Candidates) -> usize {
        self.fails.extend_from_slice(fails);
        self.counts.resize(self.counts.len() + self.width, 0);
        self.len() - 1
    }

    fn fails(&self, class: usize) -> &Candidates {
        &self.fails[class * self.words..][..self.words]
    }

    fn counts(&self, class: usize) -> &[u64] {
        &self.counts[class * self.width..][..self.width]
    }

    fn counts_mut(&mut self, class: usize) -> &mut [u64] {
        &mut self.counts[class * self.width..][..self.width]
    }

    /// The same with the classes that weigh most first, but for the core. What weighs is a share of the rows of a level: a
    /// row of a rare outcome decides more than one of a common outcome.
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
        let mut order: Vec<(f64, usize)> = (1..self.len())
            .map(|class| (weight(&class), class))
            .collect();
        order.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
        let total =
            |order: &[(f64, usize)]| -> f64 { order.iter().map(|(weight, _)| weight).sum() };
        let mut sorted = Classes::new(self.n_candidates, self.width);
        sorted.n_grouped = self.n_grouped;
        sorted.is_uneven = total(&order[..order.len().min(HEAVIEST)]) >= UNEVEN * total(&order);
        sorted.counts.copy_from_slice(self.counts(0));
        for (_, class) in order {
            sorted.fails.extend_from_slice(self.fails(class));
            sorted.counts.extend_from_slice(self.counts(class));
        }
        sorted
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
    /// Classes that are not decided.
    open: Vec<u32>,
    low: Vec<u64>,
    high: Vec<u64>,
}

/// Rules that have at least one of some candidates, and may stand beside the leaders.
pub struct Deciding<'a> {
    pub book: &'a Rulebook,
    pub wanted: Wanted,
    pub leaders: &'a [Leader],
    /// The fewest conditions of such a rule.
    pub length: usize,
    pub goal: Score,
    pub deadline: Instant,
}

impl Deciding<'_> {
    /// Looks for all sets of rows that reach the goal. `found` gets candidates that cover such a set, and returns the goal
    /// from then on, or nothing if it cannot tell what rule that is. At the end, no other rule is worth more than the bound that is returned, which is below the goal, or
    /// there is none. An error: it takes too long.
    pub fn look(
        mut self,
        classes: Classes,
        found: &mut dyn FnMut(Vec<usize>) -> Option<Score>,
    ) -> Result<Option<Score>, ()> {
        let n_candidates = classes.n_candidates;
        let mut highest = None;
        let mut stack = vec![State::new(classes)];
        let mut held = stack[0].size();
        while let Some(mut state) = stack.pop() {
            held -= state.size();
            if Instant::now() >= self.deadline || held > MOST_HELD {
                return Err(());
            }
            state.narrow();
            state.regroup(self.book.layout());
            let bound = self.bound(&state.low, &state.high);
            if bound < Some(self.goal) {
                highest = highest.max(bound);
                continue;
            }
            // The rule with all candidates that are allowed covers what it must, and nothing else.
            if state.is_new_set && (state.excludes || !state.open.is_empty()) {
                let value = self.bound(&state.low, &state.low);
                if value >= Some(self.goal) {
                    let is_member =
                        |place: &usize| state.allowed[place / 64] >> (place % 64) & 1 == 1;
                    let rule = (0..n_candidates).filter(is_member).collect();
                    self.goal = found(rule).ok_or(())?;
                }
            }
            let Some(&class) = state.open.first() else {
                // One set of rows, which is known if it reaches the goal.
                highest = highest.max(Some(self.goal.saturating_sub(TIED)));
                continue;
            };
            let covering = state.clone().covering(class as usize);
            for state in covering
                .into_iter()
                .chain([state.not_covering(class as usize)])
            {
                held += state.size();
                stack.push(state);
            }
        }
        Ok(highest)
    }

    fn bound(&self, low: &[u64], high: &[u64]) -> Option<Score> {
        let Deciding {
            book,
            wanted,
            leaders,
            length,
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
        let mut high = vec![0; classes.width];
        for class in 0..classes.len() {
            add(&mut high, classes.counts(class));
        }
        State {
            allowed,
            one_of: Vec::new(),
            changed: Vec::new(),
            is_new_set: true,
            excludes: false,
            open: (1..classes.len() as u32).collect(),
            low: classes.counts(0).to_vec(),
            high,
            classes: Arc::new(classes),
        }
    }

    /// How many numbers it holds, about.
    fn size(&self) -> usize {
        self.open.len() / 2 + 2 * self.one_of.len() + 2 * self.low.len()
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
        open.retain(|&class| {
            let fails = classes.fails(class as usize);
            if *is_new_set && are_disjoint(fails, allowed) {
                add(low, classes.counts(class as usize));
                return false;
            }
            let fails_all = |one_of| is_subset(one_of, fails);
            if changed.chunks(classes.words).any(fails_all) {
                for (high, count) in high.iter_mut().zip(classes.counts(class as usize)) {
                    *high -= count;
                }
                *excludes = true;
                return false;
            }
            true
        });
    }

    /// Puts classes together that differ only in candidates which the rule no longer has, once these are many.
    fn regroup(&mut self, layout: &Layout) {
        let n_allowed = size(&self.allowed) as usize;
        if self.open.len() < WORTH_GROUPING || 2 * n_allowed > self.classes.n_grouped {
            return;
        }
        let before = &self.classes;
        let mut classes = Classes::new(before.n_candidates, before.width);
        classes.n_grouped = n_allowed;
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut fails = vec![0; before.words];
        for &class in &self.open {
            fails.copy_from_slice(before.fails(class as usize));
            intersect(&mut fails, &self.allowed);
            let place = match known.get(&fails) {
                Some(&place) => place,
                None => {
                    known.insert(fails.clone(), classes.len());
                    classes.push(&fails)
                }
            };
            add(classes.counts_mut(place), before.counts(class as usize));
        }
        self.classes = Arc::new(classes.sorted(layout));
        self.open = (1..self.classes.len() as u32).collect();
    }

    /// The rule covers the class, if it can.
    fn covering(mut self, class: usize) -> Option<State> {
        let fails = self.classes.fails(class);
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
        self.one_of = [&same[..], &changed].concat();
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

/// Those of some sets of candidates that contain no other.
fn smallest(sets: &[u64], words: usize) -> Vec<u64> {
    let mut sets: Vec<&Candidates> = sets.chunks(words).collect();
    sets.sort_by_key(|set| size(set));
    let mut kept: Vec<u64> = Vec::new();
    for set in sets {
        if !kept.chunks(words).any(|other| is_subset(other, set)) {
            kept.extend_from_slice(set);
        }
    }
    kept
}

fn is_subset(x: &Candidates, y: &Candidates) -> bool {
    x.iter().zip(y).all(|(x, y)| x & !y == 0)
}

fn add(sum: &mut [u64], counts: &[u64]) {
    for (sum, count) in sum.iter_mut().zip(counts) {
        *sum += count;
    }
}
