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
from causalrules.exceptions import UnknownColumnError
from causalrules.language.propositions import Proposition, describe
from causalrules.text import unknown_column

if TYPE_CHECKING:
    from causalrules.graph.backdoor import Identification
    from causalrules.question import Question
    from causalrules.search.core import Packed
    from causalrules.search.problem import Problem
    from causalrules.search.run import Found
    from causalrules.trust.evidence import RuleEvidence

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
    "standard_error",
    "length",
    "value",
)


@dataclass(frozen=True)
class StratumEffect:
    """The counts of a rule in one stratum of the controls.

    Of the covered rows, `a` have the outcome and `b` do not; of the other rows, `c` and `d`. A share of no rows is nan.

    Attributes
    ----------
    labels
        The values of the controls.
    weight
        The weight of the stratum in the reliable effect, (n+4)/(N+4K).
    """

    labels: Mapping[str, str] = field(hash=False)
    a: int
    b: int
    c: int
    d: int
    beta: float
    weight: float

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.a + self.b + self.c + self.d

    @property
    def p_rule(self) -> float:
        """Share of the covered rows with the outcome."""
        return self.a / (self.a + self.b) if self.a + self.b else float("nan")

    @property
    def p_not_rule(self) -> float:
        """Share of the other rows with the outcome."""
        return self.c / (self.c + self.d) if self.c + self.d else float("nan")

    @property
    def difference(self) -> float:
        """`p_rule` minus `p_not_rule`."""
        return self.p_rule - self.p_not_rule

    @property
    def reliable_difference(self) -> float:
        """Laplace-corrected difference minus its confidence terms."""
        return float(estimators.reliable_difference(self.a, self.b, self.c, self.d, self.beta))

    @property
    def overlap(self) -> bool:
        """Whether the rule holds for some rows of the stratum and fails for some."""
        return self.a + self.b > 0 and self.c + self.d > 0


class Interval(NamedTuple):
    """A confidence interval of an effect; call it with another confidence for another interval."""

    low: float
    high: float


class _AnyInterval(Interval):
    """The 95 % interval of a rule's effect, and the intervals of other confidences when called."""

    rule: RuleResult

    def __call__(self, confidence: float = 0.95) -> Interval:
        return Interval(*estimators.interval(*self.rule.tables, confidence))


@dataclass(frozen=True, repr=False)
class RuleResult:
    """One rule: its conditions, and its counts in each stratum of the controls.

    Attributes
    ----------
    conditions
        The conditions, in alphabetical order of their text.
    labels, counts
        For each stratum the values of the controls, and the counts (a, b, c, d) of `StratumEffect`.
    beta, estimator
        The options that decide `reliable_effect` and `value`.
    p_value
        Significance adjusted for the search, once `RuleSet.significance` has computed it.
    evidence
        Everything known about how far the rule can be trusted.
    identification
        With a causal graph: whether the effect of the rule's own columns is identified, and why.
    """

    conditions: tuple[Proposition, ...]
    labels: tuple[Mapping[str, str], ...] = field(hash=False)
    counts: tuple[tuple[int, int, int, int], ...]
    beta: float
    estimator: str
    p_value: float | None = None
    evidence: RuleEvidence | None = None
    identification: Identification | None = None

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

    @cached_property
    def text(self) -> str:
        """The rule as text, such as "class ≤ 2 ∧ sex = female"."""
        return describe(self.conditions)

    @property
    def length(self) -> int:
        """Number of conditions; an interval counts as two."""
        return len(self.conditions)

    @cached_property
    def tables(self) -> tuple[_Counts, _Counts, _Counts, _Counts]:
        """The counts a, b, c and d as arrays over the strata, as `estimators` takes them."""
        a, b, c, d = np.array(self.counts, dtype=np.int64).T
        return a, b, c, d

    @property
    def n_covered(self) -> int:
        """Number of rows that satisfy the rule."""
        return sum(a + b for a, b, _, _ in self.counts)

    @property
    def coverage(self) -> float:
        """Share of the rows that satisfy the rule."""
        return self.n_covered / sum(map(sum, self.counts))

    @cached_property
    def value(self) -> float:
        """The number that the search maximised, by `estimator`."""
        return estimators.objective(self.estimator, *self.tables, self.beta)

    @cached_property
    def reliable_effect(self) -> float:
        """The adjusted effect minus a margin for chance that `beta` sets."""
        return estimators.reliable_effect(*self.tables, self.beta)

    @cached_property
    def effect(self) -> float:
        """The effect adjusted for the controls, over the strata with overlap; nan if there are none."""
        return estimators.effect(*self.tables)

    @cached_property
    def marginal_effect(self) -> float:
        """The unadjusted difference."""
        return estimators.marginal_effect(*self.tables)

    @cached_property
    def p_do_rule(self) -> float:
        """Adjusted probability of the outcome where the rule holds."""
        return estimators.p_do_rule(*self.tables)

    @cached_property
    def p_do_not_rule(self) -> float:
        """Adjusted probability of the outcome where the rule does not hold."""
        return estimators.p_do_not_rule(*self.tables)

    @cached_property
    def overlap(self) -> float:
        """Share of the rows in strata where the rule holds for some rows and fails for some."""
        return estimators.overlap(*self.tables)

    @cached_property
    def standard_error(self) -> float:
        """Binomial standard error of `effect`."""
        return estimators.standard_error(*self.tables)

    @cached_property
    def interval(self) -> Interval:
        """95 % confidence interval (low, high) of `effect`, which ignores the search; `rule.interval(0.9)` for 90 %."""
        interval = _AnyInterval(*estimators.interval(*self.tables))
        interval.rule = self
        return interval

    @cached_property
    def strata(self) -> tuple[StratumEffect, ...]:
        """The effect in each stratum of the controls."""
        weights = estimators.reliable_weights(*self.tables).tolist()
        return tuple(
            StratumEffect(labels, *table, beta=self.beta, weight=weight)
            for labels, table, weight in zip(self.labels, self.counts, weights, strict=True)
        )

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
        table = read(new_data)
        covered = np.ones(table.n_rows, dtype=np.bool_)
        for condition in self.conditions:
            if condition.column not in table.names:
                raise UnknownColumnError(f"the rule {self.text!r}: {unknown_column(condition.column, table.names)}")
            satisfied = condition.holds(table.histogram(condition.column).values)
            covered &= table.select(condition.column, satisfied)
        return covered

    def to_sql(self, dialect: str = "duckdb") -> str:
        """Return the rule as a condition for WHERE, which selects the rows of `covers`.

        Parameters
        ----------
        dialect : {"duckdb", "postgres", "sqlite"}
            Whose SQL to write.

        Returns
        -------
        str
            The condition; names and values are quoted.

        Examples
        --------
        >>> import causalrules as cr
        >>> rules = cr.discover(cr.datasets.titanic(), "survived", actionable=["class", "sex"], k=1)
        >>> print(rules[0].to_sql())
        "class" <= 2 AND "sex" = 'female'
        """
        from causalrules.result import sql

        return sql.where([self.conditions], dialect)

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


def rule_results(problem: Problem, packed: Packed, question: Question, found: Found) -> tuple[RuleResult, ...]:
    """Return the rules that a search found, with their counts."""
    rules = []
    for _, conditions in found.rules:
        covered, failing = packed.count(conditions)
        (b, a), (d, c) = covered.T, failing.T
        propositions = [problem.language.propositions[index] for index in conditions]
        rules.append(
            RuleResult.from_counts(
                propositions,
                a,
                b,
                c,
                d,
                problem.strata.labels,
                float(question.beta),  # type: ignore[arg-type]
                question.estimator,
            )
        )
    return tuple(rules)
