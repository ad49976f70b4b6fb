"""Policies whose answers are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import causalrules as cr
from causalrules.exceptions import InadmissibleError, InputError

# What each letter adds for men and women: A for everybody adds 12.5, B for women 10, and A for men with B for women 20.
ADDED = {("m", "A"): 20.0, ("w", "A"): 5.0, ("m", "B"): -10.0, ("w", "B"): 20.0}


def letters(n_each: int = 100, scale: float = 1.0) -> dict[str, Any]:
    """Return people of both sexes, as many with each letter, whose outcomes differ from their means by 1 or −1."""
    rows = [
        (sex, letter, scale * ADDED.get((sex, letter), 0.0) + (1 if number % 2 else -1), number % 7)
        for sex in "mw"
        for letter in ("none", "A", "B")
        for number in range(n_each)
    ]
    sex, letter, y, age = zip(*rows, strict=True)
    return {"sex": list(sex), "letter": list(letter), "y": list(y), "age": list(age)}


ASKED: dict[str, Any] = {
    "target": "y",
    "actionable": ["letter"],
    "context": ["sex", "age"],
    "randomised": ["letter"],
    "baseline": {"letter": "none"},
}


def test_men_get_one_letter_and_women_another() -> None:
    policy = cr.prescribe(letters(), **ASKED)
    given = {
        str(step.context[0].value) if step.context else "others": str(step.action[0].value) for step in policy.steps
    }
    assert sorted(given.values()) == ["A", "B"]
    assert policy.gain_over_baseline == pytest.approx(20.0)
    assert policy.single is not None
    assert [each.text for each in policy.single.action] == ["letter = A"]
    # Today, a third of each sex gets each letter.
    today = sum(ADDED.values()) / 6
    assert policy.gain == pytest.approx(20.0 - today)
    assert policy.gain_over_single == pytest.approx(7.5)
    assert policy.claim == "by design"
    assert policy.optimal
    assigned = policy.assign({"sex": ["m", "w", "m"], "age": [1, 2, 3]})
    letter = [str(policy[number].action[0].value) for number in assigned]
    assert letter == ["A", "B", "A"]


def test_gains_of_the_steps_add_up_to_that_of_the_assignment() -> None:
    rng = np.random.default_rng(3)
    n = 12_000
    data = {"sex": rng.choice(list("mw"), n), "age": rng.integers(0, 8, n), "letter": rng.choice(["none", "A", "B"], n)}
    chance = 0.3 + 0.3 * ((data["sex"] == "m") & (data["letter"] == "A")) + 0.2 * (data["letter"] == "B")
    data["y"] = (rng.random(n) < chance).astype(int)
    policy = cr.prescribe(data, **ASKED)
    assert len(policy) >= 2
    assert policy.gain == pytest.approx(sum(step.gain for step in policy))
    # By hand: the mean of those of the group who got the action, less that of the group.
    place, y, total = policy.assign(data), np.asarray(data["y"], float), 0.0
    for number, step in enumerate(policy):
        here = place == number
        got = here & (data["letter"] == str(step.action[0].value))
        gain = here.mean() * (y[got].mean() - y[here].mean())
        assert step.gain == pytest.approx(gain)
        assert step.share == pytest.approx(here.mean())
        assert step.n_rows == here.sum()
        assert step.gain_at_least < step.gain
        total += gain
    assert policy.gain == pytest.approx(total)
    assert policy.held_out is not None
    assert 0 < policy.held_out.over_today.low < policy.held_out.over_today.gain
    assert policy.gain_interval == (policy.held_out.over_today.low, policy.held_out.over_today.high)


def test_costs_are_paid_today_as_well_and_can_outweigh_an_action() -> None:
    free = cr.prescribe(letters(), **ASKED)
    costly = cr.prescribe(letters(), **ASKED, cost={"letter = B": 25.0})
    assert {step.action[0].text for step in free} == {"letter = A", "letter = B"}
    assert {step.action[0].text for step in costly} == {"letter = A"}
    # Everybody gets A, which costs nothing: what the letters B cost today is saved.
    assert costly.cost == pytest.approx(25.0 / 3)
    today = sum(ADDED.values()) / 6 - 25.0 / 3
    assert costly.gain == pytest.approx(12.5 - today)


def test_the_name_of_a_column_of_yes_and_no_stands_for_its_yes() -> None:
    rng = np.random.default_rng(0)
    data = {"call": rng.choice(["yes", "no"], 600), "age": rng.integers(0, 8, 600), "y": rng.normal(size=600)}
    asked: dict[str, Any] = {"target": "y", "actionable": ["call"], "context": ["age"], "randomised": ["call"]}
    named = cr.prescribe(data, **asked, cost={"call": 2})
    assert named.cost == pytest.approx(2 * np.mean(data["call"] == "yes"))
    assert named.cost == cr.prescribe(data, **asked, cost={"call = yes": 2}).cost
    with pytest.raises(InputError, match="not one of yes and no"):
        cr.prescribe({**data, "call": rng.choice(["a", "b", "c"], 600)}, **asked, cost={"call": 2})


def test_what_decreases_is_gained() -> None:
    down = letters(scale=-1.0)
    policy = cr.prescribe(down, **ASKED, direction="decrease")
    assert policy.gain_over_baseline == pytest.approx(20.0)
    assert {step.action[0].text for step in policy} == {"letter = A", "letter = B"}
    assert all(step.effect < 0 < step.gain for step in policy)
    assert all(step.level < step.level_without for step in policy)


def test_noise_gives_no_step() -> None:
    rng = np.random.default_rng(1)
    listed = 0
    for _ in range(20):
        data = {"sex": rng.choice(list("mw"), 500), "age": rng.integers(0, 8, 500)}
        data |= {"letter": rng.choice(["none", "A", "B"], 500), "y": rng.integers(0, 2, 500)}
        policy = cr.prescribe(data, **ASKED)
        listed += len(policy)
        if not policy.steps:
            assert policy.candidate is not None
            assert policy.gain == 0
            assert (policy.assign(data) == -1).all()
    assert listed <= 1


def test_context_is_adjusted_for_where_people_chose() -> None:
    """The old get the drug and die; the drug helps nobody."""
    rng = np.random.default_rng(0)
    n = 4000
    old = rng.random(n) < 0.5
    drug = rng.random(n) < np.where(old, 0.8, 0.2)
    data = {"old": old.astype(int), "drug": drug.astype(int), "y": (rng.random(n) < 0.2 + 0.5 * ~old).astype(int)}
    policy = cr.prescribe(data, "y", actionable=["drug"], context=["old"])
    assert not policy.steps
    assert policy.control == ("old",)
    assert policy.claim == "unchecked"
    # Declared as drawn by lot, it is taken as such, with an alert.
    drawn = cr.prescribe(data, "y", actionable=["drug"], context=["old"], randomised=["drug"])
    assert drawn.control == ()


def test_the_graph_is_asked() -> None:
    data = letters()
    graph = "sex -> y; letter -> y; age -> y"
    policy = cr.prescribe(data, "y", actionable=["letter"], context=["sex"], control=["age", "sex"], graph=graph)
    assert policy.claim == "identified"
    with pytest.raises(InadmissibleError, match="letter causes sex"):
        cr.prescribe(data, "y", actionable=["letter"], context=["sex"], graph="letter -> sex; letter -> y; sex -> y")


def test_the_order_of_rows_does_not_matter() -> None:
    data = letters()
    order = np.random.default_rng(0).permutation(len(data["y"]))
    turned = {name: [values[place] for place in order] for name, values in data.items()}
    first, second = (cr.prescribe(each, **ASKED) for each in (data, turned))
    assert [step.text for step in first] == [step.text for step in second]
    assert first.gain == pytest.approx(second.gain)
    assert first.held_out is not None
    assert second.held_out is not None
    assert first.held_out.over_today.gain == pytest.approx(second.held_out.over_today.gain)


def test_weights_are_rows_that_repeat() -> None:
    data = letters(n_each=60)
    weighted = cr.prescribe({**data, "n": [2] * len(data["y"])}, **ASKED, weights="n")
    twice = cr.prescribe({name: [*values, *values] for name, values in data.items()}, **ASKED)
    assert [step.text for step in weighted] == [step.text for step in twice]
    for one, other in zip(weighted, twice, strict=True):
        assert one.n_rows == other.n_rows
        assert one.gain_at_least == pytest.approx(other.gain_at_least, rel=1e-5)
        assert one.low == pytest.approx(other.low)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"context": None}, "name the columns that describe who"),
        ({"context": ["letter"]}, "letter"),
        ({"context": ["sexx"]}, "did you mean 'sex'"),
        ({"baseline": {"sex": "m"}}, "nobody acts on 'sex'"),
        ({"baseline": {"letter": "C"}}, "'C'"),
        ({"cost": {"sex = m": 1}}, "nobody acts on 'sex'"),
        ({"cost": {"letter = C": 1}}, "'C'"),
        ({"cost": 3}, "a number for each condition"),
        ({"max_context": 3}, "from 1 to 2"),
        ({"max_length": 3}, "from 1 to 2"),
        ({"control": "auto", "graph": "letter -> y"}, "name the controls"),
    ],
)
def test_what_cannot_be_asked_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cr.prescribe(letters(n_each=20), **{**ASKED, **changes})


def test_options_that_do_not_apply_are_not_taken() -> None:
    with pytest.raises(TypeError, match="stepwise"):
        cr.prescribe(letters(n_each=20), **ASKED, stepwise=True)


def test_a_time_limit_ends_the_search() -> None:
    rng = np.random.default_rng(0)
    data: dict[str, Any] = {f"c{place}": rng.normal(size=20_000) for place in range(15)}
    data |= {f"a{place}": rng.integers(0, 8, 20_000) for place in range(8)}
    data["y"] = rng.integers(0, 2, 20_000)
    actions = [f"a{place}" for place in range(8)]
    context = [f"c{place}" for place in range(15)]
    policy = cr.prescribe(data, "y", actionable=actions, context=context, randomised=actions, time_limit=0.05)
    assert not policy.optimal
    assert policy.stopped == "time limit"
    assert policy.held_out is None
