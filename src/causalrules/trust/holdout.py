"""Honest effects: rules found on some rows and measured on held-out rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from causalrules.data.reading import read
from causalrules.data.table import Table
from causalrules.estimators import intervals
from causalrules.estimators.intervals import Grouped
from causalrules.estimators.p_values import holm
from causalrules.estimators.sides import Side, comparable, side_of
from causalrules.exceptions import DataError, OptionError, RoleError
from causalrules.language.outcome import resolve_outcome
from causalrules.language.prognostic import targets
from causalrules.options import Share, Whole
from causalrules.question import Question
from causalrules.result.evidence import HonestEffect, HonestRun, with_evidence, with_run
from causalrules.search.adjusted import Adjusted, controls_of, reference_rows
from causalrules.search.deadline import Deadline
from causalrules.search.ladder import divide_like
from causalrules.search.rows import group_codes
from causalrules.text import counted, shorten, unknown_column
from causalrules.trust import chaining, repeat
from causalrules.trust.resample import TooFewRowsError, folds, halves, reweighted, shared_out
from causalrules.trust.stability import NEARLY, similarity

if TYPE_CHECKING:
    from causalrules.language.kinds import OutcomeKind
    from causalrules.result.result import R
    from causalrules.result.rule import RuleResult
    from causalrules.search.problem import Problem


@dataclass(frozen=True)
class _Measured:
    """The effect of a rule on held-out rows, with its interval; None if no row has a comparison group."""

    effect: float | None
    error: float | None
    low: float | None
    high: float | None
    compared: int
    n_rows: int
    found: int = 1
    alike: int = 1
    counts: tuple[tuple[int, int, int, int], ...] = ()

    @classmethod
    def of(
        cls, sides: tuple[Side, Side, Side], kind: OutcomeKind, confidence: float, grouped: Grouped | None
    ) -> _Measured:
        """Measure the effect from the covered rows, the failing rows and all rows."""
        covered, failing, everything = sides
        n_rows = int(everything.n.sum())
        compared = int(everything.n[comparable(covered, failing)].sum())
        counts: tuple[tuple[int, int, int, int], ...] = ()
        if kind.binary:
            table = [covered.total, covered.n - covered.total, failing.total, failing.n - failing.total]
            counts = tuple((a, b, c, d) for a, b, c, d in np.array(table).T.astype(int).tolist())
        if not compared:
            return cls(None, None, None, None, 0, n_rows, counts=counts)
        found = kind.estimate(sides, confidence, grouped)
        return cls(*found, compared, n_rows, counts=counts)


def _honest(rules: R, measured: Sequence[_Measured], splits: int) -> list[HonestEffect]:
    """Add Holm's p-values over all effects, in the direction of the search."""
    sign = -1.0 if rules.question.direction == "decrease" else 1.0
    one_sided = [
        None
        if each.effect is None or not each.error
        else 0.5 * math.erfc(sign * each.effect / each.error / math.sqrt(2))
        for each in measured
    ]
    return [
        HonestEffect(
            n_rows=each.n_rows,
            overlap=each.compared / each.n_rows,
            effect=each.effect,
            standard_error=each.error,
            low=each.low,
            high=each.high,
            p_value=p,
            found=each.found,
            splits=splits,
            counts=each.counts,
            alike=each.alike,
        )
        for each, p in zip(measured, holm(one_sided), strict=True)
    ]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows held out from the search.

    Attributes
    ----------
    source, n_rows, seed
        Their source, their number, and the seed of the split.
    sides
        Returns, for a rule and the problem in which it was found, the covered, failing and all rows.
    grouped
        Returns the standard error that allows for groups; None without groups.
    searched
        Removes these rows from a problem.
    whole
        One of the problems with all rows; None if the rows are from another table.
    """

    source: str
    n_rows: int
    seed: int | None
    sides: Callable[[RuleResult, Adjusted], tuple[Side, Side, Side]]
    grouped: Callable[[RuleResult, Adjusted], Grouped | None]
    searched: Callable[[Adjusted], Adjusted] = lambda problem: problem
    whole: Adjusted | None = None

    def measure(self, rules: R, confidence: float = 0.95) -> R:
        """Return the rules with their effects on these rows."""
        measured = []
        for rule in rules:
            own = rules.problem_of(rule)
            found = self.sides(rule, own), rule.kind, confidence, self.grouped(rule, own)
            measured.append(_Measured.of(*found))
        run = HonestRun(self.source, rules.n_rows, self.n_rows, 1, 1, confidence, self.seed)
        return _with_effects(rules, _honest(rules, measured, 1), run)


def hold_out(problem: Problem, share: float, seed: int = 0) -> tuple[Problem, HeldOut]:
    """Split the problem into rows to search and a share of each stratum to hold out.

    If rules have different controls, the same rows are held out for all: a share of the first problem's strata.
    """
    share, seed = Share()("holdout", share), Whole()("seed", seed)
    kept, chosen = shared_out(problem.first, share, repeat.generator(seed, "split"))
    whole = {each.roles.control: each for each in problem.adjustments}

    def left(other: Adjusted) -> Adjusted:
        whole[other.roles.control] = other
        return reweighted(other, _own(kept, other))

    searched = problem.each(left)
    outcome = searched.first.outcome
    if outcome.min() == outcome.max():
        raise OptionError(
            f"holdout = {share!r} leaves {counted(searched.n_rows, 'row')} to search, all with the same outcome; "
            "hold out fewer"
        )

    @cache
    def others(own: Adjusted) -> Adjusted:
        other = whole[own.roles.control]
        return divide_like(reweighted(other, _own(chosen, other)), own)

    def sides(rule: RuleResult, own: Adjusted) -> tuple[Side, Side, Side]:
        return others(own).compared(others(own).language.numbers(rule.conditions))

    def grouped(rule: RuleResult, own: Adjusted) -> Grouped | None:
        return others(own).grouped(others(own).language.numbers(rule.conditions))

    return searched, HeldOut("holdout", int(chosen.sum()), seed, sides, grouped, left, problem.first)


def _own(counts: NDArray[np.int64], problem: Adjusted) -> NDArray[np.int64]:
    """Return the counts of the rows of a problem, which may lack some of all rows, given those of all rows."""
    if len(counts) == len(problem.stratum):
        return counts
    present = None if problem.controls is None else problem.controls.table.present
    if present is None:
        raise OptionError(
            "with control='auto' and missing controls, not available for rows in files or on workers; read the table "
            "into memory",
            parameter="holdout",
        )
    return counts[present]


def compared_rows(rule: RuleResult, rows: Table, question: Question) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows of a table a rule covers, and which rows it is compared with, by the options."""
    covered = np.ones(rows.n_records, np.bool_)
    possible = covered.copy()
    for condition in rule.conditions:
        known = rows.histogram(condition.column).values
        holds = rows.select(condition.column, condition.holds(known))
        covered &= holds
        if question.missing == "unknown":
            holds = holds | ~rows.select(condition.column, np.ones(len(known), np.bool_))
        possible &= holds
    reference = reference_rows(rows, question)
    if reference is None:
        return covered, ~possible
    chosen = rows.select(*reference)
    return covered & ~chosen, chosen


def second_table(other: Any, problem: Problem, question: Question) -> tuple[Problem, HeldOut]:
    """Take another table as held-out rows, in the language and the strata of the first.

    Also return the problem with the controls of these rows.
    """
    held_out = new_rows(other, problem, question, "the holdout table")
    roles, table = problem.roles, read(other)

    def known(own: Adjusted) -> Adjusted:
        if own.controls is None:
            return own
        rows = table.observed(roles.target, question.weights, question.required(own.roles.control))
        outcome = resolve_outcome(rows, roles.target, roles.outcome.asked)
        return replace(own, second=controls_of(rows, outcome, own.roles.control, question))

    return problem.each(known), held_out


def new_rows(other: Any, problem: Problem, question: Question, name: str) -> HeldOut:
    """Take another table as held-out rows; `name` is its name in errors."""
    table, roles = read(other), problem.roles
    _require(table, roles.target, name)
    rows = table.observed(roles.target, question.weights)
    try:
        outcome = resolve_outcome(rows, roles.target, roles.outcome.asked)
    except RoleError as error:
        raise DataError(f"{name}: {error}") from error
    if outcome.kind != roles.outcome.kind:
        raise DataError(f"{name}: the values of {roles.target!r} have another type; convert them to the same type")
    y = targets(rows, outcome)
    weights = np.ones(rows.n_records) if rows.weights is None else rows.weights

    @cache
    def stratum(own: Adjusted) -> NDArray[np.intp]:
        for column in (*own.roles.control, *own.held_fixed):
            _require(rows, column, name)
        required, place = question.required(own.roles.control), np.zeros(rows.n_records, np.intp)
        everyone = rows.having(required)
        if not everyone.any():
            raise DataError(f"{name}: no row has a value of each control, {shorten(required)}")
        try:
            known = own.strata.index_of(table.observed(roles.target, question.weights, required))
        except DataError as error:
            raise DataError(f"{name}: {error}") from error
        # Rows that lack a control are not compared, and need no stratum of their own.
        place[everyone] = np.unique(known, return_inverse=True)[1]
        return place

    @cache
    def present(own: Adjusted) -> NDArray[np.bool_]:
        return rows.having(question.required(own.roles.control))

    for each in problem.adjustments[:1]:
        stratum(each)

    def sides(rule: RuleResult, own: Adjusted) -> tuple[Side, Side, Side]:
        for condition in rule.conditions:
            if condition.column not in rows.names:
                raise DataError(f"the rule {rule.text!r} on {name}: {unknown_column(condition.column, rows.names)}")
        place, everyone = stratum(own), present(own)
        covered, failing, everything = (
            side_of(place, y, weights, chosen & everyone, int(place.max()) + 1)
            for chosen in (*compared_rows(rule, rows, question), everyone)
        )
        return covered, failing, everything

    group = None
    if question.groups is not None:
        if question.groups not in rows.names:
            raise DataError(f"{name} lacks the groups: {unknown_column(question.groups, rows.names)}")
        group = group_codes(rows, question.groups)

    def grouped(rule: RuleResult, own: Adjusted) -> Grouped | None:
        if group is None:
            return None
        covered, failing = compared_rows(rule, rows, question)
        everyone = present(own)
        return intervals.grouped(stratum(own), y, weights * everyone, (covered & everyone, failing & everyone), group)

    return HeldOut("second table", rows.n_rows, None, sides, grouped)


def _require(table: Table, column: str, name: str) -> None:
    if column not in table.names:
        raise DataError(f"{name} lacks a column of the first: {unknown_column(column, table.names)}")


def confirm(rules: R, table: Any, confidence: float = 0.95) -> R:
    """Implement `RuleSet.confirm`."""
    confidence = Share()("confidence", confidence)
    searched = rules.problem
    if searched is None:
        raise DataError(
            "confirm() needs the strata of the rules, but this result was read from a file, without its rows; "
            "call discover() on the table first"
        )
    return new_rows(table, searched, rules.question, "the table").measure(rules, confidence)


def cross_fit(
    rules: R,
    splits: int = 5,
    seed: int = 0,
    *,
    confidence: float = 0.95,
    n_jobs: int = -1,
    time_limit: float | None = None,
    progress: bool | repeat.Watcher | None = None,
) -> R:
    """Implement `RuleSet.cross_fit`, by forward chaining.

    Rows are shuffled and divided into a first half and `splits` blocks. Each block is measured with the rules found on
    the rows before it (`chaining.block`). Given those rows, the estimate of a block is unbiased, so the errors form a
    martingale, and the variance of the mean is the sum over the blocks. (In cross-validation, the searches share rows,
    and the errors of the parts are dependent.)

    If each rule adds to those above it, the list is searched step by step on the rows before a block, and a rule is
    measured with the columns above it held fixed, as in that search.

    Position j of the list is measured with the j-th rule of each search; `found` counts the blocks where that is the
    rule itself, `alike` those where it is a rule like it. (Matching rules by their rows would use the list of all rows,
    which depends on the outcomes of the blocks: the first rule would then tend to get the block effects that are high
    by chance.)
    """
    deadline = Deadline.after(time_limit)
    splits, seed = Whole(least=2)("splits", splits), Whole()("seed", seed)
    confidence = Share()("confidence", confidence)
    problem = repeat.require_problem(rules, "cross_fit")
    if 2 * splits > problem.n_rows:
        raise TooFewRowsError(f"splits = {splits}: the table has only {counted(problem.n_rows, 'row')}")
    rng = repeat.generator(seed, "split")
    first, later = halves(problem, rng)
    blocks = folds(problem, splits, rng, later)
    before = [first + sum(blocks[:place]) for place in range(splits)]

    def work(searcher: repeat.Searcher, place: int) -> list[repeat.Listed]:
        return searcher.listed(reweighted(problem, before[place]), rules.question, k=max(len(rules), 1))

    lists = list(repeat.in_order(work, splits, n_jobs, "splits", progress, deadline))
    if not lists:
        raise repeat.OutOfTimeError(f"time_limit = {time_limit!r}: none of the {splits} searches ended; raise it")
    blocks = blocks[: len(lists)]
    n_held_out = int(sum(block.sum() for block in blocks))
    measured = []
    for place, rule in enumerate(rules):
        rows = problem.covered(problem.language.numbers(rule.conditions))
        parts, found, alike = [], 0, 0
        for past, counts, listed in zip(before, blocks, lists, strict=False):
            if place < len(listed):
                numbers, step = listed[place]
                # For a single step, the strata are divided already.
                own = problem if step.held_fixed == problem.held_fixed else divide_like(problem, step)
                parts.append(chaining.block(own, numbers, past, counts, problem.frequencies - past))
                others = problem.covered(numbers)
                found += np.array_equal(rows, others)
                alike += similarity(rows, others, problem.frequencies) >= NEARLY
        mean = chaining.mean(parts, rule.kind.binary, confidence, grouped=problem.group is not None)
        effect, error, low, high = (None,) * 4 if mean is None else mean
        compared = sum(part.n_rows for part in parts)
        measured.append(_Measured(effect, error, low, high, compared, n_held_out, found, alike))
    n_searched, n_block = int(before[-1].sum()), int(blocks[-1].sum())
    run = HonestRun("forward chaining", n_searched, n_block, len(lists), splits, confidence, seed)
    return _with_effects(rules, _honest(rules, measured, len(lists)), run)


def _with_effects(rules: R, effects: Sequence[HonestEffect], run: HonestRun) -> R:
    measured = [with_evidence(rule, honest=effect) for rule, effect in zip(rules, effects, strict=True)]
    return with_run(rules, measured, honest=run)
