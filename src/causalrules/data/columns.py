"""Columns as sortable numbers, and their distinct values."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from causalrules.exceptions import DataError
from causalrules.text import counted, shorten

Scalar: TypeAlias = "int | float | str | bool | dt.date | dt.datetime | dt.time | dt.timedelta"
# Position of each bin's last value among the distinct values of a column.
Ends: TypeAlias = "NDArray[np.intp]"

EPOCH = dt.datetime(1970, 1, 1)
MICROSECOND = dt.timedelta(microseconds=1)

_COUNTABLE_RANGE = 1 << 20


class Kind(StrEnum):
    """Type of the values of a column, which determines its conditions."""

    NUMBER = "number"
    ORDERED = "ordered"
    DATE = "date"
    BOOLEAN = "boolean"
    TEXT = "text"

    @property
    def ordered(self) -> bool:
        """Whether ≤ and ≥ are defined."""
        return self in (Kind.NUMBER, Kind.ORDERED, Kind.DATE)


class Values(Sequence[Scalar]):
    """Distinct values in ascending order, converted to Python scalars on access (there may be millions).

    Parameters
    ----------
    sortable
        Numbers that sort like the values.
    scalar
        Converts one of these numbers into its value.
    order
        All categories of a column of ordered categories, observed or not.
    """

    def __init__(
        self, sortable: NDArray[Any], scalar: Callable[[Any], Scalar], order: tuple[Scalar, ...] | None = None
    ) -> None:
        self.sortable = sortable
        self.order = order
        self._scalar = scalar

    def __len__(self) -> int:
        return len(self.sortable)

    @overload
    def __getitem__(self, index: int) -> Scalar: ...
    @overload
    def __getitem__(self, index: slice) -> Values: ...
    def __getitem__(self, index: int | slice) -> Scalar | Values:
        if isinstance(index, slice):
            return self.like(self.sortable[index])
        return self._scalar(self.sortable[index].item())

    def like(self, sortable: NDArray[Any]) -> Values:
        """Return other values of the same kind."""
        return Values(sortable, self._scalar, self.order)

    def __iter__(self) -> Iterator[Scalar]:
        return map(self._scalar, self.sortable.tolist())

    def __repr__(self) -> str:
        shown = ", ".join(repr(value) for value in self[:10])
        return f"Values([{shown}{', …' if len(self) > 10 else ''}])"


@dataclass(frozen=True)
class Histogram:
    """Distinct values of a column in ascending order, and the number of rows of each."""

    values: Values
    counts: NDArray[np.int64]
    n_missing: int


@dataclass(frozen=True)
class Column:
    """A column as numbers that sort like its values: codes (int32, −1 if missing) or quantities."""

    data: NDArray[Any]
    missing: NDArray[np.bool_]
    scalar: Callable[[Any], Scalar]
    order: tuple[Scalar, ...] | None = None
    limits: tuple[int, int] | None = None

    def take(self, rows: NDArray[np.bool_]) -> Column:
        """Select rows."""
        return Column(self.data[rows], self.missing[rows], self.scalar, self.order, self.limits)

    def histogram(self, weights: NDArray[np.int64] | None = None) -> Histogram:
        """Count the rows of each value, by weight."""
        present = self.data[~self.missing]
        if weights is None:
            distinct, counts = _distinct(present)
            n_missing = len(self.data) - len(present)
        else:
            distinct, position = np.unique(present, return_inverse=True)
            counts = np.zeros(len(distinct), np.int64)
            np.add.at(counts, position, weights[~self.missing])
            n_missing = int(weights[self.missing].sum())
        return Histogram(Values(distinct, self.scalar, self.order), counts.astype(np.int64, copy=False), n_missing)

    def binned(self, uppers: NDArray[Any]) -> NDArray[np.int32]:
        """Return the bin of each row, −1 if missing; `uppers` are the sortable uppers of all bins but the last."""
        if self.data.dtype == np.int32:
            # Codes are few and dense: look each up once instead of once per row. Code −1 indexes the last entry.
            highest = int(self.data.max(initial=-1))
            codes: NDArray[np.int32] = np.searchsorted(uppers, np.arange(highest + 2)).astype(np.int32)[self.data]
        else:
            codes = np.searchsorted(uppers, self.data).astype(np.int32)
        codes[self.missing] = -1
        return codes


def _distinct(present: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if present.dtype.kind == "i" and len(present):
        least = int(present.min())
        if int(present.max()) - least < _COUNTABLE_RANGE:  # counting is an order of magnitude faster than sorting
            counts = np.bincount(present - least)
            positions = np.flatnonzero(counts)
            return (positions + least).astype(present.dtype), counts[positions]
    return np.unique(present, return_counts=True)


def coded(codes: NDArray[np.int32], labels: tuple[Scalar, ...], ordered: bool = False) -> Column:
    """Return a column of codes into `labels`, −1 if missing."""
    return Column(codes, codes < 0, labels.__getitem__, labels if ordered else None)


def number(data: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> Column:
    """Return a column of integers or floats; NaN is missing."""
    if data.dtype.kind == "f":
        data = data.astype(np.float64) + 0.0  # −0.0 becomes 0.0, so that both are one value
        nan = np.isnan(data)
        return Column(data, nan if missing is None else nan | missing, float)
    data = data.astype(np.uint64 if data.dtype == np.uint64 else np.int64, copy=False)
    return Column(data, np.zeros(len(data), np.bool_) if missing is None else missing, int)


def moments(data: NDArray[np.int64], missing: NDArray[np.bool_], form: str) -> Column:
    """Return a column of dates (in days), or of datetimes, times or durations (in microseconds)."""
    return Column(data, missing, _MOMENTS[form], None, LIMITS[form])


_MOMENTS: dict[str, Callable[[Any], Scalar]] = {
    "date": lambda days: (EPOCH + dt.timedelta(days=days)).date(),
    "datetime": lambda value: EPOCH + value * MICROSECOND,
    "utc": lambda value: EPOCH.replace(tzinfo=dt.UTC) + value * MICROSECOND,
    "time": lambda value: (EPOCH + value * MICROSECOND).time(),
    "duration": lambda value: value * MICROSECOND,
}
# The numbers that stand for what Python can hold: the years 1 to 9999, and durations that fit into 64 bits.
_YEARS = (dt.datetime.min - EPOCH) // MICROSECOND, (dt.datetime.max - EPOCH) // MICROSECOND
TOO_FAR = 2**63 - 1
LIMITS: dict[str, tuple[int, int]] = {
    "date": ((dt.date.min - EPOCH.date()).days, (dt.date.max - EPOCH.date()).days),
    "datetime": _YEARS,
    "utc": _YEARS,
    "time": (0, dt.timedelta(days=1) // MICROSECOND - 1),
    "duration": (-TOO_FAR, TOO_FAR - 1),
}


def less(numbers: NDArray[Any], centre: int | float) -> NDArray[np.float64]:
    """Return numbers minus a centre as floats; integers are subtracted exactly, before they are rounded to floats.

    >>> less(np.array([2**53, 2**53 + 1]), 2**53).tolist()
    [0.0, 1.0]
    """
    if numbers.dtype.kind == "f" or isinstance(centre, float):
        with np.errstate(over="ignore"):  # inf is rejected later
            return np.asarray(numbers, np.float64) - float(centre)
    # Modulo 2⁶⁴, so that no difference overflows.
    apart = numbers.astype(np.uint64) - np.uint64(centre % 2**64)
    return np.where(numbers >= centre, apart.astype(np.float64), -((~apart + np.uint64(1)).astype(np.float64)))


def python_value(value: Any) -> Any:
    """Convert a NumPy or pandas scalar to a Python one; return other values unchanged."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        if value.dtype.kind in "Mm":
            moment: Any = value
            value = moment if moment.dtype == "M8[D]" else moment.astype(f"{moment.dtype.kind}8[us]")
        value = value.item()
    if hasattr(value, "to_pydatetime"):
        return value.to_pydatetime(warn=False)
    return value.to_pytimedelta() if hasattr(value, "to_pytimedelta") else value


def form(kind: Kind, values: Values) -> str:
    """Name the form of the values: only values of the same form can be compared. All numbers have one form."""
    if kind not in (Kind.DATE, Kind.TEXT) or not len(values):
        return kind
    first = values[0]
    if isinstance(first, dt.datetime) and first.tzinfo is not None:
        return "datetime with a time zone"
    return {"str": "text", "timedelta": "duration"}.get(name := type(first).__name__, name)


def code_type(n_codes: int) -> np.dtype[Any]:
    """Return the smallest integer type for the codes −1 to n_codes − 1."""
    return np.dtype(np.int8 if n_codes < 2**7 else np.int16 if n_codes < 2**15 else np.int32)


def check_names(names: Sequence[str]) -> None:
    """Raise a DataError unless there are columns and their names are unique."""
    if not names:
        raise DataError("the table has no columns")
    seen: set[str] = set()
    repeated = list(dict.fromkeys(name for name in names if name in seen or seen.add(name)))  # type: ignore[func-returns-value]
    if repeated:
        raise DataError(
            f"column name{'s' * (len(repeated) > 1)} used more than once: {shorten(repeated)}; rename the columns"
        )


def check_values(name: str, column: Column) -> None:
    """Raise a DataError for infinite numbers, and for dates that Python cannot hold."""
    if column.data.dtype.kind == "f":
        infinite = np.flatnonzero(np.isinf(column.data) & ~column.missing)
        if len(infinite):
            raise infinite_values(name, len(infinite), int(infinite[0]) + 1)
    if column.limits is not None:
        least, most = column.limits
        far = np.flatnonzero(((column.data < least) | (column.data > most)) & ~column.missing)
        if len(far):
            raise far_moments(name, len(far), int(far[0]) + 1)


def far_moments(name: str, n_values: int, row: int) -> DataError:
    """Return the error for dates and durations that Python cannot hold; `row` is the first."""
    return DataError(
        f"column {name!r} holds {counted(n_values, 'value')} outside the years 1 to 9999 (durations: 292,000 years), "
        f"the first in row {row:,}; correct them, or leave the column out"
    )


def infinite_values(name: str, n_values: int, row: int) -> DataError:
    """Return the error for infinite values; `row` is the first."""
    return DataError(
        f"column {name!r} holds {counted(n_values, 'infinite value')}, the first in row {row:,}; "
        "replace them by a number or by a missing value, or leave the column out"
    )


def finer_than_microseconds(name: str) -> str:
    """Return the note on times that are truncated."""
    return f"column {name!r} has times finer than a microsecond; they are truncated to microseconds"


def inexact_numbers(name: str) -> str:
    """Return the note on numbers that are rounded."""
    return f"column {name!r} holds numbers that are not exact as 64-bit floats; they are rounded"
