"""One rule with its numbers. A rule keeps its counts and derives the rest, so that no two numbers can disagree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causalrules import estimators
from causalrules.data.reading import read
from causalrules.estimators import Estimate, Grouped, Side
from causalrules.exceptions import OptionError, UnknownColumnError
from causalrules.language.propositions import Proposition, describe
from causalrules.language.strata import SCORES
from causalrules.result.steps import Alone
from causalrules.text import unknown_column

if TYPE_CHECKING:
    from causalrules.graph.backdoor import Identification
    from causalrules.question import Question
    from causalrules.search.core import Packed
    from causalrules.search.parts import Parts
    from causalrules.search.problem import Problem
    from causalrules.search.run import Found
    from causalrules.trust.evidence import RuleEvidence
    from causalrules.trust.verdict import Circumstances, Verdict

_Counts = NDArray[np.int64]

# The numbers of a rule, in the order in which data frames and JSON have them.
NUMBERS = (
    "reliable_effect",
    "effect",
    "marginal_effect",
    "coverage",
    "n_covered",
    "p_do_rule",
    "p_do_not_rule",
    "overlap",
    "effective_rows",
    "standard_error",
    "length",
    "value",
)


class Sums(NamedTuple):
    """Some rows: how many, the sum of their target, and those of its squared and cubed distances from their mean."""

    n: int
    total: float
    scatter: float
    cubes: float

    @classmethod
    def binary(cls, positive: int, negative: int) -> Sums:
        """Return the sums of rows with and without an outcome."""
        n, total, scatter, cubes = (float(each[0]) for each in Side.binary(positive, negative))
        return cls(int(n), total, scatter, cubes)

    @property
    def mean(self) -> float:
        """Mean of the target; nan without rows."""
        return self.total / self.n if self.n else float("nan")


class StratumSums(NamedTuple):
    """One stratum: the rows that a rule covers, those on which it fails, all, and the target's range where compared."""

    covered: Sums
    failing: Sums
    everything: Sums
    span: float


@dataclass(frozen=True)
class StratumEffect:
    """A rule in one stratum of the controls.

    For an outcome that happens or not, of the covered rows `a` have it and `b` do not; of the rows on which the rule
    fails, `c` and `d`. A share or mean of no rows is nan.

    Attributes
    ----------
    labels
        The values of the controls.
    sums
        The rows, and the sums of their target less `centre`.
    weight
        The weight of the stratum: (n+4)/(N+4K) in the reliable effect, n/N in the others.
    centre
        What is subtracted from the target before it is added up.
    """

    labels: Mapping[str, str] = field(hash=False)
    sums: StratumSums
    beta: float
    weight: float
    centre: float = 0.0

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.sums.everything.n

    @property
    def a(self) -> int:
        """Covered rows with the outcome."""
        return round(self.sums.covered.total)

    @property
    def b(self) -> int:
        """Covered rows without the outcome."""
        return self.sums.covered.n - self.a

    @property
    def c(self) -> int:
        """Other rows with the outcome."""
        return round(self.sums.failing.total)

    @property
    def d(self) -> int:
        """Other rows without the outcome."""
        return self.sums.failing.n - self.c

    @property
    def p_rule(self) -> float:
        """Share of the covered rows with the outcome, or mean of their target."""
        return self.centre + self.sums.covered.mean

    @property
    def p_not_rule(self) -> float:
        """Share of the other rows with the outcome, or mean of their target."""
        return self.centre + self.sums.failing.mean

    @property
    def difference(self) -> float:
        """`p_rule` minus `p_not_rule`."""
        return self.sums.covered.mean - self.sums.failing.mean

    @property
    def reliable_difference(self) -> float:
        """Laplace-corrected difference minus its confidence terms, of an outcome that happens or not."""
        return float(estimators.reliable_difference(self.a, self.b, self.c, self.d, self.beta))

    @property
    def overlap(self) -> bool:
        """Whether the rule holds for some rows of the stratum and fails for some."""
        return self.sums.covered.n > 0 and self.sums.failing.n > 0


class Interval(NamedTuple):
    """A confidence interval of an effect; call it with another confidence for another interval."""

    low: float
    high: float


class _AnyInterval(Interval):
    """The 95 % interval of a rule's effect, and the intervals of other confidences when called."""

    rule: RuleResult

    def __repr__(self) -> str:
        return repr(Interval(*self))

    def __call__(self, confidence: float = 0.95) -> Interval:
        return self.rule.interval_at(confidence)


@dataclass(frozen=True, repr=False)
class RuleResult:
    """One rule: its conditions, and its counts in each stratum of the controls.

    Attributes
    ----------
    conditions
        The conditions, in alphabetical order of their text.
    labels
        The values of the controls in each stratum.
    counts
        For an outcome that happens or not, the counts (a, b, c, d) of `StratumEffect` in each stratum.
    beta, estimator
        The options that decide `reliable_effect` and `value`.
    p_value
        Significance adjusted for the search, once `RuleSet.significance` has computed it.
    evidence
        Everything known about how far the rule can be trusted.
    identification
        With a causal graph: whether the effect of the rule's own columns is identified, and why.
    undecided
        For an outcome that happens or not, the rows with and without it that are not compared, in each stratum: a
        missing value leaves open whether the rule holds, or they are not reference rows.
    sums
        For a mean, the sums of the target less `centre` in each stratum, instead of the counts.
    centre
        For a mean, the smallest value of the target.
    scored
        The same for the levels of the target that the search ranks by, where they are not its values.
    n_levels
        Number of levels of the target that the search ranks by; 2 for an outcome that happens or not.
    decrease
        Whether the search was for rules that decrease the outcome.
    by_length
        Whether `beta` is that of the rule's length, with a margin for extreme rows.
    margin_scale
        What part of that margin is enough, by shuffled tables; 1 where they were not asked.
    grouped
        Where rows belong together in groups, the standard error that allows for it.
    control
        The controls that the rule is adjusted for.
    held_fixed
        The columns of the rules above it in the list, which it is adjusted for too: its effect is what it adds.
    alone
        Its effect on its own, adjusted for the controls only; None where that is not known.
    circumstances
        What `verdict` depends on besides the rule; a RuleSet sets it.
    """

    conditions: tuple[Proposition, ...]
    labels: tuple[Mapping[str, str], ...] = field(hash=False)
    counts: tuple[tuple[int, int, int, int], ...]
    beta: float
    estimator: str
    p_value: float | None = None
    evidence: RuleEvidence | None = None
    identification: Identification | None = None
    undecided: tuple[tuple[int, int], ...] = ()
    sums: tuple[StratumSums, ...] = ()
    centre: float = 0.0
    scored: tuple[StratumSums, ...] = ()
    n_levels: int = 2
    decrease: bool = False
    by_length: bool = False
    margin_scale: float = 1.0
    grouped: Grouped | None = None
    control: tuple[str, ...] = ()
    held_fixed: tuple[str, ...] = ()
    alone: Alone | None = None
    circumstances: Circumstances | None = field(default=None, compare=False)

    @classmethod
    def from_counts(
        cls,
        conditions: Iterable[Proposition],
        a: ArrayLike,
        b: ArrayLike,
        c: ArrayLike,
        d: ArrayLike,
        labels: Sequence[Mapping[str, str]],
        beta: float,
        estimator: str,
    ) -> RuleResult:
        """Build a rule from its four counts in each stratum."""
        tables = np.array([a, b, c, d], dtype=np.int64).reshape(4, -1).T.tolist()
        if len(tables) != len(labels):
            raise ValueError(f"{len(tables)} strata are counted but {len(labels)} are labelled")
        ordered = tuple(sorted(conditions, key=lambda condition: condition.text))
        counts = tuple((a, b, c, d) for a, b, c, d in tables)
        return cls(ordered, tuple(labels), counts, float(beta), estimator)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return (
            f"<RuleResult {self.text}: reliable_effect={self.reliable_effect:.4f}, effect={self.effect:.4f}, "
            f"coverage={self.coverage:.4f}, n_covered={self.n_covered}>"
        )

    def _repr_html_(self) -> str:
        from causalrules.report import notebook

        return notebook.card(self)

    @cached_property
    def text(self) -> str:
        """The rule as text, such as "class ≤ 2 ∧ sex = female"."""
        return describe(self.conditions)

    @property
    def superfluous(self) -> tuple[Proposition, ...]:
        """The conditions that do not earn their place, by their own p-values, once `RuleSet.trust` has tested them."""
        known = None if self.evidence is None else self.evidence.conditions
        return tuple(each for each in self.conditions if known and each.p_value and each.p_value > known.level)

    @property
    def simpler(self) -> tuple[Proposition, ...]:
        """The conditions that are left without those that do not earn their place; all of them if that is not known."""
        known = None if self.evidence is None else self.evidence.conditions
        return self.conditions if known is None else tuple(self.conditions[place] for place in known.kept)

    @property
    def p_sign(self) -> str:
        """How `p_value` is known: "≤" if no shuffled table was as good, "≈" if they were stopped early, else "="."""
        known = None if self.evidence is None else self.evidence.significance
        if known is None or self.circumstances is None:
            return "="
        asked, most = self.circumstances.permutations, self.circumstances.level * self.circumstances.permutations
        return (
            "≤" if known.exceedances == 0 else "≈" if known.permutations < asked and known.exceedances > most else "="
        )

    @property
    def length(self) -> int:
        """Number of conditions; an interval counts as two."""
        return len(self.conditions)

    @property
    def is_mean(self) -> bool:
        """Whether the mean of the target is what counts, and not how often an outcome happens."""
        return bool(self.sums)

    @property
    def is_prognostic(self) -> bool:
        """Whether the strata are those of a prediction from the controls, and not of their values."""
        return bool(self.labels) and not set(SCORES).isdisjoint(self.labels[0])

    @cached_property
    def tables(self) -> tuple[_Counts, _Counts, _Counts, _Counts]:
        """The counts a, b, c and d as arrays over the strata, as `estimators` takes them."""
        a, b, c, d = np.array(self.counts, dtype=np.int64).T
        return a, b, c, d

    @cached_property
    def sides(self) -> tuple[Side, Side, Side]:
        """The rows that the rule covers, those on which it fails, and all, as `estimators` takes them."""
        if self.sums:
            return _sides(self.sums)
        a, b, c, d = self.tables
        with_outcome, without = np.array(self.undecided or [(0, 0)] * len(a)).T
        return Side.binary(a, b), Side.binary(c, d), Side.binary(a + c + with_outcome, b + d + without)

    @cached_property
    def scored_sides(self) -> tuple[Side, Side, Side]:
        """The same for the levels that the search ranks by."""
        return _sides(self.scored) if self.scored else self.sides

    @property
    def n_covered(self) -> int:
        """Number of rows that satisfy the rule."""
        return int(self.sides[0].n.sum())

    @property
    def n_failing(self) -> int:
        """Number of rows that the covered rows are compared with."""
        return int(self.sides[1].n.sum())

    @property
    def n_undecided(self) -> int:
        """Number of rows that are left out of the comparison, such as those where a missing value leaves it open."""
        return int(self.sides[2].n.sum()) - self.n_covered - self.n_failing

    @property
    def coverage(self) -> float:
        """Share of the rows that satisfy the rule."""
        return self.n_covered / float(self.sides[2].n.sum())

    @cached_property
    def margin(self) -> float:
        """What the pooled estimator subtracts as a margin for chance, when it searches."""
        reach = 0.0
        if self.by_length:
            # An outcome that happens or not ranges over 1 in strata where it does both.
            spans = [stratum.span for stratum in self.scored or self.sums]
            reach = estimators.pooled_reach(
                *self.scored_sides, spans or [min(1, a + c) * min(1, b + d) for a, b, c, d in self.counts]
            )
        variance = estimators.margin_variance(*self.scored_sides, self.n_levels)
        return estimators.pooled_margin(self.beta, variance, reach)

    def _with_undecided(self) -> Iterable[tuple[tuple[int, int, int, int], tuple[int, int]]]:
        return zip(self.counts, self.undecided or [(0, 0)] * len(self.counts), strict=True)

    @property
    def ratio(self) -> float:
        """The effect over its margin for chance, as the search has them: above `margin_scale`, it stands out.

        Without a margin the target is the same everywhere in each stratum, and there is no effect either: 0.
        """
        sign = -1.0 if self.decrease else 1.0
        effect = sign * estimators.pooled_effect(*self.scored_sides)
        return effect / self.margin if self.margin > 0 else 0.0

    @cached_property
    def value(self) -> float:
        """The number that the search maximised, by `estimator`."""
        sign = -1.0 if self.decrease else 1.0
        match self.estimator:
            case "pooled":
                return sign * estimators.pooled_effect(*self.scored_sides) - self.margin
            case "plugin":
                return sign * float(np.nan_to_num(self.effect)) * self.overlap
            case "association":
                return sign * self.marginal_effect
        a, b, c, d = self.tables
        tables = (b, a, d, c) if self.decrease else (a, b, c, d)
        return estimators.objective(self.estimator, *tables, self.beta)

    @cached_property
    def reliable_effect(self) -> float:
        """The conservative effect: the adjusted effect, brought nearer to 0 by a margin for chance that `beta` sets.

        Beyond 0 (above it, or below for rules that decrease the outcome), it is more than chance can do.
        """
        if self.is_mean or self.estimator == "pooled":
            sign = -1.0 if self.decrease else 1.0
            return estimators.pooled_effect(*self.scored_sides) - sign * self.margin_scale * self.margin
        a, b, c, d = self.tables
        if self.decrease:
            return -estimators.reliable_effect(b, a, d, c, self.beta)
        return estimators.reliable_effect(a, b, c, d, self.beta)

    @property
    def conservative(self) -> float:
        """The conservative effect as it is shown: a difference of probabilities is never beyond −1 and 1."""
        return self.reliable_effect if self.is_mean else float(np.clip(self.reliable_effect, -1.0, 1.0))

    @property
    def stands_out(self) -> bool:
        """Whether the conservative effect is beyond 0, in the direction that was asked for."""
        return self.reliable_effect < 0 if self.decrease else self.reliable_effect > 0

    @cached_property
    def effect(self) -> float:
        """The effect adjusted for the controls, over the strata with overlap; nan if there are none."""
        covered, failing, _ = self.sides
        return estimators.standardised(covered.mean - failing.mean, *self.sides)

    @cached_property
    def marginal_effect(self) -> float:
        """The unadjusted difference."""
        covered, failing = (
            float(side.total.sum() / side.n.sum()) if side.n.any() else np.nan for side in self.sides[:2]
        )
        return float(covered - failing)

    @cached_property
    def p_do_rule(self) -> float:
        """Adjusted probability of the outcome where the rule holds, or adjusted mean of the target."""
        return self.centre + estimators.standardised(self.sides[0].mean, *self.sides)

    @cached_property
    def p_do_not_rule(self) -> float:
        """Adjusted probability of the outcome where the rule does not hold, or adjusted mean of the target."""
        return self.centre + estimators.standardised(self.sides[1].mean, *self.sides)

    @cached_property
    def overlap(self) -> float:
        """Share of the rows in strata where the rule holds for some rows and fails for some."""
        covered, failing, everything = self.sides
        return float(everything.n[estimators.comparable(covered, failing)].sum() / everything.n.sum())

    @cached_property
    def effective_rows(self) -> float:
        """How many rows of a balanced experiment would tell as much about the effect.

        Half of them on each side and all in one stratum, they would give `effect` the same variance, if that of a row
        is the same everywhere: 4/Σ w²(1/k + 1/f), over the strata with both sides. At most the rows with a comparison
        group, and few where one side has few rows in large strata.
        """
        return estimators.effective_rows(*self.sides)

    @property
    def thin(self) -> bool:
        """Whether the strata leave less than a quarter of the effective rows that the same sides have in one stratum.

        A side then has few rows where there are many, and the effect rests on them.
        """
        k, f = (float(side.n[estimators.comparable(*self.sides[:2])].sum()) for side in self.sides[:2])
        return k * f > 0 and self.effective_rows < k * f / (k + f)

    @cached_property
    def standard_error(self) -> float:
        """Standard error of `effect`."""
        return self._estimate(0.95).standard_error

    def _estimate(self, confidence: float) -> Estimate:
        if self.grouped is not None:
            return estimators.grouped_estimate(self.effect, self.grouped, confidence, binary=not self.is_mean)
        return estimators.estimate(*self.sides, confidence, binary=not self.is_mean)

    @cached_property
    def interval(self) -> Interval:
        """95 % confidence interval (low, high) of `effect`, which ignores the search; `rule.interval(0.9)` for 90 %."""
        interval = _AnyInterval(*self.interval_at(0.95))
        interval.rule = self
        return interval

    def interval_at(self, confidence: float) -> Interval:
        """Return the confidence interval of `effect`, for a rule that was fixed in advance.

        Parameters
        ----------
        confidence
            Confidence of the interval.

        Returns
        -------
        Interval
            Its two ends.
        """
        found = self._estimate(confidence)
        return Interval(found.low, found.high)

    @cached_property
    def strata(self) -> tuple[StratumEffect, ...]:
        """The effect in each stratum of the controls."""
        if self.estimator == "pooled" or self.is_mean:
            weights = (self.sides[2].n / self.sides[2].n.sum()).tolist()
        else:
            weights = estimators.reliable_weights(*self.tables).tolist()
        sums = self.sums or tuple(
            StratumSums(Sums.binary(a, b), Sums.binary(c, d), Sums.binary(a + c + u, b + d + v), 1.0)
            for (a, b, c, d), (u, v) in self._with_undecided()
        )
        return tuple(
            StratumEffect(labels, stratum, beta=self.beta, weight=weight, centre=self.centre)
            for labels, stratum, weight in zip(self.labels, sums, weights, strict=True)
        )

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict by what is known so far: evidence, direction, claim, reasons and robustness."""
        from causalrules.trust.verdict import judge

        return judge(self, self.circumstances)

    def covers(self, new_data: Any) -> NDArray[np.bool_]:
        """Tell which rows of a table satisfy the rule.

        Parameters
        ----------
        new_data
            Anything that `discover` reads, with the columns of the rule.

        Returns
        -------
        numpy.ndarray
            For each row, whether it satisfies every condition. A missing value satisfies none.

        Examples
        --------
        >>> import causalrules as cr
        >>> rules = cr.discover(cr.datasets.titanic(), "survived", actionable=["class", "sex"], k=1)
        >>> rules[0].covers({"class": [1, 3], "sex": ["female", "female"]}).tolist()
        [True, False]
        """
        return self._applied(new_data)[0]

    def decides(self, new_data: Any) -> NDArray[np.bool_]:
        """Tell on which rows of a table it can be decided whether the rule holds.

        Parameters
        ----------
        new_data
            Anything that `discover` reads, with the columns of the rule.

        Returns
        -------
        numpy.ndarray
            For each row, whether the rule surely holds or surely fails: a missing value leaves it open, unless another
            condition fails.

        Examples
        --------
        >>> import causalrules as cr
        >>> rules = cr.discover(cr.datasets.titanic(), "survived", actionable=["class", "sex"], k=1)
        >>> rules[0].decides({"class": [1, 3, 1], "sex": ["female", None, None]}).tolist()
        [True, True, False]
        """
        covered, possible = self._applied(new_data)
        return covered | ~possible

    def _applied(self, new_data: Any) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which rows surely satisfy the rule, and which may."""
        table = read(new_data)
        covered = np.ones(table.n_records, dtype=np.bool_)
        possible = covered.copy()
        for condition in self.conditions:
            if condition.column not in table.names:
                raise UnknownColumnError(f"the rule {self.text!r}: {unknown_column(condition.column, table.names)}")
            values = table.histogram(condition.column).values
            holds = table.select(condition.column, condition.holds(values))
            covered &= holds
            possible &= holds | ~table.select(condition.column, np.ones(len(values), np.bool_))
        return covered, possible

    def balance(self) -> dict[str, list[Any]]:
        """Return the standardised mean differences of the controls between the rule's two sides.

        Returns
        -------
        dict
            Columns "control", "before", "strata" and "weighted": before adjusting, in the strata, and with the weights
            of `RuleSet.doubly_robust`.

        Raises
        ------
        OptionError
            If neither `RuleSet.balance` nor `RuleSet.doubly_robust` was called before.
        """
        found = self.evidence.balance if self.evidence is not None else ()
        if not found:
            raise OptionError("the controls were not compared yet; call rules.balance() first")
        names = ("control", "before", "strata", "weighted")
        return {name: [getattr(each, name) for each in found] for name in names}

    def to_sql(self, dialect: str = "duckdb") -> str:
        """Return the rule as a condition for WHERE, which selects the rows of `covers`.

        Parameters
        ----------
        dialect : {"duckdb", "postgres", "sqlite"}
            Whose SQL to write.

        Returns
        -------
        str
            The condition; names and values are quoted. A comment says what the effect was adjusted for.

        Examples
        --------
        >>> import causalrules as cr
        >>> rules = cr.discover(cr.datasets.titanic(), "survived", actionable=["class", "sex"], k=1)
        >>> print(rules[0].to_sql())
        "class" <= 2 AND "sex" = 'female'
        """
        from causalrules.result import sql

        return sql.where([self.conditions], dialect, [(*self.control, *self.held_fixed)])

    def to_python(self, name: str = "covers") -> str:
        """Return the source of a function that tells whether a row satisfies the rule.

        Parameters
        ----------
        name
            The name of the function. It takes a mapping of column names to values.

        Returns
        -------
        str
            Python code without dependencies.

        Examples
        --------
        >>> import causalrules as cr
        >>> rules = cr.discover(cr.datasets.titanic(), "survived", actionable=["class", "sex"], k=1)
        >>> exec(rules[0].to_python("is_covered"))
        >>> is_covered({"class": 1, "sex": "female"})
        True
        """
        from causalrules.result import sql

        return sql.python(self.conditions, name)

    def plot_strata(self, ax: Any = None) -> Any:
        """Plot how often the outcome occurs in each stratum where the rule holds and where it does not.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the plot.
        """
        from causalrules.report import plots

        return plots.strata(self, ax)


def rule_results(searched: Problem | Parts, rows: Packed, question: Question, found: Found) -> tuple[RuleResult, ...]:
    """Return the rules that a search found, with their counts or sums."""
    rules = []
    values = _value_sums(searched, [conditions for _, conditions in found.rules])
    for place, (_, conditions) in enumerate(found.rules):
        problem, packed = searched.of(conditions), rows.part(conditions)
        covered, failing = packed.count(conditions)
        everything = np.add(*packed.count())
        sides = tuple(problem.comparison.true(counts) for counts in (covered, failing, everything))
        beta = question.beta
        known: dict[str, Any] = {
            "conditions": tuple(
                sorted((problem.language.propositions[index] for index in conditions), key=lambda each: each.text)
            ),
            "labels": tuple(problem.strata.labels),
            "beta": float(beta[min(len(conditions), len(beta) - 1)] if isinstance(beta, tuple) else beta),  # type: ignore[arg-type]
            "estimator": question.estimator,
            "n_levels": len(problem.comparison.values),
            "decrease": problem.comparison.decrease,
            "by_length": isinstance(beta, tuple),
            "control": problem.roles.control,
            "held_fixed": problem.held_fixed,
            "grouped": problem.grouped(conditions),
        }
        if problem.roles.outcome.is_mean:
            scored = _level_sums(sides, problem.comparison.values)
            sums = values[place] if values else ()
            centre = float(problem.roles.outcome.centre)
            rules.append(
                RuleResult(counts=(), sums=sums or scored, centre=centre, scored=scored if sums else (), **known)
            )
            continue
        (b, a), (d, c), (without, with_outcome) = (side.T for side in sides)
        undecided = np.stack([with_outcome - a - c, without - b - d], axis=1)
        rules.append(
            RuleResult(
                counts=tuple(map(tuple, np.stack([a, b, c, d], axis=1).tolist())),
                undecided=tuple(map(tuple, undecided.tolist())) if undecided.any() else (),
                **known,
            )
        )
    return tuple(rules)


def _sides(strata: Sequence[StratumSums]) -> tuple[Side, Side, Side]:
    covered, failing, everything = (
        Side(*np.array([stratum[place] for stratum in strata], dtype=np.float64).T) for place in range(3)
    )
    return covered, failing, everything


def _level_sums(sides: Sequence[_Counts], values: NDArray[np.float64]) -> tuple[StratumSums, ...]:
    """Return the sums of the levels of the target, from the counts of each level."""
    spans = [float(np.ptp(values[present])) if present.any() else 0.0 for present in sides[0] + sides[1] > 0]
    return _strata_sums([Side.of_levels(side, values) for side in sides], spans)


def _value_sums(searched: Problem | Parts, rules: Sequence[Sequence[int]]) -> list[tuple[StratumSums, ...]]:
    """Return the sums of the values of the target for each rule; nothing where its levels are all that is known."""
    if not searched.roles.outcome.is_mean or not rules:
        return []
    if len(searched.all) == 1:
        found = searched.first.rows.measured(rules)
    else:
        found = [each for conditions in rules for each in searched.of(conditions).rows.measured([conditions])]
    return [_strata_sums(each[:3], each.spans.tolist()) for each in found]


def _strata_sums(tables: Sequence[Side], spans: Sequence[float]) -> tuple[StratumSums, ...]:
    sides = [[Sums(int(n), *rest) for n, *rest in np.stack(table, axis=1).tolist()] for table in tables]
    return tuple(StratumSums(*each) for each in zip(*sides, spans, strict=True))
