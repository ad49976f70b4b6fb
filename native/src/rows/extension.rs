//! The rows that a rule covers, in memory: counted, intersected, and packed when few are left. The counts do not depend on
//! the method: one by one, eight at a time, or as the complement of others.

use crate::bits::bitset::{intersect, is_empty, size, Segment};
use crate::bits::cpu::vectorised;
use crate::bits::lanes::{Counted, CountingAll, Eights, Lanes};
use crate::rows::{Extension, TakeLanes};
use crate::table::Table;
use std::ops::Range;
use std::sync::Arc;

/// Rows are packed again when a branch covers less than this share of them …
const THIN: f64 = 0.7;
/// … and has at least this many candidates.
const WORTH_PACKING: usize = 8;

/// Long sets are processed in parts of this many words: the words of eight conditions stay in the fastest cache.
const PART: usize = 256;
/// Other sets have segments too small for that and are processed in few parts.
const LARGE_PART: usize = 1 << 14;

/// Counts of this many blocks of eight conditions are kept at a time, cell by cell: 8 MB for sets in several parts, for
/// others what fits the fastest cache.
const KEPT: usize = 1 << 17;
const KEPT_OF_ONE_PART: usize = 1 << 9;
/// The minimum number of children counted together in several parts, since each part has to be prepared.
const FEWEST: usize = 8;

/// The maximum number of words of children per request, so that a step of the search stays short.
const WORDS_TOGETHER: usize = 1 << 25;

/// How many sets of rows are counted per call: a list that is cheap to build.
const ASKED: usize = 16;

/// With fewer words per segment on average, counting rows is faster than taking differences.
const WORTH_LEAVING: usize = 8;

/// Below this many words, counting is cheaper than finding what can be skipped.
const WORTH_SPLITTING: usize = 16;

/// The whole table, or only the rows that a branch still covers, packed.
pub struct View {
    table: Arc<Table>,
    n_rows: u64,
    /// The index in `table` of each proposition of the whole table.
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

    /// The view of `rows` alone, with the propositions still needed.
    fn project(&self, rows: &[u64], propositions: &[u32], complements: &[Option<u32>]) -> View {
        let mut local = vec![u32::MAX; complements.len()];
        for (new, &proposition) in propositions.iter().enumerate() {
            local[proposition as usize] = new as u32;
        }
        let here: Vec<u32> = propositions.iter().map(|&p| self.index(p)).collect();
        let complement_of = |new: usize| {
            let other = local[complements[propositions[new] as usize]? as usize] as usize;
            (other < new).then_some(other)
        };
        View {
            table: Arc::new(self.table.project(rows, &here, complement_of)),
            n_rows: size(rows),
            local: Some(local),
        }
    }
}

pub struct LocalExtension {
    view: Arc<View>,
    complements: Arc<Vec<Option<u32>>>,
    rows: Vec<u64>,
}

impl LocalExtension {
    pub fn new(view: Arc<View>, complements: Arc<Vec<Option<u32>>>, rows: Vec<u64>) -> LocalExtension {
        LocalExtension {
            view,
            complements,
            rows,
        }
    }

    /// Splits the candidates: those to count, and those whose counts are the rule's own less those of their complement,
    /// with the index of that complement.
    fn split(&self, candidates: &[u32], indices: &mut Indices) -> Split {
        if self.rows.len() < WORTH_SPLITTING {
            return candidates.iter().copied().map(Ok).collect();
        }
        indices.resize(self.complements.len(), NOWHERE);
        for (index, &candidate) in candidates.iter().enumerate() {
            indices[candidate as usize] = index as u32;
        }
        let counted = |(index, &candidate): (usize, &u32)| {
            let complement = self.complements[candidate as usize];
            match complement.map(|other| indices[other as usize]) {
                Some(other) if (other as usize) < index => Err(other),
                _ => Ok(candidate),
            }
        };
        let split = candidates.iter().enumerate().map(counted).collect();
        for &candidate in candidates {
            indices[candidate as usize] = NOWHERE;
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
            asked.extend(each.filter_map(|(part, counts)| Some((self.view.proposition(part.ok()?), counts))));
            table.count_each(rows, &mut asked);
            asked.clear();
        }
        fill_complements(split, width, counts);
    }

    fn is_long(&self) -> bool {
        self.rows.len() >= WORTH_LEAVING * self.view.table.segments.len()
    }

    /// The number of words in a part.
    fn part(&self) -> usize {
        if self.is_long() {
            PART
        } else {
            LARGE_PART
        }
    }

    /// Counts children of a family with all conditions after each, part by part. Of a child and its complement only the
    /// first in the order is counted; the other is the rule's own counts less that one.
    fn count_in_lanes(
        &self,
        order: &[u32],
        eights: &Eights,
        children: &[usize],
        blocks: &mut Vec<Lanes>,
        take: &mut TakeLanes,
    ) {
        let table = &self.view.table;
        let width = table.layout.width();
        let mut index_of = vec![None; order.len()];
        for (index, &child) in children.iter().enumerate() {
            index_of[child] = Some(index);
        }
        let is_long = self.is_long();
        let twin = |child: usize| eights.complements[child].filter(|&twin| is_long && twin < child);
        let is_counted = |child| twin(child).is_none_or(|twin| index_of[twin].is_none());
        let counted_twin = |child| {
            let twin = twin(child).filter(|&twin| is_counted(twin));
            twin.and_then(|twin| index_of[twin])
        };
        // First the rule itself, if needed; then the children to count; then the others.
        let left = children.iter().filter(|&&child| counted_twin(child).is_some());
        let n_left = left.map(|&child| eights.n_blocks(child)).max();
        let n_blocks = children.iter().map(|&child| eights.n_blocks(child));
        let n_blocks = n_blocks.sum::<usize>() + n_left.unwrap_or(0);
        let mut counted = Counted::new(width, children.len() + 1, n_blocks);
        let mut conditions = Vec::with_capacity(children.len() + 1);
        if let Some(n_blocks) = n_left {
            counted.push(n_blocks);
            conditions.push(None);
        }
        let mut set_of = vec![0; children.len()];
        for (set, &child) in set_of.iter_mut().zip(children) {
            if counted_twin(child).is_none() {
                *set = counted.push(eights.n_blocks(child));
                conditions.push(Some(self.view.proposition(order[child])));
            }
        }
        let (mut rows, mut own) = (Vec::new(), vec![0; width]);
        let parts = parts(&table.segments, self.rows.len(), self.part());
        for (part, segments) in &parts {
            rows.clear();
            for (set, condition) in conditions.iter().enumerate() {
                let start = rows.len();
                let here = &self.rows[part.clone()];
                match condition {
                    Some(holds) => {
                        let words = here.iter().zip(&holds[part.clone()]);
                        rows.extend(words.map(|(row, holds)| row & holds));
                    }
                    None => rows.extend_from_slice(here),
                }
                let rows = &rows[start..];
                (table.kernel.count_each)(rows, &mut [(rows, &mut own)], segments);
                for (sum, own) in counted.own_mut(set).iter_mut().zip(&own) {
                    *sum += own;
                }
            }
            // Short sets stay interleaved for all children.
            if parts.len() > 1 || blocks.is_empty() {
                let words_of = |index: usize| &self.view.proposition(order[index])[part.clone()];
                eights.interleave(part.len(), words_of, blocks);
            }
            vectorised(CountingAll {
                rows: &rows,
                n_words: part.len(),
                blocks,
                segments,
                counts: &mut counted,
            });
        }
        for (index, &child) in children.iter().enumerate() {
            let set = match counted_twin(child) {
                Some(twin) => counted.push_rest(0, set_of[twin], eights.n_blocks(child)),
                None => set_of[index],
            };
            take(child, counted.own(set), counted.in_lanes(set), &eights.indices);
        }
    }
}

/// The parts of the words, each with its segments, relative to the part.
fn parts(segments: &[Segment], n_words: usize, part: usize) -> Vec<(Range<usize>, Vec<Segment>)> {
    let mut parts = Vec::new();
    let mut first = 0;
    for start in (0..n_words).step_by(part) {
        let end = n_words.min(start + part);
        while segments[first..].first().is_some_and(|s| s.end <= start) {
            first += 1;
        }
        let here = segments[first..].iter().take_while(|s| s.start < end);
        let here = here.map(|segment| Segment {
            start: segment.start.max(start) - start,
            end: segment.end.min(end) - start,
            ..*segment
        });
        parts.push((start..end, here.collect()));
    }
    parts
}

/// For each candidate: itself if it is to be counted, else the index of its complement.
type Split = Vec<Result<u32, u32>>;

/// The index of each proposition among the candidates; reused between requests.
type Indices = Vec<u32>;
const NOWHERE: u32 = u32::MAX;

/// Fills in the counts of candidates of which only the complement was counted.
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

impl Extension for LocalExtension {
    fn descend(&self, condition: u32, needed: &[u32]) -> Arc<dyn Extension> {
        let mut rows = self.rows.clone();
        intersect(&mut rows, self.view.proposition(condition));
        let is_thin = || (size(&rows) as f64) < THIN * self.view.n_rows as f64;
        if needed.len() >= WORTH_PACKING && is_thin() {
            let view = self.view.project(&rows, needed, &self.complements);
            let rows = view.table.all.clone();
            return Arc::new(LocalExtension {
                view: Arc::new(view),
                complements: self.complements.clone(),
                rows,
            });
        }
        Arc::new(LocalExtension {
            view: self.view.clone(),
            complements: self.complements.clone(),
            rows,
        })
    }

    fn counts(&self, candidates: &[u32], counts: &mut Vec<u64>) {
        let width = self.view.table.layout.width();
        counts.resize((candidates.len() + 1) * width, 0);
        let split = self.split(candidates, &mut Indices::new());
        self.count_small(&self.rows, &split, counts);
    }

    fn counts_in_lanes(&self, order: &[u32], children: &[usize], take: &mut TakeLanes) -> bool {
        let mut index_of = vec![None; self.complements.len()];
        for (index, &condition) in order.iter().enumerate() {
            index_of[condition as usize] = Some(index);
        }
        let complement = |&condition: &u32| {
            let other = self.complements[condition as usize];
            other.and_then(|other| index_of[other as usize])
        };
        let eights = Eights::new(order.iter().map(complement).collect());
        let n_blocks = children.iter().map(|&child| eights.n_blocks(child)).max();
        let n_blocks = n_blocks.unwrap_or(0);
        let each = (self.view.table.layout.width() * n_blocks).max(1);
        let n_kept = match self.rows.len() <= self.part() && !self.is_long() {
            true => (KEPT_OF_ONE_PART / each).max(1),
            false => (KEPT / each).max(FEWEST),
        };
        let mut blocks = Vec::new();
        for children in children.chunks(n_kept) {
            self.count_in_lanes(order, &eights, children, &mut blocks, take);
        }
        true
    }

    fn n_together(&self) -> usize {
        (WORDS_TOGETHER / self.rows.len().max(1)).clamp(32, 1024)
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
        // Rows that fail at least one candidate, and rows that fail at least two.
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
            // The core, plus the rows that fail this candidate alone.
            table.count(&one_only, self.view.proposition(candidate), counts);
            for ((count, shared), near) in counts.iter_mut().zip(&shared).zip(&near) {
                *count = shared + near - *count;
            }
        }
    }
}
