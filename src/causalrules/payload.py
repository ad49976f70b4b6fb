"""Frozen dataclasses as plain data: pickled and shown by their fields, and converted to JSON and back.

JSON is untrusted: a DataError names an invalid field. An undefined or infinite number is null.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from causalrules.exceptions import DataError

T = TypeVar("T")
# Larger integers are not exact in most JSON parsers.
_LARGEST = 2**53
# Maximum characters of a text, and items of a tuple, in a repr.
_MOST_TEXT, _MOST_ITEMS = 80, 8


class Readable:
    """A dataclass whose repr leaves out fields with their defaults, rounds numbers, and shortens texts and tuples."""

    def __repr__(self) -> str:
        shown = (
            f"{item.name}={_written(value)}"
            for item in fields(self)  # type: ignore[arg-type]
            if item.repr and (value := getattr(self, item.name)) != item.default
        )
        return f"{type(self).__name__}({', '.join(shown)})"


class Plain(Readable):
    """A frozen dataclass that is pickled by the values of its fields, without their names and cached properties."""

    def __reduce__(self) -> tuple[type[Plain], tuple[Any, ...]]:
        known = fields(self)  # type: ignore[arg-type]
        values = [getattr(self, item.name) for item in known]
        while values and known[len(values) - 1].default is values[-1]:
            values.pop()
        return type(self), tuple(values)


def tuple_repr(values: Any) -> str:
    """Return the repr of a named tuple, with rounded numbers.

    >>> from causalrules.result.steps import Rung
    >>> Rung(level=0.17195605877121492, n_rows=436)
    Rung(level=0.172, n_rows=436)
    """
    shown = (f"{name}={_written(value)}" for name, value in zip(values._fields, values, strict=True))
    return f"{type(values).__name__}({', '.join(shown)})"


def _written(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, str):
        return repr(value if len(value) <= _MOST_TEXT else f"{value[: _MOST_TEXT - 1]}…")
    if type(value) is not tuple:
        return repr(value)
    items = [*map(_written, value[:_MOST_ITEMS]), *(["…"] if len(value) > _MOST_ITEMS else [])]
    return f"({', '.join(items)}{',' * (len(items) == 1)})"


def to_json(value: Any) -> Any:
    """Convert a dataclass, or the value of a field, to JSON types."""
    if is_dataclass(value):
        return {item.name: to_json(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    if isinstance(value, frozenset):
        return sorted(value)
    return value if not isinstance(value, float) or math.isfinite(value) else None


def from_json(kind: type[T], payload: Any, place: str) -> T:
    """Return an instance of a type, such as a dataclass, from what `to_json` wrote.

    Parameters
    ----------
    kind
        A dataclass, a tuple, a mapping of texts, a union with None, or one of str, int, float and bool.
    payload
        The parsed JSON. Fields with a default may be absent; unknown ones are ignored.
    place
        Its name in messages, such as "evidence".

    Raises
    ------
    DataError
        If the payload is invalid; the message names the field.
    """
    value: T = _read(kind, payload, place)
    return value


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _read(kind: Any, payload: Any, place: str) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return payload
    if origin in (types.UnionType, Union):
        chosen = next(option for option in inner if option is not type(None))
        return None if payload is None else _read(chosen, payload, place)
    if origin is Literal:
        if isinstance(payload, str) and payload in inner:
            return payload
        raise _unexpected(f"one of {', '.join(map(repr, inner))}", payload, place)
    if is_dataclass(kind):
        return _read_dataclass(kind, _expect(Mapping, payload, place), place)  # type: ignore[arg-type]
    if origin is frozenset:
        return frozenset(_read(inner[0], item, place) for item in _expect(list, payload, place))
    if origin is tuple:
        items = _expect((list, tuple), payload, place)
        many = inner[-1] is Ellipsis
        if not many and len(items) != len(inner):
            raise _unexpected(f"a list of {len(inner)} items", payload, place)
        kinds = [inner[0]] * len(items) if many else inner
        pairs = enumerate(zip(kinds, items, strict=True))
        return tuple(_read(each, item, f"{place}[{number}]") for number, (each, item) in pairs)
    if origin is not None and issubclass(origin, Mapping):
        pairs = _expect(Mapping, payload, place).items()
        return {str(key): _read(inner[1], item, f"{place}.{key}") for key, item in pairs}
    return _number(payload, place) if kind is float else _expect(kind, payload, place)


def _read_dataclass(kind: type[Any], payload: Mapping[str, Any], place: str) -> Any:
    hints: dict[str, Any] = _hints(kind)  # type: ignore[arg-type]
    values = {}
    for item in fields(kind):
        name = f"{place}.{item.name}" if place else item.name
        if item.name in payload:
            values[item.name] = _read(hints[item.name], payload[item.name], name)
        elif item.default is MISSING and item.default_factory is MISSING:
            raise DataError(f"{name} is missing")
    return kind(**values)


def _number(payload: Any, place: str) -> float:
    if isinstance(payload, int) and not isinstance(payload, bool) and abs(payload) < _LARGEST:
        payload = float(payload)
    if not isinstance(payload, float) or not math.isfinite(payload):
        raise _unexpected("a finite number", payload, place)
    return payload


def _expect(kind: Any, payload: Any, place: str) -> Any:
    # A bool is an int in Python, but not in JSON.
    if not isinstance(payload, kind) or (kind is int and isinstance(payload, bool)):
        raise _unexpected(_NAMES[kind], payload, place)
    return payload


def _unexpected(expected: str, payload: Any, place: str) -> DataError:
    # The repr of deeply nested lists fails.
    found = repr(payload)[:40] if isinstance(payload, (str, int, float, type(None))) else type(payload).__name__
    return DataError(f"{place} must be {expected}, not {found}")


_NAMES = {
    Mapping: "an object",
    list: "a list",
    (list, tuple): "a list",
    str: "text",
    int: "a whole number",
    bool: "true or false",
}
