"""Tables larger than memory: the result is that of the same rows in memory, from any source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import causalrules as cr
from causalrules.data import database, files, reading, streaming
from causalrules.exceptions import DataError, OptionError
from causalrules.search import memory, merging
from causalrules.search import streamed as stream
from causalrules.search.core import Batch
from rulesets import rows_of
from strategies import SmallTable, examples, questions, small_tables

# Shrinking would write thousands of files.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
slow = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    max_examples=examples(10, 40),
    phases=PHASES,
)


@pytest.fixture
def sliced(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Stream everything, in slices of five rows."""
    monkeypatch.setattr(reading, "STREAMED_FROM", 0)
    monkeypatch.setattr(database, "SLICE", 5)
    monkeypatch.setattr(stream, "SLICE", 5)
    return monkeypatch


def answer(rules: cr.RuleSet) -> dict[str, Any]:
    """Return the JSON without time, source name and dataframe library."""
    found: dict[str, Any] = json.loads(rules.to_json())
    for name in ("run", "library"):
        found.pop(name, None)
    for name in ("source", "weights", "query"):
        found["question"].pop(name)
    if any(rule.n_undecided for rule in rules):  # unknown for remote rows
        found.pop("rungs")
    return found


def asked(source: Any, small: SmallTable, **question: Any) -> dict[str, Any]:
    return answer(cr.discover(source, "y", 1, list(small.control), list(small.actionable), n_jobs=1, **question))


def outcome(source: Any, small: SmallTable, **question: Any) -> dict[str, Any] | str:
    """Return the result, or the error message."""
    try:
        return asked(source, small, **question)
    except cr.exceptions.InputError as error:
        return str(error)


def write(columns: dict[str, list[Any]], path: Path) -> Path:
    pq.write_table(pa.table({name: pa.array(values) for name, values in columns.items()}), path)
    return path


@slow
@given(small_tables(), questions(), st.booleans(), st.booleans())
def test_streamed_is_in_memory(
    tmp_path: Path,
    sliced: pytest.MonkeyPatch,
    small: SmallTable,
    question: dict[str, Any],
    sorts: bool,
    merges: bool,
) -> None:
    sliced.setattr(streaming, "_GROUPED", 0 if sorts else 100_000)
    sliced.setattr(streaming.StreamedTable, "_KEPT_VALUES", 2)
    sliced.setattr(merging, "pays", lambda *_: merges)
    path = write(small.columns(), tmp_path / "data.parquet")
    with pytest.MonkeyPatch.context() as in_memory:
        in_memory.setattr(reading, "STREAMED_FROM", 10**9)
        expected = outcome(path, small, **question)
    assert type(reading.read(path)) is streaming.StreamedTable
    assert outcome(path, small, **question) == expected
    assert outcome(duckdb.read_parquet(str(path)), small, **question) == expected


@slow
@given(small_tables(), st.data())
def test_streamed_weights_are_repeated_rows(
    tmp_path: Path, sliced: pytest.MonkeyPatch, small: SmallTable, draw: st.DataObject
) -> None:
    columns = small.columns()
    n_rows = len(small.rows)
    weights = [1, 1, *draw.draw(st.lists(st.integers(0, 5), min_size=n_rows, max_size=n_rows))[2:]]
    path = write({**columns, "n": weights}, tmp_path / "data.parquet")
    # The same types, even if a weight of 0 removes the only fractional number.
    expanded = pq.read_table(path).drop_columns("n").take(np.repeat(np.arange(n_rows), weights))
    assert outcome(path, small, weights="n") == outcome(expanded, small)


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
columns_of_any_kind = st.one_of(
    st.lists(st.none() | st.floats(allow_infinity=False), min_size=12, max_size=12),
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=12, max_size=12),
    st.lists(st.none() | st.sampled_from([-0.0, 0.0, float("nan"), 1.5]), min_size=12, max_size=12),
    st.lists(st.none() | words, min_size=12, max_size=12),
    st.lists(st.none() | st.booleans(), min_size=12, max_size=12),
    st.lists(st.none() | st.dates(), min_size=12, max_size=12),
    st.lists(st.none() | st.datetimes(), min_size=12, max_size=12),
)


@slow
@given(columns_of_any_kind, columns_of_any_kind, columns_of_any_kind, st.booleans())
def test_values_of_any_kind(
    tmp_path: Path, sliced: pytest.MonkeyPatch, x: list[Any], z: list[Any], y: list[Any], sorts: bool
) -> None:
    sliced.setattr(streaming, "_GROUPED", 0 if sorts else 100_000)
    path = write({"x": x, "z": z, "y": y, "b": [True, False] * 6}, tmp_path / "data.parquet")
    wanted = next((value for value in y if value is not None and value == value), None)

    def found() -> Any:
        try:
            return answer(cr.discover(path, "y", wanted, ["z"], ["x", "b"], k=5, max_bins=3))
        except cr.exceptions.InputError as error:
            return str(error)

    with pytest.MonkeyPatch.context() as in_memory:
        in_memory.setattr(reading, "STREAMED_FROM", 10**9)
        expected = found()
    assert found() == expected


@pytest.mark.parametrize("kept_bytes", [0, 10**9], ids=["on disk", "in memory"])
def test_many_files_are_one_table(tmp_path: Path, sliced: pytest.MonkeyPatch, kept_bytes: int) -> None:
    rng = np.random.default_rng(0)
    parts = []
    for number in range(4):
        n_rows = (0, 3, 17, 8)[number]
        parts.append(
            {
                "y": rng.integers(0, 2, n_rows).tolist(),
                "x": rng.random(n_rows).tolist(),
                # A category that occurs in one file only.
                "c": rng.choice(["é", "b"] if number < 3 else ["only here", "b"], n_rows).tolist(),
            }
        )
    types = pa.schema({"y": pa.int64(), "x": pa.float64(), "c": pa.string()})
    for number, part in enumerate(parts):
        pq.write_table(pa.table(part, types), tmp_path / f"part-{number}.parquet")
        rows = [",".join(map(str, row)) for row in zip(*part.values(), strict=True)]
        (tmp_path / f"part-{number}.csv").write_text("\n".join(["y,x,c", *rows]) + "\n", encoding="utf-8")
    whole = {name: [value for part in parts for value in part[name]] for name in parts[0]}
    expected = answer(cr.discover(whole, "y", k=500, stepwise=False))
    assert "only here" in str(expected)
    sliced.setattr(files, "_KEPT_BYTES", kept_bytes)
    for pattern in ("part-*.parquet", "part-?.csv"):
        assert answer(cr.discover(tmp_path / pattern, "y", k=500, stepwise=False)) == expected


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"y": [0, 1], "z": ["a", "b"]}, "differs in 'x', 'z'"),
        ({"y": [0, 1], "x": ["a", "b"]}, "'x' is VARCHAR in .*b.parquet' and BIGINT in"),
        ({"x": [0, 1], "y": [0, 1]}, "another order"),
    ],
)
def test_files_that_differ_are_named(tmp_path: Path, other: dict[str, list[Any]], message: str) -> None:
    write({"y": [0, 1], "x": [1, 2]}, tmp_path / "a.parquet")
    write(other, tmp_path / "b.parquet")
    with pytest.raises(DataError, match=message):
        cr.discover(tmp_path / "*.parquet", "y")


def test_csv_headers_that_differ_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("y,x\n1,2\n")
    (tmp_path / "b.csv").write_text("y,w\n1,2\n")
    with pytest.raises(DataError, match=r"b.csv' are not those of .*a.csv': it differs in 'w', 'x'"):
        cr.discover(tmp_path / "*.csv", "y")
    (tmp_path / "b.csv").write_text("")
    with pytest.raises(DataError, match=r"b.csv' is empty"):
        cr.discover(tmp_path / "*.csv", "y")
    with pytest.raises(DataError, match=r"no file matches .*tsv"):
        cr.discover(tmp_path / "*.tsv", "y")
    (tmp_path / "b.csv").rename(tmp_path / "c.parquet")
    write({"y": [0, 1]}, tmp_path / "c.parquet")
    with pytest.raises(DataError, match="different kinds"):
        cr.discover(tmp_path / "*", "y")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -2, 3, 1], "1 value .* row 2: -2"),
        ([1, 1.5, 3, 0.5], "2 values .* row 2: 1.5"),
        ([1, None, 3, 1], "1 value .* row 2: missing"),
        (["a", "b", "c", "d"], "holds text values"),
        ([2**53, 1, 1, 1], "more than 2\\*\\*53"),
    ],
)
def test_streamed_weights_are_checked(
    tmp_path: Path, sliced: pytest.MonkeyPatch, weights: list[Any], message: str
) -> None:
    path = write({"y": [0, 1, 0, 1], "x": [1, 2, 3, 4], "n": weights}, tmp_path / "data.parquet")
    with pytest.raises(DataError, match=message):
        cr.discover(path, "y", weights="n")


def test_streamed_infinities_are_named(tmp_path: Path, sliced: pytest.MonkeyPatch) -> None:
    path = write({"y": [0, 1, 0, 1], "x": [1.0, 2.0, float("inf"), -float("inf")]}, tmp_path / "data.parquet")
    with pytest.raises(DataError, match="'x' holds 2 infinite values, the first in row 3"):
        cr.discover(path, "y")


def test_too_many_texts(tmp_path: Path, sliced: pytest.MonkeyPatch) -> None:
    sliced.setattr(streaming, "_MOST_TEXTS", 3)
    values: dict[str, list[Any]] = {"y": [0, 1, 0, 1, 1], "b": [True, False, True, True, False]}
    rules = cr.discover(write({**values, "x": list("abcde")}, tmp_path / "a.parquet"), "y")
    assert any("5 values are all different" in note for note in rules.notes)
    for role in ("target", "control"):
        roles: dict[str, Any] = {"target": "y", "outcome": 1, role: "x"}
        with pytest.raises(DataError, match="'x' has 5 distinct texts"):
            cr.discover(tmp_path / "a.parquet", **roles)
    with pytest.raises(DataError, match="'x' has 4 distinct texts"):
        cr.discover(write({**values, "x": list("abcda")}, tmp_path / "b.parquet"), "y")


def test_insufficient_memory_is_reported_before_the_search(
    tmp_path: Path, sliced: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 50)
    monkeypatch.setattr(memory, "_LITTLE", 0)
    columns = {"y": [0, 1] * 50, "x": list(range(1, 200, 2))}
    message = r"100 rows with 14 conditions need .* GB .* free; use fewer bins .*'x' has the most values: 8"
    for source in (columns, write(columns, tmp_path / "data.parquet")):
        with pytest.raises(DataError, match=message):
            cr.discover(source, "y")


def test_available_memory_is_positive() -> None:
    free = memory.available_memory()
    assert free is None or free > 2**20


def test_remote_rows_are_fetched_on_access(tmp_path: Path, sliced: pytest.MonkeyPatch) -> None:
    import pickle

    columns: dict[str, list[Any]] = {"y": [0, 1] * 20, "x": list(range(1, 80, 2)), "z": ["a", "b", "b", "a"] * 10}
    streamed = rows_of(cr.discover(write(columns, tmp_path / "data.parquet"), "y", control="z"))
    local = rows_of(cr.discover(columns, "y", control="z"))
    assert streamed is not None
    assert local is not None
    assert not streamed.rows.is_local
    again = pickle.loads(pickle.dumps(streamed))
    for problem in (streamed, again):
        assert problem.stratum.tolist() == local.stratum.tolist()
        assert problem.outcome.tolist() == local.outcome.tolist()
        assert [column.tolist() for column in problem.columns] == [column.tolist() for column in local.columns]
        assert problem.weights is None


def test_a_query_rejects_column_names_that_differ_only_in_case(tmp_path: Path) -> None:
    columns = {"y": [0, 1, 1, 0], "a": [1, 2, 3, 4], "A": [4, 3, 2, 2], "é": [1, 2, 1, 2], "É": [1, 1, 2, 2]}
    path = write(columns, tmp_path / "data.parquet")
    with pytest.raises(OptionError, match="the columns 'a' and 'A' differ only in case"):
        cr.discover(path, "y", query="SELECT * FROM data")
    del columns["A"]
    path = write(columns, tmp_path / "data.parquet")
    assert answer(cr.discover(path, "y", query="SELECT * FROM data")) == answer(cr.discover(columns, "y"))


def test_a_query_chooses_rows_and_columns(tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {"y": [0, 1] * 20, 'a "b"': list(range(40)), "z": ["a", "b", "b", "a"] * 10}
    path = write(columns, tmp_path / "data.parquet")
    query = 'SELECT y, "a ""b""" % 7 AS x FROM data WHERE z = \'a\''
    chosen = [row for row in range(40) if columns["z"][row] == "a"]
    expected = {"y": [columns["y"][row] for row in chosen], "x": [row % 7 for row in chosen]}
    assert answer(cr.discover(path, "y", query=query)) == answer(cr.discover(expected, "y"))
    csv = tmp_path / "data.csv"
    duckdb.read_parquet(str(path)).write_csv(str(csv))
    assert answer(cr.discover(csv, "y", query=query)) == answer(cr.discover(expected, "y"))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * FROM data; SELECT 1", "one SELECT"),
        ("DROP TABLE data", "one SELECT"),
        ("SELECT * FROM nothing", "nothing"),
        ("SELECT * FROM local_frame", "local_frame"),
        ("SELECT * FROM read_text('/etc/hostname')", "Cannot access"),
        ("SELEC", "SELEC"),
    ],
)
def test_a_query_reads_nothing_else(tmp_path: Path, query: str, message: str) -> None:
    local_frame = pa.table({"y": [0, 1], "x": [1, 2]})
    path = write({"y": [0, 1], "x": [1, 2]}, tmp_path / "data.parquet")
    with pytest.raises(OptionError, match=message):
        cr.discover(path, "y", query=query)
    assert local_frame.num_rows == 2


@given(st.integers(1, 200_000), st.integers(0, 9), st.booleans())
@settings(deadline=None, max_examples=20)
def test_merged_rows_are_the_same_rows(n_distinct: int, seed: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, n_distinct, 50_000)
    batch = Batch(
        (rows % 2).astype(np.int32),
        (rows % 3 == 0).astype(np.uint8),
        rng.integers(1, 9, len(rows)).astype(np.uint64) if weighted else None,
        [(rows % 300).astype(np.int32), (rows // 300).astype(np.int32)],
    )
    merged = merging.merge(batch)
    # The digest counts each row by its weight, in any order.
    assert merging.digest([merged]) == merging.digest([batch])
    assert merging.places(merged) <= merging.places(batch)
    if n_distinct <= 5_000:
        assert len(merged.strata) == len(np.unique(rows))


def test_the_digest_distinguishes_rows() -> None:
    batch = Batch(np.array([0, 1], np.int32), np.array([0, 1], np.uint8), None, [np.array([3, -1], np.int32)])
    turned = Batch(np.array([1, 0], np.int32), np.array([1, 0], np.uint8), None, [np.array([-1, 3], np.int32)])
    other = Batch(np.array([0, 1], np.int32), np.array([0, 1], np.uint8), None, [np.array([-1, 3], np.int32)])
    assert merging.digest([batch]) == merging.digest([turned]) != merging.digest([other])
