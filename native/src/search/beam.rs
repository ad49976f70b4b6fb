//! A quick look for good rules, so that the search has something to beat from the beginning.

use crate::score::Score;
use crate::search::Search;

/// How many rules the look ahead carries from one length to the next.
const BEAM: usize = 16;
/// One condition at a time is added to the few best rules, as long as that makes the best better.
pub struct Beam {
    rules: Vec<Vec<u32>>,
    /// How many of the rules have been made longer, and what came out.
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
    /// Makes one rule longer in every way; is there more to do?
    pub fn step(&mut self, search: &Search) -> bool {
        let book = &search.book;
        let Some(rule) = self.rules.get(self.done) else {
            return self.begin_next_length(search);
        };
        self.done += 1;
        let width = book.layout().width();
        let length = rule.len() + 1;
        let mut counts = Vec::new();
        book.rows.extension(rule).counts(&book.usable, &mut counts);
        for (&proposition, counts) in book.usable.iter().zip(counts[width..].chunks(width)) {
            let value = book.value(counts, length);
            if book.is_rule(counts, value) && !rule.contains(&proposition) {
                let longer_rule = rule.iter().copied().chain([proposition]).collect();
                self.longer.push((value, longer_rule, counts.to_vec()));
            }
        }
        self.keep_best();
        true
    }

    fn keep_best(&mut self) {
        self.longer.sort_by(|x, y| (y.0, &x.1).cmp(&(x.0, &y.1)));
        // Rules of equal value are mostly the same rows said differently.
        self.longer.dedup_by_key(|(value, ..)| *value);
        self.longer.truncate(BEAM);
    }

    fn begin_next_length(&mut self, search: &Search) -> bool {
        for (value, rule, counts) in &self.longer {
            search.offer(*value, counts, rule);
        }
        let found = std::mem::take(&mut self.longer);
        let Some((value, rule, _)) = found.first() else {
            return false;
        };
        let is_better = *value > self.best && search.book.room_after(rule.len()) != Some(0);
        self.best = *value;
        self.rules = found.into_iter().map(|(_, rule, _)| rule).collect();
        self.done = 0;
        is_better
    }
}
