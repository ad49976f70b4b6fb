"""The largest effect over margin in many tables at once that have the same rows and another outcome each.

Shuffled tables are such. One walk over the rules serves them all, see `native/src/redrawn.rs`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from causalrules.question import Question
from causalrules.search.core import Batch, PackedTable, Redrawn
from causalrules.search.problem import Problem
from causalrules.search.run import min_rows

MOST = Redrawn.MOST


def can_share(problems: Sequence[Problem], question: Question) -> bool:
    """Return whether one walk can serve these tables.

    They have the same rows, an outcome that happens or not, and a margin by length. Without a limit on the length a
    search of its own finds rules that many conditions describe sooner.
    """
    first = problems[0].rows.local
    return (
        isinstance(question.beta, tuple)
        and question.max_length is not None
        and len(first.comparison.values) == 2
        and first.weights is None
        and first.reference is None
        and first.language.offered_numbers is None
        and all(each.columns is first.columns and each.stratum is first.stratum for each in problems)
    )


def begin(problems: Sequence[Problem], question: Question, least: float) -> Redrawn:
    """Begin the walk for these tables, at most `MOST`; ratios below `least` do not matter."""
    rows = problems[0].rows.local
    language, comparison, n_outcomes = rows.language, rows.comparison, len(problems)
    outcomes = [comparison.codes(each.outcome).astype(np.int32) for each in problems]
    ones = np.ones(n_outcomes, np.int32)
    n_columns = len(language.columns)
    table = PackedTable(
        np.concatenate([language.column_index, n_columns + np.arange(n_outcomes)]),
        np.concatenate([language.low, ones]),
        np.concatenate([language.high, ones]),
        n_columns + n_outcomes,
        rows.strata.n_strata,
        [Batch(rows.stratum, np.zeros_like(rows.outcome), None, [*rows.columns, *outcomes])],
        missing=comparison.missing,
    )
    assert question.max_length is not None
    return Redrawn(
        table,
        n_outcomes,
        beta=np.asarray(question.beta),
        max_length=question.max_length,
        min_rows=min_rows(question.min_coverage, rows.n_rows),
        least=max(least, 0.0),
    )
