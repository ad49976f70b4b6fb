"""Columns that the user declared randomised, and whether they are balanced as a draw by lot leaves them."""

from __future__ import annotations

from dataclasses import dataclass

from causalrules.alerts import UNBALANCED, Alert
from causalrules.text import counted, listed, plain

# Columns named in a sentence.
_MOST = 3


@dataclass(frozen=True)
class Difference:
    """A column in which the values of a declared column differ, by the largest standardised difference."""

    column: str
    standardised: float


@dataclass(frozen=True)
class Declared:
    """A column that is declared randomised, with its balance.

    Attributes
    ----------
    column
        The declared column.
    against
        The columns that it was compared in: those known to be there before.
    drawn_by
        The controls at whose values it was drawn at different rates; its balance was tested within these.
    unbalanced
        The columns in which its values differ by more than a draw does, the largest difference first.
    """

    column: str
    against: tuple[str, ...] = ()
    drawn_by: tuple[str, ...] = ()
    unbalanced: tuple[Difference, ...] = ()

    @property
    def sentence(self) -> str:
        """What was found."""
        rates = f"drawn at different rates by {listed(self.drawn_by)}" if self.drawn_by else ""
        rest = [name for name in self.against if name not in self.drawn_by]
        if self.unbalanced:
            return f"unbalanced in {listed([each.column for each in self.unbalanced])}"
        if not rest:
            beyond = f"{rates}; balance beyond that not checked" if rates else "balance not checked"
            others = "other columns" if rates else "columns"
            return f"{beyond}: name {others} that were there before as controls"
        balanced = f"balanced in {listed(rest) if len(rest) <= _MOST else counted(len(rest), 'column')}"
        return f"{rates}, and {balanced} within these" if rates else balanced

    def alert(self) -> Alert | None:
        """Return the alert that the column is unbalanced, if it is."""
        if not self.unbalanced:
            return None
        first, *others = self.unbalanced[:_MOST]
        named = [f"{plain(first.column)} (by {first.standardised:.2f} standard deviations)"]
        named += [f"{plain(each.column)} ({each.standardised:.2f})" for each in others]
        if len(self.unbalanced) > _MOST:
            named.append(f"{len(self.unbalanced) - _MOST} more")
        differing = f"{', '.join(named[:-1])} and {named[-1]}" if len(named) > 1 else named[0]
        sentence = (
            f"{plain(self.column)} is declared randomised, but its values differ in {differing}, which a draw by lot "
            "does in at most 1 of 1,000 tables: if it was not drawn, leave out randomised=; if groups were drawn, name "
            "groups=; if its chances depended on a quantity, name the bands of that quantity as a control"
        )
        return Alert(UNBALANCED, (self.column,), sentence)
