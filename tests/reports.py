"""Results to report, each searched when first asked for, and what is looked for on the pages of their reports."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import causalrules as cr


@cache
def passengers() -> Any:
    """The Titanic's passengers as a data frame."""
    return cr.datasets.titanic(library="pandas")


@cache
def ten_rules() -> cr.RuleSet:
    """Rules for which there is a control, enough of them for a filter."""
    return cr.discover(passengers(), "survived", control="sex", k=10, stepwise=False)


@cache
def three_rules() -> cr.RuleSet:
    """Rules that share conditions, adjusted for nothing."""
    return cr.discover(passengers(), "survived", k=3, stepwise=False)


@cache
def ladder_rules() -> cr.RuleSet:
    """Two rules, the second of which adds to the first."""
    return cr.discover(passengers(), "survived", control="sex")


@cache
def kidney_rules() -> cr.RuleSet:
    """Rules with a causal graph and all checks of trust."""
    graph = "dag {size -> treatment size -> success treatment -> success}"
    found = cr.discover(cr.datasets.kidney_stones(), "success", control="size", graph=graph, k=2)
    return found.trust(19, 2, 2)


@cache
def noise_rules() -> cr.RuleSet:
    """The best rules of chance alone."""
    chance = np.random.default_rng(3)
    return cr.discover({name: chance.integers(0, 3, 200) for name in "abcdy"}, "y", 1, k=3)


def shown(page: Any) -> list[int]:
    """The places of the rules that can be seen, from top to bottom."""
    heads = "Array.from(document.querySelectorAll('tr.head')).filter(head => head.checkVisibility())"
    places: list[int] = page.evaluate(f"{heads}.map(head => Number(head.querySelector('td.place').textContent || 1))")
    return places


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
