"""The paper's branch and bound (§4) in plain NumPy, to compare bounds on small tables.

Best first, each set of rows once. "paper" is the bound of Proposition 3, "repaired" the maximum that it should be,
and "reachable" also uses the rows that every refinement of a node covers.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules.search.adjusted import Adjusted

Array = NDArray[Any]

# (bound, ordered): each adds one improvement to the one before.
VARIANTS = (("paper", False), ("repaired", False), ("repaired", True), ("reachable", True))


@dataclass(frozen=True)
class Outcome:
    """The best rule, as the numbers of its propositions, the number of nodes expanded, and whether it finished."""

    value: float
    conditions: tuple[int, ...]
    nodes: int
    finished: bool


def covered_side(a: Array, b: Array, beta: float) -> Array:
    """u(a, b) = (a+1)/m − β/(2√m), m = a+b+2."""
    m = a + b + 2
    return np.asarray((a + 1) / m - beta / (2 * np.sqrt(m)))


def uncovered_side(a: Array, b: Array, n1: Array, n0: Array, beta: float) -> Array:
    """v(a, b) = −(n1−a+1)/m′ − β/(2√m′), m′ = n−a−b+2."""
    m = n1 + n0 - a - b + 2
    return np.asarray(-(n1 - a + 1) / m - beta / (2 * np.sqrt(m)))


def difference(a: Array, b: Array, n1: Array, n0: Array, beta: float) -> Array:
    """λ(a, b), the reliable difference of one stratum."""
    return covered_side(a, b, beta) + uncovered_side(a, b, n1, n0, beta)


class Bounds:
    """Upper bounds on λ over the refinements of a rule, for arrays whose last axis is the strata."""

    def __init__(self, n1: Array, n0: Array, beta: float) -> None:
        self.n1, self.n0, self.beta = n1, n0, beta
        strata = range(len(n1))
        no_negatives = np.full((len(n1), int(n1.max()) + 1), -np.inf)
        for z in strata:
            a = np.arange(n1[z] + 1)
            no_negatives[z, : len(a)] = difference(a, np.zeros_like(a), n1[z], n0[z], beta)
        self._no_negatives = np.maximum.accumulate(no_negatives, axis=1)
        # If so few positives are covered that u(a′, 0) < 0, covering negatives can only help.
        few = next(a for a in itertools.count() if (a + 1) / np.sqrt(a + 2) >= beta / 2)
        few_positives = np.full((len(n1), few, int(n0.max()) + 1), -np.inf)
        for z, positives in itertools.product(strata, range(few)):
            if positives <= n1[z]:
                b = np.arange(n0[z] + 1)
                few_positives[z, positives, : len(b)] = difference(np.full_like(b, positives), b, n1[z], n0[z], beta)
        self._few_positives = np.maximum.accumulate(np.maximum.accumulate(few_positives, axis=2), axis=1)

    def paper(self, a: Array, b: Array) -> Array:
        """Proposition 3: max over a′ ≤ a of λ(a′, 0)."""
        return np.asarray(self._no_negatives[np.arange(len(self.n1)), a])

    def repaired(self, a: Array, b: Array) -> Array:
        """The maximum of λ(a′, b′) over all a′ ≤ a and b′ ≤ b."""
        few = self._few_positives.shape[1]
        if few == 0:
            return self.paper(a, b)
        few_covered = self._few_positives[np.arange(len(self.n1)), np.minimum(a, few - 1), b]
        return np.asarray(np.maximum(self.paper(a, b), few_covered))

    def reachable(self, a: Array, b: Array, b_core: Array) -> Array:
        """The same where b′ cannot fall below b_core."""
        everything = self.repaired(a, b)
        rising = self.n0 - b_core + 1 >= self.beta / 4 * np.sqrt(self.n1 + self.n0 - b_core + 2)
        u = np.maximum(covered_side(a, b_core, self.beta), covered_side(a, b, self.beta))
        v = uncovered_side(a, b_core, self.n1, self.n0, self.beta)
        return np.where(rising, np.minimum(everything, u + v), everything)


class Rows:
    """The propositions as bits over rows sorted by stratum and outcome, each segment in whole words."""

    def __init__(self, holds: Array, stratum: Array, outcome: Array) -> None:
        n_strata = int(stratum.max()) + 1
        words: list[Array] = []
        starts: list[int] = []
        for z, y in itertools.product(range(n_strata), (1, 0)):
            chosen = (stratum == z) & (outcome == y)
            padding = -int(chosen.sum()) % 64 or (0 if chosen.any() else 64)
            bits = np.pad(holds[:, chosen], ((0, 0), (0, padding)))
            starts.append(sum(part.shape[1] for part in words))
            words.append(np.ascontiguousarray(np.packbits(bits, axis=1)).view(np.uint64))
        self.bits = np.concatenate(words, axis=1)
        self._starts = starts
        sizes = np.array([[((stratum == z) & (outcome == y)).sum() for y in (1, 0)] for z in range(n_strata)])
        self.n1, self.n0 = sizes[:, 0], sizes[:, 1]

    @classmethod
    def of(cls, problem: Adjusted) -> Rows:
        language = problem.language
        propositions = zip(language.column_index, language.low, language.high, strict=True)
        holds = np.array([(problem.columns[i] >= low) & (problem.columns[i] <= high) for i, low, high in propositions])
        times = 1 if problem.weights is None else problem.weights.astype(np.int64)
        return cls(
            np.repeat(holds, times, axis=1), np.repeat(problem.stratum, times), np.repeat(problem.outcome, times)
        )

    def count(self, sets: Array) -> tuple[Array, Array]:
        """Return the positives and negatives in each stratum, for each of some sets of rows."""
        counts = np.add.reduceat(np.bitwise_count(sets).astype(np.int64), self._starts, axis=1)
        return counts[:, 0::2], counts[:, 1::2]


def search(rows: Rows, bound: str, ordered: bool, beta: float = 2.0, max_nodes: int = 20_000) -> Outcome:
    """Return the best rule, if the bound is valid and the nodes suffice.

    A node's children are its candidates, one more proposition each; a child gets the candidates after its own, and
    those before it are excluded below it. The paper uses the order of the language. `ordered`: pruned candidates are
    dropped, and the others are sorted by bound, the weakest first.
    """
    bits, n1, n0 = rows.bits, rows.n1, rows.n0
    weights = (n1 + n0 + 4) / (n1 + n0 + 4).sum()
    bounds = Bounds(n1, n0, beta)
    everything = np.full(bits.shape[1], np.uint64(2**64 - 1))

    best = Outcome(-np.inf, (), 0, False)
    number = itertools.count()
    always = np.array(rows.count(bits)).sum(axis=(0, 2)) == (n1 + n0).sum()
    root = (-np.inf, next(number), everything, np.flatnonzero(~always), np.zeros_like(always), ())
    queue: list[tuple[float, int, Array, Array, Array, tuple[int, ...]]] = [root]
    while queue:
        negative_bound, _, extension, candidates, excluded, conditions = heapq.heappop(queue)
        if -negative_bound <= best.value:
            break
        if best.nodes == max_nodes:
            return best
        best = replace(best, nodes=best.nodes + 1)
        children = bits[candidates] & extension
        a, b = rows.count(children)
        values = np.where((a + b).sum(axis=1) > 0, difference(a, b, n1, n0, beta) @ weights, -np.inf)
        if len(values) and values.max() > best.value:
            top = int(values.argmax())
            best = replace(best, value=float(values[top]), conditions=(*conditions, int(candidates[top])))
        upper = (bounds.paper if bound == "paper" else bounds.repaired)(a, b) @ weights
        keep = np.argsort(upper, kind="stable") if ordered else np.arange(len(upper))
        keep = keep[(upper[keep] > best.value if ordered else values[keep] > -np.inf)]
        candidates, children, a, b, upper = candidates[keep], children[keep], a[keep], b[keep], upper[keep]
        if bound == "reachable" and len(keep):
            later = np.vstack([np.bitwise_and.accumulate(bits[candidates][::-1], axis=0)[::-1][1:], everything])
            upper = bounds.reachable(a, b, rows.count(children & later)[1]) @ weights
        for i in np.flatnonzero(upper > best.value):
            implied = ~(children[i] & ~bits).any(axis=1)
            before = excluded.copy()
            before[candidates[:i]] = True
            if (implied & before).any():
                continue  # an excluded proposition also leads to these rows
            after = candidates[i + 1 :]
            child = (*conditions, int(candidates[i]))
            entry = (-float(upper[i]), next(number), children[i], after[~implied[after]], before, child)
            heapq.heappush(queue, entry)
    return replace(best, finished=True)


def counterexample() -> dict[str, list[Any]]:
    """Return a table on which Proposition 3 loses the best rule at β = 2.

    Stratum "none" has no positive; there a rule is best if it covers 86 of the 200 rows, as all rules here do, while
    Proposition 3 assumes that covering none is best. In stratum "some", A and B each cover all positives and one half
    of the negatives, so that A ∧ B is perfect, and C covers two negatives more than A ∧ B: better than the "bound"
    of A, of B and of C.
    """
    table: dict[str, list[Any]] = {"y": [], "z": [], "A": [], "B": [], "C": []}

    def add(times: int, **row: object) -> None:
        for name, value in row.items():
            table[name] += [value] * times

    add(86, y=0, z="none", A="yes", B="yes", C="yes")
    add(114, y=0, z="none", A="no", B="no", C="no")
    add(100, y=1, z="some", A="yes", B="yes", C="yes")
    add(1, y=0, z="some", A="yes", B="no", C="yes")
    add(1, y=0, z="some", A="no", B="yes", C="yes")
    add(49, y=0, z="some", A="yes", B="no", C="no")
    add(49, y=0, z="some", A="no", B="yes", C="no")
    return table
