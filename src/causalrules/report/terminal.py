"""Format a RuleSet as text for terminals and as HTML for notebooks.

Names and values are untrusted: control characters and markup are escaped.
"""

from __future__ import annotations

import html as markup
import shutil
import unicodedata
from typing import TYPE_CHECKING

from causalrules.report.result_words import (
    headings,
    marked,
    meaning,
    proof,
    ranking,
    undecided_lines,
    verdict_lines,
    warning,
)
from causalrules.text import amount, number, percent, printable

if TYPE_CHECKING:
    from causalrules.result.rule import RuleResult
    from causalrules.result.rules import RuleSet

_HEADINGS = ("#", "rule", "conservative", "effect", "unadjusted", "coverage", "rows", "evidence")
_NARROWEST_RULE = 16
# Columns that a narrow terminal does without.
_SPARE = ("coverage", "unadjusted")
_MOST_RULE_LINES = 4
_MOST_SENTENCE_LINES = 20


def text(rules: RuleSet) -> str:
    """Return the table and the sentences below it, wrapped to the terminal."""
    width = max(shutil.get_terminal_size((100, 24)).columns, 40)
    numbers = [_cells(position, rule, rules) for position, rule in enumerate(rules, 1)]
    heading = _numeric(_headings(rules))
    widths = [max(map(len, column)) for column in zip(heading, *numbers, strict=True)]
    for spare in _SPARE:
        if width - sum(widths) - 2 * len(widths) >= _NARROWEST_RULE:
            break
        place = heading.index(spare)
        heading, *numbers = ((*row[:place], *row[place + 1 :]) for row in (heading, *numbers))
        del widths[place]
    room = max(width - sum(widths) - 2 * len(widths), _NARROWEST_RULE)
    wrapped = [_wrap(printable(marked(rule)), room, _MOST_RULE_LINES) for rule in rules]
    room = max(_columns(line) for lines in [["rule"], *wrapped] for line in lines)
    lines = [_row(heading, "rule", widths, room)] if rules else []
    for cells, rule_lines in zip(numbers, wrapped, strict=True):
        lines.append(_row(cells, rule_lines[0], widths, room))
        lines += [" " * (widths[0] + 2) + line for line in rule_lines[1:]]
    for sentence in sentences(rules):
        lines += _wrap(printable(sentence), width, _MOST_SENTENCE_LINES)
    return "\n".join(line.rstrip() for line in lines)


def html(rules: RuleSet) -> str:
    """Return the same as HTML."""
    head = "".join(f"<th>{heading}</th>" for heading in _headings(rules))
    body = ""
    for position, rule in enumerate(rules, 1):
        first, *others = _cells(position, rule, rules)
        numbers = "".join(f"<td>{cell}</td>" for cell in others)
        name = f'<td style="text-align:left"><bdi>{markup.escape(printable(marked(rule)))}</bdi></td>'
        body += f"<tr><td>{first}</td>{name}{numbers}</tr>"
    below = "".join(f"<p>{markup.escape(printable(sentence))}</p>" for sentence in sentences(rules))
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}</div>"


def sentences(rules: RuleSet) -> list[str]:
    """Return what the numbers mean, what is proven, the evidence and the notes."""
    said = [sentence for sentence in (meaning(rules), ranking(rules), proof(rules), warning(rules)) if sentence]
    return [*said, *undecided_lines(rules), *verdict_lines(rules), *_trust_lines(rules), *rules.notes]


def _trust_lines(rules: RuleSet) -> list[str]:
    if rules.evidence is None and all(rule.evidence is None for rule in rules):
        return []
    from causalrules.report import trust_words  # only if needed, to start fast

    return trust_words.lines(rules)


def _headings(rules: RuleSet) -> tuple[str, ...]:
    first, rule, *others = headings(_HEADINGS, rules)
    return (first, rule, *(["value"] if ranking(rules) else []), *others)


def _numeric(cells: tuple[str, ...]) -> tuple[str, ...]:
    """Return the cells without the rule, which gets the remaining width."""
    return (cells[0], *cells[2:])


def _cells(position: int, rule: RuleResult, rules: RuleSet) -> tuple[str, ...]:
    effects = (*([rule.value] if ranking(rules) else []), rule.conservative, rule.effect, rule.marginal_effect)
    shown = map(amount if rule.is_mean else number, effects)
    return (str(position), *shown, percent(rule.coverage), f"{rule.n_covered:,}", rule.verdict.evidence)


def _row(cells: tuple[str, ...], rule: str, widths: list[int], room: int) -> str:
    first, *others = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    return "  ".join([first, rule + " " * (room - _columns(rule)), *others])


def _columns(words: str) -> int:
    """Return the width on a terminal: two columns for wide letters, none for combining ones."""
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in words
    )


def _wrap(words: str, room: int, most: int) -> list[str]:
    """Break text into lines at blanks, or anywhere if there are none; text beyond `most` lines ends in "…"."""
    lines = [""]
    for word in words.split(" "):
        if lines[-1] and _columns(lines[-1]) + 1 + _columns(word[:room]) <= room >= len(word):
            lines[-1] += " " + word
            continue
        if lines[-1]:
            lines.append("")
        for letter in word:
            if _columns(lines[-1]) + _columns(letter) > room or len(lines[-1]) > 4 * room:
                lines.append("")
            lines[-1] += letter
            if len(lines) > most:
                last = lines[most - 1]
                while _columns(last) > room - 1:
                    last = last[:-1]
                return [*lines[: most - 1], last + "…"]
    return lines
