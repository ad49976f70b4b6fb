//! Rows in the memory of this process.

use crate::bitset::{are_disjoint, size, Question};
use crate::classes::{Classes, Grouped};
use crate::facts::{complements, demand, excluded_by_one, fingerprints};
use crate::layout::Layout;
use crate::place::{LocalPlace, View};
use crate::rows::{Place, Rows, With};
use crate::search::lock;
use crate::table::{Proposition, Table};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How many conjunctions that others are compared with are kept at hand.
const AT_HAND: usize = 256;
/// About what it takes to put a row into its class, with 100 candidates.
const OF_A_ROW: Duration = Duration::from_nanos(20);

pub struct Local {
    whole: Arc<View>,
    complements: Arc<Vec<Option<u32>>>,
    /// The rows of conjunctions that others are compared with: they are always the same few.
    at_hand: Mutex<HashMap<Vec<u32>, Arc<Vec<u64>>>>,
}

impl Local {
    pub fn new(table: Arc<Table>) -> Local {
        Local {
            complements: Arc::new(complements(&table)),
            whole: Arc::new(View::whole(table)),
            at_hand: Mutex::default(),
        }
    }

    fn at_hand(&self, conditions: &[u32]) -> Arc<Vec<u64>> {
        let mut at_hand = lock(&self.at_hand);
        if let Some(rows) = at_hand.get(conditions) {
            return rows.clone();
        }
        if at_hand.len() >= AT_HAND {
            at_hand.clear();
        }
        let rows = Arc::new(self.table().extension(conditions));
        at_hand.insert(conditions.to_vec(), rows.clone());
        rows
    }

    fn table(&self) -> &Table {
        self.whole.table()
    }
}

impl Rows for Local {
    fn layout(&self) -> &Layout {
        &self.table().layout
    }

    fn propositions(&self) -> &[Proposition] {
        &self.table().propositions
    }

    fn fingerprints(&self) -> Vec<u128> {
        fingerprints(self.table(), 0)
    }

    fn counts(&self, conjunctions: &[Vec<u32>]) -> Vec<u64> {
        let width = self.layout().width();
        let mut counts = vec![0; conjunctions.len() * width];
        for (conditions, counts) in conjunctions.iter().zip(counts.chunks_mut(width)) {
            let rows = self.table().extension(conditions);
            self.table().count(&rows, &rows, counts);
        }
        counts
    }

    fn counts_with(&self, asked: &[With]) -> Vec<u64> {
        let width = self.layout().width();
        let n_counts = |with: &With| width * (1 + with.others.len());
        let mut counts = vec![0; asked.iter().map(n_counts).sum()];
        let mut left = &mut counts[..];
        for with in asked {
            let (here, after) = left.split_at_mut(n_counts(with));
            left = after;
            let rows = self.table().extension(&with.conditions);
            let others: Vec<Arc<Vec<u64>>> = with
                .others
                .iter()
                .map(|other| self.at_hand(other))
                .collect();
            let each = std::iter::once(&rows).chain(others.iter().map(|other| &**other));
            let mut questions: Vec<Question> = each
                .map(Vec::as_slice)
                .zip(here.chunks_mut(width))
                .collect();
            self.table().count_each(&rows, &mut questions);
        }
        counts
    }

    fn demand(&self, chosen: &[u32], implied: &[u32]) -> Option<Vec<u64>> {
        demand(self.table(), chosen, implied)
    }

    fn are_minimal(&self, conditions: &[u32], children: &[u32]) -> Vec<bool> {
        if children.is_empty() {
            return Vec::new();
        }
        let excluded = excluded_by_one(self.table(), conditions);
        let is_minimal = |&child: &u32| {
            let holds = self.table().proposition(child as usize);
            excluded.iter().all(|rows| !are_disjoint(rows, holds))
        };
        children.iter().map(is_minimal).collect()
    }

    fn classes(
        &self,
        conditions: &[u32],
        candidates: &[u32],
        others: &[&[u32]],
        time: Duration,
    ) -> Option<Classes> {
        let rows = self.table().extension(conditions);
        let n_tested = 100 + candidates.len() + 10 * others.len();
        let cost = OF_A_ROW * (size(&rows) as u32).saturating_mul(n_tested as u32 / 100);
        if cost > time {
            return None;
        }
        let others: Vec<Arc<Vec<u64>>> = others.iter().map(|other| self.at_hand(other)).collect();
        Classes::of(&Grouped {
            table: self.table(),
            rows: &rows,
            candidates,
            leaders: &others,
        })
    }

    fn place(&self, conditions: &[u32]) -> Arc<dyn Place> {
        Arc::new(LocalPlace::new(
            self.whole.clone(),
            self.complements.clone(),
            self.table().extension(conditions),
        ))
    }
}
