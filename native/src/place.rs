//! One rule's rows in the memory of this process: counted, intersected, and packed together where they have become few.

use crate::bitset::{intersect, is_empty, size, Question, Segment, NO_CELL};
use crate::lanes::{Packed, LANES};
use crate::rows::{Place, TakeLanes};
use crate::table::Table;
use std::collections::BTreeMap;
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

/// The whole table, or just the rows that a branch still covers, packed together.
pub struct View {
    table: Arc<Table>,
    n_rows: u64,
    /// Where the whole table's propositions are in `table`.
    local: Option<Vec<u32>>,
}

impl View {
    pub fn whole(table: Arc<Table>) -> View {
        View {
            n_rows: size(&table.all),
            table,
            local: None,
        }
    }

    pub fn table(&self) -> &Table {
        &self.table
    }

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

pub struct LocalPlace {
    view: Arc<View>,
    complements: Arc<Vec<Option<u32>>>,
    rows: Vec<u64>,
}

impl LocalPlace {
    pub fn new(view: Arc<View>, complements: Arc<Vec<Option<u32>>>, rows: Vec<u64>) -> LocalPlace {
        LocalPlace {
            view,
            complements,
            rows,
        }
    }

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
