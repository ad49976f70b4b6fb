//! Sets of rows as bits: counting them, eight at a time, with the vector instructions of this machine.

pub mod bitset;
pub mod cpu;
pub mod lanes;
