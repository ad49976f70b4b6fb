//! The search does not know where rows are: it asks for counts, and counts of disjoint sets of rows add up.
//!
//! [`Rows`] is what the search needs to know about a table; [`Extension`] is one rule's rows in it. `local` answers from
//! the bits in this process, `remote` asks whoever holds the rows.

mod extension;
pub mod local;
pub mod remote;

use crate::bits::lanes::Lanes;
use crate::table::layout::Layout;
use crate::table::Proposition;
use std::sync::Arc;

/// Takes the index of a child, its own counts, the counts of blocks of conditions cell by cell, and for each lane the
/// indices of its condition and of that condition's complement.
pub type TakeLanes<'a> = dyn FnMut(usize, &[u64], &[Lanes], &[[Option<u32>; 2]]) + 'a;

pub trait Rows: Send + Sync {
    /// The number of rows in each cell, and what counts mean.
    fn layout(&self) -> &Layout;

    fn propositions(&self) -> &[Proposition];

    /// A number for each proposition, equal for propositions that hold on the same rows.
    fn fingerprints(&self) -> Vec<u128>;

    /// The counts of several conjunctions, one after the other.
    fn counts(&self, conjunctions: &[Vec<u32>]) -> Vec<u64>;

    /// Of the rows that satisfy `chosen` but not all of `implied`, one that the fewest of `implied` exclude: returns these
    /// as bits. It does not depend on the order of the rows.
    fn demand(&self, chosen: &[u32], implied: &[u32]) -> Option<Vec<u64>>;

    /// For each child, is the rule with the child's condition minimal: would dropping any of `conditions` cover more rows?
    fn are_minimal(&self, conditions: &[u32], children: &[u32]) -> Vec<bool>;

    /// The rows of a rule, from scratch.
    fn extension(&self, conditions: &[u32]) -> Arc<dyn Extension>;
}

/// The rows that a rule covers.
pub trait Extension: Send + Sync {
    /// The rows of the rule with one more condition. `needed` are the propositions requested there or below; empty if
    /// preparing for them does not pay.
    fn descend(&self, condition: u32, needed: &[u32]) -> Arc<dyn Extension>;

    /// The counts of the rule itself, then those of the rule with each of the candidates.
    fn counts(&self, candidates: &[u32], counts: &mut Vec<u64>);

    /// For each child, `take` gets its index in the list, and the counts of the rule with the child, followed by those with
    /// each of the child's candidates added.
    fn counts_of_children(&self, children: &[u32], candidates: &[Vec<u32>], take: &mut dyn FnMut(usize, &[u64])) {
        let mut counts = Vec::new();
        for (index, (&child, candidates)) in children.iter().zip(candidates).enumerate() {
            let extension = self.descend(child, &[]);
            extension.counts(candidates, &mut counts);
            take(index, &counts);
        }
    }

    /// For some children of a family, by their indices in its order: `take` gets the index, the child's own counts and
    /// those with each condition after it, eight at a time. Returns false for remote rows and for too many.
    fn counts_in_lanes(&self, _order: &[u32], _children: &[usize], _take: &mut TakeLanes) -> bool {
        false
    }

    /// How many children to request at once.
    fn n_together(&self) -> usize {
        32
    }

    /// The counts of the rows that satisfy all of the candidates; `None` if there is no such row.
    fn common_core(&self, candidates: &[u32]) -> Option<Vec<u64>>;

    /// For each index in the order, the counts of the rows that satisfy that condition and all after it.
    fn cores(&self, order: &[u32], counts: &mut Vec<u64>);

    /// For each of the candidates, the counts of the rows that satisfy all the others.
    fn cores_without(&self, candidates: &[u32], counts: &mut Vec<u64>);
}
