"""Balance of columns declared randomised: a draw by lot leaves what was there before independent of them.

A draw may have had other chances at each value of some controls (a stratified experiment). So balance is tested as it
is, within the values of one control, and within those of two; only a column that is unbalanced in all of these ways is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from causalrules.data.columns import Kind
from causalrules.estimators.independence import Test, centred, drawn, flipped
from causalrules.language.prognostic import group_codes
from causalrules.result.declared import Declared, Difference

if TYPE_CHECKING:
    from causalrules.data.table import Table
    from causalrules.graph.graph import CausalGraph
    from causalrules.question import Question
    from causalrules.result.result import R

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

# Error rate of an alert, over all columns that are compared.
_RATE = 0.001
# Most values of a number that are compared, or drawn by, one by one.
_FEW_VALUES = 10
# Most categories to compare one by one, and rows to expect in each on the smaller side.
_MOST_CATEGORIES, _EXPECTED = 20, 5
# Most controls that a draw depends on, and the share of the declared column's variance that must be left within them.
_MOST_DRAWN_BY, _LEFT = 2, 0.5
# Most rows to test.
_MOST_ROWS = 20_000


def check_declared(rules: R, table: Table, graph: CausalGraph | None) -> R:
    """Return a result with the balance of each column that is declared randomised, and alerts about those without it.

    Parameters
    ----------
    rules
        The result.
    table
        Its rows.
    graph
        The causal graph, if any: what a column does not affect was there before.
    """
    question = rules.question
    if not question.randomised:
        return rules
    control = tuple(dict.fromkeys((*question.controls, *(name for rule in rules for name in rule.control))))
    found = balance_of(table.observed(question.target, question.weights), question, control, graph)
    alerts = [alert for each in found if (alert := each.alert())]
    return replace(rules, declared=found, alerts=(*alerts, *rules.alerts))


def balance_of(
    table: Table, question: Question, control: Sequence[str], graph: CausalGraph | None = None
) -> tuple[Declared, ...]:
    """Test the balance of the declared columns of a question; `control` are the columns that rules are adjusted for."""
    names = (question.randomised,) if isinstance(question.randomised, str) else tuple(question.randomised)
    before = {name: _before(table, name, names, question, control, graph) for name in names}
    if table.storage != "memory":
        return tuple(map(Declared, names))
    rows = _Rows(table, question)
    n_tests = sum(map(len, before.values()))
    return tuple(_check(rows, name, before[name], control, _RATE / max(n_tests, 1)) for name in names)


def _before(
    table: Table,
    column: str,
    declared: Sequence[str],
    question: Question,
    control: Sequence[str],
    graph: CausalGraph | None,
) -> tuple[str, ...]:
    """Return the columns that were there before: controls, and what the graph says that the column does not affect."""
    known: tuple[str, ...] = tuple(control)
    if graph is not None:
        after = _affected(graph, column)
        known = tuple(name for name in dict.fromkeys((*known, *graph.nodes)) if name not in after)
    taken = {question.target, question.weights, question.groups, *declared}
    return tuple(sorted(name for name in known if name in table.names and name not in taken))


def _affected(graph: CausalGraph, column: str) -> set[str]:
    """Return the column and what it may affect, directly or not."""
    found, waiting = {column}, [column]
    edges = (*graph.directed, *graph.unknown, *((b, a) for a, b in graph.unknown))
    while waiting:
        name = waiting.pop()
        reached = {b for a, b in edges if a == name} - found
        found |= reached
        waiting += reached
    return found


def _check(rows: _Rows, column: str, before: Sequence[str], control: Sequence[str], level: float) -> Declared:
    """Test one column as it is, and within the values of controls that it may have been drawn by."""
    units = rows.units(column)
    if not units.a.shape[1]:
        return Declared(column)
    features = {name: units.mean(rows.features(name, units.rows, units.least)) for name in before}
    features = {name: each for name, each in features.items() if each.shape[1]}
    codes = {name: units.codes(rows.codes(name)[units.rows]) for name in control if name in features}
    candidates = {name: each for name, each in codes.items() if each is not None and rows.is_category(name)}
    whole = units.left(units.stratum)

    def tested(by: Sequence[str]) -> dict[str, Test] | None:
        """Test within the values of some controls; None if they leave too little of what was drawn."""
        stratum = units.stratum
        for name in by:
            _, stratum = np.unique(stratum * (candidates[name].max() + 1) + candidates[name], return_inverse=True)
        if units.left(stratum) < _LEFT * whole:
            return None
        others = {name: each for name, each in features.items() if name not in by}
        return {name: units.test(units.a, each, stratum, units.counts) for name, each in others.items()}

    by: tuple[str, ...] = ()
    found = best = tested(by) or {}
    while _least_p(best) <= level and len(by) < _MOST_DRAWN_BY:
        within = {(*by, name): tested((*by, name)) for name in candidates if name not in by}
        further = [(names, tests) for names, tests in within.items() if tests is not None]
        if not further:
            break
        by, best = min(further, key=lambda each: _beyond(each[1]))
    if _least_p(best) > level:
        return Declared(column, tuple(features), by)
    apart = [Difference(name, rows.difference(column, name)) for name, test in found.items() if test.p_value <= level]
    return Declared(
        column, tuple(features), (), tuple(sorted(apart, key=lambda each: (-each.standardised, each.column)))
    )


def _least_p(tests: dict[str, Test]) -> float:
    return min((test.p_value for test in tests.values()), default=1.0)


def _beyond(tests: dict[str, Test]) -> float:
    """Return by how much the statistics are beyond what a draw makes them on average."""
    return sum(max(test.statistic - test.degrees, 0.0) for test in tests.values())


@dataclass(frozen=True)
class _Units:
    """What was drawn, rows or whole groups: features of the declared column, and how to read others.

    Attributes
    ----------
    rows
        The rows with a value of the declared column.
    a, stratum, counts
        Its features in each unit, one stratum of all, and how often a unit counts.
    test, mean, codes
        The test; features of rows and codes of rows as those of units, None if they vary within one.
    least
        Fewest rows of a value to compare it on its own.
    """

    rows: NDArray[np.intp]
    a: Floats
    counts: Floats
    least: float
    test: Callable[[Floats, Floats, Codes, Floats], Test] = drawn
    mean: Callable[[Floats], Floats] = lambda each: each
    codes: Callable[[Codes], Codes | None] = lambda each: each

    @property
    def stratum(self) -> Codes:
        return np.zeros(len(self.a), np.int64)

    def left(self, stratum: Codes) -> float:
        """Return the sum of squares of the declared column within strata."""
        return float(np.sum(self.counts[:, None] * centred(self.a, stratum, self.counts) ** 2))


class _Rows:
    """The rows to test, at most 20,000, and their columns as features."""

    def __init__(self, table: Table, question: Question) -> None:
        self.table, self.categorical = table, set(question.categorical)
        everything = np.arange(table.n_records)
        many = len(everything) > _MOST_ROWS
        self.chosen = np.random.default_rng(0).permutation(everything)[:_MOST_ROWS] if many else everything
        weights = table.weights
        self.counts = np.ones(len(self.chosen)) if weights is None else weights[self.chosen].astype(np.float64)
        group = group_codes(table, question.groups)
        self.group = None if group is None else group[self.chosen].astype(np.int64)

    def is_ranked(self, name: str) -> bool:
        """Whether a column has an order."""
        return self.table.kinds[name].ordered and name not in self.categorical

    def is_category(self, name: str) -> bool:
        """Whether a column can be drawn, or drawn by, value by value."""
        return not self.is_ranked(name) or len(self.table.histogram(name).values) <= _FEW_VALUES

    def codes(self, name: str) -> Codes:
        """Return the number of each row's value, the number of values where it is missing."""
        n_values = len(self.table.histogram(name).values)
        codes = self.table.codes(name, np.arange(n_values))[self.chosen].astype(np.int64)
        return np.where(codes < 0, n_values, codes)

    def units(self, column: str) -> _Units:
        """Return the rows with a value of a declared column, or their groups if these were drawn as a whole."""
        codes = self.codes(column)
        rows = np.flatnonzero(codes < len(self.table.histogram(column).values))
        codes, counts = codes[rows], self.counts[rows]
        a = self._drawn(column, codes, counts)
        if self.group is None or not len(rows):
            return _Units(rows, a, counts, _least(a, counts))
        _, group = np.unique(self.group[rows], return_inverse=True)
        n_groups = int(group.max()) + 1
        sizes = np.bincount(group, counts, n_groups)

        def mean(each: Floats) -> Floats:
            sums = [np.bincount(group, counts * part, n_groups) for part in each.T]
            return np.reshape(sums, (each.shape[1], n_groups)).T / sizes[:, None]

        units, ones = mean(a), np.ones(n_groups)
        least = _least(units, ones)

        def ranked_mean(each: Floats) -> Floats:
            ranks = [_ranks(np.unique(part, return_inverse=True)[1], ones, least) for part in mean(each).T]
            return np.column_stack([np.zeros((n_groups, 0)), *ranks])

        def constant(each: Codes) -> Codes | None:
            first = np.zeros(n_groups, np.int64)
            first[group] = each
            return first if np.array_equal(first[group], each) else None

        if constant(codes) is not None:
            return _Units(rows, units, ones, _least(a, counts), drawn, ranked_mean, constant)

        def within(one: Floats, other: Floats, stratum: Codes, counts: Floats) -> Test:
            return flipped(one, other, stratum, counts, group)

        return _Units(rows, a, counts, _least(a, counts), within)

    def _drawn(self, column: str, codes: Codes, counts: Floats) -> Floats:
        category = self.is_category(column)
        return _indicators(codes, counts, 2 * _EXPECTED) if category else _ranks(codes, counts)

    def features(self, name: str, rows: NDArray[np.intp], least: float) -> Floats:
        """Return ranks of a column and whether it is missing, or indicators of its values; rare ones together."""
        codes, counts = self.codes(name)[rows], self.counts[rows]
        if not self.is_ranked(name):
            return _indicators(codes, counts, least)
        missing = codes == len(self.table.histogram(name).values)
        ranks = _ranks(np.where(missing, -1, codes), counts, least)
        enough = min(counts[missing].sum(), counts[~missing].sum()) >= least
        return np.column_stack([ranks, missing]) if enough else ranks

    def difference(self, column: str, name: str) -> float:
        """Return the largest standardised difference in a column between a value of the declared one and the others.

        Of a declared quantity, the upper half is compared with the lower half.
        """
        codes = self.codes(column)
        rows = np.flatnonzero(codes < len(self.table.histogram(column).values))
        counts, zero = self.counts[rows], np.zeros(len(rows), np.int64)
        sides = self._drawn(column, codes[rows], counts)
        sides = sides if self.is_category(column) else (sides > 0).astype(np.float64)
        values = self.features(name, rows, _EXPECTED)
        if self.table.kinds[name] in (Kind.NUMBER, Kind.DATE) and self.is_ranked(name):
            quantity = self.table.quantities(name)[self.chosen][rows]
            known = np.isfinite(quantity)
            values = np.where(known, quantity, np.average(quantity[known], weights=counts[known]))[:, None]
        a, b = (centred(each, zero, counts) for each in (sides, values))
        spread = np.sqrt(np.average(b**2, axis=0, weights=counts))
        together = (a * counts[:, None]).T @ b / np.sum(counts[:, None] * a**2, axis=0)[:, None]
        return float(np.max(np.abs(together / spread)))


def _least(a: Floats, counts: Floats) -> float:
    """Return the fewest rows of a value of which 5 are expected on the smaller side of what was drawn."""
    if not a.shape[1]:
        return float(_EXPECTED)
    shares = np.average(a, axis=0, weights=counts) if a.min() >= 0 else np.array([0.5])
    return _EXPECTED / max(float(shares.min()), 1e-9)


def _ranks(codes: Codes, counts: Floats, least: float = 0.0) -> Floats:
    """Return mid-ranks between −1 and 1, and 0 where a code is negative; no column if all, or nearly all, are equal."""
    present = codes >= 0
    many = np.bincount(codes[present], counts[present])
    if np.count_nonzero(many) < 2 or many.sum() - many.max() < least:
        return np.zeros((len(codes), 0))
    middle = (np.cumsum(many) - many / 2) / many.sum()
    return np.where(present, 2 * middle[np.maximum(codes, 0)] - 1, 0.0)[:, None]


def _indicators(codes: Codes, counts: Floats, least: float) -> Floats:
    """Return an indicator of each frequent value, and one of all others; no column if only one is left."""
    many = np.bincount(codes, counts)
    kept = [int(code) for code in np.argsort(-many, kind="stable")[:_MOST_CATEGORIES] if many[code] >= least]
    others = ~np.isin(codes, kept)
    columns = [codes == code for code in kept] + ([others] if counts[others].sum() >= least else [])
    return np.column_stack(columns).astype(np.float64) if len(columns) > 1 else np.zeros((len(codes), 0))
