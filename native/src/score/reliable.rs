//! The reliable estimator of the causal effect (Laplace-corrected, biased by β) and its bounds.
//!
//! One stratum has n rows, n₁ with the outcome and n₀ without. A rule covers a of the former and b of the latter. With m =
//! a+b+2 and m' = n−a−b+2,
//!
//! ```text
//! λ(a,b) = u(a,b) + v(a,b)
//! u(a,b) = (a+1)/m − β/(2√m)             the covered side
//! v(a,b) = −(n₁−a+1)/m' − β/(2√m')       the uncovered side
//! r(σ)   = Σ_z λ_z (n_z+4)/(N+4K)
//! ```
//!
//! If the rule does not fail on all uncovered rows, v(c,d) = −(c+1)/m' − β/(2√m') with m' = c+d+2, c and d the failing rows
//! with and without the outcome.
//!
//! Facts the bounds rest on (each is a property test):
//! - u rises in a; for fixed a it is convex in 1/√m, so that its maximum over an interval of b is at an end.
//! - v falls in b; for fixed b it first falls and then rises in a, so that its maximum is at an end too.
//! - u(a,·) is largest at b = 0 unless u(a,0) < 0, which only happens for the few a with (a+1)/√(a+2) < β/2.
//!   (The paper's Proposition 3 overlooks those, and its bound fails there.)

use super::{each_lane, failing_pair, pair, to_number, Estimator, Pair, Score, TOO_MANY, UNIT};
use crate::bits::cpu::{vectorised, Task, Vector};
use crate::bits::lanes::{Lanes, LANES};
use crate::table::layout::Layout;

/// The running maximum of a function of a count, as the stretches on which the function equals it.
struct RunningMaximum {
    stretches: Vec<(u64, u64)>,
}

impl RunningMaximum {
    fn new(last: u64, function: impl Fn(u64) -> f64) -> RunningMaximum {
        let mut stretches: Vec<(u64, u64)> = Vec::new();
        let mut maximum = f64::NEG_INFINITY;
        for x in 0..=last {
            let value = function(x);
            if value >= maximum {
                maximum = value;
                match stretches.last_mut() {
                    Some((_, end)) if *end + 1 == x => *end = x,
                    _ => stretches.push((x, x)),
                }
            }
        }
        RunningMaximum { stretches }
    }

    /// The same for an increasing function.
    fn rising(last: u64) -> RunningMaximum {
        RunningMaximum {
            stretches: vec![(0, last)],
        }
    }

    /// The argument up to x at which the function is largest.
    fn argmax(&self, x: u64) -> u64 {
        let stretch = self.stretches.iter().rev().find(|(start, _)| *start <= x);
        stretch.map_or(0, |&(_, end)| end.min(x))
    }
}

/// 1/m and β/(2√m), looked up where m is small enough for a table to stay in the cache.
struct Terms {
    half_beta: f64,
    table: Vec<(f64, f64)>,
}

const LARGEST_TABLE: u64 = 1 << 16;

impl Terms {
    fn new(half_beta: f64, largest: u64) -> Terms {
        let mut terms = Terms {
            half_beta,
            table: Vec::new(),
        };
        terms.table = (0..=largest.min(LARGEST_TABLE)).map(|m| terms.at(m)).collect();
        terms
    }

    #[inline]
    fn at(&self, m: u64) -> (f64, f64) {
        match self.table.get(m as usize) {
            Some(&terms) => terms,
            None => (1.0 / m as f64, self.half_beta / (m as f64).sqrt()),
        }
    }
}

struct Stratum {
    n: u64,
    n1: u64,
    weight: f64,
    /// max over a' ≤ a of λ(a', 0)
    no_negative: RunningMaximum,
    /// For each a' with u(a', 0) < 0: max over b' ≤ b of λ(a', b').
    few_positive: Vec<RunningMaximum>,
    /// The largest λ that `few_positive` can give.
    few_positive_peak: f64,
    /// Are these maxima computed? If not, the bound over the box is used.
    exact: bool,
}

/// With more small a' than this (β > 11), or more rows, the exact maximum costs too much memory and time.
const MOST_FEW_POSITIVE: u64 = 32;
const MOST_ROWS: u64 = 1 << 20;

impl Stratum {
    #[inline]
    fn covered(&self, terms: &Terms, a: u64, b: u64) -> f64 {
        let (reciprocal, radius) = terms.at(a + b + 2);
        (a + 1) as f64 * reciprocal - radius
    }

    #[inline]
    fn uncovered(&self, terms: &Terms, a: u64, b: u64) -> f64 {
        let (reciprocal, radius) = terms.at(self.n - a - b + 2);
        -((self.n1 - a + 1) as f64 * reciprocal) - radius
    }

    /// v for any failing rows.
    #[inline]
    fn failing(&self, terms: &Terms, c: u64, d: u64) -> f64 {
        let (reciprocal, radius) = terms.at(c + d + 2);
        -((c + 1) as f64 * reciprocal) - radius
    }

    #[inline]
    fn difference(&self, terms: &Terms, a: u64, b: u64) -> f64 {
        self.covered(terms, a, b) + self.uncovered(terms, a, b)
    }

    fn new(counts: Pair, weight: f64, terms: &Terms) -> Stratum {
        let mut stratum = Stratum {
            n: counts.total(),
            n1: counts.positive,
            weight,
            no_negative: RunningMaximum::rising(counts.positive),
            few_positive: Vec::new(),
            few_positive_peak: f64::NEG_INFINITY,
            exact: counts.total() <= MOST_ROWS && few_positive(terms.half_beta) <= MOST_FEW_POSITIVE,
        };
        if !stratum.exact {
            return stratum;
        }
        // λ(·, 0) rises where v does, that is where n₀ + 1 ≥ (β/4)√m'.
        let (n, n0) = (counts.total() as f64, counts.negative as f64);
        if n0 + 1.0 < terms.half_beta / 2.0 * (n + 2.0).sqrt() {
            stratum.no_negative = RunningMaximum::new(counts.positive, |a| stratum.difference(terms, a, 0));
        }
        for a in 0..=counts.positive {
            if stratum.covered(terms, a, 0) >= 0.0 {
                break;
            }
            let maximum = RunningMaximum::new(counts.negative, |b| stratum.difference(terms, a, b));
            let peak = stratum.difference(terms, a, maximum.argmax(counts.negative));
            stratum.few_positive_peak = stratum.few_positive_peak.max(peak);
            stratum.few_positive.push(maximum);
        }
        stratum
    }

    /// The exact maximum of λ over all a' ≤ a, b' ≤ b.
    #[inline]
    fn tight(&self, terms: &Terms, high: Pair) -> f64 {
        let best = self.difference(terms, self.no_negative.argmax(high.positive), 0);
        if best >= self.few_positive_peak {
            return best;
        }
        let reachable = self.few_positive.iter().take(high.positive as usize + 1);
        let values = reachable
            .enumerate()
            .map(|(a, maximum)| self.difference(terms, a as u64, maximum.argmax(high.negative)));
        values.fold(best, f64::max)
    }

    /// At least u + v for every covered and failing rows between these: v falls in c up to some c and rises from there, and
    /// rises in d.
    #[inline]
    fn over_sides(&self, terms: &Terms, covered: [Pair; 2], failing: [Pair; 2]) -> f64 {
        let ([low, high], [least, most]) = (covered, failing);
        let covered =
            self.covered(terms, high.positive, low.negative)
                .max(self.covered(terms, high.positive, high.negative));
        let failing =
            self.failing(terms, least.positive, most.negative)
                .max(self.failing(terms, most.positive, most.negative));
        covered + failing
    }

    /// At least λ(a', b') for every low ≤ (a', b') ≤ high: the best covered side plus the best uncovered side.
    #[inline]
    fn over_box(&self, terms: &Terms, low: Pair, high: Pair) -> f64 {
        let (a, b) = (high.positive, high.negative);
        let covered = self.covered(terms, a, low.negative).max(self.covered(terms, a, b));
        let uncovered = self
            .uncovered(terms, a, low.negative)
            .max(self.uncovered(terms, low.positive, low.negative));
        covered + uncovered
    }
}

/// How many a have u(a, 0) < 0, capped: (a+1)/√(a+2) < β/2.
fn few_positive(half_beta: f64) -> u64 {
    let negative = |a: &u64| ((*a + 1) as f64) / ((*a + 2) as f64).sqrt() < half_beta;
    (0..=MOST_FEW_POSITIVE).take_while(negative).count() as u64
}

pub struct Reliable {
    layout: Layout,
    terms: Terms,
    strata: Vec<Stratum>,
    /// Empty if there are too many rows for that, or rules are not compared with all other rows.
    rough: Vec<Rough>,
    slack: Score,
}

impl Reliable {
    pub fn new(beta: f64, layout: Layout) -> Reliable {
        let half_beta = beta / 2.0;
        let effective = layout.n_rows() as f64 + 4.0 * layout.n_strata() as f64;
        let largest = layout.all.chunks(2).map(|cells| pair(cells).total() + 2);
        let terms = Terms::new(half_beta, largest.max().unwrap_or(0));
        let strata = layout.all.chunks(2).map(|cells| {
            let weight = (pair(cells).total() as f64 + 4.0) / effective * UNIT;
            Stratum::new(pair(cells), weight, &terms)
        });
        let strata: Vec<Stratum> = strata.collect();
        let is_rough = layout.is_complement() && layout.n_rows() < TOO_MANY;
        let rough = strata.iter().filter(|_| is_rough).map(|stratum| Rough {
            n: stratum.n as i32,
            n1: stratum.n1 as i32,
            weight: (stratum.weight / UNIT) as f32,
            radius: 1.0 / ((stratum.n + 2) as f32).sqrt(),
        });
        Reliable {
            rough: rough.collect(),
            strata,
            layout,
            terms,
            // Values and bounds round differently, by at most a few ulps of 1 + β.
            slack: 4 + (4.0 * beta) as Score,
        }
    }
}

/// The values of eight rules, by the same operations as a single value.
struct Values<'a> {
    strata: &'a [Stratum],
    table: &'a [(f64, f64)],
    counts: &'a [Lanes],
}

impl Task for Values<'_> {
    type Answer = [Score; LANES];

    #[inline(always)]
    fn run(self, _: impl Vector) -> [Score; LANES] {
        let mut sums = [0; LANES];
        for (stratum, cells) in self.strata.iter().zip(self.counts.chunks_exact(2)) {
            let mut terms = [0.0; LANES];
            for (lane, term) in terms.iter_mut().enumerate() {
                let (a, b) = (cells[1][lane], cells[0][lane]);
                let (reciprocal, radius) = self.table[(a + b + 2) as usize];
                let covered = (a + 1) as i64 as f64 * reciprocal - radius;
                let (reciprocal, radius) = self.table[(stratum.n - a - b + 2) as usize];
                let rest = (stratum.n1 - a + 1) as i64 as f64;
                *term = stratum.weight * (covered + (-(rest * reciprocal) - radius));
            }
            for (sum, term) in sums.iter_mut().zip(terms) {
                *sum += term as Score;
            }
        }
        sums
    }
}

/// A stratum, for the quick test.
struct Rough {
    n: i32,
    n1: i32,
    weight: f32,
    /// The smallest 1/√m' that the uncovered side can have.
    radius: f32,
}

/// Which of eight values, approximate but not too low, reach the goal? The uncovered side usually has many rows, and its
/// radius is hardly larger than with all of them.
struct MayReach<'a> {
    strata: &'a [Rough],
    half_beta: f32,
    counts: &'a [Lanes],
    goal: f32,
}

impl Task for MayReach<'_> {
    type Answer = [bool; LANES];

    #[inline(always)]
    fn run(self, _: impl Vector) -> [bool; LANES] {
        let mut sums = [0f32; LANES];
        for (stratum, cells) in self.strata.iter().zip(self.counts.chunks_exact(2)) {
            for (lane, sum) in sums.iter_mut().enumerate() {
                let (a, b) = (cells[1][lane] as i32, cells[0][lane] as i32);
                let (m, rest) = ((a + b + 2) as f32, (stratum.n - a - b + 2) as f32);
                let both = 1.0 / (m * rest);
                let covered = (a + 1) as f32 * (rest * both);
                let uncovered = (stratum.n1 - a + 1) as f32 * (m * both);
                let radius = self.half_beta * ((rest * both).sqrt() + stratum.radius);
                *sum += stratum.weight * (covered - uncovered - radius);
            }
        }
        sums.map(|sum| sum >= self.goal)
    }
}

impl Estimator for Reliable {
    fn value(&self, counts: &[u64], _: usize) -> Score {
        if self.layout.is_complement() {
            let strata = self.strata.iter().zip(counts.chunks_exact(2));
            let terms = strata.map(|(stratum, cells)| {
                let difference = stratum.difference(&self.terms, cells[1], cells[0]);
                (stratum.weight * difference) as Score
            });
            return terms.sum();
        }
        let strata = self.strata.iter().zip(counts.chunks_exact(2)).enumerate();
        let terms = strata.map(|(index, (stratum, cells))| {
            let failing = failing_pair(&self.layout, counts, index);
            let covered = stratum.covered(&self.terms, cells[1], cells[0]);
            let failing = stratum.failing(&self.terms, failing.positive, failing.negative);
            (stratum.weight * (covered + failing)) as Score
        });
        terms.sum()
    }

    fn values(&self, counts: &[Lanes], length: usize) -> [Score; LANES] {
        let table = &self.terms.table[..];
        let is_known = |stratum: &Stratum| ((stratum.n + 2) as usize) < table.len();
        if !self.layout.is_complement() || !self.strata.iter().all(is_known) {
            return each_lane(counts, |counts| self.value(counts, length));
        }
        vectorised(Values {
            strata: &self.strata,
            table,
            counts,
        })
    }

    /// Each operation rounds by at most 2⁻²⁴ of its result, which is at most 2 + β; there are at most 16 of them in a
    /// stratum, whose weights sum to 1, and one addition for each stratum. The goal is lowered by twice that error.
    fn may_reach(&self, counts: &[Lanes], _: usize, goal: Score) -> [bool; LANES] {
        if self.rough.is_empty() || goal == Score::MIN {
            return [true; LANES];
        }
        let half_beta = self.terms.half_beta;
        let error = (16 + self.rough.len()) as f64 * (2.0 + 2.0 * half_beta) / (1 << 23) as f64;
        vectorised(MayReach {
            strata: &self.rough,
            half_beta: half_beta as f32,
            counts,
            goal: (to_number(goal) - error) as f32,
        })
    }

    fn bound(&self, low: &[u64], high: &[u64], _: usize, _: Score) -> Score {
        let complement = self.layout.is_complement();
        let boxes = low.chunks_exact(2).zip(high.chunks_exact(2));
        let boxes = self.strata.iter().zip(boxes).enumerate();
        let terms = boxes.map(|(index, (stratum, (least, most)))| {
            let (least, most) = (pair(least), pair(most));
            let largest = if !complement {
                let failing = [high, low].map(|side| failing_pair(&self.layout, side, index));
                stratum.over_sides(&self.terms, [least, most], failing)
            } else if !stratum.exact {
                stratum.over_box(&self.terms, least, most)
            } else if least.total() == 0 {
                stratum.tight(&self.terms, most)
            } else {
                let over_box = stratum.over_box(&self.terms, least, most);
                over_box.min(stratum.tight(&self.terms, most))
            };
            (stratum.weight * largest) as Score + self.slack
        });
        terms.sum()
    }
}
