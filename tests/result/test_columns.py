"""Alerts about columns: identifiers, times and consequences raise one, conditions that can be brought about none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import causalrules as cr
from causalrules.language.names import says_identifier, says_time


def table(n: int = 400, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    before = rng.normal(size=n)
    return {
        "pidnum": rng.choice(np.arange(10_000, 990_000), n, replace=False),
        "income": rng.integers(0, 200, n) * 100,
        "days": rng.integers(20, 1200, n),
        "earny3": np.exp(before + 0.3 * rng.normal(size=n)),
        "treat": rng.integers(0, 2, n),
        "earny4": np.exp(before + 0.3 * rng.normal(size=n)),
    }


def kinds(rules: cr.RuleSet) -> dict[str, tuple[str, ...]]:
    return {alert.kind: alert.columns for alert in rules.alerts}


def test_each_column_raises_its_alert() -> None:
    rules = cr.evaluate(
        table(), ["pidnum <= 500000", "days >= 300", "earny3 >= 1", "treat = 1", "income >= 900"], "earny4"
    )
    assert kinds(rules) == {"leak suspected": ("earny3",), "identifier": ("pidnum",), "date or time": ("days",)}


def test_conditions_that_can_be_brought_about_raise_none() -> None:
    assert not cr.evaluate(table(), ["treat = 1", "income >= 900"], "earny4").alerts


def test_only_columns_of_the_rules_are_told() -> None:
    rules = cr.discover(table(), "earny4", actionable=["treat", "earny3", "pidnum"], k=1)
    assert kinds(rules) == {"leak suspected": ("earny3",)}


def test_a_column_that_explains_less_than_half_of_the_variance_is_no_leak() -> None:
    rng = np.random.default_rng(0)
    for noise, told in ((0.7, True), (1.4, False)):  # 67 % and 34 % of the variance
        x = rng.normal(size=2000)
        found = cr.evaluate({"x": x, "y": x + noise * rng.normal(size=2000)}, "x >= 0", "y")
        assert bool(found.alerts) is told


def test_a_strong_effect_of_a_column_drawn_by_lot_is_no_leak() -> None:
    treat = np.arange(400) % 2
    data = {"treat": treat, "y": 3.0 * treat + np.random.default_rng(0).normal(size=400)}
    assert kinds(cr.evaluate(data, "treat = 1", "y")) == {"leak suspected": ("treat",)}
    assert not cr.evaluate(data, "treat = 1", "y", randomised="treat").alerts


def test_identifiers_by_name_are_left_out_of_the_search() -> None:
    data = table() | {"customerId": table()["pidnum"] + 1}
    rules = cr.discover(data, "earny4", k=1)
    assert "customerId" not in rules.question.actions
    assert any("'customerId' is left out" in note for note in rules.notes)


@pytest.mark.parametrize("name", ["id", "ID", "customer_id", "patientID", "id_school", "case number", "primary-key"])
def test_names_of_identifiers(name: str) -> None:
    assert says_identifier(name, 100)


@pytest.mark.parametrize(
    "name",
    ["paid", "video", "identity", "number_of_children", "Num-of-doors", "NCredits", "key_worker", "period", "idle"],
)
def test_names_of_other_columns(name: str) -> None:
    assert not says_identifier(name, 100)
    assert not says_time(name, 100)


@pytest.mark.parametrize(
    "name", ["time", "followup_time", "survivalTime", "date", "time_to_event", "days", "follow_up"]
)
def test_names_of_times(name: str) -> None:
    assert says_time(name, 100)
    assert not says_time(name, 3)


@pytest.mark.parametrize("name", ["overtime", "sometimes", "DurationMonth", "years", "days_off", "update"])
def test_names_that_are_no_times(name: str) -> None:
    assert not says_time(name, 100)


def test_a_condition_in_all_of_whose_rows_the_outcome_happens_is_a_leak() -> None:
    rng = np.random.default_rng(0)
    visit, coin = (rng.random(4000) < 0.1).astype(int), rng.integers(0, 2, 4000)
    bought = visit * (rng.random(4000) < 0.1)  # too rare to explain much of the outcome
    data = {"bought": bought, "coin": coin, "visit": visit}
    (found,) = cr.evaluate(data, ["bought = 1", "coin = 1"], "visit").alerts
    assert found.columns == ("bought",)
    assert f"visit = 1 in all of the {bought.sum()} rows with bought = 1" in found.sentence
    (never,) = cr.evaluate(data | {"stayed": 1 - bought}, ["stayed = 0"], "visit", 0).alerts
    assert "visit = 0 in none of" in never.sentence
    assert not cr.evaluate(data, ["bought = 1"], "visit", randomised="bought").alerts
    # Three rows in a row happen by chance.
    few = data | {"few": (np.arange(4000) == np.flatnonzero(visit)[0]).astype(int)}
    assert not cr.evaluate(few, ["few = 1", "coin = 1"], "visit").alerts


def test_columns_that_add_up_to_the_target_are_a_leak() -> None:
    rng = np.random.default_rng(0)
    before, gained, age = rng.normal(70, 15, 1000), rng.normal(2, 8, 1000), rng.integers(20, 80, 1000)
    data = {"before": before, "after": before + gained, "age": age, "gained": gained}
    (found,) = cr.evaluate(data, "before <= 60 and after >= 75", "gained").alerts
    assert (found.kind, found.columns) == ("leak suspected", ("after", "before"))
    assert "100 % of the variance of gained" in found.sentence
    assert not cr.evaluate(data, "before <= 60 and age >= 40", "gained").alerts
