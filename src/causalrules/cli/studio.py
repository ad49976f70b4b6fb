"""causalrules studio: a page in the browser to ask, search and export."""

from __future__ import annotations

import contextlib
import signal
import threading
import webbrowser

import rich_click as click

from causalrules.exceptions import MissingPackageError
from causalrules.text import printable


@click.command()
@click.argument("file", required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on 127.0.0.1; by default any free one.")
@click.option("--no-browser", is_flag=True, help="Print the address only.")
def studio(file: str | None, port: int, no_browser: bool) -> None:
    """Open the studio: a page on this computer in which to ask, watch the search and export the rules.

    FILE is a table (CSV, TSV or Parquet, also gzipped), or a workspace (.studio.json) to open again. The workspace is
    saved beside the table after every change. Ctrl-C ends the studio.
    """
    try:
        from causalrules.studio.server import Server
    except ImportError as error:
        raise MissingPackageError(
            f"the studio needs {error.name}, which is not installed: pip install 'causalrules[studio]'"
        ) from error
    server = Server(file, port)
    # Set a flag, do not raise: an exception while two threads import modules can make Python 3.11 hang.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: server.stop())
    with contextlib.closing(server):
        click.echo(printable(f"The studio is at {server.url}"))
        click.echo("Ctrl-C ends it.", err=True)
        if not no_browser:
            threading.Thread(target=webbrowser.open, args=[server.url], daemon=True).start()
        server.run()
