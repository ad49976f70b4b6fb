"""The population of the paper's running example (§3.2), with known true effects."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from causalrules.datasets._frame import frame
from causalrules.exceptions import OptionError, RoleError

# The conditional probabilities of the paper's causal graph Z → X1 → Y, Z → Y. Index: z, then x1.
_P_Z = (Fraction("0.1"), Fraction("0.9"))
_P_X1 = (Fraction("0.5"), Fraction("0.8"))
_P_Y = ((Fraction("0.4"), Fraction("0.5")), (Fraction("0.5"), Fraction("0.7")))


@dataclass(frozen=True)
class TrueRule:
    """A rule of the population with its true effect."""

    conditions: tuple[tuple[str, int], ...]
    effect: float


@dataclass(frozen=True)
class PaperPopulation:
    """Binary Z, X1 and Y as in the paper's figure, and X2 … X6, fair coins without effects."""

    target: ClassVar[str] = "y"
    control: ClassVar[tuple[str, ...]] = ("z",)
    actionable: ClassVar[tuple[str, ...]] = ("x1", "x2", "x3", "x4", "x5", "x6")

    def sample(self, n: int, seed: int = 0, *, stratified: bool = True, library: str | None = None) -> Any:
        """Draw n rows with columns z, x1 … x6 and y.

        If stratified, as in the paper, p(z=1)·n rows (rounded) have z = 1; else z is random too.
        """
        if n < 1:
            raise OptionError(f"n is {n!r}; a sample needs at least 1 row")
        random = np.random.default_rng(seed)
        if stratified:
            z = (np.arange(n) < round(_P_Z[1] * n)).astype(np.int64)
        else:
            z = (random.random(n) < float(_P_Z[1])).astype(np.int64)
        x1 = (random.random(n) < np.array(_P_X1, dtype=float)[z]).astype(np.int64)
        y = (random.random(n) < np.array(_P_Y, dtype=float)[z, x1]).astype(np.int64)
        coins = random.integers(0, 2, (len(self.actionable) - 1, n))
        columns = {"z": z, **dict(zip(self.actionable, (x1, *coins), strict=True)), "y": y}
        return frame({name: column.tolist() for name, column in columns.items()}, library)

    def effect(self, conditions: Mapping[str, int] | Iterable[tuple[str, int]]) -> float:
        """Return the exact causal effect of a conjunction of (variable, value) conditions on y = 1.

        Σ_z p(z) · (p(y | σ, z) − p(y | not σ, z)), the policy of Theorem 1, by enumerating the model.

        >>> population = PaperPopulation()
        >>> population.effect({"x1": 1})
        0.19
        >>> population.effect([("x2", 0), ("x3", 1)])
        0.0
        """
        wanted = self._checked(conditions)
        total = Fraction(0)
        for z, p_z in enumerate(_P_Z):
            rows = {True: Fraction(0), False: Fraction(0)}
            positives = {True: Fraction(0), False: Fraction(0)}
            for x in itertools.product((0, 1), repeat=len(self.actionable)):
                holds = all(x[position] == value for position, value in wanted)
                p_x = (_P_X1[z] if x[0] else 1 - _P_X1[z]) / 2 ** (len(x) - 1)
                rows[holds] += p_x
                positives[holds] += p_x * _P_Y[z][x[0]]
            if not rows[True] or not rows[False]:
                raise OptionError(
                    f"the conditions {sorted(self._named(wanted))} hold "
                    f"{'never' if not rows[True] else 'always'}; an effect needs rows on both sides"
                )
            total += p_z * (positives[True] / rows[True] - positives[False] / rows[False])
        return float(total)

    def best(self) -> TrueRule:
        """Return the rule with the largest true effect, x1 = 1: the only variable that affects y."""
        conditions = (("x1", 1),)
        return TrueRule(conditions, self.effect(conditions))

    def _checked(self, conditions: Mapping[str, int] | Iterable[tuple[str, int]]) -> tuple[tuple[int, int], ...]:
        pairs = conditions.items() if isinstance(conditions, Mapping) else conditions
        wanted = []
        for variable, value in pairs:
            if variable not in self.actionable:
                raise RoleError(f"no actionable variable {variable!r}; use one of {', '.join(self.actionable)}")
            if value not in (0, 1):
                raise OptionError(f"{variable} is never {value!r}; its values are 0 and 1")
            wanted.append((self.actionable.index(variable), int(value)))
        return tuple(wanted)

    def _named(self, wanted: Iterable[tuple[int, int]]) -> list[str]:
        return [f"{self.actionable[position]} = {value}" for position, value in wanted]
