"""Cross-fitted predictions from the controls: no model predicts a row that it was trained on.

The default model is the mean, on the scale of log-odds for probabilities, of three: gradient-boosted trees, a smooth
additive model (linear splines, ridge penalty), and the same with the products of all pairs of controls, where they are
few. Trees alone approximate smooth functions in steps, and what they miss is left of the confounding; the additive
model alone misses interactions.
"""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from causalrules.exceptions import MissingPackageError, OptionError
from causalrules.language.features import Features, Matrix

Vector = NDArray[np.float64]

# Parts of the rows; each is predicted by the models of the others.
FOLDS = 5
# Penalties of the smooth models, as scikit-learn's C, and whether they have products.
_RIDGES = ((0.1, False), (0.01, True))
# Products of more columns than this are too many.
_MOST_MULTIPLIED = 25
# From so many rows on, trees are larger.
_LARGE = 10_000
# Log-odds are cut off here.
_FARTHEST = 10.0
# From so many rows on, more than one thread is worth its while.
_MANY = 20_000
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

    order = np.lexsort((weights, y, row_hash(matrix)))
    matrix, y, weights, fold = matrix[order], y[order], weights[order], fold[order]

    fitted = []
    # Threads that wait for one another are slow on a busy machine, and few rows need none. The folds come one after the
    # other, for scikit-learn changes the filters of warnings while it fits.
    with threadpool_limits(n_threads if len(y) >= _MANY else 1):
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
    """The mean of gradient-boosted trees, of an additive model and of one with products."""

    features: Features
    binary: bool
    seed: int

    def fit(self, matrix: Matrix, y: Vector, weights: Vector) -> _Blend:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
        from sklearn.linear_model import LogisticRegression, Ridge

        kind = HistGradientBoostingClassifier if self.binary else HistGradientBoostingRegressor
        mask = self.features.categorical
        trees = kind(
            max_leaf_nodes=4 if len(y) < _LARGE else 16,
            early_stopping=False,
            categorical_features=mask if mask.any() else None,
            random_state=self.seed,
        )
        self._trees = trees.fit(matrix, y, **_counted(weights))
        self._smooth = []
        for ridge, products in _RIDGES:
            basis = _Basis(self.features, matrix, products)
            if products and not basis.has_products:
                continue
            model: Any = LogisticRegression(C=ridge, max_iter=200) if self.binary else Ridge(alpha=1 / ridge)
            self._smooth.append((basis, model.fit(basis(matrix), y, **_counted(weights))))
        return self

    def __call__(self, matrix: Matrix) -> Vector:
        if not self.binary:
            means = [self._trees.predict(matrix), *(model.predict(basis(matrix)) for basis, model in self._smooth)]
            return np.asarray(np.mean(means, axis=0))
        odds = [model.decision_function(basis(matrix)) for basis, model in self._smooth]
        odds.append(self._trees.decision_function(matrix))
        mean = np.mean([np.clip(each, -_FARTHEST, _FARTHEST) for each in odds], axis=0)
        return np.asarray(1 / (1 + np.exp(-mean)))


class _Basis:
    """Linear splines with knots at the quartiles, indicators of categories and of missing values, standardised.

    With `products`, those of all pairs of columns as well, if they are few.
    """

    def __init__(self, features: Features, matrix: Matrix, products: bool = False) -> None:
        self._features = features
        columns, _ = features.indicators(matrix)
        with np.errstate(invalid="ignore"):
            present = [column[~np.isnan(column)] for column in columns.T]
        self._ends = [np.quantile(each, [0.01, 0.5, 0.99]) if len(each) else np.zeros(3) for each in present]
        self._knots = [
            np.unique(np.quantile(each, [0.25, 0.5, 0.75])) if len(np.unique(each[:1000])) > 4 else np.empty(0)
            for each in present
        ]
        self.has_products = products and 1 < len(present) <= _MOST_MULTIPLIED
        basis = self._raw(columns)
        self._mean, deviation = basis.mean(axis=0), basis.std(axis=0)
        self._scale = np.where(deviation > 0, deviation, 1.0)

    def __call__(self, matrix: Matrix) -> Matrix:
        return np.asarray((self._raw(self._features.indicators(matrix)[0]) - self._mean) / self._scale)

    def _raw(self, columns: Matrix) -> Matrix:
        parts, plain = [], []
        for column, (low, middle, high), knots in zip(columns.T, self._ends, self._knots, strict=True):
            missing = np.isnan(column)
            inside = np.where(missing, middle, column)
            if len(knots):
                inside = np.clip(inside, low, high)
            plain.append(inside - middle)
            parts += [inside, *(np.maximum(inside - knot, 0.0) for knot in knots), missing.astype(np.float64)]
        if self.has_products:
            parts += [one * other for one, other in itertools.combinations(plain, 2)]
        return np.column_stack(parts)
