"""Groups and policies in the terminal: one story, in points, with what it rests on."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import causalrules as cr
from causalrules.alerts import Alert
from causalrules.language.kinds import MEAN
from causalrules.policy.steps import Single, Value
from causalrules.question import ContextQuestion, PolicyQuestion
from causalrules.report import policy_terminal
from causalrules.report.rule_text import columns
from causalrules.text import printable
from prescriptions import (
    CALL,
    LETTER,
    LETTERS,
    NEW,
    OLD,
    SOUTH,
    claimed,
    nearest,
    policies,
    policy,
    segment,
    segment_lists,
    segments,
    step,
)


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


def said(found: Any) -> str:
    return " ".join(str(found).split())


def test_a_group_is_told_with_effect_outside_contrast_bound_and_p() -> None:
    shown = str(segments(segment(), segment(NEW, share=0.0931, level=0.5)))
    assert shown.splitlines()[0].startswith(
        "2 groups in 4,000 rows where the association of letter = yes with bought = 1 "
    )
    assert re.search(r"share +without → with +inside, points +outside +differs by +at least +p\n", shown)
    assert re.search(
        r"1  age ≥ 50 ∧ region = south +22\.4 % +19\.8 → 40\.4 % +20\.6 \(10\.3 to 30\.9\)"
        r" +1\.3 +19\.3 +8\.2 +≤ 0\.001\n",
        shown,
    )
    assert re.search(r"2  of the others: visits ≤ 1 +9\.3 % +19\.8 → 50\.0 %", shown)
    assert "association on everybody: 5.6 points (3.0 to 8.3), 21.5 → 27.1 % with bought = 1, adjusted for" in shown
    assert "No causal graph given: these are associations" in shown


def test_numbers_go_below_the_group_where_there_is_little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = str(segments(segment())).splitlines()
    place = lines.index("1  age ≥ 50 ∧ region = south")
    assert " ".join(lines[place + 1].split()) == "22.4 % 20.6 (10.3 to 30.9) 1.3 19.3 8.2 ≤ 0.001"
    assert "without → with" not in "".join(lines)
    ends = [lines[place - 1].index(name) + len(name) for name in ("share", "points", "outside", "least", "  p")]
    assert [lines[place + 1].index(cell) + len(cell) for cell in ("22.4 %", "30.9)", "  1.3", "  8.2", "0.001")] == ends


def test_an_effect_is_called_one_only_where_a_graph_or_a_design_allows_it() -> None:
    for claim, word in {"identified": "effect", "by design": "effect", "not identified": "association"}.items():
        shown = said(segments(segment(), rule=claimed(claim)))
        assert f"where the {word} of letter = yes" in shown
        assert f"{word} on everybody" in shown
    assert "Causal if the causal graph is right: the causal graph allows it" in said(
        segments(segment(), rule=claimed("identified"))
    )
    assert "By design: letter is declared randomised" in said(segments(segment(), rule=claimed("by design")))


def test_a_context_that_the_graph_does_not_allow_makes_it_an_association() -> None:
    table = cr.datasets.campaign()
    graph = "letter -> visits; letter -> bought; visits -> bought"
    options: dict[str, Any] = {"graph": graph, "allow_inadmissible": True, "permutations": 19}
    found = cr.for_whom(table, "letter = yes", "bought", context="visits", **options)
    assert found.rule.verdict.claim == "identified"
    assert found.claim == "not identified"
    assert "Not identified: by the causal graph, effects inside groups are not identified" in said(found)
    assert "The association of letter = yes with bought = 1" in said(found)


def test_where_no_group_stands_out_one_sentence_says_so() -> None:
    shown = str(segments())
    assert said(shown).startswith(
        "The association of letter = yes with bought = 1 is not shown to differ between groups; nearest: visits ≤ 1, "
        "20.6 points and 1.3 points elsewhere (p = 0.263, at most 0.05 needed)"
    )
    assert "inside, points" not in shown
    assert "at least" not in shown.split("\n\n")[1]
    assert "no group can be compared with the others" in said(segments(candidate=None))


def test_how_it_was_tested_and_adjusted_is_told() -> None:
    assert "adjusted for age, region, visits by models (doubly robust)" in said(segments(segment()))
    assert ", adjusted for visits tested" in said(segments(segment(), by_models=False))
    lot = segments(segment(), by_models=False, control=(), known_shares=True)
    assert ", unadjusted, as it was drawn by lot tested" in said(lot)
    assert (
        "tested: 291 groups of at most 2 conditions on age, region and visits, all at once by 999 sign flips; p, "
        "adjusted for the search (error rate 5 %)"
    ) in said(segments(segment()))
    clustered = ContextQuestion(target="y", outcome="y = 1", groups="village", max_context=1, error_rate=0.1)
    shown = said(segments(segment(), segment(), question=clustered))
    assert "of one condition on" in shown
    assert "sign flips of whole groups of rows, each further group on the rows that are left" in shown
    assert "(error rate 10 %)" in shown


def test_a_group_that_benefits_less_differs_by_as_much() -> None:
    less = segment(effect=-0.05, outside=0.1, contrast=-0.15, contrast_low=-0.25, contrast_high=-0.05)
    assert re.search(r"−5\.0 \(.*\) +10\.0 +15\.0 +5\.0 +≤ 0\.001", str(segments(less)))
    unknown = replace(less, contrast_low=-math.inf, contrast_high=math.inf, low=-math.inf, high=math.inf)
    assert re.search(r" −5\.0 +10\.0 +15\.0 +none +≤ 0\.001", str(segments(unknown)))


def test_numbers_of_one_column_have_the_same_decimals() -> None:
    assert re.search(r"20\.60 \(10\.26 to 30\.94\) +0\.40 +19\.30 +8\.20", str(segments(segment(outside=0.004))))


def test_means_are_told_in_their_unit() -> None:
    wages = replace(LETTERS, measured=replace(LETTERS.measured, kind=MEAN))
    found = segments(
        segment(effect=1794.3, low=521, high=3067, outside=12.0, contrast=1782.3, contrast_low=480, level=9000.4),
        rule=wages,
        question=ContextQuestion(target="wage", outcome="mean of wage"),
        effect=400.0,
        low=100,
        high=700,
    )
    assert re.search(r"1,794 \(521 to 3,067\) +12 +1,782 +480", str(found))
    assert "points" not in str(found)
    assert "400 (100 to 700), mean of wage" in said(found)
    steps = policy(step(OLD, gain=12.34, gain_at_least=3.2), kind=MEAN, question=PolicyQuestion("wage", "mean of wage"))
    assert said(steps).startswith("1 step: mean of wage 12.34 higher than today (20,000 rows)")
    assert "gain per row" in str(steps)


def test_a_policy_says_who_gets_what_and_what_that_gains() -> None:
    shown = str(policy(step(OLD, SOUTH), step(NEW, action=(CALL,), gain=0.0041)))
    assert shown.startswith(
        "2 steps: 25.3 more with bought = 1 per 1,000 rows than today, net of costs (20,000 rows)\n"
    )
    assert re.search(r"without → with +effect, points +gain per 1,000 rows +at least", shown)
    assert re.search(
        r"1  IF age ≥ 50 ∧ region = south THEN letter = yes +22\.4 % +30\.2 → 40\.7 % +10\.4 +21\.2 +7\.0\n", shown
    )
    assert re.search(r"2  else IF visits ≤ 1 THEN call = yes +22\.4 % .* 4\.1 ", shown)
    assert "\n   everybody else: as today\n" in shown
    assert re.search(r"over today's practice +25\.3 +37\.4 \(28\.3 to 46\.6\)", shown)
    assert re.search(r"over letter = yes for everybody +12\.5 +34\.3 \(16\.2 to 52\.5\)", shown)
    assert "costs, in units of bought: letter = yes 0.02; 0.035 per row today, 0.0395 with the policy" in shown
    assert "each step is proven best of 2,344 pairs of context and action" in shown


def test_a_step_for_everybody_leaves_nobody_to_today() -> None:
    shown = str(policy(step(OLD), step(), default=(LETTER,)))
    assert re.search(r"2  everybody else: letter = yes", shown)
    assert "as today" not in shown.split("\n\n")[1]
    assert "of these people with letter = yes and with the action" in said(shown)
    assert re.search(r"1  everybody: letter = yes", str(policy(step())))
    assert "for everybody" not in str(policy(step()))  # the best single action is this policy


def test_a_baseline_is_compared_with() -> None:
    asked = replace(policy().question, baseline={"letter": "no"})
    held_out = replace(policy().held_out, over_baseline=Value(0.05, 0.04, 0.06))  # type: ignore[type-var]
    shown = str(policy(step(OLD), question=asked, gain_over_baseline=0.07, held_out=held_out))
    assert re.search(r"over letter = no for everybody +70\.0 +50\.0 \(40\.0 to 60\.0\)", shown)
    assert re.search(
        r"over letter = no for everybody +70\.0 +–",
        str(policy(step(), question=asked, gain_over_baseline=0.07, held_out=None)),
    )


def test_outcomes_that_are_to_be_rare_become_fewer() -> None:
    asked = replace(policy().question, direction="decrease", cost=None)
    shown = said(policy(step(OLD, effect=-0.1, level=0.2), question=asked))
    assert shown.startswith("1 step: 21.2 fewer with bought = 1 per 1,000 rows than today (20,000 rows)")
    assert "one fewer with bought = 1 for every" in shown
    assert "net of costs" not in shown


def test_a_policy_without_steps_is_none() -> None:
    shown = said(policy(single=None))
    assert shown.startswith(
        "No step stands out: nobody is shown to be better off with another action than today; nearest: IF age ≥ 50 "
        "THEN letter = yes (21.2 more with bought = 1 per 1,000 rows than today, net of costs, but possibly none)"
    )
    assert "searched completely: 2,344 pairs" in shown
    assert "with the policy" not in shown
    assert "held-out" not in shown


def test_a_search_that_was_stopped_says_so() -> None:
    shown = said(policy(step(OLD), optimal=False, stopped="time limit"))
    assert "time limit: better steps may exist" in shown
    assert "proven" not in shown


def test_quiet_is_quiet_and_alerts_come_first() -> None:
    alert = Alert("leak suspected", ("age",), "it tells the outcome")
    found = segments(segment(), alerts=(alert,), notes=("a note",))
    assert str(found).splitlines()[1] == "! Leak suspected: it tells the outcome"
    assert str(found).endswith("note: a note")
    quiet = policy_terminal.of_segments(found, remarks=False)
    assert quiet == str(found).split("\n\n")[1]
    assert policy_terminal.of_segments(segments(), remarks=False) == str(segments()).split("\n\n")[0]
    steps = policy(step(OLD), alerts=(alert,))
    assert str(steps).splitlines()[1] == "! Leak suspected: it tells the outcome"
    assert policy_terminal.of_policy(steps, remarks=False) == str(steps).split("\n\n")[1]


@given(segment_lists() | policies(), st.sampled_from([40, 60, 80, 120]))
@settings(max_examples=60, deadline=None)
def test_anything_can_be_shown_at_any_width(found: Any, width: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        shown = str(found)
    assert "\x1b" not in shown
    assert printable(shown.replace("\n", "")) == shown.replace("\n", "")
    numbers = (" share ", "gain per", " %", "–", "→", "≤")
    for line in shown.splitlines():
        assert columns(line) <= width or any(sign in line for sign in numbers), line


@given(st.builds(Single, st.just((LETTER,)), st.floats(-1, 1)), st.floats(0, 1))
@settings(max_examples=20, deadline=None)
def test_gains_add_up_as_they_are_shown(single: Single, gain: float) -> None:
    shown = said(policy(step(OLD, gain=gain), step(NEW, gain=gain / 2), single=single))
    total = re.search(r"2 steps: ([\d,.−]+) more", shown)
    assert total is not None
    assert float(total[1].replace(",", "")) == pytest.approx(1500 * gain, abs=0.5)
    assert nearest().evidence == "not supported"
