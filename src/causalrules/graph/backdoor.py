"""The back-door criterion for the variables of one rule, also where the graph is known in part only (§3.1).

Open paths are searched from the target outwards, edge by edge with the marks at their ends (tail, head, or a
circle where nothing is known), so that latent common causes need no extra nodes and the search is linear.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from causalrules.exceptions import GraphError, RoleError
from causalrules.graph.graph import CausalGraph, Edge
from causalrules.text import listed, nearest, plain, quoted

TAIL, HEAD, CIRCLE = 0, 1, 2
_TURNED = {"->": "<-", "<-": "->", "<->": "<->", "--": "--"}
# So many readings times nodes and edges can be tried one by one in the blink of an eye.
_FEW_READINGS = 20_000

# A neighbour, the mark at this end, the mark at the neighbour's end, and the arrow from here to there.
Link = tuple[str, int, int, str]
# Where a walk from the target has come to, and with which mark it arrived.
_State = tuple[str, int]


@dataclass(frozen=True)
class Identification:
    """Whether the controls identify the effect of one rule by the back-door criterion; None: cannot be told.

    `open_path` alternates names and arrows: a path that the controls leave open, or the one by which a
    variable of the rule affects a control. True only if the effect surely is identified.
    """

    identified: bool | None
    open_path: tuple[str, ...]
    reason: str

    def __bool__(self) -> bool:
        return self.identified is True


def identify_rule(
    graph: object, *, target: str, variables: Iterable[str], control: Iterable[str] = ()
) -> Identification:
    """Apply the back-door criterion to just the variables of one rule.

    >>> identify_rule("a <- b -> y; a -> y", target="y", variables=["a"]).open_path
    ('a', '<-', 'b', '->', 'y')
    >>> identify_rule("a <- b -> y; a -> y", target="y", variables=["a", "b"]).identified
    True
    """
    known = CausalGraph.read(graph)
    x, z = as_names(variables), as_names(control)
    nodes = set(known.nodes)
    absent = [name for name in (*x, *z) if name not in nodes]
    refuse_bad_roles(known, target, x, z, absent)
    if absent:
        return Identification(None, (), f"the graph does not contain {listed(absent)}")
    view = View(known)
    verdict = _back_door(view, target, x, z)
    # The bounds of _back_door may leave open what trying every reading of a few unknown edges settles.
    if verdict.identified is None and view.has_few_readings:
        answers = {_back_door(View(reading), target, x, z).identified for reading in readings(known)}
        if answers == {True}:
            return Identification(True, (), _blocked(z))
        if answers == {False}:
            return replace(verdict, identified=False)
    return verdict


def readings(graph: CausalGraph) -> Iterator[CausalGraph]:
    """Every acyclic graph its unknown edges allow: each a cause either way, or a latent common cause."""
    for choice in itertools.product(("->", "<-", "<->"), repeat=len(graph.unknown)):
        forward = [edge for edge, arrow in zip(graph.unknown, choice, strict=True) if arrow == "->"]
        backward = [(b, a) for (a, b), arrow in zip(graph.unknown, choice, strict=True) if arrow == "<-"]
        latent = [edge for edge, arrow in zip(graph.unknown, choice, strict=True) if arrow == "<->"]
        try:
            yield CausalGraph(
                graph.nodes,
                (*graph.directed, *forward, *backward),
                (*graph.bidirected, *latent),
                latent=graph.latent,
            )
        except GraphError:
            continue


class View:
    """A graph as lists of links at each node.

    In `certain` an unknown edge has circles for marks; in `possible` it is there in each of its readings.
    """

    def __init__(self, graph: CausalGraph) -> None:
        self.graph = graph
        self.size = len(graph.nodes) + len(graph.directed) + len(graph.bidirected) + len(graph.unknown)
        # Three readings for each unknown edge; more than 20 are never few, and their power could be huge.
        self.has_few_readings = len(graph.unknown) < 20 and 3 ** len(graph.unknown) * self.size <= _FEW_READINGS
        self.certain: dict[str, list[Link]] = {name: [] for name in graph.nodes}
        for a, b in graph.directed:
            _add(self.certain, a, b, TAIL, HEAD, "->")
        for a, b in graph.bidirected:
            _add(self.certain, a, b, HEAD, HEAD, "<->")
        self.possible = self.certain
        if graph.unknown:
            self.possible = {name: list(links) for name, links in self.certain.items()}
            for a, b in graph.unknown:
                _add(self.certain, a, b, CIRCLE, CIRCLE, "--")
                for marks in ((TAIL, HEAD), (HEAD, TAIL), (HEAD, HEAD)):
                    _add(self.possible, a, b, *marks, "--")


def _add(links: dict[str, list[Link]], a: str, b: str, at_a: int, at_b: int, arrow: str) -> None:
    links[a].append((b, at_a, at_b, arrow))
    links[b].append((a, at_b, at_a, _TURNED[arrow]))


def ancestors(links: dict[str, list[Link]], names: Iterable[str]) -> set[str]:
    """These variables and all that affect them."""
    found = set(names)
    waiting = list(found)
    while waiting:
        for other, here, there, _ in links[waiting.pop()]:
            if here == HEAD and there == TAIL and other not in found:
                found.add(other)
                waiting.append(other)
    return found


def effects(
    links: dict[str, list[Link]],
    cause: str,
    through: Collection[str] | None = None,
    but: Collection[str] = (),
) -> dict[str, tuple[str, ...]]:
    """Everything this variable affects, by distance, each with the last link (name, arrow) to it.

    Paths lead through the variables of `through` only (all of them if None), and never touch those of `but`.
    """
    came: dict[str, tuple[str, ...]] = {cause: ()}
    waiting = deque([cause])
    while waiting:
        name = waiting.popleft()
        if name != cause and through is not None and name not in through:
            continue
        for other, here, _, arrow in links[name]:
            if here == TAIL and other not in came and other not in but:
                came[other] = (name, arrow)
                waiting.append(other)
    return came


def path_to(came: dict[str, tuple[str, ...]], effect: str) -> tuple[str, ...]:
    """The path to an effect that `effects` found, names and arrows in turn."""
    path = [effect]
    while came[path[-1]]:
        name, arrow = came[path[-1]]
        path += [arrow, name]
    return tuple(reversed(path))


def open_paths(
    links: dict[str, list[Link]],
    target: str,
    variables: Collection[str],
    control: Collection[str],
    opened: Collection[str],
) -> Iterator[tuple[Edge, tuple[str, ...]]]:
    """For every edge into one of the variables that begins an open back-door path, that edge and a path.

    `opened` are the controls and all that affect them: colliders there let a path through. A variable of the
    rule is never passed through: without its outgoing edges it could only be a collider without effects.
    """
    came: dict[_State, tuple[_State | None, str]] = {}
    waiting: deque[_State] = deque()
    arrived: set[Edge] = set()

    def trail(name: str, arrow: str, state: _State | None) -> tuple[str, ...]:
        path = [name, arrow]
        while state is not None:
            before, next_arrow = came[state]
            path += [state[0], next_arrow]
            state = before
        return (*path, target)

    def step(name: str, before: _State | None, at_name: int) -> Iterator[tuple[Edge, tuple[str, ...]]]:
        for other, here, there, arrow in links[name]:
            if other == target or not _passes(name, at_name, here, before is None, control, opened):
                continue
            if other in variables:
                if there == HEAD and (name, other) not in arrived:
                    arrived.add((name, other))
                    yield (name, other), trail(other, _TURNED[arrow], before)
            elif (other, there) not in came:
                came[other, there] = (before, _TURNED[arrow])
                waiting.append((other, there))

    yield from step(target, None, TAIL)
    while waiting:
        state = waiting.popleft()
        yield from step(state[0], state, state[1])


def _passes(
    name: str, arriving: int, leaving: int, is_target: bool, control: Collection[str], opened: Collection[str]
) -> bool:
    if is_target:
        return True
    if name in control:
        return arriving == HEAD and leaving == HEAD
    return arriving == TAIL or leaving == TAIL or name in opened


def _back_door(view: View, target: str, variables: tuple[str, ...], control: tuple[str, ...]) -> Identification:
    """Two bounds: what breaks the criterion however the unknown edges are read, and what may break it."""
    x, z = set(variables), set(control)
    for links, identified, verb in ((view.certain, False, "is"), (view.possible, None, "may be")):
        opened = ancestors(links, z)
        for name in variables:
            if name in opened:
                came = effects(links, name)
                path = path_to(came, next(other for other in came if other in z))
                reason = f"the control {plain(path[-1])} {verb} an effect of {plain(name)}"
                return Identification(identified, path, reason)
        for _, path in open_paths(links, target, x, z, opened):
            return Identification(identified, path, f"the spurious path {written(path)} {verb} open")
    return Identification(True, (), _blocked(control))


def written(path: tuple[str, ...]) -> str:
    """A path of names and arrows as a sentence shows it; the middle of a very long one is left out."""
    parts = [plain(part) if number % 2 == 0 else part for number, part in enumerate(path)]
    return " ".join(parts if len(parts) <= 25 else [*parts[:12], "…", *parts[-11:]])


def _blocked(control: tuple[str, ...]) -> str:
    by = f" are blocked by {listed(control)}" if control else " are closed without any control"
    return f"all spurious paths{by}"


def as_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names in order, each once; a single text is one name, not its letters."""
    return (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))


def refuse_bad_roles(
    graph: CausalGraph,
    target: str,
    actionable: tuple[str, ...],
    control: tuple[str, ...],
    elsewhere: Collection[str],
) -> None:
    """Refuse a variable that is neither in the graph nor `elsewhere`, is latent, or has two roles."""
    nodes, actionable_set, controls = set(graph.nodes), set(actionable), set(control)
    for name in (target, *actionable, *control):
        if name not in nodes and (name == target or name not in elsewhere):
            raise RoleError(f"no variable {quoted(name)} in the graph{nearest(name, graph.nodes)}")
        if name in graph.latent:
            raise RoleError(f"{quoted(name)} is latent in the graph; a variable with a role must be observed")
        if (name in actionable_set) + (name in controls) + (name == target) > 1:
            raise RoleError(f"{quoted(name)} has two roles; leave it in one of target, actionable and control")
