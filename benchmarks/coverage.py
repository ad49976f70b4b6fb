"""How often do intervals cover the truth, and how often is a rule found in noise? `python benchmarks/coverage.py`

Sections: fixed (rules named in advance), overlap (few rows on one side of large strata), skewed (means of targets
with long tails), population (effects that differ between strata), chained (held-out rows, forward chaining),
simultaneous (all rules of a list at once), groups (clustered rows), own_controls (rules with controls of their own),
gamma (the end of Γ's interval), noise (false findings over 18 shapes). Each writes its table to
benchmarks/results/coverage-<section>.json and prints it; docs/trust-statistics.md shows them. `--tables N` sets the
number of tables in each cell.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import causalrules as cr
from causalrules.estimators import intervals
from causalrules.estimators.sides import Side, side_of

RESULTS = Path(__file__).parent / "results"
Row = dict[str, Any]


def rng_of(*numbers: float) -> np.random.Generator:
    return np.random.default_rng([round(1000 * abs(number)) for number in numbers])


def sides_of(stratum: NDArray[Any], covered: NDArray[np.bool_], y: NDArray[np.float64], n: int) -> list[Side]:
    ones = np.ones(len(y))
    return [side_of(stratum, y, ones, rows, n) for rows in (covered, ~covered, ones > 0)]


def fixed(tables: int) -> list[Row]:
    """Coverage for a rule named in advance, by outcome, effect, strata and coverage of the rule."""
    found = []
    cells = [("outcome", base, change) for base in (0.02, 0.3, 0.98) for change in (0.0, 0.05, 0.15, 0.3)]
    cells += [("mean", 0.0, change) for change in (0.0, 0.3)]
    for (kind, base, change), n_strata, share, n in itertools.product(cells, (1, 5, 20, 100), (0.1, 0.5), (1000, 4000)):
        rng = rng_of(base, change, n_strata, share, n, kind == "mean")
        stratum = np.arange(n) % n_strata
        covered = rng.random(n) < share
        size = np.bincount(stratum, minlength=n_strata).astype(float)
        k = np.bincount(stratum, covered, n_strata)
        inside = (k > 0) & (k < size)
        sign = 1 if base < 0.5 else -1
        low = base * rng.uniform(0.5, 1.5, n_strata) if base < 0.5 else 1 - (1 - base) * rng.uniform(0.5, 1.5, n_strata)
        p = np.clip(low[stratum] + sign * change * covered, 0, 1)
        exact = np.clip(low + sign * change, 0, 1) - low if kind == "outcome" else np.full(n_strata, sign * change)
        truth = float(np.average(exact[inside], weights=size[inside]))
        hits, width, times = 0, 0.0, 4 * tables
        for _ in range(times):
            y = (rng.random(n) < p).astype(float) if kind == "outcome" else rng.exponential(size=n) * (1 + covered) + p
            if kind == "mean":
                y -= covered  # a mean of 1 on both sides, and twice the spread where the rule holds
            covered_side, failing, everything = sides_of(stratum, covered, y, n_strata)
            interval = intervals.estimate(covered_side, failing, everything, binary=kind == "outcome")
            hits += interval.low <= truth <= interval.high
            width += interval.high - interval.low
        found.append(
            {"target": kind, "base": base, "effect": sign * change, "strata": n_strata, "covered": share, "rows": n}
            | {"coverage": hits / times, "width": round(width / times, 4), "tables": times}
        )
    return found


def shares_covered(
    rng: np.random.Generator, shares: NDArray[Any], low: NDArray[Any], change: NDArray[Any], n: int, times: int
) -> tuple[float, float, float]:
    """Return how often a binary outcome's interval covers the population effect, its width, and the effective rows.

    In the population, strata have equal sizes and these shares of covered rows. The outcome has probability `low`, or
    low + change on the covered side. The effect is that of the strata that have both sides.
    """
    hits = width = worth = 0.0
    for _ in range(times):
        size = rng.multinomial(n, np.full(len(shares), 1 / len(shares)))
        k = rng.binomial(size, shares)
        a, c = rng.binomial(k, low + change), rng.binomial(size - k, low)
        inside = (k > 0) & (k < size)
        truth = float(np.mean(change[inside])) if inside.any() else 0.0
        sides = Side.binary(a, k - a), Side.binary(c, size - k - c), Side.binary(a + c, size - a - c)
        found = intervals.estimate(*sides)
        hits += bool(found.low <= truth <= found.high) or not inside.any()
        width += np.nan_to_num(found.high - found.low)
        worth += intervals.effective_rows(*sides)
    return hits / times, width / times, worth / times


def overlap(tables: int) -> list[Row]:
    """Coverage for a rule named in advance that covers few rows of large strata: propensities of 0.5 to 5 %."""
    found = []
    shapes: dict[str, Callable[[float], NDArray[Any]]] = {
        "half the rows, the other half at 50 %": lambda share: np.array([share, 0.5]),
        "the lowest of 10 strata, up to 60 %": lambda share: np.geomspace(share, 0.6, 10),
        "all of 10 strata": lambda share: np.full(10, share),
        "one stratum": lambda share: np.array([share]),
    }
    cells = itertools.product(
        shapes.items(), (0.005, 0.01, 0.02, 0.05), (1000, 4000), ((0.1, 0.0), (0.3, 0.0), (0.5, 0.2))
    )
    for (where, shares_of), share, n, (base, change) in cells:
        shares = shares_of(share)
        low = base * np.linspace(0.6, 1.4, len(shares)) if len(shares) > 1 else np.array([base])
        rng = rng_of(share * 1000, len(shares), n, base, change)
        times = 10 * tables
        covered, width, worth = shares_covered(rng, shares, low, np.full(len(shares), change), n, times)
        found.append(
            {"where": where, "propensity": share, "rows": n, "base": base, "effect": change, "coverage": covered}
            | {"width": round(width, 4), "effective rows": round(worth), "tables": times}
        )
    return found


def population(tables: int) -> list[Row]:
    """Coverage of the population effect if effects differ between strata of random size."""
    found = []
    for n_strata, spread, n, share in itertools.product((2, 5, 20), (0.1, 0.3), (500, 2000), (0.2, 0.5)):
        rng = rng_of(n_strata, spread, n, share, 29)
        low = np.linspace(0.25, 0.45, n_strata)
        change = 0.1 + spread * np.linspace(-1, 1, n_strata)
        times = 10 * tables
        covered, width, _ = shares_covered(rng, np.full(n_strata, share), low, np.clip(change, -low, 1 - low), n, times)
        found.append(
            {"strata": n_strata, "effects": f"0.1 ± {spread}", "rows": n, "covered": share, "coverage": covered}
            | {"width": round(width, 4), "tables": times}
        )
    return found


# Distributions with mean 0, by name.
TAILS: dict[str, Callable[[np.random.Generator, int], NDArray[Any]]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n) - 1,
    "t, 3 degrees": lambda rng, n: rng.standard_t(3, n),
    "0 or 1, 10 %": lambda rng, n: (rng.random(n) < 0.1) - 0.1,
    "lognormal, σ = 1": lambda rng, n: rng.lognormal(0, 1, n) - np.exp(0.5),
    "lognormal, σ = 1.5": lambda rng, n: rng.lognormal(0, 1.5, n) - np.exp(1.125),
    "lognormal, σ = 2": lambda rng, n: rng.lognormal(0, 2, n) - np.exp(2),
    "97 % zeros": lambda rng, n: (rng.random(n) < 0.03) * rng.exponential(size=n) - 0.03,
}


def skewed(tables: int) -> list[Row]:
    """Coverage for the mean of a long-tailed target under a rule named in advance, beside Welch's interval."""
    found = []
    sizes = ((1, 1000, 0.1), (1, 3000, 0.1), (1, 1000, 0.5), (5, 1000, 0.1), (20, 1000, 0.2), (1, 300, 0.1))
    for tail, (n_strata, n, share) in itertools.product(TAILS, sizes):
        rng = rng_of(list(TAILS).index(tail), n_strata, n, share)
        hits, usual, above, ratio, times = 0, 0, 0, 0.0, 10 * tables
        for _ in range(times):
            stratum = np.arange(n) % n_strata
            covered = np.arange(n) // n_strata < share * n / n_strata
            y = TAILS[tail](rng, n) + stratum
            sides = sides_of(stratum, covered, y, n_strata)
            effect, _, low, high = intervals.estimate(*sides, binary=False)
            hits += low <= 0 <= high
            above += high < 0
            weight = sides[2].n / n
            parts = [weight**2 * side.scatter / (side.n - 1) / side.n for side in sides[:2]]
            sums = [float(np.sum(part)) for part in parts]
            spread = sum(float(np.sum(part**2 / (side.n - 1))) for part, side in zip(parts, sides, strict=False))
            reach = np.sqrt(sum(sums)) * (intervals.student(0.95, sum(sums) ** 2 / spread) if spread else 0.0)
            usual += abs(effect) <= reach
            ratio += (high - low) / (2 * reach) if reach else 0.0
        found.append(
            {"target": tail, "strata": n_strata, "rows": n, "covered": share, "coverage": hits / times}
            | {"truth above": above / times, "Welch's": usual / times, "width over Welch's": round(ratio / times, 3)}
            | {"tables": times}
        )
    return found


def planted(
    rng: np.random.Generator, kind: str, n: int, n_strata: int, base: float, change: float
) -> tuple[dict[str, Any], NDArray[np.float64]]:
    """Draw six columns of four values; x0 ≥ 2 changes the target. Returns the expected target of each row too."""
    z = rng.integers(0, n_strata, n)
    columns: dict[str, Any] = {f"x{i}": rng.integers(0, 4, n) for i in range(6)} | {"z": z.astype(str)}
    mean = np.clip(base * (0.6 + 0.8 * (z % 5) / 4) + change * (columns["x0"] >= 2), 0, 1)
    columns["y"] = mean + rng.exponential(size=n) if kind == "mean" else (rng.random(n) < mean).astype(int)
    return columns, mean


class Shape(NamedTuple):
    """A kind of planted table."""

    target: str
    rows: int
    strata: int
    base: float
    effect: float

    def table(self, seed: int) -> tuple[dict[str, Any], NDArray[np.float64]]:
        rng = rng_of(seed, self.rows, self.strata, self.base, self.effect)
        return planted(rng, self.target, self.rows, self.strata, self.base, self.effect)


def asked(columns: dict[str, Any], kind: str, **options: Any) -> cr.RuleSet:
    given: dict[str, Any] = {"actionable": [name for name in columns if name[0] == "x"], "max_length": 2, "n_jobs": 1}
    given |= {"outcome": 1} if kind != "mean" else {}
    return cr.discover(columns, "y", control="z", **given | options)


def truth_of(covered: NDArray[np.bool_], mean: NDArray[np.float64], z: Any) -> float:
    total = rows = 0.0
    for value in np.unique(z):
        here = np.asarray(z) == value
        if (here & covered).any() and (here & ~covered).any():
            total += here.sum() * (mean[here & covered].mean() - mean[here & ~covered].mean())
            rows += here.sum()
    return total / rows


def chained(tables: int) -> list[Row]:
    """Held-out rows by forward chaining: three rules in noise, with true effect 0, or the planted rule.

    A planted rule counts only if it was measured on all blocks: only then is there a single truth to cover.
    """
    found = []
    for shape in (
        Shape("outcome", 1000, 1, 0.5, 0.0),
        Shape("outcome", 1000, 5, 0.5, 0.0),
        Shape("outcome", 1000, 50, 0.5, 0.0),
        Shape("outcome", 2000, 5, 0.02, 0.0),
        Shape("outcome", 1000, 5, 0.95, 0.0),
        Shape("mean", 1000, 5, 0.5, 0.0),
        Shape("outcome", 1000, 5, 0.3, 0.3),
        Shape("outcome", 4000, 50, 0.3, 0.15),
        Shape("outcome", 2000, 5, 0.02, 0.15),
        Shape("mean", 1000, 5, 0.3, 0.5),
    ):
        covered, measured, significant, effects = 0, 0, 0, []
        for seed in range(tables):
            columns, _ = shape.table(seed)
            k = 1 if shape.effect else 3
            rules = asked(columns, shape.target, k=k).cross_fit(5, seed, n_jobs=1)
            honest = [rule.evidence.honest for rule in rules]  # type: ignore[union-attr]
            significant += min(each.p_value for each in honest) <= 0.05  # type: ignore[union-attr, type-var, operator]
            if shape.effect and (rules[0].text != "x0 ≥ 2" or honest[0].found < honest[0].splits):  # type: ignore[union-attr]
                continue
            measured += len(honest)
            covered += sum(each.low <= shape.effect <= each.high for each in honest)  # type: ignore[union-attr, operator]
            effects.append(honest[0].effect)  # type: ignore[union-attr]
        found.append(
            shape._asdict()
            | {"coverage": round(covered / measured, 4), "intervals": measured}
            | {"any p ≤ 0.05 (Holm)": significant / tables, "mean effect": round(float(np.mean(effects)), 4)}  # type: ignore[arg-type]
            | {"tables": tables}
        )
    return found


def bounds_hold(rules: cr.RuleSet, truths: Sequence[float]) -> bool:
    """Return whether no simultaneous bound exceeds the truth."""
    bounds = [rule.evidence.simultaneous.bound for rule in rules]  # type: ignore[union-attr]
    return all(bound is None or bound <= truth + 1e-9 for bound, truth in zip(bounds, truths, strict=True))


def simultaneous(tables: int) -> list[Row]:
    """Simultaneous bounds of a list of five rules, after the search."""
    found = []
    for shape in (
        Shape("outcome", 800, 3, 0.3, 0.0),
        Shape("outcome", 800, 3, 0.3, 0.15),
        Shape("outcome", 800, 20, 0.3, 0.3),
        Shape("outcome", 2000, 5, 0.02, 0.0),
        Shape("outcome", 2000, 5, 0.02, 0.15),
        Shape("mean", 800, 5, 0.3, 0.3),
    ):
        together = naive = 0
        gaps = []
        for seed in range(tables):
            columns, mean = shape.table(seed)
            rules = asked(columns, shape.target, k=5).simultaneous(99, seed, n_jobs=1)
            truths = [truth_of(rule.covers(columns), mean, columns["z"]) for rule in rules]
            together += bounds_hold(rules, truths)
            naive += all(rule.interval(0.9).low <= truth + 1e-9 for rule, truth in zip(rules, truths, strict=True))
            gaps.append(rules[0].evidence.simultaneous.reach)  # type: ignore[union-attr]
        found.append(
            shape._asdict()
            | {"all five bounds hold": together / tables, "naive bounds of 95 %": naive / tables}
            | {"standard errors": round(float(np.mean(gaps)), 2), "tables": tables}
        )
    return found


def clustered(seed: int, kind: str, share: float) -> dict[str, Any]:
    """Draw 60 groups of 8 rows with an intraclass correlation of 0.3; two columns are constant within groups."""
    rng = rng_of(seed, share, kind == "mean")
    group = np.repeat(np.arange(60), 8)
    z = rng.integers(0, 2, 480)
    level = np.sqrt(0.3) * rng.normal(size=60)[group] + np.sqrt(0.7) * rng.normal(size=480) + 0.5 * z
    return {
        "xa": rng.integers(0, 2, 60)[group],
        "xb": rng.integers(0, 3, 60)[group],
        "xc": rng.integers(0, 3, 480),
        "z": z.astype(str),
        "person": group,
        "y": level if kind == "mean" else (level > NormalDist().inv_cdf(1 - share)).astype(int),
    }


def groups(tables: int) -> list[Row]:
    """False findings, bounds of a list, p-value and interval of a rule named in advance, with and without groups."""
    found = []
    for kind, share in (("mean", 0.5), ("outcome", 0.4), ("outcome", 0.1)):
        names = ("p ≤ 0.05", "all five bounds hold", "chained covers", "named: p ≤ 0.05", "named rule covers")
        hits = np.zeros((2, len(names)))
        for seed in range(tables):
            columns = clustered(seed, kind, share)
            for place, group in enumerate(("person", None)):
                rules = asked(columns, kind, k=5, groups=group)
                p_value = rules.significance(99, seed, n_jobs=1)[0].p_value
                honest = rules.cross_fit(4, seed, n_jobs=1)[0].evidence.honest  # type: ignore[union-attr]
                options: dict[str, Any] = {} if kind == "mean" else {"outcome": 1}
                named = cr.evaluate(columns, "xa = 1", "y", control="z", groups=group, **options)
                named_p = named.significance(99, seed, n_jobs=1)[0].p_value
                hits[place] += [
                    p_value is not None and p_value <= 0.05,
                    bounds_hold(rules.simultaneous(99, seed, n_jobs=1), [0.0] * len(rules)),
                    honest.low <= 0 <= honest.high,  # type: ignore[union-attr, operator]
                    named_p is not None and named_p <= 0.05,
                    named[0].interval.low <= 0 <= named[0].interval.high,
                ]
        for place, how in enumerate(("with groups", "without")):
            shares = dict(zip(names, (hits[place] / tables).tolist(), strict=True))
            found.append({"target": kind, "share": share, "how": how, **shares, "tables": tables})
    return found


def own_controls(tables: int) -> list[Row]:
    """Noise with own controls for each rule: false findings with a calibrated β, and bounds of the list."""
    found = []
    for n, base in ((600, 0.4), (600, 0.1), (2000, 0.4)):
        false = held = 0
        for seed in range(tables):
            rng = rng_of(seed, n, base, 23)
            z, w = rng.integers(0, 3, n), rng.integers(0, 2, n)
            columns = {
                "x0": (rng.random(n) < 0.2 + 0.3 * z).astype(int),
                "x1": (rng.random(n) < 0.3 + 0.4 * w).astype(int),
                "x2": rng.integers(0, 4, n),
                "z": z.astype(str),
                "w": w.astype(str),
                "y": (rng.random(n) < base * (0.6 + 0.25 * z + 0.3 * w)).astype(int),
            }
            graph = "z -> x0; z -> y; w -> x1; w -> y; x0 -> y; x1 -> y; x2 -> y"
            options = {"actionable": ["x0", "x1", "x2"], "graph": graph, "max_length": 2, "n_jobs": 1}
            calibrated = cr.discover(columns, "y", 1, control="auto", k=1, beta="calibrated", **options)  # type: ignore[arg-type]
            false += bool(calibrated) and calibrated[0].value > 0
            rules = cr.discover(columns, "y", 1, control="auto", k=5, **options)  # type: ignore[arg-type]
            held += bounds_hold(rules.simultaneous(499, seed, n_jobs=1), [0.0] * len(rules))
        found.append(
            {"rows": n, "base": base, "calibrated β: a rule above 0": false / tables}
            | {"all bounds hold": held / tables, "tables": tables}
        )
    return found


def gamma(tables: int) -> list[Row]:
    """How often the end of Γ's interval does not exceed the Γ of the whole population."""
    found = []
    for base, change, n_strata, n in itertools.product((0.1, 0.3, 0.6), (0.1, 0.3), (1, 5, 20), (1000,)):
        rng = rng_of(base, change, n_strata, n, 11)
        low = base * rng.uniform(0.7, 1.1, n_strata)
        share = rng.uniform(0.2, 0.6, n_strata)

        def named(z: Any, x: Any, y: Any, **weights: Any) -> Any:
            columns = {"x": x, "y": y, "z": np.asarray(z).astype(str), **weights}
            rules = cr.evaluate(
                columns, "x = 1", "y", outcome=1, control="z", weights="n" if weights else None, adjust="strata"
            )
            return rules.sensitivity()[0].evidence.sensitivity  # type: ignore[union-attr]

        z, x, y = (np.array(each) for each in zip(*itertools.product(range(n_strata), (0, 1), (0, 1)), strict=True))
        p = low[z] + change * x
        chance = np.where(x == 1, share[z], 1 - share[z]) * np.where(y == 1, p, 1 - p)
        truth = named(z, x, y, n=np.round(1e7 * chance).astype(int)).gamma
        below, times = 0, 2 * tables
        for _ in range(times):
            stratum = np.arange(n) % n_strata
            held = (rng.random(n) < share[stratum]).astype(int)
            happened = (rng.random(n) < low[stratum] + change * held).astype(int)
            limit = named(stratum, held, happened).gamma_limit
            below += limit is None or limit <= truth
        found.append(
            {"base": base, "effect": change, "strata": n_strata, "rows": n, "Γ": round(truth, 3)}
            | {"limit at most Γ": below / times, "tables": times}
        )
    return found


def noise(tables: int) -> list[Row]:
    """False findings by adjusted p-values over 18 shapes of tables, for both estimators."""
    found = []
    shapes = itertools.product((200, 1000), (1, 5, 40), (0.05, 0.3, 0.9))
    for n, n_strata, base in shapes:
        false = {"pooled": 0, "reliable": 0}
        for seed, estimator in itertools.product(range(tables), false):
            columns, _ = planted(rng_of(seed, n, n_strata, base, 7), "outcome", n, n_strata, base, 0.0)
            if len(set(columns["y"])) < 2:
                continue
            rules = asked(columns, "outcome", k=1, estimator=estimator, max_length=1)
            p_value = rules.significance(39, seed, n_jobs=1)[0].p_value
            false[estimator] += p_value is not None and p_value <= 0.05
        found.append({"rows": n, "strata": n_strata, "base": base, **false, "tables": tables})
    return found


SECTIONS: dict[str, Callable[[int], list[Row]]] = {
    "fixed": fixed,
    "overlap": overlap,
    "skewed": skewed,
    "population": population,
    "chained": chained,
    "simultaneous": simultaneous,
    "groups": groups,
    "own_controls": own_controls,
    "gamma": gamma,
    "noise": noise,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", default=list(SECTIONS), help=", ".join(SECTIONS))
    parser.add_argument("--tables", type=int, default=100)
    given = parser.parse_args()
    for name in given.sections:
        start = time.perf_counter()
        rows = SECTIONS[name](given.tables)
        names = list(rows[0])
        print(f"\n### {name}\n\n| " + " | ".join(names) + " |\n|" + "---|" * len(names))
        for row in rows:
            print(
                "| "
                + " | ".join(f"{value:.3g}" if isinstance(value, float) else str(value) for value in row.values())
                + " |"
            )
        print(f"\n({time.perf_counter() - start:.0f} s)", flush=True)
        (RESULTS / f"coverage-{name}.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
