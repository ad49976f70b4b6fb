"""Sections of the HTML report as plain data, so that adding one needs no HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from causalrules.report import trust_words
from causalrules.text import counted, difference, percent, points

if TYPE_CHECKING:
    from causalrules.result.rule import RuleResult
    from causalrules.result.rules import RuleSet
    from causalrules.trust.evidence import Overlap, Sensitivity

_CONDITION_HEADINGS = ("condition", "reappears", "cut points")


@dataclass(frozen=True)
class Section:
    """A title, sentences, and a table with its headings; `about` tells the page which figure goes with it."""

    title: str
    sentences: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    about: str = ""


def of_result(rules: RuleSet) -> tuple[Section, ...]:
    """Return the sections on the whole result that follow the list of rules."""
    notes = (Section("Notes", rules.notes),) if rules.notes else ()
    return (*_trust(rules), *notes)


def of_rule(rule: RuleResult, rules: RuleSet) -> tuple[Section, ...]:
    """Return the sections on one rule: the reasons for its verdict, confounding, overlap and stability."""
    evidence = rule.evidence
    if evidence is None:
        return ()
    found = []
    if (verdict := evidence.verdict) is not None:
        reasons = [f"For: {reason}." for reason in verdict.supports]
        reasons += [f"Against: {reason}." for reason in verdict.doubts]
        found.append(Section(f"Verdict: {verdict.word}", tuple(reasons), about="verdict"))
    else:
        found.append(Section("Trust", (trust_words.of_rule(rule, rules),)))
    if evidence.sensitivity is not None:
        found.append(_confounding(evidence.sensitivity, rules.noun))
    if evidence.overlap is not None and evidence.overlap.n_strata:
        lacking = _lacking(evidence.overlap, rules.noun, rule.is_mean)
        found.append(Section("Rows without a comparison group", (lacking,)))
    if evidence.stability is not None and evidence.stability.conditions:
        conditions = tuple(map(trust_words.condition_cells, evidence.stability.conditions))
        found.append(Section("Conditions on resampled rows", (), _CONDITION_HEADINGS, conditions))
    return tuple(found)


def _trust(rules: RuleSet) -> tuple[Section, ...]:
    """Return the evidence on all rules at a glance, and how it was obtained."""
    judged = [(place, rule) for place, rule in enumerate(rules, 1) if rule.evidence is not None]
    sentences = tuple(f"{sentence[0].upper()}{sentence[1:]}." for sentence in trust_words.obtained(rules))
    if not judged and not sentences:
        return ()
    held_out = f"{rules.noun} on held-out rows"
    headings = ("#", "rule", "verdict", held_out, "adjusted p", "E-value", "rows compared", "reappears")
    rows = []
    for place, rule in judged:
        verdict, _, *others = trust_words.cells(rule)  # the effect is in the list of rules
        rows.append((str(place), rule.text, verdict, *others))
    found = [Section("Trust", sentences, headings if rows else (), tuple(rows))]
    run = rules.evidence.stability if rules.evidence else None
    if run is not None and run.conditions:
        found.append(
            Section(
                "Conditions that reappear",
                (f"How often each condition is in one of the best rules of {run.replicates} samples.",),
                _CONDITION_HEADINGS,
                tuple(map(trust_words.condition_cells, run.conditions)),
            )
        )
    return tuple(found)


def _confounding(found: Sensitivity, noun: str) -> Section:
    rows = tuple(
        (
            control.control,
            f"{control.with_rule:.2f}",
            f"{control.with_outcome:.2f}",
            f"{control.strength:.2f}",
            points(control.effect_without),
        )
        for control in found.controls
    )
    headings = ("control", "risk ratio with the rule", "with the outcome", "strength", f"{noun} without it")
    return Section("Unmeasured confounding", (found.sentence,), headings if rows else (), rows, "confounding")


def _lacking(overlap: Overlap, noun: str, is_mean: bool) -> str:
    strata = "1 stratum" if overlap.n_strata == 1 else f"{overlap.n_strata:,} strata"
    numbers = (overlap.effect, overlap.effect_with, overlap.low, overlap.high)
    without, with_them, low, high = (difference(each, is_mean) for each in numbers)
    bounds = "" if overlap.low is None else f"; over all rows it is between {low} and {high}"
    return (
        f"In {strata} with {counted(overlap.n_rows, 'row')} ({percent(overlap.share, 0)}) the rule always or never "
        f"holds. Without them the {noun} is {without}; with a difference of 0 in them, {with_them}{bounds}."
    )
