"""A list worth reading: near-duplicates under their strongest rule, and which rules a more general one replaces."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from causalrules.exceptions import OptionError
from causalrules.propositions import Proposition

if TYPE_CHECKING:
    from causalrules.problem import Problem
    from causalrules.result import RuleResult, RuleSet

# A list of ideas is looked for in lists of rules up to this many times as long.
_FARTHEST = 256


@dataclass(frozen=True)
class Group:
    """The strongest rule of several that hold for nearly the same rows, and its variants, strongest first.

    `shared` says for each variant how much of the rows that it or the leader covers both cover.
    """

    leader: RuleResult
    variants: tuple[RuleResult, ...]
    shared: tuple[float, ...]


def groups(rules: RuleSet, similarity: float = 0.5, data: Any = None) -> tuple[Group, ...]:
    """Put each rule under the first stronger leader with which it shares `similarity` of their rows, or make it one.

    The rows are those that were searched; give `data` for a result that was read from a file.
    """
    if isinstance(similarity, bool) or not isinstance(similarity, (int, float)) or not 0 < similarity <= 1:
        raise OptionError(f"similarity = {similarity!r}: give a number above 0 and at most 1")
    coverage = _Coverage(rules, data)
    leaders: list[int] = []
    variants: dict[int, list[tuple[int, float]]] = {}
    for place in range(len(rules)):
        for leader in leaders:
            shared = coverage.shared(leader, place)
            if shared >= similarity:
                variants[leader].append((place, shared))
                break
        else:
            leaders.append(place)
            variants[place] = []
    return tuple(
        Group(
            rules[leader],
            tuple(rules[place] for place, _ in variants[leader]),
            tuple(shared for _, shared in variants[leader]),
        )
        for leader in leaders
    )


def shared_rows(rules: RuleSet, data: Any = None) -> NDArray[np.float64]:
    """For each two rules, how much of the rows that one of them covers both cover."""
    coverage = _Coverage(rules, data)
    matrix = np.ones((len(rules), len(rules)))
    for i in range(len(rules)):
        for j in range(i):
            matrix[i, j] = matrix[j, i] = coverage.shared(i, j)
    return matrix


def redundant(rules: RuleSet) -> tuple[bool, ...]:
    """For each rule, whether a more general rule in the list (all its rows and more) has at least its value.

    Where the rows are not at hand, a rule counts as more general only if the conditions alone show it.
    """
    places, values = range(len(rules)), [rule.value for rule in rules]
    if rules.problem is not None:
        within = _Coverage(rules, None).within
    else:
        sizes = [rule.n_covered for rule in rules]

        def within(one: int, other: int) -> bool:
            return sizes[one] < sizes[other] and _implies(rules[one], rules[other])

    return tuple(any(values[other] >= values[one] and within(one, other) for other in places) for one in places)


def ideas(rules: RuleSet, k: int | None = None, similarity: float = 0.5, time_limit: float | None = None) -> RuleSet:
    """Search on until there are k rules of which none is a near-duplicate of a stronger one.

    The list is exact where it is proven optimal: the leaders of the best rules do not change as more rules follow.
    They are looked for among the best 256·k rules, at most a million; where these hold fewer ideas, a note says so.
    """
    from causalrules import search
    from causalrules.discovery import assemble
    from causalrules.trust.evidence import SearchEvidence

    problem, question = _searched(rules, "search again"), rules.question
    k = question.k if k is None else k
    wanted = search.SearchOptions.of(question, k=k, time_limit=time_limit)
    k = wanted.k
    # One deadline for all the searches; the first begins now and has all of the time.
    begun, left = time.monotonic(), wanted.time_limit
    packed = problem.pack()
    length, longest = k, min(k * _FARTHEST, search.MOST_RULES)
    proven: tuple[int, RuleSet, list[RuleResult]] | None = None
    while True:
        found = search.run(packed, replace(wanted, k=length, time_limit=left), problem.n_rows)
        listed = assemble(problem, packed, replace(question, k=length), found)
        leaders = [group.leader for group in groups(listed, similarity)][:k]
        if found.stopped != "optimal" and proven is not None and len(leaders) <= len(proven[2]):
            # Cut short with no more ideas than before: what was proven is worth more.
            (length, listed, leaders), exhausted = proven, False
            break
        exhausted = len(listed) < length or found.stopped != "optimal"
        if len(leaders) == k or exhausted or length == longest:
            break
        if wanted.time_limit is not None:
            left = wanted.time_limit - (time.monotonic() - begun)
            if left <= 0:
                break
        proven = (length, listed, leaders)
        length = min(4 * length, longest)
    notes = [*rules.notes, f"near-duplicates (at least {similarity:.0%} of their rows shared) are left out"]
    if len(leaders) < k and not exhausted:
        notes.append(f"the best {length:,} rules hold {len(leaders):,} different ideas; more were not looked for")
    calibration = None if rules.evidence is None else rules.evidence.calibration
    return replace(
        rules,
        rules=tuple(leaders),
        question=replace(question, k=k),
        optimal=listed.optimal,
        upper_bound=listed.upper_bound,
        gap=listed.gap,
        stopped=listed.stopped,
        nodes=listed.nodes,
        seconds=listed.seconds,
        history=listed.history,
        notes=tuple(notes),
        # The search at the calibrated β is the same; what was measured was measured on the rules of the other list.
        evidence=None if calibration is None else SearchEvidence(calibration=calibration),
    )


class _Coverage:
    """How many rows any two rules have in common."""

    _both: Callable[[int, int], int]

    def __init__(self, rules: RuleSet, data: Any) -> None:
        if data is None:
            problem = _searched(rules, "pass data=")
            packed = problem.pack()
            number = {proposition: index for index, proposition in enumerate(problem.language.propositions)}
            conditions = [{number[condition] for condition in rule.conditions} for rule in rules]
            # Both rules hold where the conditions of both do, which the core counts without a look at the rows.
            self._both = lambda one, other: sum(
                int(counts.sum()) for counts in packed.count(sorted(conditions[one] | conditions[other]))
            )
        else:
            rows = [rule.covers(data) for rule in rules]
            self._both = lambda one, other: int(np.count_nonzero(rows[one] & rows[other]))
        self._sizes = [self._both(place, place) for place in range(len(rules))]

    def shared(self, one: int, other: int) -> float:
        both = self._both(one, other)
        either = self._sizes[one] + self._sizes[other] - both
        return both / either if either else 1.0

    def within(self, one: int, other: int) -> bool:
        """Whether the other rule covers all rows of this one, and more."""
        return self._sizes[one] < self._sizes[other] and self._both(one, other) == self._sizes[one]


def _searched(rules: RuleSet, remedy: str) -> Problem:
    if rules.problem is None:
        raise OptionError(f"this result was read from a file, without the rows that were searched; {remedy}")
    return rules.problem


def _implies(special: RuleResult, general: RuleResult) -> bool:
    """Whether the conditions alone show that one rule holds only where the other does."""
    return all(any(_implied(wanted, given) for given in special.conditions) for wanted in general.conditions)


def _implied(wanted: Proposition, given: Proposition) -> bool:
    if wanted == given:
        return True
    ordered: Any = (wanted.value, given.value)
    # Text that is compared by ≤ or ≥ has an order of its own, which only the data know.
    if wanted.column != given.column or wanted.operator != given.operator or isinstance(ordered[0], str):
        return False
    if wanted.operator == "=" or type(ordered[0]) is not type(ordered[1]):
        return False
    return bool(ordered[0] >= ordered[1] if wanted.operator == "<=" else ordered[0] <= ordered[1])
