"""Evidence on rules that are measured in different strata: computed for each set of rules, then combined.

In a list in which each rule adds, a rule is tested within the strata of its step, against the rules of that step.
Steps are tested in order: a p-value is at least that of the rule above.

An outcome cannot be shuffled within the strata of several sets of controls at once. So rules with the same controls
are tested together, and a p-value p becomes p · M / m, where m of all M searched rules have these controls (weighted
Bonferroni): the chance of any false finding is at most the sum of m / M · level, which is the level. Other evidence is
about one rule, or about the search among rules with the same controls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from causalrules.result.evidence import Significance, with_evidence
from causalrules.search.margins import count_rules
from causalrules.search.problem import Problem

if TYPE_CHECKING:
    from causalrules.result.result import R
    from causalrules.result.rule import RuleResult


def each_part(
    rules: R,
    measure: Callable[[R, float | None, float], R],
    time_limit: float | None = None,
    adjust: bool = False,
    whole: bool = False,
) -> R:
    """Measure the rules of each step and of each set of controls, and combine the results.

    Parameters
    ----------
    rules
        All rules.
    measure
        Measures the rules of one step and set of controls, given a time limit in seconds and their share of the total
        error rate.
    time_limit
        Seconds for all rules.
    adjust
        Whether p-values are adjusted for the other sets of controls, and for the rules above.
    whole
        Whether to measure all steps at once, unless rules have their own controls.
    """
    parts = rules.problem
    if len(rules.ladder) > 1 and rules and not (whole and parts is not None and not parts.has_own_controls):
        return _each_step(rules, measure, time_limit, adjust)
    if parts is None or not parts.has_own_controls or not rules:
        return measure(rules, time_limit, 1.0)
    places: dict[int, list[int]] = {}
    for place, rule in enumerate(rules):
        places.setdefault(parts.number(parts.language.numbers(rule.conditions)), []).append(place)
    # An ordered column can take two conditions.
    longest = rules.question.max_length or 2 * len(parts.language.columns)
    total = sum(count_rules(parts.language, longest)[1:])
    found: dict[int, RuleResult] = {}
    evidence, notes = rules.evidence, list(rules.notes)
    for number, chosen in sorted(places.items()):
        adjusted = parts.adjustments[number]
        control = (*adjusted.roles.control, *adjusted.held_fixed)
        question = replace(rules.question, control=control, allowed_control=None, k=len(chosen))
        listed, step = tuple(rules[place] for place in chosen), replace(rules.ladder[0], problem=Problem((adjusted,)))
        own = replace(rules, rules=listed, question=question, ladder=(step,))
        share = sum(count_rules(adjusted.language, longest)[1:]) / total
        measured = measure(own, None if time_limit is None else time_limit / len(places), share)
        factor = 1 / share if adjust else 1.0
        found.update(zip(chosen, (_raised(rule, factor) for rule in measured), strict=True))
        # How the evidence was obtained is the same for all.
        evidence = measured.evidence
        notes += [note for note in measured.notes if note not in notes]
    return replace(
        rules, rules=tuple(found[place] for place in range(len(rules))), evidence=evidence, notes=tuple(notes)
    )


def _each_step(rules: R, measure: Callable[[R, float | None, float], R], time_limit: float | None, adjust: bool) -> R:
    """Measure each rule in its own step, with an equal share of the error rate.

    The shares are for the maximum length of the list, because its actual length depends on the rows.
    """
    found: list[RuleResult] = []
    evidence, notes, least = rules.evidence, list(rules.notes), 0.0
    # P-values are tested in order, each at the whole error rate.
    of_step = 1.0 if adjust else 1 / rules.question.most_steps
    for rule, step in zip(rules, rules.ladder, strict=False):
        question = replace(
            step.question.answered(),
            beta=step.question.beta,
            stepwise=False,
            control=step.question.control if rules.question.own_controls else (*rule.control, *rule.held_fixed),
            outcome=rules.question.outcome,
            actionable=step.problem.roles.actionable,
            cuts=rules.question.cuts,
        )
        own = replace(rules, rules=(rule,), question=question, ladder=(step,), nearest=None, evidence=evidence)
        limit = None if time_limit is None else time_limit / len(rules)
        measured = each_part(own, lambda part, left, of_part: measure(part, left, of_step * of_part), limit, adjust)
        one = measured[0]
        if adjust and one.p_value is not None:
            least = max(least, one.p_value)
            one = _not_below(one, found[-1] if found and one.p_value < least else one, least)
        found.append(one)
        evidence = measured.evidence
        notes += [note for note in measured.notes if note not in notes]
    return replace(rules, rules=tuple(found), evidence=evidence, notes=tuple(notes))


def _not_below(rule: RuleResult, counted: RuleResult, least: float) -> RuleResult:
    """Return the rule with p-value `least`, and the significance it comes from: its own, or that of the rule above."""
    known = None if counted.evidence is None else counted.evidence.significance
    rule = replace(rule, p_value=least)
    return rule if known is None else with_evidence(rule, significance=replace(known, step_down=least))


def _raised(rule: RuleResult, factor: float) -> RuleResult:
    """Return the rule with p-values multiplied by a factor."""
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
