"""Different rules, the front of value and coverage, and variants of a rule, by searching a result's rows again."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from causalrules.question import MOST_RULES, default
from causalrules.result.rule import Variant, rule_results
from causalrules.result.similarity import require_rows
from causalrules.search import run as search
from causalrules.search.nearest import nearest, ratio_of
from causalrules.search.similarity import SIMILARITY, Coverage
from causalrules.trust.evidence import SearchEvidence

if TYPE_CHECKING:
    from causalrules.question import Question
    from causalrules.result.rule import RuleResult
    from causalrules.result.rules import RuleSet
    from causalrules.search.run import Found

MOST_VARIANTS = 5
# The core compares values to this.
_TIED = 2.0**-36
# What near-duplicates share at least, where the list may hold them.
DEFAULT: float = default("similarity")


def ideas(rules: RuleSet, k: int | None = None, similarity: float = 0.5, time_limit: float | None = None) -> RuleSet:
    """Search for k rules of which none is a near-duplicate of a better one."""
    question = replace(
        rules.question,
        k=rules.question.k if k is None else k,
        similarity=SIMILARITY("similarity", similarity),
    )
    return _searched(rules, question, "different", time_limit)


def frontier(rules: RuleSet, time_limit: float | None = None) -> RuleSet:
    """Search for the best rule of every coverage."""
    front = _searched(rules, replace(rules.question, k=MOST_RULES), "wider", time_limit)
    # Of rules of the same value, the one that covers most comes last.
    least = _TIED * require_rows(rules, "search again").comparison.scale
    following = (*front.rules[1:], None)
    kept = [
        rule for rule, wider in zip(front, following, strict=True) if wider is None or rule.value - wider.value > least
    ]
    note = "the front: each rule is the best of those that cover more rows than the rules before it"
    question = replace(rules.question, k=max(len(kept), 1), similarity=None)
    return replace(front, rules=tuple(kept), question=question, notes=(*rules.notes, note))


def variants(rules: RuleSet, rule: RuleResult) -> tuple[Variant, ...]:
    """Search for the strongest near-duplicates of a rule that are not those of a rule before it."""
    problem = require_rows(rules, "search again")
    similarity = DEFAULT if rules.question.similarity is None else rules.question.similarity
    question = replace(rules.question, k=MOST_VARIANTS, similarity=similarity)
    packed = problem.pack()
    before = next((place for place, other in enumerate(rules) if other.text == rule.text), 0)
    leaders = [problem.language.numbers(each.conditions) for each in (rule, *rules[:before])]
    found = search.run(packed, question, problem.n_rows, wanted="near", leaders=leaders)
    coverage = Coverage.of_conditions(packed, [leaders[0], *(conditions for _, conditions in found.rules)])
    return tuple(
        Variant(replace(each, circumstances=rule.circumstances), coverage.shared(0, place))
        for place, each in enumerate(rule_results(problem, packed, question, found), 1)
    )


def _searched(rules: RuleSet, question: Question, wanted: str, time_limit: float | None) -> RuleSet:
    """Search the same rows with another question."""
    problem = require_rows(rules, "search again")
    packed = problem.pack()
    limited = replace(question, time_limit=time_limit)
    scale = problem.comparison.scale
    found = search.run(packed, limited, problem.n_rows, scale=scale, wanted=wanted)

    def again(question: Question, floor: float, factor: float) -> Found:
        return search.run(packed, question, problem.n_rows, floor=floor, margin_scale=factor, scale=scale)

    found = nearest(partial(ratio_of, packed, problem.comparison, limited), limited, found, again)
    return _result(rules, question, found, rule_results(problem, packed, question, found))


def _result(rules: RuleSet, question: Question, found: Found, listed: tuple[RuleResult, ...]) -> RuleSet:
    end = search.end(found, listed)
    calibration = None if rules.evidence is None else rules.evidence.calibration
    return replace(
        rules,
        rules=listed,
        question=question,
        optimal=found.optimal,
        upper_bound=end.upper_bound,
        gap=end.gap,
        stopped=found.stopped,
        nodes=end.nodes,
        seconds=end.seconds,
        history=(*found.history[:-1], end),
        # The search at the calibrated β is the same; other evidence is about the rules of the other list.
        evidence=None if calibration is None else SearchEvidence(calibration=calibration),
    )
