"""The ladder: a list in which each rule adds to those above it (docs/list.md).

The first rule is the best of all. Then its columns are held fixed: the next rule is the best on the remaining columns,
adjusted for the controls and for the columns above, and so on until no rule is above 0. Each step is a problem of its
own, searched exactly for its best rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from causalrules.language.held_fixed import Conditions, Prediction, hold_fixed
from causalrules.language.propositions import Proposition
from causalrules.language.strata import join_keys
from causalrules.search.adjusted import Adjusted
from causalrules.search.run import Found

if TYPE_CHECKING:
    from causalrules.data.table import Table
    from causalrules.question import Question
    from causalrules.search.problem import Problem

# A rule as its conditions.
Rule = tuple[Proposition, ...]


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a ladder.

    Attributes
    ----------
    problem
        The rows, with the columns of the rules above held fixed, and the conditions on the remaining columns.
    question
        The question of this step, with its β.
    found
        The best rule, and what is proven about it.
    stands_out
        Whether the rule is above 0, so that the ladder continues.
    margin_scale, joint_scale
        Factors of the margin that are enough, by shuffled tables: 1 and None if none were used (`Criterion`).
    """

    problem: Problem
    question: Question
    found: Found
    stands_out: bool
    margin_scale: float = 1.0
    joint_scale: float | None = None

    @property
    def rule(self) -> Rule | None:
        """The conditions of the best rule; None if there is none."""
        propositions = self.problem.language.propositions
        return tuple(propositions[number] for number in self.found.rules[0][1]) if self.found.rules else None


def climb(
    first: Problem,
    k: int,
    search: Callable[[Problem, Sequence[Rule]], Step],
    following: Callable[[Sequence[Rule]], Problem | None],
) -> list[Step]:
    """Search step by step for up to k rules; the last step may be one in which no rule stands out.

    Parameters
    ----------
    first
        The problem of the first step.
    k
        Maximum number of rules.
    search
        Searches one step, given the rules above it.
    following
        The problem of the next step, given the rules above it; None if no column is left.
    """
    steps: list[Step] = []
    above: list[Rule] = []
    problem: Problem | None = first
    while problem is not None:
        step = search(problem, above)
        steps.append(step)
        if not step.stands_out or step.rule is None or step.found.stopped != "optimal" or len(steps) == k:
            break
        above.append(step.rule)
        problem = following(above)
    return steps


def held_columns(problem: Adjusted, above: Iterable[Rule]) -> list[str]:
    """Return the columns of the rules above that are held fixed, by name.

    With reference rows, none: rules are about their column only, and rows of other arms are not compared at all.
    """
    if problem.comparison.reference is not None:
        return []
    return sorted({condition.column for rule in above for condition in rule})


def hold(problem: Adjusted, above: Sequence[Rule], table: Table | None = None) -> Adjusted | None:
    """Return the problem of the next step: without the columns of the rules above, which are held fixed.

    With reference rows, the arms of the rules above are left out.

    Parameters
    ----------
    problem
        The problem of the first step.
    above
        The rules above.
    table
        The observed rows; None if strata need no labels.

    Returns
    -------
    Adjusted or None
        None if no condition is left.
    """
    language = problem.language
    fixed = held_columns(problem, above)
    used = [language.columns.index(name) for name in fixed]
    numbers = [language.numbers(rule) for rule in above]
    conditions = _other_arms(problem, numbers)
    rest = [place for place in range(len(language.columns)) if place not in used]
    narrowed, kept = language.only(rest, conditions)
    if not len(kept):
        return None
    strata = problem.strata
    if fixed:
        ends = {name: language.ends[name] for name in fixed}
        rules = [_on(used, problem, each) for each in numbers]
        cells = problem.rows.cells(used)
        strata = hold_fixed(strata, table, ends, cells, [each for each in rules if each], problem.comparison.values)
    actionable = tuple(name for name in problem.roles.actionable if name not in fixed)
    controls, second = (
        None if each is None else replace(each, columns=tuple(sorted({*each.columns, *fixed})))
        for each in (problem.controls, problem.second)
    )
    return replace(
        problem,
        roles=replace(problem.roles, actionable=actionable),
        rows=problem.rows.held(strata, narrowed),
        controls=controls,
        second=second,
        held_fixed=tuple(fixed),
    )


def divide_like(problem: Adjusted, step: Adjusted) -> Adjusted:
    """Return the problem with its strata divided by the columns held fixed in a step, by combinations in its own rows.

    It keeps its language. Strata are renumbered and have no labels.
    """
    strata, rows = step.strata, problem.rows.local
    if not strata.n_held:
        return problem
    codes = dict(zip(problem.language.columns, rows.columns, strict=True))
    index = rows.stratum.astype(np.int64)
    for column in strata.columns[len(strata.columns) - strata.n_held :]:
        bins = strata.bins.get(column)
        code = bins.combined(codes) if isinstance(bins, Prediction) else codes[column]
        index = np.unique(join_keys(index, code, len(strata.ends[column])), return_inverse=True)[1]
    labels: tuple[dict[str, str], ...] = ({},) * (int(index.max(initial=-1)) + 1)
    return problem.with_rows(strata=replace(problem.strata, labels=labels), stratum=index.astype(np.int32))


def _on(used: Sequence[int], problem: Adjusted, rule: Sequence[int]) -> Conditions:
    """Return the conditions of a rule on the columns held fixed, by index among these columns."""
    language = problem.language
    return [
        (used.index(int(language.column_index[number])), int(language.low[number]), int(language.high[number]))
        for number in rule
        if language.column_index[number] in used
    ]


def _other_arms(problem: Adjusted, above: Sequence[Sequence[int]]) -> list[int] | None:
    """Return the conditions that hold for none of the arms in the rules above; None for all conditions."""
    if problem.comparison.reference is None:
        return None
    language = problem.language
    left = np.ones(len(language.propositions), np.bool_)
    for rule in above:
        numbers = list(rule)
        left &= (language.low > min(language.high[numbers])) | (language.high < max(language.low[numbers]))
    return [int(number) for number in np.flatnonzero(left)]
