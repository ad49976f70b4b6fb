"""A report bears any name and value: none of them runs, or breaks the page."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

import causalrules as cr
from browsers import WITH_BROWSER, has
from causalrules.graph.criteria import Violation
from causalrules.report import sections
from reports import fits, open_all, shown, ten_rules
from rulesets import HOSTILE, admissibility, rule_set

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
    page = opened(cr.RuleSet.from_json(ten_rules().to_json()), 375)
    open_all(page)
    assert fits(page)
    has(page.locator("main .data"), 11)
    assert page.evaluate("window.pwned === undefined")
    has(page.get_by_role("heading", name="<b>Wide</b>"), 11)


def test_any_outcome_note_and_verdict_can_be_reported() -> None:
    for name in HOSTILE:
        question = dataclasses.replace(ten_rules().question, target=name, outcome=f"{name} = 1", control=(name,))
        violation = Violation("a", (name, name), (name, "->", name), name, (name,))
        verdict = admissibility("violated", violations=(violation,))
        rules = rule_set(question=question, notes=(name,), admissibility=verdict, versions={name: name}, source=name)
        page = rules.to_html()
        page.encode()
        assert page.count("<script") == 2
        assert "<script>alert" not in page
