"""Hypothesis strategies for small random tables and questions."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import oracle
from oracle import Coded

TARGET = "y"
# Set by `dev.py fuzz` for more examples.
LONG = bool(os.environ.get("CAUSALRULES_FUZZ"))
# The paper's estimator and comparison, for tests of its results.
RELIABLE: dict[str, Any] = {
    "estimator": "reliable",
    "beta": 2.0,
    "missing": "false",
    "control_bins": 4,
}
# The paper's comparison and plain list, which `oracle.top_k` assumes.
FALSE: dict[str, Any] = {"missing": "false", "control_bins": 4}


def examples(few: int, many: int) -> int:
    """Return the number of examples: `few` in the tests, `many` in `dev.py fuzz`."""
    return many if LONG else few


@dataclass(frozen=True)
class SmallTable:
    """Rows with the target "y" (0, 1 or missing), and the kind of each actionable and control column.

    Both outcomes occur, and the boolean "x0" and the controls take at least two values where the target is known. Any
    other actionable column may be constant, empty or all different, as actionable=None allows.
    """

    rows: tuple[dict[str, Any], ...]
    actionable: dict[str, str]
    control: dict[str, str]

    def columns(self) -> dict[str, list[Any]]:
        """The table as a dict of columns."""
        return {name: [row[name] for row in self.rows] for name in self.rows[0]}


VALUES = {
    # Few values, so that ties are common; 0.5 and −1 to include more than small integers.
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
    """Draw options that the oracle and discover() share."""
    return st.fixed_dictionaries(
        {
            "k": st.integers(1, 10),
            "beta": st.sampled_from([0.0, 0.5, 1.0, 1.96, 2.0, 3.0, 5.0]) | st.floats(0, 5),
            "max_length": st.none() | st.integers(1, 4),
            "min_coverage": st.sampled_from([0.0, 0.0, 0.1, 0.25, 0.5]),
            "estimator": st.sampled_from(["reliable", "reliable", "plugin", "wracc", "association"]),
            "max_bins": st.integers(2, 4),
            "missing_control": st.sampled_from(["drop", "drop", "value"]),
        }
    )


def noise(seed: int, n: int = 120, n_columns: int = 4, confounded: bool = True) -> dict[str, Any]:
    """Draw a table in which only the control influences the outcome."""
    rng = np.random.default_rng([99, seed + 1])
    z = rng.integers(0, 2, n)
    columns: dict[str, Any] = {f"x{i}": rng.random(n) + 0.5 * z * confounded for i in range(n_columns)}
    return columns | {"z": z, "y": (rng.random(n) < 0.3 + 0.4 * z).astype(int)}


@st.composite
def coded_tables(draw: st.DrawFn, max_rows: int = 30) -> tuple[Coded, list[float], int]:
    """Draw coded rows with the values of the target's levels and the number of strata.

    Missing values are unknown or false; there may be reference rows, weights, and levels without rows.
    """
    n = draw(st.integers(2, max_rows))
    n_levels = draw(st.sampled_from([2, 2, 2, 3, 5, 40]))
    # Round steps, so that ties come from equal rows and not from rounding.
    steps = draw(st.lists(st.integers(1, 4), min_size=n_levels - 1, max_size=n_levels - 1))
    levels = [sum(steps[:i]) / sum(steps) for i in range(n_levels)]
    n_strata = draw(st.integers(1, 6))

    def column(largest: int, smallest: int = 0) -> list[int]:
        return draw(st.lists(st.integers(smallest, largest), min_size=n, max_size=n))

    columns, conditions = [], []
    for index in range(draw(st.integers(1, 4))):
        largest = draw(st.integers(1, 3))
        columns.append(column(largest, draw(st.sampled_from([-1, 0]))))
        for code in range(largest + 1):
            conditions.append((index, code, code))
            if draw(st.booleans()):
                conditions.append((index, 0, code))
                conditions.append((index, code, 2**31 - 1))
    reference = draw(st.none() | st.none() | st.frozensets(st.integers(0, n - 1), min_size=1))
    low = draw(st.integers(0, 3))
    codes = (draw(st.integers(0, len(columns) - 1)), low, low + draw(st.sampled_from([0, 0, 1])))
    table = Coded(
        strata=column(n_strata - 1),
        target=[levels[code] for code in column(n_levels - 1)],
        columns=columns,
        conditions=conditions,
        weights=column(3) if draw(st.integers(0, 3)) == 0 else [1] * n,
        unknown=draw(st.booleans()),
        reference=reference,
        codes=None if reference is None else codes,
    )
    return table, levels, n_strata


def coded_questions() -> st.SearchStrategy[dict[str, Any]]:
    """Draw the options of a search over coded rows."""
    number = st.sampled_from([0.0, 0.5, 1.0, 2.0, 5.0]) | st.floats(0, 5)
    by_length = st.lists(number, min_size=1, max_size=5).map(sorted) | st.just([0.0, 0.1, 0.2, 9.0])
    return st.fixed_dictionaries(
        {
            "estimator": st.sampled_from(["pooled", "pooled", "pooled", "plugin", "association", "reliable", "wracc"]),
            "beta": number | by_length,
            "k": st.integers(1, 10),
            "max_length": st.none() | st.integers(1, 4),
            "min_rows": st.sampled_from([0, 0, 2, 5]),
            "margin_scale": st.sampled_from([1.0, 1.0, 0.5, 2.0]),
            # With a minimum value the search skips the beam search, which would hide wrongly pruned rules.
            "floor": st.sampled_from([-math.inf, -100.0, -100.0, 0.0123]),
        }
    )


def every_rule(table: SmallTable, outcome: dict[int, int], beta: float) -> dict[frozenset[int], float]:
    """Return the value of every set of rows that a rule covers, with these outcomes instead of the table's."""
    rows = [{**row, TARGET: outcome.get(i)} for i, row in enumerate(table.rows)]
    rules = oracle.top_k(
        rows,
        TARGET,
        lambda y: y == 1,
        table.actionable,
        table.control,
        k=10**6,
        beta=beta,
        max_length=2,
        max_bins=3,
        missing_control="value",
    )
    return {rule.rows: rule.value for rule in rules}
