"""Does `rule.at_least` hold for all rules of a list at once? `python benchmarks/at_least.py [cell …] --tables N`

Tables with known effects are searched for a list of up to five rules. "Exceeds" is the share of tables in which the
bound of any listed rule is a number above its true effect, "wrong sign" that in which one is "> 0" and the effect is
not (together at most 5 %, within binomial error), after discover() and after shuffled tables (`simultaneous()`);
"below" how far the bound of the first rule is below its true effect, the median over
the tables in which it has one. True effects are those of the expected target of every row, in the strata of the rule.
Writes benchmarks/results/at-least.json and prints it as Markdown; docs/trust-statistics.md shows it.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import causalrules as cr

RESULTS = Path(__file__).parent / "results"
Row = dict[str, Any]
Columns = dict[str, Any]
Floats = NDArray[np.float64]
WHEN = ("discover()", "simultaneous()")
# The causes t0, t1, … of a table have this share of the first one's effect.
SHARES = (1.0, 0.7, 0.5, 0.5, 0.4)


class Cell:
    """Tables of one kind: `causes` columns with two values have effects, five with four values have none."""

    def __init__(
        self,
        name: str,
        effect: float,
        *,
        base: float = 0.3,
        n: int = 2000,
        causes: int = 1,
        strata: int = 3,
        share: float = 0.4,
        target: str = "outcome",
        groups: int = 0,
    ) -> None:
        self.name, self.effect, self.base, self.n, self.causes = name, effect, base, n, causes
        self.strata, self.share, self.target, self.groups = strata, share, target, groups

    def draw(self, seed: int) -> tuple[Columns, Floats]:
        """Return a table and the expected target of its rows."""
        rng = np.random.default_rng([20_261_119, seed, *self.name.encode()])
        n = self.n
        z = rng.integers(0, self.strata, n)
        group = np.arange(n) * self.groups // n if self.groups else np.arange(n)
        push = 0.2 * (z / max(self.strata - 1, 1) - 0.5)
        columns: Columns = {f"x{place}": rng.integers(0, 4, n) for place in range(5)}
        for place in range(self.causes):
            chance = np.clip(self.share * (1 + push), 0, 1)
            columns[f"t{place}"] = (rng.random(n) < chance).astype(int)
        if self.groups:  # the first cause and two columns without an effect are the same within groups
            for name in ("t0", "x0", "x1"):
                columns[name] = columns[name][np.searchsorted(group, group)]
        mean = self.base * (1 + push)
        for place in range(self.causes):
            mean = mean + self.effect * SHARES[place] * columns[f"t{place}"]
        if self.target == "outcome":
            mean = np.clip(mean, 0, 1)
            if self.groups:  # whole groups differ, by a standard deviation of 10 points
                common = (0.1 * rng.choice([-1.0, 1.0], self.groups))[group]
                y: NDArray[Any] = (rng.random(n) < np.clip(mean + common, 0, 1)).astype(int)
            else:
                y = (rng.random(n) < mean).astype(int)
        else:
            tail = rng.lognormal(0, 1, n) - math.exp(0.5)
            y = mean + tail * (1 + (self.target == "spread") * 2 * columns["t0"])
        if self.groups:
            columns["g"] = group
        return columns | {"z": z.astype(str), "y": y}, mean

    def search(self, columns: Columns) -> cr.RuleSet:
        given: dict[str, Any] = {"actionable": [name for name in columns if name[0] in "xt"]}
        given |= {"outcome": 1} if self.target == "outcome" else {}
        given |= {"groups": "g"} if self.groups else {}
        return cr.discover(columns, "y", control="z", max_length=2, n_jobs=1, **given)


CELLS = [
    *(Cell(f"{base:.0%} base, {100 * effect:g} points", effect, base=base)
      for base in (0.01, 0.3) for effect in (0.0, 0.05, 0.10, 0.15, 0.30)),
    Cell("1 % base, 49 points for 2 % of the rows", 0.49, base=0.01, share=0.02, n=4000),
    Cell("1 % base, 49 points for 2 % of the rows, 20 strata", 0.49, base=0.01, share=0.02, n=4000, strata=20),
    Cell("two causes, 15 and 10.5 points", 0.15, causes=2),
    Cell("five causes, 15 to 6 points", 0.15, base=0.15, causes=5),
    Cell("lognormal, no effect", 0.0, target="mean"),
    Cell("lognormal, 0.5", 0.5, target="mean"),
    Cell("lognormal, 2", 2.0, target="mean"),
    Cell("lognormal, no effect, three times the spread", 0.0, target="spread"),
    Cell("lognormal, 1, three times the spread", 1.0, target="spread"),
    Cell("lognormal, two causes, 1 and 0.7", 1.0, target="mean", causes=2),
    *(Cell(f"{groups} groups, {100 * effect:g} points", effect, groups=groups)
      for groups, effect in ((50, 0.0), (50, 0.3), (200, 0.0), (200, 0.15), (200, 0.3))),
]  # fmt: skip


def truth(rules: cr.RuleSet, rule: cr.RuleResult, mean: Floats) -> float:
    """Return the effect of a rule on the expected target, in the strata in which it was measured."""
    own = rules.problem_of(rule)
    covered, failing = own.sides(own.language.numbers(rule.conditions))
    stratum = own.rows.local.stratum
    total = rows = 0.0
    for each in np.unique(stratum):
        here = stratum == each
        if (here & covered).any() and (here & failing).any():
            total += here.sum() * (mean[here & covered].mean() - mean[here & failing].mean())
            rows += here.sum()
    return total / rows


def measured(rules: cr.RuleSet, mean: Floats) -> tuple[bool, bool, bool, float | None]:
    """Return whether a rule has a bound, whether one is above the truth (a number, a sign), and how far it is below."""
    known = [(rule.at_least, truth(rules, rule, mean)) for rule in rules if rule.at_least is not None]
    above = any(true < bound - 1e-9 for bound, true in known)
    # A bound of 0 says that the effect is above 0.
    wrong = any(bound == 0 and true <= 1e-9 for bound, true in known)
    first = known[0][1] - known[0][0] if known and rules[0].at_least is not None else None
    return bool(known), above, wrong, first


def run(cell: Cell, tables: int) -> Row:
    row: Row = {"table": cell.name, "rows": cell.n, "tables": tables}
    for when in WHEN:
        row |= {f"{when}: with a bound": 0, f"{when}: exceeds": 0, f"{when}: wrong sign": 0, f"{when}: below": []}
    for seed in range(tables):
        columns, mean = cell.draw(seed)
        first = cell.search(columns)
        if cell.groups and first[0].p_value is None:
            first = first.significance(199, seed, n_jobs=1)
        for when, rules in zip(WHEN, (first, first.simultaneous(199, seed, n_jobs=1)), strict=True):
            some, above, wrong, below = measured(rules, mean)
            row[f"{when}: with a bound"] += some
            row[f"{when}: exceeds"] += above
            row[f"{when}: wrong sign"] += wrong
            row[f"{when}: below"] += [] if below is None else [below]
    for when in WHEN:
        found = row[f"{when}: below"]
        row[f"{when}: below"] = round(float(np.median(found)), 4) if found else None
    return row


def in_markdown(rows: list[Row]) -> str:
    """Return the table of the page: differences of probabilities in points."""
    names = ["table", "rows", "tables"]
    shown = [f"{when}: {what}" for when in WHEN for what in ("with a bound", "exceeds", "wrong sign", "below")]
    lines = ["| tables | rows | " + " | ".join(shown) + " |", "|---|---:|" + "---:|" * len(shown)]
    for row in rows:
        cells = [str(row["table"]), f"{row['rows']:,}"]
        for name, value in list(row.items())[len(names) :]:
            if name.endswith("below"):
                unit = 1 if "lognormal" in row["table"] else 100
                cells.append("–" if value is None else f"{unit * value:z.{1 if unit > 1 else 2}f}")
            else:
                cells.append(f"{value / row['tables']:.1%}".replace("%", " %"))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="*", help="parts of the names of cells; all if none is given")
    parser.add_argument("--tables", type=int, default=100)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[Row] = []
    for cell in CELLS:
        if given.cells and not any(part in cell.name for part in given.cells):
            continue
        start = time.perf_counter()
        rows.append(run(cell, given.tables))
        print(json.dumps(rows[-1], ensure_ascii=False), f"{time.perf_counter() - start:.0f} s", flush=True)
    print(in_markdown(rows))
    if not given.cells:
        (RESULTS / "at-least.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
