"""Infer the type of a text column from all of its values, with DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from causalrules.text import counted, listed, shorten

# The texts that pandas reads as missing, beside the empty one.
DEFAULT_NA = (
    *("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"),
    *("NULL", "NaN", "None", "n/a", "nan", "null"),
)
# Spellings of "missing" that are kept as texts, and reported.
_NA_TOKENS = ("?", "na", "-", ".", "missing", *DEFAULT_NA)
# "none" is a plausible value in a column of words: reported only in a column that is otherwise numeric.
_NA_BESIDE_NUMBERS = (*_NA_TOKENS, "none")

# Most values to query together: the time of a query grows with all columns of the table.
_MOST_VALUES = 1 << 20

# Runs a query over the table `data` and returns its rows.
Ask = Callable[[str], list[tuple[Any, ...]]]


def detect_all(
    ask: Ask, names: Sequence[str], n_rows: int, notes: list[str], missing: Sequence[str] = ()
) -> list[tuple[str, str]]:
    """Return the SQL types of the text columns c0, c1, …, with the expressions that cast them.

    The texts in `missing`, some of `DEFAULT_NA`, are missing. Remarks are appended to `notes`, under the names of the
    columns.
    """
    width = max(1, _MOST_VALUES // max(1, n_rows))
    types: list[tuple[str, str]] = []
    read_as_missing: dict[str, tuple[list[str], int]] = {}
    for start in range(0, len(names), width):
        columns = [f"c{position}" for position in range(start, min(start + width, len(names)))]
        absent = {place: (tokens, n) for place, tokens, n in ask(_absent(columns, missing))} if missing else {}
        without = missing if absent else ()
        values = _values(columns, without)
        numeric = {row[0]: row[1:] for row in ask(_NUMERIC.format(values=values))}
        # Most columns are numbers: other types are tried only where that fails.
        others = [column for column in columns if column in numeric and not _is_numeric(numeric[column])]
        other = {row[0]: row[1:] for row in ask(_OTHER.format(values=_values(others, without)))} if others else {}
        for column, name in zip(columns, names[start : start + width], strict=True):
            present = column
            if column in absent:
                tokens, _ = read_as_missing[name] = absent[column]
                present = f"(CASE WHEN {column} IN ({_constants(tokens)}) THEN NULL ELSE {column} END)"
            types.append(_type(present, name, numeric.get(column), other.get(column), notes))
    if read_as_missing:
        texts = sorted({token for tokens, _ in read_as_missing.values() for token in tokens})
        n_read = sum(n for _, n in read_as_missing.values())
        notes.insert(
            0,
            f"{counted(n_read, 'text')} {'is' if n_read == 1 else 'are'} read as missing, as pandas does: "
            f"{shorten(texts)} in {listed(list(read_as_missing))}; keep_default_na=False (--no-keep-default-na) keeps "
            "such texts",
        )
    return types


def _constants(tokens: Sequence[str]) -> str:
    """Return some of `DEFAULT_NA` as SQL."""
    assert set(tokens) <= set(DEFAULT_NA), "no text of a file becomes SQL"
    return ", ".join(f"'{token}'" for token in tokens)


def _absent(columns: Sequence[str], missing: Sequence[str]) -> str:
    """Return a query for the texts of columns that mean missing, and for how often they occur."""
    return (
        "SELECT place, list(DISTINCT value ORDER BY value), count(*) "
        f"FROM ({_values(columns)}) WHERE value IN ({_constants(missing)}) GROUP BY place"
    )


def _values(columns: Sequence[str], without: Sequence[str] = ()) -> str:
    """Return a query for the present values of columns, each with its column, without some texts."""
    if len(columns) == 1:
        values = f"SELECT '{columns[0]}' AS place, {columns[0]} AS value FROM data WHERE {columns[0]} IS NOT NULL"
    else:
        values = f"FROM (SELECT {', '.join(columns)} FROM data) UNPIVOT (value FOR place IN ({', '.join(columns)}))"
    return f"SELECT place, value FROM ({values}) WHERE value NOT IN ({_constants(without)})" if without else values


_NUMERIC = r"""
SELECT place, count(*), count(number), count(integer) FILTER (regexp_full_match(value, '\s*[+-]?[0-9]+(\.0*)?\s*')),
    count(*) FILTER (value >= '00' AND value < '0:'), count(*) FILTER (contains(value, '_')),
    count(*) FILTER (isnan(number)),
    count(*) FILTER (abs(number) >= 2::DOUBLE ** 63 AND regexp_full_match(value, '[+-]?[0-9]+'))
FROM (
    SELECT place, value, TRY_CAST(value AS DOUBLE) AS number, TRY_CAST(value AS BIGINT) AS integer
    FROM ({values}) GROUP BY ALL
) GROUP BY place
"""


def _is_numeric(counts: tuple[Any, ...]) -> bool:
    n_values, numbers, _, _, underscores, *_ = counts
    return numbers == n_values and not underscores


def _cast(column: str, dtype: str) -> str:
    """Return the expression that casts a column of texts."""
    # DuckDB before 2.0 reads no clock with a time zone that has no seconds.
    if dtype == "timestamp with time zone":
        column = f"regexp_replace({column}, '^(.{{16}})([Z+-].*)$', '\\1:00\\2')"
    return f"{column}::{dtype}"


def _other_types() -> str:
    day = "[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}"
    clock = r"[0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}(\.[0-9]{{1,6}})?)?"
    zone = "(Z|[+-][0-9]{{2}}(:[0-9]{{2}})?)"
    # Braces are doubled for str.format.
    zoned = _cast("value", "timestamp with time zone").replace("{", "{{").replace("}", "}}")
    tokens, more_tokens = (", ".join(f"'{token}'" for token in each) for each in (_NA_TOKENS, _NA_BESIDE_NUMBERS))
    return (
        "SELECT place, count(*) FILTER (value IN ('true', 'false', 'True', 'False', 'TRUE', 'FALSE')), "
        f"count(*) FILTER (regexp_full_match(value, '{day}') AND TRY_CAST(value AS DATE) IS NOT NULL), "
        f"count(*) FILTER (regexp_full_match(value, '{day}([ T]{clock})?') "
        "AND TRY_CAST(value AS TIMESTAMP) IS NOT NULL), "
        f"count(*) FILTER (regexp_full_match(value, '{day}[ T]{clock}{zone}') "
        f"AND TRY({zoned}) IS NOT NULL), "
        f"count(*) FILTER (regexp_full_match(value, '{clock}') AND TRY_CAST(value AS TIME) IS NOT NULL), "
        "count(*) FILTER (regexp_full_match(value, '-?[0-9]+(,[0-9]+)?')), min(value) FILTER (contains(value, ',')), "
        f"count(*) FILTER (TRY_CAST(value AS DOUBLE) IS NULL AND value NOT IN ({more_tokens})), "
        f"list(value ORDER BY value) FILTER (value IN ({more_tokens})), "
        f"list(value ORDER BY value) FILTER (value IN ({tokens})) "
        "FROM (SELECT DISTINCT place, value FROM ({values})) GROUP BY place"
    )


_OTHER = _other_types()


def _type(
    column: str, name: str, numeric: tuple[Any, ...] | None, other: tuple[Any, ...] | None, notes: list[str]
) -> tuple[str, str]:
    """Return the type of a column by the counts of its values; counts are None if all values are missing."""
    if numeric is None:
        return "varchar", column
    n_values, numbers, integers, leading_zeros, _, nans, huge = numeric
    if other is None:
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
    booleans, dates, timestamps, zoned, times, with_comma, first_with_comma, n_words, *tokens = other
    found_beside_numbers, found = tokens
    for dtype, matching in (
        ("boolean", booleans),
        ("date", dates),
        ("timestamp", timestamps),
        ("timestamp with time zone", zoned),
        ("time", times),
    ):
        if matching == n_values:
            return dtype, _cast(column, dtype)
    if first_with_comma is not None and with_comma == n_values:
        notes.append(
            f"column {name!r} is text: its values are written like {shorten([first_with_comma])}; if these are numbers "
            "with a decimal comma, write them with a decimal point"
        )
    elif numbers and not n_words and found_beside_numbers:
        notes.append(_kept_text(name, found_beside_numbers, numeric=True))
    elif found and len(found) < n_values:
        notes.append(_kept_text(name, found))
    return "varchar", column


def kept_texts(name: str, values: Sequence[Any]) -> str | None:
    """Return a remark on a text column in memory some of whose values look like missing ones; None if none do."""
    known = set(values)
    found = sorted(known.intersection(_NA_BESIDE_NUMBERS))
    if found and all(map(_is_number, known.difference(found))) and len(known) > len(found):
        return _kept_text(name, found, numeric=True, mend=_IN_MEMORY)
    found = sorted(known.intersection(_NA_TOKENS))
    return _kept_text(name, found, mend=_IN_MEMORY) if found and len(found) < len(known) else None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


_IN_FILES = "add {} to the missing values (na_values, or --na-value)"
_IN_MEMORY = "set it to missing, or read the file with {} as na_values"


def _kept_text(name: str, found: Sequence[str], numeric: bool = False, mend: str = _IN_FILES) -> str:
    why = f"is text because of values such as {found[0]!r}" if numeric else f"has the text {shorten(found)}"
    return f"column {name!r} {why}; if that means missing, {mend.format(shorten(found))}"
