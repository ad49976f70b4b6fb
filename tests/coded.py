"""Coded tables in the core: pack them, search them, compare with brute force."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import oracle
from causalrules.search import core as _native
from causalrules.search import remote

CodedTable = tuple[oracle.Coded, list[float], int]


def batch(table: oracle.Coded, levels: Sequence[float], rows: Sequence[int]) -> _native.Batch:
    code = {value: level for level, value in enumerate(levels)}
    return _native.Batch(
        strata=np.array([table.strata[i] for i in rows], np.int32),
        outcomes=np.array([code[table.target[i]] for i in rows], np.uint8),
        weights=np.array([table.weights[i] for i in rows], np.uint64),
        columns=[np.array([column[i] for i in rows], np.int32) for column in table.columns],
        reference=None if table.reference is None else np.array([i in table.reference for i in rows], np.uint8),
    )


def options(table: oracle.Coded, levels: Sequence[float]) -> dict[str, Any]:
    missing = "unknown" if table.unknown else "false"
    return {"levels": levels, "missing": missing}


def pack(coded: CodedTable, rows: Sequence[int] | None = None, sizes: bool = False) -> _native.PackedTable:
    table, levels, n_strata = coded
    part = batch(table, levels, range(len(table.strata)) if rows is None else rows)
    first = [_native.Batch(part.strata, part.outcomes, part.weights, [])] if sizes else None
    column, low, high = zip(*table.conditions, strict=True)
    return _native.PackedTable(
        column,
        low,
        high,
        len(table.columns),
        n_strata,
        [part],
        max_weight=3,
        sizes=first,
        reference=table.codes,
        **options(table, levels),
    )


def in_parts(coded: CodedTable, n_parts: int) -> remote.RemoteTable:
    table, levels, n_strata = coded
    parts = [remote.Part(pack(coded, range(number, len(table.strata), n_parts)), number) for number in range(n_parts)]

    def ask(question: NDArray[np.uint32], length: int) -> NDArray[np.uint64]:
        return remote.put_together(question, [part.answer(question, length) for part in parts])

    column, low, high = zip(*table.conditions, strict=True)
    reference = table.reference is not None
    return remote.RemoteTable(ask, column, low, high, n_strata, 2, reference=reference, **options(table, levels))


def run(packed: _native.Packed, question: dict[str, Any], threads: int = 1) -> list[tuple[float, tuple[int, ...]]]:
    search = packed.search(**question)
    for _ in range(1000):
        if search.step(10.0, threads).done:
            return search.rules()
    raise AssertionError("the search does not end")


def possible(question: dict[str, Any], levels: Sequence[float]) -> dict[str, Any]:
    """Return the question, changed so that the estimator can answer it."""
    estimator, beta = question["estimator"], question["beta"]
    if estimator in ("reliable", "wracc") and len(levels) > 2:
        estimator = "plugin"
    if estimator != "pooled" and isinstance(beta, list):
        beta = beta[-1]
    return question | {"estimator": estimator, "beta": beta}


def expect(coded: CodedTable, question: dict[str, Any]) -> list[oracle.CodedRule]:
    table, levels, n_strata = coded
    about_rules = {name: question[name] for name in ("estimator", "beta", "max_length", "margin_scale")}
    rules = oracle.coded_rules(table, n_strata=n_strata, n_levels=len(levels), **about_rules)
    about_list = {name: question[name] for name in ("k", "min_rows")}
    return [rule for rule in oracle.coded_top_k(table, rules, **about_list) if rule.value >= question["floor"]]


def agree(found: Sequence[tuple[float, tuple[int, ...]]], expected: Sequence[oracle.CodedRule]) -> None:
    assert [value for value, _ in found] == pytest.approx([rule.value for rule in expected], abs=1e-9)
    assert [conditions for _, conditions in found] == [rule.conditions for rule in expected]


def drawn_table(random: Random) -> CodedTable:
    """Draw a small table, without hypothesis and much faster."""
    n = random.randint(2, random.choice([8, 16, 30]))
    n_levels, n_strata = random.choice([2, 2, 2, 3, 5]), random.choice([1, 1, 2, 3, 6])
    levels = [level / (n_levels - 1) for level in range(n_levels)]
    columns, conditions = [], []
    for index in range(random.choice([1, 2, 3, 3, 4, 5])):
        largest, least = random.choice([1, 1, 2, 3]), random.choice([-1, 0, 0])
        if random.random() < 0.3:  # holds on most rows, so that branches have cores
            columns.append([random.choice([least, 1, 1, 1]) for _ in range(n)])
        else:
            columns.append([random.randint(least, largest) for _ in range(n)])
        conditions += [(index, code, code) for code in range(largest + 1)]
        conditions += [(index, 0, code) for code in range(largest) if random.random() < 0.3]
        conditions += [(index, code, 2**31 - 1) for code in range(1, largest + 1) if random.random() < 0.3]
    compared = random.choice(["all", "all", "all", "unknown", "reference"])
    is_reference = compared == "reference"
    code = random.randint(0, 2)
    table = oracle.Coded(
        strata=[random.randrange(n_strata) for _ in range(n)],
        target=[random.choice(levels) for _ in range(n)],
        columns=columns,
        conditions=conditions,
        weights=[random.randint(0, 3) for _ in range(n)] if random.random() < 0.2 else [1] * n,
        unknown=compared == "unknown",
        reference=frozenset(i for i in range(n) if random.random() < 0.4) if is_reference else None,
        codes=(random.randrange(len(columns)), code, code) if is_reference else None,
    )
    return table, levels, n_strata
