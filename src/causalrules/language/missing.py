"""Rows without a value of a control: not compared, or compared as if missing were a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from causalrules.alerts import Alert
from causalrules.text import counted, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from causalrules.data.table import Table
    from causalrules.question import Question

# Maximum share of the rows that may be left out without an alert.
FEW = 0.05


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
        '640 of 5,000 rows have no value of age (40) or complaint (612)'
        >>> MissingControls((("age", 40), ("complaint", 612)), 0, 5000).lack
        'of 5,000 rows, 40 have no value of age and 612 none of complaint'
        """
        if len(self.columns) == 1:
            ((name, n_missing),) = self.columns
            verb = "has" if n_missing == 1 else "have"
            return f"{n_missing:,} of {counted(self.n_rows, 'row')} {verb} no value of {name}"
        if self.n_dropped:
            each = listed([f"{name} ({n_missing:,})" for name, n_missing in self.columns], "or")
            verb = "has" if self.n_dropped == 1 else "have"
            return f"{self.n_dropped:,} of {counted(self.n_rows, 'row')} {verb} no value of {each}"
        (name, n_missing), *others = self.columns
        rest = [f"{n_other:,} none of {other}" for other, n_other in others]
        return f"of {counted(self.n_rows, 'row')}, {listed([f'{n_missing:,} have no value of {name}', *rest])}"

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


def missing_controls(table: Table, target: str, control: Sequence[str], question: Question) -> MissingControls | None:
    """Return the rows that lack a control; None if all have a value of each."""
    observed = table.observed(target, question.weights)
    counts = {name: observed.histogram(name).n_missing for name in sorted(control)}
    columns = tuple((name, n_missing) for name, n_missing in counts.items() if n_missing)
    if not columns:
        return None
    complete = table.observed(target, question.weights, question.required(control))
    return MissingControls(columns, complete.n_incomplete, observed.n_rows)
