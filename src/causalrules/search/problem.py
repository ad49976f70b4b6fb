"""A question prepared for the search: rows and conditions, adjusted for one set of controls or for several.

If rules have their own controls, each set of columns belongs to one adjustment (`Language.allowed_columns`), so that
the conditions of a rule determine its adjustment.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from causalrules.exceptions import DataError
from causalrules.language.strata import Combining, n_levels
from causalrules.search import merging
from causalrules.search.adjusted import Adjusted, adjust, with_controls
from causalrules.search.core import NativeSearch, Packed, Search
from causalrules.search.remote import RemoteSearch, RemoteTable
from causalrules.search.rows import Comparison, LocalRows
from causalrules.text import listed

# Maximum bytes of cached packed tables.
_MOST_KEPT = 2**29


class PackedParts(Packed):
    """Several packed tables of the same rows; the conditions of a rule determine its table.

    Parameters
    ----------
    pack
        Packs the table of a number; None packs all rows in one table.
    number
        Returns the number of a rule's table.
    order
        The numbers of the tables, in search order.
    size
        Maximum bytes of a packed table.
    """

    def __init__(
        self,
        pack: Callable[[int | None], Packed],
        number: Callable[[Iterable[int]], int],
        order: Sequence[int],
        size: int,
    ) -> None:
        self.order, self.number = tuple(order), number
        self._pack = pack
        self._most = max(1, _MOST_KEPT // max(1, size))
        self._kept: dict[int, Packed] = {}

    @cached_property
    def _whole(self) -> Packed:
        """All rows with all columns, in one table."""
        return self._pack(None)

    @property
    def n_strata(self) -> int:  # type: ignore[override]
        """The number of strata of all rows in one table."""
        return self._whole.n_strata

    @property
    def levels(self) -> NDArray[np.float64]:  # type: ignore[override]
        """The values of the target's levels, lowest first."""
        return self._whole.levels

    @property
    def rows(self) -> Any:
        """Handle of all rows for the core, in one table."""
        return self._whole.rows

    @property
    def n_sources(self) -> int:
        """Number of tables."""
        return len(self.order)

    def source(self, number: int) -> Packed:
        """Return a table by its position in search order."""
        return self.table(self.order[number])

    def table(self, number: int) -> Packed:
        """Return a packed table by its number."""
        if number not in self._kept:
            if len(self._kept) >= self._most:
                self._kept.clear()
            self._kept[number] = self._pack(number)
        return self._kept[number]

    def part(self, conditions: Sequence[int]) -> Packed:
        """Return the table that a rule belongs to."""
        return self.table(self.number(conditions))

    def count(self, conditions: Sequence[int] = ()) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count the rows that satisfy all conditions, and the rows that fail them, in the table of all rows."""
        return self._whole.count(conditions)

    def search(self, **options: Any) -> Search:
        """One search over all tables, with the options of `NativeSearch`."""
        if isinstance(self._whole, RemoteTable):
            return RemoteSearch(self, self._whole, **options)
        return NativeSearch(self, **options)


if TYPE_CHECKING:
    from causalrules.alerts import Alert
    from causalrules.data.table import Table
    from causalrules.graph.adjustment import Adjustments
    from causalrules.graph.graph import CausalGraph
    from causalrules.language.language import Language
    from causalrules.language.roles import Roles
    from causalrules.question import Question


@dataclass(frozen=True, eq=False)
class Problem:
    """The rows and conditions of one search, in the strata of each set of controls.

    Attributes
    ----------
    adjustments
        The rows in the strata of each set of controls.
    everything
        All rows, without controls, if an adjustment leaves out those that lack its controls; else None.
    """

    adjustments: tuple[Adjusted, ...]
    everything: Adjusted | None = None

    @property
    def is_single(self) -> bool:
        """Whether all rules have the same controls."""
        return len(self.adjustments) == 1

    @property
    def has_own_controls(self) -> bool:
        """Whether rules have their own controls, even if only for some sets of columns."""
        return self.language.allowed_columns is not None

    @property
    def only(self) -> Adjusted:
        """The only adjustment, if all rules have the same controls."""
        (adjusted,) = self.adjustments
        return adjusted

    @cached_property
    def language(self) -> Language:
        """The conditions, and the sets of columns of all adjustments."""
        if self.is_single:
            return self.only.language
        sets = [problem.language.allowed_columns for problem in self.adjustments]
        allowed_columns = None if None in sets else tuple(each for own in sets for each in own or ())
        return replace(self.adjustments[0].language, allowed_columns=allowed_columns)

    @cached_property
    def _number(self) -> dict[frozenset[str], int]:
        return {
            frozenset(each): number
            for number, problem in enumerate(self.adjustments)
            for each in problem.language.allowed_columns or ()
        }

    def has(self, conditions: Iterable[int]) -> bool:
        """Return whether a rule belongs to one of the adjustments."""
        if self.language.allowed_columns is None:
            return True
        propositions = self.language.propositions
        return frozenset(propositions[condition].column for condition in conditions) in self._number

    def number(self, conditions: Iterable[int]) -> int:
        """Return the number of the adjustment that a rule belongs to."""
        if self.is_single:
            return 0
        propositions = self.language.propositions
        return self._number[frozenset(propositions[condition].column for condition in conditions)]

    def of(self, conditions: Iterable[int]) -> Adjusted:
        """Return the adjustment in which a rule is measured."""
        return self.adjustments[self.number(conditions)]

    @property
    def first(self) -> Adjusted:
        """All rows: any of the adjustments, unless some of them leave out rows."""
        return self.adjustments[0] if self.everything is None else self.everything

    def each(self, change: Callable[[Adjusted], Adjusted]) -> Problem:
        """Return the problem with all adjustments changed."""
        whole = None if self.everything is None else change(self.everything)
        return Problem(tuple(map(change, self.adjustments)), whole)

    @property
    def roles(self) -> Roles:
        """The roles; without controls if rules have their own."""
        return self.only.roles if self.is_single else replace(self.first.roles, control=())

    @property
    def comparison(self) -> Comparison:
        """How covered rows are compared with the others."""
        return self.first.comparison

    @property
    def n_rows(self) -> int:
        """Number of rows, by weight."""
        return self.first.n_rows

    @property
    def n_dropped(self) -> int:
        """Rows without a target."""
        return self.first.n_dropped

    @property
    def n_incomplete(self) -> int:
        """Rows that no rule compares, because they lack a control; 0 if rules have different controls."""
        missing = self.only.missing_control if self.is_single else None
        return 0 if missing is None else missing.n_dropped

    @property
    def n_strata(self) -> int:
        """Number of strata of the adjustment with the most."""
        return max(adjusted.n_strata for adjusted in self.adjustments)

    @property
    def library(self) -> str:
        """The data frame library of the input."""
        return self.first.library

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """What can mislead about the rows and their controls."""
        return tuple(dict.fromkeys(alert for adjusted in self.adjustments for alert in adjusted.alerts))

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on how the data was read."""
        return tuple(dict.fromkeys(note for adjusted in self.adjustments for note in adjusted.notes))

    @property
    def is_local(self) -> bool:
        """Whether the rows are in this process."""
        return self.first.is_local

    @property
    def strata_labels(self) -> list[Any]:
        """The labels of the strata of each adjustment, and its sets of columns."""
        if self.is_single:
            return self.only.strata_labels
        return [(problem.language.allowed_columns, problem.strata_labels) for problem in self.adjustments]

    def digest(self) -> int:
        """Return an order-independent 128-bit hash of the rows."""
        first = self.first.rows
        if self.is_single:
            return self.only.digest()
        if not isinstance(first, LocalRows) or self.everything is not None:
            return functools.reduce(merging.add_digests, (problem.digest() for problem in self.adjustments))
        # Adjustments differ only in the strata of the rows.
        strata = [problem.stratum for problem in self.adjustments[1:]]
        batch = first.fetch()
        return merging.digest([replace(batch, columns=[*batch.columns, *strata])])

    def pack(self) -> Packed:
        """Return the rows for the search; several adjustments are packed on demand."""
        return self.only.pack() if self.is_single else self._packed

    @cached_property
    def _packed(self) -> PackedParts:
        numbers = range(len(self.adjustments))
        return PackedParts(
            self._pack,
            self.number,
            # Adjustments with the most sets of columns come first: a good floor saves work in the others.
            sorted(numbers, key=lambda number: -len(self.adjustments[number].language.allowed_columns or ())),
            size=self.n_rows * len(self.language.propositions) // 8,
        )

    def _pack(self, number: int | None) -> Packed:
        if number is not None:
            return self.adjustments[number].pack(())
        first = self.first
        return replace(first, rows=replace(first.rows, language=replace(self.language, allowed_columns=None))).pack()

    def __getstate__(self) -> dict[str, Any]:
        return {"adjustments": self.adjustments, "everything": self.everything}


def own_controls(
    table: Table,
    roles: Roles,
    graph: CausalGraph,
    question: Question,
    allowed: Iterable[str],
    sets: Iterable[Iterable[str]] | None = None,
    held_fixed: Sequence[str] = (),
) -> Adjustments:
    """Return the controls of each set of actionable columns: the valid ones with the fewest strata.

    `sets` selects some of the sets; columns in `held_fixed` are adjusted for in addition.
    """
    from causalrules.graph.adjustment import adjustments

    observed = table.observed(roles.target, question.weights)
    allowed = [name for name in allowed if name in graph.nodes and name != roles.target]
    sizes = {name: n_levels(observed, name, question.control_bins, question.max_bins) for name in allowed}
    return adjustments(
        graph,
        roles.target,
        roles.actionable,
        max_length=question.max_length,
        observed=allowed,
        sizes=sizes,
        sets=sets,
        held_fixed=held_fixed,
        context=roles.context,
    )


def prepare(
    table: Table, roles: Roles, question: Question, own: Adjustments | None = None, language: Language | None = None
) -> Problem:
    """Prepare a question for the search.

    Parameters
    ----------
    table, roles, question
        The table, the roles of its columns, and the options.
    own
        The controls of each set of columns, if rules have their own.
    language
        The conditions, if given; by default they are built.
    """
    groups = {roles.control: ()} if own is None else own.groups
    observed = table.observed(roles.target, question.weights)
    complete = {
        control: own is None or table.observed(roles.target, question.weights, question.required(control)) is observed
        for control in groups
    }
    alike = len(groups) == 1 and (own is None or not own.left_out)
    if alike and all(complete.values()):
        (control,) = groups
        return Problem((adjust(table, replace(roles, control=control), question, language),))
    problems: list[Adjusted] = []
    lost: list[tuple[str, str]] = []
    problem = adjust(table, roles, question, language)
    combining = Combining(observed.codes, observed.n_records)
    for control, sets in sorted(groups.items()):
        own_language = replace(problem.language, allowed_columns=None if alike else tuple(sets))
        if alike or own_language.allowed_numbers:
            one = with_controls(problem, table, control, question, combining)
            if one is not None:
                problems.append(replace(one, rows=replace(one.rows, language=own_language)))
            else:
                lost.append((listed(sets[0]), listed(control)))
    if lost and (language is not None or not problems):  # no rule that is named may be left out
        columns, controls = lost[0]
        raise DataError(
            f"no rule on {columns} can be compared: no row has a value of each control, {controls}, or all that do "
            "have the same outcome; give missing_control='value', which adjusts for missing as a value of its own"
        )
    return Problem(tuple(problems), None if all(complete.values()) else problem)
