"""The commands about causal graphs: check and suggest.

Exit codes: 0 admissible (or something to suggest), 1 not, or bad input, 2 wrong usage, 3 cannot be told.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from causalrules.exceptions import DataError
from causalrules.text import printable

if TYPE_CHECKING:
    from causalrules.graph.graph import CausalGraph

EXIT_CODES = {"admissible": 0, "violated": 1, "unknown": 3}
_GRAPH = click.option(
    "--graph",
    required=True,
    metavar="FILE|TEXT",
    help="The causal graph: a DOT, GML or dagitty file, or text such as 'size -> treatment -> success'.",
)
_LATENT = click.option(
    "--latent", multiple=True, metavar="NAME", help="A variable of the graph that is not observed. Repeat for more."
)


def _drawing(ctx: click.Context, param: click.Parameter, given: str | None) -> Path | None:
    if given is None:
        return None
    from causalrules.report.drawing import checked_format

    folder = os.path.dirname(given) or os.curdir
    if not os.path.isdir(folder):
        raise DataError(f"--draw {given!r}: there is no directory {folder!r}; make it first")
    checked_format(Path(given))
    return Path(given)


@click.command()
@click.argument("file", required=False)
@_GRAPH
@click.option("--target", required=True, metavar="NAME", help="The variable with the outcome.")
@click.option("--control", multiple=True, metavar="NAME", help="A variable to adjust for. Repeat for more.")
@click.option(
    "--actionable",
    multiple=True,
    metavar="NAME",
    help="A variable that rules may speak of. Repeat for more; by default as in discover, every other column of FILE, "
    "or without FILE every other observed variable of the graph.",
)
@_LATENT
@click.option(
    "--draw",
    metavar="FILE",
    callback=_drawing,
    help="Draw the graph into a file (.svg, .png or .pdf), with the roles and the edges that break a criterion.",
)
@click.pass_context
def check(
    ctx: click.RichContext,
    /,
    file: str | None,
    graph: str,
    target: str,
    control: tuple[str, ...],
    actionable: tuple[str, ...],
    latent: tuple[str, ...],
    draw: Path | None,
) -> None:
    """Check whether the effects of rules can be told from data, by a causal graph; FILE is the data, if any.

    Exit codes: 0 admissible, 1 not, or bad input, 2 wrong usage, 3 cannot be told.
    """
    from causalrules.graph.admissibility import check as judge
    from causalrules.graph.graph import CausalGraph

    known = CausalGraph.read(graph, latent)
    columns = None
    if file is not None:
        columns, others = _columns(file, target, control, actionable)
    else:
        taken = {target, *control, *known.latent}
        others = tuple(name for name in known.nodes if name not in taken)
    roles: dict[str, Any] = {"target": target, "actionable": actionable or others, "control": control}
    verdict = judge(known, **roles, columns=columns)
    _echo(verdict.summary())
    if draw is not None:
        _draw(known, verdict, draw)
    ctx.exit(EXIT_CODES[verdict.status])


def _columns(
    file: str, target: str, control: tuple[str, ...], actionable: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of the data, and those that are actionable unless some are named."""
    from causalrules.data.reading import read
    from causalrules.language.roles import default_actionable

    table = read(file)
    for name in (target, *control, *actionable):
        table.require(name)
    if actionable:
        return table.names, ()
    notes: list[str] = []
    others = default_actionable(table.observed(target), {target, *control}, notes)
    for note in notes:
        click.echo(printable(note), err=True)
    return table.names, others


def _draw(graph: CausalGraph, verdict: Any, path: Path) -> None:
    from causalrules.report.drawing import save

    save(graph, verdict, path)
    click.echo(printable(f"drawn into {str(path)!r}"), err=True)


@click.command()
@_GRAPH
@click.option("--target", required=True, metavar="NAME", help="The variable with the outcome.")
@click.option(
    "--actionable",
    multiple=True,
    metavar="NAME",
    help="A variable that could be acted on. Repeat for more; every observed variable by default.",
)
@_LATENT
@click.pass_context
def suggest(
    ctx: click.RichContext, /, graph: str, target: str, actionable: tuple[str, ...], latent: tuple[str, ...]
) -> None:
    """Suggest the largest admissible choice of actionable variables, with the controls it needs.

    Exit codes: 0 there is one, 1 there is none, or bad input, 2 wrong usage.
    """
    from causalrules.graph.graph import CausalGraph
    from causalrules.graph.suggestions import suggest as propose

    suggestions = propose(CausalGraph.read(graph, latent), target, actionable or None)
    _echo(suggestions.summary())
    ctx.exit(0 if suggestions else 1)


def _echo(summary: str) -> None:
    for line in summary.splitlines():
        click.echo(printable(line))
