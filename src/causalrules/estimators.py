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
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causalrules.exceptions import OptionError

Floats = NDArray[np.float64]

ESTIMATORS = ("reliable", "plugin", "wracc", "association")


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


def contingency(
    stratum: NDArray[Any], outcome: NDArray[Any], covered: NDArray[np.bool_], weights: ArrayLike | None, n_strata: int
) -> NDArray[np.int64]:
    """Count the contingency table of a rule in each stratum.

    Parameters
    ----------
    stratum
        Number of each row's stratum, from 0 to n_strata − 1.
    outcome
        Whether the outcome happened in each row.
    covered
        Whether the rule holds in each row.
    weights
        How often each row counts; None if each counts once.
    n_strata
        Number of strata; those without rows get a table of zeros.

    Returns
    -------
    ndarray of shape (4, n_strata)
        The counts a, b, c and d.

    Examples
    --------
    >>> rule, happened = np.array([True, True, False]), np.array([True, False, True])
    >>> contingency(np.array([0, 0, 1]), happened, rule, [1, 5, 2], 2).tolist()
    [[1, 0], [5, 0], [0, 2], [0, 0]]
    """
    cell = 4 * stratum.astype(np.int64) + 2 * ~covered + ~outcome.astype(np.bool_)
    counts: NDArray[np.int64] = np.bincount(cell, weights, minlength=4 * n_strata).astype(np.int64)
    return counts.reshape(n_strata, 4).T


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


def objective(estimator: str, a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike, beta: float = 2.0) -> float:
    """Return the number that the search maximises with this estimator.

    "reliable" is `reliable_effect`, "plugin" `plugin_effect`, "wracc" `wracc`, "association" `association`.

    >>> round(objective("association", 161, 9, 181, 540), 5)
    0.69602
    """
    match estimator:
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


def population_effect(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> tuple[float, float]:
    """Return `effect` and its standard error as an estimate for the population that the rows were drawn from.

    √( standard_error² + Σ_z (n_z/N′) · (τ_z − effect)² / N′ ), with τ_z = a/(a+b) − c/(c+d)

    The second term is the chance in how many rows fall into each stratum.

    >>> effect, error = population_effect([81, 192], [6, 71], [234, 55], [36, 25])
    >>> round(effect, 3), round(error, 4)
    (0.054, 0.0341)
    """
    *table, weight = _compared(a, b, c, d)
    if not weight.size:
        return float("nan"), float("nan")
    a, b, c, d = table
    difference = a / (a + b) - c / (c + d)
    mean = float(np.sum(weight * difference))
    between = float(np.sum(weight * (difference - mean) ** 2) / np.sum(table))
    return mean, float(np.sqrt(_variance_within(a, b, c, d, weight) + between))


def risk_ratio(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> tuple[float, float]:
    """Return p_do_rule / p_do_not_rule and the standard error of its logarithm.

    RR = p/q, with p = p_do_rule and q = p_do_not_rule; √( var(p)/p² + var(q)/q² ) by the delta method

    The variances are those of `standard_error`. Where p or q is 0, half a row is added to every cell.

    >>> ratio, error = risk_ratio(161, 9, 181, 540)
    >>> round(ratio, 3), round(error, 4)
    (3.773, 0.0671)
    """
    a, b, c, d, weight = _compared(a, b, c, d)
    if not weight.size:
        return float("nan"), float("nan")
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
