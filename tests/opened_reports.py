"""Fixtures of reports in a real browser without a network; `conftest.py` offers them to all tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import causalrules as cr
from browsers import PATIENCE, launched, limited


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium until the end of a file: while it runs, nothing else in its thread may have an event loop."""
    with launched() as chromium:
        yield chromium


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """A function that opens a result's report; at the end, nothing may have gone wrong in any of them."""
    trouble: list[str] = []
    contexts: list[Any] = []

    def open_report(rules: cr.RuleSet, width: int = 1200, **options: Any) -> Any:
        path = tmp_path / f"report {len(contexts)}.html"
        path.write_text(rules.to_html(), encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 800}, offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(1000 * PATIENCE)
        page.on("console", lambda message: trouble.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on("dialog", lambda dialog: trouble.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: trouble.append(f"request: {request.url[:200]}"))
        page.goto(path.as_uri())
        trouble.remove(f"request: {path.as_uri()}")  # the page itself, and nothing else
        return page

    with limited(browser):
        yield open_report
        for context in contexts:
            context.close()
    assert trouble == []
