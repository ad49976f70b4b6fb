"""Measures every promise of docs/trust.md.

    python benchmarks/trust.py [--quick] [noise power coverage lalonde speed step-down]

Prints a Markdown table for each. The full run takes about 15 minutes on two cores.
"""

from __future__ import annotations

import csv
import itertools
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import causalrules as cr
from causalrules.estimators import intervals
from causalrules.text import percent
from causalrules.trust.calibration import calibrate
from causalrules.trust.repeat import exact

Columns = dict[str, Any]
# The figures were measured with the paper's estimator and comparison.
RELIABLE: dict[str, Any] = {
    "estimator": "reliable",
    "beta": 2.0,
    "missing": "false",
    "adjust": "strata",
    "control_bins": 4,
}
DATA = Path(os.environ.get("CAUSALRULES_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
LEVEL = 0.05


def draw(*numbers: int) -> np.random.Generator:
    """Return a random generator independent of the package's with the same seed."""
    return np.random.default_rng([20_210_429, *(1 + number for number in numbers)])


def table(heading: str, columns: list[str], rows: list[list[str]]) -> None:
    lines = [f"\n### {heading}\n", "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    print("\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]), flush=True)


def binomial_interval(hits: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's interval."""
    p, shrink = hits / n, 1 + z * z / n
    middle, reach = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (middle - reach) / shrink, (middle + reach) / shrink


def share(hits: int, n: int) -> str:
    low, high = binomial_interval(hits, n)
    return f"{hits} of {n} = {100 * hits / n:.1f} % ({100 * low:.1f}–{100 * high:.1f})"


# --- noise: the outcome depends on the control alone

SHAPES = {
    "10 numeric columns, n = 1,000": (1000, 10, 0),
    "10 numeric columns, n = 2,000": (2000, 10, 0),
    "6 numeric and 6 text columns, n = 1,000": (1000, 6, 6),
    "15 text columns, n = 2,000": (2000, 0, 15),
}


def noise_table(shape: str, confounded: bool, rng: np.random.Generator) -> Columns:
    """Draw a table where, within each stratum of z, nothing influences y; if confounded, z affects both x and y."""
    n, n_numeric, n_text = SHAPES[shape]
    z = rng.integers(0, 2, n)
    push = z if confounded else np.full(n, 0.5)
    columns: Columns = {"y": (rng.random(n) < 0.3 + 0.4 * push).astype(int), "z": z}
    for index in range(n_numeric):
        columns[f"x{index}"] = rng.random(n) + 0.5 * push
    for index in range(n_text):
        columns[f"t{index}"] = np.array(list("abcd"))[rng.binomial(3, 0.35 + 0.3 * push)]
    return columns


def noise(quick: bool) -> None:
    each = 4 if quick else 25
    rows, total = [], np.zeros(4, int)
    for shape, confounded in itertools.product(SHAPES, (False, True)):
        hits = np.zeros(4, int)
        for seed in range(each):
            columns = noise_table(shape, confounded, draw(seed, list(SHAPES).index(shape), confounded))
            rules = cr.discover(columns, "y", control="z", max_length=3, k=1, **RELIABLE)
            p_value = rules.significance(199, seed)[0].p_value
            assert rules.problem is not None
            assert p_value is not None
            # 39 permutations are as valid as 199, in a fifth of the time.
            calibrated = calibrate(rules.problem, exact(rules.question), permutations=39, seed=seed).value
            hits += [rules[0].value > 0, p_value <= LEVEL, calibrated is not None and calibrated > 0, 1]
        total += hits
        name = f"{shape}, {'z drives x and y' if confounded else 'no confounding'}"
        rows.append([name, *(f"{hit} of {hits[3]}" for hit in hits[:3])])
    rows.append(["**all**", *(f"**{share(int(hit), int(total[3]))}**" for hit in total[:3])])
    columns_ = ["tables of noise", "plain: top conservative effect > 0", "adjusted p ≤ 0.05", "calibrated β: top > 0"]
    table(
        "Noise: how often is something found where there is nothing? (rules of up to 3 conditions, one binary control)",
        columns_,
        rows,
    )


# --- power: one rule is planted


def planted_table(
    n: int, effect: float, conditions: int, rng: np.random.Generator
) -> tuple[Columns, NDArray[np.bool_]]:
    z = rng.integers(0, 2, n)
    columns: Columns = {f"x{index}": rng.random(n) + 0.2 * z for index in range(10)}
    rule = columns["x0"] >= 0.6
    if conditions == 2:
        rule &= columns["x1"] >= 0.4
    columns |= {"z": z, "y": (rng.random(n) < 0.2 + 0.3 * z + effect * rule).astype(int)}
    return columns, rule


def n_rules(n_propositions: int, max_length: int) -> int:
    return sum(math.comb(n_propositions, length) for length in range(1, max_length + 1))


def one_sided(rule: cr.RuleResult) -> float:
    found = intervals.estimate(*rule.measured.sides, population=True)
    return 1.0 if math.isnan(found.effect) else 0.5 * math.erfc(found.effect / found.standard_error / math.sqrt(2))


def power(quick: bool) -> None:
    repeats = 2 if quick else 10
    rows = []
    for conditions, effect, n in itertools.product((1, 2), (0.1, 0.2, 0.3), (500, 2000, 10000)):
        hits = np.zeros(5, int)
        for seed in range(repeats):
            columns, planted = planted_table(n, effect, conditions, draw(seed, n, conditions, round(10 * effect)))
            question: dict[str, Any] = {"target": "y", "control": "z", "max_length": 2, "k": 1, **RELIABLE}

            def found(rules: cr.RuleSet) -> bool:
                rows = rules[0].covers(columns)  # noqa: B023
                return bool(np.sum(rows & planted) >= 0.7 * np.sum(rows | planted))  # noqa: B023

            rules = cr.discover(columns, **question)
            half = cr.discover(columns, **question, holdout=0.5, seed=seed)
            assert rules.problem is not None
            beta = calibrate(rules.problem, exact(rules.question), permutations=59, seed=seed).beta
            calibrated = cr.discover(columns, **{**question, "beta": beta})
            p_value = rules.significance(99, seed)[0].p_value
            honest = half[0].evidence.honest.p_value  # type: ignore[union-attr]
            bonferroni = one_sided(rules[0]) * n_rules(rules.n_propositions, 2)
            hits += [
                found(rules),
                found(rules) and p_value is not None and p_value <= LEVEL,
                found(calibrated) and calibrated[0].value > 0,
                found(half) and honest is not None and honest <= LEVEL,
                found(rules) and bonferroni <= LEVEL,
            ]
        rows.append([str(conditions), str(effect), f"{n:,}", *(f"{100 * hit / repeats:.0f} %" for hit in hits)])
    columns_ = ["conditions", "effect", "n", "found (β = 2)", "and p ≤ 0.05", "calibrated β: found and > 0"]
    columns_ += ["holdout only", "Bonferroni"]
    table(f"Power: {repeats} tables each, 10 numeric columns, a control that confounds, ≤ 2 conditions", columns_, rows)


# --- coverage: the truth is known for every rule

LEVELS, N_COLUMNS = 3, 4


class Population:
    """z with 3 values, 4 columns with 3 values that depend on z, and y that depends on two of them and on z."""

    p_z = np.array([0.5, 0.3, 0.2])
    p_x = np.array([[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.2, 0.3, 0.5]])
    cells = np.array(list(itertools.product(range(LEVELS), repeat=N_COLUMNS)))

    def p_y(self, z: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
        p: NDArray[Any] = 0.25 + 0.15 * z + 0.12 * (x[..., 0] == 2) * (1 + 0.5 * (z == 0)) - 0.06 * (x[..., 1] == 0)
        return p

    def sample(self, n: int, rng: np.random.Generator) -> Columns:
        z = rng.choice(LEVELS, n, p=self.p_z)
        x = (rng.random((n, N_COLUMNS, 1)) > np.cumsum(self.p_x, axis=1)[z][:, None, :]).sum(axis=2)
        y = (rng.random(n) < self.p_y(z, x)).astype(int)
        text = np.array(list("abc"))
        return {**{f"x{index}": text[x[:, index]] for index in range(N_COLUMNS)}, "z": text[z], "y": y}

    def true_effect(self, rule: cr.RuleResult) -> float:
        """Return Σ_z p(z) (p(y | σ, z) − p(y | ¬σ, z)), from the 81 cells of each stratum."""
        covered = np.ones(len(self.cells), bool)
        for condition in rule.conditions:
            covered &= self.cells[:, int(condition.column[1])] == "abc".index(str(condition.value))
        effect = 0.0
        for z in range(LEVELS):
            p = np.prod(self.p_x[z][self.cells], axis=1)
            y = self.p_y(np.array(z), self.cells)
            sides = [np.sum(p[side] * y[side]) / np.sum(p[side]) for side in (covered, ~covered)]
            effect += self.p_z[z] * (sides[0] - sides[1])
        return effect


def coverage(quick: bool) -> None:
    simulations = 100 if quick else 1000
    population = Population()
    rows = []
    for n in (1000, 4000):
        honest_hits = naive_hits = count = 0
        biases = []
        for seed in range(simulations):
            columns = population.sample(n, draw(seed, n))
            rules = cr.discover(
                columns, "y", control="z", max_length=2, k=3, holdout=0.5, seed=seed, n_jobs=1, **RELIABLE
            )
            for rule in rules:
                truth = population.true_effect(rule)
                honest = rule.evidence.honest  # type: ignore[union-attr]
                low, high = rule.interval()
                assert honest is not None
                assert honest.low is not None
                assert honest.high is not None
                honest_hits += honest.low <= truth <= honest.high
                naive_hits += low <= truth <= high
                biases.append((honest.effect - truth, rule.effect - truth))  # type: ignore[operator]
                count += 1
        bias = np.mean(biases, axis=0)
        for name, hits, off in (("honest", honest_hits, bias[0]), ("naive", naive_hits, bias[1])):
            rows.append([f"{n:,}", name, share(hits, count), f"{off:+.4f}"])
    columns_ = ["n (half held out)", "interval", "covers the truth, nominal 95 %", "mean error of the effect"]
    table(f"Coverage: {simulations:,} simulations, the three best rules of each", columns_, rows)


# --- LaLonde: the experiment shows what the observational estimate should be

COVARIATES = ["age", "education", "black", "hispanic", "married", "nodegree", "re74", "re75"]


def lalonde_columns() -> tuple[Columns, Columns]:
    """Return the experiment, and its treated rows with survey rows in place of the experiment's controls."""

    def rows(name: str) -> Iterator[dict[str, float]]:
        with (DATA / "causal" / name).open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                yield {key: float(row[key]) for key in ("treat", "re78", *COVARIATES)}

    def columns(chosen: list[dict[str, float]]) -> Columns:
        return {key: [row[key] for row in chosen] for key in chosen[0]}

    experiment = list(rows("lalonde_nsw_dw.csv"))
    treated = [row for row in experiment if row["treat"] == 1]
    return columns(experiment), columns(treated + list(rows("lalonde_psid_controls.csv")))


def programme(columns: Columns, control: list[str]) -> tuple[cr.RuleSet, cr.RuleResult]:
    rules = cr.discover(columns, "re78", "> 0", control=control, actionable="treat", k=2, **RELIABLE)
    return rules, next(rule for rule in rules if rule.text == "treat = 1")


def lalonde(quick: bool) -> None:
    del quick
    if not (DATA / "causal").is_dir():
        print(f"LaLonde is left out: no folder {DATA / 'causal'}; set CAUSALRULES_DATA")
        return
    experiment, observed = lalonde_columns()
    rows = []
    for name, columns, control in (
        ("experiment", experiment, []),
        ("NSW treated + PSID controls, unadjusted", observed, []),
        ("NSW treated + PSID controls, adjusted for 8 covariates", observed, COVARIATES),
    ):
        rule = programme(columns, control)[1]
        effect = rule.kind.with_interval(rule.effect, *rule.interval)
        rows.append([name, effect, str(len(rule.measured.counts)), percent(1 - rule.overlap, 0)])
    columns_ = [
        "data",
        "effect of the programme on having earnings in 1978",
        "strata",
        "rows without a comparison group",
    ]
    table("LaLonde", columns_, rows)


# --- speed, and the gain of the step-down procedure


def german() -> Columns:
    lines = (DATA / "keel" / "german.dat").read_text().splitlines()
    names = [line.split()[1] for line in lines if line.startswith("@attribute")]
    rows = [line.replace(" ", "").split(",") for line in lines if line and not line.startswith("@")]
    columns: Columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    numeric = [line.split()[1] for line in lines if line.startswith("@attribute") and " integer " in line]
    return columns | {name: [int(value) for value in columns[name]] for name in numeric}


def questions() -> Iterator[tuple[str, cr.RuleSet]]:
    actionable = ["class", "sex", "age", "sibsp", "parch", "fare"]
    yield "Titanic, no control", cr.discover(cr.datasets.titanic(), "survived", actionable=actionable, **RELIABLE)
    yield (
        "Titanic, control sex and class",
        cr.discover(cr.datasets.titanic(), "survived", actionable=actionable[2:], control=["class", "sex"], **RELIABLE),
    )
    if (DATA / "keel").is_dir():
        yield "german (2)", cr.discover(german(), "Customer", "2", control="StatusAndSex", **RELIABLE)
    else:
        print(f"german is left out: no folder {DATA / 'keel'}; set CAUSALRULES_DATA")


def speed(quick: bool) -> None:
    times = 99 if quick else 999
    rows = []
    for name, rules in questions():
        # CPU time hardly depends on the load; on c idle cores the wall-clock time is a c-th of it.
        start, work = time.perf_counter(), time.process_time()
        judged = rules.significance(times, stop_early=False)
        seconds, work = time.perf_counter() - start, time.process_time() - work
        p_values = [rule.p_value for rule in judged if rule.p_value is not None]
        rows.append([name, f"{times}", f"{seconds:.1f} s", f"{work:.1f} s", f"{min(p_values):.3f}–{max(p_values):.3f}"])
    table(
        f"Speed on {os.cpu_count()} cores, top 10 rules",
        ["data", "permutations", "time", "processor time", "adjusted p"],
        rows,
    )


def step_down(quick: bool) -> None:
    times = 99 if quick else 999
    rows = []

    def compare(name: str, rules: cr.RuleSet) -> None:
        judged = [rule.evidence.significance for rule in rules.significance(times, stop_early=False)]  # type: ignore[union-attr]
        pairs = np.array([[each.single_step, each.step_down] for each in judged if each is not None])
        gain = pairs[:, 0] - pairs[:, 1]
        last = f"{pairs[-1, 0]:.3f} → {pairs[-1, 1]:.3f}"
        rows.append([name, str(len(pairs)), f"{np.sum(gain > 0)}", f"{gain.max():.3f}", last])

    for name, rules in itertools.islice(questions(), 2):
        compare(name, rules)
    rng = draw(5)
    columns, _ = planted_table(500, 0.2, 1, rng)
    compare(
        "planted effect 0.2, n = 500, 10 numeric columns",
        cr.discover(columns, "y", control="z", max_length=2, **RELIABLE),
    )
    few: Columns = {f"x{index}": rng.integers(0, 2, 300) for index in range(3)}
    few["y"] = (rng.random(300) < 0.3 + 0.2 * few["x0"] + 0.15 * few["x1"]).astype(int)
    compare(
        "three binary columns, n = 300: 6 rules of one condition", cr.discover(few, "y", max_length=1, k=6, **RELIABLE)
    )
    columns_ = ["data", "rules", "with a smaller p", "largest gain", "last rule: single step → step-down"]
    table("What the step-down gains", columns_, rows)


SECTIONS: dict[str, Callable[[bool], None]] = {
    "noise": noise,
    "power": power,
    "coverage": coverage,
    "lalonde": lalonde,
    "speed": speed,
    "step-down": step_down,
}


def main() -> None:
    chosen = [argument for argument in sys.argv[1:] if argument != "--quick"] or list(SECTIONS)
    if unknown := sorted(set(chosen) - set(SECTIONS)):
        sys.exit(f"no section {unknown[0]!r}; the sections are {', '.join(SECTIONS)}")
    for name in chosen:
        start = time.perf_counter()
        SECTIONS[name]("--quick" in sys.argv)
        print(f"\n({time.perf_counter() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
