//! The same rows with other outcomes: what a rule is worth in eight tables at once, for an outcome that happens or not.
//!
//! All rows are of level 0 in the counts of a rule; those with the outcome are counted for each table.

use super::eight::{Boxes, Numbers};
use super::{share, Pooled};
use crate::estimator::Limits;
use crate::lanes::{Lanes, LANES};

/// What a rule has in all tables.
pub enum Known {
    /// It is compared with all other rows.
    Line(Line),
    /// For each stratum, the rows that it covers and fails on.
    Sides(Vec<Compared>, usize),
}

/// The effect is a constant, and for each outcome a slope of its stratum. The margin is always the same, for the outcomes
/// are as many in all tables.
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
    pub fn known(&self, counts: &[u64], length: usize) -> Known {
        if !self.layout.is_complement() {
            let possible = counts[self.layout.n_cells()..].iter().step_by(2);
            let each = self
                .strata
                .iter()
                .zip(counts.iter().step_by(2))
                .zip(possible);
            let sides = each.map(|((stratum, &covered), &possible)| {
                let (covered, failing) = (covered as f64, stratum.n - possible as f64);
                Compared {
                    covered,
                    failing,
                    share: share(covered, failing),
                }
            });
            return Known::Sides(sides.collect(), length);
        }
        let [mut constant, mut variance, mut reach] = [0.0f64; 3];
        let each = self.strata.iter().zip(counts.iter().step_by(2));
        let slopes = each.map(|(stratum, &covered)| {
            let covered = covered as i64 as f64;
            let failing = stratum.n - covered;
            let q = share(covered, failing);
            variance += stratum.weight * stratum.null.spread * q;
            if covered > 0.0 && failing > 0.0 {
                reach = reach.max(stratum.null.reach * q);
                constant -= stratum.weight * q * covered * stratum.null.mean;
                stratum.weight * q
            } else {
                0.0
            }
        });
        let slopes = slopes.collect();
        Known::Line(Line {
            constant,
            slopes,
            margin: self.curve(length, reach, 1.0).at(variance),
        })
    }

    /// No table has a larger ratio: that with the outcome in as many covered rows as can be.
    pub fn largest_ratio(&self, known: &Known, counts: &[u64]) -> f64 {
        let Known::Line(line) = known else {
            return f64::INFINITY;
        };
        // The constant and the rest cancel where few rows fail.
        let mut effect = line.constant + 4.0 * self.slack * (1.0 + line.constant.abs());
        let each = self.strata.iter().zip(counts.iter().step_by(2));
        for ((stratum, &covered), slope) in each.zip(&line.slopes) {
            effect += slope * stratum.sum.min(covered as i64 as f64);
        }
        effect / line.margin * (1.0 + 4.0 * self.slack)
    }

    /// Σ w δ and ε of a rule with so many outcomes among its rows.
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
            let are_both = sides.covered > 0.0 && sides.failing > 0.0;
            if rows == 0.0 {
                continue;
            }
            let slope = stratum.weight * sides.share;
            for lane in 0..LANES {
                let covered = certain[lane] as i64 as f64;
                let sum = covered + (stratum.sum - possible[lane] as i64 as f64);
                let mean = sum / rows;
                variance[lane] += stratum.weight * slope * mean * (1.0 - mean);
                let added = slope * (covered - sides.covered * mean);
                effect[lane] += if are_both { added } else { 0.0 };
                let is_open = are_both & (sum > 0.0) & (sum < rows);
                let here = if is_open { slope } else { 0.0 };
                reach[lane] = if here > reach[lane] {
                    here
                } else {
                    reach[lane]
                };
            }
        }
        let curve = |lane: usize| self.curve(length, reach[lane], 1.0);
        (
            effect,
            std::array::from_fn(|lane| curve(lane).at(variance[lane])),
        )
    }

    /// For each stratum, w δ of a rule that covers so many rows with the outcome and no others, the most that one with so
    /// many can have; nothing where rules are not compared with all other rows.
    pub fn gains(&self) -> Vec<Vec<f64>> {
        if !self.layout.is_complement() {
            return Vec::new();
        }
        let gains = self.strata.iter().map(|stratum| {
            let gain = |covered: u64| {
                let covered = covered as f64;
                let share = share(covered, stratum.n - covered);
                stratum.weight * share * covered * (1.0 - stratum.null.mean)
            };
            (0..=stratum.sum as u64).map(gain).collect()
        });
        gains.collect()
    }

    /// No rule that covers some of rows with so many outcomes has a larger effect.
    #[inline(always)]
    pub fn largest_in_eight(&self, gains: &[Vec<f64>], outcomes: &[Lanes]) -> Numbers {
        let mut effect = [if gains.is_empty() {
            2.0
        } else {
            4.0 * self.slack
        }; LANES];
        for (gains, outcomes) in gains.iter().zip(outcomes.iter().step_by(2)) {
            for lane in 0..LANES {
                effect[lane] += gains[outcomes[lane] as usize];
            }
        }
        effect
    }

    /// No rule of so many conditions or more that covers some of these rows has a smaller margin.
    pub fn least_margin(&self, counts: &[u64], length: usize) -> f64 {
        if !self.layout.is_complement() {
            return 0.0;
        }
        let (mut variance, mut reach) = (0.0, 0.0);
        for (stratum, &covered) in self.strata.iter().zip(counts.iter().step_by(2)) {
            let middle = (covered as f64).min(stratum.n / 2.0);
            let share = share(middle, stratum.n - middle);
            variance += stratum.weight * stratum.null.spread * share;
            // Of several strata, each may be without rows on one side.
            reach = stratum.null.reach * share;
        }
        let reach = if self.strata.len() == 1 { reach } else { 0.0 };
        self.curve(length, reach, 1.0).at(variance) * (1.0 - 4.0 * self.slack)
    }
}

impl Boxes<'_> {
    /// Can a rule of each of up to eight boxes have an effect of γ margins?
    pub fn can_reach(
        &mut self,
        limits: &[Limits],
        length: usize,
        scales: &Numbers,
    ) -> [bool; LANES] {
        if self.pooled.layout.is_complement() {
            let bounds = self.bounds(limits, length, scales, [0.0, 0.0]);
            return bounds.map(|bound| bound >= 0.0);
        }
        std::array::from_fn(|lane| {
            limits.get(lane).is_some_and(|&Limits { low, high }| {
                let bound = self
                    .pooled
                    .bound_of_sides(low, high, length, 0, scales[lane]);
                bound >= 0
            })
        })
    }
}
