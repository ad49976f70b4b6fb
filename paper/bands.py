"""Confidence bands for means of repeated experiments."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def simultaneous(comparisons: int, level: float = 0.95) -> float:
    """Return the number of standard errors for simultaneous confidence over several comparisons (Bonferroni)."""
    return NormalDist().inv_cdf(1 - (1 - level) / (2 * comparisons))


def wilson(share: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval of a share of n; unlike the normal one it has a width also at 0 and 1."""
    z = simultaneous(1, level)
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def mean_and_error(values: ArrayLike) -> tuple[float, float]:
    """Return the mean and its standard error."""
    numbers: Any = np.asarray(values, float)
    return float(numbers.mean()), float(numbers.std(ddof=1) / np.sqrt(len(numbers)))
