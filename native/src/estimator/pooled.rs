//! The pooled estimator: the adjusted effect less a margin for chance that does not grow with the number of strata.
//!
//! Stratum z has n rows, and the target has mean μ and variance s² over all of them. A rule covers k of these rows with
//! sum S of the target, and fails on f of them with sum F. Both sides get κ = 2 pseudo-rows at the stratum's own mean:
//! with m = k + κ, m' = f + κ, q = 1/m + 1/m' and w = n/N,
//!
//! ```text
//! δ_z = (S + κμ)/m − (F + κμ)/m'      0 where the rule covers nothing or fails nowhere in the stratum
//! V   = Σ_z w² s² q
//! r   = Σ_z w δ_z − γ ε
//! ```
//!
//! The margin ε is `β√V` for a given β. For a β by length, that of a rule of l conditions is Bernstein's
//!
//! ```text
//! ε = β_l² b/6 + √( (β_l² b/6)² + β_l² V ),     b = max_z w (y_max − y_min) q
//! ```
//!
//! with y_max and y_min the largest and smallest value of the target in the stratum, and the maximum over the strata
//! where the rule both covers and fails on a row: in the others nothing is left to chance. γ is 1 unless rules are
//! ranked by Σ w δ / ε.
//!
//! # What the margin promises
//!
//! Suppose that a rule has no effect: within each stratum, every order of the target's values is equally likely. The
//! rule's k covered rows are then a sample of the stratum's n values without replacement, and E δ = 0.
//!
//! *V is at least the variance.* δ_z = Σ_i c_i y_i with c_i = 1/m on covered rows, −1/m' on failing rows and 0 on others,
//! so that for n ≥ 2
//!
//! ```text
//! Var δ_z = s² n/(n−1) Σ_i (c_i − c̄)² ≤ s² n/(n−1) (k/m² + f/m'²) = s² n/(n−1) (q − κ/m² − κ/m'²)
//! ```
//!
//! This is at most s² q if q/n ≤ κ/m² + κ/m'², and since the right side is at least κq²/2 = q² and
//! q ≥ 4/(m + m') ≥ 4/(n + 4), it is for every n ≥ 2. With n = 1 one side is empty and δ = 0.
//!
//! *Bernstein's bound is a theorem for an outcome that happens or not, compared with all other rows.* There f = n − k and
//! δ_z = q (S − kμ), with S hypergeometric. A hypergeometric variable is distributed as a sum of independent indicators
//! (Vatutin and Mikhailov 1982), so Σ w δ is a sum of independent centred terms w q (B_i − p_i), none above
//! w q (y_max − y_min) ≤ b, with variances that add up to no more than V. Bernstein's inequality,
//! P(Σ w δ ≥ ε) ≤ exp(−ε²/(2V + 2bε/3)), solved for the ε at which the right side is exp(−β²/2), is the formula above. Over
//! rules whose exp(−β_l²/2) add up to no more than an error rate, the chance that any rule without effect has r > 0 is
//! no more than that rate, whatever the search does.
//!
//! *For a target of more levels* Hoeffding's reduction (1963, theorem 4) replaces the sample by one with replacement: of
//! the covered rows, or of the uncovered ones where these are fewer, for S − kμ is minus the same of the others. The
//! theorem then holds with s² q² min(k, f) in place of s² q. That is no more than s² q while
//! min(k, f)² + κ min(k, f) ≤ κ max(k, f) + κ², and always less than twice as much, because q min(k, f) < 1 + 1. No term is
//! above w q max(y_max − μ, μ − y_min) ≤ b.
//!
//! *For rules that leave rows out of the comparison* the two sides are samples that depend on each other. With
//! E exp(t(X + Y)) ≤ √(E exp(2tX) E exp(2tY)) and Hoeffding's reduction for each of them, the theorem holds with 2V and 2b.
//!
//! So in these two cases the bound is proven for less than twice V, or for twice V and b, while V itself is at least the
//! variance. In simulations with V and b as they are (five kinds of targets, strata of 12 to 400 rows, up to a third of
//! them left out) no rule without effect reached its margin more often than a third of exp(−β²/2).

use super::{from_number, Estimator, Margin, Score, Settings};
use crate::layout::{Layout, Sides};

/// Pseudo-rows on each side.
const KAPPA: f64 = 2.0;

const LANES: usize = 4;

struct Stratum {
    n: f64,
    weight: f64,
    mean: f64,
    /// T, the sum of the target.
    sum: f64,
    /// w s²
    spread: f64,
    /// w (y_max − y_min)
    reach: f64,
}

impl Stratum {
    fn new(cells: &[u64], levels: &[f64], n_rows: f64) -> Stratum {
        let n = cells.iter().sum::<u64>() as f64;
        let each = || levels.iter().zip(cells.iter().map(|&count| count as f64));
        let sum: f64 = each().map(|(value, count)| value * count).sum();
        let mean = if n > 0.0 { sum / n } else { 0.0 };
        let squares: f64 = each().map(|(v, count)| (v - mean).powi(2) * count).sum();
        let present = || each().filter(|(_, count)| *count > 0.0).map(|(v, _)| *v);
        let range = match (present().next(), present().next_back()) {
            (Some(least), Some(most)) => most - least,
            _ => 0.0,
        };
        Stratum {
            n,
            weight: n / n_rows,
            mean,
            sum,
            spread: squares / n_rows,
            reach: n / n_rows * range,
        }
    }
}

pub struct Pooled {
    layout: Layout,
    levels: Vec<f64>,
    strata: Vec<Stratum>,
    margin: Margin,
    scale: f64,
    /// Covers the rounding of the operations of a bound, relative to the numbers in it.
    slack: f64,
}

/// A margin as a function of V that is concave, with what it needs to know besides V.
struct Curve {
    beta: f64,
    /// β² b/6, or 0
    offset: f64,
    scale: f64,
}

impl Curve {
    /// γε
    fn at(&self, variance: f64) -> f64 {
        let root = (self.offset * self.offset + self.beta * self.beta * variance).sqrt();
        self.scale * (self.offset + root)
    }
}

/// What the counts of one stratum can be.
struct Cells<'a> {
    low: &'a [u64],
    high: &'a [u64],
    /// Covered rows, fewest and most.
    covered: [f64; 2],
    /// Failing rows, fewest and most.
    failing: [f64; 2],
    first: usize,
}

impl Pooled {
    pub fn new(settings: &Settings, layout: Layout) -> Pooled {
        let n_rows = layout.n_rows().max(1) as f64;
        let strata = layout.all.chunks(layout.n_levels);
        let strata: Vec<Stratum> = strata
            .map(|cells| Stratum::new(cells, &settings.levels, n_rows))
            .collect();
        Pooled {
            // Each stratum adds a few roundings, each level one to its sums.
            slack: f64::EPSILON * (16 + strata.len() + 4 * layout.n_levels) as f64,
            layout,
            levels: settings.levels.clone(),
            strata,
            margin: settings.margin.clone(),
            scale: settings.margin_scale,
        }
    }

    /// The margin of rules of this length, given b.
    fn curve(&self, length: usize, reach: f64) -> Curve {
        let (beta, offset) = match &self.margin {
            Margin::Number(beta) => (*beta, 0.0),
            Margin::ByLength(betas) => {
                let beta = betas[length.min(betas.len() - 1)];
                (beta, beta * beta * reach / 6.0)
            }
        };
        Curve {
            beta,
            offset,
            scale: self.scale,
        }
    }

    /// The number of rows of one stratum on one side, and the sum of their target, from the counts of its levels.
    #[inline]
    fn side(&self, counts: &[u64]) -> (f64, f64) {
        let (mut n, mut sums) = ([0; LANES], [0.0; LANES]);
        let (levels, last_levels) = self.levels.as_chunks::<LANES>();
        let (counts, last_counts) = counts.as_chunks::<LANES>();
        // Several sums, so that no addition waits for the one before.
        for (levels, counts) in levels.iter().zip(counts) {
            for lane in 0..LANES {
                n[lane] += counts[lane];
                // Signed numbers are converted in one instruction.
                sums[lane] += levels[lane] * counts[lane] as i64 as f64;
            }
        }
        let (mut n, mut sum) = (n.iter().sum::<u64>(), sums.iter().sum::<f64>());
        for (level, &count) in last_levels.iter().zip(last_counts) {
            n += count;
            sum += level * count as i64 as f64;
        }
        (n as i64 as f64, sum)
    }

    /// The same for the rows that a rule with these counts fails on.
    fn failing_side(&self, counts: &[u64], first: usize) -> (f64, f64) {
        let (mut n, mut sum) = (0, 0.0);
        for (level, value) in self.levels.iter().enumerate() {
            let count = self.layout.failing(counts, first + level);
            n += count;
            sum += value * count as i64 as f64;
        }
        (n as i64 as f64, sum)
    }

    fn cells<'a>(&self, low: &'a [u64], high: &'a [u64], stratum: usize) -> Cells<'a> {
        let n_levels = self.levels.len();
        let first = stratum * n_levels;
        let (low_here, high_here) = (
            &low[first..first + n_levels],
            &high[first..first + n_levels],
        );
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

    /// The smallest and the largest q of the box.
    ///
    /// Where f = n − k, q = M/(m (M − m)) with M = n + 2κ: it is smallest nearest to k = n/2 and largest at an end.
    /// Otherwise each side has its share of q, which falls with its number of rows.
    #[inline]
    fn shares(&self, stratum: &Stratum, cells: &Cells) -> [f64; 2] {
        let total = stratum.n + 2.0 * KAPPA;
        let (covered, failing) = (cells.covered, cells.failing);
        if self.layout.is_complement() {
            let share = |k: f64| total / ((k + KAPPA) * (stratum.n - k + KAPPA));
            let middle = (stratum.n / 2.0).clamp(covered[0], covered[1]);
            [share(middle), share(covered[0]).max(share(covered[1]))]
        } else {
            let share = |k: f64, f: f64| 1.0 / (k + KAPPA) + 1.0 / (f + KAPPA);
            [share(covered[1], failing[1]), share(covered[0], failing[0])]
        }
    }

    /// At least h = δ − c q over the box, c ≥ 0.
    #[inline]
    fn largest(&self, stratum: &Stratum, cells: &Cells, low: &[u64], high: &[u64], c: f64) -> f64 {
        if self.layout.is_complement() {
            self.largest_with_complement(stratum, cells, c)
        } else {
            self.largest_of_sides(stratum, cells, low, high, c)
        }
    }

    /// The same where f = n − k and F = T − S, exactly but for k being a whole number:
    ///
    /// ```text
    /// h = (S + κμ − c)/m − (T − S + κμ + c)/m'
    /// ```
    ///
    /// For a given k the largest S is best. It is that of the rows that must be covered and then of those with the
    /// highest values: along a stretch of k in which rows of one value v are added, S = S₀ + v (m − m₀). With X and Y the
    /// numerators at its beginning, m₀' = M − m₀, A = X − v m₀ and B = Y − v m₀',
    ///
    /// ```text
    /// h = A/m − B/(M − m),     h' = −A/m² − B/(M − m)²
    /// ```
    ///
    /// Where −A and B are positive, h is concave; if its slope changes sign inside the stretch, the maximum is at
    /// m = M√−A/(√−A + √B), where h = −(√−A + √B)²/M. In all other cases h is monotone or convex, and the maximum is at
    /// an end. An outcome that happens or not has two stretches, a target of L levels has L.
    ///
    /// (δ is 0 for k = 0 and k = n without being set so: both terms are μ then.)
    #[inline]
    fn largest_with_complement(&self, stratum: &Stratum, cells: &Cells, c: f64) -> f64 {
        let (_, sum) = self.side(cells.low);
        let prior = KAPPA * stratum.mean;
        let (mut m, mut rest) = (cells.covered[0] + KAPPA, cells.failing[1] + KAPPA);
        let (mut x, mut y) = (sum + prior - c, stratum.sum - sum + prior + c);
        let mut best = x / m - y / rest;
        for (level, &value) in self.levels.iter().enumerate().rev() {
            let added = (cells.high[level] - cells.low[level]) as i64 as f64;
            if added == 0.0 {
                continue;
            }
            let (a, b) = (x - value * m, y - value * rest);
            let (next_m, next_rest) = (m + added, rest - added);
            if a < 0.0
                && b > 0.0
                && -a * rest * rest > b * m * m
                && -a * next_rest * next_rest < b * next_m * next_m
            {
                let root = (-a).sqrt() + b.sqrt();
                best = best.max(-root * root / (m + rest));
            }
            (m, rest) = (next_m, next_rest);
            (x, y) = (x + value * added, y - value * added);
            best = best.max(x / m - y / rest);
        }
        best
    }

    /// The same where the two sides are counted apart: the best of each,
    ///
    /// ```text
    /// h = (S + κμ − c)/m − (F + κμ + c)/m'
    /// ```
    ///
    /// The first term is a mean of the covered rows and a few others. A row raises it if its value is higher than the
    /// mean, so beyond those that must be covered the best are the highest values, as long as they are higher than the
    /// mean has become. Likewise the lowest values for the second term. Where the rule may cover nothing or fail nowhere,
    /// δ may also be 0.
    #[inline]
    fn largest_of_sides(
        &self,
        stratum: &Stratum,
        cells: &Cells,
        low: &[u64],
        high: &[u64],
        c: f64,
    ) -> f64 {
        let prior = KAPPA * stratum.mean;
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
        let mut best = x / m - y / rest;
        if cells.covered[0] == 0.0 {
            best = best.max(-c * (1.0 / KAPPA + 1.0 / (cells.failing[1] + KAPPA)));
        }
        if cells.failing[0] == 0.0 {
            best = best.max(-c * (1.0 / (cells.covered[1] + KAPPA) + 1.0 / KAPPA));
        }
        best
    }

    /// Σ w h over all strata, each at its largest; c = γρ w s² in each.
    fn largest_sum(&self, low: &[u64], high: &[u64], slope: f64) -> f64 {
        let mut sum = 0.0;
        for (index, stratum) in self.strata.iter().enumerate() {
            let cells = self.cells(low, high, index);
            sum +=
                stratum.weight * self.largest(stratum, &cells, low, high, slope * stratum.spread);
        }
        sum
    }

    fn score(&self, number: f64) -> Score {
        // A score has room for numbers up to 2¹¹, and rounding takes some of it.
        from_number(number.max(-2000.0))
    }
}

impl Estimator for Pooled {
    fn value(&self, counts: &[u64], length: usize) -> Score {
        let n_levels = self.levels.len();
        let (mut effect, mut variance, mut reach) = (0.0, 0.0, 0.0f64);
        // Always in the order of the strata, so that the sums do not depend on where the counts come from.
        for (index, stratum) in self.strata.iter().enumerate() {
            let first = index * n_levels;
            let (covered, covered_sum) = self.side(&counts[first..first + n_levels]);
            let (failing, failing_sum) = match self.layout.is_complement() {
                true => (stratum.n - covered, stratum.sum - covered_sum),
                false => self.failing_side(counts, first),
            };
            let (m, rest) = (covered + KAPPA, failing + KAPPA);
            let product = 1.0 / (m * rest);
            let share = (m + rest) * product;
            variance += stratum.weight * stratum.spread * share;
            if covered > 0.0 && failing > 0.0 {
                let prior = KAPPA * stratum.mean;
                let difference = (covered_sum + prior) * rest - (failing_sum + prior) * m;
                effect += stratum.weight * difference * product;
                reach = reach.max(stratum.reach * share);
            }
        }
        self.score(effect - self.curve(length, reach).at(variance))
    }

    /// For V between V₀ and V₁ the margin, concave in V, lies above its chord: γε(V) ≥ γε(V₀) + ρ (V − V₀) with
    /// ρ = γ(ε(V₁) − ε(V₀))/(V₁ − V₀). So the value of every rule with such a V is at most
    ///
    /// ```text
    /// −γε(V₀) + ρV₀ + Σ_z w h_z,     h = δ − ρ w s² q
    /// ```
    ///
    /// and the strata come apart. The pieces go from the smallest V of the box to the largest, each twice as far as the
    /// one before, and the bound is the largest over the pieces. b, on which the margin depends too, is taken at its
    /// smallest. A rule has rows on both sides, in at least one stratum; in each of several it may have none.
    fn bound(&self, low: &[u64], high: &[u64], length: usize, goal: Score) -> Score {
        let (mut least, mut most, mut reach) = (0.0, 0.0, 0.0f64);
        for (index, stratum) in self.strata.iter().enumerate() {
            let cells = self.cells(low, high, index);
            let [smallest, largest] = self.shares(stratum, &cells);
            least += stratum.weight * stratum.spread * smallest;
            most += stratum.weight * stratum.spread * largest;
            let has_both_sides = cells.covered[0] > 0.0 && cells.failing[0] > 0.0;
            if has_both_sides || self.strata.len() == 1 {
                reach = reach.max(stratum.reach * smallest);
            }
        }
        let curve = self.curve(length, reach);
        let largest_effect = self.largest_sum(low, high, 0.0);
        let slack = self.slack * (4.0 + curve.at(most));
        // Cheap and not far off: the largest effect with the smallest margin. It also bounds all pieces from V₀ on.
        let from = |variance: f64| self.score(largest_effect - curve.at(variance) + slack);
        let mut bound = Score::MIN;
        let mut start = least;
        loop {
            let cheap = from(start);
            if cheap <= bound {
                return bound;
            }
            if cheap < goal || start >= most {
                return cheap;
            }
            let end = (2.0 * start).min(most);
            let slope = (curve.at(end) - curve.at(start)) / (end - start);
            let sum = self.largest_sum(low, high, slope);
            let piece = sum - curve.at(start) + slope * start + slack;
            bound = bound.max(self.score(piece).min(cheap));
            if end >= most {
                return bound;
            }
            start = end;
        }
    }

    fn is_by_length(&self) -> bool {
        matches!(self.margin, Margin::ByLength(_))
    }
}
