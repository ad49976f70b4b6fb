"""Tables in memory: dataframes of any library, dicts of columns and structured arrays."""

from __future__ import annotations

import contextlib
import datetime as dt
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from causalrules.data.columns import (
    EPOCH,
    MICROSECOND,
    TOO_FAR,
    Column,
    Kind,
    Scalar,
    check_names,
    coded,
    finer_than_microseconds,
    inexact_numbers,
    moments,
    number,
    python_value,
)
from causalrules.data.inference import kept_texts
from causalrules.data.table import Source, default_library
from causalrules.exceptions import DataError
from causalrules.text import counted, shorten

_TEXT_CHUNK = 100_000
# Python does not write integers beyond 4,300 digits.
_MANY_DIGITS = "holds whole numbers of thousands of digits; shorten them"


class _Frame:
    """Columns in memory: narwhals series or NumPy arrays, encoded when they are needed."""

    def __init__(self, columns: Mapping[str, Any], library: str) -> None:
        self.library = library
        self.kinds: dict[str, Kind] = {}
        self.unusable: dict[str, str] = {}
        self.notes: list[str] = []
        self.n_rows = len(next(iter(columns.values()))) if columns else 0
        self._raw = columns
        # Encoded text is cached, because encoding visits every string.
        self._encoded: dict[str, Column] = {}
        self._ordered: dict[str, tuple[Scalar, ...]] = {}
        for name, raw in columns.items():
            self._classify(name, raw)

    def _classify(self, name: str, raw: Any) -> None:
        try:
            kind = _array_kind(raw) if isinstance(raw, np.ndarray) else _series_kind(raw)
        except ValueError:  # narwhals may hash a pandas type, by the text of its categories
            self._leave_out(name, _MANY_DIGITS)
            return
        if kind is Kind.ORDERED:
            labels = _ordered_labels(name, raw.dtype.categories, self.notes)
            if isinstance(labels, str):
                self._leave_out(name, labels)
            else:
                self.kinds[name], self._ordered[name] = kind, labels
        elif kind is not None:
            self.kinds[name] = kind
            if kind is Kind.DATE and _has_nanoseconds(raw):
                self.notes.append(finer_than_microseconds(name))
            if not isinstance(raw, np.ndarray) and isinstance(raw.dtype, nw.Categorical):
                self._encode(name, kind, _categories(name, raw, self.notes))
        else:
            found = _from_objects(name, raw, self.notes)
            self._encode(name, *(found if isinstance(found, tuple) else (Kind.TEXT, found)))

    def _encode(self, name: str, kind: Kind, column: Column | str) -> None:
        if isinstance(column, str):
            self._leave_out(name, column)
        else:
            self.kinds[name], self._encoded[name] = kind, column
            if kind is Kind.TEXT:
                self._look_for_missing(name, column)

    def _leave_out(self, name: str, reason: str) -> None:
        self.kinds.pop(name, None)
        self.unusable[name] = reason
        self.notes.append(f"column {name!r} is left out: it {reason}")

    def column(self, name: str) -> Column:
        if name in self._encoded:
            return self._encoded[name]
        raw, kind = self._raw[name], self.kinds[name]
        if name in self._ordered:
            column = coded(_category_codes(raw), self._ordered[name], ordered=True)
        else:
            column = _array_column(raw) if isinstance(raw, np.ndarray) else _series_column(raw, kind)
        if column.data.dtype == np.int32:
            self._encoded[name] = column
        if kind is Kind.TEXT:
            self._look_for_missing(name, column)
        return column

    def _look_for_missing(self, name: str, column: Column) -> None:
        """Note texts that look like missing values: nothing is guessed in memory."""
        labels = [column.scalar(code) for code in range(int(column.data.max(initial=-1)) + 1)]
        note = kept_texts(name, [label for label in labels if isinstance(label, str)])
        if note is not None:
            self.notes.append(note)


def read_object(data: Any) -> Source:
    """Read a dataframe, a dict of columns or a structured array."""
    if isinstance(data, np.ndarray):
        if data.dtype.names is None:
            raise DataError(
                f"a NumPy array of shape {data.shape} has no column names; pass a dict of columns, "
                "a dataframe or a structured array"
            )
        if data.ndim != 1:
            raise DataError(f"a structured array must have one dimension, not {data.ndim}")
        return _Frame({name: np.asanyarray(data[name]) for name in data.dtype.names}, default_library())
    if isinstance(data, Mapping):
        return _Frame(_dict_columns(data), default_library())
    try:
        frame = nw.from_native(data, allow_series=True)
    except TypeError:
        raise DataError(
            f"cannot read a table from {type(data).__name__}; pass a pandas, Polars or Arrow table, a DuckDB "
            "relation, a dict of columns, or a path to a CSV, TSV or Parquet file"
        ) from None
    except Exception as error:  # narwhals has errors of its own for duplicate names
        if names := [str(name) for name in getattr(data, "column_names", getattr(data, "columns", ()))]:
            check_names(names)
        raise DataError(f"cannot read the {type(data).__name__}: {error}") from error
    if isinstance(frame, nw.LazyFrame):
        try:
            frame = frame.collect()
        except Exception as error:  # any error of the library for a query that fails
            raise DataError(f"cannot collect the {type(data).__name__}: {error}") from error
    if not isinstance(frame, nw.DataFrame):
        raise DataError(f"a {type(data).__name__} is one column, not a table; pass the whole dataframe")
    names = [str(name) for name in frame.columns]
    check_names(names)
    columns = {name: frame.get_column(key) for name, key in zip(names, frame.columns, strict=True)}
    return _Frame(columns, frame.implementation.to_native_namespace().__name__.removesuffix(".pandas"))


def _dict_columns(data: Mapping[Any, Any]) -> dict[str, Any]:
    names = [str(name) for name in data]
    check_names(names)
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
            f"columns differ in length: {shortest!r} has {counted(lengths[shortest], 'row')}, "
            f"{longest!r} has {lengths[longest]:,}"
        )
    return columns


def _series_kind(series: nw.Series[Any]) -> Kind | None:
    dtype = series.dtype
    if dtype.is_numeric() and not dtype.is_decimal() and dtype not in (nw.Int128, nw.UInt128):
        return Kind.NUMBER
    if dtype.is_temporal():
        return Kind.DATE
    return {nw.Boolean: Kind.BOOLEAN, nw.String: Kind.TEXT, nw.Categorical: Kind.TEXT, nw.Enum: Kind.ORDERED}.get(
        type(dtype)
    )


def _has_nanoseconds(raw: Any) -> bool:
    if not isinstance(raw, np.ndarray):
        if getattr(raw.dtype, "time_unit", None) != "ns":
            return False
        raw = raw.to_numpy()
    raw = np.where(np.ma.getmaskarray(raw), np.array("NaT", raw.dtype), np.ma.getdata(raw))
    if np.datetime_data(raw.dtype)[0] not in ("ns", "ps", "fs", "as"):
        return False
    kept = raw.astype(f"{raw.dtype.kind}8[us]")
    return bool(np.any((kept != raw) & ~np.isnat(raw)))


def _series_column(series: nw.Series[Any], kind: Kind) -> Column:
    if kind is Kind.TEXT:
        return _labelled(*_found(series))
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
        times = (0 if _is_missing(value) else _time_microseconds(value) for value in series.to_list())
        return moments(np.fromiter(times, np.int64, len(series)), missing, "time")
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        return _array_column(series.dt.convert_time_zone("UTC").dt.replace_time_zone(None).to_numpy(), "utc")
    array = series.to_numpy()
    if isinstance(dtype, nw.Date) and array.dtype.kind == "O":  # Arrow's dates in a pandas frame
        array = series.cast(nw.Datetime("us")).to_numpy().astype("M8[D]")
    return _array_column(array)


def _category_codes(series: nw.Series[Any]) -> NDArray[np.int32]:
    """Return the position of each row's category, −1 if missing."""
    if series.implementation.is_pandas_like():
        return np.asarray(series.to_native().cat.codes, np.int32)
    position = {category: index for index, category in enumerate(series.dtype.categories)}  # type: ignore[attr-defined]
    codes = (-1 if _is_missing(value) else position[value] for value in _chunks(series))
    return np.fromiter(codes, np.int32, len(series))


def _ordered_labels(name: str, categories: Sequence[Any], notes: list[str]) -> tuple[Scalar, ...] | str:
    """Return ordered categories as scalars of one type, else as text; or the reason they cannot be used."""
    plain = [python_value(category) for category in categories]
    types = {type(value) for value in plain}
    if types <= {int, float, Decimal} and len(types) + (Decimal in types) > 1:
        with contextlib.suppress(OverflowError):
            floats = [float(value) for value in plain]
            if all(isinstance(value, float) or _same(value, each) for value, each in zip(plain, floats, strict=True)):
                plain, types = floats, {float}
    finite = all(_is_finite(value) for value in plain)
    if len(types) <= 1 and types <= _SCALARS - {Decimal} and finite and len(set(plain)) == len(plain):
        return tuple(plain)
    try:
        texts = [str(category) for category in categories]
    except ValueError:
        return _MANY_DIGITS
    if repeated := [text for text, count in Counter(texts).items() if count > 1]:
        return f"has several categories that are written {repeated[0]!r}; rename them"
    kinds = " and ".join(sorted({type(category).__name__ for category in categories}))
    notes.append(f"column {name!r} has {kinds} categories; they are read as text, such as {shorten(texts[:1])}")
    return tuple(texts)


def _is_finite(value: Any) -> bool:
    """Return whether this is a finite float, an integer within 64 bits, or not a number."""
    return math.isfinite(value) if isinstance(value, float) else not isinstance(value, int) or abs(value) < 2**63


def _found(series: nw.Series[Any]) -> tuple[NDArray[Any], list[Any]]:
    """Return the position of each row's value among the distinct values, and the distinct values."""
    if series.implementation.is_pandas_like():  # an order of magnitude faster than a loop
        codes, found = series.to_native().factorize()
        return codes, list(found)
    return _distinct(_chunks(series), len(series))


def _categories(name: str, series: nw.Series[Any], notes: list[str]) -> Column | str:
    """Encode unordered categories: unchanged if all are of one type, else as text; or return the reason for neither."""
    codes, found = _found(series)
    if any(_is_finer(value) for value in found):
        notes.append(finer_than_microseconds(name))
    values = [None if _is_missing(value) else python_value(value) for value in found]
    types = {type(value) for value in values} - {type(None)}
    if len(types) > 1:
        notes.append(_mixes(name, types))
    if len(types) == 1 and types <= _SCALARS - {Decimal} and all(_is_finite(value) for value in values):
        try:
            return _labelled(codes, values, own=True)
        except TypeError:  # datetimes with and without a time zone
            notes.append(f"column {name!r} mixes datetimes with and without a time zone; it is read as text")
    try:
        return _labelled(codes, found)
    except ValueError:
        return _MANY_DIGITS


def _mixes(name: str, types: set[type]) -> str:
    names = " and ".join(sorted(kind.__name__ for kind in types))
    return f"column {name!r} mixes {names} values; it is read as text"


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
    masked, array = np.ma.getmaskarray(array), np.ma.getdata(array)
    if array.dtype.kind in "iuf":
        return number(array, masked)
    if array.dtype.kind == "b":
        return coded(np.where(masked, np.int32(-1), array.astype(np.int32)), (False, True))
    if array.dtype.kind == "U":
        texts = (None if hidden else text for text, hidden in zip(array.tolist(), masked.tolist(), strict=True))
        return _text(texts, len(array))
    missing = np.isnat(array) | masked
    if array.dtype.kind == "m":
        return moments(_microseconds(array), missing, "duration")
    if np.datetime_data(array.dtype)[0] == "D":
        return moments(array.astype(np.int64), missing, "date")
    return moments(_microseconds(array), missing, form)


def _microseconds(array: NDArray[Any]) -> NDArray[np.int64]:
    """Convert dates and times of any unit; those that overflow 64 bits, which NumPy would wrap, become `TOO_FAR`."""
    converted = array.astype(f"{array.dtype.kind}8[us]")
    microseconds: NDArray[np.int64] = converted.astype(np.int64)
    if np.datetime_data(array.dtype)[0] in ("Y", "M", "W", "D", "h", "m", "s", "ms"):
        microseconds[(converted.astype(array.dtype) != array) & ~np.isnat(array)] = TOO_FAR
    return microseconds


def _is_missing(value: Any) -> bool:
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()  # a signalling NaN cannot be compared
    return isinstance(value, (float, np.floating)) and value != value


def _is_finer(value: Any) -> bool:
    """Return whether a pandas Timestamp or Timedelta has nanoseconds, which Python's types do not."""
    if (not hasattr(value, "to_pydatetime") and not hasattr(value, "to_pytimedelta")) or _is_missing(value):
        return False
    return bool(getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0))


def _text(values: Iterator[Any], n_rows: int) -> Column:
    """Encode text, its values in alphabetical order."""
    return _labelled(*_distinct(values, n_rows))


def _distinct(values: Iterator[Any], n_rows: int) -> tuple[NDArray[Any], list[Any]]:
    found: dict[Any, int] = {}
    codes = np.fromiter((found.setdefault(value, len(found)) for value in values), np.int32, n_rows)
    return codes, list(found)


def _labelled(codes: NDArray[Any], found: list[Any], own: bool = False) -> Column:
    """Encode each row's position among the values found (−1 if missing), as text or as their own type."""
    named = [None if _is_missing(value) else value if own else str(value) for value in found]
    labels = sorted({label for label in named if label is not None})
    place = {label: index for index, label in enumerate(labels)}
    rank = [-1 if label is None else place[label] for label in named]
    return coded(np.array([*rank, -1], np.int32)[codes], tuple(labels))


def _time_microseconds(value: dt.time) -> int:
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond


def _from_objects(name: str, raw: Any, notes: list[str]) -> tuple[Kind, Column] | str:
    """Encode Python objects by their types, or return the reason they cannot be used."""
    values = [None if _is_missing(value) else python_value(value) for value in raw]
    if any(_is_finer(value) for value in raw if not isinstance(value, str)):
        notes.append(finer_than_microseconds(name))
    missing = np.fromiter((value is None for value in values), np.bool_, len(values))
    types = {type(value) for value in values} - {type(None)}
    if not types <= _SCALARS:
        names = shorten(sorted({kind.__name__ for kind in types - _SCALARS}))
        return f"holds {names} values, which are not scalars; split it into columns"
    if types == {bool}:
        codes = np.fromiter((-1 if value is None else int(value) for value in values), np.int32, len(values))
        return Kind.BOOLEAN, coded(codes, (False, True))
    if types and types <= {int, float, Decimal}:
        return Kind.NUMBER, _numbers(name, values, missing, types, notes)
    if len(types) == 1 and types <= {dt.date, dt.datetime, dt.time, dt.timedelta}:
        return _dates(values, missing)
    if len(types) > 1:
        notes.append(_mixes(name, types))
    try:
        # Keyed by text, because 1, True and 1.0 are equal in Python and would share a label.
        return Kind.TEXT, _text((None if value is None else str(value) for value in values), len(values))
    except ValueError:
        return _MANY_DIGITS


_SCALARS = {bool, int, float, str, Decimal, dt.date, dt.datetime, dt.time, dt.timedelta}


def _numbers(name: str, values: list[Any], missing: NDArray[np.bool_], types: set[type], notes: list[str]) -> Column:
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
        value is None or isinstance(value, float) or _same(value, rounded)
        for value, rounded in zip(values, floats.tolist(), strict=True)
    )
    if not exact:
        notes.append(inexact_numbers(name))
    return number(floats, missing)


def _same(value: int | Decimal, rounded: float) -> bool:
    # A decimal such as 0.1 is exact if its float prints the same; 0.1000000000000000055 is not.
    return Decimal(repr(float(rounded))) == value if isinstance(value, Decimal) else int(rounded) == value


def _dates(values: list[Any], missing: NDArray[np.bool_]) -> tuple[Kind, Column] | str:
    integer: Callable[[Any], int]
    first = next(value for value in values if value is not None)
    if isinstance(first, dt.timedelta):
        # Values that overflow 64 bits become `TOO_FAR`, which is rejected where the column is used.
        form, integer = "duration", lambda value: min(max(value // MICROSECOND, -TOO_FAR - 1), TOO_FAR)
    elif isinstance(first, dt.time):
        form, integer = "time", _time_microseconds
    elif not isinstance(first, dt.datetime):
        form, integer = "date", lambda value: (value - EPOCH.date()).days
    else:
        aware = {value.utcoffset() is not None for value in values if value is not None}
        if len(aware) > 1:
            return "mixes datetimes with and without a time zone; give one to all or to none"
        zero = EPOCH.replace(tzinfo=dt.UTC) if aware == {True} else EPOCH
        form, integer = "utc" if aware == {True} else "datetime", lambda value: (value - zero) // MICROSECOND
    data = np.fromiter((0 if value is None else integer(value) for value in values), np.int64, len(values))
    return Kind.DATE, moments(data, missing, form)
