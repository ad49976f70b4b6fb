"""`rule.at_least`: the effect after the search, beside its verdict."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import causalrules as cr
from causalrules.estimators import bounds, scores
from causalrules.estimators.intervals import Grouped
from causalrules.estimators.sides import Side
from causalrules.report import rule_words


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([None, "significance", "simultaneous"]),
    st.fixed_dictionaries(
        {
            "direction": st.sampled_from(["increase", "decrease"]),
            "estimator": st.sampled_from(["pooled", "pooled", "reliable", "plugin"]),
            "error_rate": st.sampled_from([0.05, 0.5]),
            "control": st.sampled_from([None, "x0"]),
            "groups": st.sampled_from([None, None, "g"]),
            "k": st.integers(1, 4),
        }
    ),
)
def test_a_rule_has_a_bound_where_it_is_supported_and_only_there(
    seed: int, check: str | None, asked: dict[str, Any]
) -> None:
    rng = np.random.default_rng([5, seed])
    columns = planted(tuple(rng.uniform(0, 0.5, 2)), int(rng.integers(40, 400)), rng.uniform(0.01, 0.4), seed)
    if asked["estimator"] == "pooled" and rng.random() < 0.4:  # a mean
        columns["y"] = columns["y"] + rng.lognormal(0, 1, len(columns["y"]))
    rules = cr.discover(columns | {"g": np.arange(len(columns["y"])) // 3}, "y", **asked, max_length=2)
    if check is not None and len(rules):
        rules = getattr(rules, check)(79, n_jobs=1)
    for rule in rules:
        bound, sign = rule.at_least, rule.criterion.sign
        towards = sign * rule.effect > 0
        assert (bound is not None) == (rule.verdict.found and towards)
        if bound is not None:
            assert 0 <= sign * bound <= sign * rule.effect
        said = rule_words.bound(rule)
        assert (said == "none") == (rule.verdict.evidence == "not supported")
        assert said[0] not in "−-" or rule.criterion.decrease
        assert said.strip("−0.,") != ""
        assert pickle.loads(pickle.dumps(rule)).at_least == bound
    again = cr.RuleSet.from_json(rules.to_json())
    assert [rule.at_least for rule in again] == [rule.at_least for rule in rules]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(*[st.integers(0, 40)] * 4), min_size=1, max_size=1),
    st.floats(0.5, 5.0),
    st.floats(0.0, 0.3),
)
def test_without_its_own_spread_the_bound_is_above_0_where_the_score_is(
    counts: list[tuple[int, int, int, int]], beta: float, spread: float
) -> None:
    a, b, c, d = np.array(counts, float).T
    sides = Side.binary(a, b), Side.binary(c, d), Side.binary(a + c, b + d)
    variance = scores.pooled_variance(*sides) if (a + b).all() and (c + d).all() else 0.0
    if not variance > 0:
        return
    effect = float((a / (a + b) - c / (c + d))[0])
    margin = beta * math.sqrt(variance)
    found = bounds.simultaneous(effect, 0.0, sides, lambda own: max(margin, own))
    assert found is not None
    score = scores.pooled_effect(*sides) - margin
    assert (found.value > 1e-12) == (score > 1e-12) or abs(score) < 1e-9
    # A larger standard error never moves it away from 0.
    wider = bounds.simultaneous(effect, spread, sides, lambda own: max(margin, beta * own))
    assert wider is not None
    assert wider.value <= found.value + 1e-12


def planted(effects: tuple[float, ...], n: int, base: float = 0.3, seed: int = 0, share: float = 0.4) -> dict[str, Any]:
    rng = np.random.default_rng([77, seed, n, round(1000 * base)])
    columns: dict[str, Any] = {f"x{place}": rng.integers(0, 4, n) for place in range(3)}
    chance = np.full(n, base)
    for place, effect in enumerate(effects):
        columns[f"t{place}"] = (rng.random(n) < share).astype(int)
        chance = chance + effect * columns[f"t{place}"]
    return columns | {"y": (rng.random(n) < chance).astype(int)}


def test_the_rules_of_a_list_share_the_error_and_shuffled_tables_are_sharper() -> None:
    columns = planted((0.3, 0.3), 3000)
    alone = cr.discover(columns, "y", max_length=1, k=1)
    both = cr.discover(columns, "y", max_length=1, k=4)
    assert len(both) == 2
    assert both[0].text == alone[0].text
    assert both[0].at_least is not None
    assert alone[0].at_least is not None
    assert both[0].at_least < alone[0].at_least
    # exp(−β²/2) is the error: a quarter of it.
    beta = math.sqrt(alone[0].criterion.beta ** 2 + 2 * math.log(4))
    wider = replace(alone[0], criterion=replace(alone[0].criterion, beta=beta))
    assert wider.at_least == pytest.approx(both[0].at_least)
    sharper = both.simultaneous(99)
    for rule, other in zip(both, sharper, strict=True):
        assert rule.at_least is not None
        assert other.at_least is not None
        assert rule.at_least < other.at_least < 0.3


def test_bounds_seldom_exceed_the_truth_where_the_spread_is_that_of_an_effect() -> None:
    # 1 % of outcomes, and 50 % where the rule holds for 2 % of the rows: the variance without an effect is too small.
    tables, above, null = 40, 0, 0
    for seed in range(tables):
        columns = planted((0.49,), 2000, 0.01, seed, share=0.02)
        rule = cr.discover(columns, "y", max_length=1, k=1)[0]
        assert rule.text == "t0 = 1"
        assert rule.at_least is not None
        above += rule.at_least > 0.49
        plain = math.sqrt(scores.pooled_variance(*rule.measured.sides, kappa=0.0))
        null += rule.effect - 1.645 * plain > 0.49
    assert above <= 5  # at 5 %, 40 tables give at most this with probability 98.6 %
    assert null > above


def test_with_groups_the_bound_is_that_of_groups() -> None:
    found = bounds.of_groups(0.4, 2.448, Grouped(0.05, 1e9, 50))
    assert found is not None
    assert found.value == pytest.approx(0.4 - 1.645 * 0.05, abs=1e-3)
    few = bounds.of_groups(0.4, 2.448, Grouped(0.05, 4.0, 5))
    assert few is not None
    assert few.value == pytest.approx(0.4 - 2.132 * 0.05, abs=2e-3)
    assert bounds.of_groups(0.4, 2.448, Grouped(0.05, 0.0, 0)) is None


def test_rules_named_in_advance_and_untested_ones_have_no_bound() -> None:
    columns = planted((0.3,), 2000)
    assert cr.evaluate(columns, "t0 = 1", "y")[0].at_least is None
    untested = cr.discover(columns, "y", estimator="reliable", k=1)
    assert untested[0].at_least is None
    assert rule_words.bound(untested[0]) == "–"
    tested = untested.significance(19)
    assert tested[0].at_least == 0
    assert rule_words.bound(tested[0]) == "> 0"
    assert "above 0 by the test, but by how much is uncertain (rule 1); rules.trust() may tell more" in " ".join(
        str(tested).split()
    )
    least = tested.simultaneous(19)[0].at_least
    assert least is not None
    assert 0.1 < least < 0.3
