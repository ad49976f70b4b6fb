"""The rules nearest to standing out, if none does: those with the largest effect over margin.

If no rule is above its margin, the score prefers the broadest rules, which is uninformative. The largest ratio of
effect and margin is the factor γ at which the maximum of `effect − γ · margin` is 0, and is found by a few exact
searches (Dinkelbach 1967).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from causalrules.estimators import scores
from causalrules.estimators.sides import Side
from causalrules.question import Question
from causalrules.search.core import Packed
from causalrules.search.rows import Comparison
from causalrules.search.run import Found

# Ratios that differ by less are equal.
CLOSE = 1e-9

# Runs a search, given a question, a floor and a factor of its margins.
Run = Callable[[Question, float, float], Found]
# Returns the effect of a rule over its margin.
Ratio = Callable[[Sequence[int]], float]


def ratio_of(packed: Packed, comparison: Comparison, question: Question, conditions: Sequence[int]) -> float:
    """Return the effect of a rule over its margin, by the levels that the search ranks by; 0 without a margin."""
    packed = packed.part(conditions)
    counts = [comparison.true(each) for each in (*packed.count(conditions), np.add(*packed.count()))]
    values = comparison.values
    covered, failing, everything = (Side.of_levels(each, values) for each in counts)
    spans = [float(np.ptp(values[present])) if present.any() else 0.0 for present in counts[0] + counts[1] > 0]
    betas = question.beta
    assert isinstance(betas, tuple), "the margin is one by length"
    margin = scores.pooled_margin(
        betas[min(len(conditions), len(betas) - 1)],
        scores.margin_variance(covered, failing, everything, len(values)),
        scores.pooled_reach(covered, failing, everything, spans),
    )
    sign = -1.0 if comparison.decrease else 1.0
    return sign * scores.pooled_effect(covered, failing, everything) / margin if margin > 0 else 0.0


def best_ratio(ratio: Ratio, question: Question, run: Run, least: float = 0.0) -> float:
    """Return the largest effect over margin of any rule; −inf if below `least`."""
    return _best(ratio, question, run, least)[0]


def _best(
    ratio: Ratio, question: Question, run: Run, least: float
) -> tuple[float, list[tuple[float, tuple[int, ...]]]]:
    """Return the largest effect over margin and its rule; −inf and none if below `least`."""
    best, factor = -math.inf, least
    rule: list[tuple[float, tuple[int, ...]]] = []
    one = question.changed(k=1)
    while True:
        found = list(run(one, 0.0, max(factor - CLOSE, 0.0)).rules)
        reached = ratio(found[0][1]) if found else -math.inf
        if reached <= best + CLOSE or reached < factor - 2 * CLOSE:
            return best, rule
        best, factor, rule = reached, reached, found


def nearest(ratio: Ratio, question: Question, found: Found, run: Run) -> Found:
    """Return the rules nearest to standing out, if none of those found does; else those found."""
    if not isinstance(question.beta, tuple) or not found.optimal or not found.rules or found.rules[0][0] > 0:
        return found
    best, first = _best(ratio, question, run, max(ratio(found.rules[0][1]), 0.0))
    if first and question.k == 1:
        return replace(found, rules=tuple(first[:1]))
    again = run(question, -math.inf, max(best, 0.0))
    if not again.optimal:
        return found
    rules = list(again.rules)
    if first and first[0][1] not in {conditions for _, conditions in rules}:
        # At this factor it ties at 0 with rules that have neither effect nor margin.
        rules = [*first, *rules][: max(len(rules), 1)]
    ratios = [ratio(conditions) for _, conditions in rules]
    order = sorted(range(len(ratios)), key=lambda place: (-ratios[place], place))
    return replace(found, rules=tuple(rules[place] for place in order))
