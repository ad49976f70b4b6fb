"""Options of commands that print rules: evidence and output files; paths are checked before the search."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import rich_click as click

from causalrules.exceptions import DataError, OptionError
from causalrules.question import TRUST
from causalrules.writing import require_writable

_OUTPUT = "Output"
F = TypeVar("F", bound=Callable[..., Any])


def checked(ctx: click.Context, param: click.Parameter, given: str | None) -> Path | None:
    """Reject a path that cannot be written, before the search."""
    if given is None:
        return None
    data, option = ctx.params["file"], param.opts[0]
    path = require_writable(given, option)
    if os.path.exists(given) and os.path.exists(data) and os.path.samefile(given, data):
        raise DataError(f"{option} {given!r} is the data itself; name another file")
    if option == "--report" and not given.lower().endswith((".html", ".htm")):
        raise OptionError(f"{option} {given!r}: a report is an HTML file; name one that ends in .html")
    return path


# The evidence to compute; how and where to write what was found; and with which remarks.
_EVIDENCE = [
    click.option(
        "--permutations",
        type=int,
        metavar="N",
        panel=TRUST,
        help="Compute p-values adjusted for the search from N searches on shuffled outcomes (999 with --trust).",
    ),
    click.option(
        "--trust",
        is_flag=True,
        panel=TRUST,
        help="Say how far each rule can be trusted: p-values, effects on held-out rows, stability, unmeasured "
        "confounding, overlap and a verdict.",
    ),
]
_FILES = [
    click.option(
        "--format",
        "form",
        type=click.Choice(["table", "json", "csv"]),
        default="table",
        show_default=True,
        panel=_OUTPUT,
        help="How to write what was found.",
    ),
    click.option(
        "--output", metavar="FILE", callback=checked, panel=_OUTPUT, help="Write what was found to a file, atomically."
    ),
    click.option(
        "--report",
        metavar="FILE",
        callback=checked,
        panel=_OUTPUT,
        help="Write a report as well: one HTML file that needs no network.",
    ),
    click.option("--quiet", is_flag=True, panel=_OUTPUT, help="No progress and no remarks, only what was found."),
]
_EXPLAIN = [
    click.option(
        "--explain", is_flag=True, panel=_OUTPUT, help="Say below the table what acting on the rules assumes."
    ),
]


def options(command: F) -> F:
    """Add the options of commands that print rules."""
    return _with([*_EVIDENCE, *_FILES, *_EXPLAIN], command)


def files(command: F) -> F:
    """Add the options of commands that print groups or policies."""
    return _with(_FILES, command)


def _with(added: Sequence[Callable[[Any], Any]], command: F) -> F:
    for add in reversed(added):
        command = add(command)
    return command
