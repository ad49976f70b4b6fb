"""The oracle itself, on cases worked out by hand and against an even simpler enumeration."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from causalrules.data.reading import read
from causalrules.language import roles
from causalrules.language.language import build_language
from causalrules.language.strata import combine
from strategies import TARGET, SmallTable, questions, small_tables


def is_one(value: Any) -> bool:
    return bool(value == 1)


def answer(table: SmallTable, **options: Any) -> list[oracle.Rule]:
    return oracle.top_k(table.rows, TARGET, is_one, table.actionable, table.control, **options)


def test_reliable_is_the_papers_formula() -> None:
    # a stratum of 4 rows: the rule covers both positives and no negative
    assert oracle.reliable([2], [0], [2], [2], 2.0) == pytest.approx(3 / 4 - 1 / 4 - 1 / 2 - 1 / 2)
    # a second stratum of 2 rows, not covered at all: (1/2 − 2/4 − 1/√2 − 1/2) with weight 6/14
    both = (8 * (-0.5) + 6 * (-1 / math.sqrt(2) - 1 / 2)) / 14
    assert oracle.reliable([2, 0], [0, 0], [2, 1], [2, 1], 2.0) == pytest.approx(both)


def test_reliable_on_the_titanic() -> None:
    assert oracle.reliable([161], [9], [342], [549], 2.0) == pytest.approx(0.57669, abs=5e-6)


def test_plugin_ignores_strata_without_both_sides() -> None:
    assert oracle.plugin([2], [0], [2], [2]) == 1.0
    assert oracle.plugin([2, 0], [0, 0], [2, 1], [2, 1]) == pytest.approx(4 / 6)
    assert oracle.plugin([2, 1], [0, 1], [2, 1], [2, 1]) == pytest.approx(4 / 6)


def test_measures_without_controls_pool_the_strata() -> None:
    # 2 of 3 positives and 1 of 5 negatives are covered
    assert oracle.association([2, 0], [0, 1], [2, 1], [2, 3]) == pytest.approx(2 / 3 - 1 / 5)
    assert oracle.wracc([2, 0], [0, 1], [2, 1], [2, 3]) == pytest.approx(3 / 8 * (2 / 3 - 3 / 8))


@pytest.mark.parametrize(
    ("values", "max_bins", "expected"),
    [
        # 90 % zeros: the tail is still resolved, the bin of zeros cannot be split
        ([0] * 18 + [1, 2], 3, [[0], [1], [2]]),
        ([0] * 18 + [1, 2, 3, 4], 3, [[0], [1, 2], [3, 4]]),
        # even split, then the lowest of the two equally full bins
        ([1, 2, 3, 4], 3, [[1], [2], [3, 4]]),
        # 1 | 2 3 and 1 2 | 3 are equally uneven: the lower cut
        ([1, 2, 3], 2, [[1], [2, 3]]),
        ([5, 5, 5], 8, [[5]]),
        ([1, 2], 1, [[1, 2]]),
    ],
)
def test_bins_by_hand(values: list[int], max_bins: int, expected: list[list[int]]) -> None:
    assert oracle.bins(values, max_bins) == expected


def test_a_missing_value_satisfies_no_condition_and_a_missing_target_drops_the_row() -> None:
    rows: list[dict[str, Any]] = [
        {"y": 1, "age": 10},
        {"y": 0, "age": 20},
        {"y": 1, "age": float("nan")},
        {"y": None, "age": 10},
    ]
    rules = oracle.top_k(rows, "y", is_one, {"age": "number"}, beta=0.0)
    assert [(set(rule.rows), rule.text) for rule in rules] == [({0}, "age ≤ 10"), ({1}, "age ≥ 20")]
    # age ≤ 10 covers 1 of 2 positives and 0 of 1 negatives
    assert rules[0].value == pytest.approx(2 / 3 - 2 / 4)


def test_a_missing_control_is_a_stratum_and_many_numbers_are_four() -> None:
    rows = {i: {"z": value} for i, value in enumerate([*range(9), None])}
    assert oracle.strata(rows, {"z": "number"}, 9) == {i: (i,) for i in range(9)} | {9: (None,)}
    binned = oracle.strata(rows, {"z": "number"}, 8)
    assert [binned[i] for i in range(10)] == [(0,), (0,), (1,), (1,), (2,), (2,), (3,), (3,), (3,), (None,)]


def test_identifiers_make_no_conditions() -> None:
    rows = {i: {"name": name, "unit": unit} for i, (name, unit) in enumerate([("p", "s"), ("q", "s")])}
    found = oracle.propositions(rows, {"name": "text", "unit": "text"}, 8)
    assert [condition.text for condition in found] == ["unit = s"]


def test_equal_rows_are_one_rule_with_its_shortest_then_first_description() -> None:
    rows = [
        {"y": 1, "b": "t", "c": "t", "a": "t"},
        {"y": 1, "b": "t", "c": "t", "a": "t"},
        {"y": 0, "b": "f", "c": "f", "a": "t"},
        {"y": 0, "b": "f", "c": "f", "a": "f"},
    ]
    rules = oracle.top_k(rows, "y", is_one, {"c": "text", "b": "text", "a": "text"}, beta=0.0)
    assert [(sorted(rule.rows), rule.length, rule.text) for rule in rules] == [
        ([0, 1], 1, "b = t"),
        ([0, 1, 2], 1, "a = t"),
        ([3], 1, "a = f"),  # same value as the next, with one condition less
        ([2], 2, "a = t ∧ b = f"),
        ([2, 3], 1, "b = f"),
    ]


def test_ties_go_to_fewer_conditions_then_the_alphabet_also_at_the_last_place() -> None:
    rows = [
        {"y": 1, "p": "1", "q": "0"},
        {"y": 1, "p": "0", "q": "1"},
        {"y": 0, "p": "0", "q": "0"},
        {"y": 0, "p": "0", "q": "0"},
    ]
    rules = oracle.top_k(rows, "y", is_one, {"q": "text", "p": "text"}, k=1, beta=0.0)
    assert [rule.text for rule in rules] == ["p = 1"]


def test_min_coverage_is_a_share_of_the_rows_that_counts_itself() -> None:
    rows = [{"y": int(i < 7), "x": i} for i in range(100)]
    rules = oracle.top_k(rows, "y", is_one, {"x": "number"}, max_bins=64, k=1000, min_coverage=0.07)
    assert min(len(rule.rows) for rule in rules) == 7


@settings(deadline=None, max_examples=60)
@given(small_tables(max_rows=12, max_actionable=3), questions())
def test_equal_to_listing_every_conjunction(table: SmallTable, options: dict[str, Any]) -> None:
    observed = {i: row for i, row in enumerate(table.rows) if row[TARGET] is not None}
    everything = frozenset(observed)
    conditions = oracle.propositions(observed, table.actionable, options["max_bins"])
    longest = len(conditions) if options["max_length"] is None else options["max_length"]
    best: dict[frozenset[int], tuple[int, list[str]]] = {}
    for length in range(1, min(longest, len(conditions)) + 1):
        for rule in itertools.combinations(conditions, length):
            covered = everything.intersection(*(condition.rows for condition in rule))
            if covered and covered != everything:
                description = (length, sorted(condition.text for condition in rule))
                best[covered] = min(best.get(covered, description), description)
    found = oracle.language(everything, conditions, options["max_length"])
    assert {covered: (len(texts), list(texts)) for covered, texts in found.items()} == best


@settings(deadline=None, max_examples=60)
@given(small_tables(), questions(), st.randoms(use_true_random=False))
def test_the_answer_does_not_depend_on_the_order_of_rows_or_columns(
    table: SmallTable, options: dict[str, Any], random: Any
) -> None:
    order = list(range(len(table.rows)))
    random.shuffle(order)
    shuffled = SmallTable(tuple(table.rows[i] for i in order), dict(reversed(table.actionable.items())), table.control)
    expected = answer(table, **options)
    actual = answer(shuffled, **options)
    assert [rule.text for rule in actual] == [rule.text for rule in expected]
    assert [rule.value for rule in actual] == pytest.approx([rule.value for rule in expected], abs=1e-12)
    assert [frozenset(order[i] for i in rule.rows) for rule in actual] == [rule.rows for rule in expected]


@settings(deadline=None, max_examples=60)
@given(small_tables(), questions())
def test_rules_cover_some_rows_but_not_all_and_are_distinct(table: SmallTable, options: dict[str, Any]) -> None:
    n_observed = sum(row[TARGET] is not None for row in table.rows)
    rules = answer(table, **options)
    assert len({rule.rows for rule in rules}) == len(rules) <= options["k"]
    assert all(0 < len(rule.rows) < n_observed for rule in rules)
    assert all(earlier.value >= later.value - 1e-11 for earlier, later in itertools.pairwise(rules))


@settings(deadline=None, max_examples=100)
@given(small_tables(), st.integers(2, 8), st.sampled_from(["drop", "value"]))
def test_the_package_has_the_oracles_conditions_and_strata(table: SmallTable, max_bins: int, missing: str) -> None:
    whole = read(table.columns())
    assigned = roles.resolve(whole, TARGET, 1, control=tuple(table.control), missing_control=missing)
    observed = oracle.compared(table.rows, lambda row: row[TARGET], table.control, missing)
    ids, everything = np.array(list(observed)), frozenset(observed)

    kept = whole.observed(TARGET, None, assigned.control if missing == "drop" else ())
    built = build_language(kept, assigned.actionable, max_bins=max_bins)
    actual = set()
    for condition in built.propositions:
        held = kept.select(condition.column, condition.holds(kept.histogram(condition.column).values))
        actual.add(oracle.Proposition(condition.text, frozenset(ids[held].tolist())))
    expected = set(oracle.propositions(observed, table.actionable, max_bins))
    # a condition that always holds changes no rule, so a constant column may be left out
    assert {it for it in actual if it.rows != everything} == {it for it in expected if it.rows != everything}

    strata = combine(kept, assigned.control, control_bins=4, max_bins=max_bins).strata()
    if table.control:
        index = strata.index_of(kept).tolist()
        labels = oracle.strata(observed, table.control, max_bins)
        pairs = set(zip(index, (labels[i] for i in observed), strict=True))
        assert len(pairs) == len(set(index)) == len(set(labels.values())) == strata.n_strata
