"""Format a Result as HTML for notebooks: the table with small forest plots, and a rule as a card.

Names and values are untrusted: markup and control characters are escaped.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from causalrules.report import result_words, rule_words, terminal
from causalrules.report.answers import Answer, answers
from causalrules.text import percent, printable, sentence

if TYPE_CHECKING:
    from causalrules.result.result import Result
    from causalrules.result.rule import RuleResult

_BLUE, _ORANGE, _GREY = "#0072b2", "#c24f00", "#8a949e"
_WIDTH = 140
_TONES = {"good": "#00714f", "caution": "#7a4a00", "bad": "#a5281b", "none": "#5b6670"}


def table(rules: Result) -> str:
    """Return the alerts, the rules with their intervals, drawn on one scale, and the sentences below the table."""
    low, high = _range(rules)
    name, *others = terminal.headings(rules) if not result_words.ranking(rules) else terminal.headings(rules)[1:]
    cells = "".join(f"<th>{escape(heading)}</th>" for heading in ("#", "rule", "", name, *others))
    body = ""
    for place, rule in enumerate(rules, 1):
        shown = terminal.cells(rule, rules)[bool(result_words.ranking(rules)) :]
        words = f'<td style="text-align:left"><bdi>{escaped(rule.text)}</bdi></td><td>{_forest(rule, low, high)}</td>'
        numbers = "".join(f"<td>{escape(cell)}</td>" for cell in shown[:-1])
        body += f"<tr><td>{place}</td>{words}{numbers}<td>{chip(answers(rule)[0])}</td></tr>"
    below = "".join(f"<p>{escaped(sentence)}</p>" for sentence in terminal.sentences(rules))
    above = "".join(
        f"<p><b>{escaped(alert.title)}.</b> {escaped(sentence(alert.sentence))}</p>" for alert in rules.alerts
    )
    listed = f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div>{above}{listed}{_staircase(rules)}{below}</div>"


def _staircase(rules: Result) -> str:
    """Draw the level where none of the rules holds, where the first does, the first two, and so on."""
    if len(rules.rungs) < 3:
        return ""  # for one rule, the table shows it
    level, largest = rules.kind.level, rules.kind.largest([rung.level for rung in rules.rungs])
    steps = "".join(
        f'<tr><td style="text-align:left"><bdi>{escaped(name)}</bdi></td>'
        f"<td>{_bar(rung.level, largest, _BLUE if place else _GREY)}</td>"
        f"<td><b>{level(rung.level)}</b></td><td>{rung.n_rows:,} rows</td></tr>"
        for place, (name, rung) in enumerate(zip(result_words.rung_names(rules), rules.rungs, strict=True))
    )
    return f"<table><caption>{escaped(result_words.rungs_meaning(rules))}</caption><tbody>{steps}</tbody></table>"


def card(rule: RuleResult) -> str:
    """Return one rule: its conditions in words, two bars, and its answers with reasons."""
    level = rule.kind.level
    conditions = " and ".join(
        f"<b><bdi>{escaped(column)}</bdi></b> {verb} <b><bdi>{escaped(value)}</bdi></b>"
        for column, verb, value in rule_words.conditions(rule)
    )
    largest = rule.kind.largest([rule.p_do_rule, rule.p_do_not_rule])
    bars = "".join(
        f"<tr><td>{name}</td><td>{_bar(value, largest, colour)}</td><td><b>{level(value)}</b></td></tr>"
        for name, value, colour in zip(
            rule_words.sides(rule), (rule.p_do_rule, rule.p_do_not_rule), (_BLUE, _GREY), strict=True
        )
    )
    judged = "".join(f"<p>{answer.asks} {chip(answer)} {escaped(answer.why)}</p>" for answer in answers(rule))
    reasons = "".join(f"<li>{escaped(reason)}</li>" for reason in rule.verdict.reasons)
    estimate = rule.kind.with_interval(rule.effect, *rule.interval)
    if not rule.circumstances.fixed:
        estimate = f"{rule_words.bounded(rule)}; 95 % {rule_words.FIXED}: {rule.kind.between(*rule.interval)}"
    return (
        f'<div style="max-width:44em"><p style="font-size:1.2em">{conditions}</p><table>{bars}</table>'
        f"<p>{escaped(estimate)}; {rule.n_covered:,} rows ({percent(rule.coverage)})</p>"
        f"{judged}<ul>{reasons}</ul></div>"
    )


def escaped(words: str) -> str:
    """Return words as HTML, with control characters and markup escaped."""
    return escape(printable(words))


def chip(answer: Answer) -> str:
    """Return the word of an answer in the colour of its tone."""
    colour = _TONES[answer.tone]
    return (
        f'<span style="color:{colour};border:1px solid {colour};border-radius:9px;padding:0 .5em;white-space:nowrap">'
        f"{escape(answer.word)}</span>"
    )


def _range(rules: Result) -> tuple[float, float]:
    """Return the range of the shared axis, which includes 0."""
    ends = [end for rule in rules for end in (rule.effect, *rule_words.whisker(rule)) if math.isfinite(end)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    return (low, high) if high > low else (low, low + 1.0)


def _forest(rule: RuleResult, low: float, high: float) -> str:
    """Draw the effect with its bound, or with the interval of a rule named in advance, and a line at 0."""

    def x(value: float) -> str:
        return f"{6 + (_WIDTH - 12) * (value - low) / (high - low):.1f}"

    def line(one: float, other: float, top: int, bottom: int, colour: str, thickness: float) -> str:
        ends = f'x1="{x(one)}" x2="{x(other)}" y1="{top}" y2="{bottom}"'
        return f'<line {ends} stroke="{colour}" stroke-width="{thickness}"/>'

    marks = line(0.0, 0.0, 0, 18, _GREY, 1)
    if math.isfinite(rule.effect):
        ends = rule_words.whisker(rule)
        marks += line(*ends, 9, 9, _BLUE, 2)
        if not rule.circumstances.fixed and rule.at_least is not None:
            marks += line(rule.at_least, rule.at_least, 2, 16, _ORANGE, 3)
        marks += f'<circle cx="{x(rule.effect)}" cy="9" r="4" fill="{_BLUE}"/>'
    fixed = rule.circumstances.fixed
    said = rule.kind.with_interval(rule.effect, *rule.interval) if fixed else rule_words.bounded(rule)
    return f'<svg width="{_WIDTH}" height="18" role="img" aria-label="{escape(said)}">{marks}</svg>'


def _bar(value: float, largest: float, colour: str) -> str:
    width = 0.0 if math.isnan(value) or not largest else 200 * abs(value) / largest
    return (
        f'<svg width="200" height="16"><rect width="200" height="16" fill="#8884"/>'
        f'<rect width="{width:.1f}" height="16" fill="{colour}"/></svg>'
    )
