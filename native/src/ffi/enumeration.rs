//! The best pair of a context and an action.

use super::border::{guard, reference, slice, slice_mut};
use super::table::propositions;
use crate::policy::{Batch, Conjunctions, Enumeration, Options, Pair};
use crate::table::Proposition;
use std::sync::atomic::AtomicI32;

/// Conditions and columns, as C sees them.
#[repr(C)]
pub struct ConjunctionsOf {
    n_conditions: usize,
    columns: *const u32,
    low: *const i32,
    high: *const i32,
    n_columns: usize,
    codes: *const *const i32,
    most: usize,
}

#[repr(C)]
pub struct EnumerationOptions {
    n_total: u64,
    range: f64,
    n_strata: usize,
    variances: *const f64,
    min_rows: u64,
    betas: *const f64,
}

#[repr(C)]
pub struct BestPair {
    is_found: i32,
    is_stopped: i32,
    n_context: u32,
    n_action: u32,
    context: [u32; 2],
    action: [u32; 2],
    gain: f64,
    n_pairs: u64,
}

impl ConjunctionsOf {
    /// SAFETY: the arrays are as long as it says, and each column holds `n_rows` codes.
    unsafe fn conditions(&self) -> Result<Vec<Proposition>, String> {
        let columns = slice(self.columns, self.n_conditions, "columns")?;
        let low = slice(self.low, self.n_conditions, "low")?;
        let high = slice(self.high, self.n_conditions, "high")?;
        let conditions = propositions(columns, low, high);
        match conditions.iter().find(|condition| condition.column >= self.n_columns) {
            Some(condition) => Err(format!("no column {} among {}", condition.column, self.n_columns)),
            None => Ok(conditions),
        }
    }

    /// SAFETY: as above.
    unsafe fn with<'a>(&self, conditions: &'a [Proposition], n_rows: usize) -> Result<Conjunctions<'a>, String> {
        let codes = slice(self.codes, self.n_columns, "codes")?;
        let columns: Result<_, _> = codes.iter().map(|&codes| slice(codes, n_rows, "codes")).collect();
        Ok(Conjunctions {
            conditions,
            columns: columns?,
            most: self.most,
        })
    }
}

fn numbers(conditions: &[u32]) -> [u32; 2] {
    std::array::from_fn(|number| conditions.get(number).copied().unwrap_or(0))
}

/// # Safety
/// The arrays of `context` and `action` are as long as they say, and hold `n_rows` codes in each column, as all other
/// arrays; null for no weights, or no default. `options` has a variance for each stratum and a β for each number of
/// conditions of a context, from 0 to the most, and of an action.
#[no_mangle]
pub unsafe extern "C" fn cr_enumeration_new(
    context: *const ConjunctionsOf,
    action: *const ConjunctionsOf,
    n_rows: usize,
    strata: *const i32,
    weights: *const u64,
    targets: *const f64,
    defaults: *const u8,
    options: *const EnumerationOptions,
) -> *mut Enumeration {
    guard(std::ptr::null_mut(), || {
        let (context, action) = (reference(context, "context")?, reference(action, "action")?);
        let options = reference(options, "options")?;
        let [of_context, of_action] = [context.conditions()?, action.conditions()?];
        let weights = match weights.is_null() {
            true => None,
            false => Some(slice(weights, n_rows, "weights")?),
        };
        let defaults = match defaults.is_null() {
            true => None,
            false => Some(slice(defaults, n_rows, "defaults")?),
        };
        let batch = Batch {
            context: context.with(&of_context, n_rows)?,
            action: action.with(&of_action, n_rows)?,
            strata: slice(strata, n_rows, "strata")?,
            weights,
            targets: slice(targets, n_rows, "targets")?,
            defaults,
        };
        let lengths = [context.most, action.most].map(|most| most.saturating_add(1));
        let betas = slice(options.betas, lengths[0].saturating_mul(lengths[1]), "betas")?;
        let options = Options {
            n_total: options.n_total,
            range: options.range,
            variances: slice(options.variances, options.n_strata, "variances")?.to_vec(),
            min_rows: options.min_rows,
            betas: betas.chunks(lengths[1]).map(<[f64]>::to_vec).collect(),
        };
        Ok(Box::into_raw(Box::new(Enumeration::new(&batch, options)?)))
    })
}

/// # Safety
/// `enumeration` came from `cr_enumeration_new`.
#[no_mangle]
pub unsafe extern "C" fn cr_enumeration_slots(enumeration: *const Enumeration) -> i64 {
    guard(-1, || Ok(reference(enumeration, "enumeration")?.n_slots() as i64))
}

/// # Safety
/// `enumeration` came from `cr_enumeration_new`; `stop` is null or points to a number that others may write meanwhile;
/// `found` has room for a pair.
#[no_mangle]
pub unsafe extern "C" fn cr_enumeration_best(
    enumeration: *const Enumeration,
    first: usize,
    last: usize,
    floor: f64,
    stop: *mut i32,
    found: *mut BestPair,
) -> i32 {
    guard(-1, || {
        let enumeration = reference(enumeration, "enumeration")?;
        if first > last || last > enumeration.n_slots() || floor.is_nan() {
            let n_slots = enumeration.n_slots();
            return Err(format!("slots {first} to {last} of {n_slots}, floor = {floor}"));
        }
        let never = AtomicI32::new(0);
        let stop = match slice(stop, usize::from(!stop.is_null()), "stop")? {
            [] => &never,
            _ => AtomicI32::from_ptr(stop),
        };
        let found = slice_mut(found, 1, "found")?;
        let best = enumeration.best(first..last, floor, stop);
        let pair = best.best.as_ref();
        let (context, action) = pair.map_or((&[][..], &[][..]), |pair| (&pair.context[..], &pair.action[..]));
        found[0] = BestPair {
            is_found: i32::from(pair.is_some()),
            is_stopped: i32::from(best.is_stopped),
            n_context: context.len() as u32,
            n_action: action.len() as u32,
            context: numbers(context),
            action: numbers(action),
            gain: pair.map_or(f64::NAN, |pair| pair.gain),
            n_pairs: best.n_pairs,
        };
        Ok(0)
    })
}

/// # Safety
/// `enumeration` came from `cr_enumeration_new`; the arrays have room for `capacity` numbers, `conditions` for twice as
/// many.
#[no_mangle]
pub unsafe extern "C" fn cr_enumeration_everybody(
    enumeration: *const Enumeration,
    gains: *mut f64,
    lengths: *mut usize,
    conditions: *mut u32,
    capacity: usize,
) -> i64 {
    guard(-1, || {
        let pairs: Vec<Pair> = reference(enumeration, "enumeration")?.everybody();
        if pairs.len() > capacity {
            return Ok(pairs.len() as i64);
        }
        let gains = slice_mut(gains, capacity, "gains")?;
        let lengths = slice_mut(lengths, capacity, "lengths")?;
        let conditions = slice_mut(conditions, capacity.saturating_mul(2), "conditions")?;
        let room = gains.iter_mut().zip(lengths).zip(conditions.chunks_mut(2));
        for (pair, ((gain, length), conditions)) in pairs.iter().zip(room) {
            *gain = pair.gain;
            *length = pair.action.len();
            conditions.copy_from_slice(&numbers(&pair.action));
        }
        Ok(pairs.len() as i64)
    })
}

/// # Safety
/// `enumeration` is null or came from `cr_enumeration_new` and is not used again.
#[no_mangle]
pub unsafe extern "C" fn cr_enumeration_free(enumeration: *mut Enumeration) {
    if !enumeration.is_null() {
        drop(Box::from_raw(enumeration));
    }
}
