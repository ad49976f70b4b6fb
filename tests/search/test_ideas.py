"""Lists of different rules, fronts and neighbourhoods, found inside the search, against the brute force."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from coded import CodedTable, agree, in_parts, pack, possible, run
from strategies import coded_questions, coded_tables, examples

similarities = st.sampled_from([0.2, 0.25, 1 / 3, 0.5, 0.5, 0.6, 2 / 3, 0.8, 1.0]) | st.floats(0.2, 1)


def ordered(coded: CodedTable, question: dict[str, Any]) -> list[oracle.CodedRule]:
    """Every rule that the question allows, best first."""
    table, levels, n_strata = coded
    about_rules = {name: question[name] for name in ("estimator", "beta", "max_length", "margin_scale")}
    rules = oracle.coded_rules(table, n_strata=n_strata, n_levels=len(levels), **about_rules)
    about_list = {name: question[name] for name in ("min_rows", "redundant")}
    kept = oracle.coded_top_k(table, rules, k=len(rules), **about_list)
    return [rule for rule in kept if rule.value >= question["floor"]]


@settings(max_examples=examples(150, 400), deadline=None)
@given(coded_tables(), coded_questions(), similarities, st.integers(1, 2))
def test_a_list_of_different_rules_is_the_greedy_one(
    coded: CodedTable, question: dict[str, Any], similarity: float, threads: int
) -> None:
    question = possible(question, coded[1])
    expected = oracle.coded_different(coded[0], ordered(coded, question), k=question["k"], similarity=similarity)
    question |= {"wanted": "different", "similarity": similarity}
    agree(run(pack(coded), question, threads), expected)


@settings(max_examples=60, deadline=None)
@given(coded_tables(), coded_questions(), similarities, st.integers(1, 3))
def test_rows_in_parts_give_the_same_list(
    coded: CodedTable, question: dict[str, Any], similarity: float, n_parts: int
) -> None:
    question = possible(question, coded[1])
    expected = oracle.coded_different(coded[0], ordered(coded, question), k=question["k"], similarity=similarity)
    question |= {"wanted": "different", "similarity": similarity}
    agree(run(in_parts(coded, n_parts), question), expected)


@settings(max_examples=60, deadline=None)
@given(coded_tables(), coded_questions(), similarities)
def test_a_list_goes_on_from_where_it_was_saved(coded: CodedTable, question: dict[str, Any], similarity: float) -> None:
    question = possible(question, coded[1])
    expected = oracle.coded_different(coded[0], ordered(coded, question), k=question["k"], similarity=similarity)
    question |= {"wanted": "different", "similarity": similarity}
    packed = pack(coded)
    search = packed.search(**question)
    for attempt in range(1, 1000):
        if search.step(1e-5 * attempt, 1).done:
            break
        saved = search.save()
        search = packed.search(**question)
        search.restore(saved)
    agree(search.rules(), expected)


@settings(max_examples=60, deadline=None)
@given(coded_tables(), coded_questions(), similarities, st.integers(1, 3))
def test_a_list_can_be_continued_from_given_leaders(
    coded: CodedTable, question: dict[str, Any], similarity: float, n_given: int
) -> None:
    question = possible(question, coded[1])
    rules = ordered(coded, question)
    # Not the best ones: any rules can be given.
    leaders = rules[1::2][:n_given]
    if not leaders:
        return
    expected = oracle.coded_different(coded[0], rules, k=question["k"], similarity=similarity, leaders=leaders)
    given_rules = [rule.conditions for rule in leaders]
    question |= {"wanted": "different", "similarity": similarity, "leaders": given_rules}
    agree(run(pack(coded), question), expected)


@settings(max_examples=examples(75, 150), deadline=None)
@given(coded_tables(), coded_questions(), st.integers(1, 2))
def test_the_front_has_the_best_rule_for_every_coverage(
    coded: CodedTable, question: dict[str, Any], threads: int
) -> None:
    question = possible(question, coded[1]) | {"k": 1000}
    expected = oracle.coded_front(coded[0], ordered(coded, question))
    agree(run(pack(coded), question | {"wanted": "wider"}, threads), expected)


@settings(max_examples=examples(75, 150), deadline=None)
@given(coded_tables(), coded_questions(), similarities, st.data())
def test_a_neighbourhood_has_the_best_near_duplicates(
    coded: CodedTable, question: dict[str, Any], similarity: float, data: st.DataObject
) -> None:
    question = possible(question, coded[1])
    rules = ordered(coded, question)
    if not rules:
        return
    leader, *others = data.draw(st.lists(st.sampled_from(rules), min_size=1, max_size=3))
    expected = oracle.coded_near(coded[0], rules, leader, others, k=question["k"], similarity=similarity)
    leaders = [rule.conditions for rule in (leader, *others)]
    question |= {"wanted": "near", "similarity": similarity, "leaders": leaders}
    agree(run(pack(coded), question), expected)
