"""One search over several problems: the same rows and conditions, and for each set of columns its own controls.

Each problem is searched for rules on its sets of columns (`Language.offered`), one after the other, with the k-th best
value so far as the floor of the next; for a list of different rules, as often as one of its rules is listed. A set of
columns belongs to one problem, so a rule's conditions tell which. Rules with the same rows are one rule, wherever they
were found: that with the highest value, then the fewest conditions, then the first by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from causalrules.data.table import Table
from causalrules.graph.adjustment import Adjustments, adjustments
from causalrules.graph.graph import CausalGraph
from causalrules.language.language import Language
from causalrules.language.roles import Roles
from causalrules.language.strata import n_levels
from causalrules.question import Question
from causalrules.search import run as search
from causalrules.search.core import Packed
from causalrules.search.deadline import Deadline
from causalrules.search.nearest import nearest, ratio_of
from causalrules.search.problem import Problem, prepare, with_controls
from causalrules.search.run import Found, Progress
from causalrules.search.similarity import Coverage

# Packed tables are kept for the next pass while they take no more bytes than this.
_MOST_KEPT = 2**29
# The core compares values to 2⁻³⁶; a floor this much lower keeps all ties.
_TIED = 2.0**-40

Rule = tuple[float, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Parts:
    """The problems of one search."""

    problems: tuple[Problem, ...]

    @cached_property
    def language(self) -> Language:
        """The conditions, and the sets of columns of all problems."""
        sets = [problem.language.offered for problem in self.problems]
        offered = None if None in sets else tuple(each for own in sets for each in own or ())
        return replace(self.problems[0].language, offered=offered)

    @cached_property
    def _number(self) -> dict[frozenset[str], int]:
        return {
            frozenset(each): number
            for number, problem in enumerate(self.problems)
            for each in problem.language.offered or ()
        }

    def number(self, conditions: Iterable[int]) -> int:
        """Return the number of the problem that a rule belongs to."""
        propositions = self.language.propositions
        return self._number[frozenset(propositions[condition].column for condition in conditions)]

    @cached_property
    def _packed(self) -> dict[tuple[int, bool], Packed]:
        return {}

    def packed(self, number: int, all_columns: bool = False) -> Packed:
        """Return the packed rows of a problem: the columns that its rules can be on, or all."""
        key = number, all_columns
        if key not in self._packed:
            size = self.problems[0].n_rows * len(self.language.propositions) // 8
            if (len(self._packed) + 1) * size > _MOST_KEPT:
                self._packed.clear()
            self._packed[key] = self.problems[number].pack(all_columns)
        return self._packed[key]

    def search(
        self,
        question: Question,
        deadline: Deadline,
        watch: Callable[[Progress], None] | None = None,
        floor: float = -math.inf,
        margin_scale: float = 1.0,
    ) -> Found:
        """Search all problems, and return the best rules of all."""
        if question.similarity is not None and question.k > 1:
            return self._different(question, deadline, watch, floor, margin_scale)
        whole = _Whole(self, question.k, watch)
        # Those with the most sets of columns come first: a good floor saves the others work.
        order = sorted(range(len(self.problems)), key=lambda number: -len(self.problems[number].language.offered or ()))
        for place, number in enumerate(order):
            problem = self.problems[number]
            found = search.run(
                self.packed(number),
                replace(question, time_limit=deadline.left()),
                problem.n_rows,
                floor=max(floor, whole.kth - _TIED * problem.comparison.scale),
                margin_scale=margin_scale,
                scale=problem.comparison.scale,
                watch=None if watch is None else partial(whole.watch, last=place == len(order) - 1),
            )
            whole.add(found, problem.comparison.scale if place < len(order) - 1 else -math.inf)
            if found.stopped != "optimal":
                break
        return whole.found

    def _different(
        self,
        question: Question,
        deadline: Deadline,
        watch: Callable[[Progress], None] | None,
        floor: float,
        margin_scale: float,
    ) -> Found:
        """Return a list of different rules, each the best of all problems that resembles none before it.

        Every problem's next rule is kept. When one is listed, its problem is searched again, and those whose next rule
        resembles it.
        """
        listed: list[Rule] = []
        waiting: dict[int, Rule] = {}
        history: list[Progress] = []
        optimal, seconds, nodes, bound = True, 0.0, 0, -math.inf
        to_search = list(range(len(self.problems)))
        while len(listed) < question.k:
            for number in to_search:
                problem = self.problems[number]
                found = search.run(
                    self.packed(number, all_columns=True),
                    replace(question, k=1, time_limit=deadline.left()),
                    problem.n_rows,
                    floor=floor,
                    margin_scale=margin_scale,
                    scale=problem.comparison.scale,
                    wanted="different",
                    leaders=[conditions for _, conditions in listed],
                )
                seconds, nodes = seconds + found.progress.seconds, nodes + found.progress.nodes
                # The first rules of all problems bound the whole list.
                bound = max(bound, found.progress.upper_bound)
                waiting |= {number: found.rules[0]} if found.rules else {}
                optimal &= found.optimal
                best, conditions = min((*listed, *waiting.values()), key=_place, default=(None, ()))
                history.append(Progress(seconds, best, bound, found.progress.gap, nodes, conditions))
                if watch is not None:
                    watch(history[-1])
                if found.stopped != "optimal":
                    kept = self._kept(question, listed, waiting.values())
                    return Found(kept, history[-1], False, found.stopped, tuple(history))
            if not waiting:
                break
            chosen = min(waiting, key=lambda number: _place(waiting[number]))
            if listed and waiting[chosen][0] <= 0:
                break
            listed.append(waiting.pop(chosen))
            if listed[-1][0] <= 0:
                break
            near = [number for number, rule in waiting.items() if self._resemble(question, listed[-1], rule)]
            to_search = [chosen, *near]
            for number in near:
                del waiting[number]
        return Found(tuple(listed), history[-1], optimal, "optimal", tuple(history))

    def _kept(self, question: Question, listed: list[Rule], waiting: Iterable[Rule]) -> tuple[Rule, ...]:
        """Return the list of a search that was stopped: with those of the rules it knows that belong to it."""
        kept = list(listed)
        for rule in sorted(waiting, key=_place):
            if not kept or (rule[0] > 0 and not any(self._resemble(question, each, rule) for each in kept)):
                kept.append(rule)
        return tuple(kept[: question.k])

    def _resemble(self, question: Question, one: Rule, other: Rule) -> bool:
        share = Coverage.of_conditions(self._whole, [one[1], other[1]]).shared(0, 1)
        return question.similarity is not None and share >= question.similarity

    def find(self, question: Question, deadline: Deadline, watch: Callable[[Progress], None] | None = None) -> Found:
        """Search all problems, and look for the rules nearest to standing out if none does."""

        def again(question: Question, floor: float, factor: float) -> Found:
            return self.search(question, deadline, floor=floor, margin_scale=factor)

        return nearest(partial(self.ratio, question), question, self.search(question, deadline, watch), again)

    def ratio(self, question: Question, conditions: Sequence[int]) -> float:
        """Return the effect of a rule over its margin."""
        number = self.number(conditions)
        return ratio_of(self.packed(number), self.problems[number].comparison, question, conditions)

    @cached_property
    def _whole(self) -> Packed:
        """All columns of all rows, whatever their controls."""
        whole = self.problems[0]
        return replace(whole, rows=replace(whole.rows, language=replace(self.language, offered=None))).pack()

    def are_same(self, one: Sequence[int], other: Sequence[int]) -> bool:
        """Return whether two rules hold on the same rows and fail on the same."""
        counts = [self._whole.count(each) for each in (one, other, sorted({*one, *other}))]
        return all(np.array_equal(counts[0][side], each[side]) for each in counts[1:] for side in (0, 1))


def _place(rule: Rule) -> tuple[float, int, tuple[int, ...]]:
    """Return what orders rules: the value, then fewer conditions, then their names."""
    return -rule[0], len(rule[1]), rule[1]


class _Whole:
    """The best rules of the problems so far, and what is proven about all of them."""

    def __init__(self, parts: Parts, k: int, watch: Callable[[Progress], None] | None) -> None:
        self._parts, self._k, self._report = parts, k, watch
        self._rules: list[Rule] = []
        self._history: list[Progress] = []
        self._before = Progress(0.0, None, -math.inf, 0.0, 0)
        self._optimal, self._stopped = True, "optimal"

    @property
    def kth(self) -> float:
        """The value of the k-th best rule, once there are k."""
        return self._rules[-1][0] if len(self._rules) == self._k else -math.inf

    @property
    def found(self) -> Found:
        """What was found."""
        return Found(tuple(self._rules), self._history[-1], self._optimal, self._stopped, tuple(self._history))

    def _summed(self, step: Progress, ahead: float) -> Progress:
        """Add what was done before; what is still ahead may reach this value."""
        leader = max(self._before, step, key=lambda each: -math.inf if each.best is None else each.best)
        upper = max(self._before.upper_bound, step.upper_bound, ahead)
        # A problem may hold fewer than k rules above its floor; what counts is the k-th of all.
        behind = [min(step.gap, max(0.0, step.upper_bound - self.kth)), max(0.0, ahead - self.kth)]
        gap = max(self._before.gap, *behind) if ahead > -math.inf else max(self._before.gap, behind[0])
        seconds, nodes = self._before.seconds + step.seconds, self._before.nodes + step.nodes
        return Progress(seconds, leader.best, upper, gap, nodes, leader.conditions)

    def watch(self, step: Progress, last: bool) -> None:
        """Report a step of the problem that is searched now."""
        assert self._report is not None, "there is a watcher"
        self._report(self._summed(step, -math.inf if last else math.inf))

    def add(self, found: Found, ahead: float) -> None:
        """Add the rules of another problem; `ahead` bounds those that come after it."""
        for value, conditions in found.rules:
            self._take(value, conditions)
        del self._rules[self._k :]
        self._history += [self._summed(step, ahead) for step in found.history]
        self._optimal &= found.optimal
        self._stopped = found.stopped
        end = self._summed(found.progress, -math.inf)
        self._before = end
        if found.stopped == "optimal":
            self._history[-1] = end
        else:
            self._optimal = False

    def _take(self, value: float, conditions: tuple[int, ...]) -> None:
        new = (value, conditions)
        for place, known in enumerate(self._rules):
            if self._parts.are_same(known[1], conditions):
                if _place(new) < _place(known):
                    self._rules[place] = new
                break
        else:
            self._rules.append(new)
        self._rules.sort(key=_place)


def own_controls(
    table: Table, roles: Roles, graph: CausalGraph, question: Question, allowed: Iterable[str]
) -> Adjustments:
    """Return the controls of each set of actionable columns: of the valid ones, those with the fewest strata."""
    observed = table.observed(roles.target, question.weights)
    allowed = [name for name in allowed if name in graph.nodes and name != roles.target]
    sizes = {name: n_levels(observed, name, question.control_bins, question.max_bins) for name in allowed}
    assert question.max_length is not None, "the question limits it"
    return adjustments(
        graph, roles.target, roles.actionable, max_length=question.max_length, observed=allowed, sizes=sizes
    )


def prepare_parts(table: Table, roles: Roles, question: Question, adjustments: Adjustments) -> Parts:
    """Prepare a problem for each set of controls; a single one for all rules offers all."""
    groups = adjustments.groups
    if len(groups) == 1 and not adjustments.left_out:
        (control,) = groups
        return Parts((prepare(table, replace(roles, control=control), question),))
    problems: list[Problem] = []
    problem = prepare(table, roles, question)
    known: dict[tuple[str, bytes], NDArray[np.int32]] = {}
    for control, sets in sorted(groups.items()):
        language = replace(problem.language, offered=tuple(sets))
        if language.offered_numbers:
            one = with_controls(problem, table, control, question, known)
            problems.append(replace(one, rows=replace(one.rows, language=language)))
    return Parts(tuple(problems))
