"""Ten different rules on the paper's tables, every outcome of at least 100 rows, without a limit on their length.

    python -m benchmarks.ideas --data FOLDER_OF_KEEL_FILES [--table NAME …]

The result of each table is added to `benchmarks/results/ideas.json`.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from paper.keel import EXPERIMENTS, load

from benchmarks.paper_tables import outcomes
from benchmarks.searching import problem_of, source
from causalrules.question import Question
from causalrules.search import run as search
from causalrules.search.margins import betas

RESULT = Path(__file__).parent / "results" / "ideas.json"
FEWEST_ROWS, K, TIME_LIMIT = 100, 10, 60.0
SCORES: dict[str, dict[str, Any]] = {
    "reliable": {"estimator": "reliable", "beta": 2.0},
    "pooled": {"estimator": "pooled"},
}


def one_table(name: str, folder: Path) -> list[dict[str, Any]]:
    """Search for ten ideas with each score and each outcome of a table."""
    experiment = next(each for each in EXPERIMENTS if each.name == name)
    loaded = load(experiment, folder)
    table = source(loaded)
    rows = []
    for outcome, n_outcome in outcomes(loaded[experiment.target].to_pylist()):
        if n_outcome < FEWEST_ROWS:
            continue
        problem = problem_of(table, experiment.target, outcome, [experiment.control])
        packed = problem.pack()
        for score, options in SCORES.items():
            question = Question("y", k=K, max_length=None, similarity=0.5, time_limit=TIME_LIMIT, **options)
            if question.beta is None:
                question = replace(question, beta=betas(problem.language, None, question.error_rate))
            start = time.perf_counter()
            found = search.run(packed, question, problem.n_rows)
            rows.append(
                {
                    "table": name,
                    "outcome": str(outcome),
                    "score": score,
                    "seconds": round(time.perf_counter() - start, 3),
                    "nodes": found.progress.nodes,
                    "ideas": len(found.rules),
                    "proven": found.optimal,
                }
            )
            print(*rows[-1].values(), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--table", action="append")
    given = parser.parse_args()
    known = json.loads(RESULT.read_text()) if RESULT.is_file() else []
    for experiment in EXPERIMENTS:
        if not given.table or experiment.name in given.table:
            others = [row for row in known if row["table"] != experiment.name]
            known = others + one_table(experiment.name, given.data)
            RESULT.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
