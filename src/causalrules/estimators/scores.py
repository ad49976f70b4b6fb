"""The objectives of the search and their parts: formulas of the paper (§3.2) and of the pooled score.

`estimators.sides` defines tables and sides. An undefined value is nan.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from causalrules.estimators.sides import Floats, Side, both, both_sides, comparable, ratio_of, share_of, tables
from causalrules.exceptions import OptionError
from causalrules.question import ESTIMATORS

# Pseudo-rows that the pooled estimator adds to each side, at the mean of the stratum's compared rows.
KAPPA = 2.0


def _standardised(share: Floats, a: Floats, b: Floats, c: Floats, d: Floats) -> float:
    """Return Σ_z share_z · n_z/N′ over the strata with both sides."""
    inside = both_sides(a, b, c, d)
    rows = (a + b + c + d)[inside]
    return ratio_of(np.sum(share[inside] * rows), np.sum(rows))


def reliable_difference(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike, beta: float = 2.0) -> Any:
    """Return the Laplace-corrected difference minus its confidence terms, for one stratum or for each.

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
    a, b, c, d = tables(a, b, c, d)
    rows = a + b + c + d + 4
    weights: Floats = rows / np.sum(rows)
    return weights


def reliable_effect(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike, beta: float = 2.0) -> float:
    """Return the reliable estimate of the effect of a rule, the paper's r(σ).

    r(σ) = Σ_z λ_z · (n_z+4)/(N+4K)

    >>> round(reliable_effect(161, 9, 181, 540, beta=2), 5)
    0.57669
    """
    a, b, c, d = tables(a, b, c, d)
    return float(np.sum(reliable_difference(a, b, c, d, beta) * reliable_weights(a, b, c, d)))


def plugin_effect(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> float:
    """Return the plug-in estimate, with a difference of 0 in strata without both sides.

    ê(σ) = Σ_z (a/(a+b) − c/(c+d)) · n_z/N

    The estimator "plugin" maximises it. It equals effect · overlap.

    >>> round(plugin_effect([81, 192], [6, 71], [234, 55], [36, 25]), 3)
    0.054
    """
    a, b, c, d = tables(a, b, c, d)
    inside = both_sides(a, b, c, d)
    difference = share_of(a, a + b) - share_of(c, c + d)
    rows = a + b + c + d
    return ratio_of(np.sum(difference[inside] * rows[inside]), np.sum(rows))


def overlap(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> float:
    """Return the share of the rows in strata with both sides: N′/N.

    >>> overlap([1, 2], [1, 2], [1, 0], [1, 0])
    0.5
    """
    a, b, c, d = tables(a, b, c, d)
    rows = a + b + c + d
    return ratio_of(np.sum(rows[both_sides(a, b, c, d)]), np.sum(rows))


def p_do_rule(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> float:
    """Return the probability of the outcome where the rule holds, adjusted for the controls.

    p(y | do(σ)) = Σ_z a/(a+b) · n_z/N′, over the strata with both sides

    Treatment A for kidney stones, adjusted for their size:

    >>> round(p_do_rule([81, 192], [6, 71], [234, 55], [36, 25]), 3)
    0.833
    """
    a, b, c, d = tables(a, b, c, d)
    return _standardised(share_of(a, a + b), a, b, c, d)


def p_do_not_rule(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> float:
    """Return the probability of the outcome where the rule does not hold, adjusted for the controls.

    p(y | do(not σ)) = Σ_z c/(c+d) · n_z/N′, over the strata with both sides

    >>> round(p_do_not_rule([81, 192], [6, 71], [234, 55], [36, 25]), 3)
    0.779
    """
    a, b, c, d = tables(a, b, c, d)
    return _standardised(share_of(c, c + d), a, b, c, d)


def effect(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> float:
    """Return the adjusted effect, over the rows with a comparison group; nan if there are none.

    e(σ) = Σ_z (a/(a+b) − c/(c+d)) · n_z/N′, over the strata with both sides

    >>> round(effect([81, 192], [6, 71], [234, 55], [36, 25]), 3)
    0.054
    """
    a, b, c, d = tables(a, b, c, d)
    return _standardised(share_of(a, a + b) - share_of(c, c + d), a, b, c, d)


def association(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike, *, laplace: bool = False) -> float:
    """Return the unadjusted difference: the plug-in estimate on the pooled table.

    a/(a+b) − c/(c+d), with a = Σ_z a_z and so on; with `laplace`, one is added to each of the four cells.

    Unadjusted for the size of the stones, treatment A looks worse (Simpson's paradox):

    >>> round(association([81, 192], [6, 71], [234, 55], [36, 25]), 3)
    -0.046
    """
    a, b, c, d = (float(np.sum(table)) + laplace for table in tables(a, b, c, d))
    return ratio_of(a, a + b) - ratio_of(c, c + d)


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
    a, b, c, d = (float(np.sum(table)) + laplace for table in tables(a, b, c, d))
    n = a + b + c + d
    return ratio_of(a - ratio_of((a + b) * (a + c), n), n)


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

    The other strata contribute neither to the estimate nor to its variance.

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
    """Return the variance for the margin of a target with `n_levels` levels.

    V for two levels, whose mean determines their variance; for more, the larger of V and `own_variance`: a rule without
    an effect on the mean can still affect the spread.
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


def widened(variance: float, reach: float, error: float, binary: bool) -> tuple[float, float]:
    """Return variance and reach for a margin of an estimate with at least this standard error.

    One row of a binary outcome moves an estimate as far as before; values that vary more also reach farther.

    >>> widened(0.25, 0.125, 1.0, binary=True), widened(0.25, 0.125, 1.0, binary=False)
    ((1.0, 0.125), (1.0, 0.25))
    """
    if not error**2 > variance > 0:
        return variance, reach
    return error**2, reach if binary else reach * error / float(np.sqrt(variance))


def objective(estimator: str, a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike, beta: float = 2.0) -> float:
    """Return the objective of an estimator, for a binary outcome.

    "pooled" is `pooled_effect` minus `pooled_margin` with β√V (0 where no stratum has both sides and both outcomes: the
    search ignores such rules), "reliable" is `reliable_effect`, "plugin" `plugin_effect`, "wracc" `wracc`,
    "association" `association`.

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
