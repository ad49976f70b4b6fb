//! A worker goes down from a branch depth-first for a while, and returns what is left of it to the queue.

use crate::expand::Expander;
use crate::judge::Verdict;
use crate::keeper::Keeper;
use crate::last::finish;
use crate::looking::SLICE;
use crate::node::Node;
use crate::rows::Place;
use crate::search::{lock, Search};
use crate::wanted::{Leader, Reach, Wanted};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many rules a worker expands depth-first before it looks again for the best branch of all.
const DIVE: usize = 200;

/// A node on its way down, with the place of its parent.
pub struct Entry {
    pub node: Node,
    parent: Arc<dyn Place>,
}

pub struct Worker<'a> {
    search: &'a Search,
    expander: Expander,
    stack: Vec<Entry>,
    /// Branches that may be wanted later.
    put_off: Vec<Node>,
    leaders: Arc<Vec<Leader>>,
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

impl<'a> Worker<'a> {
    pub fn new(search: &'a Search) -> Worker<'a> {
        Worker {
            search,
            expander: Expander::default(),
            stack: Vec::new(),
            put_off: Vec::new(),
            leaders: Arc::default(),
        }
    }

    /// Takes branches from the queue until the time is up or there is nothing left to do.
    pub fn work(&mut self, deadline: Instant, threads: usize) {
        // Do others decide what is left of a look?
        let mut waits = false;
        loop {
            let mut queue = lock(&self.search.queue);
            if Instant::now() >= deadline {
                return;
            }
            let is_of_use = queue.busy > 0 || self.search.has_entries(&queue);
            if is_of_use && !std::mem::take(&mut waits) {
                let leaders = lock(&self.search.ideas).leaders.clone();
                if let Some(looking) = self.search.next_look(leaders.len()) {
                    queue.busy += 1;
                    drop(queue);
                    let _busy = Busy(self.search, Vec::new());
                    let deadline = deadline.min(Instant::now() + SLICE);
                    waits = !self.search.looks_on(&looking, &leaders, deadline);
                    continue;
                }
            }
            let parked = queue.parked.pop().unwrap_or_default();
            let node = match parked.is_empty() {
                true => self.search.next_open(&mut queue),
                false => None,
            };
            if parked.is_empty() && node.is_none() {
                if queue.busy == 0 {
                    if self.search.goes_on(&mut queue) {
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
            self.leaders = lock(&self.search.ideas).leaders.clone();
            let nodes = parked.iter().map(|entry| &entry.node).chain(&node);
            let mut busy = Busy(self.search, nodes.cloned().collect());
            self.stack = parked;
            self.stack.extend(node.map(|node| Entry {
                parent: self.search.book.rows.place(&node.family.conditions),
                node,
            }));
            self.dive(deadline, threads);
            busy.1.clear();
            let mut queue = lock(&self.search.queue);
            queue.open.extend(self.put_off.drain(..));
            if !self.stack.is_empty() {
                queue.parked.push(std::mem::take(&mut self.stack));
            }
            self.search.sweeps(&mut queue);
        }
    }

    /// Expands what is on the stack and below it, depth-first, until the time is up or nothing is left to it.
    fn dive(&mut self, deadline: Instant, threads: usize) {
        let mut expanded = 0;
        for step in 1.. {
            let Some(entry) = self.stack.pop() else {
                return;
            };
            expanded += usize::from(!self.is_finished_by_children(&entry.node));
            self.expand(entry, deadline);
            if Instant::now() >= deadline {
                return;
            }
            let others_wait = threads > 1 && step % 4 == 0 && {
                let queue = lock(&self.search.queue);
                !self.search.has_entries(&queue)
            };
            if others_wait || expanded >= DIVE && self.search.has_room() {
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
        let room = self.search.book.room_after(node.n_conditions());
        room == Some(1) && !node.is_root()
    }

    fn expand(&mut self, entry: Entry, deadline: Instant) {
        let Entry { node, parent } = entry;
        let Some(node) = self.entered(node) else {
            return;
        };
        if self.is_finished_by_children(&node) {
            self.finish(node, &*parent);
            return;
        }
        let Some(node) = self.apart(vec![node]).pop() else {
            return;
        };
        let leaders = &self.leaders;
        self.search.looks_by_rows(&node.family, leaders, deadline);
        let Some(node) = self.entered(node) else {
            return;
        };
        let start = Instant::now();
        let mut judge = Keeper::new(self.search);
        let book = &self.search.book;
        self.search.nodes.fetch_add(1, Relaxed);
        let candidates = book.useful_candidates(&node);
        let place = match node.last() {
            Some(last) => parent.descend(last, &candidates),
            None => parent,
        };
        let expansion = (self.expander).expand(book, &node, &candidates, &*place, &mut judge);
        judge.flush(&self.leaders);
        self.put_off.extend(expansion.later);
        // The children come strongest first; the strongest is to be on top of the stack.
        let nodes = expansion.nodes.into_iter().rev();
        self.stack.extend(nodes.map(|node| Entry {
            node,
            parent: place.clone(),
        }));
        self.search.patience.expanded(start.elapsed());
    }

    /// The node, if it is worth entering now. What is put off is noted.
    fn entered(&mut self, node: Node) -> Option<Node> {
        let (verdict, node) = self.search.verdict_of(node);
        match verdict {
            Verdict::Enter => return Some(node),
            Verdict::Later => self.put_off.push(node),
            Verdict::Never => {}
        }
        None
    }

    /// The nodes that are worth entering now, for rules that may stand beside the leaders. What is put off is noted.
    fn apart(&mut self, nodes: Vec<Node>) -> Vec<Node> {
        let wanted = self.search.options.wanted;
        if matches!(wanted, Wanted::Any | Wanted::Wider) || self.leaders.is_empty() {
            return nodes;
        }
        let conditions: Vec<Vec<u32>> = nodes.iter().map(|node| node.conditions()).collect();
        let reaches = nodes.iter().zip(&conditions);
        let reaches: Vec<Reach> = reaches
            .map(|(node, conditions)| Reach {
                conditions,
                candidates: node.candidates(),
                least: node.least,
                most: node.most,
                length: node.n_conditions() + 1,
            })
            .collect();
        let (book, goal) = (&self.search.book, self.search.goal.threshold.load(Relaxed));
        let bounds = wanted.bounds(book, &self.leaders, &reaches, goal);
        let bounded = nodes.into_iter().zip(bounds);
        let bounded = bounded.filter_map(|(node, bound)| {
            let bound = bound?.min(node.bound);
            Some(node.lowered(bound))
        });
        let bounded: Vec<Node> = bounded.collect();
        let entered = bounded.into_iter().filter_map(|node| self.entered(node));
        entered.collect()
    }

    /// Finishes a node whose children may take no further condition, together with its siblings on the stack.
    fn finish(&mut self, node: Node, parent: &dyn Place) {
        let mut together = vec![node];
        while together.len() < parent.n_together() {
            let family = &together[0].family;
            match self
                .stack
                .pop_if(|entry| Arc::ptr_eq(&entry.node.family, family))
            {
                Some(entry) => together.extend(self.entered(entry.node)),
                None => break,
            }
        }
        let together = self.apart(together);
        let nodes: Vec<&Node> = together.iter().collect();
        self.search.nodes.fetch_add(nodes.len() as u64, Relaxed);
        let mut judge = Keeper::new(self.search);
        let put_off = finish(&self.search.book, &nodes, parent, &mut judge);
        judge.flush(&self.leaders);
        self.put_off.extend(put_off);
    }
}
