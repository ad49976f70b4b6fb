"""The compiled core, in Python's terms: arrays in, numbers out, every argument checked before it crosses over."""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causalrules._core import ffi, lib
from causalrules.exceptions import CausalRulesError
from causalrules.waiting import interruptible

ESTIMATORS = {"reliable": 0, "plugin": 1, "wracc": 2, "association": 3, "pooled": 4}
BINARY = (0.0, 1.0)
"""The levels of an outcome that happens or not."""
_MISSING = ("false", "unknown")
_WANTED = ("any", "different", "wider", "near")
# Sets of columns are bits in the core.
MOST_COLUMNS = 128


@dataclass(frozen=True)
class Batch:
    """Some rows: their stratum, the level of their target, their weight, and the code of each column.

    The lowest level is 0; an outcome that happens or not has 1 where it happens. A missing value has the code −1.
    `reference` is 1 for the rows that rules are compared with, where these are not all rows that a rule does not cover.
    """

    strata: NDArray[np.int32]
    outcomes: NDArray[Any]
    weights: NDArray[np.uint64] | None
    columns: Sequence[NDArray[np.int32]]
    reference: NDArray[np.uint8] | None = None


@dataclass(frozen=True)
class Status:
    """How far a search has come; `unexplored` is what no rule that was not looked at can exceed."""

    done: bool
    n_rules: int
    best: float | None
    kth: float | None
    unexplored: float | None
    nodes: int
    open: int


def _failure() -> CausalRulesError:
    return CausalRulesError(ffi.string(lib.cr_error()).decode("utf-8", "replace"))


def _array(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    # What came over a network may lie anywhere in its message.
    return np.require(values, dtype, ["C_CONTIGUOUS", "ALIGNED"])


def _pointer(kind: str, array: NDArray[Any] | None) -> Any:
    return ffi.NULL if array is None else ffi.cast(kind, ffi.from_buffer(array))


def _levels(levels: ArrayLike) -> NDArray[np.float64]:
    values = _array(levels, np.float64)
    if values.ndim != 1 or len(values) < 2 or not (np.diff(values) > 0).all() or values[0] < 0 or values[-1] > 1:
        raise ValueError("levels must be two or more rising numbers between 0 and 1")
    return values


def _missing(missing: str) -> bool:
    """Whether a missing value is unknown."""
    if missing not in _MISSING:
        raise ValueError(f"missing is {missing!r}; it must be one of {', '.join(map(repr, _MISSING))}")
    return missing == "unknown"


def _level_codes(outcomes: ArrayLike) -> NDArray[np.uint16]:
    codes = np.asarray(outcomes)
    if codes.dtype.kind not in "biu":
        raise ValueError("outcomes must be codes of levels: whole numbers from 0 on")
    if codes.dtype not in (np.uint8, np.uint16) and codes.size and not 0 <= codes.min() <= codes.max() < 2**16:
        raise ValueError(f"outcomes must be codes of levels from 0 on, not {codes.min()} to {codes.max()}")
    return _array(codes, np.uint16)


class Search(Protocol):
    """A search that goes on step by step."""

    @property
    def patience(self) -> float:
        """How many seconds a step should take."""

    def step(self, seconds: float, threads: int) -> Status:
        """Go on for about this long."""

    def rules(self) -> list[tuple[float, tuple[int, ...]]]:
        """The best rules so far, best first: value and conditions."""

    def save(self) -> NDArray[np.uint64]:
        """What is needed to go on later, between steps."""

    def restore(self, numbers: NDArray[np.uint64]) -> None:
        """Go back to what a search of the same rows with the same options has saved, before the first step."""


class Packed(ABC):
    """Packed rows, here or elsewhere: they can be counted and searched."""

    n_strata: int
    levels: NDArray[np.float64]
    """The values of the target's levels, lowest first."""
    offered: Sequence[Sequence[int]] | None = None
    """The sets of columns that rules may be on, by their numbers; None for any."""

    @property
    def n_cells(self) -> int:
        """How many pairs of a stratum and a level there are."""
        return self.n_strata * len(self.levels)

    @abstractmethod
    def count(self, conditions: Sequence[int] = ()) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows that satisfy all the conditions, and rows on which they fail.

        Both have a line for each stratum and a column for each level, lowest first. Without conditions the two add up
        to all rows.
        """

    @abstractmethod
    def search(self, **options: Any) -> Search:
        """A search over these rows, with the options of `NativeSearch`."""

    def part(self, conditions: Sequence[int]) -> Packed:
        """Return the rows in the strata in which a rule is measured: these, unless rules have strata of their own."""
        return self


class PackedTable(Packed):
    """The rows as bits: one set of rows for each proposition, packed by stratum and level of the target.

    They are built in two passes over the batches; `sizes` are those of the first pass, if they are known without the
    columns.

    Parameters
    ----------
    levels
        The values of the target's levels, rising, between 0 and 1.
    missing
        What a missing value means to a condition: "false", it does not hold, or "unknown". Then a rule covers the rows
        that surely satisfy it and fails on those that surely do not; the rest is left out of the comparison. Rows with
        missing values take twice the memory (with `sizes`: all rows).
    reference
        Compare rules with the reference rows of the batches, which no rule covers, and leave out all others: column,
        lowest and highest code of these rows. A rule must have a condition that excludes these codes.
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
        columns, low, high = _array(column_index, np.uint32), _array(low, np.int32), _array(high, np.int32)
        if not len(columns) == len(low) == len(high):
            raise ValueError("every proposition needs a column, a low and a high code")
        self.n_propositions, self.n_strata, self.levels = len(columns), n_strata, _levels(levels)
        unknown = _missing(missing)
        builder = lib.cr_builder_new(
            len(columns),
            _pointer("uint32_t *", columns),
            _pointer("int32_t *", low),
            _pointer("int32_t *", high),
            n_columns,
            n_strata,
            len(self.levels),
            max(1, int(max_weight).bit_length()),
            0 if not unknown else 1 if sizes is None else 2,
            *(reference or (-1, 0, 0)),
        )
        if not builder:
            raise _failure()
        try:
            for batch in batches if sizes is None else sizes:
                self._size(builder, batch, n_columns if unknown and sizes is None else None)
            for batch in batches:
                self._fill(builder, batch, n_columns, reference is not None)
        except BaseException:
            lib.cr_builder_free(builder)
            raise
        table = lib.cr_builder_finish(builder)
        if not table:
            raise _failure()
        self._handle = ffi.gc(table, lib.cr_table_free)

    @classmethod
    def _size(cls, builder: Any, batch: Batch, n_columns: int | None) -> None:
        n_rows, (strata, outcomes, weights, _, columns), kept = cls._arrays(batch, n_columns)
        if lib.cr_builder_size(builder, n_rows, strata, outcomes, weights, columns):
            raise _failure()
        del kept

    @classmethod
    def _fill(cls, builder: Any, batch: Batch, n_columns: int, reference: bool) -> None:
        if reference != (batch.reference is not None):
            raise ValueError("reference rows are given for all batches, with their column and codes, or for none")
        n_rows, pointers, kept = cls._arrays(batch, n_columns)
        if lib.cr_builder_fill(builder, n_rows, *pointers):
            raise _failure()
        del kept

    @staticmethod
    def _arrays(batch: Batch, n_columns: int | None) -> tuple[int, tuple[Any, ...], Any]:
        """The number of rows, pointers for the core (none to columns if there need be none), and what they point to."""
        strata, outcomes = _array(batch.strata, np.int32), _level_codes(batch.outcomes)
        weights = None if batch.weights is None else _array(batch.weights, np.uint64)
        reference = None if batch.reference is None else _array(batch.reference, np.uint8)
        columns = [_array(column, np.int32) for column in batch.columns]
        lengths = {len(array) for array in (outcomes, weights, reference, *columns) if array is not None}
        if lengths != {len(strata)} or (n_columns is not None and len(columns) != n_columns):
            raise ValueError(f"a batch of {len(strata)} rows has arrays of lengths {sorted(lengths)}")
        each = ffi.new("int32_t *[]", [_pointer("int32_t *", column) for column in columns])
        pointers = (
            _pointer("int32_t *", strata),
            _pointer("uint16_t *", outcomes),
            _pointer("uint64_t *", weights),
            _pointer("uint8_t *", reference),
            ffi.NULL if n_columns is None else ffi.cast("const int32_t *const *", each),
        )
        return len(strata), pointers, (strata, outcomes, weights, reference, columns, each)

    def count(self, conditions: Sequence[int] = ()) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows that satisfy all the conditions, and rows on which they fail, by stratum and level."""
        chosen = _array(conditions, np.uint32)
        shape = self.n_strata, len(self.levels)
        covered, failing = np.zeros(shape, np.uint64), np.zeros(shape, np.uint64)
        code = lib.cr_table_count(
            self._handle,
            len(chosen),
            _pointer("uint32_t *", chosen),
            _pointer("uint64_t *", covered),
            _pointer("uint64_t *", failing),
            self.n_cells,
        )
        if code:
            raise _failure()
        return covered.astype(np.int64), failing.astype(np.int64)

    def search(self, **options: Any) -> NativeSearch:
        """A search over these rows, with the options of `NativeSearch`."""
        return NativeSearch(self, **options)


class Redrawn:
    """The largest effect over margin in each of many tables that differ only in an outcome that happens or not.

    The outcomes are the last `n_outcomes` propositions of `table`, whose rows are all of level 0; they happen equally
    often in each stratum. Ratios below `least` do not matter.
    """

    MOST = 64
    """How many tables there can be."""

    def __init__(
        self,
        table: PackedTable,
        n_outcomes: int,
        *,
        beta: ArrayLike,
        max_length: int,
        min_rows: int,
        least: float,
    ) -> None:
        estimation, kept = _estimation("pooled", beta, 1.0, table.levels)
        found = lib.cr_redrawn_new(table._handle, n_outcomes, estimation, max_length, min_rows, least)
        del kept
        if not found:
            raise _failure()
        self._handle, self._n_outcomes = ffi.gc(found, lib.cr_redrawn_free), n_outcomes

    def step(self, seconds: float) -> bool:
        """Go on for about this long; return whether all is done."""
        done = lib.cr_redrawn_step(self._handle, seconds)
        if done < 0:
            raise _failure()
        return bool(done)

    def ratios(self) -> NDArray[np.float64]:
        """Return the largest ratio in each table; −inf where none reaches `least`."""
        ratios = np.zeros(self._n_outcomes)
        if lib.cr_redrawn_ratios(self._handle, _pointer("double *", ratios), len(ratios)):
            raise _failure()
        return ratios


class Part:
    """Packed rows that are one part of many; no two parts have the same salt."""

    def __init__(self, table: PackedTable, salt: int) -> None:
        part = lib.cr_part_new(table._handle, salt)
        if not part:
            raise _failure()
        self._handle = ffi.gc(part, lib.cr_part_free)

    def answer(self, question: NDArray[np.uint32], length: int) -> NDArray[np.uint64]:
        """What these rows have to say."""
        answer = np.zeros(length, np.uint64)
        asked = _array(question, np.uint32)
        if lib.cr_part_answer(
            self._handle, _pointer("uint32_t *", asked), len(asked), _pointer("uint64_t *", answer), length
        ):
            raise _failure()
        return answer


Ask: TypeAlias = "Callable[[NDArray[np.uint32], int], NDArray[np.uint64]]"
_COUNTS, _REFERENCE = 1, 8


class RemoteTable(Packed):
    """Packed rows that live elsewhere: `ask` takes a question and the length of its answer, from any thread.

    `hurry` is called when the user wants the search to end. `levels`, `missing` and `reference` are those of the parts.
    """

    def __init__(
        self,
        ask: Ask,
        column_index: ArrayLike,
        low: ArrayLike,
        high: ArrayLike,
        n_strata: int,
        threads: int,
        hurry: Callable[[], None] = lambda: None,
        *,
        levels: ArrayLike = BINARY,
        missing: str = "false",
        reference: bool = False,
    ) -> None:
        self.n_strata, self.threads, self.hurry = n_strata, threads, hurry
        self.levels = _levels(levels)
        self.sides = 2 if reference else int(_missing(missing))
        self.propositions = _array(column_index, np.uint32), _array(low, np.int32), _array(high, np.int32)
        self.failure: BaseException | None = None
        self._all: NDArray[np.int64] | None = None
        self._reference: NDArray[np.int64] | None = None
        self._ask = ask
        # Kept here, because the core calls it as long as there is a search.
        self.callback = ffi.callback("int32_t(void *, const uint32_t *, size_t, uint64_t *, size_t)", self._answer)

    def _answer(self, context: Any, question: Any, n: int, answer: Any, length: int) -> int:
        try:
            asked = np.frombuffer(ffi.buffer(question, 4 * n), np.uint32).copy()
            found = self._checked(self._ask(asked, length), length)
            ffi.memmove(answer, found, 8 * length)
        except BaseException as error:  # nothing may be raised into the core
            self.failure = error
            return -1
        return 0

    @staticmethod
    def _checked(answer: Any, length: int) -> NDArray[np.uint64]:
        numbers = _numbers(answer)
        if len(numbers) != length:
            raise CausalRulesError(f"an answer has {len(numbers)} numbers, not {length}")
        return numbers

    def all_rows(self) -> NDArray[np.int64]:
        """All rows, by stratum and level."""
        if self._all is None:
            self._all = self._counted(())[: self.n_cells].reshape(self.n_strata, -1)
        return self._all

    def reference_rows(self) -> NDArray[np.int64] | None:
        """The reference rows, by stratum and level, if rules are compared with these."""
        if self.sides != 2:
            return None
        if self._reference is not None:
            return self._reference
        answer = self._checked(self._ask(np.array([_REFERENCE], np.uint32), self.n_cells), self.n_cells)
        self._reference = answer.astype(np.int64).reshape(self.n_strata, -1)
        return self._reference

    def _counted(self, conditions: Sequence[int]) -> NDArray[np.int64]:
        """Rows that satisfy all the conditions, and, where missing values are unknown, those that possibly do.

        With reference rows, whether the conditions leave them in, as a number above 0.
        """
        length = self.n_cells * (2 if self.sides == 1 else 1) + (self.sides == 2)
        question = np.array([_COUNTS, len(conditions), *conditions], np.uint32)
        return self._checked(self._ask(question, length), length).astype(np.int64)

    def count(self, conditions: Sequence[int] = ()) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows that satisfy all the conditions, and rows on which they fail, by stratum and level."""
        counted = self._counted(conditions)
        covered = counted[: self.n_cells].reshape(self.n_strata, -1)
        reference = self.reference_rows()
        if reference is None:
            return covered, self.all_rows() - counted[-self.n_cells :].reshape(self.n_strata, -1)
        return covered, reference * (counted[-1] == 0)

    def search(self, **options: Any) -> NativeSearch:
        """A search over these rows, with the options of `NativeSearch`."""
        return RemoteSearch(self, **options)


def _numbers(answer: Any) -> NDArray[np.uint64]:
    """A list of numbers from a worker, which may have sent anything."""
    numbers = np.asarray(answer)
    if numbers.dtype != np.uint64 or numbers.ndim != 1:
        raise CausalRulesError(f"an answer is no list of unsigned numbers, but {numbers.dtype} {numbers.shape}")
    return _array(numbers, np.uint64)


def put_together(question: NDArray[np.uint32], answers: Iterable[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """The answer of all rows, from those of their parts."""
    parts = [_numbers(answer) for answer in answers]
    if not parts or not len(question):
        raise CausalRulesError("no part has answered" if len(question) else "an empty question")
    if len(lengths := {len(part) for part in parts}) != 1:
        raise CausalRulesError(f"the parts' answers have {', '.join(map(str, sorted(lengths)))} numbers")
    total = parts[0].copy()
    for more in parts[1:]:
        if lib.cr_put_together(
            int(question[0]), _pointer("uint64_t *", total), _pointer("uint64_t *", more), len(total)
        ):
            raise _failure()
    return total


def _estimation(
    estimator: str, beta: float | ArrayLike, margin_scale: float, levels: NDArray[np.float64]
) -> tuple[Any, Any]:
    """What a rule is worth, for the core, and what that points to."""
    if estimator not in ESTIMATORS:
        raise ValueError(f"no estimator {estimator!r}; the estimators are {', '.join(map(repr, ESTIMATORS))}")
    betas = _array(np.atleast_1d(np.asarray(beta, np.float64)), np.float64)
    by_length = np.ndim(beta) > 0
    if betas.ndim != 1 or not len(betas):
        raise ValueError("beta must be a number, or a list of one for each number of conditions from 0 on")
    if not np.isfinite(betas).all():
        raise ValueError("beta must be finite")
    made = ffi.new("Estimation *")
    made.estimator = ESTIMATORS[estimator]
    made.beta = 0.0 if by_length else float(betas[0])
    made.n_betas = len(betas) if by_length else 0
    made.betas = _pointer("double *", betas)
    made.margin_scale = float(margin_scale)
    made.n_levels = len(levels)
    made.levels = _pointer("double *", levels)
    return made, (betas, levels)


def _column_sets(sets: Sequence[Sequence[int]] | None) -> NDArray[np.uint64]:
    """Return sets of columns as bits, in two words each."""
    masks = [] if sets is None else [sum(1 << column for column in set(each)) for each in sets]
    if masks and max(masks) >> MOST_COLUMNS:
        raise ValueError(f"sets of columns may name the first {MOST_COLUMNS} columns")
    if sets is not None and not masks:
        raise ValueError("no set of columns is offered")
    low = 2**64 - 1
    return np.array([(mask & low, mask >> 64) for mask in masks], np.uint64).reshape(-1, 2)


class NativeSearch:
    """One search over a packed table, a step at a time.

    Parameters
    ----------
    beta
        A number, or for "pooled" one for each number of conditions: `beta[l]` for a rule of l conditions, the last one
        for all longer rules. They must not fall. A set of rows then counts by its shortest description.
    margin_scale
        The margin of "pooled" is multiplied by it.
    wanted
        "any" for the k best rules; "different" for a list in which each rule shares less than `similarity` of its rows
        (Jaccard) with those before it; "wider" for one in which each covers more rows than those before it; "near" for
        the k best that share `similarity` of their rows with the first leader, and less with the others. But for its
        first rule, a list of different or wider rules has none at or below 0.
    similarity
        The share of rows that "different" and "near" ask for.
    leaders
        Rules, as conditions, that come before those to be found.
    n_left_out
        The first so many leaders are not listed: for "different", only rules with the same rows are left out.
    """

    def __init__(
        self,
        table: Packed,
        *,
        estimator: str,
        beta: float | ArrayLike,
        k: int,
        alpha: float = 1.0,
        max_length: int | None = None,
        min_rows: int = 0,
        redundant: bool = True,
        floor: float = -math.inf,
        margin_scale: float = 1.0,
        wanted: str = "any",
        similarity: float = math.nan,
        leaders: Sequence[Sequence[int]] = (),
        n_left_out: int = 0,
    ) -> None:
        if wanted not in _WANTED:
            raise ValueError(f"wanted is {wanted!r}; it must be one of {', '.join(map(repr, _WANTED))}")
        estimation, kept = _estimation(estimator, beta, margin_scale, table.levels)
        options = ffi.new("SearchOptions *")
        options.k, options.alpha, options.max_length = k, alpha, max_length or 0
        options.min_rows, options.irredundant, options.floor = min_rows, not redundant, floor
        lengths = _array([len(leader) for leader in leaders], np.uintp)
        conditions = _array([condition for leader in leaders for condition in leader], np.uint32)
        options.wanted, options.similarity, options.n_leaders = _WANTED.index(wanted), similarity, len(lengths)
        options.n_left_out = n_left_out
        options.lengths, options.conditions = _pointer("size_t *", lengths), _pointer("uint32_t *", conditions)
        offered = _column_sets(table.offered)
        options.n_offered, options.offered = len(offered), _pointer("uint64_t *", offered)
        if len(offered) and not redundant:
            raise ValueError("redundant=False needs rules on all columns")
        self._kept = kept, lengths, conditions, offered  # the core reads it, perhaps in another thread
        search = self._begin(table, estimation, options)
        if not search:
            raise _failure()
        self._handle = ffi.gc(search, lib.cr_search_free)

    def _begin(self, table: Packed, estimation: Any, options: Any) -> Any:
        if not isinstance(table, PackedTable):
            raise TypeError(f"{type(table).__name__} begins its searches itself")
        return lib.cr_search_new(table._handle, estimation, options)

    patience: float = 0.1
    """How many seconds a step should take."""

    def step(self, seconds: float, threads: int) -> Status:
        """Go on for about this long; other Python threads run meanwhile."""
        status = ffi.new("Status *")
        if lib.cr_search_step(self._handle, seconds, threads, status):
            raise _failure()

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

    def save(self) -> NDArray[np.uint64]:
        """What is needed to go on later, between steps."""
        numbers = np.zeros(0, np.uint64)
        while True:
            length = lib.cr_search_save(self._handle, _pointer("uint64_t *", numbers), len(numbers))
            if length < 0:
                raise _failure()
            if length <= len(numbers):
                return numbers[:length]
            numbers = np.zeros(length, np.uint64)

    def restore(self, numbers: NDArray[np.uint64]) -> None:
        """Go back to what a search of the same rows with the same options has saved, before the first step."""
        saved = _array(numbers, np.uint64)
        if lib.cr_search_restore(self._handle, _pointer("uint64_t *", saved), len(saved)):
            raise _failure()

    def rules(self) -> list[tuple[float, tuple[int, ...]]]:
        """The best rules so far, best first: value and conditions."""
        capacity = 64
        while True:
            values, lengths = np.zeros(capacity, np.float64), np.zeros(capacity, np.uintp)
            conditions = np.zeros(capacity, np.uint32)
            found = lib.cr_search_rules(
                self._handle,
                _pointer("double *", values),
                _pointer("size_t *", lengths),
                _pointer("uint32_t *", conditions),
                capacity,
            )
            if found == -(2**63):
                raise _failure()
            if found >= 0:
                break
            capacity = -found
        ends = np.cumsum(lengths[:found]).astype(int)
        parts = np.split(conditions[: ends[-1] if found else 0], ends[:-1]) if found else []
        return [(float(value), tuple(part.tolist())) for value, part in zip(values[:found], parts, strict=True)]


class Narrowed(Packed):
    """Packed rows with some of the conditions of a language, which keep their numbers in it."""

    def __init__(self, inside: Packed, numbers: NDArray[np.intp]) -> None:
        self._inside, self._numbers = inside, numbers.tolist()
        self._place = {number: place for place, number in enumerate(self._numbers)}
        self.n_strata, self.levels, self.offered = inside.n_strata, inside.levels, inside.offered

    def _places(self, conditions: Sequence[int]) -> list[int]:
        return [self._place[condition] for condition in conditions]

    def count(self, conditions: Sequence[int] = ()) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows that satisfy all the conditions, and rows on which they fail, by stratum and level."""
        return self._inside.count(self._places(conditions))

    def search(self, **options: Any) -> Search:
        """A search over these rows, with the options of `NativeSearch`."""
        leaders = [self._places(leader) for leader in options.pop("leaders", ())]
        return _Renumbered(self._inside.search(leaders=leaders, **options), self._numbers)


class _Renumbered:
    """A search whose conditions have other numbers outside, in the same order."""

    def __init__(self, inside: Search, numbers: Sequence[int]) -> None:
        self._inside, self._numbers = inside, numbers
        self.patience, self.step = inside.patience, inside.step
        self.save, self.restore = inside.save, inside.restore

    def rules(self) -> list[tuple[float, tuple[int, ...]]]:
        """The best rules so far, best first: value and conditions."""
        return [(value, tuple(self._numbers[each] for each in found)) for value, found in self._inside.rules()]


class RemoteSearch(NativeSearch):
    """A search whose rows live elsewhere. Its calls wait for answers in threads of their own, so that the caller's
    can be interrupted."""

    patience = 2.0

    def _begin(self, table: Packed, estimation: Any, options: Any) -> Any:
        if not isinstance(table, RemoteTable):
            raise TypeError(f"{type(table).__name__} is not elsewhere")
        self._table, self._calling = table, threading.Lock()
        every = _array(table.all_rows().ravel(), np.uint64)
        found = table.reference_rows()
        reference = None if found is None else _array(found.ravel(), np.uint64)
        columns, low, high = table.propositions
        return self._away(
            lambda: (
                lib.cr_search_new_remote(
                    table.n_cells,
                    _pointer("uint64_t *", every),
                    table.sides,
                    _pointer("uint64_t *", reference),
                    len(columns),
                    _pointer("uint32_t *", columns),
                    _pointer("int32_t *", low),
                    _pointer("int32_t *", high),
                    table.callback,
                    ffi.NULL,
                    estimation,
                    options,
                )
                or self._fail()
            )
        )

    @staticmethod
    def _fail() -> Any:
        raise _failure()

    def _away(self, call: Callable[[], Any]) -> Any:
        """The result of the call, made in another thread; an interrupt is raised when it is over."""

        def alone() -> Any:
            # One that the caller waits for no longer may still be under way.
            with self._calling:
                return call()

        try:
            return interruptible(alone, self._table.hurry)
        except BaseException as error:
            raise self._table.failure or error from None

    def step(self, seconds: float, threads: int) -> Status:
        """Go on for about this long. The threads wait for answers, so they are those that the rows need."""
        status: Status = self._away(lambda: super(RemoteSearch, self).step(seconds, self._table.threads))
        return status

    def save(self) -> NDArray[np.uint64]:
        """What is needed to go on later, between steps."""
        numbers: NDArray[np.uint64] = self._away(super().save)
        return numbers

    def restore(self, numbers: NDArray[np.uint64]) -> None:
        """Go back to what a search of the same rows with the same options has saved, before the first step."""
        self._away(lambda: super(RemoteSearch, self).restore(numbers))

    def rules(self) -> list[tuple[float, tuple[int, ...]]]:
        """The best rules so far, best first: value and conditions."""
        rules: list[tuple[float, tuple[int, ...]]] = self._away(super().rules)
        return rules


def _cells(levels: NDArray[np.float64], *arrays: ArrayLike | None) -> list[NDArray[np.uint64] | None]:
    cells = [None if array is None else np.atleast_2d(np.asarray(array)) for array in arrays]
    shapes = {array.shape for array in cells if array is not None}
    if len(shapes) != 1 or any(len(shape) != 2 or shape[1] != len(levels) for shape in shapes):
        raise ValueError("every array needs a line for each stratum and a column for each level")
    if any(array is not None and array.size and array.min() < 0 for array in cells):
        raise ValueError("no count is negative")
    return [None if array is None else _array(array, np.uint64) for array in cells]


def _number(number: float) -> float:
    if math.isnan(number):
        raise _failure()
    return number


def cell_value(
    estimator: str,
    beta: float | ArrayLike,
    all_rows: ArrayLike,
    covered: ArrayLike,
    failing: ArrayLike | None = None,
    *,
    levels: ArrayLike = BINARY,
    length: int = 1,
    margin_scale: float = 1.0,
) -> float:
    """What the core takes a rule of `length` conditions to be worth.

    The arrays have a line for each stratum and a column for each level; `failing` left out is all that is not covered.
    """
    values = _levels(levels)
    estimation, kept = _estimation(estimator, beta, margin_scale, values)
    arrays = _cells(values, all_rows, covered, failing)
    every, inside, outside = (_pointer("uint64_t *", array) for array in arrays)
    n_cells = 0 if arrays[0] is None else arrays[0].size
    found = _number(float(lib.cr_value(estimation, n_cells, every, inside, outside, length)))
    del kept
    return found


def cell_bound(
    estimator: str,
    beta: float | ArrayLike,
    all_rows: ArrayLike,
    covered: tuple[ArrayLike, ArrayLike],
    failing: tuple[ArrayLike, ArrayLike] | None = None,
    *,
    levels: ArrayLike = BINARY,
    length: int = 1,
    margin_scale: float = 1.0,
) -> float:
    """What the core takes as an upper bound on the value of all rules of `length` or more conditions.

    `covered` and `failing` are the least and the most rows on each side; see `cell_value`.
    """
    values = _levels(levels)
    estimation, kept = _estimation(estimator, beta, margin_scale, values)
    arrays = _cells(values, all_rows, *covered, *((None, None) if failing is None else failing))
    pointers = [_pointer("uint64_t *", array) for array in arrays]
    n_cells = 0 if arrays[0] is None else arrays[0].size
    found = _number(float(lib.cr_bound(estimation, n_cells, *pointers, length)))
    del kept
    return found


def _pairs(negative: ArrayLike, positive: ArrayLike) -> NDArray[Any]:
    pair = [np.atleast_1d(np.asarray(array)) for array in (negative, positive)]
    if len(pair[0]) != len(pair[1]):
        raise ValueError("every array needs one count for each stratum")
    return np.stack(pair, axis=1)


def value(estimator: str, beta: float, n1: ArrayLike, n0: ArrayLike, a: ArrayLike, b: ArrayLike) -> float:
    """What the core takes a rule of one condition with these counts to be worth."""
    return cell_value(estimator, beta, _pairs(n0, n1), _pairs(b, a))


def bound(
    estimator: str,
    beta: float,
    n1: ArrayLike,
    n0: ArrayLike,
    low: tuple[ArrayLike, ArrayLike],
    high: tuple[ArrayLike, ArrayLike],
) -> float:
    """What the core takes as an upper bound on the value of all counts between low and high."""
    return cell_bound(estimator, beta, _pairs(n0, n1), (_pairs(*low[::-1]), _pairs(*high[::-1])))
