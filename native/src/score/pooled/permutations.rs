//! Permuted outcomes: the value of a rule in eight tables at once, for a binary outcome.
//!
//! All rows have level 0 in the counts of a rule; rows with the outcome are counted for each table.

use super::eight::{Boxes, Numbers};
use super::{share, Pooled};
use crate::bits::lanes::{Lanes, LANES};
use crate::score::Limits;

/// The terms of a rule that are the same in all tables.
pub enum Known {
    /// The rule is compared with all other rows.
    Line(Line),
    /// For each stratum, the rows that it covers and fails on.
    Sides(Vec<Compared>, usize),
}

/// The effect is a constant plus, for each outcome, the slope of its stratum. The margin is constant, since all tables have
/// equally many outcomes.
pub struct Line {
    pub constant: f64,
    pub slopes: Vec<f64>,
    pub margin: f64,
}

impl Known {
    pub fn line(&self) -> Option<&Line> {
        match self {
            Known::Line(line) => Some(line),
            Known::Sides(..) => None,
        }
    }
}

pub struct Compared {
    covered: f64,
    failing: f64,
    /// q
    share: f64,
}

impl Pooled {
    /// The terms of a rule that are the same in all tables; `None` if there is no comparison.
    pub fn known(&self, counts: &[u64], length: usize) -> Option<Known> {
        if !self.layout.is_complement() {
            let possible = counts[self.layout.n_cells()..].iter().step_by(2);
            let each = self.strata.iter().zip(counts.iter().step_by(2)).zip(possible);
            let sides = each.map(|((stratum, &covered), &possible)| {
                let (covered, failing) = (covered as f64, stratum.n - possible as f64);
                Compared {
                    covered,
                    failing,
                    share: share(covered, failing),
                }
            });
            return Some(Known::Sides(sides.collect(), length));
        }
        let [mut constant, mut variance, mut reach] = [0.0f64; 3];
        let each = self.strata.iter().zip(counts.iter().step_by(2));
        let slopes = each.map(|(stratum, &covered)| {
            let covered = covered as i64 as f64;
            let failing = stratum.n - covered;
            let q = share(covered, failing);
            if covered > 0.0 && failing > 0.0 {
                variance += stratum.weight * stratum.null.spread * q;
                reach = reach.max(stratum.null.reach * q);
                constant -= stratum.weight * q * covered * stratum.null.mean;
                stratum.weight * q
            } else {
                0.0
            }
        });
        let slopes = slopes.collect();
        (reach > 0.0).then(|| {
            Known::Line(Line {
                constant,
                slopes,
                margin: self.curve(length, reach, 1.0).at(variance),
            })
        })
    }

    /// No table has a larger ratio: the outcome is in as many covered rows as possible.
    pub fn largest_ratio(&self, known: &Known, counts: &[u64]) -> f64 {
        let Known::Line(line) = known else {
            return f64::INFINITY;
        };
        // The constant and the other terms cancel if few rows fail.
        let mut effect = line.constant + 4.0 * self.slack * (1.0 + line.constant.abs());
        let each = self.strata.iter().zip(counts.iter().step_by(2));
        for ((stratum, &covered), slope) in each.zip(&line.slopes) {
            effect += slope * stratum.sum.min(covered as i64 as f64);
        }
        effect / line.margin * (1.0 + 4.0 * self.slack)
    }

    /// Σ w δ and ε of a rule with these numbers of outcomes among its rows.
    #[inline(always)]
    pub fn in_eight(&self, known: &Known, outcomes: &[Lanes]) -> (Numbers, Numbers) {
        let [mut effect, mut variance, mut reach] = [[0.0f64; LANES]; 3];
        let (sides, length) = match known {
            Known::Sides(sides, length) => (sides, *length),
            Known::Line(line) => {
                effect = [line.constant; LANES];
                for (slope, outcomes) in line.slopes.iter().zip(outcomes.iter().step_by(2)) {
                    for lane in 0..LANES {
                        effect[lane] += slope * outcomes[lane] as i64 as f64;
                    }
                }
                return (effect, [line.margin; LANES]);
            }
        };
        let (certain, possible) = outcomes.split_at(self.layout.n_cells());
        let outcomes = certain.iter().step_by(2).zip(possible.iter().step_by(2));
        for ((stratum, sides), (certain, possible)) in self.strata.iter().zip(sides).zip(outcomes) {
            let rows = sides.covered + sides.failing;
            if sides.covered == 0.0 || sides.failing == 0.0 {
                continue;
            }
            let slope = stratum.weight * sides.share;
            for lane in 0..LANES {
                let covered = certain[lane] as i64 as f64;
                let sum = covered + (stratum.sum - possible[lane] as i64 as f64);
                let mean = sum / rows;
                variance[lane] += stratum.weight * slope * mean * (1.0 - mean);
                effect[lane] += slope * (covered - sides.covered * mean);
                let varies = (sum > 0.0) & (sum < rows);
                let here = if varies { slope } else { 0.0 };
                reach[lane] = if here > reach[lane] { here } else { reach[lane] };
            }
        }
        let curve = |lane: usize| self.curve(length, reach[lane], 1.0);
        (effect, std::array::from_fn(|lane| curve(lane).at(variance[lane])))
    }

    /// For each stratum and number of covered rows with the outcome, the maximum of (w δ)²/V_z, with V_z the stratum's term
    /// of V; empty if rules are not compared with all other rows.
    ///
    /// (w δ)²/V_z = q (S − kμ)²/s² rises with k while every covered row has the outcome, and falls with each covered row
    /// without it.
    pub fn most_by_outcomes(&self) -> Vec<Vec<f64>> {
        if !self.layout.is_complement() {
            return Vec::new();
        }
        let each = self.strata.iter().map(|stratum| {
            let mean = stratum.null.mean;
            let most = |covered: u64| {
                let covered = covered as f64;
                let has_contrast = covered > 0.0 && covered < stratum.n;
                let odds = if has_contrast { (1.0 - mean) / mean } else { 0.0 };
                share(covered, stratum.n - covered) * covered * covered * odds
            };
            (0..=stratum.sum as u64).map(most).collect()
        });
        each.collect()
    }

    /// No rule of `length` or more conditions, covering rows among those with these outcomes, has a larger ratio.
    ///
    /// By Cauchy and Schwarz, Σ w δ ≤ √(Σ (w δ)²/V_z) √V, and the margin is at least β√V.
    #[inline(always)]
    pub fn largest_in_eight(&self, most: &[Vec<f64>], outcomes: &[Lanes], length: usize) -> Numbers {
        if most.is_empty() {
            return [f64::INFINITY; LANES];
        }
        let mut squares = [0.0; LANES];
        for (most, outcomes) in most.iter().zip(outcomes.iter().step_by(2)) {
            for lane in 0..LANES {
                squares[lane] += most[outcomes[lane] as usize];
            }
        }
        let beta = self.curve(length, 0.0, 1.0).beta;
        squares.map(|squares| squares.sqrt() / beta * (1.0 + 4.0 * self.slack))
    }
}

impl Boxes<'_> {
    /// Can a rule in each of up to eight boxes have an effect of γ margins?
    pub fn can_reach(&mut self, limits: &[Limits], length: usize, scales: &Numbers) -> [bool; LANES] {
        if self.pooled.layout.is_complement() {
            let bounds = self.bounds(limits, length, scales, [0.0, 0.0]);
            return bounds.map(|bound| bound >= 0.0);
        }
        std::array::from_fn(|lane| {
            limits.get(lane).is_some_and(|&Limits { low, high }| {
                let bound = self.pooled.bound_of_sides(low, high, length, 0, scales[lane]);
                bound >= 0
            })
        })
    }
}
