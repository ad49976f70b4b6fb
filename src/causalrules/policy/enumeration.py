"""The best pair of a context and an action, found by trying all of them in the core, see `native/src/policy/`."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causalrules._core import ffi, lib
from causalrules.language.language import Language
from causalrules.search.border import as_array, failure, pointer
from causalrules.search.core import own
from causalrules.search.rows import satisfied
from causalrules.waiting import interruptible


@dataclass(frozen=True, eq=False)
class Conjunctions:
    """All conjunctions of at most `most` conditions of a language, on coded rows.

    They are on two columns, or on one whose interval both conditions narrow. `columns` are the codes of the rows, −1 if
    missing: no condition holds then.
    """

    language: Language
    columns: Sequence[NDArray[Any]]
    most: int = 2


@dataclass(frozen=True)
class Pair:
    """A context and an action, as indices of their conditions, with the conservative gain.

    Of pairs with the same gain that with fewer conditions comes first, then that with the lowest indices, those of the
    context before those of the action.
    """

    context: tuple[int, ...]
    action: tuple[int, ...]
    gain: float

    @property
    def order(self) -> tuple[Any, ...]:
        """The pair with the lowest order is the best."""
        return -self.gain, len(self.context) + len(self.action), self.context, self.action


@dataclass(frozen=True)
class Progress:
    """Progress of an enumeration: slots of contexts, pairs, and the best pair so far."""

    seconds: float
    n_done: int
    n_slots: int
    n_pairs: int
    best: Pair | None


@dataclass(frozen=True)
class Found:
    """The best pair, None if there is none above the floor.

    If it is not `optimal`, because the enumeration was stopped, there may be a better one, and nothing bounds its gain.
    `stopped` is "optimal", "time limit" or "interrupted".
    """

    best: Pair | None
    optimal: bool
    stopped: str
    n_pairs: int
    seconds: float


class Enumeration:
    """All pairs of a context and an action, on packed rows.

    A context may have no condition; an action has one or more. The conservative gain of a pair compares the rows of the
    context that have the action with those that have the default, within each stratum, and is valid for all pairs.

    Parameters
    ----------
    context, action
        The conjunctions to choose from.
    strata
        Stratum of each row; `variance` has as many entries as there are strata.
    weights
        Frequency weights, or None if each row counts once.
    outcome
        What is to be gained, in each row.
    default
        The rows that have the default; None if all have it, as with today's practice.
    variance
        Population variance of the outcome in each stratum of the whole table.
    n_total, range_
        Number of rows of the whole table, by weight, and the range of the outcome there.
    min_rows
        Minimum number of rows of a context, by weight.
    betas
        For each number of conditions of a context, from 0, β for each number of conditions of an action, from 0.
    """

    def __init__(
        self,
        context: Conjunctions,
        action: Conjunctions,
        strata: ArrayLike,
        weights: ArrayLike | None,
        outcome: ArrayLike,
        default: ArrayLike | None,
        *,
        variance: ArrayLike,
        n_total: int,
        range_: float,
        min_rows: int,
        betas: ArrayLike,
    ) -> None:
        self._action = action
        rows = as_array(strata, np.int32)
        optional = [
            (weights, np.uint64, "uint64_t *"),
            (outcome, np.float64, "double *"),
            (default, np.uint8, "uint8_t *"),
        ]
        arrays = [None if values is None else as_array(values, dtype) for values, dtype, _ in optional]
        sides = [_made(side) for side in (context, action)]
        lengths = {len(array) for array in arrays if array is not None} | {
            n for _, lengths, _ in sides for n in lengths
        }
        if lengths - {len(rows)}:
            raise ValueError(f"{len(rows)} rows have arrays of lengths {sorted(lengths)}")
        margins, variances = np.asarray(betas, np.float64), as_array(variance, np.float64)
        shape = context.most + 1, action.most + 1
        if margins.ndim != 2 or any(given < needed for given, needed in zip(margins.shape, shape, strict=True)):
            raise ValueError(f"betas must have {shape[0]} rows of {shape[1]} numbers, not the shape {margins.shape}")
        margins = as_array(margins[: shape[0], : shape[1]], np.float64)
        options = ffi.new("EnumerationOptions *")
        options.n_total, options.range, options.min_rows = n_total, range_, min_rows
        options.n_strata, options.variances = len(variances), pointer("double *", variances)
        options.betas = pointer("double *", margins)
        pointers = [pointer(kind, array) for (_, _, kind), array in zip(optional, arrays, strict=True)]
        made = [side for side, _, _ in sides]
        handle = lib.cr_enumeration_new(*made, len(rows), pointer("int32_t *", rows), *pointers, options)
        self._handle = own(handle, lib.cr_enumeration_free)
        del sides, arrays, variances, margins

    @property
    def n_slots(self) -> int:
        """Number of slots of contexts, the first without a condition; the work can be divided between them."""
        found = int(lib.cr_enumeration_slots(self._handle))
        if found < 0:
            raise failure()
        return found

    def best(
        self, first: int, last: int, floor: float = -math.inf, stop: Any = ffi.NULL
    ) -> tuple[Pair | None, int, bool]:
        """Return the best pair with a context of these slots, the number of pairs tried, and whether all of them were.

        Pairs whose gain is below the floor are no result. `stop` points to an `int32_t`; a call ends soon after it is
        set to 1.
        """
        found = ffi.new("BestPair *")
        if lib.cr_enumeration_best(self._handle, first, last, floor, stop, found):
            raise failure()
        context, action = tuple(found.context)[: found.n_context], tuple(found.action)[: found.n_action]
        pair = Pair(context, action, found.gain) if found.is_found else None
        return pair, int(found.n_pairs), not found.is_stopped

    def everybody(self, k: int) -> list[Pair]:
        """Return the k best actions for everybody, best first; of those with the same rows, the first."""
        gains, lengths, conditions = self._everybody()
        order = np.lexsort((*conditions.T[::-1], lengths, -gains))
        chosen: dict[bytes, Pair] = {}
        for place in order.tolist():
            if len(chosen) == k:
                break
            action = tuple(conditions[place, : lengths[place]].tolist())
            language, columns = self._action.language, self._action.columns
            covered, _ = satisfied(language, columns, action, len(columns[0]))
            chosen.setdefault(np.packbits(covered).tobytes(), Pair((), action, float(gains[place])))
        return list(chosen.values())

    def _everybody(self) -> tuple[NDArray[np.float64], NDArray[np.uintp], NDArray[np.uint32]]:
        n = 0
        while True:
            gains, lengths, conditions = np.zeros(n), np.zeros(n, np.uintp), np.zeros((n, 2), np.uint32)
            found = lib.cr_enumeration_everybody(
                self._handle,
                pointer("double *", gains),
                pointer("size_t *", lengths),
                pointer("uint32_t *", conditions),
                n,
            )
            if found < 0:
                raise failure()
            if found <= n:
                return gains[:found], lengths[:found], conditions[:found]
            n = found


def _made(side: Conjunctions) -> tuple[Any, set[int], Any]:
    """Return the conjunctions for the core, the lengths of their columns, and the objects to keep alive."""
    language = side.language
    columns = [as_array(column, np.int32) for column in side.columns]
    if len(columns) != len(language.columns):
        raise ValueError(f"{len(language.columns)} columns have codes in {len(columns)} arrays")
    index = as_array(language.column_index, np.uint32)
    low, high = as_array(language.low, np.int32), as_array(language.high, np.int32)
    each = ffi.new("int32_t *[]", [pointer("int32_t *", column) for column in columns])
    made = ffi.new("Conjunctions *")
    made.n_conditions, made.n_columns, made.most = len(index), len(columns), side.most
    made.columns, made.low, made.high = (
        pointer("uint32_t *", index),
        pointer("int32_t *", low),
        pointer("int32_t *", high),
    )
    made.codes = ffi.cast("const int32_t *const *", each)
    return made, {len(column) for column in columns}, (columns, index, low, high, each)


@dataclass
class _Work:
    """The slots that are left, for all threads, and what was found in the others."""

    enumeration: Enumeration
    n_slots: int
    best: Pair | None
    floor: float
    deadline: float
    stop: Any = field(default_factory=lambda: ffi.new("int32_t *"))
    next: int = 0
    n_done: int = 0
    n_pairs: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def end(self) -> None:
        self.stop[0] = 1

    def look(self) -> None:
        if time.perf_counter() >= self.deadline:
            self.end()

    def run(self, _: int = 0) -> None:
        """Try slot after slot, until none is left or the work is to end."""
        while True:
            self.look()
            with self.lock:
                slot, floor = self.next, self.floor if self.best is None else self.best.gain
                if slot >= self.n_slots or self.stop[0]:
                    return
                self.next += 1
            pair, n_pairs, is_done = self.enumeration.best(slot, slot + 1, floor, self.stop)
            with self.lock:
                self.n_done, self.n_pairs = self.n_done + is_done, self.n_pairs + n_pairs
                if pair is not None and (self.best is None or pair.order < self.best.order):
                    self.best = pair


def find_best(
    enumeration: Enumeration,
    *,
    threads: int = 1,
    floor: float = -math.inf,
    time_limit: float | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Found:
    """Return the best pair of all whose gain is at least `floor`; the same on any number of threads.

    `watch` is called about ten times a second. Ctrl-C and the time limit end the search with the best pair so far.
    """
    start = time.perf_counter()
    deadline = math.inf if time_limit is None else start + time_limit
    work = _Work(enumeration, enumeration.n_slots, None, floor, deadline)

    def progress() -> None:
        work.look()
        if watch is not None:
            watch(Progress(time.perf_counter() - start, work.n_done, work.n_slots, work.n_pairs, work.best))

    def on_threads() -> None:
        if threads == 1:
            work.run()
            return
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work.run, range(threads)))

    stopped = "time limit"
    try:
        interruptible(on_threads, work.end, progress)
    except KeyboardInterrupt:
        stopped = "interrupted"
    optimal = work.n_done == work.n_slots
    return Found(work.best, optimal, "optimal" if optimal else stopped, work.n_pairs, time.perf_counter() - start)
