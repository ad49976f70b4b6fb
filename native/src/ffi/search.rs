//! Searches: their options, sources, steps, rules and saved states.

use super::border::{guard, reference, slice, slice_mut};
use super::rows::RowsHandle;
use super::score::Estimation;
use crate::score;
use crate::search::{self, Columns, Options, Search};
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
}

impl SearchOptions {
    fn checked(&self) -> Result<Options, String> {
        let SearchOptions { k, alpha, floor, .. } = *self;
        if k == 0 || !(alpha > 0.0 && alpha <= 1.0) || floor.is_nan() {
            return Err(format!("k = {k}, alpha = {alpha}, floor = {floor}"));
        }
        Ok(Options {
            k,
            alpha,
            max_length: (self.max_length != 0).then_some(self.max_length),
            min_rows: self.min_rows,
            floor: score::from_number(floor),
        })
    }
}

/// One table with its controls, as C sees it.
#[repr(C)]
pub struct Source {
    rows: *const RowsHandle,
    estimation: *const Estimation,
    n_allowed: usize,
    allowed: *const u64,
    numbers: *const u32,
}

impl Source {
    /// SAFETY: `rows` came from one of `cr_rows_…`; `allowed` holds two words for each set, `numbers` is null or holds one
    /// number for each proposition of the rows.
    unsafe fn checked(&self, options: &Options) -> Result<search::Source, String> {
        let RowsHandle(rows) = reference(self.rows, "rows")?;
        let estimator = Arc::from(reference(self.estimation, "estimation")?.estimator(rows.layout())?);
        let words = slice(self.allowed, 2 * self.n_allowed, "allowed")?.chunks(2);
        let sets = words.map(|word| Columns::from(word[0]) | Columns::from(word[1]) << 64);
        let sets: Vec<Columns> = sets.collect();
        let allowed = (!sets.is_empty()).then_some(&sets[..]);
        let numbers = match self.numbers.is_null() {
            true => None,
            false => Some(slice(self.numbers, rows.propositions().len(), "numbers")?.to_vec()),
        };
        if numbers
            .as_ref()
            .is_some_and(|numbers| !numbers.is_sorted_by(|x, y| x < y))
        {
            return Err("the numbers of the conditions do not rise".to_string());
        }
        Ok(search::Source::new(rows.clone(), estimator, allowed, numbers, options))
    }
}

/// # Safety
/// `first` is as [`Source::checked`] says, `whole` is null or came from one of `cr_rows_…`.
#[no_mangle]
pub unsafe extern "C" fn cr_search_new(
    first: *const Source,
    whole: *const RowsHandle,
    n_sources: usize,
    options: *const SearchOptions,
) -> *mut Search {
    guard(std::ptr::null_mut(), || {
        let options = reference(options, "options")?.checked()?;
        let first = reference(first, "first")?.checked(&options)?;
        let whole = whole.as_ref().map(|RowsHandle(rows)| rows.clone());
        if n_sources == 0 || n_sources > 1 && whole.is_none() {
            return Err(format!("{n_sources} sources without the rows of all"));
        }
        let search = Search::new(first, whole, n_sources, options);
        Ok(Box::into_raw(Box::new(search)))
    })
}

/// # Safety
/// `search` came from `cr_search_new`; `source` is as [`Source::checked`] says.
#[no_mangle]
pub unsafe extern "C" fn cr_search_add(search: *const Search, number: usize, source: *const Source) -> i32 {
    guard(-1, || {
        let search = reference(search, "search")?;
        let source = reference(source, "source")?.checked(&search.options)?;
        search.add(number, source)?;
        Ok(0)
    })
}

/// More threads than cores only pay if they wait for remote rows.
const MOST_THREADS: usize = 256;

/// The state of a search, as C sees it.
#[repr(C)]
pub struct Status {
    done: i32,
    wants: i64,
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
            wants: now.wants.map_or(-1, |number| number as i64),
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
        // Each rule has at least one condition, so there is room for the values and lengths too.
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
pub unsafe extern "C" fn cr_search_save(search: *const Search, numbers: *mut u64, capacity: usize) -> i64 {
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
pub unsafe extern "C" fn cr_search_restore(search: *const Search, numbers: *const u64, length: usize) -> i32 {
    guard(-1, || {
        let search = reference(search, "search")?;
        search.restore(slice(numbers, length, "numbers")?)?;
        Ok(0)
    })
}
