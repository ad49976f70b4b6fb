"""The table of a terminal, a notebook's table and cards, and the progress of a search."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import causalrules as cr
from causalrules.language.kinds import BINARY
from causalrules.language.propositions import AND, Proposition
from causalrules.report import rule_text, rule_words, terminal
from causalrules.result.rule import RuleResult
from causalrules.search.progress import numbers
from causalrules.search.run import Progress
from rulesets import CONDITION, rule_set, rule_sets, women_of_two_classes

TITANIC = cr.datasets.titanic()


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def test_ten_rules_take_twenty_lines() -> None:
    shown = str(cr.discover(TITANIC, "survived", control="sex", k=10)).splitlines()
    assert len(shown) <= 20
    assert all(len(line) <= 100 for line in shown)
    assert "" in shown  # blocks are apart


def test_the_table_has_effect_bound_p_and_coverage_and_an_interval_only_of_named_rules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    rules = cr.discover(TITANIC, "survived", actionable=["class", "sex"], k=1)
    assert rules[0].at_least is not None
    least = f"{100 * rules[0].at_least:.1f}"
    rest = r"25\.1 → 94\.7 % +19\.1 % +supported"
    assert re.search(rf"class ≤ 2 ∧ sex = female +69\.6 +{re.escape(least)} +{rest}", str(rules))
    tested = rules.significance(19)
    assert re.search(rf" {re.escape(least)} +≤ 0\.050 +{rest}", str(tested))
    assert "conservative" not in str(tested).split("\n\n")[1]
    assert "conservative" in terminal.text(tested, explain=True).split("\n\n")[1]
    named = str(cr.evaluate(TITANIC, rules[0].text, "survived"))
    assert re.search(rf"69\.6 \(64\.0 to 73\.5\) +< 0\.001 +{rest}", named)
    assert "at least" not in named


@pytest.mark.parametrize("width", [60, 80, 100, 200])
@pytest.mark.parametrize("checked", [False, True])
def test_no_value_is_cut_at_any_width(width: int, checked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = cr.discover(TITANIC, "survived", control="sex", k=5)
    if checked:
        rules = rules.significance(19)
    monkeypatch.setenv("COLUMNS", str(width))
    heading, *_ = block = str(rules).split("\n\n")[1].splitlines()
    assert all(len(line) <= width for line in block)
    assert "at least" in heading
    for rule in rules:
        line = next(line for line in block if f"{100 * rule.effect:.1f}" in line)
        assert rule_words.bound(rule) in line
        assert width < 80 or rule.verdict.evidence in line


def long(*sizes: int) -> cr.RuleSet:
    common = [Proposition(f"column {letter}", ">=", 10) for letter in "abc"]
    return rule_set(
        *(
            RuleResult.from_counts([*common, Proposition("size", "<=", size)], 5, 1, 2, 6, [{}], 2.0, "reliable")
            for size in sizes
        )
    )


def test_shared_conditions_are_said_once() -> None:
    shown = str(long(1, 2, 3))
    assert shown.count("column a ≥ 10") == 1
    assert "every rule has column a ≥ 10 ∧ column b ≥ 10 ∧ column c ≥ 10, and:" in shown
    assert str(long(1)).count("column a ≥ 10") == 1
    same = rule_set(women_of_two_classes(), women_of_two_classes())
    assert "(nothing else)" in str(same)


@given(st.lists(CONDITION, min_size=1, max_size=4), st.integers(16, 80))
def test_rules_are_wrapped_between_conditions_and_nothing_is_lost(conditions: list[Proposition], room: int) -> None:
    rule = RuleResult.from_counts(conditions, 1, 1, 1, 1, [{}], 2.0, "reliable")
    words = rule.text.encode("ascii", "backslashreplace").decode()
    lines = rule_text.wrap_rule(words, room)
    assert all(rule_text.columns(line) <= room for line in lines)
    assert len(lines) <= rule_text.MOST_LINES
    if all(len(each) <= room - 2 for each in words.split(AND)) and len(lines) < rule_text.MOST_LINES:
        assert all(line.endswith(AND.rstrip()) for line in lines[:-1])
        assert " ".join(lines) == words


@settings(max_examples=40)
@given(rule_sets())
def test_any_result_can_be_shown_everywhere(rules: cr.RuleSet) -> None:
    for shown in (rules._repr_html_(), *(rule._repr_html_() for rule in rules)):
        assert "<script" not in shown
    plain = terminal.text(rules)
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[\d+m", "", terminal.text(rules, colour=True)) == plain


def test_colour_marks_the_evidence() -> None:
    rules = cr.discover(TITANIC, "survived", actionable=["class", "sex"], k=1)
    assert "\x1b[32msupported\x1b[0m" in terminal.text(rules, colour=True)
    assert "\x1b" not in str(rules)


def test_assumptions_are_told_where_they_are_asked_for() -> None:
    rules = cr.discover(TITANIC, "survived", actionable=["class", "sex"], k=1)
    assert "(d) nothing unobserved" not in str(rules)
    assert "(d) nothing unobserved" in terminal.text(rules, explain=True)
    assert "--explain" in str(rules)


def bound_of(rule: RuleResult) -> float:
    assert rule.evidence is not None
    assert rule.evidence.simultaneous is not None
    assert rule.evidence.simultaneous.bound is not None
    return rule.evidence.simultaneous.bound


def test_trust_is_a_table_with_why_not() -> None:
    rules = cr.discover(cr.datasets.kidney_stones(), "success", control="size", k=2, stepwise=False).trust(19, 4, 2)
    block = next(block for block in str(rules).split("\n\n") if block.startswith("Trust"))
    heading, *rows = block.splitlines()[1:]
    assert heading.split()[0] == "#"
    assert "at least" not in heading
    assert [rule_words.bound(rule) for rule in rules] == ["none", "none"]
    lowered = cr.discover(cr.datasets.titanic(), "survived", control="class", k=1, direction="decrease").trust(19, 4, 2)
    assert "at most" in str(lowered)
    assert lowered[0].at_least == bound_of(lowered[0])
    assert lowered[0].effect < bound_of(lowered[0]) < 0
    assert f"{100 * bound_of(lowered[0]):.1f}".replace("-", "−") in str(lowered)
    assert sum(row.strip().startswith("why not: ") for row in rows) == 2


def test_a_list_says_what_each_rule_adds_and_why_it_ends() -> None:
    asked: dict[str, Any] = {
        "control": ["complaint", "tenure"],
        "actionable": ["call", "discount", "app", "newsletter"],
    }
    rules = cr.discover(cr.datasets.renewals(), "renewed", **asked)
    said = " ".join(str(rules).split())
    assert "2 rules in 4,000 rows; each proven best at its step, " in said
    assert "rule adds, points at least" in said
    assert "no other column stands out; nearest: newsletter = no, 1.5 points" in said
    assert "adds: how much more often renewed = 1 occurs where the rule holds, adjusted for complaint, tenure" in said
    assert "and the columns of the rules above" in said
    own = rules[1].alone
    assert own is not None
    reading = " ".join(rule_words.reading(rules[1], rules))
    assert f"On its own: {BINARY.with_interval(*own)}, adjusted for complaint, tenure." in reading
    assert "adjusted for complaint, tenure, with call, discount held fixed" in reading
    page = rules._repr_html_()
    assert "none of the rules" in page
    assert "and app = yes" in page
    # One rule adds to nothing.
    first = cr.discover(cr.datasets.renewals(), "renewed", k=1, **asked)
    assert " ".join(str(first).split()).count("adds") == 0
    assert "no other" not in str(first)


def test_a_list_that_is_confirmed_on_new_rows_says_so() -> None:
    table = cr.datasets.renewals()
    asked: dict[str, Any] = {
        "control": ["complaint", "tenure"],
        "actionable": ["call", "discount", "app", "newsletter"],
    }
    confirmed = cr.discover(table[::2], "renewed", **asked).confirm(table[1::2])
    said = " ".join(str(confirmed).split())
    assert "on new rows, points" in said
    assert "confirmed on a second table of 2,000 rows: 2 of 2 rules (one-sided p, adjusted for their number)" in said
    (first, second) = (rule.evidence.honest.p_value for rule in confirmed if rule.evidence and rule.evidence.honest)
    assert f"rule 1 yes (p = {first:.2g}); rule 2 yes (p = {second:.2g})" in said
    assert list(confirmed.to_frame()["honest_p_value"]) == [first, second]


def test_a_list_of_all_arms_and_one_of_all_columns_say_that_they_end_there() -> None:
    rng = np.random.default_rng(2)
    arm = rng.choice(["placebo", "a", "b"], 900)
    columns = {"arm": arm, "y": (rng.random(900) < 0.2 + 0.3 * (arm == "a") + 0.4 * (arm == "b")).astype(int)}
    assert "no other arm can be compared" in str(cr.discover(columns, "y", reference={"arm": "placebo"}))
    assert "no column is left for another rule" in str(cr.discover(columns, "y"))


def test_a_notebook_shows_small_forests_and_a_rule_as_a_card() -> None:
    rules = cr.discover(TITANIC, "survived", actionable=["class", "sex"], k=2)
    assert rules._repr_html_().count("<svg") == len(rules)
    card = rules[0]._repr_html_()
    assert "<b><bdi>class</bdi></b> ≤ <b><bdi>2</bdi></b>" in card
    assert "94.7 %" in card
    assert "25.1 %" in card
    assert "supported" in card
    assert "adjusted for nothing (no causal graph): causal only if nothing affects both" in card


def progress(**changes: Any) -> Progress:
    return dataclasses.replace(Progress(12.3, 0.5, 0.75, 0.3, 1000, (1, 2)), **changes)


@given(st.floats(-1, 1), st.floats(0, 1))
def test_best_and_gap_add_up_to_the_bound(best: float, above: float) -> None:
    shown = numbers(progress(best=best, upper_bound=best + above), lambda _: "x ≤ 1")
    assert shown.startswith(f"12 s · best {best:.4f} · ")
    assert shown.endswith(" · x ≤ 1")
    if "bound" in shown:
        found = re.findall(r"(?:best|bound|gap) (-?[\d.]+)", shown)
        low, bound, gap = map(float, found)
        assert bound - low == pytest.approx(gap, abs=1e-9)
    else:
        assert above < 1e-4


def test_progress_before_the_first_rule_or_bound() -> None:
    assert numbers(progress(best=None)) == "12 s · no rule yet · 1,000 nodes"
    assert numbers(progress(upper_bound=math.inf), lambda _: "x").endswith("no bound yet · x")


def test_a_watcher_sees_the_best_rule() -> None:
    seen: list[Progress] = []
    rules = cr.discover(TITANIC, "survived", actionable=["class", "sex"], k=1, progress=seen.append)
    assert rules.problem is not None
    best = [rules.problem.language.propositions[number] for number in seen[-1].conditions]
    assert set(best) == set(rules[0].conditions)
