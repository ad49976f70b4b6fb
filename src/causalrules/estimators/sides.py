"""Rows in the strata of the controls: contingency tables, or sums of the target on one side of a rule.

The contingency tables of a rule σ and an outcome y, one per stratum z, are four numbers or four arrays of equal length:

| | y | not y |
|---|---|---|
| σ holds | a | b |
| σ does not hold | c | d |

With n_z = a+b+c+d, N = Σ_z n_z and K = the number of strata. N′ is the number of rows in strata with both sides, that
is, with rows where σ holds and rows where it does not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def side_of(stratum: NDArray[Any], y: Floats, weights: ArrayLike, chosen: NDArray[np.bool_], n_strata: int) -> Side:
    """Return the chosen rows of each stratum, by weight, as a side.

    >>> rows = np.array([0, 0, 1]), np.array([1.0, 3.0, 5.0]), np.array([1, 2, 1])
    >>> side_of(*rows, np.array([True, True, False]), 2).mean.tolist()
    [2.3333333333333335, nan]
    """
    where, weight, value = stratum[chosen], np.asarray(weights, np.float64)[chosen], y[chosen]
    n, total = (np.bincount(where, weight * power, n_strata).astype(np.float64) for power in (1.0, value))
    # Distances from the mean: squares of large values would lose the digits in which they differ.
    apart = value - share_of(total, n)[where]
    squares = weight * apart * apart
    sums = (np.bincount(where, each, n_strata).astype(np.float64) for each in (squares, squares * apart))
    return Side(n, total, *sums)


class Side(NamedTuple):
    """Rows of each stratum: their number, the sum of their target, and its spread about its mean ȳ.

    scatter = Σ(y − ȳ)² and cubes = Σ(y − ȳ)³
    """

    n: Floats
    total: Floats
    scatter: Floats
    cubes: Floats

    @classmethod
    def binary(cls, positive: ArrayLike, negative: ArrayLike) -> Side:
        """Return the rows with and without an outcome as a side: scatter = ab/n, cubes = ab(b − a)/n²."""
        a, b = tables(positive, negative)
        n = a + b
        scatter = a * b / np.maximum(n, 1.0)
        return cls(n, a, scatter, scatter * (b - a) / np.maximum(n, 1.0))

    @classmethod
    def of_levels(cls, counts: NDArray[Any], values: Floats) -> Side:
        """Return rows as a side, from the number of rows with each of these values in each stratum (first axis).

        >>> Side.of_levels(np.array([[1, 0, 1]]), np.array([1.0, 2.0, 3.0])).scatter.tolist()
        [2.0]
        """
        n, total = counts.sum(axis=1).astype(np.float64), counts @ values
        apart = values - np.nan_to_num(share_of(total, n))[:, None]
        return cls(n, total, *(np.sum(counts * apart**power, axis=1) for power in (2, 3)))

    @property
    def mean(self) -> Floats:
        """Mean of the target in each stratum; nan without rows."""
        return share_of(self.total, self.n)

    @property
    def variance(self) -> Floats:
        """Variance of the target in each stratum, over n; nan without rows."""
        return share_of(self.scatter, self.n)


def tables(*counts: ArrayLike) -> tuple[Floats, ...]:
    """Return counts as arrays over the strata."""
    return tuple(np.atleast_1d(np.asarray(count, dtype=np.float64)) for count in counts)


def share_of(part: Floats, whole: Floats) -> Floats:
    """Return part / whole, and nan where the whole is 0."""
    share: Floats = np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=whole > 0)
    return share


def ratio_of(part: Any, whole: Any) -> float:
    """Return part / whole of two numbers, and nan where the whole is 0."""
    return float(part) / float(whole) if whole > 0 else float("nan")


def both_sides(a: Floats, b: Floats, c: Floats, d: Floats) -> NDArray[np.bool_]:
    """Return which strata have both sides."""
    return (a + b > 0) & (c + d > 0)


def compared_tables(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> tuple[Floats, ...]:
    """Return a, b, c and d of the strata with both sides, and the weight n_z/N′ of each."""
    counts = np.array(tables(a, b, c, d))
    counts = counts[:, both_sides(*counts)]
    rows = counts.sum(axis=0)
    return (*counts, rows / rows.sum() if rows.size else rows)


def comparable(covered: Side, failing: Side) -> NDArray[np.bool_]:
    """Return the strata in which the rule covers some rows and fails on some."""
    found: NDArray[np.bool_] = (covered.n > 0) & (failing.n > 0)
    return found


def standardised(values: Floats, covered: Side, failing: Side, everything: Side) -> float:
    """Return Σ_z value_z · n_z/N′ over the strata with both sides, N′ their rows; nan if there are none.

    With the differences of means as values, this is the adjusted effect of a rule.

    >>> covered, failing = Side.binary([81, 192], [6, 71]), Side.binary([234, 55], [36, 25])
    >>> round(standardised(covered.mean - failing.mean, covered, failing, Side.binary([315, 247], [42, 96])), 3)
    0.054
    """
    inside = comparable(covered, failing)
    rows = everything.n[inside]
    return ratio_of(np.sum(values[inside] * rows), np.sum(rows))


def added(side: Side, place: NDArray[Any], n_places: int) -> Side:
    """Add up the rows of strata that have the same group number `place`.

    With δ the mean of a stratum minus the mean of its group, the scatter is Σ_z (S_z + n_z δ²) and the cubes
    are Σ_z (C_z + 3δ S_z + n_z δ³), from the scatter S_z and the cubes C_z of each.

    >>> four = added(Side.binary([1, 1], [0, 2]), np.array([0, 0]), 1)
    >>> [float(number[0]) for number in four] == [float(number[0]) for number in Side.binary(2, 2)]
    True
    """
    n, total = (np.bincount(place, each, n_places).astype(np.float64) for each in (side.n, side.total))
    apart = np.nan_to_num(side.mean) - np.nan_to_num(share_of(total, n))[place]
    scatter = side.scatter + side.n * apart**2
    cubes = side.cubes + 3 * apart * side.scatter + side.n * apart**3
    return Side(n, total, *(np.bincount(place, each, n_places).astype(np.float64) for each in (scatter, cubes)))


def both(covered: Side, failing: Side) -> Side:
    """Return the compared rows of both sides together."""
    n_strata = len(covered.n)
    sides = Side(*(np.concatenate(pair) for pair in zip(covered, failing, strict=True)))
    return added(sides, np.tile(np.arange(n_strata), 2), n_strata)
