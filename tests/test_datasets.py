"""The shipped data against published figures, and the paper's population against its own samples."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causalrules import datasets
from causalrules.estimators import scores
from causalrules.exceptions import OptionError, RoleError

TABLES = [datasets.titanic, datasets.kidney_stones, datasets.berkeley, datasets.renewals, datasets.campaign]
POPULATION = datasets.paper_population()


def count_tables(columns: dict[str, list[Any]], rule: tuple[str, Any], control: str, target: str) -> Any:
    """The four counts a, b, c, d in each stratum of the control."""
    counted = Counter(
        (z, x == rule[1], y) for z, x, y in zip(columns[control], columns[rule[0]], columns[target], strict=True)
    )
    strata = sorted(set(columns[control]))
    return [[counted[z, x, y] for z in strata] for x, y in ((True, 1), (True, 0), (False, 1), (False, 0))]


def test_titanic_is_the_kaggle_training_set() -> None:
    columns = datasets.titanic(library="dict")
    assert list(columns) == ["survived", "class", "sex", "age", "sibsp", "parch", "fare", "embarked"]
    assert {len(column) for column in columns.values()} == {891}
    assert {name: column.count(None) for name, column in columns.items() if None in column} == {
        "age": 177,
        "embarked": 2,
    }
    # published means of the training set: survival 0.3838, class 2.3086, age 29.6991, fare 32.2042
    assert np.mean(columns["survived"]) == pytest.approx(0.383838, abs=1e-6)
    assert np.mean(columns["class"]) == pytest.approx(2.308642, abs=1e-6)
    assert np.mean([age for age in columns["age"] if age is not None]) == pytest.approx(29.699118, abs=1e-6)
    assert np.mean(columns["fare"]) == pytest.approx(32.204208, abs=1e-6)
    assert Counter(columns["sex"]) == {"male": 577, "female": 314}
    assert Counter(columns["embarked"]) == {"S": 644, "C": 168, "Q": 77, None: 2}


def test_titanic_gives_the_papers_best_rule() -> None:
    columns = datasets.titanic(library="dict")
    covered = [c <= 2 and s == "female" for c, s in zip(columns["class"], columns["sex"], strict=True)]
    cells = Counter(zip(covered, columns["survived"], strict=True))
    a, b, c, d = cells[True, 1], cells[True, 0], cells[False, 1], cells[False, 0]
    assert scores.reliable_effect(a, b, c, d, beta=2) == pytest.approx(0.57669, abs=5e-6)
    assert sum(covered) / 891 == pytest.approx(0.19080, abs=5e-6)


def test_kidney_stones_reverse_when_adjusted() -> None:
    columns = datasets.kidney_stones(library="dict")
    assert len(columns["size"]) == 700
    # the published rates: A 273/350 = 78 %, B 289/350 = 83 %
    table = count_tables(columns, ("treatment", "A"), "size", "success")
    assert scores.marginal_effect(*table) == pytest.approx(0.78 - 289 / 350)
    assert scores.effect(*table) > 0.05


def test_berkeley_reverses_when_adjusted() -> None:
    columns = datasets.berkeley(library="dict")
    assert len(columns["gender"]) == 4526
    # the published rates: 1198 of 2691 men, 557 of 1835 women
    table = count_tables(columns, ("gender", "female"), "department", "admitted")
    assert scores.marginal_effect(*table) == pytest.approx(557 / 1835 - 1198 / 2691)
    assert scores.effect(*table) > 0.03
    assert Counter(columns["department"]) == {"A": 933, "B": 585, "C": 918, "D": 792, "E": 584, "F": 714}


@pytest.mark.parametrize("load", TABLES)
def test_every_library_holds_the_same_values(load: Any) -> None:
    columns = load(library="dict")
    in_pandas, in_polars = load(library="pandas"), load(library="polars")
    assert isinstance(in_pandas, pd.DataFrame)
    assert isinstance(load(), pd.DataFrame)
    assert isinstance(in_polars, pl.DataFrame)
    assert in_polars.to_dict(as_series=False) == columns
    assert in_pandas.astype(object).where(in_pandas.notna(), None).to_dict("list") == columns


@pytest.mark.parametrize("load", TABLES)
def test_an_unknown_library_is_an_error_that_names_it(load: Any) -> None:
    with pytest.raises(OptionError, match="library is 'panda'; it must be one of 'pandas'"):
        load(library="panda")


def test_a_table_without_pandas_is_a_dict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causalrules.datasets._frame.find_spec", lambda name: None)
    assert isinstance(datasets.kidney_stones(), dict)
    with pytest.raises(OptionError, match="'polars', which is not installed; install it or"):
        datasets.kidney_stones(library="polars")


def test_reading_the_titanic_loads_no_dataframe_library() -> None:
    program = (
        "import sys; from causalrules import datasets; datasets.titanic(library='dict');"
        "sys.exit(', '.join({'pandas', 'polars', 'duckdb', 'pyarrow'} & set(sys.modules)) or 0)"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stderr) == (0, "")


CONDITIONS = st.dictionaries(st.sampled_from(POPULATION.actionable), st.integers(0, 1), min_size=1)


def test_no_rule_of_the_population_beats_the_best() -> None:
    best = POPULATION.best()
    assert best.effect == 0.19  # 0.9 · (0.7 − 0.5) + 0.1 · (0.5 − 0.4)
    assert best.conditions == (("x1", 1),)
    # x4 … x6 behave as x2 and x3 do
    for values in itertools.product((None, 0, 1), repeat=3):
        rule = {f"x{i}": value for i, value in enumerate(values, 1) if value is not None}
        if rule and rule != {"x1": 1}:
            assert POPULATION.effect(rule) < 0.19


@given(CONDITIONS)
def test_effects_follow_from_the_model_by_arithmetic(rule: dict[str, int]) -> None:
    """With m coins in a rule on x1, not-σ is a mixture: x1 fails, or x1 holds and the coins fail."""
    coins = 0.5 ** len(set(rule) - {"x1"})
    expected = 0.0
    if "x1" in rule:
        for p_z, p_x1, p_y in ((0.9, 0.8, (0.5, 0.7)), (0.1, 0.5, (0.4, 0.5))):
            hit = p_x1 if rule["x1"] else 1 - p_x1
            y_hit, y_miss = p_y[rule["x1"]], p_y[1 - rule["x1"]]
            lost = hit * (1 - coins)
            expected += p_z * (y_hit - (lost * y_hit + (1 - hit) * y_miss) / (lost + 1 - hit))
    assert POPULATION.effect(rule) == pytest.approx(expected, abs=1e-12)
    assert POPULATION.effect(rule.items()) == POPULATION.effect(rule)


def test_a_large_sample_has_the_true_probabilities() -> None:
    columns = {
        name: np.array(values)
        for name, values in POPULATION.sample(200_000, 3, stratified=False, library="dict").items()
    }
    assert list(columns) == ["z", "x1", "x2", "x3", "x4", "x5", "x6", "y"]
    z, x1, y = columns["z"] == 1, columns["x1"] == 1, columns["y"]
    assert z.mean() == pytest.approx(0.9, abs=0.005)
    assert x1[z].mean() == pytest.approx(0.8, abs=0.01)
    assert x1[~z].mean() == pytest.approx(0.5, abs=0.02)
    for rows, p_y in ((z & x1, 0.7), (z & ~x1, 0.5), (~z & x1, 0.5), (~z & ~x1, 0.4)):
        assert y[rows].mean() == pytest.approx(p_y, abs=0.02)
    correlation = np.corrcoef([columns[f"x{i}"] for i in range(2, 7)] + [x1, z, y])
    assert np.abs(correlation[:5] - np.eye(8)[:5]).max() < 0.02
    rule = [("x1", 1), ("x2", 0)]
    held = np.all([columns[name] == value for name, value in rule], axis=0)
    listed = {"z": list(columns["z"]), "rule": list(held), "y": list(y)}
    estimate = scores.effect(*count_tables(listed, ("rule", True), "z", "y"))
    assert estimate == pytest.approx(POPULATION.effect(rule), abs=0.02)


@settings(max_examples=30)
@given(st.integers(1, 500), st.integers(0, 2**32))
def test_stratified_samples_fix_the_size_of_each_stratum(n: int, seed: int) -> None:
    columns = POPULATION.sample(n, seed, library="dict")
    assert {len(column) for column in columns.values()} == {n}
    assert abs(sum(columns["z"]) - 0.9 * n) <= 0.5 + 1e-9
    assert columns == POPULATION.sample(n, seed, library="dict")
    assert {value for column in columns.values() for value in column} <= {0, 1}


def test_plain_samples_and_seeds_differ() -> None:
    plain = [sum(POPULATION.sample(200, seed, stratified=False, library="dict")["z"]) for seed in range(20)]
    assert len(set(plain)) > 3
    assert POPULATION.sample(200, 1, library="dict") != POPULATION.sample(200, 2, library="dict")


@pytest.mark.parametrize(
    ("conditions", "error", "message"),
    [
        ({"z": 1}, RoleError, "no actionable variable 'z'; use one of x1, x2"),
        ({"x1": 2}, OptionError, "x1 is never 2; its values are 0 and 1"),
        ({}, OptionError, "hold always"),
        ([("x1", 0), ("x1", 1)], OptionError, r"\['x1 = 0', 'x1 = 1'\] hold never"),
    ],
)
def test_rules_outside_the_population_are_errors(conditions: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        POPULATION.effect(conditions)


def test_an_empty_sample_is_an_error() -> None:
    with pytest.raises(OptionError, match="n is 0; a sample needs at least 1 row"):
        POPULATION.sample(0)


def test_renewals_have_the_effects_that_they_promise() -> None:
    table = datasets.renewals(n_rows=200_000, seed=3, library="pandas")
    holds = {
        "called": (table["call"] == "yes") & (table["discount"] >= 10),
        "app": table["app"] == "yes",
        "newsletter": table["newsletter"] == "yes",
    }
    for name, truth in {"called": 0.18, "app": 0.06, "newsletter": 0.0}.items():
        others = ["complaint", "tenure", *(["call", "discount"] if name != "called" else ["app"])]
        means = table.assign(holds=holds[name]).groupby([*others, "holds"])["renewed"].mean().unstack()
        sizes = table.groupby(others).size()
        assert np.average(means[True] - means[False], weights=sizes) == pytest.approx(truth, abs=0.012), name


def test_campaigns_help_whom_they_promise_to_help() -> None:
    table = datasets.campaign(n_rows=200_000, seed=3, library="pandas")
    old = (table["age"] >= 50) & (table["region"] == "south")
    new = table["visits"] <= 1
    assert old.mean() == pytest.approx(0.22, abs=0.01)
    assert new.mean() == pytest.approx(0.2, abs=0.01)
    for action, group, truth in (("letter", old, 0.2), ("call", new, 0.18)):
        assert (table[action] == "yes").mean() == pytest.approx(0.5, abs=0.01)
        for inside, effect in ((group, truth), (~group, 0.0)):
            means = table[inside].groupby(action)["bought"].mean()
            assert means["yes"] - means["no"] == pytest.approx(effect, abs=0.012), action
