//! One step of the branch and bound: from a rule and its candidates to its children. Guarantee: every rule of one condition
//! more is offered, and only branches without a wanted rule are pruned.
//!
//! A child stands for a branch: the rules that have its condition and any of those after it in the family's order. Why
//! nothing is lost:
//!
//! - *Bound.* Every rule of a branch covers the rows that satisfy all of its candidates (the core), and only
//!   rows of its own. Its counts lie in that box, and the estimator's bound is no less than any value in it.
//! - *Dropping.* A child that is not worth entering with all other candidates is not worth entering with some of them,
//!   nor is any rule that has its condition: it is no candidate of its siblings either.
//! - *Order.* Every set of candidates belongs to one branch, that of its first member, whatever the order is.
//! - *Minimal rules.* If dropping one condition of a rule leaves the same rows, so it does in every longer rule. So
//!   every part of a minimal rule is minimal, and the branches of other rules need not be entered: fewer conditions
//!   find their rows.
//! - *Limited length.* With d more conditions allowed, a cell loses at most the rows that the d candidates with the
//!   largest losses exclude.

use super::branch::{Branch, Family, Key};
use super::goal::Standing;
use super::source::Source;
use super::trace::{Fate, Trace};
use super::Search;
use crate::bits::bitset::total;
use crate::rows::Extension;
use crate::score::{Limits, Score};
use std::cmp::Reverse;
use std::sync::Arc;

/// The counts of a rule, then those of the rule with each candidate.
#[derive(Default)]
struct Counts {
    width: usize,
    numbers: Vec<u64>,
}

impl Counts {
    fn own(&self) -> &[u64] {
        &self.numbers[..self.width]
    }

    fn of(&self, slot: usize) -> &[u64] {
        &self.numbers[(slot + 1) * self.width..(slot + 2) * self.width]
    }
}

struct Child {
    condition: u32,
    bound: Score,
    /// The index of its counts among those of all candidates.
    slot: usize,
}

/// Buffers that a worker reuses.
#[derive(Default)]
pub struct Expander {
    counts: Counts,
    cores: Vec<u64>,
    low: Vec<u64>,
    losses: Losses,
}

/// For each count, the largest losses by single conditions.
#[derive(Default)]
struct Losses {
    /// The maximum number of further conditions.
    most: usize,
    /// The `most` largest losses of each count, in descending order.
    largest: Vec<u64>,
    sums: Vec<u64>,
}

impl Losses {
    fn clear(&mut self, most: usize, width: usize) {
        self.most = most;
        self.largest.clear();
        self.largest.resize(most * width, 0);
        self.sums.clear();
        self.sums.resize(width, 0);
    }

    /// Adds the losses of a condition that leaves `counts` of `own`.
    fn add(&mut self, own: &[u64], counts: &[u64]) {
        let most = self.most;
        let losses = own.iter().zip(counts).map(|(own, left)| own - left);
        let each = self.largest.chunks_mut(most).zip(&mut self.sums);
        for (loss, (largest, sum)) in losses.zip(each) {
            let least = largest[most - 1];
            if loss > least {
                *sum += loss - least;
                let place = largest.partition_point(|&x| x >= loss);
                largest.copy_within(place..most - 1, place + 1);
                largest[place] = loss;
            }
        }
    }

    /// Raises the lower limits to what the largest losses together leave.
    fn raise(&self, low: &mut [u64], counts: &[u64]) {
        for ((low, count), sum) in low.iter_mut().zip(counts).zip(&self.sums) {
            *low = (*low).max(count.saturating_sub(*sum));
        }
    }
}

impl Expander {
    /// Offers all children of a rule, and returns the branches to enter, strongest first.
    pub fn expand(
        &mut self,
        search: &Search,
        source: &Source,
        branch: &Branch,
        candidates: &[u32],
        extension: &dyn Extension,
        trace: &mut Trace,
    ) -> Vec<Branch> {
        self.counts.width = source.layout().width();
        extension.counts(candidates, &mut self.counts.numbers);
        let conditions = branch.conditions();
        let mut step = Step {
            search,
            source,
            branch,
            extension,
            counts: &self.counts,
            is_few: source.are_few(&conditions, candidates),
            conditions,
            trace,
        };
        let mut children = step.offer(candidates);
        // The last child has no candidates.
        if children.len() < 2 {
            return Vec::new();
        }
        let has_core = step.drop_by_core(&mut children);
        if children.len() < 2 {
            return Vec::new();
        }
        step.order(&mut children, has_core);
        let family = Arc::new(Family {
            source: branch.family.source,
            order: children.iter().map(|child| child.condition).collect(),
            conditions: step.conditions.clone(),
        });
        let found = match step.is_few {
            true => step.branches_of_few(&family, &children),
            false => {
                extension.cores(&family.order, &mut self.cores);
                let (cores, low) = (&self.cores, &mut self.low);
                step.branches(&family, &children, cores, low, &mut self.losses)
            }
        };
        step.minimal(&family, found)
    }
}

/// A rule that is being expanded.
struct Step<'a> {
    search: &'a Search,
    source: &'a Source,
    branch: &'a Branch,
    extension: &'a dyn Extension,
    counts: &'a Counts,
    conditions: Vec<u32>,
    /// Are there so few rules that bounds do not pay?
    is_few: bool,
    trace: &'a mut Trace,
}

impl Step<'_> {
    /// The number of conditions of the children.
    fn length(&self) -> usize {
        self.conditions.len() + 1
    }

    /// The minimum length of a rule below a child.
    fn below(&self) -> usize {
        self.conditions.len() + 2
    }

    /// The standing of a branch below a child, given its bound.
    fn standing(&self, bound: Score) -> Standing {
        let min_length = Reverse(self.below());
        self.search.goal.standing(Key { bound, min_length })
    }

    /// The children that may lead to a wanted rule, by their new bounds; `fate` is recorded for the others.
    fn sift(&mut self, mut children: Vec<Child>, bounds: Vec<Option<Score>>, fate: Fate) -> Vec<Child> {
        let mut bounds = bounds.into_iter();
        children.retain_mut(|child| {
            let bound = bounds.next().flatten();
            child.bound = bound.unwrap_or(Score::MIN).min(child.bound);
            let is_kept = bound.is_some() && self.standing(child.bound) != Standing::Behind;
            if !is_kept {
                (self.trace).note_child(self.branch, child.condition, child.bound, fate);
            }
            is_kept
        });
        children
    }

    /// Offers the children, and returns those that may lead further, by their own rows alone.
    fn offer(&mut self, candidates: &[u32]) -> Vec<Child> {
        let (source, counts) = (self.source, self.counts);
        let layout = source.layout();
        let size = total(counts.own());
        // Children without candidates need no bound.
        let is_last = source.room_after(self.length()) == Some(0);
        // If the value falls with the length, a child's own value is no part of the bound of its branch.
        let offers_first = is_last || self.is_few || source.estimator.is_by_length();
        let mut children = Vec::new();
        for (slot, &condition) in candidates.iter().enumerate() {
            let counts = counts.of(slot);
            let left = total(counts);
            let excludes = left < size || !source.is_useless_alone(&self.conditions, condition);
            if !excludes || layout.n_covered(counts) < source.min_rows {
                continue;
            }
            if offers_first {
                self.offer_child(condition, counts, left);
            }
            if !is_last {
                children.push(Child {
                    condition,
                    bound: self.branch.bound,
                    slot,
                });
            }
        }
        if is_last || self.is_few {
            return children;
        }
        let bounds = self.bounds(&children, &vec![0; counts.width]);
        if !offers_first {
            let goal = self.search.goal.value();
            for (child, bound) in children.iter().zip(&bounds) {
                if (*bound).min(Some(child.bound)) >= Some(goal) {
                    let counts = counts.of(child.slot);
                    self.offer_child(child.condition, counts, total(counts));
                }
            }
        }
        self.sift(children, bounds, Fate::Rows)
    }

    /// The bounds of the children if all rules below them cover the rows of a core.
    fn bounds(&self, children: &[Child], core: &[u64]) -> Vec<Option<Score>> {
        let limits = children.iter().map(|child| Limits {
            low: core,
            high: self.counts.of(child.slot),
        });
        let limits: Vec<Limits> = limits.collect();
        (self.source).bounds(&limits, self.below(), self.search.goal.value())
    }

    fn offer_child(&mut self, condition: u32, counts: &[u64], size: u64) {
        let source = self.source;
        if !source.is_allowed_with(&self.conditions, condition) {
            return;
        }
        let value = source.value(counts, self.length());
        let is_good = value >= self.search.goal.value();
        if is_good && source.is_rule_of(source.layout(), counts, value, size) {
            self.conditions.push(condition);
            self.search.offer(source, value, counts, &self.conditions);
            self.conditions.pop();
        }
    }

    /// Every rule below every child covers the rows that satisfy all candidates. Children that cannot reach the goal with
    /// these rows are dropped from all branches, which may enlarge the core, and so on. Returns whether there is a core.
    fn drop_by_core(&mut self, children: &mut Vec<Child>) -> bool {
        if self.is_few {
            return false;
        }
        loop {
            let candidates: Vec<u32> = children.iter().map(|child| child.condition).collect();
            let Some(core) = self.extension.common_core(&candidates) else {
                return false;
            };
            let bounds = self.bounds(children, &core);
            *children = self.sift(std::mem::take(children), bounds, Fate::CommonCore);
            if children.len() == candidates.len() {
                return true;
            }
        }
    }

    /// The weakest child comes first: it may take all others, and is soon pruned.
    ///
    /// If all candidates share rows, the criterion is how little can be reached *without* a child: rules without it cover
    /// the rows that all others share. If these are too many, every wanted rule has the child's condition. It then comes
    /// first, and all branches after it, which lack it, are dropped by their cores.
    fn order(&self, children: &mut Vec<Child>, has_core: bool) {
        if !has_core {
            children.sort_by_key(|child| (child.bound, child.condition));
            return;
        }
        let candidates: Vec<u32> = children.iter().map(|child| child.condition).collect();
        let mut cores = Vec::new();
        self.extension.cores_without(&candidates, &mut cores);
        let high = self.counts.own();
        let cores = cores.chunks(self.counts.width);
        let limits: Vec<Limits> = cores.map(|low| Limits { low, high }).collect();
        let without = (self.source).bounds(&limits, self.below(), self.search.goal.value());
        let mut keyed: Vec<(Option<Score>, Child)> = without.into_iter().zip(children.drain(..)).collect();
        keyed.sort_by_key(|(without, child)| (*without, child.bound, child.condition));
        children.extend(keyed.into_iter().map(|(_, child)| child));
    }

    /// The children that may lead to an allowed rule with those after them. The last one has no candidates.
    fn leading(&self, family: &Family) -> Vec<usize> {
        let (conditions, order) = (&family.conditions, &family.order);
        let can_end = |&index: &usize| (self.source).can_end(conditions, order[index], &order[index + 1..]);
        (0..order.len() - 1).filter(can_end).collect()
    }

    /// The branches of the children if bounds do not pay.
    fn branches_of_few(&self, family: &Arc<Family>, children: &[Child]) -> Vec<Branch> {
        let leading = self.leading(family).into_iter().rev();
        let branches = leading.map(|index| Branch {
            bound: children[index].bound,
            family: family.clone(),
            child: Some(index as u32),
        });
        branches.collect()
    }

    /// The branches of the children, from the strongest, which has no candidates, to the weakest, which may take all
    /// others.
    fn branches(
        &mut self,
        family: &Arc<Family>,
        children: &[Child],
        cores: &[u64],
        low: &mut Vec<u64>,
        losses: &mut Losses,
    ) -> Vec<Branch> {
        let (counts, width) = (self.counts, self.counts.width);
        let room = self.source.room_after(self.length());
        let limit = room.filter(|&room| room < children.len());
        low.clear();
        low.extend_from_slice(cores);
        if let Some(most) = limit {
            losses.clear(most, width);
            for (child, low) in children.iter().zip(low.chunks_mut(width)).rev() {
                losses.raise(low, counts.of(child.slot));
                losses.add(counts.own(), counts.of(child.slot));
            }
        }
        let leading = self.leading(family);
        let limits = leading.iter().map(|&index| Limits {
            low: &low[index * width..(index + 1) * width],
            high: counts.of(children[index].slot),
        });
        let limits: Vec<Limits> = limits.collect();
        let bounds = (self.source).bounds(&limits, self.below(), self.search.goal.value());
        let mut found = Vec::new();
        for (bound, &index) in bounds.into_iter().zip(&leading).rev() {
            let branch = Branch {
                bound: bound.unwrap_or(Score::MIN).min(children[index].bound),
                family: family.clone(),
                child: Some(index as u32),
            };
            if bound.is_none() || self.standing(branch.bound) == Standing::Behind {
                self.trace.note(&branch, Fate::Core);
            } else {
                found.push(branch);
            }
        }
        found
    }

    /// The branches of minimal rules.
    fn minimal(&mut self, family: &Family, found: Vec<Branch>) -> Vec<Branch> {
        // If only some sets of columns are allowed, the same rows on fewer columns may not be allowed.
        if self.source.allowed.is_some() {
            return found;
        }
        let children: Vec<u32> = found.iter().filter_map(Branch::last).collect();
        let is_minimal = self.source.rows.are_minimal(&family.conditions, &children);
        let mut minimal = Vec::with_capacity(found.len());
        for (branch, is_minimal) in found.into_iter().zip(is_minimal) {
            match is_minimal {
                true => minimal.push(branch),
                false => self.trace.note(&branch, Fate::NotMinimal),
            }
        }
        minimal
    }
}
