"""Strata: the combinations of the controls' values (paper §3)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from causalrules.data.bins import Bins
from causalrules.data.columns import Ends, Scalar, Values
from causalrules.data.table import Table
from causalrules.language.cuts import Cuts, cut
from causalrules.language.propositions import format_value, shortened

# Bins named in a note, in addition to the last; of more, the first half of them.
_MOST_BINS = 6
# Names of the prognostic score, for a binary outcome and for a mean.
SCORES = ("predicted probability", "predicted mean")


class Coded(Protocol):
    """Assigns the rows of a table to bins, by one column or by a function of several columns."""

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        ...

    @property
    def uppers(self) -> NDArray[Any]:
        """Upper ends of all bins but the last."""
        ...

    def codes(self, table: Table, unseen: bool = False) -> NDArray[np.int32]:
        """Return the bin of each row, −1 if missing."""
        ...


@dataclass(frozen=True)
class Strata:
    """The observed combinations of the controls' values, sorted by column name and value, missing last.

    Attributes
    ----------
    columns, bins
        The controls, and the bins of their values; for prognostic strata the predicted target in their place.
    ends
        The bins as positions in the histograms of the table that the strata were formed on.
    labels
        Value or bin of each control, for each stratum.
    notes
        Remarks on how the strata were formed.
    n_held
        How many of the last columns are not controls but columns of other rules, held fixed (`language.held_fixed`).
    binned
        The controls with fewer bins than values: within a bin, their confounding is not adjusted for.
    """

    columns: tuple[str, ...]
    ends: Mapping[str, Ends]
    bins: Mapping[str, Coded]
    labels: tuple[Mapping[str, str], ...]
    notes: tuple[str, ...]
    # Sorted keys of the combinations for each prefix of the controls; see `join_keys`.
    _levels: tuple[NDArray[np.int64], ...]
    n_held: int = 0
    binned: tuple[str, ...] = ()

    @property
    def n_strata(self) -> int:
        """Number of strata."""
        return len(self.labels)

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns of a table that determine the stratum of a row."""
        return tuple(name for column in self.columns for name in getattr(self.bins[column], "columns", (column,)))

    def noting(self, note: str) -> Strata:
        """Add a remark."""
        return replace(self, notes=(*self.notes, note))

    def only(self, strata: NDArray[np.integer[Any]]) -> Strata:
        """Keep some strata, given by their numbers in ascending order, and renumber them."""
        labels = tuple(self.labels[stratum] for stratum in strata)
        levels = (*self._levels[:-1], self._levels[-1][strata]) if self._levels else ()
        return replace(self, labels=labels, _levels=levels)

    @property
    def held_fixed(self) -> tuple[str, ...]:
        """The columns of a table that are held fixed, in addition to the controls."""
        held = self.columns[len(self.columns) - self.n_held :]
        return tuple(name for column in held for name in getattr(self.bins.get(column), "columns", (column,)))

    def index(
        self, codes: Mapping[str, NDArray[Any]], n_rows: int, begun: NDArray[Any] | None = None
    ) -> NDArray[np.int32]:
        """Return the stratum of each row, given the codes of the columns.

        `begun` is the stratum of each row by the controls alone, if known: then only columns held fixed are combined.
        """
        index: NDArray[Any] = np.zeros(n_rows, np.int64)
        axes = list(zip(self.columns, self._levels, strict=True))
        if begun is not None:
            index, axes = begun.astype(np.int64), axes[len(axes) - self.n_held :]
        for column, level in axes:
            code = codes[column] if column in codes else self.bins[column].combined(codes)  # type: ignore[attr-defined]
            index = places(level, join_keys(index, code, len(self.ends[column])))
        return index.astype(np.int32)

    def index_in(self, table: Table) -> NDArray[np.int32]:
        """Return the stratum of each row of the table that the strata were formed on, or of a part of it."""
        return self.index({column: bins.codes(table) for column, bins in self.bins.items()}, table.n_records)

    def index_of(self, table: Table) -> NDArray[np.int64]:
        """Return the stratum of each row of another table.

        Unknown combinations are numbered from `n_strata` on.
        """
        index: NDArray[Any] = np.zeros(table.n_records, np.int64)
        combination: NDArray[Any] = np.zeros(table.n_records, np.int64)
        known = np.ones(table.n_records, np.bool_)
        for column, level in zip(self.columns, self._levels, strict=True):
            bins = self.bins[column]
            codes = bins.codes(table, unseen=True)
            keys = join_keys(index, codes, bins.n_bins)
            index = np.searchsorted(level, keys).clip(max=len(level) - 1)
            known &= (codes < bins.n_bins) & (level[index] == keys)
            keys = join_keys(combination, codes, int(codes.max(initial=0)) + 1)
            combination = np.unique(keys, return_inverse=True)[1]
        new = np.unique(combination[~known], return_inverse=True)[1]
        index[~known] = self.n_strata + new
        return index


class Combining:
    """Cache of strata by the first controls, reused for sets of controls with the same beginning.

    `codes` returns the bin of each row, −1 if missing, for a column and the ends of its bins.
    """

    def __init__(self, codes: Callable[[str, Ends], NDArray[np.int32]], n_rows: int) -> None:
        self._codes, self._n_rows = codes, n_rows
        self._known: dict[tuple[str, bytes], NDArray[np.int32]] = {}
        # For each prefix of the controls: the last control, the keys of the strata, and the stratum of each row.
        self._path: list[tuple[tuple[str, bytes], NDArray[np.int64], NDArray[np.int64]]] = []

    def _follow(self, ends: Mapping[str, Ends]) -> None:
        """Extend the cached prefix to all of these controls."""
        wanted = [(name, each.tobytes()) for name, each in ends.items()]
        alike = 0
        while alike < min(len(wanted), len(self._path)) and self._path[alike][0] == wanted[alike]:
            alike += 1
        del self._path[alike:]
        for key in wanted[alike:]:
            n_bins = len(ends[key[0]])
            if key not in self._known:
                codes = self._codes(key[0], ends[key[0]])
                self._known[key] = np.where(codes < 0, np.int32(n_bins), codes)
            keys = self._path[-1][2] * (n_bins + 1) if self._path else np.zeros(self._n_rows, np.int64)
            keys += self._known[key]
            level = distinct(keys)
            self._path.append((key, level, places(level, keys)))

    def levels(self, ends: Mapping[str, Ends]) -> list[NDArray[np.int64]]:
        """Return the sorted keys of the strata for each prefix of the controls."""
        self._follow(ends)
        return [level for _, level, _ in self._path]

    def stratum(self, ends: Mapping[str, Ends]) -> NDArray[np.int32]:
        """Return the stratum of each row."""
        self._follow(ends)
        return self._path[-1][2].astype(np.int32) if self._path else np.zeros(self._n_rows, np.int32)


def join_keys(parents: NDArray[np.int64], codes: NDArray[Any], n_bins: int) -> NDArray[np.int64]:
    """Combine strata of the preceding controls with the codes of the next; missing comes last."""
    return parents * (n_bins + 1) + np.where(codes < 0, n_bins, codes)


def distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sorted distinct keys; small ones are counted, which is faster than sorting."""
    if len(keys) and keys.max() < 4 * len(keys):
        return np.flatnonzero(np.bincount(keys))
    return np.unique(keys)


def places(level: NDArray[np.int64], keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of each key among the sorted distinct keys."""
    if len(level) and level[-1] < 4 * len(keys):
        place = np.zeros(int(level[-1]) + 1, np.int64)
        place[level] = np.arange(len(level))
        return place[keys]
    return np.searchsorted(level, keys)


def default_bins(n_rows: int, n_controls: int) -> int:
    """Return the number of bins for each ordered control.

    The cube root of the number of rows, so that confounding inside bins shrinks faster than a standard error; fewer if
    several controls would leave less than 25 rows per stratum, but at least 4.

    >>> default_bins(1_000, 1), default_bins(16_000, 1), default_bins(16_000, 3), default_bins(1_000, 8)
    (10, 25, 8, 4)
    """
    alone, together = float(n_rows ** (1 / 3)), float((n_rows / 25) ** (1 / max(n_controls, 1)))
    return max(4, math.floor(min(alone, together) + 1e-9))


def n_levels(table: Table, column: str, control_bins: int | None = None, max_bins: int = 8) -> int:
    """Return how many values a column has as the only control, after binning, including missing."""
    histogram = table.histogram(column)
    n_values = len(histogram.values)
    if table.kinds[column].ordered and n_values > max_bins:
        n_values = min(n_values, default_bins(table.n_rows, 1) if control_bins is None else control_bins)
    return n_values + bool(histogram.n_missing)


@dataclass(frozen=True)
class Combined:
    """The combinations of the controls' values, before their strata get labels, which takes long for many.

    Attributes
    ----------
    table
        The rows.
    ends, names
        The bins of each control as positions in its histogram, and their names.
    notes
        Remarks on the bins.
    levels
        Sorted keys of the combinations for each prefix of the controls.
    """

    table: Table
    ends: Mapping[str, Ends]
    names: Mapping[str, list[str]]
    notes: tuple[str, ...]
    levels: tuple[NDArray[np.int64], ...]

    @property
    def n_strata(self) -> int:
        """Number of strata."""
        return len(self.levels[-1]) if self.levels else 1

    @property
    def binned(self) -> tuple[str, ...]:
        """The controls with fewer bins than values."""
        return tuple(name for name, ends in self.ends.items() if len(ends) < len(self.table.histogram(name).values))

    def strata(self) -> Strata:
        """Return the strata."""
        columns, notes = tuple(self.ends), self.notes
        if self.n_strata > self.table.n_rows / 2:
            notes = (
                *notes,
                f"little can be learned: {self.n_strata:,} strata for {self.table.n_rows:,} rows, fewer than two "
                "rows each on average; use fewer controls or group their values",
            )
        by_value = {column: Bins.of(self.table, column, ends) for column, ends in self.ends.items()}
        labels = _labels(columns, self.names, self.levels)
        return Strata(columns, self.ends, by_value, labels, notes, self.levels, binned=self.binned)


def combine(
    table: Table,
    control: Sequence[str],
    control_bins: int | None = None,
    max_bins: int = 8,
    cuts: Cuts | None = None,
    categorical: Collection[str] = (),
    combining: Combining | None = None,
) -> Combined:
    """Combine the values of the controls; ordered controls with many values are binned.

    `combining` caches the strata of the table's rows across sets of controls.
    """
    notes: list[str] = []
    columns = tuple(sorted(control))
    ordered = [name for name in columns if table.kinds[name].ordered and name not in categorical]
    many = [name for name in ordered if len(table.histogram(name).values) > max_bins]
    bins = default_bins(table.n_rows, len(many)) if control_bins is None else control_bins
    ends: dict[str, Ends] = {}
    names: dict[str, list[str]] = {}
    for column in columns:
        histogram = table.histogram(column)
        n_values = len(histogram.values)
        ends[column] = np.arange(n_values, dtype=np.intp)
        given = cuts is not None and column in cuts
        if column in ordered and (given or (column in many and n_values > bins)):
            ends[column], _ = cut(column, histogram, bins, cuts, notes)
        names[column] = bin_names(histogram.values, ends[column])
        if len(ends[column]) < n_values:
            *shown, last = names[column][:-1]
            if len(shown) > _MOST_BINS:
                shown = [*shown[: _MOST_BINS // 2], "…"]
            notes.append(
                f"control {column!r} has {n_values:,} values, binned into {len(ends[column])}: "
                f"{', '.join([*shown, last])}"
            )
    levels = _levels(table, ends) if combining is None else combining.levels(ends)
    return Combined(table, ends, names, tuple(notes), tuple(levels))


def _levels(table: Table, ends: Mapping[str, Ends]) -> list[NDArray[np.int64]]:
    """Return the sorted keys of the strata for each prefix of the controls."""
    levels: list[NDArray[np.int64]] = []
    index: NDArray[Any] = np.zeros(1, np.int64)
    for column, codes in table.combinations(ends).items():
        keys = join_keys(index, codes, len(ends[column]))
        levels.append(distinct(keys))
        index = places(levels[-1], keys)
    return levels


def bin_names(values: Values, ends: Ends) -> list[str]:
    """Return the name of each bin, and that of missing values."""
    names, first = [], 0
    before: Scalar = -math.inf
    for end in ends.tolist():
        low, high = values[first], values[end]
        if first == end:
            # The text 'missing' is not a missing value.
            plain = format_value(low)
            names.append(json.dumps(plain) if plain == "missing" else plain)
        else:
            after: Scalar = values[end + 1] if end + 1 < len(values) else math.inf
            shown = shortened(high, after)
            high = high if shown is None else shown
            names.append(f"{format_value(shortened(low, before) or low)} to {format_value(high)}")
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
