//! Rules that are looked for by rows.

use super::apart::Scene;
use super::*;
use crate::classes::{Classes, Grouped};
use crate::look::{Aim, Deciding, Look, Looked};
use crate::rulebook::TIED;
use std::time::Instant;

impl Scene {
    fn look(&self, wanted: Wanted) -> Look {
        let others = wanted.compared(&self.leaders).iter();
        let others: Vec<&[u32]> = others.map(|leader| &leader.conditions[..]).collect();
        let classes = self
            .rows
            .classes(&self.conditions, &self.candidates, &others, LONG);
        Look::new(classes.unwrap())
    }

    fn deciding(&self, wanted: Wanted, (goal, tie_length): Aim) -> Deciding<'_> {
        Deciding {
            book: &self.book,
            wanted,
            leaders: &self.leaders,
            n_conditions: self.conditions.len(),
            short: 0,
            goal,
            tie_length,
        }
    }

    /// The rule with the candidates at these places.
    fn rule(&self, places: Vec<usize>) -> Vec<u32> {
        let members = places.into_iter().map(|place| self.candidates[place]);
        self.conditions.iter().copied().chain(members).collect()
    }
}

const LONG: Duration = Duration::from_secs(100);

#[test]
fn all_rules_that_reach_the_goal_are_found_and_others_do_not_exceed_the_bound() {
    let mut random = Random(17);
    let (mut n_found, mut n_left) = (0, 0);
    for round in 0..6000 {
        let scene = Scene::draw(&mut random, round);
        let similar = Wanted::Different(scene.similarity);
        let wanted = [
            Wanted::Any,
            similar,
            Wanted::Wider,
            Wanted::Near(scene.similarity),
        ];
        let wanted = wanted[random.below(4) as usize];
        let aim = (scene.goal, None);
        let deciding = scene.deciding(wanted, aim);
        let mut found = Vec::new();
        let look = scene.look(wanted);
        let looked = look.goes_on(deciding, Instant::now() + LONG, &mut |places| {
            found.push(scene.rule(places));
            Some(aim)
        });
        let Looked::Done(bound) = looked else {
            panic!("a look at a few rows comes to its end");
        };
        assert!(bound < Some(scene.goal));
        let own = scene.counts(&scene.conditions);
        for rule in scene.rules(wanted) {
            let (counts, value) = {
                let counts = scene.counts(&rule);
                let value = scene.book.value(&counts, rule.len());
                (counts, value)
            };
            if counts == own {
                continue; // none of its candidates excludes a row
            }
            if value < scene.goal {
                n_left += 1;
                assert!(bound >= Some(value), "{bound:?} < {value}, {rule:?}");
                continue;
            }
            let is_same = |other: &Vec<u32>| {
                let both = [&rule[..], other].concat();
                scene.counts(other) == counts && scene.counts(&both) == counts
            };
            assert!(found.iter().any(is_same), "{rule:?} is not in {found:?}");
            n_found += 1;
        }
    }
    assert!(
        n_found > 3000 && n_left > 3000,
        "{n_found} found, {n_left} left"
    );
}

#[test]
fn all_rules_that_win_a_tie_are_found_even_if_ties_did_not_count_at_first() {
    let mut random = Random(23);
    let mut n_found = 0;
    for round in 0..4000 {
        let scene = Scene::draw(&mut random, round);
        let wanted = [Wanted::Any, Wanted::Different(scene.similarity)];
        let wanted = wanted[random.below(2) as usize];
        let own = scene.counts(&scene.conditions);
        let excludes = |rule: &Vec<u32>| scene.counts(rule) != own;
        let rules: Vec<Vec<u32>> = scene.rules(wanted).into_iter().filter(excludes).collect();
        let value = |rule: &Vec<u32>| scene.book.value(&scene.counts(rule), rule.len());
        // The best but for a few.
        let mut values: Vec<Score> = rules.iter().map(value).collect();
        values.sort_unstable_by(|x, y| y.cmp(x));
        let Some(&threshold) = values.get(random.below(4) as usize) else {
            continue;
        };
        let look = scene.look(wanted);
        let mut found = Vec::new();
        let longest = scene.conditions.len() + 1 + random.below(3) as usize;
        // Ties do not count until the end, or until a few states have been decided.
        let n_first = [random.below(8), u64::MAX][random.below(2) as usize];
        let mut ties_count = false;
        for step in 0.. {
            let aim = match ties_count {
                true => (threshold, Some(longest)),
                false => (threshold + TIED, None),
            };
            let deciding = scene.deciding(wanted, aim);
            let looked = look.goes_on(deciding, Instant::now(), &mut |places| {
                found.push(scene.rule(places));
                Some(aim)
            });
            match looked {
                Looked::Done(_) if ties_count || !look.waits_for_ties() => break,
                Looked::Done(_) => ties_count = true,
                _ => ties_count |= step >= n_first,
            }
        }
        for rule in rules.iter().filter(|rule| rule.len() <= longest) {
            if value(rule) == threshold {
                let is_same = |other: &Vec<u32>| {
                    let both = [&rule[..], other].concat();
                    let counts = scene.counts(rule);
                    scene.counts(other) == counts && scene.counts(&both) == counts
                };
                assert!(found.iter().any(is_same), "{rule:?} is not in {found:?}");
                n_found += 1;
            }
        }
    }
    assert!(n_found > 1000, "{n_found} found");
}

#[test]
fn classes_are_the_rows_by_what_they_fail() {
    let mut random = Random(19);
    for round in 0..300 {
        let sample = random_rows(&mut random, [12, 200][round % 2]);
        let table = build(&sample, round % 3 == 0, 1);
        let candidates: Vec<u32> = (0..propositions().len() as u32).collect();
        let classes = Classes::of(&Grouped {
            table: &table,
            rows: &table.all,
            candidates: &candidates,
            leaders: &[],
        });
        let classes = classes.unwrap();
        // Every conjunction covers the classes that fail none of its conditions.
        for subset in 0..1u32 << candidates.len() {
            let rule = candidates.iter().filter(|&&c| subset >> c & 1 == 1);
            let rule: Vec<u32> = rule.copied().collect();
            let mut counts = vec![0; table.layout.width()];
            for (fails, class) in classes.each() {
                if fails[0] & u64::from(subset) == 0 {
                    for (sum, count) in counts.iter_mut().zip(class) {
                        *sum += count;
                    }
                }
            }
            assert_eq!(counts, counts_of(&table, &rule));
        }
    }
}
