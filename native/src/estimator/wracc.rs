//! Weighted relative accuracy, p(σ) (p(y|σ) − p(y)) = a/N − (a+b) n₁/N², over all strata together.

use super::{pooled, Estimator, Score, UNIT};
use crate::bitset::Counts;

pub struct WeightedRelativeAccuracy {
    /// What one covered positive adds, and what one covered negative takes away.
    gain: f64,
    loss: f64,
}

impl WeightedRelativeAccuracy {
    pub fn new(strata: &[Counts]) -> WeightedRelativeAccuracy {
        let all = pooled(strata);
        let n = all.total().max(1) as f64;
        WeightedRelativeAccuracy {
            gain: all.negative as f64 / n / n,
            loss: all.positive as f64 / n / n,
        }
    }

    fn score(&self, positive: u64, negative: u64) -> Score {
        ((self.gain * positive as f64 - self.loss * negative as f64) * UNIT) as Score
    }
}

impl Estimator for WeightedRelativeAccuracy {
    fn value(&self, counts: &[Counts]) -> Score {
        let counts = pooled(counts);
        self.score(counts.positive, counts.negative)
    }

    fn bound(&self, low: &[Counts], high: &[Counts]) -> Score {
        self.score(pooled(high).positive, pooled(low).negative) + 8
    }
}
