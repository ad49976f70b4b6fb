"""Many numeric columns with little effect: the hardest ordinary table."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.measuring import Goal, Row, Settings, fresh, say
from benchmarks.searching import RELIABLE, measure, problem_of, source
from benchmarks.tables import noise
from benchmarks.wording import duration, integer, spread, table
from causalrules.question import Question

TITLE = "Numeric noise"
ROWS = (1_000, 10_000, 20_000, 100_000, 1_000_000)
QUICK_ROWS = (1_000, 20_000)
COLUMNS = (20, 50)
LENGTHS = (2, 3, 4)
TIME_LIMIT = 60.0
QUICK_LIMIT = 5.0


def run(settings: Settings) -> list[Row]:
    limit = QUICK_LIMIT if settings.quick else TIME_LIMIT
    rows: list[Row] = []
    for n_columns in COLUMNS[:1] if settings.quick else COLUMNS:
        for n_rows in QUICK_ROWS if settings.quick else ROWS:
            found, peak = fresh(one_table, n_rows, n_columns, limit, settings.repeats)
            rows += [{**row, "peak_memory": peak} for row in found]
            times = ", ".join(f"length {row['max_length']} {_seconds(row)}" for row in found)
            say(f"  {n_rows:,} rows, {n_columns} columns: {times}")
    return rows


def one_table(n_rows: int, n_columns: int, limit: float, repeats: int) -> list[Row]:
    problem = problem_of(source(noise(n_rows, n_columns)), "y", True, ["z"])
    packed = problem.pack()
    return [
        {
            "n_rows": n_rows,
            "n_columns": n_columns,
            "n_propositions": len(problem.language.propositions),
            "max_length": length,
            **measure(
                packed, Question("y", **RELIABLE, k=1, max_length=length, time_limit=limit), problem.n_rows, repeats
            ).row(),
        }
        for length in LENGTHS
    ]


def section(rows: Sequence[Row]) -> str:
    measured = {(row["n_columns"], row["n_rows"]) for row in rows}
    missing = [
        f"{n_columns} columns with {integer(n_rows)} rows"
        for n_columns in COLUMNS
        for n_rows in ROWS
        if (n_columns, n_rows) not in measured
    ]
    left_out = f" Not in this run: {', '.join(missing)}." if missing else ""
    return (
        "Uniform columns, 14 conditions each, one binary control, and an effect of 0.05 of two columns together; "
        "k = 1, all cores. Where the time limit was reached, the gap says how much better a rule might be."
        f"{left_out}\n\n"
    ) + table(
        ["columns", "rows", "max_length", "search", "spread", "nodes", "best", "gap"],
        [
            [
                row["n_columns"],
                integer(row["n_rows"]),
                row["max_length"],
                _seconds(row),
                spread(row),
                integer(row["nodes"]),
                f"{row['best']:.4f}",
                "0" if row["optimal"] else f"{row['gap']:.4f}",
            ]
            for row in rows
        ],
        text_columns=0,
    )


def _seconds(row: Row) -> str:
    return duration(row["seconds"]) if row["optimal"] else f"> {duration(row['seconds'])}"


def goals(rows: Sequence[Row]) -> list[Goal]:
    return [
        Goal(
            f"20,000 rows, 20 columns of numbers, max_length {row['max_length']} in {limit:g} s, proven optimal",
            _seconds(row),
            row["optimal"] and row["seconds"] <= limit,
        )
        for row in rows
        for length, limit in ((3, 0.4), (4, 15.0))
        if (row["n_rows"], row["n_columns"], row["max_length"]) == (20_000, 20, length)
        and (row["optimal"] or row["seconds"] >= limit)
    ]
