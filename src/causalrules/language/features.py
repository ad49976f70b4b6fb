"""The controls as numbers for a model: quantities unchanged, categories as codes, missing values as nan."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from causalrules.data.bins import Bins
from causalrules.data.columns import Kind
from causalrules.data.table import Table

if TYPE_CHECKING:
    from causalrules.data.streaming import Sql, StreamedTable

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

# Maximum categories of one column; rarer ones are merged into one.
MOST_CATEGORIES = 200


@dataclass(frozen=True)
class Feature:
    """One control.

    Attributes
    ----------
    column
        Its name.
    bins
        Its values, one bin each; None for quantities.
    code
        The code of each bin; None if it is the index of the bin.
    n_categories
        Number of categories; 0 for quantities and ordered categories, which have an order.
    """

    column: str
    bins: Bins | None
    code: NDArray[np.float64] | None
    n_categories: int

    def values(self, table: Table) -> NDArray[np.float64]:
        """Return the numbers of a table's rows; an unknown category counts as missing."""
        if self.bins is None:
            return table.quantities(self.column)
        return self.numbers(self.bins.codes(table, unseen=True))

    def numbers(self, codes: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the numbers of bins, nan for missing or unknown values."""
        assert self.bins is not None
        known = np.arange(self.bins.n_bins, dtype=np.float64) if self.code is None else self.code
        return np.append(known, np.nan)[np.where(codes < self.bins.n_bins, codes, -1)]


@dataclass(frozen=True)
class Features:
    """The controls, sorted by name, and notes on their conversion to numbers."""

    parts: tuple[Feature, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: Table, columns: Sequence[str], categorical: Collection[str] = ()) -> Features:
        """Learn the categories of a table's columns."""
        notes: list[str] = []
        parts = tuple(_feature(table, name, name in categorical, notes) for name in sorted(columns))
        return cls(parts, tuple(notes))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the controls."""
        return tuple(part.column for part in self.parts)

    @property
    def categorical(self) -> NDArray[np.bool_]:
        """Whether each control has unordered categories."""
        return np.array([part.n_categories > 0 for part in self.parts])

    def matrix(self, table: Table) -> Matrix:
        """Return one row for each row of a table, one column for each control."""
        return np.column_stack([part.values(table) for part in self.parts])

    def batches(self, table: StreamedTable, *others: Sql) -> Iterator[tuple[Matrix, list[Any]]]:
        """Yield the matrix of rows in files slice by slice, with the values of other expressions."""
        expressions = [
            table.quantity(part.column)
            if part.bins is None
            else table.code(part.column, np.arange(part.bins.n_bins, dtype=np.intp))
            for part in self.parts
        ]
        for arrays in table.select_batches([*expressions, *others]):
            columns = [
                np.asarray(array, np.float64) if part.bins is None else part.numbers(np.asarray(array, np.int32))
                for part, array in zip(self.parts, arrays, strict=False)
            ]
            yield np.column_stack(columns), arrays[len(expressions) :]

    def indicators(self, matrix: Matrix) -> Matrix:
        """Return the matrix with a 0/1 column for each category."""
        parts = [
            (column[:, None] == np.arange(part.n_categories)).astype(np.float64)
            if part.n_categories
            else column[:, None]
            for part, column in zip(self.parts, matrix.T, strict=True)
        ]
        return np.hstack(parts)

    @property
    def indicator_names(self) -> tuple[str, ...]:
        """The names of the columns of `indicators`."""
        return tuple(
            name
            for part in self.parts
            for name in (
                [f"{part.column} = {_name(part, category)}" for category in range(part.n_categories)] or [part.column]
            )
        )


def _feature(table: Table, column: str, is_category: bool, notes: list[str]) -> Feature:
    kind = table.kinds[column]
    if kind in (Kind.NUMBER, Kind.DATE) and not is_category:
        return Feature(column, None, None, 0)
    histogram = table.histogram(column)
    n_values = len(histogram.values)
    bins = Bins.of(table, column, np.arange(n_values, dtype=np.intp))
    if kind.ordered and not is_category:
        return Feature(column, bins, None, 0)
    if n_values <= MOST_CATEGORIES:
        return Feature(column, bins, None, n_values)
    order = np.argsort(-histogram.counts, kind="stable")
    code = np.full(n_values, MOST_CATEGORIES - 1, np.float64)
    code[order[: MOST_CATEGORIES - 1]] = np.arange(MOST_CATEGORIES - 1)
    notes.append(
        f"control {column!r} has {n_values:,} values; models take the {MOST_CATEGORIES - 1} most frequent ones, and "
        "the others as one"
    )
    return Feature(column, bins, code, MOST_CATEGORIES)


def _name(part: Feature, category: int) -> str:
    assert part.bins is not None
    code = np.arange(part.bins.n_bins) if part.code is None else part.code
    values = np.flatnonzero(code == category)
    if len(values) != 1:
        return "other"
    place = int(values[0])
    return next((str(value) for value, number in part.bins.bin_of.items() if number == place), str(place))
