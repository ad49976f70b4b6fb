"""Forward chaining: each block of rows is measured with rules found on the rows before it, and the blocks averaged.

Given the rows before it, a block is a random part of the rows that are left in each stratum. A row of stratum z scores

    ψ = m₁ − m₀ + 1(covered)(y − m₁)/e₁ − 1(failing)(y − m₀)/e₀

with m₁ and m₀ the means that the rows *before* predict for both sides of stratum z, and e₁ and e₀ the shares of both
sides among the rows *left*. The mean of ψ over the block is unbiased whatever m₁ and m₀ are: the predictions only make
it more precise, and allow comparing a stratum of which the block has rows of one side only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from causalrules.estimators import intervals
from causalrules.estimators.intervals import Estimate, Grouped
from causalrules.estimators.scores import KAPPA
from causalrules.estimators.sides import side_of

if TYPE_CHECKING:
    from causalrules.search.adjusted import Adjusted


@dataclass(frozen=True, eq=False)
class Block:
    """A rule on one block of rows.

    Attributes
    ----------
    covered, failing
        What each row with a comparison group adds to the means of both sides: ψ is their difference.
    counts
        How often each of these rows counts.
    worth
        Effective sample size of the mean of each side: the rows of the block over the mean of 1/e.
    reach, group
        The total weight of each row's outcome in the scores, and its group, if any.
    """

    covered: NDArray[np.float64]
    failing: NDArray[np.float64]
    counts: NDArray[np.float64]
    worth: tuple[float, float]
    reach: NDArray[np.float64]
    group: NDArray[np.int64] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows with a comparison group."""
        return int(self.counts.sum())

    @property
    def information(self) -> float:
        """The weight of the block: the inverse variance of its mean, if all rows had the same variance.

        It depends on the conditions alone, not on the outcomes of the block.
        """
        return 1 / (1 / self.worth[0] + 1 / self.worth[1])


def block(
    problem: Adjusted,
    numbers: Sequence[int],
    before: NDArray[np.int64],
    counts: NDArray[np.int64],
    left: NDArray[np.int64],
) -> Block:
    """Score the rows of a block that have a comparison group.

    Parameters
    ----------
    problem
        The coded table.
    numbers
        The conditions of the rule.
    before, counts, left
        The weight of each row before the block, in the block, and among all rows left.
    """
    rows, n_strata = problem.rows.local, problem.strata.n_strata
    stratum, y = rows.stratum, rows.y
    sides = problem.sides(numbers)
    every = np.ones(len(y), np.bool_)
    n, *n_sides = (np.bincount(stratum, left * side, n_strata) for side in (every, *sides))
    inside = (n_sides[0] > 0) & (n_sides[1] > 0)
    chosen = (counts > 0) & inside[stratum]
    z, values, weights = stratum[chosen], y[chosen], counts[chosen].astype(np.float64)
    everything = side_of(stratum, y, before, every, n_strata)
    overall = everything.total.sum() / max(everything.n.sum(), 1.0)
    mean = (everything.total + KAPPA * overall) / (everything.n + KAPPA)
    scores, worth, reach = [], [], np.zeros(len(z))
    for side, n_side in zip(sides, n_sides, strict=True):
        known = side_of(stratum, y, before, side, n_strata)
        predicted = ((known.total + KAPPA * mean) / (known.n + KAPPA))[z]
        odds = (n / np.maximum(n_side, 1))[z]
        scores.append(predicted + side[chosen] * (values - predicted) * odds)
        reach += side[chosen] * odds * weights
        worth.append(float(weights.sum() ** 2 / np.sum(weights * odds)) if len(z) else 0.0)
    group = None if problem.group is None else problem.group[chosen]
    return Block(scores[0], scores[1], weights, (worth[0], worth[1]), reach, group)


def mean(blocks: Sequence[Block], binary: bool, confidence: float = 0.95, *, grouped: bool = False) -> Estimate | None:
    """Return the mean effect of the blocks, weighted by their information; None if no row has a comparison group.

    variance = Σ_j v_j²/n_j² Σ_i (ψ_i − effect)², v_j the weight of block j with n_j rows

    For a binary outcome, one row with and one without it are added to the variance of each side, as in
    `intervals.side_share`. With groups, scores are added up within groups before they are squared.
    """
    blocks = [each for each in blocks if each.n_rows]
    if not blocks:
        return None
    weights = np.array([each.information for each in blocks])
    weights /= weights.sum()
    means = np.array(
        [[np.average(side, weights=each.counts) for side in (each.covered, each.failing)] for each in blocks]
    )
    p, q = weights @ means
    effect = float(p - q)
    n_rows = sum(each.n_rows for each in blocks)
    if grouped:
        return _grouped_mean(blocks, weights, effect, binary, confidence)
    variance = sum(
        float(np.sum(each.counts * (each.covered - each.failing - effect) ** 2)) * (weight / each.n_rows) ** 2
        for each, weight in zip(blocks, weights, strict=True)
    ) * (n_rows / max(n_rows - 1, 1))
    if binary:
        for place, share in enumerate(np.clip([p, q], 0.0, 1.0)):
            m = 1 / sum(weight**2 / each.worth[place] for each, weight in zip(blocks, weights, strict=True))
            corrected = (m * share + 1) / (m + 2)
            variance += (corrected * (1 - corrected) - share * (1 - share)) / m
    error = math.sqrt(variance)
    reach = intervals.beta_of_confidence(confidence) * error
    farthest = 1.0 if binary else math.inf
    effect = float(np.clip(effect, -farthest, farthest))
    return Estimate(effect, error, max(effect - reach, -farthest), min(effect + reach, farthest))


def _grouped_mean(
    blocks: Sequence[Block], weights: NDArray[np.float64], effect: float, binary: bool, confidence: float
) -> Estimate:
    sums: list[float] = []
    alike: list[float] = []
    for each, weight in zip(blocks, weights, strict=True):
        assert each.group is not None
        _, members = np.unique(each.group, return_inverse=True)
        scores = each.counts * (each.covered - each.failing - effect)
        sums += (np.bincount(members, scores) * weight / each.n_rows).tolist()
        alike += ((np.bincount(members, each.reach) * weight / each.n_rows) ** 2).tolist()
    variance = float(np.sum(np.square(sums))) * len(sums) / max(len(sums) - 1, 1)
    degrees = float(np.sum(alike) ** 2 / np.sum(np.square(alike))) - 1
    found = Grouped(math.sqrt(variance), max(degrees, 1.0), len(sums))
    return intervals.grouped_estimate(effect, found, confidence, binary=binary)
