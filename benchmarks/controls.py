"""Many controls: discoveries, bias and interval coverage (docs/controls.md).

Run `python -m benchmarks.controls` with parts (simulation, truth, models, noise, lalonde, ihdp, time) and `--repeats
N`; each result is written to benchmarks/results/controls.json as soon as it is computed. LaLonde and IHDP need their
files, in the folder `causal` of CAUSALRULES_DATA, by default ../shared/data. `--rows N` and `--controls N` choose the
cells of the simulation by rows and controls.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import math
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

import causalrules as cr
from causalrules.language import learning

RESULTS = Path(__file__).parent / "results" / "controls.json"
# The effect of "cause"; the true effect of "null", which has none.
EFFECT = 0.12
# Rows and controls of the simulated tables.
SIZES, NUMBERS = (2_000, 5_000, 20_000), (8, 20, 50)
# Standard errors in half the width of a 95 % interval.
WIDTH = NormalDist().inv_cdf(0.975)
# The fields that identify a result.
KEYS = ("part", "shape", "controls", "rows", "weight of trees", "compared with", "target", "replication")
Columns = dict[str, Any]
Result = dict[str, Any]


def risk_of(controls: Any, shape: str) -> Any:
    """Return the log-odds from controls of variance 1: linear, with a product, or as steps of several controls."""
    n_controls = controls.shape[1]
    weights = np.ones(n_controls) / math.sqrt(n_controls)
    if shape == "linear":
        return controls @ weights
    if shape == "bent":
        bent = np.abs(controls) - math.sqrt(2 / math.pi)
        return 0.7 * (controls @ weights) + bent @ weights + 0.3 * controls[:, 0] * controls[:, 1]
    a, b, c, d, e, f, g, *_ = controls.T
    box = (c > 0.3) & (d < 0.5) & (e > -1)
    return 1.2 * ((a > 0.3) & (b > -0.3)) - 1.2 * box + 0.8 * (f > 1) - 0.8 * (np.abs(g) < 0.3)


def confounded(n: int, n_controls: int, shape: str, rng: np.random.Generator, effect: float = EFFECT) -> Columns:
    """Draw controls that affect both the outcome and "null"; "cause" and two noise columns are independent of them."""
    controls = rng.normal(size=(n, n_controls))
    risk = risk_of(controls, shape)
    columns: Columns = {f"z{number}": controls[:, number] for number in range(n_controls)}
    columns["null"] = rng.random(n) < 1 / (1 + np.exp(-risk))
    for name in ("cause", "noise1", "noise2"):
        columns[name] = rng.random(n) < 0.5
    chance = (1 - EFFECT) / (1 + np.exp(-1.2 * risk)) + effect * columns["cause"]
    columns["y"] = (rng.random(n) < chance).astype(int)
    return columns


def names(columns: Columns) -> list[str]:
    return [name for name in columns if name.startswith("z")]


def regression(columns: Columns, name: str) -> float:
    """Return the coefficient of a column in a linear regression on it and the controls."""
    design = np.column_stack([np.ones(len(columns["y"])), columns[name], *(columns[each] for each in names(columns))])
    return float(np.linalg.lstsq(design.astype(float), columns["y"].astype(float), rcond=None)[0][1])


def simulation(asked: argparse.Namespace) -> Iterator[Result]:
    for n in SIZES:
        for n_controls in NUMBERS:
            for shape in ("linear", "bent"):
                if asked.rows in (None, n) and asked.controls in (None, n_controls):
                    tables = [
                        measured(shape, n_controls, n, repeat, repeat < asked.searched)
                        for repeat in range(asked.repeats)
                    ]
                    yield cell(shape, n_controls, n, tables)


def measured(shape: str, n_controls: int, n: int, repeat: int, searched: bool) -> Result:
    """Measure one table: is the planted rule first, and what is the estimated effect of "null"?

    The same is measured with the true propensities and outcome models, to separate the error of the models from chance.
    """
    columns = confounded(n, n_controls, shape, np.random.default_rng([n, n_controls, repeat]))
    controls = names(columns)
    asked: dict[str, Any] = {"actionable": ["null", "cause", "noise1", "noise2"], "k": 1, "max_length": 2}
    first, bias = {}, {}
    if searched:
        for how in ("none", "strata", "auto"):
            options = {} if how == "none" else {"control": controls, "adjust": how}
            found = cr.discover(columns, "y", **asked, **options, progress=False)
            first[how] = bool(found) and found[0].text == "cause = True"
        (scored,) = cr.evaluate(columns, "null = True", "y", control=controls, adjust="prognostic")
        bias["prognostic"] = scored.measured.in_strata.effect
    rules = cr.evaluate(columns, "null = True", "y", control=controls, adjust="strata")
    robust = rules.doubly_robust(progress=False)[0].evidence.doubly_robust
    best, best_error = _with_truth(columns, shape)
    bias |= {"none": rules[0].marginal_effect, "regression": regression(columns, "null")}
    bias |= {"doubly robust": robust.effect, "true models": best}
    errors = {"doubly robust": robust.standard_error, "true models": best_error}
    return {"first": first, "bias": bias, "errors": errors}


def cell(shape: str, n_controls: int, n: int, tables: list[Result]) -> Result:
    """Summarise the tables of one size and shape."""
    searched = [table for table in tables if table["first"]]
    errors = {how: np.array([table["errors"][how] for table in tables]) for how in tables[0]["errors"]}
    bias = {
        how: np.array([table["bias"][how] for table in tables if how in table["bias"]]) for how in tables[0]["bias"]
    }
    beyond = bias["doubly robust"] - bias["true models"]
    contained = {how: np.abs(bias[how]) <= WIDTH * each for how, each in errors.items()}
    return {
        "part": "simulation",
        "shape": shape,
        "controls": n_controls,
        "rows": n,
        "searched": len(searched),
        "planted first": {
            how: sum(table["first"][how] for table in searched) for how in (searched[0]["first"] if searched else ())
        },
        "measured": len(tables),
        "bias": {how: float(np.mean(each)) for how, each in bias.items()},
        "standard deviation": {how: float(np.std(bias[how], ddof=1)) for how in errors},
        "mean standard error": {how: float(np.mean(each)) for how, each in errors.items()},
        "beyond the true models": {"mean": float(beyond.mean()), "standard deviation": float(np.std(beyond, ddof=1))},
        "intervals with the truth": {how: int(each.sum()) for how, each in contained.items()},
        "intervals of one with the truth, not of the other": {
            "doubly robust": int(np.sum(contained["doubly robust"] & ~contained["true models"])),
            "true models": int(np.sum(contained["true models"] & ~contained["doubly robust"])),
        },
    }


def _with_truth(columns: Columns, shape: str) -> tuple[float, float]:
    """Return the doubly robust effect of "null" by the true models, and its standard error."""
    risk = risk_of(np.column_stack([columns[name] for name in names(columns)]), shape)
    chance = 1 / (1 + np.exp(-risk))
    rest = columns["y"] - (1 - EFFECT) / (1 + np.exp(-1.2 * risk)) - EFFECT / 2
    influence = np.where(columns["null"], rest / chance, -rest / (1 - chance))
    return float(influence.mean()), float(influence.std() / math.sqrt(len(influence)))


def truth(asked: argparse.Namespace) -> Iterator[Result]:
    """Count the intervals with the true models that contain the truth, in tables other than the simulation's."""
    for n in SIZES[:2]:
        found = []
        for n_controls in NUMBERS:
            for shape in ("linear", "bent"):
                for repeat in range(asked.repeats):
                    rng = np.random.default_rng([8, n, n_controls, shape == "bent", repeat])
                    effect, error = _with_truth(confounded(n, n_controls, shape, rng), shape)
                    found.append(abs(effect) <= WIDTH * error)
        yield {"part": "truth", "rows": n, "measured": len(found), "intervals with the truth": int(sum(found))}


def models(asked: argparse.Namespace) -> Iterator[Result]:
    """Measure the bias that trees, the regression and their mean leave beyond that of the true models."""
    usual = learning.best_share, learning.may_pay
    for shape in ("linear", "bent", "steps"):
        tables = [confounded(5_000, 20, shape, np.random.default_rng([3, repeat])) for repeat in range(asked.repeats)]
        for share in (1.0, 0.0, None):
            if share is not None:
                learning.best_share, learning.may_pay = lambda *_, share=share: share, lambda *_, share=share: share > 0
            left = [_left(columns, shape) for columns in tables]
            learning.best_share, learning.may_pay = usual
            yield {
                "part": "models",
                "shape": shape,
                "controls": 20,
                "rows": 5_000,
                "weight of trees": "learnt" if share is None else share,
                "repeats": asked.repeats,
                "unadjusted": float(np.mean([_unadjusted(columns) for columns in tables])),
                "bias": float(np.mean(left)),
                "error of the bias": float(np.std(left, ddof=1) / math.sqrt(asked.repeats)),
            }


def _unadjusted(columns: Columns) -> float:
    y, covered = columns["y"], columns["null"]
    return float(y[covered].mean() - y[~covered].mean())


def _left(columns: Columns, shape: str) -> float:
    """Return the doubly robust effect of "null" less that by the true models."""
    rules = cr.evaluate(columns, "null = True", "y", control=names(columns), adjust="strata")
    return float(rules.doubly_robust(progress=False)[0].evidence.doubly_robust.effect - _with_truth(columns, shape)[0])


def noise(asked: argparse.Namespace) -> Iterator[Result]:
    """Count false findings under strong confounding by ten controls: no column has an effect, all are confounded."""
    counted = (
        "conservative effect above 0",
        "supported",
        "interval above 0, searched rows",
        "interval above 0, held-out rows",
    )
    for n in (2_000, 5_000):
        found = dict.fromkeys(counted, 0)
        for repeat in range(asked.repeats):
            rng = np.random.default_rng([7, n, repeat])
            columns = confounded(n, 10, "bent", rng, effect=0.0)
            risk = sum(columns[name] for name in names(columns)) / math.sqrt(10)
            for place in range(5):
                columns[f"x{place}"] = rng.random(n) < 1 / (1 + np.exp(-risk + 0.5 * rng.normal(size=n)))
            options: dict[str, Any] = {
                "control": names(columns),
                "actionable": ["null", "cause", "noise1", *(f"x{place}" for place in range(5))],
                "k": 1,
                "max_length": 2,
                "progress": False,
            }
            best = cr.discover(columns, "y", **options).doubly_robust(progress=False)[0]
            held = cr.discover(columns, "y", holdout=0.5, **options).doubly_robust(progress=False)[0]
            above = (best.value > 0, best.verdict.evidence == "supported", _low(best) > 0, _low(held) > 0)
            for name, each in zip(counted, above, strict=True):
                found[name] += bool(each)
        yield {"part": "noise", "rows": n, "repeats": asked.repeats, **found}


def _low(rule: cr.RuleResult) -> float:
    """Return the lower end of the doubly robust interval."""
    assert rule.evidence is not None
    assert rule.evidence.doubly_robust is not None
    low = rule.evidence.doubly_robust.low
    return -math.inf if low is None else low


def folder() -> Path | None:
    place = Path(os.environ.get("CAUSALRULES_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "causal"
    if not (place / "lalonde_nsw_dw.csv").is_file():
        print(f"skipped: no files of LaLonde and IHDP in {place}; set CAUSALRULES_DATA")
        return None
    return place


def read(path: Path) -> dict[str, list[str]]:
    opened: Any = gzip.open(path, "rt") if path.suffix == ".gz" else path.open()
    with opened as file:
        table = list(csv.DictReader(file))
    return {name: [row[name] for row in table] for name in table[0]}


def lalonde(asked: argparse.Namespace) -> Iterator[Result]:
    if (place := folder()) is None:
        return
    experiment = read(place / "lalonde_nsw_dw.csv")
    for others in ("psid_controls", "cps_controls.csv.gz", "psid_controls3", "cps_controls3"):
        path = place / (f"lalonde_{others}" if others.endswith("gz") else f"lalonde_{others}.csv")
        table = read(path)
        shared = [name for name in experiment if name in table and name != "data_id"]
        columns: Columns = {
            name: np.array(
                [
                    float(value)
                    for value, treated in zip(experiment[name], experiment["treat"], strict=True)
                    if float(treated) == 1
                ]
                + [float(value) for value in table[name]]
            )
            for name in shared
        }
        columns["treat"] = columns["treat"].astype(int)
        columns["employed"] = (columns["re78"] > 0).astype(int)
        controls = [name for name in shared if name not in ("treat", "re78")]
        for target, truth in (("employed", 0.111), ("re78", 1794.0)):
            (rule,) = cr.evaluate(
                {name: columns[name] for name in (*controls, "treat", target)},
                "treat >= 1",
                target,
                control=controls,
                adjust="prognostic",
            ).doubly_robust(progress=False)
            found = rule.evidence.doubly_robust
            yield {
                "part": "lalonde",
                "compared with": others.split(".")[0],
                "target": target,
                "experiment": truth,
                "unadjusted": rule.marginal_effect,
                "prognostic": rule.measured.in_strata.effect,
                "doubly robust": found.effect,
                "low": found.low,
                "high": found.high,
                "on the treated": found.own_effect,
                "on the treated, low": found.own_low,
                "on the treated, high": found.own_high,
                "overlap": found.overlap,
                "clipped": found.clipped,
                "balance": rule.balance(),
            }


def ihdp(asked: argparse.Namespace) -> Iterator[Result]:
    if (place := folder()) is None:
        return
    table = read(place / "ihdp_npci_1-10.csv.gz")
    number = {name: np.array(values, float) for name, values in table.items()}
    for replication in sorted(set(number["replication"].tolist())):
        chosen = number["replication"] == replication
        columns: Columns = {name: values[chosen] for name, values in number.items()}
        controls = [name for name in columns if name.startswith("x")]
        truth = float(np.mean(columns["mu1"] - columns["mu0"]))
        data = {name: columns[name] for name in controls} | {
            "treatment": columns["treatment"].astype(int),
            "y": columns["y_factual"],
        }
        (rule,) = cr.evaluate(data, "treatment >= 1", "y", control=controls, adjust="prognostic").doubly_robust()
        found = rule.evidence.doubly_robust
        design = np.column_stack([np.ones(chosen.sum()), data["treatment"], *(data[name] for name in controls)])
        linear = float(np.linalg.lstsq(design, data["y"], rcond=None)[0][1])
        yield {
            "part": "ihdp",
            "replication": replication,
            "truth": truth,
            "unadjusted": rule.marginal_effect,
            "regression": linear,
            "prognostic": rule.measured.in_strata.effect,
            "doubly robust": found.effect,
            "low": found.low,
            "high": found.high,
        }


def timing(asked: argparse.Namespace) -> Iterator[Result]:
    """Time the models of 20 controls and the search on 50,000 rows, beside a search in as many given strata."""
    columns = confounded(50_000, 20, "linear", np.random.default_rng(0))
    options: dict[str, Any] = {"actionable": ["null", "cause", "noise1", "noise2"], "progress": False}
    start, processor = time.perf_counter(), time.process_time()
    rules = cr.discover(columns, "y", control=names(columns), **options)
    whole, spent = time.perf_counter() - start, time.process_time() - processor
    given = {**columns, "stratum": np.arange(50_000) % rules.n_strata}
    other = cr.discover(given, "y", control="stratum", categorical=["stratum"], **options)
    yield {
        "part": "time",
        "rows": 50_000,
        "controls": 20,
        "seconds": whole,
        "processor seconds": spent,
        "strata": rules.n_strata,
        "search": rules.seconds,
        "search in given strata": other.seconds,
    }


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Result]]] = {
    "simulation": simulation,
    "truth": truth,
    "models": models,
    "noise": noise,
    "lalonde": lalonde,
    "ihdp": ihdp,
    "time": timing,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=f"of {list(PARTS)}")
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--searched", type=int, default=20, help="tables of a cell of the simulation that are searched")
    parser.add_argument("--rows", type=int, help="of the simulation")
    parser.add_argument("--controls", type=int, help="of the simulation")
    asked = parser.parse_args()
    for part in asked.parts:
        for result in PARTS[part](asked):
            print({name: value for name, value in result.items() if name != "balance"}, flush=True)
            known = json.loads(RESULTS.read_text()) if RESULTS.is_file() else []
            others = [each for each in known if any(each.get(key) != result.get(key) for key in KEYS)]
            RESULTS.write_text(json.dumps([*others, result], indent=1) + "\n")


if __name__ == "__main__":
    main()
