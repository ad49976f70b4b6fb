"""The numbers of one rule in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from causalrules.language.propositions import AND
from causalrules.report.adjustment_words import adjusted, adjustment, compared_with, control_of
from causalrules.report.claim_words import identification
from causalrules.text import (
    adjusted_p,
    counted,
    effective,
    percent,
    sentence,
)

if TYPE_CHECKING:
    from causalrules.language.propositions import Proposition
    from causalrules.result.evidence import Calibration
    from causalrules.result.result import Result
    from causalrules.result.rule import RuleResult


# Marks a rule with a superfluous condition.
MARK = "*"

# Smaller changes by adjusting are not mentioned.
_CHANGED = 0.005

# Caveat of intervals that do not allow for the search.
IGNORING = "ignoring how many rules were tried"
ALLOWING = "allowing for how many rules were tried"
FIXED = f"interval of a rule fixed in advance, {IGNORING}"


def is_marked(rule: RuleResult) -> bool:
    """Return whether the rule has a superfluous condition."""
    return rule.length > 1 and bool(rule.superfluous)


def alone(rule: RuleResult, rules: Result) -> str:
    """Describe the effect of a rule on its own, if that differs from what it adds; else empty."""
    known = rule.alone
    if known is None or not rule.held_fixed:
        return ""
    return f"on its own: {rule.kind.with_interval(*known)}, {adjustment(control_of(rule, rules))}"


def is_unjudged(rule: RuleResult, rules: Result) -> bool:
    """Return whether a rule that may matter could not be judged for lack of rows."""
    verdict = rule.verdict
    may_matter = rules.is_named or rule.stands_out or verdict.basis == "nothing"
    return verdict.evidence == "cannot tell" and may_matter


def measured(rule: RuleResult, rules: Result) -> str:
    """Describe the effect with its interval, or for rules of a search with its bound."""
    noun = f"Adds ({rules.noun})" if rule.held_fixed else rules.noun.capitalize()
    said = rule.kind.with_interval(rule.effect, *rule.interval) if rules.is_named else bounded(rule)
    return f"{noun}: {said}, {adjusted(rule, rules)}."


def least(rules: Result) -> str:
    """Name the bounds of the rules: the end of their effects nearest to 0."""
    return _least(rules.question.direction == "decrease")


def _least(decrease: bool) -> str:
    return "at most" if decrease else "at least"


def whisker(rule: RuleResult) -> tuple[float, float]:
    """Return the ends of the line that shows how far an effect is known: its interval if the rule was named in advance.

    For rules of a search it reaches from the bound to the effect.
    """
    if rule.circumstances.fixed:
        return rule.interval
    return (rule.effect if rule.at_least is None else rule.at_least), rule.effect


def bound(rule: RuleResult, figure: Callable[[float], str] | None = None) -> str:
    """Return the bound without its unit: "> 0" if only the sign is known, "none" if not that, "–" if not tested."""
    known = rule.at_least
    if known is None:
        return "none" if rule.verdict.evidence == "not supported" else "–"
    shown = rule.kind.figure(known, rule.effect) if figure is None else figure(known)
    is_zero = not any(digit in shown for digit in "123456789")
    return ("< 0" if rule.criterion.decrease else "> 0") if is_zero else shown


def bounded(rule: RuleResult) -> str:
    """Return the effect of a rule of a search with its bound."""
    if rule.at_least is None:
        return rule.kind.difference(rule.effect)
    known = bound(rule)
    said = {"> 0": "above 0", "< 0": "below 0"}.get(known, f"{_least(rule.criterion.decrease)} {known}")
    together = None if rule.evidence is None else rule.evidence.simultaneous
    confidence = 1 - rule.circumstances.level if together is None else together.confidence
    return f"{rule.kind.difference(rule.effect)}, {said} ({percent(confidence, 0)}, {ALLOWING})"


def sides(rule: RuleResult) -> tuple[str, str]:
    """Name the two levels that are compared, with their rows."""
    return (
        f"where it holds, {counted(rule.n_covered, 'row')}",
        f"where it does not, {counted(rule.n_failing, 'row')}",
    )


def reading(rule: RuleResult, rules: Result) -> tuple[str, ...]:
    """Describe a rule's numbers in sentences, the most important first."""
    own = None if rules.admissibility and not rules.question.own_controls else identification(rule)
    said = [_headline(rule, rules), *([own] if own else []), _estimate(rule, rules)]
    if by_itself := alone(rule, rules):
        said.append(sentence(by_itself))
    return *said, *_unadjusted(rule, control_of(rule, rules)), *_lacking(rule)


def _headline(rule: RuleResult, rules: Result) -> str:
    """Describe the estimate and its conservative value, after any reason why the rule is not supported."""
    conditions, outcome = rule.text.replace(AND, " and "), rules.question.outcome
    how = adjusted(rule, rules) + compared_with(rules.question)
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
    said = f"{estimate}; {_conservative(rule, rules)}."
    against = _against(rule)
    return f"{rule.verdict.evidence.capitalize()}: {against}. {said}" if against else said


def _against(rule: RuleResult) -> str:
    """Return why the rule is not supported or cannot be judged; empty if it is supported or was not tested."""
    verdict = rule.verdict
    told = verdict.evidence in ("not supported", "cannot tell") and not math.isnan(rule.effect)
    if not told or verdict.basis in ("margin", "nothing"):
        return ""  # the conservative estimate says this, or that the rule was not tested
    return verdict.doubts[0]


def _conservative(rule: RuleResult, rules: Result) -> str:
    """Describe the conservative estimate, and whether it allows for the search."""
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
    if not rule.stands_out and rule.verdict.basis not in ("permutations", "test"):
        return f"{said}, so it may be due to chance"
    if rule.p_value is not None:
        return f"{said}; {adjusted_p(rule.p_value, rule.p_sign)}"
    return said if promise else f"{said}, not adjusted for the search"


def conservative(rule: RuleResult) -> str:
    """Return the effect after its margin for chance; "none" if nothing is left in the direction of the search.

    A number on the other side of 0 would look like the opposite effect.
    """
    return rule.kind.difference(rule.conservative) if rule.stands_out else "none"


def calibrated(calibration: Calibration) -> str:
    """Describe the guarantee of a calibrated β."""
    share = percent(1 - calibration.confidence, 0)
    return f"calibrated: on shuffled data the best rule exceeds 0 in at most {share} of tables"


def conditions(rule: RuleResult) -> list[tuple[str, str, str]]:
    """Return each condition as a column, a sign and a value, in the notation of the rule's text; an interval as two."""
    return spelled(rule.conditions)


def spelled(conditions: Sequence[Proposition]) -> list[tuple[str, str, str]]:
    """Return conditions in the same way."""
    said: dict[tuple[str, str, str], None] = {}
    for each in sorted(conditions, key=lambda condition: (condition.column, condition.operator != ">=")):
        found = [other.written for other in conditions if other.column == each.column and other.operator != "="]
        is_one_value = len(found) == 2 and found[0] == found[1]
        said[each.column, "=" if is_one_value else each.sign, each.written] = None
    return list(said)


def headline(rule: RuleResult, rules: Result) -> tuple[str, str]:
    """Return the words before and after the rule in the headline."""
    fails, holds = rule.kind.levels(rule.p_do_not_rule, rule.p_do_rule)
    of_what = f"the {rule.kind.level_of(rules.question.outcome)}"
    told = rule.verdict.evidence != "cannot tell"
    if told and rule.verdict.claim in ("by design", "identified") and rules.claim != "association":
        sure = rule.verdict.evidence == "supported"
        verb = ("raises" if sure else "may raise") if rule.effect > 0 else "lowers" if sure else "may lower"
        return "Ensuring that", f"{verb} {of_what} from {fails} to {holds}"
    return "Where" if told else "Cannot tell: where", f"{of_what} is {holds} instead of {fails}"


def in_a_sentence(rule: RuleResult, rules: Result) -> str:
    """Return the headline and the rule in one sentence."""
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
    kind = rule.kind
    fails, holds = kind.levels(rule.p_do_not_rule, rule.p_do_rule)
    undecided = "" if not rule.n_undecided else f" {_undecided(rule, rules)}."
    fixed, estimate = "", kind.with_interval(rule.effect, *rule.interval) + ", with a 95 % interval"
    if not rules.is_named:
        estimate, fixed = bounded(rule), f" {sentence(f'95 % {FIXED}: {kind.between(*rule.interval)}')}"
    return f"{noun}: {estimate}; {holds} where the rule holds instead of {fails}.{fixed} {covered}{undecided}"


def _undecided(rule: RuleResult, rules: Result) -> str:
    rows = counted(rule.n_undecided, "row")
    if rules.question.reference is not None:
        return f"{rows} in neither group are left out of the comparison"
    return f"{rows} with missing values, where it cannot be decided, are left out"


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
