import csv
import datetime as dt
import gzip
import math
import os
import re
import struct
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import causalrules as cr
from causalrules.data.columns import Kind
from causalrules.data.reading import read
from causalrules.exceptions import DataError, OptionError

N_ROWS = 8
# Shrinking would read thousands of files.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)


def optional(values):
    return st.lists(st.one_of(st.none(), values), min_size=N_ROWS, max_size=N_ROWS)


# Text that a CSV file cannot tell from a number, a date or a missing value is tried elsewhere.
words = st.text(st.characters(exclude_categories=("Cs", "Cc", "Nd")), min_size=1, max_size=4).map("w".__add__)
column_values = st.one_of(
    optional(st.integers(-(2**63), 2**63 - 1)),
    optional(st.floats(allow_nan=False, allow_infinity=False)),
    optional(words),
    optional(st.booleans()),
    optional(st.dates(dt.date(1000, 1, 1))),
    optional(st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))),
).filter(lambda values: any(value is not None for value in values))
names = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=5).map("x".__add__)
tables = st.dictionaries(names, column_values, min_size=1, max_size=4)


def plain(values, counts):
    return [(value, int(count)) for value, count in zip(values, counts, strict=True)]


def expected_histogram(values):
    present = [value for value in values if value is not None]
    return [(value, present.count(value)) for value in sorted(set(present))]


def as_csv(data, path):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(data)
        for row in zip(*data.values(), strict=True):
            writer.writerow(["" if value is None else value for value in row])
    return path


def as_arrow(data):
    return pa.table({name: pa.array(values) for name, values in data.items()})


def as_pandas(data):
    nullable = {int: "Int64", bool: "boolean", float: "Float64", str: "str", dt.datetime: "datetime64[us]"}
    kinds = {name: type(next(v for v in values if v is not None)) for name, values in data.items()}
    return pd.DataFrame(
        {name: pd.Series(values, dtype=nullable.get(kinds[name], "object")) for name, values in data.items()}
    )


def as_parquet(data, path):
    pq.write_table(as_arrow(data), path)
    return path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=20, phases=PHASES)
@given(tables)
def test_every_source_gives_the_same_table(tmp_path, data):
    sources = {
        "dict": data,
        "pandas": as_pandas(data),
        "polars": pl.DataFrame(data, strict=False),
        "lazy": pl.LazyFrame(data, strict=False),
        "arrow": as_arrow(data),
        "csv": as_csv(data, tmp_path / "data.csv"),
        "parquet": as_parquet(data, tmp_path / "data.parquet"),
        "relation": duckdb.read_parquet(str(tmp_path / "data.parquet")),
    }
    kinds = read(data).kinds
    for source, table_data in sources.items():
        table = read(table_data)
        assert table.names == tuple(data), source
        assert dict(table.kinds) == dict(kinds), source
        assert table.n_rows == N_ROWS
        for name, values in data.items():
            histogram = table.histogram(name)
            expected = expected_histogram(values)
            assert plain(histogram.values, histogram.counts) == expected, (source, name)
            assert histogram.n_missing == values.count(None)
            order = [value for value, _ in expected]
            codes = table.codes(name, np.arange(len(order)))
            assert codes.dtype == np.int32
            assert codes.tolist() == [-1 if value is None else order.index(value) for value in values]
            satisfied = np.arange(len(order)) % 2 == 0
            selected = table.select(name, satisfied)
            assert selected.tolist() == [value is not None and order.index(value) % 2 == 0 for value in values]


@given(optional(st.integers(0, 9)), st.data())
def test_codes_are_the_bins_that_the_ends_say(values, draw):
    table = read({"x": values})
    distinct = list(table.histogram("x").values)
    inner = draw.draw(st.sets(st.integers(0, max(len(distinct) - 2, 0))))
    ends = sorted(inner | {len(distinct) - 1}) if distinct else []
    expected = [
        -1 if value is None else next(b for b, end in enumerate(ends) if value <= distinct[end]) for value in values
    ]
    assert table.codes("x", np.array(ends, int)).tolist() == expected


@given(optional(st.integers(0, 3)), st.lists(st.integers(0, 3), min_size=N_ROWS, max_size=N_ROWS))
def test_weights_count_like_repeated_rows(values, weights):
    target = [None if row == 1 else row % 2 for row in range(N_ROWS)]
    data = {"x": values, "y": target, "w": weights}
    repeated = {name: list(np.repeat(np.array(column, object), weights)) for name, column in data.items()}
    weighted, expanded = read(data).observed("y", "w"), read(repeated).observed("y")
    assert (weighted.n_rows, weighted.n_dropped) == (expanded.n_rows, expanded.n_dropped)
    for name in ("x", "y"):
        one, other = weighted.histogram(name), expanded.histogram(name)
        assert plain(one.values, one.counts) == plain(other.values, other.counts)
        assert one.n_missing == other.n_missing
    ends = np.arange(len(weighted.histogram("x").values))
    assert np.repeat(weighted.codes("x", ends), weighted.weights).tolist() == expanded.codes("x", ends).tolist()
    again = weighted.observed("y", "w")
    assert (again.n_rows, again.n_dropped) == (weighted.n_rows, weighted.n_dropped)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -2, 3], "'w' has 1 value .* row 2: -2"),
        ([1.0, 2.0, 0.5], "row 3: 0.5"),
        ([1, None, 3], "row 2: missing"),
        (["a", "b", "c"], "'w' holds text values"),
        ([2**52, 2**52, 2**52], "add up to more than"),
    ],
)
def test_wrong_weights_name_the_first_bad_row(weights, message):
    with pytest.raises(DataError, match=message):
        read({"y": [0, 1, 0], "w": weights}).observed("y", "w")


def test_missing_targets_are_dropped_and_counted():
    table = read({"y": [0, None, 1, math.nan], "x": [5, 6, 7, 8]}).observed("y")
    assert (table.n_rows, table.n_dropped) == (2, 2)
    assert list(table.histogram("x").values) == [5, 7]
    assert table.codes("x", np.arange(2)).tolist() == [0, 1]


def test_rows_can_be_dropped_for_two_columns_in_turn():
    data = {"y": [None, 1, 2, 3], "x": [1, None, 3, 4], "row": [0, 1, 2, 3]}
    table = read(data).observed("y").observed("x")
    assert (list(table.histogram("row").values), table.n_dropped) == ([2, 3], 2)


def test_zero_has_one_sign():
    for zeros in ([-0.0, 0.0], [0.0, -0.0], [-0.0]):
        assert [repr(value) for value in read({"x": zeros}).histogram("x").values] == ["0.0"]


# --- Columns ---------------------------------------------------------------------------------------------


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


def test_mixed_types_are_taken_as_text_and_said():
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
def test_values_that_python_takes_for_equal_keep_their_own_text(step):
    values = (["a", True, 1, 1.0, "1"] * 20)[::step]
    for data in ({"x": values}, pd.DataFrame({"x": values}, dtype=object)):
        histogram = read(data).histogram("x")
        assert list(histogram.values) == ["1", "1.0", "True", "a"]
        assert histogram.counts.tolist() == [40, 20, 20, 20]


@pytest.mark.parametrize("step", [1, -1])
def test_true_and_one_are_two_conditions(step):
    data = {"x": (["a", True, 1] * 20)[::step], "y": ([1, 0, 0, 0, 1, 1] * 10)[::step]}
    rules = cr.discover(data, "y", k=10, max_length=1)
    covered = {rule.text: rule.n_covered for rule in rules}
    assert covered == {"x = 1": 20, "x = True": 20, "x = a": 20}


@pytest.mark.parametrize("sign", ["\u2028", "\u0085", "\f", "\x1c", "\v"])
def test_a_name_may_hold_what_unicode_takes_for_the_end_of_a_line(tmp_path, sign):
    path = tmp_path / "data.csv"
    path.write_bytes(f"a{sign}b,c,y\n1,2,0\n3,4,1\n".encode())
    table = read(path)
    assert list(table.names) == [f"a{sign}b", "c", "y"]
    assert table.n_rows == 2


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_quoted_name_may_hold_the_end_of_a_line(tmp_path, ending):
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


def test_nested_parquet_columns_are_left_out(tmp_path):
    path = tmp_path / "nested.parquet"
    pq.write_table(pa.table({"l": [[1, 2], [3]], "s": [{"a": 1, "b": {"c": 2}}] * 2, "y": [1, 2]}), path)
    table = read(path)
    assert table.names == ("y",)
    assert list(table.histogram("y").values) == [1, 2]
    with pytest.raises(DataError, match="column 's' holds struct values"):
        table.histogram("s")


def test_a_parquet_column_of_nulls_alone_is_all_missing(tmp_path):
    path = tmp_path / "nulls.parquet"
    pq.write_table(pa.table({"n": pa.nulls(2), "y": [1, 2]}), path)
    histogram = read(path).histogram("n")
    assert (len(histogram.values), histogram.n_missing) == (0, 2)


def test_decimals_that_are_rounded_are_said(tmp_path):
    exact, inexact = Decimal("0.1"), Decimal("0.12345678901234567890")
    assert read({"x": [exact]}).notes == ()
    assert "not exact" in read({"x": [inexact]}).notes[0]
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table({"x": [exact, None], "y": [inexact, None]}), path)
    table = read(path)
    assert list(table.histogram("x").values) == [0.1]
    assert len(table.notes) == 1
    assert "'y' holds numbers that are not exact" in table.notes[0]


def test_infinities_are_an_error_only_where_they_are_used():
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
def test_what_is_not_a_table_is_named(data, message):
    with pytest.raises(DataError, match=message):
        read(data)


def test_the_library_of_the_caller_is_remembered():
    data = {"a": [1]}
    libraries = [read(d).library for d in (pd.DataFrame(data), pl.DataFrame(data), pa.table(data), data)]
    assert libraries == ["pandas", "polars", "pyarrow", "pandas"]


def test_unknown_columns_suggest_the_near_one():
    with pytest.raises(DataError, match="no column 'sexx'; did you mean 'sex'"):
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


# --- Files -----------------------------------------------------------------------------------------------


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", "", "is empty"),
        ("blank.csv", "\n\n", "is empty"),
        ("header.csv", "a,b\n", "a header and no rows"),
        ("header.csv", "a,b", "a header and no rows"),
        ("short.csv", "a,b\n1,2\n3\n", "line 3: 1 fields where the header has 2"),
        ("long.csv", "a,b\n1,2\n3,4,5\n", "line 3: 3 fields where the header has 2"),
        ("quote.csv", 'a,b\n1,"x\n2,y\n', "line 2: a quote is opened"),
        ("latin.csv", "a,b\n1,2\n3,é\n".encode("latin-1"), "line 3: the text is not UTF-8 .perhaps Latin-1"),
        ("late.csv", b"a,b\n" + b"1,2\n" * 300_000 + b"3,\xe9\n", "not UTF-8"),
        ("utf16.csv", "a,b\n1,2\n".encode("utf-16"), "UTF-16"),
        ("junk.csv", bytes(range(256)) * 10, "not a text file"),
        ("twice.csv", "a,b,a\n1,2,3\n", "more than once: 'a'"),
        ("unnamed.csv", "a,,b\n1,2,3\n", "no name to column 2"),
        ("junk.parquet", "not parquet", "not a Parquet file"),
        ("junk2.parquet", b"PAR1" + bytes(100) + b"PAR1", "cannot read"),
        ("packed.csv.gz", "a,b\n1,2\n", "cannot read"),
        ("table.xlsx", "x", "should end in .csv"),
        ("noending", "x", "should end in .csv"),
    ],
)
def test_bad_files_say_what_is_wrong(tmp_path, name, content, message):
    with pytest.raises(DataError, match=message):
        read(write(tmp_path / name, content))


def test_truncated_gzip_is_an_error(tmp_path):
    whole = gzip.compress(b"a,b\n" + os.urandom(20_000).hex().encode() + b",1\n")
    with pytest.raises(DataError, match="cannot read"):
        read(write(tmp_path / "x.csv.gz", whole[: len(whole) // 2]))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing.csv", "no file 'missing.csv'"),
        (".", "is a directory"),
        ("https://example.org/x.csv", "is an address, not a file"),
        ("s3://bucket/x.parquet", "is an address, not a file"),
        ("x'); DROP TABLE data; --.csv", "no file"),
        ("a\0b.csv", "not a valid path|no file"),
        ("x" * 5000 + ".csv", "not a valid path|no file"),
        ("/dev/null", "not a regular file"),
    ],
)
def test_paths_that_are_no_files(path, message):
    with pytest.raises(DataError, match=message):
        read(path)


@pytest.mark.parametrize(
    "name", ["x'); DROP TABLE data; --.csv", "a*.csv", "[ab]?.csv", "year=2020 é.csv", "{a,b}.csv"]
)
def test_any_file_name_is_read_literally(tmp_path, name):
    folder = tmp_path / "k=v"
    folder.mkdir()
    for other in ("ax.csv", "a.csv", "b1.csv"):
        write(folder / other, "other\n9\n")
    table = read(write(folder / name, "a,b\n1,2\n"))
    assert table.names == ("a", "b")
    assert list(table.histogram("a").values) == [1]
    pq.write_table(pa.table({"a": [1], "A": [2]}), folder / f"{name}.parquet")
    table = read(str(folder / f"{name}.parquet"))
    assert [list(table.histogram(column).values) for column in table.names] == [[1], [2]]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_dialects(tmp_path, separator, newline, mark):
    rows = [["a", '"b, ; c"', "A"], ["1", '"x""y\nz"', "#1"], ["", '""', "2"]]
    content = mark + newline.join(separator.join(row) for row in rows) + newline
    for name in ("t.csv", "t.txt", "t.tsv")[: 3 if separator == "\t" else 2]:
        for path in (write(tmp_path / name, content), tmp_path / f"{name}.gz"):
            if path.suffix == ".gz":
                path.write_bytes(gzip.compress(content.encode()))
            table = read(path)
            assert table.names == ("a", "b, ; c", "A")
            assert list(table.histogram("a").values) == [1]
            assert list(table.histogram("b, ; c").values) == ['x"y\nz']
            assert table.histogram("b, ; c").n_missing == 1
            assert list(table.histogram("A").values) == ["#1", "2"]


@pytest.mark.parametrize(
    ("fields", "kind", "values"),
    [
        (["1", "2", ""], Kind.NUMBER, [1, 2]),
        (["1.0", "2"], Kind.NUMBER, [1, 2]),
        (["4.430107774440286e16", "1"], Kind.NUMBER, [1.0, 4.430107774440286e16]),
        (["1.5", "1e3"], Kind.NUMBER, [1.5, 1000.0]),
        (["9007199254740993", "9007199254740992"], Kind.NUMBER, [2**53, 2**53 + 1]),
        (["true", "FALSE"], Kind.BOOLEAN, [False, True]),
        (["yes", "no"], Kind.TEXT, ["no", "yes"]),
        (["2020-01-02", "2020-01-01"], Kind.DATE, [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]),
        (
            ["2020-01-02", "2020-01-01T10:00"],
            Kind.DATE,
            [dt.datetime(2020, 1, 1, 10), dt.datetime(2020, 1, 2)],
        ),
        (["10:30", "09:00:01"], Kind.DATE, [dt.time(9, 0, 1), dt.time(10, 30)]),
        (["01/02/2020", "02/02/2020"], Kind.TEXT, ["01/02/2020", "02/02/2020"]),
        (["2020-02-30", "2020-02-28"], Kind.TEXT, ["2020-02-28", "2020-02-30"]),
        (["1_000", "2"], Kind.TEXT, ["1_000", "2"]),
        (["", ""], Kind.TEXT, []),
        (["some", "none"], Kind.TEXT, ["none", "some"]),
        (
            ["2020-01-02T10:00:00+02:00", "2020-01-02 07:30Z", "2020-01-02 09:00:00.5+01"],
            Kind.DATE,
            [
                dt.datetime(2020, 1, 2, 7, 30, tzinfo=dt.UTC),
                dt.datetime(2020, 1, 2, 8, tzinfo=dt.UTC),
                dt.datetime(2020, 1, 2, 8, 0, 0, 500_000, tzinfo=dt.UTC),
            ],
        ),
        (["2020-01-02 10:00+02:00", "2020-01-02 10:00"], Kind.TEXT, ["2020-01-02 10:00", "2020-01-02 10:00+02:00"]),
    ],
)
def test_types_of_text_files_are_judged_from_all_rows(tmp_path, fields, kind, values):
    rows = "".join(f"{field},{row}\n" for row, field in enumerate(fields))
    table = read(write(tmp_path / "t.csv", "x,row\n" + rows))
    assert table.kinds["x"] is kind
    assert list(table.histogram("x").values) == values
    assert table.histogram("x").n_missing == fields.count("")
    assert table.notes == ()


def test_moments_of_pandas_in_a_list_are_those_of_python():
    day, hour = pd.Timestamp("2020-01-02"), pd.Timedelta(hours=1)
    table = read({"day": [day, pd.NaT, None], "hour": [hour, pd.NaT, None], "fine": [hour, pd.Timedelta(7), hour]})
    assert set(table.kinds.values()) == {Kind.DATE}
    assert list(table.histogram("day").values) == [dt.datetime(2020, 1, 2)]
    assert list(table.histogram("hour").values) == [dt.timedelta(hours=1)]
    assert [note.split("'")[1] for note in table.notes] == ["fine"]


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        (["1", "?", "?"], r"'x' is text because of 2 values such as '\?'; .* add '\?' to the missing values"),
        (["1", "none"], r"'x' is text because of 1 value such as 'none'; .* add 'none' to"),
        (["a", "NA", "NA", "b"], r"'x' has the text 'NA' in 2 rows; .* add 'NA' to"),
        (["a", "nan", "?"], r"'\?', 'nan' in 2 rows; .* add '\?', 'nan' to"),
        (["007", "010"], "kept as text: some of its numbers begin with a zero"),
        (["1", "nan"], "'nan' is taken as missing"),
        (["99999999999999999999", "1"], "beyond 64 bits"),
        (['"1,5"', '"-20,25"'], r"'x' is text: its values are written like '-20,25'; .* decimal point"),
        (['"1,5"', "2"], r"'x' is text: its values are written like '1,5'; .* decimal point"),
    ],
)
def test_doubtful_columns_are_said(tmp_path, fields, note):
    table = read(write(tmp_path / "t.csv", "x\n" + "\n".join(fields) + "\n"))
    assert len(table.notes) == 1
    assert re.search(note, table.notes[0])


@pytest.mark.parametrize("fields", [['"1,5"', "a"], ['"1,5"', '"1,5,2"'], ['"a,b"'], ["9" * 400, "a"]])
def test_other_texts_with_commas_are_no_numbers(tmp_path, fields):
    assert read(write(tmp_path / "t.csv", "x\n" + "\n".join(fields) + "\n")).notes == ()


def test_na_values_are_missing_when_told(tmp_path):
    path = write(tmp_path / "t.csv", "x,y\n1,a\n?,?\nNA,b\n")
    table = read(path, na_values=("?", "NA"))
    assert list(table.histogram("x").values) == [1]
    assert list(table.histogram("y").values) == ["a", "b"]
    assert table.notes == ()
    assert list(read(path).histogram("y").values) == ["?", "a", "b"]
    with pytest.raises(OptionError, match="na_values: it is for text files"):
        read({"x": [1]}, na_values=("?",))
    for numbers in (5, [-999]):
        with pytest.raises(OptionError, match="give the texts that mean missing"):
            read(path, na_values=numbers)


def test_gzipped_parquet(tmp_path):
    plain_path = as_parquet({"a": [1, None, 2]}, tmp_path / "t.parquet")
    packed = write(tmp_path / "t.parquet.gz", gzip.compress(plain_path.read_bytes()))
    assert list(read(packed).histogram("a").values) == [1, 2]


def test_reading_leaves_no_files_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = write(tmp_path / "t.parquet.gz", gzip.compress(as_parquet({"a": [1]}, tmp_path / "t.parquet").read_bytes()))
    table = read(path)
    assert list(table.histogram("a").values) == [1]
    del table
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.parquet", "t.parquet.gz"]


def test_hostile_values_stay_values(tmp_path):
    hostile = ["'; DROP TABLE data; --", "$1", "\\", "a\0b", "{{x}}", "\u202e", "NULL", "a'b"]
    path = as_parquet({"x'; --": hostile}, tmp_path / "t.parquet")
    assert list(read(path).histogram("x'; --").values) == sorted(hostile)


def test_sources_that_fail_when_they_are_evaluated(tmp_path):
    connection = duckdb.connect()
    with pytest.raises(DataError, match="cannot read the relation"):
        read(connection.sql("SELECT 'a' || i AS x FROM range(3) r(i)").project("x::INTEGER AS y"))
    with pytest.raises(DataError, match="cannot collect the LazyFrame"):
        read(pl.LazyFrame({"a": ["x"]}).select(pl.col("a").cast(pl.Int64)))
    path = as_parquet({"a": [1, 2]}, tmp_path / "t.parquet")
    table = read(path)
    path.unlink()
    with pytest.raises(DataError, match="column 'a' cannot be read"):
        table.histogram("a")


def test_columns_of_parquet_types(tmp_path):
    path = tmp_path / "t.parquet"
    connection = duckdb.connect()
    connection.sql(
        "SELECT 5::UTINYINT AS a, 2::HUGEINT AS b, TIME '10:00' AS c, INTERVAL 2 DAYS AS d, "
        "TIMESTAMPTZ '2020-01-01 10:00+02' AS e, 'x'::ENUM('y', 'x') AS f, "
        "'00000000-0000-0000-0000-000000000001'::UUID AS g, 18446744073709551615::UBIGINT AS h, "
        "1.5::FLOAT AS i"
    ).to_parquet(str(path))
    table = read(path)
    assert {name: table.histogram(name).values[0] for name in table.names} == {
        "a": 5,
        "b": 2,
        "c": dt.time(10),
        "d": dt.timedelta(2),
        "e": dt.datetime(2020, 1, 1, 8, tzinfo=dt.UTC),
        "f": "x",
        "g": "00000000-0000-0000-0000-000000000001",
        "h": 2**64 - 1,
        "i": 1.5,
    }


def test_binary_floats_in_text_files_are_exact(tmp_path):
    numbers = [struct.unpack("<d", struct.pack("<Q", 0x3FB999999999999A + i))[0] for i in range(5)]
    table = read(as_csv({"x": numbers}, tmp_path / "t.csv"))
    assert list(table.histogram("x").values) == numbers
