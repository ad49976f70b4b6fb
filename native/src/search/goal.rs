//! The rule to beat, as a snapshot that workers read without a lock.
//!
//! A stale read only costs work: the goal never falls, so what an old goal prunes the present one would prune too. Writing
//! requires the lock of the search.

use super::branch::Key;
use crate::score::Score;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicUsize};

/// How a branch compares with the goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It may hold a better rule.
    Ahead,
    /// It may hold a better rule, but not by enough for alpha.
    Near,
    /// At best it ties with the k-th best rule, and ties have to wait.
    Tie,
    /// It holds no wanted rule.
    Behind,
}

/// Ties wait until no branch is ahead; then the lengths of the tied rules are determined.
const TIES_WAIT: usize = 0;

/// The value and the length of the k-th best rule so far. Before there are k rules, the value lies just below the minimum
/// wanted value, between two possible values.
pub struct Goal {
    value: AtomicI64,
    /// The maximum length of the rules with this value among the k best, or [`TIES_WAIT`].
    length: AtomicUsize,
    alpha: f64,
}

impl Goal {
    pub fn new(below: Score, alpha: f64) -> Goal {
        Goal {
            value: AtomicI64::new(below),
            length: AtomicUsize::new(TIES_WAIT),
            alpha,
        }
    }

    /// Rules below this value are not wanted.
    pub fn value(&self) -> Score {
        self.value.load(Acquire)
    }

    /// Do ties have to wait?
    pub fn ties_wait(&self) -> bool {
        self.length.load(Relaxed) == TIES_WAIT
    }

    /// A branch is left out if alpha · bound is no more than the goal. A bound that equals the goal is a tie: alpha does
    /// not apply to it.
    pub fn standing(&self, key: Key) -> Standing {
        let goal = self.value();
        if key.bound > goal {
            let is_near = self.alpha < 1.0 && key.bound > 0 && self.alpha * key.bound as f64 <= goal as f64;
            return if is_near { Standing::Near } else { Standing::Ahead };
        }
        // Of two rules of the same value the shorter one is better.
        match self.length.load(Relaxed) {
            _ if key.bound < goal => Standing::Behind,
            TIES_WAIT => Standing::Tie,
            length if key.min_length.0 <= length => Standing::Ahead,
            _ => Standing::Behind,
        }
    }

    /// Publishes the value of the k-th best rule. The order of the two writes matters: a reader of the new value must not
    /// compare lengths with those of the old one.
    pub fn raise(&self, value: Score) {
        if value > self.value() {
            self.length.store(TIES_WAIT, Relaxed);
            self.value.store(value, Release);
        }
    }

    /// From now on, enters branches that can win a tie against rules of this length; `None`: ties wait.
    pub fn admit_ties(&self, length: Option<usize>) {
        let length = length.map_or(TIES_WAIT, |length| length.max(1));
        self.length.store(length, Relaxed);
    }
}
