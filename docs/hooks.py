"""What the site adds to the pages: the reference of the command line, and files that pages link to."""

from __future__ import annotations

import html
import inspect
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import griffe
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
# Functions whose parameters are the options of a Question: only Python itself knows their signature.
_ASKING = {
    "causalrules.discovery.discover": "discover",
    "causalrules.discovery.evaluate": "evaluate",
    "causalrules.prescribing.for_whom": "for_whom",
    "causalrules.prescribing.prescribe": "prescribe",
}
_SHOWN = {".svg", ".png", ".csv", ".json", ".html"}
# Files of the repository's root that are pages of the site, too.
_PAGES = {"README.md": "start.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}


class Questions(griffe.Extension):
    """Give functions that take options the signature and the docstring that they have in Python."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Replace what the source says by what the function says of itself."""
        if func.path not in _ASKING:
            return
        import causalrules

        asking = getattr(causalrules, _ASKING[func.path])
        func.docstring = griffe.Docstring(inspect.getdoc(asking) or "", parent=func, parser="numpy")
        func.parameters = griffe.Parameters(
            *(
                griffe.Parameter(
                    each.name,
                    annotation=str(each.annotation),
                    kind=griffe.ParameterKind(each.kind.description),
                    default=None if each.default is each.empty else repr(each.default),
                )
                for each in inspect.signature(asking).parameters.values()
            )
        )


def on_files(files: Files, config: Any) -> Files:
    """Add the command line's reference, the pages of the root, and the figures and results that pages link to."""
    files.append(File.generated(config, "reference/cli.md", content=_command_line()))
    for name, page in _PAGES.items():
        files.append(File.generated(config, page, content=_moved((ROOT / name).read_text(encoding="utf-8"))))
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for link in re.findall(r"\]\((\.\./[^)#\s]+)", page.read_text(encoding="utf-8")):
            target = (page.parent / link).resolve()
            name = target.relative_to(ROOT).as_posix()
            if target.suffix in _SHOWN and target.is_file() and not files.get_file_from_path(f"files/{name}"):
                files.append(File.generated(config, f"files/{name}", abs_src_path=str(target)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Point links at files of the repository to their copies on the site; name the others."""
    here = Path(page.file.src_uri).parent

    def replaced(link: re.Match[str]) -> str:
        name = os.path.normpath(ROOT / "docs" / here / link[2])
        relative = Path(name).relative_to(ROOT).as_posix()
        if relative.startswith("docs/"):
            return link[0]
        if relative in _PAGES:
            return f"[{link[1]}]({os.path.relpath(_PAGES[relative], here)}{link[3]})"
        if files.get_file_from_path(f"files/{relative}"):
            return f"[{link[1]}]({os.path.relpath('files/' + relative, here)})"
        return link[1] if relative in link[1] else f"{link[1]} (`{relative}`)"

    return re.sub(r"\[([^\]]*)\]\((\.\./[^)#\s]+)([^)]*)\)", replaced, markdown)


def _moved(page: str) -> str:
    """Return a page of the root with its links as they are from docs/."""

    def replaced(link: re.Match[str]) -> str:
        path, _, heading = link[2].partition("#")
        if path in _PAGES:
            path = _PAGES[path]
        elif path and not path.startswith("docs/"):
            return f"{link[1]} (`{path}`)"
        return f"[{link[1]}]({path.removeprefix('docs/')}{'#' * bool(heading)}{heading})"

    return re.sub(r"\[([^\]]*)\]\((?!https?:)([^)\s]+)\)", replaced, page)


def _command_line() -> str:
    """Return the reference of the command line, from its definitions."""
    from causalrules.cli import cli

    lines = ["# Command line", "", *_help(cli)]
    context = click.Context(cli, info_name="causalrules")
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        lines += [f"## causalrules {name}", "", *_help(command)]
        lines += ["```text", " ".join(command.get_usage(inner).split()), "```", "", "| option | meaning |", "|---|---|"]
        for parameter in command.get_params(inner):
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(inner)):
                names, meaning = (html.escape(text).replace("|", "&#124;") for text in record)
                lines.append(f"| <code>{names}</code> | {meaning} |")
        lines.append("")
    return "\n".join(lines)


def _help(command: click.Command) -> Iterator[str]:
    """Give the help of a command, with paragraphs that are not to be wrapped as blocks."""
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        as_it_is = paragraph.lstrip("\n").startswith("\b")
        text = inspect.cleandoc(paragraph.replace("\b", "").strip("\n"))
        yield from ["```text", text, "```", ""] if as_it_is else [text, ""]
