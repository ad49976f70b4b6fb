"""Rows in files: coded and packed slice by slice."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules.data.database import SLICE
from causalrules.data.streaming import Sql, StreamedTable
from causalrules.data.table import Table
from causalrules.language.held_fixed import Cells
from causalrules.language.language import Language
from causalrules.language.outcome import Outcome
from causalrules.language.prognostic import ScoreBins
from causalrules.language.strata import Strata
from causalrules.search import merging
from causalrules.search.core import Batch, PackedTable
from causalrules.search.memory import require_memory
from causalrules.search.rows import Comparison, LocalRows, Measured, RemoteRows, Rows, measure, runs, together

# Rows to sample for identical ones: a row group of the Parquet files that DuckDB writes.
_SAMPLED = 122_880


def stream_rows(table: Table, language: Language, strata: Strata, outcome: Outcome, comparison: Comparison) -> Rows:
    """Code the rows in files, or as arrays if few rows are distinct."""
    assert isinstance(table, StreamedTable)
    ends = runs(outcome.level)
    assigned = _assigned(table, strata)
    controls = () if assigned is not None else strata.columns
    rows = StreamedRows(
        language,
        strata,
        comparison,
        table,
        controls=controls,
        kind=[*(table.code(name, strata.ends[name]) for name in controls), table.code(outcome.column, ends)],
        codes=[table.code(name, language.ends[name]) for name in language.columns],
        level=outcome.level[ends],
        assigned=assigned,
        target=None if outcome.is_exact else table.quantity(outcome.column, outcome.centre),
    )
    return rows.merged() if assigned is None and merging.pays(rows.sample(), min(table.n_records, SLICE)) else rows


def _assigned(table: StreamedTable, strata: Strata) -> NDArray[np.int32] | None:
    """Return the stratum of each row if it depends on predictions, which DuckDB cannot compute; else None."""
    scored = [bins for bins in strata.bins.values() if isinstance(bins, ScoreBins)]
    if not scored:
        return None
    (bins,) = scored
    return np.concatenate([bins.codes_of(matrix) for matrix, _ in bins.features.batches(table)])


@dataclass(frozen=True, eq=False)
class StreamedRows(RemoteRows):
    """Coded rows of a table in files.

    Attributes
    ----------
    controls
        The columns whose codes determine the stratum, or its remaining part if it is assigned.
    kind
        Expressions for the codes of these columns and of the target.
    codes
        Expressions for the codes of the columns of the language.
    level
        The level of each code of the target.
    assigned
        The stratum of each row by the controls, if it does not follow from their codes.
    target
        Expression for the centred value of the target; None if its level is exact.
    """

    table: StreamedTable
    controls: Sequence[str]
    kind: Sequence[Sql]
    codes: Sequence[Sql]
    level: NDArray[np.uint8]
    assigned: NDArray[np.int32] | None = None
    target: Sql | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows, by weight."""
        return self.table.n_rows

    def _batch(self, kind: Sequence[Any], weights: Any, codes: Sequence[Any], start: int = 0) -> Batch:
        *controls, target = kind
        begun = None if self.assigned is None else self.assigned[start : start + len(target)]
        codes_of = dict(zip(self.controls, controls, strict=True))
        return Batch(
            self.strata.index(codes_of, len(target), begun),
            self.level[target],
            weights.astype(np.uint64) if self.table.weighted else None,
            codes,
        )

    def batches(self) -> Iterator[Batch]:
        """Code the rows slice by slice."""
        return (batch for batch, _ in self._batches([]))

    def _batches(self, others: Sequence[Sql]) -> Iterator[tuple[Batch, Sequence[Any]]]:
        """Code the rows slice by slice, and evaluate other expressions."""
        n, n_others, start = len(self.kind), len(others), 0
        for arrays in self.table.select_batches([*others, *self.kind, self.table.weight, *self.codes]):
            found, arrays = arrays[:n_others], arrays[n_others:]
            yield self._batch(arrays[:n], arrays[n], arrays[n + 1 :], start), found
            start += len(arrays[n])

    def measured(self, rules: Sequence[Sequence[int]]) -> list[Measured]:
        """Measure rules by the values of the target; empty if its levels are exact."""
        if self.target is None:
            return []
        parts = (measure(self, batch, np.asarray(y, np.float64), rules) for batch, (y,) in self._batches([self.target]))
        return functools.reduce(together, parts)

    def sample(self) -> Batch:
        """Return the first rows."""
        n = len(self.kind)
        arrays = self.table.select_first([*self.kind, self.table.weight, *self.codes], _SAMPLED)
        return self._batch(arrays[:n], arrays[n], arrays[n + 1 :])

    def merged(self) -> LocalRows:
        """Merge identical rows into weighted ones."""
        n = len(self.kind)
        *arrays, weights = self.table.groups([*self.kind, *self.codes], ["weight"])
        batch = self._batch(arrays[:n], weights, arrays[n:])
        columns = tuple(batch.columns)
        weights = weights.astype(np.uint64)
        coded = batch.strata, batch.outcomes, weights, columns
        return LocalRows(self.language, self.strata, self.comparison, *coded, stored=self)

    def cells(self, columns: Sequence[int]) -> Cells:
        """Count the rows of each stratum, codes of some columns of the language, and level of the target."""
        chosen, n, n_levels = [self.codes[column] for column in columns], len(self.kind), len(self.comparison.values)
        if self.assigned is None:
            *arrays, weights = self.table.groups([*self.kind, *chosen], ["weight"])
            batch = self._batch(arrays[:n], weights, arrays[n:])
            return Cells.of(batch.strata, batch.columns, batch.outcomes, weights, n_levels)
        parts, start = [], 0
        for arrays in self.table.select_batches([*self.kind, self.table.weight, *chosen]):
            batch = self._batch(arrays[:n], arrays[n], arrays[n + 1 :], start)
            parts.append(Cells.of(batch.strata, batch.columns, batch.outcomes, arrays[n], n_levels))
            start += len(arrays[n])
        return Cells.merged(parts)

    def held(self, strata: Strata, language: Language) -> StreamedRows:
        """Return the rows in strata divided by some of their columns, and without these in the language."""
        codes = dict(zip(self.language.columns, self.codes, strict=True))
        fixed = strata.held_fixed
        return replace(
            self,
            language=language,
            strata=strata,
            controls=[*self.controls, *fixed],
            kind=[*self.kind[:-1], *(codes[name] for name in fixed), self.kind[-1]],
            codes=[codes[name] for name in language.columns],
        )

    def within(self, table: Table, strata: Strata) -> StreamedRows:
        """Return the rows of a table that has all of these rows or some, in strata that were formed on it."""
        assert isinstance(table, StreamedTable)
        assigned = _assigned(table, strata)
        controls = () if assigned is not None else strata.columns
        kind = [*(table.code(name, strata.ends[name]) for name in controls), self.kind[-1]]
        return replace(self, table=table, strata=strata, controls=controls, kind=kind, assigned=assigned)

    def fetch(self) -> Batch:
        """Return all rows as arrays."""
        return merging.concatenate(list(self.batches()))

    def pack(self) -> PackedTable:
        """Pack the rows into bits: count the rows of each stratum and outcome first, then pack each slice."""
        n_bits = self.table.largest_weight().bit_length() if self.table.weighted else 1
        kinds, counts = self._grouped(n_bits) if self.assigned is None else self._counted(n_bits)
        require_memory(int(sum(count.sum() for count in counts)), self.language)
        return PackedTable(
            self.language.column_index,
            self.language.low,
            self.language.high,
            len(self.language.columns),
            self.strata.n_strata,
            (replace(batch, outcomes=self.comparison.codes(batch.outcomes)) for batch in self.batches()),
            max_weight=(1 << n_bits) - 1,
            sizes=self._sizes(kinds, counts),
            levels=self.comparison.levels,
            missing=self.comparison.missing,
        )

    def _grouped(self, n_bits: int) -> tuple[Batch, list[NDArray[np.int64]]]:
        """Count the rows of each stratum and outcome, and of each bit of their weights, in DuckDB."""
        n = len(self.kind)
        bits = [f"(weight >> {bit}) & 1" for bit in range(n_bits)] if self.table.weighted else ["1"]
        found = self.table.groups(self.kind, bits)
        return self._batch(found[:n], np.zeros(len(found[0])), []), found[n:]

    def _counted(self, n_bits: int) -> tuple[Batch, list[NDArray[np.int64]]]:
        """Count the same slice by slice, for strata that DuckDB cannot compute."""
        n_levels = len(self.comparison.values)
        counts = np.zeros((n_bits, self.strata.n_strata * n_levels), np.int64)
        start = 0
        for *kind, weights in self.table.select_batches([*self.kind, self.table.weight]):
            batch = self._batch(kind, weights, [], start)
            start += len(weights)
            place = batch.strata.astype(np.int64) * n_levels + batch.outcomes
            for bit in range(n_bits):
                present = np.asarray(weights, np.int64) >> bit & 1
                counts[bit] += np.bincount(place, present, counts.shape[1]).astype(np.int64)
        strata, outcomes = np.divmod(np.arange(counts.shape[1]), n_levels)
        return Batch(strata.astype(np.int32), outcomes.astype(np.uint8), None, []), list(counts)

    def _sizes(self, kinds: Batch, counts: Sequence[NDArray[np.int64]]) -> Iterator[Batch]:
        for bit, count in enumerate(counts):
            codes = self.comparison.codes(kinds.outcomes)
            each = zip(kinds.strata.tolist(), codes.tolist(), count.tolist(), strict=True)
            for stratum, outcome, n_rows in each:
                for start in range(0, n_rows, SLICE):
                    size = min(SLICE, n_rows - start)
                    weights = np.full(size, 1 << bit, np.uint64) if self.table.weighted else None
                    yield Batch(np.full(size, stratum, np.int32), np.full(size, outcome, np.uint8), weights, [])

    def digest(self) -> int:
        """Return an order-independent 128-bit hash of the rows."""
        return merging.digest(self.batches())
