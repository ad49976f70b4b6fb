"""Shared parts of all figures: colours, axes, labels and legends.

The colours are the colour-blind safe palette of Okabe and Ito; shapes and line styles repeat the information. Untrusted
names are shown literally, never as mathematics.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from causalrules.exceptions import MissingPackageError
from causalrules.language.propositions import describe
from causalrules.report.rule_text import remaining, shared, wrap, wrap_rule
from causalrules.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from causalrules.result.rule import RuleResult

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#767676"
_WIDTH = 7.0  # inches: two columns of a journal
_MAX_HEIGHT = 40.0
_MAX_LABEL = 48
_MAX_LINES = 4


def axes(ax: Axes | None, height: float, width: float = _WIDTH) -> Axes:
    """Return the given axes, or the axes of a new figure."""
    if ax is not None:
        return ax
    made: Axes = pyplot().subplots(figsize=(width, min(height, _MAX_HEIGHT)), layout="constrained")[1]
    return made


def pyplot() -> Any:
    """Return matplotlib.pyplot, or raise an error that says how to install it."""
    if not is_available():
        raise MissingPackageError('plots need matplotlib: pip install "causalrules[plots]"')
    import matplotlib.pyplot as plt

    return plt


def is_available() -> bool:
    """Whether figures can be drawn."""
    return importlib.util.find_spec("matplotlib") is not None


def label(text: str, most: int = _MAX_LABEL) -> str:
    """Shorten a name or rule to one line of at most this many characters.

    >>> label("a long name", 6)
    'a lon…'
    """
    plain = printable(text)
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def rule_labels(rules: Sequence[RuleResult]) -> tuple[list[str], str]:
    """Return a multi-line label for each rule, and the conditions that all rules share, for the axis."""
    common = shared(rules)
    labels = []
    for place, rule in enumerate(rules, 1):
        first, *others = wrap_rule(label(remaining(rule, common), _MAX_LINES * _MAX_LABEL), _MAX_LABEL)
        labels.append("\n".join([f"{place}.  {first}", *others]))
    said = f"every rule has {describe(common)}, and" if common else ""
    return labels, "\n".join(wrap(label(said, 300), 76, 4))


def rows_height(labels: Sequence[str]) -> float:
    """Return the height in inches that labels of several lines need."""
    return sum(0.18 + 0.16 * (1 + each.count("\n")) for each in labels)


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Label the rows of a plot, from top to bottom."""
    ax.set_yticks(range(len(names)), names, parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0, labelsize=8 if any("\n" in name for name in names) else None)


def legend(ax: Axes, columns: int) -> None:
    """Put the legend above the plot."""
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=columns, frameon=False, fontsize=8, borderaxespad=0.2)


def finish(ax: Axes, plotted: Mapping[str, Any], grid: bool = True) -> Axes:
    """Add the grid, and store the numbers shown in `ax.plotted`."""
    if grid:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="x", color=GREY, alpha=0.25, linewidth=0.6)
        ax.set_axisbelow(True)
    ax.plotted = plotted  # type: ignore[attr-defined]
    return ax
