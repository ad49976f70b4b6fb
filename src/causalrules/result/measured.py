"""Measurements of a rule in each stratum of the controls: counts or sums, and numbers derived from them.

Only counts or sums are stored, so that no two numbers can disagree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from causalrules.estimators import intervals, scores
from causalrules.estimators.intervals import Estimate, Grouped
from causalrules.estimators.p_values import two_sided
from causalrules.estimators.sides import Side, comparable, standardised
from causalrules.language.kinds import BINARY, OutcomeKind
from causalrules.language.strata import SCORES
from causalrules.payload import Plain, tuple_repr


class Interval(NamedTuple):
    """A confidence interval of an effect."""

    low: float
    high: float

    def __repr__(self) -> str:
        return tuple_repr(self)


class AnyInterval(Interval):
    """The 95 % interval of an effect, and the intervals of other confidences when called."""

    measured: Measured

    def __repr__(self) -> str:
        return repr(Interval(*self))

    def __call__(self, confidence: float = 0.95) -> Interval:
        """Return the interval with another confidence."""
        found = self.measured.estimate(confidence)
        return Interval(found.low, found.high)


class Sums(NamedTuple):
    """Some rows: their number, the sum of their target, and of its squared and cubed distances from the mean."""

    n: int
    total: float
    scatter: float
    cubes: float

    @classmethod
    def binary(cls, positive: int, negative: int) -> Sums:
        """Return the sums of rows with and without an outcome."""
        n, total, scatter, cubes = (float(each[0]) for each in Side.binary(positive, negative))
        return cls(int(n), total, scatter, cubes)

    @property
    def mean(self) -> float:
        """Mean of the target; nan without rows."""
        return self.total / self.n if self.n else float("nan")


class StratumSums(NamedTuple):
    """One stratum: the covered, failing and all rows of a rule, and the range of the target in the compared rows."""

    covered: Sums
    failing: Sums
    everything: Sums
    span: float


@dataclass(frozen=True, repr=False)
class StratumEffect:
    """A rule in one stratum of the controls.

    For a binary outcome, `a` of the covered rows have it and `b` do not; of the rows on which the rule fails, `c` and
    `d`. A share or mean of no rows is nan.

    Attributes
    ----------
    labels
        The values of the controls.
    sums
        The number of rows, and sums of their target minus `centre`.
    weight
        The weight of the stratum: (n+4)/(N+4K) in the reliable effect, n/N in the others.
    centre
        Subtracted from the target before it is summed.
    kind
        The kind of the outcome.
    """

    labels: Mapping[str, str] = field(hash=False)
    sums: StratumSums
    beta: float
    weight: float
    centre: float = 0.0
    kind: OutcomeKind = BINARY

    def __repr__(self) -> str:
        name = ", ".join(f"{control} = {value}" for control, value in self.labels.items()) or "all rows"
        holds, fails = (self.kind.level(level) for level in (self.p_rule, self.p_not_rule))
        effect = self.kind.with_interval(self.difference, *self.interval)
        return f"<{name}: {self.n:,} rows, {holds} where the rule holds, {fails} where it does not; {effect}>"

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.sums.everything.n

    @property
    def a(self) -> int:
        """Covered rows with the outcome."""
        return round(self.sums.covered.total)

    @property
    def b(self) -> int:
        """Covered rows without the outcome."""
        return self.sums.covered.n - self.a

    @property
    def c(self) -> int:
        """Other rows with the outcome."""
        return round(self.sums.failing.total)

    @property
    def d(self) -> int:
        """Other rows without the outcome."""
        return self.sums.failing.n - self.c

    @property
    def p_rule(self) -> float:
        """Share of the covered rows with the outcome, or mean of their target."""
        return self.centre + self.sums.covered.mean

    @property
    def p_not_rule(self) -> float:
        """Share of the other rows with the outcome, or mean of their target."""
        return self.centre + self.sums.failing.mean

    @property
    def difference(self) -> float:
        """`p_rule` minus `p_not_rule`."""
        return self.sums.covered.mean - self.sums.failing.mean

    @property
    def reliable_difference(self) -> float:
        """Laplace-corrected difference minus its confidence terms, of a binary outcome."""
        return float(scores.reliable_difference(self.a, self.b, self.c, self.d, self.beta))

    @property
    def interval(self) -> Interval:
        """95 % confidence interval of `difference`, for a rule fixed in advance."""
        covered, failing, everything = (Side(*(np.array([float(each)]) for each in sums)) for sums in self.sums[:3])
        found = self.kind.estimate((covered, failing, everything))
        return Interval(found.low, found.high)

    @property
    def overlap(self) -> bool:
        """Whether the rule holds for some rows of the stratum and fails for some."""
        return self.sums.covered.n > 0 and self.sums.failing.n > 0


@dataclass(frozen=True, repr=False)
class Modelled(Plain):
    """An effect by models of the controls as they are, doubly robust (`trust.doubly_robust`).

    Attributes
    ----------
    effect, standard_error
        The effect and its standard error.
    holds, fails
        The levels of the outcome that it is the difference of, less the centre of `Measured`.
    overlap
        The share of the rows that it refers to: those with rows like them on both sides.
    n_groups
        The number of groups that the standard error allows for; None without groups.
    """

    effect: float
    standard_error: float
    holds: float
    fails: float
    overlap: float
    n_groups: int | None = None

    def estimate(self, confidence: float, kind: OutcomeKind) -> Estimate:
        """Return the effect with its standard error and interval: normal, or Student's with groups."""
        if self.n_groups is None:
            reach = intervals.beta_of_confidence(confidence)
        else:
            reach = intervals.student(confidence, max(self.n_groups - 1, 1))
        ends = (kind.clip(self.effect + side * reach * self.standard_error) for side in (-1, 1))
        return Estimate(self.effect, self.standard_error, *ends)


@dataclass(frozen=True, repr=False)
class Measured(Plain):
    """The measurements of a rule.

    Attributes
    ----------
    labels
        The values of the controls in each stratum.
    counts
        For a binary outcome, the counts (a, b, c, d) of `StratumEffect` in each stratum.
    undecided
        For a binary outcome, the rows with and without it that are not compared, in each stratum: the rule is undecided
        because of a missing value, or they are not reference rows.
    sums
        For other kinds, the sums of the target minus `centre` in each stratum, instead of the counts.
    scored
        The sums of the levels that the search ranks by, if these are not the values of the target.
    centre
        Subtracted from the target before it is summed.
    grouped
        With groups, the standard error that allows for them.
    kind
        The kind of the outcome.
    n_open
        With reference rows: the other rows where a missing value leaves open whether the rule holds; None without.
    binned
        The controls with fewer bins than values.
    modelled
        In strata of a prediction: the effect by models of the controls, once it is known. It takes the place of that in
        the strata, which depends on what the prediction misses.
    """

    labels: tuple[Mapping[str, str], ...] = field(hash=False)
    counts: tuple[tuple[int, int, int, int], ...] = ()
    undecided: tuple[tuple[int, int], ...] = ()
    sums: tuple[StratumSums, ...] = ()
    scored: tuple[StratumSums, ...] = ()
    centre: float = 0.0
    grouped: Grouped | None = None
    kind: OutcomeKind = BINARY
    n_open: int | None = None
    binned: tuple[str, ...] = ()
    modelled: Modelled | None = None

    @property
    def in_strata(self) -> Measured:
        """The same measurements, with the effect in the strata."""
        return self if self.modelled is None else replace(self, modelled=None)

    @property
    def may_confound(self) -> bool:
        """Whether the strata may leave confounding, because of bins or of what a prediction misses."""
        return self.is_prognostic or bool(self.binned)

    @property
    def is_prognostic(self) -> bool:
        """Whether the strata are quantiles of a prediction from the controls instead of their values."""
        return bool(self.labels) and not set(SCORES).isdisjoint(self.labels[0])

    @cached_property
    def tables(self) -> tuple[NDArray[np.int64], ...]:
        """The counts a, b, c and d as arrays over the strata, for `estimators`."""
        return tuple(np.array(self.counts, dtype=np.int64).T)

    @cached_property
    def sides(self) -> tuple[Side, Side, Side]:
        """The covered, failing and all rows of the rule as sides, for `estimators`."""
        if self.sums:
            return _sides(self.sums)
        a, b, c, d = self.tables
        with_outcome, without = np.array(self.undecided or [(0, 0)] * len(a)).T
        return Side.binary(a, b), Side.binary(c, d), Side.binary(a + c + with_outcome, b + d + without)

    @cached_property
    def scored_sides(self) -> tuple[Side, Side, Side]:
        """The sides by the levels that the search ranks by."""
        return _sides(self.scored) if self.scored else self.sides

    @property
    def spans(self) -> list[float]:
        """The range of the target in each stratum, among the compared rows."""
        # A binary outcome has range 1 in strata with both values.
        scored = [stratum.span for stratum in self.scored or self.sums]
        return scored or [min(1, a + c) * min(1, b + d) for a, b, c, d in self.counts]

    @property
    def n_rows(self) -> list[int]:
        """Number of covered, failing and all rows."""
        return [int(side.n.sum()) for side in self.sides]

    @cached_property
    def effect(self) -> float:
        """The effect adjusted for the controls: by models, or over the strata with overlap; nan if there are none."""
        if self.modelled is not None:
            return self.modelled.effect
        covered, failing, _ = self.sides
        return standardised(covered.mean - failing.mean, *self.sides)

    @cached_property
    def marginal_effect(self) -> float:
        """The unadjusted difference."""
        covered, failing = (
            float(side.total.sum() / side.n.sum()) if side.n.any() else np.nan for side in self.sides[:2]
        )
        return float(covered - failing)

    @cached_property
    def levels(self) -> tuple[float, float]:
        """The adjusted levels of the outcome where the rule holds, and where it does not."""
        if self.modelled is not None:
            return self.centre + self.modelled.holds, self.centre + self.modelled.fails
        holds, fails = (self.centre + standardised(side.mean, *self.sides) for side in self.sides[:2])
        return holds, fails

    @cached_property
    def overlap(self) -> float:
        """Share of the rows with a comparison group: those that the effect refers to."""
        if self.modelled is not None:
            return self.modelled.overlap
        covered, failing, everything = self.sides
        return float(everything.n[comparable(covered, failing)].sum() / everything.n.sum())

    @cached_property
    def effective_rows(self) -> float:
        """Rows of a balanced experiment that would estimate the effect with the same variance."""
        return intervals.effective_rows(*self.sides)

    @property
    def thin(self) -> bool:
        """Whether the effective rows are less than a quarter of those of the same sides in a single stratum.

        Then one side has few rows in large strata, and the effect depends on them.
        """
        k, f = (float(side.n[comparable(*self.sides[:2])].sum()) for side in self.sides[:2])
        return k * f > 0 and self.effective_rows < k * f / (k + f)

    def estimate(self, confidence: float = 0.95) -> Estimate:
        """Return the effect with its standard error and its interval, for a rule fixed in advance."""
        if self.modelled is not None:
            return self.modelled.estimate(confidence, self.kind)
        return self.kind.estimate(self.sides, confidence, self.grouped)

    @cached_property
    def interval(self) -> AnyInterval:
        """95 % confidence interval of `effect`; call it for another confidence."""
        found = self.estimate()
        interval = AnyInterval(found.low, found.high)
        interval.measured = self
        return interval

    @cached_property
    def design_effect(self) -> float:
        """How many times larger the standard error is because rows of a group depend on each other; at least 1."""
        if self.grouped is None or not self.grouped.n_groups:
            return 1.0
        alone = self.kind.estimate(self.sides).standard_error
        return max(1.0, self.grouped.standard_error / alone) if alone > 0 else 1.0

    @cached_property
    def p_value(self) -> float:
        """Two-sided p-value of a rule fixed in advance: the test that `interval` inverts; 1 without a comparison."""
        return 1.0 if math.isnan(self.effect) else two_sided(lambda confidence: self.estimate(confidence)[2:])

    def strata(self, weights: Sequence[float], beta: float) -> tuple[StratumEffect, ...]:
        """Return the effect in each stratum, with these weights of the strata."""
        undecided = self.undecided or [(0, 0)] * len(self.counts)
        sums = self.sums or tuple(
            StratumSums(Sums.binary(a, b), Sums.binary(c, d), Sums.binary(a + c + u, b + d + v), 1.0)
            for (a, b, c, d), (u, v) in zip(self.counts, undecided, strict=True)
        )
        return tuple(
            StratumEffect(labels, stratum, beta=beta, weight=weight, centre=self.centre, kind=self.kind)
            for labels, stratum, weight in zip(self.labels, sums, weights, strict=True)
        )


def _sides(strata: Sequence[StratumSums]) -> tuple[Side, Side, Side]:
    covered, failing, everything = (
        Side(*np.array([stratum[place] for stratum in strata], dtype=np.float64).T) for place in range(3)
    )
    return covered, failing, everything
