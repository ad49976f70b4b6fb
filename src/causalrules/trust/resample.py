"""Other tables made from a problem's own rows: outcomes dealt anew, splits and samples. The language stays.

The language and the strata come from the actionable and control columns alone, never from the outcome, so that what
is found on one part of the rows owes nothing to the outcomes of the other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from causalrules.exceptions import OptionError
from causalrules.search.problem import Problem

if TYPE_CHECKING:
    from causalrules.result.rule import RuleResult

# Far above the error of the logarithms, far below what makes the exact number costly.
_LOG_MARGIN = 1.0
_MOST_WEIGHTED_ROWS = 10**9  # more than numpy can draw from without replacement


class TooFewRowsError(OptionError):
    """The table is too small to be divided like this."""


def permuted(problem: Problem, rng: np.random.Generator) -> Problem:
    """The problem with the outcome dealt anew at random within each stratum."""
    if problem.weights is not None:
        return _dealt(problem, rng)
    place = np.argsort(problem.stratum, kind="stable")
    shuffled = np.lexsort((rng.random(len(place)), problem.stratum))
    outcome = np.empty_like(problem.outcome)
    outcome[shuffled] = problem.outcome[place]
    return problem.with_rows(outcome=outcome)


def arrangements(problem: Problem, most: int) -> int | None:
    """In how many ways the outcome can be dealt within the strata; None if more than `most`, or for weighted rows."""
    if problem.weights is not None:
        return None
    rows = np.bincount(problem.stratum).tolist()
    positive = np.bincount(problem.stratum, problem.outcome).astype(int).tolist()
    total = 1
    for n, n1 in zip(rows, positive, strict=True):
        # The exact number may have as many digits as there are rows; that it is too large shows without it.
        if _log_choices(n, n1) > math.log(most) + _LOG_MARGIN:
            return None
        total *= math.comb(n, n1)
        if total > most:
            return None
    return total


def _log_choices(n: int, chosen: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(chosen + 1) - math.lgamma(n - chosen + 1)


def every_arrangement(problem: Problem) -> Iterator[Problem]:
    """The problem with its outcome dealt in every way there is."""
    members = [np.flatnonzero(problem.stratum == stratum) for stratum in np.unique(problem.stratum)]
    choices = [itertools.combinations(rows.tolist(), int(problem.outcome[rows].sum())) for rows in members]
    for chosen in itertools.product(*choices):
        outcome = np.zeros_like(problem.outcome)
        outcome[list(itertools.chain(*chosen))] = 1
        yield problem.with_rows(outcome=outcome)


def split(problem: Problem, share: float, rng: np.random.Generator) -> tuple[Problem, Problem]:
    """The rows in two parts at random, `share` of each stratum in the second.

    The outcome has no say in it: given the strata, the two parts are independent samples.
    """
    rows = np.bincount(problem.stratum, problem.weights, minlength=problem.strata.n_strata).astype(np.int64)
    # Fractions are rounded up or down at random, so that many small strata do not all lean to one side.
    second = np.floor(rows * share + rng.random(len(rows))).astype(np.int64)
    chosen = _drawn(problem.stratum, frequencies(problem), second, rng)
    return reweighted(problem, frequencies(problem) - chosen), reweighted(problem, chosen)


def folds(problem: Problem, n_folds: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """The rows in equal parts at random, stratum by stratum: how often each record counts in each part."""
    left = frequencies(problem)
    parts = []
    for remaining in range(n_folds, 0, -1):
        rows = np.bincount(problem.stratum, left, minlength=problem.strata.n_strata)
        sizes = np.floor(rows / remaining + (rng.random(len(rows)) if remaining > 1 else 0)).astype(np.int64)
        parts.append(_drawn(problem.stratum, left, sizes, rng))
        left = left - parts[-1]
    return parts


def subsample(problem: Problem, share: float, rng: np.random.Generator) -> Problem:
    """A share of each stratum's rows, drawn without replacement."""
    return split(problem, share, rng)[1]


def bootstrap(problem: Problem, rng: np.random.Generator) -> Problem:
    """As many rows as there are, drawn with replacement."""
    weights = frequencies(problem)
    return reweighted(problem, rng.multinomial(problem.n_rows, weights / weights.sum()))


def frequencies(problem: Problem) -> NDArray[np.int64]:
    """How often each record counts."""
    if problem.weights is None:
        return np.ones(len(problem.stratum), np.int64)
    return problem.weights.astype(np.int64)


def reweighted(problem: Problem, counts: NDArray[Any]) -> Problem:
    """The problem with each record counted this often; strata that lose all their rows are gone."""
    counts = counts.astype(np.int64)
    kept = counts > 0
    if not kept.any():
        raise TooFewRowsError("a part of the table has no rows; choose a larger share or fewer splits")
    present, stratum = np.unique(problem.stratum[kept], return_inverse=True)
    return problem.with_rows(
        strata=problem.strata.only(present),
        stratum=stratum.astype(np.int32),
        outcome=problem.outcome[kept],
        weights=None if np.all(counts[kept] == 1) else counts[kept].astype(np.uint64),
        columns=tuple(column[kept] for column in problem.columns),
    )


def covered(problem: Problem, conditions: Sequence[int]) -> NDArray[np.bool_]:
    """Which records satisfy all the conditions, given by their numbers in the language."""
    language = problem.language
    rows = np.ones(len(problem.stratum), np.bool_)
    for condition in conditions:
        codes = problem.columns[language.column_index[condition]]
        rows &= (codes >= language.low[condition]) & (codes <= language.high[condition])
    return rows


def rule_rows(rule: RuleResult, problem: Problem) -> NDArray[np.bool_]:
    """Which records of the problem satisfy the rule that was found in its language."""
    number = {proposition: index for index, proposition in enumerate(problem.language.propositions)}
    return covered(problem, [number[condition] for condition in rule.conditions])


def contingency(
    problem: Problem, rows: NDArray[np.bool_], counts: NDArray[np.int64]
) -> tuple[tuple[int, int, int, int], ...]:
    """The counts (a, b, c, d) of each stratum for a rule that covers `rows`, each record counted this often."""
    sides = [rows & (problem.outcome == 1), rows & (problem.outcome == 0)]
    sides += [~rows & (problem.outcome == 1), ~rows & (problem.outcome == 0)]
    n_strata = problem.strata.n_strata
    tables = [np.bincount(problem.stratum[side], counts[side], minlength=n_strata).astype(int) for side in sides]
    return tuple((a, b, c, d) for a, b, c, d in zip(*(table.tolist() for table in tables), strict=True))


def _drawn(
    strata: NDArray[np.int32], weights: NDArray[np.int64], sizes: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """How often each record is drawn when `sizes` rows of each stratum are drawn without replacement."""
    chosen = np.zeros(len(weights), np.int64)
    if weights.max() == 1:
        records = np.flatnonzero(weights)
        place = records[np.lexsort((rng.random(len(records)), strata[records]))]
        ordered = strata[place]
        rank = np.arange(len(place)) - np.searchsorted(ordered, ordered)
        chosen[place[rank < sizes[ordered]]] = 1
        return chosen
    if weights.sum() >= _MOST_WEIGHTED_ROWS:
        raise OptionError(
            f"the weights add up to {weights.sum():,} rows, and resampling needs fewer than 10⁹: scale them down"
        )
    for stratum, size in enumerate(sizes.tolist()):
        records = np.flatnonzero(strata == stratum)
        chosen[records] = rng.multivariate_hypergeometric(weights[records], size, method="marginals")
    return chosen


def _dealt(problem: Problem, rng: np.random.Generator) -> Problem:
    """Each record as two, with and without the outcome, whose weights add up to the record's."""
    n_strata = problem.strata.n_strata
    weights = frequencies(problem)
    positive = np.bincount(problem.stratum, problem.outcome * weights, minlength=n_strata).astype(np.int64)
    with_outcome = _drawn(problem.stratum, weights, positive, rng)
    both = np.concatenate([with_outcome, weights - with_outcome])
    kept = both > 0
    return problem.with_rows(
        stratum=np.tile(problem.stratum, 2)[kept],
        outcome=np.repeat(np.array([1, 0], np.uint8), len(weights))[kept],
        weights=both[kept].astype(np.uint64),
        columns=tuple(np.tile(column, 2)[kept] for column in problem.columns),
    )
