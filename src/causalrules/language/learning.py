"""Cross-fitted predictions from the controls: no model predicts a row that it was trained on.

The default model is a weighted mean, on the scale of log-odds for probabilities: three quarters a smooth regression,
one quarter gradient-boosted trees. The regression is additive (linear splines, ridge penalty), with the products of
those pairs of controls that stand out in its residuals. Trees alone approximate smooth functions in steps, and what
they miss is left of the confounding; a regression alone misses steps and interactions of many controls.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from causalrules.exceptions import MissingPackageError, OptionError
from causalrules.language.features import Features, Matrix

Vector = NDArray[np.float64]

# Parts of the rows; each is predicted by the models of the others.
FOLDS = 5
# Weight of the trees in the mean; the regression has the rest.
_TREES = 1 / 4
# Penalty of the regression. A weaker one than predicts best: what it takes from the models of the target and of the
# propensity alike is left as bias, and what it lets in by chance is not.
_RIDGE = 10.0
# Products of controls: the share of fits that take one by chance, how much smaller than other columns they are (the
# penalty of their coefficients is the square of that), and how many there are at most.
_BY_CHANCE, _SMALLER, _MOST_PRODUCTS = 0.01, 2.0, 100
# Leaves of a tree, and the rows from which on it has so many.
_LEAVES = ((16, 10_000), (8, 1_000), (4, 0))
# Rows whose products are summed at a time.
_SLICE = 20_000
# Log-odds are cut off here.
_FARTHEST = 10.0
# From so many rows on, more than one thread is worth its while. For 50,000 two save a tenth of the time on an idle
# machine, and take ten times as long on a busy one, where they wait for each other.
_MANY = 100_000
INSTALL = 'pip install "causalrules[ml]"'


class Predictor(Protocol):
    """A fitted model."""

    def __call__(self, matrix: Matrix) -> Vector:
        """Return the expected value for each row of the controls."""
        ...


@dataclass(frozen=True)
class Learner:
    """What to fit: the default model, or the user's.

    Attributes
    ----------
    features
        The controls.
    binary
        Whether probabilities are wanted, and not means.
    model
        A scikit-learn classifier or regressor; None for the default.
    seed
        Seed of the model, where it takes one.
    """

    features: Features
    binary: bool
    model: Any = None
    seed: int = 0

    def fit(self, matrix: Matrix, y: Vector, weights: Vector) -> Predictor:
        """Fit the model; a target that does not vary is predicted by its value."""
        if not len(y) or y.min() == y.max():
            return _Constant(float(y[0]) if len(y) else 0.0)
        if self.model is None:
            return _Blend(self.features, self.binary, self.seed).fit(matrix, y, weights)
        return _Given(self.features, self.binary, self.model, self.seed).fit(matrix, y, weights)


def is_available() -> bool:
    """Whether models can be fitted."""
    return importlib.util.find_spec("sklearn") is not None


def require_models(what: str) -> None:
    """Raise an error that says what to install, unless models can be fitted."""
    if not is_available():
        raise MissingPackageError(f"{what} needs scikit-learn: {INSTALL}")


def check_model(model: Any) -> None:
    """Raise an error unless this can be fitted."""
    if model is not None and not (hasattr(model, "fit") and hasattr(model, "predict") and not isinstance(model, type)):
        raise OptionError(
            "give an estimator of scikit-learn such as RandomForestClassifier()",
            parameter="adjust_model",
            value=repr(model)[:60],
        )


def fold_of(
    matrix: Matrix, seed: int = 0, groups: NDArray[Any] | None = None, n_folds: int = FOLDS
) -> NDArray[np.intp]:
    """Deal the rows to folds by a hash of their controls, so that the order of the rows does not matter.

    Rows that agree in all controls are dealt in turn, in the order in which they come. With `groups`, the codes of
    rows that belong together, those stay together.
    """
    content = matrix if groups is None else np.asarray(groups, np.float64)[:, None]
    key = row_hash(content, seed)
    if groups is not None:
        return (key % np.uint64(n_folds)).astype(np.intp)
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    turn = np.empty(len(key), np.uint64)
    turn[order] = (np.arange(len(key)) - np.searchsorted(ordered, ordered)).astype(np.uint64)
    return ((key % np.uint64(n_folds) + turn) % np.uint64(n_folds)).astype(np.intp)


def row_hash(matrix: Matrix, seed: int = 0) -> NDArray[np.uint64]:
    """Return a 64-bit hash of the numbers in each row."""
    key = np.full(len(matrix), (seed * 0xD1342543DE82EF95 + 0x9E3779B97F4A7C15) % 2**64, np.uint64)
    for column in matrix.T:
        numbers = np.where(np.isnan(column), np.nan, column + 0.0)
        key ^= np.ascontiguousarray(numbers).view(np.uint64)
        key *= np.uint64(0xBF58476D1CE4E5B9)
        key ^= key >> np.uint64(29)
        key *= np.uint64(0x94D049BB133111EB)
        key ^= key >> np.uint64(32)
    return key


def cross_fit(
    learner: Learner,
    matrix: Matrix,
    y: Vector,
    weights: Vector,
    fold: NDArray[np.intp],
    n_threads: int = 1,
    watch: Callable[[int, int], None] | None = None,
    n_folds: int = FOLDS,
) -> list[Predictor]:
    """Fit one model for each fold, on the rows of the others, in an order that depends on their values alone."""
    require_models("a model of the controls")
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    # Limits apply to the libraries that are loaded when they are set.
    importlib.import_module("sklearn.ensemble")
    order = np.lexsort((weights, y, row_hash(matrix)))
    matrix, y, weights, fold = matrix[order], y[order], weights[order], fold[order]

    fitted = []
    # Regressions never need threads. The folds come one after the other, for scikit-learn changes the filters of
    # warnings while it fits.
    with threadpool_limits({"openmp": n_threads if len(y) >= _MANY else 1, "blas": 1}):
        for place in range(n_folds):
            chosen = (fold != place) & (weights > 0)
            fitted.append(learner.fit(matrix[chosen], y[chosen], weights[chosen]))
            if watch is not None:
                watch(place + 1, n_folds)
    return fitted


def predict(models: Sequence[Predictor], matrix: Matrix, fold: NDArray[np.intp]) -> Vector:
    """Return the prediction of each row by the model of its fold."""
    result = np.empty(len(matrix))
    for place, model in enumerate(models):
        chosen = fold == place
        if chosen.any():
            result[chosen] = model(matrix[chosen])
    return result


def _counted(weights: Vector) -> dict[str, Vector]:
    """Return the weights as an argument of fit(), which takes much longer with them."""
    return {"sample_weight": weights} if (weights != 1).any() else {}


@dataclass(frozen=True)
class _Constant:
    value: float

    def __call__(self, matrix: Matrix) -> Vector:
        return np.full(len(matrix), self.value)


@dataclass
class _Given:
    """The user's model, which sees categories as columns of 0 and 1 and missing numbers as nan."""

    features: Features
    binary: bool
    model: Any
    seed: int

    def fit(self, matrix: Matrix, y: Vector, weights: Vector) -> _Given:
        from sklearn.base import clone
        from sklearn.utils.validation import has_fit_parameter

        fitted = clone(self.model)
        if getattr(fitted, "random_state", 0) is None:
            fitted.set_params(random_state=self.seed)
        counted = _counted(weights)
        if counted and not has_fit_parameter(fitted, "sample_weight"):
            raise OptionError(
                "its fit() takes no sample_weight, which weights need; repeat the rows instead",
                parameter="adjust_model",
                value=repr(self.model)[:60],
            )
        try:
            fitted.fit(self.features.indicators(matrix)[0], y, **counted)
        except ValueError as error:
            raise OptionError(
                f"it cannot be fitted to the controls: {error}", parameter="adjust_model", value=repr(self.model)[:60]
            ) from error
        self.model = fitted
        return self

    def __call__(self, matrix: Matrix) -> Vector:
        seen = self.features.indicators(matrix)[0]
        if self.binary and hasattr(self.model, "predict_proba"):
            return np.asarray(self.model.predict_proba(seen)[:, 1], np.float64)
        return np.asarray(self.model.predict(seen), np.float64)


@dataclass
class _Blend:
    """The weighted mean of gradient-boosted trees and of a smooth regression."""

    features: Features
    binary: bool
    seed: int

    def fit(self, matrix: Matrix, y: Vector, weights: Vector) -> _Blend:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        kind = HistGradientBoostingClassifier if self.binary else HistGradientBoostingRegressor
        mask = self.features.categorical
        trees = kind(
            max_leaf_nodes=next(leaves for leaves, least in _LEAVES if len(y) >= least),
            early_stopping=False,
            categorical_features=mask if mask.any() else None,
            random_state=self.seed,
        )
        self._trees = trees.fit(matrix, y, **_counted(weights))
        self._regression = _Regression(self.features, self.binary).fit(matrix, y, weights)
        return self

    def __call__(self, matrix: Matrix) -> Vector:
        if not self.binary:
            return np.asarray(_TREES * self._trees.predict(matrix) + (1 - _TREES) * self._regression.scores(matrix))
        steps, smooth = self._trees.decision_function(matrix), self._regression.scores(matrix)
        odds = [np.clip(each, -_FARTHEST, _FARTHEST) for each in (steps, smooth)]
        return np.asarray(_expit(_TREES * odds[0] + (1 - _TREES) * odds[1]))


@dataclass
class _Regression:
    """A ridge regression on splines of the controls, and on the products that its residuals call for."""

    features: Features
    binary: bool

    def fit(self, matrix: Matrix, y: Vector, weights: Vector) -> _Regression:
        self._basis = _Basis(self.features, matrix)
        self._fit(matrix, y, weights)
        scores = self.scores(matrix)
        expected = _expit(scores) if self.binary else scores
        spread = expected * (1 - expected) if self.binary else np.zeros_like(expected)
        if self._basis.add_products(matrix, y - expected, spread, weights):
            self._fit(matrix, y, weights)
        return self

    def scores(self, matrix: Matrix) -> Vector:
        """Return log-odds, or means."""
        predicted = self._model.decision_function if self.binary else self._model.predict
        return np.asarray(predicted(self._basis(matrix)))

    def _fit(self, matrix: Matrix, y: Vector, weights: Vector) -> None:
        from sklearn.linear_model import LogisticRegression, Ridge

        model: Any = LogisticRegression(C=1 / _RIDGE, max_iter=200) if self.binary else Ridge(alpha=_RIDGE)
        self._model = model.fit(self._basis(matrix), y, **_counted(weights))


class _Basis:
    """Linear splines with knots at the quartiles, indicators of categories and of missing values, standardised.

    Products of pairs of columns are added where they are called for.
    """

    def __init__(self, features: Features, matrix: Matrix) -> None:
        self._features = features
        columns, _ = features.indicators(matrix)
        with np.errstate(invalid="ignore"):
            present = [column[~np.isnan(column)] for column in columns.T]
        self._ends = [np.quantile(each, [0.01, 0.5, 0.99]) if len(each) else np.zeros(3) for each in present]
        self._spread = [(np.ptp(each) if len(each) else 0.0) or 1.0 for each in present]
        self._knots = [
            np.unique(np.quantile(each, [0.25, 0.5, 0.75])) if len(np.unique(each)) > 4 else np.empty(0)
            for each in present
        ]
        self._pairs = np.empty((2, 0), np.intp)
        self._standardise(matrix)

    def __call__(self, matrix: Matrix) -> Matrix:
        return np.asarray((self._raw(matrix) - self._mean) / self._scale)

    def add_products(self, matrix: Matrix, residual: Vector, spread: Vector, weights: Vector) -> bool:
        """Add the products of two columns whose covariance with the residuals is beyond chance; whether there are any.

        The chance counts all pairs (Bonferroni). `spread` is the variance of the residuals by the model: where a rare
        outcome happens in none of the rows with both, their own squares say too little.
        """
        left, right = np.triu_indices(len(self._ends), 1)
        if not len(left):
            return False
        sums = squares = expected = np.zeros((len(self._ends),) * 2)
        for start in range(0, len(matrix), _SLICE):
            part = slice(start, start + _SLICE)
            _, plain = self._columns(matrix[part])
            sums = sums + plain.T @ (plain * (weights * residual)[part, None])
            squares = squares + (plain**2).T @ (plain**2 * (weights * residual**2)[part, None])
            expected = expected + (plain**2).T @ (plain**2 * (weights * spread)[part, None])
        variance = np.maximum(np.maximum(squares, expected), np.finfo(float).tiny)
        strength = np.abs(sums / np.sqrt(variance))[left, right]
        strongest = np.argsort(-strength, kind="stable")[:_MOST_PRODUCTS]
        least = NormalDist().inv_cdf(1 - _BY_CHANCE / (2 * len(left)))
        chosen = np.sort(strongest[strength[strongest] > least])
        if not len(chosen):
            return False
        self._pairs = np.stack([left[chosen], right[chosen]])
        self._standardise(matrix)
        return True

    def _standardise(self, matrix: Matrix) -> None:
        basis = self._raw(matrix)
        deviation = basis.std(axis=0)
        deviation[deviation == 0] = 1.0
        deviation[len(deviation) - self._pairs.shape[1] :] *= _SMALLER
        self._mean, self._scale = basis.mean(axis=0), deviation

    def _raw(self, matrix: Matrix) -> Matrix:
        parts, plain = self._columns(matrix)
        left, right = self._pairs
        return np.column_stack([*parts, plain[:, left] * plain[:, right]])

    def _columns(self, matrix: Matrix) -> tuple[list[Vector], Matrix]:
        """Return the columns of the basis, and the controls themselves around their medians."""
        parts, plain = [], []
        columns, _ = self._features.indicators(matrix)
        learnt = zip(columns.T, self._ends, self._knots, self._spread, strict=True)
        for column, (low, middle, high), knots, spread in learnt:
            missing = np.isnan(column)
            inside = np.where(missing, middle, column)
            if len(knots):
                inside = np.clip(inside, low, high)
            plain.append((inside - middle) / spread)
            parts += [inside, *(np.maximum(inside - knot, 0.0) for knot in knots), missing.astype(np.float64)]
        return parts, np.column_stack(plain)


def _expit(odds: Vector) -> Vector:
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -_FARTHEST, _FARTHEST))))
