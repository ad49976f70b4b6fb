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

from causalrules.exceptions import DataError, OptionError
from causalrules.result import similarity as grouping
from causalrules.result.rules import Question, RuleSet
from causalrules.search import run as search
from causalrules.search.core import Packed
from causalrules.search.deadline import Deadline
from causalrules.search.problem import Problem
from causalrules.search.progress import watching
from causalrules.search.run import Found, SearchOptions

T = TypeVar("T")
Watcher = Callable[[int, int], None]
_AHEAD = 4


class OutOfTimeError(OptionError):
    """The time limit left too little to say anything."""


class CutShortError(Exception):
    """A search that the time limit ended: what it would have found is not known."""


class _StoppedError(Exception):
    """Ends a search whose result nobody waits for any more."""


class Searcher:
    """Searches of one thread each that end at once when the loop around them ends, or with the time limit."""

    def __init__(self, deadline: Deadline | None = None) -> None:
        self.stopped = threading.Event()
        self.deadline = Deadline.after(None) if deadline is None else deadline

    def __call__(self, problem: Problem, options: SearchOptions, floor: float = -np.inf) -> Found:
        """Search; the core lets other threads run meanwhile."""
        return self._search(problem.pack(), problem.n_rows, options, floor)

    def listed(self, problem: Problem, question: Question, **changes: Any) -> list[tuple[int, ...]]:
        """The conditions of each rule in the list that the question has on this table."""
        options = options_of(question, **changes)
        if question.similarity is None:
            return [conditions for _, conditions in self(problem, options).rules]
        packed = problem.pack()
        run = partial(self._search, packed, problem.n_rows)
        # The searches keep the time limit themselves: a list that it made shorter is not the list.
        return grouping.look_for_ideas(packed, options, question.similarity, run, Deadline.after(None)).conditions

    def _search(self, packed: Packed, n_rows: int, options: SearchOptions, floor: float = -np.inf) -> Found:
        options = replace(options, n_jobs=1, time_limit=self.deadline.left())
        found = search.run(packed, options, n_rows, floor=floor, watch=self._watch)
        if found.stopped == "interrupted":
            raise KeyboardInterrupt
        if found.stopped != "optimal":
            raise CutShortError
        return found

    def _watch(self, _: object) -> None:
        if self.stopped.is_set():
            raise _StoppedError


def in_order(
    work: Callable[[Searcher, int], T],
    times: int,
    n_jobs: int,
    label: str,
    progress: bool | Watcher | None,
    deadline: Deadline,
) -> Iterator[T]:
    """Yield work(searcher, 0), work(searcher, 1), …; whoever stops listening stops the work.

    When the time is up, nothing new is begun, and it ends with the first that was cut short, if its work lets that out.
    """
    searcher = Searcher(deadline)
    threads = SearchOptions(n_jobs=n_jobs).threads
    executor = ThreadPoolExecutor(threads)
    waiting: deque[Future[T]] = deque()

    def begin(place: int) -> T:
        if deadline.passed:
            raise _StoppedError
        return work(searcher, place)

    try:
        with watching(progress, partial(_bar, label, times)) as watch:
            submitted = 0
            for done in range(times):
                while submitted < min(times, done + _AHEAD * threads):
                    waiting.append(executor.submit(begin, submitted))
                    submitted += 1
                try:
                    finished = waiting.popleft().result()
                except (CutShortError, _StoppedError):
                    return
                yield finished
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
    try:
        share = search.number(name, value, 0, 1)
    except OptionError:
        share = 0.0
    if not 0 < share < 1:
        raise OptionError(f"{name} = {search.shown(value)}: give a number between 0 and 1, such as 0.5")
    return share


@contextmanager
def _bar(label: str, times: int) -> Iterator[Watcher]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=times)
        yield lambda done, _: bar.update(task, completed=done)
