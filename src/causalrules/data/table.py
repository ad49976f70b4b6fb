"""Any table → `Table`: named columns of known kind, fetched one at a time as small integer codes."""

from __future__ import annotations

import datetime as dt
import importlib.util
import math
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from causalrules.exceptions import DataError, OptionError
from causalrules.text import shorten, unknown_column

if TYPE_CHECKING:
    from causalrules.data.files import DuckDBSource

Scalar: TypeAlias = "int | float | str | bool | dt.date | dt.datetime | dt.time | dt.timedelta"
Ends: TypeAlias = "NDArray[np.intp]"

EPOCH = dt.datetime(1970, 1, 1)
MICROSECOND = dt.timedelta(microseconds=1)


_COUNTABLE_RANGE = 1 << 20
# From this many rows on, a file or relation is streamed: its rows are never in memory all at once.
STREAMED_FROM = 5_000_000


class Kind(StrEnum):
    """What the values of a column are, which decides the conditions that can be put on it."""

    NUMBER = "number"
    ORDERED = "ordered"
    DATE = "date"
    BOOLEAN = "boolean"
    TEXT = "text"

    @property
    def ordered(self) -> bool:
        """Whether ≤ and ≥ mean something."""
        return self in (Kind.NUMBER, Kind.ORDERED, Kind.DATE)


class Values(Sequence[Scalar]):
    """Distinct values in ascending order, as Python scalars made when asked for (there may be millions)."""

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
        """Other values of the same kind."""
        return Values(sortable, self._scalar, self.order)

    def __iter__(self) -> Iterator[Scalar]:
        return map(self._scalar, self.sortable.tolist())

    def __repr__(self) -> str:
        shown = ", ".join(repr(value) for value in self[:10])
        return f"Values([{shown}{', …' if len(self) > 10 else ''}])"


@dataclass(frozen=True)
class Histogram:
    """The distinct observed values of a column in its order, and how many rows hold each."""

    values: Values
    counts: NDArray[np.int64]
    n_missing: int


@dataclass(frozen=True)
class Column:
    """One column as numbers that sort like its values: codes (int32, −1 missing) or quantities."""

    data: NDArray[Any]
    missing: NDArray[np.bool_]
    scalar: Callable[[Any], Scalar]
    order: tuple[Scalar, ...] | None = None

    def take(self, rows: NDArray[np.bool_]) -> Column:
        """The column on these rows alone."""
        return Column(self.data[rows], self.missing[rows], self.scalar, self.order)


class Source(Protocol):
    """Where the columns come from: a dataframe in memory or a file behind DuckDB."""

    n_rows: int
    kinds: dict[str, Kind]
    unusable: dict[str, str]
    notes: list[str]
    library: str

    def column(self, name: str) -> Column:
        """The whole column; rows in the order of the source on every call."""
        ...


class Table:
    """A table of observations whose columns are encoded one at a time, when they are asked for."""

    # A histogram is kept unless it is so long that keeping one for each column would rival the data.
    _KEPT_VALUES = 1_000_000

    def __init__(
        self,
        source: Source,
        rows: NDArray[np.bool_] | None = None,
        weights: tuple[str, NDArray[np.int64]] | None = None,
        n_dropped: int = 0,
    ) -> None:
        self._source = source
        self._rows = rows
        self._weights = weights
        self._histograms: dict[str, Histogram] = {}
        self._with_target: dict[tuple[str, str | None], Table] = {}
        self.n_dropped = n_dropped
        """Rows left out by `observed`, because the target is missing there."""
        self.n_records = source.n_rows if rows is None else int(np.count_nonzero(rows))
        """Rows as stored: the length of every array of codes."""
        self.n_rows = self.n_records if weights is None else int(weights[1].sum())
        """Rows as counted: each stored row as often as its weight says."""

    @property
    def names(self) -> tuple[str, ...]:
        """The usable columns, in the order of the source."""
        return tuple(self._source.kinds)

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """What each column holds."""
        return self._source.kinds

    @property
    def unusable(self) -> Mapping[str, str]:
        """The columns that cannot be used, and why."""
        return self._source.unusable

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader should know about how the table was read."""
        return tuple(self._source.notes)

    @property
    def library(self) -> str:
        """The dataframe library that results are given back in: 'pandas', 'polars', … or 'dict'."""
        return self._source.library

    @property
    def weights_array(self) -> NDArray[np.int64] | None:
        """How often each stored row counts, or None when each counts once."""
        return None if self._weights is None else self._weights[1]

    def require(self, name: str) -> None:
        """Raise a DataError that names the fix unless the column is there and can be used."""
        if name in self._source.unusable:
            raise DataError(f"column {name!r} {self._source.unusable[name]}")
        if name not in self._source.kinds:
            raise DataError(unknown_column(name, (*self.names, *self._source.unusable)))

    def _column(self, name: str) -> Column:
        self.require(name)
        column = self._source.column(name)
        if column.data.dtype.kind == "f":
            infinite = np.flatnonzero(np.isinf(column.data) & ~column.missing)
            if len(infinite):
                raise DataError(infinite_values(name, len(infinite), int(infinite[0]) + 1))
        return column if self._rows is None else column.take(self._rows)

    def histogram(self, name: str) -> Histogram:
        """The distinct values of a column, with the number of rows of each and of the missing ones."""
        if name in self._histograms:
            return self._histograms[name]
        column = self._column(name)
        present = column.data[~column.missing]
        if self._weights is None:
            distinct, counts = _distinct(present)
            n_missing = len(column.data) - len(present)
        else:
            distinct, position = np.unique(present, return_inverse=True)
            weights = self._weights[1]
            counts = np.zeros(len(distinct), np.int64)
            np.add.at(counts, position, weights[~column.missing])
            n_missing = int(weights[column.missing].sum())
        histogram = Histogram(
            Values(distinct, column.scalar, column.order), counts.astype(np.int64, copy=False), n_missing
        )
        if len(distinct) <= self._KEPT_VALUES:
            self._histograms[name] = histogram
        return histogram

    def codes(self, name: str, ends: Ends) -> NDArray[np.int32]:
        """The bin of each row: `ends` are the positions, in the histogram, of each bin's last value.

        A missing value has code −1. With `ends = arange(len(values))` this is plain dictionary encoding.
        """
        distinct = self.histogram(name).values.sortable
        ends = np.asarray(ends, np.intp)
        if len(distinct) and (len(ends) == 0 or ends[-1] != len(distinct) - 1 or np.any(np.diff(ends) <= 0)):
            raise ValueError(f"the ends of the bins of {name!r} must ascend to the last value's position")
        return self.binned(name, distinct[ends])

    def binned(self, name: str, last_values: NDArray[Any]) -> NDArray[np.int32]:
        """The bin of each row, by the bins' last values as they sort; a missing value has code −1."""
        column = self._column(name)
        if column.data.dtype == np.int32:
            # Codes are few and dense: look each up once instead of once per row. −1 takes the last place.
            highest = int(column.data.max(initial=-1))
            bins = np.searchsorted(last_values, np.arange(highest + 2)).astype(np.int32)
            codes: NDArray[np.int32] = bins[column.data]
        else:
            codes = np.searchsorted(last_values, column.data).astype(np.int32)
        codes[column.missing] = -1
        return codes

    def batches(self, ends: Mapping[str, Ends], size: int = 1_000_000) -> Iterator[dict[str, NDArray[np.int32]]]:
        """The codes of several columns, in batches of `size` stored rows (aligned with `weights_array`)."""
        codes = {name: self.codes(name, column_ends) for name, column_ends in ends.items()}
        for start in range(0, self.n_records, size):
            yield {name: column[start : start + size] for name, column in codes.items()}

    def combinations(self, ends: Mapping[str, Ends]) -> dict[str, NDArray[np.int32]]:
        """Rows of codes, one array for each column, among which is every combination that occurs."""
        return {name: self.codes(name, column_ends) for name, column_ends in ends.items()}

    def select(self, name: str, satisfied: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which stored rows hold one of the histogram's values marked in `satisfied`; never a missing one."""
        codes = self.codes(name, np.arange(len(satisfied)))
        return np.append(np.asarray(satisfied, np.bool_), False)[codes]

    def observed(self, target: str, weights: str | None = None) -> Table:
        """The rows whose target is present; with `weights`, each counted as often as that column says."""
        if (target, weights) not in self._with_target:
            # Kept with its histograms, which more than one step needs.
            self._with_target[target, weights] = self._observe(target, weights)
        return self._with_target[target, weights]

    def _observe(self, target: str, weights: str | None) -> Table:
        kept = ~self._column(target).missing
        if weights is None or (self._weights is not None and self._weights[0] == weights):
            frequencies = self._weights[1] if self._weights is not None else None
            name = self._weights[0] if self._weights is not None else None
        elif self._weights is not None:
            raise DataError(f"the rows are weighted by {self._weights[0]!r} already, not by {weights!r}")
        else:
            frequencies, name = self._frequencies(weights), weights
        if frequencies is None or name is None:
            dropped = int(np.count_nonzero(~kept))
            new_weights = None
        else:
            dropped = int(frequencies[~kept].sum())
            kept &= frequencies > 0
            new_weights = (name, frequencies[kept])
        rows = self._rows
        if rows is not None:
            rows = rows.copy()
            rows[rows] = kept
        elif not kept.all():
            rows = kept
        return Table(self._source, rows, new_weights, self.n_dropped + dropped)

    def _frequencies(self, name: str) -> NDArray[np.int64]:
        column = self._column(name)
        if self.kinds[name] is not Kind.NUMBER:
            raise DataError(no_numbers_as_weights(name, self.kinds[name]))
        whole = column.data == np.floor(column.data) if column.data.dtype.kind == "f" else True
        bad = np.flatnonzero(column.missing | (column.data < 0) | ~np.asarray(whole) | (column.data > MOST_ROWS))
        if len(bad):
            first = bad[0]
            value = None if column.missing[first] else column.scalar(column.data[first].item())
            raise DataError(not_weights(name, len(bad), int(first) + 1, value))
        frequencies = column.data.astype(np.int64)
        if math.fsum(frequencies) > MOST_ROWS:
            raise DataError(too_many_rows(name))
        return frequencies


def read(data: Any, na_values: Sequence[str] = (), query: str | None = None) -> Table:
    """Read a table from a dataframe, a dict of columns, a structured array, or a path to CSV, TSV or Parquet.

    A path may be a pattern of many files, such as "year=*/part-*.parquet". In text files an empty field is missing,
    and so is any of `na_values`; nothing else is guessed. `query` is a SELECT over the file as the table `data`.
    """
    if isinstance(na_values, str):
        na_values = (na_values,)
    if not isinstance(na_values, Collection) or not all(isinstance(value, str) for value in na_values):
        raise OptionError(f"na_values = {na_values!r:.60}: give the texts that mean missing, as in ['NA', '?']")
    if isinstance(data, Table):
        return data
    if isinstance(data, (str, os.PathLike)):
        from causalrules.data import files

        source = files.read_path(data, tuple(na_values))
        return _table(source if query is None else files.read_query(source, query))
    if na_values:
        raise OptionError("na_values is for text files; in a dataframe, set those values to missing instead")
    if query is not None:
        raise OptionError("query is for files; of a dataframe, pass the rows and columns that are wanted")
    if type(data).__name__ == "DuckDBPyRelation":
        from causalrules.data import files

        return _table(files.read_relation(data))
    from causalrules.data import frames

    return Table(frames.read_object(data))


def _table(source: DuckDBSource) -> Table:
    if source.n_rows < STREAMED_FROM:
        return Table(source)
    from causalrules.search.streamed import StreamedTable

    return StreamedTable(source)


MOST_ROWS = 2**53


def no_numbers_as_weights(name: str, kind: Kind) -> str:
    """The words for weights that are not numbers."""
    return (
        f"weights column {name!r} holds {kind} values; weights are whole numbers ≥ 0, "
        "the number of times each row counts"
    )


def not_weights(name: str, n_bad: int, row: int, value: Scalar | None) -> str:
    """The words for numbers that cannot be weights."""
    shown = "missing" if value is None else repr(value)
    return (
        f"weights column {name!r} has {n_bad:,} value{'s' * (n_bad > 1)} that cannot be a "
        f"weight, the first in row {row:,}: {shown}; weights are whole numbers ≥ 0"
    )


def too_many_rows(name: str) -> str:
    """The words for weights whose sum is no longer exact."""
    return f"the weights in column {name!r} add up to more than 2**53 rows; scale them down"


def infinite_values(name: str, n_values: int, row: int) -> str:
    """The words for values that no condition can be put on."""
    return (
        f"column {name!r} holds {n_values:,} infinite value{'s' * (n_values > 1)}, "
        f"the first in row {row:,}; replace them by a number or by a missing value, or leave the column out"
    )


def is_dask(data: Any) -> bool:
    """Whether this is a Dask DataFrame, told without importing Dask."""
    return type(data).__module__.startswith("dask.") and hasattr(data, "to_delayed")


def default_library() -> str:
    """The dataframe library to answer in when the input was none."""
    return next((name for name in ("pandas", "polars") if importlib.util.find_spec(name)), "dict")


def duplicates(names: Sequence[str]) -> list[str]:
    """The names that occur more than once, in order."""
    seen: set[str] = set()
    return list(dict.fromkeys(name for name in names if name in seen or seen.add(name)))  # type: ignore[func-returns-value]


def coded(codes: NDArray[np.int32], labels: tuple[Scalar, ...], ordered: bool = False) -> Column:
    """A column of codes into `labels`, −1 where missing."""
    return Column(codes, codes < 0, labels.__getitem__, labels if ordered else None)


def number(data: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> Column:
    """A column of integers or floats; NaN is missing."""
    if data.dtype.kind == "f":
        data = data.astype(np.float64) + 0.0  # −0.0 and 0.0 are one value and must print alike
        nan = np.isnan(data)
        return Column(data, nan if missing is None else nan | missing, float)
    data = data.astype(np.uint64 if data.dtype == np.uint64 else np.int64, copy=False)
    return Column(data, np.zeros(len(data), np.bool_) if missing is None else missing, int)


def moments(microseconds: NDArray[np.int64], missing: NDArray[np.bool_], form: str) -> Column:
    """A column of dates ('date', in days), or of datetimes, times or durations in microseconds."""
    return Column(microseconds, missing, _MOMENTS[form])


def finer_than_microseconds(name: str) -> str:
    """The note on times that Python's own types cannot hold."""
    return f"column {name!r} has times finer than a microsecond; they are taken to the microsecond"


def _moment(convert: Callable[[int], Scalar]) -> Callable[[int], Scalar]:
    def scalar(value: int) -> Scalar:
        try:
            return convert(value)
        except (OverflowError, ValueError) as error:
            raise DataError("a date outside the years 1 to 9999 cannot be used; correct it first") from error

    return scalar


_MOMENTS: dict[str, Callable[[Any], Scalar]] = {
    "date": _moment(lambda days: (EPOCH + dt.timedelta(days=days)).date()),
    "datetime": _moment(lambda value: EPOCH + value * MICROSECOND),
    "utc": _moment(lambda value: EPOCH.replace(tzinfo=dt.UTC) + value * MICROSECOND),
    "time": _moment(lambda value: (EPOCH + value * MICROSECOND).time()),
    "duration": _moment(lambda value: value * MICROSECOND),
}


def _distinct(present: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if present.dtype.kind == "i" and len(present):
        least = int(present.min())
        if int(present.max()) - least < _COUNTABLE_RANGE:  # counting is an order faster than sorting
            counts = np.bincount(present - least)
            positions = np.flatnonzero(counts)
            return (positions + least).astype(present.dtype), counts[positions]
    return np.unique(present, return_counts=True)


def check_names(names: Sequence[str]) -> None:
    """Raise a DataError unless there are columns and each has a name of its own."""
    if not names:
        raise DataError("the table has no columns")
    if repeated := duplicates(names):
        raise DataError(repeated_names(repeated))


def repeated_names(names: Sequence[str]) -> str:
    """The words for names that occur more than once."""
    return f"column name{'s' * (len(names) > 1)} used more than once: {shorten(names)}; rename the columns"
