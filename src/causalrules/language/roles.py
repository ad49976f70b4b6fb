"""Which column plays which part (paper §3): target and outcome, actionable and control variables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules.data.table import Histogram, Kind, Table
from causalrules.exceptions import DataError, RoleError
from causalrules.language.propositions import comparable, format_column, format_value, positions
from causalrules.text import shorten

_CONDITION = re.compile(r"\s*(>=|<=|!=|==|>|<|=|≥|≤|≠)\s*(.*\S)\s*", re.DOTALL)
_LONGEST_REASONS = 1000
_SEVERAL = re.compile(r"[<>=≤≥≠&]|\b(and|or)\b", re.IGNORECASE)
_SIGNS = {">=": "≥", "<=": "≤", "!=": "≠", "==": "="}


@dataclass(frozen=True, eq=False)
class Outcome:
    """The desired outcome: a condition on the target, and which of the target's values satisfy it."""

    column: str
    text: str
    satisfied: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Roles:
    """Target, outcome, actionable variables X and control variables Z, each sorted by name."""

    target: str
    outcome: Outcome
    actionable: tuple[str, ...]
    control: tuple[str, ...]
    notes: tuple[str, ...]


def resolve(
    table: Table,
    target: str,
    outcome: Any = None,
    actionable: str | Sequence[str] | None = None,
    control: str | Sequence[str] | None = None,
    weights: str | None = None,
) -> Roles:
    """The roles of the columns, checked; `outcome.satisfied` is over `table.observed(target, weights)`."""
    if table.n_rows == 0:
        raise DataError("the table has no rows")
    _check_column(table, target, "target")
    controls = _columns(table, control, "control")
    if weights is not None:
        _check_column(table, weights, "weights")
    chosen = None if actionable is None else _columns(table, actionable, "actionable")
    _check_apart(target, weights, chosen or (), controls)

    observed = table.observed(target, weights)
    if observed.n_rows == 0:
        reason = "weight above zero" if observed.n_dropped == 0 else "value"
        raise DataError(f"no row has a {reason} in column {(weights if observed.n_dropped == 0 else target)!r}")
    notes: list[str] = []
    if observed.n_dropped:
        notes.append(
            f"{observed.n_dropped:,} of {observed.n_dropped + observed.n_rows:,} rows are left out: "
            f"the target {target!r} is missing there"
        )
    resolved = _outcome(observed, target, outcome)
    for name in controls:
        if fault := _constant(observed, name, missing_counts=True):
            raise RoleError(f"control {name!r} {fault}; leave it out")
    if chosen is None:
        chosen = default_actionable(observed, {target, weights, *controls}, notes)
    else:
        for name in chosen:
            if fault := _constant(observed, name, missing_counts=not table.kinds[name].ordered):
                raise RoleError(f"actionable column {name!r} {fault}, so no condition can be put on it; leave it out")
        chosen = tuple(name for name in chosen if not _left_out(name, _identifier(observed, name), notes))
    if not chosen:
        reasons = "".join(f"; {note}" for note in (*notes, *table.notes))
        reasons = reasons if len(reasons) <= _LONGEST_REASONS else f"{reasons[: _LONGEST_REASONS - 1]}…"
        raise RoleError(
            "no actionable column is left; name at least one column, other than the target "
            f"{target!r} and the controls, whose values differ{reasons}"
        )
    return Roles(target, resolved, tuple(sorted(chosen)), tuple(sorted(controls)), tuple(notes))


def _check_column(table: Table, name: object, role: str) -> None:
    if not isinstance(name, str):
        raise RoleError(f"{role}: a column is named by its text, not by {name!r}")
    try:
        table.require(name)
    except DataError as error:
        if role == "target" and (asked := _condition_on(table.names, name)) is not None:
            raise RoleError(
                f"target: no column {name!r:.80}; write target={asked[0]!r:.60}, outcome={asked[1]!r:.60}"
            ) from None
        raise RoleError(f"{role}: {error}") from None


def _condition_on(names: Iterable[str], text: str) -> tuple[str, str] | None:
    """The column that a text such as "age >= 30" begins with, and the condition that follows."""
    for name in sorted(names, key=len, reverse=True):
        for written in (name, format_column(name)):
            rest = text.strip().removeprefix(written)
            if len(rest) < len(text.strip()) and _CONDITION.fullmatch(rest):
                return name, rest.strip()
    return None


def _columns(table: Table, names: str | Sequence[str] | None, role: str) -> tuple[str, ...]:
    if names is None:
        return ()
    if not isinstance(names, Iterable):
        raise RoleError(f"{role} = {names!r:.40}: give the name of a column, or a list of names")
    listed = (names,) if isinstance(names, str) else tuple(names)
    for name in listed:
        parts = [part.strip() for part in name.split(",")] if isinstance(name, str) else []
        if len(parts) > 1 and name not in table.kinds and all(part in table.kinds for part in parts):
            raise RoleError(f"{role}: no column {name!r}, but {shorten(parts)} are: name each, {role}={parts!r:.200}")
        _check_column(table, name, role)
    if repeated := sorted({name for name in listed if listed.count(name) > 1}):
        raise RoleError(f"{role}: named more than once: {shorten(repeated)}")
    return listed


def _check_apart(target: str, weights: str | None, actionable: Sequence[str], control: Sequence[str]) -> None:
    parts: dict[str, str] = {target: "the target"}
    for role, names in (
        ("the weights", [] if weights is None else [weights]),
        ("a control", control),
        ("actionable", actionable),
    ):
        for name in names:
            if name in parts:
                raise RoleError(f"column {name!r} is {parts[name]} and {role}; it can have one role only")
            parts[name] = role


def _constant(table: Table, name: str, missing_counts: bool) -> str | None:
    """Why the column cannot tell rows apart; `missing_counts`: being missing is a difference too."""
    histogram = table.histogram(name)
    if len(histogram.values) == 0:
        return "has no values: all are missing"
    if len(histogram.values) == 1 and not (missing_counts and histogram.n_missing):
        return f"has one value only, {shorten(histogram.values)}"
    return None


def _identifier(table: Table, name: str) -> str | None:
    """Why no condition on the column would say more than which row it is."""
    if table.kinds[name] is not Kind.TEXT:
        return None
    histogram = table.histogram(name)
    n_values = len(histogram.values)
    alone = n_values > 1 and histogram.counts.max() == 1
    return f"its {n_values:,} values are all different (identifier)" if alone else None


def default_actionable(table: Table, taken: set[str | None], notes: list[str]) -> tuple[str, ...]:
    """Every column that no other role has taken and that a condition can be put on; the notes name the rest."""
    chosen = []
    for name in sorted(table.names):
        if name in taken:
            continue
        constant = _constant(table, name, missing_counts=not table.kinds[name].ordered)
        if not _left_out(name, f"it {constant}" if constant else _identifier(table, name), notes):
            chosen.append(name)
    return tuple(chosen)


def _left_out(name: str, reason: str | None, notes: list[str]) -> bool:
    if reason is not None:
        notes.append(f"column {name!r} is left out: {reason}")
    return reason is not None


def _outcome(table: Table, target: str, outcome: Any) -> Outcome:
    histogram = table.histogram(target)
    if outcome is None:
        outcome = _default_outcome(table, target, histogram)
    satisfied, sign, shown = _satisfied(table.kinds[target], target, outcome, histogram)
    text = f"{format_column(target)} {sign} {shown}"
    if satisfied.all():
        who = "the only row has" if table.n_rows == 1 else f"all {table.n_rows:,} rows have"
        raise RoleError(
            f"the outcome {text!r} always happens: {who} it; the values of {target!r} are {shorten(histogram.values)}"
        )
    if not satisfied.any():
        raise RoleError(f"the outcome {text!r} never happens; the values of {target!r} are {shorten(histogram.values)}")
    return Outcome(target, text, satisfied)


def _default_outcome(table: Table, target: str, histogram: Histogram) -> bool | int:
    if table.kinds[target] is Kind.BOOLEAN:
        if len(histogram.values) == 1 and histogram.values[0] is False:
            raise RoleError(f"the outcome '{format_column(target)} = True' never happens: all values are False")
        return True
    if table.kinds[target] is Kind.NUMBER and all(value in (0, 1) for value in histogram.values[:3]):
        if len(histogram.values) == 1 and histogram.values[0] == 0:
            raise RoleError(f"the outcome '{format_column(target)} = 1' never happens: all values are 0")
        return 1
    raise RoleError(
        f"which outcome of {target!r} is the desired one? Give outcome= one of its values: "
        f"{shorten(histogram.values)}" + (", or a condition such as '>= 10'" if table.kinds[target].ordered else "")
    )


def _satisfied(kind: Kind, target: str, outcome: Any, histogram: Histogram) -> tuple[NDArray[np.bool_], str, str]:
    """Which values satisfy the outcome, and how to show it. A value wins over a condition."""
    match = _value_position(kind, outcome, histogram)
    if match is not None:
        satisfied = np.zeros(len(histogram.values), np.bool_)
        satisfied[match] = True
        return satisfied, "=", format_value(histogram.values[match])
    condition = None
    if isinstance(outcome, str):
        named = _condition_on([target], outcome)
        condition = _CONDITION.fullmatch(outcome if named is None else named[1])
    if condition is None:
        example = format_value(histogram.values[len(histogram.values) // 2])
        other = f", or a condition without the column's name, such as '>= {example}'" if kind.ordered else ""
        raise RoleError(f"{outcome!r} is not a value of {target!r}; its values are {shorten(histogram.values)}{other}")
    sign, operand = _SIGNS.get(condition[1], condition[1]), condition[2]
    if sign in ("=", "≠"):
        match = _value_position(kind, operand, histogram)
        if match is None:
            raise RoleError(f"{operand!r} is not a value of {target!r}; its values are {shorten(histogram.values)}")
        satisfied = np.arange(len(histogram.values)) == match
        return satisfied if sign == "=" else ~satisfied, sign, format_value(histogram.values[match])
    if not kind.ordered:
        raise RoleError(
            f"outcome {outcome!r}: the {kind} values of {target!r} have no order; give one of its values: "
            f"{shorten(histogram.values)}"
        )
    try:
        value = comparable(operand, histogram.values, target)
    except DataError as error:
        several = "; give one condition; for more, make a column of true and false and take it for the target"
        raise RoleError(f"outcome {outcome!r}: {error}{several if _SEVERAL.search(operand) else ''}") from None
    first, last = positions(histogram.values, value, target)
    place = np.arange(len(histogram.values))
    satisfied = {"≥": place >= first, ">": place >= last, "≤": place < last, "<": place < first}[sign]
    return satisfied, sign, format_value(value)


def _value_position(kind: Kind, outcome: Any, histogram: Histogram) -> int | None:
    if isinstance(outcome, np.generic):
        outcome = outcome.item()
    if kind in (
        Kind.NUMBER,
        Kind.DATE,
    ):  # there may be millions of values: look it up instead of going through
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
