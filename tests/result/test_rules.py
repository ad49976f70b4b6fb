"""Results: their numbers, their text, and their round trip through JSON, with untrusted names and values."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import math
import operator
import os
import pickle
import stat
import subprocess
import sys
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import causalrules as cr
from causalrules.datasets import titanic
from causalrules.discovery import discover
from causalrules.estimators import scores
from causalrules.exceptions import DataError, InputError
from causalrules.language.propositions import Proposition
from causalrules.question import ESTIMATORS
from causalrules.result.rule import RuleResult
from causalrules.rules import RuleSet
from causalrules.text import number
from rulesets import QUESTION, rule_results, rule_set, rule_sets, women_of_two_classes
from strategies import VALUES, SmallTable, small_tables

OLD = Path(__file__).parents[1] / "golden" / "old" / "titanic_ideas.json"

# --- numbers


@given(rule_results(3), st.sampled_from(ESTIMATORS))
def test_a_rules_numbers_follow_from_its_strata(rule: RuleResult, estimator: str) -> None:
    rule = dataclasses.replace(rule, criterion=dataclasses.replace(rule.criterion, estimator=estimator))
    strata = rule.strata
    rows = sum(stratum.n for stratum in strata)
    assert rule.n_covered == sum(stratum.a + stratum.b for stratum in strata)
    assert rule.coverage == pytest.approx(rule.n_covered / rows)
    total: float = sum(stratum.weight * stratum.reliable_difference for stratum in strata)
    if estimator == "pooled":
        # the margin belongs to the whole rule, not to strata
        spread = scores.pooled_variance(*rule.measured.sides)
        pooled = float(scores.pooled_difference(*rule.measured.sides[:2]) @ rule.measured.sides[2].n) / rows
        total = pooled - scores.pooled_margin(2.0, spread)
        assert [stratum.weight for stratum in strata] == pytest.approx(list(rule.measured.sides[2].n / rows))
    assert rule.reliable_effect == pytest.approx(total, abs=1e-12)
    inside = [stratum for stratum in strata if stratum.overlap]
    assert rule.overlap == pytest.approx(sum(stratum.n for stratum in inside) / rows)
    if inside:
        weighted = sum(stratum.n * stratum.difference for stratum in inside)
        assert rule.effect == pytest.approx(weighted / (rule.overlap * rows), abs=1e-12)
        assert rule.effect == pytest.approx(rule.p_do_rule - rule.p_do_not_rule, abs=1e-12)
        low, high = rule.interval
        assert low <= rule.effect + 1e-12
        assert rule.effect <= high + 1e-12
    else:
        assert math.isnan(rule.effect)
    a, b, c, d = np.array(rule.measured.counts).T
    assert rule.value == pytest.approx(scores.objective(estimator, a, b, c, d, 2.0), nan_ok=True)


def test_titanic_numbers() -> None:
    rule = women_of_two_classes()
    assert str(rule) == "class ≤ 2 ∧ sex = female"
    assert rule.value == rule.reliable_effect == pytest.approx(0.57669, abs=5e-6)
    assert rule.coverage == pytest.approx(0.19080, abs=5e-6)
    assert (rule.n_covered, rule.length) == (170, 2)
    assert rule.effect == rule.marginal_effect == pytest.approx(161 / 170 - 181 / 721)


def test_the_order_of_conditions_does_not_matter() -> None:
    rule = women_of_two_classes()
    reverse = RuleResult.from_counts(reversed(rule.conditions), 161, 9, 181, 540, [{}], 2.0, "reliable")
    assert reverse == rule
    assert hash(reverse) == hash(rule)
    other = RuleResult.from_counts(rule.conditions, 161, 9, 181, 541, [{}], 2.0, "reliable")
    assert other != rule


def test_strata_need_a_label_each() -> None:
    with pytest.raises(ValueError, match="2 strata are counted but 1 are labelled"):
        RuleResult.from_counts([], [1, 1], [1, 1], [1, 1], [1, 1], [{}], 2.0, "reliable")


# --- covers

COMPARE = {"=": operator.eq, "<=": operator.le, ">=": operator.ge}


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(small_tables(), st.data())
def test_covers_exactly_the_rows_that_satisfy_every_condition(table: SmallTable, data: st.DataObject) -> None:
    conditions = []
    value: Any
    for column, kind in table.actionable.items():
        if kind == "number":
            value, sign = data.draw(VALUES[kind]), data.draw(st.sampled_from(["<=", ">="]))
        else:
            value, sign = data.draw(VALUES[kind]), "="
        # an empty column has no kind, so no condition on it is valid
        if any(row[column] is not None for row in table.rows) and data.draw(st.booleans()):
            conditions.append(Proposition(column, sign, value))
    rule = RuleResult.from_counts(conditions, 1, 1, 1, 1, [{}], 2.0, "reliable")
    expected = [
        all(
            row[condition.column] is not None and COMPARE[condition.operator](row[condition.column], condition.value)
            for condition in conditions
        )
        for row in table.rows
    ]
    columns = table.columns()
    for frame in (columns, pd.DataFrame(columns), pl.DataFrame(columns, strict=False)):
        covered = rule.covers(frame)
        assert covered.dtype == np.bool_
        assert covered.tolist() == expected


def test_covers_names_a_column_that_is_not_there() -> None:
    with pytest.raises(DataError, match=r"'class ≤ 2 ∧ sex = female': no column 'sex'; did you mean 'sexx'\?"):
        women_of_two_classes().covers({"class": [1, 2], "sexx": ["female", "male"]})


# --- words


@pytest.mark.parametrize("width", [40, 80, 120])
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rules=rule_sets())
def test_text_fits_the_terminal_without_control_characters(
    width: int, rules: RuleSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for line in str(rules).split("\n"):
        assert all(letter.isprintable() or letter in "\u200c\u200d" for letter in line)
        wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in line)
        combining = sum(unicodedata.combining(letter) > 0 for letter in line)
        # six columns of numbers and the narrowest rule take 78
        assert len(line) + wide - combining <= max(width, 80)


def test_the_table_shows_each_rule_with_its_numbers() -> None:
    title, table, meaning, note = str(rule_set(women_of_two_classes(), notes=("age is missing in 177 rows",))).split(
        "\n\n"
    )
    assert title == "1 rule in 891 rows; proven optimal, 185 nodes in 0.02 s"
    heading, row = table.split("\n")
    assert heading.split("  ")[0] == "#"
    assert heading.split()[1:] == ["rule", "difference,", "points", "conservative", "applies", "to", "evidence"]
    assert row.split()[-6:] == ["69.6", "57.7", "19.1", "%", "cannot", "tell"]
    lines = meaning.split("\n")
    assert lines[0] == "difference: how much more often survived = 1 occurs where the rule holds, unadjusted"
    assert lines[1] == "evidence rests on nothing yet: rules.trust() tests it"
    assert lines[2].startswith("No causal graph given: these are associations")
    assert note == "note: age is missing in 177 rows"


@pytest.mark.parametrize("estimator", ["plugin", "wracc", "association"])
def test_another_estimator_is_named_and_its_values_are_shown(estimator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    rules = discover(titanic(library="dict"), "survived", control="sex", k=3, estimator=estimator)
    lines = str(rules).splitlines()
    (heading,) = [place for place, line in enumerate(lines) if line.split()[:3] == ["#", "rule", "value"]]
    for rule, line in zip(rules, lines[heading + 1 :], strict=False):
        assert f" {number(100 * rule.value, 1)} " in line
    assert any(line.startswith(f"ranked by {estimator} (value): ") for line in lines)
    for shown in (rules._repr_html_(), rules.to_markdown(), rules.to_latex(), rules.to_html()):
        assert f"anked by {estimator} (value): " in shown
    for shown in (rules.to_markdown(), rules.to_latex()):
        assert number(rules[0].value) in shown
    usual = discover(titanic(library="dict"), "survived", control="sex", k=3)
    assert "anked by" not in str(usual) + usual.to_markdown()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"stopped": "time limit"}, "stopped at the time limit: no rule can exceed 0.6100 (gap 0.0333)"),
        ({"stopped": "interrupted"}, "interrupted: no rule can exceed 0.6100 (gap 0.0333)"),
        ({"stopped": "optimal"}, "not proven optimal: no rule can exceed 0.6100 (gap 0.0333)"),
        ({"stopped": "time limit", "upper_bound": math.inf, "gap": math.inf}, "nothing is proven yet"),
    ],
)
def test_an_unfinished_search_says_what_is_proven(changes: dict[str, Any], words: str) -> None:
    unfinished = {"optimal": False, "upper_bound": 0.61, "gap": 0.0333, **changes}
    text = str(rule_set(women_of_two_classes(), **unfinished))
    assert words in text
    assert "proven optimal, " not in text


@pytest.mark.parametrize(
    ("estimator", "words"),
    [("reliable", "No rule has a conservative difference above 0"), ("plugin", "No rule has a positive value")],
)
def test_a_best_rule_without_effect_is_reported(estimator: str, words: str) -> None:
    none = RuleResult.from_counts([Proposition("x", "=", "a")], 5, 5, 5, 5, [{}], 2.0, estimator)
    for shown in (str(rule_set(none)), rule_set(none)._repr_html_()):
        assert words in shown
    assert "No rule" not in str(rule_set(women_of_two_classes(estimator)))


def test_names_with_commas_are_quoted() -> None:
    question = dataclasses.replace(rule_set().question, control=("age, in years", "sex"))
    words = " ".join(str(rule_set(women_of_two_classes(), question=question)).split())
    assert "adjusted for 'age, in years', sex" in words


@pytest.mark.parametrize(("nodes", "words"), [(1, "1 node in"), (0, "0 nodes in"), (1200, "1,200 nodes in")])
def test_one_node_is_singular(nodes: int, words: str) -> None:
    assert f", {words} " in str(rule_set(women_of_two_classes(), nodes=nodes))


def test_an_empty_list_says_so() -> None:
    assert "No rule satisfies the options" in str(rule_set())


@given(rule_sets())
def test_causal_words_need_an_admissible_graph(rules: RuleSet) -> None:
    plain = dataclasses.replace(
        rules,
        rules=(women_of_two_classes(),),
        notes=(),
        question=dataclasses.replace(QUESTION, control=("sex",)),
    )
    admissible = bool(plain.admissibility)
    for shown in (str(plain), plain._repr_html_()):
        assert ("causal graph allows" in shown) == ("brought about" in shown) == admissible
        assert "adjusted for sex" in shown


DRAWN = {"svg", "line", "rect", "circle", "path", "title", "polygon"}
OURS = {"style", "width", "height", "viewbox", "role", "aria-label", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r"}
OURS |= {"fill", "stroke", "stroke-width", "d", "points"}


class Tags(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.data = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        assert {name for name, _ in attrs} <= OURS

    def handle_data(self, data: str) -> None:
        self.data += data


@given(rule_sets())
def test_html_escapes_names_and_values(rules: RuleSet) -> None:
    page = Tags()
    page.feed(rules._repr_html_())
    assert page.tags <= {"div", "table", "thead", "tbody", "tr", "th", "td", "bdi", "p", "b", "span", *DRAWN}
    for rule in rules:
        if rule.text.isprintable():
            assert rule.text in page.data


# --- frames


@pytest.mark.parametrize(("library", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("dict", dict)])
def test_frames_come_in_the_callers_library(library: str, kind: type) -> None:
    result = rule_set(women_of_two_classes(), library=library).to_frame()
    assert isinstance(result, kind)
    frame: Any = result
    assert list(frame["rule"]) == ["class ≤ 2 ∧ sex = female"]
    assert list(frame["reliable_effect"]) == [women_of_two_classes().reliable_effect]
    assert list(frame["n_covered"]) == [170]
    assert [*frame["interval_low"], *frame["interval_high"]] == list(women_of_two_classes().interval)
    assert len(rule_set(library=library).to_frame()["rule"]) == 0


def test_a_rule_set_is_a_sequence_that_cannot_be_changed() -> None:
    rule = women_of_two_classes()
    rules = rule_set(rule)
    assert (len(rules), list(rules), rules[0], rules[-1], rules[:1]) == (1, [rule], rule, rule, (rule,))
    with pytest.raises(dataclasses.FrozenInstanceError):
        rules.optimal = False  # type: ignore[misc]


# --- JSON


def strict(text: str) -> Any:
    def fail(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=fail)


@given(rule_sets())
def test_json_brings_back_an_equal_result(rules: RuleSet) -> None:
    text = rules.to_json()
    again = RuleSet.from_json(text)
    assert again == rules
    assert again.to_json() == text
    assert [rule.text for rule in again] == [rule.text for rule in rules]
    payload = strict(text)
    assert payload["schema"] == "causalrules/3"
    for rule, written in zip(rules, payload["rules"], strict=True):
        assert written["effect"] == (None if math.isnan(rule.effect) else rule.effect)
        assert written["reliable_effect"] == rule.reliable_effect


def test_json_with_removed_options_is_read() -> None:
    """The file has `similarity` and `redundant` in its question, and `variants` with each rule."""
    kept = json.loads(OLD.read_text(encoding="utf-8"))
    assert {"similarity", "redundant"} < set(kept["question"])
    assert [len(rule["variants"]) for rule in kept["rules"]] == [0, 1]
    kept["question"]["confidence"] = 0.95
    read = RuleSet.from_json(json.dumps(kept))
    assert [rule.text for rule in read] == [rule["rule"] for rule in kept["rules"]]
    assert [rule.value for rule in read] == pytest.approx([rule["value"] for rule in kept["rules"]])
    assert [rule.p_value for rule in read] == [rule["p_value"] for rule in kept["rules"]]
    assert (read.question.k, read.question.max_bins) == (2, 3)
    assert RuleSet.from_json(read.to_json()) == read
    for text in (str(read), read.to_html(), read._repr_html_()):
        assert "sex = female" in text.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize("schema", [1, 2])
def test_json_of_earlier_schemas_is_read(schema: int) -> None:
    text = OLD.with_name(f"kidney_graph_{schema}.json").read_text(encoding="utf-8")
    kept = json.loads(text)
    assert kept["schema"] == f"causalrules/{schema}"
    read = RuleSet.from_json(text)
    for rule, written in zip(read, kept["rules"], strict=True):
        assert rule.effect == pytest.approx(written["effect"])
        assert rule.value == pytest.approx(written["value"])
        assert rule.evidence is not None
        assert rule.evidence.sensitivity is not None
        assert rule.evidence.sensitivity.e_value == written["evidence"]["sensitivity"]["e_value"]
    assert read.graph is not None
    assert read.claim == kept["claim"] == "effect"
    assert RuleSet.from_json(read.to_json()) == read


def test_json_differs_only_in_run_when_only_the_effort_differs() -> None:
    rule = women_of_two_classes()
    slow = strict(rule_set(rule, nodes=9, seconds=8.0).to_json())
    quick = strict(rule_set(rule, nodes=7, seconds=0.5).to_json())
    assert slow["run"] != quick["run"]
    assert {**slow, "run": None} == {**quick, "run": None}


def test_json_written_to_a_file_can_be_read_from_it(tmp_path: Path) -> None:
    rules = rule_set(women_of_two_classes())
    path = tmp_path / "rules.json"
    path.write_text("old")
    assert rules.to_json(path) == path.read_text(encoding="utf-8").rstrip("\n")
    assert RuleSet.from_json(path) == RuleSet.from_json(str(path)) == rules
    assert [entry.name for entry in tmp_path.iterdir()] == ["rules.json"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rules.json"
    path.write_text("old")

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(DataError, match=r"rules\.json': No space left on device"):
        rule_set(women_of_two_classes()).to_json(path)
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("rules.json", "old")]


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_replaced_file_keeps_its_permissions_and_a_new_one_has_the_usual(tmp_path: Path) -> None:
    old, new, usual = tmp_path / "old.json", tmp_path / "new.json", tmp_path / "usual"
    for mode in (0o600, 0o664, 0o444):
        old.write_text("old")
        old.chmod(mode)
        rule_set(women_of_two_classes()).to_json(old)
        assert stat.S_IMODE(old.stat().st_mode) == mode
        assert old.read_text() != "old"
        old.unlink()
    usual.touch()
    rule_set(women_of_two_classes()).to_json(new)
    assert new.stat().st_mode == usual.stat().st_mode


def test_a_file_is_on_the_disk_before_it_is_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    sync, move = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        done.append(f"sync of {os.fstat(descriptor).st_size}")
        sync(descriptor)

    def moved(self: Path, target: Path) -> Path:
        done.append("move")
        return move(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", moved)
    path = tmp_path / "rules.json"
    rule_set(women_of_two_classes()).to_json(path)
    assert done == [f"sync of {path.stat().st_size}", "move"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot write the result to .*nowhere/rules\.json'"):
        rule_set(women_of_two_classes()).to_json(tmp_path / "nowhere" / "rules.json")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{", "the text is not JSON"),
        ("[" * 100_000, "the text is not JSON"),
        ('{"schema": NaN}', "NaN is not a number of JSON"),
        ("{}", "the schema None; this version reads 'causalrules/1'"),
        ('{"schema": "causalrules/4"}', "the schema 'causalrules/4'"),
        ('{"schema": "causalrules/1"}', "question must be an object, not NoneType"),
        ("[]", "the schema None"),
        ("no/such/file.json", "cannot read a result from 'no/such/file.json'"),
        ("nul\0byte", "cannot read a result from"),
        ("", "cannot read a result from ''"),
    ],
)
def test_invalid_results_are_an_error(source: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        RuleSet.from_json(source)


def test_bytes_that_are_not_text_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "junk.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="cannot read a result from"):
        RuleSet.from_json(path)


def places(payload: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return every path in a JSON document."""
    items = payload.items() if isinstance(payload, dict) else enumerate(payload) if isinstance(payload, list) else ()
    return [place for key, value in items for place in [(*path, key), *places(value, (*path, key))]]


def changed(payload: Any, place: tuple[Any, ...], value: Any) -> Any:
    copy = json.loads(json.dumps(payload))
    parent = copy
    for key in place[:-1]:
        parent = parent[key]
    parent[place[-1]] = value
    return copy


RULE = RuleResult.from_counts(
    [
        Proposition("day", "<=", dt.date(2020, 2, 29)),
        Proposition("wait", ">=", dt.timedelta(hours=1)),
        Proposition("x", "<=", 0.5),
    ],
    [1, 2],
    [3, 4],
    [5, 6],
    [7, 8],
    [{"z": "1"}, {"z": "2"}],
    2.0,
    "reliable",
)
DOCUMENT = json.loads(rule_set(RULE, notes=("a note",), versions={"causalrules": "1"}).to_json())
JUNK: list[Any] = [None, True, -1, 10**400, 1e308, "x", "", [], {}, [None], {"x": []}, [[1]]]


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: repr(junk)[:20])
def test_a_corrupted_document_is_an_error_or_read_but_never_crashes(junk: Any) -> None:
    n_read = 0
    for place in places(DOCUMENT):
        try:
            rules = RuleSet.from_json(json.dumps(changed(DOCUMENT, place, junk)))
        except InputError:
            continue
        n_read += 1
        assert str(rules)
        assert rules._repr_html_()
        strict(rules.to_json())
    # the derived numbers, at least, are not read back
    assert n_read > 20


@pytest.mark.parametrize("count", [True, -1, 2**53, 1.0, "1", None])
def test_a_count_is_a_whole_number_of_rows(count: Any) -> None:
    spoilt = changed(DOCUMENT, ("rules", 0, "strata", 1, "c"), count)
    with pytest.raises(DataError, match=r"strata"):
        RuleSet.from_json(json.dumps(spoilt))


def test_a_list_that_was_checked_and_not_kept_is_reported() -> None:
    table = cr.datasets.titanic()
    rules = cr.discover(table[::2], "survived", actionable=["class", "sex"])
    rules.to_html()
    rules.sensitivity()
    rules.confirm(table[1::2])
    with pytest.warns(cr.CausalRulesWarning, match=r"not in this list: what sensitivity\(\), confirm\(\) found"):
        rules.to_html()
    for export in (rules.to_json, rules.to_frame, rules.to_markdown, rules.to_latex, rules.plot):
        with pytest.warns(cr.CausalRulesWarning, match=f"^{export.__name__}\\(\\): not in this list"):
            export()
    assert "not in this list" in str(rules)
    assert "not in this list" in rules._repr_html_()
    # Another process knows nothing of it, and neither does the list that a check returned.
    assert "not in this list" not in str(pickle.loads(pickle.dumps(rules)))
    assert "not in this list" not in str(rules.sensitivity())


def test_a_rule_that_is_read_in_another_process_is_escaped() -> None:
    table = {"<b>x</b>": [0, 1] * 20, "y": [0, 1] * 20}
    rule = cr.discover(table, "y")[0]
    assert len(pickle.dumps(rule)) < 2000
    shown = subprocess.run(
        [sys.executable, "-c", "import pickle, sys; print(pickle.load(sys.stdin.buffer)._repr_html_())"],
        input=pickle.dumps(rule),
        stdout=subprocess.PIPE,
        check=True,
    ).stdout.decode()
    assert "&lt;b&gt;x" in shown
    assert "<b>x" not in shown
