"""From nothing to an answer: imports and commands in new processes, and the memory they take."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import causalrules.datasets
from benchmarks.measuring import Goal, Row, Settings, Timing, say
from benchmarks.wording import duration, percent, ratio, size, table

TITLE = "Cold start"
LAUNCHER = Path(__file__).with_name("launcher.py")
TITANIC = Path(causalrules.datasets.__file__).with_name("titanic.csv")
COMMAND = [sys.executable, "-m", "causalrules.cli"]
STARTS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import numpy": [sys.executable, "-c", "import numpy"],
    "import causalrules": [sys.executable, "-c", "import causalrules"],
    "causalrules --help": [*COMMAND, "--help"],
    "causalrules discover titanic.csv": [
        *COMMAND,
        "discover",
        str(TITANIC),
        "--target",
        "survived",
        "--control",
        "sex",
    ],
}


def run(settings: Settings) -> list[Row]:
    rows = []
    for name, command in STARTS.items():
        rows.append({"start": name, **started(command, 5 if settings.quick else 21)})
        say(f"  {name}: {duration(rows[-1]['seconds'])}")
    return rows


def started(command: Sequence[str], times: int) -> Row:
    """The median time and the highest memory of a command in new processes; the first run, which warms up, is extra."""
    launch = [sys.executable, "-I", "-S", str(LAUNCHER), str(times + 1), *command]
    runs = json.loads(subprocess.run(launch, stdout=subprocess.PIPE, text=True, check=True).stdout)[1:]
    timing = Timing.of([run["seconds"] for run in runs])
    return {
        "seconds": timing.seconds,
        "spread": timing.spread,
        "runs": timing.runs,
        "peak_memory": max(run["peak_memory"] for run in runs),
    }


def section(rows: Sequence[Row]) -> str:
    return "Wall time and peak memory of new processes, files in the system's cache.\n\n" + table(
        ["start", "time", "spread", "runs", "peak memory"],
        [
            [
                f"`{row['start']}`",
                duration(row["seconds"]),
                percent(row["spread"]),
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
