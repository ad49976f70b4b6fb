//! Eight conditions at a time: for rules that may take one condition more and no further, which are by far the most.
//!
//! The words of eight conditions stand side by side, so that one pass over a rule's rows counts all eight, without a sum
//! across a vector. Of two conditions that are each other's complement only one is counted. `redrawn` counts outcomes in
//! the same way.

use crate::bitset::Segment;
use crate::cpu::{vectorised, Task, Vector};

pub const LANES: usize = 8;
pub type Lanes = [u64; LANES];

/// Some conditions, in an order, packed eight by eight from the last one to the first: the conditions after any place of
/// the order are in the first blocks.
pub struct Packed {
    words: usize,
    blocks: Vec<Lanes>,
    /// For each lane of each block, the place in the order of its condition and of that one's complement.
    pub places: Vec<[Option<u32>; 2]>,
    /// For each place in the order, how many lanes the conditions after it take.
    lanes_after: Vec<usize>,
}

impl Packed {
    /// `complement` gives the place in the order of a condition's complement, if it is there.
    pub fn new<'a>(
        order: &[u32],
        words: usize,
        rows_of: impl Fn(u32) -> &'a [u64],
        complement: impl Fn(u32) -> Option<u32>,
    ) -> Packed {
        let mut places: Vec<[Option<u32>; 2]> = Vec::new();
        let mut lane_of: Vec<Option<usize>> = vec![None; order.len()];
        let mut lanes_after = vec![0; order.len()];
        for (place, &condition) in order.iter().enumerate().rev() {
            lanes_after[place] = places.len();
            let known = complement(condition).and_then(|other| lane_of[other as usize]);
            match known {
                Some(lane) => places[lane][1] = Some(place as u32),
                None => {
                    lane_of[place] = Some(places.len());
                    places.push([Some(place as u32), None]);
                }
            }
        }
        let mut blocks = vec![[0; LANES]; places.len().div_ceil(LANES) * words];
        for (block, here) in blocks.chunks_mut(words.max(1)).zip(places.chunks(LANES)) {
            for (lane, [place, _]) in here.iter().enumerate() {
                let rows = place.map_or(&[][..], |place| rows_of(order[place as usize]));
                for (word, &rows) in block.iter_mut().zip(rows) {
                    word[lane] = rows;
                }
            }
        }
        Packed {
            words,
            blocks,
            places,
            lanes_after,
        }
    }

    /// Counts the intersections of `rows` with all conditions after a place of the order: for each block, the counts of
    /// its lanes, cell by cell.
    pub fn count(&self, rows: &[u64], after: usize, segments: &[Segment], counts: &mut [Lanes]) {
        let n_blocks = self.lanes_after[after].div_ceil(LANES);
        vectorised(Counting {
            rows,
            blocks: &self.blocks[..n_blocks * self.words],
            segments,
            width: counts.len() / n_blocks.max(1),
            counts,
        });
    }

    /// How many blocks the conditions after a place of the order take.
    pub fn n_blocks(&self, after: usize) -> usize {
        self.lanes_after[after].div_ceil(LANES)
    }
}

/// Counts the intersections of `rows` with blocks of eight sets, whose words stand side by side, cell by cell.
pub struct Counting<'a> {
    rows: &'a [u64],
    blocks: &'a [Lanes],
    segments: &'a [Segment],
    width: usize,
    counts: &'a mut [Lanes],
}

impl<'a> Counting<'a> {
    /// For one block.
    pub fn one(
        rows: &'a [u64],
        block: &'a [Lanes],
        segments: &'a [Segment],
        counts: &'a mut [Lanes],
    ) -> Counting<'a> {
        Counting {
            rows,
            blocks: block,
            segments,
            width: counts.len(),
            counts,
        }
    }
}

impl Task for Counting<'_> {
    type Answer = ();

    #[inline(always)]
    fn run(self, vector: impl Vector) {
        let blocks = self.blocks.chunks_exact(self.rows.len().max(1));
        for (block, counts) in blocks.zip(self.counts.chunks_exact_mut(self.width.max(1))) {
            counts.fill([0; LANES]);
            for segment in self.segments {
                let mut ones = vector.zero();
                let rows = &self.rows[segment.start..segment.end];
                for (word, lanes) in rows.iter().zip(&block[segment.start..segment.end]) {
                    ones = vector.add_common(ones, *word, lanes);
                }
                segment.add_lanes(counts, vector.lanes(ones));
            }
        }
    }
}
