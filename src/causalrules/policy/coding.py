"""A table, coded for policies: contexts, actions, strata, outcomes and costs of its rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from causalrules.exceptions import DataError, OptionError, RoleError
from causalrules.language.language import build_language
from causalrules.language.outcome import resolve_outcome
from causalrules.language.rules import parse_rule
from causalrules.policy.contexts import Contexts
from causalrules.policy.gain import MOST_DEFAULTS, Floats, Mask, PolicyRows, Search
from causalrules.result.rule import applied
from causalrules.search.intake import admitted, read_graph, read_table, resolve_roles
from causalrules.search.margins import beta_of_rules, count_rules
from causalrules.search.problem import prepare
from causalrules.search.run import threads

if TYPE_CHECKING:
    from causalrules.alerts import Alert
    from causalrules.data.table import Table
    from causalrules.graph.admissibility import Admissibility
    from causalrules.graph.graph import CausalGraph
    from causalrules.language.outcome import Outcome
    from causalrules.question import PolicyQuestion
    from causalrules.search.adjusted import Adjusted
    from causalrules.search.deadline import Deadline

# The values that the name of a column alone stands for.
_YES = ("yes", "Yes", "YES", "y", "true", "True", True, 1)


@dataclass(frozen=True, eq=False)
class Coded:
    """Coded rows, and what is known of them.

    Attributes
    ----------
    rows
        The rows.
    y, cost
        The target in its own values, and what each row cost.
    problem
        The rows in strata, with their roles.
    context, control
        The columns that describe who, and those that are adjusted for.
    by_design
        Whether all actionable columns were drawn by lot, so that strata are those of the controls alone.
    graph, admissibility
        The causal graph and its check, if any.
    notes, alerts
        Remarks on the rows, and what can mislead.
    """

    rows: PolicyRows
    y: Floats
    cost: Floats
    problem: Adjusted
    context: tuple[str, ...]
    control: tuple[str, ...]
    by_design: bool
    table: Table
    graph: CausalGraph | None
    admissibility: Admissibility | None
    notes: tuple[str, ...]
    alerts: tuple[Alert, ...]

    @property
    def sign(self) -> float:
        """−1 if the target is to decrease."""
        return -1.0 if self.problem.comparison.decrease else 1.0

    def search(self, question: PolicyQuestion, deadline: Deadline) -> Search:
        """Return the search for a policy on these rows."""
        n, rows = float(self.rows.n.sum()), self.rows
        return Search(
            rows=rows,
            most=question.k,
            betas=betas(rows, question.max_length or 1, question.error_rate),
            least=max(1.0, question.min_coverage * n),
            max_length=question.max_length or 1,
            n_threads=threads(question.n_jobs),
            deadline=deadline,
        )


def betas(rows: PolicyRows, max_length: int, error_rate: float) -> list[list[float]]:
    """Return β by the number of conditions on context and action, by the number of pairs of these lengths.

    The error rate is divided among the lengths, and among the defaults that are tried.
    """
    max_context = rows.contexts.max_context
    contexts = count_rules(rows.contexts.language, max_context)
    actions = count_rules(rows.actions.language, max_length)
    rate = error_rate / ((max_context + 1) * max_length * (1 + MOST_DEFAULTS))
    return [[0.0, *(beta_of_rules(many * each, rate) for each in actions[1:])] for many in contexts]


def coded_rows(data: Any, question: PolicyQuestion, deadline: Deadline) -> Coded:
    """Read a table and code its rows."""
    asked = question.about_all(cuts=None)
    if question.own_controls:
        raise RoleError("name the controls: policies compare actions with the same controls", parameter="control")
    graph = read_graph(asked)
    table = read_table(data, asked, deadline)
    if table.storage != "memory":
        raise DataError("prescribe needs the rows in memory; read the table, or a sample of it, into memory first")
    context = question.contexts or question.controls
    if not context:
        raise RoleError("name the columns that describe who, as in context=['age', 'region']", parameter="context")
    roles = resolve_roles(table, asked, graph, context=context)
    by_design = set(roles.actionable) <= set(question.randomised)
    if not by_design:
        # People choose actions by their context too: it is adjusted for, as controls are.
        roles = replace(roles, control=tuple(sorted({*roles.control, *roles.context})))
    admissibility = admitted(table, roles, graph, asked)
    context, control = roles.context, roles.control
    if not by_design:
        complete = table.observed(roles.target, question.weights, question.required(control))
        if not complete.n_rows:
            raise DataError("no row has a value of each control and context column; leave one out")
        roles = replace(roles, outcome=resolve_outcome(complete, roles.target, roles.outcome.asked))
    cuts = dict(question.cuts or {})
    own = {column: points for column, points in cuts.items() if column in {*roles.actionable, *control}}
    problem = prepare(table, roles, replace(asked, control=control, cuts=own or None)).only
    assert problem.controls is not None
    found, local = problem.controls.table, problem.rows.local
    about = {column: points for column, points in cuts.items() if column in context}
    language = build_language(found, context, question.max_bins, about, question.categorical)
    if not len(language.propositions):
        raise RoleError("no condition can be put on the context columns", parameter="context")
    sign = -1.0 if question.direction == "decrease" else 1.0
    y, cost = problem.controls.y, _costs(found, question.cost, roles.actionable)
    rows = PolicyRows(
        contexts=Contexts.of(found, language, question.max_context),
        actions=Contexts(
            problem.language, tuple(each.astype(np.int32) for each in local.columns), question.max_length or 1
        ),
        stratum=local.stratum.astype(np.intp),
        n=problem.frequencies.astype(np.float64),
        y=sign * y,
        cost=cost,
        group=None if local.group is None else np.unique(local.group, return_inverse=True)[1],
        baseline=_baseline(found, question.baseline, roles.actionable),
    )
    return Coded(
        rows=rows,
        y=y + float(roles.outcome.centre),
        cost=cost,
        problem=problem,
        context=context,
        control=control,
        by_design=by_design,
        table=table,
        graph=graph,
        admissibility=admissibility,
        notes=tuple(dict.fromkeys((*problem.notes, *language.notes))),
        alerts=problem.alerts,
    )


def _costs(table: Table, costs: Any, actionable: Collection[str]) -> Floats:
    """Return what each row cost: the costs of all conditions that it satisfies."""
    total = np.zeros(table.n_records)
    for text, cost in costs or ():
        conditions = parse_rule(_with_value(text, table), table)
        for condition in conditions:
            if condition.column not in actionable:
                raise OptionError(
                    f"nobody acts on {condition.column!r}; costs are of conditions on actionable columns",
                    parameter="cost",
                    value=repr(text),
                )
        total += cost * applied(conditions, table)[0]
    return total


def _with_value(text: str, table: Table) -> str:
    """Return a condition as text; the name of a column of yes and no alone means its yes."""
    if text not in table.names:
        return text
    values = list(table.histogram(text).values[:3])
    yes = [value for value in values if value in _YES]
    if len(values) != 2 or len(yes) != 1:
        raise OptionError(
            f"column {text!r} is not one of yes and no (or 1 and 0); name a condition, as in '{text} >= 10'",
            parameter="cost",
            value=repr(text),
        )
    name = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"{name} = {yes[0]}"


def _baseline(table: Table, baseline: Any, actionable: Sequence[str]) -> Mask | None:
    if baseline is None:
        return None
    column, value = next(iter(baseline.items())) if isinstance(baseline, Mapping) else baseline
    if column not in actionable:
        raise RoleError(f"nobody acts on {column!r}; name an actionable column", parameter="baseline")
    found: Outcome = resolve_outcome(table, column, value)
    chosen = table.select(column, found.satisfied)
    if not chosen.any():
        raise RoleError(f"no row has the value {value!r} in {column!r}", parameter="baseline")
    return chosen
