"""causalrules check: does a causal graph allow these effects to be estimated?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from causalrules.cli.graphs import GRAPH, LATENT, TARGET, echo
from causalrules.text import printable
from causalrules.writing import require_writable

if TYPE_CHECKING:
    from causalrules.graph.admissibility import Admissibility
    from causalrules.graph.graph import CausalGraph

EXIT_CODES = {"admissible": 0, "violated": 1, "unknown": 3}


def _drawing(ctx: click.Context, param: click.Parameter, given: str | None) -> Path | None:
    """Validate the file of --draw."""
    if given is None:
        return None
    from causalrules.report.drawing import validate_format

    validate_format(Path(given))
    return require_writable(given, "--draw")


@click.command()
@click.argument("file", required=False)
@GRAPH
@TARGET
@click.option("--control", multiple=True, metavar="NAME", help="Variable to adjust for. Repeat for more.")
@click.option(
    "--context",
    multiple=True,
    metavar="NAME",
    help="Variable that describes who: effects inside groups are checked. It may be a control too. Repeat for more.",
)
@click.option(
    "--actionable",
    multiple=True,
    metavar="NAME",
    help="Variable to put conditions on; by default every other column of FILE, or every other observed variable of "
    "the graph. Repeat for more.",
)
@LATENT
@click.option(
    "--draw",
    metavar="FILE",
    callback=_drawing,
    help="Draw the graph with roles and violations to a file (.svg, .png or .pdf).",
)
@click.pass_context
def check(
    ctx: click.RichContext,
    /,
    file: str | None,
    graph: str,
    target: str,
    control: tuple[str, ...],
    context: tuple[str, ...],
    actionable: tuple[str, ...],
    latent: tuple[str, ...],
    draw: Path | None,
) -> None:
    """Check whether a causal graph allows the effects of rules to be estimated.

    FILE is the data, if any.

    Exit codes: 0 admissible; 1 not admissible, or invalid input; 2 wrong usage; 3 undetermined.
    """
    from causalrules.graph.admissibility import check as check_roles
    from causalrules.graph.graph import CausalGraph

    causal_graph = CausalGraph.read(graph, latent)
    if draw is not None:
        from causalrules.report.drawing import require_drawable

        require_drawable(causal_graph)
    columns = None
    if file is not None:
        columns, others = _columns(file, target, (*control, *context), actionable)
    else:
        taken = {target, *control, *context, *causal_graph.latent}
        others = tuple(name for name in causal_graph.nodes if name not in taken)
    admissibility = check_roles(
        causal_graph,
        target=target,
        actionable=actionable or others,
        control=control,
        context=context,
        columns=columns,
    )
    echo(admissibility.summary())
    if draw is not None:
        _draw(causal_graph, admissibility, draw)
    ctx.exit(EXIT_CODES[admissibility.status])


def _columns(
    file: str, target: str, given: tuple[str, ...], actionable: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns of the data, and the default actionable ones (none if some are given).

    `given` are the columns with another role than the target.
    """
    from causalrules.data.reading import read
    from causalrules.language.roles import default_actionable

    table = read(file)
    for name in (target, *given, *actionable):
        table.require(name)
    if actionable:
        return table.names, ()
    notes: list[str] = []
    others = default_actionable(table.observed(target), {target, *given}, notes)
    for note in notes:
        click.echo(printable(note), err=True)
    return table.names, others


def _draw(graph: CausalGraph, admissibility: Admissibility, path: Path) -> None:
    """Write a drawing and print its path."""
    from causalrules.report.drawing import save

    save(graph, admissibility, path)
    click.echo(printable(f"Drawing written to {str(path)!r}."), err=True)
