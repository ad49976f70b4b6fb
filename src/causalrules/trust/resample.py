"""Tables made from the rows of a problem: shuffled outcomes, splits and samples, in the same language.

The language and the strata depend only on the actionable and control columns, not on the outcome. So rules found on one
part of the rows are independent of the outcomes of the other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from causalrules.estimators.sides import side_of
from causalrules.exceptions import OptionError
from causalrules.search.adjusted import Adjusted
from causalrules.search.core import Batch
from causalrules.search.merging import merge

# Above the rounding error of the logarithms, and small enough to make the exact number cheap.
_LOG_MARGIN = 1.0
# Cost of drawing for one more stratum, in draws for one row.
_DRAWS_PER_STRATUM = 100
# Number of magnitudes of residual levels, each with both signs.
_MAGNITUDES = 16
Shuffle: TypeAlias = "Callable[[np.random.Generator], Adjusted]"
_MOST_WEIGHTED_ROWS = 10**9  # NumPy cannot sample more without replacement


class TooFewRowsError(OptionError):
    """The table has too few rows for this split."""


def exchangeable(problem: Adjusted) -> Adjusted:
    """Return the problem that `permuted` changes: with groups, the target is centred in each stratum.

    Without an effect, the residuals of a group are as likely with the opposite sign. They are binned into at most 32
    levels that are symmetric about 0.
    """
    if problem.group is None:
        return problem
    rows, weights = problem.rows.local, problem.frequencies
    totals = side_of(rows.stratum, rows.y, weights, np.ones(len(weights), np.bool_), problem.strata.n_strata)
    residual = rows.y - totals.mean[rows.stratum]
    # Rounded in units of the largest: residuals that are equal in theory may differ in their last bits.
    largest = float(np.abs(residual).max(initial=0.0)) or 1.0
    sizes, level = np.unique((np.abs(residual) / largest).round(12), return_inverse=True)
    sizes = sizes * largest
    if len(sizes) > _MAGNITUDES:
        counts = np.bincount(level, weights)
        middle = (np.cumsum(counts) - counts / 2) / counts.sum()
        binned = np.minimum((middle * _MAGNITUDES).astype(np.int64), _MAGNITUDES - 1)
        _, binned = np.unique(binned, return_inverse=True)
        sizes, level = np.bincount(binned, counts * sizes) / np.bincount(binned, counts), binned[level]
    if sizes[-1] == 0:  # the target is constant in each stratum
        sizes = np.array([1.0])
    with_zero = int(sizes[0] == 0)  # one level of its own, where flipping changes nothing
    values = np.concatenate([-sizes[with_zero:][::-1], sizes])
    codes = np.where(residual < 0, len(sizes) - 1 - level, len(sizes) - with_zero + level)
    return problem.with_rows(
        comparison=replace(problem.comparison, values=values), outcome=codes.astype(np.uint8), target=None
    )


def shuffling(problem: Adjusted, rules: Iterable[Iterable[int]] | None = None) -> Shuffle:
    """Return a function like `permuted`, by the cheaper of two methods with the same distribution.

    If few rows differ other than in the target, the number of identical rows with each level is drawn, in time that
    does not grow with their number; otherwise the levels of rows are shuffled. `rules` are the only rules of interest,
    as condition indices; None for all.
    """
    rows = problem.rows.local
    if rows.group is None:
        columns = list(rows.columns) if rules is None else _coarsened(problem, rules)
        alike = merge(Batch(rows.stratum, np.zeros_like(rows.outcome), rows.weights, columns, rows.reference))
        n_strata, n_levels = problem.strata.n_strata, len(problem.comparison.values)
        cost = (n_levels - 1) * (len(alike.strata) + _DRAWS_PER_STRATUM * n_strata)
        if alike.weights is not None and cost < len(rows.stratum):
            merged = problem.with_rows(
                stratum=alike.strata,
                outcome=alike.outcomes,
                weights=alike.weights,
                columns=tuple(alike.columns),
                reference=alike.reference,
                target=None,
                record=None,
            )
            return partial(_split_by_level, merged, _level_sizes(problem))
    return partial(permuted, problem)


def _coarsened(problem: Adjusted, rules: Iterable[Iterable[int]]) -> list[NDArray[np.int32]]:
    """Return the columns, each code replaced by the smallest that satisfies the same conditions of these rules."""
    language, columns = problem.language, []
    used = sorted({condition for rule in rules for condition in rule})
    for place, codes in enumerate(problem.columns):
        here = [condition for condition in used if language.column_index[condition] == place]
        edges = np.unique([0, *language.low[here], *(language.high[here] + 1)])
        least = edges[np.searchsorted(edges, np.maximum(codes, 0), "right") - 1]
        # Without a condition on the column, missing values do not matter.
        columns.append(np.where((codes < 0) & bool(here), -1, least).astype(np.int32))
    return columns


def flipped(problem: Adjusted, signs: NDArray[np.bool_]) -> Adjusted:
    """Flip the sign of the residuals of these groups."""
    assert problem.group is not None
    _, members = np.unique(problem.group, return_inverse=True)
    last = len(problem.comparison.values) - 1
    outcome = np.where(signs[members], last - problem.outcome.astype(np.int64), problem.outcome)
    return problem.with_rows(outcome=outcome.astype(np.uint8), target=None)


def permuted(problem: Adjusted, rng: np.random.Generator) -> Adjusted:
    """Shuffle the outcome within each stratum; with groups, flip their signs (see `exchangeable`)."""
    if problem.group is not None:
        return flipped(problem, rng.random(len(np.unique(problem.group))) < 0.5)
    if problem.weights is not None:
        return _split_by_level(problem, _level_sizes(problem), rng)
    place = np.argsort(problem.stratum, kind="stable")
    shuffled = np.lexsort((rng.random(len(place)), problem.stratum))
    outcome = np.empty_like(problem.outcome)
    outcome[shuffled] = problem.outcome[place]
    # The search uses the levels; the values are shuffled with them.
    return problem.with_rows(outcome=outcome, target=None)


def arrangements(problem: Adjusted, most: int) -> int | None:
    """Count the arrangements of the target within the strata, or of the signs of groups; None if more than `most`.

    None with weights: the rows of a record would have to be counted separately.
    """
    if problem.group is not None:
        n_groups = len(np.unique(problem.group))
        return 2**n_groups if n_groups <= math.log2(most) else None
    if problem.weights is not None:
        return None
    n_strata, n_levels = int(problem.stratum.max()) + 1, len(problem.comparison.values)
    cells = problem.stratum.astype(np.int64) * n_levels + problem.outcome
    total = 1
    for levels in np.bincount(cells, minlength=n_strata * n_levels).reshape(n_strata, n_levels).tolist():
        left = sum(levels)
        for n in levels[1:]:
            # Logarithms first: the exact number can have as many digits as there are rows.
            if _log_choices(left, n) > math.log(most) + _LOG_MARGIN:
                return None
            total *= math.comb(left, n)
            left -= n
            if total > most:
                return None
    return total


def _log_choices(n: int, chosen: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(chosen + 1) - math.lgamma(n - chosen + 1)


def every_arrangement(problem: Adjusted) -> Iterator[Adjusted]:
    """Yield the problem with every arrangement of its target within the strata, or every sign of its groups."""
    if problem.group is not None:
        for signs in itertools.product([False, True], repeat=len(np.unique(problem.group))):
            yield flipped(problem, np.array(signs))
        return
    members = [np.flatnonzero(problem.stratum == stratum) for stratum in np.unique(problem.stratum)]
    choices = [list(_orders(np.bincount(problem.outcome[rows]).tolist())) for rows in members]
    for chosen in itertools.product(*choices):
        outcome = np.zeros_like(problem.outcome)
        for rows, levels in zip(members, chosen, strict=True):
            outcome[rows] = levels
        yield problem.with_rows(outcome=outcome, target=None)


def _orders(counts: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield every distinct order of a multiset with these counts of 0s, 1s, and so on."""
    if not any(counts):
        yield ()
    for level, count in enumerate(counts):
        if count:
            rest = [*counts[:level], count - 1, *counts[level + 1 :]]
            yield from ((level, *order) for order in _orders(rest))


def split(problem: Adjusted, share: float, rng: np.random.Generator) -> tuple[Adjusted, Adjusted]:
    """Split the rows at random, with `share` of each stratum in the second part.

    The split ignores the outcome: given the strata, the parts are independent samples.
    """
    first, second = shared_out(problem, share, rng)
    return reweighted(problem, first), reweighted(problem, second)


def shared_out(
    problem: Adjusted, share: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the weight of each row in the two parts of `split`."""
    if problem.group is not None:
        first, chosen = _group_parts(problem, problem.frequencies, [1 - share, share], rng)
        return first, chosen
    rows = np.bincount(problem.stratum, problem.weights, minlength=problem.strata.n_strata).astype(np.int64)
    # Round at random, so that many small strata do not all round to the same side.
    second = np.floor(rows * share + rng.random(len(rows))).astype(np.int64)
    chosen = _drawn(problem.stratum, problem.frequencies, second, rng)
    return problem.frequencies - chosen, chosen


def halves(problem: Adjusted, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split each stratum into two at random; return the weight of each row in each half."""
    first, second = folds(problem, 2, rng)
    return first, second


def folds(
    problem: Adjusted, n_folds: int, rng: np.random.Generator, counts: NDArray[np.int64] | None = None
) -> list[NDArray[np.int64]]:
    """Split each stratum into equal parts at random; return the weight of each row in each part.

    `counts` are the weights to split; by default those of the rows.
    """
    left = problem.frequencies if counts is None else counts
    if problem.group is not None:
        return _group_parts(problem, left, [1 / n_folds] * n_folds, rng)
    parts = []
    for remaining in range(n_folds, 0, -1):
        rows = np.bincount(problem.stratum, left, minlength=problem.strata.n_strata)
        sizes = np.floor(rows / remaining + (rng.random(len(rows)) if remaining > 1 else 0)).astype(np.int64)
        parts.append(_drawn(problem.stratum, left, sizes, rng))
        left = left - parts[-1]
    return parts


def subsample(problem: Adjusted, share: float, rng: np.random.Generator) -> Adjusted:
    """Draw a share of each stratum's rows, without replacement."""
    return split(problem, share, rng)[1]


def bootstrap(problem: Adjusted, rng: np.random.Generator) -> Adjusted:
    """Draw as many rows as there are, with replacement."""
    weights = problem.frequencies
    if problem.group is not None:
        groups, members = np.unique(problem.group, return_inverse=True)
        return reweighted(
            problem, weights * rng.multinomial(len(groups), np.full(len(groups), 1 / len(groups)))[members]
        )
    return reweighted(problem, rng.multinomial(problem.n_rows, weights / weights.sum()))


def reweighted(problem: Adjusted, counts: NDArray[Any]) -> Adjusted:
    """Return the problem with these weights of its rows, without rows and strata of weight 0."""
    counts = counts.astype(np.int64)
    kept = counts > 0
    if not kept.any():
        raise TooFewRowsError("a part of the table has no rows; give a larger share or fewer splits")
    rows = problem.rows.local.only(kept)
    present, stratum = np.unique(rows.stratum, return_inverse=True)
    weights = None if np.all(counts[kept] == 1) else counts[kept].astype(np.uint64)
    strata = problem.strata.only(present)
    return replace(problem, rows=replace(rows, strata=strata, stratum=stratum.astype(np.int32), weights=weights))


def _group_parts(
    problem: Adjusted, counts: NDArray[np.int64], shares: list[float], rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Assign whole groups to parts at random, each part with about its share of the rows."""
    assert problem.group is not None
    groups, members = np.unique(problem.group[counts > 0], return_inverse=True)
    if len(groups) < len(shares):
        raise TooFewRowsError(f"the table has only {len(groups):,} groups; give fewer splits")
    order = rng.permutation(len(groups))
    sizes = np.bincount(members, counts[counts > 0])[order]
    middle = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
    part = np.empty(len(groups), np.int64)
    part[order] = np.minimum(np.searchsorted(np.cumsum(shares), middle), len(shares) - 1)
    of_row = np.full(len(counts), -1)
    of_row[counts > 0] = part[members]
    return [counts * (of_row == place) for place in range(len(shares))]


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


def _level_sizes(problem: Adjusted) -> NDArray[np.int64]:
    """Return how many rows of each stratum have each level of the target."""
    n_strata, n_levels = problem.strata.n_strata, len(problem.comparison.values)
    cells = problem.stratum.astype(np.int64) * n_levels + problem.outcome
    return np.bincount(cells, problem.weights, n_strata * n_levels).astype(np.int64).reshape(n_strata, n_levels)


def _split_by_level(problem: Adjusted, sizes: NDArray[np.int64], rng: np.random.Generator) -> Adjusted:
    """Split each row into one for each level of the target, with weights that add up to that of the row.

    `sizes` are the numbers of rows of each stratum with each level.
    """
    rows, weights = problem.rows.local, problem.frequencies
    left, n_levels, parts = weights, sizes.shape[1], []
    for level in range(n_levels - 1, 0, -1):
        parts.append(_drawn(problem.stratum, left, sizes[:, level], rng))
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
