"""The table of rules in a real browser: sorted, filtered, opened and copied from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from browsers import WITH_BROWSER, has
from causalrules.report import reproduce, rule_words
from reports import show_all, shown, ten_rules, three_rules


@WITH_BROWSER
def test_only_a_long_list_can_be_filtered_and_its_grey_words_are_explained(opened: Callable[..., Any]) -> None:
    long, short = opened(ten_rules()), opened(three_rules())
    has(long.get_by_role("searchbox"), 1)
    has(short.get_by_role("searchbox"), 0)
    assert short.locator("tr.head .shared").all_inner_texts() == ["class ≤\xa02", " and sex =\xa0female"] * 3
    assert "grey words are in every rule" in " ".join(short.locator(".key").first.inner_text().split())
    has(long.locator("tr.head .shared"), 0)
    assert "grey words" not in long.locator("main").inner_text()


@WITH_BROWSER
def test_rules_are_sorted_by_a_click_on_a_heading(opened: Callable[..., Any]) -> None:
    rules = ten_rules()
    page = opened(rules)
    show_all(page)
    assert shown(page) == list(range(1, 11))
    for heading, key in (
        ("adjusted difference", lambda rule: rule.effect),
        ("applies to", lambda rule: rule.coverage),
    ):
        button = page.get_by_role("button", name=heading, exact=True)
        button.click()
        falling = sorted(range(1, 11), key=lambda place: (-key(rules[place - 1]), place))
        assert shown(page) == falling
        button.click()
        assert [key(rules[place - 1]) for place in shown(page)] == sorted(key(rule) for rule in rules)
    page.get_by_role("button", name="rule", exact=True).click()
    assert len({rules[place - 1].text for place in shown(page)}) == 10
    page.get_by_role("button", name="#", exact=True).click()
    assert shown(page) == list(range(1, 11))


@WITH_BROWSER
def test_rules_are_filtered_by_what_is_typed(opened: Callable[..., Any]) -> None:
    rules = ten_rules()
    page = opened(rules)
    show_all(page)
    page.get_by_role("searchbox").fill("PARCH ≤ 2")
    expected = [place for place, rule in enumerate(rules, 1) if "parch ≤ 2" in rule.text]
    assert 0 < len(expected) < 10
    assert shown(page) == expected
    assert page.locator("#shown").inner_text() == f"{len(expected)} of 10 shown"
    page.get_by_role("searchbox").fill("")
    assert len(shown(page)) == 10


@WITH_BROWSER
def test_a_click_opens_a_rule_and_a_key_does_so_too(opened: Callable[..., Any]) -> None:
    rules = ten_rules()
    page = opened(rules)
    reading, first = rule_words.reading(rules[0], rules)[0], page.locator("tr.detail").first
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
    rules = ten_rules()
    page = opened(rules, permissions=["clipboard-read", "clipboard-write"])
    page.locator(".open-rule").first.press("Enter")
    card = page.locator("tr.detail").first
    for language, code in (("SQL, DuckDB", rules[0].to_sql()), ("Python", rules[0].to_python())):
        card.get_by_role("button", name=language, exact=True).click()
        card.get_by_role("button", name=f"Copy {language}").click()
        card.get_by_text("Copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == code
    page.locator("#reproduce").get_by_role("button", name="Copy Command line").click()
    page.locator("#reproduce").get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == reproduce.command(rules)
