"""Edges and latent variables of other libraries' objects: data frames, networkx, pgmpy and causal-learn.

None of these libraries is imported: objects are recognised by their attributes.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

from causalrules.exceptions import GraphError
from causalrules.graph.parsing import ARROWS, arrow_of, is_latent
from causalrules.text import listed, quoted

# Accepted column names in a data frame of edges.
_CAUSE = ("cause", "from", "source")
_EFFECT = ("effect", "to", "target")
_KIND = ("edge", "arrow", "kind", "type")
_WORDS = {"directed": "->", "bidirected": "<->", "undirected": "--", "-->": "->", "<--": "<-", "---": "--"}


class Drawn(NamedTuple):
    """Nodes, edges (a, arrow, b) and latent nodes."""

    nodes: list[str]
    edges: list[tuple[str, str, str]]
    latent: list[str]


def drawn(source: object) -> Drawn | None:
    """Return the parts of another library's graph, or None if the object is not a known kind of graph."""
    # Do not import networkx to recognise its graphs.
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(source, networkx.Graph):
        return from_networkx(source)
    if hasattr(getattr(source, "G", source), "get_graph_edges"):
        return _from_causal_learn(getattr(source, "G", source))
    if hasattr(source, "columns"):
        return _from_frame(source)
    return None


def node_name(name: object, place: str) -> str:
    """Convert a node's name to text; `place` starts the error message."""
    if isinstance(name, str):
        return str(name)
    if isinstance(name, Integral):
        return str(int(name))
    raise GraphError(f"{place}: {quoted(name)} is {type(name).__name__}; a variable's name must be text or an integer")


def from_networkx(source: Any, label: str | None = None) -> Drawn:
    """Read a networkx graph, with the names in the attribute `label`; undirected edges are unknown.

    pgmpy's graphs are networkx graphs, with latent variables, undirected edges, and marks or types of edges.
    """
    names = source.nodes(data=label, default=None) if label else ((node, None) for node in source.nodes)
    name_of = {node: node_name(node if name is None else name, "a node of the graph") for node, name in names}
    for name, count in Counter(name_of.values()).items():
        if count > 1:
            raise GraphError(f"two nodes of the graph have the name {quoted(name)}; rename one")
    latent = [
        name_of[node]
        for node, attributes in source.nodes(data=True)
        if is_latent(attributes, partial("{}: {}".format, f"node {quoted(node)}"))
    ]
    latent += [name_of[node] for node in getattr(source, "latents", ()) if node in name_of]
    unknown = {frozenset(edge) for edge in getattr(source, "undirected_edges", ())}
    edges = []
    for a, b, attributes in source.edges(data=True):
        arrow = "->" if source.is_directed() and frozenset((a, b)) not in unknown else "--"
        place = f"edge {quoted(name_of[a])} -> {quoted(name_of[b])}"
        if attributes.get("type") == "bidirected":
            arrow = "<->"
        if isinstance(attributes.get("marks"), dict):
            arrow = _arrow(attributes["marks"].get(a), attributes["marks"].get(b), place)
        edges.append((name_of[a], arrow_of(attributes, arrow, partial("{}: {}".format, place)), name_of[b]))
    return Drawn(list(name_of.values()), edges, latent)


def _arrow(left: object, right: object, place: str) -> str:
    """Return the arrow with these marks at its ends: a tail "-", a head ">" or a circle "o"."""
    arrow = f"{'<' if left == '>' else left}-{right}"
    known = {"--": "--", "---": "--", "-->": "->", "<--": "<-", "<->": "<->", "o->": "o->", "<-o": "<-o", "o-o": "o-o"}
    if arrow not in known:
        raise GraphError(f"{place}: an edge with the marks {quoted(left)} and {quoted(right)} is not supported")
    return known[arrow]


def _from_causal_learn(source: Any) -> Drawn:
    """Read a graph of causal-learn; in a PAG, a cause may also share an unobserved cause with its effect."""
    nodes = [node_name(node.get_name(), "a node of the graph") for node in source.get_nodes()]
    is_pag = bool(getattr(source, "is_pag", bool)())
    edges = [_causal_learn_edge(edge, is_pag) for edge in source.get_graph_edges()]
    latent = [node.get_name() for node in source.get_nodes() if getattr(node.get_node_type(), "name", "") == "LATENT"]
    return Drawn(nodes, edges, latent)


def is_causal_learn_edge(edge: object) -> bool:
    """Return whether this is an edge of causal-learn; FCI returns a list of them with its graph."""
    return hasattr(edge, "get_endpoint1") and hasattr(edge, "get_node2")


def causal_learn_edges(edges: Iterable[Any]) -> Iterator[tuple[str, str, str]]:
    """Read edges of causal-learn; FCI's edges mark where an unobserved common cause is impossible."""
    for edge in edges:
        if not is_causal_learn_edge(edge):
            raise GraphError(f"a list of causal-learn's edges holds {quoted(edge)}, which is not an edge")
        properties = {getattr(each, "name", "") for each in getattr(edge, "properties", ())}
        yield _causal_learn_edge(edge, "pl" in properties)


def _causal_learn_edge(edge: Any, may_be_confounded: bool) -> tuple[str, str, str]:
    a, b = (node_name(node.get_name(), "a node of the graph") for node in (edge.get_node1(), edge.get_node2()))
    marks = {"TAIL": "-", "ARROW": ">", "CIRCLE": "o"}
    left, right = (marks.get(end.name, end.name) for end in (edge.get_endpoint1(), edge.get_endpoint2()))
    arrow = _arrow(left, right, f"edge {quoted(a)} -> {quoted(b)}")
    return a, {"->": "o->", "<-": "<-o"}.get(arrow, arrow) if may_be_confounded else arrow, b


def _from_frame(source: Any) -> Drawn:
    """Read a data frame with one row per edge: its cause, its effect and, optionally, its arrow."""
    import narwhals as nw

    frame = nw.from_native(source, pass_through=True)
    if not hasattr(frame, "collect_schema"):
        raise GraphError(f"cannot read a causal graph from {type(source).__name__}; pass a data frame of edges")
    frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    by_name = {str(name).lower(): name for name in frame.columns}

    def column(names: Iterable[str], needed: bool = True) -> list[Any] | None:
        found = next((by_name[name] for name in names if name in by_name), None)
        if found is None and needed:
            raise GraphError(
                f"a data frame of edges needs a column {' or '.join(map(repr, names))}; "
                f"it has {listed(list(by_name.values()))}"
            )
        return None if found is None else frame[found].to_list()

    causes, effects, kinds = column(_CAUSE) or [], column(_EFFECT) or [], column(_KIND, needed=False)
    edges = []
    for row, (a, b) in enumerate(zip(causes, effects, strict=True)):
        place = f"row {row + 1} of the edges"
        kind = "->" if kinds is None else _WORDS.get(str(kinds[row]).lower(), str(kinds[row]))
        if kind not in ARROWS:
            raise GraphError(f"{place}: {quoted(kinds and kinds[row])} is no edge; write one of {', '.join(ARROWS)}")
        edges.append((node_name(a, place), kind, node_name(b, place)))
    return Drawn([name for a, _, b in edges for name in (a, b)], edges, [])
