"""Seconds to try every pair of a context and an action, on one thread and on several.

    python benchmarks/policies.py [--rows 50000] [--threads 1 2] [--repeats 3]

20 context columns and 10 actionable ones, of 8 bins each; two conditions each. Processor seconds matter less when the
machine is busy. Prints a Markdown table and writes it as benchmarks/results/policies.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:1] = [str(ROOT)]

from causalrules.language.language import Language  # noqa: E402
from causalrules.language.propositions import Proposition  # noqa: E402
from causalrules.policy.enumeration import Conjunctions, Enumeration, find_best  # noqa: E402

N_BINS = 8
# Name of the table, number of strata, whether the default is one action, whether one action helps some.
TABLES = [
    ("1 stratum", 1, False, True),
    ("3 strata", 3, False, True),
    ("3 strata, no effect", 3, False, False),
    ("3 strata, a default", 3, True, True),
    ("20 strata", 20, False, True),
]


def language(prefix: str, n_columns: int) -> Language:
    """Return ≤ and ≥ at each cut between bins."""
    found = [
        (Proposition(f"{prefix}{column}", operator, value), column, low, high)
        for column in range(n_columns)
        for cut in range(N_BINS - 1)
        for operator, value, low, high in (("<=", cut, 0, cut), (">=", cut + 1, cut + 1, N_BINS - 1))
    ]
    propositions, columns, low, high = zip(*found, strict=True)
    return Language(
        propositions,
        *(np.array(each, np.int32) for each in (columns, low, high)),
        columns=tuple(f"{prefix}{column}" for column in range(n_columns)),
        ends={},
        notes=(),
    )


def enumeration(n_rows: int, n_strata: int, default: bool, effect: bool) -> Enumeration:
    rng = np.random.default_rng(0)
    contexts = [rng.integers(0, N_BINS, n_rows) for _ in range(20)]
    actions = [rng.integers(0, N_BINS, n_rows) for _ in range(10)]
    strata = rng.integers(0, n_strata, n_rows)
    helped = (contexts[0] >= 4) & (contexts[1] <= 3) & (actions[2] >= 5)
    y = (rng.random(n_rows) < 0.3 + 0.1 * strata / n_strata + 0.15 * effect * helped).astype(np.float64)
    return Enumeration(
        Conjunctions(language("x", 20), contexts),
        Conjunctions(language("a", 10), actions),
        strata,
        None,
        y,
        actions[0] <= 3 if default else None,
        variance=[y[strata == stratum].var() for stratum in range(n_strata)],
        n_total=n_rows,
        range_=1.0,
        min_rows=n_rows // 20,
        betas=[[0.0, 3.9, 4.5], [0.0, 4.9, 5.4], [0.0, 5.7, 6.1]],
    )


def measure(n_rows: int, n_strata: int, default: bool, effect: bool, threads: int, repeats: int) -> dict[str, Any]:
    begun = time.perf_counter()
    asked = enumeration(n_rows, n_strata, default, effect)
    made = time.perf_counter() - begun
    seconds, work = [], []
    for _ in range(repeats):
        spent = time.process_time()
        found = find_best(asked, threads=threads, floor=0.0)
        seconds.append(found.seconds)
        work.append(time.process_time() - spent)
    return {
        "pairs": found.n_pairs,
        "packing": round(made, 3),
        "seconds": round(statistics.median(seconds), 3),
        "processor": round(statistics.median(work), 3),
        "million pairs a second": round(found.n_pairs / 1e6 / statistics.median(work)),
        "gain": None if found.best is None else round(found.best.gain, 6),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help="write the results")
    given = parser.parse_args()
    rows = [
        {"table": name, "threads": threads, **measure(given.rows, *about, threads, given.repeats)}
        for name, *about in TABLES
        for threads in given.threads
    ]
    print("| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(str(each) for each in row.values()) + " |")
    if given.keep:
        kept = {"rows": given.rows, "cores": os.cpu_count(), "repeats": given.repeats, "runs": rows}
        (ROOT / "benchmarks" / "results" / "policies.json").write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
