"""Pieces of a report as plain data: whoever adds one needs no HTML, and nothing in it can become markup."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from causalrules.report import evidence_sections

if TYPE_CHECKING:
    from causalrules.result.rule import RuleResult
    from causalrules.result.rules import RuleSet


@dataclass(frozen=True)
class Section:
    """A heading, sentences, and a table with a heading for each of its columns."""

    title: str
    sentences: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def of_result(rules: RuleSet) -> tuple[Section, ...]:
    """The sections on the whole result that follow the list of rules."""
    notes = (Section("What else to know", rules.notes),) if rules.notes else ()
    return (*evidence_sections.of_result(rules), *notes)


def of_rule(rule: RuleResult, rules: RuleSet) -> tuple[Section, ...]:
    """The sections on one rule that follow its reading."""
    return evidence_sections.of_rule(rule, rules)
