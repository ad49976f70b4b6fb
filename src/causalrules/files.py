"""CSV, TSV and Parquet files and DuckDB relations, behind an in-memory DuckDB that hands out one column at a time.

No text of a stranger (path, name, value) becomes SQL: paths are parameters, and columns are called c0, c1, …
"""

from __future__ import annotations

import csv
import glob
import gzip
import os
import re
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from causalrules.data import Column, Kind, _check_names, coded, default_library, moments, number, shorten
from causalrules.exceptions import DataError, OptionError

_DELIMITERS = {".csv": ",;\t|", ".tsv": "\t", ".txt": "\t,;|"}
_HEAD = 1 << 20
# What people write for "missing": pointed out when it alone keeps a column from being numbers, never guessed.
_NA_TOKENS = ("?", "NA", "N/A", "n/a", "na", "null", "NULL", "None", "none", "-", ".", "missing", "#N/A")

_INTEGERS = {f"{sign}{size}int" for sign in ("", "u") for size in ("tiny", "small", "", "big")} | {
    "integer",
    "uinteger",
}
_MOMENTS = {
    "date": ("date", "{0} - DATE '1970-01-01'"),
    "timestamp": ("datetime", "epoch_us({0})"),
    "timestamp_s": ("datetime", "epoch_us({0}::TIMESTAMP)"),
    "timestamp_ms": ("datetime", "epoch_us({0}::TIMESTAMP)"),
    "timestamp_ns": ("datetime", "epoch_us({0}::TIMESTAMP)"),
    "timestamp with time zone": ("utc", "epoch_us({0})"),
    "time": ("time", "epoch_us({0})"),
    "interval": ("duration", "epoch_us({0})"),
}


class _Database:
    """A DuckDB in memory, and a folder for what must lie on disk, removed with it."""

    def __init__(self) -> None:
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
        weakref.finalize(self, _close, self.connection, self.folder)

    def rows(self, query: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
        result: list[tuple[Any, ...]] = self.connection.execute(query, parameters or []).fetchall()
        return result


def _close(connection: Any, folder: Path) -> None:
    connection.close()
    shutil.rmtree(folder, ignore_errors=True)


class _DuckDBSource:
    """The relation `data` of a database, whose columns c0, c1, … have these names."""

    def __init__(self, database: _Database, names: list[str], notes: list[str], library: str) -> None:
        self._database = database
        self.notes = notes
        self.library = library
        self.kinds: dict[str, Kind] = {}
        self.unusable: dict[str, str] = {}
        self.n_rows = int(database.rows("SELECT count(*) FROM data")[0][0])
        self._fetch: dict[str, tuple[str, str]] = {}
        described = database.connection.execute("SELECT * FROM data LIMIT 0").description
        for position, (name, column) in enumerate(zip(names, described, strict=True)):
            self._classify(name, f"c{position}", column[1])

    def _classify(self, name: str, column: str, dtype: Any) -> None:
        kind = dtype.id
        if kind in _INTEGERS or kind in ("float", "double"):
            self.kinds[name], self._fetch[name] = Kind.NUMBER, ("number", column)
        elif kind in ("hugeint", "uhugeint", "decimal"):
            self.kinds[name], self._fetch[name] = Kind.NUMBER, ("number", self._exact(name, column, kind))
        elif kind == "boolean":
            self.kinds[name], self._fetch[name] = Kind.BOOLEAN, ("boolean", f"{column}::INTEGER")
        elif kind in ("varchar", "uuid", "enum"):
            self.kinds[name], self._fetch[name] = Kind.TEXT, ("text", f"{column}::VARCHAR")
        elif kind in _MOMENTS:
            form, expression = _MOMENTS[kind]
            self.kinds[name], self._fetch[name] = Kind.DATE, (form, expression.format(column))
            if kind == "timestamp_ns":
                self.notes.append(
                    f"column {name!r} has times in nanoseconds; they are taken to the microsecond"
                )
        elif kind == '"null"':
            self.kinds[name], self._fetch[name] = Kind.TEXT, ("text", f"{column}::VARCHAR")
        else:
            reason = f"holds {dtype} values, which are not single values; take them apart into columns"
            self.unusable[name] = reason
            self.notes.append(f"column {name!r} is left out: it {reason}")

    def _exact(self, name: str, column: str, kind: str) -> str:
        if kind != "decimal":
            lost = f"{column} IS NOT NULL AND TRY_CAST({column} AS BIGINT) IS NULL"
            if not self._database.rows(f"SELECT count(*) FROM data WHERE {lost}")[0][0]:
                return f"{column}::BIGINT"
        lost = f"TRY_CAST({column}::DOUBLE::VARCHAR AS DECIMAL(38, 18)) <> {column}"
        if self._database.rows(f"SELECT count(*) FROM data WHERE {lost}")[0][0]:
            self.notes.append(
                f"column {name!r} holds numbers that are not exact as 64-bit floats; they are rounded to them"
            )
        return f"{column}::DOUBLE"

    def column(self, name: str) -> Column:
        form, expression = self._fetch[name]
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

    def _numpy(self, query: str) -> Any:
        (array,) = self._database.connection.execute(query).fetchnumpy().values()
        return array

    def _text(self, expression: str) -> Column:
        # An enumeration gives each distinct string once to Python, and integers for the rows.
        distinct = (
            f"SELECT DISTINCT {expression} AS value FROM data WHERE {expression} IS NOT NULL ORDER BY value"
        )
        labels = tuple(value for (value,) in self._database.rows(distinct))
        if not labels:
            return coded(np.full(self.n_rows, -1, np.int32), ())
        self._database.connection.execute(f"CREATE OR REPLACE TYPE labels AS ENUM ({distinct})")
        fetched = self._numpy(f"SELECT enum_code(({expression})::labels) FROM data")
        self._database.connection.execute("DROP TYPE labels")
        return coded(np.ma.filled(fetched.astype(np.int32), -1), labels)


def read_relation(relation: Any) -> _DuckDBSource:
    """A DuckDB relation, evaluated once: a second evaluation may give the rows in another order."""
    names = [str(name) for name in relation.columns]
    _check_names(names)
    database = _Database()
    path = database.folder / "relation.parquet"
    relation.to_parquet(str(path))
    return _from_parquet(database, path, names, [])


def read_path(path: str | os.PathLike[str], na_values: tuple[str, ...]) -> _DuckDBSource:
    """A file, by the ending of its name."""
    import duckdb

    place = Path(path)
    _check_file(str(path), place)
    suffixes = [suffix.lower() for suffix in place.suffixes]
    compressed = bool(suffixes) and suffixes[-1] == ".gz"
    ending = (suffixes[:-1] if compressed else suffixes)[-1:] or [""]
    try:
        if ending[0] in _DELIMITERS:
            return _from_text(place, _DELIMITERS[ending[0]], compressed, na_values)
        if ending[0] in (".parquet", ".pq"):
            if na_values:
                raise OptionError("na_values is for text files; a Parquet file says itself what is missing")
            return _read_parquet(place, compressed)
    except (duckdb.Error, RuntimeError) as error:
        raise _explain(place, error) from error
    except (OSError, EOFError) as error:
        raise DataError(f"cannot read {str(place)!r}: {error}") from error
    raise DataError(
        f"cannot tell what {str(place)!r} is from its name; it should end in .csv, .tsv, .txt or .parquet "
        "(each also with .gz)"
    )


def _check_file(text: str, place: Path) -> None:
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", text):
        raise DataError(f"{text!r} is an address, not a file on this computer; download it first")
    try:
        if place.is_dir():
            raise DataError(f"{text!r} is a directory; name a file in it")
        if not place.exists():
            raise DataError(f"no file {text!r}; the working directory is {os.getcwd()!r}")
        if not place.is_file():
            raise DataError(f"{text!r} is not an ordinary file")
        if place.stat().st_size == 0:
            raise DataError(f"{text!r} is empty")
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{text[:200]!r} is not a usable path: {error}") from error


def _explain(place: Path, error: Exception) -> DataError:
    message = str(error)
    line = re.search(r"CSV Error on Line: (\d+)", message)
    where = f"{str(place)!r}, line {int(line[1]):,}" if line else f"{str(place)!r}"
    if "not utf-8" in message or "Invalid unicode" in message or "not valid utf" in message.lower():
        return _not_utf8(where)
    if counts := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message):
        return DataError(
            f"{where}: {counts[2]} fields where the header has {counts[1]}; mend or quote that line"
        )
    if "unterminated quote" in message:
        return DataError(f"{where}: a quote is opened and never closed; close it or double it")
    return DataError(f"cannot read {where}: {message.splitlines()[0]}")


def _not_utf8(where: str) -> DataError:
    return DataError(
        f"{where}: the text is not UTF-8 (perhaps Latin-1 or Windows-1252); save the file as UTF-8, "
        "or read it with pandas.read_csv(path, encoding='latin-1') and pass the dataframe"
    )


def _literal(place: Path) -> str:
    """The path such that DuckDB takes every character of it literally."""
    return glob.escape(str(place.resolve()))


def _read_parquet(place: Path, compressed: bool) -> _DuckDBSource:
    database = _Database()
    path = place
    if compressed:
        path = database.folder / "data.parquet"
        with gzip.open(place) as packed, path.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked)
    with path.open("rb") as file:
        if file.read(4) != b"PAR1":
            raise DataError(f"{str(place)!r} is not a Parquet file, though its name says so")
    names = _parquet_names(database, path)
    _check_names(names)
    return _from_parquet(database, path, names, [])


def _parquet_names(database: _Database, path: Path) -> list[str]:
    # The schema is a tree written depth first; the columns are the children of its root.
    nodes = database.rows("SELECT name, coalesce(num_children, 0) FROM parquet_schema(?)", [_literal(path)])
    names, position = [], 1
    while position < len(nodes):
        names.append(nodes[position][0])
        open_nodes = 1
        while open_nodes:
            open_nodes += nodes[position][1] - 1
            position += 1
    return names


def _from_parquet(database: _Database, path: Path, names: list[str], notes: list[str]) -> _DuckDBSource:
    columns = ", ".join(f"c{position}" for position in range(len(names)))
    relation = database.connection.read_parquet(_literal(path), hive_partitioning=False)
    relation.create_view("file")
    database.connection.execute(f"CREATE VIEW data AS SELECT * FROM file AS renamed({columns})")
    return _DuckDBSource(database, names, notes, default_library())


def _from_text(place: Path, delimiters: str, compressed: bool, na_values: tuple[str, ...]) -> _DuckDBSource:
    names, delimiter = _header(place, delimiters, compressed)
    database = _Database()
    columns = ", ".join(f"'c{position}': 'VARCHAR'" for position in range(len(names)))
    # The dialect is fixed: DuckDB's own detection may skip lines, take '#' for comments and guess date formats.
    source = (
        f"read_csv(?, auto_detect=false, columns={{{columns}}}, header=true, delim=?, quote='\"', escape='\"', "
        "comment='', nullstr=?, compression=?, hive_partitioning=false, strict_mode=true, null_padding=false)"
    )
    parameters = [_literal(place), delimiter, ["", *na_values], "gzip" if compressed else "none"]
    notes: list[str] = []
    types = _detect(database, source, parameters, names, notes)
    casts = ", ".join(f"c{position}::{dtype} AS c{position}" for position, dtype in enumerate(types))
    database.connection.execute(f"CREATE TABLE data AS SELECT {casts} FROM {source}", parameters)
    if not database.rows("SELECT count(*) FROM data")[0][0]:
        raise DataError(f"{str(place)!r} has a header and no rows")
    return _DuckDBSource(database, names, notes, default_library())


def _header(place: Path, delimiters: str, compressed: bool) -> tuple[list[str], str]:
    with gzip.open(place) if compressed else place.open("rb") as file:
        head = file.read(_HEAD)
    if not head.strip():
        raise DataError(f"{str(place)!r} is empty")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{str(place)!r} is UTF-16; save it as UTF-8")
    if b"\0" in head:
        raise DataError(f"{str(place)!r} is not a text file: it holds zero bytes")
    try:
        start = head.decode("utf-8-sig", errors="strict" if len(head) < _HEAD else "ignore")
    except UnicodeDecodeError as error:
        line = head.count(b"\n", 0, error.start) + 1
        raise _not_utf8(f"{str(place)!r}, line {line:,}") from error
    first_line = re.sub(r'"[^"]*"', "", start.splitlines()[0])
    delimiter = max(delimiters, key=first_line.count)
    try:
        names = next(csv.reader(start.splitlines(keepends=True), delimiter=delimiter))
    except csv.Error as error:
        raise DataError(f"{str(place)!r}, line 1: cannot read the header: {error}") from error
    if blank := [position + 1 for position, name in enumerate(names) if not name.strip()]:
        raise DataError(f"{str(place)!r}: the header gives no name to column {shorten(blank)}")
    _check_names(names)
    return names, delimiter


def _detect(
    database: _Database, source: str, parameters: list[Any], names: list[str], notes: list[str]
) -> list[str]:
    """The type of each column, from all of its values."""
    counts = database.rows(
        "SELECT "
        + ", ".join(
            f"count(c{i}), count(TRY_CAST(c{i} AS DOUBLE)), count(TRY_CAST(c{i} AS BIGINT)), "
            f"coalesce(bool_or(TRY_CAST(c{i} AS DOUBLE) <> TRY_CAST(c{i} AS BIGINT)), false), "
            f"coalesce(bool_or(c{i} >= '00' AND c{i} < '0:'), false), coalesce(bool_or(contains(c{i}, '_')), false)"
            for i in range(len(names))
        )
        + f" FROM {source}",
        parameters,
    )[0]
    types = []
    for position, name in enumerate(names):
        present, numbers, integers, fractions, zeros, underscores = counts[6 * position : 6 * position + 6]
        if present == 0 or numbers < present or underscores:
            types.append("VARCHAR")
        elif zeros:
            types.append("VARCHAR")
            notes.append(
                f"column {name!r} is kept as text: some of its numbers begin with a zero, as codes do"
            )
        else:
            types.append("BIGINT" if integers == present and not fractions else "DOUBLE")
    undecided = [
        position for position, dtype in enumerate(types) if dtype == "VARCHAR" and counts[6 * position] > 0
    ]
    for position in undecided:
        types[position] = _detect_words(
            database, source, parameters, position, names[position], counts[6 * position + 1], notes
        )
    return types


def _detect_words(
    database: _Database,
    source: str,
    parameters: list[Any],
    position: int,
    name: str,
    numbers: int,
    notes: list[str],
) -> str:
    day = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
    clock = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
    column = f"c{position}"
    tokens = ", ".join(f"'{token}'" for token in _NA_TOKENS)
    present, booleans, dates, timestamps, times, words, token, n_tokens = database.rows(
        f"SELECT count({column}), count(*) FILTER ({column} IN ('true', 'false', 'True', 'False', 'TRUE', 'FALSE')), "
        f"count(CASE WHEN regexp_full_match({column}, '{day}') THEN TRY_CAST({column} AS DATE) END), "
        f"count(CASE WHEN regexp_full_match({column}, '{day}([ T]{clock})?') THEN TRY_CAST({column} AS TIMESTAMP) END), "
        f"count(CASE WHEN regexp_full_match({column}, '{clock}') THEN TRY_CAST({column} AS TIME) END), "
        f"count(*) FILTER (TRY_CAST({column} AS DOUBLE) IS NULL AND {column} IS NOT NULL "
        f"AND {column} NOT IN ({tokens})), "
        f"min({column}) FILTER ({column} IN ({tokens})), count(*) FILTER ({column} IN ({tokens})) FROM {source}",
        parameters,
    )[0]
    for dtype, matching in (
        ("BOOLEAN", booleans),
        ("DATE", dates),
        ("TIMESTAMP", timestamps),
        ("TIME", times),
    ):
        if matching == present:
            return dtype
    if numbers and n_tokens and not words:
        notes.append(
            f"column {name!r} is text because of {n_tokens:,} value{'s' * (n_tokens > 1)} such as {token!r}; "
            f"if that means missing, read the file with na_values=({token!r},)"
        )
    return "VARCHAR"
