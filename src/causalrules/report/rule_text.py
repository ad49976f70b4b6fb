"""Compact text of rules: shared conditions are shown once, lines are broken between conditions."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from causalrules.language.propositions import AND, describe

if TYPE_CHECKING:
    from causalrules.language.propositions import Proposition
    from causalrules.result.rule import RuleResult

MOST_LINES = 4


def shared(rules: Sequence[RuleResult]) -> tuple[Proposition, ...]:
    """Return the conditions that all rules of a list have; none of a single rule."""
    if len(rules) < 2:
        return ()
    return tuple(each for each in rules[0].conditions if all(each in rule.conditions for rule in rules[1:]))


def remaining(rule: RuleResult, common: Sequence[Proposition]) -> str:
    """Return the text of a rule without the shared conditions."""
    if not common:
        return rule.text
    return describe([each for each in rule.conditions if each not in common]) or "(nothing else)"


def columns(words: str) -> int:
    """Return the width on a terminal: two columns for wide letters, none for combining ones."""
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in words
    )


def wrap_rule(words: str, room: int) -> list[str]:
    """Break a rule into lines after ∧, and inside a condition only if it is too long for a line."""
    sign = AND.rstrip()
    lines: list[str] = []
    conditions = words.split(AND)
    for place, condition in enumerate(conditions):
        piece = condition + sign * (place < len(conditions) - 1)
        if lines and columns(lines[-1]) + 1 + columns(piece) <= room:
            lines[-1] += f" {piece}"
        else:
            lines.append(piece)
    if len(lines) > MOST_LINES or any(columns(line) > room for line in lines):
        return wrap(words, room, MOST_LINES)
    return lines


def wrap(words: str, room: int, most: int) -> list[str]:
    """Break text into lines at blanks, or anywhere if there are none; text beyond `most` lines ends in "…"."""
    lines = [""]
    for word in words.split(" "):
        if lines[-1] and columns(lines[-1]) + 1 + columns(word[:room]) <= room >= len(word):
            lines[-1] += " " + word
            continue
        if lines[-1]:
            lines.append("")
        for letter in word:
            if columns(lines[-1]) + columns(letter) > room or len(lines[-1]) > 4 * room:
                lines.append("")
            lines[-1] += letter
            if len(lines) > most:
                last = lines[most - 1]
                while columns(last) > room - 1:
                    last = last[:-1]
                return [*lines[: most - 1], last + "…"]
    return lines
