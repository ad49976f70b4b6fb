"""Rows on a Dask cluster: each partition is packed once and stays on its worker, and one search asks them all.

Counts of disjoint sets of rows add up, so the search that decides is the one that runs on a single machine.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import functools
import math
import queue
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules.data.table import MOST_ROWS, Ends, Histogram, Kind, Table, Values, read, too_many_rows
from causalrules.exceptions import CausalRulesError, DataError
from causalrules.language.propositions import Language, Strata
from causalrules.search import merging
from causalrules.search.core import Batch, PackedTable, Part, RemoteTable, put_together
from causalrules.search.rows import StoredTable, require_memory, runs
from causalrules.text import shorten

# Threads of the search, each of which waits for an answer: as many questions travel together.
_QUESTIONS = 32
# While one batch of questions is answered, another is under way.
_BATCHES = 2
# How often a question is asked again while the cluster loses workers, and how many seconds lie between.
_ATTEMPTS = 100
_PATIENCE = 0.2
# How many seconds a cluster may be without workers, and how often it is looked after meanwhile.
_WITHOUT_WORKERS = 10.0
_SLICE = 0.5
_EXACT = 2**53

Question = tuple[NDArray[np.uint32], int]


@dataclass(frozen=True)
class _Outline:
    """What the driver knows of one partition."""

    kinds: dict[str, Kind]
    forms: dict[str, str]
    unusable: dict[str, str]
    notes: tuple[str, ...]
    n_values: dict[str, int]
    n_all: int
    n_records: int
    n_rows: int
    n_dropped: int


@dataclass(frozen=True)
class _Summary:
    outline: _Outline
    histograms: dict[str, Histogram]


@dataclass(frozen=True)
class _Bins:
    """The bins of a column, by values instead of positions: a partition need not have all the values."""

    ends: Ends
    uppers: NDArray[Any] | None
    labels: tuple[Any, ...] | None

    @classmethod
    def of(cls, kind: Kind, histogram: Histogram, ends: Ends) -> _Bins:
        """The bins that these ends mean for the whole table."""
        if kind in (Kind.TEXT, Kind.BOOLEAN):
            return cls(ends, None, tuple(histogram.values))
        return cls(ends, np.asarray(histogram.values.sortable[ends]), None)

    def codes(self, table: Table, name: str) -> NDArray[np.int32]:
        """The codes of a partition's rows."""
        if self.uppers is not None:
            return table.binned(name, self.uppers)
        values = table.histogram(name).values
        place = {label: position for position, label in enumerate(self.labels or ())}
        bins = np.searchsorted(self.ends, np.array([place[value] for value in values], np.intp))
        return np.append(bins, -1).astype(np.int32)[table.codes(name, np.arange(len(values)))]


@dataclass(frozen=True)
class _Coding:
    """How the rows of a partition become codes."""

    target: str
    weights: str | None
    outcome: _Bins
    happens: NDArray[np.bool_]
    controls: dict[str, _Bins]
    columns: dict[str, _Bins]
    language: Language
    strata: Strata

    def batch(self, part: Any) -> Batch:
        """The coded rows of a partition."""
        table = read(part).observed(self.target, self.weights)
        controls = {name: bins.codes(table, name) for name, bins in self.controls.items()}
        weights = table.weights_array
        return Batch(
            self.strata.index(controls) if controls else np.zeros(table.n_records, np.int32),
            self.happens[self.outcome.codes(table, self.target)].astype(np.uint8),
            None if weights is None else weights.astype(np.uint64),
            [_smaller(bins.codes(table, name), len(bins.ends)) for name, bins in self.columns.items()],
        )


def _smaller(codes: NDArray[np.int32], n_codes: int) -> NDArray[Any]:
    return codes.astype(np.int8 if n_codes < 2**7 else np.int16 if n_codes < 2**15 else np.int32)


class Shard:
    """The packed rows of one partition, on the worker that packed them."""

    def __init__(self, number: int, batch: Batch, language: Language, n_strata: int) -> None:
        merged = merging.merge(batch)
        require_memory(merging.places(merged), language)
        weights = merged.weights
        packed = PackedTable(
            language.column_index,
            language.low,
            language.high,
            len(language.columns),
            n_strata,
            [merged],
            1 if weights is None or not len(weights) else int(weights.max()),
        )
        self._part = Part(packed, number)

    def answer(self, question: Question) -> NDArray[np.uint64]:
        """What the partition's rows have to say."""
        return self._part.answer(*question)

    def __reduce__(self) -> Any:
        raise TypeError("a shard stays where it was packed; it is packed anew elsewhere")


# What the workers run. Dask finds these by name, so they are functions of the module.


def _summarise(part: Any, number: int, target: str, weights: str | None) -> _Summary:
    try:
        table = read(part)
        known = target in table.kinds and (weights is None or weights in table.kinds)
        observed = table.observed(target, weights) if known else table
        histograms = {name: observed.histogram(name) for name in table.names}
    except DataError as error:
        raise DataError(f"partition {number}: {error}") from None
    outline = _Outline(
        dict(table.kinds),
        {name: _form(table.kinds[name], histogram.values) for name, histogram in histograms.items()},
        {name: str(reason) for name, reason in table.unusable.items()},
        table.notes,
        {name: len(histogram.values) for name, histogram in histograms.items()},
        table.n_rows,
        observed.n_records,
        observed.n_rows,
        observed.n_dropped,
    )
    return _Summary(outline, histograms)


def _form(kind: Kind, values: Values) -> str:
    """What the values are, where those of another form do not compare with them; numbers of all types do."""
    if kind not in (Kind.DATE, Kind.TEXT) or not len(values):
        return kind
    first = values[0]
    zoned = isinstance(first, dt.datetime) and first.tzinfo is not None
    return {"str": "text", "timedelta": "duration"}.get(
        name := type(first).__name__, name
    ) + " with a time zone" * zoned


def _outline(summary: _Summary) -> _Outline:
    return summary.outline


def _histogram(summary: _Summary, name: str) -> Histogram:
    return summary.histograms[name]


def _distinct(part: Any, target: str, weights: str | None, bins: Mapping[str, _Bins]) -> NDArray[np.int32]:
    table = read(part).observed(target, weights)
    codes = [each.codes(table, name) for name, each in bins.items()]
    key = np.zeros(table.n_records, np.intp)
    for column, each in zip(codes, bins.values(), strict=True):
        key = np.unique(key * (len(each.ends) + 1) + column, return_inverse=True)[1]
    first = np.unique(key, return_index=True)[1]
    return np.stack([column[first] for column in codes])


def _code(part: Any, target: str, weights: str | None, name: str, bins: _Bins) -> NDArray[np.int32]:
    return bins.codes(read(part).observed(target, weights), name)


def _encode(part: Any, coding: _Coding) -> Batch:
    return coding.batch(part)


def _pack(part: Any, number: int, coding: _Coding) -> Shard:
    return Shard(number, coding.batch(part), coding.language, coding.strata.n_strata)


def _digest(part: Any, coding: _Coding) -> int:
    return merging.digest([coding.batch(part)])


def _answers(shards: Sequence[Shard], questions: Sequence[Question]) -> list[NDArray[np.uint64]]:
    return [put_together(question[0], (shard.answer(question) for shard in shards)) for question in questions]


async def _ask_worker(
    places: Mapping[str, Sequence[str]], questions: Sequence[Question], dask_worker: Any
) -> list[NDArray[np.uint64]]:
    """The answers of a worker's shards, in as many threads as it has; a KeyError if it has lost one of them."""
    shards = [dask_worker.data[key] for key in places[dask_worker.address]]
    n_threads = min(len(shards), dask_worker.state.nthreads)
    loop = asyncio.get_running_loop()
    # In threads, because a worker that does not answer its scheduler for long is taken for dead.
    calls = [loop.run_in_executor(None, _answers, shards[start::n_threads], questions) for start in range(n_threads)]
    return _total(await asyncio.gather(*calls), questions)


def _total(parts: Sequence[Sequence[NDArray[np.uint64]]], questions: Sequence[Question]) -> list[NDArray[np.uint64]]:
    return [put_together(question[0], [part[index] for part in parts]) for index, question in enumerate(questions)]


class _Source:
    """What `Table` asks of a source; the columns are on the workers."""

    def __init__(self, outlines: Sequence[_Outline]) -> None:
        self.n_rows = sum(outline.n_all for outline in outlines)
        self.library = "pandas"
        self.unusable = {name: reason for outline in outlines for name, reason in outline.unusable.items()}
        self.notes = list(dict.fromkeys(note for outline in outlines for note in outline.notes))
        self.kinds = {name: _one_kind(name, outlines) for name in outlines[0].kinds if name not in self.unusable}

    def column(self, name: str) -> Any:
        raise DataError(f"column {name!r} is on the cluster; compute() the table to have it here")


def _one_kind(name: str, outlines: Sequence[_Outline]) -> Kind:
    """The kind of a column; a partition in which it has no values has no say."""
    found: dict[tuple[Kind, str], int] = {}
    for number, outline in enumerate(outlines):
        if name not in outline.kinds:
            raise DataError(f"partition {number} has no column {name!r}, which partition 0 has; give it to all of them")
        if outline.n_values[name]:
            found.setdefault((outline.kinds[name], outline.forms[name]), number)
    if len(found) > 1:
        ((_, form), number), ((_, other), other_number) = list(found.items())[:2]
        raise DataError(
            f"column {name!r} holds {form} values in partition {number} and {other} values in partition "
            f"{other_number}; give it one type with astype"
        )
    return next(iter(found), (outlines[0].kinds[name], ""))[0]


class DistributedTable(StoredTable):
    """A Dask DataFrame, of which only summaries come to the driver."""

    def __init__(self, frame: Any, client: Any, target: str, weights: str | None) -> None:
        self._frame, self._client, self._asked = frame, client, (target, weights)
        self._summaries = self._map(_summarise, frame, target, weights, numbered=True)
        outlines = self._gather(self._client.map(_outline, self._summaries, pure=False))
        super().__init__(_Source(outlines))
        self._outlines = outlines

    def observed(self, target: str, weights: str | None = None) -> DistributedTable:
        """The rows whose target is present, as they were summarised."""
        self.require(target)
        if (target, weights) != self._asked:
            return DistributedTable(self._frame, self._client, target, weights).observed(target, weights)
        self.n_records = sum(outline.n_records for outline in self._outlines)
        self.n_rows = sum(outline.n_rows for outline in self._outlines)
        self.n_dropped = sum(outline.n_dropped for outline in self._outlines)
        if self.n_rows + self.n_dropped > MOST_ROWS:
            raise DataError(too_many_rows(str(weights)))
        return self

    def _map(self, function: Callable[..., Any], frame: Any, *arguments: Any, numbered: bool = False) -> list[Any]:
        """Futures of the function for each partition, which is read for it and not kept."""
        import dask

        parts = frame.to_delayed()
        call = dask.delayed(function, pure=False)
        # Arguments travel once, not once for each partition, and are not looked into.
        shared = [dask.delayed(argument, pure=False, traverse=False) for argument in arguments]
        tasks = [call(part, number, *shared) if numbered else call(part, *shared) for number, part in enumerate(parts)]
        futures: list[Any] = self._client.compute(tasks)
        return futures

    def _gather(self, futures: Sequence[Any]) -> list[Any]:
        return gathered(self._client, futures)

    def histogram(self, name: str) -> Histogram:
        """The distinct values of a column, with the number of rows of each and of the missing ones."""
        if name not in self._histograms:
            self.require(name)
            parts = self._gather([self._client.submit(_histogram, each, name, pure=False) for each in self._summaries])
            self._histograms[name] = combine(name, self.kinds[name], parts)
        return self._histograms[name]

    def _bins(self, name: str, ends: Ends) -> _Bins:
        return _Bins.of(self.kinds[name], self.histogram(name), np.asarray(ends))

    def codes(self, name: str, ends: Ends) -> NDArray[np.int32]:
        """The bin of each row: `ends` are the positions, in the histogram, of each bin's last value."""
        parts = self._map(_code, self._frame, *self._asked, name, self._bins(name, ends))
        return np.concatenate(self._gather(parts))

    def combinations(self, ends: Mapping[str, Ends]) -> dict[str, NDArray[np.int32]]:
        """Rows of codes, one array for each column, among which is every combination that occurs."""
        if not ends:
            return {}
        bins = {name: self._bins(name, column_ends) for name, column_ends in ends.items()}
        needed = [label for label in self._frame.columns if str(label) in {*ends, *self._asked}]
        parts = self._gather(self._map(_distinct, self._frame[needed], *self._asked, bins))
        return dict(zip(ends, np.concatenate(parts, axis=1), strict=True))

    def stored(self, language: Language, strata: Strata, satisfied: NDArray[np.bool_]) -> ShardedRows:
        """The rows as they will be searched, on their workers."""
        target, weights = self._asked
        ends = runs(satisfied)
        coding = _Coding(
            target,
            weights,
            self._bins(target, ends),
            np.append(satisfied[ends], False),
            {name: self._bins(name, strata.ends[name]) for name in strata.columns},
            {name: self._bins(name, language.ends[name]) for name in language.columns},
            language,
            strata,
        )
        used = {target, weights, *strata.columns, *language.columns}
        frame = self._frame[[label for label in self._frame.columns if str(label) in used]]
        return ShardedRows(self, self._client, frame, coding)

    def shards(self, frame: Any, coding: _Coding) -> list[Any]:
        """Futures of the partitions, packed."""
        return self._map(_pack, frame, coding, numbered=True)

    def digests(self, frame: Any, coding: _Coding) -> list[int]:
        """The digests of the partitions."""
        return self._gather(self._map(_digest, frame, coding))

    def encoded(self, frame: Any, coding: _Coding) -> list[Batch]:
        """The coded rows of all partitions, here."""
        return self._gather(self._map(_encode, frame, coding))


def gathered(client: Any, futures: Sequence[Any]) -> list[Any]:
    """The results; an error of a worker's is ours, any other is one of the cluster."""
    try:
        results: list[Any] = client.gather(list(futures))
    except CausalRulesError:
        raise
    except (Exception, asyncio.CancelledError) as error:  # whatever a partition's own graph raises
        raise DataError(f"the cluster could not compute the table: {type(error).__name__}: {error}") from error
    return results


def combine(name: str, kind: Kind, parts: Sequence[Histogram]) -> Histogram:
    """The histogram of all rows, from those of disjoint sets of rows."""
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
        ranks = np.arange(len(labels), dtype=np.int32)
        return Histogram(
            Values(ranks, labels.__getitem__), np.array([rows[label] for label in labels], np.int64), n_missing
        )
    first = present[0].values
    for part in present:
        if part.values.order != first.order:
            raise DataError(
                f"column {name!r} has the categories {shorten(first.order or ())} in one partition and "
                f"{shorten(part.values.order or ())} in another; give all the same ones, in the same order"
            )
    sortable = [part.values.sortable for part in present]
    if len({array.dtype for array in sortable}) > 1:
        if any(np.abs(array.astype(np.float64)).max() > _EXACT for array in sortable):
            raise DataError(
                f"column {name!r} is of different number types in different partitions, and holds numbers that are "
                "not exact in all of them; give it one type with astype"
            )
        # Signed and unsigned integers stay integers; beside a float all are floats.
        first = next((part.values for part in present if part.values.sortable.dtype.kind == "f"), first)
        common = np.float64 if first.sortable.dtype.kind == "f" else np.int64
        sortable = [array.astype(common) for array in sortable]
    values = np.concatenate(sortable)
    order = np.argsort(values, kind="stable")
    values = values[order]
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    counts = np.add.reduceat(np.concatenate([part.counts for part in present])[order], starts)
    return Histogram(first.like(values[starts]), counts, n_missing)


@dataclass(frozen=True, eq=False)
class ShardedRows:
    """Coded rows in the memory of workers."""

    table: DistributedTable
    client: Any
    frame: Any
    coding: _Coding

    def fetch(self) -> Batch:
        """All rows, as arrays."""
        batches = self.table.encoded(self.frame, self.coding)
        weights = [batch.weights for batch in batches if batch.weights is not None]
        columns = zip(*(batch.columns for batch in batches), strict=True)
        return Batch(
            np.concatenate([batch.strata for batch in batches]),
            np.concatenate([batch.outcomes for batch in batches]),
            np.concatenate(weights) if weights else None,
            [np.concatenate(parts) for parts in columns],
        )

    def pack(self) -> RemoteTable:
        """The rows as bits, one shard for each partition."""
        messenger = Messenger(self.client, self.table.shards(self.frame, self.coding))
        language = self.coding.language
        n_strata = self.coding.strata.n_strata
        return RemoteTable(
            messenger.ask, language.column_index, language.low, language.high, n_strata, _QUESTIONS, messenger.hurry
        )

    def digest(self) -> int:
        """A number that other rows would hardly have; the order of the rows does not matter."""
        return functools.reduce(merging.add_digests, self.table.digests(self.frame, self.coding), 0)


class Messenger:
    """Takes questions from many threads to the shards, a batch of them at a time, and brings back the answers."""

    def __init__(self, client: Any, shards: Sequence[Any]) -> None:
        self._client, self._shards = client, list(shards)
        self._places: dict[str, list[str]] = {}
        self._waiting: queue.SimpleQueue[tuple[Question, Future[Any]] | None] = queue.SimpleQueue()
        self._lock, self._health = threading.Lock(), threading.Lock()
        self._looked_at, self._alone_since, self._patience = -math.inf, math.inf, _WITHOUT_WORKERS
        for _ in range(_BATCHES):
            threading.Thread(target=_carry, args=(self._waiting, weakref.ref(self)), daemon=True).start()
        weakref.finalize(self, _dismiss, self._waiting)

    def ask(self, question: NDArray[np.uint32], length: int) -> NDArray[np.uint64]:
        """The answer of all rows."""
        answer: Future[Any] = Future()
        self._waiting.put(((question, length), answer))
        while True:
            # In slices: what is asked of workers that are gone may not be answered for long.
            try:
                found: NDArray[np.uint64] = answer.result(_SLICE)
                return found
            except TimeoutError:
                pass
            self._look_after()

    def hurry(self) -> None:
        """Wait no longer for workers, if there are none."""
        self._patience = 0.0

    def deliver(self, questions: Sequence[Question]) -> list[NDArray[np.uint64]]:
        """The answers to a batch of questions; if a worker dies, they are asked again where its rows are next."""
        with self._explained():
            return self._deliver(questions)

    def _deliver(self, questions: Sequence[Question]) -> list[NDArray[np.uint64]]:
        for _ in range(_ATTEMPTS):
            places = self._find_shards()
            # Not as tasks: those take several times as long to be scheduled, and there are thousands of batches.
            found = self._client.run(_ask_worker, places, questions, workers=list(places), on_error="return")
            failed = [answer for answer in found.values() if isinstance(answer, BaseException)]
            if not failed:
                return _total(list(found.values()), questions)
            for error in failed:
                if not isinstance(error, (KeyError, OSError)):  # neither a lost shard nor a lost connection
                    raise error
            with self._lock:
                self._places = {}
            time.sleep(_PATIENCE)
        raise _gone(f"does not answer: {failed[0]!r}")

    def _find_shards(self) -> dict[str, list[str]]:
        """Which shards are on which worker."""
        with self._lock:
            while not self._places:
                self._await_shards()
                if failed := [shard for shard in self._shards if shard.status == "error"]:
                    gathered(self._client, failed)
                self._places = self._by_worker(self._client.who_has(self._shards))
            return self._places

    def _await_shards(self) -> None:
        """Wait until all shards are packed: those of a worker that is gone are packed anew from their partitions."""
        import distributed

        while True:
            try:
                with self._client.as_current():
                    distributed.wait(self._shards, timeout=_SLICE)
                return
            except TimeoutError:
                pass
            self._look_after()

    def _look_after(self) -> None:
        """An error if the cluster is gone, or has had no workers for long."""
        with self._health, self._explained():
            if self._is_closed():
                raise _gone("was closed")
            now = time.monotonic()
            if now - self._looked_at >= _SLICE:  # many wait, one asks
                self._looked_at = now
                workers = self._client.scheduler_info(n_workers=-1)["workers"]
                self._alone_since = math.inf if workers else min(self._alone_since, now)
            if now - self._alone_since >= self._patience:
                raise _gone("has lost all its workers")

    def _is_closed(self) -> bool:
        return self._client.status in ("closing", "closed") or any(each.status == "cancelled" for each in self._shards)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Whatever Dask raises when it is taken down, as an error of ours."""
        try:
            yield
        except CausalRulesError:
            raise
        except (Exception, asyncio.CancelledError) as error:
            if self._is_closed():
                raise _gone("was closed") from error
            raise _gone(f"does not answer: {type(error).__name__}: {error}") from error

    def _by_worker(self, where: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """The keys of the shards by worker; nothing if one of them has just been lost."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        places: dict[str, list[str]] = {}
        for shard in self._shards:
            address = next((found for found in where.get(shard.key, ()) if found in workers), None)
            if address is None:
                time.sleep(_PATIENCE)
                return {}
            places.setdefault(address, []).append(shard.key)
        return places


def _gone(what: str) -> DataError:
    return DataError(f"the cluster {what}; start it and ask again, from a checkpoint if there is one")


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
            answers = carrier.deliver([question for question, _ in asked]) if asked else []
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


def read_dask(frame: Any, client: Any, target: str, weights: str | None) -> DistributedTable:
    """A Dask DataFrame as a table; the client is the one given, the current one, or one of threads of this process."""
    import distributed

    if not frame.npartitions:
        raise DataError("the Dask table has no partitions")
    if client is not None:
        return DistributedTable(frame, client, target, weights)
    try:
        return DistributedTable(frame, distributed.default_client(), target, weights)
    except ValueError as error:
        if isinstance(error, DataError):
            raise
    own = distributed.Client(processes=False, dashboard_address=None, set_as_default=False)
    table = DistributedTable(frame, own, target, weights)
    weakref.finalize(table, own.close)
    return table
