"""The formulas of the paper (§3.2) and of the trust reports, one function each.

Every estimate takes the contingency tables of a rule σ and an outcome y, one table per stratum z of the
controls, as four numbers or four arrays of equal length (`contingency` counts them):

| | y | not y |
|---|---|---|
| σ holds | a | b |
| σ does not hold | c | d |

With n_z = a+b+c+d, N = Σ_z n_z and K = the number of strata. N′ is the number of rows in strata with both sides, that
is, with rows where σ holds and rows where it does not. A value that is undefined is nan.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causalrules.exceptions import OptionError
from causalrules.question import ESTIMATORS

Floats = NDArray[np.float64]

# Pseudo-rows at the mean of a stratum's compared rows that the pooled estimator adds to each side.
KAPPA = 2.0


def side_of(stratum: NDArray[Any], y: Floats, weights: ArrayLike, chosen: NDArray[np.bool_], n_strata: int) -> Side:
    """Return the chosen rows of each stratum, each counted as often as its weight says, as a side.

    >>> rows = np.array([0, 0, 1]), np.array([1.0, 3.0, 5.0]), np.array([1, 2, 1])
    >>> side_of(*rows, np.array([True, True, False]), 2).mean.tolist()
    [2.3333333333333335, nan]
    """
    where, weight, value = stratum[chosen], np.asarray(weights, np.float64)[chosen], y[chosen]
    n, total, squares = (np.bincount(where, weight * power, n_strata) for power in (1.0, value, value**2))
    return Side(n.astype(np.float64), total.astype(np.float64), squares.astype(np.float64))


class Side(NamedTuple):
    """Rows of each stratum: how many they are, and the sums of their target and of its squares.

    For an outcome that happens or not, both sums are the number of rows where it happens.
    """

    n: Floats
    total: Floats
    squares: Floats

    @classmethod
    def binary(cls, positive: ArrayLike, negative: ArrayLike) -> Side:
        """Return the rows with and without an outcome as a side."""
        a, b = _tables(positive, negative)
        return cls(a + b, a, a)

    @property
    def mean(self) -> Floats:
        """Mean of the target in each stratum; nan without rows."""
        return _share(self.total, self.n)

    @property
    def variance(self) -> Floats:
        """Variance of the target in each stratum, over n; nan without rows."""
        return np.maximum(_share(self.squares, self.n) - self.mean**2, 0.0)


def _tables(*counts: ArrayLike) -> tuple[Floats, ...]:
    return tuple(np.atleast_1d(np.asarray(count, dtype=np.float64)) for count in counts)


def _share(part: Floats, whole: Floats) -> Floats:
    """Return part / whole, and nan where the whole is 0."""
    share: Floats = np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=whole > 0)
    return share


def _ratio(part: Any, whole: Any) -> float:
    return float(part) / float(whole) if whole > 0 else float("nan")


def _both_sides(a: Floats, b: Floats, c: Floats, d: Floats) -> NDArray[np.bool_]:
    return (a + b > 0) & (c + d > 0)


def _standardised(share: Floats, a: Floats, b: Floats, c: Floats, d: Floats) -> float:
    """Return Σ_z share_z · n_z/N′ over the strata with both sides."""
    inside = _both_sides(a, b, c, d)
    rows = (a + b + c + d)[inside]
    return _ratio(np.sum(share[inside] * rows), np.sum(rows))


def _compared(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> tuple[Floats, ...]:
    """Return a, b, c and d of the strata with both sides, and the weight n_z/N′ of each."""
    tables = np.array(_tables(a, b, c, d))
    tables = tables[:, _both_sides(*tables)]
    rows = tables.sum(axis=0)
    return (*tables, rows / rows.sum() if rows.size else rows)


def reliable_difference(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike, beta: float = 2.0) -> Any:
    """Return the Laplace-corrected difference less its confidence terms, for one stratum or for each.

    λ_z = (a+1)/(a+b+2) − (c+1)/(c+d+2) − β/(2√(a+b+2)) − β/(2√(c+d+2))

    On the Titanic, 161 of 170 women of the first two classes survived, and 181 of the other 721 passengers:

    >>> round(float(reliable_difference(161, 9, 181, 540, beta=2)), 5)
    0.57669
    """
    a, b, c, d = (np.asarray(count, dtype=np.float64) for count in (a, b, c, d))
    covered, uncovered = a + b + 2, c + d + 2
    return (a + 1) / covered - (c + 1) / uncovered - beta / (2 * np.sqrt(covered)) - beta / (2 * np.sqrt(uncovered))


def reliable_weights(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> Floats:
    """Return the weight of each stratum in the reliable effect: (n_z+4)/(N+4K).

    >>> reliable_weights([1, 10], [1, 30], [1, 20], [1, 28]).tolist()
    [0.08, 0.92]
    """
    a, b, c, d = _tables(a, b, c, d)
    rows = a + b + c + d + 4
    weights: Floats = rows / np.sum(rows)
    return weights


def reliable_effect(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike, beta: float = 2.0) -> float:
    """Return the reliable estimate of the effect of a rule, the paper's r(σ).

    r(σ) = Σ_z λ_z · (n_z+4)/(N+4K)

    >>> round(reliable_effect(161, 9, 181, 540, beta=2), 5)
    0.57669
    """
    a, b, c, d = _tables(a, b, c, d)
    return float(np.sum(reliable_difference(a, b, c, d, beta) * reliable_weights(a, b, c, d)))


def plugin_effect(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> float:
    """Return the plug-in estimate, with a difference of 0 in strata without both sides.

    ê(σ) = Σ_z (a/(a+b) − c/(c+d)) · n_z/N

    The estimator "plugin" maximises it. It equals effect · overlap.

    >>> round(plugin_effect([81, 192], [6, 71], [234, 55], [36, 25]), 3)
    0.054
    """
    a, b, c, d = _tables(a, b, c, d)
    inside = _both_sides(a, b, c, d)
    difference = _share(a, a + b) - _share(c, c + d)
    rows = a + b + c + d
    return _ratio(np.sum(difference[inside] * rows[inside]), np.sum(rows))


def overlap(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> float:
    """Return the share of the rows in strata with both sides: N′/N.

    >>> overlap([1, 2], [1, 2], [1, 0], [1, 0])
    0.5
    """
    a, b, c, d = _tables(a, b, c, d)
    rows = a + b + c + d
    return _ratio(np.sum(rows[_both_sides(a, b, c, d)]), np.sum(rows))


def p_do_rule(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> float:
    """Return the probability of the outcome where the rule holds, adjusted for the controls.

    p(y | do(σ)) = Σ_z a/(a+b) · n_z/N′, over the strata with both sides

    Treatment A for kidney stones, adjusted for their size:

    >>> round(p_do_rule([81, 192], [6, 71], [234, 55], [36, 25]), 3)
    0.833
    """
    a, b, c, d = _tables(a, b, c, d)
    return _standardised(_share(a, a + b), a, b, c, d)


def p_do_not_rule(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> float:
    """Return the probability of the outcome where the rule does not hold, adjusted for the controls.

    p(y | do(not σ)) = Σ_z c/(c+d) · n_z/N′, over the strata with both sides

    >>> round(p_do_not_rule([81, 192], [6, 71], [234, 55], [36, 25]), 3)
    0.779
    """
    a, b, c, d = _tables(a, b, c, d)
    return _standardised(_share(c, c + d), a, b, c, d)


def effect(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> float:
    """Return the adjusted effect, over the rows with a comparison group; nan if there are none.

    e(σ) = Σ_z (a/(a+b) − c/(c+d)) · n_z/N′, over the strata with both sides

    >>> round(effect([81, 192], [6, 71], [234, 55], [36, 25]), 3)
    0.054
    """
    a, b, c, d = _tables(a, b, c, d)
    return _standardised(_share(a, a + b) - _share(c, c + d), a, b, c, d)


def association(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike, *, laplace: bool = False) -> float:
    """Return the unadjusted difference: the plug-in estimate on the pooled table.

    a/(a+b) − c/(c+d), with a = Σ_z a_z and so on; with `laplace`, one is added to each of the four cells.

    Unadjusted for the size of the stones, treatment A looks worse (Simpson's paradox):

    >>> round(association([81, 192], [6, 71], [234, 55], [36, 25]), 3)
    -0.046
    """
    a, b, c, d = (float(np.sum(table)) + laplace for table in _tables(a, b, c, d))
    return _ratio(a, a + b) - _ratio(c, c + d)


def marginal_effect(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> float:
    """Return the unadjusted effect: `association` without the Laplace correction.

    >>> round(marginal_effect([81, 192], [6, 71], [234, 55], [36, 25]), 3)
    -0.046
    """
    return association(a, b, c, d)


def wracc(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike, *, laplace: bool = False) -> float:
    """Return the weighted relative accuracy of the pooled table.

    p(σ) · (p(y | σ) − p(y)) = (a − (a+b)·(a+c)/N) / N, with a = Σ_z a_z and so on;
    with `laplace`, one is added to each of the four cells.

    >>> round(wracc(161, 9, 181, 540), 4)
    0.1075
    """
    a, b, c, d = (float(np.sum(table)) + laplace for table in _tables(a, b, c, d))
    n = a + b + c + d
    return _ratio(a - _ratio((a + b) * (a + c), n), n)


def comparable(covered: Side, failing: Side) -> NDArray[np.bool_]:
    """Return the strata in which the rule covers some rows and fails on some."""
    found: NDArray[np.bool_] = (covered.n > 0) & (failing.n > 0)
    return found


def standardised(values: Floats, covered: Side, failing: Side, everything: Side) -> float:
    """Return Σ_z value_z · n_z/N′ over the strata with both sides, N′ their rows; nan if there are none.

    With the differences of means as values, this is the adjusted effect of a rule.

    >>> covered, failing = Side.binary([81, 192], [6, 71]), Side.binary([234, 55], [36, 25])
    >>> round(standardised(covered.mean - failing.mean, covered, failing, Side.binary([315, 247], [42, 96])), 3)
    0.054
    """
    inside = comparable(covered, failing)
    rows = everything.n[inside]
    return _ratio(np.sum(values[inside] * rows), np.sum(rows))


def both(covered: Side, failing: Side) -> Side:
    """Return the rows that are compared, of both sides together."""
    return Side(*(left + right for left, right in zip(covered, failing, strict=True)))


def pooled_difference(covered: Side, failing: Side) -> Floats:
    """Return the difference of each stratum that the pooled estimator averages.

    δ_z = (S + κμ)/(k + κ) − (F + κμ)/(f + κ), and 0 where the rule covers nothing or fails nowhere

    k rows with sum S are covered, f rows with sum F are on the other side, μ is the mean of these k + f rows and κ = 2.

    >>> women, others = Side.binary(161, 9), Side.binary(181, 540)
    >>> pooled_difference(women, others).round(4).tolist()
    [0.6891]
    """
    mean = np.nan_to_num(both(covered, failing).mean)
    difference = (covered.total + KAPPA * mean) / (covered.n + KAPPA) - (failing.total + KAPPA * mean) / (
        failing.n + KAPPA
    )
    found: Floats = np.where(comparable(covered, failing), difference, 0.0)
    return found


def pooled_effect(covered: Side, failing: Side, everything: Side) -> float:
    """Return the pooled estimate of the effect, before its margin: Σ_z w δ_z, with w = n_z/N.

    >>> women, others = Side.binary(161, 9), Side.binary(181, 540)
    >>> round(pooled_effect(women, others, Side.binary(342, 549)), 4)
    0.6891
    """
    weight = everything.n / np.sum(everything.n)
    return float(np.sum(weight * pooled_difference(covered, failing)))


def pooled_variance(covered: Side, failing: Side, everything: Side, kappa: float = KAPPA) -> float:
    """Return the variance of the pooled estimate if the rule had no effect.

    V = Σ_z w² s² (1/(k + κ) + 1/(f + κ)) over the strata with both sides, with s² the variance of the target over the
    k + f compared rows

    The other strata add nothing to the estimate, and so nothing to its variance.

    >>> women, others = Side.binary(161, 9), Side.binary(181, 540)
    >>> round(pooled_variance(women, others, Side.binary(342, 549)) ** 0.5, 4)
    0.0413
    """
    inside = comparable(covered, failing)
    weight = (everything.n / np.sum(everything.n))[inside]
    spread = (1 / (covered.n[inside] + kappa)) + (1 / (failing.n[inside] + kappa))
    return float(np.sum(weight**2 * both(covered, failing).variance[inside] * spread))


def own_variance(covered: Side, failing: Side, everything: Side) -> float:
    """Return the variance of the pooled estimate where each side has the variance of its own rows.

    Σ_z w² q² kf (f s₁² + k s₀²)/(k + f)² over the strata with both sides, with q = 1/(k + κ) + 1/(f + κ), and s₁² and
    s₀² the variances of the k covered and the f other rows, over k − 1 and f − 1 (0 for a single row)

    >>> small = Side(np.array([4.0]), np.array([0.0]), np.array([400.0]))
    >>> large = Side(np.array([96.0]), np.array([0.0]), np.array([96.0]))
    >>> every = both(small, large)
    >>> round(pooled_variance(small, large, every), 2), round(own_variance(small, large, every), 2)
    (0.88, 15.38)
    """
    inside = comparable(covered, failing)
    weight = (everything.n / np.sum(everything.n))[inside]
    k, f = covered.n[inside], failing.n[inside]
    spread, other = (side.variance[inside] * n / np.maximum(n - 1, 1) for side, n in ((covered, k), (failing, f)))
    q = 1 / (k + KAPPA) + 1 / (f + KAPPA)
    return float(np.sum((weight * q / (k + f)) ** 2 * k * f * (f * spread + k * other)))


def margin_variance(covered: Side, failing: Side, everything: Side, n_levels: int = 2) -> float:
    """Return the variance that the margin of a target of so many levels rests on.

    V for two levels, whose mean decides their variance; for more, the larger of V and `own_variance`: without an effect
    on the mean, a rule can still have one on the spread.
    """
    variance = pooled_variance(covered, failing, everything)
    return variance if n_levels == 2 else max(variance, own_variance(covered, failing, everything))


def pooled_reach(covered: Side, failing: Side, everything: Side, span: ArrayLike) -> float:
    """Return the most that one row can move the pooled estimate, Bernstein's b.

    b = max_z w (y_max − y_min) (1/(k + κ) + 1/(f + κ)) over the strata with both sides; `span` is y_max − y_min, of the
    compared rows
    """
    weight = everything.n / np.sum(everything.n)
    reach = weight * np.asarray(span, np.float64) * (1 / (covered.n + KAPPA) + 1 / (failing.n + KAPPA))
    return float(np.max(np.where(comparable(covered, failing), reach, 0.0), initial=0.0))


def pooled_margin(beta: float, variance: float, reach: float = 0.0) -> float:
    """Return the margin that the pooled estimator subtracts.

    ε = β² b/6 + √((β² b/6)² + β² V), which is β√V without `reach` b

    A sum of independent centred terms with variance V, none above b, exceeds ε with probability at most exp(−β²/2)
    (Bernstein).

    >>> round(pooled_margin(2.0, 0.0413**2), 4)
    0.0826
    """
    offset = beta**2 * reach / 6
    return float(offset + np.sqrt(offset**2 + beta**2 * variance))


def objective(estimator: str, a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike, beta: float = 2.0) -> float:
    """Return the number that the search maximises under the name of an estimator, for an outcome that happens or not.

    "pooled" is `pooled_effect` minus `pooled_margin` with β√V (−inf where no stratum has both sides and both outcomes:
    such a rule is none), "reliable" is `reliable_effect`, "plugin" `plugin_effect`, "wracc" `wracc`, "association"
    `association`.

    >>> round(objective("association", 161, 9, 181, 540), 5)
    0.69602
    """
    match estimator:
        case "pooled":
            sides = Side.binary(a, b), Side.binary(c, d), Side.binary(np.add(a, c), np.add(b, d))
            variance = pooled_variance(*sides)
            return pooled_effect(*sides) - pooled_margin(beta, variance) if variance > 0 else -math.inf
        case "reliable":
            return reliable_effect(a, b, c, d, beta)
        case "plugin":
            return plugin_effect(a, b, c, d)
        case "wracc":
            return wracc(a, b, c, d)
        case "association":
            return association(a, b, c, d)
    raise OptionError(f"estimator is {estimator!r}; it must be one of {', '.join(map(repr, ESTIMATORS))}")


class SideMean(NamedTuple):
    """The mean of one side, averaged over the strata, its variance, and the rows and degrees of freedom it is worth."""

    mean: float
    variance: float
    rows: float
    degrees: float


def side_mean(side: Side, weight: Floats, binary: bool = True, spare: float = 0.0) -> SideMean:
    """Return Σ_z w_z ȳ_z of one side, where every stratum has rows of it, with its variance.

    Within the strata the variance of one row is, pooled over the strata that have more than one row of the side,

    s² = Σ_z w_z² s_z²/k_z / Σ_z w_z²/k_z, with s_z² = Σ(y − ȳ_z)²/(k_z − 1)

    (`spare` if no stratum has two), and m = 1/Σ_z w_z²/k_z rows of one sample would give a mean with the same variance
    s²/m. For an outcome that happens or not, with share p, s² is at most about p(1 − p), that of one sample. One
    outcome more, with the variance of one sample, keeps s² from being 0 where the outcome always or never happened and
    from resting on a handful of outcomes:

    s² ← p(1 − p) R, with R = (ν s² + 1)/(ν p(1 − p) + 1) and ν = Σ_z (k_z − 1)

    The mean is worth m/R rows. Its variance adds one row with and one without the outcome (Agresti & Caffo 2000):
    p̃(1 − p̃)R/m, with p̃ = (mp + 1)/(m + 2).

    >>> [round(number, 4) for number in side_mean(Side.binary([5], [0]), np.array([1.0]))]
    [1.0, 0.0245, 5.0, 4.0]
    """
    mean = float(np.sum(weight * side.mean))
    worth = weight**2 / side.n
    m = 1 / float(np.sum(worth))
    many = side.n > 1
    degrees = float(np.sum(side.n[many] - 1))
    own = (side.variance * side.n)[many] / (side.n[many] - 1)
    pooled = _ratio(np.sum(worth[many] * own), np.sum(worth[many]))
    if not binary:
        variance = np.sum(worth[many] * own) + np.sum(worth[~many]) * (pooled if many.any() else spare)
        spread = np.sum(worth[many] ** 2 / (side.n[many] - 1))
        return SideMean(mean, float(variance), m, _ratio(np.sum(worth[many]) ** 2, spread) if many.any() else 1.0)
    one_sample = mean * (1 - mean)
    within = (degrees * pooled + 1) / (degrees * one_sample + 1) if degrees * one_sample > 0 else 1.0
    p = (m * mean + 1) / (m + 2)
    return SideMean(mean, p * (1 - p) * within / m, m / within, degrees)


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


class Estimate(NamedTuple):
    """An adjusted effect with its standard error and its interval; nan where no stratum has both sides."""

    effect: float
    standard_error: float
    low: float
    high: float


def estimate(
    covered: Side,
    failing: Side,
    everything: Side,
    confidence: float = 0.95,
    *,
    binary: bool = True,
    population: bool = False,
) -> Estimate:
    """Return the adjusted effect of a rule that was chosen before looking at these rows, with its interval.

    effect = p − q, the means of both sides (`side_mean`), with w_z = n_z/N′ over the strata with both sides
    variance = var(p) + var(q), the standard error its root

    For an outcome that happens or not, the interval joins those of both sides (Newcombe 1998; Yan & Su 2010 with
    strata), from Wilson's (l, u) for a share of as many rows as the mean is worth:

    p − q − √((p − l_p)² + (u_q − q)²), p − q + √((u_p − p)² + (q − l_q)²)

    For means it is effect ± t · standard error, with the degrees of freedom of Welch and Satterthwaite.

    Parameters
    ----------
    covered, failing, everything
        The rows that the rule covers, those on which it fails, and all.
    confidence
        Confidence of the interval.
    binary
        Whether the outcome happens or not; otherwise it is a mean that counts.
    population
        Whether the effect is that of the population the rows are a sample of. The variance of how many rows fall into
        each stratum is then added: Σ_z w_z ((τ_z − effect)² − var(τ_z))/N′, τ_z the difference in stratum z, where
        that is above 0.

    Examples
    --------
    >>> [round(number, 4) for number in estimate(Side.binary(161, 9), Side.binary(181, 540), Side.binary(342, 549))]
    [0.696, 0.0242, 0.6405, 0.7352]
    """
    inside = comparable(covered, failing)
    if not inside.any():
        return Estimate(*[float("nan")] * 4)
    left, right, rows = (Side(*(array[inside] for array in side)) for side in (covered, failing, everything))
    weight = rows.n / np.sum(rows.n)
    compared = both(left, right)
    spare = _ratio(np.sum(compared.variance * compared.n), np.sum(np.maximum(compared.n - 1, 0)))
    p, q = (side_mean(side, weight, binary, spare) for side in (left, right))
    effect = p.mean - q.mean
    between = 0.0
    if population:
        # Chance within the strata, at the average variance of a row of each side, is no difference between them.
        chance = p.variance / np.sum(weight**2 / left.n) / left.n + q.variance / np.sum(weight**2 / right.n) / right.n
        unlike = np.sum(weight * ((left.mean - right.mean - effect) ** 2 - chance))
        between = max(0.0, float(unlike / np.sum(rows.n)))
    error = math.sqrt(p.variance + q.variance + between)
    if not binary:
        square = p.variance**2 / p.degrees + q.variance**2 / q.degrees
        reach = student(confidence, _ratio((p.variance + q.variance) ** 2, square) if square else math.inf) * error
        return Estimate(effect, error, effect - reach, effect + reach)
    z = beta_of_confidence(confidence)
    (low_p, high_p), (low_q, high_q) = (wilson(side.mean, side.rows, z) for side in (p, q))
    apart = z * math.sqrt(between)
    low = effect - math.hypot(p.mean - low_p, high_q - q.mean, apart)
    high = effect + math.hypot(high_p - p.mean, q.mean - low_q, apart)
    return Estimate(effect, error, max(low, -1.0), min(high, 1.0))


class Grouped(NamedTuple):
    """The standard error of an effect where rows belong together, its degrees of freedom, and the number of groups."""

    standard_error: float
    degrees: float
    n_groups: int


def grouped(
    stratum: NDArray[Any],
    y: Floats,
    counts: ArrayLike,
    sides: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    group: NDArray[np.int64],
    *,
    population: bool = False,
) -> Grouped:
    """Return the standard error of the adjusted effect when rows of a group belong together.

    variance = G/(G − 1) Σ_g (Σ_{i ∈ g} φ_i)², with φ_i = w_z (y_i − ȳ_z)/k_z on the covered side of stratum z, and its
    negative on the other, k_z the rows of that side there

    The scores of a side are multiplied by √(g/(g − 1)), g its groups in the stratum. With one group, whose mean is ȳ_z,
    the mean of both sides takes its place. The degrees of freedom are (Σ_g l_g)²/Σ_g l_g² − 1, where l_g is the square
    of what one group adds if all its scores are alike: few large groups are worth few.

    Parameters
    ----------
    stratum, y, counts
        The stratum and the target of each row, and how often it counts.
    sides
        The rows that the rule covers, and those on which it fails.
    group
        The group of each row.
    population
        Whether to add the chance in how many rows fall into each stratum, as in `estimate`.
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
    scores, reach = np.zeros(len(y)), np.zeros(len(y))
    for side, chosen, sign in ((covered, sides[0], 1.0), (failing, sides[1], -1.0)):
        rows = present & chosen
        pairs = np.unique(np.stack([stratum[rows], members[rows]]), axis=1)
        n_here = np.bincount(pairs[0], minlength=n_strata)
        factor = np.where(n_here > 1, np.sqrt(n_here / np.maximum(n_here - 1, 1)), 1.0)
        mean = np.where(n_here > 1, side.mean, compared)
        z = stratum[rows]
        each = weights[rows] * share[z] / side.n[z]
        scores[rows] += sign * each * factor[z] * (y[rows] - mean[z])
        reach[rows] += each
    if population:
        apart = covered.mean - failing.mean
        effect = np.sum(share[inside] * apart[inside])
        total = np.sum(everything.n[inside])
        scores[present] += weights[present] * (apart[stratum[present]] - effect) / total
    sums, alike = np.bincount(members, scores, n_groups), np.bincount(members, reach, n_groups) ** 2
    n_compared = int(np.count_nonzero(alike))
    variance = np.sum(sums**2) * n_compared / max(n_compared - 1, 1)
    degrees = _ratio(np.sum(alike) ** 2, np.sum(alike**2)) - 1
    return Grouped(float(np.sqrt(variance)), max(float(degrees), 1.0), n_compared)


def grouped_estimate(effect: float, found: Grouped, confidence: float = 0.95, *, binary: bool = True) -> Estimate:
    """Return an effect with its interval where rows belong together: effect ± t · standard error."""
    reach = student(confidence, found.degrees) * found.standard_error if found.n_groups else float("nan")
    farthest = 1.0 if binary else math.inf
    low, high = np.maximum(effect - reach, -farthest), np.minimum(effect + reach, farthest)
    return Estimate(effect, found.standard_error, float(low), float(high))


def _estimated(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike, confidence: float = 0.95) -> Estimate:
    a, b, c, d = _tables(a, b, c, d)
    return estimate(Side.binary(a, b), Side.binary(c, d), Side.binary(a + c, b + d), confidence)


def standard_error(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> float:
    """Return the standard error of `effect`, that of `estimate`.

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

    RR = p/q, with p = p_do_rule and q = p_do_not_rule; √( var(p)/p² + var(q)/q² ) by the delta method

    The variances are those of `side_mean`. Where p or q is 0, half a row is added to every cell. `rows` are all rows
    of each stratum, where some are not compared.

    >>> ratio, error = risk_ratio(161, 9, 181, 540)
    >>> round(ratio, 3), round(error, 4)
    (3.773, 0.0672)
    """
    inside = _both_sides(*_tables(a, b, c, d))
    a, b, c, d, weight = _compared(a, b, c, d)
    if not weight.size:
        return float("nan"), float("nan")
    if rows is not None:
        weight = np.asarray(rows, np.float64)[inside] / np.sum(np.asarray(rows, np.float64)[inside])
    variances = [side_mean(Side.binary(*side), weight).variance for side in ((a, b), (c, d))]
    if not (a.any() and c.any()):
        a, b, c, d = a + 0.5, b + 0.5, c + 0.5, d + 0.5
    p, q = float(np.sum(weight * a / (a + b))), float(np.sum(weight * c / (c + d)))
    return p / q, float(np.sqrt(variances[0] / p**2 + variances[1] / q**2))


def interval(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike, confidence: float = 0.95) -> tuple[float, float]:
    """Return the two-sided interval of `effect`, that of `estimate`.

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
    # By the lower tail: half of 1 + confidence is 1 for levels next to 1.
    return abs(NormalDist().inv_cdf((1 - confidence) / 2))


def student(confidence: float, degrees: float) -> float:
    """Return how many standard errors a two-sided interval reaches when its variance has so many degrees of freedom.

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


def confidence_of_beta(beta: float) -> float:
    """Return the two-sided confidence level of a z-score β.

    >>> round(confidence_of_beta(2), 4)
    0.9545
    """
    if not 0 <= beta < float("inf"):
        raise OptionError(f"beta is {beta!r}; it must be a finite number of at least 0, such as 2.0")
    return 2 * NormalDist().cdf(beta) - 1
