"""Whether two columns are independent within strata, as a draw by lot makes them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Eigenvalues below this share of the largest are rounding errors.
_ZERO = 1e-9


class Test(NamedTuple):
    """A statistic with a χ² distribution under independence, and its degrees of freedom."""

    statistic: float
    degrees: int

    @property
    def p_value(self) -> float:
        """Probability of a statistic as large under independence."""
        return chi_square_tail(self.statistic, self.degrees)


def drawn(a: Floats, b: Floats, stratum: NDArray[Any], counts: NDArray[Any]) -> Test:
    """Test whether rows of features a and b go together within strata, if a was drawn by lot there.

    T = Σ_i n_i a_i b_iᵀ with features centred in their stratum. If a is shuffled within each stratum z, T has mean 0
    and covariance V = Σ_z A_z ⊗ B_z / (n_z − 1), A_z = Σ_i n_i a_i a_iᵀ and B_z alike (Strasser & Weber 1999). The
    statistic Tᵀ V⁺ T is χ² with rank(V) degrees of freedom. Ranks give Wilcoxon's, van Elteren's and Spearman's tests,
    indicators those of Pearson and of Cochran, Mantel and Haenszel.

    Parameters
    ----------
    a, b
        One row for each unit, one column for each feature.
    stratum, counts
        The stratum of each unit, from 0, and how often it counts.
    """
    n_strata = int(stratum.max()) + 1 if len(stratum) else 0
    n = np.bincount(stratum, counts, n_strata)
    a, b = (centred(each, stratum, counts) for each in (a, b))
    together = (a * counts[:, None]).T @ b
    ours, theirs = (_products(each, stratum, counts, n_strata) for each in (a, b))
    free = np.where(n > 1, 1 / np.maximum(n - 1, 1), 0.0)
    covariance = np.einsum("z,zij,zkl->ikjl", free, ours, theirs)
    return _quadratic(together.ravel(), covariance.reshape(together.size, together.size))


def flipped(a: Floats, b: Floats, stratum: NDArray[Any], counts: NDArray[Any], group: NDArray[np.int64]) -> Test:
    """Test as `drawn` does where a varies within groups of dependent units, by flipping the signs of whole groups.

    V = Σ_g T_g T_gᵀ, T_g what group g adds to T.
    """
    a, b = (centred(each, stratum, counts) for each in (a, b))
    each = (a[:, :, None] * (b * counts[:, None])[:, None, :]).reshape(len(a), -1)
    n_groups = int(group.max()) + 1 if len(group) else 0
    sums: Floats = np.column_stack([np.bincount(group, column, n_groups) for column in each.T])
    covariance: Floats = sums.T @ sums
    return _quadratic(sums.sum(axis=0), covariance)


def centred(features: Floats, stratum: NDArray[Any], counts: NDArray[Any]) -> Floats:
    """Return features less their means in each stratum."""
    n_strata = int(stratum.max()) + 1 if len(stratum) else 0
    n = np.maximum(np.bincount(stratum, counts, n_strata), 1e-300)
    means = [np.bincount(stratum, counts * column, n_strata) / n for column in features.T]
    found: Floats = features - np.column_stack(means)[stratum]
    return found


def chi_square_tail(x: float, degrees: int) -> float:
    """Return P(χ² ≥ x), by its closed forms for even and odd degrees of freedom.

    >>> [round(chi_square_tail(x, k), 4) for x, k in [(3.8415, 1), (5.9915, 2), (7.8147, 3), (18.307, 10)]]
    [0.05, 0.05, 0.05, 0.05]
    """
    if degrees < 1 or not x > 0:
        return 1.0
    half, odd = x / 2, degrees % 2
    total = math.erfc(math.sqrt(half)) if odd else 0.0
    for place in range(degrees // 2):
        power = place + odd / 2
        total += math.exp(power * math.log(half) - half - math.lgamma(power + 1))
    return min(total, 1.0)


def _products(features: Floats, stratum: NDArray[Any], counts: NDArray[Any], n_strata: int) -> Floats:
    """Return Σ n_i f_i f_iᵀ of each stratum."""
    if n_strata == 1:
        whole: Floats = (features * counts[:, None]).T @ features
        return whole[None]
    n_features = features.shape[1]
    found = np.empty((n_strata, n_features, n_features))
    for i in range(n_features):
        for j in range(i, n_features):
            found[:, i, j] = found[:, j, i] = np.bincount(stratum, counts * features[:, i] * features[:, j], n_strata)
    return found


def _quadratic(together: Floats, covariance: Floats) -> Test:
    """Return Tᵀ V⁺ T with the rank of V."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > _ZERO * max(float(values[-1]), 0.0) if len(values) else np.zeros(0, np.bool_)
    parts = (vectors.T @ together)[kept]
    return Test(float(np.sum(parts**2 / values[kept])), int(np.count_nonzero(kept)))
