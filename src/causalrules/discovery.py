"""discover() and evaluate(): from a table to its rules."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from causalrules import __version__
from causalrules.data.columns import code_type
from causalrules.exceptions import RoleError
from causalrules.language.propositions import describe
from causalrules.language.rules import language_of, parse_rule
from causalrules.options import is_number
from causalrules.question import OWN_CONTROLS, Question, asks, asks_about
from causalrules.result.columns import column_alerts
from causalrules.result.measure import rule_results
from causalrules.result.named import tested
from causalrules.result.result import Named, Searched, with_graph
from causalrules.result.steps import history, proof
from causalrules.rules import RuleSet
from causalrules.search import run as search
from causalrules.search.deadline import Deadline
from causalrules.search.intake import (
    admitted,
    found_controls,
    read_graph,
    read_table,
    refuse_other_conditions,
    resolve_roles,
)
from causalrules.search.ladder import Step
from causalrules.search.margins import beta_of_rules
from causalrules.search.problem import Problem, prepare
from causalrules.search.rows import excludes_reference
from causalrules.stepwise import SearchedList, search_list, with_beta
from causalrules.text import plain, together
from causalrules.trust.declared import check_declared

if TYPE_CHECKING:
    from causalrules.data.table import Table
    from causalrules.graph.graph import CausalGraph
    from causalrules.language.missing import MissingControls
    from causalrules.language.propositions import Proposition
    from causalrules.result.evidence import Calibration
    from causalrules.result.rule import RuleResult
    from causalrules.trust.holdout import HeldOut


@asks(Question)
def discover(data: Any, question: Question) -> RuleSet:
    """Find the k rules with the highest conservative effect on the outcome, adjusted for the controls.

    Parameters
    ----------
    data
        A pandas, Polars, Arrow or Dask table, a DuckDB relation, a dict of columns, or a path to a CSV, TSV or Parquet
        file (also gzipped), or to many of them ("part-*.parquet").
    {options}

    Returns
    -------
    RuleSet
        The rules, best first, with what is proven about them.

    Raises
    ------
    InputError
        If the data, the roles or an option cannot be used; the message says which value, where, and how to fix it.

    Examples
    --------
    >>> import causalrules as cr
    >>> rules = cr.discover(cr.datasets.titanic(), "survived", actionable=["class", "sex"], k=1)
    >>> print(rules[0])
    class ≤ 2 ∧ sex = female
    """
    deadline = Deadline.after(question.time_limit)
    graph = read_graph(question)
    table = read_table(data, question, deadline)
    roles = resolve_roles(table, question, graph)
    admissibility = admitted(table, roles, graph, question)
    problem = prepare(table, roles, question, found_controls(admissibility))
    problem, held_out = _hold_out(problem, question)
    searched = search_list(table, problem, question, graph, deadline, held_out)
    found = _by_models(_result(data, question, searched), deadline)
    result = with_graph(_alerted(found, table, graph), graph, admissibility)
    return result if held_out is None else held_out.measure(result)


@asks_about(Question)
def evaluate(data: Any, rule: Any, question: Question) -> RuleSet:
    """Measure rules that are named in advance, instead of searching for them.

    Parameters
    ----------
    data
        Whatever `discover` reads.
    rule
        A rule as text, such as "class <= 2 and sex = female", its conditions, or a list of rules. Names and values
        that hold signs such as = stand in double quotes.
    {options}

    Returns
    -------
    RuleSet
        The rules in the order in which they are given. Conservative effects and p-values are two-sided, whatever
        `direction` asks, and allow for the number of rules given, not for a search. With `groups`, p-values and
        intervals allow for the groups.

    Examples
    --------
    >>> import causalrules as cr
    >>> rules = cr.evaluate(cr.datasets.titanic(), "class <= 2 and sex = female", "survived")
    >>> print(f"{rules[0].effect:.3f}, from {rules[0].interval.low:.3f} to {rules[0].interval.high:.3f}")
    0.696, from 0.640 to 0.735
    """
    return measure_named(data, rule, question)


def measure_named(data: Any, rule: Any, question: Question) -> RuleSet:
    """Implement `evaluate`."""
    deadline = Deadline.after(question.time_limit)
    graph = read_graph(question)
    table = read_table(data, question, deadline)
    listed = rule if isinstance(rule, list) else [rule]
    named = [parse_rule(each, table) if isinstance(each, str) else tuple(each) for each in listed]
    sets = [sorted({condition.column for condition in conditions}) for conditions in named]
    for conditions in named:
        refuse_other_conditions(question, conditions)
    actions = question.actions or sorted({column for columns in sets for column in columns})
    roles = resolve_roles(table, replace(question, actionable=actions), graph, named=True)
    admissibility = admitted(table, roles, graph, question, sets)
    language = language_of(named, table.observed(roles.target, question.weights, question.required(roles.control)))
    problem = prepare(table, roles, question, found_controls(admissibility), language)
    if question.beta is None and question.estimator == "pooled":
        # Half of the error rate for each direction.
        question = replace(question, beta=(0.0, beta_of_rules(2 * len(named), question.error_rate)))
    question, calibration = with_beta(problem, question, deadline)
    measured = _by_models(_measured(data, problem, named, question, calibration), deadline)
    return with_graph(_alerted(measured, table, graph), graph, admissibility)


def evaluate_like(rules: RuleSet, table: Table, texts: Sequence[str]) -> RuleSet | None:
    """Measure rules in the table of a result, with its strata and its margin; None if that needs `evaluate`.

    Takes milliseconds: models of the controls are not refitted.
    """
    problem, question = rules.problem, rules.question
    if problem is None or problem.has_own_controls or not problem.is_local or question.reference is not None:
        return None
    rows = problem.only.rows.local
    observed = table.observed(question.target, question.weights, question.required(problem.only.roles.control))
    if rows.record is not None or len(rows.stratum) != observed.n_records:
        return None  # some rows were held out
    named = [parse_rule(text, table) for text in texts]
    language = language_of(named, observed)
    columns = tuple(
        observed.codes(name, ends).astype(code_type(len(ends))) for name, ends in sorted(language.ends.items())
    )
    coded = Problem((problem.only.with_rows(language=language, columns=columns),))
    measured = replace(_measured(None, coded, named, question), declared=rules.declared, alerts=rules.alerts)
    return with_graph(measured, rules.graph, rules.admissibility)


def _measured(
    data: Any,
    problem: Problem,
    named: Sequence[tuple[Proposition, ...]],
    question: Question,
    calibration: Calibration | None = None,
) -> RuleSet:
    """Measure rules that are named instead of searched for."""
    number = {condition: index for index, condition in enumerate(problem.language.propositions)}
    rules = tuple((0.0, tuple(number[condition] for condition in conditions)) for conditions in named)
    if question.reference is not None:
        column, value = question.reference
        for conditions, (_, numbers) in zip(named, rules, strict=True):
            if not excludes_reference(problem.of(numbers).rows, numbers):
                raise RoleError(
                    f"{describe(conditions)!r} does not exclude the reference rows, {plain(column)} = "
                    f"{plain(str(value))}; name other values of {plain(column)}",
                    parameter="rule",
                )
    nothing = search.Progress(0.0, None, -math.inf, 0.0, 0)
    found = search.Found(rules, nothing, optimal=True, stopped=Named.stopped, history=(nothing,))
    step = Step(problem, question, found, stands_out=True)
    measured = tested(rule_results(problem, problem.pack(), question, found))
    return replace(_result(data, question, SearchedList((step,), (measured,), calibration)), origin=Named())


def _by_models(rules: RuleSet, deadline: Deadline) -> RuleSet:
    """Return the rules with their doubly robust effects, where strata may leave confounding and it takes seconds."""
    question = rules.question
    if deadline.passed or not any(rule.measured.may_confound for rule in rules):
        return rules
    from causalrules.trust import registry
    from causalrules.trust.doubly_robust import is_quick

    if not is_quick(rules):
        return rules
    shown = False if callable(question.progress) else question.progress
    limit = deadline.left()
    return registry.run("doubly_robust", rules, n_jobs=question.n_jobs, time_limit=limit, progress=shown, due=True)


def _result(data: Any, question: Question, searched: SearchedList) -> RuleSet:
    """Combine the rules found with what is proven about them."""
    first, last = searched.steps[0], searched.steps[-1]
    problem = first.problem
    rules, nearest = searched.listed
    missing = _missing_controls(problem, rules)
    steps = tuple(proof(step, found) for step, found in zip(searched.steps, searched.rules, strict=True))
    return RuleSet(
        rules=rules,
        question=_answered(replace(question, beta=first.question.beta), problem),
        origin=Searched(
            optimal=all(step.optimal for step in steps),
            upper_bound=steps[0].upper_bound,
            gap=steps[-1].gap,
            stopped=last.found.stopped,
            nodes=sum(step.nodes for step in steps),
            seconds=sum(step.seconds for step in steps),
            steps=steps,
            history=history(searched.steps, searched.rules),
        ),
        n_rows=problem.n_rows,
        n_dropped=problem.n_dropped,
        n_incomplete=problem.n_incomplete,
        n_strata=problem.n_strata,
        n_propositions=len(problem.language.propositions),
        alerts=(*(each.alert for each in missing if each.are_many), *problem.alerts),
        notes=together([*(each.note for each in missing if not each.are_many), *searched.notes, *problem.notes]),
        versions={"causalrules": __version__, "python": platform.python_version()},
        source=os.path.basename(os.fspath(data)) if isinstance(data, (str, os.PathLike)) else None,
        library=problem.library,
        evidence=searched.evidence,
        nearest=nearest,
        rungs=searched.rungs,
        ladder=searched.steps,
    )


def _missing_controls(problem: Problem, rules: Sequence[RuleResult]) -> list[MissingControls]:
    """Return the rows that lack a control: of all rules, or of each that is listed if they have different controls."""
    found = [problem.only.missing_control] if problem.is_single else [rule.missing_control for rule in rules]
    return list(dict.fromkeys(each for each in found if each is not None))


def _alerted(rules: RuleSet, table: Table, graph: CausalGraph | None) -> RuleSet:
    """Add what can mislead about the columns of the rules, and about those declared randomised."""
    return check_declared(replace(rules, alerts=(*column_alerts(rules), *rules.alerts)), table, graph)


def _hold_out(problem: Problem, question: Question) -> tuple[Problem, HeldOut | None]:
    """Return the rows to search, and the held-out rows, if any."""
    if question.holdout is None:
        return problem, None
    from causalrules.trust import holdout

    if is_number(question.holdout):
        return holdout.hold_out(problem, question.holdout, question.seed)
    return holdout.second_table(question.holdout, problem, question)


def _answered(question: Question, problem: Problem) -> Question:
    """Return the question as stored with the result: roles by name, the rest in JSON types."""
    roles = problem.roles
    return question.answered(
        outcome=roles.outcome.text,
        control=roles.control if problem.language.allowed_columns is None else OWN_CONTROLS,
        actionable=roles.actionable,
        holdout=question.holdout if is_number(question.holdout) else None,
    )
