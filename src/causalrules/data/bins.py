"""Bins of a column by value, which also apply to the rows of other tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules.data.columns import Ends, Kind, Scalar, Values, form
from causalrules.data.table import Table
from causalrules.exceptions import DataError


@dataclass(frozen=True)
class Bins:
    """The bins of one column.

    Attributes
    ----------
    column, kind, form
        The column and the type of its values.
    n_bins
        Number of bins.
    uppers
        Upper values (sortable) of all bins but the last, which has none.
    bin_of
        Bin of each value, for types whose order may differ in other tables: text, booleans and ordered categories.
    """

    column: str
    kind: Kind
    form: str
    n_bins: int
    uppers: NDArray[Any]
    bin_of: Mapping[Scalar, int]
    _order: tuple[Scalar, ...] | None

    @classmethod
    def of(cls, table: Table, column: str, ends: Ends) -> Bins:
        """Return the bins that end at these positions of the table's histogram."""
        kind, values = table.kinds[column], table.histogram(column).values
        uppers = np.array(values.sortable[ends[:-1]])
        known: tuple[Scalar, ...] = ()
        bins: NDArray[np.intp] = np.empty(0, np.intp)
        if values.order is not None:
            known, bins = values.order, np.searchsorted(uppers, np.arange(len(values.order)))
        elif not kind.ordered:
            known, bins = tuple(values), np.searchsorted(ends, np.arange(len(values)))
        bin_of = dict(zip(known, bins.tolist(), strict=True))
        return cls(column, kind, form(kind, values), len(ends), uppers, bin_of, values.order)

    def codes(self, table: Table, unseen: bool = False) -> NDArray[np.int32]:
        """Return the bin of each row of a table, −1 if missing.

        A number or date lies in the first bin whose upper value is not below it. Any other value must be a known one;
        with `unseen`, each unknown value gets a bin of its own, numbered from `n_bins`.
        """
        if self.kind is Kind.NUMBER is table.kinds[self.column]:
            return table.binned(self.column, self.uppers)
        values = table.histogram(self.column).values
        if not len(values):
            return np.full(table.n_records, -1, np.int32)
        if table.kinds[self.column] is not self.kind or (
            self.kind is Kind.DATE and form(self.kind, values) != self.form
        ):
            other = form(table.kinds[self.column], values)
            raise DataError(
                f"column {self.column!r} holds {other} values, but {self.form} values in the table that was searched; "
                "convert them"
            )
        if self.kind is Kind.DATE or (values.order is not None and values.order == self._order):
            return table.binned(self.column, self.uppers)
        return np.append(self._bins(values, unseen), -1).astype(np.int32)[
            table.codes(self.column, np.arange(len(values)))
        ]

    def _bins(self, values: Values, unseen: bool) -> NDArray[np.intp]:
        bins = np.array([self.bin_of.get(value, -1) for value in values], np.intp)
        new = np.flatnonzero(bins < 0)
        if len(new) and (not unseen or self.kind is Kind.ORDERED):
            raise DataError(
                f"column {self.column!r} has the value {values[int(new[0])]!r}, which the table that was searched "
                "does not have; leave these rows out"
            )
        bins[new] = self.n_bins + np.arange(len(new))
        return bins
