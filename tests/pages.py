"""Run the examples of a page of documentation, and write their output and figures below them.

    python tests/pages.py README.md docs/trust.md examples/titanic.py

Python blocks of a page share their names. The output of a block stands in a text block below it; part of it is
enough. A comment line below an expression is its value. A picture `![…](….svg)` below a block is the figure it draws,
with a digest of its numbers. A console block holds causalrules commands with their output. A block below `<!-- not
run: REASON -->` is only compiled.

A script in examples/ becomes a page in docs/examples/: its docstring comes first, and comments that begin with `# %%`
are the text between its blocks.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import io
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_BLOCK = re.compile(
    r"(?P<skipped><!-- not run: [^\n]* -->\n+)?"
    r"^(?P<indent> *)```(?P<kind>python|console)\n(?P<code>.*?)^(?P=indent)```$"
    r"(?P<below>(?:\s+prints[\w ]*)?\s+^(?P=indent)```text\n(?P<shown>.*?)^(?P=indent)```$)?"
    r"(?:\s+!\[[^\]]*\]\((?P<picture>[^)\s]+\.svg)\)$)?",
    re.DOTALL | re.MULTILINE,
)
_CELL = re.compile(r"^# %%(.*(?:\n#.*)*)", re.MULTILINE)
# Called with each figure: its file name as on the page, and the figure.
Draw = Callable[[str, Any], None]


def same_on_any_machine(printed: str) -> str:
    """Remove times, and spaces at the ends of lines."""
    timed = re.sub(r"[\d,]+ nodes? in [\d.,]+ (?:s|ms)", "… nodes in … s", printed)
    return "\n".join(line.rstrip() for line in timed.strip().splitlines())


def refreshed(page: str, draw: Draw = lambda name, figure: None, names: dict[str, Any] | None = None) -> str:
    """Return the page with the current output of its examples; leave their names in `names`."""
    names = {} if names is None else names
    names["__name__"] = "page"
    with _as_for_a_reader():
        return _BLOCK.sub(lambda block: _refreshed_block(block, names, draw), page)


def _refreshed_block(block: re.Match[str], names: dict[str, Any], draw: Draw) -> str:
    from matplotlib import pyplot

    code, kind = block["code"], block["kind"]
    if kind == "console":
        return block[0].replace(code, _console(code))
    if block["skipped"]:
        compile(code, "page", "exec")
        return block[0]
    pyplot.close("all")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, "page", "exec"), names)
    if block["picture"]:
        assert len(pyplot.get_fignums()) == 1, f"the block above {block['picture']} draws {len(pyplot.get_fignums())}"
        draw(block["picture"], pyplot.gcf())
    values = re.sub(r"^(\w.*)\n# (.*)$", lambda line: f"{line[1]}\n# {eval(line[1], names)!r}", code, flags=re.M)
    written = block[0].replace(code, values)
    output = printed.getvalue()
    if block["shown"] is None:
        if not output.strip():
            return written
        return written.replace(f"{values}```", f"{values}```\n\n```text\n{output.rstrip()}\n```", 1)
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


def digest(figure: Any) -> str:
    """Return a digest of the numbers and words in a figure, independent of its style."""
    shown = [
        [
            getattr(ax, "plotted", None) or [line.get_xydata().tolist() for line in ax.get_lines()],
            [text.get_text() for text in ax.texts],
        ]
        for ax in figure.axes
    ]
    return hashlib.sha256(_plain(shown).encode()).hexdigest()


def _plain(value: Any) -> str:
    """Format nested values with digits that are the same on every machine."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_plain(each)}' for key, each in value.items())}}}"
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_plain, value))}]"
    return f"{value:.5g}" if isinstance(value, (int, float)) else str(value)


def save(path: Path, figure: Any) -> None:
    """Write a figure, unless the existing file shows the same."""
    import matplotlib

    if not is_current(path, figure):
        path.parent.mkdir(parents=True, exist_ok=True)
        with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "causalrules"}):
            figure.savefig(path, metadata={"Date": None, "Creator": None, "Description": digest(figure)})


def is_current(path: Path, figure: Any) -> bool:
    """Return whether a picture shows what the figure does."""
    return path.is_file() and digest(figure) in path.read_text(encoding="utf-8")


def page_of(script: Path) -> str:
    """Return the page of a script, without the output of its blocks."""
    source = script.read_text(encoding="utf-8")
    document = ast.parse(source).body[0]
    title, _, beginning = (ast.get_docstring(ast.parse(source)) or "").partition("\n")
    name = script.relative_to(ROOT).as_posix()
    rest = "".join(source.splitlines(keepends=True)[document.end_lineno :])
    parts = [f"<!-- Written by tests/pages.py from {name}: change that. -->\n# {title.rstrip('.')}", beginning.strip()]
    for position, part in enumerate(_CELL.split(rest)):
        if position % 2:
            parts.append("\n".join(line.removeprefix("#").removeprefix(" ") for line in part.strip().splitlines()))
        elif code := part.strip():
            parts.append(f"```python\n{code}\n```")
    parts.append(f"This page is [{name}](../../{name}) and what it prints: `python {name}`.")
    return "\n\n".join(part for part in parts if part) + "\n"


def page_path(script: Path) -> Path:
    """Return the path of a script's page."""
    return ROOT / "docs" / "examples" / f"{script.stem}.md"


def main(paths: list[Path]) -> None:
    """Write the current output of the examples into pages."""
    for given in paths:
        path, is_script = given.resolve(), given.suffix == ".py"
        text = page_of(path) if is_script else path.read_text(encoding="utf-8")
        page = page_path(path) if is_script else path
        page.write_text(refreshed(text, functools.partial(_save_beside, page)), encoding="utf-8")


def _save_beside(page: Path, name: str, figure: Any) -> None:
    save(page.parent / name, figure)


if __name__ == "__main__":
    main([Path(each) for each in sys.argv[1:]])
