"""A real Chromium for the tests of pages, without network access, and axe."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

# Seconds that a wait may take: many times a whole test on a busy machine, so that only what never happens fails.
PATIENCE = 120.0
ROOT = Path(__file__).resolve().parents[1]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WITH_BROWSER = pytest.mark.skipif(CHROMIUM is None, reason="no browser: apt-get install chromium")
WITH_AXE = pytest.mark.skipif(not (ROOT / "web/node_modules/axe-core").is_dir(), reason="no axe: npm ci in web/")


@contextmanager
def launched() -> Iterator[Any]:
    """Launch Chromium until the end of the block."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=1000 * PATIENCE)
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
            timeout=1000 * PATIENCE,
        )
        yield chromium
        chromium.close()


@contextmanager
def limited(chromium: Any) -> Iterator[None]:
    """Kill the browser if a test does not end: some of its calls, such as those of scripts, have no time limit."""
    processes = chromium.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    process = next(each["id"] for each in processes if each["type"] == "browser")
    killed = threading.Event()

    def kill() -> None:
        killed.set()
        os.kill(process, signal.SIGKILL)

    timer = threading.Timer(5 * PATIENCE, kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        assert not killed.is_set(), f"the test did not end in {5 * PATIENCE:.0f} s; its browser was killed"


def has(locator: Any, count: int) -> None:
    """Wait until a page has this number of elements; fail if it never does."""
    from playwright.sync_api import expect

    expect(locator).to_have_count(count)


def changes(locator: Any) -> None:
    """Wait until the text of an element changes; fail if it never does."""
    from playwright.sync_api import expect

    expect(locator).not_to_have_text(locator.inner_text())


def violations(page: Any) -> list[str]:
    """Return axe's violations, with the first element of each; in dark mode those of colours only."""
    page.evaluate((ROOT / "web/node_modules/axe-core/axe.min.js").read_text(encoding="utf-8"))
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    found = page.evaluate(
        "options => axe.run(options).then(all => all.violations.map(each => each.id + ': ' + each.nodes[0].html))",
        {"runOnly": ["color-contrast", "link-in-text-block"]} if dark else {},
    )
    return list(found)
