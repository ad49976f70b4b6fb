"""The first rule reported: how often it is the planted rule, its coverage, and the error of its effect.

    python -m benchmarks.first_line [--tables 1000]

Twenty columns, 5,000 rows, a confounder; `x0 ≥ … ∧ x1 ≤ …` covers a fifth of the rows and adds 15 points, or nothing
has an effect. The paper's score and the default, rules of up to two conditions. The result is
`benchmarks/results/first-line.json`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import causalrules as cr

Floats = NDArray[np.float64]
RESULT = Path(__file__).parent / "results" / "first-line.json"
N, COLUMNS, CUT, EFFECT = 5000, 20, 0.45, 0.15
ASKED: dict[str, dict[str, Any]] = {
    "the paper's: reliable, β = 2": {"estimator": "reliable", "beta": 2.0},
    "the default": {},
}


def table(seed: int, effect: float) -> tuple[dict[str, Any], Floats]:
    """Return a table and each row's probability of the outcome."""
    rng = np.random.default_rng([seed, round(100 * effect)])
    z = rng.integers(0, 4, N)
    columns: dict[str, Any] = {f"x{place}": rng.random(N) + 0.05 * z for place in range(COLUMNS)}
    columns["z"] = z.astype(str)
    holds = (columns["x0"] - 0.05 * z >= 1 - CUT) & (columns["x1"] - 0.05 * z <= CUT)
    chance = 0.25 + 0.05 * z + effect * holds
    columns["y"] = (rng.random(N) < chance).astype(int)
    return columns, chance


def truth(covered: NDArray[np.bool_], chance: Floats, z: NDArray[Any]) -> float:
    """Return the adjusted effect of a rule, from the rows' probabilities."""
    strata = [z == value for value in np.unique(z)]
    kept = [each for each in strata if (each & covered).any() and (each & ~covered).any()]
    moved = [each.sum() * (chance[each & covered].mean() - chance[each & ~covered].mean()) for each in kept]
    return float(sum(moved) / sum(each.sum() for each in kept))


def measure(effect: float, tables: int) -> list[dict[str, Any]]:
    """Apply all methods to the same tables."""
    found: dict[str, list[tuple[bool, bool, float, float]]] = {name: [] for name in ASKED}
    for seed in range(tables):
        columns, chance = table(seed, effect)
        for name, options in ASKED.items():
            rules = cr.discover(columns, "y", outcome=1, control="z", k=1, max_length=2, progress=False, **options)
            rule = rules[0]
            planted = sorted((each.column, each.operator) for each in rule.conditions) == [("x0", ">="), ("x1", "<=")]
            off = rule.effect - truth(np.asarray(rule.covers(columns)), chance, columns["z"])
            found[name].append((rule.value > 0, planted, rule.coverage, off))
    rows = []
    for name, each in found.items():
        above, planted, coverage, off = (np.array(values) for values in zip(*each, strict=True))
        rows.append(
            {"planted": effect, "asked": name, "tables": tables, "above 0": float(above.mean())}
            | {"planted first": float(planted.mean()), "planted first and above 0": float((planted & above).mean())}
            | {"median coverage": float(np.median(coverage)), "under 2 % of rows": float((coverage < 0.02).mean())}
            | {"bias": round(float(off.mean()), 4)}
            | {"bias if above 0": round(float(off[above].mean()), 4) if above.any() else None}
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", type=int, default=1000)
    given = parser.parse_args()
    rows = [row for effect in (EFFECT, 0.0) for row in measure(effect, given.tables)]
    RESULT.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    print("|", " | ".join(rows[0]), "|\n|", "--- | " * len(rows[0]))
    for row in rows:
        print("|", " | ".join(str(value) for value in row.values()), "|")


if __name__ == "__main__":
    main()
