"""Lists on small tables with known causes; `python -m benchmarks.ladder` runs them at full size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import causalrules as cr

N, TABLES = 2000, 4


def listed(seed: int, first: float, second: float, numeric: bool) -> list[set[str]]:
    """Return the columns of each finding: x0 and x1 affect the outcome, x3 follows x0 in four of five rows."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {f"x{place}": rng.integers(0, 4, N) for place in range(4)}
    columns["x3"] = np.where(rng.random(N) < 0.8, columns["x0"], columns["x3"])
    chance = 0.2 + first * (columns["x0"] >= 2) + second * (columns["x1"] >= 2)
    columns["y"] = chance + 0.5 * rng.normal(size=N) if numeric else (rng.random(N) < chance).astype(int)
    rules = cr.discover(columns, "y", None if numeric else 1, max_length=2, n_jobs=1, progress=False)
    return [{condition.column for condition in rule.conditions} for rule in rules.findings]


@pytest.mark.parametrize("numeric", [False, True])
def test_noise_lists_nothing(numeric: bool) -> None:
    assert sum(bool(listed(seed, 0, 0, numeric)) for seed in range(TABLES)) <= 1


@pytest.mark.parametrize("numeric", [False, True])
def test_a_second_cause_is_listed_and_a_proxy_is_not(numeric: bool) -> None:
    lists = [listed(seed, 0.3, 0.15, numeric) for seed in range(TABLES)]
    assert sum({"x0", "x1"} <= set().union(*rules) for rules in lists) >= TABLES - 1
    assert sum("x3" in columns for rules in lists for columns in rules) <= 1
