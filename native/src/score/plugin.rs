//! The plug-in estimator: Σ_z (mean of the covered rows − mean of the failing rows) n_z/N; for a binary outcome, the means
//! are a/(a+b) and c/(c+d). A stratum in which the rule covers no row, or fails on none, contributes 0.

use super::{Estimator, Score, UNIT};
use crate::table::layout::Layout;

/// The mean of some rows, from their number at each level.
fn mean(levels: &[f64], count: impl Fn(usize) -> u64) -> Option<f64> {
    let (mut n, mut sum) = (0, 0.0);
    for (level, value) in levels.iter().enumerate() {
        n += count(level);
        sum += value * count(level) as f64;
    }
    (n > 0).then(|| sum / n as f64)
}

/// The largest mean if each level has at least `least` and at most `most` rows: optional rows are added from the highest
/// level down, as long as they raise the mean.
fn largest_mean(
    levels: impl Iterator<Item = (usize, f64)>,
    least: impl Fn(usize) -> u64,
    most: impl Fn(usize) -> u64,
    all: &[f64],
) -> Option<f64> {
    let (mut n, mut sum) = (0, 0.0);
    for (level, value) in all.iter().enumerate() {
        n += least(level);
        sum += value * least(level) as f64;
    }
    for (level, value) in levels {
        let optional = most(level) - least(level);
        if optional > 0 && (n == 0 || value * n as f64 > sum) {
            n += optional;
            sum += value * optional as f64;
        }
    }
    (n > 0).then(|| sum / n as f64)
}

/// The difference of means of one stratum, 0 if a side is empty.
pub(super) fn difference(layout: &Layout, levels: &[f64], counts: &[u64], stratum: usize) -> f64 {
    let first = stratum * levels.len();
    let covered = mean(levels, |level| counts[first + level]);
    let failing = mean(levels, |level| layout.failing(counts, first + level));
    match (covered, failing) {
        (Some(covered), Some(failing)) => covered - failing,
        _ => 0.0,
    }
}

/// At least the difference of every rule in the box: the largest mean of one side less the smallest of the other. (For a
/// binary outcome both are reached at once, by all the positives and the fewest negatives.) It is 0 if a rule in the box
/// may leave one side empty.
pub(super) fn largest_difference(layout: &Layout, levels: &[f64], low: &[u64], high: &[u64], stratum: usize) -> f64 {
    let first = stratum * levels.len();
    let descending = levels.iter().copied().enumerate().rev();
    let covered = largest_mean(
        descending,
        |level| low[first + level],
        |level| high[first + level],
        levels,
    );
    // The smallest mean is the largest of the negative values, negated.
    let negated: Vec<f64> = levels.iter().map(|value| -value).collect();
    let failing = largest_mean(
        negated.iter().copied().enumerate(),
        |level| layout.failing(high, first + level),
        |level| layout.failing(low, first + level),
        &negated,
    );
    let mut range = first..first + levels.len();
    let may_be_empty = range.clone().all(|cell| low[cell] == 0) || range.all(|cell| layout.failing(high, cell) == 0);
    match (covered, failing) {
        (Some(covered), Some(failing)) if may_be_empty => (covered + failing).max(0.0),
        (Some(covered), Some(failing)) => covered + failing,
        _ => 0.0,
    }
}

pub struct PlugIn {
    layout: Layout,
    levels: Vec<f64>,
    /// The rows of each stratum, and the weight of one row.
    sizes: Vec<f64>,
    unit: f64,
}

impl PlugIn {
    pub fn new(layout: Layout, levels: &[f64]) -> PlugIn {
        let strata = layout.all.chunks(layout.n_levels);
        PlugIn {
            sizes: strata.map(|cells| cells.iter().sum::<u64>() as f64).collect(),
            unit: UNIT / layout.n_rows().max(1) as f64,
            layout,
            levels: levels.to_vec(),
        }
    }
}

/// Covers the rounding in a bound, so that it is never below a value by an ulp.
const SLACK: Score = 8;

impl Estimator for PlugIn {
    fn value(&self, counts: &[u64], _: usize) -> Score {
        let strata = self.sizes.iter().enumerate();
        let terms = strata.map(|(stratum, size)| {
            let difference = difference(&self.layout, &self.levels, counts, stratum);
            (difference * size * self.unit) as Score
        });
        terms.sum()
    }

    fn bound(&self, low: &[u64], high: &[u64], _: usize, _: Score) -> Score {
        let strata = self.sizes.iter().enumerate();
        let terms = strata.map(|(stratum, size)| {
            let largest = largest_difference(&self.layout, &self.levels, low, high, stratum);
            (largest * size * self.unit) as Score + SLACK
        });
        terms.sum()
    }
}
