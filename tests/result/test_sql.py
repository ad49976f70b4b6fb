"""Rules in other languages select the rows of covers(), for any names and values."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import math
import sqlite3
import string
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import causalrules as cr
from causalrules.exceptions import OptionError
from causalrules.language.propositions import Proposition
from causalrules.report import tables
from causalrules.result import sql as export
from causalrules.result.rule import RuleResult
from rulesets import HOSTILE, admissibility, rule_set, rule_sets, women_of_two_classes
from strategies import examples

LETTERS = "aB1 _-\"'`\\;%$/*()[]{}∧é日א\u202e👩\n\r\t\0\x1b\u2028"
NAMES = st.text(st.sampled_from(LETTERS.replace("\0", "")), min_size=1, max_size=8) | st.sampled_from(
    ["select", "x; DROP TABLE data; --", "<script>alert(1)</script>", "rowid", "x" * 5000, '"', "``", "''"]
)
TEXTS = st.text(st.sampled_from(LETTERS), max_size=6) | st.sampled_from(
    ["' OR 1 = 1 --", "'; DROP TABLE data; --", "\\' OR 1=1 --", "NULL", "NaN", "1", "true", "x" * 5000, "a", "A"]
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [0.1, 1 / 3, 2**63 * 1.0, 1e16, 5e-324, -0.0, 1e300, 0.1 + 0.2, 9007199254740993.0, 7.925]
)
COLUMNS: dict[str, tuple[st.SearchStrategy[Any], str, str]] = {
    # each kind of column: its values, and its types in DuckDB and SQLite
    "integer": (st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), "BIGINT", "INTEGER"),
    "float": (FLOATS | st.sampled_from([math.nan, 1.5, 2.5]), "DOUBLE", "REAL"),
    "text": (TEXTS, "VARCHAR", "TEXT COLLATE NOCASE"),
    "boolean": (st.booleans(), "BOOLEAN", "INTEGER"),
    "date": (st.dates(), "DATE", "TEXT"),
    "datetime": (st.datetimes(), "TIMESTAMP", "TEXT"),
    "time": (st.times(), "TIME", "TEXT"),
}
# the microseconds that fit into 64 bits
DURATIONS = st.timedeltas(dt.timedelta(days=-106_000_000), dt.timedelta(days=106_000_000))
DUCKDB = duckdb.connect()  # a new one for each example would take most of the time
ORDERED = {"integer", "float", "date", "datetime", "time"}


@st.composite
def tables_and_rules(draw: st.DrawFn) -> tuple[dict[str, list[Any]], dict[str, str], list[list[Proposition]]]:
    """Draw a table with missing values, and rules whose values occur in it."""
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique_by=str.casefold))
    kinds = {name: draw(st.sampled_from(sorted(COLUMNS))) for name in names}
    n_rows = draw(st.integers(1, 8))
    columns = {
        name: draw(st.lists(st.none() | COLUMNS[kind][0], min_size=n_rows, max_size=n_rows))
        for name, kind in kinds.items()
    }
    conditions = [
        Proposition(name, operator, value)
        for name, kind in kinds.items()
        for value in columns[name]
        if value is not None and value == value
        for operator in (("=", "<=", ">=") if kind in ORDERED else ("=",))
    ]
    if not conditions:
        columns[names[0]][0] = 1
        kinds[names[0]] = "integer"
        columns[names[0]] = [1 if value is not None else None for value in columns[names[0]]]
        conditions = [Proposition(names[0], "=", 1)]
    rules = draw(st.lists(st.lists(st.sampled_from(conditions), min_size=1, max_size=3), min_size=1, max_size=3))
    return columns, kinds, rules


def covered(columns: dict[str, list[Any]], kinds: dict[str, str], rules: list[list[Proposition]]) -> list[int]:
    """Return the rows that covers() selects, by at least one of the rules."""
    types: dict[str, Any] = {"integer": "Int64", "float": "float64", "boolean": "boolean"}
    frame = pd.DataFrame(
        {
            name: pd.array([pd.NA if value is None else value for value in values], dtype=types[kinds[name]])
            if kinds[name] in ("integer", "boolean")
            else np.array([math.nan if value is None else value for value in values], dtype=float)
            if kinds[name] == "float"
            else pd.Series(values, dtype=object)
            for name, values in columns.items()
        }
    )
    either = np.zeros(len(frame), np.bool_)
    for conditions in rules:
        either |= RuleResult.from_counts(conditions, 1, 1, 1, 1, [{}], 2.0, "reliable").covers(frame)
    return np.flatnonzero(either).tolist()


def selected(dialect: str, columns: dict[str, list[Any]], kinds: dict[str, str], clause: str) -> list[int]:
    """Return the rows that a real database selects."""
    connection: Any = DUCKDB if dialect == "duckdb" else sqlite3.connect(":memory:")
    mark = '"' if dialect == "duckdb" else "`"
    names = [mark + name.replace(mark, mark * 2) + mark for name in columns]
    declared = [
        f"{name} {COLUMNS[kinds[key]][1 if dialect == 'duckdb' else 2]}"
        for name, key in zip(names, columns, strict=True)
    ]
    place = f"{mark}the place of the row{mark}"
    connection.execute("DROP TABLE IF EXISTS data")
    connection.execute(f"CREATE TABLE data ({place} INTEGER, {', '.join(declared)})")
    for number, row in enumerate(zip(*columns.values(), strict=True)):
        values = [value if dialect == "duckdb" else _in_sqlite(value) for value in row]
        connection.execute(f"INSERT INTO data VALUES ({', '.join('?' * (len(row) + 1))})", [number, *values])
    found = connection.execute(f"SELECT {place} FROM data WHERE {clause} ORDER BY {place}").fetchall()
    assert connection.execute("SELECT count(*) FROM data").fetchall() == [(len(next(iter(columns.values()))),)]
    if dialect == "sqlite":
        connection.close()
    return [number for (number,) in found]


def _in_sqlite(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ")
    return value.isoformat() if isinstance(value, (dt.date, dt.time)) else value


@given(tables_and_rules())
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@example(
    (
        {"x": [math.nan, 1.5, None, 2.5]},
        {"x": "float"},
        [[Proposition("x", ">=", 1.5)]],
    )
)
@example(
    (
        {"x": ["a", "A", None, "' OR 1 = 1 --"]},
        {"x": "text"},
        [[Proposition("x", "=", "' OR 1 = 1 --")], [Proposition("x", "=", "a")]],
    )
)
@example(
    (
        {"x": ["a\0b", "A\0B"]},
        {"x": "text"},
        [[Proposition("x", "=", "a\0b")]],
    )
)
@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_sql_selects_the_rows_that_the_rules_cover(
    dialect: str, drawn: tuple[dict[str, list[Any]], dict[str, str], list[list[Proposition]]]
) -> None:
    columns, kinds, rules = drawn
    assert selected(dialect, columns, kinds, export.where(rules, dialect)) == covered(columns, kinds, rules)


@given(tables_and_rules())
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_python_selects_the_rows_that_the_rule_covers(
    drawn: tuple[dict[str, list[Any]], dict[str, str], list[list[Proposition]]],
) -> None:
    columns, kinds, (conditions, *_) = drawn
    made: dict[str, Any] = {}
    exec(export.python(conditions, "chosen"), made)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert [place for place, row in enumerate(rows) if made["chosen"](row)] == covered(columns, kinds, [conditions])


@given(tables_and_rules())
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "python"])
def test_a_row_has_the_number_of_the_first_rule_that_covers_it(
    dialect: str, drawn: tuple[dict[str, list[Any]], dict[str, str], list[list[Proposition]]]
) -> None:
    columns, kinds, rules = drawn
    number = [-1] * len(next(iter(columns.values())))
    for place in reversed(range(len(rules))):
        for row in covered(columns, kinds, [rules[place]]):
            number[row] = place
    if dialect == "python":
        made: dict[str, Any] = {}
        exec(export.python_case(rules), made)
        assert [
            made["assign"](dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)
        ] == number
        return
    for place in range(-1, len(rules)):
        clause = f"{export.case(rules, dialect)} = {place}"
        assert selected(dialect, columns, kinds, clause) == [row for row, each in enumerate(number) if each == place]


NANOSECONDS = st.integers(-3000, 3000) | st.integers(-(2**62), 2**62)


@given(st.lists(NANOSECONDS, min_size=1, max_size=6), st.sampled_from(["=", "<=", ">="]))
@settings(deadline=None, max_examples=examples(40, 100))
def test_nanoseconds_belong_to_their_microsecond_everywhere(nanoseconds: list[int], operator: str) -> None:
    times = np.array(nanoseconds, "M8[ns]")
    value = times[:1].astype("M8[us]").astype(dt.datetime)[0]
    condition = Proposition("t", operator, value)
    rule = RuleResult.from_counts([condition], 1, 1, 1, 1, [{}], 2.0, "reliable")
    expected = rule.covers({"t": times}).tolist()
    assert rule.covers(duckdb.from_arrow(pa.table({"t": times}))).tolist() == expected
    DUCKDB.execute("CREATE OR REPLACE TABLE data (place INTEGER, t TIMESTAMP_NS)")
    lite = sqlite3.connect(":memory:")
    lite.execute("CREATE TABLE data (place INTEGER, t TEXT)")
    # With the fewest digits, and with all nine.
    for place, text in enumerate(np.datetime_as_string(times)):
        DUCKDB.execute("INSERT INTO data VALUES (?, ?::TIMESTAMP_NS)", [place, str(text)])
        few = text.replace("T", " ").rstrip("0").removesuffix(".")
        lite.executemany("INSERT INTO data VALUES (?, ?)", [(place, few), (place, text.replace("T", " "))])
    chosen = [place for place, each in enumerate(expected) if each]
    for database, dialect, times_each in ((DUCKDB, "duckdb", 1), (lite, "sqlite", 2)):
        found = database.execute(f"SELECT place FROM data WHERE {export.where([[condition]], dialect)}").fetchall()
        assert sorted(place for (place,) in found) == sorted(chosen * times_each)
    lite.close()
    made: dict[str, Any] = {}
    exec(export.python([condition]), made)
    assert [made["covers"]({"t": pd.Timestamp(moment)}) for moment in times] == expected


@pytest.mark.parametrize("categories", [[3, 1, 2], [0.5, 2.0, 1.0], [True, False, True], ["b", "a", "c"]])
def test_categories_keep_their_type(categories: list[Any]) -> None:
    frame = pd.DataFrame({"c": pd.Categorical(categories * 4), "y": [1, 0, 0] * 4})
    rule = cr.discover(frame, "y", k=1)[0]
    rows = [{"c": value} for value in categories * 4]
    made: dict[str, Any] = {}
    exec(rule.to_python(), made)
    assert [made["covers"](row) for row in rows] == rule.covers(frame).tolist()
    assert rule.covers({"c": categories * 4}).tolist() == rule.covers(frame).tolist()
    assert rule.conditions[0].to_dict()["type"] == type(categories[0]).__name__


@given(FLOATS)
@example(-1.6644510868320839e-292)
@example(8.02152382064803e-295)
@example(7.313321e53)
def test_floats_are_exact_in_every_dialect(value: float) -> None:
    lite = sqlite3.connect(":memory:")
    lite.execute("CREATE TABLE data (x REAL)")
    lite.execute("INSERT INTO data VALUES (?)", [value])
    clause = export.where([[Proposition("x", "=", value)]], "sqlite")
    assert lite.execute(f"SELECT count(*) FROM data WHERE {clause}").fetchall() == [(1,)]
    lite.close()
    assert float(export.where([[Proposition("x", "=", value)]], "postgres").removeprefix('"x" = ')) == value


def test_a_rule_that_nan_would_satisfy_in_the_database_does_not_select_it() -> None:
    for dialect in ("duckdb", "postgres"):
        guarded = export.where([[Proposition("x", ">=", 1.5)]], dialect)
        assert guarded.count("Infinity") == 1
        # an upper bound of the user's excludes it already
        assert "Infinity" not in export.where([[Proposition("x", ">=", 1.5), Proposition("x", "<=", 2.5)]], dialect)


# where "b" and "B" differ, though columns in SQLite are declared case-insensitive
@pytest.mark.parametrize("order", [("S", "M", "L", "XL"), (30, 4, 100, 7), ("b", "a", "c", "B"), ("B", "a", "c", "b")])
def test_ordered_categories_keep_their_order(order: tuple[Any, ...]) -> None:
    values = [order[0], order[2], order[1], None, order[3], order[0], order[2]]
    size = pd.Series(values, dtype=pd.CategoricalDtype(list(order), ordered=True))
    rules = cr.discover({"size": size, "y": [0, 1, 1, 0, 1, 0, 1]}, target="y", k=20, max_length=1)
    rule = next(rule for rule in rules if str(rule) == f"size ≥ {order[1]}")
    expected = np.flatnonzero(rule.covers({"size": size})).tolist()
    assert expected == [1, 2, 4, 6]
    # and if the column holds plain values, without an order or with another
    assert np.flatnonzero(rule.covers({"size": values})).tolist() == expected
    kind = "text" if isinstance(order[0], str) else "integer"
    for dialect in ("duckdb", "sqlite"):
        assert selected(dialect, {"size": values}, {"size": kind}, rule.to_sql(dialect)) == expected
    made: dict[str, Any] = {}
    exec(rule.to_python(), made)
    assert [place for place, value in enumerate(values) if made["covers"]({"size": value})] == expected
    assert cr.RuleSet.from_json(rules.to_json()) == rules


def test_postgres_reads_backslashes_alike_under_both_settings() -> None:
    clause = export.where([[Proposition("x", "=", "\\' OR 1=1 --")]], "postgres")
    assert clause == "\"x\" = E'\\\\'' OR 1=1 --'"
    # no row contains text that PostgreSQL cannot hold
    assert export.where([[Proposition("x", "=", "a\0b")]], "postgres") == "FALSE"
    assert export.where([[Proposition("x", "=", "\ud800")]], "postgres") == "FALSE"


def test_typed_literals() -> None:
    day, moment = dt.date(2020, 2, 29), dt.datetime(2020, 2, 29, 12, tzinfo=dt.UTC)
    written = {
        dialect: export.where(
            [[Proposition("d", "<=", day), Proposition("t", ">=", moment), Proposition("b", "=", True)]], dialect
        )
        for dialect in export.DIALECTS
    }
    zoned = "TIMESTAMPTZ '2020-02-29 12:00:00+00:00'"
    assert written["postgres"] == f'"b" = TRUE AND "d" <= DATE \'2020-02-29\' AND "t" >= {zoned}'
    assert written["sqlite"] == "`b` = 1 AND `d` <= '2020-02-29' AND `t` >= '2020-02-29 12:00:00+00:00'"
    assert "INTERVAL '1500000 microseconds'" in export.where(
        [[Proposition("x", "<=", dt.timedelta(seconds=1.5))]], "postgres"
    )


@given(DURATIONS, st.lists(DURATIONS, min_size=1, max_size=5))
@settings(deadline=None, max_examples=30)
def test_durations_in_duckdb(value: dt.timedelta, others: list[dt.timedelta]) -> None:
    connection = DUCKDB
    connection.execute("CREATE OR REPLACE TABLE data (x INTERVAL)")
    for other in (value, *others):
        connection.execute("INSERT INTO data VALUES (to_microseconds(?))", [other // dt.timedelta(microseconds=1)])
    clause = export.where([[Proposition("x", "<=", value)]])
    found = connection.execute(f"SELECT count(*) FROM data WHERE {clause}").fetchall()[0][0]
    assert found == 1 + sum(other <= value for other in others)
    with pytest.raises(OptionError, match="SQLite does not have"):
        export.where([[Proposition("x", "<=", value)]], "sqlite")


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800"])
def test_a_name_that_sql_cannot_write_is_an_error(name: str) -> None:
    with pytest.raises(OptionError, match="rename it"):
        export.where([[Proposition(name, "=", 1)]])


def test_invalid_requests_are_an_error() -> None:
    with pytest.raises(OptionError, match=r"'mysql'.*'duckdb', 'postgres', 'sqlite'"):
        women_of_two_classes().to_sql("mysql")
    with pytest.raises(OptionError, match="name of a function"):
        women_of_two_classes().to_python("os.system('x')")


def test_sqlite_says_so_when_a_column_is_not_there() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE data (sex TEXT)")
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        connection.execute(f"SELECT * FROM data WHERE {export.where([[Proposition('gender', '=', 'f')]], 'sqlite')}")
    connection.close()


def test_a_list_of_rules_selects_what_any_of_them_covers() -> None:
    passengers = cr.datasets.titanic(library="pandas")
    rules = cr.discover(passengers, target="survived", k=5)
    expected = np.logical_or.reduce([rule.covers(passengers) for rule in rules])
    found = duckdb.sql(f"SELECT count(*) FROM passengers WHERE {rules.to_sql()}").fetchall()
    assert found == [(int(expected.sum()),)]
    assert rule_set().to_sql() == "FALSE"


@given(rule_sets())
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_tables_keep_their_shape_with_hostile_names(rules: cr.RuleSet) -> None:
    lines = rules.to_markdown().splitlines()
    for line in lines[: 2 + len(rules)]:
        assert line.replace("\\|", "").count("|") == len(tables.headings(rules)) + 1
        assert "<" not in line
    latex = rules.to_latex()
    rows = [line for line in latex.splitlines() if line.endswith("\\\\")]
    assert len(rows) == len(rules) + 1
    for row in rows:
        assert row.replace("\\&", "").count("&") == len(tables.headings(rules)) - 1
        plain = row.replace("\\\\", "")
        assert all(plain[place - 1] == "\\" for place, letter in enumerate(plain) if letter in "%#_")
    assert latex.count("{") - latex.count("\\{") == latex.count("}") - latex.count("\\}")


def test_tables_include_the_missing_graph_caveat_and_the_evidence() -> None:
    rules = cr.discover(cr.datasets.kidney_stones(library="dict"), "success", control="size", k=2)
    for table in (rules.to_markdown(), rules.to_latex()):
        assert "No causal graph given: these are associations" in table
        assert "adjusted p" not in table
    asked = rules.trust(permutations=39, replicates=3, progress=False)
    for table in (asked.to_markdown(), asked.to_latex()):
        heading, *_ = [line for line in table.splitlines() if "at least" in line]
        assert heading.count("evidence") == heading.count("adjusted p") == 1
        for rule in asked:
            assert rule.verdict.evidence in table
            assert f"{rule.p_value:.{2 if rule.p_sign == '≈' else 3}g}" in table
    graph = "size -> treatment; size -> success; treatment -> success"
    admissible = cr.discover(cr.datasets.kidney_stones(library="dict"), "success", control="size", graph=graph)
    assert "o graph was given" not in admissible.to_markdown()


def _keys(payload: Any) -> set[str]:
    if isinstance(payload, dict):
        return {*payload, *(key for value in payload.values() for key in _keys(value))}
    return {key for value in payload for key in _keys(value)} if isinstance(payload, list) else set()


def test_every_field_of_the_json_is_documented() -> None:
    graph = "size -> treatment; size -> success; treatment -> success"
    rules = cr.discover(cr.datasets.kidney_stones(), "success", control="size", graph=graph)
    payload = json.loads(rules.to_json())
    unknown: Any = {"x": [1, 2, None, 4, 5, 6] * 20, "y": [0, 1] * 60, "cost": [number / 7 for number in range(120)]}
    others = [json.loads(cr.discover(unknown, target, actionable="x").to_json()) for target in ("y", "cost")]
    for inner in (
        payload["admissibility"],
        payload["versions"],
        *(each["versions"] for each in others),
        *(rule["identification"] for rule in payload["rules"]),
    ):
        inner.clear()  # documented elsewhere
    for rule in (rule for each in (payload, *others) for rule in each["rules"]):
        for stratum in rule["strata"]:
            stratum["labels"].clear()
    page = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
    keys = set().union(*map(_keys, (payload, *others)))
    assert {"undecided", "covered", "scored"} <= keys
    assert len(keys) > 60
    assert [key for key in sorted(keys) if f"`{key}`" not in page] == []
    assert payload["schema"] in page
    assert f'"{payload["claim"]}"' in page


def test_markdown_and_latex_spell_a_rule() -> None:
    rules = rule_set(women_of_two_classes())
    assert "| 1 | class ≤ 2 ∧ sex = female | 0.6960 | 0.5767 | 0.6960 |" in rules.to_markdown()
    assert "1 & class $\\le$ 2 $\\wedge$ sex = female & 0.6960 & 0.5767 &" in rules.to_latex()
    named = cr.evaluate(cr.datasets.titanic(), rules[0].text, "survived")
    assert "| 1 | class ≤ 2 ∧ sex = female | 0.6960 | 0.6401 to 0.7353 |" in named.to_markdown()
    assert "proven optimal" in rules.to_latex().lower()
    violated = dataclasses.replace(rules, admissibility=admissibility("violated"))
    for table in (violated.to_markdown(), violated.to_latex()):
        assert "conservative association" in table
        assert "effect" not in table
    hostile = [name for name in HOSTILE if name and name.isprintable()]
    for name in hostile:
        rule = RuleResult.from_counts([Proposition(name, "=", "$x_1^2$")], 1, 1, 1, 1, [{}], 2.0, "reliable")
        body = rule_set(rule).to_latex().splitlines()
        (line,) = [line for line in body if "x\\_1" in line]
        assert "\\$x\\_1\\textasciicircum{}2\\$" in line
    assert not set(string.whitespace) - {" ", "\n"} & set(rules.to_latex())


@pytest.mark.parametrize("name", ["class", "None", "two words", "1st", ""])
def test_a_function_cannot_have_every_name(name: str) -> None:
    with pytest.raises(OptionError, match=r"cannot be the name of a function"):
        export.python([Proposition("x", "=", 1)], name)


@pytest.mark.parametrize("name", ["*/ 1 = 1 --", "/* open", "*/*", "*//*", "line\nbreak; DROP", "'\"`", "/*/", "\x00"])
def test_hostile_control_names_stay_within_the_comment(name: str) -> None:
    condition = [Proposition("n", ">=", 2)]
    for dialect, connection in (("duckdb", duckdb.connect()), ("sqlite", sqlite3.connect(":memory:"))):
        text = export.where([condition, [Proposition("n", "=", 0)]], dialect, [[name, "age"], []])
        assert text.count("/*") == text.count("*/") == 1
        assert "adjusted for" in text
        connection.execute("CREATE TABLE t AS SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2")
        assert connection.execute(f"SELECT count(*) FROM t WHERE {text}").fetchone() == (2,)
