//! What a branch can reach that does not resemble a leader.
//!
//! A rule covers x rows of a leader of n rows, and y others: it resembles the leader unless x / (n + y) is less than s. So
//! with few others it has few of the leader's rows, however many of them the branch covers, and with many of the leader's
//! rows it has many others. For y between two numbers that is a box of counts: no cell has more rows of the leader than
//! are allowed with the larger number, nor fewer others than the smaller one leaves to it when all other cells have all of
//! theirs. The bound over all y is the highest of several such boxes: one for those with which a rule may have all rows of
//! the leader, and some for fewer.

use crate::estimator::{Limits, Score};
use crate::lanes::LANES;
use crate::rulebook::Rulebook;
use crate::wanted::{shared, Leader, Reach};

/// How often a range of others is parted into as many as are bounded at once.
const PARTED: usize = 2;

/// For each branch, at least the value of every rule of it that resembles no leader; `None` if there is none.
pub fn bounds(
    book: &Rulebook,
    leaders: &[Leader],
    branches: &[Reach],
    similarity: f64,
    goal: Score,
) -> Vec<Option<Score>> {
    let matters = |leader: &&Leader, shared| leader.is_resembled(shared, shared, similarity);
    let large = |branch: &Reach| -> Vec<&Leader> {
        let may = |leader: &&Leader| matters(leader, branch.most.min(leader.n_covered));
        leaders.iter().filter(may).collect()
    };
    let beside: Vec<Vec<&Leader>> = branches.iter().map(large).collect();
    let own = branches.iter().map(|branch| branch.conditions.to_vec());
    let mut high = shared(&*book.rows, own, &beside);
    // Of most leaders a branch has too few rows to resemble them. The rows of a core take longer to find than its own.
    let near = high.iter_mut().zip(beside).map(|(high, leaders)| {
        let each = leaders.into_iter().zip(high.split_off(high.len().min(1)));
        each.filter(|(leader, counts)| matters(leader, book.layout().n_covered(counts)))
            .unzip()
    });
    let (beside, inside): (Vec<Vec<&Leader>>, Vec<Vec<Vec<u64>>>) = near.unzip();
    let core = branches
        .iter()
        .map(|branch| [branch.conditions, branch.candidates].concat());
    let low = shared(&*book.rows, core, &beside);
    let mut found = Vec::with_capacity(branches.len());
    for (index, branch) in branches.iter().enumerate() {
        let each = beside[index].iter().zip(&inside[index]).enumerate();
        let bounds = each.map(|(place, (leader, inside_high))| {
            Beside {
                book,
                leader,
                similarity,
                length: branch.length,
                goal,
                high: &high[index][0],
                low: &low[index][0],
                inside_high,
                inside_low: &low[index][place + 1],
            }
            .bound()
        });
        found.push(bounds.min().unwrap_or(Some(Score::MAX)));
    }
    found
}

/// A branch beside a leader: the fewest and the most rows of each cell, of all and of those of the leader.
pub struct Beside<'a> {
    pub book: &'a Rulebook,
    pub leader: &'a Leader,
    pub similarity: f64,
    pub length: usize,
    pub goal: Score,
    pub high: &'a [u64],
    pub low: &'a [u64],
    pub inside_high: &'a [u64],
    pub inside_low: &'a [u64],
}

impl Beside<'_> {
    pub fn bound(&self) -> Option<Score> {
        let n = |counts: &[u64]| self.book.layout().n_covered(counts);
        let (inside_low, inside_high) = (n(self.inside_low), n(self.inside_high));
        let most = n(self.high) - inside_high;
        let least = (n(self.low) - inside_low).max(self.others_with(inside_low));
        if least > most {
            return None;
        }
        // From here on, rules may have all rows of the leader.
        let free = self.others_with(inside_high).max(least);
        let with_all = match free <= most {
            true => self.highest(&[(free, most)], 0),
            false => None,
        };
        if with_all >= Some(self.goal) || free == least {
            return with_all.max(self.highest(&[(least, most)], 0));
        }
        with_all.max(self.highest(&[(least, most.min(free - 1))], PARTED))
    }

    /// At least the value of every rule with so many rows that are not the leader's. Ranges whose bound reaches the goal
    /// are parted so often.
    fn highest(&self, ranges: &[(u64, u64)], parted: usize) -> Option<Score> {
        let boxes = ranges
            .iter()
            .filter_map(|&range| Some((range, self.between(range)?)));
        let boxes: Vec<_> = boxes.collect();
        let limits = boxes.iter().map(|(_, (low, high))| Limits { low, high });
        let limits: Vec<Limits> = limits.collect();
        let bounds = self.book.bounds(&limits, self.length, self.goal);
        let mut highest = None;
        for (&((least, most), _), bound) in boxes.iter().zip(bounds) {
            // Once it is clear that the branch is entered, how far it reaches does not matter.
            let is_open = highest < Some(self.goal) && bound >= Some(self.goal);
            let bound = match is_open && parted > 0 && least < most {
                true => self.highest(&parts(least, most), parted - 1),
                false => bound,
            };
            highest = highest.max(bound);
        }
        highest
    }

    /// The fewest and the most rows of each cell that a rule has with `least` to `most` rows that are not the leader's, if
    /// there is such a rule.
    fn between(&self, (least, most): (u64, u64)) -> Option<(Vec<u64>, Vec<u64>)> {
        let layout = self.book.layout();
        let n = |counts: &[u64]| layout.n_covered(counts);
        let (mut low, mut high) = (self.low.to_vec(), self.high.to_vec());
        let inside_least = n(self.inside_low);
        let others_least = n(self.low) - inside_least;
        let others_most = n(self.high) - n(self.inside_high);
        // How many more than the fewest there may be, and how many fewer than the most.
        let spare_inside = self.rows_beside(most).checked_sub(inside_least)?;
        let spare = most.min(others_most).checked_sub(others_least)?;
        let missing = others_most.checked_sub(least)?;
        for cell in 0..layout.n_cells() {
            let (inside_low, inside_high) = (self.inside_low[cell], self.inside_high[cell]);
            let outside_low = self.low[cell] - inside_low;
            let outside_high = self.high[cell] - inside_high;
            high[cell] =
                inside_high.min(inside_low + spare_inside) + outside_high.min(outside_low + spare);
            low[cell] = inside_low + outside_low.max(outside_high.saturating_sub(missing));
        }
        layout.complete(&mut low);
        Some((low, high))
    }

    /// The fewest others that a rule with so many of the leader's rows must have.
    fn others_with(&self, inside: u64) -> u64 {
        let share = self.leader.share(self.similarity);
        let n = self.leader.n_covered;
        let mut others = ((inside as f64 / share) as u64).saturating_sub(n.saturating_add(2));
        while self
            .leader
            .is_resembled(inside, others.saturating_add(inside), self.similarity)
        {
            others += 1;
        }
        others
    }

    /// The most of the leader's rows that a rule with so many others may have.
    fn rows_beside(&self, others: u64) -> u64 {
        let share = self.leader.share(self.similarity);
        let mut inside = (share * (self.leader.n_covered + others) as f64) as u64 + 2;
        while inside > 0
            && self
                .leader
                .is_resembled(inside, inside + others, self.similarity)
        {
            inside -= 1;
        }
        inside
    }
}

/// Parts of a range of numbers, about equal.
fn parts(least: u64, most: u64) -> Vec<(u64, u64)> {
    let step = (most - least) / LANES as u64 + 1;
    let starts = (least..=most).step_by(step as usize);
    starts
        .map(|start| (start, most.min(start + step - 1)))
        .collect()
}
