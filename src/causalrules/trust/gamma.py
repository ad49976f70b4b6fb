"""Γ: how much a hidden confounder may change the odds of a rule before its effect can be 0.

The marginal sensitivity model (Tan 2006): given the controls, knowing the confounder changes the odds that the rule
holds by a factor of at most Γ, up or down. By Bayes' theorem, the counterfactual outcomes with the rule of the rows
without it are then distributed like the outcomes of the rows with it, reweighted by factors between 1/Γ and Γ with mean
1; and vice versa. The worst such factors are Γ for the lowest values, up to a share of 1/(1 + Γ), and 1/Γ for the rest,
so each stratum is solved exactly. Γ does not change if the outcome is negated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causalrules.estimators import scores

if TYPE_CHECKING:
    from causalrules.search.adjusted import Adjusted

Floats = NDArray[np.float64]
# Maximum Γ.
MOST = 1000.0
_STEP = 1.1
_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The values of the target on both sides of a rule.

    Attributes
    ----------
    stratum, value
        Entries in ascending order of both; an entry is one row, or all rows of a stratum with one value.
    covered, failing, everything
        The number of rows of each entry that the rule covers, on which it fails, and in total.
    """

    stratum: NDArray[np.int64]
    value: Floats
    covered: Floats
    failing: Floats
    everything: Floats

    @classmethod
    def of_counts(cls, counts: Sequence[Sequence[int]], undecided: Sequence[Sequence[int]] = ()) -> Outcomes:
        """Build from the counts (a, b, c, d) of each stratum, and its undecided rows with and without the outcome."""
        a, b, c, d = np.array(counts, np.float64).reshape(-1, 4).T
        u, v = np.array(undecided or [(0, 0)] * len(a), np.float64).reshape(-1, 2).T
        without_and_with = [(b, a), (d, c), (b + d + v, a + c + u)]
        return cls(
            np.repeat(np.arange(len(a)), 2),
            np.tile([0.0, 1.0], len(a)),
            *(np.stack(pair, axis=1).ravel() for pair in without_and_with),
        )

    @classmethod
    def of_rows(cls, problem: Adjusted, numbers: Sequence[int]) -> Outcomes:
        """Build from the rows of a problem on which a rule, given by the indices of its conditions, holds or fails."""
        rows = problem.rows.local
        order = np.lexsort((rows.y, rows.stratum))
        covered, failing = problem.sides(numbers)
        weight = problem.frequencies.astype(np.float64)
        entries = (rows.y, weight * covered, weight * failing, weight)
        value, on, off, every = (np.asarray(entry, np.float64)[order] for entry in entries)
        return cls(rows.stratum[order].astype(np.int64), value, on, off, every)

    def turned(self) -> Outcomes:
        """Return the outcomes with the sign of the target changed."""
        order = np.lexsort((-self.value, self.stratum))
        return Outcomes(
            self.stratum[order], -self.value[order], self.covered[order], self.failing[order], self.everything[order]
        )

    def compared(self) -> Outcomes:
        """Return the outcomes of the strata with both sides, numbered from 0."""
        sides = [np.bincount(self.stratum, side) > 0 for side in (self.covered, self.failing)]
        kept = (sides[0] & sides[1])[self.stratum]
        stratum = np.unique(self.stratum[kept], return_inverse=True)[1]
        fields = (self.value, self.covered, self.failing, self.everything)
        return Outcomes(stratum.astype(np.int64), *(each[kept] for each in fields))


class _Side(NamedTuple):
    """One side: the share of each entry in its stratum, and the number of rows of each stratum."""

    share: Floats
    n: Floats


class Bias:
    """The largest upward bias of an effect by confounders, as a function of Γ."""

    def __init__(self, outcomes: Outcomes) -> None:
        self._stratum, self._value = outcomes.stratum, outcomes.value
        total = self._sum(outcomes.everything)
        self._weight = total / total.sum()
        # Add the pooled estimator's pseudo-rows, which shrink small sides towards the stratum.
        compared = outcomes.covered + outcomes.failing
        pseudo = scores.KAPPA * compared / self._sum(compared)[self._stratum]
        self._on, self._off = (
            _Side((side + pseudo) / (n + scores.KAPPA)[self._stratum], n)
            for side, n in ((each, self._sum(each)) for each in (outcomes.covered, outcomes.failing))
        )
        self._held = self._on.n / (self._on.n + self._off.n)
        self._spread = self._variance(1.0)

    def _sum(self, entries: Floats) -> Floats:
        return np.bincount(self._stratum, entries).astype(np.float64)

    def __call__(self, gamma: float) -> float:
        """Return Σ_z w_z [(1 − e)(mean with − lowest with) + e (highest without − mean without)].

        e is the share of the stratum's rows on which the rule holds; lowest and highest means are over all factors.
        """
        low, _ = self._extreme(self._on, gamma, lowest=True)
        high, _ = self._extreme(self._off, gamma, lowest=False)
        mean_on, mean_off = (self._sum(side.share * self._value) for side in (self._on, self._off))
        moved = (1 - self._held) * (mean_on - low) + self._held * (high - mean_off)
        return float(np.sum(self._weight * moved))

    def widening(self, gamma: float) -> float:
        """Return the standard error of the lowest effect, relative to that of the effect (delta method)."""
        return float(np.sqrt(self._variance(gamma) / self._spread)) if self._spread > 0 else 1.0

    def _extreme(self, side: _Side, gamma: float, lowest: bool) -> tuple[Floats, Floats]:
        """Return the extreme mean in each stratum, and the influence function at each value."""
        tail, more = 1 / (1 + gamma), gamma - 1 / gamma
        upto = np.cumsum(side.share)
        first = np.flatnonzero(np.diff(self._stratum, prepend=-1))
        upto = upto - (upto[first] - side.share[first])[self._stratum]  # within the stratum
        before = upto - side.share if lowest else 1 - upto
        taken = np.clip(tail - before, 0.0, side.share)
        extreme = self._sum(side.share * self._value) / gamma + more * self._sum(taken * self._value)
        at = (before < tail) & (before + side.share >= tail - 1e-12)
        edge = self._sum(at * self._value) / np.maximum(self._sum(at.astype(np.float64)), 1)
        beyond = self._value - edge[self._stratum]
        return extreme, self._value / gamma + more * (np.minimum(beyond, 0.0) if lowest else np.maximum(beyond, 0.0))

    def _variance(self, gamma: float) -> float:
        total = 0.0
        parts = ((self._on, self._held, True), (self._off, 1 - self._held, False))
        for side, own, lowest in parts:
            _, influence = self._extreme(side, gamma, lowest)
            moved = own[self._stratum] * self._value + (1 - own)[self._stratum] * influence
            mean = self._sum(side.share * moved)
            variance = self._sum(side.share * (moved - mean[self._stratum]) ** 2)
            total += float(np.sum(self._weight**2 * variance / side.n))
        return total


def gammas(outcomes: Outcomes, effect: float, low: float, high: float) -> tuple[float, float]:
    """Return the smallest Γ at which the effect can be 0, and the smallest at which its interval reaches 0.

    1 if no confounder is needed; at most 1,000.

    Parameters
    ----------
    outcomes
        The values of the target on both sides of the rule.
    effect, low, high
        Its effect and interval.
    """
    least, end = _left(outcomes, effect, low, high)
    return _first_zero(least), _first_zero(end)


def _left(
    outcomes: Outcomes, effect: float, low: float, high: float
) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """Return lower bounds on the size of an effect, and on the end of its interval nearer to 0, as functions of Γ."""
    compared = outcomes.compared()
    if effect < 0:
        compared, effect, low = compared.turned(), -effect, -high
    bias = Bias(compared)
    reach = effect - low
    return (lambda gamma: effect - bias(gamma), lambda gamma: effect - bias(gamma) - reach * bias.widening(gamma))


def least_effects(
    outcomes: Outcomes, effect: float, low: float, high: float, strengths: Sequence[float]
) -> list[tuple[float, float]]:
    """Bound an effect, and the end of its interval nearer to 0, at each Γ.

    Both bounds have the sign of the effect; beyond 0, the effect is explained away.

    Parameters
    ----------
    outcomes
        The values of the target on both sides of the rule.
    effect, low, high
        Its effect and interval.
    strengths
        The values of Γ, at least 1.

    Examples
    --------
    >>> outcomes = Outcomes.of_counts([(60, 40, 20, 80)])
    >>> [round(left, 2) for left, _ in least_effects(outcomes, 0.4, 0.27, 0.52, [1.0, 2.0, 5.0])]
    [0.4, 0.15, -0.16]
    """
    sign = -1.0 if effect < 0 else 1.0
    least, end = _left(outcomes, effect, low, high)
    return [(sign * least(gamma), sign * end(gamma)) for gamma in strengths]


def odds_factor(held: ArrayLike, failed: ArrayLike) -> float:
    """Return the largest factor by which knowing a control changes the odds of a rule, given the other controls.

    For each value v of the control, over the strata z of the others (Mantel & Haenszel 1959):

    Σ_z h_zv f_z / n_z  /  Σ_z f_zv h_z / n_z,   or 1 over it

    Parameters
    ----------
    held, failed
        The rows h_zv on which the rule holds, and f_zv on which it fails, by stratum of the other controls (rows) and
        value of the control (columns).

    Examples
    --------
    >>> odds_factor([[60, 20]], [[20, 60]])
    3.0
    """
    h, f = np.asarray(held, np.float64), np.asarray(failed, np.float64)
    n = np.maximum(h.sum(axis=1) + f.sum(axis=1), 1)
    up = np.sum(h * (f.sum(axis=1) / n)[:, None], axis=0)
    down = np.sum(f * (h.sum(axis=1) / n)[:, None], axis=0)
    known = up + down > 0
    up, down = up[known], down[known]
    if not (up.all() and down.all()):
        up, down = up + 0.5, down + 0.5
    return float(np.max(np.maximum(up / down, down / up), initial=1.0))


def _first_zero(left: Callable[[float], float]) -> float:
    if not left(1.0) > 0:
        return 1.0
    below, above = 1.0, _STEP
    while left(above) > 0:
        if above >= MOST:
            return MOST
        below, above = above, min(above * _STEP, MOST)
    for _ in range(_HALVINGS):
        middle = (below + above) / 2
        below, above = (middle, above) if left(middle) > 0 else (below, middle)
    return above
