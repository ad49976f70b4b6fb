"""The check of the roles by the causal graph, for the page: violating edges, and remedies to apply."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from causalrules.exceptions import InputError
from causalrules.graph.admissibility import Admissibility, check
from causalrules.graph.suggestions import suggest
from causalrules.question import OWN_CONTROLS, default
from causalrules.report import layout
from causalrules.report.view import short
from causalrules.text import listed, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from causalrules.studio.workspace import Workspace

_TITLES = {
    "admissible": "Identified: the graph allows effects to be estimated",
    "violated": "Not identified: the graph does not allow these roles",
    "unknown": "Open: the graph does not tell",
}
_MOST = 20


def judge(workspace: Workspace, columns: Sequence[str]) -> tuple[Admissibility | None, dict[str, Any]]:
    """Check the roles by the graph; return the result for everybody, or None, and its view for the page.

    With context, the view is that of the effects inside every group.
    """
    drawing = workspace.graph
    if drawing is None or not drawing.nodes:
        return None, _nothing("No causal graph: rules are associations", "Draw what you know, or answer the questions.")
    edges = (*drawing.directed, *drawing.bidirected, *drawing.unknown)
    if workspace.target is not None and not any(workspace.target in edge for edge in edges):
        return None, _nothing("Not checked yet", f"Draw what causes {plain(workspace.target)}: it has no edge.")
    if workspace.target is None or not workspace.actionable:
        return None, _nothing("Not checked yet", "Pick the outcome and at least one actionable column.")
    roles: dict[str, Any] = {
        "target": workspace.target,
        "actionable": workspace.actionable,
        "control": OWN_CONTROLS if workspace.own_controls else workspace.control,
        "columns": [name for name in columns if name != workspace.options.get("weights")],
        "max_length": workspace.options.get("max_length", default("max_length")) or 4,
    }
    try:
        found = check(drawing.graph, **roles)
    except InputError as error:
        return None, _nothing("The graph and the roles do not fit", str(error), tone="bad")
    if not workspace.context:
        return found, _shown(found, workspace)
    try:
        inside = check(drawing.graph, **roles, context=workspace.context)
    except InputError as error:
        return found, _nothing("The graph and the context do not fit", str(error), tone="bad")
    shown = _shown(inside, workspace)
    if found and inside.status == "violated" and not inside.identified:
        shown |= {"title": "Identified for everybody, but not inside groups by the context", "tone": "caution"}
    return found, shown


def _nothing(title: str, says: str, tone: str = "none") -> dict[str, Any]:
    return _page("none", tone, title, [short(says, 1500)])


def _page(status: str, tone: str, title: str, says: list[str], problems: Any = (), marked: Any = ()) -> dict[str, Any]:
    return {"status": status, "tone": tone, "title": title, "says": says, "problems": problems, "marked": marked}


def _shown(found: Admissibility, workspace: Workspace) -> dict[str, Any]:
    if found.adjustments is not None:
        says = [short(line, 600) for line in found.adjustments.summary().splitlines()[:_MOST]]
        if found:
            return _page("admissible", "good", "Each rule gets controls of its own", says)
        return _page("violated", "bad", "No rule has valid controls", says)
    letters, harmful = layout.violating(found)
    harmless = bool(found.identified) and found.status == "violated"
    tone = {"admissible": "good", "violated": "caution" if harmless else "bad", "unknown": "caution"}[found.status]
    says = []
    assert workspace.graph is not None, "it was checked by a graph"
    joined = {name for edge in layout.edges(workspace.graph.graph) for name in edge[1]}
    described = [*found.actionable, *found.control, *(name for name in found.context if name not in found.control)]
    if alone := [name for name in described if name in workspace.graph.nodes and name not in joined]:
        says.append(f"Without an edge, and so without causes and effects: {listed(alone)}.")
    if harmless:
        says.append("Every rule is identified nevertheless, by the back-door criterion.")
    problems = [_violation(each) for each in found.violations[:_MOST]]
    # Variables that are not in the graph come last, in the order of their roles.
    absent = iter([name for name in described if name not in workspace.graph.nodes])
    for each in found.unknowns[:_MOST]:
        fixes = _absent(next(absent)) if each.edge is None else _unknown(*each.edge)
        problems.append({"criterion": "?", "says": short(each.question, 1000), "fixes": fixes})
    left = len(found.violations) + len(found.unknowns) - len(problems)
    if left > 0:
        says.append(f"{left:,} more problems are not listed.")
    marked = [
        {"arrow": arrow, "from": a, "to": b, "criteria": criteria, "harmful": (arrow, a, b) in harmful}
        for (arrow, a, b), criteria in letters.items()
    ]
    return _page(found.status, tone, _TITLES[found.status], says, problems, marked)


def _violation(violation: Any) -> dict[str, Any]:
    names, arrows = violation.path[::2], violation.path[1::2]
    fixes = [
        {
            "text": short(text[:1].upper() + text[1:], 300),
            "roles": [{"name": name, "role": role} for name, role in changes],
            "edges": [],
        }
        for text, changes in zip(violation.remedies, violation.changes, strict=True)
    ]
    a, b, arrow = names[-2], names[-1], arrows[-1]
    removed = {"arrow": arrow, "from": a, "to": b, "to_arrow": None}
    fixes.append({"text": f"Delete {plain(a)} {arrow} {plain(b)}, if it is not so", "roles": [], "edges": [removed]})
    return {"criterion": violation.criterion, "says": short(violation.reason, 1000), "fixes": fixes}


def _unknown(a: str, b: str) -> list[dict[str, Any]]:
    """Return the possible resolutions of an edge of unknown direction."""
    answers = (
        (f"{plain(a)} causes {plain(b)}", "->", a, b),
        (f"{plain(b)} causes {plain(a)}", "->", b, a),
        ("They have a hidden common cause", "<->", a, b),
        ("They are not connected", None, a, b),
    )
    return [
        {"text": text, "roles": [], "edges": [{"arrow": "--", "from": one, "to": other, "to_arrow": arrow}]}
        for text, arrow, one, other in answers
    ]


def _absent(name: str) -> list[dict[str, Any]]:
    """Return the remedies for a variable with a role that is not in the graph."""
    return [
        {"text": f"Add {plain(name)} to the graph", "roles": [], "edges": [], "add": name},
        {"text": f"Ignore {plain(name)}", "roles": [{"name": name, "role": None}], "edges": []},
    ]


def suggested(workspace: Workspace, columns: Sequence[str]) -> dict[str, Any]:
    """Return the largest admissible choice of roles, and why other columns are left out."""
    if workspace.target is None or workspace.graph is None:
        raise InputError("draw a graph with the outcome in it first")
    known = set(columns)
    nodes = workspace.graph.nodes
    latent = set(workspace.graph.latent)
    drawn = replace(workspace.graph, latent=tuple(name for name in nodes if name in latent or name not in known))
    found = suggest(drawn.graph, workspace.target)
    choice = found.choices[0] if found.choices else None
    return {
        "actionable": [] if choice is None else list(choice.actionable),
        "control": [] if choice is None else list(choice.control),
        "optional": [] if choice is None else list(choice.optional_control),
        "says": [short(line, 600) for line in found.summary().splitlines()[:_MOST]],
    }
