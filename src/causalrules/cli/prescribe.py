"""causalrules prescribe: who should get what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rich_click as click

from causalrules.cli import options, output
from causalrules.cli.discover import deliver
from causalrules.question import PolicyQuestion
from causalrules.text import counted


@click.command()
@click.argument("file", is_eager=True)
@options.of(PolicyQuestion)
@output.files
@click.pass_context
def prescribe(
    ctx: click.RichContext,
    /,
    file: str,
    form: str,
    output: Path | None,
    report: Path | None,
    quiet: bool,
    **question: Any,
) -> None:
    """Find a policy in FILE: who should get what, so that the outcome, net of costs, is best.

    Exit codes: 0 done, 1 bad input or interrupted, 2 wrong usage.
    """
    from causalrules.policy import frames
    from causalrules.prescribing import prescribe as search
    from causalrules.result.frames import csv_of

    progress = False if quiet else None
    found = search(file, **options.given(question, PolicyQuestion), progress=progress)
    text = str(found) if form == "table" else found.to_json() if form == "json" else csv_of(frames.of_policy(found))
    if not deliver(text, counted(len(found), "step"), found.to_html, output, report, (), quiet):
        ctx.exit(1)
