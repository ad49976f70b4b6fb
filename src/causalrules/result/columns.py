"""Alerts about the columns of rules: identifiers, dates and times, and consequences of the outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from causalrules.alerts import IDENTIFIER, LEAK, TIME, Alert
from causalrules.data.columns import Kind
from causalrules.language.names import says_identifier, says_time
from causalrules.text import listed, percent, plain, points

if TYPE_CHECKING:
    from causalrules.data.table import Table
    from causalrules.result.result import Result
    from causalrules.search.controls import Controls

# Minimum difference, and minimum rows on each side, to report that a column nearly determines the outcome.
_DETERMINES, _FEW = 0.95, 20
# Minimum share of the variance of a numeric and of a binary target that a column explains, in this many bins at most.
_EXPLAINS, _EXPLAINS_BINARY, _BINS = 0.5, 0.8, 20
# Minimum share of the variance of a numeric target that the columns of a rule determine together, by a line.
_TOGETHER = 0.9
# Maximum probability that the outcome happens, or fails to, in every row of a condition by chance.
_BY_CHANCE = 1e-6
# Share of the rows with a value of their own that only identifiers have, and minimum rows to tell.
_DIFFERENT, _FEWEST_ROWS = 0.95, 100
# Columns named in a sentence.
_MOST = 3


def column_alerts(rules: Result) -> tuple[Alert, ...]:
    """Return alerts about columns of rules that hardly anyone can act on, the most serious first."""
    columns = list(dict.fromkeys(condition.column for rule in rules for condition in rule.conditions))
    found = [_determining(rules)]
    rows = None if rules.problem is None else rules.problem.first.controls
    if rows is not None:
        table, categorical = rows.table, rules.question.categorical
        found[0] = found[0] or _explaining(rules, columns, rows) or _always(rules, rows) or _adding_up(rules, rows)
        numbers = [name for name in columns if table.kinds[name] is Kind.NUMBER and name not in categorical]
        found += [_identifiers(numbers, table), _times(numbers, columns, table)]
    return tuple(alert for alert in found if alert is not None)


def _determining(rules: Result) -> Alert | None:
    """Alert of a column that nearly determines a binary outcome: it may be a consequence of the outcome."""
    for rule in rules:
        few = min(rule.n_covered, rule.n_failing) < _FEW
        columns = {condition.column for condition in rule.conditions}
        if rule.kind.binary and not few and len(columns) == 1 and abs(rule.marginal_effect) >= _DETERMINES:
            (column,) = columns
            sentence = (
                f"column {column!r} nearly determines the outcome (a difference of "
                f"{points(abs(rule.marginal_effect))}); if it is a consequence of the outcome, leave it out"
            )
            return Alert(LEAK, (column,), sentence)
    return None


def _explaining(rules: Result, columns: Sequence[str], rows: Controls) -> Alert | None:
    """Alert of columns that explain most of the target on their own, unless they are declared randomised."""
    least = _EXPLAINS_BINARY if rules.kind.binary else _EXPLAINS
    shares = {name: _explained(name, rows) for name in columns if name not in rules.question.randomised}
    found = sorted((-share, name) for name, share in shares.items() if share >= least)
    if not found:
        return None
    named = [f"{plain(name)} ({percent(-share, 0)})" for share, name in found[:_MOST]]
    sentence = (
        f"{' and '.join(named)} alone explain{'s' * (len(named) == 1)} most of the variance of "
        f"{plain(rules.question.target)}; leave out what is measured with the outcome or follows it; what came before "
        "it may be a control"
    )
    return Alert(LEAK, tuple(name for _, name in found), sentence)


def _always(rules: Result, rows: Controls) -> Alert | None:
    """Alert of a condition in whose rows a binary outcome always happens, or never does."""
    y, counts = rows.y, rows.frequencies.astype(np.float64)
    if not rules.kind.binary:
        return None
    share = float(np.average(y, weights=counts))
    conditions = dict.fromkeys(condition for rule in rules for condition in rule.conditions)
    for condition in conditions:
        if condition.column in rules.question.randomised:
            continue
        values = rows.table.histogram(condition.column).values
        here = rows.table.select(condition.column, condition.holds(values))
        n, happened = float(counts[here].sum()), float(counts[here] @ y[here])
        often = share if happened == n else 1 - share
        if n < _FEW or happened not in (0, n) or not 0 < often < _BY_CHANCE ** (1 / n):
            continue
        sentence = (
            f"{rules.question.outcome} in {'all' if happened else 'none'} of the {n:,.0f} rows with {condition.text}; "
            f"if {plain(condition.column)} is measured with the outcome or follows it, leave it out"
        )
        return Alert(LEAK, (condition.column,), sentence)
    return None


def _adding_up(rules: Result, rows: Controls) -> Alert | None:
    """Alert of a rule whose quantities determine a numeric target together, as two measurements their difference."""
    y, counts = rows.y, rows.frequencies.astype(np.float64)
    for rule in rules if not rules.kind.binary else ():
        used = sorted({condition.column for condition in rule.conditions} - set(rules.question.randomised))
        used = [name for name in used if rows.table.kinds[name] is Kind.NUMBER]
        if len(used) < 2:
            continue
        x = np.column_stack([rows.table.quantities(name) for name in used])
        known = np.isfinite(x).all(axis=1) & np.isfinite(y)
        if counts[known].sum() < _FEWEST_ROWS:
            continue
        middle = np.average(x[known], axis=0, weights=counts[known])
        root = np.sqrt(counts[known])
        target = root * (y[known] - np.average(y[known], weights=counts[known]))
        columns = root[:, None] * (x[known] - middle) / (np.ptp(x[known], axis=0) + (np.ptp(x[known], axis=0) == 0))
        left = target - columns @ np.linalg.lstsq(columns, target, rcond=None)[0]
        share = 1 - float(left @ left) / float(target @ target) if target.any() else 0.0
        if share >= _TOGETHER:
            sentence = (
                f"{listed(used)} together determine {percent(share, 0)} of the variance of "
                f"{plain(rules.question.target)}, as parts do their sum or difference; leave out what is measured with "
                "the outcome or follows it; what came before it may be a control"
            )
            return Alert(LEAK, tuple(used), sentence)
    return None


def _explained(name: str, rows: Controls) -> float:
    """Return the share of the target's variance between the values of a column, or between 20 bins of a quantity.

    η² = 1 − (n − 1)/(n − g) · Σ_g Σ_i (y_i − ȳ_g)² / Σ_i (y_i − ȳ)², over g values.
    """
    histogram = rows.table.histogram(name)
    codes = rows.table.codes(name, np.arange(len(histogram.values))).astype(np.int64)
    y, counts = rows.y, rows.frequencies.astype(np.float64)
    known = (codes >= 0) & np.isfinite(y)
    codes, y, counts = codes[known], y[known], counts[known]
    if len(histogram.values) > _BINS and rows.table.kinds[name].ordered:
        middle = np.cumsum(histogram.counts) - histogram.counts / 2
        codes = np.floor(_BINS * middle / histogram.counts.sum()).astype(np.int64)[codes]
    _, codes = np.unique(codes, return_inverse=True)
    sizes, n = np.bincount(codes, counts), counts.sum()
    if len(sizes) < 2 or n < _FEW * len(sizes):
        return 0.0
    y = y - np.average(y, weights=counts)
    within, total = (
        float(counts @ (y - middle) ** 2) for middle in ((np.bincount(codes, counts * y) / sizes)[codes], 0.0)
    )
    return 1 - (n - 1) / (n - len(sizes)) * within / total if total > 0 else 0.0


def _identifiers(numbers: Sequence[str], table: Table) -> Alert | None:
    """Alert of numbers that tell rows or groups apart instead of measuring them."""
    named, different = [], []
    for name in numbers:
        histogram = table.histogram(name)
        n_rows, n_values = int(histogram.counts.sum()), len(histogram.values)
        if says_identifier(name, n_values):
            named.append(name)
        elif (
            n_rows >= _FEWEST_ROWS and n_values >= _DIFFERENT * n_rows and histogram.values.sortable.dtype.kind in "iu"
        ):
            different.append(name)
    if not named and not different:
        return None
    whole = [f"{listed(named)} by name"] * bool(named)
    whole += [f"{listed(different)} with another whole number in nearly every row"] * bool(different)
    sentence = (
        f"{', and '.join(whole)}: what only tells rows or groups apart cannot be brought about; leave it out, or name "
        "it in categorical="
    )
    return Alert(IDENTIFIER, (*named, *different), sentence)


def _times(numbers: Sequence[str], columns: Sequence[str], table: Table) -> Alert | None:
    """Alert of dates and times, which may be known only with the outcome."""
    times = [name for name in numbers if says_time(name, len(table.histogram(name).values))]
    times += [name for name in columns if table.kinds[name] is Kind.DATE]
    if not times:
        return None
    sentence = (
        f"{listed(times)}: a date or a time is rarely brought about, and a time of follow-up is known only with the "
        "outcome; then leave it out"
    )
    return Alert(TIME, tuple(times), sentence)
