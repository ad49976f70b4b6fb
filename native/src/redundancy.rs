//! Is a rule worth showing beside its generalisations?

use crate::branch::Branch;
use crate::estimator::Score;
use crate::expand::Expander;
use crate::judge::{Judge, Verdict};
use crate::node::Node;
use crate::rulebook::Rulebook;

/// Is there a rule that covers all of this one's rows and more (or possibly does), and is worth at least as much?
pub fn is_redundant(book: &Rulebook, value: Score, counts: &[u64], conditions: &[u32]) -> bool {
    let width = counts.len();
    let mut each = Vec::new();
    book.rows.place(conditions).counts(&book.usable, &mut each);
    let implied = book.usable.iter().zip(each[width..].chunks(width));
    let implied: Vec<u32> = implied
        .filter(|(_, with)| *with == counts)
        .map(|(&proposition, _)| proposition)
        .collect();
    let mut rival = Rival {
        value,
        counts,
        conditions,
        found: false,
    };
    let mut expander = Expander::default();
    let mut stack = vec![Node::root(&implied)];
    while let Some(node) = stack.pop() {
        if rival.found {
            break;
        }
        let place = book.rows.place(&node.conditions());
        let candidates = book.useful_candidates(&node);
        let found = expander.expand(book, &node, &candidates, &*place, &mut rival);
        stack.extend(found.nodes);
    }
    rival.found
}

/// Looks for a rule that makes another one redundant.
struct Rival<'a> {
    value: Score,
    counts: &'a [u64],
    conditions: &'a [u32],
    found: bool,
}

impl Judge for Rival<'_> {
    fn verdict(&self, bound: Score, _: usize) -> Verdict {
        match self.found || bound < self.value {
            true => Verdict::Never,
            false => Verdict::Enter,
        }
    }

    fn goal(&self) -> Score {
        self.value
    }

    fn is_known(&self, branch: &Branch) -> bool {
        branch.bound == self.value && branch.leads_only_to(self.counts, self.conditions)
    }

    fn offer(&mut self, value: Score, counts: &[u64], _: &[u32]) {
        // Every rule here covers the rows of the one in question; with other counts, it covers more.
        self.found |= value >= self.value && counts != self.counts;
    }
}
