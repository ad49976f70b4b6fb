"""Ten million rows from Parquet to rules, compared with DuckDB reading the same columns."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.measuring import Goal, Row, Settings, Timing, fresh, say
from benchmarks.searching import RELIABLE
from benchmarks.wording import duration, integer, size, spread, table

TITLE = "Ten million rows"
ROWS = 10_000_000
QUICK_ROWS = 500_000
KINDS = {"real": 8, "integer": 6, "text": 6}
COLUMNS = [f"{kind}{i}" for kind, count in KINDS.items() for i in range(count)]
CONTROLS = ["site", "season"]
K, MAX_LENGTH = 10, 3
TIME_LIMIT = 600.0
PATIENCE = 180.0


def run(settings: Settings) -> list[Row]:
    n_rows = QUICK_ROWS if settings.quick else ROWS
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        generate(path, n_rows)
        say(f"  {n_rows:,} rows generated: {size(path.stat().st_size)}")
        rows = []
        for name, function in {"scan": scan, "arrow": to_arrow, "discover": to_rules}.items():
            runs = [fresh(function, path)]
            while not settings.quick and len(runs) < 3 and sum(result["seconds"] for result, _ in runs) < PATIENCE:
                runs.append(fresh(function, path))
            timing = Timing.of([result["seconds"] for result, _ in runs])
            rows.append(
                {
                    "way": name,
                    "n_rows": n_rows,
                    "file_bytes": path.stat().st_size,
                    **runs[-1][0],
                    "seconds": timing.seconds,
                    "spread": timing.spread,
                    "runs": timing.runs,
                    "peak_memory": max((peak for _, peak in runs if peak is not None), default=None),
                }
            )
            say(f"  {name}: {duration(timing.seconds)}, {size(rows[-1]['peak_memory'])}")
    return rows


def generate(path: Path, n_rows: int) -> None:
    """Write floats, integers and text, two controls, and an outcome that depends on two columns and a control."""
    import duckdb

    def uniform(number: int) -> str:
        return f"(hash(i * 64 + {number}) % 1000003) / 1000003.0"

    kinds: dict[str, Callable[[str], str]] = {
        "real": lambda u: u,
        "integer": lambda u: f"CAST(floor(100 * {u}) AS INTEGER)",
        "text": lambda u: f"'w' || CAST(floor(6 * {u}) AS INTEGER)",
    }
    columns = [f"{kinds[name.rstrip('0123456789')](uniform(place))} AS {name}" for place, name in enumerate(COLUMNS)]
    controls = [
        f"'s' || CAST(floor({n} * {uniform(30 + n)}) AS INTEGER) AS {name}"
        for n, name in zip((3, 4), CONTROLS, strict=True)
    ]
    outcome = f"{uniform(40)} < 0.3 + 0.1 * (site = 's1')::INT + 0.1 * (real0 >= 0.5 AND text0 = 'w2')::INT AS y"
    inputs = f"SELECT {', '.join([*columns, *controls])}, i FROM range({n_rows}) t(i)"
    duckdb.sql(f"COPY (SELECT * EXCLUDE (i), {outcome} FROM ({inputs})) TO '{path}' (FORMAT parquet)")


def scan(path: Path) -> Row:
    """Read every value once with DuckDB, keeping none."""
    import duckdb

    start = time.perf_counter()
    duckdb.read_parquet(str(path)).aggregate(
        ", ".join(f"max({name})" for name in [*COLUMNS, *CONTROLS, "y"])
    ).fetchall()
    return {"seconds": time.perf_counter() - start}


def to_arrow(path: Path) -> Row:
    """Read the columns into memory with DuckDB."""
    import duckdb

    start = time.perf_counter()
    duckdb.read_parquet(str(path)).project(", ".join([*COLUMNS, *CONTROLS, "y"])).to_arrow_table()
    return {"seconds": time.perf_counter() - start}


def to_rules(path: Path) -> Row:
    from causalrules.discovery import discover

    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {**RELIABLE, "k": K, "max_length": MAX_LENGTH, "time_limit": TIME_LIMIT, "progress": False}
        rules = discover(path, "y", True, CONTROLS, COLUMNS, **options)
    return {
        "seconds": time.perf_counter() - start,
        "search_seconds": rules.seconds,
        "n_propositions": rules.n_propositions,
        "n_strata": rules.n_strata,
        "nodes": rules.nodes,
        "optimal": rules.optimal,
        "best_rule": str(rules[0]),
    }


def section(rows: Sequence[Row]) -> str:
    names = {
        "scan": "DuckDB reads every value (`max` of each column)",
        "arrow": "DuckDB reads the columns into an Arrow table",
        "discover": f"`discover`, k = {K}, max_length {MAX_LENGTH}",
    }
    found = next(row for row in rows if row["way"] == "discover")
    kinds = ", ".join(f"{count} {kind}" for kind, count in KINDS.items())
    return (
        f"{integer(found['n_rows'])} generated rows, {len(COLUMNS)} actionable columns ({kinds}), two controls "
        f"({found['n_strata']} strata), a Parquet file of {size(found['file_bytes'])}; each in a new process. "
        f"`discover` spends {duration(found['search_seconds'])} of its time in the search of "
        f"{found['n_propositions']} propositions, {'proven optimal' if found['optimal'] else 'not finished'}; "
        f"the best rule: {found['best_rule']}.\n\n"
    ) + table(
        ["", "time", "spread", "runs", "peak memory"],
        [
            [
                names[row["way"]],
                duration(row["seconds"]),
                spread(row),
                row["runs"],
                size(row["peak_memory"]),
            ]
            for row in rows
        ],
    )


def goals(rows: Sequence[Row]) -> list[Goal]:
    ways = {row["way"]: row for row in rows}
    if not ways or ways["discover"]["n_rows"] < ROWS:
        return []
    found, limit = ways["discover"], 3 * ways["scan"]["seconds"] + 60
    peak = found["peak_memory"]
    return [
        Goal(
            "ten million rows to rules in 3 times what DuckDB needs to read them, and 60 s",
            f"{duration(found['seconds'])} of {duration(limit)}",
            found["optimal"] and found["seconds"] <= limit,
        ),
        *([] if peak is None else [Goal("ten million rows in 4 GB", size(peak), peak <= 4e9)]),
    ]
