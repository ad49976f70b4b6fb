"""Tests whether a rule needs its conditions: would the rest of the rule do as well?

A condition is tested among the rows that satisfy the rest of its rule, with the outcome shuffled within each stratum.
The search selected it among all conditions that could be added there, so it is compared with the best of these on
shuffled outcomes, by the effect over its margin. P-values are adjusted for the number of conditions of the rule (Holm).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from causalrules.estimators import scores
from causalrules.estimators.p_values import holm
from causalrules.estimators.sides import standardised
from causalrules.options import Share, Whole
from causalrules.result.evidence import ConditionTests, with_evidence
from causalrules.search.adjusted import Adjusted
from causalrules.search.deadline import Deadline
from causalrules.trust import repeat

if TYPE_CHECKING:
    from causalrules.result.result import R
    from causalrules.result.rule import RuleResult

# Shuffled values in memory at a time, and in total for one test; and minimum shuffled tables.
_AT_ONCE, _IN_ALL, _FEWEST = 4_000_000, 4_000_000, 199
_MOST_ROWS = 2_000_000
_TIED = 1e-8


def conditions(
    rules: R,
    permutations: int = 999,
    seed: int = 0,
    *,
    level: float = 0.05,
    n_jobs: int = -1,
    time_limit: float | None = None,
    progress: bool | repeat.Watcher | None = None,
) -> R:
    """Test each condition of each rule, in the order of the list until the time limit.

    Large tables are shuffled fewer times, at least 199. With groups, the signs of whole groups are flipped instead.
    With reference rows, the conditions are those on the arm: they are kept, and their p-value is that of the rule.
    """
    del n_jobs, progress
    deadline = Deadline.after(time_limit)
    permutations, seed = Whole(least=1)("permutations", permutations), Whole()("seed", seed)
    level = Share()("level", level)
    problem = repeat.require_problem(rules, "trust")
    tests = _Tests(problem, permutations, seed, deadline)
    return replace(rules, rules=tuple(_tested(rule, tests, level) for rule in rules))


def _tested(rule: RuleResult, tests: _Tests, level: float) -> RuleResult:
    numbers = tests.problem.language.numbers(rule.conditions)
    is_tested = len(numbers) > 1 and tests.problem.comparison.reference is None
    p_values = tests.p_values(numbers) if is_tested else [rule.p_value] * len(numbers)
    if None in p_values:
        return rule
    marked = tuple(replace(each, p_value=p) for each, p in zip(rule.conditions, p_values, strict=True))
    rule = replace(rule, conditions=marked)
    kept = tests.kept(numbers, level) if is_tested else None
    if kept is None or len(kept) == len(numbers):
        return with_evidence(rule, conditions=ConditionTests(level, tuple(range(len(numbers))), None, None))
    covered, failing, everything = tests.problem.compared([numbers[place] for place in kept])
    effect = standardised(covered.mean - failing.mean, covered, failing, everything)
    found = ConditionTests(level, tuple(kept), None if math.isnan(effect) else effect, int(covered.n.sum()))
    return with_evidence(rule, conditions=found)


class _Tests:
    """Tests of conditions on one problem; rules with the same rest share a null distribution."""

    def __init__(self, problem: Adjusted, permutations: int, seed: int, deadline: Deadline) -> None:
        self.problem = problem
        self._permutations, self._seed, self._deadline = permutations, seed, deadline
        self._known: dict[tuple[int, ...], _Rest] = {}

    def p_values(self, numbers: Sequence[int]) -> list[float | None]:
        """Return the p-value of each condition given the others; None after the time limit, or with too many rows."""
        found: list[float | None] = []
        for number in numbers:
            rest = tuple(sorted(other for other in numbers if other != number))
            if rest not in self._known:
                if self._deadline.passed:
                    return [None] * len(numbers)
                # Seeded by the rest, so that the result for a rule does not depend on the other rules.
                rng = np.random.default_rng([self._seed, 1_000, *(1 + each for each in rest)])
                self._known[rest] = _Rest.of(self.problem, rest, self._permutations, rng)
            found.append(self._known[rest].p_value(number))
        return holm(found)

    def kept(self, numbers: Sequence[int], level: float) -> list[int] | None:
        """Return the indices of the conditions left after repeatedly dropping the least needed one.

        Of two equivalent conditions, neither is needed given the other, but one of them must stay.
        """
        places = list(range(len(numbers)))
        while len(places) > 1:
            p_values = self.p_values([numbers[place] for place in places])
            known = [p for p in p_values if p is not None]
            if len(known) < len(places):
                return None
            if max(known) <= level:
                break
            places.pop(known.index(max(known)))
        return places


@dataclass(frozen=True, eq=False)
class _Rest:
    """The rows that satisfy the rest of a rule: effect over margin of each condition, and of the best by chance."""

    ratios: NDArray[np.float64]
    best: NDArray[np.float64]

    @classmethod
    def of(cls, problem: Adjusted, rest: Sequence[int], permutations: int, rng: np.random.Generator) -> _Rest:
        """Shuffle the outcome within each stratum of these rows."""
        contrast = Contrasts.of(problem, rest)
        n_rows = len(contrast.y)
        if n_rows == 0 or n_rows > _MOST_ROWS:
            return cls(np.full(len(problem.language.propositions), np.nan), np.empty(0))
        times = int(np.clip(_IN_ALL // n_rows, min(_FEWEST, permutations), permutations))
        at_once = max(1, _AT_ONCE // n_rows)
        best = []
        for start in range(0, times, at_once):
            shuffled = contrast.permuted(min(at_once, times - start), rng)
            best.append(np.max(contrast.ratios(shuffled), axis=1, initial=-np.inf))
        return cls(contrast.ratios(contrast.y[None])[0], np.concatenate(best))

    def p_value(self, number: int) -> float | None:
        """Return the share of shuffled outcomes on which some condition does as well as this one; None if unknown."""
        if not len(self.best):
            return None
        ratio = self.ratios[number]
        return float((1 + np.sum(self.best >= ratio - _TIED)) / (1 + len(self.best))) if ratio > -np.inf else 1.0


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Some rows, sorted by stratum, and how each condition divides them.

    Attributes
    ----------
    stratum, y
        Stratum and target of each row; larger is better.
    holds, fails
        Which rows (rows) satisfy each condition (columns), and on which it fails.
    group
        The group of each row, from 0 on; None if rows are independent. With groups, the target is centred in each
        stratum, so that its sign can be flipped.
    """

    stratum: NDArray[np.int64]
    y: NDArray[np.float64]
    holds: NDArray[np.bool_]
    fails: NDArray[np.bool_]
    group: NDArray[np.int64] | None = None

    def permuted(self, times: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the target shuffled within each stratum, or with signs of whole groups flipped, `times` times."""
        if self.group is not None:
            signs = rng.choice([-1.0, 1.0], (times, int(self.group.max()) + 1))
            return np.asarray(self.y * signs[:, self.group])
        keys = self.stratum + rng.random((times, len(self.y)))
        return np.asarray(self.y[np.argsort(keys, axis=1)])

    @classmethod
    def of(cls, problem: Adjusted, rest: Sequence[int]) -> Contrasts:
        """Build from the rows of a problem that satisfy the rest of a rule."""
        rows, language = problem.rows.local, problem.language
        chosen = np.flatnonzero(problem.covered(rest))
        chosen = np.repeat(chosen, problem.frequencies[chosen])
        chosen = chosen[np.argsort(rows.stratum[chosen], kind="stable")]
        values = problem.comparison.values[rows.outcome[chosen]]
        stratum = np.unique(rows.stratum[chosen], return_inverse=True)[1].astype(np.int64)
        codes = np.stack([column[chosen] for column in rows.columns], axis=1)[:, language.column_index]
        holds = (codes >= language.low) & (codes <= language.high)
        unknown = (codes < 0) & (problem.comparison.missing == "unknown")
        y = np.asarray(-values if problem.comparison.decrease else values, np.float64)
        group = None
        if problem.group is not None and len(y):
            group = np.unique(problem.group[chosen], return_inverse=True)[1].astype(np.int64)
            y = y - (np.bincount(stratum, y) / np.bincount(stratum))[stratum]
        return cls(stratum, y, holds, ~holds & ~unknown, group)

    def ratios(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the effect of each condition over its margin, for targets that differ only in the order of rows.

        −∞ for a condition that does not divide the rows of any stratum.
        """
        gain, constant, margin = self._linear
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio: NDArray[np.float64] = (y @ gain + constant) / margin
        ratio[:, margin <= 0] = -np.inf
        return ratio

    @cached_property
    def _linear(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the factor of each row in the pooled effect of each condition, the constants, and the margins.

        Only strata that a condition divides count. Pseudo-rows and variances are taken over all rows of a stratum,
        including rows where a missing value leaves the condition undecided, so that shuffling changes neither.
        """
        first = np.flatnonzero(np.diff(self.stratum, prepend=-1))
        n = np.bincount(self.stratum).astype(np.float64)
        weight = n / n.sum()
        mean, square = (np.add.reduceat(power, first) / n for power in (self.y, self.y**2))
        variance = np.maximum(square - mean**2, 0.0)
        span = np.maximum.reduceat(self.y, first) - np.minimum.reduceat(self.y, first)
        k, f = (np.add.reduceat(side.astype(np.float64), first, axis=0) for side in (self.holds, self.fails))
        both = (k > 0) & (f > 0)
        on, off = (both * weight[:, None] / (side + scores.KAPPA) for side in (k, f))
        gain = self.holds * on[self.stratum] - self.fails * off[self.stratum]
        constant = np.sum(scores.KAPPA * mean[:, None] * (on - off), axis=0)
        spread = np.sum(weight[:, None] * variance[:, None] * (on + off), axis=0)
        reach = np.max(span[:, None] * (on + off), axis=0)
        beta = math.sqrt(2 * math.log(max(both.any(axis=0).sum(), 1) / 0.05))
        margin = np.array([scores.pooled_margin(beta, *each) for each in zip(spread, reach, strict=True)])
        return gain, constant, margin
