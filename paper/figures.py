"""Figures as small SVG files, byte for byte reproducible."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from results import write_atomically

COLOURS = ("#1b7837", "#c51b7d", "#2166ac", "#b35806", "#666666", "#000000")
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "causalrules",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}


@contextmanager
def figure(path: Path, columns: int = 1, height: float = 2.8) -> Iterator[Any]:
    """Yield axes, one or several side by side; save the figure at the end."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    with matplotlib.rc_context(_STYLE):
        drawing, axes = pyplot.subplots(1, columns, figsize=(4.2 * columns, height), layout="constrained")
        yield axes
        content = io.StringIO()
        drawing.savefig(content, format="svg", metadata={"Date": None})
        pyplot.close(drawing)
    # Matplotlib leaves trailing blanks, which git reports.
    write_atomically(path, "\n".join(line.rstrip() for line in content.getvalue().splitlines()) + "\n")


def curve(axes: Any, x: list[float], y: list[float], colour: str, label: str, band: Any = None) -> None:
    """Draw a line, with a band (lower ends, upper ends) around it."""
    axes.plot(x, y, color=colour, label=label, linewidth=1.2, marker=".", markersize=3)
    if band is not None:
        axes.fill_between(x, *band, color=colour, alpha=0.2, linewidth=0)
