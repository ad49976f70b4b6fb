//! Who should get what: the pair of a context and an action with the highest conservative gain, by trying all of them.
//!
//! A context and an action each choose an interval on up to two axes (`language.rs`). For each pair of a context's slot and
//! an action's slot, one pass over the rows gives the sums of all their pairs (`sums.rs`), whose gains follow eight at a time
//! (`gain.rs`). `walk.rs` goes through the pairs of slots. Tables that do not fit the cache are made for the rows of one choice
//! at a time.

mod gain;
mod language;
mod rows;
mod sums;
mod walk;

use crate::table::Proposition;
use language::{Conditions, Language, Slot, MOST};
use rows::Rows;
use std::ops::Range;
use std::sync::atomic::AtomicI32;
use sums::ActionSlot;
use walk::Walk;

/// Conditions and the columns of codes that they are on. Negative codes are missing: no condition holds.
pub struct Conjunctions<'a> {
    pub conditions: &'a [Proposition],
    pub columns: Vec<&'a [i32]>,
    /// The most conditions of a conjunction.
    pub most: usize,
}

/// The rows to choose for.
pub struct Batch<'a> {
    pub context: Conjunctions<'a>,
    pub action: Conjunctions<'a>,
    pub strata: &'a [i32],
    pub weights: Option<&'a [u64]>,
    pub targets: &'a [f64],
    /// Not 0 for rows with the default; without it, all rows have it.
    pub defaults: Option<&'a [u8]>,
}

#[derive(Clone, Debug)]
pub struct Options {
    /// The rows of the whole table, of which shares are.
    pub n_total: u64,
    /// The range of the target there, and its variance in each stratum.
    pub range: f64,
    pub variances: Vec<f64>,
    /// The fewest rows of a context.
    pub min_rows: u64,
    /// β by the number of conditions of the context, then of the action.
    pub betas: Vec<Vec<f64>>,
}

/// Every pair of a context and an action, and the rows that decide between them.
pub struct Enumeration {
    rows: Rows,
    contexts: Language,
    actions: Language,
    context_slots: Vec<Slot>,
    action_slots: Vec<ActionSlot>,
    options: Options,
    /// The largest tables, in numbers of eight lanes: of a slot of contexts, and of a single context.
    pub(crate) room: [usize; 2],
}

/// A context, an action and the conservative gain. Equal gains are told apart by the number of conditions, fewer first, then
/// by their numbers, the context's first.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    pub context: Vec<u32>,
    pub action: Vec<u32>,
    pub gain: f64,
}

/// What a call found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub best: Option<Pair>,
    pub n_pairs: u64,
    pub is_stopped: bool,
}

/// Tables of 1 MB stay in the cache. Those of one context may be larger, before its rows are passed over for each choice of an
/// action's first axis.
const ROOM: [usize; 2] = [1 << 14, 1 << 18];

/// Gains are compared as multiples of 2⁻³⁶ of the target's range, as the search compares values.
const STEPS: f64 = (1u64 << 36) as f64;

impl Enumeration {
    pub fn new(batch: &Batch, options: Options) -> Result<Enumeration, String> {
        let n_strata = options.variances.len();
        let is_number = |number: &f64| *number >= 0.0 && number.is_finite();
        if !options.variances.iter().all(is_number) {
            return Err("a variance is no number of 0 or more".to_string());
        }
        let most = [batch.context.most, batch.action.most];
        if most[0] > MOST || !(1..=MOST).contains(&most[1]) {
            return Err(format!(
                "{most:?} conditions; there may be {MOST}, and an action has one"
            ));
        }
        let is_complete = options.betas.len() > most[0] && options.betas.iter().all(|betas| betas.len() > most[1]);
        if !is_complete || !options.betas.iter().flatten().all(|beta| (0.0..=1000.0).contains(beta)) {
            return Err("betas are numbers between 0 and 1000 for each number of conditions".to_string());
        }
        let rows = Rows::new(
            batch.strata,
            batch.weights,
            batch.targets,
            batch.defaults,
            n_strata,
            options.range,
        )?;
        if options.n_total == 0 || rows.n(&rows.order) > options.n_total {
            return Err(format!("there are more rows than {} in all", options.n_total));
        }
        let language = |given: &Conjunctions| Language::new(given.conditions, &given.columns);
        let (contexts, actions) = (language(&batch.context)?, language(&batch.action)?);
        let mut context_slots = vec![Slot::new()];
        context_slots.extend(contexts.slots(most[0]));
        let action_slots = actions.slots(most[1]).into_iter().filter_map(ActionSlot::new);
        Ok(Enumeration {
            action_slots: action_slots.collect(),
            rows,
            contexts,
            actions,
            context_slots,
            room: ROOM,
            options: Options {
                min_rows: options.min_rows.max(1),
                variances: options
                    .variances
                    .iter()
                    .map(|v| v / options.range / options.range)
                    .collect(),
                ..options
            },
        })
    }

    /// The number of slots of contexts, the first without a condition: the work can be divided between them.
    pub fn n_slots(&self) -> usize {
        self.context_slots.len()
    }

    /// The best pair whose context has one of these slots, if its gain is at least `floor`. `stop` is read now and then:
    /// anything but 0 ends the call.
    pub fn best(&self, slots: Range<usize>, floor: f64, stop: &AtomicI32) -> Found {
        match self.rows.defaults {
            None => self.walk::<2>(slots, floor, stop),
            Some(_) => self.walk::<4>(slots, floor, stop),
        }
    }

    fn walk<const P: usize>(&self, slots: Range<usize>, floor: f64, stop: &AtomicI32) -> Found {
        let mut walk = Walk::<P>::new(self, floor, stop);
        let actions: Vec<&ActionSlot> = self.action_slots.iter().collect();
        for slot in &self.context_slots[slots] {
            walk.visit(&self.rows.order, Conditions::NONE, slot, &actions);
        }
        walk.found()
    }

    /// The gain of each action for everybody; not of those without a contrast.
    pub fn everybody(&self) -> Vec<Pair> {
        match self.rows.defaults {
            None => self.collect::<2>(),
            Some(_) => self.collect::<4>(),
        }
    }

    fn collect<const P: usize>(&self) -> Vec<Pair> {
        let stop = AtomicI32::new(0);
        let mut walk = Walk::<P>::new(self, f64::NEG_INFINITY, &stop).collecting();
        let actions: Vec<&ActionSlot> = self.action_slots.iter().collect();
        walk.visit(&self.rows.order, Conditions::NONE, &[], &actions);
        walk.collected()
    }
}
