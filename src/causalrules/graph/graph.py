"""Causal graphs, read from and written to the usual formats (paper §3.1)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from causalrules.exceptions import GraphError, GraphFileError, NoSuchGraphFileError
from causalrules.graph.objects import causal_learn_edges, drawn, from_networkx, is_causal_learn_edge, node_name
from causalrules.graph.parsing import DotReader, looks_like_bif, read_bif
from causalrules.payload import Readable
from causalrules.text import nearest, quoted

if TYPE_CHECKING:
    import networkx

Edge = tuple[str, str]


class _EdgeError(GraphError):
    """Report invalid edges, so that the text parsers can add their line numbers."""

    def __init__(self, message: str, edges: Iterable[Edge]) -> None:
        super().__init__(message)
        self.edges = tuple(edges)


@dataclass(frozen=True, repr=False)
class CausalGraph(Readable):
    """A causal graph, possibly with latent variables and edges of unknown direction.

    Instances are immutable and validated: edges join two different nodes, and the directed edges are acyclic. Equal
    graphs compare equal, whatever the order of their edges.

    Parameters
    ----------
    nodes
        The names of the variables.
    directed
        Pairs (cause, effect).
    bidirected
        Pairs with an unobserved common cause.
    unknown
        Pairs that are connected, either by a cause in one of the two directions or by an unobserved common cause.
    latent
        The nodes that are not observed.

    Raises
    ------
    GraphError
        If the edges do not form a causal graph.

    Examples
    --------
    >>> graph = CausalGraph(("smoking", "tar"), directed=(("smoking", "tar"),))
    >>> graph == CausalGraph.read("smoking -> tar")
    True
    """

    nodes: tuple[str, ...]
    directed: tuple[Edge, ...] = ()
    bidirected: tuple[Edge, ...] = ()
    unknown: tuple[Edge, ...] = ()
    latent: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Sort and validate the edges."""
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
                raise GraphError(f"no variable {quoted(name)} in the graph{nearest(name, nodes)}", parameter="latent")
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "directed", in_order(self.directed))
        object.__setattr__(self, "bidirected", undirected(self.bidirected))
        object.__setattr__(self, "unknown", undirected(self.unknown))
        object.__setattr__(self, "latent", frozenset(self.latent))

        known = set(undirected(self.directed))
        for a, b in self.unknown:
            if (a, b) in known:
                message = f"the edge between {quoted(a)} and {quoted(b)} is given as known and as unknown; keep one"
                raise _EdgeError(message, [(a, b)])
        _require_acyclic(self.directed)

    @classmethod
    def read(cls, source: object, latent: Iterable[str] = ()) -> CausalGraph:
        """Read a causal graph from text, a file or a Python object.

        Parameters
        ----------
        source
            Text in DOT, dagitty, GML or BIF syntax, or just edges such as ``"a -> b; b -> c"``; the path of such a
            file; a graph of networkx, pgmpy or causal-learn, or FCI's list of edges; a list of pairs (cause, effect);
            a data frame with the columns `cause`, `effect` and, for other edges than ``->``, `edge`; a dict of lists
            of effects; or a CausalGraph. In DOT, GML and networkx the edge attribute `dir` is "both" for an
            unobserved common cause and "none" for an edge of unknown direction. An edge ``a o-> b`` is read as
            everything it can be: a cause and an unobserved common cause; ``a o-o b`` as an unobserved common cause
            plus an edge of unknown direction. A node is latent by dagitty's ``[latent]`` or an attribute `latent=true`
            or `observed=no`. dagitty's roles (`exposure`, `outcome`, `adjusted`) are ignored.
        latent
            Additional unobserved variables.

        Returns
        -------
        CausalGraph

        Raises
        ------
        GraphError
            If the source is not a causal graph; the message has the line and column where possible. Also a
            FileNotFoundError if there is no such file, and an OSError if the file cannot be read.

        Examples
        --------
        >>> CausalGraph.read("dag { u [latent]; u -> a -> b; a <-> b }").bidirected
        (('a', 'b'),)
        """
        unobserved = frozenset((latent,) if isinstance(latent, str) else latent)
        try:
            graph = _read(source)
            return replace(graph, latent=graph.latent | unobserved) if unobserved else graph
        except _EdgeError as error:
            raise GraphError(str(error)) from None

    def to_dagitty(self) -> str:
        """Write the graph in dagitty syntax.

        Returns
        -------
        str

        Examples
        --------
        >>> print(CausalGraph.read("a -> b; a <-> b").to_dagitty(), end="")
        dag {
        "a"
        "b"
        "a" -> "b"
        "a" <-> "b"
        }
        """
        lines = [f"{_quote(name)} [latent]" if name in self.latent else _quote(name) for name in self.nodes]
        lines += [f"{_quote(a)} -> {_quote(b)}" for a, b in self.directed]
        lines += [f"{_quote(a)} <-> {_quote(b)}" for a, b in self.bidirected]
        lines += [f"{_quote(a)} -- {_quote(b)}" for a, b in self.unknown]
        return "\n".join(["dag {", *lines, "}\n"])

    def to_dot(self) -> str:
        """Write the graph in DOT; see `read` for the attributes `latent` and `dir`.

        Returns
        -------
        str

        Examples
        --------
        >>> print(CausalGraph.read("a <-> b", latent="a").to_dot(), end="")
        digraph {
          "a" [latent=true];
          "b";
          "a" -> "b" [dir=both];
        }
        """
        lines = [_quote(name) + (" [latent=true]" if name in self.latent else "") for name in self.nodes]
        lines += [f"{_quote(a)} -> {_quote(b)}" for a, b in self.directed]
        lines += [f"{_quote(a)} -> {_quote(b)} [dir=both]" for a, b in self.bidirected]
        lines += [f"{_quote(a)} -> {_quote(b)} [dir=none]" for a, b in self.unknown]
        return "\n".join(["digraph {", *(f"  {line};" for line in lines), "}\n"])

    def to_gml(self) -> str:
        """Write the graph in GML, as networkx reads it; see `read` for the attributes `latent` and `dir`.

        Returns
        -------
        str

        Examples
        --------
        >>> print(CausalGraph.read("a -> b").to_gml(), end="")
        graph [
          directed 1
          node [ id 0 label "a" ]
          node [ id 1 label "b" ]
          edge [ source 0 target 1 ]
        ]
        """
        place = {name: position for position, name in enumerate(self.nodes)}
        lines = ["graph [", "  directed 1"]
        for name, position in place.items():
            latent = " latent 1" if name in self.latent else ""
            lines.append(f'  node [ id {position} label "{_escape_gml(name)}"{latent} ]')
        for (a, b), direction in self._simple_edges():
            attribute = f' dir "{direction}"' if direction else ""
            lines.append(f"  edge [ source {place[a]} target {place[b]}{attribute} ]")
        return "\n".join([*lines, "]\n"])

    def to_networkx(self) -> networkx.DiGraph:
        """Convert the graph to networkx; see `read` for the attributes `latent` and `dir`.

        Returns
        -------
        networkx.DiGraph

        Examples
        --------
        >>> CausalGraph.read("a -> b").to_networkx().edges
        OutEdgeView([('a', 'b')])
        """
        import networkx

        graph = networkx.DiGraph()
        for name in self.nodes:
            graph.add_node(name, **({"latent": True} if name in self.latent else {}))
        for (a, b), direction in self._simple_edges():
            graph.add_edge(a, b, **({"dir": direction} if direction else {}))
        return graph

    def _simple_edges(self) -> Iterator[tuple[Edge, str]]:
        """Yield every edge with its `dir`, without parallel edges, which networkx's DiGraph and GML do not allow."""
        taken = set(self.directed)
        yield from ((edge, "") for edge in self.directed)
        yield from (((b, a) if (a, b) in taken else (a, b), "both") for a, b in self.bidirected)
        both = set(self.bidirected)
        yield from (((b, a) if (a, b) in both else (a, b), "none") for a, b in self.unknown)


def _read(source: object) -> CausalGraph:
    """Read a graph from any supported source."""
    if isinstance(source, CausalGraph):
        return source
    if (known := drawn(source)) is not None:
        return _build(*known)
    if isinstance(source, str | os.PathLike):
        return _from_path_or_text(source)
    if isinstance(source, Mapping):
        return _from_adjacency(source)
    if isinstance(source, Iterable) and not isinstance(source, bytes | bytearray):
        return _from_pairs(source)
    raise GraphError(
        f"cannot read a causal graph from {type(source).__name__}; "
        "pass a networkx.DiGraph, a list or data frame of edges, a dict of effects, text, or a file"
    )


def _require_acyclic(directed: Iterable[Edge]) -> None:
    """Raise an error that shows a cycle, if any."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for cause, effect in directed:
        sorter.add(effect, cause)
    try:
        sorter.prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1][:-1]
    else:
        return
    first = cycle.index(min(cycle))
    cycle = [*cycle[first:], *cycle[:first], cycle[first]]
    shown = [quoted(name) for name in (cycle if len(cycle) <= 9 else [*cycle[:4], "…", *cycle[-4:]])]
    message = f"the graph has a cycle: {' -> '.join(shown)}; a causal graph is acyclic, remove one of these edges"
    raise _EdgeError(message, pairwise(cycle)) from None


def _from_pairs(source: Iterable[object]) -> CausalGraph:
    """Read pairs (cause, effect), or causal-learn's edges."""
    directed = []
    pairs = list(source)
    if pairs and is_causal_learn_edge(pairs[0]):
        edges = list(causal_learn_edges(pairs))
        return _build([name for a, _, b in edges for name in (a, b)], edges, ())
    for position, pair in enumerate(pairs):
        place = f"edge number {position + 1} of the list"
        if isinstance(pair, str | bytes) or not isinstance(pair, Iterable):
            raise GraphError(f"{place} is {quoted(pair)}; an edge is a pair (cause, effect)")
        ends = tuple(pair)
        if len(ends) != 2:
            raise GraphError(f"{place} has {len(ends)} entries; an edge is a pair (cause, effect)")
        directed.append((node_name(ends[0], place), node_name(ends[1], place)))
    return _build([name for edge in directed for name in edge], [(a, "->", b) for a, b in directed], ())


def _from_adjacency(source: Mapping[Any, Any]) -> CausalGraph:
    """Read lists of effects by cause."""
    nodes: list[str] = []
    edges: list[tuple[str, str, str]] = []
    for name, effects in source.items():
        cause = node_name(name, "a key of the dict")
        nodes.append(cause)
        if not isinstance(effects, Iterable):
            raise GraphError(f"the entry of {quoted(cause)} is {quoted(effects)}; it must be a list of effects")
        for effect in (effects,) if isinstance(effects, str) else effects:
            nodes.append(node_name(effect, f"the entry of {quoted(cause)}"))
            edges.append((cause, "->", nodes[-1]))
    return _build(nodes, edges, ())


def _build(nodes: Iterable[str], edges: Iterable[tuple[str, str, str]], latent: Iterable[str]) -> CausalGraph:
    """Build a graph from edges (a, arrow, b).

    An edge a o-> b may be a cause, an unobserved common cause, or both. It is read as both: what is identified then is
    identified in every case, since more edges only open paths. So an edge a o-o b becomes an unobserved common cause
    plus an edge of unknown direction.
    """
    by_arrow: dict[str, list[Edge]] = {"->": [], "<->": [], "--": []}
    for a, arrow, b in edges:
        if arrow in ("<-", "<-o"):
            a, b = b, a
        if "o" in arrow:
            by_arrow["<->"].append((a, b))
        by_arrow["--" if arrow in ("--", "o-o") else "<->" if arrow == "<->" else "->"].append((a, b))
    return CausalGraph(
        tuple(nodes), tuple(by_arrow["->"]), tuple(by_arrow["<->"]), tuple(by_arrow["--"]), frozenset(latent)
    )


def _from_path_or_text(source: str | os.PathLike[str]) -> CausalGraph:
    """Return the content of the file of this name if it exists, else the text itself."""
    name = os.fspath(source)
    if not isinstance(name, str):
        raise GraphError(f"the path {quoted(name)} is bytes; pass a string or a pathlib.Path")
    if os.path.isfile(name):
        try:
            with open(name, encoding="utf-8-sig", newline="") as file:
                text = file.read()
        except OSError as error:
            raise GraphFileError(f"cannot read the graph file {name!r}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise GraphError(f"cannot read the graph file {name!r}: {error}") from None
        try:
            return _from_text(text, name.lower().endswith(".gml") or _looks_like_gml(text))
        except GraphError as error:
            raise GraphError(f"{name!r}, {error}") from None
    if os.path.exists(name):
        raise GraphFileError(f"cannot read the graph file {name!r}: not a regular file")
    if not isinstance(source, str):
        raise NoSuchGraphFileError(f"no graph file {name!r}")
    is_gml = _looks_like_gml(name)
    if is_gml or "{" in name or "->" in name or "\n" in name:
        return _from_text(name, is_gml)
    message = f"{quoted(name)} is neither an existing file nor the text of a graph such as 'dag {{ a -> b }}'"
    raise NoSuchGraphFileError(message)


def _looks_like_gml(text: str) -> bool:
    """Return whether `graph [` comes first, except for comments and simple keys."""
    return re.match(r"(?:\s++|#[^\n]*+|(?!graph\b)\w++[ \t]++[^\n\[{]*+\n)*+graph\s*+\[", text) is not None


def _from_text(text: str, is_gml: bool) -> CausalGraph:
    """Parse text; errors about edges name their lines."""
    if is_gml:
        return _from_gml(text)
    if looks_like_bif(text):
        nodes, edges = read_bif(text)
        return _build(nodes, edges, ())
    reader = DotReader(text)
    reader.parse()
    try:
        return _build(reader.nodes, ((a, arrow, b) for a, arrow, b, _ in reader.edges), reader.latent)
    except _EdgeError as error:
        invalid = {frozenset(edge) for edge in error.edges}
        positions = [position for a, _, b, position in reader.edges if frozenset((a, b)) in invalid]
        lines = dict.fromkeys(str(reader.line(position)[0]) for position in sorted(positions)[:8])
        raise GraphError(f"line {', '.join(lines)}: {error}") from None


def _from_gml(text: str) -> CausalGraph:
    """Parse GML with networkx."""
    import networkx

    try:
        parsed = networkx.parse_gml(text, label=None)
    except RecursionError:
        raise GraphError("line 1: this GML text is nested too deeply") from None
    except (networkx.NetworkXError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        # networkx checks the syntax only, and puts the position last.
        found = re.fullmatch(r"(.*) at \((\d+), (\d+)\)", str(error), re.DOTALL)
        place = f"line {found[2]}, column {found[3]}: " if found else ""
        raise GraphError(f"{place}invalid GML: {(found[1] if found else str(error))[:200]}") from None
    return _build(*from_networkx(parsed, label="label"))


def _quote(name: str) -> str:
    """Quote a name for DOT and dagitty."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _escape_gml(name: str) -> str:
    """Replace quotes, ampersands and all but printable ASCII by character references, as networkx does."""
    return re.sub(r'[^ -~]|[&"]', lambda match: f"&#{ord(match[0])};", name)
