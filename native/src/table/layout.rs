//! The meaning of the counts of a rule: the position of each stratum, level and side.
//!
//! A *cell* is a stratum and a level of the target; the levels of a stratum stand side by side, lowest first (for a binary
//! outcome: 0, then 1). The counts of a rule begin with one number for each cell: the rows that it covers. The rule is
//! compared with the rows on which it *fails*, see [`Sides`].

/// The rows that a rule is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sides {
    /// All rows that it does not cover.
    Complement,
    /// The rows on which it surely does not hold. A missing value may or may not satisfy a condition, so the rows on which
    /// the rule *possibly* holds are counted too, in a second number for each cell; it fails on all others.
    Possible,
    /// Fixed reference rows, which no rule covers; other rows are excluded from the comparison. A rule must exclude the
    /// reference rows by its condition on their own column. One additional row, the *stand-in*, satisfies every condition
    /// that does not; it is counted after the cells, and a rule that it satisfies fails on no row.
    Reference(Vec<u64>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub n_levels: usize,
    /// All rows, cell by cell.
    pub all: Vec<u64>,
    pub sides: Sides,
    n_rows: u64,
}

impl Layout {
    pub fn new(n_levels: usize, all: Vec<u64>, sides: Sides) -> Layout {
        Layout {
            n_levels,
            n_rows: all.iter().sum(),
            all,
            sides,
        }
    }

    /// A binary outcome, and rules compared with all other rows: the numbers of rows without and with the outcome, by
    /// stratum.
    pub fn plain(all: Vec<u64>) -> Layout {
        Layout::new(2, all, Sides::Complement)
    }

    /// Are rules compared with all rows that they do not cover?
    #[inline]
    pub fn is_complement(&self) -> bool {
        matches!(self.sides, Sides::Complement)
    }

    pub fn n_cells(&self) -> usize {
        self.all.len()
    }

    pub fn n_strata(&self) -> usize {
        self.all.len() / self.n_levels
    }

    /// The number of counts of a rule.
    pub fn width(&self) -> usize {
        match self.sides {
            Sides::Complement => self.n_cells(),
            Sides::Possible => 2 * self.n_cells(),
            Sides::Reference(_) => self.n_cells() + 1,
        }
    }

    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    pub fn n_covered(&self, counts: &[u64]) -> u64 {
        counts[..self.n_cells()].iter().sum()
    }

    pub fn n_failing(&self, counts: &[u64]) -> u64 {
        match &self.sides {
            Sides::Complement => self.n_rows - self.n_covered(counts),
            Sides::Possible => self.n_rows - counts[self.n_cells()..].iter().sum::<u64>(),
            Sides::Reference(_) if counts[self.n_cells()] > 0 => 0,
            Sides::Reference(rows) => rows.iter().sum(),
        }
    }

    /// The number of rows of the cell on which the rule fails, if it fails at all.
    #[inline]
    pub fn failing(&self, counts: &[u64], cell: usize) -> u64 {
        match &self.sides {
            Sides::Complement => self.all[cell] - counts[cell],
            Sides::Possible => self.all[cell] - counts[self.n_cells() + cell],
            Sides::Reference(rows) => rows[cell],
        }
    }

    /// Could a rule have these counts?
    pub fn fits(&self, counts: &[u64]) -> bool {
        counts.len() == self.width()
            && (0..self.n_cells()).all(|cell| match &self.sides {
                Sides::Complement => counts[cell] <= self.all[cell],
                Sides::Possible => {
                    let possible = counts[self.n_cells() + cell];
                    counts[cell] <= possible && possible <= self.all[cell]
                }
                Sides::Reference(rows) => (self.all[cell].checked_sub(rows[cell])).is_some_and(|n| counts[cell] <= n),
            })
    }
}
