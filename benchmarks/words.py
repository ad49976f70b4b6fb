"""Checks the words for rules named in advance, and for searches in groups, on tables whose truth is known.

    python benchmarks/words.py [--tables N] [named holm both groups]

Each part prints a Markdown table and writes benchmarks/results/words-PART.json. 400 tables take about five minutes in
all, on one core. The regimes of `benchmarks/verdicts.py` have further cells on the verdict.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:1] = [str(ROOT)]

import causalrules as cr  # noqa: E402

Columns = dict[str, Any]
RESULTS = ROOT / "benchmarks" / "results"


def draw(*numbers: int) -> np.random.Generator:
    """Return a random generator independent of the package's."""
    return np.random.default_rng([20_261_119, *(1 + number for number in numbers)])


def one(seed: int, n: int, base: float, covered: float, truth: float, strata: int) -> Columns:
    """Draw a binary outcome, more frequent in some strata than in others, which x changes by `truth`."""
    rng = draw(seed, n, round(1000 * base), round(1000 * covered), round(100 * abs(truth)), strata)
    z = rng.integers(0, strata, n)
    x = rng.random(n) < covered * (0.5 + z / max(strata - 1, 1) if strata > 1 else 1.0)
    p = base * (0.7 + 0.6 * z / max(strata - 1, 1) if strata > 1 else 1.0)
    return {"x": x.astype(int), "z": z.astype(str), "y": (rng.random(n) < p + truth * x).astype(int)}


def many(seed: int, n: int, base: float) -> Columns:
    """Draw an outcome that no column affects; twenty of them, of which each has three values."""
    rng = draw(seed, n, round(1000 * base), 7)
    return {f"x{place}": rng.integers(0, 3, n) for place in range(20)} | {"y": (rng.random(n) < base).astype(int)}


def clustered(seed: int, sizes: str, groups: int, base: float, truth: float, of_groups: bool) -> Columns:
    """Draw groups that share a part of the outcome; x is drawn for whole groups or for rows."""
    rng = draw(seed, groups, round(1000 * base), round(100 * truth), of_groups, sizes == "equal")
    size = np.full(groups, 12) if sizes == "equal" else np.maximum(2, rng.pareto(1.5, groups) * 8).astype(int)
    group = np.repeat(np.arange(groups), np.minimum(size, 200))
    own = rng.normal(0, 1, groups)[group]
    x = rng.integers(0, 2, groups)[group] if of_groups else rng.integers(0, 2, len(group))
    p = base * np.clip(1 + 0.8 * own, 0.05, 3) + truth * x
    idle = {"a": rng.integers(0, 3, groups)[group], "b": rng.integers(0, 3, len(group)), "c": rng.random(len(group))}
    return idle | {"x": x, "group": group, "y": (rng.random(len(group)) < p).astype(int)}


def word(rule: cr.RuleResult) -> str:
    return rule.verdict.evidence if rule.verdict.evidence != "supported" else f"supported, {rule.verdict.direction}"


def share(ask: Callable[[int], bool], n_tables: int) -> float:
    return sum(ask(seed) for seed in range(n_tables)) / n_tables


def quietly(ask: Callable[..., Any], *given: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ask(*given, n_jobs=1, **options)


def named(n_tables: int) -> dict[str, Any]:
    """Count false words on one named rule without an effect, and how often its interval leaves out 0."""
    rows: dict[str, Any] = {}
    print("| rows | outcome | covered | strata | supported without an effect |")
    print("|---:|---:|---:|---:|---:|")
    for n in (200, 1000):
        for base in (0.02, 0.1, 0.4):
            for covered in (0.1, 0.5):
                for strata in (1, 8):
                    if n * base < 15 or n * covered < 40:
                        continue

                    def false(seed: int, n: int = n, b: float = base, c: float = covered, k: int = strata) -> bool:
                        rule = quietly(cr.evaluate, one(seed, n, b, c, 0.0, k), "x = 1", "y", 1, control="z")[0]
                        assert (word(rule) in ("not supported", "cannot tell")) or not (
                            rule.interval.low <= 0 <= rule.interval.high
                        )
                        return bool(rule.verdict.evidence == "supported")

                    found = share(false, n_tables)
                    rows[f"{n} {base} {covered} {strata}"] = found
                    print(f"| {n:,} | {base:.0%} | {covered:.0%} | {strata} | {found:.1%} |", flush=True)
    print(f"mean {np.mean(list(rows.values())):.1%}")
    return rows


def holm(n_tables: int) -> dict[str, Any]:
    """Count tables in which any of sixty rules without an effect is supported (Holm)."""
    rows: dict[str, Any] = {}
    print("| rows | outcome | any of 60 rules supported |\n|---:|---:|---:|")
    rules = [f"x{place} = {value}" for place in range(20) for value in range(3)]
    for n, base in ((300, 0.3), (1000, 0.05), (1000, 0.3)):

        def false(seed: int, n: int = n, base: float = base) -> bool:
            found = quietly(cr.evaluate, many(seed, n, base), rules, "y", 1, control=[])
            return any(rule.verdict.evidence == "supported" for rule in found)

        rows[f"{n} {base}"] = share(false, n_tables)
        print(f"| {n:,} | {base:.0%} | {rows[f'{n} {base}']:.1%} |", flush=True)
    return rows


def both(n_tables: int) -> dict[str, Any]:
    """Count right words on one named rule that raises or lowers the outcome."""
    rows: dict[str, Any] = {}
    print("| effect | rows | supported, right direction | the same word, outcome turned round |\n|---:|---:|---:|---:|")
    for truth in (0.15, -0.15, 0.3, -0.3):
        right = same = 0
        for seed in range(n_tables):
            columns = one(seed, 1000, 0.4, 0.5, truth, 4)
            rule = quietly(cr.evaluate, columns, "x = 1", "y", 1, control="z")[0]
            turned = quietly(cr.evaluate, columns, "x = 1", "y", 0, control="z", direction="decrease")[0]
            right += word(rule) == f"supported, {'raises' if truth > 0 else 'lowers'}"
            same += rule.verdict.evidence == turned.verdict.evidence != ""
        rows[f"{truth}"] = {"right": right / n_tables, "same": same / n_tables}
        print(f"| {truth:+.0%} | 1,000 | {right / n_tables:.1%} | {same / n_tables:.1%} |", flush=True)
    return rows


def groups(n_tables: int) -> dict[str, Any]:
    """Count supported rules in groups, searched for and named."""
    rows: dict[str, Any] = {}
    print("| groups | sizes | outcome | x drawn for | effect | first rule supported | x = 1, named | not judged |")
    print("|---:|---|---:|---|---:|---:|---:|---:|")
    for n_groups, sizes in ((12, "equal"), (25, "equal"), (40, "unequal"), (80, "equal")):
        for base in (0.1, 0.4):
            for of_groups in (True, False):
                for truth in (0.0, 0.3):
                    if truth and (base != 0.4 or n_groups < 40):
                        continue
                    table = partial(
                        clustered, sizes=sizes, groups=n_groups, base=base, truth=truth, of_groups=of_groups
                    )
                    found, fixed, open_ = 0, 0, 0
                    for seed in range(n_tables):
                        asked: dict[str, Any] = {"groups": "group"}
                        columns = table(seed)
                        rules = quietly(cr.discover, columns, "y", 1, max_length=2, k=1, **asked)
                        found += rules[0].verdict.evidence == "supported"
                        open_ += rules[0].verdict.evidence == "cannot tell"
                        rule = quietly(cr.evaluate, columns, "x = 1", "y", 1, control=[], **asked)[0]
                        fixed += rule.verdict.evidence == "supported"
                    row = {"found": found / n_tables, "named": fixed / n_tables, "open": open_ / n_tables}
                    level = "groups" if of_groups else "rows"
                    rows[f"{n_groups} {sizes} {base} {level} {truth}"] = row
                    shown = " | ".join(f"{each:.1%}" for each in row.values())
                    print(f"| {n_groups} | {sizes} | {base:.0%} | {level} | {truth:+.0%} | {shown} |", flush=True)
    return rows


PARTS: dict[str, Callable[[int], dict[str, Any]]] = {"named": named, "holm": holm, "both": both, "groups": groups}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    parser.add_argument("--tables", type=int, default=400)
    given = parser.parse_args()
    for part in given.parts or PARTS:
        print(f"\n{part}, {given.tables} tables a cell", flush=True)
        rows = PARTS[part](given.tables)
        known = {"tables": given.tables, "cells": rows}
        (RESULTS / f"words-{part}.json").write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
