//! Many tables that differ only in a binary outcome.

use super::border::{guard, reference, slice_mut};
use super::score::Estimation;
use crate::permutations::{Options, Permutations, Walk, MOST};
use crate::table::Table;
use std::sync::Arc;
use std::time::Duration;

/// # Safety
/// `table` came from `cr_builder_finish`; the arrays of `estimation` are as long as it says.
#[no_mangle]
pub unsafe extern "C" fn cr_permutations_new(
    table: *const Table,
    n_outcomes: usize,
    estimation: *const Estimation,
    max_length: usize,
    min_rows: u64,
    least: f64,
    most_work: u64,
) -> *mut Permutations {
    guard(std::ptr::null_mut(), || {
        let checked = reference(table, "table")?;
        let fits = n_outcomes <= checked.propositions.len().min(MOST);
        if n_outcomes == 0 || !fits || max_length == 0 || !(least >= 0.0 && least.is_finite()) {
            return Err(format!(
                "{n_outcomes} outcomes, max_length = {max_length}, least = {least}"
            ));
        }
        let pooled = reference(estimation, "estimation")?.pooled(checked, n_outcomes)?;
        Arc::increment_strong_count(table);
        let options = Options {
            n_outcomes,
            max_length,
            min_rows,
            least,
            most_work,
        };
        let permutations = Permutations::new(Arc::from_raw(table), pooled, options);
        Ok(Box::into_raw(Box::new(permutations)))
    })
}

/// # Safety
/// `permutations` came from `cr_permutations_new` and nothing else uses it.
#[no_mangle]
pub unsafe extern "C" fn cr_permutations_step(permutations: *mut Permutations, seconds: f64) -> i32 {
    guard(-1, || {
        let permutations = permutations.as_mut().ok_or("permutations is null")?;
        let time = Duration::try_from_secs_f64(seconds.max(0.0)).map_err(|e| e.to_string())?;
        Ok(match permutations.step(time) {
            Walk::Underway => 0,
            Walk::Done => 1,
            Walk::GivenUp => 2,
        })
    })
}

/// # Safety
/// `permutations` came from `cr_permutations_new`; `ratios` has room for a number for each outcome.
#[no_mangle]
pub unsafe extern "C" fn cr_permutations_ratios(
    permutations: *const Permutations,
    ratios: *mut f64,
    n_outcomes: usize,
) -> i32 {
    guard(-1, || {
        let found: Vec<Option<f64>> = reference(permutations, "permutations")?.ratios().collect();
        if found.len() != n_outcomes {
            return Err(format!("{} outcomes, not {n_outcomes}", found.len()));
        }
        let ratios = slice_mut(ratios, n_outcomes, "ratios")?;
        for (ratio, found) in ratios.iter_mut().zip(found) {
            *ratio = found.unwrap_or(f64::NEG_INFINITY);
        }
        Ok(0)
    })
}

/// # Safety
/// `permutations` is null or came from `cr_permutations_new` and is not used again.
#[no_mangle]
pub unsafe extern "C" fn cr_permutations_free(permutations: *mut Permutations) {
    if !permutations.is_null() {
        drop(Box::from_raw(permutations));
    }
}
