//! How long to look at a branch by rows before it is left to be expanded.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// So many nanoseconds of expanding rules are no reason to look for another way.
const SHORT: u64 = 1_000_000_000;
/// Of the time after that, looking by rows may take this part, besides what it has saved.
const PART: u64 = 3;

/// Nanoseconds that were spent and saved. Looking at a branch is worth about as long as it has taken so far: it may well
/// take as long again.
#[derive(Default)]
pub struct Patience {
    n_expanded: AtomicU64,
    expanding: AtomicU64,
    looking: AtomicU64,
    saved: AtomicU64,
}

impl Patience {
    pub fn expanded(&self, time: Duration) {
        self.n_expanded.fetch_add(1, Relaxed);
        self.expanding.fetch_add(time.as_nanos() as u64, Relaxed);
    }

    /// Looks at a branch in which so many rules have been expanded, if that is likely to pay; `look` takes the time that it
    /// may take, and returns whether it came to an end.
    pub fn looks(&self, expanded: u64, look: impl FnOnce(Duration) -> bool) {
        let expanding = self.expanding.load(Relaxed);
        let allowed = expanding.saturating_sub(SHORT) / PART + self.saved.load(Relaxed);
        let left = allowed.saturating_sub(self.looking.load(Relaxed));
        let spent = expanding / self.n_expanded.load(Relaxed).max(1) * expanded;
        let start = Instant::now();
        let is_done = look(Duration::from_nanos(spent.min(left)));
        self.looking
            .fetch_add(start.elapsed().as_nanos() as u64, Relaxed);
        if is_done {
            self.saved.fetch_add(2 * spent, Relaxed);
        }
    }
}
