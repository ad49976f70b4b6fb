"""From a table to its rules: the paper's numbers, and comparison with brute force on random tables."""

from __future__ import annotations

import json
import math
import random
import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import causalrules as cr
import oracle
from causalrules.data.reading import read
from causalrules.discovery import evaluate_like
from causalrules.question import Question
from causalrules.search import run as search
from causalrules.search.core import Status
from strategies import FALSE, RELIABLE, TARGET, SmallTable, examples, questions, small_tables

TITANIC = ["class", "sex", "age", "sibsp", "parch", "embarked"]


def test_the_papers_three_rules() -> None:
    rules = cr.discover(cr.datasets.titanic(), target="survived", outcome=1, actionable=TITANIC, k=3, **RELIABLE)
    assert [str(rule) for rule in rules] == [
        "class ≤ 2 ∧ sex = female",
        "class ≤ 2 ∧ parch ≤ 2 ∧ sex = female",
        "class ≤ 2 ∧ sex = female ∧ sibsp ≤ 2",
    ]
    assert [rule.reliable_effect for rule in rules] == pytest.approx([0.57669, 0.57355, 0.57197], abs=1e-5)
    assert [rule.coverage for rule in rules] == pytest.approx([0.19080, 0.18855, 0.18743], abs=1e-5)
    assert rules.optimal
    assert rules.gap == 0


def test_simpson_in_kidney_stones() -> None:
    rules = cr.discover(cr.datasets.kidney_stones(), target="success", control="size")
    a = next(rule for rule in rules if str(rule) == "treatment = A")
    assert a.marginal_effect == pytest.approx(273 / 350 - 289 / 350)
    assert a.marginal_effect < 0 < a.effect
    small, large = (81 / 87 - 234 / 270) * 357 / 700, (192 / 263 - 55 / 80) * 343 / 700
    assert a.effect == pytest.approx(small + large)


def test_simpson_in_berkeley() -> None:
    rules = cr.discover(cr.datasets.berkeley(), target="admitted", control="department")
    female = next(rule for rule in rules if str(rule) == "gender = female")
    assert female.marginal_effect < 0 < female.effect
    assert female.marginal_effect == pytest.approx(557 / 1835 - 1198 / 2691)


def answers(rules: cr.RuleSet, table: Any) -> list[tuple[frozenset[int], float, int, str]]:
    """Return the result in the oracle's format."""
    return [
        (
            frozenset(np.flatnonzero(rule.covers(table)).tolist()),
            rule.value,
            rule.length,
            " ∧ ".join(sorted(c.text for c in rule.conditions)),
        )
        for rule in rules
    ]


def discover(small: SmallTable, columns: dict[str, list[Any]] | None = None, **question: Any) -> cr.RuleSet:
    given = {"target": TARGET, "outcome": 1, "control": list(small.control), "progress": False, **question}
    return cr.discover(columns or small.columns(), **given)


@settings(max_examples=examples(150, 1500), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(small_tables(), questions())
def test_equal_to_brute_force(small: SmallTable, question: dict[str, Any]) -> None:
    found = discover(small, **question, **FALSE)
    expected = oracle.top_k(small.rows, TARGET, lambda y: y == 1, small.actionable, small.control, **question)
    how = question["missing_control"]
    observed = frozenset(oracle.compared(small.rows, lambda row: row[TARGET], small.control, how))
    actual = [(rows & observed, value, length, text) for rows, value, length, text in answers(found, small.columns())]
    assert [rule[0] for rule in actual] == [rule.rows for rule in expected]
    assert [rule[1] for rule in actual] == pytest.approx([rule.value for rule in expected], abs=1e-10)
    assert [rule[2:] for rule in actual] == [(rule.length, rule.text) for rule in expected]
    assert found.optimal


def all_questions() -> st.SearchStrategy[dict[str, Any]]:
    """Draw the newer options beside those of `questions`."""
    more = {
        "estimator": st.sampled_from(["pooled", "pooled", "pooled", "plugin", "association"]),
        "beta": st.none() | st.none() | st.sampled_from([0.0, 0.5, 2.0]),
        "missing": st.sampled_from(["unknown", "unknown", "false"]),
        "control_bins": st.integers(2, 5),
        "direction": st.sampled_from(["increase", "decrease"]),
        "error_rate": st.sampled_from([0.05, 0.5]),
    }
    return st.builds(lambda old, new: {**old, **new}, questions(), st.fixed_dictionaries(more))


@st.composite
def all_tables(draw: st.DrawFn) -> tuple[SmallTable, bool]:
    """Draw a table, and whether its target is a numeric mean."""
    small = draw(small_tables(max_rows=30))
    if not draw(st.booleans()):
        return small, False
    n = len(small.rows)
    drawn = draw(st.lists(st.sampled_from([-1, 0, 2, 2.5, 6, None]), min_size=n, max_size=n))
    targets = [6, 2, *drawn[2:]]
    return SmallTable(
        tuple({**row, TARGET: y} for row, y in zip(small.rows, targets, strict=True)), small.actionable, small.control
    ), True


def brute_force(
    small: SmallTable, question: dict[str, Any], beta: Any, reference: Any, margin_scale: float = 1.0
) -> tuple[oracle.Asked, list[oracle.CodedRule]]:
    """Return every rule with its value; `reference` is a column and the value of the rows to compare with."""
    sign = -1 if question["direction"] == "decrease" else 1
    asked = oracle.asked(
        small.rows,
        lambda row: None if row[TARGET] is None else sign * row[TARGET],
        small.actionable,
        small.control,
        max_bins=question["max_bins"],
        control_bins=question["control_bins"],
        unknown=question["missing"] == "unknown",
        reference=reference,
        missing_control=question["missing_control"],
    )
    rules = oracle.coded_rules(
        asked.table,
        estimator=question["estimator"],
        beta=beta,
        n_strata=asked.n_strata,
        max_length=question["max_length"],
        margin_scale=margin_scale,
        n_levels=len(set(asked.table.target)),
    )
    return asked, rules


def several(small: SmallTable, missing_control: str) -> dict[str, list[Any]]:
    """Return the columns with several values, not all different, where the target is known; and the values."""
    rows = oracle.compared(small.rows, lambda row: row[TARGET], small.control, missing_control).values()
    known = {name: [row[name] for row in rows if row[name] is not None] for name in small.actionable}
    return {name: sorted(set(values)) for name, values in known.items() if 1 < len(set(values)) < len(values)}


@settings(max_examples=examples(100, 400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(all_tables(), all_questions(), st.booleans(), st.data())
def test_every_way_to_compare_is_equal_to_brute_force(
    drawn: tuple[SmallTable, bool], question: dict[str, Any], with_reference: bool, data: st.DataObject
) -> None:
    small, is_mean = drawn
    reference = None
    if with_reference:  # rules are about its column alone
        arms = several(small, question["missing_control"])
        assume(arms)
        column = data.draw(st.sampled_from(sorted(arms)))
        reference = column, data.draw(st.sampled_from(arms[column]))
        small = replace(small, actionable={column: small.actionable[column]})
    given_reference: dict[str, Any] = {"reference": dict([reference])} if reference else {}
    found = discover(small, **question, **given_reference, outcome=None if is_mean else 1, stepwise=False)
    beta = found.question.beta
    assert isinstance(beta, tuple) == (question["beta"] is None and question["estimator"] == "pooled")
    asked, rules = brute_force(small, question, beta, reference)
    n = len(asked.row_ids)
    least = next(rows for rows in range(n + 1) if rows / n >= question["min_coverage"])
    expected = oracle.coded_top_k(asked.table, rules, k=question["k"], min_rows=least)
    assert found.optimal
    if isinstance(beta, tuple) and expected and expected[0].value <= 0:
        # No rule stands out: the rules with the largest ratio of effect to margin come first, at any value.
        values = {rule.conditions: rule.value for rule in rules}
        number = {text: place for place, text in enumerate(asked.conditions)}
        conditions = [tuple(sorted(number[c.text] for c in rule.conditions)) for rule in found]
        assert [rule.value for rule in found] == pytest.approx([values[each] for each in conditions], abs=1e-9)
        _, effects = brute_force(small, question, beta, reference, margin_scale=0.0)
        margins = {rule.conditions: rule.value - values[rule.conditions] for rule in effects}
        kept = [rule for rule in effects if asked.table.size(rule.covered) >= least and margins[rule.conditions] > 0]
        best = max((rule.value / margins[rule.conditions] for rule in kept), default=0.0)
        if best > 0:
            assert found[0].ratio == pytest.approx(best, abs=1e-7)
        assert [rule.ratio for rule in found] == sorted((rule.ratio for rule in found), reverse=True)
        return
    texts = [" ∧ ".join(asked.conditions[place] for place in rule.conditions) for rule in expected]
    rows = [frozenset(asked.row_ids[place] for place in rule.covered) for rule in expected]
    actual = answers(found, small.columns())
    assert [rule[1] for rule in actual] == pytest.approx([rule.value for rule in expected], abs=1e-9)
    assert [(rule[2], rule[3]) for rule in actual] == [
        (len(rule.conditions), text) for rule, text in zip(expected, texts, strict=True)
    ]
    assert [rule[0] & frozenset(asked.row_ids) for rule in actual] == rows
    decided = [rule.n_covered + rule.n_failing for rule in found]
    assert decided == [len(rule.covered) + n - len(rule.possible) for rule in expected]
    assert [rule.n_undecided for rule in found] == [n - each for each in decided]


@settings(max_examples=examples(30, 150), deadline=None)
@given(small_tables(max_rows=80, max_actionable=6), all_questions(), st.randoms(use_true_random=False))
def test_the_answer_does_not_depend_on_order_or_threads(
    small: SmallTable, question: dict[str, Any], shuffle: random.Random
) -> None:
    def report(rules: cr.RuleSet) -> Any:
        document = json.loads(rules.to_json())
        del document["run"]
        assert cr.RuleSet.from_json(rules.to_json()) == rules
        return document

    columns = small.columns()
    first = report(discover(small, columns, n_jobs=1, **question))
    rows = list(range(len(small.rows)))
    shuffle.shuffle(rows)
    names = list(columns)
    shuffle.shuffle(names)
    shuffled = {name: [columns[name][row] for row in rows] for name in names}
    assert report(discover(small, shuffled, n_jobs=2, **question)) == first


@settings(max_examples=examples(40, 100), deadline=None)
@given(small_tables(), all_questions(), st.data())
def test_a_count_table_answers_like_the_expanded_one(
    small: SmallTable, question: dict[str, Any], data: st.DataObject
) -> None:
    columns = small.columns()
    n = len(small.rows)
    weights = data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    weights[:2] = [max(1, weight) for weight in weights[:2]]
    times = [row for row in range(n) for _ in range(weights[row])]
    expanded = {name: [values[row] for row in times] for name, values in columns.items()}
    weighted = discover(small, {**columns, "times": weights}, weights="times", **question)
    plain = discover(small, expanded, **question)
    # Models of the controls train on other rows where equal rows are in different folds.
    listed, repeated = ([replace(rule, evidence=None) for rule in each] for each in (weighted, plain))
    assert listed == repeated
    assert weighted.nearest == plain.nearest
    assert weighted.rungs == plain.rungs
    assert weighted.n_rows == plain.n_rows
    assert weighted.n_dropped == plain.n_dropped


def counter_example() -> dict[str, list[Any]]:
    """Return a table on which the bound of the paper's Proposition 3 prunes the best rule.

    Stratum 1 has no positive row. In stratum 2 the rules A and B each cover all positives and one half of the
    negatives, so that A ∧ B is perfect; C covers the same rows and two negatives more.
    """
    rows: list[dict[str, Any]] = []
    rows += [{"z": 1, "y": 0, "a": i < 86, "b": i < 86, "c": i < 86} for i in range(200)]
    rows += [{"z": 2, "y": 1, "a": True, "b": True, "c": True} for _ in range(100)]
    rows += [{"z": 2, "y": 0, "a": i < 50, "b": i >= 50, "c": i in (0, 99)} for i in range(100)]
    return {name: [row[name] for row in rows] for name in rows[0]}


def papers_bound(a: list[int], n1: list[int], n0: list[int], beta: float) -> float:
    """Proposition 3 as printed: the best over a' ≤ a with b' = 0 in each stratum."""
    total = sum(n1) + sum(n0) + 4 * len(n1)

    def difference(x: int, p: int, n: int) -> float:
        spread = 1 / math.sqrt(x + 2) + 1 / math.sqrt(p + n - x + 2)
        return (x + 1) / (x + 2) - (p - x + 1) / (p + n - x + 2) - beta / 2 * spread

    return sum(
        (p + n + 4) / total * max(difference(x, p, n) for x in range(most + 1))
        for most, p, n in zip(a, n1, n0, strict=True)
    )


def test_the_best_rule_is_found_where_the_papers_bound_loses_it() -> None:
    table = counter_example()
    rules = cr.discover(table, target="y", control="z", max_length=None, **RELIABLE)
    assert str(rules[0]) == "a = True ∧ b = True"
    second = next(rule for rule in rules if str(rule) == "c = True")
    # A, B and C each cover no positive of the first stratum and all of the second: the paper's bound for all three
    assert papers_bound([0, 100], [0, 100], [200, 100], 2.0) < second.reliable_effect < rules[0].reliable_effect


def noise(n: int = 1500, n_columns: int = 8, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    columns = {f"x{i}": rng.random(n) for i in range(n_columns)}
    return {**columns, "z": rng.integers(0, 2, n), "y": rng.integers(0, 2, n)}


def test_a_search_stopped_early_bounds_the_missed_rules() -> None:
    table = noise()
    best = cr.discover(table, target="y", control="z", max_length=2, k=1)
    hurried = cr.discover(table, target="y", control="z", max_length=2, k=1, time_limit=1e-9)
    assert hurried.stopped == "time limit"
    assert not hurried.optimal
    assert hurried.upper_bound >= best[0].value
    assert len(hurried) == 0 or hurried[0].value + hurried.gap >= best[0].value - 1e-10
    assert "time limit" in str(hurried)


@settings(max_examples=examples(40, 100), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(small_tables(), questions())
def test_no_rule_exceeds_the_upper_bound(small: SmallTable, question: dict[str, Any]) -> None:
    rules = discover(small, **question)
    assert all(rule.value <= rules.upper_bound for rule in rules)


@settings(max_examples=examples(40, 100), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(small_tables(), all_questions().filter(lambda question: question["estimator"] == "pooled"))
def test_no_rule_of_a_ladder_exceeds_the_upper_bound_of_its_step(small: SmallTable, question: dict[str, Any]) -> None:
    rules = discover(small, **question)
    following = () if rules.nearest is None else (rules.nearest,)
    assert len(rules.steps) >= len((*rules, *following))
    for rule, step in zip((*rules, *following), rules.steps, strict=False):
        assert rule.value <= step.upper_bound
        assert rule.held_fixed == step.held_fixed
        assert rule.margin_scale == step.margin_scale


@given(st.floats(-1, 1))
def test_the_unexplored_bound_is_rounded_up(value: float) -> None:
    rounded = round(value * 2**36) / 2**36
    status = Status(done=False, n_rules=0, best=None, kth=None, unexplored=rounded, nodes=1, open=1)
    assert value <= search._progress(status, 0.0, scale=1.0).upper_bound <= 1


@pytest.mark.parametrize("alpha", [0.3, 0.7, 0.95])
def test_alpha_bounds_the_loss(alpha: float) -> None:
    table = noise(seed=1)
    exact = cr.discover(table, target="y", control="z", max_length=3, k=2, **RELIABLE)
    rough = cr.discover(table, target="y", control="z", max_length=3, k=2, alpha=alpha, **RELIABLE)
    assert exact[0].value > 0
    assert exact[0].value <= rough.upper_bound + 1e-10
    assert rough[1].value >= alpha * exact[1].value - 1e-10
    assert rough[1].value + rough.gap >= exact[1].value - 1e-10
    assert rough.optimal == (rough.gap == 0)


def test_alpha_does_not_touch_ties() -> None:
    # Both rules have the same value; the first alphabetically wins, at any alpha.
    table = {"x0": list("baaa"), "x1": list("bbaa"), "x2": list("aaba"), "y": [0, 1, 1, 0]}
    options = RELIABLE | {"estimator": "plugin", "beta": 0.0}
    for alpha in (1.0, 0.95):
        rules = cr.discover(table, "y", 1, k=2, alpha=alpha, **options)
        assert rules.optimal
        assert str(rules[1]) == "x2 = b"


def test_alpha_does_not_relax_negative_bounds() -> None:
    table = {"y": [1, 0, 1, 0], "x": ["a", "a", "b", "c"]}
    for options in (RELIABLE, {}):
        exact, rough = (cr.discover(table, target="y", k=5, alpha=alpha, **options) for alpha in (1.0, 0.01))
        assert rough.rules == exact.rules


def test_the_lack_of_a_reliable_rule_is_reported() -> None:
    for options, said in ((RELIABLE, "No rule has a conservative difference"), ({}, "No rule stands out from chance")):
        rules = cr.discover({"y": [1, 0, 1, 0], "x": ["a", "a", "b", "c"]}, target="y", **options)
        assert rules[0].reliable_effect < 0
        assert said in str(rules)


def test_progress_is_reported_to_a_function() -> None:
    seen: list[Any] = []
    options = {**RELIABLE, "max_length": 2, "k": 1, "progress": seen.append}
    rules = cr.discover(noise(), target="y", control="z", **options)
    assert seen[-1].best == pytest.approx(rules[0].value)
    assert seen[-1].gap == 0
    assert [step.upper_bound for step in seen] == sorted((step.upper_bound for step in seen), reverse=True)


def test_numpy_numbers_are_accepted() -> None:
    plain = Question("y", k=3, beta=1.5, max_length=2, min_coverage=0.25, n_jobs=1, time_limit=60)
    numpys = Question(
        "y",
        k=np.int64(3),  # type: ignore[arg-type]
        beta=np.float32(1.5),  # type: ignore[arg-type]
        max_length=np.uint8(2),  # type: ignore[arg-type]
        min_coverage=np.float64(0.25),
        n_jobs=np.int32(1),  # type: ignore[arg-type]
        time_limit=np.int64(60),  # type: ignore[arg-type]
    )
    # also in JSON: checkpoints identify their question by it
    assert repr(numpys) == repr(plain)
    rules = cr.discover(
        cr.datasets.titanic(),
        target="survived",
        k=np.int64(3),  # type: ignore[arg-type]
        max_bins=np.int64(4),  # type: ignore[arg-type]
        beta=np.float32(1.5),  # type: ignore[arg-type]
    )
    assert cr.RuleSet.from_json(rules.to_json()) == rules


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"k": 0}, "k = 0"),
        ({"k": 2.5}, "k = 2.5"),
        ({"k": True}, "k = True"),
        ({"k": np.True_}, "k = np.True_"),
        ({"k": np.float64(3)}, "k = np.float64"),
        ({"n_jobs": 1.0}, "n_jobs = 1.0"),
        ({"k": 10**5000}, "k = an integer of thousands of digits"),
        ({"beta": np.True_}, "beta = np.True_"),
        ({"beta": 10**5000}, "beta = an integer of thousands of digits"),
        ({"beta": Decimal("sNaN")}, "beta = Decimal('sNaN')"),
        ({"beta": -1}, "beta = -1"),
        ({"beta": math.nan}, "beta = nan"),
        ({"beta": "high"}, "beta = 'high'"),
        ({"error_rate": 1.5}, "1.5"),
        ({"stepwise": "yes"}, "stepwise = 'yes'"),
        (
            {"stepwise": True, "estimator": "reliable"},
            "stepwise = True: 'reliable' has no score that says where a list",
        ),
        ({"alpha": 0}, "alpha = 0"),
        ({"alpha": 1.01}, "alpha = 1.01"),
        ({"max_length": 0}, "max_length = 0"),
        ({"min_coverage": 1.2}, "min_coverage = 1.2"),
        ({"max_bins": 1}, "max_bins = 1"),
        ({"max_bins": 4.0}, "max_bins = 4.0"),
        ({"max_bins": True}, "max_bins = True"),
        ({"estimator": "best"}, "'best'"),
        ({"n_jobs": 0}, "n_jobs = 0"),
        ({"time_limit": -3}, "time_limit = -3"),
        ({"time_limit": -(10**400)}, "time_limit = -1"),
        ({"seed": "x"}, "seed = 'x'"),
        ({"seed": -1}, "seed = -1"),
        ({"holdout": True}, "holdout = True"),
        ({"holdout": 10**400}, "holdout = 1"),
        ({"cuts": {"survived": [1]}}, "survived"),
        ({"cuts": [("age", [5])]}, "cuts = [('age', [5])]: give the cut points by column"),
        ({"control": 5}, "control = 5: name a column"),
        ({"actionable": 5}, "actionable = 5: name a column"),
        ({"checkpoint": 5}, "checkpoint = 5: give the path of a file"),
    ],
)
def test_every_option_is_checked(option: dict[str, Any], words: str) -> None:
    with pytest.raises(cr.InputError, match=re.escape(words)):
        cr.discover(cr.datasets.titanic(), target="survived", **option)


@pytest.mark.parametrize(
    ("option", "plain"),
    [
        (
            {"max_length": 2**64 - 1, "actionable": ["class", "sex"], "beta": 2.0},
            {"max_length": None, "actionable": ["class", "sex"], "beta": 2.0},
        ),
        ({"n_jobs": 2**64 - 1}, {}),
        ({"time_limit": 10**400}, {}),
        ({"max_bins": 2**64 - 1, "actionable": "class"}, {"actionable": "class"}),
        ({"beta": 2}, {"beta": 2.0}),
        ({"beta": Decimal(2)}, {"beta": 2.0}),
        ({"beta": Fraction(3, 2)}, {"beta": 1.5}),
        ({"min_coverage": Fraction(1, 10)}, {"min_coverage": 0.1}),
        ({"holdout": np.float32(0.5)}, {"holdout": 0.5}),
        ({"holdout": Fraction(1, 2)}, {"holdout": 0.5}),
    ],
)
def test_numbers_of_any_type_and_size_are_options(option: dict[str, Any], plain: dict[str, Any]) -> None:
    rules, expected = (cr.discover(cr.datasets.titanic(), target="survived", **each) for each in (option, plain))
    assert rules.rules == expected.rules
    assert cr.RuleSet.from_json(rules.to_json()) == rules
    beta = rules.question.beta
    assert all(type(each) is float for each in (beta if isinstance(beta, tuple) else (beta,)))


def test_ties_are_won_by_the_first_rule_even_between_similar_branches() -> None:
    # Two rules of the same counts in one branch: either may be known, which must not hide the other.
    columns = {"a": "101111", "b": "111110", "d": "101001", "e": "110101", "f": "111011"}
    table = {name: ["t" if bit == "1" else None for bit in bits] for name, bits in columns.items()}
    rules = cr.discover({**table, "y": [1, 0, 0, 0, 0, 0]}, "y", 1, k=5, max_length=3, **RELIABLE)
    assert str(rules[3]) == "a = t ∧ b = t ∧ e = t"
    assert cr.discover({**table, "y": [1, 0, 0, 0, 0, 0]}, "y", 1, k=4, max_length=3, **RELIABLE).rules == rules[:4]


@st.composite
def tables_full_of_ties(draw: st.DrawFn) -> SmallTable:
    """Draw few rows, and columns that hold on most of them: many rules have the same counts on different rows."""
    n = draw(st.integers(4, 11))
    bits = st.lists(st.sampled_from(["t", "t", None]), min_size=n, max_size=n)
    columns: dict[str, list[Any]] = {f"x{i}": draw(bits) for i in range(draw(st.integers(3, 7)))}
    columns["x0"] = ["t", None, *columns["x0"][2:]]
    columns[TARGET] = [1, 0, *draw(st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2))]
    rows = tuple({name: values[i] for name, values in columns.items()} for i in range(n))
    usable = {name: "text" for name in columns if name != TARGET and 0 < columns[name].count("t") < n}
    return SmallTable(rows, usable, {})


@settings(max_examples=examples(80, 500), deadline=None)
@given(tables_full_of_ties(), questions())
def test_ties_are_won_as_brute_force_says(small: SmallTable, question: dict[str, Any]) -> None:
    if not small.actionable:
        return
    expected = oracle.top_k(small.rows, TARGET, lambda y: y == 1, small.actionable, {}, **question)
    found = discover(small, **question, **FALSE, actionable=sorted(small.actionable))
    actual = answers(found, small.columns())
    assert [(rows, length, text) for rows, _, length, text in actual] == [(r.rows, r.length, r.text) for r in expected]


def test_rules_are_measured_with_the_strata_and_the_margin_of_a_result() -> None:
    from sklearn.linear_model import LogisticRegression

    table = read(cr.datasets.titanic())
    asked: dict[str, Any] = {"control": ["sex", "sibsp", "parch"], "adjust": "prognostic"}
    asked["adjust_model"] = LogisticRegression()
    found = cr.discover(table, "survived", **asked)
    texts = ["class <= 2", "age >= 20 and age <= 30 and embarked = S"]
    measured = evaluate_like(found, table, texts)
    assert measured is not None
    expected = cr.evaluate(table, texts, "survived", **asked, beta=found.question.beta)
    assert [rule.measured.counts for rule in measured] == [rule.measured.counts for rule in expected]
    assert [rule.reliable_effect for rule in measured] == [rule.reliable_effect for rule in expected]
    # With held-out rows, or without rows, only evaluate() works.
    assert evaluate_like(cr.discover(table, "survived", holdout=0.5), table, texts) is None
    assert evaluate_like(cr.RuleSet.from_json(found.to_json()), table, texts) is None
