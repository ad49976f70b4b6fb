"""A table with its roles settled: coded rows, the rule language and the strata, ready to be searched.

Everything that searches again (permutations, splits, subsamples) starts from here: another outcome or other rows,
the same language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules._native import Batch, PackedTable
from causalrules.data import Table
from causalrules.exceptions import OptionError
from causalrules.propositions import Language, Strata, build, strata
from causalrules.roles import Roles

_BATCH = 1_000_000
_SAMPLE = 20_000
# A row that counts w times stands in the packed table once for each one in w's binary form: about twice on average.
_WORTH_MERGING = 0.5


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows as codes: `columns[i]` belongs to `language.columns[i]`, −1 is missing; `weights` None counts each once."""

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

    def pack(self, outcome: NDArray[Any] | None = None, rows: NDArray[Any] | None = None) -> PackedTable:
        """The table for the search: with another outcome for each record, or of some of the records only."""
        chosen = slice(None) if rows is None else rows
        y = (self.outcome if outcome is None else np.asarray(outcome, np.uint8))[chosen]
        weights = None if self.weights is None else self.weights[chosen]
        batch = Batch(self.stratum[chosen], y, weights, [column[chosen] for column in self.columns])
        merged = _merge(batch)
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
    outcome = observed.select(roles.target, satisfied).astype(np.uint8)
    controls = {name: observed.codes(name, groups.ends[name]) for name in groups.columns}
    stratum = groups.index(controls) if controls else np.zeros(observed.n_records, np.int32)
    columns = tuple(_smallest(observed.codes(name, language.ends[name])) for name in language.columns)
    frequencies = observed.weights_array
    return Problem(
        roles=roles,
        language=language,
        strata=groups,
        stratum=stratum,
        outcome=outcome,
        weights=None if frequencies is None else frequencies.astype(np.uint64),
        columns=columns,
        n_rows=observed.n_rows,
        n_dropped=observed.n_dropped,
        library=observed.library,
        notes=(*table.notes, *roles.notes, *language.notes, *groups.notes),
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


def _all_columns(batch: Batch) -> list[NDArray[Any]]:
    return [batch.strata, batch.outcomes, *batch.columns]


def _keys(batch: Batch, rows: slice | NDArray[Any]) -> NDArray[np.uint64]:
    """A number for each row that is the same for rows that agree everywhere."""
    key = np.zeros(len(batch.strata[rows]), np.uint64)
    for column in _all_columns(batch):
        key ^= column[rows].astype(np.int64).astype(np.uint64)
        key *= np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key


def _merge(batch: Batch) -> Batch:
    """The batch with rows that agree everywhere made one row that counts for all, where that saves work."""
    n_rows = len(batch.strata)
    if n_rows <= _SAMPLE:
        return batch
    sample = np.random.default_rng(0).choice(n_rows, _SAMPLE, replace=False)
    if len(np.unique(_keys(batch, sample))) > _WORTH_MERGING * _SAMPLE:
        return batch
    _, first, place = np.unique(_keys(batch, slice(None)), return_index=True, return_inverse=True)
    if not all(np.array_equal(column, column[first][place]) for column in _all_columns(batch)):
        return batch  # two different rows share a key: once in 2**64 / rows² tables
    if batch.weights is None:
        weights = np.bincount(place, minlength=len(first)).astype(np.uint64)
    else:
        weights = np.zeros(len(first), np.uint64)
        np.add.at(weights, place, batch.weights)
    return Batch(batch.strata[first], batch.outcomes[first], weights, [column[first] for column in batch.columns])
