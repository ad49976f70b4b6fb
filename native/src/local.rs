//! Rows in the memory of this process.

use crate::bitset::{are_disjoint, intersect, is_empty, size, Question, Segment, NO_CELL};
use crate::lanes::{Packed, LANES};
use crate::layout::Layout;
use crate::rows::{Place, Rows, TakeLanes};
use crate::table::{Proposition, Table};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Rows are packed anew when a branch covers less than this share of them …
const THIN: f64 = 0.7;
/// … and has at least this many conditions to try on them.
const WORTH_PACKING: usize = 8;

/// A set of rows longer than this many words does not stay in the cache: it is gone through block by block, and each
/// block is used for as many questions as there are.
const LARGE: usize = 1 << 14;
const BLOCK: usize = 1 << 10;

/// How many sets of rows are asked about at a time: a list that is quickly made.
const ASKED: usize = 16;

/// Below this many words, counting is cheaper than finding out what need not be counted.
const WORTH_SPLITTING: usize = 16;

pub struct Local {
    whole: Arc<View>,
    complements: Arc<Vec<Option<u32>>>,
}

impl Local {
    pub fn new(table: Arc<Table>) -> Local {
        let n_rows = size(&table.all);
        Local {
            complements: Arc::new(complements(&table)),
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
        let minimal = |&child| is_minimal(self.table(), conditions, child, conditions.len());
        children.iter().map(minimal).collect()
    }

    fn place(&self, conditions: &[u32]) -> Arc<dyn Place> {
        Arc::new(LocalPlace {
            view: self.whole.clone(),
            complements: self.complements.clone(),
            rows: self.table().extension(conditions),
        })
    }
}

/// For each proposition the one that holds on all other rows, if there is one on the same column: its counts are what
/// is left of the rule's own.
fn complements(table: &Table) -> Vec<Option<u32>> {
    let n_rows = size(&table.all);
    let sizes: Vec<u64> = (0..table.propositions.len())
        .map(|index| size(table.proposition(index)))
        .collect();
    let mut by_column: HashMap<usize, Vec<u32>> = HashMap::new();
    for (index, proposition) in table.propositions.iter().enumerate() {
        by_column
            .entry(proposition.column)
            .or_default()
            .push(index as u32);
    }
    let mut complements = vec![None; sizes.len()];
    for column in by_column.values() {
        // Disjoint sets of rows that make up all rows between them: by size, then by their codes.
        let mut by_size: HashMap<u64, Vec<u32>> = HashMap::new();
        for &index in column {
            let same_size = by_size.entry(sizes[index as usize]).or_default();
            same_size.push(index);
        }
        for &index in column {
            let this = &table.propositions[index as usize];
            let others = by_size.get(&(n_rows - sizes[index as usize]));
            // A row whose value is missing possibly satisfies both, so the codes alone do not tell.
            let is_disjoint = |other: u32| {
                this.excludes(&table.propositions[other as usize])
                    && are_disjoint(
                        table.proposition(index as usize),
                        table.proposition(other as usize),
                    )
            };
            complements[index as usize] = others
                .into_iter()
                .flatten()
                .find(|&&other| is_disjoint(other))
                .copied();
        }
    }
    complements
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
    complements: Arc<Vec<Option<u32>>>,
    rows: Vec<u64>,
}

impl LocalPlace {
    /// Which of the candidates must be counted; the others are what these leave of the rule's own rows, and stand with
    /// the place of their complement.
    fn split(&self, candidates: &[u32], places: &mut Places) -> Split {
        if self.rows.len() < WORTH_SPLITTING {
            return candidates.iter().copied().map(Ok).collect();
        }
        places.resize(self.complements.len(), NOWHERE);
        for (place, &candidate) in candidates.iter().enumerate() {
            places[candidate as usize] = place as u32;
        }
        let counted = |(place, &candidate): (usize, &u32)| {
            let complement = self.complements[candidate as usize];
            match complement.map(|other| places[other as usize]) {
                Some(other) if (other as usize) < place => Err(other),
                _ => Ok(candidate),
            }
        };
        let split = candidates.iter().enumerate().map(counted).collect();
        for &candidate in candidates {
            places[candidate as usize] = NOWHERE;
        }
        split
    }

    fn count_small(&self, rows: &[u64], split: &Split, counts: &mut [u64]) {
        let table = &self.view.table;
        let width = table.layout.width();
        let (own, each) = counts.split_at_mut(width);
        table.count(rows, rows, own);
        let mut asked = Vec::with_capacity(ASKED);
        let parts = split.chunks(ASKED);
        for (split, each) in parts.zip(each.chunks_mut(ASKED * width)) {
            let each = split.iter().zip(each.chunks_mut(width));
            asked.extend(
                each.filter_map(|(part, counts)| Some((self.view.proposition(part.ok()?), counts))),
            );
            table.count_each(rows, &mut asked);
            asked.clear();
        }
        fill_complements(split, width, counts);
    }

    /// Counts the children and each child's candidates, block by block: a candidate's block is used for all children
    /// while it is at hand.
    fn count_large(&self, children: &[u32], splits: &[Split], counts: &mut [Vec<u64>]) {
        let table = &self.view.table;
        let width = table.layout.width();
        let own: Vec<(usize, usize)> = (0..children.len()).map(|child| (child, 0)).collect();
        let mut users: BTreeMap<u32, Vec<(usize, usize)>> = BTreeMap::new();
        for (child, split) in splits.iter().enumerate() {
            for (slot, part) in split.iter().enumerate() {
                if let Ok(candidate) = part {
                    users.entry(*candidate).or_default().push((child, slot + 1));
                }
            }
        }
        let mut covered = vec![vec![0; BLOCK]; children.len()];
        let mut parts = vec![0; children.len()];
        for segment in &table.segments {
            for start in (segment.start..segment.end).step_by(BLOCK) {
                let end = (start + BLOCK).min(segment.end);
                let here = Segment {
                    cell: 0,
                    also: NO_CELL,
                    multiplier: 1,
                    start: 0,
                    end: end - start,
                };
                let mut add = |x: &[u64], covered: &[Vec<u64>], users: &[(usize, usize)]| {
                    let asked = users
                        .iter()
                        .map(|&(child, _)| &covered[child][..end - start]);
                    let mut asked: Vec<Question> = asked.zip(parts.chunks_mut(1)).collect();
                    (table.kernel.count_each)(x, &mut asked, &[here]);
                    for (&(child, slot), &ones) in users.iter().zip(&parts) {
                        segment.add(&mut counts[child][slot * width..], ones);
                    }
                };
                let rows = &self.rows[start..end];
                for (child, covered) in covered.iter_mut().enumerate() {
                    let covered = &mut covered[..end - start];
                    covered.copy_from_slice(rows);
                    intersect(covered, &self.view.proposition(children[child])[start..end]);
                }
                add(rows, &covered, &own);
                for (&candidate, users) in &users {
                    add(
                        &self.view.proposition(candidate)[start..end],
                        &covered,
                        users,
                    );
                }
            }
        }
    }
}

/// For each candidate: itself, if it is to be counted, or else the place of its complement.
type Split = Vec<Result<u32, u32>>;

/// Where each proposition is among the candidates; kept from one question to the next.
type Places = Vec<u32>;
const NOWHERE: u32 = u32::MAX;

/// Fills in what is left of the rule's own rows where only the complement was counted.
fn fill_complements(split: &Split, width: usize, counts: &mut [u64]) {
    for (slot, part) in split.iter().enumerate() {
        if let Err(other) = part {
            for cell in 0..width {
                let counted = counts[(*other as usize + 1) * width + cell];
                counts[(slot + 1) * width + cell] = counts[cell] - counted;
            }
        }
    }
}

impl Place for LocalPlace {
    fn descend(&self, condition: u32, needed: &[u32]) -> Arc<dyn Place> {
        let mut rows = self.rows.clone();
        intersect(&mut rows, self.view.proposition(condition));
        let is_thin = || (size(&rows) as f64) < THIN * self.view.n_rows as f64;
        if needed.len() >= WORTH_PACKING && is_thin() {
            let view = self.view.project(&rows, needed);
            let rows = view.table.all.clone();
            return Arc::new(LocalPlace {
                view: Arc::new(view),
                complements: self.complements.clone(),
                rows,
            });
        }
        Arc::new(LocalPlace {
            view: self.view.clone(),
            complements: self.complements.clone(),
            rows,
        })
    }

    fn counts(&self, candidates: &[u32], counts: &mut Vec<u64>) {
        let width = self.view.table.layout.width();
        counts.resize((candidates.len() + 1) * width, 0);
        let split = self.split(candidates, &mut Places::new());
        self.count_small(&self.rows, &split, counts);
    }

    fn counts_of_children(
        &self,
        children: &[u32],
        candidates: &[Vec<u32>],
        take: &mut dyn FnMut(usize, &[u64]),
    ) {
        let width = self.view.table.layout.width();
        let mut places = Places::new();
        let splits = candidates.iter().map(|c| self.split(c, &mut places));
        if self.rows.len() >= LARGE {
            let splits: Vec<Split> = splits.collect();
            let empty = |split: &Split| vec![0; (split.len() + 1) * width];
            let mut counts: Vec<Vec<u64>> = splits.iter().map(empty).collect();
            self.count_large(children, &splits, &mut counts);
            for (index, (split, counts)) in splits.iter().zip(&mut counts).enumerate() {
                fill_complements(split, width, counts);
                take(index, counts);
            }
            return;
        }
        let mut rows = vec![0; self.rows.len()];
        let mut counts = Vec::new();
        for (index, (&child, split)) in children.iter().zip(splits).enumerate() {
            rows.copy_from_slice(&self.rows);
            intersect(&mut rows, self.view.proposition(child));
            counts.resize((split.len() + 1) * width, 0);
            self.count_small(&rows, &split, &mut counts);
            take(index, &counts);
        }
    }

    fn counts_in_lanes(&self, order: &[u32], children: &[usize], take: &mut TakeLanes) -> bool {
        let table = &self.view.table;
        let words = self.rows.len();
        if words >= LARGE {
            return false;
        }
        let mut place_of = vec![None; self.complements.len()];
        for (place, &condition) in order.iter().enumerate() {
            place_of[condition as usize] = Some(place as u32);
        }
        let complement = |condition: u32| {
            let other = self.complements[condition as usize];
            other.and_then(|other| place_of[other as usize])
        };
        let rows_of = |condition: u32| self.view.proposition(condition);
        let packed = Packed::new(order, words, rows_of, complement);
        let width = table.layout.width();
        let (mut rows, mut own) = (vec![0; words], vec![0; width]);
        let mut counts = Vec::new();
        for &child in children {
            rows.copy_from_slice(&self.rows);
            intersect(&mut rows, self.view.proposition(order[child]));
            table.count(&rows, &rows, &mut own);
            counts.resize(packed.n_blocks(child) * width, [0; LANES]);
            packed.count(&rows, child, &table.segments, &mut counts);
            take(child, &own, &counts, &packed.places);
        }
        true
    }

    fn n_together(&self) -> usize {
        if self.rows.len() < LARGE {
            1024
        } else {
            32
        }
    }

    fn common_core(&self, candidates: &[u32]) -> Option<Vec<u64>> {
        let mut core = self.rows.clone();
        for &candidate in candidates {
            intersect(&mut core, self.view.proposition(candidate));
            if is_empty(&core) {
                return None;
            }
        }
        let mut counts = vec![0; self.view.table.layout.width()];
        self.view.table.count(&core, &core, &mut counts);
        Some(counts)
    }

    fn cores(&self, order: &[u32], counts: &mut Vec<u64>) {
        let table = &self.view.table;
        let width = table.layout.width();
        counts.clear();
        counts.resize(order.len() * width, 0);
        let mut core = self.rows.clone();
        for (&proposition, counts) in order.iter().zip(counts.chunks_mut(width)).rev() {
            let holds = self.view.proposition(proposition);
            table.count(&core, holds, counts);
            intersect(&mut core, holds);
            if is_empty(&core) {
                return;
            }
        }
    }

    fn cores_without(&self, candidates: &[u32], counts: &mut Vec<u64>) {
        // The rows that fail one of the candidates or more, and those that fail two or more.
        let (mut once, mut twice) = (vec![0; self.rows.len()], vec![0; self.rows.len()]);
        for &candidate in candidates {
            let holds = self.view.proposition(candidate);
            let words = self.rows.iter().zip(holds);
            for ((once, twice), (row, holds)) in once.iter_mut().zip(&mut twice).zip(words) {
                let fails = row & !holds;
                *twice |= *once & fails;
                *once |= fails;
            }
        }
        let (table, width) = (&self.view.table, self.view.table.layout.width());
        let (mut core, mut one_only) = (self.rows.clone(), once);
        for ((core, one_only), twice) in core.iter_mut().zip(&mut one_only).zip(&twice) {
            *core &= !*one_only;
            *one_only &= !twice;
        }
        let [mut shared, mut near] = [vec![0; width], vec![0; width]];
        table.count(&core, &core, &mut shared);
        table.count(&one_only, &one_only, &mut near);
        counts.clear();
        counts.resize(candidates.len() * width, 0);
        for (&candidate, counts) in candidates.iter().zip(counts.chunks_mut(width)) {
            // The core, and of the rows that fail one candidate alone those that fail this one.
            table.count(&one_only, self.view.proposition(candidate), counts);
            for ((count, shared), near) in counts.iter_mut().zip(&shared).zip(&near) {
                *count = shared + near - *count;
            }
        }
    }
}
