"""Messages on standard error: one line per error or warning, never a traceback."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import warnings
from functools import partial
from typing import Any

import rich_click as click

from causalrules.exceptions import (
    CausalRulesError,
    CausalRulesWarning,
    InadmissibleError,
    InputError,
    OptionError,
    UnsavedWarning,
)
from causalrules.question import flag
from causalrules.text import printable

_ANYWAY = "  --allow-inadmissible searches anyway, and calls the rules associations."


class Commands(click.RichGroup):
    """A group of commands. Exit codes: 0 done, 1 bad input or interrupted, 2 wrong usage."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command, and turn its errors into messages and exit codes."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", CausalRulesWarning)
            unsaved: list[Warning | str] = []
            warnings.showwarning = partial(_show_warning, unsaved)
            try:
                result = super().invoke(ctx)
                if not unsaved:
                    return result
            except InadmissibleError as error:
                for line in (*error.verdict.summary().splitlines(), _ANYWAY):
                    click.echo(printable(line), err=True)
            except OptionError as error:
                say("Error", in_options(error), "red")
                ctx.exit(2)
            except CausalRulesError as error:
                say("Error", in_options(error), "red")
            except KeyboardInterrupt:
                say("Interrupted", "nothing was found yet", "red")
            except MemoryError:
                say("Error", "there is not enough memory; search fewer columns or rows, or free some", "red")
            except OSError as error:
                if error.errno == errno.EPIPE:  # handled by click
                    raise
                say("Error", f"cannot write the output: {error.strerror or error}", "red")
                _discard_output()
            ctx.exit(1)


def in_options(error: CausalRulesError) -> str:
    """Return the message of an error, with the option in place of the parameter: "--jobs 0: …"."""
    if isinstance(error, InputError) and error.parameter is not None:
        return error.about(flag(error.parameter), " ")
    return str(error)


def say(label: str, message: str, colour: str) -> None:
    """Print a labelled line on standard error."""
    with contextlib.suppress(OSError):  # standard error may be closed
        click.secho(f"{label}: {printable(message)}", fg=colour, err=True)


def _show_warning(unsaved: list[Warning | str], message: Warning | str, *_: Any, **__: Any) -> None:
    command = click.get_current_context(silent=True)
    is_quiet = command is not None and command.params.get("quiet", False)
    if isinstance(message, UnsavedWarning):  # ends with exit code 1
        unsaved.append(message)
        is_quiet = False
    if not is_quiet:
        say("Warning", str(message), "yellow")


def _discard_output() -> None:
    """Discard the buffer of standard output if it cannot be written, which would fail again at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
