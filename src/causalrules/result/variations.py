"""Variations of a rule: other cuts, without one of its conditions, and similar rules that it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from causalrules.exceptions import DataError, OptionError
from causalrules.language.kinds import BINARY, OutcomeKind
from causalrules.language.propositions import Proposition, describe
from causalrules.search import run as search
from causalrules.search.similarity import jaccard
from causalrules.text import counted

if TYPE_CHECKING:
    from causalrules.result.result import Result
    from causalrules.search.adjusted import Adjusted

# Minimum similarity of the rows of a rule and of good rules of its step that it stands for.
_ALIKE, _AMONG, _MOST_ABSORBED = 0.8, 50, 3
# Maximum other values of a category to measure, the most frequent first.
_MOST_VALUES = 12
# Maximum work of a step's search, in bits read, for which it is repeated to list more rules.
_MOST_WORK = 2**33


class Variation(NamedTuple):
    """A variation of a rule, measured like that rule; its interval ignores the search."""

    conditions: tuple[Proposition, ...]
    n_covered: int
    effect: float
    low: float
    high: float

    @property
    def text(self) -> str:
        """The rule as text."""
        return describe(self.conditions)


@dataclass(frozen=True, repr=False)
class Variations:
    """The variations of a rule, with their effects.

    Attributes
    ----------
    cuts
        For each of its conditions, the rule with every other cut point or value of that column, including the rule
        itself, in the order of the column; empty for a condition without alternatives.
    without
        The rule without each of its conditions; empty for a rule of one condition.
    absorbed
        The best other rules of its step that share at least 80 % of their rows with it, at most three.
    searched
        Whether such rules were searched for: not if the search of the step took long.
    kind
        The kind of the outcome.
    """

    cuts: tuple[tuple[Variation, ...], ...]
    without: tuple[Variation, ...]
    absorbed: tuple[Variation, ...]
    searched: bool = True
    kind: OutcomeKind = BINARY

    def __str__(self) -> str:
        lines = []
        for title, listed in (
            *(("other cuts or values", each) for each in self.cuts),
            ("without each condition", self.without),
            ("rules that it stands for", self.absorbed),
        ):
            if listed:
                lines.append(f"{title}:")
                lines += [
                    f"  {each.text}: {self.kind.with_interval(*each[2:])}, {counted(each.n_covered, 'row')}"
                    for each in listed
                ]
        return "\n".join(lines)

    __repr__ = __str__


def variations(rules: Result, place: int) -> Variations:
    """Implement `RuleSet.variations`."""
    if not -len(rules) <= place < len(rules):
        raise OptionError(
            f"the list has {counted(len(rules), 'rule')}, counted from 0", parameter="place", value=str(place)
        )
    place %= len(rules)
    rule = rules[place]
    problem = rules.problem_of(rule)
    if not problem.is_local:
        raise DataError("variations are measured on rows in memory, and these are elsewhere; use evaluate()")
    numbers = problem.language.numbers(rule.conditions)
    without = [numbers[:at] + numbers[at + 1 :] for at in range(len(numbers))] if len(numbers) > 1 else []
    absorbed = _absorbed(rules, place, problem)
    return Variations(
        tuple(_cuts(problem, numbers, at) for at in range(len(numbers))),
        tuple(_measured(problem, each) for each in without),
        tuple(_measured(problem, each) for each in absorbed or ()),
        absorbed is not None,
        problem.roles.outcome.kind,
    )


def _cuts(problem: Adjusted, numbers: tuple[int, ...], place: int) -> tuple[Variation, ...]:
    """Measure the rule with each other condition of the same form on the same column."""
    language = problem.language
    own = language.propositions[numbers[place]]
    alike = [
        number
        for number, other in enumerate(language.propositions)
        if (other.column, other.operator) == (own.column, own.operator)
        and (number == numbers[place] or number not in numbers)
    ]
    found = [(number, _measured(problem, [*numbers[:place], number, *numbers[place + 1 :]])) for number in alike]
    # Drop intervals without rows, such as those whose ends cross.
    found = [(number, each) for number, each in found if each.n_covered]
    if own.operator == "=":
        found = sorted(found, key=lambda each: (each[0] != numbers[place], -each[1].n_covered))[:_MOST_VALUES]
    found.sort(key=lambda each: (int(language.low[each[0]]), int(language.high[each[0]])))
    return tuple(each for _, each in found) if len(found) > 1 else ()


def _measured(problem: Adjusted, numbers: Sequence[int]) -> Variation:
    """Measure a rule like the rules of the list, adjusted for the same columns."""
    sides = problem.compared(numbers)
    found = problem.roles.outcome.kind.estimate(sides, 0.95, problem.grouped(numbers))
    conditions = sorted((problem.language.propositions[number] for number in numbers), key=lambda each: each.text)
    return Variation(tuple(conditions), int(sides[0].n.sum()), found.effect, found.low, found.high)


def _absorbed(rules: Result, place: int, problem: Adjusted) -> list[tuple[int, ...]] | None:
    """Return the best other rules of a step that share most of their rows with its rule; None if that takes long."""
    if not rules.question.is_stepwise or place >= len(rules.ladder) or rules.is_named:
        return None
    step, rule = rules.ladder[place], rules[place]
    work = step.found.progress.nodes * problem.n_rows * len(problem.language.propositions)
    if (
        not step.problem.is_single
        or step.problem.only is not problem
        or step.found.stopped != "optimal"
        or work > _MOST_WORK
    ):
        return None
    packed = problem.pack()
    question = step.question.changed(k=_AMONG, alpha=1.0, time_limit=None)
    found = search.run(packed, question, problem.n_rows, margin_scale=step.margin_scale, scale=problem.comparison.scale)
    own = set(problem.language.numbers(rule.conditions))
    alike: list[tuple[int, ...]] = []
    for _, numbers in found.rules:
        if set(numbers) == own or len(alike) == _MOST_ABSORBED:
            continue
        both, other = (int(packed.count(sorted(each))[0].sum()) for each in (own | set(numbers), set(numbers)))
        if jaccard(both, rule.n_covered, other) >= _ALIKE:
            alike.append(numbers)
    return alike
