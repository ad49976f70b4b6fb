//! How long to look at a branch by rows before it is left to be expanded.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

/// So many nanoseconds of expanding rules are no reason to look for another way.
const SHORT: u64 = 500_000_000;
/// Looking at branches of no condition may take as long as expanding has taken since, of one condition half as long, and so
/// on, besides what it has saved, and twice what looks have taken that came to an end; branches of more conditions than
/// these are left alone.
pub const LEVELS: usize = 3;
/// Less than this part of the time that a branch has taken is not worth looking at it.
const WORTH_LOOKING: u64 = 8;

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
    well_spent: AtomicU64,
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

    /// How long a look at a branch of so many conditions may take, in which so many rules have been expanded: for as long
    /// as that took, for it may well take as long again.
    pub fn grants(&self, n_conditions: usize, expanded: u64) -> Option<Duration> {
        let spent = self.of_one().saturating_mul(expanded);
        let time = self.left(n_conditions).min(Duration::from_nanos(spent));
        (time >= Duration::from_nanos(spent / WORTH_LOOKING)).then_some(time)
    }

    /// How long looks at branches of so many conditions may still take by now.
    pub fn left(&self, n_conditions: usize) -> Duration {
        let Some(level) = self.levels.get(n_conditions) else {
            return Duration::ZERO;
        };
        if self.is_at_an_end.load(Relaxed) {
            return Duration::ZERO;
        }
        let saved = level.n_saved.load(Relaxed).saturating_mul(self.of_one());
        let part = self.expanding.load(Relaxed).saturating_sub(SHORT) >> n_conditions;
        let paid = level.well_spent.load(Relaxed).saturating_mul(2);
        let looking = level.looking.load(Relaxed);
        let earned = part.saturating_add(saved).saturating_add(paid);
        Duration::from_nanos(earned.saturating_sub(looking))
    }

    /// A branch of so many conditions has been looked at.
    pub fn looked(&self, n_conditions: usize, time: Duration) {
        if let Some(level) = self.levels.get(n_conditions) {
            level.looking.fetch_add(time.as_nanos() as u64, Relaxed);
        }
    }

    /// A look at a branch of so many conditions has come to its end, after so long in all.
    pub fn came_to_an_end(&self, n_conditions: usize, time: Duration) {
        if let Some(level) = self.levels.get(n_conditions) {
            let time = time.as_nanos() as u64;
            level.well_spent.fetch_add(time, Relaxed);
        }
    }

    /// What it takes to expand a rule.
    fn of_one(&self) -> u64 {
        self.expanding.load(Relaxed) / self.n_expanded.load(Relaxed).max(1)
    }
}
