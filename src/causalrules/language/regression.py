"""Cross-fitted ridge regressions on splines of the controls, for all folds by the same passes over the rows.

For rows x of the basis with weights w and target y, the coefficients b of fold k minimise

    Σ w loss(y, x·b) + (r/2) |b|²   over the rows of the other folds, with the intercept free of the penalty r,

where the loss is (y − s)²/2 for means and log(1 + exp s) − y s for log-odds. Sums over rows are kept for each fold:
those over the other folds are the total minus its own (downdating).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from causalrules.language.features import Features, Matrix, Vector

Mask = NDArray[np.bool_]
# Pairs of controls, one column each.
Pairs = NDArray[np.intp]
NO_PAIRS: Pairs = np.empty((2, 0), np.intp)

# Penalty of the regression, weaker than the best for prediction: shrinkage of both the outcome and the propensity model
# leaves bias, overfitting does not.
_RIDGE = 10.0
# Products of controls: error rate of adding one by chance, factor by which they are scaled down (which multiplies their
# penalty by its square), and maximum number.
_BY_CHANCE, _SMALLER, _MOST_PRODUCTS = 0.01, 2.0, 100
# Rows per block of the basis, and the maximum numbers of it that are kept between passes.
_BLOCK, _KEPT = 4096, 2**26
# Logistic regressions: share of the rows of a first solution, and the squared Newton decrement of the last step. A
# Newton matrix is computed again where a step reduces the decrement by less than this factor.
_FIRST, _DECREMENT, _SLOW = 1 / 8, 1e-18, 0.03
_MOST_STEPS = 100
# Log-odds are clipped here.
MAX_LOG_ODDS = 10.0


def expit(odds: Vector) -> Vector:
    """Return the probability of log-odds, which are clipped."""
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -MAX_LOG_ODDS, MAX_LOG_ODDS))))


class Basis:
    """An intercept, linear splines with knots at the quartiles, indicators of categories and of missing values.

    Columns are standardised, and learnt from the controls alone. `with_products` appends products of pairs of columns.
    """

    def __init__(self, features: Features, matrix: Matrix) -> None:
        self._features = features
        columns = features.indicators(matrix)
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
        self.pairs = NO_PAIRS
        self._standardise(matrix)

    @property
    def n_columns(self) -> int:
        """Number of controls and categories, the columns that products are made of."""
        return len(self._middle)

    @property
    def width(self) -> int:
        """Number of columns, with the intercept."""
        return 1 + len(self._mean)

    def __call__(self, matrix: Matrix) -> Matrix:
        """Return the basis of rows of the controls."""
        return np.hstack([np.ones((len(matrix), 1)), (self._raw(matrix) - self._mean) / self._scale])

    def around_median(self, matrix: Matrix) -> Matrix:
        """Return the columns that products are made of, less their medians, over their ranges."""
        return np.asarray((self._inside(matrix)[0] - self._middle) / self._spread)

    def with_products(self, pairs: Pairs, matrix: Matrix) -> Basis:
        """Return the basis with the products of these pairs of columns, standardised by these rows."""
        basis: Basis = object.__new__(Basis)
        vars(basis).update(vars(self), pairs=pairs)
        basis._standardise(matrix)
        return basis

    def _standardise(self, matrix: Matrix) -> None:
        sums = squares = np.zeros(1)
        origin = self._raw(matrix[:1])[0]
        for part in _blocks(0, len(matrix)):
            raw = self._raw(matrix[part]) - origin
            sums, squares = sums + raw.sum(axis=0), squares + np.einsum("ij,ij->j", raw, raw)
        mean = sums / len(matrix)
        variance = squares / len(matrix) - mean**2
        deviation = np.sqrt(np.where(variance > 1e-12 * squares / len(matrix), variance, 0.0))
        deviation[deviation == 0] = 1.0
        deviation[len(deviation) - self.pairs.shape[1] :] *= _SMALLER
        self._mean, self._scale = mean + origin, deviation

    def _raw(self, matrix: Matrix) -> Matrix:
        inside, missing = self._inside(matrix)
        bends = np.maximum(inside[:, self._knotted] - self._knots, 0.0)
        parts = [inside, bends, missing[:, self._with_missing]]
        if self.pairs.shape[1]:
            around = (inside - self._middle) / self._spread
            parts.append(around[:, self.pairs[0]] * around[:, self.pairs[1]])
        return np.hstack(parts)

    def _inside(self, matrix: Matrix) -> tuple[Matrix, Mask]:
        """Return the controls with extreme values clipped and missing ones replaced by medians, and what is missing."""
        columns = self._features.indicators(matrix)
        missing = np.isnan(columns)
        return np.clip(np.where(missing, self._middle, columns), self._low, self._high), missing


class Smooth(NamedTuple):
    """A fitted regression."""

    basis: Basis
    coefficients: Vector

    def scores(self, matrix: Matrix) -> Vector:
        """Return log-odds, or means."""
        return np.concatenate([np.empty(0), *(self._block(matrix[part]) for part in _blocks(0, len(matrix)))])

    def _block(self, matrix: Matrix) -> Vector:
        return np.asarray(self.basis(matrix) @ self.coefficients)


def cross_fitted(
    features: Features,
    matrix: Matrix,
    y: Vector,
    weights: Vector,
    fold: NDArray[np.intp],
    places: Sequence[int],
    binary: bool,
    products: Pairs = NO_PAIRS,
) -> list[Smooth]:
    """Return a regression for each of the folds in `places`, fitted to the rows of the other folds.

    Rows are sorted by their folds. Products of pairs of controls that are significant in the residuals of a fold's
    regression are added to it, and those of `products` to all.
    """
    basis = Basis(features, matrix)
    rows = _Rows(basis, matrix, y, weights, fold)
    everything = np.ones((len(places), basis.width), np.bool_)
    solve = _logistic if binary else _linear
    found = solve(rows, places, everything, None)
    chosen = [
        np.unique(np.hstack([own, products]), axis=1) for own in _significant_products(rows, places, found, binary)
    ]
    pairs = np.unique(np.concatenate(chosen, axis=1), axis=1)
    if pairs.shape[1]:
        wider = basis.with_products(pairs, matrix)
        names = [f"{left} {right}" for left, right in pairs.T]
        own = np.array([np.isin(names, [f"{left} {right}" for left, right in each.T]) for each in chosen])
        start = np.vstack([found, np.zeros((pairs.shape[1], len(places)))])
        rows = _Rows(wider, matrix, y, weights, fold)
        basis, found = wider, solve(rows, places, np.hstack([everything, own]), start)
    return [Smooth(basis, each) for each in found.T]


class _Block(NamedTuple):
    """Some rows of one fold: the basis, targets and weights; `part` is their place among all rows."""

    part: slice
    fold: int
    x: Matrix
    y: Vector
    w: Vector


class _Rows:
    """The rows in blocks of one fold each; their basis is kept if it is small."""

    def __init__(self, basis: Basis, matrix: Matrix, y: Vector, weights: Vector, fold: NDArray[np.intp]) -> None:
        self.basis, self.matrix, self.y, self.weights = basis, matrix, y, weights
        ends = np.flatnonzero(np.diff(fold, append=-1)) + 1
        self._parts = [
            (part, int(fold[start]))
            for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)
            for part in _blocks(start, end)
        ]
        self.n_folds = int(fold.max(initial=0)) + 1
        kept = len(matrix) * basis.width <= _KEPT
        self._known = [self._block(part, place) for part, place in self._parts] if kept else None

    def __iter__(self) -> Iterator[_Block]:
        if self._known is not None:
            yield from self._known
            return
        for part, place in self._parts:
            yield self._block(part, place)

    def _block(self, part: slice, place: int) -> _Block:
        return _Block(part, place, self.basis(self.matrix[part]), self.y[part], self.weights[part])

    def some(self, share: float) -> tuple[Matrix, Vector, Vector]:
        """Return the basis, targets and weights of a share of the rows of each block."""
        parts = [
            slice(part.start, part.start + max(1, int(share * (part.stop - part.start)))) for part, _ in self._parts
        ]
        chosen = np.concatenate([np.arange(part.start, part.stop) for part in parts])
        return self.basis(self.matrix[chosen]), self.y[chosen], self.weights[chosen]


def _blocks(start: int, end: int) -> list[slice]:
    return [slice(first, min(first + _BLOCK, end)) for first in range(start, end, _BLOCK)]


def _penalty(width: int) -> Vector:
    penalty = np.full(width, _RIDGE)
    penalty[0] = 0.0
    return penalty


def _others(sums: Matrix, place: int) -> Matrix:
    """Return the sums over all folds but one."""
    return np.asarray(sums.sum(axis=0) - (sums[place] if place < len(sums) else 0.0))


def _inverse(matrix: Matrix, active: Mask) -> Matrix:
    """Return the inverse on the active columns, and 0 on the others."""
    inverse = np.zeros_like(matrix)
    inverse[np.ix_(active, active)] = np.linalg.inv(matrix[np.ix_(active, active)])
    return inverse


def _linear(rows: _Rows, places: Sequence[int], active: Mask, start: Matrix | None) -> Matrix:
    """Return the coefficients of each fold by the normal equations."""
    width = rows.basis.width
    grams, moments = np.zeros((rows.n_folds, width, width)), np.zeros((rows.n_folds, width))
    for block in rows:
        weighted = block.x * block.w[:, None]
        grams[block.fold] += block.x.T @ weighted
        moments[block.fold] += weighted.T @ block.y
    penalty = np.diag(_penalty(width))
    return np.column_stack(
        [
            _inverse(_others(grams, place) + penalty, own) @ _others(moments, place)
            for place, own in zip(places, active, strict=True)
        ]
    )


def _logistic(rows: _Rows, places: Sequence[int], active: Mask, start: Matrix | None) -> Matrix:
    """Return the coefficients of each fold by Newton steps with a matrix that all folds share, up to downdating.

    The matrix, at the mean of the folds' coefficients, is computed again where it slows the steps down, then for each
    fold by itself. Steps that do not reduce the loss are halved.
    """
    found = np.repeat(_first(rows)[:, None], len(places), axis=1) if start is None else start.copy()
    found[~active.T] = 0.0
    loss, gradient = _losses(rows, places, found)
    inverses = _newton(rows, places, active, found.mean(axis=1, keepdims=True))
    step = _step(inverses, gradient)
    length, before = np.ones(len(places)), np.full(len(places), np.inf)
    for _ in range(_MOST_STEPS):
        decrement = np.sum(step * gradient, axis=0)
        if np.all(decrement <= _DECREMENT):
            break
        if np.any((decrement > np.maximum(_SLOW * before, _DECREMENT)) & np.isfinite(before)):
            inverses = _newton(rows, places, active, found)
            step = _step(inverses, gradient)
        trial = found - length * step
        its_loss, its_gradient = _losses(rows, places, trial)
        better = its_loss <= loss + 1e-12 * np.abs(loss)
        before = np.where(better, np.sum(step * gradient, axis=0), np.inf)
        found, gradient = np.where(better, trial, found), np.where(better, its_gradient, gradient)
        loss, length = np.where(better, its_loss, loss), np.where(better, 1.0, length / 2)
        if length.min() < 1e-6:
            break
        step = _step(inverses, gradient)
    return found


def _step(inverses: Sequence[Matrix], gradient: Matrix) -> Matrix:
    return np.column_stack([inverse @ own for inverse, own in zip(inverses, gradient.T, strict=True)])


def _losses(rows: _Rows, places: Sequence[int], found: Matrix) -> tuple[Vector, Matrix]:
    """Return the penalised loss of each fold's coefficients and its gradient, over the rows of the other folds."""
    penalty = _penalty(len(found))[:, None]
    loss, gradient = 0.5 * np.sum(penalty * found**2, axis=0), penalty * found
    for block in rows:
        others = np.array([place != block.fold for place in places])
        scores = block.x @ found
        small = np.exp(-np.abs(scores))
        chance = np.where(scores >= 0, 1.0, small) / (1 + small)
        each = np.maximum(scores, 0.0) + np.log1p(small) - block.y[:, None] * scores
        loss += np.where(others, block.w @ each, 0.0)
        gradient += block.x.T @ ((chance - block.y[:, None]) * block.w[:, None] * others)
    return loss, gradient


def _newton(rows: _Rows, places: Sequence[int], active: Mask, found: Matrix) -> list[Matrix]:
    """Return the inverse of the second derivatives for each fold, at its coefficients or at one set for all."""
    width, n_sets = found.shape
    grams = np.zeros((n_sets, rows.n_folds, width, width))
    for block in rows:
        chance = expit(block.x @ found)
        for place, spread in enumerate((chance * (1 - chance)).T):
            grams[place, block.fold] += block.x.T @ (block.x * (block.w * spread)[:, None])
    penalty = np.diag(_penalty(width))
    return [
        _inverse(_others(grams[number if n_sets > 1 else 0], place) + penalty, own)
        for number, (place, own) in enumerate(zip(places, active, strict=True))
    ]


def _first(rows: _Rows) -> Vector:
    """Return coefficients near those of all rows, by Newton steps on some rows, with as much less of a penalty."""
    x, y, w = rows.some(_FIRST if len(rows.matrix) > 8 * rows.basis.width else 1.0)
    share = len(x) / len(rows.matrix)
    penalty = share * _penalty(x.shape[1]) + 1e-6
    found = np.zeros(x.shape[1])
    mean = np.clip(np.average(y, weights=w), 1e-4, 1 - 1e-4)
    found[0] = np.log(mean / (1 - mean))
    for _ in range(6):
        chance = expit(x @ found)
        gradient = x.T @ (w * (chance - y)) + penalty * found
        second = x.T @ (x * (w * np.maximum(chance * (1 - chance), 1e-4))[:, None]) + np.diag(penalty)
        step = np.linalg.solve(second, gradient)
        found -= step
        if step @ gradient < 1e-2:
            break
    return found


def _significant_products(rows: _Rows, places: Sequence[int], found: Matrix, binary: bool) -> list[Pairs]:
    """Return the pairs of columns of each fold with a significant covariance with the residuals of the other folds.

    Significance allows for all pairs (Bonferroni). The variance is that of the residuals, or that by the model if
    larger: squares of residuals are too small where a rare outcome happens in none of the rows with both.
    """
    size = rows.basis.n_columns
    left, right = np.triu_indices(size, 1)
    if not len(left):
        return [NO_PAIRS] * len(places)
    sums = np.zeros((len(places), size, size))
    squares, expected = np.zeros((2, rows.n_folds, size, size))
    for block in rows:
        plain = rows.basis.around_median(rows.matrix[block.part])
        scores = block.x @ found
        level = expit(scores) if binary else scores
        for number, place in enumerate(places):
            if place != block.fold:
                sums[number] += plain.T @ (plain * (block.w * (block.y - level[:, number]))[:, None])
        # The variance needs no model of its own for each fold.
        own = level[:, places.index(block.fold)] if block.fold in places else level.mean(axis=1)
        squared = plain**2
        squares[block.fold] += squared.T @ (squared * (block.w * (block.y - own) ** 2)[:, None])
        if binary:
            expected[block.fold] += squared.T @ (squared * (block.w * own * (1 - own))[:, None])
    least = NormalDist().inv_cdf(1 - _BY_CHANCE / (2 * len(left)))
    chosen = []
    for number, place in enumerate(places):
        variance = np.maximum(_others(squares, place), _others(expected, place))
        strength = np.abs(sums[number] / np.sqrt(np.maximum(variance, np.finfo(float).tiny)))[left, right]
        strongest = np.argsort(-strength, kind="stable")[:_MOST_PRODUCTS]
        those = np.sort(strongest[strength[strongest] > least])
        chosen.append(np.stack([left[those], right[those]]))
    return chosen
