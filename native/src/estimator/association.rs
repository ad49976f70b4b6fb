//! The plug-in estimator without controls: a/(a+b) − c/(c+d) over all strata together.

use super::{plugin, pooled, Estimator, Score, UNIT};
use crate::bitset::Counts;

pub struct Association {
    all: Counts,
}

impl Association {
    pub fn new(strata: &[Counts]) -> Association {
        Association {
            all: pooled(strata),
        }
    }
}

impl Estimator for Association {
    fn value(&self, counts: &[Counts]) -> Score {
        (plugin::difference(self.all, pooled(counts)).unwrap_or(0.0) * UNIT) as Score
    }

    fn bound(&self, low: &[Counts], high: &[Counts]) -> Score {
        let largest = plugin::largest_difference(self.all, pooled(low), pooled(high));
        (largest * UNIT) as Score + 8
    }
}
