"""The evidence as sections of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from causalrules.report import evidence as wording
from causalrules.text import counted, signed
from causalrules.trust.evidence import Overlap

if TYPE_CHECKING:
    from causalrules.report.sections import Section
    from causalrules.result.rule import RuleResult
    from causalrules.result.rules import RuleSet


def of_result(rules: RuleSet) -> tuple[Section, ...]:
    """All of the rules at a glance, and how the evidence was obtained."""
    from causalrules.report.sections import Section

    judged = [(place, rule) for place, rule in enumerate(rules, 1) if rule.evidence is not None]
    sentences = tuple(f"{sentence[0].upper()}{sentence[1:]}." for sentence in wording.obtained(rules))
    if not judged and not sentences:
        return ()
    # A heading that does not break keeps the column wide enough for the longest verdict.
    word = "all in one word".replace(" ", "\u00a0")
    headings = ("#", "rule", word, f"{rules.noun} on unseen rows", "adjusted p", "E-value", "overlap", "returns")
    rows = []
    for place, rule in judged:
        verdict, _, *others = wording.cells(rule)  # the effect is in the list of rules already
        rows.append((str(place), rule.text, verdict, *others))
    found = [Section("How far to trust them", sentences, headings if rows else (), tuple(rows))]
    run = rules.evidence.stability if rules.evidence else None
    if run is not None and run.conditions:
        found.append(
            Section(
                "Conditions that return",
                (f"How often each condition is in one of the best rules of {run.replicates} other samples.",),
                ("condition", "returns", "cut points"),
                tuple(wording.condition_cells(condition) for condition in run.conditions),
            )
        )
    return tuple(found)


def of_rule(rule: RuleResult, rules: RuleSet) -> tuple[Section, ...]:
    """What speaks for the rule and against it, and how each control moves its effect."""
    from causalrules.report.sections import Section

    evidence = rule.evidence
    if evidence is None:
        return ()
    found = []
    if (verdict := evidence.verdict) is not None:
        reasons = [f"For it: {reason}." for reason in verdict.supports]
        reasons += [f"Against it: {reason}." for reason in verdict.doubts]
        found.append(Section(f"How far to trust it: {verdict.word}", tuple(reasons)))
    else:
        found.append(Section("How far to trust it", (wording.of_rule(rule, rules),)))
    if (sensitivity := evidence.sensitivity) is not None:
        rows = tuple(
            (
                control.control,
                f"{control.with_rule:.2f}",
                f"{control.with_outcome:.2f}",
                f"{control.strength:.2f}",
                signed(control.effect_without),
            )
            for control in sensitivity.controls
        )
        headings = ("control", "risk ratio with the rule", "with the outcome", "strength", f"{rules.noun} without it")
        found.append(Section("An unmeasured confounder", (sensitivity.sentence,), headings if rows else (), rows))
    if evidence.overlap is not None and evidence.overlap.n_strata:
        found.append(Section("Rows without counterpart", (_alone(evidence.overlap, rules.noun),)))
    if evidence.stability is not None and evidence.stability.conditions:
        conditions = tuple(wording.condition_cells(condition) for condition in evidence.stability.conditions)
        found.append(Section("Its conditions on other samples", (), ("condition", "returns", "cut points"), conditions))
    return tuple(found)


def _alone(overlap: Overlap, noun: str) -> str:
    without, with_them, low, high = map(signed, (overlap.effect, overlap.effect_with, overlap.low, overlap.high))
    strata = "1 stratum" if overlap.n_strata == 1 else f"{overlap.n_strata:,} strata"
    return (
        f"In {strata} with {counted(overlap.n_rows, 'row')} ({overlap.share:.0%}) the rule always or never holds. "
        f"Without them the {noun} is {without}; counting them as no difference, {with_them}; over all rows it is "
        f"between {low} and {high}, whatever would happen there."
    )
