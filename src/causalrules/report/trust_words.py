"""The evidence in words: one line per rule, and how it was obtained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from causalrules.report.rule_words import MARK, calibrated, least
from causalrules.result.evidence import BEST, RuleEvidence
from causalrules.text import counted, percent

if TYPE_CHECKING:
    from causalrules.language.kinds import OutcomeKind
    from causalrules.result.evidence import (
        Calibration,
        ConditionStability,
        HonestEffect,
        HonestRun,
        Sensitivity,
        Simultaneous,
    )
    from causalrules.result.result import Result
    from causalrules.result.rule import RuleResult

_LIMIT = "the time limit ended"


def lines(rules: Result) -> list[str]:
    """Describe the evidence, one line per rule, and how it was obtained; empty without evidence."""
    found = [f"{place}: {line}" for place, rule in enumerate(rules, 1) if (line := of_rule(rule, rules))]
    heading = [f"{title(rules)}:"] if found else []
    return [*heading, *found, *obtained(rules)]


def title(rules: Result) -> str:
    """Return the heading of the evidence."""
    return "Trust"


def _together(rules: Result) -> Simultaneous | None:
    return next((rule.evidence.simultaneous for rule in rules if rule.evidence and rule.evidence.simultaneous), None)


def first_place(rules: Result) -> list[str]:
    """Describe the effect on held-out rows of the rules found first in searches of other rows: of the procedure."""
    run = None if rules.evidence is None else rules.evidence.honest
    known = rules[0].evidence.honest if len(rules) and rules[0].evidence else None
    if run is None or known is None or known.splits < 2:
        return []
    alike = known.found if known.alike is None else known.alike
    which = f"rule 1 or one like it in {alike} of {known.splits}"
    measured = _honest(known, rules.kind, unit=True)
    return [f"on held-out rows, the rule found first in searches of other rows: {measured}; {which}"]


def of_rule(rule: RuleResult, rules: Result) -> str:
    """Return the word for the evidence, the known numbers, and the doubts."""
    if rule.evidence is None:
        return ""
    names = headings(rules)
    line = ", ".join(f"{name} {cell}" for name, cell in zip(names, cells(rule), strict=True) if cell)
    return "; ".join([f"{rule.verdict.evidence}: {line}", *why_not(rule, rules)])


def headings(rules: Result) -> tuple[str, ...]:
    """Return the names of the cells of `cells`."""
    run = None if rules.evidence is None else rules.evidence.honest
    where = "on new rows" if run is not None and run.source == "second table" else "on held-out rows"
    described = RuleEvidence.described().values()
    return (f"{where}{rules.kind.in_units}", "Γ", "E-value", "compared", "reappears", *described)


def table(rules: Result) -> list[list[str]]:
    """Return the evidence as headings and rows, without empty columns; empty if all columns are."""
    if all(rule.evidence is None for rule in rules):
        return []
    rows = [list(cells(rule)) for rule in rules]
    known = [place for place in range(len(headings(rules))) if any(row[place] for row in rows)]
    if not known:
        return []
    named = [["#", *(headings(rules)[place] for place in known)]]
    return named + [[str(number), *(row[place] or "–" for place in known)] for number, row in enumerate(rows, 1)]


def why_not(rule: RuleResult, rules: Result) -> list[str]:
    """Return the doubts about a rule, and its superfluous conditions."""
    said = [f"why not: {'; '.join(rule.verdict.doubts)}"] if rule.verdict.doubts else []
    known = None if rule.evidence is None else rule.evidence.conditions
    if known is None or not rule.verdict.found or not rule.superfluous or rule.length == 1:
        return said
    named = ", ".join(f"{each.text} (p {each.p_value:.2g})" for each in rule.superfluous)
    left = f"{rule.kind.difference(known.effect)}, {known.n_covered:,} rows"
    return [*said, f"{MARK} not shown to matter beside the rest: {named}; without: {left}"]


def cells(rule: RuleResult) -> tuple[str, ...]:
    """Return the numbers: held-out rows if this rule was measured on them, Γ, E-value, overlap and stability."""
    evidence = rule.evidence or RuleEvidence()
    honest, robust = evidence.honest, robustness(rule)
    return (
        "" if honest is None or not honest.own else _honest(honest, rule.kind),
        "" if robust is None else _factor(robust.gamma_limit),
        "" if robust is None else _factor(robust.e_value_limit),
        "" if evidence.overlap is None else percent(1 - evidence.overlap.share, 0),
        "" if evidence.stability is None else percent(evidence.stability.nearly, 0),
        *(
            "" if (part := getattr(evidence, name)) is None else part.cell(rule.kind)
            for name in RuleEvidence.described()
        ),
    )


def robustness(rule: RuleResult) -> Sensitivity | None:
    """Return how strong a hidden confounder must be; None if unknown, or if there is nothing to explain away."""
    known = None if rule.evidence is None else rule.evidence.sensitivity
    return None if known is None or rule.verdict.evidence == "not supported" or known.includes_zero else known


def _factor(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def condition_cells(condition: ConditionStability) -> tuple[str, str, str]:
    """Return a condition, how often it reappears, and the range of its cut point."""
    low, high = condition.low, condition.high
    cut_points = "" if low is None or high is None else low if low == high else f"{low} to {high}"
    return condition.condition, percent(condition.share, 0), cut_points


def confirmed(rules: Result) -> list[str]:
    """Describe which rules are confirmed by new or held-out rows that were not searched."""
    run = None if rules.evidence is None else rules.evidence.honest
    if run is None or run.splits > 1 or not rules:
        return []
    where = "a second table" if run.source == "second table" else "held-out rows"
    said = [
        f"rule {place} {'yes' if holds else 'no'}" + ("" if p is None else f" (p = {p:.2g})")
        for place, (rule, holds) in enumerate(zip(rules, rules.confirmed, strict=True), 1)
        for p in [None if rule.evidence is None or rule.evidence.honest is None else rule.evidence.honest.p_value]
    ]
    which = f"{sum(map(bool, rules.confirmed))} of {counted(len(rules), 'rule')}"
    return [
        f"confirmed on {where} of {counted(run.n_estimation, 'row')}: {which} "
        f"(one-sided p, adjusted for their number): {'; '.join(said)}"
    ]


def needed(rules: Result) -> list[str]:
    """Return necessary remarks on the table: which rules are confirmed, and what a time limit cut short."""
    return [*confirmed(rules), *(sentence for sentence in obtained(rules) if _LIMIT in sentence)]


def obtained(rules: Result) -> list[str]:
    """Describe how the evidence was obtained."""
    evidence = rules.evidence
    if evidence is None:
        return []
    sentences = confirmed(rules)
    if (run := evidence.permutation) is not None:
        how = "all" if run.exact else f"{run.permutations:,} of at most {max(run.asked, run.permutations):,}"
        what = f"for the search ({run.method}"
        if run.method == "fixed rules":
            what = "for the number of rules (Holm, two-sided"
        sentences.append(
            f"p: adjusted {what}, {how} permutations within strata)" + _cut_short(run.cut_short, "as good")
        )
    if (together := _together(rules)) is not None:
        sentences.append(
            f"{least(rules)}: with {percent(together.confidence, 0)} confidence for all rules of the list "
            f"together, after the search ({together.permutations:,} permutations within strata)"
        )
    if evidence.calibration is not None:
        sentences.append(_calibration(evidence.calibration, rules.noun, rules.kind))
    if evidence.honest is not None:
        sentences.append(_source(evidence.honest))
    if any(robustness(rule) for rule in rules):
        sentences.append(
            "Γ, E-value: how strong a hidden confounder must be, beyond the controls, for the interval to reach 0 (as "
            "a factor of the odds of the rule; as risk ratios with rule and outcome)"
        )
    if (stability := evidence.stability) is not None:
        of_each = f" ({percent(stability.share, 0)} of the rows)" if stability.method == "subsample" else ""
        searched = _of(stability.replicates, stability.asked, _samples(rules))
        among = "in the lists" if rules.question.is_stepwise else f"among the {BEST} best rules"
        sentences.append(f"reappears: it or nearly the same rule, {among} of {searched}{of_each}")
    return sentences


def _honest(honest: HonestEffect, kind: OutcomeKind, unit: bool = False) -> str:
    share = percent(honest.overlap, 0)
    for_whom = "" if honest.effect is None or share == "100 %" else f" for {share} of them"
    shown = kind.with_interval if unit else kind.figures
    return shown(honest.effect, honest.low, honest.high) + for_whom


def _calibration(calibration: Calibration, noun: str, kind: OutcomeKind) -> str:
    said = (
        f"β = {calibration.beta:g}, {calibrated(calibration)} "
        f"({_of(calibration.permutations, calibration.asked, 'permutations')})"
        f"{_cut_short(calibration.cut_short, 'above any β')}"
    )
    if calibration.value is None or calibration.usual_value is None:
        return said
    return (
        f"{said}; the best conservative {noun} is {kind.difference(calibration.value)}, and "
        f"{kind.difference(calibration.usual_value)} with β = {calibration.usual_beta:g}"
    )


def _source(run: HonestRun) -> str:
    source = {
        "holdout": f"{counted(run.n_estimation, 'row')} held out, {run.n_discovery:,} searched",
        "second table": f"a second table of {counted(run.n_estimation, 'row')}",
        "forward chaining": f"forward chaining, {_of(run.splits, run.asked, 'blocks')}, each measured with the rule "
        "that a search of the rows before it finds in the same place",
    }.get(run.source, run.source)
    return f"held-out rows: {source}; {percent(run.level, 0)} intervals"


def _samples(rules: Result) -> str:
    run = None if rules.evidence is None else rules.evidence.stability
    return "bootstrap samples" if run is not None and run.method == "bootstrap" else "subsamples"


def _of(done: int, asked: int, what: str) -> str:
    return f"{done:,} {what}" if done == asked else f"{done:,} of {asked:,} {what} ({_LIMIT} the rest)"


def _cut_short(count: int, taken: str) -> str:
    return f"; {_LIMIT} {count:,} of them early, which count as {taken}" if count else ""
