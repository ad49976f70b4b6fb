"""CausalRules finds what discover() finds, and scikit-learn takes it for one of its own."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

import causalrules as cr
from causalrules import estimators
from causalrules.exceptions import DataError, InputError, OptionError
from causalrules.sklearn import NotFittedError
from strategies import TARGET, SmallTable, small_tables

PASSENGERS = cr.datasets.titanic(library="pandas")
X = PASSENGERS.drop(columns="survived")
Y = PASSENGERS["survived"]


def test_fit_finds_the_rules_of_discover() -> None:
    model = cr.CausalRules(k=4, beta=1.0, max_length=2).fit(X, Y, control=["sex"])
    rules = cr.discover(PASSENGERS, "survived", control="sex", k=4, beta=1.0, max_length=2)
    assert list(model.rules_) == list(rules)
    assert model.rules_.question == rules.question
    assert model.n_features_in_ == 7
    assert model.feature_names_in_.tolist() == list(X.columns)
    assert model.get_feature_names_out().tolist() == [str(rule) for rule in rules]


def test_its_parameters_are_those_of_discover() -> None:
    own = inspect.signature(cr.CausalRules).parameters
    of_discover = inspect.signature(cr.discover).parameters
    for name, parameter in own.items():
        assert parameter.default == of_discover[name].default


def test_beta_or_confidence() -> None:
    model = cr.CausalRules(k=1, confidence=0.5, actionable=["class"])
    # Wherever the model has been, nobody has given it a beta.
    for same in (model, clone(model), pickle.loads(pickle.dumps(model))):
        assert same.fit(X, Y).rules_.question.beta == pytest.approx(0.674, abs=1e-3)
    with pytest.raises(OptionError, match=r"confidence = 0.5: it means the same as beta"):
        cr.CausalRules(beta=2.0, confidence=0.5).fit(X, Y)


def test_the_graph_is_checked_and_kept() -> None:
    graph = "{class sex} -> survived; sex -> class"
    model = cr.CausalRules(graph=graph, actionable=["class"], k=2)
    fitted = clone(model).fit(X, Y, control="sex")
    assert fitted.rules_.admissibility is not None
    assert fitted.rules_.admissibility.status == "admissible"
    with pytest.raises(cr.InadmissibleError):
        model.fit(X, Y)
    allowed = clone(model).set_params(allow_inadmissible=True).fit(X, Y)
    assert allowed.rules_[0].identification is not None
    assert allowed.rules_[0].identification.identified is False


@given(small_tables(), st.data())
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_a_weight_is_a_row_written_so_often(table: SmallTable, data: st.DataObject) -> None:
    columns = {name: np.array(values, dtype=object) for name, values in table.columns().items()}
    times = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(table.rows), max_size=len(table.rows))))
    written = {name: np.repeat(values, times) for name, values in columns.items()}
    y, long_y = columns.pop(TARGET), written.pop(TARGET)
    model = cr.CausalRules(k=3, max_length=2, n_jobs=1)
    control = list(table.control)
    weighted = clone(model).fit(columns, y, control=control, sample_weight=times.astype(float))
    repeated = clone(model).fit(written, long_y, control=control)
    assert list(weighted.rules_) == list(repeated.rules_)
    assert weighted.score(columns, y, sample_weight=times) == repeated.score(written, long_y)
    assert weighted.score(columns, y, times) == pytest.approx(weighted.score(written, long_y))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0] * 890, "one number for each of the 891 rows"),
        ([0.5] * 891, "sample_weight is 0.5 in row 1; .*whole numbers"),
        ([1] * 890 + [-1], "sample_weight is -1 in row 891"),
        ([1] * 890 + [np.nan], "sample_weight is nan in row 891"),
        (["much"] * 891, "not a number"),
        ([0] * 891, "no row has a weight above zero"),
    ],
)
def test_weights_that_count_no_rows_are_an_error(weights: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        cr.CausalRules().fit(X, Y, sample_weight=weights)


def test_transform_gives_what_it_was_given() -> None:
    model = cr.CausalRules(k=3).fit(X, Y)
    expected = np.column_stack([rule.covers(X) for rule in model.rules_])
    shuffled = X.sample(frac=1, random_state=1)
    made = model.transform(shuffled)
    assert isinstance(made, pd.DataFrame)
    assert made.index.equals(shuffled.index)
    assert made.columns.tolist() == model.get_feature_names_out().tolist()
    assert made.sort_index().to_numpy().tolist() == expected.tolist()
    in_polars = model.transform(pl.from_pandas(X))
    assert isinstance(in_polars, pl.DataFrame)
    assert in_polars.to_numpy().tolist() == expected.tolist()
    as_dict = model.transform(X.to_dict("list"))
    assert as_dict.dtype == np.bool_
    assert as_dict.tolist() == expected.tolist()
    assert cr.CausalRules(k=3).fit_transform(X, Y).equals(model.transform(X))


def test_an_array_has_columns_by_number() -> None:
    array = X[["class", "sibsp", "parch"]].to_numpy()
    model = cr.CausalRules(k=3).fit(array, Y.to_numpy(), control="x1")
    named = cr.discover({"x0": array[:, 0], "x1": array[:, 1], "x2": array[:, 2], "y": Y}, "y", control="x1", k=3)
    assert list(model.rules_) == list(named)
    assert model.transform(array.tolist()).tolist() == model.transform(array).tolist()
    # names from fit() are kept for an array of the same width
    framed = cr.CausalRules(k=3).fit(X[["class", "sibsp", "parch"]], Y)
    assert framed.transform(array).tolist() == framed.transform(X).to_numpy().tolist()
    with pytest.raises(DataError, match="X has 2 columns, but fit"):
        model.transform(array[:, :2])


@given(small_tables(), st.integers(1, 4))
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_an_effect_is_that_of_the_first_rule_a_row_satisfies(table: SmallTable, k: int) -> None:
    columns = table.columns()
    y = columns.pop(TARGET)
    model = cr.CausalRules(k=k, max_length=2, n_jobs=1).fit(columns, y, control=list(table.control))
    expected = []
    for satisfied in model.transform(columns).tolist():
        effects = [rule.effect for rule, holds in zip(model.rules_, satisfied, strict=True) if holds]
        expected.append(effects[0] if effects else 0.0)
    assert np.array_equal(model.predict_effect(columns), expected, equal_nan=True)


@given(small_tables(), st.sampled_from([0.0, 2.0, 3.0]))
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_the_score_on_the_rows_of_fit_is_the_reliable_effect(table: SmallTable, beta: float) -> None:
    columns = table.columns()
    y = columns.pop(TARGET)
    model = cr.CausalRules(k=1, beta=beta, max_length=2, n_jobs=1).fit(columns, y, control=list(table.control))
    a, b, c, d = np.array(model.rules_[0].counts).T
    assert model.score(columns, y) == pytest.approx(estimators.reliable_effect(a, b, c, d, 2.0))


def test_the_score_keeps_the_strata_and_the_outcome_of_fit() -> None:
    # other rows, with another spread of the numeric control and without any row of the outcome
    rng = np.random.default_rng(0)
    columns = {"x": rng.integers(0, 3, 400), "age": rng.integers(0, 90, 400)}
    y = np.where(columns["x"] + rng.random(400) * 3 > 2.5, "yes", "no")
    model = cr.CausalRules(outcome="yes", k=1).fit(columns, y, control="age")
    cuts = model.rules_.problem.strata.bins["age"].uppers
    assert len(cuts) == 3
    young = columns["age"] <= cuts[1]
    part = {name: values[young] for name, values in columns.items()}
    holds, old = model.rules_[0].covers(part), part["age"] > cuts[0]
    counts = [
        [int(np.sum((old == stratum) & (holds == covered) & (y[young] == outcome))) for stratum in (False, True)]
        for covered in (True, False)
        for outcome in ("yes", "no")
    ]
    assert model.score(part, y[young]) == pytest.approx(estimators.reliable_effect(*counts, beta=2.0))
    assert model.score(part, np.full(young.sum(), "no")) < 0
    with pytest.raises(DataError, match="rows and y"):
        model.score(part, y)


def test_a_condition_as_outcome_holds_for_values_that_fit_has_not_seen() -> None:
    rng = np.random.default_rng(1)
    columns = {"x": rng.integers(0, 2, 200)}
    income = columns["x"] * 20.0 + rng.random(200) * 30
    model = cr.CausalRules(outcome=">= 25", k=1).fit(columns, income)
    more = {"x": [1, 1, 1, 0, 0, 0]}
    expected = estimators.reliable_effect(2, 1, 0, 3, 2.0)
    assert model.score(more, [99.0, 25.0, 1.0, 0.0, -5.0, 24.99]) == pytest.approx(expected)


def test_clone_keeps_the_parameters_and_forgets_the_rules() -> None:
    model = cr.CausalRules(k=3, cuts={"age": [18, 65]}, actionable=["age", "sex"]).fit(X, Y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "rules_")
    assert repr(copy) == "CausalRules(actionable=['age', 'sex'], k=3, cuts={'age': [18, 65]})"
    assert copy.set_params(k=5) is copy
    assert copy.k == 5
    with pytest.raises(OptionError, match="no parameter 'bta'; did you mean 'beta'"):
        copy.set_params(bta=1)


def test_it_works_in_a_pipeline() -> None:
    pipeline = make_pipeline(cr.CausalRules(k=5, redundant=False), LogisticRegression())
    pipeline.fit(X, Y, causalrules__control=["sex"])
    rules = pipeline[0].rules_
    assert rules.question.control == ("sex",)
    assert pipeline[:-1].get_feature_names_out().tolist() == [str(rule) for rule in rules]
    covered = np.column_stack([rule.covers(X) for rule in rules])
    model = LogisticRegression().fit(covered, Y)
    assert pipeline.score(X, Y) == pytest.approx(model.score(covered, Y))


def test_it_works_in_a_grid_search() -> None:
    search = GridSearchCV(cr.CausalRules(k=1, n_jobs=1), {"max_length": [1, 3], "beta": [0.0, 2.0]}, cv=3)
    search.fit(X, Y, control=["sex"])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.rules_.question.control == ("sex",)
    best = search.best_params_
    again = cr.discover(PASSENGERS, "survived", control="sex", k=1, **best)
    assert list(search.best_estimator_.rules_) == list(again)


def test_before_fit_it_says_what_to_do() -> None:
    model = cr.CausalRules()
    with pytest.raises(NotFittedError, match="call fit"):
        model.transform(X)
    with pytest.raises(NotFittedError):
        model.get_feature_names_out()
    from sklearn.exceptions import NotFittedError as SklearnNotFittedError

    with pytest.raises(SklearnNotFittedError):
        check_is_fitted(model)
    check_is_fitted(model.fit(X, Y))


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (X, None, "y is missing"),
        (X, Y.to_frame().to_numpy(), "more than one column"),
        (X["age"].to_numpy(), Y, "X has 1 dimension"),
        ([[1, 2], [3]], [0, 1], "all of one length"),
        (3, Y, "X is a int"),
        (X, Y[:5], "differ in length"),
    ],
)
def test_bad_input_is_an_error_that_names_the_fix(rows: Any, labels: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        cr.CausalRules().fit(rows, labels)


def test_a_column_named_as_the_target_is_not_lost() -> None:
    model = cr.CausalRules(k=1).fit({"y": [0, 1, 0, 1], "x": [0, 1, 1, 1]}, [0, 1, 0, 1])
    assert str(model.rules_[0]) == "y ≥ 1"
    assert model.rules_.question.target == "y_"


def test_a_fitted_model_can_be_pickled() -> None:
    model = cr.CausalRules(k=2).fit(X, Y, control="sex")
    again = pickle.loads(pickle.dumps(model))
    assert again.transform(X).equals(model.transform(X))
    assert again.score(X, Y) == model.score(X, Y)


def test_scikit_learn_is_not_needed() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import causalrules as cr\n"
        "x = cr.datasets.titanic(library='dict'); y = x.pop('survived')\n"
        "model = cr.CausalRules(k=1).fit(x, y)\n"
        "assert model.transform(x).sum() == 170 and model.score(x, y) > 0.5"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_score_needs_a_row_with_a_label() -> None:
    X, y = {"a": [0, 0, 1, 1] * 5}, [0, 0, 1, 1] * 5
    model = cr.CausalRules().fit(X, y)
    with pytest.raises(cr.DataError, match="score: X and y have no rows"):
        model.score({"a": []}, [])
    with pytest.raises(cr.DataError, match="score: y has no label"):
        model.score({"a": [0, 1]}, [None, None])
