"""The criteria of an admissible input (Definition 1, paper §3.1): which edges violate them, and with what effect.

For actionable variables X, target Y and controls Z, where a variable without a role counts as unobserved:
(a) no edge from Y to X, (b) no edge from X to Z, (c) no edge between actionable variables,
(d) no edge between an unobserved variable and X, and, which the paper omits although Theorem 1 needs it,
(e) no control is an effect of Y, directly or through variables without a role.

Context columns describe groups, and the effects inside every group are of interest. Conditions on a column leave its
values free to differ within a group: context opens the paths that collide in it, and blocks none. So it counts as
unobserved in (a) to (e) unless it is a control too, and what holds for controls holds for context that is none:
(f) no edge from X to a context column, (g) no context column is an effect of Y, as in (e).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from causalrules.graph.backdoor import HEAD, TAIL, GraphLinks, ancestors, completions, descendants, open_paths, path_to
from causalrules.graph.graph import Edge
from causalrules.payload import Plain

Role = Literal["target", "actionable", "control"]
Criterion = Literal["a", "b", "c", "d", "e", "f", "g"]
Key = tuple[str, ...]

# Limit on back-door tests and on trials of remedies, in nodes and edges visited: a few seconds. Beyond it,
# violations count as harmful.
MAX_WORK = 500_000


@dataclass(frozen=True, repr=False)
class Violation(Plain):
    """An edge, or a path from the target to a control or context column, that violates a criterion.

    Parameters
    ----------
    criterion
        The letter of the criterion, "a" to "g".
    edge
        The pair (cause, effect); for criteria e and g the last edge of the path.
    path
        Alternating names and arrows.
    reason
        What is wrong, in words.
    remedies
        Changes of roles that fix it, in words.
    harmless
        Whether the effect of every rule concerned is identified nevertheless, by the back-door criterion.
    changes
        The same remedies as variables with their new roles; None for no role.
    """

    criterion: Criterion
    edge: Edge
    path: tuple[str, ...]
    reason: str = ""
    remedies: tuple[str, ...] = ()
    harmless: bool = False
    changes: tuple[tuple[tuple[str, str | None], ...], ...] = ()

    @property
    def key(self) -> Key:
        """Key of the violation that does not change with the roles: the effect for criteria e and g, else the edge."""
        return (self.criterion, self.path[-1]) if self.is_effect else self.path

    @property
    def is_effect(self) -> bool:
        """Whether a control or a context column is an effect of the target (criteria e and g)."""
        return self.criterion in ("e", "g")


class Assessment(NamedTuple):
    """The violations of all criteria, and which are harmful by the back-door criterion."""

    violations: dict[Key, Violation]
    harmful: set[Key]  # includes those that were not tested
    identified: bool | None


def _violations(
    links: GraphLinks, role: Mapping[str, Role], context: Collection[str], target: str
) -> Iterator[Violation]:
    """Yield every violation that does not depend on the unknown edges.

    No other violation is in all completions: with the other unknown edges completed as X → Y, Z → X, or as a latent
    common cause away from X, no directed path leads back and no criterion is violated.
    """
    graph = links.graph
    criterion: Criterion
    for arrow, edges in (("->", graph.directed), ("<->", graph.bidirected), ("--", graph.unknown)):
        for a, b in edges:
            roles = (role.get(a), role.get(b))
            if "actionable" not in roles:
                continue
            if arrow == "->" and roles == ("actionable", None) and b in context:
                criterion = "f"
            elif arrow == "<->" or None in roles:
                criterion = "d"
            elif roles == ("actionable", "actionable"):
                criterion = "c"
            elif arrow == "--" or roles[1] == "target" or roles[0] == "control":
                continue
            else:
                criterion = "a" if roles[0] == "target" else "b"
            yield Violation(criterion, (a, b), (a, arrow, b))
    came_from = descendants(links.certain, target, through=_without_role(links, role))
    for name in came_from:
        if role.get(name) == "control" or (name not in role and name in context):
            path = path_to(came_from, name)
            yield Violation("e" if name in role else "g", (path[-3], name), path)


def _without_role(links: GraphLinks, role: Mapping[str, Role]) -> set[str]:
    """Return the variables of the graph that are neither the target, nor actionable, nor controls."""
    return {name for name in links.graph.nodes if name not in role}


def assess(links: GraphLinks, role: Mapping[str, Role], context: Collection[str] = ()) -> Assessment:
    """Find the violations, and test by the back-door criterion which of them are harmful.

    With context, the effects are those inside every group. As context opens paths and blocks none, the worst group is
    one with conditions on all context columns; what holds there holds for everybody as well, and also if some context
    columns are adjusted for.

    Testing one actionable variable at a time is enough: a path that is open for several of them together is open for
    the one where it begins. Every open path begins with a violating (or unknown) edge, as one that begins at a control
    is blocked there.
    """
    (target,) = (name for name, its_role in role.items() if its_role == "target")
    found = sorted(_violations(links, role, context, target), key=lambda violation: violation.criterion)
    violations = {violation.key: violation for violation in found}
    controls = {name for name, its_role in role.items() if its_role == "control"}
    given = controls.union(context)
    certain, possible = ancestors(links.certain, given), ancestors(links.possible, given)
    actionable = [name for name, its_role in role.items() if its_role == "actionable"]
    is_violated = any(name in certain for name in actionable)
    may_be_violated = any(name in possible for name in actionable)

    at: dict[str, list[Violation]] = {}
    for violation in violations.values():
        if not violation.is_effect:
            for name in violation.edge:
                if role.get(name) == "actionable":
                    at.setdefault(name, []).append(violation)
    at_unknown = {name for edge in links.graph.unknown for name in edge if role.get(name) == "actionable"}
    to_test = list(dict.fromkeys([*at, *(name for name in actionable if name in at_unknown)]))
    harmful: set[Key] = set()
    work = 0
    for name in to_test:
        work += links.size
        if work > MAX_WORK:
            may_be_violated = True
            harmful.update(violation.key for violation in at.get(name, ()))
            continue
        entries = {edge[0] for edge, _ in open_paths(links.possible, target, {name}, controls, possible)}
        outgoing = {other for other, here, _, _ in links.possible[name] if here == TAIL}
        may_be_violated |= bool(entries)
        if entries and not is_violated:
            is_violated = any(True for _ in open_paths(links.certain, target, {name}, controls, certain))
        for violation in at.get(name, ()):
            other = violation.edge[1] if violation.edge[0] == name else violation.edge[0]
            if other in entries or (other in outgoing and other in possible):
                harmful.add(violation.key)
    identified = False if is_violated else None if may_be_violated else True
    if not identified:
        harmful.update(key for key, violation in violations.items() if violation.is_effect)
    return Assessment(violations, harmful, identified)


def unknown_edges_to(links: GraphLinks, role: Mapping[str, Role], target: str, effects: Collection[str]) -> set[Edge]:
    """Return the unknown edges, as (cause, effect), by which the target may affect one of these variables."""
    unknown = {edge for pair in links.graph.unknown for edge in (pair, pair[::-1])}
    if links.can_enumerate:
        found: set[Edge] = set()
        for completion in completions(links.graph):
            came_from = descendants(GraphLinks(completion).certain, target, through=_without_role(links, role))
            for effect in came_from.keys() & effects:
                names = path_to(came_from, effect)[::2]
                found.update(edge for edge in pairwise(names) if edge in unknown)
        return found
    # A cause of the target cannot be its effect too: the graph is acyclic.
    causes = ancestors(links.certain, [target]) - {target}
    passable = _without_role(links, role) - causes
    after = descendants(links.possible, target, through=passable, excluding=causes)
    before = set(effects) - causes
    pending = list(before)
    while pending:
        for other, here, there, _ in links.possible[pending.pop()]:
            if here == HEAD and there == TAIL and other in passable and other not in before:
                before.add(other)
                pending.append(other)
    return {(a, b) for a, b in unknown if (a == target or (a in after and a in passable)) and b in before}
