"""The two answers of a verdict, evidence and claim, as labels with a tone and the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from causalrules.report.adjustment_words import adjustment

if TYPE_CHECKING:
    from causalrules.result.rule import RuleResult

# From strong to weak; the weaker answer sets the colour of a report.
TONES = ("good", "caution", "bad", "none")
_EVIDENCE = {"supported": "good", "suggestive": "caution", "not supported": "none", "cannot tell": "none"}
_CLAIM = {
    "by design": "good",
    "by design, but unbalanced": "bad",
    "identified": "good",
    "unchecked": "caution",
    "not identified": "bad",
}
# Explanation of each claim.
_MEANING = {
    "by design": "causal: {why}",
    "by design, but unbalanced": "not to be relied on: {why}",
    "identified": "causal if the causal graph is right",
    "unchecked": "an association, {adjusted} (no causal graph): causal only if {nothing} affects both {what} and "
    "outcome, and the outcome does not affect the {what}",
    "not identified": "not causal by the causal graph: an association",
}


@dataclass(frozen=True)
class Answer:
    """An answer: its word, its tone, the reason, and the question."""

    word: str
    tone: str
    why: str
    asks: str


def answers(rule: RuleResult) -> tuple[Answer, Answer]:
    """Return the evidence, with the required and the actual numbers, and the claim."""
    verdict = rule.verdict
    why = (*verdict.doubts, *verdict.reasons)[0]
    if verdict.evidence == "suggestive":
        passed, _, _ = verdict.reasons[0].partition(":")
        why = f"{passed}, but {why}"
    return Answer(verdict.evidence, _EVIDENCE[verdict.evidence], why, "Evidence: more than chance?"), claimed(
        verdict.claim, rule.control, verdict.claim_reason
    )


def claimed(
    word: str, control: Sequence[str] = (), reason: str = "its columns are declared randomised", what: str = "rule"
) -> Answer:
    """Return a claim as an answer, for rules that are adjusted for these columns; `reason` is that of the verdict."""
    adjusted = f"{adjustment(control)} only" if control else "adjusted for nothing"
    nothing = "nothing else" if control else "nothing"
    why = _MEANING[word].format(adjusted=adjusted, nothing=nothing, why=reason, what=what)
    return Answer(word, _CLAIM[word], why, "Claim: is it causal?")


def weakest(*given: Answer) -> str:
    """Return the tone of the weaker answer."""
    return max((answer.tone for answer in given), key=TONES.index)
