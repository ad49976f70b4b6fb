"""Tables read through DuckDB, one column or some rows at a time.

User text is never interpolated into SQL: paths and values are parameters, and columns are called c0, c1, …
"""

from __future__ import annotations

import glob
import os
import shutil
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from causalrules.data.columns import (
    Column,
    Kind,
    check_names,
    coded,
    finer_than_microseconds,
    inexact_numbers,
    moments,
    number,
)
from causalrules.data.table import default_library
from causalrules.exceptions import DataError, FileError, OptionError
from causalrules.temporary import Folder
from causalrules.waiting import interruptible

T = TypeVar("T")

# Rows of a slice: whole row groups of the Parquet files that DuckDB writes.
SLICE = 8 * 122_880
# Most values and columns to fetch together: the planning time of a query grows with all columns of the table, selected
# or not.
_MOST_VALUES, _MOST_COLUMNS = 1 << 20, 10_000
_MOST_CONDITIONS = 500

_INTEGERS = {f"{sign}{size}int" for sign in ("", "u") for size in ("tiny", "small", "", "big")} | {
    "integer",
    "uinteger",
}
_MOMENTS = {
    "date": ("date", "{0} - DATE '1970-01-01'"),
    "timestamp": ("datetime", "epoch_us({0})"),
    "timestamp_s": ("datetime", "epoch_us({0}::TIMESTAMP)"),
    "timestamp_ms": ("datetime", "epoch_us({0}::TIMESTAMP)"),
    # A cast would round; truncate as everywhere else.
    "timestamp_ns": ("datetime", "epoch_ns({0}) // 1000 - (epoch_ns({0}) % 1000 < 0)::BIGINT"),
    "timestamp with time zone": ("utc", "epoch_us({0})"),
    "time": ("time", "epoch_us({0})"),
    "interval": ("duration", "epoch_us({0})"),
}


class Database:
    """A DuckDB connection, and a temporary directory that is removed with it."""

    def __init__(self, on_disk: bool = False) -> None:
        import duckdb

        self._home = Folder()
        self.folder = self._home.path
        self.connection = duckdb.connect(
            ":memory:",
            config={
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "temp_directory": str(self.folder / "spill"),
            },
        )
        # With asynchronous writes (DuckDB 2.0), an interrupted write may hang.
        with suppress(duckdb.Error):  # earlier versions lack the setting
            self.connection.execute("SET async_threads = 0")
        if on_disk:
            self.connection.execute("ATTACH ? AS store", [str(self.folder / "store.duckdb")])
        else:
            self.connection.execute("ATTACH ':memory:' AS store (COMPRESS)")
        self.connection.execute("USE store")
        weakref.finalize(self, _close, self.connection, self._home)

    def run(self, work: Callable[[], T], watch: Callable[[], None] | None = None) -> T:
        """Call DuckDB and return the result; Ctrl-C interrupts the call."""
        return interruptible(work, self.connection.interrupt, watch)

    def execute(self, query: str, parameters: Sequence[Any] = ()) -> None:
        """Run a statement without a result."""
        self.run(lambda: self.connection.execute(query, list(parameters)))

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Fetch the result of a query as tuples."""
        return self.run(lambda: self.connection.execute(query, list(parameters)).fetchall())

    def arrays(self, query: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Fetch the result of a query as arrays, one per column; masked where values are missing."""
        return self.run(lambda: list(self.connection.execute(query, list(parameters)).fetchnumpy().values()))


def _close(connection: Any, home: Folder) -> None:
    connection.close()
    home.remove()


@dataclass(frozen=True)
class Slice:
    """Some rows of `data`: the FROM clause and its parameters."""

    relation: str
    parameters: tuple[Any, ...]


class DuckDBSource:
    """Columns of the relation `data` of a database.

    Parameters
    ----------
    names, types
        Name of each column, and its type and SQL expression.
    notes
        Remarks on how the table was read.
    slices
        The rows of `data`, in parts.
    files
        Files that the database reads.
    """

    def __init__(
        self,
        database: Database,
        names: list[str],
        types: list[tuple[str, str]],
        notes: list[str],
        slices: Sequence[Slice],
        files: Sequence[Path] = (),
    ) -> None:
        self._database = database
        self.slices = slices
        self._files = files
        self._named = {name: expression for name, (_, expression) in zip(names, types, strict=True)}
        self.notes = notes
        self.library = default_library()
        self.kinds: dict[str, Kind] = {}
        self.unusable: dict[str, str] = {}
        self.n_rows = int(database.rows("SELECT count(*) FROM data")[0][0])
        self._fetch: dict[str, tuple[str, str]] = {}
        self._fetched: dict[str, Any] = {}
        self._questions: list[tuple[str, Callable[[bool], None]]] = []
        for name, (dtype, column) in zip(names, types, strict=True):
            self._classify(name, column, dtype)
        self._ask()
        # Columns are used in the order of their names.
        self._sorted = sorted(self.kinds)
        self._place = {name: place for place, name in enumerate(self._sorted)}

    def _classify(self, name: str, column: str, dtype: str) -> None:
        if dtype in _INTEGERS or dtype in ("float", "double"):
            self.kinds[name], self._fetch[name] = Kind.NUMBER, ("number", column)
        elif dtype in ("hugeint", "uhugeint") or dtype.startswith("decimal"):
            self.kinds[name], self._fetch[name] = Kind.NUMBER, ("number", f"{column}::DOUBLE")
            self._check_exact(name, column, dtype)
        elif dtype == "boolean":
            self.kinds[name], self._fetch[name] = Kind.BOOLEAN, ("boolean", f"{column}::INTEGER")
        elif dtype in ("varchar", "uuid", "enum", "null", '"null"'):
            self.kinds[name], self._fetch[name] = Kind.TEXT, ("text", f"{column}::VARCHAR")
        elif dtype in _MOMENTS:
            form, expression = _MOMENTS[dtype]
            self.kinds[name], self._fetch[name] = Kind.DATE, (form, expression.format(column))
            if dtype == "timestamp_ns":
                self._note_if(f"epoch_ns({column}) % 1000 <> 0", finer_than_microseconds(name))
        else:
            self.unusable[name] = f"holds {dtype} values, which are not scalars; split it into columns"
            self.notes.append(f"column {name!r} is left out: it {self.unusable[name]}")

    def _check_exact(self, name: str, column: str, dtype: str) -> None:
        """Fetch integers that fit into 64 bits exactly, other numbers as floats; note it where that rounds."""
        exact = f"TRY_CAST({column}::DOUBLE::VARCHAR AS {dtype}) IS NOT DISTINCT FROM {column}"
        if dtype.startswith("decimal"):
            self._note_if(f"NOT ({exact})", inexact_numbers(name))
            return
        fits = f"{column} IS NULL OR TRY_CAST({column} AS BIGINT) IS NOT NULL"

        def decide(too_large: bool) -> None:
            if not too_large:
                self._fetch[name] = "number", f"{column}::BIGINT"

        self._questions.append((f"NOT ({fits})", decide))
        # Not fetched as integers, and some number is not exact as a float.
        self._note_if(f"NOT ({exact})", inexact_numbers(name), unless=lambda: self._fetch[name][1].endswith("BIGINT"))

    def _note_if(self, condition: str, note: str, unless: Callable[[], bool] = lambda: False) -> None:
        self._questions.append((condition, lambda found: self.notes.append(note) if found and not unless() else None))

    def _ask(self) -> None:
        """Query whether any row satisfies each of the conditions, for many columns at once."""
        for start in range(0, len(self._questions), _MOST_CONDITIONS):
            asked = self._questions[start : start + _MOST_CONDITIONS]
            conditions = ", ".join(f"coalesce(bool_or({condition}), false)" for condition, _ in asked)
            (found,) = self._database.rows(f"SELECT {conditions} FROM data")
            for (_, decide), answer in zip(asked, found, strict=True):
                decide(bool(answer))
        self._questions.clear()

    @property
    def folder(self) -> Path:
        """Directory for files that live as long as the source."""
        return self._database.folder

    def fetch(self, name: str) -> tuple[str, str]:
        """Return the form of a column ('number', 'boolean', 'text' or one of `moments`) and its SQL expression."""
        return self._fetch[name]

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Fetch the result of a query as tuples, for few rows."""
        with _reading("the rows"):
            return self._database.rows(query, parameters)

    def arrays(self, query: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Fetch the result of a query as arrays, one per column; masked where values are missing."""
        with _reading("the rows"):
            return self._database.arrays(query, parameters)

    def column(self, name: str) -> Column:
        """Return the whole column, its rows in the same order on every call."""
        form, expression = self._fetch[name]
        with _reading(f"column {name!r}"):
            if name not in self._fetched:
                self._fetch_around(name)
            if name in self._fetched:
                return self._column(form, self._fetched[name])
            if form == "text":
                return self._enumerated(expression)
            (fetched,) = self._database.arrays(f"SELECT {expression} FROM data")
            return self._column(form, fetched)

    def _fetch_around(self, name: str) -> None:
        """Fetch a column of a small table together with the columns used after it."""
        import duckdb

        width = min(_MOST_COLUMNS, _MOST_VALUES // max(1, self.n_rows))
        if width < 2:
            return
        # Fixed groups of neighbours, so that reading columns in order fetches each group once.
        start = self._place[name] // width * width
        names = self._sorted[start : start + width]
        select = ", ".join(f"{self._fetch[each][1]} AS e{place}" for place, each in enumerate(names))
        try:
            self._fetched = dict(zip(names, self._database.arrays(f"SELECT {select} FROM data"), strict=True))
        except duckdb.Error:  # one of them cannot be read: fetch this one alone
            self._fetched = {}

    def _column(self, form: str, fetched: Any) -> Column:
        missing = np.ma.getmaskarray(fetched)
        values = np.ma.getdata(fetched)
        if form == "text":
            labels = sorted(set(values[~missing].tolist()))
            place = {label: code for code, label in enumerate(labels)}
            found = (-1 if hidden else place[text] for text, hidden in zip(values, missing, strict=True))
            return coded(np.fromiter(found, np.int32, len(values)), tuple(labels))
        if form == "number":
            return number(values, missing)
        if form == "boolean":
            codes = values.astype(np.int32)
            codes[missing] = -1
            return coded(codes, (False, True))
        return moments(values.astype(np.int64), missing, form)

    def _enumerated(self, expression: str) -> Column:
        # An enumeration passes each distinct string to Python once, and integers for the rows.
        distinct = f"SELECT DISTINCT {expression} AS value FROM data WHERE {expression} IS NOT NULL ORDER BY value"
        labels = tuple(value for (value,) in self._database.rows(distinct))
        if not labels:
            return coded(np.full(self.n_rows, -1, np.int32), ())
        self._database.execute(f"CREATE OR REPLACE TYPE labels AS ENUM ({distinct})")
        (fetched,) = self._database.arrays(f"SELECT enum_code(({expression})::labels) FROM data")
        self._database.execute("DROP TYPE labels")
        return coded(np.ma.filled(fetched.astype(np.int32), -1), labels)

    def select(self, query: str, time_limit: float | None = None) -> DuckDBSource:
        """Run the user's SELECT over the table `data`, whose columns have their own names; it can read nothing else."""
        import duckdb

        try:
            statements = duckdb.extract_statements(query)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise OptionError(
                    "give one SELECT over the table 'data', such as SELECT * FROM data WHERE age >= 18",
                    parameter="query",
                )
            _check_cases(list(self._named))
            return self._select(query, _limits(self.folder, time_limit))
        except duckdb.Error as error:
            raise OptionError(str(error).splitlines()[0], parameter="query") from error

    def _select(self, query: str, watch: Callable[[], None]) -> DuckDBSource:
        connection = self._database.connection
        answer = Database()
        path = answer.folder / "query.parquet"
        # Names are untrusted: they are quoted, and the quotes in them doubled.
        columns = ", ".join(
            f'{expression} AS "{name.replace(chr(34), chr(34) * 2)}"' for name, expression in self._named.items()
        )
        connection.execute("CREATE SCHEMA named")
        connection.execute(f"CREATE VIEW named.data AS SELECT {columns} FROM store.main.data")
        folders = [f"{folder.resolve()}{os.sep}" for folder in (self.folder, answer.folder)]
        connection.execute("SET allowed_directories = ?", [folders])
        # A name that could be a pattern is looked up in its literal form.
        allowed = {form for place in self._files for form in (str(place.resolve()), literal(place))}
        connection.execute("SET allowed_paths = ?", [sorted(allowed)])
        connection.execute("SET python_enable_replacements = false")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        connection.execute("USE store.named")
        relation = self._database.run(lambda: connection.sql(query), watch)
        names = [str(name) for name in relation.columns]
        check_names(names)
        self._database.run(lambda: relation.to_parquet(str(path)), watch)
        return from_parquet(answer, [path], names)


def _limits(folder: Path, time_limit: float | None) -> Callable[[], None]:
    """Return a function that raises a DataError once a query takes too long, or half of the free disk."""
    begun, free = time.monotonic(), shutil.disk_usage(folder).free

    def watch() -> None:
        if time_limit is not None and time.monotonic() - begun > time_limit:
            raise DataError("the time limit passed before its result was there; ask for less", parameter="query")
        if shutil.disk_usage(folder).free < free / 2:
            raise DataError(
                f"its result fills the disk of {str(folder.parent)!r}; ask for less, or name a larger disk in TMPDIR",
                parameter="query",
            )

    return watch


def _check_cases(names: list[str]) -> None:
    """Raise an OptionError for names that SQL takes for the same one, which DuckDB would rename silently."""
    known: dict[bytes, str] = {}
    for name in names:
        # Only ASCII letters: DuckDB distinguishes the cases of others.
        other = known.setdefault(name.encode("utf-8", "surrogatepass").lower(), name)
        if other != name:
            raise OptionError(
                f"the columns {other!r} and {name!r} differ only in case, which SQL ignores; rename one of them",
                parameter="query",
            )


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Convert DuckDB's errors."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise FileError(f"{what} cannot be read: {str(error).splitlines()[0]}") from error


def rowid_slices(n_rows: int) -> list[Slice]:
    """Split the stored table `data`."""
    part = "(SELECT * FROM data WHERE rowid >= ? AND rowid < ?)"
    return [Slice(part, (start, start + SLICE)) for start in range(0, n_rows, SLICE)]


def read_relation(relation: Any) -> DuckDBSource:
    """Evaluate a DuckDB relation once: a second evaluation may return the rows in another order."""
    names = [str(name) for name in relation.columns]
    check_names(names)
    import duckdb

    database = Database()
    path = database.folder / "relation.parquet"
    try:
        database.run(lambda: relation.to_parquet(str(path)))
        return from_parquet(database, [path], names)
    except duckdb.Error as error:
        raise DataError(f"cannot read the relation: {str(error).splitlines()[0]}") from error


def literal(place: Path) -> str:
    """Return the path in the form that DuckDB does not take for a pattern."""
    return glob.escape(str(place.resolve()))


def from_parquet(database: Database, paths: list[Path], names: list[str]) -> DuckDBSource:
    """Read Parquet files with the same columns."""
    columns = ", ".join(f"c{position}" for position in range(len(names)))
    connection = database.connection
    relation = database.run(lambda: connection.read_parquet([literal(path) for path in paths], hive_partitioning=False))
    database.run(lambda: relation.create_view("file", replace=True))
    database.execute(f"CREATE VIEW data AS SELECT * FROM file AS renamed({columns})")
    described = database.run(lambda: connection.execute("SELECT * FROM data LIMIT 0").description)
    types = [(_type_name(column[1]), f"c{position}") for position, column in enumerate(described)]
    slices = _parquet_slices(database, paths, columns, "file_row_number" in map(str.lower, names))
    return DuckDBSource(database, names, types, [], slices, paths)


def _type_name(dtype: Any) -> str:
    """Return the name of a DuckDB type, for decimals with precision and scale."""
    return str(dtype).lower() if dtype.id == "decimal" else str(dtype.id)


def _parquet_slices(database: Database, paths: list[Path], columns: str, whole_files: bool) -> list[Slice]:
    """Group small files, and split large ones by DuckDB's row number, unless a column has that name."""
    sizes = [database.rows("SELECT num_rows FROM parquet_file_metadata(?)", [literal(path)])[0][0] for path in paths]
    rows = "read_parquet(?, hive_partitioning=false)"
    slices: list[Slice] = []
    group: list[str] = []
    n_grouped = 0
    for path, size in zip(paths, sizes, strict=True):
        if size > SLICE and not whole_files:
            part = f"(SELECT * FROM {rows} WHERE file_row_number >= ? AND file_row_number < ?) AS renamed({columns})"
            starts = range(0, size, SLICE)
            slices.extend(Slice(part, ([literal(path)], start, start + SLICE)) for start in starts)
            continue
        if group and n_grouped + size > SLICE:
            slices.append(Slice(f"{rows} AS renamed({columns})", (group,)))
            group, n_grouped = [], 0
        group = [*group, literal(path)]
        n_grouped += size
    if group:
        slices.append(Slice(f"{rows} AS renamed({columns})", (group,)))
    return slices
