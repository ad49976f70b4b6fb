//! Rows in the memory of this process.

use crate::bitset::{intersect, is_empty, is_subset, size, Counts};
use crate::rows::{Place, Rows};
use crate::table::{Proposition, Table};
use std::sync::Arc;

/// Rows are packed anew when a branch covers less than this share of them …
const THIN: f64 = 0.7;
/// … and has at least this many conditions to try on them.
const WORTH_PACKING: usize = 8;

pub struct Local {
    whole: Arc<View>,
}

impl Local {
    pub fn new(table: Arc<Table>) -> Local {
        let n_rows = size(&table.all);
        Local {
            whole: Arc::new(View {
                table,
                n_rows,
                local: None,
            }),
        }
    }

    fn table(&self) -> &Table {
        &self.whole.table
    }
}

impl Rows for Local {
    fn strata(&self) -> &[Counts] {
        &self.table().strata
    }

    fn propositions(&self) -> &[Proposition] {
        &self.table().propositions
    }

    fn fingerprints(&self) -> Vec<u128> {
        fingerprints(self.table(), 0)
    }

    fn counts(&self, conjunctions: &[Vec<u32>]) -> Vec<Counts> {
        let n_strata = self.strata().len();
        let mut counts = vec![Counts::default(); conjunctions.len() * n_strata];
        for (conditions, counts) in conjunctions.iter().zip(counts.chunks_mut(n_strata)) {
            let rows = self.table().extension(conditions);
            self.table().count(&rows, &rows, counts);
        }
        counts
    }

    fn demand(&self, chosen: &[u32], implied: &[u32]) -> Option<Vec<u64>> {
        demand(self.table(), chosen, implied)
    }

    fn are_minimal(&self, conditions: &[u32], children: &[u32]) -> Vec<bool> {
        let minimal = |&child| is_minimal(self.table(), conditions, child, conditions.len());
        children.iter().map(minimal).collect()
    }

    fn place(&self, conditions: &[u32]) -> Arc<dyn Place> {
        Arc::new(LocalPlace {
            view: self.whole.clone(),
            rows: self.table().extension(conditions),
        })
    }
}

/// A hash of the rows of each proposition; with different salts, hashes of parts of a table add up to one of the whole.
pub fn fingerprints(table: &Table, salt: u64) -> Vec<u128> {
    let mix = |mut x: u64| {
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    };
    let hash = |rows: &[u64], seed: u64| {
        let seed = mix(seed.wrapping_add(salt.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        rows.iter()
            .fold(seed, |hash, &word| mix(hash ^ word).wrapping_add(seed))
    };
    let propositions = 0..table.propositions.len();
    let fingerprint = |index| {
        let rows = table.proposition(index);
        u128::from(hash(rows, 1)) << 64 | u128::from(hash(rows, 2))
    };
    propositions.map(fingerprint).collect()
}

/// See [`Rows::demand`].
pub fn demand(table: &Table, chosen: &[u32], implied: &[u32]) -> Option<Vec<u64>> {
    let rows = table.extension(implied);
    let mut surplus = table.extension(chosen);
    for (surplus, rows) in surplus.iter_mut().zip(&rows) {
        *surplus &= !rows;
    }
    if is_empty(&surplus) {
        return None;
    }
    let mut demand = vec![0; implied.len().div_ceil(64)];
    let mut kept = surplus.clone();
    for (local, &condition) in implied.iter().enumerate() {
        intersect(&mut kept, table.proposition(condition as usize));
        if is_empty(&kept) {
            demand[local / 64] |= 1 << (local % 64);
            kept.copy_from_slice(&surplus);
        } else {
            surplus.copy_from_slice(&kept);
        }
    }
    Some(demand)
}

/// Does each of the first `n_first` conditions still matter when the child's is added? See [`Rows::are_minimal`].
/// Mostly the first few words show a row for each condition.
pub fn is_minimal(table: &Table, conditions: &[u32], child: u32, n_first: usize) -> bool {
    let holds = table.proposition(child as usize);
    conditions[..n_first].iter().all(|&left_out| {
        let without = table.proposition(left_out as usize);
        let others: Vec<&[u64]> = conditions
            .iter()
            .filter(|&&condition| condition != left_out)
            .map(|&condition| table.proposition(condition as usize))
            .collect();
        (0..table.words).any(|word| {
            let rows = holds[word] & !without[word] & table.all[word];
            others.iter().fold(rows, |rows, other| rows & other[word]) != 0
        })
    })
}

/// The whole table, or just the rows that a branch still covers, packed together.
struct View {
    table: Arc<Table>,
    n_rows: u64,
    /// Where the whole table's propositions are in `table`.
    local: Option<Vec<u32>>,
}

impl View {
    fn index(&self, proposition: u32) -> u32 {
        let local = self.local.as_ref();
        local.map_or(proposition, |local| local[proposition as usize])
    }

    fn proposition(&self, proposition: u32) -> &[u64] {
        self.table.proposition(self.index(proposition) as usize)
    }

    /// The view of `rows` alone, with the propositions that are still of interest.
    fn project(&self, rows: &[u64], propositions: &[u32]) -> View {
        let n_whole = self
            .local
            .as_ref()
            .map_or(self.table.propositions.len(), Vec::len);
        let mut local = vec![u32::MAX; n_whole];
        for (new, &proposition) in propositions.iter().enumerate() {
            local[proposition as usize] = new as u32;
        }
        let here: Vec<u32> = propositions.iter().map(|&p| self.index(p)).collect();
        View {
            table: Arc::new(self.table.project(rows, &here)),
            n_rows: size(rows),
            local: Some(local),
        }
    }
}

struct LocalPlace {
    view: Arc<View>,
    rows: Vec<u64>,
}

impl Place for LocalPlace {
    fn descend(
        &self,
        condition: u32,
        needed: &mut dyn Iterator<Item = u32>,
        pays: bool,
    ) -> Arc<dyn Place> {
        let mut rows = self.rows.clone();
        intersect(&mut rows, self.view.proposition(condition));
        let thin = (size(&rows) as f64) < THIN * self.view.n_rows as f64;
        if pays && thin {
            let needed: Vec<u32> = needed.collect();
            if needed.len() >= WORTH_PACKING {
                let view = self.view.project(&rows, &needed);
                let rows = view.table.all.clone();
                return Arc::new(LocalPlace {
                    view: Arc::new(view),
                    rows,
                });
            }
        }
        Arc::new(LocalPlace {
            view: self.view.clone(),
            rows,
        })
    }

    fn counts(&self, candidates: &[u32], counts: &mut Vec<Counts>) {
        let table = &self.view.table;
        let n_strata = table.strata.len();
        counts.resize((candidates.len() + 1) * n_strata, Counts::default());
        let (own, others) = counts.split_at_mut(n_strata);
        table.count(&self.rows, &self.rows, own);
        for (&candidate, counts) in candidates.iter().zip(others.chunks_mut(n_strata)) {
            table.count(&self.rows, self.view.proposition(candidate), counts);
        }
    }

    fn common_core(&self, candidates: &[u32]) -> Option<Vec<Counts>> {
        let mut core = self.rows.clone();
        for &candidate in candidates {
            intersect(&mut core, self.view.proposition(candidate));
            if is_empty(&core) {
                return None;
            }
        }
        let mut counts = vec![Counts::default(); self.view.table.strata.len()];
        self.view.table.count(&core, &core, &mut counts);
        Some(counts)
    }

    fn cores(&self, order: &[u32], counts: &mut Vec<Counts>) {
        let table = &self.view.table;
        let n_strata = table.strata.len();
        counts.clear();
        counts.resize(order.len() * n_strata, Counts::default());
        let mut core = self.rows.clone();
        for (&proposition, counts) in order.iter().zip(counts.chunks_mut(n_strata)).rev() {
            let holds = self.view.proposition(proposition);
            table.count(&core, holds, counts);
            intersect(&mut core, holds);
            if is_empty(&core) {
                return;
            }
        }
    }

    fn are_inside(&self, children: &[u32], others: &[Vec<u32>]) -> Vec<bool> {
        let mut covered = vec![0; self.rows.len()];
        let pairs = children.iter().zip(others);
        pairs
            .map(|(&child, others)| {
                covered.copy_from_slice(&self.rows);
                intersect(&mut covered, self.view.proposition(child));
                let mut others = others.iter();
                others.any(|&other| is_subset(&covered, self.view.proposition(other)))
            })
            .collect()
    }
}
