"""Policies: steps that each add the most, allowing for the search, to what people would get otherwise.

The yardstick is the mean outcome, net of costs, of a group γ if all of it got an action,

    μ(γ, a) = Σ_z n_z(γ)/n(γ) · ū(a, z, γ)        z the strata of the controls

and μ(γ, today) = ū(γ). Each step is the pair of context and action with the highest conservative gain over the default
(`policy.enumeration`), among the rows that no step above serves; then its group is served. The default is what the
others get: today's practice, or one action for everybody. Of several defaults, the one is taken whose policy gains the
most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from causalrules.policy.contexts import Contexts
from causalrules.policy.enumeration import Conjunctions, Enumeration, find_best
from causalrules.search.deadline import Deadline

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Numbers = tuple[int, ...]
# What the baseline gives, where an action is expected.
BASELINE: Numbers = (-1,)
# Single actions for everybody that are tried as the default: those with the highest conservative gains.
MOST_DEFAULTS = 3


@dataclass(frozen=True, eq=False)
class PolicyRows:
    """Rows of a table, coded by context and by action.

    Attributes
    ----------
    contexts, actions
        The coded context and actionable columns.
    stratum
        The stratum of each row.
    n
        How often each row counts.
    y, cost
        The target, larger being better, and what each row cost.
    group
        Number of each row's group of dependent rows; None if rows are independent.
    baseline
        Which rows got what the baseline gives; None without one.
    """

    contexts: Contexts
    actions: Contexts
    stratum: NDArray[np.intp]
    n: Floats
    y: Floats
    cost: Floats
    group: NDArray[np.intp] | None = None
    baseline: Mask | None = None

    @property
    def u(self) -> Floats:
        """The outcome net of costs."""
        return self.y - self.cost

    @property
    def n_strata(self) -> int:
        """Number of strata."""
        return int(self.stratum.max(initial=-1)) + 1

    def who(self, context: Numbers) -> Mask:
        """Return which rows are in a group."""
        return self.contexts.sides(context)[0]

    def got(self, action: Numbers) -> Mask:
        """Return which rows got an action; without one, all."""
        if action == BASELINE:
            assert self.baseline is not None
            return self.baseline
        return self.actions.sides(action)[0]


class FoundStep(NamedTuple):
    """A step by the numbers of its conditions, with its conservative gain over the default."""

    context: Numbers
    action: Numbers
    conservative: float


class FoundPolicy(NamedTuple):
    """Steps, the action of the default (empty for today's practice), and how they were found.

    `otherwise` is the default as a step for everybody; `nearest` is the best pair where no step is above 0, and
    `single` the best action for everybody, if one is above 0.
    """

    steps: tuple[FoundStep, ...]
    otherwise: FoundStep | None
    nearest: FoundStep | None
    single: FoundStep | None
    n_pairs: int
    optimal: bool

    @property
    def default(self) -> Numbers:
        """The action of the default; empty for today's practice."""
        return () if self.otherwise is None else self.otherwise.action


class Comparison(NamedTuple):
    """Rows of a group compared by what they got: how much better those with the action did, over all of the group.

    Attributes
    ----------
    effect
        Σ n_z/n (ū(action) − ū(otherwise)), over strata in which the two differ.
    error
        Its standard error.
    level
        The mean over the rows of the group that got what they get otherwise.
    """

    effect: float
    error: float
    level: float


def compare(rows: PolicyRows, values: Floats, n: Floats, action: Mask, otherwise: Mask) -> Comparison:
    """Compare the rows with an action with those that got what they get otherwise.

    Parameters
    ----------
    rows
        All rows.
    values
        What is compared.
    n
        How often each row of the group counts; 0 outside.
    action, otherwise
        The rows that got the action, and the rows that got what they get otherwise.
    """
    stratum, n_strata = rows.stratum, rows.n_strata
    sides = [n * action, n * otherwise]
    whole = np.bincount(stratum, n, n_strata)
    counts = [np.bincount(stratum, side, n_strata) for side in sides]
    sums = [np.bincount(stratum, side * values, n_strata) for side in sides]
    both = (counts[0] > 0) & (counts[1] > 0)
    means = [np.divide(s, c, out=np.zeros(n_strata), where=c > 0) for s, c in zip(sums, counts, strict=True)]
    share = whole / whole.sum()
    effect = float(share[both] @ (means[0] - means[1])[both])
    weight = np.where(both, share, 0.0)
    influence = np.zeros(len(n))
    for sign, side, count, mean in zip((1, -1), sides, counts, means, strict=True):
        per_row = np.divide(weight, count, out=np.zeros(n_strata), where=count > 0)
        influence += sign * (side > 0) * per_row[stratum] * (values - mean[stratum])
    if rows.group is None:
        error = float(np.sqrt(n @ influence**2))
    else:
        error = float(np.sqrt(np.sum(np.bincount(rows.group, n * influence) ** 2)))
    # Strata without anybody who got what they get otherwise have no level of their own.
    known = counts[1] > 0
    level = float(whole[known] @ means[1][known] / whole[known].sum()) if known.any() else float("nan")
    return Comparison(effect, error, level)


@dataclass(frozen=True, eq=False)
class Search:
    """The search for a policy.

    Attributes
    ----------
    rows
        The rows, of which those that count at least once are searched.
    most
        The maximum number of steps.
    betas
        β by the number of conditions on context and action.
    least
        The minimum number of rows of a group.
    max_length
        Maximum number of conditions of an action.
    n_threads, deadline, watch
        Threads, the time limit, and a function that is called with the steps done and the text of what is searched.
    """

    rows: PolicyRows
    most: int
    betas: Sequence[Sequence[float]]
    least: float
    max_length: int
    n_threads: int = 1
    deadline: Deadline | None = None
    watch: Callable[[int, int], None] | None = None

    def find(self, n: Floats, nearest: bool = False) -> FoundPolicy:
        """Return the best policy of all defaults, on rows that count this often.

        With `nearest`, where no step stands out, the one nearest to it is found too, which takes longer.
        """
        today = self._steps(n, None, -math.inf if nearest else 0.0)
        singles = self._singles(n)
        best, gain = today, self._gain(n, today)
        n_pairs, optimal = today.n_pairs, today.optimal
        for single in singles[:MOST_DEFAULTS]:
            found = self._steps(n, single)
            optimal &= found.optimal
            candidate = self._gain(n, found)
            if candidate > gain + 1e-12:
                best, gain = found, candidate
        return best._replace(single=singles[0] if singles else None, n_pairs=n_pairs, optimal=optimal)

    def _steps(self, n: Floats, otherwise: FoundStep | None, floor: float = 0.0) -> FoundPolicy:
        """Return the steps over a default; the first has at least this conservative gain, the others one above 0."""
        default = () if otherwise is None else otherwise.action
        steps: list[FoundStep] = []
        nearest, left, total = None, n, float(n.sum())
        optimal, n_pairs, got = True, 0, self.rows.got(default)
        while len(steps) < self.most - bool(default) and left.any():
            search = self._enumeration(n, left, got if default else None, total)
            limit = None if self.deadline is None else self.deadline.left()
            least = 0.0 if steps else floor
            found = find_best(search, threads=self.n_threads, floor=least, time_limit=limit)
            if found.stopped == "interrupted":
                raise KeyboardInterrupt
            optimal &= found.optimal
            n_pairs = n_pairs or found.n_pairs
            if found.best is None:
                break
            step = FoundStep(found.best.context, found.best.action, found.best.gain)
            if step.conservative <= 0:
                nearest = None if steps else step
                break
            steps.append(step)
            left = left * ~self.rows.who(step.context)
            if not found.optimal:
                break
        return FoundPolicy(tuple(steps), otherwise, nearest, None, n_pairs, optimal)

    def _singles(self, n: Floats) -> list[FoundStep]:
        """Return the actions whose conservative gain for everybody is above 0, best first, one of each set of rows."""
        found = self._enumeration(n, n, None, float(n.sum())).everybody(MOST_DEFAULTS)
        return [FoundStep((), pair.action, pair.gain) for pair in found if pair.gain > 0]

    def _enumeration(self, n: Floats, left: Floats, default: Mask | None, total: float) -> Enumeration:
        rows, used = self.rows, left > 0
        u = rows.u
        whole = np.bincount(rows.stratum, n, rows.n_strata)
        mean = np.divide(
            np.bincount(rows.stratum, n * u, rows.n_strata), whole, out=np.zeros_like(whole), where=whole > 0
        )
        scatter = np.bincount(rows.stratum, n * (u - mean[rows.stratum]) ** 2, rows.n_strata)
        variance = np.divide(scatter, whole, out=np.zeros_like(whole), where=whole > 0)
        counted = u[n > 0]
        contexts, actions = rows.contexts.only(used), rows.actions.only(used)
        return Enumeration(
            Conjunctions(contexts.language, contexts.codes, contexts.max_context),
            Conjunctions(actions.language, actions.codes, self.max_length),
            rows.stratum[used],
            left[used],
            u[used],
            None if default is None else default[used],
            variance=variance,
            n_total=round(total),
            range_=float(counted.max() - counted.min()),
            min_rows=math.ceil(self.least),
            betas=self.betas,
        )

    def _gain(self, n: Floats, found: FoundPolicy) -> float:
        """Return the gain of a policy over today's practice, per row."""
        total = float(n.sum())
        served = zip(self.parts(n, found), self.actions(found), strict=True)
        return sum(
            float(part.sum()) / total * self.over_today(part, action).effect for part, action in served if part.any()
        )

    @staticmethod
    def actions(found: FoundPolicy) -> list[Numbers]:
        """Return what the people of each step get; a default other than today's practice is the last step."""
        return [step.action for step in (*found.steps, found.otherwise) if step is not None]

    def parts(self, n: Floats, found: FoundPolicy) -> list[Floats]:
        """Return the rows that each step serves."""
        left, parts = n, []
        for step in (*found.steps, found.otherwise):
            if step is not None:
                part = left * self.rows.who(step.context)
                parts.append(part)
                left = left - part
        return parts

    def over_today(self, part: Floats, action: Numbers, values: Floats | None = None) -> Comparison:
        """Compare an action with today's practice in a group."""
        rows = self.rows
        values = rows.u if values is None else values
        return compare(rows, values, part, rows.got(action), np.ones(len(part), np.bool_))
