"""Groups whose effects are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import causalrules as cr
from causalrules.exceptions import InadmissibleError, InputError


def trial(n: int = 4000, inside: float = 0.35, seed: int = 1) -> dict[str, Any]:
    """Return an experiment: the letter adds `inside` for the old of the south, and nothing for the others."""
    rng = np.random.default_rng(seed)
    data: dict[str, Any] = {"age": rng.integers(20, 80, n), "region": rng.choice(["north", "south"], n)}
    data |= {"letter": rng.choice(["yes", "no"], n), "income": rng.normal(size=n).round(1)}
    group = (data["age"] >= 50) & (data["region"] == "south")
    chance = 0.2 + 0.1 * (data["income"] > 0) + inside * group * (data["letter"] == "yes")
    data["y"] = (rng.random(n) < chance).astype(int)
    return data


ASKED: dict[str, Any] = {"target": "y", "context": ["age", "region", "income"], "randomised": ["letter"]}


def test_the_group_that_benefits_is_found_and_no_other() -> None:
    found = cr.for_whom(trial(), "letter = yes", **ASKED)
    assert len(found) == 1
    assert found.candidate is None
    segment, data = found[0], trial()
    planted = (data["age"] >= 50) & (data["region"] == "south")
    covered = segment.covers(data)
    assert (covered & planted).sum() / (covered | planted).sum() > 0.9
    assert segment.interval.low < 0.35 < segment.interval.high
    assert segment.contrast_interval.low < 0.35 < segment.contrast_interval.high
    assert segment.contrast == pytest.approx(segment.effect - segment.outside)
    assert segment.effect == pytest.approx(segment.level - segment.level_without)
    assert segment.naive_low > segment.low
    assert abs(segment.outside) < 0.05
    assert segment.p_value <= 0.01
    assert segment.benefits_more
    assert found.claim == "by design"
    assert found.effect == pytest.approx(segment.share * segment.effect + (1 - segment.share) * segment.outside)


def test_effects_are_those_of_independent_code() -> None:
    """With strata, scores follow from shares and means: the same numbers by hand."""
    data = trial(n=1500, seed=2)
    found = cr.for_whom(data, "letter = yes", **ASKED, control=["region"], adjust="strata")
    segment = found[0] if len(found) else found.candidate
    assert segment is not None
    got, y = data["letter"] == "yes", np.asarray(data["y"], float)
    psi = np.empty(len(y))
    for region in ("north", "south"):
        here = data["region"] == region
        share, one, none = got[here].mean(), y[here & got].mean(), y[here & ~got].mean()
        psi[here] = one - none + np.where(got, (y - one) / share, -(y - none) / (1 - share))[here]
    inside = segment.covers(data)
    assert segment.effect == pytest.approx(psi[inside].mean())
    assert segment.outside == pytest.approx(psi[~inside].mean())
    assert found.effect == pytest.approx(psi.mean())
    error = psi[inside].std() / np.sqrt(inside.sum())
    assert segment.naive_interval.low == pytest.approx(segment.effect - 1.959964 * error)


def test_a_uniform_effect_differs_nowhere() -> None:
    rng, listed = np.random.default_rng(0), 0
    for seed in range(20):
        data = trial(n=600, inside=0.0, seed=seed)
        data["y"] = data["y"] | ((data["letter"] == "yes") & (rng.random(600) < 0.3))
        found = cr.for_whom(data, "letter = yes", **ASKED, adjust="strata")
        listed += len(found)
        if not len(found):
            assert found.candidate is not None
            assert not found.candidate.stands_out
            assert found.candidate.contrast_low < 0 < found.candidate.contrast_high
    assert listed <= 3


def test_confounding_by_the_context_is_adjusted_for() -> None:
    """The old choose the drug and recover less, whatever they take; nobody is helped, in no group."""
    rng = np.random.default_rng(0)
    n = 3000
    age, sex = rng.normal(size=n), rng.choice(list("mw"), n)
    drug = rng.random(n) < 1 / (1 + np.exp(-1.5 * age))
    data = {"age": age, "sex": sex, "drug": drug.astype(int), "y": rng.normal(size=n) - 2 * age}
    found = cr.for_whom(data, "drug = 1", "y", control=["age"], context=["age", "sex"])
    assert not len(found)
    assert abs(found.effect) < 0.2
    assert found.claim == "unchecked"


def test_arms_are_compared_inside_the_group() -> None:
    data = trial()
    third = np.random.default_rng(1).random(len(data["y"])) < 0.3
    data["letter"] = np.where(third, "call", data["letter"])
    found = cr.for_whom(data, "letter = yes", **ASKED, reference={"letter": "no"})
    assert found.n_compared == (~third).sum()
    assert len(found) == 1
    assert {condition.column for condition in found[0].conditions} == {"age", "region"}


def test_missing_context_is_compared_on_neither_side() -> None:
    data = trial()
    hole = np.random.default_rng(1).random(len(data["y"])) < 0.1
    data["region"] = [None if empty else value for empty, value in zip(hole, data["region"], strict=True)]
    found = cr.for_whom(data, "letter = yes", **ASKED)
    assert not found[0].covers(data)[hole].any()
    assert found[0].n_rows == found[0].covers(data).sum()


def test_groups_of_dependent_rows_count_as_such() -> None:
    """Each row ten times over: without groups, noise differs."""
    few = trial(n=300, inside=0.0)
    data = {name: np.repeat(values, 10) for name, values in few.items()}
    data["id"] = np.repeat(np.arange(300), 10)
    alone = cr.for_whom(data, "letter = yes", **ASKED, adjust="strata")
    grouped = cr.for_whom(data, "letter = yes", **ASKED, adjust="strata", groups="id")
    assert len(alone)
    assert not len(grouped)


def test_weights_are_rows_that_repeat() -> None:
    data = trial(n=800)
    asked = {**ASKED, "adjust": "strata"}
    weighted = cr.for_whom({**data, "n": np.full(800, 2)}, "letter = yes", **asked, weights="n")
    twice = cr.for_whom({name: np.tile(values, 2) for name, values in data.items()}, "letter = yes", **asked)
    assert weighted[0].text == twice[0].text
    assert weighted[0].n_rows == twice[0].n_rows
    for name in ("effect", "outside", "contrast", "naive_low"):
        assert getattr(weighted[0], name) == pytest.approx(getattr(twice[0], name))


def test_the_order_of_rows_does_not_matter() -> None:
    data = trial(n=1000)
    order = np.random.default_rng(0).permutation(1000)
    asked = {**ASKED, "adjust": "strata"}
    first = cr.for_whom(data, "letter = yes", **asked)
    second = cr.for_whom({name: values[order] for name, values in data.items()}, "letter = yes", **asked)
    assert [segment.text for segment in first] == [segment.text for segment in second]
    assert [segment.p_value for segment in first] == [segment.p_value for segment in second]


def test_the_side_that_benefits_more_is_listed() -> None:
    data = trial()
    data["y"] = np.where((data["region"] == "south") & (data["letter"] == "yes"), 1, data["y"])
    asked = {**ASKED, "context": ["region"]}
    assert cr.for_whom(data, "letter = yes", **asked)[0].text == "region = south"
    assert cr.for_whom(data, "letter = yes", **asked, direction="decrease")[0].text == "region = north"


def test_a_numeric_outcome_is_compared_in_its_own_unit() -> None:
    data = trial()
    data["y"] = 1e6 + 10.0 * data["y"]
    found = cr.for_whom(data, "letter = yes", **ASKED)
    assert found[0].effect == pytest.approx(3.5, abs=1)
    assert 1e6 < found[0].level_without < found[0].level < 1e6 + 10


def test_the_graph_is_asked() -> None:
    data, edges = trial(n=1000), "age -> y; income -> y; letter -> y; region -> y"
    found = cr.for_whom(data, "letter = yes", **ASKED, graph=edges)
    assert found.admissibility
    with pytest.raises(InadmissibleError, match="letter causes income"):
        cr.for_whom(data, "letter = yes", **ASKED, graph=f"{edges}; letter -> income")


def test_groups_without_enough_rows_with_the_action_are_left_out() -> None:
    data = trial(n=2000)
    nobody = data["region"] == "north"
    data["letter"] = np.where(nobody & (np.arange(2000) % 100 > 0), "no", data["letter"])
    found = cr.for_whom(data, "letter = yes", **ASKED)
    listed = [*found, *([] if found.candidate is None else [found.candidate])]
    for segment in listed:
        inside = segment.covers(data) & (np.asarray(data["letter"]) == "yes")
        assert inside.sum() >= 20


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"context": None}, "name the columns that describe who"),
        ({"context": ["letter"]}, "part of the action"),
        ({"context": ["y"]}, "the target"),
        ({"context": ["ages"]}, "did you mean 'age'"),
        ({"max_context": 3}, "from 1 to 2"),
        ({"permutations": 5}, "from 19"),
        ({"min_coverage": 0.7}, "at most 0.5"),
        ({"adjust": "strata", "randomised": ()}, "strata of the controls do not adjust for"),
    ],
)
def test_what_cannot_be_asked_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cr.for_whom(trial(n=300), "letter = yes", **{**ASKED, **changes})


def test_options_that_do_not_apply_are_not_taken() -> None:
    with pytest.raises(TypeError, match="stepwise"):
        cr.for_whom(trial(n=300), "letter = yes", **ASKED, stepwise=True)
