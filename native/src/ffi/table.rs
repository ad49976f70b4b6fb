//! Tables: built in two passes, counted, freed.

use super::border::{check_conditions, guard, reference, slice, slice_mut};
use crate::bits::cpu::fastest;
use crate::table::builder::{Batch, Builder, Missing, Plan};
use crate::table::{Proposition, Table};
use std::sync::Arc;

pub(super) fn propositions(columns: &[u32], low: &[i32], high: &[i32]) -> Vec<Proposition> {
    let parts = columns.iter().zip(low).zip(high);
    parts
        .map(|((&column, &low), &high)| Proposition {
            column: column as usize,
            low,
            high,
        })
        .collect()
}

/// # Safety
/// `columns`, `low` and `high` hold `n_propositions` values each.
#[no_mangle]
pub unsafe extern "C" fn cr_builder_new(
    n_propositions: usize,
    columns: *const u32,
    low: *const i32,
    high: *const i32,
    n_columns: usize,
    n_strata: usize,
    n_levels: usize,
    weight_bits: usize,
    missing: u32,
    reference_column: i32,
    reference_low: i32,
    reference_high: i32,
) -> *mut Builder {
    guard(std::ptr::null_mut(), || {
        let columns = slice(columns, n_propositions, "columns")?;
        let low = slice(low, n_propositions, "low")?;
        let high = slice(high, n_propositions, "high")?;
        if !(1..=63).contains(&weight_bits) {
            return Err(format!("weight_bits = {weight_bits} is not between 1 and 63"));
        }
        if n_strata == 0 || n_strata > i32::MAX as usize {
            return Err(format!("{n_strata} strata"));
        }
        if !(2..=1 << 16).contains(&n_levels) || n_strata * n_levels > i32::MAX as usize {
            return Err(format!("{n_levels} levels in {n_strata} strata"));
        }
        let propositions = propositions(columns, low, high);
        if propositions.iter().any(|p| p.column >= n_columns) {
            return Err(format!("a proposition is on a column beyond {n_columns}"));
        }
        let plan = Plan {
            propositions,
            n_columns,
            n_strata,
            n_levels,
            weight_bits,
            missing: match missing {
                0 => Missing::False,
                1 => Missing::Unknown,
                2 => Missing::UnknownAnywhere,
                _ => return Err(format!("missing = {missing}")),
            },
            reference: usize::try_from(reference_column).ok().map(|column| Proposition {
                column,
                low: reference_low,
                high: reference_high,
            }),
        };
        Ok(Box::into_raw(Box::new(Builder::new(fastest(), plan))))
    })
}

/// SAFETY: every array holds `n_rows` values; `columns` is null or holds `n_columns` such arrays.
unsafe fn batch<'a>(
    n_rows: usize,
    n_columns: usize,
    strata: *const i32,
    outcomes: *const u16,
    weights: *const u64,
    reference: *const u8,
    columns: *const *const i32,
) -> Result<Batch<'a>, String> {
    let weights = match weights.is_null() {
        true => None,
        false => Some(slice(weights, n_rows, "weights")?),
    };
    let reference = match reference.is_null() {
        true => None,
        false => Some(slice(reference, n_rows, "reference")?),
    };
    let columns = slice(columns, n_columns, "columns")?;
    let columns: Result<_, _> = columns.iter().map(|&column| slice(column, n_rows, "column")).collect();
    Ok(Batch {
        strata: slice(strata, n_rows, "strata")?,
        outcomes: slice(outcomes, n_rows, "outcomes")?,
        weights,
        reference,
        columns: columns?,
    })
}

/// # Safety
/// `builder` came from `cr_builder_new`; every array holds `n_rows` values, or is null for no weights; `columns` is null
/// or holds as many such arrays as the builder has columns.
#[no_mangle]
pub unsafe extern "C" fn cr_builder_size(
    builder: *mut Builder,
    n_rows: usize,
    strata: *const i32,
    outcomes: *const u16,
    weights: *const u64,
    columns: *const *const i32,
) -> i32 {
    guard(-1, || {
        let builder = builder.as_mut().ok_or("builder is null")?;
        let (n_columns, reference) = (builder.n_columns(false), std::ptr::null());
        let batch = batch(n_rows, n_columns, strata, outcomes, weights, reference, columns)?;
        builder.size(&batch).map(|()| 0)
    })
}

/// # Safety
/// As for `cr_builder_size`; `columns` is not null, `reference` may be.
#[no_mangle]
pub unsafe extern "C" fn cr_builder_fill(
    builder: *mut Builder,
    n_rows: usize,
    strata: *const i32,
    outcomes: *const u16,
    weights: *const u64,
    reference: *const u8,
    columns: *const *const i32,
) -> i32 {
    guard(-1, || {
        let builder = builder.as_mut().ok_or("builder is null")?;
        let n_columns = builder.n_columns(true);
        let batch = batch(n_rows, n_columns, strata, outcomes, weights, reference, columns)?;
        builder.fill(&batch).map(|()| 0)
    })
}

/// # Safety
/// `builder` came from `cr_builder_new` and is not used again.
#[no_mangle]
pub unsafe extern "C" fn cr_builder_finish(builder: *mut Builder) -> *const Table {
    guard(std::ptr::null(), || {
        if builder.is_null() {
            return Err("builder is null".to_string());
        }
        let table = Box::from_raw(builder).finish()?;
        Ok(Arc::into_raw(Arc::new(table)))
    })
}

/// # Safety
/// `builder` is null or came from `cr_builder_new` and is not used again.
#[no_mangle]
pub unsafe extern "C" fn cr_builder_free(builder: *mut Builder) {
    if !builder.is_null() {
        drop(Box::from_raw(builder));
    }
}

/// # Safety
/// `table` came from `cr_builder_finish`; `covered` and `failing` have room for `n_cells` numbers.
#[no_mangle]
pub unsafe extern "C" fn cr_table_count(
    table: *const Table,
    n_conditions: usize,
    conditions: *const u32,
    covered: *mut u64,
    failing: *mut u64,
    n_cells: usize,
) -> i32 {
    guard(-1, || {
        let table = reference(table, "table")?;
        let conditions = slice(conditions, n_conditions, "conditions")?;
        check_conditions(conditions, table.propositions.len())?;
        let layout = &table.layout;
        if n_cells != layout.n_cells() {
            return Err(format!("{} cells, not {n_cells}", layout.n_cells()));
        }
        let covered = slice_mut(covered, n_cells, "covered")?;
        let failing = slice_mut(failing, n_cells, "failing")?;
        let rows = table.extension(conditions);
        let mut counts = vec![0; layout.width()];
        table.count(&rows, &rows, &mut counts);
        covered.copy_from_slice(&counts[..n_cells]);
        let fails = layout.n_failing(&counts) > 0;
        for (cell, failing) in failing.iter_mut().enumerate() {
            *failing = if fails { layout.failing(&counts, cell) } else { 0 };
        }
        Ok(0)
    })
}

/// # Safety
/// `table` is null or came from `cr_builder_finish` and is not used again. Searches on it keep it alive.
#[no_mangle]
pub unsafe extern "C" fn cr_table_free(table: *const Table) {
    if !table.is_null() {
        drop(Arc::from_raw(table));
    }
}
