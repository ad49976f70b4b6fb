"""Ten different rules on the paper's tables, every outcome of at least 100 rows, without a limit on their length.

    python -m benchmarks.ideas --data FOLDER_OF_KEEL_FILES [--table NAME …] [--outcome NAME …]

Each result is added to `benchmarks/results/ideas.json` as soon as it is there.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
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
KEYS = ("table", "outcome", "score")
FEWEST_ROWS, K, TIME_LIMIT = 100, 10, 60.0
SCORES: dict[str, dict[str, Any]] = {
    "reliable": {"estimator": "reliable", "beta": 2.0},
    "pooled": {"estimator": "pooled"},
}


def one_table(name: str, folder: Path, wanted: list[str] | None) -> Iterator[dict[str, Any]]:
    """Search for ten ideas with each score and each outcome of a table."""
    experiment = next(each for each in EXPERIMENTS if each.name == name)
    loaded = load(experiment, folder)
    table = source(loaded)
    for outcome, n_outcome in outcomes(loaded[experiment.target].to_pylist()):
        if n_outcome < FEWEST_ROWS or (wanted and str(outcome) not in wanted):
            continue
        problem = problem_of(table, experiment.target, outcome, [experiment.control])
        packed = problem.pack()
        for score, options in SCORES.items():
            question = Question("y", k=K, max_length=None, similarity=0.5, time_limit=TIME_LIMIT, **options)
            if question.beta is None:
                question = replace(question, beta=betas(problem.language, None, question.error_rate))
            start = time.perf_counter()
            found = search.run(packed, question, problem.n_rows)
            yield {
                "table": name,
                "outcome": str(outcome),
                "score": score,
                "seconds": round(time.perf_counter() - start, 3),
                "nodes": found.progress.nodes,
                "ideas": len(found.rules),
                "proven": found.optimal,
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--table", action="append")
    parser.add_argument("--outcome", action="append")
    given = parser.parse_args()
    for experiment in EXPERIMENTS:
        if given.table and experiment.name not in given.table:
            continue
        for row in one_table(experiment.name, given.data, given.outcome):
            print(*row.values(), flush=True)
            known = json.loads(RESULT.read_text()) if RESULT.is_file() else []
            others = [each for each in known if any(each[key] != row[key] for key in KEYS)]
            RESULT.write_text(json.dumps([*others, row], indent=1) + "\n")


if __name__ == "__main__":
    main()
