//! Sets of rows as bits: counting, eight sets at a time, and the vector instructions of this machine.

pub mod bitset;
pub mod cpu;
pub mod lanes;
