//! The pooled estimator: the adjusted effect less a margin that does not grow with the number of strata.
//!
//! Stratum z has n of the N rows. A rule covers k of them with target sum S, and fails on f of them with target sum F.
//! These k + f rows are *compared*; rows where a missing value leaves a rule undecided, and rows outside the reference
//! group, are not. Over the compared rows, the target has mean μ and variance s². Both sides get κ = 2 pseudo-rows at that
//! mean: with m = k + κ, m' = f + κ, q = 1/m + 1/m' and w = n/N,
//! ```text
//! δ_z = (S + κμ)/m − (F + κμ)/m' = q (S − kμ)
//! V   = Σ_z w² s² q
//! r   = Σ_z w δ_z − γ ε
//! ```
//!
//! Both sums are over the strata with a *contrast*: those in which the rule covers a row and fails on one. The others
//! contribute neither to the effect nor to its margin; but w is the share of all rows, so they dilute both. A rule without
//! a contrast in any stratum where the target varies is *no rule*: it has no estimate, and its value is below all others
//! ([`Score::MIN`]).
//!
//! A rule may change the variance of a target of more than two levels without changing its mean. There, V is the larger of
//! the above and of the variance of Σ w δ if each side has the variance of its own rows, see [`own_variance`]. The bound
//! ignores the latter, which only lowers values.
//!
//! The margin ε is `β√V` for a given β. For a β by length, that of a rule of l conditions is Bernstein's
//!
//! ```text
//! ε = β_l² b/6 + √( (β_l² b/6)² + β_l² V ),     b = max_z w (y_max − y_min) q
//! ```
//!
//! with y_max and y_min the largest and smallest value of the target among the compared rows, and the maximum over the
//! strata with a contrast. γ is 1 unless rules are ranked by Σ w δ / ε.
//!
//! # What the margin promises
//!
//! Suppose that a rule has no effect: within each stratum, given which rows are compared, every order of their target
//! values is equally likely. The rule's k covered rows are then a sample without replacement of the k + f values, and E δ =
//! 0. Which rows are compared may depend on the target; other rows only enter w, a constant. Which strata have a contrast
//! depends on which rows are compared and covered, not on the order of their values.
//!
//! *V is at least the variance.* With n' = k + f ≥ 2, S has the variance s² k f/(n'−1), so
//!
//! ```text
//! Var δ_z = q² s² k f/(n'−1) ≤ s² q     if     q k f ≤ n' − 1
//! ```
//!
//! and q k f = (n' + 2κ) k f/(m m') with m m' = k f + κn' + κ², so that this is k f (2κ + 1) ≤ (n' − 1)(κn' + κ²). For
//! κ = 2 it follows from k f ≤ n'²/4: 5n'²/4 ≤ 2n'² + 2n' − 4 for every n' ≥ 2. A contrast has n' ≥ 2.
//!
//! *Bernstein's bound is a theorem for a binary outcome.* There δ_z = q (S − kμ), with S hypergeometric. A hypergeometric
//! variable is distributed as a sum of independent indicators (Vatutin and Mikhailov 1982), so Σ w δ is a sum of
//! independent centred terms w q (B_i − p_i), none above w q (y_max − y_min) ≤ b, with variances that sum to at most V.
//! Bernstein's inequality, P(Σ w δ ≥ ε) ≤ exp(−ε²/(2V + 2bε/3)), solved for the ε at which the right side is exp(−β²/2), is
//! the formula above. If exp(−β_l²/2) sums over all rules to at most an error rate, the probability that any rule without
//! effect has r > 0 is at most that rate, however the search proceeds.
//!
//! *For a target of more levels* Hoeffding's reduction (1963, theorem 4) replaces the sample by one with replacement: of
//! the covered rows, or of the failing ones where these are fewer, for S − kμ is minus the same of the others. The
//! theorem then holds with s² q² min(k, f) in place of s² q. That is no more than s² q while
//! min(k, f)² + κ min(k, f) ≤ κ max(k, f) + κ², and always less than twice as much, because q min(k, f) < 1 + 1. No term is
//! above w q max(y_max − μ, μ − y_min) ≤ b.
//!
//! So in this case the bound is proven for less than twice V, while V itself is at least the variance. In simulations with
//! V unchanged (five kinds of targets, strata of 12 to 400 rows, up to 80 % of them excluded) no rule without effect
//! reached its margin more often than a third of exp(−β²/2).

mod boxes;
mod eight;
mod permutations;
mod pieces;

use super::{each_lane, from_number, to_number, Estimator, Limits, Margin, Score, Settings, TOO_MANY};
use crate::bits::cpu::vectorised;
use crate::bits::lanes::{Lanes, LANES};
use crate::table::layout::Layout;
pub use eight::{Boxes, Numbers};
use eight::{MayReach, Rough, Values};
pub use permutations::Known;
use pieces::{Pieces, Reach};

/// Pseudo-rows on each side.
const KAPPA: f64 = 2.0;

/// q
#[inline]
fn share(covered: f64, failing: f64) -> f64 {
    1.0 / (covered + KAPPA) + 1.0 / (failing + KAPPA)
}

/// The variance of δ if each side has the variance of its own rows, from the count, sum and sum of squares of each: δ = q
/// (f S − k F)/(k + f), so that it is q² k f (f s₁² + k s₀²)/(k + f)². A single row has no variance.
#[inline(always)]
fn own_variance(sides: [(f64, f64, f64); 2], share: f64) -> f64 {
    let [spread, other] = sides.map(|(n, sum, squares)| {
        let spread = (squares - sum * sum / n) / (n - 1.0);
        if n > 1.0 && spread > 0.0 {
            spread
        } else {
            0.0
        }
    });
    let (k, f) = (sides[0].0, sides[1].0);
    share * share * k * f * (f * spread + k * other) / ((k + f) * (k + f))
}

/// No value is lower: a score has room for numbers up to 2¹¹, less the rounding.
const LOWEST: f64 = -2000.0;

/// Several accumulators, so that no addition waits for the previous one.
const PARTS: usize = 4;

/// What the pseudo-rows and the margin need to know of the compared rows of a stratum.
#[derive(Clone, Copy)]
struct Null {
    /// μ
    mean: f64,
    /// w s²
    spread: f64,
    /// w (y_max − y_min)
    reach: f64,
}

struct Stratum {
    n: f64,
    weight: f64,
    /// T, the sum of the target, and the sum of its squares.
    sum: f64,
    squares: f64,
    /// The null if all rows are compared.
    null: Null,
}

impl Stratum {
    fn new(cells: &[u64], levels: &[f64], n_rows: f64) -> Stratum {
        let n = cells.iter().sum::<u64>() as f64;
        let weighted = || levels.iter().zip(cells.iter().map(|&count| count as f64));
        Stratum {
            n,
            weight: n / n_rows,
            sum: weighted().map(|(value, count)| value * count).sum(),
            squares: weighted().map(|(value, count)| value * value * count).sum(),
            null: Null::new(levels, |level| cells[level], n, n_rows),
        }
    }
}

impl Null {
    /// The null of these numbers of compared rows by level, in a stratum with n of the table's rows.
    fn new(levels: &[f64], compared: impl Fn(usize) -> u64, n: f64, n_rows: f64) -> Null {
        let each = || {
            levels
                .iter()
                .enumerate()
                .map(|(level, &v)| (v, compared(level) as i64 as f64))
        };
        let (mut rows, mut sum) = (0.0, 0.0);
        for (value, count) in each() {
            rows += count;
            sum += value * count;
        }
        let mean = if rows > 0.0 { sum / rows } else { 0.0 };
        let reach = n / n_rows * range(levels, &compared);
        // Rounding must not give variance to a constant target.
        let squares: f64 = match reach > 0.0 {
            true => each().map(|(v, count)| (v - mean).powi(2) * count).sum(),
            false => 0.0,
        };
        Null {
            mean,
            spread: squares / n_rows * (n / rows.max(1.0)),
            reach,
        }
    }
}

/// The largest less the smallest value of the levels with rows.
fn range(levels: &[f64], rows: impl Fn(usize) -> u64) -> f64 {
    let present = |level: &usize| rows(*level) > 0;
    match ((0..levels.len()).find(present), (0..levels.len()).rfind(present)) {
        (Some(least), Some(most)) => levels[most] - levels[least],
        _ => 0.0,
    }
}

pub struct Pooled {
    layout: Layout,
    levels: Vec<f64>,
    strata: Vec<Stratum>,
    /// Empty if there are too many rows for that, or rules are not compared with all other rows.
    rough: Vec<Rough>,
    n_rows: f64,
    margin: Margin,
    scale: f64,
    /// Covers the rounding in a bound, relative to its terms.
    slack: f64,
}

/// The margin as a concave function of V, with its other parameters.
struct Curve {
    beta: f64,
    /// β² b/6, or 0
    offset: f64,
    scale: f64,
}

impl Curve {
    /// γε
    #[inline(always)]
    fn at(&self, variance: f64) -> f64 {
        let root = (self.offset * self.offset + self.beta * self.beta * variance).sqrt();
        self.scale * (self.offset + root)
    }
}

impl Pooled {
    pub fn new(settings: &Settings, layout: Layout) -> Pooled {
        let n_rows = layout.n_rows().max(1) as f64;
        let strata = layout.all.chunks(layout.n_levels);
        let strata: Vec<Stratum> = strata
            .map(|cells| Stratum::new(cells, &settings.levels, n_rows))
            .collect();
        let is_rough = layout.is_complement() && layout.n_rows() < TOO_MANY;
        let rough = strata.iter().filter(|_| is_rough).map(Rough::new);
        Pooled {
            rough: rough.collect(),
            // Each stratum adds a few roundings, each level one to its sums.
            slack: f64::EPSILON * (16 + strata.len() + 4 * layout.n_levels) as f64,
            layout,
            levels: settings.levels.clone(),
            strata,
            n_rows,
            margin: settings.margin.clone(),
            scale: settings.margin_scale,
        }
    }

    /// The margin of rules of this length, given b, times γ.
    #[inline(always)]
    fn curve(&self, length: usize, reach: f64, scale: f64) -> Curve {
        let (beta, offset) = match &self.margin {
            Margin::Number(beta) => (*beta, 0.0),
            Margin::ByLength(betas) => {
                let beta = betas[length.min(betas.len() - 1)];
                (beta, beta * beta * reach / 6.0)
            }
        };
        Curve { beta, offset, scale }
    }

    /// γε at V, with b at its smallest.
    #[inline(always)]
    fn margin_at(&self, length: usize, reach: &Reach, scale: f64, variance: f64) -> f64 {
        let [first, _] = reach.ends(variance, variance);
        self.curve(length, first, scale).at(variance)
    }

    /// γε at the start of a piece, and the slope of its chord.
    #[inline(always)]
    fn chord(&self, length: usize, reach: &Reach, scale: f64, [start, end]: [f64; 2]) -> [f64; 2] {
        let [first, last] = reach.ends(start, end);
        let from = self.curve(length, first, scale).at(start);
        let rise = self.curve(length, last, scale).at(end) - from;
        let width = end - start;
        [from, if width > 0.0 { rise / width } else { 0.0 }]
    }

    /// The number of rows of one stratum on one side, and their target sum, from the counts of its levels.
    #[inline]
    fn side(&self, counts: &[u64]) -> (f64, f64) {
        let (mut n, mut sums) = ([0; PARTS], [0.0; PARTS]);
        let (levels, last_levels) = self.levels.as_chunks::<PARTS>();
        let (counts, last_counts) = counts.as_chunks::<PARTS>();
        for (levels, counts) in levels.iter().zip(counts) {
            for part in 0..PARTS {
                n[part] += counts[part];
                // Signed numbers are converted in one instruction.
                sums[part] += levels[part] * counts[part] as i64 as f64;
            }
        }
        let (mut n, mut sum) = (n.iter().sum::<u64>(), sums.iter().sum::<f64>());
        for (level, &count) in last_levels.iter().zip(last_counts) {
            n += count;
            sum += level * count as i64 as f64;
        }
        (n as i64 as f64, sum)
    }

    /// The same for the rows on which a rule with these counts fails.
    fn failing_side(&self, counts: &[u64], first: usize) -> (f64, f64) {
        let (mut n, mut sum) = (0, 0.0);
        for (level, value) in self.levels.iter().enumerate() {
            let count = self.layout.failing(counts, first + level);
            n += count;
            sum += value * count as i64 as f64;
        }
        (n as i64 as f64, sum)
    }

    /// Σ y² of the rows with these counts.
    #[inline]
    fn squares(&self, counts: impl Iterator<Item = u64>) -> f64 {
        let each = self.levels.iter().zip(counts);
        each.map(|(level, count)| level * level * count as i64 as f64).sum()
    }

    /// Σ w δ and γε of a rule; `None` if there is no comparison, see the top of this file.
    pub fn effect_and_margin(&self, counts: &[u64], length: usize, scale: f64) -> Option<(f64, f64)> {
        let n_levels = self.levels.len();
        let (mut effect, mut variance, mut reach) = (0.0, 0.0, 0.0f64);
        let mut own = 0.0f64;
        // Always in the order of the strata, so that the sums do not depend on where counts come from.
        for (index, stratum) in self.strata.iter().enumerate() {
            let first = index * n_levels;
            let (covered, covered_sum) = self.side(&counts[first..first + n_levels]);
            let (null, (failing, failing_sum)) = if self.layout.is_complement() {
                let rest = (stratum.n - covered, stratum.sum - covered_sum);
                (stratum.null, rest)
            } else {
                let compared = |level| counts[first + level] + self.layout.failing(counts, first + level);
                let null = Null::new(&self.levels, compared, stratum.n, self.n_rows);
                (null, self.failing_side(counts, first))
            };
            if covered > 0.0 && failing > 0.0 {
                let (m, rest) = (covered + KAPPA, failing + KAPPA);
                let product = 1.0 / (m * rest);
                let share = (m + rest) * product;
                variance += stratum.weight * null.spread * share;
                let prior = KAPPA * null.mean;
                let difference = (covered_sum + prior) * rest - (failing_sum + prior) * m;
                effect += stratum.weight * difference * product;
                reach = reach.max(null.reach * share);
                if n_levels > 2 {
                    let cells = first..first + n_levels;
                    let squares = self.squares(counts[cells.clone()].iter().copied());
                    let failing_squares = match self.layout.is_complement() {
                        true => stratum.squares - squares,
                        false => self.squares(cells.map(|cell| self.layout.failing(counts, cell))),
                    };
                    let sides = [(covered, covered_sum, squares), (failing, failing_sum, failing_squares)];
                    own += stratum.weight * stratum.weight * own_variance(sides, share);
                }
            }
        }
        variance = variance.max(own);
        (reach > 0.0).then(|| (effect, self.curve(length, reach, scale).at(variance)))
    }

    /// The score of a value or a bound; `Score::MIN` for minus infinity.
    fn score(&self, number: f64) -> Score {
        match number {
            f64::NEG_INFINITY => Score::MIN,
            _ => from_number(number.max(LOWEST)),
        }
    }
}

/// The range around a goal: below the first number the goal is not reached, from the second on it is. One unit and one
/// rounding of slack on each side, since scores are truncated and large ones rounded.
fn goal_range(goal: Score) -> [f64; 2] {
    match goal {
        Score::MIN => [f64::NEG_INFINITY, f64::INFINITY],
        _ => [
            to_number(goal.saturating_sub(1)).next_down(),
            to_number(goal.saturating_add(1)).next_up(),
        ],
    }
}

impl Estimator for Pooled {
    fn value(&self, counts: &[u64], length: usize) -> Score {
        let found = self.effect_and_margin(counts, length, self.scale);
        found.map_or(Score::MIN, |(effect, margin)| self.score(effect - margin))
    }

    fn values(&self, counts: &[Lanes], length: usize) -> [Score; LANES] {
        if !self.layout.is_complement() {
            return each_lane(counts, |counts| self.value(counts, length));
        }
        let values = vectorised(Values {
            pooled: self,
            counts,
            length,
        });
        values.map(|value| self.score(value))
    }

    fn may_reach(&self, counts: &[Lanes], length: usize, goal: Score) -> [bool; LANES] {
        if self.rough.is_empty() || to_number(goal) <= LOWEST {
            return [true; LANES];
        }
        vectorised(MayReach {
            strata: &self.rough,
            levels: &self.levels,
            counts,
            goal: (to_number(goal) as f32).next_down(),
            curve: self.curve(length, 1.0, self.scale),
        })
    }

    /// For V between V₀ and V₁ the margin, concave in V, lies above its chord: γε(V) ≥ γε(V₀) + ρ (V − V₀) with
    /// ρ = γ(ε(V₁) − ε(V₀))/(V₁ − V₀). So the value of every rule with such a V is at most
    ///
    /// ```text
    /// −γε(V₀) + ρV₀ + Σ_z w h_z,     h = δ − ρ w s² q
    /// ```
    ///
    /// and the strata separate. The pieces go from the smallest V of the box to the largest, each twice as far as the one
    /// before, and the bound is the largest over the pieces. Several pieces tried as one longer piece give a looser bound,
    /// which may suffice. b, on which the margin also depends, is taken at its smallest for such a V, see [`Reach`].
    ///
    /// A stratum in which a rule of the box may cover nothing, or everything, may lack a contrast: h is then at least 0,
    /// and V and b may exclude it. But a rule has a contrast somewhere, so V and b are at least the smallest that a single
    /// stratum gives; if no stratum can have a contrast, the box holds no rule.
    fn bound(&self, low: &[u64], high: &[u64], length: usize, goal: Score) -> Score {
        if self.layout.is_complement() {
            let limits = [Limits { low, high }];
            let mut bounds = Vec::new();
            self.bounds(&limits, length, goal, &mut bounds);
            return bounds[0];
        }
        self.bound_of_sides(low, high, length, goal, self.scale)
    }

    fn bounds(&self, limits: &[Limits], length: usize, goal: Score, bounds: &mut Vec<Score>) {
        bounds.clear();
        if !self.layout.is_complement() {
            let each = limits.iter();
            bounds.extend(each.map(|limits| self.bound(limits.low, limits.high, length, goal)));
            return;
        }
        let mut boxes = Boxes::new(self);
        let range = goal_range(goal);
        for limits in limits.chunks(LANES) {
            let found = boxes.bounds(limits, length, &[self.scale; LANES], range);
            bounds.extend(found[..limits.len()].iter().map(|&bound| self.score(bound)));
        }
    }

    fn is_by_length(&self) -> bool {
        matches!(self.margin, Margin::ByLength(_))
    }
}
