"""KEEL .dat files, and the roles that the paper's table of efficiency gives their columns."""

from __future__ import annotations

import csv
import gzip
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ATTRIBUTE = re.compile(r"""@attribute\s+('[^']*'|"[^"]*"|[^\s{\[]+)\s*(.*)""", re.IGNORECASE)


@dataclass(frozen=True)
class Experiment:
    """One row of the paper's table: what it searched, and what it reports."""

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
        ("breast", "Class", "age", 286, 8, 1.0, 78, 420),
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
    """The folder that holds keel/ and titanic.csv: as given, or CAUSALRULES_DATA, or ../shared/data; else None."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(given or os.environ.get("CAUSALRULES_DATA") or beside)
    return folder if (folder / "keel").is_dir() else None


def read_keel(path: Path) -> dict[str, list[Any]]:
    """The columns of a KEEL file: numbers for real and integer attributes, text for the others, None for '?'."""
    opened = gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")
    with opened as lines:
        names: list[str] = []
        kinds: list[type] = []
        for line in lines:
            if line.lower().startswith("@data"):
                break
            if found := ATTRIBUTE.match(line):
                names.append(found[1].strip("'\""))
                declared = found[2].lower()
                kinds.append(int if declared.startswith("integer") else float if declared.startswith("real") else str)
        rows = [row for row in csv.reader(lines, skipinitialspace=True) if row]
    ragged = [number for number, row in enumerate(rows, 1) if len(row) != len(names)]
    if ragged:
        raise ValueError(f"{path.name}: row {ragged[0]} has {len(rows[ragged[0] - 1])} values, not {len(names)}")
    columns: dict[str, list[Any]] = {}
    for name, kind, values in zip(names, kinds, zip(*rows, strict=True), strict=True):
        stripped = [value.strip() for value in values]
        columns[name] = [None if value in ("?", "<null>", "") else kind(value) for value in stripped]
    return columns


def read_titanic(path: Path) -> dict[str, list[Any]]:
    """Kaggle's training table without what names a passenger, in the types of the paper."""
    kinds = {
        "Survived": int,
        "Pclass": int,
        "Sex": str,
        "Age": float,
        "SibSp": int,
        "Parch": int,
        "Fare": float,
    }
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    renamed = {"Pclass": "class"}
    return {
        renamed.get(name, name.lower()): [kind(row[name]) if row[name] else None for row in rows]
        for name, kind in {**kinds, "Embarked": str}.items()
    }


def load(experiment: Experiment, folder: Path) -> dict[str, list[Any]]:
    """The table of an experiment."""
    if experiment.name == "titanic":
        return read_titanic(folder / "titanic.csv")
    plain = folder / "keel" / f"{experiment.name}.dat"
    return read_keel(plain if plain.exists() else plain.with_suffix(".dat.gz"))
