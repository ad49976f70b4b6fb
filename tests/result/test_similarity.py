"""Near-duplicates and redundancy, against sets of rows in plain Python."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import causalrules as cr
from causalrules.exceptions import OptionError
from causalrules.result import similarity as grouping
from causalrules.trust.evidence import SearchEvidence
from strategies import RELIABLE, TARGET, SmallTable, small_tables

PASSENGERS = cr.datasets.titanic(library="dict")
SLOW = [HealthCheck.too_slow]


def found(table: SmallTable, **options: Any) -> cr.RuleSet:
    return cr.discover(
        table.columns(), TARGET, control=list(table.control), actionable=list(_usable(table)), n_jobs=1, **options
    )


def _usable(table: SmallTable) -> list[str]:
    """The actionable columns that discover() takes when they are named."""
    known = [row for row in table.rows if row[TARGET] is not None]
    return [name for name in table.actionable if len({row[name] for row in known} - {None}) > 1]


def rows_of(rules: cr.RuleSet, table: SmallTable) -> list[frozenset[int]]:
    known = [place for place, row in enumerate(table.rows) if row[TARGET] is not None]
    return [frozenset(np.flatnonzero(rule.covers(table.columns())).tolist()) & set(known) for rule in rules]


@given(small_tables(), st.integers(1, 12), st.floats(0.01, 1))
@settings(deadline=None, max_examples=60, suppress_health_check=SLOW)
def test_each_rule_is_under_the_first_leader_it_resembles(table: SmallTable, k: int, similarity: float) -> None:
    rules = found(table, k=k, max_length=2)
    rows = rows_of(rules, table)
    leaders: list[int] = []
    members: dict[int, list[int]] = {}
    for place in range(len(rules)):
        near = [
            leader
            for leader in leaders
            if len(rows[leader] & rows[place]) / len(rows[leader] | rows[place]) >= similarity
        ]
        if near:
            members[near[0]].append(place)
        else:
            leaders.append(place)
            members[place] = []
    groups = rules.groups(similarity)
    assert [group.leader for group in groups] == [rules[leader] for leader in leaders]
    assert [group.variants for group in groups] == [
        tuple(rules[place] for place in members[leader]) for leader in leaders
    ]
    matrix = grouping.shared_rows(rules)
    for group, leader in zip(groups, leaders, strict=True):
        assert group.shared == tuple(matrix[leader, place] for place in members[leader])


@given(small_tables(), st.integers(1, 12), st.sampled_from(["reliable", "plugin"]))
@settings(deadline=None, max_examples=60, suppress_health_check=SLOW)
def test_a_rule_is_redundant_beside_a_more_general_one_that_is_as_good(
    table: SmallTable, k: int, estimator: str
) -> None:
    rules = found(table, k=k, max_length=3, estimator=estimator)
    rows = rows_of(rules, table)
    expected = tuple(
        any(rows[place] < rows[other] and rules[other].value >= rules[place].value for other in range(len(rules)))
        for place in range(len(rules))
    )
    assert grouping.redundant(rules) == expected
    # without the rows, the conditions alone never call a rule redundant that is not
    read = cr.RuleSet.from_json(rules.to_json())
    assert all(by_rows for by_rows, alone in zip(expected, grouping.redundant(read), strict=True) if alone)


@given(small_tables())
@settings(deadline=None, max_examples=30, suppress_health_check=SLOW)
def test_no_rule_of_an_irredundant_search_is_redundant(table: SmallTable) -> None:
    rules = found(table, k=10, max_length=2, redundant=False)
    assert not any(grouping.redundant(rules))
    if rules and rules[0].value > 0:  # else they are ranked by another number
        rows = rows_of(rules, table)
        assert not any(
            rows[place] < rows[other] and rules[other].value >= rules[place].value
            for place in range(len(rules))
            for other in range(len(rules))
        )


def test_a_result_from_a_file_is_grouped_with_its_data() -> None:
    rules = cr.discover(PASSENGERS, "survived", k=10, **RELIABLE)
    read = cr.RuleSet.from_json(rules.to_json())
    with pytest.raises(OptionError, match="pass data="):
        read.groups()
    again = read.groups(0.9, data=PASSENGERS)
    assert [(str(group.leader), group.shared) for group in again] == [
        (str(group.leader), group.shared) for group in rules.groups(0.9)
    ]
    assert 1 < len(again) < len(rules)
    # on the Titanic every other rule adds conditions to "class ≤ 2 ∧ sex = female", and text alone shows it
    assert grouping.redundant(read) == (False,) + (True,) * 9


def test_rows_count_as_often_as_their_weight() -> None:
    table = {
        "y": [1, 1, 0, 0, 1, 0],
        "a": [1, 1, 1, 0, 0, 0],
        "b": [1, 1, 0, 0, 0, 1],
        "n": [5, 1, 2, 3, 1, 4],
    }
    written = {name: np.repeat(values, table["n"]) for name, values in table.items() if name != "n"}
    weighted = cr.discover(table, "y", weights="n", k=9)
    plain = cr.discover(written, "y", k=9)
    assert [rule.text for rule in weighted] == [rule.text for rule in plain]
    assert grouping.shared_rows(weighted).tolist() == grouping.shared_rows(plain).tolist()


@pytest.mark.parametrize("similarity", [0, -1, 1.5, True, "half"])
def test_a_similarity_out_of_range_is_an_error(similarity: Any) -> None:
    with pytest.raises(OptionError, match=r"similarity = .*above 0 and at most 1"):
        cr.discover(PASSENGERS, "survived", k=2).groups(similarity)


def test_ideas_are_the_leaders_of_a_longer_list() -> None:
    ideas = cr.discover(PASSENGERS, "survived", k=5)
    longer = cr.discover(PASSENGERS, "survived", k=2000, similarity=None)
    leaders = [group.leader for group in longer.groups()]
    assert len(ideas) == 5 < len(leaders)
    assert list(ideas) == leaders[:5]
    assert ideas.optimal
    assert list(longer.ideas(5)) == leaders[:5]


def test_ideas_keep_the_evidence_that_is_still_true() -> None:
    rules = cr.discover(PASSENGERS, "survived", k=3, max_length=2, beta="calibrated", holdout=0.3)
    tested = rules.significance(19)
    assert tested.evidence is not None
    assert None not in (tested.evidence.honest, tested.evidence.permutation, tested.evidence.calibration)
    ideas = tested.ideas()
    assert ideas.evidence == SearchEvidence(calibration=tested.evidence.calibration)
    assert all(rule.p_value is None and rule.evidence is None for rule in ideas)
    assert "p_value" in tested.significance(19).to_json()
    assert cr.discover(PASSENGERS, "survived", k=3).significance(19).ideas(3).evidence is None


def test_a_list_ends_where_nothing_above_0_is_left_and_says_so() -> None:
    rules = cr.discover(PASSENGERS, "survived", k=200, max_length=2)
    assert 1 < len(rules) < 200
    assert all(rule.value > 0 for rule in rules)
    said = "the list ends here: any other rule is at or below 0, or shares 50 % or more of its rows with one above"
    assert said in " ".join(str(rules).split())
    assert "the list ends here" not in str(cr.discover(PASSENGERS, "survived", k=2, max_length=2))
    with pytest.raises(OptionError, match="k = 0"):
        rules.ideas(0)
    with pytest.raises(OptionError, match=r"read from a file.*search again"):
        dataclasses.replace(rules, problem=None).ideas()


def test_the_best_rule_is_shown_even_if_it_is_below_0() -> None:
    applicants = cr.datasets.berkeley(library="dict")
    rules = cr.discover(applicants, "admitted", control="department")
    assert len(rules) == 1
    assert rules[0].value <= 0
    plain = cr.discover(applicants, "admitted", control="department", similarity=None)
    assert [rule.text for rule in plain] == ["gender = female", "gender = male"]


def test_a_list_of_ideas_says_that_it_is_one() -> None:
    rules = cr.discover(PASSENGERS, "survived", k=3, max_length=2, similarity=None)
    ideas = rules.ideas(similarity=0.4)
    assert (rules.question.similarity, ideas.question.similarity) == (None, 0.4)
    assert cr.RuleSet.from_json(ideas.to_json()) == ideas
    page = ideas.to_html()
    assert "similarity=0.4" in page
    assert "above 0; of the rows that a rule or a stronger one covers, both cover less than 40 %" in page
    assert "similarity=None" in rules.to_html()


def test_the_front_has_rising_coverage_and_falling_values() -> None:
    rules = cr.discover(PASSENGERS, "survived", k=1, min_coverage=0.05)
    front = rules.frontier()
    values, sizes = [rule.value for rule in front], [rule.n_covered for rule in front]
    assert front.optimal
    assert front[0] == rules[0]
    assert values == sorted(set(values), reverse=True)
    assert sizes == sorted(set(sizes))
    for rule, wider in itertools.pairwise(front):
        least = (rule.n_covered + 0.5) / front.n_rows
        best = cr.discover(PASSENGERS, "survived", k=1, min_coverage=least)[0]
        assert best.value == pytest.approx(wider.value, abs=1e-9)
    assert "the front" in str(front)
    assert cr.RuleSet.from_json(front.to_json()) == front


def test_variants_are_the_strongest_near_duplicates_of_no_earlier_rule() -> None:
    rules = cr.discover(PASSENGERS, "survived", k=3, max_length=3)
    every = cr.discover(PASSENGERS, "survived", k=3000, max_length=3, similarity=None)
    for group, rule in zip(every.groups(), rules, strict=False):
        assert group.leader == rule
        # Rules that differ only in where they cannot be decided cover the same rows.
        near = [pair for pair in zip(group.variants, group.shared, strict=True) if pair[1] < 1]
        assert [(variant.rule, variant.shared) for variant in rule.variants] == near[:5]


def test_variants_are_kept_and_shown_once_they_are_looked_for() -> None:
    rules = cr.discover(PASSENGERS, "survived", k=2, max_length=3)
    read = cr.RuleSet.from_json(rules.to_json())
    with pytest.raises(OptionError, match="without variants"):
        _ = read[0].variants
    assert "variants" not in str(rules)
    families = rules.families()
    assert families == rules
    read = cr.RuleSet.from_json(families.to_json())
    assert read[0].variants == families[0].variants
    shown = " ".join(str(read).split())
    assert "variants of sex = female (rows in common): + parch ≤ 2 (99 %)" in shown
    assert "variants of sex = female" in read._repr_html_()
    assert "near-duplicates" in read.to_html()


def duplicated(n: int = 600, seed: int = 0) -> dict[str, Any]:
    """Three columns that say nearly the same and have a large effect, and another with a smaller one."""
    rng = np.random.default_rng([17, seed + 1])
    x, other = rng.random(n) < 0.4, rng.random(n) < 0.5
    noisy = {f"copy{i}": np.where(rng.random(n) < 0.03, ~x, x) for i in range(3)}
    p = 0.15 + 0.5 * x + 0.25 * other
    return {**noisy, "other": other, "y": (rng.random(n) < p).astype(int)}


def test_an_idea_is_measured_by_the_ideas_of_each_split() -> None:
    """The second idea is far down the plain list, whose second rule is a copy of the first."""
    columns = duplicated()
    rules = cr.discover(columns, "y", k=2, max_length=1, similarity=None)
    assert not any("other" in rule.text for rule in rules)
    ideas = rules.ideas()
    assert [rule.conditions[0].column for rule in ideas] == [rules[0].conditions[0].column, "other"]
    for rule in ideas.cross_fit(4).stability(10):
        assert rule.evidence is not None
        honest, stability = rule.evidence.honest, rule.evidence.stability
        assert honest is not None
        assert honest.effect == pytest.approx(rule.effect, abs=0.1)
        assert stability is not None
        assert stability.nearly == 1
    honest = ideas.cross_fit(4)[1].evidence.honest  # type: ignore[union-attr]
    assert honest is not None
    # A quarter of the rows may be too few for a second rule above 0.
    assert honest.found >= 3


def test_the_list_of_a_split_is_the_list_of_its_rows() -> None:
    """What cross-fitting and stability search on a part of the rows is what discover and ideas find there."""
    from causalrules.trust.repeat import Searcher

    half = {name: values[::2] for name, values in PASSENGERS.items()}
    for similarity in (0.2, 0.5, 0.9):
        ideas = cr.discover(half, "survived", k=6, max_length=2).ideas(similarity=similarity)
        assert ideas.problem is not None
        propositions = ideas.problem.language.propositions
        found = Searcher().listed(ideas.problem, ideas.question)
        assert [{propositions[number] for number in numbers} for numbers in found] == [
            set(rule.conditions) for rule in ideas
        ]
