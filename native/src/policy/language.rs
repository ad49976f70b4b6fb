//! Conditions on coded columns, and every conjunction of at most two of them: one choice on each axis of a slot.

use crate::table::Proposition;

/// Up to two conditions, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conditions {
    numbers: [u32; 2],
    n: usize,
}

/// A conjunction may have this many conditions.
pub const MOST: usize = 2;

impl Conditions {
    pub const NONE: Conditions = Conditions { numbers: [0; 2], n: 0 };

    pub fn as_slice(&self) -> &[u32] {
        &self.numbers[..self.n]
    }

    /// Both together, in order; the caller knows that they are at most two.
    pub fn and(mut self, other: Conditions) -> Conditions {
        for &number in other.as_slice() {
            self.numbers[self.n] = number;
            self.n += 1;
        }
        self.numbers[..self.n].sort_unstable();
        self
    }
}

/// An interval of a column's cells, by one condition or by two.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    pub from: usize,
    /// The cell after the last.
    pub to: usize,
    pub conditions: Conditions,
}

impl Choice {
    /// The one choice where there is no axis.
    pub const ANY: Choice = Choice {
        from: 0,
        to: 1,
        conditions: Conditions::NONE,
    };
}

/// A column with what may be chosen on it.
#[derive(Clone, Debug)]
pub struct Axis {
    pub column: usize,
    pub n_cells: usize,
    pub choices: Vec<Choice>,
}

/// At most two axes. With one, its choices may have two conditions.
pub type Slot = Vec<Axis>;

/// A column's rows by cell: codes that no condition tells apart share one. Missing values have the cell `n_cells`.
struct Column {
    cells: Vec<u16>,
    n_cells: usize,
    singles: Vec<Choice>,
    intervals: Vec<Choice>,
}

pub struct Language {
    columns: Vec<Column>,
}

/// Codes below this are looked up.
const SMALL_CODES: i32 = 1 << 16;

impl Column {
    fn new(conditions: &[Proposition], column: usize, codes: &[i32]) -> Result<Column, String> {
        let here = conditions.iter().enumerate().filter(|(_, c)| c.column == column);
        let here: Vec<(u32, i32, i32)> = here.map(|(number, c)| (number as u32, c.low.max(0), c.high)).collect();
        let mut edges = vec![0];
        for &(_, low, high) in &here {
            edges.extend(
                [Some(low), high.checked_add(1).filter(|&edge| edge > 0)]
                    .into_iter()
                    .flatten(),
            );
        }
        edges.sort_unstable();
        edges.dedup();
        let n_cells = edges.len();
        if n_cells >= usize::from(u16::MAX) {
            return Err(format!("column {column} has too many conditions"));
        }
        let cell = |code: i32| match code {
            ..0 => n_cells,
            code => edges.partition_point(|&edge| edge <= code) - 1,
        };
        let small: Vec<u16> = (-1..=edges[n_cells - 1].min(SMALL_CODES))
            .map(|code| cell(code) as u16)
            .collect();
        let cell_of = |&code: &i32| match small.get((code.max(-1) + 1) as usize) {
            Some(&cell) => cell,
            None => cell(code) as u16,
        };
        let single = |&(number, low, high): &(u32, i32, i32)| {
            let from = cell(low);
            Choice {
                from,
                to: if high < low { from } else { cell(high) + 1 },
                conditions: Conditions {
                    numbers: [number, 0],
                    n: 1,
                },
            }
        };
        let singles: Vec<Choice> = here.iter().map(single).collect();
        let mut intervals = Vec::new();
        for (number, one) in singles.iter().enumerate() {
            for other in &singles[number + 1..] {
                let (from, to) = (one.from.max(other.from), one.to.min(other.to));
                let is_narrower = [one, other].iter().all(|single| (single.from, single.to) != (from, to));
                if from < to && is_narrower {
                    let conditions = one.conditions.and(other.conditions);
                    intervals.push(Choice { from, to, conditions });
                }
            }
        }
        Ok(Column {
            cells: codes.iter().map(cell_of).collect(),
            n_cells,
            singles,
            intervals,
        })
    }

    fn axis(&self, column: usize, intervals: bool) -> Axis {
        let mut choices = self.singles.clone();
        if intervals {
            choices.extend(&self.intervals);
        }
        Axis {
            column,
            n_cells: self.n_cells,
            choices,
        }
    }
}

impl Language {
    pub fn new(conditions: &[Proposition], columns: &[&[i32]]) -> Result<Language, String> {
        let columns = columns.iter().enumerate();
        let columns: Result<_, String> = columns.map(|(c, codes)| Column::new(conditions, c, codes)).collect();
        Ok(Language { columns: columns? })
    }

    /// The cell of each row of a column.
    pub fn cells(&self, column: usize) -> &[u16] {
        &self.columns[column].cells
    }

    pub fn n_columns(&self) -> usize {
        self.columns.len()
    }

    /// The slots of one or two columns for conjunctions of at most `most` conditions.
    pub fn slots(&self, most: usize) -> Vec<Slot> {
        let used: Vec<usize> = (0..self.columns.len())
            .filter(|&c| !self.columns[c].singles.is_empty())
            .collect();
        let mut slots = Vec::new();
        if most > 0 {
            slots.extend(used.iter().map(|&c| vec![self.columns[c].axis(c, most > 1)]));
        }
        if most > 1 {
            for (number, &first) in used.iter().enumerate() {
                for &second in &used[number + 1..] {
                    slots.push([first, second].map(|c| self.columns[c].axis(c, false)).to_vec());
                }
            }
        }
        slots
    }
}
