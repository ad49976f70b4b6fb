"""Small figures of groups and policies as SVG, which need no script: places are in percent, so that they fit any width.

Colours are those of the report where its style is there, else the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from causalrules.report import policy_words
from causalrules.report.policy_words import Gains

if TYPE_CHECKING:
    from causalrules.policy.segments import Segment, SegmentList
    from causalrules.policy.steps import Prescription, Value

BLUE, ORANGE, GREY, LINE, PAPER = (
    f"var(--{name}, {colour})"
    for name, colour in (
        ("blue", "#0072b2"),
        ("orange", "#c24f00"),
        ("grey", "#6b7683"),
        ("line", "#dbe2e9"),
        ("paper", "#ffffff"),
    )
)
# What is left free on both sides of an axis, in percent, and the number of ticks to aim at.
_MARGIN, _TICKS = 4.0, 4


@dataclass(frozen=True)
class Scale:
    """A linear axis from low to high.

    >>> Scale(0.0, 0.3).x(0.15), Scale(0.0, 0.3).ticks()
    ('50.0%', (0.0, 0.1, 0.2, 0.3))
    """

    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Scale:
        """Return an axis with 0 and all values that are finite."""
        finite = [0.0, *(value for value in values if math.isfinite(value))]
        low, high = min(finite), max(finite)
        return cls(low, high) if high > low else cls(low, low + 1.0)

    def place(self, value: float) -> float:
        """Return the place of a value in percent; values off the axis are at its ends."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return _MARGIN + (100 - 2 * _MARGIN) * share

    def x(self, value: float) -> str:
        """Return the place of a value as a length."""
        return f"{self.place(value):.1f}%"

    def ticks(self) -> tuple[float, ...]:
        """Return round numbers on the axis."""
        raw = (self.high - self.low) / _TICKS
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(each * power for each in (1, 2, 5, 10) if each * power >= raw * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return tuple(round(number * step, 12) + 0.0 for number in range(first, last + 1))


def scale_of(found: SegmentList) -> Scale:
    """Return the axis of the effects inside and outside of all groups."""
    listed = found.segments or ((found.candidate,) if found.candidate is not None else ())
    ends = [end for each in listed for end in (each.effect, each.low, each.high, each.outside)]
    return Scale.of([found.effect, found.low, found.high, *ends])


def forest(segment: Segment, found: SegmentList, scale: Scale) -> str:
    """Draw the effect inside with its interval, that outside, and a line at that on everybody."""
    kind = found.kind
    said = f"inside {policy_words.inside(segment, kind)}, outside {kind.figure(segment.outside)}"
    colour = BLUE if segment.stands_out else GREY
    marks = _vertical(scale.x(0.0), LINE) + _vertical(scale.x(found.effect), GREY, "3 3")
    marks += _between(scale, segment.low, segment.high, colour)
    return _svg(marks + _hollow(scale.x(segment.outside)) + _dot(scale.x(segment.effect), colour), said)


def point(value: float, scale: Scale, said: str, everybody: float | None = None) -> str:
    """Draw a number without an interval, and a line at 0 and, if given, at the effect on everybody."""
    return _svg(_lines(scale, everybody) + _hollow(scale.x(value)), said)


def interval(value: float, low: float, high: float, scale: Scale, said: str, everybody: float | None = None) -> str:
    """Draw a number with its interval, and the same lines."""
    return _svg(_lines(scale, everybody) + _between(scale, low, high, BLUE) + _dot(scale.x(value), BLUE), said)


def both(value: float | None, held_out: Value | None, scale: Scale, said: str) -> str:
    """Draw a gain on all rows, and the gain on held-out rows with its interval."""
    marks = _lines(scale, None)
    if held_out is not None:
        marks += _between(scale, held_out.low, held_out.high, BLUE) + _dot(scale.x(held_out.gain), BLUE)
    return _svg(marks + ("" if value is None else _hollow(scale.x(value))), said)


def bar(value: float, largest: float, said: str, colour: str = BLUE) -> str:
    """Draw a level as a bar."""
    width = 0.0 if math.isnan(value) or not largest else 100 * min(abs(value) / largest, 1.0)
    track = f'<rect width="100%" height="18" y="4" style="fill:{LINE};opacity:.6"/>'
    return _svg(f'{track}<rect width="{width:.1f}%" height="18" y="4" style="fill:{colour}"/>', said)


def stairs(policy: Prescription) -> tuple[Scale, list[str]]:
    """Draw the gain of each step from where the steps above end; return the axis too."""
    ends = [0.0]
    for step in policy:
        ends.append(ends[-1] + step.gain)
    scale, gains = Scale.of(ends), Gains(policy)
    drawn = []
    for step, begin, end in zip(policy, ends, ends[1:], strict=False):
        left, right = sorted((scale.place(begin), scale.place(end)))
        colour = BLUE if step.gain >= 0 else ORANGE
        mark = f'<rect x="{left:.1f}%" width="{max(right - left, 0.4):.1f}%" y="4" height="18" style="fill:{colour}"/>'
        until = _vertical(scale.x(end), GREY, "3 3") if step is not policy[-1] else ""
        drawn.append(_svg(_vertical(scale.x(0.0), GREY) + until + mark, gains.figure(step.gain)))
    return scale, drawn


def axis(scale: Scale, labels: Iterable[str]) -> str:
    """Draw the ticks of an axis with their labels, which screen readers need not read."""
    style = f"font-size:11px;font-weight:400;fill:{GREY}"
    marks = "".join(
        f'<text x="{scale.x(tick)}" y="12" text-anchor="middle" style="{style}">{escape(label)}</text>'
        for tick, label in zip(scale.ticks(), policy_words.labels(list(labels)), strict=True)
    )
    return f'<svg class="axis" width="100%" height="16" aria-hidden="true">{marks}</svg>'


def _lines(scale: Scale, everybody: float | None) -> str:
    known = "" if everybody is None else _vertical(scale.x(everybody), GREY, "3 3")
    return _vertical(scale.x(0.0), LINE) + known


def _dot(x: str, colour: str) -> str:
    return f'<circle cx="{x}" cy="13" r="5" style="fill:{colour}"/>'


def _hollow(x: str) -> str:
    return f'<circle cx="{x}" cy="13" r="4.5" style="fill:{PAPER};stroke:{GREY};stroke-width:2"/>'


def _between(scale: Scale, low: float, high: float, colour: str) -> str:
    if math.isnan(low) or math.isnan(high):
        return ""
    endless = ";stroke-dasharray:4 3" if math.isinf(low) or math.isinf(high) else ""
    ends = f'x1="{scale.x(low)}" x2="{scale.x(high)}" y1="13" y2="13"'
    return f'<line {ends} style="stroke:{colour};stroke-width:2{endless}"/>'


def _vertical(x: str, colour: str, dashes: str = "") -> str:
    dashed = f";stroke-dasharray:{dashes}" if dashes else ""
    return f'<line x1="{x}" x2="{x}" y1="0" y2="26" style="stroke:{colour};stroke-width:1{dashed}"/>'


def _svg(marks: str, said: str) -> str:
    return f'<svg class="small" width="100%" height="26" role="img" aria-label="{escape(said)}">{marks}</svg>'
