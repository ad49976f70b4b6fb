"""Small versions of benchmarks/verdicts.py: verdicts for tables whose truth is known."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from populations import benchmark

VERDICTS: Any = benchmark("verdicts")
VERDICTS.REPEATS = {"permutations": 39, "replicates": 5, "splits": 3}
CELLS = VERDICTS.cells()


def words(cell: str, n_tables: int) -> Counter[str]:
    return Counter(CELLS[cell](seed)[0] for seed in range(n_tables))


def test_a_true_effect_is_strong_evidence_where_the_confounder_is_adjusted_for() -> None:
    assert words("truth 0.3, strong confounder adjusted for, graph", 4)["strong"] >= 3


def test_no_effect_is_not_supported_where_the_confounder_is_adjusted_for() -> None:
    # Each of six is supported with probability at most 5 %: three with less than 1 %.
    found = words("truth 0, strong confounder adjusted for, graph", 6)
    assert found["strong"] + found["supported"] <= 2


def test_a_hidden_confounder_is_never_strong_evidence_without_a_graph() -> None:
    assert words("truth 0, strong confounder hidden, no graph", 3) == {"supported": 3}


def test_a_wrong_graph_is_trusted_but_a_small_gamma_warns() -> None:
    word, rule = CELLS["truth 0, strong confounder hidden, wrong graph"](0)
    assert word == "strong"
    # the hidden confounder itself multiplies the odds of the rule by four
    assert rule.verdict.robustness is not None
    assert rule.verdict.robustness < 4


@pytest.mark.parametrize("truth", [0.0, 0.3])
def test_the_verdict_does_not_depend_on_the_outcome_coding(truth: float) -> None:
    columns = VERDICTS.confounded(truth, "strong", 0)
    turned = columns | {"y": 1 - columns["y"]}
    one, other = (
        VERDICTS.verdict(each, 0, control="z", direction=direction)[1]
        for each, direction in ((columns, "increase"), (turned, "decrease"))
    )
    assert one.text == other.text
    assert one.verdict.evidence == other.verdict.evidence
    assert one.verdict.robustness == pytest.approx(other.verdict.robustness)
    assert {one.verdict.direction, other.verdict.direction} == {"raises", "lowers"}


def test_a_share_is_marked_only_where_it_misses_beyond_binomial_error() -> None:
    cell = VERDICTS.Cell("0", "any", lambda seed: {}, at_most={"false": 0.05}, at_least={"found": 0.95})
    assert VERDICTS.misses(cell, {"false": [4, 40], "found": [36, 40], "other": [40, 40]}) == []
    assert VERDICTS.misses(cell, {"false": [9, 40], "found": [30, 40]}) == ["false", "found"]
    never = VERDICTS.Cell("0", "any", lambda seed: {}, at_most={"false": 0.0})
    assert VERDICTS.misses(never, {"false": [0, 40]}) == []
    assert VERDICTS.misses(never, {"false": [1, 40]}) == ["false"]


@pytest.mark.parametrize("name", ["uncompared-20", "missing-null", "missing-30", "groups-strata", "lot-control"])
def test_a_cell_is_simulated(name: str) -> None:
    cell = VERDICTS.regimes_and_questions()[name]
    found = VERDICTS.simulate(cell, 4)
    assert found["tables"] == 4 * cell.times
    assert VERDICTS.misses(cell, found["counts"]) == []
