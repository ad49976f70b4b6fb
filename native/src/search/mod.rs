//! The search: which branch next, on how many threads, and what is proven when it stops.
//!
//! Open branches wait in one queue, the most promising first. A worker takes the best one and goes down from
//! there depth-first for a while: that finds good rules early, keeps the queue short and lets the rows of a
//! branch be packed once for all that is below it. Then it returns what is left to the queue. So the search
//! can stop at any time, and the best bound in the queue says what may have been missed.
//!
//! Branches that can only tie with the incumbent stay in the queue. When no other is left, those are entered that lead to
//! rules short enough to win a tie, so that the answer does not depend on the order in which things were found. So do
//! branches that only alpha leaves out: the incumbent may become good enough for them to be ties.

mod allowed_columns;
mod beam;
mod branch;
pub mod candidate_filter;
mod checkpoint;
pub mod describe;
mod expand;
mod frontier;
mod known_tie;
mod leaf;
mod run;
mod source;
mod top;

use crate::rows::Rows;
use crate::score::{Estimator, Score};
use crate::search::allowed_columns::AllowedColumns;
use crate::search::beam::Beam;
use crate::search::branch::Node;
use crate::search::candidate_filter::candidate_conditions;
use crate::search::checkpoint::State;
use crate::search::frontier::{Goal, Queue};
use crate::search::known_tie::Branch;
use crate::search::run::Worker;
use crate::search::source::Source;
use crate::search::top::Top;
pub use allowed_columns::Columns;
use std::collections::BinaryHeap;
use std::panic::resume_unwind;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub struct Options {
    pub k: usize,
    /// A branch is left out when alpha · bound is no more than the k-th best value.
    pub alpha: f64,
    pub max_length: Option<usize>,
    pub min_rows: u64,
    /// Rules below this value are of no interest.
    pub floor: Score,
    /// The sets of columns that rules may have, if not all.
    pub offered: Option<Vec<Columns>>,
}

/// How far the search has come.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    pub done: bool,
    pub n_rules: usize,
    pub best: Option<Score>,
    /// The value of the k-th best rule.
    pub kth: Option<Score>,
    /// No rule that has not been looked at exceeds this; `None` if there is none.
    pub unexplored: Option<Score>,
    pub nodes: u64,
    pub open: usize,
}

pub struct Search {
    pub book: Source,
    alpha: f64,
    pub queue: Mutex<Queue>,
    top: Mutex<Top>,
    goal: Goal,
    /// The highest bound of a branch that only alpha left out.
    left_out: Mutex<Option<Score>>,
    pub nodes: AtomicU64,
    /// The length of the queue when it was last swept.
    n_open: AtomicUsize,
    ahead: Mutex<Option<Beam>>,
    /// A state that did not fit where it was asked for, until the next step.
    saved: Mutex<Option<Vec<u64>>>,
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A search shorter than this is not worth starting threads for.
const ALONE: Duration = Duration::from_millis(2);
/// With more open branches than this (some 100 MB with their lists of candidates), workers go down depth-first and return
/// nothing to the queue but for workers that wait.
const BUDGET: usize = 1 << 16;
/// With fewer open branches than this, it does not matter how many of them are useless by now.
const WORTH_SWEEPING: usize = 1 << 12;

impl Search {
    pub fn new(rows: Arc<dyn Rows>, estimator: Arc<dyn Estimator>, options: Options) -> Search {
        let offered = options
            .offered
            .as_ref()
            .map(|sets| Arc::new(AllowedColumns::new(sets, rows.propositions())));
        let book = Source {
            usable: candidate_conditions(&*rows, offered.as_deref()),
            rows,
            estimator,
            max_length: options.max_length,
            min_rows: options.min_rows.max(1),
            offered,
        };
        // With a floor there is something to beat already, and few rules are looked at all.
        let looks_ahead = options.floor == Score::MIN && !book.are_few(&[], &book.usable);
        Search {
            queue: Mutex::new(Queue {
                open: BinaryHeap::from([Node::root(&book.usable)]),
                parked: Vec::new(),
                busy: 0,
                swept: 0,
            }),
            top: Mutex::new(Top::new(options.k, book.offered.is_some())),
            goal: Goal {
                value: AtomicI64::new(options.floor),
                has_incumbent: AtomicBool::new(false),
                tie_length: AtomicUsize::new(0),
            },
            left_out: Mutex::new(None),
            nodes: AtomicU64::new(0),
            n_open: AtomicUsize::new(0),
            ahead: Mutex::new(looks_ahead.then(Beam::default)),
            saved: Mutex::new(None),
            alpha: options.alpha,
            book,
        }
    }

    /// Continues for about the given time on the given number of threads.
    pub fn step(&self, time: Duration, threads: usize) -> Status {
        let deadline = Instant::now() + time;
        *lock(&self.saved) = None;
        if !self.look_ahead(deadline) {
            return self.status();
        }
        if self.nodes.load(Relaxed) == 0 {
            Worker::new(self).work(deadline.min(Instant::now() + ALONE), 1);
        }
        if !lock(&self.queue).is_empty() && Instant::now() < deadline {
            std::thread::scope(|scope| {
                // Where no more threads can be started, fewer do.
                let begin = |_| {
                    let thread = std::thread::Builder::new();
                    thread.spawn_scoped(scope, || Worker::new(self).work(deadline, threads))
                };
                let others: Vec<_> = (1..threads).map_while(|n| begin(n).ok()).collect();
                Worker::new(self).work(deadline, threads);
                for other in others {
                    // What stopped another thread stops this one, without a panic of its own.
                    other.join().unwrap_or_else(|stop| resume_unwind(stop));
                }
            });
        }
        self.status()
    }

    /// Continues the look ahead; is it finished?
    fn look_ahead(&self, deadline: Instant) -> bool {
        let mut ahead = lock(&self.ahead);
        while let Some(beam) = &mut *ahead {
            if Instant::now() >= deadline {
                return false;
            }
            if !beam.step(self) {
                *ahead = None;
            }
        }
        true
    }

    /// Rules below this value are not wanted, nor are branches whose bound is below it.
    pub fn goal_value(&self) -> Score {
        self.goal.value.load(Relaxed)
    }

    /// Is a branch entered now, in which nothing exceeds this bound and no rule has fewer conditions?
    pub fn is_entered(&self, bound: Score, length: usize) -> bool {
        let goal = self.goal_value();
        if bound <= goal && self.goal.has_incumbent.load(Relaxed) {
            return bound == goal && length <= self.goal.tie_length.load(Relaxed);
        }
        // Bounds that equal the incumbent's value are ties and nothing else: alpha does not touch them.
        let is_near = self.alpha < 1.0 && bound > 0 && self.alpha * bound as f64 <= goal as f64;
        bound >= goal && !(is_near && bound > goal)
    }

    /// May such a branch have to be entered, now or when no better one is left?
    pub fn is_kept(&self, bound: Score, length: usize) -> bool {
        let (goal, tie_length) = (self.goal_value(), self.goal.tie_length.load(Relaxed));
        bound > goal || bound == goal && (tie_length == 0 || length <= tie_length)
    }

    /// Is the best that a branch can reach a tie with a rule that is known already, and is that rule the only one in the
    /// branch that reaches it?
    pub fn is_known(&self, branch: &Branch) -> bool {
        // Where not all columns are offered, another branch may hold the description that is.
        if self.book.offered.is_some() || branch.bound != self.goal_value() {
            return false;
        }
        let top = lock(&self.top);
        let mut tied = top.with_value(branch.bound);
        tied.any(|entry| branch.leads_only_to(&entry.counts, &entry.conditions))
    }

    /// Takes in a rule with its value and counts if it is one of the k best so far. It covers at least one row and fails on
    /// one.
    pub fn offer(&self, value: Score, counts: &[u64], conditions: &[u32]) {
        let book = &self.book;
        let offered = book.offered.as_ref();
        if value < self.goal_value() || offered.is_some_and(|offered| !offered.has(conditions)) {
            return;
        }
        let mut top = lock(&self.top);
        if value < self.goal_value() || top.contains(value, counts, conditions, &*book.rows) {
            return;
        }
        top.insert(value, counts, conditions, &*book.rows, &book.usable);
        if let Some(kth) = top.threshold() {
            self.goal.value.fetch_max(kth, Relaxed);
            self.goal.has_incumbent.store(true, Relaxed);
            if self.goal.tie_length.load(Relaxed) > 0 {
                self.limit_ties(&mut top, kth);
            }
        }
    }

    /// From now on, branches are entered that can win a tie with the incumbent.
    fn limit_ties(&self, top: &mut Top, kth: Score) {
        let longest = top.longest_description(kth, &*self.book.rows, &self.book.usable);
        self.goal.tie_length.store(longest.max(1), Relaxed);
    }

    /// The next branch to go into, if there is one now.
    pub fn next_node(&self, queue: &mut Queue) -> Option<Node> {
        loop {
            let best = queue.open.peek()?;
            let (bound, length) = (best.bound, best.min_length());
            if self.is_entered(bound, length) {
                return queue.open.pop();
            }
            if !self.is_kept(bound, length) {
                // All others promise less, or are longer.
                queue.open.clear();
                return None;
            }
            // What the other workers find may make it useless.
            if queue.busy > 0 {
                return None;
            }
            let goal = self.goal_value();
            if bound > goal {
                let mut left_out = lock(&self.left_out);
                *left_out = left_out.max(Some(bound));
                queue.open.pop();
            } else {
                self.limit_ties(&mut lock(&self.top), goal);
            }
        }
    }

    /// Is there something to enter now?
    pub fn has_entries(&self, queue: &Queue) -> bool {
        let best = queue.open.peek();
        let is_entered = |node: &Node| self.is_entered(node.bound, node.min_length());
        !queue.parked.is_empty() || best.is_some_and(is_entered)
    }

    /// Drops branches that are useless by now, where they may be many.
    pub fn sweep(&self, queue: &mut Queue) {
        if queue.open.len() > WORTH_SWEEPING.max(2 * queue.swept) {
            let is_kept = |node: &Node| self.is_kept(node.bound, node.min_length());
            queue.open.retain(is_kept);
            queue.swept = queue.open.len();
        }
        self.n_open.store(queue.open.len(), Relaxed);
    }

    /// May workers return branches to the queue?
    pub fn has_room(&self) -> bool {
        self.n_open.load(Relaxed) < BUDGET
    }

    /// The state to resume from, between steps, if it has at most `capacity` numbers; else how many it has. It is kept
    /// then, so that asking again takes no time.
    pub fn save(&self, capacity: usize) -> Result<Vec<u64>, usize> {
        let state = lock(&self.saved).take().unwrap_or_else(|| self.state());
        if state.len() <= capacity {
            return Ok(state);
        }
        let length = state.len();
        *lock(&self.saved) = Some(state);
        Err(length)
    }

    fn state(&self) -> Vec<u64> {
        let queue = lock(&self.queue);
        let top = lock(&self.top);
        let entries = top.entries().iter();
        let state = State {
            left_out: *lock(&self.left_out),
            nodes: self.nodes.load(Relaxed),
            has_looked_ahead: lock(&self.ahead).is_none(),
            open: queue.nodes().cloned().collect(),
            entries: entries
                .map(|entry| (entry.value, entry.counts.clone(), entry.conditions.clone()))
                .collect(),
        };
        state.write()
    }

    /// Goes back to what was saved by a search of the same table with the same options, before the first step.
    pub fn restore(&mut self, numbers: &[u64]) -> Result<(), String> {
        let rows = &*self.book.rows;
        let state = State::read(numbers, rows.propositions().len(), rows.layout())?;
        for (value, counts, conditions) in &state.entries {
            self.offer(*value, counts, conditions);
        }
        *lock(&self.left_out) = state.left_out;
        self.nodes.store(state.nodes, Relaxed);
        if state.has_looked_ahead {
            self.ahead = Mutex::new(None);
        }
        lock(&self.queue).open = BinaryHeap::from(state.open);
        Ok(())
    }

    pub fn status(&self) -> Status {
        let queue = lock(&self.queue);
        let top = lock(&self.top);
        let goal = self.goal_value();
        let open = queue.highest().filter(|&bound| bound >= goal);
        Status {
            done: queue.is_empty(),
            n_rules: top.len(),
            best: top.best(),
            kth: top.threshold(),
            unexplored: open.max(*lock(&self.left_out)),
            nodes: self.nodes.load(Relaxed),
            open: queue.len(),
        }
    }

    /// The rules found so far, best first, each in its shortest form.
    pub fn rules(&self) -> Vec<(Score, Vec<u32>)> {
        let value = |counts: &[u64], length: usize| self.book.value(counts, length);
        lock(&self.top).sorted(&*self.book.rows, &self.book.usable, value)
    }
}
