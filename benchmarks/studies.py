"""Lists of rules for real tables: python -m benchmarks.studies [--data ../shared/data]. Prints a Markdown table.

Tables that are not shipped are read from the folder; missing ones are skipped with a message.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import causalrules as cr
from benchmarks.wording import table
from causalrules.report.result_words import ending
from causalrules.text import percent

DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"
_CHARGES = ["age", "priors_count", "sex", "race", "c_charge_degree", "juv_fel_count", "juv_misd_count"]
_BEFORE_QUITTING = ["sex", "race", "age", "education", "smokeintensity", "smokeyrs", "wt71"]


@dataclass(frozen=True)
class Study:
    """A table, its question, and what is known about the answer."""

    name: str
    source: str | Callable[[], Any]
    target: str
    asked: dict[str, Any] = field(default_factory=dict)


STUDIES = (
    Study("Titanic", cr.datasets.titanic, "survived"),
    Study(
        "renewals",
        cr.datasets.renewals,
        "renewed",
        {"control": ["complaint", "tenure"], "actionable": ["call", "discount", "app", "newsletter"]},
    ),
    Study("kidney stones", cr.datasets.kidney_stones, "success", {"control": "size"}),
    Study("COMPAS, new offence", "causal/compas_two_years.csv.gz", "two_year_recid", {"actionable": _CHARGES}),
    Study(
        "COMPAS, score high, given a new offence or none",
        "causal/compas_two_years.csv.gz",
        "score_text",
        {"outcome": "High", "control": "two_year_recid", "actionable": _CHARGES},
    ),
    Study(
        "LaLonde's experiment, earnings",
        "causal/lalonde_nsw_dw.csv",
        "re78",
        {
            "actionable": ["treat", "age", "education", "black", "hispanic", "married", "nodegree"],
            "randomised": "treat",
        },
    ),
    Study(
        "hillstrom, visits, against no e-mail",
        "studies/hillstrom.csv.gz",
        "visit",
        {"actionable": "segment", "reference": {"segment": "No E-Mail"}, "randomised": "segment"},
    ),
    Study(
        "star, reading, within schools",
        "studies/star_ecdat.csv",
        "treadssk",
        {
            "actionable": ["classk", "totexpk"],
            "control": "schidkn",
            "categorical": "schidkn",
            "randomised": "classk",
        },
    ),
    Study(
        "nhefs, weight gained in kg, seven controls",
        "studies/nhefs.csv",
        "wt82_71",
        {"actionable": ["qsmk", "exercise", "active"], "control": _BEFORE_QUITTING},
    ),
)


def lines(study: Study, data: Path) -> list[list[str]]:
    """Search, and return one line for each rule; the last line says why the list ends."""
    source = data / study.source if isinstance(study.source, str) else study.source()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rules = cr.discover(source, study.target, progress=False, **study.asked)
    found = [
        [
            f"{study.name}, {rules.n_rows:,} rows" if place == 1 else "",
            f"{place}. {rule.text}",
            rule.kind.with_interval(rule.effect, *rule.interval),
            percent(rule.coverage),
            rule.verdict.evidence,
        ]
        for place, rule in enumerate(rules, 1)
    ]
    return [*found, ["", f"*{ending(rules)}*", "", "", ""]] if ending(rules) else found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the tables")
    folder = parser.parse_args().data
    rows: list[list[str]] = []
    for study in STUDIES:
        if isinstance(study.source, str) and not (folder / study.source).is_file():
            print(f"left out: {study.name}, as {study.source} is not in the folder; see --data", file=sys.stderr)
            continue
        rows += lines(study, folder)
    print(table(["table", "rule", "difference it makes", "covers", "evidence"], rows, text_columns=2))


if __name__ == "__main__":
    main()
