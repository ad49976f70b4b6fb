"""Results that must not change unless a commit says so: the JSON of a small set of searches, kept in tests/golden.

Every option is named, so that a change of defaults does not affect them. Sentences, versions and timings are excluded
from the comparison; rules, counts and words are compared exactly, floats with a tolerance. To accept a change on
purpose: `python tests/test_golden.py`, and say in the commit why.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import causalrules as cr
from comparing import differences

FOLDER = Path(__file__).parent / "golden"
SENTENCES = {"notes", "assumptions", "reason", "sentence", "reasons", "doubts", "remedies"}
RUN = {"versions", "run", "schema"}
PAPER: dict[str, Any] = {
    "estimator": "reliable",
    "beta": 2.0,
    "alpha": 1.0,
    "max_length": 4,
    "max_bins": 8,
    "min_coverage": 0.0,
    "missing": "false",
    "control_bins": 4,
    "seed": 0,
}
TODAY: dict[str, Any] = PAPER | {
    "estimator": "pooled",
    "beta": None,
    "error_rate": 0.05,
    "max_length": 3,
    "missing": "unknown",
    "adjust": "strata",
    "stepwise": True,
}
KIDNEY = "size -> treatment; size -> success; treatment -> success"


def titanic(**options: Any) -> cr.RuleSet:
    return cr.discover(cr.datasets.titanic(), "survived", 1, **{**PAPER, **options})


def kidney(**options: Any) -> cr.RuleSet:
    return cr.discover(cr.datasets.kidney_stones(), "success", 1, ["size"], **{**PAPER, **options})


def trusted(rules: cr.RuleSet) -> cr.RuleSet:
    return rules.trust(permutations=39, replicates=10, splits=3, n_jobs=1)


CASES: dict[str, Callable[[], cr.RuleSet]] = {
    "titanic": lambda: titanic(k=5),
    "titanic_control": lambda: titanic(k=5, control=["sex", "age"], actionable=["class", "fare", "embarked"]),
    "titanic_no_limit": lambda: titanic(k=3, max_length=None, min_coverage=0.1),
    "titanic_plugin": lambda: titanic(k=3, control="sex", estimator="plugin", min_coverage=0.05),
    "titanic_wracc": lambda: titanic(k=3, control="sex", estimator="wracc"),
    "titanic_association": lambda: titanic(k=3, estimator="association", min_coverage=0.05),
    "titanic_cuts": lambda: titanic(k=3, cuts={"age": [15, 40]}, max_bins=4, actionable=["age", "sex", "class"]),
    "titanic_holdout": lambda: titanic(k=3, holdout=0.5, seed=3),
    "titanic_trust": lambda: trusted(titanic(k=2, control="sex", actionable=["class", "age"])),
    "titanic_ladder": lambda: trusted(titanic(**TODAY, k=5)),
    "titanic_ladder_mean": lambda: cr.discover(
        cr.datasets.titanic(), "fare", None, ["embarked"], ["class", "sex", "sibsp", "parch"], **TODAY, k=3
    ),
    "kidney_graph": lambda: trusted(kidney(k=2, graph=KIDNEY)),
    "kidney_inadmissible": lambda: kidney(
        k=2, graph=KIDNEY + "; u -> treatment", latent=["u"], allow_inadmissible=True
    ),
    "kidney_calibrated": lambda: kidney(k=2, beta="calibrated"),
    "berkeley": lambda: cr.discover(cr.datasets.berkeley(), "admitted", 1, ["department"], **PAPER, k=2),
}


def comparable(value: Any) -> Any:
    """Return the result without the parts that may differ between versions."""
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items() if key not in SENTENCES | RUN}
    if isinstance(value, list):
        return [comparable(item) for item in value]
    return value


def answer(case: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cr.CausalRulesWarning)
        return comparable(json.loads(CASES[case]().to_json()))


@pytest.mark.parametrize("case", CASES)
def test_the_result_equals_the_golden_one(case: str) -> None:
    kept = json.loads((FOLDER / f"{case}.json").read_text(encoding="utf-8"))
    assert not differences(only_known(answer(case), kept), kept)


def only_known(found: Any, kept: Any) -> Any:
    """Drop fields that were added since."""
    if isinstance(found, dict) and isinstance(kept, dict):
        return {key: only_known(value, kept[key]) for key, value in found.items() if key in kept}
    if isinstance(found, list) and isinstance(kept, list) and len(found) == len(kept):
        return [only_known(value, other) for value, other in zip(found, kept, strict=True)]
    return found


if __name__ == "__main__":
    for case in CASES:
        (FOLDER / f"{case}.json").write_text(json.dumps(answer(case)) + "\n", encoding="utf-8")
