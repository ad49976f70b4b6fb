//! Rows of a search, in this process or remote, and the parts that answer remote questions.

use super::border::{guard, reference, slice, slice_mut};
use super::score::check_cells;
use super::table::propositions;
use crate::rows::local::Local;
use crate::rows::remote::{self, Messenger, Part, Remote};
use crate::rows::Rows;
use crate::table::layout::{Layout, Sides};
use crate::table::Table;
use std::ffi::c_void;
use std::panic::resume_unwind;
use std::sync::Arc;

type Ask = extern "C" fn(*mut c_void, *const u32, usize, *mut u64, usize) -> i32;

/// The caller's function and its context.
struct Caller {
    ask: Ask,
    context: *mut c_void,
}

// SAFETY: whoever makes remote rows promises that `ask` may be called from any thread with its context.
unsafe impl Send for Caller {}
unsafe impl Sync for Caller {}

impl Messenger for Caller {
    fn ask(&self, question: &[u32], length: usize) -> Vec<u64> {
        let mut answer = vec![0; length];
        let (n, out) = (question.len(), answer.as_mut_ptr());
        let failed = (self.ask)(self.context, question.as_ptr(), n, out, length);
        if failed != 0 {
            // The search needs this answer; `guard` turns the panic into an error of the step. The core is not at fault, so
            // no panic message is written.
            resume_unwind(Box::new("a question was not answered"));
        }
        answer
    }
}

/// Local or remote rows.
pub struct RowsHandle(pub(super) Arc<dyn Rows>);

/// # Safety
/// `table` came from `cr_builder_finish`.
#[no_mangle]
pub unsafe extern "C" fn cr_rows_new(table: *const Table) -> *mut RowsHandle {
    guard(std::ptr::null_mut(), || {
        reference(table, "table")?;
        Arc::increment_strong_count(table);
        let rows = Local::new(Arc::from_raw(table));
        Ok(Box::into_raw(Box::new(RowsHandle(Arc::new(rows)))))
    })
}

/// # Safety
/// The arrays hold `n_cells` and `n_propositions` values; `ask` may be called with `context` from any thread as long as
/// the rows or a search of them live, and fills `length` numbers.
#[no_mangle]
pub unsafe extern "C" fn cr_rows_new_remote(
    n_cells: usize,
    n_levels: usize,
    all: *const u64,
    sides: u32,
    reference_rows: *const u64,
    n_propositions: usize,
    columns: *const u32,
    low: *const i32,
    high: *const i32,
    ask: Option<Ask>,
    context: *mut c_void,
) -> *mut RowsHandle {
    guard(std::ptr::null_mut(), || {
        check_cells(n_cells, n_levels)?;
        let sides = match sides {
            0 => Sides::Complement,
            1 => Sides::Possible,
            2 => Sides::Reference(slice(reference_rows, n_cells, "reference")?.to_vec()),
            _ => return Err(format!("sides = {sides}")),
        };
        let all = slice(all, n_cells, "all")?.to_vec();
        let layout = Layout::new(n_levels, all, sides);
        let columns = slice(columns, n_propositions, "columns")?;
        let low = slice(low, n_propositions, "low")?;
        let high = slice(high, n_propositions, "high")?;
        let ask = ask.ok_or("ask is null")?;
        let caller = Arc::new(Caller { ask, context });
        let rows = Remote::new(layout, propositions(columns, low, high), caller);
        Ok(Box::into_raw(Box::new(RowsHandle(Arc::new(rows)))))
    })
}

/// # Safety
/// `rows` is null or came from one of `cr_rows_…` and is not used again. Searches keep what they need of it.
#[no_mangle]
pub unsafe extern "C" fn cr_rows_free(rows: *mut RowsHandle) {
    if !rows.is_null() {
        drop(Box::from_raw(rows));
    }
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
            return Err(format!("the answer has {} numbers, not {length}", found.len()));
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
pub unsafe extern "C" fn cr_put_together(kind: u32, sum: *mut u64, more: *const u64, length: usize) -> i32 {
    guard(-1, || {
        let sum = slice_mut(sum, length, "sum")?;
        remote::put_together(kind, sum, slice(more, length, "more")?);
        Ok(0)
    })
}
