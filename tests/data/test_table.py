import datetime as dt
import math

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from causalrules.data.reading import read
from causalrules.exceptions import DataError
from formats import as_arrow, as_csv, as_parquet

N_ROWS = 8
# Shrinking would read thousands of files.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)


def optional(values):
    return st.lists(st.one_of(st.none(), values), min_size=N_ROWS, max_size=N_ROWS)


# Text that a CSV file cannot distinguish from a number, a date or a missing value is tested in test_files.
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
# Names that differ only in case are one name to DuckDB, which renames the second in a relation.
tables = st.dictionaries(names, column_values, min_size=1, max_size=4).filter(
    lambda columns: len({name.lower() for name in columns}) == len(columns)
)


def plain(values, counts):
    return [(value, int(count)) for value, count in zip(values, counts, strict=True)]


def expected_histogram(values):
    present = [value for value in values if value is not None]
    return [(value, present.count(value)) for value in sorted(set(present))]


def as_pandas(data):
    nullable = {int: "Int64", bool: "boolean", float: "Float64", str: "str", dt.datetime: "datetime64[us]"}
    kinds = {name: type(next(v for v in values if v is not None)) for name, values in data.items()}
    return pd.DataFrame(
        {name: pd.Series(values, dtype=nullable.get(kinds[name], "object")) for name, values in data.items()}
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=12, phases=PHASES)
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
    assert weighted.weights is not None
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


def test_negative_zero_becomes_zero():
    for zeros in ([-0.0, 0.0], [0.0, -0.0], [-0.0]):
        assert [repr(value) for value in read({"x": zeros}).histogram("x").values] == ["0.0"]


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
