"""What is taken away: the report, the rules in other languages, the graph, a notebook."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from causalrules.exceptions import InputError, OptionError
from causalrules.text import printable

if TYPE_CHECKING:
    from causalrules.graph.graph import CausalGraph
    from causalrules.rules import RuleSet

_DIALECT = "duckdb"


@dataclass(frozen=True)
class Export:
    """A file to download."""

    name: str
    media_type: str
    content: str


def export(what: str, stem: str, rules: RuleSet | None, graph: CausalGraph | None, call: str) -> Export:
    """Return the file that is asked for; an InputError says what has to be done first."""
    if what in ("dagitty", "dot", "gml"):
        if graph is None:
            raise InputError("there is no graph yet: draw one")
        written = {"dagitty": graph.to_dagitty, "dot": graph.to_dot, "gml": graph.to_gml}[what]()
        return Export(f"{stem}.{'txt' if what == 'dagitty' else what}", "text/plain", written)
    if what == "python":
        return Export(f"{stem}.py", "text/x-python", f"{call}\nprint(rules)\n")
    if what == "notebook":
        return Export(f"{stem}.ipynb", "application/x-ipynb+json", _notebook(call))
    if rules is None:
        raise InputError("there are no rules yet: search first")
    if what == "report":
        return Export(f"{stem}.html", "text/html", rules.to_html())
    if what == "json":
        return Export(f"{stem}.json", "application/json", rules.to_json())
    if what == "markdown":
        return Export(f"{stem}.md", "text/markdown", rules.to_markdown())
    if what == "sql":
        return Export(f"{stem}.sql", "application/sql", _sql(rules))
    raise InputError(f"there is nothing called {what!r:.40} to take away")


def _sql(rules: RuleSet) -> str:
    """Return a condition for each rule, after a comment with the rule."""
    lines = [f"-- Conditions for WHERE, one for each rule ({_DIALECT})."]
    for place, rule in enumerate(rules, 1):
        try:
            written = rule.to_sql(_DIALECT)
        except OptionError as error:
            written = f"-- not possible: {printable(str(error))}"
        lines += ["", f"-- {place}. {printable(rule.text)}", written]
    return "\n".join(lines) + "\n"


def _notebook(call: str) -> str:
    """Return a Jupyter notebook that asks the same, and looks at the answer."""
    cells = [call, "rules", "rules[0].verdict", 'rules.to_html("report.html")\nrules.plot("effects")']
    title = "# Rules\n\nThe question that was asked in the studio of causalrules."
    return json.dumps(
        {
            "cells": [
                {"cell_type": "markdown", "id": "title", "metadata": {}, "source": title.splitlines(keepends=True)},
                *(
                    {
                        "cell_type": "code",
                        "execution_count": None,
                        "id": f"cell-{place}",
                        "metadata": {},
                        "outputs": [],
                        "source": cell.splitlines(keepends=True),
                    }
                    for place, cell in enumerate(cells, 1)
                ),
            ],
            "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        },
        ensure_ascii=False,
        indent=1,
    )
