"""Run the fuzz tests for some minutes, each class in turn with a new seed: `dev.py fuzz --minutes 20`.

A failure prints the seed, the command that repeats it and the smallest case that Hypothesis found. A crash or hang of
the whole process is a failure too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# By class of failure: the tests that look for it.
CLASSES = {
    "tables and options": ["tests/fuzz/test_inputs.py", "-k", "table"],
    "one option": ["tests/fuzz/test_inputs.py", "-k", "option and not table"],
    "files and command lines": ["tests/fuzz/test_inputs.py", "-k", "command_line"],
    "graphs": ["tests/fuzz/test_inputs.py", "-k", "graph"],
    "search against brute force": [
        "tests/test_discovery.py",
        "tests/search/test_pooled.py",
        "-k",
        "brute_force or oracle",
    ],
    "values and bounds": ["tests/search/test_core.py"],
    "criteria of graphs": ["tests/graph/test_admissibility.py", "tests/graph/test_theorem1.py"],
    "tables larger than memory": ["tests/search/test_streamed.py"],
    "all options of the core against brute force": ["tests/fuzz/test_searches.py", "-s"],
    "lists that add, against brute force": ["tests/fuzz/test_ladders.py", "tests/search/test_ladder.py", "-s"],
    "saved results and checkpoints": ["tests/fuzz/test_saved.py"],
    "border to the core": ["tests/fuzz/test_border.py"],
    "numbers again (pandas, DuckDB, SQLite, PostgreSQL)": ["tests/fuzz/test_numbers.py"],
    "SQL and Python exports": ["tests/result/test_sql.py", "-k", "select or covers"],
    "kills and interrupts": ["tests/fuzz/test_kills.py"],
    "workers killed": ["tests/search/test_sharded.py", "-k", "killed or gone"],
}
_LONGEST = 900


def once(words: list[str], seed: int) -> tuple[str, Counter[str], str]:
    """Run the tests of one class; return the outcome, the number of examples, and pytest's output."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--hypothesis-seed={seed}"]
    command += ["--hypothesis-show-statistics", *words]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, "CAUSALRULES_FUZZ": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_LONGEST,
        )
    except subprocess.TimeoutExpired as error:
        said = error.stdout or ""
        return "hang", Counter(), said.decode(errors="replace") if isinstance(said, bytes) else said
    counts: Counter[str] = Counter()
    for passing, failing, invalid in re.findall(
        r"(\d+) passing(?: examples)?, (\d+) failing(?: examples)?, (?:and )?(\d+) invalid", done.stdout
    ):
        counts.update(examples=int(passing) + int(failing), given_up=int(invalid))
        counts["failing"] += int(failing)
    counts["examples"] += sum(map(int, re.findall(r"(\d+) problems", done.stdout)))
    outcome = "passed" if done.returncode == 0 else "failed" if done.returncode > 0 else f"crash ({done.returncode})"
    return outcome, counts, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, help="first seed; by default a random one")
    parser.add_argument("--only", help="the classes whose names contain this")
    parser.add_argument("--output", type=Path, help="write the counts as JSON")
    asked = parser.parse_args()
    seed = random.SystemRandom().randrange(2**31) if asked.seed is None else asked.seed
    chosen = {name: words for name, words in CLASSES.items() if not asked.only or asked.only in name}
    counts = {name: Counter[str]() for name in chosen}
    end = time.monotonic() + 60 * asked.minutes
    rounds = 0
    while rounds == 0 or time.monotonic() < end:
        for name, words in chosen.items():
            if rounds and time.monotonic() > end:
                break
            begun = time.monotonic()
            outcome, found, said = once(words, seed)
            counts[name].update({"runs": 1, "failures": int(outcome != "passed"), **found})
            print(
                f"{name}: seed {seed}, {outcome}, {found['examples']:,} examples, {time.monotonic() - begun:.0f} s",
                flush=True,
            )
            if outcome != "passed":
                print(said[-8000:])
                again = f"CAUSALRULES_FUZZ=1 python -m pytest --hypothesis-seed={seed} {' '.join(words)}"
                print(f"{outcome}; again: {again}", flush=True)
        rounds += 1
        seed += 1
    print(f"\n{'class':55}{'runs':>6}{'examples':>10}{'given up':>10}{'failures':>10}")
    for name, of in counts.items():
        print(f"{name:55}{of['runs']:>6}{of['examples']:>10,}{of['given_up']:>10,}{of['failures']:>10}")
    if asked.output:
        asked.output.write_text(json.dumps(counts, indent=1) + "\n")
    sys.exit(1 if any(of["failures"] for of in counts.values()) else 0)


if __name__ == "__main__":
    main()
