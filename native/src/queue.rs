//! The branches that are open, and what a rule must be worth for them to be entered.

use crate::estimator::Score;
use crate::node::Node;
use crate::rulebook::TIED;
use crate::worker::Entry;
use std::collections::BinaryHeap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize};

pub struct Queue {
    pub open: BinaryHeap<Node>,
    /// What workers were in the middle of when their time was up. It goes on from there: the rows are packed already.
    pub parked: Vec<Vec<Entry>>,
    /// What is left of the branches that could only have won a tie, for the next rule of the list; and those of long rules
    /// until short ones are known.
    pub later: Vec<Node>,
    /// Workers that may still return nodes.
    pub busy: usize,
    /// How many nodes were left when those of no use were last thrown away.
    pub swept: usize,
}

impl Queue {
    pub fn is_empty(&self) -> bool {
        self.open.is_empty() && self.parked.is_empty() && self.later.is_empty()
    }

    pub fn len(&self) -> usize {
        let parked = self.parked.iter().map(Vec::len);
        self.open.len() + self.later.len() + parked.sum::<usize>()
    }

    /// The highest bound of a branch. That of the first in the queue is, unless something was found out about it since.
    pub fn highest(&self, short: Option<usize>) -> Option<Score> {
        let bound = |node: &Node| node.capped(short);
        let first = self.open.peek().filter(|node| bound(node) == node.bound);
        let open = match first {
            Some(first) => Some(first.bound),
            None => self.open.iter().map(bound).max(),
        };
        let others = self.parked.iter().flatten().map(|entry| &entry.node);
        open.max(others.chain(&self.later).map(bound).max())
    }

    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        let parked = self.parked.iter().flatten().map(|entry| &entry.node);
        self.open.iter().chain(parked).chain(&self.later)
    }
}

/// What a rule must be worth to be wanted now. Who reads an old number does too much, never too little.
pub struct Goal {
    /// The value of the incumbent: the k-th best rule, or the best that may follow the leaders; before there is one, the
    /// least value of interest.
    pub threshold: AtomicI64,
    /// Is there an incumbent to tie with?
    pub has_incumbent: AtomicBool,
    /// Are branches entered that can only tie, because no others are left?
    pub ties: AtomicBool,
    /// How many conditions a rule may have to win a tie.
    pub tie_length: AtomicUsize,
    /// Are long rules put off until short ones are known?
    pub is_short: AtomicBool,
}

impl Goal {
    /// The least value that is wanted now.
    pub fn least(&self) -> Score {
        let threshold = self.threshold.load(Relaxed);
        let ties_count = self.ties.load(Relaxed) || !self.has_incumbent.load(Relaxed);
        match ties_count {
            true => threshold,
            false => threshold.saturating_add(TIED),
        }
    }

    /// If ties count, how many conditions a rule may have to win one.
    pub fn tie_length(&self) -> Option<usize> {
        let ties_count = self.ties.load(Relaxed) && self.has_incumbent.load(Relaxed);
        ties_count.then(|| self.tie_length.load(Relaxed))
    }
}
