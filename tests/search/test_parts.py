"""Own controls for each rule: the list against brute force, and invariances with one set of controls."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import causalrules as cr
import oracle
from causalrules.exceptions import CausalRulesError, DataError, InadmissibleError, OptionError, RoleError
from causalrules.graph.graph import CausalGraph
from causalrules.search import core
from causalrules.search import run as search
from causalrules.search.margins import betas, count_rules
from causalrules.trust import calibration

COLUMNS = {"a": "text", "b": "text", "c": "number", "d": "text"}


def random_table(seed: int) -> tuple[list[dict[str, Any]], CausalGraph]:
    """Draw a small table in which columns are often equal, and a graph with edges between them."""
    rng = random.Random(seed)
    n_rows = rng.randint(6, 40)
    rows: list[dict[str, Any]] = []
    for _ in range(n_rows):
        a = rng.choice("pq")
        b = a if rng.random() < 0.6 else rng.choice("pqr")
        c = rng.randint(0, 3) if rng.random() < 0.5 else int(a == "p")
        d = b if rng.random() < 0.5 else rng.choice("pq")
        y = int(rng.random() < 0.2 + 0.4 * (a == "p") + 0.2 * (c > 1))
        rows.append({"a": a, "b": b, "c": c, "d": d, "y": y})
    order = [*COLUMNS, "u", "y"]
    rng.shuffle(order)
    directed = [pair for pair in itertools.combinations(order, 2) if rng.random() < 0.4]
    bidirected = [pair for pair in itertools.combinations(order, 2) if rng.random() < 0.05]
    return rows, CausalGraph(tuple(order), tuple(directed), tuple(bidirected), latent=frozenset({"u"}))


def some_missing(rows: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """Remove values of some of the columns, but not from the first rows."""
    rng = random.Random(seed)
    columns = [column for column in COLUMNS if rng.random() < 0.5]
    few = 3

    def hidden(name: str, place: int) -> bool:
        return name in columns and place >= few and rng.random() < 0.3

    return [
        {name: None if hidden(name, place) else value for name, value in row.items()} for place, row in enumerate(rows)
    ]


def every_rule(
    rows: list[dict[str, Any]],
    controls: dict[tuple[str, ...], tuple[str, ...]],
    beta: Any,
    max_length: int,
    how: str,
    missing_control: str = "drop",
) -> list[tuple[frozenset[int], float, tuple[str, ...]]]:
    """Return every conjunction on a set of columns with controls, with its value: all cover different rows here."""
    table = dict(enumerate(rows))
    everything = frozenset(table)
    conditions = [
        (column, each)
        for column, kind in COLUMNS.items()
        for each in oracle.propositions(table, {column: kind}, 8)
        if each.rows != everything
    ]
    found = []
    for length in range(1, max_length + 1):
        for chosen in itertools.combinations(conditions, length):
            columns = tuple(sorted({column for column, _ in chosen}))
            covered = frozenset.intersection(*(each.rows for _, each in chosen))
            if columns not in controls or not covered or covered == everything:
                continue
            compared = oracle.compared(rows, lambda row: row["y"], controls[columns], missing_control)
            if len({row["y"] for row in compared.values()}) < 2 or not covered & compared.keys():
                continue  # nothing to compare
            if not compared.keys() - covered:
                continue
            strata = oracle.strata(compared, {name: COLUMNS[name] for name in controls[columns]}, 8)
            sides = []
            for label in sorted(set(strata.values()), key=str):
                inside = [row for row in compared if strata[row] == label]
                y = [float(rows[row]["y"]) for row in inside]
                sides.append(
                    oracle.Sides(
                        y,
                        [value for row, value in zip(inside, y, strict=True) if row in covered],
                        [value for row, value in zip(inside, y, strict=True) if row not in covered],
                    )
                )
            value = oracle.score(how, sides, beta, length)
            if value > -math.inf:
                found.append((covered, value, tuple(sorted(each.text for _, each in chosen))))
    return found


Rule = tuple[frozenset[int], float, tuple[str, ...]]


def compare(seed: int) -> bool:
    """Compare one random table with brute force; return whether there were rules to compare."""
    rows, graph = random_table(seed)
    rng = random.Random(seed + 1)
    rows = some_missing(rows, seed) if rng.random() < 0.7 else rows
    missing_control = rng.choice(["drop", "drop", "value"])
    how, beta = rng.choice([("pooled", None), ("pooled", 1.0), ("plugin", 0.0), ("reliable", 0.5)])
    max_length, k = rng.choice([1, 2, 3, 3, 3, None]), rng.choice([1, 3, 8])
    table = {name: [row[name] for row in rows] for name in [*COLUMNS, "y"]}
    actionable = [name for name in COLUMNS if len(set(table[name]) - {None}) > 1]
    if not actionable or len(set(table["y"])) < 2:
        return False
    options: dict[str, Any] = {"k": k, "n_jobs": 1, "graph": graph, "stepwise": False}
    options |= {"estimator": how, "beta": beta, "max_length": max_length, "missing": "false"}
    try:
        rules = cr.discover(table, "y", 1, "auto", actionable, missing_control=missing_control, **options)
    except InadmissibleError:
        return False
    except DataError:
        return False  # no row has all controls of any rule
    assert rules.optimal
    assert rules.admissibility is not None
    found = rules.admissibility.adjustments
    assert found is not None
    controls = {each.columns: each.control for each in found.sets if each.control is not None}
    for rule in rules:
        assert rule.control == controls[tuple(sorted({condition.column for condition in rule.conditions}))]
        if missing_control == "drop":
            assert rule.identification
            compared = oracle.compared(rows, lambda row: row["y"], rule.control)
            assert (rule.n_incomplete, sum(rule.measured.n_rows[2:])) == (len(rows) - len(compared), len(compared))
    # c may take two conditions.
    longest = max_length or len(COLUMNS) + 1
    everything = every_rule(rows, controls, rules.question.beta, longest, how, missing_control)
    ordered: list[Rule] = []
    for each in oracle._ordered(everything):
        if all(each[0] != other[0] for other in ordered):
            ordered.append(each)
    if how == "pooled" and beta is None and (not ordered or ordered[0][1] <= 0):
        # The list is by effect over margin; the search itself is compared only if a rule stands out.
        assert not rules or max(rule.value for rule in rules) <= 0
        return False
    sets = [frozenset(i for i, is_in in enumerate(rule.covers(table)) if is_in) for rule in rules]
    assert sets == [each[0] for each in ordered[:k]], (seed, rules)
    for rule, each in zip(rules, ordered[:k], strict=True):
        assert rule.value == pytest.approx(each[1], abs=1e-9)
        assert tuple(sorted(condition.text for condition in rule.conditions)) == each[2], seed
    return True


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_the_list_is_that_of_brute_force_with_each_rules_own_controls(seed: int) -> None:
    compare(seed)


def test_where_one_set_of_controls_is_right_for_all_it_is_the_same_search() -> None:
    rng = random.Random(3)
    z = [rng.choice("pqr") for _ in range(400)]
    a, b = ([rng.choice("pq" if each == "p" else "q") for each in z] for _ in range(2))
    y = [int(rng.random() < 0.2 + 0.3 * (x == "p") + 0.2 * (w == "q")) for x, w in zip(a, z, strict=True)]
    table = {"a": a, "b": b, "z": z, "y": y}
    options: dict[str, Any] = {"graph": "z -> {a b y}; {a b} -> y", "actionable": ["a", "b"], "k": 5, "n_jobs": 1}
    auto = cr.discover(table, "y", control="auto", **options)
    given = cr.discover(table, "y", control="z", **options)
    assert [(rule.text, rule.value, rule.control) for rule in auto] == [
        (rule.text, rule.value, rule.control) for rule in given
    ]
    assert auto.problem is not None
    assert auto.problem.is_single
    assert auto.claim == given.claim == "effect"


def language_of(table: dict[str, list[Any]], offered: list[tuple[str, ...]] | None) -> Any:
    rules = cr.discover(table, "y", actionable=[name for name in table if name != "y"], k=1)
    assert rules.problem is not None
    return replace(rules.problem.language, allowed_columns=None if offered is None else tuple(offered))


def test_beta_counts_the_rules_on_the_offered_sets_of_columns() -> None:
    rng = random.Random(1)
    table: dict[str, list[Any]] = {
        "a": [rng.choice("pqr") for _ in range(50)],
        "b": [rng.choice("pq") for _ in range(50)],
    }
    table |= {"c": [rng.randint(1, 4) for _ in range(50)], "y": [rng.randint(0, 1) for _ in range(50)]}
    offered = [("a",), ("b", "c"), ("a", "b", "c"), ("c",)]
    language = language_of(table, offered)
    # c has 3 cut points, so 6 conditions and 3 intervals.
    assert count_rules(language, 4) == [1, 3 + 6, 2 * 6 + 3, 2 * 3 + 3 * 2 * 6, 3 * 2 * 3]
    everything = [each for size in (1, 2, 3) for each in itertools.combinations("abc", size)]
    assert count_rules(language_of(table, everything), 4) == count_rules(language_of(table, None), 4)
    assert betas(language, 3, 0.05) < betas(language_of(table, None), 3, 0.05)


TABLE = {"a": [0, 1] * 20, "b": [0, 0, 1, 1] * 10, "y": [0, 1, 1, 1] * 10}


def test_rules_without_controls_are_counted_and_explained() -> None:
    graph = "stress -> {a y}; a -> b -> y"
    rules = cr.discover(TABLE, "y", control="auto", graph=graph, stepwise=False, n_jobs=1)
    assert {rule.text for rule in rules} == {"b = 0", "b = 1"}
    assert {rule.control for rule in rules} == {("a",)}
    assert rules.admissibility is not None
    assert "left out, no observed set blocks a <- stress -> y: a; a and b" in rules.admissibility.summary()
    with pytest.raises(InadmissibleError, match="no observed set blocks a <- stress -> y"):
        cr.discover(TABLE, "y", control="auto", graph=graph, actionable="a", n_jobs=1)
    with pytest.raises(InadmissibleError, match="no observed set blocks b <- a"):
        cr.discover(TABLE, "y", control="auto", graph=graph, actionable="b", allowed_control="b", n_jobs=1)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, RoleError, "'auto' chooses controls by a causal graph: give graph="),
        ({"graph": "a -> y", "allowed_control": "bb"}, RoleError, "no column 'bb'"),
    ],
)
def test_impossible_questions_are_rejected(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        cr.discover(TABLE, "y", control="auto", **options)
    with pytest.raises(OptionError, match="it only applies to control='auto'"):
        cr.discover(TABLE, "y", control="b", allowed_control="a")


def test_a_result_with_several_sets_of_controls_survives_json() -> None:
    rules = cr.discover(TABLE, "y", control="auto", graph="a -> b -> y; a -> y", stepwise=False, n_jobs=1)
    assert {rule.control for rule in rules} == {(), ("a",)}
    assert rules.question.control == "auto"
    assert cr.RuleSet.from_json(rules.to_json()) == rules


@pytest.fixture
def little_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_FIRST_STEP", 1e-4)
    monkeypatch.setattr(core.NativeSearch, "patience", 1e-4)


@pytest.mark.usefixtures("little_steps")
@pytest.mark.parametrize("max_length", [3, None])
def test_an_interrupted_search_keeps_its_rules_and_resumes(max_length: int | None, tmp_path: Path) -> None:
    options: dict[str, Any] = {"k": 6, "n_jobs": 1, "estimator": "reliable", "beta": 0.3, "max_length": max_length}
    interrupted = 0
    for seed in range(12):
        rows, graph = random_table(seed)
        table = {name: [row[name] for row in rows] for name in [*COLUMNS, "y"]}
        asked = partial(cr.discover, table, "y", 1, "auto", [*COLUMNS], graph=graph, **options)
        try:
            whole = asked()
        except InadmissibleError:
            continue
        steps, path = itertools.count(1), tmp_path / str(seed)

        def stop(progress: search.Progress, steps: Iterator[int] = steps) -> None:
            assert progress.best is None or progress.conditions
            if next(steps) % 3 == 2:
                raise KeyboardInterrupt

        for _ in range(1000):
            rules = asked(checkpoint=path, progress=stop)
            if rules.stopped != "interrupted":
                break
            interrupted += 1
            assert not rules.optimal or rules.rules == whole.rules
            assert len(rules) <= len(whole)
            assert rules.upper_bound >= whole[0].value - 1e-9
        assert rules.rules == whole.rules
        assert rules.optimal
    assert interrupted > 3


def test_a_checkpoint_of_other_controls_or_rows_is_refused(tmp_path: Path) -> None:
    table = {"a": [0, 1] * 20, "b": [0, 0, 1, 1] * 10, "z": [0, 1, 1, 0, 1] * 8, "y": [0, 1, 1, 1] * 10}
    asked = partial(cr.discover, target="y", control="auto", actionable=["a", "b"], n_jobs=1, checkpoint=tmp_path / "s")
    rules = asked(table, graph="a -> b -> y; a -> y; z -> {a b y}")
    assert rules.problem is not None
    assert not rules.problem.is_single
    assert asked(table, graph="a -> b -> y; a -> y; z -> {a b y}").rules == rules.rules
    with pytest.raises(DataError, match="other columns, values or cut points"):
        asked(table, graph="a -> b -> y; a -> y; z -> a")
    with pytest.raises(DataError, match="other rows"):
        asked({**table, "z": [0, 1, 1, 0, 1, 1, 0, 1] * 5}, graph="a -> b -> y; a -> y; z -> {a b y}")
    for numbers in ([], [3], [2, 5, 6], [9] * 30):
        packed = rules.problem.pack()
        made = packed.search(estimator="plugin", beta=0.0, k=1)
        with pytest.raises(CausalRulesError):
            made.restore(np.array(numbers, np.uint64))


def test_rules_of_their_own_controls_can_be_held_out_calibrated_named_and_fitted() -> None:
    rng = random.Random(4)
    a = [rng.randint(0, 2) for _ in range(600)]
    b = [each if rng.random() < 0.7 else rng.randint(0, 2) for each in a]
    c = [rng.choice("pq") for _ in a]
    y = [int(rng.random() < 0.1 + 0.4 * (each == 2) + 0.2 * (other == "p")) for each, other in zip(b, c, strict=True)]
    table = {"a": a, "b": b, "c": c, "y": y}
    options: dict[str, Any] = {"control": "auto", "graph": "a -> b -> y; a -> y; c -> {b y}", "n_jobs": 1}
    rules = cr.discover(table, "y", **options, holdout=0.4, k=3)
    assert rules.problem is not None
    assert not rules.problem.is_single
    assert rules.n_rows == 360
    for rule in rules:
        assert rule.evidence is not None
        assert rule.evidence.honest is not None
        assert rule.evidence.honest.n_rows == 240
    # Measured on the table itself, the effect is the same.
    for rule in cr.discover(table, "y", **options, holdout=table, k=3):
        assert rule.evidence is not None
        assert rule.evidence.honest is not None
        assert rule.evidence.honest.effect == pytest.approx(rule.effect)
    named = cr.evaluate(table, ["b >= 2", "a >= 1 and b >= 2", "b >= 1 and b <= 1"], "y", **options)
    assert [rule.control for rule in named] == [("a", "c"), ("c",), ("a", "c")]
    for rule in named:
        alone = cr.evaluate(table, rule.text, "y", control=list(rule.control), error_rate=0.05 / 3)
        assert alone[0].value == pytest.approx(rule.value)
    with pytest.raises(InadmissibleError, match="no observed set blocks b <- u -> y: b"):
        cr.evaluate(table, ["a >= 1", "b >= 2"], "y", control="auto", graph="a -> b -> y; a -> y; u -> {b y}")
    calibrated = cr.discover(table, "y", **options, beta="calibrated", k=2)
    assert calibrated.evidence is not None
    assert calibrated.evidence.calibration is not None
    assert calibrated.evidence.calibration.permutations == 199 * len(rules.problem.adjustments)
    assert calibrated.question.beta == calibrated.evidence.calibration.beta > 1
    columns = {name: values for name, values in table.items() if name != "y"}
    model = cr.CausalRules(k=2, **options).fit(columns, y)
    assert model.transform(columns).sum(axis=0).tolist() == [rule.n_covered for rule in model.rules_]
    (first, *_) = model.rules_
    reliable = cr.evaluate(table, first.text, "y", control=list(first.control), estimator="reliable", beta=2.0)
    assert model.score(columns, y) == pytest.approx(reliable[0].value)
    assert rules.balance()[0].evidence is not None
    assert cr.discover(table, "y", **options, k=1).simultaneous(399)[0].evidence is not None


def test_beta_is_not_calibrated_for_too_many_sets_of_controls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "_MOST_SEARCHES", 397)
    with pytest.raises(OptionError, match="rules have 2 different sets of controls, and each would need 199 shuffled"):
        cr.discover(TABLE, "y", control="auto", graph="a -> b -> y; a -> y", beta="calibrated", n_jobs=1)


def test_without_a_limit_rules_may_have_all_columns_unless_there_are_too_many_sets() -> None:
    names = [f"x{number}" for number in range(15)]
    rng = random.Random(1)
    table = {name: [rng.randint(0, 1) for _ in range(30)] for name in [*names, "y"]}
    chain = [*itertools.pairwise(names), *((name, "y") for name in names)]
    with pytest.raises(OptionError, match=r"32,767 sets of up to 15.*or max_length=7"):
        cr.discover(table, "y", control="auto", graph=chain, max_length=None)
    few = {"actionable": names[:3], "max_length": None, "estimator": "plugin", "k": 100}
    rules = cr.discover(table, "y", 1, "auto", graph=chain, n_jobs=1, **few)  # type: ignore[arg-type]
    assert max(rule.length for rule in rules) == 3


def test_evidence_is_that_of_each_set_of_controls_with_p_values_for_all() -> None:
    rng = random.Random(4)
    a = [rng.randint(0, 1) for _ in range(300)]
    b = [each if rng.random() < 0.7 else 1 - each for each in a]
    y = [int(rng.random() < 0.2 + 0.5 * each) for each in b]
    table = {"a": a, "b": b, "y": y}
    rules = cr.discover(table, "y", control="auto", graph="a -> b -> y; a -> y", k=4, stepwise=False, n_jobs=1)
    assert rules.problem is not None
    assert not rules.problem.is_single
    assert {rule.control for rule in rules} == {(), ("a",)}
    trusted = rules.trust(39, 4, 2, n_jobs=1)
    alone = cr.discover(table, "y", actionable="b", control="a", k=4, beta=1.0, stepwise=False, n_jobs=1)
    for rule in trusted:
        assert rule.evidence is not None
        assert rule.evidence.overlap is not None
        assert rule.evidence.stability is not None
        assert rule.evidence.honest is not None
        # Of the 2 + 2 + 4 rules, 2 have the control a: p is four times that of 2 rules.
        if rule.text == "b = 1":
            assert rule.p_value == pytest.approx(4 / 40)
            assert rule.effect == pytest.approx(next(each.effect for each in alone if each.text == "b = 1"))
    assert cr.RuleSet.from_json(trusted.to_json()) == trusted
    assert "adjusted for a, which blocks b <- a -> y" in str(trusted)
    assert "b &lt;- a -&gt; y" in trusted.to_html()
