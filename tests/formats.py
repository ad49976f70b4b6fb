"""The same table in the formats that are read."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def as_csv(data: dict[str, list[Any]], path: Path) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(data)
        for row in zip(*data.values(), strict=True):
            writer.writerow(["" if value is None else value for value in row])
    return path


def as_arrow(data: dict[str, list[Any]]) -> pa.Table:
    return pa.table({name: pa.array(values) for name, values in data.items()})


def as_parquet(data: dict[str, list[Any]], path: Path) -> Path:
    pq.write_table(as_arrow(data), path)
    return path
