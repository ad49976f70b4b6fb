//! Which rules may stand in a list beside its leaders, and what branches can still give it.
//!
//! Every rule of a branch covers the rows of its core and only rows of its own. So its share of rows with a leader
//! (Jaccard) is bounded from both sides: branches that hold none of the rules are left out, and others promise less.

use crate::apart::{self, Beside};
use crate::estimator::Score;
use crate::rows::{Rows, With};
use crate::rulebook::Rulebook;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// Any rule: the list is that of the k best.
    Any,
    /// Rules that share less than this much of their rows with each leader.
    Different(f64),
    /// Rules that cover more rows than each leader: the list is the front of value and coverage.
    Wider,
    /// Rules that share at least this much of their rows with the first leader, and less with all others. The leader
    /// itself is none of them.
    Near(f64),
}

/// A rule that others are compared with.
#[derive(Clone, Debug)]
pub struct Leader {
    pub conditions: Vec<u32>,
    pub n_covered: u64,
    /// Not listed, but left out: nothing resembles it but the same rows.
    pub is_left_out: bool,
}

impl Leader {
    /// What a rule must share with it to resemble it.
    pub fn share(&self, similarity: f64) -> f64 {
        match self.is_left_out {
            true => 1.0,
            false => similarity,
        }
    }

    /// Does a rule of so many rows, of which so many are the leader's, resemble it?
    pub fn is_resembled(&self, shared: u64, n_covered: u64, similarity: f64) -> bool {
        let either = (n_covered - shared).saturating_add(self.n_covered);
        share(shared, either) >= self.share(similarity)
    }
}

/// A branch, as far as its rows are concerned.
pub struct Reach<'a> {
    pub conditions: &'a [u32],
    pub candidates: &'a [u32],
    /// The fewest and the most rows that a rule of the branch covers.
    pub least: u64,
    pub most: u64,
    /// The fewest conditions of a rule of the branch.
    pub length: usize,
}

/// The Jaccard similarity, from the rows of both and of either.
fn share(both: u64, either: u64) -> f64 {
    both as f64 / either.max(1) as f64
}

fn both(one: &[u32], other: &[u32]) -> Vec<u32> {
    one.iter().chain(other).copied().collect()
}

impl Wanted {
    /// Is the list made rule by rule, each one settled before the next?
    pub fn is_one_by_one(self) -> bool {
        matches!(self, Wanted::Different(_) | Wanted::Wider)
    }

    /// The fewest rows that a rule must cover because of the leaders.
    pub fn min_rows(self, leaders: &[Leader]) -> u64 {
        let largest = leaders.iter().map(|leader| leader.n_covered).max();
        match self {
            Wanted::Wider => largest.map_or(0, |n| n + 1),
            _ => 0,
        }
    }

    /// For each rule, may it not be listed? All rules are counted at once.
    pub fn refuses(
        self,
        rows: &dyn Rows,
        leaders: &[Leader],
        rules: &[(u64, &[u32])],
    ) -> Vec<bool> {
        match self {
            Wanted::Any => vec![false; rules.len()],
            Wanted::Wider => {
                let least = self.min_rows(leaders);
                rules.iter().map(|&(n, _)| n < least).collect()
            }
            Wanted::Different(similarity) => {
                let shares = shares(rows, leaders, rules, similarity);
                let each = shares.iter().map(|shares| !shares.is_empty());
                each.collect()
            }
            Wanted::Near(similarity) => {
                let (center, others) = leaders.split_at(1);
                let shares = shares(rows, center, rules, similarity);
                let refused = Wanted::Different(similarity).refuses(rows, others, rules);
                let is_near = |shares: &Vec<f64>| shares.iter().any(|&share| share < 1.0);
                let each = shares.iter().zip(refused);
                each.map(|(shares, refused)| refused || !is_near(shares))
                    .collect()
            }
        }
    }

    /// For each branch, at least the value of every rule of it that may be listed; `None` if there is none. The branches
    /// are counted at once.
    pub fn bounds(
        self,
        book: &Rulebook,
        leaders: &[Leader],
        branches: &[Reach],
        goal: Score,
    ) -> Vec<Option<Score>> {
        let unless = |cut: bool, bound| (!cut).then_some(bound);
        match self {
            Wanted::Any | Wanted::Wider => vec![Some(Score::MAX); branches.len()],
            Wanted::Different(similarity) => {
                apart::bounds(book, leaders, branches, similarity, goal)
            }
            Wanted::Near(similarity) => {
                let (center, others) = leaders.split_at(1);
                let far = are_far(&*book.rows, &center[0], branches, similarity);
                let bounds = apart::bounds(book, others, branches, similarity, goal);
                let each = far.into_iter().zip(bounds);
                each.map(|(far, bound)| bound.and_then(|bound| unless(far, bound)))
                    .collect()
            }
        }
    }
}

/// Boxes of counts, of all rows and of those of each leader.
impl Wanted {
    /// The leaders that rules are compared with row by row.
    pub fn compared(self, leaders: &[Leader]) -> &[Leader] {
        match self {
            Wanted::Any | Wanted::Wider => &[],
            Wanted::Different(_) | Wanted::Near(_) => leaders,
        }
    }

    /// At least the value of every rule in the box that may be listed; `None` if there is none. The counts of all rows are
    /// followed by those of the rows shared with each leader that is compared.
    pub fn bound_of_box(
        self,
        book: &Rulebook,
        leaders: &[Leader],
        low: &[u64],
        high: &[u64],
        length: usize,
        goal: Score,
    ) -> Option<Score> {
        let layout = book.layout();
        let (low, inside_low) = low.split_at(layout.width());
        let (high, inside_high) = high.split_at(layout.width());
        if layout.n_covered(high) < book.min_rows.max(self.min_rows(leaders)) {
            return None;
        }
        let mut bound = book.bound(low, high, length, goal)?;
        let similarity = match self {
            Wanted::Any | Wanted::Wider => return Some(bound),
            Wanted::Different(similarity) | Wanted::Near(similarity) => similarity,
        };
        let inside = inside_low
            .chunks(layout.width())
            .zip(inside_high.chunks(layout.width()));
        for (place, (leader, (inside_low, inside_high))) in leaders.iter().zip(inside).enumerate() {
            if bound < goal {
                break;
            }
            if place == 0 && matches!(self, Wanted::Near(_)) {
                let shared = layout.n_covered(inside_high);
                let either = leader.n_covered + layout.n_covered(low).saturating_sub(shared);
                if share(shared, either) < similarity {
                    return None;
                }
                continue;
            }
            let beside = Beside {
                book,
                leader,
                similarity,
                length,
                goal,
                high,
                low,
                inside_high,
                inside_low,
            };
            bound = bound.min(beside.bound()?);
        }
        Some(bound)
    }
}

/// For each rule, what it shares with those leaders with which it shares enough.
fn shares(
    rows: &dyn Rows,
    leaders: &[Leader],
    rules: &[(u64, &[u32])],
    similarity: f64,
) -> Vec<Vec<f64>> {
    // Sets of very different sizes are never similar.
    let may_be_similar = |n: u64| {
        let is_near = move |leader: &&Leader| {
            let (small, large) = (n.min(leader.n_covered), n.max(leader.n_covered));
            share(small, large) >= leader.share(similarity)
        };
        leaders.iter().filter(is_near).collect::<Vec<&Leader>>()
    };
    let beside: Vec<Vec<&Leader>> = rules.iter().map(|&(n, _)| may_be_similar(n)).collect();
    let asked = rules.iter().map(|(_, conditions)| conditions.to_vec());
    let shared = shared(rows, asked, &beside);
    let layout = rows.layout();
    let each = rules.iter().zip(beside).zip(shared);
    each.map(|((&(n, _), leaders), counts)| {
        let with = leaders.into_iter().zip(counts.iter().skip(1));
        with.filter_map(|(leader, counts)| {
            let shared = layout.n_covered(counts);
            let share = share(shared, n + leader.n_covered - shared);
            (share >= leader.share(similarity)).then_some(share)
        })
        .collect()
    })
    .collect()
}

/// For each conjunction that is compared with leaders its counts, then those of the rows that it shares with each of them.
pub fn shared(
    rows: &dyn Rows,
    conjunctions: impl Iterator<Item = Vec<u32>>,
    beside: &[Vec<&Leader>],
) -> Vec<Vec<Vec<u64>>> {
    let compared = conjunctions.zip(beside);
    let compared = compared.filter(|(_, leaders)| !leaders.is_empty());
    let asked = compared.map(|(conditions, leaders)| With {
        conditions,
        others: leaders
            .iter()
            .map(|leader| &leader.conditions[..])
            .collect(),
    });
    let counts = rows.counts_with(&asked.collect::<Vec<With>>());
    let mut counts = counts.chunks(rows.layout().width()).map(<[u64]>::to_vec);
    let each = beside.iter().map(|leaders| match leaders.len() {
        0 => Vec::new(),
        n => counts.by_ref().take(n + 1).collect(),
    });
    each.collect()
}

/// For each branch, does none of its rules resemble the leader?
fn are_far(rows: &dyn Rows, leader: &Leader, branches: &[Reach], similarity: f64) -> Vec<bool> {
    let n = leader.n_covered;
    let may_be_near = |branch: &Reach| share(branch.most, n) >= similarity;
    let asked = branches.iter().filter(|branch| may_be_near(branch));
    let asked = asked.map(|branch| both(&leader.conditions, branch.conditions));
    let mut shared = covered(rows, asked.collect()).into_iter();
    let is_far = |branch: &Reach| {
        let own = match may_be_near(branch) {
            true => shared.next().unwrap_or(0),
            false => return true,
        };
        share(own, n + branch.least.saturating_sub(own)) < similarity
    };
    branches.iter().map(is_far).collect()
}

/// How many rows each of the conjunctions covers.
pub fn covered(rows: &dyn Rows, conjunctions: Vec<Vec<u32>>) -> Vec<u64> {
    if conjunctions.is_empty() {
        return Vec::new();
    }
    let layout = rows.layout();
    let counts = rows.counts(&conjunctions);
    let each = counts.chunks(layout.width());
    each.map(|counts| layout.n_covered(counts)).collect()
}
