//! Builds a table from batches of coded rows, in two passes: first the sizes of the segments, then the bits.
//! Batches that do not fit the plan, or differ between the passes, are an error.

use super::layout::{Layout, Sides};
use super::{Proposition, Table};
use crate::bits::bitset::{Kernel, Places, Segment, NO_CELL};
use std::ops::Range;
use std::sync::Arc;

/// One batch of rows. All arrays have the same length.
pub struct Batch<'a> {
    pub strata: &'a [i32],
    /// The level of the target; the lowest is 0.
    pub outcomes: &'a [u16],
    pub weights: Option<&'a [u64]>,
    /// Not 0 for the reference rows.
    pub reference: Option<&'a [u8]>,
    pub columns: Vec<&'a [i32]>,
}

/// The meaning of a missing value (a negative code) for a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It does not hold.
    False,
    /// It may hold or not. The first pass over the batches has their columns.
    Unknown,
    /// The same, but the first pass lacks the columns: every row is assumed to have a missing value.
    UnknownAnywhere,
}

/// The specification of a table.
pub struct Plan {
    pub propositions: Vec<Proposition>,
    pub n_columns: usize,
    pub n_strata: usize,
    pub n_levels: usize,
    pub weight_bits: usize,
    pub missing: Missing,
    /// If rules are compared with reference rows, the conditions that these satisfy.
    pub reference: Option<Proposition>,
}

/// Builds a table in two passes over the same batches: `size` for each batch, then `fill` for each batch.
pub struct Builder {
    kernel: Kernel,
    plan: Plan,
    /// Rows by (stratum, level, is a value missing, bit of the weight).
    sizes: Vec<u64>,
    filling: Option<Filling>,
}

struct Filling {
    table: Table,
    layout: Layout,
    /// The next free place of each (stratum, level, is a value missing, bit of the weight), and the end of its places.
    next: Vec<u64>,
    end: Vec<u64>,
    /// The distance from the place of a row with missing values to its second copy.
    again: Vec<u64>,
    columns: Vec<Column>,
}

/// The propositions on one column. Codes from one edge up to the next satisfy the same propositions: a run of codes.
struct Column {
    edges: Vec<i32>,
    /// The run of each small code, from −1 (missing) on, for direct lookup.
    small: Vec<u32>,
    /// Each proposition, and the boundaries of the runs on which it holds. Run 0 is that of missing values.
    holding: Vec<(u32, usize, usize)>,
}

const SMALL_CODES: i32 = 1 << 16;

impl Column {
    fn new(propositions: &[Proposition], column: usize) -> Column {
        let here = propositions.iter().enumerate();
        let here: Vec<(u32, i32, i32)> = here
            .filter(|(_, p)| p.column == column)
            .map(|(index, p)| (index as u32, p.low.max(0), p.high))
            .collect();
        let limits = |&(_, low, high): &(u32, i32, i32)| [Some(low), high.checked_add(1)];
        let mut edges: Vec<i32> = here.iter().flat_map(limits).flatten().collect();
        edges.push(0);
        edges.retain(|&edge| edge >= 0);
        edges.sort_unstable();
        edges.dedup();
        let last = edges.last().map_or(0, |&edge| edge.min(SMALL_CODES));
        let run = |code: i32| edges.partition_point(|&edge| edge <= code);
        Column {
            small: (-1..=last).map(|code| run(code) as u32).collect(),
            holding: here
                .iter()
                .map(|&(index, low, high)| (index, run(low), run(high).max(run(low) - 1) + 1))
                .collect(),
            edges,
        }
    }

    fn run(&self, code: i32) -> usize {
        match self.small.get((code.max(-1) + 1) as usize) {
            Some(&run) => run as usize,
            None => self.edges.partition_point(|&edge| edge <= code),
        }
    }
}

/// Some rows of a batch in the order of the table.
struct OrderedRows {
    rows: Vec<u32>,
    /// For each kind that occurs: its range in `rows`, the place of its first row, and the distance in words to their
    /// second copies.
    kinds: Vec<(Range<usize>, u64, Option<usize>)>,
}

/// The number of rows sorted at a time: one column of them stays in the cache.
const ROWS_AT_ONCE: usize = 1 << 16;

impl Builder {
    pub fn new(kernel: Kernel, plan: Plan) -> Builder {
        let kinds = plan.n_strata * plan.n_levels * 2 * plan.weight_bits;
        Builder {
            kernel,
            plan,
            sizes: vec![0; kinds],
            filling: None,
        }
    }

    /// The number of columns that a batch must have, in the first or the second pass.
    pub fn n_columns(&self, fill: bool) -> usize {
        if fill || self.tells_missing() {
            self.plan.n_columns
        } else {
            0
        }
    }

    /// Must each row say whether a value is missing? Not with reference rows: then it does not matter why a row is not
    /// covered.
    fn tells_missing(&self) -> bool {
        self.plan.missing == Missing::Unknown && self.plan.reference.is_none()
    }

    fn is_unknown(&self) -> bool {
        self.plan.missing != Missing::False && self.plan.reference.is_none()
    }

    /// For each row, does it occur twice in the table?
    fn doubled(&self, batch: &Batch) -> Vec<bool> {
        if !self.tells_missing() {
            return vec![self.is_unknown(); batch.strata.len()];
        }
        let mut has_condition = vec![false; self.plan.n_columns];
        for proposition in &self.plan.propositions {
            has_condition[proposition.column] = true;
        }
        let mut missing = vec![false; batch.strata.len()];
        for (column, _) in batch.columns.iter().zip(has_condition).filter(|c| c.1) {
            for (missing, &code) in missing.iter_mut().zip(*column) {
                *missing |= code < 0;
            }
        }
        missing
    }

    fn cell(&self, batch: &Batch, row: usize) -> Result<usize, String> {
        let (stratum, level) = (batch.strata[row], usize::from(batch.outcomes[row]));
        if stratum < 0 || stratum as usize >= self.plan.n_strata {
            return Err(format!(
                "stratum {stratum} of row {row} is not below {}",
                self.plan.n_strata
            ));
        }
        if level >= self.plan.n_levels {
            return Err(format!(
                "level {level} of row {row} is not below {}",
                self.plan.n_levels
            ));
        }
        Ok(stratum as usize * self.plan.n_levels + level)
    }

    fn weight(&self, batch: &Batch, row: usize) -> Result<u64, String> {
        let weight = batch.weights.map_or(1, |weights| weights[row]);
        if self.plan.weight_bits < 64 && weight >> self.plan.weight_bits != 0 {
            return Err(format!("weight {weight} of row {row} is too large"));
        }
        Ok(weight)
    }

    /// Calls `place` for each segment that a row belongs to.
    fn places(&self, batch: &Batch, row: usize, doubled: bool, mut place: impl FnMut(usize)) -> Result<(), String> {
        let kind = self.cell(batch, row)? * 2 + usize::from(doubled);
        let mut weight = self.weight(batch, row)?;
        while weight != 0 {
            place(kind * self.plan.weight_bits + weight.trailing_zeros() as usize);
            weight &= weight - 1;
        }
        Ok(())
    }

    /// First pass: counts the rows of each kind.
    pub fn size(&mut self, batch: &Batch) -> Result<(), String> {
        let mut sizes = std::mem::take(&mut self.sizes);
        let doubled = self.doubled(batch);
        let result = (0..batch.strata.len())
            .try_for_each(|row| self.places(batch, row, doubled[row], |segment| sizes[segment] += 1));
        self.sizes = sizes;
        result
    }

    fn start_filling(&self) -> Filling {
        let n_cells = self.plan.n_strata * self.plan.n_levels;
        let weight_bits = self.plan.weight_bits;
        let any_doubled =
            (self.sizes.iter().enumerate()).any(|(index, &size)| size > 0 && index / weight_bits % 2 == 1);
        let mut all_rows = vec![0; n_cells];
        let (mut next, mut end, mut again) = (Vec::new(), Vec::new(), Vec::new());
        let (mut segments, mut places) = (Vec::new(), Places::default());
        for (index, &size) in self.sizes.iter().enumerate() {
            again.push(size.div_ceil(64) * 64);
            if size == 0 {
                next.push(0);
                end.push(0);
                continue;
            }
            let cell = index / weight_bits / 2;
            let doubled = index / weight_bits % 2 == 1;
            let multiplier = 1 << (index % weight_bits);
            all_rows[cell] += size * multiplier;
            let first = segments.len();
            // The second copies of rows are this many words behind.
            let mut push = |cell: usize, also: u32| {
                let (words, mask) = places.take(size, !doubled);
                segments.push(Segment {
                    cell: cell as u32,
                    also,
                    multiplier,
                    start: words.start,
                    end: words.end,
                    mask,
                });
            };
            if doubled {
                push(cell, NO_CELL);
                push(n_cells + cell, NO_CELL);
            } else if any_doubled {
                push(cell, (n_cells + cell) as u32);
            } else {
                push(cell, NO_CELL);
            }
            let bit = u64::from(segments[first].mask.trailing_zeros());
            next.push(segments[first].start as u64 * 64 + bit);
            end.push(segments[first].start as u64 * 64 + bit + size);
        }
        let stand_in = places.all.len();
        let sides = if self.plan.reference.is_some() {
            let (words, mask) = places.take(1, false);
            segments.push(Segment {
                cell: n_cells as u32,
                also: NO_CELL,
                multiplier: 1,
                start: words.start,
                end: words.end,
                mask,
            });
            Sides::Reference(vec![0; n_cells])
        } else if any_doubled {
            Sides::Possible
        } else {
            Sides::Complement
        };
        let all = places.all;
        let layout = Layout::new(self.plan.n_levels, all_rows, sides);
        let columns = 0..self.plan.n_columns;
        let mut bits = vec![0; all.len() * self.plan.propositions.len()];
        if let Some(reference) = self.plan.reference {
            for (index, proposition) in self.plan.propositions.iter().enumerate() {
                bits[index * all.len() + stand_in] = u64::from(!proposition.excludes(&reference));
            }
        }
        Filling {
            table: Table {
                kernel: self.kernel,
                segments,
                layout: Arc::new(layout.clone()),
                unknown: self.is_unknown(),
                propositions: self.plan.propositions.clone(),
                words: all.len(),
                bits,
                all,
            },
            layout,
            next,
            end,
            again,
            columns: columns
                .map(|column| Column::new(&self.plan.propositions, column))
                .collect(),
        }
    }

    /// Second pass: sets the bits.
    pub fn fill(&mut self, batch: &Batch) -> Result<(), String> {
        let mut filling = match self.filling.take() {
            Some(filling) => filling,
            None => self.start_filling(),
        };
        let doubled = self.doubled(batch);
        let n_rows = batch.strata.len();
        for start in (0..n_rows).step_by(ROWS_AT_ONCE) {
            let rows = start..n_rows.min(start + ROWS_AT_ONCE);
            let ordered = self.order_rows(batch, rows, &doubled, &mut filling)?;
            // Reference rows take a place and satisfy nothing.
            let left_out = batch.reference.filter(|_| self.plan.reference.is_some());
            for (codes, column) in batch.columns.iter().zip(&filling.columns) {
                let code = |row: u32| match left_out {
                    Some(reference) if reference[row as usize] != 0 => -1,
                    _ => codes[row as usize],
                };
                set_bits(&mut filling.table, column, code, &ordered);
            }
        }
        self.filling = Some(filling);
        Ok(())
    }

    /// Assigns places to some rows.
    fn order_rows(
        &self,
        batch: &Batch,
        rows: Range<usize>,
        doubled: &[bool],
        filling: &mut Filling,
    ) -> Result<OrderedRows, String> {
        let before = filling.next.clone();
        let mut places: Vec<(u32, u32)> = Vec::with_capacity(rows.len());
        for row in rows {
            if let (Some(reference), Sides::Reference(rows)) = (batch.reference, &mut filling.layout.sides) {
                if reference[row] != 0 {
                    rows[self.cell(batch, row)?] += self.weight(batch, row)?;
                }
            }
            let mut full = false;
            self.places(batch, row, doubled[row], |kind| {
                full |= filling.next[kind] >= filling.end[kind];
                filling.next[kind] += 1;
                places.push((kind as u32, row as u32));
            })?;
            if full {
                return Err(format!("row {row} was not there in the first pass"));
            }
        }
        let mut kinds = Vec::new();
        let mut end = 0;
        let mut at = before.clone();
        for (kind, (&before, &next)) in before.iter().zip(&filling.next).enumerate() {
            let start = end;
            end += (next - before) as usize;
            at[kind] = start as u64;
            if end > start {
                let is_doubled = kind / self.plan.weight_bits % 2 == 1;
                let again = is_doubled.then_some((filling.again[kind] / 64) as usize);
                kinds.push((start..end, before, again));
            }
        }
        let mut rows = vec![0; places.len()];
        for (kind, row) in places {
            rows[at[kind as usize] as usize] = row;
            at[kind as usize] += 1;
        }
        Ok(OrderedRows { rows, kinds })
    }

    pub fn finish(mut self) -> Result<Table, String> {
        let mut filling = match self.filling.take() {
            Some(filling) => filling,
            None => self.start_filling(),
        };
        if filling.next != filling.end {
            return Err("the second pass had fewer rows than the first".to_string());
        }
        filling.table.layout = Arc::new(filling.layout);
        Ok(filling.table)
    }
}

/// Sets the bits of the propositions on a column, a word at a time: first the rows of each run of codes, then, for each
/// proposition, the rows of any of its runs.
fn set_bits(table: &mut Table, column: &Column, code: impl Fn(u32) -> i32, ordered: &OrderedRows) {
    // Before the run of this number; all runs after the last one.
    let mut before = vec![0; column.edges.len() + 2];
    for (rows, first, again) in &ordered.kinds {
        let (mut rows, mut place) = (&ordered.rows[rows.clone()], *first);
        while !rows.is_empty() {
            let here;
            (here, rows) = rows.split_at(rows.len().min(64 - (place % 64) as usize));
            before.fill(0);
            for (bit, &row) in (place % 64..).zip(here) {
                before[column.run(code(row)) + 1] |= 1 << bit;
            }
            let missing = std::mem::take(&mut before[1]);
            let mut all = 0;
            for rows in &mut before {
                all |= *rows;
                *rows = all;
            }
            let word = (place / 64) as usize;
            for &(proposition, from, to) in &column.holding {
                let holds = before[to] ^ before[from];
                let words = &mut table.bits[proposition as usize * table.words..][..table.words];
                words[word] |= holds;
                if let Some(again) = again {
                    words[word + again] |= holds | missing;
                }
            }
            place += here.len() as u64;
        }
    }
}
