"""The value of a policy on rows that it was not learnt from, by forward chaining.

Rows are shuffled and divided into a first half and blocks. On each block, the policy counts that the same search finds
on the rows before it. Given those, a block is a random part of the rows that are left in each stratum. A row that a
step with action a serves, in stratum z, scores

    ψ = m(a) + 1(got a)(u − m(a))/e(a) − u

with u its outcome net of costs, m(a) the mean that the rows before predict for a among the people of this step in z,
and e(a) the share that got a among those of them who are left: the mean of ψ is the gain over today's practice,
whatever m is. Where nobody who is left got a, nothing is gained or lost. The score is one for the whole policy, and the
same holds for other policies, of which the difference counts. Errors of blocks are uncorrelated, so that their
variances add up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from causalrules.estimators.intervals import beta_of_confidence
from causalrules.estimators.scores import KAPPA
from causalrules.policy.gain import BASELINE, Floats, Numbers, PolicyRows, Search
from causalrules.policy.steps import HeldOutValue, Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Minimum rows before the first block, and in a block.
FEWEST = 200
BLOCKS = 5
Parts = list[tuple[Floats, Numbers]]


def held_out_value(
    search: Search,
    n: Floats,
    rng: np.random.Generator,
    confidence: float,
    watch: Callable[[int, int], None] | None = None,
) -> HeldOutValue | None:
    """Search on the rows before each block, and measure what is found on the block; None if there are too few rows.

    Parameters
    ----------
    search, n
        The search, and how often each row counts.
    rng
        The generator that shuffles the rows.
    confidence
        Confidence of the intervals.
    watch
        A function that is called with the blocks done.
    """
    rows = search.rows
    place = _shuffled(rows, n, rng)
    scores: dict[str, list[tuple[Floats, Floats, NDArray[np.intp] | None]]] = {}
    n_rows, done = 0.0, 0
    for block in range(BLOCKS):
        if search.deadline is not None and search.deadline.passed:
            break
        before, here, left = n * (place < block), n * (place == block), n * (place >= block)
        if before.sum() < FEWEST or not here.any():
            return None
        found = search.find(before)
        if not found.optimal:
            break
        parts = list(zip(search.parts(n, found), search.actions(found), strict=True))
        policy = _gains(search, parts, before, here, left)
        others = {"over_today": policy}
        if rows.baseline is not None:
            others["over_baseline"] = policy - _gains(search, [(n, BASELINE)], before, here, left)
        if found.single is not None:
            single = _gains(search, [(n, found.single.action)], before, here, left)
            others["over_single"] = policy - single
        chosen = here > 0
        for name, each in others.items():
            group = None if rows.group is None else rows.group[chosen]
            scores.setdefault(name, []).append((each[chosen], here[chosen], group))
        n_rows += float(here.sum())
        done += 1
        if watch is not None:
            watch(done, BLOCKS)
    if not done:
        return None
    values = {name: _value(parts, confidence) for name, parts in scores.items()}
    return HeldOutValue(int(n_rows), done, **values)


def _shuffled(rows: PolicyRows, n: Floats, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the block of each row, −1 for the first half; rows of a group stay together.

    It depends on the values of the rows, not on their order in the table.
    """
    unit = np.arange(len(n)) if rows.group is None else rows.group
    keys: list[Any] = [n, rows.u, *rows.actions.codes, *rows.contexts.codes, rows.stratum]
    order = np.lexsort(keys)
    first = np.full(int(unit.max(initial=-1)) + 1, len(n))
    np.minimum.at(first, unit[order], np.arange(len(n)))
    number = np.argsort(np.argsort(first, kind="stable"), kind="stable")
    shuffled = rng.permutation(len(first))[number][unit]
    half = (len(first) + 1) // 2
    return np.where(shuffled < half, -1, (shuffled - half) * BLOCKS // max(1, len(first) - half))


def _gains(search: Search, parts: Parts, before: Floats, here: Floats, left: Floats) -> Floats:
    """Return the score of each row of a block under a policy, given the rows of its parts."""
    rows = search.rows
    u, stratum, n_strata = rows.u, rows.stratum, rows.n_strata
    scores = np.zeros(len(u))
    for part, action in parts:
        served, got = part > 0, rows.got(action)

        def sums(weight: Floats, served: NDArray[np.bool_] = served) -> Floats:
            return np.bincount(stratum, weight * served, n_strata).astype(np.float64)

        everyone, with_action = sums(left), sums(left * got)
        known, total = sums(before), sums(before * u)
        mean = (total + KAPPA * total.sum() / max(known.sum(), 1.0)) / (known + KAPPA)
        predicted = ((sums(before * got * u) + KAPPA * mean) / (sums(before * got) + KAPPA))[stratum]
        odds = np.divide(everyone, with_action, out=np.zeros(n_strata), where=with_action > 0)[stratum]
        inside = served & (odds > 0) & (here > 0)
        scores[inside] = (predicted + got * (u - predicted) * odds - u)[inside]
    return scores


def _value(parts: list[tuple[Floats, Floats, NDArray[np.intp] | None]], confidence: float) -> Value:
    """Return the mean of the scores of all blocks, with its interval."""
    total = sum(float(n.sum()) for _, n, _ in parts)
    gain = sum(float(n @ scores) for scores, n, _ in parts) / total
    variance = 0.0
    for scores, n, group in parts:
        mean = float(n @ scores / n.sum())
        if group is None:
            variance += float(n @ (scores - mean) ** 2)
        else:
            _, members = np.unique(group, return_inverse=True)
            variance += float(np.sum(np.bincount(members, n * (scores - mean)) ** 2))
    reach = beta_of_confidence(confidence) * np.sqrt(variance) / total
    return Value(gain, gain - reach, gain + reach)
