"""One search over several packed tables: the same rows and conditions, and for each set of columns its own strata.

It steps, saves and resumes as a search of one table does, so that all that runs a search runs this one. The tables are
searched one after the other, and what is known by then is the floor of the next, so that few rows need to be packed at
a time. Rules with the same rows are one rule, wherever they were found: that with the highest value, then the fewest
conditions, then the first by name.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules.exceptions import CausalRulesError
from causalrules.search.core import Packed, Search, Status

# Packed tables are kept for the next time while they take no more bytes than this.
_MOST_KEPT = 2**29
# The core compares values to 2⁻³⁶; a floor this much lower keeps all ties.
_TIED = 2.0**-40
# Counts are remembered for this many rules.
_MOST_COUNTED = 10_000

Rule = tuple[float, tuple[int, ...]]


class PackedParts(Packed):
    """Several packed tables of the same rows; the conditions of a rule tell which it belongs to.

    Parameters
    ----------
    pack
        Packs the rows of a table by its number; None for all rows in one table.
    number
        The number of the table that a rule belongs to.
    order
        The numbers of the tables, in the order in which they are searched.
    size
        Bytes that a packed table takes at most.
    """

    def __init__(
        self,
        pack: Callable[[int | None], Packed],
        number: Callable[[Iterable[int]], int],
        order: Sequence[int],
        size: int,
    ) -> None:
        self.order, self.number = tuple(order), number
        self._pack = pack
        self._most = max(1, _MOST_KEPT // max(1, size))
        self._kept: dict[int, Packed] = {}
        self._counts: dict[tuple[int, ...], tuple[NDArray[np.int64], NDArray[np.int64]]] = {}

    @cached_property
    def _whole(self) -> Packed:
        """All columns of all rows, whatever their strata."""
        return self._pack(None)

    @property
    def n_strata(self) -> int:  # type: ignore[override]
        """The number of strata of all rows in one table."""
        return self._whole.n_strata

    @property
    def levels(self) -> NDArray[np.float64]:  # type: ignore[override]
        """The values of the target's levels, lowest first."""
        return self._whole.levels

    def table(self, number: int) -> Packed:
        """Return a packed table by its number."""
        if number not in self._kept:
            if len(self._kept) >= self._most:
                self._kept.clear()
            self._kept[number] = self._pack(number)
        return self._kept[number]

    def part(self, conditions: Sequence[int]) -> Packed:
        """Return the table that a rule belongs to."""
        return self.table(self.number(conditions))

    def count(self, conditions: Sequence[int] = ()) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows that satisfy all the conditions, and rows on which they fail, whatever their strata."""
        return self._whole.count(conditions)

    def search(self, **options: Any) -> Search:
        """A search over all tables, with the options of `NativeSearch`."""
        return _Best(self, options)

    def are_same(self, one: Sequence[int], other: Sequence[int]) -> bool:
        """Return whether two rules hold on the same rows and fail on the same."""
        counts = [self._counted(one), self._counted(other)]
        if all(np.array_equal(counts[0][side], counts[1][side]) for side in (0, 1)):
            both = self.count(sorted({*one, *other}))
            return all(np.array_equal(counts[0][side], both[side]) for side in (0, 1))
        return False

    def _counted(self, conditions: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count, and remember it: the same rules are compared again and again."""
        key = tuple(conditions)
        if key not in self._counts:
            if len(self._counts) >= _MOST_COUNTED:
                self._counts.clear()
            self._counts[key] = self.count(key)
        return self._counts[key]


def _place(rule: Rule) -> tuple[float, int, tuple[int, ...]]:
    """Return what orders rules: the value, then fewer conditions, then their names."""
    return -rule[0], len(rule[1]), rule[1]


class _Best:
    """The k best rules of all tables, searched one after the other."""

    patience = 0.1

    def __init__(self, tables: PackedParts, options: dict[str, Any]) -> None:
        self._tables, self._options = tables, options
        self._k: int = options["k"]
        # The k best rules of the tables that have been searched.
        self._listed: list[Rule] = []
        self._remaining = list(tables.order)
        # The highest bound that only alpha left out, and the nodes of finished searches.
        self._left_out, self._nodes = -math.inf, 0
        # The search of the first table that remains, and its floor.
        self._floor = -math.inf
        self._current: Search | None = None
        self._current_nodes = 0

    def _begun(self) -> Search:
        """Return a search of the first table that remains."""
        return self._tables.table(self._remaining[0]).search(**{**self._options, "floor": self._floor})

    def step(self, seconds: float, threads: int) -> Status:
        """Go on for about this long."""
        end = time.perf_counter() + seconds
        while self._remaining:
            if self._current is None:
                floor: float = self._options.get("floor", -math.inf)
                kth = self._kth(self._listed)
                self._floor = floor if kth is None else max(floor, kth - _TIED)
                self._current = self._begun()
            status = self._current.step(max(0.0, end - time.perf_counter()), threads)
            self._current_nodes, unexplored = status.nodes, status.unexplored
            if status.done:
                self._left_out = max(self._left_out, -math.inf if unexplored is None else unexplored)
                self._nodes += status.nodes
                self._listed = self._merged(self._current.rules())
                self._current, self._current_nodes = None, 0
                del self._remaining[0]
            if time.perf_counter() >= end:
                return self._status(unexplored)
        return self._status(None)

    def _status(self, unexplored: float | None) -> Status:
        done = not self._remaining
        listed = self.rules()
        kth = self._kth(listed)
        most = max(self._left_out, -math.inf if unexplored is None else unexplored)
        if len(self._remaining) > (self._current is not None):
            most = math.inf  # nothing is known of a table before its search
        elif done and listed and most <= listed[-1][0]:
            most = -math.inf
        return Status(
            done=done,
            n_rules=len(listed),
            best=listed[0][0] if listed else None,
            kth=kth,
            unexplored=None if most == -math.inf else most,
            nodes=self._nodes + self._current_nodes,
            open=len(self._remaining),
        )

    def _kth(self, listed: Sequence[Rule]) -> float | None:
        return listed[self._k - 1][0] if len(listed) >= self._k else None

    def rules(self) -> list[Rule]:
        """The best rules so far, best first: value and conditions."""
        return self._listed if self._current is None else self._merged(self._current.rules())

    def _merged(self, rules: Sequence[Rule]) -> list[Rule]:
        """Return the best of these rules and of those listed; of rules with the same rows the first."""
        merged = list(self._listed)
        for rule in rules:
            same = next((place for place, each in enumerate(merged) if self._tables.are_same(each[1], rule[1])), None)
            if same is None:
                merged.append(rule)
            elif _place(rule) < _place(merged[same]):
                merged[same] = rule
        return sorted(merged, key=_place)[: self._k]

    def save(self) -> NDArray[np.uint64]:
        """What is needed to go on later, between steps."""
        is_under_way = self._current is not None
        numbers = [len(self._remaining), is_under_way, self._floor, self._left_out, self._nodes]
        saved = np.array([*numbers, *_written(self._listed)], np.float64).view(np.uint64)
        current = [] if self._current is None else [self._current.save()]
        return np.concatenate([[np.uint64(len(saved))], saved, *current])

    def restore(self, numbers: NDArray[np.uint64]) -> None:
        """Go back to what a search of the same tables with the same options has saved, before the first step."""
        n_saved = int(numbers[0]) if len(numbers) else 0
        if not 0 < n_saved < len(numbers):
            raise CausalRulesError("the checkpoint is truncated")
        read = _Reader(numbers[1 : 1 + n_saved].view(np.float64).tolist())
        n_remaining, is_under_way = read.whole(), read.whole()
        order = self._tables.order
        if n_remaining > len(order) or (is_under_way and not n_remaining):
            raise CausalRulesError(f"there are {len(order)} tables, not {n_remaining}")
        self._remaining = list(order[len(order) - n_remaining :])
        self._floor, self._left_out, self._nodes = read.number(), read.number(), read.whole()
        self._listed = read.rules()
        if is_under_way:
            self._current = self._begun()
            self._current.restore(np.ascontiguousarray(numbers[1 + n_saved :]))


def _written(rules: Sequence[Rule]) -> list[float]:
    numbers: list[float] = [len(rules)]
    for value, conditions in rules:
        numbers += [value, len(conditions), *conditions]
    return numbers


class _Reader:
    """Numbers that were saved, which may be anything."""

    def __init__(self, numbers: Sequence[float]) -> None:
        self._numbers, self._place = numbers, 0

    def number(self) -> float:
        """Return the next number."""
        if self._place >= len(self._numbers):
            raise CausalRulesError("the checkpoint is truncated")
        self._place += 1
        return self._numbers[self._place - 1]

    def whole(self) -> int:
        """Return the next number, which is a count."""
        number = self.number()
        if not (math.isfinite(number) and number >= 0 and number == int(number)):
            raise CausalRulesError(f"{number} is no count")
        return int(number)

    def rules(self) -> list[Rule]:
        """Return the next list of rules."""
        return [(self.number(), tuple(self.whole() for _ in range(self.whole()))) for _ in range(self.whole())]
