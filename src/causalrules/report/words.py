"""The words for what a result means. They follow the verdict on the causal graph and go no further.

Only an admissible graph lets us speak of bringing a rule about; otherwise an effect is a difference between the rows
where the rule holds and the others, and the words say no more than that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from causalrules.graph.assumptions import assumptions
from causalrules.language.propositions import AND
from causalrules.text import adjusted_p as noise, counted, listed, number, percent, plain, points

if TYPE_CHECKING:
    from causalrules.question import Question
    from causalrules.result.rule import RuleResult
    from causalrules.result.rules import RuleSet
    from causalrules.trust.evidence import Calibration

_STOPPED = {"time limit": "stopped at the time limit", "interrupted": "interrupted"}
# Below this many points, adjusting is not worth a sentence.
_CHANGED = 0.005
# What every interval beside a rule that was searched for has to be read with.
INTERVALS = "intervals hold for a rule fixed in advance and take no account of the search"


def meaning(rules: RuleSet) -> str:
    """Say what the effects are."""
    question = rules.question
    adjusted = adjustment(question.controls)
    if rules.admissibility:
        return (
            f"effect: of bringing the rule about on the probability of {question.outcome}, {adjusted}, "
            "as the causal graph allows"
        )
    difference = f"how much more often {question.outcome} occurs where the rule holds, {adjusted}"
    if rules.claim == "unchecked":
        return f"difference: {difference}"
    violated = rules.admissibility is not None and rules.admissibility.status == "violated"
    why = (
        "by the graph the roles are not admissible" if violated else "the graph leaves open if the roles are admissible"
    )
    return f"association only: {difference}; {why}"


def maximised(question: Question) -> str:
    """What the search maximised."""
    adjusted = "the adjusted difference" if question.controls else "the difference"
    return {
        "reliable": f"the reliable estimate: {adjusted} less an allowance for chance",
        "plugin": f"{adjusted} as it is",
        "wracc": "weighted relative accuracy, without adjusting",
        "association": "the difference without adjusting",
    }.get(question.estimator, question.estimator)


def ranking(rules: RuleSet) -> str | None:
    """By what the rules are ranked, where that is another number than the first that every table has."""
    question = rules.question
    return (
        None if question.estimator == "reliable" else f"ranked by {question.estimator} (value): {maximised(question)}"
    )


def headings(names: Sequence[str], rules: RuleSet) -> list[str]:
    """Headings of a table that speak of effects only where the graph allows it."""
    return [name.replace("effect", rules.noun) for name in names]


def graph_lines(rules: RuleSet) -> list[str]:
    """What the graph, or the lack of one, adds to the meaning: what is assumed, or which rules are identified."""
    question = rules.question
    if rules.admissibility is None:
        assumed = assumptions(question.target, question.actions, question.controls)
        return [f"no graph was given: to act on a rule is to assume {'; '.join(assumed)}"]
    if rules.admissibility:
        return []
    places: dict[tuple[str, str], list[str]] = {}
    for wanted in (True, False, None):
        for place, rule in enumerate(rules, 1):
            known = rule.identification
            if known is not None and known.identified is wanted:
                places.setdefault((known.label, known.reason), []).append(str(place))
    return [
        f"{label}: rule{'s' * (len(which) > 1)} {listed(which)} ({reason})" for (label, reason), which in places.items()
    ]


def identified(rule: RuleResult) -> str:
    """Whether the graph identifies the effect of the rule on its own: "yes", "no", or "cannot be told"."""
    answer = None if rule.identification is None else rule.identification.identified
    return {True: "yes", False: "no", None: "cannot be told"}[answer]


def on_its_own(rule: RuleResult) -> str | None:
    """The same in words; None without a graph."""
    return None if rule.identification is None else rule.identification.label


def open_path(rule: RuleResult) -> str:
    """The path that keeps the rule from being identified, such as "class <- fare -> survived"; else nothing."""
    return "" if rule.identification is None else rule.identification.path_text


def identification(rule: RuleResult) -> str | None:
    """Say what the graph, if any, means for this rule alone."""
    if rule.identification is None:
        return None
    words = rule.identification.summary()
    return f"{words[0].upper()}{words[1:]}."


def verdict(rules: RuleSet) -> str:
    """Say how far the graph, or the lack of one, lets the reader go."""
    rows = "differences between rows, " + ("adjusted for the controls" if rules.question.controls else "not adjusted")
    if rules.admissibility is None:
        return (
            f"No causal graph was checked. The numbers are {rows}; "
            "they tell what would happen if a rule were brought about only under the assumptions listed here."
        )
    status = rules.admissibility.status
    if status == "admissible":
        return (
            "The causal graph is admissible: if it is right, the effects are those of bringing a rule about. Within "
            "each stratum, values that satisfy the rule are then given as they occur there among rows that satisfy it."
        )
    if status == "violated":
        return (
            f"The causal graph is not admissible for these roles. The numbers are associations: {rows}, "
            "and no more than that."
        )
    return (
        f"The causal graph leaves open whether these roles are admissible. The numbers are associations: {rows}, "
        "and no more than that."
    )


def proof(rules: RuleSet) -> str:
    """Say what is known about rules that are not in the list."""
    effort = f"{counted(rules.nodes, 'node')} in {rules.seconds:.2f} s"
    if rules.optimal:
        return f"proven optimal, {effort}"
    why = "not proven optimal" if rules.stopped == "optimal" else _STOPPED.get(rules.stopped, rules.stopped)
    if math.isinf(rules.upper_bound):
        return f"{why}: nothing is proven yet, {effort}"
    return f"{why}: no rule can exceed {number(rules.upper_bound)} (gap {number(rules.gap)}), {effort}"


def warning(rules: RuleSet) -> str | None:
    """Say so in words where the list should not be taken for a finding."""
    if not rules and rules.stopped != "optimal":
        return "No rule was found in that time: give it more."
    if not rules:
        return "No rule satisfies the options: lower min_coverage or add actionable columns."
    best = rules[0]
    if best.value > 0:
        return None
    if best.estimator == "reliable":
        return (
            f"No rule has a reliable {rules.noun}: "
            f"even the best one may have none or a negative one ({number(best.value)})."
        )
    return f"No rule has a positive value: the best is {number(best.value)} ({best.estimator})."


def reading(rule: RuleResult, rules: RuleSet) -> tuple[str, ...]:
    """Say in sentences what a rule's numbers mean, and what adjusting for the controls did to them."""
    own = identification(rule)
    said = [
        _headline(rule, rules),
        *([own] if own is not None and not rules.admissibility else []),
        _plain_estimate(rule),
    ]
    return *said, *_adjusting(rule, rules.question.controls), *_overlap(rule)


def _headline(rule: RuleResult, rules: RuleSet) -> str:
    """The estimate, what the allowance for chance leaves of it, and first of all that it is not supported, if so."""
    conditions, outcome = rule.text.replace(AND, " and "), rules.question.outcome
    adjusted = adjustment(rules.question.controls)
    less = rule.effect < 0
    if math.isnan(rule.effect):
        estimate = f"Where {conditions}, nothing can be estimated: no stratum has rows on both sides of the rule"
    elif rules.admissibility:
        estimate = (
            f"Bringing about {conditions} is estimated to {'lower' if less else 'raise'} the probability of {outcome} "
            f"by {points(abs(rule.effect))}, {adjusted}"
        )
    else:
        estimate = (
            f"Where {conditions}, {outcome} occurs {'less' if less else 'more'} often by an estimated "
            f"{points(abs(rule.effect))}, {adjusted}"
        )
    sentence = f"{estimate}; {_allowance(rule, rules)}."
    against = _against(rule, rules)
    return f"Not supported, because {against}. {sentence}" if against else sentence


def _against(rule: RuleResult, rules: RuleSet) -> str:
    """Why the rule is not supported, where that is known."""
    verdict = None if rule.evidence is None else rule.evidence.verdict
    if verdict is not None:
        return verdict.doubts[0] if verdict.word == "not supported" and verdict.doubts else ""
    run = None if rules.evidence is None else rules.evidence.permutation
    return noise(rule.p_value) if rule.p_value is not None and run is not None and rule.p_value > run.level else ""


def _allowance(rule: RuleResult, rules: RuleSet) -> str:
    """What is left after the allowance for chance, and what that allowance does not cover."""
    least = points(rule.reliable_effect)
    calibration = None if rules.evidence is None else rules.evidence.calibration
    if calibration is not None and calibration.beta == rule.beta:
        made = f"the allowance for chance that β = {rule.beta:g} makes, {calibrated(calibration)}"
        covered = True
    else:
        made = f"the allowance for chance that β = {rule.beta:g} makes for one rule on its own"
        covered = False
    if rule.reliable_effect <= 0:
        return f"nothing is left of it ({least}) after {made}"
    left = f"at least {least} after {made}"
    if rule.p_value is not None:
        return left if _against(rule, rules) else f"{left}; {noise(rule.p_value)}"
    if covered:
        return left
    best = "the best" if rule.text == rules[0].text else "one of the best"
    return f"{left}; as {best} of many it may still owe this to chance"


def calibrated(calibration: Calibration) -> str:
    """What a calibrated β promises."""
    times = f"{100 * (1 - calibration.confidence):.3g} of 100"
    return f"calibrated so that the best rule of noise exceeds 0 in at most {times} tables"


def adjustment(control: Sequence[str], most: int = 5) -> str:
    """Name the controls that were adjusted for."""
    if not control:
        return "with no controls"
    rest = len(control) - most
    return f"adjusted for {', '.join(map(plain, control[:most]))}" + (f" and {rest} more" if rest > 0 else "")


def _plain_estimate(rule: RuleResult) -> str:
    if math.isnan(rule.effect):
        return "No stratum has rows on both sides of the rule, so there is no plain estimate of the difference."
    low, high = rule.interval
    return (
        f"The plain estimate is {points(rule.effect)} (95 % interval {points(low)} to {points(high)}): "
        f"{percent(rule.p_do_rule)} where the rule holds against {percent(rule.p_do_not_rule)} where it does not. "
        f"The rule holds for {counted(rule.n_covered, 'row')}, {percent(rule.coverage)}."
    )


def _adjusting(rule: RuleResult, control: Sequence[str]) -> tuple[str, ...]:
    without, adjusted = rule.marginal_effect, rule.effect
    if not control or math.isnan(adjusted) or math.isnan(without) or abs(adjusted - without) < _CHANGED:
        return ()
    if adjusted * without < 0:
        return (f"Without adjusting it would seem to be {points(without)}, of the opposite sign (Simpson's paradox).",)
    change = "smaller" if abs(adjusted) < abs(without) else "larger"
    return (f"Without adjusting it would seem to be {points(without)}; adjusting makes it {change}.",)


def _overlap(rule: RuleResult) -> tuple[str, ...]:
    outside = [stratum for stratum in rule.strata if not stratum.overlap]
    if not outside:
        return ()
    rows, strata = sum(stratum.n for stratum in outside), len(outside)
    one = strata == 1
    return (
        f"{strata:,} {'stratum' if one else 'strata'} ({counted(rows, 'row')}) {'has' if one else 'have'} rows on one "
        "side of the rule only and say nothing about the difference there; the plain estimate leaves them out.",
    )
