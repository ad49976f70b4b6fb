//! The pieces of V over which a bound is taken, and the lower bound of b in each of them; see [`super::Pooled::bound`].

/// A lower bound of b in a box. In a stratum with a contrast, w² s² q = w s²/(y_max − y_min) · w (y_max − y_min) q, which
/// is no more than w s²/(y_max − y_min) · b. So with C the sum of the first factor over all strata, V ≤ C b.
#[derive(Clone, Copy, Default)]
pub(super) struct Reach {
    /// The lower bound for any V.
    pub(super) least: f64,
    /// C, rounded up.
    pub(super) ratio: f64,
}

impl Reach {
    /// The lower bound for this V.
    #[inline(always)]
    pub(super) fn by_variance(&self, variance: f64) -> f64 {
        if self.ratio > 0.0 {
            variance / self.ratio
        } else {
            0.0
        }
    }

    /// The lower bound of b at the start of a piece, and the b to use at its end. b may grow in proportion to V, since the
    /// margin is still concave: the root of a quadratic function of V is concave if that has real zeros, which it has. That
    /// pays unless most of the growth lies below the lower bound anyway.
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

/// Iterates over the pieces of V of one box, see [`Pooled::bound`]. As long as a bound need only be below the goal, several
/// pieces are tried as one.
pub(super) struct Pieces {
    /// V₀
    pub(super) start: f64,
    /// V₁ = V₀ · 2ⁿ: the number n of pieces tried as one.
    pub(super) n_doubled: u32,
    pub(super) most: f64,
    /// The largest bound of the previous pieces.
    pub(super) bound: f64,
    pub(super) is_done: bool,
    /// Only whether a bound is below the first number or reaches the second one matters.
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
            // NaN if remote rows are inconsistent, which would never end.
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

    /// Records a bound of all pieces from V₀ on.
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
        // A thousandth of the smallest number is 0, which would make no progress.
        if (end < self.most) & (end > self.start) {
            end
        } else {
            self.most
        }
    }

    /// Records the bound of the pieces from V₀ to V₁, given one of all from V₀ on.
    #[inline(always)]
    pub(super) fn note(&mut self, bound: f64, cheap: f64) {
        if self.is_done {
            return;
        }
        let bound = bound.min(cheap);
        let is_one = (self.n_doubled <= 1) | (self.start == 0.0);
        if bound >= self.short && !is_one {
            // As one piece they are too wide.
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
