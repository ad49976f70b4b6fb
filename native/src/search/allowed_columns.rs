//! The sets of columns that rules may use, if not all are allowed: those that have the same controls, for example.
//!
//! Guarantee: a branch is cut only if no rule below it uses an allowed set.

use crate::table::Proposition;
use std::collections::HashMap;

/// A set of columns, as bits.
pub type Columns = u128;

pub struct AllowedColumns {
    sets: Vec<Columns>,
    /// For each subset of an allowed set, the minimum number of columns that an allowed superset adds.
    lacks: HashMap<Columns, usize>,
    /// The column of each proposition.
    column: Vec<Columns>,
}

/// With more sets than this, none is checked for remaining conditions.
const MAX_CHECKED_SETS: usize = 64;
/// Valuing this few rules costs less than the bounds that might save it.
const FEW: usize = 256;

impl AllowedColumns {
    pub fn new(sets: &[Columns], propositions: &[Proposition]) -> AllowedColumns {
        let mut lacks = HashMap::new();
        for &set in sets {
            // All subsets of the set, from the largest to the empty one.
            let mut subset = set;
            loop {
                let lacking = (set & !subset).count_ones() as usize;
                let least = lacks.entry(subset).or_insert(lacking);
                *least = lacking.min(*least);
                if subset == 0 {
                    break;
                }
                subset = (subset - 1) & set;
            }
        }
        let bit = |proposition: &Proposition| 1u128.checked_shl(proposition.column as u32);
        AllowedColumns {
            sets: sets.to_vec(),
            lacks,
            column: propositions.iter().map(|p| bit(p).unwrap_or(0)).collect(),
        }
    }

    pub fn columns(&self, conditions: &[u32]) -> Columns {
        let columns = conditions.iter().map(|&c| self.column[c as usize]);
        columns.fold(0, |all, column| all | column)
    }

    /// Is a rule with these conditions allowed?
    pub fn has(&self, conditions: &[u32]) -> bool {
        self.has_columns(self.columns(conditions))
    }

    fn has_columns(&self, columns: Columns) -> bool {
        self.lacks.get(&columns) == Some(&0)
    }

    /// Is a rule on these columns allowed once this condition is added?
    pub fn has_with(&self, columns: Columns, proposition: u32) -> bool {
        self.has_columns(columns | self.column[proposition as usize])
    }

    /// Can a rule on these columns reach an allowed set with this condition and at most `others` more?
    pub fn can_lead(&self, columns: Columns, proposition: u32, others: usize) -> bool {
        let columns = columns | self.column[proposition as usize];
        self.lacks.get(&columns).is_some_and(|&lacking| lacking <= others)
    }

    pub fn is_on(&self, proposition: u32, columns: Columns) -> bool {
        self.column[proposition as usize] & columns != 0
    }

    /// Can a rule on these columns reach an allowed set with at most `at_most` of these candidates? A rule that is already
    /// on an allowed set must add at least one.
    pub fn can_end(&self, columns: Columns, candidates: &[u32], at_most: usize) -> bool {
        if self.sets.len() > MAX_CHECKED_SETS {
            return true;
        }
        let left = self.columns(candidates);
        let ends = |&set: &Columns| {
            let lacking = set & !columns;
            set & columns == columns
                && lacking & !left == 0
                && lacking.count_ones() as usize <= at_most
                && set & left != 0
        };
        self.sets.iter().any(ends)
    }

    /// Are there so few allowed rules that extend these columns, with a candidate on each further column, that bounds do
    /// not pay? Rules with several conditions on a column are not counted.
    pub fn are_few(&self, columns: Columns, candidates: &[u32]) -> bool {
        if self.sets.len() > MAX_CHECKED_SETS {
            return false;
        }
        let mut on: HashMap<Columns, usize> = HashMap::new();
        for &candidate in candidates {
            *on.entry(self.column[candidate as usize]).or_insert(0) += 1;
        }
        let above = self.sets.iter().filter(|&set| set & columns == columns);
        let rules = above.map(|set| {
            let further = on.iter().filter(|(&column, _)| set & !columns & column != 0);
            further.fold(1, |rules: usize, (_, &n)| rules.saturating_mul(n))
        });
        rules.fold(0, usize::saturating_add) <= FEW
    }
}
