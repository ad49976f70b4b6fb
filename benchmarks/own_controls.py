"""Own controls for each rule: time compared with the same search with one set of controls.

    python benchmarks/own_controls.py [ROWS]

12 actionable columns, 20 other variables, rules of up to 3 conditions. Results in benchmarks/results/own_controls.json.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import causalrules as cr
from causalrules.graph.adjustment import adjustments

RESULTS = Path(__file__).parent / "results" / "own_controls.json"
N_ACTIONABLE, N_OTHERS = 12, 20


def population(n_rows: int, seed: int) -> tuple[dict[str, np.ndarray], list[tuple[str, str]]]:
    """Draw columns of 3 values, each caused by some of those before it; actionable columns also affect each other."""
    rng = np.random.default_rng(seed)
    others = [f"z{number:02}" for number in range(N_OTHERS)]
    actionable = [f"x{number:02}" for number in range(N_ACTIONABLE)]
    edges: list[tuple[str, str]] = []
    table: dict[str, np.ndarray] = {}
    for name in [*others, *actionable]:
        before = list(table)
        causes = [before[i] for i in rng.choice(len(before), min(len(before), 2), replace=False)] if before else []
        pull = sum((table[cause] for cause in causes), np.zeros(n_rows)) / max(1, 2 * len(causes))
        table[name] = np.minimum(2, (3 * (0.3 * pull + 0.7 * rng.random(n_rows)))).astype(int)
        edges += [(cause, name) for cause in causes]
    causes = ["x00", "x05", "x11", "z00", "z07", "z13"]
    chance = 0.2 + 0.08 * sum(table[name] == 2 for name in causes)
    table["y"] = (rng.random(n_rows) < chance).astype(int)
    return table, edges + [(name, "y") for name in causes] + [(name, "y") for name in ("z03", "z17")]


def measure(n_rows: int = 50_000, seeds: int = 3) -> list[dict[str, Any]]:
    """Time both searches on several tables."""
    rows = []
    small, edges = population(200, 0)  # loads modules, which is not part of the search
    cr.discover(small, "y", control="auto", graph=edges, actionable="x00", adjust="strata")
    for seed in range(seeds):
        table, edges = population(n_rows, seed)
        actionable = [name for name in table if name.startswith("x")]
        options: dict[str, Any] = {"actionable": actionable, "max_length": 3, "k": 10, "n_jobs": 1}
        start = time.process_time()
        auto = cr.discover(table, "y", control="auto", graph=edges, **options)
        own = time.process_time() - start
        found = adjustments(edges, "y", actionable, max_length=3)
        widest = max(found.groups, key=len)
        start = time.process_time()
        one = cr.discover(table, "y", control=[name for name in widest if name not in actionable], **options)
        single = time.process_time() - start
        rows.append(
            {
                "rows": n_rows,
                "seed": seed,
                "sets of columns": len(found.sets),
                "sets of controls": len(found.groups),
                "own controls, CPU seconds": round(own, 2),
                "one set of controls, CPU seconds": round(single, 2),
                "ratio": round(own / single, 1),
                "nodes": [auto.nodes, one.nodes],
                "optimal": auto.optimal and one.optimal,
            }
        )
        print(rows[-1])
    return rows


if __name__ == "__main__":
    measured = measure(*map(int, sys.argv[1:2]))
    RESULTS.write_text(json.dumps(measured, indent=1) + "\n")
