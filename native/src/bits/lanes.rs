//! Eight conditions at a time: for leaves, whose rules are by far the most.
//!
//! The words of eight conditions stand side by side, so one pass over a rule's rows counts all eight, without a sum across
//! a vector. Of two complementary conditions only one is counted. `permutations` counts outcomes the same way.

use crate::bits::bitset::Segment;
use crate::bits::cpu::{Task, Vector};
use std::cell::Cell;
use std::ops::Range;

pub const LANES: usize = 8;
pub type Lanes = [u64; LANES];

/// Ordered conditions in blocks of eight, from the last to the first: the conditions after any index of the order are in
/// the first blocks.
pub struct Eights {
    /// For each lane of each block, the index of its condition in the order, and that of the condition's complement.
    pub indices: Vec<[Option<u32>; 2]>,
    /// The index of each condition's complement in the order, if present.
    pub complements: Vec<Option<usize>>,
    /// For each index in the order, the number of lanes that the conditions after it take.
    lanes_after: Vec<usize>,
}

impl Eights {
    pub fn new(complements: Vec<Option<usize>>) -> Eights {
        let mut indices: Vec<[Option<u32>; 2]> = Vec::new();
        let mut lane_of: Vec<Option<usize>> = vec![None; complements.len()];
        let mut lanes_after = vec![0; complements.len()];
        for (index, complement) in complements.iter().enumerate().rev() {
            lanes_after[index] = indices.len();
            match complement.and_then(|other| lane_of[other]) {
                Some(lane) => indices[lane][1] = Some(index as u32),
                None => {
                    lane_of[index] = Some(indices.len());
                    indices.push([Some(index as u32), None]);
                }
            }
        }
        Eights {
            indices,
            complements,
            lanes_after,
        }
    }

    /// The number of blocks that the conditions after an index of the order take.
    pub fn n_blocks(&self, after: usize) -> usize {
        self.lanes_after[after].div_ceil(LANES)
    }

    /// Interleaves the words of the conditions, block by block; `words_of` gives the words of a condition by its index in
    /// the order.
    pub fn interleave<'a>(&self, n_words: usize, words_of: impl Fn(usize) -> &'a [u64], blocks: &mut Vec<Lanes>) {
        blocks.clear();
        blocks.resize(self.indices.len().div_ceil(LANES) * n_words, [0; LANES]);
        let each = blocks.chunks_mut(n_words.max(1));
        for (block, here) in each.zip(self.indices.chunks(LANES)) {
            for (lane, [index, _]) in here.iter().enumerate() {
                let words = index.map_or(&[][..], |index| words_of(index as usize));
                for (lanes, &word) in block.iter_mut().zip(words) {
                    lanes[lane] = word;
                }
            }
        }
    }
}

/// Counts of several sets of rows, and of their intersections with the lanes of as many blocks as each set needs.
pub struct Counted {
    width: usize,
    own: Vec<u64>,
    /// Block by block, cell by cell, one set after the other.
    in_lanes: Vec<Lanes>,
    /// Where the blocks of each set end.
    ends: Vec<usize>,
}

thread_local! {
    /// The memory of the previous counts: allocating costs a good part of the time of counting.
    static SPARE: Cell<Vec<Lanes>> = const { Cell::new(Vec::new()) };
}

impl Drop for Counted {
    fn drop(&mut self) {
        SPARE.set(std::mem::take(&mut self.in_lanes));
    }
}

impl Counted {
    /// Reserves room for this many sets and blocks in all.
    pub fn new(width: usize, n_sets: usize, n_blocks: usize) -> Counted {
        let mut in_lanes = SPARE.take();
        in_lanes.clear();
        in_lanes.reserve(n_blocks * width);
        Counted {
            width,
            own: Vec::with_capacity(n_sets * width),
            in_lanes,
            ends: Vec::with_capacity(n_sets),
        }
    }

    /// Adds a set without any rows; returns its number.
    pub fn push(&mut self, n_blocks: usize) -> usize {
        let (set, end) = (self.ends.len(), self.in_lanes.len() + n_blocks * self.width);
        self.own.resize((set + 1) * self.width, 0);
        self.in_lanes.resize(end, [0; LANES]);
        self.ends.push(end);
        set
    }

    pub fn own(&self, set: usize) -> &[u64] {
        &self.own[set * self.width..(set + 1) * self.width]
    }

    pub fn own_mut(&mut self, set: usize) -> &mut [u64] {
        &mut self.own[set * self.width..(set + 1) * self.width]
    }

    fn range(&self, set: usize) -> Range<usize> {
        let start = set.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[set]
    }

    pub fn in_lanes(&self, set: usize) -> &[Lanes] {
        &self.in_lanes[self.range(set)]
    }

    /// Adds the difference of two sets; returns its number.
    pub fn push_rest(&mut self, whole: usize, part: usize, n_blocks: usize) -> usize {
        let rest = self.push(n_blocks);
        for cell in 0..self.width {
            let [whole, part] = [whole, part].map(|set| self.own(set)[cell]);
            self.own_mut(rest)[cell] = whole - part;
        }
        let [whole, part] = [whole, part].map(|set| self.range(set).start);
        for (index, rest) in self.range(rest).enumerate() {
            let [whole, part] = [whole, part].map(|start| self.in_lanes[start + index]);
            self.in_lanes[rest] = std::array::from_fn(|lane| whole[lane] - part[lane]);
        }
        rest
    }
}

/// Counts the first sets, one after the other in `rows`, with all blocks that each needs. A block serves all sets while it
/// is in the cache.
pub struct CountingAll<'a> {
    pub rows: &'a [u64],
    pub n_words: usize,
    pub blocks: &'a [Lanes],
    pub segments: &'a [Segment],
    pub counts: &'a mut Counted,
}

impl Task for CountingAll<'_> {
    type Answer = ();

    #[inline(always)]
    fn run(self, vector: impl Vector) {
        let counts = self.counts;
        let width = counts.width;
        let blocks = self.blocks.chunks_exact(self.n_words.max(1));
        for (number, block) in blocks.enumerate() {
            let sets = self.rows.chunks_exact(self.n_words.max(1));
            for (set, rows) in sets.enumerate() {
                let needed = counts.range(set);
                let start = needed.start + number * width;
                if start < needed.end {
                    let counts = &mut counts.in_lanes[start..start + width];
                    add_counts(vector, rows, block, self.segments, counts);
                }
            }
        }
    }
}

/// Counts the intersections of `rows` with eight sets stored side by side, cell by cell.
pub struct Counting<'a> {
    pub rows: &'a [u64],
    pub block: &'a [Lanes],
    pub segments: &'a [Segment],
    pub counts: &'a mut [Lanes],
}

impl Task for Counting<'_> {
    type Answer = ();

    #[inline(always)]
    fn run(self, vector: impl Vector) {
        self.counts.fill([0; LANES]);
        add_counts(vector, self.rows, self.block, self.segments, self.counts);
    }
}

#[inline(always)]
fn add_counts(vector: impl Vector, rows: &[u64], block: &[Lanes], segments: &[Segment], counts: &mut [Lanes]) {
    for segment in segments {
        let ones = segment.count_lanes(vector, rows, block);
        segment.add_lanes(counts, ones);
    }
}
