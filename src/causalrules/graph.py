"""Causal graphs: what is known of who causes whom, read from and written to the usual formats (paper §3.1).

DOT, dagitty and GML are read by a small linear-time parser here rather than by pydot and networkx: graph
files come from strangers, and on those pydot takes minutes for 100,000 edges, both overflow the stack on deep
nesting, and neither tells the reader the line and the column.
"""

from __future__ import annotations

import difflib
import html
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from causalrules.exceptions import GraphError

if TYPE_CHECKING:
    import networkx

Edge = tuple[str, str]

# A few bytes such as `{a b …} -> {c d …}` can stand for a product of edges that fits no memory.
_MOST_EDGES = 2_000_000
_ARROW_OF_DIR = {"forward": "->", "back": "<-", "both": "<->", "none": "--"}
_BLANKS, _ANGLES = re.compile(r"\s*+"), re.compile("[<>]")
_YES, _NO = {"true", "1", "yes"}, {"false", "0", "no"}


def quoted(name: object) -> str:
    """A name as an error message shows it: quoted, on one line, and no longer than a reader can bear.

    >>> quoted("sex")
    "'sex'"
    """
    text = name if isinstance(name, str) else str(name)
    return repr(text if len(text) <= 60 else text[:57] + "...")


def nearest(name: str, known: Iterable[str]) -> str:
    """What to add to "no variable 'sexx'": the name that was probably meant, or nothing.

    >>> nearest("sexx", ["age", "sex"])
    "; did you mean 'sex'?"
    """
    comparable = [other for other in known if len(other) <= 100][:10_000]
    matches = difflib.get_close_matches(name, comparable, n=1) if len(name) <= 100 else []
    return f"; did you mean {quoted(matches[0])}?" if matches else ""


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
                said = (
                    f"the edge between {quoted(a)} and {quoted(b)} is given as known and as unknown; keep one"
                )
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
            lines.append(
                f"  edge [ source {place[a]} target {place[b]}" + (f' dir "{kind}" ]' if kind else " ]")
            )
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
        if _is_latent(attributes, partial("{}: {}".format, f"node {quoted(node)}"))
    ]
    edges = []
    for a, b, attributes in source.edges(data=True):
        arrow = "->" if source.is_directed() else "--"
        place = f"edge {quoted(name_of[a])} -> {quoted(name_of[b])}"
        edges.append((name_of[a], _arrow(attributes, arrow, partial("{}: {}".format, place)), name_of[b]))
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


def _is_latent(attributes: Mapping[str, Any], complain: Callable[[str], str]) -> bool:
    """Whether a node's attributes mark it as unobserved; `complain` puts the place in front of a message."""
    if "selected" in attributes and attributes["selected"] is None:
        raise GraphError(
            complain("dagitty's [selected] is not supported: these criteria assume no selection")
        )
    latent = any(key in attributes and attributes[key] is None for key in ("latent", "unobserved", "l", "u"))
    for key, meaning in (("latent", True), ("observed", False)):
        value = attributes.get(key)
        if value is None:
            continue
        text = str(value).lower()
        if text not in _YES | _NO:
            raise GraphError(complain(f"{key}={quoted(value)} is neither true nor false"))
        latent |= (text in _YES) == meaning
    return latent


def _arrow(attributes: Mapping[str, Any], arrow: str, complain: Callable[[str], str]) -> str:
    direction = attributes.get("dir")
    if direction is None:
        return arrow
    if str(direction) not in _ARROW_OF_DIR:
        raise GraphError(complain(f"dir={quoted(direction)}; it can be forward, back, both or none"))
    return _ARROW_OF_DIR[str(direction)]


def _from_text_or_file(source: str | os.PathLike[str]) -> CausalGraph:
    name = os.fspath(source)
    if not isinstance(name, str):
        raise GraphError(f"the path {quoted(name)} is not text")
    if os.path.isfile(name):
        try:
            text = Path(name).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise GraphError(f"cannot read the graph file {quoted(name)}: {error}") from None
        try:
            return _from_text(text, name.lower().endswith(".gml") or _looks_like_gml(text))
        except GraphError as error:
            raise GraphError(f"{quoted(name)}, {error}") from None
    is_gml = _looks_like_gml(name)
    if isinstance(source, str) and (is_gml or "{" in name or "->" in name or "\n" in name):
        return _from_text(name, is_gml)
    if not isinstance(source, str):
        raise GraphError(f"no graph file {quoted(name)}")
    raise GraphError(
        f"{quoted(name)} is neither an existing file nor the text of a graph such as 'dag {{ a -> b }}'"
    )


def _looks_like_gml(text: str) -> bool:
    return re.match(r"(?:\s++|#[^\n]*+|(?!graph\b)\w++[ \t]++[^\n\[{]*+\n)*+graph\s*+\[", text) is not None


def _from_text(text: str, is_gml: bool) -> CausalGraph:
    reader = _GmlReader(text) if is_gml else _DotReader(text)
    reader.parse()
    try:
        return _build(reader.nodes, ((a, arrow, b) for a, arrow, b, _ in reader.edges), reader.latent)
    except _EdgeError as error:
        offending = {frozenset(edge) for edge in error.edges}
        positions = [position for a, _, b, position in reader.edges if frozenset((a, b)) in offending]
        lines = dict.fromkeys(str(reader.line(position)[0]) for position in sorted(positions)[:8])
        raise GraphError(f"line {', '.join(lines)}: {error}") from None


class _Token(NamedTuple):
    kind: str  # name, string, arrow, or the punctuation itself
    text: str
    position: int


class _TextReader:
    """What DOT, dagitty and GML share: tokens with their places, and what was read so far."""

    pattern: re.Pattern[str]

    def __init__(self, text: str) -> None:
        self.text = text
        self.nodes: dict[str, None] = {}
        self.latent: set[str] = set()
        self.edges: list[tuple[str, str, str, int]] = []  # cause, arrow, effect, position in the text
        self.tokens = self._tokens()
        self.next = 0

    def parse(self) -> None:
        raise NotImplementedError

    def value(self, raw: str) -> str:
        """The text that a quoted string stands for."""
        raise NotImplementedError

    def unreadable(self, position: int) -> str:
        raise NotImplementedError

    def end_of_html(self, position: int) -> int:
        """Where the text in angle brackets that begins here ends, or 0 if none begins here."""
        return 0

    def line(self, position: int) -> tuple[int, int]:
        before = self.text.rfind("\n", 0, position)
        return self.text.count("\n", 0, position) + 1, position - before

    def complain(self, position: int, message: str) -> str:
        line, column = self.line(position)
        return f"line {line}, column {column}: {message}"

    def fail(self, token: _Token, expected: str) -> NoReturn:
        found = "the text ends" if token.kind == "end" else f"found {quoted(token.text)}"
        raise GraphError(self.complain(token.position, f"expected {expected}, but {found}"))

    def peek(self, ahead: int = 0) -> _Token:
        return self.tokens[self.next + ahead]

    def take(self) -> _Token:
        token = self.tokens[self.next]
        self.next += 1
        return token

    def _tokens(self) -> list[_Token]:
        tokens, position, text = [], 0, self.text
        end = len(text.rstrip())
        while position < end:
            match = self.pattern.match(text, position)
            if match is None:
                position = _BLANKS.match(text, position).end()  # type: ignore[union-attr]
                after_html = self.end_of_html(position)
                if not after_html:
                    raise GraphError(self.complain(position, self.unreadable(position)))
                tokens.append(_Token("string", text[position + 1 : after_html - 1], position))
                position = after_html
                continue
            kind = match.lastgroup
            if kind is not None:
                found = match[kind]
                value = self.value(found) if kind == "string" else found
                tokens.append(_Token(found if kind == "mark" else kind, value, match.start(kind)))
            position = match.end()
        # As many ends as the parsers ever look ahead.
        tokens += [_Token("end", "", len(text))] * 4
        return tokens


class _DotReader(_TextReader):
    """DOT and dagitty are one language here: statements `a -> {b c} [attributes]` inside `kind name { … }`.

    Braces are kept on an explicit stack, and a group is a range of the list of all mentions of names, so that
    nesting costs neither recursion nor copies.
    """

    # `o-o` and its like count as arrows only between blanks, since `o` is also a fine name for a variable.
    pattern = re.compile(
        r"""\s*+(?: //[^\n]*+ | (?<![^\n])\#[^\n]*+ | /\*(?s:.*?)\*/
        | (?P<arrow> <->|->|<-|--|@-@|@->|<-@|(?<=[ \t])(?:o-o|o->|<-o)(?=[ \t]))
        | (?P<mark> [{}\[\];,=])
        | (?P<string> "[^"\\]*+(?:\\(?s:.)[^"\\]*+)*+")
        | (?P<name> [\w.]++)
        | (?P<number> -[\d.]++))""",
        re.VERBOSE,
    )

    def value(self, raw: str) -> str:
        return re.sub(r'\\(["\\])', r"\1", raw[1:-1]) if "\\" in raw else raw[1:-1]

    def unreadable(self, position: int) -> str:
        character = self.text[position]
        if character == '"':
            return "this quoted name has no closing quote"
        if self.text.startswith("/*", position):
            return "this comment has no end '*/'"
        said = "a name with characters other than letters, digits, _ and . needs quotes"
        return f"unexpected {quoted(character)}; {said}"

    def end_of_html(self, position: int) -> int:
        depth = 0
        if self.text[position] == "<":
            for bracket in _ANGLES.finditer(self.text, position):
                depth += 1 if bracket[0] == "<" else -1
                if depth == 0:
                    return bracket.end()
        return 0

    def parse(self) -> None:
        """Read every statement into `nodes`, `latent` and `edges`."""
        self.expanded = 0
        bare = not self._header()
        mentions: list[str] = []
        # For each open brace: where its mentions begin, and the outer statement that it is an operand of.
        stack: list[tuple[int, range | None, _Token | None, list[range]]] = []
        left: range | None = None
        arrow: _Token | None = None
        own_edges: list[range] = []  # of the statement being read, for the attributes at its end
        while True:
            token = self.take()
            operand: range | None = None
            if token.kind in ("name", "string", "{") and arrow is None:
                left, own_edges = None, []
            if token.kind in ("name", "string"):
                if arrow is None and self._skipped(token):
                    continue
                if token.kind == "name" and token.text.lower() == "subgraph" and self._opens_group():
                    continue
                mentions.append(token.text)
                self.nodes[token.text] = None
                operand = range(len(mentions) - 1, len(mentions))
            elif token.kind == "{":
                stack.append((len(mentions), left, arrow, own_edges))
                left, arrow, own_edges = None, None, []
                continue
            elif token.kind == "arrow":
                if left is None or arrow is not None:
                    self.fail(token, "a name before the arrow" if arrow is None else "a name")
                if token.text in ("o->", "<-o", "@->", "<-@"):
                    said = f"the half-known edge {token.text} is not supported; write -- for an unknown one"
                    raise GraphError(self.complain(token.position, said))
                arrow = token
                continue
            elif arrow is not None:
                self.fail(token, f"a name after {quoted(arrow.text)}")
            elif token.kind == ";":
                left = None
                continue
            elif token.kind == "[" and left is not None:
                self._attach(token, own_edges, mentions[left.start : left.stop])
                left = None
                continue
            elif token.kind == "}" and stack:
                start, left, arrow, own_edges = stack.pop()
                operand = range(start, len(mentions))
            elif token.kind == "}" and not bare:
                break
            elif token.kind == "end" and bare and not stack:
                return
            elif token.kind == "end":
                self.fail(token, "'}'")
            else:
                self.fail(token, "a name or '}'" if stack or not bare else "a name")
            if arrow is not None and left is not None:
                first = len(self.edges)
                self._connect(mentions, left, arrow, operand)
                own_edges.append(range(first, len(self.edges)))
            left, arrow = operand, None
        if self.take().kind != "end":
            self.fail(self.peek(-1), "the end of the graph after its last '}'")

    def _header(self) -> bool:
        kinds = ("digraph", "graph", "dag", "pdag", "mag", "pag")
        start = self.next
        if self.peek().text.lower() == "strict":
            self.next += 1
        if self.peek().kind == "name" and self.peek().text.lower() in kinds:
            self.next += 1
        if self.peek().kind in ("name", "string") and self.next > start:
            self.next += 1
        if self.peek().kind == "{" and self.next > start:
            self.next += 1
            return True
        self.next = start
        return False

    def _opens_group(self) -> bool:
        named = self.peek().kind in ("name", "string") and self.peek(1).kind == "{"
        self.next += named
        return self.peek().kind == "{"

    def _skipped(self, token: _Token) -> bool:
        """Whether this name began something that says nothing of causes, as `bb=0` or `node [shape=box]`."""
        if self.peek().kind == "=":
            self.next += 1
            if self.peek().kind not in ("name", "string", "number"):
                self.fail(self.peek(), "a value after '='")
            self.next += 1
            return True
        is_default = token.kind == "name" and token.text.lower() in ("node", "edge", "graph")
        if is_default and self.peek().kind == "[":
            self.next += 1
            meaningful = {"dir", "latent", "observed", "unobserved", "selected"} & self._attributes().keys()
            if meaningful:
                said = f"{min(meaningful)!r} as a default is not supported; write it where it holds"
                raise GraphError(self.complain(token.position, said))
            return True
        return False

    def _attributes(self) -> dict[str, str | None]:
        attributes: dict[str, str | None] = {}
        while (token := self.take()).kind != "]":
            if token.kind in (",", ";"):
                continue
            if token.kind not in ("name", "string"):
                self.fail(token, "an attribute or ']'")
            attributes[token.text] = None
            if self.peek().kind == "=":
                self.next += 1
                if self.peek().kind not in ("name", "string", "number"):
                    self.fail(self.peek(), "a value after '='")
                attributes[token.text] = self.take().text
        return attributes

    def _attach(self, bracket: _Token, own_edges: list[range], names: list[str]) -> None:
        """Give the attributes that follow to the edges of their statement or, if none, to its names."""
        complain = partial(self.complain, bracket.position)
        attributes = self._attributes()
        while self.peek().kind == "[":
            self.next += 1
            attributes |= self._attributes()
        for number in (number for numbers in own_edges for number in numbers):
            a, arrow, b, position = self.edges[number]
            self.edges[number] = (a, _arrow(attributes, arrow, complain), b, position)
        if not own_edges and _is_latent(attributes, complain):
            self.latent.update(names)

    def _connect(self, mentions: list[str], left: range, arrow: _Token, right: range) -> None:
        if not left or not right:
            raise GraphError(
                self.complain(arrow.position, "there is an empty group on one side of this arrow")
            )
        self.expanded += len(left) * len(right)
        if self.expanded > _MOST_EDGES:
            said = f"with these groups the graph has more than {_MOST_EDGES:,} edges"
            raise GraphError(self.complain(arrow.position, said))
        kind = "--" if arrow.text in ("o-o", "@-@") else arrow.text
        causes = dict.fromkeys(mentions[left.start : left.stop])
        effects = dict.fromkeys(mentions[right.start : right.stop])
        self.edges += [(a, kind, b, arrow.position) for a in causes for b in effects]


class _GmlReader(_TextReader):
    """GML: `graph [ directed 1 node [ id 0 label "a" ] edge [ source 0 target 1 ] ]`, and keys not ours."""

    pattern = re.compile(
        r"""\s*+(?: \#[^\n]*+ | (?P<mark> [\[\]]) | (?P<string> "[^"]*+") | (?P<name> [A-Za-z_]\w*+)
        | (?P<number> [+-]?[\d.][\w.+-]*+))""",
        re.VERBOSE,
    )

    def value(self, raw: str) -> str:
        return html.unescape(raw[1:-1]) if "&" in raw else raw[1:-1]

    def unreadable(self, position: int) -> str:
        character = self.text[position]
        return "this text has no closing quote" if character == '"' else f"unexpected {quoted(character)}"

    def parse(self) -> None:
        """Read the first graph of the file."""
        stack: list[tuple[str, dict[str, str], int]] = []
        found: dict[str, list[tuple[dict[str, str], int]]] = {"node": [], "edge": []}
        graph: dict[str, str] | None = None
        while (token := self.take()).kind != "end":
            if token.kind == "]":
                if not stack:
                    self.fail(token, "a key")
                key, entries, position = stack.pop()
                if not stack and key == "graph" and graph is None:
                    graph = entries
                elif graph is None and len(stack) == 1 and stack[0][0] == "graph" and key in found:
                    found[key].append((entries, position))
                continue
            if token.kind != "name":
                self.fail(token, "a key or ']'")
            value = self.take()
            if value.kind == "[":
                stack.append((token.text, {}, token.position))
            elif value.kind not in ("number", "string", "name"):
                self.fail(value, f"a value for {quoted(token.text)}")
            elif stack:
                stack[-1][1][token.text] = value.text
        if stack:
            self.fail(token, "']'")
        if graph is None:
            raise GraphError("line 1: no 'graph [ … ]' in this GML text")
        self._collect(found, "->" if graph.get("directed") == "1" else "--")

    def _collect(self, found: dict[str, list[tuple[dict[str, str], int]]], arrow: str) -> None:
        name_of: dict[str, str] = {}
        for entries, position in found["node"]:
            identifier = entries.get("id")
            if identifier is None:
                raise GraphError(self.complain(position, "this node has no id"))
            name = entries.get("label", identifier)
            if identifier in name_of or name in self.nodes:
                raise GraphError(self.complain(position, f"node {quoted(name)} is there twice"))
            name_of[identifier] = name
            self.nodes[name] = None
            if _is_latent(entries, partial(self.complain, position)):
                self.latent.add(name)
        for entries, position in found["edge"]:
            ends = []
            for key in ("source", "target"):
                if entries.get(key) not in name_of:
                    said = f"the {key} of this edge, {quoted(entries.get(key))}, is not the id of a node"
                    raise GraphError(self.complain(position, said))
                ends.append(name_of[entries[key]])
            kind = _arrow(entries, arrow, partial(self.complain, position))
            self.edges.append((ends[0], kind, ends[1], position))


def _quote(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _gml_escape(name: str) -> str:
    """Escape as networkx does: what is not printable ASCII, and the quote and the ampersand, by number."""
    return re.sub(r'[^ -~]|[&"]', lambda match: f"&#{ord(match[0])};", name)
