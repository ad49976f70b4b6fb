"""A causal graph as a drawing: causes left of their effects, roles by shape and colour, and what breaks a criterion.

Edges that pass other layers have a place of their own there, so that none runs through a variable it does not touch.
Everything that a colour says is said by a shape, a line or a letter as well.
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
from causalrules.report.plots import BLUE, GREEN, GREY, ORANGE, label
from causalrules.writing import replace_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from causalrules.graph.admissibility import Admissibility

MOST_NODES, MOST_EDGES = 80, 250
FORMATS = ("svg", "png", "pdf")
_LONGEST_NAME = 24
_SWEEPS = 8
_HARMFUL, _HARMLESS = 2.8, 1.7
# The box, its outline, its width and colour; None stands for the colour of text.
_LOOKS: dict[str, tuple[str, Literal["-", "--", ":"], float, str | None]] = {
    "target": ("ellipse,pad=0.25", "-", 2.6, None),
    "actionable": ("square,pad=0.4", "-", 1.8, BLUE),
    "control": ("round,pad=0.4,rounding_size=0.9", "-", 1.8, GREEN),
    "no role": ("square,pad=0.4", "--", 1.2, GREY),
    "latent": ("round,pad=0.4,rounding_size=0.9", ":", 1.4, GREY),
}

# What has a place in a layer: a variable, or the edge that passes there.
_Item = str | tuple[Edge, int]
_Point = tuple[float, float]
# The kind of an edge and its ends.
_Arrow = tuple[str, str, str]


def can_be_drawn(graph: CausalGraph) -> bool:
    """Whether a drawing of the graph could be read."""
    n_edges = len(graph.directed) + len(graph.bidirected) + len(graph.unknown)
    return len(graph.nodes) <= MOST_NODES and n_edges <= MOST_EDGES


def plot_graph(graph: object, verdict: Admissibility | None = None, ax: Axes | None = None) -> Axes:
    """Draw a causal graph; with a verdict also the roles and the edges that break a criterion, by its letter.

    Dashed lines with two heads are unobserved common causes, dotted ones connections that are not known.
    """
    known = CausalGraph.read(graph)
    if not can_be_drawn(known):
        n_edges = len(known.directed) + len(known.bidirected) + len(known.unknown)
        raise OptionError(
            f"the graph has {len(known.nodes):,} variables and {n_edges:,} edges; a drawing of more than "
            f"{MOST_NODES} and {MOST_EDGES} cannot be read: draw a part of it"
        )
    import matplotlib as mpl
    from matplotlib.patches import Patch

    ink, ground = mpl.rcParams["text.color"], mpl.rcParams["figure.facecolor"]
    role = _roles(known, verdict)
    place, passing = _places(known)
    offending, harmful = _offending(verdict)
    (left, right), (bottom, top) = _extent(place, passing)
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=size(known), layout="constrained")[1]

    boxes: dict[str, Patch] = {}
    for name, its_role in role.items():
        shape, line, thickness, colour = _LOOKS[its_role]
        outline = {"boxstyle": shape, "facecolor": ground, "edgecolor": colour or ink}
        text = ax.text(
            *place[name],
            label(name, _LONGEST_NAME),
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

    questions = {frozenset(one.edge) for one in verdict.unknowns if one.edge} if verdict is not None else set()
    parallel = {frozenset(edge) for edge in known.directed}
    for kind, (a, b) in _edges(known):
        letters = offending.get((kind, a, b), [])
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
    _legend(ax, [name for name in _LOOKS if name in role.values()], harmful, set(offending) - harmful, ink)
    ax.plotted = {  # type: ignore[attr-defined]
        "place": place,
        "role": {name: None if its_role in ("no role", "latent") else its_role for name, its_role in role.items()},
        "directed": known.directed,
        "bidirected": known.bidirected,
        "unknown": known.unknown,
        "offending": offending,
    }
    return ax


def size(graph: CausalGraph) -> tuple[float, float]:
    """The width and height in inches that the drawing of a graph needs."""
    (left, right), (bottom, top) = _extent(*_places(graph))
    longest = max((len(label(name, _LONGEST_NAME)) for name in graph.nodes), default=0)
    return max(5.5, (1.1 + 0.08 * longest) * (right - left + 1)), 1.0 + 0.55 * (top - bottom + 1)


def save(graph: object, verdict: Admissibility | None, path: Path) -> None:
    """Draw the graph into a file, as a whole or not at all; the name's end says how: .svg, .png or .pdf."""
    from matplotlib.figure import Figure

    kind = checked_format(path)
    known = CausalGraph.read(graph)
    figure = Figure(figsize=size(known), layout="constrained")
    plot_graph(known, verdict, figure.add_subplot())
    drawn = io.BytesIO()
    with warnings.catch_warnings():
        # Names may be in letters that the font lacks: boxes stand for them then.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(drawn, format=kind, dpi=150)
    replace_file(path, drawn.getvalue())


def checked_format(path: Path) -> str:
    """The format that a file's name asks for, refused if it is none of those that can be drawn."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise OptionError(f"cannot draw into {str(path)!r:.200}; its name must end in .svg, .png or .pdf")
    return kind


def _roles(graph: CausalGraph, verdict: Admissibility | None) -> dict[str, str]:
    role = {name: "latent" if name in graph.latent else "no role" for name in graph.nodes}
    if verdict is not None:
        given = {verdict.target: "target"}
        given |= dict.fromkeys(verdict.actionable, "actionable") | dict.fromkeys(verdict.control, "control")
        role |= {name: its_role for name, its_role in given.items() if name in role}
    return role


def _edges(graph: CausalGraph) -> Iterator[tuple[str, Edge]]:
    for kind, edges in (("->", graph.directed), ("<->", graph.bidirected), ("--", graph.unknown)):
        yield from ((kind, edge) for edge in edges)


def _offending(verdict: Admissibility | None) -> tuple[dict[_Arrow, list[str]], set[_Arrow]]:
    """The edges of violations with the letters of the criteria, and which of them do harm."""
    letters: dict[_Arrow, list[str]] = {}
    harmful = set()
    for violation in () if verdict is None else verdict.violations:
        names, arrows = violation.path[::2], violation.path[1::2]
        for (a, b), arrow in zip(itertools.pairwise(names), arrows, strict=True):
            edge = (arrow, a, b)
            if violation.criterion not in letters.setdefault(edge, []):
                letters[edge].append(violation.criterion)
            if not violation.harmless:
                harmful.add(edge)
    return letters, harmful


def _places(graph: CausalGraph) -> tuple[dict[str, _Point], dict[_Arrow, list[_Point]]]:
    """Where each variable is, and where each edge passes the layers between its ends, from its first to its last."""
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
    _untangle(order, neighbours)

    # An edge needs less room than a variable.
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
    points = [*place.values(), *itertools.chain.from_iterable(passing.values())] or [(0.0, 0.0)]
    x, y = zip(*points, strict=True)
    return (min(x), max(x)), (min(y), max(y))


def _layers(graph: CausalGraph) -> dict[str, int]:
    """Each variable right of its causes and next to its first effect; other edges join different layers too."""
    later: dict[str, list[str]] = {name: [] for name in graph.nodes}
    position = {name: number for number, name in enumerate(_causes_first(graph))}
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


def _causes_first(graph: CausalGraph) -> list[str]:
    causes: dict[str, list[str]] = {name: [] for name in graph.nodes}
    for cause, effect in graph.directed:
        causes[effect].append(cause)
    return list(TopologicalSorter(causes).static_order())


def _untangle(order: list[list[_Item]], neighbours: dict[_Item, list[_Item]]) -> None:
    """Order each layer by where its neighbours are, to and fro, and keep the order with the fewest crossings."""
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


def _mean(items: Iterable[_Item], rank: dict[_Item, float], otherwise: float) -> float:
    known = [rank[item] for item in items if item in rank]
    return sum(known) / len(known) if known else otherwise


def _crossings(order: list[list[_Item]], neighbours: dict[_Item, list[_Item]], depth: dict[_Item, int]) -> int:
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
    """A smooth line that passes these points of the layers, and each layer level, so that it misses the boxes there."""
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
    """A point of the edge near the middle of its first half, away from where edges meet at their effect."""
    (x0, y0), (x1, y1) = points[:2] if len(points) > 2 else (points[0], points[-1])
    return (x0 + x1) / 2 + bulge * (y1 - y0) / 2, (y0 + y1) / 2 - bulge * (x1 - x0) / 2


def _mark(ax: Axes, letter: str, point: _Point, colour: str, ground: str) -> None:
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
    from matplotlib.legend_handler import HandlerPatch
    from matplotlib.lines import Line2D
    from matplotlib.patches import FancyBboxPatch, Patch

    def box(shape: str) -> Any:
        def make(*, xdescent: float, ydescent: float, width: float, height: float, **_: Any) -> FancyBboxPatch:
            # The padding of a box is for its text: a box of the legend has none.
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
        (harmful, _HARMFUL, "breaks a criterion"),
        (harmless, _HARMLESS, "does so without harm"),
    ):
        if these:
            handles.append(Line2D([], [], color=ORANGE, linewidth=thickness, label=words))
    place: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1, 1), "ncols": min(len(handles), 4)}
    ax.legend(handles=handles, handler_map=boxes, frameon=False, fontsize=8, **place)
