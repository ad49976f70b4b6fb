"""causalrules evaluate: measure rules named in advance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rich_click as click

from causalrules.cli import options, output
from causalrules.cli.discover import trusted, write
from causalrules.question import QUESTION


@click.command()
@click.argument("file", is_eager=True)
@click.option(
    "--rule",
    "rules",
    multiple=True,
    required=True,
    metavar="TEXT",
    panel=QUESTION,
    help="Rule to measure, such as 'class <= 2 and sex = female'. Repeat for more.",
)
@options.of_question
@output.options
@click.pass_context
def evaluate(
    ctx: click.RichContext,
    /,
    file: str,
    rules: tuple[str, ...],
    form: str,
    output: Path | None,
    report: Path | None,
    explain: bool,
    quiet: bool,
    permutations: int | None,
    trust: bool,
    **question: Any,
) -> None:
    """Measure rules named in advance in FILE, instead of searching for them.

    Exit codes: 0 done, 1 bad input or interrupted, 2 wrong usage.
    """
    from causalrules.discovery import evaluate as measure

    measured = measure(file, list(rules), **options.given(question))
    measured, interrupted = trusted(measured, question, permutations, trust, quiet)
    written = write(measured, form, output, report, quiet, explain)
    if interrupted or not written:
        ctx.exit(1)
