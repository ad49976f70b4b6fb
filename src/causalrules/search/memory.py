"""Memory needed for a search, and memory available."""

from __future__ import annotations

import os
from pathlib import Path

from causalrules.exceptions import DataError
from causalrules.language.language import Language

# Below this size, querying the system takes longer than packing; shuffled tables are packed by the thousand.
_LITTLE = 1_000_000


def require_memory(n_rows: int, language: Language) -> None:
    """Raise a DataError that says what to reduce if the packed rows do not fit into memory."""
    needed = n_rows * (len(language.propositions) + 1) // 8
    if needed <= _LITTLE:
        return
    free = available_memory()
    if free is None or needed <= free:
        return
    longest = max(language.columns, key=lambda name: len(language.ends[name]))
    raise DataError(
        f"{n_rows:,} rows with {len(language.propositions):,} conditions need {needed / 1e9:,.1f} GB of memory and "
        f"{free / 1e9:,.1f} GB are free; use fewer bins or fewer actionable columns (column {longest!r} has the most "
        f"values: {len(language.ends[longest]):,}), or a cluster"
    )


def available_memory() -> int | None:
    """Return the bytes available without swapping, or None if unknown."""
    found = []
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError):
        if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
            found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    try:
        # A container may have a lower limit than the machine.
        folder = Path("/sys/fs/cgroup")
        most = (folder / "memory.max").read_text(encoding="ascii").strip()
        if most != "max":
            found.append(int(most) - int((folder / "memory.current").read_text(encoding="ascii")))
    except (OSError, ValueError):
        pass
    return min(found, default=None)
