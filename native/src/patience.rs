//! How long to look at a branch by rows before it is left to be expanded.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

/// So many nanoseconds of expanding rules are no reason to look for another way.
const SHORT: u64 = 500_000_000;
/// Looking at branches of no condition may take as long as expanding has taken since, of one condition half as long, and so
/// on, besides what it has saved; branches of more conditions than these are left alone.
pub const LEVELS: usize = 3;
/// Less than this part of the time that a branch has taken is not worth looking at it.
const WORTH_LOOKING: u64 = 8;

/// No look takes longer: whoever stops the search waits for it.
const LONGEST: u64 = 1_000_000_000;

/// Nanoseconds that were spent and saved.
#[derive(Default)]
pub struct Patience {
    n_expanded: AtomicU64,
    expanding: AtomicU64,
    is_at_an_end: AtomicBool,
    levels: [Level; LEVELS],
}

#[derive(Default)]
struct Level {
    looking: AtomicU64,
    n_saved: AtomicU64,
}

impl Patience {
    pub fn expanded(&self, time: Duration) {
        self.n_expanded.fetch_add(1, Relaxed);
        self.expanding.fetch_add(time.as_nanos() as u64, Relaxed);
    }

    /// A rule need not be expanded, because of what was found out about a branch of so many conditions.
    pub fn saved(&self, n_conditions: usize) {
        if let Some(level) = self.levels.get(n_conditions) {
            level.n_saved.fetch_add(1, Relaxed);
        }
    }

    /// It is no use to look by rows in this table.
    pub fn end(&self) {
        self.is_at_an_end.store(true, Relaxed);
    }

    /// Looks at a branch of so many conditions in which so many rules have been expanded, for as long as that took: it may
    /// well take as long again. `look` takes the time that it may take. Was there enough?
    pub fn looks(&self, n_conditions: usize, expanded: u64, look: impl FnOnce(Duration)) -> bool {
        let level = self.levels.get(n_conditions);
        let Some(level) = level.filter(|_| !self.is_at_an_end.load(Relaxed)) else {
            return false;
        };
        let expanding = self.expanding.load(Relaxed);
        let of_one = expanding / self.n_expanded.load(Relaxed).max(1);
        let saved = level.n_saved.load(Relaxed) * of_one;
        let part = expanding.saturating_sub(SHORT) >> n_conditions;
        let left = (part + saved).saturating_sub(level.looking.load(Relaxed));
        let spent = expanded * of_one;
        let time = left.min(spent);
        if time < spent / WORTH_LOOKING {
            return false;
        }
        let start = Instant::now();
        look(Duration::from_nanos(time.min(LONGEST)));
        let took = start.elapsed().as_nanos() as u64;
        level.looking.fetch_add(took, Relaxed);
        true
    }
}
