"""Figure "scalability" (appendix): time for k = 1, 10 and 100, for the slowest outcome of each data set."""

from __future__ import annotations

from efficiency import TIME_LIMITS
from figures import COLOURS, figure
from results import Run


def make(run: Run) -> None:
    if run.data is None or run.quick:
        return
    rows = run.read("efficiency")
    names = list(dict.fromkeys(row["data"] for row in rows))
    slowest = [
        max((row for row in rows if row["data"] == name and row["k"] == k), key=lambda row: row["search_seconds"])
        for name in names
        for k in TIME_LIMITS
    ]
    columns = ("data", "k", "outcome", "search_seconds", "total_seconds", "nodes", "optimal")
    run.write("scalability", [{column: row[column] for column in columns} for row in slowest])
    with figure(run.folder / "scalability.svg", height=3.6) as axes:
        for k, marker, colour in zip(TIME_LIMITS, "sox", COLOURS, strict=False):
            chosen = [row for row in slowest if row["k"] == k]
            # The clock resolves about a tenth of a millisecond.
            seconds = [max(row["search_seconds"], 1e-4) for row in chosen]
            fill = {} if marker == "x" else {"facecolors": "none"}
            label = f"k = {k}"
            axes.scatter([row["data"] for row in chosen], seconds, 18, marker=marker, color=colour, label=label, **fill)
        axes.set(yscale="log", ylabel="search time (s), slowest outcome")
        axes.tick_params(axis="x", rotation=90)
        axes.legend()
