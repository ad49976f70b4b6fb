//! One step of the branch and bound: from a rule and the conditions it may still take, to its children.

use crate::bitset::total;
use crate::estimator::{Estimator, Score};
use crate::layout::Layout;
use crate::offered::Offered;
use crate::rows::{Place, Rows};
use std::cmp::Ordering;
use std::sync::Arc;

/// What is the same for every step of one search.
#[derive(Clone)]
pub struct Rulebook {
    pub rows: Arc<dyn Rows>,
    pub estimator: Arc<dyn Estimator>,
    /// Propositions that are neither empty nor everything nor equal to an earlier one.
    pub usable: Vec<u32>,
    pub max_length: usize,
    pub min_rows: u64,
    /// Only rules that beat each of their generalisations are wanted.
    pub irredundant: bool,
    /// Are ties settled by the number of conditions as the search goes?
    pub by_length: bool,
    /// Only rules on these sets of columns are wanted.
    pub offered: Option<Arc<Offered>>,
}

/// Values are compared to 2⁻³⁶: sums that are equal on paper may differ in their last bits, and are ties all the same.
pub const TIED: Score = 1 << 16;

fn settle(score: Score) -> Score {
    (score + TIED / 2) & !(TIED - 1)
}

impl Rulebook {
    pub fn layout(&self) -> &Layout {
        self.rows.layout()
    }

    /// The value of a rule of so many conditions.
    pub fn value(&self, counts: &[u64], length: usize) -> Score {
        settle(self.estimator.value(counts, length))
    }

    /// At least the value of every rule of `length` or more conditions in the box, or, if that is below the goal,
    /// something below the goal.
    pub fn bound(&self, low: &[u64], high: &[u64], length: usize, goal: Score) -> Score {
        if self.layout().n_failing(low) == 0 {
            return Score::MIN; // no rule of the box fails anywhere
        }
        settle(self.estimator.bound(low, high, length, goal))
    }

    /// Is this a rule that may be shown? It covers enough rows, and fails on one at least.
    pub fn is_rule(&self, counts: &[u64]) -> bool {
        let layout = self.layout();
        layout.n_covered(counts) >= self.min_rows && layout.n_failing(counts) > 0
    }

    /// The same for the child of another rule, of which it has only some of the rows; `size` is the sum of its counts.
    #[inline]
    fn is_rule_of(&self, layout: &Layout, counts: &[u64], size: u64) -> bool {
        if layout.is_complement() {
            size >= self.min_rows
        } else {
            self.is_rule(counts)
        }
    }

    /// The conditions that could be of use after another one, as far as can be told without looking at rows.
    fn useful_candidates(&self, node: &Node, last: Option<&u32>) -> Vec<u32> {
        let mut useful = self.candidates_after(node, last);
        if let Some(offered) = &self.offered {
            let conditions = node.conditions();
            let columns = offered.columns(&conditions);
            let others = self.max_length.saturating_sub(conditions.len() + 1);
            useful.retain(|&candidate| offered.leads_on(columns, candidate, others));
        }
        useful
    }

    fn candidates_after(&self, node: &Node, last: Option<&u32>) -> Vec<u32> {
        let Some(&last) = last else {
            return node.candidates().to_vec();
        };
        let propositions = self.rows.propositions();
        let last = &propositions[last as usize];
        let may_follow = |candidate: u32| {
            let this = &propositions[candidate as usize];
            let is_no_use = this.excludes(last) || last.implies(this);
            !(is_no_use || self.visits_minimal() && this.implies(last))
        };
        let mut useful = Vec::with_capacity(node.candidates().len());
        let candidates = node.candidates().iter().copied();
        useful.extend(candidates.filter(|&candidate| may_follow(candidate)));
        useful
    }

    /// Is a condition of no use if it excludes no row of the rule? Not if it leads to another set of columns, which is
    /// offered where that of the rule may not be.
    fn is_no_use_alone(&self, conditions: &[u32], proposition: u32) -> bool {
        self.offered
            .as_ref()
            .is_none_or(|offered| offered.is_on(proposition, offered.columns(conditions)))
    }

    /// Are there so few rules below one with these conditions that bounds do not pay?
    fn are_few(&self, conditions: &[u32], candidates: &[u32]) -> bool {
        let offered = self.offered.as_ref();
        offered.is_some_and(|offered| offered.are_few(offered.columns(conditions), candidates))
    }

    /// Are there few rules in all?
    pub fn is_small(&self) -> bool {
        self.are_few(&[], &self.usable)
    }

    /// The best value among a rule and its ancestors, where that matters.
    fn best_so_far(&self, node: &Node, own: &[u64]) -> Score {
        if !self.irredundant || node.is_root() {
            Score::MIN
        } else if self.layout().n_failing(own) == 0 {
            node.family.best
        } else {
            let length = node.family.conditions.len() + 1;
            node.family.best.max(self.value(own, length))
        }
    }

    /// Which rules stand for a set of rows? All minimal ones, in which no condition could be left out, where the number
    /// of conditions matters; else one that the closure of the rows decides, see [`leave_out_found_elsewhere`].
    pub fn visits_minimal(&self) -> bool {
        self.max_length != usize::MAX
            || self.by_length
            || self.estimator.is_by_length()
            || self.offered.is_some()
    }
}

/// The children of one rule, in the order that decides which of them may still take which conditions:
/// each may take those that come after it.
pub struct Family {
    pub conditions: Vec<u32>,
    pub order: Vec<u32>,
    /// Conditions that are tried in another branch. A set of rows inside one of them is found there.
    pub excluded: Vec<u32>,
    /// The best value among the rule itself and its ancestors.
    pub best: Score,
}

/// A rule that is still to be expanded: one child of a family.
#[derive(Clone)]
pub struct Node {
    pub bound: Score,
    pub family: Arc<Family>,
    pub index: usize,
    /// The fewest and the most rows that a rule below it covers.
    pub least: u64,
    pub most: u64,
    /// The fewest conditions of a rule that it leads to, where ties are settled by them; else 0.
    pub length: usize,
    /// What has been done already, if it was expanded before and part of it was put off.
    pub again: Option<Arc<Again>>,
}

/// What is known of a rule that was expanded before.
pub struct Again {
    /// The children that are nodes of their own by now, in the family's order.
    pub opened: Option<Arc<Family>>,
    /// Children worth this or more have been offered.
    pub offered: Score,
}

impl Node {
    pub fn root(usable: &[u32]) -> Node {
        Node {
            bound: Score::MAX,
            family: Arc::new(Family {
                conditions: Vec::new(),
                order: usable.to_vec(),
                excluded: Vec::new(),
                best: Score::MIN,
            }),
            index: usize::MAX,
            least: 0,
            most: u64::MAX,
            length: 0,
            again: None,
        }
    }

    /// The same rule with what is left of it: nothing that is worth more than `bound`.
    pub fn put_off(&self, bound: Score, length: usize, again: Again) -> Node {
        Node {
            bound: bound.min(self.bound),
            length,
            again: Some(Arc::new(again)),
            ..self.clone()
        }
    }

    /// Children worth this or more have been offered.
    fn offered(&self) -> Score {
        self.again
            .as_ref()
            .map_or(Score::MAX, |again| again.offered)
    }

    /// The children that are nodes of their own by now.
    fn opened(&self) -> &[u32] {
        let opened = self.again.as_ref().and_then(|again| again.opened.as_ref());
        opened.map_or(&[], |family| &family.order)
    }

    pub fn is_root(&self) -> bool {
        self.index == usize::MAX
    }

    pub fn conditions(&self) -> Vec<u32> {
        let mut conditions = self.family.conditions.clone();
        if !self.is_root() {
            conditions.push(self.family.order[self.index]);
        }
        conditions
    }

    pub fn candidates(&self) -> &[u32] {
        match self.index {
            usize::MAX => &self.family.order,
            index => &self.family.order[index + 1..],
        }
    }

    pub fn excluded(&self) -> impl Iterator<Item = u32> + '_ {
        let before = if self.is_root() { 0 } else { self.index };
        let tried = &self.family.order[..before];
        self.family.excluded.iter().chain(tried).copied()
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        self.bound == other.bound
    }
}
impl Eq for Node {}
impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Node) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Node {
    fn cmp(&self, other: &Node) -> Ordering {
        (self.bound, other.length).cmp(&(other.bound, self.length))
    }
}

/// Who decides what is good enough, and takes what is found.
pub trait Judge {
    /// Is a branch in which nothing exceeds this bound, and no rule has fewer conditions, not worth entering?
    fn is_hopeless(&self, bound: Score, length: usize) -> bool;
    /// Whatever is below this is hopeless.
    fn goal(&self) -> Score;
    /// Is the best that a branch can reach, `bound`, a tie with a rule that is known already, and is that rule the
    /// only one in the branch that reaches it?
    fn is_known(&self, branch: &Branch) -> bool;
    /// A rule with its value and counts; it covers at least one row and fails on one.
    fn offer(&mut self, value: Score, counts: &[u64], conditions: &[u32]);
    /// May what is hopeless now be wanted later, if it is worth this?
    fn may_return(&self, _bound: Score) -> bool {
        false
    }
    /// Rules below this value are not offered, but may return.
    fn offers_from(&self) -> Score {
        Score::MIN
    }
    /// Rules that cover fewer rows are not wanted, now or later.
    fn min_rows(&self) -> u64 {
        0
    }
}

/// What can be reached from a node: rules that cover all rows of its core and only rows of its own.
pub struct Branch<'a> {
    pub book: &'a Rulebook,
    pub bound: Score,
    /// The counts of the rows that every rule of the branch covers.
    pub core: &'a [u64],
    pub high: &'a [u64],
    pub conditions: &'a [u32],
    pub last: u32,
    pub candidates: &'a [u32],
}

impl Branch<'_> {
    /// Is this rule, with these counts, the only one in the branch that could be worth as much as the bound?
    pub fn leads_only_to(&self, counts: &[u64], conditions: &[u32]) -> bool {
        // The rule that covers most positives and fewest negatives, where that is what makes a rule best.
        if !self.book.layout().is_plain() {
            return false;
        }
        let corner = self.core.chunks(2).zip(self.high.chunks(2));
        let mut corner = corner.zip(counts.chunks(2));
        let is_corner = corner.all(|((low, high), counts)| *counts == [low[0], high[1]]);
        if !is_corner || !self.has_one_maximiser() {
            return false;
        }
        // The rule has all that the branch must keep, and nothing that the branch has lost.
        let own = self.conditions.iter().chain([&self.last]).copied();
        let inside: Vec<u32> = conditions.iter().copied().chain(own.clone()).collect();
        let core: Vec<u32> = own.chain(self.candidates.iter().copied()).collect();
        let core_inside: Vec<u32> = core.iter().chain(conditions).copied().collect();
        let found = self.book.rows.counts(&[inside, core, core_inside]);
        let parts: Vec<&[u64]> = found.chunks(counts.len()).collect();
        parts[0] == counts && parts[1] == parts[2]
    }

    /// Is the bound reached by all the positives and the fewest negatives alone?
    fn has_one_maximiser(&self) -> bool {
        let (mut low, mut high) = (self.core.to_vec(), self.high.to_vec());
        let length = self.conditions.len() + 2;
        (0..low.len()).step_by(2).all(|negative| {
            let positive = negative + 1;
            let mut falls_short = |least: [u64; 2], most: [u64; 2]| {
                low[negative..=positive].copy_from_slice(&least);
                high[negative..=positive].copy_from_slice(&most);
                let falls_short = self.book.bound(&low, &high, length, self.bound) < self.bound;
                low[negative..=positive].copy_from_slice(&self.core[negative..=positive]);
                high[negative..=positive].copy_from_slice(&self.high[negative..=positive]);
                falls_short
            };
            let [least, most] = [self.core, self.high].map(|c| [c[negative], c[positive]]);
            let fewer_positive = |nearest: u64, farthest: u64| {
                falls_short([least[0], most[1] - farthest], [most[0], most[1] - nearest])
            };
            every_distance(most[1] - least[1], fewer_positive)
                && every_distance(most[0] - least[0], |nearest, farthest| {
                    falls_short(
                        [least[0] + nearest, most[1]],
                        [least[0] + farthest, most[1]],
                    )
                })
        })
    }
}

/// Does it hold for all distances from 1 to `farthest`? It is asked at once for all of them, and where that is too much
/// for it, for those that differ by less than a factor of two.
fn every_distance(farthest: u64, mut holds: impl FnMut(u64, u64) -> bool) -> bool {
    let mut pieces = std::iter::successors(Some(1), |start| Some(2 * start))
        .take_while(|&start| start <= farthest)
        .map(|start: u64| (start, farthest.min(2 * start - 1)));
    farthest == 0 || holds(1, farthest) || pieces.all(|(start, end)| holds(start, end))
}

struct Child {
    proposition: u32,
    bound: Score,
    /// Where its counts are among those of all candidates.
    slot: usize,
}

/// What was put off when a rule was expanded: the best among its children, and among what they lead to.
struct Rest {
    children: Score,
    further: Score,
}

impl Rest {
    fn nothing() -> Rest {
        Rest {
            children: Score::MIN,
            further: Score::MIN,
        }
    }

    /// The node for it, if any of it may be wanted later. `length` is the number of the node's own conditions.
    fn node(&self, node: &Node, length: usize, again: Again, judge: &dyn Judge) -> Option<Node> {
        let bound = self.children.max(self.further);
        let longer = usize::from(self.children < bound);
        let node = || node.put_off(bound, length + 1 + longer, again);
        (bound != Score::MIN && judge.may_return(bound)).then(node)
    }
}

/// Buffers that live as long as a worker does.
#[derive(Default)]
pub struct Expander {
    counts: Vec<u64>,
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

/// Offers all children of rules that may take one condition more and no further; `parent` is the place of the rule that
/// all of them come from. Such rules are by far the most, and asked for together they cost less.
/// Returns what was put off.
pub fn finish(
    book: &Rulebook,
    nodes: &[&Node],
    parent: &dyn Place,
    judge: &mut dyn Judge,
) -> Vec<Node> {
    let layout = book.layout();
    let width = layout.width();
    let (from, min_rows) = (judge.offers_from(), judge.min_rows());
    let mut put_off = Vec::new();
    let last = |node: &&Node| node.family.order[node.index];
    let children: Vec<u32> = nodes.iter().map(last).collect();
    let candidates: Vec<Vec<u32>> = nodes
        .iter()
        .map(|node| book.useful_candidates(node, Some(&last(node))))
        .collect();
    parent.counts_of_children(&children, &candidates, &mut |index, counts| {
        let (own, counts) = counts.split_at(width);
        let size = total(own);
        let best = book.best_so_far(nodes[index], own);
        let mut conditions = nodes[index].conditions();
        let length = conditions.len() + 1;
        let offered = nodes[index].offered();
        let mut left = Rest::nothing();
        for (&proposition, counts) in candidates[index].iter().zip(counts.chunks(width)) {
            let rest = total(counts);
            let excludes = rest < size || !book.is_no_use_alone(&conditions, proposition);
            if excludes && book.is_rule_of(layout, counts, rest) {
                let value = book.value(counts, length);
                if book.irredundant && value <= best || layout.n_covered(counts) < min_rows {
                    continue;
                }
                if value < from {
                    left.children = left.children.max(value);
                } else if value < offered {
                    conditions.push(proposition);
                    judge.offer(value, counts, &conditions);
                    conditions.pop();
                }
            }
        }
        let again = Again {
            opened: None,
            offered: from.min(offered),
        };
        put_off.extend(left.node(nodes[index], length - 1, again, judge));
    });
    put_off
}

impl Expander {
    /// Offers all children of the rule at `place`, and returns those that must be expanded in turn, strongest first;
    /// at the end, what was put off, which may be those too.
    pub fn expand(
        &mut self,
        book: &Rulebook,
        node: &Node,
        place: &dyn Place,
        judge: &mut dyn Judge,
    ) -> Vec<Node> {
        let layout = book.layout();
        let width = layout.width();
        let mut conditions = node.conditions();
        let length = conditions.len();
        let candidates = book.useful_candidates(node, conditions.last());
        place.counts(&candidates, &mut self.counts);
        let (own, counts) = self.counts.split_at(width);
        let counts_of = |slot: usize| &counts[slot * width..(slot + 1) * width];
        let size = total(own);
        let best = book.best_so_far(node, own);
        let is_useless = |bound: Score| book.irredundant && bound <= best;
        let goal = |judge: &dyn Judge| match book.irredundant {
            true => judge.goal().max(best.saturating_add(1)),
            false => judge.goal(),
        };

        // Children that may take no further condition need no bound.
        let is_last = length + 1 >= book.max_length;
        // Where rules of more conditions are worth less, a child's own value is no part of its bound. Where they may be
        // wanted later, children are offered even if they lead nowhere now.
        let (from, offered) = (judge.offers_from(), node.offered());
        let is_offered_first = book.estimator.is_by_length() || book.by_length;
        let min_rows = book.min_rows.max(judge.min_rows());
        let bounded = length + 2;
        let (columns, is_few) = match &book.offered {
            Some(offered) => (
                offered.columns(&conditions),
                book.are_few(&conditions, &candidates),
            ),
            None => (0, false),
        };
        let nothing = vec![0; width];
        let mut rest = Rest::nothing();
        let mut children: Vec<Child> = Vec::new();
        let mut opened: Vec<Child> = Vec::new();
        for (slot, &proposition) in candidates.iter().enumerate() {
            let counts = counts_of(slot);
            let left = total(counts);
            let excludes = left < size || !book.is_no_use_alone(&conditions, proposition);
            if !excludes || layout.n_covered(counts) < min_rows {
                continue;
            }
            let is_on_offer = book
                .offered
                .as_ref()
                .is_none_or(|offered| offered.has_with(columns, proposition));
            let mut offer = |judge: &mut dyn Judge, rest: &mut Rest| {
                if !is_on_offer {
                    return;
                }
                let value = book.value(counts, length + 1);
                if !book.is_rule_of(layout, counts, left) || is_useless(value) {
                    return;
                }
                if value < from {
                    rest.children = rest.children.max(value);
                } else if value < offered {
                    conditions.push(proposition);
                    judge.offer(value, counts, &conditions);
                    conditions.pop();
                }
            };
            if is_last {
                offer(judge, &mut rest);
                continue;
            }
            if is_offered_first {
                offer(judge, &mut rest);
            }
            let mut child = Child {
                proposition,
                bound: node.bound,
                slot,
            };
            if node.opened().contains(&proposition) {
                opened.push(child);
                continue;
            }
            if !is_few {
                let bound = book.bound(&nothing, counts, bounded, goal(judge));
                child.bound = bound.min(node.bound);
                if is_useless(child.bound) {
                    continue;
                }
                if judge.is_hopeless(child.bound, bounded) {
                    rest.further = rest.further.max(child.bound);
                    continue;
                }
            }
            children.push(child);
            if !is_offered_first {
                offer(judge, &mut rest);
            }
        }
        let mut again = Again {
            opened: node.again.as_ref().and_then(|again| again.opened.clone()),
            offered: from.min(offered),
        };
        if is_last {
            return Vec::from_iter(rest.node(node, length, again, judge));
        }
        // Every descendant of every child contains the rows that satisfy all candidates. Children that cannot reach far
        // enough for that drop out of all branches, which may leave more such rows, and so on.
        loop {
            if is_few {
                break;
            }
            let all = children.iter().chain(&opened);
            let candidates: Vec<u32> = all.map(|child| child.proposition).collect();
            let n_children = children.len();
            let Some(core) = place.common_core(&candidates) else {
                break;
            };
            children.retain_mut(|child| {
                let bound = book.bound(&core, counts_of(child.slot), bounded, goal(judge));
                child.bound = child.bound.min(bound);
                let stays = !is_useless(child.bound);
                if stays && judge.is_hopeless(child.bound, bounded) {
                    rest.further = rest.further.max(child.bound);
                    return false;
                }
                stays
            });
            if children.len() == n_children {
                break;
            }
        }
        if children.is_empty() {
            return Vec::from_iter(rest.node(node, length, again, judge));
        }
        children.sort_by_key(|child| (child.bound, child.proposition));
        let n_new = children.len();
        // Those that were opened before have taken their places at the end.
        let place_of = |child: &Child| node.opened().iter().position(|&p| p == child.proposition);
        opened.sort_by_key(place_of);
        children.append(&mut opened);

        let family = Arc::new(Family {
            order: children.iter().map(|child| child.proposition).collect(),
            excluded: if book.visits_minimal() {
                Vec::new()
            } else {
                node.excluded().collect()
            },
            conditions,
            best,
        });
        let mut nodes = Vec::new();
        let allowed = book.max_length - length - 1;
        let limited = allowed < children.len();
        self.losses.clear(if limited { allowed } else { 0 }, width);
        if !is_few {
            place.cores(&family.order, &mut self.cores);
        }
        // From the strongest child, which may take no further condition, to the weakest, which may take all others.
        for (index, child) in children.iter().enumerate().rev() {
            let counts = counts_of(child.slot);
            let further = &family.order[index + 1..];
            let can_end = || {
                book.offered.as_ref().is_none_or(|offered| {
                    let columns = columns | offered.columns(&[child.proposition]);
                    offered.can_end(columns, further, allowed)
                })
            };
            if is_few {
                if index < n_new && can_end() {
                    nodes.push(Node {
                        bound: child.bound,
                        family: family.clone(),
                        index,
                        least: 0,
                        most: layout.n_covered(counts),
                        length: if book.by_length { bounded } else { 0 },
                        again: None,
                    });
                }
                continue;
            }
            if index < n_new && index + 1 < children.len() && can_end() {
                let core = &self.cores[index * width..(index + 1) * width];
                self.low.clear();
                self.low.extend_from_slice(core);
                if limited {
                    self.losses.raise(&mut self.low, counts);
                }
                let bound = book.bound(&self.low, counts, bounded, goal(judge));
                let mut bound = bound.min(child.bound);
                let known = || {
                    judge.is_known(&Branch {
                        book,
                        bound,
                        core,
                        high: counts,
                        conditions: &family.conditions,
                        last: child.proposition,
                        candidates: &family.order[index + 1..],
                    })
                };
                let hopeless = judge.is_hopeless(bound, bounded);
                let known = !hopeless && known();
                if known {
                    // What else is there is worth less.
                    bound -= TIED;
                }
                let stays = !(hopeless || known) || judge.may_return(bound);
                if stays && !is_useless(bound) {
                    nodes.push(Node {
                        bound,
                        family: family.clone(),
                        index,
                        least: layout.n_covered(&self.low),
                        most: layout.n_covered(counts),
                        length: if book.by_length { bounded } else { 0 },
                        again: None,
                    });
                }
            }
            if limited {
                self.losses.add(own, counts);
            }
        }
        leave_out_found_elsewhere(book, place, &family, &mut nodes);
        again.opened = Some(family);
        nodes.extend(rest.node(node, length, again, judge));
        nodes
    }
}

/// Keeps the nodes whose rows are not found in another branch.
fn leave_out_found_elsewhere(
    book: &Rulebook,
    place: &dyn Place,
    family: &Family,
    nodes: &mut Vec<Node>,
) {
    if book.offered.is_some() {
        // The same rows on other columns need not be offered.
        return;
    }
    let children: Vec<u32> = nodes.iter().map(|node| family.order[node.index]).collect();
    let mut stays = if book.visits_minimal() {
        // The other branch may need one condition too many, or one that costs. Instead, only minimal rules are visited:
        // those in which no condition could be left out. Every part of a minimal rule is minimal.
        book.rows.are_minimal(&family.conditions, &children)
    } else {
        let excluded: Vec<Vec<u32>> = nodes.iter().map(|node| node.excluded().collect()).collect();
        let inside = place.are_inside(&children, &excluded);
        inside.iter().map(|inside| !inside).collect()
    }
    .into_iter();
    nodes.retain(|_| stays.next() == Some(true));
}
