"""What is known about how far rules can be trusted, kept with them and through JSON. An undefined number is None."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from causalrules.result.rule import RuleResult

# Stability looks at this many rules of each sample, however many were asked for: a rule's share must not depend on k.
BEST = 10


@dataclass(frozen=True)
class Significance:
    """Adjusted p-values of one rule: how often the best rule of permuted data is as good as this one.

    `single_step` compares with the best of all rules, `step_down` with the best of all but the better rules of the
    list; `exceedances` of `permutations` were as good, in the comparison that gave the rule's `p_value`.
    """

    single_step: float
    step_down: float | None
    exceedances: int
    permutations: int


@dataclass(frozen=True)
class HonestEffect:
    """The effect on rows that had no part in finding the rule; `p_value` is one-sided, Holm's over the rules.

    Of the `n_rows` unseen rows, the effect speaks for the share `overlap` alone: those in strata where some satisfy
    the rule and some do not, among the unseen rows themselves.

    With a holdout or a second table, `counts` are the rule's (a, b, c, d) in each stratum there. With cross-fitting it
    is the mean over the splits, weighted by the rows that could be compared, of what the rule in this place of each
    split's list does on the rows left out, and `found` of the `splits` lists have this very rule.
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
    """How often the search on other samples has this condition; for ≤ and ≥, where its cut points lay."""

    condition: str
    share: float
    low: str | None
    high: str | None


@dataclass(frozen=True)
class Stability:
    """How often the rule, or one that covers nearly the same rows, returned among the 10 best of other samples."""

    returned: float
    nearly: float
    conditions: tuple[ConditionStability, ...]


@dataclass(frozen=True)
class ControlStrength:
    """A measured control as the yardstick for an unmeasured one, and what the effect is without it.

    Risk ratios: `with_rule` of its values between rows with and without the rule, `with_outcome` of the outcome
    between its values. `strength` is the strength that a confounder with both ratios alike would need for its bias.
    """

    control: str
    with_rule: float
    with_outcome: float
    strength: float
    effect_without: float | None


@dataclass(frozen=True)
class Sensitivity:
    """E-values: how strongly a confounder must go with rule and outcome to explain the effect away.

    `risk_ratio` is p_do_rule / p_do_not_rule, `limit` the end of its interval nearer to 1.
    """

    risk_ratio: float
    limit: float
    e_value: float
    e_value_limit: float
    controls: tuple[ControlStrength, ...]
    sentence: str


@dataclass(frozen=True)
class Overlap:
    """The strata where the rule always or never holds, so that its rows have no counterpart.

    `effect` is without them, `effect_with` counts them as no difference, and the effect on all rows lies between
    `low` and `high` whatever would happen there.
    """

    n_strata: int
    n_rows: int
    share: float
    effect: float | None
    effect_with: float
    low: float
    high: float


@dataclass(frozen=True)
class Verdict:
    """One word, "strong", "suggestive" or "not supported", and why: what speaks for the rule, and against it."""

    word: str
    supports: tuple[str, ...]
    doubts: tuple[str, ...]


@dataclass(frozen=True)
class RuleEvidence:
    """What is known about one rule; None where it was not looked at."""

    significance: Significance | None = None
    honest: HonestEffect | None = None
    stability: Stability | None = None
    sensitivity: Sensitivity | None = None
    overlap: Overlap | None = None
    verdict: Verdict | None = None


@dataclass(frozen=True)
class PermutationRun:
    """How the p-values were made; `exact` where every arrangement of the outcome was tried.

    Of the `permutations` that were begun, of those `asked` for, the time limit ended `cut_short`: they count as good.
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
    """The smallest β for which the best rule of permuted data is at most 0 with probability `confidence`.

    `value` is the best reliable effect of the data with it, `usual_value` with `usual_beta`. Of the
    `permutations` that were begun, of those `asked` for, the time limit ended `cut_short`: they count as above any β.
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
    """How honest effects were measured: "holdout", "second table" or "cross-fitting".

    The time limit may leave fewer `splits` than were `asked` for.
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
    """How stability was measured, and how often each condition was in one of the best rules.

    The time limit may leave fewer `replicates` than were `asked` for.
    """

    method: str
    replicates: int
    asked: int
    share: float
    seed: int
    conditions: tuple[ConditionStability, ...]


@dataclass(frozen=True)
class SearchEvidence:
    """How the evidence was obtained; None for what was not done."""

    permutation: PermutationRun | None = None
    calibration: Calibration | None = None
    honest: HonestRun | None = None
    stability: StabilityRun | None = None


def columns(rules: Iterable[RuleResult]) -> dict[str, list[Any]]:
    """The evidence as columns beside the rules, those alone that say something."""
    rows = [(rule.p_value, rule.evidence or RuleEvidence()) for rule in rules]
    found: dict[str, list[Any]] = {
        "p_value": [p_value for p_value, _ in rows],
        "honest_effect": [known.honest and known.honest.effect for _, known in rows],
        "honest_low": [known.honest and known.honest.low for _, known in rows],
        "honest_high": [known.honest and known.honest.high for _, known in rows],
        "honest_overlap": [known.honest and known.honest.overlap for _, known in rows],
        "e_value": [known.sensitivity and known.sensitivity.e_value for _, known in rows],
        "e_value_limit": [known.sensitivity and known.sensitivity.e_value_limit for _, known in rows],
        "returns": [known.stability and known.stability.nearly for _, known in rows],
        "verdict": [known.verdict and known.verdict.word for _, known in rows],
    }
    return {name: values for name, values in found.items() if any(value is not None for value in values)}
