"""Groups and steps of policies as columns of a data frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from causalrules.language.propositions import describe
from causalrules.policy.segments import Segment, SegmentList
from causalrules.policy.steps import PolicyStep, Prescription


def of_segments(found: SegmentList) -> dict[str, list[Any]]:
    """Return the groups as columns: the text, the numbers, and the two words of the verdict."""
    return {
        "group": [segment.text for segment in found],
        **_numbers(Segment, found),
        "evidence": [segment.evidence for segment in found],
        "claim": [found.claim] * len(found),
    }


def of_policy(policy: Prescription) -> dict[str, list[Any]]:
    """Return the steps as columns: who gets what, and the numbers."""
    return {
        "who": [step.who for step in policy],
        "action": [describe(step.action) for step in policy],
        **_numbers(PolicyStep, policy),
    }


def _numbers(kind: type, listed: Sequence[Any]) -> dict[str, list[Any]]:
    names = [item.name for item in fields(kind) if item.name not in ("conditions", "context", "action")]
    return {name: [getattr(each, name) for each in listed] for name in names}
