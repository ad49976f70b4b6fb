//! A search as a list of numbers, to be written down and gone on with later.

use crate::estimator::Score;
use crate::expand::{Again, Family, Node};
use crate::ideas::Candidate;
use crate::layout::Layout;
use std::collections::HashMap;
use std::sync::Arc;

/// Everything that a search does not get from its table and options.
pub struct State {
    pub entrance: Score,
    pub threshold: Score,
    pub left_out: Score,
    pub left_tied: Score,
    pub nodes: u64,
    pub has_looked_ahead: bool,
    /// The length limit of the second part, if it has begun.
    pub ties: Option<usize>,
    pub open: Vec<Node>,
    pub entries: Vec<(Score, Vec<u64>, Vec<u32>)>,
    /// The rules of a list that are settled, and those that wait.
    pub found: Vec<Candidate>,
    pub seen: Vec<Candidate>,
}

impl State {
    pub fn write<'a>(&'a self) -> Vec<u64> {
        let mut families: Vec<&Arc<Family>> = Vec::new();
        let mut places: HashMap<*const Family, u64> = HashMap::new();
        let opened = |node: &'a Node| node.again.as_ref().and_then(|again| again.opened.as_ref());
        for node in &self.open {
            for family in std::iter::once(&node.family).chain(opened(node)) {
                places.entry(Arc::as_ptr(family)).or_insert_with(|| {
                    families.push(family);
                    families.len() as u64 - 1
                });
            }
        }
        let mut out = Writer(vec![FORMAT]);
        for score in [self.entrance, self.threshold, self.left_out, self.left_tied] {
            out.0.push(score as u64);
        }
        out.0.push(self.nodes);
        out.0.push(u64::from(self.has_looked_ahead));
        out.0.push(self.ties.map_or(0, |length| length as u64));
        out.0.push(families.len() as u64);
        for family in families {
            out.list(&family.conditions);
            out.list(&family.order);
            out.list(&family.excluded);
            out.0.push(family.best as u64);
        }
        out.0.push(self.open.len() as u64);
        for node in &self.open {
            let family = places[&Arc::as_ptr(&node.family)];
            out.0.extend([node.bound as u64, family, node.index as u64]);
            out.0.extend([node.least, node.most, node.length as u64]);
            out.0.push(u64::from(node.again.is_some()));
            if let Some(again) = &node.again {
                let opened = again.opened.as_ref();
                let opened = opened.map_or(u64::MAX, |family| places[&Arc::as_ptr(family)]);
                out.0.extend([again.offered as u64, opened]);
            }
        }
        out.0.push(self.entries.len() as u64);
        for (value, counts, conditions) in &self.entries {
            out.0.push(*value as u64);
            out.0.extend_from_slice(counts);
            out.list(conditions);
        }
        for rules in [&self.found, &self.seen] {
            out.0.push(rules.len() as u64);
            for rule in rules {
                out.0.extend([rule.value as u64, rule.n_covered]);
                out.list(&rule.conditions);
            }
        }
        out.0
    }

    /// The state that was written; an error if the numbers do not make sense for this table.
    pub fn read(numbers: &[u64], n_propositions: usize, layout: &Layout) -> Result<State, String> {
        let mut input = Reader {
            rest: numbers,
            n_propositions,
        };
        if input.take()? != [FORMAT] {
            return Err(BROKEN.to_string());
        }
        let [entrance, threshold, left_out, left_tied] = input.take()?.map(|score| score as Score);
        let [nodes, has_looked_ahead, ties, n_families] = input.take()?;
        let families = (0..n_families).map(|_| -> Result<Arc<Family>, String> {
            Ok(Arc::new(Family {
                conditions: input.list()?,
                order: input.list()?,
                excluded: input.list()?,
                best: input.take::<1>()?[0] as Score,
            }))
        });
        let families: Vec<Arc<Family>> = families.collect::<Result<_, _>>()?;
        let [n_open] = input.take()?;
        let open = (0..n_open).map(|_| -> Result<Node, String> {
            let [bound, family, index] = input.take()?;
            let family = families.get(family as usize).ok_or(BROKEN)?.clone();
            let is_root = index == u64::MAX && family.conditions.is_empty();
            if !is_root && index as usize >= family.order.len() {
                return Err(BROKEN.to_string());
            }
            let [least, most, length, was_expanded] = input.take()?;
            let again = match was_expanded {
                0 => None,
                _ => {
                    let [offered, opened] = input.take()?;
                    let opened = match opened {
                        u64::MAX => None,
                        place => Some(families.get(place as usize).ok_or(BROKEN)?.clone()),
                    };
                    let offered = offered as Score;
                    Some(Arc::new(Again { opened, offered }))
                }
            };
            Ok(Node {
                bound: bound as Score,
                family,
                index: index as usize,
                least,
                most,
                length: length as usize,
                again,
            })
        });
        let open = open.collect::<Result<_, _>>()?;
        let [n_entries] = input.take()?;
        let entries = (0..n_entries).map(|_| -> Result<_, String> {
            let [value] = input.take()?;
            let counts = input.numbers(layout.width())?.to_vec();
            if !layout.fits(&counts) {
                return Err(BROKEN.to_string());
            }
            Ok((value as Score, counts, input.list()?))
        });
        let entries = entries.collect::<Result<_, _>>()?;
        let [found, seen] = [input.rules()?, input.rules()?];
        if !input.rest.is_empty() {
            return Err(BROKEN.to_string());
        }
        Ok(State {
            entrance,
            threshold,
            left_out,
            left_tied,
            nodes,
            has_looked_ahead: has_looked_ahead != 0,
            ties: (ties != 0).then_some(ties as usize),
            open,
            entries,
            found,
            seen,
        })
    }
}

/// The first of the numbers: another one for another order of those that follow.
const FORMAT: u64 = 3;

const BROKEN: &str = "the checkpoint is damaged or of another search";

struct Writer(Vec<u64>);

impl Writer {
    fn list(&mut self, list: &[u32]) {
        self.0.push(list.len() as u64);
        self.0.extend(list.iter().map(|&p| u64::from(p)));
    }
}

struct Reader<'a> {
    rest: &'a [u64],
    n_propositions: usize,
}

impl<'a> Reader<'a> {
    fn numbers(&mut self, length: usize) -> Result<&'a [u64], String> {
        let (numbers, rest) = self.rest.split_at_checked(length).ok_or(BROKEN)?;
        self.rest = rest;
        Ok(numbers)
    }

    fn take<const N: usize>(&mut self) -> Result<[u64; N], String> {
        let (numbers, rest) = self.rest.split_first_chunk::<N>().ok_or(BROKEN)?;
        self.rest = rest;
        Ok(*numbers)
    }

    fn rules(&mut self) -> Result<Vec<Candidate>, String> {
        let [length] = self.take()?;
        let rules = (0..length).map(|_| {
            let [value, n_covered] = self.take()?;
            Ok(Candidate {
                value: value as Score,
                n_covered,
                conditions: self.list()?,
            })
        });
        rules.collect()
    }

    fn list(&mut self) -> Result<Vec<u32>, String> {
        let [length] = self.take()?;
        let n_propositions = self.n_propositions as u64;
        let list = self.numbers(length as usize)?;
        if list.iter().any(|&p| p >= n_propositions) {
            return Err(BROKEN.to_string());
        }
        Ok(list.iter().map(|&p| p as u32).collect())
    }
}
