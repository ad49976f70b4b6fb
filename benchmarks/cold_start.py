"""Cold start: time and memory of imports and commands in new processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import causalrules.datasets
from benchmarks.measuring import Goal, Row, Settings, Timing, say
from benchmarks.wording import duration, ratio, size, spread, table

TITLE = "Cold start"
LAUNCHER = Path(__file__).with_name("launcher.py")
TITANIC = Path(causalrules.datasets.__file__).with_name("titanic.csv")
COMMAND = str(Path(sys.executable).with_name("causalrules"))
STARTS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import numpy": [sys.executable, "-c", "import numpy"],
    "import causalrules": [sys.executable, "-c", "import causalrules"],
    "causalrules --help": [COMMAND, "--help"],
    "causalrules discover titanic.csv": [
        COMMAND,
        "discover",
        str(TITANIC),
        "--target",
        "survived",
        "--control",
        "sex",
    ],
}


def run(settings: Settings) -> list[Row]:
    measured = started(list(STARTS.values()), 5 if settings.quick else 21)
    rows = [{"start": name, **row} for name, row in zip(STARTS, measured, strict=True)]
    for row in rows:
        say(f"  {row['start']}: {duration(row['seconds'])}, {size(row['peak_memory'])}")
    return rows


def started(commands: Sequence[Sequence[str]], times: int) -> list[Row]:
    """The median time and the highest memory of commands in new processes; a first run, which warms up, is extra."""
    launch = [sys.executable, "-I", "-S", str(LAUNCHER), str(times + 1), json.dumps(commands)]
    rows = []
    for runs in json.loads(subprocess.run(launch, stdout=subprocess.PIPE, text=True, check=True).stdout):
        timing = Timing.of([run["seconds"] for run in runs[1:]])
        rows.append({**asdict(timing), "peak_memory": max(run["peak_memory"] for run in runs[1:])})
    return rows


def section(rows: Sequence[Row]) -> str:
    return (
        "Wall time and peak memory of new processes that take turns, files in the system's cache and Python's bytecode "
        "cached as after an ordinary installation.\n\n"
    ) + table(
        ["start", "time", "spread", "runs", "peak memory"],
        [
            [
                f"`{row['start']}`",
                duration(row["seconds"]),
                spread(row),
                row["runs"],
                size(row["peak_memory"]),
            ]
            for row in rows
        ],
    )


def goals(rows: Sequence[Row]) -> list[Goal]:
    seconds = {row["start"]: row["seconds"] for row in rows}
    if not seconds:
        return []
    imports = seconds["import causalrules"] / seconds["import numpy"]
    titanic = seconds["causalrules discover titanic.csv"]
    return [
        Goal("`import causalrules` in 1.3 times the time of `import numpy`", ratio(imports), imports <= 1.3),
        Goal("`causalrules discover` on Titanic in 0.6 s", duration(titanic), titanic <= 0.6),
    ]
