"""Is the input admissible to causal rule discovery, and what would make it so? (Definition 1, §3.1)

For actionable variables X, target Y and controls Z, where a variable without a role counts as unobserved:
(a) no edge from Y to X, (b) no edge from X to Z, (c) no edge between actionable variables,
(d) no edge between an unobserved variable and X, and, added to the paper's list because Theorem 1 needs it,
(e) no control is an effect of Y, directly or through variables without a role.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from causalrules.backdoor import (
    HEAD,
    TAIL,
    RuleVerdict,
    View,
    ancestors,
    as_names,
    effects,
    identify_rule,
    open_paths,
    path_to,
    readings,
    refuse_bad_roles,
    written,
)
from causalrules.exceptions import RoleError
from causalrules.graph import CausalGraph, Edge
from causalrules.names import listed, plain

__all__ = [
    "InadmissibleError",
    "RuleVerdict",
    "Unknown",
    "Verdict",
    "Violation",
    "assumptions",
    "check",
    "identify_rule",
]

Status = Literal["admissible", "violated", "unknown"]
Role = Literal["target", "actionable", "control"]
Key = tuple[str, ...]  # what makes two offences the same: the edge, or for criterion e the control

# The back-door test is run for each suspicious variable, and remedies are tried by checking again. On a graph
# where this would take more than some seconds the rest stays untested: nothing is then called harmless.
_WORK = 1_000_000
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
class Verdict:
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
        for violation in self.violations:
            lines.append(f"  ({violation.criterion}) {violation.reason}")
            lines += [f"      remedy: {remedy}" for remedy in violation.remedies]
        lines += [f"  ({', '.join(unknown.criteria)}?) {unknown.question}" for unknown in self.unknowns]
        if self.missing_columns:
            lines.append(f"  Columns that are not in the graph: {listed(self.missing_columns)}.")
        if self.status == "admissible":
            lines.append("  The effect of every rule over these variables on the target is identified.")
        elif self.identified:
            lines.append("  By the back-door test the effect of every rule stays identified all the same.")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, texts and booleans, fit for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Verdict:
        """The verdict that `to_dict` wrote, also after a trip through JSON."""
        fields = _tuples(saved)
        fields["violations"] = tuple(Violation(**_tuples(one)) for one in saved["violations"])
        fields["unknowns"] = tuple(Unknown(**_tuples(one)) for one in saved["unknowns"])
        return cls(**fields)


def _tuples(saved: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in saved.items()}


class InadmissibleError(RoleError):
    """The input is not admissible, or it cannot be told; `verdict` says why and what would mend it."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.summary())
        self.verdict = verdict


def check(
    graph: object,
    *,
    target: str,
    actionable: Iterable[str],
    control: Iterable[str] = (),
    latent: Iterable[str] = (),
    columns: Iterable[str] | None = None,
) -> Verdict:
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
    finding = _assess(view, role)
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
    return Verdict(status, target, x, z, identified, tuple(violations), tuple(unknowns), missing)


def assumptions(target: str, actionable: Sequence[str], control: Sequence[str] = ()) -> tuple[str, ...]:
    """What the reader of rules assumes where no causal graph was given: criteria (a) to (e), with the names.

    >>> assumptions("survived", ["class", "age"], ["sex"])[3]
    '(d) nothing unobserved is a cause or an effect of class or age'
    """
    x, y, z = listed(actionable, "or"), plain(target), listed(control, "or")
    said = [f"(a) no effect of {y} on {x}"]
    if control:
        said.append(f"(b) no effect of {x} on {z}")
    if len(actionable) > 1:
        said.append(f"(c) no effect of {x} on one another")
    said.append(f"(d) nothing unobserved is a cause or an effect of {x}")
    if control:
        said.append(f"(e) no effect of {y} on {z}, direct or indirect")
    return tuple(said)


class _Offence(NamedTuple):
    criterion: str
    edge: Edge
    path: tuple[str, ...]
    key: Key


class _Finding(NamedTuple):
    offences: dict[Key, _Offence]
    harmful: set[Key]  # or not shown to be harmless
    identified: bool | None


def _offences(view: View, role: Mapping[str, Role]) -> Iterator[_Offence]:
    """Everything that breaks a criterion however the unknown edges are read.

    Nothing else does so in all readings: with the other unknown edges read as X → Y, Z → X or as a latent
    common cause away from X, no directed path is added that leads back, and no criterion is broken.
    """
    graph = view.graph
    (target,) = [name for name, its_role in role.items() if its_role == "target"]
    for arrow, edges in (("->", graph.directed), ("<->", graph.bidirected), ("--", graph.unknown)):
        for a, b in edges:
            roles = (role.get(a), role.get(b))
            if "actionable" not in roles:
                continue
            if arrow == "<->" or None in roles:
                criterion = "d"
            elif roles == ("actionable", "actionable"):
                criterion = "c"
            elif arrow == "--" or roles[1] == "target" or roles[0] == "control":
                continue
            else:
                criterion = "a" if roles[0] == "target" else "b"
            yield _Offence(criterion, (a, b), (a, arrow, b), (a, arrow, b))
    roleless = {name for name in graph.nodes if name not in role}
    came = effects(view.certain, target, through=roleless)
    for name in came:
        if role.get(name) == "control":
            path = path_to(came, name)
            yield _Offence("e", (path[-3], name), path, ("e", name))


def _assess(view: View, role: Mapping[str, Role]) -> _Finding:
    """The offences, and by the back-door test whether they matter.

    It is enough to test one actionable variable at a time: a path that is open for several of them together
    is open for the one it begins at. And every open path begins with an offending (or unknown) edge, since
    one that begins at a control is blocked there.
    """
    offences = {
        offence.key: offence for offence in sorted(_offences(view, role), key=lambda one: one.criterion)
    }
    controls = {name for name, its_role in role.items() if its_role == "control"}
    (target,) = [name for name, its_role in role.items() if its_role == "target"]
    surely, perhaps = ancestors(view.certain, controls), ancestors(view.possible, controls)
    actionable = [name for name, its_role in role.items() if its_role == "actionable"]
    broken = any(name in surely for name in actionable)
    doubtful = any(name in perhaps for name in actionable)

    at: dict[str, list[_Offence]] = {}
    for offence in offences.values():
        if offence.criterion != "e":
            for name in offence.edge:
                if role.get(name) == "actionable":
                    at.setdefault(name, []).append(offence)
    unknown = {name for edge in view.graph.unknown for name in edge if role.get(name) == "actionable"}
    suspects = list(dict.fromkeys([*at, *(name for name in actionable if name in unknown)]))
    harmful: set[Key] = set()
    work = 0
    for name in suspects:
        work += view.size
        if work > _WORK:
            doubtful = True
            harmful.update(offence.key for offence in at.get(name, ()))
            continue
        entries = {edge[0] for edge, _ in open_paths(view.possible, target, {name}, controls, perhaps)}
        outwards = {other for other, here, _, _ in view.possible[name] if here == TAIL}
        doubtful |= bool(entries)
        if entries and not broken:
            broken = any(True for _ in open_paths(view.certain, target, {name}, controls, surely))
        for offence in at.get(name, ()):
            other = offence.edge[1] if offence.edge[0] == name else offence.edge[0]
            if other in entries or (other in outwards and other in perhaps):
                harmful.add(offence.key)
    identified = False if broken else None if doubtful else True
    if not identified:
        harmful.update(key for key, offence in offences.items() if offence.criterion == "e")
    return _Finding(offences, harmful, identified)


def _reason(offence: _Offence, role: Mapping[str, Role], harmless: bool) -> str:
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
    on_the_way = _ways_to_controls(view, role, target)
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


def _ways_to_controls(view: View, role: Mapping[str, Role], target: str) -> set[Edge]:
    """The unknown edges, in the direction in which the target may by them affect a control (criterion e)."""
    controls = {name for name, its_role in role.items() if its_role == "control"}
    unknown = {edge for pair in view.graph.unknown for edge in (pair, pair[::-1])}
    if view.has_few_readings:
        found: set[Edge] = set()
        roleless = {name for name in view.graph.nodes if name not in role}
        for reading in readings(view.graph):
            came = effects(View(reading).certain, target, through=roleless)
            for control in controls.intersection(came):
                names = path_to(came, control)[::2]
                found.update(edge for edge in pairwise(names) if edge in unknown)
        return found
    # What affects the target cannot also be its effect: that would be a cycle.
    causes = ancestors(view.certain, [target]) - {target}
    roleless = {name for name in view.graph.nodes if name not in role and name not in causes}
    after = effects(view.possible, target, through=roleless, but=causes)
    before = controls - causes
    waiting = list(before)
    while waiting:
        for other, here, there, _ in view.possible[waiting.pop()]:
            if here == HEAD and there == TAIL and other in roleless and other not in before:
                before.add(other)
                waiting.append(other)
    return {(a, b) for a, b in unknown if (a == target or (a in after and a in roleless)) and b in before}


def _question(edge: Edge, wanted: str) -> str:
    return (
        f"How are {plain(edge[0])} and {plain(edge[1])} connected? The input is admissible only if {wanted}."
    )


def _unknown_variables(
    nodes: set[str], actionable: Sequence[str], control: Sequence[str]
) -> Iterator[Unknown]:
    for names, criteria in ((actionable, ("a", "b", "c", "d")), (control, ("b", "e"))):
        for name in names:
            if name not in nodes:
                question = (
                    f"What are the causes and effects of {plain(name)}? It is not in the graph; add it."
                )
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

    def __init__(self, view: View, role: Mapping[str, Role], finding: _Finding, observable: set[str]) -> None:
        self.view, self.role, self.finding, self.observable = view, role, finding, observable
        self.tried: dict[tuple[_Change, ...], _Finding | None] = {}
        self.work = 0

    def for_offence(self, offence: _Offence) -> tuple[str, ...]:
        singles = [(change,) for change in self._candidates(offence)]
        found = self._that_mend(offence, singles)
        if not found and offence.key in self.finding.harmful:
            found = self._that_mend(offence, self._pairs(offence, singles))
        return tuple(found) or (f"{singles[-1][0].text(self.role)}, and check again",)

    def _candidates(self, offence: _Offence) -> list[_Change]:
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

    def _pairs(self, offence: _Offence, singles: list[tuple[_Change]]) -> list[tuple[_Change, ...]]:
        pairs: dict[tuple[_Change, ...], None] = {}
        for (first,) in singles:
            after = self._after((first,))
            if after is None:
                continue
            for key in [offence.key, *(key for key in after.harmful if key not in self.finding.harmful)][:8]:
                for second in self._candidates(after.offences.get(key, offence)):
                    if second.name != first.name:
                        pairs[tuple(sorted((first, second), key=lambda change: change.name))] = None
        return list(pairs)

    def _that_mend(self, offence: _Offence, trials: Iterable[tuple[_Change, ...]]) -> list[str]:
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

    def _after(self, changes: tuple[_Change, ...]) -> _Finding | None:
        """What a check would find after these changes; None once too much work would have been done."""
        if changes not in self.tried:
            self.work += self.view.size * (1 + min(len(self.finding.offences), len(self.role)))
            role = dict(self.role)
            for change in changes:
                role.pop(change.name, None)
                if change.role is not None:
                    role[change.name] = change.role
            self.tried[changes] = _assess(self.view, role) if self.work <= _WORK else None
        return self.tried[changes]
