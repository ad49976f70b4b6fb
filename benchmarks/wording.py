"""Formats numbers and tables for the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def duration(seconds: float | None) -> str:
    """Format with two or three significant digits and a unit.

    >>> [duration(s) for s in (0.00012, 0.0123, 0.123, 1.234, 12.34, 123.4)]
    ['0.12 ms', '12 ms', '123 ms', '1.23 s', '12.3 s', '123 s']
    """
    if seconds is None:
        return "–"
    if seconds < 1:
        return f"{seconds * 1000:.2f} ms" if seconds < 0.01 else f"{seconds * 1000:.0f} ms"
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s" if seconds < 100 else f"{seconds:.0f} s"


def ratio(value: float | None) -> str:
    """Format a ratio.

    >>> [ratio(r) for r in (1.234, 12.34, 1234.5, None)]
    ['1.23 ×', '12 ×', '1,234 ×', '–']
    """
    return "–" if value is None else f"{value:.2f} ×" if value < 10 else f"{value:,.0f} ×"


def integer(value: float) -> str:
    return f"{value:,.0f}"


def percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def spread(row: Mapping[str, Any]) -> str:
    """Format the range from fastest to slowest run; a single run has none."""
    return percent(row["spread"]) if row["runs"] > 1 else "–"


def size(n_bytes: float | None) -> str:
    """Format in the shortest unit.

    >>> [size(b) for b in (2_000, 34_000_000, 1_230_000_000, None)]
    ['2 kB', '34 MB', '1.23 GB', '–']
    """
    if n_bytes is None:
        return "–"
    if n_bytes >= 1e9:
        return f"{n_bytes / 1e9:.2f} GB"
    return f"{n_bytes / 1e6:.0f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.0f} kB"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], text_columns: int = 1) -> str:
    """Return a Markdown table; all but the first columns are right-aligned."""
    aligned = ["---"] * text_columns + ["---:"] * (len(columns) - text_columns)
    lines = [columns, aligned, *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)
