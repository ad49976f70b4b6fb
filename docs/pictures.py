"""Write the sample reports, and the picture of one that pages show: python docs/pictures.py (needs Chromium).

Figures below code are drawn by tests/pages.py; this one is a page in a browser.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

import causalrules as cr

GRAPH = """
    complaint -> call; complaint -> renewed; tenure -> discount; tenure -> app; tenure -> renewed
    call -> renewed; discount -> renewed; app -> renewed
"""


def main() -> None:
    """Write docs/samples/, with a causal graph and without, and the first screen of one, docs/images/report.png."""
    samples = Path(__file__).parent / "samples"
    samples.mkdir(exist_ok=True)
    cr.discover(cr.datasets.titanic(), "survived", control="sex").trust(seed=1).to_html(samples / "titanic.html")
    rules = cr.discover(
        cr.datasets.renewals(),
        "renewed",
        control=["complaint", "tenure"],
        actionable=["call", "discount", "app"],
        graph=GRAPH,
        k=3,
    ).trust(seed=1)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    page_file = samples / "renewals.html"
    rules.to_html(page_file)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1180, "height": 690})
        page.goto(page_file.as_uri())
        page.screenshot(path=Path(__file__).parent / "images" / "report.png")
        browser.close()


if __name__ == "__main__":
    main()
