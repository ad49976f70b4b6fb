//! When branches are looked at by rows, and what comes of it.

use crate::describe::describe;
use crate::estimator::Score;
use crate::judge::Judge;
use crate::keeper::Keeper;
use crate::look::{Deciding, Look, Looked};
use crate::node::{line, Family};
use crate::search::{lock, Search};
use crate::wanted::Leader;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a worker goes on with a look before it asks whether something else is to be done.
pub const SLICE: Duration = Duration::from_millis(20);

/// A look at a family.
pub struct Looking {
    family: Arc<Family>,
    /// The place of the list that it is for.
    place: usize,
    /// How many nanoseconds it may take before it is given up, or waits in the case of the root.
    granted: AtomicU64,
    /// How many it has taken since it last came to an end.
    spent: AtomicU64,
    look: Look,
}

impl Looking {
    fn granted(&self) -> Duration {
        Duration::from_nanos(self.granted.load(Relaxed))
    }

    fn spends(&self, time: Duration) {
        let time = time.as_nanos() as u64;
        self.spent.fetch_add(time, Relaxed);
        let left = |granted: u64| Some(granted.saturating_sub(time));
        let _ = self.granted.fetch_update(Relaxed, Relaxed, left);
    }

    fn is_at_root(&self) -> bool {
        self.family.conditions.is_empty()
    }
}

impl Search {
    /// Counts a rule that is expanded, and looks by rows at those families below which many have been.
    pub fn looks_by_rows(&self, family: &Arc<Family>, leaders: &[Leader], deadline: Instant) {
        if self.is_short() {
            return;
        }
        let place = leaders.len();
        let short = |family: &&Arc<Family>| family.is_looked_at();
        for family in line(family).filter(short).map(Family::newest) {
            let n_conditions = family.conditions.len();
            let granted = (family.cap.expands(place)).and_then(|expanded| {
                Some((expanded, self.patience.grants(n_conditions, expanded)?))
            });
            let Some((expanded, granted)) = granted else {
                continue;
            };
            if !family.cap.begins(expanded) {
                continue;
            }
            let start = Instant::now();
            let look = self.look_at(&family, leaders, granted);
            let took = start.elapsed();
            self.patience.looked(n_conditions, took);
            let Some(look) = look else {
                family.cap.ends();
                continue;
            };
            let looking = Arc::new(Looking {
                family,
                place,
                granted: AtomicU64::new(granted.as_nanos() as u64),
                spent: AtomicU64::new(took.as_nanos() as u64),
                look,
            });
            lock(&self.looks).push(looking.clone());
            self.looks_on(&looking, leaders, deadline);
        }
    }

    /// A family by its rows, if that is worth a look.
    fn look_at(&self, family: &Family, leaders: &[Leader], time: Duration) -> Option<Look> {
        let book = &self.book;
        if book.offered.is_some() {
            self.patience.end(); // sets of rows say nothing of columns
            return None;
        }
        let others = self.options.wanted.compared(leaders).iter();
        let others: Vec<&[u32]> = others.map(|leader| &leader.conditions[..]).collect();
        let classes = book
            .rows
            .classes(&family.conditions, &family.order, &others, time)?;
        if !classes.is_uneven && family.conditions.is_empty() {
            self.patience.end();
        }
        classes.is_uneven.then(|| Look::new(classes))
    }

    /// A look to go on with, for the rule at this place of the list. Those for earlier rules are of no use.
    pub fn next_look(&self, place: usize) -> Option<Arc<Looking>> {
        let mut looks = lock(&self.looks);
        for earlier in looks.extract_if(.., |looking| looking.place != place) {
            earlier.family.cap.ends();
        }
        let ties_count = self.goal.tie_length().is_some();
        let has_time = |looking: &&Arc<Looking>| {
            if !ties_count && looking.look.waits_for_ties() {
                return false;
            }
            let left = self.patience.left(0);
            if looking.is_at_root() && looking.granted() == Duration::ZERO && left >= SLICE {
                looking.granted.store(left.as_nanos() as u64, Relaxed);
            }
            looking.granted() > Duration::ZERO
        };
        looks.iter().find(has_time).cloned()
    }

    /// Looks for the best rules of a family by its rows. If that comes to an end, no other is worth entering now. Was there
    /// something to do?
    pub fn looks_on(&self, looking: &Arc<Looking>, leaders: &[Leader], deadline: Instant) -> bool {
        let family = &looking.family;
        let n_conditions = family.conditions.len();
        let start = Instant::now();
        let deciding = Deciding {
            book: &self.book,
            wanted: self.options.wanted,
            leaders,
            n_conditions,
            short: self.short.unwrap_or(0),
            goal: self.goal.least(),
            tie_length: self.goal.tie_length(),
        };
        let ties_count = deciding.tie_length.is_some();
        let until = deadline.min(start + looking.granted());
        let looked = looking.look.goes_on(deciding, until, &mut |members| {
            let members = members.into_iter().map(|place| family.order[place]);
            let conditions: Vec<u32> = family.conditions.iter().copied().chain(members).collect();
            let is_known = self.finds(&conditions, leaders);
            is_known.then(|| (self.goal.least(), self.goal.tie_length()))
        });
        let took = start.elapsed();
        self.patience.looked(n_conditions, took);
        looking.spends(took);
        let is_over = match looked {
            Looked::Done(bound) => {
                let spent = Duration::from_nanos(looking.spent.swap(0, Relaxed));
                self.patience.came_to_an_end(n_conditions, spent);
                family.lower(bound.unwrap_or(Score::MIN));
                if ties_count {
                    family.knows_ties(looking.place);
                }
                // What can only tie waits until ties count.
                ties_count || !looking.is_at_root() || !looking.look.waits_for_ties()
            }
            Looked::Interrupted => !looking.is_at_root() && looking.granted() == Duration::ZERO,
            Looked::Waiting => return false,
            Looked::GivenUp => true,
        };
        if is_over {
            lock(&self.looks).retain(|other| !Arc::ptr_eq(other, looking));
            family.cap.ends();
        }
        true
    }

    /// Offers a set of rows by its shortest description. Is that surely the shortest, where the length matters?
    fn finds(&self, conditions: &[u32], leaders: &[Leader]) -> bool {
        let book = &self.book;
        let (rule, is_shortest) = describe(&*book.rows, &book.usable, conditions);
        if !is_shortest && (book.max_length.is_some() || book.estimator.is_by_length()) {
            return false;
        }
        let counts = book.rows.counts(std::slice::from_ref(&rule));
        let value = book.value(&counts, rule.len());
        if rule.len() <= book.max_length.unwrap_or(usize::MAX) && book.is_rule(&counts, value) {
            let mut judge = Keeper::new(self);
            judge.offer(value, &counts, &rule);
            judge.flush(leaders);
        }
        true
    }
}
