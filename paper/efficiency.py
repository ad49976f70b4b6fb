"""Table "efficiency" (appendix): all 22 data sets, every class value as outcome, α = 1.0, no length limit.

Includes k = 10 and 100, for scalability.py.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import keel
from finding import find
from results import Row, Run

# Seconds for each k: larger k only show how the time grows, so they need not finish.
TIME_LIMITS = {1: 60.0, 10: 15.0, 100: 15.0}
# The quick run skips the tables that take longer to read than to search.
QUICK_ROWS = 30_000


def make(run: Run) -> None:
    if run.data is None:
        run.say("  no folder of KEEL files: skipped. See docs/paper.md on where to get them, and use --data")
        return
    folder = run.data
    rows: list[Row] = []
    for experiment in experiments(run):
        rows += run.part(f"efficiency-{experiment.name}", partial(measure, experiment, folder, run.quick))
    run.write("efficiency", rows)


def experiments(run: Run) -> list[keel.Experiment]:
    return [experiment for experiment in keel.EXPERIMENTS if not run.quick or experiment.n_rows <= QUICK_ROWS]


def measure(experiment: keel.Experiment, folder: Path, quick: bool) -> list[Row]:
    table = keel.load(experiment, folder)
    rows = []
    for position, outcome in enumerate(keel.classes(experiment, folder)):
        for k in (1,) if quick else TIME_LIMITS:
            start = time.perf_counter()
            limit = TIME_LIMITS[k]
            rules = find(table, experiment.target, outcome, experiment.control, k=k, time_limit=limit)
            rows.append(
                {
                    "data": experiment.name,
                    "outcome": outcome,
                    "first_declared": position == 0,
                    "k": k,
                    "rows": rules.n_rows,
                    "actionable": table.num_columns - 2,
                    "propositions": rules.n_propositions,
                    "strata": rules.n_strata,
                    "optimal": rules.optimal,
                    "gap": rules.gap,
                    "search_seconds": round(rules.seconds, 4),
                    "total_seconds": round(time.perf_counter() - start, 4),
                    "nodes": rules.nodes,
                    "rules": len(rules),
                    "reliable_effect": rules[0].reliable_effect,
                    "rule": rules[0].text,
                }
            )
    return rows
