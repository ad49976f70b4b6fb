"""Small random tables and questions about them, for hypothesis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

TARGET = "y"


@dataclass(frozen=True)
class SmallTable:
    """Rows with the target "y" (0, 1 or missing), and the kind of each actionable and control column.

    Both outcomes happen, and the boolean "x0" and the controls take two values or more where the target is
    known. Any other actionable column may be constant, empty or all different, as suits actionable=None.
    """

    rows: tuple[dict[str, Any], ...]
    actionable: dict[str, str]
    control: dict[str, str]

    def columns(self) -> dict[str, list[Any]]:
        """The table as a dict of columns."""
        return {name: [row[name] for row in self.rows] for name in self.rows[0]}


VALUES = {
    # Few values, so that ties are common; 0.5 and −1 so that numbers are not only small integers.
    "number": st.sampled_from([-1, 0, 0.5, 1, 2, 3, 10]),
    "text": st.sampled_from(["a", "b", "c", "A", "b c"]),
    "boolean": st.booleans(),
}


@st.composite
def small_tables(draw: st.DrawFn, max_rows: int = 40, max_actionable: int = 4) -> SmallTable:
    """Draw a table of 2 … max_rows rows and at most six strata."""
    n = draw(st.integers(2, max_rows))

    def column(values: st.SearchStrategy[Any], missing: bool) -> list[Any]:
        return draw(st.lists(st.none() | values if missing else values, min_size=n, max_size=n))

    y = [1, 0, *column(st.sampled_from([0, 1, 0, 1, None]), False)[2:]]
    x0 = draw(st.permutations([False, True])) + column(st.booleans(), draw(st.booleans()))[2:]
    columns: dict[str, list[Any]] = {TARGET: y, "x0": x0}
    actionable = {"x0": "boolean"}
    for index in range(1, draw(st.integers(1, max_actionable))):
        name, kind = f"x{index}", draw(st.sampled_from(sorted(VALUES)))
        columns[name] = column(VALUES[kind], draw(st.booleans()))
        actionable[name] = kind

    control = {}
    # At most six combinations: up to 6 values, or 2 of one times 3 of the other, a missing value being one.
    for name, size in draw(st.sampled_from([(), (("z", 6),), (("z1", 2), ("z2", 3))])):
        kind = draw(st.sampled_from(["number", "text"]))
        missing = size > 2 and draw(st.booleans())
        levels = [1, 2, 3, 4, 5, 6] if kind == "number" else ["p", "q", "r", "s", "t", "u"]
        drawn = column(st.sampled_from(levels[: size - missing]), missing)
        columns[name] = [*levels[:2], *drawn[2:]]
        control[name] = kind

    rows = tuple({name: values[i] for name, values in columns.items()} for i in range(n))
    return SmallTable(rows, actionable, control)


def questions() -> st.SearchStrategy[dict[str, Any]]:
    """Draw the options that the oracle and discover() share."""
    return st.fixed_dictionaries(
        {
            "k": st.integers(1, 10),
            "beta": st.sampled_from([0.0, 0.5, 1.0, 1.96, 2.0, 3.0, 5.0]) | st.floats(0, 5),
            "max_length": st.none() | st.integers(1, 4),
            "min_coverage": st.sampled_from([0.0, 0.0, 0.1, 0.25, 0.5]),
            "redundant": st.booleans(),
            "estimator": st.sampled_from(["reliable", "reliable", "plugin", "wracc", "association"]),
            "max_bins": st.integers(2, 4),
        }
    )


def noise(seed: int, n: int = 120, n_columns: int = 4, confounded: bool = True) -> dict[str, Any]:
    """Nothing but the control influences the outcome."""
    rng = np.random.default_rng([99, seed + 1])
    z = rng.integers(0, 2, n)
    columns: dict[str, Any] = {f"x{i}": rng.random(n) + 0.5 * z * confounded for i in range(n_columns)}
    return columns | {"z": z, "y": (rng.random(n) < 0.3 + 0.4 * z).astype(int)}
