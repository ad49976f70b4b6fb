"""What the command line says on standard error: one line for each error or warning, never a traceback."""

from __future__ import annotations

import warnings
from typing import Any

import rich_click as click

from causalrules.exceptions import CausalRulesError, CausalRulesWarning, InadmissibleError, InputError, OptionError
from causalrules.question import flag
from causalrules.text import printable

_ANYWAY = "  --allow-inadmissible searches anyway, and calls the rules associations."


class Commands(click.RichGroup):
    """A group of commands. Exit codes: 0 done, 1 bad input or interrupted, 2 wrong usage."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command, and turn its errors into messages and exit codes."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", CausalRulesWarning)
            warnings.showwarning = _show_warning
            try:
                return super().invoke(ctx)
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
            ctx.exit(1)


def in_options(error: CausalRulesError) -> str:
    """Return the message of an error, with the option in place of the parameter: "--jobs 0: …"."""
    if isinstance(error, InputError) and error.parameter is not None:
        return error.about(flag(error.parameter), " ")
    return str(error)


def say(label: str, message: str, colour: str) -> None:
    """Print a labelled line on standard error."""
    click.secho(f"{label}: {printable(message)}", fg=colour, err=True)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say("Warning", str(message), "yellow")
