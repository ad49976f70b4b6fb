"""One rule with its numbers, as plain data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causalrules.data.reading import read
from causalrules.data.table import Table
from causalrules.estimators import bounds, scores
from causalrules.exceptions import OptionError, UnknownColumnError
from causalrules.language.propositions import Proposition, describe
from causalrules.payload import Plain
from causalrules.result import sql
from causalrules.result.measured import AnyInterval, Measured, StratumEffect
from causalrules.result.verdict import Circumstances, Verdict, judge
from causalrules.text import unknown_column

if TYPE_CHECKING:
    from causalrules.graph.backdoor import Identification
    from causalrules.language.kinds import OutcomeKind
    from causalrules.language.missing import MissingControls
    from causalrules.result.evidence import RuleEvidence
    from causalrules.result.steps import Alone

# The numbers of a rule, in their order in data frames and JSON.
NUMBERS = (
    "reliable_effect",
    "effect",
    "at_least",
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
# Exact values of smaller p-values of named rules mean nothing.
_NEGLIGIBLE = 1e-12
# Attributes for other modules, which users do not need.
_INSIDE = {
    "circumstances",
    "conservative",
    "criterion",
    "from_counts",
    "identification",
    "kind",
    "measured",
    "missing_control",
    "notebook_card",
    "p_sign",
}


@dataclass(frozen=True, repr=False)
class Criterion(Plain):
    """The objective of the search.

    Attributes
    ----------
    estimator, beta
        The options that determine the value of a rule.
    by_length
        Whether `beta` depends on the rule's length, with a margin for extreme rows.
    margin_scale
        Factor of the margin that is enough, by shuffled tables; 1 if none were used.
    joint_scale
        The same for a list whose rules share the error rate; None if unknown.
    n_levels
        Number of levels of the target that the search ranks by; 2 for a binary outcome.
    decrease
        Whether the search was for rules that decrease the outcome.
    two_sided
        Whether rules count in both directions, as those that are named in advance do.
    """

    estimator: str
    beta: float
    by_length: bool = False
    margin_scale: float = 1.0
    joint_scale: float | None = None
    n_levels: int = 2
    decrease: bool = False
    two_sided: bool = False

    @property
    def sign(self) -> float:
        """1, or −1 if the outcome is to be decreased."""
        return -1.0 if self.decrease else 1.0

    def margin(self, measured: Measured, error: float = 0.0) -> float:
        """Return the margin for chance that the pooled estimator subtracts in the search.

        With an `error`, it is for an estimate with at least this standard error.
        """
        reach = scores.pooled_reach(*measured.scored_sides, measured.spans) if self.by_length else 0.0
        variance = scores.margin_variance(*measured.scored_sides, self.n_levels)
        return scores.pooled_margin(self.beta, *scores.widened(variance, reach, error, measured.kind.binary))

    def joint_margin(self, measured: Measured, share: float, error: float) -> float:
        """Return the margin that holds for a share of the error rate: β² less 2 ln(share), as e^(−β²/2) is the error.

        That of shuffled tables if it is smaller.
        """
        wider = replace(self, beta=math.sqrt(self.beta**2 - 2 * math.log(share)))
        by_rules = wider.margin(measured, error)
        return by_rules if self.joint_scale is None else min(by_rules, self.joint_scale * self.margin(measured, error))

    def ratio(self, measured: Measured) -> float:
        """Return the effect over its margin for chance, as in the search: above `margin_scale`, it stands out.

        0 without a margin: the target is then constant in each stratum, and there is no effect.
        """
        margin = self.margin(measured)
        return self._towards(measured) / margin if margin > 0 else 0.0

    def _towards(self, measured: Measured) -> float:
        """Return the pooled effect in the direction that counts: |effect| where both do."""
        effect = self.sign * scores.pooled_effect(*measured.scored_sides)
        return abs(effect) if self.two_sided else effect

    def value(self, measured: Measured) -> float:
        """Return the number that the search maximised."""
        match self.estimator:
            case "pooled":
                return self._towards(measured) - self.margin(measured)
            case "plugin":
                strata = measured.in_strata
                return self.sign * float(np.nan_to_num(strata.effect)) * strata.overlap
            case "association":
                return self.sign * measured.marginal_effect
        a, b, c, d = measured.tables
        tables = (b, a, d, c) if self.decrease else (a, b, c, d)
        return scores.objective(self.estimator, *tables, self.beta)

    def reliable_effect(self, measured: Measured) -> float:
        """Return the effect, moved towards 0 by a margin for chance.

        Two-sided: sign · max(0, |effect| − margin). The margin is one for independent rows; with groups, it grows like
        the standard error.
        """
        if measured.sums or self.estimator == "pooled":
            margin = self.margin_scale * self.margin(measured) * measured.design_effect
            effect = scores.pooled_effect(*measured.scored_sides)
            if self.two_sided:
                return effect - math.copysign(min(margin, abs(effect)), effect)
            return effect - self.sign * margin
        a, b, c, d = measured.tables
        if self.decrease:
            return -scores.reliable_effect(b, a, d, c, self.beta)
        return scores.reliable_effect(a, b, c, d, self.beta)


@dataclass(frozen=True, repr=False)
class RuleResult(Plain):
    """One rule: its conditions and its measurements.

    Attributes
    ----------
    conditions
        The conditions, in alphabetical order of their text.
    measured
        The counts or sums in each stratum of the controls.
    criterion
        The objective of the search.
    p_value
        p-value adjusted for the search, once it is known. For rules named in advance, two-sided and adjusted for their
        number (Holm): that of a single rule is at most 5 % where its 95 % interval excludes 0.
    evidence
        All evidence on the rule.
    identification
        With a causal graph: whether the effect of the rule's own columns is identified, and why.
    control
        The controls that the rule is adjusted for.
    held_fixed
        The columns of the rules above it in the list, which it is adjusted for too: its effect is what it adds.
    missing_control
        The rows that lack one of its controls; None if all have a value of each.
    alone
        Its effect on its own, adjusted for the controls only; None if unknown.
    circumstances
        What `verdict` depends on in addition to the rule.
    """

    conditions: tuple[Proposition, ...]
    measured: Measured
    criterion: Criterion
    p_value: float | None = None
    evidence: RuleEvidence | None = None
    identification: Identification | None = None
    control: tuple[str, ...] = ()
    held_fixed: tuple[str, ...] = ()
    missing_control: MissingControls | None = None
    alone: Alone | None = None
    circumstances: Circumstances = Circumstances()

    # The HTML of a rule in notebooks; set by `causalrules.rules`, because results do not import the report.
    notebook_card: ClassVar[Callable[[RuleResult], str]] = lambda rule: escape(rule.text)

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
        """Build a rule from its counts in each stratum."""
        tables = np.array([a, b, c, d], dtype=np.int64).reshape(4, -1).T.tolist()
        if len(tables) != len(labels):
            raise ValueError(f"{len(tables)} strata are counted but {len(labels)} are labelled")
        ordered = tuple(sorted(conditions, key=lambda condition: condition.text))
        counts = tuple((a, b, c, d) for a, b, c, d in tables)
        return cls(ordered, Measured(tuple(labels), counts), Criterion(estimator, float(beta)))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return (
            f"<RuleResult {self.text}: reliable_effect={self.reliable_effect:.4f}, effect={self.effect:.4f}, "
            f"coverage={self.coverage:.4f}, n_covered={self.n_covered}>"
        )

    def __dir__(self) -> list[str]:
        return sorted(set(super().__dir__()) - _INSIDE)

    def _repr_html_(self) -> str:
        return type(self).notebook_card(self)

    @cached_property
    def text(self) -> str:
        """The rule as text, such as "class ≤ 2 ∧ sex = female"."""
        return describe(self.conditions)

    @property
    def superfluous(self) -> tuple[Proposition, ...]:
        """The conditions that the rule does not need, by their p-values, once `RuleSet.trust` has tested them."""
        known = None if self.evidence is None else self.evidence.conditions
        return tuple(each for each in self.conditions if known and each.p_value and each.p_value > known.level)

    @property
    def simpler(self) -> tuple[Proposition, ...]:
        """The conditions without the superfluous ones; all of them if not tested."""
        known = None if self.evidence is None else self.evidence.conditions
        return self.conditions if known is None else tuple(self.conditions[place] for place in known.kept)

    @property
    def p_sign(self) -> str:
        """The sign of `p_value`: "≤" if no shuffled table was as good, "≈" if shuffling stopped early, else "="."""
        known = None if self.evidence is None else self.evidence.significance
        if known is None:
            return "≤" if self.p_value is not None and self.p_value <= _NEGLIGIBLE else "="
        asked, most = self.circumstances.permutations, self.circumstances.level * self.circumstances.permutations
        stopped = known.permutations < asked and known.exceedances > most
        if self.circumstances.at_once:
            stopped = self.p_value is not None and self.p_value > self.circumstances.level
        return "≤" if known.exceedances == 0 else "≈" if stopped else "="

    @property
    def length(self) -> int:
        """Number of conditions; an interval counts as two."""
        return len(self.conditions)

    @property
    def kind(self) -> OutcomeKind:
        """The kind of the outcome, which defines the unit, wording and rounding of effects."""
        return self.measured.kind

    @property
    def n_covered(self) -> int:
        """Number of rows that satisfy the rule."""
        return self.measured.n_rows[0]

    @property
    def n_failing(self) -> int:
        """Number of rows that the covered rows are compared with."""
        return self.measured.n_rows[1]

    @property
    def n_undecided(self) -> int:
        """Number of rows left out of the comparison, such as rows where the rule is undecided."""
        covered, failing, everything = self.measured.n_rows
        return everything - covered - failing

    @property
    def n_open(self) -> int:
        """Number of rows not compared because a missing value leaves open whether the rule holds."""
        return self.n_undecided if self.measured.n_open is None else self.measured.n_open

    @property
    def n_incomplete(self) -> int:
        """Number of rows that are not compared, nor counted in `coverage`, because they lack a control."""
        return 0 if self.missing_control is None else self.missing_control.n_dropped

    @property
    def coverage(self) -> float:
        """Share of the rows that satisfy the rule."""
        return self.n_covered / self.measured.n_rows[2]

    @cached_property
    def value(self) -> float:
        """The number that the search maximised."""
        return self.criterion.value(self.measured)

    @property
    def ratio(self) -> float:
        """The effect over its margin for chance, as in the search: above `margin_scale`, it stands out."""
        return self.criterion.ratio(self.measured)

    @property
    def margin_scale(self) -> float:
        """Factor of the margin for chance that is enough, by shuffled tables; 1 if none were used."""
        return self.criterion.margin_scale

    @cached_property
    def reliable_effect(self) -> float:
        """The conservative effect: the adjusted effect, moved towards 0 by a margin for chance that `beta` sets.

        Beyond 0 (above it, or below for rules that decrease the outcome), it is more than chance can do.
        """
        return self.criterion.reliable_effect(self.measured)

    @property
    def conservative(self) -> float:
        """The conservative effect for display, clipped to the range of effects."""
        return self.kind.clip(self.reliable_effect)

    @property
    def stands_out(self) -> bool:
        """Whether the conservative effect is beyond 0, in the direction of the search, or in any of a named rule."""
        return (
            self.criterion.two_sided and self.reliable_effect != 0
        ) or self.criterion.sign * self.reliable_effect > 0

    @property
    def effect(self) -> float:
        """The effect adjusted for the controls, over the rows with a comparison group; nan if there are none.

        In strata of the controls' values it is the mean of the differences; where strata are those of a prediction, it
        is the doubly robust effect, once `RuleSet.doubly_robust` or the first answer has measured it.
        """
        return self.measured.effect

    @cached_property
    def at_least(self) -> float | None:
        """The effect is at least this, after the search, for all rules of the list together (at most, if decreased).

        With probability 1 − `error_rate`, no rule of the list has an effect nearer to 0: by shuffled tables once
        `RuleSet.simultaneous` or `RuleSet.trust` has searched them, else by the number of rules. 0 if all that is known
        is on which side of 0 the effect is. None if the rule does not stand out, is not tested, or was named in advance
        (its `interval` needs no allowance).

        Examples
        --------
        >>> import causalrules as cr
        >>> rules = cr.discover(cr.datasets.titanic(), "survived", actionable=["class", "sex"], k=1)
        >>> 0.5 < rules[0].at_least < rules[0].effect
        True
        """
        sign = self.criterion.sign
        known = None if self.evidence is None else self.evidence.simultaneous
        if not self.verdict.found or not sign * self.effect > 0 or (known is None and self.circumstances.fixed):
            return None
        bound = self._bound() if known is None else known.bound
        # The test says on which side of 0 the effect is, also where the spread of its rows does not.
        return 0.0 if bound is None else sign * max(sign * bound, 0.0)

    def _bound(self) -> float | None:
        """Return the bound by the margin of the search; None if it has no guarantee."""
        known, criterion = self.circumstances, self.criterion
        if known.grouped and criterion.by_length and self.measured.grouped is not None:
            beta = math.sqrt(criterion.beta**2 - 2 * math.log(known.share))
            found = bounds.of_groups(self.effect, beta, self.measured.grouped, criterion.sign)
        elif known.guaranteed and criterion.estimator == "pooled":
            margin = partial(criterion.joint_margin, self.measured, known.share)
            sides = self.measured.scored_sides
            found = bounds.simultaneous(self.effect, self.standard_error, sides, margin, criterion.sign)
        else:
            return None
        return None if found is None or not math.isfinite(found.value) else self.kind.clip(found.value)

    @property
    def marginal_effect(self) -> float:
        """The unadjusted difference."""
        return self.measured.marginal_effect

    @property
    def p_do_rule(self) -> float:
        """Adjusted probability of the outcome where the rule holds, or adjusted mean of the target."""
        return self.measured.levels[0]

    @property
    def p_do_not_rule(self) -> float:
        """Adjusted probability of the outcome where the rule does not hold, or adjusted mean of the target."""
        return self.measured.levels[1]

    @property
    def overlap(self) -> float:
        """Share of the rows with a comparison group: in strata with both sides, or by models of the controls."""
        return self.measured.overlap

    @property
    def effective_rows(self) -> float:
        """Rows of a balanced experiment that would estimate the effect with the same variance.

        4/Σ w²(1/k + 1/f), over the strata with both sides: half of the rows on each side, all in one stratum, and the
        same variance of each row. At most the number of rows with a comparison group, and small if one side has few
        rows in large strata.
        """
        return self.measured.effective_rows

    @cached_property
    def standard_error(self) -> float:
        """Standard error of `effect`."""
        return self.measured.estimate().standard_error

    @property
    def interval(self) -> AnyInterval:
        """95 % confidence interval (low, high) of `effect`, which ignores the search; `rule.interval(0.9)` for 90 %."""
        return self.measured.interval

    @cached_property
    def strata(self) -> tuple[StratumEffect, ...]:
        """The effect in each stratum of the controls."""
        measured = self.measured
        if self.criterion.estimator == "pooled" or measured.sums:
            weights = (measured.sides[2].n / measured.sides[2].n.sum()).tolist()
        else:
            weights = scores.reliable_weights(*measured.tables).tolist()
        return measured.strata(weights, self.criterion.beta)

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict by the evidence so far: evidence, direction, claim, reasons and robustness."""
        return judge(self, self.circumstances)

    def covers(self, new_data: Any) -> NDArray[np.bool_]:
        """Return which rows of a table satisfy the rule.

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
        """Return on which rows of a table the rule is decided.

        Parameters
        ----------
        new_data
            Anything that `discover` reads, with the columns of the rule.

        Returns
        -------
        numpy.ndarray
            For each row, whether the rule certainly holds or certainly fails: a missing value leaves it undecided,
            unless another condition fails.

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
        return applied(self.conditions, new_data)

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
            The SQL dialect.

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
        return sql.where([self.conditions], dialect, [(*self.control, *self.held_fixed)])

    def to_python(self, name: str = "covers") -> str:
        """Return the source of a Python function that tests whether a row satisfies the rule.

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
        return sql.python(self.conditions, name)


def applied(conditions: Sequence[Proposition], new_data: Any) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows of a table certainly satisfy conditions, and which may."""
    table = new_data if isinstance(new_data, Table) else read(new_data)
    covered = np.ones(table.n_records, dtype=np.bool_)
    possible = covered.copy()
    for condition in conditions:
        if condition.column not in table.names:
            raise UnknownColumnError(
                f"the rule {describe(conditions)!r}: {unknown_column(condition.column, table.names)}"
            )
        values = table.histogram(condition.column).values
        holds = table.select(condition.column, condition.holds(values))
        covered &= holds
        possible &= holds | ~table.select(condition.column, np.ones(len(values), np.bool_))
    return covered, possible
