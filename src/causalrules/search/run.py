"""The search (paper §4): step the core until it is done, the time limit ends or the user interrupts."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from causalrules.exceptions import DataError
from causalrules.payload import Plain
from causalrules.search.core import Packed, Status

if TYPE_CHECKING:
    from causalrules.question import Question
    from causalrules.result.rule import RuleResult
    from causalrules.search.checkpoint import Checkpoint

_FIRST_STEP = 0.02
# The core counts conditions in 32 bits; no table has more.
_LONGEST = 2**31
# The core rounds values to multiples of 2⁻³⁶; a value may exceed a bound by half of that.
_ROUNDING = 2.0**-37


@dataclass(frozen=True, repr=False)
class Progress(Plain):
    """Progress of a search: `best` is None before the first rule, `upper_bound` is inf before the first bound.

    For progress callbacks: `conditions` are the indices of the best rule's conditions, `found` the values and
    conditions of the list so far, and `rules` the same as text, for callbacks of the user. `step` is the number of the
    rule that is searched for, in a list in which each rule adds.
    """

    seconds: float
    best: float | None
    upper_bound: float
    gap: float
    nodes: int
    conditions: tuple[int, ...] = field(default=(), compare=False)
    found: tuple[tuple[float, tuple[int, ...]], ...] = field(default=(), compare=False)
    rules: tuple[tuple[float, str], ...] = field(default=(), compare=False)
    step: int = 1


@dataclass(frozen=True)
class Found:
    """The rules as values and condition indices, best first, and what is proven about them."""

    rules: tuple[tuple[float, tuple[int, ...]], ...]
    progress: Progress
    optimal: bool
    stopped: str
    history: tuple[Progress, ...]


def run(
    table: Packed,
    question: Question,
    n_rows: int,
    *,
    floor: float = -math.inf,
    margin_scale: float = 1.0,
    scale: float = 1.0,
    watch: Callable[[Progress], None] | None = None,
    checkpoint: Checkpoint | None = None,
    least_rows: int | None = None,
) -> Found:
    """Search until done, until the time limit, or until the user interrupts, and return the best rules so far.

    Parameters
    ----------
    table
        The packed rows.
    question
        The options; its `beta` is a number here.
    n_rows
        Number of rows, of which `min_coverage` is a share.
    floor
        Rules below this value are of no interest.
    margin_scale
        Factor of the margin of the pooled estimator.
    scale
        The range of the target, the unit of values in the core.
    watch
        Called with the progress after every step.
    checkpoint
        Where to save the search, and resume it from.
    least_rows
        Minimum number of rows that a rule covers; by default that of `min_coverage`.
    """
    search = table.search(
        estimator=question.estimator,
        beta=question.beta,
        k=question.k,
        alpha=question.alpha,
        max_length=None if question.max_length is None else min(question.max_length, _LONGEST),
        min_rows=min_rows(question.min_coverage, n_rows) if least_rows is None else least_rows,
        floor=floor / scale,
        margin_scale=margin_scale,
    )
    if checkpoint is not None:
        checkpoint.resume(search)
    start = time.perf_counter()
    history: list[Progress] = []
    stopped = "optimal"
    step, n_threads = _FIRST_STEP, threads(question.n_jobs)
    while True:
        try:
            left = math.inf if question.time_limit is None else question.time_limit - (time.perf_counter() - start)
            try:
                status = search.step(max(0.0, min(step, left)), n_threads)
            except DataError:  # remote rows do not answer: save the search
                if checkpoint is not None:
                    checkpoint.save(search, at_once=True)
                raise
            history.append(_progress(status, time.perf_counter() - start, scale))
            if watch is not None:
                so_far = tuple((scale * value, conditions) for value, conditions in search.rules())
                watch(replace(history[-1], conditions=so_far[0][1] if so_far else (), found=so_far))
            if checkpoint is not None:
                checkpoint.save(search)
        except KeyboardInterrupt:
            status = search.step(0.0, 1)
            history.append(_progress(status, time.perf_counter() - start, scale))
            stopped = "interrupted"
            break
        if status.done:
            break
        if question.time_limit is not None and history[-1].seconds >= question.time_limit:
            stopped = "time limit"
            break
        step = search.patience
    if checkpoint is not None:
        checkpoint.save(search, at_once=True)
    return Found(
        rules=tuple((scale * value, conditions) for value, conditions in search.rules()),
        progress=history[-1],
        optimal=status.done and history[-1].gap == 0,
        stopped=stopped,
        history=tuple(history),
    )


def end(found: Found, rules: Iterable[RuleResult]) -> Progress:
    """Return the last progress, with the upper bound raised to the values of the rules: the core rounds values."""
    return replace(found.progress, upper_bound=max([found.progress.upper_bound, *(rule.value for rule in rules)]))


def threads(n_jobs: int) -> int:
    """Return the number of threads for `n_jobs`: −1 is all cores, −2 all but one, as in scikit-learn.

    At most the number of cores.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(n_jobs, cores) if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def min_rows(min_coverage: float, n_rows: int) -> int:
    """Return the fewest rows a rule may cover: the least n with n / n_rows ≥ min_coverage.

    >>> min_rows(0.1, 891)
    90
    """
    least = math.ceil(min_coverage * n_rows)
    while least > 0 and (least - 1) / n_rows >= min_coverage:
        least -= 1
    return max(1, least)


def _progress(status: Status, seconds: float, scale: float) -> Progress:
    unexplored = status.unexplored
    best = -math.inf if status.best is None else status.best
    if unexplored is None:
        upper_bound, gap = best, 0.0
    else:
        # The core has no bound before its first expansion; no effect is above 1.
        unexplored = min(unexplored, 1.0)
        upper_bound = max(best, min(unexplored + _ROUNDING, 1.0))
        gap = math.inf if status.kth is None else max(0.0, unexplored - status.kth)
    best_value = None if status.best is None else scale * status.best
    return Progress(seconds, best_value, scale * upper_bound, scale * gap, status.nodes)
