"""How many rows rules share, and lists without near-duplicates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from causalrules.options import Number
from causalrules.question import MOST_RULES, Question

if TYPE_CHECKING:
    from causalrules.search.core import Packed
    from causalrules.search.deadline import Deadline
    from causalrules.search.run import Found

# Ideas are looked for in lists of up to this many times k rules.
_MAX_FACTOR = 256
SIMILARITY = Number(least=0, most=1, above=True)


def jaccard(both: float, one: float, other: float) -> float:
    """Return the Jaccard similarity of two sets of rows, from their sizes and that of their intersection.

    >>> jaccard(both=2, one=3, other=3)
    0.5
    """
    either = one + other - both
    return float(both / either) if either else 1.0


class Coverage:
    """Sizes of the intersections of the rows that rules cover."""

    def __init__(self, size: int, both: Callable[[int, int], int]) -> None:
        self._both = both
        self._sizes = [both(place, place) for place in range(size)]

    @classmethod
    def of_conditions(cls, packed: Packed, conditions: Sequence[Sequence[int]]) -> Coverage:
        """Count the rows that satisfy the conditions of both rules, in the core."""
        sets = [set(each) for each in conditions]
        return cls(
            len(sets),
            lambda one, other: int(packed.count(sorted(sets[one] | sets[other]))[0].sum()),
        )

    def shared(self, one: int, other: int) -> float:
        """Return the Jaccard similarity of two rules."""
        return jaccard(self._both(one, other), self._sizes[one], self._sizes[other])

    def within(self, one: int, other: int) -> bool:
        """Return whether the other rule covers all rows of this one and more."""
        return self._sizes[one] < self._sizes[other] and self._both(one, other) == self._sizes[one]

    def groups(self, similarity: float) -> Mapping[int, Sequence[tuple[int, float]]]:
        """Return the place of each leader, with the places and similarities of its near-duplicates."""
        variants: dict[int, list[tuple[int, float]]] = {}
        for place in range(len(self._sizes)):
            for leader, others in variants.items():
                shared = self.shared(leader, place)
                if shared >= similarity:
                    others.append((place, shared))
                    break
            else:
                variants[place] = []
        return variants


@dataclass(frozen=True)
class Ideas:
    """The places of distinct rules in a list of the best `length`; `exhausted` if there is no longer list."""

    listed: Found
    places: tuple[int, ...]
    length: int
    exhausted: bool

    @property
    def found(self) -> Found:
        """The search result with the distinct rules only."""
        return replace(self.listed, rules=tuple(self.listed.rules[place] for place in self.places))


def look_for_ideas(
    packed: Packed,
    question: Question,
    similarity: float,
    run: Callable[[Question], Found],
    deadline: Deadline,
) -> Ideas:
    """Search for longer and longer lists until k rules are not near-duplicates of better ones.

    The result is exact if the search is proven optimal: leaders do not change when more rules follow.
    """
    length, longest = question.k, min(question.k * _MAX_FACTOR, MOST_RULES)
    proven: Ideas | None = None
    while True:
        found = run(replace(question, k=length, time_limit=deadline.left()))
        coverage = Coverage.of_conditions(packed, [conditions for _, conditions in found.rules])
        places = tuple(coverage.groups(similarity))[: question.k]
        if found.stopped != "optimal" and proven is not None and len(places) <= len(proven.places):
            # Stopped early without more rules: return the proven list.
            return proven
        ideas = Ideas(found, places, length, len(found.rules) < length or found.stopped != "optimal")
        if len(places) == question.k or ideas.exhausted or length == longest or deadline.passed:
            return ideas
        proven = ideas
        length = min(4 * length, longest)
