"""Plots of groups and policies show their numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator

import matplotlib
import pytest
from hypothesis import given, settings

import causalrules as cr
from prescriptions import NEW, OLD, policies, policy, segment, segment_lists, segments, step

matplotlib.use("agg")
from matplotlib import pyplot as plt


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def test_the_forest_has_both_effects_their_interval_and_everybody() -> None:
    ax = segments(segment(), segment(NEW, low=-math.inf, high=math.inf)).plot()
    assert ax.plotted["group"] == ["age ≥ 50 ∧ region = south", "visits ≤ 1"]
    assert ax.plotted["effect"].tolist() == [0.206, 0.206]
    assert ax.plotted["outside"].tolist() == [0.013, 0.013]
    assert [text.get_text() for text in ax.get_yticklabels()][1] == "of the others: visits ≤ 1"
    points = ax.collections[1].get_offsets()
    assert points[0].tolist() == pytest.approx([20.6, 0])  # in points
    assert [line.get_xdata()[0] for line in ax.get_lines()] == pytest.approx([0, 5.64])
    assert "association of letter = yes on bought = 1, points" in ax.get_xlabel()
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["everybody", "inside, interval for all groups tried", "outside"]


def test_a_group_that_does_not_stand_out_is_grey() -> None:
    ax = segments().plot("forest")
    assert "inside (not shown to differ)" in [text.get_text() for text in ax.get_legend().get_texts()]
    with pytest.raises(cr.OptionError, match="none to plot"):
        segments(candidate=None).plot()


def test_the_staircase_adds_up() -> None:
    ax = policy(step(OLD, gain=0.02), step(NEW, gain=0.01)).plot()
    bars = [(bar.get_x(), bar.get_width()) for bar in ax.patches]
    assert [end for bar in bars for end in bar] == pytest.approx([0, 20, 20, 10, 0, 30])
    assert [text.get_text().strip() for text in ax.texts] == ["20.0", "10.0", "30.0"]
    assert ax.get_xlabel() == "gain per 1,000 rows over today, net of costs (bought = 1)"
    with pytest.raises(cr.OptionError, match="no staircase"):
        policy().plot()


def test_an_unknown_plot_names_those_that_there_are() -> None:
    with pytest.raises(cr.OptionError, match="no plot 'stairs'; there is 'staircase'"):
        policy(step()).plot("stairs")
    with pytest.raises(cr.OptionError, match="no plot 'effects'; there is 'forest'"):
        segments(segment()).plot("effects")


@given(segment_lists().filter(lambda found: bool(found.segments or found.candidate)))
@settings(max_examples=8, deadline=None)
def test_any_groups_can_be_plotted(found: cr.Segments) -> None:
    assert found.plot().plotted
    plt.close("all")


@given(policies().filter(lambda found: bool(found.steps)))
@settings(max_examples=8, deadline=None)
def test_any_policy_can_be_plotted(found: cr.Policy) -> None:
    assert found.plot().plotted
    plt.close("all")
