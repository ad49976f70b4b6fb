//! A record of the branches that the search visited, on request: in what order, and why each was left.
//!
//! Tracing changes nothing: a traced search visits the same branches. It serves tests that pin the pruning, and anyone who
//! wants to watch the search on a small table.

use super::branch::Branch;
use crate::score::Score;

/// Why a branch was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its children were valued.
    Expanded,
    /// All of its rules were valued: its children have no candidates.
    Finished,
    /// By its own rows, it holds no wanted rule.
    Rows,
    /// The same, given the rows that all rules below all siblings cover.
    CommonCore,
    /// The same, given the rows that all rules below it cover.
    Core,
    /// One of its conditions is redundant.
    NotMinimal,
    /// It may only tie, or alpha leaves it out: it waits until nothing else is left.
    Waits,
    /// The goal has since risen above its bound.
    Behind,
}

/// One visited branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    pub source: usize,
    pub conditions: Vec<u32>,
    pub bound: Score,
    pub fate: Fate,
}

/// The visits of one worker, if requested.
#[derive(Default)]
pub struct Trace(pub Option<Vec<Visit>>);

impl Trace {
    pub fn note(&mut self, branch: &Branch, fate: Fate) {
        if let Some(visits) = &mut self.0 {
            visits.push(Visit {
                source: branch.family.source,
                conditions: branch.conditions(),
                bound: branch.bound,
                fate,
            });
        }
    }

    /// The same for a child that does not become a branch.
    pub fn note_child(&mut self, parent: &Branch, condition: u32, bound: Score, fate: Fate) {
        if let Some(visits) = &mut self.0 {
            let conditions = parent.conditions().into_iter().chain([condition]);
            visits.push(Visit {
                source: parent.family.source,
                conditions: conditions.collect(),
                bound,
                fate,
            });
        }
    }
}
