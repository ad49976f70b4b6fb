"""Bounds that hold for all rules of a list at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import causalrules as cr
from causalrules.estimators import scores
from causalrules.exceptions import OptionError
from causalrules.result.evidence import Simultaneous
from causalrules.trust import repeat
from causalrules.trust.resample import permuted
from populations import benchmark
from rulesets import rows_of
from strategies import noise


def bound_of(rule: cr.RuleResult) -> Simultaneous:
    assert rule.evidence is not None
    assert rule.evidence.simultaneous is not None
    return rule.evidence.simultaneous


def test_bounds_come_from_the_largest_ratios_of_permuted_tables() -> None:
    columns, times = noise(3, n=80), 19
    asked: dict[str, Any] = {"control": "z", "actionable": [f"x{i}" for i in range(4)]}
    rules = cr.discover(columns, "y", **asked, k=3, stepwise=False, max_length=1, max_bins=3)
    rules = rules.simultaneous(times, seed=2, n_jobs=2)
    problem = rows_of(rules)
    every = [(proposition,) for proposition in problem.language.propositions]
    largest = []
    for place in range(times):
        shuffled = permuted(problem, repeat.generator(2, "simultaneous", place))
        measured = cr.evaluate({**columns, "y": shuffled.outcome}, every, "y", **asked)
        largest.append(
            max(
                replace(rule, criterion=replace(rule.criterion, beta=rules[0].criterion.beta)).ratio
                for rule in measured
            )
        )
    factor = max(largest)  # the 19th of 19: 0.95 · 20
    for rule in rules:
        covered, failing, everything = rule.measured.sides
        inside = (covered.n > 0) & (failing.n > 0)
        weight = everything.n[inside] / everything.n[inside].sum()
        share = everything.total[inside] / everything.n[inside]
        each = weight**2 * share * (1 - share)
        k, f = covered.n[inside], failing.n[inside]
        plain, shrunk = (np.sum(each * (1 / (k + more) + 1 / (f + more))) for more in (0, 2))
        known, scale = bound_of(rule), rule.overlap * shrunk / plain
        variance = max(shrunk * rule.overlap**2, (scale * rule.standard_error) ** 2)
        offset = rule.criterion.beta**2 * scores.pooled_reach(covered, failing, everything, rule.measured.spans) / 6
        error = factor * (offset + np.sqrt(offset**2 + rule.criterion.beta**2 * variance)) / scale
        assert known.bound == pytest.approx(max(-1, rule.effect - error))
        assert known.reach == pytest.approx(error / max(rule.standard_error, np.sqrt(plain)))


def test_all_bounds_hold_at_once_where_naive_ones_do_not() -> None:
    population = benchmark().Population()
    together = naive = 0
    tables = 25
    for seed in range(tables):
        columns = population.sample(600, np.random.default_rng([41, seed]))
        rules = cr.discover(columns, "y", control="z", max_length=1, k=4, stepwise=False, n_jobs=1)
        rules = rules.simultaneous(19, seed)
        truths = [population.true_effect(rule) for rule in rules]
        bounds = [bound_of(rule).bound for rule in rules]
        together += all(bound is not None and bound <= truth for bound, truth in zip(bounds, truths, strict=True))
        naive += all(rule.interval(0.9).low <= truth for rule, truth in zip(rules, truths, strict=True))
    assert together >= 21  # at 95 % coverage, 25 tables give at least this with probability 99 %
    assert naive < together


@pytest.mark.parametrize("options", [{"direction": "decrease"}, {"estimator": "reliable"}, {"beta": 1.5}])
def test_bounds_of_other_questions(options: dict[str, Any]) -> None:
    columns: dict[str, Any] = noise(1, n=300) | {"group": np.arange(300) // 3}
    for groups in (None, "group"):
        rules = cr.discover(columns, "y", control="z", k=2, max_length=1, groups=groups, stepwise=False, **options)
        rules = rules.simultaneous(19)
        assert len(rules) == 2
        for rule in rules:
            known = bound_of(rule)
            assert known.bound is not None
            assert (known.bound > rule.effect) == ("direction" in options)
            assert known.permutations == 19
        assert cr.RuleSet.from_json(rules.to_json()) == rules
        assert replace(rules, library="dict").to_frame()["simultaneous_bound"] == [
            bound_of(rule).bound for rule in rules
        ]


def test_the_rules_of_a_ladder_share_the_error_of_as_many_as_it_could_have() -> None:
    columns: dict[str, Any] = noise(1, n=300)
    columns["y"] = np.where(columns["x0"] > 0.9, 1, np.where(columns["x1"] > 1.0, 0, columns["y"]))
    ladder = cr.discover(columns, "y", control="z", max_length=1, k=3)
    assert len(ladder) < 3
    with pytest.raises(OptionError, match=r"permutations = 58: a confidence of 0\.95 with 0\.33 of .* at least 59"):
        ladder.simultaneous(58)
    bounded = ladder.simultaneous(59)
    for rule, step in zip(bounded, ladder.ladder, strict=False):
        # Equal to the bound of a one-rule list, on the rows of its step, at its share of the error.
        alone = replace(bounded, rules=(rule,), question=step.question, ladder=(step,), nearest=None).simultaneous(
            59, confidence=1 - 0.05 / 3
        )
        known = bound_of(rule)
        assert replace(bound_of(alone[0]), confidence=0.95) == known
        assert known.bound is not None
        assert known.bound < rule.effect
    assert cr.RuleSet.from_json(bounded.to_json()) == bounded


def test_rules_without_comparisons_have_no_bound_and_too_few_permutations_are_reported() -> None:
    data = {"x": [False, True] * 3, "z": ["a", "b"] * 3, "y": [1, 0] * 3}
    rules = cr.evaluate(data, "x = True", target="y", control="z")
    assert bound_of(rules.simultaneous(19)[0]).bound is None
    with pytest.raises(OptionError, match=r"permutations = 10: a confidence of 0\.95 needs at least 19"):
        rules.simultaneous(10)
