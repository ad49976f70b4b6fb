"""Many tables at once, against brute force on each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

import causalrules as cr
import oracle
from causalrules.exceptions import CausalRulesError
from causalrules.search.core import Batch, PackedTable
from causalrules.search.permutations import Permutations, can_share
from causalrules.trust import repeat
from causalrules.trust.resample import permuted
from coded import drawn_table
from rulesets import rows_of


def shuffled(table: oracle.Coded, random: Random) -> oracle.Coded:
    """Return the table with its outcomes permuted within each stratum."""
    places = list(range(len(table.strata)))
    random.shuffle(places)
    target = list(table.target)
    for stratum in set(table.strata):
        here = [i for i in range(len(target)) if table.strata[i] == stratum]
        for i, j in zip(here, [i for i in places if table.strata[i] == stratum], strict=True):
            target[i] = table.target[j]
    return table._replace(target=target)


def ratio(table: oracle.Coded, n_strata: int, beta: float | Sequence[float], max_length: int, min_rows: int) -> float:
    """Return the largest ratio of effect to margin of any rule; −inf if none has an effect of 0 or more."""
    options = {"estimator": "pooled", "beta": beta, "n_strata": n_strata, "max_length": max_length}
    effects = {rule[1:]: rule.value for rule in oracle.coded_rules(table, **options, margin_scale=0.0)}  # type: ignore[arg-type]
    largest = -math.inf
    for rule in oracle.coded_rules(table, **options):  # type: ignore[arg-type]
        effect = effects[rule[1:]]
        margin = effect - rule.value
        if margin > 1e-12 and table.size(rule.covered) >= min_rows and effect >= -1e-12:
            largest = max(largest, max(effect, 0.0) / margin)
    return largest


def packed(tables: Sequence[oracle.Coded], n_strata: int) -> PackedTable:
    first, n = tables[0], len(tables)
    columns, low, high = (np.array(each) for each in zip(*first.conditions, strict=True))
    n_columns, ones = len(first.columns), np.ones(n, np.int32)
    outcomes = [np.array(table.target, np.int32) for table in tables]
    codes = [*(np.array(column, np.int32) for column in first.columns), *outcomes]
    batch = Batch(np.array(first.strata, np.int32), np.zeros(len(first.strata), np.uint8), None, codes)
    return PackedTable(
        np.concatenate([columns, n_columns + np.arange(n)]),
        np.concatenate([low, ones]),
        np.concatenate([high, ones]),
        n_columns + n,
        n_strata,
        [batch],
        missing="unknown" if first.unknown else "false",
    )


def walk(tables: Sequence[oracle.Coded], n_strata: int, **options: object) -> Permutations:
    found = Permutations(packed(tables, n_strata), len(tables), **options)  # type: ignore[arg-type]
    while not found.step(1e-6):
        pass
    return found


@pytest.mark.parametrize("seed", range(8))
def test_the_largest_ratio_of_each_table(seed: int) -> None:
    random, n_seen, n_unknown = Random(seed), 0, 0
    while n_seen < 40:
        table, levels, n_strata = drawn_table(random)
        if len(levels) > 2 or table.reference is not None or len(table.columns) > 4:
            continue
        table = table._replace(weights=[1] * len(table.strata))
        n_seen, n_unknown = n_seen + 1, n_unknown + table.unknown
        by_length = sorted(random.choice([0.1, 0.5, 1.0, 2.0]) for _ in range(random.randint(1, 4)))
        beta: float | list[float] = 1.0 if random.random() < 0.3 else by_length
        max_length, min_rows = random.choice([1, 2, 3, 9]), random.choice([0, 0, 3])
        tables = [table, *(shuffled(table, random) for _ in range(random.choice([0, 1, 7, 9, 15, 20])))]
        expected = [ratio(each, n_strata, beta, max_length, min_rows) for each in tables]
        least = random.choice([0.0, 0.0, np.median(expected)])
        least = max(0.0, float(least)) if math.isfinite(least) else 0.0
        found = walk(tables, n_strata, beta=beta, max_length=max_length, min_rows=min_rows, least=least).ratios()
        for got, wanted in zip(found, expected, strict=True):
            # A ratio of exactly `least` may fall on either side.
            if wanted > least + 1e-9 or got > least + 1e-9:
                assert got == pytest.approx(wanted, rel=1e-9, abs=1e-9)
    assert n_unknown


@pytest.mark.parametrize("direction", ["increase", "decrease"])
@pytest.mark.parametrize(("missing", "n_tables"), [(0.0, 64), (0.1, 16)])
def test_permuted_tables_have_the_ratios_of_separate_searches(direction: str, missing: float, n_tables: int) -> None:
    rng, n = np.random.default_rng(3), 2000
    columns = {f"x{i}": rng.integers(0, 4, n).astype(float) for i in range(4)} | {"z": rng.integers(0, 3, n)}
    columns["x0"][rng.random(n) < missing] = np.nan
    columns["y"] = rng.random(n) < 0.3 + 0.1 * columns["z"]
    rules = cr.discover(columns, "y", control="z", direction=direction, max_length=3, min_coverage=0.02)
    problem, question = rows_of(rules), repeat.exact(rules.question)
    drawn = [permuted(problem, rng) for _ in range(n_tables)]
    assert can_share(drawn, question)
    searcher = repeat.Searcher()
    assert searcher.best_ratios(drawn, question, 0.0) == pytest.approx(
        [searcher.best_ratio(each, question, 0.0) for each in drawn], abs=1e-8
    )


def test_tables_that_cannot_share_a_walk_are_rejected() -> None:
    table = oracle.Coded([0, 0, 1, 1], [0, 1, 0, 1], [[0, 1, 0, 1]], [(0, 1, 1)], [1] * 4)
    other = table._replace(target=[0, 0, 1, 1])
    options = {"beta": [1.0], "max_length": 1, "min_rows": 0, "least": 0.0}
    with pytest.raises(CausalRulesError, match="differ in their number"):
        walk([table, other], 2, **options)
    rows = packed([table], 2)
    for n_outcomes in (0, 3, 65):
        with pytest.raises(CausalRulesError, match=f"{n_outcomes} outcomes"):
            Permutations(rows, n_outcomes, **options)  # type: ignore[arg-type]
    for wrong in ({"max_length": 0}, {"least": math.nan}, {"least": -1.0}, {"beta": [2.0, 1.0]}):
        with pytest.raises(CausalRulesError):
            Permutations(rows, 1, **{**options, **wrong})  # type: ignore[arg-type]
    codes = np.array([0, 1], np.int32)
    of_two_levels = PackedTable(
        [0, 1], [1, 1], [1, 1], 2, 1, [Batch(np.zeros_like(codes), codes, None, [codes, codes])]
    )
    with pytest.raises(CausalRulesError, match="level 0"):
        Permutations(of_two_levels, 1, **options)  # type: ignore[arg-type]
    of_other_levels = PackedTable([0], [1], [1], 1, 1, [Batch(0 * codes, 0 * codes, None, [codes])], levels=[0.0, 0.5])
    with pytest.raises(CausalRulesError, match="not 0 and 1"):
        Permutations(of_other_levels, 1, **options)  # type: ignore[arg-type]
