"""Merge identical rows into weighted ones if that makes the search faster, and hash rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules.search.core import Batch

_SAMPLE = 20_000
# Largest share of distinct rows for which merging pays: a row of weight w is stored once for each 1 bit of w, about
# twice on average.
_WORTH_MERGING = 0.25


def concatenate(batches: Sequence[Batch]) -> Batch:
    """Join batches of rows."""
    weights = [batch.weights for batch in batches if batch.weights is not None]
    columns = zip(*(batch.columns for batch in batches), strict=True)
    return Batch(
        np.concatenate([batch.strata for batch in batches]),
        np.concatenate([batch.outcomes for batch in batches]),
        np.concatenate(weights) if weights else None,
        [np.concatenate(parts) for parts in columns],
    )


def _all_columns(batch: Batch) -> list[NDArray[Any]]:
    reference = [] if batch.reference is None else [batch.reference]
    return [batch.strata, batch.outcomes, *reference, *batch.columns]


def keys(batch: Batch, rows: slice | NDArray[np.int64] = slice(None)) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each row, without its weight."""
    key = np.zeros(len(batch.strata[rows]), np.uint64)
    for column in _all_columns(batch):
        key ^= column[rows].astype(np.int64).astype(np.uint64)
        key *= np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key


def places(batch: Batch) -> int:
    """Return the number of bits per condition in the packed rows: one for each 1 bit of a weight."""
    if batch.weights is None or not len(batch.weights):
        return len(batch.strata)
    bits = range(int(batch.weights.max()).bit_length())
    return sum(int(np.count_nonzero(batch.weights >> np.uint64(bit) & np.uint64(1))) for bit in bits)


def pays(batch: Batch, n_rows: int | None = None) -> bool:
    """Estimate from a sample whether enough rows are identical for merging to be faster.

    The batch may be the first of `n_rows` rows.
    """
    n_rows = len(batch.strata) if n_rows is None else n_rows
    if len(batch.strata) <= _SAMPLE:
        return False
    sample = np.random.default_rng(0).choice(len(batch.strata), _SAMPLE, replace=False)
    distinct = len(np.unique(keys(batch, sample)))
    repeated = _SAMPLE - distinct
    # Birthday problem: a sample of m among d equally likely rows has about m² / 2d repetitions if d is large; if d is
    # small, the sample holds all of them.
    return repeated > 0 and distinct * _SAMPLE / (2 * repeated) <= _WORTH_MERGING * n_rows


def _counted(batch: Batch) -> Batch | None:
    """Merge rows by counting each combination of codes, if that is faster; None if there are too many combinations."""
    n_rows, columns = len(batch.strata), _all_columns(batch)
    if n_rows <= _SAMPLE:
        return None
    spans = [(int(column.min()), int(column.max())) for column in columns]
    if math.prod(high - low + 1 for low, high in spans) > 4 * n_rows:
        return None
    key: NDArray[np.int64] = np.zeros(n_rows, np.int64)
    for column, (low, high) in zip(columns, spans, strict=True):
        # In place: this dominates the time of repeated packing.
        key *= high - low + 1
        key += column
        if low:
            key -= low
    if batch.weights is None:
        weights = np.bincount(key).astype(np.uint64)
    else:
        weights = np.zeros(int(key.max()) + 1, np.uint64)
        np.add.at(weights, key, batch.weights)
    left = np.flatnonzero(weights)
    weights = weights[left]
    merged: list[NDArray[Any]] = []
    for column, (low, high) in zip(reversed(columns), reversed(spans), strict=True):
        left, code = np.divmod(left, high - low + 1)
        merged.append((code + low).astype(column.dtype))
    strata, outcomes, *others = reversed(merged)
    reference = None if batch.reference is None else others.pop(0)
    found = Batch(strata, outcomes, weights, others, reference)
    return found if places(found) < places(batch) else batch


def merge(batch: Batch) -> Batch:
    """Merge identical rows into weighted ones, if that is faster."""
    if (counted := _counted(batch)) is not None:
        return counted
    if not pays(batch):
        return batch
    _, first, place = np.unique(keys(batch), return_index=True, return_inverse=True)
    if not all(np.array_equal(column, column[first][place]) for column in _all_columns(batch)):
        return batch  # a collision of hashes, with probability about rows² / 2**64
    if batch.weights is None:
        weights = np.bincount(place, minlength=len(first)).astype(np.uint64)
    else:
        weights = np.zeros(len(first), np.uint64)
        np.add.at(weights, place, batch.weights)
    reference = None if batch.reference is None else batch.reference[first]
    columns = [column[first] for column in batch.columns]
    merged = Batch(batch.strata[first], batch.outcomes[first], weights, columns, reference)
    # The estimate is too low if rows are not equally likely.
    return merged if places(merged) < places(batch) else batch


def digest(batches: Iterable[Batch]) -> int:
    """Return an order-independent 128-bit hash of the rows: two sums of 64-bit hashes."""
    total = 0
    for batch in batches:
        key = keys(batch)
        other = (key ^ (key >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
        weights = np.uint64(1) if batch.weights is None else batch.weights
        sums = [int(np.sum(part * weights, dtype=np.uint64)) for part in (key, other ^ (other >> np.uint64(27)))]
        total = add_digests(total, sums[0] << 64 | sums[1])
    return total


def add_digests(one: int, other: int) -> int:
    """Return the digest of two sets of rows together."""
    low = 2**64 - 1
    return ((one >> 64) + (other >> 64) & low) << 64 | (one + other & low)
