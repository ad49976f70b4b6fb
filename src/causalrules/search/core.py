"""Python wrapper of the compiled core; every argument is checked before it is passed on."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causalrules._core import ffi, lib
from causalrules.search.border import BINARY, as_array, checked_levels, estimation_of, failure, is_unknown, pointer

# The core stores sets of columns as bits.
MOST_COLUMNS = 128


@dataclass(frozen=True)
class Batch:
    """Some rows: stratum, level of the target, weight, and the code of each column.

    Levels start at 0; a binary outcome has level 1 where it happens. A missing value has the code −1. `reference` is 1
    for the rows that rules are compared with; None if these are all rows that a rule does not cover.
    """

    strata: NDArray[np.int32]
    outcomes: NDArray[Any]
    weights: NDArray[np.uint64] | None
    columns: Sequence[NDArray[np.int32]]
    reference: NDArray[np.uint8] | None = None


@dataclass(frozen=True)
class Status:
    """Progress of a search; `unexplored` bounds the value of all rules not visited yet."""

    done: bool
    n_rules: int
    best: float | None
    kth: float | None
    unexplored: float | None
    nodes: int
    open: int


def _level_codes(outcomes: ArrayLike) -> NDArray[np.uint16]:
    codes = np.asarray(outcomes)
    if codes.dtype.kind not in "biu":
        raise ValueError("outcomes must be codes of levels: whole numbers from 0 on")
    if codes.dtype not in (np.uint8, np.uint16) and codes.size and not 0 <= codes.min() <= codes.max() < 2**16:
        raise ValueError(f"outcomes must be codes of levels from 0 on, not {codes.min()} to {codes.max()}")
    return as_array(codes, np.uint16)


class Search(Protocol):
    """A search that runs in steps."""

    @property
    def patience(self) -> float:
        """Target duration of a step, in seconds."""

    def step(self, seconds: float, threads: int) -> Status:
        """Search for about this long."""

    def rules(self) -> list[tuple[float, tuple[int, ...]]]:
        """The best rules so far, best first: value and conditions."""

    def save(self) -> NDArray[np.uint64]:
        """Return the state needed to resume; call between steps."""

    def restore(self, numbers: NDArray[np.uint64]) -> None:
        """Resume the saved search of the same rows with the same options; call before the first step."""


class Packed(ABC):
    """Packed rows, local or remote, that can be counted and searched."""

    n_strata: int
    levels: NDArray[np.float64]
    """The values of the target's levels, lowest first."""
    allowed_columns: Sequence[Sequence[int]] | None = None
    """The sets of columns that a rule may use, by index; None for any."""
    numbers: NDArray[np.uint32] | None = None
    """Index of each condition in the caller's language, increasing; None if unchanged."""

    @property
    def n_cells(self) -> int:
        """Number of pairs of stratum and level."""
        return self.n_strata * len(self.levels)

    @property
    @abstractmethod
    def rows(self) -> Any:
        """Handle of the rows for the core."""

    @abstractmethod
    def count(self, conditions: Sequence[int] = ()) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count the rows that satisfy all conditions, and the rows that fail them.

        Both have a row for each stratum and a column for each level, lowest first. Without conditions their sum is all
        rows.
        """

    def search(self, **options: Any) -> Search:
        """A search over these rows, with the options of `NativeSearch`."""
        return NativeSearch(self, **options)

    def part(self, conditions: Sequence[int]) -> Packed:
        """Return the table whose strata a rule is measured in: this one, unless rules have their own strata."""
        return self

    @property
    def n_sources(self) -> int:
        """Number of tables in one search, with the same rows and different strata."""
        return 1

    def source(self, number: int) -> Packed:
        """Return one of these tables, in search order."""
        return self


class PackedTable(Packed):
    """The rows as bitsets: one for each proposition, ordered by stratum and level of the target.

    They are built in two passes over the batches; `sizes` replaces the first pass if the sizes are known without the
    columns.

    Parameters
    ----------
    levels
        The values of the target's levels, increasing, between 0 and 1.
    missing
        How a condition treats a missing value: "false" (it fails) or "unknown". Then a rule covers the rows that
        certainly satisfy it and fails on those that certainly do not; the rest is left out of the comparison. Rows
        with missing values take twice the memory (with `sizes`: all rows).
    reference
        Column, lowest and highest code of the reference rows in the batches: rules are compared with these rows only
        and cover none of them. A rule must have a condition that excludes these codes.
    """

    def __init__(
        self,
        column_index: ArrayLike,
        low: ArrayLike,
        high: ArrayLike,
        n_columns: int,
        n_strata: int,
        batches: Iterable[Batch],
        max_weight: int = 1,
        sizes: Iterable[Batch] | None = None,
        *,
        levels: ArrayLike = BINARY,
        missing: str = "false",
        reference: tuple[int, int, int] | None = None,
    ) -> None:
        columns, low, high = as_array(column_index, np.uint32), as_array(low, np.int32), as_array(high, np.int32)
        if not len(columns) == len(low) == len(high):
            raise ValueError("every proposition needs a column, a low and a high code")
        self.n_propositions, self.n_strata, self.levels = len(columns), n_strata, checked_levels(levels)
        self.n_records = 0
        unknown = is_unknown(missing)
        builder = lib.cr_builder_new(
            len(columns),
            pointer("uint32_t *", columns),
            pointer("int32_t *", low),
            pointer("int32_t *", high),
            n_columns,
            n_strata,
            len(self.levels),
            max(1, int(max_weight).bit_length()),
            0 if not unknown else 1 if sizes is None else 2,
            *(reference or (-1, 0, 0)),
        )
        if not builder:
            raise failure()
        try:
            for batch in batches if sizes is None else sizes:
                self._size(builder, batch, n_columns if unknown and sizes is None else None)
            for batch in batches:
                self._fill(builder, batch, n_columns, reference is not None)
                self.n_records += len(batch.strata)
        except BaseException:
            lib.cr_builder_free(builder)
            raise
        table = lib.cr_builder_finish(builder)
        if not table:
            raise failure()
        self._handle = ffi.gc(table, lib.cr_table_free)

    @classmethod
    def _size(cls, builder: Any, batch: Batch, n_columns: int | None) -> None:
        n_rows, (strata, outcomes, weights, _, columns), kept = cls._arrays(batch, n_columns)
        if lib.cr_builder_size(builder, n_rows, strata, outcomes, weights, columns):
            raise failure()
        del kept

    @classmethod
    def _fill(cls, builder: Any, batch: Batch, n_columns: int, reference: bool) -> None:
        if reference != (batch.reference is not None):
            raise ValueError("reference rows are given for all batches, with their column and codes, or for none")
        n_rows, pointers, kept = cls._arrays(batch, n_columns)
        if lib.cr_builder_fill(builder, n_rows, *pointers):
            raise failure()
        del kept

    @staticmethod
    def _arrays(batch: Batch, n_columns: int | None) -> tuple[int, tuple[Any, ...], Any]:
        """Return the number of rows, pointers for the core (optionally without columns), and arrays to keep alive."""
        strata, outcomes = as_array(batch.strata, np.int32), _level_codes(batch.outcomes)
        weights = None if batch.weights is None else as_array(batch.weights, np.uint64)
        reference = None if batch.reference is None else as_array(batch.reference, np.uint8)
        columns = [as_array(column, np.int32) for column in batch.columns]
        lengths = {len(array) for array in (outcomes, weights, reference, *columns) if array is not None}
        if lengths != {len(strata)} or (n_columns is not None and len(columns) != n_columns):
            raise ValueError(f"a batch of {len(strata)} rows has arrays of lengths {sorted(lengths)}")
        each = ffi.new("int32_t *[]", [pointer("int32_t *", column) for column in columns])
        pointers = (
            pointer("int32_t *", strata),
            pointer("uint16_t *", outcomes),
            pointer("uint64_t *", weights),
            pointer("uint8_t *", reference),
            ffi.NULL if n_columns is None else ffi.cast("const int32_t *const *", each),
        )
        return len(strata), pointers, (strata, outcomes, weights, reference, columns, each)

    def count(self, conditions: Sequence[int] = ()) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count the rows that satisfy all conditions, and the rows that fail them, by stratum and level."""
        chosen = as_array(conditions, np.uint32)
        shape = self.n_strata, len(self.levels)
        covered, failing = np.zeros(shape, np.uint64), np.zeros(shape, np.uint64)
        code = lib.cr_table_count(
            self._handle,
            len(chosen),
            pointer("uint32_t *", chosen),
            pointer("uint64_t *", covered),
            pointer("uint64_t *", failing),
            self.n_cells,
        )
        if code:
            raise failure()
        return covered.astype(np.int64), failing.astype(np.int64)

    @cached_property
    def rows(self) -> Any:
        """Handle of the rows for the core."""
        return own(lib.cr_rows_new(self._handle), lib.cr_rows_free)


def own(found: Any, free: Any) -> Any:
    """Return an object of the core that is freed with the last reference to it."""
    if not found:
        raise failure()
    return ffi.gc(found, free)


def _column_sets(sets: Sequence[Sequence[int]] | None) -> NDArray[np.uint64]:
    """Return sets of columns as bitmasks of two words each."""
    masks = [] if sets is None else [sum(1 << column for column in set(each)) for each in sets]
    if masks and max(masks) >> MOST_COLUMNS:
        raise ValueError(f"sets of columns may name the first {MOST_COLUMNS} columns")
    if sets is not None and not masks:
        raise ValueError("there are no sets of columns")
    low = 2**64 - 1
    return np.array([(mask & low, mask >> 64) for mask in masks], np.uint64).reshape(-1, 2)


def _fail() -> Any:
    raise failure()


class NativeSearch:
    """One search for the k best rules, in steps, over one packed table or several.

    Several tables are searched one after the other, and the k-th best value so far is the floor of the next search, so
    that few tables are packed at a time. Of rules with the same rows in any of them, one is kept: that with the highest
    value, then the fewest conditions, then the first by name.

    Parameters
    ----------
    beta
        A number, or for "pooled" one for each number of conditions: `beta[l]` for a rule of l conditions, the last one
        for all longer rules. They must not decrease. A set of rows is then valued by its shortest description.
    margin_scale
        Factor of the margin of "pooled".
    """

    patience: float = 0.1
    """Target duration of a step, in seconds."""

    def __init__(
        self,
        packed: Packed,
        *,
        estimator: str,
        beta: float | ArrayLike,
        k: int,
        alpha: float = 1.0,
        max_length: int | None = None,
        min_rows: int = 0,
        floor: float = -math.inf,
        margin_scale: float = 1.0,
    ) -> None:
        self._packed, self._scored = packed, (estimator, beta, margin_scale)
        options = ffi.new("SearchOptions *")
        options.k, options.alpha, options.max_length = k, alpha, max_length or 0
        options.min_rows, options.floor = min_rows, floor
        first, kept = self._source(0)
        # With several tables, the core returns conditions by index in the caller's language.
        self._numbers = kept[0].numbers if packed.n_sources == 1 else None
        whole = ffi.NULL if packed.n_sources == 1 else packed.rows
        self._handle = own(
            self._call(lambda: lib.cr_search_new(first, whole, packed.n_sources, options) or _fail()),
            lib.cr_search_free,
        )
        del kept
        if isinstance(packed, PackedTable):
            # Threads wait for each other at the end of a step, longer for more rows.
            self.patience = min(max(self.patience, packed.n_records / 1e7), 2.0)

    def _source(self, number: int) -> tuple[Any, Any]:
        """Return one of the tables for the core, and the objects to keep alive with it."""
        table = self._packed.source(number)
        estimation, scored = estimation_of(*self._scored, table.levels)
        allowed, numbers = _column_sets(table.allowed_columns), table.numbers
        made = ffi.new("Source *")
        made.rows, made.estimation = table.rows, estimation
        made.n_allowed, made.allowed = len(allowed), pointer("uint64_t *", allowed)
        made.numbers = pointer("uint32_t *", numbers)
        return made, (table, estimation, scored, allowed, numbers)

    def _call(self, call: Callable[[], Any]) -> Any:
        """Make a call of the core that may take long."""
        return call()

    def step(self, seconds: float, threads: int) -> Status:
        """Search for about this long; other Python threads run meanwhile."""
        end = time.perf_counter() + seconds
        while True:
            left = max(0.0, end - time.perf_counter())
            status = self._call(partial(self._step, left, threads))
            if status.wants < 0 or seconds <= 0:
                break
            self._add(status.wants)

        def number(value: float) -> float | None:
            return None if math.isnan(value) else value

        return Status(
            done=bool(status.done),
            n_rules=status.rules,
            best=number(status.best),
            kth=number(status.kth),
            unexplored=number(status.unexplored),
            nodes=status.nodes,
            open=status.open,
        )

    def _add(self, number: int) -> None:
        source, kept = self._source(number)
        self._call(lambda: lib.cr_search_add(self._handle, number, source) and _fail())
        del kept

    def _step(self, seconds: float, threads: int) -> Any:
        status = ffi.new("Status *")
        return _fail() if lib.cr_search_step(self._handle, seconds, threads, status) else status

    def save(self) -> NDArray[np.uint64]:
        """Return the state needed to resume; call between steps."""
        return self._call(self._save)  # type: ignore[no-any-return]

    def _save(self) -> NDArray[np.uint64]:
        numbers = np.zeros(0, np.uint64)
        while True:
            length = lib.cr_search_save(self._handle, pointer("uint64_t *", numbers), len(numbers))
            if length < 0:
                raise failure()
            if length <= len(numbers):
                return numbers[:length]
            numbers = np.zeros(length, np.uint64)

    def restore(self, numbers: NDArray[np.uint64]) -> None:
        """Resume the saved search of the same rows with the same options; call before the first step."""
        saved = as_array(numbers, np.uint64)
        self._call(lambda: lib.cr_search_restore(self._handle, pointer("uint64_t *", saved), len(saved)) and _fail())

    def rules(self) -> list[tuple[float, tuple[int, ...]]]:
        """The best rules so far, best first: value and conditions."""
        return self._call(self._rules)  # type: ignore[no-any-return]

    def _rules(self) -> list[tuple[float, tuple[int, ...]]]:
        capacity = 64
        while True:
            values, lengths = np.zeros(capacity, np.float64), np.zeros(capacity, np.uintp)
            conditions = np.zeros(capacity, np.uint32)
            found = lib.cr_search_rules(
                self._handle,
                pointer("double *", values),
                pointer("size_t *", lengths),
                pointer("uint32_t *", conditions),
                capacity,
            )
            if found == -(2**63):
                raise failure()
            if found >= 0:
                break
            capacity = -found
        ends = np.cumsum(lengths[:found]).astype(int)
        named = conditions if self._numbers is None else self._numbers[conditions]
        parts = np.split(named[: ends[-1] if found else 0], ends[:-1]) if found else []
        return [(float(value), tuple(part.tolist())) for value, part in zip(values[:found], parts, strict=True)]


class Narrowed(Packed):
    """Packed rows with some of the conditions of a language, numbered as in that language."""

    def __init__(self, inside: Packed, numbers: NDArray[np.intp]) -> None:
        self._inside, self.numbers = inside, as_array(numbers, np.uint32)
        self._place = {number: place for place, number in enumerate(numbers.tolist())}
        self.n_strata, self.levels, self.allowed_columns = inside.n_strata, inside.levels, inside.allowed_columns

    @property
    def rows(self) -> Any:
        """Handle of the rows for the core."""
        return self._inside.rows

    def count(self, conditions: Sequence[int] = ()) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count the rows that satisfy all conditions, and the rows that fail them, by stratum and level."""
        return self._inside.count([self._place[condition] for condition in conditions])
