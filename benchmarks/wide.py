"""Time for files with many columns.

    python benchmarks/wide.py [COLUMNS …]

12 rows, columns of 5 values, rules of one condition; the same as a pandas frame for comparison. `cpu` is the CPU time
of the process. Results in benchmarks/results/wide.json.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import causalrules as cr

RESULTS = Path(__file__).parent / "results" / "wide.json"
SIZES = [500, 1_000, 2_000, 5_000, 10_000]


def measure(n_columns: int, folder: Path) -> list[dict[str, Any]]:
    """Time the same question on the same table in three forms."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{number}": rng.integers(0, 5, 12) for number in range(n_columns - 1)} | {"y": [0, 1] * 6})
    frame.to_csv(folder / "wide.csv", index=False)
    frame.to_parquet(folder / "wide.parquet")
    rows = []
    for form, data in {"frame": frame, "csv": folder / "wide.csv", "parquet": folder / "wide.parquet"}.items():
        wall, cpu = time.perf_counter(), time.process_time()
        cr.discover(data, "y", max_length=1, k=3, n_jobs=1)
        row = {
            "columns": n_columns,
            "form": form,
            "seconds": time.perf_counter() - wall,
            "cpu": time.process_time() - cpu,
        }
        print(
            " ".join(f"{value:.2f}" if isinstance(value, float) else str(value) for value in row.values()), flush=True
        )
        rows.append({name: round(value, 2) if isinstance(value, float) else value for name, value in row.items()})
    return rows


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    with tempfile.TemporaryDirectory() as folder:
        measure(100, Path(folder))  # loads modules
        rows = [row for size in sizes for row in measure(size, Path(folder))]
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
