"""The command line: one module per command."""

from __future__ import annotations

import io
import signal
import sys
from typing import Any

import rich_click as click

from causalrules.cli.check import check
from causalrules.cli.demo import demo
from causalrules.cli.discover import discover
from causalrules.cli.evaluate import evaluate
from causalrules.cli.for_whom import for_whom
from causalrules.cli.messages import Commands
from causalrules.cli.prescribe import prescribe
from causalrules.cli.studio import studio
from causalrules.cli.suggest import suggest

_HELP = """Find the conditions with the highest conservative effect on an outcome. To start:

\b
causalrules demo
causalrules discover cr-demo/titanic.csv --target survived --report all.html
causalrules discover cr-demo/titanic.csv --target survived --trust --explain
causalrules studio cr-demo/titanic.csv
"""


@click.group(cls=Commands, help=_HELP)
@click.version_option(package_name="causalrules", message="%(prog)s %(version)s")
def cli() -> None:
    """Find the conditions with the highest conservative effect on an outcome."""


for command in (discover, evaluate, for_whom, prescribe, check, suggest, demo, studio):
    cli.add_command(command)


def main() -> None:
    """Run the command line on terminals of any encoding; on SIGTERM or SIGHUP, remove temporary files and exit."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores SIGHUP
            signal.signal(number, _end)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    cli(prog_name="causalrules")


def _end(number: int, frame: Any) -> None:
    raise SystemExit(128 + number)
