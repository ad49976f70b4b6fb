"""What the pages for newcomers show is what happens, and what they point to is there."""

from __future__ import annotations

import io
import re
import shlex
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from causalrules.cli import cli

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]


def same_on_any_machine(printed: str) -> str:
    """Without how long the search took."""
    return re.sub(r"[\d,]+ nodes in [\d.]+ s", "… nodes in … s", printed.strip())


def test_the_python_examples_print_what_is_shown_below_them():
    names: dict[str, Any] = {}
    examples = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL)
    assert len(examples) == README.count("```python")
    for code, shown in examples:
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(code, names)
        assert same_on_any_machine(printed.getvalue()) == same_on_any_machine(shown)


@pytest.mark.parametrize("page", ["admissibility.md", "trust.md"])
def test_the_examples_of_a_page_print_what_is_shown_below_them(page, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    monkeypatch.setenv("COLUMNS", "100")
    names: dict[str, Any] = {}
    blocks = (ROOT / "docs" / page).read_text(encoding="utf-8").split("```python\n")[1:]
    for block in blocks:
        code, below = block.split("```", 1)
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(code, names)
        # A page may show the part of the output that it is about.
        shown = re.match(r"\s*(?:prints [\w ]*\s*)?```text\n(.*?)```", below, re.DOTALL)
        assert (shown is not None) == bool(printed.getvalue()), code
        if shown is not None:
            assert same_on_any_machine(shown[1]) in same_on_any_machine(printed.getvalue())
        # A line of comment is what the expression above it gives.
        for expression, value in re.findall(r"^(\w.*)\n# (.*)$", code, re.MULTILINE):
            assert repr(eval(expression, names)) == value


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_that_need_data_of_the_readers_own_are_python(page):
    for code in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        if not code.startswith((">>>", " ")):  # neither a session nor an excerpt
            compile(code, page.name, "exec")


def test_the_first_example_has_eight_lines():
    first = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert first is not None
    assert len(first[1].splitlines()) == 8


def test_the_commands_print_what_is_shown_below_them(monkeypatch):
    monkeypatch.chdir(ROOT)
    examples = re.findall(r"```console\n\$ causalrules (.*?[^\\])\n(.*?)```", README, re.DOTALL)
    assert len(examples) == README.count("```console")
    for words, shown in examples:
        result = CliRunner().invoke(cli, shlex.split(words.replace("\\\n", "")))
        assert same_on_any_machine(result.stdout) == same_on_any_machine(shown)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?://", link):
            continue
        path, _, heading = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        if heading:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in [re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings], link


def test_the_index_of_the_documentation_names_every_page():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    missing = [page.name for page in (ROOT / "docs").glob("*.md") if f"({page.name})" not in index]
    assert missing == ["index.md"]
