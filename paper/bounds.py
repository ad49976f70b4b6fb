"""Nodes expanded on the small tables with the paper's bound, the repaired bound and the reachable bound."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import keel
import plain_search
from finding import find
from results import Row, Run

SMALL = 13_000
MAX_NODES, QUICK_MAX_NODES = 10_000, 500


def make(run: Run) -> None:
    run.write("counterexample", counterexample())
    if run.data is None:
        run.say("  no folder of KEEL files: only the counter-example")
        return
    folder = run.data
    rows: list[Row] = []
    for experiment in keel.EXPERIMENTS:
        if experiment.n_rows <= SMALL:
            rows += run.part(f"bounds-{experiment.name}", partial(measure, experiment, folder, run.quick))
    run.write("bounds", rows)


def variant_name(bound: str, ordered: bool) -> str:
    return f"{bound}_ordered" if ordered else bound


def measure(experiment: keel.Experiment, folder: Path, quick: bool) -> list[Row]:
    """Measure the paper's outcome, presumably the first declared class."""
    outcome = keel.classes(experiment, folder)[0]
    table = keel.load(experiment, folder)
    rules = find(table, experiment.target, outcome, experiment.control, k=1)
    assert rules.problem is not None
    rows = plain_search.Rows.of(rules.problem.only)
    found: Row = {"data": experiment.name, "outcome": outcome}
    for bound, ordered in plain_search.VARIANTS:
        result = plain_search.search(rows, bound, ordered, max_nodes=QUICK_MAX_NODES if quick else MAX_NODES)
        name = variant_name(bound, ordered)
        found |= {f"{name}_nodes": result.nodes, f"{name}_finished": result.finished, f"{name}_value": result.value}
    return [found | {"ours_nodes": rules.nodes, "ours_value": rules[0].reliable_effect}]


def counterexample() -> list[Row]:
    """Return the best rule of a table on which Proposition 3 prunes it, by each search."""
    rules = find(plain_search.counterexample(), "y", 1, "z", k=1)
    assert rules.problem is not None
    rows = plain_search.Rows.of(rules.problem.only)
    propositions = rules.problem.language.propositions
    found = []
    for bound, ordered in plain_search.VARIANTS:
        result = plain_search.search(rows, bound, ordered)
        text = " ∧ ".join(sorted(propositions[i].text for i in result.conditions))
        found.append({"search": variant_name(bound, ordered), "rule": text, "reliable_effect": result.value})
    return [*found, {"search": "ours", "rule": rules[0].text, "reliable_effect": rules[0].reliable_effect}]
