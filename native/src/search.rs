//! The search: which branch next, on how many threads, and what is proven when it stops.
//!
//! Open branches wait in one queue, the most promising first. A worker takes the best one and goes down from
//! there depth-first for a while: that finds good rules early, keeps the queue short and lets the rows of a
//! branch be packed once for all that is below it. Then it returns what is left to the queue. So the search
//! can stop at any time, and the best bound in the queue says what may have been missed.

use crate::ahead::Beam;
use crate::checkpoint::State;
use crate::estimator::{Estimator, Score};
use crate::expand::{finish, Branch, Expander, Judge, Node, Rulebook, TIED};
use crate::ideas::{Candidate, Ideas, REMEMBERED};
use crate::offered::{Columns, Offered};
use crate::redundancy::is_redundant;
use crate::rows::{Place, Rows};
use crate::top::{are_same, Top};
use crate::wanted::{covered, Leader, Reach, Wanted};
use std::collections::hash_map::Entry as Slot;
use std::collections::{BinaryHeap, HashMap};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
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
    /// Which rules may stand beside which.
    pub wanted: Wanted,
    /// Rules that are listed already, as conditions: those found are compared with them too.
    pub leaders: Vec<Vec<u32>>,
    /// The first so many of them are not listed: rules with the same rows are left out, and others do not mind them.
    pub n_left_out: usize,
}

impl Options {
    /// What a rule must be worth to follow another: a list of different rules ends where nothing above 0 is left.
    fn least(&self) -> Score {
        self.floor.max(TIED)
    }
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
///
/// A list of different rules is made rule by rule, in one go. The search looks for the best rule that may follow the
/// leaders. Branches that promise less are put off: they stay in the queue, some 60 bytes each. When no other is left,
/// the rule is settled and becomes a leader, and the search goes on with what was put off.
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
    ideas: Mutex<Ideas>,
    /// How many conditions a rule may have to win a tie with the best one.
    tie_length: AtomicUsize,
    /// How many rules wait to follow the leaders.
    n_waiting: AtomicUsize,
    /// The fewest rows that a rule must cover because of the leaders.
    least_rows: AtomicU64,
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
        let one_by_one = options.wanted.is_one_by_one();
        let n_covered = covered(&*rows, options.leaders.clone());
        let leaders = options.leaders.iter().cloned().zip(n_covered);
        let leaders: Vec<Leader> = leaders
            .enumerate()
            .map(|(index, (conditions, n_covered))| Leader {
                conditions,
                n_covered,
                is_left_out: index < options.n_left_out,
            })
            .collect();
        let least_rows = options.wanted.min_rows(&leaders);
        let is_first = leaders.iter().all(|leader| leader.is_left_out);
        let floor = match one_by_one && !is_first {
            true => options.least(),
            false => options.floor,
        };
        let book = |irredundant| Rulebook {
            by_length: one_by_one,
            rows: rows.clone(),
            estimator: estimator.clone(),
            usable: usable.clone(),
            max_length: options.max_length,
            min_rows: options.min_rows.max(1),
            irredundant,
            offered: offered.clone(),
        };
        let root = Node::root(&usable);
        let book_of_all = book(options.irredundant);
        let is_small = book_of_all.is_small();
        Search {
            book: book_of_all,
            ties: OnceLock::new(),
            left_tied: AtomicI64::new(Score::MIN),
            lenient: options.irredundant.then(|| book(false)),
            queue: Mutex::new(Queue {
                open: BinaryHeap::from([root]),
                parked: Vec::new(),
                busy: 0,
            }),
            top: Mutex::new(Top::new(options.k, offered.is_some())),
            ideas: Mutex::new(Ideas::new(options.wanted, leaders, offered.is_some())),
            least_rows: AtomicU64::new(least_rows),
            tie_length: AtomicUsize::new(usize::MAX),
            n_waiting: AtomicUsize::new(0),
            entrance: AtomicI64::new(floor),
            threshold: AtomicI64::new(floor),
            left_out: AtomicI64::new(Score::MIN),
            nodes: AtomicU64::new(0),
            // With a floor there is something to beat already, and few rules are looked at all.
            ahead: Mutex::new((options.floor == Score::MIN && !is_small).then(Beam::default)),
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
            if !self.is_done(&lock(&self.queue)) && Instant::now() < deadline {
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
            if !self.is_done(&lock(&self.queue)) || !self.begins_with_ties() {
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
        let open = lock(&self.queue).nodes().cloned().collect();
        let top = lock(&self.top);
        let ideas = lock(&self.ideas);
        let entries = top.entries().iter();
        let state = State {
            entrance: self.entrance.load(Ordering::Relaxed),
            threshold: self.threshold.load(Ordering::Relaxed),
            left_out: self.left_out.load(Ordering::Relaxed),
            left_tied: self.left_tied.load(Ordering::Relaxed),
            nodes: self.nodes.load(Ordering::Relaxed),
            has_looked_ahead: lock(&self.ahead).is_none(),
            ties: self.ties.get().map(|book| book.max_length),
            open,
            entries: entries
                .map(|entry| (entry.value, entry.counts.clone(), entry.conditions.clone()))
                .collect(),
            found: ideas.settled(),
            seen: ideas.seen().cloned().collect(),
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
        let mut ideas = lock(&self.ideas);
        ideas.restore(state.found, state.seen);
        if self.is_one_by_one() {
            let least_rows = ideas.wanted.min_rows(&ideas.leaders);
            self.least_rows.store(least_rows, Ordering::Relaxed);
            self.chooses(&mut ideas);
        } else {
            self.threshold.store(state.threshold, Ordering::Relaxed);
        }
        drop(ideas);
        self.entrance.store(state.entrance, Ordering::Relaxed);
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

    /// Settles rules of the list, as long as no open branch is in the way; is there more to look for? Nobody is at work.
    fn settles(&self, queue: &mut Queue) -> bool {
        let mut ideas = lock(&self.ideas);
        let value = ideas.settle().unwrap_or(Score::MIN);
        let open = queue.open.peek().map_or(Score::MIN, |node| node.bound);
        if value != Score::MIN && open > value {
            // Only alpha has kept it from being looked into.
            self.left_out.fetch_max(open, Ordering::Relaxed);
        }
        if ideas.found.len() >= self.options.k || value < TIED {
            queue.open.clear();
            ideas.end();
            return false;
        }
        let least_rows = ideas.wanted.min_rows(&ideas.leaders);
        self.least_rows.store(least_rows, Ordering::Relaxed);
        self.chooses(&mut ideas);
        true
    }

    /// Takes the best of the rules seen as the one to beat.
    fn chooses(&self, ideas: &mut Ideas) {
        let least = match ideas.leaders.iter().all(|leader| leader.is_left_out) {
            true => self.options.floor,
            false => self.options.least(),
        };
        let (rows, usable) = (&*self.book.rows, &self.book.usable);
        ideas.choose(least, rows, usable, &|rule, counts| {
            self.is_redundant(rule.value, counts, &rule.conditions)
        });
        self.threshold.store(least, Ordering::Relaxed);
        self.tie_length.store(usize::MAX, Ordering::Relaxed);
        self.raises(ideas);
    }

    /// Makes it known what there is to beat.
    fn raises(&self, ideas: &Ideas) {
        self.n_waiting.store(ideas.len(), Ordering::Relaxed);
        if let Some(best) = &ideas.best {
            self.tie_length
                .store(best.description.len(), Ordering::Relaxed);
            self.threshold.store(best.rule.value, Ordering::Relaxed);
        }
    }

    fn is_redundant(&self, value: Score, counts: &[u64], conditions: &[u32]) -> bool {
        let lenient = self.lenient.as_ref();
        lenient.is_some_and(|book| is_redundant(book, value, counts, conditions))
    }

    fn book(&self) -> &Rulebook {
        self.ties.get().unwrap_or(&self.book)
    }

    pub fn status(&self) -> Status {
        let top = lock(&self.top);
        let queue = lock(&self.queue);
        let threshold = match self.is_one_by_one() {
            true => self.threshold.load(Ordering::Relaxed),
            false => self.entrance.load(Ordering::Relaxed),
        };
        let open = queue.nodes().map(|node| node.bound).max();
        let open = open.filter(|&bound| bound >= threshold);
        // The first part has shown that nothing exceeds the k-th best rule.
        let open = open.map(|bound| match self.ties.get() {
            Some(_) => bound.min(threshold),
            None => bound,
        });
        let left_out = self.left_out.load(Ordering::Relaxed);
        let done = self.is_done(&queue);
        let (n_rules, best, kth) = if self.is_one_by_one() {
            let ideas = lock(&self.ideas);
            let next = ideas.best.as_ref().map(|best| best.rule.value);
            let values = ideas.found.iter().map(|(value, _)| *value).chain(next);
            let last = match done {
                true => ideas.found.last().map(|(value, _)| *value),
                false => next,
            };
            (values.clone().count(), values.max(), last)
        } else {
            (top.len(), top.best(), top.threshold())
        };
        Status {
            done,
            n_rules,
            best,
            kth,
            unexplored: open.max((left_out != Score::MIN).then_some(left_out)),
            nodes: self.nodes.load(Ordering::Relaxed),
            open: queue.nodes().count(),
        }
    }

    /// The rules found so far, best first, each in its shortest form.
    pub fn rules(&self) -> Vec<(Score, Vec<u32>)> {
        let value = |counts: &[u64], length: usize| self.book.value(counts, length);
        if self.is_one_by_one() {
            let is_redundant = |rule: &Candidate, counts: &[u64]| {
                self.is_redundant(rule.value, counts, &rule.conditions)
            };
            let (rows, usable) = (&*self.book.rows, &self.book.usable);
            let k = match self.is_done(&lock(&self.queue)) {
                true => 0,
                false => self.options.k,
            };
            let least = self.options.least();
            let listed = lock(&self.ideas).listed(k, least, rows, usable, &is_redundant);
            let mut rules: Vec<_> = listed
                .into_iter()
                .map(|(score, rule, counts)| (score.max(value(&counts, rule.len())), rule))
                .collect();
            rules.sort_by(|(x, p), (y, q)| y.cmp(x).then((p.len(), p).cmp(&(q.len(), q))));
            return rules;
        }
        lock(&self.top).sorted(&*self.book.rows, &self.book.usable, value)
    }

    /// Goes on with the look ahead; has it come to its end?
    fn looks_ahead(&self, deadline: Instant) -> bool {
        let mut ahead = lock(&self.ahead);
        let leaders = lock(&self.ideas).leaders.clone();
        while let Some(beam) = &mut *ahead {
            if Instant::now() >= deadline {
                return false;
            }
            let mut judge = Keeper::new(self);
            let goes_on = beam.goes_on(&self.book, &mut judge);
            judge.flush(&leaders);
            if !goes_on {
                *ahead = None;
            }
        }
        true
    }

    fn is_one_by_one(&self) -> bool {
        self.options.wanted.is_one_by_one()
    }

    fn is_done(&self, queue: &Queue) -> bool {
        queue.is_empty() && !(self.is_one_by_one() && lock(&self.ideas).best.is_some())
    }

    /// Is there a branch to go into? Those that were put off come after all others.
    fn has_open(&self, queue: &Queue) -> bool {
        let best = queue.open.peek();
        best.is_some_and(|node| !(self.is_one_by_one() && self.is_put_off(node)))
    }

    fn is_put_off(&self, node: &Node) -> bool {
        node.bound != Score::MAX && Keeper::new(self).is_hopeless(node.bound, node.length)
    }

    fn work(&self, deadline: Instant, threads: usize) {
        let mut worker = Worker {
            search: self,
            expander: Expander::default(),
            stack: Vec::new(),
            put_off: Vec::new(),
            leaders: Arc::default(),
        };
        loop {
            let mut queue = lock(&self.queue);
            if Instant::now() >= deadline {
                return;
            }
            let (parked, node) = match queue.parked.pop() {
                Some(parked) => (parked, None),
                None if self.has_open(&queue) => (Vec::new(), queue.open.pop()),
                None => (Vec::new(), None),
            };
            if parked.is_empty() && node.is_none() {
                if queue.busy == 0 {
                    if !self.is_done(&queue) && self.settles(&mut queue) {
                        continue;
                    }
                    return;
                }
                drop(queue);
                std::thread::sleep(Duration::from_micros(50));
                continue;
            }
            queue.busy += 1;
            drop(queue);
            worker.leaders = lock(&self.ideas).leaders.clone();
            let nodes = parked.iter().map(|entry| &entry.node).chain(&node);
            let mut busy = Busy(self, nodes.cloned().collect());
            worker.stack = parked;
            worker.stack.extend(node.map(|node| Entry {
                parent: self.book.rows.place(&node.family.conditions),
                node,
            }));
            worker.dive(deadline, threads);
            busy.1.clear();
            let mut queue = lock(&self.queue);
            queue.open.extend(worker.put_off.drain(..));
            if !worker.stack.is_empty() {
                queue.parked.push(std::mem::take(&mut worker.stack));
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
    /// Branches that may be wanted later.
    put_off: Vec<Node>,
    leaders: Arc<Vec<Leader>>,
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
            let others_wait = threads > 1 && step % 4 == 0 && {
                let queue = lock(&self.search.queue);
                queue.parked.is_empty() && !self.search.has_open(&queue)
            };
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
        let Entry { node, parent } = entry;
        if self.leaves_out(&node) {
            return;
        }
        if self.is_finished_by_children(&node) {
            self.finish(node, &*parent);
            return;
        }
        if self.cuts(&[&node]) == [true] {
            return;
        }
        let mut judge = Keeper::new(self.search);
        let book = self.search.book();
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
        let mut nodes = self.expander.expand(book, &node, &*place, &mut judge);
        judge.flush(&self.leaders);
        if self.search.is_one_by_one() {
            nodes.retain(|node| !self.leaves_out(node));
        }
        // The children come strongest first; the strongest is to be on top of the stack.
        self.stack.extend(nodes.into_iter().rev().map(|node| Entry {
            node,
            parent: place.clone(),
        }));
    }

    /// Is the node not worth entering now? It may be put off.
    fn leaves_out(&mut self, node: &Node) -> bool {
        if !self.search.is_put_off(node) {
            return false;
        }
        if Keeper::new(self.search).may_return(node.bound) {
            self.put_off.push(node.clone());
        }
        true
    }

    /// For each node, is there no rule below it that may be listed?
    fn cuts(&self, nodes: &[&Node]) -> Vec<bool> {
        let wanted = self.search.options.wanted;
        if wanted == Wanted::Any || self.leaders.is_empty() {
            return vec![false; nodes.len()];
        }
        let conditions: Vec<Vec<u32>> = nodes.iter().map(|node| node.conditions()).collect();
        let reaches = nodes.iter().zip(&conditions);
        let reaches: Vec<Reach> = reaches
            .map(|(node, conditions)| Reach {
                conditions,
                candidates: node.candidates(),
                least: node.least,
                most: node.most,
            })
            .collect();
        wanted.cuts(&*self.search.book.rows, &self.leaders, &reaches)
    }

    /// Finishes a node whose children may take no further condition, together with its siblings on the stack.
    fn finish(&mut self, node: Node, parent: &dyn Place) {
        let mut together = vec![node];
        while together.len() < TOGETHER {
            let family = &together[0].family;
            match self
                .stack
                .pop_if(|entry| Arc::ptr_eq(&entry.node.family, family))
            {
                Some(entry) if self.leaves_out(&entry.node) => {}
                Some(entry) => together.push(entry.node),
                None => break,
            }
        }
        let nodes: Vec<&Node> = together.iter().collect();
        let mut cut = self.cuts(&nodes).into_iter();
        let nodes: Vec<&Node> = nodes
            .into_iter()
            .filter(|_| cut.next() == Some(false))
            .collect();
        self.search
            .nodes
            .fetch_add(nodes.len() as u64, Ordering::Relaxed);
        let mut judge = Keeper::new(self.search);
        let put_off = finish(self.search.book(), &nodes, parent, &mut judge);
        judge.flush(&self.leaders);
        self.put_off.extend(put_off);
    }
}

/// Keeps the k best rules, or hands on those that may be the next of a list.
struct Keeper<'a> {
    search: &'a Search,
    offers: Vec<Candidate>,
}

impl<'a> Keeper<'a> {
    fn new(search: &'a Search) -> Keeper<'a> {
        Keeper {
            search,
            offers: Vec::new(),
        }
    }

    /// Takes up what was offered for a list that is made rule by rule: all at once, because rows that are elsewhere are
    /// asked once then.
    fn flush(&mut self, leaders: &[Leader]) {
        if self.offers.is_empty() {
            return;
        }
        let search = self.search;
        let (rows, usable) = (&*search.book.rows, &search.book.usable);
        let threshold = search.threshold.load(Ordering::Relaxed);
        let offers = std::mem::take(&mut self.offers);
        let (good, later): (Vec<Candidate>, Vec<Candidate>) =
            offers.into_iter().partition(|rule| rule.value >= threshold);
        let asked: Vec<(u64, &[u32])> = good.iter().map(Candidate::rows).collect();
        let refused = search.options.wanted.refuses(rows, leaders, &asked);
        let layout = rows.layout();
        let mut allowed: Vec<Candidate> = good
            .into_iter()
            .zip(refused)
            .filter_map(|(rule, refused)| (!refused).then_some(rule))
            .collect();
        allowed.sort_by(|x, y| y.cmp(x));
        for rule in allowed {
            if rule.value < search.threshold.load(Ordering::Relaxed) {
                lock(&search.ideas).remember(rule);
                continue;
            }
            if search.lenient.is_some() {
                let counts = rows.counts(std::slice::from_ref(&rule.conditions));
                debug_assert_eq!(layout.n_covered(&counts), rule.n_covered);
                if search.is_redundant(rule.value, &counts, &rule.conditions) {
                    continue;
                }
            }
            let mut ideas = lock(&search.ideas);
            ideas.consider(rule, rows, usable);
            search.raises(&ideas);
        }
        let mut ideas = lock(&search.ideas);
        let least = search.options.least();
        for rule in later.into_iter().filter(|rule| rule.value >= least) {
            ideas.remember(rule);
        }
        search.n_waiting.store(ideas.len(), Ordering::Relaxed);
    }
}

impl Judge for Keeper<'_> {
    fn is_hopeless(&self, bound: Score, length: usize) -> bool {
        let threshold = self.search.threshold.load(Ordering::Relaxed);
        let alpha = self.search.options.alpha;
        if bound < threshold {
            if bound + 1 == threshold {
                self.search.left_tied.fetch_max(bound, Ordering::Relaxed);
            }
            return true;
        }
        let one_by_one = self.search.is_one_by_one();
        if one_by_one && bound == threshold {
            return length > self.search.tie_length.load(Ordering::Relaxed);
        }
        let relaxed = alpha < 1.0 && bound > 0 && alpha * bound as f64 <= threshold as f64;
        if relaxed && !one_by_one {
            self.search.left_out.fetch_max(bound, Ordering::Relaxed);
        }
        relaxed
    }

    fn goal(&self) -> Score {
        self.search.threshold.load(Ordering::Relaxed)
    }

    fn may_return(&self, bound: Score) -> bool {
        self.search.is_one_by_one() && bound >= self.search.options.least()
    }

    fn offers_from(&self) -> Score {
        if !self.search.is_one_by_one() {
            return Score::MIN;
        }
        let threshold = self.search.threshold.load(Ordering::Relaxed);
        if self.search.n_waiting.load(Ordering::Relaxed) < REMEMBERED {
            threshold.min(self.search.options.least())
        } else {
            threshold
        }
    }

    fn min_rows(&self) -> u64 {
        self.search.least_rows.load(Ordering::Relaxed)
    }

    fn is_known(&self, branch: &Branch) -> bool {
        let search = self.search;
        // Where not all columns are offered, another branch may hold the description that is.
        if search.book.offered.is_some() {
            return false;
        }
        if search.is_one_by_one() {
            if branch.bound != search.threshold.load(Ordering::Relaxed) {
                return false;
            }
            let ideas = lock(&search.ideas);
            let best = ideas.best.as_ref();
            let best = best.filter(|best| best.rule.value == branch.bound);
            return best.is_some_and(|best| branch.leads_only_to(&best.counts, &best.description));
        }
        if branch.bound != search.entrance.load(Ordering::Relaxed) {
            return false;
        }
        let top = lock(&search.top);
        let mut tied = top.with_value(branch.bound);
        tied.any(|entry| branch.leads_only_to(&entry.counts, &entry.conditions))
    }

    fn offer(&mut self, value: Score, counts: &[u64], conditions: &[u32]) {
        let search = self.search;
        let offered = search.book.offered.as_ref();
        let is_offered = || offered.is_none_or(|offered| offered.has(conditions));
        if search.is_one_by_one() {
            if !is_offered() {
                return;
            }
            self.offers.push(Candidate {
                value,
                n_covered: search.book.layout().n_covered(counts),
                conditions: conditions.to_vec(),
            });
            return;
        }
        let (rows, usable) = (&*search.book.rows, &search.book.usable);
        if value < search.entrance.load(Ordering::Relaxed) {
            return;
        }
        if !is_offered() {
            return;
        }
        if lock(&search.top).contains(value, counts, conditions, rows) {
            return;
        }
        if search.options.wanted != Wanted::Any {
            let leaders = lock(&search.ideas).leaders.clone();
            let rule = (search.book.layout().n_covered(counts), conditions);
            if search.options.wanted.refuses(rows, &leaders, &[rule]) == [true] {
                return;
            }
        }
        if search.is_redundant(value, counts, conditions) {
            return;
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
        if offered.is_some_and(|offered| !offered.leads_on(0, proposition, usize::MAX)) {
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
