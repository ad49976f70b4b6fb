"""Groups in which the effect of an action differs from that on the others: all of them, with tests that allow for that.

Each row has a doubly robust score ψ (`search.row_scores`), whose mean in any group is the effect there. For a group γ
with the share s of the rows where it is decided,

    G = Σ (1[γ] − s)(ψ − ψ̄),    t = G/se,
    se² = max( Σ (1[γ] − s)²(ψ − ψ̄)²,  s(1 − s) Σ (ψ − ψ̄)²,  Σ (1[γ] − s)² h )

and G/(n s(1 − s)) is the contrast: the effect inside less that outside. If the effect is the same for all, ψ − ψ̄ is
noise whose sign is as likely to be the other, and the largest |t| of all groups is compared with the largest after
random changes of signs (of whole groups of dependent rows, if there are any). With c the value that those exceed in a
share of 5 %, contrasts less c standard errors hold for all groups together. The group with the largest |t| is listed
first: what is chosen is what is tested. (Choosing by the contrast less c standard errors, or by the gain s(1 − s) times
that, finds planted groups no better, and true gains on ACIC 2016 are smaller.)

The first variance is that of the group's own scores. Where the action is rare and so is the outcome, a few scores are
large, and a group that happens to have none of them has a small variance of its own. So it is at least that of scores
which are spread evenly (the second), and that of scores whose outcomes would vary on both sides as they do on the row's
own (the third), h = (y − μ)²(1/e₁ + 1/e₀).

The next group is searched among the rows of none of the groups above, with changes of signs of its own, and its p-value
is at least that of the group above. The first step errs in at most 5 % of tables without differences; the others are
tested only where those above differ, so that the list as a whole errs as rarely if the groups above are what they seem.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from causalrules.estimators.intervals import beta_of_confidence
from causalrules.policy.contexts import Contexts, one_thread_each
from causalrules.policy.segments import Segment
from causalrules.search.deadline import Deadline

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Watcher = Callable[[int, int], None]
# Minimum rows with the action, and without it, on both sides of a group: with fewer, its numbers depend on single rows.
FEW = 20
# Signs are changed in as many tables at once as have this many rows, within limits.
_NUMBERS, _AT_ONCE = 2**22, (64, 512)
# By default as many tables are drawn as this amount of work allows: multiplications, and passes over the groups.
_USUAL, _WORK, _PASSES = (999, 499, 199), 4e10, 64
# Where the error rate is within the Monte Carlo interval of p, more are drawn, up to this number, or this much work.
_MOST, _MOST_WORK = 9_999, 2e11
# Statistics this close are ties.
_TIED = 1e-9


@dataclass(frozen=True, eq=False)
class Scored:
    """Rows with the scores of an action, in an order that does not depend on that of the table.

    Attributes
    ----------
    contexts
        The coded context columns.
    counts
        How often each row counts.
    treated
        Which rows got the action.
    first, second
        The scores with the action, and without it.
    spread
        h of each row: the variance of its score if the outcome varied on both sides as on its own.
    group
        Number of each row's group of dependent rows; None if rows are independent.
    """

    contexts: Contexts
    counts: Floats
    treated: Mask
    first: Floats
    second: Floats
    spread: Floats
    group: NDArray[np.intp] | None = None

    @property
    def psi(self) -> Floats:
        """The score of the effect of each row."""
        return self.first - self.second

    @property
    def n_rows(self) -> float:
        """Number of rows, by weight."""
        return float(self.counts.sum())

    def only(self, rows: Mask | NDArray[np.intp]) -> Scored:
        """Return some of the rows, or all in another order."""
        group = None
        if self.group is not None:
            _, first, group = np.unique(self.group[rows], return_index=True, return_inverse=True)
            group = np.argsort(np.argsort(first))[group]  # in the order in which they appear
        return Scored(
            self.contexts.only(rows),
            self.counts[rows],
            self.treated[rows],
            self.first[rows],
            self.second[rows],
            self.spread[rows],
            group,
        )

    def ordered(self) -> Scored:
        """Return the rows in an order of their values alone."""
        keys = (self.spread, self.counts, self.treated, self.second, self.first, *self.contexts.codes)
        return self.only(np.lexsort(keys))

    def mean(self, values: Floats, rows: Mask | None = None) -> float:
        """Return the mean of values, by weight."""
        n = self.counts if rows is None else self.counts * rows
        return float(n @ values / n.sum())

    def error(self, values: Floats, rows: Mask) -> float:
        """Return the standard error of the mean of values over some rows; with groups, these are independent."""
        n = self.counts * rows
        apart = values - self.mean(values, rows)
        if self.group is None:
            return float(np.sqrt(n @ apart**2) / n.sum())
        return float(np.sqrt(np.sum(np.bincount(self.group, n * apart) ** 2)) / n.sum())


class Search(NamedTuple):
    """The segments found, the nearest one where none stands out, and how they were tested."""

    segments: tuple[Segment, ...]
    candidate: Segment | None
    n_groups: int
    permutations: int
    finished: bool


@dataclass(frozen=True, eq=False)
class _Groups:
    """The groups of one step, as arrays over all that are large enough."""

    valid: Mask
    share: Floats
    statistic: Floats
    contrast: Floats
    error: Floats
    spread_inside: Floats
    spread: Floats


def search(
    rows: Scored,
    *,
    k: int,
    error_rate: float,
    min_coverage: float,
    permutations: int | None,
    seed: int,
    sign: float = 1.0,
    n_threads: int = 1,
    deadline: Deadline | None = None,
    watch: Watcher | None = None,
) -> Search:
    """Search for up to k segments whose effect differs.

    Parameters
    ----------
    rows
        The scored rows.
    k, error_rate, min_coverage, permutations, seed
        Options of `for_whom`.
    sign
        −1 if the action is to decrease the target.
    n_threads, deadline, watch
        Threads; the time limit; a function that is called with the steps done.
    """
    with one_thread_each():
        return _search(
            rows.ordered(), k, error_rate, min_coverage, permutations, seed, sign, n_threads, deadline, watch
        )


def _search(
    rows: Scored,
    k: int,
    error_rate: float,
    min_coverage: float,
    permutations: int | None,
    seed: int,
    sign: float,
    n_threads: int,
    deadline: Deadline | None,
    watch: Watcher | None,
) -> Search:
    whole, found, least = rows.n_rows, list[Segment](), 0.0
    n_groups = drawn = 0
    candidate, finished = None, True
    for step in range(k):
        if step and deadline is not None and deadline.passed:
            finished = False
            break
        groups = _groups(rows, min_coverage * whole, n_threads)
        if step == 0:
            n_groups = int(groups.valid.sum())
        if not groups.valid.any():
            break
        draws = _Signs(rows, groups, permutations, np.random.default_rng([seed, 1 + step]), error_rate, n_threads)
        largest = float(np.abs(groups.statistic).max())
        draws.draw_until_clear(largest, deadline)
        drawn = drawn or len(draws.largest)
        segment, numbers = _best(rows, groups, draws, whole, sign, least)
        if not segment.stands_out:
            candidate = None if found else segment
            break
        found.append(segment)
        least = segment.p_value
        if watch is not None:
            watch(len(found), k)
        rows = rows.only(~rows.contexts.sides(numbers)[0])
    return Search(tuple(found), candidate, n_groups, drawn, finished)


def _groups(rows: Scored, least: float, n_threads: int) -> _Groups:
    """Measure all groups with at least this many rows inside and outside, and enough on both sides of the action."""
    n, psi = rows.counts, rows.psi
    centred = psi - rows.mean(psi)
    treated = n * rows.treated
    quantities = np.column_stack([n, treated, n * centred, n * centred**2, n * rows.spread])
    inside, decided = [], []
    for part in rows.contexts.sums(quantities, n_threads):
        inside.append(part.inside)
        decided.append(np.broadcast_to(part.decided, part.inside.shape))
    (n_in, treated_in, sum_in, squares_in, even_in), (n_all, treated_all, sum_all, squares, even) = (
        np.concatenate(each).T for each in (inside, decided)
    )
    both = np.array([n_in - treated_in, treated_in])
    others = np.array([n_all - treated_all, treated_all]) - both
    least = max(least, 1.0)
    valid = (n_in >= least) & (n_all - n_in >= least) & (np.minimum(both, others).min(axis=0) >= FEW)
    share = np.divide(n_in, n_all, out=np.full(len(n_in), 0.5), where=n_all > 0)
    if rows.group is None:
        pooled, spread, spread_inside = squares, (1 - 2 * share) * squares_in + share**2 * squares, squares_in
    else:
        of_groups = np.concatenate(list(rows.contexts.spreads(n * centred, rows.group)))
        spread_inside, crossed, everything = of_groups.T
        spread = spread_inside - 2 * share * crossed + share**2 * everything
        pooled = np.maximum(squares, everything)
    spread = np.maximum(spread, share * (1 - share) * pooled)
    spread = np.maximum(spread, (1 - 2 * share) * even_in + share**2 * even)
    spread_inside = np.maximum(np.maximum(spread_inside, share * pooled), even_in)
    valid &= spread > 1e-12 * max(float(n @ centred**2), 1e-300)
    spread = np.where(valid, np.sqrt(np.maximum(spread, 0.0)), 1.0)
    spread_inside = np.where(valid & (spread_inside > 0), np.sqrt(np.maximum(spread_inside, 0.0)), 1.0)
    scale = np.where(valid, n_all * share * (1 - share), 1.0)
    sums = np.where(valid, sum_in - share * sum_all, 0.0)
    return _Groups(valid, share, sums / spread, sums / scale, spread / scale, spread_inside, spread)


class _Signs:
    """The largest statistics of all groups after random changes of the signs of ψ − ψ̄."""

    def __init__(
        self,
        rows: Scored,
        groups: _Groups,
        permutations: int | None,
        rng: np.random.Generator,
        error_rate: float,
        n_threads: int,
    ) -> None:
        self.rows, self.groups, self.rng, self.error_rate, self.n_threads = rows, groups, rng, error_rate, n_threads
        self.largest, self.inside = np.zeros(0), np.zeros(0)
        psi = rows.psi
        self._centred = rows.counts * (psi - rows.mean(psi))
        self._work = self._work_of_one()
        self._fixed = permutations
        usual = [each for each in _USUAL if each * self._work <= _WORK]
        self._first = permutations or (usual[0] if usual else _USUAL[-1])

    def _work_of_one(self) -> float:
        ends = self.rows.contexts.language.ends.values()
        width = sum(len(each) + 1 for each in ends)
        return float(len(self.rows.counts) * width * len(ends) + _PASSES * len(self.groups.valid))

    def draw_until_clear(self, statistic: float, deadline: Deadline | None) -> None:
        """Draw until the p-value of a statistic is clearly below or above the error rate, or enough are drawn."""
        self.draw(self._first)
        while self._fixed is None and self._undecided(statistic) and not (deadline is not None and deadline.passed):
            drawn = len(self.largest)
            more = min(_MOST, 2 * drawn + 1, int(_MOST_WORK / self._work)) - drawn
            if more <= 0:
                break
            self.draw(more)

    def _undecided(self, statistic: float) -> bool:
        """Return whether the error rate is within two standard errors of the p-value."""
        drawn = len(self.largest)
        p = self.p_value(statistic)
        return abs(p - self.error_rate) < 2 * math.sqrt(self.error_rate * (1 - self.error_rate) / drawn)

    def draw(self, times: int) -> None:
        """Draw this many changes of signs."""
        groups = self.groups
        inverse, inverse_inside = (
            np.where(groups.valid, 1 / each, 0.0)[:, None] for each in (groups.spread, groups.spread_inside)
        )
        at_once = int(np.clip(_NUMBERS / len(self.rows.counts), *_AT_ONCE))
        for begin in range(0, times, at_once):
            quantities = self._changed(min(at_once, times - begin))
            largest, inside, place = np.zeros(quantities.shape[1]), np.zeros(quantities.shape[1]), 0
            for part in self.rows.contexts.sums(quantities, self.n_threads):
                own = slice(place, place + len(part.inside))
                place += len(part.inside)
                sums = np.abs(part.inside)
                sums *= inverse_inside[own]
                np.maximum(inside, sums.max(axis=0, initial=0.0), out=inside)
                np.multiply(groups.share[own, None], -part.decided, out=sums)
                sums += part.inside
                np.abs(sums, out=sums)
                sums *= inverse[own]
                np.maximum(largest, sums.max(axis=0, initial=0.0), out=largest)
            self.largest, self.inside = np.append(self.largest, largest), np.append(self.inside, inside)

    def _changed(self, times: int) -> Floats:
        """Return ψ − ψ̄ times the weight of each row with random signs, one column for each time."""
        rows = self.rows
        if rows.group is not None:
            signs = 2.0 * self.rng.integers(0, 2, (int(rows.group.max()) + 1, times), np.int8) - 1
            return signs[rows.group] * self._centred[:, None]
        if (rows.counts == 1).all():
            return (2.0 * self.rng.integers(0, 2, (len(rows.counts), times), np.int8) - 1) * self._centred[:, None]
        # A row that counts n times is n rows, each with a sign of its own.
        n = rows.counts.astype(np.int64)
        heads = self.rng.binomial(n[:, None], 0.5, (len(n), times))
        return np.asarray((2.0 * heads - n[:, None]) * (self._centred / rows.counts)[:, None])

    def p_value(self, statistic: float) -> float:
        """Return the share of tables, with the observed one, whose largest statistic is at least this one."""
        return float(1 + np.count_nonzero(self.largest >= statistic * (1 - _TIED))) / (len(self.largest) + 1)

    def critical(self, of: Floats) -> float:
        """Return the value that p-values above the error rate do not exceed."""
        place = int(self.error_rate * (len(of) + 1) + _TIED)
        return math.inf if place < 1 else float(np.sort(of)[-place])


def _best(
    rows: Scored, groups: _Groups, draws: _Signs, whole: float, sign: float, least: float
) -> tuple[Segment, tuple[int, ...]]:
    """Return the group with the largest statistic, and its conditions."""
    critical = draws.critical(draws.largest)
    inside = max(critical, draws.critical(draws.inside))
    statistic = np.where(groups.valid, np.abs(groups.statistic), -np.inf)
    tied = np.flatnonzero(statistic >= statistic.max() * (1 - _TIED))

    def order(place: int) -> tuple[bool, int, str]:
        better = sign * groups.contrast[place] > 0
        numbers = rows.contexts.groups[place]
        return not better, len(numbers), " ∧ ".join(map(str, rows.contexts.conditions(numbers)))

    # A group and its complement have the same statistic: the side that benefits more is listed.
    place = min(tied.tolist(), key=order)
    numbers = rows.contexts.groups[place]
    covered, decided = rows.contexts.sides(numbers)
    outside, psi = decided & ~covered, rows.psi
    effect, error = rows.mean(psi, covered), rows.error(psi, covered)
    # A group may have been chosen because its own scores happen to vary little.
    widest = max(error, float(groups.spread_inside[place] / rows.counts[covered].sum()))
    p = max(least, draws.p_value(float(statistic[place])))
    reach = beta_of_confidence(1 - draws.error_rate)
    contrast, spread = float(groups.contrast[place]), float(groups.error[place])
    segment = Segment(
        conditions=rows.contexts.conditions(numbers),
        n_rows=int(rows.counts[covered].sum()),
        share=float(rows.counts[covered].sum() / whole),
        among=int(rows.n_rows),
        effect=effect,
        low=effect - inside * widest,
        high=effect + inside * widest,
        naive_low=effect - reach * error,
        naive_high=effect + reach * error,
        level=rows.mean(rows.first, covered),
        level_without=rows.mean(rows.second, covered),
        outside=rows.mean(psi, outside),
        contrast=contrast,
        contrast_low=contrast - critical * spread,
        contrast_high=contrast + critical * spread,
        p_value=p,
        stands_out=p <= draws.error_rate,
        benefits_more=sign * contrast > 0,
    )
    return segment, numbers


def shown(segment: Segment, clip: Callable[[float], float], centre: float) -> Segment:
    """Return the segment with its levels in the target's values, and the ends of intervals in the range of effects."""
    return replace(
        segment,
        low=clip(segment.low),
        high=clip(segment.high),
        naive_low=clip(segment.naive_low),
        naive_high=clip(segment.naive_high),
        level=segment.level + centre,
        level_without=segment.level_without + centre,
    )
