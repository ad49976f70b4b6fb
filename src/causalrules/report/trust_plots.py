"""Plots of the evidence in `rule.evidence`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from causalrules.exceptions import OptionError
from causalrules.report.figure import (
    BLUE,
    GREEN,
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
from causalrules.report.rule_words import whisker

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from causalrules.result.result import Result
    from causalrules.result.rule import RuleResult

# Maximum controls in a plot, and the usual threshold for balance.
_MOST_CONTROLS, _BALANCED = 30, 0.1


def honest(rules: Result, ax: Axes | None = None) -> Axes:
    """Plot the effects on the searched rows, and on held-out rows of the rules that were measured there.

    The line on the searched rows reaches to the bound, on held-out rows it is an interval.
    """
    measured = [
        rule.evidence.honest for rule in rules if rule.evidence is not None and rule.evidence.honest is not None
    ]
    if len(measured) != len(rules) or not measured:
        raise OptionError("no effects on held-out rows; call rules.cross_fit(), or discover(holdout=0.5)")
    labels, common = rule_labels(rules)
    ax = axes(ax, height=1.3 + rows_height(labels))
    low, high = np.array([whisker(rule) for rule in rules]).T
    honest = [(each.effect, each.low, each.high) if each.own else (None,) * 3 for each in measured]
    plotted: dict[str, Any] = {
        "rule": [rule.text for rule in rules],
        "effect": np.array([rule.effect for rule in rules]),
        **dict(zip(("honest_effect", "honest_low", "honest_high"), np.array(honest, float).T, strict=True)),
    }
    places = np.arange(len(rules))
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.hlines(places - 0.14, low, high, color=GREY, linewidth=1.2)
    ax.scatter(
        plotted["effect"], places - 0.14, marker="o", s=24, facecolors="none", edgecolors=GREY, label="searched rows"
    )
    ax.hlines(places + 0.14, plotted["honest_low"], plotted["honest_high"], color=BLUE, linewidth=1.6)
    ax.scatter(plotted["honest_effect"], places + 0.14, marker="s", s=26, color=BLUE, label="held-out rows", zorder=3)
    name_rows(ax, labels)
    ax.set_xlabel(f"{rules.noun}\n{common}".strip(), parse_math=False, loc="right" if common else None)
    legend(ax, 2)
    return finish(ax, plotted)


def bias(rule: RuleResult, ax: Axes | None = None) -> Axes:
    """Plot which confounders explain the effect away: those above the lines, by their two risk ratios.

    A confounder with risk ratios r and s shifts a risk ratio by at most r·s/(r + s − 1). On the solid line that equals
    the rule's risk ratio, on the dashed line the end of its interval. The measured controls are shown for comparison.
    """
    found = rule.evidence.sensitivity if rule.evidence is not None else None
    if found is None or not found.risk_ratio or not found.limit or not found.e_value or not found.e_value_limit:
        raise OptionError("no E-values yet; call rules.sensitivity() first (they need a binary outcome)")
    ax = axes(ax, height=4.2, width=5.2)
    ratios = [max(ratio, 1 / ratio) for ratio in (found.risk_ratio, found.limit)]
    controls = found.controls
    with_rule, with_outcome = (
        np.array([getattr(control, name) for control in controls], float) for name in ("with_rule", "with_outcome")
    )
    most = 1.15 * max(found.e_value * 1.6, *with_rule.tolist(), *with_outcome.tolist(), 2.0)
    plotted: dict[str, Any] = {
        "control": [control.control for control in controls],
        "with_rule": with_rule,
        "with_outcome": with_outcome,
        "e_value": found.e_value,
        "e_value_limit": found.e_value_limit,
    }
    for ratio, style, words in zip(ratios, ("-", "--"), ("for the estimate", "for the interval"), strict=True):
        if ratio > 1:
            r = np.geomspace(ratio * 1.0001, most * 4, 300)
            ax.plot(r, ratio * (r - 1) / (r - ratio), style, color=BLUE, label=words)
    for value in (found.e_value, found.e_value_limit):
        ax.plot([value], [value], "o", color=BLUE, markersize=5)
    ax.scatter(
        plotted["with_rule"], plotted["with_outcome"], marker="D", color=ORANGE, s=30, label="controls", zorder=3
    )
    for control, place in zip(controls, zip(with_rule.tolist(), with_outcome.tolist(), strict=True), strict=True):
        ax.annotate(
            label(control.control, 20), place, textcoords="offset points", xytext=(6, 4), fontsize=8, parse_math=False
        )
    ax.set_xlim(1, most)
    ax.set_ylim(1, most)
    ax.set_xlabel("risk ratio of the confounder with the rule")
    ax.set_ylabel("risk ratio of the confounder with the outcome")
    legend(ax, 3)
    return finish(ax, plotted)


def stability(rules: Result, ax: Axes | None = None) -> Axes:
    """Plot how often each condition is in one of the best rules of a sample."""
    run = rules.evidence.stability if rules.evidence is not None else None
    if run is None:
        raise OptionError("stability was not measured yet; call rules.stability() first")
    ax = axes(ax, height=1.0 + 0.28 * len(run.conditions))
    names = []
    for condition in run.conditions:
        ends = [end for end in (condition.low, condition.high) if end is not None]
        names.append(label(f"{condition.condition} {' to '.join(dict.fromkeys(ends))}".strip()))
    shares = np.array([condition.share for condition in run.conditions])
    ax.barh(range(len(names)), 100 * shares, height=0.6, color=GREEN)
    name_rows(ax, names)
    ax.set_xlim(0, 100)
    ax.set_xlabel(f"% of {run.replicates} samples with the condition in one of their best rules")
    return finish(ax, {"condition": [condition.condition for condition in run.conditions], "share": shares})


def conditions(rules: Result, ax: Axes | None = None) -> Axes:
    """Plot the p-value of each condition: those to the right of the line are not shown to matter beside the rest."""
    tested = [
        (place, rule, rule.evidence.conditions)
        for place, rule in enumerate(rules, 1)
        if rule.evidence is not None and rule.evidence.conditions is not None
    ]
    if not tested:
        raise OptionError("conditions were not tested yet; call rules.trust() first")
    found = [(place, each) for place, rule, _ in tested for each in rule.conditions if each.p_value is not None]
    names = [f"{place}: {label(each.text)}" for place, each in found]
    level = tested[0][2].level
    plotted: dict[str, Any] = {
        "rule": [place for place, _ in found],
        "condition": [each.text for _, each in found],
        "p_value": np.array([each.p_value for _, each in found], float),
        "level": level,
    }
    ax = axes(ax, height=1.2 + 0.28 * len(names))
    needed = plotted["p_value"] <= level
    places = np.arange(len(names))
    ax.axvline(level, color=GREY, linewidth=0.8, linestyle=":")
    ax.scatter(plotted["p_value"][needed], places[needed], color=BLUE, marker="o", s=26, label="earns its place")
    ax.scatter(
        plotted["p_value"][~needed],
        places[~needed],
        facecolors="none",
        edgecolors=ORANGE,
        marker="s",
        s=26,
        label="not shown to matter beside the rest",
    )
    ax.set_xscale("log")
    ax.set_xlim(right=1.3)
    name_rows(ax, names)
    ax.set_xlabel(f"p of the condition, adjusted within its rule; dotted: {level:g}")
    legend(ax, 2)
    return finish(ax, plotted)


def propensity(rules: Result, ax: Axes | None = None) -> Axes:
    """Plot the propensities of the first rule on both sides, given the controls."""
    found = rules[0].evidence.doubly_robust if len(rules) and rules[0].evidence is not None else None
    if found is None or not any(map(sum, found.propensities)):
        raise OptionError("no propensities yet; call rules.doubly_robust() first")
    ax = axes(ax, height=3.2)
    edges = np.linspace(0, 1, len(found.propensities[0]) + 1)
    shares = [np.array(side) / max(sum(side), 1) for side in found.propensities]
    for share, colour, words in zip(shares, (BLUE, ORANGE), ("rule holds", "compared with"), strict=True):
        ax.stairs(100 * share, edges, color=colour, linewidth=1.6, fill=False, label=words)
    ax.set_xlim(0, 1)
    ax.set_xlabel("probability that the rule holds, given the controls")
    ax.set_ylabel("% of rows")
    legend(ax, 2)
    return finish(ax, {"edges": edges, "rule": shares[0], "compared": shares[1]})


def balance(rules: Result, ax: Axes | None = None) -> Axes:
    """Plot the standardised mean differences of the controls on both sides of the first rule."""
    if not len(rules):
        raise OptionError("there is no rule")
    table = rules[0].balance()
    names = table["control"][:_MOST_CONTROLS]
    ax = axes(ax, height=1.3 + 0.26 * len(names))
    ax.axvline(0, color=GREY, linewidth=0.8)
    for end in (-_BALANCED, _BALANCED):
        ax.axvline(end, color=GREY, linewidth=0.8, linestyle=":")
    styles = {"before": (GREY, "o", "unadjusted"), "strata": (BLUE, "s", "in strata"), "weighted": (GREEN, "D", "AIPW")}
    plotted: dict[str, Any] = {"control": names}
    for column, (colour, marker, words) in styles.items():
        plotted[column] = np.array(table[column][: len(names)], float)
        if not np.isnan(plotted[column]).all():
            ax.scatter(plotted[column], range(len(names)), color=colour, marker=marker, s=26, label=words, zorder=3)
    name_rows(ax, [label(name) for name in names])
    ax.set_xlabel("standardised mean difference")
    legend(ax, 3)
    return finish(ax, plotted)


def first_bias(rules: Result, ax: Axes | None = None) -> Axes:
    """Plot which confounders explain the first rule away."""
    return bias(rules[0], ax)
