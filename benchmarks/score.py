"""Reliability of the score: false findings in noise, power, and cost compared with the paper's score.

`python benchmarks/score.py [noise|power|cost|tail|limits|named …] [--tables N] [--print]` writes results as they
arrive to benchmarks/results/score-*.json and prints them as Markdown. Times are CPU seconds of one thread, so that a
busy machine matters less.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path[:1] = [str(ROOT)]  # instead of this folder, whose modules are imported as benchmarks.…

from paper.keel import EXPERIMENTS, Experiment, data_folder, load  # noqa: E402

from benchmarks.measuring import Row, machine, say, write  # noqa: E402
from benchmarks.wording import integer, ratio, table  # noqa: E402
from causalrules.data.reading import read  # noqa: E402
from causalrules.language.roles import resolve  # noqa: E402
from causalrules.question import Question  # noqa: E402
from causalrules.search import run as search  # noqa: E402
from causalrules.search.adjusted import Adjusted, adjust  # noqa: E402
from causalrules.search.margins import betas  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Prepared:
    """A table ready for the search, and the question with its β."""

    problem: Adjusted
    question: Question

    def search(self, floor: float = -np.inf) -> search.Found:
        comparison = self.problem.comparison
        return search.run(self.problem.pack(), self.question, self.problem.n_rows, floor=floor, scale=comparison.scale)


def prepared(data: Any, question: Question) -> Prepared:
    """Prepare as discover() does, but without the rule nearest to standing out if none does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = read(data)
        roles = resolve(
            source, question.target, question.outcome, question.actionable, question.control, question.weights
        )
        problem = adjust(source, roles, question)
    if question.beta is None:
        by_length = betas(problem.language, question.max_length, question.error_rate)
        question = replace(question, beta=by_length if question.estimator == "pooled" else 2.0)  # type: ignore[arg-type]
    return Prepared(problem, question)


# ---------------------------------------------------------------- noise


@dataclass(frozen=True)
class Noise:
    """Tables in which no actionable column has an effect: within strata, the target does not depend on them.

    `target` is a probability, or the name of a distribution. Controls are confounders: they affect the target and
    the actionable columns. `gaps` is the missingness mechanism, `confounding` the strength of the control.
    """

    name: str
    n: int = 1000
    strata: int = 5
    target: float | str = 0.3
    length: int | None = 2
    numeric: int = 4
    few: int = 2
    text: int = 2
    categories: int = 4
    gaps: str = ""
    confounding: float = 1.0
    numeric_control: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    def draw(self, rng: Generator) -> tuple[Columns, Question]:
        n = self.n
        z = rng.integers(0, self.strata, n)
        level = self.confounding * rng.normal(size=self.strata)[z]
        columns: Columns = {}
        control: str | None = "z" if self.strata > 1 else None
        if self.numeric_control:
            # A continuous confounder: the confounding left within its bins is part of the test.
            level = rng.normal(size=n) * self.confounding
            columns["z"], control = level.copy(), "z"
        elif control:
            columns["z"] = z.astype(str)
        for place in range(self.numeric):
            columns[f"x{place}"] = rng.normal(size=n) + 0.5 * level
        for place in range(self.few):
            columns[f"i{place}"] = np.clip(np.round(rng.normal(size=n) + 0.5 * level), -2, 2)
        for place in range(self.text):
            scores = rng.gumbel(size=(n, self.categories))
            scores += 0.5 * level[:, None] * np.linspace(-1, 1, self.categories)
            names = np.array(list("abcd") if self.categories == 4 else [f"v{name}" for name in range(self.categories)])
            columns[f"c{place}"] = names[scores.argmax(axis=1)]
        if "reference" in self.options:
            arms = rng.gumbel(size=(n, 3)) + 0.5 * level[:, None] * np.linspace(-1, 1, 3)
            columns["arm"] = np.array(["placebo", "low", "high"])[arms.argmax(axis=1)]
        columns["y"] = _target(rng, self.target, level)
        _punch(rng, columns, self.gaps, level)
        options: dict[str, Any] = {"k": 1, "max_length": self.length, "n_jobs": 1, **self.options}
        if not isinstance(self.target, str):
            options.setdefault("outcome", 1)
        return columns, Question("y", control=control, **options)


def _target(rng: Generator, kind: float | str, level: NDArray[Any]) -> Any:
    n = len(level)
    match kind:
        case "normal":
            return rng.normal(size=n) + level
        case "lognormal":
            return np.exp(1.5 * rng.normal(size=n) + 0.5 * level)
        case "lognormal, σ = 2":
            return np.exp(2 * rng.normal(size=n) + 0.5 * level)
        case "97 % zeros":
            return np.where(rng.random(n) < 0.97, 0.0, np.exp(rng.normal(size=n) + 0.5 * level))
        case "Pareto":
            return rng.pareto(1.5, size=n) * np.exp(0.3 * level)
        case "student t":
            return rng.standard_t(1.5, size=n) + level
        case "counts":
            return np.where(rng.random(n) < 0.8, 0, rng.poisson(3 * np.exp(0.3 * level))).astype(float)
        case "five values":
            return np.clip(np.round(2 + rng.normal(size=n) + 0.5 * level), 0, 4)
        case "outlier":
            found = rng.normal(size=n) + level
            found[rng.integers(n)] = 1e6
            return found
    rate = float(kind)
    odds = rate / (1 - rate) * np.exp(level)
    happens = rng.random(n) < odds / (1 + odds)
    happens[:2] = [True, False]  # an outcome that never occurs is rejected
    return happens.astype(int)


def _punch(rng: Generator, columns: Columns, gaps: str, level: NDArray[Any]) -> None:
    """Make values of every second actionable column missing."""
    if not gaps:
        return
    n = len(level)
    names = [name for name in columns if name not in ("y", "z", "arm")][::2]
    driver = columns.get("x1", level)
    for name in names:
        if gaps == "at random":
            lost = rng.random(n) < 0.2
        elif gaps == "by other columns":
            lost = rng.random(n) < 1 / (1 + np.exp(1 - 2 * driver - level))
        else:  # by its own value
            own = columns[name]
            lost = (rng.random(n) < 0.5) & ((own > 0) if own.dtype.kind == "f" else (own == "a"))
        values = columns[name].astype(object)
        values[lost] = None
        columns[name] = values if columns[name].dtype.kind != "f" else np.where(lost, np.nan, columns[name])


REFERENCE = {"reference": {"arm": "placebo"}, "actionable": "arm"}
DECREASE = {"direction": "decrease"}
SHAPES = (
    Noise("outcome 1 %, 1 stratum", strata=1, target=0.01),
    Noise("outcome 1 %, 20 strata, length 3", n=2000, strata=20, target=0.01, length=3),
    Noise("outcome 5 %, 5 strata", target=0.05),
    Noise("outcome 30 %, 1 stratum, length 3", n=500, strata=1, length=3),
    Noise("outcome 30 %, 5 strata, length 1", length=1),
    Noise("outcome 30 %, 20 strata, length 3", n=2000, strata=20, length=3),
    Noise("outcome 30 %, 50 strata of 20 rows", strata=50),
    Noise("outcome 30 %, 200 strata of 10 rows", n=2000, strata=200),
    Noise("outcome 30 %, 200 strata of 2 rows", n=400, strata=200),
    Noise("outcome 95 %, 5 strata", target=0.95),
    Noise("outcome 95 %, 200 strata of 5 rows", strata=200, target=0.95),
    Noise("60 rows, 1 stratum, length 3", n=60, strata=1, length=3),
    Noise("60 rows, 5 strata, length 2", n=60),
    Noise("60 rows, outcome 5 %, length 3", n=60, strata=1, target=0.05, length=3),
    Noise("strong confounding, 5 strata", n=2000, confounding=3.0),
    Noise("numeric control, confounded", n=2000, numeric_control=True),
    Noise("numeric control, strongly confounded", n=2000, numeric_control=True, confounding=2.0),
    Noise("few distinct values only", numeric=0, few=8, text=0, length=3),
    Noise("20 texts, length 2", numeric=0, few=0, text=20),
    Noise("no length limit", n=200, numeric=2, few=1, text=2, length=None),
    Noise("missing at random", gaps="at random", length=2),
    Noise("missing by other columns", gaps="by other columns", length=2),
    Noise("missing by own value, 20 strata", gaps="own", strata=20, length=2),
    Noise("missing at random, outcome 1 %", gaps="at random", target=0.01, n=2000),
    Noise("missing as false", gaps="by other columns", options={"missing": "false"}),
    Noise("normal target", target="normal"),
    Noise("normal target, 50 strata", target="normal", strata=50),
    Noise("normal target, 60 rows", target="normal", n=60, strata=1),
    Noise("lognormal target", target="lognormal"),
    Noise("lognormal target, decrease", target="lognormal", options=DECREASE),
    Noise("Student t target, 1.5 degrees", target="student t"),
    Noise("one huge outlier", target="outlier", n=300),
    Noise("counts with 80 % zeros", target="counts"),
    Noise("counts, missing by other columns", target="counts", gaps="by other columns"),
    Noise("five values", target="five values", strata=20),
    Noise("reference arm, outcome 30 %", options=REFERENCE),
    Noise("reference arm, outcome 5 %, 20 strata", target=0.05, strata=20, options=REFERENCE),
    Noise("reference arm, lognormal, missing", target="lognormal", gaps="at random", options=REFERENCE),
    Noise("decrease, outcome 30 %", options=DECREASE),
    Noise("decrease, outcome 5 %, 50 strata", target=0.05, strata=50, options=DECREASE),
    Noise("lognormal target, σ = 2", target="lognormal, σ = 2"),
    Noise("lognormal target, σ = 2, 20 strata", target="lognormal, σ = 2", strata=20, n=2000),
    Noise("target of 97 % zeros", target="97 % zeros"),
    Noise("target of 97 % zeros, 20 strata", target="97 % zeros", strata=20, n=2000),
    Noise("Pareto target", target="Pareto"),
    Noise("Pareto target, 60 rows", target="Pareto", n=60, strata=1),
    Noise("outcome 1 %, 100 strata", n=5000, strata=100, target=0.01),
    Noise("outcome 1 %, 300 rows", n=300, strata=1, target=0.01),
    Noise("outcome 99 %, 20 strata", n=2000, strata=20, target=0.99),
    Noise("200 categories", n=2000, numeric=2, few=0, text=2, categories=200),
    Noise("200 categories, outcome 5 %", n=2000, numeric=2, few=0, text=2, categories=200, target=0.05),
    Noise("100 strata, strongly confounded", n=3000, strata=100, confounding=3.0),
    Noise("500 strata of 4 rows, strongly confounded", n=2000, strata=500, confounding=2.0),
    Noise("normal target, 200 strata of 5 rows", target="normal", strata=200),
)


def noise_above(shape: Noise, seed: int) -> bool:
    """Is any rule above 0 on a table of noise? Searches with a minimum value of 0, which is fast."""
    columns, question = shape.draw(np.random.default_rng([seed, SHAPES.index(shape)] if shape in SHAPES else seed))
    found = prepared(columns, question).search(floor=0.0)
    return bool(found.rules) and found.rules[0][0] > 0


def _one_shape(place: int, n_tables: int, patience: float) -> Row:
    shape, start, above, done = SHAPES[place], time.perf_counter(), 0, 0
    while done < n_tables and (done < 20 or time.perf_counter() - start < patience):
        above += noise_above(shape, done)
        done += 1
    return {
        "shape": shape.name,
        "n": shape.n,
        "strata": "numeric" if shape.numeric_control else shape.strata,
        "target": shape.target,
        "max_length": shape.length,
        "tables": done,
        "above": above,
        "seconds": round(time.perf_counter() - start, 1),
    }


def noise(n_tables: int, patience: float) -> list[Call]:
    return [Call(_one_shape, (place, n_tables, patience)) for place in range(len(SHAPES))]


def noise_section(rows: Sequence[Row]) -> str:
    shown = table(
        ["noise", "rows", "strata", "max_length", "tables", "with a rule above 0"],
        [[r["shape"], integer(r["n"]), r["strata"], r["max_length"] or "none", r["tables"], above(r)] for r in rows],
    )
    total, beyond = sum(r["tables"] for r in rows), sum(r["above"] for r in rows)
    return f"{shown}\n\nAll shapes together: {beyond} of {integer(total)} tables."


def above(row: Row) -> str:
    return f"{row['above']} ({100 * row['above'] / row['tables']:.1f} %)"


# ---------------------------------------------------------------- power

BINS = 8
METHODS: dict[str, dict[str, Any]] = {
    "reliable β = 2": {"estimator": "reliable", "beta": 2.0},
    "pooled β = 2": {"estimator": "pooled", "beta": 2.0},
    "pooled": {"estimator": "pooled"},
}
STRATA = (1, 2, 20, 100, 500)
# Name, base rate, effect and rows; rules of up to three conditions, two of which are right.
EFFECTS = (
    ("+0.12", 0.35, 0.12, 5000),
    ("+0.15", 0.35, 0.15, 5000),
    ("+0.20", 0.35, 0.20, 2000),
    ("+0.30", 0.35, 0.30, 2000),
    ("2 % → 12 %", 0.02, 0.10, 5000),
)
CUT = (3, 4)  # x0 ≥ 3/8 and x1 ≤ 4/8: about a third of the rows


def planted(rng: Generator, n: int, strata: int, base: float, effect: float) -> Columns:
    """Ten numeric columns in eighths, the first two with a joint effect, and a confounder.

    Strata change the base rate by up to a third of it, and the columns by up to an eighth.
    """
    z = rng.integers(0, strata, n)
    level = np.linspace(-1, 1, strata)[z] if strata > 1 else np.zeros(n)
    columns: Columns = {}
    for place in range(10):
        eighths = np.floor(BINS * rng.random(n) + level * rng.random(n))
        columns[f"x{place}"] = np.clip(eighths, 0, BINS - 1)
    holds = (columns["x0"] >= CUT[0]) & (columns["x1"] < CUT[1])
    p = base * (1 + level / 3) + effect * holds
    columns["y"] = (rng.random(n) < p).astype(int)
    if strata > 1:
        columns["z"] = z.astype(str)
    return columns


def is_planted(conditions: Iterable[Any]) -> bool:
    """Is it the planted rule up to one cut point: x0 ≥ 3 ± 1 and x1 ≤ 3 ± 1, and nothing else?"""
    found = {(each.column, each.operator): float(each.value) for each in conditions}
    return (
        len(found) == 2
        and abs(found.get(("x0", ">="), np.inf) - CUT[0]) <= 1
        and abs(found.get(("x1", "<="), np.inf) - (CUT[1] - 1)) <= 1
    )


def _one_cell(effect: int, strata: int, n_tables: int, patience: float) -> Row:
    name, base, size, n = EFFECTS[effect]
    row: Row = {"effect": name, "n": n, "strata": strata, "tables": 0}
    for method in METHODS:
        row[method] = {"above": 0, "planted": 0, "both": 0, "length": 0, "cpu": 0.0}
    start = time.perf_counter()
    while row["tables"] < n_tables and (row["tables"] < 10 or time.perf_counter() - start < patience):
        rng = np.random.default_rng([effect, strata, row["tables"]])
        columns = planted(rng, n, strata, base, size)
        row["tables"] += 1
        for method, options in METHODS.items():
            control = "z" if strata > 1 else None
            ready = prepared(columns, Question("y", 1, control, k=1, max_length=3, n_jobs=1, **options))
            clock = time.process_time()
            value, rule = ready.search().rules[0]
            cell = row[method]
            cell["cpu"] += time.process_time() - clock
            conditions = [ready.problem.language.propositions[place] for place in rule]
            cell["above"] += value > 0
            cell["planted"] += is_planted(conditions)
            cell["both"] += value > 0 and is_planted(conditions)
            cell["length"] += len(conditions)
    return row


def power(n_tables: int, patience: float) -> list[Call]:
    return [
        Call(_one_cell, (effect, strata, n_tables, patience)) for strata in STRATA for effect in range(len(EFFECTS))
    ]


def power_section(rows: Sequence[Row]) -> str:
    def each(row: Row, what: str) -> str:
        return " / ".join(f"{100 * row[method][what] / row['tables']:.0f}" for method in METHODS) + " %"

    def lengths(row: Row) -> str:
        return " / ".join(f"{row[method]['length'] / row['tables']:.1f}" for method in METHODS)

    order = [name for name, *_ in EFFECTS]
    ordered = sorted(rows, key=lambda row: (order.index(row["effect"]), row["strata"]))
    columns = [
        "effect",
        "rows",
        "strata",
        "tables",
        "above 0",
        "planted on top",
        "planted on top and above 0",
        "length",
    ]
    return f"{' / '.join(METHODS)} (default β):\n\n" + table(
        columns,
        [
            [
                row["effect"],
                integer(row["n"]),
                row["strata"],
                row["tables"],
                each(row, "above"),
                each(row, "planted"),
                each(row, "both"),
                lengths(row),
            ]
            for row in ordered
        ],
    )


# ---------------------------------------------------------------- cost

LIMIT = 60.0


def _one_table(name: str) -> Row:
    experiment = next(each for each in EXPERIMENTS if each.name == name)
    folder = data_folder()
    assert folder is not None
    data = load(experiment, folder)
    values, counts = np.unique([v for v in data[experiment.target].to_pylist() if v is not None], return_counts=True)
    row: Row = {"table": name, "outcome": str(values[counts.argmax()])}
    row["n"] = data.num_rows
    for method in ("reliable β = 2", "pooled"):
        question = Question(
            experiment.target,
            values[counts.argmax()].item(),
            [experiment.control],
            k=10,
            max_length=4,
            n_jobs=1,
            time_limit=LIMIT,
            **METHODS[method],
        )
        row[method] = _timed(prepared(data, question))
    return row


def _timed(ready: Prepared) -> Row:
    packed = ready.problem.pack()
    cpu = time.process_time()
    scale = ready.problem.comparison.scale
    found = search.run(packed, ready.question, ready.problem.n_rows, scale=scale)
    return {
        "nodes": found.progress.nodes,
        "cpu": time.process_time() - cpu,
        "optimal": found.optimal,
        "best": found.rules[0][0],
        "length": len(found.rules[0][1]),
    }


def _one_target(case: str) -> Row:
    """Search the mean of a target in up to 32 levels, and a threshold on it as a binary outcome, on the same table."""
    if case == "adult: hours per week":
        folder = data_folder()
        assert folder is not None
        data = load(next(each for each in EXPERIMENTS if each.name == "adult"), folder)
        target, outcome, control, length = "Hours-per-week", ">= 41", ["Sex"], 4
    else:
        rng = np.random.default_rng(0)
        data = {f"x{place}": rng.random(20_000) for place in range(10)}
        data["z"] = rng.integers(0, 5, 20_000).astype(str)
        data["y"] = rng.normal(size=20_000) + 0.3 * ((data["x0"] >= 0.4) & (data["x1"] <= 0.5))
        target, outcome, control, length = "y", ">= 0", ["z"], 3
    row: Row = {"table": case}
    for kind, wanted in (("binary", outcome), ("levels", None)):
        ready = prepared(data, Question(target, wanted, control, k=10, max_length=length, n_jobs=1, time_limit=LIMIT))
        row[kind] = {**_timed(ready), "n_levels": len(ready.problem.comparison.values)}
    return row


TARGETS = ("adult: hours per week", "10 numeric columns, 20,000 rows")


def cost(n_tables: int, patience: float) -> list[Call]:
    if data_folder() is None:
        say("no folder of KEEL files; give it by CAUSALRULES_DATA")
        return []
    small_first = sorted(EXPERIMENTS, key=_size)
    return [Call(_one_target, (case,)) for case in TARGETS] + [Call(_one_table, (e.name,)) for e in small_first]


def _size(experiment: Experiment) -> int:
    return experiment.n_rows * experiment.n_actionable


def cost_section(rows: Sequence[Row]) -> str:
    tables = [row for row in rows if "pooled" in row]
    ours, theirs = ([row[method] for row in tables] for method in ("pooled", "reliable β = 2"))

    def line(name: str, reliable: Row, pooled: Row) -> list[str]:
        shown = [f"{'' if one['optimal'] else '> '}{one['cpu']:.3f}" for one in (reliable, pooled)]
        return [
            name,
            integer(reliable["nodes"]),
            integer(pooled["nodes"]),
            ratio(pooled["nodes"] / max(reliable["nodes"], 1)),
            *shown,
            ratio(pooled["cpu"] / reliable["cpu"]),
            f"{reliable['length']} / {pooled['length']}",
        ]

    def total(of: Sequence[Row]) -> Row:
        return {key: sum(row[key] for row in of) for key in ("nodes", "cpu", "length")} | {
            "optimal": all(row["optimal"] for row in of)
        }

    lines = [line(f"{r['table']} ({r['outcome']})", r["reliable β = 2"], r["pooled"]) for r in tables]
    lines.append(line("**all**", total(theirs), total(ours)))
    columns = [
        "table",
        "nodes, reliable",
        "pooled",
        "ratio",
        "CPU s, reliable",
        "pooled",
        "ratio",
        "conditions of the first rule",
    ]
    levels = table(
        [
            "table",
            "levels",
            "CPU s, binary",
            "CPU s, levels",
            "ratio",
            "nodes, binary",
            "nodes, levels",
            "CPU per node",
        ],
        [
            [
                r["table"],
                r["levels"]["n_levels"],
                f"{r['binary']['cpu']:.3f}",
                f"{'' if r['levels']['optimal'] else '> '}{r['levels']['cpu']:.3f}",
                ratio(r["levels"]["cpu"] / r["binary"]["cpu"]),
                integer(r["binary"]["nodes"]),
                integer(r["levels"]["nodes"]),
                ratio(r["levels"]["cpu"] / r["levels"]["nodes"] / (r["binary"]["cpu"] / r["binary"]["nodes"])),
            ]
            for r in rows
            if "levels" in r
        ],
    )
    return f"{table(columns, lines)}\n\n{levels}"


# ---------------------------------------------------------------- tail

CHANCES = (0.05, 0.01, 0.002)
DRAWS = 40_000


def _margins(k: Any, f: Any, weight: Any, variance: Any, span: Any) -> list[float]:
    """Return Bernstein's margin at each error rate."""
    q = 1 / (k + 2) + 1 / (f + 2)
    total, reach = np.sum(weight**2 * variance * q), np.max(weight * span * q)
    squares = [-2 * np.log(chance) for chance in CHANCES]
    return [float(b2 * reach / 6 + np.sqrt((b2 * reach / 6) ** 2 + b2 * total)) for b2 in squares]


def _exact_tail(n: int) -> Row:
    """Return the largest exact probability of a null rule to exceed its margin, over every table of one stratum."""
    worst = [0.0] * len(CHANCES)
    log_factorial = np.cumsum(np.log(np.maximum(np.arange(n + 1), 1)))

    def choose(of: Any, chosen: Any) -> Any:
        return log_factorial[of] - log_factorial[chosen] - log_factorial[of - chosen]

    for happens in range(1, n):
        for k in range(1, n):
            s = np.arange(max(0, k + happens - n), min(k, happens) + 1)
            chance = np.exp(choose(happens, s) + choose(n - happens, k - s) - choose(n, k))
            mean = happens / n
            effect = (s - k * mean) * (1 / (k + 2) + 1 / (n - k + 2))
            margins = _margins(np.array([k]), np.array([n - k]), np.array([1.0]), mean * (1 - mean), 1.0)
            worst = [max(w, float(chance[effect > m - 1e-12].sum())) for w, m in zip(worst, margins, strict=True)]
    return {"case": "outcome (exact, every table)", "n": n, "worst": worst}


def _drawn_tail(kind: str, n: int, strata: int, seed: int) -> Row:
    """The same by simulation for other targets: the maximum over several shares of covered rows."""
    rng = np.random.default_rng([n, strata, seed])
    worst = [0.0] * len(CHANCES)
    n_draws = max(DRAWS // strata, 8_000)
    for share in (0.02, 0.1, 0.3, 0.5, 0.9):
        effects, parts = np.zeros(n_draws), []
        for _ in range(strata):
            y = _population(rng, kind, n)
            k = min(max(1, round(share * n)), n - 1)
            f = n - k
            covered = rng.permuted(np.broadcast_to(y, (n_draws, n)), axis=1)[:, :k].sum(axis=1)
            effects += (covered - k * y.mean()) * (1 / (k + 2) + 1 / (f + 2)) / strata
            parts.append((k, f, 1 / strata, y.var(), np.ptp(y)))
        margins = _margins(*(np.array(column) for column in zip(*parts, strict=True)))
        worst = [max(w, float((effects > m).mean())) for w, m in zip(worst, margins, strict=True)]
    return {"case": kind, "n": n, "strata": strata, "draws": n_draws, "worst": worst}


def _population(rng: Generator, kind: str, n: int) -> NDArray[Any]:
    match kind:
        case "lognormal":
            return np.exp(1.5 * rng.normal(size=n))
        case "minus lognormal":
            return -np.exp(1.5 * rng.normal(size=n))
        case "one outlier":
            return np.where(np.arange(n) == 0, 100.0, rng.normal(size=n))
    return rng.normal(size=n)


def tail(n_tables: int, patience: float) -> list[Call]:
    exact = [Call(_exact_tail, (n,)) for n in (2, 3, 5, 10, 20, 40, 80)]
    kinds = ("normal", "lognormal", "minus lognormal", "one outlier")
    return exact + [
        Call(_drawn_tail, (kind, n, strata, place))
        for place, kind in enumerate(kinds)
        for n, strata in ((4, 1), (12, 1), (60, 1), (400, 1), (4, 10), (12, 10))
    ]


def tail_section(rows: Sequence[Row]) -> str:
    cases = list(dict.fromkeys(row["case"] for row in rows))
    lines = []
    for case in cases:
        worst = np.max([row["worst"] for row in rows if row["case"] == case], axis=0)
        lines.append([case, *(f"{100 * w:.2f} %" for w in worst)])
    return table(["target", *(f"promised {100 * chance:g} %" for chance in CHANCES)], lines)


# ---------------------------------------------------------------- limits


def _missing_by_outcome(rng: Generator, n: int, strata: int, rate: float, lost: float) -> tuple[Columns, Question]:
    """Draw a column without effect, missing only in rows without the outcome, and in most of these."""
    y = (rng.random(n) < rate).astype(int)
    x = np.where(rng.random(n) < (0.5 if strata == 1 else 0.8), "a", "b").astype(object)
    x[(y == 0) & (rng.random(n) < lost)] = None
    columns = {"x": x, "z": rng.integers(0, strata, n).astype(str), "y": y}
    return columns, Question("y", 1, "z" if strata > 1 else None, ["x"], max_length=1)


def _missing_in_one_of_two(rng: Generator, n: int) -> tuple[Columns, Question]:
    """Draw two columns without effect, one of them missing for most rows without the outcome.

    Rows where the other condition fails are decided, whether the first is missing or not; where it holds, most rows
    without the outcome are undecided.
    """
    y = (rng.random(n) < 0.3).astype(int)
    b = rng.choice(["a", "b"], n).astype(object)
    b[(y == 0) & (rng.random(n) < 0.5)] = None
    return {"a": rng.choice(["a", "b"], n), "b": b, "y": y}, Question("y", 1, None, ["a", "b"], max_length=2)


def _missing_by_both(rng: Generator, n: int) -> tuple[Columns, Question]:
    """Draw a column without effect, one value of which is missing in half of the rows without the outcome."""
    y = (rng.random(n) < 0.3).astype(int)
    x = rng.choice(["a", "b"], n).astype(object)
    x[(y == 0) & (x == "a") & (rng.random(n) < 0.5)] = None
    return {"x": x, "y": y}, Question("y", 1, None, ["x"], max_length=1)


def _other_arms(rng: Generator, big: bool) -> tuple[Columns, Question]:
    """Draw an arm identical to the reference, and a third one that is harmful."""
    if big:
        arm = rng.choice(["placebo", "same", "harm"], 10_000, p=[0.02, 0.02, 0.96])
        z = np.full(10_000, "0")
        y = np.where(arm == "harm", 0, rng.random(10_000) < 0.5)
    else:
        arm = np.tile(np.array(["placebo"] + ["same"] * 8 + ["harm"] * 6), 100)
        z = np.repeat(np.arange(100), 15).astype(str)
        y = rng.random(1500) < np.where(arm == "harm", 0.05, 0.6)
    control = None if big else "z"
    question = Question("y", 1, control, ["arm"], reference={"arm": "placebo"}, max_length=1)
    return {"arm": arm, "z": z, "y": y.astype(int)}, question


def _binned(rng: Generator, bins: int | None) -> tuple[Columns, Question]:
    options = {"control_bins": bins}
    shape = Noise(
        "", 20_000, length=1, numeric=2, few=0, text=0, numeric_control=True, confounding=2.0, options=options
    )
    return shape.draw(rng)


LIMITS: dict[str, tuple[int, Callable[[Generator], tuple[Columns, Question]]]] = {
    "missing by the outcome, 1 stratum": (200, lambda rng: _missing_by_outcome(rng, 10_000, 1, 0.02, 0.98)),
    "missing by the outcome, 400 strata of 10 rows": (50, lambda rng: _missing_by_outcome(rng, 4_000, 400, 0.4, 0.8)),
    "missing by the outcome, rules of two conditions": (20, lambda rng: _missing_in_one_of_two(rng, 2_000)),
    "missing by the outcome and its own value": (20, lambda rng: _missing_by_both(rng, 2_000)),
    "arm like the reference, another harmful, 1 stratum": (200, lambda rng: _other_arms(rng, True)),
    "arm like the reference, another harmful, 100 strata": (50, lambda rng: _other_arms(rng, False)),
    "numeric confounder, 20,000 rows, default bins": (20, lambda rng: _binned(rng, None)),
    "numeric confounder, 20,000 rows, 4 bins": (20, lambda rng: _binned(rng, 4)),
}
# The same noise with β = 2 shows whether this search finds rules above 0 at all.
CONTROLS = ("outcome 30 %, 5 strata, length 1", "missing at random", "lognormal target")


def _one_limit(name: str) -> Row:
    n_tables, draw = LIMITS[name]
    above = 0
    for seed in range(n_tables):
        columns, question = draw(np.random.default_rng(seed))
        found = prepared(columns, replace(question, k=1, n_jobs=1)).search(floor=0.0)
        above += bool(found.rules) and found.rules[0][0] > 0
    return {"case": name, "tables": n_tables, "above": above}


def _one_control(name: str) -> Row:
    shape = next(each for each in SHAPES if each.name == name)
    shape = replace(shape, options={**shape.options, "beta": 2.0})
    return {"case": f"noise with β = 2: {name}", "tables": 20, "above": sum(noise_above(shape, i) for i in range(20))}


def limits(n_tables: int, patience: float) -> list[Call]:
    return [Call(_one_limit, (name,)) for name in LIMITS] + [Call(_one_control, (name,)) for name in CONTROLS]


def limits_section(rows: Sequence[Row]) -> str:
    shown = [[row["case"], row["tables"], above(row)] for row in rows]
    return table(["no effect, but", "tables", "with a rule above 0"], shown)


# ---------------------------------------------------------------- named rules

NAMED = ("outcome", "normal", "lognormal", "counts")
COMPARED = ("all other rows", "missing at random", "missing by the outcome", "reference, another arm harmful")
NAMED_ROWS, SHUFFLES = 300, 99


def named_table(rng: Generator, kind: str, compared: str, effect: float) -> tuple[Columns, dict[str, Any]]:
    """Draw one arm with the same effect in each of three strata, which affect the target and the arm."""
    n = NAMED_ROWS
    z = rng.integers(0, 3, n)
    arms = np.array(["none", "drug", "other"] if "reference" in compared else ["none", "drug"])
    arm = arms[np.minimum((rng.random(n) * (len(arms) + 0.3 * z)).astype(int), len(arms) - 1)]
    if kind == "outcome":
        y = (rng.random(n) < 0.3 + 0.1 * z + effect * (arm == "drug") - 0.2 * (arm == "other")).astype(float)
    else:
        noise = {"normal": rng.normal(size=n), "lognormal": rng.lognormal(0, 1, n), "counts": rng.poisson(1.0, n)}
        y = noise[kind] + z + effect * (arm == "drug") - 2.0 * (arm == "other")
    values = arm.astype(object)
    if compared == "missing at random":
        values[rng.random(n) < 0.3] = None
    elif compared == "missing by the outcome":
        values[(y > np.median(y) - (kind == "outcome")) & (rng.random(n) < 0.5)] = None
    asked: dict[str, Any] = {"control": "z", **({"outcome": 1} if kind == "outcome" else {})}
    if "reference" in compared:
        asked["reference"] = {"arm": "none"}
    return {"arm": values, "z": z.astype(str), "y": y}, asked


def _one_named(kind: str, compared: str, effect: float, n_tables: int, patience: float) -> Row:
    """Return how often the 95 % interval of a named rule covers the truth; without effect, how often p ≤ 5 %."""
    import causalrules as cr

    start, done, inside, tested, significant = time.perf_counter(), 0, 0, 0, 0
    while done < n_tables and time.perf_counter() - start < patience:
        columns, asked = named_table(np.random.default_rng([done, len(kind), len(compared)]), kind, compared, effect)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rules = cr.evaluate(columns, "arm = drug", "y", **asked)
            inside += rules[0].interval.low <= effect <= rules[0].interval.high
            if effect == 0 and done % 3 == 0:
                shuffled = rules.significance(SHUFFLES, seed=done, n_jobs=1, progress=False)
                tested += 1
                significant += bool((shuffled[0].p_value or 0.0) <= 0.05)
        done += 1
    row: Row = {"target": kind, "compared": compared, "effect": effect, "tables": done, "inside": inside}
    return row | {"tested": tested, "significant": significant}


def named(n_tables: int, patience: float) -> list[Call]:
    return [
        Call(_one_named, (kind, compared, effect, 5 * n_tables, patience))
        for kind in NAMED
        for compared in COMPARED
        for effect in (0.0, 0.2)
        # Rows selected by the outcome do not show the population effect; only that there is none.
        if effect == 0 or compared != "missing by the outcome"
    ]


def named_section(rows: Sequence[Row]) -> str:
    shown = [
        [
            r["target"],
            r["compared"],
            f"{r['effect']:g}",
            integer(r["tables"]),
            f"{100 * r['inside'] / r['tables']:.1f} %",
            f"{100 * r['significant'] / r['tested']:.1f} % of {r['tested']}" if r["tested"] else "",
        ]
        for r in rows
    ]
    return table(["target", "compared", "effect", "tables", "95 % interval holds it", "p ≤ 5 %"], shown)


# ---------------------------------------------------------------- running


@dataclass(frozen=True)
class Call:
    """A function call to run in another process."""

    function: Callable[..., Row]
    arguments: tuple[Any, ...]

    def __call__(self) -> Row:
        return self.function(*self.arguments)


def _call(call: Call) -> Row:
    return call()


def _results(calls: Sequence[Any], jobs: int) -> Iterator[Row]:
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(_call, calls)


Parts = dict[str, tuple[Callable[..., Any], Callable[[Sequence[Row]], str]]]
PARTS: Parts = {
    "noise": (noise, noise_section),
    "power": (power, power_section),
    "cost": (cost, cost_section),
    "tail": (tail, tail_section),
    "limits": (limits, limits_section),
    "named": (named, named_section),
}


def main(arguments: list[str] | None = None, parts: Parts = PARTS, prefix: str = "score") -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(parts)}")
    parser.add_argument("--tables", type=int, default=200, help="tables of a shape of noise, or of a cell of power")
    parser.add_argument("--patience", type=float, default=600.0, help="seconds for a shape or cell; then fewer tables")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--strata", metavar="N,…", help=f"power: only some of {', '.join(map(str, STRATA))} strata")
    parser.add_argument("--print", action="store_true", help="measure nothing, print the results there are")
    given = parser.parse_args(arguments)
    if unknown := [name for name in given.parts if name not in parts]:
        parser.error(f"no part {unknown[0]!r}; the parts are {', '.join(parts)}")
    for name in given.parts or parts:
        measure, section = parts[name]
        path = RESULTS / f"{prefix}-{name}.json"
        if not given.print:
            about, rows, calls = machine(), [], measure(given.tables, given.patience)
            if name == "power" and given.strata:
                chosen = set(map(int, given.strata.split(",")))
                calls = [call for call in calls if call.arguments[1] in chosen]
                known = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
                rows = [row for row in known if row["strata"] not in chosen]
            for row in _results(calls, given.jobs):
                rows.append(row)
                write(path, about, rows)
                say(f"  {name} {len(rows)}/{len(calls)}: {json.dumps(row, ensure_ascii=False)}")
        if path.exists():
            print(f"## {name}\n\n{section(json.loads(path.read_text(encoding='utf-8'))['rows'])}\n")


if __name__ == "__main__":
    main()
