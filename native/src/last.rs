//! The last level: rules that may take one condition more and no further. They are by far the most, are counted and valued
//! eight at a time, and need no bounds.

use crate::bitset::total;
use crate::estimator::Score;
use crate::expand::Rest;
use crate::judge::{Judge, Verdict};
use crate::lanes::{Lanes, LANES};
use crate::node::{Again, Node};
use crate::rows::Place;
use crate::rulebook::Rulebook;

/// Offers all children of rules that may take one condition more and no further; `parent` is the place of the rule that
/// all of them come from, and asked for together they cost less. Returns what was put off.
pub fn finish(
    book: &Rulebook,
    nodes: &[&Node],
    parent: &dyn Place,
    judge: &mut dyn Judge,
) -> Vec<Node> {
    let Some(first) = nodes.first() else {
        return Vec::new();
    };
    let mut put_off = Vec::new();
    let places: Vec<usize> = nodes.iter().filter_map(|node| node.place()).collect();
    let mut next = nodes.iter();
    let in_lanes = parent.counts_in_lanes(
        &first.family.order,
        &places,
        &mut |place, own, counts, lanes| {
            let node = next.find(|node| node.place() == Some(place));
            let Some(node) = node else { return };
            let mut last = Last::new(book, node, own, judge);
            last.offer_lanes(own, counts, lanes);
            put_off.extend(last.rest());
        },
    );
    if in_lanes {
        return put_off;
    }
    let children: Vec<u32> = nodes.iter().filter_map(|node| node.last()).collect();
    let candidates = nodes.iter().map(|node| book.useful_candidates(node));
    let candidates: Vec<Vec<u32>> = candidates.collect();
    parent.counts_of_children(&children, &candidates, &mut |index, counts| {
        let (own, counts) = counts.split_at(book.layout().width());
        let mut last = Last::new(book, nodes[index], own, judge);
        for (&proposition, counts) in candidates[index].iter().zip(counts.chunks(own.len())) {
            let value = book.value(counts, last.length);
            last.offer(proposition, value, counts);
        }
        put_off.extend(last.rest());
    });
    put_off
}

/// A rule whose children may take no further condition.
struct Last<'a> {
    book: &'a Rulebook,
    node: &'a Node,
    judge: &'a mut dyn Judge,
    conditions: Vec<u32>,
    /// How many conditions its children have.
    length: usize,
    /// The sum of its counts.
    size: u64,
    best: Option<Score>,
    from: Score,
    /// Rules below this value are of no interest, now or later.
    least: Score,
    rest: Rest,
}

impl<'a> Last<'a> {
    fn new(book: &'a Rulebook, node: &'a Node, own: &[u64], judge: &'a mut dyn Judge) -> Last<'a> {
        let from = judge.offers_from();
        let length = node.n_conditions() + 1;
        // What is below may have to be noted as the rest.
        let least = match judge.verdict(from.saturating_sub(1), length) {
            Verdict::Never => from,
            _ => Score::MIN,
        };
        Last {
            book,
            node,
            conditions: node.conditions(),
            length,
            size: total(own),
            best: book.best_so_far(node, own),
            from,
            least,
            judge,
            rest: Rest::default(),
        }
    }

    fn offer(&mut self, proposition: u32, value: Score, counts: &[u64]) {
        let (book, left) = (self.book, total(counts));
        let layout = book.layout();
        let excludes = left < self.size || !book.is_no_use_alone(&self.conditions, proposition);
        if !excludes
            || !book.is_rule_of(layout, counts, value, left)
            || book.is_useless(value, self.best)
            || self.judge.is_too_small(layout, value, counts)
        {
            return;
        }
        if self.rest.is_offered(self.node, value, self.from) {
            self.conditions.push(proposition);
            self.judge.offer(value, counts, &self.conditions);
            self.conditions.pop();
        }
    }

    /// Most children are worth too little, which is all that is asked of them.
    fn offer_lanes(&mut self, own: &[u64], blocks: &[Lanes], lanes: &[[Option<u32>; 2]]) {
        let order = &self.node.family.order;
        let after = self.node.place();
        let (mut others, mut counts) = (Vec::new(), Vec::new());
        for (block, lanes) in blocks.chunks(own.len()).zip(lanes.chunks(LANES)) {
            for side in 0..2 {
                let is_here = |lane: &[Option<u32>; 2]| lane[side].map(|p| p as usize) > after;
                if !lanes.iter().any(is_here) {
                    continue;
                }
                let block = match side {
                    0 => block,
                    _ => {
                        let left = own.iter().zip(block);
                        others.clear();
                        others.extend(left.map(|(own, counted)| counted.map(|count| own - count)));
                        &others[..]
                    }
                };
                let reach = self.book.may_reach(block, self.length, self.least);
                let mut lanes_here = lanes.iter().zip(reach);
                if !lanes_here.any(|(lane, may_reach)| may_reach && is_here(lane)) {
                    continue;
                }
                let may_follow = self.book.may_follow(self.node);
                let values = self.book.values(block, self.length);
                for (lane, (places, value)) in lanes.iter().zip(values).enumerate() {
                    let place = places[side].map(|place| place as usize);
                    let Some(place) = place.filter(|_| Some(value) > self.rest.children) else {
                        continue;
                    };
                    if Some(place) > after && may_follow(order[place]) {
                        counts.clear();
                        counts.extend(block.iter().map(|lanes| lanes[lane]));
                        self.offer(order[place], value, &counts);
                    }
                }
            }
        }
    }

    /// What was put off.
    fn rest(self) -> Option<Node> {
        let again = Again {
            opened: None,
            offered: self.from.min(self.node.offered()),
            children: self.rest.children,
        };
        self.rest.node(self.node, again, self.judge)
    }
}
