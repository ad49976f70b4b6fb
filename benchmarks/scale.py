"""Data larger than memory and rows on a cluster: costs, measured in separate processes.

    python -m benchmarks.scale stream  --rows 100000000    # Parquet files → top 10, beside DuckDB's own scan
    python -m benchmarks.scale dask    --rows 20000000     # two worker processes beside two threads
    python -m benchmarks.scale merging                     # from which share of distinct rows merging pays
    python -m benchmarks.scale model                       # the cost model in docs/scale.md: constants, predictions

Files are written to a temporary folder and removed afterwards. Each command prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

FILES = 10
# The figures were measured with the paper's estimator and comparison.
RELIABLE: dict[str, Any] = {
    "estimator": "reliable",
    "beta": 2.0,
    "missing": "false",
    "adjust": "strata",
    "control_bins": 4,
}
QUESTION: dict[str, Any] = {
    "target": "y",
    "outcome": 1,
    "control": ["z1", "z2"],
    "k": 10,
    "max_length": 3,
    **RELIABLE,
}


def uniform(number: int) -> str:
    """Return a column of numbers in [0, 1) that are the same in every run."""
    return f"(hash(i * 16 + {number}) / 18446744073709551616.0)"


def category(number: int, labels: str) -> str:
    values = labels.split()
    return f"{values!r}[1 + (hash(i * 16 + {number}) % {len(values)})::INT]"


def write(folder: Path, n_rows: int) -> int:
    """Write the table as ten Parquet files; return their bytes."""
    import duckdb

    x1, c1 = uniform(1), category(5, "a b c d")
    chance = f"0.2 + 0.25 * ({c1} = 'a' AND {x1} > 0.6)::INT + 0.1 * ({category(9, 'p q r')} = 'p')::INT"
    for file in range(FILES):
        first, last = n_rows * file // FILES, n_rows * (file + 1) // FILES
        duckdb.sql(
            f"COPY (SELECT ({uniform(0)} < {chance})::TINYINT AS y, {x1} AS x1, {uniform(2)} AS x2, "
            f"ln(1 + 99 * {uniform(3)}) AS x3, ({uniform(4)} * 90)::INT AS age, {c1} AS c1, "
            f"{category(6, 'north south east west middle')} AS c2, {category(7, 'é ü ø å')} AS c3, "
            f"(hash(i * 16 + 8) % 2 = 0) AS flag, {category(9, 'p q r')} AS z1, {category(10, 'u v')} AS z2, "
            f"DATE '2020-01-01' + ({uniform(11)} * 1000)::INT AS day "
            f"FROM range({first}, {last}) AS rows(i)) TO '{folder}/part-{file:02}.parquet'"
        )
    return sum(path.stat().st_size for path in folder.iterdir())


def apart(function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Run a function in a new process; return its result, seconds and peak memory."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(there, function, arguments))
    process.start()
    there.close()  # so that a failed process ends the wait
    found: dict[str, Any] = here.recv()
    process.join()
    return found


def _measure(pipe: Any, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    start = time.perf_counter()
    found = function(*arguments)
    seconds = time.perf_counter() - start
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    peak = int(status["VmHWM"].split()[0]) * 1024
    pipe.send({"seconds": round(seconds, 2), "peak_gb": round(peak / 1e9, 2), **found})


def scan(folder: str) -> dict[str, Any]:
    """Scan with DuckDB alone: every column of every row is decoded, with almost no computation."""
    import duckdb

    connection = duckdb.connect()
    names = [row[0] for row in connection.execute(f"DESCRIBE SELECT * FROM '{folder}/*.parquet'").fetchall()]
    connection.execute(f"SELECT {', '.join(f'max({name})' for name in names)} FROM '{folder}/*.parquet'").fetchall()
    return {}


def stages(folder: str) -> dict[str, Any]:
    """Search the ten best rules from files, with the seconds of each stage."""
    from causalrules.data.reading import read
    from causalrules.language.roles import resolve
    from causalrules.question import Question
    from causalrules.search import run as search
    from causalrules.search.adjusted import adjust

    marks = [time.perf_counter()]

    def mark() -> float:
        marks.append(time.perf_counter())
        return round(marks[-1] - marks[-2], 2)

    table = read(f"{folder}/*.parquet")
    seconds = {"read": mark()}
    roles = resolve(table, QUESTION["target"], QUESTION["outcome"], None, QUESTION["control"])
    problem = adjust(table, roles, Question(**QUESTION))
    seconds["values"] = mark()
    packed = problem.pack()
    seconds["pack"] = mark()
    found = search.run(packed, Question(**QUESTION), problem.n_rows)
    seconds["search"] = mark()
    first = problem.language.propositions[found.rules[0][1][0]].text
    return {
        "stages": seconds,
        "kind": type(table).__name__,
        "n_propositions": len(problem.language.propositions),
        "nodes": found.progress.nodes,
        "optimal": found.optimal,
        "first_condition": first,
    }


def stream(n_rows: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        n_bytes = write(Path(folder), n_rows)
        return {
            "rows": n_rows,
            "gigabytes": round(n_bytes / 1e9, 2),
            "scan": apart(scan, folder),
            "ours": apart(stages, folder),
        }


def local(folder: str) -> dict[str, Any]:
    """Search with two threads on a frame in memory; loading it is not timed."""
    import pandas as pd

    import causalrules as cr

    frame = pd.read_parquet(folder)
    start = time.perf_counter()
    rules = cr.discover(frame, **QUESTION, n_jobs=2)
    return {
        "discover": round(time.perf_counter() - start, 2),
        "search": round(rules.seconds, 2),
        "nodes": rules.nodes,
        "rules": [str(rule) for rule in rules],
    }


def loopback() -> int:
    """Return the bytes that this machine has sent to itself."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    return next(int(line.split()[9]) for line in lines if line.strip().startswith("lo:"))


def dask_run(folder: str) -> dict[str, Any]:
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    import causalrules as cr
    from causalrules.search import sharded as cluster

    batches: list[tuple[int, int, int]] = []
    deliver = cluster.Messenger.deliver

    def counted(self: Any, questions: Any) -> Any:
        asked = sum(4 * len(question) for question, _ in questions)
        answered = sum(8 * length for _, length in questions)
        batches.append((len(questions), asked, answered))
        return deliver(self, questions)

    cluster.Messenger.deliver = counted  # type: ignore[method-assign]
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as workers,
        Client(workers) as client,
    ):
        frame = client.persist(dd.read_parquet(folder))
        marks: list[tuple[int, int]] = []

        def watch(progress: Any) -> None:
            marks.append((len(batches), loopback()))

        start = time.perf_counter()
        rules = cr.discover(frame, **QUESTION, client=client, progress=watch)
        total = time.perf_counter() - start
    (first, sent_before), (last, sent_after) = marks[0], marks[-1]
    n_batches = last - first
    questions, asked, answered = (sum(batch[part] for batch in batches[first:last]) / n_batches for part in range(3))
    return {
        "discover": round(total, 2),
        "search": round(rules.seconds, 2),
        "nodes": rules.nodes,
        "rules": [str(rule) for rule in rules],
        "batches": len(batches),
        "questions_per_batch": round(questions, 1),
        "question_bytes_per_batch": round(asked),
        "answer_bytes_per_batch": round(answered),
        # To and from two workers, each time through the scheduler.
        "model_bytes_per_batch": round(4 * (asked + answered)),
        "sent_bytes_per_batch": round((sent_after - sent_before) / n_batches),
    }


def on_a_cluster(n_rows: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), n_rows)
        two_threads, two_workers = apart(local, folder), apart(dask_run, folder)
        same = two_threads.pop("rules") == two_workers.pop("rules")
        return {"rows": n_rows, "local": two_threads, "dask": two_workers, "same_rules": same}


def merging_pays() -> dict[str, Any]:
    """Compare searches with and without merging, for tables with fewer and fewer distinct rows."""
    from causalrules.data.reading import read
    from causalrules.language.roles import resolve
    from causalrules.question import Question
    from causalrules.search import merging
    from causalrules.search import run as search
    from causalrules.search.adjusted import adjust

    n_rows = 1_000_000
    rng = np.random.default_rng(0)
    pays = merging.pays
    found = []
    for share in (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9):
        # The number of equally likely rows that gives this share of distinct rows in a sample of 20,000.
        n_distinct = _distinct_for(share)
        distinct = rng.normal(size=(n_distinct, 6))
        chosen = rng.integers(0, n_distinct, n_rows)
        columns = {f"x{index}": distinct[chosen, index] for index in range(6)}
        y = (distinct[chosen, 0] + distinct[chosen, 1] > 1.5) | (rng.random(n_rows) < 0.2)
        table = read({"y": y, **columns})
        problem = adjust(table, resolve(table, "y"), Question("y", **RELIABLE, max_bins=40))
        row: dict[str, Any] = {"distinct_share_of_sample": share, "distinct_rows": n_distinct}
        for name, decision in (("merged", True), ("not_merged", False)):
            merging.pays = lambda batch, decision=decision: decision  # type: ignore[misc]
            start = time.perf_counter()
            packed = problem.pack()
            packing = time.perf_counter() - start
            searched = search.run(packed, Question("y", **RELIABLE, n_jobs=1, max_length=3), problem.n_rows)
            row[name] = {"pack": round(packing, 2), "search": round(searched.progress.seconds, 2)}
        merging.pays = pays
        found.append(row)
    return {"rows": n_rows, "found": found}


def _distinct_for(share: float) -> int:
    """Return the number d of equally likely rows for this share of distinct ones: d (1 − e^(−n/d)) = share · n."""
    low, high = 1.0, 1e9
    for _ in range(200):
        middle = (low * high) ** 0.5
        if middle * -np.expm1(-20_000 / middle) < share * 20_000:
            low = middle
        else:
            high = middle
    return max(1, round(low))


def constants() -> dict[str, Any]:
    """Measure the seconds to pack one bit, to count one set of rows, and for a round trip to a cluster."""
    from causalrules.search.core import Batch, PackedTable
    from causalrules.search.remote import Part

    n_rows, n_columns, n_bins = 4_000_000, 10, 8
    rng = np.random.default_rng(0)
    codes = [rng.integers(0, n_bins, n_rows).astype(np.int32) for _ in range(n_columns)]
    batch = Batch(rng.integers(0, 6, n_rows).astype(np.int32), rng.integers(0, 2, n_rows).astype(np.uint8), None, codes)
    low = [part for _ in range(n_columns) for cut in range(n_bins - 1) for part in (0, cut + 1)]
    high = [part for _ in range(n_columns) for cut in range(n_bins - 1) for part in (cut, n_bins - 1)]
    columns = np.repeat(np.arange(n_columns), 2 * (n_bins - 1))
    start = time.perf_counter()
    packed = PackedTable(columns, low, high, n_columns, 6, [batch])
    packing = time.perf_counter() - start
    question = np.array([2, 1, 3, len(columns), *range(len(columns))], np.uint32)  # a rule and each condition added
    length = 2 * 6 * (len(columns) + 1)
    part = Part(packed, 0)
    part.answer(question, length)
    start = time.perf_counter()
    for _ in range(5):
        part.answer(question, length)
    counting = (time.perf_counter() - start) / 5
    return {
        "rows": n_rows,
        "pack_ns_per_row_and_condition": round(packing / n_rows / len(columns) * 1e9, 3),
        # Each count reads two sets of rows.
        "count_gb_per_second": round(n_rows / 8 * 2 * len(columns) / counting / 1e9, 2),
        **apart(_round_trips),
    }


def model() -> dict[str, Any]:
    measured = constants()
    rate, trip = measured["count_gb_per_second"], measured["round_trip_ms"]
    return {"constants": measured, "predictions": predict(rate, trip, measured["pack_ns_per_row_and_condition"])}


def _round_trips() -> dict[str, Any]:
    import dask.dataframe as dd
    import pandas as pd
    from distributed import Client, LocalCluster

    import causalrules as cr

    frame = pd.DataFrame({"y": [0, 1] * 50, "x": np.arange(100) / 2})
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as workers,
        Client(workers) as client,
    ):
        problem = cr.discover(dd.from_pandas(frame, npartitions=2), "y", **RELIABLE, client=client).problem
        assert problem is not None
        packed = problem.pack()
        packed.count()
        start = time.perf_counter()
        for _ in range(200):
            packed.count()
        return {"round_trip_ms": round((time.perf_counter() - start) / 200 * 1e3, 2)}


def predict(gb_per_second: float, round_trip_ms: float, pack_ns: float) -> list[dict[str, Any]]:
    """Apply the cost model of docs/scale.md to the question of `stream`, on 10, 100 and 1,000 eight-core workers."""
    # Measured for that question: conditions, strata, questions in all and per request, conditions per question.
    n_conditions, n_strata, n_questions, together, tried = 85, 6, 2_000, 4, 34
    cores, network = 8, 1.25e9
    rows = []
    for n_rows in (10**9, 10**11):
        for workers in (10, 100, 1000):
            bits = n_rows * (n_conditions + 1) / 8
            answers = together * 16 * n_strata * (tried + 1)
            counting = together * 2 * tried * n_rows / 8 / (gb_per_second * 1e9 * workers * cores)
            travelling = round_trip_ms / 1e3 + workers * answers / network
            rows.append(
                {
                    "rows": n_rows,
                    "workers": workers,
                    "gb_per_worker": round(bits / workers / 1e9, 2),
                    "pack_seconds": round(pack_ns / 1e9 * n_rows * n_conditions / workers / cores, 1),
                    "mb_to_driver_per_batch": round(workers * answers / 1e6, 2),
                    "batch_ms_counting": round(counting * 1e3, 1),
                    "batch_ms_travelling": round(travelling * 1e3, 1),
                    "search_seconds": round(n_questions / together * (counting + travelling), 1),
                }
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what large data costs.")
    parser.add_argument("what", choices=["stream", "dask", "merging", "model"])
    parser.add_argument("--rows", type=int, default=1_000_000)
    arguments = parser.parse_args()
    measured = {
        "stream": lambda: stream(arguments.rows),
        "dask": lambda: on_a_cluster(arguments.rows),
        "merging": merging_pays,
        "model": model,
    }[arguments.what]()
    print(json.dumps(measured, indent=1))


if __name__ == "__main__":
    main()
