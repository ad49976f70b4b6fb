//! Bounds of one box at a time, with covered and failing rows counted separately. The proofs stand beside the terms that
//! they bound; tests compare random boxes with all of their rules.

use super::{goal_range, range, share, Null, Pieces, Pooled, Reach, Stratum, KAPPA};
use crate::score::Score;
use crate::table::layout::Sides;

/// The smallest and the largest values of a null in a box.
#[derive(Clone, Copy)]
struct Nulls {
    least: Null,
    most: Null,
}

/// The possible counts of one stratum.
struct Cells<'a> {
    low: &'a [u64],
    high: &'a [u64],
    /// Covered rows, fewest and most.
    covered: [f64; 2],
    /// Failing rows, fewest and most.
    failing: [f64; 2],
    first: usize,
}

impl Cells<'_> {
    /// Do all rules of the box have a contrast here (cover a row and fail on one)?
    fn has_contrast(&self) -> bool {
        self.covered[0] > 0.0 && self.failing[0] > 0.0
    }

    /// Does some rule of the box?
    fn may_have_contrast(&self) -> bool {
        self.covered[1] > 0.0 && self.failing[1] > 0.0
    }
}

impl Pooled {
    fn cells<'a>(&self, low: &'a [u64], high: &'a [u64], stratum: usize) -> Cells<'a> {
        let n_levels = self.levels.len();
        let first = stratum * n_levels;
        let (low_here, high_here) = (&low[first..first + n_levels], &high[first..first + n_levels]);
        let sum = |cells: &[u64]| cells.iter().sum::<u64>() as i64 as f64;
        let covered = [sum(low_here), sum(high_here)];
        let n = self.strata[stratum].n;
        let failing = match &self.layout.sides {
            Sides::Complement => [n - covered[1], n - covered[0]],
            Sides::Possible => {
                let possible = self.layout.n_cells() + first;
                [high, low].map(|counts| n - sum(&counts[possible..possible + n_levels]))
            }
            Sides::Reference(rows) => [sum(&rows[first..first + n_levels]); 2],
        };
        Cells {
            low: low_here,
            high: high_here,
            covered,
            failing,
            first,
        }
    }

    /// The smallest and the largest q of the box, if there is a contrast.
    ///
    /// Each side contributes to q a term that falls with its number of rows; for a fixed total of both sides, q is smallest
    /// nearest to k = f.
    #[inline]
    fn shares(&self, stratum: &Stratum, cells: &Cells) -> [f64; 2] {
        let (covered, failing) = (cells.covered, cells.failing);
        let most = stratum.n.min(covered[1] + failing[1]);
        let middle = (most / 2.0).clamp(most - failing[1], covered[1]);
        let largest = share(covered[0].max(1.0), failing[0].max(1.0));
        [share(middle, most - middle), largest]
    }

    /// The nulls of the box: the compared rows are those that every rule covers, those on which every rule fails, and any
    /// of the others that can be either.
    ///
    /// Their mean is smallest with all others of the lowest values, as long as these are lower than the mean so far, and
    /// largest with the highest. Their variance is at least
    ///
    /// ```text
    /// ( Σ (y − μ₀)² over the rows that must be compared, of mean μ₀, + Σ d² over the others ) / their number
    /// ```
    ///
    /// with d the distance of a value from the possible means; this is smallest with all others of the smallest d, as long
    /// as d² is below the result so far. It is at most a quarter of the squared range.
    fn nulls(&self, low: &[u64], high: &[u64], stratum: usize) -> Nulls {
        let n_levels = self.levels.len();
        let first = stratum * n_levels;
        let must = |level: usize| low[first + level] + self.layout.failing(high, first + level);
        let may = |level: usize| {
            let both = high[first + level] + self.layout.failing(low, first + level);
            both.min(self.layout.all[first + level])
        };
        let free = |level: usize| (may(level) - must(level)) as i64 as f64;
        let (mut n, mut sum) = (0.0, 0.0);
        for (level, value) in self.levels.iter().enumerate() {
            let count = must(level) as i64 as f64;
            n += count;
            sum += value * count;
        }
        let extreme = |order: &mut dyn Iterator<Item = usize>, sign: f64| {
            let (mut n, mut sum) = (n, sum);
            for level in order {
                let added = free(level);
                if added > 0.0 && (n == 0.0 || sign * self.levels[level] * n < sign * sum) {
                    (n, sum) = (n + added, sum + added * self.levels[level]);
                }
            }
            if n > 0.0 {
                sum / n
            } else {
                0.0
            }
        };
        let smallest = extreme(&mut (0..n_levels), 1.0);
        let largest = extreme(&mut (0..n_levels).rev(), -1.0);

        let here = &self.strata[stratum];
        let (reach, widest) = (range(&self.levels, must), range(&self.levels, may));
        let mut squares = 0.0;
        if reach > 0.0 {
            let mean = sum / n;
            for (level, value) in self.levels.iter().enumerate() {
                squares += (value - mean).powi(2) * must(level) as i64 as f64;
            }
            let (mut below, mut above) = (0, n_levels);
            for (level, &value) in self.levels.iter().enumerate() {
                if value < smallest {
                    below = level + 1;
                } else if value > largest {
                    above = above.min(level);
                } else {
                    n += free(level);
                }
            }
            loop {
                let left = below.checked_sub(1).map(|level| (smallest - self.levels[level], level));
                let right = (above < n_levels).then(|| (self.levels[above] - largest, above));
                let (distance, level) = match (left, right) {
                    (Some(left), Some(right)) if right.0 < left.0 => right,
                    (Some(left), _) => left,
                    (None, Some(right)) => right,
                    (None, None) => break,
                };
                if distance * distance * n >= squares {
                    break;
                }
                if level < below {
                    below = level;
                } else {
                    above = level + 1;
                }
                // The possible means are rounded.
                let distance = (distance - self.slack).max(0.0);
                n += free(level);
                squares += distance * distance * free(level);
            }
            squares = squares / n * (1.0 - self.slack);
        }
        Nulls {
            least: Null {
                mean: smallest,
                spread: here.weight * squares,
                reach: here.weight * reach,
            },
            most: Null {
                mean: largest,
                spread: here.weight * widest * widest / 4.0,
                reach: here.weight * widest,
            },
        }
    }

    /// At least h = δ − c q over the box, c ≥ 0.
    #[inline]
    fn largest(&self, nulls: &Nulls, cells: &Cells, low: &[u64], high: &[u64], c: f64) -> f64 {
        // μ raises δ where the covered side is the smaller one, and lowers it where it is the larger one.
        let of_mean = |null: &Null| self.largest_of_sides(null.mean, cells, low, high, c);
        let (covered, failing) = (cells.covered, cells.failing);
        if covered[1] <= failing[0] || nulls.least.mean == nulls.most.mean {
            of_mean(&nulls.most)
        } else if covered[0] >= failing[1] {
            of_mean(&nulls.least)
        } else {
            of_mean(&nulls.least).max(of_mean(&nulls.most))
        }
    }

    /// At least h for a known μ and separately counted sides: the best of each,
    ///
    /// ```text
    /// h = (S + κμ − c)/m − (F + κμ + c)/m'
    /// ```
    ///
    /// The first term is a mean of the covered rows and a few others. A row raises it if its value is above the mean, so
    /// beyond the rows that must be covered the best are the highest values, as long as they are above the mean so far.
    /// Likewise the lowest values for the second term.
    #[inline]
    fn largest_of_sides(&self, mean: f64, cells: &Cells, low: &[u64], high: &[u64], c: f64) -> f64 {
        let prior = KAPPA * mean;
        let (_, sum) = self.side(cells.low);
        let (mut m, mut x) = (cells.covered[0] + KAPPA, sum + prior - c);
        for (level, &value) in self.levels.iter().enumerate().rev() {
            if value * m > x {
                let added = (cells.high[level] - cells.low[level]) as f64;
                (m, x) = (m + added, x + value * added);
            }
        }
        let fewest = |level: usize| self.layout.failing(high, cells.first + level);
        let most = |level: usize| self.layout.failing(low, cells.first + level);
        let (_, sum) = self.failing_side(high, cells.first);
        let (mut rest, mut y) = (cells.failing[0] + KAPPA, sum + prior + c);
        for (level, &value) in self.levels.iter().enumerate() {
            if value * rest < y {
                let added = (most(level) - fewest(level)) as f64;
                (rest, y) = (rest + added, y + value * added);
            }
        }
        x / m - y / rest
    }

    /// Σ w h over all strata, each at its largest; c = γρ w s² in each. Without a contrast, h is 0.
    fn largest_sum(&self, nulls: &[Nulls], low: &[u64], high: &[u64], slope: f64) -> f64 {
        let mut sum = 0.0;
        for (index, (stratum, nulls)) in self.strata.iter().zip(nulls).enumerate() {
            let cells = self.cells(low, high, index);
            if !cells.may_have_contrast() {
                continue;
            }
            let c = slope * nulls.least.spread;
            let largest = self.largest(nulls, &cells, low, high, c);
            let least = if cells.has_contrast() { largest } else { 0.0 };
            sum += stratum.weight * largest.max(least);
        }
        sum
    }

    /// The bound of one box, see [`super::Pooled::bound`]: γ is `scale`.
    pub(super) fn bound_of_sides(&self, low: &[u64], high: &[u64], length: usize, goal: Score, scale: f64) -> Score {
        let nulls: Vec<Nulls> = (0..self.strata.len())
            .map(|index| self.nulls(low, high, index))
            .collect();
        let nulls = &nulls[..];
        let (mut least, mut most, mut reach) = (0.0f64, 0.0, Reach::default());
        // The smallest V and b of a single stratum.
        let [mut least_alone, mut reach_alone] = [f64::INFINITY; 2];
        for (index, (stratum, nulls)) in self.strata.iter().zip(nulls).enumerate() {
            let cells = self.cells(low, high, index);
            let varies = nulls.most.reach > 0.0;
            if !varies || !cells.may_have_contrast() {
                continue;
            }
            let [smallest, largest] = self.shares(stratum, &cells);
            let v = stratum.weight * nulls.least.spread * smallest;
            let b = nulls.least.reach * smallest;
            if cells.has_contrast() {
                least += v;
                reach.least = reach.least.max(b);
            }
            least_alone = least_alone.min(v);
            reach_alone = reach_alone.min(b);
            most += stratum.weight * nulls.most.spread * largest;
            // s² is no more than a quarter of the squared range.
            reach.ratio += nulls.most.reach / 4.0;
        }
        if least_alone.is_infinite() {
            return Score::MIN; // no comparison possible
        }
        least = least.max(least_alone);
        reach.least = reach.least.max(reach_alone);
        reach.ratio *= 1.0 + self.slack;
        let mut pieces = Pieces::new([least, most], goal_range(goal));
        let least_margin = |variance: f64| self.margin_at(length, &reach, scale, variance);
        let largest_effect = self.largest_sum(nulls, low, high, 0.0);
        let slack = self.slack * (4.0 + least_margin(pieces.most));
        loop {
            // Cheap and nearly tight: the largest effect with the smallest margin. It also bounds all pieces from V₀ on.
            let cheap = largest_effect - least_margin(pieces.start) + slack;
            pieces.note_cheap(cheap);
            if pieces.is_done {
                return self.score(pieces.bound);
            }
            let ends = [pieces.start, pieces.end()];
            let [from, slope] = self.chord(length, &reach, scale, ends);
            let sum = self.largest_sum(nulls, low, high, slope);
            pieces.note(sum - from + slope * ends[0] + slack, cheap);
        }
    }
}
