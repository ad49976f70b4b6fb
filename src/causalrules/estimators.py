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
    n, total = (np.bincount(where, weight * power, n_strata).astype(np.float64) for power in (1.0, value))
    # Distances from the mean, as the squares of large values lose the digits in which they differ.
    apart = value - _share(total, n)[where]
    squares = weight * apart * apart
    sums = (np.bincount(where, each, n_strata).astype(np.float64) for each in (squares, squares * apart))
    return Side(n, total, *sums)


class Side(NamedTuple):
    """Rows of each stratum: how many, the sum of their target, and how it spreads about its mean ȳ.

    scatter = Σ(y − ȳ)² and cubes = Σ(y − ȳ)³
    """

    n: Floats
    total: Floats
    scatter: Floats
    cubes: Floats

    @classmethod
    def binary(cls, positive: ArrayLike, negative: ArrayLike) -> Side:
        """Return the rows with and without an outcome as a side: scatter = ab/n, cubes = ab(b − a)/n²."""
        a, b = _tables(positive, negative)
        n = a + b
        scatter = a * b / np.maximum(n, 1.0)
        return cls(n, a, scatter, scatter * (b - a) / np.maximum(n, 1.0))

    @classmethod
    def of_levels(cls, counts: NDArray[Any], values: Floats) -> Side:
        """Return rows as a side from how many of each stratum (first axis) have each of these values.

        >>> Side.of_levels(np.array([[1, 0, 1]]), np.array([1.0, 2.0, 3.0])).scatter.tolist()
        [2.0]
        """
        n, total = counts.sum(axis=1).astype(np.float64), counts @ values
        apart = values - np.nan_to_num(_share(total, n))[:, None]
        return cls(n, total, *(np.sum(counts * apart**power, axis=1) for power in (2, 3)))

    @property
    def mean(self) -> Floats:
        """Mean of the target in each stratum; nan without rows."""
        return _share(self.total, self.n)

    @property
    def variance(self) -> Floats:
        """Variance of the target in each stratum, over n; nan without rows."""
        return _share(self.scatter, self.n)


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


def added(side: Side, place: NDArray[Any], n_places: int) -> Side:
    """Add up the rows of strata that have the same place.

    With δ the mean of a stratum less the mean of all rows at its place, the scatter is Σ_z (S_z + n_z δ²) and the cubes
    are Σ_z (C_z + 3δ S_z + n_z δ³), from the scatter S_z and the cubes C_z of each.

    >>> four = added(Side.binary([1, 1], [0, 2]), np.array([0, 0]), 1)
    >>> [float(number[0]) for number in four] == [float(number[0]) for number in Side.binary(2, 2)]
    True
    """
    n, total = (np.bincount(place, each, n_places).astype(np.float64) for each in (side.n, side.total))
    apart = np.nan_to_num(side.mean) - np.nan_to_num(_share(total, n))[place]
    scatter = side.scatter + side.n * apart**2
    cubes = side.cubes + 3 * apart * side.scatter + side.n * apart**3
    return Side(n, total, *(np.bincount(place, each, n_places).astype(np.float64) for each in (scatter, cubes)))


def both(covered: Side, failing: Side) -> Side:
    """Return the rows that are compared, of both sides together."""
    n_strata = len(covered.n)
    sides = Side(*(np.concatenate(pair) for pair in zip(covered, failing, strict=True)))
    return added(sides, np.tile(np.arange(n_strata), 2), n_strata)


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

    >>> small = Side.of_levels(np.array([[2, 2]]), np.array([-10.0, 10.0]))
    >>> large = Side.of_levels(np.array([[48, 48]]), np.array([-1.0, 1.0]))
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

    "pooled" is `pooled_effect` minus `pooled_margin` with β√V (0 where no stratum has both sides and both outcomes: no
    rule for the search), "reliable" is `reliable_effect`, "plugin" `plugin_effect`, "wracc" `wracc`, "association"
    `association`.

    >>> round(objective("association", 161, 9, 181, 540), 5)
    0.69602
    """
    match estimator:
        case "pooled":
            sides = Side.binary(a, b), Side.binary(c, d), Side.binary(np.add(a, c), np.add(b, d))
            return pooled_effect(*sides) - pooled_margin(beta, pooled_variance(*sides))
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
    """The mean of one side, averaged over the strata.

    Attributes
    ----------
    mean, variance, degrees
        The mean, its variance, and the degrees of freedom of that.
    rows
        For a share, the rows of one sample that it is worth.
    lean
        For a mean, its third cumulant over its variance: above 0, large values are the rare ones.
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
    degrees = _ratio(np.sum(worth[many]) ** 2, np.sum(worth[many] ** 2 / (side.n[many] - 1))) if many.any() else 0.0
    if alone is None:
        variance = float(np.sum(worth[many] * own[many]) / np.sum(worth[many])) if many.any() else 0.0
    else:
        variance = float(np.sum(worth * np.where(many, own, alone)) / np.sum(worth))
    return _Within(variance, degrees, 1 / float(np.sum(worth)))


def side_share(side: Side, weight: Floats) -> SideMean:
    """Return p = Σ_z w_z p_z, the share of one side with the outcome, where every stratum has rows of it.

    s² within the strata (`_within`; p(1 − p) where a stratum has one row) is at most about p(1 − p), that of one
    sample. One outcome more, with the variance of one sample, keeps s² from being 0 where the outcome always or never
    happened and from resting on a handful of rows, of however many strata:

    s² ← p(1 − p) R, with R = (ν s² + 1)/(ν p(1 − p) + 1), and ν ← ν + 1/(p(1 − p))

    The share is worth m/R rows. Its variance adds one row with and one without the outcome (Agresti & Caffo 2000):
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
    Johnson (1978) and Hall (1992), and Wilson's for an outcome that happens or not. The other end stays where it is:
    shorter, as theirs is, it would fail in heavy tails, whose third moments are uncertain.

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
    return _ratio(np.sum(compared.scatter), np.sum(compared.n - 1)), 0.0


def _between(apart: Floats, chance: Floats, rows: Floats) -> float:
    """Return the variance due to how many rows fall into each stratum: Σ_z w_z (apart_z² − chance_z)/N′, at least 0.

    `apart` is by how much a stratum's number differs from the average, `chance` the variance of that number.
    """
    n_rows = np.sum(rows)
    return max(0.0, float(np.sum(rows / n_rows * (apart**2 - chance)) / n_rows))


def estimate(
    covered: Side,
    failing: Side,
    everything: Side,
    confidence: float = 0.95,
    *,
    binary: bool = True,
) -> Estimate:
    """Return the adjusted effect of a rule that was chosen before looking at these rows, with its interval.

    effect = p − q, the means of both sides (`side_share`, `side_mean`), w_z = n_z/N′ over the strata with both sides
    variance = var(p) + var(q) + Σ_z w_z ((τ_z − effect)² − var(τ_z))/N′, the standard error its root

    The effect is that of the population the rows are a sample of: the last term, 0 where it is below 0, is chance in
    how many rows fall into each stratum, τ_z the difference in stratum z.

    The interval joins those of both sides, (l, u), and this term B (Newcombe 1998; Yan & Su 2010 with strata):

    p − q − √((p − l_p)² + (u_q − q)² + t²B), p − q + √((u_p − p)² + (q − l_q)² + t²B)

    For an outcome that happens or not they are Wilson's, of as many rows as the share is worth and with Student's t at
    the degrees of freedom of each side. For means they are those of `skewed`, with the degrees of freedom of Welch and
    Satterthwaite.

    Parameters
    ----------
    covered, failing, everything
        The rows that the rule covers, those on which it fails, and all.
    confidence
        Confidence of the interval.
    binary
        Whether the outcome happens or not; otherwise it is a mean that counts.

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
    # Chance within the strata, at the average variance of a row of each side, is no difference between them.
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
    """Return how many rows of a balanced experiment would tell as much about the effect: 4/Σ_z w_z² (1/k_z + 1/f_z).

    With w_z = n_z/N′ over the strata with both sides. It is the number of rows, half of them on each side and in one
    stratum, that would give the effect the same variance if that of a row is the same everywhere: at most N′, and less
    the fewer rows one side has where there are many. 0 if no stratum has both sides.

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
) -> Grouped:
    """Return the standard error of the adjusted effect when rows of a group belong together.

    variance = G/(G − 1) Σ_g (Σ_{i ∈ g} φ_i)², with φ_i = w_z (y_i − ȳ_z)/k_z on the covered side of stratum z, and its
    negative on the other, k_z the rows of that side there, plus (τ_z − effect)/N′ on every compared row, for chance in
    how many rows fall into each stratum, as in `estimate`

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
    apart = covered.mean - failing.mean
    effect = np.sum(share[inside] * apart[inside])
    scores[present] += weights[present] * (apart[stratum[present]] - effect) / np.sum(everything.n[inside])
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

    RR = p/q, with p = p_do_rule and q = p_do_not_rule; √( var(p)/p² + var(q)/q² + B ) by the delta method

    The variances are those of `side_share`; B = Σ_z w_z ((p_z/p − q_z/q)² − its variance)/N′ is chance in how many rows
    fall into each stratum. Where p or q is 0, half a row is added to every cell. `rows` are all rows of each stratum,
    where some are not compared.

    >>> ratio, error = risk_ratio(161, 9, 181, 540)
    >>> round(ratio, 3), round(error, 4)
    (3.773, 0.0672)
    """
    inside = _both_sides(*_tables(a, b, c, d))
    a, b, c, d, weight = _compared(a, b, c, d)
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
