//! Branches of the search: a rule, and the conditions that it may still take.

use crate::score::Score;
use std::cmp::Ordering;
use std::sync::Arc;

/// The children of one rule, in the order that decides which of them may still take which conditions:
/// each may take those that come after it.
pub struct Family {
    pub conditions: Vec<u32>,
    pub order: Vec<u32>,
}

/// A rule that is still to be expanded: one child of a family, or the root.
#[derive(Clone)]
pub struct Node {
    /// No rule of the branch is worth more.
    pub bound: Score,
    pub family: Arc<Family>,
    /// Which child it is; `None` for the root.
    pub child: Option<u32>,
}

impl Node {
    pub fn root(usable: &[u32]) -> Node {
        let family = Family {
            conditions: Vec::new(),
            order: usable.to_vec(),
        };
        Node {
            bound: Score::MAX,
            family: Arc::new(family),
            child: None,
        }
    }

    pub fn is_root(&self) -> bool {
        self.child.is_none()
    }

    /// Its place in the family's order.
    pub fn place(&self) -> Option<usize> {
        self.child.map(|child| child as usize)
    }

    /// The condition that makes it a child.
    pub fn last(&self) -> Option<u32> {
        self.place().map(|place| self.family.order[place])
    }

    pub fn n_conditions(&self) -> usize {
        self.family.conditions.len() + usize::from(!self.is_root())
    }

    /// The fewest conditions of a rule that expanding it leads to.
    pub fn min_length(&self) -> usize {
        self.n_conditions() + 1
    }

    pub fn conditions(&self) -> Vec<u32> {
        let conditions = self.family.conditions.iter().copied();
        conditions.chain(self.last()).collect()
    }

    pub fn candidates(&self) -> &[u32] {
        let first = self.place().map_or(0, |place| place + 1);
        &self.family.order[first..]
    }
}

/// The most promising comes first in the queue: the highest bound, then the shortest rules.
impl Ord for Node {
    fn cmp(&self, other: &Node) -> Ordering {
        let by_bound = self.bound.cmp(&other.bound);
        by_bound.then(other.min_length().cmp(&self.min_length()))
    }
}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Node) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Node {}
