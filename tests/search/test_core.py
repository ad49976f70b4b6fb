"""The core from Python: its values equal the formulas', its bounds hold, and invalid input is rejected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from causalrules.exceptions import CausalRulesError
from causalrules.search import border, values
from causalrules.search import core as _native
from strategies import examples

ESTIMATORS = sorted(border.ESTIMATORS)


@st.composite
def boxes(draw: st.DrawFn) -> list[tuple[int, int, int, int, int, int]]:
    """Draw for each stratum: all positives, the most and fewest covered; the same for negatives."""

    def side() -> tuple[int, int, int]:
        n = draw(st.integers(0, 60))
        high = draw(st.integers(0, n))
        return n, high, draw(st.integers(0, high))

    return [side() + side() for _ in range(draw(st.integers(1, 5)))]


@settings(max_examples=examples(200, 400), deadline=None)
@given(boxes(), st.sampled_from(ESTIMATORS), st.floats(0, 6), st.data())
def test_no_reachable_value_exceeds_the_bound(
    box: list[tuple[int, ...]], estimator: str, beta: float, data: st.DataObject
) -> None:
    n1, a_high, a_low, n0, b_high, b_low = (list(column) for column in zip(*box, strict=True))
    bound = values.bound(estimator, beta, n1, n0, (a_low, b_low), (a_high, b_high))
    for _ in range(10):
        a = [data.draw(st.integers(low, high)) for low, high in zip(a_low, a_high, strict=True)]
        b = [data.draw(st.integers(low, high)) for low, high in zip(b_low, b_high, strict=True)]
        assert oracle.objective(estimator, a, b, n1, n0, beta) <= bound + 1e-12


@settings(max_examples=examples(150, 300), deadline=None)
@given(boxes(), st.sampled_from(ESTIMATORS), st.floats(0, 6))
def test_the_value_is_the_formulas(box: list[tuple[int, ...]], estimator: str, beta: float) -> None:
    n1, a, _, n0, b, _ = (list(column) for column in zip(*box, strict=True))
    if sum(n1) + sum(n0) == 0:
        return
    expected = oracle.objective(estimator, a, b, n1, n0, beta)
    assert values.value(estimator, beta, n1, n0, a, b) == pytest.approx(expected, abs=1e-12)


def batch(**changes: Any) -> _native.Batch:
    arrays: dict[str, Any] = {
        "strata": np.array([0, 0, 1], np.int32),
        "outcomes": np.array([1, 0, 1], np.uint8),
        "weights": None,
        "columns": [np.array([0, 1, -1], np.int32)],
    }
    return _native.Batch(**{**arrays, **changes})


def table(part: _native.Batch, n_strata: int = 2, max_weight: int = 1) -> _native.PackedTable:
    return _native.PackedTable([0, 0], [0, 1], [0, 1], 1, n_strata, [part], max_weight)


def test_counts_by_stratum_and_outcome() -> None:
    packed = table(batch())
    assert [counts.tolist() for counts in packed.count()] == [[[1, 1], [0, 1]], [[0, 0], [0, 0]]]
    assert [counts.tolist() for counts in packed.count([0])] == [[[0, 1], [0, 0]], [[1, 0], [0, 1]]]
    assert [counts.tolist() for counts in packed.count([0, 1])] == [[[0, 0], [0, 0]], [[1, 1], [0, 1]]]


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (batch(strata=np.array([0, 0, 5], np.int32)), "stratum 5"),
        (batch(strata=np.array([0, 0, -1], np.int32)), "stratum -1"),
        (batch(weights=np.array([1, 1, 9], np.uint64)), "weight 9"),
    ],
)
def test_invalid_rows_are_rejected(part: _native.Batch, words: str) -> None:
    with pytest.raises(CausalRulesError, match=words):
        table(part)


def test_arrays_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="lengths"):
        table(batch(outcomes=np.array([1], np.uint8)))


def test_unknown_conditions_and_options_are_refused() -> None:
    packed = table(batch())
    with pytest.raises(CausalRulesError, match="no proposition 7"):
        packed.count([7])
    with pytest.raises(CausalRulesError, match="k = 0"):
        _native.NativeSearch(packed, estimator="reliable", beta=2.0, k=0)
    with pytest.raises(CausalRulesError, match="beta"):
        _native.NativeSearch(packed, estimator="reliable", beta=-1.0, k=1)
