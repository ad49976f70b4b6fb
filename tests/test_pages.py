"""Pages show the actual output of their examples, and their links work."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pages import is_current, refreshed, same_on_any_machine, save
from quiet import QUIET_DASK

ROOT = Path(__file__).resolve().parent.parent
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [*sorted(ROOT.glob("*.md")), *DOCS]
GALLERY = ROOT / "docs" / "examples"  # generated from scripts, run by test_examples.py
# Generated when the site is built: from the command-line definitions, and from pages of the root.
GENERATED = {"reference/cli.md"}
FROM_ROOT = {"start.md", "contributing.md", "changes.md"}


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def has_examples(page: Path) -> bool:
    text = page.read_text(encoding="utf-8")
    return page.parent != GALLERY and ("```python\n" in text or "```console\n" in text)


@QUIET_DASK
@pytest.mark.parametrize("page", [page for page in (ROOT / "README.md", *DOCS) if has_examples(page)], ids=name)
def test_the_examples_of_a_page_print_and_draw_what_is_shown_below_them(page):
    text = page.read_text(encoding="utf-8")
    pytest.importorskip("matplotlib")
    stale = []
    # To accept the current output: python tests/pages.py PAGE
    today = refreshed(text, lambda name, figure: None if is_current(page.parent / name, figure) else stale.append(name))
    assert same_on_any_machine(today) == same_on_any_machine(text)
    assert not stale


@pytest.mark.parametrize(
    ("page", "today"),
    [
        ("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n", "```python\nprint(1 + 1)\n```\n\n```text\n2\n```\n"),
        ("```python\nx = 2\nx + 1\n# 4\n```\n", "```python\nx = 2\nx + 1\n# 3\n```\n"),
        ("```python\nprint(5)\n```\n", "```python\nprint(5)\n```\n\n```text\n5\n```\n"),
        ("```python\nprint('a\\nb')\n```\n\n```text\nb\n```\n", None),
        ("<!-- not run: needs a cluster -->\n```python\nclient.run()\n```\n", None),
    ],
)
def test_wrong_output_on_a_page_is_refreshed(page, today):
    assert refreshed(page) == (page if today is None else today)


def test_a_figure_is_drawn_where_it_is_shown_and_known_when_it_changes(tmp_path):
    pytest.importorskip("matplotlib")
    page = "```python\nimport matplotlib.pyplot as plt\nplt.plot([1, {}])\n```\n\n![A line](line.svg)\n"
    drawn = []
    refreshed(page.format(2), lambda name, figure: save(tmp_path / name, figure))
    for value in (2, 3):
        refreshed(page.format(value), lambda name, figure: drawn.append(is_current(tmp_path / name, figure)))
    assert drawn == [True, False]
    with pytest.raises(AssertionError, match="draws 0"):
        refreshed("```python\n1 + 1\n```\n\n![Nothing](line.svg)\n")


def test_a_failing_page_is_an_error():
    with pytest.raises(ZeroDivisionError):
        refreshed("```python\n1 / 0\n```\n")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, heading = link.partition("#")
        if re.match(r"https?://", link) or (page.parent / path).resolve() in (
            ROOT / "docs" / each for each in GENERATED
        ):
            continue
        target = page.parent / path if path else page
        assert target.exists(), link
        if heading:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in [re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings], link


def test_the_readme_is_short_and_begins_with_a_finding_and_a_picture():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 150
    assert lines[2].startswith("> ")
    assert [line for line in lines[:15] if line.startswith("![")]


def test_the_site_has_a_place_for_every_page():
    places = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(places) == sorted(
        [*(page.relative_to(ROOT / "docs").as_posix() for page in DOCS), *GENERATED, *FROM_ROOT]
    )


def test_every_page_and_picture_is_linked_from_another_page():
    linked = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in PAGES
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
        if (page.parent / link.partition("#")[0]).resolve() != page
    }
    pictures = [path for path in (ROOT / "docs").rglob("*") if path.suffix in (".svg", ".png")]
    generated = [ROOT / "docs" / path for path in GENERATED]
    assert not {name(page) for page in [*DOCS, *pictures, *generated] if page not in linked}


def test_the_reference_names_everything_public():
    import causalrules

    reference = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^::: causalrules\.(\w+)$", reference, re.MULTILINE))
    errors = {each for each in causalrules.__all__ if each.endswith(("Error", "Warning"))}  # in causalrules.exceptions
    assert set(causalrules.__all__) - errors - {"__version__"} <= shown


def test_the_page_names_every_field_of_the_json():
    import causalrules as cr

    linear_model = pytest.importorskip("sklearn.linear_model")
    contracts = cr.datasets.renewals(600, library="dict")
    contracts["value"] = [10.0 * years + 1 for years in contracts["tenure"]]
    outcome = cr.discover(
        contracts,
        "renewed",
        control="complaint",
        actionable=["call", "app"],
        graph="complaint -> call -> renewed <- app; complaint -> renewed",
        k=2,
        beta="calibrated",
        holdout=0.5,
        adjust_model=linear_model.LogisticRegression(),
    )
    mean = cr.discover(contracts, "value", control="complaint", actionable=["call", "app"], k=2)
    results = [outcome.trust(permutations=19, replicates=5), mean]
    fields: set[str] = set()

    def collect(value):
        if isinstance(value, dict):
            fields.update(value)
            for name, each in value.items():
                if name not in ("labels", "versions"):  # their keys are columns and packages
                    collect(each)
        elif isinstance(value, list):
            for each in value:
                collect(each)

    for rules in results:
        collect(json.loads(rules.to_json()))
    assert len(fields) > 100
    text = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    unnamed = fields - set(re.findall(r"`(\w+)`", text))
    assert not sorted(unnamed)
