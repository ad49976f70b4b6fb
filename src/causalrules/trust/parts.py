"""Evidence on rules with different controls: each set of controls on its own, put together.

An outcome cannot be shuffled within the strata of several sets of controls at once. So the rules with the same controls
are tested among themselves, and a p-value p becomes p · M / m, where m of all M rules that were searched have these
controls (weighted Bonferroni): the chance of any false finding is at most the sum of m / M · level, which is the level.
Other evidence is about one rule, or about the search among rules with the same controls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from causalrules.search.margins import count_rules
from causalrules.trust.evidence import Significance, with_evidence

if TYPE_CHECKING:
    from causalrules.result.rule import RuleResult
    from causalrules.result.rules import RuleSet


def each_part(
    rules: RuleSet,
    measure: Callable[[RuleSet, float | None, float], RuleSet],
    time_limit: float | None = None,
    adjust: bool = False,
) -> RuleSet:
    """Measure the rules of each set of controls, and put the results together.

    Parameters
    ----------
    rules
        The rules of all.
    measure
        What to do with the rules of one set of controls, or with all if they have the same, in so many seconds; the
        last number is their share of all rules that were searched.
    time_limit
        Seconds for all together.
    adjust
        Whether p-values are adjusted for the other sets of controls.
    """
    parts = rules.parts
    if parts is None or not rules:
        return measure(rules, time_limit, 1.0)
    places: dict[int, list[int]] = {}
    for place, rule in enumerate(rules):
        places.setdefault(parts.number(parts.language.numbers(rule.conditions)), []).append(place)
    # A column that is ordered may take two conditions.
    longest = rules.question.max_length or 2 * len(parts.language.columns)
    total = sum(count_rules(parts.language, longest)[1:])
    found: dict[int, RuleResult] = {}
    evidence, notes = rules.evidence, list(rules.notes)
    for number, chosen in sorted(places.items()):
        problem = parts.problems[number]
        question = replace(rules.question, control=problem.roles.control, allowed_control=None, k=len(chosen))
        own = replace(
            rules, rules=tuple(rules[place] for place in chosen), question=question, problem=problem, parts=None
        )
        share = sum(count_rules(problem.language, longest)[1:]) / total
        measured = measure(own, None if time_limit is None else time_limit / len(places), share)
        factor = 1 / share if adjust else 1.0
        found.update(zip(chosen, (_raised(rule, factor) for rule in measured), strict=True))
        # How the evidence was obtained is the same for all.
        evidence = measured.evidence
        notes += [note for note in measured.notes if note not in notes]
    return replace(
        rules, rules=tuple(found[place] for place in range(len(rules))), evidence=evidence, notes=tuple(notes)
    )


def _raised(rule: RuleResult, factor: float) -> RuleResult:
    """Return the rule with p-values times a factor."""
    known = None if rule.evidence is None else rule.evidence.significance
    if factor == 1 or known is None:
        return rule

    def raised(p: float | None) -> float | None:
        return None if p is None else min(1.0, factor * p)

    significance = Significance(
        single_step=min(1.0, factor * known.single_step),
        step_down=raised(known.step_down),
        exceedances=known.exceedances,
        permutations=known.permutations,
    )
    return with_evidence(replace(rule, p_value=raised(rule.p_value)), significance=significance)
