"""Tables on which the effect of an action is known for each row: the same for all, or another in a planted group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from benchmarks.regimes import Columns, Floats, draw, expit, happens

CONTEXTS, LEVELS = 20, 8
ACTION = "call = yes"


@dataclass(frozen=True)
class Drawn:
    """A table with the target "y", what is asked of it beside action and target, and the effect on each row."""

    columns: Columns
    effect: Floats
    asked: Mapping[str, Any] = field(default_factory=dict)

    @property
    def treated(self) -> Floats:
        return np.asarray(self.columns["call"] == "yes", np.float64)

    def inside(self, rows: Any) -> float:
        """Return the true effect on these rows."""
        return float(self.effect[rows].mean())


def contexts(rng: np.random.Generator, n: int) -> tuple[Columns, Floats]:
    """Draw columns of eight levels; return them and, for each, a number between 0 and 1 that its level tells."""
    levels = rng.integers(0, LEVELS, (n, CONTEXTS))
    return {f"c{place}": levels[:, place] for place in range(CONTEXTS)}, (levels + rng.random(levels.shape)) / LEVELS


NAMES = [f"c{place}" for place in range(CONTEXTS)]
BINARY: dict[str, Any] = {"outcome": 1, "context": NAMES}
BY_LOT: dict[str, Any] = {"randomised": ["call"]}


def _drawn(
    columns: Columns, treated: Any, y: Any, effect: float | Floats, asked: Mapping[str, Any] | None = None
) -> Drawn:
    named = np.where(np.asarray(treated, bool), "yes", "no")
    each = np.broadcast_to(np.asarray(effect, np.float64), (len(named),))
    return Drawn({**columns, "call": named, "y": y}, each, BINARY | BY_LOT if asked is None else asked)


# ---------------------------------------------------------------- the same effect on everybody


def flat(seed: int, n: int = 2000) -> Drawn:
    rng = draw(seed, 101)
    columns, _ = contexts(rng, n)
    treated = rng.random(n) < 0.5
    return _drawn(columns, treated, happens(rng, 0.3 + 0.1 * treated), 0.1)


def prognostic(seed: int, n: int = 2000) -> Drawn:
    """The contexts raise the outcome from 5 to 55 percent without a call, and a call adds 10 points everywhere."""
    rng = draw(seed, 102, n)
    columns, u = contexts(rng, n)
    treated = rng.random(n) < 0.5
    base = 0.05 + 0.5 * (u[:, 0] > 0.5) * (0.5 + 0.5 * u[:, 1])
    return _drawn(columns, treated, happens(rng, base + 0.1 * treated), 0.1)


def rare(seed: int, share: float = 0.5, n: int = 2000) -> Drawn:
    """The contexts raise the outcome from 1 to 3 percent; there is no effect."""
    rng = draw(seed, 103, round(100 * share))
    columns, u = contexts(rng, n)
    treated = rng.random(n) < share
    return _drawn(columns, treated, happens(rng, 0.01 + 0.02 * u[:, 0]), 0.0)


def confounded(seed: int, n: int = 2000) -> Drawn:
    """Contexts push both the action, with propensities from 5 to 95 percent, and the outcome."""
    rng = draw(seed, 104)
    columns, u = contexts(rng, n)
    treated = rng.random(n) < expit(2.5 * (u[:, 0] - 0.5) + 2.0 * (u[:, 1] > 0.5) - 1 + 1.5 * (u[:, 2] - 0.5))
    base = 0.05 + 0.3 * u[:, 0] + 0.2 * (u[:, 1] > 0.5) + 0.1 * u[:, 3]
    asked = BINARY | {"control": ["c0", "c1", "c2", "c3"]}
    return _drawn(columns, treated, happens(rng, base + 0.1 * treated), 0.1, asked)


def lognormal(seed: int, share: float = 0.5, n: int = 2000) -> Drawn:
    rng = draw(seed, 105, round(100 * share))
    columns, u = contexts(rng, n)
    treated = rng.random(n) < share
    y = rng.lognormal(u[:, 0], 1.0, n) + 0.5 * treated
    return _drawn(columns, treated, y, 0.5, {"context": NAMES} | BY_LOT)


def clustered(seed: int, n_groups: int = 100, size: int = 20) -> Drawn:
    """Half of the contexts describe whole groups of rows, whose outcomes are alike; the lot is drawn for rows."""
    rng = draw(seed, 106)
    n = n_groups * size
    group = np.repeat(np.arange(n_groups), size)
    columns, u = contexts(rng, n)
    for name in NAMES[: CONTEXTS // 2]:
        columns[name] = rng.integers(0, LEVELS, n_groups)[group]
    treated = rng.random(n) < 0.5
    base = 0.35 + rng.uniform(-0.2, 0.2, n_groups)[group] + 0.2 * u[:, -1]
    columns["group"] = group.astype(str)
    return _drawn(columns, treated, happens(rng, base + 0.1 * treated), 0.1, BINARY | BY_LOT | {"groups": "group"})


def numeric(seed: int, n: int = 2000) -> Drawn:
    """Six normal controls, of which three push action and outcome, neither along a line; the contexts follow them."""
    rng = draw(seed, 107)
    columns, _ = contexts(rng, n)
    z = rng.normal(size=(n, 6))
    for place in range(6):
        columns[f"c{place}"] = np.clip(np.floor(2 * z[:, place] + 4), 0, LEVELS - 1).astype(np.int64)
        columns[f"z{place}"] = z[:, place]
    score = z[:, 0] + 0.8 * np.abs(z[:, 1]) - 0.6 + 0.5 * np.maximum(z[:, 2], 0)
    treated = rng.random(n) < expit(score)
    y = 2 * np.sin(z[:, 0]) + z[:, 1] ** 2 / 2 + z[:, 2] + 0.5 * treated + rng.normal(size=n)
    asked = {"context": NAMES, "control": [f"z{place}" for place in range(6)]}
    return _drawn(columns, treated, y, 0.5, asked)


def uneven(seed: int, n: int = 2000) -> Drawn:
    """An eighth of the rows has nearly all of the outcomes (30 and 0.5 percent), 20 percent are treated; no effect."""
    rng = draw(seed, 108)
    columns, u = contexts(rng, n)
    treated = rng.random(n) < 0.2
    return _drawn(columns, treated, happens(rng, 0.005 + 0.295 * (u[:, 0] > 0.75) * (u[:, 1] > 0.5)), 0.0)


REGIMES: dict[str, Callable[[int], Drawn]] = {
    "flat": flat,
    "prognostic, 5–55 %": prognostic,
    "rare, 1–3 %": rare,
    "confounded": confounded,
    "lognormal": lognormal,
    "n = 600": partial(prognostic, n=600),
    "groups": clustered,
    "numeric controls": numeric,
}
# Scores so skewed that a group's own variance says little of them.
SKEWED: dict[str, Callable[[int], Drawn]] = {
    "rare, 20 % treated": partial(rare, share=0.2),
    "lognormal, 20 % treated": partial(lognormal, share=0.2),
    "rare but for an eighth": uneven,
}


# ---------------------------------------------------------------- another effect in a group


def planted(seed: int, points: float, n: int, confounded: bool = False, base: float = 0.05) -> Drawn:
    """A call adds `base`, and `points` more where c0 and c1 are in their upper halves, a quarter of the rows."""
    rng = draw(seed, 109, round(points), n, confounded)
    columns, u = contexts(rng, n)
    group = (columns["c0"] >= LEVELS // 2) & (columns["c1"] >= LEVELS // 2)
    score = 1.5 * (u[:, 2] - 0.5) + 1.5 * (u[:, 0] - 0.5) if confounded else np.zeros(n)
    treated = rng.random(n) < expit(score)
    effect = base + points / 100 * group
    asked = BINARY | ({"control": ["c0", "c2"]} if confounded else BY_LOT)
    return _drawn(columns, treated, happens(rng, 0.2 + 0.2 * u[:, 2] + effect * treated), effect, asked)


def in_planted(drawn: Drawn) -> Any:
    return (drawn.columns["c0"] >= LEVELS // 2) & (drawn.columns["c1"] >= LEVELS // 2)


# ---------------------------------------------------------------- actions of several columns


@dataclass(frozen=True)
class Levels:
    """An actionable column drawn by lot: its levels, and what each adds to the expected target of each row."""

    name: str
    values: tuple[Any, ...]
    adds: Floats  # rows × levels


@dataclass(frozen=True)
class Actionable:
    """A table with several actionable columns, each drawn by lot."""

    columns: Columns
    levels: tuple[Levels, ...]
    asked: Mapping[str, Any]

    def expected(self, conditions: Sequence[Any] | None) -> Floats:
        """Return what the columns add for each row if these conditions hold; None is today's practice.

        A condition leaves its column's values as likely as they are among those that satisfy it.
        """
        total = np.zeros(len(self.levels[0].adds))
        for column in self.levels:
            holds = [
                all(met(each, v) for each in conditions or () if each.column == column.name) for v in column.values
            ]
            total += column.adds[:, holds].mean(axis=1)
        return total


def met(condition: Any, value: Any) -> bool:
    """Return whether a value of the condition's column satisfies it."""
    if condition.operator == "=":
        return bool(str(value) == str(condition.value))
    return bool(value >= condition.value if condition.operator == ">=" else value <= condition.value)


def actionable(seed: int, n: int, effects: bool) -> Actionable:
    """Draw a call, a discount of five levels and three kinds of gift, and five contexts.

    With effects, a call adds 20 points for high c0 and takes 10 from the others, and a gift "b" adds 10 for low c1.
    """
    rng = draw(seed, 110, n, effects)
    columns, u = contexts(rng, n)
    columns = {name: columns[name] for name in NAMES[:5]}
    high, low = columns["c0"] >= LEVELS // 2, columns["c1"] < LEVELS // 2
    zero = np.zeros(n)
    kinds: list[tuple[str, tuple[Any, ...], list[Floats]]] = [
        ("call", ("no", "yes"), [zero, 0.3 * high - 0.1]),
        ("discount", (0, 5, 10, 15, 20), [zero] * 5),
        ("gift", ("none", "a", "b"), [zero, zero, 0.1 * low]),
    ]
    levels = tuple(Levels(name, values, np.stack(adds, axis=1) * effects) for name, values, adds in kinds)
    mean = 0.3 + 0.2 * u[:, 2]
    for column in levels:
        picked = rng.integers(0, len(column.values), n)
        columns[column.name] = np.array(column.values)[picked]
        mean = mean + column.adds[np.arange(n), picked]
    names = [column.name for column in levels]
    asked = {"outcome": 1, "context": NAMES[:5], "actionable": names, "randomised": names}
    return Actionable({**columns, "y": happens(rng, mean)}, levels, asked)


def wide(n: int, n_contexts: int = 20, n_actionable: int = 10, seed: int = 0) -> Columns:
    """Draw a table for measuring time: numeric contexts, actionable columns of two to eight levels, weak effects."""
    rng = draw(seed, 111, n)
    columns: Columns = {f"c{place}": rng.normal(size=n).round(3) for place in range(n_contexts)}
    for place in range(n_actionable):
        columns[f"a{place}"] = rng.integers(0, 2 + 6 * (place % 2), n)
    columns["call"] = np.where(rng.random(n) < 0.5, "yes", "no")
    raised = 0.1 * ((columns["call"] == "yes") & (columns["c0"] > 0)) + 0.05 * (columns["a0"] == 1)
    return columns | {"y": happens(rng, 0.25 + 0.1 * expit(columns["c1"]) + raised)}
