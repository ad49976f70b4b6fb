"""Groups whose effect differs, and the steps of policies, against brute force.

Without hypothesis, and much faster: `python tests/fuzz/test_policies.py SECONDS [SEED]` tries new seeds, reports the
number of tables, and prints the seed of each that differs.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).resolve().parents[1]))

import policy_oracle as oracle
from causalrules.data.reading import read
from causalrules.language.language import build_language
from causalrules.policy import differing
from causalrules.policy.contexts import Contexts
from causalrules.policy.differing import Scored
from causalrules.policy.gain import FoundStep, PolicyRows, Search

TIED = 1e-9


def drawn_columns(random: Random, n_rows: int, names: str, missing: bool = True) -> dict[str, list[Any]]:
    """Draw columns of few values, some of them ordered, some with missing values."""
    columns: dict[str, list[Any]] = {}
    for name in names[: random.randint(1, len(names))]:
        values: list[Any] = random.choice([[0, 1], ["a", "b", "c"], [1.0, 2.0, 3.0, 4.0], ["x", "y"]])
        holes = random.choice([0.0, 0.0, 0.2]) if missing else 0.0
        columns[name] = [None if random.random() < holes else random.choice(values) for _ in range(n_rows)]
        columns[name][: len(values)] = values
    return columns


def coded(columns: dict[str, list[Any]], longest: int) -> Contexts:
    table = read(columns)
    return Contexts.of(table, build_language(table, list(columns)), longest)


def in_oracle(contexts: Contexts) -> tuple[NDArray[Any], list[oracle.Condition]]:
    """Return the codes and the conditions for the brute force."""
    language = contexts.language
    columns = zip(language.column_index.tolist(), language.low.tolist(), language.high.tolist(), strict=True)
    return np.column_stack(contexts.codes), [oracle.Condition(*each) for each in columns]


def check_segments(seed: int, few: int = 0) -> int:
    """Compare the list of one random table with brute force, step by step; return its length."""
    random, rng = Random(seed), np.random.default_rng(seed)
    n_rows = random.randint(12, 40)
    contexts = coded(drawn_columns(random, n_rows, "abc"), random.choice([1, 2, 2]))
    _codes, conditions = in_oracle(contexts)
    psi = rng.normal(size=n_rows) if random.random() < 0.5 else rng.integers(-2, 3, n_rows).astype(float)
    planted = contexts.sides(random.choice(contexts.groups))[0]
    psi = psi + random.choice([0.0, 2.0, -3.0]) * planted
    weights = rng.integers(1, 4, n_rows).astype(float) if random.random() < 0.4 else np.ones(n_rows)
    clusters = rng.integers(0, 8, n_rows) if random.random() < 0.4 else None
    coverage, sign = random.choice([0.0, 0.05, 0.2]), random.choice([1.0, -1.0])
    spread = rng.exponential(size=n_rows) * random.choice([0.0, 1.0, 3.0])
    rows = Scored(contexts, weights, rng.random(n_rows) < 0.5, psi, np.zeros(n_rows), spread, clusters)
    draws: list[tuple[Any, NDArray[Any]]] = []

    class Recorded(differing._Signs):
        def _changed(self, times: int) -> NDArray[np.float64]:
            changed = super()._changed(times)
            centred = self.rows.psi - self.rows.mean(self.rows.psi)
            signs = np.divide(changed, centred[:, None], out=np.zeros_like(changed), where=centred[:, None] != 0)
            draws.append((self.rows, signs))
            return changed

    original = differing._Signs, differing.FEW
    differing._Signs, differing.FEW = Recorded, few  # type: ignore[misc]
    try:
        found = differing.search(
            rows, k=3, error_rate=0.2, min_coverage=coverage, permutations=29, seed=seed, sign=sign
        )
    finally:
        differing._Signs, differing.FEW = original  # type: ignore[misc]

    least, taken = 0.0, np.zeros(n_rows, np.bool_)
    listed = [*found.segments, *([] if found.candidate is None else [found.candidate])]
    assert bool(listed) == bool(draws)
    for segment, (own, signs) in zip(listed, draws, strict=False):
        scored = oracle.Scored.of(own.psi, own.counts, own.group, own.spread)
        own_codes = np.column_stack(own.contexts.codes)
        compared = []
        for group in oracle.groups(own_codes, conditions, contexts.max_context):
            one = oracle.compare(scored, group)
            enough = coverage * weights.sum()
            if one is not None and one.error > 1e-9 and min(one.n_inside, one.n_outside) >= max(enough, 1) - TIED:
                compared.append(one)
        maxima = sorted(oracle.flipped(scored, compared, signs.T), reverse=True)
        critical = maxima[int(0.2 * 30) - 1]
        rank = [abs(one.t) for one in compared]
        top = [one for one, each in zip(compared, rank, strict=True) if each >= max(rank) * (1 - 1e-9)]
        inside = own.contexts.sides([contexts.language.numbers([each])[0] for each in segment.conditions])[0]
        chosen = [one for one in top if np.array_equal(one.group.inside, inside)]
        assert chosen, f"{segment.text} is not the best"
        best = chosen[0]
        if abs(best.t) < 1e-9:
            continue
        better = any(sign * one.contrast > 1e-9 for one in top)
        assert segment.benefits_more == (sign * best.contrast > 0) == better
        assert np.isclose(segment.contrast, best.contrast)
        assert np.isclose(segment.effect, best.inside)
        assert np.isclose(segment.outside, best.outside)
        assert segment.n_rows == best.n_inside
        assert np.isclose(segment.contrast_low, best.contrast - critical * best.error)
        p = oracle.p_value(best.t, maxima)
        assert np.isclose(segment.p_value, max(least, p))
        assert segment.stands_out == (segment.p_value <= 0.2)
        least = segment.p_value
    taken |= False
    return len(found.segments)


def check_policy(seed: int) -> int:
    """Compare the steps of one random table with brute force; return their number."""
    random, rng = Random(seed), np.random.default_rng(seed)
    n_rows = random.randint(10, 30)
    contexts = coded(drawn_columns(random, n_rows, "ab"), random.choice([1, 2, 2]))
    actions = coded(drawn_columns(random, n_rows, "xy"), random.choice([1, 2]))
    n_strata = random.choice([1, 1, 2, 3])
    stratum = rng.integers(0, n_strata, n_rows)
    weights = rng.integers(1, 4, n_rows).astype(float) if random.random() < 0.4 else np.ones(n_rows)
    u = rng.integers(0, 2, n_rows).astype(float) if random.random() < 0.5 else rng.normal(size=n_rows)
    u = u + 2.0 * (contexts.sides(random.choice(contexts.groups))[0] & actions.sides(random.choice(actions.groups))[0])
    by_length = sorted(random.choice([0.0, 0.1, 0.5, 1.0, 2.0]) for _ in range(5))
    betas = [[by_length[one + two] for two in range(3)] for one in range(3)]
    least = random.choice([1, 1, 3, 6])
    rows = PolicyRows(contexts, actions, stratum.astype(np.intp), weights, u, np.zeros(n_rows))
    search = Search(rows, 4, betas, least, actions.max_context)
    default = random.choice([None, FoundStep((), random.choice(actions.groups), 1.0)])
    found = search._steps(weights, default)
    practice = oracle.Practice.of(u, stratum, weights)
    context_codes, context_conditions = in_oracle(contexts)
    action_codes, action_conditions = in_oracle(actions)
    usual = rows.got(() if default is None else default.action)
    groups = oracle.groups(context_codes, context_conditions, contexts.max_context, shortest=0)
    offered = oracle.groups(action_codes, action_conditions, actions.max_context)
    margins = oracle.Margins(betas)
    left = np.ones(n_rows, np.bool_)
    most = 4 - (default is not None)
    for place in range(most):
        pairs = oracle.pairs(practice, left, usual, groups, offered, margins, least)
        value = max((one.conservative for one in pairs), default=-np.inf)
        if place >= len(found.steps):
            assert value <= 1e-5, f"step {place + 1}: {value} was missed"
            break
        step = found.steps[place]
        # Outcomes are rounded to about seven digits in the search.
        assert abs(step.conservative - value) < 1e-5, f"step {place + 1}: {step.conservative} instead of {value}"
        who, got = rows.who(step.context), rows.got(step.action)
        tied = [one for one in pairs if one.conservative >= value - 1e-5]
        assert any(np.array_equal(one.context.inside & left, who & left) for one in tied)
        assert any(np.array_equal(one.action.inside & left & who, got & left & who) for one in tied)
        left &= ~who
    # The gains of the steps add up to that of everybody as assigned.
    listed = [(rows.who(step.context), rows.got(step.action)) for step in found.steps]
    values = oracle.assigned(practice, listed, None if default is None else usual)
    assert np.isclose(search._gain(weights, found), oracle.gain_over_today(practice, values))
    return len(found.steps)


@pytest.mark.parametrize("part", range(2))
def test_lists_of_groups_agree_with_brute_force(part: int, request: pytest.FixtureRequest) -> None:
    seed = request.config.getoption("--hypothesis-seed")
    n, first = (40, 0) if seed is None else (500, Random(str(seed)).randrange(2**40))
    lengths = [check_segments(first + place) for place in range(n * part, n * (part + 1))]
    assert any(lengths)
    print(f"{n} problems")  # counted by dev.py fuzz


@pytest.mark.parametrize("part", range(2))
def test_steps_of_policies_agree_with_brute_force(part: int, request: pytest.FixtureRequest) -> None:
    seed = request.config.getoption("--hypothesis-seed")
    n, first = (40, 0) if seed is None else (500, Random(str(seed)).randrange(2**40))
    lengths = [check_policy(first + place) for place in range(n * part, n * (part + 1))]
    assert any(lengths)
    print(f"{n} problems")  # counted by dev.py fuzz


def main() -> None:
    begun = time.monotonic()
    end = begun + float(sys.argv[1])
    first = seed = int(sys.argv[2]) if len(sys.argv) > 2 else Random().randrange(2**40)
    wrong, found = 0, {"segments": Counter[int](), "steps": Counter[int]()}
    while time.monotonic() < end and wrong <= 20:
        for name, check in (("segments", check_segments), ("steps", check_policy)):
            try:
                found[name][check(seed)] += 1
            except Exception as error:
                wrong += 1
                print(f"seed {seed}, {name}: {type(error).__name__} {str(error)[:300]}", flush=True)
        seed += 1
    print(f"{seed - first:,} tables from seed {first} in {time.monotonic() - begun:.0f} s, {wrong} differ")
    print(f"by length of the list: { ({name: dict(sorted(each.items())) for name, each in found.items()}) }")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
