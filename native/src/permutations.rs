//! The largest ratio of effect to margin in each of many tables that differ only in a binary outcome: the same ratios that
//! a search of each table would find.
//!
//! Permutation tests need this: the same rows, with the outcomes permuted within each stratum. The rows that a rule covers
//! are the same in all tables, and so are its covered rows by stratum, their null means and variances. One walk over the
//! rules serves all tables. A branch is *active* in the tables in which a rule below it can still reach the goal, and is
//! pruned when it is active in none. Outcomes stand eight by eight: one pass over a rule's rows counts them in eight
//! tables.
//!
//! The walk differs from [`crate::search`]: it has one goal for each table, no cores, ties or frontier, and goes
//! depth-first. It shares the candidate filter, the projection of tables, counting eight sets at a time and the bounds of
//! the pooled estimator.
//!
//! Conditions that hold on the same rows need not be told apart, nor a rule from its shortest description: the margin does
//! not fall with the number of conditions, so no description has a larger ratio than the shortest.

use crate::bits::bitset;
use crate::bits::cpu::{vectorised, Task, Vector};
use crate::bits::lanes::{Counting, Lanes, LANES};
use crate::rows::local::Local;
use crate::score::{Boxes, Known, Limits, Numbers, Pooled};
use crate::search::candidate_filter::candidate_conditions;
use crate::table::layout::{Layout, Sides};
use crate::table::Table;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One table for each bit of a word.
pub const MOST: usize = 64;
/// Rows in no more than this many words are not packed.
const FEW_WORDS: usize = 8;
/// The cost of a bound for each count, relative to comparing a word.
const BOUND_WORK: usize = 16;
/// A subset of the tables, as bits.
type Active = u64;

pub struct Options {
    /// The last `n_outcomes` propositions of the table are the outcomes.
    pub n_outcomes: usize,
    pub max_length: usize,
    pub min_rows: u64,
    /// Ratios below this are ignored.
    pub least: f64,
    /// The limit on work, see [`Permutations::step`].
    pub most_work: u64,
}

/// The state of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    Underway,
    Done,
    /// It would exceed the limit on work.
    GivenUp,
}

pub struct Permutations {
    pooled: Pooled,
    /// See [`Pooled::most_by_outcomes`].
    most: Vec<Vec<f64>>,
    options: Options,
    layout: Arc<Layout>,
    /// For each table, the goal: the largest ratio so far.
    goals: [f64; MOST],
    /// The tables in which a rule has reached the goal.
    reached: Active,
    branches: Vec<Branch>,
    /// The number of words of rows, and of counts of a rule, compared with those of eight tables. It depends on the tables
    /// alone, not on the machine or its load.
    work: u64,
}

/// A subset of the rows, with their outcomes.
struct Sample {
    /// The propositions after the conditions are the outcomes.
    table: Arc<Table>,
    n_conditions: usize,
    /// The outcomes, eight by eight; in each block, word by word.
    blocks: Vec<Vec<Lanes>>,
}

/// A rule to expand.
struct Branch {
    sample: Arc<Sample>,
    /// The rows of the rule without its last condition.
    parent: Arc<Vec<u64>>,
    /// The index of its last condition in the family; those after it may follow. All of them at the root.
    last: Option<usize>,
    family: Arc<Vec<Candidate>>,
    length: usize,
}

/// A condition, by its number in the sample, and the tables in which it may still help.
#[derive(Clone, Copy)]
struct Candidate {
    condition: u32,
    active: Active,
}

/// The layout of the tables, if it is the same in all of them.
pub fn layout(table: &Table, n_outcomes: usize) -> Result<Layout, String> {
    let rows = &table.layout;
    let is_stratum = |cells: &[u64]| cells.len() == 2 && cells[1] == 0;
    let are_strata = !rows.all.is_empty() && rows.all.chunks(2).all(is_stratum);
    if matches!(rows.sides, Sides::Reference(_)) || !are_strata {
        return Err("the rows of many tables are all of level 0, and compared with all others".to_string());
    }
    let last = table.propositions.len() - n_outcomes..table.propositions.len();
    let mut layouts = last.map(|outcome| {
        let mut counts = vec![0; rows.width()];
        table.count(&table.all, table.proposition(outcome), &mut counts);
        let pairs = rows.all.iter().zip(&counts).step_by(2);
        let all = pairs.flat_map(|(n, positive)| [n - positive, *positive]);
        Layout::new(2, all.collect(), rows.sides.clone())
    });
    let first = layouts.next().ok_or("no outcome")?;
    match layouts.all(|other| other == first) {
        true => Ok(first),
        false => Err("the outcomes differ in their number in a stratum".to_string()),
    }
}

impl Sample {
    fn new(table: Arc<Table>, n_conditions: usize) -> Sample {
        let outcomes: Vec<usize> = (n_conditions..table.propositions.len()).collect();
        let blocks = outcomes.chunks(LANES).map(|outcomes| {
            let mut block = vec![[0; LANES]; table.words];
            for (lane, &outcome) in outcomes.iter().enumerate() {
                for (lanes, &word) in block.iter_mut().zip(table.proposition(outcome)) {
                    lanes[lane] = word;
                }
            }
            block
        });
        Sample {
            blocks: blocks.collect(),
            table,
            n_conditions,
        }
    }

    /// The same for a subset of rows and conditions.
    fn project(&self, rows: &[u64], candidates: &[Candidate]) -> Sample {
        let outcomes = self.n_conditions as u32..self.table.propositions.len() as u32;
        let conditions = candidates.iter().map(|candidate| candidate.condition);
        let kept: Vec<u32> = conditions.chain(outcomes).collect();
        let table = self.table.project(rows, &kept, |_| None);
        Sample::new(Arc::new(table), candidates.len())
    }
}

impl Branch {
    /// The conditions that may follow.
    fn candidates(&self) -> Vec<Candidate> {
        let Some(last) = self.last else {
            return self.family.to_vec();
        };
        let propositions = &self.sample.table.propositions;
        let this = &propositions[self.family[last].condition as usize];
        let after = self.family[last + 1..].iter().filter_map(|other| {
            let that = &propositions[other.condition as usize];
            let is_needless = this.is_needless_beside(that);
            let active = self.family[last].active & other.active;
            (!is_needless && active != 0).then_some(Candidate { active, ..*other })
        });
        after.collect()
    }

    /// The rows of the rule and the conditions that may follow, in their sample. Few rows are packed.
    fn open(self) -> Option<(Arc<Sample>, Vec<u64>, Vec<Candidate>)> {
        let mut candidates = self.candidates();
        if candidates.is_empty() {
            return None;
        }
        let table = &self.sample.table;
        let mut rows = Vec::clone(&self.parent);
        if let Some(last) = self.last {
            let last = self.family[last].condition;
            bitset::intersect(&mut rows, table.proposition(last as usize));
        }
        let is_sparse = bitset::size(&rows) < 16 * table.words as u64;
        if !(is_sparse && table.words > FEW_WORDS && candidates.len() >= LANES) {
            return Some((self.sample, rows, candidates));
        }
        let sample = self.sample.project(&rows, &candidates);
        for (number, candidate) in candidates.iter_mut().enumerate() {
            candidate.condition = number as u32;
        }
        let rows = sample.table.all.clone();
        Some((Arc::new(sample), rows, candidates))
    }
}

impl Permutations {
    /// All rows of the table have level 0, so that its cells are strata.
    pub fn new(table: Arc<Table>, pooled: Pooled, options: Options) -> Permutations {
        let n_conditions = table.propositions.len() - options.n_outcomes;
        let active = Active::MAX >> (MOST - options.n_outcomes);
        let usable = candidate_conditions(&Local::new(table.clone()), None);
        let usable = usable.into_iter().filter(|&c| (c as usize) < n_conditions);
        let root = Branch {
            parent: Arc::new(table.all.clone()),
            last: None,
            family: Arc::new(usable.map(|condition| Candidate { condition, active }).collect()),
            length: 0,
            sample: Arc::new(Sample::new(table.clone(), n_conditions)),
        };
        Permutations {
            most: pooled.most_by_outcomes(),
            pooled,
            goals: [options.least; MOST],
            options,
            layout: table.layout.clone(),
            reached: 0,
            branches: vec![root],
            work: 0,
        }
    }

    /// Continues for about this long.
    pub fn step(&mut self, time: Duration) -> Walk {
        let end = Instant::now().checked_add(time);
        while let Some(branch) = self.branches.pop() {
            self.expand(branch);
            if self.work > self.options.most_work {
                return Walk::GivenUp;
            }
            if end.is_some_and(|end| Instant::now() >= end) {
                break;
            }
        }
        match self.branches.is_empty() {
            true => Walk::Done,
            false => Walk::Underway,
        }
    }

    /// For each table, the largest ratio if it reaches the goal.
    pub fn ratios(&self) -> impl Iterator<Item = Option<f64>> + '_ {
        let each = self.goals.iter().take(self.options.n_outcomes).enumerate();
        each.map(|(table, &goal)| (self.reached >> table & 1 == 1).then_some(goal))
    }

    fn expand(&mut self, branch: Branch) {
        let length = branch.length + 1;
        let Some((sample, rows, candidates)) = branch.open() else {
            return;
        };
        let rows = Arc::new(rows);
        let table = &sample.table;
        let width = self.layout.width();
        let [mut own, mut counts] = [vec![0; width], vec![0; width]];
        table.count(&rows, &rows, &mut own);
        let mut child = vec![0; table.words];
        let mut outcomes = vec![[0; LANES]; width];
        let mut open = Vec::new();
        for Candidate { condition, active } in candidates {
            let proposition = table.proposition(condition as usize);
            for ((child, row), other) in child.iter_mut().zip(rows.iter()).zip(proposition) {
                *child = row & other;
            }
            table.count(&child, &child, &mut counts);
            // With the same rows and one more condition, a rule has no higher value.
            if self.layout.n_covered(&counts) < self.options.min_rows.max(1) || counts == own {
                continue;
            }
            let active = self.judge(&sample, &child, &counts, &mut outcomes, length, active);
            if active != 0 {
                open.push(Candidate { condition, active });
            }
        }
        let family = Arc::new(open);
        self.branches.extend((0..family.len()).map(|last| Branch {
            sample: sample.clone(),
            parent: rows.clone(),
            last: Some(last),
            family: family.clone(),
            length,
        }));
    }

    /// Records the value of a rule in the active tables; returns those in which a rule with more conditions can reach the
    /// goal.
    fn judge(
        &mut self,
        sample: &Sample,
        rows: &[u64],
        counts: &[u64],
        outcomes: &mut [Lanes],
        length: usize,
        active: Active,
    ) -> Active {
        let room = self.options.max_length - length;
        let least = self.options.least;
        let fails = self.layout.n_failing(counts) > 0;
        let rule = fails.then(|| self.pooled.known(counts, length)).flatten();
        let rule = rule.filter(|rule| self.pooled.largest_ratio(rule, counts) >= least);
        if rule.is_none() && room == 0 {
            return 0;
        }
        let n_blocks = (0..MOST / LANES).filter(|block| active >> (block * LANES) & 0xff != 0);
        self.work += (n_blocks.count() * (rows.len() + counts.len())) as u64;
        let open = vectorised(Look {
            sample,
            pooled: &self.pooled,
            most: &self.most,
            rows,
            outcomes,
            rule,
            below: (room > 0).then_some(length + 1),
            active,
            goals: &mut self.goals,
            reached: &mut self.reached,
        });
        // A bound costs more than valuing all rules with one more condition.
        if room < 2 {
            return open;
        }
        self.can_reach(sample, rows, counts, outcomes, length + 1, open)
    }

    /// The tables in which a rule below one with these counts can reach the goal.
    fn can_reach(
        &mut self,
        sample: &Sample,
        rows: &[u64],
        counts: &[u64],
        outcomes: &mut [Lanes],
        length: usize,
        active: Active,
    ) -> Active {
        let low = vec![0; counts.len()];
        let mut high = vec![vec![0; counts.len()]; LANES];
        let mut boxes = Boxes::new(&self.pooled);
        let (mut open, mut work) = (0, 0);
        for (number, block) in sample.blocks.iter().enumerate() {
            let first = number * LANES;
            let lanes: Vec<usize> = bits(active >> first & 0xff).collect();
            if lanes.is_empty() {
                continue;
            }
            let segments = &sample.table.segments;
            vectorised(Counting {
                rows,
                block,
                segments,
                counts: &mut *outcomes,
            });
            let mut scales = [0.0; LANES];
            for (number, &lane) in lanes.iter().enumerate() {
                scales[number] = self.goals[first + lane];
                for cell in (0..counts.len()).step_by(2) {
                    let positive = outcomes[cell][lane];
                    high[number][cell] = counts[cell] - positive;
                    high[number][cell + 1] = positive;
                }
            }
            let limits = high.iter().take(lanes.len());
            let limits: Vec<Limits> = limits.map(|high| Limits { low: &low, high }).collect();
            work += (rows.len() + BOUND_WORK * counts.len()) as u64;
            let can_reach = boxes.can_reach(&limits, length, &scales);
            for (&lane, can_reach) in lanes.iter().zip(can_reach) {
                open |= Active::from(can_reach) << (first + lane);
            }
        }
        self.work += work;
        open
    }
}

/// The positions of the ones in a word.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (word != 0).then(|| word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        first
    })
}

/// A quick evaluation of a rule: its value in the active tables, and where a rule below it might reach the goal.
struct Look<'a> {
    sample: &'a Sample,
    pooled: &'a Pooled,
    most: &'a [Vec<f64>],
    rows: &'a [u64],
    /// A buffer for counts.
    outcomes: &'a mut [Lanes],
    /// What is the same in all tables; `None` if this is no rule.
    rule: Option<Known>,
    /// The minimum length of a rule below, if there is one.
    below: Option<usize>,
    active: Active,
    goals: &'a mut [f64; MOST],
    reached: &'a mut Active,
}

impl Look<'_> {
    /// Records the effects of a rule in the active tables of a block.
    #[inline(always)]
    fn note(&mut self, first: usize, here: Active, effect: &Numbers, margin: &Numbers) {
        let Some(goals) = self.goals[first..].first_chunk_mut::<LANES>() else {
            return;
        };
        let mut is_any = false;
        for lane in 0..LANES {
            is_any |= effect[lane] >= goals[lane] * margin[lane];
        }
        if !is_any {
            return;
        }
        for lane in bits(here) {
            let ratio = effect[lane] / margin[lane];
            if margin[lane] > 0.0 && ratio >= goals[lane] {
                goals[lane] = ratio;
                *self.reached |= 1 << (first + lane);
            }
        }
    }
}

impl Task for Look<'_> {
    type Answer = Active;

    #[inline(always)]
    fn run(mut self, vector: impl Vector) -> Active {
        let Sample { table, blocks, .. } = self.sample;
        let mut open = 0;
        let rule = self.rule.take();
        let line = rule.as_ref().and_then(Known::line);
        for (number, block) in blocks.iter().enumerate() {
            let first = number * LANES;
            let here = self.active >> first & 0xff;
            if here == 0 {
                continue;
            }
            if let (Some(line), None) = (&line, self.below) {
                let mut effect = [line.constant; LANES];
                for segment in &table.segments {
                    let ones = segment.count_lanes(vector, self.rows, block);
                    let slope = line.slopes[segment.cell as usize / 2] * segment.multiplier as f64;
                    for lane in 0..LANES {
                        effect[lane] += slope * ones[lane] as i64 as f64;
                    }
                }
                self.note(first, here, &effect, &[line.margin; LANES]);
                continue;
            }
            let counting = Counting {
                rows: self.rows,
                block,
                segments: &table.segments,
                counts: &mut *self.outcomes,
            };
            counting.run(vector);
            if let Some(rule) = &rule {
                let (effect, margin) = self.pooled.in_eight(rule, self.outcomes);
                self.note(first, here, &effect, &margin);
            }
            if let Some(length) = self.below {
                let largest = self.pooled.largest_in_eight(self.most, self.outcomes, length);
                for lane in bits(here) {
                    let is_open = largest[lane] >= self.goals[first + lane];
                    open |= Active::from(is_open) << (first + lane);
                }
            }
        }
        open
    }
}
