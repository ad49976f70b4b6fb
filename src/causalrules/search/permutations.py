"""The largest effect over margin in many tables at once that have the same rows and another outcome each.

Shuffled tables are such. One walk over the rules serves them all, see `native/src/permutations.rs`.
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

# No limit to the work of a walk.
UNLIMITED = 2**64 - 1
_GIVEN_UP = 2


class TooMuchWorkError(Exception):
    """A walk takes more work than it may."""


class Permutations:
    """The largest effect over margin in each of many tables that differ only in an outcome that happens or not.

    The outcomes are the last `n_outcomes` propositions of `table`, whose rows are all of level 0; they happen equally
    often in each stratum. Ratios below `least` do not matter. A walk of more than `most_work` is given up, in words of
    64 rows, or counts, that are compared with those of eight tables.
    """

    MOST = 64
    """How many tables there can be."""

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
        """Go on for about this long; return whether all is done. A TooMuchWorkError if it takes more than it may."""
        done = lib.cr_permutations_step(self._handle, seconds)
        if done < 0:
            raise failure()
        if done == _GIVEN_UP:
            raise TooMuchWorkError
        return bool(done)

    def ratios(self) -> NDArray[np.float64]:
        """Return the largest ratio in each table; −inf where none reaches `least`."""
        ratios = np.zeros(self._n_outcomes)
        if lib.cr_permutations_ratios(self._handle, pointer("double *", ratios), len(ratios)):
            raise failure()
        return ratios


def can_share(problems: Sequence[Adjusted], question: Question) -> bool:
    """Return whether one walk can serve these tables.

    They have the same rows and an outcome that happens or not, equally often in each stratum (where the signs of whole
    groups are flipped it does not), and rules are pooled. Without a limit on the length a
    search of its own finds rules that many conditions describe sooner.
    """
    first = problems[0].rows.local
    return (
        question.estimator == "pooled"
        and question.max_length is not None
        and len(first.comparison.values) == 2
        and first.weights is None
        and first.group is None
        and first.reference is None
        and first.language.offered_numbers is None
        and all(each.columns is first.columns and each.stratum is first.stratum for each in problems)
    )


def begin_walk(
    problem: Adjusted,
    outcomes: Sequence[NDArray[np.uint8]],
    question: Question,
    least: float,
    most_work: int = UNLIMITED,
) -> Permutations:
    """Begin the walk for tables with the rows of the problem and these outcomes, at most `Permutations.MOST`.

    Ratios below `least` do not matter. The margin is the question's; with β = 1 it is the standard error, and the ratio
    the smallest β that is enough.
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
