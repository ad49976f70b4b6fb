"""Rows adjusted for a set of controls: the rule language, the strata and the coded rows.

Permutations, splits and subsamples derive from it, with other rows and the same language.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules.alerts import Alert
from causalrules.data.table import Table
from causalrules.estimators import intervals
from causalrules.estimators.intervals import Grouped
from causalrules.estimators.sides import Side, side_of
from causalrules.exceptions import OptionError, RoleError, UnknownColumnError
from causalrules.language.cuts import Cuts, check_cuts
from causalrules.language.language import Language, build_language
from causalrules.language.learning import FOLDS, check_model
from causalrules.language.missing import MissingControls, missing_controls
from causalrules.language.outcome import Outcome, resolve_outcome
from causalrules.language.prognostic import adjusting
from causalrules.language.roles import Roles
from causalrules.language.strata import Combining, Strata, combine
from causalrules.question import Question
from causalrules.search.controls import Controls
from causalrules.search.core import Narrowed, Packed
from causalrules.search.progress import count_bar, watching
from causalrules.search.rows import Comparison, LocalRows, Rows, compared, local_rows, satisfied
from causalrules.search.run import threads

# Minimum rows × controls to show progress while models are fitted.
_SLOW = 200_000


@dataclass(frozen=True, eq=False)
class Adjusted:
    """Roles, and rows in the strata of a set of controls. Access to the arrays fetches remote rows."""

    roles: Roles
    rows: Rows
    n_dropped: int
    library: str
    notes: tuple[str, ...]
    alerts: tuple[Alert, ...] = ()
    # The original controls of the rows, and those of held-out rows from a second table.
    controls: Controls | None = None
    second: Controls | None = None
    # The rows that lack a control; None if all have a value of each.
    missing_control: MissingControls | None = None
    # Columns of the rules above this step of a ladder, held fixed in addition to the controls.
    held_fixed: tuple[str, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        # A pickle holds the coded rows without their source table.
        return {**vars(self), "controls": None, "second": None}

    @property
    def language(self) -> Language:
        """The propositions on the actionable columns."""
        return self.rows.language

    @property
    def strata(self) -> Strata:
        """The strata of the controls."""
        return self.rows.strata

    @property
    def strata_labels(self) -> list[Any]:
        """The labels of the strata."""
        return [dict(label) for label in self.strata.labels]

    @property
    def n_strata(self) -> int:
        """Number of strata."""
        return self.strata.n_strata

    @property
    def is_local(self) -> bool:
        """Whether the rows are in this process."""
        return self.rows.is_local

    @property
    def n_rows(self) -> int:
        """Number of rows, by weight."""
        return self.rows.n_rows

    @property
    def stratum(self) -> NDArray[np.int32]:
        """Stratum of each row."""
        return self.rows.local.stratum

    @property
    def outcome(self) -> NDArray[np.uint8]:
        """Level of the target of each row; 0 and 1 for a binary outcome."""
        return self.rows.local.outcome

    @property
    def comparison(self) -> Comparison:
        """How covered rows are compared with the others."""
        return self.rows.comparison

    @property
    def weights(self) -> NDArray[np.uint64] | None:
        """Weight of each row, or None if each counts once."""
        return self.rows.local.weights

    @property
    def group(self) -> NDArray[np.int64] | None:
        """Group number of each row; None if rows are independent."""
        return self.rows.local.group if self.rows.is_local else None

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """Codes of the columns of the language, −1 if missing."""
        return self.rows.local.columns

    def sides(self, conditions: Iterable[int]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which rows satisfy all of the conditions, and which fail them; the rest is not compared."""
        rows = self.rows.local
        return compared(rows, rows.columns, rows.reference, conditions, len(rows.stratum))

    def n_open(self, conditions: Iterable[int]) -> int:
        """Count the rows, other than reference rows, where missing values leave open whether all conditions hold."""
        rows = self.rows.local
        covered, possible = satisfied(rows.language, rows.columns, conditions, len(rows.stratum))
        still_open = possible & ~covered
        if rows.reference is not None:
            still_open &= rows.reference == 0
        return int(self.frequencies[still_open].sum()) if self.comparison.missing == "unknown" else 0

    @property
    def frequencies(self) -> NDArray[np.int64]:
        """How often each row counts: its weight, or 1."""
        weights = self.weights
        return np.ones(len(self.stratum), np.int64) if weights is None else weights.astype(np.int64)

    @property
    def searched(self) -> NDArray[np.int64]:
        """How often each record of the source table counts among the rows."""
        weights, record = self.frequencies, self.rows.local.record
        if self.controls is None or record is None:
            return weights
        return np.bincount(record, weights, self.controls.table.n_records).astype(np.int64)

    def covered(self, numbers: Iterable[int]) -> NDArray[np.bool_]:
        """Return which rows satisfy all of these conditions, given by index in the language."""
        return self.sides(numbers)[0]

    def compared(
        self, numbers: Iterable[int], frequencies: NDArray[np.int64] | None = None, scored: bool = False
    ) -> tuple[Side, Side, Side]:
        """Return the rows that a rule covers, those on which it fails and all, as sides for `estimators`.

        Parameters
        ----------
        numbers
            The conditions, by index in the language.
        frequencies
            How often each row counts; by default its weight.
        scored
            Whether to use the levels of the target that the search ranks by, instead of its values.
        """
        rows = self.rows.local
        weights = self.frequencies if frequencies is None else frequencies
        y = self.comparison.values[rows.outcome] if scored else rows.y
        chosen = (*self.sides(numbers), np.ones(len(y), np.bool_))
        covered, failing, everything = (
            side_of(rows.stratum, y, weights, each, self.strata.n_strata) for each in chosen
        )
        return covered, failing, everything

    def grouped(self, numbers: Iterable[int], frequencies: NDArray[np.int64] | None = None) -> Grouped | None:
        """Return the standard error of a rule's effect that allows for groups; None without them."""
        if self.group is None:
            return None
        weights = self.frequencies if frequencies is None else frequencies
        rows = self.rows.local
        return intervals.grouped(rows.stratum, rows.y, weights, self.sides(numbers), self.group)

    def with_rows(self, **changes: Any) -> Adjusted:
        """Return the problem with changed fields of its `LocalRows`, such as outcome=…."""
        return replace(self, rows=replace(self.rows.local, **{"stored": None, **changes}))

    def pack(self, others: Collection[int] | None = None, conditions: Collection[int] | None = None) -> Packed:
        """Pack the rows into bits for the search: all columns, or those allowed in its rules and these others.

        `conditions` selects some of the conditions; by default all.
        """
        rows, allowed_columns = self.rows, self.language.allowed_numbers
        if others is not None and isinstance(rows, LocalRows) and allowed_columns is not None:
            return self._pack_only(
                {column for each in allowed_columns for column in each}.union(others), conditions, rows
            )
        packed = rows.pack()
        packed.allowed_columns = allowed_columns
        return packed

    def _pack_only(self, columns: set[int], conditions: Collection[int] | None, rows: LocalRows) -> Packed:
        """Pack some columns. Without the codes of the others, more rows are identical and can be merged."""
        language, numbers = self.language.only(columns, conditions)
        codes = tuple(rows.columns[column] for column in sorted(columns))
        packed = replace(rows, language=language, columns=codes).pack()
        packed.allowed_columns = language.allowed_numbers
        return Narrowed(packed, numbers)

    def digest(self) -> int:
        """Return an order-independent 128-bit hash of the rows."""
        return self.rows.digest()


def adjust(table: Table, roles: Roles, question: Question, language: Language | None = None) -> Adjusted:
    """Build the language of the actionable columns and the strata of the controls, and code the rows.

    Parameters
    ----------
    table, roles
        The table and the roles of its columns.
    question
        The options for cut points, strata and the comparison.
    language
        The conditions, if given; by default they are built.
    """
    observed = table.observed(roles.target, question.weights, question.required(roles.control))
    cuts: Cuts = dict(question.cuts or {})
    # Columns may be named that are left out, because they have one value only.
    check_cuts(observed, cuts, {*roles.actionable, *roles.control, *question.actions, *question.controls})
    if language is None:
        language = build_language(observed, roles.actionable, question.max_bins, cuts, question.categorical)
    strata = _stratify(observed, roles, cuts, question)
    return Adjusted(
        roles=roles,
        rows=_code(observed, language, strata, roles.outcome, question),
        n_dropped=observed.n_dropped,
        library=observed.library,
        notes=_notes(table, roles, language, strata, question),
        controls=_controls(observed, roles, question),
        missing_control=missing_controls(table, roles.target, roles.control, question),
    )


def with_controls(
    problem: Adjusted, table: Table, control: Sequence[str], question: Question, combining: Combining
) -> Adjusted | None:
    """Return the problem of all rows with controls; `combining` caches the strata of its rows across calls.

    None if nothing can be compared, because no row has all controls, or because all that do have the same target.
    """
    observed = table.observed(problem.roles.target, question.weights)
    complete = table.observed(problem.roles.target, question.weights, question.required(control))
    cuts: Cuts = dict(question.cuts or {})
    roles = replace(problem.roles, control=tuple(control))
    rows, outcome = problem.rows, roles.outcome
    if complete is not observed:
        if not complete.n_rows:
            return None
        try:
            outcome = resolve_outcome(complete, roles.target, outcome.asked)
        except RoleError:
            return None
    known = combining if complete is observed and isinstance(rows, LocalRows) and rows.stored is None else None
    strata = _stratify(complete, replace(roles, outcome=outcome), cuts, question, known)
    if known is not None and isinstance(rows, LocalRows) and strata.columns == tuple(sorted(control)):
        rows = replace(rows, strata=strata, stratum=known.stratum(strata.ends))
    else:
        rows = rows.within(complete, strata)
    notes = _notes(table, roles, problem.language, strata, question)
    controls = _controls(complete, replace(roles, outcome=outcome), question)
    missing = missing_controls(table, roles.target, control, question)
    return replace(problem, roles=roles, rows=rows, notes=notes, controls=controls, missing_control=missing)


def _notes(table: Table, roles: Roles, language: Language, strata: Strata, question: Question) -> tuple[str, ...]:
    """Return the remarks: first what limits the comparison, then how the columns were read."""
    observed = table.observed(roles.target, question.weights)
    return (*_group_notes(observed, question), *strata.notes, *roles.notes, *language.notes, *table.notes)


def _group_notes(table: Table, question: Question) -> list[str]:
    if question.groups is None:
        return []
    known = table.histogram(question.groups)
    notes = [
        f"rows belong together in {len(known.values):,} groups of {question.groups!r}: p-values and intervals allow "
        "for that"
    ]
    if known.n_missing:
        notes.append(f"{known.n_missing:,} rows without a value of {question.groups!r} are groups of their own")
    return notes


def _stratify(table: Table, roles: Roles, cuts: Cuts, question: Question, combining: Combining | None = None) -> Strata:
    """Form the strata that the question asks for, with a progress bar if models take long to fit."""
    options = question.control_bins, question.max_bins, cuts, question.categorical
    exact = partial(combine, table, roles.control, *options, combining=combining)
    check_model(question.adjust_model)
    shown = False if callable(question.progress) or table.n_rows * len(roles.control) < _SLOW else question.progress
    with watching(shown, partial(count_bar, "models of the controls", FOLDS)) as watch:
        return adjusting(table, exact, roles.outcome, question, roles.control, threads(question.n_jobs), watch)


def _controls(table: Table, roles: Roles, question: Question) -> Controls | None:
    if table.storage != "memory":
        return None
    return controls_of(table, roles.outcome, roles.control, question)


def controls_of(table: Table, outcome: Outcome, columns: tuple[str, ...], question: Question) -> Controls:
    """Return the original controls of a table's rows."""
    return Controls(
        table, outcome, columns, tuple(question.categorical), question.adjust_model, question.seed, question.groups
    )


def _code(table: Table, language: Language, strata: Strata, outcome: Outcome, question: Question) -> Rows:
    """Code the rows in memory, in files or on workers."""
    reference = reference_rows(table, question)
    comparison = Comparison(
        outcome.values,
        question.missing,
        question.direction == "decrease",
        None if reference is None else _reference_codes(*reference, language),
    )
    if table.storage == "memory":
        return local_rows(table, language, strata, outcome, comparison, reference, question.groups)
    if question.groups is not None:
        raise OptionError(
            "not available for rows in files or on workers; read the table into memory", parameter="groups"
        )
    if reference is not None:
        raise OptionError(
            "not available for rows in files or on workers; read the table into memory", parameter="reference"
        )
    if not any(table.histogram(column).n_missing for column in language.columns):
        # Needed before remote rows are packed; the core itself detects it for rows in memory. Without missing values,
        # both then take one count per rule and can resume from the same checkpoint.
        comparison = replace(comparison, missing="false")
    if table.storage == "files":
        from causalrules.search.streamed import stream_rows

        return stream_rows(table, language, strata, outcome, comparison)
    from causalrules.search.sharded import shard_rows

    return shard_rows(table, language, strata, outcome, comparison)


def _reference_codes(column: str, satisfied: NDArray[np.bool_], language: Language) -> tuple[int, int, int]:
    """Return the index of the column of the reference rows, and their lowest and highest code."""
    codes = np.searchsorted(language.ends[column], np.flatnonzero(satisfied))
    return list(language.columns).index(column), int(codes.min()), int(codes.max())


def reference_rows(table: Table, question: Question) -> tuple[str, NDArray[np.bool_]] | None:
    """Return the column of the reference rows, and which of its values they have."""
    if question.reference is None:
        return None
    column, value = question.reference
    try:
        table.require(column)
        satisfied = resolve_outcome(table, column, value).satisfied
    except UnknownColumnError as error:
        raise UnknownColumnError(error.message, parameter="reference") from None
    except RoleError as error:
        raise RoleError(error.message, parameter="reference") from None
    return column, satisfied
