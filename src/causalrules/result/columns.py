"""Alerts about the columns of rules: consequences of the outcome."""

from __future__ import annotations

from collections.abc import Sequence

from causalrules.alerts import LEAK, Alert
from causalrules.result.rule import RuleResult
from causalrules.text import points

# Minimum difference, and minimum rows on each side, to report that a column nearly determines the outcome.
_DETERMINES, _FEW = 0.95, 20


def leaks(rules: Sequence[RuleResult]) -> tuple[Alert, ...]:
    """Return an alert for a column that nearly determines the outcome: it may be a consequence of the outcome."""
    for rule in rules:
        few = min(rule.n_covered, rule.n_failing) < _FEW
        columns = {condition.column for condition in rule.conditions}
        if rule.kind.binary and not few and len(columns) == 1 and abs(rule.marginal_effect) >= _DETERMINES:
            (column,) = columns
            sentence = (
                f"column {column!r} nearly determines the outcome (a difference of "
                f"{points(abs(rule.marginal_effect))}); if it is a consequence of the outcome, leave it out"
            )
            return (Alert(LEAK, (column,), sentence),)
    return ()
