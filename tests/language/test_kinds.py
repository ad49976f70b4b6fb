"""A kind of outcome is one object: everything that shows numbers of the outcome asks it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import causalrules as cr
from causalrules.language import kinds
from causalrules.language.kinds import OutcomeKind
from causalrules.report import reproduce


@dataclass(frozen=True, repr=False)
class _Rate(OutcomeKind):
    """Events per 100 rows."""

    name: str = "rate"
    asked: str | None = "rate"
    unit: str = "per 100"
    sign: str = " per 100"
    scale: float = 100.0
    places: int | None = 1

    def text(self, column: str) -> str:
        return f"{column} per row"


def test_a_new_kind_goes_all_the_way_from_the_option_to_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    rate = _Rate()
    monkeypatch.setitem(kinds.KINDS, rate.name, rate)
    rng = np.random.default_rng(0)
    size, helmet = rng.integers(0, 3, 2000), rng.integers(0, 2, 2000)
    accidents = rng.poisson(0.3 + 0.2 * size + 0.2 * helmet)
    table = {"size": size.tolist(), "helmet": helmet.tolist(), "accidents": accidents.tolist()}
    rules = cr.discover(table, "accidents", outcome="rate", control="size", k=1, holdout=0.3)
    assert rules.question.outcome == "accidents per row"
    assert rules.kind is rules[0].strata[0].kind is rate
    written = rate.with_interval(rules[0].effect, *rules[0].interval)
    assert " per 100 (" in written
    assert ", per 100" in str(rules)
    page = rules.to_html()
    assert written in page
    assert '"unit":"per 100","sign":" per 100","scale":100.0,"places":1' in page
    assert "outcome='rate'" in reproduce.call(rules)
    again = cr.RuleSet.from_json(rules.to_json())
    assert again == rules
    assert again.kind is rate
