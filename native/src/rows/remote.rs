//! Remote rows, in any number of parts: questions are sent as numbers, each part answers for its own rows, and the answers
//! are combined.
//!
//! A question is a list of u32: its kind, then lists, each preceded by its length. An answer is a list of u64. The answers
//! of the parts are added, except for [`DEMAND`], whose answer is the smallest.

use crate::bits::bitset::are_disjoint;
use crate::rows::local::Local;
use crate::rows::{Extension, Rows};
use crate::table::facts::{demand, excluded_by_one, fingerprints};
use crate::table::layout::{Layout, Sides};
use crate::table::{Proposition, Table};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const FINGERPRINTS: u32 = 0;
const COUNTS: u32 = 1;
const CHILDREN: u32 = 2;
const COMMON_CORE: u32 = 3;
const CORES: u32 = 4;
const CORES_WITHOUT: u32 = 5;
const MINIMAL: u32 = 6;
/// The one kind whose answers are not added: the smallest counts; all ones means none.
pub const DEMAND: u32 = 7;

/// The reference rows, cell by cell.
pub const REFERENCE: u32 = 8;

/// Sends questions to whoever holds the rows.
pub trait Messenger: Send + Sync {
    /// The combined answers of the parts, of the given length.
    fn ask(&self, question: &[u32], length: usize) -> Vec<u64>;
}

fn question(kind: u32, lists: &[&[u32]]) -> Vec<u32> {
    let mut question = vec![kind];
    for list in lists {
        question.push(list.len() as u32);
        question.extend_from_slice(list);
    }
    question
}

/// The lists of a question; an error if it is truncated or names unknown propositions.
fn lists(question: &[u32], n_propositions: usize) -> Result<Vec<&[u32]>, String> {
    let mut rest = question.get(1..).ok_or("an empty question")?;
    let mut lists = Vec::new();
    while let Some((&length, after)) = rest.split_first() {
        let list = after.get(..length as usize).ok_or("a question is cut off")?;
        if list.iter().any(|&p| p as usize >= n_propositions) {
            return Err("a question asks for a proposition that is not there".to_string());
        }
        lists.push(list);
        rest = &after[length as usize..];
    }
    Ok(lists)
}

/// Packed rows not used for this many questions make room for others.
const KEPT_FOR: u64 = 64;

/// One part of the rows. It caches the rows of a few conditions, because many questions concern the same ones.
pub struct Part {
    table: Arc<Table>,
    /// The salt of its hashes; different in every part.
    salt: u64,
    rows: Local,
    packed: Mutex<Packed>,
}

#[derive(Default)]
struct Packed {
    /// The number of questions so far.
    time: u64,
    kept: Vec<Kept>,
}

/// The rows of one condition.
struct Kept {
    condition: u32,
    extension: Arc<dyn Extension>,
    n_rows: u64,
    last_used: u64,
}

impl Part {
    pub fn new(table: Arc<Table>, salt: u64) -> Part {
        Part {
            rows: Local::new(table.clone()),
            table,
            salt,
            packed: Mutex::default(),
        }
    }

    fn packed(&self) -> MutexGuard<'_, Packed> {
        self.packed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows of a rule. The cache never exceeds the table itself.
    fn extension(&self, conditions: &[u32]) -> Arc<dyn Extension> {
        let [first, rest @ ..] = conditions else {
            return self.rows.extension(conditions);
        };
        if rest.is_empty() {
            return self.rows.extension(conditions);
        }
        let Some(mut extension) = self.known(*first).or_else(|| self.keep(*first)) else {
            return self.rows.extension(conditions);
        };
        for &condition in rest {
            extension = extension.descend(condition, &[]);
        }
        extension
    }

    fn known(&self, condition: u32) -> Option<Arc<dyn Extension>> {
        let mut packed = self.packed();
        packed.time += 1;
        let time = packed.time;
        let mut kept = packed.kept.iter_mut();
        let found = kept.find(|kept| kept.condition == condition)?;
        found.last_used = time;
        Some(found.extension.clone())
    }

    /// Packs and caches the rows of a condition, if there is room.
    fn keep(&self, condition: u32) -> Option<Arc<dyn Extension>> {
        let n_rows = crate::bits::bitset::size(&self.table.extension(&[condition]));
        let room = |packed: &mut Packed| {
            let time = packed.time;
            let is_recent = |kept: &Kept| kept.last_used + KEPT_FOR >= time;
            packed.kept.retain(is_recent);
            let taken: u64 = packed.kept.iter().map(|kept| kept.n_rows).sum();
            taken + n_rows <= crate::bits::bitset::size(&self.table.all)
        };
        if !room(&mut self.packed()) {
            return None;
        }
        // Released meanwhile, so that other questions are answered.
        let all: Vec<u32> = (0..self.table.propositions.len() as u32).collect();
        let extension = self.rows.extension(&[]).descend(condition, &all);
        let mut packed = self.packed();
        let is_known = packed.kept.iter().any(|kept| kept.condition == condition);
        if !is_known && room(&mut packed) {
            let last_used = packed.time;
            packed.kept.push(Kept {
                condition,
                extension: extension.clone(),
                n_rows,
                last_used,
            });
        }
        Some(extension)
    }

    /// Answers a question from the rows of this part.
    pub fn answer(&self, question: &[u32]) -> Result<Vec<u64>, String> {
        answer(self, question)
    }
}

fn answer(part: &Part, question: &[u32]) -> Result<Vec<u64>, String> {
    let (table, rows) = (&part.table, &part.rows);
    let lists = lists(question, table.propositions.len())?;
    let mut counts = Vec::new();
    let one = || lists.first().copied().ok_or("a question without a rule");
    match question[0] {
        FINGERPRINTS => {
            let each = fingerprints(table, part.salt).into_iter();
            return Ok(each.flat_map(|f| [(f >> 64) as u64, f as u64]).collect());
        }
        COUNTS => {
            let conjunctions: Vec<Vec<u32>> = lists.iter().map(|list| list.to_vec()).collect();
            counts = rows.counts(&conjunctions);
        }
        CHILDREN => part
            .extension(one()?)
            .counts(lists.get(1).copied().unwrap_or(&[]), &mut counts),
        COMMON_CORE => {
            let core = part.extension(one()?).common_core(lists.get(1).copied().unwrap_or(&[]));
            counts = core.unwrap_or_else(|| vec![0; table.layout.width()]);
        }
        CORES => part
            .extension(one()?)
            .cores(lists.get(1).copied().unwrap_or(&[]), &mut counts),
        CORES_WITHOUT => part
            .extension(one()?)
            .cores_without(lists.get(1).copied().unwrap_or(&[]), &mut counts),
        MINIMAL => {
            // A condition matters if it does in any part.
            let excluded = excluded_by_one(table, one()?);
            let mut matters = Vec::new();
            for &child in lists.get(1).copied().unwrap_or(&[]) {
                let holds = table.proposition(child as usize);
                matters.extend(excluded.iter().map(|rows| u64::from(!are_disjoint(rows, holds))));
            }
            return Ok(matters);
        }
        DEMAND => {
            let implied = lists.get(1).copied().ok_or("a demand without conditions")?;
            let none = || vec![u64::MAX; implied.len().div_ceil(64).max(1)];
            return Ok(demand(table, one()?, implied).unwrap_or_else(none));
        }
        REFERENCE => {
            return Ok(match &table.layout.sides {
                Sides::Reference(rows) => rows.clone(),
                _ => vec![0; table.layout.n_cells()],
            })
        }
        kind => return Err(format!("no question of kind {kind}")),
    }
    if table.unknown && table.layout.sides == Sides::Complement {
        // No value is missing here, but in another part: possibly satisfied equals satisfied.
        let each = counts.chunks(table.layout.n_cells());
        return Ok(each.flat_map(|covered| [covered, covered].concat()).collect());
    }
    Ok(counts)
}

/// Combines the answer of one more part with those of others.
pub fn put_together(kind: u32, sum: &mut [u64], more: &[u64]) {
    if kind == DEMAND {
        // Compared as lists of conditions' bits: at the first difference, the list without that bit is smaller.
        let order = |bits: &[u64]| bits.iter().map(|word| word.reverse_bits()).collect::<Vec<u64>>();
        if order(more) < order(sum) {
            sum.copy_from_slice(more);
        }
        return;
    }
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum = sum.wrapping_add(*more);
    }
}

pub struct Remote {
    layout: Layout,
    propositions: Vec<Proposition>,
    messenger: Arc<dyn Messenger>,
}

impl Remote {
    pub fn new(layout: Layout, propositions: Vec<Proposition>, messenger: Arc<dyn Messenger>) -> Remote {
        Remote {
            layout,
            propositions,
            messenger,
        }
    }
}

impl Rows for Remote {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn propositions(&self) -> &[Proposition] {
        &self.propositions
    }

    fn fingerprints(&self) -> Vec<u128> {
        let answer = self
            .messenger
            .ask(&question(FINGERPRINTS, &[]), 2 * self.propositions.len());
        let pairs = answer.chunks(2);
        pairs
            .map(|pair| u128::from(pair[0]) << 64 | u128::from(pair[1]))
            .collect()
    }

    fn counts(&self, conjunctions: &[Vec<u32>]) -> Vec<u64> {
        let lists: Vec<&[u32]> = conjunctions.iter().map(Vec::as_slice).collect();
        let length = self.layout.width() * lists.len();
        self.messenger.ask(&question(COUNTS, &lists), length)
    }

    fn demand(&self, chosen: &[u32], implied: &[u32]) -> Option<Vec<u64>> {
        let length = implied.len().div_ceil(64).max(1);
        let answer = self.messenger.ask(&question(DEMAND, &[chosen, implied]), length);
        let is_none = answer.iter().all(|&word| word == u64::MAX);
        (!is_none).then_some(answer)
    }

    fn are_minimal(&self, conditions: &[u32], children: &[u32]) -> Vec<bool> {
        if conditions.is_empty() || children.is_empty() {
            return vec![true; children.len()];
        }
        let length = conditions.len() * children.len();
        let answer = self.messenger.ask(&question(MINIMAL, &[conditions, children]), length);
        let each = answer.chunks(conditions.len());
        each.map(|matters| matters.iter().all(|&parts| parts > 0)).collect()
    }

    fn extension(&self, conditions: &[u32]) -> Arc<dyn Extension> {
        Arc::new(RemoteExtension {
            width: self.layout.width(),
            messenger: self.messenger.clone(),
            conditions: conditions.to_vec(),
        })
    }
}

/// The rows of a rule, identified by its conditions; nothing is kept between questions.
struct RemoteExtension {
    width: usize,
    messenger: Arc<dyn Messenger>,
    conditions: Vec<u32>,
}

impl RemoteExtension {
    fn ask(&self, kind: u32, list: &[u32], n_answers: usize) -> Vec<u64> {
        let question = question(kind, &[&self.conditions, list]);
        self.messenger.ask(&question, self.width * n_answers)
    }
}

impl Extension for RemoteExtension {
    fn descend(&self, condition: u32, _: &[u32]) -> Arc<dyn Extension> {
        let mut conditions = self.conditions.clone();
        conditions.push(condition);
        Arc::new(RemoteExtension {
            width: self.width,
            messenger: self.messenger.clone(),
            conditions,
        })
    }

    fn counts(&self, candidates: &[u32], counts: &mut Vec<u64>) {
        *counts = self.ask(CHILDREN, candidates, candidates.len() + 1);
    }

    fn common_core(&self, candidates: &[u32]) -> Option<Vec<u64>> {
        let core = self.ask(COMMON_CORE, candidates, 1);
        (crate::bits::bitset::total(&core) > 0).then_some(core)
    }

    fn cores(&self, order: &[u32], counts: &mut Vec<u64>) {
        *counts = self.ask(CORES, order, order.len());
    }

    fn cores_without(&self, candidates: &[u32], counts: &mut Vec<u64>) {
        *counts = self.ask(CORES_WITHOUT, candidates, candidates.len());
    }
}
