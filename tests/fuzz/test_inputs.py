"""Any table, options, graph and command line give a result that can be saved, or a rejection."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner
from hostile import GRAPHS, JUNK, TEXTS, attempt, columns, options, save, tables, watched
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import causalrules as cr
from causalrules.cli import cli
from strategies import examples

QUIET = [
    HealthCheck.too_slow,
    HealthCheck.filter_too_much,
    HealthCheck.data_too_large,
    HealthCheck.function_scoped_fixture,
]


def names_of(table: Any) -> list[str]:
    return [str(name) for name in (table if isinstance(table, dict) else table.columns)]


@settings(max_examples=examples(50, 300), suppress_health_check=QUIET)
@given(st.data())
def test_any_table_and_any_options(data: st.DataObject) -> None:
    table = data.draw(tables())
    asked = data.draw(options(names_of(table)))
    rules = attempt(lambda: cr.discover(table, "y", **asked))
    if rules is not None:
        with watched():
            save(rules)


@settings(max_examples=examples(10, 60), suppress_health_check=QUIET)
@given(tables(), tables(), st.lists(TEXTS, max_size=2))
def test_rules_meet_other_tables(table: Any, other: Any, written: list[str]) -> None:
    rules = attempt(lambda: cr.discover(table, "y", k=2, time_limit=2, n_jobs=1, progress=False))
    if rules is not None:
        for rule in rules:
            attempt(lambda rule=rule: rule.covers(other))  # type: ignore[misc]
            attempt(lambda rule=rule: cr.evaluate(other, str(rule), "y"))  # type: ignore[misc]
    attempt(lambda: cr.evaluate(table, " and ".join(written), "y"))


@settings(max_examples=examples(30, 300), suppress_health_check=QUIET)
@given(
    GRAPHS, st.lists(TEXTS | st.sampled_from(["a", "b", "y"]), max_size=2), st.lists(st.sampled_from("abc"), max_size=2)
)
def test_any_graph(graph: str, actionable: list[str], control: list[str]) -> None:
    read = attempt(lambda: cr.CausalGraph.read(graph))
    if read is not None:
        str(read), repr(read)
    checked = attempt(lambda: cr.check(graph, target="y", actionable=actionable, control=control))
    if checked is not None:
        checked.summary(), checked.to_dict()
    suggested = attempt(lambda: cr.suggest(graph, "y"))
    if suggested is not None:
        suggested.summary()


@st.composite
def files(draw: st.DrawFn) -> tuple[str, bytes]:
    """Draw the suffix and the bytes of a data file."""
    kind = draw(st.sampled_from(["csv", "csv", "tsv", "parquet", "bytes", "cut"]))
    if kind == "bytes":
        return draw(st.sampled_from([".csv", ".tsv", ".txt", ".parquet", ".csv.gz", ".parquet.gz", ".xls", ""])), draw(
            st.binary(max_size=100)
        )
    n = draw(st.integers(1, 8))
    if kind in ("parquet", "cut"):
        try:
            frame = pd.DataFrame({"x": draw(columns(n)), "y": [number % 2 for number in range(n)]})
            content = frame.to_parquet(index=False)
        except Exception:
            content = pd.DataFrame({"x": range(n), "y": [number % 2 for number in range(n)]}).to_parquet(index=False)
        assert isinstance(content, bytes)
        if kind == "cut":
            place = draw(st.integers(0, len(content) - 1))
            content = draw(st.sampled_from([content[:place], content[:place] + b"\xff" + content[place + 1 :]]))
        return ".parquet", content
    ends = st.sampled_from(["\n", "\r\n", "\n", "\r"])
    text = "x,y,z" + draw(ends)
    fields = st.text(max_size=4) | st.sampled_from(
        ["1", "2", '"a"', '"', '""', "nan", "2020-01-01", "1e999", "01", '"a\nb"']
    )
    for number in range(n):
        text += f"{draw(fields)},{number % 2},{draw(fields)}{draw(ends)}"
    text = text.replace(",", "\t") if kind == "tsv" else text
    return f".{kind}", text.encode(
        draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"])), "replace"
    )


FLAGS = ["--outcome", "--control", "--actionable", "-k", "--beta", "--max-length", "--max-bins", "--cut", "--estimator"]
FLAGS += ["--reference", "--missing", "--weights", "--na-value", "--query", "--holdout", "--graph", "--min-coverage"]
FLAGS += ["--confidence", "--error-rate", "--direction", "--seed", "--alpha", "--categorical", "--format", "--trust"]
VALUES = [
    "x",
    "y",
    "1",
    "0",
    "none",
    "x=1",
    "x=1,2",
    "SELECT * FROM data",
    "SELECT 1 AS y",
    "json",
    "csv",
    "0.5",
    "-1",
    "nan",
]


@settings(max_examples=examples(30, 150), suppress_health_check=QUIET)
@given(files(), st.lists(st.tuples(st.sampled_from(FLAGS), st.sampled_from(VALUES) | TEXTS), max_size=3))
def test_any_file_and_any_command_line(tmp_path: Path, file: tuple[str, bytes], given: list[tuple[str, str]]) -> None:
    path = tmp_path / f"data{file[0]}"
    path.write_bytes(file[1])
    words = ["discover", str(path), "--target", "y", "--time-limit", "2", "--jobs", "1"]
    for flag, value in given:
        words += [flag] if flag == "--trust" else [flag, value]
    with watched(), contextlib.redirect_stdout(io.StringIO()):
        result = CliRunner().invoke(cli, words, prog_name="causalrules")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (0, 1, 2)
    event(f"exit code {result.exit_code}")
    if result.exit_code:
        assert result.stderr
        assert all(line.isprintable() for line in result.stderr.splitlines())


@pytest.mark.parametrize("name", ["k", "allow_inadmissible", "cuts", "reference", "seed", "max_length", "beta"])
@settings(max_examples=examples(5, 30), suppress_health_check=QUIET)
@given(value=JUNK)
def test_any_value_of_one_option(name: str, value: Any) -> None:
    table = {"x": [1, 2, 3, 4] * 5, "a": list("pqrs") * 5, "y": [0, 1, 1, 0] * 5}
    rules = attempt(lambda: cr.discover(table, "y", **{name: value}, time_limit=2, n_jobs=1, progress=False))
    if rules is not None:
        save(rules)
