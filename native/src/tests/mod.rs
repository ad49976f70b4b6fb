//! Property tests of the parts of the search, over random inputs from fixed seeds. Python tests compare whole searches with
//! a brute force that shares no code with them.

mod boxes;
mod kernels;
mod policy;
mod searches;
mod tables;
mod trace;
mod widths;

use crate::bits::bitset::{Question, Segment, NO_CELL};
use crate::bits::cpu::fastest;
use crate::bits::lanes::LANES;
use crate::rows::local::Local;
use crate::rows::remote::{put_together, Messenger, Part, Remote};
use crate::rows::Rows;
use crate::score::{to_number, Estimator, Margin, Score, Settings};
use crate::search::describe::shortest;
use crate::search::{Options, Search, Source};
use crate::table::builder::{Batch, Builder, Missing, Plan};
use crate::table::layout::{Layout, Sides};
use crate::table::{Proposition, Table};
use std::sync::Arc;
use std::time::Duration;

/// A small random generator (splitmix64): std has none.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn words(&mut self, n: usize) -> Vec<u64> {
        // Every third word is empty, to include sparse sets.
        (0..n)
            .map(|_| {
                if self.below(3) == 0 {
                    0
                } else {
                    self.next() & self.next()
                }
            })
            .collect()
    }
}

/// A table of random rows over a few columns, with weights.
struct Sample {
    strata: Vec<i32>,
    outcomes: Vec<u16>,
    weights: Vec<u64>,
    columns: Vec<Vec<i32>>,
}

const N_STRATA: usize = 3;

fn random_rows(random: &mut Random, n: usize) -> Sample {
    let mut column = |size: u64| -> Vec<i32> { (0..n).map(|_| random.below(size) as i32 - 1).collect() };
    let columns = vec![column(4), column(3), column(5)];
    Sample {
        strata: (0..n).map(|_| random.below(N_STRATA as u64) as i32).collect(),
        outcomes: (0..n).map(|_| random.below(2) as u16).collect(),
        weights: (0..n).map(|_| random.below(7)).collect(),
        columns,
    }
}

fn propositions() -> Vec<Proposition> {
    let intervals = [
        (0, 0, 0),
        (0, 1, 2),
        (1, 0, 0),
        (1, 1, 1),
        (2, 0, 1),
        (2, 2, 3),
        (2, 0, 2),
    ];
    let propositions = intervals
        .iter()
        .map(|&(column, low, high)| Proposition { column, low, high });
    propositions.collect()
}

fn build(rows: &Sample, weighted: bool, parts: usize) -> Table {
    build_with(rows, weighted, parts, Missing::False)
}

fn build_with(rows: &Sample, weighted: bool, parts: usize, missing: Missing) -> Table {
    build_from(rows, weighted, parts, missing, None)
}

/// The conditions of the reference rows, if any.
const REFERENCE: Proposition = Proposition {
    column: 0,
    low: 0,
    high: 0,
};

fn build_from(rows: &Sample, weighted: bool, parts: usize, missing: Missing, reference: Option<&[u8]>) -> Table {
    let plan = Plan {
        propositions: propositions(),
        n_columns: 3,
        n_strata: N_STRATA,
        n_levels: 2,
        weight_bits: 3,
        missing,
        reference: reference.map(|_| REFERENCE),
    };
    let mut builder = Builder::new(fastest(), plan);
    let n = rows.strata.len();
    let size = n.div_ceil(parts).max(1);
    for fill in [false, true] {
        for start in (0..n).step_by(size) {
            let part = start..(start + size).min(n);
            let batch = Batch {
                strata: &rows.strata[part.clone()],
                outcomes: &rows.outcomes[part.clone()],
                weights: weighted.then_some(&rows.weights[part.clone()]),
                reference: reference.map(|reference| &reference[part.clone()]),
                columns: rows.columns.iter().map(|column| &column[part.clone()]).collect(),
            };
            let result = if fill {
                builder.fill(&batch)
            } else {
                builder.size(&batch)
            };
            result.unwrap();
        }
    }
    builder.finish().unwrap()
}

fn expand(rows: &Sample) -> Sample {
    let times: Vec<usize> = (0..rows.strata.len())
        .flat_map(|row| std::iter::repeat_n(row, rows.weights[row] as usize))
        .collect();
    Sample {
        strata: times.iter().map(|&row| rows.strata[row]).collect(),
        outcomes: times.iter().map(|&row| rows.outcomes[row]).collect(),
        weights: vec![1; times.len()],
        columns: rows
            .columns
            .iter()
            .map(|column| times.iter().map(|&row| column[row]).collect())
            .collect(),
    }
}

fn counts_of(table: &Table, conditions: &[u32]) -> Vec<u64> {
    let rows = table.extension(conditions);
    let mut counts = vec![0; table.layout.width()];
    table.count(&rows, &rows, &mut counts);
    counts
}

/// An estimator of a binary outcome, by number.
fn create(kind: u32, beta: f64, layout: &Layout) -> Box<dyn Estimator> {
    let settings = Settings {
        kind,
        margin: Margin::Number(beta),
        margin_scale: 1.0,
        levels: vec![0.0, 1.0],
    };
    crate::score::create(&settings, layout).unwrap()
}

/// The reliable estimator, or the pooled one with a β that grows with the length.
fn estimator(kind: u32, layout: &Layout) -> Arc<dyn Estimator> {
    let settings = Settings {
        kind,
        margin: match kind {
            0 => Margin::Number(1.0),
            _ => Margin::ByLength(vec![0.0, 0.4, 0.5, 0.6]),
        },
        margin_scale: 1.0,
        levels: vec![0.0, 1.0],
    };
    Arc::from(crate::score::create(&settings, layout).unwrap())
}
