"""The studio in a real browser: the whole workflow by mouse and by keyboard, without external requests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browsers import WITH_AXE, WITH_BROWSER, changes, has, launched, violations
from rulesets import HOSTILE
from studios import Browser, idle, kidney_stones, renewals, slow_table, titanic

pytestmark = WITH_BROWSER


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with launched() as found:
        yield found


@pytest.fixture
def browser(chromium: Any) -> Iterator[Browser]:
    opened = Browser(chromium)
    yield opened
    opened.close()
    assert opened.trouble == []


def go(page: Any, step: str) -> None:
    page.locator("nav.rail").get_by_role("link", name=step).click()
    shown(page, step)


def shown(page: Any, step: str) -> None:
    """Wait until a step is shown: a page answers keys on the step before until then."""
    page.get_by_role("heading", name=step, exact=True, level=1).wait_for()


def draw(page: Any, cause: str, effect: str) -> None:
    """Drag an arrow from one variable to another."""
    page.locator(".canvas").scroll_into_view_if_needed()
    start, end = (page.locator(f'[data-node="{name}"]').bounding_box() for name in (cause, effect))
    page.mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
    page.mouse.down()
    page.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=4)
    page.mouse.up()
    page.locator(f'[data-edge^="{cause} "][data-edge$=" {effect}"]').wait_for(state="attached")


def test_from_a_table_to_a_report_by_mouse(browser: Browser, tmp_path: Path) -> None:
    with browser.on(titanic(tmp_path), tmp_path) as server:
        page = browser.open(server)
        page.get_by_role("button", name=re.compile("^survived number")).click()
        page.get_by_text("survived = 1 in 38.4 % of 891 rows.").first.wait_for()
        page.get_by_role("link", name="Next: roles and graph").click()
        page.get_by_role("button", name="sex", exact=True).click()
        page.get_by_role("button", name="Make control").click()
        page.get_by_role("group", name="Controls").get_by_role("button", name="sex").wait_for()
        page.get_by_role("button", name="fare", exact=True).drag_to(page.locator(".role-tray-ignored"))
        page.get_by_role("group", name="Ignored").get_by_role("button", name="fare").wait_for()
        # A control can be context too; from a tray, it is ignored there only.
        page.get_by_role("group", name="Controls").get_by_role("button", name="sex").drag_to(
            page.locator(".role-tray-context")
        )
        described = page.get_by_role("group", name="Context").get_by_role("button", name="sex")
        described.wait_for()
        has(page.get_by_role("group", name="Controls").get_by_role("button", name="sex"), 1)
        described.drag_to(page.locator(".role-tray-ignored"))
        described.wait_for(state="detached")
        has(page.get_by_role("group", name="Controls").get_by_role("button", name="sex"), 1)
        page.get_by_role("group", name="Ignored").get_by_role("button", name="fare").press("w")
        page.get_by_role("group", name="Context").get_by_role("button", name="fare").wait_for()
        page.get_by_text("1 control, 1 context").first.wait_for()
        page.get_by_role("link", name="Next: search").click()
        page.get_by_role("button", name="Search", exact=True).click()
        page.get_by_role("link", name="Next: rules").click()
        page.locator(".open-rule").first.click()
        has(page.locator("tr.detail"), 1)
        assert "association" in page.locator(".beside").inner_text()
        assert "control=['sex']" in page.locator(".beside").inner_text()
        # An edit changes the numbers; it is marked and kept.
        page.get_by_role("region", name="Edit this rule").get_by_role("slider").first.press("ArrowLeft")
        page.get_by_text("edited by hand", exact=True).wait_for()
        page.get_by_role("button", name="Keep it").click()
        page.get_by_role("button", name="Edited by hand (1)").click()
        page.get_by_role("button", name="Compare two").click()
        page.get_by_text(re.compile(r"\d+ % shared \(Jaccard\)")).wait_for()
        go(page, "Trust")
        page.get_by_role("button", name="Hidden confounding").click()
        page.get_by_role("heading", name="Unmeasured confounding").wait_for()
        strongest = page.get_by_label("Strength of a hidden confounder")
        strongest.press("End")
        page.get_by_text("the difference could be 0").wait_for()
        go(page, "Export")
        for name, suffix in (
            ("Report", ".html"),
            ("SQL", ".sql"),
            ("Notebook", ".ipynb"),
            ("Workspace", ".studio.json"),
        ):
            with page.expect_download() as download:
                page.get_by_role("button", name=name).click()
            assert download.value.suggested_filename == f"titanic{suffix}"
            download.value.save_as(tmp_path / f"taken{suffix}")
    assert "adjusted for sex" in (tmp_path / "taken.html").read_text(encoding="utf-8")


def test_from_a_table_to_a_report_by_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    path = kidney_stones(tmp_path)
    with browser.on(None, tmp_path) as server:
        page = browser.open(server)

        def tab_to(name: str) -> None:
            """Press Tab until the element with this name has the focus."""
            for _ in range(80):
                page.keyboard.press("Tab")
                focused = page.evaluate(
                    "document.activeElement.ariaLabel || document.activeElement.labels?.[0]?.innerText"
                    " || document.activeElement.innerText || ''"
                )
                if focused.replace("\n", " ").strip().startswith(name):
                    return
            raise AssertionError(f"Tab does not reach {name!r}")

        tab_to("CSV, TSV or Parquet file")
        page.keyboard.type(str(path))
        page.keyboard.press("Enter")
        page.get_by_role("button", name=re.compile("^success number")).wait_for()
        tab_to("success number")
        page.keyboard.press("Enter")
        page.get_by_text("success = 1 in").first.wait_for()
        tab_to("Next: roles and graph")
        page.keyboard.press("Enter")
        shown(page, "Roles and graph")
        tab_to("size")
        page.keyboard.press("c")
        page.get_by_role("group", name="Controls").get_by_role("button", name="size").wait_for()
        tab_to("Draw a graph")
        page.keyboard.press("Enter")
        page.locator('[data-node="size"]').wait_for()
        for cause, effect in (("size", "treatment"), ("size", "success"), ("treatment", "success")):
            tab_to(f"{cause}, ")
            page.keyboard.press("Enter")
            tab_to(f"{effect}, ")
            page.keyboard.press("Enter")
            page.locator(f'[data-edge="{cause} -> {effect}"]').wait_for(state="attached")
        page.locator("#verdict[data-status=admissible]").wait_for()
        tab_to("Next: search")
        page.keyboard.press("Enter")
        shown(page, "Search")
        tab_to("Search")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="Next: rules").wait_for()
        tab_to("Next: rules")
        page.keyboard.press("Enter")
        shown(page, "Rules")
        page.locator(".beside .chip", has_text="identified").wait_for()
        tab_to("6 Export")
        page.keyboard.press("Enter")
        shown(page, "Export")
        tab_to("↓ Report")
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        assert download.value.suggested_filename == "kidney.html"


def test_the_graph_determines_the_claim_of_a_rule(browser: Browser, tmp_path: Path) -> None:
    with browser.on(kidney_stones(tmp_path), tmp_path) as server:
        studio = server.studio
        idle(studio)
        studio.outcome("success")
        studio.roles([{"name": "size", "role": "control"}])
        studio.search()
        idle(studio)
        page = browser.open(server)
        go(page, "Roles and graph")
        claim = page.locator(".beside .chip", has_text="Claim")
        claim.get_by_text("unchecked").wait_for()
        page.get_by_role("button", name="Draw a graph").click()
        page.locator('[data-node="size"]').wait_for()
        claim.get_by_text("unchecked").wait_for()  # variables without edges are no graph
        for cause, effect in (("size", "treatment"), ("size", "success"), ("treatment", "success")):
            draw(page, cause, effect)
        page.locator("#verdict[data-status=admissible]").wait_for()
        claim.get_by_text("identified", exact=True).wait_for()
        # A hidden common cause breaks it; the edge is marked, and a button fixes it.
        page.get_by_role("button", name="Hidden cause").click()
        draw(page, "treatment", "success")
        page.locator("#verdict[data-status=violated]").wait_for()
        claim.get_by_text("not identified").wait_for()
        assert page.locator(".edge.violates").get_attribute("data-edge") in (
            "treatment <-> success",
            "success <-> treatment",
        )
        page.get_by_role("button", name="Delete", exact=False).filter(has_text="if it is not so").click()
        page.locator("#verdict[data-status=admissible]").wait_for()
        claim.get_by_text("identified", exact=True).wait_for()
        # Without its control the effect is confounded; the fix is a change of roles.
        page.get_by_role("button", name="size", exact=True).press("i")
        page.locator("#verdict[data-status=violated]").wait_for()
        assert page.locator(".edge.violates").get_attribute("data-edge") == "size -> treatment"
        page.get_by_role("button", name="Make size a control").click()
        page.locator("#verdict[data-status=admissible]").wait_for()
        assert idle(studio)["question"]["control"] == ["size"]


def test_a_long_search_is_watched_reloaded_stopped_and_kept(browser: Browser, tmp_path: Path) -> None:
    with browser.on(slow_table(tmp_path), tmp_path) as server:
        studio = server.studio
        idle(studio)
        studio.outcome("y")
        studio.option("max_length", "8")
        page = browser.open(server)
        go(page, "Search")
        page.get_by_role("button", name="Search", exact=True).click()
        for _ in range(3):  # progress continues
            changes(page.locator("#live-seconds"))
        page.reload()
        page.locator(".so-far li").first.wait_for()  # the running search is still shown
        page.get_by_role("button", name="Search again after this").click()
        page.get_by_role("button", name="Take it back").click()
        page.get_by_role("button", name="Take it back").wait_for(state="detached")
        other = browser.open(server)  # a second tab shows the same
        go(other, "Search")
        other.locator(".so-far li").first.wait_for()
        page.get_by_role("button", name="Stop and keep the best").click()
        page.get_by_role("link", name="Next: rules").wait_for()
        other.get_by_role("link", name="Next: rules").wait_for()
        found = idle(studio)
        assert found["rules"]["page"]["result"]["proof"]["stopped"] == "interrupted"
        assert found["rules"]["page"]["result"]["rules"]
        assert found["job"]["error"] is None


def test_rules_that_add_are_shown_edited_and_compared(browser: Browser, tmp_path: Path) -> None:
    with browser.on(renewals(tmp_path), tmp_path) as server:
        studio = server.studio
        idle(studio)
        studio.outcome("renewed")
        page = browser.open(server)
        go(page, "Search")
        choice = page.get_by_label("list", exact=True)
        assert choice.locator("option:checked").inner_text() == "each rule adds to those above"
        page.get_by_role("button", name="Search", exact=True).click()
        page.get_by_text("No other column stands out").first.wait_for()
        go(page, "Rules")
        has(page.locator(".stair"), 4)
        has(page.locator("tr.head"), 3)
        page.locator("#rule-2 .open-rule").click()
        card = page.locator("#rule-2 .card")
        assert "Held fixed: complaint and tenure." in card.inner_text()
        adds = page.locator("#rule-2 .effect b").inner_text()
        card.get_by_role("button", name="Drop discount").click()
        numbers = card.locator(".edited-numbers")
        numbers.wait_for()
        said = " ".join(numbers.inner_text().split())
        shorter = studio.measure([[{"column": "call", "operator": "=", "value": "yes"}]], None, 1)
        assert f"Adds {shorter['view']['rules'][0]['estimate']}" in said
        assert adds not in said
        numbers.get_by_role("button", name="Keep it").click()
        page.get_by_role("button", name="Edited by hand (1)").click()
        has(page.locator("tr.head"), 1)
        assert shorter["view"]["rules"][0]["estimate"].split(" (")[0] in page.locator("tr.head").inner_text()
        page.get_by_role("button", name="Compare two").click()
        page.get_by_text("Each rule on its own").wait_for()
        go(page, "Trust")
        page.locator("main label select").first.select_option("1")
        page.get_by_text("Held fixed: complaint and tenure.").wait_for()
        page.locator("#robustness").wait_for()
        go(page, "Search")
        choice.select_option("false")
        page.get_by_text("The last result answers another question").wait_for()
        page.get_by_role("button", name="Search", exact=True).click()
        page.get_by_text("The last result answers another question").wait_for(state="detached")
        go(page, "Rules")
        page.locator("tr.head").nth(4).wait_for()
        has(page.locator(".stairs"), 0)
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            for step in ("Search", "Rules"):
                go(page, step)
                assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_thousand_hostile_names_are_shown_as_text(browser: Browser, tmp_path: Path) -> None:
    traps = [*HOSTILE, "<img src=x onerror=window.pwned=1>", "{{7*7}}", "__proto__", "constructor", "a,b", 'q"uote']
    names = [f"{traps[number % len(traps)].replace(chr(0), '')} {number}" for number in range(1000)]
    draw = np.random.default_rng(1)
    path = tmp_path / "hostile.csv"
    quoted = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    rows = "\n".join(",".join(map(str, row)) for row in draw.integers(0, 2, (40, 1000)))
    path.write_text(f"{quoted}\n{rows}\n", encoding="utf-8", errors="replace")
    with browser.on(path, tmp_path) as server:
        known = idle(server.studio)
        assert known["table"]["n_columns"] == 1000, known["job"]["error"]
        page = browser.open(server)
        page.get_by_role("button", name="Show more").click()
        page.locator(".column").first.click()
        page.get_by_text("in 40 rows").or_(page.get_by_text("of 40 rows.")).first.wait_for()
        go(page, "Roles and graph")
        has(page.locator(".pill"), 1000)
        page.get_by_role("button", name="Draw a graph").click()
        page.locator(".node").first.wait_for()
        has(page.locator("img, iframe, svg svg script"), 0)
        assert page.evaluate("window.pwned === undefined && document.scripts.length === 1")


@WITH_AXE
def test_axe_finds_nothing_in_any_step(browser: Browser, tmp_path: Path) -> None:
    with browser.on(kidney_stones(tmp_path), tmp_path) as server:
        studio = server.studio
        idle(studio)
        studio.outcome("success")
        studio.roles([{"name": "size", "role": "control"}])
        studio.graph_text("size -> treatment -> success; size -> success; treatment <-> success")
        studio.search()
        idle(studio)
        studio.check("sensitivity")
        idle(studio)
        for scheme in ("light", "dark"):
            # The page's policy would block axe too.
            page = browser.open(server, color_scheme=scheme, bypass_csp=True)
            for step in ("Data", "Roles and graph", "Search", "Rules", "Trust", "Export"):
                go(page, step)
                if step == "Rules":
                    page.locator(".open-rule").first.click()
                if step == "Trust":
                    page.locator("#robustness").wait_for()
                assert violations(page) == [], (step, scheme)
