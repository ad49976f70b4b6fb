"""Rules named in advance: tested two-sided, at once, and alike in both directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import causalrules as cr
from causalrules.estimators.intervals import interval
from causalrules.estimators.p_values import two_sided
from causalrules.language.kinds import BINARY
from causalrules.result.measured import Measured

COUNTS = st.lists(st.tuples(*[st.integers(0, 60)] * 4), min_size=1, max_size=4)


def table(effect: float, n: int = 1000, seed: int = 0, groups: int = 0) -> dict[str, Any]:
    """Draw a table: x changes the outcome by `effect`; rows of a group share part of it."""
    rng = np.random.default_rng([7, seed])
    group = rng.integers(0, max(groups, 1), n)
    village, share = rng.normal(0, 0.2, max(groups, 1)), rng.random(max(groups, 1))
    x = rng.random(n) < (0.5 if not groups else np.where(share > 0.5, 0.9, 0.1)[group])
    p = 0.5 + effect * (x - 0.5) + (village[group] if groups else 0)
    return {"x": x.astype(int), "w": rng.integers(0, 3, n), "group": group, "y": (rng.random(n) < p).astype(int)}


@pytest.mark.parametrize("groups", [None, "group"])
@pytest.mark.parametrize("effect", [-0.35, 0.35])
def test_a_rule_is_supported_in_either_direction_whatever_was_asked(effect: float, groups: str | None) -> None:
    columns = table(effect, groups=40 if groups else 0)
    found = [
        cr.evaluate(columns, "x = 1", "y", 1, groups=groups, direction=direction)[0]
        for direction in ("increase", "decrease")
    ]
    for rule in found:
        assert (rule.verdict.evidence, rule.verdict.basis) == ("supported", "test")
        assert rule.verdict.direction == ("raises" if effect > 0 else "lowers")
        assert rule.stands_out
        assert abs(rule.reliable_effect) < abs(rule.effect)
        assert rule.reliable_effect * effect > 0
    assert found[0].p_value == found[1].p_value


@pytest.mark.parametrize("groups", [None, "group"])
@pytest.mark.parametrize("seed", range(4))
def test_the_outcome_turned_round_has_the_same_words_and_numbers(seed: int, groups: str | None) -> None:
    columns = table(0.07, seed=seed, groups=20 if groups else 0)
    rules = ["x = 1", "x = 0", "w = 2"]
    one, other = (cr.evaluate(columns, rules, "y", outcome, control=[], groups=groups) for outcome in (1, 0))
    for rule, turned in zip(one, other, strict=True):
        assert rule.verdict.evidence == turned.verdict.evidence
        assert rule.p_value == pytest.approx(turned.p_value, rel=1e-3)
        assert rule.effect == pytest.approx(-turned.effect)
        assert rule.reliable_effect == pytest.approx(-turned.reliable_effect)
    assert one[0].p_value == pytest.approx(one[1].p_value, rel=1e-3)


@given(COUNTS)
def test_p_is_at_most_5_percent_where_the_interval_excludes_0(counts: list[tuple[int, int, int, int]]) -> None:
    measured = Measured(tuple({} for _ in counts), tuple(counts), kind=BINARY)
    if np.isnan(measured.effect):
        assert measured.p_value == 1
        return
    a, b, c, d = np.array(counts).T
    low, high = interval(a, b, c, d)
    assert (measured.p_value <= 0.05) == (low > 0 or high < 0) or abs(measured.p_value - 0.05) < 1e-5


def test_p_is_that_of_the_test_which_the_interval_inverts() -> None:
    def ends(confidence: float) -> tuple[float, float]:
        from statistics import NormalDist

        reach = NormalDist().inv_cdf((1 + confidence) / 2)
        return 2.5 - reach, 2.5 + reach

    assert two_sided(ends) == pytest.approx(0.012419, rel=1e-3)
    assert two_sided(lambda _: (-1.0, 1.0)) == 1
    assert two_sided(lambda _: (1.0, 2.0)) < 1e-12


def test_p_values_of_several_rules_are_holms() -> None:
    columns = table(0.12)
    rules = ["x = 1", "w = 0", "w = 1"]
    together = cr.evaluate(columns, rules, "y", 1)
    alone = [cr.evaluate(columns, rule, "y", 1)[0].p_value or 0.0 for rule in rules]
    order = np.argsort(alone)
    expected = np.maximum.accumulate([min(1, (3 - place) * alone[rule]) for place, rule in enumerate(order)])
    assert [together[int(rule)].p_value for rule in order] == pytest.approx(list(expected))
    assert together[0].verdict.reasons[0].endswith("adjusted for the number of rules (at most 0.05 needed)")


@pytest.mark.parametrize("groups", [False, True])
def test_without_an_effect_few_are_supported(groups: bool) -> None:
    found = 0
    for seed in range(60):
        columns = table(0.0, 400, 1000 + seed, 30 if groups else 0)
        rule = cr.evaluate(columns, "x = 1", "y", 1, groups="group" if groups else None)[0]
        found += rule.verdict.evidence == "supported"
    assert found <= 8  # 3 expected; more with probability 0.3 %


def test_trust_leaves_the_word_and_p_as_they_are() -> None:
    for effect in (0.0, 0.08, 0.3):
        rules = cr.evaluate(table(effect), ["x = 1", "w = 0"], "y", 1)
        trusted = rules.trust(19, 5, progress=False)
        assert [rule.p_value for rule in trusted] == [rule.p_value for rule in rules]
        assert [rule.verdict.evidence for rule in trusted] == [rule.verdict.evidence for rule in rules]


def test_words_above_named_rules_are_about_their_own_test() -> None:
    rng = np.random.default_rng(0)
    x, other = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    y = (rng.random(400) < 0.4 + 0.06 * x).astype(int)
    named = cr.evaluate({"x": x, "other": other, "y": y}, ["x = 1", "other = 1"], "y")
    # Supported by p, within the margin of the conservative effect: nothing was shuffled.
    assert [rule.verdict.evidence for rule in named] == ["supported", "not supported"]
    assert not named[0].stands_out
    assert "permutations" not in str(named)
    one = str(cr.evaluate({"other": other, "y": y}, "other = 1", "y"))
    assert "p is " in one
    assert "number of rules" not in one
