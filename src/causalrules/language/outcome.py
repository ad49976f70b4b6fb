"""The desired outcome of the target: binary, or a high mean."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules.data.columns import Histogram, Kind, less, python_value
from causalrules.data.table import Table
from causalrules.exceptions import DataError, RoleError
from causalrules.language.cuts import cut_ends
from causalrules.language.kinds import BINARY, KINDS, MEAN, OutcomeKind
from causalrules.language.propositions import comparable, format_column, format_value, positions
from causalrules.text import counted, shorten

_CONDITION = re.compile(r"\s*(>=|<=|!=|==|>|<|=|≥|≤|≠)\s*(.*\S)\s*", re.DOTALL)
_SEVERAL = re.compile(r"[<>=≤≥≠&]|\b(and|or)\b", re.IGNORECASE)
_SIGNS = {">=": "≥", "<=": "≤", "!=": "≠", "==": "="}


# Most distinct values of the target in an exact search; more are binned into this many levels of about equal frequency.
MAX_LEVELS = 32
# Extreme rows are reported if this share of the rows has this share of the target's variance.
_FEW_ROWS, _MUCH_VARIANCE = 0.001, 0.1

# Ranges of the target whose powers neither underflow nor overflow.
_LEAST_RANGE, _MOST_RANGE = 1e-50, 1e50
# Values that differ by less than this, in units of the range, are one level.
_SAME_LEVEL = 2.0**-48
_PERCENTAGE = re.compile(r"\s*[+-]?[0-9]+([.,][0-9]+)?\s*%\s*")


@dataclass(frozen=True, eq=False)
class Outcome:
    """The desired outcome, and the level of each value of the target.

    Attributes
    ----------
    column, text
        The target, and the outcome as text, such as "survived = 1" or "mean of earnings".
    level
        The level of each distinct value of the target, from 0 on, in ascending order; a binary outcome has level 1.
    values
        The value of each level: its mean minus the centre, or 0 and 1.
    kind
        The kind of the outcome.
    notes
        Remarks on the target.
    centre
        For a mean, the smallest value of the target, subtracted before values are squared or added. An integer is
        subtracted exactly: different large ones may be equal as floats.
    """

    column: str
    text: str
    level: NDArray[np.uint8]
    values: NDArray[np.float64]
    kind: OutcomeKind = BINARY
    notes: tuple[str, ...] = ()
    centre: int | float = 0

    @property
    def asked(self) -> str | None:
        """The outcome in the form that options take; None for the mean of a number."""
        return self.text if self.kind.binary else self.kind.asked

    def centred(self, numbers: NDArray[Any]) -> NDArray[np.float64]:
        """Return sortable values of the target, minus the centre."""
        return less(numbers, self.centre)

    @property
    def satisfied(self) -> NDArray[np.bool_]:
        """Which values satisfy a binary outcome."""
        return np.asarray(self.level == 1)

    @property
    def is_exact(self) -> bool:
        """Whether every level is a single value."""
        return self.kind.binary or len(self.level) == len(self.values)


def resolve_outcome(table: Table, target: str, outcome: Any) -> Outcome:
    """Resolve the outcome on the rows whose target is present."""
    histogram, is_number = table.histogram(target), table.kinds[target] is Kind.NUMBER
    named = next((kind for kind in KINDS.values() if kind.asked is not None and kind.asked == outcome), None)
    if is_number and named is not None:
        return _mean(target, histogram, named, in_memory=table.storage == "memory")
    if outcome is None:
        if is_number and not all(value in (0, 1) for value in histogram.values[:3]):
            return _mean(target, histogram, MEAN, in_memory=table.storage == "memory")
        outcome = _default_outcome(table, target, histogram)
    satisfied, sign, shown = _satisfied(table.kinds[target], target, outcome, histogram)
    text = f"{format_column(target)} {sign} {shown}"
    values = f"the values of {target!r} are {shorten(histogram.values)}"
    if satisfied.all():
        who = "the only row has" if table.n_rows == 1 else f"all {table.n_rows:,} rows have"
        raise RoleError(f"the outcome {text!r} always happens: {who} it; {values}")
    if not satisfied.any():
        raise RoleError(f"the outcome {text!r} never happens; {values}")
    return Outcome(target, text, satisfied.astype(np.uint8), np.array([0.0, 1.0]))


def _mean(target: str, histogram: Histogram, kind: OutcomeKind, in_memory: bool) -> Outcome:
    """Put the values of a numeric target into levels."""
    known, counts = histogram.values, histogram.counts
    if len(known) < 2:
        raise RoleError(f"all values of {target!r} are {format_value(known[0])}: nothing can change it")
    centre = known.sortable[0].item()
    values = less(known.sortable, centre)
    span = float(values[-1])
    if not _LEAST_RANGE <= span <= _MOST_RANGE:
        remedy = "multiply" if span < _LEAST_RANGE else "divide"
        raise RoleError(
            f"the values of the target {target!r} are from {format_value(known[0])} to {format_value(known[-1])}, a "
            f"range that floats cannot square; {remedy} it by a constant, so that it is between 1e-50 and 1e50"
        )
    # Values that are equal in units of the range, which the search uses, share a level.
    place = np.concatenate([[0], np.cumsum(np.diff(values) > _SAME_LEVEL * span)])
    ends = cut_ends(np.bincount(place, counts).astype(np.int64), MAX_LEVELS)
    level = np.searchsorted(ends, place)
    rows = np.bincount(level, counts)
    last = np.flatnonzero(np.append(level[1:] != level[:-1], True))
    first = np.append(0, last[:-1] + 1)
    # Rounding must not move a mean out of its level.
    means = np.clip(np.bincount(level, counts * values) / rows, values[first], values[last])
    notes = []
    if len(values) == 2:
        notes.append(
            f"the target {target!r} has the values {shorten(known)}, and its mean is what counts; for the "
            "probability of one of them, name it as the outcome"
        )
    if len(ends) < len(values):
        notes.append(
            f"the target {target!r} has {len(values):,} values; ranking and conservative estimates take {len(ends)} "
            "levels of them, differences and intervals the values themselves"
            + ("" if in_memory else "; checks that resample rows take the levels")
        )
    mean = float(np.average(values, weights=counts))
    deviation = counts * (values - mean) ** 2
    order = np.argsort(-((values - mean) ** 2), kind="stable")
    few = np.cumsum(counts[order]) <= max(_FEW_ROWS * counts.sum(), 1)
    share = deviation[order][few].sum() / deviation.sum()
    if share > _MUCH_VARIANCE and counts.sum() >= 100:
        n_few = int(counts[order][few].sum())
        notes.append(
            f"{100 * share:.0f} % of the variance of the target {target!r} is due to {counted(n_few, 'extreme row')}; "
            f"check them, or use a threshold as the outcome, such as '>= {format_value(float(f'{centre + mean:.3g}'))}'"
        )
    text = kind.text(format_column(target))
    return Outcome(target, text, level.astype(np.uint8), means, kind=kind, notes=tuple(notes), centre=centre)


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
        raise RoleError(_which_outcome(table.kinds[target], target, histogram), parameter="outcome")
    if len(values) == 1 and values[0] != desired:
        raise RoleError(
            f"the outcome '{format_column(target)} = {desired}' never happens: all values are {format_value(values[0])}"
        )
    return desired


def _which_outcome(kind: Kind, target: str, histogram: Histogram) -> str:
    values = histogram.values
    named = f"which value of {target!r} is the desired one? Name one of {shorten(values)}"
    if kind is Kind.DATE:
        return f"{named}, or a condition such as '>= {format_value(values[len(values) // 2])}'; dates have no mean"
    if kind.ordered:
        return f"{named}, or a condition such as '>= {format_value(values[len(values) // 2])}'"
    if kind is Kind.TEXT and all(isinstance(value, str) and _PERCENTAGE.fullmatch(value) for value in values[:10]):
        return f"{named}; these are percentages as text: make them numbers, without the sign, to compare their means"
    return named


def _satisfied(kind: Kind, target: str, outcome: Any, histogram: Histogram) -> tuple[NDArray[np.bool_], str, str]:
    """Return which values satisfy the outcome, and its text. Values take precedence over conditions."""
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
    outcome = python_value(outcome)
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
