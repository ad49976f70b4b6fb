"""causalrules suggest: which variables can be actionable, and which controls do they need?"""

from __future__ import annotations

import rich_click as click

from causalrules.cli.graphs import GRAPH, LATENT, TARGET, echo


@click.command()
@GRAPH
@TARGET
@click.option(
    "--actionable",
    multiple=True,
    metavar="NAME",
    help="Variable that could be acted on; by default every observed one. Repeat for more.",
)
@LATENT
@click.pass_context
def suggest(
    ctx: click.RichContext, /, graph: str, target: str, actionable: tuple[str, ...], latent: tuple[str, ...]
) -> None:
    """Suggest the largest admissible choice of actionable variables, with the controls it needs.

    Exit codes: 0 found; 1 none, or invalid input; 2 wrong usage.
    """
    from causalrules.graph.graph import CausalGraph
    from causalrules.graph.suggestions import suggest as propose

    suggestions = propose(CausalGraph.read(graph, latent), target, actionable or None)
    echo(suggestions.summary())
    ctx.exit(0 if suggestions else 1)
