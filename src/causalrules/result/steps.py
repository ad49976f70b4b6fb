"""A list in which each rule adds to those above it: its steps, its staircase, and its rules on their own."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from causalrules.search import run as search

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from causalrules.result.rule import RuleResult
    from causalrules.search.core import Packed
    from causalrules.search.ladder import Step
    from causalrules.search.problem import Problem

# A staircase has this many rungs at most: how many rows no rule covers takes a count for each set of rules.
_MOST_RUNGS = 6


@dataclass(frozen=True)
class StepProof:
    """One step of the search.

    Attributes
    ----------
    held_fixed
        The columns of the rules above.
    strata
        Number of strata: those of the controls, divided by these columns.
    predicted
        Whether they are divided by what these columns predict, because their values leave too few rows in each.
    n_propositions
        Conditions on the columns that were left.
    optimal, upper_bound, gap, stopped
        Whether the rule is proven to be the best of this step; what no rule of it can exceed; how far that is above the
        rule; and why the step ended.
    nodes, seconds
        The effort.
    margin_scale
        What part of the margin for the number of rules is enough, by shuffled tables; 1 where they were not asked.
    """

    held_fixed: tuple[str, ...]
    strata: int
    predicted: bool
    n_propositions: int
    optimal: bool
    upper_bound: float
    gap: float
    stopped: str
    nodes: int
    seconds: float
    margin_scale: float = 1.0


class Rung(NamedTuple):
    """The adjusted level of the outcome where the first rules of a list hold: none of its rules, one, two, and so on.

    `level` is over the strata of the controls that have such rows, of which there are `n_rows`.
    """

    level: float
    n_rows: int


class Alone(NamedTuple):
    """A rule on its own: adjusted for the controls only, compared with all rows on which it fails."""

    effect: float
    low: float
    high: float


def proof(step: Step, rules: Sequence[RuleResult]) -> StepProof:
    """Return what is proven by a step that found these rules."""
    problem, end = step.problem, search.end(step.found, rules)
    fixed = problem.first.held_fixed
    return StepProof(
        held_fixed=fixed,
        strata=problem.n_strata,
        predicted=any(not set(each.strata.columns).issuperset(fixed) for each in problem.all),
        n_propositions=len(problem.language.propositions),
        optimal=step.found.optimal,
        # Where the margin is that of shuffled tables, the rule is the best by its share of the margin.
        upper_bound=max([end.upper_bound, *(abs(rule.reliable_effect) for rule in rules if step.margin_scale < 1)])
        if step.stands_out
        else end.upper_bound,
        gap=end.gap,
        stopped=step.found.stopped,
        nodes=end.nodes,
        seconds=end.seconds,
        margin_scale=step.margin_scale,
    )


def staircase(problem: Problem, packed: Packed, rules: Sequence[Sequence[int]]) -> tuple[Rung, ...]:
    """Return the level where none of the rules holds, where the first does, the first two, and so on.

    Rules are numbers of conditions. The list ends where no row satisfies all rules so far.
    """
    rules = list(rules[:_MOST_RUNGS])
    everything = np.add(*packed.count())

    def covered(chosen: Sequence[Sequence[int]]) -> NDArray[np.int64]:
        return packed.count(sorted({number for rule in chosen for number in rule}))[0] if chosen else everything

    subsets = (each for size in range(len(rules) + 1) for each in itertools.combinations(rules, size))
    none = sum((-1) ** len(each) * covered(each) for each in subsets)
    centre = float(problem.roles.outcome.centre) if problem.roles.outcome.is_mean else 0.0
    weights = everything.sum(axis=1)
    rungs = []
    for counts in [none, *(covered(rules[: place + 1]) for place in range(len(rules)))]:
        counts = problem.comparison.true(np.asarray(counts))
        n = counts.sum(axis=1)
        inside = n > 0
        if not inside.any():
            break
        means = counts[inside] @ problem.comparison.values / n[inside]
        level = centre + float(np.average(means, weights=weights[inside]))
        rungs.append(Rung(level, int(n.sum())))
    return tuple(rungs)
