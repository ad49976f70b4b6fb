"""What a search found: a RuleSet of RuleResults, each with its effect in every stratum.

A rule keeps its counts and derives everything else, so that no two of its numbers can disagree.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causalrules import estimators
from causalrules.data.reading import read
from causalrules.exceptions import DataError
from causalrules.language.propositions import Proposition, describe
from causalrules.report import terminal as display
from causalrules.report import words as wording
from causalrules.text import unknown_column

if TYPE_CHECKING:
    from causalrules.graph.backdoor import Identification
    from causalrules.graph.graph import CausalGraph
    from causalrules.result.similarity import Group
    from causalrules.search.problem import Problem
    from causalrules.search.run import Progress
    from causalrules.trust.evidence import RuleEvidence, SearchEvidence

_Counts = NDArray[np.int64]


@dataclass(frozen=True)
class StratumEffect:
    """One stratum of the controls: a rows are covered and have the outcome, b are covered and have not;
    c and d likewise are not covered.

    `weight` is the stratum's weight in the reliable effect, (n+4)/(N+4K). A share of no rows is nan.
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
        """The rows of the stratum."""
        return self.a + self.b + self.c + self.d

    @property
    def p_rule(self) -> float:
        """The share of the covered rows with the outcome."""
        return self.a / (self.a + self.b) if self.a + self.b else float("nan")

    @property
    def p_not_rule(self) -> float:
        """The share of the other rows with the outcome."""
        return self.c / (self.c + self.d) if self.c + self.d else float("nan")

    @property
    def difference(self) -> float:
        """`p_rule` less `p_not_rule`."""
        return self.p_rule - self.p_not_rule

    @property
    def reliable_difference(self) -> float:
        """The Laplace-corrected difference less its confidence terms."""
        return float(estimators.reliable_difference(self.a, self.b, self.c, self.d, self.beta))

    @property
    def overlap(self) -> bool:
        """Whether the rule holds for some rows of the stratum and fails for some."""
        return self.a + self.b > 0 and self.c + self.d > 0


@dataclass(frozen=True)
class RuleResult:
    """One rule: its conditions, and for each stratum its labels and its counts (a, b, c, d)."""

    conditions: tuple[Proposition, ...]
    labels: tuple[Mapping[str, str], ...] = field(hash=False, repr=False)
    counts: tuple[tuple[int, int, int, int], ...] = field(repr=False)
    beta: float
    estimator: str
    p_value: float | None = None
    evidence: RuleEvidence | None = field(default=None, repr=False)
    """How far the rule can be trusted, as far as that was asked."""
    identification: Identification | None = field(default=None, repr=False)
    """By the causal graph, if any: whether the effect is identified for just the rule's own columns, and why."""

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

    @cached_property
    def text(self) -> str:
        """The rule in words, such as "class ≤ 2 ∧ sex = female"."""
        return describe(self.conditions)

    @property
    def length(self) -> int:
        """The number of conditions; an interval is two."""
        return len(self.conditions)

    @cached_property
    def _tables(self) -> tuple[_Counts, _Counts, _Counts, _Counts]:
        a, b, c, d = np.array(self.counts, dtype=np.int64).T
        return a, b, c, d

    @property
    def n_covered(self) -> int:
        """The rows that satisfy the rule."""
        return sum(a + b for a, b, _, _ in self.counts)

    @property
    def coverage(self) -> float:
        """The share of the rows that satisfy the rule."""
        return self.n_covered / sum(map(sum, self.counts))

    @cached_property
    def value(self) -> float:
        """The number that the search maximised, by `estimator`."""
        return estimators.objective(self.estimator, *self._tables, self.beta)

    @cached_property
    def reliable_effect(self) -> float:
        """The effect less the allowance for chance that beta makes; for one rule fixed in advance, a lower bound."""
        return estimators.reliable_effect(*self._tables, self.beta)

    @cached_property
    def effect(self) -> float:
        """The effect adjusted for the controls, over the strata with overlap; nan without any."""
        return estimators.effect(*self._tables)

    @cached_property
    def marginal_effect(self) -> float:
        """The difference without adjusting for the controls."""
        return estimators.marginal_effect(*self._tables)

    @cached_property
    def p_do_rule(self) -> float:
        """The adjusted probability of the outcome where the rule holds."""
        return estimators.p_do_rule(*self._tables)

    @cached_property
    def p_do_not_rule(self) -> float:
        """The adjusted probability of the outcome where the rule does not hold."""
        return estimators.p_do_not_rule(*self._tables)

    @cached_property
    def overlap(self) -> float:
        """The share of the rows in strata where the rule holds for some and fails for some."""
        return estimators.overlap(*self._tables)

    @cached_property
    def standard_error(self) -> float:
        """The binomial standard error of `effect`."""
        return estimators.standard_error(*self._tables)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the two-sided interval of `effect` at a confidence level."""
        return estimators.interval(*self._tables, level)

    @cached_property
    def strata(self) -> tuple[StratumEffect, ...]:
        """The effect in each stratum of the controls."""
        weights = estimators.reliable_weights(*self._tables).tolist()
        return tuple(
            StratumEffect(labels, *table, beta=self.beta, weight=weight)
            for labels, table, weight in zip(self.labels, self.counts, weights, strict=True)
        )

    def covers(self, new_data: Any) -> NDArray[np.bool_]:
        """Return for each row of a table whether it satisfies the rule; a missing value satisfies nothing."""
        table = read(new_data)
        covered = np.ones(table.n_rows, dtype=np.bool_)
        for condition in self.conditions:
            if condition.column not in table.names:
                raise DataError(f"the rule {self.text!r}: {unknown_column(condition.column, table.names)}")
            satisfied = condition.holds(table.histogram(condition.column).values)
            covered &= table.select(condition.column, satisfied)
        return covered

    def to_sql(self, dialect: str = "duckdb") -> str:
        """Return a condition for WHERE that holds on the rows of `covers`; "duckdb", "postgres" or "sqlite"."""
        from causalrules.result import sql as export

        return export.sql([self.conditions], dialect)

    def to_python(self, name: str = "covers") -> str:
        """Return the source of a function that says whether a row, a mapping, satisfies the rule."""
        from causalrules.result import sql as export

        return export.python(self.conditions, name)

    def plot_strata(self, ax: Any = None) -> Any:
        """Plot how often the outcome occurs in each stratum where the rule holds and where not; return the Axes."""
        from causalrules.report import plots

        return plots.strata(self, ax)


@dataclass(frozen=True)
class Question:
    """What was asked: the roles and options of the search."""

    target: str
    outcome: str
    actionable: tuple[str, ...]
    control: tuple[str, ...]
    k: int
    beta: float
    alpha: float
    max_length: int | None
    min_coverage: float
    max_bins: int
    estimator: str
    redundant: bool
    source: str | None = None
    query: str | None = None
    weights: str | None = None
    na_values: tuple[str, ...] = ()
    cuts: tuple[tuple[str, tuple[str, ...]], ...] = ()
    holdout: float | None = None
    calibrated: bool = False
    seed: int = 0
    similarity: float | None = None
    """Of rules that share this much of their rows, only the strongest is in the list (`ideas`); None for all rules."""


@dataclass(frozen=True, repr=False)
class RuleSet(Sequence[RuleResult]):
    """The best rules, best first, with what was asked and what is proven about them.

    `upper_bound` is what no rule can exceed, `gap` how far that is above what was found; `stopped` is
    "optimal", "time limit" or "interrupted"; `admissibility` is the verdict on the causal graph, if any.
    """

    rules: tuple[RuleResult, ...]
    question: Question
    optimal: bool
    upper_bound: float
    gap: float
    stopped: str
    n_rows: int
    n_dropped: int
    n_strata: int
    n_propositions: int
    nodes: int
    seconds: float
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict, hash=False)
    admissibility: Mapping[str, Any] | None = field(default=None, hash=False)
    graph: CausalGraph | None = None
    """The causal graph that the roles were checked by; `admissibility` is what the check said."""
    evidence: SearchEvidence | None = None
    """How the evidence on how far the rules can be trusted was obtained."""
    library: str = field(default="dict", compare=False)
    history: tuple[Progress, ...] = field(default=(), compare=False)
    """How the search came along: one entry a step."""
    problem: Problem | None = field(default=None, compare=False)
    """The coded table that was searched; None for a result that was read from a file."""

    def __post_init__(self) -> None:
        # Kept as JSON gives it back, with lists and not tuples, so that a result equals its round trip.
        object.__setattr__(self, "admissibility", json.loads(json.dumps(self.admissibility)))
        if self.graph is not None:
            object.__setattr__(self, "rules", _identified(self.rules, self.question, self.graph))

    @overload
    def __getitem__(self, index: int) -> RuleResult: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[RuleResult, ...]: ...
    def __getitem__(self, index: int | slice) -> RuleResult | tuple[RuleResult, ...]:
        return self.rules[index]

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[RuleResult]:
        return iter(self.rules)

    def __str__(self) -> str:
        return display.text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return display.html(self)

    def to_frame(self) -> Any:
        """Return one row per rule in the data frame library that the data came in."""
        from causalrules.trust.evidence import columns as trust_columns

        columns: dict[str, list[Any]] = {
            "rule": [rule.text for rule in self],
            **{name: [getattr(rule, name) for rule in self] for name in NUMBERS},
            "interval_low": [rule.interval()[0] for rule in self],
            "interval_high": [rule.interval()[1] for rule in self],
            **trust_columns(self),
        }
        if self.admissibility is not None:
            columns["claim"] = [wording.claim(self)] * len(self)
        if self.graph is not None:
            columns["identified"] = [wording.identified(rule) for rule in self]
            columns["open_path"] = [wording.open_path(rule) for rule in self]
        if self.library == "dict":
            return columns
        import narwhals as nw

        return nw.from_dict(columns, backend=self.library).to_native()

    def significance(self, permutations: int = 999, seed: int = 0, **options: Any) -> RuleSet:
        """Return the rules with `p_value`, adjusted for the search: `trust.permutation.significance`."""
        from causalrules.trust.permutation import significance

        return significance(self, permutations, seed, **options)

    def cross_fit(self, splits: int = 5, seed: int = 0, **options: Any) -> RuleSet:
        """Return the rules with honest effects on rows left out of the search: `trust.holdout.cross_fit`."""
        from causalrules.trust.holdout import cross_fit

        return cross_fit(self, splits, seed, **options)

    def stability(self, replicates: int = 100, seed: int = 0, **options: Any) -> RuleSet:
        """Return the rules with how often they return on other samples: `trust.stability.stability`."""
        from causalrules.trust.stability import stability

        return stability(self, replicates, seed, **options)

    def sensitivity(self, *, level: float = 0.95) -> RuleSet:
        """Return the rules with E-values against unmeasured confounding: `trust.sensitivity.sensitivity`."""
        from causalrules.trust.sensitivity import sensitivity

        return sensitivity(self, level=level)

    def overlap(self, *, most: float = 0.1) -> RuleSet:
        """Return the rules with the strata that have no counterpart: `trust.overlap.overlap`."""
        from causalrules.trust.overlap import overlap

        return overlap(self, most=most)

    def trust(self, permutations: int = 999, replicates: int = 100, splits: int = 5, **options: Any) -> RuleSet:
        """Return the rules with all of the evidence and a verdict on each: `trust.verdict.trust`."""
        from causalrules.trust.verdict import trust

        return trust(self, permutations, replicates, splits, **options)

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Return the result as JSON, and write it to a file if a path is given."""
        from causalrules.result import json as result_json

        return result_json.write(self, path)

    def to_sql(self, dialect: str = "duckdb") -> str:
        """Return a condition for WHERE that holds on the rows that at least one of the rules covers."""
        from causalrules.result import sql as export

        return export.sql([rule.conditions for rule in self], dialect)

    def to_latex(self) -> str:
        """Return the rules as a table for LaTeX (booktabs)."""
        from causalrules.result import sql as export

        return export.latex(self)

    def to_markdown(self) -> str:
        """Return the rules as a table for Markdown."""
        from causalrules.result import sql as export

        return export.markdown(self)

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return a report as one HTML page that needs no network, and write it to a file if a path is given."""
        from causalrules.report import html

        return html.write(self, path)

    def plot(self, kind: str = "effects", ax: Any = None) -> Any:
        """Plot the rules and return the Axes: "effects", "coverage", "overlap", "convergence", "graph", "honest",
        "stability" or "bias".
        """
        from causalrules.report import plots

        return plots.plot(self, kind, ax)

    def groups(self, similarity: float = 0.5, data: Any = None) -> tuple[Group, ...]:
        """Return the rules with near-duplicates, by the share of rows in common, under the strongest of them.

        The rows are those that were searched; give `data` for a result that was read from a file.
        """
        from causalrules.result import similarity as grouping

        return grouping.groups(self, similarity, data)

    def ideas(self, k: int | None = None, similarity: float = 0.5, time_limit: float | None = None) -> RuleSet:
        """Search on until there are k rules of which none is a near-duplicate of a stronger one."""
        from causalrules.result import similarity as grouping

        return grouping.ideas(self, k, similarity, time_limit)

    @classmethod
    def from_json(cls, source: str | PathLike[str]) -> RuleSet:
        """Read a result from JSON text or from a file."""
        from causalrules.result import json as result_json

        return result_json.read(source)


def _identified(rules: tuple[RuleResult, ...], question: Question, graph: CausalGraph) -> tuple[RuleResult, ...]:
    """The rules with what the graph says of each; it depends on their columns alone."""
    from causalrules.graph.backdoor import identify_rule

    verdicts: dict[tuple[str, ...], Identification] = {}
    result = []
    for rule in rules:
        columns = tuple(sorted({condition.column for condition in rule.conditions}))
        if columns not in verdicts:
            verdicts[columns] = identify_rule(
                graph, target=question.target, variables=columns, control=question.control
            )
        result.append(replace(rule, identification=verdicts[columns]))
    return tuple(result)


# A rule's numbers, in the order in which frames and JSON have them.
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
