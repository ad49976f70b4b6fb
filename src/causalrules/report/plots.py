"""Plots of rules. Each takes an Axes or makes one, returns it, and stores the numbers it shows in `ax.plotted`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from causalrules.exceptions import OptionError
from causalrules.report import drawing, trust_plots
from causalrules.report.figure import (
    BLUE,
    GREY,
    ORANGE,
    axes,
    finish,
    label,
    legend,
    name_rows,
    rows_height,
    rule_labels,
)
from causalrules.report.result_words import has_bounds, rung_names
from causalrules.report.rule_text import wrap
from causalrules.report.rule_words import least, stratum_name, whisker
from causalrules.text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from causalrules.result.result import Result
    from causalrules.result.rule import RuleResult

_MOST_STRATA = 30
# Characters per line of the name of a step.
_MAX_STEP = 40
# Above this many rules, numbers in a plot are not readable.
_MOST_NUMBERS = 30


def plot(rules: Result, kind: str = "effects", ax: Axes | None = None, rule: int = 0) -> Axes:
    """Implement `RuleSet.plot`."""
    kinds = {
        "effects": effects,
        "staircase": staircase,
        "coverage": coverage,
        "front": front,
        "convergence": convergence,
        "graph": graph,
        "honest": trust_plots.honest,
        "conditions": trust_plots.conditions,
        "stability": trust_plots.stability,
        "bias": trust_plots.first_bias,
        "propensity": trust_plots.propensity,
        "balance": trust_plots.balance,
    }
    if kind == "strata":
        return strata(_chosen(rules, rule), ax)
    if kind not in kinds:
        raise OptionError(f"no plot {kind!r}; the plots are {', '.join(map(repr, [*kinds, 'strata']))}")
    return kinds[kind](rules, ax)


def _chosen(rules: Result, place: int) -> RuleResult:
    if not -len(rules) <= place < len(rules):
        raise OptionError(
            f"the list has {counted(len(rules), 'rule')}, counted from 0", parameter="rule", value=str(place)
        )
    return rules[place]


def effects(rules: Result, ax: Axes | None = None) -> Axes:
    """Plot the adjusted effects with bounds, or with 95 % intervals if named in advance, and the unadjusted ones."""
    labels, common = rule_labels(rules)
    ax = axes(ax, height=1.3 + rows_height(labels))
    low, high = np.array([whisker(rule) for rule in rules]).reshape(-1, 2).T
    plotted: dict[str, Any] = {
        "rule": [rule.text for rule in rules],
        "effect": np.array([rule.effect for rule in rules]),
        **({"interval_low": low, "interval_high": high} if rules.is_named else {"at_least": _bounds(rules)}),
        "marginal_effect": np.array([rule.marginal_effect for rule in rules]),
    }
    places = np.arange(len(rules))
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.hlines(places, low, high, color=BLUE, linewidth=1.4)
    name = f"{_adjusted(rules)}, 95 % interval" if rules.is_named else _adjusted(rules)
    ax.scatter(plotted["effect"], places, marker="o", s=30, color=BLUE, label=name, zorder=3)
    if has_bounds(rules):
        ax.scatter(
            plotted["at_least"],
            places,
            marker="|",
            s=110,
            linewidths=2.2,
            color=ORANGE,
            label=f"{least(rules)}, after the search",
            zorder=4,
        )
    if rules.question.control:
        ax.scatter(
            plotted["marginal_effect"],
            places,
            marker="D",
            s=26,
            facecolors="none",
            edgecolors=GREY,
            label="unadjusted",
            zorder=2,
        )
    name_rows(ax, labels)
    measured = f"difference in the {rules.kind.of(label(rules.question.outcome))}"
    ax.set_xlabel(f"{measured}\n{common}".strip(), parse_math=False, loc="right" if common else None)
    legend(ax, 3)
    return finish(ax, plotted)


def _bounds(rules: Result) -> Any:
    """Return the bounds of the rules; nan for those without one."""
    return np.array([math.nan if rule.at_least is None else rule.at_least for rule in rules])


def staircase(rules: Result, ax: Axes | None = None) -> Axes:
    """Plot the adjusted level of the outcome where none of the rules holds, only the first, and so on."""
    if len(rules.rungs) < 2:
        raise OptionError("no staircase: it needs a list in which a rule stands out")
    names = [
        "\n".join(wrap(label(each, 190), _MAX_STEP, 4)) + f"  (n = {rung.n_rows:,})"
        for each, rung in zip(rung_names(rules), rules.rungs, strict=True)
    ]
    ax = axes(ax, height=1.3 + rows_height(names))
    unit = rules.kind.scale
    plotted: dict[str, Any] = {
        "holds": rung_names(rules),
        "level": np.array([rung.level for rung in rules.rungs]),
        "n": np.array([rung.n_rows for rung in rules.rungs]),
    }
    level, places = unit * plotted["level"], np.arange(len(names))
    ax.barh(places, level, height=0.55, color=[GREY, *[BLUE] * (len(names) - 1)], zorder=2)
    ax.vlines(level[:-1], places[:-1], places[1:], color=GREY, linewidth=0.8, zorder=1)
    for place, value in zip(places, level, strict=True):
        text = rules.kind.level(value / unit)
        ax.annotate(f" {text}", (max(value, 0.0), place), va="center", fontsize=9)
    ax.margins(x=0.12)
    name_rows(ax, names)
    ax.set_xlabel(f"{rules.kind.on_axis(label(rules.question.outcome))}, adjusted", parse_math=False)
    return finish(ax, plotted)


def strata(rule: RuleResult, ax: Axes | None = None) -> Axes:
    """Plot the share of rows with the outcome in each stratum, where the rule holds and where it does not."""
    largest = sorted(rule.strata, key=lambda stratum: -stratum.n)[:_MOST_STRATA]
    named = ["\n".join(wrap(label(stratum_name(each.labels), 190), 48, 4)) + f"  (n = {each.n:,})" for each in largest]
    ax = axes(ax, height=1.3 + rows_height(named))
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
        ax.scatter(alone, places[~both], s=46, marker="x", color="black", label="no comparison group", zorder=4)
    name_rows(ax, named)
    if rule.kind.binary:
        ax.set_xlim(-0.04, 1.04)
    shown = "" if len(largest) == len(rule.strata) else f"; the {len(largest)} largest of {len(rule.strata):,} strata"
    ax.set_xlabel(f"{rule.kind.of_a_stratum}{shown}")
    legend(ax, 3)
    return finish(ax, plotted)


def coverage(rules: Result, ax: Axes | None = None) -> Axes:
    """Plot the conservative and adjusted effects against the coverage."""
    ax = axes(ax, height=4.0)
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
    ax.scatter(
        share,
        plotted["reliable_effect"],
        marker="s",
        s=26,
        color=ORANGE,
        label="conservative: less a margin for chance",
        zorder=3,
    )
    for place, (x, y) in enumerate(zip(share, plotted["reliable_effect"], strict=True), 1):
        if place <= _MOST_NUMBERS:
            ax.annotate(str(place), (x, y), textcoords="offset points", xytext=(0, -11), ha="center", fontsize=8)
    ax.set_xlabel("coverage (% of rows); numbers are places in the list")
    ax.set_ylabel(rules.kind.difference_of)
    legend(ax, 2)
    return finish(ax, plotted)


def front(rules: Result, ax: Axes | None = None) -> Axes:
    """Plot the best conservative effect for each coverage: stronger for fewer rows, or weaker for more rows.

    Dominated rules are faint. The front is exact for the rules of `RuleSet.frontier`.
    """
    ax = axes(ax, height=4.0)
    shares, values = (np.array([getattr(rule, name) for rule in rules]) for name in ("coverage", "value"))
    best = np.array(
        [
            not ((shares >= share) & (values >= value) & ((shares > share) | (values > value))).any()
            for share, value in zip(shares, values, strict=True)
        ],
        bool,
    )
    order = np.flatnonzero(best)[np.argsort(shares[best], kind="stable")]
    plotted: dict[str, Any] = {
        "rule": [rules[int(place)].text for place in order],
        "coverage": shares[order],
        "value": values[order],
        "effect": np.array([rules[int(place)].effect for place in order]),
    }
    share = 100 * plotted["coverage"]
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.scatter(100 * shares[~best], values[~best], marker="s", s=16, facecolors="none", edgecolors=GREY)
    ax.step(share, plotted["value"], color=ORANGE, where="pre", linewidth=1.4)
    ax.scatter(share, plotted["value"], marker="s", s=26, color=ORANGE, label=_ranked(rules), zorder=3)
    if rules.question.direction != "decrease":
        ax.scatter(share, plotted["effect"], marker="o", s=20, color=BLUE, label=_adjusted(rules), zorder=3)
    if len(order) <= _MOST_NUMBERS:
        for place, x, y in zip(order.tolist(), share, plotted["value"], strict=True):
            ax.annotate(str(place + 1), (x, y), textcoords="offset points", xytext=(0, -11), ha="center", fontsize=8)
    ax.set_xlim(left=0)
    ax.set_xlabel("coverage (% of rows); numbers are places in the list")
    ax.set_ylabel(rules.kind.difference_of)
    legend(ax, 2)
    return finish(ax, plotted)


def convergence(rules: Result, ax: Axes | None = None) -> Axes:
    """Plot the best value and the upper bound over the time of the search; each step of a list starts again."""
    if not rules.history:
        raise OptionError(
            "this result was read from a file, without the history of the search; search again to plot it"
        )
    ax = axes(ax, height=3.2)
    plotted: dict[str, Any] = {
        "seconds": np.array([each.seconds for each in rules.history]),
        "best": np.array([math.nan if each.best is None else each.best for each in rules.history]),
        "upper_bound": np.array(
            [each.upper_bound if math.isfinite(each.upper_bound) else math.nan for each in rules.history]
        ),
        "step": np.array([each.step for each in rules.history]),
    }
    begins = np.flatnonzero(np.diff(plotted["step"])) + 1
    seconds = np.insert(plotted["seconds"], begins, math.nan)
    # Markers, because most searches end in one step and have no line.
    for name, colour, style, face, size in (("upper_bound", ORANGE, "s--", "none", 8), ("best", BLUE, "o-", BLUE, 4)):
        ax.step(
            seconds,
            np.insert(plotted[name], begins, math.nan),
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
    legend(ax, 2)
    return finish(ax, plotted)


def graph(rules: Result, ax: Axes | None = None) -> Axes:
    """Plot the causal graph with the roles and the violations."""
    if rules.graph is None:
        raise OptionError("there is no causal graph to plot; pass one to discover(graph=…)")
    return drawing.plot_graph(rules.graph, rules.admissibility, ax)


def _ranked(rules: Result) -> str:
    """Return the label of the values that rules are ranked by."""
    return "conservative: less a margin for chance" if rules.question.estimator in ("pooled", "reliable") else "value"


def _adjusted(rules: Result) -> str:
    """Return the label of the estimates, which are adjusted only if there are controls."""
    return "adjusted" if rules.question.adjusts else rules.noun
