"""A stopped or killed search resumes from its checkpoint and ends with the same result."""

from __future__ import annotations

import hashlib
import json
import math
import os
import signal
import subprocess
import sys
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import causalrules as cr
from causalrules.exceptions import DataError
from causalrules.search import checkpoint
from causalrules.search import core as _native
from causalrules.search import run as search
from rulesets import rows_of
from strategies import SmallTable, questions, small_tables


def noise(n_rows: int = 1000, n_columns: int = 8, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {f"x{index}": rng.normal(size=n_rows) for index in range(n_columns)}
    return {"y": rng.integers(0, 2, n_rows), **columns}


def answer(rules: cr.RuleSet) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(rules.to_json())
    found.pop("run")
    return found


class StopError(Exception):
    pass


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    max_examples=40,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
@given(small_tables(max_rows=80, max_actionable=5), questions(), st.integers(1, 6))
def test_a_stopped_search_resumes_to_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: SmallTable, question: dict[str, Any], steps: int
) -> None:
    # Steps of no time expand at most one node, and each is saved.
    monkeypatch.setattr(search, "_FIRST_STEP", 0.0)
    monkeypatch.setattr(_native.NativeSearch, "patience", 1e-6)
    monkeypatch.setattr(checkpoint, "_FIRST", 0.0)
    monkeypatch.setattr(checkpoint, "_LATER", 0.0)
    path = tmp_path / "search.ckpt"
    path.unlink(missing_ok=True)

    def find(**more: Any) -> cr.RuleSet:
        return cr.discover(small.columns(), "y", 1, list(small.control), n_jobs=1, **question, **more)

    seen = []

    def stop(progress: search.Progress) -> None:
        seen.append(progress)
        if len(seen) > steps:
            raise StopError

    expected = find()
    try:
        find(checkpoint=path, progress=stop)
    except StopError:
        assert path.exists()
    assert answer(find(checkpoint=path)) == answer(expected)
    # The final checkpoint is the result.
    again = find(checkpoint=path)
    assert answer(again) == answer(expected)
    assert [progress.nodes for progress in again.history] == [again.nodes]


def test_a_search_that_ran_out_of_time_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "search.ckpt"
    clock = [0.0]
    with monkeypatch.context() as hurried:
        # The first step expands at most one node; then an hour has passed.
        hurried.setattr(search, "_FIRST_STEP", 0.0)
        hurried.setattr(search, "time", SimpleNamespace(perf_counter=lambda: clock[0]))

        def pass_time(progress: search.Progress) -> None:
            clock[0] += 3600

        stopped = cr.discover(noise(), "y", time_limit=60, checkpoint=path, max_length=3, progress=pass_time)
    assert stopped.stopped == "time limit"
    rules = cr.discover(noise(), "y", checkpoint=path, max_length=3)
    assert rules.nodes > stopped.nodes
    assert answer(rules) == answer(cr.discover(noise(), "y", max_length=3))


KILLED = """
import os, signal, sys
import causalrules as cr
from causalrules.search import checkpoint, core, run
# Short steps, each of which is written down: this is over long before the search is.
checkpoint._FIRST = checkpoint._LATER = run._FIRST_STEP = 0.0
checkpoint._SHARE = 1e9
core.NativeSearch.patience = 1e-6
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/.."]
from test_checkpoint import noise
written = 0
def watch(progress):
    global written
    if written > 2:
        print(written, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    written = progress.nodes
cr.discover(noise(), "y", max_length=3, checkpoint=sys.argv[2], progress=watch)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL")
def test_a_killed_search_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "search.ckpt"
    command = [sys.executable, "-c", KILLED, str(Path(__file__).parent), str(path)]
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    killed = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
    assert killed.returncode == -signal.SIGKILL
    monkeypatch.setattr(search, "_FIRST_STEP", 0.0)
    rules = cr.discover(noise(), "y", max_length=3, checkpoint=path)
    expected = cr.discover(noise(), "y", max_length=3)
    assert answer(rules) == answer(expected)
    # It did resume: the earlier search was not repeated.
    first = rules.history[0]
    assert first.nodes >= int(killed.stdout) > 2
    assert math.isfinite(first.upper_bound)


@pytest.fixture
def small_checkpoint(tmp_path: Path) -> Path:
    path = tmp_path / "search.ckpt"
    cr.discover(columns(), "y", checkpoint=path, k=2)
    return path


def columns(value: int = 1) -> dict[str, list[Any]]:
    return {"y": [0, 1, 1, 0, 1, 0], "x": [3, 4, 5, 3, 5, 4], "z": ["a", "b", "a", "a", "b", "b"], "w": [value, 0] * 3}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"k": 3}, "other options"),
        ({"k": 2, "beta": 1.0}, "other options"),
        ({"k": 2, "control": "z"}, "other columns, values or cut points"),
        ({"k": 2, "max_bins": 2}, "other columns, values or cut points"),
        ({"k": 2, "outcome": 0}, "other columns, values or cut points"),
    ],
)
def test_checkpoints_of_other_questions_are_rejected(
    small_checkpoint: Path, changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=rf"search.ckpt' was made with {message}; .* delete it to start over"):
        cr.discover(columns(), "y", checkpoint=small_checkpoint, **changed)


def test_equal_options_of_other_types_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "search.ckpt"
    cr.discover(columns(), "y", checkpoint=path, beta=2, alpha=1, min_coverage=0)
    others: dict[str, Any] = {"alpha": Fraction(1), "min_coverage": np.float32(0)}  # numbers of other libraries
    cr.discover(columns(), "y", checkpoint=path, beta=2.0, **others)


def test_other_rows_are_rejected_and_reordered_rows_are_not(small_checkpoint: Path) -> None:
    before = cr.discover(columns(), "y", k=2)
    turned = {name: values[::-1] for name, values in columns().items()}
    assert answer(cr.discover(turned, "y", k=2, checkpoint=small_checkpoint)) == answer(before)
    other = columns()
    # Every column has the same values, in other combinations.
    other["z"] = other["z"][::-1]
    with pytest.raises(DataError, match="other rows"):
        cr.discover(other, "y", k=2, checkpoint=small_checkpoint)


def damaged(content: bytes) -> dict[str, tuple[bytes, str]]:
    header, numbers = content.split(b"\n", 1)
    changed = bytearray(numbers)
    changed[len(changed) // 2] ^= 1
    # With a valid checksum.
    odd = {"bytes": len(numbers) - 3, "sha256": hashlib.sha256(numbers[:-3]).hexdigest()}
    uneven = json.dumps({**json.loads(header), **odd}).encode() + b"\n" + numbers[:-3]
    other_version = json.dumps({**json.loads(header), "version": "99"}).encode()
    return {
        "cut short": (content[:-8], "damaged or truncated"),
        "no numbers": (header + b"\n", "damaged or truncated"),
        "one bit": (header + b"\n" + bytes(changed), "damaged or truncated"),
        "not eights": (uneven, "damaged or truncated"),
        "longer": (content + b"\0" * 8, "damaged or truncated"),
        "half a header": (header[:20], "not a checkpoint"),
        "empty": (b"", "not a checkpoint"),
        "a photo": (b"\x89PNG\r\n\x1a\n" * 100, "not a checkpoint"),
        "a list": (b"[1]\n", "not a checkpoint"),
        "version": (other_version + b"\n" + numbers, "was written by causalrules 99"),
        "no question": (
            b'{"format": "causalrules checkpoint", "version": "' + version("causalrules").encode() + b'"}\n',
            "other",
        ),
    }


def test_damaged_files_are_refused(small_checkpoint: Path) -> None:
    for name, (content, message) in damaged(small_checkpoint.read_bytes()).items():
        small_checkpoint.write_bytes(content)
        with pytest.raises(DataError, match=message):
            cr.discover(columns(), "y", k=2, checkpoint=small_checkpoint)
        assert small_checkpoint.read_bytes() == content, name


@cache
def packed() -> Any:
    """Return the rows of the table, ready to be searched."""
    problem = rows_of(cr.discover(columns(), "y", k=2))
    return problem.pack()


@given(numbers=st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 20), max_size=30))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_invalid_numbers_do_not_crash(numbers: list[int]) -> None:
    started = packed().search(estimator="reliable", beta=2.0, k=2)
    with pytest.raises(cr.exceptions.CausalRulesError, match="damaged"):
        started.restore(np.array([*numbers, 2**64 - 1], np.uint64))


def test_paths_that_cannot_be_written_are_rejected_before_the_search(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a directory"):
        cr.discover(columns(), "y", checkpoint=tmp_path)
    with pytest.raises(DataError, match="there is no directory"):
        cr.discover(columns(), "y", checkpoint=tmp_path / "nowhere" / "search.ckpt")


def test_no_temporary_file_is_left(small_checkpoint: Path) -> None:
    assert [path.name for path in small_checkpoint.parent.iterdir()] == ["search.ckpt"]
