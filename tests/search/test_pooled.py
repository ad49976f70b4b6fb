"""The core over coded rows, against brute force: the pooled estimator, levels, unknown values, reference rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import oracle
from causalrules.exceptions import CausalRulesError
from causalrules.search import core as _native
from causalrules.search import remote, values
from coded import CodedTable, agree, drawn_table, expect, in_parts, pack, possible, run
from strategies import coded_questions, coded_tables, examples


@settings(max_examples=examples(200, 600), deadline=None)
@given(coded_tables(), coded_questions(), st.integers(1, 2))
def test_the_search_equals_brute_force(coded: CodedTable, question: dict[str, Any], threads: int) -> None:
    question = possible(question, coded[1])
    agree(run(pack(coded), question, threads), expect(coded, question))


def drawn(random: Random) -> tuple[CodedTable, dict[str, Any]]:
    """Draw a small table and a question for the pooled estimator, without hypothesis and much faster."""
    by_length = sorted(random.choice([0.0, 0.1, 1.0, 2.0, 5.0]) for _ in range(random.randint(1, 4)))
    question = {
        "estimator": "pooled",
        "beta": random.choice([0.0, 0.5, 2.0, 5.0, by_length, by_length]),
        "k": random.randint(1, 10),
        "max_length": random.choice([None, 1, 2, 3]),
        "min_rows": random.choice([0, 0, 2, 5]),
        "margin_scale": random.choice([1.0, 1.0, 0.5, 2.0]),
        "floor": random.choice([-math.inf, -100.0, 0.0123]),
    }
    return drawn_table(random), question


@pytest.mark.parametrize("seed", range(6))
def test_the_pooled_estimator_on_many_small_tables(seed: int) -> None:
    random = Random(seed)
    for _ in range(300):
        coded, question = drawn(random)
        agree(run(pack(coded), question), expect(coded, question))


@settings(max_examples=60, deadline=None)
@given(coded_tables(), coded_questions(), st.integers(1, 3))
def test_rows_in_parts_give_the_same_rules(coded: CodedTable, question: dict[str, Any], n_parts: int) -> None:
    question = possible(question, coded[1])
    agree(run(in_parts(coded, n_parts), question), expect(coded, question))


@settings(max_examples=60, deadline=None)
@given(coded_tables(), coded_questions())
def test_a_search_resumes_from_its_saved_state(coded: CodedTable, question: dict[str, Any]) -> None:
    question = possible(question, coded[1])
    packed = pack(coded)
    search = packed.search(**question)
    for attempt in range(1, 1000):
        if search.step(1e-5 * attempt, 1).done:
            break
        saved = search.save()
        search = packed.search(**question)
        search.restore(saved)
    agree(search.rules(), expect(coded, question))


@settings(max_examples=100, deadline=None)
@given(coded_tables(), st.data())
def test_counts_of_covered_and_failing_rows(coded: CodedTable, data: st.DataObject) -> None:
    table, levels, n_strata = coded
    rule = data.draw(st.lists(st.integers(0, len(table.conditions) - 1), max_size=3))
    everything = table.everything
    covered = may_be = everything
    for index in rule:
        holds, may_hold = table.sets(table.conditions[index])
        covered, may_be = covered & holds, may_be & may_hold
    expected = [
        [[table.values(rows, z).count(level) for level in levels] for z in range(n_strata)]
        for rows in (covered, everything - may_be)
    ]
    for packed in (pack(coded), pack(coded, sizes=True), in_parts(coded, 2)):
        assert [counts.tolist() for counts in packed.count(rule)] == expected


@settings(max_examples=60, deadline=None)
@given(coded_tables(), coded_questions())
def test_sizes_that_were_counted_without_the_columns_change_nothing(
    coded: CodedTable, question: dict[str, Any]
) -> None:
    question = possible(question, coded[1])
    agree(run(pack(coded, sizes=True), question), expect(coded, question))


@settings(max_examples=examples(50, 300), deadline=None)
@given(coded_tables(), coded_questions(), st.integers(0, 6), st.booleans(), st.data())
def test_values_and_bounds_of_the_core_are_the_formulas(
    coded: CodedTable, question: dict[str, Any], length: int, apart: bool, data: st.DataObject
) -> None:
    table, levels, n_strata = coded
    question = possible(question, levels)
    estimator, beta = question["estimator"], question["beta"]
    more: dict[str, Any] = {"levels": levels, "length": length, "margin_scale": question["margin_scale"]}
    everything = table.everything
    every = np.array([[table.values(everything, z).count(level) for level in levels] for z in range(n_strata)])

    def between(low: NDArray[Any], high: NDArray[Any]) -> NDArray[Any]:
        pairs = zip(low.ravel().tolist(), high.ravel().tolist(), strict=True)
        return np.array([data.draw(st.integers(*pair)) for pair in pairs]).reshape(low.shape)

    nothing = np.zeros_like(every)
    most = between(nothing, every)
    least = between(nothing, most)
    failing = None
    if apart:
        fewest = between(nothing, every - most)
        failing = fewest, between(fewest, every - least)
    bound = values.cell_bound(estimator, beta, every, (least, most), failing, **more)
    for _ in range(5):
        covered = between(least, most)
        outside = every - covered
        if failing is not None:
            outside = between(np.minimum(failing[0], outside), np.minimum(failing[1], outside))
        if not covered.sum() or not outside.sum():
            continue
        rows = [np.repeat(levels, counts).tolist() for part in (every, covered, outside) for counts in part]
        sides = [oracle.Sides(*rows[z::n_strata]) for z in range(n_strata)]
        expected = oracle.score(estimator, sides, beta, length, question["margin_scale"], len(levels))
        given_failing = outside if apart else None
        found = values.cell_value(estimator, beta, every, covered, given_failing, **more)
        assert found == pytest.approx(expected, abs=1e-11)
        assert expected <= bound + 1e-11


def refuse(words: str, call: Callable[[], Any], error: type[Exception] = CausalRulesError) -> None:
    with pytest.raises(error, match=words):
        call()


def test_invalid_input_is_rejected() -> None:
    strata, columns = np.zeros(3, np.int32), [np.array([0, 1, -1], np.int32)]

    def table(outcomes: Sequence[int], reference: Any = None, **more: Any) -> _native.PackedTable:
        part = _native.Batch(strata, np.array(outcomes, np.uint8), None, columns, reference)
        return _native.PackedTable([0], [0], [0], 1, 1, [part], **more)

    refuse("level 2 of row 1 is not below 2", lambda: table([0, 2, 1]))
    refuse("increasing numbers", lambda: table([0, 1, 1], levels=[0.0, 1.0, 0.5]), ValueError)
    refuse("increasing numbers", lambda: table([0, 1, 1], levels=[0.0, 2.0]), ValueError)
    refuse("missing is 'maybe'", lambda: table([0, 1, 1], missing="maybe"), ValueError)
    refuse("for all batches", lambda: table([0, 1, 1], reference=np.ones(3, np.uint8)), ValueError)
    three = table([0, 1, 2], levels=[0.0, 0.5, 1.0])
    refuse("not for a target of 3 levels", lambda: three.search(estimator="reliable", beta=2.0, k=1))
    refuse("not for a target of 3 levels", lambda: three.search(estimator="wracc", beta=2.0, k=1))
    refuse("only the pooled", lambda: three.search(estimator="plugin", beta=[1.0, 2.0], k=1))
    refuse("falls with the length", lambda: three.search(estimator="pooled", beta=[2.0, 1.0], k=1))
    refuse("not between 0 and 1000", lambda: three.search(estimator="pooled", beta=[0.0, 2000.0], k=1))
    refuse("margin_scale", lambda: three.search(estimator="pooled", beta=1.0, margin_scale=-1.0, k=1))
    refuse("no estimator", lambda: three.search(estimator="lasso", beta=1.0, k=1), ValueError)
    refuse("more rows than there are", lambda: values.value("reliable", 2.0, 3, 4, 5, 0))
    refuse("more rows than there are", lambda: values.bound("reliable", 2.0, 3, 4, (0, 0), (5, 0)))
    refuse("more than the most", lambda: values.bound("pooled", 2.0, 3, 4, (2, 0), (1, 0)))
    refuse("negative", lambda: values.value("reliable", 2.0, 3, 4, -1, 0), ValueError)


@pytest.mark.parametrize(
    "answers",
    [
        [],
        [np.zeros(2, np.uint64), np.zeros(3, np.uint64)],
        [np.zeros(2, np.int64), np.zeros(2, np.int64)],
        [np.zeros((1, 2), np.uint64)],
        ["no numbers at all"],
    ],
)
def test_answers_of_another_shape_are_refused(answers: list[Any]) -> None:
    refuse("answer", lambda: remote.put_together(np.array([1, 0], np.uint32), answers))


def test_a_set_of_rows_counts_by_its_shortest_description() -> None:
    # Columns 0 and 1 together are equivalent to column 2.
    rng = np.random.default_rng(1)
    first, second = (rng.integers(0, 2, 200) for _ in range(2))
    both = first & second
    target = (rng.random(200) < 0.2 + 0.6 * both).astype(float)
    table = oracle.Coded([0] * 200, target.tolist(), [first.tolist(), second.tolist(), both.tolist()],
                         [(0, 1, 1), (1, 1, 1), (2, 1, 1)], [1] * 200)  # fmt: skip
    question = {"estimator": "pooled", "beta": [0.0, 2.0, 3.0, 4.0], "k": 3, "max_length": None}
    found = run(pack((table, [0.0, 1.0], 1)), question)
    assert found[0][1] == (2,)
    assert len({value for value, _ in found}) == 3


def planted(columns: Sequence[Sequence[int]], target: Sequence[float], conditions: Any) -> CodedTable:
    n = len(target)
    return oracle.Coded([0] * n, target, columns, conditions, [1] * n), [0.0, 1.0], 1


# A margin that affects only rules of three conditions or more, and a minimum value, so that no beam search runs.
STEEP = {"estimator": "pooled", "beta": [0.0, 0.1, 0.1, 50.0], "k": 1, "floor": -100.0}


@pytest.mark.parametrize("max_length", [2, 3, None])
def test_a_bound_is_that_of_the_next_length(max_length: int | None) -> None:
    first, second = [0, 0, 1, 1] * 20, [0, 1, 0, 1] * 20
    both = planted(
        [first, second], [float(a and b) for a, b in zip(first, second, strict=True)], [(0, 1, 1), (1, 1, 1)]
    )
    ((_, conditions),) = run(pack(both), {**STEEP, "max_length": max_length})
    assert conditions == (0, 1)


def test_no_condition_is_there_for_another_branch_alone() -> None:
    # x ≤ 0 lies inside x ≤ 1, with the same positives; the best rule is x ≤ 0 and z = 1, without x ≤ 1.
    x, z = [0, 0, 1, 2] * 20, [0, 1, 1, 1] * 20
    target = [float(a == 0 and b == 1) for a, b in zip(x, z, strict=True)]
    ((_, conditions),) = run(pack(planted([x, z], target, [(0, 0, 1), (0, 0, 0), (1, 1, 1)])), STEEP)
    assert conditions == (1, 2)


def test_unknown_values_are_left_out_of_the_comparison() -> None:
    # Rows with a missing treatment all have the outcome: as untreated rows they would hide the effect.
    treated = [1] * 10 + [0] * 10 + [-1] * 10
    outcome = [1.0] * 8 + [0.0] * 2 + [1.0] * 2 + [0.0] * 8 + [1.0] * 10
    question = {"estimator": "plugin", "beta": 0.0, "k": 1}
    for unknown, effect in ((True, 0.8 - 0.2), (False, 0.8 - 0.6)):
        table = oracle.Coded([0] * 30, outcome, [treated], [(0, 1, 1)], [1] * 30, unknown)
        ((value, _),) = run(pack((table, [0.0, 1.0], 1)), question)
        assert value == pytest.approx(effect, abs=1e-10)


def test_rules_are_compared_with_reference_rows_only() -> None:
    arm = [0] * 10 + [1] * 10 + [2] * 10
    outcome = [1.0] * 2 + [0.0] * 8 + [1.0] * 5 + [0.0] * 5 + [1.0] * 9 + [0.0]
    table = oracle.Coded([0] * 30, outcome, [arm], [(0, 1, 1), (0, 2, 2), (0, 1, 2)], [1] * 30,
                         reference=frozenset(range(10)), codes=(0, 0, 0))  # fmt: skip
    found = run(pack((table, [0.0, 1.0], 1)), {"estimator": "plugin", "beta": 0.0, "k": 3})
    assert [conditions for _, conditions in found] == [(1,), (2,), (0,)]
    assert [value for value, _ in found] == pytest.approx([0.9 - 0.2, 0.7 - 0.2, 0.5 - 0.2], abs=1e-10)
