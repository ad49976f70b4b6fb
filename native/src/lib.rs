//! Exact search for the top-k conjunctive rules of highest causal effect, by branch and bound.
//!
//! A [`table::Table`] holds the rows as bits, a [`score::Estimator`] turns counts into scores and bounds, a
//! [`search::Search`] decides which branch comes next. Nothing here knows Python; `ffi` is the small C interface to it.
//! Only `ffi` and the counting kernels in [`bits`] have `unsafe` code. `README.md` defines the terms.

pub mod bits;
mod ffi;
mod permutations;
mod policy;
pub mod rows;
pub mod score;
pub mod search;
pub mod table;

pub use bits::cpu::fastest as fastest_kernel;

#[cfg(test)]
mod tests;
