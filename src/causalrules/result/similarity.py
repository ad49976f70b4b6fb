"""Near-duplicates grouped under their best rule, and rules that a more general one makes redundant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from causalrules.exceptions import OptionError
from causalrules.language.propositions import Proposition
from causalrules.search.similarity import SIMILARITY, Coverage

if TYPE_CHECKING:
    from causalrules.result.rule import RuleResult
    from causalrules.result.rules import RuleSet
    from causalrules.search.parts import Parts
    from causalrules.search.problem import Problem


@dataclass(frozen=True)
class Group:
    """Rules that cover nearly the same rows: the best, its variants, and the share of rows they have in common."""

    leader: RuleResult
    variants: tuple[RuleResult, ...]
    shared: tuple[float, ...]


def groups(rules: RuleSet, similarity: float = 0.5, data: Any = None) -> tuple[Group, ...]:
    """Put each rule under the first stronger leader with which it shares `similarity` of their rows, or make it one.

    The rows are those that were searched; give `data` for a result that was read from a file.
    """
    places = _coverage(rules, data).groups(SIMILARITY("similarity", similarity))
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
    coverage = _coverage(rules, data)
    matrix = np.ones((len(rules), len(rules)))
    for i in range(len(rules)):
        for j in range(i):
            matrix[i, j] = matrix[j, i] = coverage.shared(i, j)
    return matrix


def redundant(rules: RuleSet) -> tuple[bool, ...]:
    """For each rule, whether a more general rule in the list (all its rows and more) has at least its value.

    Where the rows are not at hand, a rule counts as more general only if the conditions alone show it. A search that
    leaves such rules out has done so by the number it ranks by, which is not the value where no rule stands out.
    """
    if not rules.question.redundant:
        return (False,) * len(rules)
    places, values = range(len(rules)), [rule.value for rule in rules]
    if rules.searched is not None:
        within = _coverage(rules, None).within
    else:
        sizes = [rule.n_covered for rule in rules]

        def within(one: int, other: int) -> bool:
            return sizes[one] < sizes[other] and _implies(rules[one], rules[other])

    return tuple(any(values[other] >= values[one] and within(one, other) for other in places) for one in places)


def _coverage(rules: RuleSet, data: Any) -> Coverage:
    """Compare the rules on a table, or on the rows that were searched."""
    if data is None:
        problem = require_rows(rules, "pass data=")
        numbers = [problem.language.numbers(rule.conditions) for rule in rules]
        return Coverage.of_conditions(problem.pack(), numbers)
    rows = [rule.covers(data) for rule in rules]
    return Coverage(len(rows), lambda one, other: int(np.count_nonzero(rows[one] & rows[other])))


def require_rows(rules: RuleSet, remedy: str) -> Problem | Parts:
    """Return the rows that were searched, or say what to do without them."""
    if rules.searched is None:
        raise OptionError(f"this result was read from a file, without the rows that were searched; {remedy}")
    return rules.searched


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
