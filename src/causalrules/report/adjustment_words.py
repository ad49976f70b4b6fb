"""What an effect is adjusted for and compared with, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from causalrules.text import plain

if TYPE_CHECKING:
    from causalrules.question import Question
    from causalrules.result.result import Result
    from causalrules.result.rule import RuleResult

# How, where strata are those of a prediction.
MODELS = ", by models of them (doubly robust)"


def adds(rules: Result) -> bool:
    """Whether each rule of the list adds to the rules above it."""
    return any(rule.held_fixed for rule in rules)


def adjustment_of(rules: Result) -> str:
    """Describe what the rules of a list are adjusted for."""
    question = rules.question
    above = "the columns of the rules above" if adds(rules) else ""
    if question.own_controls:
        said = "each rule adjusted for its own controls" + f" and {above}" * bool(above)
    elif not above:
        said = adjustment(question.controls)
    else:
        said = f"{adjustment(question.controls)} and {above}" if question.controls else f"adjusted for {above}"
    return f"{said}{MODELS}" if rules and all(rule.measured.modelled for rule in rules) else said


def adjusted(rule: RuleResult, rules: Result) -> str:
    """Describe what one rule is adjusted for, and which columns of the rules above are held fixed."""
    control, fixed = control_of(rule, rules), adjustment(rule.held_fixed).replace("adjusted for", "with")
    models = MODELS if rule.measured.modelled else ""
    if not rule.held_fixed:
        return f"{adjustment(control)}{models}"
    return f"{adjustment(control)}, {fixed} held fixed{models}" if control else f"{fixed} held fixed"


def compared_with(question: Question) -> str:
    """Name the reference rows; empty if there are none."""
    if question.reference is None:
        return ""
    column, value = question.reference
    return f", compared with {plain(column)} = {plain(str(value))}"


def control_of(rule: RuleResult, rules: Result) -> tuple[str, ...]:
    """Return the columns that a rule is adjusted for."""
    return rule.control if rules.question.own_controls or rule.held_fixed else rules.question.controls


def same_mix(control: Sequence[str]) -> str:
    """Describe the mix of these columns to which both levels are adjusted; empty without columns."""
    return adjustment(control).replace("adjusted for", "both adjusted to the same mix of") if control else ""


def adjustment(control: Sequence[str], most: int = 5) -> str:
    """Name the controls that were adjusted for."""
    if not control:
        return "unadjusted"
    rest = len(control) - most
    return f"adjusted for {', '.join(map(plain, control[:most]))}" + (f" and {rest} more" if rest > 0 else "")
