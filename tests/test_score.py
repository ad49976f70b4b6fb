"""The default score: noise stays below 0, β counts the rules, and every reported number can be recomputed."""

from __future__ import annotations

import itertools
import math
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import causalrules as cr
from causalrules.data.reading import read
from causalrules.exceptions import RoleError, UnknownColumnError
from causalrules.language.language import Language, build_language
from causalrules.question import Question
from causalrules.result.evidence import CalibratedMargin
from causalrules.search.margins import beta_of_rules, betas, count_rules
from causalrules.trust import calibration
from rulesets import rows_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import margins, score

N = 600
KINDS = ("binary", "exact levels", "rounded levels")
COMPARISONS: dict[str, dict[str, Any]] = {
    "all others": {},
    "missing": {},
    "missing as false": {"missing": "false"},
    "reference": {"reference": {"arm": "placebo"}, "actionable": "arm"},
    "decrease": {"direction": "decrease"},
    "missing, decrease": {"direction": "decrease"},
}


def table(kind: str, comparison: str, seed: int = 0) -> dict[str, NDArray[Any]]:
    """Draw a table with an effect large enough to be above 0, in both directions."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, N)
    x = np.round(rng.normal(size=N) + 0.3 * z, 2)
    arm = rng.choice(["placebo", "low", "high"], N)
    push = 1.5 * (x > 0.2) + 1.5 * (arm == "high")
    y = push + rng.normal(size=N) + 0.4 * z
    if kind == "binary":
        y = (y > 1.5).astype(float)
    elif kind == "exact levels":
        y = np.clip(np.round(y), -1, 5) * 10
    if "missing" in comparison:
        x = np.where(rng.random(N) < 0.2, np.nan, x)
    return {"x": x, "arm": arm, "z": np.array(list("abc"))[z], "y": y}


def options(kind: str, comparison: str) -> dict[str, Any]:
    outcome = {"outcome": 1} if kind == "binary" else {}
    return {"control": "z", "max_length": 2, "n_jobs": 1, **outcome, **COMPARISONS[comparison]}


def discover(data: Any, **asked: Any) -> cr.RuleSet:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cr.discover(data, "y", **asked)


# --- noise


def test_hardly_any_table_of_noise_has_a_rule_above_0() -> None:
    above = [shape.name for shape in score.SHAPES if score.noise_above(shape, seed=1)]
    assert len(score.SHAPES) >= 40
    assert len(above) <= 2, above


@pytest.mark.parametrize(
    "name", ["outcome 30 %, 5 strata, length 1", "missing at random", "reference arm, outcome 30 %"]
)
def test_discover_reports_for_noise_that_nothing_stands_out(name: str) -> None:
    shape = next(each for each in score.SHAPES if each.name == name)
    n_out = 0
    for seed in range(20):
        columns, question = shape.draw(np.random.default_rng([5, seed]))
        asked = {"control": question.control, "outcome": 1, "max_length": shape.length, **shape.options}
        rules = discover(columns, k=3, **asked)
        assert all(rule.value <= 0 for rule in rules)
        ratios = [rule.ratio for rule in rules]
        assert ratios == sorted(ratios, reverse=True)
        assert [rule.stands_out for rule in rules] == [rule.ratio > rule.margin_scale for rule in rules]
        n_out += rules[0].stands_out
        # Only outcomes compared with all other rows are permuted together.
        assert (rules[0].margin_scale < 1) == ("reference" not in name)
    assert n_out <= 4  # the error rate allows one in twenty


def shuffled(rules: cr.RuleSet) -> CalibratedMargin | None:
    return None if rules.evidence is None else rules.evidence.margin


def test_margins_from_permuted_tables_find_more_and_do_not_depend_on_row_order() -> None:
    columns = margins.thousand(np.random.default_rng(7), 0.12)
    asked: dict[str, Any] = {"control": "z", "outcome": 1, "k": 1, "max_length": 2}
    rules = discover(columns, **asked)
    margin = shuffled(rules)
    assert margin is not None
    assert rules[0].text == "t = 1"
    assert rules[0].value < 0 < rules[0].reliable_effect
    assert rules[0].margin_scale == margin.factor < 1
    assert "shuffled tables" in str(rules)
    assert cr.RuleSet.from_json(rules.to_json()) == rules
    order = np.random.default_rng(8).permutation(1000)
    turned = {name: columns[name][order] for name in reversed(columns)}
    weighted = {name: values[::2] for name, values in columns.items()}
    assert shuffled(discover(turned, **asked)) == margin
    assert shuffled(discover(columns, **asked, n_jobs=1)) == margin
    assert shuffled(discover(columns, **asked, seed=1)) != margin
    twice = {name: np.repeat(values, 2) for name, values in weighted.items()}
    of_weights = discover(weighted | {"n": np.full(500, 2)}, **asked, weights="n")
    assert shuffled(of_weights) == shuffled(discover(twice, **asked)) is not None


def test_margins_use_the_number_of_rules_if_permutations_are_too_expensive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns = margins.thousand(np.random.default_rng(7), 0.12)
    asked: dict[str, Any] = {"control": "z", "outcome": 1, "k": 1, "max_length": 2}
    for name, most in (("_MOST_WORK", 100), ("_MOST_DRAWN", 1000)):
        with monkeypatch.context() as changed:
            changed.setattr(calibration, name, most)
            rules = discover(columns, **asked)
            assert rules.evidence is None
            assert rules[0].margin_scale == 1
            assert rules[0].reliable_effect < 0
            assert "shuffled tables" not in str(rules)


def test_where_nothing_stands_out_the_first_rule_has_the_largest_ratio_of_all() -> None:
    rng = np.random.default_rng(3)
    data = {"x": rng.integers(0, 4, 200), "c": rng.choice(list("ab"), 200), "y": rng.integers(0, 2, 200)}
    rules = discover(data, outcome=1, k=1, max_length=2)
    assert rules[0].value <= 0
    language = rows_of(rules).language
    pairs = [(one,) for one in language.propositions] + list(itertools.combinations(language.propositions, 2))
    named = [pair for pair in pairs if 0 < covered(data, pair).sum() < 200]
    by_length = betas(language, 2, 0.05)
    ratios = []
    for rule in discover_named(data, named):
        # Named rules are tested in both directions, and the search looks for increases.
        effect = math.copysign(rule.value + rule.criterion.margin(rule.measured), rule.effect)
        ratios.append(effect / bernstein(by_length[rule.length], [_stratum(data, rule, "all others")]))
    assert rules[0].ratio == pytest.approx(max(ratios), abs=1e-9)


def covered(data: Any, conditions: Any) -> NDArray[np.bool_]:
    holds = np.ones(len(data["y"]), np.bool_)
    for condition in conditions:
        values = data[condition.column]
        with np.errstate(invalid="ignore"):
            match condition.operator:
                case "<=":
                    holds &= values <= condition.value
                case ">=":
                    holds &= values >= condition.value
                case _:
                    holds &= values == condition.value
    return holds


def discover_named(data: Any, named: Any) -> cr.RuleSet:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cr.evaluate(data, list(named), "y", 1)


# --- β


def language(columns: dict[str, NDArray[Any]], max_bins: int = 8) -> Language:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return build_language(read(columns), list(columns), max_bins)


LANGUAGES = {
    "numbers": {"a": np.arange(24) % 4, "b": np.arange(24) // 8},
    "two values": {"a": np.arange(24) % 2 + 5, "b": np.arange(24) % 3},
    "texts": {"a": np.array(list("uvw") * 8), "b": np.array(list("xy") * 12), "c": np.array(list("kkll") * 6)},
    "both": {"a": np.arange(24) % 5, "b": np.array(list("uvw") * 8), "c": np.arange(24) % 2},
}


def brute_force(language: Language, longest: int) -> list[int]:
    """Count the sets of code combinations, missing included, that a conjunction selects, by its shortest length."""
    columns = range(len(language.columns))
    codes = [range(-1, 1 + int(language.high[language.column_index == place].max())) for place in columns]
    everything = np.array(list(itertools.product(*codes)))
    sets = [
        (everything[:, place] >= low) & (everything[:, place] <= high)
        for place, low, high in zip(language.column_index, language.low, language.high, strict=True)
    ]
    seen, counts = {np.ones(len(everything), np.bool_).tobytes()}, [1]
    for length in range(1, longest + 1):
        found = set()
        for chosen in itertools.combinations(sets, length):
            rows = np.logical_and.reduce(chosen)
            if rows.any() and rows.tobytes() not in seen:
                found.add(rows.tobytes())
        seen |= found
        counts.append(len(found))
    return counts


@pytest.mark.parametrize("name", LANGUAGES)
def test_rules_are_counted_as_by_enumeration(name: str) -> None:
    made = language(LANGUAGES[name])
    assert count_rules(made, 4) == brute_force(made, 4)


@pytest.mark.parametrize("name", LANGUAGES)
@pytest.mark.parametrize("max_length", [1, 2, 3, 50, None])
@pytest.mark.parametrize("error_rate", [0.05, 0.3])
def test_betas_share_the_error_rate_and_never_fall(name: str, max_length: int | None, error_rate: float) -> None:
    made = language(LANGUAGES[name])
    found = betas(made, max_length, error_rate)
    assert all(one <= next_one for one, next_one in itertools.pairwise(found))
    # A rule longer than the list has the last β.
    n_rules = count_rules(made, 12)
    assert not any(n_rules[len(found) :]) or max_length is not None
    spent = sum(n * math.exp(-(beta**2) / 2) for n, beta in zip(n_rules[1:], found[1:], strict=False))
    assert spent <= error_rate * (1 + 1e-9)
    # If β need not be raised, little of the error rate is wasted.
    first = error_rate / min(max_length, len(found) - 1) if max_length is not None else error_rate / 2
    assert n_rules[1] * math.exp(-(found[1] ** 2) / 2) == pytest.approx(first)


def test_beta_of_named_rules_counts_them() -> None:
    data = table("binary", "all others")
    one, two = (discover_named(data, ["x >= 0.2", "x >= 1"][:n])[0] for n in (1, 2))
    # Each of them in both directions.
    assert one.criterion.beta == pytest.approx(beta_of_rules(2, 0.05)) == pytest.approx(math.sqrt(2 * math.log(40)))
    assert two.criterion.beta == pytest.approx(math.sqrt(2 * math.log(80)))


def test_a_rule_has_the_beta_of_its_length() -> None:
    rules = discover(table("binary", "all others"), **options("binary", "all others"), k=20, stepwise=False)
    by_length = betas(rows_of(rules).language, 2, 0.05)
    assert {rule.length for rule in rules} == {1, 2}
    assert all(rule.criterion.beta == by_length[rule.length] for rule in rules)


# --- the numbers


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_value_is_what_the_core_reports(kind: str, comparison: str) -> None:
    data, asked = table(kind, comparison), options(kind, comparison)
    rules = discover(data, **asked, k=5, stepwise=False)
    found = score.prepared(data, Question("y", **asked, k=5)).search().rules
    assert rules[0].value > 0
    # The core rounds to 2⁻³⁶ of the target's range.
    span = float(np.ptp(data["y"]))
    assert [rule.value for rule in rules] == pytest.approx([value for value, _ in found], abs=2**-35 * span)


def _stratum(data: Any, rule: Any, comparison: str, stratum: Any = None, y: Any = None) -> tuple[Any, Any, Any]:
    """Return the target of a stratum's covered rows, of the rows they are compared with, and of all rows."""
    y = data["y"] if y is None else y
    inside = np.ones(len(y), np.bool_) if stratum is None else data["z"] == stratum
    holds = covered(data, rule.conditions)
    fails = ~holds
    if comparison.startswith("missing") and comparison != "missing as false":
        possible = np.ones(len(y), np.bool_)
        for condition in rule.conditions:
            unknown = np.isnan(data["x"]) if condition.column == "x" else np.zeros(len(y), np.bool_)
            possible &= covered(data, [condition]) | unknown
        fails = ~possible
    if comparison == "reference":
        holds, fails = holds & (data["arm"] != "placebo"), data["arm"] == "placebo"
    return y[inside & holds], y[inside & fails], y[inside]


def bernstein(beta: float, strata: Any) -> float:
    n_rows = sum(len(everything) for _, _, everything in strata)
    variance = reach = 0.0
    for inside, outside, everything in strata:
        weight, q = len(everything) / n_rows, 1 / (len(inside) + 2) + 1 / (len(outside) + 2)
        compared = np.concatenate([inside, outside])
        variance += weight**2 * np.var(compared) * q
        if len(inside) and len(outside):
            reach = max(reach, weight * float(np.ptp(compared)) * q)
    half = beta**2 * reach / 6
    return half + math.sqrt(half**2 + beta**2 * variance)


def error_of_means(strata: list[tuple[Any, Any, int]], effect: float) -> float:
    """Return the standard error of a difference of means, each side with one extra row of the pooled variance."""
    n_rows = sum(n for *_, n in strata)
    weights = [n / n_rows for *_, n in strata]
    sides: list[list[Any]] = [[a for a, _, _ in strata], [b for _, b, _ in strata]]
    scatter = sum(((values - values.mean()) ** 2).sum() for side in sides for values in side)
    one_row = scatter / sum(len(values) - 1 for side in sides for values in side)
    variance, spreads = 0.0, []
    for side in sides:
        worth = [weight**2 / len(values) for weight, values in zip(weights, side, strict=True)]
        spread = sum(v * values.var(ddof=1) for v, values in zip(worth, side, strict=True)) / sum(worth)
        degrees = sum(worth) ** 2 / sum(v**2 / (len(values) - 1) for v, values in zip(worth, side, strict=True))
        spreads.append((degrees * spread + one_row) / (degrees + 1))
        variance += spreads[-1] * sum(worth)
    unlike = sum(
        weight * ((a.mean() - b.mean() - effect) ** 2 - spreads[0] / len(a) - spreads[1] / len(b))
        for weight, (a, b, _) in zip(weights, strata, strict=True)
    )
    return math.sqrt(variance + max(unlike / n_rows, 0.0))


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_numbers_of_a_rule_can_be_recomputed(kind: str, comparison: str) -> None:
    data = table(kind, comparison)
    rules = discover(data, **options(kind, comparison), k=3, stepwise=False)
    # The ranking value: the mean of the level means.
    level = rows_of(rules).outcome
    means = np.array([data["y"][level == each].mean() for each in range(level.max() + 1)])
    for rule in rules:
        strata = [_stratum(data, rule, comparison, stratum) for stratum in "abc"]
        both = [(a, b, len(everything)) for a, b, everything in strata if len(a) and len(b)]
        n_rows = sum(n for *_, n in both)
        effect = sum(n * (a.mean() - b.mean()) for a, b, n in both) / n_rows
        assert rule.effect == pytest.approx(effect, abs=1e-12)
        assert rule.n_covered == sum(len(a) for a, _, _ in both)
        assert rule.n_undecided == N - sum(len(a) + len(b) for a, b, _ in both)
        if kind != "binary":
            assert rule.standard_error == pytest.approx(error_of_means(both, effect))
        rounded = [_stratum(data, rule, comparison, stratum, means[level]) for stratum in "abc"]
        pooled = 0.0
        for a, b, everything in rounded:
            prior = 2 * np.concatenate([a, b]).mean()
            difference = (a.sum() + prior) / (len(a) + 2) - (b.sum() + prior) / (len(b) + 2)
            pooled += len(everything) / N * difference
        sign = -1 if "decrease" in comparison else 1
        value = sign * pooled - bernstein(rule.criterion.beta, rounded)
        assert rule.value == pytest.approx(value, abs=1e-9)
        assert rule.reliable_effect == pytest.approx(sign * value, abs=1e-9)


@pytest.mark.parametrize("kind", ["binary", "levels"])
def test_a_stratum_without_variation_adds_nothing_to_the_margin(kind: str) -> None:
    """The rule covers one row of it, so its share of b would be the largest if its range were not 0."""
    rng = np.random.default_rng(0)
    z = np.repeat(["a", "c"], 300)
    x = np.where(z == "a", rng.integers(0, 2, 600), 0) + (np.arange(600) == 599)
    y = np.where(z == "a", rng.random(600) < 0.2 + 0.6 * x, False).astype(int) + (z == "c")
    data = {"x": x, "z": z, "y": y if kind == "binary" else 10 * y + (z == "a") * rng.integers(0, 3, 600)}
    asked: dict[str, Any] = {"control": "z", "max_length": 1, "n_jobs": 1}
    asked |= {"outcome": 1} if kind == "binary" else {}
    rule = discover(data, **asked, k=1)[0]
    strata = [_stratum(data, rule, "all others", stratum) for stratum in "ac"]
    assert len(strata[1][0]) == 1
    assert rule.criterion.margin(rule.measured) == pytest.approx(bernstein(rule.criterion.beta, strata))
    found = score.prepared(data, Question("y", **asked, k=1)).search().rules
    assert rule.value == pytest.approx(found[0][0], abs=2**-35 * float(np.ptp(data["y"])))


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_rule_that_is_named_has_the_effect_with_which_it_was_discovered(kind: str, comparison: str) -> None:
    data, asked = table(kind, comparison), options(kind, comparison)
    del asked["max_length"]
    rule = discover(data, **asked, max_length=2, k=1)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = cr.evaluate(data, [rule.conditions], "y", **asked)[0]
    assert again.conditions == rule.conditions
    for number in ("effect", "standard_error", "n_covered", "n_undecided", "p_do_rule", "p_do_not_rule", "overlap"):
        assert getattr(again, number) == pytest.approx(getattr(rule, number), rel=1e-12), number
    # A named rule needs a smaller margin than a searched one.
    assert again.criterion.margin(again.measured) < rule.criterion.margin(rule.measured)


def test_levels_are_exact_up_to_32_values() -> None:
    rng = np.random.default_rng(0)
    for n_values, is_exact in ((32, True), (33, False)):
        y = np.arange(660) % n_values
        rules = discover({"x": rng.normal(size=660), "y": y}, k=1, max_length=1)
        assert rows_of(rules).roles.outcome.is_exact is is_exact
        assert len(rows_of(rules).comparison.values) == 32


def test_k_above_the_number_of_rules() -> None:
    rng = np.random.default_rng(0)
    rules = discover({"a": rng.integers(0, 2, 100), "y": rng.integers(0, 2, 100)}, outcome=1, k=50, stepwise=False)
    assert len(rules) == 2


# --- with excluded rows, only the compared rows count


def false_alarms(draw: Any, n_tables: int, **asked: Any) -> int:
    return sum(
        discover(draw(np.random.default_rng(seed)), outcome=1, k=1, max_length=1, **asked)[0].value > 0
        for seed in range(n_tables)
    )


def test_an_arm_like_the_reference_stays_below_0_whatever_other_arms_do() -> None:
    def draw(rng: np.random.Generator) -> Any:
        arm = np.tile(np.array(["placebo"] + ["same"] * 8 + ["harm"] * 6), 100)
        y = rng.random(1500) < np.where(arm == "harm", 0.05, 0.6)
        return {"arm": arm, "z": np.repeat(np.arange(100), 15).astype(str), "y": y.astype(int)}

    assert false_alarms(draw, 10, control="z", reference={"arm": "placebo"}) <= 2


def test_a_column_without_effect_stays_below_0_where_it_is_missing_by_the_outcome() -> None:
    def draw(rng: np.random.Generator) -> Any:
        y = (rng.random(10_000) < 0.02).astype(int)
        x = rng.choice(["a", "b"], 10_000).astype(object)
        x[(y == 0) & (rng.random(10_000) < 0.98)] = None
        return {"x": x, "y": y}

    assert false_alarms(draw, 40) <= 4


def test_with_a_reference_rules_are_about_its_column_alone() -> None:
    rng = np.random.default_rng(0)
    arm, x = rng.choice(["placebo", "drug", "more"], 600), rng.normal(size=600)
    data = {"arm": arm, "x": x, "y": (rng.random(600) < np.where(arm == "placebo", 0.2, 0.7)).astype(int)}
    asked: dict[str, Any] = {"outcome": 1, "reference": {"arm": "placebo"}}
    for options in ({"stepwise": False}, {}, {"actionable": "arm"}):
        rules = discover(data, **asked, **options, k=30, max_length=2)
        assert {rule.text for rule in rules} == {"arm = drug", "arm = more"}
        assert rules.question.actionable == ("arm",)
        assert all(rule.n_failing == (arm == "placebo").sum() for rule in rules)
    with pytest.raises(RoleError, match="rule: 'arm = placebo' does not exclude the reference rows, arm = placebo;"):
        cr.evaluate(data, ["arm = placebo", "arm = drug"], "y", **asked)
    # Reference rows need not satisfy other conditions: those with would be compared with those without, too.
    fix = re.escape(
        "; give conditions on arm alone, and ask for whom it works with context: cr.for_whom(data, 'arm = drug', "
        "target='y', context=['x'], reference={'arm': 'placebo'})"
    )
    with pytest.raises(RoleError, match=rf"rule = 'arm = drug ∧ x ≥ 0': .* whatever their x{fix}"):
        cr.evaluate(data, ["arm = more", "arm = drug and x >= 0"], "y", **asked)
    with pytest.raises(RoleError, match=r"rule = 'x ≥ 0': .*cr\.for_whom"):
        cr.evaluate(data, "x >= 0", "y", **asked)
    for names in ("x", ["arm", "x"]):
        with pytest.raises(RoleError, match=r"actionable = 'x': the reference rows .*cr\.for_whom"):
            cr.discover(data, "y", **asked, actionable=names)
    with pytest.raises(UnknownColumnError, match="reference: no column 'arn'; did you mean 'arm'"):
        cr.discover(data, "y", reference={"arn": "placebo"})


def test_doses_between_two_values_are_compared_with_the_reference() -> None:
    rng = np.random.default_rng(4)
    dose = rng.integers(0, 6, 3000)
    chance = np.array([0.2, 0.2, 0.6, 0.6, 0.3, 0.4])[dose]
    data = {"dose": dose, "y": (rng.random(3000) < chance).astype(int)}
    asked: dict[str, Any] = {"outcome": 1, "reference": {"dose": 0}}
    rules = discover(data, **asked, max_length=2)
    # The doses of the first rule are left out of the next step, those beyond are not.
    assert [rule.text for rule in rules] == ["2 ≤ dose ≤ 3", "dose ≥ 5"]
    for rule, doses in zip(rules, ([2, 3], [5]), strict=True):
        assert rule.effect == pytest.approx(data["y"][np.isin(dose, doses)].mean() - data["y"][dose == 0].mean())
        assert rule.held_fixed == ()
    # Conditions are about the dose: none is tested beside the other, even where another one has the same effect.
    named = cr.evaluate(data, "dose >= 2 and dose <= 2", "y", **asked).trust(99, 10, 4, n_jobs=1)[0]
    assert [condition.p_value for condition in named.conditions] == [named.p_value] * 2
    assert named.evidence is not None
    assert named.evidence.conditions is not None
    assert named.evidence.conditions.kept == (0, 1)


def test_if_strata_determine_the_outcome_the_message_says_why_there_is_no_rule() -> None:
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 100)
    data = {"x": rng.normal(size=100), "z": z.astype(str), "y": z}
    rules = discover(data, outcome=1, control="z", k=1)
    assert not rules
    assert rules.optimal
    assert "No rule can be compared" in str(rules)
    named = cr.evaluate(data, "x >= 0", target="y", outcome=1, control="z")[0]
    assert (named.value, named.effect) == (0, 0)


def test_adding_a_constant_to_the_target_changes_no_effect() -> None:
    data = table("exact levels", "all others")
    asked = options("exact levels", "all others")
    plain, moved = (discover(data | {"y": data["y"] + offset}, **asked, k=1)[0] for offset in (0.0, 1.7e9))
    assert moved.value == pytest.approx(plain.value, rel=1e-3)
    assert moved.standard_error == pytest.approx(plain.standard_error, rel=1e-3)


def test_margins_use_the_number_of_rules_if_few_permuted_tables_have_a_rule() -> None:
    data = {"x": [None] * 97 + ["a", "b", "b"], "y": [0] * 97 + [1, 0, 0]}
    for least in (0.0, 0.015):
        rules = discover(data, outcome=1, max_length=1, min_coverage=least)
        assert shuffled(rules) is None
        assert "No rule stands out" in str(rules)


def test_a_mean_is_not_supported_by_levels_against_its_own_interval() -> None:
    # Equal means, but the large values of one group all lie in the top level.
    rng = np.random.default_rng([31, 2])
    heavy = rng.random(3000) < 0.1
    spread = np.where(heavy, 1.5, 0.3)
    data = {"c": np.where(heavy, "p", "q"), "y": np.exp(spread * rng.normal(size=3000) - spread**2 / 2)}
    rule = discover(data, k=1, direction="decrease")[0]
    assert rule.stands_out
    assert rule.interval.high > 0
    assert rule.verdict.evidence == "not supported"
    assert "its values give" in rule.verdict.reasons[-2]
