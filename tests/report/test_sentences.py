"""The sentences of a report claim no more than the verdict and the evidence."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

import causalrules as cr
from causalrules.report import result_words, rule_words, view
from reports import passengers, plain
from rulesets import admissibility, rule_set, women_of_two_classes
from strategies import RELIABLE

CAUSAL = re.compile(r"\b(bring|cause|raise|effect(?!ive)|would)", re.IGNORECASE)
VERDICTS = [None, admissibility("violated"), admissibility("unknown")]


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize("beta", [0.0, 2.0, 50.0])
def test_no_causal_word_without_an_admissible_graph(verdict: Any, beta: float) -> None:
    rules = cr.discover(passengers(), "survived", control="sex", k=3, beta=beta)
    rules = dataclasses.replace(rules, admissibility=verdict)
    for rule in rules:
        assert not CAUSAL.search(" ".join(rule_words.reading(rule, rules)))
    if beta != 2.0:
        return
    page = rules.to_html()
    found = re.search(r"<h2>Rules</h2>.*?<h2>", page, re.DOTALL)
    assert found
    words = re.sub(r"<[^>]*>", " ", found[0])
    # only the warning that nothing was found calls the number by its name
    assert not CAUSAL.search(words.replace(result_words.warning(rules) or "no warning", ""))


def test_an_admissible_graph_lets_the_report_speak_of_bringing_about() -> None:
    graph = "dag {size -> treatment size -> success treatment -> success}"
    verdict = cr.check(graph, target="success", actionable=["treatment"], control=["size"])
    rules = cr.discover(cr.datasets.kidney_stones(), "success", control="size", beta=0.0)
    page = dataclasses.replace(rules, admissibility=verdict).to_html()
    assert "Bringing about treatment = A is estimated to raise the probability of success = 1 by 5.4 points" in page
    assert "with the opposite sign (Simpson&#39;s paradox)" in page
    assert "The causal graph is admissible" in page


def test_readings_give_the_numbers_of_the_rule() -> None:
    rules = rule_set(women_of_two_classes(), admissibility=admissibility("admissible"))
    first, second = rule_words.reading(rules[0], rules)
    assert first == (
        "Bringing about class ≤ 2 and sex = female is estimated to raise the probability of survived = 1 by 69.6 "
        "points, unadjusted; conservative estimate 57.7 points (β = 2), not adjusted for the search."
    )
    assert second == (
        "Effect: 69.6 points; 94.7 % where the rule holds instead of 25.1 %. 95 % interval of a rule fixed in advance, "
        "ignoring how many rules were tried: 64.0 to 73.5. The rule covers 170 rows (19.1 %)."
    )


def test_the_headline_follows_the_evidence() -> None:
    strong = cr.discover(passengers(), "survived", k=1).significance(19)
    (headline, *_) = rule_words.reading(strong[0], strong)
    assert headline.endswith("; p ≤ 0.050, adjusted for the search.")
    none = cr.discover(cr.datasets.kidney_stones(), "success", control="size", k=1, **RELIABLE).significance(19)
    assert none[0].p_value is not None
    (headline, *_) = rule_words.reading(none[0], none)
    p = f"p ≈ {none[0].p_value:.2g}, adjusted for the search (stopped early: already above 0.05)"
    assert headline.startswith(f"Not supported: {p}. Where")
    assert headline.endswith("no conservative estimate beyond 0 (β = 2).")
    judged = none.trust(19, 2, 2)
    assert plain(judged.to_html()).count("Not supported: p") == 2  # in the reading, and as the answer


def test_a_calibrated_beta_is_told_by_what_it_promises() -> None:
    rules = cr.discover(passengers(), "survived", k=1, beta="calibrated")
    promise = "calibrated: on shuffled data the best rule exceeds 0 in at most 5 % of tables"
    (headline, *_) = rule_words.reading(rules[0], rules)
    assert promise in headline
    assert "not adjusted for the search" not in headline
    page = rules.to_html()
    assert f"<dt>β</dt><dd><bdi>{rules.question.beta:g}, {promise}" in page
    assert "onfidence 9" not in page


def test_nothing_is_said_of_a_search_where_rules_were_named() -> None:
    named = view.view(cr.evaluate(passengers(), "class = 3", "survived").significance(19, n_jobs=1))
    assert (named.list, named.p) == ("Rules", "p: adjusted for the number of rules")
    assert "search" not in named.meaning
    assert "Maximised" not in dict(named.asked)
    chance = view.view(cr.evaluate(passengers(), "age >= 30", "survived", control="sex"))
    assert chance.warning.startswith("age ≥ 30: difference ")
    assert chance.warning.endswith(" of 891 rows. p = 0.535 (at most 0.05 needed).")
    searched = view.view(cr.discover(passengers(), "survived", actionable="parch", k=1).significance(19, n_jobs=1))
    assert searched.p == "p: adjusted for the search"
    assert "allowing for how many rules were tried" in searched.meaning
    assert "were tried" not in chance.meaning


def test_the_report_says_once_what_its_bounds_are_good_for_and_adjusts_for_nothing_without_controls() -> None:
    page = plain(cr.discover(passengers(), "survived", k=2, stepwise=False).to_html())
    assert page.count("confidence for all rules of the list together") == 1
    assert "the numbers are differences, unadjusted, and not effects" in page
    said = page.replace("not adjusted for the search", "").replace("adjusted for nothing", "").replace("unadjusted", "")
    style = re.search(r"<style>.*?</style>", said, re.DOTALL)
    assert style is not None
    for found in re.findall(r".{30}[^_]adjusted.{20}", said.replace(style[0], "")):
        pytest.fail(f"nothing was adjusted: {found}")
    assert '<th scope="col">difference</th>' in page
