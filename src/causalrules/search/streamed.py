"""Rows in files: coded and packed slice by slice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules.data.database import SLICE
from causalrules.data.streaming import Sql, StreamedTable
from causalrules.data.table import Table
from causalrules.language.language import Language
from causalrules.language.outcome import Outcome
from causalrules.language.strata import Strata
from causalrules.search import merging
from causalrules.search.core import Batch, PackedTable
from causalrules.search.memory import require_memory
from causalrules.search.rows import Comparison, LocalRows, RemoteRows, Rows, runs


def stream_rows(table: Table, language: Language, strata: Strata, outcome: Outcome, comparison: Comparison) -> Rows:
    """Code the rows in their files, or as arrays if few of them are distinct."""
    assert isinstance(table, StreamedTable)
    ends = runs(outcome.level)
    rows = StreamedRows(
        language,
        strata,
        comparison,
        table,
        kind=[*(table.code(name, strata.ends[name]) for name in strata.columns), table.code(outcome.column, ends)],
        codes=[table.code(name, language.ends[name]) for name in language.columns],
        level=outcome.level[ends],
    )
    return rows.merged() if merging.pays(rows.sample()) else rows


@dataclass(frozen=True, eq=False)
class StreamedRows(RemoteRows):
    """Coded rows of a table in files.

    Attributes
    ----------
    kind
        Expressions for the codes of the controls and of the target.
    codes
        Expressions for the codes of the columns of the language.
    level
        The level of each code of the target.
    """

    table: StreamedTable
    kind: Sequence[Sql]
    codes: Sequence[Sql]
    level: NDArray[np.uint8]

    @property
    def n_rows(self) -> int:
        """Number of rows, each counted as often as its weight says."""
        return self.table.n_rows

    def _batch(self, kind: Sequence[Any], weights: Any, codes: Sequence[Any]) -> Batch:
        *controls, target = kind
        return Batch(
            self.strata.index(dict(zip(self.strata.columns, controls, strict=True)), len(target)),
            self.level[target],
            weights.astype(np.uint64) if self.table.weighted else None,
            codes,
        )

    def batches(self) -> Iterator[Batch]:
        """Code the rows slice by slice."""
        n = len(self.kind)
        for arrays in self.table.select_batches([*self.kind, self.table.weight, *self.codes]):
            yield self._batch(arrays[:n], arrays[n], arrays[n + 1 :])

    def sample(self) -> Batch:
        """Return the first slice that has rows."""
        for batch in self.batches():
            if len(batch.strata):
                break
        return batch

    def merged(self) -> LocalRows:
        """Merge identical rows into weighted ones."""
        n = len(self.kind)
        *arrays, weights = self.table.groups([*self.kind, *self.codes], ["weight"])
        batch = self._batch(arrays[:n], weights, arrays[n:])
        columns = tuple(batch.columns)
        weights = weights.astype(np.uint64)
        return LocalRows(self.language, self.strata, self.comparison, batch.strata, batch.outcomes, weights, columns)

    def fetch(self) -> Batch:
        """Return all rows as arrays."""
        return merging.concatenate(list(self.batches()))

    def pack(self) -> PackedTable:
        """Pack the rows into bits: count the rows of each stratum and outcome first, then pack each slice."""
        n, n_bits = len(self.kind), self.table.largest_weight().bit_length() if self.table.weighted else 1
        bits = [f"(weight >> {bit}) & 1" for bit in range(n_bits)] if self.table.weighted else ["1"]
        found = self.table.groups(self.kind, bits)
        counts = found[n:]
        kinds = self._batch(found[:n], np.zeros(len(found[0])), [])
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
