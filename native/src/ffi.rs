//! The C interface, and beside `cpu` the only `unsafe` code: pointers from the caller.
//!
//! Pointers are checked for null and lengths for sanity here; inside, everything is slices and references.
//! A panic never crosses into the caller: it becomes an error like any other.

use crate::cpu::fastest;
use crate::estimator::{self, Estimator, Margin, Settings};
use crate::layout::{Layout, Sides};
use crate::local::Local;
use crate::offered::Columns;
use crate::remote::{self, Messenger, Part, Remote};
use crate::search::{Options, Search};
use crate::table::{Batch, Builder, Missing, Plan, Proposition, Table};
use crate::wanted::Wanted;
use std::cell::RefCell;
use std::ffi::{c_char, c_void, CString};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

fn set_error(message: &str) {
    let message = message.replace('\0', "");
    ERROR.with(|error| *error.borrow_mut() = CString::new(message).unwrap_or_default());
}

/// Runs the body; an error or a panic is noted for `cr_error` and becomes `failed`.
fn guard<T>(failed: T, body: impl FnOnce() -> Result<T, String>) -> T {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => value,
        Ok(Err(message)) => {
            set_error(&message);
            failed
        }
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            set_error(&format!("internal error: {}", text.unwrap_or_default()));
            failed
        }
    }
}

/// SAFETY: the caller promises that `pointer` is null or points to `length` values that live through the call.
unsafe fn slice<'a, T>(pointer: *const T, length: usize, name: &str) -> Result<&'a [T], String> {
    if length == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(format!("{name} is null"));
    }
    if !pointer.is_aligned() || length > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(format!("{name} is not an array of {length} values"));
    }
    Ok(std::slice::from_raw_parts(pointer, length))
}

/// SAFETY: as for `slice`, and nothing else reads or writes the values during the call.
unsafe fn slice_mut<'a, T>(
    pointer: *mut T,
    length: usize,
    name: &str,
) -> Result<&'a mut [T], String> {
    slice(pointer, length, name)?;
    if length == 0 {
        return Ok(&mut []);
    }
    Ok(std::slice::from_raw_parts_mut(pointer, length))
}

/// SAFETY: the caller promises that `pointer` is null or came from the matching `new` and was not freed.
unsafe fn reference<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, String> {
    pointer.as_ref().ok_or_else(|| format!("{name} is null"))
}

fn propositions(columns: &[u32], low: &[i32], high: &[i32]) -> Vec<Proposition> {
    let parts = columns.iter().zip(low).zip(high);
    parts
        .map(|((&column, &low), &high)| Proposition {
            column: column as usize,
            low,
            high,
        })
        .collect()
}

/// What a rule is worth, as C sees it.
#[repr(C)]
pub struct Estimation {
    estimator: u32,
    beta: f64,
    n_betas: usize,
    betas: *const f64,
    margin_scale: f64,
    n_levels: usize,
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

    unsafe fn estimator(&self, layout: &Layout) -> Result<Box<dyn Estimator>, String> {
        estimator::create(&self.settings()?, layout)
    }
}

/// The options of a search, as C sees them.
#[repr(C)]
pub struct SearchOptions {
    k: usize,
    alpha: f64,
    max_length: usize,
    min_rows: u64,
    irredundant: i32,
    floor: f64,
    wanted: u32,
    similarity: f64,
    n_leaders: usize,
    n_left_out: usize,
    lengths: *const usize,
    conditions: *const u32,
    n_offered: usize,
    offered: *const u64,
}

impl SearchOptions {
    /// SAFETY: as for `slice`.
    unsafe fn checked(&self, n_propositions: usize) -> Result<Options, String> {
        let SearchOptions {
            k,
            alpha,
            floor,
            similarity,
            ..
        } = *self;
        if k == 0 || !(alpha > 0.0 && alpha <= 1.0) || floor.is_nan() {
            return Err(format!("k = {k}, alpha = {alpha}, floor = {floor}"));
        }
        let lengths = slice(self.lengths, self.n_leaders, "lengths")?;
        let mut rest = slice(self.conditions, lengths.iter().sum(), "conditions")?;
        let mut leaders = Vec::new();
        for &length in lengths {
            let (conditions, others) = rest.split_at(length);
            check_conditions(conditions, n_propositions)?;
            leaders.push(conditions.to_vec());
            rest = others;
        }
        let wanted = match self.wanted {
            0 => Wanted::Any,
            1 => Wanted::Different(similarity),
            2 => Wanted::Wider,
            3 => Wanted::Near(similarity),
            _ => return Err(format!("wanted = {}", self.wanted)),
        };
        let is_share = similarity > 0.0 && similarity <= 1.0;
        if matches!(wanted, Wanted::Different(_) | Wanted::Near(_)) && !is_share {
            return Err(format!("similarity = {similarity}"));
        }
        if self.n_left_out > 0 && !matches!(wanted, Wanted::Different(_)) {
            return Err(format!("n_left_out = {}", self.n_left_out));
        }
        if matches!(wanted, Wanted::Near(_)) && leaders.is_empty() {
            return Err("no rule to be near to".to_string());
        }
        Ok(Options {
            wanted,
            leaders,
            n_left_out: self.n_left_out,
            k,
            alpha,
            max_length: (self.max_length != 0).then_some(self.max_length),
            min_rows: self.min_rows,
            irredundant: self.irredundant != 0,
            floor: estimator::from_number(floor),
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

fn check_conditions(conditions: &[u32], n_propositions: usize) -> Result<(), String> {
    match conditions.iter().find(|&&c| c as usize >= n_propositions) {
        Some(condition) => Err(format!("no proposition {condition} among {n_propositions}")),
        None => Ok(()),
    }
}

/// The number of levels, if the cells are whole strata.
fn check_cells(n_cells: usize, n_levels: usize) -> Result<(), String> {
    if n_levels < 2 || n_cells == 0 || !n_cells.is_multiple_of(n_levels) {
        return Err(format!("{n_cells} cells of {n_levels} levels"));
    }
    Ok(())
}

#[no_mangle]
pub extern "C" fn cr_error() -> *const c_char {
    ERROR.with(|error| error.borrow().as_ptr())
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
            return Err(format!(
                "weight_bits = {weight_bits} is not between 1 and 63"
            ));
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
            reference: usize::try_from(reference_column)
                .ok()
                .map(|column| Proposition {
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
    let columns: Result<_, _> = columns
        .iter()
        .map(|&column| slice(column, n_rows, "column"))
        .collect();
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
        let batch = batch(
            n_rows, n_columns, strata, outcomes, weights, reference, columns,
        )?;
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
        let batch = batch(
            n_rows, n_columns, strata, outcomes, weights, reference, columns,
        )?;
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
            *failing = if fails {
                layout.failing(&counts, cell)
            } else {
                0
            };
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

/// # Safety
/// `table` came from `cr_builder_finish`; the arrays of `estimation` are as long as it says.
#[no_mangle]
pub unsafe extern "C" fn cr_search_new(
    table: *const Table,
    estimation: *const Estimation,
    options: *const SearchOptions,
) -> *mut Search {
    guard(std::ptr::null_mut(), || {
        let n_propositions = reference(table, "table")?.propositions.len();
        let options = reference(options, "options")?.checked(n_propositions)?;
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
        let number = |score: Option<_>| score.map_or(f64::NAN, estimator::to_number);
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
            values[index] = estimator::to_number(*value);
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

type Ask = extern "C" fn(*mut c_void, *const u32, usize, *mut u64, usize) -> i32;

/// The caller's function, and what it wants to be called with.
struct Caller {
    ask: Ask,
    context: *mut c_void,
}

// SAFETY: whoever makes a remote search promises that `ask` may be called from any thread with its context.
unsafe impl Send for Caller {}
unsafe impl Sync for Caller {}

impl Messenger for Caller {
    fn ask(&self, question: &[u32], length: usize) -> Vec<u64> {
        let mut answer = vec![0; length];
        let (n, out) = (question.len(), answer.as_mut_ptr());
        let failed = (self.ask)(self.context, question.as_ptr(), n, out, length);
        if failed != 0 {
            // The search cannot go on without an answer; `guard` turns this into an error of the step. It is no
            // mistake of the core's, so nothing is written about it as a panic would.
            resume_unwind(Box::new("a question was not answered"));
        }
        answer
    }
}

/// # Safety
/// The arrays hold `n_cells` and `n_propositions` values, those of `estimation` as many as it says; `ask` may be called
/// with `context` from any thread as long as the search lives, and fills `length` numbers.
#[no_mangle]
pub unsafe extern "C" fn cr_search_new_remote(
    n_cells: usize,
    all: *const u64,
    sides: u32,
    reference_rows: *const u64,
    n_propositions: usize,
    columns: *const u32,
    low: *const i32,
    high: *const i32,
    ask: Option<Ask>,
    context: *mut c_void,
    estimation: *const Estimation,
    options: *const SearchOptions,
) -> *mut Search {
    guard(std::ptr::null_mut(), || {
        let estimation = reference(estimation, "estimation")?;
        check_cells(n_cells, estimation.n_levels)?;
        let sides = match sides {
            0 => Sides::Complement,
            1 => Sides::Possible,
            2 => Sides::Reference(slice(reference_rows, n_cells, "reference")?.to_vec()),
            _ => return Err(format!("sides = {sides}")),
        };
        let all = slice(all, n_cells, "all")?.to_vec();
        let layout = Layout::new(estimation.n_levels, all, sides);
        let columns = slice(columns, n_propositions, "columns")?;
        let low = slice(low, n_propositions, "low")?;
        let high = slice(high, n_propositions, "high")?;
        let ask = ask.ok_or("ask is null")?;
        let options = reference(options, "options")?.checked(n_propositions)?;
        let estimator = Arc::from(estimation.estimator(&layout)?);
        let caller = Arc::new(Caller { ask, context });
        let rows = Remote::new(layout, propositions(columns, low, high), caller);
        let search = Search::new(Arc::new(rows), estimator, options);
        Ok(Box::into_raw(Box::new(search)))
    })
}

/// # Safety
/// `table` came from `cr_builder_finish`.
#[no_mangle]
pub unsafe extern "C" fn cr_part_new(table: *const Table, salt: u64) -> *mut Part {
    guard(std::ptr::null_mut(), || {
        reference(table, "table")?;
        Arc::increment_strong_count(table);
        let part = Part::new(Arc::from_raw(table), salt);
        Ok(Box::into_raw(Box::new(part)))
    })
}

/// # Safety
/// `part` came from `cr_part_new`; the arrays hold `n` and `length` values.
#[no_mangle]
pub unsafe extern "C" fn cr_part_answer(
    part: *const Part,
    question: *const u32,
    n: usize,
    answer: *mut u64,
    length: usize,
) -> i32 {
    guard(-1, || {
        let part = reference(part, "part")?;
        let found = part.answer(slice(question, n, "question")?)?;
        if found.len() != length {
            return Err(format!(
                "the answer has {} numbers, not {length}",
                found.len()
            ));
        }
        slice_mut(answer, length, "answer")?.copy_from_slice(&found);
        Ok(0)
    })
}

/// # Safety
/// `part` is null or came from `cr_part_new` and is not used again.
#[no_mangle]
pub unsafe extern "C" fn cr_part_free(part: *mut Part) {
    if !part.is_null() {
        drop(Box::from_raw(part));
    }
}

/// # Safety
/// Both arrays hold `length` numbers.
#[no_mangle]
pub unsafe extern "C" fn cr_put_together(
    kind: u32,
    sum: *mut u64,
    more: *const u64,
    length: usize,
) -> i32 {
    guard(-1, || {
        let sum = slice_mut(sum, length, "sum")?;
        remote::put_together(kind, sum, slice(more, length, "more")?);
        Ok(0)
    })
}

/// The counts of a rule from the rows that it covers and fails on; `failing` is null for all that is not covered.
///
/// SAFETY: every array holds `layout.n_cells()` numbers.
unsafe fn sides(
    layout: &Layout,
    covered: *const u64,
    failing: *const u64,
) -> Result<Vec<u64>, String> {
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
    if all
        .iter()
        .try_fold(0u64, |sum, &n| sum.checked_add(n))
        .is_none()
    {
        return Err("there are more rows than can be counted".to_string());
    }
    Ok(Layout::new(estimation.n_levels, all.to_vec(), sides))
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
        Ok(estimator::to_number(estimator.value(&counts, length)))
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
        let bound = estimator.bound(&low, &high, length, estimator::Score::MIN);
        Ok(estimator::to_number(bound))
    })
}

/// The version of the package, whose only source is `Cargo.toml`.
#[no_mangle]
pub extern "C" fn cr_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
