//! The rule to beat, as a snapshot that workers read without a lock.
//!
//! It promises that a stale read only costs work: the goal never falls, so what is left out by an old goal would be left
//! out by the present one, too. Only who holds the lock of the search writes.

use super::branch::Key;
use crate::score::Score;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicUsize};

/// What a branch is worth beside the goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It may hold a better rule.
    Ahead,
    /// It may hold a better rule, but by no more than alpha leaves out.
    Near,
    /// The best that it can hold is a tie with the k-th best rule, and ties have to wait.
    Tie,
    /// It holds nothing that is wanted.
    Behind,
}

/// Ties have to wait until no branch is ahead: then the lengths of the tied rules are looked up.
const TIES_WAIT: usize = 0;

/// The value and the length of the k-th best rule so far. Before there are k rules, the value lies just below the least
/// value that is wanted, between two values that rules can have.
pub struct Goal {
    value: AtomicI64,
    /// The most conditions of a rule with this value among the k best, or [`TIES_WAIT`].
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

    /// A branch in which no rule exceeds the bound is left out when alpha · bound is no more than the goal. A bound that
    /// equals the goal is a tie and nothing else: alpha does not touch it.
    pub fn standing(&self, key: Key) -> Standing {
        let goal = self.value();
        if key.bound > goal {
            let is_near = self.alpha < 1.0 && key.bound > 0 && self.alpha * key.bound as f64 <= goal as f64;
            return if is_near { Standing::Near } else { Standing::Ahead };
        }
        // Of two rules of the same value the one with fewer conditions is better.
        match self.length.load(Relaxed) {
            _ if key.bound < goal => Standing::Behind,
            TIES_WAIT => Standing::Tie,
            length if key.min_length.0 <= length => Standing::Ahead,
            _ => Standing::Behind,
        }
    }

    /// Publishes the value of the k-th best rule. The order of the two writes matters: who sees the new value must not
    /// compare lengths with those of the old one.
    pub fn raise(&self, value: Score) {
        if value > self.value() {
            self.length.store(TIES_WAIT, Relaxed);
            self.value.store(value, Release);
        }
    }

    /// From now on, branches are entered that can win a tie against rules of so many conditions; `None`: ties wait.
    pub fn admit_ties(&self, length: Option<usize>) {
        let length = length.map_or(TIES_WAIT, |length| length.max(1));
        self.length.store(length, Relaxed);
    }
}
