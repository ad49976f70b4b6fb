"""Bins by value: equal values of another table fall into the same bins."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causalrules.data.bins import Bins
from causalrules.data.columns import code_type
from causalrules.data.reading import read
from causalrules.exceptions import DataError
from causalrules.language.strata import combine

numbers = st.lists(st.none() | st.integers(-9, 9) | st.floats(-9, 9), min_size=1, max_size=12)
dates = st.lists(st.none() | st.dates(dt.date(2020, 1, 1), dt.date(2020, 1, 20)), min_size=1, max_size=12)


@given(st.one_of(st.tuples(numbers, numbers), st.tuples(dates, dates)), st.data())
def test_a_value_lies_in_the_first_bin_that_does_not_end_below_it(columns, draw):
    first, second = columns
    table = read({"x": first, "row": range(len(first))})
    values = list(table.histogram("x").values)
    if not values or all(value is None for value in second):
        return
    inner = draw.draw(st.sets(st.integers(0, max(len(values) - 2, 0))))
    ends = np.array(sorted(inner | {len(values) - 1}))
    uppers = [values[end] for end in ends]
    expected = [
        -1 if value is None else next((b for b, upper in enumerate(uppers) if value <= upper), len(uppers) - 1)
        for value in second
    ]
    other = read({"x": second, "row": range(len(second))})
    assert Bins.of(table, "x", ends).codes(other).tolist() == expected
    assert Bins.of(table, "x", ends).codes(table).tolist() == table.codes("x", ends).tolist()


def test_text_that_was_not_seen_is_an_error_or_a_bin_of_its_own():
    bins = Bins.of(read({"x": ["b", "a", "d"]}), "x", np.array([1, 2]))
    other = read({"x": ["d", "c", "a", None, "e", "b"]})
    assert bins.codes(other, unseen=True).tolist() == [1, 2, 0, -1, 3, 0]
    with pytest.raises(DataError, match="column 'x' has the value 'c'"):
        bins.codes(other)
    assert bins.codes(read({"x": [None, None]})).tolist() == [-1, -1]


def test_categories_are_compared_by_their_order_in_the_first_table():
    def sizes(values, categories):
        return read(pd.DataFrame({"x": pd.Categorical(values, categories, ordered=True)}))

    bins = Bins.of(sizes(["s", "m", "l"], ["s", "m", "l"]), "x", np.array([0, 2]))
    assert bins.codes(sizes(["l", "s", "m", None], ["s", "m", "l"])).tolist() == [1, 0, 1, -1]
    assert bins.codes(sizes(["l", "s", "m"], ["l", "m", "s"])).tolist() == [1, 0, 1]
    with pytest.raises(DataError, match="'xl'"):
        bins.codes(sizes(["xl"], ["s", "xl"]), unseen=True)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([1, 2], ["a", "b"], "'x' holds text values, but number values"),
        ([dt.date(2020, 1, 1)], [dt.datetime(2020, 1, 1)], "holds datetime values, but date values"),
        ([dt.datetime(2020, 1, 1)], [dt.datetime(2020, 1, 1, tzinfo=dt.UTC)], "holds datetime with a time zone values"),
    ],
)
def test_values_of_another_type_are_an_error(first, second, message):
    table = read({"x": first})
    with pytest.raises(DataError, match=message):
        Bins.of(table, "x", np.arange(len(first))).codes(read({"x": second}))


def test_strata_of_another_table():
    strata = combine(read({"a": ["p", "p", "q"], "b": [1, 2, None]}), ("a", "b")).strata()
    other = read({"a": ["q", "p", "p", "q", "r", "r", "s"], "b": [None, 2, 9, 1, 1, 1, 1]})
    # A number above all others is in the last bin; combinations that did not occur come after the strata.
    assert strata.index_of(other).tolist() == [2, 1, 1, 3, 4, 4, 5]
    kept = strata.only(np.array([0, 2]))
    assert kept.labels == (strata.labels[0], strata.labels[2])
    assert kept.index_of(read({"a": ["q", "p", "p"], "b": [None, 1, 2]})).tolist() == [1, 0, 2]
    assert combine(other, ()).strata().index_of(other).tolist() == [0] * 7


def test_codes_have_the_smallest_type():
    assert [code_type(n).itemsize for n in (127, 128, 32_767, 32_768)] == [1, 2, 2, 4]
