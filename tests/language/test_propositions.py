import datetime as dt
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causalrules.data.reading import read
from causalrules.exceptions import DataError, OptionError
from causalrules.language.propositions import Proposition, describe

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
def test_invalid_propositions_are_rejected(data):
    with pytest.raises(DataError, match="not a proposition"):
        Proposition.from_dict(data)


def test_an_unknown_operator_is_rejected():
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


def test_a_printed_cut_on_the_wrong_side_is_rejected():
    for sign, shown in (("<=", 1.4), (">=", 1.6), ("=", 1.5), ("<=", "1.6"), ("<=", math.inf)):
        with pytest.raises((DataError, OptionError)):
            Proposition.from_dict({"column": "x", "operator": sign, "value": 1.5, "type": "float", "shown": shown})
