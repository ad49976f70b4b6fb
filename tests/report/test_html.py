"""The report in a real browser: it works without a network, bears any name, and claims no more than the verdict."""

from __future__ import annotations

import dataclasses
import itertools
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import causalrules as cr
from browsers import WITH_AXE, WITH_BROWSER, has, launched, violations
from causalrules.graph.criteria import Violation
from causalrules.report import html, reproduce, result_words, rule_words, sections, view
from rulesets import HOSTILE, admissibility, rule_set, women_of_two_classes
from strategies import RELIABLE

ROOT = Path(__file__).resolve().parents[2]
PASSENGERS = cr.datasets.titanic(library="pandas")
RULES = cr.discover(PASSENGERS, "survived", control="sex", k=10, stepwise=False)
PAGE = RULES.to_html()
TITANIC = cr.discover(PASSENGERS, "survived", k=3, stepwise=False)
LADDER = cr.discover(PASSENGERS, "survived", control="sex")
KIDNEY = cr.discover(
    cr.datasets.kidney_stones(),
    "success",
    control="size",
    graph="dag {size -> treatment size -> success treatment -> success}",
    k=2,
).trust(19, 2, 2)
CHANCE = np.random.default_rng(3)
NOISE = cr.discover({name: CHANCE.integers(0, 3, 200) for name in "abcdy"}, "y", 1, k=3)
# values with which anything that were run would leave a trace
TRAPS = [
    "<script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 1'>",
    '"><svg onload=window.pwned=1>',
    "' onmouseover='window.pwned=1",
    "</pre></table></script><script>window.pwned=1</script>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:window.pwned=1",
    "https://example.com/x.png",
    "👩‍👩‍👧 emoji",
    "שלום עולם",
    "مرحبا",
    "\u202edesrever\u2066",
    "tab\tline\r\nbreak\0nul",
    "x" * 5000,
    "\\",
    "#0072b2",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as chromium:
        yield chromium


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """A function that opens a result's report; at the end, nothing may have gone wrong in any of them."""
    trouble: list[str] = []
    contexts: list[Any] = []

    def open_report(rules: cr.RuleSet, width: int = 1200, **options: Any) -> Any:
        path = tmp_path / f"report {len(contexts)}.html"
        path.write_text(PAGE if rules is RULES else rules.to_html(), encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 800}, offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: trouble.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on("dialog", lambda dialog: trouble.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: trouble.append(f"request: {request.url[:200]}"))
        page.goto(path.as_uri())
        trouble.remove(f"request: {path.as_uri()}")  # the page itself, and nothing else
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert trouble == []


def shown(page: Any) -> list[int]:
    """The places of the rules that can be seen, from top to bottom."""
    heads = "Array.from(document.querySelectorAll('tr.head')).filter(head => head.checkVisibility())"
    places: list[int] = page.evaluate(f"{heads}.map(head => Number(head.querySelector('td.place').textContent || 1))")
    return places


def backgrounds(page: Any) -> list[list[int]]:
    """The colours that text stands on."""
    colour = "getComputedStyle(each).backgroundColor.match(/\\d+/g).map(Number).slice(0, 3)"
    found: list[list[int]] = page.evaluate(
        f"Array.from(document.querySelectorAll('body, .hero, .chip, pre')).map(each => {colour})"
    )
    return found


def open_all(page: Any) -> None:
    show_all(page)
    page.evaluate("document.querySelectorAll('.open-rule[aria-expanded=false]').forEach(each => each.click())")


def fits(page: Any) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def show_all(page: Any) -> None:
    for box in page.locator("input[type=checkbox]").all():
        box.check()


def plain(page: str) -> str:
    """The page as it is without scripts."""
    return page.split('<script type="application/json"', 1)[0]


@WITH_BROWSER
def test_the_first_screen_says_what_was_found_for_whom_how_sure_and_what_it_may_be_called(
    opened: Callable[..., Any],
) -> None:
    for width in (1280, 375):
        page = opened(TITANIC, width)
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
    page = opened(NOISE)
    hero = page.locator("#finding")
    assert page.locator("h1").inner_text() == "No rule stands out from chance"
    has(hero.locator(".bar, .chip"), 0)
    assert not re.search(r"points|instead of", hero.inner_text())
    assert set(page.locator("tr.head .tag.tone-none").all_inner_texts()) == {"not supported"}
    has(page.locator(".tone-good, .tone-caution"), 0)
    still = opened(NOISE, java_script_enabled=False)
    assert still.locator("h1").inner_text() == "No rule stands out from chance"

    for each in (page, still):
        words = each.locator("body").inner_text()
        assert "Closest candidates, not findings" in words
        assert "Searched completely, no finding" in words
        assert words.count("ignoring the search") == len(NOISE)
        assert "optimal" not in words


@WITH_BROWSER
def test_the_numbers_in_the_plot_do_not_cover_each_other(opened: Callable[..., Any]) -> None:
    for width in (1280, 375):
        page = opened(RULES, width)
        show_all(page)
        places = page.evaluate(
            "Array.from(document.querySelectorAll('.dot text'))"
            ".map(each => each.getBoundingClientRect()).map(box => [box.x, box.y, box.right, box.bottom])"
        )
        assert len(places) == 10
        for (left, top, right, bottom), other in itertools.combinations(places, 2):
            apart = right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
            assert apart, (width, left, top, other)


@WITH_BROWSER
def test_only_a_long_list_can_be_filtered_and_its_grey_words_are_explained(opened: Callable[..., Any]) -> None:
    long, short = opened(RULES), opened(TITANIC)
    has(long.get_by_role("searchbox"), 1)
    has(short.get_by_role("searchbox"), 0)
    assert short.locator("tr.head .shared").all_inner_texts() == ["class ≤\xa02", " and sex =\xa0female"] * 3
    assert "grey words are in every rule" in " ".join(short.locator(".key").first.inner_text().split())
    has(long.locator("tr.head .shared"), 0)
    assert "grey words" not in long.locator("main").inner_text()


@WITH_BROWSER
def test_rules_are_sorted_by_a_click_on_a_heading(opened: Callable[..., Any]) -> None:
    page = opened(RULES)
    show_all(page)
    assert shown(page) == list(range(1, 11))
    for heading, key in (
        ("adjusted difference", lambda rule: rule.effect),
        ("coverage", lambda rule: rule.coverage),
        ("conservative difference", lambda rule: rule.reliable_effect),
    ):
        button = page.get_by_role("button", name=heading, exact=True)
        button.click()
        falling = sorted(range(1, 11), key=lambda place: (-key(RULES[place - 1]), place))
        assert shown(page) == falling
        button.click()
        assert [key(RULES[place - 1]) for place in shown(page)] == sorted(key(rule) for rule in RULES)
    page.get_by_role("button", name="rule", exact=True).click()
    assert len({RULES[place - 1].text for place in shown(page)}) == 10
    page.get_by_role("button", name="#", exact=True).click()
    assert shown(page) == list(range(1, 11))


@WITH_BROWSER
def test_rules_are_filtered_by_what_is_typed(opened: Callable[..., Any]) -> None:
    page = opened(RULES)
    show_all(page)
    page.get_by_role("searchbox").fill("PARCH ≤ 2")
    expected = [place for place, rule in enumerate(RULES, 1) if "parch ≤ 2" in rule.text]
    assert 0 < len(expected) < 10
    assert shown(page) == expected
    assert page.locator("#shown").inner_text() == f"{len(expected)} of 10 shown"
    page.get_by_role("searchbox").fill("")
    assert len(shown(page)) == 10


@WITH_BROWSER
def test_a_click_opens_a_rule_and_a_key_does_so_too(opened: Callable[..., Any]) -> None:
    page = opened(RULES)
    reading, first = rule_words.reading(RULES[0], RULES)[0], page.locator("tr.detail").first
    assert not first.is_visible()
    page.locator("tr.head").first.click()
    assert first.is_visible()
    assert reading in first.inner_text()
    button = page.locator(".open-rule").first
    assert button.get_attribute("aria-expanded") == "true"
    button.focus()
    page.keyboard.press("Enter")
    assert not first.is_visible()
    assert button.get_attribute("aria-expanded") == "false"
    button.press("Enter")
    strata = first.locator("table.strata tbody tr")
    has(strata, 2)
    has(strata.first.locator("circle"), 2)
    differences = [float(text.replace("−", "-")) for text in strata.locator("td:last-child").all_inner_texts()]
    assert differences == sorted(differences, reverse=True)


@WITH_BROWSER
def test_code_is_copied_exactly(opened: Callable[..., Any]) -> None:
    page = opened(RULES, permissions=["clipboard-read", "clipboard-write"])
    page.locator(".open-rule").first.press("Enter")
    card = page.locator("tr.detail").first
    for language, code in (("SQL, DuckDB", RULES[0].to_sql()), ("Python", RULES[0].to_python())):
        card.get_by_role("button", name=language, exact=True).click()
        card.get_by_role("button", name=f"Copy {language}").click()
        card.get_by_text("Copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == code
    page.locator("#reproduce").get_by_role("button", name="Copy Command line").click()
    page.locator("#reproduce").get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == reproduce.command(RULES)


@WITH_BROWSER
def test_the_plots_are_linked_and_work_by_keyboard_alone(opened: Callable[..., Any]) -> None:
    page = opened(RULES)
    show_all(page)
    dot, row = page.locator(".dot[data-place='3']"), page.locator("#rule-3")
    dot.hover()
    assert row.get_attribute("class") == "active"
    assert RULES[2].text in page.locator(".readout").inner_text()
    row.locator(".open-rule").focus()
    assert "active" in dot.get_attribute("class")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.closest('tbody').id") == "rule-4"
    dot.focus()
    page.keyboard.press("Enter")
    assert row.locator("tr.detail").is_visible()
    page.locator("body").evaluate("body => { document.activeElement.blur(); scrollTo(0, 0) }")
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.getAttribute('class') || document.activeElement.id"))
    assert {"filter", "open-rule"} <= reached


@WITH_BROWSER
def test_a_list_of_rules_that_add_is_drawn_as_a_staircase(opened: Callable[..., Any]) -> None:
    page, still = opened(LADDER), opened(LADDER, java_script_enabled=False)
    stairs = page.locator(".stairs")
    levels = [f"{100 * rung.level:.1f} %" for rung in LADDER.rungs]
    names = ["none of the rules", "rule 1", "rules 1 and 2"]
    assert len(levels) == 3
    said = stairs.get_attribute("aria-label")
    for name, level, rung in zip(names, levels, LADDER.rungs, strict=True):
        assert f"{name} {level}" in said
        assert f"{rung.n_rows:,} rows" in said
    assert stairs.get_attribute("role") == "img"
    assert [text.replace("\xa0", " ") for text in stairs.locator(".stair-level").all_text_contents()] == levels
    treads = [float(line.get_attribute("y1")) for line in stairs.locator(".tread").all()]
    assert treads == sorted(treads, reverse=True)
    has(stairs.locator(".few"), 1)  # 25 rows
    beside = page.locator(".stairs-table tbody tr").all_inner_texts()
    table = still.locator("section").filter(has=still.get_by_role("heading", name="Where the rules hold together"))
    plainly = table.locator("table.data").last.locator("tbody tr").all_inner_texts()
    rules = ["", *(rule.text for rule in LADDER)]
    for rows in (beside, plainly):
        for row, name, level, rung, rule in zip(rows, names, levels, LADDER.rungs, rules, strict=True):
            for words in (name, level, f"{rung.n_rows:,}", rule):
                assert words in " ".join(row.split())
    step = 100 * (LADDER.rungs[1].level - LADDER.rungs[0].level)
    assert f"+{step:.1f}" in " ".join(beside[1].split())
    for width in (1200, 375):
        page.set_viewport_size({"width": width, "height": 800})
        assert fits(page)


def test_only_two_rules_that_add_make_a_staircase() -> None:
    assert view.view(LADDER).staircase is not None
    for rules in (RULES, TITANIC, NOISE, cr.discover(PASSENGERS, "survived", control="sex", k=1)):
        shown = view.view(rules)
        assert shown.staircase is None
        assert shown.adds == ""
        assert "Where the rules hold together" not in plain(rules.to_html())


def test_the_staircase_of_a_mean_and_of_a_decrease_has_their_units_and_signs() -> None:
    fares = view.view(cr.discover(PASSENGERS, "fare")).staircase
    assert fares is not None
    assert fares.says.startswith("Mean of fare where none of the rules holds")
    assert fares.step == "step"
    assert not any("%" in rung.level for rung in fares.rungs)
    rules = cr.discover(cr.datasets.renewals(), "renewed", direction="decrease")
    fewer = view.view(rules).staircase
    assert fewer is not None
    assert fewer.step == "step, points"
    assert fewer.rungs[1].step.startswith("−")
    assert [rung.name for rung in fewer.rungs[:2]] == ["none of the rules", "rule 1"]


@WITH_BROWSER
def test_a_rule_of_a_ladder_says_what_it_adds_what_is_held_fixed_and_what_it_is_on_its_own(
    opened: Callable[..., Any],
) -> None:
    page, still = opened(LADDER), plain(LADDER.to_html())
    second = LADDER[1]
    assert second.alone is not None
    alone = f"{100 * second.alone.effect:.1f} points"
    has(page.get_by_role("button", name="adds", exact=True), 1)
    assert f"{round(1000 * second.coverage)} of 1,000" in page.locator("#rule-2 .coverage").inner_text()
    page.locator("#rule-2 .open-rule").click()
    card = page.locator("#rule-2 .card")
    assert "Held fixed: class." in card.inner_text()
    own = card.locator(".estimates tr").filter(has_text="on its own")
    assert alone in own.inner_text()
    assert page.locator(".ending").inner_text().replace("\xa0", " ") == view.view(LADDER).ending
    assert "Each rule adds to those above: its difference is with their columns held fixed." in still
    assert "Held fixed: class." in still
    assert f"On its own: {alone}" in still
    assert "No other column stands out; nearest: " in still
    page.locator("#rule-1 .open-rule").click()
    assert "Held fixed" not in page.locator("#rule-1 .card").inner_text()
    assert ("Rules", "at most 5, each adding to those above") in view.view(LADDER).asked
    assert ("Rules", "the best 10") in view.view(RULES).asked


@WITH_BROWSER
def test_the_graph_of_a_rule_shows_its_controls_and_the_paths_that_they_block(opened: Callable[..., Any]) -> None:
    table = {"a": [0, 1] * 40, "b": [0, 1, 1, 1] * 20, "y": [0, 1, 1, 1, 0, 1, 0, 1] * 10}
    rules = cr.discover(table, "y", control="auto", graph="a -> b -> y; a -> y", actionable="b", k=1)
    page = opened(rules)
    page.locator(".open-rule").first.click()
    card = page.locator(".card").first
    assert card.locator(".in-rule text").all_text_contents() == ["b"]
    assert card.locator(".held text").all_text_contents() == ["a"]
    has(card.locator(".edge.blocked"), 2)


@WITH_BROWSER
def test_the_contents_lead_to_every_section(opened: Callable[..., Any]) -> None:
    page = opened(KIDNEY)
    links = page.locator("nav a")
    targets = [link.get_attribute("href").removeprefix("#") for link in links.all()]
    assert targets == page.evaluate("Array.from(document.querySelectorAll('main > [id]')).map(each => each.id)")
    links.last.click()
    page.wait_for_function("scrollY > 0")
    assert page.locator("nav").bounding_box()["y"] >= 0  # sticks
    assert page.locator("svg.graph .node").count() >= 3


@WITH_BROWSER
def test_it_is_readable_by_day_and_night_on_phone_and_desk(opened: Callable[..., Any]) -> None:
    page = opened(RULES)
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
    for rules in (KIDNEY, NOISE):
        page = opened(rules, color_scheme=scheme)
        open_all(page)
        assert violations(page) == []
    assert violations(opened(KIDNEY, 375, color_scheme=scheme)) == []
    for rules in (TITANIC, LADDER):
        assert violations(opened(rules, color_scheme=scheme)) == []


@WITH_BROWSER
def test_print_shows_every_rule_open_on_a4(opened: Callable[..., Any]) -> None:
    page = opened(RULES, 375)
    has(page.locator("tr.detail:visible"), 0)
    show_all(page)
    n_pages = len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True)))
    assert 5 <= n_pages <= 20  # ten rules, about a page each
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
    still = opened(KIDNEY, 375, java_script_enabled=False)
    assert fits(still)
    has(still.locator("#filter, nav"), 0)
    page = opened(KIDNEY)
    open_all(page)
    said = " ".join(page.locator("body").inner_text().split())
    for sentence in still.locator(".card > p bdi").all_inner_texts():
        assert sentence in said
    numbers = [set(re.findall(r"\d+\.\d+ %", each.locator("main").inner_text())) for each in (still, page)]
    assert numbers[0]
    assert numbers[0] <= numbers[1]
    for rule in KIDNEY:
        assert rule.to_sql() in still.locator("pre").all_text_contents()


def trapped() -> dict[str, list[Any]]:
    """A table in which every name and value is a trap."""
    n = 4 * len(TRAPS)
    values = [TRAPS[row % len(TRAPS)] for row in range(n)]
    columns: dict[str, list[Any]] = {
        name: values[place:] + values[:place] for place, name in enumerate(TRAPS) if "\0" not in name
    }
    columns["<b>target</b>"] = [TRAPS[0] if row % len(TRAPS) < 5 else "no" for row in range(n)]
    columns["<i>control</i>"] = [TRAPS[row % 3] if row % 7 else None for row in range(n)]
    return columns


@WITH_BROWSER
def test_no_name_or_value_runs_or_breaks_the_page(opened: Callable[..., Any]) -> None:
    rules = cr.discover(trapped(), "<b>target</b>", TRAPS[0], control="<i>control</i>", k=20, max_length=2)
    page = opened(rules)
    open_all(page)
    page.mouse.move(100, 400)
    assert page.evaluate("window.pwned === undefined")
    has(page.locator("script"), 2)  # the data and the program
    has(page.locator("img, iframe, i, a:not([href^='#']), [onerror], [onload], [onmouseover]"), 0)
    assert shown(page) == list(range(1, len(rules) + 1))
    has(page.locator("tr.detail:visible"), len(rules))
    for width in (1200, 375):
        page.set_viewport_size({"width": width, "height": 800})
        assert fits(page)
    assert page.locator("tr.detail pre").all_text_contents() == [rule.to_sql("duckdb") for rule in rules]
    still = opened(rules, java_script_enabled=False)
    has(still.locator("img, iframe, i, a, [onerror], [onload], [onmouseover]"), 0)
    assert fits(still)
    written = [
        code
        for rule in rules
        for code in (rule.to_sql("duckdb"), rule.to_sql("postgres"), rule.to_sql("sqlite"), rule.to_python())
    ]
    assert still.locator(".card pre").all_text_contents() == written
    assert len(page.content()) < 1_000_000
    assert cr.RuleSet.from_json(rules.to_json()) == rules


@WITH_BROWSER
def test_a_wide_table_of_another_section_fits_a_phone(
    opened: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    headings = tuple(f"heading number {place}" for place in range(9))
    wide = sections.Section("<b>Wide</b>", ("one", "two"), headings, (tuple(TRAPS[:9]),) * 3)
    monkeypatch.setattr(sections, "of_result", lambda rules: (wide,))
    monkeypatch.setattr(sections, "of_rule", lambda rule, rules: (wide,))
    page = opened(cr.RuleSet.from_json(RULES.to_json()), 375)
    open_all(page)
    assert fits(page)
    has(page.locator("main .data"), 11)
    assert page.evaluate("window.pwned === undefined")
    has(page.get_by_role("heading", name="<b>Wide</b>"), 11)


def test_any_outcome_note_and_verdict_can_be_reported() -> None:
    for name in HOSTILE:
        question = dataclasses.replace(RULES.question, target=name, outcome=f"{name} = 1", control=(name,))
        violation = Violation("a", (name, name), (name, "->", name), name, (name,))
        verdict = admissibility("violated", violations=(violation,))
        rules = rule_set(question=question, notes=(name,), admissibility=verdict, versions={name: name}, source=name)
        page = rules.to_html()
        page.encode()
        assert page.count("<script") == 2
        assert "<script>alert" not in page


def test_a_report_of_ten_rules_is_small() -> None:
    assert len(PAGE.encode()) < 400_000
    adult = {f"x{place}": [(row * (place + 3)) % 11 for row in range(500)] for place in range(6)}
    adult |= {"z": [row % 97 for row in range(500)], "y": [int(row % 3 == 0) for row in range(500)]}
    rules = cr.discover(adult, "y", control="z", k=10, max_bins=100, max_length=2, adjust="strata")
    page = rules.to_html()
    assert rules.n_strata == 97
    assert "67 smaller ones" in page
    assert len(page.encode()) < 1_000_000


def test_a_report_needs_no_matplotlib() -> None:
    code = (
        "import sys, causalrules as cr\n"
        "cr.discover(cr.datasets.kidney_stones(), 'success', control='size', k=2).to_html()\n"
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


CAUSAL = re.compile(r"\b(bring|cause|raise|effect(?!ive)|would)", re.IGNORECASE)
VERDICTS = [None, admissibility("violated"), admissibility("unknown")]


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize("beta", [0.0, 2.0, 50.0])
def test_no_causal_word_without_an_admissible_graph(verdict: Any, beta: float) -> None:
    rules = cr.discover(PASSENGERS, "survived", control="sex", k=3, beta=beta)
    rules = dataclasses.replace(rules, admissibility=verdict)
    for rule in rules:
        assert not CAUSAL.search(" ".join(rule_words.reading(rule, rules)))
    if beta != 2.0:
        return
    page = rules.to_html()
    found = re.search(r"<h2>Rules</h2>.*?<h2>", page, re.DOTALL)
    assert found
    words = re.sub(r"<[^>]*>", " ", found[0])
    # only the warning that nothing was found calls the number by its name
    assert not CAUSAL.search(words.replace(result_words.warning(rules) or "no warning", ""))
    assert f"conservative {'difference' if verdict is None else 'association'}" in words


def test_an_admissible_graph_lets_the_report_speak_of_bringing_about() -> None:
    graph = "dag {size -> treatment size -> success treatment -> success}"
    verdict = cr.check(graph, target="success", actionable=["treatment"], control=["size"])
    rules = cr.discover(cr.datasets.kidney_stones(), "success", control="size", beta=0.0)
    page = dataclasses.replace(rules, admissibility=verdict).to_html()
    assert "Bringing about treatment = A is estimated to raise the probability of success = 1 by 5.4 points" in page
    assert "conservative effect" in page
    assert "with the opposite sign (Simpson&#39;s paradox)" in page
    assert "The causal graph is admissible" in page


def test_readings_give_the_numbers_of_the_rule() -> None:
    rules = rule_set(women_of_two_classes(), admissibility=admissibility("admissible"))
    first, second = rule_words.reading(rules[0], rules)
    assert first == (
        "Bringing about class ≤ 2 and sex = female is estimated to raise the probability of survived = 1 by 69.6 "
        "points, unadjusted; conservative estimate 57.7 points (β = 2), not adjusted for the search."
    )
    assert second == (
        "Effect: 69.6 points (64.0 to 73.5), with a 95 % interval; 94.7 % where the rule holds instead of 25.1 %. "
        "The rule covers 170 rows (19.1 %)."
    )


def test_the_headline_follows_the_evidence() -> None:
    strong = cr.discover(PASSENGERS, "survived", k=1).significance(19)
    (headline, *_) = rule_words.reading(strong[0], strong)
    assert headline.endswith("; p ≤ 0.05, adjusted for the search.")
    none = cr.discover(cr.datasets.kidney_stones(), "success", control="size", k=1, **RELIABLE).significance(19)
    assert none[0].p_value is not None
    (headline, *_) = rule_words.reading(none[0], none)
    p = f"p ≈ {none[0].p_value:.2g}, adjusted for the search (stopped early: already above 0.05)"
    assert headline.startswith(f"Not supported: {p}. Where")
    assert headline.endswith("no conservative estimate beyond 0 (β = 2).")
    judged = none.trust(19, 2, 2)
    assert plain(judged.to_html()).count("Not supported: p") == 2  # in the reading, and as the answer


def test_a_calibrated_beta_is_told_by_what_it_promises() -> None:
    rules = cr.discover(PASSENGERS, "survived", k=1, beta="calibrated")
    promise = "calibrated: on shuffled data the best rule exceeds 0 in at most 5 % of tables"
    (headline, *_) = rule_words.reading(rules[0], rules)
    assert promise in headline
    assert "not adjusted for the search" not in headline
    page = rules.to_html()
    assert f"<dt>β</dt><dd><bdi>{rules.question.beta:g}, {promise}" in page
    assert "onfidence 9" not in page


def test_nothing_is_said_of_a_search_where_rules_were_named() -> None:
    named = view.view(cr.evaluate(PASSENGERS, "class = 3", "survived").significance(19, n_jobs=1))
    assert (named.list, named.p) == ("Rules", "p: adjusted for the number of rules")
    assert "search" not in named.meaning
    assert "Maximised" not in dict(named.asked)
    chance = view.view(cr.evaluate(PASSENGERS, "age >= 30", "survived", control="sex"))
    assert chance.warning.startswith("age ≥ 30: difference ")
    assert chance.warning.endswith(
        " of 891 rows. Conservative difference not beyond 0; permutations are sharper than its margin."
    )
    searched = view.view(cr.discover(PASSENGERS, "survived", actionable="parch", k=1).significance(19, n_jobs=1))
    assert searched.p == "p: adjusted for the search"
    assert "Intervals ignore the search." in searched.meaning


def test_the_first_screen_says_what_is_left_after_allowing_for_the_search() -> None:
    rules = cr.discover(PASSENGERS, "survived", actionable="class", control="sex", k=1)
    untested, bounded = view.view(rules), view.view(rules.simultaneous(19, n_jobs=1))
    estimate = f"best estimate {untested.rules[0].estimate[:-1]}, ignoring the search), adjusted for sex."
    assert untested.rules[0].measured == f"Difference: conservative {untested.rules[0].conservative}; {estimate}"
    evidence = rules.simultaneous(19, n_jobs=1)[0].evidence
    assert evidence is not None
    assert evidence.simultaneous is not None
    assert evidence.simultaneous.bound is not None
    least = f"at least {100 * evidence.simultaneous.bound:.1f} points (95 %, allowing for the search)"
    assert bounded.rules[0].measured == f"Difference: {least}; {estimate}"
    assert bounded.rules[0].mix == "both adjusted to the same mix of sex"
    assert view.view(cr.discover(PASSENGERS, "survived", actionable="class", k=1)).rules[0].mix == ""


def test_the_report_says_once_what_its_intervals_are_good_for_and_adjusts_for_nothing_without_controls() -> None:
    page = plain(cr.discover(PASSENGERS, "survived", k=2, stepwise=False).to_html())
    assert page.count("Intervals ignore the search.") == 1
    assert "the numbers are differences, unadjusted, and not effects" in page
    said = page.replace("not adjusted for the search", "").replace("adjusted for nothing", "").replace("unadjusted", "")
    style = re.search(r"<style>.*?</style>", said, re.DOTALL)
    assert style is not None
    for found in re.findall(r".{30}[^_]adjusted.{20}", said.replace(style[0], "")):
        pytest.fail(f"nothing was adjusted: {found}")
    assert '<th scope="col">difference</th>' in page


def test_the_call_in_the_report_finds_the_same_rules_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    columns = {
        "it's; rm -rf $HOME": ["a b", "c", "a b", "c", "a b", "c", "c", "a b"],
        "--beta": [1, 2, 3, 4, 5, 6, 7, 8],
        'z "quoted"': ["p", "q", "p", "q", "q", "p", "q", "p"],
        "income = now": [10.5, 20, 30, 40, 50, 60, 70, 80],
    }
    import pandas as pd

    pd.DataFrame(columns).to_csv("-data.csv", index=False)
    rules = cr.discover("-data.csv", "income = now", ">= 40", control='z "quoted"', k=4, beta=0.1, max_length=None)
    made: dict[str, Any] = {}
    exec(reproduce.call(rules), made)
    assert list(made["rules"]) == list(rules)
    assert made["rules"].question == rules.question

    from click.testing import CliRunner

    from causalrules.cli import cli

    program, *arguments = shlex.split(reproduce.command(rules))
    assert program == "causalrules"
    done = CliRunner().invoke(cli, [*arguments[:-2], "--format=json", "--quiet", *arguments[-2:]])
    assert done.exit_code == 0, done.output
    again = cr.RuleSet.from_json(done.stdout)
    assert list(again) == list(rules)
    assert again.question == rules.question


def test_the_command_line_writes_the_report(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from causalrules.cli import cli

    data, report = tmp_path / "data.csv", tmp_path / "report.html"
    PASSENGERS.to_csv(data, index=False)
    arguments = ["discover", str(data), "--target=survived", "-k", "2", "--quiet"]
    done = CliRunner().invoke(cli, [*arguments, "--report", str(report)])
    assert done.exit_code == 0
    assert "class ≤ 2 ∧ sex = female" in report.read_text(encoding="utf-8")
    assert "sex = female" in done.stdout
    failed = CliRunner().invoke(cli, [*arguments, "--report", str(data)])
    assert failed.exit_code == 1
    assert "--report" in failed.stderr
    assert "is the data itself" in failed.stderr


def test_results_without_rules_or_rows_have_a_report_too() -> None:
    assert "No rule satisfies the options" in rule_set().to_html()
    for rules in (RULES, LADDER):
        read = view.view(cr.RuleSet.from_json(rules.to_json()))
        assert [rule.text for rule in read.rules] == [rule.text for rule in rules]
        assert read.staircase == view.view(rules).staircase


def test_a_very_long_list_is_cut_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "_MOST_RULES", 4)
    page = RULES.to_html()
    assert "Only the best 4 rules of 10 are shown." in page
    assert page.count('<tr class="head">') == 4
    assert "Only the best" not in PAGE


def test_a_report_is_the_same_each_time() -> None:
    assert RULES.to_html() == PAGE


def test_a_report_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    rules = rule_set()
    with pytest.raises(cr.DataError, match="cannot write"):
        rules.to_html(tmp_path / "no such folder" / "report.html")
    rules.to_html(tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == rules.to_html()


def test_the_command_tells_all_that_was_asked(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    lines = [f"{age},{'?' if age % 7 == 0 else age % 3},{1 + age % 2},{int(age > 40)}" for age in range(18, 80)]
    table.write_text("\n".join(["age,group,n,y", *lines]))
    asked: dict[str, Any] = {
        "weights": "n",
        "na_values": ["?"],
        "cuts": {"age": [30, 50]},
        "query": "SELECT * FROM data WHERE age > 20",
    }
    rules = cr.discover(str(table), target="y", k=2, holdout=0.5, seed=3, **asked)
    document = rules.to_html()
    for words in (
        "--holdout=0.5",
        "--seed=3",
        "--weights=n",
        "--na-value=?",
        "--cut=age=30,50",
        "SELECT * FROM data WHERE age &gt; 20",
    ):
        assert words in document
    assert cr.RuleSet.from_json(rules.to_json()) == rules
