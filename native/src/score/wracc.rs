//! Weighted relative accuracy, p(σ) (p(y|σ) − p(y)) = (ad − bc)/N² with N = a + b + c + d, over all strata together: the
//! rule covers a positives and b negatives, and fails on c and d. If it fails on all uncovered rows, N is the same for all
//! rules and the value is a/N − (a+b) n₁/N².

use super::{failing_pair, merged_counts, merged_layout, pair, Estimator, Score, UNIT};
use crate::table::layout::Layout;

pub struct WeightedRelativeAccuracy {
    layout: Layout,
    merged: Layout,
    /// The gain of a covered positive and the loss of a covered negative, if N is the same for all rules.
    gain: f64,
    loss: f64,
}

impl WeightedRelativeAccuracy {
    pub fn new(layout: Layout) -> WeightedRelativeAccuracy {
        let merged = merged_layout(&layout);
        let all = pair(&merged.all);
        let n = all.total().max(1) as f64;
        WeightedRelativeAccuracy {
            layout,
            merged,
            gain: all.negative as f64 / n / n,
            loss: all.positive as f64 / n / n,
        }
    }

    fn score(&self, positive: u64, negative: u64) -> Score {
        ((self.gain * positive as f64 - self.loss * negative as f64) * UNIT) as Score
    }

    fn is_plain(&self) -> bool {
        self.layout.is_complement()
    }
}

fn share(part: f64, rest: f64) -> f64 {
    if part > 0.0 {
        part / (part + rest)
    } else {
        0.0
    }
}

impl Estimator for WeightedRelativeAccuracy {
    fn value(&self, counts: &[u64], _: usize) -> Score {
        let counts = merged_counts(&self.layout, counts);
        let covered = pair(&counts);
        if self.is_plain() {
            return self.score(covered.positive, covered.negative);
        }
        let failing = failing_pair(&self.merged, &counts, 0);
        let n = (covered.total() + failing.total()).max(1) as f64;
        let [a, b] = [covered.positive, covered.negative].map(|count| count as f64 / n);
        let [c, d] = [failing.positive, failing.negative].map(|count| count as f64 / n);
        ((a * d - b * c) * UNIT) as Score
    }

    /// If N depends on the rule, the value is p (1 − p) times the difference of means, p the share of covered rows among
    /// those compared; both are maximised over the box.
    fn bound(&self, low: &[u64], high: &[u64], _: usize, _: Score) -> Score {
        let [low, high] = [low, high].map(|counts| merged_counts(&self.layout, counts));
        let (least, most) = (pair(&low), pair(&high));
        if self.is_plain() {
            return self.score(most.positive, least.negative) + 8;
        }
        let fewest = failing_pair(&self.merged, &high, 0);
        let failing = failing_pair(&self.merged, &low, 0);
        let covered_mean = share(most.positive as f64, least.negative as f64);
        let failing_mean = share(fewest.positive as f64, failing.negative as f64);
        let largest = share(most.total() as f64, fewest.total() as f64);
        let smallest = share(least.total() as f64, failing.total() as f64);
        let spread = |p: f64| p * (1.0 - p);
        let difference = covered_mean - failing_mean;
        let factor = if difference < 0.0 {
            spread(smallest).min(spread(largest))
        } else {
            spread(0.5f64.clamp(smallest, largest))
        };
        (difference * factor * UNIT) as Score + 8
    }
}
