"""Significance after the search, against every arrangement and every permutation by brute force."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import causalrules as cr
import oracle
from causalrules.estimators import scores
from causalrules.exceptions import DataError, OptionError
from causalrules.rules import RuleSet
from causalrules.search import merging
from causalrules.search.adjusted import Adjusted
from causalrules.trust import repeat, resample
from causalrules.trust.permutation import significance
from causalrules.trust.resample import arrangements, permuted, shuffling
from rulesets import rows_of
from strategies import RELIABLE, TARGET, SmallTable, every_rule, noise, small_tables

TIED = 1e-9


def discover(table: SmallTable, **options: Any) -> RuleSet:
    asked = RELIABLE | {"missing_control": "value"} | options
    return cr.discover(table.columns(), TARGET, control=list(table.control), **asked)


def brute_force(table: SmallTable, outcomes: list[dict[int, int]], beta: float, k: int) -> tuple[Any, Any]:
    """Count the outcomes whose best rule is as good as each of the k best: of all rules, and without better ones."""
    observed = every_rule(table, {i: row[TARGET] for i, row in enumerate(table.rows) if row[TARGET] is not None}, beta)
    ranked = oracle.top_k(
        table.rows,
        TARGET,
        lambda y: y == 1,
        table.actionable,
        table.control,
        k=k,
        beta=beta,
        max_length=2,
        max_bins=3,
        missing_control="value",
    )
    single, down = np.zeros(len(ranked), int), np.zeros(len(ranked), int)
    for outcome in outcomes:
        values = every_rule(table, outcome, beta)
        for place, rule in enumerate(ranked):
            better = {other.rows for other in ranked[:place]}
            single[place] += max(values.values()) >= observed[rule.rows] - TIED
            rest = [value for rows, value in values.items() if rows not in better]
            down[place] += max(rest, default=-math.inf) >= observed[rule.rows] - TIED
    return single, down


def every_arrangement(table: SmallTable) -> list[dict[int, int]]:
    observed = {i: row for i, row in enumerate(table.rows) if row[TARGET] is not None}
    members: dict[Any, list[int]] = {}
    for i, stratum in oracle.strata(observed, table.control, 3).items():
        members.setdefault(stratum, []).append(i)
    positive = [sum(table.rows[i][TARGET] for i in rows) for rows in members.values()]
    choices = [itertools.combinations(rows, n1) for rows, n1 in zip(members.values(), positive, strict=True)]
    return [{i: int(i in set().union(*chosen)) for i in observed} for chosen in itertools.product(*choices)]


@settings(max_examples=60, deadline=None)
@given(small_tables(max_rows=8, max_actionable=3), st.sampled_from([0.0, 1.0, 2.0]))
def test_all_arrangements_are_enumerated_exactly(table: SmallTable, beta: float) -> None:
    rules = discover(table, k=4, beta=beta, max_length=2, max_bins=3)
    assume(len(rules) > 0)
    everything = every_arrangement(table)
    assert arrangements(rows_of(rules), len(everything)) == len(everything)
    if len(everything) > 1:
        assert arrangements(rows_of(rules), len(everything) - 1) is None
    single, down = brute_force(table, everything, beta, 4)
    judged = significance(rules, len(everything) + 5, method="step-down", n_jobs=1)
    assert judged.evidence is not None
    assert judged.evidence.permutation is not None
    assert judged.evidence.permutation.exact
    found = [rule.evidence.significance for rule in judged if rule.evidence is not None]
    assert [each.single_step for each in found if each] == pytest.approx(
        np.maximum.accumulate(single) / len(everything)
    )
    assert [each.step_down for each in found if each] == pytest.approx(np.maximum.accumulate(down) / len(everything))
    assert [rule.p_value for rule in judged] == [each.step_down for each in found if each]


def test_too_many_arrangements_are_not_counted_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = cr.discover({"x": [0, 1] * 500, "y": [0, 1, 1, 0] * 250}, "y", k=1)
    counted = []

    def comb(n: int, chosen: int) -> int:
        counted.append((n, chosen))
        return math.comb(n, chosen)

    monkeypatch.setattr(resample, "math", SimpleNamespace(**{**vars(math), "comb": comb}))
    assert arrangements(rows_of(rules), 999) is None
    assert counted == []
    # 500 strata of two arrangements each: the product stops once it is too large
    pairs = rows_of(rules).with_rows(stratum=np.repeat(np.arange(500, dtype=np.int32), 2))
    assert arrangements(pairs, 999) is None
    assert counted == [(2, 1)] * 10


@settings(max_examples=25, deadline=None)
@given(small_tables(max_rows=25, max_actionable=3), st.integers(0, 3), st.sampled_from(["single-step", "step-down"]))
def test_permutations_are_counted_as_brute_force_counts_them(table: SmallTable, seed: int, method: str) -> None:
    rules = discover(table, k=3, beta=1.0, max_length=2, max_bins=3)
    assume(len(rules) > 0)
    problem, times = rows_of(rules), 7
    assume(arrangements(problem, times) is None)
    observed = [i for i, row in enumerate(table.rows) if row[TARGET] is not None]
    outcomes = [
        dict(
            zip(observed, permuted(problem, repeat.generator(seed, "permutation", place)).outcome.tolist(), strict=True)
        )
        for place in range(times)
    ]
    single, down = brute_force(table, outcomes, 1.0, 3)
    counts = single if method == "single-step" else down
    judged = significance(rules, times, seed, method=method, stop_early=False, n_jobs=2)
    assert [rule.p_value for rule in judged] == pytest.approx(np.maximum.accumulate(1 + counts) / (1 + times))


def test_noise_is_rarely_significant_though_its_rules_are_above_0() -> None:
    n_tables, hits, plain = 60, 0, 0
    for seed in range(n_tables):
        rules = cr.discover(noise(seed), "y", control="z", k=1, beta=1.0, max_length=2)
        p_value = rules.significance(99, seed)[0].p_value
        assert p_value is not None
        hits += p_value <= 0.05
        plain += rules[0].value > 0
    # More than 8 of 60 at 5 % has probability 1/300; the seeds are fixed.
    assert hits <= 8
    assert plain >= 50


def test_without_the_control_confounding_is_significant() -> None:
    """The test is conditional on the controls: without them it must detect the confounding."""
    columns = noise(0, n=400)
    del columns["z"]
    assert cr.discover(columns, "y", k=1).significance(99)[0].p_value == pytest.approx(0.01)


@pytest.mark.parametrize("seed", range(6))
def test_stopping_early_decides_the_same(seed: int) -> None:
    columns = noise(seed)
    columns["y"] |= np.random.default_rng(seed).random(120) < 0.15 * seed * (columns["x0"] > 0.7)
    rules = cr.discover(columns, "y", control="z", k=3, beta=1.0, max_length=2)
    full, early = rules.significance(99, stop_early=False), rules.significance(99)
    for long, short in zip(full, early, strict=True):
        assert long.p_value is not None
        assert short.p_value is not None
        assert (long.p_value <= 0.05) == (short.p_value <= 0.05)
        counted = short.evidence.significance  # type: ignore[union-attr]
        assert counted is not None
        if counted.permutations < 99:
            assert counted.exceedances == 5
            assert short.p_value >= 5 / counted.permutations
        else:
            assert short.p_value == long.p_value


def test_the_same_on_any_number_of_threads() -> None:
    rules = cr.discover(noise(1), "y", control="z", k=3, beta=1.0, max_length=2)
    assert rules.significance(60, seed=3, n_jobs=1) == rules.significance(60, seed=3, n_jobs=3)
    assert rules.significance(60, seed=3) != rules.significance(60, seed=4)


@settings(max_examples=60, deadline=None)
@given(small_tables(max_rows=30), st.integers(0, 5), st.booleans())
def test_shuffling_keeps_every_stratum_and_record(table: SmallTable, seed: int, weighted: bool) -> None:
    columns = table.columns()
    if weighted:
        columns["w"] = [1 + i % 3 for i in range(len(table.rows))]
    problem = rows_of(
        cr.discover(
            columns, TARGET, control=list(table.control), actionable=["x0"], weights="w" if weighted else None, beta=1.0
        )
    )
    shuffled = permuted(problem, np.random.default_rng(seed))

    def tally(each: Any, *, outcome: bool) -> dict[Any, int]:
        sums: dict[Any, int] = {}
        weights = np.ones(len(each.stratum)) if each.weights is None else each.weights
        for place in range(len(each.stratum)):
            key = (each.stratum[place], each.outcome[place] if outcome else each.columns[0][place])
            sums[key] = sums.get(key, 0) + int(weights[place])
        return sums

    assert tally(problem, outcome=True) == tally(shuffled, outcome=True)
    assert tally(problem, outcome=False) == tally(shuffled, outcome=False)


@contextmanager
def merging_always() -> Iterator[None]:
    """Merge equal rows before permuting the target, however small the table."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "_SAMPLE", 0)
        patch.setattr(merging, "places", lambda batch: len(batch.strata))
        patch.setattr(resample, "_DRAWS_PER_STRATUM", -1000)
        yield


@settings(max_examples=60, deadline=None)
@given(small_tables(max_rows=30), st.integers(0, 5), st.booleans(), st.sampled_from(["false", "unknown"]))
def test_equal_rows_stay_on_their_side_of_every_rule(
    table: SmallTable, seed: int, weighted: bool, missing: str
) -> None:
    """Each row occurs twice: numbers of rows and of levels are those before the permutation."""
    columns = {name: [*values, *values] for name, values in table.columns().items()}
    if weighted:
        columns["w"] = [1 + i % 3 for i in range(2 * len(table.rows))]
    problem = rows_of(
        cr.discover(
            columns, TARGET, control=list(table.control), missing=missing, weights="w" if weighted else None, beta=1.0
        )
    )
    n_conditions = len(problem.language.propositions)
    rng = np.random.default_rng(seed)
    rules = [rng.choice(n_conditions, size, replace=False).tolist() for size in (1, 2) if size <= n_conditions]
    with merging_always():
        shuffled = [shuffling(problem, rules)(rng), shuffling(problem)(rng)]
    for each in shuffled:
        for rule in rules:
            for before, after in zip(
                problem.compared(rule, scored=True), each.compared(rule, scored=True), strict=True
            ):
                np.testing.assert_array_equal(before.n, after.n)
        everything = problem.compared((), scored=True)[2], each.compared((), scored=True)[2]
        np.testing.assert_allclose(everything[0].total, everything[1].total)
        np.testing.assert_allclose(everything[0].scatter, everything[1].scatter)


FEW_ALIKE: dict[str, list[Any]] = {
    "z": list("aaaaaaaabbbbbb"),
    "x": [1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0],
    "w": [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, None],
}


@pytest.mark.parametrize("y", [[1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0], [2, 2, 2, 0, 0, 2, 0, 0, 4, 4, 0, 0, 4, 2]])
def test_drawn_tables_are_as_likely_as_enumerated_ones(y: list[int]) -> None:
    """P-values from the levels of equal rows, against all arrangements of the target one by one."""
    columns = {**FEW_ALIKE, "y": y}
    asked: dict[str, Any] = {"control": "z", "outcome": 1 if max(y) == 1 else None}
    fixed = cr.evaluate(columns, ["x = 1", "w >= 1", "x = 1 and w >= 1"], "y", **asked)
    problem = rows_of(fixed)
    numbers = [problem.language.numbers(rule.conditions) for rule in fixed]

    expected = np.zeros(len(numbers))
    for place, rule in enumerate(numbers):
        # Rows left undecided by a missing value are not compared, and keep their target.
        part = resample.reweighted(problem, np.logical_or(*problem.sides(rule)))
        everything = problem.compared(rule)[2]

        def effect(each: Adjusted, rule: Any = rule, everything: Any = everything) -> float:
            return abs(scores.pooled_effect(*each.compared(rule, scored=True)[:2], everything))

        every = np.array([effect(each) for each in resample.every_arrangement(part)])
        expected[place] = np.mean(every >= effect(problem) - TIED)
    times = 999
    with merging_always():
        shuffle = shuffling(problem, numbers)
        assert shuffle.func is not permuted  # type: ignore[attr-defined]
        judged = fixed.significance(times, n_jobs=2)
    found = [rule.evidence.significance.single_step for rule in judged]  # type: ignore[union-attr]
    assert 0.01 < expected.min() < expected.max() < 1
    assert np.all(np.abs(found - expected) < 4 * np.sqrt(expected * (1 - expected) / times) + 1 / times), expected


def test_searches_of_drawn_tables_agree_with_searches_of_every_arrangement() -> None:
    columns = {**FEW_ALIKE, "y": [1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0]}
    rules = cr.discover(columns, "y", 1, control="z", beta=1.0)
    exact = rules.significance(10**4)
    assert exact.evidence is not None
    assert exact.evidence.permutation is not None
    assert exact.evidence.permutation.exact
    times = exact.evidence.permutation.permutations - 1
    with merging_always():
        drawn = rules.significance(times, stop_early=False)
    assert rules
    for one, other in zip(exact, drawn, strict=True):
        assert one.p_value is not None
        assert other.p_value == pytest.approx(one.p_value, abs=4 * (one.p_value * (1 - one.p_value) / times) ** 0.5)
        assert 0.02 < one.p_value < 0.98


def test_rows_with_weights_are_shuffled_one_by_one() -> None:
    """Two records of weight two, with two positives among the four rows: hypergeometric, 1 : 4 : 1."""
    columns = {"x": [0, 1], "y": [1, 0], "w": [2, 2]}
    problem = rows_of(cr.discover(columns, "y", weights="w"))
    rng = np.random.default_rng(0)
    counts = [0, 0, 0]
    for _ in range(1200):
        shuffled = permuted(problem, rng)
        assert shuffled.weights is not None
        counts[int(shuffled.weights[(shuffled.outcome == 1) & (shuffled.columns[0] == 0)].sum())] += 1
    assert counts == pytest.approx([200, 800, 200], abs=50)


def test_errors_name_the_fix() -> None:
    rules = cr.discover(noise(0), "y", control="z", k=1)
    with pytest.raises(DataError, match="read from a file"):
        RuleSet.from_json(rules.to_json()).significance()
    with pytest.raises(OptionError, match="permutations = 0"):
        rules.significance(0)
    with pytest.raises(OptionError, match="'step-down' or 'single-step'"):
        rules.significance(method="bonferroni")
    with pytest.raises(OptionError, match="level = 5"):
        rules.significance(level=5)


def test_progress_is_reported_and_an_interruption_stops_the_searches() -> None:
    rules = cr.discover(noise(0), "y", control="z", k=1)
    seen: list[tuple[int, int]] = []
    rules.significance(20, stop_early=False, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(done, 20) for done in range(1, 21)]

    def interrupt(done: int, _: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rules.significance(10_000, stop_early=False, progress=interrupt)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_another_arm_does_not_matter_to_the_p_of_a_rule_named_in_advance(seed: int) -> None:
    # Permuted with the other rows of its stratum, the harmful arm would change the null distribution of the other two.
    rng = np.random.default_rng(seed)
    z = np.repeat(["a", "b"], 12)
    arm = np.array(["none", "drug", "other"])[rng.permutation(24) % 3]
    y = np.where(arm == "other", 9, rng.integers(0, 4, 24))
    alone = arm != "other"
    columns = {"arm": arm, "z": z, "y": y}
    asked: dict[str, Any] = {"target": "y", "control": "z", "reference": {"arm": "none"}, "adjust": "strata"}
    rules = cr.evaluate(columns, ["arm = drug", "arm = other"], **asked).significance(1999, n_jobs=1)
    # By hand: every way to label these numbers of the compared rows of each stratum "drug".
    pools = [(np.flatnonzero(alone & (z == value)), (arm[alone & (z == value)] == "drug").sum()) for value in "ab"]

    def effect(drug: set[int]) -> float:
        result = 0.0
        for pool, _ in pools:
            with_it, without = ([y[i] for i in pool if (i in drug) == wanted] for wanted in (True, False))
            if with_it and without:
                mean = y[pool].mean()
                result += (sum(with_it) + 2 * mean) / (len(with_it) + 2) - (sum(without) + 2 * mean) / (
                    len(without) + 2
                )
        return abs(result)

    observed = effect({i for pool, _ in pools for i in pool.tolist() if arm[i] == "drug"})
    ways = [list(itertools.combinations(pool.tolist(), k)) for pool, k in pools]
    as_good = [effect({*one, *other}) >= observed - 1e-9 for one in ways[0] for other in ways[1]]
    wanted = float(np.mean(as_good))
    assert rules[0].evidence is not None
    assert rules[0].evidence.significance is not None
    assert abs(rules[0].evidence.significance.single_step - wanted) < 4 * np.sqrt(wanted * (1 - wanted) / 1999) + 1e-3


def test_a_rule_without_comparisons_has_p_1() -> None:
    columns = {"x": ["a"] * 20 + [None] * 20, "w": [None] * 20 + ["b"] * 20, "y": [0, 1] * 20}
    rules = cr.evaluate(columns, ["x = a and w = b", "w = b"], "y").significance(19, n_jobs=1)
    assert [rule.n_undecided for rule in rules] == [40, 20]
    assert rules[0].p_value == 1
