"""Claims in words: the basis of the evidence, and what a causal graph or a design allows.

Only an admissible causal graph or randomised columns allow causal language. Otherwise an effect is called a difference
or an association.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from causalrules.report.adjustment_words import adjusted
from causalrules.text import (
    listed,
    percent,
)

if TYPE_CHECKING:
    from causalrules.result.result import Result
    from causalrules.result.rule import RuleResult


_NO_GRAPH = "No causal graph given: these are associations; what acting assumes: cr.assumptions(…), or --explain"

_NO_GRAPH_FOR_OTHERS = "No causal graph given: the others are associations"


def verdict_lines(rules: Result) -> list[str]:
    """Describe the basis of the evidence, the claims, and which rules have strong causal evidence."""
    if not rules:
        return []
    strong = [str(place) for place, rule in enumerate(rules, 1) if rule.verdict.strong]
    said = [f"Strong causal evidence (supported, and {_claims(rules)}): {rules_named(strong)}"] if strong else []
    return [_basis(rules), *graph_lines(rules), *said]


def _basis(rules: Result) -> str:
    """Describe the basis of the evidence of each rule."""
    rate = percent(error_rate(rules), 0)
    named = "number of rules" if rules.is_named else "search"
    words = {
        "permutations": f"p, adjusted for the {named}",
        "test": f"p, two-sided{' and adjusted for their number' * (len(rules) > 1)}"
        if rules.is_named
        else "p by the groups' t test, adjusted for the number of rules searched",
        "margin": f"the conservative {rules.noun}",
        "shuffled": f"the conservative {rules.noun}, by shuffled tables",
        "held-out rows": "p on held-out rows, adjusted for the number of rules",
        "overlap": "how few rows have a comparison group",
        "nothing": "nothing yet",
    }
    places: dict[str, list[str]] = {}
    for place, rule in enumerate(rules, 1):
        basis = rule.verdict.basis
        places.setdefault("shuffled" if basis == "margin" and rule.margin_scale < 1 else basis, []).append(str(place))
    if set(places) == {"nothing"}:
        return "evidence rests on nothing yet: rules.trust() tests it"
    if len(places) == 1:
        said = words[next(iter(places))]
    else:
        said = "; ".join(f"{words[basis]}, for {rules_named(which)}" for basis, which in places.items())
    tested = f" (error rate {rate})" * (not places.keys() <= {"overlap", "nothing"})
    further = "; rules.trust() tests it further" if places.keys() & {"margin", "shuffled", "nothing"} else ""
    return f"evidence rests on {said}{tested}{further}"


def error_rate(rules: Result) -> float:
    """Return the error rate of the verdicts."""
    return rules[0].circumstances.level


def _claims(rules: Result) -> str:
    return " or ".join(dict.fromkeys(rule.verdict.claim for rule in rules if rule.verdict.strong))


def rules_named(places: Sequence[str]) -> str:
    """Name rules by their positions, such as "rules 1 and 3"."""
    return f"rule{'s' * (len(places) > 1)} {listed(places)}"


def by_design_lines(rules: Result) -> list[str]:
    """Name the rules whose columns are all declared randomised, if any, with their balance."""
    places: dict[tuple[str, str], list[str]] = {}
    for place, rule in enumerate(rules, 1):
        if rule.verdict.claim in ("by design", "by design, but unbalanced"):
            places.setdefault((rule.verdict.claim, rule.verdict.claim_reason), []).append(str(place))
    return [
        f"{claim[0].upper()}{claim[1:]}: {rules_named(which)} ({reason})" for (claim, reason), which in places.items()
    ]


def graph_lines(rules: Result) -> list[str]:
    """Say that there is no graph, or which rules it identifies; empty if the roles are admissible."""
    design = by_design_lines(rules)
    if rules.admissibility is None:
        if all("by design" in rule.verdict.claim for rule in rules):
            return design
        return [*design, _NO_GRAPH_FOR_OTHERS if design else _NO_GRAPH]
    if rules.admissibility and not rules.leaves_confounding:
        return [*control_lines(rules), *design]
    places: dict[tuple[str, str], list[str]] = {}
    for wanted in (True, False, None):
        for place, rule in enumerate(rules, 1):
            known = rule.identification
            if known is not None and known.identified is wanted:
                places.setdefault((known.label, known.reason), []).append(str(place))
    return [*design, *(f"{label}: {rules_named(which)} ({reason})" for (label, reason), which in places.items())]


def control_lines(rules: Result) -> list[str]:
    """Describe what each rule is adjusted for, and which paths that blocks, if rules have their own controls."""
    if not rules.question.own_controls:
        return []
    places: dict[tuple[str, str], list[str]] = {}
    for place, rule in enumerate(rules, 1):
        blocked = "" if rule.identification is None else rule.identification.blocked
        places.setdefault((adjusted(rule, rules), blocked), []).append(str(place))
    lines = [
        f"{rules_named(which)}: {how}" + (f", which blocks {blocked}" if blocked else "")
        for (how, blocked), which in places.items()
    ]
    found = None if rules.admissibility is None else rules.admissibility.adjustments
    if found is not None and found.left_out:
        first = found.explained()[0]
        lines.append(f"{len(found.left_out):,} of {len(found.sets):,} sets of columns are left out; {first}")
    return lines


def identified(rule: RuleResult) -> str:
    """Return whether the graph identifies the effect of this rule: "yes", "no", or "cannot be told"."""
    answer = None if rule.identification is None else rule.identification.identified
    return {True: "yes", False: "no", None: "cannot be told"}[answer]


def open_path(rule: RuleResult) -> str:
    """Return the path that prevents identification of the rule, such as "class <- fare -> survived"."""
    return "" if rule.identification is None else rule.identification.path_text


def identification(rule: RuleResult) -> str | None:
    """Say whether the graph identifies the effect of this rule, and why; None without a graph."""
    if rule.identification is None:
        return None
    words = rule.identification.summary()
    blocked = f" ({rule.identification.blocked})" if rule.identification.blocked else ""
    return f"{words[0].upper()}{words[1:]}{blocked}."


def verdict(rules: Result) -> str:
    """Describe which claims the graph, or the lack of one, allows."""
    adjusted = "adjusted for the controls" if rules.question.adjusts else "unadjusted"
    if rules.admissibility is None and rules.claim == "effect":
        return "The columns are declared randomised, given the controls: these are effects of bringing a rule about."
    if rules.admissibility is None and any(each.unbalanced for each in rules.declared):
        return f"Columns declared randomised are unbalanced: the numbers are differences, {adjusted}, and not effects."
    if rules.admissibility is None:
        return f"No causal graph given: the numbers are differences, {adjusted}, and not effects."
    status = rules.admissibility.status
    if rules.leaves_confounding:
        return (
            "The causal graph is admissible, but rows that lack a control are not adjusted for it: the numbers are "
            "associations, and not effects."
        )
    if status == "admissible" and rules.question.own_controls:
        return (
            "By the causal graph each rule has controls of its own: if it is right, these are the effects of bringing "
            "a rule about, with all that follows from it: the total effect of its columns, set together."
        )
    if status == "admissible":
        return (
            "The causal graph is admissible: if it is right, these are the effects of bringing a rule about. Within "
            "each stratum, rows get values that satisfy the rule, as frequent as among the rows that satisfy it now."
        )
    found = "does not admit these roles" if status == "violated" else "leaves open whether these roles are admissible"
    return f"The causal graph {found}: the numbers are associations, {adjusted}, and not effects."
