//! The best pair of a context and an action, against a loop over all pairs, row by row.

use super::*;
use crate::bits::cpu::widths;
use crate::policy::{Batch, Conjunctions, Enumeration, Options, Pair};
use std::sync::atomic::AtomicI32;

struct Small {
    conditions: [Vec<Proposition>; 2],
    columns: [Vec<Vec<i32>>; 2],
    most: [usize; 2],
    strata: Vec<i32>,
    weights: Option<Vec<u64>>,
    targets: Vec<f64>,
    defaults: Option<Vec<u8>>,
    options: Options,
}

/// Columns with ≤ and ≥ at cuts, or with = for each code; codes from −1 on.
fn draw_columns(random: &mut Random, n: usize, most_codes: u64) -> (Vec<Proposition>, Vec<Vec<i32>>) {
    let (mut conditions, mut columns) = (Vec::new(), Vec::new());
    for column in 0..1 + random.below(3) as usize {
        let size = 1 + random.below(most_codes);
        let missing = i32::from(random.below(3) == 0);
        let code = |random: &mut Random| random.below(size + missing as u64) as i32 - missing;
        columns.push((0..n).map(|_| code(random)).collect());
        let last = size as i32 - 1;
        let mut add = |low, high| conditions.push(Proposition { column, low, high });
        match random.below(3) {
            0 => (0..=last).for_each(|code| add(code, code)),
            _ => (0..last).for_each(|code| {
                add(0, code);
                add(code + 1, last);
            }),
        }
    }
    // Numbers in no order.
    for i in (1..conditions.len()).rev() {
        conditions.swap(i, random.below(i as u64 + 1) as usize);
    }
    (conditions, columns)
}

fn draw(random: &mut Random, n: usize, most_codes: u64) -> Small {
    let n_strata = 1 + random.below(4) as usize;
    let (contexts, context_columns) = draw_columns(random, n, most_codes);
    let (actions, action_columns) = draw_columns(random, n, most_codes);
    let weights: Option<Vec<u64>> = (random.below(3) == 0).then(|| (0..n).map(|_| random.below(4)).collect());
    let n_levels = [1, 1, 4, 1000][random.below(4) as usize];
    let targets = (0..n)
        .map(|_| 3.0 - 5.0 * random.below(n_levels + 1) as f64 / n_levels as f64)
        .collect();
    let n_rows: u64 = weights.as_ref().map_or(n as u64, |weights| weights.iter().sum());
    let beta = |random: &mut Random| random.below(5) as f64 / 4.0;
    Small {
        conditions: [contexts, actions],
        columns: [context_columns, action_columns],
        most: [random.below(3) as usize, 1 + random.below(2) as usize],
        strata: (0..n).map(|_| random.below(n_strata as u64) as i32).collect(),
        weights,
        targets,
        defaults: (random.below(2) == 0).then(|| (0..n).map(|_| u8::from(random.below(3) > 0)).collect()),
        options: Options {
            n_total: n_rows.max(1) + random.below(9),
            range: 5.0 + random.below(2) as f64,
            variances: (0..n_strata).map(|_| random.below(9) as f64 / 2.0).collect(),
            min_rows: random.below(n as u64 / 3 + 1),
            betas: (0..3).map(|_| (0..3).map(|_| beta(random)).collect()).collect(),
        },
    }
}

impl Small {
    fn enumeration(&self) -> Enumeration {
        let conjunctions = |side: usize| Conjunctions {
            conditions: &self.conditions[side],
            columns: self.columns[side].iter().map(Vec::as_slice).collect(),
            most: self.most[side],
        };
        let batch = Batch {
            context: conjunctions(0),
            action: conjunctions(1),
            strata: &self.strata,
            weights: self.weights.as_deref(),
            targets: &self.targets,
            defaults: self.defaults.as_deref(),
        };
        Enumeration::new(&batch, self.options.clone()).unwrap()
    }

    fn holds(&self, side: usize, condition: u32, row: usize) -> bool {
        let Proposition { column, low, high } = self.conditions[side][condition as usize];
        let code = self.columns[side][column][row];
        code >= 0 && low <= code && code <= high
    }

    /// Every conjunction with the rows that satisfy it.
    fn conjunctions(&self, side: usize) -> Vec<(Vec<u32>, Vec<bool>)> {
        let conditions = &self.conditions[side];
        let all = 0..conditions.len() as u32;
        let mut found: Vec<Vec<u32>> = Vec::new();
        if side == 0 {
            found.push(Vec::new());
        }
        if self.most[side] > 0 {
            found.extend(all.clone().map(|one| vec![one]));
        }
        if self.most[side] > 1 {
            for (one, other) in all
                .clone()
                .flat_map(|one| (one + 1..all.end).map(move |other| (one, other)))
            {
                let [a, b] = [one, other].map(|condition| conditions[condition as usize]);
                let (low, high) = (a.low.max(b.low), a.high.min(b.high));
                let is_narrower = low <= high && ![(a.low, a.high), (b.low, b.high)].contains(&(low, high));
                if a.column != b.column || is_narrower {
                    found.push(vec![one, other]);
                }
            }
        }
        let rows = |conditions: &Vec<u32>| {
            let satisfies = |row| conditions.iter().all(|&condition| self.holds(side, condition, row));
            (0..self.strata.len()).map(satisfies).collect()
        };
        found
            .into_iter()
            .map(|conditions| (conditions.clone(), rows(&conditions)))
            .collect()
    }

    fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[row] as f64)
    }

    /// Count and sum of the rows of a stratum that satisfy all of some masks.
    fn count(&self, stratum: i32, masks: &[&[bool]]) -> (f64, f64) {
        let rows = (0..self.strata.len()).filter(|&row| self.strata[row] == stratum);
        let rows = rows.filter(|&row| masks.iter().all(|mask| mask[row]));
        rows.fold((0.0, 0.0), |(n, sum), row| {
            let weight = self.weight(row);
            (n + weight, sum + weight * self.targets[row])
        })
    }

    fn gain(&self, group: &[bool], action: &[bool], betas: f64) -> Option<f64> {
        let n_group: f64 = (0..group.len())
            .filter(|&row| group[row])
            .map(|row| self.weight(row))
            .sum();
        let has_default: Vec<bool> = match &self.defaults {
            Some(defaults) => defaults.iter().map(|&d| d != 0).collect(),
            None => vec![true; group.len()],
        };
        let (mut effect, mut variance, mut reach) = (0.0, 0.0, 0.0f64);
        for (stratum, &given) in self.options.variances.iter().enumerate() {
            let stratum = stratum as i32;
            let (n, sum) = self.count(stratum, &[group]);
            let (k, sum_action) = self.count(stratum, &[group, action]);
            let (k_default, sum_default) = self.count(stratum, &[group, &has_default]);
            let (both, _) = self.count(stratum, &[group, action, &has_default]);
            if k == 0.0 || k_default == 0.0 || (both == k && k == k_default) {
                continue;
            }
            let mean = sum / n;
            let squares = (0..group.len()).filter(|&row| group[row] && self.strata[row] == stratum);
            let squares: f64 = squares
                .map(|row| self.weight(row) * (self.targets[row] - mean).powi(2))
                .sum();
            let s2 = given.max(squares / n);
            let weight = n / n_group;
            effect += weight * ((sum_action + 2.0 * mean) / (k + 2.0) - (sum_default + 2.0 * mean) / (k_default + 2.0));
            if n >= 2.0 {
                let own = |k: f64| k * (1.0 - k / n) / (k + 2.0).powi(2);
                let common = (both - k * k_default / n) / ((k + 2.0) * (k_default + 2.0));
                variance += weight.powi(2) * s2 * n / (n - 1.0) * (own(k) + own(k_default) - 2.0 * common);
            }
            reach = reach.max(weight * self.options.range * (1.0 / (k + 2.0) + 1.0 / (k_default + 2.0)));
        }
        if reach == 0.0 {
            return None;
        }
        let offset = betas.powi(2) * reach / 6.0;
        let margin = offset + (offset * offset + betas.powi(2) * variance).sqrt();
        Some(n_group / self.options.n_total as f64 * (effect - margin))
    }

    /// All candidates, and the number of pairs tried.
    fn pairs(&self) -> (Vec<Pair>, u64) {
        let (mut found, mut n_pairs) = (Vec::new(), 0);
        for (context, group) in self.conjunctions(0) {
            let n: f64 = (0..group.len())
                .filter(|&row| group[row])
                .map(|row| self.weight(row))
                .sum();
            if n < self.options.min_rows.max(1) as f64 {
                continue;
            }
            for (action, rows) in self.conjunctions(1) {
                n_pairs += 1;
                let beta = self.options.betas[context.len()][action.len()];
                let context = context.clone();
                found.extend(
                    self.gain(&group, &rows, beta)
                        .map(|gain| Pair { context, action, gain }),
                );
            }
        }
        (found, n_pairs)
    }
}

/// In steps of the grid on which gains are compared.
fn steps(pair: &Pair, range: f64) -> f64 {
    pair.gain / range * (1u64 << 36) as f64
}

fn check(small: &Small, room: Option<[usize; 2]>) {
    let range = small.options.range;
    let mut enumeration = small.enumeration();
    enumeration.room = room.unwrap_or(enumeration.room);
    let never = AtomicI32::new(0);
    let (pairs, n_pairs) = small.pairs();
    let n_slots = enumeration.n_slots();
    let found = enumeration.best(0..n_slots, f64::NEG_INFINITY, &never);
    assert_eq!((found.n_pairs, found.is_stopped), (n_pairs, false));
    let order = |pair: &Pair| {
        let length = pair.context.len() + pair.action.len();
        (length, pair.context.clone(), pair.action.clone())
    };
    let largest = pairs.iter().map(|pair| pair.gain).fold(f64::NEG_INFINITY, f64::max);
    let Some(best) = found.best else {
        return assert!(pairs.is_empty());
    };
    let near = |pair: &&Pair| (pair.gain - largest).abs() < 1e-9 * range;
    let tied: Vec<&Pair> = pairs.iter().filter(near).collect();
    assert!(
        tied.iter().any(|pair| order(pair) == order(&best)),
        "{best:?} is not among {tied:?}"
    );
    assert!((best.gain - largest).abs() < 1e-9 * range);
    // Close to the edge between two steps, sums in another order may lie on its other side.
    let is_clear = |pair: &&Pair| (steps(pair, range).rem_euclid(1.0) - 0.5).abs() > 1e-2;
    if tied.iter().all(is_clear) {
        let step = |pair: &Pair| steps(pair, range).round();
        let highest = tied.iter().map(|pair| step(pair)).fold(f64::NEG_INFINITY, f64::max);
        let first = tied
            .iter()
            .filter(|pair| step(pair) == highest)
            .map(|pair| order(pair))
            .min();
        assert_eq!(first, Some(order(&best)));
    }
    // Slot by slot, with the best so far as floor, and with floors beside the best.
    let mut so_far: Option<Pair> = None;
    for slot in 0..n_slots {
        let floor = so_far.as_ref().map_or(f64::NEG_INFINITY, |pair| pair.gain);
        let next = enumeration.best(slot..slot + 1, floor, &never).best;
        let is_better = |next: &Pair| {
            let is_before = |best: &Pair| next.gain > best.gain || order(next) < order(best);
            so_far.as_ref().is_none_or(is_before)
        };
        so_far = next.filter(is_better).or(so_far);
    }
    assert_eq!(so_far.as_ref(), Some(&best));
    let [below, above] = [-1e-6, 1e-6].map(|more| enumeration.best(0..n_slots, best.gain + more, &never).best);
    assert_eq!((below, above), (Some(best), None));

    let for_all: Vec<&Pair> = pairs.iter().filter(|pair| pair.context.is_empty()).collect();
    let mut everybody = enumeration.everybody();
    assert_eq!(everybody.len(), for_all.len());
    everybody.sort_by_key(|pair| pair.action.clone());
    let mut expected = for_all;
    expected.sort_by_key(|pair| pair.action.clone());
    for (found, expected) in everybody.iter().zip(expected) {
        assert_eq!((&found.context, &found.action), (&expected.context, &expected.action));
        assert!(
            (found.gain - expected.gain).abs() < 1e-9 * range,
            "{found:?} is not {expected:?}"
        );
    }
}

#[test]
fn the_best_pair_is_that_of_a_loop_over_all_pairs() {
    let mut random = Random(71);
    for round in 0..400 {
        let n = [1, 5, 30, 60][round % 4];
        let small = draw(&mut random, n, [2, 4, 6][round / 4 % 3]);
        // In small tables as well, which are made for the rows of one choice at a time.
        let room = [None, Some([0, 1 << 20]), Some([20, 20]), Some([0, 0])][round % 5 % 4];
        check(&small, room);
    }
}

#[test]
fn gains_do_not_depend_on_the_width() {
    let mut random = Random(72);
    for _ in 0..40 {
        let small = draw(&mut random, 200, 6);
        widths::each(|| {
            let enumeration = small.enumeration();
            let never = AtomicI32::new(0);
            let best = enumeration.best(0..enumeration.n_slots(), f64::NEG_INFINITY, &never);
            (best, enumeration.everybody())
        });
    }
}
