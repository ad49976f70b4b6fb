"""Alerts: each is raised by what it is about, and by nothing else."""

from __future__ import annotations

import dataclasses
import json

import pytest

import causalrules as cr
from causalrules.alerts import Alert
from causalrules.language.propositions import Proposition
from causalrules.report import alerts, view
from causalrules.result.rule import RuleResult
from rulesets import rule_set

Table = tuple[int, int, int, int]


def titles(*strata: Table, **changes: object) -> list[str]:
    """The titles of the alerts of a rule with these counts (a, b, c, d) in its strata."""
    a, b, c, d = zip(*strata, strict=True)
    labels = [{"z": str(place)} for place in range(len(strata))]
    rule = RuleResult.from_counts([Proposition("x", "=", 1)], a, b, c, d, labels, 2.0, "pooled")
    rules = rule_set(dataclasses.replace(rule, p_value=0.01), **changes)
    return [alert.title for alert in alerts.of_rule(rules[0], rules)]


@pytest.mark.parametrize(
    ("strata", "title"),
    [
        ([(60, 40, 40, 60)] * 2, None),
        ([(90, 10, 10, 90), (10, 90, 60, 40), (90, 10, 10, 90)], "Strata disagree"),
        ([(50, 50, 49, 51), (60, 40, 61, 39), (90, 10, 10, 90)], "One stratum carries it"),
        ([(60, 40, 40, 60), (200, 100, 0, 0)], "Little overlap"),
        ([(81, 6, 234, 36), (192, 71, 55, 25)], "Adjusting reverses the sign"),
    ],
)
def test_strata_raise_their_alerts(strata: list[Table], title: str | None) -> None:
    assert titles(*strata) == ([] if title is None else [title])


def test_the_first_screen_has_the_alerts_of_the_only_candidate_and_names_it() -> None:
    (alert,) = view.view(cr.discover(cr.datasets.kidney_stones(), "success", control="size")).alerts
    assert alert.title == "Adjusting reverses the sign"
    assert alert.text.startswith("treatment = A: Unadjusted the difference is −4.6 points, adjusted 5.4 points")


def test_small_strata_of_chance_do_not_disagree() -> None:
    assert titles((60, 40, 40, 60), (60, 40, 40, 60), (4, 6, 6, 4)) == []


def test_an_unfinished_search_is_told() -> None:
    assert titles((60, 40, 40, 60), optimal=False, stopped="time limit") == ["Search not finished"]


def test_rows_that_are_not_compared_are_told() -> None:
    columns = {"x": [1, 0, None, 1, 0] * 40, "y": [1, 0, 0, 1, 1] * 40}
    rules = cr.discover(columns, "y", actionable="x", k=1)
    assert "Many undecided rows" in [alert.title for alert in alerts.of_rule(rules[0], rules)]


def leaking() -> cr.RuleSet:
    return cr.discover({"x": [0, 1] * 100, "w": [0, 0, 1, 1] * 50, "y": [0, 1] * 100}, "y", k=1)


def test_a_leak_is_suspected_where_a_column_determines_the_outcome() -> None:
    rules = leaking()
    (alert,) = rules.alerts
    assert (alert.kind, alert.columns, alert.title) == ("leak suspected", ("x",), "Leak suspected")
    assert alerts.of_rule(rules[0], rules)[0] == alert
    assert not any("determines" in note for note in rules.notes)


def test_an_alert_comes_once_and_first_wherever_rules_are_shown() -> None:
    rules = leaking()
    sentence = rules.alerts[0].sentence
    title, alert, *_ = (text := str(rules)).splitlines()
    assert alert.startswith("! Leak suspected: column 'x' nearly")
    assert "1 rule" in title
    assert " ".join(text.split()).count(sentence) == 1
    page = rules._repr_html_()
    assert page.index("Leak suspected") < page.index("<table>")
    assert page.count("Leak suspected") == 1
    assert [each.title for each in view.view(rules).alerts].count("Leak suspected") == 1


def test_alerts_survive_json_and_older_files_have_none() -> None:
    rules = leaking()
    assert cr.RuleSet.from_json(rules.to_json()).alerts == rules.alerts != ()
    payload = json.loads(rules.to_json())
    assert payload["alerts"][0]["columns"] == ["x"]
    del payload["alerts"]
    assert cr.RuleSet.from_json(json.dumps(payload)).alerts == ()


def test_an_alert_about_other_columns_is_not_of_the_rule_but_on_the_first_screen() -> None:
    other = Alert("missing controls", ("w",), "w is missing in 9 % of the rows")
    rules = dataclasses.replace(leaking(), alerts=(other,))
    assert other not in alerts.of_rule(rules[0], rules)
    assert other.title in [each.title for each in view.view(rules).alerts]
    whole = dataclasses.replace(other, columns=())
    assert whole in alerts.of_rule(rules[0], dataclasses.replace(rules, alerts=(whole,)))


def test_a_rule_that_nothing_tested_is_told() -> None:
    rules = cr.discover(cr.datasets.titanic(), "survived", k=1, estimator="reliable", beta=2.0)
    assert [alert.title for alert in alerts.of_rule(rules[0], rules)] == ["Not tested yet"]
    assert alerts.of_rule((tested := rules.significance(19))[0], tested) == ()
