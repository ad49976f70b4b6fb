//! The largest effect over margin in each of many tables that differ only in a binary outcome. It promises the ratios that
//! searches of each table would find.
//!
//! That is what tests by permutation ask for: the same rows, with their outcomes in another order within each stratum.
//! Which rows a rule covers is the same in all of these tables, and so are the numbers of covered rows by stratum, their
//! null means and variances. One walk over the rules serves them all. A branch is *active* in the tables in which a rule
//! below it can still reach what is asked for, and is left when it is active in none. Outcomes stand eight by eight, so
//! that one pass over the rows of a rule counts them in eight tables.
//!
//! The walk is its own, not that of [`crate::search`]: it has a goal for each table instead of one, needs neither cores nor ties
//! nor a frontier, and goes depth-first. What it shares with the search is which conditions are worth trying, how tables are
//! projected, how rows are counted eight at a time, and the bounds of the pooled estimator.
//!
//! No condition need be told from another that holds on the same rows, nor a rule from its shortest description: the
//! margin does not fall with the number of conditions, so no description has a larger ratio than the shortest.

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

/// As many tables as bits of a word.
pub const MOST: usize = 64;
/// Rows in so many words are not put together.
const FEW_WORDS: usize = 8;
/// What a bound costs for each count, beside a word that is compared.
const BOUND_WORK: usize = 16;
/// Some of the tables, as bits.
type Active = u64;

pub struct Options {
    /// The outcomes are the last so many propositions of the table.
    pub n_outcomes: usize,
    pub max_length: usize,
    pub min_rows: u64,
    /// Ratios below this do not matter.
    pub least: f64,
    /// More work than this is too much, see [`Permutations::step`].
    pub most_work: u64,
}

/// How far a walk has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    Underway,
    Done,
    /// It would take more work than it may.
    GivenUp,
}

pub struct Permutations {
    pooled: Pooled,
    /// See [`Pooled::most_by_outcomes`].
    most: Vec<Vec<f64>>,
    options: Options,
    layout: Arc<Layout>,
    /// For each table, what a ratio has to reach: the largest so far.
    goals: [f64; MOST],
    /// In which tables a rule has reached it.
    reached: Active,
    branches: Vec<Branch>,
    /// How many words of rows, or counts of a rule, have been compared with those of eight tables. It depends on the tables
    /// alone, not on the machine or how busy it is.
    work: u64,
}

/// Some of the rows, with their outcomes.
struct Sample {
    /// The propositions after the conditions are the outcomes.
    table: Arc<Table>,
    n_conditions: usize,
    /// The outcomes, eight by eight; in each block, word by word.
    blocks: Vec<Vec<Lanes>>,
}

/// A rule that is still to be expanded.
struct Branch {
    sample: Arc<Sample>,
    /// The rows of the rule without its last condition.
    parent: Arc<Vec<u64>>,
    /// Its last condition is this one of the family; those after it may follow. All of them at the root.
    last: Option<usize>,
    family: Arc<Vec<Candidate>>,
    length: usize,
}

/// A condition, by its number in the sample, and the tables in which it may be of use.
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

    /// The same for these rows and conditions only.
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

    /// The rows of the rule and the conditions that may follow, in their sample. Where rows are few, they are put together.
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

    /// Goes on for about this long.
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

    /// For each table, the largest ratio, if it reaches what was asked for.
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
            // The same rows with one condition more are worth no more.
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

    /// Takes note of what a rule is worth in the active tables; in which of them can a rule of more conditions be worth
    /// enough?
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
        // A bound takes longer than it takes to look at all rules of one condition more.
        if room < 2 {
            return open;
        }
        self.can_reach(sample, rows, counts, outcomes, length + 1, open)
    }

    /// In which of these tables can a rule below one with these counts be worth enough?
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

/// Where the ones of a word are.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (word != 0).then(|| word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        first
    })
}

/// A first look at a rule: what it is worth in the active tables, and where a rule below it might be worth enough.
struct Look<'a> {
    sample: &'a Sample,
    pooled: &'a Pooled,
    most: &'a [Vec<f64>],
    rows: &'a [u64],
    /// Room for counts.
    outcomes: &'a mut [Lanes],
    /// What is the same in all tables, if this is a rule.
    rule: Option<Known>,
    /// The fewest conditions of a rule below, if there is one.
    below: Option<usize>,
    active: Active,
    goals: &'a mut [f64; MOST],
    reached: &'a mut Active,
}

impl Look<'_> {
    /// Takes note of the effects of a rule in the active tables of a block.
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
