import datetime as dt
import math
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import causalrules as cr
from causalrules.data.columns import Kind
from causalrules.data.reading import read
from causalrules.exceptions import DataError


@pytest.mark.parametrize(
    ("column", "kind", "values", "n_missing"),
    [
        (pd.Series([1, None, 3], dtype="Int64"), Kind.NUMBER, [1, 3], 1),
        (pd.Series([2**60 + 1, None], dtype="Int64"), Kind.NUMBER, [2**60 + 1], 1),
        (pd.Series([1.5, math.nan, -0.0, 0.0]), Kind.NUMBER, [0.0, 1.5], 1),
        (pd.Series([True, pd.NA], dtype="boolean"), Kind.BOOLEAN, [True], 1),
        (pd.Series([True, None], dtype=object), Kind.BOOLEAN, [True], 1),
        (pd.Series(["b", None, pd.NA, "a"], dtype=object), Kind.TEXT, ["a", "b"], 2),
        (pd.Series(["b", None, "a"], dtype="string"), Kind.TEXT, ["a", "b"], 1),
        (pd.Series(["b", None, "a"], dtype="category"), Kind.TEXT, ["a", "b"], 1),
        (pd.Series([2, 1], dtype="category"), Kind.TEXT, [1, 2], 0),
        (pd.Series([10, None, 9], dtype="category"), Kind.TEXT, [9, 10], 1),
        (pd.Series([True, False], dtype="category"), Kind.TEXT, [False, True], 0),
        (
            pd.Series([dt.date(2024, 1, 2), dt.date(2024, 1, 1)], dtype="category"),
            Kind.TEXT,
            [dt.date(2024, 1, 1), dt.date(2024, 1, 2)],
            0,
        ),
        (pd.Series([math.inf, 1.0], dtype="category"), Kind.TEXT, ["1.0", "inf"], 0),
        (pa.chunked_array([pa.array([10, None, 9]).dictionary_encode()]), Kind.TEXT, [9, 10], 1),
        (
            pd.Series(pd.Categorical(["lo", None, "hi"], ["lo", "mid", "hi"], ordered=True)),
            Kind.ORDERED,
            ["lo", "hi"],
            1,
        ),
        (pd.Series(pd.Categorical([1, 2], [2, 1], ordered=True)), Kind.ORDERED, [2, 1], 0),
        (pl.Series(["lo", None, "hi"], dtype=pl.Enum(["lo", "hi"])), Kind.ORDERED, ["lo", "hi"], 1),
        (pl.Series(["b", None, "a"], dtype=pl.Categorical), Kind.TEXT, ["a", "b"], 1),
        (pl.Series([dt.time(10), None, dt.time(9, 30)]), Kind.DATE, [dt.time(9, 30), dt.time(10)], 1),
        (pl.Series([dt.timedelta(2), None]), Kind.DATE, [dt.timedelta(2)], 1),
        (pl.Series([2**64 - 1, None], dtype=pl.UInt64), Kind.NUMBER, [2**64 - 1], 1),
        (pl.Series([2**63, None], dtype=pl.Int128), Kind.NUMBER, [2**63], 1),
        (pl.Series(["1.5", None]).cast(pl.Decimal(10, 2)), Kind.NUMBER, [1.5], 1),
        (pl.Series([None, None], dtype=pl.Null), Kind.TEXT, [], 2),
        (pa.chunked_array([pa.array(["b", None, "a"]).dictionary_encode()]), Kind.TEXT, ["a", "b"], 1),
        (pd.to_datetime(pd.Series(["2020-01-02", None])), Kind.DATE, [dt.datetime(2020, 1, 2)], 1),
        (
            pd.to_datetime(pd.Series(["2020-01-02 10:00+02:00", None])).dt.tz_convert("Europe/Berlin"),
            Kind.DATE,
            [dt.datetime(2020, 1, 2, 8, tzinfo=dt.UTC)],
            1,
        ),
        (pd.to_timedelta(pd.Series(["1 day", None])), Kind.DATE, [dt.timedelta(1)], 1),
        ([dt.date(2020, 1, 2), None], Kind.DATE, [dt.date(2020, 1, 2)], 1),
        (np.array(["b", "a"]), Kind.TEXT, ["a", "b"], 0),
        (np.array([1, 2], np.uint8), Kind.NUMBER, [1, 2], 0),
        (np.array([0.5, np.nan], np.float32), Kind.NUMBER, [0.5], 1),
        (np.array(["2020-01-02", "NaT"], "M8[D]"), Kind.DATE, [dt.date(2020, 1, 2)], 1),
        ([1, 2.5, None], Kind.NUMBER, [1.0, 2.5], 1),
        ([np.int64(1), np.int64(2)], Kind.NUMBER, [1, 2], 0),
        (pd.arrays.SparseArray([0, 1]), Kind.NUMBER, [0, 1], 0),
    ],
)
def test_column_types(column, kind, values, n_missing):
    frame = pd.DataFrame({"x": column}) if isinstance(column, pd.arrays.SparseArray) else {"x": column}
    table = read(frame)
    histogram = table.histogram("x")
    assert table.kinds["x"] is kind
    assert list(histogram.values) == values
    assert [type(value) for value in histogram.values] == [type(value) for value in values]
    assert histogram.n_missing == n_missing
    assert table.notes == ()
    codes = table.codes("x", np.arange(len(values)))
    assert np.bincount(codes[codes >= 0], minlength=len(values)).tolist() == histogram.counts.tolist()


def test_mixed_types_become_text_with_a_note():
    table = read(pd.DataFrame({"x": [1, "a", None]}, dtype=object))
    assert list(table.histogram("x").values) == ["1", "a"]
    assert table.notes == ("column 'x' mixes int and str values; it is read as text",)


def test_mixed_categories_are_text():
    table = read({"x": pd.Series(["a", 1, None], dtype="category")})
    assert (table.kinds["x"], list(table.histogram("x").values)) == (Kind.TEXT, ["1", "a"])
    assert table.notes == ("column 'x' mixes int and str values; it is read as text",)
    zoned = [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]
    table = read({"x": pd.Series(pd.Categorical(pd.Series(zoned, dtype=object)))})
    assert table.notes == ("column 'x' mixes datetimes with and without a time zone; it is read as text",)


@pytest.mark.parametrize("step", [1, -1])
def test_values_equal_in_python_keep_their_own_text(step):
    values = (["a", True, 1, 1.0, "1"] * 20)[::step]
    for data in ({"x": values}, pd.DataFrame({"x": values}, dtype=object)):
        histogram = read(data).histogram("x")
        assert list(histogram.values) == ["1", "1.0", "True", "a"]
        assert histogram.counts.tolist() == [40, 20, 20, 20]


@pytest.mark.parametrize("step", [1, -1])
def test_true_and_one_are_two_conditions(step):
    data = {"x": (["a", True, 1] * 20)[::step], "y": ([1, 0, 0, 0, 1, 1] * 10)[::step]}
    rules = cr.discover(data, "y", k=10, max_length=1, stepwise=False)
    covered = {rule.text: rule.n_covered for rule in rules}
    assert covered == {"x = 1": 20, "x = True": 20, "x = a": 20}


@pytest.mark.parametrize("sign", ["\u2028", "\u0085", "\f", "\x1c", "\v"])
def test_names_may_contain_unicode_line_separators(tmp_path, sign):
    path = tmp_path / "data.csv"
    path.write_bytes(f"a{sign}b,c,y\n1,2,0\n3,4,1\n".encode())
    table = read(path)
    assert list(table.names) == [f"a{sign}b", "c", "y"]
    assert table.n_rows == 2


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_quoted_names_may_contain_line_breaks(tmp_path, ending):
    path = tmp_path / "data.csv"
    path.write_bytes(ending.join(['"a', 'b",c', "1,2", "3,4", ""]).encode())
    assert list(read(path).names) == [f"a{ending}b", "c"]


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([[1], [2]]),
        pl.Series([{"a": 1}, {"a": 2}]),
        pl.Series([b"a", b"b"]),
        [[1], [2]],
        [b"a", b"b"],
        np.array([1j, 2j]),
        pd.Series(pd.period_range("2020", periods=2, freq="D")),
    ],
)
def test_nested_columns_are_left_out_and_said_unless_they_are_used(column):
    table = read({"x": column, "y": [1, 2]})
    assert table.names == ("y",)
    assert "column 'x' is left out" in table.notes[0]
    with pytest.raises(DataError, match="column 'x' holds"):
        table.histogram("x")


def test_rounded_decimals_are_reported(tmp_path):
    exact, inexact = Decimal("0.1"), Decimal("0.12345678901234567890")
    assert read({"x": [exact]}).notes == ()
    assert "not exact" in read({"x": [inexact]}).notes[0]
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table({"x": [exact, None], "y": [inexact, None]}), path)
    table = read(path)
    assert list(table.histogram("x").values) == [0.1]
    assert len(table.notes) == 1
    assert "'y' holds numbers that are not exact" in table.notes[0]


def test_infinities_are_an_error_only_in_used_columns():
    table = read({"x": [1.0, math.inf, -math.inf], "y": [1, 2, 3]})
    assert list(table.histogram("y").values) == [1, 2, 3]
    with pytest.raises(DataError, match="column 'x' holds 2 infinite values, the first in row 2"):
        table.histogram("x")


def test_nanoseconds_do_not_become_two_equal_values():
    values = np.array([1, 2, 5000], "M8[ns]")
    table = read({"x": values})
    assert table.histogram("x").counts.tolist() == [2, 1]
    assert "microsecond" in table.notes[0]


def test_dates_beyond_python_are_an_error():
    table = read({"x": np.array(["20000-01-01", "2020-01-01"], "M8[D]")})
    with pytest.raises(DataError, match="years 1 to 9999"):
        list(table.histogram("x").values)


def test_names_that_are_not_text_become_text():
    assert read(pd.DataFrame({0: [1], 1: [2]})).names == ("0", "1")
    with pytest.raises(DataError, match="more than once: '1'"):
        read(pd.DataFrame([[1, 2]], columns=[1, "1"]))
    with pytest.raises(DataError, match="more than once: '1'"):
        read({1: [1], "1": [2]})


def test_duplicate_names_are_named():
    with pytest.raises(DataError, match="more than once: 'a'"):
        read(pd.DataFrame([[1, 2, 3]], columns=["a", "a", "b"]))
    with pytest.raises(DataError, match="more than once: 'a'"):
        read(pa.table([[1], [2]], names=["a", "a"]))


def test_structured_arrays():
    table = read(np.array([(1, "a"), (2, "b")], [("n", "i4"), ("s", "U3")]))
    assert list(table.histogram("n").values) == [1, 2]
    assert list(table.histogram("s").values) == ["a", "b"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.zeros((2, 2)), "has no column names"),
        ([1, 2], "cannot read a table from list"),
        (None, "cannot read a table from NoneType"),
        (pd.Series([1]), "one column, not a table"),
        ({}, "no columns"),
        (pd.DataFrame(), "no columns"),
        ({"a": [1], "b": [1, 2]}, "'a' has 1 row, 'b' has 2"),
        ({"a": 1}, "column 'a' of the dict is a int"),
        ({"a": "xyz"}, "column 'a' of the dict is a str"),
        ({"a": np.zeros((2, 2))}, "2 dimensions"),
    ],
)
def test_objects_that_are_not_tables_are_rejected_by_type(data, message):
    with pytest.raises(DataError, match=message):
        read(data)


def test_the_library_of_the_caller_is_remembered():
    data = {"a": [1]}
    libraries = [read(d).library for d in (pd.DataFrame(data), pl.DataFrame(data), pa.table(data), data)]
    assert libraries == ["pandas", "polars", "pyarrow", "pandas"]


def test_unknown_columns_suggest_the_near_one():
    with pytest.raises(KeyError, match="no column 'sexx'; did you mean 'sex'"):
        read({"sex": [1]}).histogram("sexx")
    with pytest.raises(DataError, match="no column 'SEX'; did you mean 'sex'"):
        read({"sex": [1]}).histogram("SEX")


def test_a_relation_is_read_once_and_left_alone():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT i, i % 3 AS g FROM range(100) r(i)")
    relation = connection.sql("SELECT i, g FROM t ORDER BY random()")
    table = read(relation)
    i, g = (table.codes(name, np.arange(n)) for name, n in (("i", 100), ("g", 3)))
    assert (i % 3 == g).all()
    assert connection.sql("SHOW TABLES").fetchall() == [("t",)]


def test_moments_of_pandas_in_a_list_are_those_of_python():
    day, hour = pd.Timestamp("2020-01-02"), pd.Timedelta(hours=1)
    table = read({"day": [day, pd.NaT, None], "hour": [hour, pd.NaT, None], "fine": [hour, pd.Timedelta(7), hour]})
    assert set(table.kinds.values()) == {Kind.DATE}
    assert list(table.histogram("day").values) == [dt.datetime(2020, 1, 2)]
    assert list(table.histogram("hour").values) == [dt.timedelta(hours=1)]
    assert [note.split("'")[1] for note in table.notes] == ["fine"]
