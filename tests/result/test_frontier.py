"""The front of value and coverage, against brute force."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import causalrules as cr
import oracle
from causalrules.exceptions import OptionError
from causalrules.result.evidence import SearchEvidence
from causalrules.search import run as search
from rulesets import ended
from strategies import TARGET, SmallTable, examples, small_tables

PASSENGERS = cr.datasets.titanic(library="dict")
# Values that differ by less are equal up to rounding.
TIED = 1e-10


def expected_front(rules: Sequence[oracle.CodedRule], size: Any, least: int) -> list[tuple[int, float]]:
    """Return the rows and value of each rule above 0 that no other dominates in both.

    If no rule is above 0, the front is the best rule alone, which is compared elsewhere.
    """
    pairs = [(size(rule.covered), rule.value) for rule in rules if size(rule.covered) >= least]
    best: dict[int, float] = {}
    for n, value in pairs:
        best[n] = max(value, best.get(n, value))
    kept = [
        (n, value)
        for n, value in best.items()
        if value > TIED and all(other < value - TIED for wider, other in best.items() if wider > n)
    ]
    return sorted(kept)


@settings(max_examples=examples(150, 400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    small_tables(max_rows=30),
    st.fixed_dictionaries(
        {
            "estimator": st.sampled_from(["pooled", "pooled", "plugin", "association"]),
            "beta": st.sampled_from([0.0, 0.2, 0.5]),
            "max_length": st.sampled_from([1, 2, 3, None]),
            "min_coverage": st.sampled_from([0.0, 0.0, 0.25]),
            "missing": st.sampled_from(["unknown", "false"]),
            "direction": st.sampled_from(["increase", "decrease"]),
            "max_bins": st.integers(2, 4),
            "control_bins": st.just(4),
        }
    ),
)
def test_the_front_equals_brute_force(small: SmallTable, question: dict[str, Any]) -> None:
    rules = cr.discover(small.columns(), TARGET, 1, list(small.control), k=1, progress=False, **question)
    front = rules.frontier()
    sign = -1 if question["direction"] == "decrease" else 1
    asked = oracle.asked(
        small.rows,
        lambda row: None if row[TARGET] is None else sign * row[TARGET],
        small.actionable,
        small.control,
        max_bins=question["max_bins"],
        control_bins=question["control_bins"],
        unknown=question["missing"] == "unknown",
    )
    every = oracle.coded_rules(
        asked.table,
        estimator=question["estimator"],
        beta=question["beta"],
        n_strata=asked.n_strata,
        max_length=question["max_length"],
        n_levels=2,
    )
    n = len(asked.row_ids)
    least = next(rows for rows in range(n + 1) if rows / n >= question["min_coverage"])
    expected = expected_front(every, asked.table.size, least)
    assert front.optimal
    assert front.stopped == "optimal"
    if not expected:
        assert [rule.text for rule in front] == [rule.text for rule in rules]
        return
    assert [rule.n_covered for rule in front] == [rows for rows, _ in expected]
    assert [rule.value for rule in front] == pytest.approx([value for _, value in expected], abs=1e-9)


def test_each_rule_is_the_best_that_covers_more_rows_than_the_one_before() -> None:
    rules = cr.discover(PASSENGERS, "survived", k=1, stepwise=False, min_coverage=0.05)
    front = rules.frontier()
    values, sizes = [rule.value for rule in front], [rule.n_covered for rule in front]
    assert front.optimal
    assert front[0] == rules[0]
    assert len(front) == front.question.k > 3
    assert values == sorted(set(values), reverse=True)
    assert sizes == sorted(set(sizes))
    for rule, wider in itertools.pairwise(front):
        least = (rule.n_covered + 0.5) / front.n_rows
        best = cr.discover(PASSENGERS, "survived", k=1, min_coverage=least)[0]
        assert best.value == pytest.approx(wider.value, abs=1e-9)
    assert "the front" in str(front)
    assert cr.RuleSet.from_json(front.to_json()) == front
    assert front.history[-1].upper_bound == front.upper_bound


def test_the_front_of_a_list_that_adds_is_that_of_the_whole_table() -> None:
    rules = cr.discover(PASSENGERS, "survived")
    assert len(rules) > 1
    assert rules.nearest is not None
    front, plain = rules.frontier(), cr.discover(PASSENGERS, "survived", k=5, stepwise=False).frontier()
    assert ended(front, nodes=plain.nodes, seconds=plain.seconds) == plain
    assert {rule.held_fixed for rule in front} == {()}
    assert front.nearest is None
    assert front.rungs == ()
    assert front.sensitivity()[-1].evidence is not None


def test_a_front_of_one_rule_at_a_time_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = cr.discover(PASSENGERS, "survived", k=1)
    front = rules.frontier()
    monkeypatch.setattr("causalrules.result.frontier._AT_ONCE", 1)
    again = rules.frontier()
    assert ended(again, nodes=front.nodes, seconds=front.seconds) == front


def test_of_rules_of_the_same_value_the_widest_is_on_the_front() -> None:
    table = {"a": [1] * 6 + [0] * 6, "b": [1] * 8 + [0] * 4, "y": [1] * 8 + [0] * 4}
    table = {name: values * 20 for name, values in table.items()}
    rules = cr.discover(table, "y", estimator="plugin", max_length=1)
    assert rules[0].text == "b = 1"
    assert [rule.text for rule in rules.frontier()] == ["b = 1"]
    table["y"] = [1, 0] * 120
    table["a"] = table["b"] = [0, 0, 1, 1] * 60
    front = cr.discover(table, "y", estimator="plugin", max_length=1).frontier()
    assert len(front) == 1
    assert front[0].value <= 0


def test_where_no_rule_is_above_0_the_front_is_the_nearest_one() -> None:
    applicants = cr.datasets.berkeley(library="dict")
    rules = cr.discover(applicants, "admitted", control="department", k=1)
    front = rules.frontier()
    assert rules[0].value <= 0
    assert [rule.text for rule in front] == [rule.text for rule in rules]


def test_a_time_limit_ends_the_front_early(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = cr.discover(PASSENGERS, "survived", k=1)
    whole = rules.frontier()
    n_searches = 0

    def stopped(*args: Any, **kwargs: Any) -> search.Found:
        nonlocal n_searches
        n_searches += 1
        found = plain(*args, **kwargs)
        if n_searches < 3:
            return found
        assert args[1].time_limit is not None
        return replace(found, rules=(), optimal=False, stopped="time limit")

    plain = search.run
    monkeypatch.setattr("causalrules.result.frontier._AT_ONCE", 1)
    monkeypatch.setattr(search, "run", stopped)
    front = rules.frontier(time_limit=60.0)
    assert n_searches == 3
    assert not front.optimal
    assert front.stopped == "time limit"
    assert list(front) == list(whole[:2])


def test_ctrl_c_keeps_the_front_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = cr.discover(PASSENGERS, "survived", k=1)
    whole = rules.frontier()
    n_searches = 0

    def interrupted(table: Any, *args: Any, **kwargs: Any) -> search.Found:
        nonlocal n_searches
        n_searches += 1
        if n_searches == 3:
            kwargs["watch"] = interrupt
        return plain(table, *args, **kwargs)

    def interrupt(progress: search.Progress) -> None:
        raise KeyboardInterrupt

    plain = search.run
    monkeypatch.setattr("causalrules.result.frontier._AT_ONCE", 1)
    monkeypatch.setattr(search, "run", interrupted)
    front = rules.frontier()
    assert n_searches == 3
    assert front.stopped == "interrupted"
    assert list(front[:2]) == list(whole[:2])


def test_the_front_keeps_valid_evidence() -> None:
    rules = cr.discover(PASSENGERS, "survived", k=3, max_length=2, beta="calibrated", holdout=0.3)
    tested = rules.significance(19)
    assert tested.evidence is not None
    assert None not in (tested.evidence.honest, tested.evidence.permutation, tested.evidence.calibration)
    front = tested.frontier()
    assert front.evidence == SearchEvidence(calibration=tested.evidence.calibration)
    assert all(rule.p_value is None and rule.evidence is None for rule in front)
    assert cr.discover(PASSENGERS, "survived", k=3).significance(19).frontier().evidence is None


def test_a_result_from_a_file_has_no_rows_to_search() -> None:
    rules = cr.RuleSet.from_json(cr.discover(PASSENGERS, "survived", k=1).to_json())
    with pytest.raises(OptionError, match=r"read from a file.*search again"):
        rules.frontier()
