"""Brute-force reference for groups whose effect differs, and for policies.

Plain loops, written from the definitions. It must not import the package. A table is given as codes of its context
columns, −1 for a missing value, and as conditions on them: a condition holds where low ≤ code ≤ high.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.bool_]
Integers = NDArray[Any]

HOLDS, FAILS, OPEN = 1, 0, -1
KAPPA = 2.0
# Sums of the same numbers in different order differ by rounding; values closer than this are equal.
TIED = 1e-9


class Condition(NamedTuple):
    column: int
    low: int
    high: int


class Group(NamedTuple):
    """Numbers of the conditions, and for each row whether all hold, one fails, or a missing value leaves it open."""

    conditions: tuple[int, ...]
    state: Integers

    @property
    def inside(self) -> Rows:
        return np.asarray(self.state == HOLDS)

    @property
    def decided(self) -> Rows:
        return np.asarray(self.state != OPEN)


def state_of(codes: Integers, conditions: Sequence[Condition], chosen: Sequence[int]) -> Integers:
    """Tell for each row whether all of these conditions hold; with none of them, everybody."""
    found = []
    for row in codes:
        answers = []
        for number in chosen:
            column, low, high = conditions[number]
            code = row[column]
            answers.append(OPEN if code < 0 else HOLDS if low <= code <= high else FAILS)
        found.append(FAILS if FAILS in answers else OPEN if OPEN in answers else HOLDS)
    return np.array(found, np.int64).reshape(len(codes))


def groups(codes: Integers, conditions: Sequence[Condition], longest: int, shortest: int = 1) -> list[Group]:
    """Return all groups, each set of rows once, by its fewest conditions and then the lowest numbers."""
    found: dict[tuple[int, ...], Group] = {}
    for length in range(shortest, longest + 1):
        for chosen in itertools.combinations(range(len(conditions)), length):
            state = state_of(codes, conditions, chosen)
            found.setdefault(tuple(state.tolist()), Group(chosen, state))
    return list(found.values())


# --- for whom: rows have scores ψ whose mean in any group is the effect there


@dataclass(frozen=True)
class Scored:
    """Rows with their scores; `weights` are how often each row occurs, `clusters` rows that go together.

    `spread` is the variance of each score if outcomes varied on both sides as on the row's own.
    """

    psi: Floats
    weights: Floats
    clusters: Integers | None = None
    spread: Floats | None = None

    @classmethod
    def of(cls, psi: Any, weights: Any = None, clusters: Any = None, spread: Any = None) -> Scored:
        psi = np.asarray(psi, np.float64)
        weights = np.ones(len(psi)) if weights is None else np.asarray(weights, np.float64)
        clusters = None if clusters is None else np.asarray(clusters)
        return cls(psi, weights, clusters, None if spread is None else np.asarray(spread, np.float64))

    def part(self, rows: Rows) -> Scored:
        others = [None if each is None else each[rows] for each in (self.clusters, self.spread)]
        return Scored(self.psi[rows], self.weights[rows], *others)

    @property
    def centred(self) -> Floats:
        return np.asarray(self.psi - mean(self.psi, self.weights))


def mean(values: Floats, weights: Floats) -> float:
    return float(sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights))


def sum_of_squares(values: Floats, weights: Floats, clusters: Integers | None) -> float:
    """Return Σ w v², or with clusters the sum of their squared sums."""
    if clusters is None:
        return float(sum(w * v * v for v, w in zip(values, weights, strict=True)))
    total = 0.0
    for cluster in sorted(set(clusters.tolist())):
        total += sum(w * v for v, w, c in zip(values, weights, clusters, strict=True) if c == cluster) ** 2
    return float(total)


class Compared(NamedTuple):
    """A group against the other decided rows."""

    group: Group
    share: float
    n_inside: float
    n_outside: float
    inside: float
    outside: float
    contrast: float
    own_error: float
    pooled_error: float
    even_error: float = 0.0

    @property
    def error(self) -> float:
        """The standard error of the contrast: the largest of its own, the pooled one, and that of even sides."""
        return max(self.own_error, self.pooled_error, self.even_error)

    @property
    def t(self) -> float:
        return self.contrast / self.error if self.error > 0 else 0.0

    def conservative(self, critical: float) -> float:
        return abs(self.contrast) - critical * self.error


def compare(rows: Scored, group: Group) -> Compared | None:
    """Compare a group with the rest, with

    G = Σ (1[γ] − s)(ψ − ψ̄),   own² = Σ (1[γ] − s)² (ψ − ψ̄)²,   pooled² = s (1 − s) Σ (ψ − ψ̄)²

    over decided rows, each divided by n s (1 − s); ψ̄ is the mean of all rows. With clusters, own squares are those of
    their sums, and pooled ones the larger of the two.
    """
    decided, inside = group.decided, group.inside
    n_inside = float(rows.weights[inside].sum())
    n = float(rows.weights[decided].sum())
    if not 0 < n_inside < n:
        return None
    share = n_inside / n
    lean = (inside - share)[decided]
    centred, weights = rows.centred[decided], rows.weights[decided]
    clusters = None if rows.clusters is None else rows.clusters[decided]
    scale = n * share * (1 - share)
    contrast = sum(w * a * r for w, a, r in zip(weights, lean, centred, strict=True)) / scale
    own = math.sqrt(sum_of_squares(np.asarray(lean * centred), weights, clusters)) / scale
    squares = max(sum_of_squares(centred, weights, each) for each in (None, clusters))
    pooled = math.sqrt(share * (1 - share) * squares) / scale
    outside = decided & ~inside
    within, without = (mean(rows.psi[side], rows.weights[side]) for side in (inside, outside))
    spread = np.zeros(len(centred)) if rows.spread is None else rows.spread[decided]
    even = math.sqrt(sum(w * a * a * h for w, a, h in zip(weights, lean, spread, strict=True))) / scale
    return Compared(group, share, n_inside, n - n_inside, within, without, float(contrast), own, pooled, even)


def all_compared(
    rows: Scored, codes: Integers, conditions: Sequence[Condition], longest: int = 2, min_coverage: float = 0.05
) -> list[Compared]:
    """Compare every group whose share of the decided rows is neither too small nor too large."""
    found = []
    for group in groups(codes, conditions, longest):
        one = compare(rows, group)
        if one is not None and min_coverage - TIED <= one.share <= 1 - min_coverage + TIED:
            found.append(one)
    return found


def largest_t(compared: Sequence[Compared]) -> float:
    return max((abs(one.t) for one in compared), default=0.0)


def flipped(rows: Scored, compared: Sequence[Compared], signs: Any) -> list[float]:
    """Return the largest |t| of all groups under each sign vector.

    A sign vector has one number for each row: the sum of the signs of its copies, or its cluster's sign times its
    weight. The errors stay.
    """
    centred = rows.centred
    maxima = []
    for sign in np.asarray(signs, np.float64):
        largest = 0.0
        for one in compared:
            decided = one.group.decided
            lean = (one.group.inside - one.share)[decided]
            gain = sum(e * a * r for e, a, r in zip(sign[decided], lean, centred[decided], strict=True))
            scale = rows.weights[decided].sum() * one.share * (1 - one.share)
            if one.error > 0:
                largest = max(largest, abs(gain / scale / one.error))
        maxima.append(largest)
    return maxima


def p_value(t: float, maxima: Sequence[float]) -> float:
    return (1 + sum(value >= abs(t) - TIED for value in maxima)) / (len(maxima) + 1)


def best(compared: Sequence[Compared], critical: float) -> list[Compared]:
    """Return the groups of the largest conservative contrast: more than one if they tie."""
    values = [one.conservative(critical) for one in compared]
    return [one for one, value in zip(compared, values, strict=True) if value >= max(values) - TIED]


def of_the_others(rows: Scored, codes: Integers, taken: Sequence[Group]) -> tuple[Scored, Integers, Rows]:
    """Set the rows of earlier segments aside; rows that they leave open stay."""
    left = np.ones(len(codes), bool)
    for group in taken:
        left &= ~group.inside
    return rows.part(left), codes[left], left


# --- prescribe: who should get what


@dataclass(frozen=True)
class Practice:
    """Rows with their net outcome, stratum and weight."""

    net: Floats
    strata: Integers
    weights: Floats

    @classmethod
    def of(cls, net: Any, strata: Any = None, weights: Any = None) -> Practice:
        net = np.asarray(net, np.float64)
        strata = np.zeros(len(net), np.int64) if strata is None else np.asarray(strata)
        weights = np.ones(len(net)) if weights is None else np.asarray(weights, np.float64)
        return cls(net, strata, weights)

    @property
    def n(self) -> float:
        return float(self.weights.sum())

    @property
    def spread(self) -> float:
        return float(self.net.max() - self.net.min()) if len(self.net) else 0.0

    def count(self, rows: Rows) -> float:
        return float(self.weights[rows].sum())

    def total(self, rows: Rows) -> float:
        return float((self.weights * self.net)[rows].sum())

    def variance(self, rows: Rows) -> float:
        """Return the population variance of these rows."""
        if not rows.any():
            return 0.0
        centre = mean(self.net[rows], self.weights[rows])
        return mean((self.net[rows] - centre) ** 2, self.weights[rows])


class Margins(NamedTuple):
    """What a margin needs: β by the number of conditions of context and action."""

    betas: Sequence[Sequence[float]]
    kappa: float = KAPPA


class Pair(NamedTuple):
    """A context and an action among the rows that are left."""

    context: Group
    action: Group
    conservative: float
    gain: float
    effect: float
    n_rows: float

    @property
    def length(self) -> int:
        return len(self.context.conditions) + len(self.action.conditions)


def pair(practice: Practice, left: Rows, default: Rows, context: Group, action: Group, margins: Margins) -> Pair | None:
    """Measure what the rows of a context that are left gain if all of them got the action instead of the default.

    `default` are the rows that have it. None if no stratum compares the two.
    """
    served = context.inside & left
    n_group = practice.count(served)
    if not n_group:
        return None
    kappa = margins.kappa
    beta = margins.betas[len(context.conditions)][len(action.conditions)]
    effect = shrunken = variance = step = 0.0
    compared = False
    for stratum in np.unique(practice.strata[served]):
        everywhere = practice.strata == stratum
        here = served & everywhere
        treated, usual = here & action.inside, here & default
        n, k, usually, both = (practice.count(rows) for rows in (here, treated, usual, treated & usual))
        if not k or not usually or both == k == usually:
            continue
        compared = True
        centre = kappa * practice.total(here) / n
        weight = n / n_group
        shrunken += weight * (
            (practice.total(treated) + centre) / (k + kappa) - (practice.total(usual) + centre) / (usually + kappa)
        )
        effect += weight * (practice.total(treated) / k - practice.total(usual) / usually)
        step = max(step, weight * practice.spread * (1 / (k + kappa) + 1 / (usually + kappa)))
        if n >= 2:
            squares = (
                k * (1 - k / n) / (k + kappa) ** 2
                + usually * (1 - usually / n) / (usually + kappa) ** 2
                - 2 * (both - k * usually / n) / ((k + kappa) * (usually + kappa))
            )
            spread = max(practice.variance(everywhere), practice.variance(here))
            variance += weight**2 * spread * n / (n - 1) * squares
    if not compared:
        return None
    half = beta**2 * step / 6
    margin = half + math.sqrt(half**2 + beta**2 * max(variance, 0.0))
    share = n_group / practice.n
    return Pair(context, action, share * (shrunken - margin), share * effect, effect, n_group)


def pairs(
    practice: Practice,
    left: Rows,
    default: Rows,
    contexts: Sequence[Group],
    actions: Sequence[Group],
    margins: Margins,
    min_rows: float = 1,
) -> list[Pair]:
    """Measure every context of enough rows with every action."""
    found = []
    for context in contexts:
        if practice.count(context.inside & left) < min_rows:
            continue
        for action in actions:
            one = pair(practice, left, default, context, action, margins)
            if one is not None:
                found.append(one)
    return found


def best_pair(found: Sequence[Pair]) -> Pair | None:
    """Return the pair of the largest conservative gain; of equal ones that of fewer conditions, then lowest numbers."""
    if not found:
        return None
    largest = max(one.conservative for one in found)
    tied = [one for one in found if one.conservative >= largest - TIED]
    return min(tied, key=lambda one: (one.length, one.context.conditions, one.action.conditions))


def steps(
    practice: Practice,
    default: Rows,
    contexts: Sequence[Group],
    actions: Sequence[Group],
    margins: Margins,
    min_rows: float = 1,
    most: int = 10,
) -> list[Pair]:
    """Return the best pair of the rows that are left, again and again, while its conservative gain is above 0."""
    left = np.ones(len(practice.net), bool)
    found: list[Pair] = []
    while len(found) < most:
        one = best_pair(pairs(practice, left, default, contexts, actions, margins, min_rows))
        if one is None or one.conservative <= TIED:
            break
        found.append(one)
        left &= ~one.context.inside
    return found


def levels(practice: Practice, served: Rows, action: Rows, otherwise: Floats | None = None) -> Floats:
    """Return for each served row the mean of the served rows of its stratum that have the action.

    Where a stratum has none of them, the row keeps `otherwise`, by default its own outcome; rows not served are nan.
    """
    values = np.full(len(practice.net), math.nan)
    kept = practice.net if otherwise is None else otherwise
    for row in np.flatnonzero(served):
        here = served & (practice.strata == practice.strata[row]) & action
        values[row] = practice.total(here) / practice.count(here) if here.any() else kept[row]
    return values


def assigned(practice: Practice, listed: Sequence[tuple[Rows, Rows]], default: Rows | None = None) -> Floats:
    """Return the level of each row under a list of (context, action), first come first served.

    The others get the default: today's practice, which is what is observed, or an action for all of them, given by the
    rows that have it.
    """
    left = np.ones(len(practice.net), bool)
    values = practice.net.astype(np.float64).copy()
    for context, action in listed:
        served = left & context
        here = levels(practice, served, action)
        values[served] = here[served]
        left &= ~context
    if default is not None and left.any():
        values[left] = levels(practice, left, default)[left]
    return values


def gain_over_today(practice: Practice, values: Floats) -> float:
    """Return the mean of the levels under a policy less that of what is observed."""
    return mean(values, practice.weights) - mean(practice.net, practice.weights)


def single_actions(practice: Practice, actions: Sequence[Group]) -> list[float]:
    """Return what each action for everybody gains over today's practice."""
    everybody = np.ones(len(practice.net), bool)
    return [gain_over_today(practice, assigned(practice, [(everybody, action.inside)])) for action in actions]


class Policy(NamedTuple):
    """The steps of one default (None: today's practice), and what they gain over today's practice."""

    default: Group | None
    steps: list[Pair]
    gain: float


def policies(
    practice: Practice,
    contexts: Sequence[Group],
    actions: Sequence[Group],
    margins: Margins,
    min_rows: float = 1,
    most: int = 10,
) -> list[Policy]:
    """Return the policy of every default: today's practice first, then each action for everybody else."""
    found = []
    for default in (None, *actions):
        usual = np.ones(len(practice.net), bool) if default is None else default.inside
        listed = steps(practice, usual, contexts, actions, margins, min_rows, most)
        rows = [(one.context.inside, one.action.inside) for one in listed]
        values = assigned(practice, rows, None if default is None else default.inside)
        found.append(Policy(default, listed, gain_over_today(practice, values)))
    return found


def assignment(n_rows: int, contexts: Sequence[Rows]) -> Integers:
    """Return the number of the first context of each row, −1 for none."""
    found = np.full(n_rows, -1, np.int64)
    for row in range(n_rows):
        for number, context in enumerate(contexts):
            if context[row]:
                found[row] = number
                break
    return found
