"""β from the number of rules, so that chance alone rarely gets a score above 0.

With M_l rules of l conditions and an error rate δ, divided among lengths into δ_l that add up to δ,

    β_l = √(2 ln(M_l / δ_l))

makes exp(−β_l²/2), summed over all rules, at most δ. With a length limit L, δ_l = δ/L; without one, δ_l = δ 2⁻ˡ.
β never falls with the length, which only makes it more conservative.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from causalrules.language.language import Language
from causalrules.language.propositions import Proposition


def count_rules(language: Language, longest: int) -> list[int]:
    """Return the number of rules of 0, 1, …, `longest` conditions that can hold for some rows and fail for some.

    A column without an order takes one condition; one with c cut points takes one of 2c conditions, or one of the
    c(c − 1)/2 intervals, which are two.
    """
    sizes = Counter(language.column_index.tolist())
    ordered = {column for column, proposition in _places(language) if proposition.operator != "="}
    ways: dict[int, tuple[int, int]] = {}
    for place, n_conditions in sizes.items():
        cuts = n_conditions // 2
        ways[place] = n_conditions, cuts * (cuts - 1) // 2 if place in ordered else 0

    def combined(places: Iterable[int], none: int) -> list[int]:
        """Count the rules by length, with conditions on each column or, in `none` ways (0 or 1), without."""
        rules = [1] + [0] * longest
        for one, two in map(ways.__getitem__, places):
            shorter = [0, 0, *rules]
            rules = [none * shorter[i + 2] + one * shorter[i + 1] + two * shorter[i] for i in range(longest + 1)]
        return rules

    allowed_columns = language.allowed_numbers
    if allowed_columns is None:
        return combined(ways, none=1)
    each = [combined(places, none=0) for places in allowed_columns]
    return [1, *(sum(rules[length] for rules in each) for length in range(1, longest + 1))]


def beta_of_rules(n_rules: int, error_rate: float) -> float:
    """Return β for a number of rules and an error rate.

    >>> round(beta_of_rules(1, 0.05), 3)
    2.448
    """
    return math.sqrt(2 * (math.log(max(n_rules, 1)) - math.log(error_rate)))


def betas(language: Language, max_length: int | None, error_rate: float) -> tuple[float, ...]:
    """Return β for rules of 0, 1, 2, … conditions."""
    ordered = {column for column, proposition in _places(language) if proposition.operator != "="}
    possible = len(ordered) + len({column for column, _ in _places(language)})
    longest = possible if max_length is None else min(max_length, possible)
    found = [0.0]
    for length, n_rules in enumerate(count_rules(language, longest)[1:], 1):
        share = error_rate / longest if max_length is not None else error_rate * 2.0**-length
        found.append(max(found[-1], beta_of_rules(n_rules, share)))
    return tuple(found)


def _places(language: Language) -> list[tuple[int, Proposition]]:
    """Return each proposition with the index of its column."""
    return list(zip(language.column_index.tolist(), language.propositions, strict=True))
