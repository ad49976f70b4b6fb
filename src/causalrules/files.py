"""CSV, TSV and Parquet files and DuckDB relations, behind a DuckDB that hands out one column at a time.

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

from causalrules.data import (
    Column,
    Kind,
    check_names,
    coded,
    default_library,
    finer_than_microseconds,
    moments,
    number,
    shorten,
)
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
        self.connection.execute("ATTACH ':memory:' AS store (COMPRESS)")
        self.connection.execute("USE store")
        weakref.finalize(self, _close, self.connection, self.folder)

    def rows(self, query: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
        result: list[tuple[Any, ...]] = self.connection.execute(query, parameters or []).fetchall()
        return result


def _close(connection: Any, folder: Path) -> None:
    connection.close()
    shutil.rmtree(folder, ignore_errors=True)


class _DuckDBSource:
    """The relation `data` of a database, whose columns c0, c1, … have these names."""

    def __init__(self, database: _Database, names: list[str], types: list[tuple[str, str]], notes: list[str]) -> None:
        self._database = database
        self.notes = notes
        self.library = default_library()
        self.kinds: dict[str, Kind] = {}
        self.unusable: dict[str, str] = {}
        self.n_rows = int(database.rows("SELECT count(*) FROM data")[0][0])
        self._fetch: dict[str, tuple[str, str]] = {}
        for name, (kind, column) in zip(names, types, strict=True):
            self._classify(name, column, kind)

    def _classify(self, name: str, column: str, kind: str) -> None:
        if kind in _INTEGERS or kind in ("float", "double"):
            self.kinds[name], self._fetch[name] = Kind.NUMBER, ("number", column)
        elif kind in ("hugeint", "uhugeint", "decimal"):
            self.kinds[name], self._fetch[name] = Kind.NUMBER, ("number", self._exact(name, column, kind))
        elif kind == "boolean":
            self.kinds[name], self._fetch[name] = Kind.BOOLEAN, ("boolean", f"{column}::INTEGER")
        elif kind in ("varchar", "uuid", "enum", "null", '"null"'):
            self.kinds[name], self._fetch[name] = Kind.TEXT, ("text", f"{column}::VARCHAR")
        elif kind in _MOMENTS:
            form, expression = _MOMENTS[kind]
            self.kinds[name], self._fetch[name] = Kind.DATE, (form, expression.format(column))
            if kind == "timestamp_ns" and self._any(f"epoch_ns({column}) % 1000 <> 0"):
                self.notes.append(finer_than_microseconds(name))
        else:
            reason = f"holds {kind} values, which are not single values; take them apart into columns"
            self.unusable[name] = reason
            self.notes.append(f"column {name!r} is left out: it {reason}")

    def _exact(self, name: str, column: str, kind: str) -> str:
        if kind != "decimal":
            lost = f"{column} IS NOT NULL AND TRY_CAST({column} AS BIGINT) IS NULL"
            if not self._any(lost):
                return f"{column}::BIGINT"
        lost = f"TRY_CAST({column}::DOUBLE::VARCHAR AS DECIMAL(38, 18)) <> {column}"
        if self._any(lost):
            self.notes.append(
                f"column {name!r} holds numbers that are not exact as 64-bit floats; they are rounded to them"
            )
        return f"{column}::DOUBLE"

    def _any(self, condition: str) -> bool:
        return bool(self._database.rows(f"SELECT count(*) FROM data WHERE {condition}")[0][0])

    def column(self, name: str) -> Column:
        import duckdb

        try:
            return self._column(*self._fetch[name])
        except duckdb.Error as error:
            raise DataError(f"column {name!r} cannot be read: {str(error).splitlines()[0]}") from error

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

    def _numpy(self, query: str) -> Any:
        (array,) = self._database.connection.execute(query).fetchnumpy().values()
        return array

    def _text(self, expression: str) -> Column:
        # An enumeration gives each distinct string once to Python, and integers for the rows.
        distinct = f"SELECT DISTINCT {expression} AS value FROM data WHERE {expression} IS NOT NULL ORDER BY value"
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
    check_names(names)
    import duckdb

    database = _Database()
    path = database.folder / "relation.parquet"
    try:
        relation.to_parquet(str(path))
        return _from_parquet(database, path, names)
    except duckdb.Error as error:
        raise DataError(f"cannot read the relation: {str(error).splitlines()[0]}") from error


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
        return DataError(f"{where}: {counts[2]} fields where the header has {counts[1]}; mend or quote that line")
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
    check_names(names)
    return _from_parquet(database, path, names)


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


def _from_parquet(database: _Database, path: Path, names: list[str]) -> _DuckDBSource:
    columns = ", ".join(f"c{position}" for position in range(len(names)))
    relation = database.connection.read_parquet(_literal(path), hive_partitioning=False)
    relation.create_view("file")
    database.connection.execute(f"CREATE VIEW data AS SELECT * FROM file AS renamed({columns})")
    described = database.connection.execute("SELECT * FROM data LIMIT 0").description
    types = [(column[1].id, f"c{position}") for position, column in enumerate(described)]
    return _DuckDBSource(database, names, types, [])


def _from_text(place: Path, delimiters: str, compressed: bool, na_values: tuple[str, ...]) -> _DuckDBSource:
    names, delimiter = _header(place, delimiters, compressed)
    database = _Database()
    columns = ", ".join(f"'c{position}': 'VARCHAR'" for position in range(len(names)))
    # The dialect is fixed: DuckDB's own detection may skip lines, take '#' for comments, guess date formats.
    source = (
        f"read_csv(?, auto_detect=false, columns={{{columns}}}, header=true, delim=?, quote='\"', "
        "escape='\"', comment='', nullstr=?, compression=?, hive_partitioning=false, strict_mode=true, "
        "null_padding=false)"
    )
    parameters = [_literal(place), delimiter, ["", *na_values], "gzip" if compressed else "none"]
    # The text is kept, which is small once compressed, and cast when a column is fetched.
    database.connection.execute(f"CREATE TABLE data AS SELECT * FROM {source}", parameters)
    database.connection.execute("CHECKPOINT")
    if not database.rows("SELECT count(*) FROM data")[0][0]:
        raise DataError(f"{str(place)!r} has a header and no rows")
    notes: list[str] = []
    types = [_detect(database, f"c{position}", name, notes) for position, name in enumerate(names)]
    return _DuckDBSource(database, names, types, notes)


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
    # A delimiter stands in the header and in the line after it; a name alone may hold any character.
    header, following = (re.sub(r'"[^"]*"', "", line) for line in (*start.split("\n", 2), "", "")[:2])
    likely = [sign for sign in delimiters if sign in following or not following.strip()]
    delimiter = max(likely or delimiters[:1], key=header.count)
    try:
        names = next(csv.reader(start.splitlines(keepends=True), delimiter=delimiter))
    except csv.Error as error:
        raise DataError(f"{str(place)!r}, line 1: cannot read the header: {error}") from error
    if blank := [position + 1 for position, name in enumerate(names) if not name.strip()]:
        raise DataError(f"{str(place)!r}: the header gives no name to column {shorten(blank)}")
    check_names(names)
    return names, delimiter


def _detect(database: _Database, column: str, name: str, notes: list[str]) -> tuple[str, str]:
    """The type of a column of text, judged from all of its values, and the expression that gives it."""
    day = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
    clock = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
    tokens = ", ".join(f"'{token}'" for token in _NA_TOKENS)
    (
        (
            n_values,
            numbers,
            integers,
            leading_zeros,
            underscores,
            nans,
            huge,
            booleans,
            dates,
            timestamps,
            times,
            token,
            n_tokens,
            token_rows,
        ),
    ) = database.rows(
        "SELECT count(*), count(number), "
        r"count(integer) FILTER (regexp_full_match(value, '\s*[+-]?[0-9]+(\.0*)?\s*')), "
        "count(*) FILTER (value >= '00' AND value < '0:'), count(*) FILTER (contains(value, '_')), "
        "count(*) FILTER (isnan(number)), "
        "count(*) FILTER (abs(number) >= 2::DOUBLE ** 63 AND regexp_full_match(value, '[+-]?[0-9]+')), "
        "count(*) FILTER (value IN ('true', 'false', 'True', 'False', 'TRUE', 'FALSE')), "
        f"count(*) FILTER (regexp_full_match(value, '{day}') AND TRY_CAST(value AS DATE) IS NOT NULL), "
        f"count(*) FILTER (regexp_full_match(value, '{day}([ T]{clock})?') "
        "AND TRY_CAST(value AS TIMESTAMP) IS NOT NULL), "
        f"count(*) FILTER (regexp_full_match(value, '{clock}') AND TRY_CAST(value AS TIME) IS NOT NULL), "
        f"max(value) FILTER (value IN ({tokens})), count(*) FILTER (value IN ({tokens})), "
        f"sum(n_rows) FILTER (value IN ({tokens})) "
        f"FROM (SELECT {column} AS value, TRY_CAST({column} AS DOUBLE) AS number, "
        f"TRY_CAST({column} AS BIGINT) AS integer, count(*) AS n_rows "
        f"FROM data WHERE {column} IS NOT NULL GROUP BY ALL)"
    )
    if n_values == 0:
        return "varchar", column
    if numbers == n_values and not underscores:
        if leading_zeros:
            notes.append(f"column {name!r} is kept as text: some of its numbers begin with a zero, as codes do")
            return "varchar", column
        if nans:
            notes.append(f"column {name!r}: 'nan' is taken as missing")
        if huge:
            notes.append(
                f"column {name!r} holds integers beyond 64 bits; they are rounded to 64-bit floats. "
                "If they are identifiers, leave the column out"
            )
        dtype = "bigint" if integers == n_values else "double"
        return dtype, f"{column}::{dtype}"
    for dtype, matching in (
        ("boolean", booleans),
        ("date", dates),
        ("timestamp", timestamps),
        ("time", times),
    ):
        if matching == n_values:
            return dtype, f"{column}::{dtype}"
    if numbers and n_tokens and numbers + n_tokens == n_values:
        notes.append(
            f"column {name!r} is text because of {token_rows:,} value{'s' * (token_rows > 1)} such as "
            f"{token!r}; if that means missing, read the file with na_values=({token!r},)"
        )
    return "varchar", column
