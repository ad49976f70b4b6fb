//! The search: which branch next, on how many threads, and what is proven when it stops.
//!
//! Open branches wait in one queue, the most promising first. A worker takes the best one and goes down from
//! there depth-first for a while: that finds good rules early, keeps the queue short and lets the rows of a
//! branch be packed once for all that is below it. Then it returns what is left to the queue. So the search
//! can stop at any time, and the best bound in the queue says what may have been missed.

use crate::bitset::{intersect, is_subset, size, total, Counts};
use crate::estimator::{Estimator, Score};
use crate::expand::{Branch, Expander, Judge, Node, Rulebook, View};
use crate::table::Table;
use crate::top::Top;
use std::collections::{BinaryHeap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
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
    whole: Arc<View>,
    options: Options,
    queue: Mutex<Queue>,
    top: Mutex<Top>,
    /// What a rule must be worth to be taken in, and what a branch must promise to be entered.
    entrance: AtomicI64,
    threshold: AtomicI64,
    /// The highest bound of a branch that only alpha left out.
    left_out: AtomicI64,
    nodes: AtomicU64,
    has_looked_ahead: AtomicBool,
}

struct Queue {
    open: BinaryHeap<Node>,
    /// Workers that may still return nodes.
    busy: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many rules a worker expands depth-first before it looks again for the best branch of all.
const DIVE: usize = 200;
/// How many rules the look ahead carries from one length to the next.
const BEAM: usize = 16;
/// Rows are packed anew when a branch covers less than this share of them …
const THIN: f64 = 0.7;
/// … and has at least this many conditions to try on them.
const WORTH_PACKING: usize = 8;
/// A search shorter than this is not worth starting threads for.
const ALONE: Duration = Duration::from_millis(2);

impl Search {
    pub fn new(table: Arc<Table>, estimator: Arc<dyn Estimator>, options: Options) -> Search {
        let usable = usable_propositions(&table);
        let book = |irredundant| Rulebook {
            table: table.clone(),
            estimator: estimator.clone(),
            usable: usable.clone(),
            max_length: options.max_length,
            min_rows: options.min_rows.max(1),
            irredundant,
        };
        let root = Node::root(&usable);
        Search {
            book: book(options.irredundant),
            ties: OnceLock::new(),
            left_tied: AtomicI64::new(Score::MIN),
            lenient: options.irredundant.then(|| book(false)),
            whole: Arc::new(View::whole(&table)),
            queue: Mutex::new(Queue {
                open: BinaryHeap::from([root]),
                busy: 0,
            }),
            top: Mutex::new(Top::new(options.k)),
            entrance: AtomicI64::new(options.floor),
            threshold: AtomicI64::new(options.floor),
            left_out: AtomicI64::new(Score::MIN),
            nodes: AtomicU64::new(0),
            has_looked_ahead: AtomicBool::new(false),
            options,
        }
    }

    /// Goes on for about the given time on the given number of threads.
    pub fn step(&self, time: Duration, threads: usize) -> Status {
        let deadline = Instant::now() + time;
        if !self.has_looked_ahead.swap(true, Ordering::Relaxed) {
            self.look_ahead(deadline);
        }
        loop {
            self.work(deadline.min(Instant::now() + ALONE), 1);
            if !lock(&self.queue).open.is_empty() && Instant::now() < deadline {
                std::thread::scope(|scope| {
                    for _ in 1..threads {
                        scope.spawn(|| self.work(deadline, threads));
                    }
                    self.work(deadline, threads);
                });
            }
            if !lock(&self.queue).open.is_empty() || !self.begins_with_ties() {
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
        let longest = top.longest_description(kth, &self.book.table, &self.book.usable);
        self.ties.get_or_init(|| Rulebook {
            max_length: longest.min(self.book.max_length),
            ..self.book.clone()
        });
        self.threshold.store(kth, Ordering::Relaxed);
        lock(&self.queue).open.push(Node::root(&self.book.usable));
        true
    }

    fn book(&self) -> &Rulebook {
        self.ties.get().unwrap_or(&self.book)
    }

    pub fn status(&self) -> Status {
        let top = lock(&self.top);
        let queue = lock(&self.queue);
        let threshold = self.entrance.load(Ordering::Relaxed);
        let open = queue.open.peek().map(|node| node.bound);
        let open = open.filter(|&bound| bound >= threshold);
        let left_out = self.left_out.load(Ordering::Relaxed);
        Status {
            done: queue.open.is_empty(),
            n_rules: top.len(),
            best: top.best(),
            kth: top.threshold(),
            unexplored: open.max((left_out != Score::MIN).then_some(left_out)),
            nodes: self.nodes.load(Ordering::Relaxed),
            open: queue.open.len(),
        }
    }

    /// The rules found so far, best first, each in its shortest form.
    pub fn rules(&self) -> Vec<(Score, Vec<u32>)> {
        lock(&self.top).sorted(&self.book.table, &self.book.usable)
    }

    /// A quick look for good rules, so that the search has something to beat from the beginning: add one condition
    /// at a time to the few best rules, as long as that makes the best better.
    fn look_ahead(&self, deadline: Instant) {
        let book = &self.book;
        let mut keeper = Keeper(self);
        let mut counts = vec![Counts::default(); book.table.strata.len()];
        let mut beam: Vec<Vec<u32>> = vec![Vec::new()];
        let mut best = Score::MIN;
        for _ in 0..book.max_length {
            let mut longer: Vec<(Score, Vec<u32>)> = Vec::new();
            for rule in &beam {
                let rows = book.table.extension(rule);
                for &proposition in &book.usable {
                    if Instant::now() >= deadline {
                        return;
                    }
                    let holds = book.table.proposition(proposition as usize);
                    book.table.count(&rows, holds, &mut counts);
                    if total(&counts) < book.min_rows || rule.contains(&proposition) {
                        continue;
                    }
                    let mut rule = rule.clone();
                    rule.push(proposition);
                    longer.push((book.value(&counts), rule));
                }
            }
            longer.sort_by(|x, y| y.cmp(x));
            // Rules of equal value are mostly the same rows said differently.
            longer.dedup_by_key(|(value, _)| *value);
            longer.truncate(BEAM);
            for (value, rule) in &longer {
                keeper.offer(*value, rule);
            }
            match longer.first() {
                Some((value, _)) if *value > best => best = *value,
                _ => return,
            }
            beam = longer.into_iter().map(|(_, rule)| rule).collect();
        }
    }

    fn work(&self, deadline: Instant, threads: usize) {
        let mut worker = Worker {
            search: self,
            expander: Expander::default(),
            stack: Vec::new(),
        };
        loop {
            let mut queue = lock(&self.queue);
            let node = if Instant::now() < deadline {
                queue.open.pop()
            } else {
                return;
            };
            let Some(node) = node else {
                if queue.busy == 0 {
                    return;
                }
                drop(queue);
                std::thread::sleep(Duration::from_micros(50));
                continue;
            };
            queue.busy += 1;
            drop(queue);
            let mut busy = Busy(self, Some(node.clone()));
            worker.dive(node, deadline, threads);
            busy.1 = None;
            let mut queue = lock(&self.queue);
            queue
                .open
                .extend(worker.stack.drain(..).map(|entry| entry.node));
        }
    }

    /// Is there a rule that covers all of these rows and more, and is worth at least as much?
    fn is_redundant(&self, book: &Rulebook, value: Score, rows: &[u64]) -> bool {
        let holds = |&p: &u32| is_subset(rows, book.table.proposition(p as usize));
        let implied: Vec<u32> = book.usable.iter().copied().filter(holds).collect();
        let mut counts = vec![Counts::default(); book.table.strata.len()];
        book.table.count(rows, rows, &mut counts);
        let mut rival = Rival {
            book,
            value,
            counts,
            rows,
            found: false,
        };
        let mut expander = Expander::default();
        let mut stack = vec![Node::root(&implied)];
        while let Some(node) = stack.pop() {
            if rival.found {
                break;
            }
            let covered = book.table.extension(&node.conditions());
            stack.extend(expander.expand(book, &node, &self.whole, &covered, &mut rival));
        }
        rival.found
    }
}

/// Gives the worker's place back, and its node too if the worker did not live to do so.
struct Busy<'a>(&'a Search, Option<Node>);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut queue = lock(&self.0.queue);
        queue.busy -= 1;
        queue.open.extend(self.1.take());
    }
}

/// A node on its way down, with the rows of its parent.
struct Entry {
    node: Node,
    view: Arc<View>,
    parent: Arc<Vec<u64>>,
}

struct Worker<'a> {
    search: &'a Search,
    expander: Expander,
    stack: Vec<Entry>,
}

impl Worker<'_> {
    /// Expands the node and what is below it, depth-first, until the time is up or others have a better claim.
    fn dive(&mut self, node: Node, deadline: Instant, threads: usize) {
        let search = self.search;
        let rows = search.book.table.extension(&node.family.conditions);
        self.stack.push(Entry {
            node,
            view: search.whole.clone(),
            parent: Arc::new(rows),
        });
        for step in 1.. {
            let Some(entry) = self.stack.pop() else {
                return;
            };
            self.expand(entry);
            let others_wait = threads > 1 && step % 16 == 0 && lock(&search.queue).open.is_empty();
            if step >= DIVE || others_wait || Instant::now() >= deadline {
                return;
            }
        }
    }

    fn expand(&mut self, entry: Entry) {
        let Entry { node, view, parent } = entry;
        let mut judge = Keeper(self.search);
        if node.bound != Score::MAX && judge.is_hopeless(node.bound) {
            return;
        }
        self.search.nodes.fetch_add(1, Ordering::Relaxed);
        let (view, rows) = cover(self.search.book(), &node, view, parent);
        let nodes = self
            .expander
            .expand(self.search.book(), &node, &view, &rows, &mut judge);
        // The children come strongest first; the strongest is to be on top of the stack.
        self.stack.extend(nodes.into_iter().rev().map(|node| Entry {
            node,
            view: view.clone(),
            parent: rows.clone(),
        }));
    }
}

/// The rows that a node covers, packed anew if they have become few.
fn cover(
    book: &Rulebook,
    node: &Node,
    view: Arc<View>,
    parent: Arc<Vec<u64>>,
) -> (Arc<View>, Arc<Vec<u64>>) {
    let Some(&last) = node.family.order.get(node.index) else {
        return (view, parent);
    };
    let mut rows = Arc::unwrap_or_clone(parent);
    intersect(&mut rows, view.proposition(last));
    let thin = (size(&rows) as f64) < THIN * view.n_rows as f64;
    // Packing costs about as much as looking at every child once: it pays where there are grandchildren.
    let is_last = node.family.conditions.len() + 2 >= book.max_length;
    if !thin || is_last || node.candidates().len() < WORTH_PACKING {
        return (view, Arc::new(rows));
    }
    let needed: Vec<u32> = node
        .candidates()
        .iter()
        .copied()
        .chain(node.excluded())
        .collect();
    let view = view.project(&rows, &needed);
    let all = view.all().to_vec();
    (Arc::new(view), Arc::new(all))
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

    fn is_known(&self, branch: &Branch) -> bool {
        if branch.bound != self.0.entrance.load(Ordering::Relaxed) {
            return false;
        }
        let top = lock(&self.0.top);
        let mut tied = top.with_value(branch.bound);
        tied.any(|entry| branch.leads_only_to(&entry.counts, &entry.rows))
    }

    fn offer(&mut self, value: Score, conditions: &[u32]) {
        let search = self.0;
        if value < search.entrance.load(Ordering::Relaxed) {
            return;
        }
        let rows = search.book.table.extension(conditions);
        if lock(&search.top).contains(value, &rows) {
            return;
        }
        if let Some(lenient) = &search.lenient {
            if search.is_redundant(lenient, value, &rows) {
                return;
            }
        }
        let mut top = lock(&search.top);
        // Another worker may have been faster.
        if value < search.entrance.load(Ordering::Relaxed) || top.contains(value, &rows) {
            return;
        }
        top.insert(value, rows, &search.book.table, &search.book.usable);
        if let Some(kth) = top.threshold() {
            search.entrance.fetch_max(kth, Ordering::Relaxed);
            let wins_ties = search.ties.get().is_some();
            search
                .threshold
                .fetch_max(if wins_ties { kth } else { kth + 1 }, Ordering::Relaxed);
        }
    }
}

/// Looks for a rule that makes another one redundant.
struct Rival<'a> {
    book: &'a Rulebook,
    value: Score,
    counts: Vec<Counts>,
    rows: &'a [u64],
    found: bool,
}

impl Judge for Rival<'_> {
    fn is_hopeless(&self, bound: Score) -> bool {
        self.found || bound < self.value
    }

    fn is_known(&self, branch: &Branch) -> bool {
        branch.bound == self.value && branch.leads_only_to(&self.counts, self.rows)
    }

    fn offer(&mut self, value: Score, conditions: &[u32]) {
        if !self.found && value >= self.value {
            self.found = self.book.table.extension(conditions) != self.rows;
        }
    }
}

/// The propositions without those that hold nowhere or everywhere, and without repetitions.
fn usable_propositions(table: &Table) -> Vec<u32> {
    let mut seen: HashMap<&[u64], u32> = HashMap::new();
    let mut usable = Vec::new();
    for index in 0..table.propositions.len() {
        let rows = table.proposition(index);
        if rows.iter().all(|&word| word == 0) || rows == table.all {
            continue;
        }
        seen.entry(rows).or_insert_with(|| {
            usable.push(index as u32);
            index as u32
        });
    }
    usable
}
