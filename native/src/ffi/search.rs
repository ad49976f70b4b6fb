//! Searches: their options, steps, rules and saved states.

use super::border::{guard, reference, slice, slice_mut};
use super::score::Estimation;
use crate::rows::local::Local;
use crate::score;
use crate::search::Columns;
use crate::search::{Options, Search};
use crate::table::Table;
use std::sync::Arc;
use std::time::Duration;

/// The options of a search, as C sees them.
#[repr(C)]
pub struct SearchOptions {
    k: usize,
    alpha: f64,
    max_length: usize,
    min_rows: u64,
    floor: f64,
    n_offered: usize,
    offered: *const u64,
}

impl SearchOptions {
    /// SAFETY: as for `slice`.
    pub(super) unsafe fn checked(&self) -> Result<Options, String> {
        let SearchOptions {
            k, alpha, floor, ..
        } = *self;
        if k == 0 || !(alpha > 0.0 && alpha <= 1.0) || floor.is_nan() {
            return Err(format!("k = {k}, alpha = {alpha}, floor = {floor}"));
        }
        Ok(Options {
            k,
            alpha,
            max_length: (self.max_length != 0).then_some(self.max_length),
            min_rows: self.min_rows,
            floor: score::from_number(floor),
            offered: self.offered_sets()?,
        })
    }

    /// SAFETY: as for `slice`.
    unsafe fn offered_sets(&self) -> Result<Option<Vec<Columns>>, String> {
        if self.n_offered == 0 {
            return Ok(None);
        }
        let words = slice(self.offered, 2 * self.n_offered, "offered")?.chunks(2);
        let sets = words.map(|word| Columns::from(word[0]) | Columns::from(word[1]) << 64);
        Ok(Some(sets.collect()))
    }
}

/// # Safety
/// `table` came from `cr_builder_finish`; the arrays of `estimation` are as long as it says.
#[no_mangle]
pub unsafe extern "C" fn cr_search_new(
    table: *const Table,
    estimation: *const Estimation,
    options: *const SearchOptions,
) -> *mut Search {
    guard(std::ptr::null_mut(), || {
        reference(table, "table")?;
        let options = reference(options, "options")?.checked()?;
        Arc::increment_strong_count(table);
        let table = Arc::from_raw(table);
        let estimation = reference(estimation, "estimation")?;
        let estimator = Arc::from(estimation.estimator(&table.layout)?);
        let search = Search::new(Arc::new(Local::new(table)), estimator, options);
        Ok(Box::into_raw(Box::new(search)))
    })
}

/// Threads beyond the number of cores pay only where they wait for rows that are elsewhere.
const MOST_THREADS: usize = 256;

/// How far a search has come, as C sees it.
#[repr(C)]
pub struct Status {
    done: i32,
    rules: u64,
    best: f64,
    kth: f64,
    unexplored: f64,
    nodes: u64,
    open: u64,
}

/// # Safety
/// `search` came from `cr_search_new`; `status` has room for one `Status`.
#[no_mangle]
pub unsafe extern "C" fn cr_search_step(
    search: *const Search,
    seconds: f64,
    threads: usize,
    status: *mut Status,
) -> i32 {
    guard(-1, || {
        let search = reference(search, "search")?;
        let status = status.as_mut().ok_or("status is null")?;
        let time = Duration::try_from_secs_f64(seconds.max(0.0)).map_err(|e| e.to_string())?;
        let now = search.step(time, threads.clamp(1, MOST_THREADS));
        let number = |score: Option<_>| score.map_or(f64::NAN, score::to_number);
        *status = Status {
            done: i32::from(now.done),
            rules: now.n_rules as u64,
            best: number(now.best),
            kth: number(now.kth),
            unexplored: number(now.unexplored),
            nodes: now.nodes,
            open: now.open as u64,
        };
        Ok(0)
    })
}

/// # Safety
/// `search` came from `cr_search_new`; `values`, `lengths` and `conditions` have room for `capacity` numbers each.
#[no_mangle]
pub unsafe extern "C" fn cr_search_rules(
    search: *const Search,
    values: *mut f64,
    lengths: *mut usize,
    conditions: *mut u32,
    capacity: usize,
) -> i64 {
    guard(i64::MIN, || {
        let rules = reference(search, "search")?.rules();
        let needed = rules.iter().map(|(_, rule)| rule.len()).sum();
        // Each rule has a condition, so that there is room for the values and lengths too.
        let needed = rules.len().max(needed);
        if needed > capacity {
            return Ok(-(needed as i64));
        }
        let values = slice_mut(values, rules.len(), "values")?;
        let lengths = slice_mut(lengths, rules.len(), "lengths")?;
        let conditions = slice_mut(conditions, capacity, "conditions")?;
        let mut at = 0;
        for (index, (value, rule)) in rules.iter().enumerate() {
            values[index] = score::to_number(*value);
            lengths[index] = rule.len();
            conditions[at..at + rule.len()].copy_from_slice(rule);
            at += rule.len();
        }
        Ok(rules.len() as i64)
    })
}

/// # Safety
/// `search` is null or came from `cr_search_new` and is not used again.
#[no_mangle]
pub unsafe extern "C" fn cr_search_free(search: *mut Search) {
    if !search.is_null() {
        drop(Box::from_raw(search));
    }
}

/// # Safety
/// `search` came from `cr_search_new`; `numbers` has room for `capacity` numbers.
#[no_mangle]
pub unsafe extern "C" fn cr_search_save(
    search: *const Search,
    numbers: *mut u64,
    capacity: usize,
) -> i64 {
    guard(-1, || match reference(search, "search")?.save(capacity) {
        Ok(state) => {
            slice_mut(numbers, state.len(), "numbers")?.copy_from_slice(&state);
            Ok(state.len() as i64)
        }
        Err(length) => Ok(length as i64),
    })
}

/// # Safety
/// `search` came from `cr_search_new` and nothing else uses it; `numbers` holds `length` numbers.
#[no_mangle]
pub unsafe extern "C" fn cr_search_restore(
    search: *mut Search,
    numbers: *const u64,
    length: usize,
) -> i32 {
    guard(-1, || {
        let search = search.as_mut().ok_or("search is null")?;
        search.restore(slice(numbers, length, "numbers")?)?;
        Ok(0)
    })
}
