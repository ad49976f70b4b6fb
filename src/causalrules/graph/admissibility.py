"""Check whether roles are an admissible input to causal rule discovery (Definition 1, paper §3.1)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from causalrules.exceptions import DataError
from causalrules.graph.adjustment import Adjustments, adjustments
from causalrules.graph.backdoor import GraphLinks, format_path, unique_names, validate_roles
from causalrules.graph.criteria import Criterion, Role, Violation, assess, unknown_edges_to
from causalrules.graph.graph import CausalGraph, Edge
from causalrules.graph.remedies import Remedies
from causalrules.payload import Plain, from_json
from causalrules.question import OWN_CONTROLS
from causalrules.text import Summarised, listed, plain

Status = Literal["admissible", "violated", "unknown"]

_MAX_SHOWN = 20
_HEADINGS: dict[Status, str] = {"admissible": "Admissible", "violated": "Not admissible", "unknown": "Undetermined"}
# The criteria that concern actionable variables, controls, and context that is not a control.
_ACTIONABLE: tuple[Criterion, ...] = ("a", "b", "c", "d")
_CONTROL: tuple[Criterion, ...] = ("b", "e")
_CONTEXT: tuple[Criterion, ...] = ("d", "f", "g")


@dataclass(frozen=True, repr=False)
class Unknown(Plain):
    """A question that the graph leaves open and that decides about admissibility.

    Parameters
    ----------
    criteria
        The letters of the criteria that depend on the answer.
    edge
        The unknown edge; None if a variable with a role is not in the graph.
    question
        The question in words.
    """

    criteria: tuple[Criterion, ...]
    edge: Edge | None
    question: str


@dataclass(frozen=True, repr=False)
class Admissibility(Summarised, Plain):
    """The result of `check`; true in a boolean context only if the roles are certainly admissible.

    Parameters
    ----------
    status
        "admissible", "violated", or "unknown" if the graph leaves it open.
    target, actionable, control
        The roles that were checked.
    identified
        Whether the effect of every rule, inside every group by the context, is identified by the back-door criterion;
        None if the graph leaves it open. Admissibility is sufficient for that, but not necessary.
    violations
        Every edge or path that violates a criterion.
    unknowns
        Every question that the graph leaves open.
    missing_columns
        The columns of the data that are not in the graph.
    adjustments
        The controls of each rule, if control='auto'.
    context
        The variables that describe groups, also a role that was checked.

    Examples
    --------
    >>> print(check("z -> {x y}; x -> y", target="y", actionable=["x"], control=["z"]))
    Admissible: target y; actionable x; control z.
      The effect of every rule over these variables is identified.
    """

    status: Status
    target: str
    actionable: tuple[str, ...]
    control: tuple[str, ...]
    identified: bool | None
    violations: tuple[Violation, ...] = ()
    unknowns: tuple[Unknown, ...] = ()
    missing_columns: tuple[str, ...] = ()
    adjustments: Adjustments | None = None
    context: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.status == "admissible"

    def summary(self) -> str:
        """Describe the result in plain words.

        Returns
        -------
        str
            The status and the roles, then a line for each violation, fix and open question.

        Examples
        --------
        >>> print(check("x -> y -> z", target="y", actionable=["x"], control=["z"]).summary())
        Not admissible: target y; actionable x; control z.
          (e) the target y causes the control z: holding z fixed biases the effects on y.
              fix: remove z from the controls
        """
        control = listed(self.control) if self.adjustments is None else "chosen for each rule"
        roles = f"target {plain(self.target)}; actionable {listed(self.actionable)}; control {control}"
        roles += f"; context {listed(self.context)}" * bool(self.context)
        lines = [f"{_HEADINGS[self.status]}: {roles}."]
        if self.adjustments is not None:
            return "\n".join([*lines, *(f"  {line}" for line in self.adjustments.summary().splitlines())])
        for violation in self.violations[:_MAX_SHOWN]:
            lines.append(f"  ({violation.criterion}) {violation.reason}")
            lines += [f"      fix: {remedy}" for remedy in violation.remedies]
        for unknown in self.unknowns[:_MAX_SHOWN]:
            lines.append(f"  ({', '.join(unknown.criteria)}?) {unknown.question}")
        for what, found in (("violations", self.violations), ("questions", self.unknowns)):
            if len(found) > _MAX_SHOWN:
                lines.append(f"  and {len(found) - _MAX_SHOWN:,} more {what}.")
        if self.missing_columns:
            lines.append(f"  Columns not in the graph: {listed(self.missing_columns)}.")
        inside = ", also inside every group by the context" * bool(self.context)
        if self.status == "admissible":
            lines.append(f"  The effect of every rule over these variables is identified{inside}.")
        elif self.identified:
            lines.append(f"  The effect of every rule is identified nevertheless{inside}, by the back-door criterion.")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Convert to a dict that JSON can hold.

        Returns
        -------
        dict

        Examples
        --------
        >>> check("x -> y", target="y", actionable=["x"]).to_dict()["status"]
        'admissible'
        """
        saved = asdict(self)
        if not self.context:
            del saved["context"]
        return saved

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Admissibility:
        """Read what `to_dict` wrote, also after a round trip through JSON.

        Parameters
        ----------
        saved
            The dict. Optional fields may be absent; unknown ones are ignored.

        Returns
        -------
        Admissibility

        Raises
        ------
        DataError
            If a field is absent or has the wrong type; the message names it.

        Examples
        --------
        >>> admissibility = check("x -> y", target="y", actionable=["x"])
        >>> Admissibility.from_dict(admissibility.to_dict()) == admissibility
        True
        """
        admissibility: Admissibility = from_json(cls, saved, "admissibility")
        for number, violation in enumerate(admissibility.violations):
            if len(violation.path) < 3 or len(violation.path) % 2 == 0:
                raise DataError(f"admissibility.violations[{number}].path must have names and arrows in turn")
        return admissibility


def admit_each(
    target: str,
    actionable: Sequence[str],
    found: Adjustments,
    missing_columns: Sequence[str] = (),
    context: Sequence[str] = (),
) -> Admissibility:
    """Return the result where each rule has its own controls: rules with valid controls are admissible."""
    return Admissibility(
        "admissible" if found else "violated",
        target,
        tuple(actionable),
        (),
        identified=bool(found),
        missing_columns=tuple(missing_columns),
        adjustments=found,
        context=tuple(context),
    )


def check(
    graph: object,
    *,
    target: str,
    actionable: Iterable[str],
    control: Iterable[str] = (),
    context: Iterable[str] = (),
    latent: Iterable[str] = (),
    columns: Iterable[str] | None = None,
    max_length: int = 4,
) -> Admissibility:
    """Check whether the roles are an admissible input to causal rule discovery.

    Applies Definition 1 of the paper (criteria a to d) and criterion e. If all hold, the effect of every rule over the
    actionable variables is identified. Variables of the graph without a role count as unobserved. With context,
    criteria f and g are applied too, and the effects are identified inside every group of conditions on these columns.

    Parameters
    ----------
    graph
        The causal graph, in any form that `CausalGraph.read` accepts.
    target
        The variable with the outcome.
    actionable
        The variables that rules may contain.
    control
        The variables to adjust for; "auto" finds the controls of each set of actionable variables.
    context
        The variables that describe groups: who benefits, and who should get what. They may be controls too.
    latent
        Variables of the graph that are not observed.
    columns
        The columns of the data, if there is data. Only they are suggested as controls.
    max_length
        Maximum actionable variables of a rule, for "auto".

    Returns
    -------
    Admissibility

    Raises
    ------
    GraphError
        If the graph cannot be read.
    RoleError
        If a variable is neither in the graph nor in `columns`, is latent or has two roles.

    Examples
    --------
    >>> admissibility = check("smoking -> tar -> cancer", target="cancer", actionable=["smoking", "tar"])
    >>> bool(admissibility), admissibility.violations[0].criterion, admissibility.violations[0].edge
    (False, 'c', ('smoking', 'tar'))
    >>> admissibility.violations[0].remedies[0]
    'make smoking a control'
    >>> print(check("age -> {drug pain}; drug -> pain", target="pain", actionable=["drug"], context=["age"]))
    Not admissible: target pain; actionable drug; control none; context age.
      (d) age causes drug, and age is context but not a control: the effect of drug may be confounded.
          fix: make age a control too
          fix: remove drug from the actionable variables
    """
    causal_graph = CausalGraph.read(graph, latent=latent)
    data, w = () if columns is None else unique_names(columns), unique_names(context)
    if isinstance(control, str) and control == OWN_CONTROLS:
        names = sorted(unique_names(actionable))
        roles = {"target": (target,), "actionable": tuple(names), "context": w}
        validate_roles(causal_graph, roles, columns=set(data))
        observed = None if columns is None else data
        found = adjustments(causal_graph, target, names, max_length=max_length, observed=observed, context=w)
        return admit_each(target, names, found, [name for name in data if name not in causal_graph.nodes], w)
    x, z = unique_names(actionable), unique_names(control)
    validate_roles(causal_graph, {"target": (target,), "actionable": x, "control": z}, columns=set(data))
    validate_roles(causal_graph, {"target": (target,), "actionable": x, "context": w}, columns=set(data))
    nodes = set(causal_graph.nodes)
    role: dict[str, Role] = {target: "target"}
    role |= {name: "actionable" for name in x if name in nodes}
    role |= {name: "control" for name in z if name in nodes}

    links = GraphLinks(causal_graph)
    groups = nodes.intersection(w)
    assessment = assess(links, role, groups)
    observable = (nodes if columns is None else nodes.intersection(data)) - causal_graph.latent
    remedies = Remedies(links, role, groups, assessment, observable)
    violations = []
    for violation in assessment.violations.values():
        harmless = violation.key not in assessment.harmful
        fixes = remedies.for_violation(violation)
        violations.append(
            replace(
                violation,
                reason=_reason(violation, role, groups, harmless),
                remedies=tuple(fix.text for fix in fixes),
                harmless=harmless,
                changes=tuple(tuple((change.name, change.role) for change in fix.changes) for fix in fixes),
            )
        )
    absent = list(_unknown_variables(nodes, x, z, w))
    unknowns = (*_unknown_edges(links, role, groups), *absent)
    status: Status = "violated" if violations else "unknown" if unknowns else "admissible"
    identified = None if absent and assessment.identified else assessment.identified
    missing = tuple(name for name in data if name not in nodes)
    return Admissibility(status, target, x, z, identified, tuple(violations), unknowns, missing, context=w)


def _reason(violation: Violation, role: Mapping[str, Role], context: Collection[str], harmless: bool) -> str:
    """Describe a violation and the bias that follows from it."""
    a, b = (plain(name) for name in violation.edge)
    fact = f"{a} causes {b}"
    if violation.path[1] == "<->":
        fact = f"{a} and {b} have an unobserved common cause"
    elif violation.path[1] == "--":
        fact = f"{a} and {b} are connected in an unknown way"
    if violation.criterion == "a":
        harm = f"the effect of {a} on {b} would look like an effect of {b} on {a}"
    elif violation.criterion == "b":
        harm = f"holding the control {b} fixed hides or distorts the effect of {a}"
    elif violation.criterion == "c":
        directed = violation.path[1] == "->"
        confounded = f"the effect of {b} is confounded by {a}" if directed else "one may confound the other"
        harm = f"with both actionable, {confounded}"
    elif violation.is_effect:
        y, z = plain(violation.path[0]), plain(violation.path[-1])
        fact = f"the target {y} causes the {'control' if violation.criterion == 'e' else 'context'} {z}"
        fact += f" ({format_path(violation.path)})" if len(violation.path) > 3 else ""
        harm = f"holding {z} fixed biases the effects on {y}"
        harm = harm if violation.criterion == "e" else f"groups by {z} would be formed by what happened to {y}"
    elif violation.criterion == "f":
        harm = f"groups by the context {b} would be formed by what {a} has done"
    else:
        for name in violation.edge:
            if name not in role:
                what = "is context but not a control" if name in context else "has no role, so it counts as unobserved"
                fact += f", and {plain(name)} {what}"
        x = listed([name for name in violation.edge if role.get(name) == "actionable"])
        passed_on = violation.path[1] == "->" and role.get(violation.edge[0]) == "actionable"
        kept = "a control or the context" if context else "a control"
        harm = f"{b} passes it on to {kept}" if passed_on else f"the effect of {x} may be confounded"
    return f"{fact}. Harmless: the effect is identified by the back-door criterion." if harmless else f"{fact}: {harm}."


def _unknown_edges(links: GraphLinks, role: Mapping[str, Role], context: set[str]) -> Iterator[Unknown]:
    """Yield a question for each unknown edge that violates a criterion in some completion of the graph.

    For criteria e and g, where the completions are too many to enumerate, each edge is considered alone. The status may
    then be "unknown" although several edges together exclude a path from the target to a control or context column.
    """
    if not links.graph.unknown:
        return
    (target,) = (name for name, its_role in role.items() if its_role == "target")
    controls = {name for name, its_role in role.items() if its_role == "control"}
    kinds: tuple[tuple[Criterion, set[str]], ...] = (("e", controls), ("g", context - controls))
    to = [(criterion, unknown_edges_to(links, role, target, names)) for criterion, names in kinds if names]
    for edge in links.graph.unknown:
        roles = {role.get(name): name for name in edge}
        x = roles.get("actionable")
        if x is not None and "target" in roles:
            yield Unknown(("a", "d"), edge, _question(edge, f"{plain(x)} causes {plain(target)}"))
        elif x is not None and "control" in roles:
            yield Unknown(("b", "d"), edge, _question(edge, f"{plain(roles['control'])} causes {plain(x)}"))
        else:
            for criterion, edges in to:
                for a, b in (edge, edge[::-1]):
                    if (a, b) in edges:
                        yield Unknown((criterion,), edge, _question(edge, f"{plain(a)} does not cause {plain(b)}"))
                        break


def _question(edge: Edge, required: str) -> str:
    """Ask how two variables joined by an unknown edge are connected."""
    return f"How are {plain(edge[0])} and {plain(edge[1])} connected? The input is admissible only if {required}."


def _unknown_variables(
    nodes: set[str], actionable: Iterable[str], control: Sequence[str], context: Sequence[str]
) -> Iterator[Unknown]:
    """Yield a question for each variable with a role that is not in the graph."""
    actions: tuple[Criterion, ...] = (*_ACTIONABLE, "f") if context else _ACTIONABLE
    only_context = [name for name in context if name not in control]
    for names, criteria in ((actionable, actions), (control, _CONTROL), (only_context, _CONTEXT)):
        for name in names:
            if name not in nodes:
                question = f"What are the causes and effects of {plain(name)}? It is not in the graph; add it."
                yield Unknown(criteria, None, question)
