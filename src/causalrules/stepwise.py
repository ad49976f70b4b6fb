"""The lists of discover(): the k best rules, or step by step rules that each add to those above.

A plain list is one step with k rules; a ladder has one rule per step (`search.ladder`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from causalrules.exceptions import OptionError
from causalrules.language.propositions import describe
from causalrules.language.roles import columns
from causalrules.language.strata import Combining
from causalrules.result.evidence import CalibratedMargin, SearchEvidence
from causalrules.result.measure import rule_results
from causalrules.result.steps import Alone, Rung, staircase
from causalrules.search import run
from causalrules.search.adjusted import with_controls
from causalrules.search.deadline import Deadline
from causalrules.search.ladder import Rule, Step, climb, held_columns, hold
from causalrules.search.margins import betas
from causalrules.search.nearest import nearest, ratio_of
from causalrules.search.problem import Problem, own_controls
from causalrules.search.progress import search_bar, watching
from causalrules.text import counted
from causalrules.trust import at_once
from causalrules.trust.calibration import calibrate, calibrate_margin

if TYPE_CHECKING:
    from causalrules.data.table import Table
    from causalrules.graph.graph import CausalGraph
    from causalrules.question import Question
    from causalrules.result.evidence import Calibration
    from causalrules.result.rule import RuleResult
    from causalrules.search.adjusted import Adjusted
    from causalrules.search.checkpoint import Checkpoint
    from causalrules.search.core import Packed
    from causalrules.trust.holdout import HeldOut

# Default β of all estimators except pooled.
DEFAULT_BETA = 2.0
# The packed rows of the first step are kept up to this number of bits; otherwise they are packed again.
_KEPT = 2**31


@dataclass(frozen=True, eq=False)
class SearchedList:
    """The result of all steps.

    Attributes
    ----------
    steps
        The steps, and the rules found by each.
    calibration, margin
        How β was calibrated for the first step; the last margin from shuffled tables, if any.
    rungs
        The levels of the outcome where the first rules hold.
    notes
        Remarks on the steps.
    """

    steps: tuple[Step, ...]
    rules: tuple[tuple[RuleResult, ...], ...]
    calibration: Calibration | None = None
    margin: CalibratedMargin | None = None
    rungs: tuple[Rung, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def listed(self) -> tuple[tuple[RuleResult, ...], RuleResult | None]:
        """The rules of the list, and the next rule, which does not stand out."""
        first, *others = zip(self.steps, self.rules, strict=True)
        following = [(step, found[0]) for step, found in others if found]
        rules = (*first[1], *(rule for step, rule in following if step.stands_out))
        return rules, next((rule for step, rule in following if not step.stands_out), None)

    @property
    def evidence(self) -> SearchEvidence | None:
        """How margins were obtained; None if by the number of rules."""
        if self.calibration is None and self.margin is None:
            return None
        return SearchEvidence(calibration=self.calibration, margin=self.margin)


def search_list(
    table: Table,
    problem: Problem,
    question: Question,
    graph: CausalGraph | None,
    deadline: Deadline,
    held_out: HeldOut | None = None,
) -> SearchedList:
    """Search for the list that the question asks for, without the held-out rows."""
    searcher = _Searcher(table, problem, question, graph, deadline, held_out)
    k = question.k if question.is_stepwise else 1
    steps = climb(problem, k, searcher.search, searcher.following)
    rules, rungs = searcher.in_context(steps)
    return SearchedList(
        tuple(steps), rules, searcher.calibration, searcher.margin, rungs, tuple(dict.fromkeys(searcher.notes))
    )


@dataclass
class _Searcher:
    """Searches step by step, and keeps the results."""

    table: Table
    first: Problem
    question: Question
    graph: CausalGraph | None
    deadline: Deadline
    held_out: HeldOut | None = None
    rules: list[tuple[RuleResult, ...]] = field(default_factory=list)
    calibration: Calibration | None = None
    margin: CalibratedMargin | None = None
    notes: list[str] = field(default_factory=list)
    _above: list[tuple[float, str]] = field(default_factory=list)
    _seconds: float = 0.0
    _checkpoint: Checkpoint | None = None
    _packed: Packed | None = None

    def __post_init__(self) -> None:
        if self.question.checkpoint is not None:
            from causalrules.search.checkpoint import Checkpoint

            self._checkpoint = Checkpoint(self.question.checkpoint, self.first, self.question)

    def search(self, problem: Problem, above: Sequence[Rule]) -> Step:
        """Search one step, or restore it from the checkpoint."""
        one = self.question.changed(k=1) if self.question.is_stepwise else self.question
        try:
            question, calibration = with_beta(problem, one, self.deadline)
        except (OptionError, KeyboardInterrupt) as error:  # not enough time to calibrate
            if not above:
                raise
            stopped = "interrupted" if isinstance(error, KeyboardInterrupt) else "time limit"
            return self._unfinished(problem, one, stopped)
        if not above:
            self.calibration = calibration
        packed = problem.pack()
        if not above and problem.n_rows * len(problem.language.propositions) <= _KEPT:
            self._packed = packed
        step = self._known(problem, question, len(above))
        if step is None:
            step = self._searched(problem, packed, question)
        results = rule_results(problem, packed, step.question, step.found, step.margin_scale, step.joint_scale)
        if question.groups is not None and question.estimator == "pooled" and results:
            step, results = self._in_groups(step, results)
        self.rules.append(results)
        if self._checkpoint is not None and step.stands_out and len(self._checkpoint.finished) == len(above):
            self._checkpoint.finished.append(_recorded(step, self.margin if step.margin_scale < 1 else None))
        self._seconds += step.found.progress.seconds
        if step.rule is not None:
            self._above.append((step.found.rules[0][0], describe(step.rule)))
        return step

    def _in_groups(self, step: Step, results: tuple[RuleResult, ...]) -> tuple[Step, tuple[RuleResult, ...]]:
        """Return the rules of a step with p-values that allow for groups, which decide whether the first stands out."""
        results = at_once.tested(step.problem, step.question, results, self.deadline)
        # Rules are tested in order: a p-value is at least that of the rule above.
        least = max((rule.p_value or 0.0 for rule in self.rules[-1]), default=0.0) if self.rules else 0.0
        results = tuple(
            rule if rule.p_value is None else replace(rule, p_value=max(least, rule.p_value)) for rule in results
        )
        p = results[0].p_value
        if p is not None and isinstance(step.question.beta, tuple):
            step = replace(step, stands_out=p <= step.question.error_rate)
        return step, results

    def in_context(self, steps: Sequence[Step]) -> tuple[tuple[tuple[RuleResult, ...], ...], tuple[Rung, ...]]:
        """Return the rules with their effects on their own, and the staircase of the list."""
        first, language = self.first, self.first.language
        ladder = [step.rule for step in steps if step.rule is not None] if self.question.is_stepwise else []
        listed = sum(step.stands_out for step in steps)
        rungs: tuple[Rung, ...] = ()
        if listed == 0 or not ladder:
            return tuple(self.rules), rungs
        packed = first.pack() if self._packed is None else self._packed
        numbers = [tuple(sorted(language.numbers(rule))) for rule in ladder]
        known = [place for place, each in enumerate(numbers) if place == 0 or first.has(each)]
        found = replace(steps[0].found, rules=tuple((0.0, numbers[place]) for place in known))
        alone: dict[int, Alone] = {}
        for place, rule in zip(known, rule_results(first, packed, steps[0].question, found), strict=True):
            if not math.isnan(rule.effect):
                alone[place] = Alone(rule.effect, *rule.interval)
        if not first.has_own_controls and self.question.reference is None:
            decided = not any(rule.n_undecided for found in self.rules[:listed] for rule in found)
            rungs = staircase(first.only, packed, numbers[:listed], decided)
        rules = [
            tuple(replace(rule, alone=alone.get(place)) for rule in found) for place, found in enumerate(self.rules)
        ]
        return tuple(rules), rungs

    def _unfinished(self, problem: Problem, question: Question, stopped: str) -> Step:
        """Return a step that ended before its search began."""
        nothing = run.Progress(0.0, None, math.inf, math.inf, 0)
        found = run.Found((), nothing, optimal=False, stopped=stopped, history=(nothing,))
        self.rules.append(())
        return Step(problem, question, found, stands_out=False)

    def _searched(self, problem: Problem, packed: Packed, question: Question) -> Step:
        scale = problem.comparison.scale
        with self._watched(problem) as watch:
            limited = replace(question, time_limit=self.deadline.left())
            found = run.run(packed, limited, problem.n_rows, scale=scale, watch=watch, checkpoint=self._checkpoint)

        def again(question: Question, floor: float, factor: float) -> run.Found:
            limited = replace(question, time_limit=self.deadline.left())
            return run.run(packed, limited, problem.n_rows, floor=floor, margin_scale=factor, scale=scale)

        stands_out, factor, joint = bool(found.rules) and found.rules[0][0] > 0, 1.0, None
        ratio = partial(ratio_of, packed, problem.comparison, question)
        found = nearest(ratio, question, found, again)
        by_length = question.estimator == "pooled" and isinstance(question.beta, tuple)
        if found.rules and not stands_out and found.optimal and by_length:
            share = 1 / replace(self.question, actionable=self.first.roles.actionable).most_steps
            reached = ratio(found.rules[0][1])
            margin = calibrate_margin(problem, question, self.deadline, share, reached)
            if margin is None and self.deadline.passed:
                self.notes.append(
                    "the time limit ended before shuffled tables could test whether the last rule stands out; with "
                    "more time, it may"
                )
            if margin is not None:
                self.margin, factor, joint = margin, margin.factor, margin.joint
                stands_out = reached > factor
        return Step(problem, question, found, stands_out, factor, joint)

    def _watched(self, problem: Problem) -> AbstractContextManager[Callable[[run.Progress], None] | None]:
        """Show or report the progress of a step, with the best rule as text."""
        propositions, above, seconds = problem.language.propositions, tuple(self._above), self._seconds

        def in_words(conditions: tuple[int, ...]) -> str:
            return describe(propositions[number] for number in conditions)

        def placed(progress: run.Progress) -> run.Progress:
            return replace(progress, step=len(above) + 1, seconds=seconds + progress.seconds)

        def reported(progress: run.Progress) -> None:
            found = progress.found or (((progress.best, progress.conditions),) if progress.best is not None else ())
            texts = (*above, *((value, in_words(each)) for value, each in found))
            self.question.progress(replace(placed(progress), rules=texts))

        shown = reported if callable(self.question.progress) else self.question.progress
        return watching(shown, partial(search_bar, in_words, placed))

    def following(self, above: Sequence[Rule]) -> Problem | None:
        """Return the problem of the next step."""
        target, weights = self.first.roles.target, self.question.weights
        observed = self.table.observed(target, weights, self.question.required(self.first.roles.control))
        if not self.question.own_controls:
            held = hold(self.first.only, above, observed)
            return None if held is None else Problem((held,))
        return self._with_own_controls(above, self.table.observed(target, weights))

    def _with_own_controls(self, above: Sequence[Rule], observed: Table) -> Problem | None:
        """Return the next step where each rule has its own controls, valid together with the columns above."""
        assert self.graph is not None
        fixed = held_columns(self.first.first, above)
        roles, question = self.first.roles, self.question
        rest = tuple(name for name in roles.actionable if name not in fixed)
        if not rest:
            return None
        named = columns(self.table, question.allowed_control, "allowed_control")
        allowed = named or tuple(name for name in self.table.names if name != question.weights)
        found = own_controls(
            self.table, replace(roles, actionable=rest), self.graph, question, allowed, held_fixed=fixed
        )
        between = [each for each in found.left_out if "held fixed" in each.reason]
        if between:
            self.notes.append(
                f"rule {len(above) + 1}: {counted(len(between), 'set')} of columns left out, as what they do by way of "
                "the columns above would not count"
            )
        whole = self.first.first if self.held_out is None else self.held_out.whole or self.first.first
        whole = replace(whole, rows=replace(whole.rows, language=replace(whole.language, allowed_columns=None)))
        combining = Combining(observed.codes, observed.n_records)
        problems, have_all = [], True
        for control, sets in sorted(found.groups.items()):
            one = with_controls(whole, self.table, control, question, combining)
            if one is None:
                continue
            have_all &= one.missing_control is None or not one.missing_control.n_dropped
            held = self._held(one, above, observed)
            if held is not None:
                language = replace(held.language, allowed_columns=tuple(sets))
                if language.allowed_numbers:
                    problems.append(replace(held, rows=replace(held.rows, language=language)))
        return Problem(tuple(problems), None if have_all else self._held(whole, above, observed)) if problems else None

    def _held(self, problem: Adjusted, above: Sequence[Rule], observed: Table) -> Adjusted | None:
        """Return the searched rows of a problem with the columns of the rules above held fixed."""
        return hold(problem if self.held_out is None else self.held_out.searched(problem), above, observed)

    def _known(self, problem: Problem, question: Question, place: int) -> Step | None:
        """Return a step from the checkpoint, if it is there."""
        if self._checkpoint is None or place >= self._checkpoint.saved:
            return None
        try:
            known = self._checkpoint.finished[place]
            self.margin = _margin(known["margin"]) or self.margin
            return _restored(problem, question, known)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise self._checkpoint.damaged("its steps cannot be read") from error


def _recorded(step: Step, margin: CalibratedMargin | None) -> dict[str, Any]:
    """Return a finished step, with the margin from shuffled tables that its rule exceeds, in JSON types."""
    value, conditions = step.found.rules[0]
    progress = step.found.progress
    return {
        "value": value,
        "conditions": [int(each) for each in conditions],
        "upper_bound": progress.upper_bound,
        "gap": progress.gap,
        "nodes": progress.nodes,
        "seconds": progress.seconds,
        "optimal": step.found.optimal,
        "margin_scale": step.margin_scale,
        "margin": None
        if margin is None
        else [margin.factor, margin.confidence, margin.permutations, margin.seed, margin.joint],
    }


def _margin(known: Any) -> CalibratedMargin | None:
    if known is None:
        return None
    factor, confidence, permutations, seed, *joint = known
    each = joint[0] if joint else None
    return CalibratedMargin(
        float(factor), float(confidence), int(permutations), int(seed), None if each is None else float(each)
    )


def _restored(problem: Problem, question: Question, known: Mapping[str, Any]) -> Step:
    value, conditions = float(known["value"]), tuple(int(each) for each in known["conditions"])
    if not conditions or not all(0 <= each < len(problem.language.propositions) for each in conditions):
        raise ValueError("there is no such rule")
    progress = run.Progress(
        float(known["seconds"]), value, float(known["upper_bound"]), float(known["gap"]), int(known["nodes"])
    )
    found = run.Found(((value, conditions),), progress, bool(known["optimal"]), "optimal", (progress,))
    margin = _margin(known["margin"])
    return Step(problem, question, found, True, float(known["margin_scale"]), None if margin is None else margin.joint)


def with_beta(problem: Problem, question: Question, deadline: Deadline) -> tuple[Question, Calibration | None]:
    """Return the question with a number for β, and how it was calibrated."""
    if question.beta != "calibrated":
        beta = question.beta
        if beta is None and question.estimator == "pooled":
            beta = betas(problem.language, question.max_length, question.error_rate)
        return replace(question, beta=DEFAULT_BETA if beta is None else beta), None
    # Half of the time is for the search; a progress function for searches cannot take permutations.
    shown = False if callable(question.progress) else question.progress
    calibration = calibrate(problem, question, seed=question.seed, time_limit=deadline.left(0.5), progress=shown)
    return replace(question, beta=calibration.beta), calibration
