//! Which sets of columns rules may have, where not all are wanted: those that have the same controls, for example.

use crate::table::Proposition;
use std::collections::{HashMap, HashSet};

/// A set of columns, as bits.
pub type Columns = u128;

pub struct Offered {
    sets: HashSet<Columns>,
    /// For each set of columns that a rule may have on its way to an offered one: all columns of those above it.
    above: HashMap<Columns, Columns>,
    /// The column of each proposition.
    column: Vec<Columns>,
}

impl Offered {
    pub fn new(sets: &[Columns], propositions: &[Proposition]) -> Offered {
        let mut above = HashMap::new();
        for &set in sets {
            // All subsets of the set, from the largest to the empty one.
            let mut subset = set;
            loop {
                *above.entry(subset).or_insert(0) |= set;
                if subset == 0 {
                    break;
                }
                subset = (subset - 1) & set;
            }
        }
        let bit = |proposition: &Proposition| 1u128.checked_shl(proposition.column as u32);
        Offered {
            sets: sets.iter().copied().collect(),
            above,
            column: propositions.iter().map(|p| bit(p).unwrap_or(0)).collect(),
        }
    }

    pub fn columns(&self, conditions: &[u32]) -> Columns {
        let columns = conditions.iter().map(|&c| self.column[c as usize]);
        columns.fold(0, |all, column| all | column)
    }

    /// May a rule with these conditions be shown?
    pub fn has(&self, conditions: &[u32]) -> bool {
        self.sets.contains(&self.columns(conditions))
    }

    /// The columns that a rule on these may take further conditions on, so that an offered set is still above it.
    pub fn above(&self, columns: Columns) -> Columns {
        self.above.get(&columns).copied().unwrap_or(0)
    }

    pub fn is_on(&self, proposition: u32, columns: Columns) -> bool {
        self.column[proposition as usize] & columns != 0
    }
}
