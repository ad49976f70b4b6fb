"""Cross-fitted predictions from the controls: no model predicts its own training rows.

The default model is a weighted mean of a smooth regression and gradient-boosted trees, in log-odds for probabilities.
The weight of the trees is chosen by out-of-fold predictions. The regression is additive (linear splines, ridge
penalty), with products of pairs of controls that are significant in its residuals. Trees alone approximate smooth
functions by steps, which leaves confounding; a regression alone misses steps and interactions of many controls.
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

# Number of folds; each is predicted by a model fitted to the others.
FOLDS = 5
# Weight of the trees if there are no out-of-fold rows to choose it by.
_TREES = 1 / 4
# Candidate weights of the trees.
_SHARES = tuple(step / 20 for step in range(21))
# Penalty of the regression, weaker than the best for prediction: shrinkage of both the outcome and the propensity model
# leaves bias, overfitting does not.
_RIDGE = 10.0
# Products of controls: error rate of adding one by chance, factor by which they are scaled down (which multiplies their
# penalty by its square), and maximum number.
_BY_CHANCE, _SMALLER, _MOST_PRODUCTS = 0.01, 2.0, 100
# Number of trees, learning rate and bins of a number. Fewer trees with a larger learning rate and fewer bins than
# scikit-learn's defaults predict as well in half the time.
_ROUNDS, _STEP, _VALUES = 60, 0.15, 64
# Leaves of a tree, and the minimum rows for them.
_LEAVES = ((16, 10_000), (8, 1_000), (4, 0))
# Rows per slice when products are summed.
_SLICE = 20_000
# Log-odds are clipped here.
_MAX_LOG_ODDS = 10.0
# Minimum rows for more than one thread. With 50,000 rows, two threads save a tenth of the time on an idle machine and
# take ten times as long on a busy one, where they wait for each other.
_MIN_ROWS_FOR_THREADS = 100_000
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
        Whether to predict probabilities instead of means.
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
        """Fit the model; a constant target is predicted by its value."""
        if not len(y) or y.min() == y.max():
            return _Constant(float(y[0]) if len(y) else 0.0)
        if self.model is None:
            return _Blend(self.features, self.binary, self.seed).fit(matrix, y, weights)
        return _UserModel(self.features, self.binary, self.model, self.seed).fit(matrix, y, weights)


def is_available() -> bool:
    """Whether models can be fitted."""
    return importlib.util.find_spec("sklearn") is not None


def require_models(what: str) -> None:
    """Raise an error that says what to install if models cannot be fitted."""
    if not is_available():
        raise MissingPackageError(f"{what} needs scikit-learn: {INSTALL}")


def check_model(model: Any) -> None:
    """Raise an error unless the model has fit and predict."""
    if model is not None and not (hasattr(model, "fit") and hasattr(model, "predict") and not isinstance(model, type)):
        raise OptionError(
            "give an estimator of scikit-learn such as RandomForestClassifier()",
            parameter="adjust_model",
            value=repr(model)[:60],
        )


def fold_of(
    matrix: Matrix, seed: int = 0, groups: NDArray[Any] | None = None, n_folds: int = FOLDS
) -> NDArray[np.intp]:
    """Assign rows to folds by a hash of their controls, so that the order of the rows does not matter.

    Rows with equal controls are assigned to the folds in turn, in the order of the table. With `groups`, the group
    codes of the rows, the rows of a group share a fold.
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
    """Fit one model for each fold, on the rows of the other folds, ordered by their values alone."""
    require_models("a model of the controls")
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    # Limits apply only to libraries that are already loaded.
    importlib.import_module("sklearn.ensemble")
    order = np.lexsort((weights, y, row_hash(matrix)))
    matrix, y, weights, fold = matrix[order], y[order], weights[order], fold[order]

    fitted = []
    # Regressions never need threads. Folds run one after the other, because scikit-learn changes the warning filters
    # while it fits.
    with threadpool_limits({"openmp": n_threads if len(y) >= _MIN_ROWS_FOR_THREADS else 1, "blas": 1}):
        for place in range(n_folds):
            chosen = (fold != place) & (weights > 0)
            fitted.append(learner.fit(matrix[chosen], y[chosen], weights[chosen]))
            if watch is not None:
                watch(place + 1, n_folds)
        _choose_tree_weight(learner, fitted, matrix, y, weights, fold)
    return fitted


def _choose_tree_weight(
    learner: Learner,
    models: Sequence[Predictor],
    matrix: Matrix,
    y: Vector,
    weights: Vector,
    fold: NDArray[np.intp],
) -> None:
    """Set the weight of the trees in all default models, chosen by out-of-fold predictions."""
    tested = [(model, (fold == place) & (weights > 0)) for place, model in enumerate(models)]
    blends = [(model, rows) for model, rows in tested if isinstance(model, _Blend) and rows.any()]
    if not blends:
        return
    steps, smooth = (
        np.concatenate(each) for each in zip(*(model.parts(matrix[rows]) for model, rows in blends), strict=True)
    )
    rows = np.concatenate([np.flatnonzero(rows) for _, rows in blends])
    share = best_share(steps, smooth, y[rows], weights[rows], learner.binary)
    for model, _ in blends:
        model.share = share


def best_share(steps: Vector, smooth: Vector, y: Vector, weights: Vector, binary: bool) -> float:
    """Return the smallest weight of the trees whose loss is within one standard error of the best.

    The loss of s = t steps + (1 − t) smooth is (y − s)², or log(1 + exp s) − y s for log-odds. Of t = 0, 0.05, …, 1 the
    smallest is returned whose mean loss exceeds that of the best t by no more than the standard error of the difference
    (one-standard-error rule; Breiman, Friedman, Olshen & Stone 1984). Where trees have no significant gain, their
    approximation error for smooth functions would be left as bias.

    Examples
    --------
    >>> y, ones = np.arange(100.0), np.ones(100)
    >>> best_share(y, y - 1, y, ones, binary=False), best_share(y - 1, y, y, ones, binary=False)
    (1.0, 0.0)
    """

    def losses(share: float) -> Vector:
        score = share * steps + (1 - share) * smooth
        return np.asarray(np.logaddexp(0, score) - y * score if binary else (y - score) ** 2)

    n_rows = weights.sum()
    least = min((losses(share) for share in _SHARES), key=lambda each: float(weights @ each))

    def is_as_good(share: float) -> bool:
        more = losses(share) - least
        mean = weights @ more / n_rows
        return bool(mean <= np.sqrt(weights @ (more - mean) ** 2) / n_rows)

    return next((share for share in _SHARES if is_as_good(share)), _TREES)


def predict(models: Sequence[Predictor], matrix: Matrix, fold: NDArray[np.intp]) -> Vector:
    """Return the prediction of each row by the model of its fold."""
    result = np.empty(len(matrix))
    for place, model in enumerate(models):
        chosen = fold == place
        if chosen.any():
            result[chosen] = model(matrix[chosen])
    return result


def _counted(weights: Vector) -> dict[str, Vector]:
    """Return the weights as an argument of fit() unless all are 1: fit() takes much longer with weights."""
    return {"sample_weight": weights} if (weights != 1).any() else {}


@dataclass(frozen=True)
class _Constant:
    value: float

    def __call__(self, matrix: Matrix) -> Vector:
        return np.full(len(matrix), self.value)


@dataclass
class _UserModel:
    """The user's model, with categories as 0/1 columns and missing numbers as nan."""

    features: Features
    binary: bool
    model: Any
    seed: int

    def fit(self, matrix: Matrix, y: Vector, weights: Vector) -> _UserModel:
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
    """Weighted mean of gradient-boosted trees and a smooth regression; `share` is the weight of the trees."""

    features: Features
    binary: bool
    seed: int
    share: float = _TREES

    def fit(self, matrix: Matrix, y: Vector, weights: Vector) -> _Blend:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        kind = HistGradientBoostingClassifier if self.binary else HistGradientBoostingRegressor
        mask = self.features.categorical
        trees = kind(
            max_iter=_ROUNDS,
            learning_rate=_STEP,
            max_bins=max([_VALUES, *(part.n_categories for part in self.features.parts)]),
            max_leaf_nodes=next(leaves for leaves, least in _LEAVES if len(y) >= least),
            early_stopping=False,
            categorical_features=mask if mask.any() else None,
            random_state=self.seed,
        )
        self._trees = trees.fit(matrix, y, **_counted(weights))
        self._regression = _Regression(self.features, self.binary).fit(matrix, y, weights)
        return self

    def __call__(self, matrix: Matrix) -> Vector:
        steps, smooth = self.parts(matrix)
        score = self.share * steps + (1 - self.share) * smooth
        return _expit(score) if self.binary else score

    def parts(self, matrix: Matrix) -> tuple[Vector, Vector]:
        """Return the predictions of the trees and of the regression: log-odds, or means."""
        smooth = self._regression.scores(matrix)
        if not self.binary:
            return np.asarray(self._trees.predict(matrix)), smooth
        odds = self._trees.decision_function(matrix)
        return np.clip(odds, -_MAX_LOG_ODDS, _MAX_LOG_ODDS), np.clip(smooth, -_MAX_LOG_ODDS, _MAX_LOG_ODDS)


@dataclass
class _Regression:
    """A ridge regression on splines of the controls, and on products that are significant in its residuals."""

    features: Features
    binary: bool

    def fit(self, matrix: Matrix, y: Vector, weights: Vector) -> _Regression:
        self._basis = _Basis(self.features, matrix)
        design = self._basis(matrix)
        self._fit(design, y, weights)
        scores = self._scores(design)
        expected = _expit(scores) if self.binary else scores
        spread = expected * (1 - expected) if self.binary else np.zeros_like(expected)
        if self._basis.add_products(matrix, y - expected, spread, weights):
            self._fit(self._basis(matrix), y, weights)
        return self

    def scores(self, matrix: Matrix) -> Vector:
        """Return log-odds, or means."""
        return self._scores(self._basis(matrix))

    def _scores(self, design: Matrix) -> Vector:
        return np.asarray((self._model.decision_function if self.binary else self._model.predict)(design))

    def _fit(self, design: Matrix, y: Vector, weights: Vector) -> None:
        from sklearn.linear_model import LogisticRegression, Ridge

        model: Any = LogisticRegression(C=1 / _RIDGE, max_iter=200) if self.binary else Ridge(alpha=_RIDGE)
        self._model = model.fit(design, y, **_counted(weights))


class _Basis:
    """Linear splines with knots at the quartiles, indicators of categories and of missing values, standardised.

    `add_products` appends products of pairs of columns.
    """

    def __init__(self, features: Features, matrix: Matrix) -> None:
        self._features = features
        columns, _ = features.indicators(matrix)
        missing = np.isnan(columns)
        self._with_missing = np.flatnonzero(missing.any(axis=0))
        present = [np.sort(column[~holes]) for column, holes in zip(columns.T, missing.T, strict=True)]
        present = [each if len(each) else np.zeros(1) for each in present]
        is_bent = np.array([np.count_nonzero(np.diff(each)) >= 4 for each in present])
        ends = np.array([np.quantile(each, [0.01, 0.5, 0.99]) for each in present])
        self._middle, self._spread = ends[:, 1], np.array([np.ptp(each) or 1.0 for each in present])
        self._low, self._high = np.where(is_bent, ends[:, 0], -np.inf), np.where(is_bent, ends[:, 2], np.inf)
        knots = {place: np.unique(np.quantile(present[place], [0.25, 0.5, 0.75])) for place in np.flatnonzero(is_bent)}
        self._knotted = np.repeat(np.fromiter(knots, np.intp), [len(each) for each in knots.values()])
        self._knots = np.concatenate([np.empty(0), *knots.values()])
        self._pairs = np.empty((2, 0), np.intp)
        self._standardise(matrix)

    def __call__(self, matrix: Matrix) -> Matrix:
        return np.asarray((self._raw(matrix) - self._mean) / self._scale)

    def add_products(self, matrix: Matrix, residual: Vector, spread: Vector, weights: Vector) -> bool:
        """Add products of two columns with a significant covariance with the residuals; return whether any was added.

        Significance allows for all pairs (Bonferroni). `spread` is the variance of the residuals by the model: their
        own squares are too small where a rare outcome happens in none of the rows with both.
        """
        left, right = np.triu_indices(len(self._middle), 1)
        if not len(left):
            return False
        sums = squares = expected = np.zeros((len(self._middle),) * 2)
        for start in range(0, len(matrix), _SLICE):
            part = slice(start, start + _SLICE)
            plain = self._around_median(self._inside(matrix[part])[0])
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
        inside, missing = self._inside(matrix)
        bends = np.maximum(inside[:, self._knotted] - self._knots, 0.0)
        left, right = (self._around_median(inside)[:, each] for each in self._pairs)
        return np.hstack([inside, bends, missing[:, self._with_missing], left * right])

    def _inside(self, matrix: Matrix) -> tuple[Matrix, NDArray[np.bool_]]:
        """Return the controls with extreme values clipped and missing ones replaced by medians, and what is missing."""
        columns, _ = self._features.indicators(matrix)
        missing = np.isnan(columns)
        return np.clip(np.where(missing, self._middle, columns), self._low, self._high), missing

    def _around_median(self, inside: Matrix) -> Matrix:
        return np.asarray((inside - self._middle) / self._spread)


def _expit(odds: Vector) -> Vector:
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -_MAX_LOG_ODDS, _MAX_LOG_ODDS))))
