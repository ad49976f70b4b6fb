"""A table with its roles settled: coded rows, the rule language and the strata, ready to be searched.

Everything that searches again (permutations, splits, subsamples) starts from here: another outcome or other rows,
the same language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules.data.table import Table
from causalrules.exceptions import OptionError
from causalrules.language.propositions import Language, Strata, build, strata
from causalrules.language.roles import Roles
from causalrules.search import merging
from causalrules.search.core import Batch, Packed, PackedTable
from causalrules.search.rows import StoredRows, StoredTable, require_memory

_BATCH = 1_000_000
_ARRAYS = ("stratum", "outcome", "weights", "columns")


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows as codes: `columns[i]` belongs to `language.columns[i]`, −1 is missing; `weights` None counts each once.

    Rows that are stored elsewhere become arrays when they are first asked for as such.
    """

    roles: Roles
    language: Language
    strata: Strata
    stratum: NDArray[np.int32]
    outcome: NDArray[np.uint8]
    weights: NDArray[np.uint64] | None
    columns: tuple[NDArray[Any], ...]
    n_rows: int
    n_dropped: int
    library: str
    notes: tuple[str, ...]
    stored: StoredRows | None = None

    @classmethod
    def elsewhere(cls, stored: StoredRows, **known: Any) -> Problem:
        """A problem whose rows are not here."""
        problem = object.__new__(cls)
        vars(problem).update(known, stored=stored)
        return problem

    def __getattr__(self, name: str) -> Any:
        # Called for what is not set: the arrays of rows that are elsewhere.
        stored = vars(self).get("stored")
        if name not in _ARRAYS or stored is None:
            raise AttributeError(name)
        rows = stored.fetch()
        arrays = (rows.strata, rows.outcomes, rows.weights, tuple(rows.columns))
        vars(self).update(zip(_ARRAYS, arrays, strict=True))
        return vars(self)[name]

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"stored": None}

    @property
    def _is_elsewhere(self) -> bool:
        return "stratum" not in vars(self)

    def digest(self) -> int:
        """A number that other rows would hardly have; the order of the rows does not matter."""
        if self.stored is not None and self._is_elsewhere:
            return self.stored.digest()
        return merging.digest(_Parts(Batch(self.stratum, self.outcome, self.weights, self.columns)))

    def pack(self, outcome: NDArray[Any] | None = None, rows: NDArray[Any] | None = None) -> Packed:
        """The table for the search: with another outcome for each record, or of some of the records only."""
        if outcome is None and rows is None and self.stored is not None and self._is_elsewhere:
            return self.stored.pack()
        chosen = slice(None) if rows is None else rows
        y = (self.outcome if outcome is None else np.asarray(outcome, np.uint8))[chosen]
        weights = None if self.weights is None else self.weights[chosen]
        batch = Batch(self.stratum[chosen], y, weights, [column[chosen] for column in self.columns])
        merged = merging.merge(batch)
        require_memory(merging.places(merged), self.language)
        max_weight = 1 if merged.weights is None or not len(merged.weights) else int(merged.weights.max())
        return PackedTable(
            self.language.column_index,
            self.language.low,
            self.language.high,
            len(self.columns),
            self.strata.n_strata,
            _Parts(merged),
            max_weight,
        )


def prepare(
    table: Table,
    roles: Roles,
    *,
    weights: str | None = None,
    max_bins: int = 8,
    cuts: Mapping[str, Sequence[Any]] | None = None,
) -> Problem:
    """Put conditions on the actionable columns, form the strata of the controls, and code the rows."""
    if stray := sorted(set(cuts or {}) - {*roles.actionable, *roles.control} & set(table.names)):
        raise OptionError(f"cuts: column {stray[0]!r} is neither actionable nor a control; leave it out of cuts")
    observed = table.observed(roles.target, weights)
    language = build(observed, roles.actionable, max_bins=max_bins, cuts=cuts)
    groups = strata(observed, roles.control, max_bins=max_bins, cuts=cuts)
    satisfied = roles.outcome.satisfied
    known: dict[str, Any] = {
        "roles": roles,
        "language": language,
        "strata": groups,
        "n_rows": observed.n_rows,
        "n_dropped": observed.n_dropped,
        "library": observed.library,
        "notes": (*table.notes, *roles.notes, *language.notes, *groups.notes),
    }
    if isinstance(observed, StoredTable):
        rows = observed.stored(language, groups, satisfied)
        if isinstance(rows, Batch):
            return Problem(
                stratum=rows.strata, outcome=rows.outcomes, weights=rows.weights, columns=tuple(rows.columns), **known
            )
        return Problem.elsewhere(rows, **known)
    outcome = observed.select(roles.target, satisfied).astype(np.uint8)
    controls = {name: observed.codes(name, groups.ends[name]) for name in groups.columns}
    stratum = groups.index(controls) if controls else np.zeros(observed.n_records, np.int32)
    columns = tuple(_smallest(observed.codes(name, language.ends[name])) for name in language.columns)
    frequencies = observed.weights_array
    return Problem(
        stratum=stratum,
        outcome=outcome,
        weights=None if frequencies is None else frequencies.astype(np.uint64),
        columns=columns,
        **known,
    )


class _Parts(Sequence[Batch]):
    """A batch in parts, so that the copies made on the way into the core stay small."""

    def __init__(self, whole: Batch) -> None:
        self._whole = whole

    def __len__(self) -> int:
        return -(-len(self._whole.strata) // _BATCH)

    def __getitem__(self, index: Any) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(index)
        part = slice(index * _BATCH, (index + 1) * _BATCH)
        whole = self._whole
        weights = None if whole.weights is None else whole.weights[part]
        return Batch(whole.strata[part], whole.outcomes[part], weights, [c[part] for c in whole.columns])


def _smallest(codes: NDArray[np.int32]) -> NDArray[Any]:
    highest = int(codes.max(initial=0))
    return codes.astype(np.int8 if highest < 2**7 else np.int16 if highest < 2**15 else np.int32)
