"""What a result and its rules mean, in words.

Only an admissible causal graph allows causal language. Otherwise an effect is called a difference or an association
between the rows where the rule holds and the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from causalrules.language.propositions import AND
from causalrules.text import (
    adjusted_p,
    counted,
    effective,
    listed,
    number,
    p_needed,
    p_number,
    percent,
    plain,
    sentence,
)

if TYPE_CHECKING:
    from causalrules.question import Question
    from causalrules.result.evidence import Calibration
    from causalrules.result.result import Result
    from causalrules.result.rule import RuleResult

_STOPPED = {"time limit": "stopped at the time limit", "interrupted": "interrupted"}
# Marks a rule with a condition that does not earn its place.
MARK = "*"
# Smaller changes by adjusting are not mentioned.
_CHANGED = 0.005
# What intervals are worth that do not allow for the search.
IGNORING = "ignoring the search"
_NO_GRAPH = "No causal graph given: these are associations; what acting assumes: cr.assumptions(…), or --explain"
_NO_GRAPH_FOR_OTHERS = "No causal graph given: the others are associations"


def is_marked(rule: RuleResult) -> bool:
    """Return whether a condition of the rule does not earn its place."""
    return rule.length > 1 and bool(rule.superfluous)


def adds(rules: Result) -> bool:
    """Whether rules are listed that add to others above them."""
    return any(rule.held_fixed for rule in rules)


def quantity(rules: Result) -> str:
    """Name what is listed for each rule: its effect, or what it adds to the rules above."""
    if not adds(rules):
        return rules.noun
    return "changes by" if rules.question.direction == "decrease" else "adds"


def adjustment_of(rules: Result) -> str:
    """Say what the rules of a list are adjusted for."""
    question = rules.question
    above = "the columns of the rules above" if adds(rules) else ""
    if question.own_controls:
        return "each rule adjusted for its own controls" + f" and {above}" * bool(above)
    if not above:
        return adjustment(question.controls)
    return f"{adjustment(question.controls)} and {above}" if question.controls else f"adjusted for {above}"


def adjusted(rule: RuleResult, rules: Result) -> str:
    """Say what one rule is adjusted for, and which columns of the rules above are held fixed."""
    control, fixed = control_of(rule, rules), adjustment(rule.held_fixed).replace("adjusted for", "with")
    if not rule.held_fixed:
        return adjustment(control)
    return f"{adjustment(control)}, {fixed} held fixed" if control else f"{fixed} held fixed"


def meaning(rules: Result) -> str:
    """Say what the effects are."""
    question = rules.question
    adjusted = adjustment_of(rules)
    compared = _compared(question)
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
        else "the graph leaves open whether the roles are admissible"
    )
    apart = any(rule.verdict.claim in ("identified", "by design") for rule in rules)
    association = f"association{', but for rules identified on their own' if apart else ' only'}"
    return f"{f'{quantity(rules)}: {association}' if adds(rules) else association}: {differs}; {why}"


def _compared(question: Question) -> str:
    """Name the reference rows; empty without any."""
    if question.reference is None:
        return ""
    column, value = question.reference
    return f", compared with {plain(column)} = {plain(str(value))}"


def maximised(question: Question) -> str:
    """Say what the search maximised."""
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
    """Say what the rules are ranked by if it is not the conservative estimate; None if it is."""
    question = rules.question
    if question.estimator in ("pooled", "reliable"):
        return None
    return f"ranked by {question.estimator} (value): {maximised(question)}"


def headings(names: Sequence[str], rules: Result) -> list[str]:
    """Return headings that say "effect" only if the graph allows it."""
    return [name.replace("effect", rules.noun) for name in names]


def verdict_lines(rules: Result) -> list[str]:
    """Say what the evidence rests on, what lets differences be called effects, and which rules have both."""
    if not rules:
        return []
    strong = [str(place) for place, rule in enumerate(rules, 1) if rule.verdict.strong]
    said = [f"Strong causal evidence (supported, and {_claims(rules)}): {_rules(strong)}"] if strong else []
    return [_basis(rules), *graph_lines(rules), *said]


def _basis(rules: Result) -> str:
    """Say what the words of the evidence rest on."""
    rate = percent(_level(rules), 0)
    named = "number of rules" if rules.is_named else "search"
    words = {
        "permutations": f"p, adjusted for the {named}",
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
        said = "; ".join(f"{words[basis]}, for {_rules(which)}" for basis, which in places.items())
    tested = f" (error rate {rate})" * (not places.keys() <= {"overlap", "nothing"})
    further = "; rules.trust() tests it further" if places.keys() & {"margin", "shuffled", "nothing"} else ""
    return f"evidence rests on {said}{tested}{further}"


def _level(rules: Result) -> float:
    """Return the error rate of the verdicts."""
    return rules[0].circumstances.level


def _claims(rules: Result) -> str:
    return " or ".join(dict.fromkeys(rule.verdict.claim for rule in rules if rule.verdict.strong))


def _rules(places: Sequence[str]) -> str:
    return f"rule{'s' * (len(places) > 1)} {listed(places)}"


def by_design_lines(rules: Result) -> list[str]:
    """Name the rules whose columns are all randomised, where some are."""
    places = [str(place) for place, rule in enumerate(rules, 1) if rule.verdict.claim == "by design"]
    if not places:
        return []
    which = "all rules" if len(places) == len(rules) else _rules(places)
    return [f"Effects by design, as their columns are declared randomised given the controls: {which}"]


def graph_lines(rules: Result) -> list[str]:
    """Say that there is no graph, or which rules it identifies; nothing if it is admissible."""
    design = by_design_lines(rules)
    if rules.admissibility is None:
        return design if rules.claim == "effect" else [*design, _NO_GRAPH if not design else _NO_GRAPH_FOR_OTHERS]
    if rules.admissibility:
        return [*control_lines(rules), *design]
    places: dict[tuple[str, str], list[str]] = {}
    for wanted in (True, False, None):
        for place, rule in enumerate(rules, 1):
            known = rule.identification
            if known is not None and known.identified is wanted:
                places.setdefault((known.label, known.reason), []).append(str(place))
    return [*design, *(f"{label}: {_rules(which)} ({reason})" for (label, reason), which in places.items())]


def control_lines(rules: Result) -> list[str]:
    """Say what each rule is adjusted for, and which paths that blocks, where rules have their own controls."""
    if not rules.question.own_controls:
        return []
    places: dict[tuple[str, str], list[str]] = {}
    for place, rule in enumerate(rules, 1):
        blocked = "" if rule.identification is None else rule.identification.blocked
        places.setdefault((adjusted(rule, rules), blocked), []).append(str(place))
    lines = [
        f"{_rules(which)}: {how}" + (f", which blocks {blocked}" if blocked else "")
        for (how, blocked), which in places.items()
    ]
    found = None if rules.admissibility is None else rules.admissibility.adjustments
    if found is not None and found.left_out:
        first = found.explained()[0]
        lines.append(f"{len(found.left_out):,} of {len(found.sets):,} sets of columns are left out; {first}")
    return lines


def control_of(rule: RuleResult, rules: Result) -> tuple[str, ...]:
    """Return the columns that a rule is adjusted for."""
    return rule.control if rules.question.own_controls or rule.held_fixed else rules.question.controls


def identified(rule: RuleResult) -> str:
    """Return whether the graph identifies the effect of this rule: "yes", "no", or "cannot be told"."""
    answer = None if rule.identification is None else rule.identification.identified
    return {True: "yes", False: "no", None: "cannot be told"}[answer]


def open_path(rule: RuleResult) -> str:
    """Return the path that keeps the rule from being identified, such as "class <- fare -> survived"."""
    return "" if rule.identification is None else rule.identification.path_text


def identification(rule: RuleResult) -> str | None:
    """Say whether the graph identifies the effect of this rule, and why; None without a graph."""
    if rule.identification is None:
        return None
    words = rule.identification.summary()
    blocked = f" ({rule.identification.blocked})" if rule.identification.blocked else ""
    return f"{words[0].upper()}{words[1:]}{blocked}."


def verdict(rules: Result) -> str:
    """Say what the graph, or the lack of one, allows to claim."""
    adjusted = "adjusted for the controls" if rules.question.adjusts else "unadjusted"
    if rules.admissibility is None and rules.claim == "effect":
        return "The columns are declared randomised, given the controls: these are effects of bringing a rule about."
    if rules.admissibility is None:
        return f"No causal graph given: the numbers are differences, {adjusted}, and not effects."
    status = rules.admissibility.status
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


def proof(rules: Result) -> str:
    """Say whether the list is proven to be the best."""
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
    """Say why a list of rules that add ends before the number that was asked for; empty if it does not."""
    if not rules.question.is_stepwise or rules.stopped != "optimal" or not 0 < len(rules) < rules.question.k:
        return ""
    if not any(rule.stands_out for rule in rules):
        return ""  # it is said that there is no finding
    if rules.nearest is None:
        if rules.question.reference is not None:
            return "no other arm can be compared"
        if len(rules.steps) > len(rules):
            return "nothing else can be compared"
        return "no column is left for another rule" + ", by the graph" * rules.question.own_controls
    near = rules.nearest
    interval = near.kind.with_interval(near.effect, *near.interval)
    return f"no other column stands out; nearest: {near.text}, {interval}, {IGNORING}"


def rung_names(rules: Result) -> list[str]:
    """Name the steps of the staircase: none of the rules, the first, and what each of the others adds."""
    texts = [rule.text for rule in rules]
    return ["none of the rules", *(f"and {text}" if place else text for place, text in enumerate(texts))][
        : len(rules.rungs)
    ]


def rungs_meaning(rules: Result) -> str:
    """Say what the steps of the staircase are."""
    level = rules.kind.level_of(rules.question.outcome)
    return f"{level}, {adjustment(rules.question.controls)}, where only these rules hold"


def alone(rule: RuleResult, rules: Result) -> str:
    """Say the effect of a rule on its own, where that is not what it adds; else nothing."""
    known = rule.alone
    if known is None or not rule.held_fixed:
        return ""
    return f"on its own: {rule.kind.with_interval(*known)}, {adjustment(control_of(rule, rules))}"


def nothing_found(rules: Result) -> bool:
    """Return whether there is no rule that stands out from chance, nor one that could not be judged."""
    return not any(rule.verdict.found or is_unjudged(rule, rules) for rule in rules)


def is_unjudged(rule: RuleResult, rules: Result) -> bool:
    """Return whether a rule that may matter could not be judged."""
    verdict = rule.verdict
    may_matter = rules.is_named or rule.stands_out or verdict.basis == "nothing"
    return verdict.evidence == "cannot tell" and may_matter


def outcome_level(rules: Result) -> str:
    """Name the outcome, and how often it occurs or its mean, where all rows are counted with the rules."""
    outcome: str = rules.question.outcome
    everything = rules[0].measured.sides[2] if rules else None
    if everything is None or everything.n.sum() != rules.n_rows:
        return outcome
    level = rules[0].measured.centre + float(everything.total.sum() / everything.n.sum())
    return rules.kind.over_all(outcome, level)


def measured(rule: RuleResult, rules: Result) -> str:
    """Say the effect, first what is left of it after allowing for the search."""
    named = rules.is_named
    estimate = rule.kind.with_interval(rule.effect, *rule.interval)
    if not named and estimate.endswith(")"):
        estimate = f"{estimate[:-1]}, {IGNORING})"
    bound = None if rule.evidence is None else rule.evidence.simultaneous
    least = ""
    if bound is not None and bound.bound is not None:
        side = "at most" if rule.criterion.decrease else "at least"
        share, allowed = percent(bound.confidence, 0), "number of rules" if named else "search"
        least = f"{side} {rule.kind.difference(bound.bound)} ({share}, allowing for the {allowed})"
    elif rule.stands_out:
        least = f"conservative {conservative(rule)}"
    said = f"{least}; best estimate {estimate}" if least else estimate
    noun = f"Adds ({rules.noun})" if rule.held_fixed else rules.noun.capitalize()
    return f"{noun}: {said}, {adjusted(rule, rules)}."


def sides(rule: RuleResult) -> tuple[str, str]:
    """Name the two levels that are compared, with their rows."""
    return (
        f"where it holds, {counted(rule.n_covered, 'row')}",
        f"where it does not, {counted(rule.n_failing, 'row')}",
    )


def same_mix(control: Sequence[str]) -> str:
    """Say for which mix of these columns the two levels are; empty without any."""
    return adjustment(control).replace("adjusted for", "both adjusted to the same mix of") if control else ""


def _why_empty(rules: Result) -> str:
    """Say why a complete search found no rule."""
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
    if found and not best.stands_out and best.criterion.estimator in ("pooled", "reliable"):
        sharper = "" if best.margin_scale < 1 else ", which are sharper than its margin,"
        return (
            f"No conservative {rules.noun} is beyond 0, but permutations{sharper} tell rules from chance: see the "
            "adjusted p."
        )
    if found:
        return None
    p_values = [(rule.p_value, rule.p_sign) for rule in rules if rule.p_value is not None]
    named = rules.is_named
    if p_values and (named or rules.stopped == "optimal"):
        if (passed := _passed(rules)) is not None:
            return f"{nothing(rules)}: {passed.verdict.doubts[0]}."
        nearest = "" if best.stands_out or named else " The list has what came nearest."
        least, sign = min(p_values)
        return (
            f"{nothing(rules)}: p, adjusted for the {'number of rules' if named else 'search'}, is "
            f"{'at least ' * (len(rules) > 1)}{p_number(least, sign)} {p_needed(sign, _level(rules))}.{nearest}"
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


def nothing(rules: Result) -> str:
    """Say that nothing was found."""
    alone = rules.is_named and len(rules) == 1
    if _passed(rules) is not None:
        return "The rule is not supported" if alone else "No rule is supported"
    if alone:
        return "The rule does not stand out from chance"
    return "No rule stands out from chance" if rules.optimal else "No rule found so far stands out from chance"


def _passed(rules: Result) -> RuleResult | None:
    """Return the first rule whose p-value is small enough, though something else speaks against it."""
    return next((rule for rule in rules if rule.p_value is not None and rule.p_value <= _level(rules)), None)


def reading(rule: RuleResult, rules: Result) -> tuple[str, ...]:
    """Say in sentences what a rule's numbers mean, the most important first."""
    own = None if rules.admissibility and not rules.question.own_controls else identification(rule)
    said = [_headline(rule, rules), *([own] if own else []), _estimate(rule, rules)]
    if by_itself := alone(rule, rules):
        said.append(sentence(by_itself))
    return *said, *_unadjusted(rule, control_of(rule, rules)), *_lacking(rule)


def _headline(rule: RuleResult, rules: Result) -> str:
    """Say the estimate and its conservative value, and first whether the rule is not supported."""
    conditions, outcome = rule.text.replace(AND, " and "), rules.question.outcome
    how = adjusted(rule, rules) + _compared(rules.question)
    less = rule.effect < 0
    if math.isnan(rule.effect):
        estimate = f"Where {conditions}, nothing can be estimated, as no row has a comparison group"
    elif rule.verdict.claim in ("by design", "identified") and rules.claim != "association":
        estimate = (
            f"Bringing about {conditions} is estimated to {'lower' if less else 'raise'} the "
            f"{rule.kind.of(outcome)} by {rule.kind.difference(abs(rule.effect))}, {how}"
        )
    else:
        estimate = f"Where {conditions}, {rule.kind.differs_by(outcome, rule.effect)}, {how}"
    sentence = f"{estimate}; {_conservative(rule, rules)}."
    against = _against(rule)
    return f"{rule.verdict.evidence.capitalize()}: {against}. {sentence}" if against else sentence


def _against(rule: RuleResult) -> str:
    """Return why the rule is not supported, or why that cannot be told; empty if it is, or if it was not tested."""
    verdict = rule.verdict
    told = verdict.evidence in ("not supported", "cannot tell") and not math.isnan(rule.effect)
    if not told or verdict.basis in ("margin", "nothing"):
        return ""  # the conservative estimate says it, or that nothing was tested
    return verdict.doubts[0]


def _conservative(rule: RuleResult, rules: Result) -> str:
    """Say the conservative estimate, and whether it accounts for the search."""
    calibration = None if rules.evidence is None else rules.evidence.calibration
    promise = calibration is not None and calibration.beta == rule.criterion.beta
    how = f"β = {rule.criterion.beta:.4g}" + (
        f", {calibrated(calibration)}" if calibration is not None and promise else ""
    )
    if rule.criterion.by_length:
        promise = rule.circumstances.guaranteed
        rate = percent(rules.question.error_rate, 0)
        if rule.margin_scale < 1:
            enough = percent(rule.margin_scale, 0)
            how = f"β = {rule.criterion.beta:.4g}, of which shuffled tables say that {enough} are enough"
        how += f": any rule without an effect gets beyond 0 in at most {rate} of tables" if promise else ""
    said = f"conservative estimate {conservative(rule)}" if rule.stands_out else "no conservative estimate beyond 0"
    said = f"{said} ({how})"
    if _against(rule):
        return said
    if not rule.stands_out and rule.verdict.basis != "permutations":
        return f"{said}, so it may be due to chance"
    if rule.p_value is not None:
        return f"{said}; {adjusted_p(rule.p_value, rule.p_sign)}"
    return said if promise else f"{said}, not adjusted for the search"


def conservative(rule: RuleResult) -> str:
    """Return what is left of the effect after its margin for chance; "none" where nothing is, in the asked direction.

    A number on the other side of 0 would look like the opposite effect.
    """
    return rule.kind.difference(rule.conservative) if rule.stands_out else "none"


def calibrated(calibration: Calibration) -> str:
    """Say what a calibrated β guarantees."""
    share = percent(1 - calibration.confidence, 0)
    return f"calibrated: on shuffled data the best rule exceeds 0 in at most {share} of tables"


def adjustment(control: Sequence[str], most: int = 5) -> str:
    """Name the controls that were adjusted for."""
    if not control:
        return "unadjusted"
    rest = len(control) - most
    return f"adjusted for {', '.join(map(plain, control[:most]))}" + (f" and {rest} more" if rest > 0 else "")


def conditions(rule: RuleResult) -> list[tuple[str, str, str]]:
    """Return each condition as a column, a sign and a value, in the notation of the rule's text; an interval as two."""
    said: dict[tuple[str, str, str], None] = {}
    for each in sorted(rule.conditions, key=lambda condition: (condition.column, condition.operator != ">=")):
        found = [other.written for other in rule.conditions if other.column == each.column and other.operator != "="]
        is_one_value = len(found) == 2 and found[0] == found[1]
        said[each.column, "=" if is_one_value else each.sign, each.written] = None
    return list(said)


def headline(rule: RuleResult, rules: Result) -> tuple[str, str]:
    """Return what stands before and after the rule in the sentence of the first screen."""
    holds, fails = rule.kind.level(rule.p_do_rule), rule.kind.level(rule.p_do_not_rule)
    of_what = f"the {rule.kind.level_of(rules.question.outcome)}"
    told = rule.verdict.evidence != "cannot tell"
    if told and rule.verdict.claim in ("by design", "identified") and rules.claim != "association":
        sure = rule.verdict.evidence == "supported"
        verb = ("raises" if sure else "may raise") if rule.effect > 0 else "lowers" if sure else "may lower"
        return "Ensuring that", f"{verb} {of_what} from {fails} to {holds}"
    return "Where" if told else "Cannot tell: where", f"{of_what} is {holds} instead of {fails}"


def in_a_sentence(rule: RuleResult, rules: Result) -> str:
    """Say the headline and the rule in one sentence."""
    before, after = headline(rule, rules)
    return f"{before} {rule.text.replace(AND, ' and ')}{'' if before.startswith('Ensuring') else ','} {after}."


def stratum_name(labels: Mapping[str, str]) -> str:
    """Name a stratum, such as "size = small"."""
    return ", ".join(f"{name} = {value}" for name, value in labels.items()) or "all rows"


def _estimate(rule: RuleResult, rules: Result) -> str:
    covered = f"The rule covers {counted(rule.n_covered, 'row')} ({percent(rule.coverage)})."
    if math.isnan(rule.effect):
        return covered
    noun = f"Adjusted {rules.noun}" if control_of(rule, rules) or rule.held_fixed else rules.noun.capitalize()
    level = rule.kind.level
    undecided = "" if not rule.n_undecided else f" {_undecided(rule, rules)}."
    return (
        f"{noun}: {rule.kind.with_interval(rule.effect, *rule.interval)}, with a 95 % interval; "
        f"{level(rule.p_do_rule)} where the rule holds instead of {level(rule.p_do_not_rule)}. {covered}{undecided}"
    )


def _undecided(rule: RuleResult, rules: Result) -> str:
    rows = counted(rule.n_undecided, "row")
    if rules.question.reference is not None:
        return f"{rows} in neither group are left out of the comparison"
    return f"{rows} with missing values, where it cannot be decided, are left out"


def undecided_lines(rules: Result) -> list[str]:
    """Say how many rows are left out of the comparison, where some are."""
    if rules.question.reference is not None or not any(rule.n_undecided for rule in rules):
        return []
    counts = {place: rule.n_undecided for place, rule in enumerate(rules, 1) if rule.n_undecided}
    most = max(counts.values())
    same = len(counts) == len(rules) and min(counts.values()) == most
    whose = "" if same else f" (up to {most:,}, for {_rules([str(place) for place in counts])})"
    rows = f"{counted(most, 'row')} with" if same else "rows with"
    return [f"{rows} missing values that leave open whether a rule holds are not compared{whose}"]


def mixed_lines(rules: Result) -> list[str]:
    """Say where a rule that is compared with reference rows has other conditions, which these rows need not satisfy."""
    if rules.question.reference is None:
        return []
    column, value = rules.question.reference
    places = [
        str(place)
        for place, rule in enumerate(rules, 1)
        if any(condition.column != column for condition in rule.conditions)
    ]
    if not places:
        return []
    return [
        f"{_rules(places)}: compared with all rows of {plain(column)} = {plain(str(value))}, whether they satisfy the "
        "other conditions or not: what these make of the outcome is part of it"
    ]


def _unadjusted(rule: RuleResult, control: Sequence[str]) -> tuple[str, ...]:
    unadjusted, adjusted = rule.marginal_effect, rule.effect
    if (
        not control
        or math.isnan(adjusted)
        or math.isnan(unadjusted)
        or (rule.kind.binary and abs(adjusted - unadjusted) < _CHANGED)
    ):
        return ()
    flips = ", with the opposite sign (Simpson's paradox)" if adjusted * unadjusted < 0 else ""
    return (f"Unadjusted: {rule.kind.difference(unadjusted)}{flips}.",)


def _lacking(rule: RuleResult) -> tuple[str, ...]:
    outside = [stratum for stratum in rule.strata if not stratum.overlap]
    if not outside and not rule.measured.thin:
        return ()
    worth = f"It is worth {effective(rule.effective_rows)}."
    if not outside:
        return (f"In some strata few rows are on one side, and the estimate rests on them. {worth}",)
    strata = "1 stratum" if len(outside) == 1 else f"{len(outside):,} strata"
    rows = counted(sum(stratum.n for stratum in outside), "row")
    left_out = f"The estimate leaves out {strata} ({rows}) without a comparison group."
    return (f"{left_out} {worth}" if rule.effective_rows else left_out,)
