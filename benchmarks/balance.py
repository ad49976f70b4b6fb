"""How often a column that is declared randomised raises the alert that it is unbalanced: drawn by lot, and not.

    python benchmarks/balance.py [tables]

Each line is a way of drawing a treatment, with seven columns that were there before (two of them skewed or rare, one
with thirty categories, one with missing values) as controls. The alert has an error rate of 0.1 %.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from causalrules.data.reading import read
from causalrules.question import Question
from causalrules.trust.declared import balance_of

Table = dict[str, Any]
CONTROLS = ("income", "age", "school", "region", "rare", "trade", "tested")


def people(rng: np.random.Generator, n: int, village: Any = None) -> Table:
    """Columns that were there before; with villages, people of one are alike."""
    alike = 0.0 if village is None else rng.normal(size=village.max() + 1)[village]
    site = np.clip(np.floor(3 + rng.normal(size=n) + alike), 0, 5).astype(int)
    tested = rng.normal(size=n) + alike + 0.5 * site
    return {
        "income": np.exp(rng.normal(size=n) + alike),
        "age": np.clip(rng.normal(45, 15, n) + 8 * alike, 18, 90).astype(int),
        "school": np.array(["none", "some", "high"])[np.clip(rng.normal(size=n) + alike + 1, 0, 2).astype(int)],
        "region": np.array(list("abcdef"))[site],
        "rare": (rng.random(n) < 0.02).astype(int),
        "trade": np.array([f"t{k}" for k in range(30)])[np.minimum(rng.geometric(0.15, n), 30) - 1],
        "tested": np.where(rng.random(n) < 0.2, np.nan, tested),
        "y": rng.normal(size=n),
    }


def draws(share: float, n: int = 1000) -> Callable[[np.random.Generator], Table]:
    def table(rng: np.random.Generator) -> Table:
        return people(rng, n) | {"w": (rng.random(n) < share).astype(int)}

    return table


def arms(rng: np.random.Generator) -> Table:
    return people(rng, 2000) | {"w": rng.choice(list("abcd"), 2000, p=[0.7, 0.2, 0.05, 0.05])}


def dose(rng: np.random.Generator) -> Table:
    return people(rng, 1000) | {"w": np.exp(rng.normal(size=1000))}


def by_region(rng: np.random.Generator) -> Table:
    table = people(rng, 2000)
    rates = dict(zip("abcdef", [0.1, 0.3, 0.5, 0.7, 0.8, 0.9], strict=True))
    return table | {"w": (rng.random(2000) < [rates[each] for each in table["region"]]).astype(int)}


def by_region_and_school(rng: np.random.Generator) -> Table:
    table = people(rng, 5000)
    rates = dict(zip("abcdef", [0.2, 0.3, 0.5, 0.7, 0.8, 0.9], strict=True))
    chance = np.array([rates[each] for each in table["region"]]) * np.where(table["school"] == "high", 1.0, 0.5)
    return table | {"w": (rng.random(5000) < chance).astype(int)}


def blocks(rng: np.random.Generator) -> Table:
    table = people(rng, 1000)
    w = np.zeros(1000, int)
    for region in "abcdef":
        rows = np.flatnonzero(table["region"] == region)
        w[rng.permutation(rows)[: len(rows) // 2]] = 1
    return table | {"w": w}


def pairs(rng: np.random.Generator) -> Table:
    first = people(rng, 300)
    table = {name: np.repeat(column, 2) for name, column in first.items()}
    order = rng.integers(0, 2, 300)
    return table | {"w": np.stack([order, 1 - order], 1).ravel(), "tested": people(rng, 600)["tested"]}


def villages(n_villages: int, share: float = 0.5) -> Callable[[np.random.Generator], Table]:
    def table(rng: np.random.Generator) -> Table:
        sizes = rng.geometric(1 / 25, n_villages)
        village = np.repeat(np.arange(n_villages), sizes)
        chosen = np.isin(np.arange(n_villages), rng.permutation(n_villages)[: round(share * n_villages)])
        return people(rng, len(village), village) | {"village": village, "w": chosen[village].astype(int)}

    return table


def households(rng: np.random.Generator) -> Table:
    """Households of four are drawn, and villages are the groups."""
    home = np.repeat(np.arange(400), 4)
    return people(rng, 1600, home) | {"village": home // 10, "w": rng.integers(0, 2, 400)[home]}


def chosen(strength: float, n: int = 1000) -> Callable[[np.random.Generator], Table]:
    """People with higher incomes take it more often."""

    def table(rng: np.random.Generator) -> Table:
        made = people(rng, n)
        return made | {"w": (rng.random(n) < 1 / (1 + np.exp(-strength * np.log(made["income"])))).astype(int)}

    return table


def richer_villages(rng: np.random.Generator) -> Table:
    table = villages(40)(rng)
    sizes = np.maximum(np.bincount(table["village"], minlength=40), 1)
    means = np.bincount(table["village"], np.log(table["income"]), 40) / sizes
    return table | {"w": (means > np.median(means)).astype(int)[table["village"]]}


REGIMES: dict[str, Callable[[np.random.Generator], Table]] = {
    "drawn, 1 of 2, 200 rows": draws(0.5, 200),
    "drawn, 1 of 2, 1,000 rows": draws(0.5),
    "drawn, 1 of 20, 1,000 rows": draws(0.05),
    "drawn, 4 arms, 2,000 rows": arms,
    "drawn, a dose, 1,000 rows": dose,
    "blocks of regions, 1,000 rows": blocks,
    "other rates by region, 2,000 rows": by_region,
    "other rates by region and school, 5,000 rows": by_region_and_school,
    "one of each pair, 600 rows": pairs,
    "half of 10 villages": villages(10),
    "half of 30 villages": villages(30),
    "10 of 80 villages": villages(80, 1 / 8),
    "10 of 200 villages": villages(200, 1 / 20),
    "households, groups are villages": households,
    "taken by the richer half of 40 villages": richer_villages,
    "taken by choice, odds × 1.5 per unit of log income": chosen(0.4),
    "taken by choice, odds × 2.7 per unit of log income": chosen(1.0),
}


def alerts(name: str, n_tables: int) -> int:
    """Count the tables with an alert."""
    found = 0
    for seed in range(n_tables):
        table = REGIMES[name](np.random.default_rng([seed, len(name)]))
        question = Question(target="y", randomised=("w",), groups="village" if "village" in table else None)
        (declared,) = balance_of(read(table).observed("y"), question, CONTROLS)
        found += bool(declared.unbalanced)
    return found


if __name__ == "__main__":
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for regime in REGIMES:
        print(f"{regime:55} {alerts(regime, many):5} of {many}", flush=True)
