"""Rows that are not arrays of this process: in files, or in the memory of other machines."""

from __future__ import annotations

import os
from abc import abstractmethod
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from causalrules.data.table import Ends, Table
from causalrules.exceptions import DataError
from causalrules.language.propositions import Language, Strata
from causalrules.search.core import Batch, Packed


class StoredRows(Protocol):
    """Coded rows, where they are."""

    def fetch(self) -> Batch:
        """All rows, as arrays."""
        ...

    def pack(self) -> Packed:
        """The rows as bits, ready to be searched."""
        ...

    def digest(self) -> int:
        """A number that other rows would hardly have; the order of the rows does not matter."""
        ...


class StoredTable(Table):
    """A table that can code its rows where they are."""

    @abstractmethod
    def stored(self, language: Language, strata: Strata, satisfied: NDArray[np.bool_]) -> StoredRows | Batch:
        """The rows as they will be searched; `satisfied` says which of the target's values are the outcome."""


def runs(satisfied: NDArray[np.bool_]) -> Ends:
    """The last position of each run of equal values."""
    return np.flatnonzero(np.append(satisfied[1:] != satisfied[:-1], True))


def require_memory(n_rows: int, language: Language) -> None:
    """Raise a DataError that says what to reduce if the bits of so many rows do not fit into memory."""
    needed = n_rows * (len(language.propositions) + 1) // 8
    free = available_memory()
    if free is None or needed <= free:
        return
    most = max(language.columns, key=lambda name: len(language.ends[name]))
    raise DataError(
        f"{n_rows:,} rows with {len(language.propositions):,} conditions need {_gigabytes(needed)} of memory and "
        f"{_gigabytes(free)} are free; lower max_bins, name fewer actionable columns "
        f"(column {most!r} has the most values: {len(language.ends[most]):,}), or use a cluster"
    )


def _gigabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:,.1f} GB"


def available_memory() -> int | None:
    """Bytes that can be used without swapping, as far as the system tells; None where it does not."""
    found = []
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError):
        if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
            found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    try:
        # A container may be given less than the machine has.
        folder = Path("/sys/fs/cgroup")
        most = (folder / "memory.max").read_text(encoding="ascii").strip()
        if most != "max":
            found.append(int(most) - int((folder / "memory.current").read_text(encoding="ascii")))
    except (OSError, ValueError):
        pass
    return min(found, default=None)
