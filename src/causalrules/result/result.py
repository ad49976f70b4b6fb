"""A result as plain data: rules, question, and what is proven."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, TypeVar, overload

from causalrules.exceptions import DataError
from causalrules.language.kinds import BINARY, OutcomeKind
from causalrules.payload import Plain
from causalrules.result.rule import RuleResult
from causalrules.result.verdict import circumstances

if TYPE_CHECKING:
    from causalrules.alerts import Alert
    from causalrules.graph.admissibility import Admissibility
    from causalrules.graph.backdoor import Identification
    from causalrules.graph.graph import CausalGraph
    from causalrules.question import Question
    from causalrules.result.declared import Declared
    from causalrules.result.evidence import SearchEvidence
    from causalrules.result.steps import Rung, StepProof
    from causalrules.search.adjusted import Adjusted
    from causalrules.search.ladder import Step
    from causalrules.search.problem import Problem
    from causalrules.search.run import Progress

R = TypeVar("R", bound="Result")
_NOUNS = {"unchecked": "difference"}


@dataclass(frozen=True, repr=False)
class Searched(Plain):
    """The rules were searched for.

    Attributes
    ----------
    optimal, upper_bound, gap
        Whether the list is proven optimal; the upper bound on all rules of the first step; and how far the last step's
        bound is above its rule. `steps` has these for each step.
    stopped
        Why the search ended: "optimal", "time limit" or "interrupted".
    nodes, seconds
        Rules visited, and seconds of the search.
    steps
        What is proven by each step; a plain list has one.
    history
        The progress of the search, one entry per step of the core.
    """

    optimal: bool
    upper_bound: float
    gap: float
    stopped: str
    nodes: int
    seconds: float
    steps: tuple[StepProof, ...] = field(default=(), compare=False)
    history: tuple[Progress, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, repr=False)
class Named(Plain):
    """The rules were named in advance: there was no search, so there is no proof."""

    optimal: ClassVar[bool] = True
    upper_bound: ClassVar[float] = -math.inf
    gap: ClassVar[float] = 0.0
    stopped: ClassVar[str] = "evaluated"
    nodes: ClassVar[int] = 0
    seconds: ClassVar[float] = 0.0
    steps: ClassVar[tuple[StepProof, ...]] = ()
    history: ClassVar[tuple[Progress, ...]] = ()


@dataclass(frozen=True, repr=False)
class Result(Sequence[RuleResult]):
    """Rules, best first, with the question and what is proven about them.

    Attributes
    ----------
    rules
        The rules; a result is a sequence of them.
    question
        The roles and options of the search.
    origin
        Whether the rules were searched for, with what is proven, or named in advance.
    n_rows, n_dropped, n_strata, n_propositions
        Rows searched, rows without a target, strata of the controls, and conditions in the language.
    alerts
        What can mislead, the most serious first: a leak, a row number, missing controls, columns out of balance.
    n_incomplete
        Rows with a target that no rule compares, because they lack a control. Where rules have controls of their own,
        `rule.n_incomplete` counts them.
    notes
        Remarks on how the data was read.
    declared
        The columns that are declared randomised, and whether they are balanced.
    admissibility, graph
        The causal graph, and whether it allows the effects to be estimated; None without a graph.
    evidence
        How the evidence in `rule.evidence` was obtained.
    source
        The name of the file that was searched.
    library
        The data frame library of `to_frame`.
    nearest
        If a list of rules that add ended because no other rule stands out: the rule nearest to standing out.
    rungs
        The adjusted level of the outcome where none of the rules holds, only the first, only the first two, and so on.
        For rows in files or on workers, only if no rule is undecided on any row.
    ladder
        The coded tables that were searched, one per step; empty for a result that was read from a file.
    """

    rules: tuple[RuleResult, ...]
    question: Question
    origin: Searched | Named
    n_rows: int
    n_dropped: int
    n_strata: int
    n_propositions: int
    alerts: tuple[Alert, ...] = ()
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict, hash=False)
    declared: tuple[Declared, ...] = ()
    admissibility: Admissibility | None = None
    graph: CausalGraph | None = None
    evidence: SearchEvidence | None = None
    source: str | None = None
    library: str = field(default="dict", compare=False)
    nearest: RuleResult | None = None
    rungs: tuple[Rung, ...] = ()
    ladder: tuple[Step, ...] = field(default=(), compare=False)
    n_incomplete: int = 0

    def __post_init__(self) -> None:
        # Each rule carries what the verdicts of its list depend on, so that it has a verdict on its own.
        known = circumstances(self)

        def carries(rule: RuleResult) -> RuleResult:
            return rule if rule.circumstances == known else replace(rule, circumstances=known)

        object.__setattr__(self, "rules", tuple(map(carries, self.rules)))
        if self.nearest is not None:
            object.__setattr__(self, "nearest", carries(self.nearest))

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

    @property
    def is_named(self) -> bool:
        """Whether the rules were named in advance, without a search."""
        return isinstance(self.origin, Named)

    @property
    def optimal(self) -> bool:
        """Whether the list is proven optimal."""
        return self.origin.optimal

    @property
    def upper_bound(self) -> float:
        """Upper bound on the value of all rules of the first step."""
        return self.origin.upper_bound

    @property
    def gap(self) -> float:
        """How far the last step's bound is above its rule."""
        return self.origin.gap

    @property
    def stopped(self) -> str:
        """Why the search ended: "optimal", "time limit" or "interrupted"; "evaluated" without a search."""
        return self.origin.stopped

    @property
    def nodes(self) -> int:
        """Rules that the search visited."""
        return self.origin.nodes

    @property
    def seconds(self) -> float:
        """Seconds that the search took."""
        return self.origin.seconds

    @property
    def steps(self) -> tuple[StepProof, ...]:
        """What is proven by each step of the search; a plain list has one."""
        return self.origin.steps

    @property
    def history(self) -> tuple[Progress, ...]:
        """The progress of the search, one entry per step of the core."""
        return self.origin.history

    @property
    def kind(self) -> OutcomeKind:
        """The kind of the outcome."""
        return next((rule.kind for rule in self.rules), BINARY)

    @property
    def problem(self) -> Problem | None:
        """The coded table that was searched first; None for a result that was read from a file."""
        return self.ladder[0].problem if self.ladder else None

    def problem_of(self, rule: RuleResult) -> Adjusted:
        """Return the coded table of a rule of the list, in the strata of its step and controls."""
        if not self.ladder:
            raise DataError("this result was read from a file, without its rows; call discover() on the table first")
        step = self.ladder[self.rules.index(rule) if len(self.ladder) > 1 else 0]
        return step.problem.of(step.problem.language.numbers(rule.conditions))

    @property
    def claim(self) -> str:
        """The status of the numbers: "effect", "association", or "unchecked" without a graph or a design."""
        if self.admissibility is not None:
            return "effect" if self.admissibility and not self.leaves_confounding else "association"
        question = self.question
        by_design = bool(question.actions) and set(question.actions) <= set(question.randomised)
        balanced = not any(each.unbalanced for each in self.declared)
        return "effect" if by_design and balanced else "unchecked"

    @property
    def leaves_confounding(self) -> bool:
        """Whether rows that lack a control are compared, though the graph does not allow a rule without it."""
        return any(
            rule.missing_control is not None and not rule.missing_control.n_dropped and not rule.identification
            for rule in self
        )

    @property
    def noun(self) -> str:
        """The word for the numbers in sentences: "effect", "association" or "difference"."""
        return _NOUNS.get(self.claim, self.claim)

    @property
    def findings(self) -> tuple[RuleResult, ...]:
        """The rules whose difference is more than chance, with or without doubts; on noise there are none.

        Examples
        --------
        >>> import causalrules as cr
        >>> rules = cr.discover(cr.datasets.titanic(), "survived", actionable=["class", "sex"])
        >>> [rule.text for rule in rules.findings]
        ['class ≤ 2 ∧ sex = female']
        """
        return tuple(rule for rule in self if rule.verdict.found)

    @property
    def confirmed(self) -> tuple[bool | None, ...]:
        """For each rule, whether held-out rows confirm it; None if it was not measured on any.

        Blocks of `cross_fit` confirm no rule, because they may have measured other rules at its position.
        """
        honest = [None if rule.evidence is None else rule.evidence.honest for rule in self]
        level = self.question.error_rate
        return tuple(
            None if known is None or known.p_value is None or known.splits > 1 else known.p_value <= level
            for known in honest
        )


def with_graph(rules: R, graph: CausalGraph | None, admissibility: Admissibility | None) -> R:
    """Return the result with the check of its roles, and of each rule, by a causal graph."""
    known: dict[tuple[tuple[str, ...], tuple[str, ...]], Identification] = {}
    target = rules.question.target
    nearest = None if rules.nearest is None else identified(rules.nearest, graph, target, known)
    listed = tuple(identified(rule, graph, target, known) for rule in rules)
    return replace(rules, graph=graph, admissibility=admissibility, rules=listed, nearest=nearest)


def identified(
    rule: RuleResult,
    graph: CausalGraph | None,
    target: str,
    known: dict[tuple[tuple[str, ...], tuple[str, ...]], Identification] | None = None,
) -> RuleResult:
    """Return a rule with its check by a causal graph; `known` keeps those of the same columns and controls."""
    if graph is None:
        return replace(rule, identification=None)
    from causalrules.graph.backdoor import identify_rule

    known = {} if known is None else known
    columns = tuple(sorted({condition.column for condition in rule.conditions}))
    missing = rule.missing_control
    # Rows that lack a control and are compared all the same are not adjusted for it.
    lacking = () if missing is None or missing.n_dropped else missing.names
    control = tuple(name for name in (*rule.control, *rule.held_fixed) if name not in lacking)
    if (columns, control) not in known:
        known[columns, control] = identify_rule(graph, target=target, variables=columns, control=control)
    return replace(rule, identification=known[columns, control])
