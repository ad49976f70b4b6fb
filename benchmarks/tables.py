"""Generated tables of known difficulty."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

EFFECT = 0.05


def noise(n_rows: int, n_columns: int, n_strata: int = 2, seed: int = 0) -> dict[str, NDArray[Any]]:
    """Draw uniform columns, the first two with a weak joint effect, and a control with an effect on the outcome.

    p(y) = 0.35 + 0.2 · z/(strata) + 0.05 · [x0 ≥ 0.5 and x1 ≤ 0.5]
    """
    rng = np.random.default_rng(seed)
    columns = {f"x{i}": rng.random(n_rows) for i in range(n_columns)}
    z = rng.integers(0, n_strata, n_rows)
    p = 0.35 + 0.2 * z / n_strata + EFFECT * ((columns["x0"] >= 0.5) & (columns["x1"] <= 0.5))
    return {**columns, "z": z.astype(str), "y": rng.random(n_rows) < p}


def binned(table: dict[str, NDArray[Any]], bins: int) -> dict[str, NDArray[Any]]:
    """Bin each numeric column into intervals of equal width, each a value without order."""
    return {
        name: (column * bins).astype(int).astype(str) if column.dtype.kind == "f" else column
        for name, column in table.items()
    }
