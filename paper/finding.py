"""discover() as the paper searches: its estimator, β = 2, α = 1, no length limit, one thread."""

from __future__ import annotations

from typing import Any

from causalrules.discovery import discover
from causalrules.question import PAPER
from causalrules.rules import RuleSet


def find(data: Any, target: str, outcome: Any, control: str | None = None, **options: Any) -> RuleSet:
    """Return the best rules. An interruption ends the whole run: the best so far is no result here."""
    given = {**PAPER, "alpha": 1.0, "n_jobs": 1, **options}
    rules = discover(data, target, outcome, control, **given)
    if rules.stopped == "interrupted":
        raise KeyboardInterrupt
    return rules
