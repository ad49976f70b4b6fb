"""Checks the verdicts, and the numbers beside them, on tables whose truth is known.

    python benchmarks/verdicts.py [--quick] [--tables N] [NAME ...]
    python benchmarks/verdicts.py --page

NAME is a part (table, conditions) or a cell of `benchmarks/cells.py`, such as missing-null or same-seeds; by default
all cells. Each prints a row of a Markdown table; results go to benchmarks/results/verdicts-PART.json, and those of
cells to verdicts-cells.json. --page writes the table of the cells into docs/trust-statistics.md. 100 tables take
seconds to a few minutes a cell, half an hour for all, and about 15 minutes for the parts, on one core.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:1] = [str(ROOT)]

import causalrules as cr  # noqa: E402
from benchmarks.cells import Cell  # noqa: E402
from benchmarks.cells import cells as regimes_and_questions  # noqa: E402
from benchmarks.regimes import CONFOUNDERS, GRAPH, Columns, confounded, draw  # noqa: E402
from causalrules.trust.conditions import conditions  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "trust-statistics.md"
MARKS = "<!-- verdicts: python benchmarks/verdicts.py --page -->", "<!-- end of verdicts -->"
# The number of searches in each part of trust().
REPEATS: dict[str, Any] = {"permutations": 39, "replicates": 10, "splits": 5}


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


PARTS = {"table": table, "conditions": superfluous}


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927)."""
    z, share = 1.959964, hits / n
    middle, half = share + z * z / (2 * n), z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, (middle - half) / (1 + z * z / n)), min(1.0, (middle + half) / (1 + z * z / n))


def simulate(cell: Cell, tables: int) -> dict[str, Any]:
    """Return how often each thing happened, of how many tables, and which words were said."""
    counts: dict[str, list[int]] = {}
    words: Counter[str] = Counter()
    asked, tried = 0, count()
    while asked < tables * cell.times and (seed := next(tried)) < 20 * tables * cell.times:
        answer = cell.ask(seed)
        if answer is None:
            continue
        asked += 1
        for name, value in answer.items():
            if isinstance(value, str):
                words[value] += 1
            else:
                hits = counts.setdefault(name, [0, 0])
                hits[0] += bool(value)
                hits[1] += 1
    return {"row": cell.row, "what": cell.what, "counts": counts, "words": dict(words.most_common()), "tables": asked}


def misses(cell: Cell, counts: Mapping[str, list[int]]) -> list[str]:
    """Return what happened too often or too seldom, beyond binomial error."""
    found = []
    for name, (hits, n) in counts.items():
        low, high = wilson(hits, n)
        if low > cell.at_most.get(name, 1.0) + (1e-9 if hits else 1) or high < cell.at_least.get(name, 0.0):
            found.append(name)
    return found


def line(name: str, cell: Cell, row: Mapping[str, Any]) -> str:
    """Return a line of the Markdown table: what fails is bold, and what was not asked and never happened left out."""
    wrong = misses(cell, row["counts"])
    asked = [f"{thing} ≤ {100 * share:g} %" for thing, share in cell.at_most.items()]
    asked += [f"{thing} ≥ {100 * share:g} %" for thing, share in cell.at_least.items()]
    measured = []
    for thing, (hits, n) in row["counts"].items():
        if hits or thing in cell.at_most or thing in cell.at_least:
            shown = f"{thing} {hits} of {n}"
            measured.append(f"**{shown}**" if thing in wrong else shown)
    said = ", ".join(f"{word} {times}" for word, times in row["words"].items())
    return f"| {row['row']} | `{name}` | {row['what']} | {'; '.join(asked)} | {'; '.join(measured)} | {said} |"


HEADER = "| row | cell | regime | asked for | measured | words |\n|---|---|---|---|---|---|"


def page(known: Mapping[str, Cell]) -> None:
    """Write the table of all cells that have been simulated into the documentation."""
    kept = json.loads((RESULTS / "verdicts-cells.json").read_text(encoding="utf-8"))
    lines = [HEADER, *(line(name, cell, kept[name]) for name, cell in known.items() if name in kept)]
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split(MARKS[0])[0], text.split(MARKS[1])[1]
    PAGE.write_text(f"{before}{MARKS[0]}\n\n{chr(10).join(lines)}\n\n{MARKS[1]}{after}", encoding="utf-8")


def keep(name: str, row: Mapping[str, Any], folder: Path) -> None:
    """Put a cell's result into the file of all cells, in the order of the cells."""
    path = folder / "verdicts-cells.json"
    kept = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    kept[name] = row
    ordered = {each: kept[each] for each in regimes_and_questions() if each in kept}
    path.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    """Run the requested parts and cells, and write their results."""
    known = regimes_and_questions()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"some of {', '.join([*PARTS, *known])}; by default all cells")
    parser.add_argument("--quick", action="store_true", help="3 tables a cell, and nothing is written")
    parser.add_argument("--tables", type=int, default=100, help="tables a cell")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--page", action="store_true", help="write the table of the documentation, and nothing else")
    given = parser.parse_args(arguments)
    if unknown := [name for name in given.names if name not in PARTS and name not in known]:
        parser.error(f"no part or cell {unknown[0]!r}; they are {', '.join([*PARTS, *known])}")
    if given.page:
        page(known)
        return
    tables = 3 if given.quick else given.tables
    if any(name in known for name in given.names or known):
        print(HEADER)
    for name in given.names or known:
        if name in PARTS:
            rows = PARTS[name](tables)
            if not given.quick:
                path = given.results / f"verdicts-{name}.json"
                path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
            continue
        try:
            row = simulate(known[name], tables)
        except (cr.OptionError, TypeError) as error:
            print(f"left out: {name}: {error}", file=sys.stderr)
            continue
        print(line(name, known[name], row), flush=True)
        if not given.quick:
            keep(name, row, given.results)


if __name__ == "__main__":
    main()
