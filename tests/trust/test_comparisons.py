"""Trust for means, unknown values, reference rows and outcomes to decrease."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import causalrules as cr
from causalrules.estimators.intervals import beta_of_confidence
from causalrules.estimators.p_values import holm
from causalrules.report.terminal import text
from causalrules.result.evidence import HonestEffect, RuleEvidence, Significance
from causalrules.result.rule import RuleResult
from causalrules.rules import RuleSet
from causalrules.trust import repeat
from causalrules.trust.resample import folds, permuted, reweighted
from rulesets import rows_of
from strategies import noise

Rows = NDArray[np.bool_]


def table(seed: int = 0, n: int = 400, shift: float = 3.0) -> dict[str, Any]:
    """Draw a table: drug = yes shifts the number y by `shift` and the outcome with it; some drug values are missing."""
    rng = np.random.default_rng([21, seed + 1])
    drug = rng.choice(["yes", "no"], n)
    z = rng.choice(["old", "young"], n, p=[0.3, 0.7])
    amount = shift * (drug == "yes") + 2.0 * (z == "old") + rng.normal(size=n) * 2
    unknown = rng.random(n) < 0.2
    written = np.where(unknown, np.array(None), drug)
    return {
        "drug": written,
        "other": rng.integers(0, 5, n),
        "z": z,
        "cost": 100 * amount,
        "well": (amount > 1.5).astype(int),
        "arm": rng.choice(["placebo", "a", "b"], n),
    }


CASES: dict[str, dict[str, Any]] = {
    "mean": {"target": "cost"},
    "unknown": {"target": "well"},
    "decrease": {"target": "well", "direction": "decrease"},
    "mean decrease": {"target": "cost", "direction": "decrease"},
}


def ask(columns: dict[str, Any], case: str, **options: Any) -> RuleSet:
    asked: dict[str, Any] = {"control": "z", "actionable": ["drug", "other"], "k": 2, "max_length": 2, "n_jobs": 1}
    return cr.discover(columns, **asked | CASES[case] | options)


def known(rule: RuleResult) -> RuleEvidence:
    assert rule.evidence is not None
    return rule.evidence


def honest_of(rule: RuleResult) -> HonestEffect:
    honest = known(rule).honest
    assert honest is not None
    return honest


def three_ways(rule: RuleResult, columns: dict[str, Any]) -> tuple[Rows, Rows]:
    """Return the rows that satisfy a rule on drug and other, and those that fail; unknown drugs may be in neither."""
    n = len(columns["z"])
    holds, fails = np.ones(n, bool), np.zeros(n, bool)
    for condition in rule.conditions:
        each = [
            None
            if value is None
            else {"=": value == condition.value, "<=": value <= condition.value, ">=": value >= condition.value}[
                condition.operator
            ]
            if not isinstance(value, str)
            else value == condition.value
            for value in columns[condition.column]
        ]
        holds &= np.array([value is True or (value is not None and bool(value)) for value in each])
        fails |= np.array([value is not None and not value for value in each])
    return holds, fails


def adjusted(rule: RuleResult, columns: dict[str, Any], target: str) -> tuple[float, float, float]:
    """Return the effect, its standard error with random strata, and the share with a comparison group, by hand."""
    y, (holds, fails) = np.asarray(columns[target], float), three_ways(rule, columns)
    strata = [columns["z"] == z for z in ("old", "young")]
    strata = [rows for rows in strata if (rows & holds).any() and (rows & fails).any()]
    compared = sum(rows.sum() for rows in strata)
    differences = np.array([y[rows & holds].mean() - y[rows & fails].mean() for rows in strata])
    weights = np.array([rows.sum() / compared for rows in strata])
    effect = float(weights @ differences)
    variances = np.array(
        [sum(y[rows & side].var(ddof=1) / (rows & side).sum() for side in (holds, fails)) for rows in strata]
    )
    error = float(np.sqrt(weights**2 @ variances + weights @ (differences - effect) ** 2 / compared))
    return effect, error, compared / len(y)


@pytest.mark.parametrize("case", CASES)
def test_the_numbers_of_a_rule_are_those_counted_by_hand(case: str) -> None:
    columns, target = table(), CASES[case]["target"]
    for rule in ask(columns, case, k=4):
        holds, fails = three_ways(rule, columns)
        assert (rule.n_covered, rule.n_failing) == (holds.sum(), fails.sum())
        assert rule.n_undecided == np.sum(~holds & ~fails)
        assert rule.effect == pytest.approx(adjusted(rule, columns, target)[0])
    # some drug values are unknown, so that the best rule may hold or not
    assert ask(columns, case)[0].n_undecided == sum(value is None for value in columns["drug"]) > 0


@pytest.mark.parametrize("case", CASES)
def test_a_second_table_measures_what_is_counted_by_hand(case: str) -> None:
    first, second, target = table(), table(1), CASES[case]["target"]
    rules = ask(first, case, holdout=second)
    p_values = []
    for rule in rules:
        honest = honest_of(rule)
        effect, error, overlap = adjusted(rule, second, target)
        assert honest.effect == pytest.approx(effect)
        assert honest.overlap == pytest.approx(overlap)
        assert honest.n_rows == 400
        # the variance between strata is reduced by the chance within them; a share has a small-sample correction
        assert honest.standard_error == pytest.approx(error, rel=5e-3 if not rule.kind.binary else 0.05)
        assert honest.standard_error is not None
        reach = beta_of_confidence(0.95) * honest.standard_error
        # Student's quantile for means, asymmetric intervals for shares
        assert [honest.low, honest.high] == pytest.approx([effect - reach, effect + reach], abs=0.15 * reach)
        p_values.append(honest.p_value)
        assert len(honest.counts) == (0 if not rule.kind.binary else 2)
    assert p_values[0] is not None
    assert p_values[0] < 0.001  # also if less is better


@pytest.mark.parametrize("case", CASES)
def test_a_share_that_is_held_out_and_the_rows_searched_make_up_the_table(case: str) -> None:
    columns, target = table(), CASES[case]["target"]
    rule = ask(columns, case, holdout=0.4)[0]
    honest = honest_of(rule)
    holds, fails = three_ways(rule, columns)
    assert honest.n_rows + int(rule.measured.sides[2].n.sum()) == 400
    assert honest.effect == pytest.approx(adjusted(rule, columns, target)[0], rel=0.25)
    if rule.kind.binary:
        y = np.asarray(columns[target]) == 1
        total = np.sum(rule.measured.counts, axis=0) + np.sum(honest.counts, axis=0)
        assert total.tolist() == [sum(holds & y), sum(holds & ~y), sum(fails & y), sum(fails & ~y)]


@pytest.mark.parametrize("case", CASES)
def test_a_true_rule_is_supported_by_all_evidence(case: str) -> None:
    columns = table(n=600)
    rules = ask(columns, case).trust(99, 20, 3, n_jobs=2)
    rule = rules[0]
    assert str(rule) == ("drug = no" if "decrease" in case else "drug = yes")
    assert (rule.effect < 0) == ("decrease" in case)
    evidence = known(rule)
    assert rule.p_value == 0.01
    assert evidence.stability is not None
    assert evidence.stability.nearly == 1
    honest = honest_of(rule)
    assert honest.effect == pytest.approx(rule.effect, rel=0.2)
    assert honest.p_value is not None
    assert honest.p_value < 0.001
    assert evidence.sensitivity is not None
    assert (evidence.sensitivity.e_value is None) == (not rule.kind.binary)
    assert rule.verdict.robustness == evidence.sensitivity.gamma_limit
    assert rule.verdict.robustness is not None
    assert rule.verdict.robustness > 1
    assert evidence.overlap is not None
    assert (evidence.overlap.low is None) == (not rule.kind.binary)
    assert rule.verdict.evidence == "supported"
    assert rule.verdict.direction == ("lowers" if "decrease" in case else "raises")
    assert cr.RuleSet.from_json(rules.to_json()) == rules


@pytest.mark.parametrize("case", CASES)
def test_the_opposite_of_a_true_rule_is_not_found_and_evaluated_as_such(case: str) -> None:
    """If only the opposite rule can be chosen, none stands out."""
    columns = table(n=600)
    opposite = "yes" if "decrease" in case else "no"
    columns["drug"] = ["none" if value == opposite else value for value in columns["drug"]]
    wrong = "drug = none"
    rules = cr.evaluate(columns, wrong, **{"control": "z"} | CASES[case]).trust(99, n_jobs=2)
    searched = ask(columns, case, actionable="drug", k=2, stepwise=False)
    assert str(searched[0]) != wrong
    worst = next(rule for rule in searched if str(rule) == wrong)
    assert worst.ratio < 0
    judged = next(rule for rule in searched.significance(99) if str(rule) == wrong)
    assert judged.p_value == 1
    # the p-value of a rule named in advance is two-sided
    assert rules[0].p_value is not None
    assert rules[0].p_value < 1e-6
    assert rules[0].verdict.evidence == "supported"
    assert rules[0].verdict.direction == ("raises" if "decrease" in case else "lowers")


def test_cross_fitting_a_mean_is_in_its_units() -> None:
    columns = table()
    rule = ask(columns, "mean").cross_fit(4, seed=2)[0]
    honest = honest_of(rule)
    assert honest.found == honest.splits == 4
    assert honest.counts == ()
    effect, error, _ = adjusted(rule, columns, "cost")
    assert honest.effect == pytest.approx(effect, abs=2 * error)
    assert honest.standard_error == pytest.approx(np.sqrt(2) * error, rel=0.1)  # with half of the rows
    tenfold = {**columns, "cost": 10 * columns["cost"]}
    assert honest_of(ask(tenfold, "mean").cross_fit(4, seed=2)[0]).effect == pytest.approx(10 * (honest.effect or 0))


def arms(n: int = 900) -> dict[str, Any]:
    """Draw a table: arm a raises the outcome above the placebo; arm b, with most rows, raises it far more."""
    rng = np.random.default_rng(5)
    arm = rng.choice(["placebo", "a", "b"], n, p=[0.3, 0.3, 0.4])
    z = rng.choice(["old", "young"], n)
    p = 0.2 + 0.1 * (z == "old") + 0.3 * (arm == "a") + 0.6 * (arm == "b")
    return {"arm": arm, "z": z, "y": (rng.random(n) < p).astype(int)}


@pytest.mark.parametrize("how", ["cross-fitting", "holdout", "second table"])
def test_reference_rows_are_what_held_out_rows_are_compared_with(how: str) -> None:
    columns = arms()
    holdout = {"cross-fitting": None, "holdout": 0.4, "second table": columns}[how]
    options: dict[str, Any] = {"control": "z", "actionable": "arm", "reference": {"arm": "placebo"}, "holdout": holdout}
    rules = cr.discover(columns, "y", k=2, **options).trust(99, 10, 4, n_jobs=2)
    assert [str(rule) for rule in rules] == ["arm = b", "arm = a"]
    for rule, truth in zip(rules, (0.6, 0.3), strict=True):
        honest = honest_of(rule)
        assert honest.effect == pytest.approx(truth, abs=0.12)
        assert rule.p_value == 0.01
        assert rule.verdict.evidence == "supported"
        if how == "second table":
            y, inside = columns["y"] == 1, [columns["z"] == z for z in ("old", "young")]
            arm = columns["arm"] == str(rule)[-1]
            placebo = columns["arm"] == "placebo"
            by_hand = sum(rows.mean() * (y[rows & arm].mean() - y[rows & placebo].mean()) for rows in inside)
            assert honest.effect == pytest.approx(by_hand)
            assert honest.effect == pytest.approx(rule.effect)
    assert cr.RuleSet.from_json(rules.to_json()) == rules


@cache
def by_permutation(case: str, times: int = 2000) -> tuple[RuleSet, NDArray[np.float64]]:
    """Return three named rules, and their two-sided p-values from labels permuted by NumPy."""
    columns, target = table(4, n=150, shift=0.8), CASES[case]["target"]
    asked = ["drug = yes", "other >= 3", "drug = yes and other >= 2"]
    rules = cr.evaluate(columns, asked, **{"control": "z"} | CASES[case])
    y, rng = np.asarray(columns[target], float), np.random.default_rng(0)
    levels = np.unique(y)
    if len(levels) > 32:
        y = rows_of(rules).comparison.values[rows_of(rules).outcome]  # the 32 level means by which the search ranks
    strata = [np.flatnonzero(columns["z"] == z) for z in ("old", "young")]
    sides = [three_ways(rule, columns) for rule in rules]

    def effect(values: NDArray[np.float64], holds: NDArray[np.bool_], fails: NDArray[np.bool_]) -> float:
        total = 0.0
        for rows in strata:
            k, f = holds[rows].sum(), fails[rows].sum()
            if k and f:
                mean = values[rows][(holds | fails)[rows]].mean()
                difference = (values[rows][holds[rows]].sum() + 2 * mean) / (k + 2)
                difference -= (values[rows][fails[rows]].sum() + 2 * mean) / (f + 2)
                total += len(rows) / len(values) * difference
        return abs(total)

    as_good = np.zeros(len(sides))
    for place, (holds, fails) in enumerate(sides):
        observed = effect(y, holds, fails)
        for _ in range(times):
            shuffled = y.copy()
            for rows in strata:  # only compared rows concern the rule
                compared = rows[(holds | fails)[rows]]
                shuffled[compared] = rng.permutation(y[compared])
            as_good[place] += effect(shuffled, holds, fails) >= observed - 1e-9
    return rules, (1 + as_good) / (1 + times)


@pytest.mark.parametrize("case", CASES)
def test_p_values_of_named_rules_equal_those_of_permuted_labels(case: str) -> None:
    rules, expected = by_permutation(case)
    judged = rules.significance(499, n_jobs=2)
    found = [known(rule).significance for rule in judged]
    alone = [each.single_step for each in found if isinstance(each, Significance)]
    error = 4 * np.sqrt(expected * (1 - expected) * (1 / 499 + 1 / 2000) + 1e-6)
    assert np.all(np.abs(np.array(alone) - expected) < error), (alone, expected)
    assert [rule.p_value for rule in judged] == holm(alone)
    assert judged.evidence is not None
    assert judged.evidence.permutation is not None
    assert judged.evidence.permutation.method == "fixed rules"
    assert expected.min() < 0.1 < expected.max()  # otherwise the test shows nothing


def test_rules_named_in_advance_are_judged_without_a_search() -> None:
    rules = cr.evaluate(table(n=600), ["drug = yes", "other >= 3"], "well", control="z").trust(99, n_jobs=2)
    assert rules.stopped == "evaluated"
    for rule in rules:
        evidence = known(rule)
        assert (evidence.honest, evidence.stability) == (None, None)
        assert not any("held-out" in doubt or "resampled" in doubt for doubt in rule.verdict.doubts)
    assert [rule.verdict.evidence for rule in rules] == ["supported", "not supported"]
    said = " ".join(text(rules, explain=True).split())
    assert "evidence rests on p, two-sided and adjusted for their number (error rate 5 %)" in said


def test_rules_by_length_are_compared_by_their_ratios_in_one_step() -> None:
    columns = noise(3, n=80)
    rules = cr.discover(columns, "y", control="z", k=3, max_length=1, max_bins=3)
    assert all(rule.criterion.by_length for rule in rules)
    times = 60
    judged = rules.significance(times, seed=1, stop_early=False, n_jobs=2)
    problem = rows_of(rules)
    # every rule of every permuted table, by evaluating it
    every = [(proposition,) for proposition in problem.language.propositions]
    observed = cr.evaluate(columns, every, "y", control="z", actionable=[f"x{i}" for i in range(4)])
    assert rules[0].value < 0
    assert rules[0].ratio == pytest.approx(
        max(replace(rule, criterion=replace(rule.criterion, beta=rules[0].criterion.beta)).ratio for rule in observed)
    )
    as_good = np.zeros(len(rules))
    for place in range(times):
        shuffled = permuted(problem, repeat.generator(1, "permutation", place))
        table_of = {**columns, "y": shuffled.outcome}
        measured = cr.evaluate(table_of, every, "y", control="z", actionable=[f"x{i}" for i in range(4)])
        best = max(
            replace(rule, criterion=replace(rule.criterion, beta=rules[0].criterion.beta)).ratio for rule in measured
        )
        as_good += best >= np.array([rule.ratio for rule in rules]) - 1e-9
    assert [rule.p_value for rule in judged] == pytest.approx(np.maximum.accumulate(1 + as_good) / (1 + times))
    assert judged.evidence is not None
    assert judged.evidence.permutation is not None
    assert judged.evidence.permutation.method == "single-step"


@pytest.mark.parametrize("seed", range(8))
def test_the_rule_nearest_to_standing_out_has_the_largest_ratio(seed: int) -> None:
    columns = noise(seed, n=80)
    rules = cr.discover(columns, "y", control="z", k=1, max_length=1)
    rule, problem = rules[0], rows_of(rules)
    every = [(proposition,) for proposition in problem.language.propositions]
    measured = cr.evaluate(columns, every, "y", control="z", actionable=[f"x{i}" for i in range(4)])
    assert rule.value < 0
    assert rule.ratio == pytest.approx(
        max(replace(other, criterion=replace(other.criterion, beta=rule.criterion.beta)).ratio for other in measured)
    )


def test_parts_are_searched_for_the_nearest_rule_like_the_table() -> None:
    """A narrow rule that almost stands out is not replaced by a broad one if none stands out."""
    rng = np.random.default_rng([5, 4])
    columns: dict[str, Any] = {f"x{i}": rng.choice(list("abcdefghij"), 600) for i in range(3)} | {"w": rng.random(600)}
    columns["y"] = (rng.random(600) < 0.3 + 0.3 * (columns["x0"] == "a")).astype(int)
    rules = cr.discover(columns, "y", k=1, max_length=1, stepwise=False)
    problem = rows_of(rules)
    assert str(rules[0]) == "x0 = a"
    nothing = 0
    for part in folds(problem, 5, repeat.generator(0, "split")):
        rest = reweighted(problem, 1 - part)
        (listed,) = repeat.Searcher().listed(rest, rules.question)
        (first,) = listed.conditions
        rows = {name: np.asarray(values)[part == 0] for name, values in columns.items()}
        every = cr.evaluate(rows, [(each,) for each in problem.language.propositions], "y", beta=rules.question.beta)
        values, ratios = ([getattr(rule, number) for rule in every] for number in ("value", "ratio"))
        best = np.argmax(ratios if max(values) <= 0 else values)
        assert problem.language.propositions[first] == every[int(best)].conditions[0]
        nothing += max(values) <= 0 and int(np.argmax(values)) != best
    assert nothing  # the broadest rule is a different one


def test_a_table_in_which_nothing_can_be_compared_has_no_rules() -> None:
    """Each stratum has only one side: no rule can be estimated; named ones have no effect and no margin."""
    data = {"x": [False, True] * 3, "z": ["a", "b"] * 3, "y": [1, 0, 0, 1, 1, 0]}
    rules = cr.discover(data, "y", control="z")
    assert (len(rules), rules.optimal) == (0, True)
    named = cr.evaluate(data, ["x = True", "x = False"], target="y", control="z")
    assert [(rule.ratio, rule.criterion.margin(rule.measured)) for rule in named] == [(0.0, 0.0)] * 2
    assert all(np.isnan(rule.effect) for rule in named)
    assert [rule.p_value for rule in named.significance(19)] == [1.0] * 2


def test_an_opposite_rule_is_no_better_than_permuted_ones() -> None:
    """Half of the permuted tables have no rule with an effect above 0; they are no evidence for one below it."""
    columns = arms()
    rules = cr.discover(columns, "y", control="z", actionable="arm", reference={"arm": "b"}, k=1)
    assert rules[0].ratio < 0
    assert rules.significance(39, stop_early=False)[0].p_value == 1


@pytest.mark.parametrize("case", CASES)
def test_json_brings_back_an_equal_result(case: str) -> None:
    for options in ({}, {"beta": 1.5}, {"reference": {"drug": "no"}, "actionable": "drug"}, {"holdout": 0.3}):
        rules = ask(table(), case, **options).significance(19)
        read = cr.RuleSet.from_json(rules.to_json())
        assert read == rules
        assert isinstance(read.question.beta, tuple) == ("beta" not in options)
        for mine, theirs in zip(rules, read, strict=True):
            assert (mine.measured, mine.criterion) == (theirs.measured, theirs.criterion)
            assert (mine.effect, mine.value, mine.ratio, mine.n_undecided) == pytest.approx(
                (theirs.effect, theirs.value, theirs.ratio, theirs.n_undecided), nan_ok=True
            )
