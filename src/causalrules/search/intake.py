"""From data and a question to a table whose roles are resolved and admitted by the causal graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from causalrules.data.reading import is_dask, read
from causalrules.data.table import Table
from causalrules.exceptions import InadmissibleError, RoleError
from causalrules.language.propositions import Proposition, describe
from causalrules.language.roles import Roles, check_randomised, resolve
from causalrules.language.roles import columns as named_columns
from causalrules.question import Question
from causalrules.search.deadline import Deadline
from causalrules.search.problem import own_controls
from causalrules.text import listed, plain, shorten

if TYPE_CHECKING:
    from causalrules.graph.adjustment import Adjustments
    from causalrules.graph.admissibility import Admissibility
    from causalrules.graph.graph import CausalGraph


def read_graph(question: Question) -> CausalGraph | None:
    """Return the causal graph of a question, if there is one."""
    if question.graph is None:
        return None
    from causalrules.graph.graph import CausalGraph

    return CausalGraph.read(question.graph, question.latent)


def read_table(data: Any, question: Question, deadline: Deadline) -> Table:
    """Read the table of a question, unless it is read already."""
    if isinstance(data, Table):
        return data
    if is_dask(data):
        from causalrules.data.dask import read_dask

        return read_dask(data, question.client, question.target, question.weights)
    return read(data, question.na_values, question.query, deadline.left(), question.keep_default_na)


def resolve_roles(
    table: Table,
    question: Question,
    graph: CausalGraph | None,
    named: bool = False,
    context: Sequence[str] = (),
) -> Roles:
    """Resolve the roles; where each rule has its own controls, the graph decides what can be actionable.

    With reference rows, it is their column alone.
    """
    target, outcome, actionable, control = question.target, question.outcome, question.actionable, question.control
    if question.reference is not None:
        column, _ = question.reference
        if others := [name for name in question.actions if name != column]:
            raise _other_columns(question, others, "actionable", shorten(others))
        actionable = named_columns(table, [column], "reference")
    if question.own_controls:
        if graph is None:
            raise RoleError(
                "'auto' chooses controls by a causal graph: give graph=, or name the columns "
                "(a column called auto as ['auto'])",
                parameter="control",
            )
        control = None
        if actionable is None:
            taken = {target, question.weights, question.groups, *graph.latent}
            actionable = [name for name in graph.nodes if name in table.names and name not in taken]
    roles = resolve(
        table,
        target,
        outcome,
        actionable,
        control,
        question.weights,
        question.groups,
        question.missing_control,
        named,
        context,
    )
    check_randomised(table, roles, question.randomised)
    return roles


def refuse_other_conditions(question: Question, rule: Sequence[Proposition]) -> None:
    """Raise a RoleError if a rule has conditions on other columns than that of the reference rows."""
    if question.reference is not None:
        column, _ = question.reference
        if others := sorted({condition.column for condition in rule} - {column}):
            action = describe([condition for condition in rule if condition.column == column])
            raise _other_columns(question, others, "rule", repr(describe(rule)), action)


def _other_columns(
    question: Question, others: Sequence[str], parameter: str, given: str, action: str = ""
) -> RoleError:
    """Return the error that rules compared with reference rows have conditions on other columns.

    Reference rows need not satisfy these: such rules would compare the treated of a group with the untreated of
    everybody.
    """
    assert question.reference is not None
    column, value = question.reference
    action = action or f"{column} = …"
    return RoleError(
        f"the reference rows are all rows of {plain(column)} = {plain(str(value))}, whatever their "
        f"{listed(others, 'or')}; give conditions on {plain(column)} alone, and ask for whom it works with context: "
        f"cr.for_whom(data, {action!r}, target={question.target!r}, context=[{shorten(others)}], "
        f"reference={{{column!r}: {value!r}}})",
        parameter=parameter,
        value=given,
    )


def found_controls(admissibility: Admissibility | None) -> Adjustments | None:
    """Return the controls of each set of columns, if the check of the roles found some."""
    return None if admissibility is None else admissibility.adjustments


def admitted(
    table: Table,
    roles: Roles,
    graph: CausalGraph | None,
    question: Question,
    sets: Sequence[Sequence[str]] | None = None,
) -> Admissibility | None:
    """Check the roles by the graph, and raise an InadmissibleError unless that is allowed.

    `sets` are the columns of each rule, where rules are named; each must then have controls.
    """
    if graph is None:
        return None
    from causalrules.graph.admissibility import admit_each, check

    columns = [name for name in table.names if name != question.weights]
    if question.own_controls:
        allowed = named_columns(table, question.allowed_control, "allowed_control") or columns
        found = own_controls(table, roles, graph, question, allowed, sets)
        absent = [name for name in columns if name not in graph.nodes]
        checked = admit_each(roles.target, roles.actionable, found, absent, roles.context)
        if not checked or (sets is not None and found.left_out):
            raise InadmissibleError(checked)
        return checked
    checked = check(
        graph,
        target=roles.target,
        actionable=roles.actionable,
        control=roles.control,
        context=roles.context,
        columns=columns,
    )
    if not checked and not question.allow_inadmissible:
        raise InadmissibleError(checked)
    return checked
