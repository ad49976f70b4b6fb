"""Prognostic strata: no row is scored by a model trained on it, row order does not matter, auto is reported."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import causalrules as cr
from causalrules.data.reading import read
from causalrules.exceptions import MissingPackageError
from causalrules.language.features import MOST_CATEGORIES, Features
from causalrules.language.learning import FOLDS, Learner, cross_fit, fold_of, predict
from causalrules.language.prognostic import ScoreBins, quantiles
from causalrules.result.measured import Measured
from rulesets import rows_of

N, CONTROLS = 600, 6
NAMES = [f"z{number}" for number in range(CONTROLS)]


class Recorder:
    """A model that records the rows it was fitted to, and predicts the first control."""

    def __init__(self, seen: list[Any] | None = None) -> None:
        self.seen = seen

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"seen": self.seen}

    def fit(self, matrix: NDArray[Any], y: NDArray[Any], sample_weight: Any = None) -> Recorder:
        self.rows = {row.tobytes() for row in matrix}
        self.first = matrix[0].tobytes()
        return self

    def predict(self, matrix: NDArray[Any]) -> NDArray[Any]:
        assert not self.rows & {row.tobytes() for row in matrix}
        return np.asarray(matrix[:, 0])


def table(seed: int = 0, n: int = N) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    controls = rng.normal(size=(n, CONTROLS))
    severity = controls.sum(axis=1) / np.sqrt(CONTROLS)
    columns: dict[str, Any] = dict(zip(NAMES, controls.T, strict=True))
    columns["cause"] = rng.random(n) < 0.5
    columns["company"] = rng.random(n) < 1 / (1 + np.exp(-2 * severity))
    chance = 0.7 / (1 + np.exp(-2 * severity)) + 0.25 * columns["cause"]
    columns["y"] = (rng.random(n) < chance).astype(int)
    return columns


def quick() -> Any:
    """Return a model that fits quickly, and depends on the order of sums as trees do."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=5)


def found(data: Any, **options: Any) -> cr.RuleSet:
    return cr.discover(
        data, "y", control=NAMES, actionable=["cause", "company"], k=2, max_length=1, beta=1.0, **options
    )


def test_no_model_predicts_a_row_that_it_was_trained_on() -> None:
    data = table()
    read_table = read(data)
    features = Features.of(read_table, NAMES)
    matrix = features.matrix(read_table)
    fold = fold_of(matrix)
    models = cross_fit(Learner(features, False, Recorder()), matrix, matrix[:, 1], np.ones(N), fold)
    assert np.array_equal(predict(models, matrix, fold), matrix[:, 0])
    with pytest.raises(AssertionError):
        predict(models, matrix, (fold + 1) % FOLDS)


def test_prognostic_strata_find_the_cause_and_not_its_correlates() -> None:
    unadjusted = cr.discover(table(), "y", actionable=["cause", "company"], k=2, max_length=1)
    assert "company" in unadjusted[0].text
    rules = found(table())
    assert rules[0].text == "cause = True"
    assert {name for stratum in rules[0].strata for name in stratum.labels} == {"predicted probability"}
    company = cr.evaluate(table(), "company = True", "y", control=NAMES)[0]
    assert abs(company.effect) < 0.5 * abs(company.marginal_effect)


def in_strata(rules: cr.RuleSet) -> list[tuple[str, Measured]]:
    return [(rule.text, rule.measured.in_strata) for rule in rules]


def test_the_same_rows_in_another_order_have_the_same_strata() -> None:
    data = table()
    order = np.random.default_rng(5).permutation(N)
    mixed = {name: values[order] for name, values in data.items()}
    one, other = (found(each, adjust_model=quick()) for each in (data, mixed))
    assert in_strata(one) == in_strata(other)
    assert [rule.effect for rule in one] == pytest.approx([rule.effect for rule in other], abs=1e-9)
    assert np.array_equal(rows_of(one).stratum[order], rows_of(other).stratum)
    assert in_strata(found(data, seed=1, adjust_model=quick())) != in_strata(one)


def test_auto_reports_its_choice_and_keeps_large_strata() -> None:
    data = table()
    rules = found(data, adjust_model=quick())
    (note,) = [note for note in rules.notes if "adjust=" in note]
    assert "strata of 6 controls hold fewer than 10 of the 600 rows" in note
    assert found(data, adjust="prognostic", adjust_model=quick()).rules == rules.rules
    thick = cr.discover(data, "y", control="cause", actionable="company")
    assert thick.rules == cr.discover(data, "y", control="cause", actionable="company", adjust="strata").rules
    assert not any("adjust=" in note for note in thick.notes)
    exact = found(data, adjust="strata")
    assert exact.n_strata > N / 2
    few = {name: values[:199] for name, values in data.items()}
    assert found(few).rules == found(few, adjust="strata").rules


def test_auto_keeps_strata_of_a_control_that_no_model_can_learn() -> None:
    # Two rows of each doctor, whose habits and patients differ: prognostic strata mistake the habit for an effect.
    rng = np.random.default_rng(8)
    doctor = np.repeat(np.arange(300), 2)
    level = 2 * rng.normal(size=300)[doctor]
    data = {"doctor": [f"d{number}" for number in doctor], "habit": rng.normal(size=600) + level > 0}
    data["y"] = (rng.normal(size=600) + level > 0).astype(int)
    kept = cr.discover(data, "y", control="doctor", k=1)
    assert kept.n_strata == 300
    assert abs(kept[0].effect) < 0.15 < 0.4 < kept[0].marginal_effect
    (note,) = [note for note in kept.notes if "adjust=" in note]
    assert "control 'doctor' has 300 values, too few rows of each for a model to learn: the strata are kept" in note
    learnt = cr.discover(data, "y", control="doctor", k=1, adjust="prognostic", adjust_model=quick())
    assert learnt[0].effect > 0.3
    # With a numeric control every row is alone in its stratum: then models, with a warning.
    alone = cr.discover(data | {"z": rng.normal(size=600)}, "y", control=["doctor", "z"], k=1, adjust_model=quick())
    assert alone[0].measured.is_prognostic
    assert any("control 'doctor' has 300 values" in note and "group its values" in note for note in alone.notes)


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    actual = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "sklearn" else actual(name))
    rules = found(table())
    assert rules.rules == found(table(), adjust="strata").rules
    assert any('pip install "causalrules[ml]"' in note for note in rules.notes)
    with pytest.raises(MissingPackageError, match="adjust='prognostic' needs scikit-learn"):
        found(table(), adjust="prognostic")


def test_a_mean_is_predicted_too_and_a_given_model_is_used() -> None:
    from sklearn.linear_model import LinearRegression

    data = table()
    rng = np.random.default_rng(3)
    data["y"] = 10 * sum(data[name] for name in NAMES) + 8 * data["cause"] + rng.normal(size=N)
    rules = found(data, adjust_model=LinearRegression())
    assert rules[0].text == "cause = True"
    assert abs(rules[0].effect - 8) < 2
    assert "predicted mean" in rules[0].strata[0].labels
    with pytest.raises(cr.OptionError, match="adjust_model"):
        found(data, adjust_model="linear")
    holed = {**data, "z0": np.where(rng.random(N) < 0.1, np.nan, data["z0"])}
    with pytest.raises(cr.OptionError, match="cannot be fitted to the controls"):
        found(holed, missing_control="value", adjust_model=LinearRegression())
    assert found(holed)[0].text == "cause = True"


def test_results_survive_json_and_new_rows_find_their_strata() -> None:
    rules = found(table(), holdout=0.5, adjust_model=quick())
    assert rules[0].evidence is not None
    assert rules[0].evidence.honest is not None
    assert cr.RuleSet.from_json(rules.to_json()) == rules
    second = found(table(), holdout=table(1), adjust_model=quick())
    assert second[0].evidence is not None
    assert second[0].evidence.honest is not None
    effect = second[0].evidence.honest.effect
    assert effect is not None
    assert abs(effect - 0.25) < 0.12


def test_repeated_weighted_rows_are_rejected_or_keep_their_strata() -> None:
    data = {**table(), "n": np.where(np.arange(N) % 2, 1, 5)}
    with pytest.raises(cr.OptionError, match="repeat the rows instead"):
        found(data, adjust="prognostic", weights="n")
    assert found(data, weights="n").n_strata > N / 2
    once = found({**data, "n": np.ones(N, int)}, weights="n", adjust_model=quick())
    assert once.rules == found(table(), adjust_model=quick()).rules


def test_rows_in_files_have_the_strata_of_rows_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas as pd

    frame = pd.DataFrame({**table(), "z0": np.random.default_rng(2).choice(np.array(["a", "b", None], object), N)})
    expected = found(frame, adjust_model=quick())
    assert "predicted probability" in expected[0].strata[0].labels
    frame.to_parquet(tmp_path / "rows.parquet")
    monkeypatch.setattr("causalrules.data.reading.STREAMED_FROM", 0)
    streamed = found(str(tmp_path / "*.parquet"), adjust_model=quick())
    assert in_strata(streamed) == in_strata(expected)
    # Models of the controls need the rows in memory.
    assert expected[0].measured.modelled is not None
    assert streamed[0].measured.modelled is None
    assert streamed[0].effect == expected[0].measured.in_strata.effect


def test_rare_categories_are_merged_with_a_note() -> None:
    rng = np.random.default_rng(0)
    names = np.array([f"town {number}" for number in range(400)])
    data = {"town": names[np.sort(rng.integers(0, 400, 3000))], "u": rng.normal(size=3000)}
    features = Features.of(read(data), ["town", "u"])
    matrix = features.matrix(read(data))
    assert len(np.unique(matrix[:, 0])) == MOST_CATEGORIES
    assert "199 most frequent ones" in features.notes[0]
    new = read({"town": ["town 0", "elsewhere", None], "u": [0.0, 1.0, None]})
    assert np.isnan(features.matrix(new)).tolist() == [[False, False], [True, False], [True, True]]


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=40), st.integers(2, 8))
def test_quantiles_hold_equally_many_rows_but_for_ties(scores: list[float], n_bins: int) -> None:
    values = np.array(scores)
    uppers = quantiles(values, np.ones(len(values)), n_bins)
    assert len(uppers) < n_bins
    assert np.all(np.diff(uppers) > 0)
    assert np.isin(uppers, values).all()
    if len(values) > 0 and len(np.unique(values)) == len(values):
        assert np.ptp(np.bincount(np.searchsorted(uppers, values))) <= 1
    sizes = np.bincount(np.searchsorted(uppers, values))
    assert sizes.min() > 0


@given(st.integers(0, 3), st.integers(1, 60), st.integers(1, 12))
@settings(max_examples=30)
def test_folds_spread_equal_rows_and_keep_groups_together(seed: int, n_rows: int, n_groups: int) -> None:
    same = np.zeros((n_rows, 2))
    assert np.ptp(np.bincount(fold_of(same, seed), minlength=FOLDS)) <= 1
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, n_groups, n_rows)
    fold = fold_of(rng.normal(size=(n_rows, 2)), seed, groups)
    assert all(len(set(fold[groups == group])) == 1 for group in set(groups.tolist()))


def test_one_bin_where_the_controls_predict_nothing() -> None:
    bins = ScoreBins(Features(()), (), np.empty(0), 0)
    assert bins.n_bins == 1
