//! The shortest way to say which rows a rule covers.
//!
//! Every condition that holds on all of the rows may be used; together they must exclude every other row.
//! That is a set cover, solved exactly: begin with the greedy answer, then look for a shorter one, and among
//! the shortest for the first in the order of the propositions.

use crate::bitset::{is_subset, size};
use crate::table::Table;

/// Covers with many conditions can take exponential time; after this many steps the best one so far stands.
/// The steps do not depend on the order of the rows, so neither does the answer.
const MOST_STEPS: usize = 100_000;

/// The shortest conjunction of `usable` propositions that covers exactly `rows`, the first among the shortest.
pub fn shortest(table: &Table, usable: &[u32], rows: &[u64]) -> Vec<u32> {
    let implied = usable.iter().copied();
    let implied: Vec<u32> = implied
        .filter(|&p| is_subset(rows, table.proposition(p as usize)))
        .collect();
    let others: Vec<u64> = table.all.iter().zip(rows).map(|(a, r)| a & !r).collect();
    let mut cover = Cover {
        rest: table.project(&others, &implied),
        chosen: Vec::new(),
        best: Vec::new(),
        steps: 0,
    };
    cover.best = cover.greedy();
    let everything = cover.rest.all.clone();
    cover.improve(&everything);
    cover.best.iter().map(|&local| implied[local]).collect()
}

struct Cover {
    /// The rows to exclude, and where each usable proposition holds among them.
    rest: Table,
    chosen: Vec<usize>,
    best: Vec<usize>,
    steps: usize,
}

impl Cover {
    fn without(&self, left: &[u64], proposition: usize) -> Vec<u64> {
        let holds = self.rest.proposition(proposition);
        left.iter().zip(holds).map(|(l, h)| l & h).collect()
    }

    fn excluded_by(&self, left: &[u64], proposition: usize) -> u64 {
        let holds = self.rest.proposition(proposition);
        let words = left.iter().zip(holds);
        words.map(|(l, h)| u64::from((l & !h).count_ones())).sum()
    }

    fn greedy(&self) -> Vec<usize> {
        let mut left = self.rest.all.clone();
        let mut chosen = Vec::new();
        while left.iter().any(|&word| word != 0) {
            let candidates = 0..self.rest.propositions.len();
            let gain = |&p: &usize| (self.excluded_by(&left, p), std::cmp::Reverse(p));
            let Some(best) = candidates.max_by_key(gain) else {
                break;
            };
            if self.excluded_by(&left, best) == 0 {
                break;
            }
            left = self.without(&left, best);
            chosen.push(best);
        }
        chosen.sort_unstable();
        chosen
    }

    /// Replaces `best` by anything shorter, or equally short and earlier, that begins with `chosen`.
    fn improve(&mut self, left: &[u64]) {
        self.steps += 1;
        let Some(word) = left.iter().position(|&word| word != 0) else {
            let mut found = self.chosen.clone();
            found.sort_unstable();
            if (found.len(), &found) < (self.best.len(), &self.best) {
                self.best = found;
            }
            return;
        };
        let slots = self.best.len() - self.chosen.len().min(self.best.len());
        if slots == 0 || self.steps > MOST_STEPS {
            return;
        }
        let mut gains: Vec<u64> = (0..self.rest.propositions.len())
            .map(|p| self.excluded_by(left, p))
            .collect();
        let to_exclude = size(left);
        let row = 1 << left[word].trailing_zeros();
        // One of the propositions that exclude this row has to be in any cover.
        let branches: Vec<usize> = (0..gains.len())
            .filter(|&p| self.rest.proposition(p)[word] & row == 0)
            .collect();
        gains.sort_unstable_by(|x, y| y.cmp(x));
        if gains.iter().take(slots).sum::<u64>() < to_exclude {
            return;
        }
        for proposition in branches {
            self.chosen.push(proposition);
            let left = self.without(left, proposition);
            self.improve(&left);
            self.chosen.pop();
        }
    }
}
