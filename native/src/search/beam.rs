//! A beam search for good rules, so that the exact search starts with a high goal. It only saves work: the exact search
//! would find the same rules.

use super::Search;
use crate::score::Score;

/// How many rules are carried from one length to the next.
const WIDTH: usize = 16;

/// Adds one condition at a time to the few best rules, while that improves the best one.
#[derive(Clone)]
pub struct Beam {
    rules: Vec<Vec<u32>>,
    /// The number of rules extended so far, and the results.
    done: usize,
    longer: Vec<(Score, Vec<u32>, Vec<u64>)>,
    best: Score,
}

impl Default for Beam {
    fn default() -> Beam {
        Beam {
            rules: vec![Vec::new()],
            done: 0,
            longer: Vec::new(),
            best: Score::MIN,
        }
    }
}

impl Beam {
    /// Extends one rule in every way; returns whether work is left.
    pub fn step(&mut self, search: &Search) -> bool {
        let source = &search.first;
        let Some(rule) = self.rules.get(self.done) else {
            return self.begin_next_length(search);
        };
        let width = source.layout().width();
        let length = rule.len() + 1;
        let mut counts = Vec::new();
        let extension = source.rows.extension(rule);
        extension.counts(&source.candidates, &mut counts);
        let each = source.candidates.iter().zip(counts[width..].chunks(width));
        for (&proposition, counts) in each {
            let value = source.value(counts, length);
            if source.is_rule(counts, value) && !rule.contains(&proposition) {
                let longer_rule = rule.iter().copied().chain([proposition]).collect();
                self.longer.push((value, longer_rule, counts.to_vec()));
            }
        }
        self.done += 1;
        self.keep_best();
        true
    }

    fn keep_best(&mut self) {
        self.longer.sort_by(|x, y| (y.0, &x.1).cmp(&(x.0, &y.1)));
        // Rules of equal value mostly cover the same rows.
        self.longer.dedup_by_key(|(value, ..)| *value);
        self.longer.truncate(WIDTH);
    }

    fn begin_next_length(&mut self, search: &Search) -> bool {
        for (value, rule, counts) in &self.longer {
            search.offer(&search.first, *value, counts, rule);
        }
        let found = std::mem::take(&mut self.longer);
        let Some((value, rule, _)) = found.first() else {
            return false;
        };
        let is_better = *value > self.best && search.first.room_after(rule.len()) != Some(0);
        self.best = *value;
        self.rules = found.into_iter().map(|(_, rule, _)| rule).collect();
        self.done = 0;
        is_better
    }
}
