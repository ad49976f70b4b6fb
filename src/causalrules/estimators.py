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


def mean_variance(side: Side, compared: Side) -> Floats:
    """Return the variance of a side's mean, for each stratum.

    s²/n with s² = Σ(y − ȳ)²/(n − 1) of the side's own rows, and of all compared rows where the side has one row
    """
    own = _share(side.variance * side.n, np.maximum(side.n - 1, 0))
    shared = _share(compared.variance * compared.n, np.maximum(compared.n - 1, 0))
    return _share(np.where(side.n > 1, own, shared), side.n)


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
    found: Floats = np.where((covered.n > 0) & (failing.n > 0), difference, 0.0)
    return found


def pooled_effect(covered: Side, failing: Side, everything: Side) -> float:
    """Return the pooled estimate of the effect, before its margin: Σ_z w δ_z, with w = n_z/N.

    >>> women, others = Side.binary(161, 9), Side.binary(181, 540)
    >>> round(pooled_effect(women, others, Side.binary(342, 549)), 4)
    0.6891
    """
    weight = everything.n / np.sum(everything.n)
    return float(np.sum(weight * pooled_difference(covered, failing)))


def pooled_variance(covered: Side, failing: Side, everything: Side) -> float:
    """Return the variance of the pooled estimate if the rule had no effect.

    V = Σ_z w² s² (1/(k + κ) + 1/(f + κ)), with s² the variance of the target over the k + f compared rows

    >>> women, others = Side.binary(161, 9), Side.binary(181, 540)
    >>> round(pooled_variance(women, others, Side.binary(342, 549)) ** 0.5, 4)
    0.0413
    """
    weight = everything.n / np.sum(everything.n)
    spread = 1 / (covered.n + KAPPA) + 1 / (failing.n + KAPPA)
    return float(np.sum(weight**2 * np.nan_to_num(both(covered, failing).variance) * spread))


def pooled_reach(covered: Side, failing: Side, everything: Side, span: ArrayLike) -> float:
    """Return the most that one row can move the pooled estimate, Bernstein's b.

    b = max_z w (y_max − y_min) (1/(k + κ) + 1/(f + κ)) over the strata with both sides; `span` is y_max − y_min, of the
    compared rows
    """
    weight = everything.n / np.sum(everything.n)
    reach = weight * np.asarray(span, np.float64) * (1 / (covered.n + KAPPA) + 1 / (failing.n + KAPPA))
    return float(np.max(np.where((covered.n > 0) & (failing.n > 0), reach, 0.0), initial=0.0))


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

    "pooled" is `pooled_effect` minus `pooled_margin` with β√V, "reliable" is `reliable_effect`, "plugin"
    `plugin_effect`, "wracc" `wracc`, "association" `association`.

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


def share_variance(a: ArrayLike, b: ArrayLike) -> Floats:
    """Return the variance of the share a/(a+b), for one stratum or for each.

    p̃(1−p̃)/(a+b), with p̃ = (a+1)/(a+b+2)

    One success and one failure are added (Agresti & Caffo 2000), so that the variance is above 0 where the outcome
    always or never happened.

    >>> share_variance([5, 2], [0, 2]).round(3).tolist()
    [0.024, 0.062]
    """
    a, b = _tables(a, b)
    p = (a + 1) / (a + b + 2)
    variance: Floats = p * (1 - p) / (a + b)
    return variance


def standard_error(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> float:
    """Return the binomial standard error of `effect`.

    √ Σ_z (n_z/N′)² · [p̃(1−p̃)/(a+b) + q̃(1−q̃)/(c+d)], with p̃ = (a+1)/(a+b+2), q̃ = (c+1)/(c+d+2)

    The variances are those of `share_variance`. Only they are corrected: correcting the shares too would pull the
    effect of many small strata towards 0.

    >>> round(standard_error(161, 9, 181, 540), 4)
    0.0242
    >>> standard_error(5, 0, 0, 5) > 0
    True
    """
    *_, weight = table = _compared(a, b, c, d)
    return float(np.sqrt(_variance_within(*table))) if weight.size else float("nan")


def _variance_within(a: Floats, b: Floats, c: Floats, d: Floats, weight: Floats) -> float:
    return float(np.sum(weight**2 * (share_variance(a, b) + share_variance(c, d))))


def population_effect(covered: Side, failing: Side, everything: Side, binary: bool = True) -> tuple[float, float]:
    """Return the adjusted effect for the population the rows are a sample of, and its standard error.

    effect = Σ_z w_z τ_z, with τ_z the difference of means, w_z = n_z/N′ over the strata with both sides, N′ their rows
    variance = Σ_z w_z² [var(mean covered) + var(mean failing)] + Σ_z w_z (τ_z − effect)² / N′

    The first term is chance within the strata: `share_variance` for an outcome that happens or not, `mean_variance`
    for other targets. The second is chance in how many rows fall into each stratum.

    >>> covered, failing, everything = Side.binary(161, 9), Side.binary(181, 540), Side.binary(342, 549)
    >>> [round(number, 4) for number in population_effect(covered, failing, everything)]
    [0.696, 0.0242]
    """
    inside = comparable(covered, failing)
    if not inside.any():
        return float("nan"), float("nan")
    left, right, rows = (Side(*(array[inside] for array in side)) for side in (covered, failing, everything))
    weight = rows.n / np.sum(rows.n)
    difference = left.mean - right.mean
    effect = float(np.sum(weight * difference))
    if binary:
        variance = sum(share_variance(side.total, side.n - side.total) for side in (left, right))
    else:
        variance = mean_variance(left, both(left, right)) + mean_variance(right, both(left, right))
    within = np.sum(weight**2 * variance)
    between = np.sum(weight * (difference - effect) ** 2) / np.sum(rows.n)
    return effect, float(np.sqrt(within + between))


def risk_ratio(
    a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike, rows: ArrayLike | None = None
) -> tuple[float, float]:
    """Return p_do_rule / p_do_not_rule and the standard error of its logarithm.

    RR = p/q, with p = p_do_rule and q = p_do_not_rule; √( var(p)/p² + var(q)/q² ) by the delta method

    The variances are those of `standard_error`. Where p or q is 0, half a row is added to every cell. `rows` are all
    rows of each stratum, where some are not compared.

    >>> ratio, error = risk_ratio(161, 9, 181, 540)
    >>> round(ratio, 3), round(error, 4)
    (3.773, 0.0671)
    """
    inside = _both_sides(*_tables(a, b, c, d))
    a, b, c, d, weight = _compared(a, b, c, d)
    if not weight.size:
        return float("nan"), float("nan")
    if rows is not None:
        weight = np.asarray(rows, np.float64)[inside] / np.sum(np.asarray(rows, np.float64)[inside])
    variances = [np.sum(weight**2 * share_variance(*side)) for side in ((a, b), (c, d))]
    if not (a.any() and c.any()):
        a, b, c, d = a + 0.5, b + 0.5, c + 0.5, d + 0.5
    p, q = float(np.sum(weight * a / (a + b))), float(np.sum(weight * c / (c + d)))
    return p / q, float(np.sqrt(variances[0] / p**2 + variances[1] / q**2))


def interval(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike, confidence: float = 0.95) -> tuple[float, float]:
    """Return the two-sided normal interval of `effect`, clipped to [−1, 1].

    effect ± β(confidence) · standard_error

    It ignores the search: it is valid for a rule that was chosen before looking at the data.

    >>> low, high = interval(161, 9, 181, 540)
    >>> round(low, 3), round(high, 3)
    (0.649, 0.743)
    """
    middle = effect(a, b, c, d)
    reach = beta_of_confidence(confidence) * standard_error(a, b, c, d)
    return float(np.maximum(middle - reach, -1.0)), float(np.minimum(middle + reach, 1.0))


def beta_of_confidence(confidence: float) -> float:
    """Return the z-score β of a two-sided confidence level: the 1−α/2 quantile for α = 1 − confidence.

    >>> round(beta_of_confidence(0.95), 2)
    1.96
    """
    if not 0 <= confidence < 1:
        raise OptionError(
            "give a number of at least 0 and below 1, such as 0.95", parameter="confidence", value=repr(confidence)
        )
    return NormalDist().inv_cdf((1 + confidence) / 2)


def confidence_of_beta(beta: float) -> float:
    """Return the two-sided confidence level of a z-score β.

    >>> round(confidence_of_beta(2), 4)
    0.9545
    """
    if not 0 <= beta < float("inf"):
        raise OptionError(f"beta is {beta!r}; it must be a finite number of at least 0, such as 2.0")
    return 2 * NormalDist().cdf(beta) - 1
