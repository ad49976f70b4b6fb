"""The value of a rule and the bound over a box of counts, computed by the core, for tests."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causalrules._core import lib
from causalrules.search.border import BINARY, as_array, checked_levels, estimation_of, failure, pointer


def _cells(levels: NDArray[np.float64], *arrays: ArrayLike | None) -> list[NDArray[np.uint64] | None]:
    cells = [None if array is None else np.atleast_2d(np.asarray(array)) for array in arrays]
    shapes = {array.shape for array in cells if array is not None}
    if len(shapes) != 1 or any(len(shape) != 2 or shape[1] != len(levels) for shape in shapes):
        raise ValueError("every array needs a row for each stratum and a column for each level")
    if any(array is not None and array.size and array.min() < 0 for array in cells):
        raise ValueError("counts must not be negative")
    return [None if array is None else as_array(array, np.uint64) for array in cells]


def _number(number: float) -> float:
    if math.isnan(number):
        raise failure()
    return number


def cell_value(
    estimator: str,
    beta: float | ArrayLike,
    all_rows: ArrayLike,
    covered: ArrayLike,
    failing: ArrayLike | None = None,
    *,
    levels: ArrayLike = BINARY,
    length: int = 1,
    margin_scale: float = 1.0,
) -> float:
    """Return the value of a rule of `length` conditions.

    The arrays have a row for each stratum and a column for each level; `failing` defaults to all rows not covered.
    """
    values = checked_levels(levels)
    estimation, kept = estimation_of(estimator, beta, margin_scale, values)
    arrays = _cells(values, all_rows, covered, failing)
    every, inside, outside = (pointer("uint64_t *", array) for array in arrays)
    n_cells = 0 if arrays[0] is None else arrays[0].size
    found = _number(float(lib.cr_value(estimation, n_cells, every, inside, outside, length)))
    del kept
    return found


def cell_bound(
    estimator: str,
    beta: float | ArrayLike,
    all_rows: ArrayLike,
    covered: tuple[ArrayLike, ArrayLike],
    failing: tuple[ArrayLike, ArrayLike] | None = None,
    *,
    levels: ArrayLike = BINARY,
    length: int = 1,
    margin_scale: float = 1.0,
) -> float:
    """Return the upper bound on the value of all rules of `length` or more conditions.

    `covered` and `failing` are pairs of the minimum and the maximum counts of each side; see `cell_value`.
    """
    values = checked_levels(levels)
    estimation, kept = estimation_of(estimator, beta, margin_scale, values)
    arrays = _cells(values, all_rows, *covered, *((None, None) if failing is None else failing))
    pointers = [pointer("uint64_t *", array) for array in arrays]
    n_cells = 0 if arrays[0] is None else arrays[0].size
    found = _number(float(lib.cr_bound(estimation, n_cells, *pointers, length)))
    del kept
    return found


def _pairs(negative: ArrayLike, positive: ArrayLike) -> NDArray[Any]:
    pair = [np.atleast_1d(np.asarray(array)) for array in (negative, positive)]
    if len(pair[0]) != len(pair[1]):
        raise ValueError("every array needs one count for each stratum")
    return np.stack(pair, axis=1)


def value(estimator: str, beta: float, n1: ArrayLike, n0: ArrayLike, a: ArrayLike, b: ArrayLike) -> float:
    """Return the value of a rule of one condition with these counts."""
    return cell_value(estimator, beta, _pairs(n0, n1), _pairs(b, a))


def bound(
    estimator: str,
    beta: float,
    n1: ArrayLike,
    n0: ArrayLike,
    low: tuple[ArrayLike, ArrayLike],
    high: tuple[ArrayLike, ArrayLike],
) -> float:
    """Return the upper bound on the value over all counts between low and high."""
    return cell_bound(estimator, beta, _pairs(n0, n1), (_pairs(*low[::-1]), _pairs(*high[::-1])))
