//! Leaves: rules whose children have no candidates. These children are by far the most rules; they are counted and valued
//! eight at a time, without bounds. Guarantee: every child that reaches the goal is offered.

use super::branch::Branch;
use super::source::Source;
use super::Search;
use crate::bits::bitset::total;
use crate::bits::lanes::{Lanes, LANES};
use crate::rows::Extension;
use crate::score::Score;

/// Offers all children of leaves; `parent` has the rows of their common parent, since counting them together costs less.
pub fn finish(search: &Search, source: &Source, leaves: &[Branch], parent: &dyn Extension) {
    let Some(first) = leaves.first() else {
        return;
    };
    let indices: Vec<usize> = leaves.iter().filter_map(Branch::index).collect();
    let mut next = leaves.iter();
    let in_lanes = parent.counts_in_lanes(&first.family.order, &indices, &mut |index, own, counts, lanes| {
        if let Some(leaf) = next.find(|leaf| leaf.index() == Some(index)) {
            Leaf::new(search, source, leaf, own).offer_lanes(own, counts, lanes);
        }
    });
    if in_lanes {
        return;
    }
    let children: Vec<u32> = leaves.iter().filter_map(Branch::last).collect();
    let candidates = leaves.iter().map(|leaf| source.useful_candidates(leaf));
    let candidates: Vec<Vec<u32>> = candidates.collect();
    parent.counts_of_children(&children, &candidates, &mut |index, counts| {
        let (own, counts) = counts.split_at(source.layout().width());
        let mut leaf = Leaf::new(search, source, &leaves[index], own);
        for (&proposition, counts) in candidates[index].iter().zip(counts.chunks(own.len())) {
            let value = source.value(counts, leaf.length);
            if value >= leaf.least {
                leaf.offer(proposition, value, counts);
            }
        }
    });
}

/// A rule whose children have no candidates.
struct Leaf<'a> {
    search: &'a Search,
    source: &'a Source,
    branch: &'a Branch,
    conditions: Vec<u32>,
    /// The length of its children.
    length: usize,
    /// The sum of its counts.
    size: u64,
    /// Rules below this value are ignored.
    least: Score,
}

impl<'a> Leaf<'a> {
    fn new(search: &'a Search, source: &'a Source, branch: &'a Branch, own: &[u64]) -> Leaf<'a> {
        Leaf {
            search,
            source,
            branch,
            conditions: branch.conditions(),
            length: branch.min_length(),
            size: total(own),
            least: search.goal.value(),
        }
    }

    fn offer(&mut self, proposition: u32, value: Score, counts: &[u64]) {
        let (source, left) = (self.source, total(counts));
        let excludes = left < self.size || !source.is_useless_alone(&self.conditions, proposition);
        if excludes && source.is_rule_of(source.layout(), counts, value, left) {
            self.conditions.push(proposition);
            self.search.offer(source, value, counts, &self.conditions);
            self.conditions.pop();
        }
    }

    /// Most children are below the goal, which the quick test finds out.
    fn offer_lanes(&mut self, own: &[u64], blocks: &[Lanes], lanes: &[[Option<u32>; 2]]) {
        let source = self.source;
        let order = &self.branch.family.order;
        let after = self.branch.index();
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
                let reach = source.may_reach(block, self.length, self.least);
                let mut lanes_here = lanes.iter().zip(reach);
                if !lanes_here.any(|(lane, may_reach)| may_reach && is_here(lane)) {
                    continue;
                }
                let may_follow = source.may_follow(self.branch);
                let values = source.values(block, self.length);
                for (lane, (indices, value)) in lanes.iter().zip(values).enumerate() {
                    let index = indices[side].map(|index| index as usize);
                    let Some(index) = index.filter(|_| value >= self.least) else {
                        continue;
                    };
                    if Some(index) > after && may_follow(order[index]) {
                        counts.clear();
                        counts.extend(block.iter().map(|lanes| lanes[lane]));
                        self.offer(order[index], value, &counts);
                    }
                }
            }
        }
    }
}
