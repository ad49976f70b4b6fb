"""Which variables can be actionable, and which must be controls, for an admissible input? (Definition 1)

The criteria leave no room for trade-offs. An actionable variable may have no effect but the target, and
all of its causes must be controls that the target does not affect. Whether that is possible does not depend
on the other actionable variables: none of them can be its cause, as that one would have an effect besides
the target. So there is one largest choice of actionable variables, and the others are its parts. The
controls must include the causes of the actionable variables, and may include any other variable that the
target does not affect.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass

from causalrules.graph.backdoor import (
    HEAD,
    TAIL,
    View,
    ancestors,
    as_names,
    effects,
    identify_rule,
    readings,
    refuse_bad_roles,
)
from causalrules.graph.graph import CausalGraph
from causalrules.text import listed, plain

# Where the variables times the size of the graph exceed this, those left out are not tested on their own.
_WORK = 1_000_000


@dataclass(frozen=True)
class Choice:
    """An admissible choice: actionable variables, the controls they need, and others that may be added."""

    actionable: tuple[str, ...]
    control: tuple[str, ...]
    optional_control: tuple[str, ...]


@dataclass(frozen=True)
class LeftOut:
    """A variable that no admissible input has as actionable, and why.

    `identified_with` are controls, its causes, with which the rules over it alone are identified by the
    back-door test in spite of that; None if they are not.
    """

    name: str
    reason: str
    identified_with: tuple[str, ...] | None


@dataclass(frozen=True)
class Suggestions:
    """All maximal admissible choices (there is one, or none), and why other variables are not in it."""

    target: str
    choices: tuple[Choice, ...]
    left_out: tuple[LeftOut, ...]

    def __bool__(self) -> bool:
        return bool(self.choices)

    def summary(self) -> str:
        """The suggestions in plain words."""
        lines = [f"No variable can be actionable for the target {plain(self.target)}."] * (not self.choices)
        for choice in self.choices:
            lines.append(f"For the target {plain(self.target)}: actionable {listed(choice.actionable)}")
            lines.append(f"  with control {listed(choice.control)}; may be added: {listed(choice.optional_control)}.")
        for left_out in self.left_out:
            lines.append(f"  Not {plain(left_out.name)}: {left_out.reason}.")
            if left_out.identified_with is not None:
                controls = listed(left_out.identified_with)
                lines.append(f"    On its own, with control {controls}, its effect is identified all the same.")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>"


def suggest(graph: object, target: str, actionable_candidates: Iterable[str] | None = None) -> Suggestions:
    """Propose the largest admissible choice of actionable variables with its controls, exactly.

    >>> suggest("smoking -> tar -> cancer; age -> {smoking cancer}", "cancer").choices[0]
    Choice(actionable=('tar',), control=('smoking',), optional_control=('age',))
    """
    known = CausalGraph.read(graph)
    observed = [name for name in known.nodes if name not in known.latent and name != target]
    candidates = observed if actionable_candidates is None else as_names(actionable_candidates)
    refuse_bad_roles(known, target, tuple(candidates), (), ())

    view = View(known)
    affected = _perhaps_affected(view, target)
    actionable, left_out = [], []
    for name in candidates:
        obstacle = _obstacle(view, name, target, affected)
        if obstacle is None:
            actionable.append(name)
        else:
            left_out.append(LeftOut(name, obstacle, _identified_with(view, name, target, len(candidates))))
    control = {cause for name in actionable for cause in _causes(view, name)}
    taken = {*actionable, *control}
    unused = [name for name in observed if name not in affected and name not in taken]
    choice = Choice(tuple(actionable), tuple(name for name in observed if name in control), tuple(unused))
    return Suggestions(target, (choice,) if actionable else (), tuple(left_out))


def _perhaps_affected(view: View, target: str) -> set[str]:
    """What the target affects in some reading of the unknown edges; where these are many, perhaps more."""
    if view.has_few_readings:
        return {name for reading in readings(view.graph) for name in effects(View(reading).certain, target)}
    causes = ancestors(view.certain, [target]) - {target}
    return set(effects(view.possible, target, but=causes))


def _causes(view: View, name: str) -> list[str]:
    return [other for other, here, there, _ in view.certain[name] if here == HEAD and there == TAIL]


def _obstacle(view: View, name: str, target: str, affected: set[str]) -> str | None:
    """What keeps this variable from being actionable in any admissible input."""
    this = plain(name)
    for other, _, _, arrow in view.certain[name]:
        if arrow == "--":
            return f"it is not known how {this} and {plain(other)} are connected"
        if arrow == "<->":
            return f"{this} and {plain(other)} have an unobserved common cause"
        if arrow == "->" and other != target:
            return f"{this} causes {plain(other)}, which is not the target"
        if arrow == "<-" and other == target:
            return f"the target {plain(target)} causes {this}"
        if arrow == "<-" and other in view.graph.latent:
            return f"its cause {plain(other)} is latent"
        if arrow == "<-" and other in affected:
            return f"its cause {plain(other)} is, or may be, an effect of the target and so no control"
    return None


def _identified_with(view: View, name: str, target: str, variables: int) -> tuple[str, ...] | None:
    control = _causes(view, name)
    if variables * view.size > _WORK or target in control or view.graph.latent.intersection(control):
        return None
    verdict = identify_rule(view.graph, target=target, variables=[name], control=control)
    return tuple(control) if verdict else None
