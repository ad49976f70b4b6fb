"""Running time by rows, columns, strata, k and threads."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from benchmarks.measuring import Goal, Row, Settings, fresh, say
from benchmarks.searching import RELIABLE, TIME_LIMIT, measure, problem_of, source
from benchmarks.tables import noise
from benchmarks.wording import duration, integer, ratio, size, table
from causalrules.question import Question

TITLE = "Growth"


@dataclass(frozen=True)
class Case:
    n_rows: int = 100_000
    n_columns: int = 10
    n_strata: int = 2
    k: int = 10
    max_length: int = 2
    threads: int = -1


BASE = Case()
SWEEPS: dict[str, tuple[int, ...]] = {
    "n_rows": (10_000, 100_000, 1_000_000, 10_000_000),
    "n_columns": (5, 10, 20, 50, 100, 200),
    "n_strata": (1, 10, 100, 1_000),
    "k": (1, 10, 100, 1_000),
}
QUICK_SWEEPS = {
    "n_rows": (10_000, 100_000, 1_000_000),
    "n_columns": (5, 20, 50),
    "n_strata": (1, 100),
    "k": (1, 100),
}
LABELS = {"n_rows": "rows", "n_columns": "columns", "n_strata": "strata", "k": "k"}
# Long enough that thread start-up is negligible.
THREADED = (Case(20_000, 20, 2, 1, 4), Case(100_000, 20, 2, 1, 3), Case(10_000, 50, 2, 1, 3))
QUICK_THREADED = (Case(20_000, 20, 2, 1, 3),)


def run(settings: Settings) -> list[Row]:
    rows: list[Row] = []
    for name, values in (QUICK_SWEEPS if settings.quick else SWEEPS).items():
        for value in values:
            rows.append(_measured(replace(BASE, **{name: value}), name, settings))
            say(f"  {LABELS[name]} {value:,}: search {duration(rows[-1]['seconds'])}")
    for case in QUICK_THREADED if settings.quick else THREADED:
        for threads in (1, 2):
            rows.append(_measured(replace(case, threads=threads), "threads", settings))
            say(f"  {case.n_rows:,} rows, {threads} threads: search {duration(rows[-1]['seconds'])}")
    return rows


def _measured(case: Case, sweep: str, settings: Settings) -> Row:
    row, peak = fresh(one_case, case, settings.repeats)
    return {"sweep": sweep, **asdict(case), **row, "peak_memory": peak}


def one_case(case: Case, repeats: int) -> Row:
    data = noise(case.n_rows, case.n_columns, case.n_strata)
    start = time.perf_counter()
    problem = problem_of(source(data), "y", True, ["z"] if case.n_strata > 1 else [])
    packed = problem.pack()
    prepare_seconds = time.perf_counter() - start
    options = Question(
        "y", **RELIABLE, k=case.k, max_length=case.max_length, n_jobs=case.threads, time_limit=TIME_LIMIT
    )
    return {**measure(packed, options, problem.n_rows, repeats).row(), "prepare_seconds": prepare_seconds}


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the exponent e that fits seconds ≈ c · sizeᵉ best: the slope on log scales.

    >>> round(exponent([1, 10, 100], [3, 300, 30000]), 6)
    2.0
    """
    slope: Any = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    return float(slope)


def section(rows: Sequence[Row]) -> str:
    parts = [
        f"The noise of the last section; unless varied: {BASE.n_rows:,} rows, {BASE.n_columns} columns of numbers, "
        f"{BASE.n_strata} strata, k = {BASE.k}, max_length {BASE.max_length}, all cores. Preparing is from columns in "
        "memory to the packed table. An exponent e means that twice the size takes 2ᵉ times as long; "
        "where a time limit was reached, that search is left out of the fit."
    ]
    for name, label in LABELS.items():
        sweep = [row for row in rows if row["sweep"] == name]
        done = [row for row in sweep if row["optimal"]]
        if len(done) > 1:
            fits = [exponent([row[name] for row in done], [row[t] for row in done]) for t in _TIMES]
            body = [
                [
                    integer(row[name]),
                    duration(row["prepare_seconds"]),
                    _seconds(row),
                    integer(row["nodes"]),
                    size(row["peak_memory"]),
                ]
                for row in sweep
            ]
            body.append(["**exponent**", f"**{fits[0]:.2f}**", f"**{fits[1]:.2f}**", "", ""])
            parts.append(table([label, "prepare", "search", "nodes", "peak memory"], body, text_columns=0))
    parts.append(
        "Two threads beside one:\n\n"
        + table(
            ["rows", "columns", "max_length", "1 thread", "2 threads", "speed-up"],
            [
                [
                    integer(one["n_rows"]),
                    one["n_columns"],
                    one["max_length"],
                    _seconds(one),
                    _seconds(two),
                    ratio(one["seconds"] / two["seconds"]) if one["optimal"] and two["optimal"] else "–",
                ]
                for one, two in _threaded(rows)
            ],
            text_columns=0,
        )
    )
    return "\n\n".join(parts)


_TIMES = ("prepare_seconds", "seconds")


def _seconds(row: Row) -> str:
    return duration(row["seconds"]) if row["optimal"] else f"> {duration(row['seconds'])}"


def _threaded(rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    threaded = [row for row in rows if row["sweep"] == "threads"]
    return list(zip(threaded[::2], threaded[1::2], strict=True))


def goals(rows: Sequence[Row]) -> list[Goal]:
    long = [
        one["seconds"] / two["seconds"]
        for one, two in _threaded(rows)
        if one["optimal"] and two["optimal"] and one["seconds"] > 2
    ]
    if not long:
        return []
    text = "two threads 1.7 times as fast as one on searches longer than 2 s"
    return [Goal(text, ", ".join(ratio(value) for value in long), min(long) >= 1.7)]
