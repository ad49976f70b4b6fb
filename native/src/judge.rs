//! Who decides what is good enough, and takes what is found.

use crate::branch::Branch;
use crate::estimator::Score;
use crate::layout::Layout;

/// What becomes of a branch, given its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may hold a rule that is wanted now.
    Enter,
    /// Not now: it can only tie, or hold rules that are wanted when others are settled; or it may hold a better rule, but
    /// not one so much better that it is worth looking for.
    Later,
    /// It holds nothing that is wanted, now or later.
    Never,
}

pub trait Judge {
    /// What becomes of a branch in which nothing exceeds this bound, and no rule has fewer conditions.
    fn verdict(&self, bound: Score, length: usize) -> Verdict;
    /// A branch whose bound is below this is not entered.
    fn goal(&self) -> Score;
    /// Branches whose bound is not below this are kept one by one if they are put off; of others only the rule that they
    /// come from is kept, which is expanded again when they are wanted.
    fn keeps_from(&self) -> Score {
        self.goal()
    }
    /// Are rules of so many conditions not looked for now? Of branches that lead to nothing else only the rule that they come
    /// from is kept.
    fn is_too_long(&self, _length: usize) -> bool {
        false
    }
    /// Is the best that a branch can reach a tie with a rule that is known already, and is that rule the only one in the
    /// branch that reaches it?
    fn is_known(&self, branch: &Branch) -> bool;
    /// A rule with its value and counts; it covers at least one row and fails on one.
    fn offer(&mut self, value: Score, counts: &[u64], conditions: &[u32]);
    /// Rules below this value are not offered now, but may be wanted later.
    fn offers_from(&self) -> Score {
        Score::MIN
    }
    /// Rules that are worth no more than this and cover fewer rows are not wanted, now or later.
    fn min_rows(&self, _value: Score) -> u64 {
        0
    }
    /// Do rules of these counts or fewer cover too few rows to be wanted, if they are worth this or less?
    fn is_too_small(&self, layout: &Layout, value: Score, counts: &[u64]) -> bool {
        let least = self.min_rows(value);
        least > 0 && layout.n_covered(counts) < least
    }
}
