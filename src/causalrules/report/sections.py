"""Pieces of a report as plain data: whoever adds one needs no HTML, and nothing in it can become markup."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from causalrules.result import RuleResult, RuleSet


@dataclass(frozen=True)
class Section:
    """A heading, sentences, and a table with a heading for each of its columns."""

    title: str
    sentences: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def of_result(rules: RuleSet) -> tuple[Section, ...]:
    """The sections on the whole result that follow the list of rules."""
    return (Section("What else to know", rules.notes),) if rules.notes else ()


def of_rule(rule: RuleResult) -> tuple[Section, ...]:
    """The sections on one rule that follow its reading."""
    if rule.p_value is None:
        return ()
    return (Section("Could it be chance?", (f"p = {rule.p_value:.2g}, adjusted for the search over all rules.",)),)
