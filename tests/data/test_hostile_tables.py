"""Unusual but valid tables give results that can be saved; impossible values are rejected by name before the search."""

from __future__ import annotations

import _thread
import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import causalrules as cr
from causalrules.data import database, inference
from causalrules.data.files import read_path
from causalrules.data.reading import read
from causalrules.exceptions import DataError, FileError, RoleError
from causalrules.waiting import interruptible

X = np.random.default_rng(1).integers(0, 40, 300)
Y = (X + np.random.default_rng(2).integers(0, 30, 300) > 40).astype(int)


def ordered(categories: Any) -> pd.Categorical:
    return pd.Categorical.from_codes(X * len(categories) // 40, categories=categories, ordered=True)


def reread(rules: cr.RuleSet) -> cr.RuleSet:
    """Write a result in every form and read it back."""
    for dialect in ("duckdb", "postgres", "sqlite"):
        rules.to_sql(dialect=dialect)
    back = cr.RuleSet.from_json(rules.to_json())
    assert [rule.conditions for rule in back] == [rule.conditions for rule in rules]
    return back


@pytest.mark.parametrize(
    ("categories", "text"),
    [
        (pd.cut(X, 4).categories, "(29.25, 39.0]"),
        (pd.IntervalIndex.from_breaks([-np.inf, 10, 20, np.inf]), "(20.0, inf]"),
        (pd.period_range("2020-01", periods=4, freq="M"), "2020-04"),
        ([Decimal("0.1"), Decimal("0.2"), Decimal("7.5")], "7.5"),
        ([Decimal("0.1"), Decimal("0.1000000000000000000000001")], "0.1000000000000000000000001"),
        ([1, "b", 3.5], "3.5"),
        ([-np.inf, 1.0, np.inf], "inf"),
        (np.array([1, 2.5, 3], object), "3"),
        ([b"a", b"b"], "b'b'"),
        (pd.to_datetime([1, 2, 3]), "1970-01-01 00:00:00.000000003"),
        ([1, 2**70], str(2**70)),
    ],
)
def test_ordered_categories_of_any_type_can_be_saved(categories: Any, text: str) -> None:
    frame = pd.DataFrame({"x": ordered(categories), "y": Y})
    rules = cr.discover(frame, "y", k=10, estimator="plugin", max_length=1)
    (number,) = [number for number, rule in enumerate(rules) if str(rule) == f"x ≥ {text}"]
    again = reread(rules)
    # The saved result still covers the same rows, in memory and as Python.
    expected = frame["x"].cat.codes == len(categories) - 1
    assert (np.asarray(again[number].covers(frame)) == expected).all()
    namespace: dict[str, Any] = {}
    exec(rules[number].to_python(), namespace)
    assert [namespace["covers"](row) for row in frame.to_dict("records")] == expected.tolist()


def test_a_report_shows_intervals() -> None:
    rules = cr.discover(pd.DataFrame({"x": pd.cut(X, 4), "y": Y}), "y", k=1)
    assert "(29.25, 39.0]" in rules.to_html()


@pytest.mark.parametrize(
    ("categories", "reason"),
    [
        ([1, "1", 3.5], "several categories that are written '1'"),
        (pd.Index([1, 10**5000], dtype=object), "thousands of digits"),
    ],
)
def test_indistinguishable_categories_are_rejected(categories: Any, reason: str) -> None:
    with pytest.raises(RoleError, match=reason):
        cr.discover(pd.DataFrame({"x": ordered(categories), "y": Y}), "y")


@pytest.mark.parametrize(
    "points",
    [
        [Decimal("10.5"), Decimal(20)],
        [Fraction(21, 2), 20],
        np.array([10.5, 20]),
        pd.Series([10.5, 20], index=[7, 8]),
        [np.array(10.5), np.float32(20)],
        (10.5, "20"),
    ],
)
def test_cut_points_of_any_numeric_type_can_be_saved(points: Any) -> None:
    plain = cr.discover({"x": X, "y": Y}, "y", cuts={"x": [10.5, 20]}, k=3)
    rules = cr.discover({"x": X, "y": Y}, "y", cuts={"x": points}, k=3)
    assert [rule.conditions for rule in reread(rules)] == [rule.conditions for rule in plain]


@pytest.mark.parametrize(
    "point",
    [Decimal("NaN"), Decimal("sNaN"), 10**5000, np.array([10, 20]), 1j, b"1", Decimal("1e999")],
    ids=lambda point: type(point).__name__,
)
def test_cut_points_that_are_not_numbers_are_rejected(point: Any) -> None:
    with pytest.raises(RoleError, match="cannot be compared"):
        cr.discover({"x": X, "y": Y}, "y", cuts={"x": [point]})


def test_cut_points_of_dates_may_be_of_different_types() -> None:
    days = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(X, "D"))
    cuts = {"x": [pd.Timestamp("2020-01-10"), np.datetime64("2020-01-20"), dt.datetime(2020, 1, 25)]}
    assert len(reread(cr.discover({"x": days, "y": Y}, "y", cuts=cuts, k=3, stepwise=False))) == 3


# Masks and dates


@pytest.mark.parametrize("dtype", [float, int, np.uint8, "M8[D]", "M8[us]", "m8[s]", "U3", bool, object])
def test_masked_values_are_missing(dtype: Any) -> None:
    values = (X > 10) if dtype is bool else X.astype(dtype)
    hidden = X > 15
    plain = [None if mask else value for value, mask in zip(values.astype(object), hidden, strict=True)]
    column = read({"x": np.ma.array(values, mask=hidden)}).histogram("x")
    assert column.n_missing == hidden.sum()
    assert len(column.values) == len({value for value in plain if value is not None})
    structured = np.ma.zeros(len(X), [("x", values.dtype), ("y", int)])
    structured["x"] = np.ma.array(values, mask=hidden)
    assert read(structured).histogram("x").n_missing == hidden.sum()
    assert read({"x": [np.ma.masked, 1, 2]}).histogram("x").n_missing == 1


@pytest.mark.parametrize(
    "column",
    [
        np.array([0, 10**15], "M8[s]"),
        np.array([0, 10**15], "M8[D]"),
        np.array([0, 10**12], "M8[Y]"),
        np.array([0, 10**17], "m8[s]"),
        np.array([0, 4_000_000], "M8[D]"),
        pl.Series([0, 50_000_000], dtype=pl.Int32).cast(pl.Date),
        pl.Series([0, 10**16]).cast(pl.Datetime("ms")),
        pl.Series([0, 10**16]).cast(pl.Duration("ms")),
        pd.Series(np.array([0, 10**12], "M8[s]")),
        [dt.timedelta(0), dt.timedelta.max],
        [dt.timedelta(0), dt.timedelta.min],
    ],
)
def test_dates_out_of_range_are_rejected_with_column_and_row(column: Any) -> None:
    with pytest.raises(DataError, match=r"column 'when' holds 1 value outside the years 1 to 9999.*row 2"):
        read({"when": column}).histogram("when")


def test_dates_out_of_range_in_streamed_files_are_rejected_by_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("causalrules.data.reading.STREAMED_FROM", 0)
    pq.write_table(pa.table({"when": pa.array([0, 10**15], pa.timestamp("ms"))}), tmp_path / "far.parquet")
    with pytest.raises(DataError, match=r"column 'when' holds 1 value outside.*row 2"):
        read(tmp_path / "far.parquet").histogram("when")


# Files


def test_decimals_of_38_digits_are_read(tmp_path: Path) -> None:
    path = tmp_path / "decimal.parquet"
    large = [Decimal(f"{9 * 10**37 + value}") for value in X.tolist()]
    exact = [Decimal(f"{value}.{value:018d}") for value in X.tolist()]
    columns = {"large": pa.array(large, pa.decimal128(38, 0)), "d": pa.array(exact, pa.decimal128(38, 18))}
    pq.write_table(pa.table({"x": X, "y": Y, "half": pa.array([Decimal(v) / 2 for v in X.tolist()]), **columns}), path)
    table = read(path)
    rounded = {note.split("'")[1] for note in table.notes}
    assert rounded == {"large", "d"}
    assert [*table.histogram("half").values] == sorted({value / 2 for value in X.tolist()})
    assert str(cr.discover(path, "y", actionable="x", k=1)[0]).startswith("x")


@pytest.mark.parametrize("compress", [False, True])
def test_line_ends_may_be_mixed(tmp_path: Path, compress: bool) -> None:
    import gzip

    rows = [f'{x},{y},"a\r\n""b{x % 3}"' for x, y in zip(X, Y, strict=True)]
    text = "x,y,t\r\n" + "".join(row + ("\r\n", "\n")[number % 3 == 0] for number, row in enumerate(rows))
    path = tmp_path / ("mixed.csv.gz" if compress else "mixed.csv")
    path.write_bytes(gzip.compress(text.encode()) if compress else text.encode())
    table = read(path)
    assert table.n_rows == len(X)
    assert [*table.histogram("t").values] == [f'a\r\n"b{rest}' for rest in range(3)]


@pytest.mark.parametrize("name", ["a[1].parquet", "b*.parquet", "c?.parquet", "[d]*?.csv"])
def test_a_query_reads_a_file_whose_name_could_be_a_pattern(tmp_path: Path, name: str) -> None:
    frame, path = pd.DataFrame({"x": X, "y": Y}), tmp_path / name
    frame.to_csv(path, index=False) if name.endswith("csv") else frame.to_parquet(path)
    (tmp_path / "a1.parquet").write_bytes(path.read_bytes())
    assert read(path, query="SELECT * FROM data WHERE x > 20").n_rows == (X > 20).sum()
    with pytest.raises(cr.OptionError, match="Cannot access"):
        read(path, query=f"SELECT * FROM '{tmp_path / 'a1.parquet'}'")


@pytest.mark.parametrize("encoding", ["utf-32", "utf-16", "utf-32-be-sig"])
def test_the_encoding_is_named(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "data.csv"
    content = "x,y\n1,0\n2,1\n"
    path.write_bytes(("\ufeff" + content).encode("utf-32-be") if "sig" in encoding else content.encode(encoding))
    with pytest.raises(FileError, match=encoding[:6].upper()):
        read(path)


def test_names_that_are_not_valid_text_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "n\udce9.csv"
    path.write_text("x,y\n1,0\n2,1\n")
    with pytest.raises(FileError, match=r"n\\udce9.csv' is not UTF-8"):
        read(path)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_number_of_queries_does_not_grow_with_columns(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query plans for every column of the table, so one query for each column takes quadratic time."""
    asked: list[str] = []
    run = database.Database.run

    def counted(self: database.Database, *arguments: Any) -> Any:
        asked.append("a query")
        return run(self, *arguments)

    monkeypatch.setattr(database.Database, "run", counted)

    def queries(n_columns: int) -> int:
        frame = pd.DataFrame({f"x{number}": X[:12] % (2 + number % 5) for number in range(n_columns)})
        frame["t"], frame["y"] = [f"t{x % 3}" for x in X[:12]], Y[:12]
        path = tmp_path / f"wide{n_columns}.{suffix}"
        frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
        asked.clear()
        cr.discover(path, "y", "= 1", max_length=1, k=1)
        return len(asked)

    assert queries(150) == queries(5)


@pytest.mark.parametrize("together", [1, 30, 1 << 20])
def test_columns_do_not_depend_on_the_batch_size(
    tmp_path: Path, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_MOST_VALUES", together)
    monkeypatch.setattr(inference, "_MOST_VALUES", together)
    path = tmp_path / "kinds.csv"
    path.write_text(
        "b,n,t,d,e,z,u\n1,1.5,é,2020-01-01,true,01,1_0\n2,,z,2020-01-02,false,02,2\n3,-2,,,true,03,3\n"
        '1,nan,"a,b",2020-01-01,true,01,4\n'
    )
    table = read(path)
    assert dict(table.kinds) == {
        "b": "number",
        "n": "number",
        "t": "text",
        "d": "date",
        "e": "boolean",
        "z": "text",
        "u": "text",
    }
    assert [*table.histogram("t").values] == ["a,b", "z", "é"]
    assert [*table.histogram("n").values] == [-2.0, 1.5]
    assert table.histogram("n").n_missing == 2
    assert table.binned("t", np.array([0, 1])).tolist() == [2, 1, -1, 0]
    assert [*table.histogram("d").values] == [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]


# Interrupts


ENDLESS = "SELECT sum(a.range + b.range) AS y FROM range(10000000000) a, range(1000) b"


def test_ctrl_c_interrupts_a_query(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("x,y\n1,0\n2,1\n")
    # Interrupt at the first check after the query.
    monkeypatch.setattr(database, "_limits", lambda *_: _thread.interrupt_main)
    with pytest.raises(KeyboardInterrupt):
        read(path, query=ENDLESS)


def test_ctrl_c_interrupts_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    source = database.Database()

    def interrupted(work: Callable[[], Any], *how: Any) -> Any:
        def begun() -> Any:
            _thread.interrupt_main()
            return work()

        return interruptible(begun, *how)

    with monkeypatch.context() as pressed:
        pressed.setattr(database, "interruptible", interrupted)
        with pytest.raises(KeyboardInterrupt):
            source.rows(ENDLESS)
    assert source.rows("SELECT 1") == [(1,)]


def test_a_time_limit_ends_a_query(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("x,y\n1,0\n2,1\n")
    with pytest.raises(DataError, match="query: the time limit passed"):
        cr.discover(path, "y", query=ENDLESS, time_limit=0.2)


def test_a_query_that_fills_the_disk_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil
    from types import SimpleNamespace

    path = tmp_path / "data.csv"
    path.write_text("x,y\n1,0\n2,1\n")
    free = iter([1000, *[499] * 1000])
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=next(free)))
    with pytest.raises(DataError, match="fills the disk"):
        read(path, query=ENDLESS)


def test_errors_of_duckdb_are_still_errors(tmp_path: Path) -> None:
    with pytest.raises(duckdb.Error):
        database.Database().rows("SELECT nothing")
    with pytest.raises(FileError):
        read_path(tmp_path / "none.csv", ())


def test_an_asynchronous_client_is_refused() -> None:
    from types import SimpleNamespace

    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame({"x": X, "y": Y}), npartitions=2)
    with pytest.raises(DataError, match="client: this client is asynchronous"):
        cr.discover(frame, "y", client=SimpleNamespace(asynchronous=True))
