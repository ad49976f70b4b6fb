"""Tests of rules that were named in advance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from causalrules.estimators.p_values import holm
from causalrules.result.rule import RuleResult


def tested(rules: Sequence[RuleResult]) -> tuple[RuleResult, ...]:
    """Return rules that were named in advance with their two-sided p-values, adjusted for their number."""
    adjusted = holm([rule.measured.p_value for rule in rules])
    return tuple(
        replace(rule, p_value=p, criterion=replace(rule.criterion, two_sided=rule.criterion.estimator == "pooled"))
        for rule, p in zip(rules, adjusted, strict=True)
    )
