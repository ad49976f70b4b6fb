import datetime as dt
import gzip
import os
import re
import struct
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import causalrules as cr
from causalrules.data import reading
from causalrules.data.columns import Kind
from causalrules.data.inference import DEFAULT_NA
from causalrules.data.reading import read
from causalrules.exceptions import DataError, FileError, OptionError
from formats import as_csv, as_parquet


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
def test_errors_of_bad_files_name_the_problem(tmp_path, name, content, message):
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
    with pytest.raises(FileError, match=message):
        read(path)
    if message.startswith("no file"):
        with pytest.raises(FileNotFoundError):
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


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        (["1", "?", "?"], r"'x' is text because of values such as '\?'; .* add '\?' to the missing values"),
        (["1", "none"], r"'x' is text because of values such as 'none'; .* add 'none' to"),
        (["a", "-", "-", "b"], r"'x' has the text '-'; .* add '-' to the missing values \(na_values, or --na-value\)"),
        (["a", "na", "?"], r"'\?', 'na'; .* add '\?', 'na' to"),
        (["a", "NA", "None", "NA"], r"3 texts are read as missing, as pandas does: 'NA', 'None' in x; keep_default_na"),
        (["007", "010"], "kept as text: some of its numbers begin with a zero"),
        (["1", "nan"], "1 text is read as missing, as pandas does: 'nan' in x"),
        (["1", "NAN"], "'nan' is taken as missing"),
        (["99999999999999999999", "1"], "beyond 64 bits"),
        (['"1,5"', '"-20,25"'], r"'x' is text: its values are written like '-20,25'; .* decimal point"),
        (['"1,5"', "2"], r"'x' is text: its values are written like '1,5'; .* decimal point"),
    ],
)
def test_ambiguous_columns_are_reported(tmp_path, fields, note):
    table = read(write(tmp_path / "t.csv", "x\n" + "\n".join(fields) + "\n"))
    assert len(table.notes) == 1
    assert re.search(note, table.notes[0])


@pytest.mark.parametrize("fields", [['"1,5"', "a"], ['"1,5"', '"1,5,2"'], ['"a,b"'], ["9" * 400, "a"]])
def test_other_texts_with_commas_are_no_numbers(tmp_path, fields):
    assert read(write(tmp_path / "t.csv", "x\n" + "\n".join(fields) + "\n")).notes == ()


def test_na_values_are_read_as_missing(tmp_path):
    path = write(tmp_path / "t.csv", "x,y\n1,a\n?,?\nNA,b\n")
    table = read(path, na_values=("?", "NA"))
    assert list(table.histogram("x").values) == [1]
    assert list(table.histogram("y").values) == ["a", "b"]
    assert table.notes == ()
    assert list(read(path).histogram("y").values) == ["?", "a", "b"]
    assert list(read(path, keep_default_na=False).histogram("x").values) == ["1", "?", "NA"]
    with pytest.raises(OptionError, match="na_values: it is for text files"):
        read({"x": [1]}, na_values=("?",))
    with pytest.raises(OptionError, match="keep_default_na: it is for text files"):
        read({"x": [1]}, keep_default_na=False)
    for numbers in (5, [-999]):
        with pytest.raises(OptionError, match="give the texts that mean missing"):
            read(path, na_values=numbers)  # type: ignore[arg-type]


# Texts that mean missing to some, to pandas, or to nobody; and values of every type.
FIELDS = [*DEFAULT_NA, "", "?", "-", "na", "none", "NONE", " NA", "1", "2.5", "1", "x", "True", "False", "2020-01-02"]


@pytest.mark.parametrize("path_too", ["in memory", "in files"])
@given(st.data())
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_has_the_missing_values_that_pandas_reads(tmp_path, path_too, data):
    usual = data.draw(st.sampled_from([["1", "2.5", "3"], ["x", "y"], ["True", "False"], ["2020-01-02", "2021-03-04"]]))
    rare = data.draw(st.lists(st.sampled_from(FIELDS), max_size=3))
    rows = data.draw(st.lists(st.sampled_from([*usual, *usual, *rare]), min_size=4, max_size=12))
    given_values = data.draw(st.sampled_from([[], ["?"], ["-", "x"]]))
    keep = data.draw(st.booleans())
    path = write(tmp_path / "t.csv", "c,n\n" + "".join(f"{row},{place}\n" for place, row in enumerate(rows)))
    expected = pd.read_csv(path, na_values=given_values, keep_default_na=keep, dtype={"c": str})["c"]
    # pandas keeps an empty field as a text if the defaults are off; here it is always missing.
    missing = (expected.isna() | (expected == "")).tolist()
    with pytest.MonkeyPatch.context() as patch:
        if path_too == "in files":
            patch.setattr(reading, "STREAMED_FROM", 0)
        table = read(path, na_values=given_values, keep_default_na=keep)
        if table.kinds["c"] is Kind.NUMBER:  # DuckDB reads nan in any spelling, which pandas keeps as text
            missing = [
                gone or row.strip().casefold() in ("nan", "-nan") for gone, row in zip(missing, rows, strict=True)
            ]
        assert (~table.having(["c"])).tolist() == missing


def test_the_texts_that_mean_missing_are_those_of_pandas():
    from pandas._libs.parsers import STR_NA_VALUES

    assert {"", *DEFAULT_NA} == STR_NA_VALUES


def test_a_search_of_the_file_is_that_of_what_pandas_reads(tmp_path):
    rng = np.random.default_rng(0)
    offer = rng.choice(["None", "mail", "call"], 600)
    age = [str(value) if value >= 20 else "NA" for value in rng.integers(16, 60, 600)]
    bought = (rng.random(600) < 0.2 + 0.2 * (offer == "call")).astype(int)
    rows = "".join(f"{a},{b},{c}\n" for a, b, c in zip(offer, age, bought, strict=True))
    path = write(tmp_path / "t.csv", "offer,age,bought\n" + rows)
    asked: dict[str, Any] = {"target": "bought", "progress": False, "control": "age"}
    found, expected = cr.discover(path, **asked), cr.discover(pd.read_csv(path), **asked)
    assert found.rules == expected.rules
    assert found.n_incomplete == expected.n_incomplete == age.count("NA")
    assert any("are read as missing, as pandas does: 'NA', 'None' in offer and age" in note for note in found.notes)
    kept = cr.discover(path, **asked, keep_default_na=False, na_values="NA")
    plain = pd.read_csv(path, keep_default_na=False, na_values=["NA"])
    assert kept.rules == cr.discover(plain, **asked).rules != found.rules
    for rules in (kept, cr.discover(plain, **asked)):
        (note,) = (note for note in rules.notes if "has the text" in note)
        assert "'offer'" in note
        assert "'None'" in note
        assert "na_values" in note


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
        "TIMESTAMPTZ '2020-01-01 10:00:00+02' AS e, 'x'::ENUM('y', 'x') AS f, "
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
