//! The loop of the search: workers take the best branch, dive from there depth-first, and return what is left.
//!
//! A dive finds good rules early, keeps the frontier short, and lets the rows of a branch be packed once for everything
//! below it. Branches that can only tie with the k-th best rule go back to the frontier. So do branches that only alpha
//! leaves out: the goal may rise until they are ties. Both are taken up when nothing else is left, so the result does not
//! depend on the order in which rules are found.

use super::branch::Branch;
use super::expand::Expander;
use super::goal::{Goal, Standing};
use super::leaf;
use super::source::Source;
use super::trace::{Fate, Trace};
use super::{Search, Shared, Status};
use crate::rows::Extension;
use std::panic::resume_unwind;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A shorter search is not worth starting threads for.
const SINGLE_THREADED: Duration = Duration::from_millis(2);
/// The number of rules a worker expands depth-first before it checks for the best branch of all.
const DIVE: usize = 200;
/// The number of expansions between checks for waiting workers.
const CHECK_INTERVAL: usize = 4;

/// A branch on a worker's stack, with the rows of its family's rule.
pub struct Opened {
    pub branch: Branch,
    parent: Arc<dyn Extension>,
}

/// What a worker does next.
enum Next {
    /// Dive from the first of these; all are of one source.
    Dive(Arc<Source>, Vec<Opened>, Option<Branch>),
    /// Nothing is ahead: find out which ties can be won.
    AdmitTies,
    /// Other workers may return branches.
    Wait,
    /// Nothing is left, or a source is needed.
    Finished,
}

impl Shared {
    /// Chooses the next branch. A branch behind the goal is dropped with all that come after it.
    fn select_next(&mut self, goal: &Goal) -> Next {
        if let Some((source, stack)) = self.frontier.paused.pop() {
            return Next::Dive(source, stack, None);
        }
        while let Some(best) = self.frontier.best() {
            match goal.standing(best.key()) {
                Standing::Ahead => {
                    let Some(source) = self.sources[best.family.source].clone() else {
                        return Next::Finished;
                    };
                    return Next::Dive(source, Vec::new(), self.frontier.pop());
                }
                // It has the highest key of all: if it is behind the goal, so is everything.
                Standing::Behind => self.frontier.clear(),
                // Results of other workers may make it useless.
                _ if self.busy > 0 => return Next::Wait,
                _ if self.n_begun < self.sources.len() => return Next::Finished,
                Standing::Near => {
                    self.left_out = self.left_out.max(Some(best.bound));
                    self.frontier.pop();
                }
                Standing::Tie => return Next::AdmitTies,
            }
        }
        match self.busy {
            0 => Next::Finished,
            _ => Next::Wait,
        }
    }

    /// Is there a branch to enter now?
    fn has_ahead(&self, goal: &Goal) -> bool {
        let best = self.frontier.best();
        let is_ahead = |best: &Branch| goal.standing(best.key()) == Standing::Ahead;
        !self.frontier.paused.is_empty() || best.is_some_and(is_ahead)
    }

    /// The number of the source needed to continue, if any.
    pub fn wants(&self, goal: &Goal) -> Option<usize> {
        let next = (self.n_begun < self.sources.len()).then_some(self.n_begun);
        if !self.has_ahead(goal) {
            return next;
        }
        let best = self.frontier.best().filter(|_| self.frontier.paused.is_empty());
        let number = best.map(|best| best.family.source);
        number.filter(|&number| self.sources[number].is_none())
    }
}

impl Search {
    /// Continues for about the given time on the given number of threads.
    pub fn step(&self, time: Duration, threads: usize) -> Status {
        let until = Instant::now() + time;
        self.lock().saved = None;
        self.run_beam(until);
        if self.nodes.load(Relaxed) == 0 {
            self.run(until.min(Instant::now() + SINGLE_THREADED));
        }
        if threads > 1 && !self.lock().frontier.is_empty() && Instant::now() < until {
            std::thread::scope(|scope| {
                // If no more threads can be started, fewer do the work.
                let begin = |_| {
                    let thread = std::thread::Builder::new();
                    thread.spawn_scoped(scope, || self.run(until))
                };
                let others: Vec<_> = (1..threads).map_while(|n| begin(n).ok()).collect();
                self.run(until);
                for other in others {
                    // An error in one thread stops the others without a panic of their own.
                    other.join().unwrap_or_else(|stop| resume_unwind(stop));
                }
            });
        } else {
            self.run(until);
        }
        self.status()
    }

    /// Continues the beam search; the exact search begins when it is finished.
    fn run_beam(&self, until: Instant) {
        while Instant::now() < until {
            let Some(mut beam) = self.lock().beam.clone() else {
                return;
            };
            let is_underway = beam.step(self);
            self.lock().beam = is_underway.then_some(beam);
        }
    }

    /// One worker: takes branches until the time is up or no work is left.
    fn run(&self, until: Instant) {
        let mut worker = Worker::new(self, until);
        let mut shared = self.lock();
        while Instant::now() < until {
            match shared.select_next(&self.goal) {
                Next::Finished => break,
                Next::Wait => shared = self.wait(shared, until),
                Next::AdmitTies => {
                    drop(shared);
                    self.admit_ties();
                    shared = self.lock();
                }
                Next::Dive(source, stack, branch) => {
                    shared.busy += 1;
                    drop(shared);
                    worker.dive(&source, stack, branch);
                    shared = worker.give_back(source);
                }
            }
        }
        self.changed.notify_all();
    }

    /// Waits until another worker has returned something.
    fn wait<'a>(&'a self, mut shared: MutexGuard<'a, Shared>, until: Instant) -> MutexGuard<'a, Shared> {
        shared.waiting += 1;
        let left = until.saturating_duration_since(Instant::now());
        let woken = self.changed.wait_timeout(shared, left);
        let (mut shared, _) = woken.unwrap_or_else(PoisonError::into_inner);
        shared.waiting -= 1;
        shared
    }
}

struct Worker<'a> {
    search: &'a Search,
    until: Instant,
    expander: Expander,
    stack: Vec<Opened>,
    /// Branches to enter when no better one is left.
    later: Vec<Branch>,
    /// The branches that the current dive began with: if the worker panics before it returns what is left, others restart
    /// from here.
    begun: Vec<Branch>,
    trace: Trace,
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        if !self.begun.is_empty() {
            let mut shared = self.search.lock();
            shared.busy -= 1;
            shared.frontier.add(self.begun.drain(..));
            self.search.changed.notify_all();
        }
    }
}

impl<'a> Worker<'a> {
    fn new(search: &'a Search, until: Instant) -> Worker<'a> {
        Worker {
            search,
            until,
            expander: Expander::default(),
            stack: Vec::new(),
            later: Vec::new(),
            begun: Vec::new(),
            trace: Trace(search.lock().trace.as_ref().map(|_| Vec::new())),
        }
    }

    /// Expands the stack and everything below it, depth-first, until the time is up or nothing is left.
    fn dive(&mut self, source: &Source, stack: Vec<Opened>, branch: Option<Branch>) {
        let branches = stack.iter().map(|opened| &opened.branch).chain(&branch);
        self.begun = branches.cloned().collect();
        self.stack = stack;
        self.stack.extend(branch.map(|branch| Opened {
            parent: source.rows.extension(&branch.family.conditions),
            branch,
        }));
        let mut expanded = 0;
        for step in 1.. {
            let Some(opened) = self.stack.pop() else {
                return;
            };
            expanded += usize::from(!is_leaf(source, &opened.branch));
            self.expand(source, opened);
            if Instant::now() >= self.until {
                return;
            }
            if step % CHECK_INTERVAL == 0 || expanded >= DIVE {
                self.share(source, expanded >= DIVE);
            }
        }
    }

    /// Returns branches to the frontier if workers wait or the dive has been long. Keeps the last rules of a branch, whose
    /// rows are packed, unless those who wait have nothing else.
    fn share(&mut self, source: &Source, is_long: bool) {
        let (Some(top), mut shared) = (self.stack.last(), self.search.lock()) else {
            return;
        };
        let others_wait = shared.waiting > 0 && !shared.has_ahead(&self.search.goal);
        if !(others_wait || is_long && shared.frontier.has_room()) {
            return;
        }
        let is_sibling = |opened: &&Opened| Arc::ptr_eq(&opened.branch.family, &top.branch.family);
        let n_kept = match is_leaf(source, &top.branch) {
            true => self.stack.iter().rev().take_while(is_sibling).count(),
            false => 0,
        };
        let n_given = match self.stack.len() - n_kept {
            0 if others_wait => n_kept / 2,
            n_given => n_given,
        };
        let given = self.stack.drain(..n_given);
        shared.frontier.add(given.map(|opened| opened.branch));
        if others_wait {
            self.search.changed.notify_all();
        }
    }

    /// Ends a dive: what is left goes back to the frontier.
    fn give_back(&mut self, source: Arc<Source>) -> MutexGuard<'a, Shared> {
        self.begun.clear();
        let (search, mut shared) = (self.search, self.search.lock());
        shared.busy -= 1;
        shared.frontier.add(self.later.drain(..));
        if !self.stack.is_empty() {
            let stack = std::mem::take(&mut self.stack);
            shared.frontier.paused.push((source, stack));
        }
        shared
            .frontier
            .sweep(|key| search.goal.standing(key) == Standing::Behind);
        if let (Some(visits), Some(trace)) = (&mut self.trace.0, &mut shared.trace) {
            trace.append(visits);
        }
        if shared.waiting > 0 {
            search.changed.notify_all();
        }
        shared
    }

    fn expand(&mut self, source: &Source, opened: Opened) {
        let Opened { branch, parent } = opened;
        let Some(branch) = self.ahead(branch) else {
            return;
        };
        if is_leaf(source, &branch) {
            self.finish(source, branch, &*parent);
            return;
        }
        self.search.nodes.fetch_add(1, Relaxed);
        self.trace.note(&branch, Fate::Expanded);
        let candidates = source.useful_candidates(&branch);
        let extension = match branch.last() {
            Some(last) => parent.descend(last, &candidates),
            None => parent,
        };
        let children = self
            .expander
            .expand(self.search, source, &branch, &candidates, &*extension, &mut self.trace);
        // The children come strongest first; the strongest goes on top of the stack.
        for branch in children.into_iter().rev() {
            let parent = extension.clone();
            let opened = self.ahead(branch).map(|branch| Opened { branch, parent });
            self.stack.extend(opened);
        }
    }

    /// The branch, if it is to be entered now; else it waits or is dropped.
    fn ahead(&mut self, branch: Branch) -> Option<Branch> {
        match self.search.goal.standing(branch.key()) {
            Standing::Ahead => return Some(branch),
            Standing::Behind => self.trace.note(&branch, Fate::Behind),
            Standing::Near | Standing::Tie => {
                self.trace.note(&branch, Fate::Waits);
                self.later.push(branch);
            }
        }
        None
    }

    /// Finishes a leaf together with its siblings on the stack.
    fn finish(&mut self, source: &Source, leaf: Branch, parent: &dyn Extension) {
        let mut together = vec![leaf];
        while together.len() < parent.n_together() {
            let family = &together[0].family;
            let is_sibling = |opened: &mut Opened| Arc::ptr_eq(&opened.branch.family, family);
            match self.stack.pop_if(is_sibling) {
                Some(opened) => together.extend(self.ahead(opened.branch)),
                None => break,
            }
        }
        for branch in &together {
            self.trace.note(branch, Fate::Finished);
        }
        (self.search.nodes).fetch_add(together.len() as u64, Relaxed);
        leaf::finish(self.search, source, &together, parent);
    }
}

/// Do the children of a branch have no candidates?
fn is_leaf(source: &Source, branch: &Branch) -> bool {
    source.room_after(branch.n_conditions()) == Some(1) && !branch.is_root()
}
