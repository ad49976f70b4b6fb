//! What a branch can reach beside a leader.

use super::*;
use crate::apart::bounds;
use crate::rulebook::Rulebook;
use crate::wanted::{Leader, Reach};

/// A random branch, and a leader that its rules may resemble.
pub struct Scene {
    pub rows: Arc<dyn Rows>,
    pub book: Rulebook,
    pub conditions: Vec<u32>,
    pub candidates: Vec<u32>,
    pub leaders: Vec<Leader>,
    pub similarity: f64,
    pub goal: Score,
}

impl Scene {
    pub fn draw(random: &mut Random, round: usize) -> Scene {
        let missing = [Missing::False, Missing::Unknown][round % 2];
        let mut sample = random_rows(random, [12, 60, 400][round % 3]);
        if random.below(4) > 0 {
            // In one stratum nearly every limit counts.
            sample.strata.fill(0);
        }
        let table = build_with(&sample, round.is_multiple_of(5), 1, missing);
        let rows: Arc<dyn Rows> = Arc::new(Local::new(Arc::new(table)));
        let mut order: Vec<u32> = (0..propositions().len() as u32).collect();
        order.sort_by_cached_key(|_| random.next());
        let (conditions, rest) = order.split_at(random.below(2) as usize);
        let candidates = &rest[..2 + random.below(3) as usize];
        let book = Rulebook {
            rows: rows.clone(),
            estimator: estimator([0, 4][round / 2 % 2], rows.layout()),
            usable: order.clone(),
            max_length: None,
            min_rows: 1,
            irredundant: false,
            one_by_one: true,
            offered: None,
        };
        let leader = vec![order[random.below(7) as usize]; 1 + random.below(2) as usize];
        let mut scene = Scene {
            rows,
            book,
            conditions: conditions.to_vec(),
            candidates: candidates.to_vec(),
            leaders: Vec::new(),
            similarity: [0.2, 1.0 / 3.0, 0.5, 0.8, 1.0][random.below(5) as usize],
            goal: crate::estimator::from_number([-1.0, 0.0, 0.05, 0.2][random.below(4) as usize]),
        };
        scene.leaders.push(Leader {
            n_covered: scene.n_covered(&leader),
            conditions: leader,
            is_left_out: random.below(9) == 0,
        });
        scene
    }

    pub fn counts(&self, conditions: &[u32]) -> Vec<u64> {
        self.rows.counts(&[conditions.to_vec()])
    }

    pub fn n_covered(&self, conditions: &[u32]) -> u64 {
        self.rows.layout().n_covered(&self.counts(conditions))
    }

    /// The rules of the branch that may be listed.
    pub fn rules(&self, wanted: Wanted) -> Vec<Vec<u32>> {
        let subsets = 1..1u32 << self.candidates.len();
        let rules = subsets.map(|subset| {
            let places = 0..self.candidates.len();
            let chosen = places.filter(|bit| subset >> bit & 1 == 1);
            let chosen = chosen.map(|place| self.candidates[place]);
            self.conditions.iter().copied().chain(chosen).collect()
        });
        let is_wanted = |rule: &Vec<u32>| {
            let asked = [(self.n_covered(rule), &rule[..])];
            let counts = self.counts(rule);
            self.book
                .is_rule(&counts, self.book.value(&counts, rule.len()))
                && wanted.refuses(&*self.rows, &self.leaders, &asked) == [false]
        };
        rules.filter(is_wanted).collect()
    }
}

#[test]
fn no_rule_beside_a_leader_exceeds_the_bound() {
    let mut random = Random(13);
    let mut n_lower = 0;
    for round in 0..3000 {
        let scene = Scene::draw(&mut random, round);
        let Scene {
            book,
            conditions,
            candidates,
            leaders,
            similarity,
            goal,
            ..
        } = &scene;
        let core = [&conditions[..], candidates].concat();
        let length = conditions.len() + 1;
        let reach = Reach {
            conditions,
            candidates,
            least: scene.n_covered(&core),
            most: scene.n_covered(conditions),
            length,
        };
        let bound = bounds(book, leaders, &[reach], *similarity, *goal)[0];
        let [low, high] = [scene.counts(&core), scene.counts(conditions)];
        n_lower += usize::from(bound < book.bound(&low, &high, length, *goal));
        for rule in scene.rules(Wanted::Different(*similarity)) {
            let value = book.value(&scene.counts(&rule), rule.len());
            assert!(bound >= Some(value), "{bound:?} < {value}, {rule:?}");
        }
    }
    assert!(
        n_lower > 300,
        "lower than without the leader only {n_lower} times"
    );
}
