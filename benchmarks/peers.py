"""Other software on the same task, table and run: pysubgroup, and the paper's search in plain NumPy."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import venv
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from paper.keel import EXPERIMENTS, load
from paper.plain_search import Outcome, Rows
from paper.plain_search import search as plain_search

from benchmarks.measuring import Goal, Row, Settings, Timing, clocked, repeated, say
from benchmarks.paper_tables import outcomes
from benchmarks.searching import RELIABLE, measure, problem_of, source
from benchmarks.tables import binned, noise
from benchmarks.wording import duration, integer, ratio, table
from causalrules.question import Question
from causalrules.search.adjusted import Adjusted

TITLE = "Peers"
FOLDER = Path(__file__).parent
VENV = FOLDER / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
REQUIREMENTS = FOLDER / "peers.txt"
# Without GpGrowth: fifty times slower than these on adult at depth 2.
ALGORITHMS = ("DFS", "Apriori", "SimpleDFS")
# How it ends without enough memory.
OUT_OF_MEMORY = 3
# With 280 propositions at depth 3, Apriori took 24 GB before it was killed, and DFS more than four minutes.
MOST_AT_DEPTH_3 = 200
VERSION = REQUIREMENTS.read_text().split("==")[1].strip()
K = 10
SAME = 1e-9
# Seconds for imports, and for repeating the fastest algorithm.
STARTING = 20.0
PATIENCE = 120.0

PLAIN_TABLES = ("titanic", "tic-tac-toe", "mushroom", "breast", "kr-vs-k", "splice", "australian")
QUICK_PLAIN_TABLES = ("tic-tac-toe",)
PLAIN_NODES = 50_000

Rules = Sequence[tuple[float, Sequence[int]]]


def run(settings: Settings) -> list[Row]:
    return [*against_pysubgroup(settings), *against_plain(settings)]


def against_pysubgroup(settings: Settings) -> list[Row]:
    if not has_pysubgroup(install=True):
        say("  pysubgroup skipped: it could not be installed; see above")
        return []
    rows: list[Row] = []
    for name, problem in wracc_tables(settings).items():
        holds, outcome = held(problem)
        packed = problem.pack()
        packing = repeated(partial(clocked, problem.pack), settings.repeats)
        for depth in (2,) if settings.quick or len(holds) > MOST_AT_DEPTH_3 else (2, 3):
            ours = {
                threads: measure(packed, wracc(depth, threads), problem.n_rows, settings.repeats) for threads in (1, -1)
            }
            timings, rules = pysubgroup(holds, outcome, depth, settings)
            algorithm = min(timings, key=lambda name: timings[name].seconds) if timings else None
            rows.append(
                {
                    "peer": "pysubgroup",
                    "version": VERSION,
                    "algorithm": algorithm,
                    "table": name,
                    "n_rows": problem.n_rows,
                    "n_propositions": len(holds),
                    "depth": depth,
                    "peer_seconds": timings[algorithm].seconds if algorithm else patience(settings),
                    "peer_runs": timings[algorithm].runs if algorithm else 0,
                    "peer_finished": algorithm is not None,
                    "others": {name: timing.seconds for name, timing in timings.items()},
                    "seconds": packing.seconds + ours[-1].timing.seconds,
                    "seconds_one_thread": packing.seconds + ours[1].timing.seconds,
                    "search_seconds": ours[-1].timing.seconds,
                    "agreement": agreement(ours[-1].found.rules, rules, holds) if algorithm else "unknown",
                }
            )
            say(f"  {name}, depth {depth}: {_times_faster(rows[-1])} faster than pysubgroup ({algorithm})")
    return rows


def patience(settings: Settings) -> float:
    """Return the seconds that a peer may take."""
    return 30.0 if settings.quick else 600.0


def wracc(depth: int, threads: int = -1) -> Question:
    return Question("y", **{**RELIABLE, "estimator": "wracc"}, k=K, max_length=depth, n_jobs=threads)


def wracc_tables(settings: Settings) -> dict[str, Adjusted]:
    n_rows, n_columns = (2_000, 10) if settings.quick else (20_000, 20)
    uniform = noise(n_rows, n_columns)
    uniform.pop("z")
    tables = {
        f"noise, {n_columns} columns, ≤ and ≥": problem_of(source(uniform), "y", True),
        f"noise, {n_columns} columns, 8 intervals each": problem_of(source(binned(uniform, 8)), "y", True),
    }
    if settings.data is None:
        say("  adult skipped: no folder of KEEL files; give it by --data or CAUSALRULES_DATA")
        return tables
    adult = load(next(e for e in EXPERIMENTS if e.name == "adult"), settings.data)
    return {"adult (>50K), ≤, ≥ and =": problem_of(source(adult), "Class", ">50K"), **tables}


def held(problem: Adjusted) -> tuple[NDArray[np.bool_], NDArray[np.uint8]]:
    """Return which propositions hold on which rows, and the outcomes."""
    language = problem.language
    ranges = zip(language.column_index, language.low, language.high, strict=True)
    holds = np.array([(problem.columns[i] >= low) & (problem.columns[i] <= high) for i, low, high in ranges])
    times = 1 if problem.weights is None else problem.weights.astype(np.int64)
    return np.repeat(holds, times, axis=1), np.repeat(problem.outcome, times)


def has_pysubgroup(install: bool = False) -> bool:
    """Return whether the peers' environment exists; create it first if `install`."""
    complete = VENV / "installed-from"
    wanted = REQUIREMENTS.read_text()
    if complete.is_file() and complete.read_text() == wanted:
        return True
    if not install:
        return False
    say("  installing the peers into an environment of their own")
    venv.create(VENV, with_pip=True)
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(REQUIREMENTS)]
    if subprocess.run(pip).returncode:
        return False
    complete.write_text(wanted)
    return True


def pysubgroup(
    holds: NDArray[np.bool_], outcome: NDArray[np.uint8], depth: int, settings: Settings
) -> tuple[dict[str, Timing], Rules]:
    """Return the times of the algorithms that finish, and the result of the fastest, which alone is repeated."""
    limit = patience(settings)
    done: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npz"
        np.savez(path, holds=holds, outcome=outcome)
        for name in ALGORITHMS:
            result = one_algorithm(path, depth, name, 1, limit + STARTING)
            if result is not None:
                done[name] = result
                limit = min(limit, *result["seconds"])  # a slower one cannot be the fastest
        if not done:
            return {}, ()
        fastest = min(done, key=lambda name: min(done[name]["seconds"]))
        repeats = min(settings.repeats - 1, int(PATIENCE / done[fastest]["seconds"][0]))
        if repeats and (again := one_algorithm(path, depth, fastest, repeats, 3 * PATIENCE)):
            done[fastest]["seconds"] += again["seconds"]
    return {name: Timing.of(result["seconds"]) for name, result in done.items()}, done[fastest]["rules"]


def one_algorithm(path: Path, depth: int, algorithm: str, repeats: int, patience: float) -> Any:
    """Return seconds and rules; None if it exceeds the limit on time or memory."""
    script = FOLDER / "pysubgroup_search.py"
    command = [str(PYTHON), "-I", str(script), str(path), str(depth), str(K), algorithm, str(repeats)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=patience)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode == OUT_OF_MEMORY:
        say(f"  pysubgroup's {algorithm} at depth {depth} needs more memory than it may have")
        return None
    done.check_returncode()
    return json.loads(done.stdout)


def agreement(ours: Rules, theirs: Rules, holds: NDArray[np.bool_]) -> str:
    """Return "yes", or where the results differ. A peer may list the same rows more than once."""
    mine, others = _different_rows(ours, holds), _different_rows(theirs, holds)
    if not others:
        return "no: it found nothing"
    for place, ((value, _), (peer_value, peer_rows)) in enumerate(zip(mine, others, strict=False), 1):
        if abs(value - peer_value) > SAME:
            return f"no: {value:.9f} and {peer_value:.9f} at place {place}"
        tied = [other for other_value, other in mine if abs(other_value - value) <= SAME]
        # At the last value, each may have chosen other rules among ties.
        if peer_rows not in tied and abs(value - mine[-1][0]) > SAME:
            return f"no: different rows at place {place}"
    return "yes"


def _different_rows(rules: Rules, holds: NDArray[np.bool_]) -> list[tuple[float, bytes]]:
    seen: dict[bytes, float] = {}
    for value, conditions in rules:
        seen.setdefault(np.packbits(holds[list(conditions)].all(axis=0)).tobytes(), value)
    return [(value, rows) for rows, value in seen.items()]


def against_plain(settings: Settings) -> list[Row]:
    rows: list[Row] = []
    for name, problem in plain_tables(settings).items():
        packed = problem.pack()
        options = [Question("y", **RELIABLE, k=1, max_length=None, n_jobs=threads) for threads in (1, -1)]
        one, all_cores = (measure(packed, option, problem.n_rows, settings.repeats) for option in options)
        plain_rows = Rows.of(problem)
        for ordered in (False, True):
            found, timing = plain(plain_rows, ordered, settings.repeats)
            value = all_cores.found.rules[0][0]
            same = "yes" if abs(found.value - value) <= SAME else f"no: {value:.9f} and {found.value:.9f}"
            rows.append(
                {
                    "peer": "plain NumPy",
                    "algorithm": "ordered by bound" if ordered else "as in the paper",
                    "table": name,
                    "n_rows": problem.n_rows,
                    "n_propositions": len(problem.language.propositions),
                    "peer_seconds": timing.seconds,
                    "peer_runs": timing.runs,
                    "peer_finished": found.finished,
                    "peer_nodes": found.nodes,
                    "seconds": all_cores.timing.seconds,
                    "seconds_one_thread": one.timing.seconds,
                    "nodes": all_cores.found.progress.nodes,
                    "agreement": same if found.finished else "unknown",
                }
            )
            say(f"  {name}: {_times_faster(rows[-1])} faster than plain NumPy, {rows[-1]['algorithm']}")
    return rows


def plain_tables(settings: Settings) -> dict[str, Adjusted]:
    if settings.data is None:
        say("  the paper's tables skipped: no folder of KEEL files; give it by --data or CAUSALRULES_DATA")
        return {"noise, 2 columns": problem_of(source(noise(1_000, 2)), "y", True, ["z"])}
    tables = {}
    for experiment in EXPERIMENTS:
        if experiment.name in (QUICK_PLAIN_TABLES if settings.quick else PLAIN_TABLES):
            loaded = load(experiment, settings.data)
            outcome, _ = outcomes(loaded[experiment.target].to_pylist())[0]
            name = f"{experiment.name} ({outcome})"
            tables[name] = problem_of(source(loaded), experiment.target, outcome, [experiment.control])
    return tables


def plain(rows: Rows, ordered: bool, repeats: int) -> tuple[Outcome, Timing]:
    """Run the paper's search with the repaired bound: in the order of the language, or of the bounds."""
    found: list[Outcome] = []

    def once() -> float:
        return clocked(lambda: found.append(plain_search(rows, "repaired", ordered, max_nodes=PLAIN_NODES)))

    timing = repeated(once, repeats)
    return found[-1], timing


def section(rows: Sequence[Row]) -> str:
    subgroups = [row for row in rows if row["peer"] == "pysubgroup"]
    parts = []
    if subgroups:
        parts.append(
            f"**pysubgroup** {subgroups[0]['version']}: the top {K} by weighted relative accuracy, on the same "
            "propositions, which it gets as columns of true and false. Its fastest algorithm is named; its time is of "
            "`execute`, ours of packing the rows and searching, on all cores and on one. It lists equivalent rules one "
            "by one, we one for each set of rows: the answers agree when its different sets of rows are our first "
            "ones, with the same values.\n\n"
            + table(
                [
                    "table",
                    "rows",
                    "propositions",
                    "depth",
                    "algorithm",
                    "pysubgroup",
                    "ours",
                    "one core",
                    "times faster",
                    "one core",
                    "same answers",
                ],
                [
                    [
                        row["table"],
                        integer(row["n_rows"]),
                        row["n_propositions"],
                        row["depth"],
                        row["algorithm"] or "–",
                        _peer_seconds(row),
                        duration(row["seconds"]),
                        duration(row["seconds_one_thread"]),
                        _times_faster(row),
                        _times_faster(row, "seconds_one_thread"),
                        row["agreement"],
                    ]
                    for row in subgroups
                ],
            )
        )
    if others := [row for row in rows if row["peer"] == "plain NumPy"]:
        parts.append(
            "**Plain NumPy**: the paper's best-first branch and bound for the reliable effect (paper/plain_search.py), "
            "with bitsets and whole-array operations, and with its Proposition 3 repaired; k = 1, no length limit. "
            "Once with the propositions in the order of the language as in the paper, once with the survivors ordered "
            f"by bound. A search of more than {PLAIN_NODES:,} nodes is given up.\n\n"
            + table(
                [
                    "table",
                    "search",
                    "NumPy",
                    "nodes",
                    "ours",
                    "one core",
                    "nodes",
                    "times faster",
                    "one core",
                    "same answer",
                ],
                [
                    [
                        row["table"],
                        row["algorithm"],
                        _peer_seconds(row),
                        integer(row["peer_nodes"]),
                        duration(row["seconds"]),
                        duration(row["seconds_one_thread"]),
                        integer(row["nodes"]),
                        _times_faster(row),
                        _times_faster(row, "seconds_one_thread"),
                        row["agreement"],
                    ]
                    for row in others
                ],
                text_columns=2,
            )
        )
    return "\n\n".join(parts)


def _peer_seconds(row: Row) -> str:
    return ("" if row["peer_finished"] else "> ") + duration(row["peer_seconds"])


def _times_faster(row: Row, ours: str = "seconds") -> str:
    return ("" if row["peer_finished"] else "> ") + ratio(row["peer_seconds"] / row[ours])


def goals(rows: Sequence[Row]) -> list[Goal]:
    return [
        Goal(
            f"20 times faster than pysubgroup at depth 3 on {row['table']}, with the same answers",
            f"{_times_faster(row)}, same answers: {row['agreement']}",
            row["peer_seconds"] >= 20 * row["seconds"] and row["agreement"] == "yes",
        )
        for row in rows
        if row["peer"] == "pysubgroup" and row["depth"] == 3
    ]
