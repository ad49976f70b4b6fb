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
from causalrules.language.propositions import Proposition
from causalrules.payload import from_json, to_json
from causalrules.result import evidence as ev
from causalrules.result.rule import RuleResult
from causalrules.result.verdict import CLAIMS, EVIDENCE, Circumstances, judge
from causalrules.rules import RuleSet
from causalrules.text import p_number
from rulesets import admissibility, rows_of


def planted(n: int = 800, effect: float = 0.5, seed: int = 0) -> dict[str, Any]:
    """Draw a table: x0 above a cut point near 0.6 raises the outcome; the rest is noise."""
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


def test_stability_shares_equal_recounted_ones() -> None:
    """Recounts the shares from the samples."""
    from causalrules.trust import repeat
    from causalrules.trust.resample import subsample

    rules = cr.discover(planted(300, 0.2), "y", control="z", k=4, max_length=2, stepwise=False)
    found = rules.stability(12, seed=7)
    propositions = rows_of(rules).language.propositions
    lists = []
    for place in range(12):
        sample = subsample(rows_of(rules), 0.5, repeat.generator(7, "sample", place))
        assert sample.n_rows == pytest.approx(150, abs=1)
        again = repeat.Searcher().listed(sample, rules.question, k=10)
        lists.append([[propositions[number] for number in listed.conditions] for listed in again])
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
        assert (float(condition.low), float(condition.high)) == (min(cuts), max(cuts))  # 5 % of 12 rounds to 0
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
        (rule,) = rules.trust(19, 20, 2)[:1]
        assert rule.evidence is not None
        judged.add((rule.text, rule.verdict, rule.evidence.stability))
    assert len(judged) == 1


def test_options_are_checked() -> None:
    rules = cr.discover(planted(100), "y", k=1)
    with pytest.raises(OptionError, match="'subsample' or 'bootstrap'"):
        rules.stability(method="jackknife")
    with pytest.raises(OptionError, match="share = 2"):
        rules.stability(share=2)
    with pytest.raises(DataError, match="stability searches the data again"):
        RuleSet.from_json(rules.to_json()).stability()


def test_all_checks_at_once(trusted: RuleSet) -> None:
    first = trusted[0]
    evidence = first.evidence
    assert evidence is not None
    verdict = first.verdict
    assert (verdict.evidence, verdict.direction, verdict.claim) == ("supported", "raises", "unchecked")
    assert verdict.basis == "permutations"
    assert not verdict.doubts
    assert not verdict.strong  # no rule is strong without a graph
    assert len(verdict.reasons) == 5
    assert first.p_value == pytest.approx(0.01)
    text = " ".join(str(trusted).split())
    for words in (
        " supported ",
        "on held-out rows",
        f" {p_number(first.p_value)} ",
        f" {verdict.robustness:.2f} ",
        "E-value",
        "evidence rests on p, adjusted for the search",
        "reappears",
    ):
        assert words in text
    assert text.count("No causal graph given") == 1
    assert "Strong causal" not in text
    assert "supported" in trusted._repr_html_()
    assert RuleSet.from_json(trusted.to_json()) == trusted


def test_a_frame_has_what_is_known(trusted: RuleSet) -> None:
    frame = replace(trusted, library="dict").to_frame()
    assert frame["p_value"] == [rule.p_value for rule in trusted]
    for name in ("evidence", "direction", "claim"):
        assert frame[name] == [getattr(rule.verdict, name) for rule in trusted]
    assert frame["honest_low"] == [
        rule.evidence.honest.low for rule in trusted if rule.evidence and rule.evidence.honest
    ]
    bare = cr.discover(planted(100), "y", k=1).to_frame()
    assert not {"p_value", "robustness", "e_value", "honest_effect"} & set(bare)
    assert {"evidence", "direction", "claim"} <= set(bare)


def test_noise_is_not_supported() -> None:
    asked: dict[str, Any] = {"control": "z", "k": 1, "max_length": 2, "min_coverage": 0.2}
    rules = cr.discover(planted(200, effect=0), "y", **asked).trust(99, 10, 3)
    verdict = rules[0].verdict
    assert (verdict.evidence, verdict.basis) == ("not supported", "permutations")
    assert verdict.doubts[0].startswith("p ≈ ")


@pytest.mark.parametrize("control", [(), ("z",)])
@pytest.mark.parametrize("n", [2, 3, 7, 12])
def test_a_tiny_table_is_judged_by_the_possible_checks(n: int, control: tuple[str, ...]) -> None:
    columns: dict[str, Any] = {"x": [0, 1] * 6, "z": ["a", "b"] * 6, "y": [0, 1, 1, 0] * 3}
    table = {name: values[:n] for name, values in columns.items() if name != "z" or control}
    rules = cr.discover(table, "y", control=control).trust(19, 5, progress=False)
    for rule in rules:
        assert rule.p_value is not None
        assert rule.evidence is not None
        assert rule.verdict.evidence == "cannot tell"
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
)
TESTED = Circumstances()
BY_MARGIN = Circumstances(guaranteed=True)


def changed(**parts: Any) -> ev.RuleEvidence:
    return replace(GOOD, **{name: replace(getattr(GOOD, name), **values) for name, values in parts.items()})


def of_counts(*tables: tuple[int, int, int, int], evidence: ev.RuleEvidence | None = GOOD, **more: Any) -> RuleResult:
    """Return a rule with these counts in its strata, whose margin is for the number of rules."""
    a, b, c, d = np.array(tables).T
    labels = [{"z": str(place)} for place in range(len(tables))]
    rule = RuleResult.from_counts([Proposition("x", "=", 1)], a, b, c, d, labels, 4.0, "pooled")
    return replace(
        rule,
        criterion=replace(
            rule.criterion, by_length=True, **{name: more.pop(name) for name in ("decrease",) if name in more}
        ),
        evidence=evidence,
        **more,
    )


LARGE, WEAK, NEGATIVE = (80, 20, 20, 80), (35, 65, 25, 75), (20, 80, 80, 20)


@pytest.mark.parametrize(
    ("rule", "known", "word", "basis", "doubt"),
    [
        (of_counts(LARGE, evidence=None), BY_MARGIN, "supported", "margin", None),
        (
            of_counts(WEAK, evidence=None),
            BY_MARGIN,
            "not supported",
            "margin",
            "not beyond 0; permutations are sharper",
        ),
        (of_counts(LARGE, evidence=None), TESTED, "cannot tell", "nothing", "not tested"),
        (of_counts(LARGE), TESTED, "supported", "held-out rows", None),
        (
            of_counts(LARGE, evidence=changed(honest={"p_value": 0.2})),
            TESTED,
            "not supported",
            "held-out rows",
            "p = 0.2",
        ),
        (of_counts(WEAK), BY_MARGIN, "not supported", "margin", "not beyond 0"),
        (of_counts(LARGE, p_value=0.05), TESTED, "supported", "permutations", None),
        (of_counts(WEAK, p_value=0.01), BY_MARGIN, "supported", "permutations", None),
        (of_counts(LARGE, p_value=0.06), TESTED, "not supported", "permutations", "p = 0.060, adjusted for the search"),
        (of_counts(LARGE, p_value=0.06), BY_MARGIN, "supported", "margin", None),
        (
            of_counts(LARGE, p_value=0.06),
            replace(TESTED, fixed=2),
            "not supported",
            "test",
            "p = 0.060, adjusted for the number of rules",
        ),
        (of_counts(NEGATIVE, p_value=1.0), TESTED, "not supported", "permutations", "not for rules that lower it"),
        (of_counts((19, 0, 20, 80), p_value=0.01), TESTED, "cannot tell", "overlap", "has 19 rows, 20 needed"),
        (of_counts((10, 9, 20, 80), p_value=0.2), TESTED, "cannot tell", "overlap", "has 19 rows"),
        (of_counts((20, 0, 20, 80), p_value=0.01), TESTED, "supported", "permutations", None),
        (of_counts(LARGE, (0, 0, 90, 110), p_value=0.01), TESTED, "supported", "permutations", None),
        (of_counts(LARGE, (0, 0, 90, 111), p_value=0.01), TESTED, "cannot tell", "overlap", "50 % of the rows have no"),
        (of_counts((40, 60, 0, 0), p_value=1.0), TESTED, "cannot tell", "overlap", "there is no row to compare with"),
        (of_counts((0, 0, 40, 60), p_value=1.0), TESTED, "cannot tell", "overlap", "no row satisfies it"),
    ],
)
def test_the_verdict_rests_on_one_criterion(
    rule: RuleResult, known: Circumstances, word: str, basis: str, doubt: str | None
) -> None:
    verdict = judge(rule, known)
    assert (verdict.evidence, verdict.basis) == (word, basis)
    assert (verdict.doubts == ()) == (doubt is None)
    assert set(verdict.doubts) <= set(verdict.reasons)
    if doubt is not None:
        assert doubt in verdict.doubts[0]
    assert verdict.evidence in EVIDENCE
    assert verdict.claim in CLAIMS


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        (GOOD, "30.0 points (20.0 to 40.0); 90 % of subsamples find it or nearly the same rule"),
        (changed(honest={"low": -0.1}), "30.0 points (−10.0 to 40.0)"),
        (changed(honest={"effect": -0.1, "low": -0.2, "high": 0.1}), "−10.0 points (−20.0 to 10.0)"),
        (changed(honest={"effect": -0.3, "low": -0.4, "high": -0.2}), "−30.0 points (−40.0 to −20.0)"),
        (changed(honest={"effect": None, "low": None}), "no difference could be measured on held-out rows"),
        (changed(honest={"overlap": 0.49}), "30.0 points (20.0 to 40.0), for 49 % of them"),
        (changed(honest={"found": 0, "alike": 1}), "30.0 points (20.0 to 40.0); 90 % of subsamples"),
        (changed(stability={"nearly": 0.4}), "40 % of subsamples find it or nearly the same rule"),
    ],
)
def test_held_out_rows_and_subsamples_are_reported_without_effect_on_the_verdict(
    evidence: ev.RuleEvidence, said: str
) -> None:
    for rule in (of_counts(LARGE, evidence=evidence, p_value=0.01), of_counts(LARGE, evidence=evidence)):
        verdict = judge(rule, BY_MARGIN)
        assert verdict.evidence == "supported"
        assert verdict.doubts == ()
        assert said in "; ".join(verdict.reasons)
    weak = judge(of_counts(WEAK, evidence=evidence), BY_MARGIN)
    assert weak.evidence == "not supported"
    # the mirror image: the same word for a rule that lowers the outcome
    honest = evidence.honest
    assert honest is not None
    ends = [None if end is None else -end for end in (honest.effect, honest.high, honest.low)]
    mirrored = replace(evidence, honest=replace(honest, effect=ends[0], low=ends[1], high=ends[2]))
    lowers = judge(of_counts(NEGATIVE, evidence=mirrored, p_value=0.01, decrease=True), BY_MARGIN)
    assert (lowers.evidence, lowers.direction) == ("supported", "lowers")


@pytest.mark.parametrize("graph", [None, "admissible", "violated", "unknown"])
@pytest.mark.parametrize("identified", [True, False, None, "no graph"])
@pytest.mark.parametrize("randomised", [(), ("x",), ("other",)])
@pytest.mark.parametrize("p_value", [0.01, 0.5])
def test_only_supported_effects_by_design_or_by_the_graph_are_strong(
    graph: str | None, identified: Any, randomised: tuple[str, ...], p_value: float
) -> None:
    own = None if identified == "no graph" else Identification(identified, ("x", "<-", "u"), "the path")
    rule = of_counts(LARGE, p_value=p_value, identification=own)
    verdict = judge(rule, Circumstances(randomised=randomised, graph=graph))
    if randomised == ("x",) and identified is not False:
        claim = "by design"
    elif identified == "no graph":
        claim = {None: "unchecked", "admissible": "identified"}.get(graph, "not identified")
    else:
        claim = "identified" if identified is True else "not identified"
    assert verdict.claim == claim
    assert verdict.strong == (claim in ("by design", "identified") and p_value == 0.01)
    # The claim does not depend on the evidence, nor the evidence on the claim.
    assert verdict.evidence == ("supported" if p_value == 0.01 else "not supported")


def test_a_rule_is_by_design_only_if_all_of_its_columns_are_randomised() -> None:
    columns = planted()
    columns["y"] = ((columns["x0"] >= 0.6) & (columns["x1"] >= 0.3)).astype(int)
    rules = cr.discover(columns, "y", control="z", randomised="x0", k=20, max_length=2, stepwise=False)
    seen = set()
    for rule in rules:
        own = {condition.column for condition in rule.conditions}
        assert (rule.verdict.claim == "by design") == (own == {"x0"})
        seen.add(rule.verdict.claim)
        assert rule.verdict.strong == (rule.verdict.claim == "by design" and rule.verdict.evidence == "supported")
    assert seen == {"by design", "unchecked"}
    assert rules.noun == "difference"
    text = " ".join(str(rules).split())
    assert "By design: rules 9 and 17 (x0 is declared randomised, given the controls; balanced in z)" in text
    assert text.count("No causal graph given: the others are associations") == 1
    both: dict[str, Any] = {"actionable": ["x0", "x1"], "randomised": ["x0", "x1"]}
    every = cr.discover(columns, "y", control="z", k=2, stepwise=False, **both)
    assert all(rule.verdict.strong for rule in every)
    assert "Strong causal evidence (supported, and by design): rules 1 and 2" in " ".join(str(every).split())
    assert "No causal graph" not in str(every)
    assert every.noun == "effect"
    again = RuleSet.from_json(every.to_json())
    assert [rule.verdict for rule in again] == [rule.verdict for rule in every]


@pytest.mark.parametrize(
    ("randomised", "message"),
    [("q", "no column 'q'"), ("z", "column 'z' is a control; name actionable"), ("y", "column 'y' is the target")],
)
def test_randomised_columns_are_actionable(randomised: str, message: str) -> None:
    with pytest.raises(cr.CausalRulesError, match=message):
        cr.discover(planted(50), "y", control="z", randomised=randomised)


@pytest.mark.parametrize("estimator", ["pooled", "reliable"])
def test_only_the_margin_for_the_number_of_rules_or_a_calibrated_one_is_evidence(estimator: str) -> None:
    options: dict[str, Any] = {"control": "z", "k": 1, "max_length": 1, "estimator": estimator}
    own = cr.discover(planted(), "y", beta=2.0, **options)[0].verdict
    assert (own.evidence, own.basis) == ("cannot tell", "nothing")
    calibrated = cr.discover(planted(), "y", beta="calibrated", **options)[0].verdict
    assert (calibrated.evidence, calibrated.basis) == ("supported", "margin")
    assert "by a margin from shuffled outcomes" in calibrated.reasons[0]
    # A margin for an error rate of 20 % is no evidence at 5 %.
    loose = cr.discover(planted(), "y", error_rate=0.2, **(options | {"estimator": "pooled"}))
    assert loose[0].verdict.evidence == "supported"
    assert "at most 20 %" in loose[0].verdict.reasons[0]
    strict = loose.significance(9, level=0.05)
    assert strict[0].p_value == 0.1
    assert strict[0].verdict.evidence == "not supported"


def test_files_of_the_first_schema_are_read_and_judged_again(trusted: RuleSet) -> None:
    payload = json.loads(trusted.to_json())
    assert payload["schema"] == "causalrules/3"
    assert payload["rules"][0]["verdict"]["evidence"] == "supported"
    assert payload["rules"][0]["verdict"]["strong"] is False
    payload["schema"] = "causalrules/1"
    del payload["question"]["randomised"]
    for rule in payload["rules"]:
        del rule["verdict"]
        rule["evidence"]["verdict"] = {"word": "strong", "supports": ["…"], "doubts": []}
        del rule["evidence"]["sensitivity"]["gamma"], rule["evidence"]["sensitivity"]["gamma_limit"]
    old = RuleSet.from_json(json.dumps(payload))
    assert [rule.verdict.evidence for rule in old] == [rule.verdict.evidence for rule in trusted]
    payload["schema"] = "causalrules/4"
    with pytest.raises(DataError, match="this version reads 'causalrules/1', 'causalrules/2', 'causalrules/3'"):
        RuleSet.from_json(json.dumps(payload))


@pytest.mark.parametrize(
    ("status", "noun"), [(None, "difference"), ("violated", "association"), ("admissible", "effect")]
)
def test_the_evidence_is_named_as_the_graph_allows(trusted: RuleSet, status: str | None, noun: str) -> None:
    from causalrules.report import sections

    rules = replace(trusted, admissibility=None if status is None else admissibility(status))
    said = repr([*sections.of_result(rules), *sections.of_rule(rules[0], rules)])
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


@given(st.builds(ev.RuleEvidence, honest=st.none() | honest_effects))
def test_evidence_survives_json(evidence: ev.RuleEvidence) -> None:
    assert from_json(ev.RuleEvidence, json.loads(json.dumps(to_json(evidence))), "evidence") == evidence


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.data())
def test_corrupted_evidence_is_a_clear_error(trusted: RuleSet, data: st.DataObject) -> None:
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


def test_the_command_line_runs_the_checks(tmp_path: Path) -> None:
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
    assert " supported" in everything.stdout
    assert "Trust" in everything.stdout


def test_the_command_line_names_what_is_wrong(tmp_path: Path) -> None:
    for words, message in (
        (["--permutations", "0"], "permutations 0: give a whole number"),
        (["--holdout", "1.5"], "holdout 1.5: give a number between 0 and 1"),
        (["--holdout", "other.csv"], "other.csv"),
        (["--beta", "calibrated", "--estimator", "wracc"], "'wracc' has no β"),
    ):
        result = command(tmp_path, planted(100), *words)
        # An option out of range is a usage error; a missing file is not.
        assert result.exit_code == (1 if "csv" in message else 2)
        assert message in result.stderr.replace(" = ", " ")
    assert command(tmp_path, planted(100), "--beta", "high").exit_code == 2


def test_the_report_shows_the_evidence(trusted: RuleSet) -> None:
    page = trusted.to_html()
    for words in (
        "Trust",
        "supported",
        "unchecked",
        "Unmeasured confounding",
        "Conditions that reappear",
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
