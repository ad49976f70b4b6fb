"""Reads KEEL .dat files, with the column roles of the paper's table of efficiency."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

ATTRIBUTE = re.compile(r"""@attribute\s+('[^']*'|"[^"]*"|[^\s{\[]+)\s*(.*)""", re.IGNORECASE)


@dataclass(frozen=True)
class Experiment:
    """One row of the paper's table: the searched table, and the reported numbers."""

    name: str
    target: str
    control: str
    n_rows: int
    n_actionable: int
    alpha: float
    seconds: float
    nodes: int


# Names as in the files; the paper's automobile target "output" is Symboling, lymphography's "classes" is Class.
EXPERIMENTS = tuple(
    Experiment(*row)
    for row in [
        ("adult", "Class", "Sex", 48842, 13, 0.8, 1717, 258575),
        ("australian", "Class", "A4", 690, 13, 1.0, 146, 952175),
        ("automobile", "Symboling", "Engine-type", 205, 24, 1.0, 1, 15167),
        ("breast", "Class", "Age", 286, 8, 1.0, 78, 420),
        ("car", "Acceptability", "Safety", 1728, 5, 1.0, 0.02, 33),
        ("chess", "Class", "Bkblk", 3196, 35, 1.0, 851, 1613398),
        ("connect-4", "Class", "a1", 67557, 61, 0.3, 1679, 140707),
        ("crx", "Class", "A1", 690, 14, 1.0, 14, 101621),
        ("fars", "INJURY_SEVERITY", "CASE_STATE", 100968, 28, 0.8, 724, 22328),
        ("flare", "Class", "Prev24Hour", 1066, 10, 1.0, 0.014, 32),
        ("german", "Customer", "StatusAndSex", 1000, 19, 1.0, 8, 43007),
        ("housevotes", "Class", "El_salvador_aid", 435, 15, 1.0, 0.007, 57),
        ("kddcup", "Class", "Atr-6", 494020, 40, 0.99, 37, 219),
        ("kr-vs-k", "Game", "White_king_col", 28056, 5, 1.0, 30, 7304),
        ("lymphography", "Class", "Changes_in_lym", 148, 17, 1.0, 0.14, 1666),
        ("mushroom", "Class", "Gill-size", 8124, 21, 1.0, 0.307, 215),
        ("nursery", "Class", "Social", 12690, 7, 1.0, 0.66, 279),
        ("post-operative", "Decision", "L-CORE", 90, 7, 1.0, 0.016, 258),
        ("splice", "Class", "POS1", 3190, 59, 1.0, 1.03, 1855),
        ("tic-tac-toe", "Class", "TopLeft", 958, 8, 1.0, 0.11, 488),
        ("titanic", "survived", "sex", 891, 9, 1.0, 4.5, 26700),
        ("zoo", "Type", "Aquatic", 101, 15, 1.0, 0.009, 96),
    ]
)


def data_folder(given: str | Path | None = None) -> Path | None:
    """Return the folder with keel/ and titanic.csv: as given, or CAUSALRULES_DATA, or ../shared/data; else None."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(given or os.environ.get("CAUSALRULES_DATA") or beside)
    return folder if (folder / "keel").is_dir() else None


def read_keel(path: Path) -> Any:
    """Read a KEEL file as an Arrow table: numbers for real and integer attributes, text for others, null for '?'."""
    names, kinds, n_lines = [], [], 0
    for name, declared in _attributes(path):
        names.append(name)
        kinds.append(
            "BIGINT" if declared.startswith("integer") else "DOUBLE" if declared.startswith("real") else "TEXT"
        )
    with _opened(path) as lines:
        for line in lines:
            n_lines += 1
            if line.lower().startswith("@data"):
                break
    return _read_columns(path, names, kinds, n_lines)


def classes(experiment: Experiment, folder: Path) -> tuple[str, ...]:
    """Return the values of the target in the declared order; the paper seems to use the first."""
    if experiment.name == "titanic":
        return ("0", "1")
    declared = dict(_attributes(_path(experiment, folder)))[experiment.target]
    return tuple(value.strip() for value in declared.strip("{} ").split(","))


def read_titanic(path: Path) -> Any:
    """Read Kaggle's training table without passenger numbers: sex is the control, nine columns are actionable."""
    columns = {
        "survived": "TEXT",
        "class": "BIGINT",
        "name": "TEXT",
        "sex": "TEXT",
        "age": "DOUBLE",
        "sibsp": "BIGINT",
        "parch": "BIGINT",
        "ticket": "TEXT",
        "fare": "DOUBLE",
        "cabin": "TEXT",
        "embarked": "TEXT",
    }
    table = _read_columns(path, ["id", *columns], ["BIGINT", *columns.values()], 1)
    return table.drop_columns(["id"])


def load(experiment: Experiment, folder: Path) -> Any:
    """Return the table of an experiment."""
    path = _path(experiment, folder)
    return read_titanic(path) if experiment.name == "titanic" else read_keel(path)


def _path(experiment: Experiment, folder: Path) -> Path:
    if experiment.name == "titanic":
        return folder / "titanic.csv"
    plain = folder / "keel" / f"{experiment.name}.dat"
    return plain if plain.exists() else plain.with_suffix(".dat.gz")


def _opened(path: Path) -> IO[str]:
    return gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")


def _attributes(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each attribute's name and declaration."""
    with _opened(path) as lines:
        for line in lines:
            if line.lower().startswith("@data"):
                return
            if found := ATTRIBUTE.match(line):
                yield found[1].strip("'\""), found[2].strip()


def _read_columns(path: Path, names: list[str], kinds: list[str], n_skipped: int) -> Any:
    """Read the rows after the header; DuckDB reads the half million rows of kddcup in seconds."""
    import duckdb

    positions = [f"c{i}" for i in range(len(names))]
    text = duckdb.read_csv(
        str(path),
        header=False,
        skiprows=n_skipped,
        columns=dict.fromkeys(positions, "VARCHAR"),
        na_values=["?", "<null>", ""],
        delimiter=",",
        quotechar='"',
        auto_detect=False,
    )
    typed = text.project(", ".join(f"CAST(trim({c}) AS {k}) AS {c}" for c, k in zip(positions, kinds, strict=True)))
    return typed.to_arrow_table().rename_columns(names)
