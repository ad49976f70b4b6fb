"""The sentences for groups in which an action works better or worse, and for policies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from causalrules.language.propositions import AND, describe
from causalrules.policy.steps import TODAY
from causalrules.report.adjustment_words import adjustment, compared_with
from causalrules.report.answers import Answer, claimed
from causalrules.result.verdict import BY_DESIGN, IDENTIFIED, SUPPORTED, UNCHECKED
from causalrules.text import counted, listed, number, p_needed, p_number, percent, plain

if TYPE_CHECKING:
    from causalrules.language.kinds import OutcomeKind
    from causalrules.language.propositions import Proposition
    from causalrules.policy.segments import Segment, SegmentList
    from causalrules.policy.steps import PolicyStep, Prescription, Value

_CAUSAL = (BY_DESIGN, IDENTIFIED)
_NO_GRAPH = "No causal graph given: these are associations; what acting on them assumes: cr.assumptions(…)"
DIFFERS, GAINS = "Evidence: does it differ?", "Evidence: is it a gain?"
# Below this many per 1,000 rows, all gains of a policy have a decimal.
_MANY = 10.0


def spoken(conditions: Sequence[Proposition]) -> str:
    """Return conditions in a sentence."""
    return describe(conditions).replace(AND, " and ")


def noun(claim: str) -> str:
    """Return the word for what an action makes of the outcome."""
    return "effect" if claim in _CAUSAL else "association"


def claim_line(claim: str, reason: str) -> str:
    """Say what may be claimed."""
    if claim == UNCHECKED:
        return _NO_GRAPH
    said = "Causal if the causal graph is right" if claim == IDENTIFIED else f"{claim[0].upper()}{claim[1:]}"
    return f"{said}: {reason}"


# Groups.


def about(found: SegmentList) -> str:
    """Name the effect of the action, or its association with the outcome."""
    if noun(found.claim) == "effect":
        return f"the effect of {found.action_text} on {found.question.outcome}"
    return f"the association of {found.action_text} with {found.question.outcome}"


def found_line(found: SegmentList) -> str:
    """Say how many groups stand out, or which is nearest where none does."""
    if found.segments:
        where = f"{counted(len(found), 'group')} in {counted(found.n_compared, 'row')}"
        return f"{where} where {about(found)} differs"
    said = about(found)
    near = found.candidate
    if near is None:
        return f"{said[:1].upper()}{said[1:]}: no group can be compared with the others"
    numbers = f"{near.text}, {found.kind.difference(near.effect)} and {found.kind.difference(near.outside)} elsewhere"
    return (
        f"{said[:1].upper()}{said[1:]} is not shown to differ between groups; nearest: {numbers} "
        f"({p_words(near, found)}, at most {found.question.error_rate:g} needed)"
    )


def headline(segment: Segment, found: SegmentList) -> tuple[str, str]:
    """Return the words before and after the group in a sentence about its effect."""
    kind, action = found.kind, spoken(found.action)
    inside, outside = kind.difference(abs(segment.effect)), kind.difference(abs(segment.outside))
    level = f"the {kind.level_of(found.question.outcome)}"
    more, more_outside = segment.effect >= 0, segment.outside >= 0
    if noun(found.claim) == "effect":
        verb = "raises" if more else "lowers"
        elsewhere = (
            f"by {outside}" if more == more_outside else f"{'raises' if more_outside else 'lowers'} it by {outside}"
        )
        return "Where", f"{action} {verb} {level} by {inside}, elsewhere {elsewhere}"
    word = "higher" if more else "lower"
    elsewhere = f"{outside} {'higher' if more_outside else 'lower'}"
    return "Where", f"{level} is {inside} {word} with {action}, elsewhere {elsewhere}"


def place_of(place: int, segment: Segment) -> str:
    """Return a group as it is listed: each is searched among the rows of none of the groups above."""
    return segment.text if place == 0 else f"of the others: {segment.text}"


def inside(segment: Segment, kind: OutcomeKind, *column: float) -> str:
    """Return the effect inside with its simultaneous interval, without the unit."""
    if not math.isfinite(segment.low + segment.high):
        return kind.figure(segment.effect, *column)
    return kind.figures(segment.effect, segment.low, segment.high, *(column or (segment.effect,)))


def least(segment: Segment) -> float:
    """Return by how much the effect inside differs at least; at most 0 if that is not known."""
    return segment.contrast_low if segment.contrast >= 0 else -segment.contrast_high


def at_least(segment: Segment, kind: OutcomeKind, *column: float) -> str:
    """Return by how much the effect inside differs at least, without the unit; "none" if that is not known."""
    bound = least(segment)
    return kind.figure(bound, *(column or (segment.contrast,))) if math.isfinite(bound) and bound > 0 else "none"


def differs(segment: Segment, kind: OutcomeKind) -> str:
    """Say by how much the effect inside differs, and how much at least."""
    known = at_least(segment, kind)
    bound = f", at least {known}" if known != "none" else ""
    return f"differs by {kind.difference(abs(segment.contrast))}{bound}"


def p_words(segment: Segment, found: SegmentList) -> str:
    """Return the p-value with its sign."""
    shown = p_text(segment, found)
    return f"p {'= ' * shown[0].isdigit()}{shown}"


def p_text(segment: Segment, found: SegmentList) -> str:
    """Return the p-value; ≤ if no change of signs was as good."""
    smallest = segment.p_value * (found.permutations + 1) < 1 + 1e-9
    return p_number(segment.p_value, "≤" if smallest else "=")


def meaning(found: SegmentList) -> str:
    """Describe the numbers of the groups."""
    outcome, kind = found.question.outcome, found.kind
    what = f"change in the {kind.of(outcome)}" if noun(found.claim) == "effect" else kind.differs(outcome)
    confidence = percent(1 - found.question.error_rate, 0)
    return (
        f"inside, outside: {what} with {found.action_text}{compared_with(found.question)}, in the group and on the "
        f"other rows; intervals and at least: with {confidence} confidence for all groups that were tried"
    )


def everybody(found: SegmentList) -> str:
    """Describe the effect on everybody, with the two levels."""
    kind = found.kind
    levels = between(kind, found.question.outcome, found.level_without, found.level)
    measured = kind.with_interval(found.effect, *found.interval)
    return f"{noun(found.claim)} on everybody: {measured}, {levels}, {adjusted(found)}"


def between(kind: OutcomeKind, outcome: str, without: float, with_action: float) -> str:
    """Say the levels without and with an action."""
    shown = arrow(kind, without, with_action)
    return f"{shown} with {outcome}" if kind.binary else f"{outcome} {shown}"


def arrow(kind: OutcomeKind, without: float, with_action: float, *column: float) -> str:
    """Return the levels without and with an action."""
    first, second = kind.levels(without, with_action, *column)
    return f"{first.removesuffix(kind.sign)} → {second}" if kind.sign else f"{first} → {second}"


def adjusted(found: SegmentList) -> str:
    """Describe what the effects are adjusted for."""
    if found.by_models:
        return f"{adjustment(_controlled(found))} by models (doubly robust)"
    return _adjusted(found.control, found.known_shares)


def _controlled(found: SegmentList) -> list[str]:
    return sorted({*found.control, *(found.context if found.by_models else ())})


def _adjusted(control: Sequence[str], by_lot: bool) -> str:
    return f"{adjustment(control)}{', as it was drawn by lot' * (by_lot and not control)}"


def tested(found: SegmentList) -> str:
    """Describe how the groups were tested."""
    most = found.question.max_context
    of = "of one condition" if most == 1 else f"of at most {most} conditions"
    rate = percent(found.question.error_rate, 0)
    flipped = " of whole groups of rows" if found.question.groups is not None else ""
    further = ", each further group on the rows that are left" if len(found) > 1 else ""
    return (
        f"tested: {counted(found.n_groups, 'group')} {of} on {listed(found.context)}, all at once by "
        f"{found.permutations:,} sign flips{flipped}{further}; p, adjusted for the search (error rate {rate})"
    )


def segment_lines(found: SegmentList) -> list[str]:
    """Return the sentences below the groups."""
    said = [meaning(found)] if found.segments else []
    return [*said, everybody(found), tested(found), claim_line(found.claim, found.claim_reason)]


def segment_answers(segment: Segment, found: SegmentList) -> tuple[Answer, Answer]:
    """Return the evidence that the effect differs, and the claim."""
    why = f"{p_words(segment, found)}, adjusted for the search {p_needed('=', found.question.error_rate)}"
    tone = "good" if segment.evidence == SUPPORTED else "none"
    return Answer(segment.evidence, tone, why, DIFFERS), claimed(
        found.claim, _controlled(found), found.claim_reason, "action"
    )


# Policies.


def labels(texts: Sequence[str]) -> list[str]:
    """Return the labels of round numbers without decimals that none of them needs.

    >>> labels(["0.0", "10.0"]), labels(["0.0", "2.5"])
    (['0', '10'], ['0.0', '2.5'])
    """
    whole = [text.rstrip("0").rstrip(".") if "." in text else text for text in texts]
    return whole if not any("." in text for text in whole) else list(texts)


class Gains:
    """Formats of the gains of a policy: for a binary outcome per 1,000 rows, for a mean per row."""

    def __init__(self, policy: Prescription) -> None:
        self.policy, self.binary = policy, policy.kind.binary
        listed = [*policy, *([policy.candidate] if policy.candidate is not None else [])]
        known = [policy.gain, *(each for step in listed for each in (step.gain, step.gain_at_least))]
        self._places = int(any(0 < abs(1000 * each) < _MANY for each in known))

    @property
    def unit(self) -> str:
        """What gains are counted per."""
        return "per 1,000 rows" if self.binary else "per row"

    def figure(self, gain: float | None) -> str:
        """Format a gain without its unit."""
        if gain is None or not math.isfinite(gain):
            return "–"
        return number(1000 * gain, self._places) if self.binary else self.policy.kind.figure(gain)

    def least(self, gain: float) -> str:
        """Format what a gain is at least; "none" if it may be a loss."""
        return self.figure(gain) if gain > 0 else "none"

    def interval(self, value: Value) -> str:
        """Format a gain on held-out rows with its interval."""
        return f"{self.figure(value.gain)} ({self.figure(value.low)} to {self.figure(value.high)})"

    def words(self, gain: float) -> str:
        """Say a gain in the words of the outcome."""
        policy = self.policy
        more = (gain >= 0) == (policy.question.direction != "decrease")
        net = ", net of costs" if policy.question.cost else ""
        if self.binary:
            said = (
                f"{self.figure(abs(gain))} {'more' if more else 'fewer'} with {policy.question.outcome} per 1,000 rows"
            )
        else:
            said = f"{policy.question.outcome} {self.figure(abs(gain))} {'higher' if more else 'lower'}"
        return f"{said} than today{net}"


def step_text(place: int, step: PolicyStep, policy: Prescription) -> str:
    """Return a step as it is listed."""
    what = describe(step.action)
    if not step.context:
        return f"everybody{' else' * bool(place)}: {what}"
    return f"{'else ' * bool(place)}IF {step.who} THEN {what}"


def rest(policy: Prescription) -> str:
    """Say what people get who are in no step; empty if everybody is in one."""
    if any(not step.context for step in policy):
        return ""
    return f"everybody{' else' * bool(policy.steps)}: {TODAY}"


def policy_line(policy: Prescription) -> str:
    """Say what the policy gains, or which step is nearest where none stands out."""
    gains = Gains(policy)
    if policy.steps:
        return f"{counted(len(policy), 'step')}: {gains.words(policy.gain)} ({counted(policy.n_rows, 'row')})"
    said = "No step stands out: nobody is shown to be better off with another action than today"
    near = policy.candidate
    if near is None:
        return said
    return f"{said}; nearest: {near.text} ({gains.words(near.gain)}, but possibly none)"


def policy_headline(policy: Prescription) -> str:
    """Say who gets what, and what that gains, in one sentence."""
    return "; ".join(step_text(place, step, policy).replace(AND, " and ") for place, step in enumerate(policy))


def compared_values(policy: Prescription) -> list[tuple[str, float | None, Value | None]]:
    """Return what the policy is compared with, its gain on all rows, and its gain on held-out rows."""
    held_out, single = policy.held_out, policy.single
    today = None if held_out is None else held_out.over_today
    listed: list[tuple[str, float | None, Value | None]] = [("over today's practice", policy.gain, today)]
    if policy.question.baseline is not None:
        value = None if held_out is None else held_out.over_baseline
        listed.append((f"over {baseline(policy)} for everybody", policy.gain_over_baseline, value))
    if single is not None and not (len(policy) == 1 and policy[0].action == single.action and not policy[0].context):
        value = None if held_out is None else held_out.over_single
        listed.append((f"over {describe(single.action)} for everybody", policy.gain_over_single, value))
    return listed


def compared(policy: Prescription) -> list[tuple[str, str, str]]:
    """Return the same with formatted gains."""
    gains = Gains(policy)
    return [
        (name, gains.figure(gain), "–" if value is None else gains.interval(value))
        for name, gain, value in compared_values(policy)
    ]


def baseline(policy: Prescription) -> str:
    """Name the baseline."""
    given: Any = policy.question.baseline  # a pair, as the question keeps it
    column, value = given
    return f"{plain(str(column))} = {plain(str(value))}"


def policy_meaning(policy: Prescription) -> str:
    """Describe the numbers of the steps."""
    gains = Gains(policy)
    rate = percent(1 - policy.question.error_rate, 0)
    over = "over today" if not policy.default else f"over today; at least: over {describe(policy.default)}"
    net = ", net of costs" if policy.question.cost else ""
    otherwise = "as today" if not policy.default else f"with {describe(policy.default)}"
    level = policy.kind.level_of(policy.question.outcome)
    return (
        f"without → with: adjusted {level} of these people {otherwise} and with the action; gain {gains.unit} of the "
        f"table {over}{net}, at least with {rate} confidence, allowing for all pairs of context and action tried"
    )


def held_out_line(policy: Prescription) -> str:
    """Describe how the gains on held-out rows were measured."""
    known = policy.held_out
    if known is None:
        return "too few rows to measure the gain on held-out rows"
    return (
        "held-out rows: what the same search finds on the rows before, measured on "
        f"{counted(known.blocks, 'block')} of {known.n_rows:,} rows in all"
    )


def rates(policy: Prescription) -> str:
    """Say the level of the outcome today and with the policy, and the number needed to treat."""
    kind, outcome = policy.kind, policy.question.outcome
    today, then = kind.levels(policy.level, policy.level_with, policy.level_with - policy.level)
    said = f"{kind.level_of(outcome)}: {today} today, {then} with the policy"
    needed = policy.number_needed_to_treat
    if needed is None:
        return said
    word = "fewer" if policy.question.direction == "decrease" else "more"
    return f"{said}; one {word} with {outcome} for every {number(needed, 1)} people in the steps"


def costs(policy: Prescription) -> str:
    """Name the costs, and what they come to; empty without costs."""
    given: Any = policy.question.cost  # pairs, as the question keeps them
    if not given:
        return ""
    named = ", ".join(f"{condition} {cost:g}" for condition, cost in given)
    total = f"{policy.cost:.3g} per row today"
    total += f", {policy.cost_with:.3g} with the policy" if policy.steps else ""
    return f"costs, in units of {policy.question.target}: {named}; {total}"


def proof(policy: Prescription) -> str:
    """Describe what is proven."""
    pairs = f"{policy.n_pairs:,} pairs of context and action"
    if policy.optimal and not policy.steps:
        return f"searched completely: {pairs}"
    if policy.optimal:
        return f"each step is proven best of {pairs}, given the default and the steps above"
    return f"{policy.stopped}: better steps may exist ({pairs})"


def policy_adjusted(policy: Prescription) -> str:
    """Describe what the effects are adjusted for."""
    return _adjusted(policy.control, policy.claim == BY_DESIGN)


def policy_lines(policy: Prescription) -> list[str]:
    """Return the sentences below the steps, but for that about held-out rows."""
    said = [policy_meaning(policy), rates(policy)] if policy.steps else []
    said = [*said, costs(policy), f"{proof(policy)}, {policy_adjusted(policy)}"]
    return [each for each in (*said, claim_line(policy.claim, claim_reason(policy))) if each]


def claim_reason(policy: Prescription) -> str:
    """Return the reason of the claim of a policy."""
    checked = policy.admissibility
    if policy.claim == BY_DESIGN:
        drawn = listed(policy.question.randomised)
        return f"{drawn} {'is' if len(policy.question.randomised) == 1 else 'are'} declared randomised"
    if checked is not None and not checked:
        return "the causal graph does not admit these roles"
    return "the causal graph allows it" if policy.claim == IDENTIFIED else ""


def policy_answers(policy: Prescription) -> tuple[Answer, Answer]:
    """Return the evidence that the policy gains, and the claim."""
    rate = percent(policy.question.error_rate, 0)
    if not policy.steps:
        evidence = Answer("not supported", "none", "no step gains more than chance does", GAINS)
    else:
        why = f"a step that gains nothing is listed in at most {rate} of tables, allowing for all pairs tried"
        evidence = Answer(SUPPORTED, "good", why, GAINS)
    return evidence, claimed(policy.claim, policy.control, claim_reason(policy), "action")
