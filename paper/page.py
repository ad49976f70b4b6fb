"""Writes docs/paper.md from its template and the results: no number on the page is typed by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bands
import numpy as np
from efficiency import TIME_LIMITS
from keel import EXPERIMENTS, Experiment
from plain_search import Bounds, difference
from results import FULL, Row, Run, read_rows, write_atomically

TEMPLATE = Path(__file__).with_name("page.md.jinja")
PAGE = Path(__file__).resolve().parents[1] / "docs" / "paper.md"


def write(run: Run) -> None:
    """Write the page of a run; after a quick run also docs/paper.md, from the full run's results."""
    if run.quick:
        write_atomically(run.folder / "paper.md", render(run.folder, "."))
    if (FULL / "checks.csv").exists():
        write_atomically(PAGE, render(FULL, "../paper/results"))


def render(folder: Path, figures: str) -> str:
    import jinja2

    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters["number"] = number
    environment.filters["seconds"] = seconds
    tables = {path.stem: read_rows(path) for path in sorted(folder.glob("*.csv"))}
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(
        tables=tables,
        figures=figures,
        efficiency=efficiency(tables.get("efficiency", [])),
        recovery=at_some_sizes(tables["recovery"]),
        beta=at_some_sizes(tables["beta"]),
        proposition_3=proposition_3(),
        recovery_differs=recovery_differs(tables["recovery"]),
        wracc=wracc_against_reliable(tables["recovery_paired"]),
        plugin=plugin_course([row for row in tables["recovery"] if (row["run"], row["measure"]) == ("long", "plugin")]),
        time_limits=TIME_LIMITS,
        printed_nodes={experiment.name: experiment.nodes for experiment in EXPERIMENTS},
    )


def number(value: float, digits: int = 0) -> str:
    return f"{value:,.{digits}f}"


def seconds(value: float) -> str:
    """Format with at most three digits, and no more than the clock resolves."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}" if value < 1 else f"{value:,.1f}"


def efficiency(rows: list[Row]) -> list[dict[str, Any]]:
    """Return one line for each data set: the first declared class, the slowest class, and the paper's time."""
    found = []
    for experiment in EXPERIMENTS:
        chosen = [row for row in rows if row["data"] == experiment.name and row["k"] == 1]
        if chosen:
            found.append(
                {
                    "paper": experiment,
                    "rows": chosen[0]["rows"],
                    "actionable": chosen[0]["actionable"],
                    "outcomes": len(chosen),
                    "solved": sum(row["optimal"] for row in chosen),
                    "first": next(row for row in chosen if row["first_declared"]),
                    "slowest": max(chosen, key=lambda row: row["search_seconds"]),
                    "misprints": misprints(experiment, chosen[0]),
                }
            )
    return found


def misprints(experiment: Experiment, row: Row) -> list[str]:
    return [
        f"{what}: {printed:,} in the paper, {found:,} in the data"
        for what, printed, found in (
            ("rows", experiment.n_rows, row["rows"]),
            ("actionable columns", experiment.n_actionable, row["actionable"]),
        )
        if printed != found
    ]


def at_some_sizes(rows: list[Row]) -> list[dict[str, Any]]:
    """Return the longer run at a few sample sizes, one entry each with the measures by name."""
    sizes = [n for n in (100, 200, 400, 800, 1500, 3000) if any(row["n"] == n for row in rows)]
    return [
        {"n": n, **{str(row["measure"]): row for row in rows if row["run"] == "long" and row["n"] == n}} for n in sizes
    ]


def recovery_differs(rows: list[Row]) -> float:
    """Return the largest change of the share of recovered rules when samples are not stratified."""
    shares = {(row["run"], row["n"]): row["recovered"] for row in rows if row["measure"] == "reliable"}
    sizes = sorted({n for _, n in shares})
    return float(max(abs(shares["long", n] - shares["unstratified", n]) for n in sizes))


def wracc_against_reliable(rows: list[Row]) -> dict[str, int]:
    """Count the sample sizes at which WRAcc's best rules have the lower MSE, in total and beyond the band."""
    chosen = [row for row in rows if (row["run"], row["what"], row["one"]) == ("long", "squared_error", "wracc")]
    z = bands.simultaneous(len(chosen))
    return {
        "sizes": len(chosen),
        "lower": sum(row["difference"] < 0 for row in chosen),
        "surely_lower": sum(row["difference"] < -z * row["error"] for row in chosen),
        "surely_higher": sum(row["difference"] > z * row["error"] for row in chosen),
    }


def plugin_course(rows: list[Row]) -> dict[str, Row]:
    return {"first": rows[0], "worst": max(rows, key=lambda row: row["mse"])}


def proposition_3() -> dict[str, float]:
    """Return the bound and the value that it should bound, in a stratum of 200 rows without a positive."""
    n1, n0 = np.array([0]), np.array([200])
    worth = difference(np.zeros(201), np.arange(201), n1, n0, 2.0)
    bounds = Bounds(n1, n0, 2.0)
    a, b = np.array([0]), np.array([200])
    return {
        "n": 200,
        "b": int(worth.argmax()),
        "at_none": float(worth[0]),
        "at_best": float(worth.max()),
        "paper": float(bounds.paper(a, b)[0]),
        "repaired": float(bounds.repaired(a, b)[0]),
    }


if __name__ == "__main__":
    write(Run())
