"""Variations of a rule in a list, measured in the same way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import causalrules as cr
from causalrules.exceptions import DataError

ASKED: dict[str, Any] = {
    "control": ["complaint", "tenure"],
    "actionable": ["call", "discount", "app", "newsletter"],
}


def renewals(**options: Any) -> cr.RuleSet:
    return cr.discover(cr.datasets.renewals(), "renewed", **{**ASKED, **options})


def test_the_rule_is_among_its_own_cuts_with_its_own_numbers() -> None:
    rules = renewals()
    for place, rule in enumerate(rules):
        for cuts in rules.variations(place).cuts:
            own = next(each for each in cuts if each.conditions == rule.conditions)
            assert (own.effect, own.low, own.high) == pytest.approx((rule.effect, *rule.interval), abs=1e-12)
            assert own.n_covered == rule.n_covered


def test_each_cut_and_each_shorter_rule_is_what_evaluate_measures() -> None:
    rules = renewals()
    near = rules.variations()
    assert [each.text for each in near.cuts[1]] == [f"call = yes ∧ discount ≥ {cut}" for cut in (5, 10, 15)]
    assert [each.text for each in near.without] == ["discount ≥ 10", "call = yes"]
    for each in (*near.cuts[0], *near.cuts[1], *near.without):
        (named,) = cr.evaluate(cr.datasets.renewals(), each.conditions, "renewed", control=ASKED["control"])
        assert each.effect == pytest.approx(named.effect, abs=1e-12)
        assert each.n_covered == named.n_covered


def test_below_the_first_rule_the_columns_above_are_held_fixed() -> None:
    rules = renewals()
    (cuts,) = rules.variations(1).cuts
    no = next(each for each in cuts if each.text == "app = no")
    assert no.effect == pytest.approx(-rules[1].effect, abs=1e-12)
    assert rules[1].alone is not None
    assert abs(no.effect + rules[1].alone.effect) > 1e-3


def test_a_rule_stands_for_others_that_share_its_rows() -> None:
    rules = cr.discover(cr.datasets.titanic(), "survived")
    near = rules.variations()
    assert len(near.absorbed) == 3
    table = cr.datasets.titanic()
    own = rules[0].covers(table)
    for each in near.absorbed:
        (named,) = cr.evaluate(table, each.conditions, "survived")
        other = named.covers(table)
        assert np.sum(own & other) >= 0.8 * np.sum(own | other)
        assert not np.array_equal(own, other) or each.conditions != rules[0].conditions


def test_plain_lists_have_variations_and_no_absorbed_rules() -> None:
    near = renewals(stepwise=False, k=2).variations(1)
    assert near.without
    assert near.absorbed == ()
    assert not near.searched


def test_means_and_groups_are_measured_as_their_rules_are() -> None:
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {
        "x": rng.integers(0, 6, 600),
        "w": rng.integers(0, 2, 600),
        "g": rng.integers(0, 60, 600),
    }
    columns["y"] = 2.0 * (columns["x"] >= 3) + rng.normal(size=600)
    for groups in (None, "g"):
        rules = cr.discover(columns, "y", actionable=["x", "w"], groups=groups)
        (cuts, *_) = rules.variations().cuts
        own = next(each for each in cuts if each.conditions == rules[0].conditions)
        assert (own.low, own.high) == pytest.approx(tuple(rules[0].interval), abs=1e-12)


def test_a_result_from_a_file_has_no_rows_to_measure() -> None:
    with pytest.raises(DataError, match="read from a file"):
        cr.RuleSet.from_json(renewals().to_json()).variations()
