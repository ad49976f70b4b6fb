"""Rules as text: "class <= 2 and sex = female" to conditions on the columns of a table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from causalrules.data.columns import Ends, Histogram
from causalrules.data.table import Table
from causalrules.exceptions import DataError, RoleError, UnknownColumnError
from causalrules.language.language import Language
from causalrules.language.propositions import Proposition, comparable, format_value, positions
from causalrules.text import shorten, unknown_column

_SIGNS = {"≤": "<=", "≥": ">=", "==": "=", "=": "=", "<=": "<=", ">=": ">=", "<": "<", ">": ">"}
_SIGNS |= dict.fromkeys(("!=", "≠", "<>"), "!=")
_TURNED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "=": "=", "!=": "!="}
_TOKEN = re.compile(r'\s*(?:(?P<quoted>"(?:[^"\\]|\\.)*")|(?P<sign><=|>=|==|!=|<>|[≤≥<>=≠])|(?P<and>∧|&&?))')
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)


class _Token(NamedTuple):
    """A token of a rule (word, sign or "and") and its position."""

    kind: str
    text: str
    place: int


def parse_rule(text: str, table: Table) -> tuple[Proposition, ...]:
    """Parse a rule; a RoleError gives the position of the error.

    Parameters
    ----------
    text
        Conditions joined by "and" or "∧". A condition compares a column with a value, by = ≠ ≤ ≥ < or >, or puts it
        between two. A name or value that holds such signs stands in double quotes.
    table
        The table whose columns the rule names.
    """
    found: list[Proposition] = []
    for tokens in _conditions(text):
        found += _condition(tokens, text, table)
    return tuple(dict.fromkeys(found))


def _tokens(text: str) -> Iterator[_Token]:
    place, word, begun = 0, "", 0
    while place < len(text):
        joint, match = _AND.match(text, place), _TOKEN.match(text, place)
        special = joint or (match if match and (match["sign"] or match["and"] or not word.strip()) else None)
        if special is None:
            begun = begun if word.strip() else place
            word += text[place]
            place += 1
            continue
        if word.strip():
            yield _Token("word", word.strip(), begun)
        word = ""
        if joint:
            yield _Token("and", "and", place)
        elif match is not None and match["quoted"]:
            try:
                yield _Token("word", json.loads(match["quoted"]), place)
            except ValueError:
                raise _error("the quotes hold something that cannot be read", text, place) from None
        elif match is not None:
            yield _Token("sign" if match["sign"] else "and", match["sign"] or "and", match.start(match.lastgroup or 0))
        place = special.end()
    if word.strip():
        yield _Token("word", word.strip(), begun)


def _conditions(text: str) -> Iterator[list[_Token]]:
    part: list[_Token] = []
    for token in _tokens(text):
        if token.kind == "and":
            yield part
            part = []
        else:
            part.append(token)
    yield part


def _condition(tokens: Sequence[_Token], text: str, table: Table) -> list[Proposition]:
    kinds = [token.kind for token in tokens]
    place = tokens[0].place if tokens else len(text)
    if kinds == ["word", "sign", "word"]:
        first, sign, second = tokens
        if first.text not in table.kinds and second.text in table.kinds:
            first, second, sign = second, first, sign._replace(text=_TURNED[_SIGNS[sign.text]])
        return [_proposition(first, sign, second, text, table)]
    if kinds == ["word", "sign", "word", "sign", "word"]:
        low, left, column, right, high = tokens
        turned = left._replace(text=_TURNED[_SIGNS[left.text]])
        return [_proposition(column, turned, low, text, table), _proposition(column, right, high, text, table)]
    raise _error("a condition is a column, a sign such as = or <=, and a value", text, place)


def _proposition(column: _Token, sign: _Token, value: _Token, text: str, table: Table) -> Proposition:
    try:
        table.require(column.text)
    except UnknownColumnError:
        names = unknown_column(column.text, table.names)
        raise UnknownColumnError(f"{names} ({_where(text, column.place)})", parameter="rule") from None
    histogram, operator = table.histogram(column.text), _SIGNS[sign.text]
    values = histogram.values
    if not len(values):
        raise _error(f"column {column.text!r} has no values", text, column.place)
    if operator == "!=":
        return _other_value(column, sign, value, text, table)
    if not table.kinds[column.text].ordered:
        if operator != "=":
            raise _error(f"the values of {column.text!r} have no order; compare them by =", text, sign.place)
        for known in values:
            if value.text in (format_value(known), str(known)):
                return Proposition(column.text, "=", known)
        raise _error(
            f"{value.text!r} is not a value of {column.text!r}; its values are {shorten(values)}", text, value.place
        )
    try:
        point = comparable(value.text, values, column.text)
    except DataError as error:
        raise _error(error.message, text, value.place) from None
    first, last = positions(values, point, column.text)
    if operator in ("<", ">"):
        neighbour = first - 1 if operator == "<" else last
        if not 0 <= neighbour < len(values):
            raise _error(f"no value of {column.text!r} is {operator} {value.text}", text, value.place)
        operator, point = f"{operator}=", values[neighbour]
    return Proposition(column.text, operator, point, tuple(values.order or ()))


def _other_value(column: _Token, sign: _Token, value: _Token, text: str, table: Table) -> Proposition:
    """Return `x = b` for `x != a`, where a and b are the only values of x."""
    values = table.histogram(column.text).values
    excluded = _proposition(column, sign._replace(text="="), value, text, table).holds(values)
    others = [place for place in range(len(values)) if not excluded[place]]
    if len(others) != 1 or len(values) != 2:
        raise _error(
            f"a rule cannot exclude one of {len(values)} values; compare by = with a value that is wanted",
            text,
            sign.place,
        )
    other = values[others[0]]
    return Proposition(column.text, "=", other, tuple(values.order or ()))


def _where(text: str, place: int) -> str:
    return f"at character {place + 1} of {text!r:.120}"


def _error(message: str, text: str, place: int) -> RoleError:
    return RoleError(f"{message} ({_where(text, place)})", parameter="rule")


def language_of(rules: Iterable[Sequence[Proposition]], table: Table) -> Language:
    """Build the language that has only these conditions."""
    propositions = sorted({each for rule in rules for each in rule}, key=lambda each: each.text)
    columns = tuple(sorted({each.column for each in propositions}))
    ends = {column: _ends(table.histogram(column), propositions, column) for column in columns}
    low, high = [], []
    for each in propositions:
        satisfied = np.flatnonzero(each.holds(table.histogram(each.column).values))
        # A condition that no value satisfies gets an empty interval of codes.
        codes = np.searchsorted(ends[each.column], satisfied) if len(satisfied) else np.array([1, 0])
        low.append(int(codes[0]))
        high.append(int(codes[-1]))
    place = {column: index for index, column in enumerate(columns)}
    return Language(
        propositions=tuple(propositions),
        column_index=np.array([place[each.column] for each in propositions], np.int32),
        low=np.array(low, np.int32),
        high=np.array(high, np.int32),
        columns=columns,
        ends=ends,
        notes=(),
    )


def _ends(histogram: Histogram, propositions: Iterable[Proposition], column: str) -> Ends:
    """Return the last position of each bin, so that every condition on the column is a run of bins."""
    last = len(histogram.values) - 1
    ends: set[Any] = {last}
    for each in propositions:
        if each.column == column:
            satisfied = np.flatnonzero(each.holds(histogram.values))
            if len(satisfied):
                ends |= {int(satisfied[0]) - 1, int(satisfied[-1])}
    return np.array(sorted(end for end in ends if end >= 0), np.intp)
