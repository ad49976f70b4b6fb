"""The back-door criterion for the variables of one rule (paper §3.1), also in partially known graphs.

Open paths are searched from the target outwards. Each edge has a mark at both ends (tail, head, or circle for
unknown), so latent common causes need no extra nodes and the search takes linear time.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from causalrules.exceptions import GraphError, RoleError
from causalrules.graph.graph import CausalGraph, Edge
from causalrules.payload import Plain
from causalrules.text import listed, nearest, plain, quoted

TAIL, HEAD, CIRCLE = 0, 1, 2
_REVERSED = {"->": "<-", "<-": "->", "<->": "<->", "--": "--"}
_LABELS = {True: "identified on its own", False: "not identified", None: "cannot be told whether identified"}
# Maximum number of completions times the size of the graph for enumeration: some milliseconds.
_MAX_ENUMERATION = 20_000

# A neighbour, the mark at this end, the mark at the neighbour's end, and the arrow from here to there.
Link = tuple[str, int, int, str]
Links = dict[str, list[Link]]
# A node reached from the target, and the mark at its end of the edge that led there.
_State = tuple[str, int]


@dataclass(frozen=True, repr=False)
class Identification(Plain):
    """Whether the controls identify the effect of one rule, by the back-door criterion.

    True in a boolean context only if the effect is certainly identified.

    Parameters
    ----------
    identified
        None if the graph leaves it open.
    open_path
        Names and arrows in turn: a spurious path that the controls leave open, or the path by which a variable of the
        rule affects a control. Empty if there is none.
    reason
        The reason in words.
    blocked_paths
        For controls that identify the effect: for each of them, a spurious path that would be open without it.

    Examples
    --------
    >>> answer = identify_rule("a <- b -> y", target="y", variables=["a"])
    >>> bool(answer), answer.label, answer.path_text
    (False, 'not identified', 'a <- b -> y')
    """

    identified: bool | None
    open_path: tuple[str, ...]
    reason: str
    blocked_paths: tuple[tuple[str, ...], ...] = ()

    def __bool__(self) -> bool:
        return self.identified is True

    @property
    def label(self) -> str:
        """The answer in a few words."""
        return _LABELS[self.identified]

    @property
    def blocked(self) -> str:
        """The blocked paths as text; empty if there are none."""
        return "; ".join(map(format_path, self.blocked_paths))

    @property
    def path_text(self) -> str:
        """The open path as text, such as "class <- fare -> survived"; empty if there is none."""
        return format_path(self.open_path)

    def summary(self) -> str:
        """Return the answer with its reason.

        Returns
        -------
        str

        Examples
        --------
        >>> identify_rule("a -> y", target="y", variables=["a"]).summary()
        'identified on its own, by the back-door test for its own columns: no spurious path is open'
        """
        return f"{self.label}, by the back-door test for its own columns: {self.reason}"


def identify_rule(
    graph: object,
    *,
    target: str,
    variables: Iterable[str],
    control: Iterable[str] = (),
    context: Iterable[str] = (),
) -> Identification:
    """Apply the back-door criterion to the variables of one rule.

    The effect of a single rule can be identified even if the roles as a whole are not admissible (see `check`).

    Parameters
    ----------
    graph
        The causal graph, in any form that `CausalGraph.read` accepts.
    target
        The target variable.
    variables
        The variables in the rule's conditions.
    control
        The control variables.
    context
        The variables that describe groups: the effect must be identified inside every group of conditions on them.

    Returns
    -------
    Identification

    Raises
    ------
    GraphError
        If the graph cannot be read.
    RoleError
        If the target is not in the graph, or a variable is latent or has two roles.

    Examples
    --------
    >>> identify_rule("a <- b -> y; a -> y", target="y", variables=["a"]).open_path
    ('a', '<-', 'b', '->', 'y')
    >>> identify_rule("a <- b -> y; a -> y", target="y", variables=["a", "b"]).identified
    True
    """
    causal_graph = CausalGraph.read(graph)
    x, z, w = unique_names(variables), unique_names(control), unique_names(context)
    nodes = set(causal_graph.nodes)
    absent = [name for name in dict.fromkeys((*x, *z, *w)) if name not in nodes]
    validate_roles(causal_graph, {"target": (target,), "variables": x, "control": z}, columns=absent)
    validate_roles(causal_graph, {"target": (target,), "variables": x, "context": w}, columns=absent)
    if absent:
        return Identification(None, (), f"the graph does not contain {listed(absent)}")
    links = GraphLinks(causal_graph)
    identification = _back_door(links, target, x, z, w)
    if identification.identified:
        return replace(identification, blocked_paths=_blocked_paths(links.certain, target, x, z, w))
    # Enumerating the completions can decide what the bounds of _back_door leave open.
    if identification.identified is None and links.can_enumerate:
        answers = {_back_door(GraphLinks(one), target, x, z, w).identified for one in completions(causal_graph)}
        if answers == {True}:
            return Identification(True, (), _blocked(z))
        if answers == {False}:
            return replace(identification, identified=False)
    return identification


def completions(graph: CausalGraph) -> Iterator[CausalGraph]:
    """Yield every acyclic graph in which each unknown edge is a directed edge or a latent common cause.

    A directed edge parallel to a latent common cause may be absent (`a o-> b`). That matters only if the graph has a
    cycle with it: more edges only open paths.
    """
    doubtful = _doubtful(graph)
    for arrows in itertools.product(("->", "<-", "<->"), repeat=len(graph.unknown)):
        chosen = list(zip(graph.unknown, arrows, strict=True))
        forward = [edge for edge, arrow in chosen if arrow == "->"]
        backward = [(b, a) for (a, b), arrow in chosen if arrow == "<-"]
        bidirected = [edge for edge, arrow in chosen if arrow == "<->"]
        enough: list[set[Edge]] = []
        for size in range(len(doubtful) + 1):
            for dropped in map(set, itertools.combinations(doubtful, size)):
                if any(each <= dropped for each in enough):
                    continue
                with contextlib.suppress(GraphError):
                    yield CausalGraph(
                        graph.nodes,
                        (*(edge for edge in graph.directed if edge not in dropped), *forward, *backward),
                        (*graph.bidirected, *bidirected),
                        latent=graph.latent,
                    )
                    enough.append(dropped)
            if set() in enough:
                break


def _doubtful(graph: CausalGraph) -> list[Edge]:
    """Return the directed edges parallel to a latent common cause, if there are unknown edges."""
    both = {*graph.bidirected, *((b, a) for a, b in graph.bidirected)}
    return [edge for edge in graph.directed if edge in both] if graph.unknown else []


class GraphLinks:
    """Adjacency lists with edge marks.

    In `certain` an unknown edge has a circle at both ends. In `possible` it appears three times, once for each kind
    of edge that it may be.
    """

    def __init__(self, graph: CausalGraph) -> None:
        self.graph = graph
        self.size = len(graph.nodes) + len(graph.directed) + len(graph.bidirected) + len(graph.unknown)
        # Test the number of edges first: a huge power would take forever.
        n_unknown, n_doubtful = len(graph.unknown), len(_doubtful(graph))
        self.can_enumerate = (
            n_unknown + n_doubtful < 20 and 3**n_unknown * 2**n_doubtful * self.size <= _MAX_ENUMERATION
        )
        self.certain: Links = {name: [] for name in graph.nodes}
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


def _add(links: Links, a: str, b: str, mark_a: int, mark_b: int, arrow: str) -> None:
    """Add an edge at both of its ends."""
    links[a].append((b, mark_a, mark_b, arrow))
    links[b].append((a, mark_b, mark_a, _REVERSED[arrow]))


def ancestors(links: Links, names: Iterable[str]) -> set[str]:
    """Return these variables and all their causes, direct or indirect."""
    found = set(names)
    pending = list(found)
    while pending:
        for other, here, there, _ in links[pending.pop()]:
            if here == HEAD and there == TAIL and other not in found:
                found.add(other)
                pending.append(other)
    return found


def descendants(
    links: Links, cause: str, through: Collection[str] | None = None, excluding: Collection[str] = ()
) -> dict[str, tuple[str, ...]]:
    """Return this variable and all its effects, nearest first, each with the link (name, arrow) that leads to it.

    Paths pass only through the variables of `through` (None: through all), and never reach those of `excluding`.
    """
    came_from: dict[str, tuple[str, ...]] = {cause: ()}
    pending = deque([cause])
    while pending:
        name = pending.popleft()
        if name != cause and through is not None and name not in through:
            continue
        for other, here, _, arrow in links[name]:
            if here == TAIL and other not in came_from and other not in excluding:
                came_from[other] = (name, arrow)
                pending.append(other)
    return came_from


def path_to(came_from: Mapping[str, tuple[str, ...]], effect: str) -> tuple[str, ...]:
    """Return the path to an effect found by `descendants`, alternating names and arrows."""
    path = [effect]
    while came_from[path[-1]]:
        name, arrow = came_from[path[-1]]
        path += [arrow, name]
    return tuple(reversed(path))


def open_paths(
    links: Links, target: str, variables: Collection[str], control: Collection[str], opened: Collection[str]
) -> Iterator[tuple[Edge, tuple[str, ...]]]:
    """Yield every edge into one of the variables that begins an open back-door path, with one such path.

    `opened` contains the controls, the context, and their ancestors: colliders there leave a path open. Context blocks
    no path: inside a group its values can still differ. Paths never pass through a variable of the rule: without its
    outgoing edges it could only be a collider without effects.
    """
    came_from: dict[_State, tuple[_State | None, str]] = {}
    pending: deque[_State] = deque()
    found: set[Edge] = set()

    def path_from(name: str, arrow: str, state: _State | None) -> tuple[str, ...]:
        path = [name, arrow]
        while state is not None:
            before, next_arrow = came_from[state]
            path += [state[0], next_arrow]
            state = before
        return (*path, target)

    def step(name: str, before: _State | None, arriving: int) -> Iterator[tuple[Edge, tuple[str, ...]]]:
        for other, here, there, arrow in links[name]:
            if other == target or not (before is None or _is_open(name, arriving, here, control, opened)):
                continue
            if other in variables:
                if there == HEAD and (name, other) not in found:
                    found.add((name, other))
                    yield (name, other), path_from(other, _REVERSED[arrow], before)
            elif (other, there) not in came_from:
                came_from[other, there] = (before, _REVERSED[arrow])
                pending.append((other, there))

    yield from step(target, None, TAIL)
    while pending:
        state = pending.popleft()
        yield from step(state[0], state, state[1])


def _is_open(name: str, arriving: int, leaving: int, control: Collection[str], opened: Collection[str]) -> bool:
    """Return whether a path is open at a node, given its marks there."""
    if name in control:
        return arriving == HEAD and leaving == HEAD
    return arriving == TAIL or leaving == TAIL or name in opened


def _back_door(
    links: GraphLinks, target: str, variables: tuple[str, ...], control: tuple[str, ...], context: tuple[str, ...]
) -> Identification:
    """Apply the criterion with two bounds: violated in every completion, and violated in some completion."""
    x, z = set(variables), set(control)
    given = z.union(context)
    for marked, identified, verb in ((links.certain, False, "is"), (links.possible, None, "may be")):
        opened = ancestors(marked, given)
        for name in variables:
            if name in opened:
                came_from = descendants(marked, name)
                path = path_to(came_from, next(other for other in came_from if other in given))
                role = "control" if path[-1] in z else "context"
                reason = f"the {role} {plain(path[-1])} {verb} an effect of {plain(name)}"
                return Identification(identified, path, reason)
        for _, path in open_paths(marked, target, x, z, opened):
            return Identification(identified, path, f"the spurious path {format_path(path)} {verb} open")
    return Identification(True, (), _blocked(control))


def _blocked_paths(
    links: Links, target: str, variables: Sequence[str], control: Sequence[str], context: Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    """Return a path that would be open without a control, for each of the controls that blocks one."""
    found = []
    for name in control:
        others = set(control) - {name}
        opened = ancestors(links, others.union(context))
        paths = (path for _, path in open_paths(links, target, set(variables), others, opened))
        found += [path for path in itertools.islice(paths, 1) if name in path]
    return tuple(dict.fromkeys(found))


def format_path(path: tuple[str, ...]) -> str:
    """Join the names and arrows of a path; a very long path is abridged."""
    parts = [plain(part) if number % 2 == 0 else part for number, part in enumerate(path)]
    return " ".join(parts if len(parts) <= 25 else [*parts[:12], "…", *parts[-11:]])


def _blocked(control: tuple[str, ...]) -> str:
    """Return the reason why an effect is identified."""
    return f"all spurious paths are blocked by {listed(control)}" if control else "no spurious path is open"


def unique_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names in order, without duplicates; a string counts as one name."""
    return (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))


def validate_roles(graph: CausalGraph, roles: Mapping[str, tuple[str, ...]], columns: Collection[str] = ()) -> None:
    """Raise a RoleError for a variable that is not in the graph, is latent or has two roles.

    `roles` maps parameters to variables. Variables other than the target may be in `columns` instead of the graph.
    """
    nodes, role_of = set(graph.nodes), dict[str, str]()
    for role, names in roles.items():
        for name in names:
            if name not in nodes and (role == "target" or name not in columns):
                raise RoleError(f"no variable {quoted(name)} in the graph{nearest(name, graph.nodes)}", parameter=role)
            if name in graph.latent:
                raise RoleError(f"{quoted(name)} is latent in the graph; choose an observed variable", parameter=role)
            if name in role_of:
                raise RoleError(f"{quoted(name)} has two roles, {role_of[name]} and {role}; give it one")
            role_of[name] = role
