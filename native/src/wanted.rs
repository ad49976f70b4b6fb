//! Which rules may stand in a list beside its leaders, and which branches hold none of them.
//!
//! Every rule of a branch covers the rows of its core and only rows of its own. So its share of rows with a leader
//! (Jaccard) is bounded from both sides, and whole branches of near-duplicates are left out.

use crate::rows::Rows;

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
    fn share(&self, similarity: f64) -> f64 {
        match self.is_left_out {
            true => 1.0,
            false => similarity,
        }
    }
}

/// A branch, as far as its rows are concerned.
pub struct Reach<'a> {
    pub conditions: &'a [u32],
    pub candidates: &'a [u32],
    /// The fewest and the most rows that a rule of the branch covers.
    pub least: u64,
    pub most: u64,
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

    /// For each branch, is none of its rules to be listed? The branches are counted at once.
    pub fn cuts(self, rows: &dyn Rows, leaders: &[Leader], branches: &[Reach]) -> Vec<bool> {
        match self {
            Wanted::Any => vec![false; branches.len()],
            Wanted::Wider => {
                let least = self.min_rows(leaders);
                branches.iter().map(|branch| branch.most < least).collect()
            }
            Wanted::Different(similarity) => are_similar(rows, leaders, branches, similarity),
            Wanted::Near(similarity) => {
                let (center, others) = leaders.split_at(1);
                let far = are_far(rows, &center[0], branches, similarity);
                let cut = are_similar(rows, others, branches, similarity);
                far.into_iter().zip(cut).map(|(x, y)| x || y).collect()
            }
        }
    }
}

/// For each rule, what it shares with those leaders with which it shares enough.
fn shares(
    rows: &dyn Rows,
    leaders: &[Leader],
    rules: &[(u64, &[u32])],
    similarity: f64,
) -> Vec<Vec<f64>> {
    let mut pairs = Vec::new();
    for (index, &(n, _)) in rules.iter().enumerate() {
        for leader in leaders {
            // Sets of very different sizes are never similar.
            let (small, large) = (n.min(leader.n_covered), n.max(leader.n_covered));
            if share(small, large) >= leader.share(similarity) {
                pairs.push((index, leader));
            }
        }
    }
    let asked = pairs
        .iter()
        .map(|(index, leader)| both(&leader.conditions, rules[*index].1));
    let shared = covered(rows, asked.collect());
    let mut shares = vec![Vec::new(); rules.len()];
    for ((index, leader), shared) in pairs.into_iter().zip(shared) {
        let share = share(shared, rules[index].0 + leader.n_covered - shared);
        if share >= leader.share(similarity) {
            shares[index].push(share);
        }
    }
    shares
}

/// For each branch, is there a leader that all of its rules resemble?
fn are_similar(
    rows: &dyn Rows,
    leaders: &[Leader],
    branches: &[Reach],
    similarity: f64,
) -> Vec<bool> {
    let mut pairs = Vec::new();
    let mut asked = Vec::new();
    for (index, branch) in branches.iter().enumerate() {
        for leader in leaders {
            let (n, similarity) = (leader.n_covered, leader.share(similarity));
            if share(branch.least.min(n), branch.most.max(n)) >= similarity {
                pairs.push((index, n, similarity));
                let own = both(&leader.conditions, branch.conditions);
                asked.push(both(&own, branch.candidates));
                asked.push(own);
            }
        }
    }
    let shared = covered(rows, asked);
    let mut similar = vec![false; branches.len()];
    for ((index, n, similarity), shared) in pairs.into_iter().zip(shared.chunks(2)) {
        // At least the core's rows are shared, and all but those that the leader does not have.
        let outside = branches[index].most - shared[1];
        let least = shared[0].max(branches[index].least.saturating_sub(outside));
        similar[index] |= share(least, n + outside) >= similarity;
    }
    similar
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
