"""Plots of rules. Each takes an Axes or makes one, returns it, and leaves the numbers it shows in `ax.plotted`.

The colours are those of Okabe and Ito, which colour-blind readers can tell apart; shapes and line styles say the same
again for print in black and white. Names come from strangers: they are shown as they are, never as mathematics.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from causalrules.exceptions import OptionError
from causalrules.result.similarity import shared_rows
from causalrules.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from causalrules.result.rule import RuleResult
    from causalrules.result.rules import RuleSet

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#767676"
_WIDTH = 7.0  # inches: two columns of a journal
_LONGEST_LABEL = 48
_MOST_STRATA = 30


def plot(rules: RuleSet, kind: str = "effects", ax: Axes | None = None) -> Axes:
    """Plot a list of rules in the way that `kind` names."""
    from causalrules.report import evidence_plots  # which is drawn with the means of this module

    kinds = {
        "effects": effects,
        "coverage": coverage,
        "overlap": overlap,
        "convergence": convergence,
        "graph": graph,
        "honest": evidence_plots.honest,
        "stability": evidence_plots.stability,
        "bias": evidence_plots.first_bias,
    }
    if kind not in kinds:
        raise OptionError(f"no plot {kind!r}; the plots are {', '.join(map(repr, kinds))}")
    return kinds[kind](rules, ax)


def effects(rules: RuleSet, ax: Axes | None = None) -> Axes:
    """Plot the adjusted effects with their 95 % intervals, the reliable ones, and those without adjusting."""
    ax = _axes(ax, height=1.3 + 0.34 * max(len(rules), 1))
    low, high = np.array([rule.interval for rule in rules]).reshape(-1, 2).T
    plotted: dict[str, Any] = {
        "rule": [rule.text for rule in rules],
        "effect": np.array([rule.effect for rule in rules]),
        "interval_low": low,
        "interval_high": high,
        "reliable_effect": np.array([rule.reliable_effect for rule in rules]),
        "marginal_effect": np.array([rule.marginal_effect for rule in rules]),
    }
    places = np.arange(len(rules))
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.hlines(places, low, high, color=BLUE, linewidth=1.4)
    ax.scatter(
        plotted["effect"], places, marker="o", s=30, color=BLUE, label=f"{_adjusted(rules)}, 95 % interval", zorder=3
    )
    ax.scatter(
        plotted["reliable_effect"], places, marker="|", s=110, linewidths=2.2, color=ORANGE, label="reliable", zorder=4
    )
    if rules.question.control:
        ax.scatter(
            plotted["marginal_effect"],
            places,
            marker="D",
            s=26,
            facecolors="none",
            edgecolors=GREY,
            label="not adjusted",
            zorder=2,
        )
    _name_rows(ax, [f"{place}.  {label(rule.text)}" for place, rule in enumerate(rules, 1)])
    ax.set_xlabel(f"difference in the probability of {label(rules.question.outcome)}", parse_math=False)
    _legend(ax, 3)
    return _done(ax, plotted)


def strata(rule: RuleResult, ax: Axes | None = None) -> Axes:
    """Plot for each stratum how often the outcome occurs where the rule holds and where it does not."""
    largest = sorted(rule.strata, key=lambda stratum: -stratum.n)[:_MOST_STRATA]
    ax = _axes(ax, height=1.3 + 0.34 * len(largest))
    plotted: dict[str, Any] = {
        "stratum": [stratum_name(stratum.labels) for stratum in largest],
        "p_rule": np.array([stratum.p_rule for stratum in largest]),
        "p_not_rule": np.array([stratum.p_not_rule for stratum in largest]),
        "n": np.array([stratum.n for stratum in largest]),
        "overlap": np.array([stratum.overlap for stratum in largest]),
    }
    places = np.arange(len(largest))
    size = 20 + 160 * plotted["n"] / max(plotted["n"].max(), 1)
    both = plotted["overlap"]
    ax.hlines(places[both], plotted["p_not_rule"][both], plotted["p_rule"][both], color=GREY, linewidth=1)
    ax.scatter(
        plotted["p_not_rule"],
        places,
        s=size,
        marker="o",
        facecolors="white",
        edgecolors=ORANGE,
        linewidths=1.4,
        label="rule does not hold",
        zorder=3,
    )
    ax.scatter(plotted["p_rule"], places, s=size, marker="o", color=BLUE, label="rule holds", zorder=3)
    if not both.all():
        alone = np.where(np.isnan(plotted["p_rule"]), plotted["p_not_rule"], plotted["p_rule"])[~both]
        ax.scatter(alone, places[~both], s=46, marker="x", color="black", label="one side only", zorder=4)
    _name_rows(ax, [f"{label(name)}  (n = {n:,})" for name, n in zip(plotted["stratum"], plotted["n"], strict=True)])
    ax.set_xlim(-0.04, 1.04)
    shown = "" if len(largest) == len(rule.strata) else f"; the {len(largest)} largest of {len(rule.strata):,} strata"
    ax.set_xlabel(f"share of the rows with the outcome{shown}")
    _legend(ax, 3)
    return _done(ax, plotted)


def coverage(rules: RuleSet, ax: Axes | None = None) -> Axes:
    """Plot how many rows each rule covers against its reliable and its adjusted effect."""
    ax = _axes(ax, height=4.0)
    plotted: dict[str, Any] = {
        "rule": [rule.text for rule in rules],
        "coverage": np.array([rule.coverage for rule in rules]),
        "reliable_effect": np.array([rule.reliable_effect for rule in rules]),
        "effect": np.array([rule.effect for rule in rules]),
    }
    share = 100 * plotted["coverage"]
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.vlines(share, plotted["reliable_effect"], plotted["effect"], color=GREY, linewidth=0.8)
    ax.scatter(share, plotted["effect"], marker="o", s=30, color=BLUE, label=_adjusted(rules), zorder=3)
    ax.scatter(share, plotted["reliable_effect"], marker="s", s=26, color=ORANGE, label="reliable", zorder=3)
    for place, (x, y) in enumerate(zip(share, plotted["reliable_effect"], strict=True), 1):
        if place <= _MOST_STRATA:
            ax.annotate(str(place), (x, y), textcoords="offset points", xytext=(0, -11), ha="center", fontsize=8)
    ax.set_xlabel("rows that the rule covers, in percent; the numbers are places in the list")
    ax.set_ylabel("difference in probability")
    _legend(ax, 2)
    return _done(ax, plotted)


def overlap(rules: RuleSet, ax: Axes | None = None) -> Axes:
    """Plot for each two rules how much of the rows that one of them covers both cover."""
    matrix = shared_rows(rules)
    ax = _axes(ax, height=0.8 + 0.34 * max(len(rules), 4), width=1.2 + 0.36 * max(len(rules), 6))
    ax.imshow(matrix, cmap="Blues", vmin=0, vmax=1.25, aspect="auto")
    numbers = [str(place) for place in range(1, len(rules) + 1)]
    ax.set_xticks(range(len(rules)), numbers)
    ax.set_yticks(range(len(rules)), numbers)
    if len(rules) <= _MOST_STRATA:
        for (row, column), value in np.ndenumerate(matrix):
            ink = "white" if value > 0.75 else "black"
            number = ax.text(column, row, f"{100 * value:.0f}", ha="center", va="center", fontsize=8, color=ink)
            number.set_in_layout(False)  # they are inside in any case, and there are many
    ax.set_xlabel("rows in common, in percent of those that either rule covers")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return _done(ax, {"rule": [rule.text for rule in rules], "shared": matrix}, grid=False)


def convergence(rules: RuleSet, ax: Axes | None = None) -> Axes:
    """Plot the best rule so far, and what no rule can exceed, over the time of the search."""
    if not rules.history:
        raise OptionError("this result was read from a file, without the course of the search; search again to plot it")
    ax = _axes(ax, height=3.2)
    plotted: dict[str, Any] = {
        "seconds": np.array([step.seconds for step in rules.history]),
        "best": np.array([math.nan if step.best is None else step.best for step in rules.history]),
        "upper_bound": np.array(
            [step.upper_bound if math.isfinite(step.upper_bound) else math.nan for step in rules.history]
        ),
    }
    # Most searches end in one step, where there is no line to see.
    for name, colour, style, face, size in (("upper_bound", ORANGE, "s--", "none", 8), ("best", BLUE, "o-", BLUE, 4)):
        ax.step(
            plotted["seconds"],
            plotted[name],
            style,
            color=colour,
            where="post",
            label=name.replace("_", " "),
            markerfacecolor=face,
            markersize=size,
            markevery=max(1, len(rules.history) // 12),
        )
    ax.set_xlim(left=0)
    ax.set_xlabel("seconds")
    ax.set_ylabel(rules.question.estimator)
    _legend(ax, 2)
    return _done(ax, plotted)


def graph(rules: RuleSet, ax: Axes | None = None) -> Axes:
    """Plot the causal graph that the roles were checked by, with the roles and what breaks a criterion."""
    if rules.graph is None:
        raise OptionError("there is no causal graph to plot; pass one to discover(graph=…)")
    from causalrules.report.drawing import plot_graph  # which is drawn with the means of this module

    return plot_graph(rules.graph, rules.admissibility, ax)


def label(text: str, longest: int = _LONGEST_LABEL) -> str:
    """A name or rule as a plot shows it: on one line and no longer than there is room."""
    plain = printable(text)
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"


def stratum_name(labels: Mapping[str, str]) -> str:
    """The stratum in words, such as "size = small"."""
    return ", ".join(f"{name} = {value}" for name, value in labels.items()) or "all rows"


def _adjusted(rules: RuleSet) -> str:
    """The word for the estimates, which are adjusted only where there are controls."""
    return "adjusted" if rules.question.controls else rules.noun


def _axes(ax: Axes | None, height: float, width: float = _WIDTH) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, min(height, 40.0)), layout="constrained")[1]


def _name_rows(ax: Axes, names: Sequence[str]) -> None:
    ax.set_yticks(range(len(names)), names, parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)


def _legend(ax: Axes, columns: int) -> None:
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=columns, frameon=False, fontsize=8, borderaxespad=0.2)


def _done(ax: Axes, plotted: Mapping[str, Any], grid: bool = True) -> Axes:
    if grid:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="x", color=GREY, alpha=0.25, linewidth=0.6)
        ax.set_axisbelow(True)
    ax.plotted = plotted  # type: ignore[attr-defined]
    return ax
