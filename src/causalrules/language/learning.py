"""Cross-fitted predictions from the controls: no model predicts its own training rows.

The default model is a weighted mean of a smooth regression and gradient-boosted trees, in log-odds for probabilities.
The weight of the trees is chosen by out-of-fold predictions; if one fold shows that they do not pay, none are fitted.
The regression is additive (linear splines, ridge penalty), with products of pairs of controls that are significant in
its residuals. Trees alone approximate smooth functions by steps, which leaves confounding; a regression alone misses
steps and interactions of many controls.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from causalrules.exceptions import MissingPackageError, OptionError
from causalrules.language.features import Features, Matrix, Vector
from causalrules.language.regression import MAX_LOG_ODDS, NO_PAIRS, Pairs, Smooth, cross_fitted, expit

# Number of folds; each is predicted by a model fitted to the others.
FOLDS = 5
# Candidate weights of the trees, and the least weight in one fold for which they are fitted to all.
_SHARES = tuple(step / 20 for step in range(21))
_LEAST = 1 / 4
# Number of trees, learning rate and bins of a number. Fewer trees with a larger learning rate and fewer bins than
# scikit-learn's defaults predict as well in half the time.
_ROUNDS, _STEP, _VALUES = 60, 0.15, 64
# Leaves of a tree, and the minimum rows for them.
_LEAVES = ((16, 10_000), (8, 1_000), (4, 0))
# Rows that trees are tried out on, and rows per slice of their predictions, which stay in a processor's cache.
_TRIED, _SLICE = 10_000, 1_000
# Minimum rows for more than one thread. With 50,000 rows, two threads save a tenth of the time on an idle machine and
# take ten times as long on a busy one, where they wait for each other.
_MIN_ROWS_FOR_THREADS = 100_000
Watcher = Callable[[int, int], None]
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
    products
        Pairs of controls whose products the default model has, in addition to those that it chooses.
    """

    features: Features
    binary: bool
    model: Any = None
    seed: int = 0
    products: Pairs = field(default_factory=lambda: NO_PAIRS, compare=False)

    def fit(
        self,
        matrix: Matrix,
        y: Vector,
        weights: Vector,
        fold: NDArray[np.intp],
        n_folds: int,
        watch: Watcher | None = None,
    ) -> list[Predictor]:
        """Fit a model for each fold to the rows of the others; a constant target is predicted by its value.

        Rows are sorted by their folds.
        """
        fitted: list[Predictor] = []
        for place in range(n_folds):
            known = y[fold != place]
            fitted.append(_Constant(float(known[0]) if len(known) else 0.0))
        varying = [place for place in range(n_folds) if len(np.unique(y[fold != place])) > 1]
        if self.model is None and varying:
            blends = _blends(self, matrix, y, weights, fold, varying, watch)
            for place, blend in zip(varying, blends, strict=True):
                fitted[place] = blend
        elif self.model is not None:
            for place in varying:
                rest = fold != place
                user = _UserModel(self.features, self.binary, self.model, self.seed)
                fitted[place] = user.fit(matrix[rest], y[rest], weights[rest])
                if watch is not None:
                    watch(place + 1, n_folds)
        return fitted


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
    watch: Watcher | None = None,
    n_folds: int = FOLDS,
) -> list[Predictor]:
    """Fit one model for each fold, on the rows of the other folds, ordered by their values alone."""
    require_models("a model of the controls")
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    # Limits apply only to libraries that are already loaded.
    importlib.import_module("sklearn.ensemble")
    order = np.lexsort((weights, y, row_hash(matrix), fold))
    order = order[weights[order] > 0]
    # Folds run one after the other, because scikit-learn changes the warning filters while it fits.
    with threadpool_limits({"openmp": n_threads if len(y) >= _MIN_ROWS_FOR_THREADS else 1, "blas": 1}):
        return learner.fit(matrix[order], y[order], weights[order], fold[order], n_folds, watch)


def _blends(
    learner: Learner,
    matrix: Matrix,
    y: Vector,
    weights: Vector,
    fold: NDArray[np.intp],
    places: Sequence[int],
    watch: Watcher | None,
) -> list[Blend]:
    """Fit the default model for each of these folds, with the weight of the trees chosen by out-of-fold predictions."""
    binary = learner.binary
    models = [
        Blend(binary, smooth)
        for smooth in cross_fitted(learner.features, matrix, y, weights, fold, places, binary, learner.products)
    ]
    own = [np.flatnonzero(fold == place) for place in places]
    smooth = [model.smooth_scores(matrix[rows]) for model, rows in zip(models, own, strict=True)]
    tried = max(range(len(places)), key=lambda number: len(own[number]))
    rows = np.flatnonzero(fold != places[tried])
    # Rows are in the order of a hash.
    first = _trees(learner, matrix, y, weights, rows[:: -(-len(rows) // _TRIED)])
    steps = tree_scores(first, matrix[own[tried]], binary)
    if not may_pay(steps, smooth[tried], y[own[tried]], weights[own[tried]], binary, len(y)):
        return models
    for number, place in enumerate(places):
        rows = np.flatnonzero(fold != place)
        is_tried = number == tried and len(rows) <= _TRIED
        models[number].trees = first if is_tried else _trees(learner, matrix, y, weights, rows)
        if watch is not None:
            watch(number + 1, len(places))
    each = np.concatenate(own)
    steps = np.concatenate(
        [tree_scores(model.trees, matrix[rows], binary) for model, rows in zip(models, own, strict=True)]
    )
    share = best_share(steps, np.concatenate(smooth), y[each], weights[each], binary)
    for model in models:
        model.share = share
    return models


def _trees(learner: Learner, matrix: Matrix, y: Vector, weights: Vector, rows: NDArray[np.intp]) -> Any:
    """Fit gradient-boosted trees to some of the rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if learner.binary else HistGradientBoostingRegressor
    mask = learner.features.categorical
    trees = kind(
        max_iter=_ROUNDS,
        learning_rate=_STEP,
        max_bins=max([_VALUES, *(part.n_categories for part in learner.features.parts)]),
        max_leaf_nodes=next(leaves for leaves, least in _LEAVES if len(rows) >= least),
        early_stopping=False,
        categorical_features=mask if mask.any() else None,
        random_state=learner.seed,
    )
    return trees.fit(matrix[rows], y[rows], **_counted(weights[rows]))


def may_pay(steps: Vector, smooth: Vector, y: Vector, weights: Vector, binary: bool, n_rows: int) -> bool:
    """Return whether one fold shows that trees may pay: their best share is at least 1/4, and its gain may be real.

    With g the mean gain of the best share over none, and s its standard error in this fold of m of the n rows, the gain
    is significant if it goes on like this in all folds: g > s √(m/n). A smaller share averages out noise at best, and
    leaves some of the trees' own error as bias.
    """
    losses = [_losses(steps, smooth, y, binary, share) for share in _SHARES]
    best = min(range(len(losses)), key=lambda place: float(weights @ losses[place]))
    gain = losses[0] - losses[best]
    mean = weights @ gain / weights.sum()
    error = np.sqrt(weights @ (gain - mean) ** 2) / weights.sum()
    return bool(_SHARES[best] >= _LEAST and mean > error * np.sqrt(len(y) / n_rows))


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
    n_rows = weights.sum()
    losses = [_losses(steps, smooth, y, binary, share) for share in _SHARES]
    least = min(losses, key=lambda each: float(weights @ each))

    def is_as_good(loss: Vector) -> bool:
        more = loss - least
        mean = weights @ more / n_rows
        return bool(mean <= np.sqrt(weights @ (more - mean) ** 2) / n_rows)

    return next(share for share, loss in zip(_SHARES, losses, strict=True) if is_as_good(loss))


def _losses(steps: Vector, smooth: Vector, y: Vector, binary: bool, share: float) -> Vector:
    score = share * steps + (1 - share) * smooth
    return np.asarray(np.logaddexp(0, score) - y * score if binary else (y - score) ** 2)


def products_of(models: Sequence[Predictor]) -> Pairs:
    """Return the pairs of controls whose products a model has, in any of the folds."""
    pairs = [model.smooth.basis.pairs for model in models if isinstance(model, Blend)]
    return np.unique(np.hstack([NO_PAIRS, *pairs]), axis=1)


def predict(models: Sequence[Predictor], matrix: Matrix, fold: NDArray[np.intp]) -> Vector:
    """Return the prediction of each row by the model of its fold."""
    from threadpoolctl import threadpool_limits

    result = np.empty(len(matrix))
    with threadpool_limits(1):
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
            fitted.fit(self.features.indicators(matrix), y, **counted)
        except ValueError as error:
            raise OptionError(
                f"it cannot be fitted to the controls: {error}", parameter="adjust_model", value=repr(self.model)[:60]
            ) from error
        self.model = fitted
        return self

    def __call__(self, matrix: Matrix) -> Vector:
        seen = self.features.indicators(matrix)
        if self.binary and hasattr(self.model, "predict_proba"):
            return np.asarray(self.model.predict_proba(seen)[:, 1], np.float64)
        return np.asarray(self.model.predict(seen), np.float64)


@dataclass
class Blend:
    """Weighted mean of gradient-boosted trees and a smooth regression; `share` is the weight of the trees."""

    binary: bool
    smooth: Smooth
    trees: Any = None
    share: float = 0.0

    def __call__(self, matrix: Matrix) -> Vector:
        """Return the predictions for rows of the controls: probabilities, or means."""
        score = self.smooth_scores(matrix)
        if self.share:
            score = self.share * tree_scores(self.trees, matrix, self.binary) + (1 - self.share) * score
        return expit(score) if self.binary else score

    def smooth_scores(self, matrix: Matrix) -> Vector:
        """Return the predictions of the regression: log-odds, or means."""
        scores = self.smooth.scores(matrix)
        return np.clip(scores, -MAX_LOG_ODDS, MAX_LOG_ODDS) if self.binary else scores


def tree_scores(trees: Any, matrix: Matrix, binary: bool) -> Vector:
    """Return the predictions of trees: log-odds, or means."""
    parts = [matrix[start : start + _SLICE] for start in range(0, len(matrix), _SLICE)]
    score = trees.decision_function if binary else trees.predict
    scores = np.concatenate([np.empty(0), *(score(part) for part in parts)])
    return np.clip(scores, -MAX_LOG_ODDS, MAX_LOG_ODDS) if binary else scores
