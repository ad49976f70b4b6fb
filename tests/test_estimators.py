"""The formulas, against the oracle's and against their definitions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from causalrules.estimators import intervals, scores
from causalrules.estimators.sides import Side, both, side_of
from causalrules.exceptions import OptionError
from causalrules.question import ESTIMATORS

Tables = list[tuple[int, int, int, int]]

COUNT = st.integers(0, 60)
TABLES = st.lists(st.tuples(COUNT, COUNT, COUNT, COUNT), min_size=1, max_size=6).filter(
    lambda tables: sum(map(sum, tables)) > 0
)
BETA = st.floats(0, 5)
KIDNEY = [(81, 6, 234, 36), (192, 71, 55, 25)]


def counts(tables: Tables) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    a, b, c, d = np.array(tables).T
    return a, b, c, d


def as_oracle(tables: Tables) -> tuple[list[int], list[int], list[int], list[int]]:
    a, b, c, d = (list(column) for column in zip(*tables, strict=True))
    return a, b, [x + y for x, y in zip(a, c, strict=True)], [x + y for x, y in zip(b, d, strict=True)]


def covers_some_not_all(tables: Tables) -> bool:
    a, b, c, d = map(sum, zip(*tables, strict=True))
    return a + b > 0 and c + d > 0


@given(TABLES.filter(covers_some_not_all), BETA, st.sampled_from(ESTIMATORS))
def test_objectives_equal_the_oracles(tables: Tables, beta: float, estimator: str) -> None:
    expected = oracle.objective(estimator, *as_oracle(tables), beta)
    expected = 0.0 if expected == -math.inf else expected  # no comparison possible
    assert scores.objective(estimator, *counts(tables), beta) == pytest.approx(expected, abs=1e-12)


@given(TABLES)
def test_laplace_adds_one_to_each_cell_of_the_pooled_table(tables: Tables) -> None:
    a, b, c, d = (sum(column) + 1 for column in zip(*tables, strict=True))
    association = scores.association(*counts(tables), laplace=True)
    assert association == pytest.approx(a / (a + b) - c / (c + d), abs=1e-12)
    wracc = scores.wracc(*counts(tables), laplace=True)
    n = a + b + c + d
    assert wracc == pytest.approx((a + b) / n * (a / (a + b) - (a + c) / n), abs=1e-12)


@given(TABLES, BETA)
def test_the_reliable_effect_is_its_differences_times_their_weights(tables: Tables, beta: float) -> None:
    weights = scores.reliable_weights(*counts(tables))
    assert weights.sum() == pytest.approx(1)
    total = sum(
        scores.reliable_difference(*table, beta) * weight for table, weight in zip(tables, weights, strict=True)
    )
    assert scores.reliable_effect(*counts(tables), beta) == pytest.approx(total, abs=1e-12)


@given(TABLES)
def test_plugin_is_effect_times_overlap(tables: Tables) -> None:
    table = counts(tables)
    overlap = scores.overlap(*table)
    assert 0 <= overlap <= 1
    if overlap == 0:
        assert scores.plugin_effect(*table) == 0
        assert math.isnan(scores.effect(*table))
        assert math.isnan(intervals.standard_error(*table))
        assert all(map(math.isnan, intervals.interval(*table)))
    else:
        product = scores.effect(*table) * overlap
        assert scores.plugin_effect(*table) == pytest.approx(product, abs=1e-12)


@given(TABLES)
def test_the_effect_is_the_difference_of_two_probabilities(tables: Tables) -> None:
    table = counts(tables)
    with_rule, without = scores.p_do_rule(*table), scores.p_do_not_rule(*table)
    if scores.overlap(*table) > 0:
        assert -1e-12 <= with_rule <= 1 + 1e-12
        assert -1e-12 <= without <= 1 + 1e-12
        assert scores.effect(*table) == pytest.approx(with_rule - without, abs=1e-12)
    else:
        assert math.isnan(with_rule)
        assert math.isnan(without)


@given(TABLES.filter(covers_some_not_all))
def test_one_stratum_needs_no_adjustment(tables: Tables) -> None:
    pooled = tuple(np.sum(counts(tables), axis=1))
    assert scores.marginal_effect(*counts(tables)) == pytest.approx(scores.effect(*pooled), abs=1e-12)


@given(TABLES.filter(covers_some_not_all))
def test_wracc_is_the_papers_product(tables: Tables) -> None:
    a, b, c, d = map(sum, zip(*tables, strict=True))
    n = a + b + c + d
    expected = (a + b) / n * (a / (a + b) - (a + c) / n)
    assert scores.wracc(*counts(tables)) == pytest.approx(expected, abs=1e-12)


@given(TABLES, st.randoms(use_true_random=False))
def test_the_order_of_the_strata_does_not_matter(tables: Tables, random: Any) -> None:
    shuffled = random.sample(tables, len(tables))
    for formula in (scores.reliable_effect, scores.effect, intervals.standard_error):
        expected = formula(*counts(tables))
        assert formula(*counts(shuffled)) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_the_standard_error_is_the_spread_of_the_effect_over_samples() -> None:
    # strata of fixed size and fixed sides; outcomes drawn with p = 0.3 / 0.6 and q = 0.2 / 0.5
    random = np.random.default_rng(7)
    sides = [(40, 120), (90, 30)]
    a = random.binomial([side[0] for side in sides], [0.3, 0.6], (4000, 2))
    c = random.binomial([side[1] for side in sides], [0.2, 0.5], (4000, 2))
    tables = [(a[i], np.array([40, 90]) - a[i], c[i], np.array([120, 30]) - c[i]) for i in range(len(a))]
    effects = np.array([scores.effect(*table) for table in tables])
    errors = np.array([intervals.standard_error(*table) for table in tables])
    assert errors.mean() == pytest.approx(effects.std(), rel=0.05)
    inside = np.array([low <= 0.1 <= high for low, high in (intervals.interval(*t) for t in tables)])
    assert inside.mean() == pytest.approx(0.95, abs=0.02)


@given(TABLES)
def test_no_interval_is_without_width_and_each_holds_its_effect(tables: Tables) -> None:
    table = counts(tables)
    if scores.overlap(*table) > 0:
        low, high = intervals.interval(*table)
        assert low < high
        assert low - 1e-12 <= scores.effect(*table) <= high + 1e-12


@pytest.mark.parametrize("base", [0.02, 0.3, 0.98])
@pytest.mark.parametrize("change", [0.0, 0.05, 0.15, 0.3])
@pytest.mark.parametrize("n_strata", [1, 20, 100])
def test_intervals_cover_and_are_no_wider_than_they_need_be(base: float, change: float, n_strata: int) -> None:
    """2,000 rows, 30 % covered. (benchmarks/coverage.py has the whole grid.)"""
    random = np.random.default_rng([n_strata, round(100 * base), round(100 * change)])
    k = np.maximum(1, random.binomial(2000 // n_strata, 0.3, n_strata))
    f = 2000 // n_strata - k
    q = np.clip(base * random.uniform(0.5, 1.5, n_strata), 0.01, 0.99)
    p = np.clip(q + (change if base < 0.5 else -change), 0.01, 0.99)
    truth = np.average(p - q, weights=k + f)
    hits, times = 0.0, 300
    for a, c in zip(random.binomial(k, p, (times, n_strata)), random.binomial(f, q, (times, n_strata)), strict=True):
        low, high = intervals.interval(a, k - a, c, f - c)
        hits += bool(low <= truth <= high)
    assert 0.91 <= hits / times <= 0.985


def test_means_over_small_strata_have_intervals_that_cover() -> None:
    random = np.random.default_rng(5)
    k = np.array([1, 2, 1, 3, 2, 1, 2, 4])
    hits, times = 0, 600
    for _ in range(times):
        sides = []
        for n, shift, spread in ((k, 0.3, 2.0), (k + 2, 0.0, 1.0)):
            stratum = np.repeat(np.arange(len(n)), n)
            y = random.normal(size=len(stratum)) * spread + shift + stratum
            everything = np.ones(len(y), bool)
            sides.append(side_of(stratum, y, np.ones(len(y)), everything, len(n)))
        all_rows = both(*sides)
        found = intervals.estimate(sides[0], sides[1], all_rows, binary=False)
        hits += found.low <= 0.3 <= found.high
    assert 0.92 <= hits / times <= 0.98


VALUES = st.lists(st.floats(-5, 5), min_size=1, max_size=12)


def exact_sums(values: list[float]) -> tuple[float, float, float, float]:
    """Return rows, sum, squared deviations and cubes of a list, as fractions."""
    numbers = [Fraction(value) for value in values]
    mean = sum(numbers, Fraction(0)) / max(len(numbers), 1)
    powers = (sum(((number - mean) ** power for number in numbers), Fraction(0)) for power in (2, 3))
    return (float(len(numbers)), float(sum(numbers)), *map(float, powers))  # type: ignore[return-value]


@given(VALUES, VALUES, st.sampled_from([0.0, 1e6]))
def test_sides_and_their_sum_are_those_of_the_rows(one: list[float], other: list[float], shift: float) -> None:
    one, other = [value + shift for value in one], [value + shift for value in other]
    sides = []
    for values in (one, other):
        rows = np.zeros(len(values), int), np.array(values), np.ones(len(values)), np.ones(len(values), bool)
        sides.append(side_of(*rows, 1))
        assert [float(each[0]) for each in sides[-1]] == pytest.approx(exact_sums(values), rel=1e-6, abs=1e-5)
        distinct, n = np.unique(values, return_counts=True)
        levels = Side.of_levels(n[None, :], distinct)
        assert [float(each[0]) for each in levels] == pytest.approx(exact_sums(values), rel=1e-6, abs=1e-5)
    together = both(*sides)
    assert [float(each[0]) for each in together] == pytest.approx(exact_sums(one + other), rel=1e-6, abs=1e-5)


@given(st.integers(0, 9), st.integers(0, 9))
def test_a_binary_side_is_that_of_its_rows(positive: int, negative: int) -> None:
    side = Side.binary(positive, negative)
    expected = exact_sums([1.0] * positive + [0.0] * negative)
    assert [float(each[0]) for each in side] == pytest.approx(expected, abs=1e-12)


@given(TABLES)
def test_effective_rows_are_at_most_those_compared(tables: Tables) -> None:
    a, b, c, d = counts(tables)
    sides = [Side.binary(*pair) for pair in ((a, b), (c, d), (a + c, b + d))]
    found = intervals.effective_rows(sides[0], sides[1], sides[2])
    compared = sides[2].n[(a + b > 0) & (c + d > 0)].sum()
    assert 0 <= found <= compared * (1 + 1e-12)
    assert (found > 0) == (compared > 0)


def test_a_balanced_experiment_is_worth_its_rows() -> None:
    half, every = Side.binary(30, 20), Side.binary(60, 40)
    assert intervals.effective_rows(half, half, every) == pytest.approx(100)


@pytest.mark.parametrize("share", [0.005, 0.01, 0.02, 0.05])
@pytest.mark.parametrize(("base", "change"), [(0.1, 0.0), (0.3, 0.0), (0.5, 0.2)])
def test_intervals_cover_where_few_rows_of_a_large_stratum_are_covered(
    share: float, base: float, change: float
) -> None:
    """Half of 4,000 rows have this propensity, the others 50 %. (benchmarks/coverage.py overlap has the whole grid.)"""
    random = np.random.default_rng([round(1000 * share), round(10 * base)])
    shares, low = np.array([share, 0.5]), base * np.array([0.6, 1.4])
    hits, times = 0, 1000
    for _ in range(times):
        size = random.multinomial(4000, [0.5, 0.5])
        k = random.binomial(size, shares)
        a, c = random.binomial(k, low + change), random.binomial(size - k, low)
        least, most = intervals.interval(a, k - a, c, size - k - c)
        hits += bool(least <= change <= most) or not k[0]
    assert hits / times >= 0.92


TAILS: dict[str, Any] = {
    "lognormal 1.5": lambda random, n: random.lognormal(0, 1.5, n) - np.exp(1.125),
    "lognormal 2": lambda random, n: random.lognormal(0, 2, n) - np.exp(2),
    "97 % zeros": lambda random, n: (random.random(n) < 0.03) * random.exponential(size=n) - 0.03,
    "its mirror image": lambda random, n: 0.03 - (random.random(n) < 0.03) * random.exponential(size=n),
}


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("n_strata", [1, 5])
def test_intervals_of_means_cover_in_long_tails(tail: str, n_strata: int) -> None:
    """100 of 1,000 rows are covered; Student's interval covers 80 to 90 %. (benchmarks/coverage.py skewed has more.)"""
    random = np.random.default_rng([list(TAILS).index(tail), n_strata])
    stratum, covered = np.arange(1000) % n_strata, np.arange(1000) < 100
    hits, times = 0, 400
    for _ in range(times):
        y = TAILS[tail](random, 1000) + stratum
        sides = [side_of(stratum, y, np.ones(1000), rows, n_strata) for rows in (covered, ~covered, covered | ~covered)]
        found = intervals.estimate(sides[0], sides[1], sides[2], binary=False)
        hits += found.low <= 0 <= found.high
    assert hits / times >= 0.91


def test_intervals_cover_the_population_where_effects_differ() -> None:
    """Effects of −0.5 and 0.7 in strata of random size: conditional on the sizes, the interval would be too short."""
    random = np.random.default_rng(2)
    low, change = np.array([0.7, 0.2]), np.array([-0.5, 0.7])
    hits, times = 0, 600
    for _ in range(times):
        size = random.multinomial(1000, [0.5, 0.5])
        k = random.binomial(size, 0.5)
        a, c = random.binomial(k, low + change), random.binomial(size - k, low)
        least, most = intervals.interval(a, k - a, c, size - k - c)
        hits += least <= 0.1 <= most
    assert 0.93 <= hits / times <= 0.97


@pytest.mark.parametrize(("degrees", "quantile"), [(1, 12.706), (2, 4.303), (3, 3.182), (10, 2.228), (1e9, 1.960)])
def test_students_quantiles(degrees: float, quantile: float) -> None:
    assert intervals.student(0.95, degrees) == pytest.approx(quantile, rel=0.01)


@pytest.mark.parametrize("p", [0.02, 0.5, 0.98])
def test_the_interval_of_small_sides_near_certainty_is_cautious(p: float) -> None:
    # 12 rows with the rule, where the outcome may occur never or always; 60 without, q = 0.5
    random = np.random.default_rng(11)
    a, c = random.binomial(12, p, 3000), random.binomial(60, 0.5, 3000)
    spans = [intervals.interval(x, 12 - x, y, 60 - y) for x, y in zip(a, c, strict=True)]
    assert np.mean([low <= p - 0.5 <= high for low, high in spans]) > 0.93


def test_intervals_stay_within_the_range_of_effects() -> None:
    low, high = intervals.interval(3, 1, 0, 4, confidence=0.999)
    assert low < 0.75 < high <= 1
    assert intervals.interval(0, 4, 3, 1, confidence=0.999) == pytest.approx((-high, -low))


def test_simpsons_paradox_shows_in_the_kidney_stones() -> None:
    assert scores.effect(*counts(KIDNEY)) == pytest.approx((81 / 87 - 234 / 270) * 0.51 + (192 / 263 - 55 / 80) * 0.49)
    assert scores.marginal_effect(*counts(KIDNEY)) == pytest.approx(273 / 350 - 289 / 350)


@pytest.mark.parametrize(("confidence", "beta"), [(0.95, 1.959964), (0.9545, 2.000002), (0.99, 2.575829)])
def test_beta_of_the_usual_confidence_levels(confidence: float, beta: float) -> None:
    assert intervals.beta_of_confidence(confidence) == pytest.approx(beta, abs=1e-5)


@pytest.mark.parametrize("confidence", [-0.1, 1, 1.5, 95, math.nan])
def test_confidence_outside_its_range_is_an_error(confidence: float) -> None:
    with pytest.raises(OptionError, match=f"confidence = {confidence}"):
        intervals.beta_of_confidence(confidence)


def test_an_unknown_estimator_is_an_error_that_names_it() -> None:
    with pytest.raises(OptionError, match="estimator is 'relieable'; it must be one of 'pooled', 'reliable'"):
        scores.objective("relieable", 1, 1, 1, 1)
