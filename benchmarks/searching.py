"""Times a search without reading and coding the table."""

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
# The figures of searches were measured with the paper's estimator and comparison. Only the length varies.
RELIABLE: dict[str, Any] = {name: value for name, value in PAPER.items() if name != "max_length"}


def source(data: Any) -> Table:
    """Return the table, without the notes of discover()."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read(data)


def problem_of(table: Table, target: str, outcome: Any, control: Sequence[str] = ()) -> Adjusted:
    """Prepare as discover() does, so that the table is read once for many outcomes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        roles = resolve(table, target, outcome, None, control or None, None)
        return adjust(table, roles, Question(target, **RELIABLE))


@dataclass(frozen=True)
class Measured:
    """The result of a search, and its time."""

    found: Found
    timing: Timing

    def row(self) -> Row:
        """Return the columns common to all tables of searches."""
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
    """Time the search alone; a search that reaches its time limit is not repeated."""
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
