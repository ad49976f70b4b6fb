//! The search: which branch next, on how many threads, and what is proven when it stops.
//!
//! Open branches wait in one queue, the most promising first. A worker takes the best one and goes down from
//! there depth-first for a while: that finds good rules early, keeps the queue short and lets the rows of a
//! branch be packed once for all that is below it. Then it returns what is left to the queue. So the search
//! can stop at any time, and the best bound in the queue says what may have been missed.
//!
//! Branches that can only tie with the incumbent are put off. When no other is left, those are entered that lead to rules
//! short enough to win a tie, so that the answer does not depend on the order in which things were found.
//!
//! A list of different rules is made rule by rule, in one go. The search looks for the best rule that may follow the
//! leaders. Branches that promise less are put off too: they stay in the queue, some 60 bytes each, if they promise as much
//! as the last rule of the list may be worth; of others the rule that they come from stays, and is expanded again. When no
//! other is left, the rule is settled and becomes a leader, and the search goes on with what was put off.

use crate::ahead::Beam;
use crate::checkpoint::State;
use crate::estimator::{Estimator, Score};
use crate::front::Front;
use crate::ideas::{Candidate, Ideas};
use crate::judge::Verdict;
use crate::keeper::Keeper;
use crate::looking::Looking;
use crate::node::Node;
use crate::offered::{Columns, Offered};
use crate::patience::Patience;
use crate::queue::{Goal, Queue};
use crate::redundancy::is_redundant;
use crate::rows::Rows;
use crate::rulebook::{Rulebook, TIED};
use crate::top::Top;
use crate::usable::usable_propositions;
use crate::wanted::{covered, Leader, Wanted};
use crate::worker::Worker;
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
    pub fn least(&self) -> Score {
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

pub struct Search {
    pub book: Rulebook,
    /// The same without regard to redundancy: for looking for rules that make another one redundant.
    lenient: Option<Rulebook>,
    pub options: Options,
    pub queue: Mutex<Queue>,
    pub top: Mutex<Top>,
    pub ideas: Mutex<Ideas>,
    pub goal: Goal,
    /// How many rules wait to follow the leaders.
    pub n_waiting: AtomicUsize,
    /// The fewest rows that a rule must cover because of the leaders.
    pub least_rows: AtomicU64,
    n_leaders: AtomicUsize,
    /// Rules of up to so many conditions are looked for first, where longer ones are worth less.
    pub short: Option<usize>,
    /// What the last rule of a list may be worth, by what has been seen so far.
    pub last_value: AtomicI64,
    /// How much had been seen by then.
    expected: AtomicUsize,
    /// The highest bound of a branch that only alpha left out.
    left_out: Mutex<Option<Score>>,
    pub nodes: AtomicU64,
    pub patience: Patience,
    /// Looks by rows that go on.
    pub looks: Mutex<Vec<Arc<Looking>>>,
    /// How many nodes the queue had when it was last looked at.
    n_open: AtomicUsize,
    ahead: Mutex<Option<Beam>>,
    /// The last state that was asked for, until a step changes it or somebody takes it.
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
/// With more open branches than this, what is put off is kept together with the rule that it comes from.
const KEPT: usize = 1 << 19;
/// Rules of up to so many conditions are looked for first, where longer ones are worth less: there are not too many.
const SHORT: usize = 3;
/// From so many rules on, what was seen says something of the rest of a list.
const WORTH_EXPECTING: usize = 1_000;
/// With fewer open branches than this, it does not matter how many of them are of no use any more.
const WORTH_SWEEPING: usize = 1 << 12;

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
            one_by_one,
            rows: rows.clone(),
            estimator: estimator.clone(),
            usable: usable.clone(),
            max_length: options.max_length,
            min_rows: options.min_rows.max(1),
            irredundant,
            offered: offered.clone(),
        };
        let root = Node::root(&usable);
        let has_long = options.max_length.is_none_or(|most| most > SHORT);
        let short = (estimator.is_by_length() && has_long).then_some(SHORT);
        let book_of_all = book(options.irredundant);
        let is_small = book_of_all.are_few(&[], &usable);
        Search {
            book: book_of_all,
            lenient: options.irredundant.then(|| book(false)),
            queue: Mutex::new(Queue {
                open: BinaryHeap::from([root]),
                parked: Vec::new(),
                later: Vec::new(),
                busy: 0,
                swept: 0,
            }),
            top: Mutex::new(Top::new(options.k, offered.is_some())),
            n_leaders: AtomicUsize::new(leaders.len()),
            short,
            ideas: Mutex::new(Ideas::new(
                options.wanted,
                leaders,
                options.irredundant,
                offered.is_some(),
            )),
            least_rows: AtomicU64::new(least_rows),
            n_waiting: AtomicUsize::new(0),
            goal: Goal {
                threshold: AtomicI64::new(floor),
                has_incumbent: AtomicBool::new(false),
                ties: AtomicBool::new(false),
                tie_length: AtomicUsize::new(0),
                is_short: AtomicBool::new(short.is_some()),
            },
            last_value: AtomicI64::new(Score::MAX),
            expected: AtomicUsize::new(0),
            left_out: Mutex::new(None),
            nodes: AtomicU64::new(0),
            patience: Patience::default(),
            looks: Mutex::default(),
            n_open: AtomicUsize::new(0),
            // With a floor there is something to beat already, and few rules are looked at all.
            ahead: Mutex::new((options.floor == Score::MIN && !is_small).then(Beam::default)),
            saved: Mutex::new(None),
            options,
        }
    }

    /// Goes on for about the given time on the given number of threads.
    pub fn step(&self, time: Duration, threads: usize) -> Status {
        let deadline = Instant::now() + time;
        *lock(&self.saved) = None;
        if !self.looks_ahead(deadline) {
            return self.status();
        }
        if self.nodes.load(Relaxed) == 0 {
            Worker::new(self).work(deadline.min(Instant::now() + ALONE), 1);
        }
        if !self.is_done(&lock(&self.queue)) && Instant::now() < deadline {
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

    /// What becomes of a branch in which nothing exceeds this bound, and no rule has fewer conditions.
    ///
    /// Bounds that equal the incumbent's value are ties and nothing else: alpha does not touch them.
    pub fn verdict(&self, bound: Score, length: usize) -> Verdict {
        let threshold = self.goal.threshold.load(Relaxed);
        let one_by_one = self.is_one_by_one();
        let never = match one_by_one && bound >= self.options.least() {
            true => Verdict::Later,
            false => Verdict::Never,
        };
        if bound < threshold {
            return never;
        }
        if self.is_too_long(length) {
            return Verdict::Later;
        }
        if bound == threshold && self.goal.has_incumbent.load(Relaxed) {
            return if !self.goal.ties.load(Relaxed) {
                Verdict::Later
            } else if length <= self.goal.tie_length.load(Relaxed) {
                Verdict::Enter
            } else {
                never
            };
        }
        let alpha = self.options.alpha;
        let is_near = alpha < 1.0 && bound > 0 && alpha * bound as f64 <= threshold as f64;
        match is_near && bound > threshold {
            true => Verdict::Later,
            false => Verdict::Enter,
        }
    }

    /// Are rules of so many conditions put off until shorter ones are known?
    pub fn is_too_long(&self, length: usize) -> bool {
        self.goal.is_short.load(Relaxed) && Some(length) > self.short
    }

    /// The fewest conditions of the best rule that a node may lead to, or of a short one that is wanted too, as long as
    /// short ones come first.
    fn length_of(&self, node: &Node) -> usize {
        let threshold = self.goal.threshold.load(Relaxed);
        match self.short.filter(|_| self.is_short()) {
            Some(short) if node.best_short(self.short) >= Some(threshold) => node.length.min(short),
            _ => node.length,
        }
    }

    /// Is the time of long rules yet to come?
    pub fn is_short(&self) -> bool {
        self.goal.is_short.load(Relaxed)
    }

    /// What becomes of a node, by what has been found out about its families since.
    pub fn verdict_of(&self, node: Node) -> (Verdict, Node) {
        if self.is_too_small(&node, self.front().as_deref()) {
            return (Verdict::Never, node);
        }
        let before = self.verdict(node.bound, self.length_of(&node));
        let n_conditions = node.lowest_cap().1;
        let capped = node.capped(self.short);
        let node = node.lowered(capped);
        let verdict = match self.is_known_tie(&node) {
            true => Verdict::Later,
            false => self.verdict(node.bound, self.length_of(&node)),
        };
        if verdict != Verdict::Enter && before == Verdict::Enter {
            self.patience.saved(n_conditions);
        }
        (verdict, node)
    }

    /// Do all rules of a branch cover too few rows to stand beside the leaders, or beside what is known of the front?
    fn is_too_small(&self, node: &Node, front: Option<&Front>) -> bool {
        let least = front.map_or(0, |front| front.min_rows(node.bound));
        node.most < least.max(self.least_rows.load(Relaxed))
    }

    /// What is known of the front, if that is the list.
    pub fn front(&self) -> Option<Arc<Front>> {
        let is_list = self.options.wanted == Wanted::Wider;
        is_list.then(|| lock(&self.ideas).front.clone())
    }

    /// Does a branch lead to nothing better than a tie, and are those known that could win it?
    fn is_known_tie(&self, node: &Node) -> bool {
        let ties_count = self.goal.tie_length().is_some();
        let is_tie = ties_count && node.bound == self.goal.threshold.load(Relaxed);
        is_tie && node.ties_are_known(self.n_leaders.load(Relaxed), self.short)
    }

    /// Notes the bound of a branch that only alpha left out.
    fn leaves_out(&self, bound: Option<Score>) {
        if bound.is_some() {
            let mut left_out = lock(&self.left_out);
            *left_out = left_out.max(bound);
        }
    }

    /// Takes in a rule that is good enough, unless another worker was faster.
    pub fn takes_in(&self, value: Score, counts: &[u64], conditions: &[u32]) {
        let (rows, usable) = (&*self.book.rows, &self.book.usable);
        let mut top = lock(&self.top);
        let threshold = self.goal.threshold.load(Relaxed);
        if value < threshold || top.contains(value, counts, conditions, rows) {
            return;
        }
        top.insert(value, counts, conditions, rows, usable);
        if let Some(kth) = top.threshold() {
            self.goal.threshold.fetch_max(kth, Relaxed);
            self.goal.has_incumbent.store(true, Relaxed);
            if self.goal.ties.load(Relaxed) {
                self.limits_ties(&mut top, kth);
            }
        }
    }

    fn limits_ties(&self, top: &mut Top, kth: Score) {
        let longest = top.longest_description(kth, &*self.book.rows, &self.book.usable);
        self.goal.tie_length.store(longest, Relaxed);
    }

    /// The next branch to go into, if there is one now.
    pub fn next_open(&self, queue: &mut Queue) -> Option<Node> {
        let front = self.front();
        while let Some(node) = queue.open.peek() {
            if self.is_too_small(node, front.as_deref()) {
                queue.open.pop();
                continue;
            }
            if node.capped(self.short) < node.bound {
                let capped = queue.open.pop().map(|node| self.verdict_of(node));
                let is_of_use = |(verdict, _): &(Verdict, Node)| *verdict != Verdict::Never;
                let capped = capped.filter(is_of_use).map(|(_, node)| node);
                queue.open.extend(capped);
                continue;
            }
            let is_wanted = node.bound >= self.goal.threshold.load(Relaxed);
            let is_too_long = is_wanted && self.is_too_long(self.length_of(node));
            if self.is_known_tie(node) || is_too_long {
                let node = queue.open.pop();
                if self.is_one_by_one() || is_too_long {
                    queue.later.extend(node);
                }
                continue;
            }
            match self.verdict(node.bound, self.length_of(node)) {
                Verdict::Enter => return queue.open.pop(),
                Verdict::Later => return None,
                // All others promise less, or are longer.
                Verdict::Never => queue.open.clear(),
            }
        }
        None
    }

    /// Is there something to enter now?
    pub fn has_entries(&self, queue: &Queue) -> bool {
        let best = queue.open.peek();
        let is_entered =
            |node: &Node| self.verdict(node.bound, self.length_of(node)) == Verdict::Enter;
        !queue.parked.is_empty() || best.is_some_and(is_entered)
    }

    /// With no branch left to go into now: is there one when ties count, or when the next rule is settled? Nobody is at
    /// work.
    pub fn goes_on(&self, queue: &mut Queue) -> bool {
        if self.goal.is_short.swap(false, Relaxed) {
            queue.open.extend(queue.later.drain(..));
            return true;
        }
        let threshold = self.goal.threshold.load(Relaxed);
        let is_better = |node: &&Node| !self.is_one_by_one() && node.bound > threshold;
        if let Some(node) = queue.open.peek().filter(is_better) {
            // Only alpha has kept it from being looked into. It waited until now, for it may have become a tie.
            self.leaves_out(Some(node.bound));
            queue.open.pop();
            return true;
        }
        let is_tie = |node: &Node| node.bound == threshold;
        if !self.goal.ties.load(Relaxed) && queue.open.peek().is_some_and(is_tie) {
            if !self.is_one_by_one() {
                self.limits_ties(&mut lock(&self.top), threshold);
            }
            self.goal.ties.store(true, Relaxed);
            return true;
        }
        !self.is_done(queue) && self.is_one_by_one() && self.settles(queue)
    }

    /// Throws away branches that are of no use any more, where they may be many.
    pub fn sweeps(&self, queue: &mut Queue) {
        if queue.open.len() > WORTH_SWEEPING.max(2 * queue.swept) {
            let shortest = |node: &Node| node.length.min(node.n_conditions() + 1);
            let front = self.front();
            let is_of_use = |node: &Node| {
                let verdict = self.verdict(node.capped(self.short), shortest(node));
                verdict != Verdict::Never && !self.is_too_small(node, front.as_deref())
            };
            queue.open.retain(is_of_use);
            queue.swept = queue.open.len();
        }
        if queue.later.len() > KEPT && self.goal.is_short.swap(false, Relaxed) {
            // So many long rules wait that they had better be looked at.
            queue.open.extend(queue.later.drain(..));
        }
        let n_open = queue.open.len() + queue.later.len();
        self.n_open.store(n_open, Relaxed);
    }

    /// May workers return branches to the queue?
    pub fn has_room(&self) -> bool {
        self.n_open.load(Relaxed) < BUDGET
    }

    /// May branches be put off one by one?
    pub fn has_room_to_keep(&self) -> bool {
        self.n_open.load(Relaxed) < KEPT
    }

    /// What is needed to go on later, between steps, if there is room for so many numbers; else how many there are. They
    /// are kept then, so that asking again does not take the same time again.
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
        let ideas = lock(&self.ideas);
        let entries = top.entries().iter();
        let state = State {
            left_out: *lock(&self.left_out),
            nodes: self.nodes.load(Relaxed),
            has_looked_ahead: lock(&self.ahead).is_none(),
            open: queue
                .nodes()
                .map(|node| node.clone().lowered(node.capped(self.short)))
                .collect(),
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
        for (value, counts, conditions) in &state.entries {
            self.takes_in(*value, counts, conditions);
        }
        let mut ideas = lock(&self.ideas);
        ideas.restore(state.found, state.seen);
        if self.is_one_by_one() {
            self.chooses(&mut ideas);
        }
        drop(ideas);
        *lock(&self.left_out) = state.left_out;
        self.nodes.store(state.nodes, Relaxed);
        if state.has_looked_ahead {
            self.ahead = Mutex::new(None);
        }
        lock(&self.queue).open = BinaryHeap::from(state.open);
        Ok(())
    }

    /// Settles rules of the list, as long as no open branch is in the way; is there more to look for? Nobody is at work.
    fn settles(&self, queue: &mut Queue) -> bool {
        let mut ideas = lock(&self.ideas);
        let value = ideas.settle();
        let open = queue.open.peek().map(|node| node.bound);
        if value.is_some() && open > value {
            // Only alpha has kept it from being looked into.
            self.leaves_out(open);
        }
        queue.open.extend(queue.later.drain(..));
        if ideas.found.len() >= self.options.k || value < Some(TIED) {
            queue.open.clear();
            ideas.end();
            return false;
        }
        self.chooses(&mut ideas);
        true
    }

    /// Takes the best of the rules seen that may follow the leaders as the one to beat.
    fn chooses(&self, ideas: &mut Ideas) {
        let least_rows = ideas.wanted.min_rows(&ideas.leaders);
        self.least_rows.store(least_rows, Relaxed);
        self.n_leaders.store(ideas.leaders.len(), Relaxed);
        let least = match ideas.leaders.iter().all(|leader| leader.is_left_out) {
            true => self.options.floor,
            false => self.options.least(),
        };
        let (rows, usable) = (&*self.book.rows, &self.book.usable);
        ideas.choose(least, rows, usable, &|rule, counts| {
            self.is_redundant(rule.value, counts, &rule.conditions)
        });
        self.expects(ideas);
        self.goal.threshold.store(least, Relaxed);
        self.goal.has_incumbent.store(false, Relaxed);
        self.goal.ties.store(false, Relaxed);
        self.goal.is_short.store(self.short.is_some(), Relaxed);
        self.raises(ideas);
    }

    /// Makes it known how far down the list may lead, so that branches which are wanted then are not looked for again.
    fn expects(&self, ideas: &Ideas) {
        let last = match self.options.wanted {
            Wanted::Different(_) => ideas.last_value(self.options.k, &*self.book.rows),
            Wanted::Wider => Some(self.options.least()),
            _ => None,
        };
        self.last_value.store(last.unwrap_or(Score::MAX), Relaxed);
        self.expected.store(ideas.len(), Relaxed);
    }

    /// The same again when twice as much has been seen.
    pub fn expects_more(&self, ideas: &Ideas) {
        if ideas.len() > 2 * self.expected.load(Relaxed).max(WORTH_EXPECTING) {
            self.expects(ideas);
        }
    }

    /// Makes it known what there is to beat.
    pub fn raises(&self, ideas: &Ideas) {
        self.n_waiting.store(ideas.len(), Relaxed);
        if let Some(best) = &ideas.best {
            let length = best.description.len();
            self.goal.tie_length.store(length, Relaxed);
            self.goal.threshold.store(best.rule.value, Relaxed);
            self.goal.has_incumbent.store(true, Relaxed);
        }
    }

    pub fn is_redundant(&self, value: Score, counts: &[u64], conditions: &[u32]) -> bool {
        let lenient = self.lenient.as_ref();
        lenient.is_some_and(|book| is_redundant(book, value, counts, conditions))
    }

    /// Must the lists be compared with generalisations?
    pub fn is_irredundant(&self) -> bool {
        self.lenient.is_some()
    }

    pub fn status(&self) -> Status {
        let queue = lock(&self.queue);
        let top = lock(&self.top);
        let threshold = self.goal.threshold.load(Relaxed);
        let open = queue.highest(self.short);
        let open = open.filter(|&bound| bound >= threshold);
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
            unexplored: open.max(*lock(&self.left_out)),
            nodes: self.nodes.load(Relaxed),
            open: queue.len(),
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
                self.expects(&lock(&self.ideas));
            }
        }
        true
    }

    pub fn is_one_by_one(&self) -> bool {
        self.options.wanted.is_one_by_one()
    }

    fn is_done(&self, queue: &Queue) -> bool {
        queue.is_empty() && !(self.is_one_by_one() && lock(&self.ideas).best.is_some())
    }
}
