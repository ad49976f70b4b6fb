"""Roles of the columns (paper §3): target and outcome, actionable and control variables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from causalrules.data.columns import Kind
from causalrules.data.table import Table
from causalrules.data.weights import sampling_weights
from causalrules.exceptions import DataError, RoleError, UnknownColumnError
from causalrules.language.names import says_identifier
from causalrules.language.outcome import Outcome, condition_on, resolve_outcome
from causalrules.text import listed, shorten, together

_LONGEST_REASONS = 1000
# Minimum rows to suspect sampling weights: fewer may be counts of cells.
_FEWEST_WEIGHTED = 100
# Minimum rows to recognise row numbers: fewer may be numbered by chance.
_FEWEST_NUMBERED = 20


@dataclass(frozen=True, eq=False)
class Roles:
    """Target, outcome, actionable variables X, control variables Z and context, each sorted by name."""

    target: str
    outcome: Outcome
    actionable: tuple[str, ...]
    control: tuple[str, ...]
    notes: tuple[str, ...]
    context: tuple[str, ...] = ()


def resolve(
    table: Table,
    target: str,
    outcome: Any = None,
    actionable: str | Sequence[str] | None = None,
    control: str | Sequence[str] | None = None,
    weights: str | None = None,
    groups: str | None = None,
    missing_control: str = "drop",
    named: bool = False,
    context: str | Sequence[str] | None = None,
) -> Roles:
    """Check the roles and fill in defaults; no actionable column is left out whose rules are named.

    Columns of the context describe who, and may be controls too. `outcome.level` refers to
    `table.observed(target, weights, control)`, or without the controls if rows that lack one are compared.
    """
    if table.n_rows == 0:
        raise DataError("the table has no rows")
    _check_column(table, target, "target")
    controls = columns(table, control, "control")
    who = columns(table, context, "context")
    if weights is not None:
        _check_column(table, weights, "weights")
    if groups is not None:
        _check_column(table, groups, "groups")
    chosen = None if actionable is None else columns(table, actionable, "actionable")
    _check_disjoint(target, weights, chosen or (), controls, who)
    if groups is not None and groups in (target, weights, *(chosen or ())):
        raise RoleError("it cannot be the target, the weights or actionable", parameter="groups", value=repr(groups))

    observed = table.observed(target, weights)
    if observed.n_rows == 0:
        what, column = ("value", target) if observed.n_dropped else ("weight above zero", weights)
        raise DataError(f"no row has a {what} in column {column!r}")
    if weights is not None:
        _refuse_sampling_weights(observed, weights)
    notes: list[str] = []
    if observed.n_dropped:
        notes.append(
            f"{observed.n_dropped:,} of {observed.n_dropped + observed.n_rows:,} rows are left out: "
            f"the target {target!r} is missing there"
        )
    without = {name: _constant(observed, name, missing_counts=True) for name in controls}
    notes += left_out_notes("control", without)
    controls = tuple(name for name in controls if not without[name])
    if missing_control == "drop":
        observed = table.observed(target, weights, controls)
        if observed.n_rows == 0:
            raise DataError(
                f"no row has a value of each control, {shorten(controls)}; leave out a control, or give "
                "missing_control='value', which adjusts for missing as a value of its own"
            )
    resolved = resolve_outcome(observed, target, outcome)
    notes += resolved.notes
    if named and chosen is not None:
        constant = [name for name in chosen if _constant(observed, name, missing_counts=False)]
        if constant:
            whose = f"column{'s' * (len(constant) > 1)} {listed(constant)}"
            notes.append(f"a rule with a condition on {whose} compares nothing by it: one value only")
    else:
        taken = {target, weights, groups, *controls, *who}
        chosen = _usable(observed, default_columns(observed, taken) if chosen is None else chosen, notes)
    left_out: list[str] = []
    usable = _usable(observed, who, left_out, "context column")
    notes += left_out
    if who and not usable:
        raise RoleError(f"no column is left{_because(left_out)}; name one whose values differ", parameter="context")
    if not chosen:
        others = "and the controls" if not who else "the controls and the context"
        raise RoleError(
            "no actionable column is left; name at least one column, other than the target "
            f"{target!r}{',' * bool(who)} {others}, whose values differ{_because([*notes, *table.notes])}"
        )
    return Roles(target, resolved, tuple(sorted(chosen)), tuple(sorted(controls)), tuple(notes), tuple(sorted(usable)))


def _because(notes: Sequence[str]) -> str:
    """Append what was left out, in limited length."""
    reasons = "".join(f"; {note}" for note in together(notes))
    return reasons if len(reasons) <= _LONGEST_REASONS else f"{reasons[: _LONGEST_REASONS - 1]}…"


def check_randomised(table: Table, roles: Roles, names: str | Sequence[str]) -> None:
    """Reject columns that are declared randomised but are not actionable."""
    for name in columns(table, names, "randomised"):
        if name == roles.target or name in roles.control:
            role = "the target" if name == roles.target else "a control"
            raise RoleError(f"column {name!r} is {role}; name actionable columns", parameter="randomised")


def _refuse_sampling_weights(table: Table, weights: str) -> None:
    """Raise a DataError if every row counts more than once though most differ in a quantity."""
    if (
        table.storage != "memory"
        or table.n_records < _FEWEST_WEIGHTED
        or table.weights is None
        or table.weights.min() < 2
    ):
        return
    for name in table.names:
        if (
            name != weights
            and table.kinds[name] is Kind.NUMBER
            and len(table.histogram(name).values) > table.n_records / 2
        ):
            raise sampling_weights(weights, name)


def _check_column(table: Table, name: object, role: str) -> None:
    if not isinstance(name, str):
        raise RoleError("name a column by its text", parameter=role, value=f"{name!r:.40}")
    try:
        table.require(name)
    except UnknownColumnError as error:
        message = error.message
        if role == "target" and (condition := condition_on(table.names, name)) is not None:
            message = (
                f"no column {name!r:.80}; name the target {condition[0]!r:.60} and the outcome {condition[1]!r:.60}"
            )
        raise UnknownColumnError(message, parameter=role) from None
    except DataError as error:
        raise RoleError(error.message, parameter=role) from None


def columns(table: Table, names: str | Sequence[str] | None, role: str) -> tuple[str, ...]:
    """Return the names in an option, checked to be columns of the table."""
    if names is None:
        return ()
    if not isinstance(names, Iterable):
        raise RoleError("name a column, or several", parameter=role, value=f"{names!r:.40}")
    listed = (names,) if isinstance(names, str) else tuple(names)
    for name in listed:
        parts = [part.strip() for part in name.split(",")] if isinstance(name, str) else []
        if len(parts) > 1 and name not in table.kinds and all(part in table.kinds for part in parts):
            raise UnknownColumnError(
                f"no column {name!r}, but {shorten(parts)} are: name each column on its own", parameter=role
            )
        _check_column(table, name, role)
    if repeated := sorted({name for name in listed if listed.count(name) > 1}):
        raise RoleError(f"named more than once: {shorten(repeated)}", parameter=role)
    return listed


def _check_disjoint(
    target: str, weights: str | None, actionable: Sequence[str], control: Sequence[str], context: Sequence[str]
) -> None:
    roles: dict[str, str] = {target: "the target"}
    for role, names in (
        ("the weights", [] if weights is None else [weights]),
        ("a control", control),
        ("actionable", actionable),
    ):
        for name in names:
            if name in roles:
                raise RoleError(f"column {name!r} is {roles[name]} and {role}; it can have one role only")
            roles[name] = role
    for name in context:
        if (taken := roles.get(name, "a control")) != "a control":
            fix = "name it in only one of the two" if taken == "actionable" else "leave it out of the context"
            raise RoleError(
                f"column {name!r} is {taken}; context describes who and is not acted on: {fix}", parameter="context"
            )


def _constant(table: Table, name: str, missing_counts: bool) -> str | None:
    """Return the reason if all rows have the same value; with `missing_counts`, missing is a value."""
    histogram = table.histogram(name)
    if len(histogram.values) == 0:
        return "it has no values: all are missing"
    if len(histogram.values) == 1 and not (missing_counts and histogram.n_missing):
        return f"it has one value only, {shorten(histogram.values)}"
    return None


def _identifier(table: Table, name: str) -> str | None:
    """Return the reason if the column only identifies rows."""
    histogram = table.histogram(name)
    n_values = len(histogram.values)
    if n_values < 2 or histogram.counts.max() > 1:
        return None
    if table.kinds[name] is Kind.TEXT:
        return f"its {n_values:,} values are all different (identifier)"
    # Distinct numbers are quantities unless they number the rows, or their name says so.
    values = histogram.values.sortable
    counts_rows = n_values >= _FEWEST_NUMBERED and table.kinds[name] is Kind.NUMBER and values.dtype.kind in "iu"
    if counts_rows and says_identifier(name, n_values):
        return f"its {n_values:,} whole numbers are all different (identifier)"
    if counts_rows and not histogram.n_missing and int(values[-1]) - int(values[0]) == n_values - 1:
        return f"it numbers the {n_values:,} rows from {values[0]} to {values[-1]} (row number)"
    return None


def default_columns(table: Table, taken: Collection[str | None]) -> tuple[str, ...]:
    """Return every column without another role."""
    return tuple(sorted(name for name in table.names if name not in taken))


def default_actionable(table: Table, taken: Collection[str | None], notes: list[str]) -> tuple[str, ...]:
    """Return every column without another role that allows conditions; `notes` gets those left out."""
    return _usable(table, default_columns(table, taken), notes)


def _usable(table: Table, names: Sequence[str], notes: list[str], what: str = "column") -> tuple[str, ...]:
    """Return the columns that allow conditions; `notes` gets those left out."""
    table.read_ahead(names)
    reasons = {name: unusable(table, name) for name in names}
    notes += left_out_notes(what, reasons)
    return tuple(name for name in names if reasons[name] is None)


def unusable(table: Table, name: str) -> str | None:
    """Return why a column is not actionable: it is constant, or identifies rows."""
    return _constant(table, name, missing_counts=not table.kinds[name].ordered) or _identifier(table, name)


# What columns have in common that are left out for the same reason, by how the reason begins.
_TOGETHER = {
    "it has one value only": "one value only",
    "it has no values": "no values, all are missing",
    "its": "all values different (identifiers)",
    "it numbers the": "row numbers",
}


def left_out_notes(what: str, reasons: Mapping[str, str | None]) -> list[str]:
    """Say which columns are left out: in one line those left out for the same reason.

    >>> left_out_notes("column", {"a": "it has one value only, 1", "b": None, "c": "it has one value only, 'x'"})
    ['2 columns are left out, one value only: a and c']
    >>> left_out_notes("column", {"a": "it has one value only, 1", "b": "it has no values: all are missing"})
    ["column 'a' is left out: it has one value only, 1", "column 'b' is left out: it has no values: all are missing"]
    """
    alike: dict[str, dict[str, str]] = {}
    for name, reason in reasons.items():
        if reason is not None:
            why = next(common for start, common in _TOGETHER.items() if reason.startswith(start))
            alike.setdefault(why, {})[name] = reason
    notes = []
    for why, own in alike.items():
        if len(own) > 1:
            notes.append(f"{len(own):,} {what}s are left out, {why}: {listed(list(own))}")
        else:
            notes += [f"{what} {name!r} is left out: {reason}" for name, reason in own.items()]
    return notes
