"""Response times of the studio in a real Chromium: `python benchmarks/studio.py [--rows N] [--output FILE]`.

First paint after the command; verdict after drawing an edge among 60 variables; numbers after moving a cut of a rule
on 50,000 rows; interval between progress updates and time to stop a search; a table of 5,000,000 rows.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:1] = [str(ROOT), str(ROOT / "tests")]

from benchmarks.measuring import machine  # noqa: E402
from browsers import launched  # noqa: E402
from studios import idle, served, slow_table, titanic  # noqa: E402

RESULT = ROOT / "benchmarks" / "results" / "studio.json"
TIMES = 10


def first_paint(browser: Any, folder: Path) -> list[float]:
    """Return the seconds from the command to the first paint of the page with the table."""
    found = []
    for _ in range(3):
        path = titanic(folder)
        begun = time.time()
        process = subprocess.Popen(
            [sys.executable, "-m", "causalrules", "studio", str(path), "--no-browser"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        page = browser.new_page(bypass_csp=True)
        page.goto(url)
        page.locator("nav.rail").wait_for()
        painted = page.evaluate(
            "performance.timeOrigin + performance.getEntriesByName('first-contentful-paint')[0].startTime"
        )
        found.append(painted / 1000 - begun)
        page.close()
        process.terminate()
        process.wait()
        process.stdout.close()
    return found


def verdict(browser: Any, folder: Path) -> list[float]:
    """Return the milliseconds from releasing the mouse to the edge and its verdict on the page, among 60 variables."""
    draw = np.random.default_rng(0)
    names = [f"v{number}" for number in range(59)] + ["y"]
    path = folder / "sixty.csv"
    np.savetxt(path, draw.integers(0, 2, (200, 60)), "%d", ",", header=",".join(names), comments="")
    edges = [(a, b) for a in range(30) for b in range(a + 1, 60) if draw.random() < 0.05]
    with served(path, folder) as server:
        studio = server.studio
        idle(studio)
        studio.outcome("y")
        studio.roles(
            [{"name": name, "role": "control" if place < 30 else "actionable"} for place, name in enumerate(names[:-1])]
        )
        studio.graph_text("; ".join(names) + "; " + "; ".join(f"{names[a]} -> {names[b]}" for a, b in edges))
        page = browser.new_page(viewport={"width": 1920, "height": 1080}, bypass_csp=True)
        page.goto(f"{server.url}#roles")
        page.locator(".canvas").scroll_into_view_if_needed()
        found = []
        for place in range(TIMES):
            cause, effect = names[place], names[58 - place]
            studio.remedy([], [{"arrow": "->", "from": cause, "to": effect, "to_arrow": None}], None)
            page.locator(f'[data-edge="{cause} -> {effect}"]').wait_for(state="detached")
            page.evaluate(
                """edge => {
                    window.took = null;
                    addEventListener('pointerup', () => {
                        const begun = performance.now();
                        const seen = new MutationObserver(() => {
                            if (!document.querySelector(`[data-edge="${edge}"]`)) return;
                            window.took = performance.now() - begun;
                            seen.disconnect();
                        });
                        seen.observe(document.body, {childList: true, subtree: true});
                    }, {once: true, capture: true});
                }""",
                f"{cause} -> {effect}",
            )
            start, end = (page.locator(f'[data-node="{name}"]').bounding_box() for name in (cause, effect))
            page.mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
            page.mouse.down()
            page.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=3)
            page.mouse.up()
            page.wait_for_function("window.took !== null")
            found.append(page.evaluate("window.took"))
        page.close()
    return found


def cut(browser: Any, folder: Path) -> list[float]:
    """Return the milliseconds from moving a cut to the new numbers on the page, on 50,000 rows with two controls."""
    draw = np.random.default_rng(0)
    n = 50_000
    x, w, z = draw.normal(size=n).round(3), draw.integers(0, 100, n), draw.integers(0, 4, n)
    y = (draw.random(n) < 1 / (1 + np.exp(-(0.8 * (x > 0.5) * (w > 50) + 0.3 * z - 1)))).astype(int)
    s = draw.choice(["a", "b", "c"], n)
    path = folder / "cuts.csv"
    rows = "\n".join(f"{a},{b},{c},{d},{e}" for a, b, c, d, e in zip(y, x, w, z, s, strict=True))
    path.write_text(f"y,x,w,z,s\n{rows}\n")
    with served(path, folder) as server:
        studio = server.studio
        idle(studio)
        studio.outcome("y")
        studio.roles([{"name": "z", "role": "control"}, {"name": "s", "role": "control"}])
        studio.search()
        idle(studio)
        page = browser.new_page(bypass_csp=True)
        page.goto(f"{server.url}#rules")
        page.locator(".open-rule").first.click()
        slider = page.locator(".editing input[type=range]").last
        slider.press("ArrowLeft")
        page.locator(".edited-numbers").wait_for()
        found = []
        for _ in range(TIMES):
            page.evaluate(
                """() => {
                    window.took = null;
                    let begun = 0;
                    addEventListener('input', () => { begun = performance.now(); }, {once: true, capture: true});
                    const seen = new MutationObserver(() => {
                        window.took = performance.now() - begun;
                        seen.disconnect();
                    });
                    const all = {characterData: true, childList: true, subtree: true, attributes: true};
                    seen.observe(document.querySelector('.edited-numbers dl'), all);
                }"""
            )
            slider.press("ArrowLeft")
            page.wait_for_function("window.took !== null")
            found.append(page.evaluate("window.took"))
        page.close()
    return found


def search(browser: Any, folder: Path) -> dict[str, float]:
    """Return how often the page shows progress, and how soon a long search stops."""
    with served(slow_table(folder), folder) as server:
        studio = server.studio
        idle(studio)
        studio.outcome("y")
        studio.option("max_length", "8")
        page = browser.new_page(bypass_csp=True)
        page.goto(f"{server.url}#search")
        page.get_by_role("button", name="Search", exact=True).click()
        page.locator("#live-seconds").wait_for()
        shown, longest = page.evaluate(
            """() => new Promise(done => {
                const times = [performance.now()];
                const seen = new MutationObserver(() => times.push(performance.now()));
                const text = {characterData: true, childList: true, subtree: true};
                seen.observe(document.querySelector('#live-seconds'), text);
                const pauses = () => times.slice(1).map((at, place) => at - times[place]);
                setTimeout(() => done([times.length - 1, Math.max(...pauses())]), 10000);
            })"""
        )
        page.evaluate(
            """() => {
                const begun = performance.now();
                const seen = new MutationObserver(() => {
                    if (document.querySelector('#live-title') !== null) return;
                    window.took = performance.now() - begun;
                    seen.disconnect();
                });
                seen.observe(document.body, {childList: true, subtree: true});
                [...document.querySelectorAll('button')].find(each => each.innerText.startsWith('Stop and')).click();
            }"""
        )
        page.wait_for_function("window.took")
        stopped = page.evaluate("window.took")
        kept = len(idle(studio)["rules"]["page"]["result"]["rules"])
        page.close()
    return {"updates_per_second": shown / 10, "longest_pause_ms": longest, "stop_ms": stopped, "rules_kept": kept}


def large(browser: Any, folder: Path, n_rows: int) -> dict[str, float]:
    """Open a large table; return its time and the bytes sent to the page."""
    draw = np.random.default_rng(0)
    path = folder / "large.csv"
    with path.open("w") as file:
        file.write("y,a,b,c,d\n")
        for _ in range(n_rows // 500_000):
            part = draw.integers(0, 1000, (500_000, 5)) % np.array([2, 1000, 50, 7, 3])
            np.savetxt(file, part, "%d", ",")
    with served(None, folder) as server:
        page = browser.new_page(bypass_csp=True)
        page.goto(server.url)
        page.get_by_label("CSV, TSV or Parquet file").fill(str(path))
        begun = time.monotonic()
        page.get_by_role("button", name="Open", exact=True).click()
        page.locator(".column").nth(4).wait_for(timeout=600_000)
        seconds = time.monotonic() - begun
        sent = len(server.studio.sections.since(0)[1])
        page.close()
    return {"rows": n_rows, "megabytes": path.stat().st_size / 1e6, "seconds": seconds, "bytes_to_the_page": sent}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000, help="rows of the large table; 0 leaves it out")
    parser.add_argument("--output", type=Path, default=RESULT)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, launched() as browser:
        folder = Path(name)
        found: dict[str, Any] = {"machine": machine()}
        paint = first_paint(browser, folder)
        found["first_paint_seconds"] = {"median": statistics.median(paint), "all": paint}
        for part in (verdict, cut):
            took = part(browser, folder)
            found[f"{part.__name__}_ms"] = {"median": statistics.median(took), "most": max(took)}
        found["search"] = search(browser, folder)
        if given.rows:
            found["large"] = large(browser, folder, given.rows)
    text = json.dumps(found, indent=1)
    given.output.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
