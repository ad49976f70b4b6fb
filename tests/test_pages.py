"""What the pages show is what happens, and what they point to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pages import refreshed, same_on_any_machine

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [*sorted(ROOT.glob("*.md")), *DOCS]


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", [ROOT / "README.md", *DOCS], ids=name)
def test_the_examples_of_a_page_print_what_is_shown_below_them(page):
    text = page.read_text(encoding="utf-8")
    if "```python\n" not in text and "```console\n" not in text:
        pytest.skip("no examples")
    pytest.importorskip("matplotlib")
    # To accept what they print today: python tests/pages.py PAGE
    assert same_on_any_machine(refreshed(text)) == same_on_any_machine(text)


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
def test_a_page_is_refreshed_where_it_is_wrong(page, today):
    assert refreshed(page) == (page if today is None else today)


def test_a_page_that_fails_is_no_page():
    with pytest.raises(ZeroDivisionError):
        refreshed("```python\n1 / 0\n```\n")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?://", link) or link.endswith("cli.md"):  # written when the site is built
            continue
        path, _, heading = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        if heading:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in [re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings], link


def test_the_site_has_a_place_for_every_page():
    places = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(places) == sorted(
        [*(page.relative_to(ROOT / "docs").as_posix() for page in DOCS), "reference/cli.md"]
    )


def test_the_reference_names_everything_public():
    import causalrules

    reference = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^::: causalrules\.(\w+)$", reference, re.MULTILINE))
    errors = {each for each in causalrules.__all__ if each.endswith(("Error", "Warning"))}  # in causalrules.exceptions
    assert set(causalrules.__all__) - errors - {"__version__"} <= shown
