"""One search, timed apart from reading and coding the table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.measuring import Row, Timing, repeated
from causalrules.data.reading import read
from causalrules.data.table import Table
from causalrules.language.roles import resolve
from causalrules.question import PAPER, Question
from causalrules.search import run as search
from causalrules.search.adjusted import Adjusted, adjust
from causalrules.search.core import Packed
from causalrules.search.run import Found

TIME_LIMIT = 60.0
# What the figures of searches were measured with: the paper's estimator and its comparison. Only the length varies.
RELIABLE: dict[str, Any] = {name: value for name, value in PAPER.items() if name != "max_length"}


def source(data: Any) -> Table:
    """The table; what discover() would remark on it is not for here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read(data)


def problem_of(table: Table, target: str, outcome: Any, control: Sequence[str] = ()) -> Adjusted:
    """As discover() does it, so that one reading serves many outcomes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        roles = resolve(table, target, outcome, None, control or None, None)
        return adjust(table, roles, Question(target, **RELIABLE))


@dataclass(frozen=True)
class Measured:
    """What was found, and how long a search for it takes."""

    found: Found
    timing: Timing

    def row(self) -> Row:
        """The columns that every table of searches has."""
        progress = self.found.progress
        return {
            "seconds": self.timing.seconds,
            "spread": self.timing.spread,
            "runs": self.timing.runs,
            "nodes": progress.nodes,
            "best": progress.best,
            "optimal": self.found.optimal,
            "gap": progress.gap,
        }


def measure(packed: Packed, options: Question, n_rows: int, repeats: int) -> Measured:
    """The search by itself; one that reaches its time limit is not repeated, for it would again."""
    found = search.run(packed, options, n_rows)
    if found.stopped != "optimal":
        return Measured(found, Timing.of([found.progress.seconds]))
    first = iter([found.progress.seconds])
    return Measured(
        found,
        repeated(
            lambda: next(first, None) or search.run(packed, options, n_rows).progress.seconds,
            repeats,
        ),
    )
