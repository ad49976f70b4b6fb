//! The branches visited on three small tables, in order, and why each is left: weaker pruning makes these tests fail.

use super::*;
use crate::search::{Fate, Visit};

/// A table of one stratum; each string lists a column's codes, or the outcomes, by row.
fn small(columns: &[&str], outcomes: &str) -> Arc<Table> {
    let codes = |text: &str| -> Vec<i32> { text.bytes().map(|byte| i32::from(byte) - 48).collect() };
    let columns: Vec<Vec<i32>> = columns.iter().map(|column| codes(column)).collect();
    let outcomes: Vec<u16> = codes(outcomes).iter().map(|&code| code as u16).collect();
    let propositions = columns.iter().enumerate().flat_map(|(column, codes)| {
        let most = codes.iter().copied().max().unwrap_or(0);
        let each = (0..=most).map(move |code| Proposition {
            column,
            low: code,
            high: code,
        });
        each.collect::<Vec<_>>()
    });
    let plan = Plan {
        propositions: propositions.collect(),
        n_columns: columns.len(),
        n_strata: 1,
        n_levels: 2,
        weight_bits: 1,
        missing: Missing::False,
        reference: None,
    };
    let mut builder = Builder::new(fastest(), plan);
    let batch = Batch {
        strata: &vec![0; outcomes.len()],
        outcomes: &outcomes,
        weights: None,
        reference: None,
        columns: columns.iter().map(Vec::as_slice).collect(),
    };
    builder.size(&batch).unwrap();
    builder.fill(&batch).unwrap();
    Arc::new(builder.finish().unwrap())
}

/// The visits, one per line: conditions, bound, fate.
fn traced(table: Arc<Table>, kind: u32, k: usize, max_length: Option<usize>) -> Vec<String> {
    let run = |is_traced: bool| {
        let options = Options {
            k,
            alpha: 1.0,
            max_length,
            min_rows: 1,
            floor: -(1 << 60),
        };
        let estimator = estimator(kind, &table.layout);
        let search = searches::begin(Arc::new(Local::new(table.clone())), estimator, options);
        if is_traced {
            search.begin_trace();
        }
        let status = search.step(Duration::from_secs(60), 1);
        assert!(status.done);
        (status.nodes, search.rules(), search.trace())
    };
    let ((nodes, rules, visits), plain) = (run(true), run(false));
    assert_eq!((nodes, &rules, 0), (plain.0, &plain.1, plain.2.len()));
    let entered = |visit: &&Visit| matches!(visit.fate, Fate::Expanded | Fate::Finished);
    assert_eq!(nodes, visits.iter().filter(entered).count() as u64);
    let line = |visit: &Visit| {
        let bound = match visit.bound {
            Score::MAX => "none".to_string(),
            Score::MIN => "no rule".to_string(),
            bound => format!("{:.4}", to_number(bound)),
        };
        format!("{:?} {bound} {:?}", visit.conditions, visit.fate)
    };
    visits.iter().map(line).collect()
}

#[test]
fn one_strong_rule_prunes_most_branches() {
    // The first column equals the outcome except in one row.
    let table = small(
        &[
            "000000111111000000111111",
            "010101010101010101010101",
            "001122001122001122001122",
        ],
        "000000111111000000111011",
    );
    let expected = [
        "[] none Expanded",
        "[0] -0.4131 Rows",
        "[2] 0.2864 Rows",
        "[3] 0.2257 Rows",
        "[4] 0.1590 Rows",
        "[5] 0.0808 Rows",
        "[6] 0.1590 Rows",
    ];
    assert_eq!(traced(table, 0, 1, None), expected);
}

#[test]
fn conditions_on_most_rows_are_forced() {
    // The outcome is 1 where all four columns are 0, which is most rows: conditions are forced one after the other.
    let table = small(
        &[
            "111000000000000000000000000000",
            "000111000000000000000000000000",
            "000000111000000000000000000000",
            "000000000111000000000000000111",
        ],
        "000000000000111111111111111000",
    );
    let expected = [
        "[] none Expanded",
        "[1] -0.4419 Rows",
        "[3] -0.4419 Rows",
        "[5] -0.4419 Rows",
        "[7] -0.4419 Rows",
        "[2] 0.2155 Waits",
        "[0] 0.3497 Expanded",
        "[0, 2] 0.3497 Expanded",
        "[6] 0.6398 Expanded",
        "[6, 2] 0.4831 Expanded",
        "[6, 0] 0.6398 Expanded",
        "[6, 0, 2] 0.6398 Expanded",
    ];
    assert_eq!(traced(table, 0, 1, None), expected);
}

#[test]
fn rows_that_all_rules_of_a_branch_cover_lower_its_bound() {
    let table = build(&random_rows(&mut Random(41), 60), false, 1);
    let expected = [
        "[] none Expanded",
        "[1] 0.1486 Expanded",
        "[4] 0.2034 Expanded",
        "[2] 0.3504 Expanded",
        "[2, 4] 0.0904 CommonCore",
        "[2, 6] 0.1864 Finished",
        "[5] 0.3374 Expanded",
        "[5, 6] -0.0352 Core",
        "[5, 2] 0.1396 Finished",
        "[3] 0.3362 Expanded",
        "[3, 5] 0.0222 Rows",
        "[3, 4] 0.0516 CommonCore",
        "[3, 1] 0.0575 CommonCore",
        "[3, 6] 0.0612 CommonCore",
        "[0] 0.1382 Expanded",
        "[0, 3] 0.0860 Rows",
        "[0, 5] 0.0108 Rows",
        "[0, 2] -0.0645 Rows",
        "[0, 4] -0.0026 Rows",
        "[0, 6] 0.0478 Rows",
    ];
    assert_eq!(traced(Arc::new(table), 4, 3, Some(3)), expected);
}

#[test]
fn a_trace_records_every_fate() {
    let mut fates = Vec::new();
    for seed in 0..600 {
        let rows = random_rows(&mut Random(seed), 12 + seed as usize % 30);
        let (k, max_length) = (1 + seed as usize % 3, [None, Some(3)][seed as usize % 2]);
        let lines = traced(Arc::new(build(&rows, false, 1)), 0, k, max_length);
        fates.extend(
            lines
                .iter()
                .filter_map(|line| Some(line.rsplit_once(' ')?.1.to_string())),
        );
    }
    fates.sort_unstable();
    fates.dedup();
    let every = [
        "Behind",
        "CommonCore",
        "Core",
        "Expanded",
        "Finished",
        "NotMinimal",
        "Rows",
        "Waits",
    ];
    assert_eq!(fates, every);
}
