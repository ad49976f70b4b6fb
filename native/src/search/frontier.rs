//! The open branches: one heap, the most promising first, and the interrupted dives of the last step.
//!
//! Only branches behind the goal are lost. Branches ahead of it do not make the frontier grow far beyond its budget; those
//! that wait, because they can only tie or because of alpha, are kept whatever their number.

use super::branch::{Branch, Key};
use super::run::Opened;
use super::source::Source;
use crate::score::Score;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// With more open branches than this (some 100 MB with their lists of candidates), workers go depth-first and return
/// branches only to waiting workers: each holds no more than a path of the tree.
const BUDGET: usize = 1 << 16;
/// With fewer open branches than this, useless ones are not worth dropping.
const WORTH_SWEEPING: usize = 1 << 12;

#[derive(Default)]
pub struct Frontier {
    open: BinaryHeap<Branch>,
    /// The stacks of interrupted workers. They are continued first, because their rows are already packed.
    pub paused: Vec<(Arc<Source>, Vec<Opened>)>,
    /// The number of branches left when useless ones were last dropped.
    swept: usize,
}

impl Frontier {
    pub fn new(open: Vec<Branch>) -> Frontier {
        Frontier {
            open: BinaryHeap::from(open),
            ..Frontier::default()
        }
    }

    pub fn add(&mut self, branches: impl IntoIterator<Item = Branch>) {
        self.open.extend(branches);
    }

    /// The best open branch, not counting paused stacks.
    pub fn best(&self) -> Option<&Branch> {
        self.open.peek()
    }

    pub fn pop(&mut self) -> Option<Branch> {
        self.open.pop()
    }

    pub fn clear(&mut self) {
        self.open.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.open.is_empty() && self.paused.is_empty()
    }

    pub fn len(&self) -> usize {
        self.branches().count()
    }

    /// May workers return branches?
    pub fn has_room(&self) -> bool {
        self.open.len() < BUDGET
    }

    /// The highest bound of a branch.
    pub fn highest(&self) -> Option<Score> {
        let paused = self.paused.iter().flat_map(|(_, stack)| stack);
        let bounds = paused.map(|opened| opened.branch.bound);
        bounds.chain(self.best().map(|best| best.bound)).max()
    }

    pub fn branches(&self) -> impl Iterator<Item = &Branch> {
        let paused = self.paused.iter().flat_map(|(_, stack)| stack);
        self.open.iter().chain(paused.map(|opened| &opened.branch))
    }

    /// Drops useless branches, if there may be many.
    pub fn sweep(&mut self, is_useless: impl Fn(Key) -> bool) {
        if self.open.len() > WORTH_SWEEPING.max(2 * self.swept) {
            self.open.retain(|branch| !is_useless(branch.key()));
            self.swept = self.open.len();
        }
    }
}
