//! Which vector instructions this machine has. Beside `ffi`, the only module with `unsafe` code: calls to functions
//! compiled for instructions that not every machine has, each guarded by a check or by a token that only such a check
//! gives.
//!
//! A task is compiled once for each kind of machine, with everything it inlines, and runs in the best version.

use crate::bits::bitset::{count_eights, Kernel, HELD};
use crate::bits::lanes::{Lanes, LANES};

/// A computation worth vector instructions. `run` and everything it calls must be `#[inline(always)]`.
pub trait Task {
    type Answer;
    fn run(self, vector: impl Vector) -> Self::Answer;
}

/// Operations that compilers do not vectorise by themselves.
pub trait Vector: Copy {
    /// Eight numbers.
    type Wide: Copy;
    fn zero(self) -> Self::Wide;
    /// Adds to each number the bits that a word shares with one of eight words.
    fn add_common(self, sum: Self::Wide, word: u64, words: &Lanes) -> Self::Wide;
    fn lanes(self, wide: Self::Wide) -> Lanes;
    /// Adds the bits that each word shares with its counterpart, in eight sums.
    fn add_pairs(self, sum: Self::Wide, words: &Lanes, others: &Lanes) -> Self::Wide;

    /// For each of eight sets stored side by side, the number of bits that it shares with another set.
    #[inline(always)]
    fn count_common(self, words: &[u64], block: &[Lanes]) -> Lanes {
        count_by_words(self, words, block)
    }
}

#[inline(always)]
fn count_by_words<V: Vector>(vector: V, words: &[u64], block: &[Lanes]) -> Lanes {
    let mut ones = vector.zero();
    for (word, lanes) in words.iter().zip(block) {
        ones = vector.add_common(ones, *word, lanes);
    }
    vector.lanes(ones)
}

/// Runs the task with the widest instructions that this machine has.
#[inline]
pub fn vectorised<T: Task>(task: T) -> T::Answer {
    #[cfg(target_arch = "x86_64")]
    {
        if x86::has_avx512() {
            // SAFETY: the instructions were detected just now.
            return unsafe { x86::with_avx512(task) };
        }
        if x86::has_avx2() {
            // SAFETY: the instructions were detected just now.
            return unsafe { x86::with_avx2(task) };
        }
    }
    task.run(Plain)
}

/// The fastest kernel for this machine.
pub fn fastest() -> Kernel {
    #[cfg(target_arch = "x86_64")]
    if x86::has_avx512() {
        use crate::bits::bitset::{vector, CountingEach};
        // SAFETY: the instructions that these functions need were detected just now.
        return Kernel {
            count_each: |x, asked, segments| unsafe {
                match vector::are_short(x, segments) {
                    true => vector::count_each(x, asked, segments),
                    false => x86::with_avx512(CountingEach { x, asked, segments }),
                }
            },
            gather: |words, mask, out| unsafe { vector::gather(words, mask, out) },
        };
    }
    #[cfg(target_arch = "x86_64")]
    if x86::has_avx2() {
        use crate::bits::bitset::vector;
        // SAFETY: the instructions that these functions need were detected just now.
        return Kernel {
            count_each: |x, asked, segments| unsafe { vector::count_each(x, asked, segments) },
            gather: |words, mask, out| unsafe { vector::gather(words, mask, out) },
        };
    }
    Kernel::PLAIN
}

/// With fewer words than this, a bit counter costs more than it saves.
const SHORT: usize = 16;

/// What every machine supports.
#[derive(Clone, Copy)]
pub struct Plain;

impl Vector for Plain {
    type Wide = Lanes;

    #[inline(always)]
    fn zero(self) -> Lanes {
        [0; LANES]
    }

    #[inline(always)]
    fn add_common(self, mut sum: Lanes, word: u64, words: &Lanes) -> Lanes {
        for (sum, other) in sum.iter_mut().zip(words) {
            *sum += u64::from((word & other).count_ones());
        }
        sum
    }

    #[inline(always)]
    fn lanes(self, wide: Lanes) -> Lanes {
        wide
    }

    #[inline(always)]
    fn add_pairs(self, mut sum: Lanes, words: &Lanes, others: &Lanes) -> Lanes {
        for (sum, (word, other)) in sum.iter_mut().zip(words.iter().zip(others)) {
            *sum += u64::from((word & other).count_ones());
        }
        sum
    }

    #[inline(always)]
    fn count_common(self, words: &[u64], block: &[Lanes]) -> Lanes {
        if words.len() < SHORT {
            return count_by_words(self, words, block);
        }
        let ((eights, rest), (blocks, block_rest)) = (words.as_chunks::<8>(), block.as_chunks::<8>());
        let mut counts = count_by_words(self, rest, block_rest);
        let halves = counts.as_chunks_mut::<HELD>().0;
        for (half, counts) in halves.iter_mut().enumerate() {
            let more = count_eights(eights.len(), |number| {
                let (words, block) = (&eights[number], &blocks[number]);
                move |i: usize| block[i].as_chunks::<HELD>().0[half].map(|lane| lane & words[i])
            });
            for (count, more) in counts.iter_mut().zip(more) {
                *count += more;
            }
        }
        counts
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Plain, Task, Vector};
    use crate::bits::lanes::Lanes;
    use std::arch::x86_64::{
        __m512i, _mm512_add_epi64, _mm512_and_si512, _mm512_loadu_si512, _mm512_popcnt_epi64, _mm512_set1_epi64,
        _mm512_setzero_si512, _mm512_storeu_si512,
    };

    pub fn has_avx512() -> bool {
        #[cfg(test)]
        if !super::widths::may_use(super::widths::AVX512) {
            return false;
        }
        has_avx2()
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vpopcntdq")
    }

    pub fn has_avx2() -> bool {
        #[cfg(test)]
        if !super::widths::may_use(super::widths::AVX2) {
            return false;
        }
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,avx2,popcnt,bmi1,bmi2")]
    pub fn with_avx512<T: Task>(task: T) -> T::Answer {
        task.run(Avx512(()))
    }

    #[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
    pub fn with_avx2<T: Task>(task: T) -> T::Answer {
        task.run(Plain)
    }

    /// Exists only inside `with_avx512`.
    #[derive(Clone, Copy)]
    struct Avx512(());

    impl Vector for Avx512 {
        type Wide = __m512i;

        #[inline(always)]
        fn zero(self) -> __m512i {
            // SAFETY: the token exists only on a CPU with AVX-512.
            unsafe { _mm512_setzero_si512() }
        }

        #[inline(always)]
        fn add_common(self, sum: __m512i, word: u64, words: &Lanes) -> __m512i {
            // SAFETY: as above; the reference is to eight numbers.
            unsafe {
                let words = _mm512_loadu_si512(words.as_ptr().cast());
                let common = _mm512_and_si512(_mm512_set1_epi64(word as i64), words);
                _mm512_add_epi64(sum, _mm512_popcnt_epi64(common))
            }
        }

        #[inline(always)]
        fn add_pairs(self, sum: __m512i, words: &Lanes, others: &Lanes) -> __m512i {
            // SAFETY: as above; the references are to eight numbers each.
            unsafe {
                let words = _mm512_loadu_si512(words.as_ptr().cast());
                let others = _mm512_loadu_si512(others.as_ptr().cast());
                let common = _mm512_and_si512(words, others);
                _mm512_add_epi64(sum, _mm512_popcnt_epi64(common))
            }
        }

        #[inline(always)]
        fn lanes(self, wide: __m512i) -> Lanes {
            let mut lanes = Lanes::default();
            // SAFETY: as above; the array holds eight numbers.
            unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), wide) };
            lanes
        }
    }
}

/// The versions for older machines, run on this one. For tests only: the shipped code always runs the widest.
#[cfg(test)]
#[path = "../tests/instruction_widths.rs"]
pub mod widths;
