//! Sums over the rows of every context and action of two slots, by stratum, from one pass over the rows: first by cell, then
//! summed up to each cell, so that those of any rectangle are differences.

use super::language::{Axis, Choice};
use super::rows::Cells;
use crate::bits::lanes::LANES;
use crate::score::Numbers;

/// The axes of an action: the choices on one are lanes, side by side; the cells of the other, if there is one, are rows.
#[derive(Clone, Debug)]
pub struct ActionSlot {
    pub rows: Option<Axis>,
    pub lanes: Axis,
}

/// Where the sums of a stratum are: for each row of cells up to some cell, first none, the counts of all lanes, the sums,
/// and, with a default, the counts of those that have it.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub n_rows: usize,
    /// In numbers of eight lanes.
    pub n_lanes: usize,
    pub n_strata: usize,
    pub n_planes: usize,
}

impl ActionSlot {
    /// The axis whose choices fill eight lanes better is that of the lanes.
    pub fn new(mut axes: Vec<Axis>) -> Option<ActionSlot> {
        let padded = |axis: &Axis| axis.choices.len().next_multiple_of(LANES);
        let cost = |lanes: &Axis, rows: &Axis| padded(lanes) * rows.choices.len();
        let lanes = axes.pop()?;
        Some(match axes.pop() {
            Some(other) if cost(&other, &lanes) < cost(&lanes, &other) => ActionSlot {
                rows: Some(lanes),
                lanes: other,
            },
            rows => ActionSlot { rows, lanes },
        })
    }

    /// Without an axis of rows, there is one row, which is chosen by no condition.
    pub fn row_choices(&self) -> Vec<Choice> {
        self.rows
            .as_ref()
            .map_or_else(|| vec![Choice::ANY], |rows| rows.choices.clone())
    }

    pub fn n_actions(&self) -> usize {
        self.lanes.choices.len() * self.rows.as_ref().map_or(1, |rows| rows.choices.len())
    }

    pub fn shape(&self, n_strata: usize, n_planes: usize) -> Shape {
        Shape {
            n_rows: self.rows.as_ref().map_or(1, |rows| rows.n_cells),
            n_lanes: self.lanes.choices.len().div_ceil(LANES),
            n_strata,
            n_planes,
        }
    }
}

impl Shape {
    /// The distance from one row of cells to the next.
    pub fn row(&self) -> usize {
        self.n_planes * self.n_lanes
    }

    pub fn stratum(&self) -> usize {
        (self.n_rows + 1) * self.row()
    }

    /// The size of the sums of one context.
    pub fn context(&self) -> usize {
        self.n_strata * self.stratum()
    }
}

#[inline(always)]
pub fn difference(high: &Numbers, low: &Numbers) -> Numbers {
    std::array::from_fn(|lane| high[lane] - low[lane])
}

#[inline(always)]
fn add(sums: &mut [Numbers], others: &[Numbers]) {
    for (sums, others) in sums.iter_mut().zip(others) {
        for lane in 0..LANES {
            sums[lane] += others[lane];
        }
    }
}

/// Adds to each of several blocks the sum of those before.
#[inline(always)]
fn accumulate(sums: &mut [Numbers], block: usize) {
    let mut at = block;
    while at < sums.len() {
        let (before, here) = sums.split_at_mut(at);
        add(&mut here[..block], &before[at - block..]);
        at += block;
    }
}

/// The sums of the cells from `from` up to `to`, of blocks that are summed up: a part of them, or their difference in
/// `room`.
#[inline(always)]
pub fn between<'a>(sums: &'a [Numbers], choice: &Choice, block: usize, room: &'a mut Vec<Numbers>) -> &'a [Numbers] {
    let high = &sums[(choice.to - 1) * block..choice.to * block];
    if choice.from == 0 {
        return high;
    }
    let low = &sums[(choice.from - 1) * block..choice.from * block];
    room.clear();
    room.extend(high.iter().zip(low).map(|(high, low)| difference(high, low)));
    room
}

/// Fills the sums of all cells of two context axes, the second of `n_cells`, each up to its cell.
#[inline(always)]
pub fn fill<const P: usize>(
    sums: &mut Vec<Numbers>,
    room: &mut Vec<[f64; P]>,
    cells: &Cells<P>,
    action: &ActionSlot,
    shape: Shape,
    n_cells: [usize; 2],
) {
    sums.clear();
    sums.resize(n_cells[0] * n_cells[1] * shape.context(), [0.0; LANES]);
    // The last cell of each axis is that of missing values.
    let lanes = &cells.actions[action.lanes.column];
    let rows = action.rows.as_ref().map(|rows| &cells.actions[rows.column]);
    let width = action.lanes.n_cells + 1;
    let height = action.rows.as_ref().map_or(1, |rows| rows.n_cells + 1);
    room.clear();
    room.resize(width * height + width, [0.0; P]);
    for run in &cells.runs {
        let (by_cell, up_to) = room.split_at_mut(width * height);
        by_cell.fill([0.0; P]);
        let parts = cells.parts[run.rows.clone()].iter().zip(&lanes[run.rows.clone()]);
        let mut note = |cell: usize, parts: &[f64; P]| {
            for (sum, part) in by_cell[cell].iter_mut().zip(parts) {
                *sum += part;
            }
        };
        match rows {
            Some(rows) => {
                for ((parts, &lane), &row) in parts.zip(&rows[run.rows.clone()]) {
                    note(usize::from(row) * width + usize::from(lane), parts);
                }
            }
            None => parts.for_each(|(parts, &lane)| note(usize::from(lane), parts)),
        }
        let start = (run.cell * shape.n_strata + run.stratum) * shape.stratum();
        let here = &mut sums[start..start + shape.stratum()];
        for (row, by_lane) in by_cell.chunks(width).take(shape.n_rows).enumerate() {
            let mut sum = [0.0; P];
            for (up_to, cell) in up_to[1..].iter_mut().zip(by_lane) {
                for part in 0..P {
                    sum[part] += cell[part];
                }
                *up_to = sum;
            }
            let out = &mut here[(row + 1) * shape.row()..(row + 2) * shape.row()];
            for (plane, out) in out.chunks_mut(shape.n_lanes).enumerate() {
                for (out, choice) in out.as_flattened_mut().iter_mut().zip(&action.lanes.choices) {
                    *out = up_to[choice.to][plane] - up_to[choice.from][plane];
                }
            }
        }
        accumulate(here, shape.row());
    }
    let block = shape.context();
    for line in sums.chunks_mut(n_cells[1] * block) {
        accumulate(line, block);
    }
    accumulate(sums, n_cells[1] * block);
}
