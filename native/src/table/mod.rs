//! Rows packed by stratum and level of the target, and propositions as sets of rows.
//!
//! Rows are laid out in segments, one for each cell (stratum and level): one pass over a set of rows counts it cell by
//! cell. A segment is padded to whole words, but thin segments share words: a target of many levels in many strata takes no
//! more than about two bits per row. A row of weight w stands once in the segment of each power of two that adds up to w,
//! and counts that many times there: weighted tables need no other code.
//!
//! If missing values are unknown, a proposition has two sets of rows: those that satisfy it, and those that possibly do,
//! which add the rows with a missing value. A row without any missing value is in both or in neither; it occurs once in the
//! table and counts for both. A row with missing values occurs twice, once for each set. All operations on sets of rows
//! (counting, comparing, packing, describing) thus handle both at once, and tables without missing values cost nothing
//! more.

pub mod builder;
pub mod facts;
pub mod layout;

use crate::bits::bitset::{intersect, is_empty, Kernel, Places, Question, Segment};
use crate::table::layout::Layout;
use std::ops::Range;
use std::sync::Arc;

/// The number of words that are intersected with one condition after the other.
const BLOCK: usize = 64;

/// A condition on a column: it holds where the column's code lies in `low..=high`. A missing value is a
/// negative code; see [`Missing`].
#[derive(Clone, Copy, Debug)]
pub struct Proposition {
    pub column: usize,
    pub low: i32,
    pub high: i32,
}

impl Proposition {
    /// Known from the codes alone: no row satisfies both.
    pub fn excludes(&self, other: &Proposition) -> bool {
        self.column == other.column && (self.high < other.low || other.high < self.low)
    }

    /// Known from the codes alone: no rule needs both.
    pub fn is_needless_beside(&self, other: &Proposition) -> bool {
        self.excludes(other) || self.implies(other) || other.implies(self)
    }

    /// Known from the codes alone: every row that satisfies this satisfies the other.
    pub fn implies(&self, other: &Proposition) -> bool {
        self.column == other.column && other.low <= self.low && self.high <= other.high
    }
}

pub struct Table {
    pub kernel: Kernel,
    pub segments: Vec<Segment>,
    pub layout: Arc<Layout>,
    /// Are missing values unknown? The layout does not tell if there are none.
    pub unknown: bool,
    pub propositions: Vec<Proposition>,
    /// The number of words of one set of rows.
    pub words: usize,
    /// The set of all rows: ones everywhere but in the padding.
    pub all: Vec<u64>,
    bits: Vec<u64>,
}

/// Rows that move together when a table is projected.
struct Run {
    from: Range<usize>,
    /// Which rows, if they are in one word.
    rows: u64,
    to: Range<usize>,
    /// Are they in a shared word, and from which bit on?
    is_shared: bool,
    shift: u32,
}

impl Table {
    pub fn proposition(&self, index: usize) -> &[u64] {
        &self.bits[index * self.words..(index + 1) * self.words]
    }

    /// The rows that satisfy all of the conditions.
    pub fn extension(&self, conditions: &[u32]) -> Vec<u64> {
        self.within(&self.all, conditions)
    }

    /// The subset of `rows` that satisfies all of the conditions.
    pub fn within(&self, rows: &[u64], conditions: &[u32]) -> Vec<u64> {
        let mut rows = rows.to_vec();
        // Of many conditions, the first few leave most blocks empty.
        for (block, rows) in rows.chunks_mut(BLOCK).enumerate() {
            for &condition in conditions {
                let holds = &self.proposition(condition as usize)[block * BLOCK..];
                intersect(rows, holds);
                if is_empty(rows) {
                    break;
                }
            }
        }
        rows
    }

    /// Counts `x ∩ y`.
    pub fn count(&self, x: &[u64], y: &[u64], counts: &mut [u64]) {
        self.count_each(x, &mut [(y, counts)]);
    }

    pub fn count_each(&self, x: &[u64], asked: &mut [Question]) {
        (self.kernel.count_each)(x, asked, &self.segments);
    }

    /// The table restricted to `rows` and the given propositions; `layout` stays that of the whole. `complement_of` gives
    /// the earlier proposition in the list of which one is the complement, if known: that takes less time.
    pub fn project(&self, rows: &[u64], propositions: &[u32], complement_of: impl Fn(usize) -> Option<usize>) -> Table {
        let (mut segments, mut places) = (Vec::new(), Places::default());
        let mut runs: Vec<Run> = Vec::new();
        for segment in &self.segments {
            let here = segment.start..segment.end;
            let is_one = here.len() == 1;
            let from = if is_one {
                rows[here.start] & segment.mask
            } else {
                u64::MAX
            };
            let size = match is_one {
                true => u64::from(from.count_ones()),
                false => crate::bits::bitset::size(&rows[here.clone()]),
            };
            if size == 0 {
                continue;
            }
            let (words, mask) = places.take(size, true);
            segments.push(Segment {
                start: words.start,
                end: words.end,
                mask,
                ..*segment
            });
            match runs.last_mut() {
                // Copies a word into a word: adjacent bits move together.
                Some(run) if is_one && run.from == here && run.to == words => run.rows |= from,
                _ => runs.push(Run {
                    from: here,
                    rows: from,
                    shift: if mask == u64::MAX { 0 } else { mask.trailing_zeros() },
                    is_shared: mask != u64::MAX,
                    to: words,
                }),
            }
        }
        let all = places.all;
        let words = all.len();
        let mut bits = vec![0; words * propositions.len()];
        for (new, &index) in propositions.iter().enumerate() {
            let (before, out) = bits.split_at_mut(new * words);
            let out = &mut out[..words];
            if let Some(other) = complement_of(new) {
                let other = &before[other * words..][..words];
                for ((out, all), other) in out.iter_mut().zip(&all).zip(other) {
                    *out = all & !other;
                }
                continue;
            }
            let source = self.proposition(index as usize);
            for run in &runs {
                let (source, one) = (&source[run.from.clone()], [run.rows]);
                let rows = match source.len() {
                    1 => &one[..],
                    _ => &rows[run.from.clone()],
                };
                if run.is_shared {
                    let mut word = [0];
                    (self.kernel.gather)(source, rows, &mut word);
                    out[run.to.start] |= word[0] << run.shift;
                } else {
                    (self.kernel.gather)(source, rows, &mut out[run.to.clone()]);
                }
            }
        }
        Table {
            kernel: self.kernel,
            segments,
            layout: self.layout.clone(),
            unknown: self.unknown,
            propositions: propositions
                .iter()
                .map(|&index| self.propositions[index as usize])
                .collect(),
            words,
            all,
            bits,
        }
    }
}
