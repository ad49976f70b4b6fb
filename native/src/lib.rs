//! Exact search for the top-k conjunctive rules of highest causal effect, by branch and bound.
//!
//! A [`table::Table`] holds the rows as bits, a [`score::Estimator`] turns counts into scores and bounds, a
//! [`search::Search`] decides what to look at next. Nothing here knows about Python; `ffi` is the small C interface through
//! which it is driven. Only `ffi` and the counting kernels in [`bits`] have `unsafe` code. `README.md` has the words.

pub mod bits;
mod ffi;
mod permutations;
pub mod rows;
pub mod score;
pub mod search;
pub mod table;

pub use bits::cpu::fastest as fastest_kernel;

#[cfg(test)]
mod tests;
