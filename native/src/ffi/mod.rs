//! The C interface. Beside `cpu` the only `unsafe` code: pointers from the caller.
//!
//! Pointers are checked for null and lengths for sanity here; inside, everything is slices and references.
//! A panic never crosses into the caller: it becomes an error like any other.

mod border;
mod enumeration;
mod permutations;
mod rows;
mod score;
mod search;
mod table;

use std::ffi::c_char;

#[no_mangle]
pub extern "C" fn cr_error() -> *const c_char {
    border::error()
}

/// The version of the package, whose only source is `Cargo.toml`.
#[no_mangle]
pub extern "C" fn cr_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
