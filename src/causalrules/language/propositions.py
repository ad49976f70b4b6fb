"""Propositions (paper §3): conditions on one column, their text, and comparisons with its values."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
import numbers
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules.data.columns import Scalar, Values, python_value
from causalrules.exceptions import DataError, OptionError
from causalrules.payload import Plain
from causalrules.text import shorten

AND = " ∧ "
_SIGNS = {"=": "=", "<=": "≤", ">=": "≥"}
# Numbers of at most 7 digits are printed in full, longer ones with at least 4.
_SHORT, _FEWEST = 7, 4
_DIGITS = decimal.Context(prec=40)


def format_value(value: Scalar) -> str:
    """Return a value in its shortest form: 30 for 30.0, midnight as a date."""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(value)
    if isinstance(value, dt.datetime):
        midnight = value.tzinfo is None and value.time() == dt.time()
        return value.date().isoformat() if midnight else value.isoformat(sep=" ")
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    return _quoted(value) if isinstance(value, str) else str(value)


def shortened(value: Scalar, limit: Scalar) -> float | None:
    """Return the shortest number in [value, limit), or None if `value` is short already.

    As no observed value lies between, a condition with this number selects the same rows.

    >>> shortened(0.12031028026700519, 0.31), shortened(0.12031028026700519, 0.12)
    (0.1204, 0.1203)
    """
    if not isinstance(value, float) or not isinstance(limit, (int, float)) or not math.isfinite(value):
        return None
    exact = decimal.Decimal(repr(value))
    n_digits = len(exact.normalize(_DIGITS).as_tuple().digits)
    if n_digits <= _SHORT:
        return None
    above = limit > value
    rounding = decimal.ROUND_CEILING if above else decimal.ROUND_FLOOR
    before_the_point = exact.adjusted() + 1
    for n_kept in range(max(_FEWEST, before_the_point), n_digits):
        last = decimal.Decimal((0, (1,), before_the_point - n_kept))
        number = float(exact.quantize(last, rounding, _DIGITS))
        if value <= number < limit if above else limit < number <= value:
            return number
    return None


def _quoted(text: str, forbidden: Iterable[str] = (AND.strip(),)) -> str:
    """Return the text, in JSON quotes if it is ambiguous."""
    plain = text.isprintable() and text == text.strip() and text and not text.startswith('"')
    if plain and not any(sign in text for sign in forbidden):
        return text
    readable = json.dumps(text, ensure_ascii=False)
    return readable if readable.isprintable() else json.dumps(text)


def format_column(name: str) -> str:
    """Return the name of a column, quoted if it holds a sign of the rule language."""
    return _quoted(name, (AND.strip(), "=", "≤", "≥", "<", ">", "≠"))


@dataclass(frozen=True, repr=False)
class Proposition(Plain):
    """A condition on one column, which a missing value never satisfies.

    Attributes
    ----------
    column, operator, value
        The condition; the operators are =, <= and >=.
    categories
        All categories of a column of ordered categories, in their order.
    shown
        Shorter number printed instead of `value`; it selects the same observed values.
    p_value
        Small if the rule needs the condition; None if not tested.
    """

    column: str
    operator: str
    value: Scalar
    categories: tuple[Scalar, ...] = ()
    shown: float | None = field(default=None, compare=False)
    p_value: float | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.operator not in _SIGNS:
            raise OptionError(f"no operator {self.operator!r}; the operators are {shorten(list(_SIGNS))}")
        if self.categories and self.value not in self.categories:
            raise OptionError(f"{self.value!r} is not among the categories {shorten(self.categories)}")
        if self.shown is not None:
            exact = self.value if isinstance(self.value, float) else math.nan
            beyond = {"<=": self.shown >= exact, ">=": self.shown <= exact}
            if not beyond.get(self.operator):
                raise OptionError(f"{self.shown!r} cannot stand for {self.operator} {self.value!r}")

    @property
    def satisfying(self) -> tuple[Scalar, ...]:
        """Categories that satisfy the condition; empty for other columns."""
        if not self.categories or self.operator == "=":
            return ()
        place = self.categories.index(self.value)
        return self.categories[: place + 1] if self.operator == "<=" else self.categories[place:]

    @property
    def text(self) -> str:
        """The condition as text, such as 'age ≤ 30'."""
        return f"{format_column(self.column)} {self.sign} {self.written}"

    @property
    def sign(self) -> str:
        """The operator as printed: =, ≤ or ≥."""
        return _SIGNS[self.operator]

    @property
    def written(self) -> str:
        """The value as printed."""
        return format_value(self.value if self.shown is None else self.shown)

    def __str__(self) -> str:
        return self.text

    def holds(self, values: Sequence[Scalar]) -> NDArray[np.bool_]:
        """Return which of the values, in ascending order, satisfy the condition."""
        satisfied = np.zeros(len(values), np.bool_)
        if len(values) == 0:
            return satisfied
        if self.satisfying:
            return np.array([value in self.satisfying for value in values], np.bool_)
        first, last = positions(values, self.value, self.column)
        low = 0 if self.operator == "<=" else first
        high = len(values) if self.operator == ">=" else last
        satisfied[low:high] = True
        return satisfied

    def to_dict(self) -> dict[str, Any]:
        """Convert for JSON, with the type of the value."""
        kind = _type_name(self.value)
        write = _TYPES[kind][1]
        proposition = {"column": self.column, "operator": self.operator, "value": write(self.value), "type": kind}
        if self.categories:
            proposition["categories"] = [write(category) for category in self.categories]
        if self.shown is not None:
            proposition["shown"] = self.shown
        if self.p_value is not None:
            proposition["p_value"] = self.p_value
        return proposition

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Proposition:
        """Read what `to_dict` has written."""
        try:
            column, operator, kind, value = data["column"], data["operator"], data["type"], data["value"]
            read = _TYPES[kind][2]
            categories = tuple(map(read, data.get("categories", ())))
            shown, p_value = (None if data.get(name) is None else _finite(data[name]) for name in ("shown", "p_value"))
            return cls(str(column), operator, read(value), categories, shown, p_value)
        except OptionError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DataError(f"not a proposition: {shorten([data], width=200)} ({error})") from error


def _exactly(kind: type) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if type(value) is not kind:
            raise TypeError(f"{value!r} is not {kind.__name__}")
        return value

    return check


def _finite(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise TypeError(f"{value!r} is not a finite number")
    return float(value)


_TYPES: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Scalar]]] = {
    "bool": (bool, bool, _exactly(bool)),
    "int": (int, int, _exactly(int)),
    "float": (float, float, _finite),
    "str": (str, str, _exactly(str)),
    "datetime": (dt.datetime, dt.datetime.isoformat, dt.datetime.fromisoformat),
    "date": (dt.date, dt.date.isoformat, dt.date.fromisoformat),
    "time": (dt.time, dt.time.isoformat, dt.time.fromisoformat),
    "duration": (
        dt.timedelta,
        lambda value: value // dt.timedelta(microseconds=1),
        lambda value: dt.timedelta(microseconds=_exactly(int)(value)),
    ),
}


def _type_name(value: object) -> str:
    for name, (kind, _, _) in _TYPES.items():  # subclasses first: bool before int, datetime before date
        if isinstance(value, kind):
            return name
    raise DataError(f"{value!r} is a {type(value).__name__}, which cannot be compared in a condition")


def positions(values: Sequence[Scalar], value: Scalar, column: str) -> tuple[int, int]:
    """Return the left and right insertion points of `value` in `values`, in ascending order."""
    if isinstance(values, Values) and values.order is not None:
        if value not in values.order:
            raise DataError(f"column {column!r} has no category {value!r}; its categories are {shorten(values.order)}")
        rank = values.order.index(value)
        return int(np.searchsorted(values.sortable, rank)), int(np.searchsorted(values.sortable, rank, side="right"))
    sample: Any = values[0]
    if type(sample) is dt.date and isinstance(value, dt.datetime) and value.tzinfo is None:
        key: Callable[[Any], Any] | None = lambda day: dt.datetime.combine(day, dt.time())  # noqa: E731
    else:
        key = None
        if isinstance(sample, dt.datetime) and sample.tzinfo is None and type(value) is dt.date:
            value = dt.datetime.combine(value, dt.time())
    try:
        return bisect_left(values, value, key=key), bisect_right(values, value, key=key)
    except TypeError:
        raise DataError(
            f"column {column!r} holds {_type_name(sample)} values such as {sample!r}; "
            f"they cannot be compared with {value!r} ({_type_name(value)})"
        ) from None


def describe(propositions: Iterable[Proposition]) -> str:
    """Return the text of a rule: its conditions by column, an interval as one ('18 ≤ age ≤ 30')."""
    by_column: dict[str, list[Proposition]] = {}
    for proposition in sorted(propositions, key=canonical):
        by_column.setdefault(proposition.column, []).append(proposition)
    conditions: list[str] = []
    for column in sorted(by_column):
        group = by_column[column]
        if [proposition.operator for proposition in group] in (["<=", ">="], [">=", "<="]):
            high, low = sorted(group, key=lambda proposition: proposition.operator)
            name, least, most = format_column(column), low.written, high.written
            conditions.append(f"{name} = {least}" if least == most else f"{least} ≤ {name} ≤ {most}")
        else:
            conditions.extend(proposition.text for proposition in group)
    return AND.join(conditions)


def canonical(proposition: Proposition) -> tuple[str, str, str]:
    """Return the sort key of a proposition."""
    exact = f"{format_column(proposition.column)} {_SIGNS[proposition.operator]} {format_value(proposition.value)}"
    return exact, proposition.operator, repr(proposition.value)


def comparable(value: Any, values: Values, column: str) -> Scalar:
    """Convert `value` so that it can be compared with the column's values; text is parsed as their type."""
    value = python_value(value)
    if values.order is not None:
        for category in values.order:
            # Categories of other types, such as intervals, are stored as text.
            if category == value or format_value(category) == value or category == _text(value):
                return category
        raise DataError(f"column {column!r} has no category {value!r}; its categories are {shorten(values.order)}")
    sample = values[0]
    try:
        if isinstance(value, str):
            value = _TYPES[_type_name(sample)][2](value) if not isinstance(sample, (int, float)) else _number(value)
        if type(value) is bool and not isinstance(sample, bool):
            raise TypeError
        if isinstance(value, (numbers.Real, decimal.Decimal)):
            # Convert other number types, such as Decimal; the number must be finite, also as a float.
            exact = float(value)
            value = value if isinstance(value, int) else exact
            if not math.isfinite(exact):
                raise ValueError
        positions(values[:1], value, column)
        _type_name(value)
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            f"column {column!r} holds values such as {sample!r}; {shorten([value])} cannot be compared with them"
        ) from None
    return value  # type: ignore[no-any-return]


def _text(value: Any) -> str | None:
    try:
        return str(value)
    except ValueError:  # Python does not write integers of thousands of digits
        return None


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)
