"""The interface to the compiled core: pointers to arrays, errors and estimator options."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causalrules._core import ffi, lib
from causalrules.exceptions import CausalRulesError

ESTIMATORS = {"reliable": 0, "plugin": 1, "wracc": 2, "association": 3, "pooled": 4}
BINARY = (0.0, 1.0)
"""The levels of a binary outcome."""
_MISSING = ("false", "unknown")


def failure() -> CausalRulesError:
    """Return the error of the last failed call in this thread."""
    return CausalRulesError(ffi.string(lib.cr_error()).decode("utf-8", "replace"))


def as_array(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Return an array as the core reads it: of this type, contiguous and aligned."""
    # Arrays received over a network may be unaligned.
    return np.require(values, dtype, ["C_CONTIGUOUS", "ALIGNED"])


def pointer(kind: str, array: NDArray[Any] | None) -> Any:
    """Return a pointer to the data of an array; null for None."""
    return ffi.NULL if array is None else ffi.cast(kind, ffi.from_buffer(array))


def checked_levels(levels: ArrayLike) -> NDArray[np.float64]:
    """Return the values of levels, checked to increase between 0 and 1."""
    values = as_array(levels, np.float64)
    if values.ndim != 1 or len(values) < 2 or not (np.diff(values) > 0).all() or values[0] < 0 or values[-1] > 1:
        raise ValueError("levels must be two or more increasing numbers between 0 and 1")
    return values


def is_unknown(missing: str) -> bool:
    """Whether a missing value is unknown."""
    if missing not in _MISSING:
        raise ValueError(f"missing is {missing!r}; it must be one of {', '.join(map(repr, _MISSING))}")
    return missing == "unknown"


def estimation_of(
    estimator: str, beta: float | ArrayLike, margin_scale: float, levels: NDArray[np.float64]
) -> tuple[Any, Any]:
    """Return the estimator options for the core, and the arrays to keep alive with them."""
    if estimator not in ESTIMATORS:
        raise ValueError(f"no estimator {estimator!r}; the estimators are {', '.join(map(repr, ESTIMATORS))}")
    betas = as_array(np.atleast_1d(np.asarray(beta, np.float64)), np.float64)
    by_length = np.ndim(beta) > 0
    if betas.ndim != 1 or not len(betas):
        raise ValueError("beta must be a number, or a list of one for each number of conditions from 0 on")
    if not np.isfinite(betas).all():
        raise ValueError("beta must be finite")
    made = ffi.new("Estimation *")
    made.estimator = ESTIMATORS[estimator]
    made.beta = 0.0 if by_length else float(betas[0])
    made.n_betas = len(betas) if by_length else 0
    made.betas = pointer("double *", betas)
    made.margin_scale = float(margin_scale)
    made.n_levels = len(levels)
    made.levels = pointer("double *", levels)
    return made, (betas, levels)
