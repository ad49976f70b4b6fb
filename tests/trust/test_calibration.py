"""Calibrated β against brute force over every rule of every permuted table."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import causalrules as cr
from causalrules.exceptions import OptionError
from causalrules.question import Question
from causalrules.report.terminal import text
from causalrules.report.trust_words import obtained
from causalrules.result.evidence import Calibration, SearchEvidence
from causalrules.search.problem import Problem
from causalrules.trust import repeat
from causalrules.trust.calibration import calibrate
from causalrules.trust.resample import permuted
from rulesets import rows_of
from strategies import RELIABLE, TARGET, SmallTable, every_rule, noise, small_tables


def smallest_beta(table: SmallTable, outcome: dict[int, int]) -> float:
    """Return the smallest β ≥ 0 at which no rule is above 0: r = p − β·q for every rule."""
    at_zero, at_one = (every_rule(table, outcome, beta) for beta in (0.0, 1.0))
    return max(0.0, max(p / (p - at_one[rule]) for rule, p in at_zero.items()))


@settings(max_examples=15, deadline=None)
@given(
    small_tables(max_rows=20, max_actionable=3), st.sampled_from([(19, 0.95), (9, 0.5), (10, 0.8)]), st.integers(0, 2)
)
def test_is_the_order_statistic_of_the_permuted_tables(table: SmallTable, how: tuple[int, float], seed: int) -> None:
    times, confidence = how
    asked: dict[str, Any] = RELIABLE | {"missing_control": "value"}
    rules = cr.discover(table.columns(), TARGET, control=list(table.control), max_length=2, max_bins=3, **asked)
    assume(len(rules) > 0)
    assert rules.problem is not None
    observed = [i for i, row in enumerate(table.rows) if row[TARGET] is not None]
    betas = []
    for place in range(times):
        shuffled = permuted(rows_of(rules), repeat.generator(seed, "calibration", place)).outcome.tolist()
        betas.append(smallest_beta(table, dict(zip(observed, shuffled, strict=True))))
    expected = sorted(betas)[math.ceil(confidence * (times + 1) - 1e-9) - 1]
    options = Question("y", beta=2.0, max_length=2, n_jobs=2, estimator="reliable")
    found = calibrate(rules.problem, options, confidence=confidence, permutations=times, seed=seed)
    assert expected <= found.beta + 1e-9
    assert found.beta <= expected + 0.001 + 1e-9


def test_noise_is_rarely_above_zero() -> None:
    hits = 0
    for seed in range(40):
        rules = cr.discover(noise(seed), "y", control="z", k=1, max_length=2)
        assert rules.problem is not None
        value = calibrate(rules.problem, Question("y", beta=2.0, max_length=2), permutations=39, seed=seed).value
        hits += value is not None and value > 0
    assert hits <= 6


def test_discover_reports_the_calibrated_beta_and_its_cost() -> None:
    columns = noise(3, n=400)
    columns["y"] = columns["y"] | (np.array(columns["x1"]) > 0.9)
    rules = cr.discover(columns, "y", control="z", k=1, max_length=1, beta="calibrated")
    assert rules.evidence is not None
    calibration = rules.evidence.calibration
    assert calibration is not None
    assert rules.question.beta == calibration.beta == rules[0].criterion.beta
    assert calibration.value == pytest.approx(rules[0].value)
    usual = cr.discover(columns, "y", control="z", k=1, max_length=1, beta=calibration.usual_beta)
    assert calibration.usual_value == pytest.approx(usual[0].value)
    said = text(rules, explain=True).replace("\n", " ")
    assert f"β = {calibration.beta:g}, calibrated: on shuffled data" in said


def test_both_values_are_named_with_their_beta() -> None:
    calibration = Calibration(2.5, 0.95, 199, 199, 0, 0, 0.15, 2.0, 0.02)
    rules = cr.discover(noise(0), "y", control="z", k=1)
    (said,) = obtained(replace(rules, evidence=SearchEvidence(calibration=calibration)))
    assert said.startswith("β = 2.5, calibrated")
    assert said.endswith("is 15.0 points, and 2.0 points with β = 2")


def test_only_where_there_is_a_beta() -> None:
    with pytest.raises(OptionError, match="'wracc' has no β"):
        cr.discover(noise(0), "y", control="z", estimator="wracc", beta="calibrated")
    with pytest.raises(OptionError, match=r"beta = 'high': give a number .* or 'calibrated'"):
        cr.discover(noise(0), "y", control="z", beta="high")
    problem = rows_of(cr.discover(noise(0), "y", control="z", k=1))
    with pytest.raises(OptionError, match="needs at least 19"):
        calibrate(Problem((problem,)), Question("y", beta=2.0), permutations=18)
