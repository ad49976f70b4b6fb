"""The checks of how far rules can be trusted, each on demand and with progress."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from causalrules.exceptions import CausalRulesWarning, InputError
from causalrules.language.learning import is_available
from causalrules.search.problem import Problem
from causalrules.trust.sensitivity import robustness

if TYPE_CHECKING:
    from causalrules.rules import RuleSet

Tell = Callable[..., None]
# Seconds for what cannot be stopped.
LIMIT = 60.0
_PERMUTATIONS, _SAMPLES, _BLOCKS = 999, 100, 5
_BOUNDS = 199
_MODELS, _CONDITIONS = "models of the controls", "conditions"
# Repetitions that are made for each rule of a list in which each rule adds.
_EACH_RULE = (_PERMUTATIONS, _BOUNDS)
_STEPS = {
    _PERMUTATIONS: "shuffled outcomes",
    _BOUNDS: "bounds for all rules",
    _BLOCKS: "held-out blocks",
    _SAMPLES: "subsamples",
}
# Strengths of a hidden confounder that the slider offers, as a multiple of what explains the effect away.
_FURTHER, _LEAST, _STRENGTHS = 1.6, 3.0, 60


def _everything(rules: RuleSet, tell: Tell) -> RuleSet:
    return rules.trust(_PERMUTATIONS, _SAMPLES, _BLOCKS, progress=_watch(tell, rules))


def _significance(rules: RuleSet, tell: Tell) -> RuleSet:
    return rules.significance(_PERMUTATIONS, progress=_watch(tell, rules))


def _held_out(rules: RuleSet, tell: Tell) -> RuleSet:
    return rules.cross_fit(_BLOCKS, progress=_watch(tell, rules))


def _stability(rules: RuleSet, tell: Tell) -> RuleSet:
    return rules.stability(_SAMPLES, progress=_watch(tell, rules))


def _confounding(rules: RuleSet, tell: Tell) -> RuleSet:
    tell(step="hidden confounders")
    return rules.sensitivity()


def _overlap(rules: RuleSet, tell: Tell) -> RuleSet:
    tell(step="comparison groups")
    with warnings.catch_warnings():
        # The verdict of each rule says it.
        warnings.simplefilter("ignore", CausalRulesWarning)
        return rules.overlap()


def _models(rules: RuleSet, tell: Tell) -> RuleSet:
    if not rules.question.controls and not any(rule.held_fixed for rule in rules):
        raise InputError("there are no controls to model: put columns into the tray of controls, and search again")
    tell(step=_MODELS)
    rules = rules.balance()
    return rules.doubly_robust(progress=lambda done, total: tell(done=done, total=total)) if is_available() else rules


def _watch(tell: Tell, rules: RuleSet) -> Callable[[int, int], None]:
    """Return the function that the checks call with how many of their repetitions are done.

    In a list in which each rule adds, most checks are repeated for each of the rules. Conditions are shuffled after all
    outcomes were. Models are fitted last, one for each rule, of which there may be as many as of other repetitions.
    """
    begun: Counter[int] = Counter()
    n_rules = len(rules) if len(rules.ladder) > 1 else 1

    def watch(done: int, total: int) -> None:
        begun[total] += done == 1
        each = n_rules if total in _EACH_RULE else 1
        again, place = divmod(max(begun[total], 1) - 1, each)
        steps = (_STEPS.get(total, _MODELS), _CONDITIONS if total == _PERMUTATIONS else _MODELS)
        of_which = f", rule {place + 1} of {each}" if each > 1 else ""
        tell(done=done, total=total, step=f"{steps[min(again, 1)]}{of_which}")

    return watch


# By name: what it is called, and what it does.
_CHECKS: dict[str, tuple[str, Callable[[RuleSet, Tell], RuleSet]]] = {
    "everything": ("All checks", _everything),
    "significance": ("Chance: shuffled outcomes", _significance),
    "held-out": ("Held-out rows", _held_out),
    "stability": ("Subsamples", _stability),
    "confounding": ("Hidden confounding", _confounding),
    "models": ("Models of the controls", _models),
    "overlap": ("Comparison groups", _overlap),
}


def find(name: str) -> tuple[str, Callable[[RuleSet, Tell], RuleSet]]:
    """Return what a check is called, and what it does."""
    if name not in _CHECKS:
        raise InputError(f"no check {name!r:.40}; the checks are {', '.join(_CHECKS)}")
    return _CHECKS[name]


def done(rules: RuleSet) -> list[str]:
    """Return the checks whose evidence the rules have."""
    known, kept = rules.evidence, [rule.evidence for rule in rules if rule.evidence is not None]
    found = {
        "significance": known is not None and known.permutation is not None,
        "held-out": any(each.honest is not None for each in kept),
        "stability": known is not None and known.stability is not None,
        "confounding": any(each.sensitivity is not None for each in kept),
        "models": any(each.doubly_robust is not None or each.balance for each in kept),
        "overlap": any(each.overlap is not None for each in kept),
    }
    return [name for name, there in found.items() if there]


def robust(rules: RuleSet, place: int) -> dict[str, Any]:
    """Return what is left of a rule's effect for growing strengths of a hidden confounder, and the landmarks."""
    rule = rules[place]
    if rules.ladder:
        rules = replace(rules, ladder=(replace(rules.ladder[0], problem=Problem((rules.problem_of(rule),))),))
    judged = replace(rules, rules=(rule,)).sensitivity()[0]
    known = None if judged.evidence is None else judged.evidence.sensitivity
    if known is None or known.gamma is None or known.gamma_limit is None:
        raise InputError(
            "nothing to ask: its columns are randomised" if known is None else "this needs the rows: search again first"
        )
    landmarks = [{"control": each.control, "gamma": each.gamma} for each in known.controls]
    strongest = max([known.gamma, *(each.gamma for each in known.controls)])
    most = min(max(_LEAST, _FURTHER * strongest), 100.0)
    strengths = np.geomspace(1.0, most, _STRENGTHS).tolist()
    left = robustness(rule, rules, strengths)
    assert left is not None, "its Γ is known"
    return {
        "strengths": strengths,
        "left": [effect for effect, _ in left],
        "ends": [end for _, end in left],
        "texts": [rule.kind.difference(effect) for effect, _ in left],
        "effect": rule.effect,
        "gamma": known.gamma,
        "gamma_limit": known.gamma_limit,
        "landmarks": landmarks,
        "sentence": known.sentence,
    }
