"""Evidence on a list in which each rule adds: every rule within the strata of its step, the steps in order."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest

import causalrules as cr


def planted(n: int = 900, seed: int = 0) -> dict[str, Any]:
    """Draw a table: columns a and b each raise the outcome; c and d have no effect."""
    rng = np.random.default_rng([71, seed])
    columns: dict[str, Any] = {name: rng.integers(0, 2, n) for name in "abcd"} | {"z": rng.choice(["p", "q"], n)}
    risk = 0.1 + 0.1 * (columns["z"] == "p") + 0.4 * columns["a"] + 0.25 * columns["b"]
    columns["arm"] = rng.choice(["placebo", "low", "high"], n)
    columns["y"] = (rng.random(n) < risk).astype(int)
    columns["cost"] = np.round(10 * risk + rng.normal(size=n), 1)
    columns["unknown"] = np.where(rng.random(n) < 0.1, None, columns["b"])
    columns["group"] = np.arange(n) // 3
    return columns


def test_a_rule_is_tested_within_its_step_as_a_list_of_one_rule_is_there() -> None:
    columns = planted(400, 5)
    asked: dict[str, Any] = {"max_length": 1, "beta": 0.5}
    ladder = cr.discover(columns, "y", control="z", actionable=list("abcd"), k=4, **asked)
    assert [rule.text for rule in ladder[:2]] == ["a = 1", "b = 1"]
    assert len(ladder) > 2
    judged = ladder.significance(199, stop_early=False)
    least = 0.0
    for place, rule in enumerate(judged):
        above = [condition.column for other in ladder[:place] for condition in other.conditions]
        assert list(rule.held_fixed) == sorted(above)
        rest = [name for name in "abcd" if name not in above]
        # Strata may be numbered differently, and so be permuted differently.
        alone = cr.discover(columns, "y", control=["z", *above], actionable=rest, k=1, stepwise=False, **asked)
        assert rule.value == pytest.approx(alone[0].value)
        p_value = alone.significance(199, stop_early=False)[0].p_value
        assert p_value is not None
        least = max(least, p_value)
        assert rule.p_value == pytest.approx(least, abs=0.1)
    p_values = [rule.p_value or 0.0 for rule in judged]
    assert p_values == sorted(p_values)
    assert p_values[1] <= 0.05 < p_values[-1]


CASES: dict[str, dict[str, Any]] = {
    "outcome": {"target": "y", "actionable": list("abcd")},
    "decrease": {"target": "y", "actionable": list("abcd"), "direction": "decrease"},
    "mean": {"target": "cost", "actionable": list("abcd"), "max_length": 1},
    "mean decrease": {"target": "cost", "actionable": list("abcd"), "direction": "decrease"},
    "unknown": {"target": "y", "actionable": ["a", "unknown", "c"]},
    "groups": {"target": "y", "actionable": list("abcd"), "groups": "group"},
    "own controls": {
        "target": "y",
        "control": "auto",
        "actionable": list("abc"),
        "graph": "z -> {a b y}; a -> y; b -> y; c -> d; d -> y",
    },
    "controls of each": {
        "target": "y",
        "control": "auto",
        "actionable": list("abc"),
        "graph": "z -> {a y}; a -> y; b -> y; c -> y",
    },
}


@pytest.mark.parametrize("case", CASES)
def test_all_evidence_is_about_every_rule_and_survives_json(case: str) -> None:
    asked = {"control": "z", "n_jobs": 1, **CASES[case]}
    ladder = cr.discover(planted(), **asked)
    assert len(ladder) == 2
    assert ladder[0].held_fixed == ()
    assert ladder[1].held_fixed == tuple({condition.column for condition in ladder[0].conditions})
    assert all(rule.alone is not None for rule in ladder)
    trusted = ladder.trust(19, 2, 2, n_jobs=1)
    assert [rule.text for rule in trusted] == [rule.text for rule in ladder]
    for rule in trusted:
        evidence = rule.evidence
        assert evidence is not None
        for part in ("significance", "honest", "stability", "simultaneous", "sensitivity", "overlap", "conditions"):
            assert getattr(evidence, part) is not None, part
        assert evidence.simultaneous is not None
        assert evidence.simultaneous.bound is not None
        assert (evidence.simultaneous.bound > rule.effect) == ("decrease" in case)
        assert evidence.honest is not None
        assert evidence.honest.effect == pytest.approx(rule.effect, rel=0.5)
        assert rule.verdict.evidence == "supported"
    for rule, lower in itertools.pairwise(trusted):
        assert rule.p_value is not None
        assert lower.p_value is not None
        assert rule.p_value <= lower.p_value
    read = cr.RuleSet.from_json(trusted.to_json())
    assert read == trusted
    assert read.steps == ladder.steps
    assert (read.rungs, read.nearest) == (ladder.rungs, trusted.nearest)
    assert str(trusted.nearest) == str(ladder.nearest)
    assert [(rule.held_fixed, rule.alone) for rule in read] == [(rule.held_fixed, rule.alone) for rule in ladder]
    assert [rule.verdict for rule in read] == [rule.verdict for rule in trusted]


@pytest.mark.parametrize("missing", ["steps", "run"])
def test_steps_that_do_not_fit_are_refused(missing: str) -> None:

    payload = json.loads(cr.discover(planted(), "y", control="z", actionable=list("ab")).to_json())
    if missing == "steps":
        payload["proof"]["steps"].pop()
    else:
        del payload["run"]["steps"]
    with pytest.raises(cr.CausalRulesError, match=r"proof has \d steps, but run has \d"):
        cr.RuleSet.from_json(json.dumps(payload))


def test_a_file_without_steps_is_a_list_of_rules_that_do_not_add() -> None:

    rules = cr.discover(planted(), "y", control="z", actionable=list("ab"), stepwise=False)
    payload = json.loads(rules.to_json())
    for name in ("nearest", "rungs"):
        del payload[name]
    del payload["question"]["stepwise"], payload["proof"]["steps"], payload["run"]["steps"]
    for rule in payload["rules"]:
        del rule["held_fixed"], rule["alone"], rule["beta"]
    assert cr.RuleSet.from_json(json.dumps(payload)) == rules
