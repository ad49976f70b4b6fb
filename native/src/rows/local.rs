//! Rows in memory: answers from the bits of a table, without failures or waits.

use crate::bits::bitset::are_disjoint;
use crate::rows::extension::{LocalExtension, View};
use crate::rows::{Extension, Rows};
use crate::table::facts::{complements, demand, excluded_by_one, fingerprints};
use crate::table::layout::Layout;
use crate::table::{Proposition, Table};
use std::sync::Arc;

pub struct Local {
    whole: Arc<View>,
    complements: Arc<Vec<Option<u32>>>,
}

impl Local {
    pub fn new(table: Arc<Table>) -> Local {
        Local {
            complements: Arc::new(complements(&table)),
            whole: Arc::new(View::whole(table)),
        }
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

    fn extension(&self, conditions: &[u32]) -> Arc<dyn Extension> {
        Arc::new(LocalExtension::new(
            self.whole.clone(),
            self.complements.clone(),
            self.table().extension(conditions),
        ))
    }
}
