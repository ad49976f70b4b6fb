"""Overlap: the rows in strata where a rule always or never holds, which have no comparison group."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from causalrules import estimators
from causalrules.exceptions import CausalRulesWarning
from causalrules.options import Share
from causalrules.text import percent
from causalrules.trust.evidence import Overlap, with_evidence

if TYPE_CHECKING:
    from causalrules.result.rule import RuleResult
    from causalrules.result.rules import RuleSet

# Default share of rows without a comparison group above which to warn.
MOST = 0.1


def measure(rule: RuleResult) -> Overlap:
    """Find the strata without a comparison group, their rows, and the effect with and without them.

    In such a stratum one of the two probabilities was not observed and may be anything from 0 to 1, which bounds the
    effect over all rows (Manski 1990).
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
    """Implement `RuleSet.overlap`."""
    most = Share()("most", most)
    measured = [with_evidence(rule, overlap=measure(rule)) for rule in rules]
    wanting = [rule for rule in measured if 1 - rule.overlap > most]
    if wanting:
        worst = min(wanting, key=lambda rule: rule.overlap)
        warnings.warn(
            f"{len(wanting)} of {len(measured)} rules lack a comparison group for more than {percent(most, 0)} of the "
            f"rows; {worst.text!r:.200} for {percent(1 - worst.overlap, 0)}: in their strata of "
            f"{', '.join(rules.question.controls)} it always or never holds. Its {rules.noun} is that of the other "
            "rows: use fewer controls or coarser bins, or report it for those rows only.",
            CausalRulesWarning,
            stacklevel=3,
        )
    return replace(rules, rules=tuple(measured))
