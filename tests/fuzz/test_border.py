"""The border to the compiled core: arrays of any shape, type and content are rejected or counted, never a crash."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from hostile import watched
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from causalrules.exceptions import CausalRulesError
from causalrules.search import border, core, remote, values
from strategies import examples

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
DTYPES = ["int8", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float64", "bool", "object", "U2"]
SIZES = st.integers(-3, 8) | st.sampled_from([2**31, 2**32, 2**62, -(2**31)])


@st.composite
def arrays(draw: st.DrawFn, n: int, least: int = -2, most: int = 4) -> Any:
    """Draw an array, usually of n small numbers."""
    if draw(st.integers(0, 5)):
        return np.array(draw(st.lists(st.integers(least, most), min_size=n, max_size=n)), np.int32)
    values = draw(st.lists(st.integers(-(2**31), 2**31 - 1) | st.integers(-3, 5), min_size=0, max_size=2 * n))
    array = np.array(values).astype(draw(st.sampled_from(DTYPES)))
    shape = draw(st.sampled_from([(-1,), (-1, 1), (1, -1)]))
    return array.reshape(shape)[:: draw(st.sampled_from([1, -1, 2]))]


def survive(call: Callable[[], Any]) -> Any:
    try:
        with watched():
            result = call()
    except (ValueError, TypeError, OverflowError, IndexError, CausalRulesError, MemoryError) as error:
        event(f"refused: {type(error).__name__}")
        return None
    event("accepted")
    return result


@st.composite
def packed(draw: st.DrawFn) -> tuple[tuple[Any, ...], dict[str, Any]]:
    n, n_columns, n_propositions = draw(st.integers(0, 10)), draw(st.integers(0, 3)), draw(st.integers(0, 4))
    batch = core.Batch(
        draw(arrays(n, -1, 2)),
        draw(arrays(n, 0, 1)),
        draw(st.none() | arrays(n, 0, 3)),
        [draw(arrays(n, -1, 3)) for _ in range(draw(st.sampled_from([n_columns, n_columns, n_columns + 1])))],
        draw(st.none() | st.none() | arrays(n, 0, 1)),
    )
    languages = (draw(arrays(n_propositions, 0, 3)), draw(arrays(n_propositions)), draw(arrays(n_propositions)))
    n_strata = draw(st.sampled_from([1, 2, 3, 3]) | SIZES)
    positional = (*languages, draw(st.sampled_from([n_columns, n_columns]) | SIZES), n_strata, [batch], draw(SIZES))
    named = {
        "levels": draw(st.sampled_from([(0.0, 1.0), (0.0, 0.5, 1.0), (1.0, 0.0), (0.0, math.nan), ()])),
        "missing": draw(st.sampled_from(["false", "unknown", "maybe"])),
        "reference": draw(st.booleans()),
    }
    return positional, named


@settings(max_examples=examples(80, 1500), suppress_health_check=QUIET)
@given(packed(), st.data())
def test_any_rows_and_any_search(drawn: tuple[tuple[Any, ...], dict[str, Any]], data: st.DataObject) -> None:
    positional, named = drawn
    table = survive(lambda: core.PackedTable(*positional, **named))
    if table is None:
        return
    counted = survive(lambda: table.count(data.draw(st.lists(SIZES, max_size=3))))
    if counted is not None:
        assert all((side >= 0).all() for side in counted)
    numbers = st.sampled_from([0.0, 2.0, -1.0, math.nan, math.inf, 1e308])
    options = {
        "estimator": data.draw(st.sampled_from([*border.ESTIMATORS, "none"])),
        "beta": data.draw(numbers | st.lists(numbers, max_size=3)),
        "k": data.draw(st.integers(1, 5) | SIZES),
        "alpha": data.draw(st.sampled_from([1.0, 0.5]) | numbers),
        "max_length": data.draw(st.none() | SIZES),
        "min_rows": data.draw(SIZES),
        "floor": data.draw(numbers | st.just(-math.inf)),
        "margin_scale": data.draw(st.just(1.0) | numbers),
    }
    search = survive(lambda: table.search(**options))
    if search is not None:
        junk = data.draw(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 9), max_size=40))
        if data.draw(st.booleans()):
            survive(lambda: search.restore(np.array(junk, np.uint64)))
        survive(lambda: search.step(0.05, data.draw(st.sampled_from([1, 2, 0, -1]))))
        survive(search.rules)
        saved = survive(search.save)
        if saved is not None and len(saved):
            changed = saved.copy()
            changed[data.draw(st.integers(0, len(saved) - 1))] = data.draw(st.integers(0, 2**64 - 1))
            again = survive(lambda: table.search(**options))
            survive(lambda: again.restore(changed))
            survive(lambda: again.step(0.05, 1))
            survive(again.rules)
    part = survive(lambda: remote.Part(table, data.draw(st.integers(0, 3))))
    question = np.array(data.draw(st.lists(st.integers(0, 9) | st.integers(0, 2**32 - 1), max_size=8)), np.uint32)
    if part is not None:
        survive(lambda: part.answer(question, data.draw(st.integers(0, 50))))


@settings(max_examples=examples(60, 1000), suppress_health_check=QUIET)
@given(st.data())
def test_any_answers_of_workers(data: st.DataObject) -> None:
    question = np.array(data.draw(st.lists(st.integers(0, 9) | st.integers(0, 2**32 - 1), max_size=8)), np.uint32)
    answers = [
        np.array(data.draw(st.lists(st.integers(0, 9), max_size=12))).astype(
            data.draw(st.sampled_from(["uint64", "uint64", "uint64", *DTYPES]))
        )
        for _ in range(data.draw(st.integers(0, 3)))
    ]
    survive(lambda: remote.put_together(question, answers))
    n = data.draw(st.integers(1, 3))
    cells = [data.draw(arrays(n, 0, 5)) for _ in range(4)]
    survive(lambda: values.value("pooled", 2.0, *cells))
    survive(lambda: values.bound("reliable", 2.0, cells[0], cells[1], (cells[2], cells[3]), (cells[0], cells[1])))


@settings(max_examples=examples(20, 100), suppress_health_check=QUIET)
@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 5), min_size=1, max_size=30), st.integers(0, 2))
@example([4320, 0, 20823, 648, 2], 1)  # a bound whose computation did not end
def test_remote_rows_that_say_anything(said: list[int], kind: int) -> None:
    def answer(question: Any, length: int) -> Any:
        numbers = np.resize(np.array(said, np.uint64), length)
        return (numbers, numbers[:-1], numbers.astype(float))[kind if len(said) % 3 == 0 else 0]

    rows = remote.RemoteTable(answer, [0, 0], [0, 1], [0, 1], 2, 1)
    search = survive(lambda: rows.search(estimator="pooled", beta=2.0, k=2, max_length=2, min_rows=0))
    if search is not None:
        survive(lambda: search.step(0.1, 1))
        survive(search.rules)
