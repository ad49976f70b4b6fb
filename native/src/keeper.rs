//! The judge of a search: compares what is found with the k best rules so far, or with the next rule of a list.

use crate::branch::Branch;
use crate::estimator::Score;
use crate::front::Front;
use crate::ideas::{Candidate, REMEMBERED};
use crate::judge::{Judge, Verdict};
use crate::search::{lock, Search};
use crate::wanted::{Leader, Wanted};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

/// Keeps the k best rules, or hands on those that may be the next of a list.
pub struct Keeper<'a> {
    search: &'a Search,
    offers: Vec<Candidate>,
    /// What was known of the front at the beginning, if that is the list.
    front: Option<Arc<Front>>,
}

impl<'a> Keeper<'a> {
    pub fn new(search: &'a Search) -> Keeper<'a> {
        Keeper {
            search,
            offers: Vec::new(),
            front: search.front(),
        }
    }

    /// Takes up what was offered for a list that is made rule by rule: all at once, because rows that are elsewhere are
    /// asked once then.
    pub fn flush(&mut self, leaders: &[Leader]) {
        if self.offers.is_empty() {
            return;
        }
        let search = self.search;
        let (rows, usable) = (&*search.book.rows, &search.book.usable);
        let threshold = search.goal.threshold.load(Relaxed);
        let offers = std::mem::take(&mut self.offers);
        let (good, later): (Vec<Candidate>, Vec<Candidate>) =
            offers.into_iter().partition(|rule| rule.value >= threshold);
        let asked: Vec<(u64, &[u32])> = good.iter().map(Candidate::rows).collect();
        let refused = search.options.wanted.refuses(rows, leaders, &asked);
        let layout = rows.layout();
        let mut allowed: Vec<Candidate> = good
            .into_iter()
            .zip(refused)
            .filter_map(|(rule, refused)| (!refused).then_some(rule))
            .collect();
        allowed.sort_by(|x, y| y.cmp(x));
        for rule in allowed {
            if rule.value < search.goal.threshold.load(Relaxed) {
                lock(&search.ideas).remember(rule);
                continue;
            }
            if search.is_irredundant() {
                let counts = rows.counts(std::slice::from_ref(&rule.conditions));
                debug_assert_eq!(layout.n_covered(&counts), rule.n_covered);
                if search.is_redundant(rule.value, &counts, &rule.conditions) {
                    continue;
                }
            }
            let mut ideas = lock(&search.ideas);
            ideas.consider(rule, rows, usable);
            search.raises(&ideas);
        }
        let mut ideas = lock(&search.ideas);
        let least = search.options.least();
        for rule in later.into_iter().filter(|rule| rule.value >= least) {
            ideas.remember(rule);
        }
        search.n_waiting.store(ideas.len(), Relaxed);
        search.expects_more(&ideas);
    }
}

impl Judge for Keeper<'_> {
    fn verdict(&self, bound: Score, length: usize) -> Verdict {
        self.search.verdict(bound, length)
    }

    fn goal(&self) -> Score {
        self.search.goal.threshold.load(Relaxed)
    }

    fn keeps_from(&self) -> Score {
        match self.search.has_room_to_keep() {
            true => self.goal().min(self.search.last_value.load(Relaxed)),
            false => self.goal(),
        }
    }

    fn is_too_long(&self, length: usize) -> bool {
        self.search.is_too_long(length)
    }

    fn offers_from(&self) -> Score {
        let threshold = self.goal();
        if !self.search.is_one_by_one() {
            threshold
        } else if self.search.n_waiting.load(Relaxed) < REMEMBERED {
            threshold.min(self.search.options.least())
        } else {
            threshold
        }
    }

    fn min_rows(&self, value: Score) -> u64 {
        let front = self.front.as_ref();
        let least = front.map_or(0, |front| front.min_rows(value));
        least.max(self.search.least_rows.load(Relaxed))
    }

    fn is_known(&self, branch: &Branch) -> bool {
        let search = self.search;
        // Where not all columns are offered, another branch may hold the description that is.
        if search.book.offered.is_some() || branch.bound != self.goal() {
            return false;
        }
        if search.is_one_by_one() {
            let ideas = lock(&search.ideas);
            let best = ideas.best.as_ref();
            let best = best.filter(|best| best.rule.value == branch.bound);
            return best.is_some_and(|best| branch.leads_only_to(&best.counts, &best.description));
        }
        let top = lock(&search.top);
        let mut tied = top.with_value(branch.bound);
        tied.any(|entry| branch.leads_only_to(&entry.counts, &entry.conditions))
    }

    fn offer(&mut self, value: Score, counts: &[u64], conditions: &[u32]) {
        let search = self.search;
        let offered = search.book.offered.as_ref();
        let is_offered = || offered.is_none_or(|offered| offered.has(conditions));
        if search.is_one_by_one() {
            if !is_offered() {
                return;
            }
            self.offers.push(Candidate {
                value,
                n_covered: search.book.layout().n_covered(counts),
                conditions: conditions.to_vec(),
            });
            return;
        }
        if value < self.goal() || !is_offered() {
            return;
        }
        let rows = &*search.book.rows;
        if lock(&search.top).contains(value, counts, conditions, rows) {
            return;
        }
        if search.options.wanted != Wanted::Any {
            let leaders = lock(&search.ideas).leaders.clone();
            let rule = (search.book.layout().n_covered(counts), conditions);
            if search.options.wanted.refuses(rows, &leaders, &[rule]) == [true] {
                return;
            }
        }
        if !search.is_redundant(value, counts, conditions) {
            search.takes_in(value, counts, conditions);
        }
    }
}
