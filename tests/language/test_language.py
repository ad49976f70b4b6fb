import json
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causalrules.data.reading import read
from causalrules.discovery import discover
from causalrules.language.language import build_language
from causalrules.language.propositions import Proposition, format_value
from causalrules.rules import RuleSet

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
        # a column of 0 and 1 is compared by =
        compare = {"≤": operator.le, "≥": operator.ge, "=": operator.eq}[sign]
        for number in numbers:
            assert compare(number, typed) == compare(number, proposition.value)
        assert Proposition.from_dict(json.loads(json.dumps(proposition.to_dict()))).text == proposition.text
        assert len(written) <= len(format_value(proposition.value))


@pytest.mark.parametrize(
    ("numbers", "texts"),
    [
        # short numbers stay as they are, even if fewer digits would do
        ([7.75, 7.925, 8.05], ["≤ 7.75", "≤ 7.925", "≥ 7.925", "≥ 8.05"]),
        ([0.12031028026700519, 0.31], ["≤ 0.1204", "≥ 0.31"]),
        ([0.12, 0.12031028026700519], ["≤ 0.12", "≥ 0.1203"]),
        ([0.12031028026700519, 0.12031029, 5], ["≤ 0.120310281", "≤ 0.1204", "≥ 0.12031029", "≥ 5"]),
        ([-0.12031028026700519, 1.0], ["≤ -0.1203", "≥ 1"]),
        # a whole number keeps all digits
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


def test_a_language_does_not_depend_on_the_order_of_columns():
    data = {"a": [1, 2, 3], "b": ["x", "y", "y"]}
    forward, backward = build_language(read(data), ("a", "b")), build_language(read(data), ("b", "a"))
    assert forward.propositions == backward.propositions
    assert forward.column_index.tolist() == backward.column_index.tolist()


def test_many_values_are_reported():
    words = [f"w{number}" for number in range(1_001)] * 2
    language = build_language(read({"word": words}), ("word",))
    assert len(language.propositions) == 1_001
    assert "1,001 different values" in language.notes[0]
