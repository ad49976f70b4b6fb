"""Groups in which an action works better or worse than elsewhere, as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from causalrules.language.kinds import OutcomeKind
from causalrules.language.propositions import Proposition, describe
from causalrules.payload import Plain, Readable
from causalrules.result import sql
from causalrules.result.rule import RuleResult, applied
from causalrules.result.verdict import NOT_IDENTIFIED, NOT_SUPPORTED, SUPPORTED

if TYPE_CHECKING:
    from causalrules.alerts import Alert
    from causalrules.graph.admissibility import Admissibility
    from causalrules.graph.graph import CausalGraph
    from causalrules.question import ContextQuestion

FOR_WHOM = "causalrules/for-whom/1"
NOT_ADMITTED = "by the causal graph, effects inside groups are not identified with this context and these controls"


class Interval(NamedTuple):
    """Ends of an interval."""

    low: float
    high: float


@dataclass(frozen=True, repr=False)
class Segment(Plain):
    """A group of rows, and the effect of the action inside and outside of it.

    Attributes
    ----------
    conditions
        The conditions that describe the group.
    n_rows, share
        The compared rows inside, and their share of all compared rows.
    among
        The compared rows that were searched: those in none of the segments above.
    effect, low, high
        The effect inside, with an interval that allows for the search.
    naive_low, naive_high
        The interval of a group that is named in advance.
    level, level_without
        The adjusted level of the target inside if all got the action, and if none did.
    outside
        The effect outside, among the rows that were searched.
    contrast, contrast_low, contrast_high
        Inside less outside, with an interval that allows for the search.
    p_value
        The p-value of the contrast, adjusted for the search.
    stands_out
        Whether it is at most the error rate.
    benefits_more
        Whether the effect inside is the better one.
    """

    conditions: tuple[Proposition, ...]
    n_rows: int
    share: float
    among: int
    effect: float
    low: float
    high: float
    naive_low: float
    naive_high: float
    level: float
    level_without: float
    outside: float
    contrast: float
    contrast_low: float
    contrast_high: float
    p_value: float
    stands_out: bool
    benefits_more: bool

    @property
    def text(self) -> str:
        """The conditions as text."""
        return describe(self.conditions)

    def __str__(self) -> str:
        return self.text

    @property
    def interval(self) -> Interval:
        """The interval of the effect inside, for all groups that were searched together."""
        return Interval(self.low, self.high)

    @property
    def naive_interval(self) -> Interval:
        """The interval of the effect inside for a group that is named in advance."""
        return Interval(self.naive_low, self.naive_high)

    @property
    def contrast_interval(self) -> Interval:
        """The interval of the contrast, for all groups that were searched together."""
        return Interval(self.contrast_low, self.contrast_high)

    @property
    def evidence(self) -> str:
        """Whether the effect differs inside: "supported" or "not supported"."""
        return SUPPORTED if self.stands_out else NOT_SUPPORTED

    def covers(self, data: Any) -> Any:
        """Return which rows of a table satisfy the conditions of the group.

        Parameters
        ----------
        data
            Whatever `for_whom` reads.

        Returns
        -------
        numpy.ndarray
            Of bool, one per row. Rows with a missing value in one of the columns are not covered.

        Examples
        --------
        >>> import causalrules as cr
        >>> customers = cr.datasets.campaign()
        >>> groups = cr.for_whom(customers, "letter = yes", "bought", context=["age", "region"], randomised="letter")
        >>> groups[0].text, int(groups[0].covers(customers).sum())
        ('age ≥ 50 ∧ region = south', 896)
        """
        return applied(self.conditions, data)[0]

    def to_sql(self, dialect: str = "duckdb") -> str:
        """Return the conditions of the group for WHERE, which selects the rows of `covers`.

        Parameters
        ----------
        dialect : {"duckdb", "postgres", "sqlite"}
            The SQL dialect.

        Returns
        -------
        str
            The condition; names and values are quoted.

        Examples
        --------
        >>> import causalrules as cr
        >>> customers = cr.datasets.campaign()
        >>> groups = cr.for_whom(customers, "letter = yes", "bought", context=["age", "region"], randomised="letter")
        >>> print(groups[0].to_sql())
        "age" >= 50 AND "region" = 'south'
        """
        return sql.where([self.conditions], dialect)

    def to_python(self, name: str = "covers") -> str:
        """Return the source of a Python function that tests whether a row is in the group.

        Parameters
        ----------
        name
            The name of the function. It takes a mapping of column names to values.

        Returns
        -------
        str
            Python code without dependencies.
        """
        return sql.python(self.conditions, name)


@dataclass(frozen=True, repr=False)
class SegmentList(Readable, Sequence[Segment]):
    """The groups in which an action works better or worse than elsewhere, the most certain first.

    Attributes
    ----------
    segments
        The groups whose effect differs, allowing for the search; the list is a sequence of them. Each is searched
        among the rows of none of those above.
    candidate
        Where no group stands out, the one nearest to it.
    rule
        The action on everybody, by strata, with its verdict and claim.
    effect, low, high
        The effect on everybody by the same scores as those of the segments, with its interval.
    level, level_without
        The adjusted level of the target if everybody got the action, and if nobody did.
    context, control
        The columns that describe groups, and those that are adjusted for beside them.
    n_rows, n_compared, n_no_overlap
        All rows with a target and controls; those that are compared; and those left out because rows like them
        (nearly) always or never get the action.
    n_groups
        The number of groups of rows that were compared.
    permutations
        The number of random changes of signs behind the p-values of the first segment.
    by_models
        Whether models of controls and context predict the target; else means of strata.
    known_shares
        Whether the action was drawn by lot, so that its shares within strata are used.
    question
        The roles and options.
    """

    segments: tuple[Segment, ...]
    candidate: Segment | None
    rule: RuleResult
    effect: float
    low: float
    high: float
    level: float
    level_without: float
    context: tuple[str, ...]
    control: tuple[str, ...]
    n_rows: int
    n_compared: int
    n_no_overlap: int
    n_groups: int
    permutations: int
    by_models: bool
    known_shares: bool
    question: ContextQuestion
    alerts: tuple[Alert, ...] = ()
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict, hash=False)
    admissibility: Admissibility | None = None
    graph: CausalGraph | None = None
    source: str | None = None
    library: str = field(default="dict", compare=False)

    @overload
    def __getitem__(self, index: int) -> Segment: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Segment, ...]: ...
    def __getitem__(self, index: int | slice) -> Segment | tuple[Segment, ...]:
        return self.segments[index]

    def __len__(self) -> int:
        return len(self.segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self.segments)

    @property
    def action(self) -> tuple[Proposition, ...]:
        """The conditions of the action."""
        return self.rule.conditions

    @property
    def action_text(self) -> str:
        """The action as text."""
        return self.rule.text

    @property
    def kind(self) -> OutcomeKind:
        """The kind of the outcome."""
        return self.rule.kind

    @property
    def interval(self) -> Interval:
        """The interval of the effect on everybody."""
        return Interval(self.low, self.high)

    @property
    def claim(self) -> str:
        """Whether differences are effects: the claim of the action on everybody, if the context is no obstacle."""
        return self.rule.verdict.claim if self._is_admitted else NOT_IDENTIFIED

    @property
    def claim_reason(self) -> str:
        """The reason of the claim."""
        return self.rule.verdict.claim_reason if self._is_admitted else NOT_ADMITTED

    @property
    def _is_admitted(self) -> bool:
        checked = self.admissibility
        return checked is None or bool(checked) or bool(checked.identified)
