"""The checks of rules, run on demand and with progress."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from causalrules.exceptions import InputError
from causalrules.search.problem import Problem
from causalrules.trust import registry
from causalrules.trust.sensitivity import robustness

if TYPE_CHECKING:
    from causalrules.rules import RuleSet

Tell = Callable[..., None]
# Time limit in seconds for checks that cannot be stopped.
LIMIT = 60.0
# Range of the slider for hidden confounders, as a multiple of the strength that explains the effect away.
_FURTHER, _LEAST, _STRENGTHS = 1.6, 3.0, 60


@dataclass(frozen=True)
class Tile:
    """Checks with the same title, which are run together.

    Attributes
    ----------
    name, title, about
        Its name in commands, its title on the page, and a short description.
    checks
        The checks.
    """

    name: str
    title: str
    about: str
    checks: tuple[registry.Check, ...]

    def is_done(self, rules: RuleSet) -> bool:
        """Return whether the rules have its evidence."""
        return any(getattr(rule.evidence, check.name, None) for rule in rules for check in self.checks)

    def run(self, rules: RuleSet, tell: Tell) -> RuleSet:
        """Return the rules with its evidence, and tell its progress."""
        controls = rules.question.controls or any(rule.held_fixed for rule in rules)
        if not controls and all(check.needs_controls for check in self.checks):
            raise InputError("there are no controls to model: put columns into the tray of controls, and search again")
        alone = self.checks is not registry.CHECKS
        if alone and not any(check.needs_controls or check.applies(rules) for check in self.checks):
            raise InputError(f"{self.title}: known already, or not asked of such rules")
        progress = _Progress(rules, tell)
        return registry.trust(rules, checks=self.checks, told=progress.begin, strict=alone, progress=progress)


class _Progress:
    """Reports which check runs, and how many of its repetitions are done.

    In a list in which each rule adds, most checks are repeated for each of the rules.
    """

    def __init__(self, rules: RuleSet, tell: Tell) -> None:
        self._tell, self._n_rules = tell, len(rules) if len(rules.ladder) > 1 else 1
        self._title, self._place, self._each = "", 0, 1

    def begin(self, check: registry.Check) -> None:
        """Note that a check begins."""
        self._title, self._place, self._each = check.title.lower(), 0, 1 if check.whole else self._n_rules
        self._tell(step=self._title)

    def __call__(self, done: int, total: int) -> None:
        """Report the number of finished repetitions."""
        self._place = min(self._place + (done == 1), self._each)
        of_which = f", rule {max(self._place, 1)} of {self._each}" if self._each > 1 else ""
        self._tell(done=done, total=total, step=f"{self._title}{of_which}")


def _tiles() -> tuple[Tile, ...]:
    grouped = itertools.groupby(registry.CHECKS, key=lambda check: (check.title, check.about))
    return tuple(
        Tile(checks[0].name, title, about, checks)
        for (title, about), checks in ((key, tuple(each)) for key, each in grouped)
    )


CHECKS = _tiles()
_BY_NAME = {each.name: each for each in (Tile("everything", "All checks", "", registry.CHECKS), *CHECKS)}


def find(name: str) -> Tile:
    """Return the check with this name."""
    if name not in _BY_NAME:
        raise InputError(f"no check {name!r:.40}; the checks are {', '.join(_BY_NAME)}")
    return _BY_NAME[name]


def robust(rules: RuleSet, place: int) -> dict[str, Any]:
    """Return the bounds on a rule's effect for increasing strengths of a hidden confounder, and the landmarks."""
    rule = rules[place]
    if rules.ladder:
        rules = replace(rules, ladder=(replace(rules.ladder[0], problem=Problem((rules.problem_of(rule),))),))
    judged = replace(rules, rules=(rule,)).sensitivity()[0]
    known = None if judged.evidence is None else judged.evidence.sensitivity
    if known is None or known.gamma is None or known.gamma_limit is None:
        raise InputError(
            "nothing to ask: its columns are randomised" if known is None else "this needs the rows: search again first"
        )
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
        "landmarks": [{"control": each.control, "gamma": each.gamma} for each in known.controls],
        "sentence": known.sentence,
    }
