//! Branches of the search: a rule and its candidates, the conditions that it may still take.
//!
//! Siblings share their family, so a branch is three numbers. [`Key`] is the only order of branches.

use crate::score::Score;
use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

/// The order of branches: the highest bound first, then the shortest rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// No rule of the branch has a higher value.
    pub bound: Score,
    /// The minimum length of the rules not yet valued.
    pub min_length: Reverse<usize>,
}

/// The children of one rule, in order: each child may take the conditions of those after it.
pub struct Family {
    /// The number of the source of these rules.
    pub source: usize,
    pub conditions: Vec<u32>,
    pub order: Vec<u32>,
}

/// A rule to expand: one child of a family, or the root.
#[derive(Clone)]
pub struct Branch {
    pub bound: Score,
    pub family: Arc<Family>,
    /// The index of the child in the family's order; `None` for the root.
    pub child: Option<u32>,
}

impl Branch {
    pub fn root(source: usize, candidates: &[u32]) -> Branch {
        let family = Family {
            source,
            conditions: Vec::new(),
            order: candidates.to_vec(),
        };
        Branch {
            bound: Score::MAX,
            family: Arc::new(family),
            child: None,
        }
    }

    pub fn is_root(&self) -> bool {
        self.child.is_none()
    }

    /// The index in the family's order.
    pub fn index(&self) -> Option<usize> {
        self.child.map(|child| child as usize)
    }

    /// The condition that this child adds to the family's rule.
    pub fn last(&self) -> Option<u32> {
        self.index().map(|index| self.family.order[index])
    }

    pub fn n_conditions(&self) -> usize {
        self.family.conditions.len() + usize::from(!self.is_root())
    }

    /// The minimum length of the rules that expanding it leads to.
    pub fn min_length(&self) -> usize {
        self.n_conditions() + 1
    }

    pub fn key(&self) -> Key {
        Key {
            bound: self.bound,
            min_length: Reverse(self.min_length()),
        }
    }

    pub fn conditions(&self) -> Vec<u32> {
        let conditions = self.family.conditions.iter().copied();
        conditions.chain(self.last()).collect()
    }

    /// The conditions after it in the family's order.
    pub fn candidates(&self) -> &[u32] {
        let first = self.index().map_or(0, |index| index + 1);
        &self.family.order[first..]
    }
}

impl Ord for Branch {
    fn cmp(&self, other: &Branch) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Branch {
    fn partial_cmp(&self, other: &Branch) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Branch {
    fn eq(&self, other: &Branch) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Branch {}
