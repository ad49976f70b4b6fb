"""Compares searches by this version of the package with another version.

    python benchmarks/versions.py --before FOLDER [--only TEXT;…] [--repeats 3] [--threads 1] [--limit 60] [--tables]

FOLDER is a checkout of the other version with its core built, for instance a git worktree. Each case runs in new
processes, versions alternating, so that load slows both; the lowest CPU time of each counts. With --tables, every
outcome of the paper's tables at k = 10. Prints a Markdown table and writes benchmarks/results/versions.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:1] = [str(ROOT)]

from paper.keel import EXPERIMENTS, data_folder, load  # noqa: E402

from benchmarks.paper_tables import FEWEST_ROWS, outcomes  # noqa: E402
from benchmarks.searching import RELIABLE, source  # noqa: E402
from benchmarks.tables import noise  # noqa: E402
from causalrules.language.roles import resolve  # noqa: E402
from causalrules.question import Question  # noqa: E402
from causalrules.search import run as search  # noqa: E402
from causalrules.search.adjusted import Adjusted, adjust  # noqa: E402
from causalrules.search.margins import betas  # noqa: E402

# A search shorter than this is repeated up to ten more times.
SHORT = 0.2

Asked = tuple[Adjusted, Question]


def asked(table: Any, target: str, outcome: Any, control: str, pooled: bool = False, **options: Any) -> Asked:
    """Return a question of the paper's kind, or with the default options."""
    question = Question(target, **({} if pooled else RELIABLE), **{"max_length": None, **options})
    problem = adjust(table, resolve(table, target, outcome, None, [control], None), question)
    if pooled and question.beta is None:
        beta = betas(problem.language, question.max_length, question.error_rate)
        question = question.changed(beta=beta)
    return problem, question


def of_noise(n_rows: int, n_columns: int, max_length: int, **options: Any) -> Callable[[], Asked]:
    return lambda: asked(source(noise(n_rows, n_columns)), "y", True, "z", max_length=max_length, k=1, **options)


def of_paper(name: str, outcome: str, **options: Any) -> Callable[[], Asked]:
    def ask() -> Asked:
        folder = data_folder(None)
        assert folder is not None, "no folder of KEEL files; set CAUSALRULES_DATA"
        experiment = next(each for each in EXPERIMENTS if each.name == name)
        loaded = load(experiment, folder)
        values = {str(value): value for value, _ in outcomes(loaded[experiment.target].to_pylist())}
        return asked(source(loaded), experiment.target, values[outcome], experiment.control, **options)

    return ask


CASES: dict[str, Callable[[], Asked]] = {
    "noise, 20 columns, 20,000 rows, length 4": of_noise(20_000, 20, 4),
    "noise, 20 columns, 20,000 rows, length 3": of_noise(20_000, 20, 3),
    "noise, 50 columns, 20,000 rows, length 3": of_noise(20_000, 50, 3),
    "noise, 20 columns, 1,000 rows, length 4": of_noise(1_000, 20, 4),
    "noise, 20 columns, 20,000 rows, length 3, pooled": of_noise(20_000, 20, 3, pooled=True),
    "noise, 20 columns, 1,000 rows, length 4, pooled": of_noise(1_000, 20, 4, pooled=True),
    "german (2), k = 10": of_paper("german", "2", k=10),
    "german (2), defaults": of_paper("german", "2", pooled=True, max_length=3, k=5),
    "adult, k = 100": of_paper("adult", ">50K", k=100),
    "adult, defaults": of_paper("adult", ">50K", pooled=True, max_length=3, k=5),
    "splice (N), k = 100": of_paper("splice", "N", k=100),
    "connect-4 (loss), k = 10": of_paper("connect-4", "loss", k=10),
    "connect-4 (loss), k = 100": of_paper("connect-4", "loss", k=100),
    "fars (No_Injury), k = 100": of_paper("fars", "No_Injury", k=100),
    "kddcup (smurf), k = 10": of_paper("kddcup", "smurf", k=10),
    "kddcup (smurf), k = 100": of_paper("kddcup", "smurf", k=100),
    "kddcup (neptune), k = 100": of_paper("kddcup", "neptune", k=100),
}


def table_cases() -> list[str]:
    folder, names = data_folder(None), []
    assert folder is not None, "no folder of KEEL files; set CAUSALRULES_DATA"
    for experiment in EXPERIMENTS:
        every = outcomes(load(experiment, folder)[experiment.target].to_pylist())
        kept = [outcome for outcome, n in every if n >= FEWEST_ROWS.get(experiment.name, 1)]
        names += [f"{experiment.name} ({outcome})" for outcome in kept]
    return names


def case(name: str) -> Callable[[], Asked]:
    if name in CASES:
        return CASES[name]
    table, _, outcome = name.partition(" (")
    return of_paper(table, outcome[:-1], k=10)


def measure(name: str, threads: int, limit: float) -> dict[str, Any]:
    problem, question = case(name)()
    packed = problem.pack()
    question = question.changed(n_jobs=threads, time_limit=limit)
    best: dict[str, Any] = {}
    for _ in range(10):
        start, work = time.perf_counter(), time.process_time()
        found = search.run(packed, question, problem.n_rows)
        took = {"seconds": time.perf_counter() - start, "processor": time.process_time() - work}
        if not best or took["processor"] < best["processor"]:
            best = {**took, "nodes": found.progress.nodes, "gap": found.progress.gap, "optimal": found.optimal}
            best["rules"] = [[round(value, 9), list(conditions)] for value, conditions in found.rules]
        if took["seconds"] > SHORT:
            break
    return best


def elsewhere(folder: Path, name: str, threads: int, limit: float) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", name, "--threads", str(threads), "--limit", str(limit)]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(name: str, folders: dict[str, Path], repeats: int, threads: int, limit: float) -> dict[str, Any]:
    runs: dict[str, list[dict[str, Any]]] = {version: [] for version in folders}
    for _ in range(repeats):
        for version, folder in folders.items():
            if all(run["seconds"] < limit for run in runs[version]):
                runs[version].append(elsewhere(folder, name, threads, limit))
    row: dict[str, Any] = {"case": name}
    best = {version: min(each, key=lambda run: run["processor"]) for version, each in runs.items()}
    for version, run in best.items():
        row[version] = f"{run['processor']:.3g} s" + ("" if run["optimal"] else f", gap {run['gap']:.4f}")
        row[f"nodes {version}"] = run["nodes"]
    if len(best) > 1:
        before, now = best.values()
        row["ratio"] = round(before["processor"] / now["processor"], 2)
        both = before["optimal"] and now["optimal"]
        row["same rules"] = before["rules"] == now["rules"] if both else "unproven"
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--before", type=Path, help="checkout of another version, with its core")
    parser.add_argument("--only", metavar="TEXT;…", help="the cases whose names contain one of these")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each search")
    parser.add_argument("--tables", action="store_true", help="every outcome of the paper's tables at k = 10")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.threads, options.limit)))
        return
    folders = ({"before": options.before.resolve()} if options.before else {}) | {"now": ROOT}
    names = table_cases() if options.tables else list(CASES)
    if options.only:
        names = [name for name in names if any(text in name for text in options.only.split(";"))]
    rows: list[dict[str, Any]] = []
    for name in names:
        rows.append(compare(name, folders, options.repeats, options.threads, options.limit))
        if len(rows) == 1:
            print("| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
        print("| " + " | ".join(map(str, rows[-1].values())) + " |", flush=True)
    name = "versions-tables.json" if options.tables else "versions.json"
    if not options.only:
        kept = {"threads": options.threads, "repeats": options.repeats, "limit": options.limit, "rows": rows}
        (ROOT / "benchmarks" / "results" / name).write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
