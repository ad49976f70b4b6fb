"""Choose β from permutations, so that the best rule of shuffled data is rarely above 0.

The reliable effect of a rule is r(σ) = p(σ) − β·q(σ), with q > 0. Each shuffled table has a smallest β at which no rule
is above 0: the largest p/q of any rule. A few exact searches find it (Dinkelbach 1967): search at some β, take the best
rule's p/q as the next β, and stop when the best rule is at most 0.

An outcome cannot be shuffled within the strata of several sets of controls at once. If rules have different controls,
each of the P sets gets its own β, at 1/P of the error rate; the largest of them is used.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from causalrules.estimators import scores
from causalrules.exceptions import DataError, OptionError
from causalrules.options import Share, Whole
from causalrules.question import Question
from causalrules.result.evidence import CalibratedMargin, Calibration
from causalrules.search.adjusted import Adjusted
from causalrules.search.deadline import Deadline
from causalrules.search.nearest import CLOSE
from causalrules.search.permutations import Permutations, TooMuchWorkError, begin_walk, can_share
from causalrules.trust import repeat
from causalrules.trust.deciding import fewest_exceedances, undecided
from causalrules.trust.resample import exchangeable, shuffling

if TYPE_CHECKING:
    from causalrules.search.problem import Problem

# Maximum searches of shuffled tables for several sets of controls; more take too long.
_MOST_SEARCHES = 50_000
# For the margin of a search: numbers of shuffled tables to try, fewer if these take too long; maximum outcomes to draw;
# and maximum work for 64 of the most tables, about 0.3 s. Fewer tables may take the same total work, and those that are
# drawn where the first decide nothing, so many times as many, half of it each time.
_FIRST, _MOST_DRAWN, _MOST_WORK = (499, 199, 99), 25_000_000, 150_000_000
_MORE = (4, 20)
# Default β of the reliable estimator.
USUAL_BETA = 2.0


def calibrate(
    problem: Problem,
    question: Question,
    *,
    confidence: float = 0.95,
    permutations: int = 199,
    seed: int = 0,
    time_limit: float | None = None,
    progress: bool | repeat.Watcher | None = None,
) -> Calibration:
    """Find the smallest β for which the best rule of shuffled data is at most 0 with this confidence.

    If the outcome is independent of the actionable columns within every stratum, the smallest β of the data and those
    of the shuffled tables are exchangeable: it exceeds their m-th smallest, m = ⌈confidence·(permutations + 1)⌉, with
    probability at most 1 − confidence.

    Parameters
    ----------
    problem
        The coded table, or one for each set of controls.
    question
        The options of the search; the estimator must be "pooled" or "reliable".
    confidence
        Probability that the best rule of shuffled data is at most 0.
    permutations
        Number of shuffled tables; where rules have different controls, for each set of controls, and more if needed.
    seed
        Seed of the shuffling.
    time_limit
        Seconds after which no permutation is started. Interrupted ones count as above any β.
    progress
        Whether to show progress, or a function that is called with the number done and the total.

    Returns
    -------
    Calibration

    Raises
    ------
    OptionError
        If the estimator has no β, or the permutations are too few for the confidence.
    OutOfTimeError
        If too few permutations were searched within `time_limit`.
    """
    deadline = Deadline.after(time_limit)
    if question.estimator not in ("pooled", "reliable"):
        raise OptionError(f"{question.estimator!r} has no β to calibrate", parameter="beta", value="'calibrated'")
    confidence, permutations = (Share()("confidence", confidence), Whole(least=1)("permutations", permutations))
    if n_largest(confidence, permutations) < 1:
        raise OptionError(
            f"permutations = {permutations}: a confidence of {confidence} needs at least {fewest(confidence)}"
        )
    if problem.first.group is not None and question.estimator != "pooled":
        raise OptionError(
            "with groups, β can be calibrated for the pooled estimator only", parameter="beta", value="'calibrated'"
        )
    one = replace(question, k=1, beta=USUAL_BETA, alpha=1.0, time_limit=None)
    n_sets = len(problem.adjustments)
    each = 1 - (1 - confidence) / n_sets
    permutations = max(permutations, fewest(each)) if n_sets > 1 else permutations
    if n_sets > 1 and n_sets * permutations > _MOST_SEARCHES:
        raise OptionError(
            f"rules have {n_sets} different sets of controls, and each would need {permutations:,} shuffled tables; "
            "give a number, or leave it out",
            parameter="beta",
            value="'calibrated'",
        )
    begun = cut_short = 0
    beta = 0.0
    for place, own in enumerate(problem.adjustments):
        found = _smallest(
            own, one, each, permutations, seed, Deadline.after(deadline.left(1 / (n_sets - place))), progress
        )
        beta, begun, cut_short = max(beta, found[0]), begun + found[1], cut_short + found[2]
    value, usual = (_best(problem, replace(one, beta=candidate), deadline) for candidate in (beta, USUAL_BETA))
    return Calibration(beta, confidence, begun, n_sets * permutations, cut_short, seed, value, USUAL_BETA, usual)


def calibrate_margin(
    problem: Problem, question: Question, deadline: Deadline, share: float = 1.0, ratio: float = math.inf
) -> CalibratedMargin | None:
    """Find the factor of the margin that no rule exceeds in shuffled tables, if that takes about a second.

    The joint factor is the same for a `share` of the error rate.

    Margins for the number of rules hold for any dependence between rules; rules that share rows and columns gain less
    from chance. The limit is on work, not on time, and rows are sorted first, so that the result depends neither on the
    machine nor on the order or place of the rows, nor on which outcome is called the desired one.

    `ratio` is the effect over margin of the rule in question. Where the tables leave open whether it exceeds the
    factor, more are drawn; where these do too, the factor is the largest that it may be: the rule does not exceed it.

    Returns
    -------
    CalibratedMargin or None
        None if shuffled tables cannot share a walk, if it would take too long, or after Ctrl-C: the rules found are
        kept, with margins for the number of rules.
    """
    if not problem.is_single or problem.n_rows * min(_FIRST) > _MOST_DRAWN:
        return None
    if len(problem.comparison.values) != 2 or question.max_length is None or question.reference or question.groups:
        return None  # before rows are fetched
    try:
        ordered = _sorted_rows(problem.only)
    except DataError:  # the workers with the rows are lost
        return None
    if not can_share([ordered], question):
        return None
    for permutations in _FIRST:
        if problem.n_rows * permutations <= _MOST_DRAWN:
            try:
                return _shuffled_margin(ordered, question, permutations, deadline, share, ratio)
            except TooMuchWorkError:
                continue
            except KeyboardInterrupt:
                return None
    return None


def _shuffled_margin(
    ordered: Adjusted, question: Question, permutations: int, deadline: Deadline, share: float, ratio: float
) -> CalibratedMargin | None:
    """Find the factor of the margin that no rule exceeds in shuffled tables; None if the time limit has passed."""
    rate, tables = question.error_rate, _ShuffledTables(ordered, question, permutations, deadline)
    if n_largest(1 - rate, permutations) < 1:
        return None
    # The result for the first tables saves work in the others; the order of tables must not matter.
    largest = tables.add([], permutations // 4, ratio)
    largest = tables.add(largest, permutations, ratio)
    for more in _MORE:
        if not _is_open(largest, ratio, rate) or ordered.n_rows * more * permutations > _MOST_DRAWN:
            break
        try:
            largest = tables.add(largest, more * permutations, ratio)
        except TooMuchWorkError:
            break
    if len(largest) < permutations:  # the time limit has passed
        return None
    rank = n_largest(1 - rate, len(largest))
    if _is_open(largest, ratio, rate):
        rank = fewest_exceedances(len(largest), rate)
    ordinal = sorted(largest, reverse=True)
    factor = ordinal[rank - 1] * (1 + CLOSE) if rank else 1.0
    if not factor > 0:  # too few shuffled tables have a rule to compare with
        return None
    rank = n_largest(1 - rate * share, len(largest))
    joint = ordinal[rank - 1] * (1 + CLOSE) if rank > 0 else None
    return CalibratedMargin(min(factor, 1.0), 1 - rate, len(largest), question.seed, joint)


def _is_open(largest: Sequence[float], ratio: float, rate: float) -> bool:
    """Return whether shuffled tables leave open if a ratio stands out; `largest` are the largest ratio of each."""
    return undecided(sum(each * (1 + CLOSE) >= ratio for each in largest), len(largest), rate)


class _ShuffledTables:
    """Shuffled tables, and the largest ratio of effect and margin in each of them."""

    def __init__(self, ordered: Adjusted, question: Question, first: int, deadline: Deadline) -> None:
        self._ordered, self._question, self._first, self._deadline = ordered, question, first, deadline
        self._ends = np.flatnonzero(np.diff(ordered.stratum)) + 1

    def add(self, known: list[float], until: int, ratio: float) -> list[float]:
        """Return the largest ratios of these and more tables, `until` in all; fewer if the time limit has passed.

        Those that matter neither to the factor nor to `ratio` are −∞.
        """
        n_kept = n_largest(1 - self._question.error_rate, max(until, self._first))
        least = sorted(known, reverse=True)[n_kept - 1] if len(known) >= n_kept else 0.0
        work = partial(self._walked, len(known), until, min(least, ratio * (1 - 2 * CLOSE)))
        n_jobs, label = self._question.n_jobs, "shuffled tables"
        blocks = repeat.in_blocks(work, until - len(known), Permutations.MOST, n_jobs, label, False, self._deadline)
        return [*known, *blocks]

    def _walked(
        self, start: int, until: int, least: float, searcher: repeat.Searcher, places: range
    ) -> Sequence[float]:
        outcomes = [self._drawn(start + place) for place in places]
        tables = self._first if until <= self._first else 2 * (until - start)
        most_work = _MOST_WORK * max(_FIRST) // tables * len(places) // Permutations.MOST
        return searcher.walked(begin_walk(self._ordered, outcomes, self._question, least, most_work))

    def _drawn(self, place: int) -> NDArray[np.uint8]:
        """Shuffle the outcome within each stratum.

        Other seeds after more tables took too long: tables must not be selected by their work. Tables beyond the first
        are the same for every seed, so that it decides as little as possible.
        """
        seed = self._question.seed if place < self._first else 0
        rng = repeat.generator(seed, "calibration", 1000 * (max(_FIRST) - self._first) + place)
        strata = np.split(self._ordered.outcome.copy(), self._ends)
        for stratum in strata:
            rng.shuffle(stratum)
        return np.concatenate(strata)


def _sorted_rows(problem: Adjusted) -> Adjusted:
    """Return the rows, repeated by weight and sorted by stratum, columns and outcome."""
    rows = problem.rows.local
    order = np.lexsort((rows.comparison.codes(rows.outcome), *rows.columns, rows.stratum))
    if rows.weights is not None:
        order = np.repeat(order, rows.weights[order].astype(np.int64))
    return problem.with_rows(
        stratum=rows.stratum[order],
        outcome=rows.outcome[order],
        columns=tuple(column[order] for column in rows.columns),
        weights=None,
        reference=None if rows.reference is None else rows.reference[order],
        group=None if rows.group is None else rows.group[order],
        target=None,
        record=None,
    )


def fewest(confidence: float) -> int:
    """Return how many permutations a confidence needs."""
    return math.ceil(confidence / (1 - confidence) - 1e-9)


def _smallest(
    problem: Adjusted,
    one: Question,
    confidence: float,
    permutations: int,
    seed: int,
    deadline: Deadline,
    progress: bool | repeat.Watcher | None,
) -> tuple[float, int, int]:
    """Return β for one set of controls, the number of permutations started, and of those interrupted."""
    base = exchangeable(problem)
    shuffle = shuffling(base)
    n_kept = n_largest(confidence, permutations)
    largest = [0.0] * n_kept  # a heap: its minimum is the smallest β that can still be the result

    # With β = 1, effect over margin is the β at which a rule's value is 0.
    unit = replace(one, beta=1.0)

    def shuffled(place: int) -> Adjusted:
        return shuffle(repeat.generator(seed, "calibration", place))

    def work(searcher: repeat.Searcher, places: range) -> Sequence[float | None]:
        tables = [shuffled(place) for place in places]
        try:
            shared = searcher.shared_ratios(tables, unit, largest[0])
        except repeat.CutShortError:
            return [None] * len(places)
        return [alone(searcher, table) for table in tables] if shared is None else shared

    def alone(searcher: repeat.Searcher, table: Adjusted) -> float | None:
        beta = largest[0]
        try:
            while found := searcher(table, replace(one, beta=beta), 0.0).rules:
                higher = _zero(table, found[0][1], one.estimator)
                if higher <= beta:
                    break
                beta = higher
        except repeat.CutShortError:
            return None
        return beta

    begun = cut_short = 0
    size = repeat.together(base, unit, permutations, one.n_jobs, deadline)
    for beta in repeat.in_blocks(work, permutations, size, one.n_jobs, "calibrating β", progress, deadline):
        begun += 1
        if beta is None:
            cut_short += 1
        else:
            heapq.heappushpop(largest, beta)
    # Interrupted ones count as the largest.
    rank = n_largest(confidence, begun) - cut_short
    if rank < 1:
        raise repeat.OutOfTimeError(
            f"β cannot be calibrated in {deadline.limit:.3g} s: {begun - cut_short} of {permutations} permutations "
            f"were searched, too few for a confidence of {confidence}; raise time_limit, lower max_length, or "
            "give a number for beta"
        )
    return _rounded_up(sorted(largest, reverse=True)[rank - 1]), begun, cut_short


def n_largest(confidence: float, permutations: int) -> int:
    """Return how many of the largest values to keep, so that the m-th smallest is the last of them."""
    return permutations + 1 - math.ceil(confidence * (permutations + 1) - 1e-9)


def _best(problem: Problem, question: Question, deadline: Deadline) -> float | None:
    """Return the value of the best rule; None if there is none, or no time left."""
    try:
        rules = repeat.Searcher(deadline)(problem, question).rules
    except repeat.CutShortError:
        return None
    return rules[0][0] if rules else None


def _zero(problem: Adjusted, conditions: tuple[int, ...], estimator: str) -> float:
    """Return the β at which the value of a rule is 0: its effect over its standard error, or p/q."""
    covered, failing, everything = problem.compared(conditions, scored=True)
    if estimator == "pooled":
        sign = -1.0 if problem.comparison.decrease else 1.0
        effect = sign * scores.pooled_effect(covered, failing, everything)
        n_levels = len(problem.comparison.values)
        variance = scores.margin_variance(covered, failing, everything, n_levels)
        return effect / math.sqrt(variance) if variance > 0 else 0.0
    tables = [covered.total, covered.n - covered.total, failing.total, failing.n - failing.total]
    if problem.comparison.decrease:
        tables = [tables[1], tables[0], tables[3], tables[2]]
    a, b, c, d = tables
    at_zero = scores.reliable_effect(a, b, c, d, beta=0.0)
    return at_zero / (at_zero - scores.reliable_effect(a, b, c, d, beta=1.0))


def _rounded_up(beta: float) -> float:
    """Round up to three decimals, so that the error rate still holds."""
    return float(np.ceil(beta * 1000 - 1e-6) / 1000)
