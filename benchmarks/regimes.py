"""Tables whose truth is known, drawn with a generator of their own: the regimes of `benchmarks/verdicts.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = dict[str, Any]
Floats = NDArray[np.float64]
GRAPH = "z -> x; z -> y; x -> y; w0 -> y; w1 -> y; w2 -> y"
CONFOUNDERS = ("strong", "weak", "numeric")


def draw(*numbers: int) -> np.random.Generator:
    """Return a random generator independent of the package's."""
    return np.random.default_rng([20_261_116, *(1 + number for number in numbers)])


def happens(rng: np.random.Generator, probability: Floats) -> NDArray[np.int64]:
    return (rng.random(len(probability)) < probability).astype(np.int64)


def expit(score: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-score)), np.float64)


def idle(rng: np.random.Generator, n: int, count: int = 3) -> Columns:
    """Draw columns without any effect."""
    return {f"w{index}": rng.integers(0, 4, n) for index in range(count)}


def confounded(truth: float, confounder: str, seed: int, n: int = 1000) -> Columns:
    """Draw a table: x raises the outcome by `truth`; z affects both; w0 to w2 have no effect."""
    rng = draw(seed, round(100 * truth), CONFOUNDERS.index(confounder))
    u = rng.random(n)
    z = u if confounder == "numeric" else (u < 0.5).astype(float)
    push = 0.15 if confounder == "weak" else 0.6
    x = (rng.random(n) < 0.5 - push / 2 + push * z).astype(int)
    base = 0.05 if confounder == "weak" else 0.4
    y = (rng.random(n) < 0.15 + base * z + truth * x).astype(int)
    return {"x": x, "z": z, **{f"w{i}": rng.integers(0, 4, n) for i in range(3)}, "y": y}


def uncompared(share: float, seed: int, truth: float = 0.3, n: int = 3000) -> Columns:
    """Draw a table of 20 strata, in `share` of whose rows x never or always holds."""
    rng = draw(seed, round(100 * share), 1)
    z = rng.integers(0, 20, n)
    alone = z < round(20 * share)
    x = np.where(alone, z % 2, rng.integers(0, 2, n))
    y = happens(rng, 0.1 + 0.02 * z + truth * x)
    return {"x": x, "z": z.astype(str), **idle(rng, n), "y": y}


def missing(seed: int, truth: float, n: int = 5000) -> Columns:
    """Draw a confounder of three values, of which 20 % are missing at random."""
    rng = draw(seed, round(100 * truth), 2)
    z = rng.integers(0, 3, n)
    x = happens(rng, 0.2 + 0.3 * z)
    y = happens(rng, 0.1 + 0.25 * z + truth * x)
    seen = np.array(["low", "middle", "high"], object)[z]
    seen[rng.random(n) < 0.2] = None
    return {"x": x, "z": seen, **idle(rng, n), "y": y}


def numeric(seed: int, count: int, truth: float, strength: float = 1.0, n: int = 5000) -> Columns:
    """Draw `count` normal controls that all push x and the outcome."""
    rng = draw(seed, count, round(100 * truth), round(10 * strength))
    z = rng.normal(size=(n, count))
    score = strength * z.sum(axis=1) / np.sqrt(count)
    x = happens(rng, expit(score))
    y = happens(rng, 0.1 + 0.5 * expit(score) + truth * x)
    return {"x": x, **{f"z{index}": z[:, index] for index in range(count)}, **idle(rng, n), "y": y}


def predicted(seed: int, shape: str, truth: float, n: int = 2000) -> Columns:
    """Draw ten controls that push x and the outcome by a line, by products, or by steps."""
    rng = draw(seed, ("linear", "product", "steps").index(shape), round(100 * truth), 3)
    z = rng.normal(size=(n, 10))
    score = {
        "linear": z[:, :5].sum(axis=1) / np.sqrt(5),
        "product": z[:, 0] * z[:, 1] + z[:, 2] * z[:, 3],
        "steps": (z[:, :4] > 0).sum(axis=1) - 2.0,
    }[shape]
    x = happens(rng, expit(score))
    y = happens(rng, 0.1 + 0.5 * expit(score) + truth * x)
    return {"x": x, **{f"z{index}": z[:, index] for index in range(10)}, **idle(rng, n), "y": y}


def clustered(seed: int, truth: float, within: bool, groups: int = 80, size: int = 10) -> Columns:
    """Draw groups of rows with an intraclass correlation of about 0.2; x is drawn for rows, or for whole groups."""
    rng = draw(seed, round(100 * truth), within, 4)
    group = np.repeat(np.arange(groups), size)
    x = rng.integers(0, 2, len(group)) if within else rng.permutation(groups)[group] % 2
    level = rng.uniform(-0.3, 0.3, groups)[group]
    y = happens(rng, 0.4 + level + truth * x)
    return {"x": x, **idle(rng, len(group)), "group": group.astype(str), "y": y}


def causes(seed: int, effects: tuple[float, ...], n: int) -> tuple[Columns, Floats]:
    """Draw eight binary columns, of which the first have these effects; return the expected outcome too."""
    rng = draw(seed, n, *(round(100 * effect) for effect in effects))
    z = rng.integers(0, 2, n)
    columns: Columns = {f"x{index}": happens(rng, 0.4 + 0.2 * z) for index in range(8)}
    mean = 0.2 + 0.2 * z + sum(effect * columns[f"x{index}"] for index, effect in enumerate(effects))
    return columns | {"z": z, "y": happens(rng, mean)}, mean


def propensities(seed: int, shares: Floats, base: float, truth: float, n: int) -> Columns:
    """Draw strata of equal chance with these shares of rows where x holds."""
    rng = draw(seed, len(shares), round(1e5 * shares[0]), round(100 * base), 5)
    z = rng.integers(0, len(shares), n)
    x = happens(rng, shares[z])
    return {"x": x, "z": z.astype(str), "y": happens(rng, base + truth * x)}


def arms(seed: int, truth: float, n: int = 1500) -> Columns:
    """Draw three arms of a trial and a mean as the target; one arm changes it, and the other does not."""
    rng = draw(seed, round(100 * abs(truth)), 10)
    arm = rng.choice(["none", "letter", "call"], n)
    z = rng.integers(0, 3, n)
    y = rng.normal(size=n) + 0.5 * z + truth * (arm == "call")
    return {"arm": arm, "z": z.astype(str), "y": y}


TAILS = ("lognormal, σ = 1.5", "lognormal, σ = 2", "97 % zeros", "spread × 8")


def tailed(seed: int, tail: str, n: int = 1000, share: float = 0.1) -> Columns:
    """Draw a target of mean 0 with a long tail, or with a spread eight times as large where x holds; no effect."""
    rng = draw(seed, TAILS.index(tail), 6)
    x = happens(rng, np.full(n, share))
    y = {
        "lognormal, σ = 1.5": lambda: rng.lognormal(0, 1.5, n),
        "lognormal, σ = 2": lambda: rng.lognormal(0, 2, n),
        "97 % zeros": lambda: (rng.random(n) < 0.03) * rng.exponential(size=n),
        "spread × 8": lambda: rng.normal(size=n) * np.where(x == 1, 8, 1),
    }[tail]()
    return {"x": x, **idle(rng, n), "y": y}


def unequal(seed: int, n: int = 1000) -> Columns:
    """Draw five strata with effects from -20 to 40 points: 10 points in the population."""
    rng = draw(seed, 7)
    z = rng.integers(0, 5, n)
    x = rng.integers(0, 2, n)
    y = happens(rng, 0.3 + (0.1 + 0.3 * np.linspace(-1, 1, 5)[z]) * x)
    return {"x": x, "z": z.astype(str), "y": y}


def owners(seed: int, lot: bool, n: int = 3000) -> Columns:
    """Draw home ownership, by lot or by income, and an outcome that income alone drives."""
    rng = draw(seed, lot, 8)
    income = rng.lognormal(10, 0.5, n).round()
    rich = (np.log(income) - 10) / 0.5
    owner = happens(rng, np.full(n, 0.5) if lot else expit(1.5 * rich))
    y = happens(rng, 0.1 + 0.6 * expit(1.5 * rich) + 0.2 * owner * lot)
    return {"owner": owner, "income": income, "age": rng.integers(20, 80, n), "y": y}


def suspects(seed: int, kind: str, n: int = 2000) -> Columns:
    """Draw a table with one column that is no lever: an id in time order, a follow-up time, or a consequence."""
    rng = draw(seed, ("nothing", "id", "follow-up", "consequence").index(kind), 9)
    time = np.arange(n)
    chance = 0.3 + 0.4 * (time > n / 2) if kind == "id" else np.full(n, 0.4)
    y = happens(rng, chance)
    columns: Columns = idle(rng, n) | {"x": rng.integers(0, 2, n)}
    if kind == "id":
        columns["pidnum"] = 10_000 + 7 * time + rng.integers(0, 7, n)
    if kind == "follow-up":
        columns["days"] = np.where(y == 1, rng.integers(1, 300, n), rng.integers(250, 400, n))
    if kind == "consequence":
        columns["bill"] = np.round(np.where(y == 1, rng.gamma(4, 50, n), 0), 2)
    return columns | {"y": y}
