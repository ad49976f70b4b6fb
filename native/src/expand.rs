//! One step of the branch and bound: from a rule and the conditions it may still take, to its children.

use crate::bitset::{total, Counts};
use crate::estimator::{Estimator, Score};
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
}

/// Values are compared to 2⁻³⁶: sums that are equal on paper may differ in their last bits, and are ties all the same.
const TIED: Score = 1 << 16;

fn settle(score: Score) -> Score {
    (score + TIED / 2) & !(TIED - 1)
}

impl Rulebook {
    pub fn value(&self, counts: &[Counts]) -> Score {
        settle(self.estimator.value(counts))
    }

    pub fn bound(&self, low: &[Counts], high: &[Counts]) -> Score {
        settle(self.estimator.bound(low, high))
    }

    /// The conditions that could be of use after another one, as far as can be told without looking at rows.
    fn useful_candidates(&self, node: &Node, last: Option<&u32>) -> Vec<u32> {
        let Some(&last) = last else {
            return node.candidates().to_vec();
        };
        let propositions = self.rows.propositions();
        let last = &propositions[last as usize];
        let may_follow = |candidate: u32| {
            let this = &propositions[candidate as usize];
            let is_no_use = this.excludes(last) || last.implies(this);
            !(is_no_use || self.is_limited() && this.implies(last))
        };
        let mut useful = Vec::with_capacity(node.candidates().len());
        let candidates = node.candidates().iter().copied();
        useful.extend(candidates.filter(|&candidate| may_follow(candidate)));
        useful
    }

    /// The best value among a rule and its ancestors, where that matters.
    fn best_so_far(&self, node: &Node, own: &[Counts]) -> Score {
        if self.irredundant && !node.is_root() {
            node.family.best.max(self.value(own))
        } else {
            Score::MIN
        }
    }

    pub fn is_limited(&self) -> bool {
        self.max_length != usize::MAX
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
        }
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
        self.bound.cmp(&other.bound)
    }
}

/// Who decides what is good enough, and takes what is found.
pub trait Judge {
    /// Is a branch in which nothing exceeds this bound not worth entering?
    fn is_hopeless(&self, bound: Score) -> bool;
    /// Is the best that a branch can reach, `bound`, a tie with a rule that is known already, and is that rule the
    /// only one in the branch that reaches it?
    fn is_known(&self, branch: &Branch) -> bool;
    /// A rule with its value and counts; it covers at least one row and not all.
    fn offer(&mut self, value: Score, counts: &[Counts], conditions: &[u32]);
}

/// What can be reached from a node: rules that cover all rows of its core and only rows of its own.
pub struct Branch<'a> {
    pub book: &'a Rulebook,
    pub bound: Score,
    /// The counts of the rows that every rule of the branch covers.
    pub core: &'a [Counts],
    pub high: &'a [Counts],
    pub conditions: &'a [u32],
    pub last: u32,
    pub candidates: &'a [u32],
}

impl Branch<'_> {
    /// Is this rule, with these counts, the only one in the branch that could be worth as much as the bound?
    pub fn leads_only_to(&self, counts: &[Counts], conditions: &[u32]) -> bool {
        let corner = self.core.iter().zip(self.high).zip(counts);
        let mut corner = corner.map(|((low, high), counts)| {
            counts.positive == high.positive && counts.negative == low.negative
        });
        if !corner.all(|same| same) || !self.has_one_maximiser() {
            return false;
        }
        // The rule has all that the branch must keep, and nothing that the branch has lost.
        let own = self.conditions.iter().chain([&self.last]).copied();
        let inside: Vec<u32> = conditions.iter().copied().chain(own.clone()).collect();
        let core: Vec<u32> = own.chain(self.candidates.iter().copied()).collect();
        let core_inside: Vec<u32> = core.iter().chain(conditions).copied().collect();
        let found = self.book.rows.counts(&[inside, core, core_inside]);
        let parts: Vec<&[Counts]> = found.chunks(counts.len()).collect();
        parts[0] == counts && parts[1] == parts[2]
    }

    /// Is the bound reached by all the positives and the fewest negatives alone?
    fn has_one_maximiser(&self) -> bool {
        let (mut low, mut high) = (self.core.to_vec(), self.high.to_vec());
        (0..low.len()).all(|stratum| {
            let (lowest, highest) = (self.core[stratum], self.high[stratum]);
            let mut falls_short = |least: Counts, most: Counts| {
                (low[stratum], high[stratum]) = (least, most);
                let falls_short = self.book.bound(&low, &high) < self.bound;
                (low[stratum], high[stratum]) = (lowest, highest);
                falls_short
            };
            let fewer_positive = |nearest: u64, farthest: u64| {
                let positive = |count| Counts {
                    positive: highest.positive - count,
                    ..highest
                };
                falls_short(
                    Counts {
                        negative: lowest.negative,
                        ..positive(farthest)
                    },
                    positive(nearest),
                )
            };
            every_distance(highest.positive - lowest.positive, fewer_positive)
                && every_distance(highest.negative - lowest.negative, |nearest, farthest| {
                    let negative = |count| Counts {
                        positive: highest.positive,
                        negative: lowest.negative + count,
                    };
                    falls_short(negative(nearest), negative(farthest))
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

/// Buffers that live as long as a worker does.
#[derive(Default)]
pub struct Expander {
    counts: Vec<Counts>,
    cores: Vec<Counts>,
    low: Vec<Counts>,
    losses: Vec<Losses>,
}

/// The largest losses of a stratum that single conditions can cause, largest first.
#[derive(Clone, Default)]
struct Losses {
    positive: Vec<u64>,
    negative: Vec<u64>,
}

impl Losses {
    /// What is left at the least when these losses come together.
    fn raise(&self, low: &mut Counts, counts: Counts) {
        let left = |count: u64, losses: &[u64]| count.saturating_sub(losses.iter().sum());
        low.positive = low.positive.max(left(counts.positive, &self.positive));
        low.negative = low.negative.max(left(counts.negative, &self.negative));
    }
}

fn keep_largest(largest: &mut Vec<u64>, value: u64, most: usize) {
    let place = largest.partition_point(|&x| x >= value);
    if place < most {
        largest.insert(place, value);
        largest.truncate(most);
    }
}

/// Offers all children of rules that may take one condition more and no further; `parent` is the place of the rule that
/// all of them come from. Such rules are by far the most, and asked for together they cost less.
pub fn finish(book: &Rulebook, nodes: &[&Node], parent: &dyn Place, judge: &mut dyn Judge) {
    let n_strata = book.rows.strata().len();
    let last = |node: &&Node| node.family.order[node.index];
    let children: Vec<u32> = nodes.iter().map(last).collect();
    let candidates: Vec<Vec<u32>> = nodes
        .iter()
        .map(|node| book.useful_candidates(node, Some(&last(node))))
        .collect();
    parent.counts_of_children(&children, &candidates, &mut |index, counts| {
        let (own, counts) = counts.split_at(n_strata);
        let covered = total(own);
        let best = book.best_so_far(nodes[index], own);
        let mut conditions = nodes[index].conditions();
        for (&proposition, counts) in candidates[index].iter().zip(counts.chunks(n_strata)) {
            let size = total(counts);
            if size < covered && size >= book.min_rows {
                let value = book.value(counts);
                if !book.irredundant || value > best {
                    conditions.push(proposition);
                    judge.offer(value, counts, &conditions);
                    conditions.pop();
                }
            }
        }
    });
}

impl Expander {
    /// Offers all children of the rule at `place`, and returns those that must be expanded in turn, strongest first.
    pub fn expand(
        &mut self,
        book: &Rulebook,
        node: &Node,
        place: &dyn Place,
        judge: &mut dyn Judge,
    ) -> Vec<Node> {
        let n_strata = book.rows.strata().len();
        let mut conditions = node.conditions();
        let length = conditions.len();
        let candidates = book.useful_candidates(node, conditions.last());
        place.counts(&candidates, &mut self.counts);
        let (own, counts) = self.counts.split_at(n_strata);
        let counts_of = |slot: usize| &counts[slot * n_strata..(slot + 1) * n_strata];
        let covered = total(own);
        let best = book.best_so_far(node, own);
        let useless = |bound: Score, judge: &dyn Judge| {
            judge.is_hopeless(bound) || (book.irredundant && bound <= best)
        };

        // Children that may take no further condition need no bound.
        let is_last = length + 1 >= book.max_length;
        let nothing = vec![Counts::default(); n_strata];
        let mut children: Vec<Child> = Vec::new();
        for (slot, &proposition) in candidates.iter().enumerate() {
            let counts = counts_of(slot);
            let size = total(counts);
            if size == covered || size < book.min_rows {
                continue;
            }
            if !is_last {
                let bound = book.bound(&nothing, counts).min(node.bound);
                if useless(bound, judge) {
                    continue;
                }
                children.push(Child {
                    proposition,
                    bound,
                    slot,
                });
            }
            let value = book.value(counts);
            if !book.irredundant || value > best {
                conditions.push(proposition);
                judge.offer(value, counts, &conditions);
                conditions.pop();
            }
        }
        if is_last {
            return Vec::new();
        }
        // Every descendant of every child contains the rows that satisfy all candidates. Children that cannot reach far
        // enough for that drop out of all branches, which may leave more such rows, and so on.
        loop {
            let candidates: Vec<u32> = children.iter().map(|child| child.proposition).collect();
            let Some(core) = place.common_core(&candidates) else {
                break;
            };
            children.retain_mut(|child| {
                child.bound = child.bound.min(book.bound(&core, counts_of(child.slot)));
                !useless(child.bound, judge)
            });
            if children.len() == candidates.len() {
                break;
            }
        }
        if children.is_empty() {
            return Vec::new();
        }
        children.sort_by_key(|child| (child.bound, child.proposition));

        let family = Arc::new(Family {
            order: children.iter().map(|child| child.proposition).collect(),
            excluded: if book.is_limited() {
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
        self.losses.clear();
        self.losses.resize(n_strata, Losses::default());
        place.cores(&family.order, &mut self.cores);
        // From the strongest child, which may take no further condition, to the weakest, which may take all others.
        for (index, child) in children.iter().enumerate().rev() {
            let counts = counts_of(child.slot);
            if index + 1 < children.len() {
                let core = &self.cores[index * n_strata..(index + 1) * n_strata];
                self.low.clear();
                self.low.extend_from_slice(core);
                if limited {
                    for ((low, losses), counts) in self.low.iter_mut().zip(&self.losses).zip(counts)
                    {
                        losses.raise(low, *counts);
                    }
                }
                let bound = book.bound(&self.low, counts).min(child.bound);
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
                if !useless(bound, judge) && !known() {
                    nodes.push(Node {
                        bound,
                        family: family.clone(),
                        index,
                    });
                }
            }
            if limited {
                for ((losses, own), counts) in self.losses.iter_mut().zip(own).zip(counts) {
                    keep_largest(
                        &mut losses.positive,
                        own.positive - counts.positive,
                        allowed,
                    );
                    keep_largest(
                        &mut losses.negative,
                        own.negative - counts.negative,
                        allowed,
                    );
                }
            }
        }
        leave_out_found_elsewhere(book, place, &family, &mut nodes);
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
    let children: Vec<u32> = nodes.iter().map(|node| family.order[node.index]).collect();
    let mut stays = if book.is_limited() {
        // With a length limit the other branch may need one condition too many. Instead, only minimal rules are visited:
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
