"""Exports: the report, the rules in other languages, the graph, a notebook."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from causalrules.exceptions import InputError, OptionError
from causalrules.studio.workspace import SUFFIX, write
from causalrules.text import printable

if TYPE_CHECKING:
    from causalrules.graph.graph import CausalGraph
    from causalrules.rules import RuleSet
    from causalrules.studio.workspace import Workspace

_DIALECT = "duckdb"


@dataclass(frozen=True)
class Export:
    """A file to download."""

    name: str
    media_type: str
    content: str


def export(what: str, asked: Workspace, rules: RuleSet | None, call: str) -> Export:
    """Return the requested file; an InputError says what must be done first."""
    made: dict[str, tuple[str, str, Callable[[], str]]] = {
        "workspace": (SUFFIX, "application/json", lambda: write(asked)),
        "dagitty": (".txt", "text/plain", lambda: _drawn(asked).to_dagitty()),
        "dot": (".dot", "text/plain", lambda: _drawn(asked).to_dot()),
        "gml": (".gml", "text/plain", lambda: _drawn(asked).to_gml()),
        "python": (".py", "text/x-python", lambda: f"{call}\nprint(rules)\n"),
        "notebook": (".ipynb", "application/x-ipynb+json", lambda: _notebook(call)),
        "report": (".html", "text/html", lambda: _found(rules).to_html()),
        "json": (".json", "application/json", lambda: _found(rules).to_json()),
        "markdown": (".md", "text/markdown", lambda: _found(rules).to_markdown()),
        "sql": (".sql", "application/sql", lambda: _sql(_found(rules))),
    }
    if what not in made:
        raise InputError(f"there is no export {what!r:.40}")
    suffix, media_type, content = made[what]
    stem = re.sub(r"[^\w.-]", "_", Path(asked.file or "rules").name.partition(".")[0]) or "rules"
    return Export(f"{stem}{suffix}", media_type, content())


def _drawn(asked: Workspace) -> CausalGraph:
    if asked.graph is None or not asked.graph.nodes:
        raise InputError("there is no graph yet: draw one")
    return asked.graph.graph


def _found(rules: RuleSet | None) -> RuleSet:
    if rules is None:
        raise InputError("there are no rules yet: search first")
    return rules


def _sql(rules: RuleSet) -> str:
    """Return a condition for each rule, after a comment with its text."""
    lines = [f"-- Conditions for WHERE, one for each rule ({_DIALECT})."]
    for place, rule in enumerate(rules, 1):
        try:
            written = rule.to_sql(_DIALECT)
        except OptionError as error:
            written = f"-- not possible: {printable(str(error))}"
        lines += ["", f"-- {place}. {printable(rule.text)}", written]
    return "\n".join(lines) + "\n"


def _notebook(call: str) -> str:
    """Return a Jupyter notebook that repeats the search and shows the result."""
    cells = [call, "rules", "rules[0].verdict", 'rules.to_html("report.html")\nrules.plot("effects")']
    title = "# Rules\n\nThe question that was asked in the studio of causalrules."
    ran: dict[str, Any] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    written = [
        {"cell_type": "markdown", "id": "title", "metadata": {}, "source": title.splitlines(keepends=True)},
        *({**ran, "id": f"cell-{n}", "source": cell.splitlines(keepends=True)} for n, cell in enumerate(cells, 1)),
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {"cells": written, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, ensure_ascii=False, indent=1)
