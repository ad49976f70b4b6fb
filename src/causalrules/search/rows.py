"""The coded rows of a problem: arrays in this process, or elsewhere and fetched on demand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from causalrules.data.columns import Ends, code_type
from causalrules.data.table import Table
from causalrules.language.language import Language
from causalrules.language.outcome import Outcome
from causalrules.language.strata import Strata
from causalrules.search import merging
from causalrules.search.core import Batch, Packed, PackedTable
from causalrules.search.memory import require_memory

_BATCH = 1_000_000


@dataclass(frozen=True, eq=False)
class Rows(ABC):
    """Coded rows, with the language and the strata that the codes refer to."""

    language: Language
    strata: Strata

    is_local: ClassVar[bool] = False

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows, each counted as often as its weight says."""

    @abstractmethod
    def fetch(self) -> Batch:
        """Return all rows as arrays."""

    @abstractmethod
    def pack(self) -> Packed:
        """Pack the rows into bits for the search."""

    @abstractmethod
    def digest(self) -> int:
        """Return an order-independent 128-bit hash of the rows."""

    @property
    @abstractmethod
    def local(self) -> LocalRows:
        """The rows in this process."""


@dataclass(frozen=True, eq=False)
class LocalRows(Rows):
    """Rows in this process.

    Attributes
    ----------
    stratum
        Stratum of each row.
    outcome
        1 where the outcome happened, else 0.
    weights
        Weight of each row, or None if each counts once.
    columns
        Codes of the columns of the language, −1 if missing.
    """

    stratum: NDArray[np.int32]
    outcome: NDArray[np.uint8]
    weights: NDArray[np.uint64] | None
    columns: tuple[NDArray[Any], ...]

    is_local = True

    @property
    def n_rows(self) -> int:
        """Number of rows, each counted as often as its weight says."""
        return len(self.stratum) if self.weights is None else int(self.weights.sum())

    def fetch(self) -> Batch:
        """Return all rows as arrays."""
        return Batch(self.stratum, self.outcome, self.weights, self.columns)

    def pack(self) -> PackedTable:
        """Pack the rows into bits for the search."""
        return packed(self.fetch(), self.language, self.strata.n_strata)

    def digest(self) -> int:
        """Return an order-independent 128-bit hash of the rows."""
        return merging.digest(_Parts(self.fetch()))

    @property
    def local(self) -> LocalRows:
        """The rows themselves."""
        return self


class RemoteRows(Rows):
    """Rows that are not in this process."""

    @cached_property
    def local(self) -> LocalRows:
        """The rows in this process, fetched once."""
        rows = self.fetch()
        return LocalRows(self.language, self.strata, rows.strata, rows.outcomes, rows.weights, tuple(rows.columns))

    def __reduce__(self) -> Any:
        # A pickle holds the rows themselves.
        return LocalRows, tuple(getattr(self.local, field.name) for field in fields(LocalRows))


def local_rows(table: Table, language: Language, strata: Strata, outcome: Outcome) -> LocalRows:
    """Code the rows of a table in memory."""
    controls = {name: table.codes(name, strata.ends[name]) for name in strata.columns}
    columns = (table.codes(name, language.ends[name]) for name in language.columns)
    return LocalRows(
        language,
        strata,
        stratum=strata.index(controls, table.n_records),
        outcome=table.select(outcome.column, outcome.satisfied).astype(np.uint8),
        weights=None if table.weights is None else table.weights.astype(np.uint64),
        columns=tuple(
            codes.astype(code_type(len(language.ends[name])))
            for name, codes in zip(language.columns, columns, strict=True)
        ),
    )


def packed(batch: Batch, language: Language, n_strata: int) -> PackedTable:
    """Merge identical rows where that pays, and pack them into bits."""
    merged = merging.merge(batch)
    require_memory(merging.places(merged), language)
    return PackedTable(
        language.column_index,
        language.low,
        language.high,
        len(language.columns),
        n_strata,
        _Parts(merged),
        1 if merged.weights is None or not len(merged.weights) else int(merged.weights.max()),
    )


class _Parts(Sequence[Batch]):
    """A batch in parts, so that the copies passed to the core stay small."""

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


def runs(satisfied: NDArray[np.bool_]) -> Ends:
    """Return the last position of each run of equal values."""
    return np.flatnonzero(np.append(satisfied[1:] != satisfied[:-1], True))
