"""CSV, TSV and Parquet files."""

from __future__ import annotations

import codecs
import csv
import glob
import gzip
import io
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from causalrules.data.columns import check_names
from causalrules.data.database import Database, DuckDBSource, from_parquet, literal, rowid_slices
from causalrules.data.inference import DEFAULT_NA, detect_all
from causalrules.exceptions import FileError, NoSuchFileError, OptionError
from causalrules.text import shorten

_DELIMITERS = {".csv": ",;\t|", ".tsv": "\t", ".txt": "\t,;|"}
_HEAD = 1 << 20
# Byte order marks of other encodings; UTF-32 comes first because its mark begins like that of UTF-16.
_MARKS = {"UTF-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE), "UTF-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)}
# Larger text files are stored on disk, compressed, instead of in memory.
_KEPT_BYTES = 1 << 29


def read_path(path: str | os.PathLike[str], na_values: tuple[str, ...], keep_default_na: bool = True) -> DuckDBSource:
    """Read a file, or all files that match a pattern, by their suffix."""
    import duckdb

    files = _file_paths(os.fspath(path))
    formats = {_format(file) for file in files}
    if len(formats) > 1:
        raise FileError(f"{os.fspath(path)!r} matches files of different kinds; name one kind, as in '*.parquet'")
    ((suffix, compressed),) = formats
    try:
        if suffix in _DELIMITERS:
            return _read_text(files, _DELIMITERS[suffix], compressed, na_values, keep_default_na)
        if suffix in (".parquet", ".pq"):
            if na_values:
                raise OptionError("it is for text files; Parquet files mark missing values", parameter="na_values")
            return _read_parquet(files, compressed)
    except FileError:
        raise
    except duckdb.Error as error:
        raise _file_error(_file_of_error(files, str(error)), error) from error
    except (OSError, EOFError) as error:
        raise FileError(f"cannot read {os.fspath(path)!r}: {error}") from error
    raise FileError(
        f"unknown file type: {str(files[0])!r}; its name should end in .csv, .tsv, .txt or .parquet "
        "(each also with .gz)"
    )


def _format(file: Path) -> tuple[str, bool]:
    suffixes = [suffix.lower() for suffix in file.suffixes]
    compressed = bool(suffixes) and suffixes[-1] == ".gz"
    return ((suffixes[:-1] if compressed else suffixes)[-1:] or [""])[0], compressed


def _file_paths(text: str) -> list[Path]:
    """Return the file of that name, or the files that match the pattern, sorted by name."""
    try:
        is_pattern = glob.has_magic(text) and not os.path.lexists(text)
        files = [Path(found) for found in sorted(glob.glob(text, recursive=True))] if is_pattern else [Path(text)]
    except ValueError as error:
        raise FileError(f"{text[:200]!r} is not a valid path: {error}") from error
    if not files:
        raise NoSuchFileError(f"no file matches {text!r}; the working directory is {os.getcwd()!r}")
    for file in files:
        _check_file(str(file) if is_pattern else text, file)
    return files


def _check_file(text: str, file: Path) -> None:
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", text):
        raise FileError(f"{text!r} is an address, not a file on this computer; download it first")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise FileError(f"the name {text!r} is not UTF-8, which DuckDB cannot open; rename the file") from None
    try:
        if file.is_dir():
            raise FileError(f"{text!r} is a directory; name a file in it")
        if not file.exists():
            raise NoSuchFileError(f"no file {text!r}; the working directory is {os.getcwd()!r}")
        if not file.is_file():
            raise FileError(f"{text!r} is not a regular file")
        if file.stat().st_size == 0:
            raise FileError(f"{text!r} is empty")
    except FileError:
        raise
    except (OSError, ValueError) as error:
        raise FileError(f"{text[:200]!r} is not a valid path: {error}") from error


def _file_of_error(files: list[Path], message: str) -> Path:
    """Return the file named in an error of DuckDB."""
    return next((file for file in files if str(file.resolve()) in message), files[0])


def _file_error(file: Path, error: Exception) -> FileError:
    message = str(error)
    line = re.search(r"CSV Error on Line: (\d+)", message)
    where = f"{str(file)!r}, line {int(line[1]):,}" if line else f"{str(file)!r}"
    if "not utf-8" in message or "Invalid unicode" in message or "not valid utf" in message.lower():
        return _not_utf8(where)
    if counts := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message):
        return FileError(f"{where}: {counts[2]} fields where the header has {counts[1]}; correct or quote that line")
    if "unterminated quote" in message:
        return FileError(f"{where}: a quote is opened and never closed; close it or double it")
    if "reached an invalid state" in message:
        return FileError(f"{where}: a line break or a quote is out of place; quote the field that holds it")
    return FileError(f"cannot read {where}: {message.splitlines()[0]}")


def _not_utf8(where: str) -> FileError:
    return FileError(f"{where}: the text is not UTF-8 (perhaps Latin-1 or Windows-1252); save the file as UTF-8")


def _read_parquet(files: list[Path], compressed: bool) -> DuckDBSource:
    database = Database()
    paths = files
    if compressed:
        paths = [database.folder / f"data{position}.parquet" for position in range(len(files))]
        for file, path in zip(files, paths, strict=True):
            with gzip.open(file) as packed, path.open("wb") as unpacked:
                shutil.copyfileobj(packed, unpacked)
    for file, path in zip(files, paths, strict=True):
        with path.open("rb") as stream:
            if stream.read(4) != b"PAR1":
                raise FileError(f"{str(file)!r} is not a Parquet file, despite its name")
    schema = _schema(database, paths[0])
    for file, path in zip(files[1:], paths[1:], strict=True):
        _check_same(files[0], schema, file, _schema(database, path))
    return from_parquet(database, paths, list(schema))


def _schema(database: Database, path: Path) -> dict[str, str]:
    """Return the columns of a Parquet file and their types."""
    # The schema is a tree in depth-first order; the columns are the children of its root.
    nodes = database.rows("SELECT name, coalesce(num_children, 0) FROM parquet_schema(?)", [literal(path)])
    names, position = [], 1
    while position < len(nodes):
        names.append(nodes[position][0])
        open_nodes = 1
        while open_nodes:
            open_nodes += nodes[position][1] - 1
            position += 1
    check_names(names)
    connection = database.connection
    types = database.run(lambda: connection.read_parquet(literal(path), hive_partitioning=False).types)
    return dict(zip(names, map(str, types), strict=True))


def _check_same(first: Path, columns: dict[str, str], other: Path, other_columns: dict[str, str]) -> None:
    if list(columns) != list(other_columns):
        differing = sorted(set(columns) ^ set(other_columns))
        difference = f"it differs in {shorten(differing)}" if differing else "they come in another order"
        raise FileError(
            f"the columns of {str(other)!r} are not those of {str(first)!r}: {difference}; "
            "write all files with the same columns"
        )
    for name, dtype in columns.items():
        if other_columns[name] != dtype:
            raise FileError(
                f"column {name!r} is {other_columns[name]} in {str(other)!r} and {dtype} in {str(first)!r}; "
                "write it with the same type in all files"
            )


def _read_text(
    files: list[Path], delimiters: str, compressed: bool, na_values: tuple[str, ...], keep_default_na: bool
) -> DuckDBSource:
    import duckdb

    names, delimiter = _header(files[0], delimiters, compressed)
    for file in files[1:]:
        other_names, other_delimiter = _header(file, delimiters, compressed)
        _check_same(files[0], dict.fromkeys(names, ""), file, dict.fromkeys(other_names, ""))
        if other_delimiter != delimiter:
            raise FileError(
                f"{str(file)!r} separates fields by {other_delimiter!r} and {str(files[0])!r} by {delimiter!r}; "
                "write all files with the same separator"
            )
    database = Database(on_disk=sum(file.stat().st_size for file in files) > _KEPT_BYTES)
    columns = ", ".join(f"'c{position}': 'VARCHAR'" for position in range(len(names)))
    # The dialect is fixed: DuckDB's detection may skip lines, take '#' for a comment or guess date formats.
    source = (
        f"read_csv(?, auto_detect=false, columns={{{columns}}}, header=true, delim=?, quote='\"', "
        "escape='\"', comment='', nullstr=?, compression=?, hive_partitioning=false, strict_mode=true, "
        "null_padding=false)"
    )
    # The text is kept, which is small when compressed, and cast when a column is fetched.
    create = f"CREATE TABLE data AS SELECT * FROM {source}"
    form = [delimiter, ["", *na_values]]
    try:
        database.execute(create, [[literal(file) for file in files], *form, "gzip" if compressed else "none"])
    except duckdb.Error:
        # DuckDB reads either kind of line end, but not both in one file.
        if not any(_ends_lines_differently(file, compressed) for file in files):
            raise
        same = [database.folder / f"data{number}.csv" for number in range(len(files))]
        for file, path in zip(files, same, strict=True):
            _end_lines_alike(file, compressed, path)
        database.execute(create, [[literal(path) for path in same], *form, "none"])
        for path in same:
            path.unlink()
    database.execute("CHECKPOINT")
    n_rows = database.rows("SELECT count(*) FROM data")[0][0]
    if not n_rows:
        raise FileError(f"{str(files[0])!r} has a header and no rows")
    notes: list[str] = []
    types = detect_all(database.rows, names, n_rows, notes, DEFAULT_NA if keep_default_na else ())
    return DuckDBSource(database, names, types, notes, rowid_slices(n_rows))


def _open(file: Path, compressed: bool) -> gzip.GzipFile | IO[bytes]:
    return gzip.open(file) if compressed else file.open("rb")


def _unquoted(file: Path, compressed: bool) -> Iterator[tuple[bytes, bool]]:
    """Yield the parts of a text file between quotes, and whether each part is outside quotes."""
    outside, cut = True, b""
    with _open(file, compressed) as stream:
        while piece := stream.read(_HEAD):
            piece, cut = cut + piece, b""
            if piece.endswith(b"\r"):  # a line end may be cut in two
                piece, cut = piece[:-1], b"\r"
            for number, part in enumerate(piece.split(b'"')):
                if number:
                    yield b'"', False
                    outside = not outside
                yield part, outside
    yield cut, outside


def _ends_lines_differently(file: Path, compressed: bool) -> bool:
    with_return = without = False
    for part, outside in _unquoted(file, compressed):
        if outside:
            n_returns = part.count(b"\r\n")
            with_return |= n_returns > 0
            without |= part.count(b"\n") > n_returns
        if with_return and without:
            return True
    return False


def _end_lines_alike(file: Path, compressed: bool, path: Path) -> None:
    """Copy a text file with one kind of line end; quoted fields are unchanged."""
    with path.open("wb") as copy:
        for part, outside in _unquoted(file, compressed):
            copy.write(part.replace(b"\r\n", b"\n") if outside else part)


def _header(file: Path, delimiters: str, compressed: bool) -> tuple[list[str], str]:
    """Return the names of the columns and the delimiter."""
    with _open(file, compressed) as stream:
        head = stream.read(_HEAD)
    if not head.strip():
        raise FileError(f"{str(file)!r} is empty")
    for encoding, marks in _MARKS.items():
        if head.startswith(marks):
            raise FileError(f"{str(file)!r} is {encoding}; save it as UTF-8")
    if b"\0" in head:
        raise FileError(f"{str(file)!r} is not a text file: it holds zero bytes")
    try:
        start = head.decode("utf-8-sig", errors="strict" if len(head) < _HEAD else "ignore")
    except UnicodeDecodeError as error:
        line = head.count(b"\n", 0, error.start) + 1
        raise _not_utf8(f"{str(file)!r}, line {line:,}") from error
    # The delimiter is in the header and in the line after it; a name alone may hold any character.
    header, following = (re.sub(r'"[^"]*"', "", line) for line in (*start.split("\n", 2), "", "")[:2])
    likely = [sign for sign in delimiters if sign in following or not following.strip()]
    delimiter = max(likely or delimiters[:1], key=header.count)
    try:
        names = next(csv.reader(io.StringIO(start, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise FileError(f"{str(file)!r}, line 1: cannot read the header: {error}") from error
    if blank := [position + 1 for position, name in enumerate(names) if not name.strip()]:
        raise FileError(f"{str(file)!r}: the header gives no name to column {shorten(blank)}")
    check_names(names)
    return names, delimiter
