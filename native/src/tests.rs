//! Properties of the parts that the search rests on, over random inputs from a fixed seed. The search itself is
//! checked against a brute force that shares no code with it, from Python.

use crate::bitset::{Kernel, Question, Segment, NO_CELL};
use crate::cpu::fastest;
use crate::describe::shortest;
use crate::estimator::{to_number, Estimator, Margin, Score, Settings};
use crate::lanes::LANES;
use crate::layout::{Layout, Sides};
use crate::local::Local;
use crate::remote::{put_together, Messenger, Part, Remote};
use crate::rows::Rows;
use crate::search::{Options, Search};
use crate::table::{Batch, Builder, Missing, Plan, Proposition, Table};
use crate::wanted::Wanted;
use std::sync::Arc;
use std::time::Duration;

/// A small generator of its own (splitmix64): std has none.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn words(&mut self, n: usize) -> Vec<u64> {
        // Every third word empty, so that thin sets are among them.
        (0..n)
            .map(|_| {
                if self.below(3) == 0 {
                    0
                } else {
                    self.next() & self.next()
                }
            })
            .collect()
    }
}

#[test]
fn vector_and_plain_kernels_agree() {
    let mut random = Random(1);
    for _ in 0..300 {
        // Long enough for the vector units, or too short; as many questions as are answered together, or fewer.
        let most = [40, 300][random.below(2) as usize];
        let n = 1 + random.below(most) as usize;
        let x = random.words(n);
        let n_asked = 1 + random.below(9) as usize;
        let ys: Vec<Vec<u64>> = (0..n_asked).map(|_| random.words(n)).collect();
        let cut = random.below(n as u64 + 1) as usize;
        let segment = |cell, also, multiplier, start, end| Segment {
            cell,
            also,
            multiplier,
            start,
            end,
        };
        let segments = [segment(0, 2, 1, 0, cut), segment(1, NO_CELL, 4, cut, n)];
        let count = |kernel: Kernel| {
            let mut counts = vec![0; 3 * n_asked];
            let mut asked: Vec<Question> = ys
                .iter()
                .map(Vec::as_slice)
                .zip(counts.chunks_mut(3))
                .collect();
            (kernel.count_each)(&x, &mut asked, &segments);
            counts
        };
        let plain = count(Kernel::PLAIN);
        assert_eq!(plain, count(fastest()));
        for (y, counts) in ys.iter().zip(plain.chunks(3)) {
            let by_hand = |range: std::ops::Range<usize>| -> u64 {
                range.map(|w| u64::from((x[w] & y[w]).count_ones())).sum()
            };
            let first = by_hand(0..cut);
            assert_eq!(counts, [first, 4 * by_hand(cut..n), first]);
        }
        let y = &ys[0];

        let (mut gathered, mut again) = (vec![0; n], vec![0; n]);
        (Kernel::PLAIN.gather)(&x, y, &mut gathered);
        (fastest().gather)(&x, y, &mut again);
        assert_eq!(gathered, again);
        let bit = |words: &[u64], place: usize| words[place / 64] >> (place % 64) & 1;
        let kept: Vec<u64> = (0..n * 64)
            .filter(|&p| bit(y, p) == 1)
            .map(|p| bit(&x, p))
            .collect();
        assert!(kept
            .iter()
            .enumerate()
            .all(|(place, &b)| bit(&gathered, place) == b));
    }
}

/// An estimator of an outcome that happens or not, by its number.
fn create(kind: u32, beta: f64, layout: &Layout) -> Box<dyn Estimator> {
    let settings = Settings {
        kind,
        margin: Margin::Number(beta),
        margin_scale: 1.0,
        levels: vec![0.0, 1.0],
    };
    crate::estimator::create(&settings, layout).unwrap()
}

/// Random strata, and a box of counts of the covered and of the failing rows in each; strata with only some of the
/// levels included.
struct RandomBox {
    layout: Layout,
    low: Vec<u64>,
    high: Vec<u64>,
}

impl RandomBox {
    fn new(random: &mut Random, n_levels: usize, sides: u64) -> RandomBox {
        let n_cells = n_levels * (1 + random.below(4) as usize);
        let most = [3, 12, 40][random.below(3) as usize];
        let part = |random: &mut Random, n: u64| match random.below(3) {
            0 => 0,
            1 => n,
            _ => random.below(n + 1),
        };
        let all: Vec<u64> = (0..n_cells)
            .map(|_| match random.below(4) {
                0 => 0,
                _ => random.below(most),
            })
            .collect();
        let reference: Vec<u64> = all.iter().map(|&n| part(random, n)).collect();
        let coverable = |cell: usize| match sides {
            2 => all[cell] - reference[cell],
            _ => all[cell],
        };
        let mut high: Vec<u64> = (0..n_cells).map(|c| part(random, coverable(c))).collect();
        let mut low: Vec<u64> = high.iter().map(|&n| part(random, n)).collect();
        if sides == 1 {
            // What possibly holds is no less than what holds.
            for cell in 0..n_cells {
                let most = high[cell] + part(random, all[cell] - high[cell]);
                high.push(most);
                low.push(low[cell] + part(random, most - low[cell]));
            }
        }
        let sides = match sides {
            0 => Sides::Complement,
            1 => Sides::Possible,
            _ => {
                high.push(0);
                low.push(0);
                Sides::Reference(reference)
            }
        };
        RandomBox {
            layout: Layout::new(n_levels, all, sides),
            low,
            high,
        }
    }

    /// Counts in the box that a rule can have, if there happen to be any.
    fn inside(&self, random: &mut Random) -> Option<Vec<u64>> {
        let extreme = random.below(4);
        let limits = self.low.iter().zip(&self.high);
        let counts: Vec<u64> = limits
            .map(|(&low, &high)| match (extreme, random.below(2)) {
                (0, 0) => low,
                (0, 1) => high,
                _ => low + random.below(high - low + 1),
            })
            .collect();
        let layout = &self.layout;
        let is_rule = layout.n_covered(&counts) > 0 && layout.n_failing(&counts) > 0;
        (layout.fits(&counts) && is_rule).then_some(counts)
    }
}

/// Levels that rise from 0 to 1 with random steps.
fn random_levels(random: &mut Random, n_levels: usize) -> Vec<f64> {
    let steps: Vec<u64> = (1..n_levels).map(|_| 1 + random.below(9)).collect();
    let total: u64 = steps.iter().sum();
    let mut sum = 0;
    let rest = steps.iter().map(|step| {
        sum += step;
        sum as f64 / total as f64
    });
    [0.0].into_iter().chain(rest).collect()
}

#[test]
fn no_value_in_a_box_exceeds_its_bound() {
    let mut random = Random(2);
    for round in 0..12_000 {
        let beta = [0.0, 0.5, 1.0, 2.0, 2.58, 5.0, 12.0, 100.0][round % 8];
        let n_levels = [2, 2, 3, 8][random.below(4) as usize];
        let sides = random.below(3);
        let reach = RandomBox::new(&mut random, n_levels, sides);
        let levels = random_levels(&mut random, n_levels);
        let by_length = vec![0.1, beta / 2.0 + 0.2, beta + 0.3];
        for (kind, margin) in [
            (0, Margin::Number(beta)),
            (1, Margin::Number(beta)),
            (2, Margin::Number(beta)),
            (3, Margin::Number(beta)),
            (4, Margin::Number(beta)),
            (4, Margin::ByLength(by_length)),
        ] {
            let settings = Settings {
                kind,
                margin,
                margin_scale: [1.0, 0.3, 2.0][round % 3],
                levels: levels.clone(),
            };
            let estimator = crate::estimator::create(&settings, &reach.layout);
            if matches!(kind, 0 | 2) && n_levels > 2 {
                assert!(estimator.is_err());
                continue;
            }
            let estimator = estimator.unwrap();
            let length = random.below(4) as usize;
            let bound = estimator.bound(&reach.low, &reach.high, length, Score::MIN);
            for _ in 0..30 {
                let Some(inside) = reach.inside(&mut random) else {
                    continue;
                };
                let value = estimator.value(&inside, length + random.below(3) as usize);
                assert!(value <= bound, "estimator {kind}, β = {beta}: {inside:?} of {:?} is worth {value} > {bound} over {:?}..{:?}", reach.layout, reach.low, reach.high);
                // With a goal the bound may be another one, but on the same side of it.
                let goal = bound + [-1_000_000_000_000, 0, 1, 1_000_000_000_000][round % 4];
                let asked = estimator.bound(&reach.low, &reach.high, length, goal);
                assert_eq!(asked < goal, bound < goal);
                assert!(asked >= value);
            }
        }
    }
}

#[test]
fn the_bound_over_all_subsets_is_reached() {
    // With nothing that must stay, the bound of one stratum is the exact maximum: not only safe but tight.
    let mut random = Random(3);
    for round in 0..2000 {
        let beta = [0.0, 1.0, 2.0, 2.58, 5.0][round % 5];
        let all = [random.below(120), random.below(15)];
        let high = all.map(|n| random.below(n + 1));
        let estimator = create(0, beta, &Layout::plain(all.to_vec()));
        let values = (0..=high[1]).flat_map(|positive| {
            let below = 0..=high[0];
            below.map(move |negative| [negative, positive])
        });
        let best = values.map(|counts| estimator.value(&counts, 1));
        let best = best.max().unwrap();
        let bound = estimator.bound(&[0, 0], &high, 1, Score::MIN);
        let excess = to_number(bound - best);
        assert!(
            (0.0..1e-13).contains(&excess),
            "β = {beta}, {high:?} of {all:?}: {excess}"
        );
    }
}

#[test]
fn the_pooled_bound_is_close_to_the_best_value() {
    // Two strata of an outcome that happens or not, and all counts of the box: what the chords give away is little.
    let mut random = Random(13);
    let (mut excess, mut rounds) = (0.0, 0);
    for _ in 0..300 {
        let all: Vec<u64> = (0..4).map(|_| 3 + random.below(12)).collect();
        let high: Vec<u64> = all.iter().map(|&n| random.below(n) + 1).collect();
        let low: Vec<u64> = high.iter().map(|&n| random.below(n + 1)).collect();
        let kind = Settings {
            kind: 4,
            margin: Margin::Number(2.0),
            margin_scale: 1.0,
            levels: vec![0.0, 1.0],
        };
        let layout = Layout::plain(all);
        let estimator = crate::estimator::create(&kind, &layout).unwrap();
        let mut best = Score::MIN;
        let mut counts = low.clone();
        loop {
            if layout.n_covered(&counts) > 0 && layout.n_failing(&counts) > 0 {
                best = best.max(estimator.value(&counts, 1));
            }
            // The next counts of the box, like a number with four digits.
            let Some(cell) = (0..4).find(|&cell| counts[cell] < high[cell]) else {
                break;
            };
            counts[..cell].copy_from_slice(&low[..cell]);
            counts[cell] += 1;
        }
        if best > Score::MIN {
            excess += to_number(estimator.bound(&low, &high, 1, Score::MIN) - best);
            rounds += 1;
        }
    }
    let mean = excess / f64::from(rounds);
    assert!(mean < 0.01, "{mean}");
}

#[test]
fn the_bound_of_the_paper_fails_where_ours_holds() {
    // Proposition 3 takes b' = 0 for the best. A stratum without a positive row, β = 2:
    let all = [200, 0];
    let estimator = create(0, 2.0, &Layout::plain(all.to_vec()));
    let value = |negative| to_number(estimator.value(&[negative, 0], 1));
    assert!((value(0) - -0.282).abs() < 5e-4 && (value(86) - -0.197).abs() < 5e-4);
    let bound = estimator.bound(&[0, 0], &all, 1, Score::MIN);
    assert!(to_number(bound) >= value(86));
}

/// A table of random rows over a few columns, with weights.
struct Sample {
    strata: Vec<i32>,
    outcomes: Vec<u16>,
    weights: Vec<u64>,
    columns: Vec<Vec<i32>>,
}

const N_STRATA: usize = 3;

fn random_rows(random: &mut Random, n: usize) -> Sample {
    let mut column =
        |size: u64| -> Vec<i32> { (0..n).map(|_| random.below(size) as i32 - 1).collect() };
    let columns = vec![column(4), column(3), column(5)];
    Sample {
        strata: (0..n)
            .map(|_| random.below(N_STRATA as u64) as i32)
            .collect(),
        outcomes: (0..n).map(|_| random.below(2) as u16).collect(),
        weights: (0..n).map(|_| random.below(7)).collect(),
        columns,
    }
}

fn propositions() -> Vec<Proposition> {
    let intervals = [
        (0, 0, 0),
        (0, 1, 2),
        (1, 0, 0),
        (1, 1, 1),
        (2, 0, 1),
        (2, 2, 3),
        (2, 0, 2),
    ];
    let propositions =
        intervals
            .iter()
            .map(|&(column, low, high)| Proposition { column, low, high });
    propositions.collect()
}

fn build(rows: &Sample, weighted: bool, parts: usize) -> Table {
    build_with(rows, weighted, parts, Missing::False)
}

fn build_with(rows: &Sample, weighted: bool, parts: usize, missing: Missing) -> Table {
    let plan = Plan {
        propositions: propositions(),
        n_columns: 3,
        n_strata: N_STRATA,
        n_levels: 2,
        weight_bits: 3,
        missing,
        reference: None,
    };
    let mut builder = Builder::new(fastest(), plan);
    let n = rows.strata.len();
    let size = n.div_ceil(parts).max(1);
    for fill in [false, true] {
        for start in (0..n).step_by(size) {
            let part = start..(start + size).min(n);
            let batch = Batch {
                strata: &rows.strata[part.clone()],
                outcomes: &rows.outcomes[part.clone()],
                weights: weighted.then_some(&rows.weights[part.clone()]),
                reference: None,
                columns: rows
                    .columns
                    .iter()
                    .map(|column| &column[part.clone()])
                    .collect(),
            };
            let result = if fill {
                builder.fill(&batch)
            } else {
                builder.size(&batch)
            };
            result.unwrap();
        }
    }
    builder.finish().unwrap()
}

fn expand(rows: &Sample) -> Sample {
    let times: Vec<usize> = (0..rows.strata.len())
        .flat_map(|row| std::iter::repeat_n(row, rows.weights[row] as usize))
        .collect();
    Sample {
        strata: times.iter().map(|&row| rows.strata[row]).collect(),
        outcomes: times.iter().map(|&row| rows.outcomes[row]).collect(),
        weights: vec![1; times.len()],
        columns: rows
            .columns
            .iter()
            .map(|column| times.iter().map(|&row| column[row]).collect())
            .collect(),
    }
}

fn counts_of(table: &Table, conditions: &[u32]) -> Vec<u64> {
    let rows = table.extension(conditions);
    let mut counts = vec![0; table.layout.width()];
    table.count(&rows, &rows, &mut counts);
    counts
}

#[test]
fn weighted_rows_count_as_often_as_their_weight_says() {
    let mut random = Random(4);
    for _ in 0..200 {
        let n = random.below(200) as usize;
        let rows = random_rows(&mut random, n);
        let weighted = build(&rows, true, 1 + random.below(3) as usize);
        let expanded = build(&expand(&rows), false, 1);
        assert_eq!(weighted.layout, expanded.layout);
        for conditions in [&[][..], &[1], &[1, 3], &[4, 2, 0], &[6]] {
            assert_eq!(
                counts_of(&weighted, conditions),
                counts_of(&expanded, conditions)
            );
        }
    }
}

#[test]
fn a_projection_counts_like_the_whole() {
    let mut random = Random(5);
    for round in 0..200 {
        let table = {
            let n = random.below(300) as usize;
            let missing = [Missing::False, Missing::Unknown][round % 2];
            build_with(&random_rows(&mut random, n), true, 1, missing)
        };
        let part = table.project(&table.extension(&[1]), &[2, 4, 6]);
        for (whole, local) in [
            (vec![1, 2], vec![0]),
            (vec![1, 4, 6], vec![1, 2]),
            (vec![1], vec![]),
        ] {
            assert_eq!(counts_of(&table, &whole), counts_of(&part, &local));
        }
    }
}

#[test]
fn a_place_counts_like_the_table_however_long_it_is() {
    // Short sets of rows are counted plainly, longer ones by complements, very long ones by blocks.
    let mut random = Random(12);
    for (n, missing) in [
        (100, Missing::False),
        (9_000, Missing::Unknown),
        (1_200_000, Missing::Unknown),
        (1_200_000, Missing::False),
    ] {
        let mut rows = random_rows(&mut random, n);
        // Without missing values the first two propositions are complements of each other.
        rows.columns[0]
            .iter_mut()
            .for_each(|code| *code = (*code).max(0));
        let table = Arc::new(build_with(&rows, false, 3, missing));
        let place = Local::new(table.clone()).place(&[6]);
        let candidates = vec![vec![1, 0, 2, 4], vec![0, 1], vec![5, 2, 1, 0]];
        let children = [3, 4, 2];
        let mut taken = Vec::new();
        place.counts_of_children(&children, &candidates, &mut |index, found| {
            let rule = [6, children[index]];
            let mut expected = counts_of(&table, &rule);
            for &candidate in &candidates[index] {
                expected.extend(counts_of(&table, &[rule[0], rule[1], candidate]));
            }
            assert_eq!(expected, found);
            taken.push(index);
        });
        assert_eq!(taken, [0, 1, 2]);
        let mut plain = Vec::new();
        place.counts(&[0, 1, 4], &mut plain);
        let each = [vec![6], vec![6, 0], vec![6, 1], vec![6, 4]];
        let expected: Vec<u64> = each
            .iter()
            .flat_map(|rule| counts_of(&table, rule))
            .collect();
        assert_eq!(expected, plain);
    }
}

#[test]
fn descriptions_are_right_and_none_is_shorter() {
    let mut random = Random(6);
    for _ in 0..300 {
        let n = 1 + random.below(60) as usize;
        let table = Arc::new(build(&random_rows(&mut random, n), false, 1));
        let usable: Vec<u32> = (0..table.propositions.len() as u32).collect();
        let some: Vec<u32> = usable
            .iter()
            .copied()
            .filter(|_| random.below(2) == 0)
            .collect();
        let rows = table.extension(&some);
        let found = shortest(&Local::new(table.clone()), &usable, &some);
        let subsets = (0u32..1 << usable.len()).map(|bits| -> Vec<u32> {
            usable
                .iter()
                .copied()
                .filter(|p| bits >> p & 1 == 1)
                .collect()
        });
        let right = subsets.filter(|subset| table.extension(subset) == rows);
        assert_eq!(
            found,
            right
                .min_by_key(|subset| (subset.len(), subset.clone()))
                .unwrap()
        );
    }
}

fn search(table: &Arc<Table>, threads: usize, steps_of: Duration) -> Vec<(i64, Vec<u32>)> {
    let rows = Arc::new(Local::new(table.clone()));
    search_rows(rows, 0, None, false, threads, steps_of)
}

/// The reliable estimator, or the pooled one with a β that grows with the length.
fn estimator(kind: u32, layout: &Layout) -> Arc<dyn Estimator> {
    let settings = Settings {
        kind,
        margin: match kind {
            0 => Margin::Number(1.0),
            _ => Margin::ByLength(vec![0.0, 0.4, 0.5, 0.6]),
        },
        margin_scale: 1.0,
        levels: vec![0.0, 1.0],
    };
    Arc::from(crate::estimator::create(&settings, layout).unwrap())
}

fn search_rows(
    rows: Arc<dyn Rows>,
    kind: u32,
    max_length: Option<usize>,
    irredundant: bool,
    threads: usize,
    steps_of: Duration,
) -> Vec<(i64, Vec<u32>)> {
    let estimator = estimator(kind, rows.layout());
    let options = Options {
        k: 5,
        alpha: 1.0,
        max_length,
        min_rows: 1,
        irredundant,
        floor: i64::MIN,
        wanted: Wanted::Any,
        leaders: Vec::new(),
        n_left_out: 0,
        offered: None,
    };
    let search = Search::new(rows, estimator, options);
    for _ in 0..1_000_000 {
        if search.step(steps_of, threads).done {
            return search.rules();
        }
    }
    panic!("the search does not end");
}

#[test]
fn threads_and_interruptions_do_not_change_the_answer() {
    let mut random = Random(7);
    for round in 0..50 {
        let missing = [Missing::False, Missing::Unknown][round / 2 % 2];
        let sample = random_rows(&mut random, 400);
        let table = Arc::new(build_with(&sample, false, 1, missing));
        let rows: Arc<Local> = Arc::new(Local::new(table));
        let kind = [0, 4][round % 2];
        let with =
            |threads, steps_of| search_rows(rows.clone(), kind, None, false, threads, steps_of);
        let alone = with(1, Duration::from_secs(60));
        assert_eq!(alone, with(3, Duration::from_secs(60)));
        assert_eq!(alone, with(2, Duration::from_micros(20)));
    }
}

/// Parts of a table that answer as if they were far away.
struct Parts(Vec<Part>);

impl Messenger for Parts {
    fn ask(&self, question: &[u32], length: usize) -> Vec<u64> {
        let mut answers = self.0.iter().map(|part| part.answer(question).unwrap());
        let mut sum = answers.next().unwrap();
        answers.for_each(|more| put_together(question[0], &mut sum, &more));
        assert_eq!(sum.len(), length);
        sum
    }
}

#[test]
fn rows_in_parts_give_the_same_answer() {
    let mut random = Random(9);
    for round in 0..96 {
        let missing = [Missing::False, Missing::Unknown][round / 4 % 2];
        let kind = [0, 4][round / 8 % 2];
        let rows = random_rows(&mut random, 150);
        let whole = Arc::new(build_with(&rows, false, 1, missing));
        let n_parts = 1 + random.below(4) as usize;
        let parts = (0..n_parts).map(|part| {
            let mine: Vec<usize> = (0..150).filter(|row| row * n_parts / 150 == part).collect();
            let table = Arc::new(build_with(
                &Sample {
                    strata: mine.iter().map(|&row| rows.strata[row]).collect(),
                    outcomes: mine.iter().map(|&row| rows.outcomes[row]).collect(),
                    weights: vec![1; mine.len()],
                    columns: rows
                        .columns
                        .iter()
                        .map(|column| mine.iter().map(|&row| column[row]).collect())
                        .collect(),
                },
                false,
                1,
                missing,
            ));
            Part::new(table, part as u64)
        });
        let messenger = Arc::new(Parts(parts.collect()));
        let remote = Arc::new(Remote::new(
            (*whole.layout).clone(),
            propositions(),
            messenger,
        ));
        let local: Arc<Local> = Arc::new(Local::new(whole));
        let max_length = [Some(1), Some(2), Some(3), None][round % 4];
        let time = Duration::from_secs(60);
        for irredundant in [false, true] {
            let here = search_rows(local.clone(), kind, max_length, irredundant, 1, time);
            assert_eq!(
                here,
                search_rows(remote.clone(), kind, max_length, irredundant, 2, time)
            );
        }
    }
}

#[test]
fn questions_that_make_no_sense_are_refused() {
    let table = Arc::new(build(&random_rows(&mut Random(10), 10), false, 1));
    for question in [&[][..], &[99], &[1, 5, 0], &[1, 1, 77], &[7, 0], &[2]] {
        let part = Part::new(table.clone(), 0);
        assert!(part.answer(question).is_err(), "{question:?}");
    }
}

#[test]
fn a_search_that_is_put_away_again_and_again_ends_the_same() {
    let mut random = Random(11);
    for round in 0..40 {
        let table = Arc::new(build(&random_rows(&mut random, 200), false, 1));
        let rows = Arc::new(Local::new(table));
        let max_length = [Some(2), Some(3), None][round % 3];
        let irredundant = round % 2 == 1;
        let kind = [0, 4][round / 2 % 2];
        let expected = search_rows(
            rows.clone(),
            kind,
            max_length,
            irredundant,
            1,
            Duration::from_secs(60),
        );
        let fresh = || {
            let estimator = estimator(kind, rows.layout());
            let options = Options {
                k: 5,
                alpha: 1.0,
                max_length,
                min_rows: 1,
                irredundant,
                floor: i64::MIN,
                wanted: Wanted::Any,
                leaders: Vec::new(),
                n_left_out: 0,
                offered: None,
            };
            Search::new(rows.clone(), estimator, options)
        };
        let mut search = fresh();
        // A little longer each time, so that it comes to an end on any machine, put away in many states.
        for attempt in 1.. {
            if search.step(Duration::from_micros(20 * attempt), 1).done {
                break;
            }
            let saved = search.save(usize::MAX).unwrap();
            search = fresh();
            search.restore(&saved).unwrap();
            assert!(fresh().restore(&saved[..saved.len() - 1]).is_err());
        }
        assert_eq!(search.rules(), expected);
    }
}

#[test]
fn what_is_left_out_is_bounded_at_any_time() {
    let mut random = Random(8);
    for _ in 0..50 {
        let table = Arc::new(build(&random_rows(&mut random, 300), false, 1));
        let best = search(&table, 1, Duration::from_secs(60))[0].0;
        let estimator = Arc::from(create(0, 1.0, &table.layout));
        let options = Options {
            k: 1,
            alpha: 0.5,
            max_length: None,
            min_rows: 1,
            irredundant: false,
            floor: i64::MIN,
            wanted: Wanted::Any,
            leaders: Vec::new(),
            n_left_out: 0,
            offered: None,
        };
        let search = Search::new(Arc::new(Local::new(table.clone())), estimator, options);
        for _ in 0..1_000_000 {
            let status = search.step(Duration::from_micros(5), 1);
            let reach = status.best.max(status.unexplored).unwrap();
            assert!(reach >= best, "{status:?} does not reach {best}");
            if status.done {
                let found = status.best.unwrap();
                assert!(found >= best || found as f64 >= 0.5 * best as f64);
                break;
            }
        }
    }
}

#[test]
fn eight_at_a_time_are_counted_and_valued_as_one_at_a_time() {
    let mut random = Random(12);
    for round in 0..40 {
        let missing = [Missing::False, Missing::Unknown][round % 2];
        let sample = random_rows(&mut random, [30, 400, 3000][round % 3]);
        let table = Arc::new(build_with(&sample, round % 5 == 0, 2, missing));
        let rows = Local::new(table.clone());
        let width = table.layout.width();
        let order: Vec<u32> = (0..table.propositions.len() as u32).rev().collect();
        let children: Vec<usize> = (0..order.len()).step_by(3).collect();
        let parent = rows.place(&[1]);
        let estimators = [0, 4].map(|kind| estimator(kind, &table.layout));
        let mut n_seen = 0;
        let asked = parent.counts_in_lanes(&order, &children, &mut |child, own, blocks, places| {
            assert_eq!(own, rows.counts(&[vec![1, order[child]]]));
            for (block, places) in blocks.chunks(width).zip(places.chunks(LANES)) {
                let values = estimators
                    .each_ref()
                    .map(|estimator| estimator.values(block, 2));
                for (lane, [place, complement]) in places.iter().enumerate() {
                    let counts: Vec<u64> = block.iter().map(|lanes| lanes[lane]).collect();
                    let condition = order[place.unwrap() as usize];
                    assert_eq!(counts, rows.counts(&[vec![1, order[child], condition]]));
                    if let Some(other) = complement {
                        let left: Vec<u64> = own.iter().zip(&counts).map(|(x, y)| x - y).collect();
                        let other = order[*other as usize];
                        assert_eq!(left, rows.counts(&[vec![1, order[child], other]]));
                    }
                    for (estimator, values) in estimators.iter().zip(values) {
                        assert_eq!(values[lane], estimator.value(&counts, 2));
                    }
                    n_seen += 1;
                }
            }
        });
        assert!(asked && n_seen > 0);
    }
}

#[test]
fn eight_values_of_a_target_of_many_levels_are_the_same_as_one() {
    let mut random = Random(13);
    for n_levels in [2, 3, 4, 7, 12] {
        let cells = 3 * n_levels;
        let all: Vec<u64> = (0..cells).map(|_| random.below(9)).collect();
        let settings = Settings {
            kind: 4,
            margin: Margin::ByLength(vec![0.1, 0.7]),
            margin_scale: 1.5,
            levels: (0..n_levels).map(|level| level as f64 / 11.0).collect(),
        };
        let layout = Layout::new(n_levels, all.clone(), Sides::Complement);
        let estimator = crate::estimator::create(&settings, &layout).unwrap();
        let block: Vec<[u64; LANES]> = (all.iter())
            .map(|&most| std::array::from_fn(|_| random.below(most + 1)))
            .collect();
        let values = estimator.values(&block, 1);
        for (lane, value) in values.into_iter().enumerate() {
            let counts: Vec<u64> = block.iter().map(|lanes| lanes[lane]).collect();
            assert_eq!(value, estimator.value(&counts, 1));
        }
    }
}
