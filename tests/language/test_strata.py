import itertools
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from causalrules.data.reading import read
from causalrules.language.strata import combine

columns = st.one_of(
    st.lists(st.one_of(st.none(), st.integers(0, 9)), min_size=12, max_size=12),
    st.lists(st.one_of(st.none(), st.floats(-2, 2)), min_size=12, max_size=12),
    st.lists(st.one_of(st.none(), st.sampled_from(["a", "b", "c d"])), min_size=12, max_size=12),
    st.lists(st.one_of(st.none(), st.booleans()), min_size=12, max_size=12),
)


MANY_DIGITS = st.floats(-1, 1) | st.floats(-1e6, 1e6) | st.floats(allow_nan=False, allow_infinity=False)


NEIGHBOURS = st.tuples(st.floats(0, 1), st.integers(0, 3)).map(lambda pair: pair[0] + pair[1] * 2**-52)


@given(st.lists(MANY_DIGITS | NEIGHBOURS, min_size=9, max_size=40, unique=True))
def test_bins_of_controls_are_printed_short_and_apart(numbers):
    groups = combine(read({"z": [float(number) for number in numbers]}), ["z"]).strata()
    values = sorted(map(float, numbers))
    ends = [0, *(int(end) + 1 for end in groups.ends["z"])]
    last = -math.inf
    for stratum, (first, end) in zip(groups.labels, itertools.pairwise(ends), strict=True):
        low, _, high = stratum["z"].partition(" to ")
        typed = float(low), float(high or low)
        assert [value for value in values if typed[0] <= value <= typed[1]] == values[first:end]
        assert last < typed[0]
        last = typed[1]


controls = st.dictionaries(st.sampled_from("abc"), columns, max_size=3)


@given(controls, st.randoms(use_true_random=False))
def test_strata_are_the_observed_combinations_in_any_order_of_rows(data, random):
    rows = list(range(12))
    random.shuffle(rows)
    shuffled = {name: [values[row] for row in rows] for name, values in data.items()}
    data, shuffled = ({**d, "row": list(range(12))} for d in (data, shuffled))
    names = tuple(name for name in data if name != "row")
    plain, mixed = (combine(read(d), names, max_bins=12).strata() for d in (data, shuffled))
    assert plain.labels == mixed.labels
    combinations = list(zip(*(data[name] for name in sorted(names)), strict=True)) or [()] * 12
    index = [stratum_index(plain, data), stratum_index(mixed, shuffled)]
    assert [index[0][row] for row in rows] == index[1]
    assert plain.n_strata == len(set(combinations)) == len(set(index[0]))
    for one in range(12):
        for other in range(12):
            assert (combinations[one] == combinations[other]) == (index[0][one] == index[0][other])


def stratum_index(strata, data):
    table = read(data)
    codes = {name: table.codes(name, ends) for name, ends in strata.ends.items()}
    assert strata.index_of(table).tolist() == strata.index(codes, 12).tolist()
    return strata.index(codes, 12).tolist()


def test_strata_are_labelled_by_value_and_missing_comes_last():
    result = combine(read({"b": [2, None, 1, 1], "a": ["missing", "x", "x", None]}), ("b", "a")).strata()
    assert result.labels == (
        {"a": '"missing"', "b": "2"},
        {"a": "x", "b": "1"},
        {"a": "x", "b": "missing"},
        {"a": "missing", "b": "1"},
    )


def test_long_numeric_controls_are_binned_and_said():
    result = combine(read({"age": list(range(100))}), ("age",)).strata()
    assert [label["age"] for label in result.labels] == ["0 to 24", "25 to 49", "50 to 74", "75 to 99"]
    assert result.notes == ("control 'age' has 100 values, binned into 4: 0 to 24, 25 to 49, 50 to 74, 75 to 99",)
    many = combine(read({"age": list(range(100))}), ("age",), control_bins=20).strata()
    assert many.notes == ("control 'age' has 100 values, binned into 20: 0 to 5, 6 to 11, 12 to 17, …, 96 to 99",)
    given_cuts = combine(read({"age": list(range(100))}), ("age",), cuts={"age": [9]}).strata()
    assert [label["age"] for label in given_cuts.labels] == ["0 to 9", "10 to 99"]


def test_more_strata_than_half_of_the_rows_is_said():
    result = combine(read({"word": list("abcda")}), ("word",)).strata()
    assert "little can be learned: 4 strata for 5 rows" in result.notes[0]
    assert not combine(read({"word": list("aabb")}), ("word",)).strata().notes


def test_many_controls_do_not_overflow():
    rng = np.random.default_rng(0)
    data = {f"c{number:02}": rng.integers(0, 8, 50) for number in range(40)}
    result = combine(read(data), tuple(data)).strata()
    assert result.n_strata == 50
