"""Γ against brute force, populations with a known confounder, and the reversed outcome."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import causalrules as cr
from causalrules.estimators.scores import KAPPA
from causalrules.trust.gamma import MOST, Bias, Outcomes, gammas, odds_factor

side = st.lists(st.integers(0, 3), min_size=1, max_size=3)


def outcomes(strata: list[tuple[list[int], list[int]]]) -> Outcomes:
    """Return entries of single rows: in each stratum, the values where the rule holds and where it fails."""
    rows = sorted(
        (place, value, held)
        for place, sides in enumerate(strata)
        for held, values in zip((1, 0), sides, strict=True)
        for value in values
    )
    stratum, value, held = (np.array(column) for column in zip(*rows, strict=True))
    ones = np.ones(len(rows))
    return Outcomes(stratum, value.astype(float), held.astype(float), 1.0 - held, ones)


def extreme(values: list[int], share: list[float], gamma: float, sign: int) -> float:
    """Return the smallest (sign 1) or largest mean over factors in [1/Γ, Γ] of mean 1; all but one are at an end."""
    best = np.inf
    for free in range(len(values)):
        others = [place for place in range(len(values)) if place != free]
        for ends in itertools.product((1 / gamma, gamma), repeat=len(others)):
            left = 1 - sum(share[place] * end for place, end in zip(others, ends, strict=True))
            factor = left / share[free]
            if 1 / gamma - 1e-9 <= factor <= gamma + 1e-9:
                mean = left * values[free]
                mean += sum(share[place] * end * values[place] for place, end in zip(others, ends, strict=True))
                best = min(best, sign * mean)
    return sign * best


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(side, side), min_size=1, max_size=2), st.floats(1, 6))
def test_the_bias_is_the_maximum_over_all_reweightings(strata: list[tuple[list[int], list[int]]], gamma: float) -> None:
    expected, n_rows = 0.0, sum(len(on) + len(off) for on, off in strata)
    for on, off in strata:
        every, n = [*on, *off], len(on) + len(off)
        both = []
        for values in (on, off):
            # the rows of a side, and two pseudo-rows spread over all rows of the stratum
            share = [((place < len(on)) == (values is on)) + KAPPA / n for place in range(n)]
            both.append([each / (len(values) + KAPPA) for each in share])
        means = [float(np.dot(share, every)) for share in both]
        moved = len(off) / n * (means[0] - extreme(every, both[0], gamma, 1))
        moved += len(on) / n * (extreme(every, both[1], gamma, -1) - means[1])
        expected += n / n_rows * moved
    assert Bias(outcomes(strata))(gamma) == pytest.approx(expected, abs=1e-9)


@given(st.floats(0.02, 0.98), st.floats(0.02, 0.98), st.floats(1, 20))
def test_an_outcome_has_the_bounds_in_closed_form(p: float, q: float, gamma: float) -> None:
    n = 10**7  # enough rows for pseudo-rows to be negligible
    table = [(round(p * n), n - round(p * n), round(q * n), n - round(q * n))]
    least, most = max(p / gamma, 1 - (1 - p) * gamma), min(q * gamma, 1 - (1 - q) / gamma)
    assert Bias(Outcomes.of_counts(table))(gamma) == pytest.approx((p - least) / 2 + (most - q) / 2, abs=1e-5)


counts = st.tuples(*[st.integers(0, 60)] * 4)


@settings(max_examples=40)
@given(st.lists(counts, min_size=1, max_size=4), st.floats(0.01, 0.5), st.floats(0, 0.3))
def test_gamma_is_invariant_to_reversing_the_outcome_or_the_rule(
    tables: list[tuple[int, int, int, int]], effect: float, reach: float
) -> None:
    tables = [*tables, (5, 6, 7, 8)]
    ends = (effect, effect - reach, effect + reach)
    turned = (-effect, -effect - reach, -effect + reach)
    mine = gammas(Outcomes.of_counts(tables), *ends)
    assert mine == pytest.approx(gammas(Outcomes.of_counts([(b, a, d, c) for a, b, c, d in tables]), *turned))
    assert mine == pytest.approx(gammas(Outcomes.of_counts([(c, d, a, b) for a, b, c, d in tables]), *turned))
    assert 1 <= mine[1] <= mine[0] * (1 + 1e-9) <= MOST * 2
    if reach >= effect:
        assert mine[1] == 1


@given(st.floats(0.05, 0.45), st.floats(0.05, 0.45), st.floats(0.1, 0.9), st.floats(0.1, 0.9))
def test_a_confounder_explains_no_more_than_its_own_gamma(low: float, shift: float, base: float, rise: float) -> None:
    """U is 0 or 1 and affects rule and outcome, the rule has no effect: U's Γ suffices to make the effect 0."""
    held = np.array([low, low + shift])  # P(rule | u), u a coin
    happens = np.array([base * (1 - rise), base])  # P(outcome | u)
    n = 10**9
    a, c = (float(np.sum(0.5 * side * happens)) for side in (held, 1 - held))
    covered = float(np.mean(held))
    effect = a / covered - c / (1 - covered)
    odds = held / (1 - held) / (covered / (1 - covered))
    own = float(max(odds.max(), 1 / odds.min()))
    table = [tuple(round(n * each) for each in (a, covered - a, c, 1 - covered - c))]
    gamma, _ = gammas(Outcomes.of_counts(table), effect, effect, effect)
    assert gamma <= own * (1 + 1e-4)
    assert odds_factor([n * 0.5 * held], [n * 0.5 * (1 - held)]) == pytest.approx(own)


def sample(seed: int, numeric: bool) -> dict[str, Any]:
    rng = np.random.default_rng([31, seed])
    z = rng.integers(0, 2, 600)
    x = (rng.random(600) < 0.3 + 0.3 * z).astype(int)
    if numeric:
        return {"x": x, "z": z, "y": np.round(rng.normal(size=600) + z + 0.6 * x, 2)}
    return {"x": x, "z": z, "y": (rng.random(600) < 0.2 + 0.2 * z + 0.3 * x).astype(int)}


@pytest.mark.parametrize("numeric", [False, True])
def test_the_number_does_not_depend_on_the_coding(numeric: bool) -> None:
    columns = sample(0, numeric)
    (rule,) = cr.evaluate(columns, "x = 1", "y", control="z").sensitivity()
    turned = {**columns, "y": 1 - columns["y"]} if not numeric else {**columns, "y": 5 - 3 * columns["y"]}
    (other,) = cr.evaluate(turned, "x = 1", "y", control="z", direction="decrease").sensitivity()
    first, second = rule.evidence.sensitivity, other.evidence.sensitivity  # type: ignore[union-attr]
    assert first is not None
    assert second is not None
    assert (first.gamma, first.gamma_limit) == pytest.approx((second.gamma, second.gamma_limit), rel=1e-6)
    assert (first.e_value is None) == numeric
    assert rule.verdict.robustness == first.gamma_limit
    assert rule.verdict.robustness is not None
    assert rule.verdict.robustness > 1.2
    assert (rule.verdict.direction, other.verdict.direction) == ("raises", "lowers")
    by_design = cr.evaluate(columns, "x = 1", "y", control="z", randomised="x").sensitivity()[0]
    assert by_design.evidence is None
    assert by_design.verdict.robustness is None
