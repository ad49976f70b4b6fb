"""The numbers of a rule beside its effect, in the table and in the card of the report, each declared once.

To add a number, add a line to `NUMBERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from causalrules.report import result_words, rule_words
from causalrules.text import p_number, percent

if TYPE_CHECKING:
    from causalrules.result.result import Result
    from causalrules.result.rule import RuleResult


@dataclass(frozen=True)
class Number:
    """A number of a rule.

    Attributes
    ----------
    name
        Returns its heading; empty where it is not shown.
    text, value
        Return the number, formatted and as a number to sort by.
    more
        Returns a remark, in smaller letters.
    ascending
        Whether small numbers come first when the table is sorted by it.
    in_table, in_card
        Whether the table and the card show it.
    """

    name: Callable[[Result], str]
    text: Callable[[RuleResult], str]
    value: Callable[[RuleResult], float | None]
    more: Callable[[RuleResult], str] = lambda rule: ""
    ascending: bool = False
    in_table: bool = True
    in_card: bool = False


@dataclass(frozen=True)
class NumberView:
    """A number of a rule as the page gets it."""

    name: str
    text: str
    more: str
    value: float | None
    ascending: bool
    in_table: bool
    in_card: bool


def _least(rules: Result) -> str:
    return rule_words.least(rules) if result_words.has_bounds(rules) else ""


def _p(rules: Result) -> str:
    return "p" if any(rule.p_value is not None for rule in rules) else ""


def of_thousand(share: float) -> str:
    """Format a share as rows of 1,000.

    >>> of_thousand(0.217), of_thousand(0.0002), of_thousand(0.9999)
    ('217 of 1,000', 'fewer than 1 of 1,000', 'more than 999 of 1,000')
    """
    if 0 < share < 0.001:
        return "fewer than 1 of 1,000"
    return "more than 999 of 1,000" if 0.9995 <= share < 1 else f"{round(1000 * share):,} of 1,000"


NUMBERS = (
    Number(_least, rule_words.bound, lambda rule: rule.at_least),
    Number(_p, lambda rule: p_number(rule.p_value, rule.p_sign), lambda rule: rule.p_value, ascending=True),
    Number(
        lambda rules: "applies to",
        lambda rule: percent(rule.coverage),
        lambda rule: rule.coverage,
        lambda rule: of_thousand(rule.coverage),
    ),
    Number(
        lambda rules: "effective rows",
        lambda rule: f"{round(rule.effective_rows):,}",
        lambda rule: rule.effective_rows,
        lambda rule: "as many in a balanced experiment would tell as much",
        in_table=False,
        in_card=True,
    ),
)


def of_rule(rule: RuleResult, rules: Result) -> tuple[NumberView, ...]:
    """Return the numbers of a rule that are shown for these rules."""
    return tuple(
        NumberView(
            name, each.text(rule), each.more(rule), each.value(rule), each.ascending, each.in_table, each.in_card
        )
        for each in NUMBERS
        if (name := each.name(rules))
    )
