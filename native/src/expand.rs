//! One step of the branch and bound: from a rule and the conditions it may still take, to its children.
//!
//! A child stands for a branch: the rules that have its condition and any of those that come after it in the family's
//! order. Why nothing is lost:
//!
//! - *Bound.* Every rule of a branch covers the rows that satisfy all conditions it may still take (the core), and only
//!   rows of its own. Its counts lie in that box, and the estimator's bound is no less than any value in it.
//! - *Dropping.* A child that is not worth entering with all other candidates is not worth entering with some of them,
//!   nor is any rule that has its condition: it is no candidate of its siblings either.
//! - *Order.* Every set of candidates is one branch's, that of the member which comes first, whatever the order is.
//! - *Minimal rules.* If leaving out one condition of a rule leaves the same rows, it does so in every longer rule. So
//!   every part of a minimal rule is minimal, and branches of others need not be entered: their rows are found by fewer
//!   conditions.
//! - *Limited length.* With d conditions still allowed, no more rows of a cell are lost than by the d candidates that lose
//!   most of them.

use crate::bitset::total;
use crate::branch::Branch;
use crate::estimator::{Limits, Score};
use crate::judge::{Judge, Verdict};
use crate::node::{Again, Family, Node};
use crate::rows::Place;
use crate::rulebook::{Rulebook, TIED};
use std::sync::Arc;

/// The counts of a rule, then those of the rule with each of some conditions.
#[derive(Default)]
struct Counts {
    width: usize,
    numbers: Vec<u64>,
}

impl Counts {
    fn own(&self) -> &[u64] {
        &self.numbers[..self.width]
    }

    fn of(&self, slot: usize) -> &[u64] {
        &self.numbers[(slot + 1) * self.width..(slot + 2) * self.width]
    }
}

struct Child {
    proposition: u32,
    bound: Score,
    /// Where its counts are among those of all candidates.
    slot: usize,
}

/// What was put off when a rule was expanded: the best among its children, and among what they lead to.
#[derive(Default)]
pub struct Rest {
    pub children: Option<Score>,
    pub further: Option<Score>,
}

impl Rest {
    /// Is a child of this value offered now? Those below `from` are put off, and others may have been offered before.
    pub fn is_offered(&mut self, node: &Node, value: Score, from: Score) -> bool {
        if value < from {
            self.children = self.children.max(Some(value));
        }
        value >= from && value < node.offered()
    }

    /// The node for it, if any of it may be wanted later.
    pub fn node(&self, node: &Node, again: Again, judge: &dyn Judge) -> Option<Node> {
        let bound = self.children.max(self.further)?;
        let longer = usize::from(self.children < Some(bound));
        let length = node.n_conditions() + 1 + longer;
        (judge.verdict(bound, length) != Verdict::Never).then(|| node.put_off(bound, length, again))
    }
}

/// What came of expanding a rule.
#[derive(Default)]
pub struct Expansion {
    /// The children to be expanded in turn, strongest first.
    pub nodes: Vec<Node>,
    /// What may be wanted later.
    pub later: Vec<Node>,
}

/// Buffers that live as long as a worker does.
#[derive(Default)]
pub struct Expander {
    counts: Counts,
    cores: Vec<u64>,
    low: Vec<u64>,
    losses: Losses,
}

/// For each count, the largest losses that single conditions can cause.
#[derive(Default)]
struct Losses {
    /// How many conditions may come together.
    most: usize,
    /// That many for each count, largest first.
    largest: Vec<u64>,
    sums: Vec<u64>,
}

impl Losses {
    fn clear(&mut self, most: usize, width: usize) {
        self.most = most;
        self.largest.clear();
        self.largest.resize(most * width, 0);
        self.sums.clear();
        self.sums.resize(width, 0);
    }

    /// Takes up a condition that leaves `counts` of `own`.
    fn add(&mut self, own: &[u64], counts: &[u64]) {
        let most = self.most;
        let losses = own.iter().zip(counts).map(|(own, left)| own - left);
        let each = self.largest.chunks_mut(most).zip(&mut self.sums);
        for (loss, (largest, sum)) in losses.zip(each) {
            let least = largest[most - 1];
            if loss > least {
                *sum += loss - least;
                let place = largest.partition_point(|&x| x >= loss);
                largest.copy_within(place..most - 1, place + 1);
                largest[place] = loss;
            }
        }
    }

    /// What is left at the least when these losses come together.
    fn raise(&self, low: &mut [u64], counts: &[u64]) {
        for ((low, count), sum) in low.iter_mut().zip(counts).zip(&self.sums) {
            *low = (*low).max(count.saturating_sub(*sum));
        }
    }
}

impl Expander {
    /// Offers all children of the rule at `place` by the candidates, and says which of them lead further.
    pub fn expand(
        &mut self,
        book: &Rulebook,
        node: &Node,
        candidates: &[u32],
        place: &dyn Place,
        judge: &mut dyn Judge,
    ) -> Expansion {
        self.counts.width = book.layout().width();
        place.counts(candidates, &mut self.counts.numbers);
        let counts = &self.counts;
        let mut step = Step {
            book,
            node,
            place,
            best: book.best_so_far(node, counts.own()),
            is_few: book.are_few(&node.conditions(), candidates),
            conditions: node.conditions(),
            length: node.n_conditions(),
            from: judge.offers_from(),
            judge,
            counts,
            rest: Rest::default(),
            expansion: Expansion::default(),
        };
        let (mut children, mut opened) = step.offer(candidates);
        if children.is_empty() {
            return step.end(None);
        }
        let has_core = step.drop_by_core(&mut children, &opened);
        if children.is_empty() {
            return step.end(None);
        }
        step.order(&mut children, &opened, has_core);
        let n_new = children.len();
        // Those that were opened before have taken their places at the end.
        let place_of = |child: &Child| node.opened().iter().position(|&p| p == child.proposition);
        opened.sort_by_key(place_of);
        children.append(&mut opened);
        let order = children.iter().map(|child| child.proposition).collect();
        let mut family = Family::new(step.conditions.clone(), order, step.best);
        family.parent = (!node.is_root()).then(|| node.family.clone());
        let before = node.again.as_ref().and_then(|again| again.opened.as_ref());
        let family = match before.filter(|family| family.is_looked_at()) {
            Some(before) => before.replaced(family),
            None => Arc::new(family),
        };
        if !step.is_few {
            place.cores(&family.order, &mut self.cores);
        }
        let found = step.branch(
            &family,
            &children,
            n_new,
            &self.cores,
            &mut self.low,
            &mut self.losses,
        );
        step.keep_minimal(&family, found);
        step.end(Some(family))
    }
}

/// One rule that is being expanded.
struct Step<'a> {
    book: &'a Rulebook,
    node: &'a Node,
    place: &'a dyn Place,
    judge: &'a mut dyn Judge,
    counts: &'a Counts,
    conditions: Vec<u32>,
    length: usize,
    /// The best value among the rule and its ancestors, where that matters.
    best: Option<Score>,
    /// Children below this value are not offered now.
    from: Score,
    /// Are there so few rules that bounds do not pay?
    is_few: bool,
    rest: Rest,
    expansion: Expansion,
}

impl Step<'_> {
    /// The fewest conditions of a rule below a child.
    fn below(&self) -> usize {
        self.length + 2
    }

    /// What a branch must promise to be one of its own.
    fn goal(&self) -> Score {
        let better = self.best.filter(|_| self.book.irredundant);
        let better = better.map_or(Score::MIN, |best| best.saturating_add(1));
        self.judge.keeps_from().max(better)
    }

    /// Is no rule of these counts or fewer wanted that is worth this or less?
    fn is_of_no_use(&self, bound: Score, counts: &[u64]) -> bool {
        let layout = self.book.layout();
        self.book.is_useless(bound, self.best) || self.judge.is_too_small(layout, bound, counts)
    }

    /// The children that are branches of their own, by bounds that are new: they are entered now or later. Of others that
    /// may be wanted later it is noted that there are some.
    fn sift(&mut self, children: Vec<Child>, bounds: Vec<Option<Score>>) -> Vec<Child> {
        let mut kept = Vec::with_capacity(children.len());
        let keeps_from = match self.judge.is_too_long(self.below()) {
            true => Score::MAX,
            false => self.judge.keeps_from(),
        };
        for (mut child, bound) in children.into_iter().zip(bounds) {
            let Some(bound) = bound.map(|bound| bound.min(child.bound)) else {
                continue;
            };
            if self.is_of_no_use(bound, self.counts.of(child.slot)) {
                continue;
            }
            child.bound = bound;
            match self.judge.verdict(bound, self.below()) {
                Verdict::Enter => kept.push(child),
                Verdict::Later if bound >= keeps_from => kept.push(child),
                Verdict::Later => self.rest.further = self.rest.further.max(Some(bound)),
                Verdict::Never => {}
            }
        }
        kept
    }

    /// Offers the children, and returns those that may lead further, by their own rows alone; and those of them that are
    /// nodes of their own by now.
    fn offer(&mut self, candidates: &[u32]) -> (Vec<Child>, Vec<Child>) {
        let (book, counts) = (self.book, self.counts);
        let layout = book.layout();
        let size = total(counts.own());
        // Children that may take no further condition need no bound.
        let is_last = book.room_after(self.length + 1) == Some(0);
        let offers_first = is_last || book.offers_before_bounding();
        // Children drop out of the family here, those that are nodes of their own too: not by what this node is worth.
        let min_rows = book.min_rows.max(self.judge.min_rows(Score::MAX));
        let (mut children, mut opened) = (Vec::new(), Vec::new());
        for (slot, &proposition) in candidates.iter().enumerate() {
            let counts = counts.of(slot);
            let left = total(counts);
            let excludes = left < size || !book.is_no_use_alone(&self.conditions, proposition);
            if !excludes || layout.n_covered(counts) < min_rows {
                continue;
            }
            if offers_first {
                self.offer_child(proposition, counts, left);
            }
            if is_last {
                continue;
            }
            let child = Child {
                proposition,
                bound: self.node.bound,
                slot,
            };
            if self.node.opened().contains(&proposition) {
                opened.push(child);
                continue;
            }
            if self.is_few && !offers_first {
                self.offer_child(proposition, counts, left);
            }
            children.push(child);
        }
        if self.is_few {
            return (children, opened);
        }
        let bounds = self.bounds(&children, &vec![0; counts.width]);
        if !offers_first {
            let goal = self.goal();
            for (child, bound) in children.iter().zip(&bounds) {
                if (*bound).min(Some(child.bound)) >= Some(goal) {
                    let counts = counts.of(child.slot);
                    self.offer_child(child.proposition, counts, total(counts));
                }
            }
        }
        (self.sift(children, bounds), opened)
    }

    /// The bounds of the children if all rules below them cover the rows of a core.
    fn bounds(&self, children: &[Child], core: &[u64]) -> Vec<Option<Score>> {
        let limits = children.iter().map(|child| Limits {
            low: core,
            high: self.counts.of(child.slot),
        });
        let limits: Vec<Limits> = limits.collect();
        self.book.bounds(&limits, self.below(), self.goal())
    }

    fn offer_child(&mut self, proposition: u32, counts: &[u64], size: u64) {
        if !self.book.is_on_offer(&self.conditions, proposition) {
            return;
        }
        let value = self.book.value(counts, self.length + 1);
        let is_rule = self
            .book
            .is_rule_of(self.book.layout(), counts, value, size);
        if !is_rule || self.is_of_no_use(value, counts) {
            return;
        }
        if self.rest.is_offered(self.node, value, self.from) {
            self.conditions.push(proposition);
            self.judge.offer(value, counts, &self.conditions);
            self.conditions.pop();
        }
    }

    /// Every rule below every child covers the rows that satisfy all candidates. Children that cannot reach far enough for
    /// that drop out of all branches, which may leave more such rows, and so on. Are there such rows?
    fn drop_by_core(&mut self, children: &mut Vec<Child>, opened: &[Child]) -> bool {
        if self.is_few {
            return false;
        }
        loop {
            let all = children.iter().chain(opened);
            let candidates: Vec<u32> = all.map(|child| child.proposition).collect();
            let n_children = children.len();
            let Some(core) = self.place.common_core(&candidates) else {
                return false;
            };
            let bounds = self.bounds(children, &core);
            *children = self.sift(std::mem::take(children), bounds);
            if children.len() == n_children {
                return true;
            }
        }
    }

    /// The weakest child comes first: it may take all others, and dies soon.
    ///
    /// Where all candidates share rows, what counts is how little can be reached *without* a child: the rules without it
    /// cover the rows that all others share. Where these are too many, every rule of interest has the child's condition.
    /// It then comes first, and all branches after it, which lack it, are dropped by their cores.
    fn order(&mut self, children: &mut Vec<Child>, opened: &[Child], has_core: bool) {
        if !has_core || children.len() < 2 {
            children.sort_by_key(|child| (child.bound, child.proposition));
            return;
        }
        let all = children.iter().chain(opened);
        let candidates: Vec<u32> = all.map(|child| child.proposition).collect();
        let mut cores = Vec::new();
        self.place.cores_without(&candidates, &mut cores);
        let high = self.counts.own();
        let cores = cores.chunks(self.counts.width).take(children.len());
        let limits: Vec<Limits> = cores.map(|low| Limits { low, high }).collect();
        let without = self.book.bounds(&limits, self.below(), self.goal());
        let mut keyed: Vec<(Option<Score>, Child)> =
            without.into_iter().zip(children.drain(..)).collect();
        keyed.sort_by_key(|(without, child)| (*without, child.bound, child.proposition));
        children.extend(keyed.into_iter().map(|(_, child)| child));
    }

    /// The branches of the new children, from the strongest, which may take no further condition, to the weakest, which
    /// may take all others.
    fn branch(
        &mut self,
        family: &Arc<Family>,
        children: &[Child],
        n_new: usize,
        cores: &[u64],
        low: &mut Vec<u64>,
        losses: &mut Losses,
    ) -> Vec<(Verdict, Node)> {
        let (book, counts, width) = (self.book, self.counts, self.counts.width);
        let below = self.below();
        let room = book.room_after(self.length + 1);
        let limit = room.filter(|&room| room < children.len());
        losses.clear(limit.unwrap_or(0), width);
        let leads_on = |index: &usize| {
            book.can_end(
                &family.conditions,
                children[*index].proposition,
                &family.order[index + 1..],
            )
        };
        let n_branches = n_new.min(children.len() - 1);
        let branches: Vec<usize> = (0..n_branches).filter(leads_on).collect();
        let node = |bound, index: usize, least, most| Node {
            bound,
            family: family.clone(),
            child: Some(index as u32),
            least,
            most,
            length: below,
            again: None,
        };
        let n_covered = |counts: &[u64]| book.layout().n_covered(counts);
        let mut found = Vec::new();
        if self.is_few {
            for &index in branches.iter().rev() {
                let child = &children[index];
                let most = n_covered(counts.of(child.slot));
                let verdict = self.judge.verdict(child.bound, below);
                found.push((verdict, node(child.bound, index, 0, most)));
            }
            return found;
        }
        low.clear();
        low.extend_from_slice(cores);
        for (child, low) in children.iter().zip(low.chunks_mut(width)).rev() {
            if limit.is_some() {
                losses.raise(low, counts.of(child.slot));
                losses.add(counts.own(), counts.of(child.slot));
            }
        }
        let limits = branches.iter().map(|&index| Limits {
            low: &low[index * width..(index + 1) * width],
            high: counts.of(children[index].slot),
        });
        let limits: Vec<Limits> = limits.collect();
        let bounds = book.bounds(&limits, below, self.goal());
        for ((bound, limits), &index) in bounds.into_iter().zip(limits).zip(&branches).rev() {
            let child = &children[index];
            let bound = bound.map(|bound| bound.min(child.bound));
            let core = &cores[index * width..(index + 1) * width];
            let (verdict, bound) = self.verdict(bound, core, child, family, index);
            if matches!(verdict, Verdict::Enter | Verdict::Later) {
                let (least, most) = (n_covered(limits.low), n_covered(limits.high));
                found.push((verdict, node(bound, index, least, most)));
            }
        }
        found
    }

    /// What becomes of a branch, and its bound. If all that it can reach is known already, what else is there is worth
    /// less.
    fn verdict(
        &mut self,
        bound: Option<Score>,
        core: &[u64],
        child: &Child,
        family: &Family,
        index: usize,
    ) -> (Verdict, Score) {
        let high = self.counts.of(child.slot);
        let Some(bound) = bound.filter(|&bound| !self.is_of_no_use(bound, high)) else {
            return (Verdict::Never, Score::MIN);
        };
        let is_known = || {
            self.judge.is_known(&Branch {
                book: self.book,
                bound,
                core,
                high,
                conditions: &family.conditions,
                last: child.proposition,
                candidates: &family.order[index + 1..],
            })
        };
        match self.judge.verdict(bound, self.below()) {
            Verdict::Enter if is_known() => {
                let less = bound - TIED;
                (self.judge.verdict(less, self.below()), less)
            }
            verdict => (verdict, bound),
        }
    }

    /// Keeps the branches of minimal rules.
    fn keep_minimal(&mut self, family: &Family, found: Vec<(Verdict, Node)>) {
        let children: Vec<u32> = found.iter().filter_map(|(_, node)| node.last()).collect();
        // Where only some sets of columns are offered, the same rows on fewer columns need not be.
        let is_minimal = match self.book.offered {
            Some(_) => vec![true; children.len()],
            None => self.book.rows.are_minimal(&family.conditions, &children),
        };
        for ((verdict, node), _) in found.into_iter().zip(is_minimal).filter(|(_, is)| *is) {
            match verdict {
                Verdict::Later => self.expansion.later.push(node),
                _ => self.expansion.nodes.push(node),
            }
        }
    }

    /// What came of it; `opened` are the children that are nodes of their own by now.
    fn end(mut self, opened: Option<Arc<Family>>) -> Expansion {
        let before = self.node.again.as_ref();
        let again = Again {
            opened: opened.or_else(|| before.and_then(|again| again.opened.clone())),
            offered: self.from.min(self.node.offered()),
            children: self.rest.children,
        };
        let later = self.rest.node(self.node, again, self.judge);
        self.expansion.later.extend(later);
        self.expansion
    }
}
