//! A list that is made rule by rule: the leaders that are settled, and the rules seen so far that may follow them.
//!
//! A rule is settled when no open branch promises more. Then it may rule out others, so that whatever was seen or put off
//! below it must still be known: rules wait here, branches in the queue of the search.

use crate::describe::shortest;
use crate::estimator::Score;
use crate::front::Front;
use crate::rows::Rows;
use crate::top::are_same;
use crate::wanted::{Leader, Wanted};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

/// How many rules below the best one are remembered (some 80 bytes each); others are looked up again when needed.
pub const REMEMBERED: usize = 200_000;
/// How many rules are compared with the leaders at once.
const TOGETHER: usize = 64;
/// How many rules are looked at for the rest of a list.
const LOOKED_AT: usize = 4_000;

/// A rule that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub value: Score,
    pub n_covered: u64,
    pub conditions: Vec<u32>,
}

impl Candidate {
    fn key(&self) -> (Score, Reverse<usize>, Reverse<&[u32]>) {
        (
            self.value,
            Reverse(self.conditions.len()),
            Reverse(&self.conditions),
        )
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Candidate) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Candidate) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// The best rule seen that may follow the leaders.
pub struct Best {
    pub rule: Candidate,
    pub counts: Vec<u64>,
    pub description: Vec<u32>,
}

pub struct Ideas {
    pub wanted: Wanted,
    /// May rules that are remembered turn out to be redundant?
    irredundant: bool,
    /// Rules are described as they were found: the shortest description may be on columns that are not offered.
    as_found: bool,
    /// Those that were given, then those that were found.
    pub leaders: Arc<Vec<Leader>>,
    /// The rules that are settled: value and shortest description.
    pub found: Vec<(Score, Vec<u32>)>,
    pub best: Option<Best>,
    pool: BinaryHeap<Candidate>,
    /// Taken from the pool and not looked at yet: it stays known if the rows do not answer.
    taken: Vec<Candidate>,
    /// Compared with the best rule already.
    passed: Vec<Candidate>,
    /// What is known of the front, if that is the list.
    pub front: Arc<Front>,
}

impl Ideas {
    pub fn new(wanted: Wanted, leaders: Vec<Leader>, irredundant: bool, as_found: bool) -> Ideas {
        Ideas {
            wanted,
            irredundant,
            as_found,
            leaders: Arc::new(leaders),
            found: Vec::new(),
            best: None,
            pool: BinaryHeap::new(),
            taken: Vec::new(),
            passed: Vec::new(),
            front: Arc::default(),
        }
    }

    /// Is it known that a rule is not on the front?
    fn is_beaten(&self, rule: &Candidate) -> bool {
        rule.n_covered < self.front.min_rows(rule.value)
    }

    /// From now on it is known that this rule may be on the front.
    fn notes(&mut self, rule: &Candidate) {
        if self.wanted == Wanted::Wider && !self.is_beaten(rule) {
            Arc::make_mut(&mut self.front).takes_in(rule.value, rule.n_covered);
        }
    }

    pub fn len(&self) -> usize {
        self.pool.len()
    }

    /// Takes up a rule for later.
    pub fn remember(&mut self, rule: Candidate) {
        if !self.irredundant {
            self.notes(&rule);
        }
        if !self.is_beaten(&rule) {
            self.pool.push(rule);
        }
    }

    /// The rules that are known and not settled.
    pub fn seen(&self) -> impl Iterator<Item = &Candidate> {
        let best = self.best.iter().map(|best| &best.rule);
        best.chain(&self.taken)
            .chain(&self.passed)
            .chain(&self.pool)
    }

    /// The rules that are settled.
    pub fn settled(&self) -> Vec<Candidate> {
        let leaders = &self.leaders[self.leaders.len() - self.found.len()..];
        let found = self.found.iter().zip(leaders);
        let rule = |((value, _), leader): (&(Score, Vec<u32>), &Leader)| Candidate {
            value: *value,
            n_covered: leader.n_covered,
            conditions: leader.conditions.clone(),
        };
        found.map(rule).collect()
    }

    /// Goes back to a list that was put away.
    pub fn restore(&mut self, found: Vec<Candidate>, seen: Vec<Candidate>) {
        for rule in found {
            self.found.push((rule.value, rule.conditions.clone()));
            Arc::make_mut(&mut self.leaders).push(Leader {
                conditions: rule.conditions,
                n_covered: rule.n_covered,
                is_left_out: false,
            });
        }
        for rule in seen {
            self.remember(rule);
        }
    }

    /// Takes up a rule that may be listed: as the best one, or for later.
    pub fn consider(&mut self, rule: Candidate, rows: &dyn Rows, usable: &[u32]) {
        let mut description = None;
        let counts = rows.counts(std::slice::from_ref(&rule.conditions));
        if let Some(best) = &self.best {
            match rule.value.cmp(&best.rule.value) {
                Ordering::Less => return self.passes(rule),
                Ordering::Equal => {
                    let same = !self.as_found
                        && counts == best.counts
                        && are_same(rows, &counts, &best.rule.conditions, &rule.conditions);
                    if same {
                        return;
                    }
                    let found = description.insert(self.describe(&rule, rows, usable));
                    if (found.len(), &*found) > (best.description.len(), &best.description) {
                        return self.passes(rule);
                    }
                }
                Ordering::Greater => {}
            }
        }
        let description = description.unwrap_or_else(|| self.describe(&rule, rows, usable));
        self.notes(&rule);
        let before = self.best.replace(Best {
            rule,
            counts,
            description,
        });
        self.passed.extend(before.map(|best| best.rule));
    }

    fn passes(&mut self, rule: Candidate) {
        self.notes(&rule);
        self.passed.push(rule);
    }

    /// Settles the best rule: from now on it is a leader.
    pub fn settle(&mut self) -> Option<Score> {
        let Best {
            rule, description, ..
        } = self.best.take()?;
        Arc::make_mut(&mut self.leaders).push(Leader {
            conditions: description.clone(),
            n_covered: rule.n_covered,
            is_left_out: false,
        });
        self.found.push((rule.value, description));
        Some(rule.value)
    }

    /// The list is complete: nothing is waited for.
    pub fn end(&mut self) {
        self.pool.clear();
        self.taken.clear();
        self.passed.clear();
    }

    /// Looks for the best rule among those seen that are worth `least` or more.
    pub fn choose(
        &mut self,
        least: Score,
        rows: &dyn Rows,
        usable: &[u32],
        is_redundant: &dyn Fn(&Candidate, &[u64]) -> bool,
    ) {
        self.put_back();
        loop {
            let least = self.best.as_ref().map_or(least, |best| best.rule.value);
            while self.taken.len() < TOGETHER {
                let Some(rule) = self.pool.pop() else { break };
                if rule.value < least {
                    self.pool.push(rule);
                    break;
                }
                self.taken.push(rule);
            }
            if self.taken.is_empty() {
                return self.put_back();
            }
            let asked: Vec<(u64, &[u32])> = self.taken.iter().map(Candidate::rows).collect();
            let mut refused = self.wanted.refuses(rows, &self.leaders, &asked).into_iter();
            self.taken.retain(|_| refused.next() == Some(false));
            // The best comes first; of those below it nothing is asked now.
            while !self.taken.is_empty() {
                let rule = &self.taken[0];
                if self
                    .best
                    .as_ref()
                    .is_some_and(|best| rule.value < best.rule.value)
                {
                    break;
                }
                let counts = rows.counts(std::slice::from_ref(&rule.conditions));
                if !is_redundant(rule, &counts) {
                    self.consider(rule.clone(), rows, usable);
                }
                self.taken.remove(0);
            }
            if !self.taken.is_empty() {
                return self.put_back();
            }
        }
    }

    fn describe(&self, rule: &Candidate, rows: &dyn Rows, usable: &[u32]) -> Vec<u32> {
        if !self.as_found {
            return shortest(rows, usable, &rule.conditions);
        }
        let mut description = rule.conditions.clone();
        description.sort_unstable();
        description
    }

    fn put_back(&mut self) {
        self.pool.extend(self.taken.drain(..));
        self.pool.extend(self.passed.drain(..));
    }

    /// The list so far: what is settled, and what may follow among the rules seen.
    pub fn listed(
        &self,
        k: usize,
        least: Score,
        rows: &dyn Rows,
        usable: &[u32],
        is_redundant: &dyn Fn(&Candidate, &[u64]) -> bool,
    ) -> Vec<(Score, Vec<u32>, Vec<u64>)> {
        let counted = |conditions: &Vec<u32>| rows.counts(std::slice::from_ref(conditions));
        let found = self.found.iter();
        let mut listed: Vec<_> = found
            .map(|(value, rule)| (*value, rule.clone(), counted(rule)))
            .collect();
        for rule in self.next(&self.sorted(), k, least, rows, is_redundant) {
            let description = self.describe(rule, rows, usable);
            listed.push((rule.value, description, counted(&rule.conditions)));
        }
        listed
    }

    /// What the last rule of the list is worth, by what was seen; `None` if that says nothing.
    pub fn last_value(&self, k: usize, rows: &dyn Rows) -> Option<Score> {
        let seen = self.sorted();
        let next = self.next(&seen, k, Score::MIN, rows, &|_, _| false);
        let last = match self.found.len() + next.len() >= k {
            true => next.last().copied(),
            // If so many resemble the leaders, the list leads further down.
            false => seen.get(LOOKED_AT).copied(),
        };
        last.map(|rule| rule.value)
    }

    /// The rules that are known and not settled, best first.
    fn sorted(&self) -> Vec<&Candidate> {
        let mut seen: Vec<&Candidate> = self.seen().collect();
        seen.sort_by(|x, y| y.cmp(x));
        seen
    }

    /// The rules seen that may follow those that are settled, up to k of all, of which only the first is below `least`.
    fn next<'a>(
        &self,
        seen: &[&'a Candidate],
        k: usize,
        least: Score,
        rows: &dyn Rows,
        is_redundant: &dyn Fn(&Candidate, &[u64]) -> bool,
    ) -> Vec<&'a Candidate> {
        let mut leaders = self.leaders.to_vec();
        let mut next = Vec::new();
        for &rule in seen.iter().take(LOOKED_AT) {
            let n_listed = self.found.len() + next.len();
            if n_listed >= k || (rule.value < least && n_listed > 0) {
                break;
            }
            if self.wanted.refuses(rows, &leaders, &[rule.rows()]) == [true] {
                continue;
            }
            if is_redundant(rule, &rows.counts(std::slice::from_ref(&rule.conditions))) {
                continue;
            }
            leaders.push(Leader {
                conditions: rule.conditions.clone(),
                n_covered: rule.n_covered,
                is_left_out: false,
            });
            next.push(rule);
        }
        next
    }
}

impl Candidate {
    pub fn rows(&self) -> (u64, &[u32]) {
        (self.n_covered, &self.conditions)
    }
}
