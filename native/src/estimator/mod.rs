//! What a rule is worth, from its counts alone.
//!
//! An estimator knows counts; it knows nothing of rows, conditions or the order of the search. A new one is a
//! new file here and a line in [`create`].

mod association;
mod plugin;
mod reliable;
mod wracc;

use crate::bitset::Counts;

/// A value in units of 2⁻⁵². Sums of integers do not depend on their order, so that ties are exact and the
/// answer is the same however rows, strata or machines are arranged.
pub type Score = i64;

const UNIT: f64 = (1u64 << 52) as f64;

/// Strata whose counts can be anything between `low` and `high`, and what a rule is worth there.
pub trait Estimator: Send + Sync {
    /// The value of a rule with these counts, one for each stratum.
    fn value(&self, counts: &[Counts]) -> Score;

    /// At least the value of every rule whose counts lie between `low` and `high`, in every stratum.
    fn bound(&self, low: &[Counts], high: &[Counts]) -> Score;
}

/// A score as the number it stands for.
pub fn to_number(score: Score) -> f64 {
    score as f64 / UNIT
}

/// The score nearest to a number; numbers out of range become the nearest score there is.
pub fn from_number(number: f64) -> Score {
    (number * UNIT) as Score
}

/// The estimators by the number that `ffi` knows them by.
pub fn create(kind: u32, beta: f64, strata: &[Counts]) -> Option<Box<dyn Estimator>> {
    Some(match kind {
        0 => Box::new(reliable::Reliable::new(beta, strata)),
        1 => Box::new(plugin::PlugIn::new(strata)),
        2 => Box::new(wracc::WeightedRelativeAccuracy::new(strata)),
        3 => Box::new(association::Association::new(strata)),
        _ => return None,
    })
}

/// The counts of all strata together, for estimators that do not adjust.
fn pooled(counts: &[Counts]) -> Counts {
    counts.iter().fold(Counts::default(), |sum, c| Counts {
        positive: sum.positive + c.positive,
        negative: sum.negative + c.negative,
    })
}
