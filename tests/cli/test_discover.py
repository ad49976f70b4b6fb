"""The command line gives the result of discover(), and reports bad input in one line."""

from __future__ import annotations

import csv
import importlib
import inspect
import io
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings

import causalrules as cr
from causalrules.cli import cli
from causalrules.cli import options as question_options
from causalrules.cli.discover import discover as discover_command
from causalrules.question import Question, flag
from strategies import RELIABLE

TITANIC = Path(cr.datasets.__file__).with_name("titanic.csv")
COLUMNS = ["class", "sex", "age", "sibsp", "parch", "embarked"]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="causalrules")


def bare(rules: cr.RuleSet) -> tuple[Any, ...]:
    """Return what a search found, without its time."""
    return rules.rules, rules.question, rules.optimal, rules.n_rows, rules.n_strata, rules.notes


# Same result as in Python


@given(
    k=st.integers(1, 12),
    beta=st.floats(0, 5),
    control=st.lists(st.sampled_from(["embarked", "parch"]), unique=True),
    actionable=st.lists(st.sampled_from(["class", "sex", "age", "sibsp"]), unique=True),
    max_length=st.sampled_from([1, 2, 3, None]),
    min_coverage=st.floats(0, 0.5),
    max_bins=st.integers(2, 6),
    cuts=st.sampled_from([None, [10], [18, 65], [0.5, 40]]),
    estimator=st.sampled_from(["reliable", "plugin", "wracc", "association"]),
)
@settings(max_examples=20, deadline=None)
def test_each_option_equals_its_python_parameter(**options):
    cuts = options.pop("cuts")
    if cuts and (not options["actionable"] or "age" in options["actionable"]):
        options["cuts"] = {"age": cuts}
    options["actionable"] = options["actionable"] or None
    expected = cr.discover(TITANIC, "survived", 1, **options)

    words = ["discover", TITANIC, "--target", "survived", "--outcome", "1", "--format", "json", "--jobs", "1"]
    for name in ("control", "actionable"):
        for column in options[name] or []:
            words += [f"--{name}", column]
    for name in ("k", "beta", "max_length", "min_coverage", "max_bins", "estimator"):
        words += ["-k" if name == "k" else "--" + name.replace("_", "-"), options[name]]
    if "cuts" in options:
        words += ["--cut", "age=" + ",".join(map(str, cuts))]
    result = run(*words)

    assert result.exit_code == 0, result.stderr
    assert bare(cr.RuleSet.from_json(result.stdout)) == bare(expected)


def test_every_parameter_of_discover_has_an_option_with_its_default():
    parameters = inspect.signature(cr.discover).parameters
    options = discover_command.make_context("discover", ["data.csv", "--target", "y"]).params
    own = {"file", "form", "output", "quiet", "permutations", "trust", "report", "frontier", "explain"}
    python_only = {"data", "client", "progress", "adjust_model"}
    assert set(options) - own == set(parameters) - python_only
    given = question_options.given({name: value for name, value in options.items() if name not in own})
    assert Question(**given) == Question("y")


def test_weights_and_na_values(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("a,n,y\n1,5,0\n2,1,1\n3,7,1\n?,2,0\n")
    words = ["discover", data, "--target", "y", "--weights", "n", "--format", "json"]
    expected = cr.discover(data, "y", weights="n", na_values=["?"])
    assert bare(cr.RuleSet.from_json(run(*words, "--na-value", "?").stdout)) == bare(expected)
    assert bare(cr.RuleSet.from_json(run(*words).stdout)) != bare(expected)


def test_a_column_may_have_any_name(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text('"a=b,c",-z,y\n1,p,0\n2,q,1\n3,p,1\n4,q,0\n')
    result = run("discover", data, "--target=y", "--control=-z", "--cut", "a=b,c=2,3", "--format", "json")
    expected = cr.discover(data, "y", control=["-z"], cuts={"a=b,c": [2, 3]})
    assert bare(cr.RuleSet.from_json(result.stdout)) == bare(expected)


@pytest.mark.parametrize("text", ["none", "None", "0"])
def test_unlimited_length(text):
    options = discover_command.make_context("discover", ["f", "--target", "y", "--max-length", text]).params
    assert options["max_length"] is None


# Output


def question(*more: object) -> list[object]:
    return ["discover", TITANIC, "--target", "survived", "-k", 3, *more]


def test_the_printed_table_equals_pythons():
    words = [word for column in COLUMNS for word in ("--actionable", column)]
    papers = [word for name, value in RELIABLE.items() for word in (flag(name), value)]
    for more, options in (([], {}), (papers, RELIABLE)):
        result = run(*question(*words, *more))
        printed = str(cr.discover(TITANIC, "survived", actionable=COLUMNS, k=3, **options))
        assert result.stdout.splitlines()[1:6] == printed.splitlines()[1:6]  # the first line has the time
        assert result.stderr == ""
    assert "every rule has class ≤ 2 ∧ sex = female, and:" in result.stdout
    assert re.search(r"^1  \(nothing else\) +69\.6 ", result.stdout, re.MULTILINE)


def test_csv_holds_the_numbers_of_to_frame():
    result = run(*question("--format", "csv"))
    header, *rows = csv.reader(io.StringIO(result.stdout))
    frame = cr.discover(TITANIC, "survived", k=3).to_frame()
    assert header == list(frame)
    assert [row[0] for row in rows] == list(frame["rule"])
    for position, name in enumerate(header[1:], 1):
        words = name in ("evidence", "direction", "claim")
        assert [row[position] if words else float(row[position]) for row in rows] == list(frame[name]), name


def test_csv_without_formulas_and_without_nan(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("@SUM(1),z,y\n1,p,0\n1,p,1\n2,q,1\n2,q,0\n2,q,0\n")
    rows = list(
        csv.DictReader(
            io.StringIO(
                run(
                    "discover", data, "--target", "y", "--control", "z", "--estimator", "reliable", "--format", "csv"
                ).stdout
            )
        )
    )
    assert rows
    assert all(row["rule"].startswith("'@SUM(1)") for row in rows)
    assert all(row["effect"] == "" for row in rows)  # no stratum has both sides


@pytest.mark.parametrize("form", ["json", "csv"])
def test_notes_go_to_stderr_not_into_the_output(tmp_path, form):
    data = tmp_path / "data.csv"
    data.write_text("a,b,y\n1,,0\n2,,1\n3,,1\n")
    words = ["discover", data, "--target", "y", "--format", form]
    talkative, quiet = run(*words), run(*words, "--quiet")
    assert "column 'b' is left out" in talkative.stderr
    assert "1 candidate in 3 rows" in talkative.stderr
    assert "No rule stands out from chance" in talkative.stderr
    assert quiet.stderr == ""
    if form == "csv":
        assert quiet.stdout == talkative.stdout


def test_quiet_prints_the_table_only(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("a,b,y\n" + "1,,0\n2,,1\n" * 30)
    words = ["discover", data, "--target", "y"]
    talkative, quiet = run(*words), run(*words, "--quiet")
    assert "note: column 'b' is left out" in talkative.stdout
    assert quiet.stderr == ""
    assert [line.split()[0] for line in quiet.stdout.splitlines()] == ["#", "1"]
    assert set(quiet.stdout.splitlines()) < set(talkative.stdout.splitlines())


def test_a_column_without_values_in_parquet_is_left_out(tmp_path):
    pd = pytest.importorskip("pandas")
    data = tmp_path / "data.parquet"
    pd.DataFrame({"a": [1, 2] * 10, "b": [None] * 20, "c": [3] * 20, "y": [0, 1] * 10}).to_parquet(data)
    result = run("discover", data, "--target", "y", "--actionable", "a", "--actionable", "b", "--actionable", "c")
    assert result.exit_code == 0
    assert "column 'b' is left out: it has no values" in result.stdout
    assert "column 'c' is left out: it has one value only, 3" in result.stdout
    result = run("evaluate", data, "--target", "y", "--rule", "c = 3")
    assert result.exit_code == 0
    assert "cannot tell" in result.stdout
    assert "a rule with a condition on column c compares nothing by it" in result.stdout.replace("\n", " ")


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_output_is_written_atomically(tmp_path, form):
    output = tmp_path / "rules.txt"
    output.write_text("what was there before, and longer than nothing")
    result = run(*question("--format", form, "--output", output))
    assert result.stdout == ""
    assert result.stderr.startswith(f"2 rules written to '{output}'\n")
    assert "before" not in output.read_text()
    assert "sex = female" in output.read_text()
    assert os.listdir(tmp_path) == ["rules.txt"]


def test_output_is_checked_before_the_search(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.import_module("causalrules.discovery"), "discover", None)
    data = tmp_path / "data.csv"
    data.write_text("a,y\n1,0\n2,1\n")
    for output, words in [
        (tmp_path, "is a directory; name a file in it"),
        (tmp_path / "none" / "rules.csv", "make it first"),
        (data, "is the data itself; name another file"),
        (f"{tmp_path}{os.sep}.{os.sep}data.csv", "is the data itself; name another file"),
    ]:
        result = run("discover", data, "--target", "y", "--output", output)
        assert result.exit_code == 1
        assert words in result.stderr
    assert data.read_text() == "a,y\n1,0\n2,1\n"


# Errors


def bad(words: str, *fragments: str, text: str | bytes = "a,b,t,y\n1,2,u,0\n2,3,v,1\n3,4,u,1\n4,1,v,0\n") -> Any:
    return pytest.param(words, fragments, text.encode() if isinstance(text, str) else text, id=fragments[0][:40])


DIRECTORY, ABSENT = b"directory", b"absent"
OPTIONS = (
    "-k",
    "--beta",
    "--error-rate",
    "--alpha",
    "--max-",
    "--min-",
    "--jobs",
    "--time-limit",
    "--estimator",
    "--cut",
)


@pytest.mark.parametrize(
    ("words", "fragments", "content"),
    [
        bad("", "no file", "data.csv", text=ABSENT),
        bad("", "is a directory", "name a file in it", text=DIRECTORY),
        bad("", "is empty", "data.csv", text=""),
        bad("", "a header and no rows", "data.csv", text="a,y\n"),
        bad("", "line 3: 1 fields where the header has 2", "correct or quote that line", text="a,y\n1,0\n2\n3,1\n"),
        bad("", "line 3: 3 fields where the header has 2", "correct or quote that line", text="a,y\n1,0\n2,1,7\n3,1\n"),
        bad("", "not UTF-8", "line 2", "save the file as UTF-8", text="a,y\ncafé,1\nx,0\n".encode("latin-1")),
        bad("", "not a text file", "data.csv", text=bytes(range(256)) * 9),
        bad("", "used more than once: 'a'", "rename the columns", text="a,a,y\n1,2,0\n3,4,1\n"),
        bad("--actionable b", "column 'b' is left out: it has no values", "name at least", text="a,b,y\n1,,0\n2,,1\n"),
        bad("", "no row has a value in column 'y'", text="a,y\n1,\n2,\n"),
        bad("", "column 'a' holds 1 infinite value", "row 2", "replace them", text="a,y\n1,0\ninf,1\n3,1\n"),
        bad("", "the outcome 'y = 1' always happens", "values of 'y' are 1", text="a,y\n1,1\n2,1\n"),
        bad("", "no actionable column is left", "name at least one column", text="y\n1\n0\n"),
        bad("--actionable a", "'a' is left out: it has one value only, 7", "name at least", text="a,y\n7,1\n7,0\n"),
        bad("-k 0", "-k 0: give a whole number from 1"),
        bad("-k -3", "-k -3: give a whole number from 1"),
        bad("--beta -1", "--beta -1.0: give a number of at least 0"),
        bad("--beta nan", "--beta nan: give a number of at least 0"),
        bad("--beta inf", "--beta inf: give a number of at least 0"),
        bad("--error-rate 1", "--error-rate 1.0: give a number", "between 0 and 1"),
        bad("-k two", "-k 'two': it is not a whole number"),
        bad("--max-length two", "--max-length 'two': it is not a whole number; 0 or none: no limit"),
        bad("--alpha 0", "--alpha 0.0: give a number above 0 and at most 1"),
        bad("--alpha 1.5", "--alpha 1.5: give a number above 0 and at most 1"),
        bad("--alpha nan", "--alpha nan: give a number above 0 and at most 1"),
        bad("--max-length -1", "--max-length -1: give a whole number"),
        bad("--min-coverage 2", "--min-coverage 2.0: give a number"),
        bad("--max-bins 1", "--max-bins 1: give a whole number of at least 2"),
        bad("--jobs 0", "--jobs 0: give a number of threads"),
        bad("--time-limit 0", "--time-limit 0.0: give a number above 0"),
        bad("--estimator best", "--estimator 'best': give one of 'pooled', 'reliable', 'plugin'"),
        bad("--target yy", "--target: no column 'yy'; did you mean 'y'?"),
        bad("--control tt", "--control: no column 'tt'; did you mean 't'?"),
        bad("--actionable size", "no column 'size'; the columns are 'a', 'b', 't', 'y'"),
        bad("--control y", "column 'y' is the target and a control"),
        bad("--control a --actionable a", "column 'a' is a control and actionable"),
        bad("--control a --control a", "--control: named more than once: 'a'"),
        bad("--outcome 7", "'7' is not a value of 'y'; its values are 0, 1"),
        bad("--outcome '> 1'", "the outcome 'y > 1' never happens", "0, 1"),
        bad("--control a,b", "--control: no column 'a,b', but 'a', 'b' are: name each column on its own"),
        bad("", "the outcome 'y = True' never happens: all values are False", text="a,y\n1,False\n2,False\n"),
        bad("--target t", "--outcome: which value of 't' is the desired one?", "'u', 'v'"),
        bad("--weights t", "weights column 't' holds text values", "whole numbers"),
        bad("--cut a", "--cut 'a'", "as in age=18,65"),
        bad("--cut =1", "--cut '=1'", "as in age=18,65"),
        bad("--cut age=1", "--cut: no column 'age'", "'a', 'b'"),
        bad("--cut t=1", "column 't' holds text values, which have no order", "leave it out"),
        bad("--cut a=3,2", "must increase"),
    ],
)
def test_bad_input_is_one_line_that_names_the_value_and_the_fix(tmp_path, words, fragments, content):
    data = tmp_path / "data.csv"
    if content == DIRECTORY:
        data.mkdir()
    elif content != ABSENT:
        data.write_bytes(content)
    result = run("discover", data, "--target", "y", *shlex.split(words))
    out_of_range = words.startswith(OPTIONS) and "no column" not in fragments[0]
    assert result.exit_code == (2 if out_of_range else 1), result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    for fragment in fragments:
        assert fragment in result.stderr


def test_a_control_without_values_is_left_out_with_a_note(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("a,b,y\n1,,0\n2,,1\n")
    result = run("discover", data, "--target", "y", "--control", "b", "--format", "csv")
    assert result.exit_code == 0
    assert "control 'b' is left out: it has no values: all are missing" in result.stderr


def test_reports_are_html_and_no_other_output(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("a,y\n1,0\n2,1\n1,0\n")
    same = tmp_path / "same.html"
    for words, fragment in (
        (("--output", same, "--report", tmp_path / "." / "same.html"), "are the same file"),
        (("--report", tmp_path / "report.json"), "name one that ends in .html"),
    ):
        result = run("discover", data, "--target", "y", *words)
        assert (result.exit_code, result.stdout) == (2, "")
        assert fragment in result.stderr
    assert list(tmp_path.iterdir()) == [data]


def test_error_messages_quote_values_literally(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("a,n_jobs = 1,y\n1,1,0\n2,2,1\n")
    result = run("discover", data, "--target", "y", "--control", "n_jobs = 2")
    assert "no column 'n_jobs = 2'; did you mean 'n_jobs = 1'?" in result.stderr


def test_the_package_runs_as_a_module():
    process = subprocess.run([sys.executable, "-m", "causalrules", "--version"], capture_output=True, text=True)
    assert process.stdout.startswith("causalrules ")


@pytest.mark.parametrize(
    ("name", "content", "fragment"),
    [
        ("data.parquet", b"\x00\x01 junk", "is not a Parquet file, despite its name"),
        ("data.csv.gz", b"\x00\x01 junk", "ot a gzipped file"),
        ("data.xlsx", b"PK", "should end in .csv, .tsv, .txt or .parquet"),
    ],
)
def test_files_with_a_wrong_suffix_are_rejected(tmp_path, name, content, fragment):
    (tmp_path / name).write_bytes(content)
    result = run("discover", tmp_path / name, "--target", "y")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert fragment in result.stderr


@pytest.mark.parametrize(
    ("n_rows", "header", "row", "words", "remark"),
    [
        (
            2_000,
            "a,b,y",
            lambda i: f"{i % 7},,{i % 2}",
            "",
            "column 'b' is left out: it has no values: all are missing",
        ),
        (20_000, "a,t,y", lambda i: f"{i % 7},v{i // 2},{i % 2}", "", "column 't' has 10,000 different values"),
        (2_000, "a,t,y", lambda i: f"{i % 7},v{i},{i % 2}", "", "column 't' is left out"),
        (
            600,
            "a,t,y",
            lambda i: f"{i % 7},v{2 * i // 3},{i % 2}",
            "--control t --adjust strata",
            "little can be learned",
        ),
        (2_000, "a,y", lambda i: f"{i % 7},{i % 2 if i % 5 else ''}", "", "400 of 2,000 rows are left out"),
    ],
)
def test_usable_input_gives_a_note(tmp_path, n_rows, header, row, words, remark):
    data = tmp_path / "data.csv"
    data.write_text("\n".join([header, *map(row, range(n_rows))]) + "\n")
    result = run("discover", data, "--target", "y", "--max-length", 1, *shlex.split(words))
    assert result.exit_code == 0, result.stderr
    assert remark in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    "words",
    [
        "discover",
        "discover data.csv",
        "discover data.csv --target y --nonsense 1",
        "discover data.csv --target y --format xml",
        "nonsense",
    ],
)
def test_usage_errors_have_exit_code_2(words):
    result = run(*shlex.split(words))
    assert result.exit_code == 2
    assert "Usage: causalrules" in result.stderr
    assert result.stdout == ""


def test_hostile_names_are_escaped_on_the_terminal(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text('"\x1b[31mred\x07","\x1b[2J",y\n1,p,0\n2,q,1\n3,p,1\n4,q,0\n')
    for words in (
        [],
        ["--control", "\x1b[2J"],
        ["--control", "\x1b[2J", "--format", "csv"],
        ["--control", "\x1b[3J"],
        ["--output", tmp_path / "\x1b[2J.txt"],
    ):
        result = run("discover", data, "--target", "y", *words)
        assert "\x07" not in result.stderr
        assert "\x1b" not in result.stderr
        if "csv" not in words:  # CSV keeps the name as data
            assert "\x1b" not in result.stdout


def test_hostile_text_in_errors_is_escaped_on_the_terminal(monkeypatch):
    def fail(*_: object, **__: object) -> cr.RuleSet:
        raise cr.DataError("cannot read \x1b[2J\nor so")

    monkeypatch.setattr(importlib.import_module("causalrules.discovery"), "discover", fail)
    assert run("discover", "data.csv", "--target", "y").stderr == "Error: cannot read \\x1b[2J\\nor so\n"


def test_warnings_are_one_line(monkeypatch):
    def warn(*_: object, **__: object) -> cr.RuleSet:
        warnings.warn("the graph is partly known", cr.CausalRulesWarning, stacklevel=2)
        raise cr.DataError("nothing more")

    monkeypatch.setattr(importlib.import_module("causalrules.discovery"), "discover", warn)
    result = run("discover", "data.csv", "--target", "y")
    assert result.stderr == "Warning: the graph is partly known\nError: nothing more\n"


# Interrupted


def test_interrupted_before_the_search(monkeypatch):
    def interrupt(*_: object, **__: object) -> cr.RuleSet:
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib.import_module("causalrules.discovery"), "discover", interrupt)
    result = run("discover", "data.csv", "--target", "y")
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "Interrupted: nothing was found yet\n")


@pytest.fixture
def endless(tmp_path):
    """Write noise in many columns: without a length limit, no search finishes on it during a test."""
    draw = random.Random(1)
    names = [f"x{column}" for column in range(30)]
    rows = [",".join([*(f"{draw.random():.6f}" for _ in names), str(draw.randint(0, 1))]) for _ in range(1500)]
    data = tmp_path / "noise.csv"
    data.write_text("\n".join([",".join([*names, "y"]), *rows]) + "\n")
    words = ["discover", data, "--target", "y", "-k", "3", "--max-length", "none", "--jobs", "1"]
    words += ["--estimator", "reliable", "--beta", "2"]
    return [sys.executable, "-m", "causalrules.cli", *words]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_ctrl_c_prints_the_best_rules_so_far_and_progress_needs_a_terminal(endless):
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(endless, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    terminal = b""
    while terminal.count(b" gap ") < 3:  # the progress bar moves: the search is running
        terminal += os.read(ours, 4096)
    process.send_signal(signal.SIGINT)
    output = process.communicate()[0].decode()
    os.close(ours)

    assert process.returncode == 1
    assert all(word in terminal.decode(errors="replace") for word in ("best 0.", "bound 0.", "gap 0.", " s "))
    assert b"Traceback" not in terminal
    assert "; interrupted: no rule can exceed 0." in output
    assert re.findall(r"^\d+  ", output, re.MULTILINE) == ["1  ", "2  ", "3  "]
    assert "\x1b" not in output


def test_piped_output_has_no_progress_and_no_escape_codes(endless):
    finished = subprocess.run([*endless, "--time-limit", "1.5"], capture_output=True, encoding="utf-8")
    assert finished.returncode == 0
    assert finished.stderr == ""
    assert "stopped at the time limit: no rule can exceed" in finished.stdout
    assert "\x1b" not in finished.stdout
    assert "\r" not in finished.stdout


def test_a_closed_pipe_is_no_error():
    words = [str(word) for word in question("--format", "json", "-k", 200, "--quiet")]
    ours, theirs = os.pipe()
    os.close(ours)
    finished = subprocess.run(
        [sys.executable, "-m", "causalrules.cli", *words], stdout=theirs, stderr=subprocess.PIPE, encoding="utf-8"
    )
    os.close(theirs)
    assert (finished.returncode, finished.stderr) == (1, "")


def test_a_terminal_that_cannot_encode_rules():
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    words = [str(word) for word in question()]
    finished = subprocess.run(
        [sys.executable, "-m", "causalrules.cli", *words], capture_output=True, encoding="latin-1", env=environment
    )
    assert (finished.returncode, finished.stderr) == (0, "")
    assert r"class \u2264 2" in finished.stdout


# The demonstration


def test_the_demo_prints_code_and_a_command_that_give_what_it_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    demo = run("demo").stdout
    titanic, kidney = demo.split("\n700 patients")
    for shown in (titanic, kidney):
        code = "\n".join(
            line[4:] for line in shown.split("In Python:\n")[1].splitlines()[1:] if line.startswith("    ")
        )
        code = code.split("causalrules discover")[0]
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(code, {})
        assert rules_of(printed.getvalue()) == rules_of(shown)
        assert rules_of(shown)
    command = titanic.split("On the command line:\n\n")[1].split("\n\n")[0]
    program, *words = shlex.split(command.replace("\\\n", ""))
    assert program == "causalrules"
    assert rules_of(run(*words).stdout) == rules_of(titanic)
    (best,) = [line.split() for line in kidney.splitlines() if "treatment = A" in line]
    assert best[4] == "5.4"  # Simpson: adjusted up
    assert (tmp_path / "cr-demo" / "report.html").is_file()
    assert "cr-demo/report.html" in demo.splitlines()[-1]


def rules_of(printed: str) -> list[str]:
    return [line for line in printed.splitlines() if line[:3] in ("1  ", "2  ", "3  ")]


def test_version_and_help():
    assert run("--version").stdout == "causalrules 0.1.0\n"
    for words in (["--help"], ["discover", "--help"], ["demo", "--help"]):
        result = run(*words)
        assert result.exit_code == 0
        assert "Usage: causalrules" in result.stdout
