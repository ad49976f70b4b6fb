//! Branches that can only tie, and only with a rule that is known already: nothing new is in them.

use super::source::Source;
use crate::score::Score;

/// What can be reached from a branch: rules that cover all rows of its core and only rows of its own.
pub struct Reach<'a> {
    pub source: &'a Source,
    pub bound: Score,
    /// The counts of the rows that every rule of the branch covers.
    pub core: &'a [u64],
    pub high: &'a [u64],
    pub conditions: &'a [u32],
    pub last: u32,
    pub candidates: &'a [u32],
}
impl Reach<'_> {
    /// Is this rule, with these counts, the only one in the branch that could be worth as much as the bound?
    pub fn leads_only_to(&self, counts: &[u64], conditions: &[u32]) -> bool {
        // The rule that covers most positives and fewest negatives, where that is what makes a rule best.
        if !self.source.layout().is_plain() {
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
        let found = self.source.rows.counts(&[inside, core, core_inside]);
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
                let falls_short = (self.source.bound(&low, &high, length, self.bound))
                    .is_none_or(|bound| bound < self.bound);
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
