//! The plug-in estimator without controls: the difference of means over all strata together.

use super::{merged_counts, merged_layout, plugin, Estimator, Score, UNIT};
use crate::table::layout::Layout;

pub struct Association {
    layout: Layout,
    merged: Layout,
    levels: Vec<f64>,
}

impl Association {
    pub fn new(layout: Layout, levels: &[f64]) -> Association {
        Association {
            merged: merged_layout(&layout),
            layout,
            levels: levels.to_vec(),
        }
    }
}

impl Estimator for Association {
    fn value(&self, counts: &[u64], _: usize) -> Score {
        let counts = merged_counts(&self.layout, counts);
        (plugin::difference(&self.merged, &self.levels, &counts, 0) * UNIT) as Score
    }

    fn bound(&self, low: &[u64], high: &[u64], _: usize, _: Score) -> Score {
        let [low, high] = [low, high].map(|counts| merged_counts(&self.layout, counts));
        let largest = plugin::largest_difference(&self.merged, &self.levels, &low, &high, 0);
        (largest * UNIT) as Score + 8
    }
}
