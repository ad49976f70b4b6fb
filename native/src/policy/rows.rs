//! The rows in whole numbers, so that sums do not depend on their order; sorted into the cells of a context's axes.

use super::language::{Axis, Language};
use std::ops::Range;

/// What a row is beside its columns. Targets are multiples of `unit`, from 0 to 1.
pub struct Rows {
    pub strata: Vec<u32>,
    pub weights: Vec<u64>,
    pub targets: Vec<u64>,
    pub unit: f64,
    /// Does the row have the default? Without a default every row has it.
    pub defaults: Option<Vec<bool>>,
    /// All rows, by stratum.
    pub order: Vec<u32>,
}

/// Sums of fewer than 2⁵³ units are exact as 64-bit floats. A target has at most this many bits.
const EXACT_BITS: u32 = 53;
const MOST_BITS: u32 = 40;
const LEAST_BITS: u32 = 16;

impl Rows {
    /// `range` is that of the targets in the whole table.
    pub fn new(
        strata: &[i32],
        weights: Option<&[u64]>,
        targets: &[f64],
        defaults: Option<&[u8]>,
        n_strata: usize,
        range: f64,
    ) -> Result<Rows, String> {
        let n = strata.len();
        if let Some(stratum) = strata.iter().find(|&&z| z < 0 || z as usize >= n_strata) {
            return Err(format!("stratum {stratum} is not below {n_strata}"));
        }
        let weights = weights.map_or_else(|| vec![1; n], <[u64]>::to_vec);
        let total = weights.iter().try_fold(0u64, |sum, &weight| sum.checked_add(weight));
        let bits = total.map_or(0, |total| EXACT_BITS.saturating_sub(64 - total.leading_zeros()));
        if bits < LEAST_BITS || n > u32::MAX as usize {
            return Err("there are more rows than can be counted".to_string());
        }
        let bits = bits.min(MOST_BITS);
        let [least, most] = [f64::min, f64::max].map(|pick| targets.iter().copied().reduce(pick).unwrap_or(0.0));
        let fits = targets.iter().all(|target| target.is_finite()) && most - least <= range * (1.0 + 1e-9);
        if !(range > 0.0 && range.is_finite() && fits) {
            return Err(format!("targets from {least} to {most} do not fit a range of {range}"));
        }
        let levels = (1u64 << bits) as f64;
        let level = |target: &f64| ((target - least) / range * levels).round().min(levels) as u64;
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_by_key(|&row| strata[row as usize]);
        Ok(Rows {
            strata: strata.iter().map(|&z| z as u32).collect(),
            weights,
            targets: targets.iter().map(level).collect(),
            unit: 1.0 / levels,
            defaults: defaults.map(|defaults| defaults.iter().map(|&d| d != 0).collect()),
            order,
        })
    }

    pub fn n(&self, rows: &[u32]) -> u64 {
        rows.iter().map(|&row| self.weights[row as usize]).sum()
    }

    fn sums(&self, row: u32) -> Sums {
        let row = row as usize;
        let (n, target) = (self.weights[row], self.targets[row]);
        let n_default = if self.defaults.as_ref().is_none_or(|d| d[row]) {
            n
        } else {
            0
        };
        Sums {
            n,
            sum: n * target,
            squares: u128::from(target) * u128::from(n * target),
            n_default,
            sum_default: n_default * target,
        }
    }

    /// What a row adds to the sums of an action: its weight, its target and, with a default, its weight if it has that.
    fn parts<const P: usize>(&self, row: u32) -> [f64; P] {
        let sums = self.sums(row);
        let parts = [sums.n as f64, sums.sum as f64, sums.n_default as f64];
        std::array::from_fn(|part| parts.get(part).copied().unwrap_or(0.0))
    }
}

/// Sums over rows: weights, targets, their squares; and the first two over the rows with the default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    pub n: u64,
    pub sum: u64,
    pub squares: u128,
    pub n_default: u64,
    pub sum_default: u64,
}

impl Sums {
    fn zip(self, other: Sums, of: impl Fn(u64, u64) -> u64, of_squares: impl Fn(u128, u128) -> u128) -> Sums {
        Sums {
            n: of(self.n, other.n),
            sum: of(self.sum, other.sum),
            squares: of_squares(self.squares, other.squares),
            n_default: of(self.n_default, other.n_default),
            sum_default: of(self.sum_default, other.sum_default),
        }
    }

    pub fn plus(self, other: Sums) -> Sums {
        self.zip(other, |a, b| a + b, |a, b| a + b)
    }

    pub fn minus(self, other: Sums) -> Sums {
        self.zip(other, |a, b| a - b, |a, b| a - b)
    }
}

/// Rows of one cell and stratum.
pub struct Run {
    pub cell: usize,
    pub stratum: usize,
    pub rows: Range<usize>,
}

/// Rows sorted by cell of two context axes, then by stratum, with all that an action's sums need.
pub struct Cells<const P: usize> {
    pub runs: Vec<Run>,
    pub parts: Vec<[f64; P]>,
    /// For each actionable column, the cell of each row.
    pub actions: Vec<Vec<u16>>,
    /// The sums of each run.
    pub sums: Vec<Sums>,
}

impl<const P: usize> Cells<P> {
    /// `rows` are in the order of strata. Rows with a missing value on an axis are left out.
    pub fn new(rows: &Rows, chosen: &[u32], contexts: &Language, axes: &[Axis], actions: &Language) -> Cells<P> {
        let n_cells = axes.iter().map(|axis| axis.n_cells).product::<usize>();
        let cell = |row: u32| {
            axes.iter().try_fold(0, |place, axis| {
                let cell = usize::from(contexts.cells(axis.column)[row as usize]);
                (cell < axis.n_cells).then_some(place * axis.n_cells + cell)
            })
        };
        let mut starts = vec![0; n_cells + 1];
        let cells: Vec<Option<usize>> = chosen.iter().map(|&row| cell(row)).collect();
        for &cell in cells.iter().flatten() {
            starts[cell + 1] += 1;
        }
        for cell in 0..n_cells {
            starts[cell + 1] += starts[cell];
        }
        let mut sorted = vec![(0, 0); starts[n_cells]];
        for (&row, cell) in chosen.iter().zip(cells) {
            if let Some(cell) = cell {
                sorted[starts[cell]] = (row, cell);
                starts[cell] += 1;
            }
        }
        let key = |&(row, cell): &(u32, usize)| (cell, rows.strata[row as usize] as usize);
        let (mut runs, mut sums) = (Vec::new(), Vec::new());
        let mut start = 0;
        for run in sorted.chunk_by(|one, other| key(one) == key(other)) {
            let (cell, stratum) = key(&run[0]);
            runs.push(Run {
                cell,
                stratum,
                rows: start..start + run.len(),
            });
            sums.push(
                run.iter()
                    .map(|&(row, _)| rows.sums(row))
                    .fold(Sums::default(), Sums::plus),
            );
            start += run.len();
        }
        let gathered = |column: usize| {
            let cells = actions.cells(column);
            sorted.iter().map(|&(row, _)| cells[row as usize]).collect()
        };
        Cells {
            runs,
            parts: sorted.iter().map(|&(row, _)| rows.parts(row)).collect(),
            actions: (0..actions.n_columns()).map(gathered).collect(),
            sums,
        }
    }
}
