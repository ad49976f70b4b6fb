"""Unmeasured confounding: how strong a confounder must be to explain an effect away.

For a binary outcome, only the counts of a rule in the strata are needed, so this works for results read from a file;
Γ of a mean needs the rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from causalrules.estimators import intervals
from causalrules.estimators.sides import Floats, Side, added, standardised
from causalrules.result.evidence import ControlStrength, Sensitivity, with_evidence
from causalrules.result.verdict import BY_DESIGN
from causalrules.trust.gamma import MOST, Outcomes, gammas, least_effects, odds_factor

if TYPE_CHECKING:
    from causalrules.result.result import R, Result
    from causalrules.result.rule import RuleResult

Counts = Sequence[tuple[int, int, int, int]]
Rows = ArrayLike | None
# Values of a control with less than this share of the rows are merged.
_RARE = 0.05


def e_value(risk_ratio: float) -> float:
    """Return the E-value of a risk ratio (VanderWeele & Ding 2017).

    E = RR + √(RR·(RR − 1)), with 1/RR in place of RR < 1: the smallest risk ratio that a confounder must have with
    both the rule and the outcome to explain RR away.

    >>> round(e_value(3.9), 2), round(e_value(1.8), 1)
    (7.26, 3.0)
    """
    ratio = max(risk_ratio, 1 / risk_ratio)
    return ratio + math.sqrt(ratio * (ratio - 1))


def bias_factor(with_rule: float, with_outcome: float) -> float:
    """Return the largest factor by which a confounder with these risk ratios shifts a risk ratio.

    B = r·s / (r + s − 1) (Ding & VanderWeele 2016)

    >>> round(bias_factor(7.26, 7.26), 1)
    3.9
    """
    return with_rule * with_outcome / (with_rule + with_outcome - 1)


def risk_ratio_and_limit(counts: Counts, confidence: float = 0.95, rows: Rows = None) -> tuple[float, float] | None:
    """Return `intervals.risk_ratio` and the end of its interval nearer to 1; None if no stratum has both sides."""
    a, b, c, d = np.array(counts).T
    ratio, error = intervals.risk_ratio(a, b, c, d, rows)
    if math.isnan(ratio):
        return None
    reach = math.exp(intervals.beta_of_confidence(confidence) * error)
    return ratio, max(1.0, ratio / reach) if ratio >= 1 else min(1.0, ratio * reach)


def control_strengths(rule: RuleResult) -> tuple[ControlStrength, ...]:
    """Compute how strong each control is, given the other controls, and the effect not adjusted for it.

    Values with less than 5 % of the rows are merged, so that a few rows do not make a control look strong.
    """
    found = [_strength(rule, name) for name in (rule.measured.labels[0] if rule.measured.labels else ())]
    return tuple(sorted(found, key=lambda control: (-control.gamma, -(control.strength or 0.0))))


def _strength(rule: RuleResult, name: str) -> ControlStrength:
    others = [other for other in rule.measured.labels[0] if other != name]
    covered, failing, everything = _by_value(rule, name, others)
    strength = with_rule = with_outcome = None
    if rule.kind.binary:
        with_rule = ratio_with_rule(covered.n, failing.n, rule.effect < 0)
        with_outcome = max(ratio_with_outcome(side.total, side.n) for side in (covered, failing))
        strength = e_value(bias_factor(with_rule, with_outcome))
    left, right, rows = (_summed(side) for side in (covered, failing, everything))
    effect = standardised(left.mean - right.mean, left, right, rows)
    return ControlStrength(
        control=name,
        with_rule=with_rule,
        with_outcome=with_outcome,
        strength=strength,
        effect_without=None if math.isnan(effect) else effect,
        gamma=odds_factor(covered.n, failing.n),
    )


def ratio_with_rule(held: Floats, failed: Floats, lowers: bool = False) -> float:
    """Return RR_EU (Ding & VanderWeele 2016): how much more frequent a value is, at most, with the rule than without.

    max_u P(u | rule) / P(u | not rule), inverted for a rule that lowers the outcome; both shares are averages over the
    strata of the other controls, weighted by their rows.

    Parameters
    ----------
    held, failed
        Rows on which the rule holds and fails, by stratum of the other controls (rows) and value (columns).
    lowers
        Whether the rule lowers the outcome.
    """
    both = (held.sum(axis=1) > 0) & (failed.sum(axis=1) > 0)
    held, failed = held[both], failed[both]
    if not len(held):
        return 1.0
    weight = held.sum(axis=1) + failed.sum(axis=1)
    on, off = (weight @ (side / side.sum(axis=1, keepdims=True)) for side in (held, failed))
    if lowers:
        on, off = off, on
    if not off[on > 0].all():  # add half a row, as for risk ratios
        on, off = on + 0.5, off + 0.5
    return float(np.max(on[on > 0] / off[on > 0]))


def ratio_with_outcome(total: Floats, n: Floats) -> float:
    """Return RR_UD (Ding & VanderWeele 2016) on one side of a rule: max_u P(outcome | u) / min_u P(outcome | u).

    Two values are compared in the strata of the other controls that have rows of both, weighted by these rows.

    Parameters
    ----------
    total, n
        Rows with the outcome, and all, by stratum of the other controls (rows) and value (columns).
    """
    largest = 1.0
    for one, other in itertools.permutations(range(n.shape[1]), 2):
        both = (n[:, one] > 0) & (n[:, other] > 0)
        if not both.any():
            continue
        weight = (n[:, one] + n[:, other])[both]
        p, q = (float(weight @ (total[both, each] / n[both, each]) / weight.sum()) for each in (one, other))
        if q == 0 < p:  # add half a row, as for risk ratios
            p, q = ((float(total[both, each].sum()) + 0.5) / (float(n[both, each].sum()) + 1) for each in (one, other))
        if p > 0:
            largest = max(largest, p / q)
    return largest


def sensitivity(rules: R, *, confidence: float = 0.95) -> R:
    """Implement `RuleSet.sensitivity`, with the counts of held-out rows if there are any.

    Rules with only randomised columns are skipped: they have no hidden confounders.
    """
    judged = [
        rule if rule.verdict.claim == BY_DESIGN or math.isnan(rule.effect) else _judged(rule, rules, confidence)
        for rule in rules
    ]
    return replace(rules, rules=tuple(judged))


def _judged(rule: RuleResult, rules: Result, confidence: float) -> RuleResult:
    ratio = limit = value = value_limit = gamma = gamma_limit = None
    honest = rule.evidence.honest if rule.evidence else None
    held_out = _has_held_out(rule)
    if rule.kind.binary:
        counts = honest.counts if honest is not None and held_out else rule.measured.counts
        found = risk_ratio_and_limit(counts, confidence, None if held_out else rule.measured.sides[2].n)
        if found is not None:
            ratio, limit = found
            value, value_limit = e_value(ratio), e_value(limit)
    if (outcomes := _outcomes(rule, rules, held_out)) is not None:
        gamma, gamma_limit = gammas(outcomes, *_ends(rule, confidence))
    controls = control_strengths(rule)
    known = Sensitivity(ratio, limit, value, value_limit, controls, "", gamma, gamma_limit)
    return with_evidence(rule, sensitivity=replace(known, sentence=_sentence(known)))


def robustness(
    rule: RuleResult, rules: Result, strengths: Sequence[float], confidence: float = 0.95
) -> list[tuple[float, float]] | None:
    """Bound a rule's effect, and the end of its interval nearer to 0, at each Γ.

    None for a mean whose rows are remote or not available, or without a comparison group.
    """
    outcomes = None if math.isnan(rule.effect) else _outcomes(rule, rules, _has_held_out(rule))
    return None if outcomes is None else least_effects(outcomes, *_ends(rule, confidence), strengths)


def _has_held_out(rule: RuleResult) -> bool:
    honest = rule.evidence.honest if rule.evidence else None
    return honest is not None and honest.effect is not None and bool(honest.counts)


def _ends(rule: RuleResult, confidence: float) -> tuple[float, float, float]:
    """Return the effect and its interval, on held-out rows if there are any."""
    honest = rule.evidence.honest if rule.evidence else None
    if honest is not None and honest.effect is not None and honest.counts:
        return honest.effect, honest.low or 0.0, honest.high or 0.0
    return (rule.effect, *rule.interval(confidence))


def _outcomes(rule: RuleResult, rules: Result, held_out: bool) -> Outcomes | None:
    """Return the outcomes on both sides; None for a mean whose rows are remote or not available."""
    if not rule.kind.binary:
        if not rules.ladder:
            return None
        problem = rules.problem_of(rule)
        return Outcomes.of_rows(problem, problem.language.numbers(rule.conditions))
    if held_out and rule.evidence is not None and rule.evidence.honest is not None:
        return Outcomes.of_counts(rule.evidence.honest.counts)
    return Outcomes.of_counts(rule.measured.counts, rule.measured.undecided)


def _sentence(found: Sensitivity) -> str:
    said = []
    if found.includes_zero:
        said.append("The interval includes 0: there is nothing for a hidden confounder to explain away")
    elif found.gamma is not None and found.gamma_limit is not None:
        said.append(
            f"A hidden confounder must change the odds of the rule {_times(found.gamma_limit)}, given the "
            f"controls, for the interval to reach 0 (Γ), and {_times(found.gamma)} for the estimate"
            if found.gamma_limit > 1
            else "The interval includes 0 without a hidden confounder (Γ = 1)"
        )
    if found.e_value is not None and found.e_value_limit is not None and not found.includes_zero:
        said.append(
            f"By risk ratios, it must have {found.e_value:.2f} with both the rule and the outcome (E-value; "
            f"{_to_include_zero(found.e_value_limit)})"
        )
    if found.controls:
        names = ", ".join(f"{control.control!r} {_times(control.gamma)}" for control in found.controls[:3])
        said.append(f"Measured controls change the odds of the rule: {names}")
    else:
        said.append("There is no measured control to compare it with")
    return ". ".join(said) + "."


def _times(factor: float) -> str:
    return f"more than {MOST:,.0f} times" if factor >= MOST else f"{factor:.2f} times"


def _to_include_zero(value_limit: float) -> str:
    return f"{value_limit:.2f} for the interval" if value_limit > 1 else "the interval already includes no effect"


def _by_value(rule: RuleResult, name: str, others: Sequence[str]) -> tuple[Side, Side, Side]:
    """Return covered, failing and all rows by stratum of the other controls (rows) and value of the control (columns).

    Rare values are merged.
    """
    stratum = _numbered([tuple(labels[other] for other in others) for labels in rule.measured.labels])
    value = _numbered([labels[name] for labels in rule.measured.labels])
    rows = np.bincount(value, rule.measured.sides[2].n)
    rare = rows < _RARE * rows.sum()
    value = np.unique(np.where(rare[value], len(rows), value), return_inverse=True)[1]
    shape = (stratum.max() + 1, value.max() + 1)

    def tabled(side: Side) -> Side:
        found = added(side, stratum * shape[1] + value, shape[0] * shape[1])
        return Side(*(each.reshape(shape) for each in found))

    covered, failing, everything = map(tabled, rule.measured.sides)
    return covered, failing, everything


def _summed(side: Side) -> Side:
    """Return the rows of each stratum of the other controls, over all values."""
    n_strata, n_values = side.n.shape
    flat = Side(*(each.ravel() for each in side))
    return added(flat, np.repeat(np.arange(n_strata), n_values), n_strata)


def _numbered(keys: Sequence[Hashable]) -> NDArray[np.intp]:
    places: dict[Hashable, int] = {}
    return np.array([places.setdefault(key, len(places)) for key in keys], np.intp)
