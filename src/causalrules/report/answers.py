"""The two answers on a rule, evidence and claim, as labels with a tone and the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from causalrules.text import adjusted_p

if TYPE_CHECKING:
    from causalrules.result.rule import RuleResult
    from causalrules.result.rules import RuleSet

# From strong to weak; the weaker answer colours a report.
TONES = ("good", "caution", "bad", "none")


@dataclass(frozen=True)
class Answer:
    """An answer: its word, its tone, and why."""

    word: str
    tone: str
    why: str


def answers(rule: RuleResult, rules: RuleSet) -> tuple[Answer, Answer]:
    """Return the evidence and the claim."""
    return _evidence(rule, rules), _claim(rule, rules)


def weakest(*given: Answer) -> str:
    """Return the tone of the weakest answer."""
    return max((answer.tone for answer in given), key=TONES.index)


def _evidence(rule: RuleResult, rules: RuleSet) -> Answer:
    verdict = None if rule.evidence is None else rule.evidence.verdict
    tested = "" if rule.p_value is None else adjusted_p(rule.p_value)
    if verdict is not None:
        word = {"strong": "supported"}.get(verdict.word, verdict.word)
        tone = {"supported": "good", "suggestive": "caution"}.get(word, "none")
        return Answer(word, tone, verdict.doubts[0] if verdict.doubts else tested)
    run = None if rules.evidence is None else rules.evidence.permutation
    if run is not None and rule.p_value is not None:
        return (
            Answer("suggestive", "caution", tested)
            if rule.p_value <= run.level
            else Answer("not supported", "none", tested)
        )
    if rule.value <= 0:
        return Answer("not supported", "none", f"the conservative {rules.noun} is not beyond 0")
    return Answer("not tested", "caution", f"but the conservative {rules.noun} is beyond 0")


def _claim(rule: RuleResult, rules: RuleSet) -> Answer:
    if rules.admissibility is None:
        return Answer("unchecked", "caution", "no causal graph given: an association")
    if rules.admissibility or (rule.identification is not None and rule.identification.identified):
        return Answer("identified", "good", "if the causal graph is right, this is an effect")
    return Answer("not identified", "bad", "by the causal graph this is an association")
