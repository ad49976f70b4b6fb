"""The evidence on rules, stored with them and in JSON. An undefined number is None."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from causalrules.payload import Plain

if TYPE_CHECKING:
    from causalrules.result.result import R
    from causalrules.result.rule import RuleResult

# Rules of each sample in stability; fixed, so that a rule's share does not depend on k.
BEST = 10


@dataclass(frozen=True, repr=False)
class Significance(Plain):
    """P-values of one rule, adjusted for the search.

    Attributes
    ----------
    single_step
        p against the best of all rules.
    step_down
        p against the best of all rules except the better ones of the list; None if not computed.
    exceedances, permutations
        Number of shuffled tables with a rule as good, and of all, in the comparison that gave `rule.p_value`.
    """

    single_step: float
    step_down: float | None
    exceedances: int
    permutations: int


@dataclass(frozen=True, repr=False)
class Simultaneous(Plain):
    """A bound on the effect that holds simultaneously for all rules of the list, after the search (`rule.at_least`).

    Attributes
    ----------
    bound
        The effect is at least this (at most, for rules that decrease the outcome); None if unknown.
    reach
        Its distance from the estimate, towards 0, in standard errors.
    confidence, permutations
        The probability that all bounds hold, and the number of shuffled tables.
    """

    bound: float | None
    reach: float | None
    confidence: float
    permutations: int


@dataclass(frozen=True, repr=False)
class HonestEffect(Plain):
    """The effect of one rule on held-out rows.

    With forward chaining, it is the mean over the blocks, weighted by their information, of the effect of the rule that
    a search of the rows before the block finds at the same position of its list: that measures the search. It is of
    the rule itself only if `own`.

    Attributes
    ----------
    n_rows, overlap
        The held-out rows, and the share of them with a comparison group, to which the effect refers.
    effect, standard_error, low, high
        The effect, its standard error and its interval.
    p_value
        One-sided p-value, adjusted over the rules by Holm's method.
    found, splits
        Number of blocks in which this same rule was measured, and of all blocks; 1 and 1 without forward chaining.
    counts
        The counts (a, b, c, d) of each stratum; empty with forward chaining.
    alike
        Number of blocks in which this rule or one like it was measured: one with at least 80 % of their rows in common.
        None in older files.
    """

    n_rows: int
    overlap: float
    effect: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    p_value: float | None
    found: int
    splits: int
    counts: tuple[tuple[int, int, int, int], ...] = field(default=(), repr=False)
    alike: int | None = None

    @property
    def own(self) -> bool:
        """Whether every block measured this rule or one like it."""
        return self.splits == (self.found if self.alike is None else self.alike)


@dataclass(frozen=True, repr=False)
class ConditionStability(Plain):
    """How often a condition is in one of the best rules of a sample.

    Attributes
    ----------
    condition, share
        The condition without its cut point, and the share of the samples.
    low, high
        The 5 % and 95 % quantiles of the cut point, for ≤ and ≥.
    """

    condition: str
    share: float
    low: str | None
    high: str | None


@dataclass(frozen=True, repr=False)
class Stability(Plain):
    """How often a rule reappears among the 10 best of resampled rows.

    Attributes
    ----------
    returned, nearly
        Share of the samples with the same rule, and with a rule that covers nearly the same rows.
    conditions
        The same for each of its conditions.
    """

    returned: float
    nearly: float
    conditions: tuple[ConditionStability, ...]


@dataclass(frozen=True, repr=False)
class ControlStrength(Plain):
    """A measured control, as a benchmark for an unmeasured confounder.

    Attributes
    ----------
    control
        Its name.
    with_rule, with_outcome
        RR_EU and RR_UD: how much more frequent one of its values is with the rule than without, and how much more
        frequent the outcome is with one value than with another, given the other controls; None for a mean.
    strength
        The value of both ratios, if equal, with the same bias.
    effect_without
        The effect not adjusted for it.
    gamma
        The largest factor by which its values change the odds of the rule, given the other controls.
    """

    control: str
    with_rule: float | None
    with_outcome: float | None
    strength: float | None
    effect_without: float | None
    gamma: float = 1.0


@dataclass(frozen=True, repr=False)
class Sensitivity(Plain):
    """How strong an unmeasured confounder must be to explain an effect away.

    Attributes
    ----------
    risk_ratio, limit
        p_do_rule / p_do_not_rule, and the end of its interval nearer to 1; None for a mean, as are the E-values.
    e_value, e_value_limit
        The E-values of both.
    controls
        The measured controls, strongest first.
    sentence
        A sentence with these numbers.
    gamma, gamma_limit
        The factor by which a confounder must change the odds of the rule, given the controls, for the effect, and for
        the end of its interval, to be 0.
    """

    risk_ratio: float | None
    limit: float | None
    e_value: float | None
    e_value_limit: float | None
    controls: tuple[ControlStrength, ...]
    sentence: str
    gamma: float | None = None
    gamma_limit: float | None = None

    @property
    def includes_zero(self) -> bool:
        """Whether the interval includes 0 without a confounder, so that there is nothing to explain away."""
        limits = [limit for limit in (self.gamma_limit, self.e_value_limit) if limit is not None]
        return bool(limits) and max(limits) <= 1


@dataclass(frozen=True, repr=False)
class Overlap(Plain):
    """The strata where a rule always or never holds, so that its rows have no comparison group.

    Attributes
    ----------
    n_strata, n_rows, share
        The strata, their rows, and the share of all rows.
    effect, effect_with
        The effect without these strata, and with a difference of 0 in them.
    low, high
        Bounds of the effect over all rows, for any value of the unobserved probabilities.
    """

    n_strata: int
    n_rows: int
    share: float
    effect: float | None
    effect_with: float
    low: float | None
    high: float | None


@dataclass(frozen=True, repr=False)
class ConditionTests(Plain):
    """Which conditions a rule needs; each condition has its own p-value.

    Attributes
    ----------
    level
        Error rate: a condition with a larger p-value is superfluous.
    kept
        Indices of the conditions left after repeatedly dropping the least needed one.
    effect, n_covered
        The effect and the coverage of the remaining rule; None if it is the rule itself.
    """

    level: float
    kept: tuple[int, ...]
    effect: float | None
    n_covered: int | None


@dataclass(frozen=True, repr=False)
class ControlBalance(Plain):
    """How one control differs between the rows of a rule and the rows that they are compared with.

    Attributes
    ----------
    control
        The control, or one of its categories.
    before, strata, weighted
        Standardised mean difference before adjusting, in the strata, and with the weights of `doubly_robust`: the
        difference of the means over the standard deviation (the mean of both sides' variances, before adjusting).
    """

    control: str
    before: float | None
    strata: float | None
    weighted: float | None = None


@dataclass(frozen=True, repr=False)
class DoublyRobust(Plain):
    """The effect of one rule by augmented inverse probability weighting, on the original controls.

    Attributes
    ----------
    source
        "searched rows" or "held-out rows".
    n_rows, overlap
        The rows, and the share of them with overlap, to which the effect refers.
    clipped
        Share of the compared rows whose propensities were clipped.
    effect, standard_error, low, high
        The effect, its standard error and its interval; None if no rows can be compared.
    conservative
        The effect, moved towards 0 by the margin of the search: the rule's β times the standard error, or half of the
        interval on held-out rows.
    strata
        The effect in the strata, on the same rows.
    own_effect, own_low, own_high
        The effect on the rule's own rows (on the treated), and its interval.
    propensities
        Numbers of covered and of other rows by their propensity, in 20 bins from 0 to 1.
    """

    source: str
    n_rows: int
    overlap: float
    clipped: float
    effect: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    conservative: float | None
    strata: float | None
    own_effect: float | None
    own_low: float | None
    own_high: float | None
    propensities: tuple[tuple[int, ...], tuple[int, ...]]

    @property
    def agrees(self) -> bool:
        """Whether the effect in the strata is inside the interval."""
        if self.low is None or self.high is None or self.strata is None:
            return True
        return self.low <= self.strata <= self.high


def described(heading: str) -> Any:
    """Declare a part of the evidence that describes itself, in the units of the kind of outcome.

    `cell(kind)` is its text under the heading in tables, `sentence(kind)` that in cards.
    """
    return field(default=None, metadata={"heading": heading})


@dataclass(frozen=True, repr=False)
class RuleEvidence(Plain):
    """The evidence on one rule; None for parts that were not computed."""

    significance: Significance | None = None
    simultaneous: Simultaneous | None = None
    honest: HonestEffect | None = None
    stability: Stability | None = None
    sensitivity: Sensitivity | None = None
    overlap: Overlap | None = None
    conditions: ConditionTests | None = None
    doubly_robust: DoublyRobust | None = None
    balance: tuple[ControlBalance, ...] = ()

    @classmethod
    def described(cls) -> dict[str, str]:
        """Return the headings of the parts that describe themselves, by name."""
        return {item.name: item.metadata["heading"] for item in fields(cls) if item.metadata}


@dataclass(frozen=True, repr=False)
class PermutationRun(Plain):
    """How the p-values were computed.

    Attributes
    ----------
    permutations, asked, cut_short
        Shuffled tables started, requested, and interrupted by the time limit (which count as at least as good).
    level
        Error rate at which counting stopped early.
    method, seed
        "step-down" or "single-step", and the seed of the shuffling.
    exact
        Whether all arrangements of the outcome were tried.
    """

    permutations: int
    asked: int
    cut_short: int
    level: float
    method: str
    exact: bool
    seed: int


@dataclass(frozen=True, repr=False)
class Calibration(Plain):
    """The smallest β for which the best rule of shuffled data is at most 0 with probability `confidence`.

    Attributes
    ----------
    permutations, asked, cut_short
        Shuffled tables started, requested, and interrupted by the time limit (which count as above any β).
    value, usual_beta, usual_value
        The best reliable effect of the data with `beta` and with `usual_beta`.
    """

    beta: float
    confidence: float
    permutations: int
    asked: int
    cut_short: int
    seed: int
    value: float | None
    usual_beta: float
    usual_value: float | None


@dataclass(frozen=True, repr=False)
class HonestRun(Plain):
    """How effects on held-out rows were measured.

    Attributes
    ----------
    source
        "holdout", "second table" or "forward chaining".
    n_discovery, n_estimation
        Rows searched and rows held out (of the last block).
    splits, asked
        Blocks measured and requested.
    level
        Confidence of the intervals. (The name is that of the JSON field.)
    seed
        Seed of the split.
    """

    source: str
    n_discovery: int
    n_estimation: int
    splits: int
    asked: int
    level: float
    seed: int | None


@dataclass(frozen=True, repr=False)
class StabilityRun(Plain):
    """How stability was measured.

    Attributes
    ----------
    method, share, seed
        "subsample" or "bootstrap", the share of the rows in a subsample, and the seed.
    replicates, asked
        Samples searched and requested.
    conditions
        The conditions that reappear most often.
    """

    method: str
    replicates: int
    asked: int
    share: float
    seed: int
    conditions: tuple[ConditionStability, ...]


@dataclass(frozen=True, repr=False)
class CalibratedMargin(Plain):
    """The factor by which shuffled tables reduce the margins for the number of rules.

    Attributes
    ----------
    factor
        With probability `confidence`, no rule of a table without effects exceeds its margin times this factor.
    permutations, seed
        The number of shuffled tables, and the seed of the shuffling.
    joint
        The factor for the share of the error that one rule of a list has; None if that takes more tables.
    """

    factor: float
    confidence: float
    permutations: int
    seed: int
    joint: float | None = None


@dataclass(frozen=True, repr=False)
class SearchEvidence(Plain):
    """How the evidence was obtained; None for parts that were not computed."""

    permutation: PermutationRun | None = None
    calibration: Calibration | None = None
    margin: CalibratedMargin | None = None
    honest: HonestRun | None = None
    stability: StabilityRun | None = None


def with_evidence(rule: RuleResult, **parts: Any) -> RuleResult:
    """Return the rule with these parts of its evidence replaced."""
    return replace(rule, evidence=replace(rule.evidence or RuleEvidence(), **parts))


def with_run(rules: R, measured: Iterable[RuleResult], **runs: Any) -> R:
    """Return the result with measured rules, and with how the evidence was obtained."""
    return replace(rules, rules=tuple(measured), evidence=replace(rules.evidence or SearchEvidence(), **runs))
