"""A table goes from the file to the first screen one way: no module is left and entered again."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

from click.testing import CliRunner

import causalrules as cr
from causalrules.cli import cli
from test_contributing import PAGE
from test_imports import LAYERS, layer

# These call the others in turn.
_SPINE = {"causalrules.cli.discover", "causalrules.discovery", "causalrules.stepwise", "causalrules.rules"}
# Kinds, formats and ground are used everywhere, and so are conditions as text and time limits.
_EVERYWHERE = {"causalrules.language.propositions", "causalrules.search.deadline", "causalrules.search.progress"}


def steps(frame: FrameType) -> Iterator[str]:
    """Yield the module of a function of the package that a module of the spine calls."""
    name, code = str(frame.f_globals.get("__name__", "")), frame.f_code
    is_function = "." not in code.co_qualname and not code.co_name.startswith("<")
    if not name.startswith("causalrules.") or not is_function or name in _EVERYWHERE:
        return
    caller = frame.f_back
    while caller is not None and not str(caller.f_globals.get("__name__", "")).startswith("causalrules."):
        caller = caller.f_back
    called_by = "" if caller is None else str(caller.f_globals["__name__"])
    if called_by in _SPINE and name != called_by and layer(name) < LAYERS.index(("question",)):
        yield name


def test_a_table_goes_one_way_through_the_modules(tmp_path: Path) -> None:
    source, report = tmp_path / "titanic.csv", tmp_path / "titanic.html"
    cr.datasets.titanic().to_csv(source, index=False)
    options = ["--target", "survived", "--actionable", "class", "--actionable", "sex", "-k", "1"]
    walked: list[str] = []

    def follow(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            walked.extend(steps(frame))

    before = sys.getprofile()
    sys.setprofile(follow)
    try:
        result = CliRunner().invoke(cli, ["discover", str(source), *options, "--report", str(report)])
    finally:
        sys.setprofile(before)
    assert result.exit_code == 0, result.output
    assert report.exists()
    way = [name.removeprefix("causalrules.").replace(".", "/") + ".py" for name, _ in groupby(walked)]
    listed = PAGE.split("### A table's way", 1)[1].split("\n### ", 1)[0]
    assert way == re.findall(r"^\d+\. `([\w/]+\.py)`", listed, re.MULTILINE)
    assert len(set(way)) == len(way)
