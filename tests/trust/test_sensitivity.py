"""E-values on published examples, measured controls as benchmarks, and rows without a comparison group."""

from __future__ import annotations

import itertools
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import causalrules as cr
from causalrules.estimators import scores
from causalrules.exceptions import CausalRulesWarning
from causalrules.result.rule import RuleResult
from causalrules.trust.overlap import measure
from causalrules.trust.sensitivity import bias_factor, control_strengths, e_value, risk_ratio_and_limit
from populations import benchmark
from strategies import TARGET, SmallTable, small_tables

DATA = Path(os.environ.get("CAUSALRULES_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))


@pytest.mark.parametrize(
    ("estimate", "limit", "e_estimate", "e_limit"),
    [
        (3.9, 1.8, 7.26, 3.0),  # breastfeeding and infant death by respiratory infection
        (0.80, 0.91, 1.81, 1.43),  # a protective effect, by its inverse
        (10.73, 8.02, 20.9, 15.5),  # smoking and lung cancer (Hammond and Horn)
        (1.0, 1.0, 1.0, 1.0),
    ],
)
def test_published_e_values(estimate: float, limit: float, e_estimate: float, e_limit: float) -> None:
    digits = 1 if estimate > 10 else 2
    assert round(e_value(estimate), digits) == pytest.approx(e_estimate, abs=0.051 if digits == 1 else 0)
    assert round(e_value(limit), digits) == pytest.approx(e_limit, abs=0.051 if digits == 1 else 0)


@given(st.floats(0.01, 100))
def test_a_confounder_as_strong_as_the_e_value_just_explains_the_ratio(ratio: float) -> None:
    strength = e_value(ratio)
    assert bias_factor(strength, strength) == pytest.approx(max(ratio, 1 / ratio))


counts = st.tuples(*[st.integers(1, 200)] * 4)


@given(counts, st.integers(1, 6))
def test_strata_that_are_alike_have_the_delta_methods_interval(table: tuple[int, int, int, int], n_strata: int) -> None:
    a, b, c, d = table
    found = risk_ratio_and_limit([table] * n_strata)
    assert found is not None
    ratio = a / (a + b) / (c / (c + d))
    variance = 0.0
    for with_outcome, k in ((a, a + b), (c, c + d)):
        m, share = n_strata * k, with_outcome / k
        within = share * (1 - share) * k / (k - 1) if k > 1 else 0.0
        ratio_of_variances = (n_strata * (k - 1) * within + 1) / (n_strata * (k - 1) * share * (1 - share) + 1)
        corrected = (m * share + 1) / (m + 2)
        variance += corrected * (1 - corrected) * ratio_of_variances / m / share**2
    ends = [ratio * math.exp(sign * 1.959964 * math.sqrt(variance)) for sign in (-1, 1)]
    limit = 1.0 if ends[0] <= 1 <= ends[1] else ends[0] if ratio > 1 else ends[1]
    assert found == pytest.approx((ratio, limit), rel=1e-5)


@given(st.integers(1, 500), st.integers(0, 200), st.integers(0, 200))
def test_a_side_where_it_always_happened_is_not_certain(n: int, c: int, d: int) -> None:
    found, certain = risk_ratio_and_limit([(n, 0, c + 1, d + 1)]), math.sqrt(1 / (c + 1) - 1 / (c + d + 2))
    assert found is not None
    ratio, limit = found
    # The end from the other side's error alone (Wald's, which takes this side to be certain).
    assert limit == 1 or limit < ratio * math.exp(-1.959964 * certain)


@given(st.lists(st.tuples(*[st.integers(0, 20)] * 4), min_size=1, max_size=4))
def test_ratios_are_finite_whatever_the_counts(tables: list[tuple[int, int, int, int]]) -> None:
    found = risk_ratio_and_limit(tables)
    if not any(a + b and c + d for a, b, c, d in tables):
        assert found is None
        return
    assert found is not None
    ratio, limit = found
    assert 0 < min(ratio, 1.0) <= limit <= max(ratio, 1.0) < math.inf
    if (
        ratio != 1
        and any(a for a, b, c, d in tables if a + b and c + d)
        and any(c for a, b, c, d in tables if a + b and c + d)
    ):
        arrays = np.array(tables).T
        assert ratio == pytest.approx(scores.p_do_rule(*arrays) / scores.p_do_not_rule(*arrays))


@settings(suppress_health_check=[HealthCheck.filter_too_much], max_examples=40, deadline=None)
@given(small_tables(max_rows=40))
def test_leaving_a_control_out_is_not_adjusting_for_it(table: SmallTable) -> None:
    assume(len(table.control) == 2)
    columns = table.columns()
    asked: dict[str, Any] = {"actionable": ["x0"], "k": 2, "beta": 1.0, "stepwise": False, "missing_control": "value"}
    rules = cr.discover(columns, TARGET, control=list(table.control), **asked)
    assume(len(rules) > 0)
    without = {
        left_out: cr.discover(columns, TARGET, control=[name for name in table.control if name != left_out], **asked)
        for left_out in table.control
    }
    for rule in rules:
        strengths = control_strengths(rule)
        assert {each.control for each in strengths} == set(table.control)
        for found in strengths:
            same = next(other for other in without[found.control] if other.conditions == rule.conditions)
            expected = None if math.isnan(same.effect) else same.effect
            assert found.effect_without == pytest.approx(expected)


def population(seed: int = 0, n: int = 20_000) -> dict[str, Any]:
    """Draw a table: z strongly affects rule and outcome, v only the outcome, and x has an effect of 0.2."""
    rng = np.random.default_rng(seed)
    z, v = rng.integers(0, 2, n), rng.integers(0, 2, n)
    x = (rng.random(n) < 0.2 + 0.6 * z).astype(int)
    y = (rng.random(n) < 0.1 + 0.2 * x + 0.4 * z + 0.2 * v).astype(int)
    return {"x": x, "z": z, "v": v, "y": y}


def test_measured_controls_are_benchmarks() -> None:
    rule = cr.discover(population(), "y", control=["z", "v"], actionable="x", k=1).sensitivity()[0]
    assert rule.text == "x = 1"
    found = rule.evidence.sensitivity  # type: ignore[union-attr]
    assert found is not None
    assert [control.control for control in found.controls] == ["z", "v"]
    z, v = found.controls
    assert z.with_rule == pytest.approx(0.8 / 0.2, rel=0.05)
    assert z.with_outcome == pytest.approx(0.6 / 0.2, rel=0.1)
    assert z.gamma == pytest.approx(4, rel=0.1)  # odds of 0.2/0.8 and 0.8/0.2 instead of 1
    assert v.with_rule == pytest.approx(1, abs=0.05)
    assert v.gamma == pytest.approx(1, abs=0.05)
    assert v.strength is not None
    assert v.strength < 1.3
    # Without z, the effect includes that of z; without v it is unchanged.
    assert z.effect_without == pytest.approx(0.2 + 0.4 * 0.6, abs=0.03)
    assert v.effect_without == pytest.approx(rule.effect, abs=0.01)
    assert found.risk_ratio == pytest.approx(rule.p_do_rule / rule.p_do_not_rule)
    assert f"'z' {z.gamma:.2f} times, 'v' {v.gamma:.2f} times" in found.sentence
    alone = cr.discover(population(), "y", actionable="x", k=1).sensitivity()[0].evidence
    assert alone is not None
    assert alone.sensitivity is not None
    assert alone.sensitivity.controls == ()
    assert "no measured control" in alone.sensitivity.sentence
    # If x has no effect, a hidden z explains the whole difference: Γ says that less than z suffices.
    noise = population()
    noise["y"] = (np.random.default_rng(1).random(20_000) < 0.1 + 0.8 * noise["z"]).astype(int)
    hidden = cr.discover(noise, "y", actionable="x", k=1).sensitivity()[0].verdict
    assert (hidden.evidence, hidden.strong) == ("supported", False)
    assert hidden.robustness is not None
    assert 1.5 < hidden.robustness < 4


def test_a_published_example_of_directional_ratios() -> None:
    """One control, counts (a, b, c, d) of both values; by hand: RR_EU 0.99/0.7, RR_UD 0.5/0.1."""
    (control,) = control_strengths(rule_of([(1, 9, 30, 270), (495, 495, 350, 350)]))
    assert control.with_rule == pytest.approx(0.99 / 0.7)
    assert control.with_outcome == pytest.approx(5)
    assert control.strength == pytest.approx(1.94, abs=0.005)


@given(st.lists(st.lists(counts, min_size=2, max_size=2), min_size=1, max_size=3))
def test_ratios_are_those_within_the_strata_of_the_other_controls(nested: list[list[tuple[int, ...]]]) -> None:
    tables = [table for stratum in nested for table in stratum]
    labels = [{"z": str(value), "other": str(place)} for place, stratum in enumerate(nested) for value in range(2)]
    a, b, c, d = np.array(tables).T
    rule = RuleResult.from_counts([], a, b, c, d, labels, 2.0, "reliable")
    rows = np.array(tables).sum(axis=1).reshape(-1, 2)
    assume((rows.sum(axis=0) >= 0.05 * rows.sum()).all())
    found = next(each for each in control_strengths(rule) if each.control == "z")
    on, off = (np.array(n).reshape(-1, 2) for n in (a + b, c + d))
    weight = rows.sum(axis=1) / rows.sum()
    shares = [sum(w * row / row.sum() for w, row in zip(weight, side, strict=True)) for side in (on, off)]
    if rule.effect < 0:
        shares.reverse()
    assert found.with_rule == pytest.approx(max(shares[0] / shares[1]))
    assert found.gamma >= 1


def test_a_few_rows_do_not_make_a_control_strong() -> None:
    """Values of three rows, all with the rule and the outcome, do not make a control a strong confounder."""
    common = (250, 250, 250, 250)
    tables = [common, common, (3, 0, 0, 0), (0, 0, 0, 3)]
    (control,) = control_strengths(rule_of(tables))
    assert control.gamma < 1.7
    assert control.strength is not None
    assert control.strength < 1.7
    (strong,) = control_strengths(rule_of([(400, 50, 40, 10), (10, 40, 50, 400)]))
    assert strong.gamma > 5
    assert strong.strength is not None
    assert strong.strength > 5


@given(st.lists(counts, min_size=2, max_size=4))
def test_a_control_is_as_strong_for_a_rule_as_for_its_negation(tables: list[tuple[int, int, int, int]]) -> None:
    rule = rule_of(tables)
    assume(abs(rule.effect) > 1e-9)
    (mine,) = control_strengths(rule)
    (negation,) = control_strengths(rule_of([(c, d, a, b) for a, b, c, d in tables]))
    assert mine.with_rule == pytest.approx(negation.with_rule)
    assert mine.strength == pytest.approx(negation.strength)
    assert mine.gamma == pytest.approx(negation.gamma)


def rule_of(tables: list[tuple[int, int, int, int]]) -> RuleResult:
    labels = [{"z": str(place)} for place in range(len(tables))]
    a, b, c, d = np.array(tables).T
    return RuleResult.from_counts([], a, b, c, d, labels, 2.0, "reliable")


@given(st.lists(st.tuples(*[st.sampled_from([0, 0, 1, 5, 9])] * 4), min_size=1, max_size=5))
def test_the_bounds_are_those_of_every_unknown_share(tables: list[tuple[int, int, int, int]]) -> None:
    assume(sum(map(sum, tables)))
    found = measure(rule_of(tables))
    total = sum(map(sum, tables))
    effects, alone = (
        [],
        [table for table in tables if sum(table) and not ((table[0] + table[1]) * (table[2] + table[3]))],
    )
    for unknown in itertools.product((0, 1), repeat=len(alone)):
        shares, effect = iter(unknown), 0.0
        for a, b, c, d in tables:
            if a + b + c + d:
                p = a / (a + b) if a + b else next(shares)
                q = c / (c + d) if c + d else next(shares)
                effect += (p - q) * (a + b + c + d) / total
        effects.append(effect)
    assert (found.low, found.high) == pytest.approx((min(effects), max(effects)))
    assert (found.n_strata, found.n_rows) == (len(alone), sum(map(sum, alone)))
    assert found.share == pytest.approx(found.n_rows / total)
    assert found.effect_with == pytest.approx(scores.plugin_effect(*np.array(tables).T))


def test_a_missing_comparison_group_is_warned_about() -> None:
    columns = {"x": [0, 1] * 10 + [1] * 5, "z": ["a"] * 20 + ["b"] * 5, "y": [0, 1, 1, 1, 0] * 5}
    rules = cr.discover(columns, "y", control="z", actionable="x", k=1)
    with pytest.warns(CausalRulesWarning, match="lack a comparison group for more than 10 %.*for 20 %: in"):
        rules.overlap()
    found = rules.overlap(most=0.2)[0].evidence  # a warning would be an error here
    assert found is not None
    assert found.overlap is not None
    assert (found.overlap.n_strata, found.overlap.n_rows) == (1, 5)


@pytest.mark.skipif(not (DATA / "causal").is_dir(), reason="no data: set CAUSALRULES_DATA to their folder")
def test_lalonde_is_nearer_to_the_experiment_when_adjusted_and_lacks_overlap() -> None:
    module = benchmark()
    experiment, observed = module.lalonde_columns()
    truth = module.programme(experiment, [])[1].effect
    unadjusted = module.programme(observed, [])[1].effect
    rules, adjusted = module.programme(observed, module.COVARIATES)
    assert truth == pytest.approx(0.111, abs=0.001)
    assert abs(adjusted.effect - truth) < 0.06 < 0.2 < abs(unadjusted - truth)
    with pytest.warns(CausalRulesWarning, match="for 87 %"):
        rules.overlap()
