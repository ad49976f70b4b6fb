"""Overlap: where a rule always or never holds, its rows have no counterpart, and the data cannot tell its effect."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from causalrules import estimators
from causalrules.exceptions import CausalRulesWarning
from causalrules.options import Share
from causalrules.trust.evidence import Overlap, RuleEvidence

if TYPE_CHECKING:
    from causalrules.result.rule import RuleResult
    from causalrules.result.rules import RuleSet

MOST = 0.1


def measure(rule: RuleResult) -> Overlap:
    """The strata without counterpart, their rows, and the effect with and without them.

    In such a stratum one of the two probabilities was never seen and may be anything from 0 to 1: hence the bounds
    on the effect over all rows (Manski 1990).
    """
    a, b, c, d = np.array(rule.counts, dtype=np.float64).T
    rows = a + b + c + d
    alone = ((a + b == 0) | (c + d == 0)) & (rows > 0)
    known = float(estimators.plugin_effect(a, b, c, d))
    weight = rows / rows.sum()
    # Where the rule never holds, the effect is (anything in [0, 1]) − q; where it always holds, p − (anything).
    always, never = alone & (c + d == 0), alone & (a + b == 0)
    p, q = np.divide(a, rows, where=always, out=np.zeros_like(a)), np.divide(c, rows, where=never, out=np.zeros_like(c))
    low = known + float(np.sum((weight * (p - 1))[always]) - np.sum((weight * q)[never]))
    high = known + float(np.sum((weight * p)[always]) + np.sum((weight * (1 - q))[never]))
    return Overlap(
        n_strata=int(alone.sum()),
        n_rows=int(rows[alone].sum()),
        share=float(weight[alone].sum()),
        effect=None if math.isnan(rule.effect) else rule.effect,
        effect_with=known,
        low=low,
        high=high,
    )


def overlap(rules: RuleSet, *, most: float = MOST) -> RuleSet:
    """Return the rules with the strata that have no counterpart; warn where they hold more than `most` of the rows."""
    most = Share()("most", most)
    measured = []
    for rule in rules:
        evidence = replace(rule.evidence or RuleEvidence(), overlap=measure(rule))
        measured.append(replace(rule, evidence=evidence))
    wanting = [rule for rule in measured if 1 - rule.overlap > most]
    if wanting:
        worst = min(wanting, key=lambda rule: rule.overlap)
        warnings.warn(
            f"{len(wanting)} of {len(measured)} rules have no counterpart for more than {most:.0%} of the rows; "
            f"{worst.text!r:.200} for {1 - worst.overlap:.0%}, in whose strata of {', '.join(rules.question.controls)} "
            f"it always or never holds. The {rules.noun} speaks for the other rows only: use fewer controls or "
            "coarser bins, or state the result for those rows.",
            CausalRulesWarning,
            stacklevel=3,
        )
    return replace(rules, rules=tuple(measured))
