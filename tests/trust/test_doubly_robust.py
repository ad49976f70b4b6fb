"""Doubly robust effects: against a reference implementation of the formula, and on known populations."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import causalrules as cr
from causalrules.language.learning import FOLDS, fold_of
from causalrules.report.rule_words import IGNORING
from causalrules.result.evidence import DoublyRobust
from causalrules.trust.doubly_robust import standard_error

N, NAMES = 500, ["z0", "z1", "z2"]


class Means:
    """Predicts the mean of the training rows with the same first control, which the reference can reproduce."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {}

    def fit(self, matrix: NDArray[Any], y: NDArray[Any], sample_weight: Any = None) -> Means:
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        self.means = {
            value: np.average(y[matrix[:, 0] == value], weights=weights[matrix[:, 0] == value])
            for value in np.unique(matrix[:, 0])
        }
        return self

    def predict(self, matrix: NDArray[Any]) -> NDArray[Any]:
        return np.array([self.means[value] for value in matrix[:, 0]])

    def predict_proba(self, matrix: NDArray[Any]) -> NDArray[Any]:
        found = self.predict(matrix)
        return np.column_stack([1 - found, found])


def table(seed: int = 0, n: int = N, effect: float = 0.2) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {"z0": rng.integers(0, 3, n), "z1": rng.normal(size=n), "z2": rng.normal(size=n)}
    columns["x"] = rng.random(n) < np.array([0.3, 0.5, 0.7])[columns["z0"]]
    chance = np.array([0.2, 0.4, 0.6])[columns["z0"]] + effect * columns["x"]
    columns["y"] = (rng.random(n) < chance).astype(int)
    return columns


def measured(data: Any, rule: str = "x = True", **options: Any) -> DoublyRobust:
    rules = cr.evaluate(data, rule, "y", control=NAMES, **options).doubly_robust()
    assert rules[0].evidence is not None
    assert rules[0].evidence.doubly_robust is not None
    return rules[0].evidence.doubly_robust


def reference(data: dict[str, Any], counts: NDArray[Any]) -> tuple[float, float]:
    """Compute effect and standard error by the formula, with the means of each value of z0 as models."""
    matrix = np.column_stack([np.asarray(data[name], float) for name in NAMES])
    fold, y, x, z = fold_of(matrix), data["y"], data["x"], data["z0"]
    psi = np.zeros(len(y))
    for i in range(len(y)):
        others = (fold != fold[i]) & (z == z[i])
        e = np.average(x[others], weights=counts[others])
        m1, m0 = (np.average(y[others & (x == side)], weights=counts[others & (x == side)]) for side in (True, False))
        psi[i] = m1 - m0 + (x[i] * (y[i] - m1) / e) - ((1 - x[i]) * (y[i] - m0) / (1 - e))
    effect = np.average(psi, weights=counts)
    return effect, np.sqrt(np.sum(counts * (psi - effect) ** 2)) / counts.sum()


@pytest.mark.parametrize("weighted", [False, True])
def test_the_doubly_robust_effect_equals_the_formula(weighted: bool) -> None:
    data = table()
    counts = np.random.default_rng(1).integers(1, 3, N) if weighted else np.ones(N, int)
    options = {"weights": "n"} if weighted else {}
    found = measured({**data, "n": counts}, adjust_model=Means(), **options)
    effect, error = reference(data, counts)
    assert found.effect == pytest.approx(effect, abs=1e-12)
    assert found.standard_error == pytest.approx(error, abs=1e-12)
    assert (found.overlap, found.clipped, found.n_rows) == (1.0, 0.0, counts.sum())
    assert found.low == pytest.approx(effect - 1.959964 * error, abs=1e-6)


def test_the_effect_on_covered_rows_equals_the_formula() -> None:
    data = table()
    data["y"] = (np.random.default_rng(4).random(N) < 0.2 + 0.3 * data["z0"] * data["x"]).astype(int)
    found = measured(data, adjust_model=Means())
    matrix = np.column_stack([np.asarray(data[name], float) for name in NAMES])
    fold, y, x, z = fold_of(matrix), data["y"], data["x"], data["z0"]
    total = 0.0
    for i in range(N):
        others = (fold != fold[i]) & (z == z[i])
        chance, mean = x[others].mean(), y[others & ~x].mean()
        total += (y[i] - mean) * (1 if x[i] else -chance / (1 - chance))
    assert found.own_effect == pytest.approx(total / x.sum(), abs=1e-12)
    assert found.own_low is not None
    assert found.own_high is not None
    assert found.own_low < 0.3 * z[x].mean() < found.own_high


def test_the_default_models_find_the_effect() -> None:
    for effect in (0.0, 0.3):
        found = measured(table(3, effect=effect))
        assert found.effect is not None
        assert found.standard_error is not None
        assert abs(found.effect - effect) < 3 * found.standard_error
        assert 0.02 < found.standard_error < 0.08


def test_with_many_controls_it_is_near_what_the_true_models_say() -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(size=(2000, 30))
    risk = 1 / (1 + np.exp(-z.sum(axis=1) / np.sqrt(30)))
    data = {f"z{place}": column for place, column in enumerate(z.T)} | {"x": rng.random(2000) < risk}
    data["y"] = (rng.random(2000) < risk).astype(int)
    (rule,) = cr.evaluate(data, "x = True", "y", control=[f"z{place}" for place in range(30)]).doubly_robust()
    assert rule.evidence is not None
    found = rule.evidence.doubly_robust
    assert found is not None
    x, rest = data["x"], data["y"] - risk
    truth = np.mean(np.where(x, rest / risk, -rest / (1 - risk)))
    assert data["y"][x].mean() - data["y"][~x].mean() > 0.12
    assert found.effect == pytest.approx(truth, abs=0.02)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0 < found.high


def test_a_mean_and_reference_rows_and_undecided_rows() -> None:
    data = table()
    rng = np.random.default_rng(2)
    arm = np.where(data["x"], "new", np.where(rng.random(N) < 0.7, "old", "none"))
    data |= {"arm": arm, "y": 100.0 + 5 * data["z1"] + 7 * data["x"] + rng.normal(size=N)}
    found = measured(data, "arm = new", reference={"arm": "old"})
    assert found.effect == pytest.approx(7, abs=1)
    assert found.low is not None
    assert found.low > 6
    holed = {**data, "x": [None if rng.random() < 0.2 else bool(each) for each in data["x"]]}
    undecided = measured(holed)
    assert undecided.n_rows == N
    assert undecided.effect == pytest.approx(7, abs=1)


def test_rules_found_on_some_rows_are_measured_on_the_others() -> None:
    data = table()
    options: dict[str, Any] = {"control": NAMES, "actionable": "x", "k": 1, "adjust_model": Means()}
    half = cr.discover(data, "y", holdout=0.4, **options).doubly_robust()
    assert half[0].evidence is not None
    found = half[0].evidence.doubly_robust
    assert found is not None
    assert found.source == "held-out rows"
    assert found.n_rows == N - half.n_rows
    second = cr.discover(data, "y", holdout=table(7, 300), **options).doubly_robust()
    assert second[0].evidence is not None
    other = second[0].evidence.doubly_robust
    assert other is not None
    assert (other.source, other.n_rows) == ("held-out rows", 300)
    assert other.effect == pytest.approx(reference(table(7, 300), np.ones(300))[0], abs=1e-12)
    assert cr.RuleSet.from_json(second.to_json()) == second


def test_rows_without_comparable_rows_are_excluded_and_reported() -> None:
    data = table(n=900)
    data["x"] = np.where(data["z0"] == 2, np.arange(900) % 150 == 0, data["x"]).astype(bool)
    found = measured(data, adjust_model=Means())
    assert found.overlap == pytest.approx(np.mean(data["z0"] < 2), abs=0.01)
    assert sum(map(sum, found.propensities)) == 900


def test_standard_errors_of_groups_add_up_influence_within_them() -> None:
    influence = np.array([1.0, 1.0, -1.0, 2.0])
    counts = np.ones(4, np.int64)
    assert standard_error(influence, counts, None) == pytest.approx(np.sqrt(7))
    # G/(G − 1) for G = 2 groups.
    assert standard_error(influence, counts, np.array([0, 0, 1, 1], np.int32)) == pytest.approx(np.sqrt(2 * (4 + 1)))


def test_what_it_needs_is_said() -> None:
    rules = cr.discover(table(), "y", actionable="x", k=1)
    with pytest.raises(cr.OptionError, match="no controls"):
        rules.doubly_robust()
    with pytest.raises(cr.OptionError, match="not compared yet"):
        rules[0].balance()
    with pytest.raises(cr.DataError, match="read from a file"):
        cr.RuleSet.from_json(rules.to_json()).doubly_robust()
    few = measured({name: values[:12] for name, values in table().items()})
    assert few.effect is None
    assert FOLDS == 5


def test_balance_before_and_after() -> None:
    data = table(n=3000)
    rules = cr.discover(data, "y", control=["z0"], actionable="x", k=1).doubly_robust()
    shown = rules[0].balance()
    assert shown["control"] == ["z0"]
    covered, others = (np.asarray(data["z0"])[data["x"] == side] for side in (True, False))
    spread = np.sqrt((covered.var() + others.var()) / 2)
    assert shown["before"][0] == pytest.approx((covered.mean() - others.mean()) / spread)
    assert abs(shown["before"][0]) > 0.3
    assert shown["strata"][0] == pytest.approx(0, abs=1e-12)
    assert abs(shown["weighted"][0]) < 0.05
    plotted = rules.plot("balance").plotted
    assert plotted["control"] == ["z0"]
    assert rules.plot("propensity").plotted["rule"].sum() == pytest.approx(1)
    assert "Controls on both sides" in rules.to_html()
    assert f"This interval is {IGNORING}" in rules.to_html()
    named = cr.evaluate(data, "x = True", "y", control=["z0"]).doubly_robust()
    held = cr.discover(data, "y", control=["z0"], actionable="x", k=1, holdout=0.3).doubly_robust()
    assert not any(f"This interval is {IGNORING}" in each.to_html() for each in (named, held))


def confounded(n: int = 1500, effect: float = 0.4, seed: int = 0) -> dict[str, Any]:
    """Eight controls push x and the outcome."""
    rng = np.random.default_rng(seed)
    controls = {f"z{number}": rng.normal(size=n) for number in range(8)}
    risk = 1 / (1 + np.exp(-sum(controls.values()) / 3))
    data = {**controls, "x": rng.random(n) < risk}
    return data | {"y": (rng.random(n) < 0.5 * risk + np.where(data["x"], effect, 0.0)).astype(int)}


CONTROLS = [f"z{number}" for number in range(8)]


def test_strata_of_a_prediction_alone_do_not_make_a_rule_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causalrules.trust.doubly_robust._MOST_WORK", 0)
    rules = cr.discover(confounded(), "y", control=CONTROLS, actionable="x", k=1)
    assert rules[0].measured.is_prognostic
    assert rules[0].measured.modelled is None
    assert rules[0].verdict.evidence == "suggestive"
    assert any("doubly_robust()" in doubt for doubt in rules[0].verdict.doubts)
    later = rules.doubly_robust()[0]
    assert later.verdict.evidence == "supported"
    # It is the answer that comes at once where it takes seconds.
    monkeypatch.undo()
    assert cr.discover(confounded(), "y", control=CONTROLS, actionable="x", k=1)[0] == later


def test_in_strata_of_a_prediction_the_effect_is_the_doubly_robust_one() -> None:
    rules = cr.discover(confounded(), "y", control=CONTROLS, actionable="x", k=1)
    rule = rules[0]
    assert rule.evidence is not None
    found = rule.evidence.doubly_robust
    assert found is not None
    assert (rule.effect, rule.standard_error, *rule.interval) == pytest.approx(
        (found.effect, found.standard_error, found.low, found.high)
    )
    assert rule.p_do_rule - rule.p_do_not_rule == pytest.approx(rule.effect)
    assert rule.measured.in_strata.effect == pytest.approx(found.strata)
    assert rule.effect != rule.measured.in_strata.effect
    assert rule.overlap == found.overlap
    assert "by models of them (doubly robust)" in str(rules)
    assert cr.RuleSet.from_json(rules.to_json()) == rules
    # What the search maximised stays what it was.
    assert rule.value == rule.criterion.value(rule.measured.in_strata)


def test_named_rules_are_tested_by_the_effect_that_is_shown() -> None:
    data = confounded(effect=0.0)
    rule = cr.evaluate(data, "x = True", "y", control=CONTROLS)[0]
    assert rule.measured.modelled is not None
    z = rule.effect / rule.standard_error
    assert rule.p_value == pytest.approx(2 * NormalDist().cdf(-abs(z)), rel=1e-3)
    both = cr.evaluate(data, ["x = True", "x = False"], "y", control=CONTROLS)
    assert both[0].p_value == pytest.approx(min(1.0, 2 * (rule.p_value or 0)), rel=1e-3)
    assert both[1].effect == pytest.approx(-rule.effect, abs=0.02)


def test_groups_widen_the_interval_by_models() -> None:
    data = {name: np.repeat(values, 4) for name, values in confounded(400).items()}
    data["group"] = np.repeat(np.arange(400), 4)
    grouped = cr.evaluate(data, "x = True", "y", control=CONTROLS, groups="group")[0]
    assert grouped.measured.modelled is not None
    assert grouped.measured.modelled.n_groups == 400
    assert grouped.standard_error > 1.7 * cr.evaluate(data, "x = True", "y", control=CONTROLS)[0].standard_error


@pytest.mark.parametrize(("effect", "word"), [(0.0, "not supported"), (0.25, "supported")])
def test_coarse_bins_of_several_controls_make_no_finding(effect: float, word: str) -> None:
    rng = np.random.default_rng(1)
    n = 5000
    z = rng.normal(size=(n, 4))
    risk = 1 / (1 + np.exp(-z.sum(axis=1)))
    data: dict[str, Any] = {f"z{place}": z[:, place] for place in range(4)}
    data["x"] = (rng.random(n) < risk).astype(int)
    data["y"] = (rng.random(n) < 0.1 + 0.5 * risk + effect * data["x"]).astype(int)
    asked: dict[str, Any] = {"control": list(data)[:4], "actionable": "x", "k": 1}
    rules = cr.discover(data, "y", **asked)
    assert rules[0].measured.is_prognostic
    assert any("bins of the controls (z0 in 4" in note for note in rules.notes)
    assert rules[0].verdict.evidence == word
    # In the strata of the bins, the confounding that they leave is found.
    kept = cr.discover(data, "y", adjust="strata", **asked)[0]
    assert kept.stands_out
    assert kept.measured.binned == ("z0", "z1", "z2", "z3")
    assert kept.verdict.evidence == ("suggestive" if not effect else "supported")


def test_bins_of_one_control_leave_little_and_are_kept() -> None:
    rng = np.random.default_rng(0)
    z = rng.random(2000)
    data = {"z": z, "x": rng.random(2000) < z, "y": rng.random(2000) < 0.2 + 0.4 * z + 0.2 * (rng.random(2000) < z)}
    data["y"] = data["y"].astype(int)
    rule = cr.discover(data, "y", control="z", actionable="x", k=1)[0]
    assert rule.measured.binned == ("z",)
    assert not rule.measured.is_prognostic
    assert rule.measured.modelled is None


def test_a_product_that_moves_rows_between_the_sides_is_adjusted_for() -> None:
    """It is too weak to be significant for the outcome of one side."""
    rng, found = np.random.default_rng(0), []
    for _ in range(5):
        z = rng.normal(size=(2000, 8))
        risk = 1 / (1 + np.exp(-z[:, 0] * z[:, 1] - z[:, 2] * z[:, 3]))
        data: dict[str, Any] = {f"z{place}": z[:, place] for place in range(8)}
        data["x"] = rng.random(2000) < risk
        data["y"] = 2 * risk + 2 * rng.normal(size=2000)
        rule = cr.evaluate(data, "x = True", "y", control=CONTROLS)[0]
        found.append((rule.effect, rule.marginal_effect))
    bias, unadjusted = np.mean(found, axis=0)
    assert unadjusted > 0.4
    assert abs(bias) < 0.05
