"""Run many searches on all cores, with results in order, progress, a time limit and a clean stop."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

from causalrules.exceptions import DataError, OptionError
from causalrules.options import Threads
from causalrules.question import Question
from causalrules.search import run as search_run
from causalrules.search.adjusted import Adjusted
from causalrules.search.core import Packed
from causalrules.search.deadline import Deadline
from causalrules.search.ladder import Rule, Step, climb, hold
from causalrules.search.margins import betas
from causalrules.search.nearest import CLOSE, best_ratio, nearest, ratio_of
from causalrules.search.permutations import Permutations, begin_walk, can_share
from causalrules.search.problem import Problem
from causalrules.search.progress import count_bar, watching
from causalrules.search.rows import Comparison
from causalrules.search.run import Found

if TYPE_CHECKING:
    from causalrules.result.result import Result

T = TypeVar("T")
Watcher = Callable[[int, int], None]
# Searches submitted ahead, per thread.
_AHEAD = 4
# Seconds per step of a walk.
_STEP = 0.1
# Tables to search together at first, and if a time limit may interrupt them.
_FEW = 8
# Maximum rows of all tables searched together.
_MOST_OUTCOMES = 20_000_000


class OutOfTimeError(OptionError):
    """The time limit passed before there was any result."""


class CutShortError(Exception):
    """The time limit interrupted a search, so its result is unknown."""


class _StoppedError(Exception):
    """Ends a search whose result is no longer needed."""


class Listed(NamedTuple):
    """A rule of a list, as indices of conditions in the first problem, and the problem in which it was found."""

    conditions: tuple[int, ...]
    problem: Adjusted


class Searchable(Protocol):
    """The interface of a problem, or of one of its adjustments, that a search needs."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def comparison(self) -> Comparison:
        """How covered rows are compared with the others."""

    def pack(self) -> Packed:
        """Return the rows for the search."""


class Searcher:
    """Single-threaded searches that stop with the surrounding loop or at the deadline; `nodes` counts their nodes."""

    def __init__(self, deadline: Deadline | None = None, stopped: threading.Event | None = None) -> None:
        self.stopped = threading.Event() if stopped is None else stopped
        self.deadline = Deadline.after(None) if deadline is None else deadline
        self.nodes = 0

    def __call__(
        self, problem: Searchable, question: Question, floor: float = -np.inf, margin_scale: float = 1.0
    ) -> Found:
        """Search. The core releases the GIL."""
        return self._search(problem.pack(), problem, question, floor, margin_scale)

    def listed(self, problem: Adjusted, question: Question, **changes: Any) -> list[Listed]:
        """Return the k rules of the list that the question asks for.

        If each rule adds, steps continue until there are k rules, whether they stand out or not.
        """
        question = exact(question, **changes)
        if not question.is_stepwise or question.k == 1:
            return [Listed(conditions, problem) for conditions in self._best(problem, question)]

        def search(own: Problem, above: Sequence[Rule]) -> Step:
            beta = question.beta
            if isinstance(beta, tuple):
                beta = betas(own.language, question.max_length, question.error_rate)
            one = question.changed(k=1, beta=beta)
            rules = tuple((0.0, conditions) for conditions in self._best(own.only, one))
            progress = search_run.Progress(0.0, None, 0.0, 0.0, 0)
            return Step(own, one, Found(rules, progress, True, "optimal", ()), stands_out=bool(rules))

        def following(above: Sequence[Rule]) -> Problem | None:
            held = hold(problem, above)
            # Where rules have their own controls, no set of the columns that are left may have any.
            return None if held is None or held.language.allowed_numbers == () else Problem((held,))

        steps = climb(Problem((problem,)), question.k, search, following)
        return [
            Listed(problem.language.numbers(step.rule), step.problem.first) for step in steps if step.rule is not None
        ]

    def _best(self, problem: Adjusted, question: Question) -> list[tuple[int, ...]]:
        """Return the conditions of the k best rules, or of those nearest to standing out."""
        packed = problem.pack()
        run = partial(self._search, packed, problem)
        ratio = partial(ratio_of, packed, problem.comparison, question)
        found = nearest(ratio, question, run(question), run)
        return [conditions for _, conditions in found.rules]

    def best_ratio(self, problem: Adjusted, question: Question, least: float) -> float:
        """Return the largest effect over margin; −inf if below `least`."""
        packed = problem.pack()
        run = partial(self._search, packed, problem)
        ratio = partial(ratio_of, packed, problem.comparison, question)
        return best_ratio(ratio, exact(question), run, least)

    def best_ratios(self, problems: Sequence[Adjusted], question: Question, least: float) -> list[float]:
        """Return the largest effect over margin in each of some tables; −inf if below `least`."""
        shared = self.shared_ratios(problems, question, least - CLOSE)
        return [self.best_ratio(each, question, least) for each in problems] if shared is None else shared

    def shared_ratios(self, problems: Sequence[Adjusted], question: Question, least: float) -> list[float] | None:
        """Return the largest effect over margin in each table if one walk can serve them all; else None."""
        if not can_share(problems, question):
            return None
        return self.walked(begin_walk(problems[0], [each.outcome for each in problems], question, least))

    def walked(self, walk: Permutations) -> list[float]:
        """Finish the walk and return the largest effect over margin in each table."""
        while not walk.step(_STEP):
            if self.stopped.is_set():
                raise _StoppedError
            if self.deadline.passed:
                raise CutShortError
        return [float(ratio) for ratio in walk.ratios()]

    def _search(
        self, packed: Packed, problem: Searchable, question: Question, floor: float = -np.inf, margin_scale: float = 1.0
    ) -> Found:
        question = question.changed(n_jobs=1, time_limit=self.deadline.left())
        scale = problem.comparison.scale
        found = search_run.run(
            packed, question, problem.n_rows, floor=floor, margin_scale=margin_scale, scale=scale, watch=self._watch
        )
        self.nodes += found.progress.nodes
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
    """Yield work(searcher, 0), work(searcher, 1), …; closing the iterator stops the work.

    No work is started after the deadline. The iterator ends at the first CutShortError that `work` raises.
    """

    def one(searcher: Searcher, places: range) -> list[T]:
        return [work(searcher, places[0])]

    return in_blocks(one, times, 1, n_jobs, label, progress, deadline)


def in_blocks(
    work: Callable[[Searcher, range], Sequence[T]],
    times: int,
    size: int,
    n_jobs: int,
    label: str,
    progress: bool | Watcher | None,
    deadline: Deadline,
) -> Iterator[T]:
    """Yield what `in_order` yields, with up to `size` repetitions per call of `work`; fewer at first, for progress."""
    searcher = Searcher(deadline)
    threads = search_run.threads(Threads()("n_jobs", n_jobs))
    executor = ThreadPoolExecutor(threads)
    waiting: deque[Future[Sequence[T]]] = deque()
    blocks = list(_growing(times, size))

    def begin(places: range) -> Sequence[T]:
        if deadline.passed:
            raise _StoppedError
        return work(searcher, places)

    try:
        with watching(progress, partial(count_bar, label, times)) as watch:
            submitted = 0
            for number, places in enumerate(blocks):
                while submitted < min(len(blocks), number + _AHEAD * threads):
                    waiting.append(executor.submit(begin, blocks[submitted]))
                    submitted += 1
                try:
                    finished = waiting.popleft().result()
                except (CutShortError, _StoppedError):
                    return
                for done, each in zip(places, finished, strict=True):
                    yield each
                    if watch is not None:
                        watch(done + 1, times)
    finally:
        searcher.stopped.set()
        executor.shutdown(cancel_futures=True)


def _growing(times: int, size: int) -> Iterator[range]:
    """Yield ranges that make up range(times), each twice as long as the one before up to `size`."""
    start, length = 0, min(size, _FEW)
    while start < times:
        yield range(start, min(start + length, times))
        start, length = start + length, min(size, 2 * length)


def together(table: Adjusted, question: Question, times: int, n_jobs: int, deadline: Deadline) -> int:
    """Return how many tables with these rows to search together.

    Fewer if a time limit may interrupt them all, or if their outcomes would take much memory.
    """
    if not can_share([table], question):
        return 1
    most = Permutations.MOST if deadline.left() is None else _FEW
    each = -(-times // search_run.threads(Threads()("n_jobs", n_jobs)))
    return max(1, min(most, each, _MOST_OUTCOMES // table.n_rows))


_PURPOSES = ("permutation", "calibration", "split", "sample", "simultaneous")


def generator(seed: int, purpose: str, place: int = 0) -> np.random.Generator:
    """Return the random generator of one repetition, independent of threads and of other purposes."""
    # Count from 1: NumPy treats [5] and [5, 0] as the same seed.
    return np.random.default_rng([seed, 1 + _PURPOSES.index(purpose), 1 + place])


def require_rows(rules: Result, what: str) -> None:
    """Raise an error unless the coded rows of the rules are available."""
    if rules.problem is None:
        raise DataError(
            f"{what} searches the data again, but this result was read from a file, without its rows; "
            "call discover() on the table first"
        )


def require_problem(rules: Result, what: str) -> Adjusted:
    """Return the coded table of the rules."""
    require_rows(rules, what)
    assert rules.problem is not None
    return rules.problem.only


def exact(question: Question, **changes: Any) -> Question:
    """Return the question for an exact search."""
    return question.changed(alpha=1.0, **changes)
