"""Job training: can adjusting replace an experiment? (LaLonde, 1986; Dehejia & Wahba, 1999)

The National Supported Work programme trained people drawn by lot, so that comparing them with those who were not
drawn gives the effect on having earnings in 1978. Here the people who were not drawn are thrown away and replaced by
people from a survey (PSID), who are older, better off and never needed training.

    python examples/job_training.py

The data are not part of the package. Set CAUSALRULES_DATA to a folder that holds causal/lalonde_nsw_dw.csv and
causal/lalonde_psid_controls.csv, as published by Dehejia.
"""

from __future__ import annotations

import csv
import os
import sys
from pathlib import Path
from typing import Any

import causalrules as cr

FOLDER = Path(os.environ.get("CAUSALRULES_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data") / "causal"
FILES = {"experiment": FOLDER / "lalonde_nsw_dw.csv", "survey": FOLDER / "lalonde_psid_controls.csv"}
COLUMNS = ("treat", "age", "education", "black", "hispanic", "married", "re74", "re75", "re78")
TRAINED = "treat = 1"


def missing() -> str | None:
    """Say what is missing, if anything is."""
    absent = [path.name for path in FILES.values() if not path.is_file()]
    return f"{' and '.join(absent)} not found; set CAUSALRULES_DATA to the folder of the data" if absent else None


def people(path: Path) -> list[dict[str, float]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: float(row[name]) for name in COLUMNS} for row in csv.DictReader(file)]


def of_training(rows: list[dict[str, float]], control: tuple[str, ...] = ()) -> cr.RuleResult:
    """The rule "was trained" and its effect on having any earnings in 1978."""
    table: dict[str, Any] = {name: [row[name] for row in rows] for name in COLUMNS}
    rules = cr.discover(
        table, target="re78", outcome="> 0", actionable="treat", control=control, adjust="strata", similarity=None
    )
    (trained,) = [rule for rule in rules if str(rule) == TRAINED]
    low, high = trained.interval()
    print(
        f"  difference {trained.effect:+.1%} (95 % interval {low:+.1%} to {high:+.1%}), conservative difference "
        f"{trained.reliable_effect:+.1%}, overlap {trained.overlap:.0%} of {len(rows):,} rows, "
        f"strata: {len(trained.strata)}\n"
    )
    return trained


def main() -> dict[str, cr.RuleResult]:
    experiment, survey = people(FILES["experiment"]), people(FILES["survey"])
    trained = [row for row in experiment if row["treat"] == 1]

    print("The experiment, trained against not drawn:")
    results = {"experiment": of_training(experiment)}

    print("The same in dollars of 1978:")
    table: dict[str, Any] = {name: [row[name] for row in experiment] for name in COLUMNS}
    results["dollars"] = cr.evaluate(table, TRAINED, target="re78").significance(999)[0]
    dollars = results["dollars"]
    print(
        f"  difference {dollars.effect:+,.0f} (95 % interval {dollars.interval.low:+,.0f} to "
        f"{dollars.interval.high:+,.0f}), p = {dollars.p_value:.3f} by shuffling\n"
    )

    print("Trained against the survey, as it is:")
    results["survey"] = of_training(trained + survey)

    print("Trained against the survey, adjusted for earnings in 1974 and 1975:")
    results["adjusted"] = of_training(trained + survey, ("re74", "re75"))

    print("Adjusting finds the sign of the experiment, within its interval. But two thirds of the people are in strata")
    print("where nobody was trained, and in others a handful were: the conservative difference, which counts on what")
    print("the data can carry, makes no claim.")
    return results


if __name__ == "__main__":
    problem = missing()
    if problem:
        sys.exit(problem)
    main()
