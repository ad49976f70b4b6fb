"""Write the sample reports and the pictures of pages in a browser: python docs/pictures.py (needs Chromium).

Figures below code are drawn by tests/pages.py.
"""

from __future__ import annotations

import contextlib
import csv
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import causalrules as cr
from causalrules.studio.server import Server

DOCS = Path(__file__).resolve().parent
CONTROL, ACTIONABLE = ["complaint", "tenure"], ["call", "discount", "app"]
GRAPH = """
    complaint -> call; complaint -> renewed; tenure -> discount; tenure -> app; tenure -> renewed
    call -> renewed; discount -> renewed; app -> renewed
"""


def main() -> None:
    """Write docs/samples/, with a causal graph and without, and the pictures of a report and of the studio."""
    samples = DOCS / "samples"
    samples.mkdir(exist_ok=True)
    cr.discover(cr.datasets.titanic(), "survived", control="sex").trust(seed=1).to_html(samples / "titanic.html")
    rules = cr.discover(cr.datasets.renewals(), "renewed", control=CONTROL, actionable=ACTIONABLE, graph=GRAPH).trust(
        seed=1
    )
    rules.to_html(samples / "renewals.html")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright, asked_studio() as studio:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1180, "height": 690})
        page.goto((samples / "renewals.html").as_uri())
        page.screenshot(path=DOCS / "images" / "report.png")
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.goto(f"{studio.url}#roles")
        page.locator("nav.rail").get_by_role("link", name="Roles and graph").click()
        page.locator("#verdict[data-status=admissible]").wait_for()
        page.get_by_role("button", name="Lay out").click()
        page.wait_for_timeout(1000)
        page.screenshot(path=DOCS / "images" / "studio.png")
        browser.close()


@contextlib.contextmanager
def asked_studio() -> Iterator[Server]:
    """Serve a studio that has searched; it names its files without their folder."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        columns: dict[str, Any] = cr.datasets.renewals(library="dict")
        with open("renewals.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([[*columns], *zip(*columns.values(), strict=True)])
        server = Server("renewals.csv", folder=Path())
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.05)
        try:
            studio = server.studio
            wait(studio)
            studio.outcome("renewed")
            roles: dict[str, str | None] = {**dict.fromkeys(CONTROL, "control"), "newsletter": None}
            studio.roles([{"name": name, "role": role} for name, role in roles.items()])
            studio.graph_text(GRAPH)
            studio.search()
            wait(studio)
            studio.check("significance")
            wait(studio)
            yield server
        finally:
            server.stop()
            thread.join()


def wait(studio: Any) -> None:
    """Wait until nothing is left to do."""
    while studio.busy:
        time.sleep(0.05)


if __name__ == "__main__":
    main()
