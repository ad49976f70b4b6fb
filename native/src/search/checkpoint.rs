//! A search as a list of numbers, to be saved and resumed. Guarantee: numbers not written by it are rejected, or at worst
//! resume as another search, but never crash.
//!
//! Most numbers are small, so each takes as many bytes as it needs (seven bits in each, the highest bit says whether
//! another byte follows); scores are mostly multiples of [`TIED`] and written as such.

use super::branch::{Branch, Family};
use super::source::TIED;
use crate::rows::Rows;
use crate::score::Score;
use std::collections::HashMap;
use std::sync::Arc;

/// The state of a search, without its table and options.
pub struct State {
    pub left_out: Option<Score>,
    pub nodes: u64,
    pub n_begun: usize,
    pub has_looked_ahead: bool,
    pub open: Vec<Branch>,
    pub entries: Vec<(Score, Vec<u64>, Vec<u32>)>,
}

impl State {
    pub fn write(&self) -> Vec<u64> {
        let mut numbers: HashMap<*const Family, u64> = HashMap::new();
        let mut out = Writer::default();
        // A family is written at its first use.
        let mut family = |out: &mut Writer, family: &'_ Arc<Family>| {
            let next = numbers.len() as u64;
            let number = *numbers.entry(Arc::as_ptr(family)).or_insert(next);
            out.number(number);
            if number == next {
                out.number(family.source as u64);
                out.list(&family.conditions);
                out.list(&family.order);
            }
        };
        out.optional(self.left_out);
        out.number(self.nodes);
        out.number(self.n_begun as u64);
        out.number(u64::from(self.has_looked_ahead));
        out.number(self.open.len() as u64);
        for node in &self.open {
            family(&mut out, &node.family);
            out.score(node.bound);
            out.number(node.child.map_or(0, |child| u64::from(child) + 1));
        }
        out.number(self.entries.len() as u64);
        for (value, counts, conditions) in &self.entries {
            out.score(*value);
            for &count in counts {
                out.number(count);
            }
            out.list(conditions);
        }
        out.words()
    }

    /// Reads a saved state; an error if the numbers are invalid for this many sources, whose rules `rows` tells apart. The
    /// conditions of a source are not checked.
    pub fn read(numbers: &[u64], n_sources: usize, rows: &dyn Rows) -> Result<State, String> {
        let layout = rows.layout();
        let bytes = bytes_of(numbers)?;
        let mut input = Reader { rest: &bytes };
        let mut families: Vec<Arc<Family>> = Vec::new();
        let mut family = |input: &mut Reader| -> Result<Arc<Family>, String> {
            let number = input.number()? as usize;
            if number == families.len() {
                families.push(Arc::new(Family {
                    source: input.below(n_sources)?,
                    conditions: input.list(usize::MAX)?,
                    order: input.list(usize::MAX)?,
                }));
            }
            Ok(families.get(number).ok_or(BROKEN)?.clone())
        };
        let left_out = input.optional()?;
        let nodes = input.number()?;
        let n_begun = input.below(n_sources + 1)?.max(1);
        let has_looked_ahead = input.number()? != 0;
        let mut open = Vec::new();
        for _ in 0..input.number()? {
            let family_of = family(&mut input)?;
            let bound = input.score()?;
            let child = match input.number()? {
                0 if family_of.conditions.is_empty() => None,
                place if place > 0 && place as usize <= family_of.order.len() => Some(place as u32 - 1),
                _ => return Err(BROKEN.to_string()),
            };
            open.push(Branch {
                bound,
                family: family_of,
                child,
            });
        }
        let mut entries = Vec::new();
        for _ in 0..input.number()? {
            let value = input.score()?;
            let counts: Vec<u64> = (0..layout.width()).map(|_| input.number()).collect::<Result<_, _>>()?;
            if !layout.fits(&counts) {
                return Err(BROKEN.to_string());
            }
            entries.push((value, counts, input.list(rows.propositions().len())?));
        }
        if !input.rest.is_empty() {
            return Err(BROKEN.to_string());
        }
        Ok(State {
            left_out,
            nodes,
            n_begun,
            has_looked_ahead,
            open,
            entries,
        })
    }
}

/// The first number: the version of the format. Change it if the order of the other numbers changes.
const FORMAT: u64 = 6;

pub const BROKEN: &str = "the checkpoint is damaged or of another search";

/// The bytes in the words after the first two, which are the format and the number of bytes.
fn bytes_of(numbers: &[u64]) -> Result<Vec<u8>, String> {
    let [FORMAT, length, words @ ..] = numbers else {
        return Err(BROKEN.to_string());
    };
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let padding = (bytes.len() as u64).wrapping_sub(*length);
    if padding >= 8 {
        return Err(BROKEN.to_string());
    }
    bytes.truncate(*length as usize);
    Ok(bytes)
}

#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u64) {
        self.long(u128::from(number));
    }

    fn long(&mut self, mut number: u128) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// The lowest bit says whether it is a multiple of `TIED`, the next one whether it is negative.
    fn score(&mut self, score: Score) {
        let is_odd = score % TIED != 0;
        let size = match is_odd {
            true => score.unsigned_abs(),
            false => (score / TIED).unsigned_abs(),
        };
        self.long(u128::from(size) << 2 | u128::from(score < 0) << 1 | u128::from(is_odd));
    }

    fn optional(&mut self, score: Option<Score>) {
        self.number(u64::from(score.is_some()));
        if let Some(score) = score {
            self.score(score);
        }
    }

    fn list(&mut self, list: &[u32]) {
        self.number(list.len() as u64);
        for &proposition in list {
            self.number(u64::from(proposition));
        }
    }

    fn words(self) -> Vec<u64> {
        let mut words = vec![FORMAT, self.0.len() as u64];
        words.extend(self.0.chunks(8).map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        }));
        words
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn long(&mut self) -> Result<u128, String> {
        let mut number = 0;
        for shift in (0..70).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(BROKEN)?;
            self.rest = rest;
            number |= u128::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(BROKEN.to_string())
    }

    fn number(&mut self) -> Result<u64, String> {
        Ok(self.long()?.try_into().map_err(|_| BROKEN)?)
    }

    fn score(&mut self) -> Result<Score, String> {
        let number = self.long()?;
        let scale = if number & 1 == 1 { 1 } else { i128::from(TIED) };
        let size = (number >> 2) as i128 * scale;
        let score = if number & 2 == 2 { -size } else { size };
        Ok(score.try_into().map_err(|_| BROKEN)?)
    }

    fn optional(&mut self) -> Result<Option<Score>, String> {
        match self.number()? {
            0 => Ok(None),
            _ => self.score().map(Some),
        }
    }

    /// A number below this.
    fn below(&mut self, end: usize) -> Result<usize, String> {
        let number = self.number()?;
        match usize::try_from(number) {
            Ok(number) if number < end => Ok(number),
            _ => Err(BROKEN.to_string()),
        }
    }

    /// A list of conditions, each below `n_conditions`.
    fn list(&mut self, n_conditions: usize) -> Result<Vec<u32>, String> {
        let length = self.number()?;
        let mut list = Vec::new();
        for _ in 0..length {
            let condition = self.below(n_conditions)?;
            list.push(u32::try_from(condition).map_err(|_| BROKEN)?);
        }
        Ok(list)
    }
}
