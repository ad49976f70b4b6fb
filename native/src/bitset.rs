//! Sets of rows as 64-bit words, and the few operations on them that the time is spent in.
//!
//! The hot loops are compiled twice, plainly and for the vector units of recent CPUs; which of the two
//! runs is found out when the program starts, so one build serves every machine.

/// A run of whole words that hold rows of one stratum and one outcome, each row counting `multiplier` times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub stratum: u32,
    pub positive: bool,
    pub multiplier: u64,
    pub start: usize,
    pub end: usize,
}

/// Rows of one stratum that are covered: with the outcome and without it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub positive: u64,
    pub negative: u64,
}

impl Counts {
    pub fn total(self) -> u64 {
        self.positive + self.negative
    }
}

/// How many rows the counts of all strata add up to.
pub fn total(counts: &[Counts]) -> u64 {
    counts.iter().map(|c| c.total()).sum()
}

#[inline(always)]
fn count_and_plain(x: &[u64], y: &[u64], segments: &[Segment], counts: &mut [Counts]) {
    counts.fill(Counts::default());
    for segment in segments {
        let (x, y) = (
            &x[segment.start..segment.end],
            &y[segment.start..segment.end],
        );
        let ones: u64 = x
            .iter()
            .zip(y)
            .map(|(x, y)| u64::from((x & y).count_ones()))
            .sum();
        let counts = &mut counts[segment.stratum as usize];
        if segment.positive {
            counts.positive += ones * segment.multiplier;
        } else {
            counts.negative += ones * segment.multiplier;
        }
    }
}

/// The bits of `word` at the places where `mask` has ones, moved together at the low end.
fn compress_plain(word: u64, mut mask: u64) -> u64 {
    let (mut result, mut place) = (0, 0);
    while mask != 0 {
        result |= (word >> mask.trailing_zeros() & 1) << place;
        mask &= mask - 1;
        place += 1;
    }
    result
}

#[inline(always)]
fn gather_with(words: &[u64], mask: &[u64], out: &mut [u64], compress: impl Fn(u64, u64) -> u64) {
    out.fill(0);
    let (mut at, mut free) = (0, 0);
    for (&word, &mask) in words.iter().zip(mask) {
        if mask == 0 {
            continue;
        }
        let bits = compress(word, mask);
        let count = mask.count_ones();
        out[at] |= bits << free;
        if free + count >= 64 {
            at += 1;
            if free + count > 64 {
                out[at] = bits >> (64 - free);
            }
            free = free + count - 64;
        } else {
            free += count;
        }
    }
}

type CountAnd = fn(x: &[u64], y: &[u64], segments: &[Segment], counts: &mut [Counts]);

/// The operations that exist in more than one build; `ffi::fastest` picks.
#[derive(Clone, Copy)]
pub struct Kernel {
    /// Counts `x ∩ y` by stratum and outcome.
    pub count_and: CountAnd,
    /// Moves the bits of `words` at the ones of `mask` together at the beginning of `out`.
    pub gather: fn(words: &[u64], mask: &[u64], out: &mut [u64]),
}

impl Kernel {
    /// What every machine can run.
    pub const PLAIN: Kernel = Kernel {
        count_and: |x, y, segments, counts| count_and_plain(x, y, segments, counts),
        gather: |words, mask, out| gather_with(words, mask, out, compress_plain),
    };
}

/// The same operations for x86-64 CPUs with AVX2, BMI2 and POPCNT.
#[cfg(target_arch = "x86_64")]
pub mod vector {
    use super::{count_and_plain, gather_with, Counts, Segment};
    use std::arch::x86_64::_pext_u64;

    /// # Safety
    /// The CPU has AVX2, POPCNT, BMI1 and BMI2.
    #[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
    pub fn count_and(x: &[u64], y: &[u64], segments: &[Segment], counts: &mut [Counts]) {
        count_and_plain(x, y, segments, counts);
    }

    /// # Safety
    /// The CPU has AVX2, POPCNT, BMI1 and BMI2.
    #[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
    pub fn gather(words: &[u64], mask: &[u64], out: &mut [u64]) {
        gather_with(words, mask, out, |word, mask| _pext_u64(word, mask));
    }
}

/// x ← x ∩ y
pub fn intersect(x: &mut [u64], y: &[u64]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x &= y;
    }
}

/// Is every row of x in y?
pub fn is_subset(x: &[u64], y: &[u64]) -> bool {
    x.iter().zip(y).all(|(x, y)| x & !y == 0)
}

pub fn is_empty(x: &[u64]) -> bool {
    x.iter().all(|&word| word == 0)
}

/// How many bits are set.
pub fn size(x: &[u64]) -> u64 {
    x.iter().map(|word| u64::from(word.count_ones())).sum()
}
