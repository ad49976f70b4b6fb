"""Accuracy of lists of rules that add to each other where the truth is known, and their time on real tables.

    python -m benchmarks.ladder truths|additions|second|tables [--tables N] [--seed 0] [--threads 2] [--print]

`truths`: rules, rules with irrelevant columns, proxies and causes in a list, by truth. `additions`: how often a rule
below the first adds nothing. `second`: how often a weak cause beside a strong one is listed. `tables`: k = 10 on
every outcome of the paper's tables. Each writes benchmarks/results/ladder-*.json as it goes and prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from paper.keel import EXPERIMENTS, Experiment, data_folder, load

import causalrules as cr
from benchmarks.measuring import Row, machine, say, write
from benchmarks.paper_tables import outcomes
from benchmarks.wording import duration, integer, table

RESULTS = Path(__file__).parent / "results"
Columns = dict[str, NDArray[Any]]

LEVELS, COLUMNS, BASE = 8, 10, 0.2
# Its effect is 0; it equals x0 in this share of the rows.
PROXY, FOLLOWS = f"x{COLUMNS - 1}", 0.8


# ---------------------------------------------------------------- tables whose causes are known


def high(columns: Columns, place: int) -> NDArray[np.float64]:
    """Return whether a column is in its upper half."""
    return np.asarray(columns[f"x{place}"] >= LEVELS // 2, np.float64)


@dataclass(frozen=True)
class Truth:
    """The columns with an effect, and what each row's columns add to the probability of the outcome."""

    name: str
    causes: tuple[str, ...]
    adds: Callable[[Columns], Any]
    numeric: bool = False

    def draw(self, rng: np.random.Generator, n: int, confounded: bool, numeric: bool = False) -> Columns:
        """Ten columns of eight levels, the last a proxy of the first; with or without a confounder.

        A numeric target has the probability of the outcome as its mean, and about the variance of the outcome.
        """
        level, columns = np.zeros(n), Columns()
        if confounded:
            z = rng.integers(0, 4, n)
            level = np.linspace(-1, 1, 4)[z]
        for place in range(COLUMNS):
            drawn = np.floor(LEVELS * rng.random(n) + level * rng.random(n))
            columns[f"x{place}"] = np.clip(drawn, 0, LEVELS - 1)
        columns[PROXY] = np.where(rng.random(n) < FOLLOWS, columns["x0"], columns[PROXY])
        chance = BASE + 0.1 * level + self.adds(columns)
        columns["y"] = chance + 0.5 * rng.normal(size=n) if self.numeric or numeric else (rng.random(n) < chance) * 1
        if confounded:
            columns["z"] = z.astype(str)
        return columns


A_AND_B = Truth("A∧B +30", ("x0", "x1"), lambda c: 0.3 * high(c, 0) * high(c, 1))
NESTED = Truth("A +15, A∧B +35", ("x0", "x1"), lambda c: 0.15 * high(c, 0) + 0.2 * high(c, 0) * high(c, 1))
BESIDE = Truth("A +30, C +12", ("x0", "x2"), lambda c: 0.3 * high(c, 0) + 0.12 * high(c, 2))
PER_LEVEL = Truth("6 per level of x0", ("x0",), lambda c: 0.06 * c["x0"])
BOTH = Truth("5 per level of x0, C +20", ("x0", "x2"), lambda c: 0.05 * c["x0"] + 0.2 * high(c, 2))
FIVE = Truth("five causes of 12", tuple(f"x{i}" for i in range(5)), lambda c: 0.12 * sum(high(c, i) for i in range(5)))
NOISE = Truth("noise", (), lambda c: 0.0)
LINEAR = Truth("6 per level of x0, numeric", ("x0",), lambda c: 0.06 * c["x0"], numeric=True)
TRUTHS = (A_AND_B, NESTED, BESIDE, PER_LEVEL, BOTH, FIVE, NOISE, LINEAR)
SIZES = (2000, 5000)


def listed(truth: Truth, n: int, seed: int, place: int, numeric: bool = False) -> tuple[list[Any], float]:
    """Return the findings of discover() with its defaults on a new table; every second table is confounded."""
    rng = np.random.default_rng([seed, n, numeric, place, *truth.name.encode()])
    columns = truth.draw(rng, n, bool(place % 2), numeric)
    outcome, control = None if numeric or truth.numeric else 1, "z" if "z" in columns else None
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rules = cr.discover(columns, "y", outcome, control, n_jobs=1, progress=False)
    return list(rules.findings), time.perf_counter() - start


def named(rules: Sequence[Any]) -> list[set[str]]:
    """Return the columns of each rule."""
    return [{condition.column for condition in rule.conditions} for rule in rules]


def idle(truth: Truth, rules: Sequence[Any]) -> list[str]:
    """Return the rules with a column that has no effect."""
    causes = set(truth.causes)
    return [rule.text for rule, columns in zip(rules, named(rules), strict=True) if columns - causes]


def additions_of_nothing(truth: Truth, rules: Sequence[Any]) -> list[str]:
    """Return the rules below the first whose columns all have no effect and differ from those above."""
    below = zip(rules[1:], named(rules)[1:], strict=True)
    return [rule.text for rule, columns in below if columns.isdisjoint(truth.causes)]


# ---------------------------------------------------------------- truths


def truths(n_tables: int, seed: int, threads: int = 1) -> Iterator[Row]:
    yield from (one_truth(truth, n, n_tables, seed) for truth in TRUTHS for n in SIZES)


def one_truth(truth: Truth, n: int, n_tables: int, seed: int) -> Row:
    timed = [listed(truth, n, seed, place) for place in range(n_tables)]
    lists = [rules for rules, _ in timed]
    columns = [set().union(*named(rules)) for rules in lists]
    wrong = {place: found for place, rules in enumerate(lists) if (found := idle(truth, rules))}
    hit = [len(each & set(truth.causes)) / len(truth.causes) for each in columns] if truth.causes else []
    both = list(zip(lists, columns, strict=True))
    row: Row = {"truth": truth.name, "n": n, "tables": n_tables}
    return row | {
        "rules": statistics.fmean(len(rules) for rules in lists),
        "idle": sum(map(len, wrong.values())) / n_tables,
        "proxy": statistics.fmean(PROXY in each for each in columns),
        "causes": statistics.fmean(hit) if hit else None,
        "anything": statistics.fmean(map(bool, lists)),
        "one": statistics.fmean(len(rules) == 1 for rules in lists),
        "one, no proxy": statistics.fmean(len(rules) == 1 and PROXY not in each for rules, each in both),
        "seconds": statistics.fmean(took for _, took in timed),
        "idle rules": wrong,
    }


def share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def truths_section(rows: Sequence[Row]) -> str:
    shares = ("proxy", "causes", "anything", "one", "one, no proxy")
    head = ["truth", "rows", "tables", "rules", "idle", "proxy listed", "causes named", "anything", "one rule"]
    lines = [
        [row["truth"], integer(row["n"]), row["tables"], f"{row['rules']:.2f}", f"{row['idle']:.2f}"]
        + [share(row[name]) for name in shares]
        + [f"{row['seconds']:.2f}", missed(row)]
        for row in rows
    ]
    return table([*head, "one, no proxy", "seconds", "missed"], lines)


def missed(row: Row) -> str:
    """Return the targets that a truth misses."""
    causes, of_one = row["causes"], row["truth"] in (PER_LEVEL.name, LINEAR.name)
    misses = {
        "idle": row["idle"] > 0.1,
        "causes": causes is not None and causes < (0.9 if row["n"] < SIZES[1] else 0.95),
        "proxy": causes is not None and row["proxy"] > 0.05,
        "noise": causes is None and row["anything"] > 0.05,
        "one rule": of_one and row["one, no proxy"] < 0.95,
    }
    return ", ".join(name for name, miss in misses.items() if miss)


# ---------------------------------------------------------------- additions

ADDITIONS = (A_AND_B, NESTED, BESIDE, PER_LEVEL, FIVE)
MOST = 0.06


def additions(n_tables: int, seed: int, threads: int = 1) -> Iterator[Row]:
    yield from (one_addition(truth, numeric, n_tables, seed) for numeric in (False, True) for truth in ADDITIONS)


def one_addition(truth: Truth, numeric: bool, n_tables: int, seed: int) -> Row:
    lists = [listed(truth, SIZES[0], seed + 1, place, numeric)[0] for place in range(n_tables)]
    found = {place: wrong for place, rules in enumerate(lists) if (wrong := additions_of_nothing(truth, rules))}
    row: Row = {"truth": truth.name, "target": "numeric" if numeric else "binary", "tables": n_tables}
    longer = statistics.fmean(len(rules) > 1 for rules in lists)
    return row | {"two or more": longer, "nothing": len(found) / n_tables, "rules": found}


def additions_section(rows: Sequence[Row]) -> str:
    lines = []
    for row in rows:
        shares, miss = (share(row["two or more"]), share(row["nothing"])), "yes" if row["nothing"] > MOST else ""
        lines.append([row["truth"], row["target"], row["tables"], *shares, miss])
    columns = ["truth", "target", "tables", "two rules or more", "one that adds nothing", "missed"]
    n_tables, wrong = sum(row["tables"] for row in rows), sum(len(row["rules"]) for row in rows)
    together = f"All together: {wrong} of {integer(n_tables)} lists ({share(wrong / n_tables)})."
    return f"{table(columns, lines, text_columns=2)}\n\n{together}"


# ---------------------------------------------------------------- second cause


def second(n_tables: int, seed: int, threads: int = 1) -> Iterator[Row]:
    columns = [set().union(*named(listed(BESIDE, SIZES[0], seed + 2, place)[0])) for place in range(n_tables)]
    first, other = (statistics.fmean(cause in each for each in columns) for cause in BESIDE.causes)
    yield {"n": SIZES[0], "tables": n_tables, "first": first, "second": other}


def second_section(rows: Sequence[Row]) -> str:
    columns = ["rows", "tables", "cause of 30 listed", "cause of 12 listed"]
    return table(columns, [[integer(r["n"]), r["tables"], share(r["first"]), share(r["second"])] for r in rows])


# ---------------------------------------------------------------- the paper's tables

LIMIT, FEWEST = 300.0, 100


def tables(n_tables: int, seed: int, threads: int = 2) -> Iterator[Row]:
    """Run the first `n_tables` tables of the paper, all by default, small ones first."""
    if (folder := data_folder()) is None:
        return say("skipped: no folder of KEEL files at ../shared/data; give one by CAUSALRULES_DATA")
    for experiment in sorted(EXPERIMENTS, key=lambda each: each.n_rows * each.n_actionable)[:n_tables]:
        data = load(experiment, folder)
        every = outcomes(data[experiment.target].to_pylist())
        yield from (one_table(experiment, data, outcome, threads) for outcome, n in every if n >= FEWEST)


def one_table(experiment: Experiment, data: Any, outcome: Any, threads: int) -> Row:
    """Search a list of ten for one outcome; wall-clock seconds from data frame to rules, and CPU seconds."""
    wall, work = time.perf_counter(), time.process_time()
    options: dict[str, Any] = {"k": 10, "n_jobs": threads, "time_limit": LIMIT, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rules = cr.discover(data, experiment.target, outcome, experiment.control, **options)
    row: Row = {"table": experiment.name, "outcome": str(outcome), "n": rules.n_rows}
    return row | {
        "rules": len(rules.findings),
        "steps": len(rules.steps),
        "optimal": rules.optimal and all(step.optimal for step in rules.steps),
        "seconds": time.perf_counter() - wall,
        "search": rules.seconds,
        "processor": time.process_time() - work,
        "nodes": rules.nodes,
        "by step": [[step.strata, step.nodes, round(step.seconds, 3)] for step in rules.steps],
    }


def tables_section(rows: Sequence[Row]) -> str:
    lines = []
    for name in dict.fromkeys(row["table"] for row in rows):
        each = [row for row in rows if row["table"] == name]
        limit = 30 if name == "kddcup" else 10
        late = [row["outcome"] for row in each if not row["optimal"] or row["seconds"] > limit]
        slowest, n_rules = max(each, key=lambda row: row["seconds"]), [row["rules"] for row in each]
        found = [len(each), f"{min(n_rules)}–{max(n_rules)}", sum(row["optimal"] for row in each)]
        median = duration(statistics.median(row["seconds"] for row in each))
        worst = [f"{duration(slowest['seconds'])} ({slowest['outcome']})", duration(slowest["search"])]
        lines.append([name, integer(slowest["n"]), *found, median, *worst, ", ".join(late)])
    columns = ["table", "rows", "outcomes", "rules", "proven", "median", "slowest", "of which search", "missed"]
    return table(columns, lines)


# ---------------------------------------------------------------- running

Measure = Callable[[int, int, int], Iterator[Row]]
PARTS: dict[str, tuple[int, Measure, Callable[[Sequence[Row]], str]]] = {
    "truths": (50, truths, truths_section),
    "additions": (200, additions, additions_section),
    "second": (100, second, second_section),
    "tables": (len(EXPERIMENTS), tables, tables_section),
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--tables", type=int, help="tables of a cell; of `tables`, how many of the paper's")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2, help="of `tables`; the others take one")
    parser.add_argument("--print", action="store_true", help="measure nothing, print the results there are")
    given = parser.parse_args(arguments)
    n_tables, measure, section = PARTS[given.part]
    path = RESULTS / f"ladder-{given.part}.json"
    if not given.print:
        about, rows = {**machine(), "seed": given.seed}, []
        for row in measure(given.tables or n_tables, given.seed, given.threads):
            rows.append(row)
            write(path, about, rows)
            say(json.dumps(row, ensure_ascii=False))
    if path.exists():
        print(section(json.loads(path.read_text(encoding="utf-8"))["rows"]))


if __name__ == "__main__":
    main()
