//! The front of value and coverage, as far as it is known while it is looked for.
//!
//! A rule that covers no more rows than another one of a higher value is never on the front: the other one, or one that
//! covers as many or more, is settled before it. So is no rule of a branch in which nothing is worth more than the other rule, and
//! nothing covers more.

use crate::estimator::Score;

/// Values with the rows that rules of these values cover: the values do not rise, the rows do.
#[derive(Clone, Debug, Default)]
pub struct Front(Vec<(Score, u64)>);

impl Front {
    /// The fewest rows that a rule must cover if it is worth this or less.
    pub fn min_rows(&self, value: Score) -> u64 {
        let n_better = self.0.partition_point(|&(better, _)| better > value);
        match n_better.checked_sub(1) {
            Some(last) => self.0[last].1 + 1,
            None => 0,
        }
    }

    /// Takes in a rule of this value and coverage.
    pub fn takes_in(&mut self, value: Score, n_covered: u64) {
        if n_covered < self.min_rows(value) {
            return;
        }
        let first = self.0.partition_point(|&(better, _)| better > value);
        let is_less = |&&(_, covered): &&(Score, u64)| covered <= n_covered;
        let n_less = self.0[first..].iter().take_while(is_less).count();
        self.0.splice(first..first + n_less, [(value, n_covered)]);
    }
}
