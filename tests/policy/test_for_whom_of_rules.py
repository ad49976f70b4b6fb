"""rules.for_whom() asks of a rule of a list what for_whom() asks of an action."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import causalrules as cr
from causalrules.question import ContextQuestion, Question

CAMPAIGN = cr.datasets.campaign()
CONTEXT = ["age", "region", "visits"]


def shown(groups: cr.Segments) -> list[tuple[Any, ...]]:
    names = ("text", "effect", "interval", "outside", "contrast_interval", "p_value")
    return [tuple(getattr(each, name) for name in names) for each in groups]


def test_a_rule_that_was_measured_gives_what_for_whom_gives() -> None:
    options: dict[str, Any] = {"randomised": "letter", "control": "visits"}
    rules = cr.evaluate(CAMPAIGN, ["call = yes", "letter = yes"], "bought", **options)
    found = rules.for_whom(CONTEXT, 1, permutations=39)
    asked = cr.for_whom(CAMPAIGN, "letter = yes", target="bought", context=CONTEXT, permutations=39, **options)
    assert shown(found) == shown(asked)
    assert [str(each) for each in found] == ["age ≥ 50 ∧ region = south"]
    assert found.question == asked.question
    assert found.question.outcome == "bought = 1"
    assert found.question.context == tuple(CONTEXT)
    assert replace(found, rule=asked.rule, notes=asked.notes, alerts=asked.alerts) == asked


def test_a_rule_of_a_list_is_asked_about_with_its_own_controls() -> None:
    table = cr.datasets.renewals(2000)
    rules = cr.discover(table, "renewed", control=["complaint", "tenure"], k=2)
    assert rules[1].held_fixed
    found = rules.for_whom(rule=1, permutations=19, max_bins=3)
    assert found.control == tuple(sorted({*rules[1].control, *rules[1].held_fixed}))
    assert found.context == found.control  # by default
    assert found.question.max_bins == 3
    assert found.action == rules[1].conditions


def test_an_unknown_place_and_an_option_out_of_range_are_errors() -> None:
    rules = cr.evaluate(CAMPAIGN, "letter = yes", "bought")
    with pytest.raises(cr.OptionError, match="rule = 1: the list has 1 rule, counted from 0"):
        rules.for_whom(CONTEXT, 1)
    with pytest.raises(cr.OptionError, match="max_context"):
        rules.for_whom(CONTEXT, max_context=3)
    with pytest.raises(cr.DataError, match="without its rows"):
        cr.RuleSet.from_json(rules.to_json()).for_whom(CONTEXT)


def test_cuts_of_controls_are_kept_and_those_of_the_context_added() -> None:
    rules = cr.evaluate(CAMPAIGN, "letter = yes", "bought", control="visits", cuts={"visits": [2]})
    found = rules.for_whom("age", cuts={"age": [50]}, permutations=19)
    assert dict(found.question.cuts or ()) == {"visits": ("2",), "age": ("50",)}
    assert found.n_groups == 2


def test_alerts_about_other_columns_are_left_out() -> None:
    table = CAMPAIGN.assign(leak=CAMPAIGN["bought"] * 2 + np.arange(len(CAMPAIGN)) % 2)
    rules = cr.evaluate(table, ["leak >= 2", "letter = yes"], "bought")
    assert [alert.columns for alert in rules.alerts] == [("leak",)]
    assert rules.for_whom("age", 1, permutations=19).alerts == ()


def test_a_context_question_takes_what_it_shares_with_another() -> None:
    asked = Question("bought", control=["visits"], direction="decrease", k=3, actionable="letter", min_coverage=0.3)
    like = ContextQuestion.like(asked, k=7, context="age")
    assert (like.target, like.control, like.direction) == ("bought", ["visits"], "decrease")
    assert (like.k, like.context) == (7, "age")
    assert like.actionable is None
    assert like.about_all(actionable="letter").direction == "decrease"
