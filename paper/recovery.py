"""Figure "MSE and recovery" (§5.1, §5.2): the true effects of the best rules, and how often they are x1 = 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import bands
import numpy as np
import simulation
from figures import COLOURS, curve, figure
from results import Row, Run

# The paper's number of samples, a longer run, and one without fixed strata sizes, which §5 does not mention.
RUNS = {"paper": (100, True), "long": (1_000, True), "unstratified": (1_000, False)}
QUICK_RUNS = {"paper": (40, True), "long": (400, True), "unstratified": (40, False)}
QUICK_SIZES = (100, 400, 800, 1500, 3000)
LABELS = {
    "reliable": "reliable",
    "plugin": "plug-in",
    "plugin_laplace": "plug-in, Laplace-corrected",
    "wracc": "WRAcc, Laplace-corrected",
    "association": "plug-in without controls, Laplace-corrected",
}
PAIRS = (
    ("recovered", "reliable", "wracc"),
    ("recovered", "wracc", "association"),
    ("recovered", "reliable", "association"),
    ("squared_error", "plugin", "reliable"),
    ("squared_error", "plugin_overlap", "reliable"),
    ("squared_error", "plugin_laplace", "reliable"),
    ("squared_error", "wracc", "reliable"),
    ("squared_error_of_estimate", "plugin", "reliable"),
)

Measures = Mapping[str, Callable[[simulation.Counts], simulation.Array]]


def make(run: Run) -> None:
    means, differences = [], []
    for name, (repetitions, stratified) in (QUICK_RUNS if run.quick else RUNS).items():
        for n in QUICK_SIZES if run.quick else simulation.SAMPLE_SIZES:
            chosen = run.part(
                f"recovery-{name}-{n}",
                partial(choices, simulation.MEASURES, n, repetitions, name, run.seed, stratified),
            )
            means += summary(chosen, {"run": name, "n": n})
            differences += paired(chosen, {"run": name, "n": n})
    run.write("recovery", means)
    run.write("recovery_paired", differences)
    draw(run, means)


def choices(measures: Measures, n: int, repetitions: int, run: str, seed: int, stratified: bool = True) -> list[Row]:
    """Return the best rule for each sample and measure: is it x1 = 1, its true effect, and its estimate."""
    counts = simulation.draw(n, repetitions, run, seed, stratified)
    highest = simulation.LANGUAGE.effects.max()
    rows = []
    for measure, function in measures.items():
        values = function(counts)
        best = simulation.best(counts, values)
        effects, estimates = simulation.LANGUAGE.effects[best], values[best, np.arange(repetitions)]
        for sample in range(repetitions):
            rows.append(
                {
                    "sample": sample,
                    "measure": measure,
                    "recovered": int(best[sample] == simulation.CORE),
                    "effect": float(effects[sample]),
                    "squared_error": float((effects[sample] - highest) ** 2),
                    "squared_error_of_estimate": float((estimates[sample] - highest) ** 2),
                }
            )
    return rows


def _column(rows: list[Row], measure: str, name: str) -> Any:
    return np.array([row[name] for row in rows if row["measure"] == measure], float)


def summary(rows: list[Row], key: Row) -> list[Row]:
    found = []
    for measure in dict.fromkeys(row["measure"] for row in rows):
        recovered = _column(rows, measure, "recovered")
        low, high = bands.wilson(float(recovered.mean()), len(recovered))
        mse, error = bands.mean_and_error(_column(rows, measure, "squared_error"))
        estimate_mse, estimate_error = bands.mean_and_error(_column(rows, measure, "squared_error_of_estimate"))
        found.append(
            {
                **key,
                "measure": measure,
                "repetitions": len(recovered),
                "recovered": float(recovered.mean()),
                "recovered_low": low,
                "recovered_high": high,
                "mse": mse,
                "mse_error": error,
                "mean_effect": float(_column(rows, measure, "effect").mean()),
                "mse_of_estimate": estimate_mse,
                "mse_of_estimate_error": estimate_error,
            }
        )
    return found


def paired(rows: list[Row], key: Row) -> list[Row]:
    """Return differences on the same samples, which are more precise than differences of means."""
    found = []
    for what, one, other in PAIRS:
        mean, error = bands.mean_and_error(_column(rows, one, what) - _column(rows, other, what))
        found.append({**key, "what": what, "one": one, "other": other, "difference": mean, "error": error})
    return found


def draw(run: Run, rows: list[Row]) -> None:
    for name in ("paper", "long"):
        with figure(run.folder / f"recovery_{name}.svg", columns=2, height=3.2) as (left, right):
            for colour, measure in zip(COLOURS, ("reliable", "plugin", "plugin_laplace"), strict=False):
                chosen = _series(rows, name, measure)
                mse, error = (np.array([row[part] for row in chosen]) for part in ("mse", "mse_error"))
                reach = bands.simultaneous(1) * error
                curve(
                    left, [row["n"] for row in chosen], list(mse), colour, LABELS[measure], (mse - reach, mse + reach)
                )
            for colour, measure in zip(COLOURS, ("reliable", "wracc", "association"), strict=False):
                chosen = _series(rows, name, measure)
                band = tuple([row[f"recovered_{end}"] for row in chosen] for end in ("low", "high"))
                shares = [row["recovered"] for row in chosen]
                label = LABELS[measure].removesuffix(", Laplace-corrected")
                curve(right, [row["n"] for row in chosen], shares, colour, label, band)
            left.set(xlabel="sample size", ylabel="MSE of the best rule's true effect")
            right.set(xlabel="sample size", ylabel="share of samples that recover x1 = 1", ylim=(0, 1.02))
            left.legend()
            right.legend(loc="lower right")


def _series(rows: list[Row], name: str, measure: str) -> list[Row]:
    return [row for row in rows if row["run"] == name and row["measure"] == measure]
