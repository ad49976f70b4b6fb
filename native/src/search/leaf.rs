//! The last level: rules that may take one condition more and no further. They are by far the most, are counted and valued
//! eight at a time, and need no bounds.

use crate::bits::bitset::total;
use crate::bits::lanes::{Lanes, LANES};
use crate::rows::Extension;
use crate::score::Score;
use crate::search::branch::Node;
use crate::search::Search;

/// Offers all children of rules that may take one condition more and no further; `parent` is the place of the rule that
/// all of them come from, and asked for together they cost less.
pub fn finish(search: &Search, nodes: &[Node], parent: &dyn Extension) {
    let Some(first) = nodes.first() else {
        return;
    };
    let book = &search.book;
    let places: Vec<usize> = nodes.iter().filter_map(Node::place).collect();
    let mut next = nodes.iter();
    let in_lanes = parent.counts_in_lanes(
        &first.family.order,
        &places,
        &mut |place, own, counts, lanes| {
            if let Some(node) = next.find(|node| node.place() == Some(place)) {
                Last::new(search, node, own).offer_lanes(own, counts, lanes);
            }
        },
    );
    if in_lanes {
        return;
    }
    let children: Vec<u32> = nodes.iter().filter_map(Node::last).collect();
    let candidates = nodes.iter().map(|node| book.useful_candidates(node));
    let candidates: Vec<Vec<u32>> = candidates.collect();
    parent.counts_of_children(&children, &candidates, &mut |index, counts| {
        let (own, counts) = counts.split_at(book.layout().width());
        let mut last = Last::new(search, &nodes[index], own);
        for (&proposition, counts) in candidates[index].iter().zip(counts.chunks(own.len())) {
            let value = book.value(counts, last.length);
            if value >= last.least {
                last.offer(proposition, value, counts);
            }
        }
    });
}

/// A rule whose children may take no further condition.
struct Last<'a> {
    search: &'a Search,
    node: &'a Node,
    conditions: Vec<u32>,
    /// How many conditions its children have.
    length: usize,
    /// The sum of its counts.
    size: u64,
    /// Rules below this value are of no interest.
    least: Score,
}

impl<'a> Last<'a> {
    fn new(search: &'a Search, node: &'a Node, own: &[u64]) -> Last<'a> {
        Last {
            search,
            node,
            conditions: node.conditions(),
            length: node.min_length(),
            size: total(own),
            least: search.goal_value(),
        }
    }

    fn offer(&mut self, proposition: u32, value: Score, counts: &[u64]) {
        let (book, left) = (&self.search.book, total(counts));
        let excludes = left < self.size || !book.is_no_use_alone(&self.conditions, proposition);
        if excludes && book.is_rule_of(book.layout(), counts, value, left) {
            self.conditions.push(proposition);
            self.search.offer(value, counts, &self.conditions);
            self.conditions.pop();
        }
    }

    /// Most children are worth too little, which is all that is asked of them.
    fn offer_lanes(&mut self, own: &[u64], blocks: &[Lanes], lanes: &[[Option<u32>; 2]]) {
        let book = &self.search.book;
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
                let reach = book.may_reach(block, self.length, self.least);
                let mut lanes_here = lanes.iter().zip(reach);
                if !lanes_here.any(|(lane, may_reach)| may_reach && is_here(lane)) {
                    continue;
                }
                let may_follow = book.may_follow(self.node);
                let values = book.values(block, self.length);
                for (lane, (places, value)) in lanes.iter().zip(values).enumerate() {
                    let place = places[side].map(|place| place as usize);
                    let Some(place) = place.filter(|_| value >= self.least) else {
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
}
