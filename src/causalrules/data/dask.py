"""Dask DataFrames: the rows stay on the workers, and only summaries are gathered."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules.data.bins import Bins
from causalrules.data.columns import Column, Ends, Histogram, Kind, Values, form
from causalrules.data.reading import read
from causalrules.data.table import Table
from causalrules.data.weights import require_exact
from causalrules.exceptions import CausalRulesError, DataError
from causalrules.text import shorten

# Integers up to this one are exact in 64-bit floats.
_EXACT = 2**53


@dataclass(frozen=True)
class Outline:
    """Summary of one partition, without its values."""

    kinds: dict[str, Kind]
    forms: dict[str, str]
    unusable: dict[str, str]
    notes: tuple[str, ...]
    n_values: dict[str, int]
    n_all: int
    n_records: int
    n_rows: int
    n_dropped: int
    n_incomplete: int


# The target, the column of weights, and the controls that must be present.
Observing = tuple[str, str | None, tuple[str, ...]]


@dataclass(frozen=True)
class _Summary:
    outline: Outline
    histograms: dict[str, Histogram]


# Run on the workers. Dask looks these up by name, so they are module-level functions.


def summarise(part: Any, number: int, target: str, weights: str | None, control: tuple[str, ...]) -> _Summary:
    """Summarise a partition."""
    try:
        table = read(part)
        known = target in table.kinds and (weights is None or weights in table.kinds)
        observed = table.observed(target, weights, control) if known else table
        histograms = {name: observed.histogram(name) for name in table.names}
    except DataError as error:
        raise DataError(f"partition {number}: {error}") from None
    outline = Outline(
        dict(table.kinds),
        {name: form(table.kinds[name], histogram.values) for name, histogram in histograms.items()},
        dict(table.unusable),
        table.notes,
        {name: len(histogram.values) for name, histogram in histograms.items()},
        table.n_rows,
        observed.n_records,
        observed.n_rows,
        observed.n_dropped,
        observed.n_incomplete,
    )
    return _Summary(outline, histograms)


def _outline(summary: _Summary) -> Outline:
    return summary.outline


def _histogram(summary: _Summary, name: str) -> Histogram:
    return summary.histograms[name]


def _distinct(part: Any, observing: Observing, bins: Sequence[Bins]) -> NDArray[np.int32]:
    table = read(part).observed(*observing)
    codes = [each.codes(table) for each in bins]
    key = np.zeros(table.n_records, np.intp)
    for column, each in zip(codes, bins, strict=True):
        key = np.unique(key * (each.n_bins + 1) + column, return_inverse=True)[1]
    first = np.unique(key, return_index=True)[1]
    return np.stack([column[first] for column in codes])


def _codes(part: Any, observing: Observing, bins: Bins) -> NDArray[np.int32]:
    return bins.codes(read(part).observed(*observing))


class RemoteSource:
    """Source of a table whose columns are on the workers."""

    def __init__(self, outlines: Sequence[Outline]) -> None:
        self.n_rows = sum(outline.n_all for outline in outlines)
        self.library = "pandas"
        self.unusable = {name: reason for outline in outlines for name, reason in outline.unusable.items()}
        self.notes = list(dict.fromkeys(note for outline in outlines for note in outline.notes))
        self.kinds = {name: _common_kind(name, outlines) for name in outlines[0].kinds if name not in self.unusable}

    def column(self, name: str) -> Column:
        """Raise an error: columns are not gathered."""
        raise DataError(f"column {name!r} is on the cluster; compute() the table to fetch it")


def _common_kind(name: str, outlines: Sequence[Outline]) -> Kind:
    """Return the kind of a column in all partitions where it has values."""
    found: dict[tuple[Kind, str], int] = {}
    for number, outline in enumerate(outlines):
        if name not in outline.kinds:
            raise DataError(f"partition {number} has no column {name!r}, which partition 0 has; add it")
        if outline.n_values[name]:
            found.setdefault((outline.kinds[name], outline.forms[name]), number)
    if len(found) > 1:
        ((_, first), number), ((_, other), other_number) = list(found.items())[:2]
        raise DataError(
            f"column {name!r} holds {first} values in partition {number} and {other} values in partition "
            f"{other_number}; convert it to one type"
        )
    return next(iter(found), (outlines[0].kinds[name], ""))[0]


class DistributedTable(Table):
    """A Dask DataFrame, summarised for one target, column of weights and set of controls that must be present."""

    storage = "workers"

    def __init__(
        self, frame: Any, client: Any, target: str, weights: str | None, control: tuple[str, ...] = ()
    ) -> None:
        self.client = client
        self._frame = frame
        self.observing: Observing = target, weights, control
        self._complete_tables: dict[tuple[str, ...], DistributedTable] = {}
        self._summaries = self.map(summarise, *self.observing, numbered=True)
        self._outlines: list[Outline] = self.gather(client.map(_outline, self._summaries, pure=False))
        super().__init__(RemoteSource(self._outlines))

    @property
    def columns(self) -> set[str | None]:
        """The columns that decide which rows are observed."""
        target, weights, control = self.observing
        return {target, weights, *control}

    def observed(self, target: str, weights: str | None = None, control: Sequence[str] = ()) -> DistributedTable:
        """Return the rows whose target is present, and each of these controls."""
        self.require(target)
        if (target, weights, ()) != self.observing:
            return DistributedTable(self._frame, self.client, target, weights).observed(target, weights, control)
        self._count()
        require_exact(str(weights), self.n_rows + self.n_dropped)
        lacking = tuple(name for name in sorted(control) if self.n_missing(name))
        if lacking and lacking not in self._complete_tables:
            table = DistributedTable(self._frame, self.client, target, weights, lacking)
            table._count()
            self._complete_tables[lacking] = table
        return self._complete_tables[lacking] if lacking else self

    def _count(self) -> None:
        """Count the observed rows of all partitions."""
        self.n_records = sum(outline.n_records for outline in self._outlines)
        self.n_rows = sum(outline.n_rows for outline in self._outlines)
        self.n_dropped = sum(outline.n_dropped for outline in self._outlines)
        self.n_incomplete = sum(outline.n_incomplete for outline in self._outlines)

    def map(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        columns: Collection[str | None] | None = None,
        numbered: bool = False,
    ) -> list[Any]:
        """Return the futures of a function of each partition, its number if `numbered`, and the arguments."""
        import dask

        frame = self._frame
        if columns is not None:
            frame = frame[[label for label in frame.columns if str(label) in columns]]
        call = dask.delayed(function, pure=False)
        # Arguments are sent once instead of once per partition, and not searched for tasks.
        shared = [dask.delayed(argument, pure=False, traverse=False) for argument in arguments]
        parts = frame.to_delayed()
        tasks = [call(part, number, *shared) if numbered else call(part, *shared) for number, part in enumerate(parts)]
        futures: list[Any] = self.client.compute(tasks)
        return futures

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """Return the results of futures."""
        return gather(self.client, futures)

    def histogram(self, name: str) -> Histogram:
        """Count the rows of each distinct value of a column, and those where it is missing."""
        if name not in self._histograms:
            self.require(name)
            parts = self.gather([self.client.submit(_histogram, each, name, pure=False) for each in self._summaries])
            self._histograms[name] = _combined(name, self.kinds[name], parts)
        return self._histograms[name]

    def codes(self, name: str, ends: Ends) -> NDArray[np.int32]:
        """Return the bin of each row, −1 if missing; `ends` are the positions of each bin's last value."""
        bins, columns = Bins.of(self, name, ends), {name, *self.columns}
        return np.concatenate(self.gather(self.map(_codes, self.observing, bins, columns=columns)))

    def combinations(self, ends: Mapping[str, Ends]) -> dict[str, NDArray[np.int32]]:
        """Return rows of codes that include every combination that occurs, one array per column."""
        if not ends:
            return {}
        bins = [Bins.of(self, name, column_ends) for name, column_ends in ends.items()]
        parts = self.gather(self.map(_distinct, self.observing, bins, columns={*ends, *self.columns}))
        return dict(zip(ends, np.concatenate(parts, axis=1), strict=True))


def gather(client: Any, futures: Sequence[Any]) -> list[Any]:
    """Return the results of futures; foreign exceptions are reported as errors of the cluster."""
    try:
        results: list[Any] = client.gather(list(futures))
    except CausalRulesError:
        raise
    except (Exception, asyncio.CancelledError) as error:  # any error in the graph of a partition
        raise DataError(f"the cluster could not compute the table: {type(error).__name__}: {error}") from error
    return results


def _combined(name: str, kind: Kind, parts: Sequence[Histogram]) -> Histogram:
    """Add up histograms of disjoint sets of rows."""
    n_missing = sum(part.n_missing for part in parts)
    present = [part for part in parts if len(part.values)]
    if not present:
        return Histogram(parts[0].values[:0], np.empty(0, np.int64), n_missing)
    if kind is Kind.TEXT:
        rows: dict[Any, int] = {}
        for part in present:
            for label, n in zip(part.values, part.counts.tolist(), strict=True):
                rows[label] = rows.get(label, 0) + n
        labels = tuple(sorted(rows))
        values = Values(np.arange(len(labels), dtype=np.int32), labels.__getitem__)
        return Histogram(values, np.array([rows[label] for label in labels], np.int64), n_missing)
    first = present[0].values
    for part in present:
        if part.values.order != first.order:
            raise DataError(
                f"column {name!r} has the categories {shorten(first.order or ())} in one partition and "
                f"{shorten(part.values.order or ())} in another; use the same ones, in the same order"
            )
    sortable = [part.values.sortable for part in present]
    if len({array.dtype for array in sortable}) > 1:
        if any(np.abs(array.astype(np.float64)).max() > _EXACT for array in sortable):
            raise DataError(
                f"column {name!r} is of different number types in different partitions, and holds numbers that are "
                "not exact in all of them; convert it to one type"
            )
        # Signed and unsigned integers stay integers; together with floats all are floats.
        first = next((part.values for part in present if part.values.sortable.dtype.kind == "f"), first)
        common = np.float64 if first.sortable.dtype.kind == "f" else np.int64
        sortable = [array.astype(common) for array in sortable]
    numbers = np.concatenate(sortable)
    order = np.argsort(numbers, kind="stable")
    numbers = numbers[order]
    starts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
    counts = np.add.reduceat(np.concatenate([part.counts for part in present])[order], starts)
    return Histogram(first.like(numbers[starts]), counts, n_missing)


def read_dask(frame: Any, client: Any, target: str, weights: str | None) -> DistributedTable:
    """Read a Dask DataFrame with the given client, the current one, or a threaded one in this process."""
    import distributed

    if not frame.npartitions:
        raise DataError("the Dask table has no partitions")
    if getattr(client, "asynchronous", False):
        raise DataError(
            "this client is asynchronous; pass one that is not, as Client(address) outside of a coroutine",
            parameter="client",
        )
    if client is not None:
        return DistributedTable(frame, client, target, weights)
    try:
        client = distributed.default_client()
        if client.asynchronous:
            raise ValueError
    except ValueError:
        # The scheduler always has a web server, by default one that the whole network can reach.
        client = distributed.Client(processes=False, dashboard_address="127.0.0.1:0", set_as_default=False)
        table = DistributedTable(frame, client, target, weights)
        weakref.finalize(table, client.close)
        return table
    return DistributedTable(frame, client, target, weights)
