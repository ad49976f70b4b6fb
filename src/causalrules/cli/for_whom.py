"""causalrules for-whom: the groups in which an action works better or worse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rich_click as click

from causalrules.cli import options, output
from causalrules.cli.discover import deliver
from causalrules.question import QUESTION, ContextQuestion
from causalrules.text import counted


@click.command(name="for-whom")
@click.argument("file", is_eager=True)
@click.option(
    "--action",
    required=True,
    metavar="TEXT",
    panel=QUESTION,
    help="Action as a rule, such as 'call = yes and discount >= 10'.",
)
@options.of(ContextQuestion)
@output.files
@click.pass_context
def for_whom(
    ctx: click.RichContext,
    /,
    file: str,
    action: str,
    form: str,
    output: Path | None,
    report: Path | None,
    quiet: bool,
    **question: Any,
) -> None:
    """Find the groups of FILE in which an action works better, or worse, than on the others.

    Exit codes: 0 done, 1 bad input or interrupted, 2 wrong usage.
    """
    from causalrules.policy import frames
    from causalrules.prescribing import for_whom as search
    from causalrules.result.frames import csv_of

    progress = False if quiet else None
    found = search(file, action, **options.given(question, ContextQuestion), progress=progress)
    text = str(found) if form == "table" else found.to_json() if form == "json" else csv_of(frames.of_segments(found))
    if not deliver(text, counted(len(found), "group"), found.to_html, output, report, (), quiet):
        ctx.exit(1)
