"""Honest effects: a rule found on some rows, its effect measured on others that had no part in finding it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from causalrules.data.reading import read
from causalrules.data.table import Table
from causalrules.estimators import beta_of_confidence, share_variance
from causalrules.exceptions import DataError, OptionError
from causalrules.language.roles import resolve
from causalrules.options import Share, Whole
from causalrules.search.deadline import Deadline
from causalrules.search.problem import Problem
from causalrules.text import counted, unknown_column
from causalrules.trust import repeat
from causalrules.trust.evidence import HonestEffect, HonestRun, RuleEvidence, SearchEvidence
from causalrules.trust.resample import (
    TooFewRowsError,
    contingency,
    covered,
    folds,
    frequencies,
    reweighted,
    rule_rows,
    split,
)

if TYPE_CHECKING:
    from causalrules.result.rule import RuleResult
    from causalrules.result.rules import RuleSet

Counts = tuple[tuple[int, int, int, int], ...]


def standardised(counts: Counts) -> tuple[float | None, float | None]:
    """Return the effect of a rule standardised over the strata, and its standard error.

    effect = Σ_z w_z τ_z, with τ_z = a/(a+b) − c/(c+d), w_z = n_z/N′ over the strata with both sides, N′ their rows
    variance = Σ_z w_z² [p̃(1−p̃)/(a+b) + q̃(1−q̃)/(c+d)] + Σ_z w_z (τ_z − effect)² / N′

    The first term is chance within the strata, with p̃ = (a+1)/(a+b+2) and q̃ likewise, so that a side where the
    outcome always or never happened is not taken to be certain; the second is chance in how many rows fall into each
    stratum, because the effect is meant for the population and not for these rows.

    >>> effect, error = standardised(((161, 9, 181, 540),))
    >>> round(effect, 4), round(error, 4)
    (0.696, 0.0242)
    """
    a, b, c, d = np.array(counts, dtype=np.float64).T
    inside = (a + b > 0) & (c + d > 0)
    if not inside.any():
        return None, None
    a, b, c, d = a[inside], b[inside], c[inside], d[inside]
    n, m = a + b, c + d
    weight = (n + m) / np.sum(n + m)
    difference = a / n - c / m
    effect = float(np.sum(weight * difference))
    within = np.sum(weight**2 * (share_variance(a, b) + share_variance(c, d)))
    between = np.sum(weight * (difference - effect) ** 2) / np.sum(n + m)
    return effect, float(np.sqrt(within + between))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return Holm's adjusted p-values (1979): the i-th smallest of m times m − i + 1, never falling, at most 1.

    >>> [round(p, 10) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(order):
        # Rules that cannot be measured were asked about too.
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
    counts: Counts = ()

    @classmethod
    def of(cls, counts: Counts) -> _Estimate:
        """The effect on the rows of these counts."""
        compared = sum(a + b + c + d for a, b, c, d in counts if a + b and c + d)
        return cls(*standardised(counts), compared, sum(map(sum, counts)), counts=counts)


def _mean(estimates: Sequence[_Estimate], n_rows: int, found: int) -> _Estimate:
    """The mean of effects on disjoint rows, each weighted by the rows it speaks for.

    Counts are not added up over the parts, even where the same rule was found without each of them: in small strata
    both sides would then be present only where the searches agree, and they agree where the outcomes, by chance or
    not, speak for the rule. How many rows of a part can be compared has nothing to do with their outcomes.
    """
    compared = sum(each.compared for each in estimates)
    if not compared:
        return _Estimate(None, None, 0, n_rows, found)
    effect = sum(each.compared * (each.effect or 0.0) for each in estimates) / compared
    error = math.hypot(*(each.compared * (each.error or 0.0) for each in estimates)) / compared
    return _Estimate(effect, error, compared, n_rows, found)


def _honest(estimates: Sequence[_Estimate], splits: int, confidence: float) -> list[HonestEffect]:
    """The estimates with their intervals, and Holm's p-values over all of them."""
    reach = beta_of_confidence(confidence)
    one_sided = [
        None if each.effect is None or each.error is None else 0.5 * math.erfc(each.effect / each.error / math.sqrt(2))
        for each in estimates
    ]
    effects = []
    for each, p in zip(estimates, holm(one_sided), strict=True):
        low = high = None
        if each.effect is not None and each.error is not None:
            low, high = max(-1.0, each.effect - reach * each.error), min(1.0, each.effect + reach * each.error)
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
    """Rows kept from the search."""

    source: str
    n_rows: int
    seed: int | None
    counts: Callable[[RuleResult], Counts]

    def measure(self, rules: RuleSet, confidence: float = 0.95) -> RuleSet:
        """The rules with their effects on these rows."""
        estimates = [_Estimate.of(self.counts(rule)) for rule in rules]
        run = HonestRun(self.source, rules.n_rows, self.n_rows, 1, 1, confidence, self.seed)
        return _with_effects(rules, _honest(estimates, 1, confidence), run)


def hold_out(problem: Problem, share: float, seed: int = 0) -> tuple[Problem, HeldOut]:
    """The rows to search, and a share of each stratum kept from it."""
    share, seed = Share()("holdout", share), Whole()("seed", seed)
    shown, hidden = split(problem, share, repeat.generator(seed, "split"))
    if shown.outcome.min() == shown.outcome.max():
        raise OptionError(
            f"holdout = {share!r} leaves {counted(shown.n_rows, 'row')} to search, all with the same outcome; "
            "hold out fewer"
        )

    def counts(rule: RuleResult) -> Counts:
        return contingency(hidden, rule_rows(rule, hidden), frequencies(hidden))

    return shown, HeldOut("holdout", hidden.n_rows, seed, counts)


def second_table(table: Table, problem: Problem, outcome: Any, weights: str | None, second: Any) -> HeldOut:
    """Another table with the same columns: its rows in strata with the same cut points as the first one's."""
    other = read(second)
    roles = problem.roles
    for name in (roles.target, *roles.control):
        if name not in other.names:
            raise DataError(f"the holdout table lacks a column of the first: {unknown_column(name, other.names)}")
        if table.kinds[name] is not other.kinds[name]:
            raise DataError(
                f"column {name!r} holds {table.kinds[name]} values in the table and {other.kinds[name]} values in the "
                "holdout table; make them alike"
            )
    satisfied = resolve(other, roles.target, outcome, None, None, weights).outcome.satisfied
    rows = other.observed(roles.target, weights)
    happened = rows.select(roles.target, satisfied)
    try:
        _, stratum = np.unique(problem.strata.index_of(rows), return_inverse=True)
    except DataError as error:
        raise DataError(f"the holdout table: {error}") from error
    weight = np.ones(rows.n_records, np.int64) if rows.weights is None else rows.weights

    def counts(rule: RuleResult) -> Counts:
        holds = np.ones(rows.n_records, np.bool_)
        for condition in rule.conditions:
            if condition.column not in rows.names:
                raise DataError(
                    f"the rule {rule.text!r} on the holdout table: {unknown_column(condition.column, rows.names)}"
                )
            holds &= rows.select(condition.column, condition.holds(rows.histogram(condition.column).values))
        sides = (holds & happened, holds & ~happened, ~holds & happened, ~holds & ~happened)
        n_strata = int(stratum.max()) + 1
        a, b, c, d = (np.bincount(stratum[side], weight[side], n_strata).astype(int).tolist() for side in sides)
        return tuple(zip(a, b, c, d, strict=True))

    return HeldOut("second table", rows.n_rows, None, counts)


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
    """Return the rules with what the rule in each place of such a list is worth on rows the search has not seen.

    The search runs on all rows but one part, each part in turn, and every rule it finds is measured on the part left
    out. The effect of the j-th rule is the mean, over the parts, of the j-th rule found without them, each part
    weighted by its rows in strata with both sides. (Measuring the rules of the whole table on its parts would not be
    honest: the parts had a say in choosing them.) For a list of ideas, each part's list is one of ideas too.

    After `time_limit` seconds, the mean is over the parts whose searches are done.
    """
    deadline = Deadline.after(time_limit)
    splits, seed = Whole(least=2)("splits", splits), Whole()("seed", seed)
    confidence = Share()("confidence", confidence)
    problem = repeat.require_problem(rules, "cross_fit")
    if splits > problem.n_rows:
        raise TooFewRowsError(f"splits = {splits}: the table has only {counted(problem.n_rows, 'row')}")
    parts = folds(problem, splits, repeat.generator(seed, "split"))
    everything = frequencies(problem)

    def work(searcher: repeat.Searcher, place: int) -> list[NDArray[np.bool_]]:
        found = searcher.listed(reweighted(problem, everything - parts[place]), rules.question)
        return [covered(problem, conditions) for conditions in found]

    lists = list(repeat.in_order(work, splits, n_jobs, "splits", progress, deadline))
    if not lists:
        raise repeat.OutOfTimeError(f"time_limit = {time_limit!r}: not one of {splits} searches was done; give it more")
    parts = parts[: len(lists)]
    n_unseen = int(sum(part.sum() for part in parts))
    estimates = []
    for place, rule in enumerate(rules):
        rows = rule_rows(rule, problem)
        measured = [
            _Estimate.of(contingency(problem, masks[place], part))
            for part, masks in zip(parts, lists, strict=True)
            if place < len(masks)
        ]
        found = sum(any(np.array_equal(rows, mask) for mask in masks) for masks in lists)
        estimates.append(_mean(measured, n_unseen, found))
    n_estimation = problem.n_rows // splits
    run = HonestRun("cross-fitting", problem.n_rows - n_estimation, n_estimation, len(lists), splits, confidence, seed)
    return _with_effects(rules, _honest(estimates, len(lists), confidence), run)


def _with_effects(rules: RuleSet, effects: Sequence[HonestEffect], run: HonestRun) -> RuleSet:
    measured = tuple(
        replace(rule, evidence=replace(rule.evidence or RuleEvidence(), honest=effect))
        for rule, effect in zip(rules, effects, strict=True)
    )
    return replace(rules, rules=measured, evidence=replace(rules.evidence or SearchEvidence(), honest=run))
