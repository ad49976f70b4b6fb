//! The k best rules seen so far: distinct sets of rows, ties decided by the shortest description.

use crate::rows::Rows;
use crate::score::Score;
use crate::search::describe::shortest;

pub struct Entry {
    pub value: Score,
    pub counts: Vec<u64>,
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
pub fn are_same(rows: &dyn Rows, counts: &[u64], one: &[u32], other: &[u32]) -> bool {
    let both: Vec<u32> = one.iter().chain(other).copied().collect();
    rows.counts(&[both]) == counts
}

pub struct Top {
    pub k: usize,
    entries: Vec<Entry>,
    /// Rules are described as they were found: the shortest description may be on columns that are not offered.
    /// Of the same rows found twice, the shorter description stays.
    as_found: bool,
}

impl Top {
    pub fn new(k: usize, as_found: bool) -> Top {
        Top {
            k,
            entries: Vec::new(),
            as_found,
        }
    }

    fn description_of(&self, conditions: &[u32]) -> Option<Vec<u32>> {
        self.as_found.then(|| {
            let mut description = conditions.to_vec();
            description.sort_unstable();
            description
        })
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

    /// Is the same set of rows among the entries already, and worth no less? (It is worth more where it has been found
    /// with fewer conditions, and these count.)
    pub fn contains(
        &self,
        value: Score,
        counts: &[u64],
        conditions: &[u32],
        rows: &dyn Rows,
    ) -> bool {
        let place = self.place_of(counts, conditions, rows);
        place.is_some_and(|place| {
            let entry = &self.entries[place];
            let known = entry.description.as_ref().filter(|_| self.as_found);
            let is_shorter = |known: &Vec<u32>| {
                let new = self.description_of(conditions).unwrap_or_default();
                (new.len(), &new) < (known.len(), known)
            };
            entry.value > value || entry.value == value && !known.is_some_and(is_shorter)
        })
    }

    /// Where the entry is that covers the same rows.
    fn place_of(&self, counts: &[u64], conditions: &[u32], rows: &dyn Rows) -> Option<usize> {
        self.entries.iter().position(|entry| {
            entry.counts == counts && are_same(rows, counts, &entry.conditions, conditions)
        })
    }

    pub fn with_value(&self, value: Score) -> impl Iterator<Item = &Entry> {
        let entries = self.entries.iter();
        entries.filter(move |entry| entry.value == value)
    }

    /// Takes in a rule that is not contained yet. The same rows with a lower value, or the worst of all where there are
    /// too many, make room for it.
    pub fn insert(
        &mut self,
        value: Score,
        counts: &[u64],
        conditions: &[u32],
        rows: &dyn Rows,
        usable: &[u32],
    ) {
        let description = self.description_of(conditions);
        if let Some(place) = self.place_of(counts, conditions, rows) {
            let entry = &mut self.entries[place];
            (entry.value, entry.conditions) = (value, conditions.to_vec());
            entry.description = description.or(entry.description.take());
            return;
        }
        let mut new = Entry {
            value,
            counts: counts.to_vec(),
            conditions: conditions.to_vec(),
            description,
        };
        if self.entries.len() < self.k {
            self.entries.push(new);
            return;
        }
        // Descriptions are looked up before anything changes: rows that are elsewhere may not answer.
        let values = self.entries.iter().map(|entry| entry.value);
        let lowest = values.min().unwrap_or(Score::MIN).min(value);
        let described = |entry: &mut Entry| {
            let description = entry.description(rows, usable);
            (description.len(), description.to_vec())
        };
        let tied: Vec<usize> = (0..self.entries.len())
            .filter(|&index| self.entries[index].value == lowest)
            .collect();
        let worst = match tied[..] {
            [] => return,
            [only] if value > lowest => only,
            _ => {
                let mut worst = (tied[0], described(&mut self.entries[tied[0]]));
                for &index in &tied[1..] {
                    let description = described(&mut self.entries[index]);
                    if description > worst.1 {
                        worst = (index, description);
                    }
                }
                if value == lowest && described(&mut new) >= worst.1 {
                    return;
                }
                worst.0
            }
        };
        self.entries[worst] = new;
    }

    /// The most conditions that an entry of this value has.
    pub fn longest_description(&mut self, value: Score, rows: &dyn Rows, usable: &[u32]) -> usize {
        let entries = self.entries.iter_mut();
        let tied = entries.filter(|entry| entry.value == value);
        let lengths = tied.map(|entry| entry.description(rows, usable).len());
        lengths.max().unwrap_or(0)
    }

    /// The rules, best first, each with the value that `value` gives it for its counts and number of conditions, if
    /// that is higher: the search may have been stopped before it came to a shorter description.
    pub fn sorted(
        &mut self,
        rows: &dyn Rows,
        usable: &[u32],
        value: impl Fn(&[u64], usize) -> Score,
    ) -> Vec<(Score, Vec<u32>)> {
        let described = self.entries.iter_mut().map(|entry| {
            let description = entry.description(rows, usable).to_vec();
            let value = value(&entry.counts, description.len());
            (entry.value.max(value), description)
        });
        let mut rules: Vec<_> = described.collect();
        rules.sort_by(|(x, p), (y, q)| y.cmp(x).then((p.len(), p).cmp(&(q.len(), q))));
        rules
    }
}
