//! One table with its controls, as the search sees it: its rows, its estimator, and the rules that are allowed.
//!
//! A search has one source, or several with the same rows and other strata, each for rules on its own sets of columns.
//! Conditions are numbered within a source. Values and bounds are rounded to a grid: two numbers that are mathematically
//! equal compare as equal.

use super::allowed_columns::{AllowedColumns, Columns};
use super::branch::Branch;
use super::candidate_filter::candidate_conditions;
use super::Options;
use crate::bits::lanes::{Lanes, LANES};
use crate::rows::Rows;
use crate::score::{Estimator, Limits, Score};
use crate::table::layout::Layout;
use std::sync::Arc;

pub struct Source {
    pub rows: Arc<dyn Rows>,
    pub estimator: Arc<dyn Estimator>,
    /// Propositions that are neither empty, nor everything, nor equal to an earlier one.
    pub candidates: Vec<u32>,
    /// Only rules on these sets of columns are allowed.
    pub allowed: Option<AllowedColumns>,
    /// The external numbers of the conditions, ascending; the same as here if empty.
    numbers: Option<Vec<u32>>,
    max_length: Option<usize>,
    pub min_rows: u64,
}

/// The grid of values, 2⁻³⁶: sums that are mathematically equal may differ in their last bits, and must still tie. Two of
/// them on both sides of a rounding boundary do not: that happens to about one near-tie in 2¹⁵, since the last bits of a
/// value are that much finer than the grid.
pub const TIED: Score = 1 << 16;

/// The lowest value on the grid from this score on.
pub fn ceiling(score: Score) -> Score {
    score.saturating_add(TIED - 1) & !(TIED - 1)
}

fn settle(score: Score) -> Score {
    (score + TIED / 2) & !(TIED - 1)
}

/// A bound, or `None` if there is no rule.
fn known(bound: Score) -> Option<Score> {
    (bound > Score::MIN).then(|| settle(bound))
}

impl Source {
    pub fn new(
        rows: Arc<dyn Rows>,
        estimator: Arc<dyn Estimator>,
        allowed: Option<&[Columns]>,
        numbers: Option<Vec<u32>>,
        options: &Options,
    ) -> Source {
        let allowed = allowed.map(|sets| AllowedColumns::new(sets, rows.propositions()));
        Source {
            candidates: candidate_conditions(&*rows, allowed.as_ref()),
            rows,
            estimator,
            allowed,
            numbers,
            max_length: options.max_length,
            min_rows: options.min_rows.max(1),
        }
    }

    /// The external numbers of the conditions.
    pub fn outside(&self, conditions: &[u32]) -> Vec<u32> {
        match &self.numbers {
            Some(numbers) => conditions.iter().map(|&c| numbers[c as usize]).collect(),
            None => conditions.to_vec(),
        }
    }

    /// Does it have all conditions of a branch?
    pub fn has(&self, branch: &Branch) -> bool {
        let n_propositions = self.rows.propositions().len();
        let mut conditions = branch.family.conditions.iter().chain(&branch.family.order);
        conditions.all(|&condition| (condition as usize) < n_propositions)
    }

    pub fn layout(&self) -> &Layout {
        self.rows.layout()
    }

    /// How many conditions may be added to `length`; `None` for any number.
    pub fn room_after(&self, length: usize) -> Option<usize> {
        self.max_length.map(|most| most.saturating_sub(length))
    }

    /// The value of a rule of this length; `Score::MIN` without an estimate, which makes it no rule.
    pub fn value(&self, counts: &[u64], length: usize) -> Score {
        settle(self.estimator.value(counts, length))
    }

    /// The same for eight rules at once.
    pub fn values(&self, counts: &[Lanes], length: usize) -> [Score; LANES] {
        self.estimator.values(counts, length).map(settle)
    }

    /// Which of eight rules may reach the goal?
    pub fn may_reach(&self, counts: &[Lanes], length: usize, goal: Score) -> [bool; LANES] {
        // Rounding to the grid changes values by less than this.
        let goal = goal.saturating_sub(TIED);
        self.estimator.may_reach(counts, length, goal)
    }

    /// For each box at least the value of every rule of `length` or more conditions in it; `None` if it holds no rule.
    /// Below the goal, it may be any number that is below the goal and no less than these values.
    pub fn bounds(&self, limits: &[Limits], length: usize, goal: Score) -> Vec<Option<Score>> {
        let mut bounds = Vec::with_capacity(limits.len());
        self.estimator.bounds(limits, length, goal, &mut bounds);
        let layout = self.layout();
        let each = limits.iter().zip(bounds);
        each.map(|(limits, bound)| known(bound).filter(|_| layout.n_failing(limits.low) > 0))
            .collect()
    }

    /// Is this an allowed rule? It has a value, covers enough rows, and fails on at least one.
    pub fn is_rule(&self, counts: &[u64], value: Score) -> bool {
        let layout = self.layout();
        value > Score::MIN && layout.n_covered(counts) >= self.min_rows && layout.n_failing(counts) > 0
    }

    /// The same for the child of another rule, given only the rows of that rule; `size` is the sum of its counts.
    #[inline]
    pub fn is_rule_of(&self, layout: &Layout, counts: &[u64], value: Score, size: u64) -> bool {
        if layout.is_complement() {
            size >= self.min_rows && value > Score::MIN
        } else {
            self.is_rule(counts, value)
        }
    }

    /// May a condition follow at a branch, as far as codes tell? Not if the last condition excludes or implies it, nor if
    /// it implies the last one, which would then be redundant.
    pub fn may_follow<'a>(&'a self, branch: &Branch) -> impl Fn(u32) -> bool + 'a {
        let propositions = self.rows.propositions();
        let last = branch.last().map(|last| &propositions[last as usize]);
        let room = self.room_after(branch.n_conditions() + 1).unwrap_or(usize::MAX);
        let sets = self
            .allowed
            .as_ref()
            .map(|allowed| (allowed, allowed.columns(&branch.conditions())));
        move |candidate: u32| {
            let this = &propositions[candidate as usize];
            let is_needless = last.is_some_and(|last| this.is_needless_beside(last));
            let is_allowed = sets
                .as_ref()
                .is_none_or(|(allowed, columns)| allowed.can_lead(*columns, candidate, room));
            !is_needless && is_allowed
        }
    }

    /// The conditions that may follow.
    pub fn useful_candidates(&self, branch: &Branch) -> Vec<u32> {
        let may_follow = self.may_follow(branch);
        let mut useful = Vec::with_capacity(branch.candidates().len());
        useful.extend(branch.candidates().iter().copied().filter(|&c| may_follow(c)));
        useful
    }

    /// Is a condition useless if it excludes no row of the rule? Not if it leads to another set of columns, which may be
    /// allowed while that of the rule is not.
    pub fn is_useless_alone(&self, conditions: &[u32], proposition: u32) -> bool {
        self.allowed
            .as_ref()
            .is_none_or(|allowed| allowed.is_on(proposition, allowed.columns(conditions)))
    }

    /// Are there so few rules below one with these conditions that bounds do not pay?
    pub fn are_few(&self, conditions: &[u32], candidates: &[u32]) -> bool {
        let allowed = self.allowed.as_ref();
        allowed.is_some_and(|allowed| allowed.are_few(allowed.columns(conditions), candidates))
    }

    /// Is a rule with these conditions and one more allowed?
    pub fn is_allowed_with(&self, conditions: &[u32], proposition: u32) -> bool {
        let allowed = self.allowed.as_ref();
        allowed.is_none_or(|allowed| allowed.has_with(allowed.columns(conditions), proposition))
    }

    /// Can a rule of these conditions and one more become an allowed rule, with some of these candidates?
    pub fn can_end(&self, conditions: &[u32], proposition: u32, candidates: &[u32]) -> bool {
        let room = self.room_after(conditions.len() + 1).unwrap_or(usize::MAX);
        self.allowed.as_ref().is_none_or(|allowed| {
            let columns = allowed.columns(conditions) | allowed.columns(&[proposition]);
            allowed.can_end(columns, candidates, room)
        })
    }
}
