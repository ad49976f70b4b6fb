"""Infer the type of a text column from all of its values, with DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from causalrules.text import counted, shorten

# Common spellings of "missing": reported, never converted.
_NA_TOKENS = ("?", "NA", "N/A", "n/a", "na", "null", "NULL", "nan", "NaN", "None", "-", ".", "missing", "#N/A")
# "none" may well be a value among words: reported only in a column that is otherwise numeric.
_NA_BESIDE_NUMBERS = (*_NA_TOKENS, "none")

# Runs a query over the table `data` and returns its rows.
Ask = Callable[[str], list[tuple[Any, ...]]]


def detect(ask: Ask, column: str, name: str, notes: list[str]) -> tuple[str, str]:
    """Return the SQL type of a text column and the expression that casts it; append remarks to `notes`."""
    # Most columns are numbers: other types are tried only where that fails.
    values = f"SELECT {column} AS value, TRY_CAST({column} AS DOUBLE) AS number"
    ((n_values, numbers, integers, leading_zeros, underscores, nans, huge),) = ask(
        "SELECT count(*), count(number), "
        r"count(integer) FILTER (regexp_full_match(value, '\s*[+-]?[0-9]+(\.0*)?\s*')), "
        "count(*) FILTER (value >= '00' AND value < '0:'), count(*) FILTER (contains(value, '_')), "
        "count(*) FILTER (isnan(number)), "
        "count(*) FILTER (abs(number) >= 2::DOUBLE ** 63 AND regexp_full_match(value, '[+-]?[0-9]+')) "
        f"FROM ({values}, TRY_CAST({column} AS BIGINT) AS integer FROM data WHERE {column} IS NOT NULL GROUP BY ALL)"
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
    day = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
    clock = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
    zone = "(Z|[+-][0-9]{2}(:[0-9]{2})?)"
    tokens, more_tokens = (", ".join(f"'{token}'" for token in each) for each in (_NA_TOKENS, _NA_BESIDE_NUMBERS))
    (
        (
            booleans,
            dates,
            timestamps,
            zoned,
            times,
            with_comma,
            first_with_comma,
            n_words,
            found_beside_numbers,
            rows_beside_numbers,
            found,
            token_rows,
        ),
    ) = ask(
        "SELECT count(*) FILTER (value IN ('true', 'false', 'True', 'False', 'TRUE', 'FALSE')), "
        f"count(*) FILTER (regexp_full_match(value, '{day}') AND TRY_CAST(value AS DATE) IS NOT NULL), "
        f"count(*) FILTER (regexp_full_match(value, '{day}([ T]{clock})?') "
        "AND TRY_CAST(value AS TIMESTAMP) IS NOT NULL), "
        f"count(*) FILTER (regexp_full_match(value, '{day}[ T]{clock}{zone}') "
        "AND TRY_CAST(value AS TIMESTAMPTZ) IS NOT NULL), "
        f"count(*) FILTER (regexp_full_match(value, '{clock}') AND TRY_CAST(value AS TIME) IS NOT NULL), "
        "count(*) FILTER (regexp_full_match(value, '-?[0-9]+(,[0-9]+)?')), min(value) FILTER (contains(value, ',')), "
        f"count(*) FILTER (number IS NULL AND value NOT IN ({more_tokens})), "
        f"list(value ORDER BY value) FILTER (value IN ({more_tokens})), "
        f"sum(n_rows) FILTER (value IN ({more_tokens})), "
        f"list(value ORDER BY value) FILTER (value IN ({tokens})), sum(n_rows) FILTER (value IN ({tokens})) "
        f"FROM ({values}, count(*) AS n_rows FROM data WHERE {column} IS NOT NULL GROUP BY ALL)"
    )
    for dtype, matching in (
        ("boolean", booleans),
        ("date", dates),
        ("timestamp", timestamps),
        ("timestamp with time zone", zoned),
        ("time", times),
    ):
        if matching == n_values:
            return dtype, f"{column}::{dtype}"
    if first_with_comma is not None and with_comma == n_values:
        notes.append(
            f"column {name!r} is text: its values are written like {shorten([first_with_comma])}; if these are numbers "
            "with a decimal comma, write them with a decimal point"
        )
    elif numbers and not n_words and found_beside_numbers:
        reason = f"{counted(rows_beside_numbers, 'value')} such as {found_beside_numbers[0]!r}"
        notes.append(f"column {name!r} is text because of {reason}; {_if_missing(found_beside_numbers)}")
    elif found and len(found) < n_values:
        rows = counted(token_rows, "row")
        notes.append(f"column {name!r} has the text {shorten(found)} in {rows}; {_if_missing(found)}")
    return "varchar", column


def _if_missing(tokens: list[str]) -> str:
    return f"if that means missing, add {shorten(tokens)} to the missing values (na_values, or --na-value)"
