"""Unmeasured confounding: what would a confounder have to be like to explain the effect away?

Everything follows from a rule's counts in the strata, so that a result read from a file can be judged too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from causalrules import estimators
from causalrules.trust.evidence import ControlStrength, RuleEvidence, Sensitivity

if TYPE_CHECKING:
    from causalrules.result.rule import RuleResult
    from causalrules.result.rules import RuleSet

Counts = Sequence[tuple[int, int, int, int]]
_RARE = 0.05


def e_value(risk_ratio: float) -> float:
    """Return the E-value of a risk ratio (VanderWeele & Ding 2017).

    E = RR + √(RR·(RR − 1)), with 1/RR in place of RR < 1: the least risk ratio that a confounder must have with the
    rule and with the outcome, both, to make a null effect look like RR.

    >>> round(e_value(3.9), 2), round(e_value(1.8), 1)
    (7.26, 3.0)
    """
    ratio = max(risk_ratio, 1 / risk_ratio)
    return ratio + math.sqrt(ratio * (ratio - 1))


def bias_factor(with_rule: float, with_outcome: float) -> float:
    """Return by how much at most a confounder with these risk ratios can shift a risk ratio (Ding & VanderWeele 2016).

    B = r·s / (r + s − 1)

    >>> round(bias_factor(7.26, 7.26), 1)
    3.9
    """
    return with_rule * with_outcome / (with_rule + with_outcome - 1)


def risk_ratio(counts: Counts, confidence: float = 0.95) -> tuple[float, float] | None:
    """Return p_do_rule / p_do_not_rule and the end of its interval nearer to 1; None where no stratum has both sides.

    The interval is the delta method's on the log scale: var(log RR) = var(p)/p² + var(q)/q², with p and q
    standardised over the strata with overlap, and the variances of `estimators.standard_error`, so that no side is
    taken to be certain. Where p or q is 0, half a row is added to each of their cells.
    """
    a, b, c, d = np.array(counts, dtype=np.float64).T
    inside = (a + b > 0) & (c + d > 0)
    if not inside.any():
        return None
    a, b, c, d = a[inside], b[inside], c[inside], d[inside]
    weight = (a + b + c + d) / np.sum(a + b + c + d)
    variances = [float(np.sum(weight**2 * estimators.share_variance(*side))) for side in ((a, b), (c, d))]
    if not (a.sum() > 0 and c.sum() > 0):
        a, b, c, d = a + 0.5, b + 0.5, c + 0.5, d + 0.5
    treated, untreated = float(np.sum(weight * a / (a + b))), float(np.sum(weight * c / (c + d)))
    variance = variances[0] / treated**2 + variances[1] / untreated**2
    ratio = treated / untreated
    reach = math.exp(estimators.beta_of_confidence(confidence) * math.sqrt(variance))
    return ratio, max(1.0, ratio / reach) if ratio >= 1 else min(1.0, ratio * reach)


def control_strengths(rule: RuleResult) -> tuple[ControlStrength, ...]:
    """Each control's own risk ratios with the rule and the outcome, and the effect without adjusting for it.

    Values of the control that fewer than 5 % of the rows have are taken together and shares are Laplace-corrected, so
    that a few rows do not make a control look strong.
    """
    found = []
    for name in rule.labels[0] if rule.labels else ():
        levels = np.array(list(_merged(rule, [name]).values()), dtype=np.float64)
        rare = levels.sum(axis=1) < _RARE * levels.sum()
        a, b, c, d = np.vstack([levels[~rare], levels[rare].sum(axis=0)] if rare.any() else [levels]).T
        on = (a + b + 1) / np.sum(a + b + 1)
        off = (c + d + 1) / np.sum(c + d + 1)
        with_rule = float(np.max(np.maximum(on / off, off / on)))
        sides = ((a + 1) / (a + b + 2), (c + 1) / (c + d + 2))
        with_outcome = max(float(side.max() / side.min()) for side in sides)
        without = _merged(rule, [other for other in rule.labels[0] if other != name])
        effect = estimators.effect(*np.array(list(without.values())).T)
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
    """Return the rules with their E-values, measured against each control; with honest counts where there are any."""
    judged = []
    for rule in rules:
        honest = rule.evidence.honest if rule.evidence else None
        ratios = risk_ratio(honest.counts if honest and honest.counts else rule.counts, confidence)
        if ratios is not None:
            evidence = replace(rule.evidence or RuleEvidence(), sensitivity=_judged(rule, *ratios))
            rule = replace(rule, evidence=evidence)
        judged.append(rule)
    return replace(rules, rules=tuple(judged))


def _judged(rule: RuleResult, ratio: float, limit: float) -> Sensitivity:
    value, value_limit = e_value(ratio), e_value(limit)
    controls = control_strengths(rule)
    sentence = (
        f"To explain it away, a confounder would need risk ratios of {value:.2f} with both the rule and the outcome, "
        f"beyond the controls ({_for_the_interval(value_limit)})"
    )
    if controls:
        strongest = controls[0]
        sentence += (
            f": it would have to be {value / strongest.strength:.1f} times as strong as {strongest.control!r}, the "
            f"strongest measured control ({strongest.strength:.2f})"
        )
    else:
        sentence += "; no control was measured that it could be compared with"
    return Sensitivity(ratio, limit, value, value_limit, controls, sentence + ".")


def _for_the_interval(value_limit: float) -> str:
    if value_limit <= 1:
        return "none is needed to make it uncertain: the risk ratio's interval includes 1"
    return f"{value_limit:.2f} to move the interval to no difference"


def _merged(rule: RuleResult, names: Sequence[str]) -> dict[tuple[str, ...], list[int]]:
    """The counts of the strata formed by these controls alone."""
    merged: dict[tuple[str, ...], list[int]] = {}
    for labels, table in zip(rule.labels, rule.counts, strict=True):
        cells = merged.setdefault(tuple(labels[name] for name in names), [0, 0, 0, 0])
        for place, count in enumerate(table):
            cells[place] += count
    return merged
