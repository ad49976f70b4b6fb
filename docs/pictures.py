"""Draw the picture of a report that pages show: python docs/pictures.py (needs Chromium).

Figures below code are drawn by tests/pages.py; this one is a page in a browser.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import causalrules as cr

GRAPH = """
    complaint -> call; complaint -> renewed; tenure -> discount; tenure -> app; tenure -> renewed
    call -> renewed; discount -> renewed; app -> renewed
"""


def main() -> None:
    """Write docs/images/report.png: the first screen of the tutorial's report."""
    rules = cr.discover(
        cr.datasets.renewals(),
        "renewed",
        control=["complaint", "tenure"],
        actionable=["call", "discount", "app"],
        graph=GRAPH,
        k=3,
    ).trust(seed=1)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "report.html"
        rules.to_html(page_file)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1180, "height": 690})
        page.goto(page_file.as_uri())
        page.screenshot(path=Path(__file__).parent / "images" / "report.png")
        browser.close()


if __name__ == "__main__":
    main()
