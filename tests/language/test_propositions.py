import datetime as dt
import itertools
import json
import math
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causalrules.data.reading import read
from causalrules.discovery import discover
from causalrules.exceptions import DataError, OptionError, RoleError
from causalrules.language.cuts import check_cuts, cut_ends
from causalrules.language.language import build_language
from causalrules.language.propositions import Proposition, describe, format_value
from causalrules.language.strata import stratify
from causalrules.result.rules import RuleSet


def literal_cut_ends(counts, max_bins):
    """The splitting procedure, word by word."""
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


scalars = st.one_of(
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
    st.booleans(),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.just(dt.UTC)),
    st.times(),
    st.timedeltas(),
)
proposed = st.builds(Proposition, st.text(), st.sampled_from(["=", "<=", ">="]), scalars)


@given(proposed)
def test_a_proposition_survives_json_with_the_type_of_its_value(proposition):
    again = Proposition.from_dict(json.loads(json.dumps(proposition.to_dict())))
    assert again == proposition
    assert type(again.value) is type(proposition.value)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"column": "a", "operator": "=", "type": "int", "value": "1"},
        {"column": "a", "operator": "=", "type": "object", "value": "1"},
        {"column": "a", "operator": "=", "type": "date", "value": "yesterday"},
        {"column": "a", "operator": "=", "type": "date", "value": 7},
        {"column": "a", "operator": "=", "type": [], "value": 7},
        {"column": "a", "operator": "=", "type": "duration", "value": 10**30},
        {"column": "a", "operator": "=", "type": "float", "value": None},
        [],
    ],
)
def test_what_is_not_a_proposition_is_refused(data):
    with pytest.raises(DataError, match="not a proposition"):
        Proposition.from_dict(data)


def test_an_unknown_operator_is_refused():
    with pytest.raises(OptionError, match="no operator '<'"):
        Proposition("a", "<", 1)


@pytest.mark.parametrize(
    ("conditions", "text"),
    [
        ([("age", "<=", 30.0)], "age ≤ 30"),
        ([("sex", "=", "female"), ("age", "<=", 30), ("age", ">=", 18)], "18 ≤ age ≤ 30 ∧ sex = female"),
        ([("age", "<=", 30), ("age", ">=", 30.0)], "age = 30"),
        ([("x", ">=", 0.1)], "x ≥ 0.1"),
        ([("x", ">=", 1e300)], "x ≥ 1e+300"),
        ([("x", "=", "")], 'x = ""'),
        ([("x", "=", " a")], 'x = " a"'),
        ([("x", "=", "a\nb")], 'x = "a\\nb"'),
        ([("x", "=", "a ∧ b = c")], 'x = "a ∧ b = c"'),
        ([("x", "=", '"a"')], 'x = "\\"a\\""'),
        ([("x", "=", "a\u202eb")], 'x = "a\\u202eb"'),
        ([("a = b", "=", "c")], '"a = b" = c'),
        ([("day", ">=", dt.datetime(2020, 1, 2))], "day ≥ 2020-01-02"),
        ([("day", ">=", dt.datetime(2020, 1, 2, 3, 4))], "day ≥ 2020-01-02 03:04:00"),
        ([("member", "=", True)], "member = True"),
        ([], ""),
    ],
)
def test_the_text_of_a_rule(conditions, text):
    assert describe(Proposition(*condition) for condition in conditions) == text


text_rules = st.dictionaries(
    st.text('ab= ∧≤"\n', min_size=1, max_size=6), st.text('ab= ∧≤"\\\nn', max_size=6), max_size=2
)


@given(text_rules, text_rules)
def test_two_different_rules_never_print_alike(left, right):
    texts = [describe(Proposition(column, "=", value) for column, value in rule.items()) for rule in (left, right)]
    assert (texts[0] == texts[1]) == (left == right)
    assert "\n" not in texts[0]


@given(
    st.lists(st.one_of(st.integers(-5, 5), st.floats(-5, 5)), min_size=1, max_size=20),
    st.sampled_from(["=", "<=", ">="]),
    st.one_of(st.integers(-6, 6), st.floats(-6, 6)),
)
def test_holds_compares_each_value(numbers, operator, value):
    values = read({"x": numbers}).histogram("x").values
    compare = {"=": lambda x: x == value, "<=": lambda x: x <= value, ">=": lambda x: x >= value}[operator]
    assert Proposition("x", operator, value).holds(values).tolist() == [compare(x) for x in values]


def test_holds_is_exact_beyond_the_precision_of_floats():
    values = read({"x": [2**53, 2**53 + 1, 2**53 + 2]}).histogram("x").values
    assert Proposition("x", "<=", 2**53).holds(values).tolist() == [True, False, False]
    assert Proposition("x", "=", 2**53 + 1).holds(values).tolist() == [False, True, False]


def test_holds_compares_dates_with_datetimes():
    days = read({"x": [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]}).histogram("x").values
    hours = read({"x": [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2, 5)]}).histogram("x").values
    assert Proposition("x", "<=", dt.datetime(2020, 1, 1, 12)).holds(days).tolist() == [True, False]
    assert Proposition("x", ">=", dt.date(2020, 1, 2)).holds(hours).tolist() == [False, True]


def test_holds_of_another_type_names_both():
    values = read({"x": [1, 2]}).histogram("x").values
    with pytest.raises(DataError, match=r"column 'x' holds int values such as 1; .* 'a'"):
        Proposition("x", "=", "a").holds(values)


def test_holds_follows_the_order_of_categories():
    pandas = pytest.importorskip("pandas")
    sizes = pandas.Categorical(["small", "large"], categories=["small", "medium", "large"], ordered=True)
    values = read({"size": pandas.Series(sizes)}).histogram("size").values
    assert Proposition("size", "<=", "medium").holds(values).tolist() == [True, False]
    with pytest.raises(DataError, match="no category 'huge'"):
        Proposition("size", "<=", "huge").holds(values)


columns = st.one_of(
    st.lists(st.one_of(st.none(), st.integers(0, 9)), min_size=12, max_size=12),
    st.lists(st.one_of(st.none(), st.floats(-2, 2)), min_size=12, max_size=12),
    st.lists(st.one_of(st.none(), st.sampled_from(["a", "b", "c d"])), min_size=12, max_size=12),
    st.lists(st.one_of(st.none(), st.booleans()), min_size=12, max_size=12),
)


def satisfies(value, proposition):
    if value is None:
        return False
    return {
        "=": value == proposition.value,
        "<=": proposition.operator == "<=" and value <= proposition.value,
        ">=": proposition.operator == ">=" and value >= proposition.value,
    }[proposition.operator]


@given(st.dictionaries(st.sampled_from("pqrs"), columns, min_size=1), st.integers(2, 9))
def test_intervals_of_codes_are_the_rows_that_satisfy_the_proposition(data, max_bins):
    table = read(data)
    language = build_language(table, tuple(data), max_bins=max_bins)
    for number, proposition in enumerate(language.propositions):
        name = language.columns[language.column_index[number]]
        assert name == proposition.column
        codes = table.codes(name, language.ends[name])
        inside = (codes >= language.low[number]) & (codes <= language.high[number])
        expected = [satisfies(value, proposition) for value in data[name]]
        assert inside.tolist() == expected
        assert table.select(name, proposition.holds(table.histogram(name).values)).tolist() == expected
    texts = [proposition.text for proposition in language.propositions]
    assert texts == sorted(texts)


MANY_DIGITS = st.floats(-1, 1) | st.floats(-1e6, 1e6) | st.floats(allow_nan=False, allow_infinity=False)
NEIGHBOURS = st.tuples(st.floats(0, 1), st.integers(0, 3)).map(lambda pair: pair[0] + pair[1] * 2**-52)


@given(st.lists(MANY_DIGITS | NEIGHBOURS, min_size=2, max_size=30), st.integers(2, 8))
def test_a_printed_cut_selects_the_same_rows_as_the_exact_one(numbers, max_bins):
    numbers = [float(number) for number in numbers]
    language = build_language(read({"x": numbers}), ("x",), max_bins)
    texts = [proposition.text for proposition in language.propositions]
    assert len(set(texts)) == len(texts)
    for proposition in language.propositions:
        sign, written = proposition.text.removeprefix("x ").split(" ")
        typed = float(written)
        compare = {"≤": operator.le, "≥": operator.ge}[sign]
        for number in numbers:
            assert compare(number, typed) == compare(number, proposition.value)
        assert Proposition.from_dict(json.loads(json.dumps(proposition.to_dict()))).text == proposition.text
        assert len(written) <= len(format_value(proposition.value))


@pytest.mark.parametrize(
    ("numbers", "texts"),
    [
        # short numbers stay as they are, also where fewer digits would do
        ([7.75, 7.925, 8.05], ["≤ 7.75", "≤ 7.925", "≥ 7.925", "≥ 8.05"]),
        ([0.12031028026700519, 0.31], ["≤ 0.1204", "≥ 0.31"]),
        ([0.12, 0.12031028026700519], ["≤ 0.12", "≥ 0.1203"]),
        ([0.12031028026700519, 0.12031029, 5], ["≤ 0.120310281", "≤ 0.1204", "≥ 0.12031029", "≥ 5"]),
        ([-0.12031028026700519, 1.0], ["≤ -0.1203", "≥ 1"]),
        # a whole number has no digits to spare
        ([123456.789123, 123999.5, 1234567.0], ["≤ 123457", "≤ 123999.5", "≥ 123999.5", "≥ 1234567"]),
    ],
)
def test_a_cut_is_printed_with_no_more_digits_than_it_needs(numbers, texts):
    found = [
        proposition.text.removeprefix("x ") for proposition in build_language(read({"x": numbers}), ("x",)).propositions
    ]
    assert sorted(found) == sorted(texts)


def test_only_what_is_printed_is_rounded():
    value = 0.12031028026700519
    columns = {"x": [value, 0.5, value, 0.5], "y": [1, 0, 1, 0]}
    rules = discover(columns, "y", k=1)
    assert rules[0].text == "x ≤ 0.1204"
    assert "x ≤ 0.1204" in str(rules) + rules.to_markdown()
    assert repr(value) in rules[0].to_sql()
    assert repr(value) in rules[0].to_python()
    assert repr(value) in rules.to_json()
    again = RuleSet.from_json(rules.to_json())
    assert again == rules
    assert str(again) == str(rules)


@given(st.lists(MANY_DIGITS | NEIGHBOURS, min_size=9, max_size=40, unique=True))
def test_bins_of_controls_are_printed_short_and_apart(numbers):
    groups = stratify(read({"z": [float(number) for number in numbers]}), ["z"])
    values = sorted(map(float, numbers))
    ends = [0, *(int(end) + 1 for end in groups.ends["z"])]
    last = -math.inf
    for stratum, (first, end) in zip(groups.labels, itertools.pairwise(ends), strict=True):
        low, _, high = stratum["z"].partition(" to ")
        typed = float(low), float(high or low)
        assert [value for value in values if typed[0] <= value <= typed[1]] == values[first:end]
        assert last < typed[0]
        last = typed[1]


def test_a_printed_cut_on_the_wrong_side_is_refused():
    for sign, shown in (("<=", 1.4), (">=", 1.6), ("=", 1.5), ("<=", "1.6"), ("<=", math.inf)):
        with pytest.raises((DataError, OptionError)):
            Proposition.from_dict({"column": "x", "operator": sign, "value": 1.5, "type": "float", "shown": shown})


def test_a_language_does_not_depend_on_the_order_of_columns():
    data = {"a": [1, 2, 3], "b": ["x", "y", "y"]}
    forward, backward = build_language(read(data), ("a", "b")), build_language(read(data), ("b", "a"))
    assert forward.propositions == backward.propositions
    assert forward.column_index.tolist() == backward.column_index.tolist()


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


def test_cuts_that_separate_nothing_are_said():
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
    # an unknown column is the same mistake wherever it is named
    with pytest.raises(RoleError if "agee" in cuts else OptionError, match=message):
        check_cuts(table, cuts, ("age", "sex", "day"))


def test_cuts_of_dates_may_be_text():
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(2020, 1, 3)]
    language = build_language(read({"day": days}), ("day",), cuts={"day": ["2020-01-02"]})
    assert [p.text for p in language.propositions] == ["day ≤ 2020-01-02", "day ≥ 2020-01-03"]


def test_many_values_are_said():
    words = [f"w{number}" for number in range(1_001)] * 2
    language = build_language(read({"word": words}), ("word",))
    assert len(language.propositions) == 1_001
    assert "1,001 different values" in language.notes[0]


controls = st.dictionaries(st.sampled_from("abc"), columns, max_size=3)


@given(controls, st.randoms(use_true_random=False))
def test_strata_are_the_observed_combinations_in_any_order_of_rows(data, random):
    rows = list(range(12))
    random.shuffle(rows)
    shuffled = {name: [values[row] for row in rows] for name, values in data.items()}
    data, shuffled = ({**d, "row": list(range(12))} for d in (data, shuffled))
    names = tuple(name for name in data if name != "row")
    plain, mixed = (stratify(read(d), names, max_bins=12) for d in (data, shuffled))
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
    result = stratify(read({"b": [2, None, 1, 1], "a": ["missing", "x", "x", None]}), ("b", "a"))
    assert result.labels == (
        {"a": '"missing"', "b": "2"},
        {"a": "x", "b": "1"},
        {"a": "x", "b": "missing"},
        {"a": "missing", "b": "1"},
    )


def test_long_numeric_controls_are_binned_and_said():
    result = stratify(read({"age": list(range(100))}), ("age",))
    assert [label["age"] for label in result.labels] == ["0 to 24", "25 to 49", "50 to 74", "75 to 99"]
    assert result.notes == ("control 'age' has 100 values, binned into 4: 0 to 24, 25 to 49, 50 to 74, 75 to 99",)
    told = stratify(read({"age": list(range(100))}), ("age",), cuts={"age": [9]})
    assert [label["age"] for label in told.labels] == ["0 to 9", "10 to 99"]


def test_more_strata_than_half_of_the_rows_is_said():
    result = stratify(read({"word": list("abcda")}), ("word",))
    assert "little can be learned: 4 strata for 5 rows" in result.notes[0]
    assert not stratify(read({"word": list("aabb")}), ("word",)).notes


def test_many_controls_do_not_overflow():
    rng = np.random.default_rng(0)
    data = {f"c{number:02}": rng.integers(0, 8, 50) for number in range(40)}
    result = stratify(read(data), tuple(data))
    assert result.n_strata == 50
