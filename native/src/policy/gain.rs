//! The conservative gain of an action σ for a group γ over the default D.
//!
//! Of the n rows of γ in stratum z, k have the action, with targets that sum to S; k' have the default, with the sum S'; o
//! have both. μ is the mean target of γ in z, and both sides get κ = 2 pseudo-rows at that mean:
//! ```text
//! δ = (S + κμ)/(k + κ) − (S' + κμ)/(k' + κ)
//! V = s² n/(n − 1) · [ k(1 − k/n)/(k + κ)² + k'(1 − k'/n)/(k' + κ)² − 2(o − k k'/n)/((k + κ)(k' + κ)) ]
//! b = 1/(k + κ) + 1/(k' + κ)
//! ```
//! with s² the larger of the variance of the target in γ and in the whole table. V is the variance of δ if every order of
//! the target values within the stratum is equally likely. A stratum without rows on a side, or whose rows with the action
//! are those with the default, has no *contrast*: it contributes 0. Weighted by its share w of γ,
//! ```text
//! gain = share of γ · ( Σ w δ − ε ),     ε = β² max(w b)/6 + √( (β² max(w b)/6)² + β² Σ w² V )
//! ```
//! which exceeds a goal G if and only if Δ = Σ w δ − G/share > 0 and Δ² > β² (Σ w² V + Δ max(w b)/3): a test without roots.

use super::language::Conditions;
use super::rows::Sums;
use crate::score::Numbers;

/// κ
pub const KAPPA: f64 = 2.0;

/// What the gain of any action needs to know of one stratum of a group. Sums are in units of the target.
#[derive(Clone, Copy, Debug)]
pub struct Stratum {
    /// The number of the stratum.
    pub number: usize,
    pub n: f64,
    /// κμ
    prior: f64,
    /// (S' + κμ)/(k' + κ)
    base: f64,
    /// w
    weight: f64,
    /// w in the range of the target for each of its units
    scale: f64,
    /// w² s² n/(n − 1)
    spread: f64,
    /// k', 1/(k' + κ) and k'(1 − k'/n)/(k' + κ)²
    n_default: f64,
    share_default: f64,
    own_default: f64,
}

/// A context with enough rows.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    pub conditions: Conditions,
    /// Its share of the table.
    pub share: f64,
    /// No effect is larger.
    pub most: f64,
    /// Its strata with rows of the default: where in the list of those of all groups.
    pub first: usize,
    pub last: usize,
}

impl Stratum {
    /// `n` is the number of rows of the group, `variance` that of the stratum in the whole table.
    pub fn new(number: usize, sums: &Sums, n: f64, variance: f64, unit: f64) -> Stratum {
        let here = sums.n as f64;
        let mean = sums.sum as f64 / here;
        let prior = KAPPA * mean;
        let (n_default, sum_default) = (sums.n_default as f64, sums.sum_default as f64);
        let share_default = 1.0 / (n_default + KAPPA);
        let weight = here / n;
        let cross = u128::from(sums.n) * sums.squares - u128::from(sums.sum) * u128::from(sums.sum);
        let own = cross as f64 * unit * unit / (here * here);
        let correction = if sums.n > 1 { here / (here - 1.0) } else { 0.0 };
        Stratum {
            number,
            n: here,
            prior,
            base: (sum_default + prior) * share_default,
            weight,
            scale: weight * unit,
            spread: weight * weight * own.max(variance) * correction,
            n_default,
            share_default,
            own_default: n_default * (1.0 - n_default / here) * share_default * share_default,
        }
    }

    /// The largest w δ of any action, if no target exceeds `most`.
    pub fn most(&self, most: f64) -> f64 {
        self.scale * (most - self.base)
    }

    /// w δ of eight actions, and 1/(k + κ): 0 where there is no contrast.
    #[inline(always)]
    pub fn effects(&self, k: &Numbers, sum: &Numbers, both: &Numbers, effect: &mut Numbers, share: &mut Numbers) {
        for lane in 0..k.len() {
            let each = 1.0 / (k[lane] + KAPPA);
            let is_same = both[lane] == k[lane] && k[lane] == self.n_default;
            let has_contrast = k[lane] > 0.0 && !is_same;
            let added = self.scale * ((sum[lane] + self.prior) * each - self.base);
            effect[lane] += if has_contrast { added } else { 0.0 };
            share[lane] = if has_contrast { each } else { 0.0 };
        }
    }

    /// Adds w² V and raises w b, from 1/(k + κ) as above.
    #[inline(always)]
    pub fn margins(&self, k: &Numbers, both: &Numbers, share: &Numbers, variance: &mut Numbers, reach: &mut Numbers) {
        for lane in 0..k.len() {
            let expected = k[lane] / self.n;
            let own = k[lane] * (1.0 - expected) * share[lane];
            let common = 2.0 * (both[lane] - expected * self.n_default) * self.share_default;
            let has_contrast = share[lane] > 0.0;
            let default = if has_contrast { self.own_default } else { 0.0 };
            let default_reach = if has_contrast { self.share_default } else { 0.0 };
            variance[lane] += self.spread * ((own - common) * share[lane] + default);
            reach[lane] = reach[lane].max(self.weight * (share[lane] + default_reach));
        }
    }
}

/// ε
pub fn margin(beta: f64, variance: f64, reach: f64) -> f64 {
    let offset = beta * beta * reach / 6.0;
    offset + (offset * offset + beta * beta * variance.max(0.0)).sqrt()
}

/// Rounding changes no effect and no margin by as much as this, in ranges of the target.
pub const SLACK: f64 = 1e-9;

/// Which of eight actions exceed a goal? `least` is the goal over the share of the group, less the slack.
#[inline(always)]
pub fn exceed(beta: f64, least: f64, effect: &Numbers, variance: &Numbers, reach: &Numbers) -> [bool; 8] {
    std::array::from_fn(|lane| {
        let excess = effect[lane] - least;
        let margins = beta * beta * (variance[lane] + excess * reach[lane] / 3.0);
        (excess > 0.0) & (reach[lane] > 0.0) & (excess * excess >= margins)
    })
}
