"""Tables made from the rows of a problem: shuffled outcomes, splits and samples, in the same language.

The language and the strata depend only on the actionable and control columns, not on the outcome. So what is found on
one part of the rows is independent of the outcomes of the other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules.exceptions import OptionError
from causalrules.search.problem import Problem

# Well above the rounding error of the logarithms, and small enough that the exact number is cheap.
_LOG_MARGIN = 1.0
_MOST_WEIGHTED_ROWS = 10**9  # NumPy cannot sample more without replacement


class TooFewRowsError(OptionError):
    """The table has too few rows for this split."""


def permuted(problem: Problem, rng: np.random.Generator) -> Problem:
    """Shuffle the outcome within each stratum."""
    if problem.weights is not None:
        return _permuted_weighted(problem, rng)
    place = np.argsort(problem.stratum, kind="stable")
    shuffled = np.lexsort((rng.random(len(place)), problem.stratum))
    outcome = np.empty_like(problem.outcome)
    outcome[shuffled] = problem.outcome[place]
    # The levels are what is searched; their values are shuffled with them.
    return problem.with_rows(outcome=outcome, target=None)


def arrangements(problem: Problem, most: int) -> int | None:
    """Count the arrangements of an outcome within the strata; None if more than `most`, with weights, or for a mean."""
    if problem.weights is not None or len(problem.comparison.values) > 2:
        return None
    rows = np.bincount(problem.stratum).tolist()
    positive = np.bincount(problem.stratum, problem.outcome).astype(int).tolist()
    total = 1
    for n, n1 in zip(rows, positive, strict=True):
        # Logarithms first: the exact number may have as many digits as there are rows.
        if _log_choices(n, n1) > math.log(most) + _LOG_MARGIN:
            return None
        total *= math.comb(n, n1)
        if total > most:
            return None
    return total


def _log_choices(n: int, chosen: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(chosen + 1) - math.lgamma(n - chosen + 1)


def every_arrangement(problem: Problem) -> Iterator[Problem]:
    """Yield the problem with every arrangement of its outcome within the strata."""
    members = [np.flatnonzero(problem.stratum == stratum) for stratum in np.unique(problem.stratum)]
    choices = [itertools.combinations(rows.tolist(), int(problem.outcome[rows].sum())) for rows in members]
    for chosen in itertools.product(*choices):
        outcome = np.zeros_like(problem.outcome)
        outcome[list(itertools.chain(*chosen))] = 1
        yield problem.with_rows(outcome=outcome)


def split(problem: Problem, share: float, rng: np.random.Generator) -> tuple[Problem, Problem]:
    """Split the rows at random, with `share` of each stratum in the second part.

    The split ignores the outcome: given the strata, the parts are independent samples.
    """
    rows = np.bincount(problem.stratum, problem.weights, minlength=problem.strata.n_strata).astype(np.int64)
    # Round at random, so that many small strata do not all round to the same side.
    second = np.floor(rows * share + rng.random(len(rows))).astype(np.int64)
    chosen = _drawn(problem.stratum, problem.frequencies, second, rng)
    return reweighted(problem, problem.frequencies - chosen), reweighted(problem, chosen)


def halves(problem: Problem, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split each stratum into two at random; return how often each row counts in each half."""
    first, second = folds(problem, 2, rng)
    return first, second


def folds(
    problem: Problem, n_folds: int, rng: np.random.Generator, counts: NDArray[np.int64] | None = None
) -> list[NDArray[np.int64]]:
    """Split each stratum into equal parts at random; return how often each row counts in each part.

    `counts` is how often each row counts in all of them; by default its weight.
    """
    left = problem.frequencies if counts is None else counts
    parts = []
    for remaining in range(n_folds, 0, -1):
        rows = np.bincount(problem.stratum, left, minlength=problem.strata.n_strata)
        sizes = np.floor(rows / remaining + (rng.random(len(rows)) if remaining > 1 else 0)).astype(np.int64)
        parts.append(_drawn(problem.stratum, left, sizes, rng))
        left = left - parts[-1]
    return parts


def subsample(problem: Problem, share: float, rng: np.random.Generator) -> Problem:
    """Draw a share of each stratum's rows, without replacement."""
    return split(problem, share, rng)[1]


def bootstrap(problem: Problem, rng: np.random.Generator) -> Problem:
    """Draw as many rows as there are, with replacement."""
    weights = problem.frequencies
    return reweighted(problem, rng.multinomial(problem.n_rows, weights / weights.sum()))


def reweighted(problem: Problem, counts: NDArray[Any]) -> Problem:
    """Return the problem with each row counted this often, without rows and strata that count 0 times."""
    counts = counts.astype(np.int64)
    kept = counts > 0
    if not kept.any():
        raise TooFewRowsError("a part of the table has no rows; give a larger share or fewer splits")
    rows = problem.rows.local
    present, stratum = np.unique(problem.stratum[kept], return_inverse=True)
    return problem.with_rows(
        strata=problem.strata.only(present),
        stratum=stratum.astype(np.int32),
        outcome=problem.outcome[kept],
        weights=None if np.all(counts[kept] == 1) else counts[kept].astype(np.uint64),
        columns=tuple(column[kept] for column in problem.columns),
        reference=None if rows.reference is None else rows.reference[kept],
        target=None if rows.target is None else rows.target[kept],
        record=np.flatnonzero(kept) if rows.record is None else rows.record[kept],
    )


def _drawn(
    strata: NDArray[np.int32], weights: NDArray[np.int64], sizes: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw `sizes` rows of each stratum without replacement; return how often each row was drawn."""
    chosen = np.zeros(len(weights), np.int64)
    if weights.max(initial=0) <= 1:
        records = np.flatnonzero(weights)
        place = records[np.lexsort((rng.random(len(records)), strata[records]))]
        ordered = strata[place]
        rank = np.arange(len(place)) - np.searchsorted(ordered, ordered)
        chosen[place[rank < sizes[ordered]]] = 1
        return chosen
    if weights.sum() >= _MOST_WEIGHTED_ROWS:
        raise OptionError(
            f"the weights add up to {weights.sum():,} rows, and resampling needs fewer than 10⁹; scale them down"
        )
    for stratum, size in enumerate(sizes.tolist()):
        records = np.flatnonzero(strata == stratum)
        chosen[records] = rng.multivariate_hypergeometric(weights[records], size, method="marginals")
    return chosen


def _permuted_weighted(problem: Problem, rng: np.random.Generator) -> Problem:
    """Shuffle by splitting each row into one for each level of the target, whose weights add up to the row's."""
    rows, n_strata = problem.rows.local, problem.strata.n_strata
    left, weights = problem.frequencies, problem.frequencies
    n_levels = len(problem.comparison.values)
    parts = []
    for level in range(n_levels - 1, 0, -1):
        sizes = np.bincount(problem.stratum, (problem.outcome == level) * weights, minlength=n_strata)
        parts.append(_drawn(problem.stratum, left, sizes.astype(np.int64), rng))
        left = left - parts[-1]
    every = np.concatenate([*parts, left])
    kept = every > 0
    return problem.with_rows(
        stratum=np.tile(problem.stratum, n_levels)[kept],
        outcome=np.repeat(np.arange(n_levels - 1, -1, -1, dtype=np.uint8), len(weights))[kept],
        weights=every[kept].astype(np.uint64),
        columns=tuple(np.tile(column, n_levels)[kept] for column in problem.columns),
        reference=None if rows.reference is None else np.tile(rows.reference, n_levels)[kept],
        target=None,
        record=None if rows.record is None else np.tile(rows.record, n_levels)[kept],
    )
