"""A search killed or interrupted at any moment resumes to the same result, bit by bit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from strategies import LONG, examples

# Every column but the first has its causes among those before it: dozens of control sets.
GRAPH = [[f"x{i}", f"x{i + step}"] for i in range(9) for step in (1, 3) if i + step < 9]
GRAPH += [["z", f"x{i}"] for i in range(0, 9, 2)] + [[cause, y] for cause in ("x0", "x1", "x4", "z") for y in "ym"]
QUESTIONS: dict[str, dict[str, Any]] = {
    "pooled": {"target": "y"},
    "numeric target": {"target": "m", "max_length": 5},
    "with controls": {"target": "y", "control": ["z"], "adjust": "strata", "estimator": "reliable"},
    "mean with controls": {"target": "m", "control": ["z"], "adjust": "strata", "direction": "decrease"},
    "own controls": {"target": "y", "control": "auto", "graph": GRAPH, "adjust": "strata"},
    "own controls, numeric target": {"target": "m", "control": "auto", "graph": GRAPH, "adjust": "strata"},
    "missing means false": {"target": "y", "missing": "false"},
}
# In the tests a search takes part of a second, in `dev.py fuzz` several.
MAX_LENGTH = 3 if LONG else 2
SCRIPT = """
import json, sys, time
import numpy as np
import causalrules as cr
from causalrules.search import checkpoint
checkpoint._FIRST = checkpoint._LATER = 0.05
question = json.loads(sys.argv[1])
rng = np.random.default_rng(5)
n = 1500
table = {f"x{i}": np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 9, n)) for i in range(9)}
good = 0.25 * (table["x0"] >= 5) + 0.25 * (table["x1"] <= 3)
table |= {"z": rng.integers(0, 3, n), "y": (rng.random(n) < 0.25 + good).astype(int)}
table["m"] = np.round(20 * good).astype(int) + rng.integers(0, 30, n)
actionable = [f"x{i}" for i in range(9)]
print("searching", file=sys.stderr, flush=True)
begun = time.monotonic()
asked = {"max_length": int(sys.argv[3]), **question}
rules = cr.discover(table, **asked, actionable=actionable, k=20, n_jobs=1, progress=False,
                    checkpoint=sys.argv[2] or None)
if rules.stopped == "interrupted":
    sys.exit(3)
print(time.monotonic() - begun, file=sys.stderr)
print(json.dumps([[rule.text, rule.value.hex(), rule.n_covered, rule.effect.hex()] for rule in rules]))
"""


def start(kind: str, path: Path | str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, json.dumps(QUESTIONS[kind]), str(path), str(MAX_LENGTH)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ.copy())


@cache
def expected(kind: str) -> tuple[str, float]:
    """Return the result of an undisturbed search, and its time."""
    answer, said = start(kind, "").communicate()
    assert answer, said
    return answer, float(said.split()[-1])


def survives(kind: str, kills: list[tuple[float, str]], once_saved: bool = False) -> list[bool]:
    """Kill a search at these shares of its time, and compare the results; return for each kill whether it was saved.

    The time is that of an undisturbed search. On a machine that is busier now, kills come early; `once_saved` delays
    them until there is a checkpoint to resume from.
    """
    answer, seconds = expected(kind)
    saved = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "search.ckpt"
        for share, number in kills:
            process = start(kind, path)
            assert process.stderr is not None
            while "searching" not in (said := process.stderr.readline()):
                assert said, "it ended before it started"
            try:
                process.wait(share * seconds)
            except subprocess.TimeoutExpired:
                while once_saved and not path.exists() and process.poll() is None:
                    time.sleep(0.01)
                process.send_signal(signal.Signals[number])
            process.communicate()
            saved.append(path.exists())
        found, said = start(kind, path).communicate()
        assert found == answer, said
        assert [each.name for each in Path(folder).iterdir()] == ["search.ckpt"]
    return saved


@settings(
    max_examples=examples(1, 5),
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
    deadline=None,
)
@given(
    st.sampled_from([*QUESTIONS] if LONG else ["pooled"]),
    st.lists(
        st.tuples(st.floats(0.1, 1), st.sampled_from(["SIGKILL", "SIGKILL", "SIGINT", "SIGTERM"])),
        min_size=1,
        max_size=3,
    ),
)
def test_a_killed_search_resumes_to_the_same_result(kind: str, kills: list[tuple[float, str]]) -> None:
    for (_, number), saved in zip(kills, survives(kind, kills), strict=True):
        event(f"{number}, {'with' if saved else 'without'} a checkpoint")


@pytest.mark.parametrize("kind", [*QUESTIONS] if LONG else ["own controls"])
def test_kills_spread_over_the_whole_search_change_nothing(kind: str) -> None:
    kills = 10 if LONG else 1
    assert all(survives(kind, [((number + 0.7) / kills * 0.9, "SIGKILL") for number in range(kills)], once_saved=True))
