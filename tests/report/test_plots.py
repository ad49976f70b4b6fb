"""Plots show the numbers of the rules, say so on the object, and bear any name."""

from __future__ import annotations

import dataclasses
import math
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import causalrules as cr
from causalrules.exceptions import OptionError
from causalrules.graph.graph import CausalGraph
from causalrules.language.propositions import Proposition
from causalrules.report import figure
from causalrules.report.drawing import plot_graph
from causalrules.result.rule import RuleResult
from rulesets import HOSTILE, rule_set

KINDS = ["effects", "coverage", "front", "convergence"]
RULES = cr.discover(cr.datasets.titanic(library="dict"), "survived", control="sex", k=6, stepwise=False)
LADDER = cr.discover(cr.datasets.renewals(library="dict"), "renewed", control=["complaint", "tenure"])


@pytest.fixture(autouse=True)
def _no_figure_stays_open() -> Iterator[None]:
    yield
    plt.close("all")


def offsets(ax: Any, place: int) -> list[list[float]]:
    """Where the dots of a scatter are; a missing one is not there."""
    collections = [each for each in ax.collections if type(each).__name__ == "PathCollection"]
    points = np.ma.filled(collections[place].get_offsets().astype(float), math.nan)
    kept: list[list[float]] = points[~np.isnan(points).any(axis=1)].tolist()
    return kept


@pytest.mark.parametrize("kind", KINDS)
def test_a_plot_uses_the_axes_it_is_given_or_makes_its_own(kind: str) -> None:
    own = RULES.plot(kind)
    ax = Figure().add_subplot()
    assert own is not ax
    assert RULES.plot(kind, ax=ax) is ax
    assert ax.plotted.keys() == own.plotted.keys()
    own.figure.canvas.draw()


def test_effects_are_where_the_numbers_say() -> None:
    ax = RULES.plot()
    for place, name in enumerate(("effect", "at_least", "marginal_effect")):
        expected = [[getattr(rule, name), row] for row, rule in enumerate(RULES)]
        assert offsets(ax, place) == expected
        assert ax.plotted[name].tolist() == [x for x, _ in expected]
    (lines,) = [each for each in ax.collections if type(each).__name__ == "LineCollection"]
    assert [segment[:, 0].tolist() for segment in lines.get_segments()] == [
        [rule.at_least, rule.effect] for rule in RULES
    ]
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        f"{place}.  {figure.label(rule.text)}" for place, rule in enumerate(RULES, 1)
    ]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the best rule is on top


def test_without_controls_nothing_is_called_adjusted() -> None:
    rules = cr.discover(cr.datasets.titanic(library="dict"), "survived", k=2)
    for kind in ("effects", "coverage"):
        legend = [text.get_text() for text in rules.plot(kind).get_legend().get_texts()]
        other = "at least, after the search" if kind == "effects" else "conservative: less a margin for chance"
        assert legend == ["difference", other]
        assert any("adjusted" in text.get_text() for text in RULES.plot(kind).get_legend().get_texts())


def test_strata_are_sized_by_their_rows_and_marked_without_overlap() -> None:
    rule = RuleResult.from_counts(
        [Proposition("x", "=", 1)],
        [3, 0, 2],
        [1, 0, 2],
        [1, 4, 0],
        [5, 12, 0],
        [{"z": s} for s in "abc"],
        2.0,
        "reliable",
    )
    ax = rule_set(rule).plot("strata")
    assert ax.plotted["stratum"] == ["z = b", "z = a", "z = c"]  # the largest first
    assert ax.plotted["n"].tolist() == [16, 10, 4]
    assert ax.plotted["overlap"].tolist() == [False, True, False]
    without, holds, alone = (offsets(ax, place) for place in range(3))
    assert without == [[4 / 16, 0], [1 / 6, 1]]
    assert holds == [[3 / 4, 1], [2 / 4, 2]]
    assert alone == [[4 / 16, 0], [2 / 4, 2]]
    sizes = ax.collections[1].get_sizes()
    assert sizes[0] > sizes[1] > sizes[2]


def test_many_strata_are_cut_and_that_is_said() -> None:
    n = 50
    labels = [{"z": str(place)} for place in range(n)]
    rule = RuleResult.from_counts(
        [Proposition("x", "=", 1)], range(1, n + 1), [1] * n, [1] * n, [1] * n, labels, 2.0, "reliable"
    )
    ax = rule_set(rule).plot("strata")
    assert len(ax.plotted["n"]) == 30
    assert ax.plotted["n"].min() > 20
    assert "30 largest of 50 strata" in ax.get_xlabel()


def test_coverage_and_convergence_show_what_was_found() -> None:
    ax = RULES.plot("coverage")
    assert offsets(ax, 1) == [[100 * rule.coverage, rule.reliable_effect] for rule in RULES]
    ax = RULES.plot("convergence")
    bound, best = ax.get_lines()
    assert best.get_ydata()[-1] == pytest.approx(RULES[0].value, abs=1e-9)
    assert bound.get_ydata()[-1] == RULES.upper_bound
    assert bound.get_linestyle() != best.get_linestyle()


def test_the_steps_of_a_list_converge_apart() -> None:
    ax = LADDER.plot("convergence")
    assert ax.plotted["step"].tolist() == [each.step for each in LADDER.history]
    assert len(LADDER.steps) == 3
    for line in ax.get_lines():
        assert np.isnan(line.get_ydata()).sum() >= 2


def test_the_staircase_shows_the_level_of_each_step() -> None:
    ax = LADDER.plot("staircase")
    assert ax.plotted["holds"] == ["none of the rules", "call = yes ∧ discount ≥ 10", "and app = yes"]
    assert ax.plotted["level"].tolist() == [rung.level for rung in LADDER.rungs]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([100 * rung.level for rung in LADDER.rungs])
    with pytest.raises(OptionError, match="no staircase: it needs"):
        RULES.plot("staircase")


def test_the_front_has_the_rules_that_none_beats_in_both() -> None:
    rules = cr.discover(cr.datasets.titanic(library="dict"), "survived", k=8, stepwise=False)
    points = [(rule.coverage, rule.value) for rule in rules]
    best = sorted(
        point for point in points if not any(o[0] >= point[0] and o[1] >= point[1] and o != point for o in points)
    )
    assert 1 < len(best) < len(points)
    ax = rules.plot("front")
    assert list(zip(ax.plotted["coverage"], ax.plotted["value"], strict=True)) == best
    exact = rules.frontier()
    assert len(exact.plot("front").plotted["rule"]) == len(exact)


def test_conditions_are_on_the_side_of_the_line_that_their_p_says() -> None:
    with pytest.raises(OptionError, match=r"call rules.trust\(\) first"):
        RULES.plot("conditions")
    rules = cr.discover(cr.datasets.titanic(library="dict"), "survived", k=3, stepwise=False)
    tested = rules.trust(19, 2, 2, progress=False)
    ax = tested.plot("conditions")
    wanted = [
        (place, each.text, each.p_value)
        for place, rule in enumerate(tested, 1)
        for each in rule.conditions
        if each.p_value is not None
    ]
    shown = ax.plotted
    assert list(zip(shown["rule"], shown["condition"], shown["p_value"], strict=True)) == wanted
    needed = [p for _, _, p in wanted if p <= 0.05]
    assert 0 < len(needed) < len(wanted)
    assert [x for x, _ in offsets(ax, 0)] == needed


def test_what_cannot_be_plotted_is_an_error_that_says_why() -> None:
    with pytest.raises(OptionError, match="no plot 'pie'; the plots are 'effects'"):
        RULES.plot("pie")
    read = cr.RuleSet.from_json(RULES.to_json())
    with pytest.raises(OptionError, match="read from a file"):
        read.plot("convergence")
    assert read.plot().plotted["effect"].tolist() == RULES.plot().plotted["effect"].tolist()


def test_the_graph_has_causes_to_the_left_and_each_role_its_colour() -> None:
    known = CausalGraph(
        ("sex", "class", "survived", "luck"),
        directed=(("sex", "class"), ("sex", "survived"), ("class", "survived")),
        bidirected=(("class", "luck"),),
    )
    ax: Any = plot_graph(known, cr.check(known, target="survived", actionable=["class"], control=["sex"]))
    place = ax.plotted["place"]
    assert all(place[cause][0] < place[effect][0] for cause, effect in known.directed)
    assert len(set(place.values())) == 4
    assert ax.plotted["role"] == {"sex": "control", "class": "actionable", "survived": "target", "luck": None}
    boxes = {text.get_text(): text.get_bbox_patch() for text in ax.texts if text.get_text() in known.nodes}
    assert len({box.get_edgecolor() for box in boxes.values()}) == 4
    arrows = [text.arrow_patch.get_linestyle() for text in ax.texts if getattr(text, "arrow_patch", None)]
    assert sorted(arrows) == ["-", "-", "-", "--"]
    ax.figure.canvas.draw()


@pytest.mark.filterwarnings("ignore:Glyph .* missing")
def test_any_name_can_be_drawn() -> None:
    names = [*HOSTILE, "$x", "$\\frac$", "%d %s {0}", "_hidden"]
    n = len(names)
    labels = [{name: name} for name in names]
    rules = rule_set(
        *(
            RuleResult.from_counts(
                [Proposition(name, "=", name)], [3] * n, [1] * n, [1] * n, [5] * n, labels, 2.0, "reliable"
            )
            for name in names
        ),
        question=dataclasses.replace(RULES.question, outcome="$\\frac$\n"),
    )
    for ax in (rules.plot(), rules.plot("coverage"), rules.plot("strata")):
        ax.figure.canvas.draw()
        texts = [*ax.get_yticklabels(), ax.xaxis.label]
        assert all(text.get_text().replace("\u200d", "").replace("\n", "").isprintable() for text in texts)
    assert rules.plot().plotted["rule"] == [rule.text for rule in rules]
    known = CausalGraph((*names, "y"), directed=tuple((name, "y") for name in names))
    plot_graph(known).figure.canvas.draw()


def test_long_rules_are_told_apart_and_what_they_share_is_said_once() -> None:
    common = [Proposition(f"a column with a long name {letter}", ">=", 10) for letter in "ab"]
    own = [[Proposition("size of the household", "<=", size), Proposition("sex", "=", "f")] for size in range(1, 4)]
    rules = rule_set(*(RuleResult.from_counts([*common, *each], 5, 1, 2, 6, [{}], 2.0, "reliable") for each in own))
    ax = rules.plot()
    ax.figure.canvas.draw()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert len(set(labels)) == 3
    assert not any("long name" in label or "…" in label for label in labels)
    assert all(condition.text in ax.get_xlabel().replace("\n", " ") for condition in common)
    figure = ax.figure.bbox
    for text in (*ax.get_yticklabels(), ax.xaxis.label, *ax.get_legend().get_texts()):
        box = text.get_window_extent()
        assert figure.x0 <= box.x0
        assert box.x1 <= figure.x1


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ("matplotlib", "jinja2", "sklearn", "duckdb")
    code = f"import sys, causalrules; sys.exit(any(name in sys.modules for name in {heavy}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
