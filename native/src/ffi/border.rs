//! Checks at the C border: errors, arrays, references. Guarantee: no panic crosses, and null, unaligned or oversized arrays
//! are rejected.

use std::cell::RefCell;
use std::ffi::{c_char, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

fn set_error(message: &str) {
    let message = message.replace('\0', "");
    ERROR.with(|error| *error.borrow_mut() = CString::new(message).unwrap_or_default());
}

/// Runs the body; an error or a panic is stored for `cr_error` and returned as `failed`.
pub(super) fn guard<T>(failed: T, body: impl FnOnce() -> Result<T, String>) -> T {
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
pub(super) unsafe fn slice<'a, T>(pointer: *const T, length: usize, name: &str) -> Result<&'a [T], String> {
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
pub(super) unsafe fn slice_mut<'a, T>(pointer: *mut T, length: usize, name: &str) -> Result<&'a mut [T], String> {
    slice(pointer, length, name)?;
    if length == 0 {
        return Ok(&mut []);
    }
    Ok(std::slice::from_raw_parts_mut(pointer, length))
}

/// SAFETY: the caller promises that `pointer` is null or came from the matching `new` and was not freed.
pub(super) unsafe fn reference<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, String> {
    pointer.as_ref().ok_or_else(|| format!("{name} is null"))
}

/// The error of this thread's last call.
pub(super) fn error() -> *const c_char {
    ERROR.with(|error| error.borrow().as_ptr())
}

pub(super) fn check_conditions(conditions: &[u32], n_propositions: usize) -> Result<(), String> {
    match conditions.iter().find(|&&c| c as usize >= n_propositions) {
        Some(condition) => Err(format!("no proposition {condition} among {n_propositions}")),
        None => Ok(()),
    }
}
