"""The report: one HTML file that needs no network. Untrusted names and values appear as text only.

The page is readable without scripts. The script, built from web/, renders the same view and the result's JSON with
figures that can be explored.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from causalrules.payload import to_json
from causalrules.report.view import MOST_STRATA, view
from causalrules.result.json import as_json
from causalrules.writing import replace_file

if TYPE_CHECKING:
    import jinja2

    from causalrules.result.result import Result

_FOLDER = Path(__file__).parent
_MOST_RULES = 300


def write(rules: Result, path: str | PathLike[str] | None = None) -> str:
    """Return the report, and write it to a file, atomically."""
    shown = replace(rules, rules=rules.rules[:_MOST_RULES])
    page = _page(shown, as_json(shown, MOST_STRATA), n_left=len(rules) - len(shown))
    if path is not None:
        replace_file(Path(path), page)
    return page


def environment() -> jinja2.Environment:
    """Return Jinja with the templates and the style of reports.

    `code` writes code to copy, and `unbroken` keeps a percentage on one line.
    """
    import jinja2
    from markupsafe import Markup, escape

    def code(text: str) -> Markup:
        # Browsers convert carriage returns to line feeds, which would change copied code. Lone surrogates cannot be
        # encoded.
        written = text.encode("utf-8", "backslashreplace").decode("utf-8")
        return Markup(str(escape(written)).replace("\r", "&#13;"))

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"code": code, "unbroken": lambda text: text.replace(" %", "\u00a0%")}
    made.globals["style"] = Markup((_FOLDER / "report.css").read_text(encoding="utf-8"))
    return made


def _page(rules: Result, result: dict[str, Any], n_left: int) -> str:
    from markupsafe import Markup

    def level(value: float | None) -> str:
        return "–" if value is None else rules.kind.level(value)

    def difference(value: float | None) -> str:
        return rules.kind.figure(value)

    said, templates = view(rules, n_left), environment()
    templates.filters |= {"level": level, "difference": difference}
    script = (_FOLDER / "report.js").read_text(encoding="utf-8")
    data = json.dumps({"result": result, "view": to_json(said)}, allow_nan=False, separators=(",", ":"))
    return templates.get_template("report.html.j2").render(
        view=said,
        result=result,
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        # The data cannot contain the end tag of its element.
        data=Markup(data.replace("<", "\\u003c")),
    )
