"""What is known about how far rules can be trusted, stored with them and in JSON. An undefined number is None."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from causalrules.result.result import R
    from causalrules.result.rule import RuleResult

# Stability uses this many rules of each sample, whatever k is: a rule's share must not depend on k.
BEST = 10


@dataclass(frozen=True)
class Significance:
    """P-values of one rule, adjusted for the search.

    Attributes
    ----------
    single_step
        p against the best of all rules.
    step_down
        p against the best of all rules except the better ones of the list; None if it was not computed.
    exceedances, permutations
        How many shuffled tables had a rule as good, of how many, in the comparison that gave `rule.p_value`.
    """

    single_step: float
    step_down: float | None
    exceedances: int
    permutations: int


@dataclass(frozen=True)
class Simultaneous:
    """A bound on the effect that holds for all rules of the list at once, after the search.

    Attributes
    ----------
    bound
        The effect is at least this (at most, for rules that decrease the outcome); None if it cannot be told.
    reach
        By how many standard errors it is nearer to 0 than the estimate.
    confidence, permutations
        The chance that all bounds hold, and the shuffled tables they rest on.
    """

    bound: float | None
    reach: float | None
    confidence: float
    permutations: int


@dataclass(frozen=True)
class HonestEffect:
    """The effect of one rule on held-out rows.

    With forward chaining, it is the mean over the blocks of the effect of the rule that a search of the rows before the
    block finds in the same place of its list, weighted by what each block can tell.

    Attributes
    ----------
    n_rows, overlap
        The held-out rows, and the share of them with a comparison group, which the effect is about.
    effect, standard_error, low, high
        The effect, its standard error and its interval.
    p_value
        One-sided p-value, adjusted over the rules by Holm's method.
    found, splits
        In how many blocks this same rule was measured, of how many; 1 of 1 without forward chaining.
    counts
        The counts (a, b, c, d) of each stratum; empty with forward chaining.
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


@dataclass(frozen=True)
class ConditionStability:
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


@dataclass(frozen=True)
class Stability:
    """How often one rule reappears among the 10 best of resampled rows.

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


@dataclass(frozen=True)
class ControlStrength:
    """A measured control, to compare an unmeasured confounder with.

    Attributes
    ----------
    control
        Its name.
    with_rule, with_outcome
        RR_EU and RR_UD: how much more frequent one of its values is with the rule than without it, and how much more
        frequent the outcome is with one of its values than with another, given the other controls; None for a mean.
    strength
        The common value of both ratios that has the same bias.
    effect_without
        The effect not adjusted for it.
    gamma
        How much its values change the odds of the rule, at most, given the other controls.
    """

    control: str
    with_rule: float | None
    with_outcome: float | None
    strength: float | None
    effect_without: float | None
    gamma: float = 1.0


@dataclass(frozen=True)
class Sensitivity:
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
        The same in words.
    gamma, gamma_limit
        How much a confounder may change the odds of the rule, given the controls, before the effect, and the end of
        its interval, can be 0.
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
        """Whether the interval includes 0 without any confounder, so that there is nothing to explain away."""
        limits = [limit for limit in (self.gamma_limit, self.e_value_limit) if limit is not None]
        return bool(limits) and max(limits) <= 1


@dataclass(frozen=True)
class Overlap:
    """The strata where a rule always or never holds, so that its rows have no comparison group.

    Attributes
    ----------
    n_strata, n_rows, share
        The strata, their rows, and the share of all rows.
    effect, effect_with
        The effect without these strata, and with a difference of 0 in them.
    low, high
        Bounds of the effect over all rows, whatever the unobserved probabilities are.
    """

    n_strata: int
    n_rows: int
    share: float
    effect: float | None
    effect_with: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class ConditionTests:
    """Which conditions of a rule earn their place; each condition has its own p-value.

    Attributes
    ----------
    level
        Error rate: a condition with a larger p-value does not earn its place.
    kept
        Places of the conditions that are left when the least needed one is dropped again and again.
    effect, n_covered
        The effect of the rule that is left, and the rows that it covers; None if it is the rule itself.
    """

    level: float
    kept: tuple[int, ...]
    effect: float | None
    n_covered: int | None


@dataclass(frozen=True)
class ControlBalance:
    """How one control differs between the rows of a rule and those that they are compared with.

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


@dataclass(frozen=True)
class DoublyRobust:
    """The effect of one rule by augmented inverse probability weighting, on the controls as they are.

    Attributes
    ----------
    source
        "searched rows" or "held-out rows".
    n_rows, overlap
        The rows, and the share of them that have rows like them on both sides, which the effect is about.
    clipped
        Share of the compared rows whose propensities were clipped.
    effect, standard_error, low, high
        The effect, its standard error and its interval; None if no rows can be compared.
    conservative
        The effect, brought nearer to 0 by the margin of the search: as many standard errors as the rule's β, or half
        of the interval on held-out rows.
    strata
        The effect in the strata, of the same rows.
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


@dataclass(frozen=True)
class RuleEvidence:
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


@dataclass(frozen=True)
class PermutationRun:
    """How the p-values were computed.

    Attributes
    ----------
    permutations, asked, cut_short
        Shuffled tables that were started, that were asked for, and that the time limit ended (they count as as good).
    level
        Error rate at which counting stopped early.
    method, seed
        "step-down" or "single-step", and the seed of the shuffling.
    exact
        Whether every arrangement of the outcome was tried.
    """

    permutations: int
    asked: int
    cut_short: int
    level: float
    method: str
    exact: bool
    seed: int


@dataclass(frozen=True)
class Calibration:
    """The smallest β for which the best rule of shuffled data is at most 0 with probability `confidence`.

    Attributes
    ----------
    permutations, asked, cut_short
        Shuffled tables that were started, that were asked for, and that the time limit ended (they count as above any
        β).
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


@dataclass(frozen=True)
class HonestRun:
    """How effects on held-out rows were measured.

    Attributes
    ----------
    source
        "holdout", "second table" or "forward chaining".
    n_discovery, n_estimation
        Rows searched and rows held out (of the last block).
    splits, asked
        Blocks that were measured, and that were asked for.
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


@dataclass(frozen=True)
class StabilityRun:
    """How stability was measured.

    Attributes
    ----------
    method, share, seed
        "subsample" or "bootstrap", the share of the rows in a subsample, and the seed.
    replicates, asked
        Samples that were searched, and that were asked for.
    conditions
        The conditions that reappear most often.
    """

    method: str
    replicates: int
    asked: int
    share: float
    seed: int
    conditions: tuple[ConditionStability, ...]


@dataclass(frozen=True)
class CalibratedMargin:
    """How much smaller the margins for chance may be than those for the number of rules, by shuffled tables.

    Attributes
    ----------
    factor
        With probability `confidence`, no rule of a table without effects exceeds this part of its margin.
    permutations, seed
        The shuffled tables, and the seed of the shuffling.
    """

    factor: float
    confidence: float
    permutations: int
    seed: int


@dataclass(frozen=True)
class SearchEvidence:
    """How the evidence was obtained; None for parts that were not computed."""

    permutation: PermutationRun | None = None
    calibration: Calibration | None = None
    margin: CalibratedMargin | None = None
    honest: HonestRun | None = None
    stability: StabilityRun | None = None


def with_evidence(rule: RuleResult, **parts: Any) -> RuleResult:
    """Return the rule with these parts of its evidence."""
    return replace(rule, evidence=replace(rule.evidence or RuleEvidence(), **parts))


def with_run(rules: R, measured: Iterable[RuleResult], **runs: Any) -> R:
    """Return the result with its rules measured, and with how that was done."""
    return replace(rules, rules=tuple(measured), evidence=replace(rules.evidence or SearchEvidence(), **runs))
