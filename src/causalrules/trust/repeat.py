"""The same search many times, on all cores, with results in order, progress on the terminal and a clean stop."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from causalrules import search
from causalrules.exceptions import DataError, OptionError
from causalrules.problem import Problem
from causalrules.progress import watching
from causalrules.result import Question, RuleSet
from causalrules.search import Found, SearchOptions

T = TypeVar("T")
Watcher = Callable[[int, int], None]
_AHEAD = 4


class _StoppedError(Exception):
    """Ends a search whose result nobody waits for any more."""


class Searcher:
    """Searches of one thread each that end at once when the loop around them ends."""

    def __init__(self) -> None:
        self.stopped = threading.Event()

    def __call__(self, problem: Problem, options: SearchOptions, floor: float = -np.inf) -> Found:
        """Search; the core lets other threads run meanwhile."""
        return search.run(problem.pack(), replace(options, n_jobs=1), problem.n_rows, floor=floor, watch=self._watch)

    def _watch(self, _: object) -> None:
        if self.stopped.is_set():
            raise _StoppedError


def in_order(
    work: Callable[[Searcher, int], T], times: int, n_jobs: int, label: str, progress: bool | Watcher | None
) -> Iterator[T]:
    """Yield work(searcher, 0), work(searcher, 1), …; whoever stops listening stops the work."""
    searcher = Searcher()
    threads = SearchOptions(n_jobs=n_jobs).threads
    executor = ThreadPoolExecutor(threads)
    waiting: deque[Future[T]] = deque()
    try:
        with watching(progress, partial(_bar, label, times)) as watch:
            submitted = 0
            for done in range(times):
                while submitted < min(times, done + _AHEAD * threads):
                    waiting.append(executor.submit(work, searcher, submitted))
                    submitted += 1
                yield waiting.popleft().result()
                if watch is not None:
                    watch(done + 1, times)
    finally:
        searcher.stopped.set()
        executor.shutdown(cancel_futures=True)


_PURPOSES = ("permutation", "calibration", "split", "sample")


def generator(seed: int, purpose: str, place: int = 0) -> np.random.Generator:
    """The random numbers of one repetition: the same on any number of threads, others for every purpose."""
    # Counted from 1: numpy takes [5] and [5, 0] for the same seed.
    return np.random.default_rng([seed, 1 + _PURPOSES.index(purpose), 1 + place])


def settled(rules: RuleSet, what: str) -> Problem:
    """The coded table behind the rules."""
    if rules.problem is None:
        raise DataError(
            f"{what} searches the data again, but this result was read from a file and has none; "
            "call discover() on the table and then this"
        )
    return rules.problem


def options_of(question: Question, **changes: Any) -> SearchOptions:
    """The options that the rules were found with, for a search that is exact."""
    return SearchOptions.of(question, alpha=1.0, **changes)


def between(name: str, value: Any) -> float:
    """The value, if it lies between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 < value < 1:
        raise OptionError(f"{name} = {value!r}: give a number between 0 and 1, such as 0.5")
    return float(value)


@contextmanager
def _bar(label: str, times: int) -> Iterator[Watcher]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=times)
        yield lambda done, _: bar.update(task, completed=done)
