"""Whole searches against brute force, over all combinations of the core's options.

Without hypothesis, and much faster: `python tests/fuzz/test_searches.py SECONDS [SEED]` tries new seeds, reports the
number of problems, and prints the seed of each that differs.
"""

from __future__ import annotations

import itertools
import math
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1]))

import oracle
from causalrules.search import core
from causalrules.search.problem import PackedParts
from coded import CodedTable, agree, drawn_table, in_parts, pack, possible

TIED = 1e-9


def drawn_question(random: Random) -> dict[str, Any]:
    by_length = sorted(random.choice([0.0, 0.1, 1.0, 2.0, 5.0]) for _ in range(random.randint(1, 4)))
    return {
        "estimator": random.choice(["pooled", "pooled", "reliable", "reliable", "plugin", "association", "wracc"]),
        "beta": random.choice([0.0, 0.5, 1.0, 2.0, 5.0, by_length, by_length]),
        "k": random.choice([1, 1, 2, 3, 5, 10, 50]),
        "max_length": random.choice([None, None, 1, 2, 3, 4]),
        "min_rows": random.choice([0, 0, 0, 2, 5]),
        "margin_scale": random.choice([1.0, 1.0, 0.5, 2.0]),
        # With a minimum value the search skips the beam search, which would hide wrongly pruned rules.
        "floor": random.choice([-float("inf"), -100.0, -100.0, 0.0123]),
    }


def every_rule(coded: CodedTable, question: dict[str, Any]) -> list[oracle.CodedRule]:
    """Return every rule that the question allows, best first."""
    table, levels, n_strata = coded
    about_rules = {name: question[name] for name in ("estimator", "beta", "max_length", "margin_scale")}
    rules = oracle.coded_rules(table, n_strata=n_strata, n_levels=len(levels), **about_rules)
    kept = oracle.coded_top_k(table, rules, k=len(rules), min_rows=question["min_rows"])
    return [rule for rule in kept if rule.value >= question["floor"]]


def rules_on(coded: CodedTable, question: dict[str, Any], sets: list[frozenset[int]]) -> list[oracle.CodedRule]:
    """Return every rule on exactly one of these sets of columns, best first; rows count by their first description."""
    table, _, n_strata = coded
    everything = table.everything
    sides = [table.sets(condition) for condition in table.conditions]
    usable = [i for i, side in enumerate(sides) if side[0] and side != (everything, everything)]
    longest = question["max_length"] or len(usable)
    best: dict[Any, oracle.CodedRule] = {}
    for length in range(1, longest + 1):
        for conditions in itertools.combinations(usable, length):
            if frozenset(table.conditions[i][0] for i in conditions) not in sets:
                continue
            covered, possible = (frozenset.intersection(*(sides[i][side] for i in conditions)) for side in (0, 1))
            failing = everything - possible
            if not covered or not failing or (covered, possible) in best:
                continue
            each = range(n_strata)
            strata = [oracle.Sides(*(table.values(rows, z) for rows in (everything, covered, failing))) for z in each]
            value = oracle.score(
                question["estimator"], strata, question["beta"], length, question["margin_scale"], len(coded[1])
            )
            if value > -math.inf:
                best[covered, possible] = oracle.CodedRule(value, conditions, covered, possible)
    kept = oracle.coded_top_k(table, list(best.values()), k=len(best), min_rows=question["min_rows"])
    return [rule for rule in kept if rule.value >= question["floor"]]


def several(
    random: Random, coded: CodedTable, question: dict[str, Any], offered: list[frozenset[int]], is_remote: bool
) -> tuple[core.Packed, list[oracle.CodedRule]]:
    """Return the rows in other strata for some of the sets of columns, to be searched together; and every rule."""
    table, levels, n_strata = coded
    tables: list[core.Packed] = []
    best: dict[Any, oracle.CodedRule] = {}
    n_sources = random.randint(2, 3)
    place = [random.randrange(n_sources) for _ in offered]
    for number in range(n_sources):
        sets = [each for each, source in zip(offered, place, strict=True) if source == number]
        if not sets:
            continue
        strata = [random.randrange(n_strata) for _ in table.strata] if random.random() < 0.8 else table.strata
        own = table._replace(strata=strata), levels, n_strata
        for rule in rules_on(own, question, sets):
            rows = rule.covered, rule.possible
            known = best.get(rows)
            if known is not None and abs(rule.value - known.value) <= TIED:
                is_better = (len(rule.conditions), rule.conditions) < (len(known.conditions), known.conditions)
            else:
                is_better = known is None or rule.value > known.value
            if is_better:
                best[rows] = rule
        # Conditions on other columns are absent, or useless.
        used = frozenset.union(*sets)
        numbers = [i for i, each in enumerate(table.conditions) if each[0] in used]
        if random.random() < 0.5 and numbers:
            fewer = own[0]._replace(conditions=[table.conditions[i] for i in numbers]), levels, n_strata
            packed: core.Packed = core.Narrowed(packed_rows(fewer, random, is_remote), np.array(numbers))
        else:
            packed = packed_rows(own, random, is_remote)
        packed.allowed_columns = [sorted(each) for each in sets]
        tables.append(packed)
    whole = packed_rows(coded, random, is_remote)
    parts = PackedParts(lambda number: whole if number is None else tables[number], lambda _: 0, range(len(tables)), 1)
    return parts, oracle.coded_top_k(table, list(best.values()), k=len(best), min_rows=question["min_rows"])


def packed_rows(coded: CodedTable, random: Random, is_remote: bool) -> core.Packed:
    return in_parts(coded, random.randint(1, 3)) if is_remote else pack(coded)


def searched(random: Random, packed: core.Packed, question: dict[str, Any]) -> tuple[Any, list[Any]]:
    """Return the last status and the rules; the search may be saved and resumed, in steps of any length."""
    search, threads = packed.search(**question), random.choice([1, 1, 1, 2, 8])
    is_saved, seconds = random.random() < 0.15, random.choice([10.0, 10.0, 0.0, 1e-5, 1e-4])
    for attempt in range(1, 2000):
        status = search.step(seconds * attempt, threads)
        if status.done:
            return status, search.rules()
        if is_saved:
            saved = search.save()
            search = packed.search(**question)
            search.restore(saved)
        seconds = max(seconds, 1e-5)
    raise AssertionError("the search does not end")


def check(seed: int) -> None:
    random = Random(seed)
    coded = drawn_table(random)
    question = possible(drawn_question(random), coded[1])
    offered, several_tables, is_remote = None, None, random.random() < 0.1
    if random.random() < 0.15:
        columns = range(len(coded[0].columns))
        every = [frozenset(each) for size in (1, 2, 3) for each in itertools.combinations(columns, size)]
        offered = random.sample(every, random.randint(1, len(every)))
        question |= {"max_length": question["max_length"] or random.choice([2, 3])}
        if random.random() < 0.5:
            several_tables, rules = several(random, coded, question, offered, is_remote)
        else:
            rules = rules_on(coded, question, offered)
    else:
        rules = every_rule(coded, question)
    expected = rules[: question["k"]]
    alpha = random.choice([1.0, 1.0, 1.0, 1.0, 0.3, 0.7, 0.9, 0.95, 0.99])
    question |= {"alpha": alpha}
    packed = several_tables or packed_rows(coded, random, is_remote)
    if several_tables is None:
        packed.allowed_columns = None if offered is None else [sorted(each) for each in offered]
    status, found = searched(random, packed, question)
    kth = -float("inf") if status.kth is None else status.kth
    if alpha < 1 and status.unexplored is not None and status.unexplored > kth:
        values = [value for value, _ in found]
        missed = [rule.value for rule in rules if rule.conditions not in {conditions for _, conditions in found}]
        # Compared with the k-th value, or with the minimum value if there are fewer rules.
        kth = max(kth, question["floor"]) if len(found) < question["k"] else kth
        assert values == sorted(values, reverse=True)
        assert max(missed, default=-9.0) <= max(status.unexplored, kth) + TIED
        assert all(alpha * value <= kth + TIED or value <= kth + TIED for value in missed)
        return
    agree(found, expected)


def test_a_branch_that_alpha_leaves_out_may_become_a_tie() -> None:
    # At first alpha leaves a branch out; then a rule is found whose value equals the branch's bound.
    table = oracle.Coded(
        strata=[0] * 11,
        target=[0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 1],
        columns=[[3, 0, 3, 2, 1, 0, 1, 1, 2, 2, 3], [1, 1, 1, 1, 0, 0, 1, 0, 0, 1, 0]],
        conditions=[*((0, code, code) for code in range(4)), (0, 0, 2), (0, 2, 9), (1, 0, 0), (1, 1, 1)],
        weights=[1] * 11,
    )
    question = {"estimator": "reliable", "beta": 0.0, "k": 1, "max_length": None, "min_rows": 0, "floor": -100.0}
    question |= {"alpha": 0.7, "margin_scale": 0.5}
    coded = table, [0.0, 1.0], 1
    for packed in (pack(coded), in_parts(coded, 2)):
        search = packed.search(**question)
        status = search.step(10.0, 1)
        assert (status.done, status.unexplored) == (True, None)
        agree(search.rules(), every_rule(coded, question)[:1])


@pytest.mark.parametrize("part", range(10))
def test_searches_agree_with_brute_force(part: int, request: pytest.FixtureRequest) -> None:
    seed = request.config.getoption("--hypothesis-seed")
    n, first = (60, 0) if seed is None else (2000, Random(str(seed)).randrange(2**40))
    for place in range(n * part, n * (part + 1)):
        check(first + place)
    print(f"{n} problems")  # counted by dev.py fuzz


def main() -> None:
    end = time.monotonic() + float(sys.argv[1])
    first = seed = int(sys.argv[2]) if len(sys.argv) > 2 else Random().randrange(2**40)
    wrong = 0
    while time.monotonic() < end:
        try:
            check(seed)
        except Exception as error:
            wrong += 1
            print(f"seed {seed}: {type(error).__name__} {str(error)[:300]}", flush=True)
            if wrong > 20:
                break
        seed += 1
    print(f"{seed - first:,} problems from seed {first}, {wrong} differ")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
