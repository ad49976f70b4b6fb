"""AND and population count in gigabytes per second, beside the machine's memory bandwidth."""

from __future__ import annotations

import csv
import shutil
import subprocess
from collections.abc import Sequence

from benchmarks.measuring import ROOT, Goal, Row, Settings, say
from benchmarks.wording import percent, size, table

TITLE = "The kernel"


def run(settings: Settings) -> list[Row]:
    if shutil.which("cargo") is None:
        say("  skipped: cargo is not on the PATH")
        return []
    command = ["cargo", "run", "--release", "--quiet", "--example", "kernel"]
    output = subprocess.run(command, cwd=ROOT / "native", stdout=subprocess.PIPE, text=True, check=True).stdout
    return parse(output)


def parse(output: str) -> list[Row]:
    """Parse the lines that the example prints."""
    return [
        {"place": line["place"], "bytes": int(line["bytes"])}
        | {name: float(line[name]) for name in ("ours", "plain", "limit")}
        for line in csv.DictReader(output.splitlines())
    ]


def section(rows: Sequence[Row]) -> str:
    return (
        "Counting is AND + population count over two bitsets, by stratum and outcome, on one core. The limit is a loop "
        "over the same words in the same run that only ANDs and adds, with the same vector units; GB/s are of both "
        "operands together.\n\n"
    ) + table(
        ["both operands in", "bytes", "ours", "without vector units", "limit", "share of the limit"],
        [
            [row["place"], size(row["bytes"])]
            + [f"{row[name]:.1f} GB/s" for name in ("ours", "plain", "limit")]
            + [percent(row["ours"] / row["limit"])]
            for row in rows
        ],
    )


def goals(rows: Sequence[Row]) -> list[Goal]:
    return [
        Goal(
            "counting at 70 % of the machine's limit in L2",
            percent(row["ours"] / row["limit"]),
            row["ours"] >= 0.7 * row["limit"],
        )
        for row in rows
        if row["place"] == "L2"
    ]
