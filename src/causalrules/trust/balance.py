"""Balance: how much each control differs between a rule's two sides, before and after adjusting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from causalrules.exceptions import DataError, OptionError
from causalrules.result.evidence import ControlBalance, with_evidence
from causalrules.search.controls import Controls
from causalrules.trust import repeat
from causalrules.trust.holdout import compared_rows

if TYPE_CHECKING:
    from causalrules.result.result import R

Weights = NDArray[np.float64]


def balance(rules: R) -> R:
    """Implement `RuleSet.balance`."""
    problem = repeat.require_problem(rules, "balance")
    if not rules.question.controls:
        raise OptionError("there are no controls to balance")
    if problem.controls is None:
        raise DataError("balance needs the rows in memory; read the table, or a sample of it, into memory first")
    controls = problem.controls
    stratum = problem.strata.index_of(controls.table)
    measured = []
    for rule in rules:
        covered, failing = compared_rows(rule, controls.table, rules.question)
        found = balance_of(controls, problem.searched, covered, failing, stratum)
        measured.append(with_evidence(rule, balance=found))
    return replace(rules, rules=tuple(measured))


def balance_of(
    controls: Controls,
    counts: NDArray[np.int64],
    covered: NDArray[np.bool_],
    failing: NDArray[np.bool_],
    stratum: NDArray[np.int64],
    weighted: tuple[Weights, Weights] | None = None,
) -> tuple[ControlBalance, ...]:
    """Return the standardised mean differences of the controls, sorted by the difference before adjusting.

    Parameters
    ----------
    controls, counts
        The rows, and the weight of each.
    covered, failing
        The two sides.
    stratum
        The stratum of each row.
    weighted
        The weights of both sides in `doubly_robust`, or None.
    """
    columns, names = controls.features.indicators(controls.matrix), controls.features.indicator_names
    sides = [(counts * side).astype(np.float64) for side in (covered, failing)]
    in_strata = _in_strata(sides, counts, stratum)
    found = []
    for name, column in zip(names, columns.T, strict=True):
        spread = math.sqrt(sum(_variance(column, side) for side in sides) / 2)
        found.append(
            ControlBalance(
                control=name,
                before=_difference(column, sides, spread),
                strata=_difference(column, in_strata, spread),
                weighted=None
                if weighted is None
                else _difference(column, [counts * each for each in weighted], spread),
            )
        )
    return tuple(sorted(found, key=lambda each: -abs(each.before or 0.0)))


def _in_strata(sides: Sequence[Weights], counts: NDArray[np.int64], stratum: NDArray[np.int64]) -> list[Weights]:
    """Weight the rows of each side so that the strata with both sides have their shares of all rows."""
    _, place = np.unique(stratum, return_inverse=True)
    everything = np.bincount(place, counts)
    rows = [np.bincount(place, side, len(everything)) for side in sides]
    both = (rows[0] > 0) & (rows[1] > 0)
    return [
        side * np.divide(everything, each, out=np.zeros(len(everything)), where=both)[place]
        for side, each in zip(sides, rows, strict=True)
    ]


def _mean(column: Weights, weights: Weights) -> float:
    known = ~np.isnan(column)
    total = weights[known].sum()
    return float((weights * np.where(known, column, 0.0)).sum() / total) if total > 0 else math.nan


def _variance(column: Weights, weights: Weights) -> float:
    return _mean((column - _mean(column, weights)) ** 2, weights)


def _difference(column: Weights, sides: Sequence[Weights], spread: float) -> float | None:
    difference = _mean(column, sides[0]) - _mean(column, sides[1])
    return None if math.isnan(difference) or not spread > 0 else difference / spread
