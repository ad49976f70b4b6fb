"""CSV, TSV and Parquet files and DuckDB relations, behind a DuckDB that hands out one column or some rows at a time.

No text of a stranger (path, name, value) becomes SQL: paths are parameters, and columns are called c0, c1, …
"""

from __future__ import annotations

import csv
import glob
import gzip
import io
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from causalrules.data.inference import detect
from causalrules.data.table import (
    Column,
    Kind,
    check_names,
    coded,
    default_library,
    finer_than_microseconds,
    moments,
    number,
)
from causalrules.exceptions import DataError, OptionError
from causalrules.text import shorten

_DELIMITERS = {".csv": ",;\t|", ".tsv": "\t", ".txt": "\t,;|"}
_HEAD = 1 << 20
# Text files of more bytes than this are put on disk, compressed, instead of into memory.
_KEPT_BYTES = 1 << 29
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
    # A cast would round; elsewhere what is finer than a microsecond is cut off.
    "timestamp_ns": ("datetime", "epoch_ns({0}) // 1000 - (epoch_ns({0}) % 1000 < 0)::BIGINT"),
    "timestamp with time zone": ("utc", "epoch_us({0})"),
    "time": ("time", "epoch_us({0})"),
    "interval": ("duration", "epoch_us({0})"),
}


class _Database:
    """A DuckDB in memory, and a folder for what must lie on disk, removed with it."""

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
        result: list[tuple[Any, ...]] = self.connection.execute(query, parameters or []).fetchall()
        return result


def _close(connection: Any, folder: Path) -> None:
    connection.close()
    shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Slice:
    """Some rows of `data`: what to write after FROM, and its parameters."""

    relation: str
    parameters: tuple[Any, ...]


class DuckDBSource:
    """The relation `data` of a database, whose columns c0, c1, … have these names; the slices are its parts."""

    def __init__(
        self,
        database: _Database,
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

    @property
    def folder(self) -> Path:
        """Where files may be put that live as long as the source does."""
        return self._database.folder

    def fetch(self, name: str) -> tuple[str, str]:
        """What the column holds ('number', 'boolean', 'text' or a form of moments), and the SQL expression for it."""
        return self._fetch[name]

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The result of a query, for few rows."""
        with explained():
            return self._database.rows(query, list(parameters))

    def arrays(self, query: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """The result of a query as arrays, one for each column; masked ones where values are missing."""
        with explained():
            return list(self._database.connection.execute(query, list(parameters)).fetchnumpy().values())

    def column(self, name: str) -> Column:
        """The whole column; rows in the order of the source on every call."""
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

    def select(self, query: str) -> DuckDBSource:
        """The result of the user's own query, in which `data` has the columns' own names."""
        _check_cases(list(self._named))
        connection = self._database.connection
        answer = _Database()
        path = answer.folder / "query.parquet"
        # Names come from strangers: in SQL they stand in quotes, with the quotes in them doubled.
        columns = ", ".join(
            f'{expression} AS "{name.replace(chr(34), chr(34) * 2)}"' for name, expression in self._named.items()
        )
        connection.execute("CREATE SCHEMA named")
        connection.execute(f"CREATE VIEW named.data AS SELECT {columns} FROM store.main.data")
        readable = [str(place.resolve()) for place in self._files]
        connection.execute(
            "SET allowed_directories = ?", [[f"{place.resolve()}{os.sep}" for place in (self.folder, answer.folder)]]
        )
        connection.execute("SET allowed_paths = ?", [readable])
        connection.execute("SET python_enable_replacements = false")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        connection.execute("USE store.named")
        relation = connection.sql(query)
        names = [str(name) for name in relation.columns]
        check_names(names)
        relation.to_parquet(str(path))
        return _from_parquet(answer, [path], names)

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


def _check_cases(names: list[str]) -> None:
    """Raise an OptionError for names that are one name in SQL, of which DuckDB would rename the second in silence."""
    known: dict[bytes, str] = {}
    for name in names:
        # Letters of ASCII alone: of others, DuckDB tells the cases apart.
        other = known.setdefault(name.encode("utf-8", "surrogatepass").lower(), name)
        if other != name:
            raise OptionError(
                f"query: the columns {other!r} and {name!r} differ in the case of letters alone, which SQL does not "
                "tell apart; rename one of them, or leave query out"
            )


@contextmanager
def explained() -> Iterator[None]:
    """What DuckDB says while rows are streamed, as an error of ours."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise DataError(f"the rows cannot be read: {str(error).splitlines()[0]}") from error


def read_relation(relation: Any) -> DuckDBSource:
    """A DuckDB relation, evaluated once: a second evaluation may give the rows in another order."""
    names = [str(name) for name in relation.columns]
    check_names(names)
    import duckdb

    database = _Database()
    path = database.folder / "relation.parquet"
    try:
        relation.to_parquet(str(path))
        return _from_parquet(database, [path], names)
    except duckdb.Error as error:
        raise DataError(f"cannot read the relation: {str(error).splitlines()[0]}") from error


def read_query(source: DuckDBSource, query: str) -> DuckDBSource:
    """The result of a SELECT over the source as the table `data`; the query may read nothing else."""
    import duckdb

    try:
        statements = duckdb.extract_statements(query)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise OptionError(
                "query: give one SELECT over the table 'data', such as SELECT * FROM data WHERE age >= 18"
            )
        return source.select(query)
    except duckdb.Error as error:
        raise OptionError(f"query: {str(error).splitlines()[0]}") from error


def read_path(path: str | os.PathLike[str], na_values: tuple[str, ...]) -> DuckDBSource:
    """A file, or all files that match a pattern, by the ending of their names."""
    import duckdb

    places = _places(os.fspath(path))
    forms = {_form(place) for place in places}
    if len(forms) > 1:
        raise DataError(f"{os.fspath(path)!r} matches files of different kinds; name one kind, as in '*.parquet'")
    ((ending, compressed),) = forms
    try:
        if ending in _DELIMITERS:
            return _from_text(places, _DELIMITERS[ending], compressed, na_values)
        if ending in (".parquet", ".pq"):
            if na_values:
                raise OptionError("na_values is for text files; a Parquet file says itself what is missing")
            return _read_parquet(places, compressed)
    except (duckdb.Error, RuntimeError) as error:
        raise _explain(_blamed(places, str(error)), error) from error
    except (OSError, EOFError) as error:
        raise DataError(f"cannot read {os.fspath(path)!r}: {error}") from error
    raise DataError(
        f"cannot tell what {str(places[0])!r} is from its name; it should end in .csv, .tsv, .txt or .parquet "
        "(each also with .gz)"
    )


def _form(place: Path) -> tuple[str, bool]:
    suffixes = [suffix.lower() for suffix in place.suffixes]
    compressed = bool(suffixes) and suffixes[-1] == ".gz"
    return ((suffixes[:-1] if compressed else suffixes)[-1:] or [""])[0], compressed


def _places(text: str) -> list[Path]:
    """The file of that name, or the files that match the pattern, in the order of their names."""
    try:
        is_pattern = glob.has_magic(text) and not os.path.lexists(text)
        places = [Path(found) for found in sorted(glob.glob(text, recursive=True))] if is_pattern else [Path(text)]
    except ValueError as error:
        raise DataError(f"{text[:200]!r} is not a usable path: {error}") from error
    if not places:
        raise DataError(f"no file matches {text!r}; the working directory is {os.getcwd()!r}")
    for place in places:
        _check_file(str(place) if is_pattern else text, place)
    return places


def _blamed(places: list[Path], message: str) -> Path:
    """The file that an error of DuckDB's is about."""
    return next((place for place in places if str(place.resolve()) in message), places[0])


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


def _read_parquet(places: list[Path], compressed: bool) -> DuckDBSource:
    database = _Database()
    paths = places
    if compressed:
        paths = [database.folder / f"data{position}.parquet" for position in range(len(places))]
        for place, path in zip(places, paths, strict=True):
            with gzip.open(place) as packed, path.open("wb") as unpacked:
                shutil.copyfileobj(packed, unpacked)
    for place, path in zip(places, paths, strict=True):
        with path.open("rb") as file:
            if file.read(4) != b"PAR1":
                raise DataError(f"{str(place)!r} is not a Parquet file, though its name says so")
    schema = _schema(database, paths[0])
    names = list(schema)
    for place, path in zip(places[1:], paths[1:], strict=True):
        _check_same(places[0], schema, place, _schema(database, path))
    return _from_parquet(database, paths, names)


def _schema(database: _Database, path: Path) -> dict[str, str]:
    """The columns of a Parquet file and their types."""
    # The schema is a tree written depth first; the columns are the children of its root.
    nodes = database.rows("SELECT name, coalesce(num_children, 0) FROM parquet_schema(?)", [_literal(path)])
    names, position = [], 1
    while position < len(nodes):
        names.append(nodes[position][0])
        open_nodes = 1
        while open_nodes:
            open_nodes += nodes[position][1] - 1
            position += 1
    check_names(names)
    types = database.connection.read_parquet(_literal(path), hive_partitioning=False).types
    return dict(zip(names, map(str, types), strict=True))


def _check_same(first: Path, columns: dict[str, str], other: Path, other_columns: dict[str, str]) -> None:
    if list(columns) != list(other_columns):
        strange = [*(set(columns) ^ set(other_columns))]
        difference = f"it differs in {shorten(sorted(strange))}" if strange else "they come in another order"
        raise DataError(
            f"the columns of {str(other)!r} are not those of {str(first)!r}: {difference}; "
            "write all files with the same columns"
        )
    for name, kind in columns.items():
        if other_columns[name] != kind:
            raise DataError(
                f"column {name!r} is {other_columns[name]} in {str(other)!r} and {kind} in {str(first)!r}; "
                "write it as the same type in all files"
            )


def _from_parquet(database: _Database, paths: list[Path], names: list[str]) -> DuckDBSource:
    columns = ", ".join(f"c{position}" for position in range(len(names)))
    relation = database.connection.read_parquet([_literal(path) for path in paths], hive_partitioning=False)
    relation.create_view("file", replace=True)
    database.connection.execute(f"CREATE VIEW data AS SELECT * FROM file AS renamed({columns})")
    described = database.connection.execute("SELECT * FROM data LIMIT 0").description
    types = [(column[1].id, f"c{position}") for position, column in enumerate(described)]
    slices = _parquet_slices(database, paths, columns, "file_row_number" in map(str.lower, names))
    return DuckDBSource(database, names, types, [], slices, paths)


def _parquet_slices(database: _Database, paths: list[Path], columns: str, whole_files: bool) -> list[Slice]:
    """Many small files together, and large ones in parts by the number of the row, unless a column has that name."""
    sizes = [database.rows("SELECT num_rows FROM parquet_file_metadata(?)", [_literal(path)])[0][0] for path in paths]
    rows = "read_parquet(?, hive_partitioning=false)"
    slices: list[Slice] = []
    together: list[str] = []
    n_together = 0
    for path, size in zip(paths, sizes, strict=True):
        if size > SLICE and not whole_files:
            part = f"(SELECT * FROM {rows} WHERE file_row_number >= ? AND file_row_number < ?) AS renamed({columns})"
            starts = range(0, size, SLICE)
            slices.extend(Slice(part, ([_literal(path)], start, start + SLICE)) for start in starts)
            continue
        if together and n_together + size > SLICE:
            slices.append(Slice(f"{rows} AS renamed({columns})", (together,)))
            together, n_together = [], 0
        together = [*together, _literal(path)]
        n_together += size
    if together:
        slices.append(Slice(f"{rows} AS renamed({columns})", (together,)))
    return slices


def _from_text(places: list[Path], delimiters: str, compressed: bool, na_values: tuple[str, ...]) -> DuckDBSource:
    names, delimiter = _header(places[0], delimiters, compressed)
    for place in places[1:]:
        other_names, other_delimiter = _header(place, delimiters, compressed)
        _check_same(places[0], dict.fromkeys(names, ""), place, dict.fromkeys(other_names, ""))
        if other_delimiter != delimiter:
            raise DataError(
                f"{str(place)!r} separates its fields by {other_delimiter!r} and {str(places[0])!r} by {delimiter!r}; "
                "write all files in the same way"
            )
    database = _Database(on_disk=sum(place.stat().st_size for place in places) > _KEPT_BYTES)
    columns = ", ".join(f"'c{position}': 'VARCHAR'" for position in range(len(names)))
    # The dialect is fixed: DuckDB's own detection may skip lines, take '#' for comments, guess date formats.
    source = (
        f"read_csv(?, auto_detect=false, columns={{{columns}}}, header=true, delim=?, quote='\"', "
        "escape='\"', comment='', nullstr=?, compression=?, hive_partitioning=false, strict_mode=true, "
        "null_padding=false)"
    )
    parameters = [
        [_literal(place) for place in places],
        delimiter,
        ["", *na_values],
        "gzip" if compressed else "none",
    ]
    # The text is kept, which is small once compressed, and cast when a column is fetched.
    database.connection.execute(f"CREATE TABLE data AS SELECT * FROM {source}", parameters)
    database.connection.execute("CHECKPOINT")
    n_rows = database.rows("SELECT count(*) FROM data")[0][0]
    if not n_rows:
        raise DataError(f"{str(places[0])!r} has a header and no rows")
    notes: list[str] = []
    types = [detect(database.rows, f"c{position}", name, notes) for position, name in enumerate(names)]
    part = "(SELECT * FROM data WHERE rowid >= ? AND rowid < ?)"
    slices = [Slice(part, (start, start + SLICE)) for start in range(0, n_rows, SLICE)]
    return DuckDBSource(database, names, types, notes, slices)


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
        names = next(csv.reader(io.StringIO(start, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise DataError(f"{str(place)!r}, line 1: cannot read the header: {error}") from error
    if blank := [position + 1 for position, name in enumerate(names) if not name.strip()]:
        raise DataError(f"{str(place)!r}: the header gives no name to column {shorten(blank)}")
    check_names(names)
    return names, delimiter
