import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causalrules.data.reading import read
from causalrules.exceptions import OptionError, RoleError
from causalrules.language.cuts import check_cuts, cut_ends
from causalrules.language.language import build_language


def literal_cut_ends(counts, max_bins):
    """Implement the documented splitting procedure literally."""
    bins = [(0, len(counts) - 1)] if counts else []
    while len(bins) < max_bins:
        candidates = [(first, last) for first, last in bins if last > first]
        if not candidates:
            break
        fullest = max(sum(counts[first : last + 1]) for first, last in candidates)
        first, last = min(b for b in candidates if sum(counts[b[0] : b[1] + 1]) == fullest)
        imbalance = [
            (abs(sum(counts[first : cut + 1]) - sum(counts[cut + 1 : last + 1])), cut) for cut in range(first, last)
        ]
        cut = min(imbalance)[1]
        bins.remove((first, last))
        bins += [(first, cut), (cut + 1, last)]
    return sorted(last for _, last in bins)


@given(st.lists(st.integers(1, 12), max_size=30), st.integers(1, 12))
def test_cut_ends_follow_the_splitting_procedure(counts, max_bins):
    assert cut_ends(np.array(counts, np.int64), max_bins).tolist() == literal_cut_ends(counts, max_bins)


def test_cut_ends_resolve_the_tail_of_a_column_of_zeros():
    assert cut_ends(np.array([90, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]), 4).tolist() == [0, 2, 5, 10]


def test_cut_ends_of_ten_million_values_are_equal_parts():
    ends = cut_ends(np.ones(10_000_000, np.int64), 8)
    assert np.diff(np.concatenate(([-1], ends))).tolist() == [1_250_000] * 8


def test_cuts_of_the_user_are_shown_as_given_and_select_the_same_rows():
    table = read({"age": [10, 17, 20, 40, 70, None]})
    language = build_language(table, ("age",), cuts={"age": [18, 65]})
    assert [p.text for p in language.propositions] == ["age ≤ 18", "age ≤ 65", "age ≥ 20", "age ≥ 70"]
    assert language.ends["age"].tolist() == [1, 3, 4]
    assert table.codes("age", language.ends["age"]).tolist() == [0, 0, 1, 1, 2, -1]
    for number, proposition in enumerate(language.propositions):
        codes = table.codes("age", language.ends["age"])
        inside = (codes >= language.low[number]) & (codes <= language.high[number])
        assert table.select("age", proposition.holds(table.histogram("age").values)).tolist() == inside.tolist()


def test_useless_cuts_are_ignored_with_a_note():
    language = build_language(read({"age": [10, 20, 30]}), ("age",), cuts={"age": [5, 20, 25, 30]})
    assert [p.text for p in language.propositions] == ["age ≤ 20", "age ≥ 30"]
    assert len(language.notes) == 3
    assert all("left out" in note for note in language.notes)


@pytest.mark.parametrize(
    ("cuts", "message"),
    [
        ({"agee": [1]}, "did you mean 'age'"),
        ({"sex": [1]}, "column 'sex' holds text values, which have no order"),
        ({"age": [20, 10]}, "must increase, but 10 follows 20"),
        ({"age": [20, 20]}, "must increase"),
        ({"age": "20"}, "needs a list"),
        ({"age": 20}, "needs a list"),
        ({"age": ["old"]}, "'old' cannot be compared"),
        ({"age": [float("nan")]}, "nan cannot be compared"),
        ({"age": [True]}, "True cannot be compared"),
        ({"day": ["2020-13-01"]}, "cannot be compared"),
        ({"day": [5]}, "cannot be compared"),
    ],
)
def test_wrong_cuts_are_named(cuts, message):
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(2020, 1, 3)]
    table = read({"age": [10, 20, 30], "sex": ["f", "m", "m"], "day": days})
    # an unknown column, and a value of the wrong type, give the same errors wherever they are named
    with pytest.raises(RoleError if "agee" in cuts or "compared" in message else OptionError, match=message):
        check_cuts(table, cuts, ("age", "sex", "day"))


def test_cuts_of_dates_may_be_text():
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(2020, 1, 3)]
    language = build_language(read({"day": days}), ("day",), cuts={"day": ["2020-01-02"]})
    assert [p.text for p in language.propositions] == ["day ≤ 2020-01-02", "day ≥ 2020-01-03"]
