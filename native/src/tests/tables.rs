//! Counting and describing rows.

use super::*;

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
            assert_eq!(counts_of(&weighted, conditions), counts_of(&expanded, conditions));
        }
    }
}

#[test]
fn a_projection_counts_like_the_whole() {
    let mut random = Random(5);
    for round in 0..200 {
        let n = random.below(300) as usize;
        let mut rows = random_rows(&mut random, n);
        // Without missing values the first two propositions are complements of each other.
        let codes = rows.columns[0].iter_mut();
        codes.for_each(|code| *code = (*code).max(0));
        let missing = [Missing::False, Missing::Unknown][round % 2];
        let table = build_with(&rows, true, 1, missing);
        let complement_of = |new: usize| (new == 3).then_some(0);
        let part = table.project(&table.extension(&[3]), &[1, 4, 6, 0], complement_of);
        for (whole, local) in [
            (vec![3, 1], vec![0]),
            (vec![3, 4, 6], vec![1, 2]),
            (vec![3], vec![]),
            (vec![3, 0], vec![3]),
            (vec![3, 0, 6], vec![3, 2]),
        ] {
            assert_eq!(counts_of(&table, &whole), counts_of(&part, &local));
        }
    }
}

#[test]
fn extensions_of_any_length_count_like_the_table() {
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
        rows.columns[0].iter_mut().for_each(|code| *code = (*code).max(0));
        let table = Arc::new(build_with(&rows, false, 3, missing));
        let extension = Local::new(table.clone()).extension(&[6]);
        let candidates = vec![vec![1, 0, 2, 4], vec![0, 1], vec![5, 2, 1, 0]];
        let children = [3, 4, 2];
        let mut taken = Vec::new();
        extension.counts_of_children(&children, &candidates, &mut |index, found| {
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
        extension.counts(&[0, 1, 4], &mut plain);
        let each = [vec![6], vec![6, 0], vec![6, 1], vec![6, 4]];
        let expected: Vec<u64> = each.iter().flat_map(|rule| counts_of(&table, rule)).collect();
        assert_eq!(expected, plain);
    }
}

#[test]
fn descriptions_are_correct_and_shortest() {
    let mut random = Random(6);
    for _ in 0..300 {
        let n = 1 + random.below(60) as usize;
        let table = Arc::new(build(&random_rows(&mut random, n), false, 1));
        let usable: Vec<u32> = (0..table.propositions.len() as u32).collect();
        let some: Vec<u32> = usable.iter().copied().filter(|_| random.below(2) == 0).collect();
        let rows = table.extension(&some);
        let found = shortest(&Local::new(table.clone()), &usable, &some);
        let subsets = (0u32..1 << usable.len())
            .map(|bits| -> Vec<u32> { usable.iter().copied().filter(|p| bits >> p & 1 == 1).collect() });
        let right = subsets.filter(|subset| table.extension(subset) == rows);
        assert_eq!(
            found,
            right.min_by_key(|subset| (subset.len(), subset.clone())).unwrap()
        );
    }
}

#[test]
fn counts_and_values_eight_at_a_time_equal_single_ones() {
    let mut random = Random(12);
    for round in 0..40 {
        let missing = [Missing::False, Missing::Unknown][round % 2];
        // In one part or in several; with and without complements among the children.
        let n = [30, 400, 3000, 40_000][round % 4];
        let mut sample = random_rows(&mut random, n);
        if round % 3 != 0 {
            let codes = sample.columns.iter_mut().flatten();
            codes.for_each(|code| *code = (*code).max(0));
        }
        let table = Arc::new(build_with(&sample, round % 5 == 0, 2, missing));
        let rows = Local::new(table.clone());
        let width = table.layout.width();
        let order: Vec<u32> = (0..table.propositions.len() as u32).rev().collect();
        let children: Vec<usize> = (0..order.len()).step_by(1 + round % 2).rev().collect();
        let parent = rows.extension(&[1]);
        let estimators = [0, 4].map(|kind| estimator(kind, &table.layout));
        let mut n_seen = 0;
        let asked = parent.counts_in_lanes(&order, &children, &mut |child, own, blocks, places| {
            assert_eq!(own, rows.counts(&[vec![1, order[child]]]));
            for (block, places) in blocks.chunks(width).zip(places.chunks(LANES)) {
                let values = estimators.each_ref().map(|estimator| estimator.values(block, 2));
                for (lane, [index, complement]) in places.iter().enumerate() {
                    let counts: Vec<u64> = block.iter().map(|lanes| lanes[lane]).collect();
                    let condition = order[index.unwrap() as usize];
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
fn bits_equal_those_set_row_by_row() {
    let mut random = Random(21);
    for round in 0..300 {
        let n = random.below([3, 200, 1000][round % 3]) as usize;
        let mut rows = random_rows(&mut random, n);
        if round % 4 == 0 {
            rows.columns[2].iter_mut().for_each(|code| *code *= 40_000);
        }
        let reference: Option<Vec<u8>> = (round % 5 == 0).then(|| (0..n).map(|_| random.below(2) as u8).collect());
        let missing = [Missing::False, Missing::Unknown, Missing::UnknownAnywhere][round % 3];
        let weighted = round % 2 == 0;
        let table = build_from(
            &rows,
            weighted,
            1 + random.below(3) as usize,
            missing,
            reference.as_deref(),
        );
        let n_cells = 2 * N_STRATA;
        for (index, proposition) in table.propositions.iter().enumerate() {
            let mut expected = vec![0; table.layout.width()];
            for row in 0..n {
                let cell = 2 * rows.strata[row] as usize + usize::from(rows.outcomes[row]);
                let weight = if weighted { rows.weights[row] } else { 1 };
                let code = rows.columns[proposition.column][row];
                let holds = proposition.low <= code && code <= proposition.high;
                if reference.as_deref().is_some_and(|r| r[row] != 0) {
                    continue;
                }
                expected[cell] += if holds { weight } else { 0 };
                if matches!(table.layout.sides, Sides::Possible) && (holds || code < 0) {
                    expected[n_cells + cell] += weight;
                }
            }
            if matches!(table.layout.sides, Sides::Reference(_)) {
                let is_reference = proposition.excludes(&REFERENCE);
                expected[n_cells] = u64::from(!is_reference);
            }
            assert_eq!(counts_of(&table, &[index as u32]), expected);
        }
    }
}

#[test]
fn thin_segments_share_words() {
    const N_LEVELS: usize = 16;
    let mut random = Random(22);
    for n_strata in [1, 20, 200] {
        let n = 3000;
        let mut column = |size: u64| -> Vec<i32> { (0..n).map(|_| random.below(size) as i32).collect() };
        let (strata, codes, outcomes) = (column(n_strata), [column(4), column(3)], column(N_LEVELS as u64));
        let outcomes: Vec<u16> = outcomes.iter().map(|&level| level as u16).collect();
        let condition = |column, low, high| Proposition { column, low, high };
        let plan = Plan {
            propositions: vec![condition(0, 0, 0), condition(0, 1, 3), condition(1, 0, 1)],
            n_columns: 2,
            n_strata: n_strata as usize,
            n_levels: N_LEVELS,
            weight_bits: 1,
            missing: Missing::False,
            reference: None,
        };
        let mut builder = Builder::new(fastest(), plan);
        let batch = Batch {
            strata: &strata,
            outcomes: &outcomes,
            weights: None,
            reference: None,
            columns: codes.iter().map(Vec::as_slice).collect(),
        };
        builder.size(&batch).unwrap();
        builder.fill(&batch).unwrap();
        let table = builder.finish().unwrap();
        assert!(table.words <= 2 * n / 64 + 1, "{} words for {n} rows", table.words);
        let rows = table.extension(&[1]);
        let part = table.project(&rows, &[2, 0], |_| None);
        assert!(part.words <= table.words);
        let mut expected = vec![0; table.layout.width()];
        for row in 0..n {
            if codes[0][row] > 0 && codes[1][row] < 2 {
                expected[strata[row] as usize * N_LEVELS + usize::from(outcomes[row])] += 1;
            }
        }
        assert_eq!(counts_of(&table, &[1, 2]), expected);
        assert_eq!(counts_of(&part, &[0]), expected);
    }
}
