"""Tables behind DuckDB, which hands out one column or some rows at a time.

User text is never interpolated into SQL: paths and values are parameters, and columns are called c0, c1, …
"""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

# Rows of a slice: whole row groups of the Parquet files that DuckDB writes.
SLICE = 8 * 122_880

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

        self.folder = Path(tempfile.mkdtemp(prefix="causalrules-"))
        self.connection = duckdb.connect(
            ":memory:",
            config={
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "temp_directory": str(self.folder / "spill"),
            },
        )
        if on_disk:
            self.connection.execute("ATTACH ? AS store", [str(self.folder / "store.duckdb")])
        else:
            self.connection.execute("ATTACH ':memory:' AS store (COMPRESS)")
        self.connection.execute("USE store")
        weakref.finalize(self, _close, self.connection, self.folder)

    def rows(self, query: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """Fetch the result of a query as tuples."""
        result: list[tuple[Any, ...]] = self.connection.execute(query, parameters or []).fetchall()
        return result


def _close(connection: Any, folder: Path) -> None:
    connection.close()
    shutil.rmtree(folder, ignore_errors=True)


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
        for name, (dtype, column) in zip(names, types, strict=True):
            self._classify(name, column, dtype)

    def _classify(self, name: str, column: str, dtype: str) -> None:
        if dtype in _INTEGERS or dtype in ("float", "double"):
            self.kinds[name], self._fetch[name] = Kind.NUMBER, ("number", column)
        elif dtype in ("hugeint", "uhugeint", "decimal"):
            self.kinds[name], self._fetch[name] = Kind.NUMBER, ("number", self._exact(name, column, dtype))
        elif dtype == "boolean":
            self.kinds[name], self._fetch[name] = Kind.BOOLEAN, ("boolean", f"{column}::INTEGER")
        elif dtype in ("varchar", "uuid", "enum", "null", '"null"'):
            self.kinds[name], self._fetch[name] = Kind.TEXT, ("text", f"{column}::VARCHAR")
        elif dtype in _MOMENTS:
            form, expression = _MOMENTS[dtype]
            self.kinds[name], self._fetch[name] = Kind.DATE, (form, expression.format(column))
            if dtype == "timestamp_ns" and self._any(f"epoch_ns({column}) % 1000 <> 0"):
                self.notes.append(finer_than_microseconds(name))
        else:
            self.unusable[name] = f"holds {dtype} values, which are not scalars; split it into columns"
            self.notes.append(f"column {name!r} is left out: it {self.unusable[name]}")

    def _exact(self, name: str, column: str, dtype: str) -> str:
        if dtype != "decimal":
            lost = f"{column} IS NOT NULL AND TRY_CAST({column} AS BIGINT) IS NULL"
            if not self._any(lost):
                return f"{column}::BIGINT"
        if self._any(f"TRY_CAST({column}::DOUBLE::VARCHAR AS DECIMAL(38, 18)) <> {column}"):
            self.notes.append(inexact_numbers(name))
        return f"{column}::DOUBLE"

    def _any(self, condition: str) -> bool:
        return bool(self._database.rows(f"SELECT count(*) FROM data WHERE {condition}")[0][0])

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
            return self._database.rows(query, list(parameters))

    def arrays(self, query: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Fetch the result of a query as arrays, one per column; masked where values are missing."""
        with _reading("the rows"):
            return list(self._database.connection.execute(query, list(parameters)).fetchnumpy().values())

    def column(self, name: str) -> Column:
        """Return the whole column, its rows in the same order on every call."""
        with _reading(f"column {name!r}"):
            return self._column(*self._fetch[name])

    def _column(self, form: str, expression: str) -> Column:
        if form == "text":
            return self._text(expression)
        fetched = self._numpy(f"SELECT {expression} FROM data")
        missing = np.ma.getmaskarray(fetched)
        values = np.ma.getdata(fetched)
        if form == "number":
            return number(values, missing)
        if form == "boolean":
            codes = values.astype(np.int32)
            codes[missing] = -1
            return coded(codes, (False, True))
        return moments(values.astype(np.int64), missing, form)

    def _text(self, expression: str) -> Column:
        # An enumeration passes each distinct string to Python once, and integers for the rows.
        distinct = f"SELECT DISTINCT {expression} AS value FROM data WHERE {expression} IS NOT NULL ORDER BY value"
        labels = tuple(value for (value,) in self._database.rows(distinct))
        if not labels:
            return coded(np.full(self.n_rows, -1, np.int32), ())
        self._database.connection.execute(f"CREATE OR REPLACE TYPE labels AS ENUM ({distinct})")
        fetched = self._numpy(f"SELECT enum_code(({expression})::labels) FROM data")
        self._database.connection.execute("DROP TYPE labels")
        return coded(np.ma.filled(fetched.astype(np.int32), -1), labels)

    def _numpy(self, query: str) -> Any:
        (array,) = self._database.connection.execute(query).fetchnumpy().values()
        return array

    def select(self, query: str) -> DuckDBSource:
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
            return self._select(query)
        except duckdb.Error as error:
            raise OptionError(str(error).splitlines()[0], parameter="query") from error

    def _select(self, query: str) -> DuckDBSource:
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
        connection.execute("SET allowed_paths = ?", [[str(place.resolve()) for place in self._files]])
        connection.execute("SET python_enable_replacements = false")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        connection.execute("USE store.named")
        relation = connection.sql(query)
        names = [str(name) for name in relation.columns]
        check_names(names)
        relation.to_parquet(str(path))
        return from_parquet(answer, [path], names)


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
        relation.to_parquet(str(path))
        return from_parquet(database, [path], names)
    except duckdb.Error as error:
        raise DataError(f"cannot read the relation: {str(error).splitlines()[0]}") from error


def literal(place: Path) -> str:
    """Return the path in the form that DuckDB does not take for a pattern."""
    return glob.escape(str(place.resolve()))


def from_parquet(database: Database, paths: list[Path], names: list[str]) -> DuckDBSource:
    """Read Parquet files with the same columns."""
    columns = ", ".join(f"c{position}" for position in range(len(names)))
    relation = database.connection.read_parquet([literal(path) for path in paths], hive_partitioning=False)
    relation.create_view("file", replace=True)
    database.connection.execute(f"CREATE VIEW data AS SELECT * FROM file AS renamed({columns})")
    described = database.connection.execute("SELECT * FROM data LIMIT 0").description
    types = [(column[1].id, f"c{position}") for position, column in enumerate(described)]
    slices = _parquet_slices(database, paths, columns, "file_row_number" in map(str.lower, names))
    return DuckDBSource(database, names, types, [], slices, paths)


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
