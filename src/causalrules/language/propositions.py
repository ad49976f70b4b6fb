"""The rule language (paper §3): propositions, their text and cut points, and the strata of the controls."""

from __future__ import annotations

import datetime as dt
import decimal
import heapq
import json
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules.data.table import Ends, Histogram, Scalar, Table, Values
from causalrules.exceptions import DataError, OptionError, RoleError
from causalrules.text import shorten, unknown_column

AND = " ∧ "
_SIGNS = {"=": "=", "<=": "≤", ">=": "≥"}
_MANY_VALUES = 1_000
# A number of at most so many digits is printed as it is; of a longer one, at least so many digits are.
_SHORT, _FEWEST = 7, 4
_DIGITS = decimal.Context(prec=40)


def format_value(value: Scalar) -> str:
    """A value in its shortest form: 30 for 30.0, a date without its midnight."""
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


def _shortened(value: Scalar, limit: Scalar) -> float | None:
    """The number of fewest digits between `value` and before `limit`, above it or below; None where it is short.

    No observed value lies between: a condition with this number selects the same rows.

    >>> _shortened(0.12031028026700519, 0.31), _shortened(0.12031028026700519, 0.12)
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
    """The text, in JSON quotes where it could be misread as something else."""
    plain = text.isprintable() and text == text.strip() and text and not text.startswith('"')
    if plain and not any(sign in text for sign in forbidden):
        return text
    readable = json.dumps(text, ensure_ascii=False)
    return readable if readable.isprintable() else json.dumps(text)


def format_column(name: str) -> str:
    """The name of a column, quoted where it holds a sign of the rule language."""
    return _quoted(name, (AND.strip(), "=", "≤", "≥", "<", ">", "≠"))


@dataclass(frozen=True)
class Proposition:
    """A condition on one column; a missing value never satisfies it.

    `categories` is the order of a column of ordered categories, which their values alone do not tell; `shown` is the
    number that stands for a value of many digits where it is printed, and selects the same of the observed values.
    """

    column: str
    operator: str
    value: Scalar
    categories: tuple[Scalar, ...] = ()
    shown: float | None = field(default=None, compare=False)

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
        """The categories that satisfy the condition; none where the values have an order of their own."""
        if not self.categories or self.operator == "=":
            return ()
        place = self.categories.index(self.value)
        return self.categories[: place + 1] if self.operator == "<=" else self.categories[place:]

    @property
    def text(self) -> str:
        """The condition in words, such as 'age ≤ 30'."""
        return f"{format_column(self.column)} {_SIGNS[self.operator]} {self.written}"

    @property
    def written(self) -> str:
        """The value as the text has it."""
        return format_value(self.value if self.shown is None else self.shown)

    def __str__(self) -> str:
        return self.text

    def holds(self, values: Sequence[Scalar]) -> NDArray[np.bool_]:
        """Which of the values satisfy the condition; `values` are ascending, as in a histogram."""
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
        """The proposition for JSON, with the type of its value."""
        kind = _type_name(self.value)
        write = _TYPES[kind][1]
        proposition = {"column": self.column, "operator": self.operator, "value": write(self.value), "type": kind}
        if self.categories:
            proposition["categories"] = [write(category) for category in self.categories]
        if self.shown is not None:
            proposition["shown"] = self.shown
        return proposition

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Proposition:
        """The proposition that `to_dict` wrote."""
        try:
            column, operator, kind, value = data["column"], data["operator"], data["type"], data["value"]
            read = _TYPES[kind][2]
            categories = tuple(map(read, data.get("categories", ())))
            shown = None if data.get("shown") is None else _finite(data["shown"])
            return cls(str(column), operator, read(value), categories, shown)
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
    for name, (kind, _, _) in _TYPES.items():  # bool before int, datetime before date: subclasses first
        if isinstance(value, kind):
            return name
    raise DataError(f"{value!r} is a {type(value).__name__}, which no condition can compare with")


def positions(values: Sequence[Scalar], value: Scalar, column: str) -> tuple[int, int]:
    """Where `value` begins and ends among the ascending `values`: those before are less, those after more."""
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
    """The text of a rule: conditions by column, the two ends of an interval as one ('18 ≤ age ≤ 30')."""
    by_column: dict[str, list[Proposition]] = {}
    for proposition in sorted(propositions, key=_canonical):
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


def _canonical(proposition: Proposition) -> tuple[str, str, str]:
    exact = f"{format_column(proposition.column)} {_SIGNS[proposition.operator]} {format_value(proposition.value)}"
    return exact, proposition.operator, repr(proposition.value)


def cut_ends(counts: NDArray[np.int64], max_bins: int) -> Ends:
    """The position of the last value of each bin, by splitting the fullest bin into its most equal halves.

    Begin with one bin; split the fullest that holds two or more values (the lowest, on a tie) after the value
    that leaves its parts most equal in rows (the lower, on a tie); stop at `max_bins`.
    """
    if max_bins < 1:
        raise OptionError(f"max_bins must be at least 1, not {max_bins}")
    n_values = len(counts)
    if n_values == 0:
        return np.empty(0, np.intp)
    if n_values <= max_bins:
        return np.arange(n_values, dtype=np.intp)
    before = np.zeros(n_values + 1, np.int64)
    np.cumsum(counts, out=before[1:])
    ends: list[int] = [n_values - 1]
    splittable = [(-int(before[-1]), 0, n_values - 1)]
    while splittable and len(ends) < max_bins:
        rows, first, last = heapq.heappop(splittable)
        # The first value after which at least half of the rows lie to the left, or the one before it.
        middle = int(before[first]) * 2 - rows
        upper = int(np.searchsorted(before[first + 1 : last + 1], -(-middle // 2))) + first
        upper = min(upper, last - 1)
        lower = max(upper - 1, first)
        cut = lower if abs(int(before[lower + 1]) * 2 - middle) <= abs(int(before[upper + 1]) * 2 - middle) else upper
        ends.append(cut)
        for low, high in ((first, cut), (cut + 1, last)):
            if high > low:
                heapq.heappush(splittable, (int(before[low] - before[high + 1]), low, high))
    return np.array(sorted(ends), np.intp)


@dataclass(frozen=True)
class Language:
    """All propositions, each true on an interval [low, high] of its column's codes."""

    propositions: tuple[Proposition, ...]
    column_index: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    columns: tuple[str, ...]
    ends: Mapping[str, Ends]
    notes: tuple[str, ...]


def build(
    table: Table,
    actionable: Sequence[str],
    max_bins: int = 8,
    cuts: Mapping[str, Sequence[Any]] | None = None,
) -> Language:
    """The propositions on the actionable columns: ≤ and ≥ at cut points where values are ordered, else =."""
    _check_cuts(table, cuts)
    if max_bins < 2:
        raise OptionError(f"max_bins must be at least 2, not {max_bins}")
    notes: list[str] = []
    ends: dict[str, Ends] = {}
    found: list[tuple[Proposition, str, int, int]] = []
    for column in sorted(actionable):
        histogram = table.histogram(column)
        if table.kinds[column].ordered:
            column_ends, upper = _bins(column, histogram, max_bins, cuts, notes)
            last = len(column_ends) - 1
            told = cuts is not None and column in cuts
            order = tuple(histogram.values.order or ())
            for code in range(last):
                most, least = upper[code], histogram.values[int(column_ends[code]) + 1]
                below = Proposition(column, "<=", most, order, None if told else _shortened(most, least))
                shown = _shortened(least, most if below.shown is None else below.shown)
                found.append((below, column, 0, code))
                found.append((Proposition(column, ">=", least, order, shown), column, code + 1, last))
            if last < 1:
                notes.append(f"column {column!r} has fewer than two values to compare; no condition is put on it")
                continue
        else:
            n_values = len(histogram.values)
            if n_values > _MANY_VALUES:
                notes.append(
                    f"column {column!r} has {n_values:,} different values, and as many conditions; "
                    "group them if the search is slow"
                )
            column_ends = np.arange(n_values, dtype=np.intp)
            found.extend(
                (Proposition(column, "=", value), column, code, code) for code, value in enumerate(histogram.values)
            )
        ends[column] = column_ends
    found.sort(key=lambda item: _canonical(item[0]))
    columns = tuple(ends)
    place = {column: index for index, column in enumerate(columns)}
    return Language(
        propositions=tuple(item[0] for item in found),
        column_index=np.array([place[item[1]] for item in found], np.int32),
        low=np.array([item[2] for item in found], np.int32),
        high=np.array([item[3] for item in found], np.int32),
        columns=columns,
        ends=ends,
        notes=tuple(notes),
    )


def _bins(
    column: str,
    histogram: Histogram,
    max_bins: int,
    cuts: Mapping[str, Sequence[Any]] | None,
    notes: list[str],
) -> tuple[Ends, list[Scalar]]:
    """The ends of the bins, and the value shown for each in `x ≤ value`: the user's own for his cuts."""
    values = histogram.values
    if cuts is None or column not in cuts:
        ends = cut_ends(histogram.counts, max_bins)
        return ends, [values[int(end)] for end in ends]
    shown: dict[int, Scalar] = {}
    for cut in cuts[column]:
        value = _cut_value(column, cut, values)
        end = (positions(values, value, column)[1] if len(values) else 0) - 1
        if end < 0 or end >= len(values) - 1:
            side = "below" if end < 0 else "above"
            notes.append(f"cut {format_value(value)} of column {column!r} is left out: no value lies {side} it")
        elif end in shown:
            notes.append(
                f"cut {format_value(value)} of column {column!r} is left out: no value lies between it "
                f"and {format_value(shown[end])}"
            )
        else:
            shown[end] = value
    if len(values):
        shown[len(values) - 1] = values[len(values) - 1]
    return np.array(list(shown), np.intp), list(shown.values())


def _check_cuts(table: Table, cuts: Mapping[str, Sequence[Any]] | None) -> None:
    for column, points in (cuts or {}).items():
        if column not in table.kinds:
            raise RoleError(f"cuts: {unknown_column(column, table.names)}")
        if not table.kinds[column].ordered:
            raise OptionError(
                f"cuts: column {column!r} holds {table.kinds[column]} values, which have no order; leave it out of cuts"
            )
        if isinstance(points, str) or not isinstance(points, (Sequence, np.ndarray)):
            raise OptionError(f"cuts: {column!r} needs a list of values such as [18, 65], not {points!r}")
        values = table.histogram(column).values
        if len(values) == 0:
            continue
        ranks: list[Any] = [_cut_value(column, point, values) for point in points]
        if values.order is not None:
            ranks = [values.order.index(point) for point in ranks]
        for place in range(1, len(ranks)):
            if not ranks[place - 1] < ranks[place]:
                raise OptionError(
                    f"cuts: those of {column!r} must increase, but {points[place]!r} follows {points[place - 1]!r}"
                )


def _cut_value(column: str, point: Any, values: Values) -> Scalar:
    try:
        return comparable(point, values, column)
    except DataError as error:
        raise OptionError(f"cuts: {error}") from error


def comparable(value: Any, values: Values, column: str) -> Scalar:
    """`value` as one that can be compared with the column's values; text is read as their type."""
    if isinstance(value, np.generic):
        value = value.item()
    if values.order is not None:
        for category in values.order:
            if category == value or format_value(category) == value:
                return category
        raise DataError(f"column {column!r} has no category {value!r}; its categories are {shorten(values.order)}")
    sample = values[0]
    try:
        if isinstance(value, str):
            value = _TYPES[_type_name(sample)][2](value) if not isinstance(sample, (int, float)) else _number(value)
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError
        if type(value) is bool and not isinstance(sample, bool):
            raise TypeError
        positions(values[:1], value, column)
    except (TypeError, ValueError):
        raise DataError(
            f"column {column!r} holds values such as {sample!r}; {value!r} cannot be compared with them"
        ) from None
    return value  # type: ignore[no-any-return]


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


@dataclass(frozen=True)
class Strata:
    """The observed combinations of the controls' values, in the order of names, then values, missing last."""

    columns: tuple[str, ...]
    ends: Mapping[str, Ends]
    labels: tuple[Mapping[str, str], ...]
    notes: tuple[str, ...]
    _levels: tuple[NDArray[np.int64], ...]

    @property
    def n_strata(self) -> int:
        """How many combinations occur."""
        return len(self.labels)

    def index(self, codes: Mapping[str, NDArray[np.int32]]) -> NDArray[np.int32]:
        """The stratum of each row of a batch, which holds the codes of the controls (and may hold others)."""
        index = np.zeros(len(next(iter(codes.values()))), np.int64)
        for column, level in zip(self.columns, self._levels, strict=True):
            key = _combined(index, codes[column], len(self.ends[column]))
            index = np.searchsorted(level, key)
        return index.astype(np.int32)


def _combined(index: NDArray[np.int64], codes: NDArray[np.int32], n_bins: int) -> NDArray[np.int64]:
    return index * (n_bins + 1) + np.where(codes < 0, n_bins, codes)


def strata(
    table: Table,
    control: Sequence[str],
    bins: int = 4,
    max_bins: int = 8,
    cuts: Mapping[str, Sequence[Any]] | None = None,
) -> Strata:
    """The strata of the controls; a control with an order and more than `max_bins` values is binned."""
    _check_cuts(table, cuts)
    notes: list[str] = []
    columns = tuple(sorted(control))
    ends: dict[str, Ends] = {}
    names: dict[str, list[str]] = {}
    for column in columns:
        histogram = table.histogram(column)
        n_values = len(histogram.values)
        ends[column] = np.arange(n_values, dtype=np.intp)
        told = cuts is not None and column in cuts
        if table.kinds[column].ordered and (told or n_values > max_bins):
            ends[column], _ = _bins(column, histogram, bins, cuts, notes)
        names[column] = _bin_names(histogram.values, ends[column])
        if len(ends[column]) < n_values:
            notes.append(
                f"control {column!r} has {n_values:,} values, binned into {len(ends[column])}: "
                f"{', '.join(names[column][:-1])}"
            )
    levels: list[NDArray[np.int64]] = []
    index: NDArray[Any] = np.zeros(1, np.int64)
    for column, codes in table.combinations(ends).items():
        level, index = np.unique(_combined(index, codes, len(ends[column])), return_inverse=True)
        levels.append(level)
    n_strata = len(levels[-1]) if levels else 1
    if n_strata > table.n_rows / 2:
        notes.append(
            f"little can be learned: {n_strata:,} strata for {table.n_rows:,} rows, fewer than two "
            "rows each on average; use fewer controls or group their values"
        )
    labels = _labels(columns, names, levels)
    return Strata(columns, ends, labels, tuple(notes), tuple(levels))


def _bin_names(values: Values, ends: Ends) -> list[str]:
    names, first = [], 0
    before: Scalar = -math.inf
    for end in ends.tolist():
        low, high = values[first], values[end]
        if first == end:
            # The text value 'missing' is not the missing value.
            plain = format_value(low)
            names.append(json.dumps(plain) if plain == "missing" else plain)
        else:
            after: Scalar = values[end + 1] if end + 1 < len(values) else math.inf
            shown = _shortened(high, after)
            high = high if shown is None else shown
            names.append(f"{format_value(_shortened(low, before) or low)} to {format_value(high)}")
        first, before = end + 1, high
    return [*names, "missing"]


def _labels(
    columns: tuple[str, ...], names: Mapping[str, list[str]], levels: Sequence[NDArray[np.int64]]
) -> tuple[Mapping[str, str], ...]:
    labels: list[dict[str, str]] = [{}]
    for column, level in zip(columns, levels, strict=True):
        parents, codes = np.divmod(level, len(names[column]))
        labels = [
            {**labels[parent], column: names[column][code]}
            for parent, code in zip(parents.tolist(), codes.tolist(), strict=True)
        ]
    return tuple(labels)
