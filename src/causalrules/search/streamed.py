"""Tables larger than memory: DuckDB reads the rows slice by slice, and what is kept of them is their bits.

Values, quantiles and codes are computed where the rows are; the answers are those of a table in memory.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules.data.files import SLICE, DuckDBSource, Slice
from causalrules.data.table import (
    MOST_ROWS,
    Ends,
    Histogram,
    Kind,
    Values,
    coded,
    infinite_values,
    moments,
    no_numbers_as_weights,
    not_weights,
    number,
    too_many_rows,
)
from causalrules.exceptions import DataError
from causalrules.language.propositions import Language, Strata
from causalrules.search import merging
from causalrules.search.core import Batch, PackedTable
from causalrules.search.rows import StoredRows, StoredTable, require_memory, runs

# A column with more different values in its first slice is sorted; grouping is faster for the others.
_GROUPED = 100_000
_MOST_TEXTS = 1_000_000


@dataclass(frozen=True)
class _Sql:
    """An expression and its parameters."""

    text: str
    parameters: tuple[Any, ...] = ()


@dataclass(frozen=True)
class _Observed:
    """The rows whose target is present, and how often each counts."""

    target: str
    weights: str | None
    condition: str
    weight: str
    n_records: int
    n_rows: int
    n_dropped: int


class StreamedTable(StoredTable):
    """A table whose rows stay in their files."""

    def __init__(self, source: DuckDBSource, observed: _Observed | None = None) -> None:
        super().__init__(source)
        self._duckdb = source
        self._observed = observed
        self._labelled: dict[str, str] = {}
        self._expressions: dict[str, str] = {}
        self._tables: dict[tuple[str, str | None], StreamedTable] = {}
        if observed is not None:
            self._tables[observed.target, observed.weights] = self
            self.n_records, self.n_rows, self.n_dropped = observed.n_records, observed.n_rows, observed.n_dropped

    @property
    def weights_array(self) -> NDArray[np.int64] | None:
        """How often each stored row counts, or None when each counts once."""
        if self._observed is None or self._observed.weights is None:
            return None
        (weights,) = self._whole([_Sql(self._weight)], [np.dtype(np.int64)])
        return weights

    @property
    def _condition(self) -> str:
        return "true" if self._observed is None else self._observed.condition

    @property
    def _weight(self) -> str:
        return "1" if self._observed is None else self._observed.weight

    def observed(self, target: str, weights: str | None = None) -> StreamedTable:
        """The rows whose target is present; with `weights`, each counted as often as that column says."""
        self.require(target)
        if (target, weights) in self._tables:
            return self._tables[target, weights]
        weight, condition = "1", f"{self._value(target)} IS NOT NULL"
        if weights is not None:
            self._check_weights(weights)
            weight = f"({self._value(weights)})::BIGINT"
            condition += f" AND {weight} > 0"
        ((n_records, n_rows, n_all),) = self._duckdb.rows(
            f"SELECT count(*) FILTER ({condition}), coalesce(sum({weight}) FILTER ({condition}), 0), "
            f"coalesce(sum({weight}), 0) FROM data"
        )
        if n_all > MOST_ROWS:
            raise DataError(too_many_rows(str(weights)))
        observed = _Observed(target, weights, condition, weight, n_records, int(n_rows), int(n_all - n_rows))
        # Kept with its histograms, for which the files were read.
        self._tables[target, weights] = StreamedTable(self._duckdb, observed)
        return self._tables[target, weights]

    def _check_weights(self, name: str) -> None:
        self.require(name)
        if self.kinds[name] is not Kind.NUMBER:
            raise DataError(no_numbers_as_weights(name, self.kinds[name]))
        value = self._value(name)
        bad = f"{value} IS NULL OR {value} < 0 OR {value} <> floor({value}) OR {value} > {MOST_ROWS}"
        ((n_bad,),) = self._duckdb.rows(f"SELECT count(*) FILTER ({bad}) FROM data")
        if n_bad:
            row, found = self._first(value, bad)
            raise DataError(not_weights(name, n_bad, row, found))

    def _first(self, value: str, condition: str) -> tuple[int, Any]:
        """The number of the first row that satisfies the condition, and its value."""
        numbered = f"SELECT {value} AS value, {condition} AS chosen, row_number() OVER () AS place FROM data"
        ((place, found),) = self._duckdb.rows(
            f"SELECT place, value FROM ({numbered}) WHERE chosen ORDER BY place LIMIT 1"
        )
        return place, found

    def _value(self, name: str) -> str:
        """The expression for a column's values, null where they are missing."""
        if name not in self._expressions:
            form, expression = self._duckdb.fetch(name)
            if form == "number" and self._is_float(expression):
                # Not nullif(…, 'nan'): a comparison is answered from the file's statistics, which leave NaN out.
                expression = f"(CASE WHEN isnan({expression}) THEN NULL ELSE ({expression})::DOUBLE END)"
            self._expressions[name] = expression
        return self._expressions[name]

    def _is_float(self, expression: str) -> bool:
        (column,) = self._duckdb.arrays(f"SELECT {expression} FROM data LIMIT 0")
        return bool(column.dtype.kind == "f")

    def histogram(self, name: str) -> Histogram:
        """The distinct values of a column, with the number of rows of each and of the missing ones."""
        if name not in self._histograms:
            self.require(name)
            is_text = self._duckdb.fetch(name)[0] == "text"
            self._histograms[name] = self._texts(name) if is_text else self._quantities(name)
        return self._histograms[name]

    def _texts(self, name: str) -> Histogram:
        groups = (
            f"SELECT {self._value(name)} AS value, sum({self._weight}) AS n FROM data "
            f"WHERE {self._condition} AND {self._value(name)} IS NOT NULL GROUP BY value"
        )
        ((n_values, n_present, most),) = self._duckdb.rows(
            f"SELECT count(*), coalesce(sum(n), 0), coalesce(max(n), 0) FROM ({groups})"
        )
        n_missing = self.n_rows - int(n_present)
        if n_values > _MOST_TEXTS:
            fault = DataError(
                f"column {name!r} has {n_values:,} different texts, too many to put a condition on each; "
                "group them, or leave the column out by naming the actionable ones"
            )
            if most > 1:
                raise fault
            # An identifier, which is left out: only how many there are is asked for.
            one = np.broadcast_to(np.int64(1), n_values)
            return Histogram(Values(one, _raise(fault)), one, n_missing)
        found = self._duckdb.rows(f"{groups} ORDER BY value")
        labels = tuple(value for value, _ in found)
        counts = np.array([n for _, n in found], np.int64)
        return Histogram(Values(np.arange(n_values, dtype=np.int32), labels.__getitem__), counts, n_missing)

    def _quantities(self, name: str) -> Histogram:
        value = self._value(name)
        present = f"{self._condition} AND {value} IS NOT NULL"
        first = self._duckdb.slices[0]
        ((n_first,),) = self._duckdb.rows(
            f"SELECT count(DISTINCT {value}) FROM {first.relation} WHERE {present}", first.parameters
        )
        if n_first > _GROUPED and self._weight == "1":
            distinct, counts = self._sorted(name, value, present)
        else:
            data, n = self._duckdb.arrays(
                f"SELECT {value}, sum({self._weight})::BIGINT FROM data WHERE {present} GROUP BY ALL"
            )
            distinct, place = np.unique(_canonical(data), return_inverse=True)
            counts = np.zeros(len(distinct), np.int64)
            np.add.at(counts, place, n)
        if distinct.dtype.kind == "f" and len(distinct) and not np.isfinite(distinct[[0, -1]]).all():
            ((n_infinite,),) = self._duckdb.rows(f"SELECT count(*) FILTER (isinf({value})) FROM data")
            raise DataError(infinite_values(name, n_infinite, self._first(value, f"isinf({value})")[0]))
        return Histogram(Values(distinct, self._scalar(name, distinct)), counts, self.n_rows - int(counts.sum()))

    def _sorted(self, name: str, value: str, present: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The values of one column, sorted in place: the only time that a whole column is in memory."""
        ((n_present,),) = self._duckdb.rows(f"SELECT count(*) FROM data WHERE {present}")
        data: NDArray[Any] | None = None
        filled = 0
        for (part,) in self._sliced(f"SELECT {value} FROM", f"WHERE {present}"):
            part = _canonical(part)
            data = np.empty(n_present, part.dtype) if data is None else data
            data[filled : filled + len(part)] = part
            filled += len(part)
        if data is None or filled != n_present:
            raise DataError(f"column {name!r} changed while it was read; read it from a file that nobody writes")
        data.sort()
        last = np.flatnonzero(np.append(data[1:] != data[:-1], True))
        if len(last) == len(data):
            counts: NDArray[np.int64] = np.broadcast_to(np.int64(1), len(data))
        else:
            data = data[last]
            counts = np.diff(last, prepend=-1)
        if len(data) <= self._KEPT_VALUES:
            return data, counts
        return _put_aside(self._duckdb.folder, data), _put_aside(self._duckdb.folder, counts)

    def _scalar(self, name: str, distinct: NDArray[Any]) -> Any:
        form = self._duckdb.fetch(name)[0]
        nothing = np.zeros(0, np.bool_)
        if form == "number":
            return number(distinct[:0]).scalar
        if form == "boolean":
            return coded(np.zeros(0, np.int32), (False, True)).scalar
        return moments(distinct[:0], nothing, form).scalar

    def codes(self, name: str, ends: Ends) -> NDArray[np.int32]:
        """The bin of each row: `ends` are the positions, in the histogram, of each bin's last value."""
        (codes,) = self._whole([self.code(name, ends)], [np.dtype(np.int32)])
        return codes

    def code(self, name: str, ends: Ends) -> _Sql:
        """The expression for the bin of each row, −1 where the value is missing."""
        values = self.histogram(name).values
        value = self._value(name)
        if self._duckdb.fetch(name)[0] == "text":
            value = f"enum_code(({value})::{self._labels(name)})"
            if len(ends) == len(values):
                return _Sql(f"coalesce({value}::INTEGER, -1)::{_integer(len(ends))}")
        uppers = [values.sortable[end].item() for end in ends[:-1].tolist()]
        kind = _integer(len(ends))
        bins = " + ".join(f"({value} > ?)::{kind}" for _ in uppers) or "0"
        text = f"(CASE WHEN {value} IS NULL THEN -1 ELSE {bins} END)::{kind}"
        return _Sql(text, tuple(uppers))

    def _labels(self, name: str) -> str:
        """An enumeration of the column's texts, in their order: each string is looked up once where it is stored."""
        if name not in self._labelled:
            labels = list(self.histogram(name).values)
            enumeration = f"labels_{len(self._labelled)}"
            self._duckdb.rows("CREATE OR REPLACE TABLE labels AS SELECT unnest(?::VARCHAR[]) AS value", [labels])
            self._duckdb.rows(f"DROP TYPE IF EXISTS {enumeration}")
            self._duckdb.rows(f"CREATE TYPE {enumeration} AS ENUM (SELECT value FROM labels)")
            self._labelled[name] = enumeration
        return self._labelled[name]

    def combinations(self, ends: Mapping[str, Ends]) -> dict[str, NDArray[np.int32]]:
        """Rows of codes, one array for each column, among which is every combination that occurs."""
        if not ends:
            return {}
        codes = [self.code(name, column_ends) for name, column_ends in ends.items()]
        select, parameters = _select(codes)
        found = self._duckdb.arrays(f"SELECT DISTINCT {select} FROM data WHERE {self._condition}", parameters)
        return {name: column.astype(np.int32) for name, column in zip(ends, found, strict=True)}

    def _sliced(self, before: str, after: str, parameters: Sequence[Any] = ()) -> Iterator[list[Any]]:
        """The result of a query for one slice after the other; the next is fetched while one is in use."""

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

    def select_batches(self, expressions: Sequence[_Sql]) -> Iterator[list[Any]]:
        """The values of several expressions, slice by slice."""
        select, parameters = _select(expressions)
        return self._sliced(f"SELECT {select} FROM", f"WHERE {self._condition}", parameters)

    def groups(self, expressions: Sequence[_Sql], weights: Sequence[str]) -> list[Any]:
        """The combinations of the expressions' values and, for each, the sums of the weights."""
        select, parameters = _select(expressions)
        names = ", ".join(f"e{position}" for position in range(len(expressions)))
        sums = ", ".join(f"sum({weight})::BIGINT" for weight in weights)
        return self._duckdb.arrays(
            f"SELECT {names}, {sums} FROM (SELECT {select}, {self._weight} AS weight FROM data "
            f"WHERE {self._condition}) GROUP BY {names}",
            parameters,
        )

    def stored(self, language: Language, strata: Strata, satisfied: NDArray[np.bool_]) -> StoredRows | Batch:
        """The rows as they will be searched: still in their files, or as arrays if few of them differ."""
        if self._observed is None:
            raise ValueError("only rows whose target was observed can be searched")
        ends = runs(satisfied)
        expressions = [
            *(self.code(name, strata.ends[name]) for name in strata.columns),
            self.code(self._observed.target, ends),
            _Sql(self._weight),
            *(self.code(name, language.ends[name]) for name in language.columns),
        ]
        rows = StreamedRows(self, language, strata, satisfied[ends], expressions, self._observed.weights is not None)
        if merging.pays(rows.sample()):
            return rows.merged()
        return rows

    def largest_weight(self) -> int:
        """How often the row counts that counts most."""
        ((weight,),) = self._duckdb.rows(f"SELECT max({self._weight}) FROM data WHERE {self._condition}")
        return int(weight)

    def _whole(self, expressions: Sequence[_Sql], dtypes: Sequence[np.dtype[Any]]) -> list[NDArray[Any]]:
        whole = [np.empty(self.n_records, dtype) for dtype in dtypes]
        filled = 0
        for part in self.select_batches(expressions):
            for array, piece in zip(whole, part, strict=True):
                array[filled : filled + len(piece)] = piece
            filled += len(part[0])
        return whole


@dataclass(frozen=True, eq=False)
class StreamedRows:
    """The coded rows of a table in files: controls, target, weight, then the columns of the language."""

    table: StreamedTable
    language: Language
    strata: Strata
    happens: NDArray[np.bool_]
    expressions: Sequence[_Sql]
    weighted: bool

    def _batch(self, arrays: Sequence[Any]) -> Batch:
        n_controls = len(self.strata.columns)
        controls = dict(zip(self.strata.columns, arrays[:n_controls], strict=True))
        outcome = self.happens[arrays[n_controls]].astype(np.uint8)
        return Batch(
            self.strata.index(controls) if controls else np.zeros(len(outcome), np.int32),
            outcome,
            arrays[n_controls + 1].astype(np.uint64) if self.weighted else None,
            list(arrays[n_controls + 2 :]),
        )

    def batches(self) -> Iterator[Batch]:
        """The rows, slice by slice."""
        return map(self._batch, self.table.select_batches(self.expressions))

    def sample(self) -> Batch:
        """The first slice that has rows."""
        for batch in self.batches():
            if len(batch.strata):
                break
        return batch

    def merged(self) -> Batch:
        """Each combination of codes once, with the number of its rows as weight."""
        n_controls = len(self.strata.columns)
        different = [*self.expressions[: n_controls + 1], *self.expressions[n_controls + 2 :]]
        *codes, weights = self.table.groups(different, ["weight"])
        batch = self._batch([*codes[: n_controls + 1], weights, *codes[n_controls + 1 :]])
        return Batch(batch.strata, batch.outcomes, weights.astype(np.uint64), batch.columns)

    def fetch(self) -> Batch:
        """All rows, as arrays."""
        batches = list(self.batches())
        weights = [batch.weights for batch in batches if batch.weights is not None]
        columns = zip(*(batch.columns for batch in batches), strict=True)
        return Batch(
            np.concatenate([batch.strata for batch in batches]),
            np.concatenate([batch.outcomes for batch in batches]),
            np.concatenate(weights) if self.weighted else None,
            [np.concatenate(parts) for parts in columns],
        )

    def pack(self) -> PackedTable:
        """The rows as bits: how many there are of each kind is counted first, then each slice is packed."""
        n_controls = len(self.strata.columns)
        kinds = self.expressions[: n_controls + 1]
        weight_bits = 1
        if self.weighted:
            weight_bits = self.table.largest_weight().bit_length()
        bits = [f"(weight >> {bit}) & 1" for bit in range(weight_bits)] if self.weighted else ["1"]
        found = self.table.groups(kinds, bits)
        codes, counts = found[: n_controls + 1], found[n_controls + 1 :]
        batch = self._batch([*codes, np.zeros(len(codes[0]), np.int64)])
        require_memory(int(sum(count.sum() for count in counts)), self.language)
        return PackedTable(
            self.language.column_index,
            self.language.low,
            self.language.high,
            len(self.language.columns),
            self.strata.n_strata,
            self.batches(),
            max_weight=(1 << weight_bits) - 1,
            sizes=self._sizes(batch, counts),
        )

    def _sizes(self, kinds: Batch, counts: Sequence[NDArray[np.int64]]) -> Iterator[Batch]:
        for bit, count in enumerate(counts):
            each = zip(kinds.strata.tolist(), kinds.outcomes.tolist(), count.tolist(), strict=True)
            for stratum, outcome, n_rows in each:
                for start in range(0, n_rows, SLICE):
                    size = min(SLICE, n_rows - start)
                    weights = np.full(size, 1 << bit, np.uint64) if self.weighted else None
                    yield Batch(np.full(size, stratum, np.int32), np.full(size, outcome, np.uint8), weights, [])

    def digest(self) -> int:
        """A number that other rows would hardly have; the order of the rows does not matter."""
        return merging.digest(self.batches())


def _raise(error: DataError) -> Callable[[Any], Any]:
    def scalar(value: Any) -> Any:
        raise error

    return scalar


def _canonical(data: Any) -> NDArray[Any]:
    return number(np.ma.getdata(data)).data


def _integer(n_codes: int) -> str:
    return "TINYINT" if n_codes < 2**7 else "SMALLINT" if n_codes < 2**15 else "INTEGER"


def _select(expressions: Sequence[_Sql]) -> tuple[str, list[Any]]:
    text = ", ".join(f"{expression.text} AS e{position}" for position, expression in enumerate(expressions))
    return text, [parameter for expression in expressions for parameter in expression.parameters]


def _put_aside(folder: Path, array: NDArray[Any]) -> NDArray[Any]:
    """The array in a file: it is looked at in a few places only from now on."""
    if array.strides == (0,):
        return array
    path = folder / f"{secrets.token_hex(8)}.npy"
    np.save(path, array)
    kept: NDArray[Any] = np.load(path, mmap_mode="r")
    return kept
