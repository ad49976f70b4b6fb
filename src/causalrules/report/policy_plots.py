"""Plots of groups and of policies. Each takes an Axes or makes one, and stores the numbers it shows in `ax.plotted`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from causalrules.exceptions import OptionError
from causalrules.report import policy_words
from causalrules.report.figure import BLUE, GREY, ORANGE, axes, finish, label, legend, name_rows, rows_height
from causalrules.report.policy_words import Gains
from causalrules.report.rule_text import wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from causalrules.policy.segments import SegmentList
    from causalrules.policy.steps import Prescription

# Characters per line of a name, and of all of it.
_MAX_LINE, _MAX_NAME = 40, 190


def plot_segments(found: SegmentList, kind: str = "forest", ax: Axes | None = None) -> Axes:
    """Implement `Segments.plot`."""
    _require(kind, "forest")
    return forest(found, ax)


def plot_policy(policy: Prescription, kind: str = "staircase", ax: Axes | None = None) -> Axes:
    """Implement `Policy.plot`."""
    _require(kind, "staircase")
    return staircase(policy, ax)


def _require(kind: str, known: str) -> None:
    if kind != known:
        raise OptionError(f"no plot {kind!r}; there is {known!r}")


def forest(found: SegmentList, ax: Axes | None = None) -> Axes:
    """Plot the effect inside each group, with its simultaneous interval, and outside, and that on everybody.

    Where no group stands out, the nearest is grey.
    """
    shown = found.segments or ((found.candidate,) if found.candidate is not None else ())
    if not shown:
        raise OptionError("no group can be compared with the others, so there is none to plot")
    names = [_name(policy_words.place_of(place, each)) for place, each in enumerate(shown)]
    ax = axes(ax, height=1.3 + rows_height(names))
    plotted: dict[str, Any] = {
        "group": [each.text for each in shown],
        "effect": np.array([each.effect for each in shown]),
        "low": np.array([each.low for each in shown]),
        "high": np.array([each.high for each in shown]),
        "outside": np.array([each.outside for each in shown]),
        "everybody": np.array([found.effect]),
    }
    places, colour, unit = np.arange(len(shown)), BLUE if found.segments else GREY, found.kind.scale
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.axvline(unit * found.effect, color=GREY, linewidth=1.2, linestyle="--", label="everybody")
    finite = np.isfinite(plotted["low"]) & np.isfinite(plotted["high"])
    ax.hlines(
        places[finite], unit * plotted["low"][finite], unit * plotted["high"][finite], color=colour, linewidth=1.6
    )
    inside = "inside, interval for all groups tried" if found.segments else "inside (not shown to differ)"
    ax.scatter(unit * plotted["effect"], places, marker="o", s=34, color=colour, label=inside, zorder=3)
    ax.scatter(
        unit * plotted["outside"],
        places,
        marker="o",
        s=30,
        facecolors="white",
        edgecolors=ORANGE if found.segments else GREY,
        label="outside",
        zorder=3,
    )
    name_rows(ax, names)
    of = f"{policy_words.noun(found.claim)} of {label(found.action_text)} on {label(found.question.outcome)}"
    ax.set_xlabel(f"{of}{found.kind.in_units}", parse_math=False)
    legend(ax, 3)
    return finish(ax, plotted)


def staircase(policy: Prescription, ax: Axes | None = None) -> Axes:
    """Plot what each step adds to the gain over today's practice."""
    if not policy.steps:
        raise OptionError("no staircase: it needs a policy in which a step stands out")
    gains = Gains(policy)
    names = [_name(policy_words.step_text(place, step, policy)) for place, step in enumerate(policy)]
    names.append("together")
    ax = axes(ax, height=1.3 + rows_height(names))
    gain = np.array([step.gain for step in policy])
    plotted: dict[str, Any] = {"step": [step.text for step in policy], "gain": gain, "total": np.array([policy.gain])}
    scale = 1000.0 if gains.binary else 1.0
    begins = scale * np.concatenate([[0.0], np.cumsum(gain)[:-1], [0.0]])
    widths = scale * np.append(gain, policy.gain)
    places, colours = np.arange(len(names)), [BLUE if each >= 0 else ORANGE for each in gain]
    ax.barh(places, widths, left=begins, height=0.55, color=[*colours, GREY], zorder=2)
    ends = begins + widths
    ax.vlines(ends[:-1], places[:-1], places[1:], color=GREY, linewidth=0.8, zorder=1)
    for place, end, each in zip(places, np.maximum(ends, begins), [*gain, policy.gain], strict=True):
        ax.annotate(f" {gains.figure(float(each))}", (end, place), va="center", fontsize=9)
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.margins(x=0.12)
    name_rows(ax, names)
    net = ", net of costs" if policy.question.cost else ""
    ax.set_xlabel(f"gain {gains.unit} over today{net} ({label(policy.question.outcome)})", parse_math=False)
    return finish(ax, plotted)


def _name(text: str) -> str:
    return "\n".join(wrap(label(text, _MAX_NAME), _MAX_LINE, 4))
