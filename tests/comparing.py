"""Compare results computed on two machines: text and integers exactly, floats with a tolerance."""

from __future__ import annotations

import math
from typing import Any

# Vectors of another width add numbers in another order, which changes the last digits.
RELATIVE = 1e-9


def differences(found: Any, kept: Any, place: str = "answer") -> list[str]:
    """Return where two nested values differ; floats may differ by a billionth of their size.

    >>> differences({"n": 3, "effect": 0.1 + 0.2}, {"n": 3, "effect": 0.3})
    []
    >>> differences([{"n": 3}, 0.25], [{"n": 4}, 0.25000001])
    ['answer[0].n: 3 is not 4', 'answer[1]: 0.25 is not 0.25000001']
    """
    if isinstance(found, dict) and isinstance(kept, dict):
        if found.keys() != kept.keys():
            return [f"{place}: the fields {[*found]} are not {[*kept]}"]
        return [each for key in kept for each in differences(found[key], kept[key], f"{place}.{key}")]
    if isinstance(found, list) and isinstance(kept, list):
        if len(found) != len(kept):
            return [f"{place}: {len(found)} values are not {len(kept)}"]
        pairs = enumerate(zip(found, kept, strict=True))
        return [each for number, pair in pairs for each in differences(*pair, f"{place}[{number}]")]
    if isinstance(found, float) and isinstance(kept, float):
        same = math.isclose(found, kept, rel_tol=RELATIVE) or (math.isnan(found) and math.isnan(kept))
    else:
        same = type(found) is type(kept) and found == kept
    return [] if same else [f"{place}: {found!r} is not {kept!r}"]
