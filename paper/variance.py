"""Figure "variance and generalisation" (§3.2): a specific rule's estimates, and the true effects of the best rules."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import simulation
from figures import COLOURS, curve, figure
from results import Row, Run

REPETITIONS = 25
# The name of the draws, which determines their seeds.
DRAWS = "variance"


def make(run: Run) -> None:
    sizes = simulation.SAMPLE_SIZES[::3] if run.quick else simulation.SAMPLE_SIZES
    rows = [row for n in sizes for row in run.part(f"variance-{n}", partial(measure, n, run.seed))]
    run.write("variance", rows)
    draw(run, rows)


def measure(n: int, seed: int) -> list[Row]:
    counts = simulation.draw(n, REPETITIONS, DRAWS, seed)
    row: Row = {"n": n, "repetitions": REPETITIONS}
    for name in ("plugin", "reliable"):
        values = simulation.MEASURES[name](counts)
        estimates = values[simulation.SPECIFIC]
        best = simulation.best(counts, values)
        row[f"{name}_mean"] = float(estimates.mean())
        row[f"{name}_sd"] = float(estimates.std(ddof=1))
        row[f"{name}_best_effect"] = float(simulation.LANGUAGE.effects[best].mean())
    covered = (counts.a + counts.b)[simulation.SPECIFIC]
    row["undefined"] = float((covered == 0).any(axis=1).mean())
    row["true_effect"] = float(simulation.LANGUAGE.effects[simulation.SPECIFIC])
    row["highest_effect"] = float(simulation.LANGUAGE.effects.max())
    return [row]


def draw(run: Run, rows: list[Row]) -> None:
    n = [row["n"] for row in rows]
    with figure(run.folder / "variance.svg", columns=2) as (left, right):
        for colour, name, label in (
            (COLOURS[0], "reliable", "reliable"),
            (COLOURS[1], "plugin", "plug-in"),
        ):
            mean, sd = (np.array([row[f"{name}_{part}"] for row in rows]) for part in ("mean", "sd"))
            curve(left, n, list(mean), colour, label, (mean - sd, mean + sd))
            curve(right, n, [row[f"{name}_best_effect"] for row in rows], colour, f"best rule, {label}")
        finish(left, rows[0]["true_effect"], "true effect", "estimate of the six-condition rule")
        right.set_ylim(bottom=-0.25)
        finish(right, rows[0]["highest_effect"], "best rule of the population", "true effect")


def finish(axes: Any, level: float, label: str, title: str) -> None:
    axes.axhline(level, color=COLOURS[2], linewidth=1, label=label)
    axes.set(xlabel="sample size", ylabel=title)
    axes.legend()
