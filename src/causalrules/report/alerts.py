"""The alerts of one rule: those of the result that are about its columns, and those that follow from its numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from causalrules.alerts import Alert
from causalrules.report.rule_words import stratum_name
from causalrules.text import counted, effective, percent

if TYPE_CHECKING:
    from causalrules.result.result import Result
    from causalrules.result.rule import RuleResult

# Number of largest strata that are tested for contradicting the rule.
_MOST_STRATA = 30
# Minimum shares of rows for an alert.
_CONTRADICTING, _LACKING, _UNDECIDED = 0.1, 0.2, 0.1
# Alert on a stratum with at least this share of the effect and at most that share of the rows.
_NEARLY_ALL, _PART = 0.9, 0.6


def of_rule(rule: RuleResult, rules: Result) -> tuple[Alert, ...]:
    """Return the alerts of one rule, the most serious first."""
    found = (
        _reversed(rule),
        _disagreeing(rule),
        _one_stratum(rule),
        _methods(rule),
        _lacking(rule),
    )
    columns = {*(condition.column for condition in rule.conditions), *rule.control, *rule.held_fixed}
    known = [alert for alert in rules.alerts if not alert.columns or columns & set(alert.columns)]
    return (*known, *(alert for alert in (*found, _undecided(rule), _untested(rule), _unproven(rules)) if alert))


def _reversed(rule: RuleResult) -> Alert | None:
    unadjusted, adjusted = rule.marginal_effect, rule.effect
    if len(rule.strata) < 2 or math.isnan(adjusted) or not unadjusted * adjusted < 0:
        return None
    return _about(
        rule,
        "adjusting reverses the sign",
        f"unadjusted the difference is {rule.kind.difference(unadjusted)}, adjusted "
        f"{rule.kind.difference(adjusted)} (Simpson's paradox)",
    )


def _disagreeing(rule: RuleResult) -> Alert | None:
    """Alert if the difference clearly has the other sign in strata with many rows."""
    if math.isnan(rule.effect):
        return None
    largest = sorted(range(len(rule.strata)), key=lambda place: -rule.strata[place].n)[:_MOST_STRATA]
    against = [rule.strata[place] for place in largest if _opposed(rule, place)]
    n_rows = sum(stratum.n for stratum in against)
    if not n_rows or n_rows < _CONTRADICTING * sum(stratum.n for stratum in rule.strata if stratum.overlap):
        return None
    return _about(
        rule,
        "strata disagree",
        f"in {_strata(len(against))} with {counted(n_rows, 'row')} the difference clearly has the opposite sign",
    )


def _opposed(rule: RuleResult, place: int) -> bool:
    """Return whether the interval of a stratum's difference is on the opposite side of 0 from the effect."""
    if not rule.strata[place].overlap:
        return False
    own = rule.strata[place].interval
    return own.high < 0 if rule.effect > 0 else own.low > 0


def _one_stratum(rule: RuleResult) -> Alert | None:
    """Alert if nearly all of the effect comes from one stratum."""
    compared = [stratum for stratum in rule.strata if stratum.overlap]
    n_rows = sum(stratum.n for stratum in compared)
    if len(compared) < 2 or math.isnan(rule.effect) or rule.effect == 0:
        return None
    parts = [stratum.n / n_rows * stratum.difference / rule.effect for stratum in compared]
    largest = int(np.argmax(parts))
    if parts[largest] < _NEARLY_ALL or compared[largest].n > _PART * n_rows:
        return None
    share = percent(compared[largest].n / n_rows, 0)
    return _about(
        rule,
        "one stratum carries it",
        f"nearly all of the difference comes from {stratum_name(compared[largest].labels)}, with {share} of the rows",
    )


def _methods(rule: RuleResult) -> Alert | None:
    """Alert if the doubly robust estimate disagrees with the strata."""
    found = None if rule.evidence is None else rule.evidence.doubly_robust
    # Where models give the effect, strata of the prediction only served the search.
    if found is None or found.agrees or rule.measured.modelled is not None:
        return None
    said = rule.kind.with_interval(found.effect, found.low, found.high)
    return _about(
        rule,
        "methods disagree",
        f"the doubly robust estimate, {said}, does not cover the strata's, {rule.kind.difference(found.strata)}",
    )


def _lacking(rule: RuleResult) -> Alert | None:
    said = []
    if 1 - rule.overlap > _LACKING:
        said.append(f"{percent(1 - rule.overlap, 0)} of the rows have no comparison group; the numbers leave them out")
    if rule.measured.thin:
        said.append(
            "in some strata few rows are on one side, and the estimate rests on them: it is worth "
            f"{effective(rule.effective_rows)}"
        )
    return _about(rule, "little overlap", "; ".join(said)) if said else None


def _undecided(rule: RuleResult) -> Alert | None:
    n_rows = rule.n_covered + rule.n_failing + rule.n_undecided
    share = rule.n_open / n_rows if n_rows else 0.0
    if share <= _UNDECIDED:
        return None
    said = f"{percent(share, 0)} of the rows have missing values that leave open whether the rule holds"
    return _about(rule, "many undecided rows", f"{said}, and are not compared")


def _untested(rule: RuleResult) -> Alert | None:
    if rule.verdict.basis != "nothing":
        return None
    return _about(rule, "not tested yet", "call rules.trust(), or use --trust, for a p-value and for held-out rows")


def _unproven(rules: Result) -> Alert | None:
    if rules.optimal or rules.is_named:
        return None
    return Alert("search not finished", (), "a better rule may exist: raise the time limit")


def _about(rule: RuleResult, kind: str, said: str) -> Alert:
    return Alert(kind, tuple(sorted({condition.column for condition in rule.conditions})), said)


def _strata(count: int) -> str:
    return "1 stratum" if count == 1 else f"{count:,} strata"
