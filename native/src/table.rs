//! The rows, packed by stratum and outcome, and the propositions as sets of rows.
//!
//! Rows are laid out in segments, one for each stratum and outcome, padded to whole words: one pass over a
//! set of rows counts it by stratum and outcome at once. A row of weight w stands once in the segment of
//! each power of two that w is made of, and counts that many times there: weighted tables need no other code.

use crate::bitset::{Counts, Kernel, Question, Segment};

/// A condition on a column: it holds where the column's code lies in `low..=high`. A missing value is a
/// negative code and satisfies nothing.
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

    /// Known from the codes alone: whatever satisfies this satisfies the other.
    pub fn implies(&self, other: &Proposition) -> bool {
        self.column == other.column && other.low <= self.low && self.high <= other.high
    }
}

/// One batch of rows. `strata`, `outcomes`, `weights` and every column have the same length.
pub struct Batch<'a> {
    pub strata: &'a [i32],
    pub outcomes: &'a [u8],
    pub weights: Option<&'a [u64]>,
    pub columns: Vec<&'a [i32]>,
}

pub struct Table {
    pub kernel: Kernel,
    pub segments: Vec<Segment>,
    /// Rows with and without the outcome, by stratum.
    pub strata: Vec<Counts>,
    pub propositions: Vec<Proposition>,
    /// Words of one set of rows.
    pub words: usize,
    /// The set of all rows: ones everywhere but in the padding.
    pub all: Vec<u64>,
    bits: Vec<u64>,
}

impl Table {
    pub fn proposition(&self, index: usize) -> &[u64] {
        &self.bits[index * self.words..(index + 1) * self.words]
    }

    pub fn n_rows(&self) -> u64 {
        crate::bitset::total(&self.strata)
    }

    /// The rows that satisfy all of the conditions.
    pub fn extension(&self, conditions: &[u32]) -> Vec<u64> {
        let mut rows = self.all.clone();
        for &condition in conditions {
            crate::bitset::intersect(&mut rows, self.proposition(condition as usize));
        }
        rows
    }

    /// Counts `x ∩ y` by stratum.
    pub fn count(&self, x: &[u64], y: &[u64], counts: &mut [Counts]) {
        self.count_each(x, &mut [(y, counts)]);
    }

    pub fn count_each(&self, x: &[u64], asked: &mut [Question]) {
        (self.kernel.count_each)(x, asked, &self.segments);
    }

    /// The table of just the rows in `rows` and the given propositions; `strata` stays that of the whole.
    pub fn project(&self, rows: &[u64], propositions: &[u32]) -> Table {
        let mut segments = Vec::with_capacity(self.segments.len());
        let mut sources = Vec::with_capacity(self.segments.len());
        let mut all = Vec::new();
        for segment in &self.segments {
            let source = &rows[segment.start..segment.end];
            let size = crate::bitset::size(source);
            if size == 0 {
                continue;
            }
            let start = all.len();
            push_ones(&mut all, size);
            segments.push(Segment {
                start,
                end: all.len(),
                ..*segment
            });
            sources.push((segment.start, segment.end));
        }
        let words = all.len();
        let mut bits = vec![0; words * propositions.len()];
        for (out, &index) in bits.chunks_mut(words.max(1)).zip(propositions) {
            let source = self.proposition(index as usize);
            for (segment, &(start, end)) in segments.iter().zip(&sources) {
                (self.kernel.gather)(
                    &source[start..end],
                    &rows[start..end],
                    &mut out[segment.start..segment.end],
                );
            }
        }
        Table {
            kernel: self.kernel,
            segments,
            strata: self.strata.clone(),
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

/// Appends the words of a segment of `rows` rows.
fn push_ones(words: &mut Vec<u64>, rows: u64) {
    words.extend((0..rows / 64).map(|_| u64::MAX));
    if !rows.is_multiple_of(64) {
        words.push((1 << (rows % 64)) - 1);
    }
}

/// Builds a table in two passes over the same batches: `size` for each of them, then `fill` for each of them.
pub struct Builder {
    kernel: Kernel,
    propositions: Vec<Proposition>,
    n_columns: usize,
    n_strata: usize,
    weight_bits: usize,
    /// Rows by (stratum, outcome, bit of the weight).
    sizes: Vec<u64>,
    filling: Option<Filling>,
}

struct Filling {
    table: Table,
    /// The next free place of each (stratum, outcome, bit of the weight), and where its places end.
    next: Vec<u64>,
    end: Vec<u64>,
    /// For each column and code, the propositions that hold.
    holding: Vec<Vec<Vec<u32>>>,
}

impl Builder {
    pub fn new(
        kernel: Kernel,
        propositions: Vec<Proposition>,
        n_columns: usize,
        n_strata: usize,
        weight_bits: usize,
    ) -> Builder {
        Builder {
            kernel,
            propositions,
            n_columns,
            n_strata,
            weight_bits,
            sizes: vec![0; n_strata * 2 * weight_bits],
            filling: None,
        }
    }

    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Calls `place` for each segment that a row belongs to.
    fn places(
        &self,
        batch: &Batch,
        row: usize,
        mut place: impl FnMut(usize),
    ) -> Result<(), String> {
        let stratum = batch.strata[row];
        if stratum < 0 || stratum as usize >= self.n_strata {
            return Err(format!(
                "stratum {stratum} of row {row} is not below {}",
                self.n_strata
            ));
        }
        let outcome = usize::from(batch.outcomes[row] != 0);
        let first = (stratum as usize * 2 + outcome) * self.weight_bits;
        let mut weight = batch.weights.map_or(1, |weights| weights[row]);
        if self.weight_bits < 64 && weight >> self.weight_bits != 0 {
            return Err(format!("weight {weight} of row {row} is too large"));
        }
        while weight != 0 {
            place(first + weight.trailing_zeros() as usize);
            weight &= weight - 1;
        }
        Ok(())
    }

    /// First pass: how many rows there are of each kind.
    pub fn size(&mut self, batch: &Batch) -> Result<(), String> {
        let mut sizes = std::mem::take(&mut self.sizes);
        let result = (0..batch.strata.len())
            .try_for_each(|row| self.places(batch, row, |segment| sizes[segment] += 1));
        self.sizes = sizes;
        result
    }

    fn start_filling(&self) -> Filling {
        let mut segments = Vec::new();
        let mut strata = vec![Counts::default(); self.n_strata];
        let (mut next, mut end) = (Vec::new(), Vec::new());
        let mut all = Vec::new();
        for (index, &size) in self.sizes.iter().enumerate() {
            let start = all.len();
            next.push(start as u64 * 64);
            end.push(start as u64 * 64 + size);
            if size == 0 {
                continue;
            }
            let stratum = index / (2 * self.weight_bits);
            let positive = index / self.weight_bits % 2 == 1;
            let multiplier = 1 << (index % self.weight_bits);
            push_ones(&mut all, size);
            segments.push(Segment {
                stratum: stratum as u32,
                positive,
                multiplier,
                start,
                end: all.len(),
            });
            let counts = &mut strata[stratum];
            if positive {
                counts.positive += size * multiplier;
            } else {
                counts.negative += size * multiplier;
            }
        }
        let mut holding = vec![Vec::new(); self.n_columns];
        for (index, proposition) in self.propositions.iter().enumerate() {
            let column: &mut Vec<Vec<u32>> = &mut holding[proposition.column];
            let highest = proposition.high.max(-1) as usize;
            if proposition.high >= 0 && column.len() <= highest {
                column.resize(highest + 1, Vec::new());
            }
            for code in proposition.low.max(0)..=proposition.high {
                column[code as usize].push(index as u32);
            }
        }
        Filling {
            table: Table {
                kernel: self.kernel,
                segments,
                strata,
                propositions: self.propositions.clone(),
                words: all.len(),
                bits: vec![0; all.len() * self.propositions.len()],
                all,
            },
            next,
            end,
            holding,
        }
    }

    /// Second pass: sets the bits.
    pub fn fill(&mut self, batch: &Batch) -> Result<(), String> {
        let mut filling = match self.filling.take() {
            Some(filling) => filling,
            None => self.start_filling(),
        };
        let mut places: Vec<(u32, u64)> = Vec::with_capacity(batch.strata.len());
        for row in 0..batch.strata.len() {
            let mut full = false;
            self.places(batch, row, |segment| {
                full |= filling.next[segment] >= filling.end[segment];
                places.push((row as u32, filling.next[segment]));
                filling.next[segment] += 1;
            })?;
            if full {
                return Err(format!("row {row} was not there in the first pass"));
            }
        }
        let words = filling.table.words;
        for (column, holding) in batch.columns.iter().zip(&filling.holding) {
            for &(row, place) in &places {
                let code = column[row as usize];
                let Some(propositions) = usize::try_from(code).ok().and_then(|c| holding.get(c))
                else {
                    continue;
                };
                for &proposition in propositions {
                    filling.table.bits[proposition as usize * words + (place / 64) as usize] |=
                        1 << (place % 64);
                }
            }
        }
        self.filling = Some(filling);
        Ok(())
    }

    pub fn finish(mut self) -> Result<Table, String> {
        let filling = match self.filling.take() {
            Some(filling) => filling,
            None => self.start_filling(),
        };
        if filling.next != filling.end {
            return Err("the second pass had fewer rows than the first".to_string());
        }
        Ok(filling.table)
    }
}
