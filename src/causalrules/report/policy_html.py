"""The reports of groups and of policies: one HTML file each, without scripts or network.

The page is a first screen and sections of sentences, figures, tables and code. Untrusted names and values appear as
text only, printable and of bounded length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from causalrules.exceptions import OptionError
from causalrules.graph.assumptions import assumptions
from causalrules.report import policy_figures, policy_terminal, policy_words, reproduce
from causalrules.report.answers import Answer, weakest
from causalrules.report.html import environment
from causalrules.report.policy_figures import GREY, Scale
from causalrules.report.policy_words import Gains
from causalrules.report.rule_words import spelled
from causalrules.report.view import AlertView, alert_view, short
from causalrules.result import sql
from causalrules.result.verdict import BY_DESIGN, IDENTIFIED
from causalrules.text import counted, percent, sentence
from causalrules.writing import replace_file

if TYPE_CHECKING:
    from causalrules.language.propositions import Proposition
    from causalrules.policy.segments import Segment, SegmentList
    from causalrules.policy.steps import PolicyStep, Prescription, Value

# Maximum groups or steps on a page, and characters of a sentence, a name and a cell.
_MOST, _SENTENCE, _NAME, _CELL = 50, 1500, 300, 500
Conditions = tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Row:
    """A line of a figure: its name, its picture, and its number."""

    name: str
    picture: str
    text: str


@dataclass(frozen=True)
class Figure:
    """Lines on one axis, with the key of its marks; `says` describes it."""

    rows: tuple[Row, ...]
    axis: str = ""
    key: tuple[tuple[str, str], ...] = ()
    says: str = ""


@dataclass(frozen=True)
class Section:
    """A part of the page below the first screen."""

    title: str
    sentences: tuple[str, ...] = ()
    figure: Figure | None = None
    headings: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    muted: bool = False
    items: tuple[str, ...] = ()
    code: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class View:
    """A whole page.

    Attributes
    ----------
    headline, conditions
        The sentence of the first screen before the conditions of a group, and these.
    says, listed
        The rest of it, and who gets what.
    remarks
        Sentences below the figure.
    answers
        Evidence and claim; without a finding, none.
    """

    title: str
    kicker: str
    tone: str
    headline: str
    conditions: Conditions
    says: str
    listed: tuple[str, ...]
    figure: Figure | None
    remarks: tuple[str, ...]
    answers: tuple[Answer, ...]
    alerts: tuple[AlertView, ...]
    sections: tuple[Section, ...]


def write_segments(found: SegmentList, path: str | PathLike[str] | None = None) -> str:
    """Return the report of groups, and write it to a file, atomically."""
    return _write(view_of_segments(replace(found, segments=found.segments[:_MOST])), path)


def write_policy(policy: Prescription, path: str | PathLike[str] | None = None) -> str:
    """Return the report of a policy, and write it to a file, atomically."""
    return _write(view_of_policy(policy), path)


def _write(view: View, path: str | PathLike[str] | None) -> str:
    page: str = environment().get_template("policy.html.j2").render(view=view)
    page = page.encode("utf-8", "backslashreplace").decode("utf-8")  # lone surrogates cannot be encoded
    if path is not None:
        replace_file(Path(path), page)
    return page


# Groups.


def view_of_segments(found: SegmentList) -> View:
    """Return what the page of groups shows."""
    outcome, action = short(found.question.outcome, _NAME), short(found.action_text, _NAME)
    lead = found[0] if found.segments else None
    shown = found.segments or ((found.candidate,) if found.candidate is not None else ())
    answers = () if lead is None else _answers(policy_words.segment_answers(lead, found))
    said = policy_words.found_line(found)
    headline, _, rest = said.partition("; nearest: ")
    return View(
        title=short(f"{action} – for whom", 90),
        kicker=_kicker(found.source, found.n_compared, f"action: {action}; outcome: {outcome}"),
        tone="none" if lead is None else weakest(*answers),
        headline=short(headline, _SENTENCE) if lead is None else "Where",
        conditions=() if lead is None else _spelled(lead.conditions),
        says="" if lead is None else short(policy_words.headline(lead, found)[1], _SENTENCE),
        listed=(),
        figure=None if lead is None else _two_rows(lead, found),
        remarks=_printable([f"nearest: {rest}" if rest else "", policy_words.everybody(found)])
        if lead is None
        else _printable([_measured(lead, found)]),
        answers=answers,
        alerts=_alerts(found),
        sections=(
            *([_groups(shown, found)] if shown else []),
            Section("How it was measured", _printable(policy_words.segment_lines(found))),
            _named(shown, found),
            *([Section("Code", code=_code_of_segments(found))] if found.segments else []),
            _assumed(found),
            _again(reproduce.command_of_segments(found), reproduce.call_of_segments(found), found),
        ),
    )


def _measured(segment: Segment, found: SegmentList) -> str:
    levels = policy_words.between(found.kind, found.question.outcome, segment.level_without, segment.level)
    confidence = percent(1 - found.question.error_rate, 0)
    return (
        f"{policy_words.differs(segment, found.kind)} ({confidence}, allowing for all "
        f"{counted(found.n_groups, 'group')} tried); in the group {levels}; {segment.n_rows:,} of "
        f"{counted(found.n_compared, 'row')}"
    )


def _two_rows(segment: Segment, found: SegmentList) -> Figure:
    kind, scale = found.kind, Scale.of([segment.low, segment.high, segment.effect, segment.outside, found.effect])
    column = (segment.effect, segment.outside)
    texts = (policy_words.inside(segment, kind, *column), kind.figure(segment.outside, *column))
    inside = policy_figures.interval(segment.effect, segment.low, segment.high, scale, texts[0], found.effect)
    outside = policy_figures.point(segment.outside, scale, texts[1], found.effect)
    rows = (
        Row(f"in the group, {counted(segment.n_rows, 'row')}", inside, texts[0]),
        Row("elsewhere", outside, texts[1]),
    )
    return Figure(rows, _axis(scale, found), (("everybody", f"everybody, {kind.difference(found.effect)}"),))


def _groups(shown: Sequence[Segment], found: SegmentList) -> Section:
    """Return the forest of all groups, and their table."""
    kind, scale = found.kind, policy_figures.scale_of(found)
    texts = [short(policy_words.place_of(place, each), _NAME) for place, each in enumerate(shown)]
    column = [each.effect for each in shown]
    rows = tuple(
        Row(text, policy_figures.forest(each, found, scale), kind.figure(each.effect, *column))
        for text, each in zip(texts, shown, strict=True)
    )
    key = (
        ("inside", "inside, with its interval for all groups tried"),
        ("outside", "outside"),
        ("everybody", f"everybody, {kind.difference(found.effect)}"),
    )
    cells = [policy_terminal.segment_cells(each, found) for each in shown]
    return Section(
        "Groups" if found.segments else "Nearest group, not shown to differ",
        figure=Figure(rows, _axis(scale, found), key, f"{policy_words.noun(found.claim)}{kind.in_units}"),
        headings=("group", *policy_terminal.segment_headings(found)),
        rows=tuple(_cells([text, *line]) for text, line in zip(texts, cells, strict=True)),
        muted=not found.segments,
    )


def _named(shown: Sequence[Segment], found: SegmentList) -> Section:
    said = (
        "Ignoring how many groups were tried: for readers who had one of these groups in mind before they saw the data."
    )
    rows = tuple(_cells([each.text, found.kind.with_interval(each.effect, *each.naive_interval)]) for each in shown)
    return Section("Intervals of groups named in advance", (said,), headings=("group", "inside"), rows=rows)


def _code_of_segments(found: SegmentList) -> tuple[tuple[str, str], ...]:
    groups = [each.conditions for each in found]
    each = [
        (f"SQL, group {place}: {short(segment.text, 100)}", _attempt(segment.to_sql))
        for place, segment in enumerate(found, 1)
    ]
    return (
        *each,
        ("SQL, the number of the group from 0, −1 for none", _attempt(lambda: sql.case(groups))),
        ("Python, the same", _attempt(lambda: sql.python_case(groups, "group_of"))),
    )


# Policies.


def view_of_policy(policy: Prescription) -> View:
    """Return what the page of a policy shows."""
    outcome, steps = short(policy.question.outcome, _NAME), policy.steps[:_MOST]
    gains, found = Gains(policy), bool(policy.steps)
    answers = _answers(policy_words.policy_answers(policy)) if found else ()
    headline, _, rest = policy_words.policy_line(policy).partition("; nearest: ")
    listed = [policy_words.step_text(place, step, policy) for place, step in enumerate(steps)]
    listed += [policy_words.rest(policy)]
    figure = _today_and_then(policy) if found else None
    near = [policy.candidate] if policy.candidate is not None and not found else []
    return View(
        title=short(f"{outcome} – who should get what", 90),
        kicker=_kicker(policy.source, policy.n_rows, f"actions on {', '.join(policy.actionable)}; outcome: {outcome}"),
        tone=weakest(*answers) if found else "none",
        headline=short(sentence(gains.words(policy.gain)).rstrip(".") if found else headline, _SENTENCE),
        conditions=(),
        says="",
        listed=tuple(short(each, _NAME) for each in listed if each) if found else (),
        figure=figure,
        remarks=_printable([_value(policy)] if found else [f"nearest: {rest}" if rest else ""]),
        answers=answers,
        alerts=_alerts(policy),
        sections=(
            *([_steps(steps, policy)] if found else [_nearest(near[0], policy)] if near else []),
            *([_compared(policy)] if found else []),
            Section("How it was measured", _printable(policy_words.policy_lines(policy))),
            *([Section("Code", code=_code_of_policy(policy))] if found else []),
            _assumed(policy),
            _again(reproduce.command_of_policy(policy), reproduce.call_of_policy(policy), policy),
        ),
    )


def _today_and_then(policy: Prescription) -> Figure:
    kind = policy.kind
    today, then = kind.levels(policy.level, policy.level_with, policy.level_with - policy.level)
    largest = kind.largest([policy.level, policy.level_with])
    if kind.binary:  # rates of a few per cent are to be told apart
        largest = min(1.0, 1.25 * max(policy.level, policy.level_with))
    rows = (
        Row("with the policy", policy_figures.bar(policy.level_with, largest, then), then),
        Row("today", policy_figures.bar(policy.level, largest, today, GREY), today),
    )
    return Figure(rows, says=short(kind.level_of(policy.question.outcome), _NAME))


def _value(policy: Prescription) -> str:
    gains, needed, held_out = Gains(policy), policy.number_needed_to_treat, policy.held_out
    said = []
    if held_out is not None:
        said.append(f"on held-out rows: {gains.interval(held_out.over_today)} {gains.unit}")
    if needed is not None:
        said.append(policy_words.rates(policy).partition("; ")[2])
    return "; ".join(said)


def _steps(steps: Sequence[PolicyStep], policy: Prescription) -> Section:
    """Return the staircase of gains by step, and the table of the steps."""
    scale, drawn = policy_figures.stairs(policy)
    gains = Gains(policy)
    texts = [short(policy_words.step_text(place, step, policy), _NAME) for place, step in enumerate(steps)]
    rows = tuple(
        Row(text, picture, gains.figure(step.gain)) for text, picture, step in zip(texts, drawn, steps, strict=False)
    )
    ticks = [gains.figure(tick) for tick in scale.ticks()]
    says = f"gain {gains.unit} over today, step by step"
    return Section(
        "Steps",
        figure=Figure(rows, policy_figures.axis(scale, ticks), says=says),
        headings=_step_headings(policy),
        rows=tuple(_step_row(text, step, policy) for text, step in zip(texts, steps, strict=True)),
    )


def _nearest(step: PolicyStep, policy: Prescription) -> Section:
    rows = (_step_row(short(step.text, _NAME), step, policy),)
    return Section("Nearest step, not shown to gain", headings=_step_headings(policy), rows=rows, muted=True)


def _step_headings(policy: Prescription) -> tuple[str, ...]:
    costs = ("cost without → with",) if policy.question.cost else ()
    return ("step", *policy_terminal.step_headings(policy), *costs, "interval of a step named in advance")


def _step_row(text: str, step: PolicyStep, policy: Prescription) -> tuple[str, ...]:
    costs = [f"{step.cost_without:.3g} → {step.cost:.3g}"] if policy.question.cost else []
    named = policy.kind.between(*step.interval, step.effect)
    return _cells([text, *policy_terminal.step_cells(step, policy), *costs, named])


def _compared(policy: Prescription) -> Section:
    """Return what the policy gains over what, on all rows and on held-out rows."""
    gains, values = Gains(policy), policy_words.compared_values(policy)
    ends = [end for _, gain, value in values for end in (gain, *_ends(value)) if end is not None]
    scale = Scale.of(ends)
    rows, table = [], policy_words.compared(policy)
    for (name, gain, value), (_, shown, held_out) in zip(values, table, strict=True):
        picture = policy_figures.both(gain, value, scale, f"{shown}, held-out rows {held_out}")
        rows.append(Row(short(name, _NAME), picture, shown if value is None else held_out))
    key = (("outside", "all rows"), ("inside", "held-out rows, with their interval"))
    axis = policy_figures.axis(scale, [gains.figure(tick) for tick in scale.ticks()])
    return Section(
        "Compared with",
        _printable([policy_words.held_out_line(policy)]),
        Figure(tuple(rows), axis, key, f"gain {gains.unit}"),
        headings=("gain", "all rows", "held-out rows"),
        rows=tuple(map(_cells, table)),
    )


def _ends(value: Value | None) -> tuple[float, ...]:
    return () if value is None else (value.gain, value.low, value.high)


def _code_of_policy(policy: Prescription) -> tuple[tuple[str, str], ...]:
    groups = [step.context for step in policy]
    return (
        ("SQL, the number of the step from 0, −1 for today's practice", _attempt(lambda: sql.case(groups))),
        ("Python, the same", _attempt(lambda: sql.python_case(groups))),
    )


# Both.


def _kicker(source: str | None, n_rows: int, about: str) -> str:
    file = f"{short(source, 200)} · " if source else ""
    return short(f"{file}{counted(n_rows, 'row')}; {about}", _SENTENCE)


def _spelled(conditions: Sequence[Proposition]) -> Conditions:
    return tuple((short(column, 200), sign, short(value, 200)) for column, sign, value in spelled(conditions))


def _answers(given: Sequence[Answer]) -> tuple[Answer, ...]:
    return tuple(replace(each, why=short(each.why, _SENTENCE)) for each in given)


def _alerts(found: SegmentList | Prescription) -> tuple[AlertView, ...]:
    return tuple(map(alert_view, found.alerts))


def _axis(scale: Scale, found: SegmentList) -> str:
    ticks = scale.ticks()
    return policy_figures.axis(scale, [found.kind.figure(tick, *ticks) for tick in ticks])


def _cells(row: Sequence[str]) -> tuple[str, ...]:
    return tuple(short(cell, _CELL) for cell in row)


def _printable(sentences: Sequence[str]) -> tuple[str, ...]:
    return tuple(short(sentence(each), _SENTENCE) for each in sentences if each)


def _attempt(write: Callable[[], str]) -> str:
    try:
        return write()
    except OptionError as error:  # a name or a value that cannot be written
        return f"not possible: {error}"


def _assumed(found: SegmentList | Prescription) -> Section:
    """Return what one assumes who acts on it."""
    question, claim = found.question, found.claim
    actions = tuple(sorted({each.column for each in _actions(found)}))
    said = {
        BY_DESIGN: "The actions are declared randomised. Effects on groups assume:",
        IDENTIFIED: "The causal graph is assumed to be right. For these roles it says:",
    }.get(claim, "Nothing is assumed about causes. Acting on it assumes:")
    randomised = tuple(name for name in question.randomised if name in actions)
    listed = assumptions(question.target, actions, found.control, randomised, found.context) if actions else ()
    return Section("Assumptions", (said,), items=tuple(short(each, _SENTENCE) for each in listed))


def _actions(found: SegmentList | Prescription) -> tuple[Proposition, ...]:
    rule = getattr(found, "rule", None)
    if rule is not None:
        conditions: tuple[Proposition, ...] = rule.conditions
        return conditions
    return tuple(each for step in found for each in step.action)  # type: ignore[union-attr]


def _again(command: str, call: str, found: SegmentList | Prescription) -> Section:
    versions = ", ".join(f"{short(name, 40)} {short(text, 40)}" for name, text in sorted(found.versions.items()))
    notes = tuple(short(f"note: {note}", _SENTENCE) for note in found.notes)
    code = (("Command line", command), ("Python", call))
    return Section("Reproduce", tuple(each for each in (*notes, versions) if each), code=code)
