"""A question prepared for the search: the rule language, the strata and the coded rows.

Permutations, splits and subsamples derive from it: other rows, the same language.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules import estimators
from causalrules.data.table import Table
from causalrules.estimators import Grouped, Side
from causalrules.exceptions import OptionError, RoleError, UnknownColumnError
from causalrules.language.cuts import Cuts, check_cuts
from causalrules.language.language import Language, build_language
from causalrules.language.learning import FOLDS, check_model
from causalrules.language.outcome import Outcome, resolve_outcome
from causalrules.language.prognostic import adjusting
from causalrules.language.roles import Roles
from causalrules.language.strata import Strata, stratify
from causalrules.question import Question
from causalrules.search.controls import Controls
from causalrules.search.core import Packed
from causalrules.search.progress import count_bar, watching
from causalrules.search.rows import Comparison, Rows, local_rows
from causalrules.search.run import threads

# Models of fewer values of the controls are fitted in no time.
_LONG = 200_000


@dataclass(frozen=True, eq=False)
class Problem:
    """Roles and coded rows. Access to the arrays fetches rows that are elsewhere."""

    roles: Roles
    rows: Rows
    n_dropped: int
    library: str
    notes: tuple[str, ...]
    controls: Controls | None = None

    def __getstate__(self) -> dict[str, Any]:
        # A pickle holds the coded rows, not the table that they were read from.
        return {**vars(self), "controls": None}

    @property
    def language(self) -> Language:
        """The propositions on the actionable columns."""
        return self.rows.language

    @property
    def strata(self) -> Strata:
        """The strata of the controls."""
        return self.rows.strata

    @property
    def n_rows(self) -> int:
        """Number of rows, each counted as often as its weight says."""
        return self.rows.n_rows

    @property
    def stratum(self) -> NDArray[np.int32]:
        """Stratum of each row."""
        return self.rows.local.stratum

    @property
    def outcome(self) -> NDArray[np.uint8]:
        """Level of the target of each row: 1 where an outcome happened, else 0."""
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
        """Number of the group of each row; None if each row stands for itself."""
        return self.rows.local.group if self.rows.is_local else None

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """Codes of the columns of the language, −1 if missing."""
        return self.rows.local.columns

    def sides(self, conditions: Iterable[int]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which rows satisfy all of the conditions, and on which they fail; the rest cannot be compared."""
        language, rows = self.language, self.rows.local
        covered = np.ones(len(rows.stratum), np.bool_)
        possible = covered.copy()
        for condition in conditions:
            codes = rows.columns[language.column_index[condition]]
            holds = (codes >= language.low[condition]) & (codes <= language.high[condition])
            covered &= holds
            possible &= holds | (codes < 0)
        if rows.reference is not None:
            return covered & (rows.reference == 0), rows.reference == 1
        return covered, ~(possible if self.comparison.missing == "unknown" else covered)

    @property
    def frequencies(self) -> NDArray[np.int64]:
        """How often each row counts: its weight, or 1."""
        weights = self.weights
        return np.ones(len(self.stratum), np.int64) if weights is None else weights.astype(np.int64)

    def covered(self, numbers: Iterable[int]) -> NDArray[np.bool_]:
        """Return which rows satisfy all of these conditions, given by their numbers in the language."""
        return self.sides(numbers)[0]

    def compared(
        self, numbers: Iterable[int], frequencies: NDArray[np.int64] | None = None, scored: bool = False
    ) -> tuple[Side, Side, Side]:
        """Return the rows that a rule covers, those on which it fails and all, as `estimators` takes them.

        Parameters
        ----------
        numbers
            The conditions, by their numbers in the language.
        frequencies
            How often each row counts; by default its weight.
        scored
            Whether to take the levels of the target that the search ranks by, and not its values.
        """
        rows = self.rows.local
        weights = self.frequencies if frequencies is None else frequencies
        y = self.comparison.values[rows.outcome] if scored else rows.y
        chosen = (*self.sides(numbers), np.ones(len(y), np.bool_))
        covered, failing, everything = (
            estimators.side_of(rows.stratum, y, weights, each, self.strata.n_strata) for each in chosen
        )
        return covered, failing, everything

    def grouped(
        self, numbers: Iterable[int], frequencies: NDArray[np.int64] | None = None, *, population: bool = False
    ) -> Grouped | None:
        """Return the standard error of a rule's effect that allows for groups; None without them."""
        if self.group is None:
            return None
        weights = self.frequencies if frequencies is None else frequencies
        rows = self.rows.local
        return estimators.grouped(rows.stratum, rows.y, weights, self.sides(numbers), self.group, population=population)

    def with_rows(self, **changes: Any) -> Problem:
        """Return the problem with changed fields of its `LocalRows`, such as outcome=…."""
        return replace(self, rows=replace(self.rows.local, **changes))

    def pack(self) -> Packed:
        """Pack the rows into bits for the search."""
        packed = self.rows.pack()
        packed.offered = self.language.offered_numbers
        return packed

    def digest(self) -> int:
        """Return an order-independent 128-bit hash of the rows."""
        return self.rows.digest()


def prepare(table: Table, roles: Roles, question: Question, language: Language | None = None) -> Problem:
    """Build the language of the actionable columns and the strata of the controls, and code the rows.

    Parameters
    ----------
    table, roles
        The table and the roles of its columns.
    question
        The options for cut points, strata and the comparison.
    language
        The conditions, where they are given and not to be built.
    """
    observed = table.observed(roles.target, question.weights)
    cuts: Cuts = dict(question.cuts or {})
    check_cuts(observed, cuts, {*roles.actionable, *roles.control})
    if language is None:
        language = build_language(observed, roles.actionable, question.max_bins, cuts, question.categorical)
    strata = _stratify(observed, roles, cuts, question)
    return Problem(
        roles=roles,
        rows=_code(observed, language, strata, roles.outcome, question),
        n_dropped=observed.n_dropped,
        library=observed.library,
        notes=(*table.notes, *roles.notes, *language.notes, *strata.notes, *_group_notes(observed, question)),
        controls=_controls(observed, roles, question),
    )


def _group_notes(table: Table, question: Question) -> list[str]:
    if question.groups is None:
        return []
    known = table.histogram(question.groups)
    notes = [
        f"rows belong together in {len(known.values):,} groups of {question.groups!r}; the margin of the conservative "
        "effect takes rows for independent, so what it promises does not hold: significance(), which flips whole "
        "groups, tells rules from chance"
    ]
    if known.n_missing:
        notes.append(f"{known.n_missing:,} rows without a value of {question.groups!r} are groups of their own")
    return notes


def _stratify(table: Table, roles: Roles, cuts: Cuts, question: Question) -> Strata:
    """Form the strata that the question asks for, with a bar where models take a while to fit."""
    exact = partial(
        stratify, table, roles.control, question.control_bins, question.max_bins, cuts, question.categorical
    )
    check_model(question.adjust_model)
    shown = False if callable(question.progress) or table.n_rows * len(roles.control) < _LONG else question.progress
    with watching(shown, partial(count_bar, "models of the controls", FOLDS)) as watch:
        return adjusting(table, exact, roles.outcome, question, roles.control, threads(question.n_jobs), watch)


def _controls(table: Table, roles: Roles, question: Question) -> Controls | None:
    if not roles.control or table.storage != "memory":
        return None
    groups = getattr(question, "groups", None)
    return Controls(table, roles.control, tuple(question.categorical), question.adjust_model, question.seed, groups)


def _code(table: Table, language: Language, strata: Strata, outcome: Outcome, question: Question) -> Rows:
    """Code the rows where they are."""
    reference = reference_rows(table, question)
    comparison = Comparison(outcome.values, question.missing, question.direction == "decrease", reference is not None)
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
        # Elsewhere it must be known before the rows are packed; in memory, the core sees it as it packs them. A table
        # that takes one count for each rule here and there can go on from the same checkpoint.
        comparison = replace(comparison, missing="false")
    if table.storage == "files":
        from causalrules.search.streamed import stream_rows

        return stream_rows(table, language, strata, outcome, comparison)
    from causalrules.search.sharded import shard_rows

    return shard_rows(table, language, strata, outcome, comparison)


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
