"""Doubly robust scores of rows: what each row says of the outcome on both sides of a rule (AIPW).

For row i with controls z, target y, predicted targets μ₁ and μ₀ on both sides and propensities e₁ and e₀ of being on
them,

    Γ₁ = μ₁(z) + [covered] (y − μ₁(z)) / e₁(z)        Γ₀ = μ₀(z) + [compared with] (y − μ₀(z)) / e₀(z)

have the mean targets if all rows were covered, or none; ψ = Γ₁ − Γ₀ has the mean effect, on all rows and on any group
of rows that the controls describe (Robins, Rotnitzky & Zhao 1994). The means are consistent if the predictions or the
propensities are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from causalrules.estimators.sides import share_of
from causalrules.language.features import Vector
from causalrules.language.learning import FOLDS, Learner, cross_fit, predict, products_of
from causalrules.language.regression import NO_PAIRS, Pairs
from causalrules.search.controls import Controls

# A row has overlap if its propensity of each side is at least 1/10 of the average; weights are clipped at 5 times the
# average.
_MAX_RATIO, CLIPPED = 10.0, 5.0
# Minimum rows on each side to fit models.
FEWEST = 2 * FOLDS
Mask = NDArray[np.bool_]
Sides = tuple[Mask, Mask]


class Nuisances(NamedTuple):
    """For each row, the predicted targets on both sides, and the propensities of both sides."""

    means: tuple[Vector, Vector]
    propensities: tuple[Vector, Vector]


class RowScores(NamedTuple):
    """The scores of rows.

    Attributes
    ----------
    first, second
        Γ₁ and Γ₀ of each row.
    inside
        Whether a row has overlap; the scores of other rows are not used.
    clipped
        Whether a weight of a row was clipped.
    weights
        The weights of the corrections on both sides.
    nuisances
        The predictions and propensities behind them.
    """

    first: Vector
    second: Vector
    inside: Mask
    clipped: Mask
    weights: tuple[Vector, Vector]
    nuisances: Nuisances

    @property
    def difference(self) -> Vector:
        """ψ of each row."""
        return self.first - self.second

    def spread(self, y: Vector, sides: Sides) -> Vector:
        """Return the variance of each score if the target varied on both sides as on the row's own.

        That is (y − μ)²(1/e₁ + 1/e₀). A row on neither side has the square of its distance from the mean score.
        """
        means, chances = self.nuisances
        inverse = sum(1 / np.maximum(chance, 1e-12) for chance in chances)
        own = np.where(sides[0], y - means[0], y - means[1]) ** 2 * inverse
        apart = (self.difference - self.difference[self.inside].mean()) ** 2
        return np.where(sides[0] | sides[1], own, apart)


def row_scores(y: Vector, counts: NDArray[np.int64], sides: Sides, nuisances: Nuisances) -> RowScores | None:
    """Return the scores of rows; None if a side has too few rows with overlap.

    Parameters
    ----------
    y, counts
        The target of each row, and how often it counts; 0 leaves it out.
    sides
        Which rows are covered, and which are compared with them; rows on neither side are predicted, not corrected.
    nuisances
        The predictions and propensities of each row.
    """
    used, n = counts > 0, counts.astype(np.float64)
    sides = (sides[0] & used, sides[1] & used)
    means, chances = nuisances
    shares = [float(n[side].sum() / n[used].sum()) for side in sides]
    relative = [share / np.maximum(chance, 1e-12) for share, chance in zip(shares, chances, strict=True)]
    inside = used & (relative[0] <= _MAX_RATIO) & (relative[1] <= _MAX_RATIO)
    if min(int(counts[side & inside].sum()) for side in sides) < 2:
        return None
    clipped = inside & ((relative[0] > CLIPPED) | (relative[1] > CLIPPED))
    weights = tuple(
        np.where(side & inside, np.minimum(ratio, CLIPPED) / share, 0.0)
        for side, ratio, share in zip(sides, relative, shares, strict=True)
    )
    scores = [mean + weight * (y - mean) for mean, weight in zip(means, weights, strict=True)]
    return RowScores(scores[0], scores[1], inside, clipped, (weights[0], weights[1]), nuisances)


def modelled(
    controls: Controls,
    counts: NDArray[np.int64],
    sides: Sides,
    n_threads: int = 1,
    chances: tuple[Vector, Vector] | None = None,
) -> Nuisances | None:
    """Predict both sides by cross-fitted models of the controls; None if a side has too few rows.

    `chances` are the propensities, if they are known.
    """
    used = counts > 0
    n = counts.astype(np.float64)
    sides = (sides[0] & used, sides[1] & used)
    if min(int(counts[side].sum()) for side in sides) < FEWEST:
        return None
    matrix, y, fold = controls.matrix, controls.y, controls.fold
    # A regressor can predict means but no propensities.
    classifier = controls.model if hasattr(controls.model, "predict_proba") else None
    side_model = Learner(controls.features, True, classifier, controls.seed)
    products: list[Pairs] = [NO_PAIRS]

    def fitted(learner: Learner, target: Vector, rows: Mask) -> Vector:
        models = cross_fit(learner, matrix[rows], target[rows], n[rows], fold[rows], n_threads)
        products.append(products_of(models))
        return predict(models, matrix, fold)

    if chances is None:
        all_decided = not (used & ~sides[0] & ~sides[1]).any()
        first = fitted(side_model, sides[0].astype(np.float64), used)
        second = 1 - first if all_decided else fitted(side_model, sides[1].astype(np.float64), used)
        chances = first, second
    # A product that moves rows between the sides confounds even if it is not significant for the outcome of one side
    # (double selection; Belloni, Chernozhukov & Hansen 2014).
    both = np.unique(np.hstack(products), axis=1)
    outcome_model = Learner(controls.features, controls.outcome.kind.binary, controls.model, controls.seed, both)
    means = [fitted(outcome_model, y, side) for side in sides]
    return Nuisances((means[0], means[1]), chances)


def within_strata(y: Vector, counts: NDArray[np.int64], sides: Sides, stratum: NDArray[np.intp]) -> Nuisances:
    """Predict both sides of a rule by their means in each stratum, and propensities by their shares of its rows."""
    n_strata = int(stratum.max(initial=-1)) + 1

    def mean(weight: Vector, value: Vector) -> Vector:
        total, rows = (np.bincount(stratum, each, n_strata).astype(np.float64) for each in (weight * value, weight))
        return np.nan_to_num(share_of(total, rows))[stratum]

    n = counts.astype(np.float64)
    means = [mean(n * side, y) for side in sides]
    chances = [mean(n, side.astype(np.float64)) for side in sides]
    return Nuisances((means[0], means[1]), (chances[0], chances[1]))
