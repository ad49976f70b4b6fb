"""What discover() finds with margins from permuted tables: in noise, without comparison groups, in a thousand rows.

`python benchmarks/margins.py [first|uncompared|small …] [--tables N] [--print]` writes the figures as they come to
benchmarks/results/margins-*.json and prints them as Markdown.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

if __name__ == "__main__":
    sys.path[:1] = [str(Path(__file__).resolve().parents[1])]  # instead of this folder

import causalrules
from benchmarks.measuring import Row
from benchmarks.score import SHAPES, Call, Columns, Parts, above, main
from benchmarks.wording import integer, table
from causalrules.question import Question

# ---------------------------------------------------------------- the first answer


def first_answer(columns: Columns, question: Question) -> Any:
    """Run discover() with margins from permuted tables where they are cheap."""
    given = {name: getattr(question, name) for name in ("direction", "reference", "missing", "max_length")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return causalrules.discover(columns, "y", question.outcome, question.control, k=1, n_jobs=1, **given)


def _one_first(place: int, n_tables: int, patience: float) -> Row:
    shape, start, n_above, calibrated, done = SHAPES[place], time.perf_counter(), 0, 0, 0
    while done < n_tables and (done < 20 or time.perf_counter() - start < patience):
        found = first_answer(*shape.draw(np.random.default_rng([1, done, place])))
        n_above += any(rule.stands_out for rule in found)
        calibrated += found.evidence is not None and found.evidence.margin is not None
        done += 1
    return {"shape": shape.name, "tables": done, "above": n_above, "calibrated": calibrated}


def first(n_tables: int, patience: float) -> list[Call]:
    return [Call(_one_first, (place, n_tables, patience)) for place in range(len(SHAPES))]


def first_section(rows: Sequence[Row]) -> str:
    shown = table(
        ["noise", "tables", "margins from shuffled tables", "a rule stands out"],
        [[r["shape"], r["tables"], r["calibrated"], above(r)] for r in rows],
    )
    by_tables = [r for r in rows if r["calibrated"]]
    total, beyond = sum(r["tables"] for r in by_tables), sum(r["above"] for r in by_tables)
    return f"{shown}\n\nShapes with margins from shuffled tables: {beyond} of {integer(total)} tables."


# ---------------------------------------------------------------- rows without a comparison group

ALONE = (0.0, 0.1, 0.2, 0.3, 0.45)


def lonely(rng: Generator, n: int, share: float, effect: float) -> Columns:
    """Draw a planted rule of one condition in five strata; a share of the rows has no comparison group."""
    z = rng.integers(0, 5, n)
    alone = rng.random(n) < share
    columns: Columns = {f"x{place}": rng.integers(0, 6, n).astype(float) for place in range(6)}
    columns["c"] = np.array(list("abcd"))[rng.integers(0, 4, n)]
    columns["t"] = np.where(rng.random(n) < 0.4, "yes", "no")
    # In two strata every row is treated, in two none.
    columns["t"] = np.where(alone, np.where(z % 2 == 0, "yes", "no"), columns["t"])
    columns["z"] = np.where(alone, np.char.add("alone", (z % 4).astype(str)), z.astype(str))
    p = 0.3 + 0.04 * z + effect * (columns["t"] == "yes")
    columns["y"] = (rng.random(n) < p).astype(int)
    return columns


def _one_share(share: float, n_tables: int, patience: float) -> Row:
    row: Row = {"share": share, "tables": n_tables, "supported": 0, "right": 0}
    for place in range(n_tables):
        columns = lonely(np.random.default_rng([int(100 * share), place]), 3000, share, 0.3)
        found = causalrules.discover(columns, "y", 1, "z", k=1, n_jobs=1)[0]
        row["supported"] += found.verdict.evidence == "supported"
        row["right"] += found.text == "t = yes"
    return row


def uncompared(n_tables: int, patience: float) -> list[Call]:
    return [Call(_one_share, (share, n_tables, patience)) for share in ALONE]


def uncompared_section(rows: Sequence[Row]) -> str:
    return table(
        ["rows without a comparison group", "tables", "supported", "the planted rule and nothing else"],
        [[f"{100 * r['share']:.0f} %", r["tables"], r["supported"], r["right"]] for r in rows],
    )


# ---------------------------------------------------------------- power in a thousand rows

POINTS = (0.0, 0.05, 0.10, 0.15, 0.20)


def thousand(rng: Generator, effect: float) -> Columns:
    """Draw ten columns of four values, one with an effect on half of the rows, and a confounder of three values."""
    n = 1000
    z = rng.integers(0, 3, n)
    columns: Columns = {f"x{place}": rng.integers(0, 4, n).astype(float) for place in range(9)}
    columns["t"] = (rng.random(n) < 0.4 + 0.1 * z).astype(int)
    columns["z"] = z.astype(str)
    columns["y"] = (rng.random(n) < 0.3 + 0.1 * z + effect * columns["t"]).astype(int)
    return columns


def _one_effect(effect: float, n_tables: int, patience: float) -> Row:
    row: Row = {"points": effect, "tables": n_tables, "by rules": 0, "by tables": 0, "planted": 0, "wrong": 0}
    for place in range(n_tables):
        columns = thousand(np.random.default_rng([7, int(100 * effect), place]), effect)
        rule = causalrules.discover(columns, "y", 1, "z", k=1, max_length=3, n_jobs=1)[0]
        row["by rules"] += rule.value > 0
        row["by tables"] += rule.stands_out
        row["planted"] += rule.stands_out and rule.text == "t = 1"
        row["wrong"] += rule.stands_out and "t = 1" not in rule.text
    return row


def small(n_tables: int, patience: float) -> list[Call]:
    return [Call(_one_effect, (effect, n_tables, patience)) for effect in POINTS]


def small_section(rows: Sequence[Row]) -> str:
    columns = ["effect, points", "tables", "margins for the number of rules", "margins from shuffled tables"]
    return table(
        [*columns, "of these the planted rule alone", "of these without it"],
        [
            [f"{100 * r['points']:.0f}", r["tables"], r["by rules"], r["by tables"], r["planted"], r["wrong"]]
            for r in rows
        ],
    )


PARTS: Parts = {
    "first": (first, first_section),
    "uncompared": (uncompared, uncompared_section),
    "small": (small, small_section),
}

if __name__ == "__main__":
    main(parts=PARTS, prefix="margins")
