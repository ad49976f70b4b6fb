"""Monte Carlo error never decides: more shuffled tables where p is near the error rate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import causalrules as cr
from causalrules.trust.deciding import MOST, fewest_exceedances, undecided


def tail(h: int, m: int, level: float, above: bool) -> float:
    """Return P(h or more) of m, or P(h or fewer), by adding up."""
    counts = range(h, m + 1) if above else range(h + 1)
    return sum(math.comb(m, each) * level**each * (1 - level) ** (m - each) for each in counts)


@pytest.mark.parametrize("level", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("m", [1, 3, 10, 60, 150, 499, 999])
def test_a_decision_is_wrong_in_about_1_of_1000_at_most(m: int, level: float) -> None:
    decided = [h for h in range(m + 1) if not undecided(h, m, level)]
    high = [h for h in decided if h > m * level]
    low = [h for h in decided if h < m * level]
    if high:
        assert tail(min(high), m, level, above=True) < 0.0015
        assert tail(min(high) - 1, m, level, above=True) > 0.0001
    if low:
        assert tail(max(low), m, level, above=False) < 0.0015
        assert tail(max(low) + 1, m, level, above=False) > 0.0001
    assert fewest_exceedances(m, level) == len(low)


def table(seed: int, effect: float) -> dict[str, Any]:
    rng = np.random.default_rng([17, seed])
    columns: dict[str, Any] = {f"x{place}": rng.integers(0, 3, 400) for place in range(3)}
    z = rng.integers(0, 2, 400)
    return columns | {"z": z, "y": (rng.random(400) < 0.3 + 0.2 * z + effect * (columns["x0"] == 2)).astype(int)}


ASKED: dict[str, Any] = {"control": "z", "k": 1, "max_length": 1, "n_jobs": 1}


def test_where_p_is_near_the_error_rate_more_tables_are_drawn_and_seeds_agree() -> None:
    drawn: list[int] = []
    words: list[str] = []
    for seed in range(12):
        columns = table(seed, 0.12)
        rules = cr.discover(columns, "y", 1, **ASKED)
        tested = rules.significance(n_jobs=1)
        assert tested[0].evidence is not None
        assert tested[0].evidence.significance is not None
        drawn.append(tested[0].evidence.significance.permutations)
        assert tested[0].p_value is not None
        known = tested[0].evidence.significance
        assert drawn[-1] == MOST or not undecided(known.exceedances, known.permutations, 0.05)
        again = cr.discover(columns, "y", 1, **ASKED, seed=5)
        first = [each[0].verdict.evidence for each in (rules, again)]
        later = [each[0].verdict.evidence for each in (tested, again.significance(seed=5, n_jobs=1))]
        assert first[0] == first[1]
        assert later[0] == later[1]
        assert (first[0], later[0]) != ("supported", "not supported")
        words += first
    assert max(drawn) > 999 >= min(drawn)
    assert len(set(words)) == 2


def test_who_asks_for_few_tables_gets_no_more() -> None:
    tested = cr.discover(table(1, 0.12), "y", 1, **ASKED).significance(99, n_jobs=1)
    assert tested.evidence is not None
    assert tested.evidence.permutation is not None
    assert tested.evidence.permutation.permutations <= 99


@pytest.mark.parametrize("seed", range(6))
def test_the_outcome_turned_round_is_shuffled_alike(seed: int) -> None:
    columns = table(seed, 0.1)
    turned = columns | {"y": 1 - columns["y"]}
    one = cr.discover(columns, "y", 1, **ASKED)
    for other in (
        cr.discover(turned, "y", 1, direction="decrease", **ASKED),
        cr.discover(columns, "y", 0, direction="decrease", **ASKED),
        cr.discover(turned, "y", 0, **ASKED),
    ):
        assert [rule.text for rule in other] == [rule.text for rule in one]
        assert other[0].margin_scale == one[0].margin_scale
        assert other[0].verdict.evidence == one[0].verdict.evidence
        tests = [rules.significance(199, n_jobs=1)[0] for rules in (one, other)]
        assert tests[0].p_value == tests[1].p_value
