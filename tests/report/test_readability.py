"""A report is readable by anyone: by day and night, on phone, desk and paper, with and without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from browsers import WITH_AXE, WITH_BROWSER, has, violations
from reports import fits, kidney_rules, ladder_rules, noise_rules, open_all, show_all, ten_rules, three_rules


def backgrounds(page: Any) -> list[list[int]]:
    """The colours that text stands on."""
    colour = "getComputedStyle(each).backgroundColor.match(/\\d+/g).map(Number).slice(0, 3)"
    found: list[list[int]] = page.evaluate(
        f"Array.from(document.querySelectorAll('body, .hero, .chip, pre')).map(each => {colour})"
    )
    return found


@WITH_BROWSER
def test_the_contents_lead_to_every_section(opened: Callable[..., Any]) -> None:
    page = opened(kidney_rules())
    links = page.locator("nav a")
    targets = [link.get_attribute("href").removeprefix("#") for link in links.all()]
    assert targets == page.evaluate("Array.from(document.querySelectorAll('main > [id]')).map(each => each.id)")
    links.last.click()
    page.wait_for_function("scrollY > 0")
    assert page.locator("nav").bounding_box()["y"] >= 0  # sticks
    assert page.locator("svg.graph .node").count() >= 3


@WITH_BROWSER
def test_it_is_readable_by_day_and_night_on_phone_and_desk(opened: Callable[..., Any]) -> None:
    page = opened(ten_rules())
    open_all(page)
    has(page.locator("tr.detail:visible"), 10)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        colours = page.evaluate(
            "['backgroundColor', 'color'].map(name => getComputedStyle(document.body)[name].match(/\\d+/g).map(Number))"
        )
        paper, ink = (sum(colour[:3]) for colour in colours)
        assert (paper > 600 > 200 > ink) if scheme == "light" else (paper < 150 < 600 < ink)
        for width in (1200, 375):
            page.set_viewport_size({"width": width, "height": 800})
            assert fits(page)


@WITH_BROWSER
@WITH_AXE
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(opened: Callable[..., Any], scheme: str) -> None:
    kidney = kidney_rules()
    for rules in (kidney, noise_rules()):
        page = opened(rules, color_scheme=scheme)
        open_all(page)
        assert violations(page) == []
    assert violations(opened(kidney, 375, color_scheme=scheme)) == []
    for rules in (three_rules(), ladder_rules()):
        assert violations(opened(rules, color_scheme=scheme)) == []


@WITH_BROWSER
def test_print_shows_every_rule_open_on_a4(opened: Callable[..., Any]) -> None:
    page = opened(ten_rules(), 375)
    has(page.locator("tr.detail:visible"), 0)
    show_all(page)
    n_pages = len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True)))
    assert 5 <= n_pages <= 25  # ten rules, about a page each
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": 700, "height": 990})  # the width of the paper, and not the phone's layout
    has(page.locator("tr.detail:visible"), 10)
    assert page.locator("table.rules").evaluate("table => getComputedStyle(table).display") == "table"
    # ink is dark and everything it stands on is light, whatever the screen was
    assert all(sum(colour) > 600 for colour in backgrounds(page))
    assert not page.locator("#filter").is_visible()
    assert not page.locator("nav").is_visible()
    page.emulate_media(media="screen", color_scheme="dark")
    assert all(sum(colour) < 200 for colour in backgrounds(page))
    has(page.locator("tr.detail:visible"), 0)


@WITH_BROWSER
def test_without_scripts_it_is_a_plain_page_with_the_same_numbers(opened: Callable[..., Any]) -> None:
    rules = kidney_rules()
    still = opened(rules, 375, java_script_enabled=False)
    assert fits(still)
    has(still.locator("#filter, nav"), 0)
    page = opened(rules)
    open_all(page)
    said = " ".join(page.locator("body").inner_text().split())
    for sentence in still.locator(".card > p bdi").all_inner_texts():
        assert sentence in said
    numbers = [set(re.findall(r"\d+\.\d+ %", each.locator("main").inner_text())) for each in (still, page)]
    assert numbers[0]
    assert numbers[0] <= numbers[1]
    for rule in rules:
        assert rule.to_sql() in still.locator("pre").all_text_contents()
