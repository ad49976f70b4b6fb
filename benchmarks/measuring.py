"""Median times of repeated runs, peak memory of new processes, and the machine they were measured on."""

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
    """`data` holds keel/ and titanic.csv; None if there is no such folder."""

    quick: bool
    data: Path | None

    @property
    def repeats(self) -> int:
        return 3 if self.quick else 5


@dataclass(frozen=True)
class Timing:
    """The median time of some runs, and the range from fastest to slowest as a share of it."""

    seconds: float
    spread: float
    runs: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Timing:
        median = statistics.median(seconds)
        return cls(median, (max(seconds) - min(seconds)) / median if median else 0.0, len(seconds))


@dataclass(frozen=True)
class Goal:
    """A goal, the measured value, and whether it is met."""

    text: str
    measured: str
    met: bool


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def repeated(run: Callable[[], float], repeats: int, patience: float = 20.0) -> Timing:
    """Repeat a run that returns its seconds, until there are enough runs or `patience` is exceeded."""
    seconds: list[float] = []
    while len(seconds) < repeats and sum(seconds) < patience:
        seconds.append(run())
    return Timing.of(seconds)


def clocked(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def fresh(function: Callable[..., Any], *arguments: Any) -> tuple[Any, int | None]:
    """Return the function's result in a new process, and that process's peak memory in bytes."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        result = pool.submit(function, *arguments).result()
        return result, pool.submit(peak_memory).result()


def peak_memory() -> int | None:
    """Return this process's peak memory in bytes; None if the system does not report it."""
    # Not getrusage: its maximum starts with that of the parent process.
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM"))


def machine() -> Row:
    """Describe the machine, and how steady it is: the spread of a loop of constant work."""
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
    """Return the data caches of a core, as in {"L2": "512K"}."""
    caches = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        if (folder / "type").read_text().strip() != "Instruction":
            caches[f"L{(folder / 'level').read_text().strip()}"] = (folder / "size").read_text().strip()
    return caches


def write(path: Path, about: Row, rows: Sequence[Row]) -> None:
    """Write atomically, one row per line, so that two runs can be compared line by line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    text = f'{{"about": {json.dumps(about, ensure_ascii=False)},\n"rows": [\n{lines}\n]}}\n'
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
