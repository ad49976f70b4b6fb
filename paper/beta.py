"""Figure "effect of β" (appendix): MSE of the best rule's true effect at several confidence levels."""

from __future__ import annotations

import itertools
from functools import partial

import bands
import numpy as np
import recovery
import simulation
from figures import COLOURS, curve, figure
from results import Row, Run

MEASURES = {f"{confidence:.2f}": simulation.at_confidence(confidence) for confidence in simulation.CONFIDENCES}


def make(run: Run) -> None:
    means, differences = [], []
    for name, (repetitions, stratified) in (recovery.QUICK_RUNS if run.quick else recovery.RUNS).items():
        if not stratified:
            continue
        for n in recovery.QUICK_SIZES if run.quick else simulation.SAMPLE_SIZES:
            # The samples of recovery.py, so that all measures use the same ones.
            chosen = run.part(
                f"beta-{name}-{n}",
                partial(recovery.choices, MEASURES, n, repetitions, name, run.seed),
            )
            means += recovery.summary(chosen, {"run": name, "n": n})
            differences += paired(chosen, {"run": name, "n": n})
    run.write("beta", means)
    run.write("beta_paired", differences)
    draw(run, means)


def paired(rows: list[Row], key: Row) -> list[Row]:
    """Return the MSE at each confidence less that at the next higher, and the lowest less the highest."""
    errors = {
        measure: np.array([row["squared_error"] for row in rows if row["measure"] == float(measure)])
        for measure in MEASURES
    }
    levels = list(MEASURES)
    found = []
    for lower, higher in [*itertools.pairwise(levels), (levels[0], levels[-1])]:
        mean, error = bands.mean_and_error(errors[lower] - errors[higher])
        found.append({**key, "lower": lower, "higher": higher, "difference": mean, "error": error})
    return found


def draw(run: Run, rows: list[Row]) -> None:
    for name in ("paper", "long"):
        with figure(run.folder / f"beta_{name}.svg") as axes:
            for colour, confidence in zip(COLOURS[::-1], simulation.CONFIDENCES, strict=True):
                chosen = [row for row in rows if row["run"] == name and row["measure"] == confidence]
                mse = [row["mse"] for row in chosen]
                curve(axes, [row["n"] for row in chosen], mse, colour, f"{confidence:.0%}")
            axes.set(xlabel="sample size", ylabel="MSE of the best rule's true effect")
            axes.legend(title="confidence")
