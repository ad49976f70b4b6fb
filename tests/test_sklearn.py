"""CausalRules finds what discover() finds, and is a scikit-learn estimator."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse  # type: ignore[import-untyped]
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

import causalrules as cr
from causalrules.estimators import scores
from causalrules.exceptions import CausalRulesWarning, DataError, InputError, OptionError
from causalrules.question import Question, options
from causalrules.sklearn import NotFittedError
from rulesets import rows_of
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


# The checks fit labels such as 0, 1 and 2, or 1 and 2, of which the outcome must be named: 1 is in all of them. No
# check is expected to fail.
@parametrize_with_checks(
    [
        cr.CausalRules(outcome=1, max_length=2, n_jobs=1),
        cr.CausalRules(outcome=1, k=3, beta=0.0, max_length=1, max_bins=3, estimator="plugin"),
    ]
)
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_parameters_derive_from_the_question() -> None:
    own = dict(inspect.signature(cr.CausalRules).parameters)
    asked = inspect.signature(Question).parameters
    assert list(own) == [name for name, known in options() if known.fitted]
    assert {"control", "outcome", "k", "seed"} < set(own)
    assert own.keys() & {"target", "weights", "holdout", "checkpoint"} == set()
    for name, parameter in own.items():
        assert parameter == asked[name].replace(kind=inspect.Parameter.KEYWORD_ONLY)
    assert cr.CausalRules().get_params() == {name: parameter.default for name, parameter in own.items()}
    documentation = inspect.getdoc(cr.CausalRules)
    assert documentation is not None
    words = " ".join(documentation.split())
    for name, known in options():
        assert (f" {name} : " in words and known.doc in words) == known.fitted


def test_an_unknown_parameter_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"CausalRules\(\) got an unexpected keyword .*'bta'; did you mean 'beta'\?"):
        cr.CausalRules(bta=1)
    with pytest.raises(OptionError, match="no parameter 'bta'; did you mean 'beta'"):
        cr.CausalRules().set_params(bta=1)
    with pytest.raises(OptionError, match="no parameter 'xyz'; the parameters are actionable, adjust, allow_"):
        cr.CausalRules().set_params(xyz=1)
    # fit() checks the value, as is usual in scikit-learn.
    with pytest.raises(OptionError, match="k = 0: give a whole number"):
        cr.CausalRules(k=0).fit(X, Y)


def test_a_control_in_fit_takes_precedence() -> None:
    model = cr.CausalRules(k=1, actionable="class", control="sex")
    assert model.fit(X, Y).rules_.question.control == ("sex",)
    assert model.fit(X, Y, control="embarked").rules_.question.control == ("embarked",)
    assert model.fit(X, Y, control=[]).rules_.question.control == ()
    assert model.control == "sex"


def test_tags() -> None:
    tags = get_tags(cr.CausalRules())
    assert tags.target_tags.required
    assert tags.input_tags.string
    assert tags.input_tags.categorical
    assert tags.input_tags.allow_nan
    assert not tags.input_tags.sparse
    assert tags.transformer_tags.preserves_dtype == []
    assert issubclass(cr.CausalRules, (TransformerMixin, BaseEstimator))


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
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_weights_equal_repeated_rows(table: SmallTable, data: st.DataObject) -> None:
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


def test_transform_keeps_the_container_and_the_index() -> None:
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
    in_arrow = model.transform(pa.Table.from_pandas(X))
    assert isinstance(in_arrow, pa.Table)
    assert in_arrow.to_pandas().to_numpy().tolist() == expected.tolist()


def test_without_rules_there_are_no_columns() -> None:
    model = cr.CausalRules(min_coverage=1.0).fit(X, Y)
    assert len(model.rules_) == 0
    assert model.transform(X).shape == model.transform(X.to_dict("list")).shape == (891, 0)
    assert model.transform(X).index.equals(X.index)
    assert isinstance(model.transform(pl.from_pandas(X)), pl.DataFrame)
    assert model.score(X, Y) == 0
    assert not model.predict_effect(X).any()


@pytest.mark.parametrize(("container", "made_by"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
@pytest.mark.parametrize(
    "given",
    [X, pl.from_pandas(X), pa.Table.from_pandas(X), X.to_dict("list")],
    ids=lambda given: f"{type(given).__module__.split('.')[0]}",
)
def test_set_output_selects_the_container(container: str, made_by: Any, given: Any) -> None:
    model = cr.CausalRules(k=2, max_length=1, beta=1.0).set_output(transform=container)
    for made in (model.fit_transform(given, Y), model.transform(given), clone(model).fit(given, Y).transform(given)):
        assert isinstance(made, made_by)
        assert list(made.columns) == model.get_feature_names_out().tolist()
        assert made.to_numpy().tolist() == np.column_stack([rule.covers(X) for rule in model.rules_]).tolist()
    model.set_output(transform="default")
    assert type(model.transform(given)) in (type(given), np.ndarray)
    with sklearn.config_context(transform_output=container):
        assert isinstance(cr.CausalRules(k=2, max_length=1, beta=1.0).fit(given, Y).transform(given), made_by)


def test_an_array_has_columns_by_number() -> None:
    array = X[["class", "sibsp", "parch"]].to_numpy()
    model = cr.CausalRules(k=3).fit(array, Y.to_numpy(), control="x1")
    named = cr.discover({"x0": array[:, 0], "x1": array[:, 1], "x2": array[:, 2], "y": Y}, "y", control="x1", k=3)
    assert list(model.rules_) == list(named)
    assert model.transform(array.tolist()).tolist() == model.transform(array).tolist()
    assert not hasattr(model, "feature_names_in_")
    with pytest.raises(DataError, match="X has 2 features, but CausalRules is expecting 3 features as input"):
        model.transform(array[:, :2])
    with pytest.warns(CausalRulesWarning, match="X has feature names, but CausalRules was fitted without"):
        assert model.transform(X[["class", "sibsp", "parch"]]).to_numpy().tolist() == model.transform(array).tolist()


def test_the_columns_are_those_of_fit() -> None:
    some = X[["class", "sibsp", "parch"]]
    model = cr.CausalRules(k=3).fit(some, Y)
    expected = model.transform(some).to_numpy().tolist()
    for method in (model.transform, model.predict_effect, lambda table: model.score(table, Y)):
        with pytest.raises(DataError, match=r"unseen at fit time:\n- age\n- embarked\n- fare\n- sex\n$"):
            method(X)
        with pytest.raises(DataError, match=r"yet now missing:\n- parch\n$"):
            method(some.iloc[:, :2])
        with pytest.raises(DataError, match="must be in the same order"):
            method(some.iloc[:, ::-1])
    with pytest.warns(CausalRulesWarning, match="X does not have valid feature names, but CausalRules was fitted with"):
        assert model.transform(some.to_numpy()).tolist() == expected
    # Only strings are feature names for scikit-learn; rules use the text of any name.
    numbered = some.set_axis([0, 1, 2], axis=1)
    again = model.fit(numbered, Y, control="1")
    assert not hasattr(again, "feature_names_in_")
    assert again.transform(numbered).to_numpy().tolist() == again.transform(some.to_numpy()).tolist()


def test_input_features_are_checked() -> None:
    model = cr.CausalRules(k=2).fit(X, Y)
    names = model.get_feature_names_out().tolist()
    assert model.get_feature_names_out(X.columns).tolist() == names
    with pytest.raises(DataError, match="input_features is not equal to feature_names_in_"):
        model.get_feature_names_out(X.columns[::-1])
    numbered = cr.CausalRules(k=2).fit(X.to_numpy(), Y)
    assert len(numbered.get_feature_names_out(X.columns)) == 2
    with pytest.raises(DataError, match="input_features should have length equal to number of features"):
        numbered.get_feature_names_out(["a"])


@given(small_tables(), st.integers(1, 4))
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
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
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_the_score_on_the_rows_of_fit_is_the_reliable_effect(table: SmallTable, beta: float) -> None:
    columns = table.columns()
    y = columns.pop(TARGET)
    model = cr.CausalRules(k=1, beta=beta, max_length=2, n_jobs=1).fit(columns, y, control=list(table.control))
    assume(len(model.rules_) > 0)
    a, b, c, d = np.array(model.rules_[0].measured.counts).T
    assert model.score(columns, y) == pytest.approx(scores.reliable_effect(a, b, c, d, 2.0))


def test_the_score_keeps_the_strata_and_the_outcome_of_fit() -> None:
    # other rows, with another range of the numeric control and without any row of the outcome
    rng = np.random.default_rng(0)
    columns = {"x": rng.integers(0, 3, 400), "age": rng.integers(0, 90, 400)}
    y = np.where(columns["x"] + rng.random(400) * 3 > 2.5, "yes", "no")
    model = cr.CausalRules(outcome="yes", k=1, control_bins=4).fit(columns, y, control="age")
    cuts = rows_of(model.rules_).strata.bins["age"].uppers
    assert len(cuts) == 3
    young = columns["age"] <= cuts[1]
    part = {name: values[young] for name, values in columns.items()}
    holds, old = model.rules_[0].covers(part), part["age"] > cuts[0]
    counts = [
        [int(np.sum((old == stratum) & (holds == covered) & (y[young] == outcome))) for stratum in (False, True)]
        for covered in (True, False)
        for outcome in ("yes", "no")
    ]
    a, b, c, d = counts
    assert model.score(part, y[young]) == pytest.approx(scores.reliable_effect(a, b, c, d, 2.0))
    assert model.score(part, np.full(young.sum(), "no")) < 0
    with pytest.raises(DataError, match="rows and y has 400"):
        model.score(part, y)
    # The outcome is that of fit(), even if the parameter was changed since.
    score = model.score(part, y[young])
    assert model.set_params(outcome="no").score(part, y[young]) == score


def numbers(seed: int = 0, n: int = 300) -> tuple[dict[str, Any], NDArray[np.float64]]:
    """Draw a table: x raises the target by 3, z by 1 for each of its values."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {"x": rng.integers(0, 2, n), "w": rng.random(n), "z": rng.integers(0, 3, n)}
    return columns, 3 * columns["x"] + columns["z"] + rng.normal(size=n)


def test_a_numeric_target_is_scored_by_its_mean_in_its_units() -> None:
    columns, y = numbers()
    model = cr.CausalRules(k=2).fit(columns, y, control="z")
    best = model.rules_[0]
    assert not best.kind.binary
    assert str(best) == "x = 1"
    assert np.array_equal(model.transform(columns)[:, 0], columns["x"] == 1)
    assert model.predict_effect(columns)[columns["x"] == 1] == pytest.approx(best.effect)
    others, target = numbers(1)
    # by hand: κ = 2 pseudo-rows with the stratum's mean on each side, and a margin of two standard errors
    effect = variance = 0.0
    for z in range(3):
        rows = others["z"] == z
        on, off, weight = rows & (others["x"] == 1), rows & (others["x"] == 0), rows.mean()
        mean = target[rows].mean()
        sides = [(target[side].sum() + 2 * mean) / (side.sum() + 2) for side in (on, off)]
        effect += weight * (sides[0] - sides[1])
        variance += weight**2 * target[rows].var() * (1 / (on.sum() + 2) + 1 / (off.sum() + 2))
    assert model.score(others, target) == pytest.approx(effect - 2 * np.sqrt(variance))
    assert model.score(others, 10 * target) == pytest.approx(10 * model.score(others, target))
    assert model.score(others, -target) < 0
    with_missing = np.where(np.arange(len(target)) % 3, target, np.nan)
    known = np.isfinite(with_missing)
    assert model.score(others, with_missing) == pytest.approx(
        model.score({name: values[known] for name, values in others.items()}, target[known])
    )
    with pytest.raises(DataError, match="y holds text values; in fit\\(\\) it held numbers"):
        model.score(others, ["high"] * len(target))


@pytest.mark.parametrize("mean", [False, True])
def test_a_rule_that_lowers_as_asked_scores_as_the_opposite_that_raises(mean: bool) -> None:
    columns, y = numbers()
    target: Any = y if mean else (y > 2.5).astype(int)
    raising = cr.CausalRules(k=1).fit(columns, -target if mean else 1 - target, control="z")
    lowering = cr.CausalRules(k=1, direction="decrease").fit(columns, target, control="z")
    assert str(lowering.rules_[0]) == str(raising.rules_[0]) == "x = 0"
    score = lowering.score(columns, target)
    assert score == pytest.approx(raising.score(columns, -target if mean else 1 - target))
    assert score > 0


def test_the_score_compares_with_the_reference_as_fit_does() -> None:
    rng = np.random.default_rng(3)
    columns = {"arm": rng.choice(["none", "a", "b"], 600), "z": rng.integers(0, 2, 600)}
    y = (rng.random(600) < 0.3 + 0.4 * (columns["arm"] == "a") + 0.2 * (columns["arm"] == "b")).astype(int)
    model = cr.CausalRules(k=1, reference={"arm": "none"}, actionable="arm").fit(columns, y, control="z")
    assert str(model.rules_[0]) == "arm = a"
    counts = [
        [int(np.sum((columns["z"] == z) & (columns["arm"] == arm) & (y == happened))) for z in (0, 1)]
        for arm in ("a", "none")
        for happened in (1, 0)
    ]
    a, b, c, d = counts
    assert model.score(columns, y) == pytest.approx(scores.reliable_effect(a, b, c, d, 2.0))


def test_a_condition_as_outcome_holds_for_values_that_fit_has_not_seen() -> None:
    rng = np.random.default_rng(1)
    columns = {"x": rng.integers(0, 2, 200)}
    income = columns["x"] * 20.0 + rng.random(200) * 30
    model = cr.CausalRules(outcome=">= 25", k=1).fit(columns, income)
    more = {"x": [1, 1, 1, 0, 0, 0]}
    expected = scores.reliable_effect(2, 1, 0, 3, 2.0)
    assert model.score(more, [99.0, 25.0, 1.0, 0.0, -5.0, 24.99]) == pytest.approx(expected)


def test_clone_keeps_the_parameters_and_forgets_the_rules() -> None:
    model = cr.CausalRules(k=3, cuts={"age": [18, 65]}, actionable=["age", "sex"]).fit(X, Y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "rules_")
    assert repr(copy) == "CausalRules(actionable=['age', 'sex'], cuts={'age': [18, 65]}, k=3)"
    assert copy.set_params(k=5) is copy
    assert copy.k == 5


def test_it_works_in_a_pipeline() -> None:
    pipeline = make_pipeline(cr.CausalRules(k=5), LogisticRegression())
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


def test_a_grid_search_may_choose_the_control() -> None:
    search = GridSearchCV(cr.CausalRules(k=1, n_jobs=1, actionable="class"), {"control": [None, "sex"]}, cv=3)
    assert search.fit(X, Y).best_estimator_.rules_.question.control in ((), ("sex",))


def test_it_works_in_a_column_transformer() -> None:
    columns = ["class", "sex", "embarked"]
    transformer = make_column_transformer((cr.CausalRules(k=2), columns), ("passthrough", ["fare"]))
    made = transformer.set_output(transform="pandas").fit_transform(X, Y)
    alone = cr.CausalRules(k=2).fit(X[columns], Y)
    names = [f"causalrules__{name}" for name in alone.get_feature_names_out()]
    assert made.columns.tolist() == [*names, "passthrough__fare"]
    assert made[names].to_numpy().tolist() == alone.transform(X[columns]).to_numpy().tolist()


def test_metadata_is_routed() -> None:
    weights = np.random.default_rng(0).integers(0, 3, len(Y))
    model = cr.CausalRules(k=1, n_jobs=1, max_length=2)
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            GridSearchCV(model, {"k": [1]}, cv=2).fit(X, Y, sample_weight=weights)
        routed = clone(model).set_fit_request(sample_weight=True, control=True).set_score_request(sample_weight=True)
        search = GridSearchCV(clone(routed), {"k": [1]}, cv=2).fit(X, Y, sample_weight=weights, control="sex")
        pipeline = make_pipeline(routed, LogisticRegression().set_fit_request(sample_weight=True))
        pipeline.fit(X, Y, sample_weight=weights, control="sex")
    expected = model.fit(X, Y, "sex", weights).rules_
    assert list(search.best_estimator_.rules_) == list(pipeline[0].rules_) == list(expected)


def test_an_unfitted_model_says_to_call_fit() -> None:
    model = cr.CausalRules()
    with pytest.raises(NotFittedError, match="call fit"):
        model.transform(X)
    with pytest.raises(NotFittedError):
        model.get_feature_names_out()
    with pytest.raises(SklearnNotFittedError):
        model.score(X, Y)
    with pytest.raises(SklearnNotFittedError):
        check_is_fitted(model)
    check_is_fitted(model.fit(X, Y))


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (X, None, "requires y to be passed, but the target y is None"),
        (X, X[["age", "fare"]].to_numpy(), "y should be a 1d array"),
        (X, X[["age", "fare"]], "y should be a 1d array"),
        (X, [[0, 1]] * 891, "y should be a 1d array"),
        (X, np.array(1), "y should be a 1d array"),
        (X, 1, "y is a int; pass a series"),
        (X, Y[:5], "X has 891 rows and y has 5"),
        (X, np.where(Y == 1, np.inf, 0), "infinite"),
        (X.assign(age=np.inf), Y, "column 'age' holds 891 infinite values"),
        (X["age"].to_numpy(), Y, "X has 1 dimension.*Reshape your data"),
        (X["age"], Y, "X has 1 dimension"),
        ([[1, 2], [3]], [0, 1], "all of one length"),
        ([np.zeros(2), np.zeros((2, 3))], [0, 1], "all of one length"),
        (np.zeros((2, 2, 2)), [0, 1], "X has 3 dimensions"),
        (3, Y, "X is a int"),
        (pl.from_pandas(X).lazy(), Y, "X is a LazyFrame"),
        (sparse.csr_array(np.eye(4)), [0, 1, 0, 1], r"X is a sparse csr_array.*pass X.toarray\(\)"),
        (np.eye(4) * 1j, [0, 1, 0, 1], "Complex data not supported"),
        (np.empty((4, 0)), [0, 1, 0, 1], r"0 feature\(s\) \(shape=\(4, 0\)\)"),
        (pd.DataFrame(index=range(4)), [0, 1, 0, 1], r"0 feature\(s\)"),
        ({}, [], r"0 feature\(s\)"),
        (np.empty((0, 4)), [], r"n_samples=0"),
        (X[:1], Y[:1], "X has 1 row"),
        (pd.concat([X, X], axis=1), Y, "names used more than once: 'class'"),
        (pa.table([[1, 0], [1, 0]], names=["a", "a"]), [0, 1], "name used more than once: 'a'"),
        ({"1": [0, 1], 1: [0, 1]}, [0, 1], "name used more than once: '1'"),
    ],
)
def test_bad_input_is_an_error_that_names_the_fix(rows: Any, labels: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        cr.CausalRules().fit(rows, labels)


@pytest.mark.parametrize("labels", [Y.to_frame(), Y.to_frame().to_numpy(), pl.from_pandas(Y.to_frame()), pa.array(Y)])
def test_a_table_of_one_column_is_a_target(labels: Any) -> None:
    model, plain = (cr.CausalRules(k=2, beta=1.0).fit(X, each) for each in (labels, Y))
    assert [str(rule) for rule in model.rules_] == [str(rule) for rule in plain.rules_]
    assert model.rules_.question.target == ("survived" if hasattr(labels, "columns") else "y")
    assert model.score(X, labels) == model.score(X, Y)


def test_a_dask_table_is_an_error_that_names_the_fix() -> None:
    dask = pytest.importorskip("dask.dataframe")
    with pytest.raises(DataError, match=r"X is a Dask DataFrame.*pass X.compute\(\)"):
        cr.CausalRules().fit(dask.from_pandas(X, npartitions=2), Y)


def test_it_is_shown_in_notebooks() -> None:
    assert "CausalRules" in cr.CausalRules(k=2).fit(X, Y)._repr_html_()


def test_structured_arrays_and_array_likes_are_read() -> None:
    some = X[["class", "sibsp"]]
    model = cr.CausalRules(k=2).fit(some, Y)
    assert model.transform(some.to_records(index=False)).tolist() == model.transform(some).to_numpy().tolist()

    class ArrayLike:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return some.to_numpy()

    masked = np.ma.array(some.to_numpy(), mask=some.to_numpy() == 1)
    with_missing = cr.CausalRules(k=2).fit(masked, np.ma.array(Y, mask=X["age"] > 60))
    assert with_missing.rules_.n_dropped == (X["age"] > 60).sum()
    missing = some.astype(float).mask(some == 1).to_numpy()
    assert with_missing.transform(masked).tolist() == with_missing.transform(missing).tolist()
    numbered = cr.CausalRules(k=2).fit(ArrayLike(), Y)
    assert numbered.transform(ArrayLike()).tolist() == model.transform(some).to_numpy().tolist()


def test_a_column_named_as_the_target_is_not_lost() -> None:
    model = cr.CausalRules(k=1).fit({"y": [0, 1, 0, 1], "x": [0, 1, 1, 1]}, [0, 1, 0, 1])
    assert str(model.rules_[0]) == "y = 1"
    assert model.rules_.question.target == "y_"


def test_a_fitted_model_can_be_pickled() -> None:
    model = cr.CausalRules(k=2).fit(X, Y, control="sex")
    again = pickle.loads(pickle.dumps(model))
    assert again.transform(X).equals(model.transform(X))
    assert again.score(X, Y) == model.score(X, Y)


def test_scikit_learn_is_not_needed() -> None:
    code = """
import inspect, pickle, sys
sys.modules["sklearn"] = None
import causalrules as cr
from causalrules.sklearn import NotFittedError
x = cr.datasets.titanic(library="dict")
y = x.pop("survived")
model = cr.CausalRules(k=1)
try:
    model.transform(x)
    raise AssertionError("not fitted")
except NotFittedError as error:
    assert isinstance(error, ValueError) and isinstance(error, AttributeError)
assert model.fit_transform(x, y).sum() == model.transform(x).sum() == 170
assert model.score(x, y) > 0.5
assert pickle.loads(pickle.dumps(model)).score(x, y) == model.score(x, y)
assert list(model.get_params()) == sorted(inspect.signature(cr.CausalRules).parameters)
assert repr(model.set_params(k=2, control="sex")) == "CausalRules(control='sex', k=2)"
assert len(model.fit(x, y).rules_) == 2 and model.rules_.question.control == ("sex",)
frame = cr.datasets.titanic(library="pandas").drop(columns="survived")
assert model.transform(frame).columns.tolist() == model.get_feature_names_out().tolist()
try:
    model.set_params(bta=1)
    raise AssertionError("no such parameter")
except cr.OptionError as error:
    assert "did you mean 'beta'" in str(error)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_discover_does_not_import_scikit_learn() -> None:
    code = "import sys, causalrules as cr; cr.discover; assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_score_needs_a_row_with_a_label() -> None:
    X, y = {"a": [0, 0, 1, 1] * 5}, [0, 0, 1, 1] * 5
    model = cr.CausalRules().fit(X, y)
    for rows, labels, weights in (({"a": []}, [], None), ({"a": [0, 1]}, [None, None], None), (X, y, [0] * 20)):
        with pytest.raises(cr.DataError, match="score: no row has a label in y and a weight above zero"):
            model.score(rows, labels, weights)
