"""P-values of rules that were named before looking at the rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

# p is found to this relative precision, and is at least the smallest that intervals can distinguish from 0.
_PRECISION, _LEAST = 1e-4, 1e-15


def two_sided(interval: Callable[[float], tuple[float, float]]) -> float:
    """Return the smallest error rate at which an interval excludes 0: p of the two-sided test that it inverts.

    So p is at most 5 % exactly where the 95 % interval excludes 0. `interval` returns both ends for a confidence; they
    move apart as it grows.

    >>> from causalrules.estimators.intervals import beta_of_confidence
    >>> round(two_sided(lambda confidence: (2 - beta_of_confidence(confidence), 2 + beta_of_confidence(confidence))), 4)
    0.0455
    """

    def excludes(p: float) -> bool:
        low, high = interval(1 - p)
        return low > 0 or high < 0

    if not excludes(1.0):
        return 1.0
    if excludes(_LEAST):
        return _LEAST
    # Bisect the logarithm: the interval excludes 0 at the larger of two error rates, and includes it at the smaller.
    includes, larger = math.log(_LEAST), 0.0
    while larger - includes > _PRECISION:
        middle = (includes + larger) / 2
        includes, larger = (includes, middle) if excludes(math.exp(middle)) else (middle, larger)
    return math.exp(larger)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return Holm's adjusted p-values (1979): the i-th smallest of m times m − i + 1, made monotone, at most 1.

    >>> [round(p, 10) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(order):
        # Rules without a p-value count in m.
        largest = max(largest, min(1.0, p * (len(p_values) - rank)))
        adjusted[place] = largest
    return adjusted
