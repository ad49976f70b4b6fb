"""P-values of a search in groups of dependent rows, with the first answer.

The margin of a search takes rows for independent, so it says nothing about groups. The cluster-robust t test of a rule,
times the number of rules, is enough for clear effects (`permutation.of_groups`). Otherwise the signs of whole groups'
residuals are flipped and the tables searched again, as `significance` does, until p is decided (`deciding`) or the work
exceeds a limit: not a time, so that the answer is the same on every machine. Signs are the same for every seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from causalrules.result.evidence import Significance, with_evidence
from causalrules.search.margins import betas, count_rules
from causalrules.trust import repeat
from causalrules.trust.deciding import MOST, undecided
from causalrules.trust.permutation import TIED_RATIOS, flipped_ratio, of_groups
from causalrules.trust.resample import exchangeable, permuted

if TYPE_CHECKING:
    from causalrules.question import Question
    from causalrules.result.rule import RuleResult
    from causalrules.search.adjusted import Adjusted
    from causalrules.search.deadline import Deadline
    from causalrules.search.problem import Problem

# Most work for the rules of a step, about a second, and that of a table apart from its search.
_MOST_WORK, _EACH = 1_000_000_000, 600_000


def tested(
    problem: Problem, question: Question, rules: Sequence[RuleResult], deadline: Deadline
) -> tuple[RuleResult, ...]:
    """Return the rules of a search in groups with p-values; without one where that takes too long."""
    beta = question.beta
    if not isinstance(beta, tuple):
        beta = betas(problem.language, question.max_length, question.error_rate)
    found = [_by_number(rule, beta, question.error_rate) for rule in rules]
    left = [place for place, rule in enumerate(found) if rule.p_value is None]
    parts: dict[int, list[int]] = {}
    for place in left:
        parts.setdefault(problem.number(problem.language.numbers(rules[place].conditions)), []).append(place)
    for number, places in parts.items():
        own = problem.adjustments[number]
        share = _share(problem, own, question)
        flipped = _by_flips(own, replace(question, beta=beta), [found[place] for place in places], share, deadline)
        for place, rule in zip(places, flipped, strict=True):
            found[place] = rule
    return tuple(found)


def _by_number(rule: RuleResult, beta: Sequence[float], error_rate: float) -> RuleResult:
    """Return the rule with p of its t test, adjusted for the number of rules, if that is at most the error rate."""
    p = of_groups(rule, beta, error_rate)
    return replace(rule, p_value=p) if p <= error_rate else rule


def _share(problem: Problem, own: Adjusted, question: Question) -> float:
    """Return the share of all rules that have these controls (see `parts`)."""
    if not problem.has_own_controls:
        return 1.0
    longest = question.max_length or 2 * len(problem.language.columns)
    return sum(count_rules(own.language, longest)[1:]) / sum(count_rules(problem.language, longest)[1:])


def _by_flips(
    problem: Adjusted, question: Question, rules: Sequence[RuleResult], share: float, deadline: Deadline
) -> list[RuleResult]:
    """Return rules of the same controls with p by flipped signs of whole groups, if that is decided in time."""
    table = exchangeable(problem)
    one = repeat.exact(question, k=1, n_jobs=1, time_limit=None, estimator="pooled")
    level = question.error_rate * share
    values = np.array([flipped_ratio(table, one.beta, table.language.numbers(rule.conditions)) for rule in rules])
    counts, seen = np.zeros(len(rules), np.int64), np.zeros(len(rules), np.int64)
    # Counting a rule ends when it is decided. Those without an effect in the direction of the search are.
    counting = values > 0
    counts[~counting] = seen[~counting] = 1
    words = -(-table.n_rows // 64) * len(table.comparison.values)
    work = 0

    def searched(searcher: repeat.Searcher, place: int) -> tuple[float, int]:
        flipped = permuted(table, repeat.generator(0, "permutation", place))
        least = float(values[counting].min(initial=math.inf)) - TIED_RATIOS
        own = repeat.Searcher(searcher.deadline, searcher.stopped)
        return own.best_ratio(flipped, one, least), own.nodes

    for best, nodes in repeat.in_order(searched, MOST, question.n_jobs, "flipped signs", False, deadline):
        counts += counting & (best >= values - TIED_RATIOS)
        seen += counting
        work += _EACH + words * (len(table.language.propositions) ** 2 + 4 * nodes)
        counting &= undecided(counts, seen, level) & (seen < MOST)
        if not counting.any() or work > _MOST_WORK:
            break
    measured = []
    for rule, h, m, open_ in zip(rules, counts.tolist(), seen.tolist(), counting.tolist(), strict=True):
        p = min(1.0, (1 + h) / (1 + m) / share)
        known = Significance(single_step=p, step_down=None, exceedances=h, permutations=m)
        measured.append(rule if open_ else with_evidence(replace(rule, p_value=p), significance=known))
    return measured
