"""Options and output shared by the commands on causal graphs."""

from __future__ import annotations

import rich_click as click

from causalrules.text import printable

GRAPH = click.option(
    "--graph",
    required=True,
    metavar="FILE|TEXT",
    help="Causal graph: text such as 'size -> treatment -> success', or a DOT, GML or dagitty file.",
)
LATENT = click.option(
    "--latent", multiple=True, metavar="NAME", help="Variable of the graph that is not observed. Repeat for more."
)
TARGET = click.option("--target", required=True, metavar="NAME", help="Variable with the outcome.")


def echo(summary: str) -> None:
    """Print untrusted lines."""
    for line in summary.splitlines():
        click.echo(printable(line))
