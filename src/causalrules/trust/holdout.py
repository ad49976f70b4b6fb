"""Honest effects: rules found on some rows, and their effects measured on held-out rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from causalrules import estimators
from causalrules.data.reading import read
from causalrules.data.table import Table
from causalrules.estimators import Side
from causalrules.exceptions import DataError, OptionError
from causalrules.language.outcome import resolve_outcome
from causalrules.options import Share, Whole
from causalrules.question import Question
from causalrules.search.deadline import Deadline
from causalrules.search.problem import Problem, reference_rows
from causalrules.text import counted, unknown_column
from causalrules.trust import repeat
from causalrules.trust.evidence import HonestEffect, HonestRun, with_evidence, with_run
from causalrules.trust.resample import TooFewRowsError, folds, reweighted, split

if TYPE_CHECKING:
    from causalrules.result.rule import RuleResult
    from causalrules.result.rules import RuleSet


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return Holm's adjusted p-values (1979): the i-th smallest of m times m − i + 1, made monotone, at most 1.

    >>> [round(p, 10) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(order):
        # Rules without a p-value count in m.
        largest = max(largest, min(1.0, p * (len(p_values) - rank)))
        adjusted[place] = largest
    return adjusted


@dataclass(frozen=True)
class _Estimate:
    effect: float | None
    error: float | None
    compared: int
    n_rows: int
    found: int = 1
    counts: tuple[tuple[int, int, int, int], ...] = ()

    @classmethod
    def of(cls, sides: tuple[Side, Side, Side], binary: bool) -> _Estimate:
        """Estimate the effect from the rows that a rule covers, those on which it fails, and all."""
        covered, failing, everything = sides
        n_rows = int(everything.n.sum())
        compared = int(everything.n[estimators.comparable(covered, failing)].sum())
        counts: tuple[tuple[int, int, int, int], ...] = ()
        if binary:
            table = [covered.total, covered.n - covered.total, failing.total, failing.n - failing.total]
            counts = tuple((a, b, c, d) for a, b, c, d in np.array(table).T.astype(int).tolist())
        if not compared:
            return cls(None, None, 0, n_rows, counts=counts)
        return cls(*estimators.population_effect(*sides, binary=binary), compared, n_rows, counts=counts)


def _mean(estimates: Sequence[_Estimate], n_rows: int, found: int) -> _Estimate:
    """Return the mean of effects on disjoint rows, weighted by their rows with a comparison group.

    Counts are not summed over the parts, even if each part has the same rule. Small strata would then have both sides
    only where the searches agree, and searches agree where the outcomes, by chance or not, favour the rule. The number
    of rows with a comparison group in one part does not depend on their outcomes.
    """
    compared = sum(each.compared for each in estimates)
    if not compared:
        return _Estimate(None, None, 0, n_rows, found)
    effect = sum(each.compared * (each.effect or 0.0) for each in estimates) / compared
    error = math.hypot(*(each.compared * (each.error or 0.0) for each in estimates)) / compared
    return _Estimate(effect, error, compared, n_rows, found)


def _honest(rules: RuleSet, estimates: Sequence[_Estimate], splits: int, confidence: float) -> list[HonestEffect]:
    """Add the intervals, and Holm's p-values over all estimates, in the direction that was asked for."""
    reach = estimators.beta_of_confidence(confidence)
    sign = -1.0 if rules.question.direction == "decrease" else 1.0
    farthest = math.inf if any(rule.is_mean for rule in rules) else 1.0
    one_sided = [
        None
        if each.effect is None or not each.error
        else 0.5 * math.erfc(sign * each.effect / each.error / math.sqrt(2))
        for each in estimates
    ]
    effects = []
    for each, p in zip(estimates, holm(one_sided), strict=True):
        low = high = None
        if each.effect is not None and each.error is not None:
            low = max(-farthest, each.effect - reach * each.error)
            high = min(farthest, each.effect + reach * each.error)
        effects.append(
            HonestEffect(
                n_rows=each.n_rows,
                overlap=each.compared / each.n_rows,
                effect=each.effect,
                standard_error=each.error,
                low=low,
                high=high,
                p_value=p,
                found=each.found,
                splits=splits,
                counts=each.counts,
            )
        )
    return effects


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows kept from the search; `sides` gives those that a rule covers, those on which it fails, and all."""

    source: str
    n_rows: int
    seed: int | None
    sides: Callable[[RuleResult], tuple[Side, Side, Side]]

    def measure(self, rules: RuleSet, confidence: float = 0.95) -> RuleSet:
        """Return the rules with their effects on these rows."""
        estimates = [_Estimate.of(self.sides(rule), not rule.is_mean) for rule in rules]
        run = HonestRun(self.source, rules.n_rows, self.n_rows, 1, 1, confidence, self.seed)
        return _with_effects(rules, _honest(rules, estimates, 1, confidence), run)


def hold_out(problem: Problem, share: float, seed: int = 0) -> tuple[Problem, HeldOut]:
    """Split the problem into rows to search and a share of each stratum to hold out."""
    share, seed = Share()("holdout", share), Whole()("seed", seed)
    searched, held_out = split(problem, share, repeat.generator(seed, "split"))
    if searched.outcome.min() == searched.outcome.max():
        raise OptionError(
            f"holdout = {share!r} leaves {counted(searched.n_rows, 'row')} to search, all with the same outcome; "
            "hold out fewer"
        )

    def sides(rule: RuleResult) -> tuple[Side, Side, Side]:
        return held_out.compared(held_out.language.numbers(rule.conditions))

    return searched, HeldOut("holdout", held_out.n_rows, seed, sides)


def compared_rows(rule: RuleResult, rows: Table, question: Question) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows of a table a rule covers, and which they are compared with, as the question asks."""
    covered = np.ones(rows.n_records, np.bool_)
    possible = covered.copy()
    for condition in rule.conditions:
        known = rows.histogram(condition.column).values
        holds = rows.select(condition.column, condition.holds(known))
        covered &= holds
        if question.missing == "unknown":
            holds = holds | ~rows.select(condition.column, np.ones(len(known), np.bool_))
        possible &= holds
    reference = reference_rows(rows, question)
    if reference is None:
        return covered, ~possible
    chosen = rows.select(*reference)
    return covered & ~chosen, chosen


def second_table(table: Table, problem: Problem, question: Question) -> HeldOut:
    """Take another table as held-out rows, in the language and the strata of the first."""
    other, roles = read(question.holdout), problem.roles
    for name in (roles.target, *roles.control):
        if name not in other.names:
            raise DataError(f"the holdout table lacks a column of the first: {unknown_column(name, other.names)}")
        if table.kinds[name] is not other.kinds[name]:
            raise DataError(
                f"column {name!r} holds {table.kinds[name]} values in the table and {other.kinds[name]} values in the "
                "holdout table; make them alike"
            )
    rows = other.observed(roles.target, question.weights)
    outcome = resolve_outcome(rows, roles.target, question.outcome)
    values = np.asarray(rows.histogram(roles.target).values.sortable) if outcome.is_mean else outcome.level
    y = values.astype(np.float64)[rows.codes(roles.target, np.arange(len(values)))]
    weights = np.ones(rows.n_records) if rows.weights is None else rows.weights
    try:
        _, stratum = np.unique(problem.strata.index_of(rows), return_inverse=True)
    except DataError as error:
        raise DataError(f"the holdout table: {error}") from error

    def side(chosen: NDArray[np.bool_]) -> Side:
        return estimators.side_of(stratum, y, weights, chosen, int(stratum.max()) + 1)

    def sides(rule: RuleResult) -> tuple[Side, Side, Side]:
        for condition in rule.conditions:
            if condition.column not in rows.names:
                raise DataError(
                    f"the rule {rule.text!r} on the holdout table: {unknown_column(condition.column, rows.names)}"
                )
        covered, failing = compared_rows(rule, rows, question)
        return side(covered), side(failing), side(np.ones(rows.n_records, np.bool_))

    return HeldOut("second table", rows.n_rows, None, sides)


def cross_fit(
    rules: RuleSet,
    splits: int = 5,
    seed: int = 0,
    *,
    confidence: float = 0.95,
    n_jobs: int = -1,
    time_limit: float | None = None,
    progress: bool | repeat.Watcher | None = None,
) -> RuleSet:
    """Implement `RuleSet.cross_fit`.

    Each part is held out in turn, and the rules found on the other parts are measured on it. The effect in place j is
    the mean over the parts of the effect of the j-th rule found without the part, weighted by the rows with a
    comparison group. (The rules of the whole table must not be measured on its parts, which helped to choose them.) If
    the rules are ideas, so are those of each part.
    """
    deadline = Deadline.after(time_limit)
    splits, seed = Whole(least=2)("splits", splits), Whole()("seed", seed)
    confidence = Share()("confidence", confidence)
    problem = repeat.require_problem(rules, "cross_fit")
    if splits > problem.n_rows:
        raise TooFewRowsError(f"splits = {splits}: the table has only {counted(problem.n_rows, 'row')}")
    parts = folds(problem, splits, repeat.generator(seed, "split"))
    everything = problem.frequencies

    def work(searcher: repeat.Searcher, place: int) -> list[tuple[int, ...]]:
        return searcher.listed(reweighted(problem, everything - parts[place]), rules.question)

    lists = list(repeat.in_order(work, splits, n_jobs, "splits", progress, deadline))
    if not lists:
        raise repeat.OutOfTimeError(f"time_limit = {time_limit!r}: none of the {splits} searches ended; raise it")
    parts = parts[: len(lists)]
    n_held_out = int(sum(part.sum() for part in parts))
    estimates = []
    for place, rule in enumerate(rules):
        rows = problem.covered(problem.language.numbers(rule.conditions))
        measured = [
            _Estimate.of(problem.compared(listed[place], part), not rule.is_mean)
            for part, listed in zip(parts, lists, strict=True)
            if place < len(listed)
        ]
        found = sum(any(np.array_equal(rows, problem.covered(each)) for each in listed) for listed in lists)
        estimates.append(_mean(measured, n_held_out, found))
    n_estimation = problem.n_rows // splits
    run = HonestRun("cross-fitting", problem.n_rows - n_estimation, n_estimation, len(lists), splits, confidence, seed)
    return _with_effects(rules, _honest(rules, estimates, len(lists), confidence), run)


def _with_effects(rules: RuleSet, effects: Sequence[HonestEffect], run: HonestRun) -> RuleSet:
    measured = [with_evidence(rule, honest=effect) for rule, effect in zip(rules, effects, strict=True)]
    return with_run(rules, measured, honest=run)
