"""The best pair of a context and an action, against loops over all pairs and rows."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causalrules._core import ffi
from causalrules.exceptions import CausalRulesError
from causalrules.language.language import Language
from causalrules.language.propositions import Proposition
from causalrules.policy.enumeration import Conjunctions, Enumeration, Pair, Progress, find_best
from strategies import examples

KAPPA = 2.0
Condition = tuple[int, int, int]  # column, lowest and highest code


@dataclass(frozen=True)
class Rows:
    """Coded rows and a question, in Python's own types."""

    contexts: list[list[int]]
    context_conditions: list[Condition]
    actions: list[list[int]]
    action_conditions: list[Condition]
    most: tuple[int, int]
    strata: list[int]
    weights: list[int] | None
    outcome: list[float]
    default: list[bool] | None
    variance: list[float]
    n_total: int
    range_: float
    min_rows: int
    betas: list[list[float]]

    def enumeration(self, kind: type[Enumeration] = Enumeration) -> Enumeration:
        def side(columns: list[list[int]], conditions: Sequence[Condition], most: int) -> Conjunctions:
            codes = [np.array(column, np.int8) for column in columns]
            return Conjunctions(language(conditions, len(columns)), codes, most)

        return kind(
            side(self.contexts, self.context_conditions, self.most[0]),
            side(self.actions, self.action_conditions, self.most[1]),
            self.strata,
            self.weights,
            self.outcome,
            self.default,
            variance=self.variance,
            n_total=self.n_total,
            range_=self.range_,
            min_rows=self.min_rows,
            betas=self.betas,
        )


def language(conditions: Sequence[Condition], n_columns: int) -> Language:
    columns, low, high = (np.array([each[part] for each in conditions], np.int32) for part in range(3))
    names = tuple(f"x{column}" for column in range(n_columns))
    propositions = tuple(Proposition(f"x{column}", "=", 0) for column, _, _ in conditions)
    return Language(propositions, columns, low, high, names, {}, ())


@st.composite
def rows(draw: st.DrawFn, most_rows: int = 25) -> Rows:
    n = draw(st.integers(1, most_rows))

    def side() -> tuple[list[list[int]], list[Condition]]:
        columns, conditions = [], []
        for column in range(draw(st.integers(1, 3))):
            last, least = draw(st.integers(1, 4)), draw(st.sampled_from([-1, 0]))
            columns.append(draw(st.lists(st.integers(least, last), min_size=n, max_size=n)))
            if draw(st.booleans()):
                conditions += [(column, code, code) for code in range(last + 1)]
            else:
                cuts = range(last)
                conditions += [(column, 0, cut) for cut in cuts] + [(column, cut + 1, last) for cut in cuts]
        return columns, draw(st.permutations(conditions))

    (contexts, of_context), (actions, of_action) = side(), side()
    n_strata = draw(st.integers(1, 3))
    weights = draw(st.none() | st.lists(st.integers(0, 3), min_size=n, max_size=n))
    values = draw(st.sampled_from([[0.0, 1.0], [0.0, 1.0], [-2.5, 0.0, 0.3, 7.5]]))
    n_rows = n if weights is None else sum(weights)
    beta = st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0])
    return Rows(
        contexts=contexts,
        context_conditions=of_context,
        actions=actions,
        action_conditions=of_action,
        most=(draw(st.integers(0, 2)), draw(st.integers(1, 2))),
        strata=draw(st.lists(st.integers(0, n_strata - 1), min_size=n, max_size=n)),
        weights=weights,
        outcome=draw(st.lists(st.sampled_from(values), min_size=n, max_size=n)),
        default=draw(st.none() | st.lists(st.booleans(), min_size=n, max_size=n)),
        variance=draw(st.lists(st.sampled_from([0.0, 0.2, 3.0]), min_size=n_strata, max_size=n_strata)),
        n_total=max(1, n_rows) + draw(st.integers(0, 10)),
        range_=values[-1] - values[0],
        min_rows=draw(st.sampled_from([0, 1, 3, n // 3])),
        betas=draw(st.lists(st.lists(beta, min_size=3, max_size=3), min_size=3, max_size=3)),
    )


# The brute force.


def conjunctions(conditions: Sequence[Condition], least: int, most: int) -> list[tuple[int, ...]]:
    """Return sets of conditions on different columns, or two on one that together say more than either."""
    found: list[tuple[int, ...]] = []
    for length in range(least, most + 1):
        for chosen in itertools.combinations(range(len(conditions)), length):
            if length == 2:
                (column, low, high), (other, low2, high2) = (conditions[each] for each in chosen)
                both = max(low, low2), min(high, high2)
                if column == other and (both[0] > both[1] or both in ((low, high), (low2, high2))):
                    continue
            found.append(chosen)
    return found


def holds(columns: list[list[int]], conditions: Sequence[Condition], chosen: Sequence[int], row: int) -> bool:
    for column, low, high in (conditions[each] for each in chosen):
        if columns[column][row] < 0 or not low <= columns[column][row] <= high:
            return False
    return True


def conservative_gain(asked: Rows, group: list[bool], action: list[bool], beta: float) -> float | None:
    """Return the conservative gain; None without a contrast in any stratum."""
    n = len(group)
    weights = asked.weights or [1] * n
    default = [True] * n if asked.default is None else asked.default
    n_group = sum(weights[i] for i in range(n) if group[i])
    effect = variance = 0.0
    reach = []
    for z, given_variance in enumerate(asked.variance):
        inside = [i for i in range(n) if group[i] and asked.strata[i] == z]
        n_z = sum(weights[i] for i in inside)
        k = sum(weights[i] for i in inside if action[i])
        k_default = sum(weights[i] for i in inside if default[i])
        both = sum(weights[i] for i in inside if action[i] and default[i])
        if k == 0 or k_default == 0 or both == k == k_default:
            continue
        total = math.fsum(weights[i] * asked.outcome[i] for i in inside if action[i])
        total_default = math.fsum(weights[i] * asked.outcome[i] for i in inside if default[i])
        mean = math.fsum(weights[i] * asked.outcome[i] for i in inside) / n_z
        own = math.fsum(weights[i] * (asked.outcome[i] - mean) ** 2 for i in inside) / n_z
        m, m_default, w = k + KAPPA, k_default + KAPPA, n_z / n_group
        effect += w * ((total + KAPPA * mean) / m - (total_default + KAPPA * mean) / m_default)
        if n_z >= 2:
            spread = max(given_variance, own) * n_z / (n_z - 1)
            parts = k * (1 - k / n_z) / m**2 + k_default * (1 - k_default / n_z) / m_default**2
            parts -= 2 * (both - k * k_default / n_z) / (m * m_default)
            variance += w**2 * spread * parts
        reach.append(w * asked.range_ * (1 / m + 1 / m_default))
    if not reach:
        return None
    offset = beta**2 * max(reach) / 6
    margin = offset + math.sqrt(offset**2 + beta**2 * max(variance, 0.0))
    return n_group / asked.n_total * (effect - margin)


def all_pairs(asked: Rows) -> tuple[list[Pair], int]:
    """Return all pairs with a gain, and the number of pairs tried."""
    n, found, tried = len(asked.strata), [], 0
    weights = asked.weights or [1] * n
    for context in conjunctions(asked.context_conditions, 0, asked.most[0]):
        group = [holds(asked.contexts, asked.context_conditions, context, i) for i in range(n)]
        if sum(weights[i] for i in range(n) if group[i]) < max(1, asked.min_rows):
            continue
        for action in conjunctions(asked.action_conditions, 1, asked.most[1]):
            tried += 1
            covered = [holds(asked.actions, asked.action_conditions, action, i) for i in range(n)]
            gain = conservative_gain(asked, group, covered, asked.betas[len(context)][len(action)])
            if gain is not None:
                found.append(Pair(context, action, gain))
    return found, tried


def first_of_ties(pairs: list[Pair], asked: Rows) -> Pair:
    """Return the best pair; gains are compared as multiples of 2⁻³⁶ of the range."""
    step = asked.range_ * 2.0**-36
    return min(pairs, key=lambda pair: replace(pair, gain=round(pair.gain / step)).order)


def is_at_an_edge(pair: Pair, asked: Rows) -> bool:
    """Return whether sums in another order could round to another multiple."""
    return abs(pair.gain / asked.range_ * 2.0**36 % 1 - 0.5) < 0.01


@settings(max_examples=examples(150, 1500))
@given(rows())
def test_the_best_pair_is_that_of_a_loop_over_all(asked: Rows) -> None:
    pairs, tried = all_pairs(asked)
    found = find_best(asked.enumeration())
    assert (found.n_pairs, found.optimal, found.stopped) == (tried, True, "optimal")
    if not pairs:
        assert found.best is None
        return
    expected = first_of_ties(pairs, asked)
    assert found.best is not None
    assert found.best.gain == pytest.approx(expected.gain, abs=1e-9 * asked.range_)
    near = [pair for pair in pairs if abs(pair.gain - expected.gain) < 1e-9 * asked.range_]
    assert (found.best.context, found.best.action) in [(pair.context, pair.action) for pair in near]
    if not any(is_at_an_edge(pair, asked) for pair in near):
        assert (found.best.context, found.best.action) == (expected.context, expected.action)
    assert find_best(asked.enumeration(), floor=found.best.gain).best == found.best
    assert find_best(asked.enumeration(), floor=found.best.gain + 1e-6).best is None


@settings(max_examples=examples(100, 1000))
@given(rows(), st.integers(1, 40))
def test_the_best_actions_for_everybody_cover_different_rows(asked: Rows, k: int) -> None:
    asked = replace(asked, min_rows=0)
    n = len(asked.strata)

    def covered(pair: Pair) -> tuple[bool, ...]:
        return tuple(holds(asked.actions, asked.action_conditions, pair.action, i) for i in range(n))

    pairs = [pair for pair in all_pairs(asked)[0] if not pair.context]
    first: dict[tuple[bool, ...], Pair] = {}
    for pair in sorted(pairs, key=lambda pair: pair.order):
        first.setdefault(covered(pair), pair)
    found = asked.enumeration().everybody(k)
    assert len(found) == min(k, len(first))
    assert len({covered(pair) for pair in found}) == len(found)
    expected = sorted(pair.gain for pair in first.values())[::-1][:k]
    assert [pair.gain for pair in found] == pytest.approx(expected, abs=1e-9 * asked.range_)
    gains = {pair.action: pair.gain for pair in pairs}
    for pair in found:
        assert pair.context == ()
        assert pair.gain == pytest.approx(gains[pair.action], abs=1e-9 * asked.range_)


def table(n: int = 400) -> Rows:
    """Return a table in which action column 1 = 1 helps where context column 0 ≥ 2, and harms elsewhere."""
    rng = np.random.default_rng(0)
    contexts, actions = rng.integers(0, 4, (3, n)), rng.integers(0, 3, (2, n))
    outcome = rng.random(n) < 0.5 + 0.4 * np.where(contexts[0] >= 2, 1, -1) * (actions[1] == 1)
    return Rows(
        contexts=contexts.tolist(),
        context_conditions=[
            (c, low, high) for c in range(3) for cut in range(3) for low, high in ((0, cut), (cut + 1, 3))
        ],
        actions=actions.tolist(),
        action_conditions=[(c, code, code) for c in range(2) for code in range(3)],
        most=(2, 2),
        strata=rng.integers(0, 2, n).tolist(),
        weights=None,
        outcome=outcome.astype(float).tolist(),
        default=None,
        variance=[0.2, 0.2],
        n_total=n,
        range_=1.0,
        min_rows=20,
        betas=[[0.0, 3.0, 3.5], [0.0, 3.5, 4.0], [0.0, 4.0, 4.5]],
    )


def test_a_planted_pair_is_found_on_any_number_of_threads() -> None:
    enumeration = table().enumeration()
    one = find_best(enumeration)
    assert one.best is not None
    assert (one.best.context, one.best.action) == ((3,), (4,))
    assert one.best.gain > 0
    for threads in (2, 5):
        assert replace(find_best(enumeration, threads=threads), seconds=one.seconds) == one


def test_rows_in_any_order_and_rows_by_weight_have_the_same_best_pair() -> None:
    asked = table()
    best = find_best(asked.enumeration()).best
    order = np.random.default_rng(1).permutation(len(asked.strata)).tolist()

    def of(chosen: list[int], weights: list[int] | None) -> Pair | None:
        def pick(values: Sequence[Any]) -> list[Any]:
            return [values[i] for i in chosen]

        picked = replace(
            asked,
            contexts=[pick(column) for column in asked.contexts],
            actions=[pick(column) for column in asked.actions],
            strata=pick(asked.strata),
            outcome=pick(asked.outcome),
            weights=weights,
            n_total=len(chosen) if weights is None else sum(weights),
        )
        return find_best(picked.enumeration()).best

    assert of(order, None) == best
    twice = of([*order, *order], None)
    assert twice != best
    assert of(order, [2] * len(order)) == twice


class Waiting(Enumeration):
    """Waits in the second slot until it is told to go on."""

    def begin(self) -> Waiting:
        self.go_on = threading.Event()
        return self

    def best(self, first: int, last: int, floor: float = -math.inf, stop: Any = ffi.NULL) -> Any:
        if first == 1:
            assert self.go_on.wait(60)
        return super().best(first, last, floor, stop)


def test_the_time_limit_ends_the_search_with_the_best_so_far() -> None:
    found = find_best(table().enumeration(), time_limit=1e-9)
    assert (found.best, found.n_pairs, found.optimal, found.stopped) == (None, 0, False, "time limit")


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_the_search_with_the_best_so_far(threads: int) -> None:
    waiting = table().enumeration(Waiting)
    assert isinstance(waiting, Waiting)
    waiting.begin()
    seen: list[Progress] = []

    def watch(progress: Progress) -> None:
        seen.append(progress)
        if progress.n_done == 0:
            return
        # The flag is set before the waiting thread goes on.
        threading.Timer(0.2, waiting.go_on.set).start()
        raise KeyboardInterrupt

    found = find_best(waiting, threads=threads, watch=watch)
    assert (found.optimal, found.stopped) == (False, "interrupted")
    assert seen[-1].n_slots == waiting.n_slots
    assert found.best is not None
    assert found.n_pairs < find_best(table().enumeration()).n_pairs


def test_a_call_ends_when_it_is_stopped() -> None:
    enumeration = table().enumeration()
    stop = ffi.new("int32_t *", 1)
    assert enumeration.best(0, enumeration.n_slots, stop=stop) == (None, 0, False)
    stop[0] = 0
    assert enumeration.best(0, enumeration.n_slots, stop=stop)[2]


def test_input_that_makes_no_sense_is_rejected() -> None:
    asked = table()
    n = len(asked.strata)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"strata": [2] * n}, "stratum 2 is not below 2"),
        ({"strata": [-1] * n}, "stratum -1"),
        ({"outcome": [math.nan, *asked.outcome[1:]]}, "do not fit"),
        ({"range_": 0.5}, "do not fit a range of 0.5"),
        ({"range_": 0.0}, "do not fit a range of 0"),
        ({"range_": math.inf}, "range of inf"),
        ({"n_total": n - 1}, f"more rows than {n - 1}"),
        ({"variance": [0.2, math.nan]}, "variance"),
        ({"betas": [[math.nan] * 3] * 3}, "betas"),
        ({"most": (3, 2), "betas": [[1.0] * 3] * 4}, "3, 2"),
        ({"most": (2, 0)}, "2, 0"),
        ({"weights": [2**52] * n, "n_total": 2**62}, "more rows than can be counted"),
        ({"context_conditions": [(3, 0, 0)]}, "no column 3 among 3"),
    ]
    for changes, message in wrong:
        with pytest.raises(CausalRulesError, match=message):
            replace(asked, **changes).enumeration()
    lengths: list[tuple[dict[str, Any], str]] = [
        ({"outcome": asked.outcome[1:]}, "arrays of lengths"),
        ({"contexts": [column[1:] for column in asked.contexts]}, "arrays of lengths"),
        ({"betas": [[0.0, 1.0]] * 3}, "betas must have 3 rows of 3 numbers"),
    ]
    for changes, message in lengths:
        with pytest.raises(ValueError, match=message):
            replace(asked, **changes).enumeration()
    enumeration = asked.enumeration()
    for first, last, floor in ((0, enumeration.n_slots + 1, 0.0), (2, 1, 0.0), (0, 1, math.nan)):
        with pytest.raises(CausalRulesError, match="slots"):
            enumeration.best(first, last, floor)
