"""Faults around the command line: no result is lost, nothing hangs, and every message is one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import causalrules as cr
from causalrules.cli import cli
from causalrules.exceptions import FileError
from causalrules.search import checkpoint

TITANIC = Path(cr.datasets.__file__).with_name("titanic.csv")
ASK = ["discover", str(TITANIC), "--target", "survived", "--actionable", "class", "--actionable", "sex", "-k", "2"]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [*ASK, *map(str, arguments)], prog_name="causalrules")


def full(*_: object, **__: object) -> None:
    raise FileError("cannot write the result to 'x': No space left on device")


def test_rules_that_cannot_be_written_are_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = run("--format", "json", "--quiet").stdout
    # The module: the package has a command of the same name.
    monkeypatch.setattr(sys.modules["causalrules.cli.discover"], "replace_file", full)
    monkeypatch.setattr(cr.RuleSet, "to_html", full)
    result = run("--format", "json", "--quiet", "--output", tmp_path / "o", "--report", tmp_path / "r.html")
    assert result.exit_code == 1
    assert [rule.text for rule in cr.RuleSet.from_json(result.stdout)] == [
        rule.text for rule in cr.RuleSet.from_json(printed)
    ]
    assert "printed instead: 1 rule" in result.stderr
    assert "the report is not written" in result.stderr


def test_a_failed_checkpoint_does_not_lose_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "replace_file", full)
    result = run("--checkpoint", tmp_path / "search.ckpt")
    assert result.exit_code == 1
    assert "class ≤ 2 ∧ sex = female" in result.stdout
    assert result.stderr.count("the search continues without it") == 1
    with pytest.warns(cr.CausalRulesWarning, match="No space left"):
        assert len(cr.discover(TITANIC, "survived", checkpoint=tmp_path / "search.ckpt", max_length=1, k=2)) == 2


def test_invalid_checkpoint_paths_are_rejected_immediately(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "nested").write_text("[" * 5000 + "\n")
    for name, reason in {
        "a" * 300: "File name too long",
        "a\0b": "null",
        "fifo": "not a regular file",
        "nested": "not a checkpoint",
        "nowhere/x": "no directory",
    }.items():
        result = run("--checkpoint", f"{tmp_path}/{name}")
        assert result.exit_code == 1, name
        assert reason in result.stderr
        assert result.stderr.count("\n") == 1


def test_numbers_without_end_are_refused() -> None:
    for option in ("-k", "--seed", "--max-length", "--max-bins", "--jobs", "--permutations"):
        result = run(option, "9" * 4000)
        assert result.exit_code == 2, option
        assert len(result.stderr) < 200
    for name in ("k", "seed", "max_length", "n_jobs"):
        with pytest.raises(cr.OptionError, match=name):
            cr.discover(TITANIC, "survived", **{name: 10**5000})  # type: ignore[arg-type]


@pytest.mark.parametrize("flag", ["no", "False", 0, 1, None])
def test_flags_must_be_booleans(flag: object) -> None:
    with pytest.raises(cr.OptionError, match="give True or False"):
        cr.discover(TITANIC, "survived", allow_inadmissible=flag)  # type: ignore[arg-type]


def test_a_value_of_the_wrong_type_is_rejected_in_every_option() -> None:
    for option in (["--cut", "class=abc"], ["--outcome", ">= abc"]):
        result = run(*option)
        assert result.exit_code == 1
        assert "'abc' cannot be compared" in result.stderr


def test_a_large_graph_is_refused_before_it_is_laid_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from causalrules.report import layout

    monkeypatch.setattr(layout, "places", None)
    graph = "; ".join(f"a{number} -> y" for number in range(200))
    arguments = ["check", "--graph", graph, "--target", "y", "--draw", str(tmp_path / "graph.svg")]
    result = CliRunner().invoke(cli, arguments, prog_name="causalrules")
    assert result.exit_code == 2
    assert "drawings are limited to" in result.stderr


def test_lack_of_memory_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def greedy(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("causalrules.discovery.discover", greedy)
    result = run()
    assert result.exit_code == 1
    assert "not enough memory" in result.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_standard_output_is_one_line() -> None:
    with open("/dev/full", "w") as device:
        command = [sys.executable, "-m", "causalrules", *ASK]
        done = subprocess.run(command, stdout=device, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "Error: cannot write the output: No space left on device\n"


ENDLESS = "SELECT a.range AS x, a.range % 2 AS y FROM range(1000000000000) a"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_query_and_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "causalrules", "discover", str(TITANIC), "--target", "y", "--query", ENDLESS]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    while not [*tmp_path.glob("causalrules-*/query.parquet")]:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate()
    assert process.returncode == (143 if number == signal.SIGTERM else 1)
    assert "Traceback" not in said
    assert not [*tmp_path.iterdir()]
    assert tempfile.gettempdir() != str(tmp_path)


def test_ctrl_c_while_loading_is_one_line(tmp_path: Path) -> None:
    """The command line takes a moment to load; an interrupt meanwhile gives no traceback."""
    (tmp_path / "rich_click.py").write_text("raise KeyboardInterrupt")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-m", "causalrules", "demo"], env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (1, "Interrupted: nothing was found yet\n")
