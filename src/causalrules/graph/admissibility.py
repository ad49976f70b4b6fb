"""Is the input admissible to causal rule discovery, and what would make it so? (Definition 1, §3.1)"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from causalrules.exceptions import InadmissibleError
from causalrules.graph.assumptions import assumptions
from causalrules.graph.backdoor import Identification, View, as_names, identify_rule, refuse_bad_roles, written
from causalrules.graph.criteria import WORK, Finding, Offence, Role, assess, ways_to_controls
from causalrules.graph.graph import CausalGraph, Edge
from causalrules.text import listed, plain

__all__ = [
    "Admissibility",
    "Identification",
    "InadmissibleError",
    "Unknown",
    "Violation",
    "assumptions",
    "check",
    "identify_rule",
]

Status = Literal["admissible", "violated", "unknown"]

_MOST_SHOWN = 20
_HARMLESS = "It does no harm here: by the back-door test the effect stays identified."


@dataclass(frozen=True)
class Violation:
    """One edge, or one path from the target to a control, that breaks a criterion.

    `edge` is (cause, effect), for criterion e the last one of `path`; `path` alternates names and arrows.
    `harmless` says that the back-door test shows the effect to stay identified in spite of it.
    """

    criterion: str
    edge: Edge
    path: tuple[str, ...]
    reason: str
    remedies: tuple[str, ...] = ()
    harmless: bool = False


@dataclass(frozen=True)
class Unknown:
    """What one would have to know: the kind of an edge, or (edge None) a variable's place in the graph."""

    criteria: tuple[str, ...]
    edge: Edge | None
    question: str


@dataclass(frozen=True)
class Admissibility:
    """Whether the input is admissible; true only if it surely is.

    `identified` says whether the controls satisfy the back-door criterion for every rule all the same; None
    if that cannot be told. Admissibility is sufficient for it, not necessary.
    """

    status: Status
    target: str
    actionable: tuple[str, ...]
    control: tuple[str, ...]
    identified: bool | None
    violations: tuple[Violation, ...] = ()
    unknowns: tuple[Unknown, ...] = ()
    missing_columns: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.status == "admissible"

    def summary(self) -> str:
        """The verdict in plain words, one line for each thing to know."""
        heading = {"admissible": "Admissible", "violated": "Not admissible", "unknown": "Cannot be told"}
        roles = f"target {plain(self.target)}; actionable {listed(self.actionable)}"
        lines = [f"{heading[self.status]}: {roles}; control {listed(self.control)}."]
        for violation in self.violations[:_MOST_SHOWN]:
            lines.append(f"  ({violation.criterion}) {violation.reason}")
            lines += [f"      remedy: {remedy}" for remedy in violation.remedies]
        for unknown in self.unknowns[:_MOST_SHOWN]:
            lines.append(f"  ({', '.join(unknown.criteria)}?) {unknown.question}")
        for what, found in (("violations", self.violations), ("questions", self.unknowns)):
            if len(found) > _MOST_SHOWN:
                lines.append(f"  and {len(found) - _MOST_SHOWN:,} more {what}.")
        if self.missing_columns:
            lines.append(f"  Columns that are not in the graph: {listed(self.missing_columns)}.")
        if self.status == "admissible":
            lines.append("  The effect of every rule over these variables on the target is identified.")
        elif self.identified:
            lines.append("  By the back-door test the effect of every rule stays identified all the same.")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>"

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, texts and booleans, fit for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Admissibility:
        """The verdict that `to_dict` wrote, also after a trip through JSON."""
        fields = _tuples(saved)
        fields["violations"] = tuple(Violation(**_tuples(one)) for one in saved["violations"])
        fields["unknowns"] = tuple(Unknown(**_tuples(one)) for one in saved["unknowns"])
        return cls(**fields)


def _tuples(saved: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in saved.items()}


def check(
    graph: object,
    *,
    target: str,
    actionable: Iterable[str],
    control: Iterable[str] = (),
    latent: Iterable[str] = (),
    columns: Iterable[str] | None = None,
) -> Admissibility:
    """Check whether the roles are an admissible input to causal rule discovery: Definition 1 and criterion e.

    `graph` is whatever `CausalGraph.read` takes; `columns` are those of the data, if there is data.

    >>> verdict = check("smoking -> tar -> cancer", target="cancer", actionable=["smoking", "tar"])
    >>> bool(verdict), verdict.violations[0].criterion, verdict.violations[0].edge
    (False, 'c', ('smoking', 'tar'))
    >>> verdict.violations[0].remedies[0]
    'make smoking a control'
    """
    known = CausalGraph.read(graph, latent=latent)
    data = () if columns is None else as_names(columns)
    x, z = as_names(actionable), as_names(control)
    refuse_bad_roles(known, target, x, z, data if len(data) < 20 else set(data))
    nodes = set(known.nodes)
    role: dict[str, Role] = {target: "target"}
    role |= {name: "actionable" for name in x if name in nodes}
    role |= {name: "control" for name in z if name in nodes}

    view = View(known)
    finding = assess(view, role)
    unknowns = [*_unknown_edges(view, role), *_unknown_variables(nodes, x, z)]
    observable = nodes - known.latent if columns is None else nodes.intersection(data) - known.latent
    remedies = _Remedies(view, role, finding, observable)
    violations = [
        Violation(
            offence.criterion,
            offence.edge,
            offence.path,
            _reason(offence, role, harmless=offence.key not in finding.harmful),
            remedies.for_offence(offence),
            offence.key not in finding.harmful,
        )
        for offence in finding.offences.values()
    ]
    status: Status = "violated" if violations else "unknown" if unknowns else "admissible"
    absent_role = any(unknown.edge is None for unknown in unknowns)
    identified = None if absent_role and finding.identified else finding.identified
    missing = tuple(name for name in data if name not in nodes)
    return Admissibility(status, target, x, z, identified, tuple(violations), tuple(unknowns), missing)


def _reason(offence: Offence, role: Mapping[str, Role], harmless: bool) -> str:
    """One sentence: the fact, and what goes wrong because of it."""
    a, b = (plain(name) for name in offence.edge)
    fact = f"{a} causes {b}"
    if offence.path[1] == "<->":
        fact = f"{a} and {b} have an unobserved common cause"
    elif offence.path[1] == "--":
        fact = f"{a} and {b} are connected, in a way that is not known"
    if offence.criterion == "a":
        harm = f"the effect of {a} on {b} would be taken for an effect of {b} on {a}"
    elif offence.criterion == "b":
        harm = f"holding the control {b} fixed hides or distorts the effect of {a}"
    elif offence.criterion == "c":
        known = offence.path[1] == "->"
        confounded = f"the effect of {b} is confounded by {a}" if known else "one may confound the other"
        harm = f"with both actionable, {confounded}"
    elif offence.criterion == "e":
        y, z = plain(offence.path[0]), plain(offence.path[-1])
        fact = f"the target {y} causes the control {z}"
        fact += f" ({written(offence.path)})" if len(offence.path) > 3 else ""
        harm = f"holding {z} fixed biases the effects on {y}"
    else:
        unobserved = [plain(name) for name in offence.edge if name not in role]
        fact += f", and {unobserved[0]} has no role, so it counts as unobserved" if unobserved else ""
        x = listed([name for name in offence.edge if role.get(name) == "actionable"])
        passed_on = offence.path[1] == "->" and role.get(offence.edge[0]) == "actionable"
        harm = f"{b} passes it on to a control" if passed_on else f"the effect of {x} may be confounded"
    return f"{fact}. {_HARMLESS}" if harmless else f"{fact}: {harm}."


def _unknown_edges(view: View, role: Mapping[str, Role]) -> Iterator[Unknown]:
    """The unknown edges that break a criterion in some reading.

    For criterion e, where there are too many readings to try, each edge is judged by itself: if only several
    together exclude a path from the target to a control, the answer is still that it cannot be told.
    """
    graph = view.graph
    if not graph.unknown:
        return
    (target,) = [name for name, its_role in role.items() if its_role == "target"]
    on_the_way = ways_to_controls(view, role, target)
    for edge in graph.unknown:
        roles = {role.get(name): name for name in edge}
        x = roles.get("actionable")
        if x is not None and "target" in roles:
            yield Unknown(("a", "d"), edge, _question(edge, f"{plain(x)} causes {plain(target)}"))
        elif x is not None and "control" in roles:
            yield Unknown(("b", "d"), edge, _question(edge, f"{plain(roles['control'])} causes {plain(x)}"))
        else:
            for a, b in (edge, edge[::-1]):
                if (a, b) in on_the_way:
                    yield Unknown(("e",), edge, _question(edge, f"{plain(a)} does not cause {plain(b)}"))
                    break


def _question(edge: Edge, wanted: str) -> str:
    return f"How are {plain(edge[0])} and {plain(edge[1])} connected? The input is admissible only if {wanted}."


def _unknown_variables(nodes: set[str], actionable: Sequence[str], control: Sequence[str]) -> Iterator[Unknown]:
    for names, criteria in ((actionable, ("a", "b", "c", "d")), (control, ("b", "e"))):
        for name in names:
            if name not in nodes:
                question = f"What are the causes and effects of {plain(name)}? It is not in the graph; add it."
                yield Unknown(criteria, None, question)


class _Change(NamedTuple):
    name: str
    role: Role | None

    def text(self, before: Mapping[str, Role]) -> str:
        if self.role == "control":
            return f"make {plain(self.name)} a control"
        group = "controls" if before.get(self.name) == "control" else "actionable variables"
        return f"leave {plain(self.name)} out of the {group}"


class _Remedies:
    """The smallest changes of roles that mend an offence, each tried out by checking again."""

    def __init__(self, view: View, role: Mapping[str, Role], finding: Finding, observable: set[str]) -> None:
        self.view, self.role, self.finding, self.observable = view, role, finding, observable
        self.tried: dict[tuple[_Change, ...], Finding | None] = {}
        self.work = 0

    def for_offence(self, offence: Offence) -> tuple[str, ...]:
        singles = [(change,) for change in self._candidates(offence)]
        found = self._that_mend(offence, singles)
        if not found:
            found = self._that_mend(offence, self._pairs(offence, singles))
        return tuple(found) or (f"{singles[-1][0].text(self.role)}, and check again",)

    def _candidates(self, offence: Offence) -> list[_Change]:
        """The role changes that can touch this offence, the one that always ends it last."""
        a, b = offence.edge
        if offence.criterion == "e":
            return [_Change(b, None)]
        actionable = [name for name in (a, b) if self.role.get(name) == "actionable"]
        # A control may affect an actionable variable, so the cause of an edge may become one.
        promoted = offence.path[1] == "->" and offence.criterion in ("c", "d") and b in actionable
        changes = [_Change(a, "control")] if promoted and a in self.observable else []
        if offence.criterion == "b":
            changes.append(_Change(b, None))
        return changes + [_Change(name, None) for name in reversed(actionable)]

    def _pairs(self, offence: Offence, singles: list[tuple[_Change]]) -> list[tuple[_Change, ...]]:
        pairs: dict[tuple[_Change, ...], None] = {}
        for (first,) in singles:
            after = self._after((first,))
            if after is None:
                continue
            for key in [offence.key, *(key for key in after.offences if key not in self.finding.offences)][:8]:
                for second in self._candidates(after.offences.get(key, offence)):
                    if second.name != first.name:
                        pairs[tuple(sorted((first, second), key=lambda change: change.name))] = None
        return list(pairs)

    def _that_mend(self, offence: Offence, trials: Iterable[tuple[_Change, ...]]) -> list[str]:
        clean, harmless = [], []
        for changes in trials:
            after = self._after(changes)
            text = " and ".join(change.text(self.role) for change in changes)
            if after is None:
                continue
            if offence.key not in after.offences and after.offences.keys() <= self.finding.offences.keys():
                clean.append(text)
            elif (
                offence.key in self.finding.harmful
                and offence.key not in after.harmful
                and after.harmful <= self.finding.harmful
            ):
                harmless.append(f"{text} (what remains of this does no harm: the effect is then identified)")
        return clean + harmless

    def _after(self, changes: tuple[_Change, ...]) -> Finding | None:
        """What a check would find after these changes; None once too much work would have been done."""
        if changes not in self.tried:
            self.work += self.view.size * (1 + min(len(self.finding.offences), len(self.role)))
            self.tried[changes] = assess(self.view, self._changed(changes)) if self.work <= WORK else None
        return self.tried[changes]

    def _changed(self, changes: tuple[_Change, ...]) -> dict[str, Role]:
        role = dict(self.role)
        for change in changes:
            role.pop(change.name, None)
            if change.role is not None:
                role[change.name] = change.role
        return role
