//! One step of the branch and bound: from a rule and the conditions it may still take, to its children.

use crate::bitset::{intersect, is_empty, is_subset, size, total, Counts};
use crate::estimator::{Estimator, Score};
use crate::table::Table;
use std::cmp::Ordering;
use std::sync::Arc;

/// What is the same for every step of one search.
#[derive(Clone)]
pub struct Rulebook {
    pub table: Arc<Table>,
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

    fn is_root(&self) -> bool {
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

/// The rows a branch works on: the whole table, or just the rows that the branch still covers, packed together.
pub struct View {
    table: Arc<Table>,
    pub n_rows: u64,
    /// Where the whole table's propositions are in `table`.
    local: Option<Vec<u32>>,
}

impl View {
    pub fn whole(table: &Arc<Table>) -> View {
        View {
            table: table.clone(),
            n_rows: size(&table.all),
            local: None,
        }
    }

    pub fn all(&self) -> &[u64] {
        &self.table.all
    }

    pub fn proposition(&self, index: u32) -> &[u64] {
        let index = match &self.local {
            Some(local) => local[index as usize],
            None => index,
        };
        self.table.proposition(index as usize)
    }

    /// The view of `rows` alone, with the propositions that are still of interest.
    pub fn project(&self, rows: &[u64], propositions: &[u32]) -> View {
        let whole = self.local.as_ref();
        let mut local = vec![u32::MAX; whole.map_or(self.table.propositions.len(), Vec::len)];
        for (new, &index) in propositions.iter().enumerate() {
            local[index as usize] = new as u32;
        }
        let here: Vec<u32> = propositions
            .iter()
            .map(|&index| self.local.as_ref().map_or(index, |l| l[index as usize]))
            .collect();
        View {
            table: Arc::new(self.table.project(rows, &here)),
            n_rows: size(rows),
            local: Some(local),
        }
    }
}

/// Who decides what is good enough, and takes what is found.
pub trait Judge {
    /// Is a branch in which nothing exceeds this bound not worth entering?
    fn is_hopeless(&self, bound: Score) -> bool;
    /// Is the best that a branch can reach, `bound`, a tie with a rule that is known already, and is that rule the
    /// only one in the branch that reaches it? The branch's counts lie between `low` and `high`.
    fn is_known(&self, branch: &Branch) -> bool;
    /// A rule with its value; it covers at least one row and not all.
    fn offer(&mut self, value: Score, conditions: &[u32]);
}

/// What can be reached from a node: rules that cover all rows of its core and only rows of its own.
pub struct Branch<'a> {
    pub book: &'a Rulebook,
    pub bound: Score,
    pub low: &'a [Counts],
    pub high: &'a [Counts],
    pub conditions: &'a [u32],
    pub last: u32,
    pub candidates: &'a [u32],
}

impl Branch<'_> {
    /// Is this rule, with these counts, the only one in the branch that could be worth as much as the bound?
    pub fn leads_only_to(&self, counts: &[Counts], rows: &[u64]) -> bool {
        let corner = self.low.iter().zip(self.high).zip(counts);
        let mut corner = corner.map(|((low, high), counts)| {
            counts.positive == high.positive && counts.negative == low.negative
        });
        if !corner.all(|same| same) {
            return false;
        }
        let table = &self.book.table;
        let proposition = |index: &u32| table.proposition(*index as usize);
        let mut conditions = self.conditions.iter().chain([&self.last]);
        if !conditions.all(|condition| is_subset(rows, proposition(condition))) {
            return false;
        }
        let conditions: Vec<&[u64]> = self.conditions.iter().map(proposition).collect();
        let candidates: Vec<&[u64]> = self.candidates.iter().map(proposition).collect();
        let last = proposition(&self.last);
        let core_inside = (0..table.words).all(|word| {
            let mut core = last[word] & !rows[word];
            for rows in conditions.iter().chain(&candidates) {
                if core == 0 {
                    break;
                }
                core &= rows[word];
            }
            core == 0
        });
        core_inside && self.has_one_maximiser()
    }

    /// Does every step away from all the positives and the fewest negatives cost more than a tie?
    fn has_one_maximiser(&self) -> bool {
        let (mut low, mut high) = (self.low.to_vec(), self.high.to_vec());
        (0..low.len()).all(|stratum| {
            let (lowest, highest) = (self.low[stratum], self.high[stratum]);
            let mut falls = true;
            if highest.positive > lowest.positive {
                high[stratum].positive -= 1;
                falls &= settle(self.book.estimator.bound(&low, &high)) < settle(self.bound);
                high[stratum] = highest;
            }
            if lowest.negative < highest.negative {
                low[stratum].negative += 1;
                falls &= settle(self.book.estimator.bound(&low, &high)) < settle(self.bound);
                low[stratum] = lowest;
            }
            falls
        })
    }
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
    low: Vec<Counts>,
    core: Vec<u64>,
    losses: Vec<Losses>,
}

/// The largest losses of a stratum that single conditions can cause, largest first.
#[derive(Clone, Default)]
struct Losses {
    positive: Vec<u64>,
    negative: Vec<u64>,
}

fn keep_largest(largest: &mut Vec<u64>, value: u64, most: usize) {
    let place = largest.partition_point(|&x| x >= value);
    if place < most {
        largest.insert(place, value);
        largest.truncate(most);
    }
}

impl Expander {
    /// Offers all children of a rule that covers `rows` of the view, and returns those that must be expanded in turn.
    pub fn expand(
        &mut self,
        book: &Rulebook,
        node: &Node,
        view: &View,
        rows: &[u64],
        judge: &mut dyn Judge,
    ) -> Vec<Node> {
        let n_strata = book.table.strata.len();
        let mut conditions = node.conditions();
        let length = conditions.len();
        let mut own = vec![Counts::default(); n_strata];
        view.table.count(rows, rows, &mut own);
        let covered = total(&own);
        let best = if length == 0 || !book.irredundant {
            Score::MIN
        } else {
            node.family.best.max(book.value(&own))
        };
        let useless = |bound: Score, judge: &dyn Judge| {
            judge.is_hopeless(bound) || (book.irredundant && bound <= best)
        };

        self.low.clear();
        self.low.resize(n_strata, Counts::default());
        let last = conditions
            .last()
            .map(|&p| book.table.propositions[p as usize]);
        // Children that may take no further condition need no bound.
        let is_last = length + 1 >= book.max_length;
        let mut children: Vec<Child> = Vec::new();
        for &proposition in node.candidates() {
            if let Some(last) = &last {
                let this = &book.table.propositions[proposition as usize];
                if this.excludes(last)
                    || last.implies(this)
                    || (book.is_limited() && this.implies(last))
                {
                    continue;
                }
            }
            let slot = children.len();
            self.counts.resize((slot + 1) * n_strata, Counts::default());
            let counts = &mut self.counts[slot * n_strata..];
            view.table
                .count(rows, view.proposition(proposition), counts);
            let size = total(counts);
            if size == covered || size < book.min_rows {
                continue;
            }
            let bound = if is_last {
                Score::MAX
            } else {
                book.bound(&self.low, counts).min(node.bound)
            };
            if !is_last && useless(bound, judge) {
                continue;
            }
            let value = book.value(counts);
            if !book.irredundant || value > best {
                conditions.push(proposition);
                judge.offer(value, &conditions);
                conditions.pop();
            }
            if !is_last {
                children.push(Child {
                    proposition,
                    bound,
                    slot,
                });
            }
        }
        if is_last {
            return Vec::new();
        }
        self.tighten_by_common_core(book, node, view, rows, &mut children, |bound| {
            useless(bound, judge)
        });
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
        self.core.clear();
        self.core.extend_from_slice(rows);
        let mut core_is_empty = false;
        // From the strongest child, which may take no further condition, to the weakest, which may take all others.
        for (index, child) in children.iter().enumerate().rev() {
            let counts = &self.counts[child.slot * n_strata..(child.slot + 1) * n_strata];
            let holds = view.proposition(child.proposition);
            if index + 1 < children.len() {
                if core_is_empty {
                    self.low.fill(Counts::default());
                } else {
                    view.table.count(&self.core, holds, &mut self.low);
                }
                if limited {
                    for ((low, losses), counts) in self.low.iter_mut().zip(&self.losses).zip(counts)
                    {
                        let most = |losses: &[u64]| losses.iter().sum::<u64>();
                        low.positive = low
                            .positive
                            .max(counts.positive.saturating_sub(most(&losses.positive)));
                        low.negative = low
                            .negative
                            .max(counts.negative.saturating_sub(most(&losses.negative)));
                    }
                }
                let bound = book.bound(&self.low, counts).min(child.bound);
                let known = || {
                    judge.is_known(&Branch {
                        book,
                        bound,
                        low: &self.low,
                        high: counts,
                        conditions: &family.conditions,
                        last: child.proposition,
                        candidates: &family.order[index + 1..],
                    })
                };
                if !useless(bound, judge) && !known() {
                    let node = Node {
                        bound,
                        family: family.clone(),
                        index,
                    };
                    if !is_found_elsewhere(book, &node, view, rows) {
                        nodes.push(node);
                    }
                }
            }
            if limited {
                for ((losses, own), counts) in self.losses.iter_mut().zip(&own).zip(counts) {
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
            if !core_is_empty {
                intersect(&mut self.core, holds);
                core_is_empty = is_empty(&self.core);
            }
        }
        nodes
    }

    /// Every descendant of every child contains the rows that satisfy all candidates. Children that cannot reach
    /// far enough for that drop out of all branches, which may leave more such rows, and so on.
    fn tighten_by_common_core(
        &mut self,
        book: &Rulebook,
        node: &Node,
        view: &View,
        rows: &[u64],
        children: &mut Vec<Child>,
        useless: impl Fn(Score) -> bool,
    ) {
        let n_strata = book.table.strata.len();
        loop {
            self.core.clear();
            self.core.extend_from_slice(rows);
            for child in children.iter() {
                intersect(&mut self.core, view.proposition(child.proposition));
                if is_empty(&self.core) {
                    return;
                }
            }
            view.table.count(&self.core, &self.core, &mut self.low);
            let before = children.len();
            children.retain_mut(|child| {
                let counts = &self.counts[child.slot * n_strata..(child.slot + 1) * n_strata];
                let bound = book.bound(&self.low, counts).min(node.bound);
                child.bound = child.bound.min(bound);
                !useless(child.bound)
            });
            if children.len() == before {
                return;
            }
        }
    }
}

/// Is what this node covers found in another branch, so that nothing is lost without it?
fn is_found_elsewhere(book: &Rulebook, node: &Node, view: &View, rows: &[u64]) -> bool {
    let proposition = node.family.order[node.index];
    if !book.is_limited() {
        let mut covered = rows.to_vec();
        intersect(&mut covered, view.proposition(proposition));
        let mut excluded = node.excluded();
        return excluded.any(|other| is_subset(&covered, view.proposition(other)));
    }
    // With a length limit the other branch may need one condition too many. Instead, only minimal rules are
    // visited: those in which no condition could be left out. Every part of a minimal rule is minimal.
    let conditions = &node.family.conditions;
    let table = &book.table;
    let holds = table.proposition(proposition as usize);
    conditions.iter().any(|&left_out| {
        let without = table.proposition(left_out as usize);
        let others: Vec<&[u64]> = conditions
            .iter()
            .filter(|&&condition| condition != left_out)
            .map(|&condition| table.proposition(condition as usize))
            .collect();
        (0..table.words).all(|word| {
            let rows = holds[word] & !without[word] & table.all[word];
            others.iter().fold(rows, |rows, other| rows & other[word]) == 0
        })
    })
}
