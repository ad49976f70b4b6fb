//! Sets of rows as 64-bit words, and the operations on them that dominate the running time.
//!
//! The hot loops are compiled twice, plainly and for the vector units of recent CPUs; which version runs is decided at
//! start-up, so one build serves every machine.

use super::lanes::Lanes;
use crate::bits::cpu::{Task, Vector};

/// A run of words that hold the rows of one cell (a stratum and a level of the target), each row counting `multiplier`
/// times. A thin segment shares one word with others, all other segments have words of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The count to which these rows add.
    pub cell: u32,
    /// A second count to which they also add, or [`NO_CELL`].
    pub also: u32,
    pub multiplier: u64,
    pub start: usize,
    pub end: usize,
    /// Its bits, if it has a single word.
    pub mask: u64,
}

/// Segments with more rows than this have words of their own: they would rarely share one.
const THIN: u64 = 32;

/// Assigns words to segments, one after the other.
#[derive(Default)]
pub struct Places {
    /// The set of all rows.
    pub all: Vec<u64>,
    /// How many bits of the last word thin segments take; all of them if the word is not shared.
    taken: u64,
}

impl Places {
    /// Assigns the words of a segment of this many rows; returns them, and its bits if it has one word.
    pub fn take(&mut self, rows: u64, may_share: bool) -> (std::ops::Range<usize>, u64) {
        let is_thin = may_share && rows <= THIN;
        if is_thin && self.taken + rows <= 64 {
            if let Some(word) = self.all.last_mut() {
                let mask = ((1 << rows) - 1) << self.taken;
                *word |= mask;
                self.taken += rows;
                return (self.all.len() - 1..self.all.len(), mask);
            }
        }
        let start = self.all.len();
        self.all.extend((0..rows / 64).map(|_| u64::MAX));
        if !rows.is_multiple_of(64) {
            self.all.push((1 << (rows % 64)) - 1);
        }
        self.taken = if is_thin { rows } else { 64 };
        let mask = if is_thin { self.all[start] } else { u64::MAX };
        (start..self.all.len(), mask)
    }
}

pub const NO_CELL: u32 = u32::MAX;

impl Segment {
    /// Adds the rows counted in this segment to the counts of a set of rows.
    #[inline(always)]
    pub fn add(&self, counts: &mut [u64], ones: u64) {
        counts[self.cell as usize] += ones * self.multiplier;
        if self.also != NO_CELL {
            counts[self.also as usize] += ones * self.multiplier;
        }
    }
}

impl Segment {
    /// For each of eight sets stored side by side, the number of rows that it shares with another set.
    #[inline(always)]
    pub fn count_lanes(&self, vector: impl Vector, rows: &[u64], block: &[Lanes]) -> Lanes {
        let here = self.start..self.end;
        if self.end - self.start == 1 {
            return vector.count_common(&[rows[self.start] & self.mask], &block[here]);
        }
        vector.count_common(&rows[here.clone()], &block[here])
    }

    /// The same for several sets of rows at once.
    #[inline(always)]
    pub fn add_lanes<const N: usize>(&self, counts: &mut [[u64; N]], ones: [u64; N]) {
        for (lane, ones) in ones.into_iter().enumerate() {
            counts[self.cell as usize][lane] += ones * self.multiplier;
        }
        if self.also != NO_CELL {
            for (lane, ones) in ones.into_iter().enumerate() {
                counts[self.also as usize][lane] += ones * self.multiplier;
            }
        }
    }
}

/// The sum of all counts.
pub fn total(counts: &[u64]) -> u64 {
    counts.iter().sum()
}

/// One set to intersect with, and where its counts go.
pub type Question<'a> = (&'a [u64], &'a mut [u64]);

/// Counts the intersections of x with N other sets, given how to count those of one run of words. `TWICE`: do some segments
/// add to two counts?
#[inline(always)]
fn count_together<const N: usize, const TWICE: bool>(
    x: &[u64],
    asked: &mut [Question; N],
    segments: &[Segment],
    count: impl Fn(&[u64], [&[u64]; N]) -> [u64; N],
) {
    for (_, counts) in asked.iter_mut() {
        counts.fill(0);
    }
    for segment in segments {
        let ys: [&[u64]; N] = std::array::from_fn(|i| asked[i].0);
        let ones = if segment.end - segment.start == 1 {
            // Most segments are this short if strata have many levels.
            let word = x[segment.start] & segment.mask;
            ys.map(|y| u64::from((word & y[segment.start]).count_ones()))
        } else {
            let ys = ys.map(|y| &y[segment.start..segment.end]);
            count(&x[segment.start..segment.end], ys)
        };
        for ((_, counts), ones) in asked.iter_mut().zip(ones) {
            counts[segment.cell as usize] += ones * segment.multiplier;
            if TWICE && segment.also != NO_CELL {
                counts[segment.also as usize] += ones * segment.multiplier;
            }
        }
    }
}

/// Word by word, for N sets at once: x is read once, and the end of a short run is mispredicted only once.
#[inline(always)]
fn count_words<const N: usize>(x: &[u64], ys: [&[u64]; N]) -> [u64; N] {
    let ys = ys.map(|y| &y[..x.len()]);
    let mut ones = [0; N];
    for (word, x) in x.iter().enumerate() {
        for (ones, y) in ones.iter_mut().zip(ys) {
            *ones += u64::from((x & y[word]).count_ones());
        }
    }
    ones
}

#[inline(always)]
fn count_each_by_words(x: &[u64], asked: &mut [Question], segments: &[Segment]) {
    if segments.iter().any(|segment| segment.also != NO_CELL) {
        count_each_by_words_and::<true>(x, asked, segments);
    } else {
        count_each_by_words_and::<false>(x, asked, segments);
    }
}

#[inline(always)]
fn count_each_by_words_and<const TWICE: bool>(x: &[u64], asked: &mut [Question], segments: &[Segment]) {
    let (fours, rest) = asked.as_chunks_mut::<4>();
    for four in fours {
        count_together::<4, TWICE>(x, four, segments, count_words);
    }
    for one in rest {
        count_together::<1, TWICE>(x, std::array::from_mut(one), segments, count_words);
    }
}

/// The contents of a vector register.
pub const HELD: usize = 4;
pub type Held = [u64; HELD];

/// The sum of three bits at each position, as two bits: carries and sums.
#[inline(always)]
fn add_bits(x: Held, y: Held, z: Held) -> (Held, Held) {
    let carry = std::array::from_fn(|i| (x[i] & y[i]) | ((x[i] ^ y[i]) & z[i]));
    let sum = std::array::from_fn(|i| x[i] ^ y[i] ^ z[i]);
    (carry, sum)
}

/// Counts the bits of each lane of a vector register, eight vectors at a time. A carry-save adder leaves only every eighth
/// vector to count (Harley and Seal).
#[inline(always)]
pub fn count_eights<V: Fn(usize) -> Held>(n: usize, eight: impl Fn(usize) -> V) -> Held {
    let (mut ones, mut twos, mut fours) = ([0; HELD], [0; HELD], [0; HELD]);
    let mut counted: Held = [0; HELD];
    for number in 0..n {
        let vector = eight(number);
        let (twos_a, sum) = add_bits(ones, vector(0), vector(1));
        let (twos_b, sum) = add_bits(sum, vector(2), vector(3));
        let (fours_a, pairs) = add_bits(twos, twos_a, twos_b);
        let (twos_a, sum) = add_bits(sum, vector(4), vector(5));
        let (twos_b, sum) = add_bits(sum, vector(6), vector(7));
        let (fours_b, pairs) = add_bits(pairs, twos_a, twos_b);
        let (carry, quads) = add_bits(fours, fours_a, fours_b);
        for (counted, carry) in counted.iter_mut().zip(carry) {
            *counted += u64::from(carry.count_ones());
        }
        (ones, twos, fours) = (sum, pairs, quads);
    }
    let count = |word: u64| u64::from(word.count_ones());
    std::array::from_fn(|i| 8 * counted[i] + 4 * count(fours[i]) + 2 * count(twos[i]) + count(ones[i]))
}

#[inline(always)]
fn count_long(x: &[u64], [y]: [&[u64]; 1]) -> [u64; 1] {
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<HELD>(), y.as_chunks::<HELD>());
    let ((x, x_few), (y, y_few)) = (x.as_chunks::<8>(), y.as_chunks::<8>());
    let both = count_eights(x.len(), |number| {
        let (x, y) = (&x[number], &y[number]);
        move |i: usize| std::array::from_fn(|lane| x[i][lane] & y[i][lane])
    });
    let few = count_words(x_few.as_flattened(), [y_few.as_flattened()])[0];
    [both.iter().sum::<u64>() + few + count_words(x_rest, [y_rest])[0]]
}

#[inline(always)]
fn count_each_long(x: &[u64], asked: &mut [Question], segments: &[Segment]) {
    for one in asked {
        count_together::<1, true>(x, std::array::from_mut(one), segments, count_long);
    }
}

/// The same with a vector instruction that counts bits.
pub struct CountingEach<'a, 'b> {
    pub x: &'a [u64],
    pub asked: &'a mut [Question<'b>],
    pub segments: &'a [Segment],
}

impl Task for CountingEach<'_, '_> {
    type Answer = ();

    #[inline(always)]
    fn run(self, vector: impl Vector) {
        for one in self.asked {
            let one = std::array::from_mut(one);
            count_together::<1, true>(self.x, one, self.segments, |x, [y]| {
                let ((x, x_rest), (y, y_rest)) = (x.as_chunks(), y.as_chunks());
                let mut ones = vector.zero();
                for (x, y) in x.iter().zip(y) {
                    ones = vector.add_pairs(ones, x, y);
                }
                let rest = count_words(x_rest, [y_rest])[0];
                [vector.lanes(ones).iter().sum::<u64>() + rest]
            });
        }
    }
}

/// The bits of `word` where `mask` has ones, moved together at the low end.
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
    let (mut at, mut used, mut pending) = (0, 0, 0);
    // No branches on how full a word is: they would be unpredictable.
    for (&word, &mask) in words.iter().zip(mask) {
        if mask == 0 {
            continue;
        }
        let bits = compress(word, mask);
        let count = mask.count_ones();
        let filled = pending | bits << used;
        out[at] = filled;
        let is_full = used + count >= 64;
        pending = if is_full { bits >> 1 >> (63 - used) } else { filled };
        at += usize::from(is_full);
        used = (used + count) % 64;
    }
    if used != 0 {
        out[at] = pending;
    }
}

/// The operations that are compiled in several versions; `cpu::fastest` picks one.
#[derive(Clone, Copy)]
pub struct Kernel {
    /// Counts the intersections of `x` with others, cell by cell.
    pub count_each: fn(x: &[u64], asked: &mut [Question], segments: &[Segment]),
    /// Moves the bits of `words` selected by `mask` together at the beginning of `out`.
    pub gather: fn(words: &[u64], mask: &[u64], out: &mut [u64]),
}

impl Kernel {
    /// What runs on every machine.
    pub const PLAIN: Kernel = Kernel {
        count_each: |x, asked, segments| count_each_by_words(x, asked, segments),
        gather: |words, mask, out| gather_with(words, mask, out, compress_plain),
    };
}

/// The same operations for x86-64 CPUs with AVX2, BMI2 and POPCNT.
#[cfg(target_arch = "x86_64")]
pub mod vector {
    use super::{count_each_by_words, count_each_long, gather_with, Question, Segment};
    use std::arch::x86_64::_pext_u64;

    /// With fewer words per segment on average, starting and ending the vector loop costs more than it saves.
    const SHORT: usize = 48;

    pub fn are_short(x: &[u64], segments: &[Segment]) -> bool {
        x.len() < SHORT * segments.len()
    }

    /// # Safety
    /// The CPU has AVX2, POPCNT, BMI1 and BMI2.
    #[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
    pub fn count_each(x: &[u64], asked: &mut [Question], segments: &[Segment]) {
        if are_short(x, segments) {
            count_each_short(x, asked, segments);
        } else {
            count_each_long(x, asked, segments);
        }
    }

    #[target_feature(enable = "popcnt")]
    #[inline(never)]
    fn count_each_short(x: &[u64], asked: &mut [Question], segments: &[Segment]) {
        count_each_by_words(x, asked, segments);
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

pub fn are_disjoint(x: &[u64], y: &[u64]) -> bool {
    x.iter().zip(y).all(|(x, y)| x & y == 0)
}

pub fn is_empty(x: &[u64]) -> bool {
    x.iter().all(|&word| word == 0)
}

/// How many bits are set.
pub fn size(x: &[u64]) -> u64 {
    x.iter().map(|word| u64::from(word.count_ones())).sum()
}
