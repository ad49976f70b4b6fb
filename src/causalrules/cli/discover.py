"""causalrules discover: search a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from causalrules.cli import options, output
from causalrules.cli.messages import say
from causalrules.exceptions import FileError, OptionError
from causalrules.question import RULES
from causalrules.text import counted, printable
from causalrules.writing import replace_file

if TYPE_CHECKING:
    from causalrules.rules import RuleSet


@click.command()
@click.argument("file", is_eager=True)
@options.of_question
@click.option(
    "--frontier",
    is_flag=True,
    panel=RULES,
    help="List the best rule for every coverage instead: the front of value and coverage.",
)
@output.options
@click.pass_context
def discover(
    ctx: click.RichContext,
    /,
    file: str,
    form: str,
    output: Path | None,
    report: Path | None,
    explain: bool,
    quiet: bool,
    permutations: int | None,
    trust: bool,
    frontier: bool,
    **question: Any,
) -> None:
    """Find the rules with the highest conservative effect in FILE (CSV, TSV or Parquet, also gzipped).

    Ctrl-C ends the search and prints the best rules so far. --time-limit is for the search; --trust or --permutations
    may take as long again. Exit codes: 0 done, 1 bad input or interrupted, 2 wrong usage.
    """
    if output is not None and report is not None and os.path.realpath(output) == os.path.realpath(report):
        raise OptionError(f"--output and --report are the same file, {str(output)!r}; name two")
    from causalrules.discovery import discover as search

    progress = False if quiet else None
    rules = search(file, **options.given(question), progress=progress)
    if frontier and rules.stopped != "interrupted":
        rules = rules.frontier(question["time_limit"])
    rules, interrupted = trusted(rules, question, permutations, trust, quiet)
    written = write(rules, form, output, report, quiet, explain)
    if interrupted or not written:
        ctx.exit(1)


def trusted(
    rules: RuleSet, question: dict[str, Any], permutations: int | None, trust: bool, quiet: bool
) -> tuple[RuleSet, bool]:
    """Return the rules with the requested evidence, and whether the user interrupted."""
    interrupted = rules.stopped == "interrupted"
    if interrupted or not (trust or permutations is not None):
        return rules, interrupted
    run = {name: question[name] for name in ("seed", "n_jobs", "time_limit")} | {"progress": False if quiet else None}
    try:
        if trust:
            return rules.trust(999 if permutations is None else permutations, **run), False
        return rules.significance(permutations or 0, **run), False
    except KeyboardInterrupt:
        say("Interrupted", "the search is done, but the checks of its rules are not", "red")
        return rules, True


def write(rules: RuleSet, form: str, path: Path | None, report: Path | None, quiet: bool, explain: bool) -> bool:
    """Print the rules or write them to files, with the remarks that belong to the rules on standard error.

    Rules that cannot be written are printed instead. Returns whether every file was written.
    """
    from causalrules.report import terminal
    from causalrules.result import frames

    if form == "table":
        colour = path is None and sys.stdout.isatty() and "NO_COLOR" not in os.environ
        text = terminal.text(rules, colour=colour, explain=explain, remarks=not quiet)
    else:
        text = rules.to_json() if form == "json" else frames.to_csv(rules)
    remarks = (*terminal.alerts(rules), *terminal.sentences(rules)) if path is not None or form != "table" else ()
    return deliver(text, counted(len(rules), "rule"), rules.to_html, path, report, () if quiet else remarks, quiet)


def deliver(
    text: str,
    what: str,
    to_html: Callable[[Path], Any],
    path: Path | None,
    report: Path | None,
    remarks: Sequence[str],
    quiet: bool,
) -> bool:
    """Print a text, or write it and a report to files; what cannot be written is printed instead.

    `what` says what the text holds. Returns whether every file was written.
    """
    complete, written = True, False
    if path is not None:
        try:
            replace_file(path, text + "\n")
            written = True
        except FileError as error:
            say("Error", f"{error}; printed instead: {what}", "red")
            complete = False
    if not written:
        click.echo(text)
    if report is not None:
        try:
            to_html(report)
        except FileError as error:
            say("Error", f"{error}; the report is not written", "red")
            complete = False
    said = [f"{what} written to {str(path)!r}"] if written and not quiet else []
    for remark in (*said, *remarks):
        click.echo(printable(remark), err=True)
    return complete
