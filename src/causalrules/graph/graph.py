"""Causal graphs: what is known of who causes whom, read from and written to the usual formats (§3.1)."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any

from causalrules.exceptions import GraphError
from causalrules.graph.parsing import DotReader, GmlReader, arrow_of, is_latent
from causalrules.text import nearest, quoted

if TYPE_CHECKING:
    import networkx

Edge = tuple[str, str]


class _EdgeError(GraphError):
    """An error that is about certain edges, so that a reader of text can add the lines they stand on."""

    def __init__(self, message: str, edges: Iterable[Edge]) -> None:
        super().__init__(message)
        self.edges = tuple(edges)


@dataclass(frozen=True)
class CausalGraph:
    """A causal graph that may be known in part only.

    `directed` holds causes and their effects; `bidirected` pairs have an unobserved common cause; of
    `unknown` pairs it is known only that they are connected, by a cause in one direction or the other or by
    an unobserved common cause. `latent` variables exist but are not observed.

    >>> CausalGraph(("smoking", "tar"), directed=(("smoking", "tar"),)).to_dagitty()
    'dag {\\n"smoking"\\n"tar"\\n"smoking" -> "tar"\\n}\\n'
    """

    nodes: tuple[str, ...]
    directed: tuple[Edge, ...] = ()
    bidirected: tuple[Edge, ...] = ()
    unknown: tuple[Edge, ...] = ()
    latent: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Put everything in one order, so that equal graphs compare equal, and refuse what is no graph."""
        nodes = tuple(dict.fromkeys(self.nodes))
        place = {name: position for position, name in enumerate(nodes)}
        for edges in (self.directed, self.bidirected, self.unknown):
            for edge in edges:
                for name in edge:
                    if name not in place:
                        raise _EdgeError(f"an edge names {quoted(name)}, which is not a node", [edge])
                if edge[0] == edge[1]:
                    raise _EdgeError(f"{quoted(edge[0])} has an edge to itself; remove it", [edge])

        def in_order(edges: Iterable[Edge]) -> tuple[Edge, ...]:
            return tuple(sorted(dict.fromkeys(edges), key=lambda edge: (place[edge[0]], place[edge[1]])))

        def undirected(edges: Iterable[Edge]) -> tuple[Edge, ...]:
            return in_order((a, b) if place[a] < place[b] else (b, a) for a, b in edges)

        for name in self.latent:
            if name not in place:
                raise GraphError(f"latent variable {quoted(name)} is not in the graph{nearest(name, nodes)}")
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "directed", in_order(self.directed))
        object.__setattr__(self, "bidirected", undirected(self.bidirected))
        object.__setattr__(self, "unknown", undirected(self.unknown))
        object.__setattr__(self, "latent", frozenset(self.latent))

        known = {*undirected(self.directed), *self.bidirected}
        for a, b in self.unknown:
            if (a, b) in known:
                said = f"the edge between {quoted(a)} and {quoted(b)} is given as known and as unknown; keep one"
                raise _EdgeError(said, [(a, b)])
        cycle = _cycle(nodes, self.directed)
        if cycle:
            shown = [quoted(name) for name in (cycle if len(cycle) <= 8 else [*cycle[:4], "…", *cycle[-3:]])]
            text = " -> ".join([*shown, shown[0]])
            raise _EdgeError(
                f"the graph has a cycle: {text}; a causal graph has none, remove one of these edges",
                zip(cycle, [*cycle[1:], cycle[0]], strict=True),
            )

    @classmethod
    def read(cls, source: object, latent: Iterable[str] = ()) -> CausalGraph:
        """Read a graph from a networkx graph, a list of edges, an adjacency dict, text or a file.

        Text and files are in DOT, dagitty or GML syntax. A variable is latent if `latent` names it, by
        dagitty's `[latent]`, or by an attribute `latent=true` or `observed=no`. The attribute `dir` of an
        edge (`both`: a latent common cause, `none`: unknown) says in DOT, GML and networkx what arrows can't.
        dagitty's `exposure`, `outcome` and `adjusted` are not read: roles are given where they are used.

        >>> CausalGraph.read("dag { u [latent]; u -> a -> b; a <-> b }").bidirected
        (('a', 'b'),)
        """
        hidden = frozenset((latent,) if isinstance(latent, str) else latent)
        try:
            graph = _read(source)
            return replace(graph, latent=graph.latent | hidden) if hidden else graph
        except _EdgeError as error:
            raise GraphError(str(error)) from None

    def to_dagitty(self) -> str:
        """The graph in dagitty's language."""
        lines = [f"{_quote(name)} [latent]" if name in self.latent else _quote(name) for name in self.nodes]
        lines += [f"{_quote(a)} -> {_quote(b)}" for a, b in self.directed]
        lines += [f"{_quote(a)} <-> {_quote(b)}" for a, b in self.bidirected]
        lines += [f"{_quote(a)} -- {_quote(b)}" for a, b in self.unknown]
        return "\n".join(["dag {", *lines, "}\n"])

    def to_dot(self) -> str:
        """The graph in DOT; latent variables carry `latent=true`, edges that are no arrows a `dir`."""
        lines = [_quote(name) + (" [latent=true]" if name in self.latent else "") for name in self.nodes]
        lines += [f"{_quote(a)} -> {_quote(b)}" for a, b in self.directed]
        lines += [f"{_quote(a)} -> {_quote(b)} [dir=both]" for a, b in self.bidirected]
        lines += [f"{_quote(a)} -> {_quote(b)} [dir=none]" for a, b in self.unknown]
        return "\n".join(["digraph {", *(f"  {line};" for line in lines), "}\n"])

    def to_gml(self) -> str:
        """The graph in GML, as networkx reads it too."""
        place = {name: position for position, name in enumerate(self.nodes)}
        lines = ["graph [", "  directed 1"]
        for name, position in place.items():
            hidden = " latent 1" if name in self.latent else ""
            lines.append(f'  node [ id {position} label "{_gml_escape(name)}"{hidden} ]')
        for (a, b), kind in self._single_slots():
            lines.append(f"  edge [ source {place[a]} target {place[b]}" + (f' dir "{kind}" ]' if kind else " ]"))
        return "\n".join([*lines, "]\n"])

    def to_networkx(self) -> networkx.DiGraph:
        """A networkx.DiGraph; latent nodes have latent=True, edges that are no arrows `dir` both or none."""
        import networkx

        graph = networkx.DiGraph()
        for name in self.nodes:
            graph.add_node(name, **({"latent": True} if name in self.latent else {}))
        for (a, b), kind in self._single_slots():
            graph.add_edge(a, b, **({"dir": kind} if kind else {}))
        return graph

    def _single_slots(self) -> Iterator[tuple[Edge, str]]:
        """Every edge with its `dir`, no two between the same ends, for formats without parallel edges."""
        taken = set(self.directed)
        yield from ((edge, "") for edge in self.directed)
        yield from (((b, a) if (a, b) in taken else (a, b), "both") for a, b in self.bidirected)
        yield from ((edge, "none") for edge in self.unknown)


def _read(source: object) -> CausalGraph:
    # A networkx graph can only be passed once networkx is loaded: no need to import it to recognise one.
    networkx = sys.modules.get("networkx")
    if isinstance(source, CausalGraph):
        return source
    if networkx is not None and isinstance(source, networkx.Graph):
        return _from_networkx(source)
    if isinstance(source, str | os.PathLike):
        return _from_text_or_file(source)
    if isinstance(source, Mapping):
        return _from_adjacency(source)
    if isinstance(source, Iterable) and not isinstance(source, bytes | bytearray):
        return _from_pairs(source)
    raise GraphError(
        f"cannot read a causal graph from {type(source).__name__}; "
        "pass a networkx.DiGraph, a list of edges, a dict of effects, text, or a file"
    )


def _cycle(nodes: Iterable[str], directed: Iterable[Edge]) -> list[str]:
    """The nodes of some directed cycle in order, or nothing."""
    effects: dict[str, list[str]] = {name: [] for name in nodes}
    causes_left = dict.fromkeys(effects, 0)
    for a, b in directed:
        effects[a].append(b)
        causes_left[b] += 1
    ready = [name for name, count in causes_left.items() if count == 0]
    while ready:
        name = ready.pop()
        del causes_left[name]
        for effect in effects[name]:
            causes_left[effect] -= 1
            if causes_left[effect] == 0:
                ready.append(effect)
    if not causes_left:
        return []
    # What is left lies on a cycle or behind one: each has a cause that is left, so going back must close.
    cause = {b: a for a in causes_left for b in effects[a] if b in causes_left}
    trail: dict[str, None] = {}
    name = next(iter(causes_left))
    while name not in trail:
        trail[name] = None
        name = cause[name]
    backwards = list(trail)
    cycle = backwards[backwards.index(name) :][::-1]
    first = cycle.index(min(cycle))
    return cycle[first:] + cycle[:first]


def _node_name(name: object, place: str) -> str:
    if isinstance(name, str):
        return str(name)
    if isinstance(name, Integral):
        return str(int(name))
    said = f"{quoted(name)} is {type(name).__name__}; a variable's name is text or a whole number"
    raise GraphError(f"{place}: {said}")


def _from_pairs(source: Iterable[object]) -> CausalGraph:
    directed = []
    for position, pair in enumerate(source):
        place = f"edge number {position + 1} of the list"
        if isinstance(pair, str | bytes) or not isinstance(pair, Iterable):
            raise GraphError(f"{place} is {quoted(pair)}; an edge is a pair (cause, effect)")
        ends = tuple(pair)
        if len(ends) != 2:
            raise GraphError(f"{place} has {len(ends)} entries; an edge is a pair (cause, effect)")
        directed.append((_node_name(ends[0], place), _node_name(ends[1], place)))
    return _build([name for edge in directed for name in edge], [(a, "->", b) for a, b in directed], ())


def _from_adjacency(source: Mapping[Any, Any]) -> CausalGraph:
    nodes: list[str] = []
    edges: list[tuple[str, str, str]] = []
    for name, effects in source.items():
        cause = _node_name(name, "a key of the dict")
        nodes.append(cause)
        if not isinstance(effects, Iterable):
            raise GraphError(f"the entry of {quoted(cause)} is {quoted(effects)}; it must list its effects")
        for effect in (effects,) if isinstance(effects, str) else effects:
            nodes.append(_node_name(effect, f"the entry of {quoted(cause)}"))
            edges.append((cause, "->", nodes[-1]))
    return _build(nodes, edges, ())


def _from_networkx(source: networkx.Graph) -> CausalGraph:
    name_of = {node: _node_name(node, "a node of the networkx graph") for node in source.nodes}
    for name, count in Counter(name_of.values()).items():
        if count > 1:
            raise GraphError(f"two nodes of the networkx graph are both {quoted(name)} as text; rename one")
    latent = [
        name_of[node]
        for node, attributes in source.nodes(data=True)
        if is_latent(attributes, partial("{}: {}".format, f"node {quoted(node)}"))
    ]
    edges = []
    for a, b, attributes in source.edges(data=True):
        arrow = "->" if source.is_directed() else "--"
        place = f"edge {quoted(name_of[a])} -> {quoted(name_of[b])}"
        edges.append((name_of[a], arrow_of(attributes, arrow, partial("{}: {}".format, place)), name_of[b]))
    return _build(list(name_of.values()), edges, latent)


def _build(nodes: Iterable[str], edges: Iterable[tuple[str, str, str]], latent: Iterable[str]) -> CausalGraph:
    by_arrow: dict[str, list[Edge]] = {"->": [], "<->": [], "--": []}
    for a, arrow, b in edges:
        if arrow == "<-":
            by_arrow["->"].append((b, a))
        else:
            by_arrow[arrow].append((a, b))
    return CausalGraph(
        tuple(nodes), tuple(by_arrow["->"]), tuple(by_arrow["<->"]), tuple(by_arrow["--"]), frozenset(latent)
    )


def _from_text_or_file(source: str | os.PathLike[str]) -> CausalGraph:
    name = os.fspath(source)
    if not isinstance(name, str):
        raise GraphError(f"the path {quoted(name)} is not text")
    if os.path.isfile(name):
        try:
            with open(name, encoding="utf-8-sig", newline="") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise GraphError(f"cannot read the graph file {name!r}: {error}") from None
        try:
            return _from_text(text, name.lower().endswith(".gml") or _looks_like_gml(text))
        except GraphError as error:
            raise GraphError(f"{name!r}, {error}") from None
    is_gml = _looks_like_gml(name)
    if isinstance(source, str) and (is_gml or "{" in name or "->" in name or "\n" in name):
        return _from_text(name, is_gml)
    if not isinstance(source, str):
        raise GraphError(f"no graph file {name!r}")
    raise GraphError(f"{quoted(name)} is neither an existing file nor the text of a graph such as 'dag {{ a -> b }}'")


def _looks_like_gml(text: str) -> bool:
    return re.match(r"(?:\s++|#[^\n]*+|(?!graph\b)\w++[ \t]++[^\n\[{]*+\n)*+graph\s*+\[", text) is not None


def _from_text(text: str, is_gml: bool) -> CausalGraph:
    reader = GmlReader(text) if is_gml else DotReader(text)
    reader.parse()
    try:
        return _build(reader.nodes, ((a, arrow, b) for a, arrow, b, _ in reader.edges), reader.latent)
    except _EdgeError as error:
        offending = {frozenset(edge) for edge in error.edges}
        positions = [position for a, _, b, position in reader.edges if frozenset((a, b)) in offending]
        lines = dict.fromkeys(str(reader.line(position)[0]) for position in sorted(positions)[:8])
        raise GraphError(f"line {', '.join(lines)}: {error}") from None


def _quote(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _gml_escape(name: str) -> str:
    """Escape as networkx does: what is not printable ASCII, and the quote and the ampersand, by number."""
    return re.sub(r'[^ -~]|[&"]', lambda match: f"&#{ord(match[0])};", name)
