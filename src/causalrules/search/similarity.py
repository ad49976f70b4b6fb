"""Overlap of the rows of rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from causalrules.search.core import Packed


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
        return cls(len(sets), lambda one, other: int(packed.count(sorted(sets[one] | sets[other]))[0].sum()))

    def within(self, one: int, other: int) -> bool:
        """Return whether the other rule covers all rows of this one, and more."""
        return self._sizes[one] < self._sizes[other] and self._both(one, other) == self._sizes[one]
