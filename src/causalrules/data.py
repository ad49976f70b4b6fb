"""Any table → `Table`: named columns of known kind, fetched one at a time as small integer codes."""

from __future__ import annotations

import datetime as dt
import difflib
import importlib.util
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from itertools import chain
from typing import Any, Protocol, TypeAlias, overload

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from causalrules.exceptions import DataError, OptionError

Scalar: TypeAlias = "int | float | str | bool | dt.date | dt.datetime | dt.time | dt.timedelta"
Ends: TypeAlias = "NDArray[np.intp]"

_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_TEXT_CHUNK = 100_000


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
            return Values(self.sortable[index], self._scalar, self.order)
        return self._scalar(self.sortable[index].item())

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
    """One column as numbers that sort like its values: codes (int32, −1 missing) or quantities with a mask."""

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
    def notes(self) -> tuple[str, ...]:
        """What the reader should know about how the table was read."""
        return tuple(self._source.notes)

    @property
    def library(self) -> str:
        """The dataframe library that results are given back in: 'pandas', 'polars', 'pyarrow', … or 'dict'."""
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
                raise DataError(
                    f"column {name!r} holds {len(infinite):,} infinite value{'s' * (len(infinite) > 1)}, "
                    f"the first in row {infinite[0] + 1:,}; replace them by a number or by a missing value, "
                    "or leave the column out"
                )
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
        column = self._column(name)
        last_values = distinct[ends]
        if column.data.dtype == np.int32:
            # Codes are few and dense: look each up once instead of once per row. −1 takes the last place.
            highest = int(column.data.max(initial=-1))
            bins = np.searchsorted(last_values, np.arange(highest + 2)).astype(np.int32)
            codes = bins[column.data]
        else:
            codes = np.searchsorted(last_values, column.data).astype(np.int32)
        codes[column.missing] = -1
        return codes

    def batches(
        self, ends: Mapping[str, Ends], size: int = 1_000_000
    ) -> Iterator[dict[str, NDArray[np.int32]]]:
        """The codes of several columns, in batches of `size` stored rows (aligned with `weights_array`)."""
        codes = {name: self.codes(name, column_ends) for name, column_ends in ends.items()}
        for start in range(0, self.n_records, size):
            yield {name: column[start : start + size] for name, column in codes.items()}

    def select(self, name: str, satisfied: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which stored rows hold one of the histogram's values marked in `satisfied`; never a missing one."""
        codes = self.codes(name, np.arange(len(satisfied)))
        return np.append(np.asarray(satisfied, np.bool_), False)[codes]

    def observed(self, target: str, weights: str | None = None) -> Table:
        """The rows whose target is present; with `weights`, each counted as often as that column says."""
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
        rows = kept
        if self._rows is not None:
            rows = self._rows.copy()
            rows[self._rows] = kept
        return Table(self._source, rows, new_weights, self.n_dropped + dropped)

    def _frequencies(self, name: str) -> NDArray[np.int64]:
        column = self._column(name)
        if self.kinds[name] is not Kind.NUMBER:
            raise DataError(
                f"weights column {name!r} holds {self.kinds[name]} values; weights are whole numbers ≥ 0, "
                "the number of times each row counts"
            )
        whole = column.data == np.floor(column.data) if column.data.dtype.kind == "f" else True
        bad = np.flatnonzero(column.missing | (column.data < 0) | ~np.asarray(whole) | (column.data > 2**53))
        if len(bad):
            first = bad[0]
            value = "missing" if column.missing[first] else repr(column.scalar(column.data[first].item()))
            raise DataError(
                f"weights column {name!r} has {len(bad):,} value{'s' * (len(bad) > 1)} that cannot be a weight, "
                f"the first in row {first + 1:,}: {value}; weights are whole numbers ≥ 0"
            )
        frequencies = column.data.astype(np.int64)
        if math.fsum(frequencies) > 2**53:
            raise DataError(f"the weights in column {name!r} add up to more than 2**53 rows; scale them down")
        return frequencies


def read(data: Any, na_values: Sequence[str] = ()) -> Table:
    """Read a table from a dataframe, a dict of columns, a structured array, or a path to CSV, TSV or Parquet.

    In text files an empty field is missing, and so is any of `na_values`; nothing else is guessed.
    """
    if isinstance(na_values, str):
        na_values = (na_values,)
    if isinstance(data, Table):
        return data
    if isinstance(data, (str, os.PathLike)):
        from causalrules import files

        return Table(files.read_path(data, tuple(na_values)))
    if na_values:
        raise OptionError("na_values is for text files; in a dataframe, set those values to missing instead")
    return Table(_read_object(data))


def unknown_column(name: object, names: Sequence[str]) -> str:
    """The words for a column that is not there, with the nearest one that is."""
    near = difflib.get_close_matches(str(name), names, n=1) or [
        other for other in names if other.casefold() == str(name).casefold()
    ]
    if near:
        return f"no column {name!r}; did you mean {near[0]!r}?"
    return f"no column {name!r}; the columns are {shorten(names)}"


def shorten(names: Sequence[object], most: int = 10, width: int = 40) -> str:
    """Values or names for an error message: at most ten, each at most forty characters."""
    shown = [repr(name) for name in names[:most]]
    shown = [text if len(text) <= width else f"{text[: width - 2]}…{text[-1]}" for text in shown]
    return ", ".join(shown) + (f", … ({len(names):,} in all)" if len(names) > most else "")


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
    """A column of dates ('date', in days), datetimes ('datetime', 'utc'), times or durations (microseconds)."""
    return Column(microseconds, missing, _MOMENTS[form])


def _moment(convert: Callable[[int], Scalar]) -> Callable[[int], Scalar]:
    def scalar(value: int) -> Scalar:
        try:
            return convert(value)
        except (OverflowError, ValueError) as error:
            raise DataError("a date outside the years 1 to 9999 cannot be used; correct it first") from error

    return scalar


_MOMENTS: dict[str, Callable[[Any], Scalar]] = {
    "date": _moment(lambda days: (_EPOCH + dt.timedelta(days=days)).date()),
    "datetime": _moment(lambda value: _EPOCH + value * _MICROSECOND),
    "utc": _moment(lambda value: _EPOCH.replace(tzinfo=dt.UTC) + value * _MICROSECOND),
    "time": _moment(lambda value: (_EPOCH + value * _MICROSECOND).time()),
    "duration": _moment(lambda value: value * _MICROSECOND),
}


def _distinct(present: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if present.dtype == np.int32 and len(present):
        counts = np.bincount(present)
        positions = np.flatnonzero(counts)
        return positions.astype(np.int32), counts[positions]
    return np.unique(present, return_counts=True)


# ---------------------------------------------------------------------------------------------------------
# Tables in memory


class _Frame:
    """Columns in memory: narwhals series or NumPy arrays, turned into numbers when they are asked for."""

    def __init__(self, columns: Mapping[str, Any], library: str) -> None:
        self.library = library
        self.kinds: dict[str, Kind] = {}
        self.unusable: dict[str, str] = {}
        self.notes: list[str] = []
        self.n_rows = len(next(iter(columns.values()))) if columns else 0
        self._raw = columns
        # Text is encoded once: each time would go through every string again.
        self._encoded: dict[str, Column] = {}
        for name, raw in columns.items():
            self._classify(name, raw)

    def _classify(self, name: str, raw: Any) -> None:
        kind = _array_kind(raw) if isinstance(raw, np.ndarray) else _series_kind(raw)
        if kind is not None:
            self.kinds[name] = kind
            return
        column = _from_objects(name, raw, self.notes)
        if isinstance(column, str):
            self.unusable[name] = column
            self.notes.append(f"column {name!r} is left out: it {column}")
        else:
            self.kinds[name], self._encoded[name] = column

    def column(self, name: str) -> Column:
        if name in self._encoded:
            return self._encoded[name]
        raw, kind = self._raw[name], self.kinds[name]
        column = _array_column(raw) if isinstance(raw, np.ndarray) else _series_column(raw, kind)
        if column.data.dtype == np.int32:
            self._encoded[name] = column
        return column


def _read_object(data: Any) -> Source:
    if isinstance(data, np.ndarray):
        if data.dtype.names is None:
            raise DataError(
                f"a NumPy array of shape {data.shape} has no column names; pass a dict of columns, "
                "a dataframe or a structured array"
            )
        if data.ndim != 1:
            raise DataError(f"a structured array must have one dimension, not {data.ndim}")
        return _Frame({name: np.asarray(data[name]) for name in data.dtype.names}, default_library())
    if isinstance(data, Mapping):
        return _Frame(_dict_columns(data), default_library())
    if type(data).__name__ == "DuckDBPyRelation":
        from causalrules import files

        return files.read_relation(data)
    try:
        frame = nw.from_native(data)
    except TypeError:
        raise DataError(
            f"cannot read a table from {type(data).__name__}; pass a pandas, Polars or Arrow table, a DuckDB "
            "relation, a dict of columns, or a path to a CSV, TSV or Parquet file"
        ) from None
    except Exception as error:  # pandas refuses duplicate names through narwhals with an error of its own
        repeated = duplicates([str(name) for name in getattr(data, "columns", ())])
        if repeated:
            raise DataError(_repeated(repeated)) from error
        raise DataError(f"cannot read the {type(data).__name__}: {error}") from error
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        raise DataError(f"a {type(data).__name__} is one column, not a table; pass the whole dataframe")
    names = [str(name) for name in frame.columns]
    _check_names(names)
    columns = {name: frame.get_column(key) for name, key in zip(names, frame.columns, strict=True)}
    return _Frame(columns, frame.implementation.to_native_namespace().__name__.removesuffix(".pandas"))


def _dict_columns(data: Mapping[Any, Any]) -> dict[str, Any]:
    names = [str(name) for name in data]
    _check_names(names)
    columns: dict[str, Any] = {}
    for name, raw in zip(names, data.values(), strict=True):
        series = nw.from_native(raw, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            columns[name] = series
        elif isinstance(raw, np.ndarray):
            columns[name] = raw
        elif isinstance(raw, Sequence) and not isinstance(raw, (str, bytes)):
            columns[name] = np.fromiter(raw, object, len(raw))
        else:
            raise DataError(f"column {name!r} of the dict is a {type(raw).__name__}; pass a list or an array")
        if isinstance(columns[name], np.ndarray) and columns[name].ndim != 1:
            raise DataError(f"column {name!r} has {columns[name].ndim} dimensions; a column has one")
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        shortest, longest = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
        raise DataError(
            f"columns differ in length: {shortest!r} has {lengths[shortest]:,} rows, "
            f"{longest!r} has {lengths[longest]:,}"
        )
    return columns


def _check_names(names: Sequence[str]) -> None:
    if not names:
        raise DataError("the table has no columns")
    if repeated := duplicates(names):
        raise DataError(_repeated(repeated))


def _repeated(names: Sequence[str]) -> str:
    return f"column name{'s' * (len(names) > 1)} used more than once: {shorten(names)}; rename the columns"


def _series_kind(series: nw.Series[Any]) -> Kind | None:
    dtype = series.dtype
    if dtype.is_numeric() and not dtype.is_decimal() and dtype not in (nw.Int128, nw.UInt128):
        return Kind.NUMBER
    if dtype.is_temporal():
        return Kind.DATE
    return {
        nw.Boolean: Kind.BOOLEAN,
        nw.String: Kind.TEXT,
        nw.Categorical: Kind.TEXT,
        nw.Enum: Kind.ORDERED,
    }.get(type(dtype))


def _series_column(series: nw.Series[Any], kind: Kind) -> Column:
    if kind is Kind.ORDERED:
        categories = tuple(_plain(value) for value in series.dtype.categories)  # type: ignore[attr-defined]
        position = {category: index for index, category in enumerate(categories)}
        return coded(_positions(_chunks(series), position), categories, ordered=True)
    if kind is Kind.TEXT:
        return text(_chunks(series), len(series))
    missing = series.is_null().to_numpy()
    if kind is Kind.BOOLEAN:
        codes = series.fill_null(False).to_numpy().astype(np.int32)
        codes[missing] = -1
        return coded(codes, (False, True))
    dtype = series.dtype
    if kind is Kind.NUMBER:
        if dtype.is_integer():
            return number(series.fill_null(0).to_numpy() if missing.any() else series.to_numpy(), missing)
        return number(series.to_numpy().astype(np.float64, copy=False), missing)
    if isinstance(dtype, nw.Time):
        times = (0 if value is None else _time_microseconds(value) for value in series.to_list())
        return moments(np.fromiter(times, np.int64, len(series)), missing, "time")
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        return _array_column(series.dt.convert_time_zone("UTC").dt.replace_time_zone(None).to_numpy(), "utc")
    return _array_column(series.to_numpy())


def _chunks(series: nw.Series[Any]) -> Iterator[Any]:
    pieces = (series[start : start + _TEXT_CHUNK] for start in range(0, len(series), _TEXT_CHUNK))
    return chain.from_iterable(piece.to_list() for piece in pieces)


def _array_kind(array: NDArray[Any]) -> Kind | None:
    return {
        "i": Kind.NUMBER,
        "u": Kind.NUMBER,
        "f": Kind.NUMBER,
        "b": Kind.BOOLEAN,
        "M": Kind.DATE,
        "m": Kind.DATE,
        "U": Kind.TEXT,
    }.get(array.dtype.kind)


def _array_column(array: NDArray[Any], form: str = "datetime") -> Column:
    if array.dtype.kind in "iuf":
        return number(array)
    if array.dtype.kind == "b":
        return coded(array.astype(np.int32), (False, True))
    if array.dtype.kind == "U":
        return text(iter(array.tolist()), len(array))
    missing = np.isnat(array)
    if array.dtype.kind == "m":
        return moments(array.astype("m8[us]").astype(np.int64), missing, "duration")
    if np.datetime_data(array.dtype)[0] == "D":
        return moments(array.astype(np.int64), missing, "date")
    return moments(array.astype("M8[us]").astype(np.int64), missing, form)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating, Decimal)) and value != value


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if hasattr(value, "to_pydatetime"):
        value = value.to_pydatetime(warn=False)
    return value


def _positions(values: Iterator[Any], position: Mapping[Any, int]) -> NDArray[np.int32]:
    return np.fromiter((-1 if _is_missing(value) else position[_plain(value)] for value in values), np.int32)


def text(values: Iterator[Any], n_rows: int) -> Column:
    """A column of text, its values in alphabetical order."""
    found: dict[Any, int] = {}
    codes = np.fromiter((found.setdefault(value, len(found)) for value in values), np.int32, n_rows)
    labels = sorted({str(value) for value in found if not _is_missing(value)})
    place = {label: index for index, label in enumerate(labels)}
    rank = [-1 if _is_missing(value) else place[str(value)] for value in found]
    return coded(np.array(rank, np.int32)[codes] if rank else codes, tuple(labels))


def _time_microseconds(value: dt.time) -> int:
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond


def _from_objects(name: str, raw: Any, notes: list[str]) -> tuple[Kind, Column] | str:
    """A column of Python objects, judged by what they are; a string says why it cannot be used."""
    values = [None if _is_missing(value) else _plain(value) for value in raw]
    missing = np.fromiter((value is None for value in values), np.bool_, len(values))
    types = {type(value) for value in values} - {type(None)}
    if not types <= _SCALARS:
        names = shorten(sorted({kind.__name__ for kind in types - _SCALARS}))
        return f"holds {names} values, which are not single values; take them apart into columns"
    if types == {bool}:
        codes = np.fromiter((-1 if value is None else int(value) for value in values), np.int32, len(values))
        return Kind.BOOLEAN, coded(codes, (False, True))
    if types and types <= {int, float, Decimal}:
        return Kind.NUMBER, _numbers(name, values, missing, types, notes)
    if len(types) == 1 and types <= {dt.date, dt.datetime, dt.time, dt.timedelta}:
        return _dates(values, missing)
    if len(types) > 1:
        names = " and ".join(sorted(kind.__name__ for kind in types))
        notes.append(f"column {name!r} mixes {names} values; it is taken as text")
    return Kind.TEXT, text(iter(values), len(values))


_SCALARS = {bool, int, float, str, Decimal, dt.date, dt.datetime, dt.time, dt.timedelta}


def _numbers(
    name: str, values: list[Any], missing: NDArray[np.bool_], types: set[type], notes: list[str]
) -> Column:
    if types == {int}:
        present = [value for value in values if value is not None]
        for dtype in (np.int64, np.uint64):
            if np.iinfo(dtype).min <= min(present) and max(present) <= np.iinfo(dtype).max:
                filled = (0 if value is None else value for value in values)
                return number(np.fromiter(filled, dtype, len(values)), missing)
    try:
        floats = np.fromiter((math.nan if value is None else float(value) for value in values), np.float64)
    except OverflowError:
        raise DataError(f"column {name!r} holds integers beyond the range of numbers (1e308)") from None
    exact = all(
        value is None or isinstance(value, float) or _same(value, number)
        for value, number in zip(values, floats)
    )
    if not exact:
        notes.append(
            f"column {name!r} holds numbers that are not exact as 64-bit floats; they are rounded to them"
        )
    return number(floats, missing)


def _same(value: int | Decimal, rounded: float) -> bool:
    # A decimal such as 0.1 is kept if its float prints the same; 0.1000000000000000055 is not.
    return Decimal(repr(float(rounded))) == value if isinstance(value, Decimal) else int(rounded) == value


def _dates(values: list[Any], missing: NDArray[np.bool_]) -> tuple[Kind, Column] | str:
    first = next(value for value in values if value is not None)
    if isinstance(first, dt.timedelta):
        form, integer = "duration", lambda value: value // _MICROSECOND
    elif isinstance(first, dt.time):
        form, integer = "time", _time_microseconds
    elif not isinstance(first, dt.datetime):
        form, integer = "date", lambda value: (value - _EPOCH.date()).days
    else:
        aware = {value.utcoffset() is not None for value in values if value is not None}
        if len(aware) > 1:
            return "mixes datetimes with and without a time zone; give all of them one, or none"
        zero = _EPOCH.replace(tzinfo=dt.UTC) if aware == {True} else _EPOCH
        form, integer = "utc" if aware == {True} else "datetime", lambda value: (value - zero) // _MICROSECOND
    data = np.fromiter((0 if value is None else integer(value) for value in values), np.int64, len(values))
    return Kind.DATE, moments(data, missing, form)
