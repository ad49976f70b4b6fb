"""Strata of the controls, divided by the columns of other rules, which holds these fixed (docs/list.md).

If the combinations of their bins leave enough rows in each stratum, they divide the strata. Otherwise the strata are
divided by quantiles of a prediction of the target: a ridge regression on the indicators of the bins and of the rules
on these columns, within the strata of the controls. It is linear in indicators, so it needs only the counts of the
combinations, wherever the rows are, and a row's quantile follows from its codes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from causalrules.data.bins import Bins
from causalrules.data.columns import Ends
from causalrules.data.table import Table
from causalrules.estimators.scores import KAPPA
from causalrules.language.prognostic import quantiles, ranges
from causalrules.language.strata import Strata, bin_names, distinct, join_keys, places
from causalrules.text import listed

# Minimum average rows for combinations of bins to be strata.
ENOUGH = 25
# Number of quantiles of the prediction.
QUANTILES = 8
# Predictions are rounded to these decimals of their range: another machine may sum in another order.
_DECIMALS = 9

# The conditions of a rule on these columns: index of the column, lowest and highest code.
Conditions = Sequence[tuple[int, int, int]]


class Cells(NamedTuple):
    """The observed combinations of stratum and codes of some columns, with the number of rows of each.

    Attributes
    ----------
    stratum
        Stratum of the controls.
    codes
        Code of each column, −1 if missing.
    counts
        Rows of each combination (lines) with each level of the target (columns).
    """

    stratum: NDArray[np.int64]
    codes: tuple[NDArray[np.int64], ...]
    counts: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        stratum: NDArray[Any],
        codes: Sequence[NDArray[Any]],
        level: NDArray[Any],
        weights: NDArray[Any] | None,
        n_levels: int,
    ) -> Cells:
        """Count rows, given the stratum, codes, level of the target and weight of each."""
        key = stratum.astype(np.int64)
        for code in codes:
            key = join_keys(key, code, int(code.max(initial=0)) + 1)
            key = places(distinct(key), key)
        n_cells = int(key.max(initial=-1)) + 1
        first = np.zeros(n_cells, np.int64)
        first[key] = np.arange(len(key))
        cell = key * n_levels + level
        counts = np.zeros(n_cells * n_levels, np.int64)
        if weights is None:
            counts = np.bincount(cell, minlength=len(counts))
        else:
            np.add.at(counts, cell, weights.astype(np.int64))
        return cls(
            stratum.astype(np.int64)[first],
            tuple(code.astype(np.int64)[first] for code in codes),
            counts.reshape(n_cells, n_levels),
        )

    @classmethod
    def merged(cls, parts: Sequence[Cells]) -> Cells:
        """Add up the counts of disjoint sets of rows."""
        n_levels = parts[0].counts.shape[1]
        stratum = np.concatenate([np.repeat(part.stratum, n_levels) for part in parts])
        codes = [
            np.concatenate([np.repeat(code, n_levels) for code in column])
            for column in zip(*(part.codes for part in parts), strict=True)
        ]
        level = np.concatenate([np.tile(np.arange(n_levels), len(part.stratum)) for part in parts])
        return cls.of(stratum, codes, level, np.concatenate([part.counts.ravel() for part in parts]), n_levels)

    @property
    def n(self) -> NDArray[np.int64]:
        """Number of rows of each combination."""
        return np.asarray(self.counts.sum(axis=1))


@dataclass(frozen=True, eq=False)
class Prediction:
    """Quantiles of a prediction from some columns; takes the place of a control's bins in `Strata`.

    Attributes
    ----------
    ends, bins
        The columns, with the ends of their bins and the bins by value.
    rules
        Rules on these columns; the prediction includes their indicators.
    gains
        Coefficient of each bin of each column, missing last.
    rule_gains
        Coefficient of each rule.
    uppers
        Upper ends of all quantiles but the last.
    scale
        The range of the predictions, which sets how they are rounded.
    """

    ends: Mapping[str, Ends]
    bins: tuple[Bins, ...]
    rules: tuple[Conditions, ...]
    gains: tuple[NDArray[np.float64], ...]
    rule_gains: NDArray[np.float64]
    uppers: NDArray[np.float64]
    scale: float

    @property
    def n_bins(self) -> int:
        """Number of quantiles."""
        return len(self.uppers) + 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the prediction needs."""
        return tuple(self.ends)

    def codes(self, table: Table, unseen: bool = False) -> NDArray[np.int32]:
        """Return the quantile of each row; unknown values count as missing."""
        return self.combined({bins.column: bins.codes(table, unseen=unseen) for bins in self.bins})

    def combined(self, codes: Mapping[str, NDArray[Any]]) -> NDArray[np.int32]:
        """Return the quantile of each row, given the codes of the columns."""
        predicted = self.predict([codes[name] for name in self.ends])
        return np.searchsorted(self.uppers, predicted).astype(np.int32)

    def predict(self, codes: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """Return the prediction for each row, relative to the mean of its stratum of the controls."""
        total = np.zeros(len(codes[0]))
        for gain, code in zip(self.gains, codes, strict=True):
            known = np.where((code < 0) | (code >= len(gain) - 1), len(gain) - 1, code)
            total += gain[known]
        for gain, rule in zip(self.rule_gains, self.rules, strict=True):
            total += gain * _holds(rule, codes)
        return np.asarray(np.round(total / self.scale, _DECIMALS) if self.scale else total)


def _holds(rule: Conditions, codes: Sequence[NDArray[Any]]) -> NDArray[np.bool_]:
    """Return which rows satisfy all conditions of a rule."""
    holds = np.ones(len(codes[0]), np.bool_)
    for place, low, high in rule:
        holds &= (codes[place] >= low) & (codes[place] <= high)
    return holds


def hold_fixed(
    strata: Strata,
    table: Table | None,
    ends: Mapping[str, Ends],
    cells: Cells,
    rules: Sequence[Conditions],
    values: NDArray[np.float64],
) -> Strata:
    """Divide the strata of the controls by other columns.

    Parameters
    ----------
    strata
        The strata of the controls.
    table
        The table that they were formed on; None if strata need no labels and are not applied to other rows.
    ends
        The columns to hold fixed, with the ends of their bins.
    cells
        The observed combinations of the strata and these columns, with the columns in the same order.
    rules
        The rules on these columns.
    values
        The value of each level of the target.
    """
    bins = {} if table is None else {name: Bins.of(table, name, each) for name, each in ends.items()}
    if cells.n.sum() >= ENOUGH * len(cells.n):
        names = {name: _names(table, name, each) for name, each in ends.items()}
        return _divided(strata, bins, names, ends, cells.stratum, dict(zip(ends, cells.codes, strict=True)))
    prediction = _fitted(dict(ends), tuple(bins.values()), cells, rules, values)
    predicted = prediction.predict(cells.codes)
    name = f"predicted from {listed(list(ends))}"
    texts = ranges([float(predicted.min()), *prediction.uppers.tolist(), float(predicted.max())], 0.0)
    codes = np.searchsorted(prediction.uppers, predicted)
    each = np.arange(prediction.n_bins, dtype=np.intp)
    return _divided(strata, {name: prediction}, {name: [*texts, "missing"]}, {name: each}, cells.stratum, {name: codes})


def _names(table: Table | None, name: str, ends: Ends) -> list[str]:
    """Return the name of each bin of a column, missing last."""
    return (
        [str(place) for place in range(len(ends) + 1)]
        if table is None
        else bin_names(table.histogram(name).values, ends)
    )


def _divided(
    strata: Strata,
    bins: Mapping[str, Any],
    names: Mapping[str, list[str]],
    ends: Mapping[str, Ends],
    stratum: NDArray[np.int64],
    codes: Mapping[str, NDArray[Any]],
) -> Strata:
    """Divide strata by further columns, given all observed combinations."""
    index, levels, labels = stratum, [], [dict(label) for label in strata.labels]
    for column, code in codes.items():
        keys = join_keys(index, code, len(ends[column]))
        level = distinct(keys)
        index = places(level, keys)
        parents, numbers = np.divmod(level, len(names[column]))
        labels = [
            {**labels[parent], column: names[column][number]}
            for parent, number in zip(parents.tolist(), numbers.tolist(), strict=True)
        ]
        levels.append(level)
    return replace(
        strata,
        columns=(*strata.columns, *codes),
        ends={**strata.ends, **ends},
        bins={**strata.bins, **bins},
        labels=tuple(labels),
        _levels=(*strata._levels, *levels),
        n_held=len(codes),
    )


def _fitted(
    ends: Mapping[str, Ends],
    bins: tuple[Bins, ...],
    cells: Cells,
    rules: Sequence[Conditions],
    values: NDArray[np.float64],
) -> Prediction:
    """Regress the target on the indicators of bins and rules within the strata, with a penalty of two rows each.

    With X the indicators and y the target, both centred in each stratum:

        g = (Xᵀ X + κ I)⁻¹ Xᵀ y
    """
    n, n_strata = cells.n.astype(np.float64), int(cells.stratum.max()) + 1
    total = cells.counts @ values
    n_bins = [len(each) for each in ends.values()]
    axes = [np.where(code < 0, size, code) for code, size in zip(cells.codes, n_bins, strict=True)]
    axes += [_holds(rule, cells.codes).astype(np.int64) for rule in rules]
    sizes = [*(size + 1 for size in n_bins), *(2 for _ in rules)]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    by_stratum = np.zeros((n_strata, starts[-1]))
    gram = np.zeros((starts[-1], starts[-1]))
    right = np.zeros(starts[-1])
    in_stratum = np.bincount(cells.stratum, n, n_strata)
    mean = np.bincount(cells.stratum, total, n_strata) / np.maximum(in_stratum, 1)
    left_over = total - n * mean[cells.stratum]
    for i, one in enumerate(axes):
        here = slice(starts[i], starts[i + 1])
        key = cells.stratum * sizes[i] + one
        by_stratum[:, here] = np.bincount(key, n, n_strata * sizes[i]).reshape(n_strata, sizes[i])
        right[here] = np.bincount(one, left_over, sizes[i])
        for j, other in enumerate(axes[: i + 1]):
            there = slice(starts[j], starts[j + 1])
            block = np.bincount(one * sizes[j] + other, n, sizes[i] * sizes[j]).reshape(sizes[i], sizes[j])
            gram[here, there], gram[there, here] = block, block.T
    gram -= (by_stratum / np.maximum(in_stratum, 1)[:, None]).T @ by_stratum
    gains: NDArray[np.float64] = np.asarray(np.linalg.solve(gram + KAPPA * np.eye(len(gram)), right), np.float64)
    parts = [gains[starts[i] : starts[i + 1]] for i in range(len(axes))]
    rule_gains = np.array([part[1] - part[0] for part in parts[len(ends) :]])
    found = Prediction(ends, bins, tuple(rules), tuple(parts[: len(ends)]), rule_gains, np.empty(0), 0.0)
    plain = found.predict(cells.codes)
    found = replace(found, scale=float(np.ptp(plain)))
    return replace(found, uppers=quantiles(found.predict(cells.codes), n, QUANTILES))
