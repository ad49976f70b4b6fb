"""The front of value and coverage against one search: seconds of computing, as multiples.

    python benchmarks/fronts.py FOLDER

FOLDER holds the KEEL files of adult and german. Results in benchmarks/results/fronts.json.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from paper.keel import EXPERIMENTS, load

import causalrules as cr
from causalrules.search import run as search

RESULTS = Path(__file__).parent / "results" / "fronts.json"
# Rules of up to four conditions by the pooled estimate, as by default, and those of any length that the paper ranks.
QUESTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "the paper's": {"estimator": "reliable", "beta": 2.0, "max_length": None, "missing": "false", "adjust": "strata"},
}


def search_again(rules: cr.RuleSet) -> None:
    """Search the rows of a result for its best rule."""
    assert rules.problem is not None
    search.run(rules.problem.pack(), rules.question, rules.problem.n_rows, scale=rules.problem.comparison.scale)


def measure(folder: Path) -> list[dict[str, Any]]:
    """Time the search for the best rule and that for the front, on the same rows."""
    found = []
    for experiment in EXPERIMENTS:
        if experiment.name not in ("adult", "german"):
            continue
        table = load(experiment, folder)
        for name, options in QUESTIONS.items():
            for outcome in sorted(set(table[experiment.target].to_pylist())):
                asked: dict[str, Any] = {**options, "control": [experiment.control], "n_jobs": 1, "k": 1}
                rules = cr.discover(table, experiment.target, outcome, **asked)
                start = time.process_time()
                search_again(rules)
                searched = time.process_time()
                front = rules.frontier()
                seconds = searched - start, time.process_time() - searched
                found.append(
                    {
                        "table": experiment.name,
                        "question": name,
                        "outcome": str(outcome),
                        "rules of the front": len(front),
                        "best rule, seconds": round(seconds[0], 3),
                        "front, seconds": round(seconds[1], 3),
                        "times one search": round(seconds[1] / seconds[0], 1),
                        "optimal": front.optimal,
                    }
                )
                print(found[-1], flush=True)
    return found


if __name__ == "__main__":
    measured = measure(Path(sys.argv[1]))
    RESULTS.write_text(json.dumps(measured, indent=1) + "\n")
