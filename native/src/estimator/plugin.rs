//! The plug-in estimator: Σ_z (a/(a+b) − c/(c+d)) n_z/N. A stratum where the rule covers no row, or every row,
//! tells nothing and contributes 0.

use super::{Estimator, Score, UNIT};
use crate::bitset::Counts;

/// a/(a+b) − c/(c+d), where both sides are present.
pub(super) fn difference(all: Counts, covered: Counts) -> Option<f64> {
    let inside = covered.total();
    let outside = all.total() - inside;
    (inside > 0 && outside > 0).then(|| {
        covered.positive as f64 / inside as f64
            - (all.positive - covered.positive) as f64 / outside as f64
    })
}

/// The difference is largest with all the positives and as few of the negatives as can be; where a reachable
/// rule leaves one side empty it is 0.
pub(super) fn largest_difference(all: Counts, low: Counts, high: Counts) -> f64 {
    let best = Counts {
        positive: high.positive,
        negative: low.negative,
    };
    let best = difference(all, best).unwrap_or(0.0);
    let one_side_empty = low.total() == 0 || high == all;
    if one_side_empty {
        best.max(0.0)
    } else {
        best
    }
}

pub struct PlugIn {
    strata: Vec<Counts>,
    unit: f64,
}

impl PlugIn {
    pub fn new(strata: &[Counts]) -> PlugIn {
        let n_rows = crate::bitset::total(strata).max(1);
        PlugIn {
            strata: strata.to_vec(),
            unit: UNIT / n_rows as f64,
        }
    }
}

/// Covers the rounding of the few operations of a bound, so that it is never below a value by an ulp.
const SLACK: Score = 8;

impl Estimator for PlugIn {
    fn value(&self, counts: &[Counts]) -> Score {
        let terms = self.strata.iter().zip(counts).map(|(&all, &covered)| {
            let difference = difference(all, covered).unwrap_or(0.0);
            (difference * all.total() as f64 * self.unit) as Score
        });
        terms.sum()
    }

    fn bound(&self, low: &[Counts], high: &[Counts]) -> Score {
        let boxes = self.strata.iter().zip(low.iter().zip(high));
        let terms = boxes.map(|(&all, (&low, &high))| {
            let difference = largest_difference(all, low, high);
            (difference * all.total() as f64 * self.unit) as Score + SLACK
        });
        terms.sum()
    }
}
