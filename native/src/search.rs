//! The search: which branch next, on how many threads, and what is proven when it stops.
//!
//! Open branches wait in one queue, the most promising first. A worker takes the best one and goes down from
//! there depth-first for a while: that finds good rules early, keeps the queue short and lets the rows of a
//! branch be packed once for all that is below it. Then it returns what is left to the queue. So the search
//! can stop at any time, and the best bound in the queue says what may have been missed.

use crate::ahead::Beam;
use crate::checkpoint::State;
use crate::estimator::{Estimator, Score};
use crate::expand::{finish, Branch, Expander, Judge, Node, Rulebook};
use crate::offered::{Columns, Offered};
use crate::redundancy::is_redundant;
use crate::rows::{Place, Rows};
use crate::top::{are_same, Top};
use std::collections::hash_map::Entry as Slot;
use std::collections::{BinaryHeap, HashMap};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

pub struct Options {
    pub k: usize,
    /// A branch is left out when alpha · bound is no more than the k-th best value.
    pub alpha: f64,
    /// `usize::MAX` for no limit.
    pub max_length: usize,
    pub min_rows: u64,
    pub irredundant: bool,
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

/// The search has two parts. The first looks for anything better than the k-th best rule, and leaves out branches
/// that can only tie with it. If there were such branches, the second part goes through the rules that are short
/// enough to win a tie, so that the answer does not depend on the order in which things were found.
pub struct Search {
    book: Rulebook,
    /// The rulebook of the second part, once it has begun.
    ties: OnceLock<Rulebook>,
    /// The highest bound of a branch that could only tie.
    left_tied: AtomicI64,
    /// The same without regard to redundancy: for looking for rules that make another one redundant.
    lenient: Option<Rulebook>,
    options: Options,
    queue: Mutex<Queue>,
    top: Mutex<Top>,
    /// What a rule must be worth to be taken in, and what a branch must promise to be entered.
    entrance: AtomicI64,
    threshold: AtomicI64,
    /// The highest bound of a branch that only alpha left out.
    left_out: AtomicI64,
    nodes: AtomicU64,
    ahead: Mutex<Option<Beam>>,
}

struct Queue {
    open: BinaryHeap<Node>,
    /// What workers were in the middle of when their time was up. It goes on from there: the rows are packed already.
    parked: Vec<Vec<Entry>>,
    /// Workers that may still return nodes.
    busy: usize,
}

impl Queue {
    fn is_empty(&self) -> bool {
        self.open.is_empty() && self.parked.is_empty()
    }

    fn nodes(&self) -> impl Iterator<Item = &Node> {
        let parked = self.parked.iter().flatten().map(|entry| &entry.node);
        self.open.iter().chain(parked)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many rules a worker expands depth-first before it looks again for the best branch of all.
const DIVE: usize = 200;
/// How many of the last rules of a branch are asked for at once.
const TOGETHER: usize = 32;
/// A search shorter than this is not worth starting threads for.
const ALONE: Duration = Duration::from_millis(2);

impl Search {
    pub fn new(rows: Arc<dyn Rows>, estimator: Arc<dyn Estimator>, options: Options) -> Search {
        let offered = options
            .offered
            .as_ref()
            .map(|sets| Arc::new(Offered::new(sets, rows.propositions())));
        let usable = usable_propositions(&*rows, offered.as_deref());
        let book = |irredundant| Rulebook {
            rows: rows.clone(),
            estimator: estimator.clone(),
            usable: usable.clone(),
            max_length: options.max_length,
            min_rows: options.min_rows.max(1),
            irredundant,
            offered: offered.clone(),
        };
        let root = Node::root(&usable);
        Search {
            book: book(options.irredundant),
            ties: OnceLock::new(),
            left_tied: AtomicI64::new(Score::MIN),
            lenient: options.irredundant.then(|| book(false)),
            queue: Mutex::new(Queue {
                open: BinaryHeap::from([root]),
                parked: Vec::new(),
                busy: 0,
            }),
            top: Mutex::new(Top::new(options.k, offered.is_some())),
            entrance: AtomicI64::new(options.floor),
            threshold: AtomicI64::new(options.floor),
            left_out: AtomicI64::new(Score::MIN),
            nodes: AtomicU64::new(0),
            // With a floor there is something to beat already.
            ahead: Mutex::new((options.floor == Score::MIN).then(Beam::default)),
            options,
        }
    }

    /// Goes on for about the given time on the given number of threads.
    pub fn step(&self, time: Duration, threads: usize) -> Status {
        let deadline = Instant::now() + time;
        if !self.looks_ahead(deadline) {
            return self.status();
        }
        loop {
            self.work(deadline.min(Instant::now() + ALONE), 1);
            if !lock(&self.queue).is_empty() && Instant::now() < deadline {
                std::thread::scope(|scope| {
                    // Where no more threads can be started, fewer do.
                    let begin = |_| {
                        let thread = std::thread::Builder::new();
                        thread.spawn_scoped(scope, || self.work(deadline, threads))
                    };
                    let others: Vec<_> = (1..threads).map_while(|n| begin(n).ok()).collect();
                    self.work(deadline, threads);
                    for other in others {
                        // What stopped another thread stops this one, without a panic of its own.
                        other.join().unwrap_or_else(|stop| resume_unwind(stop));
                    }
                });
            }
            if !lock(&self.queue).is_empty() || !self.begins_with_ties() {
                return self.status();
            }
        }
    }

    /// At the end of the first part: is a second needed? Then it is set up.
    fn begins_with_ties(&self) -> bool {
        let mut top = lock(&self.top);
        let (Some(kth), None) = (top.threshold(), self.ties.get()) else {
            return false;
        };
        if self.left_tied.load(Ordering::Relaxed) != kth {
            return false;
        }
        let longest = top.longest_description(kth, &*self.book.rows, &self.book.usable);
        self.ties.get_or_init(|| Rulebook {
            max_length: longest.min(self.book.max_length),
            ..self.book.clone()
        });
        self.threshold.store(kth, Ordering::Relaxed);
        lock(&self.queue).open.push(Node::root(&self.book.usable));
        true
    }

    /// What is needed to go on later, between steps.
    pub fn save(&self) -> Vec<u64> {
        let top = lock(&self.top);
        let entries = top.entries().iter();
        let state = State {
            entrance: self.entrance.load(Ordering::Relaxed),
            threshold: self.threshold.load(Ordering::Relaxed),
            left_out: self.left_out.load(Ordering::Relaxed),
            left_tied: self.left_tied.load(Ordering::Relaxed),
            nodes: self.nodes.load(Ordering::Relaxed),
            has_looked_ahead: lock(&self.ahead).is_none(),
            ties: self.ties.get().map(|book| book.max_length),
            open: lock(&self.queue).nodes().cloned().collect(),
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
        let mut top = Top::new(self.options.k, self.book.offered.is_some());
        for (value, counts, conditions) in &state.entries {
            top.insert(*value, counts, conditions, rows, &self.book.usable);
        }
        self.top = Mutex::new(top);
        self.entrance.store(state.entrance, Ordering::Relaxed);
        self.threshold.store(state.threshold, Ordering::Relaxed);
        self.left_out.store(state.left_out, Ordering::Relaxed);
        self.left_tied.store(state.left_tied, Ordering::Relaxed);
        self.nodes.store(state.nodes, Ordering::Relaxed);
        if state.has_looked_ahead {
            self.ahead = Mutex::new(None);
        }
        if let Some(max_length) = state.ties {
            self.ties.get_or_init(|| Rulebook {
                max_length,
                ..self.book.clone()
            });
        }
        lock(&self.queue).open = BinaryHeap::from(state.open);
        Ok(())
    }

    fn book(&self) -> &Rulebook {
        self.ties.get().unwrap_or(&self.book)
    }

    pub fn status(&self) -> Status {
        let top = lock(&self.top);
        let queue = lock(&self.queue);
        let threshold = self.entrance.load(Ordering::Relaxed);
        let open = queue.nodes().map(|node| node.bound).max();
        let open = open.filter(|&bound| bound >= threshold);
        // The first part has shown that nothing exceeds the k-th best rule.
        let open = open.map(|bound| match self.ties.get() {
            Some(_) => bound.min(threshold),
            None => bound,
        });
        let left_out = self.left_out.load(Ordering::Relaxed);
        Status {
            done: queue.is_empty(),
            n_rules: top.len(),
            best: top.best(),
            kth: top.threshold(),
            unexplored: open.max((left_out != Score::MIN).then_some(left_out)),
            nodes: self.nodes.load(Ordering::Relaxed),
            open: queue.nodes().count(),
        }
    }

    /// The rules found so far, best first, each in its shortest form.
    pub fn rules(&self) -> Vec<(Score, Vec<u32>)> {
        let value = |counts: &[u64], length: usize| self.book.value(counts, length);
        lock(&self.top).sorted(&*self.book.rows, &self.book.usable, value)
    }

    /// Goes on with the look ahead; has it come to its end?
    fn looks_ahead(&self, deadline: Instant) -> bool {
        let mut ahead = lock(&self.ahead);
        while let Some(beam) = &mut *ahead {
            if Instant::now() >= deadline {
                return false;
            }
            if beam.goes_on(&self.book, &mut Keeper(self)) {
                continue;
            }
            *ahead = None;
        }
        true
    }

    fn work(&self, deadline: Instant, threads: usize) {
        let mut worker = Worker {
            search: self,
            expander: Expander::default(),
            stack: Vec::new(),
        };
        loop {
            let mut queue = lock(&self.queue);
            if Instant::now() >= deadline {
                return;
            }
            let (parked, node) = match queue.parked.pop() {
                Some(parked) => (parked, None),
                None => (Vec::new(), queue.open.pop()),
            };
            if parked.is_empty() && node.is_none() {
                if queue.busy == 0 {
                    return;
                }
                drop(queue);
                std::thread::sleep(Duration::from_micros(50));
                continue;
            }
            queue.busy += 1;
            drop(queue);
            let nodes = parked.iter().map(|entry| &entry.node).chain(&node);
            let mut busy = Busy(self, nodes.cloned().collect());
            worker.stack = parked;
            worker.stack.extend(node.map(|node| Entry {
                parent: self.book.rows.place(&node.family.conditions),
                node,
            }));
            worker.dive(deadline, threads);
            busy.1.clear();
            if !worker.stack.is_empty() {
                let parked = std::mem::take(&mut worker.stack);
                lock(&self.queue).parked.push(parked);
            }
        }
    }
}

/// Gives the worker's place back, and what it began with if it did not live to go on.
struct Busy<'a>(&'a Search, Vec<Node>);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut queue = lock(&self.0.queue);
        queue.busy -= 1;
        queue.open.append(&mut std::mem::take(&mut self.1).into());
    }
}

/// A node on its way down, with the place of its parent.
struct Entry {
    node: Node,
    parent: Arc<dyn Place>,
}

struct Worker<'a> {
    search: &'a Search,
    expander: Expander,
    stack: Vec<Entry>,
}

impl Worker<'_> {
    /// Expands what is on the stack and below it, depth-first, until the time is up or nothing is left to it.
    fn dive(&mut self, deadline: Instant, threads: usize) {
        let mut expanded = 0;
        for step in 1.. {
            let Some(entry) = self.stack.pop() else {
                return;
            };
            expanded += usize::from(!self.is_finished_by_children(&entry.node));
            self.expand(entry);
            if Instant::now() >= deadline {
                return;
            }
            let others_wait = threads > 1 && step % 4 == 0 && lock(&self.search.queue).is_empty();
            if expanded >= DIVE || others_wait {
                self.give_away(others_wait);
            }
        }
    }

    /// Returns nodes to the queue for whoever comes first, but keeps the last rules of a branch, whose rows are packed,
    /// unless there is nothing else to give.
    fn give_away(&mut self, at_any_price: bool) {
        let Some(top) = self.stack.last() else {
            return;
        };
        let is_kept = |entry: &&Entry| Arc::ptr_eq(&entry.node.family, &top.node.family);
        let n_kept = if self.is_finished_by_children(&top.node) {
            self.stack.iter().rev().take_while(is_kept).count()
        } else {
            0
        };
        let n_given = match self.stack.len() - n_kept {
            0 if at_any_price => n_kept / 2,
            n_given => n_given,
        };
        let given = self.stack.drain(..n_given).map(|entry| entry.node);
        lock(&self.search.queue).open.extend(given);
    }

    /// May the node's children take no further condition?
    fn is_finished_by_children(&self, node: &Node) -> bool {
        node.family.conditions.len() + 2 == self.search.book().max_length && !node.is_root()
    }

    fn expand(&mut self, entry: Entry) {
        let mut judge = Keeper(self.search);
        let book = self.search.book();
        let Entry { node, parent } = entry;
        if judge.is_hopeless(node.bound) && !node.is_root() {
            return;
        }
        if self.is_finished_by_children(&node) {
            self.finish(node, &*parent);
            return;
        }
        self.search.nodes.fetch_add(1, Ordering::Relaxed);
        let place = match node.family.order.get(node.index) {
            Some(&last) => {
                // What is done once for a place costs about as much as looking at every child once, and pays where there
                // are children to expand.
                let mut needed = node.candidates().iter().copied().chain(node.excluded());
                parent.descend(last, &mut needed, true)
            }
            None => parent,
        };
        let nodes = self.expander.expand(book, &node, &*place, &mut judge);
        // The children come strongest first; the strongest is to be on top of the stack.
        self.stack.extend(nodes.into_iter().rev().map(|node| Entry {
            node,
            parent: place.clone(),
        }));
    }

    /// Finishes a node whose children may take no further condition, together with its siblings on the stack.
    fn finish(&mut self, node: Node, parent: &dyn Place) {
        let mut judge = Keeper(self.search);
        let mut together = vec![node];
        while together.len() < TOGETHER {
            let family = &together[0].family;
            match self
                .stack
                .pop_if(|entry| Arc::ptr_eq(&entry.node.family, family))
            {
                Some(entry) if judge.is_hopeless(entry.node.bound) => {}
                Some(entry) => together.push(entry.node),
                None => break,
            }
        }
        let nodes: Vec<&Node> = together.iter().collect();
        self.search
            .nodes
            .fetch_add(nodes.len() as u64, Ordering::Relaxed);
        finish(self.search.book(), &nodes, parent, &mut judge);
    }
}

/// Keeps the k best rules.
struct Keeper<'a>(&'a Search);

impl Judge for Keeper<'_> {
    fn is_hopeless(&self, bound: Score) -> bool {
        let threshold = self.0.threshold.load(Ordering::Relaxed);
        let alpha = self.0.options.alpha;
        if bound < threshold {
            if bound + 1 == threshold {
                self.0.left_tied.fetch_max(bound, Ordering::Relaxed);
            }
            return true;
        }
        let relaxed = alpha < 1.0 && bound > 0 && alpha * bound as f64 <= threshold as f64;
        if relaxed {
            self.0.left_out.fetch_max(bound, Ordering::Relaxed);
        }
        relaxed
    }

    fn goal(&self) -> Score {
        self.0.threshold.load(Ordering::Relaxed)
    }

    fn is_known(&self, branch: &Branch) -> bool {
        let is_tied = branch.bound == self.0.entrance.load(Ordering::Relaxed);
        // Where not all columns are offered, another branch may hold the description that is.
        if !is_tied || self.0.book.offered.is_some() {
            return false;
        }
        let top = lock(&self.0.top);
        let mut tied = top.with_value(branch.bound);
        tied.any(|entry| branch.leads_only_to(&entry.counts, &entry.conditions))
    }

    fn offer(&mut self, value: Score, counts: &[u64], conditions: &[u32]) {
        let search = self.0;
        let (rows, usable) = (&*search.book.rows, &search.book.usable);
        if value < search.entrance.load(Ordering::Relaxed) {
            return;
        }
        let offered = search.book.offered.as_ref();
        if offered.is_some_and(|offered| !offered.has(conditions)) {
            return;
        }
        if lock(&search.top).contains(value, counts, conditions, rows) {
            return;
        }
        if let Some(lenient) = &search.lenient {
            if is_redundant(lenient, value, counts, conditions) {
                return;
            }
        }
        let mut top = lock(&search.top);
        // Another worker may have been faster.
        if value < search.entrance.load(Ordering::Relaxed)
            || top.contains(value, counts, conditions, rows)
        {
            return;
        }
        top.insert(value, counts, conditions, rows, usable);
        if let Some(kth) = top.threshold() {
            search.entrance.fetch_max(kth, Ordering::Relaxed);
            let wins_ties = search.ties.get().is_some();
            search
                .threshold
                .fetch_max(if wins_ties { kth } else { kth + 1 }, Ordering::Relaxed);
        }
    }
}

/// The propositions without those that hold nowhere or everywhere, and without repetitions. One that possibly holds
/// everywhere is no rule, but may be part of one. Where only some sets of columns are offered, those on other columns
/// are left out, and repetitions are looked for within columns.
fn usable_propositions(rows: &dyn Rows, offered: Option<&Offered>) -> Vec<u32> {
    let layout = rows.layout();
    let width = layout.width();
    let n_propositions = rows.propositions().len() as u32;
    let all: Vec<u32> = (0..n_propositions).collect();
    let mut counts = Vec::new();
    rows.place(&[]).counts(&all, &mut counts);
    let (whole, each) = counts.split_at(width);
    let fingerprints = rows.fingerprints();
    let mut seen: HashMap<(u128, Columns), u32> = HashMap::new();
    let mut usable = Vec::new();
    for (&proposition, counts) in all.iter().zip(each.chunks(width)) {
        if layout.n_covered(counts) == 0 || counts == whole {
            continue;
        }
        let column = offered.map_or(0, |offered| offered.columns(&[proposition]));
        if offered.is_some_and(|offered| !offered.is_on(proposition, offered.above(0))) {
            continue;
        }
        match seen.entry((fingerprints[proposition as usize], column)) {
            Slot::Occupied(first) if are_same(rows, counts, &[*first.get()], &[proposition]) => {}
            Slot::Occupied(_) => usable.push(proposition),
            Slot::Vacant(place) => {
                place.insert(proposition);
                usable.push(proposition);
            }
        }
    }
    usable
}
