"""Effects with their standard errors and intervals, for a rule that was chosen before looking at the rows.

`estimators.sides` defines tables and sides. An undefined value is nan.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causalrules.estimators.sides import (
    Floats,
    Side,
    both,
    both_sides,
    comparable,
    compared_tables,
    ratio_of,
    side_of,
    tables,
)
from causalrules.exceptions import OptionError


class SideMean(NamedTuple):
    """The mean of one side, averaged over the strata.

    Attributes
    ----------
    mean, variance, degrees
        The mean, its variance, and the degrees of freedom of the variance.
    rows
        For a share, its effective sample size: the rows of one sample with the same variance.
    lean
        For a mean, its third cumulant over its variance: above 0 if large values are rare.
    """

    mean: float
    variance: float
    degrees: float
    rows: float = math.nan
    lean: float = 0.0


class _Within(NamedTuple):
    """Within the strata of one side: the variance of one row, its degrees of freedom, and the rows it stands for."""

    variance: float
    degrees: float
    rows: float


def _within(side: Side, weight: Floats, alone: float | None = None) -> _Within:
    """Return s², pooled over the strata as the variance of Σ_z w_z ȳ_z needs it, and its degrees of freedom.

    s² = Σ_z v_z s_z²/Σ_z v_z, with v_z = w_z²/k_z and s_z² = Σ(y − ȳ_z)²/(k_z − 1)
    ν = (Σ_z v_z)²/Σ_z v_z²/(k_z − 1) over the strata with k_z > 1 (Satterthwaite 1946); 0 if there are none

    A stratum with one row has s_z² = `alone`; without it, s² is that of the others. m = 1/Σ_z v_z rows of one sample
    would give a mean with the same variance s²/m.
    """
    worth, many = weight**2 / side.n, side.n > 1
    own = side.scatter / np.maximum(side.n - 1, 1.0)
    degrees = ratio_of(np.sum(worth[many]) ** 2, np.sum(worth[many] ** 2 / (side.n[many] - 1))) if many.any() else 0.0
    if alone is None:
        variance = float(np.sum(worth[many] * own[many]) / np.sum(worth[many])) if many.any() else 0.0
    else:
        variance = float(np.sum(worth * np.where(many, own, alone)) / np.sum(worth))
    return _Within(variance, degrees, 1 / float(np.sum(worth)))


def side_share(side: Side, weight: Floats) -> SideMean:
    """Return p = Σ_z w_z p_z, the share of one side with the outcome, where every stratum has rows of it.

    s² within the strata (`_within`; p(1 − p) where a stratum has one row) is at most about p(1 − p), that of one
    sample. One more outcome, with the variance of one sample, keeps s² above 0 where the outcome always or never
    happened, and from depending on a handful of rows:

    s² ← p(1 − p) R, with R = (ν s² + 1)/(ν p(1 − p) + 1), and ν ← ν + 1/(p(1 − p))

    The effective sample size is m/R. The variance adds one row with and one without the outcome (Agresti & Caffo 2000):
    p̃(1 − p̃)R/m, with p̃ = (mp + 1)/(m + 2).

    >>> found = side_share(Side.binary([5], [0]), np.array([1.0]))
    >>> found.mean, round(found.variance, 4), found.rows
    (1.0, 0.0245, 5.0)
    """
    mean = min(float(np.sum(weight * side.mean)), 1.0)
    one_sample = mean * (1 - mean)
    within = _within(side, weight, one_sample)
    if one_sample <= 0:
        ratio, degrees = 1.0, math.inf
    else:
        ratio = (within.degrees * within.variance + 1) / (within.degrees * one_sample + 1)
        degrees = within.degrees + 1 / one_sample
    m = within.rows
    p = (m * mean + 1) / (m + 2)
    return SideMean(mean, p * (1 - p) * ratio / m, degrees, rows=m / ratio)


def side_mean(side: Side, weight: Floats, row: tuple[float, float]) -> SideMean:
    """Return Σ_z w_z ȳ_z, the mean of one side, where every stratum has rows of it.

    s² is that of `_within`, and μ₃ = Σ_z w_z³/k_z² c_z / Σ_z w_z³/k_z² is pooled over the strata with three rows, with
    c_z = k_z Σ(y − ȳ_z)³/((k_z − 1)(k_z − 2)). One row more, with the variance and the third moment `row` of both sides
    together, keeps them from being 0 where rare values happen to be absent from a small side:

    s² ← (ν s² + row₂)/(ν + 1), μ₃ ← (ν μ₃ + row₃)/(ν + 1), ν ← ν + 1

    The variance is s²/m, and lean = μ₃ Σ_z w_z³/k_z² over it.

    >>> found = side_mean(Side.of_levels(np.array([[2, 2]]), np.array([0.0, 3.0])), np.array([1.0]), (3.0, 0.0))
    >>> found.mean, found.variance, found.degrees, found.lean
    (1.5, 0.75, 4.0, 0.0)
    """
    within = _within(side, weight)
    degrees = within.degrees + 1
    variance = (within.degrees * within.variance + row[0]) / degrees / within.rows
    share, three = weight**3 / side.n**2, side.n > 2
    k, third = side.n[three], row[1]
    if three.any():
        own = np.sum(share[three] * side.cubes[three] * k / ((k - 1) * (k - 2))) / np.sum(share[three])
        third = (within.degrees * own + row[1]) / degrees
    lean = float(np.sum(share) * third) / variance if variance > 0 else 0.0
    return SideMean(float(np.sum(weight * side.mean)), variance, degrees, lean=lean)


def wilson(share: float, rows: float, reach: float) -> tuple[float, float]:
    """Return Wilson's interval of a share (1927), `reach` standard errors wide.

    >>> low, high = wilson(0.1, 10, 1.96)
    >>> round(low, 3), round(high, 3)
    (0.018, 0.404)
    """
    shrink = 1 + reach**2 / rows
    middle = (share + reach**2 / (2 * rows)) / shrink
    half = reach / shrink * math.sqrt(max(share * (1 - share) / rows + reach**2 / (4 * rows**2), 0.0))
    return middle - half, middle + half


def skewed(variance: float, lean: float, confidence: float, degrees: float = math.inf) -> tuple[float, float]:
    """Return how far the interval of a mean reaches down and up.

    a + √(a² + t² V), with a = (z²/3 + 1/6) lean on the side of the rare values and 0 on the other; t is `student`'s
    quantile and z the normal one

    Where large values are rare, a sample without them has a mean that is too low and a variance that is too small: the
    estimates of both go together, by `lean`. The end is where (y − μ)² = t²V + 2a(y − μ): to second order that of
    Johnson (1978) and Hall (1992), and Wilson's for a binary outcome. The other end is not shortened, as theirs is:
    in heavy tails, whose third moments are uncertain, that would lose coverage.

    >>> [round(end, 3) for end in skewed(0.01, 0.0, 0.95)], [round(end, 3) for end in skewed(0.01, 0.1, 0.95)]
    ([0.196, 0.196], [0.196, 0.388])
    """
    shift = (beta_of_confidence(confidence) ** 2 / 3 + 1 / 6) * lean
    reach = student(confidence, degrees) * math.sqrt(variance)
    down, up = (at + math.hypot(at, reach) for at in (max(-shift, 0.0), max(shift, 0.0)))
    return down, up


class Estimate(NamedTuple):
    """An adjusted effect with its standard error and its interval; nan where no stratum has both sides."""

    effect: float
    standard_error: float
    low: float
    high: float


def _one_row(left: Side, right: Side) -> tuple[float, float]:
    """Return the variance and the third moment of a row, within the strata of both sides.

    Σ_z Σ(y − ȳ_z)² and Σ_z Σ(y − ȳ_z)³ of both sides over Σ_z (k_z − 1 + f_z − 1); where no side has two rows in a
    stratum, about the mean of both sides.
    """
    degrees = float(np.sum(left.n - 1) + np.sum(right.n - 1))
    if degrees > 0:
        return (
            float(np.sum(left.scatter + right.scatter)) / degrees,
            float(np.sum(left.cubes + right.cubes)) / degrees,
        )
    compared = both(left, right)
    return ratio_of(np.sum(compared.scatter), np.sum(compared.n - 1)), 0.0


def _between(apart: Floats, chance: Floats, rows: Floats) -> float:
    """Return the variance due to how many rows fall into each stratum: Σ_z w_z (apart_z² − chance_z)/N′, at least 0.

    `apart` is by how much a stratum's number differs from the average, `chance` the variance of that number.
    """
    n_rows = np.sum(rows)
    return max(0.0, float(np.sum(rows / n_rows * (apart**2 - chance)) / n_rows))


def estimate(
    covered: Side, failing: Side, everything: Side, confidence: float = 0.95, *, binary: bool = True
) -> Estimate:
    """Return the adjusted effect of a rule that was chosen before looking at these rows, with its interval.

    effect = p − q, the means of both sides (`side_share`, `side_mean`), w_z = n_z/N′ over the strata with both sides
    variance = var(p) + var(q) + Σ_z w_z ((τ_z − effect)² − var(τ_z))/N′, the standard error its root

    The effect is that of the population the rows are a sample of: the last term, 0 where it is below 0, is chance in
    how many rows fall into each stratum, τ_z the difference in stratum z.

    The interval joins those of both sides, (l, u), and this term B (Newcombe 1998; Yan & Su 2010 with strata):

    p − q − √((p − l_p)² + (u_q − q)² + t²B), p − q + √((u_p − p)² + (q − l_q)² + t²B)

    For a binary outcome these are Wilson's, at the effective sample size of the share and with Student's t at the
    degrees of freedom of each side. For means they are `skewed`'s, with the degrees of freedom of Welch and
    Satterthwaite.

    Parameters
    ----------
    covered, failing, everything
        The rows that the rule covers, those on which it fails, and all.
    confidence
        Confidence of the interval.
    binary
        Whether the outcome is binary; otherwise the effect is a difference of means.

    Examples
    --------
    >>> [round(number, 4) for number in estimate(Side.binary(161, 9), Side.binary(181, 540), Side.binary(342, 549))]
    [0.696, 0.0242, 0.6401, 0.7353]
    """
    inside = comparable(covered, failing)
    if not inside.any():
        return Estimate(*[float("nan")] * 4)
    left, right, rows = (Side(*(array[inside] for array in side)) for side in (covered, failing, everything))
    weight = rows.n / np.sum(rows.n)
    row = (0.0, 0.0) if binary else _one_row(left, right)
    p, q = (side_share(side, weight) if binary else side_mean(side, weight, row) for side in (left, right))
    effect = p.mean - q.mean
    # Subtract the chance variation within the strata, at the average variance of a row of each side.
    chance = [each.variance / np.sum(weight**2 / side.n) / side.n for each, side in ((p, left), (q, right))]
    between = _between(left.mean - right.mean - effect, chance[0] + chance[1], rows.n)
    error = math.sqrt(p.variance + q.variance + between)
    reaches: list[tuple[float, float]] = []
    if binary:
        t = beta_of_confidence(confidence)
        for side in (p, q):
            low, high = wilson(side.mean, side.rows, student(confidence, side.degrees))
            reaches.append((side.mean - low, high - side.mean))
    else:
        square = p.variance**2 / p.degrees + q.variance**2 / q.degrees
        degrees = (p.variance + q.variance) ** 2 / square if square > 0 else math.inf
        t = student(confidence, degrees)
        reaches = [skewed(side.variance, side.lean, confidence, degrees) for side in (p, q)]
    (down_p, up_p), (down_q, up_q) = reaches
    farthest = 1.0 if binary else math.inf
    low = effect - math.hypot(down_p, up_q, t * math.sqrt(between))
    high = effect + math.hypot(up_p, down_q, t * math.sqrt(between))
    return Estimate(effect, error, max(low, -farthest), min(high, farthest))


def effective_rows(covered: Side, failing: Side, everything: Side) -> float:
    """Return the effective number of rows: of a balanced experiment with the same variance, 4/Σ_z w_z² (1/k_z + 1/f_z).

    With w_z = n_z/N′ over the strata with both sides. Such an experiment has one stratum, with half of the rows on each
    side, and a row has the same variance everywhere. At most N′, and less the fewer rows one side has in large strata;
    0 if no stratum has both sides.

    Ten rows of a thousand are covered:

    >>> round(effective_rows(Side.binary(5, 5), Side.binary(495, 495), Side.binary(500, 500)), 1)
    39.6
    """
    inside = comparable(covered, failing)
    rows = everything.n[inside]
    if not inside.any():
        return 0.0
    return float(4 / np.sum((rows / np.sum(rows)) ** 2 * (1 / covered.n[inside] + 1 / failing.n[inside])))


class Grouped(NamedTuple):
    """The standard error of an effect on grouped rows, its degrees of freedom, and the number of groups."""

    standard_error: float
    degrees: float
    n_groups: int


def grouped(
    stratum: NDArray[Any],
    y: Floats,
    counts: ArrayLike,
    sides: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    group: NDArray[np.int64],
) -> Grouped:
    """Return the standard error of the adjusted effect when the rows of a group are dependent.

    variance = G/(G − 1) Σ_g (Σ_{i ∈ g} φ_i)², with φ_i = w_z (y_i − ȳ_z)/k_z on the covered side of stratum z, and its
    negative on the other, k_z the rows of that side there, plus (τ_z − effect)/N′ on every compared row, for chance in
    how many rows fall into each stratum, as in `estimate`

    The scores of a side are multiplied by √(g/(g − 1)), g its groups in the stratum. With one group, whose mean is ȳ_z,
    the mean of both sides takes its place, unless the stratum has only this group: the group adds by how much its own
    difference τ_z is apart from the others, n_z/N′ (τ_z − effect). The degrees of freedom are (Σ_g l_g)²/Σ_g l_g² − 1,
    where l_g is the square of what one group adds if all its scores are equal: a few large groups leave few degrees of
    freedom.

    Parameters
    ----------
    stratum, y, counts
        The stratum and the target of each row, and how often it counts.
    sides
        The rows that the rule covers, and those on which it fails.
    group
        The group of each row.
    """
    n_strata = int(stratum.max()) + 1 if len(stratum) else 0
    weights = np.asarray(counts, np.float64)
    every = np.ones(len(y), np.bool_)
    covered, failing, everything = (side_of(stratum, y, weights, side, n_strata) for side in (*sides, every))
    inside = comparable(covered, failing)
    present = (weights > 0) & inside[stratum]
    if not present.any():
        return Grouped(float("nan"), float("nan"), 0)
    share = np.where(inside, everything.n, 0.0) / np.sum(everything.n[inside])
    _, members = np.unique(group, return_inverse=True)
    n_groups = int(members.max()) + 1
    compared = both(covered, failing).mean
    either = present & (sides[0] | sides[1])
    pairs = np.unique(np.stack([stratum[either], members[either]]), axis=1)
    # A single group in all has no others that its difference could be apart from.
    alone = (np.bincount(pairs[0], minlength=n_strata) == 1) & (len(np.unique(pairs[1])) > 1)
    scores, reach = np.zeros(len(y)), np.zeros(len(y))
    for side, chosen, sign in ((covered, sides[0], 1.0), (failing, sides[1], -1.0)):
        rows = present & chosen
        pairs = np.unique(np.stack([stratum[rows], members[rows]]), axis=1)
        n_here = np.bincount(pairs[0], minlength=n_strata)
        factor = np.where(n_here > 1, np.sqrt(n_here / np.maximum(n_here - 1, 1)), 1.0)
        mean = np.where((n_here > 1) | alone, side.mean, compared)
        z = stratum[rows]
        each = weights[rows] * share[z] / side.n[z]
        scores[rows] += sign * each * factor[z] * (y[rows] - mean[z])
        reach[rows] += each
    apart = covered.mean - failing.mean
    effect = np.sum(share[inside] * apart[inside])
    scores[present] += weights[present] * (apart[stratum[present]] - effect) / np.sum(everything.n[inside])
    sums, alike = np.bincount(members, scores, n_groups), np.bincount(members, reach, n_groups) ** 2
    n_compared = int(np.count_nonzero(alike))
    variance = np.sum(sums**2) * n_compared / max(n_compared - 1, 1)
    degrees = ratio_of(np.sum(alike) ** 2, np.sum(alike**2)) - 1
    return Grouped(float(np.sqrt(variance)), max(float(degrees), 1.0), n_compared)


def grouped_estimate(effect: float, found: Grouped, confidence: float = 0.95, *, binary: bool = True) -> Estimate:
    """Return an effect on grouped rows with its interval: effect ± t · standard error."""
    reach = student(confidence, found.degrees) * found.standard_error if found.n_groups else float("nan")
    farthest = 1.0 if binary else math.inf
    low, high = np.maximum(effect - reach, -farthest), np.minimum(effect + reach, farthest)
    return Estimate(effect, found.standard_error, float(low), float(high))


def _estimated(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike, confidence: float = 0.95) -> Estimate:
    a, b, c, d = tables(a, b, c, d)
    return estimate(Side.binary(a, b), Side.binary(c, d), Side.binary(a + c, b + d), confidence)


def standard_error(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> float:
    """Return the standard error of `effect`, from `estimate`.

    >>> round(standard_error(161, 9, 181, 540), 4)
    0.0242
    >>> standard_error(5, 0, 0, 5) > 0
    True
    """
    return _estimated(a, b, c, d).standard_error


def risk_ratio(
    a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike, rows: ArrayLike | None = None
) -> tuple[float, float]:
    """Return p_do_rule / p_do_not_rule and the standard error of its logarithm.

    RR = p/q, with p = p_do_rule and q = p_do_not_rule; √( var(p)/p² + var(q)/q² + B ) by the delta method

    The variances are those of `side_share`; B = Σ_z w_z ((p_z/p − q_z/q)² − its variance)/N′ is chance in how many rows
    fall into each stratum. Where p or q is 0, half a row is added to every cell. `rows` are all rows of each stratum,
    where some are not compared.

    >>> ratio, error = risk_ratio(161, 9, 181, 540)
    >>> round(ratio, 3), round(error, 4)
    (3.773, 0.0672)
    """
    inside = both_sides(*tables(a, b, c, d))
    a, b, c, d, weight = compared_tables(a, b, c, d)
    if not weight.size:
        return float("nan"), float("nan")
    sizes = a + b + c + d if rows is None else np.asarray(rows, np.float64)[inside]
    weight = sizes / np.sum(sizes)
    variances = [side_share(Side.binary(*side), weight).variance for side in ((a, b), (c, d))]
    if not (a.any() and c.any()):
        a, b, c, d = a + 0.5, b + 0.5, c + 0.5, d + 0.5
    shares, counts = (a / (a + b), c / (c + d)), (a + b, c + d)
    p, q = (float(np.sum(weight * share)) for share in shares)
    relative = [variance / mean**2 for variance, mean in zip(variances, (p, q), strict=True)]
    chance = [each / np.sum(weight**2 / n) / n for each, n in zip(relative, counts, strict=True)]
    between = _between(shares[0] / p - shares[1] / q, chance[0] + chance[1], sizes)
    return p / q, math.sqrt(sum(relative) + between)


def interval(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike, confidence: float = 0.95) -> tuple[float, float]:
    """Return the two-sided interval of `effect`, from `estimate`.

    It ignores the search: it is valid for a rule that was chosen before looking at the data.

    >>> low, high = interval(161, 9, 181, 540)
    >>> round(low, 3), round(high, 3)
    (0.64, 0.735)
    """
    found = _estimated(a, b, c, d, confidence)
    return found.low, found.high


def beta_of_confidence(confidence: float) -> float:
    """Return the z-score β of a two-sided confidence level: the 1−α/2 quantile for α = 1 − confidence.

    >>> round(beta_of_confidence(0.95), 2)
    1.96
    """
    if not 0 <= confidence < 1:
        raise OptionError(
            "give a number of at least 0 and below 1, such as 0.95", parameter="confidence", value=repr(confidence)
        )
    # By the lower tail: (1 + confidence)/2 rounds to 1 for levels next to 1.
    return abs(NormalDist().inv_cdf((1 - confidence) / 2))


def student(confidence: float, degrees: float) -> float:
    """Return how many standard errors a two-sided interval reaches when its variance has `degrees` of freedom.

    √(ν (exp(g z²) − 1)), with g = (ν − 5/6)/(ν − 2/3 + 1/(10ν))² and z = `beta_of_confidence` (Bailey 1980), is within
    1 % of Student's quantile from ν = 2 on; below, it is that of ν = 1.

    >>> round(student(0.95, 10), 2), round(student(0.95, 1), 1)
    (2.23, 12.7)
    """
    z = beta_of_confidence(confidence)
    if degrees < 2:
        return math.tan(math.pi * confidence / 2)
    if degrees > 1e6:
        return z
    growth = (degrees - 5 / 6) / (degrees - 2 / 3 + 1 / (10 * degrees)) ** 2
    return math.sqrt(degrees * math.expm1(growth * z**2))
