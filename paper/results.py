"""Results: finished tables and figures, and the parts of a run that may be interrupted."""

from __future__ import annotations

import csv
import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import causalrules

Row = dict[str, Any]

FULL = Path(__file__).resolve().parent / "results"
QUICK = FULL / "quick"


@dataclass(frozen=True)
class Run:
    """A run of the experiments: full or quick, the data folder if any, and the seed."""

    quick: bool = False
    data: Path | None = None
    seed: int = 0
    folder: Path = FULL

    @property
    def _parts(self) -> Path:
        return self.folder / "parts" / f"{_sources()}-{self.seed}"

    def say(self, text: str) -> None:
        print(text, flush=True)

    def part(self, name: str, make: Callable[[], Sequence[Row]]) -> list[Row]:
        """Return the rows of a part, from an interrupted run or computed now; either way as read from the file."""
        path = self._parts / f"{name}.csv"
        if not path.exists():
            self.say(f"  {name}")
            write_rows(path, make())
        return read_rows(path)

    def forget_parts(self) -> None:
        """Remove the saved parts of a completed run."""
        shutil.rmtree(self.folder / "parts", ignore_errors=True)

    def write(self, name: str, rows: Sequence[Row]) -> None:
        write_rows(self.folder / f"{name}.csv", rows)

    def read(self, name: str) -> list[Row]:
        return read_rows(self.folder / f"{name}.csv")


@cache
def _sources() -> str:
    """Return a digest of experiments and package: parts by other code are not resumed."""
    digest = hashlib.sha256()
    package = Path(causalrules.__file__).parent
    for path in sorted([*Path(__file__).parent.glob("*.py"), *package.rglob("*.py"), *package.rglob("*.so")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def write_atomically(path: Path, content: str) -> None:
    """Write a file completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f"{path.suffix}.unfinished")
    unfinished.write_text(content, encoding="utf-8")
    os.replace(unfinished, path)


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    class Lines(list[str]):
        write = list.append

    lines = Lines()
    writer = csv.DictWriter(lines, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, "".join(lines))


def read_rows(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(file)]


def _value(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
