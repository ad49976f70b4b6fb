"""A list in which each rule adds to those above it: its steps, its staircase, and the effects of rules on their own."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from causalrules.estimators.sides import side_of
from causalrules.payload import Plain, tuple_repr
from causalrules.search import run as search

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from causalrules.result.rule import RuleResult
    from causalrules.search.adjusted import Adjusted
    from causalrules.search.core import Packed
    from causalrules.search.ladder import Step

# Maximum rules on a staircase of remote rows: each rule doubles the number of counts.
_MOST_ELSEWHERE = 6


@dataclass(frozen=True, repr=False)
class StepProof(Plain):
    """One step of the search.

    Attributes
    ----------
    held_fixed
        The columns of the rules above.
    strata
        Number of strata: those of the controls, divided by these columns.
    predicted
        Whether they are divided by a prediction from these columns, because their values leave too few rows in each.
    n_propositions
        Conditions on the remaining columns.
    optimal, upper_bound, gap, stopped
        Whether the rule is proven the best of this step; the upper bound on its rules; how far that is above the rule;
        and why the step ended.
    nodes, seconds
        Rules visited, and seconds.
    margin_scale
        Factor of the margin for the number of rules that is enough, by shuffled tables; 1 if none were used. Below 1,
        the rule is the one with the largest effect over margin.
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
    """The adjusted level of the outcome where only the first rules of a list hold: none, one, two, and so on.

    `level` averages over the strata of the controls with such rows; `n_rows` is the number of such rows.
    """

    level: float
    n_rows: int

    def __repr__(self) -> str:
        return tuple_repr(self)


class Alone(NamedTuple):
    """A rule on its own: adjusted for the controls only, compared with all rows on which it fails."""

    effect: float
    low: float
    high: float

    def __repr__(self) -> str:
        return tuple_repr(self)


def proof(step: Step, rules: Sequence[RuleResult]) -> StepProof:
    """Return what is proven by a step that found these rules."""
    problem, end = step.problem, search.end(step.found, rules)
    fixed = problem.first.held_fixed
    return StepProof(
        held_fixed=fixed,
        strata=problem.n_strata,
        predicted=any(not set(each.strata.columns).issuperset(fixed) for each in problem.adjustments),
        n_propositions=len(problem.language.propositions),
        optimal=step.found.optimal,
        # With a margin from shuffled tables, the rule is the best by effect over margin, not by value.
        upper_bound=max([end.upper_bound, *(abs(rule.reliable_effect) for rule in rules if step.margin_scale < 1)])
        if step.stands_out
        else end.upper_bound,
        gap=end.gap,
        stopped=step.found.stopped,
        nodes=end.nodes,
        seconds=end.seconds,
        margin_scale=step.margin_scale,
    )


def history(steps: Sequence[Step], rules: Sequence[Sequence[RuleResult]]) -> tuple[search.Progress, ...]:
    """Return the progress of all steps, one after the other."""
    found: list[search.Progress] = []
    seconds = 0.0
    for place, (step, own) in enumerate(zip(steps, rules, strict=True), 1):
        shown = (*step.found.history[:-1], search.end(step.found, own))
        found += [replace(each, step=place, seconds=seconds + each.seconds) for each in shown]
        seconds = found[-1].seconds
    return tuple(found)


def staircase(problem: Adjusted, packed: Packed, rules: Sequence[Sequence[int]], decided: bool) -> tuple[Rung, ...]:
    """Return the level where all rules fail, where the first holds and the others fail, the first two, and so on.

    Rules are condition indices. Rows on which a rule is undecided are on no rung; `decided` means that there are none.
    Empty for remote rows if there are undecided rows or many rules. Ends before the first rung without rows.
    """
    local = problem.is_local
    if not local and (not decided or len(rules) > _MOST_ELSEWHERE):
        return ()
    centre = float(problem.roles.outcome.centre) if not problem.roles.outcome.kind.binary else 0.0
    sizes = np.add(*packed.count()).sum(axis=1)
    rungs = []
    for place in range(len(rules) + 1):
        side = _on_rung(problem, rules, place) if local else _counted_on_rung(problem, packed, rules, place)
        inside = side.n > 0
        if not inside.any():
            break
        level = centre + float(np.average(side.total[inside] / side.n[inside], weights=sizes[inside]))
        rungs.append(Rung(level, int(side.n.sum())))
    return tuple(rungs)


class _Rows(NamedTuple):
    """Number of rows of each stratum, and the sum of their target."""

    n: NDArray[np.float64]
    total: NDArray[np.float64]


def _on_rung(problem: Adjusted, rules: Sequence[Sequence[int]], place: int) -> _Rows:
    """Return the rows on which the first rules hold and the others fail, from the rows themselves."""
    rows, weights = problem.rows.local, problem.frequencies
    chosen = np.ones(len(weights), np.bool_)
    for number, rule in enumerate(rules):
        covered, failing = problem.sides(rule)
        chosen &= covered if number < place else failing
    side = side_of(rows.stratum, rows.y, weights, chosen, problem.n_strata)
    return _Rows(side.n, side.total)


def _counted_on_rung(problem: Adjusted, packed: Packed, rules: Sequence[Sequence[int]], place: int) -> _Rows:
    """Return the same from the counts of conjunctions, by inclusion–exclusion."""
    n = total = np.zeros(problem.n_strata)
    for size in range(len(rules) - place + 1):
        for others in itertools.combinations(rules[place:], size):
            found = _covered(problem, packed, [*rules[:place], *others])
            n, total = n + (-1) ** size * found.n, total + (-1) ** size * found.total
    return _Rows(n, total)


def _covered(problem: Adjusted, packed: Packed, rules: Sequence[Sequence[int]]) -> _Rows:
    """Return the rows on which all of these rules hold; all rows without rules."""
    numbers = sorted({number for rule in rules for number in rule})
    if not problem.roles.outcome.kind.binary and (measured := problem.rows.measured([numbers or [0]])):
        side = measured[0].covered if numbers else measured[0].everything
        return _Rows(side.n, side.total)
    counts = problem.comparison.true(packed.count(numbers)[0] if numbers else np.add(*packed.count()))
    return _Rows(counts.sum(axis=1).astype(np.float64), counts @ problem.comparison.values)
