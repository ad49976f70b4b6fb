//! The search for the k best rules: its options, its progress, and what is proven when it stops.
//!
//! Open branches wait in one [`Frontier`], the most promising first. A worker takes the best one and dives from there
//! ([`run`]); rules that it finds enter [`Top`], and the k-th best of them is the [`Goal`]. The search can stop at any
//! time, and the best bound in the frontier limits what may have been missed. The result does not depend on the order in
//! which rules are found if alpha is 1; below 1, what is left out does, and its bound is reported.
//!
//! There is one lock. It is never held while rows are queried, since these may be remote: query rows first, then lock and
//! check again.

mod allowed_columns;
mod beam;
mod branch;
pub mod candidate_filter;
mod checkpoint;
pub mod describe;
mod expand;
mod frontier;
mod goal;
mod leaf;
mod run;
mod source;
mod top;
mod trace;

pub use allowed_columns::Columns;
pub use source::Source;
pub use trace::{Fate, Visit};

use crate::rows::Rows;
use crate::score::Score;
use beam::Beam;
use branch::Branch;
use checkpoint::State;
use frontier::Frontier;
use goal::Goal;
use source::ceiling;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use top::{Offer, Question, Top};

pub struct Options {
    pub k: usize,
    /// A branch is left out if alpha · bound is no more than the k-th best value.
    pub alpha: f64,
    pub max_length: Option<usize>,
    pub min_rows: u64,
    /// Rules below this value are not wanted.
    pub floor: Score,
}

/// The progress of the search.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    pub done: bool,
    /// The number of the source needed to continue, if any.
    pub wants: Option<usize>,
    pub n_rules: usize,
    pub best: Option<Score>,
    /// The value of the k-th best rule.
    pub kth: Option<Score>,
    /// No rule that has not been valued exceeds this; `None` if there is none.
    pub unexplored: Option<Score>,
    pub nodes: u64,
    pub open: usize,
}

pub struct Search {
    pub options: Options,
    /// The first source; if it is the only one, its rows tell rules apart.
    first: Arc<Source>,
    /// The rows that tell rules of several sources apart.
    whole: Option<Arc<dyn Rows>>,
    goal: Goal,
    nodes: AtomicU64,
    shared: Mutex<Shared>,
    /// Notified when there may be work for waiting workers.
    changed: Condvar,
}

/// What the lock guards.
struct Shared {
    frontier: Frontier,
    top: Top,
    /// The sources by number; `None` for one whose rows are not needed now.
    sources: Vec<Option<Arc<Source>>>,
    /// The number of sources begun. The next one begins when no branch of these is ahead: so few are needed at a time, and
    /// the goal is high when the others begin.
    n_begun: usize,
    /// The highest bound of a branch left out by alpha alone.
    left_out: Option<Score>,
    /// Workers that may still return branches, and waiting workers.
    busy: usize,
    waiting: usize,
    beam: Option<Beam>,
    /// A saved state that exceeded the caller's buffer, kept until the next step.
    saved: Option<Vec<u64>>,
    trace: Option<Vec<Visit>>,
}

impl Search {
    /// With `n_sources` above 1, the others are passed to [`Search::add`] on request, and `whole` has the rows of all of
    /// them under the external numbers of their conditions.
    pub fn new(first: Source, whole: Option<Arc<dyn Rows>>, n_sources: usize, options: Options) -> Search {
        // With a minimum value there is a goal from the start, and few rules are valued at all.
        let has_beam = options.floor == Score::MIN && !first.are_few(&[], &first.candidates);
        let as_found = n_sources > 1 || first.allowed.is_some();
        let first = Arc::new(first);
        let mut sources = vec![None; n_sources.max(1)];
        sources[0] = Some(first.clone());
        let below = match options.floor {
            Score::MIN => Score::MIN,
            floor => ceiling(floor) - 1,
        };
        Search {
            goal: Goal::new(below, options.alpha),
            nodes: AtomicU64::new(0),
            shared: Mutex::new(Shared {
                frontier: Frontier::new(vec![Branch::root(0, &first.candidates)]),
                top: Top::new(options.k, as_found),
                sources,
                n_begun: 1,
                left_out: None,
                busy: 0,
                waiting: 0,
                beam: has_beam.then(Beam::default),
                saved: None,
                trace: None,
            }),
            changed: Condvar::new(),
            options,
            first,
            whole,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the source of this number, which was requested.
    pub fn add(&self, number: usize, source: Source) -> Result<(), String> {
        let mut shared = self.lock();
        if number >= shared.sources.len() || number > shared.n_begun {
            return Err(format!("source {number} is not wanted"));
        }
        let mut branches = shared.frontier.branches();
        if branches.any(|branch| branch.family.source == number && !source.has(branch)) {
            return Err(checkpoint::BROKEN.to_string());
        }
        drop(branches);
        if number == shared.n_begun {
            shared.n_begun += 1;
            let root = Branch::root(number, &source.candidates);
            shared.frontier.add([root]);
            shared.release_sources();
        }
        shared.sources[number] = Some(Arc::new(source));
        Ok(())
    }

    /// Offers a rule with its value and counts to the k best. It must cover at least one row and fail on one.
    fn offer(&self, source: &Source, value: Score, counts: &[u64], conditions: &[u32]) {
        let allowed = source.allowed.as_ref();
        if value < self.goal.value() || allowed.is_some_and(|allowed| !allowed.has(conditions)) {
            return;
        }
        self.enter(match &self.whole {
            Some(whole) => {
                let conditions = source.outside(conditions);
                let counts = whole.counts(std::slice::from_ref(&conditions));
                Offer::new(value, &counts, &conditions, true)
            }
            None => Offer::new(value, counts, conditions, source.allowed.is_some()),
        });
    }

    /// Enters a rule among the k best, if it is one of them, querying rows as needed.
    fn enter(&self, mut offer: Offer) {
        let mut shared = self.lock();
        while offer.value >= self.goal.value() {
            match shared.top.insert(&offer) {
                Ok(()) => return self.publish_goal(&shared.top),
                Err(question) => {
                    drop(shared);
                    let found = offer.answer(question, self.rows(), &self.first.candidates);
                    shared = self.lock();
                    if let Some((id, description)) = found {
                        shared.top.describe(id, description);
                    }
                }
            }
        }
    }

    /// The rows that tell rules apart.
    fn rows(&self) -> &dyn Rows {
        self.whole.as_deref().unwrap_or(&*self.first.rows)
    }

    fn publish_goal(&self, top: &Top) {
        if let Some(kth) = top.kth() {
            self.goal.raise(kth);
            if !self.goal.ties_wait() {
                // A tie may have been won. If a length is unknown, ties wait again.
                self.goal.admit_ties(top.longest(kth).ok().flatten());
            }
        }
    }

    /// Calls `ask` on the list, and answers its questions from the rows until it succeeds.
    fn asked<T>(&self, ask: impl Fn(&Top) -> Result<T, Question>) -> T {
        loop {
            let question = match ask(&self.lock().top) {
                Ok(answer) => return answer,
                Err(question) => question,
            };
            if let Question::Entry(id, conditions) = question {
                let found = describe::shortest(self.rows(), &self.first.candidates, &conditions);
                self.lock().top.describe(id, found);
            }
        }
    }

    /// From now on, enters branches that can win a tie against the k-th best rule.
    fn admit_ties(&self) {
        let goal = self.goal.value();
        let longest = self.asked(|top| top.longest(goal));
        let _writing = self.lock();
        if self.goal.value() == goal {
            self.goal.admit_ties(Some(longest.unwrap_or(usize::MAX)));
        }
    }

    /// The state to resume from, between steps, if it has at most `capacity` numbers; else its length. It is then kept, so
    /// that the next call takes no time.
    pub fn save(&self, capacity: usize) -> Result<Vec<u64>, usize> {
        let mut shared = self.lock();
        let state = match shared.saved.take() {
            Some(state) => state,
            None => shared.state(self.nodes.load(Relaxed)).write(),
        };
        if state.len() <= capacity {
            return Ok(state);
        }
        let length = state.len();
        shared.saved = Some(state);
        Err(length)
    }

    /// Restores the state of a search of the same sources with the same options, before the first step.
    pub fn restore(&self, numbers: &[u64]) -> Result<(), String> {
        let n_sources = self.lock().sources.len();
        let state = State::read(numbers, n_sources, self.rows())?;
        if !(state.open.iter()).all(|branch| branch.family.source != 0 || self.first.has(branch)) {
            return Err(checkpoint::BROKEN.to_string());
        }
        for (value, counts, conditions) in &state.entries {
            let as_found = self.lock().top.as_found;
            self.enter(Offer::new(*value, counts, conditions, as_found));
        }
        let mut shared = self.lock();
        shared.left_out = state.left_out;
        shared.n_begun = state.n_begun;
        if state.has_looked_ahead {
            shared.beam = None;
        }
        shared.frontier = Frontier::new(state.open);
        self.nodes.store(state.nodes, Relaxed);
        Ok(())
    }

    pub fn status(&self) -> Status {
        let shared = self.lock();
        let goal = self.goal.value();
        let open = shared.frontier.highest().filter(|&bound| bound >= goal);
        let are_all_begun = shared.n_begun == shared.sources.len();
        Status {
            done: shared.frontier.is_empty() && are_all_begun && shared.beam.is_none(),
            wants: shared.wants(&self.goal),
            n_rules: shared.top.entries().len(),
            best: shared.top.best(),
            kth: shared.top.kth(),
            unexplored: match are_all_begun {
                true => open.max(shared.left_out),
                // Nothing is known of a source before it begins.
                false => Some(Score::MAX),
            },
            nodes: self.nodes.load(Relaxed),
            open: shared.frontier.len(),
        }
    }

    /// The rules found so far, best first, each in its shortest form.
    pub fn rules(&self) -> Vec<(Score, Vec<u32>)> {
        // With several sources, each values a rule by its own strata, and the description stays as found.
        let value = |counts: &[u64], length: usize| match self.whole {
            Some(_) => Score::MIN,
            None => self.first.value(counts, length),
        };
        self.asked(|top| top.sorted(value))
    }

    /// From now on, records all visited branches.
    pub fn begin_trace(&self) {
        self.lock().trace = Some(Vec::new());
    }

    /// The branches visited so far, in order.
    pub fn trace(&self) -> Vec<Visit> {
        self.lock().trace.clone().unwrap_or_default()
    }
}

impl Shared {
    fn state(&self, nodes: u64) -> State {
        let entries = self.top.entries().iter();
        State {
            left_out: self.left_out,
            nodes,
            n_begun: self.n_begun,
            has_looked_ahead: self.beam.is_none(),
            open: self.frontier.branches().cloned().collect(),
            entries: entries
                .map(|entry| (entry.value, entry.counts.clone(), entry.conditions.clone()))
                .collect(),
        }
    }

    /// Releases rows that no open branch needs.
    fn release_sources(&mut self) {
        let mut is_needed = vec![false; self.sources.len()];
        for branch in self.frontier.branches() {
            is_needed[branch.family.source] = true;
        }
        for (source, is_needed) in self.sources.iter_mut().zip(is_needed) {
            if !is_needed {
                *source = None;
            }
        }
    }
}
