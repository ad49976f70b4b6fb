//! The score of rules: the estimator, its values and its bounds.

use super::border::{guard, reference, slice};
use crate::permutations;
use crate::score::{self, Estimator, Margin, Pooled, Score, Settings};
use crate::table::layout::{Layout, Sides};
use crate::table::Table;

/// The settings of an estimator, as C sees them.
#[repr(C)]
pub struct Estimation {
    estimator: u32,
    beta: f64,
    n_betas: usize,
    betas: *const f64,
    margin_scale: f64,
    pub(super) n_levels: usize,
    levels: *const f64,
}

impl Estimation {
    /// SAFETY: as for `slice`.
    unsafe fn settings(&self) -> Result<Settings, String> {
        Ok(Settings {
            kind: self.estimator,
            margin: match self.n_betas {
                0 => Margin::Number(self.beta),
                n => Margin::ByLength(slice(self.betas, n, "betas")?.to_vec()),
            },
            margin_scale: self.margin_scale,
            levels: slice(self.levels, self.n_levels, "levels")?.to_vec(),
        })
    }

    pub(super) unsafe fn estimator(&self, layout: &Layout) -> Result<Box<dyn Estimator>, String> {
        score::create(&self.settings()?, layout)
    }

    /// The pooled estimator of tables with these rows, whose last propositions are outcomes.
    pub(super) unsafe fn pooled(&self, table: &Table, n_outcomes: usize) -> Result<Pooled, String> {
        let settings = self.settings()?;
        if settings.levels != [0.0, 1.0] {
            return Err(format!("levels {:?}, not 0 and 1", settings.levels));
        }
        score::pooled(&settings, permutations::layout(table, n_outcomes)?)
    }
}

/// Checks that the cells are whole strata.
pub(super) fn check_cells(n_cells: usize, n_levels: usize) -> Result<(), String> {
    if n_levels < 2 || n_cells == 0 || !n_cells.is_multiple_of(n_levels) {
        return Err(format!("{n_cells} cells of {n_levels} levels"));
    }
    Ok(())
}

/// The counts of a rule from the rows that it covers and fails on; `failing` is null if it fails on all rows not covered.
///
/// SAFETY: every array holds `layout.n_cells()` numbers.
unsafe fn sides(layout: &Layout, covered: *const u64, failing: *const u64) -> Result<Vec<u64>, String> {
    let mut counts = slice(covered, layout.n_cells(), "covered")?.to_vec();
    if layout.sides == Sides::Possible {
        let failing = slice(failing, layout.n_cells(), "failing")?;
        let possible = layout.all.iter().zip(failing);
        counts.extend(possible.map(|(all, failing)| all.checked_sub(*failing).unwrap_or(u64::MAX)));
    }
    match layout.fits(&counts) {
        true => Ok(counts),
        false => Err("a rule cannot have more rows than there are".to_string()),
    }
}

/// SAFETY: `all` holds `n_cells` numbers.
unsafe fn layout(
    estimation: &Estimation,
    n_cells: usize,
    all: *const u64,
    failing: *const u64,
) -> Result<Layout, String> {
    check_cells(n_cells, estimation.n_levels)?;
    let sides = match failing.is_null() {
        true => Sides::Complement,
        false => Sides::Possible,
    };
    let all = slice(all, n_cells, "all")?;
    if all.iter().try_fold(0u64, |sum, &n| sum.checked_add(n)).is_none() {
        return Err("there are more rows than can be counted".to_string());
    }
    Ok(Layout::new(estimation.n_levels, all.to_vec(), sides))
}

/// A value or a bound as a number; minus infinity if there is no rule.
fn number(score: Score) -> f64 {
    match score {
        Score::MIN => f64::NEG_INFINITY,
        _ => score::to_number(score),
    }
}

/// # Safety
/// Every array holds `n_cells` numbers, those of `estimation` as many as it says; `failing` may be null.
#[no_mangle]
pub unsafe extern "C" fn cr_value(
    estimation: *const Estimation,
    n_cells: usize,
    all: *const u64,
    covered: *const u64,
    failing: *const u64,
    length: usize,
) -> f64 {
    guard(f64::NAN, || {
        let estimation = reference(estimation, "estimation")?;
        let layout = layout(estimation, n_cells, all, failing)?;
        let counts = sides(&layout, covered, failing)?;
        let estimator = estimation.estimator(&layout)?;
        Ok(number(estimator.value(&counts, length)))
    })
}

/// # Safety
/// As for `cr_value`; both of the failing rows are null or neither.
#[no_mangle]
pub unsafe extern "C" fn cr_bound(
    estimation: *const Estimation,
    n_cells: usize,
    all: *const u64,
    least_covered: *const u64,
    most_covered: *const u64,
    least_failing: *const u64,
    most_failing: *const u64,
    length: usize,
) -> f64 {
    guard(f64::NAN, || {
        let estimation = reference(estimation, "estimation")?;
        let layout = layout(estimation, n_cells, all, least_failing)?;
        let low = sides(&layout, least_covered, most_failing)?;
        let high = sides(&layout, most_covered, least_failing)?;
        if low.iter().zip(&high).any(|(low, high)| low > high) {
            return Err("the least counts are more than the most".to_string());
        }
        let estimator = estimation.estimator(&layout)?;
        Ok(number(estimator.bound(&low, &high, length, Score::MIN)))
    })
}
