"""Table "Titanic" (§5.3): the three rules with the highest reliable effect, and their coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
from finding import find
from results import Run

from causalrules import datasets
from causalrules.estimators import scores
from causalrules.rules import RuleResult

# (rule, coverage, reliable effect) as printed in the paper.
PAPER = (
    ("class ≤ 2 ∧ sex = female", "0.1907", "0.576"),
    ("class ≤ 2 ∧ parch ≤ 2 ∧ sex = female", "0.1885", "0.573"),
    ("class ≤ 2 ∧ sex = female ∧ sibsp ≤ 2", "0.1874", "0.572"),
)
# The paper's list without pname, which is unique for every passenger and so gives no condition.
ACTIONABLE = ("class", "sex", "age", "sibsp", "parch", "embarked")


def make(run: Run) -> None:
    passengers = datasets.titanic("dict")
    rules = find(passengers, "survived", 1, actionable=ACTIONABLE, k=3)
    rows = [
        {
            "rule": rule.text,
            "coverage": rule.coverage,
            "reliable_effect": rule.reliable_effect,
            "to_last_covered": to_last_covered(rule, passengers),
            "paper_rule": text,
            "paper_coverage": coverage,
            "paper_reliable_effect": effect,
            "optimal": rules.optimal,
        }
        for rule, (text, coverage, effect) in zip(rules, PAPER, strict=True)
    ]
    run.write("titanic", rows)


def to_last_covered(rule: RuleResult, passengers: dict[str, list[Any]]) -> float:
    """Return the reliable effect without the rows after the last covered one, as in the authors' code."""
    covered = rule.covers(passengers)
    end = int(np.flatnonzero(covered)[-1]) + 1
    covered, survived = covered[:end], np.array(passengers["survived"][:end]) == 1
    cells = [int((side & outcome).sum()) for side in (covered, ~covered) for outcome in (survived, ~survived)]
    return scores.reliable_effect(*cells)
