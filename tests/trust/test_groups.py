"""Clustered rows: splits, samples and sign flips of whole groups, and their standard errors."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import causalrules as cr
from causalrules.cli import cli
from causalrules.estimators import intervals
from causalrules.exceptions import OptionError, RoleError
from causalrules.trust.resample import bootstrap, exchangeable, flipped, folds, halves, permuted, split, subsample
from rulesets import rows_of

ASKED: dict[str, Any] = {"control": "z", "actionable": ["a", "b", "c"], "k": 2, "max_length": 1, "n_jobs": 1}


def clustered(seed: int, n_groups: int = 40, size: int = 8, mean: bool = False) -> dict[str, Any]:
    """Draw a table without effects; a third of the variance is between groups, and a and b are constant within them."""
    rng = np.random.default_rng([31, seed])
    group = np.repeat(np.arange(n_groups), size)
    z = rng.integers(0, 2, len(group))
    noise = np.sqrt(0.3) * rng.normal(size=n_groups)[group] + np.sqrt(0.7) * rng.normal(size=len(group)) + 0.5 * z
    return {
        "a": rng.integers(0, 2, n_groups)[group],
        "b": rng.integers(0, 3, n_groups)[group],
        "c": rng.integers(0, 3, len(group)),
        "z": z.astype(str),
        "person": group,
        "y": noise if mean else (noise > 0.3).astype(int),
    }


def discovered(columns: dict[str, Any], **options: Any) -> cr.RuleSet:
    asked = ASKED | ({"outcome": 1} if len(set(columns["y"])) == 2 else {}) | options
    return cr.discover(columns, "y", **{"groups": "person"} | asked)


def test_whole_groups_are_split_sampled_and_flipped() -> None:
    problem = rows_of(discovered(clustered(0)))
    assert problem.group is not None
    first, later = halves(problem, np.random.default_rng(0))
    parts = [*folds(problem, 5, np.random.default_rng(1)), first, later]
    np.testing.assert_array_equal(sum(parts[:5]), 1)
    np.testing.assert_array_equal(first + later, 1)
    for part in parts:
        assert 0 < part.sum() < len(part)
        assert set(problem.group[part == 1]).isdisjoint(problem.group[part == 0])
    for sample in (*split(problem, 0.3, np.random.default_rng(2)), subsample(problem, 0.5, np.random.default_rng(3))):
        assert sample.group is not None
        assert all(np.sum(sample.group == group) == 8 for group in np.unique(sample.group))
    drawn = bootstrap(problem, np.random.default_rng(4))
    assert drawn.group is not None
    assert all(len(set(drawn.frequencies[drawn.group == group])) == 1 for group in drawn.group)
    residuals = exchangeable(problem)
    flips = permuted(residuals, np.random.default_rng(5)).rows.local.y / residuals.rows.local.y
    assert set(flips) == {-1.0, 1.0}
    assert all(len(set(flips[problem.group == group])) == 1 for group in range(40))


def test_rows_of_a_stratum_where_the_outcome_never_varies_have_no_sign_to_flip() -> None:
    columns = clustered(0)
    columns["y"] = np.where(np.asarray(columns["z"]) == columns["z"][0], 0, columns["y"])
    residuals = exchangeable(rows_of(discovered(columns)))
    rows = residuals.rows.local
    assert np.all(np.diff(residuals.comparison.values) > 0)
    assert np.sum(rows.y == 0) == np.sum(np.asarray(columns["z"]) == columns["z"][0])
    np.testing.assert_array_equal(flipped(residuals, np.ones(40, bool)).rows.local.y, -rows.y)
    assert discovered(columns).significance(20)[0].p_value is not None


@pytest.mark.parametrize("mean", [False, True])
def test_p_is_that_of_every_sign(mean: bool) -> None:
    columns = clustered(2, n_groups=6, size=4, mean=mean)
    if mean:
        columns["y"] = columns["y"].round(1)
    rules = discovered(columns, k=3).significance(100)
    assert rules.evidence is not None
    assert rules.evidence.permutation is not None
    assert rules.evidence.permutation.exact
    assert rules.evidence.permutation.permutations == 64
    y, z, group = (np.array(columns[name]) for name in ("y", "z", "person"))
    residual = y.astype(float)
    for stratum in "01":
        residual[z == stratum] -= y[z == stratum].mean()
    conditions = [np.array(columns[name]) for name in "abc"]
    every = [x <= cut for x in conditions for cut in np.unique(x)[:-1]]
    every += [~rows for rows in every] + [x == 1 for x in conditions[1:]]
    betas = rules.question.beta
    assert isinstance(betas, tuple)

    def ratio(rows: Any, values: Any, ranges: list[float]) -> float:
        effect = variance = reach = 0.0
        for stratum, spread_of_all in zip("01", ranges, strict=True):
            here = z == stratum
            inside, outside, weight = values[here & rows], values[here & ~rows], here.mean()
            spread = 1 / (len(inside) + 2) + 1 / (len(outside) + 2)
            prior = 2 * values[here].mean()
            if len(inside) and len(outside):
                effect += weight * ((inside.sum() + prior) / (len(inside) + 2))
                effect -= weight * ((outside.sum() + prior) / (len(outside) + 2))
                reach = max(reach, weight * spread_of_all * spread)
            variance += weight**2 * values[here].var() * spread
        half = betas[1] ** 2 * reach / 6
        return float(effect / (half + np.sqrt(half**2 + betas[1] ** 2 * variance)))

    # One condition each: the middle value of three takes two, and is excluded.
    every = every[:-2]
    symmetric = [2 * np.abs(residual[z == stratum]).max() for stratum in "01"]
    found = [ratio(rule.covers(columns), residual, symmetric) for rule in rules]
    best = []
    for signs in itertools.product([-1, 1], repeat=6):
        values = np.array(signs)[group] * residual
        best.append(max(ratio(rows, values, [np.ptp(values[z == stratum]) for stratum in "01"]) for rows in every))
    expected = [float(np.mean(np.array(best) >= value - 1e-8)) if value > 0 else 1.0 for value in found]
    assert [rule.p_value for rule in rules] == pytest.approx(np.maximum.accumulate(expected))
    assert min(expected) < 1


def test_an_outcome_of_one_half_has_residuals_of_one_size() -> None:
    rng, n = np.random.default_rng(5), 160
    columns = {"x": rng.integers(0, 3, n), "y": rng.permutation(np.tile([0, 1], n // 2)), "g": np.arange(n) // 4}
    rules = cr.discover(columns, "y", 1, actionable=["x"], groups="g", max_length=2)
    p_value = rules.significance(39)[0].p_value
    assert p_value is not None
    assert p_value > 0.02
    assert rules.simultaneous(39)[0].evidence is not None
    assert cr.discover(columns, "y", 1, actionable=["x"], groups="g", max_length=2, beta="calibrated")[0].value < 0.2


def test_the_standard_error_adds_up_scores_within_groups() -> None:
    columns = clustered(3)
    for condition in ("a = 1", "c = 1"):
        rule = cr.evaluate(columns, condition, "y", 1, groups="person")[0]
        y, group = np.array(columns["y"], float), np.array(columns["person"])
        covered = np.array(columns[condition[0]]) == 1
        scores = np.where(
            covered, (y - y[covered].mean()) / covered.sum(), -(y - y[~covered].mean()) / (~covered).sum()
        )
        factor = [np.sqrt(n / (n - 1)) for n in (len(set(group[covered])), len(set(group[~covered])))]
        scores *= np.where(covered, *factor)
        by_hand = np.sqrt(40 / 39 * np.sum(np.bincount(group, scores) ** 2))
        assert rule.standard_error == pytest.approx(by_hand)
        assert rule.measured.grouped is not None
        assert rule.measured.grouped.n_groups == 40
        plain = cr.evaluate(columns, condition, "y", 1, actionable=[condition[0]])[0]
        assert (rule.standard_error > 1.3 * plain.standard_error) == (condition == "a = 1")
        assert rule.interval.low < plain.interval.low or condition != "a = 1"


def test_rows_that_are_groups_of_their_own_have_the_error_of_rows() -> None:
    columns = clustered(4)
    columns["person"] = np.arange(320)
    for mean in (False, True):
        columns["y"] = columns["y"] + (np.arange(320) % 7 if mean else 0)
        alone = cr.evaluate(columns, "a = 1", "y", None if mean else 1, control="z", groups="person")[0]
        plain = cr.evaluate(columns, "a = 1", "y", None if mean else 1, control="z")[0]
        assert alone.standard_error == pytest.approx(plain.standard_error, rel=0.01)


@pytest.mark.parametrize("mean", [False, True])
def test_what_is_found_in_noise_of_groups_is_rare_with_groups_and_common_without(mean: bool) -> None:
    tables, found, without, covered = 16, 0, 0, 0
    for seed in range(tables):
        columns = clustered(100 + seed, mean=mean)
        rules = discovered(columns, k=1)
        found += (rules.significance(39, seed)[0].p_value or 0) <= 0.05
        without += (discovered(columns, k=1, groups=None).significance(39, seed)[0].p_value or 0) <= 0.05
        honest = rules.cross_fit(3, seed)[0].evidence.honest  # type: ignore[union-attr]
        assert honest is not None
        assert honest.low is not None
        assert honest.high is not None
        covered += honest.low <= 0 <= honest.high
    assert found <= 3
    assert without >= 3
    assert covered >= 12


def test_groups_in_every_way_of_asking(tmp_path: Path) -> None:
    columns = clustered(5)
    rules = discovered(columns)
    assert "person" not in rules.question.actions
    assert cr.RuleSet.from_json(rules.to_json()) == rules
    assert any("rows belong together in 40 groups of 'person'" in note for note in rules.notes)
    assert "groups='person'" in rules.to_html().replace("&#39;", "'").replace('"', "'")
    assert not any(rule.verdict.basis == "margin" for rule in rules)
    held_out = discovered(columns, holdout=0.5)[0].evidence.honest  # type: ignore[union-attr]
    second = discovered(columns, holdout=clustered(6))[0].evidence.honest  # type: ignore[union-attr]
    assert held_out is not None
    assert second is not None
    assert held_out.standard_error is not None
    model = cr.CausalRules(groups="person", k=1, max_length=1).fit(
        {name: values for name, values in columns.items() if name != "y"}, columns["y"]
    )
    assert model.rules_[0].measured.grouped is not None
    path = tmp_path / "table.csv"
    lines = zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, line)) for line in lines)]))
    printed = CliRunner().invoke(
        cli, ["discover", str(path), "--target", "y", "--outcome", "1", "--groups", "person"], catch_exceptions=False
    )
    assert "40 groups" in " ".join(printed.output.split())
    calibrated = discovered(columns, beta="calibrated")
    assert isinstance(calibrated.question.beta, float)
    with pytest.raises(OptionError, match="for the pooled estimator only"):
        discovered(columns, beta="calibrated", estimator="reliable")
    assert discovered(columns, estimator="reliable").significance(19)[0].p_value is not None


def test_a_missing_group_is_a_separate_group_and_wrong_columns_are_errors() -> None:
    columns: dict[str, Any] = clustered(7)
    columns["person"] = [None if i < 3 else f"p{group}" for i, group in enumerate(columns["person"])]
    rules = discovered(columns)
    assert "3 rows without a value of 'person' are groups of their own" in rules.notes
    group = rows_of(rules).group
    assert group is not None
    assert len(set(group)) == 40 + 3
    with pytest.raises(RoleError, match="groups = 'y'"):
        discovered(columns, groups="y")
    with pytest.raises(RoleError, match="groups = 'a'"):
        discovered(columns, groups="a")
    with pytest.raises(cr.CausalRulesError, match="no column 'persn'"):
        discovered(columns, groups="persn")
    with pytest.raises(OptionError, match="only 2 groups"):
        discovered(clustered(9, n_groups=4), actionable="c").cross_fit(3)


def test_sampling_weights_are_refused() -> None:
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {"x": rng.integers(0, 3, 200), "age": rng.random(200), "y": rng.integers(0, 2, 200)}
    advice = "add what they depend on, such as the region, to the controls"
    with pytest.raises(cr.CausalRulesError, match=f"the first in row 1: 1.5.*{advice}"):
        cr.discover(columns | {"w": np.full(200, 1.5)}, "y", 1, weights="w")
    with pytest.raises(cr.CausalRulesError, match=f"look like sampling weights.*'age'.*{advice}"):
        cr.discover(columns | {"w": rng.integers(200, 900, 200)}, "y", 1, weights="w")
    for counts in (np.append(rng.integers(1, 900, 199), 1), rng.integers(0, 3, 200)):  # each row counts once
        assert cr.discover(columns | {"w": counts}, "y", 1, weights="w", k=1)
    table = {name: values for name, values in columns.items() if name != "age"}
    assert cr.discover(table | {"w": rng.integers(200, 900, 200)}, "y", 1, weights="w", k=1)  # counts of 6 cells


def test_an_estimate_without_a_comparison_group_is_undefined() -> None:
    nothing = intervals.grouped(
        np.array([0, 1]), np.array([0.0, 1.0]), [1, 1], (np.array([True, False]), np.array([False, True])), np.arange(2)
    )
    assert nothing.n_groups == 0
    assert np.isnan(intervals.grouped_estimate(float("nan"), nothing).low)


@pytest.mark.parametrize("n_groups", [2, 5, 30])
def test_in_strata_of_one_group_each_the_spread_of_their_differences_counts(n_groups: int) -> None:
    rng = np.random.default_rng([57, n_groups])
    group = np.repeat(np.arange(n_groups), rng.integers(4, 20, n_groups))
    treated = np.concatenate([np.arange(size) % 2 == 0 for size in np.bincount(group)])
    y = 3 * rng.normal(size=n_groups)[group] + rng.normal(1, 1, n_groups)[group] * treated + rng.normal(size=len(group))
    found = intervals.grouped(group, y, np.ones(len(y)), (treated, ~treated), group)
    apart = np.array([y[(group == g) & treated].mean() - y[(group == g) & ~treated].mean() for g in range(n_groups)])
    weight = np.bincount(group) / len(group)
    expected = np.sum(weight**2 * (apart - weight @ apart) ** 2) * n_groups / (n_groups - 1)
    assert found.standard_error == pytest.approx(np.sqrt(expected))
    assert found.n_groups == n_groups


def test_the_difference_of_a_single_group_has_a_wide_interval() -> None:
    y, treated = np.array([0.0, 2.0, 5.0, 9.0]), np.array([True, True, False, False])
    one = np.zeros(4, np.int64)
    found = intervals.grouped(one, y, np.ones(4), (treated, ~treated), one)
    assert found.standard_error >= abs(y[treated].mean() - y[~treated].mean()) / 2
    assert found.degrees == 1


def test_the_first_answer_has_a_p_that_allows_for_groups_and_trust_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    from causalrules.trust import permutation

    seen = set()
    for seed, effect in enumerate([0.0, 0.3, 0.4, 0.5]):
        if seed == 3:
            monkeypatch.setattr(permutation, "FEWEST_DEGREES", 1000)
        columns = clustered(50 + seed)
        rng = np.random.default_rng(seed)
        columns["y"] = np.where(rng.random(320) < effect, (columns["c"] == 2).astype(int), columns["y"])
        rules = discovered(columns)
        assert all(rule.p_value is not None for rule in rules)
        assert [rule.verdict.evidence for rule in rules[1:]] == ["supported"] * len(rules[1:])
        assert rules.nearest is None or rules.nearest.verdict.evidence == "not supported"
        trusted = rules.significance()
        assert [rule.verdict.evidence for rule in trusted] == [rule.verdict.evidence for rule in rules]
        assert rules[0].p_sign == "≈≤≤≤"[seed] or rules[0].verdict.basis == "test"
        seen.add((rules[0].verdict.evidence, rules[0].verdict.basis))
    assert seen == {("not supported", "permutations"), ("supported", "permutations"), ("supported", "test")}


def test_a_clear_effect_needs_no_flips_and_too_much_work_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from causalrules.trust import at_once

    columns = clustered(60)
    weak = clustered(61)
    columns["y"] = np.where(np.arange(320) % 3 > 0, (columns["c"] == 2).astype(int), columns["y"])
    monkeypatch.setattr(at_once, "_MOST_WORK", 0)
    clear, unclear = discovered(columns)[0], discovered(weak)[0]
    assert (clear.verdict.evidence, clear.verdict.basis) == ("supported", "test")
    assert (unclear.verdict.evidence, unclear.verdict.basis) == ("cannot tell", "nothing")
    assert "takes longer than a first answer may" in unclear.verdict.doubts[0]


def test_the_conservative_effect_allows_for_groups() -> None:
    columns = clustered(61)
    grouped, plain = discovered(columns, k=1)[0], discovered(columns, k=1, groups=None)[0]
    assert grouped.text == plain.text
    assert abs(grouped.effect - grouped.reliable_effect) > abs(plain.effect - plain.reliable_effect)
    assert grouped.measured.design_effect == pytest.approx(grouped.standard_error / plain.standard_error)
