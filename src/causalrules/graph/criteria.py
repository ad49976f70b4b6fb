"""The criteria of an admissible input (Definition 1, §3.1): what breaks them, and whether that does harm.

For actionable variables X, target Y and controls Z, where a variable without a role counts as unobserved:
(a) no edge from Y to X, (b) no edge from X to Z, (c) no edge between actionable variables,
(d) no edge between an unobserved variable and X, and, added to the paper's list because Theorem 1 needs it,
(e) no control is an effect of Y, directly or through variables without a role.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Literal, NamedTuple

from causalrules.graph.backdoor import HEAD, TAIL, View, ancestors, effects, open_paths, path_to, readings
from causalrules.graph.graph import Edge

Role = Literal["target", "actionable", "control"]
Key = tuple[str, ...]  # what makes two offences the same: the edge, or for criterion e the control

# The back-door test is run for each suspicious variable, and remedies are tried by checking again. On a graph
# where this would take more than some seconds the rest stays untested: nothing is then called harmless.
WORK = 500_000


class Offence(NamedTuple):
    """One edge or path that breaks a criterion, in whatever way the unknown edges are read."""

    criterion: str
    edge: Edge
    path: tuple[str, ...]
    key: Key


class Finding(NamedTuple):
    """All that breaks a criterion, and what the back-door test says of it."""

    offences: dict[Key, Offence]
    harmful: set[Key]  # or not shown to be harmless
    identified: bool | None


def offences_of(view: View, role: Mapping[str, Role]) -> Iterator[Offence]:
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
            yield Offence(criterion, (a, b), (a, arrow, b), (a, arrow, b))
    roleless = {name for name in graph.nodes if name not in role}
    came = effects(view.certain, target, through=roleless)
    for name in came:
        if role.get(name) == "control":
            path = path_to(came, name)
            yield Offence("e", (path[-3], name), path, ("e", name))


def assess(view: View, role: Mapping[str, Role]) -> Finding:
    """The offences, and by the back-door test whether they matter.

    It is enough to test one actionable variable at a time: a path that is open for several of them together
    is open for the one it begins at. And every open path begins with an offending (or unknown) edge, since
    one that begins at a control is blocked there.
    """
    offences = {offence.key: offence for offence in sorted(offences_of(view, role), key=lambda one: one.criterion)}
    controls = {name for name, its_role in role.items() if its_role == "control"}
    (target,) = [name for name, its_role in role.items() if its_role == "target"]
    surely, perhaps = ancestors(view.certain, controls), ancestors(view.possible, controls)
    actionable = [name for name, its_role in role.items() if its_role == "actionable"]
    broken = any(name in surely for name in actionable)
    doubtful = any(name in perhaps for name in actionable)

    at: dict[str, list[Offence]] = {}
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
        if work > WORK:
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
    return Finding(offences, harmful, identified)


def ways_to_controls(view: View, role: Mapping[str, Role], target: str) -> set[Edge]:
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
