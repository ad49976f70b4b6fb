"""Packed rows in remote parts: the answers of a part, and a search that queries all parts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causalrules._core import ffi, lib
from causalrules.exceptions import CausalRulesError
from causalrules.search.border import BINARY, as_array, checked_levels, failure, is_unknown, pointer
from causalrules.search.core import NativeSearch, Packed, PackedTable, own
from causalrules.waiting import interruptible


class Part:
    """Packed rows that are one of several parts, each with a different salt."""

    def __init__(self, table: PackedTable, salt: int) -> None:
        part = lib.cr_part_new(table._handle, salt)
        if not part:
            raise failure()
        self._handle = ffi.gc(part, lib.cr_part_free)

    def answer(self, question: NDArray[np.uint32], length: int) -> NDArray[np.uint64]:
        """Answer a counting query."""
        answer = np.zeros(length, np.uint64)
        asked = as_array(question, np.uint32)
        if lib.cr_part_answer(
            self._handle, pointer("uint32_t *", asked), len(asked), pointer("uint64_t *", answer), length
        ):
            raise failure()
        return answer


Ask: TypeAlias = "Callable[[NDArray[np.uint32], int], NDArray[np.uint64]]"
_COUNTS, _REFERENCE = 1, 8


class RemoteTable(Packed):
    """Remote packed rows: `ask` takes a question and the length of its answer, from any thread.

    `interrupt` is called when the user interrupts the search. `levels`, `missing` and `reference` must match the parts.
    """

    def __init__(
        self,
        ask: Ask,
        column_index: ArrayLike,
        low: ArrayLike,
        high: ArrayLike,
        n_strata: int,
        threads: int,
        interrupt: Callable[[], None] = lambda: None,
        *,
        levels: ArrayLike = BINARY,
        missing: str = "false",
        reference: bool = False,
    ) -> None:
        self.n_strata, self.threads, self.interrupt = n_strata, threads, interrupt
        self.levels = checked_levels(levels)
        self.sides = 2 if reference else int(is_unknown(missing))
        self.propositions = as_array(column_index, np.uint32), as_array(low, np.int32), as_array(high, np.int32)
        self.failure: BaseException | None = None
        self._all: NDArray[np.int64] | None = None
        self._reference: NDArray[np.int64] | None = None
        self._ask = ask
        # Keep a reference: the core calls it during the search.
        self.callback = ffi.callback("int32_t(void *, const uint32_t *, size_t, uint64_t *, size_t)", self._answer)

    def _answer(self, context: Any, question: Any, n: int, answer: Any, length: int) -> int:
        try:
            asked = np.frombuffer(ffi.buffer(question, 4 * n), np.uint32).copy()
            found = self._checked(self._ask(asked, length), length)
            ffi.memmove(answer, found, 8 * length)
        except BaseException as error:  # no exception may reach the core
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
        """The reference rows, by stratum and level; None if there are none."""
        if self.sides != 2:
            return None
        if self._reference is not None:
            return self._reference
        answer = self._checked(self._ask(np.array([_REFERENCE], np.uint32), self.n_cells), self.n_cells)
        self._reference = answer.astype(np.int64).reshape(self.n_strata, -1)
        return self._reference

    def _counted(self, conditions: Sequence[int]) -> NDArray[np.int64]:
        """Count the rows that satisfy all conditions and, if missing values are unknown, the rows that may.

        With reference rows, the last number is above 0 if the conditions do not exclude them.
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

    @cached_property
    def rows(self) -> Any:
        """The rows as the core asks for them."""
        every = as_array(self.all_rows().ravel(), np.uint64)
        found = self.reference_rows()
        reference = None if found is None else as_array(found.ravel(), np.uint64)
        columns, low, high = self.propositions
        return own(
            lib.cr_rows_new_remote(
                self.n_cells,
                len(self.levels),
                pointer("uint64_t *", every),
                self.sides,
                pointer("uint64_t *", reference),
                len(columns),
                pointer("uint32_t *", columns),
                pointer("int32_t *", low),
                pointer("int32_t *", high),
                self.callback,
                ffi.NULL,
            ),
            lib.cr_rows_free,
        )

    def search(self, **options: Any) -> NativeSearch:
        """A search over these rows, with the options of `NativeSearch`."""
        return RemoteSearch(self, self, **options)


def _numbers(answer: Any) -> NDArray[np.uint64]:
    """Return the answer of a worker, which is untrusted, as an array of numbers."""
    numbers = np.asarray(answer)
    if numbers.dtype != np.uint64 or numbers.ndim != 1:
        raise CausalRulesError(f"an answer must be a list of unsigned numbers, not {numbers.dtype} {numbers.shape}")
    return as_array(numbers, np.uint64)


def put_together(question: NDArray[np.uint32], answers: Iterable[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Combine the answers of the parts."""
    parts = [_numbers(answer) for answer in answers]
    if not parts or not len(question):
        raise CausalRulesError("no part has answered" if len(question) else "an empty question")
    if len(lengths := {len(part) for part in parts}) != 1:
        raise CausalRulesError(f"the parts' answers have {', '.join(map(str, sorted(lengths)))} numbers")
    total = parts[0].copy()
    for more in parts[1:]:
        if lib.cr_put_together(int(question[0]), pointer("uint64_t *", total), pointer("uint64_t *", more), len(total)):
            raise failure()
    return total


class RemoteSearch(NativeSearch):
    """A search of remote rows.

    Its calls wait for answers in separate threads, so that the caller's thread can be interrupted.
    """

    patience = 2.0

    def __init__(self, packed: Packed, first: RemoteTable, **options: Any) -> None:
        self._calling, self._first = threading.Lock(), first
        # Keep references: the core queries them during the search.
        self._asked = [first]
        super().__init__(packed, **options)

    def _source(self, number: int) -> tuple[Any, Any]:
        """Return one of the tables for the core, and the objects to keep alive with it."""
        made, kept = super()._source(number)
        if isinstance(kept[0], RemoteTable):
            self._asked.append(kept[0])
        return made, kept

    def _call(self, call: Callable[[], Any]) -> Any:
        """Make the call in another thread; an interrupt is raised after it has ended."""

        def alone() -> Any:
            # A call that was abandoned may still be running.
            with self._calling:
                return call()

        try:
            return interruptible(alone, self._first.interrupt)
        except BaseException as error:
            failures = (table.failure for table in self._asked)
            raise next((failure for failure in failures if failure is not None), error) from None

    def _step(self, seconds: float, threads: int) -> Any:
        """Search for about this long, with as many threads as the rows need: they wait for answers."""
        return super()._step(seconds, self._first.threads)
