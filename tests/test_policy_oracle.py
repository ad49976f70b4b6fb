"""The brute force for groups and policies, on tables small enough for pen and paper."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import policy_oracle
from policy_oracle import (
    FAILS,
    HOLDS,
    OPEN,
    Condition,
    Group,
    Margins,
    Practice,
    Scored,
    all_compared,
    assigned,
    assignment,
    best,
    best_pair,
    compare,
    flipped,
    gain_over_today,
    groups,
    largest_t,
    of_the_others,
    p_value,
    pair,
    pairs,
    policies,
    single_actions,
    state_of,
    steps,
)

ONE = Margins([[1.0, 1.0, 1.0]] * 3)
FREE = Margins([[0.0, 0.0, 0.0]] * 3)


def group(*inside: int, name: int = 0) -> Group:
    """Return a group of one condition that holds on these rows; −1 leaves a row open."""
    return Group((name,), np.array(inside))


def everybody(n: int) -> Group:
    return Group((), np.ones(n, int))


def test_it_shares_no_code_with_the_package() -> None:
    assert "causalrules" not in Path(policy_oracle.__file__).read_text(encoding="utf-8")


def test_a_missing_value_leaves_open_what_no_other_condition_decides() -> None:
    codes = np.array([[2, 1], [2, 0], [-1, 1], [-1, 0], [0, -1]])
    conditions = [Condition(0, 1, 2), Condition(1, 1, 1)]
    assert state_of(codes, conditions, [0]).tolist() == [HOLDS, HOLDS, OPEN, OPEN, FAILS]
    assert state_of(codes, conditions, [0, 1]).tolist() == [HOLDS, FAILS, OPEN, FAILS, FAILS]
    assert state_of(codes, conditions, []).tolist() == [HOLDS] * 5


def test_two_conditions_on_one_column_are_an_interval_and_equal_rows_are_one_group() -> None:
    codes = np.array([[0], [1], [2]])
    conditions = [Condition(0, 0, 0), Condition(0, 0, 1), Condition(0, 1, 2), Condition(0, 2, 2)]
    found = {one.conditions: one.inside.tolist() for one in groups(codes, conditions, 2)}
    assert found == {
        (0,): [True, False, False],
        (1,): [True, True, False],
        (2,): [False, True, True],
        (3,): [False, False, True],
        (0, 2): [False, False, False],  # and so (0, 3), (1, 3) have no group of their own ...
        (1, 2): [False, True, False],
    }  # ... and (0, 1) has the rows of (0,), (2, 3) those of (3,)


def test_a_contrast_is_the_difference_of_two_means() -> None:
    rows = Scored.of([3, 5, 1, -1])  # mean 2, centred 1, 3, −1, −3
    half = compare(rows, group(1, 1, 0, 0))
    assert half is not None
    assert (half.share, half.inside, half.outside, half.contrast) == (0.5, 4, 0, 4)
    assert (half.own_error, half.pooled_error) == pytest.approx((math.sqrt(5), math.sqrt(5)))  # 0.25 · 20 = 5
    first = compare(rows, group(1, 0, 0, 0))
    assert first is not None
    assert first.contrast == pytest.approx(3 - 5 / 3)
    # 0.75² · 1 + 0.25² · 19 = 1.75 and 0.25 · 0.75 · 20 = 3.75, over (4 · 0.25 · 0.75)²
    assert (first.own_error, first.pooled_error) == pytest.approx((math.sqrt(1.75) / 0.75, math.sqrt(3.75) / 0.75))
    assert first.error == first.pooled_error
    assert first.t == pytest.approx(4 / 3 * 0.75 / math.sqrt(3.75))
    assert first.conservative(1.0) == pytest.approx(4 / 3 - math.sqrt(3.75) / 0.75)
    assert compare(rows, group(1, 1, 1, 1)) is None


def test_open_rows_are_not_compared_but_belong_to_the_mean() -> None:
    one = compare(Scored.of([3, 5, 1, -1, 12]), group(1, 1, 0, 0, -1))  # mean 4, centred −1, 1, −3, −5 and 8
    assert one is not None
    assert (one.share, one.n_inside, one.n_outside, one.contrast) == (0.5, 2, 2, 4)
    assert one.own_error == pytest.approx(math.sqrt((1 + 1 + 9 + 25) / 4))


def test_rows_of_a_cluster_count_as_one() -> None:
    one = compare(Scored.of([3, 5, 1, -1], clusters=[7, 7, 8, 8]), group(1, 1, 0, 0))
    assert one is not None
    assert one.own_error == pytest.approx(math.sqrt((0.5 * 4) ** 2 + (0.5 * 4) ** 2))
    split = compare(Scored.of([3, 5, 1, -1], clusters=[7, 8, 7, 8]), group(1, 1, 0, 0))
    assert split is not None
    assert split.own_error == pytest.approx(math.sqrt((0.5 * 1 + 0.5 * 1) ** 2 + (0.5 * 3 + 0.5 * 3) ** 2))


def test_the_variance_of_even_sides_is_weighted_as_the_scores_are() -> None:
    one = compare(Scored.of([3, 5, 1, -1, 2], weights=[1, 1, 1, 1, 4], spread=[8, 0, 16, 0, 9]), group(1, 0, 0, 0, -1))
    assert one is not None
    # (0.75² · 8 + 0.25² · 16) / (4 · 0.25 · 0.75)²
    assert one.even_error == pytest.approx(math.sqrt(5.5) / 0.75)
    assert one.error == one.even_error
    none = compare(Scored.of([3, 5, 1, -1]), group(1, 0, 0, 0))
    assert none is not None
    assert none.even_error == 0


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 3), st.integers(-1, 1)), min_size=2, max_size=8))
def test_a_weight_is_a_repeated_row(drawn: list[tuple[int, int, int]]) -> None:
    psi, weights, state = (np.array(column) for column in zip(*drawn, strict=True))
    weighted = compare(Scored.of(psi, weights), Group((0,), state))
    repeated = compare(Scored.of(psi.repeat(weights)), Group((0,), state.repeat(weights)))
    if weighted is None or repeated is None:
        assert weighted is repeated
        return
    assert weighted[1:] == pytest.approx(repeated[1:])


def test_flipped_signs_keep_the_errors() -> None:
    rows = Scored.of([3, 5, 1, -1])
    compared = all_compared(rows, np.array([[0], [0], [1], [1]]), [Condition(0, 0, 0), Condition(0, 1, 1)])
    assert [one.group.conditions for one in compared] == [(0,), (1,)]
    assert largest_t(compared) == pytest.approx(4 / math.sqrt(5))
    assert len(best(compared, 1.0)) == 2  # a group and its complement
    maxima = flipped(rows, compared, [[1, 1, 1, 1], [1, -1, 1, 1], [-1, -1, 1, 1]])
    # G = 0.5 (1 − 3) − 0.5 (−1 − 3) = 1 under the second, 0.5 (−4) − 0.5 (−4) = 0 under the third
    assert maxima == pytest.approx([4 / math.sqrt(5), 1 / math.sqrt(5), 0])
    assert p_value(largest_t(compared), maxima) == 2 / 4
    assert p_value(5, maxima) == 1 / 4


def test_groups_that_are_too_small_are_left_out() -> None:
    codes = np.array([[0]] + [[1]] * 9)
    conditions = [Condition(0, 0, 0)]
    rows = Scored.of(np.arange(10))
    assert len(all_compared(rows, codes, conditions, min_coverage=0.1)) == 1
    assert all_compared(rows, codes, conditions, min_coverage=0.11) == []


def test_the_rows_of_a_segment_are_set_aside_and_open_ones_stay() -> None:
    rows, codes, left = of_the_others(Scored.of([1, 2, 3]), np.array([[0], [1], [-1]]), [group(1, 0, -1)])
    assert (rows.psi.tolist(), codes.ravel().tolist(), left.tolist()) == ([2, 3], [1, -1], [False, True, True])


def test_the_conservative_gain_of_a_pair() -> None:
    practice = Practice.of([1, 1, 0, 0])
    left = np.ones(4, bool)
    one = pair(practice, left, left, everybody(4), group(1, 1, 0, 0), ONE)
    assert one is not None
    assert (one.gain, one.effect, one.n_rows) == (0.5, 0.5, 4)
    # δ = (2 + 1)/4 − (2 + 1)/6; V = 1/4 · 4/3 · 2 (1/2)/4²; b = 1/4 + 1/6
    half = (1 / 4 + 1 / 6) / 6
    assert one.conservative == pytest.approx(0.25 - half - math.sqrt(half**2 + 1 / 3 / 16))


def test_rows_of_the_action_and_of_the_default_are_drawn_from_the_same() -> None:
    practice = Practice.of([1, 1, 0, 0])
    treated = group(1, 1, 0, 0)
    one = pair(practice, np.ones(4, bool), ~treated.inside, everybody(4), treated, ONE)
    assert one is not None
    assert (one.gain, one.effect) == (1, 1)
    # δ = (2 + 1)/4 − (0 + 1)/4; V = 1/4 · 4/3 · (1/16 + 1/16 + 2 · 1/16); b = 1/4 + 1/4
    half = (1 / 4 + 1 / 4) / 6
    assert one.conservative == pytest.approx(0.5 - half - math.sqrt(half**2 + 1 / 12))


def test_strata_of_a_context_are_weighted_by_its_rows() -> None:
    #        served: stratum 0, one treated of two; stratum 1, one of four
    net = [6, 2, 8, 0, 0, 0, 99]
    strata = [0, 0, 1, 1, 1, 1, 0]
    practice = Practice.of(net, strata)
    context, action = group(1, 1, 1, 1, 1, 1, 0), group(1, 0, 1, 0, 0, 0, 1)
    left = np.ones(7, bool)
    one = pair(practice, left, left, context, action, FREE)
    assert one is not None
    assert one.effect == pytest.approx(2 / 6 * (6 - 4) + 4 / 6 * (8 - 2))
    assert one.gain == pytest.approx(6 / 7 * one.effect)
    shrunken = 2 / 6 * ((6 + 8) / 3 - (8 + 8) / 4) + 4 / 6 * ((8 + 4) / 3 - (8 + 4) / 6)
    assert one.conservative == pytest.approx(6 / 7 * shrunken)
    untreated = pair(practice, left, ~action.inside, context, action, FREE)
    assert untreated is not None
    assert untreated.effect == pytest.approx(2 / 6 * (6 - 2) + 4 / 6 * (8 - 0))


def test_there_is_no_pair_without_a_comparison() -> None:
    practice = Practice.of([1, 0, 1, 0])
    left, treated = np.ones(4, bool), group(1, 1, 0, 0)
    assert pair(practice, left, left, group(0, 0, 1, 1), treated, ONE) is None  # nobody has it
    assert pair(practice, left, left, group(1, 1, 0, 0), treated, ONE) is None  # everybody has it
    assert pair(practice, left, treated.inside, everybody(4), treated, ONE) is None  # it is the default
    assert pair(practice, np.zeros(4, bool), left, everybody(4), treated, ONE) is None
    assert pairs(practice, left, left, [group(1, 0, 1, 0)], [treated], ONE, min_rows=3) == []
    assert len(pairs(practice, left, left, [group(1, 0, 1, 0)], [treated], ONE, min_rows=2)) == 1


def test_ties_go_to_fewer_conditions_and_lower_numbers() -> None:
    practice = Practice.of([1, 1, 0, 0])
    left = np.ones(4, bool)
    contexts = [Group((2,), np.ones(4, int)), Group((0, 1), np.ones(4, int)), Group((1,), np.ones(4, int))]
    found = best_pair(pairs(practice, left, left, contexts, [group(1, 1, 0, 0)], ONE))
    assert found is not None
    assert found.context.conditions == (1,)


# Men gain 20 by A and lose 20 by B, women gain 5 by A and 20 by B, over a practice whose mean is 0: a third of each sex
# gets A, B and neither.
LEVELS = {("men", "A"): 20, ("men", "B"): -20, ("men", "none"): 0}
LEVELS |= {("women", "A"): 5, ("women", "B"): 20, ("women", "none"): -25}


def two_sexes(copies: int = 100) -> tuple[Practice, dict[str, Group], dict[str, Group]]:
    people = list(LEVELS) * copies

    def one(number: int, place: int, value: str) -> Group:
        return Group((number,), np.array([int(person[place] == value) for person in people]))

    contexts = {"everybody": everybody(len(people)), "men": one(0, 0, "men"), "women": one(1, 0, "women")}
    actions = {"A": one(0, 1, "A"), "B": one(1, 1, "B")}
    return Practice.of([LEVELS[person] for person in people]), contexts, actions


def test_men_get_a_and_women_b() -> None:
    practice, contexts, actions = two_sexes()
    treated = list(actions.values())
    assert single_actions(practice, treated) == pytest.approx([12.5, 0])
    today = np.ones(len(practice.net), bool)
    alone = {
        (who, what): one.gain
        for who, context in contexts.items()
        for what, action in actions.items()
        if (one := pair(practice, today, today, context, action, ONE)) is not None
    }
    assert alone == pytest.approx(
        {
            ("everybody", "A"): 12.5,
            ("everybody", "B"): 0,
            ("men", "A"): 10,
            ("men", "B"): -10,
            ("women", "A"): 2.5,
            ("women", "B"): 10,
        }
    )
    found = policies(practice, list(contexts.values()), treated, ONE)
    assert [one.gain for one in found] == pytest.approx([12.5, 20, 20])
    assert [one.context.conditions for one in found[0].steps] == [()]
    over_a = found[1].steps  # everybody gets A unless told otherwise: women get B
    assert [(one.context, one.action) for one in over_a] == [(contexts["women"], actions["B"])]
    assert over_a[0].gain == pytest.approx(0.5 * 15)
    assert over_a[0].gain + single_actions(practice, treated)[0] == pytest.approx(20)


@given(st.data())
def test_the_gains_of_the_steps_are_the_gain_of_the_policy(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 12))

    def column(low: int, high: int) -> list[int]:
        return data.draw(st.lists(st.integers(low, high), min_size=n, max_size=n))

    practice = Practice.of(column(-3, 3), column(0, 1), column(1, 3))
    contexts = groups(np.array([column(-1, 2), column(-1, 1)]).T, [Condition(0, 0, 0), Condition(1, 1, 1)], 2, 0)
    actions = groups(np.array([column(-1, 2)]).T, [Condition(0, 1, 2), Condition(0, 2, 2)], 1)
    today = np.ones(n, bool)
    found = steps(practice, today, contexts, actions, FREE)
    listed = [(one.context.inside, one.action.inside) for one in found]
    assert sum(one.gain for one in found) == pytest.approx(gain_over_today(practice, assigned(practice, listed)))


def test_the_first_context_of_a_row_decides() -> None:
    contexts = [np.array([True, False, False]), np.array([True, True, False])]
    assert assignment(3, contexts).tolist() == [0, 1, -1]
    practice = Practice.of([1, 2, 4, 8])
    first, action = np.array([True, True, False, False]), np.array([True, False, False, True])
    values = assigned(practice, [(first, action), (np.ones(4, bool), action)])
    assert values.tolist() == [1, 1, 8, 8]  # the second step looks at the rows that are left
    assert assigned(practice, [(first, action)], default=~action).tolist() == [1, 1, 4, 4]
