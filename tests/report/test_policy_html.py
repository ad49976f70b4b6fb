"""The reports of groups and of policies: one file without scripts or network, that says what the terminal says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import causalrules as cr
from browsers import WITH_BROWSER, launched
from causalrules.alerts import Alert
from causalrules.language.propositions import Proposition
from causalrules.report import policy_figures, policy_html
from causalrules.report.policy_figures import Scale
from prescriptions import CALL, NEW, OLD, SOUTH, claimed, policies, policy, segment, segment_lists, segments, step
from rulesets import HOSTILE

GROUPS = segments(segment(), segment(NEW, effect=-0.03, low=-0.1, high=0.04, contrast=-0.09), rule=claimed("by design"))
POLICY = policy(step(OLD, SOUTH), step(NEW, action=(CALL,), gain=0.0041), step())


def words(page: str) -> str:
    body = re.sub(r"<style>.*?</style>|<svg.*?</svg>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).replace("\u00a0", " ").split())


def test_the_first_screen_of_groups_is_a_sentence_two_rows_and_two_answers() -> None:
    page = GROUPS.to_html()
    hero, rest = page.split("</header>")
    said = words(hero)
    assert "Where age ≥ 50 and region = south letter = yes raises the share with bought = 1 by 20.6 points, " in said
    assert "elsewhere by 1.3 points" in said
    assert "in the group, 896 rows 20.6 (10.3 to 30.9) elsewhere 1.3" in said
    assert (
        "Differs by 19.3 points, at least 8.2 (95 %, allowing for all 291 groups tried); in the group 19.8 → 40.4 %"
        in said
    )
    assert "Evidence: does it differ? supported p ≤ 0.001, adjusted for the search (at most 0.05 needed)" in said
    assert "Claim: is it causal? by design causal: letter is declared randomised" in said
    assert 'class="hero tone-good"' in hero
    assert "of the others: visits ≤ 1" in words(rest)
    assert "inside, with its interval for all groups tried" in words(rest)
    assert "age ≥ 50 ∧ region = south 20.6 points (14.7 to 26.5)" in words(rest)  # named in advance


def test_an_association_is_not_called_an_effect() -> None:
    page = words(segments(segment()).to_html())
    assert "the share with bought = 1 is 20.6 points higher with letter = yes, elsewhere 1.3 points higher" in page
    assert "raises" not in page
    assert "causal only if nothing else affects both action and outcome" in page
    assert 'class="hero tone-caution"' in segments(segment()).to_html()


def test_signs_that_differ_are_said() -> None:
    below = segment(outside=-0.02)
    assert "raises the share with bought = 1 by 20.6 points, elsewhere lowers it by 2.0 points" in words(
        segments(below, rule=claimed("by design")).to_html()
    )
    assert "is 20.6 points higher with letter = yes, elsewhere 2.0 points lower" in words(segments(below).to_html())


def test_where_nothing_is_shown_to_differ_the_page_is_grey_and_has_no_answers() -> None:
    page = segments().to_html()
    hero, rest = page.split("</header>")
    assert 'class="hero tone-none"' in hero
    assert "is not shown to differ between groups" in words(hero)
    assert 'class="chip' not in hero
    assert "<svg" not in hero
    assert '<section class="faint">\n<h2>Nearest group, not shown to differ</h2>' in rest
    figure = rest.split("</dl>", 1)[0]
    assert "--blue" not in figure
    assert "<h2>Code</h2>" not in rest
    assert segments(candidate=None).to_html()


def test_the_first_screen_of_a_policy_is_its_gain_who_gets_what_and_two_bars() -> None:
    page = POLICY.to_html()
    hero, rest = page.split("</header>")
    said = words(hero)
    assert "46.5 more with bought = 1 per 1,000 rows than today, net of costs" in said
    assert (
        "IF age ≥ 50 ∧ region = south THEN letter = yes else IF visits ≤ 1 THEN call = yes everybody else: letter"
        in said
    )
    assert "with the policy 31.7 % today 24.7 %" in said
    assert "On held-out rows: 37.4 (28.3 to 46.6) per 1,000 rows; one more with bought = 1 for every 9.6 people" in said
    assert "Evidence: is it a gain? supported" in said
    widths = [float(each) for each in re.findall(r'<rect width="([\d.]+)%"', hero)]
    assert widths[1] / widths[3] == pytest.approx(0.3168 / 0.2467, abs=0.01)
    assert "gain per 1,000 rows over today, step by step" in words(rest)
    assert "over letter = yes for everybody 33.7 34.3 (16.2 to 52.5)" in words(rest)
    assert "WHEN &#34;visits&#34; &lt;= 1 THEN 1" in rest
    assert "cr.prescribe(" in rest
    assert "causalrules prescribe" in rest


def test_a_policy_without_steps_is_grey() -> None:
    hero, rest = policy().to_html().split("</header>")
    assert 'class="hero tone-none"' in hero
    assert "No step stands out" in words(hero)
    assert 'class="chip' not in hero
    assert "Nearest step, not shown to gain" in rest
    assert "held-out" not in words(rest)
    assert policy(candidate=None).to_html()


def test_alerts_are_on_the_first_screen() -> None:
    alert = Alert("leak suspected", ("age",), "it tells the outcome")
    for found in (segments(segment(), alerts=(alert,)), policy(step(), alerts=(alert,))):
        assert "Leak suspected. It tells the outcome." in words(found.to_html().split("</header>")[0])


def test_a_report_is_small_the_same_each_time_and_written_atomically(tmp_path: Path) -> None:
    for found in (GROUPS, POLICY, segments(*[segment()] * 60), policy(*[step(OLD)] * 60)):
        page = found.to_html()
        assert page == found.to_html()
        assert len(page.encode()) < 250_000
    path = tmp_path / "report.html"
    GROUPS.to_html(path)
    assert path.read_text(encoding="utf-8") == GROUPS.to_html()
    with pytest.raises(cr.DataError, match="cannot write"):
        GROUPS.to_html(tmp_path / "no such folder" / "report.html")
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_a_page_has_no_scripts_and_loads_nothing() -> None:
    for page in (GROUPS.to_html(), POLICY.to_html()):
        assert "<script" not in page
        assert "default-src 'none'" in page
        assert not re.search(r"(?:src|href)=\"(?!data:)", page)


@given(segment_lists() | policies())
@settings(max_examples=40, deadline=None)
def test_any_groups_and_policies_have_a_report_and_a_card(found: Any) -> None:
    for page in (found.to_html(), found._repr_html_()):
        assert "<script" not in page
        assert "\x1b" not in re.sub(r"<pre>.*?</pre>", "", page, flags=re.DOTALL)  # code is as it is
        assert "nan%" not in page
        assert "inf%" not in page
        page.encode()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text(name: str) -> None:
    hostile = Proposition(name, "=", name)
    for found in (segments(segment(hostile), source=name), policy(step(hostile), source=name)):
        page = found.to_html()
        tags = set(re.findall(r"<(\w+)", page))
        assert tags <= {
            *(
                "html",
                "head",
                "meta",
                "link",
                "title",
                "style",
                "body",
                "div",
                "main",
                "header",
                "p",
                "bdi",
                "h1",
                "h2",
            ),
            *("h3", "b", "ol", "li", "ul", "figure", "figcaption", "dl", "dt", "dd", "svg", "line", "circle", "rect"),
            *("text", "span", "section", "table", "thead", "tbody", "tr", "th", "td", "pre"),
        }


def test_an_axis_has_round_ticks_and_holds_what_is_drawn() -> None:
    scale = Scale.of([-0.05, 0.31, float("inf"), float("nan")])
    assert (scale.low, scale.high) == (-0.05, 0.31)
    assert scale.ticks() == (0.0, 0.1, 0.2, 0.3)
    assert Scale.of([]).ticks()[0] == 0
    assert scale.place(-0.05) < scale.place(0.0) < scale.place(0.31)
    assert scale.place(float("-inf")) == scale.place(-0.05)
    assert Scale(0.0, 1e-9).ticks()
    assert Scale(-1e9, 1e9).ticks()[-1] == 1e9


def test_the_staircase_starts_each_step_where_the_one_above_ends() -> None:
    _, drawn = policy_figures.stairs(policy(step(OLD, gain=0.02), step(NEW, gain=0.01), step(gain=-0.005)))
    bars = [re.search(r'<rect x="([\d.]+)%" width="([\d.]+)%"', each) for each in drawn]
    places = [(float(each[1]), float(each[1]) + float(each[2])) for each in bars if each]
    assert places[0][1] == pytest.approx(places[1][0], abs=0.2)
    assert places[1][1] == pytest.approx(places[2][1], abs=0.2)  # a loss goes back
    assert places[1][1] - places[1][0] == pytest.approx((places[0][1] - places[0][0]) / 2, abs=0.3)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as chromium:
        yield chromium


@WITH_BROWSER
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_fit_a_screen(browser: Any, tmp_path: Path, width: int, scheme: str) -> None:
    trouble: list[str] = []
    pages: list[Any] = [GROUPS, segments(), POLICY, policy()]
    for place, found in enumerate(pages):
        path = tmp_path / f"{place}.html"
        found.to_html(path)
        context = browser.new_context(
            viewport={"width": width, "height": 844}, color_scheme=scheme, offline=True, java_script_enabled=True
        )
        page = context.new_page()
        page.on("console", lambda message: trouble.append(message.text))
        page.on("request", lambda request: trouble.append(request.url))
        page.goto(path.as_uri())
        trouble.remove(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        hero = page.locator("#finding").bounding_box()
        assert hero["y"] + hero["height"] <= 844
        circles = page.locator("circle").all()
        assert all(circle.bounding_box()["x"] >= 0 for circle in circles)
        context.close()
    assert trouble == []


def test_the_notebook_says_the_same_in_little() -> None:
    card = words(GROUPS._repr_html_())
    assert card.startswith(
        "Where age ≥ 50 and region = south, letter = yes raises the share with bought = 1 by 20.6 points"
    )
    assert "Evidence: does it differ? supported" in card
    assert "of the others: visits ≤ 1 22.4 % 19.8 → 40.4 % −3.0 (−10.0 to 4.0)" in card
    assert GROUPS._repr_html_().count("<svg") == 2
    card = words(POLICY._repr_html_())
    assert card.startswith("3 steps: 46.5 more with bought = 1 per 1,000 rows than today, net of costs (20,000 rows)")
    assert "Over today's practice: 46.5 per 1,000 rows, held-out rows 37.4 (28.3 to 46.6)." in card
    assert "is not shown to differ between groups; nearest: visits ≤ 1" in words(segments()._repr_html_())
    assert policy()._repr_html_().count("<svg") == 0


def test_code_that_no_language_can_hold_is_said_to_be_impossible() -> None:
    page = words(segments(segment(Proposition("", "=", 1))).to_html())
    assert "not possible: no SQL can name the column ''" in page
    assert policy_html.view_of_segments(replace(GROUPS, source=None)).kicker.startswith(
        "4,000 rows; action: letter = yes"
    )
