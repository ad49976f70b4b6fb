"""Measure rules on the rows of a problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from causalrules.estimators.sides import Side
from causalrules.result.measured import Measured, StratumSums, Sums
from causalrules.result.rule import Criterion, RuleResult

if TYPE_CHECKING:
    from causalrules.question import Question
    from causalrules.search.adjusted import Adjusted
    from causalrules.search.core import Packed
    from causalrules.search.problem import Problem
    from causalrules.search.run import Found


def rule_results(
    problem: Problem,
    rows: Packed,
    question: Question,
    found: Found,
    margin_scale: float = 1.0,
    joint_scale: float | None = None,
) -> tuple[RuleResult, ...]:
    """Return the rules that a search found, with their counts or sums."""
    values = _value_sums(problem, [conditions for _, conditions in found.rules])
    rules = []
    for place, (_, conditions) in enumerate(found.rules):
        adjusted = problem.of(conditions)
        beta = question.beta
        criterion = Criterion(
            estimator=question.estimator,
            beta=float(beta[min(len(conditions), len(beta) - 1)] if isinstance(beta, tuple) else beta),  # type: ignore[arg-type]
            by_length=isinstance(beta, tuple),
            margin_scale=margin_scale,
            joint_scale=joint_scale,
            n_levels=len(adjusted.comparison.values),
            decrease=adjusted.comparison.decrease,
        )
        named = sorted((adjusted.language.propositions[index] for index in conditions), key=lambda each: each.text)
        measured = _measured(adjusted, rows.part(conditions), conditions, values[place] if values else ())
        control, held_fixed = adjusted.roles.control, adjusted.held_fixed
        missing = adjusted.missing_control
        rules.append(RuleResult(tuple(named), measured, criterion, None, None, None, control, held_fixed, missing))
    return tuple(rules)


def _measured(
    adjusted: Adjusted, packed: Packed, conditions: Sequence[int], values: tuple[StratumSums, ...]
) -> Measured:
    """Count the rows of a rule in each stratum; `values` are the sums of the target's values, if known."""
    outcome = adjusted.roles.outcome
    covered, failing = packed.count(conditions)
    sides = tuple(adjusted.comparison.true(counts) for counts in (covered, failing, np.add(*packed.count())))
    known = Measured(
        tuple(adjusted.strata.labels),
        grouped=adjusted.grouped(conditions),
        kind=outcome.kind,
        n_open=None if adjusted.comparison.reference is None else adjusted.n_open(conditions),
        binned=adjusted.strata.binned,
    )
    if not outcome.kind.binary:
        scored = _level_sums(sides, adjusted.comparison.values)
        return replace(known, sums=values or scored, scored=scored if values else (), centre=float(outcome.centre))
    (b, a), (d, c), (without, with_outcome) = (side.T for side in sides)
    undecided = np.stack([with_outcome - a - c, without - b - d], axis=1)
    return replace(
        known,
        counts=tuple(map(tuple, np.stack([a, b, c, d], axis=1).tolist())),
        undecided=tuple(map(tuple, undecided.tolist())) if undecided.any() else (),
    )


def _level_sums(sides: Sequence[NDArray[np.int64]], values: NDArray[np.float64]) -> tuple[StratumSums, ...]:
    """Return the sums of the levels of the target, from the counts of each level."""
    spans = [float(np.ptp(values[present])) if present.any() else 0.0 for present in sides[0] + sides[1] > 0]
    return _strata_sums([Side.of_levels(side, values) for side in sides], spans)


def _value_sums(problem: Problem, rules: Sequence[Sequence[int]]) -> list[tuple[StratumSums, ...]]:
    """Return the sums of the values of the target for each rule; empty if only its levels are known."""
    if problem.roles.outcome.kind.binary or not rules:
        return []
    if len(problem.adjustments) == 1:
        found = problem.first.rows.measured(rules)
    else:
        found = [each for conditions in rules for each in problem.of(conditions).rows.measured([conditions])]
    return [_strata_sums(each[:3], each.spans.tolist()) for each in found]


def _strata_sums(tables: Sequence[Side], spans: Sequence[float]) -> tuple[StratumSums, ...]:
    sides = [[Sums(int(n), *rest) for n, *rest in np.stack(table, axis=1).tolist()] for table in tables]
    return tuple(StratumSums(*each) for each in zip(*sides, spans, strict=True))
