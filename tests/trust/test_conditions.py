"""Superfluous conditions: exact null distribution by hand; superfluous ones are marked, needed ones kept."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import causalrules as cr
from causalrules.language.propositions import Proposition
from causalrules.trust.conditions import Contrasts, conditions
from rulesets import rows_of


def planted(seed: int, needed: int = 1, n: int = 800, numeric: bool = False) -> dict[str, Any]:
    """Draw a table: x0, or x0 and x1 together, raise the outcome; other columns have no effect."""
    rng = np.random.default_rng([41, seed])
    columns: dict[str, Any] = {f"x{index}": rng.integers(0, 5, n) for index in range(6)}
    columns["z"] = rng.integers(0, 2, n)
    rule = columns["x0"] >= 3
    if needed == 2:
        rule &= columns["x1"] >= 2
    if numeric:
        return columns | {"y": np.round(rng.normal(size=n) + columns["z"] + 1.2 * rule, 1)}
    return columns | {"y": (rng.random(n) < 0.2 + 0.2 * columns["z"] + 0.4 * rule).astype(int)}


@pytest.mark.parametrize("decrease", [False, True])
@pytest.mark.parametrize("missing", ["unknown", "false"])
def test_the_ratios_are_those_of_the_pooled_estimator(missing: str, decrease: bool) -> None:
    columns = planted(0, n=120)
    columns["x1"] = [None if index % 7 == 0 else int(value) for index, value in enumerate(columns["x1"])]
    direction = "decrease" if decrease else "increase"
    rules = cr.discover(columns, "y", control="z", k=1, missing=missing, direction=direction)
    problem = rows_of(rules)
    language = problem.language
    rest = language.numbers([next(each for each in language.propositions if each.text == "x0 ≥ 2")])
    contrasts = Contrasts.of(problem, rest)
    found = contrasts.ratios(contrasts.y[None])[0]
    chosen = np.array(columns["x0"]) >= 2
    y, z = np.asarray(columns["y"])[chosen], np.asarray(columns["z"])[chosen]
    n_divided = int(np.sum(found > -np.inf))
    beta = np.sqrt(2 * np.log(n_divided / 0.05))
    for number, proposition in enumerate(language.propositions):
        column = [None if value is None else int(value) for value in columns[proposition.column]]
        known = np.array([value is not None for value in column])[chosen]
        values = np.array([-1 if value is None else value for value in column])[chosen]
        at = int(str(proposition.value))
        holds = known & (values >= at if proposition.operator == ">=" else values <= at)
        fails = ~holds & (known | (missing == "false"))
        strata = [rows for rows in (z == 0, z == 1) if (holds & rows).any() and (fails & rows).any()]
        if not strata:
            assert found[number] == -np.inf
            continue

        effect = variance = reach = 0.0
        for rows in strata:
            weight, mean, k, f = rows.sum() / len(y), y[rows].mean(), (holds & rows).sum(), (fails & rows).sum()
            on, off = ((y[side & rows].sum() + 2 * mean) / (n + 2) for side, n in ((holds, k), (fails, f)))
            effect += weight * (on - off)
            spread = 1 / (k + 2) + 1 / (f + 2)
            variance += weight**2 * y[rows].var() * spread
            reach = max(reach, weight * spread)
        offset = beta**2 * reach / 6
        margin = offset + np.sqrt(offset**2 + beta**2 * variance)
        assert found[number] == pytest.approx((-1 if decrease else 1) * effect / margin)


def test_a_p_value_is_that_of_every_arrangement() -> None:
    columns: dict[str, Any] = {
        "a": [1] * 8 + [0] * 8,
        "b": [1, 1, 1, 1, 0, 0, 0, 0] + [0, 1] * 4,
        "c": [0, 1, 0, 1, 0, 1, 0, 1] + [1, 0] * 4,
        "y": [1, 1, 1, 0, 0, 0, 1, 0] + [0] * 8,
    }
    rules = cr.evaluate(columns, "a = 1 and b = 1", "y")
    problem = rows_of(rules)
    tested = conditions(rules, 4000)[0]
    place = [each.text for each in tested.conditions].index("b = 1")
    # the language of a named rule has only its own conditions: no other could have been added
    first = problem.language.numbers([next(each for each in tested.conditions if each.text == "a = 1")])
    contrasts = Contrasts.of(problem, first)
    own = problem.language.numbers([tested.conditions[place]])[0]
    observed = contrasts.ratios(contrasts.y[None])[0][own]
    as_good = [
        np.max(contrasts.ratios(np.isin(np.arange(8), chosen).astype(float)[None])) >= observed - 1e-9
        for chosen in itertools.combinations(range(8), 4)
    ]
    exact = float(np.mean(as_good))
    assert exact == pytest.approx(17 / 70)  # hypergeometric: at least 3 of the 4 outcomes
    p_values = sorted(each.p_value or 0.0 for each in tested.conditions)
    assert any(abs(p / factor - exact) < 0.03 for p in p_values for factor in (1, 2))


@pytest.mark.parametrize("numeric", [False, True])
def test_superfluous_conditions_are_marked_and_needed_ones_are_not(numeric: bool) -> None:
    carried = unmarked = needed = kept = 0
    asked: dict[str, Any] = {"control": "z", "k": 10, "max_length": 3, "stepwise": False, "n_jobs": 1}
    for seed in range(4):
        rules = cr.discover(planted(seed, numeric=numeric), "y", **asked)
        for rule in conditions(rules.significance(19), 199):
            if rule.verdict.evidence != "supported" or rule.length == 1:
                continue
            idle = [each for each in rule.conditions if each.column != "x0"]
            carried += bool(idle)
            unmarked += any(each not in rule.superfluous for each in idle)
            needed += 1
            kept += all(each.column == "x0" for each in rule.simpler)
    assert carried >= 10
    assert unmarked <= 0.1 * carried
    assert kept >= 0.9 * needed


def test_two_conditions_that_need_each_other_are_both_kept() -> None:
    found = 0
    for seed in range(4):
        rules = cr.discover(planted(seed, needed=2), "y", control="z", k=1, max_length=3, n_jobs=1)
        (rule,) = conditions(rules, 199)
        found += {each.column for each in rule.simpler} == {"x0", "x1"}
    assert found >= 3


def test_of_two_conditions_that_stand_for_each_other_one_stays() -> None:
    columns = planted(1)
    columns = {"x0": columns["x0"], "twin": np.where(np.arange(800) < 797, columns["x0"], 0), "z": columns["z"]} | {
        "y": columns["y"]
    }
    (rule,) = conditions(cr.evaluate(columns, "x0 >= 3 and twin >= 3", "y", control="z"), 199)
    assert len(rule.superfluous) == 2
    assert len(rule.simpler) == 1
    assert rule.evidence is not None
    assert rule.evidence.conditions is not None
    (alone,) = cr.evaluate(columns, [list(rule.simpler)], "y", control="z")
    assert rule.evidence.conditions.effect == pytest.approx(alone.effect)
    assert rule.evidence.conditions.n_covered == alone.n_covered


def test_conditions_keep_their_p_values_wherever_they_go() -> None:
    asked: dict[str, Any] = {"control": "z", "k": 3, "max_length": 2, "stepwise": False}
    rules = cr.discover(planted(2), "y", **asked).trust(19, 3, 2, n_jobs=1)
    marked = [rule for rule in rules if rule.superfluous and rule.length > 1]
    assert marked
    again = cr.RuleSet.from_json(rules.to_json())
    for rule, other in zip(rules, again, strict=True):
        assert [each.p_value for each in rule.conditions] == [each.p_value for each in other.conditions]
        assert all(each.p_value is not None for each in rule.conditions)
        if rule.length == 1:
            assert rule.conditions[0].p_value == rule.p_value
        # still conditions: equal, hashable, and usable in questions
        assert rule.conditions[0] == replace(rule.conditions[0], p_value=None)
        assert len({*rule.conditions, *(replace(each, p_value=None) for each in rule.conditions)}) == rule.length
    (same,) = cr.evaluate(planted(2), [list(marked[0].conditions)], "y", control="z")
    assert same.measured.counts == marked[0].measured.counts
    text = str(rules)
    assert "every rule has x0 ≥ 3, and:" in text
    beside = [each.text for each in marked[0].conditions if each.column != "x0"]
    assert f"{' ∧ '.join(beside)} *" in text
    assert "* not shown to matter beside the rest" in " ".join(text.split())
    assert "Conditions that earn their place" in rules.to_html()
    bare = cr.discover(planted(2), "y", **asked)
    assert " *" not in str(bare)
    assert all(each.p_value is None for rule in bare for each in rule.conditions)
    assert "p_value" not in json.loads(bare.to_json())["rules"][0]["conditions"][0]


def test_weights_count_rows() -> None:
    columns = planted(3, n=300)
    rows = {name: np.repeat(values, 3) for name, values in columns.items()}
    counted = columns | {"n": np.full(300, 3)}
    rule = "x0 >= 3 and x2 >= 2"
    (one,) = conditions(cr.evaluate(rows, rule, "y", control="z"), 199)
    (other,) = conditions(cr.evaluate(counted, rule, "y", control="z", weights="n"), 199)
    assert [each.p_value for each in one.conditions] == pytest.approx(
        [each.p_value for each in other.conditions], abs=0.12
    )


def test_a_condition_read_from_a_file_has_a_number_for_its_p_value() -> None:
    data = Proposition("x", "=", 1).to_dict() | {"p_value": "small"}
    with pytest.raises(cr.CausalRulesError, match="not a proposition"):
        Proposition.from_dict(data)
