"""Suggest actionable variables and controls for an admissible input (Definition 1, paper §3.1).

There is one largest choice, and the others are its subsets. An actionable variable may have no effect but the target,
and all its causes must be controls that the target does not affect. This does not depend on the other actionable
variables: one of them cannot be its cause, since it would have an effect besides the target. The controls must include
the causes of the actionable variables, and may include any other variable that the target does not affect.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from causalrules.graph.adjustment import adjustments
from causalrules.graph.backdoor import (
    HEAD,
    TAIL,
    GraphLinks,
    ancestors,
    completions,
    descendants,
    unique_names,
    validate_roles,
)
from causalrules.graph.graph import CausalGraph
from causalrules.payload import Plain
from causalrules.text import Summarised, listed, plain

# Limit on candidates times the size of the graph; beyond it, excluded variables are not tested on their own.
_MAX_WORK = 1_000_000


@dataclass(frozen=True, repr=False)
class Choice(Plain):
    """An admissible choice of roles.

    Parameters
    ----------
    actionable
        The actionable variables.
    control
        The controls that they need.
    optional_control
        Variables that may be controls too.
    """

    actionable: tuple[str, ...]
    control: tuple[str, ...]
    optional_control: tuple[str, ...]

    @property
    def context(self) -> tuple[str, ...]:
        """Variables that may be context, for whom it works: the controls; those needed must then be controls too."""
        return (*self.control, *self.optional_control)


@dataclass(frozen=True, repr=False)
class LeftOut(Plain):
    """A variable that is actionable in no admissible input.

    Parameters
    ----------
    name
        The variable.
    reason
        Why it cannot be actionable.
    identified_with
        The controls that identify the effects of rules on it alone; None if there are none.
    """

    name: str
    reason: str
    identified_with: tuple[str, ...] | None


@dataclass(frozen=True, repr=False)
class Suggestions(Summarised, Plain):
    """The result of `suggest`; true in a boolean context if there is an admissible choice.

    Parameters
    ----------
    target
        The target variable.
    choices
        The largest admissible choice; empty if there is none.
    left_out
        The candidates that cannot be actionable, and why.

    Examples
    --------
    >>> print(suggest("size -> treatment -> success; size -> success", "success"))
    Target success: actionable treatment.
      Controls needed: size. Optional: none. Any of these may be context.
      Not actionable: size (causes treatment, which is not the target).
        A rule on size alone is identified with no controls.
    """

    target: str
    choices: tuple[Choice, ...]
    left_out: tuple[LeftOut, ...]

    def __bool__(self) -> bool:
        return bool(self.choices)

    def summary(self) -> str:
        """Describe the suggestions in plain words.

        Returns
        -------
        str

        Examples
        --------
        >>> print(suggest("a <-> y", "y").summary())
        Target y: no variable can be actionable.
          Not actionable: a (shares an unobserved cause with y).
        """
        target = f"Target {plain(self.target)}"
        lines = [] if self.choices else [f"{target}: no variable can be actionable."]
        for choice in self.choices:
            lines.append(f"{target}: actionable {listed(choice.actionable)}.")
            context = " Any of these may be context." * bool(choice.context)
            controls = f"Controls needed: {listed(choice.control)}. Optional: {listed(choice.optional_control)}."
            lines.append(f"  {controls}{context}")
        for left_out in self.left_out:
            name = plain(left_out.name)
            lines.append(f"  Not actionable: {name} ({left_out.reason}).")
            if left_out.identified_with is not None:
                controls = listed(left_out.identified_with) if left_out.identified_with else "no controls"
                lines.append(f"    A rule on {name} alone is identified with {controls}.")
        return "\n".join(lines)


def suggest(graph: object, target: str, actionable_candidates: Iterable[str] | None = None) -> Suggestions:
    """Suggest the largest admissible choice of actionable variables, with the controls that it needs.

    The answer is exact: every admissible choice is a subset of it.

    Parameters
    ----------
    graph
        The causal graph, in any form that `CausalGraph.read` accepts.
    target
        The variable with the outcome.
    actionable_candidates
        The variables that could be actionable; by default every observed variable.

    Returns
    -------
    Suggestions

    Raises
    ------
    GraphError
        If the graph cannot be read.
    RoleError
        If the target or a candidate is latent or not in the graph.

    Examples
    --------
    >>> suggest("smoking -> tar -> cancer; age -> {smoking cancer}", "cancer").choices[0]
    Choice(actionable=('tar',), control=('smoking',), optional_control=('age',))
    """
    causal_graph = CausalGraph.read(graph)
    observed = [name for name in causal_graph.nodes if name not in causal_graph.latent and name != target]
    candidates = tuple(observed) if actionable_candidates is None else unique_names(actionable_candidates)
    validate_roles(causal_graph, {"target": (target,), "actionable": candidates})

    links = GraphLinks(causal_graph)
    effects = _possible_effects(links, target)
    few = len(candidates) * links.size <= _MAX_WORK
    alone = adjustments(causal_graph, target, candidates, max_length=1).sets if few else ()
    own = {each.columns[0]: each for each in alone}
    actionable, left_out = [], []
    for name in candidates:
        obstacle = _obstacle(links, name, target, effects)
        if obstacle is None:
            actionable.append(name)
        else:
            left_out.append(LeftOut(name, obstacle, own[name].control if name in own else None))
    needed = {cause for name in actionable for cause in _causes(links, name)}
    control = tuple(name for name in observed if name in needed)
    excluded = {*effects, *actionable, *needed}
    optional = tuple(name for name in observed if name not in excluded)
    choices = (Choice(tuple(actionable), control, optional),) if actionable else ()
    return Suggestions(target, choices, tuple(left_out))


def _possible_effects(links: GraphLinks, target: str) -> set[str]:
    """Return all effects of the target in any completion; a superset if completions are too many to enumerate."""
    if links.can_enumerate:
        graphs = completions(links.graph)
        return {name for graph in graphs for name in descendants(GraphLinks(graph).certain, target)}
    causes = ancestors(links.certain, [target]) - {target}
    return set(descendants(links.possible, target, excluding=causes))


def _causes(links: GraphLinks, name: str) -> list[str]:
    """Return the direct causes of a variable."""
    return [other for other, here, there, _ in links.certain[name] if here == HEAD and there == TAIL]


def _obstacle(links: GraphLinks, name: str, target: str, effects: set[str]) -> str | None:
    """Return why this variable cannot be actionable, or None if it can."""
    for other, _, _, arrow in links.certain[name]:
        if arrow == "--":
            return f"connected with {plain(other)} in an unknown way"
        if arrow == "<->":
            return f"shares an unobserved cause with {plain(other)}"
        if arrow == "->" and other != target:
            return f"causes {plain(other)}, which is not the target"
        if arrow == "<-" and other == target:
            return f"caused by the target {plain(target)}"
        if arrow == "<-" and other in links.graph.latent:
            return f"its cause {plain(other)} is latent"
        if arrow == "<-" and other in effects:
            return f"its cause {plain(other)} cannot be a control: the target affects it or may affect it"
    return None
