"""Groups of rows that conditions on the context columns describe, and sums over all of them at once.

A group has one condition or two (`max_context`), which may be an interval of one column. Sums over a pair of columns
are a table of their bins; sums over all groups of their conditions follow from it by two products with the matrices
that say which bins satisfy which condition. A row where a missing value leaves open whether the conditions hold belongs
to neither side of the group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from causalrules.language.propositions import Proposition, canonical
from causalrules.search.rows import satisfied

if TYPE_CHECKING:
    from causalrules.data.table import Table
    from causalrules.language.language import Language

Floats = NDArray[np.float64]
# Numbers of a block of rows in memory.
_BLOCK = 2**24


class Sums(NamedTuple):
    """Sums over some of the groups, in order.

    Attributes
    ----------
    inside
        The sum of each quantity over the rows of each group.
    decided
        The same over the rows that are in it or not; one row for all groups where no value is missing.
    """

    inside: Floats
    decided: Floats


class _Column(NamedTuple):
    """The conditions on one column: their numbers, and the bins that satisfy each; the last bin is missing."""

    numbers: tuple[int, ...]
    holds: Floats
    first: int
    n_bins: int


@dataclass(frozen=True, eq=False)
class Contexts:
    """Coded context columns, and all groups that they describe.

    Attributes
    ----------
    language
        The conditions on the context columns.
    codes
        The bin of each row in each column, −1 if missing.
    max_context
        Maximum number of conditions of a group.
    """

    language: Language
    codes: tuple[NDArray[np.int32], ...]
    max_context: int = 2

    @classmethod
    def of(cls, table: Table, language: Language, max_context: int) -> Contexts:
        """Code the rows of a table."""
        codes = tuple(table.codes(name, language.ends[name]) for name in language.columns)
        return cls(language, codes, max_context)

    def only(self, rows: NDArray[Any]) -> Contexts:
        """Return some of the rows, by a mask or by their places."""
        return Contexts(self.language, tuple(codes[rows] for codes in self.codes), self.max_context)

    @property
    def n_rows(self) -> int:
        """Number of stored rows."""
        return len(self.codes[0]) if self.codes else 0

    def conditions(self, numbers: Sequence[int]) -> tuple[Proposition, ...]:
        """Return conditions by their numbers, in the order in which they are written."""
        return tuple(sorted((self.language.propositions[number] for number in numbers), key=canonical))

    def sides(self, numbers: Sequence[int]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which rows are in a group, and which are in it or not."""
        covered, possible = satisfied(self.language, self.codes, numbers, self.n_rows)
        return covered, covered | ~possible

    @cached_property
    def _columns(self) -> tuple[_Column, ...]:
        language, found, first = self.language, [], 0
        for place, name in enumerate(language.columns):
            numbers = np.flatnonzero(language.column_index == place)
            n_bins = len(language.ends[name]) + 1
            bins = np.arange(n_bins)
            low, high = language.low[numbers, None], language.high[numbers, None]
            holds = (bins >= low) & (bins <= high) & (bins < n_bins - 1)
            found.append(_Column(tuple(numbers.tolist()), holds.astype(np.float64), first, n_bins))
            first += n_bins
        return tuple(found)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The conditions of every group: first those of single columns, then those of pairs."""
        columns = self._columns
        alone = [numbers for column in columns for numbers in self._alone[column.first][0]]
        pairs = [
            (first, second)
            for one, two in self._pairs
            for first in columns[one].numbers
            for second in columns[two].numbers
        ]
        return (*alone, *pairs)

    @cached_property
    def _pairs(self) -> list[tuple[int, int]]:
        columns = self._columns
        used = [place for place, column in enumerate(columns) if column.numbers] if self.max_context > 1 else []
        return [(one, two) for one in used for two in used if one < two]

    @cached_property
    def _alone(self) -> dict[int, tuple[list[tuple[int, ...]], Floats]]:
        """The groups of each column alone, by its first bin, and the bins that each holds."""
        return {column.first: self._of_one(column) for column in self._columns}

    def _of_one(self, column: _Column) -> tuple[list[tuple[int, ...]], Floats]:
        """Return the groups of one column: single conditions, and intervals of two."""
        numbers: list[tuple[int, ...]] = [(each,) for each in column.numbers]
        holds = list(column.holds)
        if self.max_context > 1:
            for place, one in enumerate(column.numbers):
                for other, two in enumerate(column.numbers[:place]):
                    both = column.holds[place] * column.holds[other]
                    smaller = both.sum() < min(column.holds[place].sum(), column.holds[other].sum())
                    if both.any() and smaller:
                        numbers.append((two, one))
                        holds.append(both)
        return numbers, np.array(holds).reshape(len(numbers), column.n_bins)

    def sums(self, quantities: Floats, n_threads: int = 1) -> Iterator[Sums]:
        """Yield the sums of quantities over all groups, in order.

        Parameters
        ----------
        quantities
            One row for each row of the table, one column for each quantity.
        n_threads
            Number of threads.
        """
        n_quantities = quantities.shape[1]
        width = sum(column.n_bins for column in self._columns)
        step = max(1, _BLOCK // max(1, n_quantities + width))
        columns = self._columns
        tables = [np.zeros((column.n_bins, width - column.first, n_quantities)) for column in columns]
        with ThreadPoolExecutor(n_threads) as pool:
            for begin in range(0, self.n_rows, step):
                block = quantities[begin : begin + step]
                codes = [
                    np.where(each[begin : begin + step] < 0, column.n_bins - 1, each[begin : begin + step])
                    for each, column in zip(self.codes, columns, strict=True)
                ]
                marks = np.zeros((len(block), width))
                for code, column in zip(codes, columns, strict=True):
                    marks[np.arange(len(block)), column.first + code] = 1.0
                add = partial(_add, block, marks, self.max_context > 1)
                for _ in pool.map(add, codes, columns, tables):
                    pass
        totals = [table[np.arange(len(table)), np.arange(len(table))] for table in tables]
        for column, total in zip(columns, totals, strict=True):
            yield Sums(self._alone[column.first][1] @ total, total[:-1].sum(axis=0)[None])
        for place, other in self._pairs:
            one, two = columns[place], columns[other]
            begin = two.first - one.first
            yield self._pair(one, two, tables[place][:, begin : begin + two.n_bins])

    def spreads(self, values: Floats, group: NDArray[np.intp]) -> Iterator[Floats]:
        """Yield, for all groups in the order of `sums`, sums over groups of dependent rows.

        With a the sum of the values of a dependent group's rows in γ, and d that of its rows that are in γ or not,
        these are Σ a², Σ a d and Σ d².
        """
        n_dependent = int(group.max(initial=-1)) + 1
        codes = [np.where(each < 0, c.n_bins - 1, each) for each, c in zip(self.codes, self._columns, strict=True)]

        def products(cell: NDArray[Any], n_cells: int) -> Floats:
            index = group.astype(np.int64) * n_cells + cell
            sums = np.bincount(index, values, n_dependent * n_cells).reshape(n_dependent, n_cells)
            return np.asarray(sums.T @ sums)

        def spread(inside: Floats, decided: Floats, within: Floats) -> Floats:
            first, second = inside @ within, decided @ within
            pairs = (first, inside), (first, decided), (second, decided)
            return np.column_stack([np.einsum("ij,ij->i", one, two) for one, two in pairs])

        for column, code in zip(self._columns, codes, strict=True):
            holds = self._alone[column.first][1]
            decided = np.ones_like(holds)
            decided[:, -1] = 0.0
            yield spread(holds, decided, products(code, column.n_bins))
        for place, other in self._pairs:
            one, two = self._columns[place], self._columns[other]
            n_cells = one.n_bins * two.n_bins
            within = products(codes[place] * two.n_bins + codes[other], n_cells)
            holds = np.einsum("pa,qb->pqab", one.holds, two.holds)
            decided = np.ones_like(holds)
            decided[:, :, :, -1] -= one.holds[:, None, :]
            decided[:, :, -1, :] -= two.holds[None, :, :]
            decided[:, :, -1, -1] = 0.0
            yield spread(holds.reshape(-1, n_cells), decided.reshape(-1, n_cells), within)

    @staticmethod
    def _pair(one: _Column, two: _Column, table: Floats) -> Sums:
        """Return the sums over the groups of a pair of columns, from the sums over their bins."""
        n_quantities = table.shape[2]
        half = np.tensordot(one.holds, table, 1)
        inside = np.matmul(two.holds, half).reshape(-1, n_quantities)
        whole = table.sum(axis=(0, 1))
        if not (table[-1].any() or table[:, -1].any()):
            return Sums(inside, whole[None])
        # Open: the first condition holds and the second column is missing, the other way round, or both are missing.
        missing = half[:, None, -1] + np.tensordot(two.holds, table[-1], 1)[None] + table[-1, -1]
        return Sums(inside, (whole - missing).reshape(-1, n_quantities))


def _add(block: Floats, marks: Floats, in_pairs: bool, code: NDArray[np.int32], column: _Column, table: Floats) -> None:
    """Add rows to the sums over the bins of a column, and those of each column from it on."""
    order = np.argsort(code, kind="stable")
    ends = np.searchsorted(code[order], np.arange(column.n_bins + 1))
    rows, later = block[order], marks[order, column.first :]
    for place in range(column.n_bins):
        chosen = slice(ends[place], ends[place + 1])
        if in_pairs:
            table[place] += later[chosen].T @ rows[chosen]
        else:
            table[place, place] += rows[chosen].sum(axis=0)


def one_thread_each() -> AbstractContextManager[Any]:
    """Keep matrix products to one thread each: on a busy machine, their threads wait for each other."""
    try:
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
    except ImportError:
        return nullcontext()
    return threadpool_limits({"blas": 1})  # type: ignore[no-any-return]
