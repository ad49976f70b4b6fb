"""Cut points of ordered columns."""

from __future__ import annotations

import datetime as dt
import heapq
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from causalrules.data.columns import Ends, Histogram, Scalar, Values
from causalrules.data.table import Table
from causalrules.exceptions import DataError, OptionError, RoleError, UnknownColumnError
from causalrules.language.propositions import comparable, format_value, positions
from causalrules.text import shorten, unknown_column

Cuts: TypeAlias = "Mapping[str, Sequence[Any]]"


def cut_ends(counts: NDArray[np.int64], max_bins: int) -> Ends:
    """Return the position of the last value of each bin.

    Start with one bin. Split the fullest that holds two or more values (the lowest, on a tie) after the value that
    makes its parts most equal in rows (the lower, on a tie), until there are `max_bins`.
    """
    n_values = len(counts)
    if n_values <= max_bins:
        return np.arange(n_values, dtype=np.intp)
    before = np.zeros(n_values + 1, np.int64)
    np.cumsum(counts, out=before[1:])
    ends: list[int] = [n_values - 1]
    splittable = [(-int(before[-1]), 0, n_values - 1)]
    while splittable and len(ends) < max_bins:
        rows, first, last = heapq.heappop(splittable)
        # The first value with at least half of the rows at or below it, or the value before it.
        middle = int(before[first]) * 2 - rows
        upper = int(np.searchsorted(before[first + 1 : last + 1], -(-middle // 2))) + first
        upper = min(upper, last - 1)
        lower = max(upper - 1, first)
        cut = lower if abs(int(before[lower + 1]) * 2 - middle) <= abs(int(before[upper + 1]) * 2 - middle) else upper
        ends.append(cut)
        for low, high in ((first, cut), (cut + 1, last)):
            if high > low:
                heapq.heappush(splittable, (int(before[low] - before[high + 1]), low, high))
    return np.array(sorted(ends), np.intp)


def cut(
    column: str, histogram: Histogram, max_bins: int, cuts: Cuts | None, notes: list[str]
) -> tuple[Ends, list[Scalar]]:
    """Return the ends of the bins, and the value shown for each in `x ≤ value`: for cuts of the user, as given."""
    values = histogram.values
    if cuts is None or column not in cuts:
        ends = cut_ends(histogram.counts, max_bins)
        return ends, [values[int(end)] for end in ends]
    shown: dict[int, Scalar] = {}
    for point in cuts[column]:
        value = _cut_value(column, point, values)
        end = (positions(values, value, column)[1] if len(values) else 0) - 1
        if end < 0 or end >= len(values) - 1:
            side = "below" if end < 0 else "above"
            notes.append(f"cut {format_value(value)} of column {column!r} is left out: no value lies {side} it")
        elif end in shown:
            notes.append(
                f"cut {format_value(value)} of column {column!r} is left out: no value lies between it "
                f"and {format_value(shown[end])}"
            )
        else:
            shown[end] = value
    if len(values):
        shown[len(values) - 1] = values[len(values) - 1]
    return np.array(list(shown), np.intp), list(shown.values())


def check_cuts(table: Table, cuts: Cuts, columns: Collection[str]) -> None:
    """Raise an error unless the user's cut points increase and belong to ordered columns among `columns`."""
    for column, points in cuts.items():
        if column not in table.kinds:
            raise UnknownColumnError(unknown_column(column, table.names), parameter="cuts")
        if column not in columns:
            raise _error(f"column {column!r} is neither actionable nor a control; leave it out")
        if not table.kinds[column].ordered:
            raise _error(f"column {column!r} holds {table.kinds[column]} values, which have no order; leave it out")
        if isinstance(points, str) or not isinstance(points, Sequence):
            raise _error(f"{column!r} needs a list of values such as [18, 65], not {shorten([points])}")
        values = table.histogram(column).values
        if len(values) == 0:
            continue
        ranks: list[Any] = [_rank(_cut_value(column, point, values)) for point in points]
        if values.order is not None:
            ranks = [values.order.index(point) for point in ranks]
        for place in range(1, len(ranks)):
            if not ranks[place - 1] < ranks[place]:
                raise _error(f"those of {column!r} must increase, but {points[place]!r} follows {points[place - 1]!r}")


def _rank(point: Scalar) -> Scalar:
    """Return a point that can be compared with other points: a date as its midnight."""
    return dt.datetime.combine(point, dt.time()) if type(point) is dt.date else point


def _cut_value(column: str, point: Any, values: Values) -> Scalar:
    try:
        return comparable(point, values, column)
    except DataError as error:  # as an outcome that does not fit its column
        raise RoleError(error.message, parameter="cuts") from error


def _error(message: str) -> OptionError:
    return OptionError(message, parameter="cuts")
