"""Bounds on effects that hold for all rules of a search at once.

A margin bounds the error of the pooled estimate, which is h times the effect over the compared rows: pseudo-rows shrink
it by about V/U, with V and U its variances with and without them, and rows without a comparison group dilute it,

    h = overlap · V / U

So a bound of the effect is, towards 0,

    bound = effect − margin(h · standard error) / h

where the margin is that of the search, but for a variance that is at least the rule's own: with an effect, rows vary as
they do on each side, not as they would without one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from causalrules.estimators import scores
from causalrules.estimators.intervals import Grouped, student
from causalrules.estimators.sides import Side, comparable


class Bound(NamedTuple):
    """The end of a one-sided interval of an effect, and its distance from the effect, in standard errors."""

    value: float
    reach: float


def simultaneous(
    effect: float,
    standard_error: float,
    sides: tuple[Side, Side, Side],
    margin: Callable[[float], float],
    sign: float = 1.0,
) -> Bound | None:
    """Return effect − sign · margin(h · standard error) / h; None if nothing can be compared, or no row varies.

    Parameters
    ----------
    effect, standard_error
        The effect over the compared rows, and its own standard error.
    sides
        The covered, failing and all rows, by the levels that the margin refers to.
    margin
        Returns the margin of the pooled estimate over all rows, given its own standard error.
    sign
        1 for a lower bound; −1 for an upper bound, of a rule that decreases the outcome.

    With 161 of 170 and 181 of 721 rows, and a margin of 4.14 standard errors, 0.0413 without an effect:

    >>> women, others, everyone = Side.binary(161, 9), Side.binary(181, 540), Side.binary(342, 549)
    >>> found = simultaneous(0.696, 0.024, (women, others, everyone), lambda own: 4.14 * max(own, 0.0413))
    >>> round(found.value, 3), round(found.reach, 2)
    (0.523, 4.17)
    """
    inside = comparable(*sides[:2])
    if not inside.any() or math.isnan(effect):
        return None
    covered, failing, everything = (Side(*(array[inside] for array in side)) for side in sides)
    shrunk = scores.pooled_variance(covered, failing, everything)
    if not shrunk > 0:
        return None
    plain = scores.pooled_variance(covered, failing, everything, kappa=0.0)
    scale = float(everything.n.sum() / sides[2].n.sum() * shrunk / plain)
    error = margin(scale * standard_error) / scale
    return Bound(effect - sign * error, error / max(standard_error, math.sqrt(plain)))


def of_groups(effect: float, beta: float, found: Grouped, sign: float = 1.0) -> Bound | None:
    """Return effect − sign · t · standard error on grouped rows; None if they are too few.

    t is Student's quantile at the degrees of freedom of the groups, exceeded with probability exp(−β²/2).

    >>> round(of_groups(0.2, 2.448, Grouped(0.05, 19.0, 20)).value, 3)
    0.114
    """
    tail = math.exp(-(beta**2) / 2)
    if not found.n_groups or not 0 < tail < 0.5:
        return None
    reach = student(1 - 2 * tail, found.degrees)
    return Bound(effect - sign * reach * found.standard_error, reach)
