"""The evidence in words: one line for each rule, and how it was obtained."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from causalrules.result import RuleResult, RuleSet


def lines(rules: RuleSet) -> list[str]:
    """What is known about how far the rules can be trusted; empty where nothing was asked."""
    found = [f"{place}: {line}" for place, rule in enumerate(rules, 1) if (line := of_rule(rule))]
    return [*(["how far to trust them:"] if found else []), *found, *obtained(rules)]


def of_rule(rule: RuleResult) -> str:
    """Effect, interval, adjusted p, E-value, overlap, stability and verdict, as far as they are known."""
    evidence = rule.evidence
    if evidence is None:
        return ""
    low, high = rule.interval()
    parts = [f"effect {_signed(rule.effect)} ({_signed(low)} to {_signed(high)})"]
    honest = evidence.honest
    if honest is not None and honest.effect is not None and honest.low is not None and honest.high is not None:
        parts.append(f"on unseen rows {_signed(honest.effect)} ({_signed(honest.low)} to {_signed(honest.high)})")
    elif honest is not None:
        parts.append("not measurable on unseen rows")
    if rule.p_value is not None:
        parts.append(f"adjusted p {rule.p_value:.3g}")
    if evidence.sensitivity is not None:
        found = evidence.sensitivity
        parts.append(f"E-value {found.e_value:.2f} (interval {found.e_value_limit:.2f})")
    if evidence.overlap is not None:
        parts.append(f"overlap {1 - evidence.overlap.share:.0%}")
    if evidence.stability is not None:
        parts.append(f"returns {evidence.stability.nearly:.0%}")
    line = ", ".join(parts)
    if evidence.verdict is not None:
        line = f"{evidence.verdict.word}: {line}"
        if evidence.verdict.doubts:
            line += f"; against it: {'; '.join(evidence.verdict.doubts)}"
    return line


def obtained(rules: RuleSet) -> list[str]:
    """How the evidence was obtained."""
    evidence = rules.evidence
    if evidence is None:
        return []
    sentences = []
    if (run := evidence.permutation) is not None:
        how = "all" if run.exact else f"{run.permutations:,} of at most {run.asked:,}"
        sentences.append(
            f"adjusted p: {run.method}, over the best rules of {how} permutations of the outcome within the strata"
        )
    if (calibration := evidence.calibration) is not None:
        usual, value = _number(calibration.usual_value), _number(calibration.value)
        sentences.append(
            f"β = {calibration.beta:g} was calibrated on {calibration.permutations} permutations: the best of noise "
            f"is at most 0 in {calibration.confidence:.0%} of cases; the price: the best reliable effect is {value} "
            f"instead of {usual} at β = {calibration.usual_beta:g}"
        )
    if (honest := evidence.honest) is not None:
        where = {
            "holdout": f"{honest.n_estimation:,} rows held out, {honest.n_discovery:,} searched",
            "second table": f"a second table of {honest.n_estimation:,} rows",
            "cross-fitting": f"the rule in the same place of {honest.splits} searches, on the rows each left out",
        }.get(honest.source, honest.source)
        sentences.append(f"unseen rows: {where}; intervals of {honest.level:.0%}, Holm's p over the rules")
    if (stability := evidence.stability) is not None:
        of_each = f" of {stability.share:.0%} of the rows" if stability.method == "subsample" else ""
        sentences.append(f"returns: among the best of {stability.replicates} searches on {stability.method}s{of_each}")
    return sentences


def _signed(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:+.3f}".replace("-", "−")


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}".replace("-", "−")
