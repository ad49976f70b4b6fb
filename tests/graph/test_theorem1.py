"""Theorem 1 by exact enumeration of discrete structural models, and the condition missing from Definition 1."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from causalrules.graph.admissibility import check
from strategies import examples
from structural_models import Model, Values, adjusted, after_intervention, complement, random_model


@st.composite
def models(draw: st.DrawFn) -> tuple[Model, tuple[str, ...], tuple[str, ...]]:
    """Draw a random model on a random admissible graph, its actionable variables and its controls.

    Latent and other variables without a role (u) may affect each other, the controls and the target, and be
    affected by the target; what the target affects affects no control.
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
    return random_model(causes, sizes, draw(st.integers(0, 2**32 - 1))), actionable, controls


@settings(max_examples=examples(100, 250), deadline=None)
@given(models(), st.data())
def test_theorem_1_the_adjusted_difference_is_the_effect_of_the_policy(
    case: tuple[Model, tuple[str, ...], tuple[str, ...]], data: st.DataObject
) -> None:
    model, actionable, control = case
    edges = {name: [effect for effect in model.causes if name in model.causes[effect]] for name in model.causes}
    assert check(edges, target="y", actionable=actionable, control=control)
    variables = data.draw(st.sampled_from([actionable, actionable[:1], actionable[-1:]]))
    allowed = {name: data.draw(st.sets(st.integers(0, model.sizes[name] - 1), min_size=1)) for name in variables}
    assume(any(len(allowed[name]) < model.sizes[name] for name in variables))

    def rule(world: Values) -> bool:
        return all(world[name] in values for name, values in allowed.items())

    effect = after_intervention(model, rule, variables, control)
    effect -= after_intervention(model, complement(rule), variables, control)
    estimand = adjusted(model, rule, control) - adjusted(model, complement(rule), control)
    assert estimand == pytest.approx(effect, abs=1e-12)


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
