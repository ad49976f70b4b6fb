"""A result in words: what is listed, what is proven, and whether there is a finding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from causalrules.report.adjustment_words import adds, adjustment, adjustment_of, compared_with
from causalrules.report.claim_words import error_rate, rules_named
from causalrules.report.rule_words import ALLOWING, bound, is_unjudged, least
from causalrules.text import counted, number, p_needed, p_number, percent

if TYPE_CHECKING:
    from causalrules.question import Question
    from causalrules.result.result import Result
    from causalrules.result.rule import RuleResult


_STOPPED = {"time limit": "stopped at the time limit", "interrupted": "interrupted"}


def quantity(rules: Result) -> str:
    """Name what is listed for each rule: its effect, or what it adds to the rules above."""
    if not adds(rules):
        return rules.noun
    return "changes by" if rules.question.direction == "decrease" else "adds"


def meaning(rules: Result) -> str:
    """Describe the numbers of the list."""
    question = rules.question
    adjusted = adjustment_of(rules)
    compared = compared_with(question)
    if rules.claim == "effect":
        of_what = rules.kind.of(question.outcome)
        why = "as the causal graph allows" if rules.admissibility else "as the columns are randomised"
        what = f"{quantity(rules)}: effect, the change" if adds(rules) else "effect: change"
        return f"{what} in the {of_what} if the rule is brought about, {adjusted}{compared}, {why}"
    differs = f"{rules.kind.differs(question.outcome)} where the rule holds, {adjusted}{compared}"
    if rules.claim == "unchecked":
        return f"{quantity(rules)}: {differs}"
    violated = rules.admissibility is not None and rules.admissibility.status == "violated"
    why = (
        "by the graph the roles are not admissible"
        if violated
        else "rows that lack a control are not adjusted for it"
        if rules.admissibility
        else "the graph leaves open whether the roles are admissible"
    )
    apart = any(rule.verdict.claim in ("identified", "by design") for rule in rules)
    association = f"association{', but for rules identified on their own' if apart else ' only'}"
    return f"{f'{quantity(rules)}: {association}' if adds(rules) else association}: {differs}; {why}"


def has_bounds(rules: Result) -> bool:
    """Return whether the effects of searched rules have bounds: unless nothing was tested."""
    return not rules.is_named and any(rule.verdict.basis != "nothing" for rule in rules)


def bound_lines(rules: Result) -> list[str]:
    """Describe the bounds, and why of some effects only the sign is known."""
    if not any(rule.at_least is not None for rule in rules):
        return []
    name, together = least(rules), any(rule.evidence and rule.evidence.simultaneous for rule in rules)
    confidence = percent(1 - error_rate(rules), 0)
    said = [f"{name}: with {confidence} confidence for all rules of the list together, {ALLOWING}"]
    further = "" if together else "; rules.trust() may tell more"
    for sign, side in (("> 0", "above"), ("< 0", "below")):
        if places := [str(place) for place, rule in enumerate(rules, 1) if bound(rule) == sign]:
            said.append(f"{sign}: {side} 0 by the test, but by how much is uncertain ({rules_named(places)}){further}")
    return said


def maximised(question: Question) -> str:
    """Describe the objective of the search."""
    adjusted = "the adjusted difference" if question.adjusts else "the difference"
    conservative = f"the conservative estimate: {adjusted} less a margin for chance"
    return {
        "pooled": conservative,
        "reliable": conservative,
        "plugin": adjusted,
        "wracc": "weighted relative accuracy, unadjusted",
        "association": "the unadjusted difference",
    }.get(question.estimator, question.estimator)


def ranking(rules: Result) -> str | None:
    """Describe what the rules are ranked by; None if by the conservative estimate."""
    question = rules.question
    if question.estimator in ("pooled", "reliable"):
        return None
    return f"ranked by {question.estimator} (value): {maximised(question)}"


def headings(names: Sequence[str], rules: Result) -> list[str]:
    """Return headings that say "effect" only if the graph allows it."""
    return [name.replace("effect", rules.noun) for name in names]


def proof(rules: Result) -> str:
    """Describe whether the list is proven optimal."""
    effort = f"{counted(rules.nodes, 'node')} in {rules.seconds:.2f} s"
    if rules.is_named:
        return f"{counted(len(rules), 'rule')} measured as given, not searched for"
    if rules.optimal and nothing_found(rules):
        return f"searched completely, no finding: {effort}"
    if rules.optimal:
        return f"{'each proven best at its step' if adds(rules) else 'proven optimal'}, {effort}"
    why = "not proven optimal" if rules.stopped == "optimal" else _STOPPED.get(rules.stopped, rules.stopped)
    upper_bound, which = rules.upper_bound, "no rule"
    if len(rules.steps) > 1:
        upper_bound = rules.steps[-1].upper_bound
        why, which = f"{why} in step {len(rules.steps)}", "no rule of it"
    if math.isinf(upper_bound):
        return f"{why}: nothing is proven yet, {effort}"
    return f"{why}: {which} can exceed {number(upper_bound)} (gap {number(rules.gap)}), {effort}"


def ending(rules: Result) -> str:
    """Describe why a list of rules that add ends before the requested number; empty if it does not."""
    if not rules.question.is_stepwise or rules.stopped != "optimal" or not 0 < len(rules) < rules.question.k:
        return ""
    if not any(rule.stands_out for rule in rules):
        return ""  # another sentence says that there is no finding
    if rules.nearest is None:
        if rules.question.reference is not None:
            return "no other arm can be compared"
        if len(rules.steps) > len(rules):
            return "nothing else can be compared"
        return "no column is left for another rule" + ", by the graph" * rules.question.own_controls
    near = rules.nearest
    return f"no other column stands out; nearest: {near.text}, {near.kind.difference(near.effect)}"


def rung_names(rules: Result) -> list[str]:
    """Name the steps of the staircase: none of the rules, the first, and what each of the others adds."""
    texts = [rule.text for rule in rules]
    return ["none of the rules", *(f"and {text}" if place else text for place, text in enumerate(texts))][
        : len(rules.rungs)
    ]


def rungs_meaning(rules: Result) -> str:
    """Describe the levels of the staircase."""
    level = rules.kind.level_of(rules.question.outcome)
    return f"{level}, {adjustment(rules.question.controls)}, where only these rules hold"


def doubt_lines(rules: Result) -> list[str]:
    """Give the reason for each word of the evidence other than supported; empty if nothing is found, which says why."""
    if nothing_found(rules):
        return []
    places: dict[tuple[str, str], list[str]] = {}
    for place, rule in enumerate(rules, 1):
        untested = rule.verdict.basis == "nothing" and rule.measured.grouped is None  # said of all rules together
        if rule.verdict.doubts and not untested:
            places.setdefault((rule.verdict.evidence, "; ".join(rule.verdict.doubts)), []).append(str(place))
    alone = len(rules) == 1
    return [f"{word if alone else f'{rules_named(which)}, {word}'}: {why}" for (word, why), which in places.items()]


def nothing_found(rules: Result) -> bool:
    """Return whether no rule stands out from chance, and all could be judged."""
    return not any(rule.verdict.found or is_unjudged(rule, rules) for rule in rules)


def outcome_level(rules: Result) -> str:
    """Name the outcome, with its share or mean over all rows if the strata of the rules include all rows."""
    outcome: str = rules.question.outcome
    everything = rules[0].measured.sides[2] if rules else None
    if everything is None or everything.n.sum() != rules.n_rows:
        return outcome
    level = rules[0].measured.centre + float(everything.total.sum() / everything.n.sum())
    return rules.kind.over_all(outcome, level)


def _why_empty(rules: Result) -> str:
    """Describe why a complete search found no rule."""
    question = rules.question
    if question.estimator == "pooled" and question.control and not question.min_coverage:
        return (
            "No rule can be compared: within each stratum of the controls, the rows are all on one side of every rule "
            "or all have the same outcome. Use fewer or coarser controls."
        )
    return "No rule satisfies the options; lower min_coverage or add actionable columns."


def warning(rules: Result) -> str | None:
    """Say that there is no finding, if there is none."""
    if not rules and rules.stopped != "optimal":
        return "No rule was found before the search stopped; raise time_limit."
    if not rules:
        return _why_empty(rules)
    best = rules[0]
    found = any(rule.verdict.found for rule in rules)
    # Named rules have no search to allow for; in groups p may come from a t test.
    shuffled = not rules.is_named and best.verdict.basis == "permutations"
    if found and shuffled and not best.stands_out and best.criterion.estimator in ("pooled", "reliable"):
        sharper = "" if best.margin_scale < 1 else ", which are sharper than its margin,"
        return (
            f"No conservative {rules.noun} is beyond 0, but permutations{sharper} tell rules from chance: see the "
            "adjusted p."
        )
    if found:
        return None
    named, told = rules.is_named, [rule for rule in rules if rule.verdict.evidence != "cannot tell"]
    p_values = [(rule.p_value, rule.p_sign) for rule in told if rule.p_value is not None]
    if named and not told:
        return None  # the reasons are below the table
    if p_values and (named or rules.stopped == "optimal"):
        if (passed := _passed(rules)) is not None:
            return f"{nothing(rules)}: {passed.verdict.doubts[0]}."
        nearest = "" if best.stands_out or named else " The list has what came nearest."
        least, sign = min(p_values)
        return (
            f"{nothing(rules)}: p{_adjusted_for(rules)} is "
            f"{'at least ' * (len(rules) > 1)}{p_number(least, sign)} {p_needed(sign, error_rate(rules))}.{nearest}"
        )
    if best.value > 0 or best.stands_out:
        return None
    if best.criterion.by_length and rules.stopped in _STOPPED and not rules.optimal:
        return "No rule found so far stands out from chance: the search was not finished, and a better one may exist."
    if best.criterion.by_length and named:
        many = "The rule does" if len(rules) == 1 else "The first rule does"
        return f"{many} not stand out by the conservative {rules.noun} (0 is within its margin)."
    if best.criterion.by_length:
        near = f"{best.ratio / best.margin_scale:.2f}"
        said = f"No rule stands out from chance: none has a conservative {rules.noun} beyond 0."
        if len(rules) == 1:
            return f"{said} The nearest has {near} of the {rules.noun} that it would need."
        return (
            f"{said} Listed are those nearest to it, by {rules.noun} over margin ({near} for the first; above 1 it "
            "would stand out)."
        )
    if best.criterion.estimator in ("pooled", "reliable"):
        side, other = ("below", "positive") if best.criterion.decrease else ("above", "negative")
        return (
            f"No rule has a conservative {rules.noun} {side} 0: even the best, {number(best.conservative)}, may be "
            f"zero or {other}."
        )
    return f"No rule has a positive value: the best is {number(best.value)} ({best.criterion.estimator})."


def _adjusted_for(rules: Result) -> str:
    """Say what p-values are adjusted for, if for anything."""
    if rules.is_named:
        return ", adjusted for the number of rules," if len(rules) > 1 else ""
    return ", adjusted for the search,"


def nothing(rules: Result) -> str:
    """Say that nothing was found."""
    alone = rules.is_named and len(rules) == 1
    if _passed(rules) is not None:
        return "The rule is not supported" if alone else "No rule is supported"
    if alone:
        return "The rule does not stand out from chance"
    return "No rule stands out from chance" if rules.optimal else "No rule found so far stands out from chance"


def _passed(rules: Result) -> RuleResult | None:
    """Return the first rule with a small enough p-value that is not supported for another reason."""
    return next((rule for rule in rules if rule.p_value is not None and rule.p_value <= error_rate(rules)), None)


def undecided_lines(rules: Result) -> list[str]:
    """Describe how many rows are left out of the comparison, if any."""
    counts = {place: rule.n_open for place, rule in enumerate(rules, 1) if rule.n_open}
    if not counts:
        return []
    most = max(counts.values())
    same = len(counts) == len(rules) and min(counts.values()) == most
    whose = "" if same else f" (up to {most:,}, for {rules_named([str(place) for place in counts])})"
    rows = f"{counted(most, 'row')} with" if same else "rows with"
    return [f"{rows} missing values that leave open whether a rule holds are not compared{whose}"]
