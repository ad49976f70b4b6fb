"""Whether shuffled tables decide a verdict: the Monte Carlo error of p.

Of m shuffled tables, h have a rule as good as one of the list. If p were the error rate α, h would be in

    mα + (r² − 1)(1 − 2α)/6 ± r √(mα(1 − α)),   r = 3.29

with probability 99.9 % (normal quantiles with Cornish & Fisher's correction for skewness, 1938; it includes h = 0 where
(1 − α)ᵐ ≥ 0.05 %). So tables decide whether p is at most α where h is outside; otherwise more are drawn, up to `MOST`.
"""

from __future__ import annotations

import math
from typing import overload

import numpy as np
from numpy.typing import NDArray

# Fewer tables than these, by default, are never extended: whoever asks for fewer wants speed. Most tables to draw.
USUAL, MOST = 999, 10_000
# Standard errors of a two-sided interval of 99.9 %.
_REACH, _LOG_TAIL = 3.29, math.log(0.0005)


def _shift(level: float) -> float:
    return (_REACH**2 - 1) * (1 - 2 * level) / 6


@overload
def undecided(exceedances: int, tables: int, level: float) -> bool: ...
@overload
def undecided(exceedances: NDArray[np.int64], tables: NDArray[np.int64], level: float) -> NDArray[np.bool_]: ...
def undecided(exceedances: int | NDArray[np.int64], tables: int | NDArray[np.int64], level: float) -> object:
    """Return whether so many of the tables leave open whether p is at most the error rate.

    >>> undecided(0, 100, 0.05), undecided(0, 150, 0.05), undecided(1, 1, 0.05), undecided(60, 999, 0.05)
    (True, False, True, True)
    """
    apart = exceedances - tables * level - _shift(level)
    reach = _REACH * np.sqrt(tables * level * (1 - level))
    found = (apart <= reach) & ((apart >= -reach) | (tables * math.log1p(-level) >= _LOG_TAIL))
    return bool(found) if np.ndim(found) == 0 else found


def fewest_exceedances(tables: int, level: float) -> int:
    """Return the least number of exceedances with which p may be above the error rate; 0 if it always may.

    >>> fewest_exceedances(100, 0.05), fewest_exceedances(499, 0.05)
    (0, 11)
    """
    if tables * math.log1p(-level) >= _LOG_TAIL:
        return 0
    least = tables * level + _shift(level) - _REACH * math.sqrt(tables * level * (1 - level))
    return max(0, math.ceil(least - 1e-9))
