//! Exact search for the top-k conjunctive rules of highest causal effect, by branch and bound.
//!
//! A [`table::Table`] holds the rows as bits, an [`estimator::Estimator`] turns counts into scores and
//! bounds, a [`search::Search`] decides what to look at next. Nothing here knows about Python; `ffi`
//! is the small C interface through which it is driven. Only `ffi` and [`cpu`] have `unsafe` code.
//!
//! # Words
//!
//! - *Proposition* or *condition*: a column's code lies in a range. A *rule* is a conjunction of conditions, its
//!   *extension* the rows that satisfy them all.
//! - *Incumbent*: the rule to beat, the k-th best so far.
//! - *Upper bound*: no rule of a branch is worth more. *Branch* or node: a rule with the conditions it may still take.
//! - *Core* of a branch: the rows that satisfy all conditions it may still take; every rule of the branch covers them.
//! - *Closure*: all conditions that hold on a rule's rows. *Minimal generator*, or minimal rule: one in which no condition
//!   can be left out without covering more rows. Each set of rows has one closure and often several minimal rules; the
//!   shortest of these is its description.
//! - *Cell*: a stratum of the controls and a level of the target; the counts of a rule are its rows in each cell.

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
