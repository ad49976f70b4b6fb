//! Branches of the search: a rule, and the conditions that it may still take.

use crate::estimator::Score;
use crate::patience::LEVELS;
use crate::search::lock;
use std::cmp::Ordering;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, Weak};

/// The children of one rule, in the order that decides which of them may still take which conditions:
/// each may take those that come after it.
pub struct Family {
    pub conditions: Vec<u32>,
    pub order: Vec<u32>,
    /// The best value among the rule itself and its ancestors, where that matters.
    pub best: Option<Score>,
    /// The family that the rule is a child of, if that is known.
    pub parent: Option<Arc<Family>>,
    /// The families of the same rule from when it was expanded before, of fewer children; and the one of most children.
    older: Vec<Weak<Family>>,
    newest: Mutex<Weak<Family>>,
    pub cap: Cap,
}

impl Family {
    pub fn new(conditions: Vec<u32>, order: Vec<u32>, best: Option<Score>) -> Family {
        Family {
            conditions,
            order,
            best,
            parent: None,
            older: Vec::new(),
            newest: Mutex::default(),
            cap: Cap::default(),
        }
    }

    /// Is it so short that it may be looked at by rows?
    pub fn is_looked_at(&self) -> bool {
        self.conditions.len() < LEVELS
    }

    /// A family of the same rule with more children takes its place: what is found out about that is true of this one too.
    /// Children that have left it since cover too few rows for this and all later places of a list.
    pub fn replaced(self: &Arc<Family>, mut family: Family) -> Arc<Family> {
        let is_alive = |family: &&Weak<Family>| family.strong_count() > 0;
        family.older = self.older.iter().filter(is_alive).cloned().collect();
        family.older.push(Arc::downgrade(self));
        family.cap.has_paid = AtomicBool::new(self.cap.has_paid.load(Relaxed));
        let family = Arc::new(family);
        for older in family.older.iter().filter_map(Weak::upgrade) {
            *lock(&older.newest) = Arc::downgrade(&family);
        }
        family
    }

    /// The family of most children of the same rule.
    pub fn newest(self: &Arc<Family>) -> Arc<Family> {
        let newest = lock(&self.newest).upgrade();
        newest.unwrap_or_else(|| self.clone())
    }

    /// No rule of it that is not known is worth more than this.
    pub fn lower(&self, bound: Score) {
        self.cap.lower(bound);
        for older in self.older.iter().filter_map(Weak::upgrade) {
            older.cap.lower(bound);
        }
    }

    /// All rules of it are known that could win a tie for a place of the list.
    pub fn knows_ties(&self, place: usize) {
        self.cap.knows_ties(place);
        for older in self.older.iter().filter_map(Weak::upgrade) {
            older.cap.knows_ties(place);
        }
    }
}

/// What was found out about a whole family: no rule of it that is not known is worth more.
pub struct Cap {
    bound: AtomicI64,
    /// How many rules were expanded below it for the rule at a place of the list, and how many when it was looked at.
    expanded: AtomicU64,
    looked: AtomicU64,
    place: AtomicUsize,
    is_looked_at: AtomicBool,
    /// Did looking at it come to an end before?
    has_paid: AtomicBool,
    /// Up to which rule of the list all rules are known that could win a tie with it.
    ties_known: AtomicUsize,
}

/// After so many rules below a family it is looked at by rows, and again after twice as many.
const FIRST_LOOK: u64 = 128;

impl Default for Cap {
    fn default() -> Cap {
        Cap {
            bound: AtomicI64::new(Score::MAX),
            expanded: AtomicU64::new(0),
            looked: AtomicU64::new(0),
            place: AtomicUsize::new(0),
            is_looked_at: AtomicBool::new(false),
            has_paid: AtomicBool::new(false),
            ties_known: AtomicUsize::new(0),
        }
    }
}

impl Cap {
    fn lower(&self, bound: Score) {
        self.has_paid.store(true, Relaxed);
        self.bound.fetch_min(bound, Relaxed);
    }

    fn knows_ties(&self, place: usize) {
        self.ties_known.fetch_max(place + 1, Relaxed);
    }

    /// Counts one more rule that is expanded, for the rule at this place of a list. Returns how many there are, if that is
    /// twice as many as when it was last looked at.
    pub fn expands(&self, place: usize) -> Option<u64> {
        if self.place.swap(place, Relaxed) != place {
            self.expanded.store(0, Relaxed);
            self.looked.store(0, Relaxed);
        }
        let expanded = self.expanded.fetch_add(1, Relaxed) + 1;
        let first = match self.has_paid.load(Relaxed) {
            true => 1,
            false => FIRST_LOOK,
        };
        (expanded >= first.max(2 * self.looked.load(Relaxed))).then_some(expanded)
    }

    /// Lets one worker look at the family at a time. Is it this one?
    pub fn begins(&self, expanded: u64) -> bool {
        let is_first = !self.is_looked_at.swap(true, Relaxed);
        if is_first {
            self.looked.store(expanded, Relaxed);
        }
        is_first
    }

    /// Nobody looks at the family any more.
    pub fn ends(&self) {
        self.is_looked_at.store(false, Relaxed);
    }
}

/// A family and those that it comes from.
pub fn line(family: &Arc<Family>) -> impl Iterator<Item = &Arc<Family>> {
    std::iter::successors(Some(family), |family| family.parent.as_ref())
}

/// A rule that is still to be expanded: one child of a family, or the rule of the family itself.
#[derive(Clone)]
pub struct Node {
    pub bound: Score,
    pub family: Arc<Family>,
    /// Which child it is; `None` for the root, which is no child.
    pub child: Option<u32>,
    /// The fewest and the most rows that a rule below it covers.
    pub least: u64,
    pub most: u64,
    /// The fewest conditions of a rule that it leads to.
    pub length: usize,
    /// What has been done already, if it was expanded before and part of it was put off.
    pub again: Option<Arc<Again>>,
}

/// What is known of a rule that was expanded before.
pub struct Again {
    /// The children that are nodes of their own by now, in the family's order.
    pub opened: Option<Arc<Family>>,
    /// Children worth this or more have been offered.
    pub offered: Score,
    /// The best of those that have not, if there are any.
    pub children: Option<Score>,
}

impl Node {
    pub fn root(usable: &[u32]) -> Node {
        Node {
            bound: Score::MAX,
            family: Arc::new(Family::new(Vec::new(), usable.to_vec(), None)),
            child: None,
            least: 0,
            most: u64::MAX,
            length: 1,
            again: None,
        }
    }

    /// Its bound, with what has been found out about its families since: about rules of more than `short` conditions.
    pub fn capped(&self, short: Option<usize>) -> Score {
        let capped = Some(self.lowest_cap().0).max(self.best_short(short));
        capped.map_or(self.bound, |capped| self.bound.min(capped))
    }

    /// What the best is worth of those rules that it leads to and that have no more than `short` conditions, as far as is
    /// known; `None` if there are none.
    pub fn best_short(&self, short: Option<usize>) -> Option<Score> {
        let n_conditions = self.n_conditions();
        match &self.again {
            _ if short.is_none_or(|short| n_conditions >= short) => None,
            // What is left of it are some children, and rules of more conditions than they have.
            Some(again) if short == Some(n_conditions + 1) => again.children,
            _ => Some(self.bound),
        }
    }

    /// The same with a lower bound. Rules of one condition more may be the best that is left.
    pub fn lowered(mut self, bound: Score) -> Node {
        if bound < self.bound {
            let children = self
                .again
                .as_ref()
                .map_or(Some(bound), |again| again.children);
            if children >= Some(bound) {
                self.length = self.length.min(self.n_conditions() + 1);
            }
            self.bound = bound;
        }
        self
    }

    /// The lowest cap of its families, and how many conditions that family has.
    pub fn lowest_cap(&self) -> (Score, usize) {
        let each = line(&self.family);
        let caps = each.map(|family| (family.cap.bound.load(Relaxed), family.conditions.len()));
        caps.min().unwrap_or((Score::MAX, 0))
    }

    /// Are all rules of it known that could win a tie for a place of the list?
    pub fn ties_are_known(&self, place: usize, short: Option<usize>) -> bool {
        let is_long = self.best_short(short) < Some(self.bound);
        is_long && line(&self.family).any(|family| family.cap.ties_known.load(Relaxed) > place)
    }

    /// The same rule with what is left of it: nothing that is worth more than `bound`.
    pub fn put_off(&self, bound: Score, length: usize, again: Again) -> Node {
        Node {
            bound: bound.min(self.bound),
            length,
            again: Some(Arc::new(again)),
            ..self.clone()
        }
    }

    /// Children worth this or more have been offered.
    pub fn offered(&self) -> Score {
        self.again
            .as_ref()
            .map_or(Score::MAX, |again| again.offered)
    }

    /// The children that are nodes of their own by now.
    pub fn opened(&self) -> &[u32] {
        let opened = self.again.as_ref().and_then(|again| again.opened.as_ref());
        opened.map_or(&[], |family| &family.order)
    }

    pub fn is_root(&self) -> bool {
        self.child.is_none()
    }

    /// Its place in the family's order.
    pub fn place(&self) -> Option<usize> {
        self.child.map(|child| child as usize)
    }

    /// The condition that makes it a child.
    pub fn last(&self) -> Option<u32> {
        self.child.map(|child| self.family.order[child as usize])
    }

    pub fn n_conditions(&self) -> usize {
        self.family.conditions.len() + usize::from(!self.is_root())
    }

    pub fn conditions(&self) -> Vec<u32> {
        let conditions = self.family.conditions.iter().copied();
        conditions.chain(self.last()).collect()
    }

    pub fn candidates(&self) -> &[u32] {
        let first = self.child.map_or(0, |child| child as usize + 1);
        &self.family.order[first..]
    }
}

/// The most promising comes first in the queue: the highest bound, then the shortest rules.
impl Ord for Node {
    fn cmp(&self, other: &Node) -> Ordering {
        (self.bound, other.length).cmp(&(other.bound, self.length))
    }
}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Node) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Node {}
