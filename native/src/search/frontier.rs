//! The branches that are open, and what a rule must be worth for them to be entered.

use crate::score::Score;
use crate::search::branch::Node;
use crate::search::run::Entry;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize};

pub struct Queue {
    pub open: BinaryHeap<Node>,
    /// The stacks of workers whose time was up, to continue with: their rows are packed already.
    pub parked: Vec<Vec<Entry>>,
    /// Workers that may still return nodes.
    pub busy: usize,
    /// How many nodes were left when useless ones were last dropped.
    pub swept: usize,
}

impl Queue {
    pub fn is_empty(&self) -> bool {
        self.open.is_empty() && self.parked.is_empty()
    }

    pub fn len(&self) -> usize {
        self.nodes().count()
    }

    /// The highest bound of a branch.
    pub fn highest(&self) -> Option<Score> {
        let parked = self.parked.iter().flatten().map(|entry| entry.node.bound);
        parked.chain(self.open.peek().map(|node| node.bound)).max()
    }

    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        let parked = self.parked.iter().flatten().map(|entry| &entry.node);
        self.open.iter().chain(parked)
    }
}

/// What a branch must promise to be worth entering. A stale read only costs work.
pub struct Goal {
    /// The value of the k-th best rule so far, the incumbent; before there are k rules, the least value of interest.
    pub value: AtomicI64,
    /// Is there an incumbent to tie with?
    pub has_incumbent: AtomicBool,
    /// How many conditions a rule may have to win a tie with the incumbent; 0 as long as ties are put off.
    pub tie_length: AtomicUsize,
}
