"""The largest effect over margin in many tables with the same rows and different outcomes, such as shuffled tables.

One walk over the rules serves all tables, see `native/src/permutations.rs`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causalrules._core import ffi, lib
from causalrules.question import Question
from causalrules.search.adjusted import Adjusted
from causalrules.search.border import estimation_of, failure, pointer
from causalrules.search.core import Batch, PackedTable
from causalrules.search.run import min_rows

# No limit on the work of a walk.
UNLIMITED = 2**64 - 1
_GIVEN_UP = 2


class TooMuchWorkError(Exception):
    """A walk exceeds its limit on work."""


class Permutations:
    """The largest effect over margin in each of many tables that differ only in a binary outcome.

    The outcomes are the last `n_outcomes` propositions of `table`, whose rows all have level 0; their counts in each
    stratum are equal. Ratios below `least` are ignored. A walk stops beyond `most_work`: the number of words of 64
    rows, or of counts, that are each compared with eight tables.
    """

    MOST = 64
    """Maximum number of tables."""

    def __init__(
        self,
        table: PackedTable,
        n_outcomes: int,
        *,
        beta: float | ArrayLike,
        max_length: int,
        min_rows: int,
        least: float,
        most_work: int = UNLIMITED,
    ) -> None:
        estimation, kept = estimation_of("pooled", beta, 1.0, table.levels)
        found = lib.cr_permutations_new(table._handle, n_outcomes, estimation, max_length, min_rows, least, most_work)
        del kept
        if not found:
            raise failure()
        self._handle, self._n_outcomes = ffi.gc(found, lib.cr_permutations_free), n_outcomes

    def step(self, seconds: float) -> bool:
        """Walk for about this long; return whether it is done. Raises TooMuchWorkError beyond the limit on work."""
        done = lib.cr_permutations_step(self._handle, seconds)
        if done < 0:
            raise failure()
        if done == _GIVEN_UP:
            raise TooMuchWorkError
        return bool(done)

    def ratios(self) -> NDArray[np.float64]:
        """Return the largest ratio in each table; −inf if below `least`."""
        ratios = np.zeros(self._n_outcomes)
        if lib.cr_permutations_ratios(self._handle, pointer("double *", ratios), len(ratios)):
            raise failure()
        return ratios


def can_share(problems: Sequence[Adjusted], question: Question) -> bool:
    """Return whether one walk can serve all of these tables.

    They must have the same rows and a binary outcome with equal counts in each stratum (not so where the signs of whole
    groups are flipped), and the estimator must be pooled. Without a limit on the length, a separate search finds rules
    of many conditions sooner.
    """
    first = problems[0].rows.local
    return (
        question.estimator == "pooled"
        and question.max_length is not None
        and len(first.comparison.values) == 2
        and first.weights is None
        and first.group is None
        and first.reference is None
        and first.language.allowed_numbers is None
        and all(each.columns is first.columns and each.stratum is first.stratum for each in problems)
    )


def begin_walk(
    problem: Adjusted,
    outcomes: Sequence[NDArray[np.uint8]],
    question: Question,
    least: float,
    most_work: int = UNLIMITED,
) -> Permutations:
    """Begin a walk for tables with the rows of the problem and these outcomes, at most `Permutations.MOST`.

    Ratios below `least` are ignored. The margin is that of the question; with β = 1 it is the standard error, and the
    ratio is the smallest β at which no rule is above 0.
    """
    rows = problem.rows.local
    language, comparison, n_outcomes = rows.language, rows.comparison, len(outcomes)
    codes = [comparison.codes(each).astype(np.int32) for each in outcomes]
    ones = np.ones(n_outcomes, np.int32)
    n_columns = len(language.columns)
    table = PackedTable(
        np.concatenate([language.column_index, n_columns + np.arange(n_outcomes)]),
        np.concatenate([language.low, ones]),
        np.concatenate([language.high, ones]),
        n_columns + n_outcomes,
        rows.strata.n_strata,
        [Batch(rows.stratum, np.zeros_like(rows.outcome), None, [*rows.columns, *codes])],
        missing=comparison.missing,
    )
    assert question.max_length is not None
    assert question.beta is not None, "β is known once a search begins"
    return Permutations(
        table,
        n_outcomes,
        beta=question.beta,
        max_length=question.max_length,
        min_rows=min_rows(question.min_coverage, rows.n_rows),
        least=max(least, 0.0),
        most_work=most_work,
    )
