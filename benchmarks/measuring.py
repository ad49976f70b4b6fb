"""Times as medians of repeats, peak memory of fresh processes, and the machine they were taken on."""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = ("causalrules", "numpy", "duckdb", "pyarrow")

Row = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """`data` holds keel/ and titanic.csv; None where there is no such folder."""

    quick: bool
    data: Path | None

    @property
    def repeats(self) -> int:
        return 3 if self.quick else 5


@dataclass(frozen=True)
class Timing:
    """The median of some runs, and how far the slowest is from the fastest as a share of it."""

    seconds: float
    spread: float
    runs: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Timing:
        median = statistics.median(seconds)
        return cls(median, (max(seconds) - min(seconds)) / median if median else 0.0, len(seconds))


@dataclass(frozen=True)
class Goal:
    """What was asked for, what was measured, and whether that is enough."""

    text: str
    measured: str
    met: bool


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def repeated(run: Callable[[], float], repeats: int, patience: float = 20.0) -> Timing:
    """Runs that each say how long they took, until there are enough of them or they took longer than `patience`."""
    seconds: list[float] = []
    while len(seconds) < repeats and sum(seconds) < patience:
        seconds.append(run())
    return Timing.of(seconds)


def clocked(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def fresh(function: Callable[..., Any], *arguments: Any) -> tuple[Any, int | None]:
    """What the function returns in a new process, and that process's peak memory in bytes."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        result = pool.submit(function, *arguments).result()
        return result, pool.submit(peak_memory).result()


def peak_memory() -> int | None:
    """The most memory this process has held since it began; None where the system does not say."""
    # Not getrusage: its maximum begins with that of the process which started this one.
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM"))


def machine() -> Row:
    """What the numbers depend on, and how steady they are: the spread of a loop that always does the same."""
    loops = sorted(clocked(lambda: sum(range(1_000_000))) for _ in range(30))
    return {
        "date": date.today().isoformat(),
        "commit": _output("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "caches": _caches(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else None,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "rustc": _output("rustc", "--version"),
        "libraries": {name: version(name) for name in LIBRARIES},
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "loop_spread": (loops[-4] - loops[3]) / statistics.median(loops),
    }


def _output(*command: str) -> str | None:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _caches() -> dict[str, str]:
    """The data caches of a core, as in {"L2": "512K"}."""
    caches = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        if (folder / "type").read_text().strip() != "Instruction":
            caches[f"L{(folder / 'level').read_text().strip()}"] = (folder / "size").read_text().strip()
    return caches


def write(path: Path, about: Row, rows: Sequence[Row]) -> None:
    """As a whole or not at all, one row on a line, so that two runs can be compared line by line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    text = f'{{"about": {json.dumps(about, ensure_ascii=False)},\n"rows": [\n{lines}\n]}}\n'
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
