"""One search over several packed tables: the same rows and conditions, and for each set of columns its own strata.

It steps, saves and goes on as a search of one table does, so that all that runs a search runs this one. The tables are
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
from causalrules.search.similarity import Coverage, jaccard

# Packed tables are kept for the next time while they take no more bytes than this.
_MOST_KEPT = 2**29
# The core compares values to 2⁻³⁶; a floor this much lower keeps all ties.
_TIED = 2.0**-40
# Counts are remembered for so many rules and pairs of rules.
_MOST_COUNTED = 10_000

Rule = tuple[float, tuple[int, ...]]


class PackedParts(Packed):
    """Several packed tables of the same rows; the conditions of a rule tell which it belongs to.

    Parameters
    ----------
    pack
        Packs the rows of a table by its number, with these columns beside its own; None for all rows in one table.
    pack_conditions
        Packs these conditions alone, for each table that has rules of them.
    number
        The number of the table that a rule belongs to.
    order
        The numbers of the tables, in the order in which they are searched.
    columns
        The column of each condition.
    size
        Bytes that a packed table takes at most.
    """

    def __init__(
        self,
        pack: Callable[[int | None, frozenset[int]], Packed],
        pack_conditions: Callable[[Sequence[int]], Iterable[Packed]],
        number: Callable[[Iterable[int]], int],
        order: Sequence[int],
        columns: Sequence[int],
        size: int,
    ) -> None:
        self.order, self.number = tuple(order), number
        self._pack, self._pack_conditions, self._columns = pack, pack_conditions, columns
        self._most = max(1, _MOST_KEPT // max(1, size))
        self._kept: dict[tuple[int, frozenset[int]], Packed] = {}
        self._shared: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}
        self._counts: dict[tuple[int, ...], tuple[NDArray[np.int64], NDArray[np.int64]]] = {}

    @cached_property
    def _whole(self) -> Packed:
        """All columns of all rows, whatever their strata."""
        return self._pack(None, frozenset())

    @property
    def n_strata(self) -> int:  # type: ignore[override]
        """The number of strata of all rows in one table."""
        return self._whole.n_strata

    @property
    def levels(self) -> NDArray[np.float64]:  # type: ignore[override]
        """The values of the target's levels, lowest first."""
        return self._whole.levels

    def table(self, number: int, others: Iterable[Sequence[int]] = ()) -> Packed:
        """Return a packed table in which also these rules can be counted."""
        key = number, frozenset(self._columns[condition] for rule in others for condition in rule)
        if key not in self._kept:
            if len(self._kept) >= self._most:
                self._kept.clear()
            self._kept[key] = self._pack(*key)
        return self._kept[key]

    def part(self, conditions: Sequence[int]) -> Packed:
        """Return the table that a rule belongs to."""
        return self.table(self.number(conditions))

    def count(self, conditions: Sequence[int] = ()) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows that satisfy all the conditions, and rows on which they fail, whatever their strata."""
        return self._whole.count(conditions)

    def search(self, **options: Any) -> Search:
        """A search over all tables, with the options of `NativeSearch`."""
        wanted = options.get("wanted", "any")
        if not options.get("redundant", True) and wanted == "any":
            return _Irredundant(self, options)
        return _Different(self, options) if wanted == "different" else _Best(self, options)

    def are_same(self, one: Sequence[int], other: Sequence[int]) -> bool:
        """Return whether two rules hold on the same rows and fail on the same."""
        counts = [self._counted(one), self._counted(other)]
        if all(np.array_equal(counts[0][side], counts[1][side]) for side in (0, 1)):
            both = self.count(sorted({*one, *other}))
            return all(np.array_equal(counts[0][side], both[side]) for side in (0, 1))
        return False

    def n_covered(self, conditions: Sequence[int]) -> int:
        """Return the number of rows that a rule covers."""
        return int(self._counted(conditions)[0].sum())

    def _counted(self, conditions: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count, and remember it: the same rules are compared again and again."""
        key = tuple(conditions)
        if key not in self._counts:
            if len(self._counts) >= _MOST_COUNTED:
                self._counts.clear()
            self._counts[key] = self.count(key)
        return self._counts[key]

    def is_redundant(self, rule: Rule, options: dict[str, Any]) -> bool:
        """Return whether a rule covers all rows of this one and more, and is worth at least as much."""
        value, conditions = rule
        own = self.count(conditions)
        implied = [
            each
            for each in range(len(self._columns))
            if all(np.array_equal(*sides) for sides in zip(own, self.count((*conditions, each)), strict=True))
        ]
        # One of two may be the rule itself.
        asked = {**options, "k": 2, "floor": value - _TIED, "wanted": "any", "redundant": True, "leaders": ()}
        for table in self._pack_conditions(implied):
            search = table.search(**asked)
            while not search.step(search.patience, 1).done:
                pass
            if any(not self.are_same(conditions, found) for _, found in search.rules()):
                return True
        return False

    def resemble(self, one: Rule, other: Rule, similarity: float) -> bool:
        """Return whether two rules share so many of their rows."""
        pair = min(one[1], other[1]), max(one[1], other[1])
        if pair not in self._shared:
            if len(self._shared) >= _MOST_COUNTED:
                self._shared.clear()
            both = int(self.count(sorted({*one[1], *other[1]}))[0].sum())
            self._shared[pair] = jaccard(both, self.n_covered(one[1]), self.n_covered(other[1]))
        return self._shared[pair] >= similarity

    def coverage(self, rules: Sequence[Rule]) -> Coverage:
        """Return what these rules have in common."""
        return Coverage.of_conditions(self, [conditions for _, conditions in rules])


def _place(rule: Rule) -> tuple[float, int, tuple[int, ...]]:
    """Return what orders rules: the value, then fewer conditions, then their names."""
    return -rule[0], len(rule[1]), rule[1]


class _Parts:
    """A search of one table after the other.

    `_next` says which table comes next and from which value on, and `_take` what to do with the rules of a table that
    has been searched.
    """

    patience = 0.1

    def __init__(self, tables: PackedParts, options: dict[str, Any]) -> None:
        self._tables, self._options = tables, options
        self._k: int = options["k"]
        # The k best rules so far, or the first rules of a list.
        self._listed: list[Rule] = []
        # No rule of a table that is not listed is above its bound.
        self._bound = dict.fromkeys(tables.order, math.inf)
        # What only alpha left out, and the nodes of searches that are over.
        self._left, self._nodes = -math.inf, 0
        self._number: int | None = None
        self._floor = -math.inf
        self._current: Search | None = None
        self._current_nodes = 0

    def _next(self) -> tuple[int, float] | None:
        """Return the next table and the least value of interest, or None at the end."""
        raise NotImplementedError

    def _take(self, number: int, rules: Sequence[Rule]) -> None:
        """Take up the rules of a table, above the floor of its search."""
        raise NotImplementedError

    def _begun(self, number: int, floor: float) -> Search:
        """Return a search of one table."""
        leaders = self._options.get("leaders", ())
        asked = {**self._options, "redundant": True, "floor": floor, "k": self._k}
        return self._tables.table(number, leaders).search(**asked)

    def step(self, seconds: float, threads: int) -> Status:
        """Go on for about this long."""
        end = time.perf_counter() + seconds
        unexplored: float | None = math.inf
        while True:
            if self._current is None:
                following = self._next()
                if following is None:
                    return self._status(None)
                self._number, self._floor = following
                self._current = self._begun(self._number, self._floor)
            assert self._number is not None, "it is searched"
            status = self._current.step(max(0.0, end - time.perf_counter()), threads)
            self._current_nodes, unexplored = status.nodes, status.unexplored
            if status.done:
                self._left = max(self._left, -math.inf if unexplored is None else unexplored)
                self._nodes += status.nodes
                self._bound[self._number] = -math.inf
                self._take(self._number, self._current.rules())
                self._number = self._current = None
                self._current_nodes = 0
            if time.perf_counter() >= end:
                return self._status(unexplored)

    def _status(self, unexplored: float | None) -> Status:
        done = self._current is None and self._next() is None
        listed = self.rules()
        kth = self._kth(listed)
        reached = max(listed[-1][0] if listed else -math.inf, -math.inf if kth is None else kth)
        ahead = [each for number, each in self._bound.items() if number != self._number]
        open_to = [self._left] if done else [self._left, *ahead, -math.inf if unexplored is None else unexplored]
        most = max(open_to)
        return Status(
            done=done,
            n_rules=len(listed),
            best=listed[0][0] if listed else None,
            kth=kth,
            unexplored=None if (most == -math.inf or (done and most <= reached)) else most,
            nodes=self._nodes + self._current_nodes,
            open=sum(each > -math.inf for each in self._bound.values()),
        )

    def _kth(self, listed: Sequence[Rule]) -> float | None:
        return listed[self._k - 1][0] if len(listed) >= self._k else None

    def rules(self) -> list[Rule]:
        """The best rules so far, best first: value and conditions."""
        raise NotImplementedError

    def save(self) -> NDArray[np.uint64]:
        """What is needed to go on later, between steps."""
        numbers: list[Any] = [self._k, self._nodes, self._left]
        numbers += [-1 if self._number is None else self._number, self._floor]
        numbers += self._bound.values()
        numbers += [len(self._state()), *(each for rules in self._state() for each in _written(rules))]
        saved = np.array(numbers, np.float64).view(np.uint64)
        if self._current is None:
            return np.concatenate([[np.uint64(len(saved))], saved])
        return np.concatenate([[np.uint64(len(saved))], saved, self._current.save()])

    def restore(self, numbers: NDArray[np.uint64]) -> None:
        """Go back to what a search of the same tables with the same options has saved, before the first step."""
        n_saved = int(numbers[0]) if len(numbers) else 0
        if not 0 < n_saved < len(numbers):
            raise CausalRulesError("it ends too early")
        read = _Reader(numbers[1 : 1 + n_saved].view(np.float64).tolist())
        self._k, self._nodes, self._left = read.whole(), read.whole(), read.number()
        number, self._floor = read.whole(least=-1), read.number()
        self._bound = {each: read.number() for each in self._bound}
        self._set_state([read.rules() for _ in range(read.whole())])
        if number == -1:
            return
        if number not in self._bound:
            raise CausalRulesError(f"there is no table {number}")
        self._number, self._current = number, self._begun(number, self._floor)
        self._current.restore(np.ascontiguousarray(numbers[1 + n_saved :]))

    def _state(self) -> list[list[Rule]]:
        return [self._listed]

    def _set_state(self, state: list[list[Rule]]) -> None:
        [self._listed] = _exactly(1, state)


class _Best(_Parts):
    """The k best rules of all tables, or the front: the best rule of each coverage."""

    def _next(self) -> tuple[int, float] | None:
        number = next((each for each in self._tables.order if self._bound[each] > -math.inf), None)
        if number is None:
            return None
        # A rule of the front may be worth less than all found so far.
        kth = None if self._options.get("wanted") == "wider" else self._kth(self._listed)
        floor: float = self._options.get("floor", -math.inf)
        return number, floor if kth is None else max(floor, kth - _TIED)

    def _take(self, number: int, rules: Sequence[Rule]) -> None:
        self._listed = self._merged(self._listed, rules)

    def _merged(self, listed: Sequence[Rule], rules: Sequence[Rule]) -> list[Rule]:
        if self._options.get("wanted") == "wider":
            return self._front(sorted([*listed, *rules], key=_place))
        merged = list(listed)
        for rule in rules:
            same = next((place for place, each in enumerate(merged) if self._tables.are_same(each[1], rule[1])), None)
            if same is None:
                merged.append(rule)
            elif _place(rule) < _place(merged[same]):
                merged[same] = rule
        return sorted(merged, key=_place)[: self._k]

    def _front(self, rules: Sequence[Rule]) -> list[Rule]:
        """Return those that cover more rows than all before them; but for the first, none at or below 0."""
        found: list[Rule] = []
        widest = -1
        for rule in rules:
            n_covered = self._tables.n_covered(rule[1])
            if n_covered > widest and (not found or rule[0] > 0):
                found.append(rule)
                widest = n_covered
        return found[: self._k]

    def rules(self) -> list[Rule]:
        """The best rules so far, best first: value and conditions."""
        return self._listed if self._current is None else self._merged(self._listed, self._current.rules())


class _Different(_Parts):
    """A list of different rules, each the best of all tables that resembles none before it.

    Every table is asked for its next rule, and asked again when that is listed, or resembles one that is. A table that
    has none from some value on is asked again only if the list comes down to that value. A rule that would be listed
    but is redundant, where that matters, is left out.
    """

    def __init__(self, tables: PackedParts, options: dict[str, Any]) -> None:
        super().__init__(tables, options)
        self._waiting: dict[int, Rule] = {}
        self._left_out: list[Rule] = []

    @property
    def _leaders(self) -> list[Sequence[int]]:
        return [*self._options.get("leaders", ()), *(conditions for _, conditions in self._listed)]

    def _begun(self, number: int, floor: float) -> Search:
        left_out = [conditions for _, conditions in self._left_out]
        leaders = [*left_out, *self._leaders]
        asked = {**self._options, "k": 1, "floor": floor, "redundant": True}
        asked |= {"leaders": leaders, "n_left_out": len(left_out)}
        return self._tables.table(number, leaders).search(**asked)

    def _next(self) -> tuple[int, float] | None:
        while len(self._listed) < self._k and not (self._listed and self._listed[-1][0] <= 0):
            best = min(self._waiting, key=lambda number: _place(self._waiting[number]), default=None)
            value = -math.inf if best is None else self._waiting[best][0] - _TIED
            to_ask = [each for each in self._tables.order if self._bound[each] > max(value, self._least)]
            if to_ask:
                # What is below the last rule of the list, as far as it is known, will hardly be needed.
                known = self.rules()
                likely = known[self._k - 1][0] - _TIED if len(known) >= self._k else -math.inf
                first = max(to_ask, key=self._bound.__getitem__)
                return first, max(min(likely, value), self._least)
            if best is None or (self._listed and value <= 0):
                return None
            if not self._options.get("redundant", True) and self._tables.is_redundant(
                self._waiting[best], self._options
            ):
                self._left_out.append(self._waiting.pop(best))
                self._bound[best] = self._left_out[-1][0]
            else:
                self._list(best)
        return None

    @property
    def _least(self) -> float:
        floor: float = self._options.get("floor", -math.inf)
        return max(floor, 0.0) if self._listed else floor

    def _list(self, number: int) -> None:
        self._listed.append(self._waiting.pop(number))
        shared = self._options["similarity"]
        again = [number]
        for other, rule in list(self._waiting.items()):
            if self._tables.resemble(self._listed[-1], rule, shared):
                del self._waiting[other]
                again.append(other)
        for each in again:
            # Nothing else of the table is above what it had; it is asked from there on down.
            self._bound[each] = self._listed[-1][0]

    def _take(self, number: int, rules: Sequence[Rule]) -> None:
        if rules:
            self._waiting[number] = rules[0]
        elif self._floor > self._least:
            self._bound[number] = self._floor

    def _kth(self, listed: Sequence[Rule]) -> float | None:
        return None if self._current is not None or not listed else listed[-1][0]

    def rules(self) -> list[Rule]:
        """The best rules so far, best first: value and conditions."""
        found = list(self._listed)
        current = [] if self._current is None else self._current.rules()[:1]
        for rule in sorted([*self._waiting.values(), *current], key=_place):
            if len(found) >= self._k or (found and rule[0] <= 0):
                break
            if not any(self._tables.resemble(rule, other, self._options["similarity"]) for other in found):
                found.append(rule)
        return found

    def _state(self) -> list[list[Rule]]:
        waiting = [[(float(number), ()), rule] for number, rule in self._waiting.items()]
        return [self._listed, self._left_out, *waiting]

    def _set_state(self, state: list[list[Rule]]) -> None:
        self._listed, self._left_out = _exactly(2, state[:2])
        waiting = state[2:]
        self._waiting = {}
        for pair in waiting:
            (number, _), rule = _exactly(2, pair)
            self._waiting[int(number)] = rule


class _Irredundant:
    """The k best rules that no more general one, on whatever columns, is worth at least as much as.

    Whatever makes a rule redundant is worth as much, and so comes before it in the list of the best rules. That is made
    longer and longer, until what is left of it is enough.
    """

    patience = 0.1

    def __init__(self, tables: PackedParts, options: dict[str, Any]) -> None:
        self._tables, self._options = tables, options
        self._k: int = options["k"]
        self._before = 0
        self._begin(4 * self._k)

    def _begin(self, length: int) -> None:
        self._search = _Best(self._tables, {**self._options, "k": length, "wanted": "any"})
        self._length = length

    def step(self, seconds: float, threads: int) -> Status:
        """Go on for about this long."""
        end = time.perf_counter() + seconds
        while True:
            status = self._search.step(max(0.0, end - time.perf_counter()), threads)
            if not status.done or self._is_enough():
                break
            self._before += status.nodes
            self._begin(4 * self._length)
            if time.perf_counter() >= end:
                status = self._search.step(0.0, threads)
                break
        rules = self.rules() if status.done else self._search.rules()[:1]
        return Status(
            done=status.done,
            n_rules=len(rules),
            best=rules[0][0] if rules else None,
            kth=rules[-1][0] if rules and status.done else None,
            unexplored=status.unexplored,
            nodes=self._before + status.nodes,
            open=status.open,
        )

    def _is_enough(self) -> bool:
        rules = self._search.rules()
        if len(rules) < self._length:
            return True
        # What makes a rule redundant may tie with it, and have been left out at the end of the list.
        chosen = self._chosen([rule for rule in rules if rule[0] > rules[-1][0]])
        return len(chosen) >= self._k

    def rules(self) -> list[Rule]:
        """The best rules so far, best first: value and conditions."""
        return self._chosen(self._search.rules())

    def _chosen(self, rules: Sequence[Rule]) -> list[Rule]:
        coverage = self._tables.coverage(rules)
        found: list[int] = []
        for place, (value, _) in enumerate(rules):
            if len(found) >= self._k:
                break
            tied = [other for other, rule in enumerate(rules) if rule[0] == value]
            if not any(coverage.within(place, other) for other in (*found, *tied)):
                found.append(place)
        return [rules[place] for place in found]

    def save(self) -> NDArray[np.uint64]:
        """What is needed to go on later, between steps."""
        return np.concatenate([np.array([self._length, self._before], np.uint64), self._search.save()])

    def restore(self, numbers: NDArray[np.uint64]) -> None:
        """Go back to what a search of the same tables with the same options has saved, before the first step."""
        if len(numbers) < 2:
            raise CausalRulesError("it ends too early")
        self._begin(int(numbers[0]))
        self._before = int(numbers[1])
        self._search.restore(numbers[2:])


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
            raise CausalRulesError("it ends too early")
        self._place += 1
        return self._numbers[self._place - 1]

    def whole(self, least: int = 0) -> int:
        """Return the next number, which is a whole one."""
        number = self.number()
        if not (math.isfinite(number) and number >= least and number == int(number)):
            raise CausalRulesError(f"{number} is not what it counts")
        return int(number)

    def rules(self) -> list[Rule]:
        """Return the next list of rules."""
        return [(self.number(), tuple(self.whole() for _ in range(self.whole()))) for _ in range(self.whole())]


def _exactly(length: int, items: list[Any]) -> list[Any]:
    if len(items) != length:
        raise CausalRulesError(f"it has {len(items)} lists, not {length}")
    return items
