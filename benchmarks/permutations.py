"""Time of 999 permutations, compared with another version of the package.

    python benchmarks/permutations.py [--before FOLDER] [--repeats 3]

FOLDER is a checkout of the other version with its core built, for instance a git worktree. The versions alternate,
each in new processes, so that load slows both. Prints a Markdown table and writes it as
benchmarks/results/permutations.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:1] = [str(ROOT)]

import causalrules as cr  # noqa: E402
from benchmarks.trust import DATA, german  # noqa: E402

TIMES = 999
# Seconds on two cores.
GOALS = {
    "Titanic": 1.0,
    "german": 3.0,
    "three conditions, 64,000 rows": 1.0,
    "search of three columns, 64,000 rows": 1.0,
    "three conditions, 64,000 rows, numeric target": None,
}


def large(numeric: bool = False) -> dict[str, Any]:
    rng, n = np.random.default_rng(0), 64_000
    z = rng.integers(0, 4, n)
    columns: dict[str, Any] = {f"x{i}": rng.integers(0, 2, n) for i in range(3)} | {"z": z.astype(str)}
    y = rng.random(n) < 0.3 + 0.05 * z + 0.02 * columns["x0"]
    return {**columns, "y": y + rng.normal(size=n) if numeric else y}


def asked(name: str) -> cr.RuleSet:
    if name == "Titanic":
        return cr.discover(cr.datasets.titanic(), "survived")
    if name == "german":
        return cr.discover(german(), "Customer", "2", control="StatusAndSex")
    if name.startswith("search"):
        return cr.discover(large(), "y", control="z")
    return cr.evaluate(large("numeric" in name), ["x0 = 1", "x1 = 1", "x2 = 1"], "y", control="z")


def measure(name: str) -> dict[str, Any]:
    rules = asked(name)
    start, work = time.perf_counter(), time.process_time()
    judged = rules.significance(TIMES, stop_early=False, progress=False)
    seconds, work = time.perf_counter() - start, time.process_time() - work
    return {"seconds": seconds, "processor": work, "p": [rule.p_value for rule in judged]}


def elsewhere(folder: Path, name: str) -> dict[str, Any]:
    """Return the result of a process with this version of the package."""
    command = [sys.executable, __file__, "--one", name]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(folders: dict[str, Path], repeats: int) -> list[dict[str, Any]]:
    rows = []
    for name, goal in GOALS.items():
        if name == "german" and not (DATA / "keel").is_dir():
            print(f"german is left out: no folder {DATA / 'keel'}; set CAUSALRULES_DATA")
            continue
        runs: dict[str, list[dict[str, Any]]] = {version: [] for version in folders}
        for _ in range(repeats):
            for version, folder in folders.items():
                runs[version].append(elsewhere(folder, name))
        row: dict[str, Any] = {"table": name, "goal": goal}
        for version, each in runs.items():
            for kind in ("seconds", "processor"):
                row[f"{kind} {version}"] = round(statistics.median(run[kind] for run in each), 3)
            row[f"p {version}"] = each[-1]["p"]
        if "before" in runs:
            ratios = [old["processor"] / new["processor"] for old, new in zip(*runs.values(), strict=True)]
            row["ratio"] = round(statistics.median(ratios), 2)
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--before", type=Path, help="checkout of another version, with its core")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one)))
        return
    folders = ({"before": options.before} if options.before else {}) | {"now": ROOT}
    rows = compare(folders, options.repeats)
    kept = {"permutations": TIMES, "cores": os.cpu_count(), "repeats": options.repeats, "rows": rows}
    (ROOT / "benchmarks" / "results" / "permutations.json").write_text(json.dumps(kept, indent=1) + "\n")
    columns = [key for key in rows[0] if not key.startswith("p ")]
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(row[key]) for key in columns) + " |")


if __name__ == "__main__":
    main()
