"""What a report says of means, of unknown values, of reference rows, of rules that lower, and of noise."""

from __future__ import annotations

import dataclasses
import html
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import causalrules as cr
from causalrules.cli import cli
from causalrules.report import reproduce, result_words, rule_words, terminal, trust_words, view
from causalrules.rules import RuleSet
from causalrules.text import amount, percent
from rulesets import ended
from strategies import noise


def earnings(n: int = 500) -> dict[str, Any]:
    """A course raises earnings by about 2,000, and the course of some people is not known."""
    rng = np.random.default_rng(13)
    course, sex = rng.choice(["yes", "no"], n), rng.choice(["f", "m"], n)
    earned = 9000 + 2000.0 * (course == "yes") + 500 * (sex == "m") + rng.normal(size=n) * 800
    return {"course": np.where(rng.random(n) < 0.1, np.array(None), course), "sex": sex, "earned": earned.round(2)}


def seen(rules: RuleSet, form: str) -> str:
    """The words of a result, without markup and on one line."""
    text = {
        "terminal": lambda: str(rules),
        "notebook": rules._repr_html_,
        "html": rules.to_html,
        "markdown": rules.to_markdown,
    }[form]()
    if form in ("html", "notebook"):
        text = re.sub(r"<(style|script)\b.*?</\1>", " ", text, flags=re.DOTALL)
        text = html.unescape(re.sub(r"<[^>]*>", " ", text))
    return " ".join(text.split())


@cache
def trusted_mean(direction: str) -> RuleSet:
    return cr.discover(earnings(), "earned", control="sex", k=1, direction=direction).trust(19, 4, 2)


@pytest.mark.parametrize("form", ["terminal", "notebook", "html", "markdown"])
@pytest.mark.parametrize("direction", ["increase", "decrease"])
def test_a_mean_is_told_in_the_units_of_the_target(form: str, direction: str) -> None:
    rules = trusted_mean(direction)
    rule = rules[0]
    assert str(rule) == ("course = yes" if direction == "increase" else "course = no")
    said = seen(rules, form)
    assert amount(rule.effect) in said
    assert rule.at_least is not None
    assert amount(rule.at_least) in said
    assert abs(rule.effect) == pytest.approx(2000, abs=200)
    assert not re.search(r"\bpoints?\b", said.replace("cut points", ""))
    assert "nan" not in said.lower().split()
    if form != "markdown":
        assert "mean of earned" in said
    # neither an effect as a percentage nor as a share of rows
    assert percent(rule.effect) not in said


@pytest.mark.parametrize("form", ["terminal", "notebook", "html"])
def test_rows_that_cannot_be_compared_are_counted(form: str) -> None:
    columns = earnings()
    rules = cr.discover(columns, "earned", control="sex", actionable="course", k=1)
    unknown = sum(value is None for value in columns["course"])
    assert rules[0].n_undecided == unknown
    assert re.search(rf"\b{unknown} rows", seen(rules, form))
    known = cr.discover(columns, "earned", control="sex", actionable="course", k=1, missing="false")
    assert f"{unknown} rows" not in seen(known, form)


@pytest.mark.parametrize("form", ["terminal", "notebook", "html"])
@pytest.mark.parametrize("direction", ["increase", "decrease"])
def test_noise_is_called_noise(form: str, direction: str) -> None:
    said = seen(cr.discover(noise(0), "y", control="z", k=2, direction=direction), form)
    assert "No rule stands out from chance" in said
    found = cr.discover(earnings(), "earned", control="sex", k=1, direction=direction)
    assert "No rule stands out from chance" not in seen(found, form)


def test_noise_is_not_supported() -> None:
    rules = cr.discover(noise(0), "y", control="z", k=2, stepwise=False).trust(39, 4, 2)
    assert all(rule.ratio < 1 and rule.value < 0 for rule in rules)
    assert [rule.verdict.evidence for rule in rules] == ["not supported"] * 2
    assert "(single-step, " in terminal.text(rules, explain=True)
    assert "(single-step, " not in seen(rules, "terminal")


@pytest.mark.parametrize("form", ["terminal", "html"])
def test_reference_rows_are_named(form: str) -> None:
    rng = np.random.default_rng(2)
    arm = rng.choice(["placebo", "a", "b"], 600)
    columns = {"arm": arm, "y": (rng.random(600) < 0.2 + 0.3 * (arm == "a") + 0.4 * (arm == "b")).astype(int)}
    said = seen(cr.discover(columns, "y", reference={"arm": "placebo"}, k=2), form)
    assert "compared with arm = placebo" in said
    assert "compared with" not in seen(cr.discover(columns, "y", k=2), "terminal")


def test_a_rule_that_lowers_an_outcome_is_told_as_less_often() -> None:
    columns = {**earnings(), "poor": (earnings()["earned"] < 10_000).astype(int)}
    del columns["earned"]
    rules = cr.discover(columns, "poor", control="sex", k=1, direction="decrease")
    assert rules[0].effect < 0
    assert f"occurs {amount(-100 * rules[0].effect)[:4]}" in seen(rules, "html")
    assert "points less often" in seen(rules, "html")


def arms() -> dict[str, Any]:
    return {**earnings(), "arm": np.random.default_rng(1).choice(["placebo", "a"], 500)}


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"direction": "decrease"},
        {"reference": {"arm": "placebo"}},
        {"beta": 1.5, "missing": "false"},
        {"outcome": ">= 10000", "error_rate": 0.1, "control_bins": 3},
    ],
)
def test_the_call_and_the_command_of_a_report_repeat_the_result(
    asked: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = "people.csv"
    pl.DataFrame(arms(), strict=False).write_csv(path)
    alone = "reference" in asked
    actionable, named = (["arm"], ["arm = a"]) if alone else (["course", "arm"], ["arm = a", "course = no and arm = a"])
    for rules in (
        cr.discover(path, "earned", control="sex", actionable=actionable, k=3, **asked),
        cr.evaluate(path, named, "earned", control="sex", **asked),
    ):
        made: dict[str, Any] = {}
        exec(reproduce.call(rules), made)
        assert (made["rules"].rules, made["rules"].question) == (rules.rules, rules.question)
        program, *arguments = shlex.split(reproduce.command(rules))
        assert program == "causalrules"
        ran = CliRunner().invoke(cli, [arguments[0], "--format=json", "--quiet", *arguments[1:]])
        assert ran.exit_code == 0, ran.output
        again = cr.RuleSet.from_json(ran.stdout)
        assert (again.rules, again.question) == (rules.rules, rules.question)


@pytest.mark.parametrize(
    ("trusted", "method", "option"),
    [
        ({"permutations": 19, "replicates": 4, "splits": 2}, "trust", ["--trust", "--permutations=19"]),
        ({"permutations": 19}, "significance", ["--permutations=19"]),
    ],
)
def test_the_evidence_is_repeated_too(trusted: dict[str, int], method: str, option: list[str]) -> None:
    rules = cr.discover(cr.datasets.kidney_stones(), "success", control="size", k=1)
    rules = getattr(rules, method)(**trusted)
    made: dict[str, Any] = {"data": cr.datasets.kidney_stones()}
    exec(reproduce.call(rules), made)
    assert made["rules"].rules == rules.rules
    assert [word for word in shlex.split(reproduce.command(rules)) if word[:4] in ("--tr", "--pe")] == option


def test_a_search_that_was_stopped_does_not_say_that_no_rule_stands_out() -> None:
    nothing = cr.discover(noise(0), "y", control="z", k=2)
    stopped = ended(nothing, optimal=False, stopped="interrupted")
    assert view.view(stopped).headline == ("", "No rule found so far stands out from chance")
    assert "a better one may exist" in (result_words.warning(stopped) or "")


def test_a_conservative_number_that_is_not_beyond_0_is_not_shown() -> None:
    columns = earnings()
    nothing = noise(0)
    named = cr.evaluate(nothing, "x0 >= 2", "y", control="z")
    assert named[0].reliable_effect == 0
    assert rule_words.conservative(named[0]) == "none"
    assert not view.view(named).rules[0].stands_out
    lowers = cr.evaluate(columns, "course = no", "earned", control="sex")
    assert lowers[0].effect < lowers[0].reliable_effect < 0
    assert view.view(lowers).rules[0].stands_out
    chance = cr.discover(nothing, "y", control="z", k=1)
    assert chance[0].reliable_effect < 0 < chance[0].effect
    assert rule_words.conservative(chance[0]) == "none"
    assert 'stroke="#c24f00"' not in chance._repr_html_()
    found = cr.discover(columns, "earned", control="sex", k=1)
    assert rule_words.conservative(found[0]) == amount(found[0].reliable_effect)
    assert 'stroke="#c24f00"' in found._repr_html_()


@pytest.mark.parametrize("form", ["terminal", "notebook", "html"])
def test_the_search_of_noise_is_complete_and_not_optimal(form: str) -> None:
    rules = cr.discover(noise(0), "y", control="z", k=2).significance(19, n_jobs=1)
    said = seen(rules, form)
    assert "searched completely, no finding" in said.lower()
    assert "proven optimal" not in said.lower()
    p = min(rule.p_value for rule in rules if rule.p_value is not None)
    assert f"is {'at least ' * (len(rules) > 1)}≈ {p:.2g} (stopped early: already above 0.05)" in said
    full = seen(rules.significance(19, stop_early=False, n_jobs=1), form)
    assert "stopped early" not in full
    assert "≈" not in full
    found = cr.discover(earnings(), "earned", control="sex", k=1)
    assert "proven optimal" in seen(found, form).lower()


@pytest.mark.parametrize("form", ["terminal", "notebook", "html", "markdown"])
def test_the_least_p_that_permutations_allow_is_a_bound(form: str) -> None:
    rules = cr.discover(earnings(), "earned", control="sex", k=1)
    said = seen(rules.significance(19, n_jobs=1), form)
    assert "≤ 0.05" in said
    assert "p = 0.05" not in said
    chance = cr.discover(noise(0), "y", control="z", k=1).significance(19, n_jobs=1)
    assert chance[0].p_value is not None
    assert f"≤ {chance[0].p_value:.3g}" not in seen(chance, form)


def test_nothing_is_robust_where_nothing_was_found() -> None:
    chance = cr.discover(noise(0), "y", control="z", k=1).significance(19, n_jobs=1).sensitivity()
    known = chance[0].evidence
    assert known is not None
    assert known.sensitivity is not None
    assert known.sensitivity.gamma is not None
    for form in ("terminal", "notebook", "html"):
        assert not re.search("Γ|E-value", seen(chance, form))
    assert "no finding for a hidden confounder to explain away" in seen(chance, "html")
    found = cr.discover(earnings(), "earned", control="sex", k=1).significance(19, n_jobs=1).sensitivity()
    assert "Γ" in seen(found, "terminal")
    assert "Γ" in seen(found, "html")


def test_held_out_effects_of_other_rules_are_not_told_as_those_of_this_rule() -> None:
    rules = cr.discover(cr.datasets.titanic(), "survived", k=3).significance(19, n_jobs=1).cross_fit(3)
    known = [rule.evidence.honest for rule in rules if rule.evidence and rule.evidence.honest]
    assert {each.own for each in known} == {True, False}
    for rule, honest in zip(rules, known, strict=True):
        assert honest.own == (honest.alike == honest.splits)
        assert any("on held-out rows" in reason for reason in rule.verdict.reasons) == honest.own
        shown = rule.kind.figures(honest.effect, honest.low, honest.high)
        assert (shown in " ".join(trust_words.cells(rule))) == honest.own
    frame = dataclasses.replace(rules, library="dict").to_frame()
    assert [each is not None for each in frame["honest_effect"]] == [honest.own for honest in known]
    first = known[0]
    shown = rules.kind.with_interval(first.effect, first.low, first.high)
    line = f"the rule found first in searches of other rows: {shown}"
    for form in ("terminal", "html"):
        assert line in " ".join(seen(rules, form).split())
    held = cr.discover(cr.datasets.titanic(), "survived", k=1, holdout=0.5)
    assert "searches of other rows" not in seen(held, "html")


def test_a_headline_is_a_sentence() -> None:
    rng = np.random.default_rng(5)
    columns: dict[str, Any] = {
        "on": rng.random(600) < 0.5,
        "dose": rng.integers(-9, 10, 600),
        "arm": rng.choice(["a", "b"], 600),
    }
    columns["y"] = (rng.random(600) < 0.2 + 0.6 * (columns["on"] & (columns["dose"] >= -2))).astype(int)
    actionable, graph = ["on", "dose"], "on -> y; dose -> y"
    (rule, *_) = rules = cr.discover(columns, "y", actionable=actionable, graph=graph, k=1)
    said = rule_words.in_a_sentence(rule, rules)
    fails, holds = percent(rule.p_do_not_rule), percent(rule.p_do_rule)
    assert said == f"Ensuring that dose ≥ -2 and on = True raises the share with y = 1 from {fails} to {holds}."
    (rule, *_) = rules = cr.discover(columns, "y", actionable=actionable, k=1)
    said = rule_words.in_a_sentence(rule, rules)
    assert said == f"Where dose ≥ -2 and on = True, the share with y = 1 is {holds} instead of {fails}."
    (rule, *_) = rules = cr.discover(columns, "y", actionable=actionable, graph=graph, k=1, direction="decrease")
    assert " lowers the share with y = 1 from " in rule_words.in_a_sentence(rule, rules)
