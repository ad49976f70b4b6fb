"""Rows without a value of a control: dropping them is searching the others, whatever is asked, wherever they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import causalrules as cr
from causalrules.data import reading
from causalrules.exceptions import DataError, OptionError
from causalrules.language.missing import MissingControls
from causalrules.question import PAPER

N = 1200
GRAPH = "z -> {a b y}; v -> {b y}; {a b} -> y"
Columns = dict[str, Any]


def table(seed: int = 0, lacking: float = 0.2) -> Columns:
    """Draw rows confounded by z (text) and v (a number), of which some values are missing."""
    rng = np.random.default_rng(seed)
    z, v = rng.integers(0, 3, N), rng.integers(0, 4, N)
    a = rng.random(N) < 0.2 + 0.25 * z
    b = rng.random(N) < 0.2 + 0.1 * z + 0.1 * v
    y = rng.random(N) < 0.1 + 0.2 * z + 0.05 * v + 0.15 * a
    hidden = [rng.random(N) < lacking for _ in "zv"]
    return {
        "a": a.tolist(),
        "b": [None if each < 0.05 else value for each, value in zip(rng.random(N), b.tolist(), strict=True)],
        "c": rng.choice(["p", "q", "r"], N).tolist(),
        "z": [None if hide else "klm"[value] for hide, value in zip(hidden[0], z, strict=True)],
        "v": [None if hide else int(value) for hide, value in zip(hidden[1], v, strict=True)],
        "times": rng.integers(0, 3, N).tolist(),
        "group": rng.integers(0, 200, N).tolist(),
        "cost": (rng.normal(size=N) + z + a).tolist(),
        "y": [None if each < 0.02 else int(value) for each, value in zip(rng.random(N), y, strict=True)],
    }


def without(columns: Columns, controls: Sequence[str]) -> Columns:
    kept = [place for place in range(N) if all(columns[name][place] is not None for name in controls)]
    return {name: [values[place] for place in kept] for name, values in columns.items()}


def numbers(rules: cr.RuleSet) -> tuple[Any, ...]:
    """Return the rules without what is known of rows that are not compared."""
    found = [*rules, *(() if rules.nearest is None else (rules.nearest,))]
    return tuple(replace(rule, missing_control=None) for rule in found)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stepwise": False, "k": 8},
        {"target": "cost"},
        {"weights": "times"},
        {"groups": "group"},
        {"reference": {"c": "p"}, "actionable": "c"},
        {"holdout": 0.4},
        {"adjust": "prognostic"},
        {"missing": "false", "estimator": "reliable", "beta": 1.0},
        {"graph": GRAPH, "control": "auto", "actionable": ["b"]},
    ],
    ids=str,
)
def test_rows_that_lack_a_control_do_not_count(options: dict[str, Any]) -> None:
    columns = table()
    asked = {"target": "y", "control": ["z", "v"], "actionable": ["a", "b", "c"], "progress": False, **options}
    found = cr.discover(columns, **asked)
    expected = cr.discover(without(columns, ["z", "v"]), **asked)
    assert numbers(found) == numbers(expected)
    assert len(found) > 0
    assert found.rungs == expected.rungs
    if asked["control"] != "auto":
        assert found.n_rows == expected.n_rows
        n_missing = sum(row[0] is None or row[1] is None for row in zip(columns["z"], columns["v"], strict=True))
        assert found.n_incomplete <= n_missing * (1 + ("weights" in options))
        assert expected.n_incomplete == 0
    if "weights" in options or "holdout" in options:
        return
    for measured, plain in ((found.trust, expected.trust),) if not options else ():
        assert numbers(measured(19, progress=False)) == numbers(plain(19, progress=False))


def test_checks_use_the_same_rows() -> None:
    columns = table()
    asked: dict[str, Any] = {"target": "y", "control": ["z", "v"], "actionable": ["a", "b"], "progress": False, "k": 2}
    found, expected = cr.discover(columns, **asked), cr.discover(without(columns, ["z", "v"]), **asked)
    for check in ("doubly_robust", "cross_fit", "overlap", "sensitivity", "balance"):
        assert numbers(getattr(found, check)()) == numbers(getattr(expected, check)())
    new = table(1)
    assert numbers(found.confirm(new)) == numbers(expected.confirm(without(new, ["z", "v"])))


def test_each_rule_with_its_own_controls_drops_the_rows_that_lack_them() -> None:
    columns = table()
    texts = ["a = True", "b = True", "a = True and b = True"]
    asked: dict[str, Any] = {"target": "y", "control": "auto", "graph": GRAPH}
    rules = cr.evaluate(columns, texts, **asked)
    assert [rule.control for rule in rules] == [("z",), ("v", "z"), ("v", "z")]
    for text, rule in zip(texts, rules, strict=True):
        alone = cr.evaluate(without(columns, rule.control), text, "y", control=list(rule.control), error_rate=0.05 / 3)
        # p-values are for one rule there, and for three here.
        known: dict[str, Any] = {
            name: getattr(rule, name)
            for name in ("circumstances", "identification", "p_value", "evidence", "missing_control")
        }
        assert replace(alone[0], **known) == rule
        assert alone[0].p_value is not None
        assert rule.p_value is not None
        assert alone[0].p_value <= rule.p_value <= 3.001 * alone[0].p_value
        lacking = sum(
            y is not None and any(columns[name][place] is None for name in rule.control)
            for place, y in enumerate(columns["y"])
        )
        assert rule.n_incomplete == lacking > 0
    assert cr.RuleSet.from_json(rules.to_json()) == rules
    # Held-out rows, and every check, are those of each rule.
    listed = cr.discover(columns, **asked, actionable=["a", "b"], holdout=0.4, progress=False)
    for rule in listed:
        assert rule.evidence is not None
        assert rule.evidence.honest is not None
        lacking = sum(any(columns[name][place] is None for name in rule.control) for place in range(N))
        assert rule.evidence.honest.n_rows < 0.45 * (N - lacking)
    # A row that one rule is searched on is held out for none.
    problem = listed.problem
    assert problem is not None
    assert problem.everything is not None
    kept = problem.everything.rows.local.record
    for adjusted in problem.adjustments:
        assert adjusted.controls is not None
        present, record = adjusted.controls.table.present, adjusted.rows.local.record
        assert record is not None
        assert kept is not None
        whole = np.arange(problem.everything.controls.table.n_records) if present is None else np.flatnonzero(present)  # type: ignore[union-attr]
        assert set(whole[record].tolist()) == set(whole.tolist()) & set(kept.tolist())
    trusted = cr.discover(columns, **asked, actionable=["a", "b"], progress=False).trust(19, progress=False)
    assert all(rule.p_value is not None for rule in trusted)


@pytest.mark.parametrize("kind", ["files", "merged", "workers"])
def test_own_controls_of_rows_elsewhere_are_those_in_memory(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pd = pytest.importorskip("pandas")
    columns = table()
    frame = pd.DataFrame({name: columns[name] for name in ("a", "b", "z", "v", "y")}).convert_dtypes()
    asked: dict[str, Any] = {"target": "y", "control": "auto", "graph": GRAPH, "actionable": ["a", "b"]}
    asked |= {"progress": False}
    expected = cr.discover(frame, **asked)
    assert any(rule.n_incomplete for rule in numbers(expected) or expected) or expected.nearest is not None
    if kind == "workers":
        dask = pytest.importorskip("dask.dataframe")
        found = cr.discover(dask.from_pandas(frame, npartitions=3), **asked)
    else:
        monkeypatch.setattr(reading, "STREAMED_FROM", 0)
        if kind == "merged":
            monkeypatch.setattr("causalrules.search.merging.pays", lambda *_: True)
        frame.to_parquet(tmp_path / "t.parquet")
        found = cr.discover(str(tmp_path / "t.parquet"), **asked)
    assert [rule.missing_control for rule in found] == [rule.missing_control for rule in expected]
    assert numbers(found) == numbers(expected)
    assert found.n_rows == expected.n_rows
    with pytest.raises(OptionError, match="read the table into memory"):
        cr.discover(
            str(tmp_path / "t.parquet") if kind != "workers" else dask.from_pandas(frame, npartitions=3),
            **asked,
            holdout=0.5,
        )


def test_without_missing_values_in_the_controls_nothing_changes() -> None:
    columns = table(lacking=0.0)
    for missing_control in ("drop", "value"):
        rules = cr.discover(columns, "y", control=["z", "v"], actionable=["a", "b"], missing_control=missing_control)
        assert (rules.n_incomplete, rules.alerts) == (0, ())
        assert [rule.missing_control for rule in rules] == [None] * len(rules)


def test_a_few_are_a_note_and_many_an_alert() -> None:
    few = cr.discover(table(lacking=0.01), "y", control="z", actionable=["a", "b"])
    assert not few.alerts
    assert "have no value of z and are not compared" in few.notes[0]
    many = cr.discover(table(), "y", control=["z", "v"], actionable=["a", "b"])
    (alert,) = many.alerts
    assert alert.columns == ("v", "z")
    assert alert.sentence.startswith(f"{many.n_incomplete:,} of {many.n_incomplete + many.n_rows:,} rows have no value")
    assert alert.sentence.endswith("if v and z are missing at random")
    assert str(many).index("! Missing controls") < str(many).index("#  rule")


def test_claims_name_the_assumption_or_are_not_made() -> None:
    asked: dict[str, Any] = {"target": "y", "control": "z", "actionable": "a"}
    graph = "z -> {a y}; a -> y"
    claims: list[tuple[dict[str, Any], str]] = [
        ({}, "unchecked"),
        ({"graph": graph}, "identified"),
        ({"randomised": "a"}, "by design"),
    ]
    for options, claim in claims:
        verdict = cr.discover(table(), **asked, **options)[0].verdict
        assert verdict.claim == claim
        assert any(reason.startswith("if z is missing at random: ") for reason in verdict.reasons)
    lacking = "rows have no value of z, which is not adjusted for there"
    for options, _ in claims[:2]:
        rules = cr.discover(table(), **asked, **options, missing_control="value")
        assert rules[0].verdict.claim == "not identified"
        assert any(lacking in reason for reason in rules[0].verdict.reasons) or "a <- z -> y" in str(rules)
        assert rules.claim in ("unchecked", "association")
    # The design or the graph covers it: z need not be adjusted for.
    covered = cr.discover(table(), **asked, graph="z -> y; a -> y", missing_control="value")
    assert covered[0].verdict.claim == "identified"
    by_design = cr.discover(table(), **asked, randomised="a", missing_control="value")[0].verdict
    assert by_design.claim == "by design"
    assert any(lacking in reason for reason in by_design.reasons)


def test_no_row_with_all_controls_is_an_error() -> None:
    columns = {"x": [0, 1] * 20, "y": [0, 1, 1, 1] * 10, "z": [None, 1, None, 2] * 10, "v": [1, None, 2, None] * 10}
    with pytest.raises(DataError, match=r"no row has a value of each control, 'z', 'v'.*missing_control='value'"):
        cr.discover(columns, "y", control=["z", "v"])
    assert cr.discover(columns, "y", control=["z", "v"], missing_control="value").n_rows == 40
    with pytest.raises(DataError, match="no rule on x can be compared: no row has a value of each control, v and z"):
        cr.evaluate(columns, "x = 1", "y", control="auto", graph="{z v} -> {x y}; x -> y")
    whole = {**columns, "z": [1, 2] * 20, "v": [1, 2, 2, 1] * 10}
    rules = cr.discover(whole, "y", control=["z", "v"], actionable="x")
    with pytest.raises(DataError, match="the table: no row has a value of each control"):
        rules.confirm(columns)


def test_rows_left_open_are_said_with_reference_rows_too() -> None:
    columns = table()
    columns["c"] = [None if each is None else arm for each, arm in zip(columns["b"], columns["c"], strict=True)]
    rules = cr.discover(columns, "y", reference={"c": "p"}, stepwise=False, k=8, progress=False)
    assert len(rules) == 2
    is_open = [c is None and y is not None for c, y in zip(columns["c"], columns["y"], strict=True)]
    assert [rule.n_open for rule in rules] == [sum(is_open)] * 2 != [0, 0]
    assert "with missing values that leave open whether a rule holds are not compared" in str(rules).replace("\n", " ")
    assert cr.RuleSet.from_json(rules.to_json()) == rules
    false = cr.discover(columns, "y", reference={"c": "p"}, missing="false", progress=False)
    assert not any(rule.n_open for rule in false)


def test_a_file_that_names_no_control_is_refused() -> None:
    document = json.loads(cr.discover(table(), "y", control="z", actionable="a").to_json())
    document["rules"][0]["missing_control"]["columns"] = []
    with pytest.raises(DataError, match="missing_control: columns is empty"):
        cr.RuleSet.from_json(json.dumps(document))


def test_words() -> None:
    assert MissingControls((("z", 1),), 1, 40).note == "1 of 40 rows has no value of z and is not compared"
    assert MissingControls((("z", 12),), 12, 40).note.endswith("; the others stand for them if z is missing at random")
    assert MissingControls((("z", 1),), 0, 40).alert.kind == "missing control"
    many = tuple((f"z{number}", number) for number in range(1, 31))
    assert MissingControls(many, 35, 40).lack.endswith(
        "z30 (30), z29 (29), z28 (28), z27 (27), z26 (26), z25 (25) or 24 others"
    )
    assert MissingControls(many, 0, 40).lack.endswith("25 none of z25 and fewer none of 24 others")


def test_the_paper_keeps_missing_as_a_value() -> None:
    assert PAPER["missing_control"] == "value"
