"""Sections of the HTML report as plain data, so that adding one needs no HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from causalrules.language.propositions import describe
from causalrules.report import trust_words
from causalrules.report.result_words import quantity
from causalrules.report.rule_words import IGNORING
from causalrules.result.variations import variations
from causalrules.text import counted, effective, number, percent, sentence
from causalrules.trust.registry import CHECKS

if TYPE_CHECKING:
    from causalrules.result.evidence import ConditionTests, ControlBalance, Overlap, Sensitivity, Stability
    from causalrules.result.result import Result
    from causalrules.result.rule import RuleResult
    from causalrules.result.variations import Variation

# Maximum controls to list, those that differ most.
_MOST_CONTROLS = 30
_NOTHING_TO_EXPLAIN = "Not supported: there is no finding for a hidden confounder to explain away."
_MEASURED_ALIKE = f"Adjusted as this rule is; intervals are {IGNORING}."
_STANDS_FOR = "Good rules of the same search that share at least 80 % of their rows with it."
# Maximum rules, and rows of the table, for which variations are measured.
_MOST_NEAR, _MOST_NEAR_ROWS = 10, 200_000
_CONDITION_HEADINGS = ("condition", "reappears", "cut points")


@dataclass(frozen=True)
class Section:
    """A title, sentences, and a table with its headings; `about` selects the figure on the page."""

    title: str
    sentences: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    about: str = ""


def of_result(rules: Result) -> tuple[Section, ...]:
    """Return the sections on the whole result that follow the list of rules."""
    notes = (Section("Notes", rules.notes),) if rules.notes else ()
    return (*_trust(rules), *notes)


def of_rule(rule: RuleResult, rules: Result) -> tuple[Section, ...]:
    """Return the sections on one rule: the reasons for its verdict, confounding, overlap and stability."""
    verdict, evidence = rule.verdict, rule.evidence
    reasons = [sentence(reason) for reason in verdict.reasons]
    found = [Section("Why: strong causal evidence" if verdict.strong else "Why", tuple(reasons), about="verdict")]
    found += _near(rule, rules)
    if evidence is None:
        return tuple(found)
    for name, write in _WRITERS.items():
        if part := getattr(evidence, name):
            found += write(part, rule, rules)
    others = [check for check in CHECKS if check.name not in _WRITERS and check.name not in _IN_TABLE]
    said = [(check.title, getattr(evidence, check.name)) for check in others]
    return (*found, *(Section(title, (part.sentence(rule.kind),)) for title, part in said if part is not None))


def _trust(rules: Result) -> tuple[Section, ...]:
    """Return the evidence on all rules, and how it was obtained."""
    judged = [(place, rule) for place, rule in enumerate(rules, 1) if rule.evidence is not None]
    sentences = tuple(map(sentence, [*trust_words.first_place(rules), *trust_words.obtained(rules)]))
    if not judged and not sentences:
        return ()
    headings = ("#", "rule", "evidence", *trust_words.headings(rules))
    rows = [(str(place), rule.text, rule.verdict.evidence, *trust_words.cells(rule)) for place, rule in judged]
    known = [place for place, column in enumerate(zip(*rows, strict=True)) if any(column)]
    headings, rows = tuple(headings[place] for place in known), [tuple(row[place] for place in known) for row in rows]
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


def _near(rule: RuleResult, rules: Result) -> list[Section]:
    """Show the variations of this rule, if its rows are available."""
    place = rules.rules.index(rule)
    problem = rules.problem
    if problem is None or not problem.first.is_local or place >= _MOST_NEAR or rules.n_rows > _MOST_NEAR_ROWS:
        return []
    near, noun = variations(rules, place), quantity(rules)
    own = frozenset(rule.conditions)

    def rows(listed: Iterable[tuple[str, Variation]]) -> tuple[tuple[str, ...], ...]:
        return tuple(
            (
                f"{name} (this rule)" if own == frozenset(each.conditions) else name,
                f"{each.n_covered:,}",
                rule.kind.with_interval(each.effect, each.low, each.high),
            )
            for name, each in listed
        )

    def part(title: str, first: str, listed: Iterable[tuple[str, Variation]], said: str = _MEASURED_ALIKE) -> Section:
        return Section(title, (said,), (first, "rows", noun), rows(listed))

    found = []
    for condition, others in zip(rule.conditions, near.cuts, strict=True):
        rest = own - {condition}
        cuts = [(describe([new for new in each.conditions if new not in rest] or [condition]), each) for each in others]
        if cuts:
            kind = "value" if condition.operator == "=" else "cut"
            said = f"With another {kind} in place of {condition.text}. {_MEASURED_ALIKE}"
            found.append(part(f"By {kind}", "condition", cuts, said))
    if near.without:
        shorter = [
            (f"without {describe([each for each in rule.conditions if each not in one.conditions])}", one)
            for one in near.without
        ]
        found.append(part("Without each condition", "rule", shorter))
    if near.absorbed:
        alike = [(each.text, each) for each in near.absorbed]
        found.append(part("Rules that it stands for", "rule", alike, f"{_STANDS_FOR} {_MEASURED_ALIKE}"))
    return found


def _conditions(found: ConditionTests, rule: RuleResult, rules: Result) -> list[Section]:
    """Show which conditions the rule needs."""
    if rule.length == 1 or rule.verdict.evidence == "not supported":
        return []
    rows = tuple(
        (each.text, f"{each.p_value:.2g}", "no" if each in rule.superfluous else "yes")
        for each in rule.conditions
        if each.p_value is not None
    )
    said = "Each condition is compared with the best that chance adds to the rest of the rule."
    if rule.superfluous:
        left = f"{rules.noun} {rule.kind.difference(found.effect)}, {found.n_covered:,} rows"
        said += f" Without those that do not earn their place: {describe(rule.simpler)} ({left})."
    return [Section("Conditions that earn their place", (said,), ("condition", "p", "earns its place"), rows)]


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _confounding(found: Sensitivity, rule: RuleResult, rules: Result) -> list[Section]:
    title = "Unmeasured confounding"
    if trust_words.robustness(rule) is None:
        supported = rule.verdict.evidence != "not supported"
        return [Section(title, (found.sentence if supported else _NOTHING_TO_EXPLAIN,))]
    rows = tuple(
        (
            control.control,
            _ratio(control.gamma),
            _ratio(control.with_rule),
            _ratio(control.with_outcome),
            _ratio(control.strength),
            rule.kind.difference(control.effect_without),
        )
        for control in found.controls
    )
    ratios = ("Γ", "risk ratio with the rule", "with the outcome", "strength")
    headings = ("control", *ratios, f"{rules.noun} without it")
    return [Section(title, (found.sentence,), headings if rows else (), rows, "confounding")]


def _balance(balance: Sequence[ControlBalance], rule: RuleResult, rules: Result) -> list[Section]:
    """Return the results of models of the controls, and how the controls differ on both sides."""
    sentences = []
    if rule.evidence is not None and (found := rule.evidence.doubly_robust) is not None:
        said = rules.kind.with_interval(found.effect, found.low, found.high)
        sentences.append(
            f"Doubly robust {rules.noun} on {found.source}: {said}, for the {percent(found.overlap, 0)} of rows with "
            f"rows like them on both sides; {percent(found.clipped, 1)} of propensities clipped."
        )
        if found.source == "searched rows" and not rules.is_named:
            sentences.append(f"This interval is {IGNORING}.")
        if rule.measured.modelled is not None:
            sentences.append(f"In the strata that were searched it is {rules.kind.difference(found.strata)}.")
        elif not found.agrees:
            sentences.append(f"That in the strata, {rules.kind.difference(found.strata)}, is outside the interval.")
    rows = tuple(
        (
            each.control,
            *("" if value is None else number(value, 2) for value in (each.before, each.strata, each.weighted)),
        )
        for each in balance[:_MOST_CONTROLS]
    )
    headings = ("control (standardised mean difference)", "unadjusted", "in strata", "AIPW weights")
    return [Section("Controls on both sides", tuple(sentences), headings if rows else (), rows, "balance")]


def _lacking(overlap: Overlap, rule: RuleResult, rules: Result) -> list[Section]:
    if not overlap.n_strata:
        return []
    strata = "1 stratum" if overlap.n_strata == 1 else f"{overlap.n_strata:,} strata"
    numbers = (overlap.effect, overlap.effect_with, overlap.low, overlap.high)
    without, with_them, low, high = map(rule.kind.difference, numbers)
    bounds = "" if overlap.low is None else f"; over all rows it is between {low} and {high}"
    said = (
        f"In {strata} with {counted(overlap.n_rows, 'row')} ({percent(overlap.share, 0)}) the rule always or never "
        f"holds. Without them the {rules.noun} is {without}; with a difference of 0 in them, {with_them}{bounds}. The "
        f"estimate is worth {effective(rule.effective_rows)}."
    )
    return [Section("Rows without a comparison group", (said,))]


def _resampled(found: Stability, rule: RuleResult, rules: Result) -> list[Section]:
    conditions = tuple(map(trust_words.condition_cells, found.conditions))
    return [Section("Conditions on resampled rows", (), _CONDITION_HEADINGS, conditions)] if conditions else []


# Sections on the parts of a rule's evidence, in this order; other parts follow and say their `sentence`.
_WRITERS: dict[str, Callable[[Any, RuleResult, Result], list[Section]]] = {
    "conditions": _conditions,
    "sensitivity": _confounding,
    "balance": _balance,
    "overlap": _lacking,
    "stability": _resampled,
}
# Parts that the table of all rules shows, or the section of another part.
_IN_TABLE = {"significance", "simultaneous", "honest", "doubly_robust"}
