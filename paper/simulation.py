"""Samples of the paper's population, and the best rule of each sample by every measure.

The language over six binary variables has 3⁶ − 1 = 728 conjunctions, so all are counted, for many samples at once.
`discover()` must find the same rules: see checks.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules.datasets import paper_population
from causalrules.estimators import intervals, scores

Array = NDArray[Any]

POPULATION = paper_population()
SAMPLE_SIZES = tuple(range(100, 3001, 100))
CONFIDENCES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.99)
# Estimates closer than this are equal up to rounding.
_DIGITS = 11


@dataclass(frozen=True)
class Language:
    """Every conjunction, by length and then alphabet (the order of ties): its conditions, and its true effect."""

    conditions: tuple[tuple[tuple[str, int], ...], ...]
    members: Array
    """Whether the rule (row) holds in a cell (column) of x1 … x6, written as a binary number, x1 first."""
    effects: Array

    def index(self, conditions: Mapping[str, int]) -> int:
        return self.conditions.index(tuple(sorted(conditions.items())))


def language() -> Language:
    names = POPULATION.actionable
    conjunctions = [
        tuple((name, value) for name, value in zip(names, values, strict=True) if value is not None)
        for values in itertools.product((None, 0, 1), repeat=len(names))
    ]
    ordered = tuple(sorted((c for c in conjunctions if c), key=lambda c: (len(c), c)))
    cells = list(itertools.product((0, 1), repeat=len(names)))
    members = np.array(
        [[all(cell[names.index(name)] == value for name, value in c) for cell in cells] for c in ordered]
    )
    return Language(ordered, members, np.array([POPULATION.effect(c) for c in ordered]))


LANGUAGE = language()
CORE = LANGUAGE.index({"x1": 1})
SPECIFIC = LANGUAGE.index({"x1": 1, "x2": 0, "x3": 1, "x4": 1, "x5": 0, "x6": 0})


@dataclass(frozen=True)
class Counts:
    """The contingency tables of every rule in every sample: arrays of rules × samples × strata."""

    a: Array
    b: Array
    c: Array
    d: Array

    @property
    def stratum_sizes(self) -> Array:
        return np.asarray(self.a[0] + self.b[0] + self.c[0] + self.d[0])


def sample_seed(seed: int, run: str, n: int, repetition: int) -> int:
    """Return a seed for each sample, so that samples can be drawn in any order."""
    return int(np.random.SeedSequence([seed, *run.encode(), n, repetition]).generate_state(1)[0])


def cells(sample: Mapping[str, Any]) -> Array:
    """Count the rows with each combination of z, y and x1 … x6."""
    code = np.zeros(len(sample["y"]), np.int64)
    for name in ("z", "y", *POPULATION.actionable):
        code = 2 * code + np.asarray(sample[name])
    return np.asarray(np.bincount(code, minlength=2**8).reshape(2, 2, -1))


def draw(n: int, repetitions: int, run: str, seed: int, stratified: bool = True) -> Counts:
    samples = (
        POPULATION.sample(n, sample_seed(seed, run, n, i), stratified=stratified, library="dict")
        for i in range(repetitions)
    )
    return count(np.array([cells(sample) for sample in samples]))


def count(rows: Array) -> Counts:
    """Count every rule in samples given by their `cells`."""
    covered = np.einsum("rx,szyx->rszy", LANGUAGE.members.astype(float), rows.astype(float), optimize=True)
    rest = rows.sum(axis=3) - covered
    return Counts(covered[..., 1], covered[..., 0], rest[..., 1], rest[..., 0])


def reliable(counts: Counts, beta: float = 2.0) -> Array:
    sizes = counts.stratum_sizes
    # A stratum without rows is not observed and contributes nothing.
    weights = np.where(sizes > 0, sizes + 4, 0)
    differences = scores.reliable_difference(counts.a, counts.b, counts.c, counts.d, beta)
    return np.asarray((differences * weights).sum(axis=2) / weights.sum(axis=1))


def plugin(counts: Counts, overlap_only: bool = False) -> Array:
    """ê: a stratum where no row or every row is covered counts as a difference of 0, or not at all (`overlap_only`)."""
    covered, rest = counts.a + counts.b, counts.c + counts.d
    both = (covered > 0) & (rest > 0)
    differences = np.where(both, counts.a / np.maximum(covered, 1) - counts.c / np.maximum(rest, 1), 0)
    sizes = counts.stratum_sizes
    total = (both * sizes).sum(axis=2) if overlap_only else sizes.sum(axis=1)
    return np.asarray((differences * sizes).sum(axis=2) / np.maximum(total, 1))


def _pooled(counts: Counts, laplace: bool) -> tuple[Array, ...]:
    return tuple(cell.sum(axis=2) + laplace for cell in (counts.a, counts.b, counts.c, counts.d))


def wracc(counts: Counts, laplace: bool = True) -> Array:
    a, b, c, d = _pooled(counts, laplace)
    n = a + b + c + d
    return np.asarray((a - (a + b) * (a + c) / n) / n)


def association(counts: Counts, laplace: bool = True) -> Array:
    """Return the plug-in estimate without controls."""
    a, b, c, d = _pooled(counts, laplace)
    return np.asarray(a / np.maximum(a + b, 1) - c / np.maximum(c + d, 1))


MEASURES: dict[str, Callable[[Counts], Array]] = {
    "reliable": reliable,
    "plugin": plugin,
    "plugin_overlap": lambda counts: plugin(counts, overlap_only=True),
    "plugin_laplace": lambda counts: reliable(counts, beta=0.0),
    "wracc": wracc,
    "association": association,
}


def at_confidence(confidence: float) -> Callable[[Counts], Array]:
    beta = intervals.beta_of_confidence(confidence)
    return lambda counts: reliable(counts, beta)


def best(counts: Counts, values: Array) -> Array:
    """Return the best rule of each sample; a set of no row or every row is no rule."""
    covered = (counts.a + counts.b).sum(axis=2)
    is_rule = (covered > 0) & (covered < counts.stratum_sizes.sum(axis=1))
    return np.asarray(np.argmax(np.where(is_rule, np.round(values, _DIGITS), -np.inf), axis=0))
