"""The first screen of a report: what was found, for whom, how sure, and what it may be called."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import causalrules as cr
from browsers import WITH_BROWSER, has
from causalrules.report import view
from reports import noise_rules, passengers, three_rules


@WITH_BROWSER
def test_the_first_screen_says_what_was_found_for_whom_how_sure_and_what_it_may_be_called(
    opened: Callable[..., Any],
) -> None:
    for width in (1280, 375):
        page = opened(three_rules(), width)
        hero = page.locator("#finding")
        said = " ".join(hero.inner_text().split())
        assert "Where class ≤ 2 and sex = female" in said
        assert "the share with survived = 1 is 94.7 % instead of 25.1 %" in said
        assert (
            "CAUSAL? unchecked an association, adjusted for nothing (no causal graph): causal only if nothing" in said
        )
        assert "outcome: survived = 1 (38.4 % of rows)" in said
        assert "where it holds, 170 rows" in said
        assert "where it does not, 721 rows" in said
        assert "170 of 891 rows" in said
        assert page.locator(".rules > thead").is_visible() == (width > 375)
        for chip in hero.locator(".chip").all():
            assert chip.bounding_box()["y"] + chip.bounding_box()["height"] <= 800
        holds, fails = (bar.bounding_box()["width"] for bar in hero.locator(".bar:not(.covered) .fill").all())
        assert fails / holds == pytest.approx(0.251 / 0.947, abs=0.01)


@WITH_BROWSER
def test_noise_reads_as_noise(opened: Callable[..., Any]) -> None:
    rules = noise_rules()
    page = opened(rules)
    hero = page.locator("#finding")
    assert page.locator("h1").inner_text() == "No rule stands out from chance"
    has(hero.locator(".bar, .chip"), 0)
    assert not re.search(r"points|instead of", hero.inner_text())
    assert set(page.locator("tr.head .tag.tone-none").all_inner_texts()) == {"not supported"}
    has(page.locator(".tone-good, .tone-caution"), 0)
    still = opened(rules, java_script_enabled=False)
    assert still.locator("h1").inner_text() == "No rule stands out from chance"

    for each in (page, still):
        words = each.locator("body").inner_text()
        assert "Closest candidates, not findings" in words
        assert "Searched completely, no finding" in words
        assert "optimal" not in words


def test_the_first_screen_says_what_is_left_after_allowing_for_the_search() -> None:
    rules = cr.discover(passengers(), "survived", actionable="class", control="sex", k=1)
    untested, bounded = view.view(rules), view.view(rules.simultaneous(19, n_jobs=1))
    said = "(95 %, allowing for how many rules were tried), adjusted for sex."
    by_rules = f"at least {100 * (rules[0].at_least or 0):.1f}"
    assert untested.rules[0].measured == f"Difference: {untested.rules[0].estimate}, {by_rules} {said}"
    evidence = rules.simultaneous(19, n_jobs=1)[0].evidence
    assert evidence is not None
    assert evidence.simultaneous is not None
    assert evidence.simultaneous.bound is not None
    by_tables = f"at least {100 * evidence.simultaneous.bound:.1f}"
    assert bounded.rules[0].measured == f"Difference: {untested.rules[0].estimate}, {by_tables} {said}"
    assert bounded.rules[0].mix == "both adjusted to the same mix of sex"
    assert view.view(cr.discover(passengers(), "survived", actionable="class", k=1)).rules[0].mix == ""
