"""Format groups and policies as text for terminals. Names and values are untrusted: control characters are escaped."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING

from causalrules.report import policy_words
from causalrules.report.policy_words import Gains
from causalrules.report.rule_text import columns, wrap, wrap_rule
from causalrules.text import percent, printable

if TYPE_CHECKING:
    from causalrules.policy.segments import Segment, SegmentList
    from causalrules.policy.steps import PolicyStep, Prescription

_NARROWEST, _USUAL = 40, 100
_MOST_LINES = 20
# Left out where the numbers do not fit into one line.
_SPARE = "without → with"


def of_segments(found: SegmentList, remarks: bool = True) -> str:
    """Return the groups and what is said of them, wrapped to the terminal; without remarks, the groups alone."""
    rows = [segment_cells(segment, found) for segment in found]
    texts = [policy_words.place_of(place, segment) for place, segment in enumerate(found)]
    table = _table(segment_headings(found), rows, texts)
    title = [policy_words.found_line(found)]
    if not remarks:
        return _joined(table or title)
    alerts = [f"! {alert}" for alert in found.alerts]
    return _joined([*title, *alerts], table, policy_words.segment_lines(found), _notes(found.notes))


def of_policy(policy: Prescription, remarks: bool = True) -> str:
    """Return the steps and what is said of them, wrapped to the terminal; without remarks, the steps alone."""
    rows = [step_cells(step, policy) for step in policy]
    texts = [policy_words.step_text(place, step, policy) for place, step in enumerate(policy)]
    table = _table(step_headings(policy), rows, texts)
    otherwise = policy_words.rest(policy)
    table += [f"   {otherwise}"] if table and otherwise else []
    title = [policy_words.policy_line(policy)]
    if not remarks:
        return _joined(table or title)
    alerts = [f"! {alert}" for alert in policy.alerts]
    compared = [*_compared(policy), policy_words.held_out_line(policy)] if policy.steps else []
    return _joined([*title, *alerts], table, compared, policy_words.policy_lines(policy), _notes(policy.notes))


def segment_headings(found: SegmentList) -> list[str]:
    """Return the names of the columns after the group."""
    return ["share", _SPARE, f"inside{found.kind.in_units}", "outside", "differs by", "at least", "p"]


def segment_cells(segment: Segment, found: SegmentList) -> list[str]:
    """Return the cells of a group below `segment_headings`."""
    kind, listed = found.kind, found.segments or (segment,)
    column = [each for one in listed for each in (one.effect, one.outside, one.contrast)]
    return [
        percent(segment.share),
        policy_words.arrow(kind, segment.level_without, segment.level, *column),
        policy_words.inside(segment, kind, *column),
        kind.figure(segment.outside, *column),
        kind.figure(abs(segment.contrast), *column),
        policy_words.at_least(segment, kind, *column),
        policy_words.p_text(segment, found),
    ]


def step_headings(policy: Prescription) -> list[str]:
    """Return the names of the columns after the step."""
    return ["share", _SPARE, f"effect{policy.kind.in_units}", f"gain {Gains(policy).unit}", "at least"]


def step_cells(step: PolicyStep, policy: Prescription) -> list[str]:
    """Return the cells of a step below `step_headings`."""
    kind, gains, column = policy.kind, Gains(policy), [each.effect for each in policy.steps or (step,)]
    return [
        percent(step.share),
        policy_words.arrow(kind, step.level_without, step.level, *column),
        kind.figure(step.effect, *column),
        gains.figure(step.gain),
        gains.least(step.gain_at_least),
    ]


def _compared(policy: Prescription) -> list[str]:
    """Return a small table of what the policy gains over what, on all rows and on held-out rows."""
    unit = Gains(policy).unit
    rows = [(f"gain {unit}", "all rows", "held-out rows"), *policy_words.compared(policy)]
    widths = [max(columns(printable(row[column])) for row in rows) for column in range(3)]
    if sum(widths) + 4 > _width():
        return [f"{name}: {gain}, held-out rows {held_out}" for name, gain, held_out in rows[1:]]
    return [
        name + " " * (widths[0] - columns(printable(name))) + f"  {gain:>{widths[1]}}  {held_out:>{widths[2]}}"
        for name, gain, held_out in rows
    ]


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], texts: Sequence[str]) -> list[str]:
    """Return the numbers in columns, each line after its text, or below it if they do not fit into one line."""
    if not rows:
        return []
    lines, width, margin = [list(headings), *map(list, rows)], _width(), len(str(len(rows))) + 2
    shown = [printable(text) for text in texts]
    widest = max(map(columns, shown))
    if margin + _taken(lines) > width and _SPARE in lines[0]:
        at = lines[0].index(_SPARE)
        lines = [[*line[:at], *line[at + 1 :]] for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    numbers = ["  ".join(cell.rjust(size) for cell, size in zip(line, widths, strict=True)) for line in lines]
    places = ["#".rjust(margin - 2), *(str(place).rjust(margin - 2) for place in range(1, len(lines)))]
    if margin + widest + 2 + len(numbers[0]) <= width:
        named = ["", *shown]
        padded = [name + " " * (widest - columns(name)) for name in named]
        return ["  ".join(line).rstrip() for line in zip(places, padded, numbers, strict=True)]
    found = [f"{places[0]}  {numbers[0]}"]
    for place, name, line in zip(places[1:], shown, numbers[1:], strict=True):
        first, *others = wrap_rule(name, width - margin)
        found += [f"{place}  {first}", *(" " * margin + other for other in others), " " * margin + line]
    return found


def _taken(lines: Sequence[Sequence[str]]) -> int:
    return sum(max(map(len, column)) + 2 for column in zip(*lines, strict=True)) - 2


def _width() -> int:
    return max(shutil.get_terminal_size((_USUAL, 24)).columns, _NARROWEST)


def _notes(notes: Sequence[str]) -> list[str]:
    return [f"note: {note}" for note in notes]


def _joined(*blocks: Sequence[str]) -> str:
    width = _width()
    shown = ["\n".join(line for said in block for line in _wrapped(said, width)) for block in blocks if block]
    return "\n\n".join(shown)


def _wrapped(said: str, width: int) -> list[str]:
    plain = printable(said)
    # Lines of tables fit already, and their spaces count.
    return [plain.rstrip()] if columns(plain) <= width else wrap(plain, width, _MOST_LINES)
