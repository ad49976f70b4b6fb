"""Tables larger than memory: the rows stay in files, and DuckDB computes on them slice by slice.

Values, quantiles and codes equal those of the same table in memory.
"""

from __future__ import annotations

import itertools
import math
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules.data import weights as weighting
from causalrules.data.columns import (
    LIMITS,
    Ends,
    Histogram,
    Values,
    code_type,
    coded,
    far_moments,
    infinite_values,
    moments,
    number,
)
from causalrules.data.database import DuckDBSource, Slice
from causalrules.data.table import Table
from causalrules.exceptions import DataError

# Columns with more distinct values than this in the first slice are sorted; grouping is faster for the others.
_GROUPED = 100_000
_MOST_TEXTS = 1_000_000
# Numbers the enumerations of all tables: several may be in one database.
_ENUMERATIONS = itertools.count()
_INTEGERS = {1: "TINYINT", 2: "SMALLINT", 4: "INTEGER"}

# Distinct values in ascending order, and how often each occurs.
_Counted = tuple[NDArray[Any], NDArray[np.int64]]


@dataclass(frozen=True)
class Sql:
    """A SQL expression and its parameters."""

    text: str
    parameters: tuple[Any, ...] = ()


@dataclass(frozen=True)
class _Observed:
    """Which rows are observed, and their weights, in SQL."""

    target: str
    weights: str | None
    condition: str
    weight: str
    n_records: int
    n_rows: int
    n_dropped: int
    control: tuple[str, ...] = ()
    n_incomplete: int = 0


class StreamedTable(Table):
    """A table whose rows stay in files."""

    storage = "files"

    def __init__(self, source: DuckDBSource, observed: _Observed | None = None) -> None:
        super().__init__(source)
        self._duckdb = source
        self._observed = observed
        self._labelled: dict[str, str] = {}
        self._expressions: dict[str, str] = {}
        self._tables: dict[tuple[str, str | None, tuple[str, ...]], StreamedTable] = {}
        if observed is not None:
            self._tables[observed.target, observed.weights, observed.control] = self
            self.n_records, self.n_rows, self.n_dropped = observed.n_records, observed.n_rows, observed.n_dropped
            self.n_incomplete = observed.n_incomplete

    def kept(self) -> Table:
        """Return the table itself: its rows stay in files."""
        return self

    @property
    def weights(self) -> NDArray[np.int64] | None:
        """Weight of each stored row, or None if each counts once."""
        return self._whole(self.weight, np.int64) if self.weighted else None

    @property
    def weighted(self) -> bool:
        """Whether the rows have weights."""
        return self._observed is not None and self._observed.weights is not None

    @property
    def weight(self) -> Sql:
        """Expression for the weight of each row."""
        return Sql(self._weight)

    @property
    def _condition(self) -> str:
        return "true" if self._observed is None else self._observed.condition

    @property
    def _weight(self) -> str:
        return "1" if self._observed is None else self._observed.weight

    def having(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Return which stored rows have a value in each of these columns."""
        return self._whole(Sql(self._have(names)), np.bool_)

    def _have(self, names: Sequence[str]) -> str:
        """Return the condition that a row has a value in each of these columns."""
        return " AND ".join(["true", *(f"{self._value(name)} IS NOT NULL" for name in names)])

    def observed(self, target: str, weights: str | None = None, control: Sequence[str] = ()) -> StreamedTable:
        """Return the rows whose target is present, and each of these controls."""
        observed = self._having_target(target, weights)
        lacking = tuple(name for name in sorted(control) if observed.n_missing(name))
        if (target, weights, lacking) not in self._tables:
            self._tables[target, weights, lacking] = observed._complete(lacking)
        return self._tables[target, weights, lacking]

    def _complete(self, control: Sequence[str]) -> StreamedTable:
        whole = self._observed
        assert whole is not None
        condition = f"{whole.condition} AND {self._have(control)}"
        ((n_records, n_rows),) = self._duckdb.rows(
            f"SELECT count(*), coalesce(sum({whole.weight}), 0) FROM data WHERE {condition}"
        )
        part = replace(
            whole,
            condition=condition,
            n_records=n_records,
            n_rows=int(n_rows),
            control=tuple(control),
            n_incomplete=whole.n_rows - int(n_rows),
        )
        return StreamedTable(self._duckdb, part)

    def _having_target(self, target: str, weights: str | None) -> StreamedTable:
        """Return the rows whose target is present."""
        self.require(target)
        if (target, weights, ()) in self._tables:
            return self._tables[target, weights, ()]
        weight, condition = "1", f"{self._value(target)} IS NOT NULL"
        if weights is not None:
            self._check_weights(weights)
            weight = f"({self._value(weights)})::BIGINT"
            condition += f" AND {weight} > 0"
        ((n_records, n_rows, n_all),) = self._duckdb.rows(
            f"SELECT count(*) FILTER ({condition}), coalesce(sum({weight}) FILTER ({condition}), 0), "
            f"coalesce(sum({weight}), 0) FROM data"
        )
        weighting.require_exact(str(weights), n_all)
        observed = _Observed(target, weights, condition, weight, n_records, int(n_rows), int(n_all - n_rows))
        # Cached, because its histograms were read from files.
        self._tables[target, weights, ()] = StreamedTable(self._duckdb, observed)
        return self._tables[target, weights, ()]

    def _check_weights(self, name: str) -> None:
        self.require(name)
        weighting.require_numbers(name, self.kinds[name])
        value = self._value(name)
        invalid = f"{value} IS NULL OR {value} < 0 OR {value} <> floor({value}) OR {value} > {weighting.MOST_ROWS}"
        ((n_invalid,),) = self._duckdb.rows(f"SELECT count(*) FILTER ({invalid}) FROM data")
        if n_invalid:
            raise weighting.invalid_weights(name, n_invalid, *self._first(value, invalid))

    def _first(self, value: str, condition: str) -> tuple[int, Any]:
        """Return the number of the first row that satisfies the condition, and its value."""
        numbered = f"SELECT {value} AS value, {condition} AS chosen, row_number() OVER () AS place FROM data"
        ((place, found),) = self._duckdb.rows(
            f"SELECT place, value FROM ({numbered}) WHERE chosen ORDER BY place LIMIT 1"
        )
        return place, found

    def _value(self, name: str) -> str:
        """Return the expression for a column's values, NULL if missing."""
        if name not in self._expressions:
            form, expression = self._duckdb.fetch(name)
            if form == "number" and self._is_float(expression):
                # Not nullif(…, 'nan'): DuckDB answers comparisons from the file's statistics, which ignore NaN.
                expression = f"(CASE WHEN isnan({expression}) THEN NULL ELSE ({expression})::DOUBLE END)"
            self._expressions[name] = expression
        return self._expressions[name]

    def _is_float(self, expression: str) -> bool:
        (column,) = self._duckdb.arrays(f"SELECT {expression} FROM data LIMIT 0")
        return bool(column.dtype.kind == "f")

    def histogram(self, name: str) -> Histogram:
        """Count the rows of each distinct value of a column, and those where it is missing."""
        if name not in self._histograms:
            self.require(name)
            is_text = self._duckdb.fetch(name)[0] == "text"
            self._histograms[name] = self._texts(name) if is_text else self._quantities(name)
        return self._histograms[name]

    def read_ahead(self, names: Sequence[str]) -> None:
        """Count the values of several columns: one is sorted while the next is fetched."""
        ordered = [name for name in names if name not in self._histograms and self._duckdb.fetch(name)[0] != "text"]
        with ThreadPoolExecutor(1) as sorting:
            waiting: tuple[str, Future[_Counted]] | None = None
            for name in [*ordered, None]:
                fetched = None if name is None else self._fetch(name)
                if waiting is not None:
                    self._histograms[waiting[0]] = self._checked(waiting[0], *waiting[1].result())
                if name is not None and fetched is not None:
                    waiting = name, sorting.submit(self._counted, *fetched)

    def _texts(self, name: str) -> Histogram:
        groups = (
            f"SELECT {self._value(name)} AS value, sum({self._weight}) AS n FROM data "
            f"WHERE {self._condition} AND {self._value(name)} IS NOT NULL GROUP BY value"
        )
        found = self._duckdb.rows(f"SELECT * FROM ({groups}) ORDER BY value LIMIT {_MOST_TEXTS + 1}")
        if len(found) > _MOST_TEXTS:
            ((n_values, n_present, most),) = self._duckdb.rows(f"SELECT count(*), sum(n), max(n) FROM ({groups})")
            fault = DataError(
                f"column {name!r} has {n_values:,} distinct texts, too many for a condition on each; "
                "group them, or name the actionable columns without it"
            )
            if most > 1:
                raise fault
            # An identifier, which is left out: only the number of values is needed.
            one = np.broadcast_to(np.int64(1), n_values)
            return Histogram(Values(one, _raise(fault)), one, self.n_rows - int(n_present))
        labels = tuple(value for value, _ in found)
        counts = np.array([n for _, n in found], np.int64)
        values = Values(np.arange(len(labels), dtype=np.int32), labels.__getitem__)
        return Histogram(values, counts, self.n_rows - int(counts.sum()))

    def _quantities(self, name: str) -> Histogram:
        return self._checked(name, *self._counted(*self._fetch(name)))

    def _fetch(self, name: str) -> tuple[NDArray[Any], NDArray[np.int64] | None]:
        """Return the distinct values of a column and how often each occurs; or the values of all rows, and None."""
        self.require(name)
        value = self._value(name)
        present = f"{self._condition} AND {value} IS NOT NULL"
        first = self._duckdb.slices[0]
        ((n_first,),) = self._duckdb.rows(
            f"SELECT approx_count_distinct({value}) FROM {first.relation} WHERE {present}", first.parameters
        )
        if n_first > _GROUPED and self._weight == "1":
            return self._rows_of(name, value, present), None
        data, n = self._duckdb.arrays(
            f"SELECT {value}, sum({self._weight})::BIGINT FROM data WHERE {present} GROUP BY ALL"
        )
        return _canonical(data), n

    def _rows_of(self, name: str, value: str, present: str) -> NDArray[Any]:
        """Return the value of each row that has one."""
        data: NDArray[Any] | None = None
        filled = 0
        for (part,) in self._sliced(f"SELECT {value} FROM", f"WHERE {present}"):
            part = _canonical(part)
            data = np.empty(self.n_records, part.dtype) if data is None else data
            filled += len(part)
            if filled > len(data):
                raise DataError(f"column {name!r} changed while it was read; read a file that nobody writes to")
            data[filled - len(part) : filled] = part
        return np.zeros(0) if data is None else data[:filled]

    def _counted(self, data: NDArray[Any], n: NDArray[np.int64] | None) -> _Counted:
        """Sort the values, and count how often each distinct one occurs."""
        if n is not None:
            distinct, place = np.unique(data, return_inverse=True)
            counts = np.zeros(len(distinct), np.int64)
            np.add.at(counts, place, n)
            return distinct, counts
        data.sort()
        last = np.flatnonzero(np.append(data[1:] != data[:-1], True))
        if len(last) == len(data):
            counts = np.broadcast_to(np.int64(1), len(data))
        else:
            data = data[last]
            counts = np.diff(last, prepend=-1)
        if len(data) <= self._KEPT_VALUES:
            return data, counts
        return _memory_mapped(self._duckdb.folder, data), _memory_mapped(self._duckdb.folder, counts)

    def _checked(self, name: str, distinct: NDArray[Any], counts: NDArray[np.int64]) -> Histogram:
        value = self._value(name)
        if distinct.dtype.kind == "f" and len(distinct) and not np.isfinite(distinct[[0, -1]]).all():
            ((n_infinite,),) = self._duckdb.rows(f"SELECT count(*) FILTER (isinf({value})) FROM data")
            raise infinite_values(name, n_infinite, self._first(value, f"isinf({value})")[0])
        least, most = LIMITS.get(self._duckdb.fetch(name)[0], (-math.inf, math.inf))
        if len(distinct) and not least <= distinct[0] <= distinct[-1] <= most:
            far = f"{value} < {least} OR {value} > {most}"
            ((n_far,),) = self._duckdb.rows(f"SELECT count(*) FILTER ({far}) FROM data")
            raise far_moments(name, n_far, self._first(value, far)[0])
        return Histogram(Values(distinct, self._scalar(name, distinct)), counts, self.n_rows - int(counts.sum()))

    def _scalar(self, name: str, distinct: NDArray[Any]) -> Any:
        form = self._duckdb.fetch(name)[0]
        nothing = np.zeros(0, np.bool_)
        if form == "number":
            return number(distinct[:0]).scalar
        if form == "boolean":
            return coded(np.zeros(0, np.int32), (False, True)).scalar
        return moments(distinct[:0], nothing, form).scalar

    def binned(self, name: str, uppers: NDArray[Any]) -> NDArray[np.int32]:
        """Return the bin of each row, −1 if missing; `uppers` are the sortable uppers of all bins but the last."""
        return self._whole(self._code(name, uppers), np.int32)

    def code(self, name: str, ends: Ends) -> Sql:
        """Return the expression for the bin of each row, −1 if missing."""
        return self._code(name, self.histogram(name).values.sortable[ends[:-1]])

    def _code(self, name: str, uppers: NDArray[Any]) -> Sql:
        value, dtype = self._value(name), _INTEGERS[code_type(len(uppers) + 1).itemsize]
        if self._duckdb.fetch(name)[0] == "text":
            value = f"enum_code(({value})::{self._labels(name)})"
            if len(uppers) + 1 >= len(self.histogram(name).values):
                return Sql(f"coalesce({value}::INTEGER, -1)::{dtype}")
        bins = _bins(value, uppers.tolist())
        return Sql(f"(CASE WHEN {value} IS NULL THEN -1 ELSE {bins.text} END)::{dtype}", bins.parameters)

    def quantity(self, name: str, centre: int | float = 0) -> Sql:
        """Return the expression for the sortable number or date of each row, minus a centre; nan if missing."""
        # Integers are subtracted exactly: different large ones may be equal as floats.
        number = "HUGEINT" if isinstance(centre, int) else "DOUBLE"
        less = f"({self._value(name)})::{number} - ?::{number}" if centre else self._value(name)
        return Sql(f"coalesce(({less})::DOUBLE, 'nan'::DOUBLE)", (centre,) if centre else ())

    def quantities(self, name: str, centre: int | float = 0) -> NDArray[np.float64]:
        """Return the sortable number or date of each row, minus a centre; nan if missing."""
        return self._whole(self.quantity(name, centre), np.float64)

    def _labels(self, name: str) -> str:
        """Return an enumeration of the column's texts, so that DuckDB looks each string up once."""
        if name not in self._labelled:
            labels = list(self.histogram(name).values)
            enumeration = f"labels_{next(_ENUMERATIONS)}"
            self._duckdb.rows("CREATE OR REPLACE TABLE labels AS SELECT unnest(?::VARCHAR[]) AS value", [labels])
            self._duckdb.rows(f"DROP TYPE IF EXISTS {enumeration}")
            self._duckdb.rows(f"CREATE TYPE {enumeration} AS ENUM (SELECT value FROM labels)")
            self._labelled[name] = enumeration
        return self._labelled[name]

    def combinations(self, ends: Mapping[str, Ends]) -> dict[str, NDArray[np.int32]]:
        """Return rows of codes that include every combination that occurs, one array per column."""
        if not ends:
            return {}
        codes = [self.code(name, column_ends) for name, column_ends in ends.items()]
        select, parameters = _select(codes)
        found = self._duckdb.arrays(f"SELECT DISTINCT {select} FROM data WHERE {self._condition}", parameters)
        return {name: column.astype(np.int32) for name, column in zip(ends, found, strict=True)}

    def _sliced(self, before: str, after: str, parameters: Sequence[Any] = ()) -> Iterator[list[Any]]:
        """Run a query slice by slice; the next slice is fetched while one is in use."""

        def fetch(part: Slice) -> list[Any]:
            return self._duckdb.arrays(f"{before} {part.relation} {after}", [*parameters, *part.parameters])

        slices = list(self._duckdb.slices)
        with ThreadPoolExecutor(1) as ahead:
            waiting = ahead.submit(fetch, slices[0])
            for part in [*slices[1:], None]:
                fetched = waiting.result()
                if part is not None:
                    waiting = ahead.submit(fetch, part)
                yield fetched

    def select_first(self, expressions: Sequence[Sql], n_rows: int) -> list[Any]:
        """Evaluate several expressions on the first rows."""
        select, parameters = _select(expressions)
        return self._duckdb.arrays(f"SELECT {select} FROM data WHERE {self._condition} LIMIT {n_rows}", parameters)

    def select_batches(self, expressions: Sequence[Sql]) -> Iterator[list[Any]]:
        """Evaluate several expressions slice by slice."""
        select, parameters = _select(expressions)
        return self._sliced(f"SELECT {select} FROM", f"WHERE {self._condition}", parameters)

    def groups(self, expressions: Sequence[Sql], weights: Sequence[str]) -> list[Any]:
        """Return the distinct combinations of the expressions' values, and for each the sums of the weights."""
        select, parameters = _select(expressions)
        names = ", ".join(f"e{position}" for position in range(len(expressions)))
        sums = ", ".join(f"sum({weight})::BIGINT" for weight in weights)
        return self._duckdb.arrays(
            f"SELECT {names}, {sums} FROM (SELECT {select}, {self._weight} AS weight FROM data "
            f"WHERE {self._condition}) GROUP BY {names}",
            parameters,
        )

    def largest_weight(self) -> int:
        """Return the largest weight."""
        ((weight,),) = self._duckdb.rows(f"SELECT max({self._weight}) FROM data WHERE {self._condition}")
        return int(weight)

    def _whole(self, expression: Sql, dtype: type[Any]) -> NDArray[Any]:
        whole = np.empty(self.n_records, dtype)
        filled = 0
        for (part,) in self.select_batches([expression]):
            whole[filled : filled + len(part)] = part
            filled += len(part)
        return whole


def _raise(error: DataError) -> Callable[[Any], Any]:
    def scalar(value: Any) -> Any:
        raise error

    return scalar


def _canonical(data: Any) -> NDArray[Any]:
    return number(np.ma.getdata(data)).data


def _bins(value: str, uppers: Sequence[Any], first: int = 0) -> Sql:
    """Return the expression for the bin of a value, by binary search among the ascending upper values."""
    if not uppers:
        return Sql(str(first))
    middle = len(uppers) // 2
    below = _bins(value, uppers[:middle], first)
    above = _bins(value, uppers[middle + 1 :], first + middle + 1)
    text = f"CASE WHEN {value} <= ? THEN {below.text} ELSE {above.text} END"
    return Sql(text, (uppers[middle], *below.parameters, *above.parameters))


def _select(expressions: Sequence[Sql]) -> tuple[str, list[Any]]:
    text = ", ".join(f"{expression.text} AS e{position}" for position, expression in enumerate(expressions))
    return text, [parameter for expression in expressions for parameter in expression.parameters]


def _memory_mapped(folder: Path, array: NDArray[Any]) -> NDArray[Any]:
    """Move an array that is rarely read after this into a file."""
    if array.strides == (0,):
        return array
    path = folder / f"{secrets.token_hex(8)}.npy"
    np.save(path, array)
    kept: NDArray[Any] = np.load(path, mmap_mode="r")
    return kept
