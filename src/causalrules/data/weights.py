"""Frequency weights: how often each stored row counts."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from causalrules.data.columns import Column, Kind, Scalar
from causalrules.exceptions import DataError
from causalrules.text import counted

# Sums of weights up to this number are exact in 64-bit floats.
MOST_ROWS = 2**53


_SAMPLING = "For sampling weights, leave weights out and add what they depend on, such as the region, to the controls"


def frequencies(name: str, kind: Kind, column: Column) -> NDArray[np.int64]:
    """Return the weights in a column, or raise a DataError that names the first invalid one."""
    require_numbers(name, kind)
    whole = column.data == np.floor(column.data) if column.data.dtype.kind == "f" else True
    invalid = np.flatnonzero(column.missing | (column.data < 0) | ~np.asarray(whole) | (column.data > MOST_ROWS))
    if len(invalid):
        first = invalid[0]
        value = None if column.missing[first] else column.scalar(column.data[first].item())
        raise invalid_weights(name, len(invalid), int(first) + 1, value)
    weights: NDArray[np.int64] = column.data.astype(np.int64)
    require_exact(name, math.fsum(weights))
    return weights


def require_numbers(name: str, kind: Kind) -> None:
    """Raise a DataError unless the column holds numbers."""
    if kind is not Kind.NUMBER:
        raise DataError(
            f"weights column {name!r} holds {kind} values; weights are whole numbers ≥ 0, "
            "the number of times each row counts"
        )


def require_exact(name: str, total: float) -> None:
    """Raise a DataError if the sum of the weights is too large."""
    if total > MOST_ROWS:
        raise DataError(f"the weights in column {name!r} add up to more than 2**53 rows; scale them down")


def invalid_weights(name: str, n_invalid: int, row: int, value: Scalar | None) -> DataError:
    """Return the error for numbers that cannot be weights; `row` and `value` are the first."""
    shown = "missing" if value is None else repr(value)
    return DataError(
        f"weights column {name!r} has {counted(n_invalid, 'value')} that cannot be a weight, "
        f"the first in row {row:,}: {shown}; weights are whole numbers ≥ 0: how often each row counts"
        + ("" if value is None or float(value) < 0 else f". {_SAMPLING}")  # type: ignore[arg-type]
    )


def sampling_weights(name: str, column: str) -> DataError:
    """Return the error for whole numbers that cannot be counts of equal rows; `column` tells rows apart."""
    return DataError(
        f"the weights in column {name!r} look like sampling weights: none is below 2, but most rows differ in "
        f"{column!r}, so they are no counts of equal rows. {_SAMPLING}"
    )
