"""A question prepared for the search: the rule language, the strata and the coded rows.

Permutations, splits and subsamples derive from it: other rows, the same language.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules import estimators
from causalrules.data.table import Table
from causalrules.language.cuts import Cuts, check_cuts
from causalrules.language.language import Language, build_language
from causalrules.language.outcome import Outcome
from causalrules.language.roles import Roles
from causalrules.language.strata import Strata, stratify
from causalrules.search.core import Packed
from causalrules.search.rows import Rows, local_rows


@dataclass(frozen=True, eq=False)
class Problem:
    """Roles and coded rows. Access to the arrays fetches rows that are elsewhere."""

    roles: Roles
    rows: Rows
    n_dropped: int
    library: str
    notes: tuple[str, ...]

    @property
    def language(self) -> Language:
        """The propositions on the actionable columns."""
        return self.rows.language

    @property
    def strata(self) -> Strata:
        """The strata of the controls."""
        return self.rows.strata

    @property
    def n_rows(self) -> int:
        """Number of rows, each counted as often as its weight says."""
        return self.rows.n_rows

    @property
    def stratum(self) -> NDArray[np.int32]:
        """Stratum of each row."""
        return self.rows.local.stratum

    @property
    def outcome(self) -> NDArray[np.uint8]:
        """1 where the outcome happened, else 0."""
        return self.rows.local.outcome

    @property
    def weights(self) -> NDArray[np.uint64] | None:
        """Weight of each row, or None if each counts once."""
        return self.rows.local.weights

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """Codes of the columns of the language, −1 if missing."""
        return self.rows.local.columns

    @property
    def frequencies(self) -> NDArray[np.int64]:
        """How often each row counts: its weight, or 1."""
        weights = self.weights
        return np.ones(len(self.stratum), np.int64) if weights is None else weights.astype(np.int64)

    def covered(self, numbers: Iterable[int]) -> NDArray[np.bool_]:
        """Return which rows satisfy all of these conditions, given by their numbers in the language."""
        language = self.language
        rows = np.ones(len(self.stratum), np.bool_)
        for number in numbers:
            codes = self.columns[language.column_index[number]]
            rows &= (codes >= language.low[number]) & (codes <= language.high[number])
        return rows

    def contingency(
        self, covered: NDArray[np.bool_], frequencies: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """Count a, b, c and d of a rule with these rows in each stratum; by default each row as often as it counts."""
        weights = self.frequencies if frequencies is None else frequencies
        return estimators.contingency(self.stratum, self.outcome, covered, weights, self.strata.n_strata)

    def with_rows(self, **changes: Any) -> Problem:
        """Return the problem with changed fields of its `LocalRows`, such as outcome=…."""
        return replace(self, rows=replace(self.rows.local, **changes))

    def pack(self) -> Packed:
        """Pack the rows into bits for the search."""
        return self.rows.pack()

    def digest(self) -> int:
        """Return an order-independent 128-bit hash of the rows."""
        return self.rows.digest()


def prepare(
    table: Table, roles: Roles, *, weights: str | None = None, max_bins: int = 8, cuts: Cuts | None = None
) -> Problem:
    """Build the language of the actionable columns and the strata of the controls, and code the rows."""
    observed = table.observed(roles.target, weights)
    check_cuts(observed, cuts or {}, {*roles.actionable, *roles.control})
    language = build_language(observed, roles.actionable, max_bins, cuts)
    strata = stratify(observed, roles.control, max_bins=max_bins, cuts=cuts)
    return Problem(
        roles=roles,
        rows=_code(observed, language, strata, roles.outcome),
        n_dropped=observed.n_dropped,
        library=observed.library,
        notes=(*table.notes, *roles.notes, *language.notes, *strata.notes),
    )


def _code(table: Table, language: Language, strata: Strata, outcome: Outcome) -> Rows:
    """Code the rows where they are."""
    if table.storage == "files":
        from causalrules.search.streamed import stream_rows

        return stream_rows(table, language, strata, outcome)
    if table.storage == "workers":
        from causalrules.search.sharded import shard_rows

        return shard_rows(table, language, strata, outcome)
    return local_rows(table, language, strata, outcome)
