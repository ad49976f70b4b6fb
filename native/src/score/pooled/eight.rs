//! Values and bounds of eight rules or boxes at once, for rules compared with all other rows.

use super::{own_variance, Curve, Pieces, Pooled, Reach, Stratum, KAPPA, PARTS};
use crate::bits::cpu::{vectorised, Task, Vector};
use crate::bits::lanes::{Lanes, LANES};
use crate::score::Limits;

/// The values of eight rules, by the same operations as a single value.
pub(super) struct Values<'a> {
    pub pooled: &'a Pooled,
    pub counts: &'a [Lanes],
    pub length: usize,
}

pub type Numbers = [f64; LANES];

impl Values<'_> {
    /// See [`Pooled::side`].
    #[inline(always)]
    fn side(&self, counts: &[Lanes]) -> (Numbers, Numbers) {
        let (mut n, mut parts) = ([0; LANES], [[0.0; LANES]; PARTS]);
        let (levels, last_levels) = self.pooled.levels.as_chunks::<PARTS>();
        let (counts, last_counts) = counts.as_chunks::<PARTS>();
        for (levels, counts) in levels.iter().zip(counts) {
            for part in 0..PARTS {
                for lane in 0..LANES {
                    n[lane] += counts[part][lane];
                    parts[part][lane] += levels[part] * counts[part][lane] as i64 as f64;
                }
            }
        }
        let mut sum = [0.0; LANES];
        for part in parts {
            for lane in 0..LANES {
                sum[lane] += part[lane];
            }
        }
        for (level, counts) in last_levels.iter().zip(last_counts) {
            for lane in 0..LANES {
                n[lane] += counts[lane];
                sum[lane] += level * counts[lane] as i64 as f64;
            }
        }
        (n.map(|n| n as i64 as f64), sum)
    }
}

impl Task for Values<'_> {
    type Answer = [f64; LANES];

    #[inline(always)]
    fn run(self, _: impl Vector) -> [f64; LANES] {
        let pooled = self.pooled;
        let [mut effect, mut variance, mut reach, mut own] = [[0.0f64; LANES]; 4];
        let is_binary = pooled.levels.len() == 2;
        let strata = self.counts.chunks_exact(pooled.levels.len());
        for (stratum, counts) in pooled.strata.iter().zip(strata) {
            let (covered, covered_sum) = self.side(counts);
            let mut squares = [0.0; LANES];
            if !is_binary {
                for (level, counts) in pooled.levels.iter().zip(counts) {
                    for lane in 0..LANES {
                        squares[lane] += level * level * counts[lane] as i64 as f64;
                    }
                }
            }
            let null = &stratum.null;
            let (weight, prior) = (stratum.weight, KAPPA * null.mean);
            let spread = weight * null.spread;
            for lane in 0..LANES {
                let (failing, failing_sum) = (stratum.n - covered[lane], stratum.sum - covered_sum[lane]);
                let (m, rest) = (covered[lane] + KAPPA, failing + KAPPA);
                let product = 1.0 / (m * rest);
                let share = (m + rest) * product;
                let difference = (covered_sum[lane] + prior) * rest - (failing_sum + prior) * m;
                let added = weight * difference * product;
                let has_contrast = covered[lane] > 0.0 && failing > 0.0;
                let share = if has_contrast { share } else { 0.0 };
                effect[lane] += if has_contrast { added } else { 0.0 };
                variance[lane] += spread * share;
                reach[lane] = reach[lane].max(null.reach * share);
                if !is_binary && has_contrast {
                    let sides = [
                        (covered[lane], covered_sum[lane], squares[lane]),
                        (failing, failing_sum, stratum.squares - squares[lane]),
                    ];
                    own[lane] += weight * weight * own_variance(sides, share);
                }
            }
        }
        for lane in 0..LANES {
            variance[lane] = variance[lane].max(own[lane]);
        }
        std::array::from_fn(|lane| {
            let curve = pooled.curve(self.length, reach[lane], pooled.scale);
            if reach[lane] > 0.0 {
                effect[lane] - curve.at(variance[lane])
            } else {
                f64::NEG_INFINITY
            }
        })
    }
}

/// A stratum, for the quick test.
pub(super) struct Rough {
    n: i32,
    /// w μ and w
    mean: f32,
    weight: f32,
    /// w² s²
    spread: f32,
    /// w (y_max − y_min)
    reach: f32,
}

impl Rough {
    pub fn new(stratum: &Stratum) -> Rough {
        let (weight, null) = (stratum.weight, &stratum.null);
        Rough {
            n: stratum.n as i32,
            mean: (weight * null.mean) as f32,
            weight: weight as f32,
            spread: (weight * null.spread) as f32,
            reach: null.reach as f32,
        }
    }
}

/// Which of eight values, approximate but not too low, reach the goal?
///
/// Each operation rounds by at most 2⁻²⁴ of its result. There are fewer than 16 of them in a stratum, plus one for each
/// level and one for each stratum. The total error is at most that number times 2⁻²⁴ times Σ w q k, which no part of the
/// effect exceeds, and times the margin. Twice as much is allowed.
pub(super) struct MayReach<'a> {
    pub strata: &'a [Rough],
    pub levels: &'a [f64],
    pub counts: &'a [Lanes],
    pub goal: f32,
    /// The margin of rules of this length, at b = 1.
    pub curve: Curve,
}

impl Task for MayReach<'_> {
    type Answer = [bool; LANES];

    #[inline(always)]
    fn run(self, _: impl Vector) -> [bool; LANES] {
        let [mut effect, mut variance, mut reach, mut largest] = [[0f32; LANES]; 4];
        let strata = self.counts.chunks_exact(self.levels.len());
        for (stratum, counts) in self.strata.iter().zip(strata) {
            let (mut covered, mut sum) = ([0; LANES], [0f32; LANES]);
            for (&level, counts) in self.levels.iter().zip(counts) {
                for lane in 0..LANES {
                    let count = counts[lane] as i32;
                    covered[lane] += count;
                    sum[lane] += level as f32 * count as f32;
                }
            }
            let mut within = [0f32; LANES];
            for lane in 0..LANES {
                let k = covered[lane] as f32;
                let m = k + KAPPA as f32;
                let rest = (stratum.n - covered[lane]) as f32 + KAPPA as f32;
                let has_contrast = covered[lane] > 0 && covered[lane] < stratum.n;
                let share = (m + rest) / (m * rest) * f32::from(u8::from(has_contrast));
                effect[lane] += share * (stratum.weight * sum[lane] - stratum.mean * k);
                largest[lane] += share * stratum.weight * k;
                variance[lane] += stratum.spread * share;
                within[lane] = stratum.reach * share;
            }
            for (reach, within) in reach.iter_mut().zip(within) {
                *reach = reach.max(within);
            }
        }
        let n_operations = 16 + self.levels.len() + self.strata.len();
        let error = n_operations as f32 * f32::EPSILON;
        let (beta, offset) = (self.curve.beta as f32, self.curve.offset as f32);
        let scale = self.curve.scale as f32 * (1.0 - error);
        let mut values = [0f32; LANES];
        for (lane, value) in values.iter_mut().enumerate() {
            let offset = offset * reach[lane];
            let root = (offset * offset + beta * beta * variance[lane]).sqrt();
            *value = effect[lane] + error * largest[lane] - scale * (offset + root);
        }
        values.map(|value| value >= self.goal)
    }
}

/// One stratum of eight boxes.
#[derive(Clone, Copy, Default)]
struct Box8 {
    /// m and m' with the fewest covered rows.
    covered: Numbers,
    rest: Numbers,
    /// Their sums, with the pseudo-rows'.
    covered_sum: Numbers,
    rest_sum: Numbers,
    /// May a rule of the box lack a contrast here?
    may_do_without: [bool; LANES],
    /// Where its stretches end.
    end: usize,
}

/// The rows of one level that a rule may or may not cover, for each of eight boxes.
#[derive(Clone, Copy)]
struct Stretch {
    level: f64,
    added: Numbers,
}

/// Bounds of eight boxes at once for rules compared with all other rows: f = n − k and F = T − S. In each stratum, h is
/// maximised exactly, except that k may be fractional:
///
/// ```text
/// h = (S + κμ − c)/m − (T − S + κμ + c)/m'
/// ```
///
/// For a given k the largest S is best: that of the rows that must be covered, then of those with the highest values. Along
/// a stretch of k in which rows of one value v are added, S = S₀ + v (m − m₀). With X and Y the numerators at its
/// beginning, m₀' = M − m₀, A = X − v m₀ and B = Y − v m₀',
///
/// ```text
/// h = A/m − B/(M − m),     h' = −A/m² − B/(M − m)²
/// ```
///
/// Where −A and B are positive, h is concave; if its slope changes sign inside the stretch, the maximum is at
/// m = M√−A/(√−A + √B), where h = −(√−A + √B)²/M. In all other cases h is monotone or convex, and the maximum is at
/// an end. A binary outcome has two stretches, a target of L levels has L.
///
/// Without a contrast, for k = 0 and k = n, h is 0; the formula gives less.
struct Bounds<'a> {
    pooled: &'a Pooled,
    limits: &'a [Limits<'a>],
    boxes: &'a mut [Box8],
    /// For each stratum, the levels of which a rule of some box may or may not cover rows: usually few.
    stretches: &'a mut Vec<Stretch>,
    length: usize,
    /// γ
    scales: &'a Numbers,
    /// Only whether a bound is below the first number or reaches the second one matters.
    short: f64,
    enough: f64,
}

/// The quantities that determine the margin of each box.
struct Margins {
    least: Numbers,
    most: Numbers,
    reach: [Reach; LANES],
    /// Σ w n/(f + κ) with the fewest failing rows, whose target sum is a small difference of large sums.
    cancelled: Numbers,
}

impl Bounds<'_> {
    /// Loads the boxes, and finds their smallest and largest V and their smallest b.
    ///
    /// q = M/(m (M − m)) with M = n + 2κ is smallest for k nearest to n/2, and largest at an end; k is from 1 to n − 1 in a
    /// stratum with a contrast.
    #[inline(always)]
    fn begin(&mut self) -> Margins {
        let pooled = self.pooled;
        let n_levels = pooled.levels.len();
        let [mut least, mut most, mut reach, mut ratio, mut cancelled] = [[0.0f64; LANES]; 5];
        // Sums of zeros and ones are exact.
        let is_rounded = n_levels > 2;
        // The smallest V and b of a single stratum.
        let [mut least_alone, mut reach_alone] = [[f64::INFINITY; LANES]; 2];
        let limits: [Limits; LANES] = std::array::from_fn(|lane| self.limits[lane.min(self.limits.len() - 1)]);
        self.stretches.clear();
        let strata = pooled.strata.iter().zip(self.boxes.iter_mut());
        for (index, (stratum, here)) in strata.enumerate() {
            let [mut low, mut high, mut sum] = [[0.0; LANES]; 3];
            for (level, value) in pooled.levels.iter().enumerate() {
                let cell = index * n_levels + level;
                let [mut fewest, mut largest] = [[0.0; LANES]; 2];
                for lane in 0..LANES {
                    fewest[lane] = limits[lane].low[cell] as i64 as f64;
                    largest[lane] = limits[lane].high[cell] as i64 as f64;
                }
                let (mut added, mut is_any) = ([0.0; LANES], false);
                for lane in 0..LANES {
                    low[lane] += fewest[lane];
                    high[lane] += largest[lane];
                    sum[lane] += value * fewest[lane];
                    added[lane] = largest[lane] - fewest[lane];
                    is_any |= added[lane] != 0.0;
                }
                if is_any {
                    let level = *value;
                    self.stretches.push(Stretch { level, added });
                }
            }
            here.end = self.stretches.len();
            let (n, total) = (stratum.n, stratum.n + 2.0 * KAPPA);
            let spread = stratum.weight * stratum.null.spread;
            let prior = KAPPA * stratum.null.mean;
            let varies = stratum.null.reach > 0.0;
            let here_ratio = if varies { spread / stratum.null.reach } else { 0.0 };
            for lane in 0..LANES {
                let (few, many) = (low[lane], high[lane]);
                let must = (few > 0.0) & (many < n);
                let may = varies & (many > 0.0) & (few < n);
                let least_k = if few > 1.0 { few } else { 1.0 };
                let most_k = if many < n - 1.0 { many } else { n - 1.0 };
                let middle = if n / 2.0 < least_k { least_k } else { n / 2.0 };
                let middle = if middle > most_k { most_k } else { middle };
                let product = |k: f64| (k + KAPPA) * (n - k + KAPPA);
                let (ends, others) = (product(least_k), product(most_k));
                let narrow = if ends < others { ends } else { others };
                let (smallest, largest) = (total / product(middle), total / narrow);
                let (v, b) = (spread * smallest, stratum.null.reach * smallest);
                least[lane] += if must { v } else { 0.0 };
                most[lane] += if may { spread * largest } else { 0.0 };
                ratio[lane] += if may { here_ratio } else { 0.0 };
                let is_larger = must & (b > reach[lane]);
                reach[lane] = if is_larger { b } else { reach[lane] };
                let is_least = may & (v < least_alone[lane]);
                least_alone[lane] = if is_least { v } else { least_alone[lane] };
                let is_least = may & (b < reach_alone[lane]);
                reach_alone[lane] = if is_least { b } else { reach_alone[lane] };
                here.covered[lane] = few + KAPPA;
                here.rest[lane] = n - few + KAPPA;
                here.covered_sum[lane] = sum[lane] + prior;
                here.rest_sum[lane] = stratum.sum - sum[lane] + prior;
                here.may_do_without[lane] = !must;
                let large = stratum.weight * n / (n - many + KAPPA);
                cancelled[lane] += if is_rounded { large } else { 0.0 };
            }
        }
        let reach = std::array::from_fn(|lane| Reach {
            least: reach[lane].max(reach_alone[lane]),
            ratio: ratio[lane] * (1.0 + pooled.slack),
        });
        for lane in 0..LANES {
            least[lane] = least[lane].max(least_alone[lane]);
        }
        Margins {
            least,
            most,
            reach,
            cancelled,
        }
    }

    /// Σ w h over all strata, each at its largest; c = γρ w s² in each. `bends`: may h be largest inside a stretch? Not for
    /// a binary outcome and c = 0, since no mean lies beyond its values.
    #[inline(always)]
    fn largest_sum(&self, slope: &Numbers, bends: bool) -> Numbers {
        let (mut sum, mut start) = ([0.0; LANES], 0);
        for (stratum, here) in self.pooled.strata.iter().zip(self.boxes.iter()) {
            let stretches = &self.stretches[start..here.end];
            start = here.end;
            let (mut m, mut rest) = (here.covered, here.rest);
            let (mut x, mut y, mut best) = (here.covered_sum, here.rest_sum, [0.0; LANES]);
            for lane in 0..LANES {
                let c = slope[lane] * stratum.null.spread;
                x[lane] -= c;
                y[lane] += c;
                best[lane] = x[lane] / m[lane] - y[lane] / rest[lane];
            }
            for Stretch { level, added } in stretches.iter().rev() {
                if bends {
                    for lane in 0..LANES {
                        let (a, b) = (level * m[lane] - x[lane], y[lane] - level * rest[lane]);
                        let (m, rest) = (m[lane], rest[lane]);
                        let (last_m, last_rest) = (m + added[lane], rest - added[lane]);
                        let bends = (a > 0.0)
                            & (b > 0.0)
                            & (a * rest * rest > b * m * m)
                            & (a * last_rest * last_rest < b * last_m * last_m);
                        let root = a.abs().sqrt() + b.abs().sqrt();
                        let inside = -root * root / (m + rest);
                        let is_best = bends & (inside > best[lane]);
                        best[lane] = if is_best { inside } else { best[lane] };
                    }
                }
                for lane in 0..LANES {
                    m[lane] += added[lane];
                    rest[lane] -= added[lane];
                    x[lane] += level * added[lane];
                    y[lane] -= level * added[lane];
                    let end = x[lane] / m[lane] - y[lane] / rest[lane];
                    best[lane] = if end > best[lane] { end } else { best[lane] };
                }
            }
            for lane in 0..LANES {
                let is_without = here.may_do_without[lane] & (best[lane] < 0.0);
                let best = if is_without { 0.0 } else { best[lane] };
                sum[lane] += stratum.weight * best;
            }
        }
        sum
    }
}

impl Task for Bounds<'_> {
    type Answer = Numbers;

    /// See [`Estimator::bound`] of [`Pooled`]; each box has its own pieces.
    #[inline(always)]
    fn run(mut self, _: impl Vector) -> Numbers {
        let Margins {
            least,
            most,
            reach,
            cancelled,
        } = self.begin();
        let pooled = self.pooled;
        let goal = [self.short, self.enough];
        let mut pieces: [Pieces; LANES] = std::array::from_fn(|lane| Pieces::new([least[lane], most[lane]], goal));
        let least_margin =
            |lane: usize, variance: f64| pooled.margin_at(self.length, &reach[lane], self.scales[lane], variance);
        let is_binary = pooled.levels.len() == 2;
        let effect = self.largest_sum(&[0.0; LANES], !is_binary);
        let mut slack = [0.0; LANES];
        for lane in 0..LANES {
            let margin = least_margin(lane, pieces[lane].most);
            slack[lane] = pooled.slack * (4.0 + margin + cancelled[lane]);
        }
        loop {
            let [mut constant, mut slope, mut cheap] = [[0.0; LANES]; 3];
            for (lane, piece) in pieces.iter_mut().enumerate() {
                // Cheap and nearly tight: the largest effect with the smallest margin. It also bounds all pieces from V₀
                // on.
                cheap[lane] = effect[lane] - least_margin(lane, piece.start) + slack[lane];
                piece.note_cheap(cheap[lane]);
            }
            if pieces.iter().all(|piece| piece.is_done) {
                return pieces.map(|piece| piece.bound);
            }
            for (lane, piece) in pieces.iter().enumerate() {
                let ends = [piece.start, piece.end()];
                let chord = pooled.chord(self.length, &reach[lane], self.scales[lane], ends);
                slope[lane] = chord[1];
                constant[lane] = chord[1] * piece.start - chord[0] + slack[lane];
            }
            let sum = self.largest_sum(&slope, true);
            for (lane, piece) in pieces.iter_mut().enumerate() {
                piece.note(sum[lane] + constant[lane], cheap[lane]);
            }
        }
    }
}

/// Buffers for eight boxes.
pub struct Boxes<'a> {
    pub(super) pooled: &'a Pooled,
    boxes: Vec<Box8>,
    stretches: Vec<Stretch>,
}

impl Boxes<'_> {
    pub fn new(pooled: &Pooled) -> Boxes<'_> {
        Boxes {
            pooled,
            boxes: vec![Box8::default(); pooled.strata.len()],
            stretches: Vec::with_capacity(pooled.strata.len() * pooled.levels.len().min(8)),
        }
    }

    /// The bounds of up to eight boxes, each with its own γ. Only whether they are below `short`, or reach `enough`, need
    /// be right.
    pub fn bounds(&mut self, limits: &[Limits], length: usize, scales: &Numbers, [short, enough]: [f64; 2]) -> Numbers {
        vectorised(Bounds {
            pooled: self.pooled,
            limits,
            boxes: &mut self.boxes,
            stretches: &mut self.stretches,
            length,
            scales,
            short,
            enough,
        })
    }
}
