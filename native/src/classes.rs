//! The rows of a branch, put into classes by the candidates that they fail: a rule covers all rows of a class or none.

use crate::bitset::{intersect, is_empty, size};
use crate::layout::Layout;
use crate::table::Table;
use std::collections::HashMap;
use std::sync::Arc;

/// So many classes have at least this share of the weight where deciding class by class pays: half of it or more in all
/// of kddcup, about an eighth or less in fars and connect-4, where it takes too long.
const HEAVIEST: usize = 100;
const UNEVEN: f64 = 1.0 / 3.0;

/// The most numbers that classes may hold: some 64 MB.
const MOST_IN_CLASSES: usize = 1 << 23;

/// A set of candidates, as bits.
pub type Candidates = [u64];

/// The rows of a branch, by the candidates that they fail and the leaders that cover them.
pub struct Classes {
    pub n_candidates: usize,
    /// Words of a set of candidates.
    pub words: usize,
    /// Counts of a class.
    width: usize,
    /// The number of candidates by which they were told apart.
    pub n_grouped: usize,
    /// Do a few of the classes weigh so much that deciding them decides a lot?
    pub is_uneven: bool,
    /// Counts of the rows that fail none: of all of them, then of those that each leader covers.
    pub core: Vec<u64>,
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
                    write(
                        block,
                        &mut candidates.iter().map(|each| here & !holds(each)),
                    );
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

    pub fn fails(&self, class: usize) -> &Candidates {
        &self.key(class)[..self.words]
    }

    pub fn counts(&self, class: usize) -> &[u64] {
        &self.counts[class * self.width..][..self.width]
    }

    fn counts_mut(&mut self, class: usize) -> &mut [u64] {
        &mut self.counts[class * self.width..][..self.width]
    }

    /// Which of 64 classes fail each candidate.
    pub fn failing(&self, block: usize) -> &[u64] {
        &self.failing[block * self.n_candidates..][..self.n_candidates]
    }

    /// Adds or takes the counts of a class to or from those of all rows and of the rows of each leader.
    pub fn apply(&self, class: usize, sums: &mut [u64], change: impl Fn(&mut u64, u64)) {
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

    /// How many numbers they hold.
    pub fn size(&self) -> usize {
        self.keys.len() + self.counts.len() + self.failing.len()
    }

    /// Some of the classes, those put together that differ only in candidates which are not allowed.
    pub fn grouped(&self, open: &[u64], allowed: &Candidates, layout: &Layout) -> Classes {
        let mut classes = Classes {
            n_grouped: size(allowed) as usize,
            core: vec![0; self.core.len()],
            keys: Vec::new(),
            counts: Vec::new(),
            failing: Vec::new(),
            ..*self
        };
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        for class in members(open) {
            let mut key = self.key(class).to_vec();
            intersect(&mut key[..self.words], allowed);
            let place = match known.get(&key) {
                Some(&place) => place,
                None => {
                    let place = classes.push(&key);
                    known.insert(key, place);
                    place
                }
            };
            let sums = classes.counts_mut(place).iter_mut();
            for (sum, count) in sums.zip(self.counts(class)) {
                *sum += count;
            }
        }
        classes.sorted(layout)
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
    pub fn all(&self) -> Vec<u64> {
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

pub fn bits(word: u64) -> impl Iterator<Item = usize> {
    let rest = |&word: &u64| Some(word & (word - 1)).filter(|&rest| rest != 0);
    std::iter::successors(Some(word).filter(|&word| word != 0), rest)
        .map(|word| word.trailing_zeros() as usize)
}

/// The members of a set.
pub fn members(set: &[u64]) -> impl Iterator<Item = usize> + '_ {
    let each = set.iter().enumerate();
    each.flat_map(|(place, &word)| bits(word).map(move |bit| 64 * place + bit))
}
