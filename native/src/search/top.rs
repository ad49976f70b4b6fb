//! The k best rules so far: distinct sets of rows, ties decided by the shortest description.
//!
//! It never queries rows itself, since they may be remote and the list is locked: if it cannot decide, it returns a
//! [`Question`]; the search answers it without the lock and tries again. Nothing changes until then.

use super::describe::shortest;
use crate::rows::Rows;
use crate::score::Score;

pub struct Entry {
    /// Never reused for another set of rows.
    id: u64,
    pub value: Score,
    pub counts: Vec<u64>,
    /// As found; an entry is identified by the rows that it covers.
    pub conditions: Vec<u32>,
    /// Determined when a tie or the end of the search needs it.
    description: Option<Vec<u32>>,
}

/// A fact about rows that the list needs to decide.
pub enum Question {
    /// Does the offered rule cover the same rows as an entry with these conditions?
    Same(u64, Vec<u32>),
    /// The shortest description of an entry.
    Entry(u64, Vec<u32>),
    /// The shortest description of the offered rule.
    Offer,
}

/// An offered rule, with what is known about it.
pub struct Offer {
    pub value: Score,
    counts: Vec<u64>,
    conditions: Vec<u32>,
    description: Option<Vec<u32>>,
    /// Entries with the same counts, and whether they cover the same rows.
    same: Vec<(u64, bool)>,
}

/// The order among ties: by length, then by the numbers of the conditions.
fn name(description: &[u32]) -> (usize, &[u32]) {
    (description.len(), description)
}

impl Offer {
    /// `as_found`: the description is what the rule was found by, see [`Top::as_found`].
    pub fn new(value: Score, counts: &[u64], conditions: &[u32], as_found: bool) -> Offer {
        let mut description = conditions.to_vec();
        description.sort_unstable();
        Offer {
            value,
            counts: counts.to_vec(),
            conditions: conditions.to_vec(),
            description: as_found.then_some(description),
            same: Vec::new(),
        }
    }

    fn is_same(&self, entry: &Entry) -> Option<bool> {
        let known = self.same.iter().find(|(id, _)| *id == entry.id);
        known.map(|&(_, is_same)| is_same)
    }

    /// Answers a question about this rule; returns the id and the description of an entry, if the question is about one.
    pub fn answer(&mut self, question: Question, rows: &dyn Rows, candidates: &[u32]) -> Option<(u64, Vec<u32>)> {
        match question {
            Question::Same(id, conditions) => {
                let is_same = cover_same_rows(rows, &self.counts, &self.conditions, &conditions);
                self.same.push((id, is_same));
                None
            }
            Question::Entry(id, conditions) => Some((id, shortest(rows, candidates, &conditions))),
            Question::Offer => {
                self.description = Some(shortest(rows, candidates, &self.conditions));
                None
            }
        }
    }
}

/// Do two rules with the same counts cover the same rows? Only if their conjunction covers as many.
pub fn cover_same_rows(rows: &dyn Rows, counts: &[u64], one: &[u32], other: &[u32]) -> bool {
    let both: Vec<u32> = one.iter().chain(other).copied().collect();
    rows.counts(&[both]) == counts
}

pub struct Top {
    pub k: usize,
    /// Keep descriptions as found: the shortest one may use columns that are not allowed. If the same rows are found twice,
    /// the better value wins, and of equal values the shorter description.
    pub as_found: bool,
    entries: Vec<Entry>,
    next_id: u64,
}

impl Top {
    pub fn new(k: usize, as_found: bool) -> Top {
        Top {
            k,
            as_found,
            entries: Vec::new(),
            next_id: 0,
        }
    }

    /// The value that a rule must reach to enter, once there are k rules.
    pub fn kth(&self) -> Option<Score> {
        let values = self.entries.iter().map(|entry| entry.value);
        values.min().filter(|_| self.entries.len() >= self.k)
    }

    pub fn best(&self) -> Option<Score> {
        self.entries.iter().map(|entry| entry.value).max()
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Inserts a rule that belongs to the k best so far. It replaces the same rows with a lower value, or the worst entry
    /// if there are too many.
    pub fn insert(&mut self, offer: &Offer) -> Result<(), Question> {
        for entry in &mut self.entries {
            if entry.counts != offer.counts {
                continue;
            }
            match offer.is_same(entry) {
                None => return Err(Question::Same(entry.id, entry.conditions.clone())),
                Some(false) => continue,
                Some(true) => entry.improve(offer, self.as_found),
            }
            return Ok(());
        }
        if self.entries.len() < self.k {
            self.push(offer);
            return Ok(());
        }
        let Some(lowest) = self.entries.iter().map(|entry| entry.value).min() else {
            return Ok(()); // k is 0
        };
        if offer.value < lowest {
            return Ok(());
        }
        if let Some(worst) = self.worst(lowest, offer)? {
            self.entries.swap_remove(worst);
            self.push(offer);
        }
        Ok(())
    }

    fn push(&mut self, offer: &Offer) {
        self.entries.push(Entry {
            id: self.next_id,
            value: offer.value,
            counts: offer.counts.clone(),
            conditions: offer.conditions.clone(),
            description: offer.description.clone(),
        });
        self.next_id += 1;
    }

    /// Of the entries with the lowest value the last by [`name`], unless the offered rule is last.
    fn worst(&self, lowest: Score, offer: &Offer) -> Result<Option<usize>, Question> {
        let each = self.entries.iter().enumerate();
        let tied: Vec<(usize, &Entry)> = each.filter(|(_, entry)| entry.value == lowest).collect();
        if let ([(only, _)], true) = (&tied[..], offer.value > lowest) {
            return Ok(Some(*only));
        }
        let mut worst: Option<(usize, &[u32])> = None;
        for (index, entry) in tied {
            let description = entry.described()?;
            if worst.is_none_or(|(_, other)| name(description) > name(other)) {
                worst = Some((index, description));
            }
        }
        if let (Some((_, other)), true) = (worst, offer.value == lowest) {
            let description = offer.description.as_ref().ok_or(Question::Offer)?;
            if name(description) >= name(other) {
                return Ok(None);
            }
        }
        Ok(worst.map(|(index, _)| index))
    }

    /// Stores the description of an entry, if it is still there.
    pub fn describe(&mut self, id: u64, description: Vec<u32>) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.id == id) {
            entry.description.get_or_insert(description);
        }
    }

    /// The maximum length of the entries with this value.
    pub fn longest(&self, value: Score) -> Result<Option<usize>, Question> {
        let mut longest = None;
        for entry in self.entries.iter().filter(|entry| entry.value == value) {
            longest = longest.max(Some(entry.described()?.len()));
        }
        Ok(longest)
    }

    /// The rules, best first, each with the value that `value` gives for its counts and length, if that is higher: the
    /// search may have stopped before it found the shorter description.
    pub fn sorted(&self, value: impl Fn(&[u64], usize) -> Score) -> Result<Vec<(Score, Vec<u32>)>, Question> {
        // Collected before any change: most lists have many questions.
        self.entries
            .iter()
            .try_for_each(|entry| entry.described().map(|_| ()))?;
        let mut rules = Vec::with_capacity(self.entries.len());
        for entry in &self.entries {
            let description = entry.described()?;
            let value = value(&entry.counts, description.len());
            rules.push((entry.value.max(value), description.to_vec()));
        }
        rules.sort_by(|(x, p), (y, q)| y.cmp(x).then_with(|| name(p).cmp(&name(q))));
        Ok(rules)
    }
}

impl Entry {
    fn described(&self) -> Result<&[u32], Question> {
        match &self.description {
            Some(description) => Ok(description),
            None => Err(Question::Entry(self.id, self.conditions.clone())),
        }
    }

    /// The same rows were found again. Their value is higher if found with fewer conditions and length matters, or in
    /// another source.
    fn improve(&mut self, offer: &Offer, as_found: bool) {
        let is_shorter = match (&offer.description, &self.description) {
            (Some(new), Some(known)) => as_found && name(new) < name(known),
            _ => false,
        };
        if offer.value > self.value || offer.value == self.value && is_shorter {
            self.value = offer.value;
            self.conditions.clone_from(&offer.conditions);
            if as_found {
                self.description.clone_from(&offer.description);
            }
        }
    }
}
