"""Stability: how often a rule reappears when the search is repeated on resampled rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from causalrules.exceptions import OptionError
from causalrules.language.propositions import Proposition, format_column
from causalrules.options import Share, Whole
from causalrules.result.evidence import BEST, ConditionStability, Stability, StabilityRun, with_evidence, with_run
from causalrules.search.adjusted import Adjusted
from causalrules.search.deadline import Deadline
from causalrules.trust import repeat
from causalrules.trust.resample import bootstrap, subsample

if TYPE_CHECKING:
    from causalrules.result.result import R

METHODS = ("subsample", "bootstrap")
# Minimum Jaccard similarity for two rules to count as nearly the same.
NEARLY = 0.8
# Quantiles of cut points to report.
_TAIL = 0.05
_MOST_CONDITIONS = 20
# Steps per sample, if each rule adds to those above it.
_STEPS = 5

Key = tuple[str, str, Any]


def stability(
    rules: R,
    replicates: int = 100,
    seed: int = 0,
    *,
    method: str = "subsample",
    share: float = 0.5,
    n_jobs: int = -1,
    time_limit: float | None = None,
    progress: bool | repeat.Watcher | None = None,
) -> R:
    """Implement `RuleSet.stability`: a rule reappears if it is among the 10 best rules of a sample, or in 5 steps.

    If each rule adds to those above it, every sample is searched step by step.
    """
    deadline = Deadline.after(time_limit)
    replicates, seed = Whole(least=1)("replicates", replicates), Whole()("seed", seed)
    share = Share()("share", share)
    if method not in METHODS:
        raise OptionError("give 'subsample' or 'bootstrap'", parameter="method", value=repr(method))
    problem = repeat.require_problem(rules, "stability")

    n_listed = max(_STEPS, len(rules)) if rules.question.is_stepwise else BEST

    def work(searcher: repeat.Searcher, place: int) -> list[tuple[int, ...]]:
        rng = repeat.generator(seed, "sample", place)
        sample = bootstrap(problem, rng) if method == "bootstrap" else subsample(problem, share, rng)
        return [found.conditions for found in searcher.listed(sample, rules.question, k=n_listed)]

    lists = list(repeat.in_order(work, replicates, n_jobs, "samples", progress, deadline))
    if not lists:
        raise repeat.OutOfTimeError(
            f"time_limit = {time_limit!r}: none of the {replicates} samples was searched; raise it"
        )
    asked, replicates = replicates, len(lists)
    conditions = _conditions(problem, lists)
    returned, nearly = np.zeros(len(rules)), np.zeros(len(rules))
    mine = [problem.covered(problem.language.numbers(rule.conditions)) for rule in rules]
    known: dict[tuple[int, ...], NDArray[np.float64]] = {}
    for found in lists:
        nearest = np.zeros(len(rules))
        for rule in found:
            if rule not in known:
                rows = problem.covered(rule)
                known[rule] = np.array([similarity(each, rows, problem.frequencies) for each in mine])
            nearest = np.maximum(nearest, known[rule])
        returned += nearest == 1
        nearly += nearest >= NEARLY
    judged = []
    for place, each in enumerate(rules):
        found_conditions = tuple(_of(condition, conditions) for condition in each.conditions)
        result = Stability(float(returned[place]) / replicates, float(nearly[place]) / replicates, found_conditions)
        judged.append(with_evidence(each, stability=result))
    frequent = sorted(conditions.values(), key=lambda condition: (-condition.share, condition.condition))
    run = StabilityRun(method, replicates, asked, share, seed, tuple(frequent[:_MOST_CONDITIONS]))
    return with_run(rules, judged, stability=run)


def similarity(mine: NDArray[np.bool_], other: NDArray[np.bool_], weights: NDArray[np.int64]) -> float:
    """Return the Jaccard similarity of the rows that two rules cover."""
    both, either = int(weights[mine & other].sum()), int(weights[mine | other].sum())
    return both / either if either else 1.0


def _key(proposition: Proposition) -> Key:
    """Return the key of a condition. Conditions that differ only in their cut point have the same key."""
    value = repr(proposition.value) if proposition.operator == "=" else None
    return proposition.column, proposition.operator, value


def _conditions(problem: Adjusted, lists: Sequence[Sequence[tuple[int, ...]]]) -> dict[Key, ConditionStability]:
    """Compute how often each condition is in a list, and the range of its cut point in the first rule with it."""
    language = problem.language
    first: dict[Key, list[int]] = {}
    for found in lists:
        seen = set()
        for number in (number for rule in found for number in rule):
            key = _key(language.propositions[number])
            if key not in seen:
                seen.add(key)
                first.setdefault(key, []).append(number)
    result = {}
    for key, numbers in first.items():
        column, operator, value = key
        low = high = None
        if value is None:
            # Codes have the order of the column's values.
            ends = language.high if operator == "<=" else language.low
            ordered = sorted(numbers, key=lambda number: int(ends[number]))
            low, high = (
                language.propositions[ordered[place]].written
                for place in (int(_TAIL * len(ordered)), len(ordered) - 1 - int(_TAIL * len(ordered)))
            )
            text = f"{format_column(column)} {'≤' if operator == '<=' else '≥'}"
        else:
            text = language.propositions[numbers[0]].text
        result[key] = ConditionStability(text, len(numbers) / len(lists), low, high)
    return result


def _of(condition: Proposition, conditions: dict[Key, ConditionStability]) -> ConditionStability:
    found = conditions.get(_key(condition))
    return ConditionStability(condition.text, 0.0, None, None) if found is None else found
