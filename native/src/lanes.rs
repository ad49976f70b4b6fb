//! Eight conditions at a time: for rules that may take one condition more and no further, which are by far the most.
//!
//! The words of eight conditions stand side by side, so that one pass over a rule's rows counts all eight, without a sum
//! across a vector. Of two conditions that are each other's complement only one is counted. `redrawn` counts outcomes in
//! the same way.

use crate::bitset::Segment;
use crate::cpu::{Task, Vector};

pub const LANES: usize = 8;
pub type Lanes = [u64; LANES];

/// Some conditions, in an order, eight by eight from the last one to the first: the conditions after any place of the order
/// are in the first blocks.
pub struct Eights {
    /// For each lane of each block, the place in the order of its condition and of that one's complement.
    pub places: Vec<[Option<u32>; 2]>,
    /// The place in the order of each condition's complement, if it is there.
    pub complements: Vec<Option<usize>>,
    /// For each place in the order, how many lanes the conditions after it take.
    lanes_after: Vec<usize>,
}

impl Eights {
    pub fn new(complements: Vec<Option<usize>>) -> Eights {
        let mut places: Vec<[Option<u32>; 2]> = Vec::new();
        let mut lane_of: Vec<Option<usize>> = vec![None; complements.len()];
        let mut lanes_after = vec![0; complements.len()];
        for (place, complement) in complements.iter().enumerate().rev() {
            lanes_after[place] = places.len();
            match complement.and_then(|other| lane_of[other]) {
                Some(lane) => places[lane][1] = Some(place as u32),
                None => {
                    lane_of[place] = Some(places.len());
                    places.push([Some(place as u32), None]);
                }
            }
        }
        Eights {
            places,
            complements,
            lanes_after,
        }
    }

    /// How many blocks the conditions after a place of the order take.
    pub fn n_blocks(&self, after: usize) -> usize {
        self.lanes_after[after].div_ceil(LANES)
    }

    /// Puts words of the conditions side by side, block after block; `words_of` gives as many of each condition, by its
    /// place in the order.
    pub fn interleave<'a>(
        &self,
        n_words: usize,
        words_of: impl Fn(usize) -> &'a [u64],
        blocks: &mut Vec<Lanes>,
    ) {
        blocks.clear();
        blocks.resize(self.places.len().div_ceil(LANES) * n_words, [0; LANES]);
        let each = blocks.chunks_mut(n_words.max(1));
        for (block, here) in each.zip(self.places.chunks(LANES)) {
            for (lane, [place, _]) in here.iter().enumerate() {
                let words = place.map_or(&[][..], |place| words_of(place as usize));
                for (lanes, &word) in block.iter_mut().zip(words) {
                    lanes[lane] = word;
                }
            }
        }
    }
}

/// The counts of a set of rows, and of those that it has in common with each lane of some blocks, cell by cell.
pub struct Counted {
    pub own: Vec<u64>,
    pub in_lanes: Vec<Lanes>,
}

impl Counted {
    pub fn new(width: usize, n_blocks: usize) -> Counted {
        Counted {
            own: vec![0; width],
            in_lanes: vec![[0; LANES]; n_blocks * width],
        }
    }

    /// The counts of what another set of rows leaves of this one, in as many blocks.
    pub fn without(&self, other: &Counted, n_blocks: usize) -> Counted {
        let n_lanes = n_blocks * self.own.len();
        let own = self.own.iter().zip(&other.own).map(|(x, y)| x - y);
        let lanes = self.in_lanes[..n_lanes].iter().zip(&other.in_lanes);
        Counted {
            own: own.collect(),
            in_lanes: lanes
                .map(|(x, y)| std::array::from_fn(|lane| x[lane] - y[lane]))
                .collect(),
        }
    }
}

/// Counts sets of rows, one after the other in `rows`, with all blocks that each of them has counts for. A block is used for
/// all of them while it is at hand.
pub struct CountingAll<'a> {
    pub rows: &'a [u64],
    pub n_words: usize,
    pub blocks: &'a [Lanes],
    pub segments: &'a [Segment],
    pub counts: &'a mut [Counted],
}

impl Task for CountingAll<'_> {
    type Answer = ();

    #[inline(always)]
    fn run(self, vector: impl Vector) {
        let blocks = self.blocks.chunks_exact(self.n_words.max(1));
        for (number, block) in blocks.enumerate() {
            let sets = self.rows.chunks_exact(self.n_words.max(1));
            for (rows, counts) in sets.zip(self.counts.iter_mut()) {
                let width = counts.own.len();
                let here = number * width..(number + 1) * width;
                if let Some(counts) = counts.in_lanes.get_mut(here) {
                    add_counts(vector, rows, block, self.segments, counts);
                }
            }
        }
    }
}

/// Counts the intersections of `rows` with eight sets, whose words stand side by side, cell by cell.
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
fn add_counts(
    vector: impl Vector,
    rows: &[u64],
    block: &[Lanes],
    segments: &[Segment],
    counts: &mut [Lanes],
) {
    for segment in segments {
        let here = segment.start..segment.end;
        let ones = vector.count_common(&rows[here.clone()], &block[here]);
        segment.add_lanes(counts, ones);
    }
}
