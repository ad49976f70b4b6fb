"""Simultaneous bounds for all rules of the list, after the search.

In shuffled tables, the largest effect over margin of any rule is at most q with the given confidence; q is found like a
calibrated β (`calibration`). A rule's bound is that of `estimators.bounds`, with q margins. With groups, q allows for
them, and the standard error is that of rows.

This is the search's margin for chance, with the number of rules estimated from shuffled tables instead of counted.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from causalrules.estimators import bounds
from causalrules.exceptions import OptionError
from causalrules.options import Share, Whole
from causalrules.result.evidence import Simultaneous, with_evidence
from causalrules.search.adjusted import Adjusted
from causalrules.search.deadline import Deadline
from causalrules.search.margins import betas
from causalrules.trust import repeat
from causalrules.trust.calibration import fewest, n_largest
from causalrules.trust.permutation import flipped_margin
from causalrules.trust.resample import exchangeable, shuffling

if TYPE_CHECKING:
    from causalrules.result.result import R


def simultaneous(
    rules: R,
    permutations: int = 199,
    seed: int = 0,
    *,
    confidence: float = 0.95,
    share: float = 1.0,
    most: int | None = None,
    n_jobs: int = -1,
    time_limit: float | None = None,
    progress: bool | repeat.Watcher | None = None,
) -> R:
    """Implement `RuleSet.simultaneous`; the rules have a `share` of the error rate.

    With `most`, as many tables are shuffled as that share needs; if it needs more than `most`, nothing is measured.
    """
    deadline = Deadline.after(time_limit)
    permutations, seed = Whole(least=1)("permutations", permutations), Whole()("seed", seed)
    confidence = Share()("confidence", confidence)
    own = 1 - (1 - confidence) * share
    if most is not None:
        if fewest(own) > most:
            return rules
        permutations = max(permutations, fewest(own))
    if n_largest(own, permutations) < 1:
        among = f" with {share:.2g} of the error" if share < 1 else ""
        raise OptionError(
            f"permutations = {permutations}: a confidence of {confidence}{among} needs at least {fewest(own)}"
        )
    problem, question = repeat.require_problem(rules, "simultaneous"), rules.question
    beta = question.beta
    if not isinstance(beta, tuple):
        beta = betas(problem.language, question.max_length, question.error_rate)
    question = replace(question, estimator="pooled", beta=beta)
    base = exchangeable(problem)
    shuffle = shuffling(base)
    largest = [0.0] * n_largest(own, permutations)

    def shuffled(place: int) -> Adjusted:
        return shuffle(repeat.generator(seed, "simultaneous", place))

    def work(searcher: repeat.Searcher, places: range) -> Sequence[float | None]:
        try:
            return searcher.best_ratios([shuffled(place) for place in places], question, largest[0])
        except repeat.CutShortError:
            return [None] * len(places)

    begun = cut_short = 0
    size = repeat.together(base, question, permutations, n_jobs, deadline)
    for ratio in repeat.in_blocks(work, permutations, size, n_jobs, "simultaneous bounds", progress, deadline):
        begun += 1
        cut_short += ratio is None
        if ratio is not None:
            heapq.heappushpop(largest, ratio)
    # Those cut short count as the largest.
    rank = n_largest(own, begun) - cut_short
    if rank < 1:
        raise repeat.OutOfTimeError(
            f"time_limit = {time_limit!r}: {begun - cut_short} of {permutations} permutations were searched, too few "
            f"for a confidence of {confidence}; raise it"
        )
    factor = sorted(largest, reverse=True)[rank - 1]
    measured = []
    for rule in rules:
        own_beta = float(beta[min(rule.length, len(beta) - 1)])
        criterion = replace(rule.criterion, estimator="pooled", by_length=True, beta=own_beta)
        error, margin = rule.standard_error, partial(criterion.margin, rule.measured)
        if base.group is not None:
            error = rule.kind.estimate(rule.measured.sides).standard_error
            margin = partial(flipped_margin, base, beta, base.language.numbers(rule.conditions))
        reach = _times(factor, margin)
        found = bounds.simultaneous(rule.effect, error, rule.measured.scored_sides, reach, rule.criterion.sign)
        known = Simultaneous(None, None, confidence, begun)
        if found is not None and math.isfinite(found.value):
            known = replace(known, bound=rule.kind.clip(found.value), reach=found.reach)
        measured.append(with_evidence(rule, simultaneous=known))
    return replace(rules, rules=tuple(measured))


def _times(factor: float, margin: Callable[[float], float]) -> Callable[[float], float]:
    return lambda error: factor * margin(error)
