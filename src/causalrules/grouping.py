"""A list worth reading: near-duplicates under their strongest rule, and which rules a more general one replaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from causalrules.exceptions import OptionError
from causalrules.propositions import Proposition

if TYPE_CHECKING:
    from causalrules._native import Packed
    from causalrules.deadline import Deadline
    from causalrules.problem import Problem
    from causalrules.result import RuleResult, RuleSet
    from causalrules.search import Found, SearchOptions

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
    places = _Coverage.of(rules, data).groups(_checked(similarity))
    return tuple(
        Group(
            rules[leader],
            tuple(rules[place] for place, _ in variants),
            tuple(shared for _, shared in variants),
        )
        for leader, variants in places.items()
    )


def shared_rows(rules: RuleSet, data: Any = None) -> NDArray[np.float64]:
    """For each two rules, how much of the rows that one of them covers both cover."""
    coverage = _Coverage.of(rules, data)
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
        within = _Coverage.of(rules, None).within
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
    from causalrules.deadline import Deadline
    from causalrules.discovery import assemble
    from causalrules.trust.evidence import SearchEvidence

    problem, question, similarity = _searched(rules, "search again"), rules.question, _checked(similarity)
    options = search.SearchOptions.of(question, k=question.k if k is None else k)
    deadline, packed = Deadline.after(time_limit), problem.pack()
    found = look_for_ideas(
        packed, options, similarity, lambda options: search.run(packed, options, problem.n_rows), deadline
    )
    question = replace(question, k=options.k, similarity=similarity)
    ideas = tuple(found.listed.rules[place] for place in found.places)
    listed = assemble(problem, packed, question, replace(found.listed, rules=ideas))
    notes = [*rules.notes, f"near-duplicates (at least {similarity:.0%} of their rows shared) are left out"]
    if len(ideas) < options.k and not found.exhausted:
        notes.append(f"the best {found.length:,} rules hold {len(ideas):,} different ideas; more were not looked for")
    calibration = None if rules.evidence is None else rules.evidence.calibration
    return replace(
        rules,
        rules=listed.rules,
        question=question,
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


@dataclass(frozen=True)
class Ideas:
    """The places of the ideas in a list of the best `length` rules; `exhausted` if no longer list can be had."""

    listed: Found
    places: tuple[int, ...]
    length: int
    exhausted: bool

    @property
    def conditions(self) -> list[tuple[int, ...]]:
        """The conditions of each idea, by their numbers in the language."""
        return [self.listed.rules[place][1] for place in self.places]


def look_for_ideas(
    packed: Packed,
    options: SearchOptions,
    similarity: float,
    run: Callable[[SearchOptions], Found],
    deadline: Deadline,
) -> Ideas:
    """Search for longer and longer lists until k of their rules are no near-duplicates of stronger ones."""
    from causalrules.search import MOST_RULES

    length, longest = options.k, min(options.k * _FARTHEST, MOST_RULES)
    proven: Ideas | None = None
    while True:
        found = run(replace(options, k=length, time_limit=deadline.left()))
        coverage = _Coverage.of_conditions(packed, [conditions for _, conditions in found.rules])
        places = tuple(coverage.groups(similarity))[: options.k]
        if found.stopped != "optimal" and proven is not None and len(places) <= len(proven.places):
            # Cut short with no more ideas than before: what was proven is worth more.
            return proven
        ideas = Ideas(found, places, length, len(found.rules) < length or found.stopped != "optimal")
        if len(places) == options.k or ideas.exhausted or length == longest or deadline.passed:
            return ideas
        proven = ideas
        length = min(4 * length, longest)


def _checked(similarity: float) -> float:
    if isinstance(similarity, bool) or not isinstance(similarity, (int, float)) or not 0 < similarity <= 1:
        raise OptionError(f"similarity = {similarity!r}: give a number above 0 and at most 1")
    return float(similarity)


class _Coverage:
    """How many rows any two rules have in common."""

    def __init__(self, size: int, both: Callable[[int, int], int]) -> None:
        self._both = both
        self._sizes = [both(place, place) for place in range(size)]

    @classmethod
    def of(cls, rules: RuleSet, data: Any) -> _Coverage:
        """The rows of the table, or of those that were searched."""
        if data is None:
            problem = _searched(rules, "pass data=")
            number = {proposition: index for index, proposition in enumerate(problem.language.propositions)}
            return cls.of_conditions(problem.pack(), [[number[each] for each in rule.conditions] for rule in rules])
        rows = [rule.covers(data) for rule in rules]
        return cls(len(rows), lambda one, other: int(np.count_nonzero(rows[one] & rows[other])))

    @classmethod
    def of_conditions(cls, packed: Packed, conditions: Sequence[Sequence[int]]) -> _Coverage:
        """Both rules hold where the conditions of both do, which the core counts without a look at the rows."""
        sets = [set(each) for each in conditions]
        return cls(
            len(sets),
            lambda one, other: int(packed.count(sorted(sets[one] | sets[other]))[0].sum()),
        )

    def groups(self, similarity: float) -> Mapping[int, Sequence[tuple[int, float]]]:
        """The place of each leader, with those of its variants and what they share with it."""
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
