"""Checks the verdicts of trust() on tables whose truth is known.

    python benchmarks/verdicts.py [--quick] [--tables N] [table stability conditions]

Prints a Markdown table for each part and writes benchmarks/results/verdicts-PART.json. The full run, 100 tables a
cell, takes about 15 minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:1] = [str(ROOT)]

import causalrules as cr  # noqa: E402
from causalrules.trust.conditions import conditions  # noqa: E402

Columns = dict[str, Any]
RESULTS = ROOT / "benchmarks" / "results"
N_ROWS = 1000
# The number of searches in each part of trust().
REPEATS: dict[str, Any] = {"permutations": 39, "replicates": 10, "splits": 5}
GRAPH = "z -> x; z -> y; x -> y; w0 -> y; w1 -> y; w2 -> y"
CONFOUNDERS = ("strong", "weak", "numeric")


def draw(*numbers: int) -> np.random.Generator:
    """Return a random generator independent of the package's."""
    return np.random.default_rng([20_261_116, *(1 + number for number in numbers)])


def confounded(truth: float, confounder: str, seed: int) -> Columns:
    """Draw a table: x raises the outcome by `truth`; z affects both; w0 to w2 have no effect."""
    rng = draw(seed, round(100 * truth), CONFOUNDERS.index(confounder))
    u = rng.random(N_ROWS)
    z = u if confounder == "numeric" else (u < 0.5).astype(float)
    push = 0.15 if confounder == "weak" else 0.6
    x = (rng.random(N_ROWS) < 0.5 - push / 2 + push * z).astype(int)
    base = 0.05 if confounder == "weak" else 0.4
    y = (rng.random(N_ROWS) < 0.15 + base * z + truth * x).astype(int)
    return {"x": x, "z": z, **{f"w{i}": rng.integers(0, 4, N_ROWS) for i in range(3)}, "y": y}


def verdict(columns: Columns, seed: int, **options: Any) -> tuple[str, cr.RuleResult]:
    """Return the verdict of the best rule: "strong", or its evidence."""
    options = {"k": 1, "max_length": 2, "n_jobs": 1} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cr.CausalRulesWarning)
        rules = cr.discover(columns, "y", 1, **options)
        rule = rules.trust(**REPEATS, seed=seed, n_jobs=1, progress=False)[0]
    return "strong" if rule.verdict.strong else rule.verdict.evidence, rule


def without(columns: Columns, *names: str) -> Columns:
    return {name: values for name, values in columns.items() if name not in names}


def cells() -> dict[str, Callable[[int], tuple[str, cr.RuleResult]]]:
    """Return each cell: its truth, its question, and a function from seed to verdict."""

    def adjusted(truth: float, confounder: str) -> Callable[[int], tuple[str, cr.RuleResult]]:
        return lambda seed: verdict(confounded(truth, confounder, seed), seed, control="z", graph=GRAPH)

    found = {
        f"truth {truth:g}, {confounder} confounder adjusted for, graph": adjusted(truth, confounder)
        for truth in (0.0, 0.15, 0.3)
        for confounder in CONFOUNDERS
    }
    found["truth 0, strong confounder hidden, no graph"] = lambda seed: verdict(
        without(confounded(0.0, "strong", seed), "z"), seed
    )
    found["truth 0, strong confounder hidden, wrong graph"] = lambda seed: verdict(
        without(confounded(0.0, "strong", seed), "z"), seed, graph="x -> y; w0 -> y; w1 -> y; w2 -> y"
    )
    return found


def table(n_tables: int) -> dict[str, Any]:
    """Count how often each verdict occurs."""
    rows: dict[str, Any] = {}
    print("| truth and question | strong | supported in all | suggestive | not supported | cannot tell | median Γ |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, ask in cells().items():
        answers = [ask(seed) for seed in range(n_tables)]
        counts = Counter(word for word, _ in answers)
        robust = [rule.verdict.robustness for _, rule in answers if rule.verdict.robustness is not None]
        supported = counts["strong"] + counts["supported"]
        row = {word: counts[word] for word in ("strong", "suggestive", "not supported", "cannot tell")}
        row |= {"supported": supported, "tables": n_tables, "gamma": round(float(np.median(robust)), 2)}
        rows[name] = row
        shown = (row[word] for word in ("strong", "supported", "suggestive", "not supported", "cannot tell"))
        print(f"| {name} | {' | '.join(map(str, shown))} | {row['gamma']:.2f} |", flush=True)
    return rows


def stability(n_tables: int) -> dict[str, Any]:
    """Count how often the evidence stays the same under irrelevant changes."""

    def random_control(columns: Columns, seed: int) -> Columns:
        return columns | {"coin": draw(seed, 99).integers(0, 2, N_ROWS)}

    rows: dict[str, Any] = {}
    print("\n| change | truth | same word | supported before | after |\n|---|---:|---:|---:|---:|")
    for truth in (0.0, 0.15, 0.3):
        before, after = [], {"outcome turned round": [], "random control added": [], "another seed": []}  # type: ignore[var-annotated]
        for seed in range(n_tables):
            columns = confounded(truth, "strong", seed)
            options: dict[str, Any] = {"control": ["z"], "actionable": ["x", "w0", "w1", "w2"]}
            before.append(verdict(columns, seed, **options)[1].verdict.evidence)
            turned = columns | {"y": 1 - columns["y"]}
            others = {
                "outcome turned round": (turned, seed, options | {"direction": "decrease"}),
                "random control added": (random_control(columns, seed), seed, options | {"control": ["z", "coin"]}),
                "another seed": (columns, seed + 1000, options),
            }
            for name, (rows_, other, asked) in others.items():
                after[name].append(verdict(rows_, other, **asked)[1].verdict.evidence)
        for name, words in after.items():
            same = sum(one == other for one, other in zip(before, words, strict=True))
            counts = [each.count("supported") for each in (before, words)]
            rows[f"{name}, truth {truth:g}"] = {"same": same, "before": counts[0], "after": counts[1], "of": n_tables}
            print(f"| {name} | {truth:g} | {same} of {n_tables} | {counts[0]} | {counts[1]} |", flush=True)
    return rows


def planted(needed: int, effect: float, n_rows: int, seed: int) -> Columns:
    """Draw ten numeric columns; the first, or the first two together, raise the outcome."""
    rng = draw(seed, needed, n_rows)
    z = rng.integers(0, 2, n_rows)
    columns: Columns = {f"x{index}": rng.random(n_rows) + 0.2 * z for index in range(10)}
    rule = columns["x0"] >= 0.6
    if needed == 2:
        rule &= columns["x1"] >= 0.4
    return columns | {"z": z, "y": (rng.random(n_rows) < 0.2 + 0.3 * z + effect * rule).astype(int)}


def superfluous(n_tables: int) -> dict[str, Any]:
    """Count supported rules with a condition that has no effect, and those of them that are not marked."""
    rows: dict[str, Any] = {}
    print(
        "\n| planted | effect | rows | supported rules | with an idle condition | of them not marked | "
        "needed conditions | of them marked |\n|---:|---:|---:|---:|---:|---:|---:|---:|"
    )
    for needed, effect, n_rows in ((1, 0.3, 1000), (1, 0.15, 4000), (2, 0.3, 2000)):
        counts = np.zeros(5, int)
        for seed in range(n_tables):
            asked: dict[str, Any] = {"control": "z", "k": 10, "max_length": 3, "n_jobs": 1}
            rules = cr.discover(planted(needed, effect, n_rows, seed), "y", 1, **asked)
            true = {f"x{index}" for index in range(needed)}
            for rule in conditions(rules.significance(39, seed, n_jobs=1), 199, seed):
                if rule.verdict.evidence != "supported":
                    continue
                idle = [each for each in rule.conditions if each.column not in true]
                use = [each for each in rule.conditions if each.column in true] if rule.length > 1 else []
                unmarked = any(each not in rule.superfluous for each in idle)
                counts += [1, bool(idle), unmarked, len(use), sum(each in rule.superfluous for each in use)]
        names = ("supported", "idle", "unmarked", "needed", "marked")
        rows[f"{needed} planted, {effect:g}, n = {n_rows}"] = dict(zip(names, counts.tolist(), strict=True))
        print(f"| {needed} | {effect:g} | {n_rows:,} | {' | '.join(map(str, counts))} |", flush=True)
    return rows


PARTS = {"table": table, "stability": stability, "conditions": superfluous}


def main(arguments: list[str] | None = None) -> None:
    """Run the requested parts, and write their results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; by default all")
    parser.add_argument("--quick", action="store_true", help="3 tables a cell, and nothing is written")
    parser.add_argument("--tables", type=int, default=100, help="tables a cell")
    given = parser.parse_args(arguments)
    if unknown := [name for name in given.parts if name not in PARTS]:
        parser.error(f"no part {unknown[0]!r}; the parts are {', '.join(PARTS)}")
    for name in given.parts or PARTS:
        rows = PARTS[name](3 if given.quick else given.tables)
        if not given.quick:
            (RESULTS / f"verdicts-{name}.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
