"""The coded rows of a problem: local arrays, or remote rows that are fetched on demand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from causalrules.data.columns import Ends, code_type
from causalrules.data.table import Table
from causalrules.estimators.sides import Side, both, side_of
from causalrules.language.held_fixed import Cells
from causalrules.language.language import Language
from causalrules.language.outcome import Outcome
from causalrules.language.strata import Strata
from causalrules.search import merging
from causalrules.search.core import Batch, Packed, PackedTable
from causalrules.search.memory import require_memory

_BATCH = 1_000_000


@dataclass(frozen=True, eq=False)
class Comparison:
    """How the rows covered by a rule are compared with the others.

    Attributes
    ----------
    values
        The value of each level of the target, increasing: 0 and 1 for a binary outcome.
    missing
        Whether a condition treats a missing value as "unknown" or "false".
    decrease
        Whether rules are to decrease the target.
    reference
        If rules are compared with reference rows only: the index of their column, and their lowest and highest code. A
        rule must have a condition that excludes these codes.
    """

    values: NDArray[np.float64]
    missing: str = "unknown"
    decrease: bool = False
    reference: tuple[int, int, int] | None = None

    @property
    def scale(self) -> float:
        """The range of the target, the unit of values in the core."""
        return float(self.values[-1] - self.values[0])

    @property
    def levels(self) -> NDArray[np.float64]:
        """The values for the core: increasing from 0 to 1, reversed if rules are to decrease the target."""
        turned = self.values[-1] - self.values[::-1] if self.decrease else self.values - self.values[0]
        return np.asarray(turned / self.scale)

    def codes(self, outcome: NDArray[Any]) -> NDArray[Any]:
        """Return the codes of the levels for the core."""
        return (len(self.values) - 1 - outcome).astype(outcome.dtype) if self.decrease else outcome

    def true(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Convert counts by the core's levels to counts by the levels of the target."""
        return counts[:, ::-1] if self.decrease else counts


BINARY = Comparison(np.array([0.0, 1.0]), missing="false")


class Measured(NamedTuple):
    """Sums of the centred target of the rows that a rule covers, of those on which it fails, and of all.

    `least` and `most` are the smallest and the largest compared value in each stratum.
    """

    covered: Side
    failing: Side
    everything: Side
    least: NDArray[np.float64]
    most: NDArray[np.float64]

    @property
    def spans(self) -> NDArray[np.float64]:
        """Range of the compared values in each stratum; 0 without rows."""
        return np.where(self.most >= self.least, self.most - self.least, 0.0)


class Coded(Protocol):
    """The language, strata and comparison that define the codes of rows."""

    @property
    def language(self) -> Language:
        """The conditions."""

    @property
    def strata(self) -> Strata:
        """The strata of the controls."""

    @property
    def comparison(self) -> Comparison:
        """How covered rows are compared with the others."""


def excludes_reference(rows: Coded, conditions: Iterable[int]) -> bool:
    """Return whether one of the conditions is on the column of the reference rows and excludes them."""
    language = rows.language
    assert rows.comparison.reference is not None
    column, low, high = rows.comparison.reference
    return any(
        language.column_index[each] == column and (language.high[each] < low or high < language.low[each])
        for each in conditions
    )


def satisfied(
    language: Language, columns: Sequence[NDArray[Any]], conditions: Iterable[int], n_rows: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows satisfy all of the conditions, and which may, given missing values."""
    covered = np.ones(n_rows, np.bool_)
    possible = covered.copy()
    for condition in conditions:
        codes = columns[language.column_index[condition]]
        holds = (codes >= language.low[condition]) & (codes <= language.high[condition])
        covered &= holds
        possible &= holds | (codes < 0)
    return covered, possible


def compared(
    rows: Coded, columns: Sequence[NDArray[Any]], reference: NDArray[np.uint8] | None, conditions: Iterable[int], n: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which of n rows satisfy all of the conditions, and which fail them; the rest is not compared."""
    conditions = list(conditions)
    covered, possible = satisfied(rows.language, columns, conditions, n)
    if reference is not None:
        return covered & (reference == 0), (reference == 1) & excludes_reference(rows, conditions)
    return covered, ~(possible if rows.comparison.missing == "unknown" else covered)


def measure(rows: Coded, batch: Batch, y: NDArray[np.float64], rules: Sequence[Sequence[int]]) -> list[Measured]:
    """Measure rules by the values of the target of a batch."""
    n_strata, n_rows = rows.strata.n_strata, len(y)
    weights = np.ones(n_rows) if batch.weights is None else batch.weights.astype(np.float64)
    everything = side_of(batch.strata, y, weights, np.ones(n_rows, np.bool_), n_strata)
    found = []
    for conditions in rules:
        covered, failing = compared(rows, batch.columns, batch.reference, conditions, n_rows)
        sides = [side_of(batch.strata, y, weights, side, n_strata) for side in (covered, failing)]
        least, most = np.full(n_strata, np.inf), np.full(n_strata, -np.inf)
        chosen = covered | failing
        np.minimum.at(least, batch.strata[chosen], y[chosen])
        np.maximum.at(most, batch.strata[chosen], y[chosen])
        found.append(Measured(sides[0], sides[1], everything, least, most))
    return found


def together(first: Sequence[Measured], second: Sequence[Measured]) -> list[Measured]:
    """Add the measurements of two batches."""
    return [
        Measured(
            both(here.covered, there.covered),
            both(here.failing, there.failing),
            both(here.everything, there.everything),
            np.minimum(here.least, there.least),
            np.maximum(here.most, there.most),
        )
        for here, there in zip(first, second, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class Rows(ABC):
    """Coded rows, with the language and the strata that define the codes."""

    language: Language
    strata: Strata
    comparison: Comparison

    is_local: ClassVar[bool] = False

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows, by weight."""

    @abstractmethod
    def fetch(self) -> Batch:
        """Return all rows as arrays."""

    @abstractmethod
    def pack(self) -> Packed:
        """Pack the rows into bits for the search."""

    @abstractmethod
    def digest(self) -> int:
        """Return an order-independent 128-bit hash of the rows."""

    @abstractmethod
    def measured(self, rules: Sequence[Sequence[int]]) -> list[Measured]:
        """Measure rules by the values of the target; empty if its levels are exact or the values are unknown."""

    @abstractmethod
    def cells(self, columns: Sequence[int]) -> Cells:
        """Count the rows of each stratum, codes of some columns of the language, and level of the target."""

    @abstractmethod
    def held(self, strata: Strata, language: Language) -> Rows:
        """Return the rows in strata divided by some of their columns, and without these in the language."""

    @abstractmethod
    def within(self, table: Table, strata: Strata) -> Rows:
        """Return the rows of a table that has all of these rows or some, in strata that were formed on it."""

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
        Level of the target; 0 and 1 for a binary outcome.
    weights
        Weight of each row, or None if each counts once.
    columns
        Codes of the columns of the language, −1 if missing.
    reference
        1 for the rows to compare with; None for all that a rule does not cover.
    target
        Centred value of the target; None if its level is exact.
    record
        Record number in the table; None if rows are in the order of the table.
    group
        Group number of each row; None if rows are independent.
    stored
        For merged rows of a table in files: the unmerged rows, which have the values of the target.
    """

    stratum: NDArray[np.int32]
    outcome: NDArray[np.uint8]
    weights: NDArray[np.uint64] | None
    columns: tuple[NDArray[Any], ...]
    reference: NDArray[np.uint8] | None = None
    target: NDArray[np.float64] | None = None
    record: NDArray[np.int64] | None = None
    group: NDArray[np.int64] | None = None
    stored: Rows | None = None

    is_local = True

    def __getstate__(self) -> dict[str, Any]:
        # A pickle cannot hold a connection to files.
        return {**vars(self), "stored": None}

    @property
    def y(self) -> NDArray[np.float64]:
        """Centred value of the target."""
        return self.comparison.values[self.outcome] if self.target is None else self.target

    @property
    def n_rows(self) -> int:
        """Number of rows, by weight."""
        return len(self.stratum) if self.weights is None else int(self.weights.sum())

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        """Rows by stratum and target, so that sums do not depend on the order of the table."""
        return np.lexsort((self.y, self.stratum))

    def measured(self, rules: Sequence[Sequence[int]]) -> list[Measured]:
        """Measure rules by the values of the target; empty if its levels are exact or the values are unknown."""
        if self.target is None:
            return [] if self.stored is None else self.stored.measured(rules)
        # In a canonical order, so that sums do not depend on the order of the table.
        order = self._order
        used = {self.language.column_index[condition] for conditions in rules for condition in conditions}
        batch = Batch(
            self.stratum[order],
            self.outcome,
            None if self.weights is None else self.weights[order],
            [column[order] if place in used else column for place, column in enumerate(self.columns)],
            None if self.reference is None else self.reference[order],
        )
        return measure(self, batch, self.y[order], rules)

    def fetch(self) -> Batch:
        """Return all rows as arrays."""
        return Batch(self.stratum, self.outcome, self.weights, self.columns, self.reference)

    def pack(self) -> PackedTable:
        """Pack the rows into bits for the search."""
        return packed(self.fetch(), self.language, self.strata.n_strata, self.comparison)

    def digest(self) -> int:
        """Return an order-independent 128-bit hash of the rows."""
        return merging.digest(_Parts(self.fetch()))

    def cells(self, columns: Sequence[int]) -> Cells:
        """Count the rows of each stratum, codes of some columns of the language, and level of the target."""
        codes = [self.columns[column] for column in columns]
        return Cells.of(self.stratum, codes, self.outcome, self.weights, len(self.comparison.values))

    def held(self, strata: Strata, language: Language) -> LocalRows:
        """Return the rows in strata divided by some of their columns, and without these in the language."""
        codes = dict(zip(self.language.columns, self.columns, strict=True))
        return replace(
            self,
            language=language,
            strata=strata,
            stratum=strata.index(codes, len(self.stratum), begun=self.stratum),
            columns=tuple(codes[name] for name in language.columns),
            stored=None if self.stored is None else self.stored.held(strata, language),
        )

    def within(self, table: Table, strata: Strata) -> Rows:
        """Return the rows of a table that has all of these rows or some, in strata that were formed on it."""
        if self.stored is not None:  # merged rows cannot be told apart by other columns
            return self.stored.within(table, strata)
        rows = self if table.present is None else replace(self.only(table.present), record=None)
        return replace(rows, strata=strata, stratum=strata.index_in(table))

    def only(self, kept: NDArray[np.bool_]) -> LocalRows:
        """Return some of the rows."""
        return replace(
            self,
            stratum=self.stratum[kept],
            outcome=self.outcome[kept],
            weights=None if self.weights is None else self.weights[kept],
            columns=tuple(column[kept] for column in self.columns),
            reference=None if self.reference is None else self.reference[kept],
            target=None if self.target is None else self.target[kept],
            record=np.flatnonzero(kept) if self.record is None else self.record[kept],
            group=None if self.group is None else self.group[kept],
            stored=None,
        )

    @property
    def local(self) -> LocalRows:
        """The rows themselves."""
        return self


class RemoteRows(Rows):
    """Rows in files or on workers."""

    @cached_property
    def local(self) -> LocalRows:
        """The rows in this process, fetched once."""
        rows = self.fetch()
        return LocalRows(
            self.language,
            self.strata,
            self.comparison,
            rows.strata,
            rows.outcomes,
            rows.weights,
            tuple(rows.columns),
            rows.reference,
        )

    def __reduce__(self) -> Any:
        # A pickle holds the rows themselves.
        return LocalRows, tuple(getattr(self.local, field.name) for field in fields(LocalRows))


def local_rows(
    table: Table,
    language: Language,
    strata: Strata,
    outcome: Outcome,
    comparison: Comparison,
    reference: tuple[str, NDArray[np.bool_]] | None = None,
    groups: str | None = None,
) -> LocalRows:
    """Code the rows of a table in memory.

    `reference` is a column and a mask of the values of the reference rows; `groups` is the column of groups.
    """
    columns = (table.codes(name, language.ends[name]) for name in language.columns)
    positions = table.codes(outcome.column, np.arange(len(outcome.level)))
    return LocalRows(
        language,
        strata,
        comparison,
        stratum=strata.index_in(table),
        outcome=outcome.level[positions],
        weights=None if table.weights is None else table.weights.astype(np.uint64),
        columns=tuple(
            codes.astype(code_type(len(language.ends[name])))
            for name, codes in zip(language.columns, columns, strict=True)
        ),
        reference=None if reference is None else table.select(*reference).astype(np.uint8),
        target=None
        if outcome.is_exact
        else outcome.centred(table.histogram(outcome.column).values.sortable)[positions],
        group=None if groups is None else group_codes(table, groups),
    )


def group_codes(table: Table, name: str) -> NDArray[np.int64]:
    """Return the group number of each row; a row with a missing group is a group of its own."""
    n_groups = len(table.histogram(name).values)
    codes = table.codes(name, np.arange(n_groups)).astype(np.int64)
    alone = np.flatnonzero(codes < 0)
    codes[alone] = n_groups + np.arange(len(alone))
    return codes


def packed(batch: Batch, language: Language, n_strata: int, comparison: Comparison) -> PackedTable:
    """Merge identical rows if that is faster, and pack them into bits."""
    merged = merging.merge(replace(batch, outcomes=comparison.codes(batch.outcomes)))
    require_memory(merging.places(merged), language)
    if len(merged.strata) <= _BATCH:
        # The core reads batches twice; larger tables are converted on each read.
        merged = replace(
            merged,
            outcomes=merged.outcomes.astype(np.uint16),
            columns=[column.astype(np.int32, copy=False) for column in merged.columns],
        )
    return PackedTable(
        language.column_index,
        language.low,
        language.high,
        len(language.columns),
        n_strata,
        _Parts(merged),
        1 if merged.weights is None or not len(merged.weights) else int(merged.weights.max()),
        levels=comparison.levels,
        missing=comparison.missing,
        reference=comparison.reference,
    )


class _Parts(Sequence[Batch]):
    """A batch in parts, which limits the size of copies for the core."""

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
        reference = None if whole.reference is None else whole.reference[part]
        return Batch(whole.strata[part], whole.outcomes[part], weights, [c[part] for c in whole.columns], reference)


def runs(levels: NDArray[Any]) -> Ends:
    """Return the last position of each run of equal values."""
    return np.flatnonzero(np.append(levels[1:] != levels[:-1], True))
