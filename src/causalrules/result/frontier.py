"""The front of value and coverage, by searching a result's rows again."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from causalrules.exceptions import OptionError
from causalrules.result.evidence import SearchEvidence
from causalrules.result.measure import rule_results
from causalrules.result.result import Searched, with_graph
from causalrules.search import run as search
from causalrules.search.deadline import Deadline
from causalrules.search.nearest import nearest, ratio_of

if TYPE_CHECKING:
    from causalrules.question import Question
    from causalrules.result.result import R
    from causalrules.search.core import Packed
    from causalrules.search.problem import Problem
    from causalrules.search.run import Found

# The resolution of values in the core.
_TIED = 2.0**-36
# Rules per search: several of them are on the front, which saves searches.
_AT_ONCE = 64
_NOTE = "the front: each rule is the best of those that cover more rows than the rules before it"


def frontier(rules: R, time_limit: float | None = None) -> R:
    """Implement `RuleSet.frontier`: search for the best rule, then for the best that covers more rows, and so on."""
    problem = rules.problem
    if problem is None:
        raise OptionError("this result was read from a file, without the rows that were searched; search again")
    deadline = Deadline.after(time_limit)
    packed = problem.pack()
    # Rules of the front are measured on their own, without columns held fixed.
    asked = replace(rules.question, stepwise=False) if rules.question.is_stepwise else rules.question
    searches, best = _search(problem, packed, replace(asked, k=1), deadline)
    found = replace(searches[0], rules=tuple(best))
    question = replace(asked, k=max(len(best), 1))
    listed = rule_results(problem, packed, question, found)
    end = replace(
        search.end(found, listed),
        seconds=sum(each.progress.seconds for each in searches),
        gap=max(each.progress.gap for each in searches),
        nodes=sum(each.progress.nodes for each in searches),
    )
    calibration = None if rules.evidence is None else rules.evidence.calibration
    origin = Searched(
        optimal=all(each.optimal for each in searches),
        upper_bound=end.upper_bound,
        gap=end.gap,
        stopped=searches[-1].stopped,
        nodes=end.nodes,
        seconds=end.seconds,
        history=(*found.history[:-1], end),
    )
    front = replace(
        rules,
        rules=listed,
        question=question,
        origin=origin,
        nearest=None,
        rungs=(),
        ladder=(replace(rules.ladder[0], question=question, found=found),),
        notes=(*rules.notes, _NOTE),
        # The calibration of β is still valid; other evidence is about the rules of the other list.
        evidence=None if calibration is None else SearchEvidence(calibration=calibration),
    )
    return with_graph(front, rules.graph, rules.admissibility)


def _search(
    problem: Problem, packed: Packed, question: Question, deadline: Deadline
) -> tuple[list[Found], list[tuple[float, tuple[int, ...]]]]:
    """Search for the front: repeatedly for the best rules with more rows than all before. Return the searches too.

    The first rule is the best one. The others are above 0; of tied rules, the one with the most rows is kept.
    """
    scale = problem.comparison.scale

    def run(asked: Question, floor: float, factor: float = 1.0, least_rows: int | None = None) -> Found:
        limited = replace(asked, time_limit=deadline.left())
        return search.run(
            packed, limited, problem.n_rows, floor=floor, margin_scale=factor, scale=scale, least_rows=least_rows
        )

    def n_covered(conditions: tuple[int, ...]) -> int:
        return int(packed.count(conditions)[0].sum())

    found = nearest(partial(ratio_of, packed, problem.comparison, question), question, run(question, -math.inf), run)
    searches, front = [found], list(found.rules)
    widest, before = n_covered(front[0][1]) if front and front[0][0] > 0 else 0, 0
    while widest > before and found.stopped == "optimal":
        before = widest
        found = run(replace(question, k=_AT_ONCE), 0.0, least_rows=widest + 1)
        searches.append(found)
        for value, conditions in found.rules:
            if value > 0 and n_covered(conditions) > widest:
                while front and front[-1][0] - value <= _TIED * scale:
                    front.pop()
                front.append((value, conditions))
                widest = n_covered(conditions)
    return searches, front
