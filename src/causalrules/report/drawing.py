"""Draw causal graphs in layers, causes to the left of their effects, with roles and violations.

Edges that span several layers pass through a free slot in each, so that they cross no other variable. Nothing is shown
by colour alone.
"""

from __future__ import annotations

import io
import itertools
import warnings
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from causalrules.exceptions import OptionError
from causalrules.graph.graph import CausalGraph, Edge
from causalrules.report.figure import BLUE, GREEN, GREY, ORANGE, label, pyplot
from causalrules.writing import replace_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from causalrules.graph.admissibility import Admissibility

MAX_NODES, MAX_EDGES = 80, 250
FORMATS = ("svg", "png", "pdf")
_MAX_NAME = 24
_SWEEPS = 8
_HARMFUL, _HARMLESS = 2.8, 1.7  # line widths
# The box style, line style, line width and colour of each role; None is the text colour.
_LOOKS: dict[str, tuple[str, Literal["-", "--", ":"], float, str | None]] = {
    "target": ("ellipse,pad=0.25", "-", 2.6, None),
    "actionable": ("square,pad=0.4", "-", 1.8, BLUE),
    "control": ("round,pad=0.4,rounding_size=0.9", "-", 1.8, GREEN),
    "no role": ("square,pad=0.4", "--", 1.2, GREY),
    "latent": ("round,pad=0.4,rounding_size=0.9", ":", 1.4, GREY),
}

# An item of a layer: a variable, or a slot for an edge that passes through.
_Item = str | tuple[Edge, int]
_Point = tuple[float, float]
# An edge: its arrow and its ends.
_Arrow = tuple[str, str, str]


def can_be_drawn(graph: CausalGraph) -> bool:
    """Return whether the graph is small enough for a readable drawing.

    Examples
    --------
    >>> can_be_drawn(CausalGraph.read("a -> b"))
    True
    """
    n_edges = len(graph.directed) + len(graph.bidirected) + len(graph.unknown)
    return len(graph.nodes) <= MAX_NODES and n_edges <= MAX_EDGES


def plot_graph(graph: object, admissibility: Admissibility | None = None, ax: Axes | None = None) -> Axes:
    """Plot a causal graph.

    Solid arrows are causes, dashed ones unobserved common causes, and dotted lines edges of unknown direction.

    Parameters
    ----------
    graph
        The causal graph, in any form that `CausalGraph.read` accepts.
    admissibility
        The result of `check`, to show the roles and the violations with the letters of their criteria.
    ax
        The Axes to draw on; by default new ones.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    OptionError
        If the graph is too large for a readable drawing.

    Examples
    --------
    >>> from causalrules.graph.admissibility import check
    >>> from matplotlib.figure import Figure
    >>> graph = "z -> {x y}; x -> y"
    >>> admissibility = check(graph, target="y", actionable=["x"], control=["z"])
    >>> ax = plot_graph(graph, admissibility, Figure().add_subplot())
    """
    causal_graph = CausalGraph.read(graph)
    require_drawable(causal_graph)
    plt = pyplot()
    import matplotlib as mpl
    from matplotlib.patches import Patch

    ink, ground = mpl.rcParams["text.color"], mpl.rcParams["figure.facecolor"]
    role = _roles(causal_graph, admissibility)
    place, passing = _places(causal_graph)
    violating, harmful = _violating(admissibility)
    (left, right), (bottom, top) = _extent(place, passing)
    if ax is None:
        ax = plt.subplots(figsize=size(causal_graph), layout="constrained")[1]

    boxes: dict[str, Patch] = {}
    for name, its_role in role.items():
        shape, line, thickness, colour = _LOOKS[its_role]
        outline = {"boxstyle": shape, "facecolor": ground, "edgecolor": colour or ink}
        text = ax.text(
            *place[name],
            label(name, _MAX_NAME),
            ha="center",
            va="center",
            fontsize=9,
            fontweight="bold" if its_role == "target" else "normal",
            parse_math=False,
            bbox={**outline, "linestyle": line, "linewidth": thickness},
            zorder=3,
        )
        box = text.get_bbox_patch()
        assert box is not None
        boxes[name] = box

    questions = (
        {frozenset(one.edge) for one in admissibility.unknowns if one.edge} if admissibility is not None else set()
    )
    parallel = {frozenset(edge) for edge in causal_graph.directed}
    for kind, (a, b) in _edges(causal_graph):
        letters = violating.get((kind, a, b), [])
        bulge = 0.28 if kind == "<->" and frozenset((a, b)) in parallel else 0.0
        through = passing.get((kind, a, b), [])
        ax.annotate(
            "",
            place[b],
            place[a],
            arrowprops={
                "arrowstyle": {"->": "-|>", "<->": "<|-|>", "--": "-"}[kind],
                "linestyle": {"->": "-", "<->": "--", "--": ":"}[kind],
                "color": ORANGE if letters else ink,
                "linewidth": _HARMFUL if (kind, a, b) in harmful else _HARMLESS if letters else 1.1,
                "mutation_scale": 13,
                "patchA": boxes[a],
                "patchB": boxes[b],
                "connectionstyle": _curve(ax, through, bulge),
            },
            zorder=2,
        )
        mark = ", ".join(letters) if letters else "?" if kind == "--" and frozenset((a, b)) in questions else ""
        if mark:
            _mark(ax, mark, _middle([place[a], *through, place[b]], bulge), ORANGE if letters else ink, ground)
    ax.set_xlim(left - 0.6, right + 0.6)
    ax.set_ylim(bottom - 0.7, top + 0.7)
    ax.set_axis_off()
    _legend(ax, [name for name in _LOOKS if name in role.values()], harmful, set(violating) - harmful, ink)
    ax.plotted = {  # type: ignore[union-attr]
        "place": place,
        "role": {name: None if its_role in ("no role", "latent") else its_role for name, its_role in role.items()},
        "directed": causal_graph.directed,
        "bidirected": causal_graph.bidirected,
        "unknown": causal_graph.unknown,
        "offending": violating,
    }
    return ax


def size(graph: CausalGraph) -> tuple[float, float]:
    """Return the width and height in inches that a drawing needs.

    Examples
    --------
    >>> size(CausalGraph.read("a -> b"))
    (5.5, 1.55)
    """
    (left, right), (bottom, top) = _extent(*_places(graph))
    longest = max((len(label(name, _MAX_NAME)) for name in graph.nodes), default=0)
    return max(5.5, (1.1 + 0.08 * longest) * (right - left + 1)), 1.0 + 0.55 * (top - bottom + 1)


def save(graph: object, admissibility: Admissibility | None, path: Path) -> None:
    """Write a drawing of the graph to a file, atomically.

    Parameters
    ----------
    graph, admissibility
        See `plot_graph`.
    path
        The file; its suffix, .svg, .png or .pdf, selects the format.

    Raises
    ------
    OptionError
        If the suffix is another one, or the graph is too large for a readable drawing.
    FileError
        If the file cannot be written.
    """
    from matplotlib.figure import Figure

    kind = validate_format(path)
    causal_graph = CausalGraph.read(graph)
    require_drawable(causal_graph)
    figure = Figure(figsize=size(causal_graph), layout="constrained")
    plot_graph(causal_graph, admissibility, figure.add_subplot())
    content = io.BytesIO()
    with warnings.catch_warnings():
        # Characters that the font lacks are drawn as boxes.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(content, format=kind, dpi=150)
    replace_file(path, content.getvalue())


def require_drawable(graph: CausalGraph) -> None:
    """Raise an OptionError if the graph is too large for a readable drawing."""
    if can_be_drawn(graph):
        return
    n_edges = len(graph.directed) + len(graph.bidirected) + len(graph.unknown)
    raise OptionError(
        f"the graph has {len(graph.nodes):,} variables and {n_edges:,} edges; drawings are limited to "
        f"{MAX_NODES} variables and {MAX_EDGES} edges, so draw a part of it"
    )


def validate_format(path: Path) -> str:
    """Return the format that the suffix of a file selects; raise an OptionError if it is not supported."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise OptionError(f"cannot draw to {str(path)!r:.200}; the file name must end in .svg, .png or .pdf")
    return kind


def _roles(graph: CausalGraph, admissibility: Admissibility | None) -> dict[str, str]:
    """Return what each variable is drawn as: its role, "latent" or "no role"."""
    role = {name: "latent" if name in graph.latent else "no role" for name in graph.nodes}
    if admissibility is not None:
        given = {admissibility.target: "target"}
        given |= dict.fromkeys(admissibility.actionable, "actionable") | dict.fromkeys(admissibility.control, "control")
        role |= {name: its_role for name, its_role in given.items() if name in role}
    return role


def _edges(graph: CausalGraph) -> Iterator[tuple[str, Edge]]:
    """Yield every edge with its arrow."""
    for kind, edges in (("->", graph.directed), ("<->", graph.bidirected), ("--", graph.unknown)):
        yield from ((kind, edge) for edge in edges)


def _violating(admissibility: Admissibility | None) -> tuple[dict[_Arrow, list[str]], set[_Arrow]]:
    """Return the edges of violations with the letters of their criteria, and the set of harmful ones."""
    letters: dict[_Arrow, list[str]] = {}
    harmful = set()
    for violation in () if admissibility is None else admissibility.violations:
        names, arrows = violation.path[::2], violation.path[1::2]
        for (a, b), arrow in zip(itertools.pairwise(names), arrows, strict=True):
            edge = (arrow, a, b)
            if violation.criterion not in letters.setdefault(edge, []):
                letters[edge].append(violation.criterion)
            if not violation.harmless:
                harmful.add(edge)
    return letters, harmful


def _places(graph: CausalGraph) -> tuple[dict[str, _Point], dict[_Arrow, list[_Point]]]:
    """Return the position of each variable, and those where each edge passes the layers between its ends, in order."""
    layer = _layers(graph)
    order: list[list[_Item]] = [[] for _ in range(max(layer.values(), default=0) + 1)]
    for name, depth in layer.items():
        order[depth].append(name)
    neighbours: dict[_Item, list[_Item]] = {name: [] for name in graph.nodes}
    chains: dict[_Arrow, list[_Item]] = {}
    for number, (kind, (a, b)) in enumerate(_edges(graph)):
        low, high = sorted((a, b), key=layer.__getitem__)
        chain: list[_Item] = [((low, high), depth * 10_000 + number) for depth in range(layer[low] + 1, layer[high])]
        for depth, item in enumerate(chain, layer[low] + 1):
            order[depth].append(item)
            neighbours[item] = []
        for one, other in itertools.pairwise([low, *chain, high]):
            neighbours[one].append(other)
            neighbours[other].append(one)
        chains[kind, a, b] = chain if low == a else chain[::-1]
    _reduce_crossings(order, neighbours)

    # An edge needs less space than a variable.
    room = [[1.0 if isinstance(item, str) else 0.5 for item in items] for items in order]
    tallest = max(map(sum, room), default=1.0)
    at: dict[_Item, _Point] = {}
    for depth, (items, heights) in enumerate(zip(order, room, strict=True)):
        top = (tallest + sum(heights)) / 2 - 0.5
        for item, height in zip(items, heights, strict=True):
            at[item] = (float(depth), top + 0.5 - height / 2)
            top -= height
    place = {name: at[name] for name in graph.nodes}
    return place, {edge: [at[item] for item in chain] for edge, chain in chains.items()}


def _extent(place: dict[str, _Point], passing: dict[_Arrow, list[_Point]]) -> tuple[_Point, _Point]:
    """Return the horizontal and the vertical range of a drawing."""
    points = [*place.values(), *itertools.chain.from_iterable(passing.values())] or [(0.0, 0.0)]
    x, y = zip(*points, strict=True)
    return (min(x), max(x)), (min(y), max(y))


def _layers(graph: CausalGraph) -> dict[str, int]:
    """Assign each variable to a layer after its causes and just before its first effect.

    Bidirected and unknown edges join different layers too.
    """
    later: dict[str, list[str]] = {name: [] for name in graph.nodes}
    position = {name: number for number, name in enumerate(_causal_order(graph))}
    for _, edge in _edges(graph):
        a, b = sorted(edge, key=position.__getitem__)
        later[a].append(b)
    layer = dict.fromkeys(position, 0)
    for name in position:
        for other in later[name]:
            layer[other] = max(layer[other], layer[name] + 1)
    for name in reversed(position):
        if later[name]:
            layer[name] = min(layer[other] for other in later[name]) - 1
    return {name: layer[name] for name in graph.nodes}


def _causal_order(graph: CausalGraph) -> list[str]:
    """Sort the variables, causes first."""
    causes: dict[str, list[str]] = {name: [] for name in graph.nodes}
    for cause, effect in graph.directed:
        causes[effect].append(cause)
    return list(TopologicalSorter(causes).static_order())


def _reduce_crossings(order: list[list[_Item]], neighbours: dict[_Item, list[_Item]]) -> None:
    """Sort each layer by the mean rank of its neighbours, to and fro; keep the order with the fewest crossings."""
    depth = {item: number for number, items in enumerate(order) for item in items}
    best, fewest = [list(items) for items in order], _crossings(order, neighbours, depth)
    for sweep in range(_SWEEPS):
        before = -1 if sweep % 2 == 0 else 1
        for number in range(len(order))[::-before]:
            rank = {
                item: (place + 0.5) / len(items)
                for items in order[max(number + before, 0) : number + before + 1]
                for place, item in enumerate(items)
            }
            own = {item: (place + 0.5) / len(order[number]) for place, item in enumerate(order[number])}
            order[number].sort(key=lambda item, rank=rank, own=own: _mean(neighbours[item], rank, own[item]))  # type: ignore[misc]
        crossings = _crossings(order, neighbours, depth)
        if crossings < fewest:
            best, fewest = [list(items) for items in order], crossings
    order[:] = best


def _mean(items: Iterable[_Item], rank: dict[_Item, float], default: float) -> float:
    """Return the mean rank of those items that have one."""
    ranks = [rank[item] for item in items if item in rank]
    return sum(ranks) / len(ranks) if ranks else default


def _crossings(order: list[list[_Item]], neighbours: dict[_Item, list[_Item]], depth: dict[_Item, int]) -> int:
    """Count the crossings of edges between neighbouring layers."""
    total = 0
    for number, items in enumerate(order[:-1]):
        rank = {item: place for place, item in enumerate(order[number + 1])}
        ends = [sorted(rank[other] for other in neighbours[item] if depth[other] == number + 1) for item in items]
        seen: list[int] = []
        for these in ends:
            total += sum(1 for end in these for other in seen if other > end)
            seen += these
    return total


def _curve(ax: Axes, through: list[_Point], bulge: float) -> Any:
    """Return a smooth connection through these points, horizontal at each so that it avoids the boxes of its layer."""
    from matplotlib.patches import ConnectionStyle
    from matplotlib.path import Path as Line

    if bulge:
        return ConnectionStyle.Arc3(rad=bulge)

    class Smooth(ConnectionStyle.Arc3):
        def connect(self, posA: Any, posB: Any) -> Line:
            points = [posA, *(ax.transData.transform(point) for point in through), posB]
            line, codes = [points[0]], [Line.MOVETO]
            for (x0, y0), (x1, y1) in itertools.pairwise(points):
                middle = (x0 + x1) / 2
                line += [(middle, y0), (middle, y1), (x1, y1)]
                codes += [Line.CURVE4] * 3
            return Line(line, codes)

    return Smooth()


def _middle(points: list[_Point], bulge: float) -> _Point:
    """Return a point for the letter of an edge, away from its effect, where edges meet."""
    (x0, y0), (x1, y1) = points[:2] if len(points) > 2 else (points[0], points[-1])
    return (x0 + x1) / 2 + bulge * (y1 - y0) / 2, (y0 + y1) / 2 - bulge * (x1 - x0) / 2


def _mark(ax: Axes, letter: str, point: _Point, colour: str, ground: str) -> None:
    """Mark an edge by a letter."""
    ax.annotate(
        letter,
        point,
        ha="center",
        va="center",
        fontsize=8,
        fontweight="bold",
        color=colour,
        bbox={"boxstyle": "circle,pad=0.2", "facecolor": ground, "edgecolor": colour, "linewidth": 1.0},
        zorder=4,
    )


def _legend(ax: Axes, roles: list[str], harmful: set[_Arrow], harmless: set[_Arrow], ink: str) -> None:
    """Add the legend of roles and violations."""
    from matplotlib.legend_handler import HandlerPatch
    from matplotlib.lines import Line2D
    from matplotlib.patches import FancyBboxPatch, Patch

    def box(shape: str) -> Any:
        def make(*, xdescent: float, ydescent: float, width: float, height: float, **_: Any) -> FancyBboxPatch:
            # Boxes in the legend have no text, so no padding.
            style = ",".join(part for part in shape.split(",") if not part.startswith("pad"))
            return FancyBboxPatch((-xdescent, -ydescent), width, height, boxstyle=f"{style},pad=0")

        return HandlerPatch(patch_func=make)

    boxes: dict[Any, Any] = {}
    handles: list[Any] = []
    for name in roles:
        shape, line, thickness, colour = _LOOKS[name]
        outline = Patch(facecolor="none", edgecolor=colour or ink, linestyle=line, linewidth=thickness, label=name)
        handles.append(outline)
        boxes[outline] = box(shape)
    for these, thickness, words in (
        (harmful, _HARMFUL, "violates a criterion"),
        (harmless, _HARMLESS, "harmless violation"),
    ):
        if these:
            handles.append(Line2D([], [], color=ORANGE, linewidth=thickness, label=words))
    place: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1, 1), "ncols": min(len(handles), 4)}
    ax.legend(handles=handles, handler_map=boxes, frameon=False, fontsize=8, **place)
