"""The compiled core, in Python's terms: arrays in, numbers out, every argument checked before it crosses over."""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causalrules._core import ffi, lib
from causalrules.exceptions import CausalRulesError

ESTIMATORS = {"reliable": 0, "plugin": 1, "wracc": 2, "association": 3}


@dataclass(frozen=True)
class Batch:
    """Some rows: their stratum, whether the outcome happened, their weight, and the code of each column."""

    strata: NDArray[np.int32]
    outcomes: NDArray[np.uint8]
    weights: NDArray[np.uint64] | None
    columns: Sequence[NDArray[np.int32]]


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


class Packed(ABC):
    """Packed rows, here or elsewhere: they can be counted and searched."""

    n_strata: int

    @abstractmethod
    def count(self, conditions: Sequence[int] = ()) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows with and without the outcome, by stratum, that satisfy all the conditions."""

    @abstractmethod
    def search(self, **options: Any) -> NativeSearch:
        """A search over these rows, with the options of `NativeSearch`."""


class PackedTable(Packed):
    """The rows as bits: one set of rows for each proposition, packed by stratum and outcome.

    They are built in two passes over the batches; `sizes` are those of the first pass, if they are known without the
    columns.
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
    ) -> None:
        columns, low, high = _array(column_index, np.uint32), _array(low, np.int32), _array(high, np.int32)
        if not len(columns) == len(low) == len(high):
            raise ValueError("every proposition needs a column, a low and a high code")
        self.n_propositions, self.n_strata = len(columns), n_strata
        builder = lib.cr_builder_new(
            len(columns),
            _pointer("uint32_t *", columns),
            _pointer("int32_t *", low),
            _pointer("int32_t *", high),
            n_columns,
            n_strata,
            max(1, int(max_weight).bit_length()),
        )
        if not builder:
            raise _failure()
        try:
            for batch in batches if sizes is None else sizes:
                self._pass(builder, batch, n_columns, fill=False)
            for batch in batches:
                self._pass(builder, batch, n_columns, fill=True)
        except BaseException:
            lib.cr_builder_free(builder)
            raise
        table = lib.cr_builder_finish(builder)
        if not table:
            raise _failure()
        self._handle = ffi.gc(table, lib.cr_table_free)

    @staticmethod
    def _pass(builder: Any, batch: Batch, n_columns: int, fill: bool) -> None:
        strata, outcomes = _array(batch.strata, np.int32), _array(batch.outcomes, np.uint8)
        weights = None if batch.weights is None else _array(batch.weights, np.uint64)
        columns = [_array(column, np.int32) for column in batch.columns]
        n_rows = len(strata)
        lengths = {len(outcomes), *(len(column) for column in columns)} | (set() if weights is None else {len(weights)})
        if lengths != {n_rows} or (fill and len(columns) != n_columns):
            raise ValueError(f"a batch of {n_rows} rows has arrays of lengths {sorted(lengths)}")
        arguments = [
            builder,
            n_rows,
            _pointer("int32_t *", strata),
            _pointer("uint8_t *", outcomes),
            _pointer("uint64_t *", weights),
        ]
        if fill:
            pointers = ffi.new("int32_t *[]", [_pointer("int32_t *", column) for column in columns])
            code = lib.cr_builder_fill(*arguments, ffi.cast("const int32_t *const *", pointers))
        else:
            code = lib.cr_builder_size(*arguments)
        if code:
            raise _failure()

    def count(self, conditions: Sequence[int] = ()) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows with and without the outcome, by stratum, that satisfy all the conditions."""
        chosen = _array(conditions, np.uint32)
        positive, negative = np.zeros(self.n_strata, np.uint64), np.zeros(self.n_strata, np.uint64)
        code = lib.cr_table_count(
            self._handle,
            len(chosen),
            _pointer("uint32_t *", chosen),
            _pointer("uint64_t *", positive),
            _pointer("uint64_t *", negative),
        )
        if code:
            raise _failure()
        return positive.astype(np.int64), negative.astype(np.int64)

    def search(self, **options: Any) -> NativeSearch:
        """A search over these rows, with the options of `NativeSearch`."""
        return NativeSearch(self, **options)


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
_COUNTS = 1


class RemoteTable(Packed):
    """Packed rows that live elsewhere: `ask` takes a question and the length of its answer, from any thread.

    `hurry` is called when the user wants the search to end.
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
    ) -> None:
        self.n_strata, self.threads, self.hurry = n_strata, threads, hurry
        self.propositions = _array(column_index, np.uint32), _array(low, np.int32), _array(high, np.int32)
        self.failure: BaseException | None = None
        self._ask = ask
        # Kept here, because the core calls it as long as there is a search.
        self.callback = ffi.callback("int32_t(void *, const uint32_t *, size_t, uint64_t *, size_t)", self._answer)

    def _answer(self, context: Any, question: Any, n: int, answer: Any, length: int) -> int:
        try:
            asked = np.frombuffer(ffi.buffer(question, 4 * n), np.uint32).copy()
            found = _array(self._ask(asked, length), np.uint64)
            if len(found) != length:
                raise CausalRulesError(f"an answer has {len(found)} numbers, not {length}")
            ffi.memmove(answer, found, 8 * length)
        except BaseException as error:  # nothing may be raised into the core
            self.failure = error
            return -1
        return 0

    def count(self, conditions: Sequence[int] = ()) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows with and without the outcome, by stratum, that satisfy all the conditions."""
        question = np.array([_COUNTS, len(conditions), *conditions], np.uint32)
        counts = self._ask(question, 2 * self.n_strata).astype(np.int64).reshape(self.n_strata, 2)
        return counts[:, 0].copy(), counts[:, 1].copy()

    def search(self, **options: Any) -> NativeSearch:
        """A search over these rows, with the options of `NativeSearch`."""
        return RemoteSearch(self, **options)


def put_together(question: NDArray[np.uint32], answers: Iterable[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """The answer of all rows, from those of their parts."""
    first, *others = answers
    total = first.copy()
    for more in others:
        more = _array(more, np.uint64)
        if lib.cr_put_together(
            int(question[0]), _pointer("uint64_t *", total), _pointer("uint64_t *", more), len(total)
        ):
            raise _failure()
    return total


class NativeSearch:
    """One search over a packed table, a step at a time."""

    def __init__(
        self,
        table: Packed,
        *,
        estimator: str,
        beta: float,
        k: int,
        alpha: float = 1.0,
        max_length: int | None = None,
        min_rows: int = 0,
        redundant: bool = True,
        floor: float = -math.inf,
    ) -> None:
        self._k = k
        options = (ESTIMATORS[estimator], beta, k, alpha, max_length or 0, min_rows, not redundant, floor)
        search = self._begin(table, options)
        if not search:
            raise _failure()
        self._handle = ffi.gc(search, lib.cr_search_free)

    def _begin(self, table: Packed, options: tuple[Any, ...]) -> Any:
        if not isinstance(table, PackedTable):
            raise TypeError(f"{type(table).__name__} begins its searches itself")
        return lib.cr_search_new(table._handle, *options)

    patience = 0.1
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
        values = np.zeros(self._k, np.float64)
        lengths = np.zeros(self._k, np.uintp)
        conditions = np.zeros(16 * self._k, np.uint32)
        while True:
            found = lib.cr_search_rules(
                self._handle,
                _pointer("double *", values),
                _pointer("size_t *", lengths),
                _pointer("uint32_t *", conditions),
                len(conditions),
            )
            if found == -(2**63):
                raise _failure()
            if found >= 0:
                break
            conditions = np.zeros(-found, np.uint32)
        ends = np.cumsum(lengths[:found]).astype(int)
        parts = np.split(conditions[: ends[-1] if found else 0], ends[:-1]) if found else []
        return [(float(value), tuple(part.tolist())) for value, part in zip(values[:found], parts, strict=True)]


class RemoteSearch(NativeSearch):
    """A search whose rows live elsewhere. Its calls wait for answers in threads of their own, so that the caller's
    can be interrupted."""

    patience = 2.0

    def _begin(self, table: Packed, options: tuple[Any, ...]) -> Any:
        if not isinstance(table, RemoteTable):
            raise TypeError(f"{type(table).__name__} is not elsewhere")
        self._table, self._calling = table, threading.Lock()
        positive, negative = (_array(counts, np.uint64) for counts in table.count())
        columns, low, high = table.propositions
        return self._away(
            lambda: (
                lib.cr_search_new_remote(
                    table.n_strata,
                    _pointer("uint64_t *", positive),
                    _pointer("uint64_t *", negative),
                    len(columns),
                    _pointer("uint32_t *", columns),
                    _pointer("int32_t *", low),
                    _pointer("int32_t *", high),
                    table.callback,
                    ffi.NULL,
                    *options,
                )
                or self._fail()
            )
        )

    @staticmethod
    def _fail() -> Any:
        raise _failure()

    def _away(self, call: Callable[[], Any]) -> Any:
        """The result of the call, made in another thread; an interrupt is raised when it is over."""
        outcome: list[Any] = []
        errors: list[BaseException] = []

        over = threading.Event()

        def run() -> None:
            try:
                # One that the caller waits for no longer may still be under way.
                with self._calling:
                    outcome.append(call())
            except BaseException as error:
                errors.append(error)
            over.set()

        threading.Thread(target=run, daemon=True).start()
        interrupt: KeyboardInterrupt | None = None
        while True:
            try:
                # An event, because a thread whose join() is interrupted is taken for dead by Python 3.11.
                while not over.wait(0.1):
                    pass
                break
            except KeyboardInterrupt as again:
                if interrupt is not None:
                    raise
                interrupt = again
                self._table.hurry()
        if errors:
            raise self._table.failure or errors[0]
        if interrupt is not None:
            raise interrupt
        return outcome[0]

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


def _counts(*arrays: ArrayLike) -> list[NDArray[np.uint64]]:
    counts = [_array(np.atleast_1d(np.asarray(array)), np.uint64) for array in arrays]
    if len({len(array) for array in counts}) != 1:
        raise ValueError("every array needs one count for each stratum")
    return counts


def value(estimator: str, beta: float, n1: ArrayLike, n0: ArrayLike, a: ArrayLike, b: ArrayLike) -> float:
    """What the core takes a rule with these counts to be worth."""
    counts = _counts(n1, n0, a, b)
    pointers = [_pointer("uint64_t *", array) for array in counts]
    return float(lib.cr_value(ESTIMATORS[estimator], beta, len(counts[0]), *pointers))


def bound(
    estimator: str,
    beta: float,
    n1: ArrayLike,
    n0: ArrayLike,
    low: tuple[ArrayLike, ArrayLike],
    high: tuple[ArrayLike, ArrayLike],
) -> float:
    """What the core takes as an upper bound on the value of all counts between low and high."""
    counts = _counts(n1, n0, *low, *high)
    pointers = [_pointer("uint64_t *", array) for array in counts]
    return float(lib.cr_bound(ESTIMATORS[estimator], beta, len(counts[0]), *pointers))
