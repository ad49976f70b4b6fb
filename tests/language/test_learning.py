"""The default model of the controls: it learns products, and accepts all kinds of columns."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import causalrules as cr
from causalrules.data.reading import read
from causalrules.language.features import Features, Matrix, Vector
from causalrules.language.learning import (
    FOLDS,
    Blend,
    Learner,
    best_share,
    cross_fit,
    fold_of,
    may_pay,
    predict,
)
from causalrules.language.regression import Basis, cross_fitted

N = 1500


def learnt(data: dict[str, Any], y: Vector, binary: bool, weights: Vector | None = None) -> tuple[Vector, Matrix]:
    """Return the cross-fitted predictions of the default model, and the matrix of the rows."""
    table = read(data)
    features = Features.of(table, list(data))
    matrix = features.matrix(table)
    fold = fold_of(matrix)
    models = cross_fit(Learner(features, binary), matrix, y, np.ones(len(y)) if weights is None else weights, fold)
    return predict(models, matrix, fold), matrix


def n_products(features: Features, matrix: Matrix, y: Vector) -> int:
    """Return the number of products in the regressions of all folds."""
    order = np.argsort(fold_of(matrix), kind="stable")
    fold = fold_of(matrix)[order]
    found = cross_fitted(features, matrix[order], y[order], np.ones(len(y)), fold, range(FOLDS), binary=True)
    return int(found[0].basis.pairs.shape[1])


@pytest.mark.parametrize("binary", [True, False])
def test_a_product_of_two_controls_is_learnt(binary: bool) -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(N, 6))
    odds = 1.2 * z[:, 0] * z[:, 3]
    truth = 1 / (1 + np.exp(-odds)) if binary else 5 * odds
    y = (rng.random(N) < truth).astype(float) if binary else truth + rng.normal(size=N)
    found, _ = learnt({f"z{place}": column for place, column in enumerate(z.T)}, y, binary)
    assert np.mean((found - truth) ** 2) < 0.15 * np.var(truth)


def test_chance_products_are_not_selected() -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(size=(N, 12))
    table = read({f"z{place}": column for place, column in enumerate(z.T)})
    features = Features.of(table, [f"z{place}" for place in range(12)])
    y = (rng.random(N) < 1 / (1 + np.exp(-z[:, 0] - np.abs(z[:, 1])))).astype(float)
    assert n_products(features, features.matrix(table), y) == 0


@pytest.mark.parametrize("share", [0.005, 0.02, 0.3])
def test_products_of_rare_values_are_not_taken_because_a_rare_outcome_never_happens_there(share: float) -> None:
    rng = np.random.default_rng(2)
    names = [f"z{place}" for place in range(8)]
    table = read({name: (rng.random(N) < 0.2).astype(int) for name in names})
    features = Features.of(table, names)
    y = (rng.random(N) < share).astype(float)
    assert n_products(features, features.matrix(table), y) == 0


@pytest.mark.parametrize("n", [150, 6000])
@pytest.mark.parametrize("binary", [True, False])
def test_each_fold_has_the_regression_of_the_other_folds_alone(binary: bool, n: int) -> None:
    rng = np.random.default_rng(n)
    z = rng.normal(size=(n, 4))
    weights = rng.integers(1, 4, n).astype(float)
    odds = z[:, 0] + np.abs(z[:, 1]) + 0.7 * z[:, 0] * z[:, 2] - 1
    y = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(float) if binary else odds + rng.normal(size=n)
    table = read({f"z{place}": column for place, column in enumerate(z.T)})
    features = Features.of(table, list(table.names))
    matrix, fold = features.matrix(table), np.sort(rng.integers(0, 3, n))
    for place, found in enumerate(cross_fitted(features, matrix, y, weights, fold, range(3), binary)):
        others = fold != place
        x, b = found.basis(matrix[others]), found.coefficients
        scores = x @ b
        expected = 1 / (1 + np.exp(-scores)) if binary else scores
        penalty = np.where(np.arange(len(b)) > 0, 10.0, 0.0)
        gradient = x.T @ (weights[others] * (expected - y[others])) + penalty * b
        # Products that only other folds need have no coefficient.
        left_out = b == 0
        assert left_out[: Basis(features, matrix).width].sum() == 0
        assert np.abs(gradient[~left_out]).max() < 1e-6
        assert found.scores(matrix[others]) == pytest.approx(scores)


@pytest.mark.parametrize("binary", [True, False])
def test_no_prediction_depends_on_the_outcomes_of_its_own_fold(binary: bool) -> None:
    rng = np.random.default_rng(8)
    z = rng.normal(size=(600, 5))
    odds = z[:, 0] * z[:, 1] + z[:, 2]
    y = (rng.random(600) < 1 / (1 + np.exp(-odds))).astype(float) if binary else odds + rng.normal(size=600)
    table = read({f"z{place}": column for place, column in enumerate(z.T)})
    features = Features.of(table, list(table.names))
    matrix, fold = features.matrix(table), np.sort(rng.integers(0, 3, 600))
    other = np.where(fold == 1, 1 - y, y)
    first, second = (
        cross_fitted(features, matrix, each, np.ones(600), fold, range(3), binary)[1].scores(matrix)
        for each in (y, other)
    )
    assert first == pytest.approx(second, abs=1e-6)


def test_trees_may_pay_where_a_quarter_of_them_predicts_better_than_none() -> None:
    rng = np.random.default_rng(9)
    y, ones = rng.normal(size=400), np.ones(400)
    steps, smooth = y + rng.normal(size=400), y + rng.normal(size=400)
    assert may_pay(steps, smooth, y, ones, binary=False, n_rows=2000)
    assert not may_pay(y + 9 * rng.normal(size=400), smooth, y, ones, binary=False, n_rows=2000)
    assert not may_pay(smooth, smooth, y, ones, binary=False, n_rows=2000)


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_trees_get_the_least_weight_that_is_as_good_as_the_best(binary: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts, truth = rng.integers(1, 4, 300), 2 * rng.normal(size=300)
    y = (rng.random(300) < 1 / (1 + np.exp(-truth))).astype(float) if binary else truth + rng.normal(size=300)
    steps, smooth = truth + rng.normal(size=300), truth + 2 * rng.normal(size=300)

    def losses(share: float) -> Vector:
        score = np.repeat(share * steps + (1 - share) * smooth, counts)
        target = np.repeat(y, counts)
        return np.log(1 + np.exp(score)) - target * score if binary else (target - score) ** 2

    best = min((losses(share) for share in np.linspace(0, 1, 21)), key=np.mean)
    found = best_share(steps, smooth, y, counts.astype(float), binary)
    assert 0 < found < 1
    for share, is_as_good in ((found, True), (found - 0.05, False)):
        more = losses(share) - best
        assert (more.mean() <= more.std() / np.sqrt(len(more))) == is_as_good


@pytest.mark.parametrize("binary", [True, False])
def test_trees_count_where_controls_act_in_steps_and_hardly_where_they_act_smoothly(binary: bool) -> None:
    rng = np.random.default_rng(5)
    z = rng.normal(size=(N, 6))
    table = read({f"z{place}": column for place, column in enumerate(z.T)})
    features = Features.of(table, list(table.names))
    matrix = features.matrix(table)
    fold, shares = fold_of(matrix), []
    for odds in (z.sum(axis=1) / 2, 4.0 * ((z[:, 0] > 0) ^ (z[:, 1] > 0.3)) - 2):
        y = (rng.random(N) < 1 / (1 + np.exp(-odds))).astype(float) if binary else odds + rng.normal(size=N)
        models = cross_fit(Learner(features, binary), matrix, y, np.ones(N), fold)
        found = {model.share for model in models if isinstance(model, Blend)}
        assert len(found) == 1
        shares.append(found.pop())
    assert shares[0] < 0.25 < 0.75 < shares[1]


def test_a_control_has_more_categories_than_trees_tell_numbers_apart() -> None:
    rng = np.random.default_rng(6)
    place = rng.integers(0, 120, 3000)
    y = (rng.random(3000) < np.where(place % 2, 0.8, 0.2)).astype(float)
    found, _ = learnt({"place": [f"p{each}" for each in place]}, y, binary=True)
    assert found[place % 2 == 1].mean() - found[place % 2 == 0].mean() > 0.3


def test_ordered_columns_of_few_values_get_curvature_too() -> None:
    rng = np.random.default_rng(3)
    age = rng.integers(20, 70, 20_000)
    truth = np.abs(age - 45) / 25
    predicted, _ = learnt({"age": age}, truth + 0.1 * rng.normal(size=len(age)), binary=False)
    assert np.abs(predicted - truth).mean() < 0.05


def test_controls_that_do_not_vary_where_a_model_is_fitted() -> None:
    rng = np.random.default_rng(4)
    x, alone = rng.integers(0, 2, 400), np.zeros(400, int)
    alone[7] = 1
    columns = {"x": x, "z": alone, "y": (rng.random(400) < 0.4 + 0.2 * x).astype(int)}
    found = cr.evaluate(columns, "x = 1", "y", 1, control="z", adjust="prognostic").doubly_robust()[0].evidence
    assert found is not None
    assert found.doubly_robust is not None
    y = columns["y"]
    assert found.doubly_robust.effect == pytest.approx(y[x == 1].mean() - y[x == 0].mean(), abs=0.01)


def test_steps_categories_missing_values_and_huge_numbers_are_accepted() -> None:
    rng = np.random.default_rng(2)
    place = rng.integers(0, 4, N)
    number = rng.normal(size=N)
    truth = 0.1 + 0.4 * (place == 2) + 0.4 * (number > 0.7)
    y = (rng.random(N) < truth).astype(float)
    town = [None if rng.random() < 0.05 else "abcd"[number] for number in place]
    data = {"town": town, "number": np.where(rng.random(N) < 0.1, np.nan, 1e60 * number), "same": np.ones(N)}
    found, _ = learnt(data, y, True)
    assert np.mean((found - truth) ** 2) < 0.25 * np.var(truth)
    assert 0 < found.min() < found.max() < 1


def test_a_row_of_weight_two_equals_two_rows() -> None:
    rng = np.random.default_rng(3)
    z = rng.integers(0, 2, 400)
    y = (rng.random(400) < 0.5).astype(float)
    often = np.where(y == 1, 3.0, 1.0)
    found, matrix = learnt({"z": z}, y, True, often)
    for value in (0, 1):
        chosen = matrix[:, 0] == value
        assert found[chosen].mean() == pytest.approx(np.average(y[chosen], weights=often[chosen]), abs=0.02)


def test_threads_are_limited_from_the_first_model_on() -> None:
    # In a new process: the limits are set before scikit-learn is loaded, whose threads they limit.
    code = """
import numpy as np
from threadpoolctl import threadpool_info
import causalrules as cr
from causalrules.data.reading import read
from causalrules.language import learning
from causalrules.language.features import Features

table = read({"z": np.arange(50.0)})
features = Features.of(table, ["z"])
matrix = features.matrix(table)
fit, seen = learning.cross_fitted, set()
def watched(*rows):
    seen.update(each["num_threads"] for each in threadpool_info() if each["user_api"] == "openmp")
    return fit(*rows)
learning.cross_fitted = watched
learning.cross_fit(learning.Learner(features, False), matrix, matrix[:, 0], np.ones(50), learning.fold_of(matrix))
print(seen)
"""
    asked = {**os.environ, "OMP_NUM_THREADS": "3"}
    done = subprocess.run([sys.executable, "-c", code], env=asked, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "{1}"
