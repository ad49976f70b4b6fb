"""Summaries of columns: kind, distribution, missing values, and suspected codes and identifiers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from causalrules.data.columns import Histogram, Kind
from causalrules.language.propositions import format_value
from causalrules.language.roles import unusable
from causalrules.report.view import short
from causalrules.text import counted

if TYPE_CHECKING:
    from causalrules.data.table import Table

_BARS = 24
# Maximum values to choose from, for outcomes and conditions.
MOST_VALUES = 60
# Maximum distinct values of a number that may be a code.
_FEW_CODES = 20
_CODE_NAME = re.compile(r"(^|[_\W])(id|code|type|zip|postcode|category)$", re.IGNORECASE)
# Numbers that often mean missing; suspected only if far from all other values.
_SENTINELS = (-999, -99, -9, -1, 99, 999, 9999, 99999)
_FAR = 3


@dataclass(frozen=True)
class Summary:
    """Summary of a column.

    Attributes
    ----------
    bars
        Rows in equal ranges of a number or date, or of the most frequent values.
    labels
        Labels of the bars: the lowest and the highest value of a range, or the value.
    values
        The values to choose an outcome from: the most frequent ones; empty for many numbers.
    remarks
        Warnings.
    sentinel
        A number that may mean missing.
    left_out
        Why the column is not actionable by default.
    """

    name: str
    kind: str
    ordered: bool
    n_missing: int
    n_values: int
    bars: tuple[int, ...]
    labels: tuple[str, ...]
    values: tuple[str, ...]
    remarks: tuple[str, ...]
    sentinel: str | None
    left_out: str | None


def summarise(table: Table, name: str) -> Summary:
    """Summarise one column from the counts of its values."""
    kind, known = table.kinds[name], table.histogram(name)
    n_values = len(known.values)
    frequent = np.argsort(-known.counts, kind="stable")[:MOST_VALUES]
    values = tuple(short(format_value(known.values[int(place)]), 200) for place in frequent)
    ranged = kind in (Kind.NUMBER, Kind.DATE) and n_values > _BARS
    bars = _ranges(known) if ranged else known.counts[:_BARS] if kind.ordered else known.counts[frequent[:_BARS]]
    if ranged:
        labels: tuple[str, ...] = (format_value(known.values[0]), format_value(known.values[-1]))
    elif kind.ordered:
        labels = tuple(short(format_value(value), 60) for value in known.values[:_BARS])
    else:
        labels = tuple(short(label, 60) for label in values[:_BARS])
    sentinel = _sentinel(kind, known)
    left_out = unusable(table, name)
    remarks = [] if left_out is None else [left_out]
    if sentinel is not None:
        remarks.append(f"{sentinel} may mean missing: no other value is near it")
    if left_out is None and _looks_like_code(name, kind, known):
        remarks.append(f"{counted(n_values, 'value')}: codes rather than quantities?")
    return Summary(
        name=name,
        kind=str(kind),
        ordered=kind.ordered,
        n_missing=known.n_missing,
        n_values=n_values,
        bars=tuple(int(count) for count in bars),
        labels=labels,
        values=values if n_values <= MOST_VALUES or not kind.ordered else (),
        remarks=tuple(short(remark, 300) for remark in remarks),
        sentinel=sentinel,
        left_out=None if left_out is None else short(left_out, 300),
    )


def _ranges(known: Histogram) -> NDArray[np.int64]:
    """Count the rows in equal ranges from the lowest to the highest value."""
    numbers = np.asarray(known.values.sortable, np.float64)
    low, high = numbers[0], numbers[-1]
    with np.errstate(over="ignore", invalid="ignore"):
        share = (numbers - low) / (high - low)
    place = np.clip(np.nan_to_num(share) * _BARS, 0, _BARS - 1).astype(np.intp)
    return np.bincount(place, known.counts, _BARS).astype(np.int64)


def _sentinel(kind: Kind, known: Histogram) -> str | None:
    """Return a value such as 999 if it is far from all others."""
    numbers = known.values.sortable
    if kind is not Kind.NUMBER or len(numbers) < 4:
        return None
    for end, near, others in ((-1, -2, numbers[:-1]), (0, 1, numbers[1:])):
        spread = float(others[-1]) - float(others[0])
        gap = abs(float(numbers[end]) - float(numbers[near]))
        if float(numbers[end]) in _SENTINELS and known.counts[end] > 1 and gap > _FAR * max(spread, 1.0):
            return format_value(known.values[end])
    return None


def _looks_like_code(name: str, kind: Kind, known: Histogram) -> bool:
    numbers = known.values.sortable
    if kind is not Kind.NUMBER or not 3 <= len(numbers) <= _FEW_CODES or numbers.dtype.kind not in "iu":
        return False
    spread = int(numbers[-1]) - int(numbers[0]) + 1
    return bool(_CODE_NAME.search(name)) or spread > _FAR * len(numbers)
