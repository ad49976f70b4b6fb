"""Writes docs/benchmarks.md from the results: no number in it is typed by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.measuring import Row
from benchmarks.wording import percent, size, table

HEAD = """# Benchmarks

Made by `python3 dev.py bench` from `benchmarks/results/`; run it again to have your own machine's numbers.
`--quick` takes about two minutes, `--only NAME,…` measures some of the parts
({names}),
and `--data FOLDER` (or `CAUSALRULES_DATA`) says where the paper's tables are. Every time is the median of repeated
runs; the spread is the difference of the slowest and the fastest as a share of the median. Searches that reach a
time limit are run once.
"""


def page(parts: Mapping[str, ModuleType], results: Path, quick: bool) -> str:
    """Return the page, from the available results."""
    loaded = {name: _load(results / f"{name}.json") for name in parts}
    measured = {name: result for name, result in loaded.items() if result is not None and result["rows"]}
    goals = [
        [goal.text, goal.measured, "yes" if goal.met else "**no**"]
        for name, result in measured.items()
        for goal in parts[name].goals(result["rows"])
    ]
    text = [HEAD.format(names=", ".join(f"`{name}`" for name in parts))]
    if quick:
        text.append("**A quick run: small sizes, few repeats. For a look, not to be cited.**")
    if goals:
        text.append("## What was asked for, and what was measured\n\n" + table(["goal", "measured", "met"], goals, 3))
    for name, module in parts.items():
        body = (
            f"{module.section(measured[name]['rows'])}\n\n{_machine(measured[name]['about'])}"
            if name in measured
            else f"Not measured yet: `python3 dev.py bench --only {name}`."
        )
        text.append(f"## {module.TITLE}\n\n{body}")
    return "\n\n".join(part.strip() for part in text) + "\n"


def _load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def _machine(about: Row) -> str:
    libraries = ", ".join(f"{name} {version}" for name, version in about["libraries"].items())
    caches = ", ".join(f"{level} {cache}" for level, cache in about["caches"].items())
    facts = [
        about["date"],
        f"commit {about['commit']}" if about["commit"] else None,
        f"{about['processor']}, {about['cores']} cores" + (f" ({caches})" if caches else ""),
        size(about["memory"]) if about["memory"] else None,
        about["system"],
        f"Python {about['python']}",
        about["rustc"],
        libraries,
    ]
    load = "" if about["load"] is None else f"; load average before it {about['load']:.1f}"
    steady = f"a loop that always does the same varied by {percent(about['loop_spread'])} (8 of 10 runs){load}"
    return f"<sub>{'; '.join(fact for fact in facts if fact)}. Noise of the machine: {steady}.</sub>"
