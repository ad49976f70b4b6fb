import datetime as dt
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causalrules.data.reading import read
from causalrules.exceptions import DataError, RoleError
from causalrules.language.kinds import BINARY, MEAN
from causalrules.language.roles import resolve

DATA = {
    "survived": [1, 0, 0, 1],
    "sex": ["f", "m", "m", "f"],
    "age": [10, 20, 30, None],
    "pay": ["<=50K", ">50K", ">50K", "<=50K"],
    "alive": [True, False, False, True],
    "same": [7, 7, 7, 7],
    "void": [None, None, None, None],
    "half": [5, 5, None, 5],
    "day": [dt.date(2020, 1, number) for number in (1, 2, 3, 4)],
}


def satisfied_values(table, roles):
    values = list(table.observed(roles.target).histogram(roles.target).values)
    return [value for value, yes in zip(values, roles.outcome.satisfied, strict=True) if yes]


@pytest.mark.parametrize(
    ("target", "outcome", "text", "values"),
    [
        ("survived", None, "survived = 1", [1]),
        ("survived", 1, "survived = 1", [1]),
        ("survived", "0", "survived = 0", [0]),
        ("survived", 1.0, "survived = 1", [1]),
        ("survived", np.int64(1), "survived = 1", [1]),
        ("survived", True, "survived = 1", [1]),
        ("alive", None, "alive = True", [True]),
        ("alive", "False", "alive = False", [False]),
        ("alive", 0, "alive = False", [False]),
        ("pay", ">50K", "pay = >50K", [">50K"]),
        ("pay", "!= >50K", "pay ≠ >50K", ["<=50K"]),
        ("sex", "≠ f", "sex ≠ f", ["m"]),
        ("age", ">= 20", "age ≥ 20", [20, 30]),
        ("age", "≥20", "age ≥ 20", [20, 30]),
        ("age", "> 20", "age > 20", [30]),
        ("age", "<= 15.5", "age ≤ 15.5", [10]),
        ("age", " < 20 ", "age < 20", [10]),
        ("age", "≤ 2e1", "age ≤ 20", [10, 20]),
        ("age", "!= 20", "age ≠ 20", [10, 30]),
        ("age", "== 20", "age = 20", [20]),
        ("age", "= 20.0", "age = 20", [20]),
        ("age", "age >= 20", "age ≥ 20", [20, 30]),
        ("age", "age>=20", "age ≥ 20", [20, 30]),
        ("age", " age == 20", "age = 20", [20]),
        ("sex", "sex = f", "sex = f", ["f"]),
        ("alive", "true", "alive = True", [True]),
        ("alive", "!= TRUE", "alive ≠ True", [False]),
        ("alive", "alive = false", "alive = False", [False]),
        ("day", ">= 2020-01-03", "day ≥ 2020-01-03", [dt.date(2020, 1, 3), dt.date(2020, 1, 4)]),
        ("day", "2020-01-03", "day = 2020-01-03", [dt.date(2020, 1, 3)]),
        ("day", dt.date(2020, 1, 3), "day = 2020-01-03", [dt.date(2020, 1, 3)]),
    ],
)
def test_outcomes(target, outcome, text, values):
    table = read(DATA)
    roles = resolve(table, target, outcome)
    assert roles.outcome.text == text
    assert satisfied_values(table, roles) == values


def test_outcome_on_an_ordered_category():
    sizes = pd.Categorical(["s", "l", "m", "s"], categories=["s", "m", "l"], ordered=True)
    table = read(pd.DataFrame({"size": sizes, "x": [1, 2, 3, 4]}))
    assert satisfied_values(table, resolve(table, "size", ">= m")) == ["m", "l"]
    with pytest.raises(RoleError, match="no category 'xl'"):
        resolve(table, "size", ">= xl")


def test_an_exact_value_wins_over_one_with_the_same_text():
    table = read({"y": ["1", "1 ", " 1"], "x": [1, 2, 3]})
    assert satisfied_values(table, resolve(table, "y", "1 ")) == ["1 "]


@given(
    st.lists(st.integers(-3, 3), min_size=2, max_size=9),
    st.sampled_from([">=", ">", "<=", "<", "!="]),
    st.integers(-3, 3),
)
def test_conditions_compare_each_value(values, sign, operand):
    compare = {
        ">=": lambda value: value >= operand,
        ">": lambda value: value > operand,
        "<=": lambda value: value <= operand,
        "<": lambda value: value < operand,
        "!=": lambda value: value != operand,
    }[sign]
    table = read({"y": values, "x": list(range(len(values)))})
    expected = sorted({value for value in values if compare(value)})
    if len(expected) in (0, len(set(values))):
        with pytest.raises(RoleError, match=r"always happens|never happens|is not a value"):
            resolve(table, "y", f"{sign} {operand}")
    else:
        assert satisfied_values(table, resolve(table, "y", f"{sign} {operand}")) == expected


def test_defaults_take_every_other_column_that_varies():
    roles = resolve(read(DATA), "survived", control="sex")
    assert roles.actionable == ("age", "alive", "day", "pay")
    assert roles.control == ("sex",)
    assert roles.notes == (
        "2 columns are left out, one value only: half and same",
        "column 'void' is left out: it has no values: all are missing",
    )


@pytest.mark.parametrize("actionable", [None, ["id", "x"]])
def test_identifiers_are_ignored_with_a_note(actionable):
    table = read({"id": ["a", "b", None], "x": [1, 2, 2], "y": [0, 1, 0]})
    roles = resolve(table, "y", actionable=actionable)
    assert roles.actionable == ("x",)
    assert roles.notes == ("column 'id' is left out: its 2 values are all different (identifier)",)
    with pytest.raises(RoleError, match=r"no actionable column is left; .*column 'id' is left out: .*identifier"):
        resolve(table, "y", actionable="id")


def test_a_value_that_looks_like_a_condition_is_a_value():
    table = read({"y": ["y = a", "a", "true", "True"], "x": [1, 2, 1, 2]})
    for outcome in ("y = a", "a", "true", "True"):
        assert satisfied_values(table, resolve(table, "y", outcome)) == [outcome]
    assert satisfied_values(table, resolve(table, "y", "y = y = a")) == ["y = a"]


def test_where_no_column_is_left_every_reason_is_said():
    with pytest.raises(RoleError, match=r"no actionable column is left; .*'x' is left out: it holds"):
        resolve(read({"x": [[1], [2]] * 10, "y": [0, 1] * 10}), "y")
    with pytest.raises(RoleError, match=r"no actionable column is left; .*'x' is left out: it has one value only, 1"):
        resolve(read({"x": [1] * 4, "y": [0, 1] * 2}), "y")


def test_text_that_stands_for_missing_is_said_where_it_made_an_identifier(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x,y\nNA,0\n1.5,1\n?,0\n2.5,1\n")
    with pytest.raises(RoleError, match=r"no actionable column is left; .*\(identifier\)") as caught:
        resolve(read(path), "y")
    assert "'?'" in str(caught.value)


def test_roles_do_not_depend_on_the_order_of_the_caller():
    one = resolve(read(DATA), "survived", actionable=["age", "pay"], control=["sex", "alive"])
    other = resolve(read(DATA), "survived", actionable=["pay", "age"], control=["alive", "sex"])
    assert (one.actionable, one.control) == (other.actionable, other.control)


def test_rows_without_a_target_are_said():
    roles = resolve(read({"y": [0, 1, None], "x": [1, 2, 3]}), "y")
    assert roles.notes == ("1 of 3 rows are left out: the target 'y' is missing there",)


def test_constancy_is_judged_where_the_target_is_present():
    with pytest.raises(RoleError, match="'x' is left out: it has one value only, 1"):
        resolve(read({"y": [0, 1, None], "x": [1, 1, 2]}), "y", actionable="x")


def test_weights_take_no_other_role():
    data = {"y": [0, 1, 1], "x": [1, 2, 3], "w": [2, 0, 1]}
    assert resolve(read(data), "y", weights="w").actionable == ("x",)
    with pytest.raises(RoleError, match="'w' is the weights and actionable"):
        resolve(read(data), "y", actionable=["x", "w"], weights="w")
    with pytest.raises(DataError, match="no row has a weight above zero in column 'w'"):
        resolve(read({**data, "w": [0, 0, 0]}), "y", weights="w")


def test_context_describes_who_and_is_not_acted_on():
    table = read(DATA)
    roles = resolve(table, "survived", control="sex", context=["pay", "sex"])
    assert roles.context == ("pay", "sex")
    assert roles.control == ("sex",)
    assert roles.actionable == ("age", "alive", "day")  # every other column
    assert resolve(table, "survived", control="sex").context == ()
    assert resolve(table, "survived", actionable="age", context="day").context == ("day",)
    # Groups of dependent rows, and columns with missing values, may be context.
    gaps = read({"y": [0, 1, 0, 1], "x": [1, 2, 1, 2], "c": ["a", None, "b", "b"]})
    assert resolve(gaps, "y", groups="c", context="c").context == ("c",)


def test_context_that_forms_no_groups_is_left_out_with_a_note():
    data = {"id": ["a", "b", "c", "d"], "one": [1] * 4, "two": [2] * 4, "c": [1, 1, 2, 2], "x": [1, 2, 1, 2]}
    table = read({**data, "y": [0, 1, 0, 1]})
    roles = resolve(table, "y", context=["c", "id", "one"], actionable="x")
    assert roles.context == ("c",)
    assert roles.notes == (
        "context column 'id' is left out: its 4 values are all different (identifier)",
        "context column 'one' is left out: it has one value only, 1",
    )
    assert resolve(table, "y", context=["c", "one", "two"], actionable="x").notes == (
        "2 context columns are left out, one value only: one and two",
    )
    message = r"context: no column is left; 2 context columns .*: one and two; name one whose values differ"
    with pytest.raises(RoleError, match=message):
        resolve(table, "y", context=["one", "two"], actionable="x")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "survivd"}, "target: no column 'survivd'; did you mean 'survived'"),
        ({"target": "zzz"}, "no column 'zzz'; the columns are 'survived'"),
        ({"target": 3}, "target = 3: name a column by its text"),
        ({"control": "sexx"}, "control: no column 'sexx'; did you mean 'sex'"),
        ({"actionable": ["Age"]}, "actionable: no column 'Age'; did you mean 'age'"),
        ({"weights": "ag"}, "weights: no column 'ag'; did you mean 'age'"),
        ({"actionable": ["sex"], "control": ["sex"]}, "'sex' is a control and actionable"),
        ({"actionable": ["survived"]}, "'survived' is the target and actionable"),
        ({"control": ["survived"]}, "'survived' is the target and a control"),
        ({"control": ["sex", "sex"]}, "control: named more than once: 'sex'"),
        ({"context": "sexx"}, "context: no column 'sexx'; did you mean 'sex'"),
        ({"context": ["sex", "sex"]}, "context: named more than once: 'sex'"),
        (
            {"context": ["age", "sex"], "actionable": ["age"]},
            "context: column 'age' is actionable; context describes who and is not acted on: name it in only one of",
        ),
        ({"context": "survived"}, r"context: column 'survived' is the target; .*leave it out of the context"),
        ({"context": "pay", "weights": "pay"}, r"context: column 'pay' is the weights; .*leave it out of the context"),
        (
            {"context": ["age", "alive", "day", "pay"], "control": "sex"},
            "no actionable column is left; .*other than the target 'survived', the controls and the context",
        ),
        ({"actionable": ["same"]}, "no actionable column is left.*'same' is left out: it has one value only, 7"),
        ({"actionable": ["half"]}, "no actionable column is left.*'half' is left out: it has one value only, 5"),
        ({"actionable": ["void"]}, "no actionable column is left.*'void' is left out: it has no values"),
        ({"actionable": []}, "no actionable column is left"),
        ({"outcome": 2}, "2 is not a value of 'survived'; its values are 0, 1"),
        ({"outcome": "yes"}, "'yes' is not a value of 'survived'"),
        ({"outcome": ">= 0"}, "'survived ≥ 0' always happens: all 4 rows"),
        ({"outcome": "> 1"}, "'survived > 1' never happens; the values of 'survived' are 0, 1"),
        ({"outcome": ">= many"}, "'many' cannot be compared"),
        ({"target": "age", "outcome": "sex >= 20"}, "or a condition without the column's name, such as '>= 20'"),
        ({"target": "age", "outcome": "== 15"}, "'15' is not a value of 'age'; its values are 10, 20, 30"),
        (
            {"target": "age", "outcome": "> 15 and < 25"},
            "give one condition; for more, add a column of true and false",
        ),
        ({"target": "age >= 20"}, "no column 'age >= 20'; name the target 'age' and the outcome '>= 20'"),
        ({"outcome": lambda value: value > 0}, "is not a value of 'survived'; its values are 0, 1, or a condition"),
        ({"outcome": ["1"]}, "is not a value of 'survived'"),
        ({"outcome": math.nan}, "nan is not a value of 'survived'"),
        ({"target": "sex"}, "which value of 'sex' is the desired one.* 'f', 'm'"),
        ({"target": "sex", "outcome": ">= f"}, "the text values of 'sex' have no order"),
        ({"target": "day", "outcome": True}, "True is not a value of 'day'"),
        ({"target": "same", "outcome": 7}, "'same = 7' always happens"),
    ],
)
def test_every_mistake_has_its_own_message(arguments, message):
    with pytest.raises(RoleError, match=message):
        resolve(read(DATA), **{"target": "survived", **arguments})


@pytest.mark.parametrize("name", ["same", "half", "void"])
def test_a_constant_actionable_column_is_ignored_with_a_note(name):
    roles = resolve(read(DATA), "survived", actionable=["age", name])
    assert roles.actionable == ("age",)
    assert roles.notes[0].startswith(f"column {name!r} is left out: it has ")
    named = resolve(read(DATA), "survived", actionable=["age", name], named=True)
    assert named.actionable == tuple(sorted(["age", name]))
    assert named.notes == (f"a rule with a condition on column {name} compares nothing by it: one value only",)


def test_many_columns_are_left_out_in_one_line():
    table = read({**{f"c{number}": [number] * 4 for number in range(71)}, "x": [1, 2, 1, 2], "y": [0, 1, 0, 1]})
    (note,) = resolve(table, "y").notes
    assert note == "71 columns are left out, one value only: c0, c1, c10, c11, c12, c13 and 65 others"


@pytest.mark.parametrize(("name", "why"), [("same", "it has one value only, 7"), ("void", "it has no values")])
def test_a_constant_control_is_ignored_with_a_note(name, why):
    roles = resolve(read(DATA), "survived", control=[name, "sex"])
    assert roles.control == ("sex",)
    assert name not in roles.actionable
    assert any(note.startswith(f"control {name!r} is left out: {why}") for note in roles.notes)


def test_a_numeric_target_means_its_mean():
    table = read(DATA)
    outcome = resolve(table, "age").outcome
    assert outcome.kind is MEAN
    assert (outcome.centre, outcome.values.tolist()) == (10, [0.0, 10.0, 20.0])
    assert resolve(table, "age", ">= 20").outcome.kind is BINARY
    assert resolve(table, "survived").outcome.kind is BINARY


def test_row_numbers_are_identifiers_of_twenty_rows_or_more():
    for n_rows, expected in ((19, ("row", "x")), (20, ("x",))):
        table = read({"row": list(range(n_rows)), "x": [1, 2] * (n_rows // 2) + [1] * (n_rows % 2),
                      "y": [0, 1, 1] * (n_rows // 3) + [1] * (n_rows % 3)})  # fmt: skip
        roles = resolve(table, "y", 1)
        assert roles.actionable == expected
        assert any("numbers the 20 rows from 0 to 19" in note for note in roles.notes) == (n_rows == 20)


def test_a_half_missing_control_has_two_strata_and_is_taken():
    assert resolve(read(DATA), "survived", control="half").control == ("half",)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"y": [], "x": []}, "the table has no rows"),
        ({"y": [None, None], "x": [1, 2]}, "no row has a value in column 'y'"),
    ],
)
def test_empty_tables(data, message):
    with pytest.raises(DataError, match=message):
        resolve(read(data), "y", 1)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"y": [1], "x": [1]}, "'y = 1' always happens: the only row has it"),
        ({"y": [0], "x": [1]}, "'y = 1' never happens: all values are 0"),
        ({"y": [False, False], "x": [1, 2]}, "'y = True' never happens: all values are False"),
    ],
)
def test_a_target_with_one_value(data, message):
    with pytest.raises(RoleError, match=message):
        resolve(read(data), "y")


def test_long_lists_of_values_are_shortened():
    table = read({"y": [f"{number:03}" + "x" * 100 for number in range(50)], "x": list(range(50))})
    with pytest.raises(RoleError) as caught:
        resolve(table, "y", "nothing")
    assert len(str(caught.value)) < 600
    assert "(50 in all)" in str(caught.value)


def test_nested_columns_are_rejected_by_name():
    with pytest.raises(RoleError, match="actionable: column 'l' holds"):
        resolve(read({"y": [0, 1], "l": [[1], [2]], "x": [1, 2]}), "y", actionable="l")
