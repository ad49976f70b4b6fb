"""What a report draws: the plots, the staircase of rules that add, and the graph of a rule."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import causalrules as cr
from browsers import WITH_BROWSER, has
from causalrules.report import view
from reports import fits, ladder_rules, noise_rules, passengers, plain, show_all, ten_rules, three_rules


@WITH_BROWSER
def test_the_numbers_in_the_plot_do_not_cover_each_other(opened: Callable[..., Any]) -> None:
    for width in (1280, 375):
        page = opened(ten_rules(), width)
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
def test_the_plots_are_linked_and_work_by_keyboard_alone(opened: Callable[..., Any]) -> None:
    rules = ten_rules()
    page = opened(rules)
    show_all(page)
    dot, row = page.locator(".dot[data-place='3']"), page.locator("#rule-3")
    dot.hover()
    assert row.get_attribute("class") == "active"
    assert rules[2].text in page.locator(".readout").inner_text()
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
    ladder = ladder_rules()
    page, still = opened(ladder), opened(ladder, java_script_enabled=False)
    stairs = page.locator(".stairs")
    levels = [f"{100 * rung.level:.1f} %" for rung in ladder.rungs]
    names = ["none of the rules", "rule 1", "rules 1 and 2"]
    assert len(levels) == 3
    said = stairs.get_attribute("aria-label")
    for name, level, rung in zip(names, levels, ladder.rungs, strict=True):
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
    rules = ["", *(rule.text for rule in ladder)]
    for rows in (beside, plainly):
        for row, name, level, rung, rule in zip(rows, names, levels, ladder.rungs, rules, strict=True):
            for words in (name, level, f"{rung.n_rows:,}", rule):
                assert words in " ".join(row.split())
    step = 100 * (ladder.rungs[1].level - ladder.rungs[0].level)
    assert f"+{step:.1f}" in " ".join(beside[1].split())
    for width in (1200, 375):
        page.set_viewport_size({"width": width, "height": 800})
        assert fits(page)


def test_only_two_rules_that_add_make_a_staircase() -> None:
    assert view.view(ladder_rules()).staircase is not None
    for rules in (ten_rules(), three_rules(), noise_rules(), cr.discover(passengers(), "survived", control="sex", k=1)):
        shown = view.view(rules)
        assert shown.staircase is None
        assert shown.adds == ""
        assert "Where the rules hold together" not in plain(rules.to_html())


def test_the_staircase_of_a_mean_and_of_a_decrease_has_their_units_and_signs() -> None:
    fares = view.view(cr.discover(passengers(), "fare")).staircase
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
    rules = ladder_rules()
    page, still = opened(rules), plain(rules.to_html())
    second = rules[1]
    assert second.alone is not None
    alone = f"{100 * second.alone.effect:.1f} points"
    has(page.get_by_role("button", name="adds", exact=True), 1)
    assert f"{round(1000 * second.coverage)} of 1,000" in page.locator("#rule-2 td.number").inner_text()
    page.locator("#rule-2 .open-rule").click()
    card = page.locator("#rule-2 .card")
    assert "Held fixed: class." in card.inner_text()
    own = card.locator(".estimates tr").filter(has_text="on its own")
    assert alone in own.inner_text()
    assert page.locator(".ending").inner_text().replace("\xa0", " ") == view.view(rules).ending
    assert "Each rule adds to those above: its difference is with their columns held fixed." in still
    assert "Held fixed: class." in still
    assert f"On its own: {alone}" in still
    assert "No other column stands out; nearest: " in still
    page.locator("#rule-1 .open-rule").click()
    assert "Held fixed" not in page.locator("#rule-1 .card").inner_text()
    assert ("Rules", "at most 5, each adding to those above") in view.view(rules).asked
    assert ("Rules", "the best 10") in view.view(ten_rules()).asked


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
