"""The table that every input is read into: typed columns, encoded one at a time."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from causalrules.data.columns import Column, Ends, Histogram, Kind, check_values, less
from causalrules.data.weights import frequencies
from causalrules.exceptions import DataError, UnknownColumnError
from causalrules.text import unknown_column


class Source(Protocol):
    """Provider of columns: a dataframe in memory or a file read by DuckDB."""

    n_rows: int
    kinds: dict[str, Kind]
    unusable: dict[str, str]
    notes: list[str]
    library: str

    def column(self, name: str) -> Column:
        """Return the whole column, its rows in the same order on every call."""
        ...


class _Kept:
    """A source that decodes each column once; safe to use from several threads."""

    def __init__(self, source: Source) -> None:
        self._source, self._columns, self._lock = source, dict[str, Column](), threading.Lock()
        self.n_rows, self.kinds, self.unusable = source.n_rows, source.kinds, source.unusable
        self.notes, self.library = source.notes, source.library

    def column(self, name: str) -> Column:
        """Return the whole column, its rows in the same order on every call."""
        with self._lock:
            if name not in self._columns:
                self._columns[name] = self._source.column(name)
            return self._columns[name]


class Table:
    """Observations whose columns are encoded when they are needed.

    Attributes
    ----------
    n_records
        Number of stored rows: the length of every array of codes.
    n_rows
        Number of rows: the sum of the weights of the stored rows.
    n_dropped, n_incomplete
        Number of rows dropped by `observed`, because the target is missing, or else a control.
    present
        If `observed` dropped rows without a control: which of the rows with a target it kept; else None.
    storage
        Where the rows are: "memory", "files" or "workers".
    """

    storage = "memory"
    # Longer histograms are not cached: one per column would need as much memory as the data.
    _KEPT_VALUES = 1_000_000

    def __init__(
        self,
        source: Source,
        rows: NDArray[np.bool_] | None = None,
        weights: tuple[str, NDArray[np.int64]] | None = None,
        n_dropped: int = 0,
        n_incomplete: int = 0,
    ) -> None:
        self._source = source
        self._rows = rows
        self._weights = weights
        self._histograms: dict[str, Histogram] = {}
        self._n_missing: dict[str, int] = {}
        self._with_target: dict[tuple[str, str | None, tuple[str, ...]], Table] = {}
        self.n_dropped, self.n_incomplete = n_dropped, n_incomplete
        self.present: NDArray[np.bool_] | None = None
        self.n_records = source.n_rows if rows is None else int(np.count_nonzero(rows))
        self.n_rows = self.n_records if weights is None else int(weights[1].sum())

    def kept(self) -> Table:
        """Return the table with a cache of decoded columns, for several questions on the same rows."""
        return self if self._rows is not None or isinstance(self._source, _Kept) else Table(_Kept(self._source))

    @property
    def names(self) -> tuple[str, ...]:
        """Usable columns, in the order of the source."""
        return tuple(self._source.kinds)

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Kind of each usable column."""
        return self._source.kinds

    @property
    def unusable(self) -> Mapping[str, str]:
        """Columns that cannot be used, and why."""
        return self._source.unusable

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on how the table was read."""
        return tuple(self._source.notes)

    @property
    def library(self) -> str:
        """Dataframe library for results: 'pandas', 'polars', … or 'dict'."""
        return self._source.library

    @property
    def weights(self) -> NDArray[np.int64] | None:
        """Weight of each stored row, or None if each counts once."""
        return None if self._weights is None else self._weights[1]

    def require(self, name: str) -> None:
        """Raise an error that names the fix unless the column exists and can be used."""
        if name in self._source.unusable:
            raise DataError(f"column {name!r} {self._source.unusable[name]}")
        if name not in self._source.kinds:
            raise UnknownColumnError(unknown_column(name, (*self.names, *self._source.unusable)))

    def _column(self, name: str) -> Column:
        self.require(name)
        column = self._source.column(name)
        check_values(name, column)
        return column if self._rows is None else column.take(self._rows)

    def histogram(self, name: str) -> Histogram:
        """Count the rows of each distinct value of a column, and those where it is missing."""
        if name in self._histograms:
            return self._histograms[name]
        histogram = self._column(name).histogram(self.weights)
        if len(histogram.values) <= self._KEPT_VALUES:
            self._histograms[name] = histogram
        return histogram

    def n_missing(self, name: str) -> int:
        """Count the rows without a value of a column; cached also where the histogram is too long to be."""
        if name not in self._n_missing:
            self._n_missing[name] = self.histogram(name).n_missing
        return self._n_missing[name]

    def read_ahead(self, names: Sequence[str]) -> None:
        """Prepare for the histograms of several columns, where that saves time."""

    def codes(self, name: str, ends: Ends) -> NDArray[np.int32]:
        """Return the bin of each row, −1 if missing.

        `ends` are the positions, in the histogram, of each bin's last value: `arange(len(values))` is plain dictionary
        encoding.
        """
        return self.binned(name, self.histogram(name).values.sortable[ends[:-1]])

    def binned(self, name: str, uppers: NDArray[Any]) -> NDArray[np.int32]:
        """Return the bin of each row, −1 if missing; `uppers` are the sortable uppers of all bins but the last."""
        return self._column(name).binned(uppers)

    def quantities(self, name: str, centre: int | float = 0) -> NDArray[np.float64]:
        """Return the sortable number or date of each row, minus a centre; nan if missing."""
        column = self._column(name)
        numbers = less(column.data, centre)
        numbers[column.missing] = np.nan
        return numbers

    def combinations(self, ends: Mapping[str, Ends]) -> dict[str, NDArray[np.int32]]:
        """Return rows of codes that include every combination that occurs, one array per column."""
        return {name: self.codes(name, column_ends) for name, column_ends in ends.items()}

    def select(self, name: str, satisfied: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which stored rows hold one of the histogram's values marked in `satisfied`."""
        codes = self.codes(name, np.arange(len(satisfied)))
        return np.append(np.asarray(satisfied, np.bool_), False)[codes]

    def having(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Return which stored rows have a value in each of these columns."""
        found = np.ones(self.n_records, np.bool_)
        for name in names:
            found &= ~self._column(name).missing
        return found

    def observed(self, target: str, weights: str | None = None, control: Sequence[str] = ()) -> Table:
        """Return the rows whose target is present, and each of these controls.

        `weights` names the column of their weights. Without missing values of the controls, it is the same table for
        any of them.
        """
        # Cached, because several steps need its histograms.
        if (target, weights, ()) not in self._with_target:
            self._with_target[target, weights, ()] = self._observe(target, weights)
        observed = self._with_target[target, weights, ()]
        lacking = tuple(name for name in sorted(control) if observed.n_missing(name))
        if (target, weights, lacking) not in self._with_target:
            self._with_target[target, weights, lacking] = observed._complete(lacking)
        return self._with_target[target, weights, lacking]

    def _complete(self, control: Sequence[str]) -> Table:
        present = self.having(control)
        weights = None if self._weights is None else (self._weights[0], self._weights[1][present])
        n_rows = int(np.count_nonzero(present)) if weights is None else int(weights[1].sum())
        table = Table(
            self._source, self._chosen(present), weights, self.n_dropped, self.n_incomplete + self.n_rows - n_rows
        )
        table.present = present
        return table

    def _chosen(self, kept: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
        """Return which rows of the source are kept, given which of the rows; None for all."""
        if self._rows is None:
            return None if kept.all() else kept
        rows = self._rows.copy()
        rows[rows] = kept
        return rows

    def _observe(self, target: str, weights: str | None) -> Table:
        kept = ~self._column(target).missing
        weighted = self._weights
        if weights is not None:
            if weighted is not None and weighted[0] != weights:
                raise DataError(f"the rows are weighted by {weighted[0]!r} already, not by {weights!r}")
            if weighted is None:
                column = self._column(weights)
                weighted = weights, frequencies(weights, self.kinds[weights], column)
        if weighted is None:
            dropped = int(np.count_nonzero(~kept))
        else:
            dropped = int(weighted[1][~kept].sum())
            kept &= weighted[1] > 0
            weighted = weighted[0], weighted[1][kept]
        return Table(self._source, self._chosen(kept), weighted, self.n_dropped + dropped, self.n_incomplete)


def default_library() -> str:
    """Return the dataframe library for results if the input is not a dataframe."""
    return next((name for name in ("pandas", "polars") if importlib.util.find_spec(name)), "dict")
