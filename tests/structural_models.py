"""Discrete structural models by exact enumeration: joint distribution, interventions and adjusted probabilities."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Values = dict[str, int]
Rule = Callable[[Values], bool]


@dataclass(frozen=True)
class Model:
    """A discrete structural model: for every variable its causes and p(value | their values)."""

    causes: dict[str, tuple[str, ...]]  # in causal order
    sizes: dict[str, int]
    tables: dict[str, dict[tuple[int, ...], np.ndarray]]

    def probability(self, values: Values, without: frozenset[str] = frozenset()) -> float:
        """Return the product of the mechanisms except those in `without` (the truncated factorisation)."""
        factors = (
            self.tables[name][tuple(values[cause] for cause in causes)][values[name]]
            for name, causes in self.causes.items()
            if name not in without
        )
        return float(np.prod(list(factors)))

    def worlds(self) -> list[Values]:
        names = list(self.causes)
        return [
            dict(zip(names, world, strict=True)) for world in itertools.product(*(range(self.sizes[n]) for n in names))
        ]


def random_model(causes: dict[str, tuple[str, ...]], sizes: dict[str, int], seed: int) -> Model:
    generator = np.random.default_rng(seed)
    tables = {
        name: {
            key: generator.dirichlet(np.full(sizes[name], 1.5))
            for key in itertools.product(*(range(sizes[cause]) for cause in its_causes))
        }
        for name, its_causes in causes.items()
    }
    return Model(causes, sizes, tables)


def picked(values: Values, names: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(values[name] for name in names)


def everybody(world: Values) -> bool:
    return True


def policy(
    model: Model, rule: Rule, variables: tuple[str, ...], control: tuple[str, ...], group: Rule = everybody
) -> dict[tuple[int, ...], float]:
    """Q_σ: p(values of the rule's variables | σ, z) in a group, keyed by z and those values."""
    weight: dict[tuple[int, ...], float] = {}
    total: dict[tuple[int, ...], float] = {}
    for world in model.worlds():
        if rule(world) and group(world):
            z, share = picked(world, control), model.probability(world)
            weight[z + picked(world, variables)] = weight.get(z + picked(world, variables), 0.0) + share
            total[z] = total.get(z, 0.0) + share
    return {key: share / total[key[: len(control)]] for key, share in weight.items()}


def after_intervention(
    model: Model, rule: Rule, variables: tuple[str, ...], control: tuple[str, ...], group: Rule = everybody
) -> float:
    """Return p(y | do(Q_σ), group): the model with the mechanisms of the rule's variables replaced by the policy."""
    assigned = policy(model, rule, variables, control, group)
    counts = np.zeros(2)
    for world in model.worlds():
        if group(world):
            share = assigned.get(picked(world, control) + picked(world, variables), 0.0)
            share *= model.probability(world, without=frozenset(variables))
            counts += share * np.array([1, world["y"] == 1])
    return float(counts[1] / counts[0])


def adjusted(model: Model, rule: Rule, control: tuple[str, ...], group: Rule = everybody) -> float:
    """Return E[p(y | σ, Z)] in a group, from the observed joint distribution alone."""
    strata: dict[tuple[int, ...], np.ndarray] = {}
    for world in filter(group, model.worlds()):
        counts = strata.setdefault(picked(world, control), np.zeros(3))
        counts += model.probability(world) * np.array([1, rule(world), rule(world) and world["y"] == 1])
    everything = sum(share for share, _, _ in strata.values())
    return float(sum(share / everything * with_outcome / covered for share, covered, with_outcome in strata.values()))


def complement(rule: Rule) -> Rule:
    return lambda world: not rule(world)
