"""Stability and verdicts, in text and through JSON."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import causalrules as cr
from causalrules.cli import cli
from causalrules.exceptions import DataError, OptionError
from causalrules.graph.backdoor import Identification
from causalrules.payload import from_json, to_json
from causalrules.result.rules import RuleSet
from causalrules.trust import evidence as ev
from causalrules.trust.verdict import judge
from rulesets import admissibility


def planted(n: int = 800, effect: float = 0.5, seed: int = 0) -> dict[str, Any]:
    """x0 above a cut point near 0.6 raises the outcome; the rest is noise."""
    rng = np.random.default_rng([3, seed + 1])
    columns: dict[str, Any] = {f"x{i}": rng.integers(0, 10, n) / 10 for i in range(3)}
    columns["colour"] = rng.choice(["red", "blue"], n)
    columns["z"] = rng.integers(0, 2, n)
    p = 0.2 + 0.1 * columns["z"] + effect * (columns["x0"] >= 0.6)
    return columns | {"y": (rng.random(n) < p).astype(int)}


@pytest.fixture(scope="module")
def trusted() -> RuleSet:
    return cr.discover(planted(), "y", control="z", k=2, max_length=2).trust(99, 20, 3, seed=1)


@pytest.mark.parametrize("method", ["subsample", "bootstrap"])
def test_a_planted_rule_reappears_with_its_cut_point(method: str) -> None:
    rules = cr.discover(planted(), "y", control="z", k=1, max_length=2).stability(30, method=method)
    stability = rules[0].evidence.stability  # type: ignore[union-attr]
    assert stability is not None
    assert rules[0].text == "x0 ≥ 0.6"
    assert stability.nearly >= stability.returned >= 0.6
    (condition,) = stability.conditions
    assert condition.condition == "x0 ≥"
    assert condition.share == 1
    assert condition.low is not None
    assert condition.high is not None
    assert 0.5 <= float(condition.low) <= 0.6 <= float(condition.high) <= 0.7
    assert rules.evidence is not None
    assert rules.evidence.stability is not None
    assert rules.evidence.stability.conditions[0] == condition


def test_a_rule_without_effect_does_not_reappear() -> None:
    rules = cr.discover(planted(200, effect=0), "y", control="z", k=1, max_length=3).stability(30)
    stability = rules[0].evidence.stability  # type: ignore[union-attr]
    assert stability is not None
    assert stability.returned < 0.3


def test_shares_are_those_of_the_lists() -> None:
    """Counted again from the samples themselves."""
    from causalrules.trust import repeat
    from causalrules.trust.resample import subsample

    rules = cr.discover(planted(300, 0.2), "y", control="z", k=4, max_length=2)
    found = rules.stability(12, seed=7)
    assert rules.problem is not None
    propositions = rules.problem.language.propositions
    lists = []
    for place in range(12):
        sample = subsample(rules.problem, 0.5, repeat.generator(7, "sample", place))
        assert sample.n_rows == pytest.approx(150, abs=1)
        again = repeat.Searcher().listed(sample, rules.question, k=10)
        lists.append([[propositions[number] for number in numbers] for numbers in again])
    rows = planted(300, 0.2)

    for rule in found:
        mine = rule.covers(rows)
        returned = 0
        for each in lists:
            others = [replace(rule, conditions=tuple(conditions)).covers(rows) for conditions in each]
            returned += any(np.array_equal(mine, other) for other in others)
        stability = rule.evidence.stability  # type: ignore[union-attr]
        assert stability is not None
        assert stability.returned == pytest.approx(returned / 12)
        for condition, proposition in zip(stability.conditions, rule.conditions, strict=True):
            having = sum(
                any(
                    other.column == proposition.column
                    and other.operator == proposition.operator
                    and (proposition.operator != "=" or other.value == proposition.value)
                    for conditions in each
                    for other in conditions
                )
                for each in lists
            )
            assert condition.share == pytest.approx(having / 12)
    assert found.evidence is not None
    assert found.evidence.stability is not None
    several = 0
    for condition in found.evidence.stability.conditions:
        if condition.low is None or condition.high is None:
            continue
        column, sign = condition.condition.split()
        operator = {"≤": "<=", "≥": ">="}[sign]
        cuts = []
        for each in lists:
            firsts: list[Any] = [
                o.value for conditions in each for o in conditions if (o.column, o.operator) == (column, operator)
            ]
            cuts += firsts[:1]
        assert (float(condition.low), float(condition.high)) == (min(cuts), max(cuts))  # 5 % of 12 is none
        several += min(cuts) < max(cuts)
    assert several


def test_the_verdict_does_not_depend_on_how_many_rules_were_asked_for() -> None:
    judged = set()
    for k in (1, 5, 20):
        rules = cr.discover(
            cr.datasets.titanic(),
            "survived",
            control=["sex", "class"],
            actionable=["age", "sibsp", "parch", "fare", "embarked"],
            k=k,
        )
        (evidence,) = (rule.evidence for rule in rules.trust(19, 20, 2)[:1])
        assert evidence is not None
        assert evidence.verdict is not None
        judged.add((rules[0].text, evidence.verdict, evidence.stability))
    assert len(judged) == 1


def test_options_are_checked() -> None:
    rules = cr.discover(planted(100), "y", k=1)
    with pytest.raises(OptionError, match="'subsample' or 'bootstrap'"):
        rules.stability(method="jackknife")
    with pytest.raises(OptionError, match="share = 2"):
        rules.stability(share=2)
    with pytest.raises(DataError, match="stability searches the data again"):
        RuleSet.from_json(rules.to_json()).stability()


def test_everything_at_once(trusted: RuleSet) -> None:
    first = trusted[0]
    evidence = first.evidence
    assert evidence is not None
    assert evidence.verdict is not None
    assert evidence.verdict.word == "strong"
    assert not evidence.verdict.doubts
    assert len(evidence.verdict.supports) == 5
    assert first.p_value == pytest.approx(0.01)
    text = " ".join(str(trusted).split())
    for words in (
        "1: strong: difference 4",
        "on held-out rows ",
        "adjusted p 0.01",
        "E-value",
        "comparison group for 100 % of rows",
        "reappears in 100 % of subsamples",
        "99 of at most 99 permutations",
        "forward chaining, 3 blocks",
        "20 subsamples (50 % of the rows)",
    ):
        assert words in text
    assert "strong" in trusted._repr_html_()
    assert RuleSet.from_json(trusted.to_json()) == trusted


def test_a_frame_has_what_is_known(trusted: RuleSet) -> None:
    frame = replace(trusted, library="dict").to_frame()
    assert frame["p_value"] == [rule.p_value for rule in trusted]
    assert frame["verdict"] == [
        rule.evidence.verdict.word for rule in trusted if rule.evidence and rule.evidence.verdict
    ]
    assert frame["honest_low"] == [
        rule.evidence.honest.low for rule in trusted if rule.evidence and rule.evidence.honest
    ]
    bare = cr.discover(planted(100), "y", k=1).to_frame()
    assert not {"p_value", "verdict", "e_value", "honest_effect"} & set(bare)


def test_noise_is_not_supported() -> None:
    rules = cr.discover(planted(200, effect=0), "y", control="z", k=1, max_length=2).trust(99, 10, 3)
    verdict = rules[0].evidence.verdict  # type: ignore[union-attr]
    assert verdict is not None
    assert verdict.word == "not supported"
    assert verdict.doubts[0].startswith("p = ")


@pytest.mark.parametrize("control", [(), ("z",)])
@pytest.mark.parametrize("n", [2, 3, 7, 12])
def test_a_tiny_table_is_judged_by_what_can_be_asked_of_it(n: int, control: tuple[str, ...]) -> None:
    columns: dict[str, Any] = {"x": [0, 1] * 6, "z": ["a", "b"] * 6, "y": [0, 1, 1, 0] * 3}
    table = {name: values[:n] for name, values in columns.items() if name != "z" or control}
    rules = cr.discover(table, "y", control=control).trust(19, 5, progress=False)
    for rule in rules:
        assert rule.p_value is not None
        assert rule.evidence is not None
        assert rule.evidence.verdict is not None
        assert rule.evidence.verdict.word != "strong"
        assert (rule.evidence.honest is None) == (n < 10)
    assert any(note.startswith("cross_fit was skipped: splits = 5: the table has only") for note in rules.notes) == (
        n < 10
    )


def test_a_holdout_is_kept() -> None:
    rules = cr.discover(planted(), "y", control="z", k=1, max_length=1, holdout=0.5)
    honest = rules[0].evidence.honest  # type: ignore[union-attr]
    trusted = rules.trust(19, 5)
    assert trusted[0].evidence.honest == honest  # type: ignore[union-attr]
    assert trusted.evidence is not None
    assert trusted.evidence.honest is not None
    assert trusted.evidence.honest.source == "holdout"


GOOD = ev.RuleEvidence(
    honest=ev.HonestEffect(100, 1.0, 0.3, 0.05, 0.2, 0.4, 0.001, 1, 1),
    stability=ev.Stability(0.8, 0.9, ()),
    sensitivity=ev.Sensitivity(2.0, 1.8, 3.4, 3.0, (ev.ControlStrength("z", 2.0, 2.0, 1.8, 0.3),), "…"),
    overlap=ev.Overlap(0, 0, 0.0, 0.3, 0.3, 0.3, 0.3),
)


def changed(**parts: Any) -> ev.RuleEvidence:
    return replace(GOOD, **{name: replace(getattr(GOOD, name), **values) for name, values in parts.items()})


@pytest.mark.parametrize(
    ("evidence", "p_value", "graph", "word", "doubt"),
    [
        (GOOD, 0.05, None, "strong", None),
        (GOOD, 0.01, "admissible", "strong", None),
        (GOOD, 0.06, None, "not supported", "p = 0.06, adjusted for the search"),
        (GOOD, None, None, "suggestive", "not tested against shuffled data"),
        (GOOD, 0.01, "violated", "suggestive", "the input is not admissible by the causal graph"),
        (GOOD, 0.01, "unknown", "suggestive", "leaves open whether the input is admissible"),
        (changed(honest={"low": -0.1}), 0.01, None, "suggestive", "on held-out rows"),
        (changed(honest={"effect": -0.1, "low": -0.2}), 0.01, None, "not supported", "−10.0 points (−20.0 to 40.0)"),
        (changed(honest={"effect": None, "low": None}), 0.01, None, "suggestive", "no difference could be measured"),
        (changed(honest={"overlap": 0.89}), 0.01, None, "suggestive", "only 89 % of the held-out rows"),
        (changed(honest={"overlap": 0.9}), 0.01, None, "strong", None),
        (changed(stability={"nearly": 0.4}), 0.01, None, "suggestive", "40 % of subsamples"),
        (changed(sensitivity={"e_value_limit": 1.7}), 0.01, None, "suggestive", "the strongest control, 'z', has 1.80"),
        (changed(sensitivity={"e_value_limit": 1.0}), 0.01, None, "suggestive", "uncertain without a confounder"),
        (changed(sensitivity={"e_value_limit": 1.4, "controls": ()}), 0.01, None, "suggestive", "1.40"),
        (changed(sensitivity={"e_value_limit": 1.6, "controls": ()}), 0.01, None, "strong", None),
        (changed(overlap={"share": 0.11}), 0.01, None, "suggestive", "11 % of the rows have no comparison group"),
    ],
)
def test_each_doubt_counts(
    evidence: ev.RuleEvidence, p_value: float | None, graph: str | None, word: str, doubt: str | None
) -> None:
    verdict = judge(evidence, p_value, 0.05, graph, None, 10, "difference")
    assert verdict.word == word
    assert (len(verdict.doubts) == 1) == (doubt is not None)
    if doubt is not None:
        assert doubt in verdict.doubts[0]


@pytest.mark.parametrize("graph", ["admissible", "violated", "unknown"])
@pytest.mark.parametrize("identified", [True, False, None])
def test_only_what_is_identified_is_strong(graph: str, identified: bool | None) -> None:
    own = Identification(identified, (), "the path")
    verdict = judge(GOOD, 0.01, 0.05, graph, own, 10, "effect")
    assert (verdict.word == "strong") == (graph == "admissible" and identified is True)
    assert any("back-door test for its own columns: the path" in doubt for doubt in verdict.doubts) != bool(own)


def test_few_rows_on_one_side_are_a_doubt() -> None:
    verdict = judge(GOOD, 0.01, 0.05, None, None, 9, "difference")
    assert (verdict.word, verdict.doubts) == ("suggestive", ("one side of the comparison has 9 rows",))
    columns = {"x": ["a"] * 8 + ["b"] * 192, "y": [1] * 8 + [0] * 192}
    for rule in cr.discover(columns, "y", k=2).trust(19, 3, 2):
        assert rule.evidence is not None
        assert rule.evidence.verdict is not None
        assert "one side of the comparison has 8 rows" in rule.evidence.verdict.doubts


@pytest.mark.parametrize(
    ("status", "noun"), [(None, "difference"), ("violated", "association"), ("admissible", "effect")]
)
def test_the_evidence_is_named_as_the_graph_allows(trusted: RuleSet, status: str | None, noun: str) -> None:
    from causalrules.report import sections
    from causalrules.report import trust_words as wording

    rules = replace(trusted, admissibility=None if status is None else admissibility(status))
    assert f"{noun} 4" in wording.of_rule(rules[0], rules)
    said = repr([*sections.of_result(rules), *sections.of_rule(rules[0], rules)])
    assert f"{noun} on held-out rows" in said
    assert f"{noun} without it" in said


numbers = st.none() | st.floats(allow_nan=False, allow_infinity=False)
table = st.tuples(*[st.integers(0, 10**9)] * 4)
honest_effects = st.builds(
    ev.HonestEffect,
    n_rows=st.integers(0, 10**9),
    overlap=st.floats(0, 1),
    effect=numbers,
    standard_error=numbers,
    low=numbers,
    high=numbers,
    p_value=numbers,
    found=st.integers(0, 9),
    splits=st.integers(1, 9),
    counts=st.lists(table, max_size=3).map(tuple),
)


@given(st.builds(ev.RuleEvidence, honest=st.none() | honest_effects, verdict=st.none() | st.from_type(ev.Verdict)))
def test_evidence_survives_json(evidence: ev.RuleEvidence) -> None:
    assert from_json(ev.RuleEvidence, json.loads(json.dumps(to_json(evidence))), "evidence") == evidence


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.data())
def test_spoilt_evidence_is_an_error_in_words(trusted: RuleSet, data: st.DataObject) -> None:
    payload = json.loads(trusted.to_json())
    place = payload["rules"][0]["evidence"] if data.draw(st.booleans()) else payload["evidence"]
    while isinstance(place, (dict, list)) and place:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], (dict, list)) or not place[key] or data.draw(st.booleans()):
            place[key] = data.draw(json_values)
            break
        place = place[key]
    with contextlib.suppress(DataError):
        RuleSet.from_json(json.dumps(payload))


def command(folder: Path, columns: dict[str, Any], *words: str) -> Any:
    file = folder / "data.csv"
    rows = zip(*columns.values(), strict=True)
    file.write_text("\n".join(",".join(map(str, row)) for row in [tuple(columns), *rows]))
    arguments = ["discover", str(file), "--target", "y", "--control", "z", "-k", "1", "--max-length", "1", *words]
    return CliRunner().invoke(cli, arguments)


def test_the_command_line_asks_for_it(tmp_path: Path) -> None:
    columns = planted(300)
    question: dict[str, Any] = {"target": "y", "control": "z", "k": 1, "max_length": 1}
    judged = command(tmp_path, columns, "--permutations", "19", "--seed", "3", "--format", "json", "--quiet")
    expected = cr.discover(columns, **question).significance(19, 3)
    assert [rule.p_value for rule in RuleSet.from_json(judged.stdout)] == [rule.p_value for rule in expected]
    honest = command(tmp_path, columns, "--holdout", "0.5", "--seed", "3", "--format", "json", "--quiet")
    halves = cr.discover(columns, **question, holdout=0.5, seed=3)
    assert [rule.evidence for rule in RuleSet.from_json(honest.stdout)] == [rule.evidence for rule in halves]
    second = command(tmp_path, columns, "--holdout", str(tmp_path / "data.csv"), "--format", "json", "--quiet")
    twice = cr.discover(columns, **question, holdout=columns)
    assert [rule.evidence for rule in RuleSet.from_json(second.stdout)] == [rule.evidence for rule in twice]
    calibrated = command(tmp_path, columns, "--beta", "calibrated", "--format", "json", "--quiet")
    assert RuleSet.from_json(calibrated.stdout).evidence == cr.discover(columns, **question, beta="calibrated").evidence
    everything = command(tmp_path, columns, "--trust", "--permutations", "19", "--holdout", "0.5")
    assert everything.exit_code == 0
    assert "1: strong: difference" in everything.stdout


def test_the_command_line_names_what_is_wrong(tmp_path: Path) -> None:
    for words, message in (
        (["--permutations", "0"], "permutations 0: give a whole number"),
        (["--holdout", "1.5"], "holdout 1.5: give a number between 0 and 1"),
        (["--holdout", "other.csv"], "other.csv"),
        (["--beta", "calibrated", "--estimator", "wracc"], "'wracc' has no β"),
    ):
        result = command(tmp_path, planted(100), *words)
        # An option out of its range is wrong usage; a file that is not there is not.
        assert result.exit_code == (1 if "csv" in message else 2)
        assert message in result.stderr.replace(" = ", " ")
    assert command(tmp_path, planted(100), "--beta", "high").exit_code == 2


def test_the_report_shows_the_evidence(trusted: RuleSet) -> None:
    page = trusted.to_html()
    for words in (
        "<h2>Trust</h2>",
        "Verdict: strong",
        "Unmeasured confounding",
        "Conditions that reappear",
        "The differences on searched rows and on held-out rows.",
        "Unmeasured confounders above the lines",
    ):
        assert words in page
    plain = cr.discover(planted(), "y", control="z", k=2, max_length=2).to_html()
    assert "<h2>Trust</h2>" not in plain


def test_plots_show_the_numbers(trusted: RuleSet) -> None:
    from matplotlib.figure import Figure

    honest = trusted.plot("honest", Figure().add_subplot()).plotted
    evidence = [rule.evidence for rule in trusted if rule.evidence is not None]
    assert honest["honest_effect"].tolist() == [each.honest.effect for each in evidence if each.honest]
    assert honest["honest_low"].tolist() == [each.honest.low for each in evidence if each.honest]
    bias = trusted.plot("bias", Figure().add_subplot())
    found = evidence[0].sensitivity
    assert found is not None
    assert bias.plotted["e_value"] == found.e_value
    for line, ratio in zip(bias.lines, (found.risk_ratio, found.limit), strict=False):
        r, s = line.get_data()
        assert r * s / (r + s - 1) == pytest.approx(np.full(len(r), ratio))
    stability = trusted.plot("stability", Figure().add_subplot()).plotted
    assert trusted.evidence is not None
    assert trusted.evidence.stability is not None
    assert stability["share"].tolist() == [each.share for each in trusted.evidence.stability.conditions]
    bare = cr.discover(planted(), "y", control="z", k=1, max_length=1)
    for kind, fix in (("honest", "cross_fit"), ("bias", "sensitivity"), ("stability", "stability")):
        with pytest.raises(OptionError, match=fix):
            bare.plot(kind, Figure().add_subplot())


def test_the_command_line_hands_on_the_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []
    for name in ("trust", "significance"):
        monkeypatch.setattr(
            RuleSet,
            name,
            lambda rules, *_, time_limit, **__: limits.append(time_limit) or rules,  # type: ignore[func-returns-value]
        )
    for words in (["--trust"], ["--permutations", "9"]):
        result = command(tmp_path, planted(100), *words, "--time-limit", "30")
        assert result.exit_code == 0, result.output
    assert limits == [30, 30]
