//! Exact search for the top-k conjunctive rules of highest reliable causal effect.
//!
//! A [`table::Table`] holds the rows as bits, an [`estimator::Estimator`] turns counts into scores and
//! bounds, a [`search::Search`] decides what to look at next. Nothing here knows about Python; `ffi`
//! is the small C interface through which it is driven, and the only module with `unsafe` code.

mod ahead;
pub mod bitset;
mod branch;
mod checkpoint;
mod describe;
pub mod estimator;
mod expand;
mod ffi;
mod ideas;
mod judge;
mod keeper;
pub mod layout;
pub mod local;
mod node;
mod offered;
mod redundancy;
pub mod remote;
pub mod rows;
mod rulebook;
pub mod search;
pub mod table;
mod top;
mod usable;
pub mod wanted;
mod worker;

pub use ffi::fastest as fastest_kernel;

#[cfg(test)]
mod tests;
