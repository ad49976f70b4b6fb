"""The search (paper §4), driven from here: options in, steps of the core, and what is proven when it ends."""

from __future__ import annotations

import functools
import math
import numbers
import operator
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from causalrules import estimators
from causalrules.exceptions import DataError, OptionError
from causalrules.search.core import Packed, Status
from causalrules.text import shorten

if TYPE_CHECKING:
    from causalrules.result.rules import Question
    from causalrules.search.checkpoint import Checkpoint

_FIRST_STEP = 0.02
# The longest list of rules that can be asked for.
MOST_RULES = 1_000_000
# What the core counts with; no table has as many propositions.
_LONGEST = 2**31
_MOST_THREADS = 1024
# The core compares values to 2⁻³⁶; one that it has rounded may be half of that more.
_ROUNDING = 2.0**-37


@dataclass(frozen=True)
class SearchOptions:
    """What to look for and how long."""

    k: int = 10
    beta: float = 2.0
    alpha: float = 1.0
    max_length: int | None = 4
    min_coverage: float = 0.0
    estimator: str = "reliable"
    redundant: bool = True
    n_jobs: int = -1
    time_limit: float | None = None

    def __post_init__(self) -> None:
        # Numbers of other types are kept as Python's own, so that equal options are written and compared alike.
        settle = functools.partial(object.__setattr__, self)
        settle("k", whole("k", self.k, least=1, most=MOST_RULES))
        settle("beta", number("beta", self.beta, 0, 1000))
        settle("alpha", number("alpha", self.alpha, 0, 1, above=True))
        if self.max_length is not None:
            settle("max_length", whole("max_length", self.max_length, least=1))
        settle("min_coverage", number("min_coverage", self.min_coverage, 0, 1))
        if self.estimator not in estimators.ESTIMATORS:
            raise OptionError(
                f"no estimator {self.estimator!r}; the estimators are {shorten(list(estimators.ESTIMATORS))}"
            )
        threads = _integer(self.n_jobs)
        if not threads:
            raise OptionError(f"n_jobs = {shown(self.n_jobs)}: give a number of threads, or -1 for all cores")
        settle("n_jobs", threads)
        if self.time_limit is not None:
            settle("time_limit", number("time_limit", self.time_limit, 0, math.inf, above=True))

    @classmethod
    def of(cls, question: Question, **changes: Any) -> SearchOptions:
        """The options that a question was asked with, and these changes; threads and time are not part of it."""
        options = cls(
            k=question.k,
            beta=question.beta,
            alpha=question.alpha,
            max_length=question.max_length,
            min_coverage=question.min_coverage,
            estimator=question.estimator,
            redundant=question.redundant,
        )
        return replace(options, **changes)

    @property
    def threads(self) -> int:
        """The number of threads that n_jobs asks for: −1 is all cores, −2 all but one, as elsewhere."""
        if self.n_jobs > 0:
            return min(self.n_jobs, _MOST_THREADS)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return max(1, cores + 1 + self.n_jobs)

    def min_rows(self, n_rows: int) -> int:
        """The fewest rows a rule may cover: the least n with n/n_rows ≥ min_coverage."""
        least = math.ceil(self.min_coverage * n_rows)
        while least > 0 and (least - 1) / n_rows >= self.min_coverage:
            least -= 1
        return max(1, least)


def _integer(value: Any) -> int | None:
    """The value as Python's integer, if it is one of any library's."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """The value as Python's integer, if it is a whole number within these limits; a library's own is one too."""
    whole = _integer(value)
    if whole is None or whole < least or (most is not None and whole > most):
        allowed = f"of at least {least}" if most is None else f"from {least} to {most:,}"
        raise OptionError(f"{name} = {shown(value)}: give a whole number {allowed}")
    return whole


def number(name: str, value: Any, least: float, most: float, above: bool = False) -> float:
    """The value as Python's float, if it is a number within these limits, of whatever type."""
    try:
        known = isinstance(value, (numbers.Real, Decimal)) and not isinstance(value, bool)
        number = float(value) if known else math.nan
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    except ValueError:  # Decimal has a NaN that is an error to look at
        number = math.nan
    if not ((least < number if above else least <= number) and number <= most):
        allowed = f"above {least:g}" if above else f"of at least {least:g}"
        limit = f" and at most {most:g}" if most < math.inf else ""
        raise OptionError(f"{name} = {shown(value)}: give a number {allowed}{limit}")
    return number


def shown(value: Any) -> str:
    """The value for an error message."""
    try:
        return shorten([value])
    except ValueError:
        return "an integer of thousands of digits"  # which Python refuses to write


@dataclass(frozen=True)
class Progress:
    """How far a search has come: `best` is None before the first rule, `upper_bound` inf before the first bound."""

    seconds: float
    best: float | None
    upper_bound: float
    gap: float
    nodes: int


@dataclass(frozen=True)
class Found:
    """The rules as conditions' numbers, best first, and what is proven about them."""

    rules: tuple[tuple[float, tuple[int, ...]], ...]
    progress: Progress
    optimal: bool
    stopped: str
    history: tuple[Progress, ...]


def run(
    table: Packed,
    options: SearchOptions,
    n_rows: int,
    *,
    floor: float = -math.inf,
    watch: Callable[[Progress], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Found:
    """Search until it is done, the time is up, or the user interrupts; the best so far is returned in any case."""
    search = table.search(
        estimator=options.estimator,
        beta=options.beta,
        k=options.k,
        alpha=options.alpha,
        max_length=None if options.max_length is None else min(options.max_length, _LONGEST),
        min_rows=options.min_rows(n_rows),
        redundant=options.redundant,
        floor=floor,
    )
    if checkpoint is not None:
        checkpoint.resume(search)
    start = time.perf_counter()
    history: list[Progress] = []
    stopped = "optimal"
    step = _FIRST_STEP
    while True:
        try:
            left = math.inf if options.time_limit is None else options.time_limit - (time.perf_counter() - start)
            try:
                status = search.step(max(0.0, min(step, left)), options.threads)
            except DataError:  # whoever holds the rows does not answer; what is known is not lost
                if checkpoint is not None:
                    checkpoint.save(search, at_once=True)
                raise
            history.append(_progress(status, time.perf_counter() - start))
            if watch is not None:
                watch(history[-1])
            if checkpoint is not None:
                checkpoint.save(search)
        except KeyboardInterrupt:
            status = search.step(0.0, 1)
            history.append(_progress(status, time.perf_counter() - start))
            stopped = "interrupted"
            break
        if status.done:
            break
        if options.time_limit is not None and history[-1].seconds >= options.time_limit:
            stopped = "time limit"
            break
        step = search.patience
    if checkpoint is not None:
        checkpoint.save(search, at_once=True)
    return Found(
        rules=tuple(search.rules()),
        progress=history[-1],
        optimal=status.done and history[-1].gap == 0,
        stopped=stopped,
        history=tuple(history),
    )


def _progress(status: Status, seconds: float) -> Progress:
    unexplored = status.unexplored
    best = -math.inf if status.best is None else status.best
    if unexplored is None:
        upper_bound, gap = best, 0.0
    else:
        # Before anything was expanded the core knows no bound; no effect is above 1.
        unexplored = min(unexplored, 1.0)
        upper_bound = max(best, min(unexplored + _ROUNDING, 1.0))
        gap = math.inf if status.kth is None else max(0.0, unexplored - status.kth)
    return Progress(seconds, status.best, upper_bound, gap, status.nodes)
