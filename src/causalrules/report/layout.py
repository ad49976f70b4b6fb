"""Layout of a causal graph: variables in layers, causes to the left of their effects.

Edges that span several layers pass through a free slot in each, so that they cross no other variable.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Any

from causalrules.graph.graph import CausalGraph, Edge

if TYPE_CHECKING:
    from causalrules.graph.admissibility import Admissibility

MAX_NODES, MAX_EDGES = 80, 250
_SWEEPS = 8

# An item of a layer: a variable, or a slot for a passing edge.
Item = str | tuple[Edge, int]
Point = tuple[float, float]
# An edge: its arrow and its ends.
Arrow = tuple[str, str, str]


def can_be_drawn(graph: CausalGraph) -> bool:
    """Return whether the graph is small enough for a readable drawing.

    Examples
    --------
    >>> can_be_drawn(CausalGraph.read("a -> b"))
    True
    """
    n_edges = len(graph.directed) + len(graph.bidirected) + len(graph.unknown)
    return len(graph.nodes) <= MAX_NODES and n_edges <= MAX_EDGES


def roles(graph: CausalGraph, admissibility: Admissibility | None) -> dict[str, str]:
    """Return the role of each variable, "latent" or "no role"; context that is a control too is shown as a control."""
    role = {name: "latent" if name in graph.latent else "no role" for name in graph.nodes}
    if admissibility is not None:
        given = {**dict.fromkeys(admissibility.context, "context"), admissibility.target: "target"}
        given |= dict.fromkeys(admissibility.actionable, "actionable") | dict.fromkeys(admissibility.control, "control")
        role |= {name: its_role for name, its_role in given.items() if name in role}
    return role


def edges(graph: CausalGraph) -> Iterator[tuple[str, Edge]]:
    """Yield every edge with its arrow."""
    for kind, edges in (("->", graph.directed), ("<->", graph.bidirected), ("--", graph.unknown)):
        yield from ((kind, edge) for edge in edges)


def violating(admissibility: Admissibility | None) -> tuple[dict[Arrow, list[str]], set[Arrow]]:
    """Return the edges of violations with the letters of their criteria, and the set of harmful ones."""
    letters: dict[Arrow, list[str]] = {}
    harmful = set()
    for violation in () if admissibility is None else admissibility.violations:
        names, arrows = violation.path[::2], violation.path[1::2]
        for (a, b), arrow in zip(itertools.pairwise(names), arrows, strict=True):
            edge = (arrow, a, b)
            if violation.criterion not in letters.setdefault(edge, []):
                letters[edge].append(violation.criterion)
            if not violation.harmless:
                harmful.add(edge)
    return letters, harmful


def places(graph: CausalGraph) -> tuple[dict[str, Point], dict[Arrow, list[Point]]]:
    """Return the position of each variable, and the positions of each edge in the layers between its ends, in order."""
    layer = _layers(graph)
    order: list[list[Item]] = [[] for _ in range(max(layer.values(), default=0) + 1)]
    for name, depth in layer.items():
        order[depth].append(name)
    neighbours: dict[Item, list[Item]] = {name: [] for name in graph.nodes}
    chains: dict[Arrow, list[Item]] = {}
    for number, (kind, (a, b)) in enumerate(edges(graph)):
        low, high = sorted((a, b), key=layer.__getitem__)
        chain: list[Item] = [((low, high), depth * 10_000 + number) for depth in range(layer[low] + 1, layer[high])]
        for depth, item in enumerate(chain, layer[low] + 1):
            order[depth].append(item)
            neighbours[item] = []
        for one, other in itertools.pairwise([low, *chain, high]):
            neighbours[one].append(other)
            neighbours[other].append(one)
        chains[kind, a, b] = chain if low == a else chain[::-1]
    _reduce_crossings(order, neighbours)

    # An edge needs less space than a variable.
    room = [[1.0 if isinstance(item, str) else 0.5 for item in items] for items in order]
    tallest = max(map(sum, room), default=1.0)
    at: dict[Item, Point] = {}
    for depth, (items, heights) in enumerate(zip(order, room, strict=True)):
        top = (tallest + sum(heights)) / 2 - 0.5
        for item, height in zip(items, heights, strict=True):
            at[item] = (float(depth), top + 0.5 - height / 2)
            top -= height
    place = {name: at[name] for name in graph.nodes}
    return place, {edge: [at[item] for item in chain] for edge, chain in chains.items()}


def extent(place: dict[str, Point], passing: dict[Arrow, list[Point]]) -> tuple[Point, Point]:
    """Return the horizontal and the vertical range of a drawing."""
    points = [*place.values(), *itertools.chain.from_iterable(passing.values())] or [(0.0, 0.0)]
    x, y = zip(*points, strict=True)
    return (min(x), max(x)), (min(y), max(y))


def _layers(graph: CausalGraph) -> dict[str, int]:
    """Assign each variable to a layer after its causes and just before its first effect.

    Bidirected and unknown edges join different layers too.
    """
    later: dict[str, list[str]] = {name: [] for name in graph.nodes}
    position = {name: number for number, name in enumerate(_causal_order(graph))}
    for _, edge in edges(graph):
        a, b = sorted(edge, key=position.__getitem__)
        later[a].append(b)
    layer = dict.fromkeys(position, 0)
    for name in position:
        for other in later[name]:
            layer[other] = max(layer[other], layer[name] + 1)
    for name in reversed(position):
        if later[name]:
            layer[name] = min(layer[other] for other in later[name]) - 1
    return {name: layer[name] for name in graph.nodes}


def _causal_order(graph: CausalGraph) -> list[str]:
    """Sort the variables, causes first."""
    causes: dict[str, list[str]] = {name: [] for name in graph.nodes}
    for cause, effect in graph.directed:
        causes[effect].append(cause)
    return list(TopologicalSorter(causes).static_order())


def _reduce_crossings(order: list[list[Item]], neighbours: dict[Item, list[Item]]) -> None:
    """Sort each layer by the mean rank of its neighbours, in both directions; keep the order with fewest crossings."""
    depth = {item: number for number, items in enumerate(order) for item in items}
    best, fewest = [list(items) for items in order], _crossings(order, neighbours, depth)
    for sweep in range(_SWEEPS):
        before = -1 if sweep % 2 == 0 else 1
        for number in range(len(order))[::-before]:
            rank = {
                item: (place + 0.5) / len(items)
                for items in order[max(number + before, 0) : number + before + 1]
                for place, item in enumerate(items)
            }
            own = {item: (place + 0.5) / len(order[number]) for place, item in enumerate(order[number])}
            order[number].sort(key=lambda item, rank=rank, own=own: _mean(neighbours[item], rank, own[item]))  # type: ignore[misc]
        crossings = _crossings(order, neighbours, depth)
        if crossings < fewest:
            best, fewest = [list(items) for items in order], crossings
    order[:] = best


def _mean(items: Iterable[Item], rank: dict[Item, float], default: float) -> float:
    """Return the mean rank of those items that have one."""
    ranks = [rank[item] for item in items if item in rank]
    return sum(ranks) / len(ranks) if ranks else default


def _crossings(order: list[list[Item]], neighbours: dict[Item, list[Item]], depth: dict[Item, int]) -> int:
    """Count the crossings of edges between neighbouring layers."""
    total = 0
    for number, items in enumerate(order[:-1]):
        rank = {item: place for place, item in enumerate(order[number + 1])}
        ends = [sorted(rank[other] for other in neighbours[item] if depth[other] == number + 1) for item in items]
        seen: list[int] = []
        for these in ends:
            total += sum(1 for end in these for other in seen if other > end)
            seen += these
    return total


def placed(graph: CausalGraph, admissibility: Admissibility | None) -> dict[str, Any] | None:
    """Return a drawing as data, with y downwards from 0; None if the graph is too large for a readable one.

    >>> drawing = placed(CausalGraph.read("z -> {x y}; x -> y"), None)
    >>> [(node["name"], node["x"]) for node in drawing["nodes"]]
    [('z', 0.0), ('x', 1.0), ('y', 2.0)]
    """
    if not can_be_drawn(graph):
        return None
    place, passing = places(graph)
    (left, right), (bottom, top) = extent(place, passing)
    letters, harmful = violating(admissibility)

    def at(point: Point) -> list[float]:
        return [point[0] - left, top - point[1]]

    return {
        "width": right - left,
        "height": top - bottom,
        "nodes": [
            {"name": name, "role": role, "x": at(place[name])[0], "y": at(place[name])[1]}
            for name, role in roles(graph, admissibility).items()
        ],
        "edges": [
            {
                "arrow": arrow,
                "from": a,
                "to": b,
                "through": [at(point) for point in passing.get((arrow, a, b), [])],
                "criteria": letters.get((arrow, a, b), []),
                "harmful": (arrow, a, b) in harmful,
            }
            for arrow, (a, b) in edges(graph)
        ],
    }
