//! A record of what the search looked at, on request: which branches, in what order, and why each was left.
//!
//! It promises to change nothing: a search that is traced visits the same branches. It is for tests that pin the pruning,
//! and for anyone who wants to see the search work on a small table.

use super::branch::Branch;
use crate::score::Score;

/// Why a branch was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its children were looked at.
    Expanded,
    /// All of its rules were looked at: they may take one condition more and no further.
    Finished,
    /// By its own rows, it holds nothing that is wanted.
    Rows,
    /// The same, given the rows that all rules below all siblings cover.
    CommonCore,
    /// The same, given the rows that all rules below it cover.
    Core,
    /// Without one of its conditions it has the same rows.
    NotMinimal,
    /// It may only tie, or alpha leaves it out: it waits until nothing else is left.
    Waits,
    /// The goal has risen above its bound since.
    Behind,
}

/// One branch that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    pub source: usize,
    pub conditions: Vec<u32>,
    pub bound: Score,
    pub fate: Fate,
}

/// The visits of one worker, if they are wanted.
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
