"""Theorem 1 by exact enumeration of discrete structural models, inside groups too, and what Definition 1 lacks."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from causalrules.graph.admissibility import check
from strategies import examples
from structural_models import Model, Rule, Values, adjusted, after_intervention, complement, everybody, random_model


@st.composite
def models(draw: st.DrawFn) -> tuple[Model, tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Draw a random model on a random admissible graph, its actionable variables, its controls and its context.

    Latent and other variables without a role (u) may affect each other, the controls and the target, and be
    affected by the target; what the target affects affects no control. All but the latter may be context.
    """
    controls = tuple(f"z{number}" for number in range(draw(st.integers(0, 2))))
    hidden = tuple(f"u{number}" for number in range(draw(st.integers(0, 2))))
    actionable = tuple(f"x{number}" for number in range(draw(st.integers(1, 2))))
    after = ("w",) if draw(st.booleans()) else ()
    background = draw(st.permutations(controls + hidden))
    causes: dict[str, tuple[str, ...]] = {}

    def some(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in names if draw(st.integers(0, 3)))

    for number, name in enumerate(background):
        causes[name] = some(tuple(background[:number]))
    for name in actionable:
        causes[name] = some(controls)
    causes["y"] = some(tuple(background) + actionable)
    for name in after:
        causes[name] = some(("y", *background))
    sizes = {name: draw(st.integers(2, 3)) for name in causes} | {"y": 2}
    context = tuple(name for name in background if draw(st.booleans()))
    return random_model(causes, sizes, draw(st.integers(0, 2**32 - 1))), actionable, controls, context


def drawn_group(data: st.DataObject, model: Model, context: tuple[str, ...]) -> Rule:
    """Draw conditions on some columns of the context; each can leave several values."""
    allowed = {
        name: data.draw(st.sets(st.integers(0, model.sizes[name] - 1), min_size=1))
        for name in context
        if data.draw(st.booleans())
    }
    return lambda world: all(world[name] in values for name, values in allowed.items())


@settings(max_examples=examples(100, 250), deadline=None)
@given(models(), st.data())
def test_theorem_1_the_adjusted_difference_is_the_effect_of_the_policy(
    case: tuple[Model, tuple[str, ...], tuple[str, ...], tuple[str, ...]], data: st.DataObject
) -> None:
    model, actionable, control, context = case
    assert check(edges(model), target="y", actionable=actionable, control=control, context=context)
    group = drawn_group(data, model, context)
    # Context may be adjusted for as well, and the effect is that of the same policies.
    more = tuple(name for name in context if name not in control and data.draw(st.booleans()))
    variables = data.draw(st.sampled_from([actionable, actionable[:1], actionable[-1:]]))
    allowed = {name: data.draw(st.sets(st.integers(0, model.sizes[name] - 1), min_size=1)) for name in variables}
    assume(any(len(allowed[name]) < model.sizes[name] for name in variables))

    def rule(world: Values) -> bool:
        return all(world[name] in values for name, values in allowed.items())

    for where, given_too in ((group, ()), (group, more), (everybody, ())):
        given = control + given_too
        effect = after_intervention(model, rule, variables, given, where)
        effect -= after_intervention(model, complement(rule), variables, given, where)
        estimand = adjusted(model, rule, given, where) - adjusted(model, complement(rule), given, where)
        assert estimand == pytest.approx(effect, abs=1e-12)


def edges(model: Model) -> dict[str, list[str]]:
    return {name: [effect for effect in model.causes if name in model.causes[effect]] for name in model.causes}


@pytest.mark.parametrize(
    ("causes", "criterion", "control"),
    [
        # What affects the action differs within a group too, unless it is adjusted for.
        ({"w": (), "x": ("w",), "y": ("x", "w")}, "d", ("w",)),
        # A group by a collider mixes what decided the action with what decides the outcome.
        ({"u": (), "v": (), "w": ("u", "v"), "x": ("u",), "y": ("x", "v")}, "d", ("u",)),
        # A group by what the action did, or by what came of the outcome, is selected by it.
        ({"x": (), "w": ("x",), "y": ("x", "w")}, "f", None),
        ({"x": (), "y": ("x",), "w": ("y",)}, "g", None),
    ],
)
def test_without_each_criterion_of_context_an_effect_inside_a_group_is_wrong(
    causes: dict[str, tuple[str, ...]], criterion: str, control: tuple[str, ...] | None
) -> None:
    sizes = dict.fromkeys(causes, 2) | {"w": 3}
    model = random_model(causes, sizes, seed=1)
    roles: dict[str, Any] = {"target": "y", "actionable": ["x"], "context": ["w"]}
    found = check(edges(model), **roles)
    assert {(one.criterion, one.harmless) for one in found.violations} == {(criterion, False)}
    assert found.identified is False

    def rule(world: Values) -> bool:
        return world["x"] == 1

    def group(world: Values) -> bool:
        return world["w"] > 0

    def difference(given: tuple[str, ...], where: Rule) -> float:
        return adjusted(model, rule, given, where) - adjusted(model, complement(rule), given, where)

    # Where the group is formed by what was done, there is only the effect on everybody.
    where = everybody if control is None else group
    effect = after_intervention(model, rule, ("x",), (), where)
    effect -= after_intervention(model, complement(rule), ("x",), (), where)
    assert abs(difference((), group) - effect) > 0.005
    assert difference(control or (), where) == pytest.approx(effect, abs=1e-12)
    if control is None:
        assert check(edges(model), target="y", actionable=["x"]).identified
    else:
        assert check(edges(model), **roles, control=control)


def test_a_group_by_a_collider_makes_an_effect_of_minus_0_17_where_there_is_none() -> None:
    coin = np.array([0.5, 0.5])
    tables: dict[str, dict[tuple[int, ...], np.ndarray]] = {
        "u": {(): coin},
        "v": {(): coin},
        "w": {(u, v): np.array([1.0, 0.0]) if u + v == 0 else np.array([0.0, 1.0]) for u in (0, 1) for v in (0, 1)},
        "x": {(0,): np.array([0.8, 0.2]), (1,): np.array([0.2, 0.8])},
        "y": {(0,): np.array([0.8, 0.2]), (1,): np.array([0.2, 0.8])},
    }
    causes = {"u": (), "v": (), "w": ("u", "v"), "x": ("u",), "y": ("v",)}
    model = Model(causes, dict.fromkeys(causes, 2), tables)

    def difference(given: tuple[str, ...], where: Rule = everybody) -> float:
        return adjusted(model, rule, given, where) - adjusted(model, complement(rule), given, where)

    def rule(world: Values) -> bool:
        return world["x"] == 1

    def group(world: Values) -> bool:
        return world["w"] == 1

    assert difference(()) == pytest.approx(0, abs=1e-12)
    assert difference((), group) == pytest.approx(-1 / 6, abs=1e-12)
    assert difference(("u",), group) == pytest.approx(0, abs=1e-12)
    verdict = check(edges(model), target="y", actionable=["x"], context=["w"])
    assert not verdict.identified
    assert verdict.violations[0].remedies[:2] == (
        "make u a control",
        "remove x from the actionable variables",
    )
    assert verdict.violations[0].remedies[2].startswith("remove w from the context (leaves a harmless violation")


def test_the_estimate_converges_to_the_effect_and_the_unadjusted_one_does_not() -> None:
    # z makes both x and y likely; given z, x adds 0.1.
    generator = np.random.default_rng(7)
    effect = 0.1
    errors, unadjusted_errors = [], []
    for rows in (1_000, 1_000_000):
        z = generator.random(rows) < 0.5
        x = generator.random(rows) < np.where(z, 0.8, 0.2)
        y = generator.random(rows) < np.where(z, 0.6, 0.2) + effect * x
        estimate = sum((y[x & (z == s)].mean() - y[~x & (z == s)].mean()) * (z == s).mean() for s in (False, True))
        errors.append(abs(estimate - effect))
        unadjusted_errors.append(abs(y[x].mean() - y[~x].mean() - effect))
    assert check("z -> {x y}; x -> y", target="y", actionable=["x"], control=["z"])
    assert errors[1] < 0.003 < errors[0]
    assert all(error > 0.2 for error in unadjusted_errors)


def test_criterion_e_is_needed_the_adjusted_effect_is_0_157_where_the_true_one_is_0_30() -> None:
    """X → Y → Z satisfies (a) to (d) with Z as control, and Theorem 1 fails."""
    tables: dict[str, dict[tuple[int, ...], np.ndarray]] = {
        "x": {(): np.array([0.5, 0.5])},
        "y": {(0,): np.array([0.6, 0.4]), (1,): np.array([0.3, 0.7])},
        "z": {(0,): np.array([0.8, 0.2]), (1,): np.array([0.1, 0.9])},
    }
    model = Model({"x": (), "y": ("x",), "z": ("y",)}, {"x": 2, "y": 2, "z": 2}, tables)

    def rule(world: Values) -> bool:
        return world["x"] == 1

    truth = adjusted(model, rule, ()) - adjusted(model, complement(rule), ())
    assert truth == pytest.approx(0.30, abs=1e-12)
    assert after_intervention(model, rule, ("x",), ()) == pytest.approx(0.7, abs=1e-12)
    with_z = adjusted(model, rule, ("z",)) - adjusted(model, complement(rule), ("z",))
    assert with_z == pytest.approx(0.157, abs=5e-4)

    verdict = check([("x", "y"), ("y", "z")], target="y", actionable=["x"], control=["z"])
    assert [(one.criterion, one.edge) for one in verdict.violations] == [("e", ("y", "z"))]
    assert check([("x", "y"), ("y", "z")], target="y", actionable=["x"])
