"""Unmeasured confounding: how strong a confounder must be to explain an effect away.

Only the counts of a rule in the strata are needed, so results read from a file work too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from causalrules import estimators
from causalrules.estimators import Side
from causalrules.trust.evidence import ControlStrength, Sensitivity, with_evidence

if TYPE_CHECKING:
    from causalrules.result.rule import RuleResult
    from causalrules.result.rules import RuleSet

Counts = Sequence[tuple[int, int, int, int]]
# Values of a control with a smaller share of the rows are merged.
_RARE = 0.05


def e_value(risk_ratio: float) -> float:
    """Return the E-value of a risk ratio (VanderWeele & Ding 2017).

    E = RR + √(RR·(RR − 1)), with 1/RR in place of RR < 1: the smallest risk ratio that a confounder must have with
    both the rule and the outcome for no effect to look like RR.

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


def risk_ratio_and_limit(counts: Counts, confidence: float = 0.95) -> tuple[float, float] | None:
    """Return `estimators.risk_ratio` and the end of its interval nearer to 1; None if no stratum has both sides."""
    ratio, error = estimators.risk_ratio(*np.array(counts).T)
    if math.isnan(ratio):
        return None
    reach = math.exp(estimators.beta_of_confidence(confidence) * error)
    return ratio, max(1.0, ratio / reach) if ratio >= 1 else min(1.0, ratio * reach)


def control_strengths(rule: RuleResult) -> tuple[ControlStrength, ...]:
    """Compute each control's own risk ratios with the rule and the outcome, and the effect not adjusted for it.

    Values with less than 5 % of the rows are merged and shares are Laplace-corrected, so that a few rows do not make a
    control look strong.
    """
    found = []
    for name in rule.labels[0] if rule.labels else ():
        levels = np.array(list(_merged(rule, [name]).values()), dtype=np.float64)[:, :4]
        rare = levels.sum(axis=1) < _RARE * levels.sum()
        a, b, c, d = np.vstack([levels[~rare], levels[rare].sum(axis=0)] if rare.any() else [levels]).T
        on = (a + b + 1) / np.sum(a + b + 1)
        off = (c + d + 1) / np.sum(c + d + 1)
        with_rule = float(np.max(np.maximum(on / off, off / on)))
        sides = ((a + 1) / (a + b + 2), (c + 1) / (c + d + 2))
        with_outcome = max(float(side.max() / side.min()) for side in sides)
        without = _merged(rule, [other for other in rule.labels[0] if other != name])
        a, b, c, d, u, v = np.array(list(without.values())).T
        covered, failing = Side.binary(a, b), Side.binary(c, d)
        everything = Side.binary(a + c + u, b + d + v)
        effect = estimators.standardised(covered.mean - failing.mean, covered, failing, everything)
        found.append(
            ControlStrength(
                control=name,
                with_rule=with_rule,
                with_outcome=with_outcome,
                strength=e_value(bias_factor(with_rule, with_outcome)),
                effect_without=None if math.isnan(effect) else effect,
            )
        )
    return tuple(sorted(found, key=lambda control: -control.strength))


def sensitivity(rules: RuleSet, *, confidence: float = 0.95) -> RuleSet:
    """Implement `RuleSet.sensitivity`, with the counts of held-out rows where there are any."""
    judged = []
    for rule in rules:
        if rule.is_mean:  # risk ratios are of outcomes that happen or not
            judged.append(rule)
            continue
        honest = rule.evidence.honest if rule.evidence else None
        found = risk_ratio_and_limit(honest.counts if honest and honest.counts else rule.counts, confidence)
        judged.append(rule if found is None else with_evidence(rule, sensitivity=_judged(rule, *found)))
    return replace(rules, rules=tuple(judged))


def _judged(rule: RuleResult, ratio: float, limit: float) -> Sensitivity:
    value, value_limit = e_value(ratio), e_value(limit)
    controls = control_strengths(rule)
    sentence = (
        f"To explain it away, a confounder needs risk ratios of {value:.2f} with both the rule and the outcome, beyond "
        f"the controls ({_to_include_zero(value_limit)})"
    )
    if controls:
        strongest = controls[0]
        sentence += (
            f": {value / strongest.strength:.1f} times as strong as {strongest.control!r}, the strongest measured "
            f"control ({strongest.strength:.2f})"
        )
    else:
        sentence += "; there is no measured control to compare it with"
    return Sensitivity(ratio, limit, value, value_limit, controls, sentence + ".")


def _to_include_zero(value_limit: float) -> str:
    return f"{value_limit:.2f} for the interval" if value_limit > 1 else "the interval already includes no effect"


def _merged(rule: RuleResult, names: Sequence[str]) -> dict[tuple[str, ...], list[int]]:
    """Return a, b, c, d and the undecided rows, with the outcome and without, in the strata of these controls only."""
    merged: dict[tuple[str, ...], list[int]] = {}
    undecided = rule.undecided or [(0, 0)] * len(rule.counts)
    for labels, table, rest in zip(rule.labels, rule.counts, undecided, strict=True):
        cells = merged.setdefault(tuple(labels[name] for name in names), [0] * 6)
        for place, count in enumerate((*table, *rest)):
            cells[place] += count
    return merged
