"""Who should get what: the steps of a policy, as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from causalrules.data.reading import read
from causalrules.language.kinds import OutcomeKind
from causalrules.language.propositions import Proposition, describe
from causalrules.payload import Plain, Readable
from causalrules.policy.segments import Interval
from causalrules.result.rule import applied

if TYPE_CHECKING:
    from causalrules.alerts import Alert
    from causalrules.graph.admissibility import Admissibility
    from causalrules.graph.graph import CausalGraph
    from causalrules.question import PolicyQuestion

POLICY = "causalrules/policy/1"
# Why a search ended before it was complete.
STOPPED = ("time limit", "interrupted")
# What people get to whom no step applies, and those who are in no group.
TODAY, EVERYBODY = "as today", "everybody"


@dataclass(frozen=True, repr=False)
class PolicyStep(Plain):
    """One step of a policy: IF context THEN action, for those to whom no step above applies.

    Attributes
    ----------
    context
        The conditions that describe who; empty for everybody else.
    action
        What they get.
    n_rows, share
        The people of this step, and their share of all.
    effect, low, high
        The adjusted level of the target if all of them got the action, less that if all got what they would get
        otherwise (the default), with the interval of a pair that is named in advance.
    level, level_without
        These two levels.
    cost, cost_without
        What they cost per person with the action, and otherwise.
    at_least
        What each of them gains at least over what they would get otherwise, net of costs, allowing for the search.
    gain
        What the step adds per row of the table over today's practice, net of costs: the gains of all steps add up to
        that of the policy.
    gain_over_default, gain_at_least
        The same over what they would get otherwise; and at least, allowing for the search.
    stands_out
        Whether the gain is at least above 0.
    """

    context: tuple[Proposition, ...]
    action: tuple[Proposition, ...]
    n_rows: int
    share: float
    effect: float
    low: float
    high: float
    level: float
    level_without: float
    cost: float
    cost_without: float
    at_least: float
    gain: float
    gain_over_default: float
    gain_at_least: float
    stands_out: bool

    @property
    def who(self) -> str:
        """The conditions that describe who, as text."""
        return describe(self.context) if self.context else EVERYBODY

    @property
    def text(self) -> str:
        """The step as text."""
        return f"IF {self.who} THEN {describe(self.action)}" if self.context else f"THEN {describe(self.action)}"

    def __str__(self) -> str:
        return self.text

    @property
    def interval(self) -> Interval:
        """The interval of the effect of a pair that is named in advance."""
        return Interval(self.low, self.high)

    def covers(self, data: Any) -> NDArray[np.bool_]:
        """Return which rows of a table the context covers, whatever the steps above.

        Parameters
        ----------
        data
            Whatever `prescribe` reads.

        Returns
        -------
        numpy.ndarray
            Of bool, one per row. Rows with a missing value in one of the columns are not covered.
        """
        return applied(self.context, data)[0]


@dataclass(frozen=True, repr=False)
class Single(Plain):
    """One action for everybody.

    Attributes
    ----------
    action
        The action.
    gain
        Its gain over today's practice, per row of the table, net of costs.
    """

    action: tuple[Proposition, ...]
    gain: float


@dataclass(frozen=True, repr=False)
class Value(Plain):
    """What a policy gains per row on rows that it was not learnt from.

    Attributes
    ----------
    gain, low, high
        The gain and its interval.
    """

    gain: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class HeldOutValue(Plain):
    """The value of the policies that the same search finds on the rows before each block, measured on the block.

    Attributes
    ----------
    n_rows, blocks
        Rows measured, and the blocks that they are in.
    over_today, over_baseline, over_single
        Gain over today's practice, over the baseline (None without one), and over the best action for everybody by the
        rows before (None where no action stands out).
    """

    n_rows: int
    blocks: int
    over_today: Value
    over_baseline: Value | None = None
    over_single: Value | None = None


@dataclass(frozen=True, repr=False)
class Prescription(Readable, Sequence[PolicyStep]):
    """A policy: steps that are followed from top to bottom. Who is in none gets what today's practice gives.

    Attributes
    ----------
    steps
        The steps; a policy is a sequence of them. A default other than today's practice is the last, without context.
    candidate
        Where no step stands out, the one nearest to it.
    default
        The action of the last step, if it is for everybody else; empty for today's practice.
    single
        The best single action for everybody; None if none stands out.
    gain_over_baseline
        The gain over the baseline; None without one.
    held_out
        The value on rows that the policy was not learnt from; None if there are too few rows.
    level
        The mean of the target today, of all rows.
    cost
        The mean cost per row today.
    context, control, actionable
        The roles of the columns.
    n_rows, n_pairs
        The number of rows, and of pairs of context and action that were compared in the first search.
    optimal
        Whether each step is proven best, given those above and the default.
    stopped, seconds
        Why the search ended: "optimal", "time limit" or "interrupted"; and how long it took.
    claim
        Whether gains are effects: "by design", "identified", "unchecked" or "not identified".
    question
        The roles and options.
    """

    steps: tuple[PolicyStep, ...]
    candidate: PolicyStep | None
    default: tuple[Proposition, ...]
    single: Single | None
    gain_over_baseline: float | None
    held_out: HeldOutValue | None
    level: float
    cost: float
    context: tuple[str, ...]
    control: tuple[str, ...]
    actionable: tuple[str, ...]
    n_rows: int
    n_pairs: int
    optimal: bool
    stopped: str
    seconds: float
    claim: str
    kind: OutcomeKind
    question: PolicyQuestion
    alerts: tuple[Alert, ...] = ()
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict, hash=False)
    admissibility: Admissibility | None = None
    graph: CausalGraph | None = None
    source: str | None = None
    library: str = field(default="dict", compare=False)

    @overload
    def __getitem__(self, index: int) -> PolicyStep: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[PolicyStep, ...]: ...
    def __getitem__(self, index: int | slice) -> PolicyStep | tuple[PolicyStep, ...]:
        return self.steps[index]

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[PolicyStep]:
        return iter(self.steps)

    @property
    def gain(self) -> float:
        """The gain over today's practice per row of the table, net of costs: the sum of the steps' gains."""
        return sum(step.gain for step in self.steps)

    @property
    def gain_over_single(self) -> float | None:
        """The gain over the best single action for everybody; None if none stands out."""
        return None if self.single is None else self.gain - self.single.gain

    @property
    def gain_interval(self) -> Interval | None:
        """The interval of the gain on held-out rows; None if it was not measured."""
        held_out = self.held_out
        return None if held_out is None else Interval(held_out.over_today.low, held_out.over_today.high)

    @property
    def share(self) -> float:
        """The share of rows that are in a step."""
        return sum(step.share for step in self.steps)

    @property
    def level_with(self) -> float:
        """The adjusted mean of the target if everybody followed the policy."""
        return self._with_policy(self.level, [step.level for step in self], [step.level_without for step in self])

    @property
    def cost_with(self) -> float:
        """The mean cost per row if everybody followed the policy."""
        return self._with_policy(self.cost, [step.cost for step in self], [step.cost_without for step in self])

    def _with_policy(self, today: float, given: Sequence[float], otherwise: Sequence[float]) -> float:
        """Return a mean under the policy; with a default other than today's practice, every row is in a step."""
        if self.default:
            return sum(step.share * each for step, each in zip(self, given, strict=True))
        changes = zip(self, given, otherwise, strict=True)
        return today + sum(step.share * (each - without) for step, each, without in changes)

    @property
    def number_needed_to_treat(self) -> float | None:
        """How many people in the steps it takes for one more outcome; None for means and without a gain."""
        more = self.level_with - self.level
        more = -more if self.question.direction == "decrease" else more
        return self.share / more if self.kind.binary and more > 0 else None

    def assign(self, data: Any) -> NDArray[np.int64]:
        """Return the number of the step of each row of a table.

        Parameters
        ----------
        data
            Whatever `prescribe` reads.

        Returns
        -------
        numpy.ndarray
            Of int, one per row: from 0, and −1 where today's practice goes on. A row is in the first step that covers
            it.

        Examples
        --------
        >>> import causalrules as cr
        >>> customers, context, cost = cr.datasets.campaign(), ["age", "region"], {"letter": 0.02}
        >>> policy = cr.prescribe(
        ...     customers, "bought", actionable="letter", context=context, randomised="letter", cost=cost
        ... )
        >>> policy[0].text, policy.assign({"age": [30, 60, None], "region": ["south", "south", "south"]}).tolist()
        ('IF age ≥ 50 ∧ region = south THEN letter = yes', [-1, 0, -1])
        """
        table = read(data)
        place = np.full(table.n_records, -1, np.int64)
        for number, step in enumerate(self.steps):
            covered = applied(step.context, table)[0]
            place[covered & (place < 0)] = number
        return place
