"""Rows that agree everywhere, made one row that counts for all of them where that saves work."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from causalrules.search.core import Batch

_SAMPLE = 20_000
# Merging pays from this share of distinct rows on: a row that counts w times stands in the packed table once for each
# one in w's binary form, about twice on average.
_WORTH_MERGING = 0.25


def _all_columns(batch: Batch) -> list[NDArray[np.generic]]:
    return [batch.strata, batch.outcomes, *batch.columns]


def keys(batch: Batch, rows: slice | NDArray[np.int64] = slice(None)) -> NDArray[np.uint64]:
    """A number for each row that is the same for rows that agree everywhere."""
    key = np.zeros(len(batch.strata[rows]), np.uint64)
    for column in _all_columns(batch):
        key ^= column[rows].astype(np.int64).astype(np.uint64)
        key *= np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key


def places(batch: Batch) -> int:
    """How many places in the packed table the rows take: as many as their weights have ones in binary."""
    if batch.weights is None or not len(batch.weights):
        return len(batch.strata)
    bits = range(int(batch.weights.max()).bit_length())
    return sum(int(np.count_nonzero(batch.weights >> np.uint64(bit) & np.uint64(1))) for bit in bits)


def pays(batch: Batch) -> bool:
    """Whether so many rows agree that merging them makes the search faster, judged from a sample."""
    n_rows = len(batch.strata)
    if n_rows <= _SAMPLE:
        return False
    sample = np.random.default_rng(0).choice(n_rows, _SAMPLE, replace=False)
    distinct = len(np.unique(keys(batch, sample)))
    repeated = _SAMPLE - distinct
    # As with birthdays: among d equally likely rows, a sample of m repeats itself about m² / 2d times, if d is large;
    # if it is small, the sample holds them all.
    return repeated > 0 and distinct * _SAMPLE / (2 * repeated) <= _WORTH_MERGING * n_rows


def merge(batch: Batch) -> Batch:
    """The batch with rows that agree everywhere made one row that counts for all, where that saves work."""
    if not pays(batch):
        return batch
    _, first, place = np.unique(keys(batch), return_index=True, return_inverse=True)
    if not all(np.array_equal(column, column[first][place]) for column in _all_columns(batch)):
        return batch  # two different rows share a key: once in 2**64 / rows² tables
    if batch.weights is None:
        weights = np.bincount(place, minlength=len(first)).astype(np.uint64)
    else:
        weights = np.zeros(len(first), np.uint64)
        np.add.at(weights, place, batch.weights)
    merged = Batch(batch.strata[first], batch.outcomes[first], weights, [column[first] for column in batch.columns])
    # The sample may have misled: rows that are not equally likely repeat themselves more often than they are few.
    return merged if places(merged) < places(batch) else batch


def digest(batches: Iterable[Batch]) -> int:
    """A number that other rows would hardly have: two sums over the rows, so that their order does not matter."""
    total = 0
    for batch in batches:
        key = keys(batch)
        other = (key ^ (key >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
        weights = np.uint64(1) if batch.weights is None else batch.weights
        sums = [int(np.sum(part * weights, dtype=np.uint64)) for part in (key, other ^ (other >> np.uint64(27)))]
        total = add_digests(total, sums[0] << 64 | sums[1])
    return total


def add_digests(one: int, other: int) -> int:
    """The digest of two sets of rows together."""
    low = 2**64 - 1
    return ((one >> 64) + (other >> 64) & low) << 64 | (one + other & low)
