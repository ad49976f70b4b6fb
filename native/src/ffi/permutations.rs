//! Many tables that differ only in the outcome.

use super::border::{guard, reference, slice_mut};
use super::score::Estimation;
use crate::permutations::{Options, Redrawn, Walk, MOST};
use crate::table::Table;
use std::sync::Arc;
use std::time::Duration;

/// # Safety
/// `table` came from `cr_builder_finish`; the arrays of `estimation` are as long as it says.
#[no_mangle]
pub unsafe extern "C" fn cr_redrawn_new(
    table: *const Table,
    n_outcomes: usize,
    estimation: *const Estimation,
    max_length: usize,
    min_rows: u64,
    least: f64,
    most_work: u64,
) -> *mut Redrawn {
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
        let redrawn = Redrawn::new(Arc::from_raw(table), pooled, options);
        Ok(Box::into_raw(Box::new(redrawn)))
    })
}

/// # Safety
/// `redrawn` came from `cr_redrawn_new` and nothing else uses it.
#[no_mangle]
pub unsafe extern "C" fn cr_redrawn_step(redrawn: *mut Redrawn, seconds: f64) -> i32 {
    guard(-1, || {
        let redrawn = redrawn.as_mut().ok_or("redrawn is null")?;
        let time = Duration::try_from_secs_f64(seconds.max(0.0)).map_err(|e| e.to_string())?;
        Ok(match redrawn.step(time) {
            Walk::Underway => 0,
            Walk::Done => 1,
            Walk::GivenUp => 2,
        })
    })
}

/// # Safety
/// `redrawn` came from `cr_redrawn_new`; `ratios` has room for a number for each outcome.
#[no_mangle]
pub unsafe extern "C" fn cr_redrawn_ratios(
    redrawn: *const Redrawn,
    ratios: *mut f64,
    n_outcomes: usize,
) -> i32 {
    guard(-1, || {
        let found: Vec<Option<f64>> = reference(redrawn, "redrawn")?.ratios().collect();
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
/// `redrawn` is null or came from `cr_redrawn_new` and is not used again.
#[no_mangle]
pub unsafe extern "C" fn cr_redrawn_free(redrawn: *mut Redrawn) {
    if !redrawn.is_null() {
        drop(Box::from_raw(redrawn));
    }
}
