"""Rows on Dask workers: each partition is packed once and stays on its worker, and one search queries them all.

Counts of disjoint sets of rows add up, so the search is the same as on a single machine.
"""

from __future__ import annotations

import asyncio
import functools
import math
import queue
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules.data.bins import Bins
from causalrules.data.columns import code_type
from causalrules.data.dask import DistributedTable, Observing, gather
from causalrules.data.reading import read
from causalrules.data.table import Table
from causalrules.exceptions import CausalRulesError, DataError
from causalrules.language.held_fixed import Cells
from causalrules.language.language import Language
from causalrules.language.outcome import Outcome
from causalrules.language.strata import Strata
from causalrules.search import merging
from causalrules.search.core import Batch
from causalrules.search.remote import Part, RemoteTable, put_together
from causalrules.search.rows import Comparison, Measured, RemoteRows, measure, packed, runs, together

# Threads of the search, which is the maximum number of queries per batch.
_QUERIES = 32
# Batches of queries in flight at the same time.
_BATCHES = 2
# Maximum attempts at a query while the cluster loses workers, and seconds between them.
_ATTEMPTS = 100
_RETRY = 0.2
# Maximum seconds without workers, and seconds between checks.
_WITHOUT_WORKERS = 10.0
_POLL = 0.5

# A query of the core and the length of its answer.
Query = tuple[NDArray[np.uint32], int]


def shard_rows(
    table: Table, language: Language, strata: Strata, outcome: Outcome, comparison: Comparison
) -> ShardedRows:
    """Code the rows on their workers."""
    assert isinstance(table, DistributedTable)
    target, _, _ = table.observing
    ends = runs(outcome.level)
    coding = _Coding(
        table.observing,
        Bins.of(table, target, ends),
        outcome.level[ends],
        [Bins.of(table, name, language.ends[name]) for name in language.columns],
        language,
        strata,
        comparison,
        None if outcome.is_exact else outcome.centre,
    )
    return ShardedRows(language, strata, comparison, table, coding)


@dataclass(frozen=True)
class _Coding:
    """Parameters for coding the rows of a partition."""

    observing: Observing
    target: Bins
    level: NDArray[np.uint8]
    bins: Sequence[Bins]
    language: Language
    strata: Strata
    comparison: Comparison
    # Subtracted from the target; None if its levels are exact.
    centre: int | float | None = None

    def batch(self, part: Any) -> Batch:
        """Code the rows of a partition."""
        return self.coded(read(part).observed(*self.observing))

    def coded(self, table: Table) -> Batch:
        """Code the rows of a table whose target is present."""
        return Batch(
            self.strata.index_in(table),
            self.level[self.target.codes(table)],
            None if table.weights is None else table.weights.astype(np.uint64),
            [bins.codes(table).astype(code_type(bins.n_bins)) for bins in self.bins],
        )


class Shard:
    """The packed rows of one partition, kept on the worker that packed them."""

    def __init__(self, number: int, batch: Batch, coding: _Coding) -> None:
        self._part = Part(packed(batch, coding.language, coding.strata.n_strata, coding.comparison), number)

    def answer(self, query: Query) -> NDArray[np.uint64]:
        """Answer a counting query."""
        return self._part.answer(*query)

    def __reduce__(self) -> Any:
        raise TypeError("a shard cannot be moved; Dask rebuilds it elsewhere")


# Run on the workers. Dask looks these up by name, so they are module-level functions.


def _encode(part: Any, coding: _Coding) -> Batch:
    return coding.batch(part)


def _pack(part: Any, number: int, coding: _Coding) -> Shard:
    return Shard(number, coding.batch(part), coding)


def _measure(part: Any, coding: _Coding, rules: Sequence[Sequence[int]]) -> list[Measured]:
    table = read(part).observed(*coding.observing)
    assert coding.centre is not None
    return measure(coding, coding.coded(table), table.quantities(coding.target.column, coding.centre), rules)


def _cells(part: Any, coding: _Coding, columns: Sequence[int]) -> Cells:
    batch = coding.batch(part)
    codes = [batch.columns[column] for column in columns]
    return Cells.of(batch.strata, codes, batch.outcomes, batch.weights, len(coding.comparison.values))


def _digest(part: Any, coding: _Coding) -> int:
    return merging.digest([coding.batch(part)])


def _answers(shards: Sequence[Shard], queries: Sequence[Query]) -> list[NDArray[np.uint64]]:
    return [put_together(query[0], (shard.answer(query) for shard in shards)) for query in queries]


async def _ask_worker(
    places: Mapping[str, Sequence[str]], queries: Sequence[Query], dask_worker: Any
) -> list[NDArray[np.uint64]]:
    """Answer queries from all shards of a worker, in parallel; raise a KeyError if it has lost one."""
    shards = [dask_worker.data[key] for key in places[dask_worker.address]]
    n_threads = min(len(shards), dask_worker.state.nthreads)
    loop = asyncio.get_running_loop()
    # In threads, because the scheduler gives up workers that do not respond in time.
    calls = [loop.run_in_executor(None, _answers, shards[start::n_threads], queries) for start in range(n_threads)]
    return _total(await asyncio.gather(*calls), queries)


def _total(parts: Sequence[Sequence[NDArray[np.uint64]]], queries: Sequence[Query]) -> list[NDArray[np.uint64]]:
    return [put_together(query[0], [part[index] for part in parts]) for index, query in enumerate(queries)]


@dataclass(frozen=True, eq=False)
class ShardedRows(RemoteRows):
    """Coded rows in the memory of workers."""

    table: DistributedTable
    coding: _Coding

    @property
    def n_rows(self) -> int:
        """Number of rows, by weight."""
        return self.table.n_rows

    def _map(self, function: Any, *arguments: Any, numbered: bool = False) -> list[Any]:
        used = {*self.table.columns, *self.strata.sources, *self.language.columns}
        return self.table.map(function, self.coding, *arguments, columns=used, numbered=numbered)

    def measured(self, rules: Sequence[Sequence[int]]) -> list[Measured]:
        """Measure rules by the values of the target; empty if its levels are exact."""
        if self.coding.centre is None:
            return []
        return functools.reduce(together, self.table.gather(self._map(_measure, list(rules))))

    def cells(self, columns: Sequence[int]) -> Cells:
        """Count the rows of each stratum, codes of some columns of the language, and level of the target."""
        return Cells.merged(self.table.gather(self._map(_cells, list(columns))))

    def held(self, strata: Strata, language: Language) -> ShardedRows:
        """Return the rows in strata divided by some of their columns, and without these in the language."""
        bins = dict(zip(self.language.columns, self.coding.bins, strict=True))
        coding = replace(
            self.coding,
            bins=[bins[name] for name in language.columns],
            language=language,
            strata=strata,
        )
        return replace(self, language=language, strata=strata, coding=coding)

    def within(self, table: Table, strata: Strata) -> ShardedRows:
        """Return the rows of a table that has all of these rows or some, in strata that were formed on it."""
        assert isinstance(table, DistributedTable)
        coding = replace(self.coding, observing=table.observing, strata=strata)
        return replace(self, table=table, strata=strata, coding=coding)

    def fetch(self) -> Batch:
        """Return all rows as arrays."""
        return merging.concatenate(self.table.gather(self._map(_encode)))

    def pack(self) -> RemoteTable:
        """Pack the rows into bits, one shard for each partition."""
        messenger = Messenger(self.table.client, self._map(_pack, numbered=True))
        language = self.language
        return RemoteTable(
            messenger.ask,
            language.column_index,
            language.low,
            language.high,
            self.strata.n_strata,
            _QUERIES,
            messenger.stop_waiting,
            levels=self.comparison.levels,
            missing=self.comparison.missing,
        )

    def digest(self) -> int:
        """Return an order-independent 128-bit hash of the rows."""
        return functools.reduce(merging.add_digests, self.table.gather(self._map(_digest)), 0)


class Messenger:
    """Sends the queries of many threads to the shards, in batches, and adds up the answers."""

    def __init__(self, client: Any, shards: Sequence[Any]) -> None:
        self._client, self._shards = client, list(shards)
        self._places: dict[str, list[str]] = {}
        self._waiting: queue.SimpleQueue[tuple[Query, Future[Any]] | None] = queue.SimpleQueue()
        self._lock, self._health = threading.Lock(), threading.Lock()
        self._checked_at, self._idle_since, self._patience = -math.inf, math.inf, _WITHOUT_WORKERS
        for _ in range(_BATCHES):
            threading.Thread(target=_carry, args=(self._waiting, weakref.ref(self)), daemon=True).start()
        weakref.finalize(self, _dismiss, self._waiting)

    def ask(self, query: NDArray[np.uint32], length: int) -> NDArray[np.uint64]:
        """Return the answer of all rows to one query."""
        answer: Future[Any] = Future()
        self._waiting.put(((query, length), answer))
        while True:
            # With a timeout, because lost workers do not answer.
            try:
                found: NDArray[np.uint64] = answer.result(_POLL)
                return found
            except TimeoutError:
                pass
            self._check_cluster()

    def stop_waiting(self) -> None:
        """Stop waiting for workers if there are none."""
        self._patience = 0.0

    def deliver(self, queries: Sequence[Query]) -> list[NDArray[np.uint64]]:
        """Answer a batch of queries; if a worker dies, retry where its shards are rebuilt."""
        with self._converting_errors():
            return self._deliver(queries)

    def _deliver(self, queries: Sequence[Query]) -> list[NDArray[np.uint64]]:
        for _ in range(_ATTEMPTS):
            places = self._find_shards()
            # Not as tasks, which take several times longer to schedule; there are thousands of batches.
            found = self._client.run(_ask_worker, places, queries, workers=list(places), on_error="return")
            failed = [answer for answer in found.values() if isinstance(answer, BaseException)]
            if not failed:
                return _total(list(found.values()), queries)
            for error in failed:
                if not isinstance(error, (KeyError, OSError)):  # neither a lost shard nor a lost connection
                    raise error
            with self._lock:
                self._places = {}
            time.sleep(_RETRY)
        raise _cluster_error(f"does not answer: {failed[0]!r}")

    def _find_shards(self) -> dict[str, list[str]]:
        """Return the keys of the shards on each worker."""
        with self._lock:
            while not self._places:
                self._await_shards()
                if failed := [shard for shard in self._shards if shard.status == "error"]:
                    gather(self._client, failed)
                self._places = self._by_worker(self._client.who_has(self._shards))
            return self._places

    def _await_shards(self) -> None:
        """Wait until all shards are packed; Dask rebuilds those of lost workers."""
        import distributed

        while True:
            try:
                with self._client.as_current():
                    distributed.wait(self._shards, timeout=_POLL)
                return
            except TimeoutError:
                pass
            self._check_cluster()

    def _check_cluster(self) -> None:
        """Raise an error if the cluster is closed or has had no workers for too long."""
        with self._health, self._converting_errors():
            if self._is_closed():
                raise _cluster_error("was closed")
            now = time.monotonic()
            if now - self._checked_at >= _POLL:  # one thread checks for all
                self._checked_at = now
                workers = self._client.scheduler_info(n_workers=-1)["workers"]
                self._idle_since = math.inf if workers else min(self._idle_since, now)
            if now - self._idle_since >= self._patience:
                raise _cluster_error("has lost all its workers")

    def _is_closed(self) -> bool:
        return self._client.status in ("closing", "closed") or any(each.status == "cancelled" for each in self._shards)

    @contextmanager
    def _converting_errors(self) -> Iterator[None]:
        """Convert errors that Dask raises on shutdown."""
        try:
            yield
        except CausalRulesError:
            raise
        except (Exception, asyncio.CancelledError) as error:
            if self._is_closed():
                raise _cluster_error("was closed") from error
            raise _cluster_error(f"does not answer: {type(error).__name__}: {error}") from error

    def _by_worker(self, where: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """Group the shards by worker; return an empty dict if one has just been lost."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        places: dict[str, list[str]] = {}
        for shard in self._shards:
            address = next((found for found in where.get(shard.key, ()) if found in workers), None)
            if address is None:
                time.sleep(_RETRY)
                return {}
            places.setdefault(address, []).append(shard.key)
        return places


def _cluster_error(what: str) -> DataError:
    return DataError(f"the cluster {what}; start it and run the search again, from a checkpoint if there is one")


def _carry(waiting: queue.SimpleQueue[Any], messenger: weakref.ref[Messenger]) -> None:
    while True:
        batch = [waiting.get()]
        while batch[-1] is not None:
            try:
                batch.append(waiting.get_nowait())
            except queue.Empty:
                break
        asked = [item for item in batch if item is not None]
        carrier = messenger()
        if carrier is None:
            return
        try:
            answers = carrier.deliver([query for query, _ in asked]) if asked else []
            for (_, future), answer in zip(asked, answers, strict=True):
                future.set_result(answer)
        except BaseException as error:
            for _, future in asked:
                future.set_exception(error)
        if len(asked) < len(batch):
            return
        del carrier


def _dismiss(waiting: queue.SimpleQueue[Any]) -> None:
    for _ in range(_BATCHES):
        waiting.put(None)
