"""The rule language: all propositions on the actionable columns (paper §3)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from causalrules.data.columns import Ends, Histogram
from causalrules.data.table import Table
from causalrules.language.cuts import Cuts, cut
from causalrules.language.propositions import Proposition, canonical, shortened

_MANY_VALUES = 1_000


@dataclass(frozen=True)
class Language:
    """All propositions, each true on an interval [low, high] of its column's codes.

    `allowed_columns` are the sets of columns that a rule may use, each sorted by name; None for any.
    """

    propositions: tuple[Proposition, ...]
    column_index: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    columns: tuple[str, ...]
    ends: Mapping[str, Ends]
    notes: tuple[str, ...]
    allowed_columns: tuple[tuple[str, ...], ...] | None = None

    @property
    def allowed_numbers(self) -> tuple[tuple[int, ...], ...] | None:
        """The sets in `allowed_columns`, by column index; sets with a column without conditions are left out."""
        if self.allowed_columns is None:
            return None
        number = {column: place for place, column in enumerate(self.columns)}
        return tuple(
            tuple(map(number.__getitem__, each)) for each in self.allowed_columns if number.keys() >= set(each)
        )

    def only(
        self, columns: Collection[int], conditions: Collection[int] | None = None
    ) -> tuple[Language, NDArray[np.intp]]:
        """Return the language of some columns, by index, and the indices of its conditions in this language.

        `conditions` selects some of the conditions; by default all on these columns.
        """
        chosen = sorted(columns)
        kept = np.flatnonzero(np.isin(self.column_index, chosen))
        if conditions is not None:
            kept = kept[np.isin(kept, list(conditions))]
        names = tuple(self.columns[number] for number in chosen)
        language = replace(
            self,
            propositions=tuple(self.propositions[number] for number in kept.tolist()),
            column_index=np.searchsorted(chosen, self.column_index[kept]).astype(np.int32),
            low=self.low[kept],
            high=self.high[kept],
            columns=names,
            ends={name: self.ends[name] for name in names},
        )
        return language, kept

    @cached_property
    def _number(self) -> dict[Proposition, int]:
        return {proposition: number for number, proposition in enumerate(self.propositions)}

    def numbers(self, conditions: Iterable[Proposition]) -> tuple[int, ...]:
        """Return the index of each condition in `propositions`."""
        return tuple(self._number[condition] for condition in conditions)


def build_language(
    table: Table,
    actionable: Sequence[str],
    max_bins: int = 8,
    cuts: Cuts | None = None,
    categorical: Collection[str] = (),
) -> Language:
    """Build the propositions: ≤ and ≥ at the cut points of ordered columns, = for each value of the others.

    Columns of 0 and 1, and columns of codes (`categorical`), count as unordered.
    """
    notes: list[str] = []
    ends: dict[str, Ends] = {}
    found: list[tuple[Proposition, str, int, int]] = []
    for column in sorted(actionable):
        histogram = table.histogram(column)
        if table.kinds[column].ordered and not _is_code(column, histogram, cuts, categorical):
            column_ends, upper = cut(column, histogram, max_bins, cuts, notes)
            last = len(column_ends) - 1
            given = cuts is not None and column in cuts
            order = tuple(histogram.values.order or ())
            for code in range(last):
                most, least = upper[code], histogram.values[int(column_ends[code]) + 1]
                below = Proposition(column, "<=", most, order, None if given else shortened(most, least))
                shown = shortened(least, most if below.shown is None else below.shown)
                found.append((below, column, 0, code))
                found.append((Proposition(column, ">=", least, order, shown), column, code + 1, last))
            if last < 1:
                notes.append(f"column {column!r} has fewer than two values to compare; it gets no condition")
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
    found.sort(key=lambda item: canonical(item[0]))
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


def _is_code(column: str, histogram: Histogram, cuts: Cuts | None, categorical: Collection[str]) -> bool:
    given = cuts is not None and column in cuts
    return column in categorical or (not given and [*histogram.values[:3]] == [0, 1])
