"""Columns declared randomised: those drawn by lot are balanced, however they were drawn; those of choice are not."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from benchmarks import balance as regimes
from hypothesis import given
from hypothesis import strategies as st

import causalrules as cr
from causalrules.data.reading import read
from causalrules.estimators import independence
from causalrules.question import Question
from causalrules.report import view
from causalrules.result.declared import Declared
from causalrules.trust.declared import balance_of

DRAWN = [name for name in regimes.REGIMES if not name.startswith("taken")]


def declared(table: dict[str, Any], control: tuple[str, ...], **options: Any) -> Declared:
    question = Question(target="y", randomised=("w",), **options)
    (found,) = balance_of(read(table).observed("y", options.get("weights")), question, control)
    return found


def choice(n: int = 1000, seed: int = 0) -> dict[str, Any]:
    return regimes.REGIMES["taken by choice, odds × 2.7 per unit of log income"](np.random.default_rng([seed, n]))


@pytest.mark.parametrize("name", DRAWN)
def test_what_is_drawn_by_lot_raises_no_alert(name: str) -> None:
    assert regimes.alerts(name, 4) == 0


def test_what_people_choose_does() -> None:
    assert regimes.alerts("taken by choice, odds × 2.7 per unit of log income", 4) == 4
    assert regimes.alerts("taken by the richer half of 40 villages", 4) == 4


def test_p_values_are_uniform_where_a_column_is_drawn() -> None:
    rng, found = np.random.default_rng(0), []
    for _ in range(400):
        stratum = rng.integers(0, 5, 200)
        a = (rng.random(200) < 0.1 + 0.2 * stratum).astype(float)
        b = np.exp(rng.normal(size=200)) + stratum
        found.append(independence.drawn(a[:, None], np.asarray(b, np.float64)[:, None], stratum, np.ones(200)).p_value)
    assert 0.02 < np.mean(np.array(found) < 0.05) < 0.09
    assert 0.43 < np.mean(np.array(found) < 0.5) < 0.57


@given(st.integers(0, 2**32 - 1))
def test_the_covariance_is_that_of_all_shuffled_tables(seed: int) -> None:
    rng = np.random.default_rng(seed)
    stratum = np.repeat([0, 1], [5, 4])
    a, b = rng.normal(size=9), rng.normal(size=9)
    test = independence.drawn(a[:, None], b[:, None], stratum, np.ones(9))
    shuffled = np.concatenate([rng.permuted(np.tile(part, (20_000, 1)), axis=1) for part in (a[:5], a[5:])], axis=1)
    apart = b - np.array([b[:5].mean(), b[5:].mean()])[stratum]
    sums = shuffled @ apart
    expected = (a @ apart - sums.mean()) ** 2 / sums.var()
    assert test.degrees == 1
    assert test.statistic == pytest.approx(expected, rel=0.15, abs=0.05)


def test_a_weight_is_that_many_rows() -> None:
    table = choice(200)
    times = np.random.default_rng(1).integers(1, 4, len(table["y"]))
    repeated = {name: np.repeat(column, times) for name, column in table.items()}
    weighed = declared(table | {"times": times}, ("income", "age"), weights="times")
    assert weighed.unbalanced[0].standardised == pytest.approx(
        declared(repeated, ("income", "age")).unbalanced[0].standardised
    )


def test_a_control_that_decided_the_rates_is_named() -> None:
    table = regimes.REGIMES["other rates by region, 2,000 rows"](np.random.default_rng(0))
    assert declared(table, regimes.CONTROLS).drawn_by == ("region",)
    found = declared(table, ("tested", "age"))  # without the region, what goes with it is unbalanced
    assert [each.column for each in found.unbalanced] == ["tested"]
    only = declared(table, ("region",))
    assert only.drawn_by == ("region",)
    assert "balance beyond that not checked" in only.sentence


def test_rows_of_a_drawn_village_count_as_one() -> None:
    table = regimes.REGIMES["half of 10 villages"](np.random.default_rng(0))
    assert not declared(table, regimes.CONTROLS, groups="village").unbalanced
    assert declared(table, regimes.CONTROLS).unbalanced  # as if each person had been drawn


def test_a_graph_says_what_was_there_before() -> None:
    table = choice() | {"after": np.arange(1000)}
    graph = "dag { w -> y; income -> y; y -> after }"
    rules = cr.discover(table, "y", actionable="w", randomised="w", graph=graph)
    assert rules.declared[0].against == ("income",)
    assert rules[0].verdict.claim == "by design, but unbalanced"


def test_an_unbalanced_column_is_never_strong_and_always_alerted() -> None:
    table = choice(2000)
    table["y"] = table["w"] + np.random.default_rng(0).normal(size=len(table["w"]))
    rules = cr.discover(table, "y", actionable="w", randomised="w", control="income")
    (rule,) = rules
    assert rule.verdict.evidence == "supported"
    assert not rule.verdict.strong
    assert rule.verdict.claim == "by design, but unbalanced"
    assert rules.alerts[0].kind == "unbalanced"
    assert rules.alerts[0].columns == ("w",)
    assert rules.claim == "unchecked"
    assert "! Unbalanced: w is declared randomised" in str(rules)
    page = view.view(rules)
    assert (page.tone, page.alerts[0].title) == ("bad", "Unbalanced")
    assert cr.RuleSet.from_json(rules.to_json()) == rules
    payload = json.loads(rules.to_json())
    del payload["declared"], payload["alerts"]
    assert cr.RuleSet.from_json(json.dumps(payload))[0].verdict.claim == "by design"


def test_a_claim_says_what_it_was_checked_against() -> None:
    rng = np.random.default_rng(0)
    table: dict[str, Any] = {"w": rng.integers(0, 2, 500), "z": rng.normal(size=500), "u": rng.normal(size=500)}
    table["y"] = table["w"] + rng.normal(size=500)
    rules = cr.discover(table, "y", actionable="w", randomised="w", control=["z", "u"])
    assert rules[0].verdict.claim_reason == "w is declared randomised, given the controls; balanced in u and z"
    assert rules[0].verdict.strong
    assert not rules.alerts
    alone = cr.evaluate(table, "w = 1", "y", randomised="w")
    assert "balance not checked: name columns that were there before as controls" in alone[0].verdict.claim_reason
    assert dataclasses.replace(alone, declared=())[0].verdict.claim_reason == "w is declared randomised"
