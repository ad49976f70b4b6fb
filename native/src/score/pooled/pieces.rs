//! The pieces of V over which a bound is taken, and what b is at least in each of them; see [`super::Pooled::bound`].

/// What b is at least in a box. In a stratum with a contrast, w² s² q = w s²/(y_max − y_min) · w (y_max − y_min) q, which is
/// no more than w s²/(y_max − y_min) · b. So with C the sum of the first factor over all strata, V ≤ C b.
#[derive(Clone, Copy, Default)]
pub(super) struct Reach {
    /// What it is at least, whatever V is.
    pub(super) least: f64,
    /// C, rounded up.
    pub(super) ratio: f64,
}

impl Reach {
    /// What it is at least, by V alone.
    #[inline(always)]
    pub(super) fn by_variance(&self, variance: f64) -> f64 {
        if self.ratio > 0.0 {
            variance / self.ratio
        } else {
            0.0
        }
    }

    /// What it is at least at the beginning of a piece, and what to take at its end. b may grow in proportion to V, for the
    /// margin is still concave: the root of a quadratic function of V is, if that has real zeros, and it has. That pays
    /// unless most of it would lie below what b is anyway.
    #[inline(always)]
    pub(super) fn ends(&self, start: f64, end: f64) -> [f64; 2] {
        let [first, last] = [self.by_variance(start), self.by_variance(end)];
        if first > 0.0 && first + last > 2.0 * self.least {
            [first, last]
        } else {
            [first.max(self.least); 2]
        }
    }
}

/// Goes through the pieces of V of one box, see [`Pooled::bound`]. As long as a bound need only be below the goal, several
/// pieces are tried as one.
pub(super) struct Pieces {
    /// V₀
    pub(super) start: f64,
    /// V₁ is so many times twice V₀, at first.
    pub(super) n_doubled: u32,
    pub(super) most: f64,
    /// The largest bound of the pieces before.
    pub(super) bound: f64,
    pub(super) is_done: bool,
    /// Below this the goal is not reached, from that on it is; which of the two is all that matters.
    pub(super) short: f64,
    pub(super) enough: f64,
}

impl Pieces {
    /// How many pieces are tried as one at first: all, unless there is no goal.
    #[inline(always)]
    pub(super) fn n_tried(&self) -> u32 {
        if self.short > f64::NEG_INFINITY {
            32
        } else {
            1
        }
    }

    #[inline(always)]
    pub(super) fn new([least, most]: [f64; 2], [short, enough]: [f64; 2]) -> Pieces {
        let mut pieces = Pieces {
            start: least,
            n_doubled: 1,
            // No number where rows elsewhere contradict themselves, and that has no end.
            most: most.max(0.0),
            bound: f64::NEG_INFINITY,
            // A box without a rule has no smallest V.
            is_done: least.is_infinite(),
            short,
            enough,
        };
        pieces.n_doubled = pieces.n_tried();
        pieces
    }

    /// Takes note of a bound of all pieces from V₀ on.
    #[inline(always)]
    pub(super) fn note_cheap(&mut self, cheap: f64) {
        let is_enough = cheap <= self.bound;
        let is_last = (cheap < self.short) | (self.start >= self.most);
        if !self.is_done & is_last & !is_enough {
            self.bound = cheap;
        }
        self.is_done |= is_enough | is_last;
    }

    /// V₁
    #[inline(always)]
    pub(super) fn end(&self) -> f64 {
        let end = match self.start > 0.0 {
            true => self.start * (1u64 << self.n_doubled) as f64,
            false => self.most / 1024.0,
        };
        // A thousandth of the smallest number is 0, and would not get on.
        if (end < self.most) & (end > self.start) {
            end
        } else {
            self.most
        }
    }

    /// Takes note of the bound of the pieces from V₀ to V₁, given one of all from V₀ on.
    #[inline(always)]
    pub(super) fn note(&mut self, bound: f64, cheap: f64) {
        if self.is_done {
            return;
        }
        let bound = bound.min(cheap);
        let is_one = (self.n_doubled <= 1) | (self.start == 0.0);
        if bound >= self.short && !is_one {
            // As one they reach too far.
            let end = self.end();
            let n_left = (end / self.start).log2().ceil() as u32;
            self.n_doubled = (n_left.min(self.n_doubled) / 2).max(1);
        } else if bound >= self.enough {
            self.bound = self.bound.max(cheap);
            self.is_done = true;
        } else {
            self.bound = self.bound.max(bound);
            self.start = self.end();
            self.is_done = self.start >= self.most;
            self.n_doubled = self.n_tried();
        }
    }
}
