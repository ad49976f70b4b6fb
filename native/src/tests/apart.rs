//! What a branch can reach beside a leader.

use super::*;
use crate::apart::bounds;
use crate::rulebook::Rulebook;
use crate::wanted::{Leader, Reach};

#[test]
fn no_rule_beside_a_leader_exceeds_the_bound() {
    let mut random = Random(13);
    let mut n_lower = 0;
    for round in 0..3000 {
        let missing = [Missing::False, Missing::Unknown][round % 2];
        let mut sample = random_rows(&mut random, [12, 60, 400][round % 3]);
        if random.below(4) > 0 {
            // In one stratum nearly every limit counts.
            sample.strata.fill(0);
        }
        let rows: Arc<dyn Rows> = Arc::new(Local::new(Arc::new(build_with(
            &sample,
            round % 5 == 0,
            1,
            missing,
        ))));
        let mut order: Vec<u32> = (0..propositions().len() as u32).collect();
        order.sort_by_cached_key(|_| random.next());
        let (conditions, rest) = order.split_at(random.below(2) as usize);
        let candidates = &rest[..2 + random.below(3) as usize];
        let estimator = estimator([0, 4][round / 2 % 2], rows.layout());
        let book = Rulebook {
            rows: rows.clone(),
            estimator,
            usable: order.clone(),
            max_length: None,
            min_rows: 1,
            irredundant: false,
            one_by_one: true,
            offered: None,
        };
        let counts = |conditions: &[u32]| rows.counts(&[conditions.to_vec()]);
        let n_covered = |conditions: &[u32]| rows.layout().n_covered(&counts(conditions));
        let leader = vec![order[random.below(7) as usize]; 1 + random.below(2) as usize];
        let leader = Leader {
            n_covered: n_covered(&leader),
            conditions: leader,
            is_left_out: random.below(9) == 0,
        };
        let similarity = [0.2, 1.0 / 3.0, 0.5, 0.8, 1.0][random.below(5) as usize];
        let core = [conditions, candidates].concat();
        let reach = Reach {
            conditions,
            candidates,
            least: n_covered(&core),
            most: n_covered(conditions),
            length: conditions.len() + 1,
        };
        let goal = crate::estimator::from_number([-1.0, 0.0, 0.05, 0.2][random.below(4) as usize]);
        let leaders = [leader];
        let bound = bounds(&book, &leaders, &[reach], similarity, goal)[0];
        let alone = book.bound(
            &counts(&core),
            &counts(conditions),
            conditions.len() + 1,
            goal,
        );
        n_lower += usize::from(bound < alone);
        for subset in 1..1u32 << candidates.len() {
            let chosen = candidates
                .iter()
                .enumerate()
                .filter(|(bit, _)| subset >> bit & 1 == 1);
            let rule: Vec<u32> = conditions
                .iter()
                .chain(chosen.map(|(_, c)| c))
                .copied()
                .collect();
            let refused = Wanted::Different(similarity).refuses(
                &*rows,
                &leaders,
                &[(n_covered(&rule), &rule)],
            );
            if book.is_rule(&counts(&rule)) && refused == [false] {
                let value = book.value(&counts(&rule), rule.len());
                assert!(bound >= Some(value), "{bound:?} < {value}, {rule:?}");
            }
        }
    }
    assert!(
        n_lower > 300,
        "lower than without the leader only {n_lower} times"
    );
}
