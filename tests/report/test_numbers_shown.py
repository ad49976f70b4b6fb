"""A number in the table and the card of the report is one line of a registry."""

from __future__ import annotations

import math

import pytest

import causalrules as cr
from causalrules.report import numbers
from causalrules.report.numbers import Number
from causalrules.report.view import view
from reports import three_rules


def test_a_number_of_the_registry_is_in_the_table_and_in_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = Number(
        lambda rules: "number needed to treat" if rules.kind.binary else "",
        lambda rule: f"{math.ceil(1 / abs(rule.effect)):,}",
        lambda rule: 1 / abs(rule.effect),
        ascending=True,
        in_card=True,
    )
    monkeypatch.setattr(numbers, "NUMBERS", (*numbers.NUMBERS, needed))
    rules = three_rules()
    page = rules.to_html()
    text = f"{math.ceil(1 / abs(rules[0].effect)):,}"
    assert '<th scope="col">number needed to treat</th>' in page
    assert f"<td>{text}</td>" in page
    assert f"<p>number needed to treat: {text}</p>" in page
    rows = {"dose": [0, 1] * 50, "days": [3.0, 2.5, 4.0, 1.0] * 25}
    assert "number needed to treat" not in cr.discover(rows, "days", k=1).to_html()


def test_numbers_that_no_rule_has_are_left_out() -> None:
    rules = three_rules()
    shown = view(rules).rules[0].numbers
    assert [each.name for each in shown if each.in_card] == ["effective rows"]
    assert ("p" in [each.name for each in shown]) == any(rule.p_value is not None for rule in rules)
    assert len({tuple(each.name for each in rule.numbers) for rule in view(rules).rules}) == 1
