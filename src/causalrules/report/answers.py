"""The two answers of a verdict, evidence and claim, as labels with a tone and the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from causalrules.result.rule import RuleResult

# From strong to weak; the weaker answer colours a report.
TONES = ("good", "caution", "bad", "none")
_EVIDENCE = {"supported": "good", "suggestive": "caution", "not supported": "none", "cannot tell": "none"}
_CLAIM = {"by design": "good", "identified": "good", "unchecked": "caution", "not identified": "bad"}
# What a claim lets one say.
_MEANING = {
    "by design": "an effect, as its columns are assigned at random",
    "identified": "an effect, if the causal graph is right",
    "unchecked": "an association; acting on it assumes no hidden common cause",
    "not identified": "an association, by the causal graph",
}


@dataclass(frozen=True)
class Answer:
    """An answer: its word, its tone, and why."""

    word: str
    tone: str
    why: str


def answers(rule: RuleResult) -> tuple[Answer, Answer]:
    """Return the evidence, with its first doubt or reason, and the claim."""
    verdict = rule.verdict
    why = (*verdict.doubts, *verdict.reasons)[0]
    return (
        Answer(verdict.evidence, _EVIDENCE[verdict.evidence], why),
        claimed(verdict.claim),
    )


def claimed(word: str) -> Answer:
    """Return a claim as an answer, with what it lets one say."""
    return Answer(word, _CLAIM[word], _MEANING[word])


def weakest(*given: Answer) -> str:
    """Return the tone of the weakest answer."""
    return max((answer.tone for answer in given), key=TONES.index)
