//! A worker goes down from a branch depth-first for a while, and returns what is left of it to the queue.

use crate::rows::Extension;
use crate::search::branch::Node;
use crate::search::expand::Expander;
use crate::search::leaf::finish;
use crate::search::{lock, Search};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many rules a worker expands depth-first before it looks again for the best branch of all.
const DIVE: usize = 200;

/// A node on its way down, with the place of its parent.
pub struct Entry {
    pub node: Node,
    parent: Arc<dyn Extension>,
}

pub struct Worker<'a> {
    search: &'a Search,
    expander: Expander,
    stack: Vec<Entry>,
    /// Branches that may have to be entered when no better one is left.
    put_off: Vec<Node>,
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
        }
    }

    /// Takes branches from the queue until the time is up or there is nothing left to do.
    pub fn work(&mut self, deadline: Instant, threads: usize) {
        loop {
            let mut queue = lock(&self.search.queue);
            if Instant::now() >= deadline {
                return;
            }
            let parked = queue.parked.pop().unwrap_or_default();
            let node = match parked.is_empty() {
                true => self.search.next_node(&mut queue),
                false => None,
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
            let mut busy = Busy(self.search, nodes.cloned().collect());
            self.stack = parked;
            self.stack.extend(node.map(|node| Entry {
                parent: self.search.book.rows.extension(&node.family.conditions),
                node,
            }));
            self.dive(deadline, threads);
            busy.1.clear();
            let mut queue = lock(&self.search.queue);
            queue.open.extend(self.put_off.drain(..));
            if !self.stack.is_empty() {
                queue.parked.push(std::mem::take(&mut self.stack));
            }
            self.search.sweep(&mut queue);
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
            self.expand(entry);
            if Instant::now() >= deadline {
                return;
            }
            let others_wait =
                threads > 1 && step % 4 == 0 && !self.search.has_entries(&lock(&self.search.queue));
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

    fn expand(&mut self, entry: Entry) {
        let Entry { node, parent } = entry;
        let Some(node) = self.entered(node) else {
            return;
        };
        if self.is_finished_by_children(&node) {
            self.finish(node, &*parent);
            return;
        }
        self.search.nodes.fetch_add(1, Relaxed);
        let candidates = self.search.book.useful_candidates(&node);
        let place = match node.last() {
            Some(last) => parent.descend(last, &candidates),
            None => parent,
        };
        let children = (self.expander).expand(self.search, &node, &candidates, &*place);
        // The children come strongest first; the strongest is to be on top of the stack.
        for node in children.into_iter().rev() {
            let parent = place.clone();
            let entry = self.entered(node).map(|node| Entry { node, parent });
            self.stack.extend(entry);
        }
    }

    /// The node, if it is to be entered now; else it is put off or dropped.
    fn entered(&mut self, node: Node) -> Option<Node> {
        let (bound, length) = (node.bound, node.min_length());
        if self.search.is_entered(bound, length) {
            return Some(node);
        }
        if self.search.is_kept(bound, length) {
            self.put_off.push(node);
        }
        None
    }

    /// Finishes a node whose children may take no further condition, together with its siblings on the stack.
    fn finish(&mut self, node: Node, parent: &dyn Extension) {
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
        let n_nodes = together.len() as u64;
        self.search.nodes.fetch_add(n_nodes, Relaxed);
        finish(self.search, &together, parent);
    }
}
