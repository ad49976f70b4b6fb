"""The desired outcome: a value of the target, or a condition on it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules.data.columns import Histogram, Kind
from causalrules.data.table import Table
from causalrules.exceptions import DataError, RoleError
from causalrules.language.propositions import comparable, format_column, format_value, positions
from causalrules.text import shorten

_CONDITION = re.compile(r"\s*(>=|<=|!=|==|>|<|=|≥|≤|≠)\s*(.*\S)\s*", re.DOTALL)
_SEVERAL = re.compile(r"[<>=≤≥≠&]|\b(and|or)\b", re.IGNORECASE)
_SIGNS = {">=": "≥", "<=": "≤", "!=": "≠", "==": "="}


@dataclass(frozen=True, eq=False)
class Outcome:
    """The desired outcome as text, and which of the target's values satisfy it."""

    column: str
    text: str
    satisfied: NDArray[np.bool_]


def resolve_outcome(table: Table, target: str, outcome: Any) -> Outcome:
    """Resolve the outcome on the rows whose target is present."""
    histogram = table.histogram(target)
    if outcome is None:
        outcome = _default_outcome(table, target, histogram)
    satisfied, sign, shown = _satisfied(table.kinds[target], target, outcome, histogram)
    text = f"{format_column(target)} {sign} {shown}"
    values = f"the values of {target!r} are {shorten(histogram.values)}"
    if satisfied.all():
        who = "the only row has" if table.n_rows == 1 else f"all {table.n_rows:,} rows have"
        raise RoleError(f"the outcome {text!r} always happens: {who} it; {values}")
    if not satisfied.any():
        raise RoleError(f"the outcome {text!r} never happens; {values}")
    return Outcome(target, text, satisfied)


def condition_on(names: Iterable[str], text: str) -> tuple[str, str] | None:
    """Split a text such as "age >= 30" into the name of a column and the condition."""
    for name in sorted(names, key=len, reverse=True):
        for written in (name, format_column(name)):
            rest = text.strip().removeprefix(written)
            if len(rest) < len(text.strip()) and _CONDITION.fullmatch(rest):
                return name, rest.strip()
    return None


def _default_outcome(table: Table, target: str, histogram: Histogram) -> bool | int:
    values = histogram.values
    if table.kinds[target] is Kind.BOOLEAN:
        desired: bool | int = True
    elif table.kinds[target] is Kind.NUMBER and all(value in (0, 1) for value in values[:3]):
        desired = 1
    else:
        other = ", or a condition such as '>= 10'" if table.kinds[target].ordered else ""
        raise RoleError(
            f"which value of {target!r} is the desired one? Name one of {shorten(values)}{other}", parameter="outcome"
        )
    if len(values) == 1 and values[0] != desired:
        raise RoleError(
            f"the outcome '{format_column(target)} = {desired}' never happens: all values are {format_value(values[0])}"
        )
    return desired


def _satisfied(kind: Kind, target: str, outcome: Any, histogram: Histogram) -> tuple[NDArray[np.bool_], str, str]:
    """Return which values satisfy the outcome, and its text. A value takes precedence over a condition."""
    values = histogram.values
    match = _value_position(kind, outcome, histogram)
    if match is not None:
        return np.arange(len(values)) == match, "=", format_value(values[match])
    condition = None
    if isinstance(outcome, str):
        named = condition_on([target], outcome)
        condition = _CONDITION.fullmatch(outcome if named is None else named[1])
    if condition is None:
        example = format_value(values[len(values) // 2])
        other = f", or a condition without the column's name, such as '>= {example}'" if kind.ordered else ""
        raise _not_a_value(outcome, target, histogram, other)
    sign, operand = _SIGNS.get(condition[1], condition[1]), condition[2]
    if sign in ("=", "≠"):
        match = _value_position(kind, operand, histogram)
        if match is None:
            raise _not_a_value(operand, target, histogram)
        satisfied = np.arange(len(values)) == match
        return satisfied if sign == "=" else ~satisfied, sign, format_value(values[match])
    if not kind.ordered:
        raise RoleError(
            f"the {kind} values of {target!r} have no order; name one of {shorten(values)}",
            parameter="outcome",
            value=repr(outcome),
        )
    try:
        value = comparable(operand, values, target)
    except DataError as error:
        several = "; give one condition; for more, add a column of true and false to the table and use it as the target"
        message = f"{error.message}{several if _SEVERAL.search(operand) else ''}"
        raise RoleError(message, parameter="outcome", value=repr(outcome)) from None
    first, last = positions(values, value, target)
    place = np.arange(len(values))
    satisfied = {"≥": place >= first, ">": place >= last, "≤": place < last, "<": place < first}[sign]
    return satisfied, sign, format_value(value)


def _not_a_value(outcome: Any, target: str, histogram: Histogram, other: str = "") -> RoleError:
    return RoleError(
        f"{outcome!r} is not a value of {target!r}; its values are {shorten(histogram.values)}{other}",
        parameter="outcome",
    )


def _value_position(kind: Kind, outcome: Any, histogram: Histogram) -> int | None:
    if isinstance(outcome, np.generic):
        outcome = outcome.item()
    if kind in (Kind.NUMBER, Kind.DATE):  # there may be millions of values: bisect instead of a loop
        try:
            value = int(outcome) if isinstance(outcome, bool) else comparable(outcome, histogram.values, "")
            first, last = positions(histogram.values, value, "")
        except DataError:
            return None
        return first if first < last else None
    text = outcome if isinstance(outcome, str) else None
    by_text = None
    for position, value in enumerate(histogram.values):
        if type(value) is type(outcome) and value == outcome:
            return position
        same_text = text is not None and text.strip() in (format_value(value), str(value))
        if kind is Kind.BOOLEAN and text is not None:
            same_text = text.strip().casefold() == str(value).casefold()
        if by_text is None and (same_text or _equal(value, outcome)):
            by_text = position
    return by_text


def _equal(value: Any, outcome: Any) -> bool:
    if isinstance(value, str) and not isinstance(outcome, str):
        try:
            return value == format_value(outcome)
        except (TypeError, ValueError):
            return False
    return bool(value == outcome) if isinstance(outcome, (int, float)) or type(value) is type(outcome) else False
