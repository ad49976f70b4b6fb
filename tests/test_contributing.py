"""CONTRIBUTING.md is correct: its map names every module, in the order of the layers; its excerpts are in the code."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from test_imports import LAYERS, MODULES, PACKAGE, layer

ROOT = PACKAGE.parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TABLE = PAGE.split("### The package", 1)[1].split("### Everything else", 1)[0]
# A group is a bold line of the table, one for each layer.
GROUPS = [re.findall(r"`([\w/]+\.py)`", group) for group in TABLE.split("\n| **")[1:]]


def named(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def test_the_map_names_every_module_once_and_no_other() -> None:
    listed = sorted(path for group in GROUPS for path in group if path != "__init__.py")
    assert listed == sorted(named(path) for path in MODULES.values() if path.name != "__init__.py")


def test_the_groups_of_the_map_are_the_layers_from_top_to_bottom() -> None:
    name_of = {named(path): name for name, path in MODULES.items()}
    layers = [{layer(name_of[path]) for path in group if path != "__init__.py"} for group in GROUPS]
    assert layers == [{number} for number in range(len(LAYERS))]


def test_every_path_of_the_page_exists() -> None:
    for path in re.findall(r"`((?:src|native|tests|paper|benchmarks|docs|examples)/[\w./]*)`", PAGE):
        if path != "native/src/score/yours.rs":
            assert (ROOT / path).exists(), path
    core = PAGE.split("### Everything else", 1)[1].split("## Tests", 1)[0]
    listed = {name.removesuffix("/") for name in re.findall(r"`native/src/([\w/]+(?:\.rs)?)`", core)}
    assert listed | {"lib.rs", "tests"} == {path.name for path in (ROOT / "native" / "src").iterdir()}


def test_the_excerpts_are_in_the_code() -> None:
    field, use = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert field in (PACKAGE / "question.py").read_text(encoding="utf-8")
    assert use in (PACKAGE / "search" / "run.py").read_text(encoding="utf-8")


def test_the_floor_of_the_coverage_is_the_one_that_is_enforced() -> None:
    stated = re.search(r"fails below (\S+) %", PAGE)
    assert stated is not None
    assert f"fail_under = {stated[1]}\n" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_hooks_are_the_checks_of_lint() -> None:
    hooks = re.findall(r"entry: python3 dev.py lint (\S+)\n", (ROOT / ".pre-commit-config.yaml").read_text())
    assert hooks == list(runpy.run_path(str(ROOT / "dev.py"))["CHECKS"])


def test_chores_that_are_named_exist() -> None:
    chores = set(runpy.run_path(str(ROOT / "dev.py"))["CHORES"])
    assert set(re.findall(r"^CHORES = (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[0].split()) == chores
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        assert set(re.findall(r"python3 dev\.py ([\w-]+)", page.read_text(encoding="utf-8"))) <= chores, page
