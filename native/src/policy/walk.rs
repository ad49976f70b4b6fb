//! Goes through the pairs of slots, and keeps the best pair.

use super::gain::{exceed, margin, Group, Stratum, SLACK};
use super::language::{Axis, Choice, Conditions};
use super::rows::{Cells, Sums};
use super::sums::{between, difference, fill, ActionSlot, Shape};
use super::{Enumeration, Found, Pair, STEPS};
use crate::bits::cpu::{vectorised, Task, Vector};
use crate::bits::lanes::LANES;
use crate::score::Numbers;
use std::sync::atomic::{AtomicI32, Ordering};

/// Below any gain, in steps.
const LOWEST: f64 = -1e30;

/// The best pair so far, or all pairs.
struct Best {
    /// In steps.
    goal: f64,
    pair: Option<(Conditions, Conditions)>,
    all: Option<Vec<Pair>>,
    range: f64,
}

impl Best {
    /// What an effect in the group must exceed by its margin; gains are rounded to steps.
    #[inline(always)]
    fn least(&self, group: &Group) -> f64 {
        (self.goal - 0.5) / STEPS / group.share - SLACK
    }

    fn named(&self, (context, action): (Conditions, Conditions), gain: f64) -> Pair {
        Pair {
            context: context.as_slice().to_vec(),
            action: action.as_slice().to_vec(),
            gain: gain / STEPS * self.range,
        }
    }

    #[cold]
    #[inline(never)]
    fn consider(&mut self, group: &Group, action: Conditions, beta: f64, [effect, variance, reach]: [f64; 3]) {
        let gain = (group.share * (effect - margin(beta, variance, reach)) * STEPS).round();
        let pair = (group.conditions, action);
        if self.all.is_some() {
            let pair = self.named(pair, gain);
            self.all.iter_mut().for_each(|all| all.push(pair.clone()));
            return;
        }
        let order = |(context, action): &(Conditions, Conditions)| {
            let [context, action] = [context, action].map(|conditions| conditions.as_slice().to_vec());
            (context.len() + action.len(), context, action)
        };
        let is_first = |other: &(Conditions, Conditions)| order(&pair) < order(other);
        if gain > self.goal || (gain == self.goal && self.pair.as_ref().is_none_or(is_first)) {
            self.goal = gain;
            self.pair = Some(pair);
        }
    }
}

/// Buffers.
#[derive(Default)]
struct Room<const P: usize> {
    by_cell: Vec<[f64; P]>,
    sums: Vec<Numbers>,
    of_choice: Vec<Numbers>,
    of_group: Vec<Numbers>,
    /// Counts, counts with the default, and 1/(k + κ), stratum by stratum.
    kept: Vec<[Numbers; 3]>,
}

/// The contexts with a choice on each of two axes; None has too few rows.
struct Groups {
    choices: [Vec<Choice>; 2],
    n_cells: [usize; 2],
    groups: Vec<Option<Group>>,
    strata: Vec<Stratum>,
    n_allowed: u64,
}

impl Groups {
    fn new<const P: usize>(all: &Enumeration, conditions: Conditions, axes: &[Axis], cells: &Cells<P>) -> Groups {
        let choices = |axis: usize| {
            axes.get(axis)
                .map_or_else(|| vec![Choice::ANY], |axis| axis.choices.clone())
        };
        let n_cells = [0, 1].map(|axis| axes.get(axis).map_or(1, |axis| axis.n_cells));
        let n_strata = all.options.variances.len();
        // Up to each cell, the first of each axis before all others.
        let width = n_cells[1] + 1;
        let place = |one: usize, other: usize| (one * width + other) * n_strata;
        let mut sums = vec![Sums::default(); place(n_cells[0] + 1, 0)];
        for (run, of_run) in cells.runs.iter().zip(&cells.sums) {
            sums[place(run.cell / n_cells[1] + 1, run.cell % n_cells[1] + 1) + run.stratum] = *of_run;
        }
        for step in [n_strata, place(1, 0)] {
            for at in step..sums.len() {
                sums[at] = sums[at].plus(sums[at - step]);
            }
        }
        let mut found = Groups {
            choices: [choices(0), choices(1)],
            n_cells,
            groups: Vec::new(),
            strata: Vec::new(),
            n_allowed: 0,
        };
        let mut here = vec![Sums::default(); n_strata];
        for one in choices(0) {
            for other in choices(1) {
                for (stratum, here) in here.iter_mut().enumerate() {
                    let at = |x: usize, y: usize| sums[place(x, y) + stratum];
                    let without = at(one.from, other.to).plus(at(one.to, other.from));
                    *here = at(one.to, other.to).plus(at(one.from, other.from)).minus(without);
                }
                let conditions = conditions.and(one.conditions).and(other.conditions);
                found.add(all, conditions, &here);
            }
        }
        found
    }

    fn add(&mut self, all: &Enumeration, conditions: Conditions, sums: &[Sums]) {
        let n: u64 = sums.iter().map(|sums| sums.n).sum();
        if n < all.options.min_rows {
            return self.groups.push(None);
        }
        let (unit, first) = (all.rows.unit, self.strata.len());
        let here = sums.iter().zip(&all.options.variances).enumerate();
        let here = here.filter(|(_, (sums, _))| sums.n_default > 0);
        let stratum = |(number, (sums, &variance))| Stratum::new(number, sums, n as f64, variance, unit);
        self.strata.extend(here.map(stratum));
        self.n_allowed += 1;
        self.groups.push(Some(Group {
            conditions,
            share: n as f64 / all.options.n_total as f64,
            most: self.strata[first..]
                .iter()
                .map(|stratum| stratum.most(1.0 / unit))
                .sum(),
            first,
            last: self.strata.len(),
        }));
    }
}

/// P is 2 if all rows have the default, else 4.
pub struct Walk<'a, const P: usize> {
    all: &'a Enumeration,
    stop: &'a AtomicI32,
    best: Best,
    n_pairs: u64,
    room: Room<P>,
}

impl<'a, const P: usize> Walk<'a, P> {
    pub fn new(all: &'a Enumeration, floor: f64, stop: &'a AtomicI32) -> Walk<'a, P> {
        let range = all.options.range;
        Walk {
            all,
            stop,
            best: Best {
                goal: (floor / range * STEPS).round().max(LOWEST),
                pair: None,
                all: None,
                range,
            },
            n_pairs: 0,
            room: Room::default(),
        }
    }

    /// Collects all pairs, in place of the best.
    pub fn collecting(mut self) -> Walk<'a, P> {
        self.best.all = Some(Vec::new());
        self
    }

    pub fn collected(self) -> Vec<Pair> {
        self.best.all.unwrap_or_default()
    }

    pub fn found(self) -> Found {
        Found {
            best: self.best.pair.map(|pair| self.best.named(pair, self.best.goal)),
            n_pairs: self.n_pairs,
            is_stopped: self.is_stopped(),
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) != 0
    }

    /// Tries the contexts of these axes among some rows, with the actions of these slots.
    pub fn visit(&mut self, rows: &[u32], conditions: Conditions, axes: &[Axis], actions: &[&ActionSlot]) {
        let all = self.all;
        if all.rows.n(rows) < all.options.min_rows || self.is_stopped() {
            return;
        }
        let n_cells: usize = axes.iter().map(|axis| axis.n_cells).product();
        let limit = all.room[usize::from(axes.is_empty())];
        let fits = |action: &&&ActionSlot| n_cells.saturating_mul(self.shape(action).context()) <= limit;
        let (together, apart): (Vec<&ActionSlot>, Vec<&ActionSlot>) = actions.iter().partition(fits);
        if !together.is_empty() {
            let cells = Cells::new(&all.rows, rows, &all.contexts, axes, &all.actions);
            let groups = Groups::new(all, conditions, axes, &cells);
            for action in together {
                self.sweep(&cells, &groups, action, Conditions::NONE);
            }
        }
        if apart.is_empty() {
            return;
        }
        let Some((axis, others)) = axes.split_first() else {
            return self.visit_apart(rows, conditions, &apart);
        };
        for choice in &axis.choices {
            let rows = within(rows, all.contexts.cells(axis.column), choice);
            self.visit(&rows, conditions.and(choice.conditions), others, &apart);
        }
    }

    /// The same for one context, and slots of actions with too many cells.
    fn visit_apart(&mut self, rows: &[u32], conditions: Conditions, actions: &[&ActionSlot]) {
        let all = self.all;
        let cells = Cells::<P>::new(&all.rows, rows, &all.contexts, &[], &all.actions);
        let groups = Groups::new(all, conditions, &[], &cells);
        for action in actions {
            let lanes = ActionSlot {
                rows: None,
                lanes: action.lanes.clone(),
            };
            match &action.rows {
                Some(axis) => {
                    for choice in &axis.choices {
                        let rows = within(rows, all.actions.cells(axis.column), choice);
                        let cells = Cells::new(&all.rows, &rows, &all.contexts, &[], &all.actions);
                        self.sweep(&cells, &groups, &lanes, choice.conditions);
                    }
                }
                None => self.sweep(&cells, &groups, &lanes, Conditions::NONE),
            }
        }
    }

    fn shape(&self, action: &ActionSlot) -> Shape {
        let n_planes = if P == 2 { 2 } else { 3 };
        action.shape(self.all.options.variances.len(), n_planes)
    }

    /// Tries all actions of a slot, with these conditions besides, in all groups.
    fn sweep(&mut self, cells: &Cells<P>, groups: &Groups, action: &ActionSlot, conditions: Conditions) {
        if self.is_stopped() {
            return;
        }
        self.n_pairs += groups.n_allowed * action.n_actions() as u64;
        vectorised(Sweep {
            cells,
            groups,
            action,
            shape: self.shape(action),
            conditions,
            betas: &self.all.options.betas,
            stop: self.stop,
            best: &mut self.best,
            room: &mut self.room,
        });
    }
}

/// The rows with one of the chosen cells.
fn within(rows: &[u32], cells: &[u16], choice: &Choice) -> Vec<u32> {
    let is_within = |row: &&u32| (choice.from..choice.to).contains(&usize::from(cells[**row as usize]));
    rows.iter().filter(is_within).copied().collect()
}

struct Sweep<'a, const P: usize> {
    cells: &'a Cells<P>,
    groups: &'a Groups,
    action: &'a ActionSlot,
    shape: Shape,
    conditions: Conditions,
    betas: &'a [Vec<f64>],
    stop: &'a AtomicI32,
    best: &'a mut Best,
    room: &'a mut Room<P>,
}

impl<const P: usize> Task for Sweep<'_, P> {
    type Answer = ();

    #[inline(always)]
    fn run(self, _: impl Vector) {
        let Sweep {
            groups, shape, best, ..
        } = self;
        let Room {
            by_cell,
            sums,
            of_choice,
            of_group,
            kept,
        } = self.room;
        fill(sums, by_cell, self.cells, self.action, shape, groups.n_cells);
        kept.resize(shape.n_strata, [[0.0; LANES]; 3]);
        let rows = self.action.row_choices();
        let block = shape.context();
        let lines = groups.groups.chunks(groups.choices[1].len());
        for (one, line) in groups.choices[0].iter().zip(lines) {
            if line.iter().all(Option::is_none) {
                continue;
            }
            if self.stop.load(Ordering::Relaxed) != 0 {
                return;
            }
            let of_choice = between(sums, one, groups.n_cells[1] * block, of_choice);
            for (other, group) in groups.choices[1].iter().zip(line) {
                let Some(group) = group else {
                    continue;
                };
                if group.most < best.least(group) {
                    continue;
                }
                let of_group = between(of_choice, other, block, of_group);
                let look = Look {
                    sums: of_group,
                    shape,
                    group,
                    strata: &groups.strata[group.first..group.last],
                    betas: &self.betas[group.conditions.as_slice().len()],
                    has_default: P != 2,
                };
                for row in &rows {
                    let conditions = self.conditions.and(row.conditions);
                    look.at(row, conditions, &self.action.lanes.choices, best, kept);
                }
            }
        }
    }
}

/// The actions of one context.
struct Look<'a> {
    sums: &'a [Numbers],
    shape: Shape,
    group: &'a Group,
    strata: &'a [Stratum],
    betas: &'a [f64],
    has_default: bool,
}

impl Look<'_> {
    fn beta(&self, conditions: Conditions, choice: &Choice) -> f64 {
        self.betas[conditions.as_slice().len() + choice.conditions.as_slice().len()]
    }

    /// Eight by eight, first their effects, then, if one is large enough, their margins.
    #[inline(always)]
    fn at(&self, row: &Choice, conditions: Conditions, lanes: &[Choice], best: &mut Best, kept: &mut [[Numbers; 3]]) {
        let Look { sums, shape, .. } = self;
        for (eight, choices) in lanes.chunks(LANES).enumerate() {
            let mut effect = [0.0; LANES];
            for (stratum, kept) in self.strata.iter().zip(kept.iter_mut()) {
                let first = stratum.number * shape.stratum() + eight;
                let [high, low] = [row.to, row.from].map(|row| first + row * shape.row());
                let plane = |plane: usize| {
                    let plane = plane * shape.n_lanes;
                    difference(&sums[high + plane], &sums[low + plane])
                };
                let [k, both, share] = kept;
                *k = plane(0);
                *both = if self.has_default { plane(2) } else { *k };
                stratum.effects(k, &plane(1), both, &mut effect, share);
            }
            let least = best.least(self.group);
            if effect.iter().all(|&effect| effect < least) {
                continue;
            }
            let [mut variance, mut reach] = [[0.0; LANES]; 2];
            for (stratum, [k, both, share]) in self.strata.iter().zip(kept.iter()) {
                stratum.margins(k, both, share, &mut variance, &mut reach);
            }
            // Intervals of one column, two conditions, come after single conditions.
            let beta = |choice: Option<&Choice>| choice.map_or(f64::MAX, |choice| self.beta(conditions, choice));
            let beta = beta(choices.first()).min(beta(choices.last()));
            let exceeds = exceed(beta, least, &effect, &variance, &reach);
            for (lane, choice) in choices.iter().enumerate().filter(|(lane, _)| exceeds[*lane]) {
                let beta = self.beta(conditions, choice);
                let numbers = [effect[lane], variance[lane], reach[lane]];
                best.consider(self.group, conditions.and(choice.conditions), beta, numbers);
            }
        }
    }
}
