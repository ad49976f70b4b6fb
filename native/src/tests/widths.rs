//! The same results, bit by bit, with the vector instructions of every machine.

use super::*;
use crate::bits::cpu::widths;
use crate::permutations::{self, Permutations};
use crate::score::Limits;

#[test]
fn estimators_do_not_depend_on_the_width() {
    let mut random = Random(31);
    for round in 0..300 {
        let n_levels = [2, 2, 5][round % 3];
        let most = [3, 40, 100_000][round / 3 % 3];
        let n_cells = n_levels * (1 + random.below(9) as usize);
        let all: Vec<u64> = (0..n_cells).map(|_| 1 + random.below(most)).collect();
        let layout = Layout::new(n_levels, all.clone(), Sides::Complement);
        let part =
            |random: &mut Random, limits: &[u64]| -> Vec<u64> { limits.iter().map(|&n| random.below(n + 1)).collect() };
        let block: Vec<[u64; LANES]> = (all.iter())
            .map(|&most| std::array::from_fn(|_| random.below(most + 1)))
            .collect();
        let n_boxes = 1 + random.below(11) as usize;
        let high: Vec<Vec<u64>> = (0..n_boxes).map(|_| part(&mut random, &all)).collect();
        let low: Vec<Vec<u64>> = high.iter().map(|high| part(&mut random, high)).collect();
        let limits: Vec<Limits> = (low.iter().zip(&high))
            .map(|(low, high)| Limits { low, high })
            .collect();
        for (kind, margin) in [
            (0, Margin::Number(1.0)),
            (1, Margin::Number(1.0)),
            (3, Margin::Number(2.0)),
            (4, Margin::Number(1.5)),
            (4, Margin::ByLength(vec![0.1, 0.7, 1.9])),
        ] {
            if kind == 0 && n_levels > 2 {
                continue;
            }
            let settings = Settings {
                kind,
                margin,
                margin_scale: 1.0,
                levels: (0..n_levels).map(|level| level as f64 / 4.0).collect(),
            };
            let estimator = crate::score::create(&settings, &layout).unwrap();
            let values = widths::each(|| estimator.values(&block, 2));
            for goal in values {
                widths::each(|| estimator.may_reach(&block, 2, goal));
                widths::each(|| {
                    let mut bounds = Vec::new();
                    estimator.bounds(&limits, 2, goal, &mut bounds);
                    bounds
                });
            }
        }
    }
}

#[test]
fn searches_do_not_depend_on_the_width() {
    let mut random = Random(32);
    for round in 0..24 {
        let missing = [Missing::False, Missing::Unknown][round / 2 % 2];
        let n = [40, 400, 4_000][round % 3];
        let sample = random_rows(&mut random, n);
        let kind = [0, 4][round % 2];
        let found = widths::each(|| {
            let table = Arc::new(build_with(&sample, round % 5 == 0, 1, missing));
            let rows: Arc<Local> = Arc::new(Local::new(table));
            // On this thread only: the width is set per thread.
            searches::search_rows(rows, kind, Some(3), 1, Duration::from_secs(600))
        });
        assert!(!found.is_empty());
    }
}

#[test]
fn permuted_outcomes_do_not_depend_on_the_width() {
    const N_OUTCOMES: usize = 19;
    let mut random = Random(33);
    for round in 0..12 {
        let n = [60, 600, 6_000][round % 3];
        let mut sample = random_rows(&mut random, n);
        sample.outcomes.fill(0);
        for _ in 0..N_OUTCOMES {
            // A different third of the rows of each stratum each time.
            let mut keys: Vec<(u64, usize)> = (0..n).map(|row| (random.next(), row)).collect();
            keys.sort_unstable();
            let mut column = vec![0; n];
            for stratum in 0..N_STRATA as i32 {
                let rows = keys.iter().filter(|key| sample.strata[key.1] == stratum);
                let rows: Vec<usize> = rows.map(|key| key.1).collect();
                rows[..rows.len() / 3].iter().for_each(|&row| column[row] = 1);
            }
            sample.columns.push(column);
        }
        let n_conditions = sample.columns.len() - N_OUTCOMES;
        let outcomes = (n_conditions..sample.columns.len()).map(|column| Proposition {
            column,
            low: 1,
            high: 1,
        });
        let propositions: Vec<Proposition> = propositions().into_iter().chain(outcomes).collect();
        let ratios = widths::each(|| {
            let plan = Plan {
                propositions: propositions.clone(),
                n_columns: sample.columns.len(),
                n_strata: N_STRATA,
                n_levels: 2,
                weight_bits: 1,
                missing: Missing::False,
                reference: None,
            };
            let mut builder = Builder::new(fastest(), plan);
            let batch = Batch {
                strata: &sample.strata,
                outcomes: &sample.outcomes,
                weights: None,
                reference: None,
                columns: sample.columns.iter().map(Vec::as_slice).collect(),
            };
            builder.size(&batch).unwrap();
            builder.fill(&batch).unwrap();
            let table = Arc::new(builder.finish().unwrap());
            let settings = Settings {
                kind: 4,
                margin: Margin::ByLength(vec![0.0, 0.4, 0.5, 0.6]),
                margin_scale: 1.0,
                levels: vec![0.0, 1.0],
            };
            let layout = permutations::layout(&table, N_OUTCOMES).unwrap();
            let pooled = crate::score::pooled(&settings, layout).unwrap();
            let options = permutations::Options {
                n_outcomes: N_OUTCOMES,
                max_length: 3,
                min_rows: 1,
                least: 0.0,
                most_work: u64::MAX,
            };
            let mut permutations = Permutations::new(table, pooled, options);
            while permutations.step(Duration::from_secs(600)) == permutations::Walk::Underway {}
            permutations.ratios().collect::<Vec<Option<f64>>>()
        });
        assert!(ratios.iter().any(Option::is_some));
    }
}
