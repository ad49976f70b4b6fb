"""What the site adds to the pages: the reference of the command line, and files that pages link to."""

from __future__ import annotations

import inspect
import os
import re
from pathlib import Path
from typing import Any

import click
import griffe
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
# Functions whose parameters are the options of a Question: only Python itself knows their signature.
_ASKING = {"causalrules.discovery.discover": "discover", "causalrules.discovery.evaluate": "evaluate"}
_SHOWN = {".svg", ".png", ".csv", ".json", ".html"}


class Questions(griffe.Extension):
    """Give discover() and evaluate() the signature and the docstring that they have in Python."""

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
    """Add the command line's reference, and the figures and results that pages link to."""
    files.append(File.generated(config, "reference/cli.md", content=_command_line()))
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
        if files.get_file_from_path(f"files/{relative}"):
            return f"[{link[1]}]({os.path.relpath('files/' + relative, here)})"
        return link[1] if relative in link[1] else f"{link[1]} (`{relative}`)"

    return re.sub(r"\[([^\]]*)\]\((\.\./[^)#\s]+)[^)]*\)", replaced, markdown)


def _command_line() -> str:
    from causalrules.cli import cli

    lines = ["# Command line", "", (cli.help or "").replace("\b", ""), ""]
    context = click.Context(cli, info_name="causalrules")
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        lines += [f"## causalrules {name}", "", (command.help or "").replace("\b", ""), ""]
        lines += ["```text", " ".join(command.get_usage(inner).split()), "```", "", "| option | meaning |", "|---|---|"]
        for parameter in command.get_params(inner):
            if record := parameter.get_help_record(inner):
                names, meaning = (text.replace("|", "\\|").replace("<", "&lt;") for text in record)
                lines.append(f"| `{names}` | {meaning} |".replace("&lt;", "<"))
        lines.append("")
    return "\n".join(lines)
