"""discover() as the paper searches: β = 2, α = 1, no length limit, one thread."""

from __future__ import annotations

from typing import Any

from causalrules.discovery import discover
from causalrules.result.rules import RuleSet


def find(data: Any, target: str, outcome: Any, control: str | None = None, **options: Any) -> RuleSet:
    """The best rules. An interruption ends the run and not only the search, whose best so far is no result here."""
    given = {"beta": 2.0, "alpha": 1.0, "max_length": None, "n_jobs": 1, **options}
    rules = discover(data, target, outcome, control, **given)
    if rules.stopped == "interrupted":
        raise KeyboardInterrupt
    return rules
