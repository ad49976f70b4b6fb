"""Rules as conditions in SQL and Python. Names and values are quoted as identifiers and literals, never run as code."""

from __future__ import annotations

import datetime as dt
import itertools
import keyword
import textwrap
from collections.abc import Iterable, Sequence

from causalrules.data.columns import MICROSECOND, Scalar
from causalrules.exceptions import OptionError
from causalrules.language.propositions import Proposition
from causalrules.text import listed, printable, shorten

DIALECTS = ("duckdb", "postgres", "sqlite")

# SQLite reads literals of up to these digits as the nearest double, but only if the power of ten that scales them, at
# most 22, is exact.
_SAFE_DIGITS = 15
_SAFE_EXPONENT = 8
_LARGEST_INTEGER = 2**63
_LARGEST_POWER = 62


def where(
    rules: Iterable[Sequence[Proposition]], dialect: str = "duckdb", controls: Iterable[Sequence[str]] = ()
) -> str:
    """Return a condition for WHERE that is true exactly on the rows that at least one of the rules covers.

    A missing value (NULL, and NaN among floats) satisfies no condition. A comment says which controls each rule was
    adjusted for, if they are given.

    >>> print(where([[Proposition("sex", "=", "female"), Proposition("class", "<=", 2)]]))
    "class" <= 2 AND "sex" = 'female'
    >>> print(where([[Proposition("class", "<=", 2)]], controls=[["fare", "a */ b"]]))
    "class" <= 2 /* adjusted for 'a * / b' and fare */
    """
    if dialect not in DIALECTS:
        raise OptionError(f"no dialect {dialect!r}; the dialects are {shorten(DIALECTS)}")
    each = itertools.zip_longest(list(rules), list(controls), fillvalue=())
    clauses = [_sql_rule(conditions, dialect) + _comment(control) for conditions, control in each]
    return "\n OR ".join(f"({clause})" for clause in clauses) if len(clauses) > 1 else (clauses or ["FALSE"])[0]


def case(groups: Sequence[Sequence[Proposition]], dialect: str = "duckdb") -> str:
    """Return an expression with the number of the first group that covers a row, from 0; −1 if none does.

    A group without conditions covers every row.

    >>> print(case([[Proposition("sex", "=", "female")], [Proposition("class", "<=", 2)]]))
    CASE
     WHEN "sex" = 'female' THEN 0
     WHEN "class" <= 2 THEN 1
     ELSE -1
    END
    """
    everybody = next((number for number, conditions in enumerate(groups) if not conditions), None)
    lines = [
        f" WHEN {where([conditions], dialect)} THEN {number}\n" for number, conditions in enumerate(groups[:everybody])
    ]
    otherwise = -1 if everybody is None else everybody
    return f"CASE\n{''.join(lines)} ELSE {otherwise}\nEND" if lines else str(otherwise)


def python(conditions: Sequence[Proposition], name: str = "covers") -> str:
    """Return the source of a function that tests whether a row (a mapping of names to values) satisfies the conditions.

    None and nan are missing and satisfy no condition. The function needs only the standard library.

    >>> print(python([Proposition("sex", "=", "female"), Proposition("class", "<=", 2)]))
    def covers(row):
        return all(
            value is not None and satisfied(value)
            for value, satisfied in [
                (row['class'], lambda value: value <= 2),
                (row['sex'], lambda value: value == 'female'),
            ]
        )
    """
    _require_name(name)
    lines = []
    for condition in sorted(conditions, key=str):
        if condition.satisfying:
            # Categories such as intervals are stored as text.
            value = "str(value)" if isinstance(condition.value, str) else "value"
            test = f"{value} in {condition.satisfying!r}"
        elif (end := _end(condition)) is not None:
            test = f"value < {end!r}" if condition.operator == "<=" else f"{condition.value!r} <= value < {end!r}"
        else:
            test = f"value {'==' if condition.operator == '=' else condition.operator} {condition.value!r}"
        lines.append(f"            (row[{condition.column!r}], lambda value: {test}),\n")
    dated = any(isinstance(condition.value, (dt.date, dt.time, dt.timedelta)) for condition in conditions)
    return (
        ("import datetime\n\n\n" if dated else "") + f"def {name}(row):\n"
        "    return all(\n"
        "        value is not None and satisfied(value)\n"
        "        for value, satisfied in [\n" + "".join(lines) + "        ]\n    )"
    )


def python_case(groups: Sequence[Sequence[Proposition]], name: str = "assign") -> str:
    """Return the source of a function that gives the number of the first group that covers a row; −1 if none does.

    >>> print(python_case([[Proposition("class", "<=", 2)]]))
    def assign(row):
        def group_0(row):
            return all(
                value is not None and satisfied(value)
                for value, satisfied in [
                    (row['class'], lambda value: value <= 2),
                ]
            )
    <BLANKLINE>
        groups = [group_0]
        return next((number for number, covers in enumerate(groups) if covers(row)), -1)
    """
    _require_name(name)
    dated, names = "import datetime\n\n\n", [f"group_{number}" for number in range(len(groups))]
    functions = [python(conditions, each) for conditions, each in zip(groups, names, strict=True)]
    return (
        dated * any(function.startswith(dated) for function in functions)
        + f"def {name}(row):\n"
        + "".join(f"{textwrap.indent(function.removeprefix(dated), '    ')}\n\n" for function in functions)
        + f"    groups = [{', '.join(names)}]\n"
        "    return next((number for number, covers in enumerate(groups) if covers(row)), -1)"
    )


def _require_name(name: str) -> None:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise OptionError(
            f"name = {name!r} cannot be the name of a function; use letters, digits and _, and no keyword of Python"
        )


def _comment(control: Sequence[str]) -> str:
    """Return a comment on what a rule was adjusted for, with comment marks in names broken up."""
    if not control:
        return ""
    words = printable(f"adjusted for {listed(sorted(control))}")
    return f" /* {words.replace('*/', '* /').replace('/*', '/ *')} */"


def _sql_rule(conditions: Sequence[Proposition], dialect: str) -> str:
    bounded = {condition.column for condition in conditions if condition.operator == "<="}
    terms = []
    for condition in sorted(conditions, key=str):
        terms.append(_sql_condition(condition, dialect))
        # NaN is greater than any number in SQL but missing here; an upper bound already excludes it.
        open_above = condition.operator == ">=" and not condition.satisfying and condition.column not in bounded
        nan = isinstance(condition.value, float) and open_above
        if nan and dialect != "sqlite":
            infinity = "CAST('Infinity' AS DOUBLE PRECISION)"
            terms.append(f"{_identifier(condition.column, dialect)} <= {infinity}")
    return " AND ".join(terms)


def _sql_condition(condition: Proposition, dialect: str) -> str:
    column = _identifier(condition.column, dialect)
    if condition.satisfying:
        literals = [_literal(condition.column, value, dialect) for value in condition.satisfying]
        possible = [literal for literal in literals if literal is not None]
        if dialect == "sqlite" and any(isinstance(value, str) for value in condition.satisfying):
            column += " COLLATE BINARY"  # IN compares by the collation of its left side alone
        return f"{column} IN ({', '.join(possible)})" if possible else "FALSE"
    literal = _literal(condition.column, condition.value, dialect)
    end = None if dialect == "postgres" else _end(condition)  # Postgres has no nanoseconds
    if end is not None:
        before = f"{column} < {_literal(condition.column, end, dialect)}"
        return before if condition.operator == "<=" else f"{column} >= {literal} AND {before}"
    return "FALSE" if literal is None else f"{column} {condition.operator} {literal}"


def _end(condition: Proposition) -> dt.datetime | None:
    """Return the exclusive end of a condition on datetimes, which includes the nanoseconds of its last microsecond."""
    if not isinstance(condition.value, dt.datetime) or condition.operator == ">=":
        return None
    try:
        return condition.value + MICROSECOND
    except OverflowError:  # nothing is later
        return None


def _identifier(name: str, dialect: str) -> str:
    if not name or "\0" in name or not _encodable(name):
        raise OptionError(f"no SQL can name the column {name!r:.60}; rename it")
    # If there is no column x, SQLite reads "x" as the text 'x' and silently finds no rows.
    mark = "`" if dialect == "sqlite" else '"'
    return mark + name.replace(mark, mark * 2) + mark


def _literal(column: str, value: Scalar, dialect: str) -> str | None:
    """Return the value as SQL; None for text that databases of this dialect cannot hold."""
    if isinstance(value, bool):
        return str(int(value)) if dialect == "sqlite" else str(value).upper()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value, dialect)
    if isinstance(value, str):
        return _text(value, dialect)
    if isinstance(value, dt.timedelta):
        if dialect == "sqlite":
            raise OptionError(f"column {column!r:.60} holds durations, which SQLite does not have; make it a number")
        microseconds = value // dt.timedelta(microseconds=1)
        return f"to_microseconds({microseconds})" if dialect == "duckdb" else f"INTERVAL '{microseconds} microseconds'"
    if isinstance(value, dt.datetime):
        kind, text = "TIMESTAMPTZ" if value.tzinfo else "TIMESTAMP", value.isoformat(sep=" ")
        if dialect == "sqlite" and value.microsecond and not value.tzinfo:
            text = text.rstrip("0")  # the smallest text of all ways to write the time
    else:
        kind, text = "DATE" if isinstance(value, dt.date) else "TIME", value.isoformat()
    # SQLite stores dates and times as text in this form.
    return f"'{text}'" if dialect == "sqlite" else f"{kind} '{text}'"


def _float(value: float, dialect: str) -> str:
    """Return a literal for exactly this double; integers without a point, so that integer columns compare exactly."""
    if value.is_integer() and abs(value) < _LARGEST_INTEGER:
        return str(int(value))
    digits = repr(value)
    if dialect == "duckdb":
        return digits if "e" in digits else f"{digits}e0"  # without an exponent it would be a decimal number
    if dialect == "sqlite":
        significand, _, exponent = digits.partition("e")
        if sum(map(str.isdigit, significand)) > _SAFE_DIGITS or abs(int(exponent or 0)) > _SAFE_EXPONENT:
            return _as_division(value)
    return digits


def _as_division(value: float) -> str:
    """Return the double as an integer divided or multiplied by powers of two, which is exact in any database."""
    numerator, denominator = value.as_integer_ratio()
    sign, power = "/", denominator.bit_length() - 1
    if denominator == 1:
        power = max(0, numerator.bit_length() - 53)
        sign, numerator = "*", numerator >> power
    text = str(numerator)
    while power > 0:
        text += f" {sign} CAST({2 ** min(power, _LARGEST_POWER)} AS REAL)"
        power -= _LARGEST_POWER
    return f"({text})"


def _text(value: str, dialect: str) -> str | None:
    if not _encodable(value) or ("\0" in value and dialect == "postgres"):
        return None
    if dialect == "postgres" and "\\" in value:
        # Independent of whether the server reads backslashes in plain strings as escapes.
        return "E'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
    # A NUL anywhere ends the text of a statement.
    null = "' || char(0) || '" if dialect == "sqlite" else "' || chr(0) || '"
    quoted = "'" + value.replace("'", "''").replace("\0", null) + "'"
    # A column may be declared case-insensitive.
    return f"{quoted} COLLATE BINARY" if dialect == "sqlite" else quoted


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
