"""All of the evidence on each rule, within one time limit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from causalrules.exceptions import CausalRulesWarning
from causalrules.language.learning import is_available
from causalrules.search.deadline import Deadline
from causalrules.trust import overlap, repeat
from causalrules.trust.balance import balance
from causalrules.trust.calibration import fewest
from causalrules.trust.conditions import conditions
from causalrules.trust.doubly_robust import doubly_robust
from causalrules.trust.holdout import cross_fit
from causalrules.trust.parts import each_part
from causalrules.trust.permutation import significance
from causalrules.trust.resample import TooFewRowsError
from causalrules.trust.sensitivity import sensitivity
from causalrules.trust.simultaneous import simultaneous
from causalrules.trust.stability import stability

if TYPE_CHECKING:
    from causalrules.result.rules import RuleSet


def trust(
    rules: RuleSet,
    permutations: int = 999,
    replicates: int = 100,
    splits: int = 5,
    seed: int = 0,
    *,
    level: float = 0.05,
    n_jobs: int = -1,
    time_limit: float | None = None,
    progress: bool | repeat.Watcher | None = None,
) -> RuleSet:
    """Implement `RuleSet.trust`.

    Effects are cross-fitted unless the rules have a holdout. `time_limit` is for all parts together. A part that has
    no result in time is left out, and so is one that the table is too small for; a note names it.
    """
    deadline = Deadline.after(time_limit)
    repeat.require_rows(rules, "trust")

    def ask(of_time: float, part: Callable[..., RuleSet], *arguments: Any, **options: Any) -> RuleSet:
        """Add a part of the evidence within this share of the remaining time."""
        adjust, whole = part is significance, part in (cross_fit, stability)

        def measure(own: RuleSet, limit: float | None, share: float) -> RuleSet:
            shared: dict[str, Any] = {}
            given = arguments
            if part is simultaneous:
                needed = fewest(1 - level * share)
                if needed > max(permutations, 199):
                    return own
                given, shared = (max(needed, min(permutations, 199)),), {"share": share}
            try:
                return part(
                    own, *given, seed=seed, n_jobs=n_jobs, progress=progress, time_limit=limit, **options, **shared
                )
            except repeat.OutOfTimeError:
                return own
            except TooFewRowsError as error:
                return replace(own, notes=(*own.notes, f"{part.__name__} was skipped: {error}"))

        return each_part(rules, measure, deadline.left(of_time), adjust, whole)

    rules = ask(0.5, significance, permutations, level=level)
    if rules.stopped != "evaluated":  # rules that were named in advance owe nothing to a search
        if rules.evidence is None or rules.evidence.honest is None:
            rules = ask(0.5, cross_fit, splits, confidence=1 - level)
        rules = ask(0.7, stability, replicates)
        rules = ask(0.7, simultaneous, confidence=1 - level)
    # Shuffling for conditions is cheap, and few tables cannot tell conditions apart.
    rules = ask(1.0, conditions, max(permutations, 199), level=level)
    with warnings.catch_warnings():
        # The verdict of each rule says it.
        warnings.simplefilter("ignore", CausalRulesWarning)
        return each_part(rules, partial(_of_one, level, n_jobs, progress), deadline.left(1.0))


def _of_one(
    level: float,
    n_jobs: int,
    progress: bool | repeat.Watcher | None,
    rules: RuleSet,
    time_limit: float | None,
    share: float,
) -> RuleSet:
    """Add the evidence that is about one rule alone."""
    del share
    rules = sensitivity(rules, confidence=1 - level)
    if rules.question.controls and rules.problem is not None and rules.problem.controls is not None:
        rules = balance(rules)
        if is_available():
            rules = doubly_robust(rules, confidence=1 - level, n_jobs=n_jobs, progress=progress, time_limit=time_limit)
    return overlap.overlap(rules)
