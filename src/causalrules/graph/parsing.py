"""Parsers for DOT, dagitty and BIF text.

Graph files are untrusted. This parser runs in linear time, needs no recursion and reports the line and column of every
error. pydot takes minutes for 100,000 edges and fails on deep nesting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, NoReturn

from causalrules.exceptions import GraphError
from causalrules.text import quoted

# A short text such as `{a b …} -> {c d …}` can describe more edges than fit into memory.
_MAX_EDGES = 1_000_000
ARROWS = ("->", "<-", "<->", "--", "o->", "<-o", "o-o")
_ARROW_OF_DIR = {"forward": "->", "back": "<-", "both": "<->", "none": "--"}
_BLANKS, _ANGLES = re.compile(r"\s*+"), re.compile("[<>]")
_YES, _NO = {"true", "1", "yes"}, {"false", "0", "no"}


def is_latent(attributes: Mapping[str, Any], locate: Callable[[str], str]) -> bool:
    """Return whether a node's attributes mark it as latent; `locate` adds the position to an error message."""
    if "selected" in attributes and attributes["selected"] is None:
        raise GraphError(locate("dagitty's [selected] is not supported: the criteria assume no selection"))
    latent = any(key in attributes and attributes[key] is None for key in ("latent", "unobserved", "l", "u"))
    for key, meaning in (("latent", True), ("observed", False)):
        value = attributes.get(key)
        if value is None:
            continue
        text = str(value).lower()
        if text not in _YES | _NO:
            raise GraphError(locate(f"{key}={quoted(value)}: must be true or false"))
        latent |= (text in _YES) == meaning
    return latent


def arrow_of(attributes: Mapping[str, Any], arrow: str, locate: Callable[[str], str]) -> str:
    """Return the arrow of an edge after its attribute `dir`; `locate` adds the position to an error message."""
    direction = attributes.get("dir")
    if direction is None:
        return arrow
    if str(direction) not in _ARROW_OF_DIR:
        raise GraphError(locate(f"dir={quoted(direction)}: must be forward, back, both or none"))
    return _ARROW_OF_DIR[str(direction)]


def looks_like_bif(text: str) -> bool:
    """Return whether a block `network … {` or `variable … {` comes first, except for comments."""
    return re.match(r"(?:\s++|//[^\n]*+)*+(?:network|variable)\s++[^\s{;>-]++\s*+\{", text) is not None


_BIF_NAME = r'\s*+("[^"]*+"|[^\s",(){}|;]++)\s*+'
_BIF_BLOCK = re.compile(rf"^[ \t]*+(?:variable{_BIF_NAME}\{{|probability\s*+\(([^)]*+)\))", re.MULTILINE)


def read_bif(text: str) -> tuple[list[str], list[tuple[str, str, str]]]:
    """Read the variables and the edges of a Bayesian network in BIF; its tables are not needed."""
    blocks = list(_BIF_BLOCK.finditer(text))
    nodes = {block[1].strip('"'): None for block in blocks if block[1] is not None}
    edges: list[tuple[str, str, str]] = []
    for block in blocks:
        if block[1] is not None:
            continue
        names = [name.strip('"') for name in re.findall(_BIF_NAME, block[2])]
        unknown = [name for name in names if name not in nodes]
        if not names or unknown:
            line = text.count("\n", 0, block.start()) + 1
            what = f"{quoted(unknown[0])} is no variable of the network" if unknown else "no variable is named"
            raise GraphError(f"line {line}: probability({block[2][:80]}): {what}")
        edges += [(cause, "->", names[0]) for cause in names[1:]]
    return list(nodes), edges


class _Token(NamedTuple):
    """A token of the text."""

    kind: str  # name, string, arrow, or the punctuation itself
    text: str
    position: int


class DotReader:
    """Parser for DOT and dagitty, which share the syntax `kind name { a -> {b c} [attributes]; … }`.

    An explicit stack of braces, with groups as ranges of the list of all names mentioned, makes nesting cheap.
    """

    # Arrows such as `o-o` need spaces around them, because `o` can be the name of a variable.
    pattern = re.compile(
        r"""\s*+(?: //[^\n]*+ | (?<!\S)\#[^\n]*+ | /\*(?s:.*?)\*/
        | (?P<arrow> (?<=[ \t])(?:o-o|o->|<-o)(?=[ \t])|@-@|@->|<-@|<->|->|<-|--)
        | (?P<mark> [{}\[\];,=])
        | (?P<string> "[^"\\]*+(?:\\(?s:.)[^"\\]*+)*+")
        | (?P<name> [\w.]++)
        | (?P<number> -[\d.]++))""",
        re.VERBOSE,
    )

    def __init__(self, text: str) -> None:
        self.text = text
        self.nodes: dict[str, None] = {}
        self.latent: set[str] = set()
        self.edges: list[tuple[str, str, str, int]] = []  # cause, arrow, effect, position in the text
        self.tokens = self._tokens()
        self.next = 0

    def line(self, position: int) -> tuple[int, int]:
        """Return the line and column of a position, counted from 1."""
        before = self.text.rfind("\n", 0, position)
        return self.text.count("\n", 0, position) + 1, position - before

    def locate(self, position: int, message: str) -> str:
        """Prefix a message with its line and column."""
        line, column = self.line(position)
        return f"line {line}, column {column}: {message}"

    def fail(self, token: _Token, expected: str) -> NoReturn:
        """Raise an error about an unexpected token."""
        found = "the text ends" if token.kind == "end" else f"found {quoted(token.text)}"
        raise GraphError(self.locate(token.position, f"expected {expected}, but {found}"))

    def peek(self, ahead: int = 0) -> _Token:
        """Return the next token, or one further ahead."""
        return self.tokens[self.next + ahead]

    def take(self) -> _Token:
        """Return the next token and advance."""
        token = self.tokens[self.next]
        self.next += 1
        return token

    def _tokens(self) -> list[_Token]:
        """Split the text into tokens."""
        tokens, position, text = [], 0, self.text
        end = len(text.rstrip())
        while position < end:
            match = self.pattern.match(text, position)
            if match is None:
                position = _BLANKS.match(text, position).end()  # type: ignore[union-attr]
                after_html = self._end_of_html(position)
                if not after_html:
                    raise GraphError(self.locate(position, self._unreadable(position)))
                tokens.append(_Token("string", text[position + 1 : after_html - 1], position))
                position = after_html
                continue
            kind = match.lastgroup
            if kind is not None:
                found = match[kind]
                value = self._value(found) if kind == "string" else found
                tokens.append(_Token(found if kind == "mark" else kind, value, match.start(kind)))
            position = match.end()
        # The parsers look ahead by less than this.
        tokens += [_Token("end", "", len(text))] * 4
        return tokens

    def _value(self, raw: str) -> str:
        """Remove the quotes and resolve escapes."""
        return re.sub(r'\\(["\\])', r"\1", raw[1:-1]) if "\\" in raw else raw[1:-1]

    def _unreadable(self, position: int) -> str:
        """Describe an unclosed string or comment, or a name that needs quotes."""
        character = self.text[position]
        if character == '"':
            return "this quoted name has no closing quote"
        if self.text.startswith("/*", position):
            return "this comment has no end '*/'"
        return f"unexpected {quoted(character)}; quote names that contain more than letters, digits, _ and ."

    def _end_of_html(self, position: int) -> int:
        """Return the end of a DOT name in balanced angle brackets."""
        depth = 0
        if self.text[position] == "<":
            for bracket in _ANGLES.finditer(self.text, position):
                depth += 1 if bracket[0] == "<" else -1
                if depth == 0:
                    return bracket.end()
        return 0

    def parse(self) -> None:
        """Parse every statement into `nodes`, `latent` and `edges`."""
        self.expanded = 0
        bare = not self._header()
        mentions: list[str] = []
        # For each open brace: the start of its mentions, and the state of the statement around it.
        stack: list[tuple[int, range | None, _Token | None, list[range]]] = []
        left: range | None = None
        arrow: _Token | None = None
        own_edges: list[range] = []  # edges of the current statement, which its attributes apply to
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
        """Skip a header such as `digraph name {`; return whether there is one."""
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
        """Return whether a group follows the word `subgraph`; skip the name of the group."""
        named = self.peek().kind in ("name", "string") and self.peek(1).kind == "{"
        self.next += named
        return self.peek().kind == "{"

    def _skipped(self, token: _Token) -> bool:
        """Skip a statement without nodes or edges, such as `bb=0` or `node [shape=box]`; return whether it is one."""
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
                message = f"defaults for {min(meaningful)!r} are not supported; set it on each node or edge"
                raise GraphError(self.locate(token.position, message))
            return True
        return False

    def _attributes(self) -> dict[str, str | None]:
        """Parse attributes up to the closing bracket; those without a value are None."""
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
        """Apply the attributes that follow to the edges of the statement or, if it has none, to its nodes."""
        locate = partial(self.locate, bracket.position)
        attributes = self._attributes()
        while self.peek().kind == "[":
            self.next += 1
            attributes |= self._attributes()
        for number in (number for numbers in own_edges for number in numbers):
            a, arrow, b, position = self.edges[number]
            self.edges[number] = (a, arrow_of(attributes, arrow, locate), b, position)
        if not own_edges and is_latent(attributes, locate):
            self.latent.update(names)

    def _connect(self, mentions: list[str], left: range, arrow: _Token, right: range) -> None:
        """Add an edge from each name on the left to each on the right."""
        if not left or not right:
            raise GraphError(self.locate(arrow.position, "empty group on one side of this arrow"))
        self.expanded += len(left) * len(right)
        if self.expanded > _MAX_EDGES:
            raise GraphError(self.locate(arrow.position, f"more than {_MAX_EDGES:,} edges"))
        kind = arrow.text.replace("@", "o")
        causes = dict.fromkeys(mentions[left.start : left.stop])
        effects = dict.fromkeys(mentions[right.start : right.stop])
        self.edges += [(a, kind, b, arrow.position) for a in causes for b in effects]
