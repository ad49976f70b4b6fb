"""A real Chromium for the tests of pages, without network access, and axe."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WITH_BROWSER = pytest.mark.skipif(CHROMIUM is None, reason="no browser: apt-get install chromium")
WITH_AXE = pytest.mark.skipif(not (ROOT / "web/node_modules/axe-core").is_dir(), reason="no axe: npm ci in web/")


@contextmanager
def launched() -> Iterator[Any]:
    """Launch Chromium until the end of the block."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=[
                "--no-sandbox",
                "--headless",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--no-first-run",
                "--disable-quic",
            ],
        )
        yield chromium
        chromium.close()


def has(locator: Any, count: int) -> None:
    """Wait until a page has this number of elements; fail if it never does."""
    from playwright.sync_api import expect

    expect(locator).to_have_count(count)


def violations(page: Any) -> list[str]:
    """Return axe's violations, with the first element of each; in dark mode those of colours only."""
    page.evaluate((ROOT / "web/node_modules/axe-core/axe.min.js").read_text(encoding="utf-8"))
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    found = page.evaluate(
        "options => axe.run(options).then(all => all.violations.map(each => each.id + ': ' + each.nodes[0].html))",
        {"runOnly": ["color-contrast", "link-in-text-block"]} if dark else {},
    )
    return list(found)
