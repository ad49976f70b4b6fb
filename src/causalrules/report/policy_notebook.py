"""Format groups and policies as HTML for notebooks: the first screen of the report, and a table with small figures.

Names and values are untrusted: markup and control characters are escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from causalrules.report import policy_figures, policy_terminal, policy_words
from causalrules.report.answers import Answer
from causalrules.report.notebook import chip, escaped
from causalrules.report.policy_words import Gains
from causalrules.text import sentence

if TYPE_CHECKING:
    from causalrules.alerts import Alert
    from causalrules.policy.segments import SegmentList
    from causalrules.policy.steps import Prescription


def of_segments(found: SegmentList) -> str:
    """Return a sentence about the first group, all groups with their intervals on one axis, and the sentences below."""
    shown = found.segments or ((found.candidate,) if found.candidate is not None else ())
    scale = policy_figures.scale_of(found)
    rows = [
        (
            policy_words.place_of(place, each),
            policy_figures.forest(each, found, scale),
            policy_terminal.segment_cells(each, found),
        )
        for place, each in enumerate(shown)
    ]
    title, answers = policy_words.found_line(found), tuple[Answer, ...]()
    if found.segments:
        before, after = policy_words.headline(found[0], found)
        title = f"{before} {policy_words.spoken(found[0].conditions)}, {after}"
        answers = policy_words.segment_answers(found[0], found)
    key = "●—— inside, ○ outside, ┆ everybody"
    table = _table(["group", key, *policy_terminal.segment_headings(found)], rows)
    return _page(title, found.alerts, answers, table, policy_words.segment_lines(found), found.notes)


def of_policy(policy: Prescription) -> str:
    """Return what the policy gains, who gets what with the staircase of gains, and the sentences below."""
    _, drawn = policy_figures.stairs(policy)
    rows = [
        (policy_words.step_text(place, step, policy), picture, policy_terminal.step_cells(step, policy))
        for place, (step, picture) in enumerate(zip(policy, drawn, strict=True))
    ]
    table = _table(["step", "gain, step by step", *policy_terminal.step_headings(policy)], rows)
    answers = policy_words.policy_answers(policy) if policy.steps else ()
    said = [policy_words.rest(policy)] if policy.steps else []
    if policy.steps:
        unit = Gains(policy).unit
        said += [
            f"{name}: {gain} {unit}, held-out rows {held_out}" for name, gain, held_out in policy_words.compared(policy)
        ]
        said.append(policy_words.held_out_line(policy))
    said += policy_words.policy_lines(policy)
    return _page(policy_words.policy_line(policy), policy.alerts, answers, table, said, policy.notes)


def _page(
    title: str,
    alerts: Sequence[Alert],
    answers: Sequence[Answer],
    table: str,
    said: Sequence[str],
    notes: Sequence[str],
) -> str:
    chips = "".join(f"<p>{answer.asks} {chip(answer)} {escaped(answer.why)}</p>" for answer in answers)
    warned = "".join(f"<p><b>{escaped(each.title)}.</b> {escaped(sentence(each.sentence))}</p>" for each in alerts)
    below = "".join(f"<p>{escaped(sentence(each))}</p>" for each in (*said, *notes) if each)
    return f'<div><p style="font-size:1.2em"><b><bdi>{escaped(title)}</bdi></b></p>{warned}{chips}{table}{below}</div>'


def _table(headings: Sequence[str], rows: Sequence[tuple[str, str, Sequence[str]]]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{escaped(each)}</th>" for each in headings)
    body = "".join(
        f'<tr><td style="text-align:left"><bdi>{escaped(text)}</bdi></td><td style="min-width:14em">{picture}</td>'
        + "".join(f'<td style="white-space:nowrap">{escaped(cell)}</td>' for cell in cells)
        + "</tr>"
        for text, picture, cells in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
