"""Run the examples of a page of documentation, and write what they print below them.

    python tests/pages.py README.md docs/trust.md

Python blocks of one page share their names. What a block prints stands in a text block below it; a part of it is
enough. A line of comment below an expression is its value. A console block holds commands of causalrules with their
output. A block below `<!-- not run: REASON -->` is only compiled.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_BLOCK = re.compile(
    r"(?P<skipped><!-- not run: [^\n]* -->\n+)?"
    r"^(?P<indent> *)```(?P<kind>python|console)\n(?P<code>.*?)^(?P=indent)```$"
    r"(?P<below>(?:\s+prints[\w ]*)?\s+^(?P=indent)```text\n(?P<shown>.*?)^(?P=indent)```$)?",
    re.DOTALL | re.MULTILINE,
)


def same_on_any_machine(printed: str) -> str:
    """Leave out how long a search took, and spaces at the ends of lines."""
    timed = re.sub(r"[\d,]+ nodes? in [\d.,]+ (?:s|ms)", "… nodes in … s", printed)
    return "\n".join(line.rstrip() for line in timed.strip().splitlines())


def refreshed(page: str) -> str:
    """Return the page with what its examples print today."""
    names: dict[str, Any] = {"__name__": "page"}
    with _as_for_a_reader():
        return _BLOCK.sub(lambda block: _refreshed_block(block, names), page)


def _refreshed_block(block: re.Match[str], names: dict[str, Any]) -> str:
    code, kind = block["code"], block["kind"]
    if kind == "console":
        return block[0].replace(code, _console(code))
    if block["skipped"]:
        compile(code, "page", "exec")
        return block[0]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, "page", "exec"), names)
    values = re.sub(r"^(\w.*)\n# (.*)$", lambda line: f"{line[1]}\n# {eval(line[1], names)!r}", code, flags=re.M)
    written = block[0].replace(code, values)
    output = printed.getvalue()
    if block["shown"] is None:
        return written if not output.strip() else f"{written}\n\n```text\n{output.rstrip()}\n```"
    if same_on_any_machine(block["shown"]) in same_on_any_machine(output) and block["shown"].strip():
        return written
    return written.replace(f"```text\n{block['shown']}```", f"```text\n{output.rstrip()}\n```")


def _console(session: str) -> str:
    from click.testing import CliRunner

    from causalrules.cli import cli

    refreshed = []
    for command, shown in re.findall(r"^\$ (.*?[^\\])\n(.*?)(?=^\$ |\Z)", session, re.DOTALL | re.MULTILINE):
        words = shlex.split(command.replace("\\\n", ""))
        assert words[0] == "causalrules", f"{command}: only commands of causalrules are run"
        printed = CliRunner().invoke(cli, words[1:]).stdout
        kept = same_on_any_machine(shown) == same_on_any_machine(printed)
        refreshed.append(f"$ {command}\n{shown if kept else printed.rstrip() + chr(10)}")
    return "".join(refreshed)


@contextlib.contextmanager
def _as_for_a_reader() -> Iterator[None]:
    """Run in the project's root, 100 columns wide, with plots that are not shown."""
    import matplotlib

    matplotlib.use("agg")
    before, columns = Path.cwd(), os.environ.get("COLUMNS")
    os.chdir(ROOT)
    os.environ["COLUMNS"] = "100"
    try:
        yield
    finally:
        os.chdir(before)
        if columns is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = columns


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(refreshed(path.read_text(encoding="utf-8")), encoding="utf-8")
