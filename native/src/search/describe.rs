//! The shortest description of the rows that a rule covers; the first among the shortest. It depends on the rows alone, so
//! the result does not depend on how the rule was found.
//!
//! Any condition that holds on all of the rows may be used; together they must exclude every other row. Each other row thus
//! demands one of the conditions that exclude it: a hitting set. Few rows matter, so demands are added one by one: meet the
//! demands so far, find a row that is not yet excluded, add its demand, until there is none. A choice that is shortest for
//! some of the demands and valid for all is shortest for all.

use crate::bits::bitset::{is_empty, total};
use crate::rows::Rows;

/// The shortest conjunction of `candidates` propositions that covers the same rows as `conditions`, the first among the
/// shortest.
pub fn shortest(rows: &dyn Rows, candidates: &[u32], conditions: &[u32]) -> Vec<u32> {
    let width = rows.layout().width();
    let mut counts = Vec::new();
    rows.extension(conditions).counts(candidates, &mut counts);
    let (own, each) = counts.split_at(width);
    let implied = candidates.iter().zip(each.chunks(width));
    let implied: Vec<u32> = implied
        .filter(|(_, counts)| total(counts) == total(own))
        .map(|(&proposition, _)| proposition)
        .collect();
    let mut demands = Demands {
        n_conditions: implied.len(),
        all: Vec::new(),
        slots: 0,
        steps: 0,
    };
    loop {
        let solution = demands.first_shortest();
        let chosen: Vec<u32> = solution.iter().map(|&local| implied[local]).collect();
        match rows.demand(&chosen, &implied) {
            // Inconsistent remote rows: no choice could ever meet their demands.
            Some(demand) if !can_help(&demand, &solution, implied.len()) => return implied,
            Some(demand) => demands.all.push(demand),
            None => return chosen,
        }
    }
}

/// A set of conditions, as bits.
type Conditions = Vec<u64>;

fn contains(conditions: &Conditions, condition: usize) -> bool {
    conditions[condition / 64] >> (condition % 64) & 1 == 1
}

/// Does a demand name a condition, and none of those chosen?
fn can_help(demand: &Conditions, chosen: &[usize], n_conditions: usize) -> bool {
    demand.len() == n_conditions.div_ceil(64)
        && (0..n_conditions).any(|condition| contains(demand, condition))
        && !chosen.iter().any(|&condition| contains(demand, condition))
}

fn meet(x: &Conditions, y: &Conditions) -> bool {
    x.iter().zip(y).any(|(x, y)| x & y != 0)
}

struct Demands {
    n_conditions: usize,
    all: Vec<Conditions>,
    /// A lower bound on the number of conditions that meet them all.
    slots: usize,
    steps: usize,
}

/// Rules of a dozen interchangeable conditions could take exponential time. Beyond this limit a greedy choice is made: the
/// description stays correct, but may not be the shortest.
const MOST_STEPS: usize = 100_000;

impl Demands {
    /// The shortest set of conditions that meets all demands, and the first of those in order.
    fn first_shortest(&mut self) -> Vec<usize> {
        let all = std::mem::take(&mut self.all);
        let mut left: Vec<&Conditions> = all.iter().collect();
        let mut allowed = vec![u64::MAX; self.n_conditions.div_ceil(64)];
        while self.steps < MOST_STEPS && !self.can_be_met(&left, &mut allowed, self.slots) {
            self.slots += 1;
        }
        let mut slots = self.slots;
        let mut chosen = Vec::new();
        for condition in 0..self.n_conditions {
            if left.is_empty() || self.steps >= MOST_STEPS {
                break;
            }
            // With this condition and only later ones, can the remaining demands be met?
            allowed[condition / 64] &= !(1 << (condition % 64));
            let rest = without(&left, condition);
            if rest.len() < left.len() && self.can_be_met(&rest, &mut allowed, slots - 1) {
                chosen.push(condition);
                left = rest;
                slots -= 1;
            }
        }
        if self.steps >= MOST_STEPS {
            chosen = greedy(&all, self.n_conditions);
        }
        self.all = all;
        chosen
    }

    fn can_be_met(&mut self, demands: &[&Conditions], allowed: &mut Conditions, slots: usize) -> bool {
        self.steps += 1;
        if demands.is_empty() {
            return true;
        }
        if self.steps >= MOST_STEPS || needed(demands, allowed) > slots {
            return false;
        }
        let choices = |demand: &Conditions| -> u32 {
            let words = demand.iter().zip(allowed.iter());
            words.map(|(d, a)| (d & a).count_ones()).sum()
        };
        let tightest = demands.iter().min_by_key(|demand| choices(demand));
        let tightest = tightest.expect("there are demands");
        let before = allowed.clone();
        let mut met = false;
        for condition in 0..self.n_conditions {
            if contains(tightest, condition) && contains(&before, condition) {
                // All choices with this condition are tried here; the next ones need not try them again.
                allowed[condition / 64] &= !(1 << (condition % 64));
                met = self.can_be_met(&without(demands, condition), allowed, slots - 1);
                if met {
                    break;
                }
            }
        }
        *allowed = before;
        met
    }
}

fn without<'a>(demands: &[&'a Conditions], condition: usize) -> Vec<&'a Conditions> {
    let demands = demands.iter().copied();
    demands.filter(|d| !contains(d, condition)).collect()
}

/// Demands without a common condition need one condition each.
fn needed(demands: &[&Conditions], allowed: &Conditions) -> usize {
    let mut used = vec![0; allowed.len()];
    let mut count = 0;
    for demand in demands {
        let wanted: Conditions = demand.iter().zip(allowed).map(|(d, a)| d & a).collect();
        if is_empty(&wanted) {
            return usize::MAX;
        }
        if !meet(&wanted, &used) {
            for (used, wanted) in used.iter_mut().zip(&wanted) {
                *used |= wanted;
            }
            count += 1;
        }
    }
    count
}

/// Repeatedly takes the condition that meets most of the remaining demands, then drops redundant ones.
fn greedy(demands: &[Conditions], n_conditions: usize) -> Vec<usize> {
    let mut left: Vec<&Conditions> = demands.iter().collect();
    let mut chosen = Vec::new();
    while !left.is_empty() {
        let met = |&condition: &usize| left.iter().filter(|d| contains(d, condition)).count();
        let best = (0..n_conditions).rev().max_by_key(met);
        chosen.push(best.expect("a demand names a condition"));
        left = without(&left, chosen[chosen.len() - 1]);
    }
    for condition in chosen.clone() {
        let others: Vec<usize> = chosen.iter().copied().filter(|&c| c != condition).collect();
        if demands.iter().all(|d| others.iter().any(|&c| contains(d, c))) {
            chosen = others;
        }
    }
    chosen.sort_unstable();
    chosen
}
