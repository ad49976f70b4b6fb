"""Groups and policies as JSON, data frames, SQL and Python agree with what they are and whom they cover."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings

import causalrules as cr
from prescriptions import (
    CALL,
    CLAIMED,
    LETTER,
    NEW,
    OLD,
    SOUTH,
    claimed,
    policies,
    policy,
    segment,
    segment_lists,
    segments,
    step,
)

CUSTOMERS = cr.datasets.campaign()
LETTERS = cr.for_whom(
    CUSTOMERS, "letter = yes", "bought", context=["age", "region"], randomised="letter", permutations=99
)
POLICY = policy(
    step(OLD, SOUTH), step(NEW, action=(CALL,)), step(action=(LETTER,)), source=None, gain_over_baseline=0.02
)
JUNK: list[Any] = [None, True, -1, 10**400, 1e308, math.pi, "x", "", [], {}, [None], {"x": []}, [[1]]]
Read = Callable[[str], Any]


def places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to everything inside nested lists and objects."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way for key, each in items for way in ((*place, key), *places(each, (*place, key)))]


def changed(payload: Any, place: tuple[Any, ...], value: Any) -> str:
    copy = json.loads(json.dumps(payload))
    parent = copy
    for key in place[:-1]:
        parent = parent[key]
    parent[place[-1]] = value
    return json.dumps(copy)


# JSON


@given(segment_lists())
@settings(max_examples=40, deadline=None)
def test_any_groups_survive_json(found: cr.Segments) -> None:
    text = found.to_json()
    assert cr.Segments.from_json(text).to_json() == text
    json.loads(text, parse_constant=pytest.fail)


@given(policies())
@settings(max_examples=40, deadline=None)
def test_any_policy_survives_json(drawn: cr.Policy) -> None:
    text = drawn.to_json()
    assert cr.Policy.from_json(text).to_json() == text
    json.loads(text, parse_constant=pytest.fail)


def test_what_was_found_is_read_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "groups.json"
    path.write_text("older")
    LETTERS.to_json(path)
    assert cr.Segments.from_json(path) == LETTERS
    assert cr.Segments.from_json(path).claim == "by design"
    assert cr.Policy.from_json(POLICY.to_json()) == POLICY
    endless = segments(segment(low=-math.inf, contrast_high=math.inf))
    assert cr.Segments.from_json(endless.to_json()) == endless
    graph = "letter -> bought; age -> bought"
    identified = cr.for_whom(CUSTOMERS, "letter = yes", "bought", context="age", graph=graph, permutations=19)
    read = cr.Segments.from_json(identified.to_json())
    assert read == identified
    assert (read.claim, read.rule.identification) == ("identified", identified.rule.identification)


@pytest.mark.parametrize("claim", CLAIMED)
def test_the_claim_is_read_back(claim: str) -> None:
    assert cr.Segments.from_json(segments(segment(), rule=claimed(claim)).to_json()).claim == claim


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: repr(junk)[:20])
@pytest.mark.parametrize("written", [segments(segment()), segments(), POLICY], ids=["groups", "candidate", "policy"])
def test_a_corrupted_file_is_an_error_or_read_but_never_crashes(junk: Any, written: Any) -> None:
    document, n_read = json.loads(written.to_json()), 0
    for place in places(document):
        try:
            read = type(written).from_json(changed(document, place, junk))
        except cr.InputError:
            continue
        n_read += 1
        assert read.to_json()
        assert len(read.to_frame()) >= 0
        try:
            assert read.to_sql()
        except cr.OptionError:  # no SQL can name the column
            assert junk == ""
    assert n_read > 5  # texts and derived numbers are not read back


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("schema",), "causalrules/3", "has the schema 'causalrules/3'; this version reads 'causalrules/for-whom/1'"),
        (("segments", 0, "p_value"), 1.5, "p_value: 1.5 is not between 0 and 1"),
        (("segments", 0, "n_rows"), -1, "n_rows: -1 is not a count"),
        (("segments", 0, "effect"), "x", r"segments\[0\].effect must be a finite number"),
        (("segments", 0, "conditions", 0, "operator"), "!", "no operator '!'"),
        (("question", "max_context"), 3, "question: max_context = 3"),
        (("rule", "circumstances", "level"), None, "rule.circumstances.level must be a finite number"),
        (("n_groups",), None, "n_groups must be a whole number"),
    ],
)
def test_an_invalid_field_of_groups_is_named(place: tuple[Any, ...], value: Any, said: str) -> None:
    with pytest.raises(cr.InputError, match=said):
        cr.Segments.from_json(changed(json.loads(segments(segment()).to_json()), place, value))


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("claim",), "certain", "claim: 'certain' is not one of by design"),
        (("kind",), "odds", "kind: 'odds' is not one of binary, mean"),
        (("stopped",), "bored", "stopped: 'bored' is not one of optimal"),
        (("question", "cost"), [["letter"]], r"question.cost\[0\] must be a list of 2 items"),
        (("run", "seconds"), "x", "run.seconds must be a finite number"),
        (("single", "action"), "x", "single.action must be a list"),
        (("held_out", "over_today", "low"), None, "held_out.over_today.low must be a finite number"),
    ],
)
def test_an_invalid_field_of_a_policy_is_named(place: tuple[Any, ...], value: Any, said: str) -> None:
    with pytest.raises(cr.InputError, match=said):
        cr.Policy.from_json(changed(json.loads(POLICY.to_json()), place, value))


def test_each_reads_its_own_schema() -> None:
    rules = cr.evaluate(CUSTOMERS, "letter = yes", "bought")
    readers: dict[str, Any] = {"for-whom/1": cr.Segments, "policy/1": cr.Policy, "3": cr.RuleSet}
    answers: dict[str, Any] = {"for-whom/1": segments(), "policy/1": POLICY, "3": rules}
    for schema, written in answers.items():
        assert json.loads(written.to_json())["schema"] == f"causalrules/{schema}"
        for own, kind in readers.items():
            if own != schema:
                with pytest.raises(cr.DataError, match=f"has the schema 'causalrules/{schema}'"):
                    kind.from_json(written.to_json())


# Data frames


def test_a_frame_has_a_row_for_each_group_and_step() -> None:
    frame = segments(segment(), segment(NEW)).to_frame()
    assert isinstance(frame, dict)
    assert frame["group"] == ["age ≥ 50 ∧ region = south", "visits ≤ 1"]
    assert frame["contrast_low"] == [0.082, 0.082]
    assert (frame["evidence"], frame["claim"]) == (["supported"] * 2, ["unchecked"] * 2)
    assert isinstance(LETTERS.to_frame(), pd.DataFrame)
    polars = cr.for_whom(pl.from_pandas(CUSTOMERS), "letter = yes", "bought", context="age", permutations=19)
    assert isinstance(polars.to_frame(), pl.DataFrame)
    steps = POLICY.to_frame()
    assert steps["who"] == ["age ≥ 50 ∧ region = south", "visits ≤ 1", "everybody"]
    assert steps["action"] == ["letter = yes", "call = yes", "letter = yes"]
    assert steps["gain"] == [0.0212] * 3
    assert segments().to_frame()["group"] == []


# SQL and Python, on missing values too (names and values of every kind: tests/result/test_sql.py)


def numbered(table: pd.DataFrame, expression: str) -> list[int]:
    """Return the number of each row by DuckDB."""
    connection = duckdb.connect()
    connection.register("customers", table.assign(place=np.arange(len(table))))
    return [row[0] for row in connection.execute(f"SELECT {expression} FROM customers ORDER BY place").fetchall()]


MISSING = CUSTOMERS.assign(
    age=CUSTOMERS["age"].where(np.arange(len(CUSTOMERS)) % 7 > 0),
    region=CUSTOMERS["region"].where(np.arange(len(CUSTOMERS)) % 5 > 0, None),
    visits=CUSTOMERS["visits"].astype("Int64").where(np.arange(len(CUSTOMERS)) % 3 > 0),
)


@pytest.mark.parametrize("everybody", [True, False])
def test_sql_and_python_give_the_step_that_assign_gives(everybody: bool) -> None:
    given = policy(*POLICY[: 2 + everybody])
    steps = given.assign(MISSING).tolist()
    assert set(steps) == ({0, 1, 2} if everybody else {0, 1, -1})
    assert numbered(MISSING, given.to_sql()) == steps
    made: dict[str, Any] = {}
    exec(given.to_python("chosen"), made)
    rows = MISSING.astype(object).where(MISSING.notna(), None).to_dict("records")
    assert [made["chosen"](row) for row in rows] == steps


def test_sql_and_python_give_the_first_group_of_each_row() -> None:
    found = segments(segment(NEW), segment(OLD, SOUTH))
    first, second = (each.covers(MISSING) for each in found)
    groups = np.where(first, 0, np.where(second, 1, -1)).tolist()
    assert set(groups) == {-1, 0, 1}
    assert numbered(MISSING, found.to_sql()) == groups
    assert numbered(MISSING, f"coalesce({found[1].to_sql()}, FALSE)") == second.tolist()
    made: dict[str, Any] = {}
    exec(found.to_python() + "\n\n" + found[1].to_python(), made)
    rows = MISSING.astype(object).where(MISSING.notna(), None).to_dict("records")
    assert [made["group_of"](row) for row in rows] == groups
    assert [made["covers"](row) for row in rows] == second.tolist()


def test_without_steps_nobody_is_served() -> None:
    assert policy().to_sql() == "-1"
    assert numbered(MISSING, policy().to_sql()) == [-1] * len(MISSING)
    made: dict[str, Any] = {}
    exec(policy().to_python(), made)
    assert made["assign"]({}) == -1
    with pytest.raises(cr.OptionError, match="cannot be the name of a function"):
        policy().to_python("class")
