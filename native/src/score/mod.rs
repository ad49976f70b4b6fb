//! The score of a rule, from its counts alone.
//!
//! An estimator knows counts, not rows, conditions or the order of the search. A new one is a new file here and a line in
//! [`create`], with its number in `include/causalrules.h` and in Python's `search/border.py`. It guarantees that a bound is
//! no less than any value in its box, rounding included; that eight values at once equal those computed one at a time, to
//! the bit; that `may_reach` is false only if no value reaches the goal; and `Score::MIN` for what is no rule.

mod association;
mod plugin;
mod pooled;
mod reliable;
mod wracc;

use crate::bits::lanes::{Lanes, LANES};
use crate::table::layout::Layout;

pub use pooled::{Boxes, Known, Numbers, Pooled};

/// A value in units of 2⁻⁵². Sums over rows are integers, and sums over strata are always in the same order, so the result
/// does not depend on how rows or machines are arranged. Ties are decided on a coarser grid ([`TIED`]).
///
/// [`TIED`]: crate::search::source::TIED
pub type Score = i64;

const UNIT: f64 = (1u64 << 52) as f64;

/// Computes the value of a rule from its counts, and bounds over boxes of counts. [`crate::table::layout`] defines the
/// layout of counts.
pub trait Estimator: Send + Sync {
    /// The value of a rule with these counts and this many conditions.
    fn value(&self, counts: &[u64], length: usize) -> Score;

    /// The values of eight rules at once, from interleaved counts.
    fn values(&self, counts: &[Lanes], length: usize) -> [Score; LANES] {
        each_lane(counts, |counts| self.value(counts, length))
    }

    /// Which of eight rules may reach the goal? A quick test, since most do not.
    fn may_reach(&self, _counts: &[Lanes], _length: usize, _goal: Score) -> [bool; LANES] {
        [true; LANES]
    }

    /// At least the value of every rule of `length` or more conditions whose counts lie between `low` and `high`. Callers
    /// first ask whether it reaches `goal`: on either side of it, any bound will do. `Score::MIN` is no goal.
    fn bound(&self, low: &[u64], high: &[u64], length: usize, goal: Score) -> Score;

    /// The bounds of several boxes.
    fn bounds(&self, limits: &[Limits], length: usize, goal: Score, bounds: &mut Vec<Score>) {
        bounds.clear();
        let each = limits.iter();
        bounds.extend(each.map(|limits| self.bound(limits.low, limits.high, length, goal)));
    }

    /// Does the value fall with the number of conditions, for the same counts?
    fn is_by_length(&self) -> bool {
        false
    }
}

/// The quick test uses 32-bit numbers, of which twice as many are computed at once. They hold counts of fewer rows than
/// this exactly.
const TOO_MANY: u64 = 1 << 24;

/// A box: the fewest and the most rows of each cell.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    pub low: &'a [u64],
    pub high: &'a [u64],
}

/// The values of rules with interleaved counts, one after the other.
fn each_lane(counts: &[Lanes], value: impl Fn(&[u64]) -> Score) -> [Score; LANES] {
    let mut one = vec![0; counts.len()];
    std::array::from_fn(|lane| {
        for (one, lanes) in one.iter_mut().zip(counts) {
            *one = lanes[lane];
        }
        value(&one)
    })
}

/// The number that a score stands for.
pub fn to_number(score: Score) -> f64 {
    score as f64 / UNIT
}

/// The score nearest to a number; numbers out of range are clamped.
pub fn from_number(number: f64) -> Score {
    (number * UNIT) as Score
}

/// The margin subtracted from an effect.
#[derive(Clone, Debug)]
pub enum Margin {
    /// β standard errors.
    Number(f64),
    /// β by the number of conditions; the last one applies to all longer rules. See [`pooled`].
    ByLength(Vec<f64>),
}

/// The choice and settings of an estimator.
pub struct Settings {
    /// Its number in `ffi`.
    pub kind: u32,
    pub margin: Margin,
    /// The factor on the margin of [`pooled`].
    pub margin_scale: f64,
    /// The values of the target's levels, lowest first.
    pub levels: Vec<f64>,
}

impl Settings {
    fn check(&self, layout: &Layout) -> Result<(), String> {
        let is_beta = |beta: &f64| (0.0..=1000.0).contains(beta);
        match &self.margin {
            Margin::Number(beta) if !is_beta(beta) => {
                return Err(format!("beta = {beta} is not between 0 and 1000"));
            }
            Margin::ByLength(betas) if betas.is_empty() || !betas.iter().all(is_beta) => {
                return Err(format!("beta = {betas:?} is not between 0 and 1000"));
            }
            Margin::ByLength(betas) if !betas.is_sorted() => {
                return Err(format!("beta = {betas:?} falls with the length"));
            }
            Margin::ByLength(_) if self.kind != POOLED => {
                return Err("only the pooled estimator takes a beta for each length".to_string());
            }
            _ => {}
        }
        if !(0.0..=1000.0).contains(&self.margin_scale) {
            return Err(format!(
                "margin_scale = {} is not between 0 and 1000",
                self.margin_scale
            ));
        }
        let rise = self.levels.is_sorted_by(|x, y| x < y);
        if !rise || !self.levels.iter().all(|level| (0.0..=1.0).contains(level)) {
            return Err("levels must rise from one to the next, between 0 and 1".to_string());
        }
        if self.levels.len() != layout.n_levels {
            return Err(format!(
                "{} levels for a target of {}",
                self.levels.len(),
                layout.n_levels
            ));
        }
        Ok(())
    }

    fn beta(&self) -> f64 {
        match &self.margin {
            Margin::Number(beta) => *beta,
            Margin::ByLength(betas) => betas[0],
        }
    }
}

const POOLED: u32 = 4;

/// The estimator for a table; an error if the settings are invalid.
pub fn create(settings: &Settings, layout: &Layout) -> Result<Box<dyn Estimator>, String> {
    settings.check(layout)?;
    let layout = layout.clone();
    if matches!(settings.kind, 0 | 2) && layout.n_levels > 2 {
        let name = ["reliable", "plugin", "wracc"][settings.kind as usize];
        return Err(format!(
            "the estimator {name:?} is for an outcome that happens or not, not for a target of {} levels; \
             use \"pooled\"",
            layout.n_levels
        ));
    }
    Ok(match settings.kind {
        0 => Box::new(reliable::Reliable::new(settings.beta(), layout)),
        1 => Box::new(plugin::PlugIn::new(layout, &settings.levels)),
        2 => Box::new(wracc::WeightedRelativeAccuracy::new(layout)),
        3 => Box::new(association::Association::new(layout, &settings.levels)),
        POOLED => Box::new(pooled::Pooled::new(settings, layout)),
        kind => return Err(format!("no estimator {kind}")),
    })
}

/// The pooled estimator for a table; an error if the settings are invalid.
pub fn pooled(settings: &Settings, layout: Layout) -> Result<Pooled, String> {
    settings.check(&layout)?;
    match settings.kind {
        POOLED => Ok(Pooled::new(settings, layout)),
        kind => Err(format!("estimator {kind} is not the pooled one")),
    }
}

/// Rows of one stratum, for a binary outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair {
    negative: u64,
    positive: u64,
}

impl Pair {
    fn total(self) -> u64 {
        self.positive + self.negative
    }
}

/// The counts of one stratum, or of all strata together.
fn pair(cells: &[u64]) -> Pair {
    Pair {
        negative: cells[0],
        positive: cells[1],
    }
}

/// The rows that a rule fails on in one stratum.
fn failing_pair(layout: &Layout, counts: &[u64], stratum: usize) -> Pair {
    Pair {
        negative: layout.failing(counts, 2 * stratum),
        positive: layout.failing(counts, 2 * stratum + 1),
    }
}

/// The layout of all strata together, for estimators that do not adjust.
fn merged_layout(layout: &Layout) -> Layout {
    use crate::table::layout::Sides;
    let merged = |cells: &[u64]| merged(cells, layout.n_levels);
    let sides = match &layout.sides {
        Sides::Reference(rows) => Sides::Reference(merged(rows)),
        sides => sides.clone(),
    };
    Layout::new(layout.n_levels, merged(&layout.all), sides)
}

/// The counts of all strata together, level by level.
fn merged(cells: &[u64], n_levels: usize) -> Vec<u64> {
    let mut sums = vec![0; n_levels];
    for cells in cells.chunks(n_levels) {
        for (sum, count) in sums.iter_mut().zip(cells) {
            *sum += count;
        }
    }
    sums
}

/// The same for all counts of a rule.
fn merged_counts(layout: &Layout, counts: &[u64]) -> Vec<u64> {
    let sides = counts.chunks(layout.n_cells());
    sides.flat_map(|cells| merged(cells, layout.n_levels)).collect()
}
