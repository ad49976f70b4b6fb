"""Overlap: the rows in strata where a rule always or never holds, which have no comparison group."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from causalrules.estimators.sides import comparable
from causalrules.exceptions import CausalRulesWarning
from causalrules.options import Share
from causalrules.result.evidence import Overlap, with_evidence
from causalrules.text import percent

if TYPE_CHECKING:
    from causalrules.result.result import R
    from causalrules.result.rule import RuleResult

# Default share of rows without a comparison group above which to warn.
MOST = 0.1


def measure(rule: RuleResult) -> Overlap:
    """Find the strata without a comparison group, their rows, and the effect with and without them.

    In such a stratum one of the two probabilities is unobserved and can have any value from 0 to 1, which bounds the
    effect over all rows (Manski 1990).
    """
    covered, failing, everything = rule.measured.sides
    rows = everything.n
    inside = comparable(covered, failing)
    alone = ~inside & (rows > 0)
    weight = rows / rows.sum()
    known = float(np.sum((weight * (covered.mean - failing.mean))[inside]))
    low = high = None
    if rule.kind.binary:
        # Where the rule never holds, the effect is x − q with any x in [0, 1]; where it always holds, p − x.
        p, q = covered.mean, failing.mean
        always, never = alone & (covered.n > 0), alone & (failing.n > 0)
        neither = alone & ~always & ~never
        low = known + float(np.sum((weight * (p - 1))[always]) - np.sum((weight * q)[never]) - weight[neither].sum())
        high = known + float(np.sum((weight * p)[always]) + np.sum((weight * (1 - q))[never]) + weight[neither].sum())
    return Overlap(
        n_strata=int(alone.sum()),
        n_rows=int(rows[alone].sum()),
        share=float(weight[alone].sum()),
        effect=None if math.isnan(rule.effect) else rule.effect,
        effect_with=known,
        low=low,
        high=high,
    )


def overlap(rules: R, *, most: float = MOST) -> R:
    """Implement `RuleSet.overlap`."""
    most = Share()("most", most)
    measured = [with_evidence(rule, overlap=measure(rule)) for rule in rules]
    wanting = [rule for rule in measured if 1 - rule.overlap > most]
    if wanting:
        worst = min(wanting, key=lambda rule: rule.overlap)
        warnings.warn(
            f"{len(wanting)} of {len(measured)} rules lack a comparison group for more than {percent(most, 0)} of the "
            f"rows; {worst.text!r:.200} for {percent(1 - worst.overlap, 0)}: in their strata of "
            f"{', '.join(worst.control or rules.question.controls)} it always or never holds. Its {rules.noun} is "
            "that of the other rows: use fewer controls or coarser bins, or report it for those rows only.",
            CausalRulesWarning,
            stacklevel=3,
        )
    return replace(rules, rules=tuple(measured))
