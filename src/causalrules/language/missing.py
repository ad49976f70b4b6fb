"""Rows without a value of a control: not compared, or compared as if missing were a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from causalrules.alerts import Alert
from causalrules.text import counted, listed, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from causalrules.data.table import Table
    from causalrules.question import Question

# Maximum share of the rows that may be left out without an alert.
FEW = 0.05
# Controls with the most missing values that are named.
_SHOWN = 6


@dataclass(frozen=True)
class MissingControls:
    """The rows with a target, but without a value of a control.

    Attributes
    ----------
    columns
        The controls with missing values, and for each the number of rows without a value.
    n_dropped
        Rows that are not compared, because they lack at least one of them; 0 if missing is adjusted for as a value.
    n_rows
        All rows with a target.
    """

    columns: tuple[tuple[str, int], ...]
    n_dropped: int
    n_rows: int

    @property
    def names(self) -> tuple[str, ...]:
        """The controls with missing values."""
        return tuple(name for name, _ in self.columns)

    @property
    def are_many(self) -> bool:
        """Whether so many rows lack a control that they can mislead."""
        return max(self.n_dropped, *(n_missing for _, n_missing in self.columns)) > FEW * self.n_rows

    @property
    def lack(self) -> str:
        """Say how many rows lack which control.

        >>> MissingControls((("age", 40), ("complaint", 612)), 640, 5000).lack
        '640 of 5,000 rows have no value of complaint (612) or age (40)'
        >>> MissingControls((("age", 40), ("complaint", 612)), 0, 5000).lack
        'of 5,000 rows, 612 have no value of complaint and 40 none of age'
        """
        all_rows = counted(self.n_rows, "row")
        most = sorted(self.columns, key=lambda column: -column[1])[:_SHOWN]
        others = [f"{len(self.columns) - _SHOWN:,} others"] if len(self.columns) > _SHOWN else []
        name, n_missing = most[0]
        if len(self.columns) == 1:
            verb = "has" if n_missing == 1 else "have"
            return f"{n_missing:,} of {all_rows} {verb} no value of {plain(name)}"
        if self.n_dropped:
            each = [*(f"{plain(name)} ({n_missing:,})" for name, n_missing in most), *others]
            verb = "has" if self.n_dropped == 1 else "have"
            return f"{self.n_dropped:,} of {all_rows} {verb} no value of {_joined(each, 'or')}"
        rest = [f"{n_other:,} none of {plain(other)}" for other, n_other in most[1:]]
        each = [f"{n_missing:,} have no value of {plain(name)}", *rest, *(f"fewer none of {other}" for other in others)]
        return f"of {all_rows}, {_joined(each, 'and')}"

    @property
    def assumed(self) -> str:
        """Say what the comparison of the other rows assumes."""
        return f"if {listed(self.names)} {'is' if len(self.columns) == 1 else 'are'} missing at random"

    @property
    def note(self) -> str:
        """Say what is done with these rows."""
        if self.n_dropped:
            what = f"{self.lack} and {'is' if self.n_dropped == 1 else 'are'} not compared"
            return f"{what}; the others stand for them {self.assumed}" if self.are_many else what
        return f"{self.lack}, which is not adjusted for there; missing_control='drop' does not compare these rows"

    @property
    def alert(self) -> Alert:
        """Say it as an alert."""
        return Alert("missing controls" if len(self.columns) > 1 else "missing control", self.names, self.note)


def _joined(parts: Sequence[str], joint: str) -> str:
    *first, last = parts
    return f"{', '.join(first)} {joint} {last}"


def missing_controls(table: Table, target: str, control: Sequence[str], question: Question) -> MissingControls | None:
    """Return the rows that lack a control; None if all have a value of each."""
    observed = table.observed(target, question.weights)
    counts = {name: observed.n_missing(name) for name in sorted(control)}
    columns = tuple((name, n_missing) for name, n_missing in counts.items() if n_missing)
    if not columns:
        return None
    complete = table.observed(target, question.weights, question.required(control))
    return MissingControls(columns, complete.n_incomplete, observed.n_rows)
