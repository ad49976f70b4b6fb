//! The k best rules seen so far: distinct sets of rows, ties decided by the shortest description.

use crate::bitset::Counts;
use crate::describe::shortest;
use crate::estimator::Score;
use crate::rows::Rows;

pub struct Entry {
    pub value: Score,
    pub counts: Vec<Counts>,
    /// As found; which rows it covers is what makes an entry.
    pub conditions: Vec<u32>,
    /// Looked up when a tie or the end of the search asks for it.
    description: Option<Vec<u32>>,
}

impl Entry {
    pub fn description(&mut self, rows: &dyn Rows, usable: &[u32]) -> &[u32] {
        let conditions = &self.conditions;
        self.description
            .get_or_insert_with(|| shortest(rows, usable, conditions))
    }
}

/// Do two rules with the same counts cover the same rows? Only if both together cover no fewer.
pub fn are_same(rows: &dyn Rows, counts: &[Counts], one: &[u32], other: &[u32]) -> bool {
    let both: Vec<u32> = one.iter().chain(other).copied().collect();
    rows.counts(&[both]) == counts
}

pub struct Top {
    pub k: usize,
    entries: Vec<Entry>,
}

impl Top {
    pub fn new(k: usize) -> Top {
        Top {
            k,
            entries: Vec::new(),
        }
    }

    /// The value that a rule must reach to enter, once there are k rules.
    pub fn threshold(&self) -> Option<Score> {
        let values = self.entries.iter().map(|entry| entry.value);
        if self.entries.len() < self.k {
            None
        } else {
            values.min()
        }
    }

    pub fn best(&self) -> Option<Score> {
        self.entries.iter().map(|entry| entry.value).max()
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn contains(
        &self,
        value: Score,
        counts: &[Counts],
        conditions: &[u32],
        rows: &dyn Rows,
    ) -> bool {
        let mut entries = self.with_value(value);
        entries.any(|entry| {
            entry.counts == counts && are_same(rows, counts, &entry.conditions, conditions)
        })
    }

    pub fn with_value(&self, value: Score) -> impl Iterator<Item = &Entry> {
        let entries = self.entries.iter();
        entries.filter(move |entry| entry.value == value)
    }

    /// Takes in a rule whose rows are not among the entries yet, and lets the worst go if there are too many.
    pub fn insert(
        &mut self,
        value: Score,
        counts: &[Counts],
        conditions: &[u32],
        rows: &dyn Rows,
        usable: &[u32],
    ) {
        self.entries.push(Entry {
            value,
            counts: counts.to_vec(),
            conditions: conditions.to_vec(),
            description: None,
        });
        if self.entries.len() <= self.k {
            return;
        }
        let lowest = self.entries.iter().map(|entry| entry.value).min();
        let tied: Vec<usize> = (0..self.entries.len())
            .filter(|&index| Some(self.entries[index].value) == lowest)
            .collect();
        let worst = if let [only] = tied[..] {
            only
        } else {
            let described = |&index: &usize| {
                let description = self.entries[index].description(rows, usable);
                (description.len(), description.to_vec())
            };
            tied.iter()
                .copied()
                .max_by_key(described)
                .expect("more than one is tied")
        };
        self.entries.swap_remove(worst);
    }

    /// The most conditions that an entry of this value has.
    pub fn longest_description(&mut self, value: Score, rows: &dyn Rows, usable: &[u32]) -> usize {
        let entries = self.entries.iter_mut();
        let tied = entries.filter(|entry| entry.value == value);
        let lengths = tied.map(|entry| entry.description(rows, usable).len());
        lengths.max().unwrap_or(0)
    }

    /// The rules, best first.
    pub fn sorted(&mut self, rows: &dyn Rows, usable: &[u32]) -> Vec<(Score, Vec<u32>)> {
        let described = self.entries.iter_mut().map(|entry| {
            let value = entry.value;
            (value, entry.description(rows, usable).to_vec())
        });
        let mut rules: Vec<_> = described.collect();
        rules.sort_by(|(x, p), (y, q)| y.cmp(x).then((p.len(), p).cmp(&(q.len(), q))));
        rules
    }
}
