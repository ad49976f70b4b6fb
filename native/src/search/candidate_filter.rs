//! Which conditions to try: leaves out those that no wanted rule needs, and keeps only the first of several that hold on
//! the same rows.

use super::allowed_columns::{AllowedColumns, Columns};
use super::top::cover_same_rows;
use crate::rows::Rows;
use std::collections::hash_map::Entry as Slot;
use std::collections::HashMap;

/// The propositions without duplicates and without those that hold nowhere or everywhere. One that only possibly holds
/// everywhere is no rule, but may be part of one. If only some sets of columns are allowed, propositions on other columns
/// are left out, and duplicates are removed within each column.
pub fn candidate_conditions(rows: &dyn Rows, allowed: Option<&AllowedColumns>) -> Vec<u32> {
    let layout = rows.layout();
    let width = layout.width();
    let n_propositions = rows.propositions().len() as u32;
    let all: Vec<u32> = (0..n_propositions).collect();
    let mut counts = Vec::new();
    rows.extension(&[]).counts(&all, &mut counts);
    let (whole, each) = counts.split_at(width);
    let fingerprints = rows.fingerprints();
    let mut seen: HashMap<(u128, Columns), u32> = HashMap::new();
    let mut candidates = Vec::new();
    for (&proposition, counts) in all.iter().zip(each.chunks(width)) {
        if layout.n_covered(counts) == 0 || counts == whole {
            continue;
        }
        let column = allowed.map_or(0, |allowed| allowed.columns(&[proposition]));
        if allowed.is_some_and(|allowed| !allowed.can_lead(0, proposition, usize::MAX)) {
            continue;
        }
        match seen.entry((fingerprints[proposition as usize], column)) {
            Slot::Occupied(first) if cover_same_rows(rows, counts, &[*first.get()], &[proposition]) => {}
            Slot::Occupied(_) => candidates.push(proposition),
            Slot::Vacant(place) => {
                place.insert(proposition);
                candidates.push(proposition);
            }
        }
    }
    candidates
}
