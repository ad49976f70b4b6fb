"""The checks of rules, each declared once.

A check computes one part of `RuleEvidence`, which JSON, verdicts and the report use. To add a check, add a module, a
part of the evidence (`described`, so that tables and cards show it), and a line here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from causalrules.exceptions import CausalRulesWarning
from causalrules.language.learning import is_available
from causalrules.result.named import tested
from causalrules.result.result import R, Result
from causalrules.search.deadline import Deadline
from causalrules.trust import repeat
from causalrules.trust.balance import balance
from causalrules.trust.conditions import conditions
from causalrules.trust.doubly_robust import doubly_robust
from causalrules.trust.holdout import cross_fit
from causalrules.trust.overlap import overlap
from causalrules.trust.parts import each_part
from causalrules.trust.permutation import significance
from causalrules.trust.resample import TooFewRowsError
from causalrules.trust.sensitivity import sensitivity
from causalrules.trust.simultaneous import simultaneous
from causalrules.trust.stability import stability


class Asked(NamedTuple):
    """The options of `RuleSet.trust`."""

    permutations: int = 999
    replicates: int = 100
    splits: int = 5
    seed: int = 0
    level: float = 0.05
    n_jobs: int = -1
    progress: bool | repeat.Watcher | None = None


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes
    ----------
    name
        The part of `RuleEvidence` that it computes.
    title, about
        Its title on the page, where checks of the same title are shown as one; and a short description.
    measure
        Returns the rules of one step and set of controls with this part of the evidence.
    options
        Returns its arguments, given those of `RuleSet.trust`.
    applies
        Whether `RuleSet.trust` runs it on these rules.
    of_time
        Its share of the remaining time.
    adjusts
        Whether p-values are adjusted for the other sets of controls, and for the rules above.
    whole
        Whether it measures all steps at once.
    shares
        Whether it takes the share of the error rate of the rules of one step and set of controls.
    needs_controls
        Whether it is skipped for a rule without controls.
    """

    name: str
    title: str
    about: str
    measure: Callable[..., Any]
    options: Callable[[Asked], Mapping[str, Any]]
    applies: Callable[[Result], bool] = lambda rules: True
    of_time: float | None = None
    adjusts: bool = False
    whole: bool = False
    shares: bool = False
    needs_controls: bool = False


def _searched(rules: Result) -> bool:
    # Rules named in advance were not searched for.
    return not rules.is_named


def _not_tested(rules: Result) -> bool:
    # Rules named in advance have p-values from the start.
    return _searched(rules) or any(rule.p_value is None for rule in rules)


def _not_held_out(rules: Result) -> bool:
    # Not `rules.evidence`, which is set as soon as the rules of one step have it.
    known = bool(rules) and all(rule.evidence is not None and rule.evidence.honest is not None for rule in rules)
    return _searched(rules) and not known


def _has_controls(rules: Result) -> bool:
    return bool(rules.question.controls) and rules.ladder[0].problem.first.controls is not None


def _has_models(rules: Result) -> bool:
    return _has_controls(rules) and is_available()


def _repeated(asked: Asked) -> dict[str, Any]:
    return {"seed": asked.seed, "n_jobs": asked.n_jobs, "progress": asked.progress}


_USUAL = Asked()
_MODELS, _ABOUT_MODELS = "Models of the controls", "balance, and the doubly robust estimate"
CHECKS = (
    Check(
        "significance",
        "Chance",
        f"p, adjusted for the search: {_USUAL.permutations} tables with shuffled outcomes",
        significance,
        lambda asked: {"permutations": asked.permutations, "level": asked.level, **_repeated(asked)},
        applies=_not_tested,
        of_time=0.5,
        adjusts=True,
        shares=True,
    ),
    Check(
        "honest",
        "Held-out rows",
        f"effects on rows that were not searched, in {_USUAL.splits} blocks",
        cross_fit,
        lambda asked: {"splits": asked.splits, "confidence": 1 - asked.level, **_repeated(asked)},
        applies=_not_held_out,
        of_time=0.5,
        whole=True,
    ),
    Check(
        "stability",
        "Subsamples",
        f"how often the rule reappears in {_USUAL.replicates} subsamples",
        stability,
        lambda asked: {"replicates": asked.replicates, **_repeated(asked)},
        applies=_searched,
        of_time=0.7,
        whole=True,
    ),
    Check(
        "simultaneous",
        "Bounds",
        "what each effect is at least, for all rules at once",
        simultaneous,
        lambda asked: {
            "permutations": min(asked.permutations, 199),
            "most": max(asked.permutations, 199),
            "confidence": 1 - asked.level,
            **_repeated(asked),
        },
        applies=_searched,
        of_time=0.7,
        shares=True,
    ),
    Check(
        "conditions",
        "Conditions",
        "which conditions earn their place",
        conditions,
        # Shuffling for conditions is cheap, and few tables cannot distinguish conditions.
        lambda asked: {"permutations": max(asked.permutations, 199), "seed": asked.seed, "level": asked.level},
        of_time=1.0,
    ),
    Check(
        "sensitivity",
        "Hidden confounding",
        "how strong a hidden confounder would have to be",
        sensitivity,
        lambda asked: {"confidence": 1 - asked.level},
    ),
    Check("balance", _MODELS, _ABOUT_MODELS, balance, lambda asked: {}, applies=_has_controls, needs_controls=True),
    Check(
        "doubly_robust",
        _MODELS,
        _ABOUT_MODELS,
        doubly_robust,
        lambda asked: {"confidence": 1 - asked.level, "n_jobs": asked.n_jobs, "progress": asked.progress},
        applies=_has_models,
        of_time=1.0,
        needs_controls=True,
    ),
    Check("overlap", "Comparison groups", "rows without a comparison group", overlap, lambda asked: {}),
)
# By the name of the RuleSet method.
_BY_METHOD = {check.measure.__name__: check for check in CHECKS}


def run(name: str, rules: R, /, *, time_limit: float | None = None, **options: Any) -> R:
    """Run the check behind a method of RuleSet on the rules of each step and set of controls."""
    check = _BY_METHOD[name]

    def measure(own: R, limit: float | None, share: float) -> R:
        return _measured(check, own, options, limit, share)

    return _tested(rules, each_part(rules, measure, time_limit, check.adjusts, check.whole))


def _tested(before: R, after: R) -> R:
    """Return named rules with p-values of their effects, if these are by models now."""
    same = [one.measured.modelled == two.measured.modelled for one, two in zip(before, after, strict=True)]
    return after if all(same) or not after.is_named else replace(after, rules=tested(after.rules))


def trust(
    rules: R,
    *,
    checks: Sequence[Check] | None = None,
    told: Callable[[Check], None] | None = None,
    strict: bool = False,
    time_limit: float | None = None,
    **options: Any,
) -> R:
    """Run all checks on each rule, within one time limit.

    A check is skipped, with a note, if it has no result in time or the table is too small.

    Parameters
    ----------
    rules
        The rules.
    checks
        The checks to run; by default all.
    told
        Called with each check before it runs.
    time_limit
        Seconds for all checks.
    options
        Fields of `Asked`.
    """
    deadline, asked = Deadline.after(time_limit), Asked(**options)
    repeat.require_rows(rules, "trust")
    with warnings.catch_warnings():
        # The verdict of each rule reports it.
        warnings.simplefilter("ignore", CausalRulesWarning)
        for check in CHECKS if checks is None else checks:
            if told is not None:
                told(check)

            def measure(own: R, limit: float | None, share: float, check: Check = check) -> R:
                if not check.applies(own):
                    return own
                try:
                    return _measured(check, own, check.options(asked), limit, share)
                except repeat.OutOfTimeError:
                    return own
                except TooFewRowsError as error:
                    if strict:
                        raise
                    note = f"{check.measure.__name__} was skipped: {error}"
                    return own if note in own.notes else replace(own, notes=(*own.notes, note))

            limit = None if check.of_time is None else deadline.left(check.of_time)
            rules = _tested(rules, each_part(rules, measure, limit, check.adjusts, check.whole))
    return rules


def _measured(check: Check, rules: R, options: Mapping[str, Any], limit: float | None, share: float) -> R:
    """Run a check on the rules of one step and set of controls, with this share of the error rate."""
    if check.needs_controls and share < 1 and not rules.question.controls:
        return rules  # other rules may have controls
    timed = {} if check.of_time is None else {"time_limit": limit}
    shared = {"share": share} if check.shares else {}
    measured: R = check.measure(rules, **options, **timed, **shared)
    return measured
