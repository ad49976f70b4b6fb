"""Brute-force reference implementation for all searches.

Plain Python on lists of dicts, written from the paper and the documented decisions. It must not import the package. A
missing value is None or nan.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

Row = Mapping[str, Any]
Extension = frozenset[int]

# Sums of the same numbers in different order differ by rounding; effects closer than this are equal.
TIED = 1e-11


class Rule(NamedTuple):
    rows: Extension
    value: float
    length: int
    text: str


class Proposition(NamedTuple):
    text: str
    rows: Extension


def is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


# --- the estimators: counts per stratum, a of n1 positives and b of n0 negatives are covered


def reliable(a: Sequence[int], b: Sequence[int], n1: Sequence[int], n0: Sequence[int], beta: float) -> float:
    total = sum(n1) + sum(n0) + 4 * len(n1)
    effect = 0.0
    for covered_positive, covered_negative, positive, negative in zip(a, b, n1, n0, strict=True):
        cells = [
            covered_positive + 1,
            covered_negative + 1,
            positive - covered_positive + 1,
            negative - covered_negative + 1,
        ]
        n_rule, n_not_rule = cells[0] + cells[1], cells[2] + cells[3]
        difference = cells[0] / n_rule - cells[2] / n_not_rule
        difference -= beta / (2 * math.sqrt(n_rule)) + beta / (2 * math.sqrt(n_not_rule))
        effect += difference * sum(cells) / total
    return effect


def plugin(a: Sequence[int], b: Sequence[int], n1: Sequence[int], n0: Sequence[int]) -> float:
    total = sum(n1) + sum(n0)
    effect = 0.0
    for covered_positive, covered_negative, positive, negative in zip(a, b, n1, n0, strict=True):
        n_rule = covered_positive + covered_negative
        n_not_rule = positive + negative - n_rule
        if n_rule and n_not_rule:
            difference = covered_positive / n_rule - (positive - covered_positive) / n_not_rule
            effect += difference * (positive + negative) / total
    return effect


def association(a: Sequence[int], b: Sequence[int], n1: Sequence[int], n0: Sequence[int]) -> float:
    """The plug-in estimate without controls."""
    return plugin([sum(a)], [sum(b)], [sum(n1)], [sum(n0)])


def wracc(a: Sequence[int], b: Sequence[int], n1: Sequence[int], n0: Sequence[int]) -> float:
    """p(σ) · (p(y | σ) − p(y)), without controls; 0 for a rule that covers nothing."""
    total = sum(n1) + sum(n0)
    n_rule = sum(a) + sum(b)
    return n_rule / total * (sum(a) / n_rule - sum(n1) / total) if n_rule else 0.0


def objective(
    estimator: str, a: Sequence[int], b: Sequence[int], n1: Sequence[int], n0: Sequence[int], beta: float
) -> float:
    if estimator == "reliable":
        return reliable(a, b, n1, n0, beta)
    if estimator == "pooled":
        return pooled([Sides.binary(*counts) for counts in zip(a, b, n1, n0, strict=True)], beta)
    return {"plugin": plugin, "wracc": wracc, "association": association}[estimator](a, b, n1, n0)


# --- the same for any target, where a rule need not fail on all rows that it does not cover


class Sides(NamedTuple):
    """The target's values in one stratum: of all rows, of the covered rows and of those on which the rule fails."""

    all: Sequence[float]
    covered: Sequence[float]
    failing: Sequence[float]

    @classmethod
    def binary(cls, a: int, b: int, n1: int, n0: int) -> Sides:
        return cls([1.0] * n1 + [0.0] * n0, [1.0] * a + [0.0] * b, [1.0] * (n1 - a) + [0.0] * (n0 - b))


def pooled(
    strata: Sequence[Sides],
    beta: float | Sequence[float],
    length: int = 1,
    margin_scale: float = 1.0,
    n_levels: int = 2,
) -> float:
    """Σ w δ − γ ε; with a list of betas Bernstein's margin, at the beta of the rule's length.

    A stratum's weight is that of all its rows; the rest uses its compared rows only. Their mean shrinks both sides: δ
    is the difference of the sides' means times q k f/(k + f). A stratum in which the rule covers no row, or fails on
    none, contributes nothing. If the target varies in no other stratum there is no comparison: minus infinity, which
    is no rule.

    If the target has more than two levels, a rule may change its variance instead of its mean: the variance is the
    larger of the estimates from all compared rows and from each side separately.
    """
    n_rows = sum(len(stratum.all) for stratum in strata)
    effect = variance = own_variance = largest_step = 0.0
    for stratum in strata:
        compared = [*stratum.covered, *stratum.failing]
        k, f = len(stratum.covered), len(stratum.failing)
        if not k or not f:
            continue
        mean = sum(compared) / (k + f)
        spread = sum((value - mean) ** 2 for value in compared) / (k + f)
        weight = len(stratum.all) / n_rows
        inverse = 1 / (k + 2) + 1 / (f + 2)
        variance += weight**2 * spread * inverse
        own = f * _sample_variance(stratum.covered) + k * _sample_variance(stratum.failing)
        own_variance += weight**2 * inverse**2 * k * f * own / (k + f) ** 2
        effect += weight * inverse * k * f / (k + f) * _mean_difference(stratum.covered, stratum.failing)
        largest_step = max(largest_step, weight * (max(compared) - min(compared)) * inverse)
    if not largest_step:
        return -math.inf
    variance = max(variance, own_variance) if n_levels > 2 else variance
    if isinstance(beta, (int, float)):
        return effect - margin_scale * beta * math.sqrt(variance)
    own = beta[min(length, len(beta) - 1)]
    half = own**2 * largest_step / 6
    return effect - margin_scale * (half + math.sqrt(half**2 + own**2 * variance))


def _sample_variance(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1) if len(values) > 1 else 0.0


def _mean_difference(covered: Sequence[float], failing: Sequence[float]) -> float:
    if not covered or not failing:
        return 0.0
    return sum(covered) / len(covered) - sum(failing) / len(failing)


def score(
    estimator: str,
    strata: Sequence[Sides],
    beta: float | Sequence[float],
    length: int = 1,
    margin_scale: float = 1.0,
    n_levels: int = 2,
) -> float:
    """Return the value of a rule of this length."""
    if estimator == "pooled":
        return pooled(strata, beta, length, margin_scale, n_levels)
    n_rows = sum(len(stratum.all) for stratum in strata)
    covered = [value for stratum in strata for value in stratum.covered]
    failing = [value for stratum in strata for value in stratum.failing]
    if estimator == "plugin":
        return sum(_mean_difference(s.covered, s.failing) * len(s.all) / n_rows for s in strata)
    if estimator == "association":
        return _mean_difference(covered, failing)
    if estimator == "wracc":
        n = len(covered) + len(failing)
        return (sum(covered) / n - len(covered) / n * sum(covered + failing) / n) if n else 0.0
    assert estimator == "reliable"
    assert isinstance(beta, (int, float))
    value = 0.0
    for stratum in strata:
        inside, outside = len(stratum.covered) + 2, len(stratum.failing) + 2
        difference = (sum(stratum.covered) + 1) / inside - (sum(stratum.failing) + 1) / outside
        difference -= beta / 2 / math.sqrt(inside) + beta / 2 / math.sqrt(outside)
        value += difference * (len(stratum.all) + 4) / (n_rows + 4 * len(strata))
    return value


# --- the rule language


def bins(values: Sequence[Any], max_bins: int) -> list[list[Any]]:
    """Split observed values into bins of distinct values, as documented."""
    distinct = sorted(set(values))
    result = [distinct]

    def rows(part: Sequence[Any]) -> int:
        return sum(value in part for value in values)

    while len(result) < max_bins:
        fullest = None
        for index, members in enumerate(result):
            if len(members) >= 2 and (fullest is None or rows(members) > rows(result[fullest])):
                fullest = index
        if fullest is None:
            break
        members = result[fullest]
        at = min(range(1, len(members)), key=lambda i: (abs(rows(members[:i]) - rows(members[i:])), i))
        result[fullest : fullest + 1] = [members[:at], members[at:]]
    return result


def value_text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def propositions(rows: Mapping[int, Row], actionable: Mapping[str, str], max_bins: int) -> list[Proposition]:
    """Return every condition of the language; `actionable` gives each column's kind: number, text or boolean."""
    found = []
    for column, kind in actionable.items():
        present = {i: row[column] for i, row in rows.items() if not is_missing(row[column])}
        values = list(present.values())
        if not values:
            continue
        if kind == "number" and set(values) != {0, 1}:
            parts = bins(values, max_bins)
            for lower, upper in itertools.pairwise(parts):
                low, high = lower[-1], upper[0]
                at_most = frozenset(i for i, value in present.items() if value <= low)
                at_least = frozenset(i for i, value in present.items() if value >= high)
                found.append(Proposition(f"{column} ≤ {value_text(low)}", at_most))
                found.append(Proposition(f"{column} ≥ {value_text(high)}", at_least))
            continue
        if kind == "text" and len(set(values)) == len(values) > 1:
            continue  # an identifier
        for wanted in set(values):
            equal = frozenset(i for i, value in present.items() if value == wanted)
            found.append(Proposition(f"{column} = {value_text(wanted)}", equal))
    return found


def language(
    everything: Extension, conditions: Sequence[Proposition], max_length: int | None
) -> dict[Extension, tuple[str, ...]]:
    """Map each set of rows that a rule can cover to its shortest, then alphabetically first, description.

    Adds one condition at a time: the shortest description of a set, less any one condition, is a shortest description
    of the larger set, and adding the same condition to two lists keeps their alphabetical order.
    """
    best: dict[Extension, tuple[str, ...]] = {everything: ()}
    frontier = dict(best)
    length = 0
    while frontier and (max_length is None or length < max_length):
        length += 1
        reached: dict[Extension, tuple[str, ...]] = {}
        for rows, texts in frontier.items():
            for condition in conditions:
                smaller = rows & condition.rows
                if not smaller or smaller in best:
                    continue
                description = tuple(sorted((*texts, condition.text)))
                if smaller not in reached or description < reached[smaller]:
                    reached[smaller] = description
        best.update(reached)
        frontier = reached
    del best[everything]
    return best


# --- strata and the result


def compared(
    rows: Sequence[Row], target: Callable[[Row], Any], control: Collection[str], missing_control: str = "drop"
) -> dict[int, Row]:
    """Return the rows with a target and, unless missing is a value of its own, with each control, by their position."""
    required = list(control) if missing_control == "drop" else []
    return {
        i: row
        for i, row in enumerate(rows)
        if not is_missing(target(row)) and not any(is_missing(row[name]) for name in required)
    }


def strata(
    rows: Mapping[int, Row], control: Mapping[str, str], max_bins: int, control_bins: int = 4
) -> dict[int, tuple[Any, ...]]:
    """Return each row's combination of control values; a number with many values is cut into `n_bins` bins."""
    labels: dict[int, list[Any]] = {i: [] for i in rows}
    for column, kind in control.items():
        values = [row[column] for row in rows.values() if not is_missing(row[column])]
        binned = kind == "number" and len(set(values)) > max_bins
        parts = bins(values, control_bins) if binned else [[value] for value in set(values)]
        for i, row in rows.items():
            value = row[column]
            label = None if is_missing(value) else next(n for n, part in enumerate(parts) if value in part)
            labels[i].append(label)
    return {i: tuple(label) for i, label in labels.items()}


def top_k(
    rows: Sequence[Row],
    target: str,
    outcome: Callable[[Any], bool],
    actionable: Mapping[str, str],
    control: Mapping[str, str] | None = None,
    *,
    k: int = 10,
    beta: float = 2.0,
    max_length: int | None = 4,
    min_coverage: float = 0.0,
    estimator: str = "reliable",
    max_bins: int = 8,
    missing_control: str = "drop",
) -> list[Rule]:
    """Return the best k rules in order; the row ids of a rule are positions in `rows`."""
    observed = compared(rows, lambda row: row[target], control or {}, missing_control)
    positive = {i for i, row in observed.items() if outcome(row[target])}
    label = strata(observed, control or {}, max_bins)
    members: dict[tuple[Any, ...], set[int]] = {}
    for i, key in label.items():
        members.setdefault(key, set()).add(i)
    n1 = [len(ids & positive) for ids in members.values()]
    n0 = [len(ids - positive) for ids in members.values()]

    found = []
    everything = frozenset(observed)
    for covered, texts in language(everything, propositions(observed, actionable, max_bins), max_length).items():
        a = [len(covered & ids & positive) for ids in members.values()]
        b = [len((covered & ids) - positive) for ids in members.values()]
        value = objective(estimator, a, b, n1, n0, beta)
        if value > -math.inf:
            found.append((covered, value, texts))

    kept = [rule for rule in found if len(rule[0]) / len(observed) >= min_coverage]
    return [Rule(covered, value, len(texts), " ∧ ".join(texts)) for covered, value, texts in _ordered(kept)[:k]]


def _ordered(
    rules: Sequence[tuple[Extension, float, tuple[str, ...]]],
) -> list[tuple[Extension, float, tuple[str, ...]]]:
    """Sort by value, highest first; ties by fewer conditions, then alphabetically."""
    groups: list[list[tuple[Extension, float, tuple[str, ...]]]] = []
    for rule in sorted(rules, key=lambda rule: -rule[1]):
        if groups and groups[-1][-1][1] - rule[1] <= TIED:
            groups[-1].append(rule)
        else:
            groups.append([rule])
    return [rule for group in groups for rule in sorted(group, key=lambda rule: (len(rule[2]), rule[2]))]


# --- the same over coded rows, with unknown missing values and reference rows


class Coded(NamedTuple):
    """Rows as codes: the stratum and target of each, the codes of each column (−1 where missing), and conditions.

    A condition is a column with its lowest and highest code. `reference` are the reference rows, if given, and `codes`
    their column, lowest and highest code: a rule without a condition that excludes these fails on no row.
    """

    strata: Sequence[int]
    target: Sequence[float]
    columns: Sequence[Sequence[int]]
    conditions: Sequence[tuple[int, int, int]]
    weights: Sequence[int]
    unknown: bool = False
    reference: frozenset[int] | None = None
    codes: tuple[int, int, int] | None = None

    @property
    def everything(self) -> Extension:
        return frozenset(i for i, weight in enumerate(self.weights) if weight)

    def sets(self, condition: tuple[int, int, int]) -> tuple[Extension, Extension]:
        """Return the rows that satisfy a condition, and those that possibly do."""
        column, low, high = condition
        codes = self.columns[column]
        rows = [i for i in self.everything if self.reference is None or i not in self.reference]
        holds = frozenset(i for i in rows if low <= codes[i] <= high and codes[i] >= 0)
        if self.reference is not None:
            assert self.codes is not None
            excludes = column == self.codes[0] and (high < self.codes[1] or self.codes[2] < low)
            return holds, frozenset(rows) if excludes else self.everything
        return holds, holds | frozenset(i for i in rows if self.unknown and codes[i] < 0)

    def values(self, rows: Extension, stratum: int) -> list[float]:
        """Return the target of some rows of a stratum, repeated by weight."""
        return [self.target[i] for i in sorted(rows) if self.strata[i] == stratum for _ in range(self.weights[i])]

    def sides(self, covered: Extension, failing: Extension, n_strata: int) -> list[Sides]:
        """Return the target in each stratum: of all rows, of the covered rows and of those on which a rule fails."""
        found = [Sides([], [], []) for _ in range(n_strata)]
        for i, (stratum, value, weight) in enumerate(zip(self.strata, self.target, self.weights, strict=True)):
            for values, rows in zip(found[stratum], (None, covered, failing), strict=True):
                if rows is None or i in rows:
                    cast("list[float]", values).extend([value] * weight)
        return found

    def size(self, rows: Extension) -> int:
        return sum(self.weights[i] for i in rows)


class CodedRule(NamedTuple):
    value: float
    conditions: tuple[int, ...]
    covered: Extension
    possible: Extension


def coded_rules(
    table: Coded,
    *,
    estimator: str,
    beta: float | Sequence[float],
    n_strata: int,
    max_length: int | None = None,
    margin_scale: float = 1.0,
    n_levels: int = 2,
) -> list[CodedRule]:
    """Return every rule with its shortest, then first, description; with a contrast somewhere."""
    everything = table.everything
    sets = [table.sets(condition) for condition in table.conditions]
    best: dict[tuple[Extension, Extension], tuple[int, ...]] = {(everything, everything): ()}
    frontier, length = dict(best), 0
    while frontier and (max_length is None or length < max_length):
        length += 1
        reached: dict[tuple[Extension, Extension], tuple[int, ...]] = {}
        for (covered, possible), conditions in frontier.items():
            for index, (holds, may_hold) in enumerate(sets):
                key = covered & holds, possible & may_hold
                if not key[0] or key in best:
                    continue
                description = tuple(sorted((*conditions, index)))
                if key not in reached or description < reached[key]:
                    reached[key] = description
        best.update(reached)
        frontier = reached
    del best[everything, everything]
    rules = []
    for (covered, possible), conditions in best.items():
        failing = everything - possible
        if not failing:
            continue
        value = score(estimator, table.sides(covered, failing, n_strata), beta, len(conditions), margin_scale, n_levels)
        if value > -math.inf:
            rules.append(CodedRule(value, conditions, covered, possible))
    return rules


def coded_top_k(table: Coded, rules: Sequence[CodedRule], *, k: int, min_rows: int = 0) -> list[CodedRule]:
    """Return the best k of the rules in order."""
    kept = [rule for rule in rules if table.size(rule.covered) >= min_rows]
    groups: list[list[CodedRule]] = []
    for rule in sorted(kept, key=lambda rule: -rule.value):
        if groups and groups[-1][-1].value - rule.value <= TIED:
            groups[-1].append(rule)
        else:
            groups.append([rule])
    ordered = [rule for group in groups for rule in sorted(group, key=lambda r: (len(r.conditions), r.conditions))]
    return ordered[:k]


class Asked(NamedTuple):
    """A question about a table, coded: a column for each condition, in alphabetical order."""

    table: Coded
    n_strata: int
    conditions: Sequence[str]
    row_ids: Sequence[int]


def asked(
    rows: Sequence[Row],
    target: Callable[[Row], float | None],
    actionable: Mapping[str, str],
    control: Mapping[str, str],
    *,
    max_bins: int,
    control_bins: int,
    unknown: bool,
    reference: tuple[str, Any] | None = None,
    missing_control: str = "drop",
) -> Asked:
    """Return the rows with a target as codes: the place of a value among all of its column, −1 where it is missing.

    `reference` is a column and the value of the reference rows.
    """
    observed = compared(rows, target, control, missing_control)
    ids = list(observed)
    label = strata(observed, control, max_bins, control_bins)
    number = {key: place for place, key in enumerate(dict.fromkeys(label[i] for i in ids))}
    found = []
    codes: dict[str, dict[int, int]] = {}
    for column, kind in actionable.items():
        known = {i: observed[i][column] for i in ids if not is_missing(observed[i][column])}
        place = {value: number for number, value in enumerate(sorted(set(known.values())))}
        for condition in propositions(observed, {column: kind}, max_bins):
            if len(condition.rows) < len(ids):  # constant columns have no role
                own = [place[known[i]] for i in condition.rows]
                found.append((condition.text, (len(codes), min(own), max(own))))
        codes[column] = {i: place[value] for i, value in known.items()}
    found.sort()
    excluded, is_reference = None, None
    if reference is not None:
        column, value = reference
        is_reference = frozenset(k for k, i in enumerate(ids) if observed[i][column] == value)
        code = next(codes[column][ids[k]] for k in is_reference)
        excluded = list(codes).index(column), code, code
    values = [target(observed[i]) for i in ids]
    table = Coded(
        strata=[number[label[i]] for i in ids],
        target=[value for value in values if value is not None],
        columns=[[own.get(i, -1) for i in ids] for own in codes.values()],
        conditions=[condition for _, condition in found],
        weights=[1] * len(ids),
        unknown=unknown,
        reference=is_reference,
        codes=excluded,
    )
    return Asked(table, len(number), [text for text, _ in found], ids)


# --- the ladder: each rule adds to those above it, whose columns are held fixed

# The average number of rows per stratum below which columns are held fixed by quantiles of their prediction; the number
# of quantiles; the penalty of that prediction; and the maximum number of levels of a numeric target.
ENOUGH, QUANTILES, PENALTY, MOST_LEVELS = 25, 8, 2, 32
# Ratios of effect to margin closer than this are equal.
NEAR = 1e-7


class Condition(NamedTuple):
    """A condition on a column: the lowest and the highest of its bins."""

    text: str
    column: str
    low: int
    high: int


class Step(NamedTuple):
    """One step: the columns held fixed, the stratum of each row, β, the remaining conditions, and every rule."""

    held_fixed: tuple[str, ...]
    n_strata: int
    predicted: bool
    beta: float | Sequence[float]
    conditions: Sequence[Condition]
    table: Coded
    rules: Sequence[CodedRule]
    stratum_of: Callable[[Row], Any]

    def named(self, rule: CodedRule) -> tuple[Condition, ...]:
        return tuple(self.conditions[place] for place in rule.conditions)


@dataclass(frozen=True)
class Ladder:
    """The question of a ladder; `actionable` and `control` give each column's kind: number, text or boolean."""

    rows: Sequence[Row]
    target: str
    actionable: Mapping[str, str]
    control: Mapping[str, str]
    mean: bool = False
    k: int = 5
    beta: float | None = None
    error_rate: float = 0.05
    max_length: int | None = 3
    min_coverage: float = 0.0
    max_bins: int = 8
    control_bins: int = 4
    unknown: bool = True
    decrease: bool = False
    reference: tuple[str, Any] | None = None
    weights: str | None = None

    @cached_property
    def observed(self) -> list[Row]:
        """Return the rows with a target, repeated by weight."""
        times = [1 if self.weights is None else row[self.weights] for row in self.rows]
        rows = [row for row, n in zip(self.rows, times, strict=True) for _ in range(n)]
        return [row for row in rows if not is_missing(row[self.target])]

    @cached_property
    def of_controls(self) -> list[Any]:
        """Return the stratum of each row by the controls alone."""
        rows = dict(enumerate(self.observed))
        return list(strata(rows, self.control, self.max_bins, self.control_bins).values())

    @cached_property
    def levels(self) -> list[float]:
        """Return the target of each row as the search sees it: many values become means of levels."""
        y = [float(row[self.target]) for row in self.observed]
        if not self.mean or len(set(y)) <= MOST_LEVELS:
            return y
        mean: dict[float, float] = {}
        for part in bins(y, MOST_LEVELS):
            inside = [value for value in y if value in set(part)]
            mean |= dict.fromkeys(part, sum(inside) / len(inside))
        return [mean[value] for value in y]

    @cached_property
    def bins_of(self) -> dict[str, list[list[Any]]]:
        """Return the bins of each actionable column; without an order, each value is a bin."""
        found = {}
        for column, kind in self.actionable.items():
            values = [row[column] for row in self.observed if not is_missing(row[column])]
            is_code = kind != "number" or set(values) == {0, 1}
            found[column] = [[value] for value in sorted(set(values))] if is_code else bins(values, self.max_bins)
        return found

    @cached_property
    def every_condition(self) -> list[Condition]:
        found = []
        for column, kind in self.actionable.items():
            parts = self.bins_of[column]
            last = len(parts) - 1
            if kind == "number" and parts != [[0], [1]]:
                for code in range(last):
                    found.append(Condition(f"{column} ≤ {value_text(parts[code][-1])}", column, 0, code))
                    found.append(Condition(f"{column} ≥ {value_text(parts[code + 1][0])}", column, code + 1, last))
            else:
                for code, (value,) in enumerate(parts):
                    found.append(Condition(f"{column} = {value_text(value)}", column, code, code))
        return sorted(found)

    def step(self, above: Sequence[Sequence[Condition]]) -> Step | None:
        """Return the step below these rules; None if no condition is left."""
        rows = self.observed
        fixed = [] if self.reference else sorted({each.column for rule in above for each in rule})
        conditions = [each for each in self.every_condition if each.column not in fixed]
        if self.reference is not None:
            for rule in above:  # rules about other arms have the same reference rows
                low, high = max(each.low for each in rule), min(each.high for each in rule)
                conditions = [each for each in conditions if each.high < low or each.low > high]
        if not conditions:
            return None
        stratum_of, predicted = self._strata(fixed, above)
        names = list(dict.fromkeys(each.column for each in conditions))
        label = [(self.of_controls[i], stratum_of(row)) for i, row in enumerate(rows)]
        number = {each: place for place, each in enumerate(dict.fromkeys(label))}
        sign = -1.0 if self.decrease else 1.0
        is_reference = None
        excluded = None
        if self.reference is not None:
            arm, value = self.reference
            is_reference = frozenset(i for i, row in enumerate(rows) if row[arm] == value)
            code = _bin(value, self.bins_of[arm])
            excluded = 0, code, code
        table = Coded(
            strata=[number[each] for each in label],
            target=[sign * y for y in self.levels],
            columns=[[_bin(row[name], self.bins_of[name]) for row in rows] for name in names],
            conditions=[(names.index(each.column), each.low, each.high) for each in conditions],
            weights=[1] * len(rows),
            unknown=self.unknown,
            reference=is_reference,
            codes=excluded,
        )
        beta = self.betas(conditions) if self.beta is None else self.beta
        rules = self.scored(table, len(number), beta)
        return Step(tuple(fixed), len(number), predicted, beta, conditions, table, rules, stratum_of)

    def scored(
        self, table: Coded, n_strata: int, beta: float | Sequence[float], margin_scale: float = 1.0
    ) -> list[CodedRule]:
        """Return every rule that covers enough rows, best first."""
        rules = coded_rules(
            table,
            estimator="pooled",
            beta=beta,
            n_strata=n_strata,
            max_length=self.max_length,
            margin_scale=margin_scale,
            n_levels=len(set(table.target)) if self.mean else 2,
        )
        n = len(table.strata)
        least = next(rows for rows in range(n + 1) if rows / n >= self.min_coverage)
        return coded_top_k(table, rules, k=len(rules), min_rows=least)

    def betas(self, conditions: Sequence[Condition], offered: Collection[frozenset[str]] | None = None) -> list[float]:
        """Return β for rules of 0, 1, 2, … conditions, by the number of rules of each length on the columns offered."""
        ways = []
        columns = list(dict.fromkeys(each.column for each in conditions))
        for column in columns:
            own = [each for each in conditions if each.column == column]
            cuts = 0 if " = " in own[0].text else len(own) // 2
            # None, one condition, or an interval, which counts as two.
            ways.append([1, len(own), cuts * (cuts - 1) // 2] if cuts else [1, len(own)])
        longest = sum(len(each) - 1 for each in ways)
        limit = longest if self.max_length is None else min(self.max_length, longest)
        counts = [0] * (longest + 1)
        for lengths in itertools.product(*(range(len(each)) for each in ways)):
            used = frozenset(column for column, length in zip(columns, lengths, strict=True) if length)
            if offered is not None and used not in offered:
                continue
            counts[sum(lengths)] += math.prod(each[length] for each, length in zip(ways, lengths, strict=True))
        found = [0.0]
        for length in range(1, limit + 1):
            share = self.error_rate / (2**length if self.max_length is None else limit)
            found.append(max(found[-1], math.sqrt(2 * math.log(max(counts[length], 1) / share))))
        return found

    def _strata(self, fixed: Sequence[str], above: Sequence[Sequence[Condition]]) -> tuple[Callable[[Row], Any], bool]:
        """Return the stratum function for the columns held fixed, and whether it uses their prediction."""
        parts = {name: self.bins_of[name] for name in fixed}

        def cell(row: Row) -> tuple[int, ...]:
            return tuple(_bin(row[name], parts[name]) for name in fixed)

        rows = self.observed
        if not fixed or len(rows) >= ENOUGH * len({(self.of_controls[i], cell(row)) for i, row in enumerate(rows)}):
            return cell, False
        rules = [[each for each in rule if each.column in parts] for rule in above]
        rules = [rule for rule in rules if rule]

        def indicators(row: Row) -> list[float]:
            """Return one indicator for each bin of each column, for a missing value, and for each rule."""
            found = []
            for name in fixed:
                code = _bin(row[name], parts[name])
                found += [float(code == each) for each in [*range(len(parts[name])), -1]]
            for rule in rules:
                holds = all(each.low <= _bin(row[each.column], parts[each.column]) <= each.high for each in rule)
                found += [float(holds), float(not holds)]
            return found

        gains = ridge([indicators(row) for row in rows], self.levels, self.of_controls)

        def predict(row: Row) -> float:
            return math.fsum(gain * each for gain, each in zip(gains, indicators(row), strict=True))

        plain = [predict(row) for row in rows]
        span = max(plain) - min(plain) or 1.0
        predictions = sorted(round(each / span, 9) for each in plain)
        n = len(predictions)
        uppers = sorted({predictions[-(-n * part // QUANTILES) - 1] for part in range(1, QUANTILES)})
        uppers = [upper for upper in uppers if upper < predictions[-1]]
        return lambda row: sum(upper < round(predict(row) / span, 9) for upper in uppers), True

    def climb(self, margin_scales: Sequence[float] = ()) -> list[tuple[Step, CodedRule | None, bool]]:
        """Return each step with the best rule, and whether it stands out.

        If nothing is above 0 and β is by length, it is the rule with the largest ratio of effect to margin, which
        stands out if that exceeds the margin scale of the step (from permuted tables; 1 if none are given).
        """
        found: list[tuple[Step, CodedRule | None, bool]] = []
        above: list[tuple[Condition, ...]] = []
        while len(found) < self.k:
            step = self.step(above)
            if step is None:
                break
            rule = step.rules[0] if step.rules else None
            stands_out = rule is not None and rule.value > TIED  # at 0, either is correct
            if rule is not None and not stands_out and self.beta is None:
                rule, ratio = self.nearest(step)
                stands_out = ratio > (margin_scales[len(found)] if len(found) < len(margin_scales) else 1.0)
            found.append((step, rule, stands_out))
            if rule is None or not stands_out:
                break
            above.append(step.named(rule))
        return found

    def nearest(self, step: Step) -> tuple[CodedRule, float]:
        """Return the rule with the largest ratio of effect to margin, and the ratio; if negative, the largest effect.

        Of equal ratios the one with the larger margin, then the shorter rule, then the first alphabetically.
        """
        value = {rule.conditions: rule.value for rule in step.rules}
        effects = self.scored(step.table, step.n_strata, step.beta, margin_scale=0.0)
        margin = {rule.conditions: rule.value - value[rule.conditions] for rule in effects}
        ratio = {rule.conditions: rule.value / max(margin[rule.conditions], 1e-15) for rule in effects}
        best = max(ratio.values())
        if best <= NEAR:
            chosen = effects[0].conditions
        else:
            alike = [each for each in ratio if ratio[each] >= best - NEAR]
            widest = max(margin[each] for each in alike)
            chosen = min((each for each in alike if margin[each] >= widest - NEAR), key=lambda each: (len(each), each))
        return next(rule for rule in step.rules if rule.conditions == chosen), ratio[chosen]

    def effect(self, step: Step, rule: CodedRule, strata: Sequence[Any]) -> float:
        """Return the difference of means in strata with both sides, weighted by their rows; nan without any."""
        y = [float(row[self.target]) for row in self.observed]
        return adjusted(y, rule.covered, step.table.everything - rule.possible, strata)

    def alone(self, step: Step, rule: CodedRule) -> float:
        """Return the effect adjusted for the controls only."""
        return self.effect(step, rule, self.of_controls)

    def rungs(self, rules: Sequence[CodedRule]) -> list[tuple[float, int]]:
        """Return adjusted level and rows where all rules fail, only the first holds, only the first two, and so on."""
        y, label = [float(row[self.target]) for row in self.observed], self.of_controls
        found = []
        for place in range(len(rules) + 1):
            rows = frozenset(range(len(self.observed))).intersection(*(rule.covered for rule in rules[:place]))
            rows = rows.difference(*(rule.possible for rule in rules[place:]))
            if not rows:
                break
            inside = {label[i] for i in rows}
            total = weight = 0.0
            for stratum in inside:
                own = [y[i] for i in rows if label[i] == stratum]
                size = label.count(stratum)
                total, weight = total + size * sum(own) / len(own), weight + size
            found.append((total / weight, len(rows)))
        return found


def adjusted(y: Sequence[float], covered: Extension, failing: Extension, strata: Sequence[Any]) -> float:
    """Return the difference of means in strata with both sides, weighted by their rows; nan without any."""
    total = weight = 0.0
    for stratum in dict.fromkeys(strata):
        inside = [i for i, each in enumerate(strata) if each == stratum]
        sides = [[y[i] for i in inside if i in side] for side in (covered, failing)]
        if all(sides):
            total += len(inside) * _mean_difference(*sides)
            weight += len(inside)
    return total / weight if weight else math.nan


def ridge(x: Sequence[Sequence[float]], y: Sequence[float], strata: Sequence[Any]) -> list[float]:
    """Return the g that minimises Σ (y − x g)² + PENALTY Σ g², with y and x less their stratum means."""
    centred: list[tuple[list[float], float]] = []
    for stratum in dict.fromkeys(strata):
        inside = [i for i, each in enumerate(strata) if each == stratum]
        means = [sum(x[i][j] for i in inside) / len(inside) for j in range(len(x[0]))]
        mean = sum(y[i] for i in inside) / len(inside)
        centred += [([value - m for value, m in zip(x[i], means, strict=True)], y[i] - mean) for i in inside]
    n = len(x[0])
    lines = [[sum(each[i] * each[j] for each, _ in centred) + PENALTY * (i == j) for j in range(n)] for i in range(n)]
    for i, line in enumerate(lines):
        line.append(sum(each[i] * value for each, value in centred))
    for i in range(n):  # Gaussian elimination
        for j in range(n):
            if j != i:
                factor = lines[j][i] / lines[i][i]
                lines[j] = [a - factor * b for a, b in zip(lines[j], lines[i], strict=True)]
    return [line[-1] / line[i] for i, line in enumerate(lines)]


def _bin(value: Any, parts: Sequence[Sequence[Any]]) -> int:
    """Return the bin of a value: an unseen number is in the first bin whose upper end is not below it."""
    if is_missing(value):
        return -1
    if isinstance(value, (int, float)):
        return next((code for code, part in enumerate(parts) if value <= part[-1]), len(parts) - 1)
    return next(code for code, part in enumerate(parts) if value in part)
