"""The evidence in words: one line for each rule, and how it was obtained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from causalrules.report.words import INTERVALS, calibrated
from causalrules.text import counted, with_interval
from causalrules.trust.evidence import BEST, ConditionStability, HonestEffect, RuleEvidence

if TYPE_CHECKING:
    from causalrules.result.rule import RuleResult
    from causalrules.result.rules import RuleSet


def lines(rules: RuleSet) -> list[str]:
    """What is known about how far the rules can be trusted; empty where nothing was asked."""
    found = [f"{place}: {line}" for place, rule in enumerate(rules, 1) if (line := of_rule(rule, rules))]
    heading = f"how far to trust them (but for those on unseen rows, {INTERVALS}):"
    return [*([heading] if found else []), *found, *obtained(rules)]


def of_rule(rule: RuleResult, rules: RuleSet) -> str:
    """Effect, interval, adjusted p, E-value, overlap, stability and verdict, as far as they are known."""
    if rule.evidence is None:
        return ""
    names = (rules.noun, "on unseen rows", "adjusted p", "E-value", "overlap", "returns")
    word, *known = cells(rule)
    line = ", ".join(f"{name} {cell}" for name, cell in zip(names, known, strict=True) if cell)
    verdict = rule.evidence.verdict
    if verdict is None:
        return line
    return f"{word}: {line}" + (f"; against it: {'; '.join(verdict.doubts)}" if verdict.doubts else "")


def cells(rule: RuleResult) -> tuple[str, str, str, str, str, str, str]:
    """Verdict, effect, honest effect, adjusted p, E-value, overlap and stability; empty where not known."""
    evidence = rule.evidence or RuleEvidence()
    honest, sensitivity = evidence.honest, evidence.sensitivity
    return (
        "" if evidence.verdict is None else evidence.verdict.word,
        with_interval(rule.effect, *rule.interval),
        "" if honest is None else _honest(honest),
        "" if rule.p_value is None else f"{rule.p_value:.3g}",
        "" if sensitivity is None else f"{sensitivity.e_value:.2f} (interval {sensitivity.e_value_limit:.2f})",
        "" if evidence.overlap is None else f"{1 - evidence.overlap.share:.0%}",
        "" if evidence.stability is None else f"{evidence.stability.nearly:.0%}",
    )


def condition_cells(condition: ConditionStability) -> tuple[str, str, str]:
    """A condition, how often it returned, and the range of its cut points."""
    low, high = condition.low, condition.high
    cut_points = "" if low is None or high is None else low if low == high else f"{low} to {high}"
    return condition.condition, f"{condition.share:.0%}", cut_points


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
            + _cut_short(run.cut_short, "as good")
        )
    if (calibration := evidence.calibration) is not None:
        usual, value = calibration.usual_value, calibration.value
        price = ""
        if usual is not None and value is not None:
            # Where noise is weak a smaller β is enough, and more is left of the best rule.
            what = "the price" if calibration.beta > calibration.usual_beta else "with it"
            price = (
                f"; {what}: the best reliable {rules.noun} is {_number(value)} instead of {_number(usual)} at "
                f"β = {calibration.usual_beta:g}"
            )
        times = _of(calibration.permutations, calibration.asked, "permutations")
        sentences.append(
            f"β = {calibration.beta:g} is {calibrated(calibration)}, by {times}"
            f"{_cut_short(calibration.cut_short, 'above any β')}{price}"
        )
    if (honest := evidence.honest) is not None:
        where = {
            "holdout": f"{counted(honest.n_estimation, 'row')} held out, {honest.n_discovery:,} searched",
            "second table": f"a second table of {counted(honest.n_estimation, 'row')}",
            "cross-fitting": f"the rule in the same place of {_of(honest.splits, honest.asked, 'searches')}, on the "
            "rows each left out",
        }.get(honest.source, honest.source)
        sentences.append(f"unseen rows: {where}; intervals of {honest.level:.0%}")
    if (stability := evidence.stability) is not None:
        of_each = f" of {stability.share:.0%} of the rows" if stability.method == "subsample" else ""
        best = "best" if rules.question.similarity is None else "best ideas"
        searches = _of(stability.replicates, stability.asked, "searches")
        sentences.append(f"returns: among the {BEST} {best} of {searches} on {stability.method}s{of_each}")
    return sentences


def _honest(honest: HonestEffect) -> str:
    """The effect on unseen rows, and for how many of them it speaks where that is not all."""
    said, share = with_interval(honest.effect, honest.low, honest.high), f"{honest.overlap:.0%}"
    return said if honest.effect is None or share == "100%" else f"{said} for {share} of them"


def _of(done: int, asked: int, what: str) -> str:
    """How often something was done, and if less often than asked, why."""
    return f"{done:,} {what}" if done == asked else f"{done:,} of {asked:,} {what} (the time limit allowed no more)"


def _cut_short(count: int, taken: str) -> str:
    return f"; the time limit cut {count:,} of them short, which count as {taken}" if count else ""


def _number(value: float) -> str:
    return f"{value:.4f}".replace("-", "−")
